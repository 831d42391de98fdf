//! The running program: its threads, what each of them is about to do, and how to get it to any state again.
//!
//! # Problem
//!
//! The engine asks for steps forward and back ([`membar_explore::Program`]). A compiled program only runs forward, from its
//! beginning.
//!
//! # Algorithm
//!
//! Threads are coroutines. Each intercepted access to a visible cell ([`super::shadow`]) *announces* what it is about to do
//! and hands over to the scheduler; when the scheduler resumes the thread, it makes the access and runs to its next
//! announcement. What each thread announced after each of its steps is kept, so to go back is to forget (`slots`), and only
//! when a step is to be made from an earlier state the program is reset and run again along the path. On the way there a
//! thread goes on without a switch as long as the path says so, and each announcement is compared with the one kept: a
//! difference means that the program is not deterministic, and everything stops ([`Divergence`]).
//!
//! While there is one thread only, nothing is announced but the creation of the next one: nobody could notice.
//!
//! # Invariants
//!
//! `slots[t]` has one entry more than `path` has steps of t. `live` of them have been made since the last reset. `values` are
//! those of the state at the end of `path`.
//!
//! # Safety
//!
//! There is one world in a process, and one thread of the operating system that uses it. References to it never live across
//! a switch between coroutines.

use super::heap::Heap;
use super::idle::Idle;
use super::layout::{self, CONTROL, ENDED, MAX_THREADS, REGS, STARTED, STACK_SIZE, WOKEN, control, stack_base};
use super::module::Module;
use super::pages::Pages;
use super::shadow::{Cell, Shadow, read};
use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, Yielder};
use membar_core::{AccessKind, Barrier};
use membar_explore::Awaited;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cell::UnsafeCell;

/// Sites of accesses that no instruction of the program makes: the beginning and the end of a thread.
pub const START_SITE: u32 = u32::MAX - 1;
/// See [`START_SITE`].
pub const END_SITE: u32 = u32::MAX - 2;

/// A barrier for a site with this bit comes before the access, otherwise after it.
pub const BEFORE: u32 = 1 << 31;

/// What a thread is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    /// If it compares: what it expects.
    pub expected: u64,
    pub cell: u32,
    pub site: u32,
    pub kind: AccessKind,
    pub barrier: Barrier,
    /// It writes only if the cell holds `expected`.
    pub compares: bool,
    /// It may be disabled: the thread's `awaited` says when.
    pub waits: bool,
}

impl Pending {
    /// A plain access.
    pub fn plain(cell: u32, site: u32, kind: AccessKind) -> Pending {
        Pending { expected: 0, cell, site, kind, barrier: Barrier::None, compares: false, waits: false }
    }
}

/// Where a thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stand {
    /// It is about to make an access.
    Access,
    Done,
    Fault,
}

/// What is known of a thread after some of its steps.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// What it is about to do, if it is.
    pub pending: Pending,
    pub stand: Stand,
    /// What the pending access waits for, if it does.
    pub awaited: Awaited,
    pub idle: Idle,
}

impl Slot {
    /// The access that the thread is about to make.
    #[inline]
    pub fn access(&self) -> Option<&Pending> {
        (self.stand == Stand::Access).then_some(&self.pending)
    }
}

pub const NOTHING: Awaited = Awaited { addr: 0, value: 0, until: false };

/// The program did something else the second time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Divergence {
    /// The thread.
    pub thread: u32,
    /// The step of the path before which it stood.
    pub step: u32,
    /// Instructions, as offsets in the object: of what it did first, and of what it did now.
    pub first: Option<u32>,
    /// See `first`.
    pub second: Option<u32>,
}

/// A stack of the arena.
struct Region(usize);

// SAFETY: each region is mapped, aligned, with a guard page, and belongs to one thread.
unsafe impl Stack for Region {
    fn base(&self) -> StackPointer {
        StackPointer::new(stack_base(self.0)).expect("not null")
    }
    fn limit(&self) -> StackPointer {
        StackPointer::new(stack_base(self.0) - STACK_SIZE).expect("not null")
    }
}

type Routine = Coroutine<(), (), (), Region>;

