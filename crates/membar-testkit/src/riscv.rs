//! RISC-V's memory models straight from the manual: all memory orders, with the load value and atomicity axioms and the
//! thirteen rules of preserved program order.
//!
//! Problem: is there a global memory order of the trace's operations that explains every recorded value, under RVWMO or with
//! Ztso? Nothing here looks at a [`Model`](membar_core::Model), at sources, or at pairs that something else found: values
//! may be repeated, and what a load read from is part of what is tried.
//!
//! Algorithm: depth first. An operation is next in memory order if
//! 1. its value fits: a load returns the latest in memory order of the stores before it in memory order and those before it
//!    in its thread (load value axiom); a read-modify-write the latest store placed;
//! 2. between what the load reserved of a store conditional read and the store conditional, no other hart has stored to the
//!    address (atomicity axiom);
//! 3. no pair of preserved program order is reversed: neither with an operation that comes later in its thread and was placed
//!    already, nor with an earlier one that is not. Rules 2, 3 and 12 speak of what was read, which is known of what was placed.
//!
//! A state is what was placed, the order of the stores to each address, and what each load read; each is tried once.
//!
//! Complexity: exponential. For traces of about ten operations.

use membar_core::{Condition, Depends, Marks, Mask, Op, OpId, OpKind, Rng, Source, Trace};
use rustc_hash::FxHashSet;

/// A memory model of RISC-V.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Riscv {
    /// The weak one.
    Rvwmo,
    /// With the Ztso extension.
    Ztso,
    /// Not one of RISC-V: program order is kept, and nothing is read early.
    Sc,
    /// Not one of RISC-V: Armv8, from the architecture's ordered-before. Atomics are split.
    Armv8,
}

/// Is there a memory order? The trace has at most 64 operations, no locks and no times; its program order is known.
pub fn decide(trace: &Trace, model: Riscv) -> bool {
    assert!(trace.len() <= 64, "the oracle takes at most 64 operations");
    let Some(pairs) = pairs(trace) else { return false };
    let search = Search { trace, model, pairs, seen: FxHashSet::default() };
    let empty = State { placed: 0, stores: vec![Vec::new(); trace.addrs()], read: vec![None; trace.len()] };
    search.run(empty)
}

/// Is this order of all operations but barriers a memory order of the trace?
pub fn explains(trace: &Trace, model: Riscv, order: &[OpId]) -> bool {
    let Some(pairs) = pairs(trace) else { return false };
    let search = Search { trace, model, pairs, seen: FxHashSet::default() };
    let empty = State { placed: 0, stores: vec![Vec::new(); trace.addrs()], read: vec![None; trace.len()] };
    let last = order.iter().try_fold(empty, |state, &op| search.next(&state, op));
    last.is_some_and(|state| {
        state.placed.count_ones() as usize == trace.memory_ops().count() && search.ends_well(&state)
    })
}

/// Each store conditional that stored with its load reserved. `None` if one has none.
fn pairs(trace: &Trace) -> Option<Vec<(OpId, OpId)>> {
    let mut pairs = Vec::new();
    for store in trace.ops().filter(|&op| trace.kind(op) == OpKind::Store && trace.marks(op).meets(Marks::CONDITIONAL))
    {
        let earlier = &trace.thread_ops(trace.thread(store))[..trace.po(store) as usize];
        // A half of an atomic belongs to the other half; others belong to each other.
        let half = |op: OpId| trace.marks(op).meets(Marks::HALF);
        let last = earlier
            .iter()
            .rfind(|&&op| trace.marks(op).meets(Marks::RESERVES.with(Marks::CONDITIONAL)) && half(op) == half(store));
        let load = *last.filter(|&&op| trace.marks(op).meets(Marks::RESERVES))?;
        pairs.push((load, store));
    }
    Some(pairs)
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    placed: u64,
    /// Per address, in memory order.
    stores: Vec<Vec<OpId>>,
    /// What a placed load read from; `Some(None)` is the initial value.
    read: Vec<Option<Option<OpId>>>,
}

struct Search<'a> {
    trace: &'a Trace,
    model: Riscv,
    pairs: Vec<(OpId, OpId)>,
    seen: FxHashSet<State>,
}

fn loads(trace: &Trace, op: OpId) -> bool {
    matches!(trace.kind(op), OpKind::Load | OpKind::Rmw)
}

fn stores(trace: &Trace, op: OpId) -> bool {
    matches!(trace.kind(op), OpKind::Store | OpKind::Rmw)
}

