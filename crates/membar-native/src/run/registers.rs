//! The callers' registers, as stubs leave them.

use super::layout::REGS;

/// All the registers that a stub leaves, for code that continues in a hook after other code of the program has run.
#[derive(Clone, Copy)]
pub struct Registers([usize; 7]);

impl Registers {
    #[inline(always)]
    pub fn save() -> Registers {
        // SAFETY: mapped before anything of the program runs.
        // One by one, as the stub has written them: a wider load would wait for its stores.
        Registers(std::array::from_fn(|i| unsafe { ((REGS + 8 * i) as *const usize).read_volatile() }))
    }

    /// Puts them back, but for the last, which counts how often: to the caller a hook is one instruction, and code that looks
    /// for a waiting loop must not take two steps of one call for two rounds (see [`super::idle`]).
    #[inline(always)]
    pub fn restore(self) {
        self.restore_after(1);
    }

    /// The same, after something of which there may have been several steps.
    #[inline(always)]
    pub fn restore_after(mut self, what: usize) {
        self.0[6] = self.0[6].wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(what);
        // SAFETY: as above.
        unsafe { *(REGS as *mut [usize; 7]) = self.0 };
    }
}

/// A register of the caller of the stub that was entered last: 0 is the stack pointer, which points to the return address.
#[inline(always)]
pub fn register(i: usize) -> usize {
    // SAFETY: mapped before anything of the program runs.
    unsafe { *((REGS + 8 * i) as *const usize) }
}

/// The word at an address that is known to be mapped.
#[inline(always)]
pub fn word_at(addr: usize) -> usize {
    // SAFETY: the callers pass a stack pointer of a running thread.
    unsafe { *(addr as *const usize) }
}
