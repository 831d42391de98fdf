//! The running program: its threads, what each of them is about to do, and how to get it to any state again.
//!
//! # Problem
//!
//! The engine asks for steps forward and back ([`membar_explore::Program`]). A compiled program only runs forward, from its
//! beginning.
//!
//! # Algorithm
//!
//! Threads are coroutines ([`super::switch`]). Each intercepted access to a visible cell ([`super::shadow`]) *announces* what
//! it is about to do and hands over to the scheduler; when the scheduler resumes the thread, it makes the access and runs
//! to its next announcement, where it notes what it did. If the scheduler has said beforehand that the thread is to continue
//! ([`World::goes_on`]), it makes that access too, without a switch, as long as nothing about who can run has changed.
//!
//! Steps are made in [`step`]; going back, and getting to a state again, are in [`path`].
//!
//! While there is one thread only, nothing is announced but the creation of the next one: nobody could notice.
//!
//! # Invariants
//!
//! `slots[t]` has one entry more than `path` has steps of t. The program is in the state after `live` of them, if that is how
//! many there are. `values` are those of the state at the end of `path`; while sampling the program is always there, and its
//! memory is asked instead.
//!
//! # Safety
//!
//! There is one world per process, and one thread of the operating system that uses it. References to it never live across
//! a switch between coroutines.

use super::coroutine::Thread;
use super::facts::Divergence;
use super::float::Control;
use super::handlers::Handlers;
use super::heap::Heap;
use super::idle::Idle;
use super::layout::{self, CONTROL, MAX_THREADS, STARTED, control, stack_base};
use super::live::Live;
use super::module::Module;
use super::opaque::Opaque;
use super::pages::Pages;
use super::parts::Parts;
use super::shadow::Shadow;
use super::slot::{NO_STAMP, Pending, START_SITE, Slot, Stand};
use super::snapshot::{Snapshots, used_from};
use super::switch::{Place, begin, switch};
use super::sync::waiters::Waits;
use super::twins::Ties;
use super::unwind::Unwinder;
use membar_core::{AccessKind, Barrier, C11, Fence, Order, Performed, Remedy, Rng};
use membar_explore::{Awaited, Fault, Step, Watched};
use rustc_hash::FxHashMap;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

mod path;
mod step;
pub mod weak;

/// How threads are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Steps are made for the first time.
    Live,
    /// The path is run again.
    Again,
}

