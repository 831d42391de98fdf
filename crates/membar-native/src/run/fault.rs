//! When a program goes wrong: crashes, failed assertions, misuse of the heap, endless loops.
//!
//! A thread that goes wrong never runs on; it has a message and the return addresses of its stack. Signals are caught on a stack
//! of their own. If the program runs at that time, the handler makes it continue in [`land`], on yet another stack, which hands
//! over to the scheduler for good. A thread that runs for too long within a library is stopped where it comes back from
//! there. Names are not looked up here: a message has pieces for variables and places, which [`crate::words`] puts into words.

use super::coroutine::Thread;
use super::heap::{Block, Heap};
use super::layout::{GUARD, HEAPS, STACK_SIZE, STACKS, stack_base};
use super::registers::register;
use super::stack::floor;
use super::world::world;
use crate::words::Words;
use membar_explore::{Fault, Message, Piece, message};
use std::ffi::{c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Ends the thread that runs with this message, from a hook.
pub fn raise(message: impl Into<Message>) -> ! {
    raise_here(Fault::error(message))
}

/// The same where the program is not wrong, but cannot be run.
pub fn limit(message: impl Into<Message>) -> ! {
    raise_here(Fault::limit(message))
}

/// Ends the thread that runs with this fault, which is about the caller of the hook.
pub fn raise_here(fault: Fault) -> ! {
    let stack = offsets(&here());
    Thread::stop(Fault { stack, ..fault })
}

/// Return addresses as offsets in the program; those of libraries are left out.
pub fn offsets(stack: &[usize]) -> Vec<u32> {
    let base = world().module.base;
    stack.iter().filter_map(|pc| u32::try_from(pc.wrapping_sub(base)).ok()).collect()
}

/// A variable, in a message.
pub fn name(addr: usize) -> Piece {
    // Its frames are those of the caller, whatever it announced last.
    let w = world();
    w.threads[w.current].frame = (register(0), register(2));
    Piece::Variable(super::trace::location(addr))
}

/// A thread, in a message.
pub fn who(thread: usize) -> String {
    crate::words::Words::thread(thread as u32)
}

/// A block, in a message.
pub fn block(block: &Block) -> Message {
    let offset = |pc: usize| world().module.offset(pc);
    let place = |thread: usize, pc: usize, caller: usize| {
        message!(format!("by {} at ", Words::thread(thread as u32)), Piece::Line(vec![offset(pc), offset(caller)]))
    };
    let mut message =
        message!(format!("the block of {} bytes allocated ", block.size), place(block.thread, block.pc, block.caller));
    if let Some(free) = world().heap.release(block).filter(|_| !block.alive) {
        message.push(" and freed ");
        message.push(place(free.thread, free.pc, free.caller));
    }
    message
}

/// The block that ends closest before this address, in a message.
pub fn near(addr: usize) -> Message {
    let heap: &Heap = &world().heap;
    let found = (1..=64).find_map(|i| heap.find(addr.wrapping_sub(16 * i)));
    found.map_or_else(Message::default, |found| {
        message!(format!(": {} bytes behind ", addr - found.start - found.size), block(&found))
    })
}

/// The return addresses of the frames on the stack of the thread that runs, from the caller of the hook on.
pub fn here() -> Vec<usize> {
    // SAFETY: the stack pointer of the stub's caller.
    let pc = unsafe { *(register(0) as *const usize) };
    let w = world();
    let mut stack = walk(pc, register(2), w.current, 64);
    // Code of libraries has no frame pointers, and hides its caller from the chain.
    if w.module.base != 0
        && w.is_wrapper(w.module.offset(pc))
        && let Some(user) = w.caller_of_wrapper(register(2))
        && !stack.contains(&(user as usize + w.module.base))
    {
        stack.insert(1, user as usize + w.module.base);
    }
    stack
}

/// A return address, and those of the frames on a thread's stack from this one on.
pub fn walk(pc: usize, frame: usize, thread: usize, most: usize) -> Vec<usize> {
    std::iter::once(pc).chain(callers(frame, thread)).take(most).collect()
}

/// The return addresses that a chain of frame pointers on a thread's stack leads to.
#[inline]
pub fn callers(frame: usize, thread: usize) -> impl Iterator<Item = usize> {
    frames(frame, thread).map(|(_, back)| back)
}

/// The frames of that chain: each pointer, with the return address above it.
#[inline]
fn frames(mut frame: usize, thread: usize) -> impl Iterator<Item = (usize, usize)> {
    let stack = floor(thread)..stack_base(thread) - 16;
    std::iter::from_fn(move || {
        if !stack.contains(&frame) || !frame.is_multiple_of(8) {
            return None;
        }
        let at = frame;
        // SAFETY: within the stack, which is mapped.
        let (next, back) = unsafe { (*(frame as *const usize), *((frame + 8) as *const usize)) };
        // Frames further up are at higher addresses.
        frame = if next > frame { next } else { 0 };
        (back != 0).then_some((at, back))
    })
}

/// Whether an address on the main thread's stack is not in the frame of `main`, but in that of a function which returns before `main` does, or has.
pub fn is_passing(addr: usize) -> bool {
    let main = &world().threads[0];
    let (sp, frame) = main.frame;
    let own = frames(frame, 0).map(|(at, _)| at).take_while(|&at| at < main.entry);
    // Of the two outermost frames the inner one ends at its return address.
    let (inner, _) =
        own.fold((sp, None), |(end, last): (usize, Option<usize>), at| (last.map_or(end, |last| last + 16), Some(at)));
    (STACKS..inner).contains(&addr)
}

/// The call by which the thread that runs left the program's own code, if it is in a library now and this is its stack pointer:
/// the nearest word on the stack that looks like the return address of one.
pub fn call_from_program(sp: usize) -> Option<usize> {
    let w = world();
    let base = stack_base(w.current);
    if !(floor(w.current)..base).contains(&sp) {
        return None;
    }
    // SAFETY: within the stack of the thread that runs.
    let words = (sp & !7..base).step_by(8).take(1 << 14).map(|at| unsafe { *(at as *const usize) });
    words.into_iter().find(|&pc| w.module.is_code(pc) && is_after_call(pc))
}

/// Where the program called the hook that runs, as a return address; if a library did, where the program called that.
pub fn user() -> usize {
    // SAFETY: the stack pointer of the stub's caller.
    let pc = unsafe { *(register(0) as *const usize) };
    if world().module.is_code(pc) { pc } else { call_from_program(register(0)).unwrap_or(pc) }
}

/// The handler's findings, for [`land`].
static SIGNAL: AtomicUsize = AtomicUsize::new(0);
static ADDRESS: AtomicUsize = AtomicUsize::new(0);
static PC: AtomicUsize = AtomicUsize::new(0);
static FRAME: AtomicUsize = AtomicUsize::new(0);
static STACK: AtomicUsize = AtomicUsize::new(0);
/// The value of [`super::world::World::steps`] at the last tick, and how many ticks it has been that.
static STEPS: AtomicU64 = AtomicU64::new(0);
static TICKS: AtomicUsize = AtomicUsize::new(0);
/// [`land`] is at work: whatever goes wrong now is not the program's next fault.
static LOST: AtomicBool = AtomicBool::new(false);
/// The thread was in uninstrumented code.
static OPAQUE: AtomicBool = AtomicBool::new(false);
/// The top of the stack that [`land`] runs on.
static LANDING: AtomicUsize = AtomicUsize::new(0);

/// Ticks of 100 ms of processor time without a step after which a thread counts as endless.
const PATIENCE: usize = 20;

/// Catches signals from now on.
pub fn catch() -> io::Result<()> {
    let stack = vec![0u8; 256 << 10].leak();
    let landing = vec![0u8; 256 << 10].leak();
    LANDING.store((landing.as_ptr() as usize + landing.len()) & !15, Ordering::Relaxed);
    // SAFETY: plain system calls; the handler only touches what its documentation says.
    unsafe {
        let alt = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
        done(libc::sigaltstack(&alt, std::ptr::null_mut()))?;
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        for signal in
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGTRAP, libc::SIGPROF]
        {
            done(libc::sigaction(signal, &action, std::ptr::null_mut()))?;
        }
        let tick = libc::timeval { tv_sec: 0, tv_usec: 100_000 };
        let timer = libc::itimerval { it_interval: tick, it_value: tick };
        done(libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut()))
    }
}

