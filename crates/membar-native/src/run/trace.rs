//! Runs one schedule and tells everything about it, for reports; and lets the certifier act as memory.

use super::fault;
use super::layout::{
    CHOICE, CONTROL, CONTROL_SIZE, ENDED, ENVIRONMENT, FATE, FUTEX_CELLS, FUTEXES, HANDLERS, LARGE_ATOMICS,
    MAX_THREADS, RANDOM, RANDOM_48, SECTIONS, STACK_SIZE, STACKS, STARTED, TLS, TLS_SIZE,
};
use super::output::Output;
use super::program::{Native, access};
use super::shadow::{self, read};
use super::slot::{END_SITE, START_SITE, Slot, Stand};
use super::unwind::Call;
use super::world::{World, world};
use crate::process::{Remote, RemoteReply};
use membar_core::{Access, AccessKind, Barrier, C11, Fence, Order, Performed, Remedy, WeakStep};
use membar_explore::{Control, Fault, Location, Next, Program, Step};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// An access as it was made, or would be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Made {
    /// The thread.
    pub thread: u32,
    /// 0 load, 1 store, 2 read-modify-write.
    kind: u8,
    /// 0 none, 1 store, 2 full.
    barrier: u8,
    /// Its memory order.
    c11: u16,
    /// Which bytes of the cell, as [`Access::part`] has it.
    pub part: u8,
    /// Which cell.
    pub addr: u32,
    /// Which instruction, as an offset in the object.
    pub site: u32,
    expected: Option<u64>,
    writes: bool,
    old: u64,
    new: u64,
}

impl Made {
    fn new(performed: &Performed) -> Made {
        let Access { kind, barrier, c11, part, addr, site, expected } = performed.access;
        let Performed { thread, writes, old, new, .. } = *performed;
        Made {
            thread,
            kind: kind as u8,
            barrier: barrier as u8,
            c11: c11.bits(),
            part,
            addr,
            site,
            expected,
            writes,
            old,
            new,
        }
    }

    /// As the engine has it.
    pub fn performed(&self) -> Performed {
        let (kind, barrier) = (kind_of(self.kind), barrier_of(self.barrier));
        let c11 = C11::from_bits(self.c11);
        let access =
            Access { kind, barrier, c11, part: self.part, addr: self.addr, site: self.site, expected: self.expected };
        Performed { thread: self.thread, access, writes: self.writes, old: self.old, new: self.new }
    }
}

/// The kind of an access, from its number.
pub(crate) fn kind_of(number: u8) -> AccessKind {
    [AccessKind::Load, AccessKind::Store, AccessKind::Rmw][usize::from(number.min(2))]
}

/// A barrier, from its number.
pub(crate) fn barrier_of(number: u8) -> Barrier {
    [Barrier::None, Barrier::Store, Barrier::Full][usize::from(number.min(2))]
}

/// Memory orders come behind barriers, and fences behind those.
const ORDERS: u8 = 8;
const FENCES: u8 = 16;

/// A change as a number.
pub(crate) fn number_of(change: Remedy) -> u8 {
    match change {
        Remedy::Barrier(barrier) => barrier as u8,
        Remedy::Order(order) => ORDERS + order as u8,
        Remedy::Fence(fence) => FENCES + fence as u8,
    }
}

/// A change, from its number.
pub(crate) fn remedy_of(number: u8) -> Remedy {
    let at_most = |number: u8| usize::from(number.min(5));
    match number {
        FENCES.. => Remedy::Fence(Fence::ALL[at_most(number - FENCES)]),
        ORDERS.. => Remedy::Order(Order::ALL[at_most(number - ORDERS)]),
        _ => Remedy::Barrier(barrier_of(number)),
    }
}

/// A cell that was accessed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Located {
    /// Its number.
    pub addr: u32,
    /// If this is a part of it: which one, as in [`Access::part`]. The whole comes before its parts.
    #[serde(default)]
    pub part: u8,
    /// Its address in the process.
    pub at: u64,
    /// Its size.
    pub size: u8,
    /// Where it is.
    pub location: Location,
}

/// A step and its call stack.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TracedStep {
    /// The step.
    pub made: Made,
    /// Return addresses, innermost first, as offsets in the object.
    pub stack: Vec<u32>,
}

