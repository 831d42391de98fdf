//! How floating-point arithmetic is done: a thread's own, as on a machine.
//!
//! Rounding, flushing to zero, masked exceptions and the exceptions that have been raised are state of the processor (`MXCSR` and
//! the control word of the x87). A thread of the program has its own and inherits it from its creator; the scheduler
//! runs with the default. Storing the two is cheap, loading them is not, so they are only loaded where they differ.

use core::arch::asm;

/// The control registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    mxcsr: u32,
    x87: u16,
}

/// What a process begins with.
pub const DEFAULT: Control = Control { mxcsr: 0x1f80, x87: 0x37f };

/// The bits of `MXCSR` that say how to calculate, not what has happened.
const MODE: u32 = 0xffc0;

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
