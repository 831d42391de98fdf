//! The functions that a program's object calls and that membar stands in for.
//!
//! The object is linked with one stub for each name in the table of [`super::hooks`]. A stub leaves its caller's
//! registers where [`super::layout::REGS`] says, and jumps to the function whose address is in the table. Stubs are weak: a program that has
//! its own function by one of these names keeps it. A stub `__wrap_F` is for a function that the program has and keeps, but
//! that the linker leads through the stub first.
//!
//! The registers are what a waiting loop is recognised by (see [`super::idle`]): together with the stack they are all
//! that a thread knows.

use super::hooks::NAMES;
use super::layout::{REGS, TABLE};
use std::fmt::Write;
use std::hash::{Hash, Hasher};

/// The stubs as an assembly file.
pub fn assembly() -> String {
    let mut text = String::from("\t.text\n");
    for (i, name) in NAMES.iter().enumerate() {
        let entry = TABLE + 8 * i;
        let _ = write!(text, "\t.weak {name}\n\t.type {name}, @function\n{name}:\n");
        match *name {
            "__membar_asm" => {
                // The caller is inline assembly that expects nothing to change, flags and vector registers included.
                text.push_str("\tpushfq\n");
                for register in SCRATCH {
                    let _ = writeln!(text, "\tpushq %{register}");
                }
                // The return address is above what was pushed; REGS gets the stack pointer as it would be in a call.
                let _ = writeln!(text, "\tleaq {}(%rsp), %r10", 8 * (SCRATCH.len() + 1));
                registers(&mut text, "r10");
                let _ = writeln!(
                    text,
                    "\tmovq %rax, %r11\n\tmovq %rdx, %rcx\n\tpushq %rbp\n\tmovq %rsp, %rbp\n\tsubq ${AREA}, %rsp\n\tandq $-64, %rsp"
                );
                text.push_str(&vectors(true));
                let _ = writeln!(text, "\tmovq %r11, %rdx\n\tcld\n\tcall *{entry}");
                text.push_str(&vectors(false));
                text.push_str("\tmovq %rbp, %rsp\n\tpopq %rbp\n");
                for register in SCRATCH.iter().rev() {
                    let _ = writeln!(text, "\tpopq %{register}");
                }
                text.push_str("\tpopfq\n\tret\n");
            }
            wrapped if wrapped.starts_with(WRAP) => {
                // The function is told of the call, which then continues to the real one.
                registers(&mut text, "rsp");
                let real = &wrapped[WRAP.len()..];
                text.push_str("\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n");
                text.push_str("\tmovq __cxa_get_globals@GOTPCREL(%rip), %rcx\n");
                let _ = writeln!(text, "\tmovq __cxa_demangle@GOTPCREL(%rip), %r8\n\tcall *{entry}");
                text.push_str("\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n");
                let _ = writeln!(text, "\tjmp *__real_{real}@GOTPCREL(%rip)\n\t.weak __real_{real}");
            }
            "_Znwm" | "_Znam" | "_ZnwmSt11align_val_t" | "_ZnamSt11align_val_t" => {
                // Where there is no memory its caller is to see an exception, which is the C++ library's to throw.
                registers(&mut text, "rsp");
                let _ = writeln!(text, "\tsubq $8, %rsp\n\tcall *{entry}\n\taddq $8, %rsp");
                text.push_str("\ttestq %rax, %rax\n\tjnz 1f\n");
                let _ = writeln!(text, "\tmovq {BAD_ALLOC}@GOTPCREL(%rip), %rcx");
                text.push_str("\ttestq %rcx, %rcx\n\tjz 1f\n\tjmp *%rcx\n1:\tret\n");
            }
            "__tsan_func_entry" | "__tsan_func_exit" | "__tsan_init" => text.push_str("\tret\n"),
            _ => {
                registers(&mut text, "rsp");
                let _ = writeln!(text, "\tjmp *{entry}");
            }
        }
        let _ = writeln!(text, "\t.size {name}, .-{name}");
    }
    text.push_str("\t.weak __cxa_get_globals\n\t.weak __cxa_demangle\n");
    let _ = writeln!(text, "\t.weak {BAD_ALLOC}");
    let _ = writeln!(text, "\t.section {MARK},\"\",@progbits\n\t.ascii \"{}\"", mark());
    text.push_str("\t.section .note.GNU-stack,\"\",@progbits\n");
    text
}

