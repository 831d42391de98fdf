//! One-time initialisation: `pthread_once`, and static variables within functions.

use super::*;
use membar_core::{AccessKind, Order};

pub extern "C-unwind" fn once(control: usize, function: usize) -> c_int {
    Event::sync(control, 4).takes().expects(0).while_not(1).announce();
    full();
    if *word(control) == 2 {
        return 0;
    }
    *word(control) = 1;
    // SAFETY: that is how it is called. If it throws, the next thread tries it again.
    let undo = Undo(control, Registers::save());
    unsafe { thread::call_back(function, 0, 0) };
    std::mem::forget(undo);
    Event::sync(control, 4).gives().announce();
    *word(control) = 2;
    full();
    0
}

/// Makes an interrupted `once` new again.
struct Undo(usize, Registers);

impl Drop for Undo {
    fn drop(&mut self) {
        self.1.restore();
        Event::sync(self.0, 4).gives().announce();
        *word(self.0) = 0;
        full();
    }
}

/// The guard of a static variable within a function: byte 0 says that it is initialised, byte 4 on that somebody is at it.
pub extern "C-unwind" fn guard_acquire(guard: usize) -> c_int {
    Event::sync(guard + 4, 4).takes().while_not(1).announce();
    *word(guard + 4) = 1;
    full();
    Event::atomic(AccessKind::Load, guard, 1, Order::Acquire).announce();
    // SAFETY: a guard of the program.
    if unsafe { *(guard as *const u8) } == 0 {
        return 1;
    }
    guard_abort(guard);
    0
}

pub extern "C-unwind" fn guard_release(guard: usize) {
    Event::atomic(AccessKind::Store, guard, 1, Order::Release).before(Barrier::Store).announce();
    // SAFETY: a guard of the program.
    unsafe { *(guard as *mut u8) = 1 };
    guard_abort(guard);
}

pub extern "C-unwind" fn guard_abort(guard: usize) {
    Event::sync(guard + 4, 4).gives().announce();
    *word(guard + 4) = 0;
    full();
}
