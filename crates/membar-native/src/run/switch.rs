//! Switches between stacks.
//!
//! Threads of the program are functions on their own stacks, of which one runs at a time: a coroutine each. Every other
//! step of an execution is a switch, so it is as short as it can be: what the compiler does not keep across it anyway is left
//! where it is, and the way back is a jump and not a return, which the processor would expect to lead to the caller of the code that
//! was switched away from.
//!
//! # Safety
//!
//! A stack that is given up is not unwound. Values on it must own nothing.

use core::arch::{asm, naked_asm};

/// Where a stack was left: its stack pointer, or 0 if nothing has begun on it. Everything else is on the stack.
pub type Place = usize;

/// Leaves the stack that runs, and notes where; continues where the other one was left.
///
/// # Safety
///
/// `to` is where a stack was left that has not been continued since, or comes from [`begin`].
#[inline(always)]
pub unsafe fn switch(from: *mut Place, to: Place) {
    // SAFETY: the other one does the same, and what the compiler relies on is saved or said to be lost.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "pop rax",
            "jmp rax",
            "2:",
            "pop rbp",
            "pop rbx",
            inout("rdi") from => _,
            inout("rsi") to => _,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

/// Makes a function, which must not return, run on a stack when that is first switched to.
///
/// # Safety
///
/// `base` is the upper end of a stack that nothing runs on, aligned to 16.
pub unsafe fn begin(base: usize, function: extern "C" fn(usize) -> !, argument: usize) -> Place {
    let words = [first as *const () as usize, argument, function as usize];
    let place = base - 40;
    // SAFETY: the caller's.
    unsafe { *(place as *mut [usize; 3]) = words };
    place
}

/// The first function on a stack. Nobody called it, so unwinding stops here.
#[unsafe(naked)]
extern "C" fn first() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "pop rdi",
        "pop rax",
        "xor ebp, ebp",
        "call rax",
        "ud2",
        ".cfi_endproc",
    )
}
