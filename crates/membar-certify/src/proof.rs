//! Does a proof prove that no memory order exists?
//!
//! Problem: lemmas, each a list of steps `from ≤ to` with a rule and premises, and a cycle of such steps; check that
//! every step follows for every memory order in the sense of the crate documentation, given what the lemma assumes.
//!
//! Algorithm: in order, so that premises and earlier lemmas have been checked when they are used. A value identifies
//! the write of an address, so "`S` is what `L` returned" is a comparison of `S`'s value with `L`'s: nothing is
//! searched. A path is its steps, head to tail.
//!
//! Invariants: a step that was accepted has `from < to` strictly in every memory order, or else there is no memory
//! order; so a cycle of steps is a contradiction. A lemma's assumptions are about two different writes each, so where
//! a lemma refuted one order of them the other one holds.
//!
//! Complexity: O(size of the proof) with a logarithm for `order` lines and case splits, plus O(n + a) for reading the
//! lines and pairing the locks.
//!
//! Deviations from Manovit and Hangal: R6 and R7 take a path where the paper takes `≤`; the ends of the trace are
//! events; locks are read-modify-writes. R6 excludes `S' = L` and R7 `S' = L`, which only arise for a
//! read-modify-write: its own write is not among those it may return. R5 for a read-modify-write needs the model to
//! keep the pair in order, since it does not read from its own thread early.

use crate::locks::Locks;
use crate::{Flaw, Reason};
use membar_core::{AddrId, Event, Lemma, Model, OpId, OpKind, Proof, Rule, Step, Trace, When};

/// Buffers, kept between traces.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    locks: Locks,
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
            Proof::Cycle(lemmas) => lemmas,
        };
        self.locks.pair(trace);
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
        let gives = |write: OpId| {
            let writes = matches!(trace.kind(write), OpKind::Store | OpKind::Rmw);
            writes && trace.addr(write) == trace.addr(op) && trace.write(write) == trace.read(op)
        };
        if !reads || self.initial(trace.addr(op)) == trace.read(op) || trace.ops().any(gives) {
            return Err(Flaw::NotUnwritten(op));
        }
        Ok(())
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

/// `reason` unless `holds`.
fn ensure(holds: bool, reason: Reason) -> Result<(), Reason> {
    if holds { Ok(()) } else { Err(reason) }
}