/// All state of the running program.
pub struct World {
    /// Where the scheduler was left, while a thread runs.
    pub scheduler: Place,
    /// The thread that runs, or ran last.
    pub current: usize,
    /// The same: threads are never moved.
    this: *mut Thread,
    /// There is one thread only.
    pub alone: bool,
    /// A thread has ended.
    pub ended: bool,
    pub shadow: Shadow,
    pub threads: [Thread; MAX_THREADS],
    /// Threads by their creator and their number among its threads; and how many there are.
    pub ids: FxHashMap<(u8, u32), u8>,
    pub known: usize,
    pub unjoined: usize,
    /// The program uses futexes: their cells are restored with everything else.
    pub futexes: bool,
    pub heap: Heap,
    pub module: Module,
    /// The file of the program's object.
    pub object: String,
    /// A library wanted to load another one, and did not get it.
    pub unloaded: bool,
    /// A signal handler was set, which is never run.
    pub handlers_set: bool,
    pub opaque: Opaque,
    pub parts: Parts,
    pub pages: Pages,
    pub mode: Mode,
    pub path: Vec<Step>,
    pub live: usize,
    pub at: usize,
    /// The value before the step that is being made, and after it.
    pub old: u64,
    pub new: u64,
    /// A step is being made: what the thread that runs announced last.
    pub stepping: bool,
    /// How many more the thread may make without being asked, unless one writes what is watched, and what it made.
    more: usize,
    watched: Watched,
    disturbed: bool,
    made: *mut Vec<Performed>,
    /// The value that each step replaced, and the values at the end of the path, for going back. Not kept while sampling.
    pub frames: Vec<(u32, u64)>,
    pub values: Vec<u64>,
    /// States on the path that can be continued from.
    pub snapshots: Snapshots,
    /// How often a state has been gone back to since the beginning.
    arrivals: u64,
    pub grown: bool,
    /// The current run no longer counts: the program has shown something new about itself, or is not deterministic.
    pub void: bool,
    /// Accesses find what they are told to, rather than what memory holds ([`weak`]).
    pub told: weak::Told,
    /// Executions are run once, from beginning to end: facts learnt in the middle of one do not stop it.
    pub sampling: bool,
    pub diverged: Option<Divergence>,
    pub executions: u64,
    /// What the execution has made in the file system.
    pub leftovers: Vec<super::made::Made>,
    pub steps: u64,
    /// Steps made again, to come to a state.
    pub replayed: u64,
    /// Everything seen at each offset of the object, and the loops among them.
    pub stamps: Vec<Stamp>,
    /// Goes up when the path is restarted.
    pub path_number: u32,
    pub loop_list: Vec<u32>,
    /// Notes about assembly that has been executed.
    pub assembly: Vec<u64>,
    /// Barriers to add after accesses, by site.
    pub remedies: FxHashMap<u32, Remedy>,
    pub volatile_atomic: bool,
    /// Threads may wake up without a reason, and whether one has waited that might have.
    pub spurious_wakeups: bool,
    pub waits: bool,
    /// The same of weak compare-exchanges: they may fail.
    pub spurious_failures: bool,
    pub weak: bool,
    /// Steps of other threads inside atomic sections ([`super::sections`]).
    pub intruders: Vec<u32>,
    /// Where threads wait in atomic sections for what comes after them (`sections.rs`).
    pub stuck: Vec<u32>,
    /// Instructions whose accesses are held back while another thread is in an atomic section (`sections.rs`).
    pub guarded: Vec<u32>,
    /// Whether threads may have twins, those that seem to have, and those that have turned out to differ ([`super::twins`]).
    pub symmetry: bool,
    pub twins: Vec<(u8, u32)>,
    pub apart: Vec<(u8, u32)>,
    /// Barriers that more threads use than meet there, and those whose results are looked at, as addresses like those of cells.
    pub crowded: Vec<u64>,
    pub asked: Vec<u64>,
    /// The range of any numbers given to the program.
    pub nondet: Option<(i64, i64)>,
    /// The handlers run at the end, and those that exist when an execution begins.
    pub handlers: Handlers,
    pub first_handlers: Handlers,
    /// The destructors of keys, 0 if a key has none, and of those there are when an execution begins. None if it was deleted.
    pub key_dtors: Vec<Option<usize>>,
    first_keys: Vec<Option<usize>>,
    pub running: bool,
    /// Schedules that are not to be run to their end, and what to say instead.
    pub poison: Vec<(Vec<Step>, Fault)>,
    /// Schedules after which a thread runs forever, what their steps found if they were told, and what is known of that: it took
    /// long enough to find out.
    pub endless: Vec<(Vec<Step>, Vec<u64>, Fault)>,
    /// Where the schedule that is being run is written.
    pub black_box: *mut u8,
    pub black_box_len: usize,
    /// The arguments of `main`.
    pub args: [usize; 3],
    /// One bit for each byte of the object: whether it is code that reports should not name but its caller.
    pub wrappers: Vec<u64>,
    /// The frames of that code; looked at only if there is any.
    pub unwinder: Unwinder,
    /// Atomic accesses of the program's own, by one bit for each byte of the object; others are the library's. Empty if all count.
    pub own_atomics: Vec<u64>,
    /// What is live in the program's code.
    pub liveness: Live,
    /// It does not matter.
    pub whole_stacks: bool,
    /// Where the C library keeps `errno`.
    pub errno: *mut i32,
    /// How the first thread begins to calculate: its constructors may have chosen. And whether the program can choose at all, or look.
    pub float: Control,
    pub floats: bool,
}

/// Everything seen at an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// On which path, by which threads: those who go back take theirs away. Threads that share a bit make it a loop, which costs time and
    /// nothing else.
    pub path: u32,
    pub threads: u64,
    /// A thread has come to it twice.
    pub is_loop: bool,
}

struct Global(UnsafeCell<MaybeUninit<World>>);
// SAFETY: used by one thread only; see the module's documentation.
unsafe impl Sync for Global {}
/// In one place, so that no address has to be looked up.
static WORLD: Global = Global(UnsafeCell::new(MaybeUninit::uninit()));

/// The world. Never keep the reference across a switch.
#[inline(always)]
pub fn world() -> &'static mut World {
    // SAFETY: it is set before anything of the program runs, and used by one thread only.
    unsafe { (*WORLD.0.get()).assume_init_mut() }
}

/// Sets the world up; once in a process.
pub fn install(world: World) {
    // SAFETY: nothing uses it yet.
    let world = unsafe { (*WORLD.0.get()).write(world) };
    world.this = world.threads.as_mut_ptr();
}

