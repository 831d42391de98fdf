//! Does a proof prove that no memory order exists?
//!
//! Problem: lemmas, each a list of steps `from ≤ to` with a rule and premises, and a cycle of such steps; check that
//! every step follows for every memory order in the sense of the crate documentation, given what the lemma assumes.
//!
//! Algorithm: in order, so that premises and earlier lemmas have been checked when they are used. A value identifies
//! the write of an address, so "`S` is what `L` returned" is a comparison of `S`'s value with `L`'s: nothing is
//! searched. A path is its steps, head to tail.
//!
//! Invariants: a step that was accepted has `from` strictly before `to` in every memory order, or else there is no memory
//! order; so a cycle of steps is a contradiction. A lemma's assumptions are about two different writes each, one of which
//! is before the other, so where a lemma refuted one order of them the other one holds.
//!
//! Where there is no write order, writes are in order on each lock only (if sessions exclude each other), so R5, R6 and
//! assumptions are for locks. R7 about a read `L` of an address is the one step that is no order: it says that `S'` is not
//! before `L`. A cycle with one such step is a contradiction all the same: its other steps lead from `S'` to `L`.
//!
//! The pieces of one access are one point of memory order: paths and cycles may enter it at one piece and leave it at another.
//!
//! Complexity: O(size of the proof) with a logarithm for `order` lines, guards and case splits, plus O(n + a) for reading
//! the lines and pairing the locks.
//!
//! Deviations from Manovit and Hangal: R6 and R7 take a path where the paper takes `≤`; the ends of the trace are
//! events; an acquire is a write of its lock, and a release a read-modify-write of it. R6 excludes `S' = L` and R7
//! `S' = L`, which only arise for a read-modify-write: its own write is not among those it may return. R5 for a
//! read-modify-write or a release needs the model to keep the pair in order, since it does not read from its own thread
//! early.

use crate::locks::{Guards, Locks};
use crate::said::Reserved;
use crate::{Flaw, Reason};
use membar_core::{
    AddrId, Compare, Condition, Depends, Event, Kind, Kinds, Lemma, Marks, Mask, Model, OpId, OpKind, Proof, ProofStep,
    Rule, Trace,
};

/// Buffers, kept between traces.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    locks: Locks,
    guards: Guards,
    reserved: Reserved,
    /// Per address: its initial value. Empty where all are 0.
    initial: Vec<u64>,
    /// Per address: its recorded final value. Empty where the trace has none.
    finals: Vec<Option<u64>>,
    /// (address, value, rank in the `order` line), sorted.
    ranks: Vec<(u32, u64, u32)>,
    /// The current lemma's assumptions, sorted.
    assumed: Vec<(Event, Event)>,
}

impl Scratch {
    pub(crate) fn check(&mut self, trace: &Trace, model: &Model, proof: &Proof) -> Result<(), Flaw> {
        self.read_lines(trace);
        let lemmas = match proof {
            Proof::Unwritten(op) => return self.unwritten(trace, *op),
            Proof::UnwrittenFinal(addr) => return self.unwritten_final(trace, *addr),
            Proof::Unreserved(op) => {
                self.reserved.read(trace);
                return if self.reserved.is_unreserved(*op) { Ok(()) } else { Err(Flaw::NotUnreserved(*op)) };
            }
            Proof::Cycle(lemmas) => lemmas,
            Proof::Cases { read, .. } => return Err(Flaw::Cases(*read)),
        };
        self.locks.pair(trace);
        self.reserved.read(trace);
        self.guards.read(trace);
        match lemmas.last() {
            None => return Err(Flaw::NoLemma),
            Some(last) if !last.assume.is_empty() => return Err(Flaw::Conditional),
            Some(_) => {}
        }
        for at in 0..lemmas.len() {
            self.assumed.clear();
            self.assumed.extend(lemmas[at].assume.iter().map(|a| (a.first, a.second)));
            self.assumed.sort_unstable();
            Context { trace, model, lines: self, lemmas, at }.lemma()?;
        }
        Ok(())
    }