impl Search<'_> {
    fn run(mut self, state: State) -> bool {
        self.place(state)
    }

    fn place(&mut self, state: State) -> bool {
        if !self.seen.insert(state.clone()) {
            return false;
        }
        let trace = self.trace;
        let open: Vec<OpId> = trace.memory_ops().filter(|&op| state.placed >> op.0 & 1 == 0).collect();
        if open.is_empty() {
            return self.ends_well(&state);
        }
        open.into_iter().any(|op| self.next(&state, op).is_some_and(|next| self.place(next)))
    }

    fn ends_well(&self, state: &State) -> bool {
        let trace = self.trace;
        trace.finals.iter().all(|end| match state.stores[end.addr.index()].last() {
            Some(&store) => trace.write(store) == end.value,
            None => trace.initial(end.addr) == end.value,
        })
    }

    /// The state after placing the operation, if it may be next.
    fn next(&self, state: &State, op: OpId) -> Option<State> {
        let (trace, x) = (self.trace, self.trace.addr(op).index());
        let mut next = state.clone();
        if loads(trace, op) {
            let own = &trace.thread_ops(trace.thread(op))[..trace.po(op) as usize];
            let waits =
                |&&s: &&OpId| stores(trace, s) && trace.addr(s) == trace.addr(op) && state.placed >> s.0 & 1 == 0;
            // Rule 1 keeps its thread's stores to the address in order: what waits is later than all that was placed.
            let early = own.iter().rfind(waits).copied();
            if early.is_some() && trace.kind(op) == OpKind::Rmw {
                return None;
            }
            let from = early.or(state.stores[x].last().copied());
            let value = from.map_or(trace.initial(trace.addr(op)), |store| trace.write(store));
            if value != trace.read(op) {
                return None;
            }
            next.read[op.index()] = Some(from);
        }
        if stores(trace, op) {
            if let Some(&(load, _)) = self.pairs.iter().find(|&&(_, store)| store == op) {
                let from = state.read[load.index()]?;
                let after =
                    from.map_or(0, |s| state.stores[x].iter().position(|&at| at == s).map_or(usize::MAX, |i| i + 1));
                let others = state.stores[x].get(after..)?;
                if others.iter().any(|&other| trace.thread(other) != trace.thread(op)) {
                    return None;
                }
            }
            let line = trace.orders.iter().find(|order| order.addr == trace.addr(op));
            if line.is_some_and(|line| line.values.get(state.stores[x].len()) != Some(&trace.write(op))) {
                return None;
            }
            next.stores[x].push(op);
        }
        next.placed |= 1 << op.0;
        let placed = |other: OpId| next.placed >> other.0 & 1 != 0;
        keeps_order(trace, op, placed, |a, b| self.preserved(&next, a, b)).then_some(next)
    }

    /// Are the two, earlier and later in one thread, in preserved program order, as far as is known?
    fn preserved(&self, state: &State, a: OpId, b: OpId) -> bool {
        let trace = self.trace;
        let (a_loads, b_loads) = (loads(trace, a), loads(trace, b));
        let (a_stores, b_stores) = (stores(trace, a), stores(trace, b));
        if self.model == Riscv::Ztso && (a_loads || b_stores) {
            return true; // every load is an acquire, every store a release
        }
        if self.model == Riscv::Sc {
            return true;
        }
        if self.model == Riscv::Armv8 {
            return self.armv8(state, a, b);
        }
        let one_address = trace.addr(a) == trace.addr(b);
        let between = &trace.thread_ops(trace.thread(a))[trace.po(a) as usize + 1..trace.po(b) as usize];
        let (from_a, from_b) = (state.read[a.index()], state.read[b.index()]);
        let annotated = |op: OpId| trace.marks(op).meets(Marks::ACQUIRE.with(Marks::RELEASE));
        let depends = |later: OpId, how: Depends, earlier: OpId| {
            trace.dependencies(later).iter().any(|dep| dep.how == how && dep.on == earlier)
        };
        let fence = |&op: &OpId| {
            trace.kind(op) == OpKind::Fence && {
                let mask = trace.mask(op).unwrap_or(Mask::FULL);
                let pair = |e: bool, l: bool| mask.contains(Mask::pair(e, l));
                a_loads && (b_loads && pair(false, false) || b_stores && pair(false, true))
                    || a_stores && (b_loads && pair(true, false) || b_stores && pair(true, true))
            }
        };
        let overlapping_store = |&op: &OpId| stores(trace, op) && trace.addr(op) == trace.addr(a);
        let different = matches!((from_a, from_b), (Some(s), Some(t)) if s != t);
        let atomic = trace.kind(a) == OpKind::Rmw || trace.marks(a).meets(Marks::CONDITIONAL);
        (b_stores && one_address) // 1
            || (a_loads && b_loads && one_address && different && !between.iter().any(overlapping_store)) // 2
            || (atomic && b_loads && from_b == Some(Some(a))) // 3
            || between.iter().any(fence) // 4
            || trace.marks(a).meets(Marks::ACQUIRE.with(Marks::ACQUIRE_PC)) // 5
            || trace.marks(b).meets(Marks::RELEASE) // 6
            || (annotated(a) && annotated(b)) // 7
            || self.pairs.contains(&(a, b)) // 8
            || depends(b, Depends::Address, a) // 9
            || (b_stores && depends(b, Depends::Data, a)) // 10
            || (b_stores && depends(b, Depends::Control, a)) // 11
            || (b_loads && between.iter().any(|&m| {
                stores(trace, m)
                    && from_b == Some(Some(m))
                    && (depends(m, Depends::Address, a) || depends(m, Depends::Data, a))
            })) // 12
            || (b_stores && between.iter().any(|&m| depends(m, Depends::Address, a))) // 13
    }
}