/// A thread of the program.
pub struct Thread {
    routine: Option<Routine>,
    yielder: *const Yielder<(), ()>,
    /// What it runs.
    pub start: usize,
    pub arg: usize,
    pub result: usize,
    pub detached: bool,
    pub joined: bool,
    /// How many threads it has created.
    pub kids: u32,
    /// The strongest barrier since its last access.
    pub barrier: Barrier,
    /// Where its own frames begin.
    pub entry: usize,
    /// The lowest stack pointer seen.
    low: usize,
    /// It has written private memory other than its stack since its last announcement.
    pub dirty: bool,
    /// Accesses since its last announcement that were nobody else's business, how many of them are no reason to worry, and
    /// where it was when they were that many.
    pub private: u32,
    pub suspect: u32,
    pub circle: Option<(usize, u64)>,
    pub was_dirty: bool,
    pub keys: Vec<usize>,
    /// Handlers of `pthread_cleanup_push`, as places to jump to.
    pub cleanups: Vec<usize>,
    /// Destructors of its thread-local objects.
    pub dtors: Vec<(usize, usize)>,
    /// Mutexes that it holds.
    pub held: Vec<usize>,
    /// A write that comes after the next read: address and size.
    pub early: Option<(usize, usize)>,
    /// Cells that it has written although their stores are steps still to come, with the bytes they held.
    pub later: Vec<(u32, [u8; 16])>,
    /// Cells that hold something older until its next announcement, with the bytes to put back.
    pub patched: Vec<(u32, [u8; 16])>,
    /// Where that store is made.
    pub later_site: u32,
    /// Scratch: cells that are read and written as a whole, and what was read.
    pub sources: Vec<u32>,
    pub targets: Vec<u32>,
    pub reads: Vec<[u8; 16]>,
    pub random: u64,
    pub clock: u64,
    pub errno: i32,
    /// Why it cannot go on.
    pub fault: Option<Fault>,
    /// What it announced, after each of its steps on the path.
    pub slots: Vec<Slot>,
    pub log: Vec<Awaited>,
    pub visits: Vec<super::idle::Visit>,
    /// How many announcements it has made since the last reset.
    said: usize,
    pub stand: Stand,
    /// The caller of the announcement: stack and frame pointers.
    pub frame: (usize, usize),
}

/// Why a thread cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub message: String,
    /// Return addresses, innermost first.
    pub stack: Vec<usize>,
}

/// What is learnt about a program while it runs, and what has to be known from the beginning for the result to count.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Visible cells; those below the arena are relative to the program's object.
    pub cells: Vec<Cell>,
    /// Threads other than the first: who creates them, and as which of its threads.
    pub threads: Vec<(u8, u32)>,
    /// Instructions that threads come to more than once, as offsets in the object.
    pub loops: Vec<u32>,
}

/// How threads are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Steps are made for the first time.
    Live,
    /// The path is run again.
    Again,
}

/// Everything.
pub struct World {
    pub current: usize,
    /// There is one thread only.
    pub alone: bool,
    pub shadow: Shadow,
    pub threads: Vec<Thread>,
    /// Threads by who creates them, and as which of its threads; and how many there are.
    ids: FxHashMap<(u8, u32), u8>,
    pub known: usize,
    pub unjoined: usize,
    pub heap: Heap,
    pub module: Module,
    pub pages: Pages,
    mode: Mode,
    pub path: Vec<u8>,
    live: usize,
    at: usize,
    /// The value before the step that is being made, and after it.
    old: u64,
    new: u64,
    stepping: Option<(u32, AccessKind)>,
    /// What each step replaced.
    pub frames: Vec<(u32, u64)>,
    pub values: Vec<u64>,
    pub grown: bool,
    /// What is run no longer counts: the program has shown something new about itself, or is not deterministic.
    pub void: bool,
    pub diverged: Option<Divergence>,
    pub executions: u64,
    pub steps: u64,
    /// What has been seen at each offset of the object: in which execution, by which threads; and whether it is a loop.
    stamps: Vec<(u32, u64)>,
    loops: Vec<bool>,
    pub loop_list: Vec<u32>,
    /// Barriers to add after accesses, by site.
    pub barriers: FxHashMap<u32, Barrier>,
    pub volatile_atomic: bool,
    pub exit_handlers: Vec<(usize, usize)>,
    pub exit_snapshot: usize,
    pub key_dtors: Vec<Option<usize>>,
    pub key_snapshot: usize,
    pub running: bool,
    /// Schedules that are not to be run to their end, and what to say instead.
    pub poison: Vec<(Vec<u8>, String)>,
    /// Where the schedule that is being run is written.
    pub black_box: *mut u8,
    pub black_box_len: usize,
    /// Somebody has called `exit`.
    pub over: bool,
    /// What `main` is called with.
    pub args: [usize; 3],
    /// One bit for each byte of the object: whether it is code that reports should not name but its caller.
    pub wrappers: Vec<u64>,
    /// Where the C library keeps `errno`.
    errno: *mut i32,
}

