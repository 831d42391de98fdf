//! The callers' registers, as stubs leave them.

use super::layout::REGS;

/// The registers, and what else tells one step of a call from another.
const WORDS: usize = 8;
/// That is the last of them.
const STEP: usize = 7;

/// All the registers that a stub leaves, for code that continues in a hook after other code of the program has run.
#[derive(Clone, Copy)]
pub struct Registers([usize; WORDS]);

impl Registers {
    #[inline(always)]
    pub fn save() -> Registers {
        // SAFETY: mapped before anything of the program runs.
        // One by one, as the stub has written them: a wider load would wait for its stores.
        Registers(std::array::from_fn(|i| unsafe { ((REGS + 8 * i) as *const usize).read_volatile() }))
    }

    /// Puts them back, but for the last word, which counts how often: to the caller a hook is one instruction, and code that looks
    /// for a waiting loop must not take two steps of one call for two rounds (see [`super::idle`]).
    #[inline(always)]
    pub fn restore(self) {
        self.restore_after(1);
    }

    /// The same, after something of which there may have been several steps.
    #[inline(always)]
    pub fn restore_after(mut self, what: usize) {
        self.0[STEP] = self.0[STEP].wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(what);
        // SAFETY: as above.
        unsafe { *(REGS as *mut [usize; WORDS]) = self.0 };
    }
}

/// The call that was entered last has this argument too, which the access that it announces does not tell.
#[inline(always)]
pub fn operand(value: u64) {
    // SAFETY: mapped before anything of the program runs.
    unsafe { *((REGS + 8 * STEP) as *mut u64) = value };
}

/// What tells this step from others of the same call, and from those of calls with other arguments.
#[inline(always)]
pub fn step() -> usize {
    register(STEP)
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