impl Search<'_> {
    /// Are the two, earlier and later in one thread, in Arm's locally-ordered-before (lws, dob, aob, bob), or would swapping them
    /// break coherence between two loads?
    fn armv8(&self, state: &State, a: OpId, b: OpId) -> bool {
        let trace = self.trace;
        let (a_loads, b_loads) = (loads(trace, a), loads(trace, b));
        let (a_stores, b_stores) = (stores(trace, a), stores(trace, b));
        let marked = |op: OpId, mark: Marks| trace.marks(op).meets(mark);
        let between = &trace.thread_ops(trace.thread(a))[trace.po(a) as usize + 1..trace.po(b) as usize];
        let depends = |later: OpId, how: Depends| {
            trace.dependencies(later).iter().any(|dep| dep.how == how && dep.on == a) && a_loads
        };
        let one_address = trace.addr(a) == trace.addr(b);
        let forwards = |m: OpId| b_loads && state.read[b.index()] == Some(Some(m)) && between.contains(&m);
        // po-loc between loads that returned different stores: the internal axiom, as the order of the two.
        let stored = between.iter().any(|&op| stores(trace, op) && trace.addr(op) == trace.addr(a));
        let different = matches!((state.read[a.index()], state.read[b.index()]), (Some(s), Some(t)) if s != t);
        let internal = a_loads && b_loads && one_address && !stored && different;
        let lws = b_stores && one_address;
        let isb = between.iter().enumerate().any(|(i, &op)| {
            marked(op, Marks::ISB)
                && between[..=i].iter().any(|&m| depends(m, Depends::Control) || depends(m, Depends::Address))
        });
        let dob = depends(b, Depends::Address)
            || (b_stores && depends(b, Depends::Data))
            || (b_stores && depends(b, Depends::Control))
            || (b_stores && between.iter().any(|&m| depends(m, Depends::Address)))
            || isb
            || between.iter().any(|&m| {
                stores(trace, m) && forwards(m) && (depends(m, Depends::Address) || depends(m, Depends::Data))
            });
        let acquires = marked(b, Marks::ACQUIRE.with(Marks::ACQUIRE_PC)) && b_loads;
        let aob = self.pairs.contains(&(a, b))
            || (acquires && self.pairs.iter().any(|&(load, store)| load == a && forwards(store)));
        // The store of an atomic that acquires and releases has both marks.
        let whole = a_stores && marked(a, Marks::ACQUIRE);
        let fence = |&op: &OpId| {
            trace.kind(op) == OpKind::Fence && {
                let mask = trace.mask(op).unwrap_or(Mask::FULL);
                mask.contains(Mask::pair(a_stores, b_stores))
            }
        };
        let bob = between.iter().any(fence)
            || (a_loads && marked(a, Marks::ACQUIRE.with(Marks::ACQUIRE_PC)))
            || (b_stores && marked(b, Marks::RELEASE))
            || (a_stores && marked(a, Marks::RELEASE) && b_loads && marked(b, Marks::ACQUIRE))
            || whole;
        internal || lws || dob || aob || bob
    }
}