/// The result of a system call that returns 0 on success.
pub fn done(result: c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // An access to an address that cannot exist is reported without an address.
    // SAFETY: the kernel passes valid pointers.
    let nowhere = signal == libc::SIGSEGV && unsafe { (*info).si_code } == SI_KERNEL;
    let (addr, context) = unsafe { ((*info).si_addr() as usize, &mut *context.cast::<libc::ucontext_t>()) };
    let registers = &mut context.uc_mcontext.gregs;
    let pc = registers[libc::REG_RIP as usize] as usize;
    let w = world();
    if signal == libc::SIGPROF {
        let steps = w.steps + w.executions;
        if STEPS.swap(steps, Ordering::Relaxed) != steps || !w.running {
            TICKS.store(0, Ordering::Relaxed);
            return;
        }
        if TICKS.fetch_add(1, Ordering::Relaxed) < PATIENCE {
            return;
        }
        TICKS.store(0, Ordering::Relaxed);
        if !w.module.is_code(pc) {
            // In a function of the C library it may hold a lock that others need.
            return stop_on_return(registers[libc::REG_RSP as usize] as usize);
        }
    } else if signal == libc::SIGSEGV && super::opaque::fault(addr, registers)
        || signal == libc::SIGTRAP && super::opaque::trap(registers)
    {
        return;
    } else if (signal == libc::SIGSEGV || signal == libc::SIGBUS) && w.pages.written(addr) {
        if w.opaque.ever && !w.alone {
            // Uninstrumented code may have read it before it was known to be written.
            w.grown = true;
        }
        return;
    }
    // The program's calls of `abort` raise no signal: this is the C library, or us, and nothing can be relied on.
    if !w.running || LOST.load(Ordering::Relaxed) || signal == libc::SIGABRT {
        // Our own mistake, or the program has destroyed our memory.
        // SAFETY: back to the default, which ends the process when the instruction is tried again.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        if signal == libc::SIGABRT {
            unsafe { libc::raise(signal) };
        }
        return;
    }
    OPAQUE.store(super::opaque::abandon(Some(registers)), Ordering::Relaxed);
    SIGNAL.store(signal as usize, Ordering::Relaxed);
    ADDRESS.store(if nowhere { usize::MAX } else { addr }, Ordering::Relaxed);
    STACK.store(registers[libc::REG_RSP as usize] as usize, Ordering::Relaxed);
    PC.store(pc, Ordering::Relaxed);
    FRAME.store(registers[libc::REG_RBP as usize] as usize, Ordering::Relaxed);
    registers[libc::REG_RIP as usize] = land as *const () as i64;
    registers[libc::REG_RSP as usize] = LANDING.load(Ordering::Relaxed) as i64 - 8;
    registers[libc::REG_RBP as usize] = 0;
}

