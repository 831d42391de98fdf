//! All executions of a program without loops, each once.
//!
//! **Problem.** An execution is, for each thread, a path through its code, and over the accesses on these paths the
//! relations `rf` (which write each read reads) and `co` (per address, the order of writes). Which executions does the
//! model allow, how many are there, and how do they end? `fr` leads from a read to the writes that are `co`-after what it
//! read; `ppo` is the program order that the model keeps.
//!
//! An execution is allowed if (1) per address, no thread goes back in `co`: each access reads or writes at, or after, what
//! the thread's previous access to the address read or wrote; (2) a successful read-modify-write is next in `co` to what it
//! read; (3) `ppo ∪ rfe ∪ co ∪ fr` has no cycle, where `rfe` is `rf` between threads, or with an interlocked end.
//!
//! `ppo` is all of program order under sc. tso leaves out a plain store before a plain load, pso also a plain store before
//! a store or an interlocked operation on another address. A full barrier between the two keeps any pair, a store barrier
//! keeps a plain store before a store or an interlocked operation.
//!
//! For c11, (3) is the consistency of [`rc11`](crate::rc11) instead.
//!
//! **Algorithm.** Executions are built access by access, so every value is known when it is needed.
//! 1. The lowest thread that can continue goes to its next access.
//! 2. A write is put into `co` of its address, at each place where (1) and (2) allow it.
//! 3. A read takes each write that is there, as far as (1) to (3) allow it; or it waits for one that is not there yet, if
//!    another thread may still write to the address.
//! 4. After a write, each thread that waits for its address, in order, takes it or continues waiting.
//! 5. With nobody left to continue, this is an execution if nobody waits.
//!
//! **Invariants.** `reach` is the transitive closure of (3) so far, and has no cycle. Nothing that is added later takes an
//! edge away: a write that comes between two others in `co` leaves them in their order.
//!
//! **Guarantees.** Every allowed execution is found: each model keeps load→load and load→store, so `po ∪ rf` has no cycle,
//! and the accesses can be added in an order in which every read comes after what it reads. It is found once: what steps 1
//! and 4 do is fixed, and the choices in 2, 3 and 4 are different in `rf` or in `co` of the result.
//!
//! **Complexity.** At most 64 accesses. Adding an edge takes 64 steps; how many executions there are is up to the program.

use crate::code::Crash;
use crate::code::{Instr, Place, Request};
use crate::rc11;
use crate::states::{Collector, Limits, Method, Model, Outcomes, checked};
use crate::test::LitmusTest;
use membar_core::{AccessKind, Barrier, C11};

/// The write that put the initial value there.
const INIT: u8 = u8::MAX;
/// Accesses of an execution, at most: as many as a `u64` has bits.
const ACCESSES: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Event {
    thread: u8,
    kind: AccessKind,
    addr: u32,
    /// Barriers that the thread went through before: store barriers or stronger, and full ones.
    stores: u16,
    fulls: u16,
    /// Its source: a write, or the initial value.
    source: u8,
    /// The value it writes; 0 if it does not.
    value: u64,
    writes: bool,
    c11: C11,
}

#[derive(Clone, Copy, Debug)]
enum Status {
    Ready,
    /// For a write to the address of this request.
    Waiting(Request),
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    pc: u32,
    status: Status,
    stores: u16,
    fulls: u16,
}

/// An execution so far.
#[derive(Default)]
struct Partial {
    events: Vec<Event>,
    /// For each event, those after it in the closure of (3).
    reach: Vec<u64>,
    /// For each write the next in `co`, or INIT if there is none.
    next: Vec<u8>,
    /// For each address the first write in `co`.
    first: Vec<u8>,
    /// For each thread and address what its last access to it read or wrote.
    view: Vec<u8>,
    threads: Vec<Thread>,
    /// The registers of all threads.
    regs: Vec<u64>,
    /// Writes that waiting threads have not all looked at yet, and the first that has not.
    fresh: Vec<(u8, u8)>,
    crash: Option<Crash>,
    /// Relations are looked at as a whole.
    is_c11: bool,
}

impl Partial {
    fn copy_from(&mut self, other: &Partial) {
        self.events.clone_from(&other.events);
        self.reach.clone_from(&other.reach);
        self.next.clone_from(&other.next);
        self.first.clone_from(&other.first);
        self.view.clone_from(&other.view);
        self.threads.clone_from(&other.threads);
        self.regs.clone_from(&other.regs);
        self.fresh.clone_from(&other.fresh);
        self.crash = other.crash;
        self.is_c11 = other.is_c11;
    }