    fn read_lines(&mut self, trace: &Trace) {
        self.initial.clear();
        if !trace.inits.is_empty() {
            self.initial.resize(trace.addrs(), 0);
        }
        for init in &trace.inits {
            self.initial[init.addr.index()] = init.value;
        }
        self.finals.clear();
        if !trace.finals.is_empty() {
            self.finals.resize(trace.addrs(), None);
        }
        for end in &trace.finals {
            self.finals[end.addr.index()] = Some(end.value);
        }
        self.ranks.clear();
        for line in &trace.orders {
            let ranks = line.values.iter().enumerate();
            self.ranks.extend(ranks.map(|(rank, &value)| (line.addr.0, value, rank as u32)));
        }
        self.ranks.sort_unstable();
    }

    fn initial(&self, addr: AddrId) -> u64 {
        self.initial.get(addr.index()).copied().unwrap_or(0)
    }

    fn rank(&self, addr: AddrId, value: u64) -> Option<u32> {
        let at = self.ranks.binary_search_by_key(&(addr.0, value), |&(addr, value, _)| (addr, value)).ok()?;
        Some(self.ranks[at].2)
    }

    /// No write of the address has the value that the operation read there, nor was it initial.
    fn unwritten(&self, trace: &Trace, op: OpId) -> Result<(), Flaw> {
        let reads = op.index() < trace.len() && matches!(trace.kind(op), OpKind::Load | OpKind::Rmw);
        if !reads || self.exists(trace, trace.addr(op), trace.read(op)) {
            return Err(Flaw::NotUnwritten(op));
        }
        Ok(())
    }

    /// No write of the address has its recorded final value, nor was it initial.
    fn unwritten_final(&self, trace: &Trace, addr: AddrId) -> Result<(), Flaw> {
        match self.finals.get(addr.index()).copied().flatten() {
            Some(value) if !self.exists(trace, addr, value) => Ok(()),
            _ => Err(Flaw::NotUnwrittenFinal(addr)),
        }
    }

    /// Did the address ever have this value?
    fn exists(&self, trace: &Trace, addr: AddrId, value: u64) -> bool {
        let gives = |write: OpId| {
            let writes = matches!(trace.kind(write), OpKind::Store | OpKind::Rmw);
            writes && trace.addr(write) == addr && trace.write(write) == value
        };
        self.initial(addr) == value || trace.ops().any(gives)
    }
}

/// One lemma, with what it is about.
struct Context<'a> {
    trace: &'a Trace,
    model: &'a Model,
    lines: &'a Scratch,
    lemmas: &'a [Lemma],
    at: usize,
}

const LOAD: Kinds = Kinds(1);
const STORE: Kinds = Kinds(2);
const ACCESS: Kinds = Kinds(3);
const ALL: Kinds = Kinds(15);

/// `reason` unless `holds`.
fn ensure(holds: bool, reason: Reason) -> Result<(), Reason> {
    if holds { Ok(()) } else { Err(reason) }
}