struct Global(UnsafeCell<Option<Box<World>>>);
// SAFETY: used by one thread only; see the module's documentation.
unsafe impl Sync for Global {}
static WORLD: Global = Global(UnsafeCell::new(None));
static POINTER: std::sync::atomic::AtomicPtr<World> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());

/// The world. Never keep the reference across a switch.
#[inline(always)]
pub fn world() -> &'static mut World {
    // SAFETY: it is set before anything of the program runs, and used by one thread only.
    unsafe { &mut *POINTER.load(std::sync::atomic::Ordering::Relaxed) }
}

/// Sets the world up; once in a process.
pub fn install(world: World) {
    // SAFETY: nothing uses it yet.
    let slot = unsafe { &mut *WORLD.0.get() };
    *slot = Some(Box::new(world));
    let pointer: *mut World = &mut **slot.as_mut().expect("just set");
    POINTER.store(pointer, std::sync::atomic::Ordering::Relaxed);
}

/// All the registers that a stub leaves, for whoever goes on in a hook after other code of the program has run.
#[derive(Clone, Copy)]
pub struct Registers([usize; 7]);

impl Registers {
    #[inline(always)]
    pub fn save() -> Registers {
        // SAFETY: mapped before anything of the program runs.
        // One by one, as the stub has written them: a wider load would wait for its stores.
        Registers(std::array::from_fn(|i| unsafe { ((REGS + 8 * i) as *const usize).read_volatile() }))
    }

    /// Puts them back, but for the last, which counts how often: to the caller a hook is one instruction, and whoever looks
    /// for a waiting loop must not take two steps of one call for two rounds (see [`super::idle`]).
    #[inline(always)]
    pub fn restore(self) {
        self.restore_after(1);
    }

    /// The same, after something of which there may have been several steps.
    #[inline(always)]
    pub fn restore_after(mut self, what: usize) {
        self.0[6] = self.0[6].wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(what);
        // SAFETY: as above.
        unsafe { *(REGS as *mut [usize; 7]) = self.0 };
    }
}

/// A register of the caller of the stub that was entered last: 0 is the stack pointer, which points to the return address.
#[inline(always)]
pub fn register(i: usize) -> usize {
    // SAFETY: mapped before anything of the program runs.
    unsafe { *((REGS + 8 * i) as *const usize) }
}

impl Thread {
    fn new() -> Thread {
        Thread {
            routine: None,
            yielder: std::ptr::null(),
            start: 0,
            arg: 0,
            result: 0,
            detached: false,
            joined: false,
            kids: 0,
            barrier: Barrier::None,
            entry: 0,
            low: usize::MAX,
            dirty: false,
            private: 0,
            suspect: 1000,
            circle: None,
            was_dirty: false,
            keys: Vec::new(),
            cleanups: Vec::new(),
            dtors: Vec::new(),
            held: Vec::new(),
            early: None,
            later: Vec::new(),
            patched: Vec::new(),
            later_site: 0,
            sources: Vec::new(),
            targets: Vec::new(),
            reads: Vec::new(),
            random: 0,
            clock: 0,
            errno: 0,
            fault: None,
            slots: Vec::new(),
            log: Vec::new(),
            visits: Vec::new(),
            said: 0,
            stand: Stand::Done,
            frame: (0, 0),
        }
    }
}

impl World {
    /// For a program whose object will be loaded.
    pub fn new(heap: Heap) -> World {
        World {
            current: 0,
            alone: true,
            shadow: Shadow::new(0, 0),
            threads: (0..MAX_THREADS).map(|_| Thread::new()).collect(),
            ids: FxHashMap::default(),
            known: 1,
            unjoined: 0,
            heap,
            module: Module::default(),
            pages: Pages::default(),
            mode: Mode::Live,
            path: Vec::new(),
            live: usize::MAX,
            at: 0,
            old: 0,
            new: 0,
            stepping: None,
            frames: Vec::new(),
            values: Vec::new(),
            grown: false,
            void: false,
            diverged: None,
            executions: 0,
            steps: 0,
            stamps: Vec::new(),
            loops: Vec::new(),
            loop_list: Vec::new(),
            barriers: FxHashMap::default(),
            volatile_atomic: false,
            exit_handlers: Vec::new(),
            exit_snapshot: 0,
            key_dtors: Vec::new(),
            key_snapshot: 0,
            running: false,
            poison: Vec::new(),
            black_box: std::ptr::null_mut(),
            black_box_len: 0,
            over: false,
            args: [0; 3],
            wrappers: Vec::new(),
            // SAFETY: the C library's own.
            errno: unsafe { libc::__errno_location() },
        }
    }

