//! The end of a program, and thread-local variables.

use super::text_at as text;
use super::*;
use crate::run::handlers::{self, Call, Handler, When};
use crate::run::slot::Stand;

pub extern "C-unwind" fn exit(status: c_int) -> ! {
    thread::exit(status);
    over()
}

pub extern "C-unwind" fn exit_at_once(status: c_int) -> ! {
    thread::exit_at_once(status);
    over()
}

pub extern "C-unwind" fn quick_exit(status: c_int) -> ! {
    handlers::run(When::QuickExit, status);
    exit_at_once(status)
}

fn over() -> ! {
    crate::run::coroutine::Thread::rest(Stand::Over)
}

pub extern "C-unwind" fn abort() -> ! {
    match ending().or_else(crate::run::rust::panic) {
        Some(fault) => crate::run::coroutine::Thread::stop(fault),
        None => fault::raise_here(Fault { kind: FaultKind::Abort, ..Fault::error("aborts") }),
    }
}

pub extern "C-unwind" fn assert_fail(expr: *const c_char, file: *const c_char, line: u32, _: *const c_char) -> ! {
    // Nothing that is still on the stack when the thread stops is ever freed.
    let fault = Fault::clause(format!("assertion `{}` fails ({}:{line})", text(expr), text(file)));
    fault::raise_here(fault)
}

pub extern "C-unwind" fn stack_smashed() -> ! {
    fault::raise("writes beyond a variable on its stack (stack smashing)")
}

pub extern "C-unwind" fn at_exit(function: usize, argument: usize, _: usize) -> c_int {
    handlers::register(When::Exit, Handler { function, argument, call: Call::Argument });
    0
}

pub extern "C-unwind" fn at_exit_plain(function: usize) -> c_int {
    at_exit(function, 0, 0)
}

pub extern "C-unwind" fn on_exit(function: usize, argument: usize) -> c_int {
    handlers::register(When::Exit, Handler { function, argument, call: Call::Status });
    0
}

pub extern "C-unwind" fn at_quick_exit(function: usize) -> c_int {
    handlers::register(When::QuickExit, Handler { function, argument: 0, call: Call::Argument });
    0
}

/// An object would be unloaded, which none is; its handlers are run by `exit`.
pub extern "C-unwind" fn finalize(_: usize) {}

pub extern "C-unwind" fn at_thread_exit(function: usize, object: usize, _: usize) -> c_int {
    let w = world();
    let id = w.current;
    w.threads[id].dtors.push((function, object));
    0
}

// Thread-local variables.

#[repr(C)]
pub struct TlsIndex {
    module: usize,
    offset: usize,
}

unsafe extern "C" {
    fn __tls_get_addr(index: *const TlsIndex) -> *mut c_void;
}

pub extern "C-unwind" fn tls_get_addr(index: *const TlsIndex) -> usize {
    // SAFETY: the compiler's own table.
    let TlsIndex { module, offset } = unsafe { index.read() };
    let w = world();
    match w.module.thread_local_offset(module) {
        Some(at) => TLS + w.current * TLS_SIZE + at + offset,
        // SAFETY: the real function, for the thread of the operating system.
        None => unsafe { __tls_get_addr(index) as usize },
    }
}