/// Of `si_code`: the kernel does not know more.
const SI_KERNEL: c_int = 0x80;

/// Makes the function that the program called last return to [`returned`].
fn stop_on_return(from: usize) {
    let w = world();
    let base = stack_base(w.current);
    if !(floor(w.current)..base).contains(&from) {
        return;
    }
    for at in (from & !7..base).step_by(8).take(1 << 14) {
        // SAFETY: within the stack of the thread that runs.
        let pc = unsafe { *(at as *const usize) };
        if w.module.is_code(pc) && is_after_call(pc) {
            SIGNAL.store(libc::SIGPROF as usize, Ordering::Relaxed);
            ADDRESS.store(0, Ordering::Relaxed);
            PC.store(pc, Ordering::Relaxed);
            STACK.store(at + 8, Ordering::Relaxed);
            // SAFETY: as above; it is not needed any more.
            unsafe { *(at as *mut usize) = returned as *const () as usize };
            return;
        }
    }
}

/// Whether the instruction before this one may be a call.
pub fn is_after_call(pc: usize) -> bool {
    // SAFETY: the object's code, which does not begin here.
    let byte = |back: usize| unsafe { *((pc - back) as *const u8) };
    byte(5) == 0xe8 || [2, 3, 6, 7].into_iter().any(|n| byte(n) == 0xff && byte(n - 1) >> 3 & 7 == 2)
}

