//! A thread of the program as a coroutine, and everything that is its own.
//!
//! Invariants: [`ThreadState`] is all that an execution changes about a thread besides its memory: a snapshot that copies it, the thread's stack and
//! its thread-local variables ([`super::snapshot`]) brings the thread back. A field that is missing in [`ThreadState::copy`] would leak from one
//! execution into the next, so `copy` takes the struct apart by name.

use super::float::Control;
use super::idle::History;
use super::libc_hooks::Thrown;
use super::slot::{Slot, Stand};
use super::switch::{Place, switch};
use super::sync::waiters::Waits;
use super::twins::Ties;
use super::world::world;
use membar_core::{Barrier, C11, Fence, Order, Rng};
use membar_explore::Fault;

/// A thread of the program.
pub struct Thread {
    /// Its announcements, one after each of its steps on the path.
    pub slots: Vec<Slot>,
    pub history: History,
    pub own: ThreadState,
}

/// The state of a thread that changes while it runs.
pub struct ThreadState {
    /// Where it was left.
    pub place: Place,
    /// The function that it runs.
    pub start: usize,
    pub arg: usize,
    /// Where that was asked for, as a return address.
    pub creator: usize,
    pub result: usize,
    /// How many threads it has created.
    pub kids: u32,
    /// What may distinguish it from other threads.
    pub ties: Ties,
    /// The strongest barrier since its last access.
    pub barrier: Barrier,
    /// The C11 fences since then.
    pub fence: Fence,
    /// Where its own frames begin.
    pub entry: usize,
    /// The lowest stack pointer seen.
    pub low: usize,
    /// It has written private memory other than its stack since its last announcement.
    pub dirty: bool,
    /// The registers that a call may change, as one number, where an access is announced without the compiler's knowledge: there they
    /// may be in use. 0 elsewhere.
    pub scratch: u64,
    /// Private memory other than its stack that it has written in this execution: address and size.
    pub written: Vec<(usize, usize)>,
    /// Accesses since its last announcement that were nobody else's business, how many of them are no reason to worry, and
    /// where it was when they were that many.
    pub private: u32,
    pub suspect: u32,
    pub looked: Option<(usize, u64)>,
    pub was_dirty: bool,
    pub keys: Vec<usize>,
    /// Handlers of `pthread_cleanup_push`, as places to jump to.
    pub cleanups: Vec<usize>,
    /// Destructors of its thread-local objects.
    pub dtors: Vec<(usize, usize)>,
    /// Mutexes that it holds.
    pub held: Vec<usize>,
    /// The queue that it waits in.
    pub waits: Waits,
    /// Calls in which it has woken up without a reason.
    pub surprised: Vec<u32>,
    /// A write that comes after the next read: address and size.
    pub early: Option<(usize, usize)>,
    /// Cells that it has written although their stores are steps still to come, with the bytes they held.
    pub later: Vec<(u32, u8, [u8; 16])>,
    /// Cells that hold something older until its next announcement, with the bytes to restore.
    pub patched: Vec<(u32, [u8; 16])>,
    /// Where that store is made.
    pub later_site: u32,
    /// Scratch: cells that are read and written as a whole, and what was read.
    pub sources: Vec<(u32, u8)>,
    pub targets: Vec<(u32, u8)>,
    pub reads: Vec<[u8; 16]>,
    pub random: Rng,
    /// How much time its looks at the clock took.
    pub clock: u64,
    /// How much more has passed than that, as it knows.
    pub rested: u64,
    /// When it was created, by its creator's clock.
    pub born: u64,
    /// How long it has slept since it looked at the clock.
    pub slept: u64,
    pub errno: i32,
    /// It has asked where its `errno` is.
    pub asked_errno: bool,
    /// Signals that it does not want.
    pub mask: u64,
    /// Whether and when it says that it may be cancelled.
    pub cancel: [i32; 2],
    /// How it calculates.
    pub float: Control,
    /// Exceptions that it has thrown.
    pub thrown: Vec<Thrown>,
    /// It has called `std::terminate`: why.
    pub ending: Option<Fault>,
    /// Its last panic, if it is a thread of Rust's: an error where nobody catches it.
    pub panic: Option<Fault>,
    /// Its accesses are no steps, and whether it was the only thread before. No snapshot is made meanwhile.
    pub quiet: u32,
    pub was_alone: bool,
    /// Why it cannot continue.
    pub fault: Option<Fault>,
    /// How many announcements it has made since the last reset.
    pub said: usize,
    pub stand: Stand,
    /// The caller of the announcement: stack and frame pointers.
    pub frame: (usize, usize),
}

impl std::ops::Deref for Thread {
    type Target = ThreadState;
    #[inline(always)]
    fn deref(&self) -> &ThreadState {
        &self.own
    }
}

impl std::ops::DerefMut for Thread {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut ThreadState {
        &mut self.own
    }
}

impl Thread {
    /// One that has not been started.
    pub fn new() -> Thread {
        Thread { slots: Vec::new(), history: History::default(), own: ThreadState::new() }
    }
}

impl ThreadState {
    /// The memory order of a plain access. The compiler does not look into assembly, so C's rules about races are not for it: each
    /// instruction is a relaxed access.
    #[inline]
    pub fn plain(&self) -> C11 {
        if self.scratch == 0 { C11::default() } else { C11::new(Order::Relaxed).assembly() }
    }

    /// How much time it has seen pass, or will have when it looks.
    pub fn time(&self) -> u64 {
        self.clock.saturating_add(self.rested).saturating_add(self.slept)
    }