impl Context<'_> {
    fn lemma(&self) -> Result<(), Flaw> {
        let (lemma, at) = (&self.lemmas[self.at], self.at);
        for (index, assumed) in lemma.assume.iter().enumerate() {
            let (first, second) = (assumed.first, assumed.second);
            let written = match (first, second) {
                (Event::INIT, other) | (other, Event::INIT) => self.written(other),
                _ => self.written(first).filter(|&addr| self.written(second) == Some(addr)),
            };
            let one = if first == Event::INIT { second } else { first };
            let ordered = self.model.write_order || self.model.lock_exclusion && self.is_lock(one);
            if first == second || written.is_none() || !ordered {
                return Err(Flaw::Assumption { lemma: at, index });
            }
        }
        for step in 0..lemma.steps.len() {
            self.step(step).map_err(|reason| Flaw::Step { lemma: at, step, reason })?;
        }
        if lemma.cycle.is_empty() {
            return Err(Flaw::Cycle { lemma: at, place: 0 });
        }
        self.cycle()?;
        if !self.model.write_order {
            self.one_not_before()?;
        }
        Ok(())
    }

    /// The steps of the cycle follow each other.
    fn cycle(&self) -> Result<(), Flaw> {
        let (lemma, at) = (&self.lemmas[self.at], self.at);
        for (place, &index) in lemma.cycle.iter().enumerate() {
            let next = lemma.cycle[(place + 1) % lemma.cycle.len()];
            match (lemma.steps.get(index as usize), lemma.steps.get(next as usize)) {
                (Some(step), Some(next)) if self.at_once(step.to, next.from) => {}
                _ => return Err(Flaw::Cycle { lemma: at, place }),
            }
        }
        Ok(())
    }

    /// Each step that only says what is not before a read is in the cycle, once and alone.
    fn one_not_before(&self) -> Result<(), Flaw> {
        let (lemma, at) = (&self.lemmas[self.at], self.at);
        let mut in_cycle = lemma.cycle.iter().filter(|&&step| self.not_before(&lemma.steps[step as usize]));
        let (first, second) = (in_cycle.next(), in_cycle.next());
        if let Some(&second) = second {
            return Err(Flaw::NotBefore { lemma: at, step: second as usize });
        }
        let outside = |&(step, _): &(usize, &ProofStep)| first.is_none_or(|&first| first as usize != step);
        match lemma.steps.iter().enumerate().filter(outside).find(|(_, step)| self.not_before(step)) {
            Some((step, _)) => Err(Flaw::NotBefore { lemma: at, step }),
            None => Ok(()),
        }
    }

    /// Does the step say no more than that `to` is not before `from`, since writes have no order? (Its rule was checked.)
    fn not_before(&self, step: &ProofStep) -> bool {
        step.rule == Rule::AfterRead && !self.model.write_order && !self.is_lock(step.from)
    }

    /// Is it an operation on a lock?
    fn is_lock(&self, event: Event) -> bool {
        self.memory_op(event).is_some_and(|op| self.trace.kind(op).locks())
    }

    /// The operation, if it has a place in memory order.
    fn memory_op(&self, event: Event) -> Option<OpId> {
        event.as_op().filter(|&op| op.index() < self.trace.len() && self.trace.kind(op) != OpKind::Fence)
    }

    /// The same, or why not.
    fn op(&self, event: Event) -> Result<OpId, Reason> {
        self.memory_op(event).ok_or(Reason::Event)
    }

    /// The address (or lock) that the operation writes.
    fn written(&self, event: Event) -> Option<AddrId> {
        let op = self.memory_op(event)?;
        self.trace.kind(op).writes().then(|| self.trace.addr(op))
    }

    /// Does it write this address? The initial writes are of every address.
    fn writes(&self, event: Event, addr: AddrId) -> bool {
        event == Event::INIT || self.written(event) == Some(addr)
    }

    /// Is `write` where an address got this value?
    fn wrote(&self, write: Event, addr: AddrId, value: u64) -> bool {
        match self.memory_op(write) {
            Some(op) => {
                let valued = matches!(self.trace.kind(op), OpKind::Store | OpKind::Rmw);
                valued && self.trace.addr(op) == addr && self.trace.write(op) == value
            }
            None => write == Event::INIT && self.lines.initial(addr) == value,
        }
    }

    /// Is `write` what the operation returned? A release returns its acquire, if sessions exclude each other.
    fn returned(&self, read: OpId, write: Event) -> bool {
        match self.trace.kind(read) {
            OpKind::Load | OpKind::Rmw => self.wrote(write, self.trace.addr(read), self.trace.read(read)),
            OpKind::Release => {
                self.model.lock_exclusion && self.lines.locks.partner(read).map(Event::from) == Some(write)
            }
            // As far as the order of writes goes, a store that has to find a value reads it.
            OpKind::Store if self.model.write_order => {
                self.lines.reserved.finds(read).is_some_and(|value| self.wrote(write, self.trace.addr(read), value))
            }
            OpKind::Store | OpKind::Fence | OpKind::Acquire => false,
        }
    }

    /// Is `write` the final write of this address?
    fn left(&self, addr: AddrId, write: Event) -> bool {
        let value = self.lines.finals.get(addr.index()).copied().flatten();
        value.is_some_and(|value| self.wrote(write, addr, value))
    }

    /// For R6 and R7: `read` returned `write`, and `other` is another write of that address, which `read` is not.
    fn read_and_other(&self, read: Event, write: Event, other: Event) -> Result<(), Reason> {
        ensure(other != write && other != read, Reason::OtherWrite)?;
        if read == Event::FINAL {
            let addr = self.written(other).ok_or(Reason::OtherWrite)?;
            return ensure(self.left(addr, write), Reason::Source);
        }
        let read = self.op(read)?;
        ensure(self.returned(read, write), Reason::Source)?;
        ensure(self.writes(other, self.trace.addr(read)), Reason::OtherWrite)
    }

    /// Is the first one earlier in the program order of their thread?
    fn in_program_order(&self, earlier: OpId, later: OpId) -> bool {
        let trace = self.trace;
        trace.thread(earlier) == trace.thread(later) && trace.po(earlier) < trace.po(later)
    }

    /// Does the table keep this earlier and this later operation of one thread in order, as operations of these kinds?
    fn kept(&self, earlier: (OpId, Kind), later: (OpId, Kind)) -> bool {
        let (trace, locks) = (self.trace, &self.lines.locks);
        let when = self.model.ppo.entry(earlier.1, later.1);
        let ((earlier, e), (later, l)) = (earlier, later);
        let one_session = || match (e, l) {
            (Kind::Acquire, Kind::Load | Kind::Store) => locks.after_acquire(trace, earlier, later),
            (Kind::Load | Kind::Store, Kind::Release) => locks.before_release(trace, earlier, later),
            (Kind::Load | Kind::Store, Kind::Load | Kind::Store) => locks.one_session(trace, earlier, later),
            _ => false,
        };
        let guarded = || match (e.locks(), l.locks()) {
            (true, false) => self.lines.guards.has(trace.addr(earlier), trace.addr(later)),
            (false, true) => self.lines.guards.has(trace.addr(later), trace.addr(earlier)),
            _ => false,
        };
        when.always
            || when.same_address && trace.addr(earlier) == trace.addr(later)
            || when.same_session && one_session()
            || when.guarded && guarded()
            || when.time && trace.ended_before(earlier, later)
    }

    /// R1, R2, SL, Lock: the table keeps the two in order, as operations of some of these kinds.
    fn program_order(&self, step: &ProofStep, from: Kinds, to: Kinds) -> Result<(), Reason> {
        let (earlier, later) = (self.op(step.from)?, self.op(step.to)?);
        ensure(self.in_program_order(earlier, later), Reason::ProgramOrder)?;
        let kinds = |op: OpId, among: Kinds| Kinds(self.trace.kind(op).kinds().0 & among.0);
        let kept =
            kinds(earlier, from).iter().any(|e| kinds(later, to).iter().any(|l| self.kept((earlier, e), (later, l))));
        ensure(kept, Reason::Model)
    }

    /// Does the table keep the two in order because they are on one address or lock?
    fn kept_on_one_address(&self, earlier: OpId, later: OpId) -> bool {
        let kinds = |op: OpId| self.trace.kind(op).kinds();
        kinds(earlier).iter().any(|e| kinds(later).iter().any(|l| self.model.ppo.entry(e, l).on_one_address()))
    }

    /// Does the mask have a pair of what the two count as? An acquire and a release count as a load and as a store.
    fn masked(&self, mask: Mask, earlier: OpId, later: OpId) -> bool {
        let counts = |op: OpId| {
            let kind = self.trace.kind(op);
            [(false, kind != OpKind::Store), (true, kind != OpKind::Load)].into_iter().filter(|&(_, counts)| counts)
        };
        counts(earlier).any(|(e, _)| counts(later).any(|(l, _)| mask.contains(Mask::pair(e, l))))
    }

    /// Are the premises a path from `start` to `end`?
    fn path(&self, step: &ProofStep, start: Event, end: Event) -> Result<(), Reason> {
        let steps = &self.lemmas[self.at].steps;
        let mut reached = start;
        for &premise in &step.premises {
            let edge = &steps[premise as usize];
            ensure(self.at_once(edge.from, reached), Reason::Path)?;
            reached = edge.to;
        }
        ensure(self.at_once(reached, end), Reason::Path)
    }

    /// Are the two one point of memory order: the same event, or pieces of one access?
    fn at_once(&self, one: Event, other: Event) -> bool {
        one == other
            || matches!((self.memory_op(one), self.memory_op(other)), (Some(one), Some(other)) if self.trace.group(one) == self.trace.group(other))
    }

    fn step(&self, index: usize) -> Result<(), Reason> {
        let lemma = &self.lemmas[self.at];
        let step = &lemma.steps[index];
        let (from, to) = (step.from, step.to);
        ensure(step.premises.iter().all(|&premise| (premise as usize) < index), Reason::Premise)?;
        let order = |&premise: &u32| !self.not_before(&lemma.steps[premise as usize]);
        ensure(self.model.write_order || step.premises.iter().all(order), Reason::NotBefore)?;
        match step.rule {
            Rule::LoadOp => self.program_order(step, LOAD, ACCESS),
            Rule::StoreStore => self.program_order(step, STORE, STORE),
            Rule::StoreLoad => self.program_order(step, STORE, LOAD),
            Rule::Lock => {
                ensure(self.is_lock(from) || self.is_lock(to), Reason::Lock)?;
                self.program_order(step, ALL, ALL)
            }
            Rule::Time => self.time(from, to),
            Rule::Kept { by, through } => self.condition(step, by, through),
            Rule::Membar { fence } => self.barrier(from, fence, to),
            Rule::ReadsFrom => self.reads_from(from, to),
            Rule::OwnStore { load } => self.own_store(from, load, to),
            Rule::BeforeRead { load } => {
                ensure(self.model.write_order || self.is_lock(load), Reason::Model)?;
                self.read_and_other(load, to, from)?;
                self.path(step, from, load)
            }
            Rule::AfterRead => {
                let first = step.premises.first().ok_or(Reason::Path)?;
                let source = lemma.steps[*first as usize].from;
                self.read_and_other(from, source, to)?;
                self.path(step, source, to)
            }
            Rule::WriteOrder => self.write_order(from, to),
            Rule::Init => ensure(from == Event::INIT && (to == Event::FINAL || self.op(to).is_ok()), Reason::Event),
            Rule::Final => ensure(to == Event::FINAL && (from == Event::INIT || self.op(from).is_ok()), Reason::Event),
            Rule::Assume(i) => {
                let assumed = lemma.assume.get(i as usize);
                ensure(assumed.is_some_and(|a| a.first == from && a.second == to), Reason::Assume)
            }
            Rule::Case(j) => self.case(step, j),
        }
    }

    /// Time: the first had ended, and taken effect, when the second began, by clocks that can be compared.
    fn time(&self, from: Event, to: Event) -> Result<(), Reason> {
        let (earlier, later) = (self.op(from)?, self.op(to)?);
        let compared = match self.trace.compare() {
            Compare::Nothing => false,
            Compare::Threads => self.in_program_order(earlier, later),
            Compare::Everything => earlier != later,
        };
        let done = self.model.done_at_end(self.trace.kind(earlier));
        ensure(compared && done && self.trace.ended_before(earlier, later), Reason::Time)
    }

    /// A condition of an entry for the two kinds.
    fn condition(&self, step: &ProofStep, by: Condition, through: Option<OpId>) -> Result<(), Reason> {
        let (trace, earlier, later) = (self.trace, self.op(step.from)?, self.op(step.to)?);
        ensure(self.in_program_order(earlier, later), Reason::ProgramOrder)?;
        let access = |op: OpId| Kinds(trace.kind(op).kinds().0 & ACCESS.0);
        let entry = |e, l| self.model.ppo.entry(e, l).also.has(by);
        ensure(access(earlier).iter().any(|e| access(later).iter().any(|l| entry(e, l))), Reason::Model)?;
        let between = |op: OpId| self.in_program_order(earlier, op) && self.in_program_order(op, later);
        let middle = through.filter(|&op| op.index() < trace.len() && between(op));
        let reads = |op: OpId| trace.kind(op).reads();
        let returned_from = |store: OpId| reads(later) && self.returned(later, store.into());
        let holds = match by {
            Condition::AnotherStore => {
                let thread = &trace.thread_ops(trace.thread(earlier));
                let stores = |&op: &OpId| {
                    matches!(trace.kind(op), OpKind::Store | OpKind::Rmw) && trace.addr(op) == trace.addr(later)
                };
                reads(earlier)
                    && reads(later)
                    && trace.addr(earlier) == trace.addr(later)
                    && trace.read(earlier) != trace.read(later)
                    && !thread[trace.po(earlier) as usize + 1..trace.po(later) as usize].iter().any(stores)
            }
            Condition::FromAtomic => {
                let atomic = trace.kind(earlier) == OpKind::Rmw || trace.marks(earlier).meets(Marks::CONDITIONAL);
                atomic && returned_from(earlier)
            }
            Condition::EarlierAcquires => {
                [Marks::ACQUIRE, Marks::ACQUIRE_PC].iter().any(|&mark| trace.marks(earlier).meets(mark))
            }
            Condition::LaterReleases => trace.marks(later).meets(Marks::RELEASE),
            Condition::ReleaseAcquire => {
                trace.marks(earlier).meets(Marks::RELEASE) && trace.marks(later).meets(Marks::ACQUIRE)
            }
            Condition::Address => trace.depends(later, Depends::Address, earlier),
            Condition::Data => trace.depends(later, Depends::Data, earlier),
            Condition::Control => trace.depends(later, Depends::Control, earlier),
            Condition::ThroughStore => middle.is_some_and(|store| {
                let depends = |how| trace.depends(store, how, earlier);
                (depends(Depends::Address) || depends(Depends::Data)) && returned_from(store)
            }),
            Condition::PastIsb => middle.is_some_and(|isb| {
                let waits = |&op: &OpId| {
                    (op == isb || self.in_program_order(op, isb))
                        && [Depends::Control, Depends::Address].iter().any(|&how| trace.depends(op, how, earlier))
                };
                trace.marks(isb).meets(Marks::ISB) && trace.thread_ops(trace.thread(isb)).iter().any(waits)
            }),
            Condition::AcquireFromPair => middle.is_some_and(|store| {
                let acquires = trace.marks(later).meets(Marks::ACQUIRE.with(Marks::ACQUIRE_PC));
                let special = |&op: &OpId| {
                    let marks = trace.marks(op);
                    let other = trace.group(op) != trace.group(earlier) && trace.group(op) != trace.group(store);
                    marks.meets(Marks::RESERVES.with(Marks::CONDITIONAL)) && !marks.meets(Marks::HALF) && other
                };
                let thread = trace.thread_ops(trace.thread(store));
                let inside = &thread[trace.po(earlier) as usize..trace.po(store) as usize];
                let half = |op: OpId| trace.marks(op).meets(Marks::HALF);
                let alone = if half(store) {
                    let access =
                        |op: OpId| trace.group(op) == trace.group(earlier) || trace.group(op) == trace.group(store);
                    half(earlier) && trace.addr(earlier) == trace.addr(store) && inside.iter().all(|&op| access(op))
                } else {
                    !half(earlier) && !inside.iter().any(special)
                };
                acquires
                    && trace.marks(earlier).meets(Marks::RESERVES)
                    && trace.marks(store).meets(Marks::CONDITIONAL)
                    && alone
                    && returned_from(store)
            }),
            Condition::PastAddress => middle.is_some_and(|op| trace.depends(op, Depends::Address, earlier)),
        };
        ensure(holds, Reason::Condition)
    }

    /// R3: a barrier between the two whose mask has them.
    fn barrier(&self, from: Event, fence: OpId, to: Event) -> Result<(), Reason> {
        let (earlier, later) = (self.op(from)?, self.op(to)?);
        let barrier = fence.index() < self.trace.len() && self.trace.kind(fence) == OpKind::Fence;
        ensure(barrier, Reason::Barrier)?;
        let between = self.in_program_order(earlier, fence) && self.in_program_order(fence, later);
        ensure(between, Reason::ProgramOrder)?;
        let mask = self.trace.mask(fence).unwrap_or(self.model.sync);
        ensure(self.masked(mask, earlier, later), Reason::Barrier)
    }

    /// R4: the second returned what the first wrote, and not out of a store buffer.
    fn reads_from(&self, from: Event, to: Event) -> Result<(), Reason> {
        let (trace, model) = (self.trace, self.model);
        if to == Event::FINAL {
            let left = match self.written(from) {
                Some(addr) => self.left(addr, from),
                None => trace.finals.iter().any(|end| self.wrote(from, end.addr, end.value)),
            };
            return ensure(left, Reason::Source);
        }
        let load = self.op(to)?;
        ensure(self.returned(load, from), Reason::Source)?;
        let own = self.memory_op(from).is_some_and(|store| self.in_program_order(store, load));
        let early = own && model.store_forwarding && model.write_order && trace.kind(load) == OpKind::Load;
        ensure(!early, Reason::Forwarded)
    }

    /// R5: a read that would have seen its thread's own store, had the write that it returned been older.
    fn own_store(&self, from: Event, load: OpId, to: Event) -> Result<(), Reason> {
        let (own, load) = (self.op(from)?, self.op(load.into())?);
        let sees_own = match self.trace.kind(load) {
            OpKind::Load => true,
            OpKind::Rmw | OpKind::Release => self.kept_on_one_address(own, load),
            _ => false,
        };
        let ordered = self.model.write_order || self.trace.kind(load).locks();
        ensure(self.model.store_forwarding && sees_own && ordered, Reason::Model)?;
        ensure(self.in_program_order(own, load), Reason::ProgramOrder)?;
        self.read_and_other(load.into(), to, from)
    }

    /// A6: the trace lists the two writes in this order.
    fn write_order(&self, from: Event, to: Event) -> Result<(), Reason> {
        let (trace, first, second) = (self.trace, self.op(from)?, self.op(to)?);
        let rank = |op| {
            let valued = matches!(trace.kind(op), OpKind::Store | OpKind::Rmw);
            if valued { self.lines.rank(trace.addr(op), trace.write(op)) } else { None }
        };
        let listed = matches!((rank(first), rank(second)), (Some(first), Some(second)) if first < second);
        ensure(listed && trace.addr(first) == trace.addr(second), Reason::WriteOrder)
    }

    /// Case: an earlier lemma refuted the opposite order under assumptions that hold here.
    fn case(&self, step: &ProofStep, lemma: u32) -> Result<(), Reason> {
        let refuted = self.lemmas[..self.at].get(lemma as usize).ok_or(Reason::Case)?;
        let (mut opposite, mut others) = (false, true);
        for a in &refuted.assume {
            if a.first == step.to && a.second == step.from {
                opposite = true;
            } else {
                // Assumed here too, or shown by a premise.
                others &= self.lines.assumed.binary_search(&(a.first, a.second)).is_ok()
                    || step.premises.iter().any(|&premise| {
                        let shown = &self.lemmas[self.at].steps[premise as usize];
                        (shown.from, shown.to) == (a.first, a.second)
                    });
            }
        }
        ensure(opposite && others, Reason::Case)
    }
}