/// Where a function returns to whose caller is not to continue.
#[unsafe(naked)]
extern "C" fn returned() -> ! {
    core::arch::naked_asm!(
        "mov [rip + {frame}], rbp",
        "mov rsp, [rip + {landing}]",
        "xor ebp, ebp",
        "call {land}",
        "ud2",
        frame = sym FRAME,
        landing = sym LANDING,
        land = sym land,
    )
}

/// The word that a stack pointer points to, if it is one of this thread's.
fn top(thread: usize, sp: usize) -> Option<usize> {
    let stack = floor(thread)..stack_base(thread);
    // SAFETY: within the stack, which is mapped.
    (stack.contains(&sp) && sp.is_multiple_of(8)).then(|| unsafe { *(sp as *const usize) })
}

/// How much stack a thread would have without us.
fn natural_stack(thread: usize) -> usize {
    // SAFETY: a control block; and a plain system call.
    let (wanted, limit) = unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::getrlimit(libc::RLIMIT_STACK, &mut limit);
        (*((super::layout::control(thread) + super::layout::STACK_WANTED) as *const usize), limit.rlim_cur)
    };
    match (wanted, limit) {
        (0, libc::RLIM_INFINITY) if thread != 0 => 2 << 20,
        (0, limit) => usize::try_from(limit).unwrap_or(usize::MAX),
        (wanted, _) => wanted,
    }
}

/// Where a program continues that has gone wrong.
extern "C" fn land() -> ! {
    LOST.store(true, Ordering::Relaxed);
    let opaque = super::opaque::abandon(None) | OPAQUE.swap(false, Ordering::Relaxed);
    let (signal, addr) = (SIGNAL.load(Ordering::Relaxed) as c_int, ADDRESS.load(Ordering::Relaxed));
    let (mut pc, frame) = (PC.load(Ordering::Relaxed), FRAME.load(Ordering::Relaxed));
    let w = world();
    let id = w.current;
    let guard = stack_base(id) - STACK_SIZE;
    let fault = match signal {
        libc::SIGSEGV | libc::SIGBUS if (guard..floor(id)).contains(&addr) => {
            if natural_stack(id) > STACK_SIZE - GUARD {
                let size = (STACK_SIZE - GUARD) >> 20;
                Fault::limit(format!("needs more stack than the {size} MiB that membar gives a thread"))
            } else {
                Fault::clause("its stack overflows")
            }
        }
        libc::SIGSEGV if addr == pc && (STACKS..HEAPS).contains(&pc) => Fault::limit(
            "runs code on its stack (a nested function whose address is taken), which membar does not let it",
        ),
        libc::SIGSEGV if addr == usize::MAX => {
            Fault::error("uses an address that cannot exist, or a misaligned vector (segmentation fault)")
        }
        libc::SIGSEGV | libc::SIGBUS if addr < 0x1000 => Fault::error("uses a null pointer"),
        libc::SIGSEGV | libc::SIGBUS => {
            Fault::error("accesses memory that is not there, or may not be written (segmentation fault)")
        }
        libc::SIGFPE => Fault::error("divides by zero, or another arithmetic error (SIGFPE)"),
        libc::SIGILL => Fault::error("runs an illegal instruction (SIGILL)"),
        libc::SIGPROF if opaque => Fault::limit(
            "runs for too long in code that is not instrumented: it may wait for another \
             thread there, which membar does not see",
        ),
        libc::SIGPROF => {
            Fault::limit("runs for 2 s without any access to shared memory: an endless loop, or much work")
        }
        other => Fault::error(format!("is stopped by signal {other}")),
    };
    // A jump to nowhere: the caller is all there is to tell. In a hook or a library the caller of the stub is.
    if !w.module.is_code(pc) {
        let called = top(id, STACK.load(Ordering::Relaxed)).filter(|&pc| w.module.is_code(pc));
        pc = called.or_else(|| top(id, register(0))).unwrap_or(0);
    } else {
        // A return address is what others expect: one past the instruction.
        pc += 1;
    }
    let fault = Fault { stack: offsets(&walk(pc, frame, id, 64)), ..fault };
    if signal == libc::SIGPROF {
        w.never_ends(&fault);
    }
    LOST.store(false, Ordering::Relaxed);
    // If even handing over fails, then the program has destroyed what that needs.
    w.running = false;
    Thread::stop(fault)
}