impl World {
    /// For a program whose object will be loaded.
    pub fn new(heap: Heap) -> World {
        World {
            scheduler: 0,
            current: 0,
            this: std::ptr::null_mut(),
            alone: true,
            ended: false,
            shadow: Shadow::new(0, 0),
            threads: std::array::from_fn(|_| Thread::new()),
            ids: FxHashMap::default(),
            known: 1,
            unjoined: 0,
            futexes: false,
            heap,
            module: Module::default(),
            object: String::new(),
            unloaded: false,
            handlers_set: false,
            opaque: Opaque::default(),
            parts: Parts::default(),
            pages: Pages::default(),
            mode: Mode::Live,
            path: Vec::new(),
            live: usize::MAX,
            at: 0,
            old: 0,
            new: 0,
            stepping: false,
            more: 0,
            watched: Watched::default(),
            disturbed: false,
            made: std::ptr::null_mut(),
            frames: Vec::new(),
            values: Vec::new(),
            snapshots: Snapshots::default(),
            arrivals: 0,
            grown: false,
            void: false,
            told: weak::Told::default(),
            sampling: false,
            diverged: None,
            executions: 0,
            leftovers: Vec::new(),
            steps: 0,
            replayed: 0,
            stamps: Vec::new(),
            path_number: 0,
            loop_list: Vec::new(),
            assembly: Vec::new(),
            remedies: FxHashMap::default(),
            volatile_atomic: false,
            spurious_wakeups: false,
            waits: false,
            spurious_failures: false,
            weak: false,
            intruders: Vec::new(),
            stuck: Vec::new(),
            guarded: Vec::new(),
            symmetry: false,
            twins: Vec::new(),
            apart: Vec::new(),
            crowded: Vec::new(),
            asked: Vec::new(),
            nondet: None,
            handlers: Handlers::default(),
            first_handlers: Handlers::default(),
            key_dtors: Vec::new(),
            first_keys: Vec::new(),
            running: false,
            poison: Vec::new(),
            endless: Vec::new(),
            black_box: std::ptr::null_mut(),
            black_box_len: 0,
            args: [0; 3],
            wrappers: Vec::new(),
            unwinder: Unwinder::default(),
            own_atomics: Vec::new(),
            liveness: Live::default(),
            whole_stacks: false,
            // SAFETY: the C library's own.
            errno: unsafe { libc::__errno_location() },
            float: super::float::DEFAULT,
            floats: true,
        }
    }

    /// The object has been loaded, and its constructors have run: this is what every execution begins with.
    pub fn loaded(&mut self, module: Module) {
        self.shadow = Shadow::new(module.base, module.len);
        self.shadow.add(module.libraries.iter().map(|library| (library.base, library.len)));
        self.stamps = vec![Stamp::default(); module.len];
        let heap = self.heap.keep();
        self.pages = Pages::keep(module.all_data().chain(heap));
        self.module = module;
        self.first_keys.clone_from(&self.key_dtors);
    }

    /// Sets the next access of a thread that has not been started: to wait for its start.
    pub fn unborn(&mut self, id: usize) {
        let cell = self.shadow.number(control(id) + STARTED).expect("visible");
        let pending = Pending {
            waits: true,
            c11: C11::new(Order::Acquire).fresh(),
            ..Pending::plain(cell, START_SITE, AccessKind::Load)
        };
        let new = self.threads[id].slots.is_empty();
        if new {
            self.set_value(cell, 0);
        }
        let thread = &mut self.threads[id];
        thread.stand = Stand::Access;
        if new {
            let awaited = Awaited { addr: cell, value: 0, until: false };
            let (stand, stamped, idle) = (Stand::Access, NO_STAMP, Idle::default());
            thread.slots.push(Slot { pending, stand, stamped, awaited, idle });
        }
    }

    #[inline]
    pub fn set_value(&mut self, cell: u32, value: u64) {
        let cell = cell as usize;
        if cell >= self.values.len() {
            self.values.resize(cell + 1, 0);
        }
        self.values[cell] = value;
    }

