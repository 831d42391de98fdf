//! Memory models for accesses of different sizes, byte by byte, straight from the manuals: all memory orders.
//!
//! Problem: is there a memory order of the accesses that explains every byte of every recorded value? Nothing here looks at cells,
//! at a [`Model`](membar_core::Model), at sources, or at pairs that something else found.
//!
//! Algorithm: as [`crate::riscv`], with the axioms as the manual has them, for bytes: a load returns for each byte the latest in
//! memory order of the stores to it before the load in memory order or in its thread; a store conditional needs for each byte that no
//! other hart has stored to it since what its load reserved returned; rules about overlapping addresses ask whether two accesses share
//! a byte, and rule 2 is about one byte at a time. An access has one place in memory order.
//!
//! Complexity: exponential. For traces of about ten operations.

use crate::riscv::keeps_order;
use membar_core::{AddrId, AddrName, Depends, Final, Init, Marks, Mask, Op, OpId, OpKind, Rng, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// A memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sized {
    /// Sequential consistency.
    Sc,
    /// SPARC's total store order.
    Tso,
    /// SPARC's partial store order.
    Pso,
    /// axe's weak memory order.
    Wmo,
    /// RISC-V with the Ztso extension.
    Ztso,
    /// RISC-V.
    Rvwmo,
    /// Armv8; atomics are split ([`split`]).
    Armv8,
}

impl Sized {
    /// All, with their names.
    pub const ALL: [(Sized, &'static str); 7] = [
        (Sized::Sc, "sc"),
        (Sized::Tso, "tso"),
        (Sized::Pso, "pso"),
        (Sized::Wmo, "wmo"),
        (Sized::Ztso, "ztso"),
        (Sized::Rvwmo, "rvwmo"),
        (Sized::Armv8, "armv8"),
    ];
}

/// Is there a memory order? The trace has at most 64 operations, no locks, times or `order` lines; its program order is known.
pub fn decide(trace: &Trace, model: Sized) -> bool {
    assert!(trace.len() <= 64, "the oracle takes at most 64 operations");
    let Some(search) = Search::new(trace, model) else { return false };
    search.run()
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    placed: u64,
    /// Per byte, in memory order.
    stores: Vec<Vec<OpId>>,
    /// What a placed load read from, per byte of it; `None` is the initial value.
    read: Vec<Option<Vec<Option<OpId>>>>,
}

struct Search<'a> {
    trace: &'a Trace,
    model: Sized,
    pairs: Vec<(OpId, OpId)>,
    /// The bytes of each address.
    bytes: Vec<Vec<usize>>,
    initial: Vec<u8>,
    seen: FxHashSet<State>,
}

fn loads(trace: &Trace, op: OpId) -> bool {
    matches!(trace.kind(op), OpKind::Load | OpKind::Rmw)
}

fn stores(trace: &Trace, op: OpId) -> bool {
    matches!(trace.kind(op), OpKind::Store | OpKind::Rmw)
}

fn byte(value: u128, i: usize) -> u8 {
    (value >> (8 * i)) as u8
}