    /// Of a thread that has not been started.
    pub fn new() -> ThreadState {
        ThreadState {
            place: 0,
            start: 0,
            arg: 0,
            creator: 0,
            result: 0,
            kids: 0,
            ties: Ties::NEW,
            barrier: Barrier::None,
            fence: Fence::None,
            entry: 0,
            low: usize::MAX,
            dirty: false,
            scratch: 0,
            written: Vec::new(),
            private: 0,
            suspect: 1000,
            looked: None,
            was_dirty: false,
            keys: Vec::new(),
            cleanups: Vec::new(),
            dtors: Vec::new(),
            held: Vec::new(),
            waits: Waits::default(),
            surprised: Vec::new(),
            early: None,
            later: Vec::new(),
            patched: Vec::new(),
            later_site: 0,
            sources: Vec::new(),
            targets: Vec::new(),
            reads: Vec::new(),
            random: Rng::new(0),
            clock: 0,
            rested: 0,
            born: 0,
            slept: 0,
            errno: 0,
            asked_errno: false,
            mask: 0,
            cancel: [0; 2],
            float: super::float::DEFAULT,
            thrown: Vec::new(),
            ending: None,
            panic: None,
            quiet: 0,
            was_alone: false,
            fault: None,
            said: 0,
            stand: Stand::Done,
            frame: (0, 0),
        }
    }

    /// Becomes the same as another one.
    pub fn copy(&mut self, other: &ThreadState) {
        /// Most of them are empty most of the time.
        fn copy<T: Clone>(to: &mut Vec<T>, from: &Vec<T>) {
            if from.is_empty() { to.clear() } else { to.clone_from(from) }
        }
        let ThreadState {
            place,
            start,
            arg,
            creator,
            result,
            kids,
            ties,
            barrier,
            fence,
            entry,
            low,
            dirty,
            scratch,
            written,
            private,
            suspect,
            looked,
            was_dirty,
            keys,
            cleanups,
            dtors,
            held,
            waits,
            surprised,
            early,
            later,
            patched,
            later_site,
            sources,
            targets,
            reads,
            random,
            clock,
            rested,
            born,
            slept,
            errno,
            asked_errno,
            mask,
            cancel,
            float,
            thrown,
            ending,
            panic,
            quiet,
            was_alone,
            fault,
            said,
            stand,
            frame,
        } = other;
        copy(&mut self.written, written);
        copy(&mut self.keys, keys);
        copy(&mut self.cleanups, cleanups);
        copy(&mut self.dtors, dtors);
        copy(&mut self.held, held);
        copy(&mut self.surprised, surprised);
        copy(&mut self.later, later);
        copy(&mut self.patched, patched);
        copy(&mut self.sources, sources);
        copy(&mut self.targets, targets);
        copy(&mut self.reads, reads);
        self.random.clone_from(random);
        copy(&mut self.thrown, thrown);
        self.ending.clone_from(ending);
        self.panic.clone_from(panic);
        (self.quiet, self.was_alone) = (*quiet, *was_alone);
        self.fault.clone_from(fault);
        self.place = *place;
        self.start = *start;
        self.arg = *arg;
        self.creator = *creator;
        self.result = *result;
        self.kids = *kids;
        self.ties = *ties;
        self.barrier = *barrier;
        self.fence = *fence;
        self.entry = *entry;
        self.low = *low;
        self.dirty = *dirty;
        self.scratch = *scratch;
        self.private = *private;
        self.suspect = *suspect;
        self.looked = *looked;
        self.was_dirty = *was_dirty;
        self.waits = *waits;
        self.early = *early;
        self.later_site = *later_site;
        (self.clock, self.rested) = (*clock, *rested);
        (self.born, self.slept) = (*born, *slept);
        (self.errno, self.asked_errno) = (*errno, *asked_errno);
        self.mask = *mask;
        self.cancel = *cancel;
        self.float = *float;
        self.said = *said;
        self.stand = *stand;
        self.frame = *frame;
    }
}

impl Thread {
    /// It has written memory that is nobody else's.
    #[inline]
    pub fn wrote(&mut self, addr: usize, size: usize) {
        /// Further writes are not looked at, and count as a change.
        const MOST: usize = 64;
        if self.written.last() == Some(&(addr, size)) || self.written.contains(&(addr, size)) {
            return;
        }
        if self.written.len() < MOST { self.written.push((addr, size)) } else { self.dirty = true }
    }

    /// The thread that runs hands over to the scheduler.
    ///
    /// # Safety
    ///
    /// It is the thread that runs. No reference to it or to the world is used afterwards: both are others then.
    #[inline(always)]
    pub unsafe fn suspend(this: *mut Thread) {
        // SAFETY: the scheduler waits for it.
        unsafe { switch(&raw mut (*this).own.place, world().scheduler) }
    }

    /// The thread that runs cannot continue.
    pub fn stop(fault: Fault) -> ! {
        world().this().fault = Some(fault);
        Thread::rest(Stand::Fault)
    }

    /// The thread that runs does nothing any more.
    pub fn rest(stand: Stand) -> ! {
        if matches!(stand, Stand::Fault | Stand::Over) {
            world().look_into_open_section();
        }
        let this = world().this();
        this.stand = stand;
        let this = &raw mut *this;
        loop {
            // SAFETY: nothing is used afterwards.
            unsafe { Thread::suspend(this) };
        }
    }
}