/// Does a condition of a model's table hold for an earlier and a later operation of one thread, by the sources that the trace
/// was resolved to?
pub fn holds(trace: &Trace, condition: Condition, a: OpId, b: OpId) -> bool {
    let between = &trace.thread_ops(trace.thread(a))[trace.po(a) as usize + 1..trace.po(b) as usize];
    let source = |op: OpId| if loads(trace, op) { trace.source(op) } else { Source::NONE };
    let one_address = trace.addr(a) == trace.addr(b);
    let stored = between.iter().any(|&op| stores(trace, op) && trace.addr(op) == trace.addr(a));
    let acquires = Marks::ACQUIRE.with(Marks::ACQUIRE_PC);
    match condition {
        Condition::AnotherStore => {
            loads(trace, a) && loads(trace, b) && one_address && !stored && source(a) != source(b)
        }
        Condition::FromAtomic => {
            (trace.kind(a) == OpKind::Rmw || trace.marks(a).meets(Marks::CONDITIONAL)) && source(b) == Source::op(a)
        }
        Condition::EarlierAcquires => trace.marks(a).meets(acquires),
        Condition::LaterReleases => trace.marks(b).meets(Marks::RELEASE),
        Condition::ReleaseAcquire => trace.marks(a).meets(Marks::RELEASE) && trace.marks(b).meets(Marks::ACQUIRE),
        Condition::Address => trace.depends(b, Depends::Address, a),
        Condition::Data => trace.depends(b, Depends::Data, a),
        Condition::Control => trace.depends(b, Depends::Control, a),
        Condition::ThroughStore => between.iter().any(|&m| {
            source(b) == Source::op(m) && (trace.depends(m, Depends::Address, a) || trace.depends(m, Depends::Data, a))
        }),
        Condition::PastIsb => between.iter().enumerate().any(|(i, &isb)| {
            trace.marks(isb).meets(Marks::ISB)
                && between[..=i]
                    .iter()
                    .any(|&m| trace.depends(m, Depends::Control, a) || trace.depends(m, Depends::Address, a))
        }),
        Condition::AcquireFromPair => {
            trace.marks(b).meets(acquires)
                && between.iter().any(|&m| source(b) == Source::op(m) && trace.reservation(m) == Some(a))
        }
        Condition::PastAddress => between.iter().any(|&m| trace.depends(m, Depends::Address, a)),
    }
}

/// The trace with some barriers as ISBs that branches lead to, and some acquires that earlier releases do not wait for; not yet
/// resolved.
pub fn armed(trace: &Trace, rng: &mut Rng) -> Trace {
    let mut new = trace.restricted_to(&[], |_| false, |_| false);
    let mut returns: Vec<Vec<bool>> = vec![Vec::new(); trace.threads()];
    for id in trace.ops() {
        let t = trace.thread(id).index();
        let mut op = trace.op(id);
        op.thread = new.thread_id(trace.thread_names()[t]);
        if op.addr != membar_core::AddrId::NONE {
            op.addr = new.addr_id(&trace.addr_names()[trace.addr(id).index()]);
        }
        let mut branch = None;
        if op.kind == OpKind::Fence && !op.marks.meets(Marks::FAILED) && rng.chance(1, 2) {
            op.mask = Some(Mask::NONE);
            op.marks = Marks::ISB;
            branch = returns[t].iter().rposition(|&returns| returns).filter(|_| rng.chance(2, 3));
        } else if op.marks.meets(Marks::ACQUIRE) && op.kind != OpKind::Store && rng.chance(1, 3) {
            let release = if op.marks.meets(Marks::RELEASE) { Marks::RELEASE } else { Marks::NONE };
            let reserves = if op.marks.meets(Marks::RESERVES) { Marks::RESERVES } else { Marks::NONE };
            op.marks = Marks::ACQUIRE_PC.with(release).with(reserves);
        } else if op.kind == OpKind::Store && op.marks.meets(Marks::ACQUIRE) {
            let conditional = if op.marks.meets(Marks::CONDITIONAL) { Marks::CONDITIONAL } else { Marks::NONE };
            op.marks = Marks::RELEASE.with(conditional);
        }
        new.push(op);
        if let Some(on) = branch {
            new.push_dependency(Depends::Control, (returns[t].len() - on) as u32);
        } else if op.kind != OpKind::Fence {
            for dep in trace.dependencies(id) {
                new.push_dependency(dep.how, dep.back);
            }
        }
        returns[t].push(trace.returns(id));
    }
    for end in &trace.finals {
        let addr = new.addr_id(&trace.addr_names()[end.addr.index()]);
        new.finals.push(membar_core::Final { addr, ..*end });
    }
    for init in &trace.inits {
        let addr = new.addr_id(&trace.addr_names()[init.addr.index()]);
        new.inits.push(membar_core::Init { addr, ..*init });
    }
    new
}

