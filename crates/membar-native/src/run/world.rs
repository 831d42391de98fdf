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
//! Each thread's announcement after each of its steps is kept, so going back means forgetting (`slots`), and only when a step is
//! to be made from an earlier state the program is reset, or restored to a state on the way ([`super::snapshot`]), and run
//! again along the path. On the way there a thread continues without a switch as long as the path says so, and each
//! announcement is compared with the one kept: a difference means that the program is not deterministic, and everything
//! stops ([`Divergence`]).
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
use super::layout::{self, CHOICE, CONTROL, MAX_THREADS, STARTED, control, stack_base};
use super::live::Live;
use super::module::Module;
use super::opaque::Opaque;
use super::pages::Pages;
use super::parts::Parts;
use super::shadow::{Shadow, read};
use super::slot::{END_SITE, NO_STAMP, NOTHING, Pending, START_SITE, Slot, Stand};
use super::snapshot::{Snapshots, used_from};
use super::switch::{Place, begin, switch};
use super::sync::waiters::Waits;
use super::twins::Ties;
use membar_core::{Access, AccessKind, Barrier, C11, Fence, Order, Performed, Remedy, Rng};
use membar_explore::{Awaited, Fault, Standing, Step, Stop, Watched};
use rustc_hash::FxHashMap;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

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
    /// Executions are run once, from beginning to end: facts learnt in the middle of one do not stop it.
    pub sampling: bool,
    pub diverged: Option<Divergence>,
    pub executions: u64,
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
    /// Schedules after which a thread runs forever, and what is known of that: it took long enough to find out.
    pub endless: Vec<(Vec<Step>, Fault)>,
    /// Where the schedule that is being run is written.
    pub black_box: *mut u8,
    pub black_box_len: usize,
    /// The arguments of `main`.
    pub args: [usize; 3],
    /// One bit for each byte of the object: whether it is code that reports should not name but its caller.
    pub wrappers: Vec<u64>,
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

/// Whether an access writes, if the cell holds this.
#[inline(always)]
fn writes(pending: &Pending, old: u64) -> bool {
    match pending.kind {
        AccessKind::Load => false,
        AccessKind::Store => true,
        AccessKind::Rmw => !pending.compares || pending.expected == old,
    }
}

