//! All executions of a RISCV or AArch64 test that a model allows, each once.
//!
//! **Problem.** An execution is a way for each thread ([`paths`](super::paths)), and over the accesses on these ways `rf`
//! (which write each read reads, for each granule) and `co` (for each granule, the order of writes). `fr` leads from a
//! read to the writes that are `co`-after what it read; `ppo` is the program order that the model keeps; `rfe` is `rf`
//! between threads. An execution is allowed if
//! 1. values, addresses and branches are those that the reads give;
//! 2. `po-loc ∪ rf ∪ co ∪ fr` has no cycle: coherence, Arm's internal visibility;
//! 3. `ppo ∪ rfe ∪ co ∪ fr` has no cycle: the memory order of RISC-V, Arm's external visibility;
//! 4. between what an atomic or a load-reserved read and its write, `co` has no write of another thread.
//!
//! **Algorithm.** For each choice of ways:
//! 1. The order that does not depend on addresses is there from the start ([`order`](super::order)).
//! 2. [`State::close`] adds what follows: values and addresses from reads; 2 as edges between writes (a thread never goes
//!    back in `co`); `fr`; 4; of `ppo` RISC-V's rules 1, 2, 3 and 12, Arm's `lws` and `lrs`. A cycle ends the branch.
//! 3. The read with the fewest writes that it could read takes each of them. A write whose address is not known yet can
//!    be read as well: then that is its address, which has to turn out true.
//! 4. When every read has its source, a pair of writes to one granule that is in no order yet gets both orders.
//! 5. With no pair left, this is an execution.
//!
//! **Invariants.** `reach` is the transitive closure of 3 so far and has no cycle; all of `co` that is decided is in it.
//!
//! **Guarantees.** Every execution is found once: the branches of 3 differ in `rf`, those of 4 in `co`. That values are
//! found at all rests on `rf ∪ dependencies` having no cycle, which follows from 3: every model here keeps the order from a
//! load to what depends on it through data or an address, and to the stores after a branch on it.
//!
//! **Complexity.** 64 accesses at most. A step takes time in the square of their number; how many there are is up to the
//! test, but a branch that cannot be completed ends at the first contradiction.
//!
//! **References.** RISC-V Unprivileged ISA, "RVWMO" and its appendix; Arm ARM, B2.3; Alglave, Maranget, Tautschnig, *Herding
//! cats* (TOPLAS 2014).

mod close;

use super::Program;
use super::memory::{GRANULES, low};
use super::order::{kept, rule};
use super::paths::{Access, Expr, Path};
use crate::code::Crash;
use crate::states::{Collector, Limits, Model, Outcomes};
use crate::test::LitmusTest;

/// No source yet.
const NONE: u8 = u8::MAX;
/// The initial value.
const INIT: u8 = u8::MAX - 1;
/// Accesses of an execution, at most: as many as a `u64` has bits.
const EVENTS: usize = 64;

/// What is known of where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Unknown,
    /// Assumed, since somebody reads it there: the first granule and how many.
    Assumed(u16, u8),
    Known(u16, u8),
    /// Nowhere in the memory of the test.
    Wild,
}

impl Place {
    fn granules(self) -> std::ops::Range<usize> {
        match self {
            Place::Assumed(first, count) | Place::Known(first, count) => {
                first.into()..(first + u16::from(count)).into()
            }
            Place::Unknown | Place::Wild => 0..0,
        }
    }

    fn covers(self, granule: usize) -> bool {
        self.granules().contains(&granule)
    }
}

/// An execution so far.
#[derive(Default)]
struct State {
    /// For each access, those after it in the closure of 3.
    reach: Vec<u64>,
    place: Vec<Place>,
    /// What was read and written, as far as it is known.
    read: Vec<Option<u128>>,
    write: Vec<Option<u128>>,
    /// For each granule of a read, the write it reads.
    source: Vec<[u8; GRANULES]>,
    /// The value of each expression, as far as it is known.
    values: Vec<Option<u64>>,
}

impl State {
    fn copy_from(&mut self, other: &State) {
        self.reach.clone_from(&other.reach);
        self.place.clone_from(&other.place);
        self.read.clone_from(&other.read);
        self.write.clone_from(&other.write);
        self.source.clone_from(&other.source);
        self.values.clone_from(&other.values);
    }