impl TracedStep {
    /// Whether two accesses to one location have a byte in common.
    pub fn overlaps(&self, other: &TracedStep) -> bool {
        self.made.performed().access.overlaps(&other.made.performed().access)
    }
}

/// Where a thread stands after the last step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Standing {
    /// It would make this access next.
    Access(TracedStep, bool),
    /// It has ended, or was never started.
    Done,
    /// It cannot continue.
    Fault(Fault),
}

/// The event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Traced {
    /// The steps. Fewer than were asked for if the thread of the next one could not make one.
    pub steps: Vec<TracedStep>,
    /// The threads after them.
    pub threads: Vec<Standing>,
    /// Of each thread that polls, between two rounds of which it now is: its last look at what it waits for.
    pub polls: Vec<Option<TracedStep>>,
    /// The functions that threads run, as offsets in the object.
    pub starts: Vec<u32>,
    /// The cells that were accessed.
    pub cells: Vec<Located>,
    /// The targets of pointers that were read or written: address and place.
    pub pointees: Vec<(u64, Location)>,
    /// The program's output, its last 64 KiB.
    #[serde(default)]
    pub output: String,
    /// Of an execution of a memory model: what memory holds at each cell once all stores have come there.
    #[serde(default)]
    pub left: Vec<(u32, u64)>,
}

impl Native {
    /// Runs a schedule from the beginning.
    pub(crate) fn trace(&mut self, schedule: &[Step]) -> Traced {
        self.traced(schedule, |program, &step| program.follow(step))
    }

    /// Runs an execution of a memory model from the beginning.
    pub(crate) fn weak_trace(&mut self, steps: &[WeakStep]) -> Traced {
        self.tell(true);
        let mut orders: FxHashMap<u32, Writes> = FxHashMap::default();
        let mut traced = self.traced(steps, |program, step| program.follow_weak(step, &mut orders));
        traced.left = orders.iter().map(|(&addr, order)| (addr, self.left(order.initial, &order.writes))).collect();
        self.tell(false);
        World::begin();
        traced
    }

    /// Makes a step, if it can be made.
    fn follow(&mut self, step: Step) -> Option<Performed> {
        let can = step.thread() < self.threads() && self.fits(step) && !is_blocked(step.thread());
        can.then(|| self.repeat(step))
    }

    fn follow_weak(&mut self, step: &WeakStep, orders: &mut FxHashMap<u32, Writes>) -> Option<Performed> {
        let thread = step.thread as usize;
        if thread >= self.threads() {
            return None;
        }
        let Next::Access(access) = self.next(thread) else { return None };
        if let Some(outcomes) = access.outcomes() {
            let outcome = step.choice.filter(|&outcome| outcome < outcomes)?;
            return Some(self.choose(thread, outcome as u32));
        }
        let addr = access.addr;
        let order = orders.entry(addr).or_insert_with(|| Writes { initial: self.memory(addr), writes: Vec::new() });
        let at = order.writes.len().checked_sub(step.behind as usize)?;
        let own = |made: &&Performed| made.thread == step.thread && made.access.overlaps(&access);
        let seen: Vec<Performed> =
            order.writes[..at].iter().chain(order.writes[at..].iter().filter(own)).copied().collect();
        let found = self.left(order.initial, &seen);
        let ended =
            seen.iter().rev().find(|made| made.access.overlaps(&access)).is_some_and(|made| made.access.c11.ends());
        let waiting = self.waiting(thread);
        if waiting.blocking && waiting.round.first().is_some_and(|awaited| awaited.blocks(found)) {
            return None;
        }
        let performed = self.step_finding(thread, found, ended);
        if performed.writes {
            order.writes.insert(at, performed);
        }
        let last = self.left(order.initial, &order.writes);
        self.leave(addr, last);
        Some(performed)
    }

    /// What these writes to an address leave there, one after the other.
    fn left(&mut self, initial: u64, writes: &[Performed]) -> u64 {
        // Nothing is left of those before one of the whole address.
        let from = writes.iter().rposition(|made| made.access.part == 0).unwrap_or(0);
        writes[from..].iter().fold(initial, |value, made| self.merge(&made.access, value, made.new))
    }