    /// The object has been loaded, and its constructors have run: this is what every execution begins with.
    pub fn loaded(&mut self, module: Module) {
        self.shadow = Shadow::new(module.base, module.len);
        self.stamps = vec![(0, 0); module.len];
        self.loops = vec![false; module.len];
        let heap = self.heap.keep();
        self.pages = Pages::keep(module.data.iter().copied().chain(heap));
        self.module = module;
        self.exit_snapshot = self.exit_handlers.len();
        self.key_snapshot = self.key_dtors.len();
    }

    /// What has been learnt.
    pub fn facts(&self) -> Facts {
        let relative = |cell: &Cell| {
            let inside = (cell.at as usize).wrapping_sub(self.module.base) < self.module.len;
            let at = if inside { cell.at - self.module.base as u64 } else { cell.at };
            Cell { at, ..*cell }
        };
        let mut threads: Vec<_> = self.ids.iter().map(|(key, id)| (*id, *key)).collect();
        threads.sort_unstable();
        Facts {
            cells: self.shadow.cells.iter().filter(|cell| cell.size > 0).map(relative).collect(),
            threads: threads.into_iter().map(|(_, key)| key).collect(),
            loops: self.loop_list.clone(),
        }
    }

    /// Knows this and nothing else.
    pub fn know(&mut self, facts: &Facts) {
        self.shadow.clear();
        self.ids.clear();
        self.known = 1;
        self.values.clear();
        for &site in &std::mem::take(&mut self.loop_list) {
            self.loops[site as usize] = false;
        }
        for thread in &mut self.threads {
            thread.slots.clear();
        }
        for &(parent, nth) in &facts.threads {
            self.thread_id(parent as usize, nth);
        }
        for cell in &facts.cells {
            let inside = (cell.at as usize) < self.module.len;
            let at = if inside { cell.at + self.module.base as u64 } else { cell.at };
            if self.shadow.number(at as usize).is_none() {
                self.shadow.reveal(Cell { at, ..*cell });
            }
        }
        for &site in &facts.loops {
            if let Some(known) = self.loops.get_mut(site as usize)
                && !*known
            {
                *known = true;
                self.loop_list.push(site);
            }
        }
        (self.grown, self.shadow.grown, self.diverged, self.void) = (false, false, None, false);
    }

    /// The number of the thread that this one creates as its n-th. `None` if there are too many.
    pub fn thread_id(&mut self, parent: usize, nth: u32) -> Option<usize> {
        if let Some(&id) = self.ids.get(&(parent as u8, nth)) {
            return Some(usize::from(id));
        }
        if self.known == MAX_THREADS {
            return None;
        }
        let id = self.known;
        self.known += 1;
        self.ids.insert((parent as u8, nth), id as u8);
        self.grown = true;
        for offset in [STARTED, ENDED, WOKEN] {
            self.shadow.reveal(Cell { at: (control(id) + offset) as u64, size: 4, atomic: true });
        }
        self.threads[id].slots.clear();
        self.unborn(id);
        Some(id)
    }

    /// What a thread that has not been started is about to do: to wait for that.
    fn unborn(&mut self, id: usize) {
        let cell = self.shadow.number(control(id) + STARTED).expect("visible");
        let pending = Pending { waits: true, ..Pending::plain(cell, START_SITE, AccessKind::Load) };
        let new = self.threads[id].slots.is_empty();
        if new {
            self.set_value(cell, 0);
        }
        let thread = &mut self.threads[id];
        thread.stand = Stand::Access;
        if new {
            let awaited = Awaited { addr: cell, value: 0, until: false };
            thread.slots.push(Slot { pending, stand: Stand::Access, awaited, idle: Idle::default() });
        }
    }

