//! How a thread of the program begins and ends.

use super::access::{Event, lose};
use super::coroutine::Thread;
use super::fault;
use super::handlers::{self, When};
use super::layout::{ENDED, GONE, MAX_THREADS, control, owner, stack_base};
use super::opaque;
use super::registers::Registers;
use super::slot::{END_SITE, Stand};
use super::snapshot::used_from;
use super::world::world;
use membar_core::Barrier;
use membar_explore::{Fault, Form, Message};

/// Calls a function of the program. Nothing above it on the stack can be unwound: an exception that nobody catches ends
/// in `std::terminate`, as in any thread. Where the stack was is stored at `entry`.
#[unsafe(naked)]
unsafe extern "C" fn call(function: usize, a: usize, b: usize, c: usize, entry: *mut usize) -> usize {
    core::arch::naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "mov [r8], rsp",
        // A program that saves them saves the same in every execution.
        "xor ebp, ebp",
        "xor ebx, ebx",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "call rax",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        ".cfi_endproc",
    )
}

/// Calls a function of the program from a hook, on the stack of the thread that runs.
///
/// # Safety
///
/// The function takes these arguments.
pub unsafe fn call_back(function: usize, a: usize, b: usize) -> usize {
    // SAFETY: the caller says so.
    let callee: extern "C-unwind" fn(usize, usize) -> usize = unsafe { std::mem::transmute(function) };
    let registers = Registers::save();
    let result = opaque::call_back(function, fault::user(), || callee(a, b));
    registers.restore_after(a);
    result
}

/// Runs a thread from its beginning to its end.
pub extern "C" fn run(id: usize) -> ! {
    let world = world();
    let thread = &mut world.threads[id];
    let entry = &raw mut thread.entry;
    if id == 0 {
        let [argc, argv, env] = [world.args[0], world.args[1], world.args[2]];
        // SAFETY: that is how `main` is called.
        let status = unsafe { call(world.module.main, argc, argv, env, entry) } as i32;
        exit(status);
        Thread::rest(Stand::Over)
    } else {
        let (start, arg) = (thread.start, thread.arg);
        // SAFETY: that is how `pthread_create` calls it.
        let result = opaque::call_back(start, thread.creator, || unsafe { call(start, arg, 0, 0, entry) });
        end(result);
        Thread::rest(Stand::Done)
    }
}

/// The thread that runs has ended.
pub fn end(result: usize) {
    let id = world().current;
    world().threads[id].result = result;
    own_registers(id);
    destroy(id);
    if id != 0 || !world().alone {
        super::sync::abandon_mutexes();
        lose_memory(id);
        Event::sync(control(id) + ENDED, 4).gives().at(END_SITE).always().announce();
        // SAFETY: the control block is mapped.
        unsafe { *((control(id) + ENDED) as *mut u32) = 1 };
        world().threads[id].barrier = Barrier::Full;
    }
}

/// The stack and the thread-local variables of the thread that runs come to their end. That is a step on each of them that others know,
/// whatever they do to it.
fn lose_memory(id: usize) {
    let w = world();
    if id == 0 {
        let from = used_from(id, &w.threads[id].own);
        let (locals, len) = w.module.thread_local_block(id);
        w.shadow.claim(id, from, stack_base(id) - from);
        w.shadow.claim(id, locals, len);
    }
    let mut i = 0;
    while let Some(&cell) = world().shadow.mortal.get(i) {
        let super::shadow::Cell { at, size, .. } = world().shadow.cells[cell as usize];
        if size > 0 && owner(at as usize) == Some(id) {
            lose(cell);
            lost(id);
        }
        i += 1;
    }
    lost(id);
}

fn lost(id: usize) {
    // SAFETY: the control block is mapped.
    unsafe { *((control(id) + GONE) as *mut u32) = 1 };
    world().ended = true;
}

/// The following code is not called by the program: its caller is where the thread began.
fn own_registers(id: usize) {
    let regs = super::layout::REGS as *mut usize;
    // SAFETY: mapped before anything of the program runs.
    unsafe {
        *regs = world().threads[id].entry;
        *regs.add(2) = 0;
        *regs.add(7) = 0;
    }
}

/// Runs the destructors of the thread's own objects.
fn destroy(id: usize) {
    while let Some((function, object)) = world().threads[id].dtors.pop() {
        // SAFETY: registered by the program's own code.
        unsafe { call_back(function, object, 0) };
    }
    // As POSIX wants it: again as long as destructors set values, but not forever.
    for _ in 0..4 {
        let mut any = false;
        for key in 0..world().threads[id].keys.len() {
            let value = std::mem::take(&mut world().threads[id].keys[key]);
            if value != 0
                && let Some(&Some(function)) = world().key_dtors.get(key)
                && function != 0
            {
                any = true;
                // SAFETY: registered with the key.
                unsafe { call_back(function, value, 0) };
            }
        }
        if !any {
            break;
        }
    }
}

/// The first thread has ended by `pthread_exit`. The process continues until all threads have, and the last one does what
/// `exit` does. That can be noticed only if there is something to call; then the first thread waits for the others, each after
/// the one that created it.
pub fn exit_after_others() {
    if world().handlers.is_empty() {
        return;
    }
    let mut all = [0u8; MAX_THREADS];
    let (mut at, mut n) = (0, 1);
    while at < n {
        let parent = all[at];
        at += 1;
        for nth in 0..world().threads[usize::from(parent)].kids {
            let Some(&id) = world().ids.get(&(parent, nth)) else { continue };
            Event::sync(control(usize::from(id)) + ENDED, 4).takes().at(END_SITE).while_not(0).always().announce();
            all[n] = id;
            n += 1;
        }
    }
    handlers::run(When::Exit, 0);
}

/// The program ends, in the thread that runs.
pub fn exit(status: i32) {
    let id = world().current;
    own_registers(id);
    destroy(id);
    handlers::run(When::Exit, status);
    exit_at_once(status);
}

/// The program ends, in the thread that runs, and nothing of it is run any more.
pub fn exit_at_once(status: i32) {
    let id = world().current;
    // That is all that anybody gets to see of it.
    let status = status & 0xff;
    if status != 0 {
        let mut message = Message::from(format!("the program ends with status {status}"));
        if let Some(ending) = super::libc_hooks::ending() {
            message.push(" after: ");
            message.push(ending.message);
        }
        fault::raise_here(Fault { form: Form::Sentence, ..Fault::error(message) });
    }
    if id == 0 && !world().alone {
        Event::sync(control(0) + ENDED, 4).at(END_SITE).announce();
        // SAFETY: the control block is mapped.
        unsafe { *((control(0) + ENDED) as *mut u32) = 1 };
    }
}