    /// Back to the beginning of the program.
    pub fn reset(&mut self) {
        self.executions += 1;
        for id in 0..self.known {
            let thread = &mut self.threads[id];
            if thread.place == 0 && id != 0 {
                continue;
            }
            // The frames on its stack are the program's and ours, and own nothing.
            let from = used_from(id, &thread.own);
            thread.place = 0;
            // Variables that a program does not initialise are then the same in every execution.
            // SAFETY: the stack is mapped and nobody runs on it.
            unsafe { std::ptr::write_bytes(from as *mut u8, 0, stack_base(id) - from) };
            thread.low = usize::MAX;
            thread.kids = 0;
            thread.ties = Ties::NEW;
            (thread.barrier, thread.fence) = (Barrier::None, Fence::None);
            (thread.dirty, thread.was_dirty) = (false, false);
            // It may have been left in the middle of an instruction of assembly.
            thread.scratch = 0;
            (thread.private, thread.suspect, thread.looked) = (0, 1000, None);
            thread.keys.clear();
            thread.written.clear();
            thread.cleanups.clear();
            thread.dtors.clear();
            thread.held.clear();
            thread.waits = Waits::default();
            thread.surprised.clear();
            thread.early = None;
            thread.later.clear();
            thread.patched.clear();
            (thread.random, thread.errno, thread.mask) = (Rng::new(id as u64), 0, 0);
            (thread.clock, thread.rested, thread.born, thread.slept) = (0, 0, 0, 0);
            thread.asked_errno = false;
            thread.cancel = [0; 2];
            thread.thrown.clear();
            thread.ending = None;
            thread.panic = None;
            thread.quiet = 0;
            thread.fault = None;
            thread.said = usize::from(id != 0);
        }
        self.threads[0].float = self.float;
        // SAFETY: mapped; the control blocks are plain bytes.
        unsafe { std::ptr::write_bytes(CONTROL as *mut u8, 0, self.known * layout::CONTROL_SIZE) };
        self.free_futexes();
        for id in 1..self.known {
            self.unborn(id);
        }
        self.pages.restore();
        self.heap.reset(self.known);
        super::libc_hooks::restore_environment();
        super::made::remove(&mut self.leftovers);
        self.forget_calls();
        self.handlers.copy(&self.first_handlers);
        self.key_dtors.clone_from(&self.first_keys);
        self.current = 0;
        self.this = self.threads.as_mut_ptr();
        self.alone = true;
        self.ended = false;
        self.unjoined = 0;
        self.live = 0;
        self.at = 0;
        self.stepping = false;
    }

    /// No thread waits at a futex.
    #[inline]
    pub fn free_futexes(&mut self) {
        if self.futexes {
            // SAFETY: mapped, and plain bytes.
            unsafe { std::ptr::write_bytes(layout::FUTEXES as *mut u8, 0, 8 * layout::FUTEX_CELLS) };
        }
    }

    /// The thread that runs, or ran last.
    #[inline(always)]
    pub fn this(&self) -> &'static mut Thread {
        // SAFETY: threads are never moved. As with [`world`], the reference is not kept across a switch.
        unsafe { &mut *self.this }
    }

    /// Runs the thread, which is at that place, until it announces something or ends. Code between here and the switch has no
    /// reference to the world, which is another one afterwards; the same holds for all callers.
    #[inline(always)]
    fn go(id: usize, thread: *mut Thread) {
        let world = world();
        world.current = id;
        world.this = thread;
        world.running = true;
        // SAFETY: threads are never moved, and this one is at that place of its own stack.
        unsafe {
            if (*thread).own.place == 0 {
                (*thread).own.place = world.create(id);
            }
            *world.errno = (*thread).own.errno;
            if world.floats {
                super::float::enter((*thread).own.float);
            }
            switch(&raw mut world.scheduler, (*thread).own.place);
        };
        let world = super::world::world();
        world.running = false;
        // SAFETY: as above.
        unsafe {
            (*thread).own.errno = *world.errno;
            if world.floats {
                (*thread).own.float = super::float::leave();
            }
        }
    }

    /// Makes a thread ready to run from its beginning.
    #[inline(never)]
    fn create(&mut self, id: usize) -> Place {
        self.module.thread_locals(id);
        // SAFETY: the thread's own stack, which it does not run on yet.
        unsafe { begin(stack_base(id), super::thread::run, id) }
    }

    /// Whether the program as a whole has ended, or would have if a thread had not gone wrong: a thread that waits then is not
    /// waited for.
    pub fn is_over(&self) -> bool {
        let ended =
            |thread: &Thread| thread.slots.last().is_some_and(|slot| matches!(slot.stand, Stand::Over | Stand::Fault));
        self.threads[..self.known].iter().any(ended)
    }
}