impl Context<'_> {
    fn lemma(&self) -> Result<(), Flaw> {
        let (lemma, at) = (&self.lemmas[self.at], self.at);
        for (index, assumed) in lemma.assume.iter().enumerate() {
            let (first, second) = (assumed.first, assumed.second);
            let one_address = match (first, second) {
                (Event::INIT, other) | (other, Event::INIT) => self.written(other).is_some(),
                _ => self.written(first).is_some() && self.written(first) == self.written(second),
            };
            if first == second || !one_address {
                return Err(Flaw::Assumption { lemma: at, index });
            }
        }
        for step in 0..lemma.steps.len() {
            self.step(step).map_err(|reason| Flaw::Step { lemma: at, step, reason })?;
        }
        if lemma.cycle.is_empty() {
            return Err(Flaw::Cycle { lemma: at, place: 0 });
        }
        for (place, &index) in lemma.cycle.iter().enumerate() {
            let next = lemma.cycle[(place + 1) % lemma.cycle.len()];
            match (lemma.steps.get(index as usize), lemma.steps.get(next as usize)) {
                (Some(step), Some(next)) if step.to == next.from => {}
                _ => return Err(Flaw::Cycle { lemma: at, place }),
            }
        }
        Ok(())
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
        self.trace.kind(op).stores().then(|| self.trace.addr(op))
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

    /// Does the entry hold for these two operations of one thread?
    fn kept(&self, when: When, earlier: OpId, later: OpId) -> bool {
        let trace = self.trace;
        when.always
            || when.same_address && trace.addr(earlier) == trace.addr(later)
            || when.time && trace.span(earlier).before(trace.span(later))
    }

    /// R1, R2, SL: some pair of what the two count as is among `pairs`, as (earlier stores, later stores), and kept.
    fn program_order(&self, step: &Step, pairs: &[(bool, bool)]) -> Result<(), Reason> {
        let (earlier, later) = (self.op(step.from)?, self.op(step.to)?);
        ensure(self.in_program_order(earlier, later), Reason::ProgramOrder)?;
        let kept = pairs.iter().any(|&(earlier_stores, later_stores)| {
            let when = self.model.ppo.entry(earlier_stores, later_stores);
            self.counts(earlier, earlier_stores) && self.counts(later, later_stores) && self.kept(when, earlier, later)
        });
        ensure(kept, Reason::Model)
    }

    /// Does it count as a load, or as a store?
    fn counts(&self, op: OpId, as_store: bool) -> bool {
        let kind = self.trace.kind(op);
        if as_store { kind.stores() } else { kind.loads() }
    }

    /// Are the premises a path from `start` to `end`?
    fn path(&self, step: &Step, start: Event, end: Event) -> Result<(), Reason> {
        let steps = &self.lemmas[self.at].steps;
        let mut reached = start;
        for &premise in &step.premises {
            let edge = &steps[premise as usize];
            ensure(edge.from == reached, Reason::Path)?;
            reached = edge.to;
        }
        ensure(reached == end, Reason::Path)
    }

    fn step(&self, index: usize) -> Result<(), Reason> {
        let (trace, model, lemma) = (self.trace, self.model, &self.lemmas[self.at]);
        let step = &lemma.steps[index];
        let (from, to) = (step.from, step.to);
        ensure(step.premises.iter().all(|&premise| (premise as usize) < index), Reason::Premise)?;
        match step.rule {
            Rule::LoadOp => self.program_order(step, &[(false, false), (false, true)]),
            Rule::StoreStore => self.program_order(step, &[(true, true)]),
            Rule::StoreLoad => self.program_order(step, &[(true, false)]),
            Rule::Membar { fence } => {
                let (earlier, later) = (self.op(from)?, self.op(to)?);
                let barrier = fence.index() < trace.len() && trace.kind(fence) == OpKind::Fence;
                ensure(barrier, Reason::Barrier)?;
                let between = self.in_program_order(earlier, fence) && self.in_program_order(fence, later);
                ensure(between, Reason::ProgramOrder)?;
                let mask = trace.mask(fence).unwrap_or(model.sync);
                let orders = [(false, false), (false, true), (true, false), (true, true)].iter().any(|&(e, l)| {
                    self.counts(earlier, e) && self.counts(later, l) && mask.contains(membar_core::Mask::pair(e, l))
                });
                ensure(orders, Reason::Barrier)
            }
            Rule::ReadsFrom => {
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
                let early = own && model.store_forwarding && trace.kind(load) == OpKind::Load;
                ensure(!early, Reason::Forwarded)
            }
            Rule::OwnStore { load } => {
                let (own, load) = (self.op(from)?, self.op(load.into())?);
                let sees_own = match trace.kind(load) {
                    OpKind::Load => true,
                    OpKind::Rmw => model.ppo.store_store.on_one_address() || model.ppo.store_load.on_one_address(),
                    _ => false,
                };
                ensure(model.store_forwarding && sees_own, Reason::Model)?;
                ensure(self.in_program_order(own, load), Reason::ProgramOrder)?;
                self.read_and_other(load.into(), to, from)
            }
            Rule::BeforeRead { load } => {
                self.read_and_other(load, to, from)?;
                self.path(step, from, load)
            }
            Rule::AfterRead => {
                let first = step.premises.first().ok_or(Reason::Path)?;
                let source = lemma.steps[*first as usize].from;
                self.read_and_other(from, source, to)?;
                self.path(step, source, to)
            }
            Rule::WriteOrder => {
                let (first, second) = (self.op(from)?, self.op(to)?);
                let rank = |op| {
                    let valued = matches!(trace.kind(op), OpKind::Store | OpKind::Rmw);
                    if valued { self.lines.rank(trace.addr(op), trace.write(op)) } else { None }
                };
                let listed = matches!((rank(first), rank(second)), (Some(first), Some(second)) if first < second);
                ensure(listed && trace.addr(first) == trace.addr(second), Reason::WriteOrder)
            }
            Rule::Init => ensure(from == Event::INIT && (to == Event::FINAL || self.op(to).is_ok()), Reason::Event),
            Rule::Final => ensure(to == Event::FINAL && (from == Event::INIT || self.op(from).is_ok()), Reason::Event),
            Rule::Held => {
                let acquire = self.op(to)?;
                ensure(model.lock_exclusion, Reason::Model)?;
                let held = trace.kind(acquire) == OpKind::Acquire && self.lines.locks.partner(acquire).is_none();
                ensure(held && from != to && self.writes(from, trace.addr(acquire)), Reason::Lock)
            }
            Rule::Assume(i) => {
                let assumed = lemma.assume.get(i as usize);
                ensure(assumed.is_some_and(|a| a.first == from && a.second == to), Reason::Assume)
            }
            Rule::Case(j) => {
                let refuted = self.lemmas[..self.at].get(j as usize).ok_or(Reason::Case)?;
                let (mut opposite, mut others) = (false, true);
                for a in &refuted.assume {
                    if a.first == to && a.second == from {
                        opposite = true;
                    } else {
                        // Assumed here too, or shown by a premise.
                        others &= self.lines.assumed.binary_search(&(a.first, a.second)).is_ok()
                            || step.premises.iter().any(|&premise| {
                                let shown = &lemma.steps[premise as usize];
                                (shown.from, shown.to) == (a.first, a.second)
                            });
                    }
                }
                ensure(opposite && others, Reason::Case)
            }
        }
    }
}