/// The step of a thread that compares, or chooses, and found this.
fn made_by(id: usize, kind: AccessKind, old: u64) -> Step {
    match kind {
        AccessKind::Load => Step::choice(id, old as u32),
        _ => Step::of(id),
    }
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
            sampling: false,
            diverged: None,
            executions: 0,
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
            thread.place = 0;
            // Variables that a program does not initialise are then the same in every execution.
            let from = used_from(id, thread.low);
            // SAFETY: the stack is mapped and nobody runs on it.
            unsafe { std::ptr::write_bytes(from as *mut u8, 0, stack_base(id) - from) };
            thread.low = usize::MAX;
            thread.kids = 0;
            thread.ties = Ties::NEW;
            (thread.barrier, thread.fence) = (Barrier::None, Fence::None);
            (thread.dirty, thread.was_dirty) = (false, false);
            (thread.private, thread.suspect) = (0, 1000);
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
            (thread.random, thread.clock, thread.errno, thread.mask) = (Rng::new(id as u64), 0, 0, 0);
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

    /// Goes to the end of the path.
    ///
    /// A snapshot would hide it if the program did something else the second time. So at first, and then once in a while, it
    /// is run from its beginning.
    pub fn catch_up() {
        const FIRST: u64 = 64;
        const EVERY: u64 = 32;
        let w = world();
        w.arrivals += 1;
        let again = w.arrivals < FIRST || w.arrivals.is_multiple_of(EVERY);
        w.record_path();
        if again || !w.put_back_state() {
            w.reset();
        }
        w.mode = Mode::Again;
        w.replayed += (w.path.len() - w.at) as u64;
        if w.at == 0 {
            World::begin_main();
        }
        loop {
            let w = world();
            if w.at == w.path.len() || w.void {
                break;
            }
            if w.at >= w.snapshots.next {
                w.keep_state(w.at);
            }
            let step = w.path[w.at];
            let id = step.thread();
            if w.threads[id].stand != Stand::Access {
                w.diverge(id, None);
                break;
            }
            if let Some(outcome) = step.outcome() {
                w.decide(outcome);
            }
            w.at += 1;
            World::go(id, &raw mut w.threads[id]);
        }
        let w = world();
        w.mode = Mode::Live;
        w.live = w.path.len();
    }

    /// Writes the whole path down.
    #[inline]
    fn record_path(&self) {
        let len = self.path.len().min(self.black_box_len);
        if len > 0 {
            // SAFETY: the memory was given for this, and is that long.
            unsafe {
                std::ptr::copy_nonoverlapping(self.path.as_ptr().cast(), self.black_box.add(8).cast::<u32>(), len);
                *self.black_box.add(4).cast::<u32>() = len as u32;
            }
        }
    }

    /// Runs the first thread to its first announcement.
    fn begin_main() {
        if world().endless.is_empty() || !world().is_endless(None) {
            World::go(0, &raw mut world().threads[0]);
        }
        if world().threads[0].slots.is_empty() {
            world().push_end(0);
        }
    }

    /// Notes that the thread will make no access any more.
    fn push_end(&mut self, id: usize) {
        let thread = &mut self.threads[id];
        let pending = Pending::plain(0, END_SITE, AccessKind::Load);
        let idle = thread.slots.last().map(|slot| slot.idle).unwrap_or_default();
        let stand = thread.stand;
        thread.slots.push(Slot { pending, stand, stamped: NO_STAMP, awaited: NOTHING, idle });
    }

    /// Brings the world to the beginning for the first time, or after its facts have changed.
    pub fn begin() {
        let w = world();
        for thread in &mut w.threads {
            thread.slots.clear();
            thread.history.clear();
        }
        w.path.clear();
        w.frames.clear();
        w.path_number += 1;
        w.arrivals = 0;
        w.snapshots.clear(!w.sampling);
        w.reset();
        w.mode = Mode::Live;
        World::begin_main();
        world().live = 0;
    }

    #[cold]
    pub fn diverge(&mut self, id: usize, second: Option<u32>) {
        let thread = &self.threads[id];
        let slot = thread.slots.get(thread.said).or(thread.slots.last());
        let first = slot.and_then(Slot::access).map(|pending| pending.site);
        let step = self.at as u32;
        self.void = true;
        self.diverged.get_or_insert(Divergence { thread: id as u32, step, first, second });
    }

    /// Whether the program as a whole has ended, or would have if a thread had not gone wrong: a thread that waits then is not
    /// waited for.
    pub fn is_over(&self) -> bool {
        let ended =
            |thread: &Thread| thread.slots.last().is_some_and(|slot| matches!(slot.stand, Stand::Over | Stand::Fault));
        self.threads[..self.known].iter().any(ended)
    }

    /// Makes a step of a thread whose stand is an access, and up to `more` others ([`membar_explore::Program::steps`]).
    #[inline(always)]
    pub fn steps(id: usize, more: usize, watched: Watched, made: &mut Vec<Performed>) -> Stop {
        let w = world();
        if (w.live != w.path.len()) | w.void {
            if !w.void {
                World::catch_up();
            }
            if world().void {
                made.push(world().void_step(Step::of(id)));
                return Stop { standing: Standing::Stopped, disturbs: false };
            }
        }
        let w = world();
        let thread: *mut Thread = &mut w.threads[id];
        // SAFETY: threads are never moved.
        let Some(&Pending { cell, .. }) = unsafe { (*thread).slots.last() }.and_then(Slot::access) else {
            panic!("thread {id} has no access to make");
        };
        made.reserve(more + 1);
        (w.watched, w.made, w.disturbed) = (watched, &raw mut *made, false);
        w.begin_step(Step::of(id), cell);
        if w.poison.is_empty() & w.endless.is_empty() {
            w.more = more;
            World::go(id, thread);
            world().more = 0;
        } else if !w.is_poisoned(Step::of(id)) && !w.is_endless(Some(Step::of(id))) {
            World::go(id, thread);
        }
        let w = world();
        if w.stepping {
            w.last_step(id);
        }
        w.live = w.path.len();
        if !w.sampling {
            w.void = w.grown | w.shadow.grown;
            if w.path.len() >= w.snapshots.next && !w.void {
                w.keep_state(w.path.len());
            }
        }
        // SAFETY: as above.
        let standing = match unsafe { (*thread).slots.last() } {
            Some(slot) if !w.void => slot.standing(),
            _ => Standing::Stopped,
        };
        Stop { standing, disturbs: w.disturbed }
    }

    /// Makes a choice of a thread that is at one, and what comes before its next access.
    #[cold]
    pub fn choice(id: usize, outcome: u32) -> Performed {
        if world().live != world().path.len() && !world().void {
            World::catch_up();
        }
        let w = world();
        let cell = w.threads[id].slots.last().and_then(Slot::access).map(|pending| pending.cell);
        let Some(cell) = cell.filter(|_| !w.void) else { return w.void_step(Step::choice(id, outcome)) };
        let mut made = Vec::with_capacity(1);
        (w.watched, w.made, w.disturbed) = (Watched::default(), &raw mut made, false);
        w.decide(outcome);
        let step = Step::choice(id, outcome);
        w.begin_step(step, cell);
        if (w.poison.is_empty() || !w.is_poisoned(step)) && (w.endless.is_empty() || !w.is_endless(Some(step))) {
            World::go(id, &raw mut world().threads[id]);
        }
        let w = world();
        if w.stepping {
            w.last_step(id);
        }
        w.live = w.path.len();
        if !w.sampling {
            w.void = w.grown | w.shadow.grown;
        }
        made[0]
    }

    /// Sees to it that the choice that is made next reads this.
    pub fn decide(&mut self, outcome: u32) {
        // SAFETY: a word of the control block, which is mapped.
        unsafe { *(CHOICE as *mut u32) = outcome };
    }

    /// The step that is being made.
    fn step_in_progress(&self) -> Step {
        match self.this().slots.last().and_then(Slot::access) {
            Some(pending) if pending.compares => made_by(self.current, pending.kind, self.old),
            _ => Step::of(self.current),
        }
    }

    /// The thread is about to make its access.
    #[inline(always)]
    fn begin_step(&mut self, step: Step, cell: u32) {
        self.old = read(&self.shadow.cells[cell as usize]);
        self.steps += 1;
        self.stepping = true;
        self.record(self.path.len(), step);
    }

    /// It has made it: notes what it was, what was there before, and what is there now.
    #[inline(always)]
    fn end_step(&mut self, pending: &Pending) {
        let &Pending { expected, cell, site, kind, barrier, c11, part, compares, .. } = pending;
        let (id, old, new) = (self.current, self.old, self.new);
        self.stepping = false;
        self.path.push(if compares { made_by(id, kind, old) } else { Step::of(id) });
        if !self.sampling {
            self.frames.push((cell, old));
            self.set_value(cell, new);
        }
        let writes = writes(pending, old);
        self.disturbed |= writes & self.watched.has(cell);
        let access = Access { kind, barrier, c11, part, addr: cell, site, expected: compares.then_some(expected) };
        // SAFETY: the scheduler that asked for steps waits for them, and has made room for all.
        unsafe {
            let made = &mut *self.made;
            made.as_mut_ptr().add(made.len()).write(Performed { thread: id as u32, access, writes, old, new });
            made.set_len(made.len() + 1);
        }
    }

    /// The thread that runs has made a step and announced the next one: whether it may make that too, without being asked.
    /// Then that has begun.
    #[inline(always)]
    pub fn goes_on(&mut self, made: &Pending, next: &Slot) -> bool {
        self.end_step(made);
        let looked_at = !self.sampling && (self.grown | self.shadow.grown | (self.path.len() >= self.snapshots.next));
        if (self.more == 0) | next.waits() | self.disturbed | looked_at {
            return false;
        }
        self.more -= 1;
        self.begin_step(Step::of(self.current), next.pending.cell);
        true
    }

    /// The thread has made a step and not come to another access.
    #[inline(never)]
    fn last_step(&mut self, id: usize) {
        let pending =
            self.threads[id].slots.last().map_or(Pending::plain(0, END_SITE, AccessKind::Load), |slot| slot.pending);
        self.push_end(id);
        self.new = read(&self.shadow.cells[pending.cell as usize]);
        self.end_step(&pending);
    }

    /// Back to the beginning.
    pub fn rewind() {
        let w = world();
        for (cell, old) in w.frames.drain(..).rev() {
            w.values[cell as usize] = old;
        }
        w.path.clear();
        w.path_number += 1;
        w.snapshots.clear(!w.sampling);
        for thread in &mut w.threads[..w.known] {
            thread.slots.truncate(1);
            let idle = thread.slots.first().map(|slot| slot.idle).unwrap_or_default();
            thread.history.truncate(&idle);
        }
        if w.sampling && !w.void {
            // Memory is asked for its values.
            World::catch_up();
        }
    }

    /// Records which step is made, for the parent in case this process dies.
    #[inline]
    fn record(&self, at: usize, step: Step) {
        if at < self.black_box_len {
            // SAFETY: the memory was given for this, and is that long.
            unsafe {
                *self.black_box.add(8).cast::<u32>().add(at) = step.to_bits();
                *self.black_box.add(4).cast::<u32>() = at as u32 + 1;
            }
        }
    }

    /// Whether the thread, or the first one if the program is only beginning, is known to run forever from here.
    #[cold]
    fn is_endless(&mut self, step: Option<Step>) -> bool {
        let path = &self.path[..];
        let is = |known: &[Step]| match step {
            Some(step) => known.split_last() == Some((&step, path)),
            None => known.is_empty(),
        };
        let Some((_, fault)) = self.endless.iter().find(|(known, _)| is(known)) else { return false };
        let thread = &mut self.threads[step.map_or(0, Step::thread)];
        (thread.fault, thread.stand) = (Some(fault.clone()), Stand::Fault);
        true
    }

    /// The thread that runs would run forever. Noted if this is the first time that it is here.
    pub fn never_ends(&mut self, fault: &Fault) {
        let first = self.stepping;
        if self.mode == Mode::Live && (first || self.path.is_empty()) {
            let step = first.then(|| self.step_in_progress());
            self.endless.push((self.path.iter().copied().chain(step).collect(), fault.clone()));
        }
    }

    #[cold]
    fn is_poisoned(&mut self, step: Step) -> bool {
        let id = step.thread();
        let is = |path: &[Step]| path.split_last() == Some((&step, &self.path[..]));
        let Some((_, fault)) = self.poison.iter().find(|(path, _)| is(path)) else { return false };
        self.threads[id].fault = Some(fault.clone());
        self.threads[id].stand = Stand::Fault;
        true
    }

    /// Makes a thread's access, for a caller that acts as memory.
    pub fn perform(id: usize) {
        world().stepping = false;
        World::go(id, &raw mut world().threads[id]);
        world().live = usize::MAX;
    }

    /// A step that is not made, so that a thread in the middle of something can finish it.
    #[cold]
    fn void_step(&mut self, step: Step) -> Performed {
        let id = step.thread();
        let access = super::program::access(&Pending::plain(0, START_SITE, AccessKind::Load));
        self.live = usize::MAX;
        self.path.push(step);
        let value = self.values.first().copied().unwrap_or(0);
        self.set_value(0, value);
        self.frames.push((0, value));
        match self.threads[id].slots.last().copied() {
            Some(slot) => self.threads[id].slots.push(Slot { stamped: NO_STAMP, ..slot }),
            None => self.push_end(id),
        }
        Performed { thread: id as u32, access, writes: false, old: 0, new: 0 }
    }

    /// Takes the last step back.
    #[inline]
    pub fn undo(&mut self) {
        let id = self.path.pop().expect("a step to take back").thread();
        let (cell, old) = self.frames.pop().expect("as many as steps");
        self.values[cell as usize] = old;
        if self.path.len() < self.snapshots.last {
            self.snapshots.drop_to(self.path.len());
        }
        let thread = &mut self.threads[id];
        if let Some(Slot { stamped, .. }) = thread.slots.pop()
            && let Some(stamp) = self.stamps.get_mut(stamped as usize)
        {
            stamp.threads &= !(1 << (id % 64));
        }
        let idle = thread.slots.last().expect("one more than steps").idle;
        thread.history.truncate(&idle);
    }
}
