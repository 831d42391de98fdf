//! Earlier operations of a thread that marks, dependencies or what was read put before a later one.
//!
//! Problem and algorithm: as [`crate::past`], for the entries' [`Condition`]s. One walk along a thread keeps what was gathered
//! ([`Join`]) by kind: all accesses, those marked acquire, those marked release, and those that an address behind them came
//! from; and per address the last store of the thread and the loads since then.
//!
//! A load that returned its own thread's store returned the last one to its address, or the value check refuses the order: so
//! one store per address is kept. The loads of an address are kept as those that returned what the last one returned, and
//! all others. Where a value comes back, some of the others returned it too, and need not come before the load; but they
//! are before one that returned something else, and that one is, so nothing is asked for that is not needed.

use crate::past::Join;
use membar_core::{AddrId, Condition, Conditions, Depends, Kind, Marks, Model, OpId, OpKind, Trace};

/// What the current thread did to an address; stale unless it is the current thread's.
#[derive(Clone, Copy, Default, Debug)]
struct Accesses {
    /// The thread, plus one.
    thread: u32,
    store: Option<OpId>,
    /// The load reserved of the store, if it is a store conditional.
    pair: Option<OpId>,
    /// Loads since the store: is there one, what the last returned, the loads that returned it too, and the others.
    loaded: bool,
    value: u64,
    same: u32,
    others: u32,
}

/// The walk's state.
#[derive(Default, Debug)]
pub(crate) struct Said {
    /// Per earlier and later access kind (load, store), the conditions.
    table: [[Conditions; 2]; 2],
    asked: bool,
    own: Vec<Accesses>,
    thread: u32,
    all: [u32; 2],
    acquires: [u32; 2],
    releases: [u32; 2],
    past: [u32; 2],
    /// What a branch or an address came from: before the last ISB, and since then.
    isb: [u32; 2],
    before_isb: [u32; 2],
    /// The pieces of the last load reserved, if no store conditional came since but, perhaps, this one.
    reserved: Vec<OpId>,
    conditional: Option<OpId>,
    /// The pieces of the first half of a split atomic.
    half: Vec<OpId>,
}

const KINDS: [Kind; 2] = [Kind::Load, Kind::Store];

/// The access kinds of an operation, as indices of the table.
fn kinds(kind: OpKind) -> impl Iterator<Item = usize> {
    (0..2).filter(move |&i| kind.kinds().has(KINDS[i]))
}

impl Said {
    /// Before the first thread. Does the model ask anything that the trace says?
    pub(crate) fn start(&mut self, trace: &Trace, model: &Model) -> bool {
        self.table = KINDS.map(|e| KINDS.map(|l| model.ppo.entry(e, l).also));
        self.asked = self.table.iter().flatten().any(|conditions| !conditions.is_empty());
        if self.asked {
            self.own.clear();
            self.own.resize(trace.addrs(), Accesses::default());
        }
        self.asked
    }

    /// Before a thread's first operation.
    pub(crate) fn enter(&mut self, thread: u32) {
        self.thread = thread + 1;
        [self.all, self.acquires, self.releases, self.past, self.isb, self.before_isb] = [[0; 2]; 6];
        self.reserved.clear();
        self.half.clear();
        self.conditional = None;
    }

    fn own(&mut self, addr: AddrId) -> &mut Accesses {
        let own = &mut self.own[addr.index()];
        if own.thread != self.thread {
            *own = Accesses { thread: self.thread, ..Accesses::default() };
        }
        own
    }

    /// Does the table have the condition for an operation of kind `e` (an index) and a later one?
    fn asks(&self, e: usize, later: OpKind, condition: Condition) -> bool {
        kinds(later).any(|l| self.table[e][l].has(condition))
    }

    /// The same for an earlier operation.
    fn asks_about(&self, earlier: OpKind, later: OpKind, condition: Condition) -> bool {
        kinds(earlier).any(|e| self.asks(e, later, condition))
    }