    fn before(&self, from: u8, to: u8) -> bool {
        self.reach[usize::from(from)] >> to & 1 == 1
    }

    /// Adds an edge to 3: whether it was not there, or `None` if it makes a cycle.
    fn edge(&mut self, from: u8, to: u8) -> Option<bool> {
        if self.before(from, to) {
            return Some(false);
        }
        let reached = self.reach[usize::from(to)] | 1 << to;
        if reached >> from & 1 == 1 {
            return None;
        }
        self.reach[usize::from(from)] |= reached;
        for reach in &mut self.reach {
            if *reach >> from & 1 == 1 {
                *reach |= reached;
            }
        }
        Some(true)
    }

    /// The source of a read at a granule.
    fn source_at(&self, event: u8, granule: usize) -> u8 {
        let first = self.place[usize::from(event)].granules().start;
        self.source[usize::from(event)][granule - first]
    }
}

/// A choice of ways.
struct Choice<'a> {
    model: Model,
    /// The rule that does not count.
    without: u8,
    program: &'a Program,
    events: Vec<&'a Access>,
    thread: Vec<u8>,
    /// Where the accesses of each thread begin.
    begin: Vec<u8>,
    /// The expressions of all threads.
    nodes: Vec<Expr>,
    node_begin: Vec<u32>,
    paths: Vec<&'a Path>,
    /// Accesses that write.
    writers: Vec<u8>,
}

/// All outcomes. Not complete if a limit was met, or a loop could go on.
pub(crate) fn outcomes(test: &LitmusTest, program: &Program, model: Model, without: u8, limits: &Limits) -> Outcomes {
    let mut search =
        Search { test, limits, found: Collector::new(test), pool: Vec::new(), steps: 0, gave_up: program.end.cut };
    let orders: Vec<Vec<Vec<u64>>> =
        program.paths.iter().map(|paths| paths.iter().map(|path| kept(model, path, without)).collect()).collect();
    let mut chosen = vec![0usize; program.paths.len()];
    if program.paths.iter().all(|paths| !paths.is_empty()) {
        loop {
            search.choice(program, (model, without), &chosen, &orders);
            // The next choice of ways.
            let mut thread = 0;
            while thread < chosen.len() {
                chosen[thread] += 1;
                if chosen[thread] < program.paths[thread].len() {
                    break;
                }
                chosen[thread] = 0;
                thread += 1;
            }
            if thread == chosen.len() || search.is_over() {
                break;
            }
        }
    }
    let complete = !search.gave_up;
    search.found.finish_noted(complete, complete && !program.end.waits)
}

struct Search<'a> {
    test: &'a LitmusTest,
    limits: &'a Limits,
    found: Collector<'a>,
    pool: Vec<State>,
    steps: u64,
    gave_up: bool,
}

impl<'a> Search<'a> {
    fn is_over(&mut self) -> bool {
        let over = self.steps > self.limits.steps || (self.steps & 255 == 0 && self.limits.over());
        self.gave_up |= over;
        over
    }

    fn choice(
        &mut self,
        program: &'a Program,
        (model, without): (Model, u8),
        chosen: &[usize],
        orders: &[Vec<Vec<u64>>],
    ) {
        let paths: Vec<&Path> = program.paths.iter().zip(chosen).map(|(paths, &at)| &paths[at]).collect();
        let count: usize = paths.iter().map(|path| path.events.len()).sum();
        if count > EVENTS {
            self.gave_up = true;
            return;
        }
        let mut choice = Choice {
            model,
            without,
            program,
            events: Vec::with_capacity(count),
            thread: Vec::with_capacity(count),
            begin: Vec::new(),
            nodes: Vec::new(),
            node_begin: Vec::new(),
            writers: Vec::new(),
            paths,
        };
        let mut start = self.pool.pop().unwrap_or_default();
        start.copy_from(&State::default());
        for thread in 0..choice.paths.len() {
            let path = choice.paths[thread];
            let (begin, nodes) = (choice.events.len() as u8, choice.nodes.len() as u32);
            choice.begin.push(begin);
            choice.node_begin.push(nodes);
            choice.nodes.extend(path.nodes.iter().map(|&expr| match expr {
                Expr::Value(value) => Expr::Value(value),
                Expr::Read(event) => Expr::Read(begin + event),
                Expr::Upper(event) => Expr::Upper(begin + event),
                Expr::Calc { op, a, b, ty } => Expr::Calc { op, a: a + nodes, b: b + nodes, ty },
                Expr::Select { cond, yes, no } => Expr::Select { cond: cond + nodes, yes: yes + nodes, no: no + nodes },
            }));
            for (local, event) in path.events.iter().enumerate() {
                if event.writes {
                    choice.writers.push(begin + local as u8);
                }
                choice.events.push(event);
                choice.thread.push(thread as u8);
                start.reach.push(orders[thread][chosen[thread]][local] << begin);
            }
        }
        // The order of each thread, closed: later accesses first.
        for event in (0..count).rev() {
            let mut todo = start.reach[event];
            while todo != 0 {
                let next = todo.trailing_zeros() as usize;
                todo &= todo - 1;
                start.reach[event] |= start.reach[next];
            }
        }
        start.place.resize(count, Place::Unknown);
        start.read.resize(count, None);
        start.write.resize(count, None);
        start.source.resize(count, [NONE; GRANULES]);
        start.values.resize(choice.nodes.len(), None);
        self.run(&choice, start);
    }

