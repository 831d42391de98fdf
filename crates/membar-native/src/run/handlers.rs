//! The end of a program: its handlers and destructors.
//!
//! # Problem
//!
//! `exit`, or a return from `main`, runs what `atexit`, `on_exit` and the constructors of C++ objects have registered, and then
//! the functions marked as destructors. Other threads continue meanwhile, so all of this is part of every execution, in its
//! order. The object is loaded once and never unloaded: nobody else runs any of it.
//!
//! # Algorithm
//!
//! One list, of which the last is run first. An execution begins with what there was when the constructors had run. Below the
//! object's own handlers are its destructors (`DT_FINI_ARRAY`), which are run after them; below those is what its libraries have. `quick_exit` has
//! its own list. To register a handler, and to take one from the list, is a step if several threads do so: the C library has a lock.
//!
//! # Guarantees
//!
//! The order is that of glibc. Handlers of the C++ library's own objects are left out: they flush and free invisible things.
//!
//! # Complexity
//!
//! Nothing for a program that has no handlers. Otherwise a reset copies those it has from the beginning.

use super::access::Event;
use super::layout::HANDLERS;
use super::module::Module;
use super::opaque;
use super::slot::END_SITE;
use super::thread::call_back;
use super::tsan::barrier;
use super::world::world;
use membar_core::Barrier;

/// How a handler is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// With its argument: `atexit`, destructors of objects.
    Argument,
    /// With the status and its argument: `on_exit`.
    Status,
}

/// A handler.
#[derive(Clone, Copy, Debug)]
pub struct Handler {
    pub function: usize,
    pub argument: usize,
    pub call: Call,
}

/// The handlers at some state of an execution.
#[derive(Debug, Default)]
pub struct Handlers {
    exit: Vec<Handler>,
    quick: Vec<Handler>,
}

impl Handlers {
    /// Becomes the same as others.
    #[inline]
    pub fn copy(&mut self, other: &Handlers) {
        /// Most programs have none.
        fn copy(to: &mut Vec<Handler>, from: &Vec<Handler>) {
            if from.is_empty() { to.clear() } else { to.clone_from(from) }
        }
        copy(&mut self.exit, &other.exit);
        copy(&mut self.quick, &other.quick);
    }

    /// Whether `exit` has nothing to run.
    pub fn is_empty(&self) -> bool {
        self.exit.is_empty()
    }

    /// Whether there is anything that an object may have registered before `main`, or marked as a destructor.
    pub fn any(&self, module: &Module) -> bool {
        !self.exit.is_empty() || module.all_fini().any(|fini| fini.len() > 1)
    }

    /// The constructors have run: keeps the state that every execution begins with. `library` says what belongs to the C++ library.
    pub fn begin(&mut self, module: &Module, library: impl Fn(&Handler) -> bool) {
        self.exit.retain(|handler| !library(handler) && module.has(handler.function));
        let (own, others): (Vec<_>, Vec<_>) =
            self.exit.drain(..).partition(|handler| module.offset(handler.function) != u32::MAX);
        let destructor = |&function: &usize| Handler { function, argument: 0, call: Call::Argument };
        self.exit.extend(others);
        // Libraries come last, in the order in which they were loaded.
        let mut lists: Vec<_> = module.all_fini().collect();
        lists.reverse();
        // The one that every object has is the compiler's, and does nothing here.
        for list in lists.into_iter().filter(|list| list.len() > 1) {
            self.exit.extend(list.iter().map(destructor));
        }
        self.exit.extend(own);
    }
}

/// Which list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    Exit,
    QuickExit,
}

fn list(when: When) -> &'static mut Vec<Handler> {
    let handlers = &mut world().handlers;
    match when {
        When::Exit => &mut handlers.exit,
        When::QuickExit => &mut handlers.quick,
    }
}

/// Registers a handler.
pub fn register(when: When, handler: Handler) {
    if !world().alone {
        Event::sync(HANDLERS, 4).announce();
        barrier(Barrier::Full);
    }
    list(when).push(handler);
}

/// Runs them, in the thread that runs, also those that are registered meanwhile.
pub fn run(when: When, status: i32) {
    loop {
        if list(when).is_empty() {
            return;
        }
        if !world().alone {
            Event::sync(HANDLERS, 4).at(END_SITE).announce();
            barrier(Barrier::Full);
        }
        let Some(Handler { function, argument, call }) = list(when).pop() else { return };
        let (a, b) = match call {
            Call::Argument => (argument, status as usize),
            Call::Status => (status as usize, argument),
        };
        // SAFETY: registered by the program's own code for this.
        opaque::called_back(function, || unsafe { call_back(function, a, b) });
    }
}