    /// Runs steps from the beginning.
    fn traced<T>(&mut self, schedule: &[T], mut follow: impl FnMut(&mut Native, &T) -> Option<Performed>) -> Traced
    where
        T: HasThread,
    {
        // A loop that shows only here, because the explorer came to it in two parts, does not stop the run.
        let sampling = std::mem::replace(&mut world().sampling, true);
        world().void = false;
        let output = Output::keep();
        World::begin();
        let mut traced = Traced {
            steps: Vec::new(),
            threads: Vec::new(),
            polls: Vec::new(),
            starts: Vec::new(),
            cells: Vec::new(),
            pointees: Vec::new(),
            output: String::new(),
            left: Vec::new(),
        };
        for step in schedule {
            let stack = stack(step.thread_of());
            // What values of more than 8 bytes stand for is known from here on.
            if step.thread_of() < self.threads()
                && let Next::Access(access) = self.next(step.thread_of())
            {
                world().value_of(access.addr);
            }
            let Some(made) = follow(self, step) else { break };
            if made.access.part != 0 && made.writes {
                world().value_of(made.access.addr);
            }
            let shown = |value| world().shown(&made.access, value);
            let performed = Performed { old: shown(made.old), new: shown(made.new), ..made };
            locate(&performed.access, &mut traced.cells);
            for value in [performed.old, performed.new] {
                point(value, &mut traced.pointees);
            }
            traced.steps.push(TracedStep { made: Made::new(&performed), stack });
        }
        for thread in 0..self.threads() {
            let standing = match self.next(thread) {
                Next::Access(access) if access.site == START_SITE => Standing::Done,
                Next::Access(access) => {
                    locate(&access, &mut traced.cells);
                    let value = world().value_of(access.addr);
                    let value = world().shown(&access, value);
                    let made = Performed { thread: thread as u32, access, writes: false, old: value, new: value };
                    let waits = !self.waiting(thread).round.is_empty();
                    let step = TracedStep { made: Made::new(&made), stack: stack(thread) };
                    Standing::Access(step, waits)
                }
                Next::Done | Next::Long => Standing::Done,
                Next::Fault => Standing::Fault(self.fault(thread)),
            };
            traced.threads.push(standing);
            traced.polls.push(self.polled(thread, &traced.steps));
            let start = if thread == 0 { world().module.main } else { world().threads[thread].start };
            traced.starts.push(world().module.offset(start));
        }
        traced.output = output.map_or(String::new(), Output::take);
        world().sampling = sampling;
        World::begin();
        traced
    }

    /// The last look of a parked thread at what it does not write itself, or whatever it did last.
    fn polled(&self, thread: usize, steps: &[TracedStep]) -> Option<TracedStep> {
        let waiting = self.waiting(thread);
        if !waiting.parked || is_blocked(thread) {
            return None;
        }
        let this = &world().threads[thread];
        let idle = this.slots.last()?.idle;
        let round = this.history.round(&idle);
        let wrote = |addr| round.iter().any(|(found, deed)| found.addr == addr && deed.kind != AccessKind::Load);
        let start = world().shadow.number(super::layout::control(thread) + super::layout::STARTED);
        let polled = |addr| waiting.round.iter().any(|found| found.addr == addr) && !wrote(addr) && Some(addr) != start;
        let own = |step: &&TracedStep| step.made.thread as usize == thread;
        let last = |wanted: &dyn Fn(u32) -> bool| steps.iter().rev().filter(own).find(|step| wanted(step.made.addr));
        last(&polled).or_else(|| last(&|_| true)).cloned()
    }