    #[inline]
    fn set_value(&mut self, cell: u32, value: u64) {
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
            if let Some(mut routine) = thread.routine.take() {
                if !routine.done() {
                    // SAFETY: the frames on that stack are the program's and ours, and own nothing.
                    unsafe { routine.force_reset() };
                }
            } else if id != 0 {
                continue;
            }
            let from = thread.low.min(stack_base(id)).saturating_sub(1024).max(stack_base(id) - STACK_SIZE + layout::GUARD);
            // SAFETY: the stack is mapped and nobody runs on it.
            unsafe { std::ptr::write_bytes(from as *mut u8, 0, stack_base(id) - from) };
            wipe_below(from, stack_base(id) - STACK_SIZE + layout::GUARD);
            thread.low = usize::MAX;
            thread.kids = 0;
            thread.barrier = Barrier::None;
            (thread.detached, thread.joined, thread.dirty, thread.was_dirty) = (false, false, false, false);
            (thread.private, thread.suspect) = (0, 1000);
            thread.keys.clear();
            thread.cleanups.clear();
            thread.dtors.clear();
            thread.held.clear();
            thread.early = None;
            thread.later.clear();
            thread.patched.clear();
            (thread.random, thread.clock, thread.errno) = (0, 0, 0);
            thread.fault = None;
            thread.said = usize::from(id != 0);
        }
        // SAFETY: mapped; the control blocks are plain bytes.
        unsafe { std::ptr::write_bytes(CONTROL as *mut u8, 0, self.known * layout::CONTROL_SIZE) };
        for id in 1..self.known {
            self.unborn(id);
        }
        self.pages.restore();
        self.heap.reset(self.known);
        super::libc_hooks::restore_environment();
        self.exit_handlers.truncate(self.exit_snapshot);
        self.key_dtors.truncate(self.key_snapshot);
        self.current = 0;
        self.alone = true;
        self.over = false;
        self.unjoined = 0;
        self.live = 0;
        self.at = 0;
        self.stepping = None;
    }

    /// Runs the thread until it announces something or ends.
    #[inline]
    fn go(&mut self, id: usize) {
        self.current = id;
        self.running = true;
        if self.threads[id].routine.is_none() {
            self.module.thread_locals(id);
            let routine = Coroutine::with_stack(Region(id), move |yielder: &Yielder<(), ()>, ()| {
                world().threads[id].yielder = yielder;
                super::thread::run(id);
            });
            self.threads[id].routine = Some(routine);
        }
        let routine: *mut Routine = self.threads[id].routine.as_mut().expect("just made");
        // SAFETY: the routine stays where it is while it runs: threads are never moved, and only `reset` drops it.
        let result = unsafe {
            *self.errno = self.threads[id].errno;
            (*routine).resume(())
        };
        let world = world();
        world.running = false;
        // SAFETY: as above.
        world.threads[id].errno = unsafe { *world.errno };
        if result.as_return().is_some() {
            world.threads[id].stand = Stand::Done;
        }
    }

    /// Goes to the end of the path.
    pub fn catch_up(&mut self) {
        self.reset();
        self.record_path();
        self.mode = Mode::Again;
        self.begin_main();
        while self.at < self.path.len() && !self.void {
            let id = usize::from(self.path[self.at]);
            if self.threads[id].stand != Stand::Access {
                self.diverge(id, None);
                break;
            }
            self.at += 1;
            self.go(id);
        }
        self.mode = Mode::Live;
        self.live = self.path.len();
    }

    /// Writes the whole path down.
    #[inline]
    fn record_path(&self) {
        let len = self.path.len().min(self.black_box_len);
        if len > 0 {
            // SAFETY: the memory was given for this, and is that long.
            unsafe {
                std::ptr::copy_nonoverlapping(self.path.as_ptr(), self.black_box.add(8), len);
                *self.black_box.add(4).cast::<u32>() = len as u32;
            }
        }
    }

    /// Runs the first thread to its first announcement.
    fn begin_main(&mut self) {
        self.go(0);
        if self.threads[0].slots.is_empty() {
            self.push_end(0);
        }
    }

    /// Notes that the thread will make no access any more.
    fn push_end(&mut self, id: usize) {
        let thread = &mut self.threads[id];
        let pending = Pending::plain(0, END_SITE, AccessKind::Load);
        let idle = thread.slots.last().map(|slot| slot.idle).unwrap_or_default();
        thread.slots.push(Slot { pending, stand: thread.stand, awaited: NOTHING, idle });
    }

    /// Brings the world to the beginning for the first time, or after its facts have changed.
    pub fn begin(&mut self) {
        for thread in &mut self.threads {
            thread.slots.clear();
            thread.log.clear();
            thread.visits.clear();
        }
        self.path.clear();
        self.frames.clear();
        self.reset();
        self.mode = Mode::Live;
        self.begin_main();
        self.live = 0;
    }

    #[cold]
    fn diverge(&mut self, id: usize, second: Option<u32>) {
        let thread = &self.threads[id];
        let slot = thread.slots.get(thread.said).or(thread.slots.last());
        let first = slot.and_then(Slot::access).map(|pending| pending.site);
        let step = self.at as u32;
        self.void = true;
        self.diverged.get_or_insert(Divergence { thread: id as u32, step, first, second });
    }

    /// Whether the program as a whole has ended, or would have if a thread had not gone wrong: whoever waits then is not
    /// waited for.
    pub fn is_over(&self) -> bool {
        let is = |thread: &Thread, stand| thread.slots.last().is_some_and(|slot| slot.stand == stand);
        // A thread that ends makes one last access; one that has called `exit` does not.
        let exited = |thread: &Thread| {
            is(thread, Stand::Done)
                && thread.slots.iter().rev().nth(1).is_some_and(|slot| slot.pending.site != END_SITE)
        };
        is(&self.threads[0], Stand::Done)
            || self.threads[..self.known].iter().any(|thread| is(thread, Stand::Fault) || exited(thread))
    }

    /// Makes the step of a thread whose stand is an access: what it was, what was there before, and what is there now.
    #[inline]
    pub fn step(&mut self, id: usize) -> (Pending, u64, u64) {
        if self.live != self.path.len() && !self.void {
            self.catch_up();
        }
        if self.void {
            return self.void_step(id);
        }
        let Some(&pending) = self.threads[id].slots.last().and_then(Slot::access) else {
            panic!("thread {id} has no access to make");
        };
        let old = read(&self.shadow.cells[pending.cell as usize]);
        self.steps += 1;
        self.old = old;
        self.stepping = Some((pending.cell, pending.kind));
        self.record(self.path.len(), id);
        if self.poison.is_empty() || !self.is_poisoned(id) {
            self.go(id);
        }
        let new = match self.stepping.take() {
            // It has not come to another access.
            Some(_) => {
                self.push_end(id);
                read(&self.shadow.cells[pending.cell as usize])
            }
            None => self.new,
        };
        self.live = self.path.len() + 1;
        self.void = self.grown | self.shadow.grown;
        self.path.push(id as u8);
        self.frames.push((pending.cell, old));
        self.set_value(pending.cell, new);
        (pending, old, new)
    }

    /// Back to the beginning, without running anything.
    pub fn rewind(&mut self) {
        for (cell, old) in self.frames.drain(..).rev() {
            self.values[cell as usize] = old;
        }
        self.path.clear();
        for thread in &mut self.threads[..self.known] {
            thread.slots.truncate(1);
            let idle = thread.slots.first().map(|slot| slot.idle).unwrap_or_default();
            thread.log.truncate(idle.log as usize);
            thread.visits.truncate(idle.visits as usize);
        }
    }

    /// Writes down which step is made, for whoever finds us dead.
    #[inline]
    fn record(&self, at: usize, id: usize) {
        if at < self.black_box_len {
            // SAFETY: the memory was given for this, and is that long.
            unsafe {
                *self.black_box.add(8 + at) = id as u8;
                *self.black_box.add(4).cast::<u32>() = at as u32 + 1;
            }
        }
    }

    #[cold]
    fn is_poisoned(&mut self, id: usize) -> bool {
        let is = |path: &[u8]| path.split_last() == Some((&(id as u8), &self.path[..]));
        let Some((_, message)) = self.poison.iter().find(|(path, _)| is(path)) else { return false };
        let fault = Fault { message: message.clone(), stack: Vec::new() };
        self.threads[id].fault = Some(fault);
        self.threads[id].stand = Stand::Fault;
        true
    }

    /// Makes a thread's access, for somebody else who is memory.
    pub fn perform(&mut self, id: usize) {
        self.stepping = None;
        self.go(id);
        self.live = usize::MAX;
    }

    /// A step that is not made, so that whoever is in the middle of something comes to its end.
    #[cold]
    fn void_step(&mut self, id: usize) -> (Pending, u64, u64) {
        let nothing = Pending::plain(0, START_SITE, AccessKind::Load);
        self.live = usize::MAX;
        self.path.push(id as u8);
        let value = self.values.first().copied().unwrap_or(0);
        self.set_value(0, value);
        self.frames.push((0, value));
        match self.threads[id].slots.last().copied() {
            Some(slot) => self.threads[id].slots.push(slot),
            None => self.push_end(id),
        }
        (nothing, 0, 0)
    }

    /// Takes the last step back.
    #[inline]
    pub fn undo(&mut self) {
        let id = usize::from(self.path.pop().expect("a step to take back"));
        let (cell, old) = self.frames.pop().expect("as many as steps");
        self.values[cell as usize] = old;
        let thread = &mut self.threads[id];
        thread.slots.pop();
        let idle = thread.slots.last().expect("one more than steps").idle;
        thread.log.truncate(idle.log as usize);
        thread.visits.truncate(idle.visits as usize);
    }

    /// The thread that runs is about to do this. Returns when it may.
    ///
    /// `MORE` if the hook may announce more on behalf of its caller, or complain about it: then the caller's registers are
    /// as they were.
    #[inline(always)]
    pub fn announce<const MORE: bool>(mut pending: Pending, awaited: Awaited) {
        let world = world();
        let id = world.current;
        let thread = &mut world.threads[id];
        pending.barrier = pending.barrier.max(thread.barrier);
        thread.barrier = Barrier::None;
        if !world.barriers.is_empty()
            && let Some(&barrier) = world.barriers.get(&(pending.site | BEFORE))
        {
            pending.barrier = pending.barrier.max(barrier);
        }
        let thread = &mut world.threads[id];
        (thread.private, thread.suspect) = (0, 1000);
        thread.low = thread.low.min(register(0));
        thread.frame = (register(0), register(2));
        thread.stand = Stand::Access;
        let registers = MORE.then(Registers::save);
        if world.mode == Mode::Again {
            let known = thread.slots.get(thread.said).and_then(Slot::access);
            if known != Some(&pending) {
                world.diverge(id, Some(pending.site));
                world.threads[id].suspend();
            }
            let thread = &mut world.threads[id];
            thread.said += 1;
            (thread.dirty, thread.was_dirty) = (false, false);
            if world.at < world.path.len() && usize::from(world.path[world.at]) == id {
                world.at += 1;
            } else {
                thread.suspend();
            }
        } else {
            let idle = world.look(id, &pending);
            let slots = &mut world.threads[id].slots;
            if slots.len() == slots.capacity() {
                slots.reserve(64);
            }
            // Field by field: a copy of the whole right after its parts have been written would wait for them.
            // SAFETY: there is room for one more, all of which is written.
            unsafe {
                let slot = slots.as_mut_ptr().add(slots.len());
                (&raw mut (*slot).pending).write(pending);
                (&raw mut (*slot).stand).write(Stand::Access);
                (&raw mut (*slot).awaited).write(awaited);
                (&raw mut (*slot).idle).write(idle);
                slots.set_len(slots.len() + 1);
            }
            world.threads[id].suspend();
        }
        if let Some(registers) = registers {
            registers.restore();
        }
        let world = self::world();
        if !world.barriers.is_empty()
            && let Some(&barrier) = world.barriers.get(&pending.site)
        {
            world.threads[id].barrier = barrier;
        }
    }

    /// The instruction that a report should name for a call from `pc`, which may be in code that only wraps.
    #[inline]
    pub fn user_site(&self, pc: u32, frame: usize) -> u32 {
        if !self.is_wrapper(pc) {
            return pc;
        }
        self.caller_of_wrapper(frame).unwrap_or(pc)
    }

    #[inline]
    fn is_wrapper(&self, pc: u32) -> bool {
        let pc = pc.wrapping_sub(1) as usize;
        self.wrappers.get(pc / 64).is_none_or(|bits| bits >> (pc % 64) & 1 != 0)
    }

    fn caller_of_wrapper(&self, frame: usize) -> Option<u32> {
        let stack = super::fault::walk(0, frame, self.current, 32);
        let user = |pc: usize| {
            let pc = self.module.offset(pc);
            (pc != u32::MAX && !self.is_wrapper(pc)).then_some(pc)
        };
        // Code without frame pointers hides its caller from the chain: what looks like a return address then will do.
        let (from, to) = (register(0), self.threads[self.current].entry.min(frame.max(register(0))));
        let hidden = (from..to).step_by(8).take(256).find_map(|at| user(unsafe_read(at)));
        hidden.or_else(|| stack[1..].iter().find_map(|&pc| user(pc)))
    }

    /// Looks what came of the last step, and whether the thread waits for something.
    #[inline]
    fn look(&mut self, id: usize, &Pending { cell, kind, waits, expected, .. }: &Pending) -> Idle {
        if waits {
            let value = read(&self.shadow.cells[cell as usize]);
            self.set_value(cell, value);
        }
        let made = self.stepping.take();
        if let Some((cell, _)) = made {
            self.new = read(&self.shadow.cells[cell as usize]);
        }
        let thread = &mut self.threads[id];
        let mut idle = match thread.slots.last() {
            Some(slot) => slot.idle,
            None => Idle::default(),
        };
        // Where there is no loop nobody waits in one.
        if !self.loop_list.is_empty() {
            if let Some((cell, kind)) = made {
                idle.made(cell, kind, self.old, self.new, &mut thread.log);
            }
            if thread.dirty | thread.was_dirty {
                idle.quiet = thread.log.len() as u32;
                idle.round = (0, 0);
            }
        }
        (thread.dirty, thread.was_dirty) = (false, false);
        if kind.reads() && !waits {
            self.look_round(id, &mut idle, u64::from(cell) << 32 ^ expected);
        }
        let thread = &self.threads[id];
        idle.log = thread.log.len() as u32;
        idle.visits = thread.visits.len() as u32;
        idle
    }

    /// Looks whether the thread has been here before.
    #[inline]
    fn look_round(&mut self, id: usize, idle: &mut Idle, about: u64) {
        let pc = self.module.offset(unsafe_read(register(0)));
        let Some(known) = self.loops.get_mut(pc as usize) else { return };
        let thread = &mut self.threads[id];
        if *known {
            // What the call is about is in registers that it may change.
            let state = super::idle::state(register(0), thread.entry) ^ about.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            idle.visit(pc, state, &thread.log, &mut thread.visits);
            return;
        }
        let (stamp, now) = (&mut self.stamps[pc as usize], self.executions as u32);
        if stamp.0 != now {
            *stamp = (now, 1 << id);
        } else if stamp.1 >> id & 1 == 0 {
            stamp.1 |= 1 << id;
        } else {
            *known = true;
            self.loop_list.push(pc);
            self.grown = true;
        }
    }
}

