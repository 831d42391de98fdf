//! How floating-point arithmetic is done: a thread's own, as on a machine.
//!
//! Rounding, flushing to zero, masked exceptions and the exceptions that have been raised are state of the processor (`MXCSR` and
//! the control word of the x87). A thread of the program has its own and inherits it from its creator; the scheduler
//! runs with the default. Few programs look at them or change them: for the others nothing is done ([`matters`]). They are only loaded
//! where they differ, since that takes long.

use core::arch::asm;

/// The control registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    mxcsr: u32,
    x87: u16,
}

/// The initial state of a process.
pub const DEFAULT: Control = Control { mxcsr: 0x1f80, x87: 0x37f };

/// The bits of `MXCSR` that say how to calculate, not what has happened.
const MODE: u32 = 0xffc0;

/// Functions by which a program looks at them or changes them begin so.
const FUNCTIONS: [&str; 2] = ["fe", "__setfpucw"];

/// Whether they may matter to a program that imports these functions and has this code: by a function, by an instruction
/// (`ldmxcsr` and `stmxcsr`, which are what the compiler's own functions for it become), or since a constructor has changed them.
pub fn matters<'a>(mut imports: impl Iterator<Item = &'a str>, code: &[u8], begins: Control) -> bool {
    let changed = (begins.mxcsr ^ DEFAULT.mxcsr) & MODE != 0 || begins.x87 != DEFAULT.x87;
    // The third byte says which of the instructions it is, and that it works on memory.
    let control = |bytes: &[u8]| bytes[..2] == [0x0f, 0xae] && matches!(bytes[2] >> 3 & 7, 2 | 3) && bytes[2] < 0xc0;
    changed || imports.any(|name| FUNCTIONS.iter().any(|start| name.starts_with(start))) || code.windows(3).any(control)
}

/// As they are now.
#[inline(always)]
pub fn now() -> Control {
    let mut control = Control { mxcsr: 0, x87: 0 };
    // SAFETY: both are stored where they fit.
    unsafe {
        asm!(
            "stmxcsr [{mxcsr}]",
            "fnstcw [{x87}]",
            mxcsr = in(reg) &raw mut control.mxcsr,
            x87 = in(reg) &raw mut control.x87,
            options(nostack, preserves_flags),
        );
    }
    control
}

#[cold]
fn load(control: Control) {
    // SAFETY: values that the processor had before, or its default.
    unsafe {
        asm!(
            "ldmxcsr [{mxcsr}]",
            "fldcw [{x87}]",
            mxcsr = in(reg) &raw const control.mxcsr,
            x87 = in(reg) &raw const control.x87,
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