    /// For c11: whether (3) holds. `None` if there is too much to tell.
    fn is_consistent(&self) -> Option<bool> {
        let access = |event: &Event| rc11::Access {
            thread: event.thread,
            kind: event.kind,
            addr: event.addr,
            c11: event.c11,
            source: Some(event.source).filter(|&source| source != INIT && event.kind.reads()),
            writes: event.writes,
        };
        let accesses: Vec<rc11::Access> = self.events.iter().map(access).collect();
        let next = |write: u8| Some(write).filter(|&write| write != INIT);
        let order = |&first: &u8| std::iter::successors(next(first), |&write| next(self.next[usize::from(write)]));
        let orders: Vec<Vec<u8>> = self.first.iter().map(|first| order(first).collect()).collect();
        rc11::is_consistent(&accesses, &orders)
    }

    /// The write after this one in `co` of the address.
    fn after(&self, addr: u32, write: u8) -> u8 {
        if write == INIT { self.first[addr as usize] } else { self.next[usize::from(write)] }
    }

    /// Adds an edge to (3). Whether that makes no cycle.
    fn edge(&mut self, from: u8, to: u8) -> bool {
        if self.is_c11 {
            return true;
        }
        let reached = self.reach[usize::from(to)] | 1 << to;
        if reached >> from & 1 == 1 {
            return false;
        }
        if self.reach[usize::from(from)] >> to & 1 == 0 {
            self.reach[usize::from(from)] |= reached;
            for reach in &mut self.reach {
                if *reach >> from & 1 == 1 {
                    *reach |= reached;
                }
            }
        }
        true
    }

    /// Whether `co` may be changed just after this write: not if a read-modify-write has to be there.
    fn open(&self, addr: u32, write: u8) -> bool {
        let next = self.after(addr, write);
        next == INIT || {
            let next = &self.events[usize::from(next)];
            next.kind != AccessKind::Rmw || next.source != write
        }
    }

    /// Puts an event that writes into `co` after `before`, with the edges of `co` and `fr` that this gives.
    fn place(&mut self, event: u8, before: u8) -> bool {
        let addr = self.events[usize::from(event)].addr;
        let next = self.after(addr, before);
        self.next[usize::from(event)] = next;
        if before == INIT {
            self.first[addr as usize] = event;
        } else {
            self.next[usize::from(before)] = event;
            if !self.edge(before, event) {
                return false;
            }
        }
        if next != INIT && !self.edge(event, next) {
            return false;
        }
        for reader in 0..self.events.len() as u8 {
            let other = &self.events[usize::from(reader)];
            let reads = other.addr == addr && other.kind.reads() && other.source == before;
            if reads && reader != event && !self.edge(reader, event) {
                return false;
            }
        }
        true
    }
}

/// The constant part of the search.
struct Search<'a> {
    test: &'a LitmusTest,
    model: Model,
    limits: &'a Limits,
    /// Where the registers of each thread begin.
    regs_at: Vec<usize>,
    /// For each thread and instruction, the addresses that may be written from there on; address 63 stands for all from 63.
    may_write: Vec<Vec<u64>>,
    found: Collector<'a>,
    pool: Vec<Partial>,
    steps: u64,
    gave_up: bool,
}

/// All outcomes, or `None` if there is too much to enumerate.
pub(crate) fn outcomes(test: &LitmusTest, model: Model, limits: &Limits) -> Option<Outcomes> {
    let mut regs_at = vec![0];
    let mut start = Partial {
        first: vec![INIT; test.code.cells.len()],
        view: vec![INIT; test.code.cells.len() * test.code.threads.len()],
        is_c11: model == Model::C11,
        ..Partial::default()
    };
    for thread in &test.code.threads {
        start.regs.extend(&thread.regs);
        regs_at.push(start.regs.len());
        start.threads.push(Thread { pc: 0, status: Status::Ready, stores: 0, fulls: 0 });
    }
    let may_write = test.code.threads.iter().map(|thread| writes_from(&thread.instrs)).collect();
    let found = Collector::new(test);
    let mut search =
        Search { test, model, limits, regs_at, may_write, found, pool: Vec::new(), steps: 0, gave_up: false };
    search.run(start);
    (!search.gave_up).then(|| search.found.finish(true, Method::Executions))
}