    /// Adds to `before` what comes before an access, and then the access to what is kept.
    pub(crate) fn access<J: Join>(&mut self, trace: &Trace, op: OpId, mut before: u32, join: &mut J) -> u32 {
        let (kind, marks, item) = (trace.kind(op), trace.marks(op), join.of(op));
        for e in 0..2 {
            let sets = [
                (Condition::EarlierAcquires, true, self.acquires[e]),
                (Condition::LaterReleases, marks.meets(Marks::RELEASE), self.all[e]),
                (Condition::ReleaseAcquire, marks.meets(Marks::ACQUIRE), self.releases[e]),
                (Condition::PastAddress, true, self.past[e]),
                (Condition::PastIsb, true, self.isb[e]),
            ];
            for (condition, fits, earlier) in sets {
                if fits && self.asks(e, kind, condition) {
                    before = join.join(before, earlier);
                }
            }
        }
        for dep in trace.dependencies(op) {
            let condition = match dep.how {
                Depends::Address => Condition::Address,
                Depends::Data => Condition::Data,
                Depends::Control => Condition::Control,
            };
            if self.asks_about(trace.kind(dep.on), kind, condition) {
                before = join.join(before, join.of(dep.on));
            }
        }
        if kind.reads() {
            before = self.read(trace, op, before, join);
        }
        let pair = self.pair(trace, op);
        if matches!(kind, OpKind::Store | OpKind::Rmw) {
            let own = self.own(trace.addr(op));
            *own = Accesses { thread: own.thread, store: Some(op), pair, ..Accesses::default() };
        }
        if kind.reads() {
            let own = self.own(trace.addr(op));
            if !own.loaded || own.value != trace.read(op) {
                own.others = join.join(own.others, own.same);
                (own.loaded, own.value, own.same) = (true, trace.read(op), 0);
            }
            own.same = join.join(own.same, item);
        }
        for k in kinds(kind) {
            self.all[k] = join.join(self.all[k], item);
            if marks.meets(Marks::ACQUIRE) || marks.meets(Marks::ACQUIRE_PC) {
                self.acquires[k] = join.join(self.acquires[k], item);
            }
            if marks.meets(Marks::RELEASE) {
                self.releases[k] = join.join(self.releases[k], item);
            }
        }
        self.addresses(trace, op, join);
        before
    }

    /// The load reserved of a store conditional; notes loads reserved.
    fn pair(&mut self, trace: &Trace, op: OpId) -> Option<OpId> {
        let marks = trace.marks(op);
        if self.conditional.is_some_and(|store| trace.group(store) != trace.group(op)) {
            self.conditional = None;
            self.reserved.clear();
        }
        let open = if marks.meets(Marks::HALF) { &mut self.half } else { &mut self.reserved };
        if marks.meets(Marks::RESERVES) {
            open.retain(|&load| trace.group(load) == trace.group(op));
            open.push(op);
        }
        if !marks.meets(Marks::CONDITIONAL) {
            return None;
        }
        let pair = open.iter().copied().find(|&load| trace.addr(load) == trace.addr(op));
        if !marks.meets(Marks::HALF) {
            self.conditional = Some(op);
        }
        pair
    }

    /// What a read's value says about earlier operations.
    fn read<J: Join>(&mut self, trace: &Trace, op: OpId, mut before: u32, join: &mut J) -> u32 {
        let (kind, value) = (trace.kind(op), trace.read(op));
        let own = *self.own(trace.addr(op));
        if self.table[0][0].has(Condition::AnotherStore) && own.loaded {
            before = join.join(before, own.others);
            if own.value != value {
                before = join.join(before, own.same);
            }
        }
        let Some(store) = own.store.filter(|&store| trace.write(store) == value) else { return before };
        let atomic = trace.kind(store) == OpKind::Rmw || trace.marks(store).meets(Marks::CONDITIONAL);
        if atomic && self.asks_about(trace.kind(store), kind, Condition::FromAtomic) {
            before = join.join(before, join.of(store));
        }
        let acquires = trace.marks(op).meets(Marks::ACQUIRE.with(Marks::ACQUIRE_PC));
        if let Some(load) = own.pair.filter(|_| acquires)
            && self.asks_about(trace.kind(load), kind, Condition::AcquireFromPair)
        {
            before = join.join(before, join.of(load));
        }
        for dep in trace.dependencies(store).iter().filter(|dep| dep.how != Depends::Control) {
            if self.asks_about(trace.kind(dep.on), kind, Condition::ThroughStore) {
                before = join.join(before, join.of(dep.on));
            }
        }
        before
    }

    /// Keeps what the address of an operation came from; of a store conditional that failed, too.
    pub(crate) fn addresses<J: Join>(&mut self, trace: &Trace, op: OpId, join: &mut J) {
        for dep in trace.dependencies(op).iter().filter(|dep| dep.how == Depends::Address) {
            for k in kinds(trace.kind(dep.on)) {
                self.past[k] = join.join(self.past[k], join.of(dep.on));
            }
        }
        for dep in trace.dependencies(op).iter().filter(|dep| dep.how != Depends::Data) {
            for k in kinds(trace.kind(dep.on)) {
                self.before_isb[k] = join.join(self.before_isb[k], join.of(dep.on));
            }
        }
        if trace.marks(op).meets(Marks::ISB) {
            for k in 0..2 {
                self.isb[k] = join.join(self.isb[k], self.before_isb[k]);
            }
        }
        if trace.marks(op).meets(Marks::FAILED) {
            self.reserved.clear();
        }
    }
}