/// The section that says which stubs an object has: others would lead to other functions.
pub const MARK: &str = ".membar_stubs";

/// What is in it.
pub fn mark() -> String {
    let mut hash = rustc_hash::FxHasher::default();
    (NAMES, REGS, TABLE).hash(&mut hash);
    format!("{:016x}", hash.finish())
}

/// The function that throws `std::bad_alloc`.
pub const BAD_ALLOC: &str = "_ZSt17__throw_bad_allocv";

/// Before the names of functions that are led through a stub by the linker.
const WRAP: &str = "__wrap_";

/// The names of functions that the linker has to lead through a stub of ours (`--wrap`).
pub fn wrapped() -> impl Iterator<Item = &'static str> {
    NAMES.iter().filter_map(|name| name.strip_prefix(WRAP))
}

/// The registers that a call may change.
const SCRATCH: [&str; 9] = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"];

/// Where among those are the ones that a hook has not used for its arguments.
pub const SAVED: [usize; 7] = [0, 1, 2, 5, 6, 7, 8];

/// Room for all vector registers as `xsave` stores them, up to those of AVX-512.
const AREA: usize = 2752;
/// x87, SSE, AVX and AVX-512.
const COMPONENTS: u32 = 0xe7;

/// The vector registers and those of the x87 that the stub of inline assembly has saved below its return address, in words. Not how they
/// calculate, nor which instruction was the last.
pub fn vectors_below(top: usize) -> impl Iterator<Item = u64> {
    let area = (top - 8 * (SCRATCH.len() + 2) - AREA) & !63;
    // SAFETY: saved by the stub, all of which is still on the stack.
    let word = move |at: usize| unsafe { *((area + at) as *const u64) };
    let is_used = move |component: u32| match std::arch::is_x86_feature_detected!("xsave") {
        true => word(512) >> component & 1 != 0,
        false => component < 2,
    };
    // Where they are if the space is used as `xsavec` does; all processors with the last three of them have it.
    let components = [(0, 32..160), (1, 160..416), (2, 576..832), (5, 832..896), (6, 896..1408), (7, 1408..2432)];
    // Those that are as they were at first have not been saved.
    let used = components.into_iter().filter(move |&(component, _)| is_used(component));
    used.flat_map(|(_, range)| range.step_by(8)).map(word)
}

/// Saves the vector registers at the stack pointer, or restores them. The machine that builds is the one that runs.
fn vectors(save: bool) -> String {
    if !std::arch::is_x86_feature_detected!("xsave") {
        return format!("\t{} (%rsp)\n", if save { "fxsave64" } else { "fxrstor64" });
    }
    // Registers that hold nothing, as those of AVX-512 mostly do, need not be stored; and less of the header has to be cleared.
    let (store, cleared) =
        if std::arch::is_x86_feature_detected!("xsavec") { ("xsavec64", 528) } else { ("xsave64", 512) };
    let mut text = format!("\tmovl ${COMPONENTS}, %eax\n\txorl %edx, %edx\n");
    if save {
        // The header, of which the instruction writes only a part.
        for at in (cleared..576).step_by(8) {
            let _ = writeln!(text, "\tmovq $0, {at}(%rsp)");
        }
    }
    let _ = writeln!(text, "\t{} (%rsp)", if save { store } else { "xrstor64" });
    text
}

fn registers(text: &mut String, stack: &str) {
    for (i, register) in [stack, "rbx", "rbp", "r12", "r13", "r14", "r15"].iter().enumerate() {
        let _ = writeln!(text, "\tmovq %{register}, {}", REGS + 8 * i);
    }
    let _ = writeln!(text, "\tmovq $0, {}", REGS + 8 * 7);
}