/// The trace with marks, reservations, failed store conditionals and dependencies at random; not yet resolved.
pub fn decorated(trace: &Trace, rng: &mut Rng) -> Trace {
    let all: Vec<OpId> = trace.ops().collect();
    let mut new = trace.restricted_to(&[], |_| false, |_| false);
    let [marks, reserve, depend] = [3, 2, 2].map(|of| if rng.chance(1, of) { rng.between(1, 8) } else { 0 });
    // Per thread: the operations so far, whether each returns something, and the address reserved.
    let mut returns: Vec<Vec<bool>> = vec![Vec::new(); trace.threads()];
    let mut reserved = vec![None; trace.threads()];
    for &id in &all {
        let t = trace.thread(id).index();
        let mut op = trace.op(id);
        op.thread = new.thread_id(trace.thread_names()[t]);
        if op.addr != membar_core::AddrId::NONE {
            op.addr = new.addr_id(&trace.addr_names()[trace.addr(id).index()]);
        }
        if op.kind == OpKind::Fence && op.mask.is_some_and(|mask| !mask.is_empty()) && rng.chance(1, 4) {
            op.mask = Some(Mask::LOAD_LOAD | Mask::LOAD_STORE | Mask::STORE_STORE);
            op.marks = Marks::FENCE;
        }
        if op.kind == OpKind::Rmw && rng.chance(reserve, 10) {
            // An atomic as a pair, with what follows.
            let load = Op { kind: OpKind::Load, write: 0, marks: Marks::RESERVES, ..op };
            new.push(load);
            returns[t].push(true);
            op = Op { kind: OpKind::Store, read: 0, marks: Marks::CONDITIONAL, ..op };
            reserved[t] = None;
        } else if op.kind == OpKind::Load && rng.chance(reserve, 12) {
            op.marks = op.marks.with(Marks::RESERVES);
            reserved[t] = Some(op.addr);
        } else if op.kind == OpKind::Store
            && (reserved[t] == Some(op.addr) && rng.chance(2, 3) || rng.chance(reserve, 400))
        {
            op.marks = op.marks.with(Marks::CONDITIONAL);
            reserved[t] = None;
        }
        if op.kind != OpKind::Fence {
            for mark in [Marks::ACQUIRE, Marks::RELEASE] {
                if rng.chance(marks, 24) {
                    op.marks = op.marks.with(mark);
                }
            }
        }
        let last = returns[t].iter().rposition(|&returns| returns);
        if let Some(last) = last.filter(|_| op.kind == OpKind::Store && reserved[t].is_none() && rng.chance(depend, 12))
        {
            // An address of its own, which came from an earlier operation.
            let addr = new.named_id("elsewhere");
            new.push_load(op.thread, addr, 0, op.line);
            new.push_dependency(Depends::Address, (returns[t].len() - last) as u32);
            returns[t].push(true);
        }
        new.push(op);
        let access = op.kind != OpKind::Fence;
        for back in 1..=returns[t].len() {
            let from = returns[t].len() - back;
            if access && returns[t][from] && rng.chance(depend, 12) {
                let how = [Depends::Address, Depends::Data, Depends::Control][rng.below(3) as usize];
                new.push_dependency(how, back as u32);
            }
        }
        returns[t].push(matches!(op.kind, OpKind::Load | OpKind::Rmw) || op.marks.meets(Marks::CONDITIONAL));
        if rng.chance(reserve, 100) && op.addr != membar_core::AddrId::NONE {
            new.push_failed(op.thread, op.addr, op.line);
            if returns[t].len() > 1 && returns[t][returns[t].len() - 2] && rng.chance(1, 2) {
                new.push_dependency(Depends::Address, 2);
            }
            returns[t].push(true);
            reserved[t] = None;
        }
    }
    for end in &trace.finals {
        let addr = new.addr_id(&trace.addr_names()[end.addr.index()]);
        new.finals.push(membar_core::Final { addr, ..*end });
    }
    for init in &trace.inits {
        let addr = new.addr_id(&trace.addr_names()[init.addr.index()]);
        new.inits.push(membar_core::Init { addr, ..*init });
    }
    for order in &trace.orders {
        let addr = new.addr_id(&trace.addr_names()[order.addr.index()]);
        new.orders.push(membar_core::OrderLine { addr, ..order.clone() });
    }
    new
}

/// Whether an operation may be placed last: nothing of its thread that has not been placed has to come before it, and nothing placed after it.
pub(crate) fn keeps_order(
    trace: &Trace,
    op: OpId,
    placed: impl Fn(OpId) -> bool,
    preserved: impl Fn(OpId, OpId) -> bool,
) -> bool {
    let thread = trace.thread_ops(trace.thread(op)).iter().copied();
    thread.filter(|&other| other != op && trace.kind(other) != OpKind::Fence).all(|other| {
        if trace.po(other) < trace.po(op) {
            placed(other) || !preserved(other, op)
        } else {
            !placed(other) || !preserved(op, other)
        }
    })
}