/// For each instruction, and the end, what may be written from there on. Jumps go forward only.
fn writes_from(instrs: &[Instr]) -> Vec<u64> {
    let mut from = vec![0u64; instrs.len() + 1];
    for (at, instr) in instrs.iter().enumerate().rev() {
        let beyond = |to: u32| from[(to as usize).min(instrs.len())];
        from[at] = match *instr {
            Instr::Jump { to } => beyond(to),
            Instr::Branch { to, .. } => from[at + 1] | beyond(to),
            Instr::Store { to: place, .. } | Instr::Rmw { at: place, .. } => {
                from[at + 1]
                    | match place {
                        Place::Cell(cell) => 1 << cell.min(63),
                        Place::At(_) => u64::MAX,
                    }
            }
            _ => from[at + 1],
        };
    }
    from
}

impl Search<'_> {
    fn copy(&mut self, of: &Partial) -> Partial {
        let mut copy = self.pool.pop().unwrap_or_default();
        copy.copy_from(of);
        copy
    }

    /// Goes on from here in every way.
    fn run(&mut self, mut now: Partial) {
        let consistent = if now.is_c11 { now.is_consistent() } else { Some(true) };
        self.gave_up |= consistent.is_none();
        if consistent == Some(true) {
            self.search(&mut now);
        }
        self.pool.push(now);
    }

    fn search(&mut self, now: &mut Partial) {
        loop {
            self.steps += 1;
            if self.gave_up || self.steps > self.limits.steps || (self.steps & 1023 == 0 && self.limits.over()) {
                self.gave_up = true;
                return;
            }
            if let Some(&(write, from)) = now.fresh.first() {
                let addr = now.events[usize::from(write)].addr;
                let waits = |thread: &Thread| matches!(thread.status, Status::Waiting(r) if r.access.addr == addr);
                let Some(thread) = (usize::from(from)..now.threads.len()).find(|&t| waits(&now.threads[t])) else {
                    now.fresh.remove(0);
                    continue;
                };
                let Status::Waiting(request) = now.threads[thread].status else { unreachable!("just seen") };
                now.fresh[0].1 = thread as u8 + 1;
                self.read(now, thread, &request, write);
                let queued = now.fresh[1..].iter().any(|(write, _)| now.events[usize::from(*write)].addr == addr);
                if !queued && !self.may_come(now, thread, addr) {
                    return;
                }
                continue;
            }
            let Some(thread) = now.threads.iter().position(|thread| matches!(thread.status, Status::Ready)) else {
                if now.threads.iter().all(|thread| matches!(thread.status, Status::Done)) {
                    self.end(now);
                }
                return;
            };
            let regs = &mut now.regs[self.regs_at[thread]..self.regs_at[thread + 1]];
            let settled = self.test.code.settle(thread, &mut now.threads[thread].pc, regs, |_, _| {});
            let request = match checked(settled) {
                Ok(Some(request)) => request,
                Ok(None) => {
                    now.threads[thread].status = Status::Done;
                    continue;
                }
                Err(crash) => {
                    now.crash = Some(crash);
                    now.threads[thread].status = Status::Done;
                    continue;
                }
            };
            if now.events.len() == ACCESSES {
                self.gave_up = true;
                return;
            }
            let state = &mut now.threads[thread];
            state.stores += u16::from(request.access.barrier >= Barrier::Store);
            state.fulls += u16::from(request.access.barrier == Barrier::Full);
            let addr = request.access.addr;
            let mut write = now.view[thread * now.first.len() + addr as usize];
            loop {
                if request.access.kind == AccessKind::Store {
                    self.write(now, thread, &request, write);
                } else {
                    self.read(now, thread, &request, write);
                }
                write = now.after(addr, write);
                if write == INIT {
                    break;
                }
            }
            if request.access.kind == AccessKind::Store || !self.may_come(now, thread, addr) {
                return;
            }
            now.threads[thread].status = Status::Waiting(request);
        }
    }

    /// Whether another thread than this may still write to the address.
    fn may_come(&self, now: &Partial, thread: usize, addr: u32) -> bool {
        now.threads.iter().enumerate().any(|(other, state)| {
            other != thread
                && !matches!(state.status, Status::Done)
                && self.may_write[other].get(state.pc as usize).is_some_and(|may| may >> addr.min(63) & 1 == 1)
        })
    }

    /// A new event of the thread, after those of the same thread that the model keeps before it.
    fn event(&self, now: &mut Partial, thread: usize, request: &Request) -> Option<u8> {
        let (stores, fulls) = (now.threads[thread].stores, now.threads[thread].fulls);
        let (kind, addr) = (request.access.kind, request.access.addr);
        let event = now.events.len() as u8;
        let (thread, writes, c11) = (thread as u8, kind == AccessKind::Store, request.access.c11);
        let new = Event { thread, kind, addr, stores, fulls, source: INIT, value: 0, writes, c11 };
        now.events.push(new);
        now.reach.push(0);
        now.next.push(INIT);
        for earlier in 0..event {
            let old = now.events[usize::from(earlier)];
            if old.thread == new.thread && self.kept(&old, &new) && !now.edge(earlier, event) {
                return None;
            }
        }
        Some(event)
    }

    /// `ppo`
    fn kept(&self, old: &Event, new: &Event) -> bool {
        if self.model == Model::Sc || old.kind != AccessKind::Store || new.fulls > old.fulls {
            return true;
        }
        match new.kind {
            AccessKind::Load => false,
            AccessKind::Store | AccessKind::Rmw => {
                self.model == Model::Tso || new.addr == old.addr || new.stores > old.stores
            }
        }
    }

    /// The thread stores, just after `before` in `co`.
    fn write(&mut self, from: &Partial, thread: usize, request: &Request, before: u8) {
        let addr = request.access.addr;
        if !from.open(addr, before) {
            return;
        }
        let mut now = self.copy(from);
        let placed = self.event(&mut now, thread, request).filter(|&event| {
            now.events[usize::from(event)].value = request.value;
            now.place(event, before)
        });
        match placed {
            Some(event) => {
                self.complete(&mut now, thread, addr, event, 0);
                now.fresh.push((event, 0));
                self.run(now);
            }
            None => self.pool.push(now),
        }
    }

    /// The thread reads from `source`, and writes if it is a read-modify-write.
    fn read(&mut self, from: &Partial, thread: usize, request: &Request, source: u8) {
        let addr = request.access.addr;
        // Per address no thread goes back: the value it waited for may be too old.
        let mut seen = from.view[thread * from.first.len() + addr as usize];
        while seen != source {
            seen = from.after(addr, seen);
            if seen == INIT {
                return;
            }
        }
        let old = match source {
            INIT => self.test.code.cells[addr as usize].init,
            write => from.events[usize::from(write)].value,
        };
        let written = if request.access.kind == AccessKind::Rmw { request.written(old) } else { None };
        if written.is_some() && !from.open(addr, source) {
            return;
        }
        let mut now = self.copy(from);
        if self.add_read(&mut now, thread, request, source, written) {
            let event = now.events.len() as u8 - 1;
            now.threads[thread].status = Status::Ready;
            let seen = if written.is_some() { event } else { source };
            self.complete(&mut now, thread, addr, seen, old);
            if written.is_some() {
                now.fresh.push((event, 0));
            }
            self.run(now);
        } else {
            self.pool.push(now);
        }
    }

    fn add_read(&self, now: &mut Partial, thread: usize, request: &Request, source: u8, written: Option<u64>) -> bool {
        let Some(event) = self.event(now, thread, request) else { return false };
        let new = &mut now.events[usize::from(event)];
        new.source = source;
        let (kind, addr) = (new.kind, new.addr);
        if source != INIT {
            let origin = now.events[usize::from(source)];
            let external =
                usize::from(origin.thread) != thread || kind == AccessKind::Rmw || origin.kind == AccessKind::Rmw;
            if external && !now.edge(source, event) {
                return false;
            }
        }
        match written {
            Some(value) => {
                let new = &mut now.events[usize::from(event)];
                (new.value, new.writes) = (value, true);
                now.place(event, source)
            }
            None => {
                let next = now.after(addr, source);
                next == INIT || now.edge(event, next)
            }
        }
    }

    fn complete(&self, now: &mut Partial, thread: usize, addr: u32, seen: u8, read: u64) {
        let addresses = now.first.len();
        now.view[thread * addresses + addr as usize] = seen;
        let regs = &mut now.regs[self.regs_at[thread]..self.regs_at[thread + 1]];
        self.test.code.complete(thread, &mut now.threads[thread].pc, regs, read);
    }

    fn end(&mut self, now: &Partial) {
        if let Some(crash) = now.crash {
            self.found.crash(crash);
            return;
        }
        let Search { test, regs_at, found, .. } = self;
        let register = |thread: u32, reg: u16| now.regs[regs_at[thread as usize] + usize::from(reg)];
        let cell = |cell: u32| {
            let mut last = now.first[cell as usize];
            if last == INIT {
                return test.code.cells[cell as usize].init;
            }
            while now.next[usize::from(last)] != INIT {
                last = now.next[usize::from(last)];
            }
            now.events[usize::from(last)].value
        };
        let _ = found.end(register, cell);
    }
}
