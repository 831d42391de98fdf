//! How a thread of the program begins and ends.

use super::access::Event;
use super::coroutine::Thread;
use super::fault;
use super::layout::{ENDED, control};
use super::registers::Registers;
use super::slot::{END_SITE, Stand};
use super::world::world;
use membar_core::Barrier;

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
    let function: extern "C-unwind" fn(usize, usize) -> usize = unsafe { std::mem::transmute(function) };
    let registers = Registers::save();
    let result = function(a, b);
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
    } else {
        let (start, arg) = (thread.start, thread.arg);
        // SAFETY: that is how `pthread_create` calls it.
        let result = unsafe { call(start, arg, 0, 0, entry) };
        end(result);
    }
    super::world::world().threads[id].stand = Stand::Done;
    Thread::give_up()
}

/// The thread that runs has come to its end.
pub fn end(result: usize) {
    let id = world().current;
    world().threads[id].result = result;
    own_registers(id);
    destroy(id);
    if id != 0 || !world().alone {
        super::sync::abandon_mutexes();
        Event::sync(control(id) + ENDED, 4).at(END_SITE).always().announce();
        // SAFETY: the control block is mapped.
        unsafe { *((control(id) + ENDED) as *mut u32) = 1 };
        world().threads[id].barrier = Barrier::Full;
    }
}

/// What comes now is not called by the program: its caller is where the thread began.
fn own_registers(id: usize) {
    let regs = super::layout::REGS as *mut usize;
    // SAFETY: mapped before anything of the program runs.
    unsafe {
        *regs = world().threads[id].entry;
        *regs.add(2) = 0;
    }
}

/// Runs the destructors of the thread's own objects.
fn destroy(id: usize) {
    while let Some((function, object)) = world().threads[id].dtors.pop() {
        // SAFETY: registered by the program's own code.
        unsafe { call_back(function, object, 0) };
    }
    // As POSIX wants it: again as long as destructors set values, but not for ever.
    for _ in 0..4 {
        let mut any = false;
        for key in 0..world().threads[id].keys.len() {
            let value = std::mem::take(&mut world().threads[id].keys[key]);
            if value != 0
                && let Some(Some(function)) = world().key_dtors.get(key).copied()
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

/// The program ends, in the thread that runs.
pub fn exit(status: i32) {
    let id = world().current;
    own_registers(id);
    destroy(id);
    while let Some((function, argument)) = world().exit_handlers.pop() {
        // SAFETY: registered by the program's own code.
        unsafe { call_back(function, argument, 0) };
    }
    if status != 0 {
        fault::raise(format!("the program ends with status {status}"));
    }
    if id == 0 && !world().alone {
        Event::sync(control(0) + ENDED, 4).at(END_SITE).announce();
        // SAFETY: the control block is mapped.
        unsafe { *((control(0) + ENDED) as *mut u32) = 1 };
    }
}