    fn run(&mut self, choice: &Choice<'_>, mut now: State) {
        self.steps += 1;
        if !self.is_over() && choice.close(&mut now).is_some() {
            self.branch(choice, &now);
        }
        self.pool.push(now);
    }

    fn copy(&mut self, of: &State) -> State {
        let mut copy = self.pool.pop().unwrap_or_default();
        copy.copy_from(of);
        copy
    }

    fn branch(&mut self, choice: &Choice<'_>, now: &State) {
        if let Some((reader, granule, writes)) = choice.next_read(now) {
            let at = granule - now.place[usize::from(reader)].granules().start;
            for write in writes {
                let places = if write == INIT || now.place[usize::from(write)] != Place::Unknown {
                    vec![None]
                } else {
                    choice.places_over(write, granule)
                };
                for place in places {
                    let mut next = self.copy(now);
                    next.source[usize::from(reader)][at] = write;
                    if let Some(place) = place {
                        next.place[usize::from(write)] = place;
                    }
                    self.run(choice, next);
                }
            }
            return;
        }
        // A value that is not known now depends on itself.
        let open = |place: &Place| matches!(place, Place::Unknown | Place::Assumed(..));
        if now.place.iter().any(open) || now.values.iter().any(Option::is_none) {
            return;
        }
        if let Some((one, other)) = choice.unordered(now) {
            for (first, second) in [(one, other), (other, one)] {
                let mut next = self.copy(now);
                if next.edge(first, second).is_some() {
                    self.run(choice, next);
                } else {
                    self.pool.push(next);
                }
            }
            return;
        }
        self.end(choice, now);
    }

    fn end(&mut self, choice: &Choice<'_>, now: &State) {
        let wild = |event: usize| now.place[event] == Place::Wild;
        if let Some(event) = (0..choice.events.len()).find(|&event| wild(event)) {
            let at = choice.events[event];
            let node = choice.node_begin[usize::from(choice.thread[event])] + at.at;
            let pointer = now.values[node as usize].unwrap_or(0);
            let aims = |cell: &crate::code::Cell| pointer.wrapping_sub(cell.pointer) < u64::from(cell.ty.bits / 8);
            self.found.crash(match self.test.code.cells.iter().position(aims) {
                Some(cell) => Crash::Size { site: at.site, cell: cell as u32 },
                None => Crash::Wild { site: at.site, pointer },
            });
            return;
        }
        let last = |granule: usize| {
            let here = |&&write: &&u8| now.place[usize::from(write)].covers(granule);
            let ends = |&&write: &&u8| !choice.writers.iter().filter(here).any(|&other| now.before(write, other));
            let piece = choice.program.layout.granules[granule];
            match choice.writers.iter().filter(here).find(ends) {
                Some(&write) => choice.written(now, write, granule).unwrap_or(0),
                None => piece.init,
            }
        };
        let register = |thread: u32, reg: u16| {
            let thread = thread as usize;
            let node = choice.node_begin[thread] + choice.paths[thread].regs[usize::from(reg)];
            now.values[node as usize].unwrap_or(0)
        };
        let cells = &self.test.code.cells;
        let granules = &choice.program.layout.granules;
        let cell = |cell: u32| {
            let cell = &cells[cell as usize];
            let first = granules.partition_point(|granule| granule.at < cell.pointer);
            let mut value = 0;
            for (at, granule) in granules.iter().enumerate().skip(first) {
                let offset = granule.at - cell.pointer;
                if offset >= 8 {
                    break;
                }
                value |= last(at) << (8 * offset);
            }
            value
        };
        if self.found.end(register, cell) {
            self.found.was(choice.model == Model::Sc || choice.is_consistent(now));
        }
    }
}