/// Stores that have to follow another write directly, because their thread held a reservation.
#[derive(Default, Debug)]
pub(crate) struct Reserved {
    /// With the value that has to be there before, by id.
    held: Vec<(OpId, u64)>,
    /// Store conditionals that stored without a reservation.
    unreserved: Vec<OpId>,
}

impl Reserved {
    /// Pairs load reserveds and store conditionals. A reservation is kept while nothing but its own thread writes the
    /// address: each write of the thread since then finds the value that the one before it left.
    pub(crate) fn read(&mut self, trace: &Trace) {
        self.held.clear();
        self.unreserved.clear();
        if !trace.has_marks() {
            return;
        }
        for thread in (0..trace.threads() as u32).map(membar_core::ThreadId) {
            // Of each piece of the load reserved: the address, the value that its last writer left, and whether an atomic found
            // another one.
            let mut reserved: Vec<(AddrId, u64, bool)> = Vec::new();
            let mut since: Vec<(OpId, u64)> = Vec::new();
            let mut halves: Vec<(AddrId, u64)> = Vec::new();
            // The access that reserved, or the store conditional that ends it, whose pieces we are at.
            let mut at: Option<OpId> = None;
            for &op in trace.thread_ops(thread) {
                let (kind, marks, addr) = (trace.kind(op), trace.marks(op), trace.addr(op));
                let group = trace.group(op);
                let first = at != Some(group);
                if first && at.is_some_and(|at| self.ends(trace, at)) {
                    reserved.clear();
                    since.clear();
                    at = None;
                }
                let here = reserved.iter_mut().find(|(reserved, ..)| *reserved == addr);
                if marks.meets(Marks::HALF) {
                    // An atomic: its second half finds what its first half found.
                    if kind == OpKind::Load {
                        halves.retain(|&(other, _)| other != addr);
                        halves.push((addr, trace.read(op)));
                    } else {
                        let half = halves.iter().find(|(other, _)| *other == addr).map_or(0, |&(_, value)| value);
                        self.held.push((op, half));
                        if let Some((_, value, lost)) = here {
                            *lost |= half != *value;
                            *value = trace.write(op);
                        }
                    }
                } else if marks.meets(Marks::RESERVES) {
                    if first {
                        reserved.clear();
                        since.clear();
                    }
                    at = Some(group);
                    reserved.push((addr, trace.read(op), false));
                } else if marks.meets(Marks::FAILED) {
                    reserved.clear();
                } else if marks.meets(Marks::CONDITIONAL) {
                    at = Some(group);
                    match here {
                        Some((_, value, false)) => {
                            let value = *value;
                            self.held.extend(since.iter().filter(|(store, _)| trace.addr(*store) == addr));
                            self.held.push((op, value));
                        }
                        _ => self.unreserved.push(op),
                    }
                } else if let Some((_, value, lost)) = here
                    && matches!(kind, OpKind::Store | OpKind::Rmw)
                {
                    if kind == OpKind::Store {
                        since.push((op, *value));
                    }
                    *lost |= kind == OpKind::Rmw && trace.read(op) != *value;
                    *value = trace.write(op);
                }
            }
        }
        self.held.sort_unstable();
    }

    /// Is one of the pieces of the access with this first piece a store conditional?
    fn ends(&self, trace: &Trace, first: OpId) -> bool {
        let pieces = (first.0..trace.len() as u32).map(OpId).take_while(|&op| trace.group(op) == first);
        pieces.into_iter().any(|op| trace.marks(op).meets(Marks::CONDITIONAL) && !trace.marks(op).meets(Marks::HALF))
    }

    /// The value that a store has to find.
    pub(crate) fn finds(&self, op: OpId) -> Option<u64> {
        self.held.binary_search_by_key(&op, |&(store, _)| store).ok().map(|at| self.held[at].1)
    }

    /// Is it a store conditional that stored without a reservation?
    pub(crate) fn is_unreserved(&self, op: OpId) -> bool {
        self.unreserved.contains(&op)
    }

    /// A store conditional that stored without a reservation.
    pub(crate) fn unreserved(&self) -> Option<OpId> {
        self.unreserved.first().copied()
    }

    /// Is there a store that has to follow another write directly?
    pub(crate) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }
}