    /// A step of a program whose accesses are performed elsewhere.
    pub(crate) fn remote(&mut self, remote: Remote) -> RemoteReply {
        let w = world();
        match remote {
            Remote::Start | Remote::StartWeak => {
                w.tell(matches!(remote, Remote::StartWeak));
                World::begin();
                RemoteReply::Done
            }
            Remote::Ended(ended) => {
                w.told.dead = ended;
                RemoteReply::Done
            }
            Remote::Next(thread) => match now(thread) {
                Some((Stand::Access, slot)) => {
                    let pending = slot.pending;
                    let Access { kind, barrier, c11, part, addr, site, expected } = access(&pending);
                    let value = read(&w.shadow.cells[pending.cell as usize]);
                    let blocked = pending.waits && slot.awaited.blocks(value);
                    let (kind, barrier, c11) = (kind as u8, barrier as u8, c11.bits());
                    RemoteReply::Access { kind, barrier, c11, part, addr, site, expected, blocked }
                }
                Some((Stand::Fault, _)) => RemoteReply::Fault,
                Some((Stand::Done | Stand::Over | Stand::Dropped, _)) | None => RemoteReply::Done,
            },
            Remote::Perform(thread, value) => {
                let Some((Stand::Access, slot)) = now(thread) else { return RemoteReply::Done };
                let cell = w.shadow.cells[slot.pending.cell as usize];
                let before = shadow::bytes(&cell);
                w.put(slot.pending.cell, value);
                World::perform(thread);
                let new = w.value_of(slot.pending.cell);
                shadow::set_bytes(&cell, &before);
                RemoteReply::Value(new)
            }
            Remote::Value(addr) => RemoteReply::Value(w.value_of(addr)),
            Remote::Set(addr, value) => {
                w.put(addr, value);
                RemoteReply::Done
            }
            Remote::Merge { addr, part, value, written } => {
                RemoteReply::Value(w.merge(&to(addr, part), value, written))
            }
            Remote::Shown { addr, part, value } => RemoteReply::Value(w.shown(&to(addr, part), value)),
        }
    }
}

/// An access to a part of an address.
fn to(addr: u32, part: u8) -> Access {
    Access { part, ..access(&super::slot::Pending::plain(addr, END_SITE, AccessKind::Load)) }
}

/// What is known of a cell while an execution of a memory model is run.
struct Writes {
    initial: u64,
    /// In co.
    writes: Vec<Performed>,
}

/// A step that says whose it is.
trait HasThread {
    fn thread_of(&self) -> usize;
}

impl HasThread for Step {
    fn thread_of(&self) -> usize {
        self.thread()
    }
}

impl HasThread for WeakStep {
    fn thread_of(&self) -> usize {
        self.thread as usize
    }
}

/// Where a thread stands, and what it is about to do if it is.
fn now(thread: usize) -> Option<(Stand, Slot)> {
    let thread = world().threads.get(thread)?;
    Some((thread.stand, *thread.slots.last()?))
}

/// Whether what the thread is about to do cannot be done now.
fn is_blocked(thread: usize) -> bool {
    let Some((Stand::Access, Slot { pending, awaited, .. })) = now(thread) else { return false };
    pending.waits && awaited.blocks(read(&world().shadow.cells[pending.cell as usize]))
}

/// The call stack of the thread's next access.
fn stack(thread: usize) -> Vec<u32> {
    let w = world();
    let Some((Stand::Access, Slot { pending, .. })) = now(thread) else { return Vec::new() };
    if matches!(pending.site, START_SITE | END_SITE) {
        return Vec::new();
    }
    let (sp, frame) = w.threads[thread].frame;
    // SAFETY: the stack pointer of the stub's caller: the return address is there.
    let pc = unsafe { *(sp as *const usize) };
    let mut stack: Vec<u32> = fault::walk(pc, frame, thread, 64).iter().map(|&pc| w.module.offset(pc)).collect();
    if !stack.contains(&pending.site) {
        // Found behind code without frame pointers; or the caller is another one already, of the thread's next access.
        let hidden = stack.first().is_some_and(|&pc| !w.wrappers.is_empty() && w.is_wrapper(pc));
        stack.insert(usize::from(hidden), pending.site);
    }
    stack.retain(|&pc| pc != u32::MAX);
    stack
}

fn locate(access: &Access, cells: &mut Vec<Located>) {
    let &Access { addr, part, .. } = access;
    if cells.iter().any(|cell| (cell.addr, cell.part) == (addr, part)) {
        return;
    }
    let Some(cell) = world().shadow.cells.get(addr as usize) else { return };
    if part != 0 {
        locate(&Access { part: 0, ..*access }, cells);
    }
    let bytes = access.bytes();
    let at = cell.at + u64::from(bytes.start);
    let location = location(at as usize).unwrap_or(Location::Object { offset: u64::MAX });
    cells.push(Located { addr, part, at, size: cell.size.min(bytes.end - bytes.start), location });
}

