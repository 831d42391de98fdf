//! How floating-point arithmetic is done: a thread's own, as on a machine.
//!
//! Rounding, flushing to zero, masked exceptions and the exceptions that have been raised are state of the processor (`MXCSR`, and
//! the control and status words of the x87). A thread of the program has its own and inherits it from its creator; the scheduler
//! runs with the default. Few programs look at them or change them: for the others nothing is done ([`matters`]). They are only loaded
//! where they differ, since that takes long.

use core::arch::asm;

/// The control registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    mxcsr: u32,
    x87: u16,
    /// The exceptions that the x87 has raised.
    raised: u16,
}

impl Control {
    /// As one number.
    #[inline]
    pub fn bits(self) -> u64 {
        u64::from(self.mxcsr) | u64::from(self.x87) << 32 | u64::from(self.raised) << 48
    }
}

/// The initial state of a process.
pub const DEFAULT: Control = Control { mxcsr: 0x1f80, x87: 0x37f, raised: 0 };

/// The bits of `MXCSR` that say how to calculate, not what has happened.
const MODE: u32 = 0xffc0;
/// The bits of the status word of the x87 that say which exceptions have been raised, and all that follow from them.
const RAISED: u16 = 0x3f;
const SUMMARY: u16 = 0x8080;

/// Functions by which a program looks at them or changes them begin so.
const FUNCTIONS: [&str; 2] = ["fe", "__setfpucw"];

/// Whether they may matter to a program that imports these functions and has this code: by a function, by an instruction
/// (`ldmxcsr`, `stmxcsr` and those of AVX, which are what the compiler's own functions for it become), or since a constructor has changed them.
pub fn matters<'a>(mut imports: impl Iterator<Item = &'a str>, code: &[u8], begins: Control) -> bool {
    let changed = (begins.mxcsr ^ DEFAULT.mxcsr) & MODE != 0 || begins.x87 != DEFAULT.x87;
    // With AVX (`vldmxcsr`) another byte is in place of the first. The third says which of the instructions it is, and that it works on memory.
    let starts = |bytes: &[u8]| matches!(bytes[0], 0x0f | 0xf8 | 0x78) && bytes[1] == 0xae;
    let control = |bytes: &[u8]| starts(bytes) && matches!(bytes[2] >> 3 & 7, 2 | 3) && bytes[2] < 0xc0;
    changed || imports.any(|name| FUNCTIONS.iter().any(|start| name.starts_with(start))) || code.windows(3).any(control)
}

/// As they are now.
#[inline(always)]
pub fn now() -> Control {
    let mut control = Control { mxcsr: 0, x87: 0, raised: 0 };
    // SAFETY: they are stored where they fit.
    unsafe {
        asm!(
            "stmxcsr [{mxcsr}]",
            "fnstcw [{x87}]",
            "fnstsw [{raised}]",
            mxcsr = in(reg) &raw mut control.mxcsr,
            x87 = in(reg) &raw mut control.x87,
            raised = in(reg) &raw mut control.raised,
            options(nostack, preserves_flags),
        );
    }
    control.raised &= RAISED;
    control
}

#[cold]
fn load(control: Control) {
    // The control word comes first, the status word second; each has four bytes.
    let mut x87 = [0_u16; 14];
    // SAFETY: values that the processor had before, or its default, and the x87's environment, of 28 bytes.
    unsafe {
        asm!("fnstenv [{}]", in(reg) x87.as_mut_ptr(), options(nostack, preserves_flags));
        x87[0] = control.x87;
        x87[2] = x87[2] & !(RAISED | SUMMARY) | control.raised;
        asm!(
            "ldmxcsr [{mxcsr}]",
            "fldenv [{x87}]",
            mxcsr = in(reg) &raw const control.mxcsr,
            x87 = in(reg) x87.as_ptr(),
            options(nostack, preserves_flags, readonly),
        );
    }
}

/// Goes over to a thread's own.
#[inline(always)]
pub fn enter(control: Control) {
    if now() != control {
        load(control);
    }
}

/// Goes back to the scheduler's, and returns what the thread had. Exceptions that have been raised do not disturb it.
#[inline(always)]
pub fn leave() -> Control {
    let control = now();
    if (control.mxcsr ^ DEFAULT.mxcsr) & MODE != 0 || control.x87 != DEFAULT.x87 {
        load(DEFAULT);
    }
    control
}