impl Choice<'_> {
    /// What a write puts into a granule.
    fn written(&self, now: &State, write: u8, granule: usize) -> Option<u64> {
        let granules = &self.program.layout.granules;
        let first = now.place[usize::from(write)].granules().start;
        let offset = granules[granule].at - granules[first].at;
        now.write[usize::from(write)].map(|value| low((value >> (8 * offset)) as u64, granules[granule].size))
    }

    fn is_riscv(&self) -> bool {
        matches!(self.model, Model::Rvwmo | Model::Ztso)
    }

    /// Whether a rule counts, in the numbering of the model.
    fn on(&self, riscv: u8, arm: &str) -> bool {
        self.without == 0 || self.without != if self.is_riscv() { riscv } else { rule(self.model, arm) }
    }

    /// The read with the fewest writes to choose from, its granule, and these.
    fn next_read(&self, now: &State) -> Option<(u8, usize, Vec<u8>)> {
        let mut best: Option<(u8, usize, Vec<u8>)> = None;
        for (event, access) in self.events.iter().enumerate() {
            if !access.reads {
                continue;
            }
            let range = now.place[event].granules();
            let Some(granule) = range.clone().find(|&at| now.source[event][at - range.start] == NONE) else { continue };
            let reader = event as u8;
            let mut writes = Vec::new();
            // A write of the thread before it hides the initial value.
            let mut hidden = false;
            for &write in &self.writers {
                let place = now.place[usize::from(write)];
                if write == reader || !(place == Place::Unknown || place.covers(granule)) {
                    continue;
                }
                let own = self.thread[usize::from(write)] == self.thread[event];
                if if own { write > reader } else { now.before(reader, write) } {
                    continue;
                }
                hidden |= place != Place::Unknown && (own || now.before(write, reader));
                writes.push(write);
            }
            if !hidden {
                writes.push(INIT);
            }
            if best.as_ref().is_none_or(|(_, _, fewest)| writes.len() < fewest.len()) {
                let only = writes.len() <= 1;
                best = Some((reader, granule, writes));
                if only {
                    break;
                }
            }
        }
        best
    }

    /// The places where a write of unknown address would cover a granule.
    fn places_over(&self, write: u8, granule: usize) -> Vec<Option<Place>> {
        let bytes = self.events[usize::from(write)].ty.bits / 8;
        let granules = &self.program.layout.granules;
        let mut places = Vec::new();
        for first in (0..=granule).rev().take(GRANULES) {
            if let Some(range) = self.program.layout.covered(granules[first].at, bytes)
                && range.contains(&granule)
            {
                places.push(Some(Place::Assumed(range.start as u16, range.len() as u8)));
            }
        }
        places
    }

    /// Whether a complete execution is sequentially consistent: its order and all of program order have no cycle.
    fn is_consistent(&self, now: &State) -> bool {
        let mut all = State { reach: now.reach.clone(), ..State::default() };
        (1..self.events.len() as u8).all(|later| {
            self.thread[usize::from(later)] != self.thread[usize::from(later - 1)]
                || all.edge(later - 1, later).is_some()
        })
    }

    /// Two writes to one granule in no order.
    fn unordered(&self, now: &State) -> Option<(u8, u8)> {
        for (at, &one) in self.writers.iter().enumerate() {
            let range = now.place[usize::from(one)].granules();
            for &other in &self.writers[at + 1..] {
                let with = now.place[usize::from(other)].granules();
                let overlap = range.start.max(with.start) < range.end.min(with.end);
                if overlap && !now.before(one, other) && !now.before(other, one) {
                    return Some((one, other));
                }
            }
        }
        None
    }
}