/// Notes the target of a value, if it looks like a pointer.
fn point(value: u64, pointees: &mut Vec<(u64, Location)>) {
    const MOST: usize = 4096;
    if value < 0x1_0000 || pointees.len() == MOST || pointees.iter().any(|(at, _)| *at == value) {
        return;
    }
    pointees.extend(location(value as usize).map(|location| (value, location)));
}

/// Where an address is.
pub(super) fn location(at: usize) -> Option<Location> {
    let w = world();
    let offset = |pc: usize| w.module.offset(pc);
    let control = CONTROL..CONTROL + MAX_THREADS * CONTROL_SIZE;
    Some(if at.wrapping_sub(w.module.base) < w.module.len {
        Location::Object { offset: (at - w.module.base) as u64 }
    } else if let Some(library) = w.module.libraries.iter().find(|it| at.wrapping_sub(it.base) < it.len) {
        let (name, offset) = super::module::symbol_at(at).unwrap_or((String::new(), at - library.base));
        Location::Library { library: library.name.clone(), name, offset: offset as u64 }
    } else if let Some(block) = w.heap.find(at) {
        Location::Heap {
            thread: block.thread as u32,
            number: block.number,
            size: block.size as u64,
            offset: (at - block.start) as u64,
            stack: [block.pc, block.caller].iter().map(|&pc| offset(pc)).filter(|&pc| pc != u32::MAX).collect(),
        }
    } else if (STACKS..STACKS + MAX_THREADS * STACK_SIZE).contains(&at) {
        let thread = (at - STACKS) / STACK_SIZE;
        Location::Stack { thread: thread as u32, addr: at as u64, frames: frames(thread) }
    } else if (TLS..TLS + MAX_THREADS * TLS_SIZE).contains(&at) {
        Location::ThreadLocal { thread: ((at - TLS) / TLS_SIZE) as u32, offset: ((at - TLS) % TLS_SIZE) as u64 }
    } else if control.contains(&at) {
        let what = match (at - CONTROL) % CONTROL_SIZE {
            _ if at == CHOICE => Control::Choice,
            _ if at == SECTIONS => Control::Section,
            _ if at == HANDLERS => Control::Handlers,
            _ if at == ENVIRONMENT => Control::Environment,
            _ if at == RANDOM || at == RANDOM_48 => Control::Random,
            STARTED => Control::Start,
            ENDED => Control::End,
            FATE => Control::Fate,
            LARGE_ATOMICS => Control::Large,
            _ => Control::Wake,
        };
        Location::Control { thread: ((at - CONTROL) / CONTROL_SIZE) as u32, what }
    } else if at.wrapping_sub(FUTEXES) < 8 * FUTEX_CELLS {
        Location::Control { thread: ((at - FUTEXES) / 8) as u32, what: Control::Futex }
    } else {
        return None;
    })
}

/// The frames of a thread: where each continues, and its canonical frame address.
fn frames(thread: usize) -> Vec<(u32, u64)> {
    let w = world();
    let (sp, mut frame) = w.threads[thread].frame;
    let stack = super::stack::floor(thread)..STACKS + (thread + 1) * STACK_SIZE - 16;
    if !stack.contains(&sp) {
        return Vec::new();
    }
    // SAFETY: within the stack, which is mapped; so below.
    let word = |at: usize| unsafe { *(at as *const usize) };
    let mut pc = word(sp);
    // Code of libraries may have no frame pointers: the frame is that of the user's function that called it.
    let is_wrapper = |pc: usize| w.is_wrapper(w.module.offset(pc));
    if !w.wrappers.is_empty() {
        let mut call = Call::at(sp, frame);
        while w.module.is_code(call.back) && is_wrapper(call.back) && call.frame == frame {
            let Some(caller) = w.unwinder.caller(call, w.module.base, stack.end) else { break };
            call = caller;
        }
        if call.frame == frame && w.module.is_code(call.back) {
            pc = call.back;
        }
    }
    let mut frames = Vec::new();
    while stack.contains(&frame) && frame % 8 == 0 && frames.len() < 64 {
        frames.push((w.module.offset(pc), frame as u64 + 16));
        let (next, back) = unsafe { (*(frame as *const usize), *((frame + 8) as *const usize)) };
        pc = back;
        if next <= frame {
            break;
        }
        frame = next;
    }
    frames
}