impl<'a> Search<'a> {
    /// `None` if a store conditional stored without a load reserved.
    fn new(trace: &'a Trace, model: Sized) -> Option<Search<'a>> {
        let mut numbers: FxHashMap<(String, u64), usize> = FxHashMap::default();
        let bytes: Vec<Vec<usize>> = trace
            .addr_names()
            .iter()
            .map(|name| {
                let (of, (first, end)) = name.bytes().expect("no locks");
                let mut number = |byte| {
                    let fresh = numbers.len();
                    *numbers.entry((of.to_string(), byte)).or_insert(fresh)
                };
                (first..end).map(&mut number).collect()
            })
            .collect();
        let mut initial = vec![0; numbers.len()];
        for init in &trace.inits {
            for (i, &at) in bytes[init.addr.index()].iter().enumerate() {
                initial[at] = byte(init.value.into(), i);
            }
        }
        let mut pairs = Vec::new();
        for store in trace.ops().filter(|&op| stores(trace, op) && trace.marks(op).meets(Marks::CONDITIONAL)) {
            let earlier = &trace.thread_ops(trace.thread(store))[..trace.po(store) as usize];
            let half = |op: OpId| trace.marks(op).meets(Marks::HALF);
            let special = |op: OpId| trace.marks(op).meets(Marks::RESERVES.with(Marks::CONDITIONAL));
            let last = earlier.iter().rfind(|&&op| special(op) && half(op) == half(store));
            let load = *last.filter(|&&op| trace.marks(op).meets(Marks::RESERVES))?;
            pairs.push((load, store));
        }
        Some(Search { trace, model, pairs, bytes, initial, seen: FxHashSet::default() })
    }

    fn run(mut self) -> bool {
        let empty =
            State { placed: 0, stores: vec![Vec::new(); self.initial.len()], read: vec![None; self.trace.len()] };
        self.place(empty)
    }

    fn place(&mut self, state: State) -> bool {
        if !self.seen.insert(state.clone()) {
            return false;
        }
        let open: Vec<OpId> = self.trace.memory_ops().filter(|&op| state.placed >> op.0 & 1 == 0).collect();
        if open.is_empty() {
            return self.ends_well(&state);
        }
        open.into_iter().any(|op| self.next(&state, op).is_some_and(|next| self.place(next)))
    }

    fn ends_well(&self, state: &State) -> bool {
        self.trace.finals.iter().all(|end| {
            let mut bytes = self.bytes[end.addr.index()].iter().enumerate();
            bytes.all(|(i, &at)| self.value(state.stores[at].last().copied(), at) == byte(end.value.into(), i))
        })
    }

    fn bytes(&self, op: OpId) -> &[usize] {
        &self.bytes[self.trace.addr(op).index()]
    }

    /// What a store gave this byte, or its initial value.
    fn value(&self, from: Option<OpId>, at: usize) -> u8 {
        from.map_or(self.initial[at], |store| {
            let i = self.bytes(store).iter().position(|&other| other == at).expect("it writes the byte");
            byte(self.trace.whole_write(store), i)
        })
    }

    fn next(&self, state: &State, op: OpId) -> Option<State> {
        let trace = self.trace;
        let mut next = state.clone();
        if loads(trace, op) {
            let own = &trace.thread_ops(trace.thread(op))[..trace.po(op) as usize];
            let mut read = Vec::new();
            for (i, &at) in self.bytes(op).iter().enumerate() {
                let waits =
                    |&&s: &&OpId| stores(trace, s) && self.bytes(s).contains(&at) && state.placed >> s.0 & 1 == 0;
                // Stores of a thread to one byte are in order: what waits is later than all that was placed.
                let early = own.iter().rfind(waits).copied();
                if early.is_some() && (trace.kind(op) == OpKind::Rmw || self.model == Sized::Sc) {
                    return None;
                }
                let from = early.or(state.stores[at].last().copied());
                if self.value(from, at) != byte(trace.whole_read(op), i) {
                    return None;
                }
                read.push(from);
            }
            next.read[op.index()] = Some(read);
        }
        if stores(trace, op) {
            if let Some(&(load, _)) = self.pairs.iter().find(|&&(_, store)| store == op) {
                let read = state.read[load.index()].as_ref()?;
                for (&at, &from) in self.bytes(load).iter().zip(read) {
                    let after =
                        from.map_or(Some(0), |s| state.stores[at].iter().position(|&other| other == s).map(|i| i + 1))?;
                    if state.stores[at][after..].iter().any(|&other| trace.thread(other) != trace.thread(op)) {
                        return None;
                    }
                }
            }
            for &at in self.bytes(op) {
                next.stores[at].push(op);
            }
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
        let overlap = self.bytes(a).iter().any(|at| self.bytes(b).contains(at));
        let between = &trace.thread_ops(trace.thread(a))[trace.po(a) as usize + 1..trace.po(b) as usize];
        let fence = between.iter().any(|&op| {
            trace.kind(op) == OpKind::Fence && {
                let mask = trace.mask(op).unwrap_or(Mask::FULL);
                let pair = |e: bool, l: bool| mask.contains(Mask::pair(e, l));
                a_loads && (b_loads && pair(false, false) || b_stores && pair(false, true))
                    || a_stores && (b_loads && pair(true, false) || b_stores && pair(true, true))
            }
        });
        fence
            || match self.model {
                Sized::Sc => true,
                Sized::Tso | Sized::Ztso if self.model == Sized::Tso => a_loads || b_stores,
                Sized::Tso | Sized::Ztso => a_loads || b_stores || self.rvwmo(state, a, b),
                Sized::Pso => a_loads || (b_stores && overlap),
                Sized::Wmo => overlap && (a_loads || b_stores),
                Sized::Rvwmo => self.rvwmo(state, a, b),
                Sized::Armv8 => self.armv8(state, a, b),
            }
    }

    fn depends(&self, later: OpId, how: Depends, earlier: OpId) -> bool {
        self.trace.dependencies(later).iter().any(|dep| dep.how == how && dep.on == earlier)
    }

    /// Did a byte of the load come from this store?
    fn from(&self, state: &State, load: OpId, store: OpId) -> bool {
        state.read[load.index()].as_ref().is_some_and(|read| read.contains(&Some(store)))
    }

    /// Rule 2: a byte of both that came from different stores, with no store to it between the two.
    fn other_store(&self, state: &State, a: OpId, b: OpId) -> bool {
        let trace = self.trace;
        let between = &trace.thread_ops(trace.thread(a))[trace.po(a) as usize + 1..trace.po(b) as usize];
        let (Some(from_a), Some(from_b)) = (&state.read[a.index()], &state.read[b.index()]) else { return false };
        self.bytes(a).iter().zip(from_a).any(|(at, source)| {
            let stored = between.iter().any(|&op| stores(trace, op) && self.bytes(op).contains(at));
            let other = self.bytes(b).iter().position(|byte| byte == at);
            !stored && other.is_some_and(|i| from_b[i] != *source)
        })
    }

    fn rvwmo(&self, state: &State, a: OpId, b: OpId) -> bool {
        let trace = self.trace;
        let (b_loads, b_stores) = (loads(trace, b), stores(trace, b));
        let overlap = self.bytes(a).iter().any(|at| self.bytes(b).contains(at));
        let between = &trace.thread_ops(trace.thread(a))[trace.po(a) as usize + 1..trace.po(b) as usize];
        let annotated = |op: OpId| trace.marks(op).meets(Marks::ACQUIRE.with(Marks::RELEASE));
        let atomic = trace.kind(a) == OpKind::Rmw || trace.marks(a).meets(Marks::CONDITIONAL);
        (b_stores && overlap) // 1
            || self.other_store(state, a, b) // 2
            || (atomic && self.from(state, b, a)) // 3
            || trace.marks(a).meets(Marks::ACQUIRE.with(Marks::ACQUIRE_PC)) // 5
            || trace.marks(b).meets(Marks::RELEASE) // 6
            || (annotated(a) && annotated(b)) // 7
            || self.pairs.contains(&(a, b)) // 8
            || self.depends(b, Depends::Address, a) // 9
            || (b_stores && self.depends(b, Depends::Data, a)) // 10
            || (b_stores && self.depends(b, Depends::Control, a)) // 11
            || (b_loads && between.iter().any(|&m| {
                let depends = self.depends(m, Depends::Address, a) || self.depends(m, Depends::Data, a);
                stores(trace, m) && self.from(state, b, m) && depends
            })) // 12
            || (b_stores && between.iter().any(|&m| self.depends(m, Depends::Address, a))) // 13
    }

    fn armv8(&self, state: &State, a: OpId, b: OpId) -> bool {
        let trace = self.trace;
        let (a_loads, b_loads) = (loads(trace, a), loads(trace, b));
        let (a_stores, b_stores) = (stores(trace, a), stores(trace, b));
        let overlap = self.bytes(a).iter().any(|at| self.bytes(b).contains(at));
        let marked = |op: OpId, mark: Marks| trace.marks(op).meets(mark);
        let between = &trace.thread_ops(trace.thread(a))[trace.po(a) as usize + 1..trace.po(b) as usize];
        let depends = |later: OpId, how: Depends| self.depends(later, how, a) && a_loads;
        let forwards = |m: OpId| self.from(state, b, m) && between.contains(&m);
        let isb = between.iter().enumerate().any(|(i, &op)| {
            let waits = |&m: &OpId| depends(m, Depends::Control) || depends(m, Depends::Address);
            marked(op, Marks::ISB) && between[..=i].iter().any(waits)
        });
        let dob = depends(b, Depends::Address)
            || (b_stores && (depends(b, Depends::Data) || depends(b, Depends::Control)))
            || (b_stores && between.iter().any(|&m| depends(m, Depends::Address)))
            || isb
            || between.iter().any(|&m| {
                stores(trace, m) && forwards(m) && (depends(m, Depends::Address) || depends(m, Depends::Data))
            });
        let acquires = marked(b, Marks::ACQUIRE.with(Marks::ACQUIRE_PC)) && b_loads;
        let aob = self.pairs.contains(&(a, b))
            || (acquires && self.pairs.iter().any(|&(load, store)| load == a && forwards(store)));
        let bob = (a_loads && marked(a, Marks::ACQUIRE.with(Marks::ACQUIRE_PC)))
            || (b_stores && marked(b, Marks::RELEASE))
            || (a_stores && marked(a, Marks::RELEASE) && b_loads && marked(b, Marks::ACQUIRE))
            || (a_stores && marked(a, Marks::ACQUIRE));
        self.other_store(state, a, b) || (b_stores && overlap) || dob || aob || bob
    }
}

/// The trace with each read-modify-write as the two halves that Armv8 makes of it, whole; resolved.
pub fn split(trace: &Trace) -> Trace {
    let mut new = trace.restricted_to(&[], |_| false, |_| false);
    let mut place = vec![0; trace.len()];
    let mut next = vec![0; trace.threads()];
    for id in trace.ops() {
        let mut op = trace.op(id);
        let at: &mut u32 = &mut next[op.thread.index()];
        place[id.index()] = *at;
        op.thread = new.thread_id(trace.thread_names()[op.thread.index()]);
        if op.addr != AddrId::NONE {
            op.addr = new.addr_id(&trace.addr_names()[op.addr.index()]);
        }
        let has = |mark: Marks| if op.marks.meets(mark) { mark } else { Marks::NONE };
        let both = op.marks.meets(Marks::ACQUIRE) && op.marks.meets(Marks::RELEASE);
        let halves = if op.kind == OpKind::Rmw {
            let load = Marks::HALF.with(Marks::RESERVES).with(has(Marks::ACQUIRE)).with(has(Marks::ACQUIRE_PC));
            let store = Marks::HALF.with(Marks::CONDITIONAL).with(has(Marks::RELEASE));
            let store = if both { store.with(Marks::ACQUIRE) } else { store };
            vec![
                Op { kind: OpKind::Load, write: 0, marks: load, ..op },
                Op { kind: OpKind::Store, read: 0, marks: store, ..op },
            ]
        } else {
            vec![op]
        };
        for half in halves {
            let pushed = new.push(half);
            let (read, write) = (trace.whole_read(id), trace.whole_write(id));
            if (read | write) >> 64 != 0 {
                new.set_high(pushed, (read >> 64) as u64, (write >> 64) as u64);
            }
            for dep in trace.dependencies(id) {
                if dep.how != Depends::Data || half.kind == OpKind::Store {
                    new.push_dependency(dep.how, *at - place[dep.on.index()]);
                }
            }
            *at += 1;
        }
    }
    for end in &trace.finals {
        let addr = new.addr_id(&trace.addr_names()[end.addr.index()]);
        new.finals.push(Final { addr, ..*end });
    }
    for init in &trace.inits {
        let addr = new.addr_id(&trace.addr_names()[init.addr.index()]);
        new.inits.push(Init { addr, ..*init });
    }
    new.resolve_recorded(&mut Default::default()).expect("as before");
    new
}

/// A planned operation: its kind, location, first byte, bytes, marks, and dependencies.
struct Plan {
    kind: OpKind,
    place: (usize, u32, u8),
    marks: Marks,
    mask: Mask,
    deps: Vec<(Depends, u32)>,
    read: u128,
    write: u128,
    done: bool,
}

/// A random trace of a machine that reorders more than any model lets it, sometimes; not yet resolved.
pub fn random(rng: &mut Rng, most: u32) -> Trace {
    let (threads, locations) = (rng.between(2, 3), rng.between(1, 2));
    let parts: Vec<(u32, u8)> = match rng.below(5) {
        0 => vec![(0, 1), (1, 1), (0, 2)],
        1 => vec![(0, 2), (2, 2), (0, 4)],
        2 => vec![(0, 1), (0, 4), (1, 2), (2, 2)],
        3 => vec![(0, 16), (8, 8), (0, 16), (6, 4), (3, 11)],
        _ => vec![(0, 4), (4, 4), (0, 8), (3, 2)],
    };
    let mut plans: Vec<Vec<Plan>> = (0..threads).map(|_| Vec::new()).collect();
    for _ in 0..rng.between(4, most) {
        let thread = &mut plans[rng.below(threads) as usize];
        plan(rng, thread, locations, &parts);
    }
    let mut memory: FxHashMap<(usize, u64), u8> = FxHashMap::default();
    let wild = rng.between(2, 12);
    while let Some(t) = some_thread(rng, &plans) {
        run_one(rng, &mut plans[t], &mut memory, wild);
    }
    let mut trace = Trace::new();
    trace.clear(1);
    let mut line = 0;
    for (t, thread) in plans.iter().enumerate() {
        let id = trace.thread_id(t as u32);
        for plan in thread {
            line += 1;
            push(&mut trace, id, plan, line);
        }
    }
    if rng.chance(1, 3) {
        let (location, &(offset, width)) = (rng.below(locations) as usize, rng.pick(&parts).expect("some"));
        let bytes = (0..u64::from(width)).map(|i| (location, u64::from(offset) + i));
        let value =
            bytes.enumerate().fold(0, |all, (i, at)| all | u128::from(*memory.get(&at).unwrap_or(&0)) << (8 * i));
        let addr = address(&mut trace, (location, offset, width));
        let name = trace.addr_names()[addr.index()].clone();
        trace.push_final(&name, value, line + 1);
    }
    trace
}

fn address(trace: &mut Trace, (location, offset, width): (usize, u32, u8)) -> AddrId {
    let of = AddrName::Named(["x", "y"][location].into());
    trace.part_id(&of, offset, width)
}

fn push(trace: &mut Trace, id: membar_core::ThreadId, plan: &Plan, line: u64) {
    let op = if plan.kind == OpKind::Fence && !plan.marks.meets(Marks::FAILED) {
        trace.push_fence(id, Some(plan.mask), line)
    } else {
        let addr = address(trace, plan.place);
        match plan.kind {
            OpKind::Load => trace.push_load(id, addr, plan.read as u64, line),
            OpKind::Store => trace.push_store(id, addr, plan.write as u64, line),
            OpKind::Rmw => trace.push_rmw(id, addr, plan.read as u64, plan.write as u64, line),
            _ => trace.push_failed(id, addr, line),
        }
    };
    if plan.place.2 > 8 {
        trace.set_high(op, (plan.read >> 64) as u64, (plan.write >> 64) as u64);
    }
    if !plan.marks.is_empty() {
        trace.set_marks(op, plan.marks);
    }
    for &(how, back) in &plan.deps {
        trace.push_dependency(how, back);
    }
}

fn plan(rng: &mut Rng, thread: &mut Vec<Plan>, locations: u32, parts: &[(u32, u8)]) {
    let mut place = || {
        let &(offset, width) = rng.pick(parts).expect("some");
        (rng.below(locations) as usize, offset, width)
    };
    let at = place();
    let open = thread.iter().rposition(|plan| plan.marks.meets(Marks::RESERVES.with(Marks::CONDITIONAL)));
    let open = open.filter(|&i| thread[i].marks.meets(Marks::RESERVES)).map(|i| thread[i].place);
    let mut new = Plan {
        kind: OpKind::Load,
        place: at,
        marks: Marks::NONE,
        mask: Mask::FULL,
        deps: Vec::new(),
        read: 0,
        write: 0,
        done: false,
    };
    match (rng.below(20), open) {
        (0..=6, _) => {}
        (12..=13, _) => new.kind = OpKind::Rmw,
        (14, _) => {
            new.kind = OpKind::Fence;
            new.mask = Mask::from_bits(rng.between(1, 15) as u8);
            new.marks = Marks::FENCE;
        }
        (15, _) => {
            new.kind = OpKind::Fence;
            (new.mask, new.marks) = (Mask::NONE, Marks::ISB);
        }
        (16, None) => new.marks = Marks::RESERVES,
        (17..=19, Some(place)) => {
            let fails = rng.chance(1, 5);
            new.kind = if fails { OpKind::Fence } else { OpKind::Store };
            new.place = place;
            new.marks = Marks::CONDITIONAL.with(if fails { Marks::FAILED } else { Marks::NONE });
            new.mask = Mask::NONE;
        }
        _ => new.kind = OpKind::Store,
    }
    if new.kind != OpKind::Fence && rng.chance(1, 6) {
        let mark = if new.kind == OpKind::Store { Marks::RELEASE } else { Marks::ACQUIRE };
        let both = Marks::ACQUIRE.with(Marks::RELEASE);
        new.marks = new.marks.with(if new.kind == OpKind::Rmw && rng.chance(1, 2) { both } else { mark });
    }
    let returns: Vec<usize> =
        (0..thread.len()).filter(|&i| thread[i].kind.reads() || thread[i].marks.meets(Marks::CONDITIONAL)).collect();
    let barrier = new.kind == OpKind::Fence && !new.marks.meets(Marks::ISB);
    if !barrier
        && rng.chance(1, 3)
        && let Some(&on) = rng.pick(&returns)
    {
        let how = match new.kind {
            OpKind::Store | OpKind::Rmw => Depends::ALL[rng.below(3) as usize],
            OpKind::Fence => Depends::Control,
            _ => [Depends::Address, Depends::Control][rng.below(2) as usize],
        };
        new.deps.push((how, (thread.len() - on) as u32));
    }
    thread.push(new);
}

fn some_thread(rng: &mut Rng, plans: &[Vec<Plan>]) -> Option<usize> {
    let open: Vec<usize> = (0..plans.len()).filter(|&t| plans[t].iter().any(|plan| !plan.done)).collect();
    rng.pick(&open).copied()
}

/// Executes one of the next operations of a thread.
fn run_one(rng: &mut Rng, thread: &mut [Plan], memory: &mut FxHashMap<(usize, u64), u8>, wild: u32) {
    let waiting: Vec<usize> = (0..thread.len()).filter(|&i| !thread[i].done).collect();
    let mut at = waiting[rng.below(waiting.len().min(3) as u32) as usize];
    let bytes = |plan: &Plan| {
        let (location, offset, width) = plan.place;
        (0..u64::from(width)).map(move |i| (location, u64::from(offset) + i))
    };
    let meets = |a: &Plan, b: &Plan| {
        a.kind != OpKind::Fence && b.kind != OpKind::Fence && bytes(a).any(|at| bytes(b).any(|other| other == at))
    };
    let blocked = |i: usize| {
        let writes = thread[i].kind != OpKind::Load;
        waiting.iter().any(|&j| j < i && writes && meets(&thread[i], &thread[j]))
    };
    if blocked(at) && !rng.chance(1, wild) {
        at = waiting[0];
    }
    let own: Vec<Option<u8>> = bytes(&thread[at])
        .map(|byte| {
            let store = waiting.iter().rev().find(|&&j| {
                j < at && thread[j].kind == OpKind::Store && bytes(&thread[j]).any(|other| other == byte)
            })?;
            let i = byte.1 - u64::from(thread[*store].place.1);
            Some((thread[*store].write >> (8 * i)) as u8)
        })
        .collect();
    let (places, plan) = (bytes(&thread[at]).collect::<Vec<_>>(), &mut thread[at]);
    for (i, byte) in places.iter().enumerate() {
        let here = *memory.get(byte).unwrap_or(&0);
        let seen = own[i].filter(|_| plan.kind == OpKind::Load).unwrap_or(here);
        plan.read |= u128::from(seen) << (8 * i);
    }
    if plan.kind.reads() && rng.chance(1, 5 * wild) {
        plan.read ^= 1 << (8 * rng.below(plan.place.2.into()));
    }
    if plan.kind == OpKind::Load {
        plan.write = 0;
    } else if plan.kind != OpKind::Fence {
        for (i, &byte) in places.iter().enumerate() {
            let value = rng.below(3) as u8;
            plan.write |= u128::from(value) << (8 * i);
            memory.insert(byte, value);
        }
    }
    plan.done = true;
}