impl Thread {
    /// Hands over to the scheduler.
    #[inline]
    pub fn suspend(&self) {
        // SAFETY: set when the thread began, and valid as long as it runs.
        unsafe { (*self.yielder).suspend(()) }
    }

    /// What to say about its fault. The marks in it are replaced by whoever has the names.
    pub fn fault_text(&self) -> String {
        let Some(fault) = &self.fault else { return String::new() };
        let base = world().module.base;
        let frames: Vec<String> = fault.stack.iter().map(|pc| format!("{:x}", pc.wrapping_sub(base))).collect();
        format!("{}\n{}", fault.message, frames.join(" "))
    }

    /// The thread cannot go on.
    pub fn stop(&mut self, fault: Fault) -> ! {
        self.stand = Stand::Fault;
        self.fault = Some(fault);
        loop {
            self.suspend();
        }
    }
}

/// Wipes what functions that announce nothing have left on the stack below what is known to be used, down to the first
/// kilobyte that is clean: variables that a program does not initialise are then the same in every execution.
#[inline]
fn wipe_below(mut from: usize, limit: usize) {
    const STRIDE: usize = 1024;
    while from - limit >= STRIDE {
        // SAFETY: within the stack, on which nobody runs.
        let below = unsafe { &mut *((from - STRIDE) as *mut [u8; STRIDE]) };
        let (_, words, _) = unsafe { below.align_to::<u64>() };
        if words.iter().fold(0, |all, word| all | word) == 0 {
            return;
        }
        below.fill(0);
        from -= STRIDE;
    }
}

/// What is at an address that is known to be mapped.
#[inline(always)]
fn unsafe_read(addr: usize) -> usize {
    // SAFETY: the callers pass a stack pointer of a running thread.
    unsafe { *(addr as *const usize) }
}
