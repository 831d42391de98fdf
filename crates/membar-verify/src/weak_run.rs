//! From an execution of a memory model to a run that people can follow.
//!
//! # Problem
//!
//! An execution is a list of accesses, some of which are behind others ([`WeakStep`]): it says what each access reads and in which
//! order writes reach memory, but not how a machine does that. Under TSO and PSO: which steps of a machine with store
//! buffers give this execution, with no store in a buffer for longer than it has to be? Under C11 there is no machine: which
//! write does each access miss?
//!
//! # Algorithm
//!
//! * *Relations*: the list gives rf and co. With ppo and rfe as in `membar-monitor/src/class.rs`, ppo ∪ rfe ∪ co ∪ fr is acyclic
//!   if the model has the execution. An order of all accesses along it says when loads and interlocked operations are made and
//!   when stores reach memory.
//! * *Order*: an access is *ready* if everything before it in that relation has its place.
//!   1. While there is a ready access that is the first of its thread without a place, it is next. Of several, those come first
//!      that a store in a buffer waits for, and otherwise the first in the list.
//!   2. Otherwise a store has to be delayed. The accesses before a ready one in its thread that have no place are stores, and are in
//!      the buffer if it is next. Those that the relation leads to from it have to be in any case. The ready access is next that puts the fewest
//!      others into the buffer, then the fewest at all, then the one with the fewest there; of several the first in the list.
//! * *Run*: each access is issued at its place, after those before it in its thread; a store is committed at its place.
//!
//! Where accesses have some bytes of an address in common and not others, all this is by bytes: the list says which writes to the address
//! were in memory, and a read has a byte from its own thread's last store that was not, else from the last one that was.
//!
//! Under SC and C11 the run has the accesses in the order of the list, and each is seen where it is made.
//!
//! # Invariants
//!
//! The accesses that have a place are closed under the relation.
//!
//! # Guarantees
//!
//! Running the steps on the machine gives the same reads-from and the same order of writes; tests do, with the certifier's
//! machine. Step 1 delays nothing, and taking a first access early never makes another wait: so a sequentially consistent execution has
//! no delayed store, and a store is delayed only where every order of what is left delays one. Which of them is chosen need not be best.
//!
//! # Complexity
//!
//! O((n + e) log n) for n accesses with e edges, and O(n + e) for each delayed store and access that could be next then; ppo has O(n · s) edges for runs of s stores.

use crate::explain::RunStep;
use membar_core::{Access, AccessKind, Barrier, GraphModel, MachineStep, Performed, Relaxation, WeakStep};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::ops::Range;

/// A run of an execution. Accesses are numbered as in the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WeakRun {
    /// The steps: accesses are made and, on a machine with store buffers, stores reach memory.
    pub run: Vec<RunStep>,
    /// What each access reads: the write, or `None` for the initial value and for stores. If it has bytes from several, the last of them.
    pub sources: Vec<Option<usize>>,
    /// For each access the first write in co that it comes before though another thread made that one earlier in the run: on a
    /// machine it was still in the buffer. A read misses its value.
    pub misses: Vec<Option<usize>>,
    /// The stores that others see later than their own thread, in the order in which they are made.
    pub delays: Vec<Delay>,
}

/// A store that waits in a buffer while its thread continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delay {
    /// The store.
    pub store: usize,
    /// The step of the run that makes it.
    pub issued: usize,
    /// The step of the run in which it reaches memory.
    pub committed: usize,
}

impl WeakRun {
    /// The steps of the machine, to be run again by somebody else.
    pub fn machine_steps(&self, made: &[Performed]) -> Vec<MachineStep> {
        let step = |step: &RunStep| match *step {
            RunStep::Issue(i) if made[i].access.outcomes().is_some() => {
                MachineStep::Choose(made[i].thread, made[i].old)
            }
            RunStep::Issue(i) => MachineStep::Issue(made[i].thread),
            RunStep::Commit(i) => MachineStep::Commit(made[i].thread, made[i].access.addr, made[i].access.part),
        };
        self.run.iter().map(step).collect()
    }

    /// The delayed stores that are in buffers right after this step of the run, oldest first.
    pub fn buffered(&self, step: usize) -> impl Iterator<Item = usize> + '_ {
        let waits = move |delay: &&Delay| (delay.issued..delay.committed).contains(&step);
        self.delays.iter().filter(waits).map(|delay| delay.store)
    }
}

/// A run of an execution that the model allows: its steps, and the accesses that they make. `None` if the model forbids it as far as
/// that can be seen here, or if a step is behind more writes than there are.
pub fn weak_run(model: GraphModel, steps: &[WeakStep], made: &[Performed]) -> Option<WeakRun> {
    let relations = Relations::new(steps, made)?;
    let mut run: Vec<RunStep> = Vec::new();
    let mut delays = Vec::new();
    let mut misses = relations.misses.clone();
    match model.machine() {
        None => {
            for (i, performed) in made.iter().enumerate() {
                run.push(RunStep::Issue(i));
                run.extend((performed.access.kind == AccessKind::Store).then_some(RunStep::Commit(i)));
            }
        }
        Some(machine) => {
            let order = Order::new(made, relations.edges(machine, made)).all()?;
            let mut own = per_thread(made);
            own.values_mut().for_each(|own| own.reverse());
            let mut issued = vec![0; made.len()];
            for i in order {
                // Everything that its thread does before it is made first.
                while let Some(next) = own.get_mut(&made[i].thread)?.pop_if(|next| *next <= i) {
                    issued[next] = run.len();
                    run.push(RunStep::Issue(next));
                }
                if made[i].access.kind == AccessKind::Store {
                    if issued[i] + 1 < run.len() {
                        delays.push(Delay { store: i, issued: issued[i], committed: run.len() });
                    }
                    run.push(RunStep::Commit(i));
                }
            }
            delays.sort_unstable_by_key(|delay| delay.issued);
            misses = relations.missed(made, &delays, &issued);
        }
    }
    let sources = (0..made.len()).map(|i| relations.read(made, i)).collect();
    Some(WeakRun { run, sources, misses, delays })
}

/// The accesses of each thread in program order.
fn per_thread(made: &[Performed]) -> FxHashMap<u32, Vec<usize>> {
    let mut own: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (i, performed) in made.iter().enumerate() {
        own.entry(performed.thread).or_default().push(i);
    }
    own
}

struct Relations {
    /// For each access that reads, or is behind others: the last write to its address that was in memory then.
    sources: Vec<Option<usize>>,
    misses: Vec<Option<usize>>,
    /// For each address its writes in co, and for each write its place there, from 1.
    orders: FxHashMap<u32, Vec<usize>>,
    place: Vec<usize>,
    /// The addresses whose bytes are told apart.
    parted: FxHashSet<u32>,
}

impl Relations {
    fn new(steps: &[WeakStep], made: &[Performed]) -> Option<Relations> {
        let mut orders: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        let (mut sources, mut misses) = (Vec::new(), Vec::new());
        for (i, performed) in made.iter().enumerate() {
            let order = orders.entry(performed.access.addr).or_default();
            let place = order.len().checked_sub(steps.get(i)?.behind as usize)?;
            let source = place.checked_sub(1).map(|last| order[last]);
            sources.push(source.filter(|_| performed.access.kind.reads()));
            misses.push(order.get(place).copied());
            if performed.writes {
                order.insert(place, i);
            }
        }
        let mut place = vec![0; made.len()];
        for (at, &write) in orders.values().flat_map(|order| order.iter().enumerate()) {
            place[write] = at + 1;
        }
        let parts = made.iter().map(|performed| performed.access).filter(|access| access.part != 0);
        let parted = parts.map(|access| access.addr).collect();
        Some(Relations { sources, misses, orders, place, parted })
    }

    /// What an access has to be looked at for: each of its bytes, or all of them as one.
    fn lanes(&self, access: &Access) -> Range<u8> {
        if self.parted.contains(&access.addr) { access.bytes() } else { 0..1 }
    }

    /// The write that a read has a byte from: one of its own thread that was not in memory yet, or the last one there.
    fn source(&self, made: &[Performed], i: usize, lane: u8) -> Option<usize> {
        let access = &made[i].access;
        if !self.parted.contains(&access.addr) {
            return self.sources[i];
        }
        let (there, later) =
            self.orders.get(&access.addr)?.split_at(self.sources[i].map_or(0, |last| self.place[last]));
        let has = |write: &&usize| made[**write].access.bytes().contains(&lane);
        let own = |write: &&usize| has(write) && **write < i && made[**write].thread == made[i].thread;
        later.iter().rev().find(own).or_else(|| there.iter().rev().find(has)).copied()
    }

    /// The write that a read reads: of those that it has bytes from, the last.
    fn read(&self, made: &[Performed], i: usize) -> Option<usize> {
        let sources = self.lanes(&made[i].access).filter_map(|lane| self.source(made, i, lane));
        let reads = made[i].access.kind.reads();
        if reads { sources.max_by_key(|&source| self.place[source]) } else { None }
    }

    /// The first write to a byte after this one, or after the initial value.
    fn next(&self, made: &[Performed], addr: u32, after: Option<usize>, lane: u8) -> Option<usize> {
        let later = &self.orders.get(&addr)?[after.map_or(0, |after| self.place[after])..];
        later.iter().find(|&&write| self.lanes(&made[write].access).contains(&lane)).copied()
    }

    /// For each access the delayed store of another thread that it comes before, if that was made earlier.
    fn missed(&self, made: &[Performed], delays: &[Delay], issued: &[usize]) -> Vec<Option<usize>> {
        let missed = |i: usize| {
            // A write is where it is; a read is right after what it read.
            let own = |lane| match made[i].writes {
                true => self.place[i],
                false if made[i].access.kind.reads() => self.source(made, i, lane).map_or(0, |from| self.place[from]),
                false => 0,
            };
            let misses = |delay: &&Delay| {
                let store = &made[delay.store];
                let other = store.access.addr == made[i].access.addr && store.thread != made[i].thread;
                let later = |lane| self.lanes(&store.access).contains(&lane) && own(lane) < self.place[delay.store];
                other && delay.issued < issued[i] && self.lanes(&made[i].access).any(later)
            };
            delays.iter().filter(misses).map(|delay| delay.store).min_by_key(|&store| self.place[store])
        };
        (0..made.len()).map(missed).collect()
    }

    /// ppo ∪ rfe ∪ co ∪ fr, or edges with the same closure.
    fn edges(&self, machine: Relaxation, made: &[Performed]) -> Vec<(usize, usize)> {
        let kind = |i: usize| made[i].access.kind;
        let mut edges = Vec::new();
        for own in per_thread(made).values() {
            for (at, &i) in own.iter().enumerate() {
                let mut barrier = Barrier::None;
                for &j in &own[at + 1..] {
                    barrier = barrier.max(made[j].access.barrier);
                    if keeps(machine, &made[i], barrier, &made[j]) {
                        edges.push((i, j));
                        // Loads and interlocked operations are before all that follows.
                        if kind(j) != AccessKind::Store {
                            break;
                        }
                    }
                }
            }
        }
        for (i, performed) in made.iter().enumerate() {
            let addr = performed.access.addr;
            for lane in self.lanes(&performed.access) {
                if performed.writes {
                    edges.extend(self.next(made, addr, Some(i), lane).map(|next| (i, next)));
                }
                if !performed.access.kind.reads() {
                    continue;
                }
                let source = self.source(made, i, lane);
                if let Some(source) = source {
                    let interlocked = kind(source) == AccessKind::Rmw || kind(i) == AccessKind::Rmw;
                    if interlocked || made[source].thread != performed.thread {
                        edges.push((source, i));
                    }
                }
                let overwrites = self.next(made, addr, source, lane);
                edges.extend(overwrites.filter(|&write| write != i).map(|write| (i, write)));
            }
        }
        edges
    }
}

/// ppo, for two accesses of a thread with this as the strongest barrier between them.
fn keeps(machine: Relaxation, one: &Performed, barrier: Barrier, other: &Performed) -> bool {
    if one.access.kind != AccessKind::Store || barrier == Barrier::Full {
        return true;
    }
    let same = one.access.addr == other.access.addr && one.access.overlaps(&other.access);
    let stays = machine == Relaxation::Tso || same || barrier == Barrier::Store;
    other.access.kind != AccessKind::Load && stays
}

/// The order of all accesses while it is made.
struct Order<'m> {
    made: &'m [Performed],
    after: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// For each access how many before it have no place.
    left: Vec<usize>,
    placed: Vec<bool>,
    /// The accesses of each thread, and how many of them at its beginning have a place.
    own: FxHashMap<u32, (Vec<usize>, usize)>,
    /// Ready ones: those that are the first of their thread, the needed ones before others; and the rest.
    first: BTreeSet<(bool, usize)>,
    other: BTreeSet<usize>,
    /// A store in a buffer waits for it.
    needed: Vec<bool>,
    /// It is in a buffer, or was.
    buffered: Vec<bool>,
}

impl<'m> Order<'m> {
    fn new(made: &'m [Performed], edges: Vec<(usize, usize)>) -> Order<'m> {
        let n = made.len();
        let (mut after, mut before, mut left) = (vec![Vec::new(); n], vec![Vec::new(); n], vec![0; n]);
        for (i, j) in edges {
            after[i].push(j);
            before[j].push(i);
            left[j] += 1;
        }
        let own = per_thread(made).into_iter().map(|(thread, own)| (thread, (own, 0))).collect();
        let (first, other) = (BTreeSet::new(), BTreeSet::new());
        let (placed, needed, buffered) = (vec![false; n], vec![false; n], vec![false; n]);
        Order { made, after, before, left, placed, own, first, other, needed, buffered }
    }

    /// All accesses; `None` if the relation has a cycle.
    fn all(mut self) -> Option<Vec<usize>> {
        for i in 0..self.made.len() {
            if self.left[i] == 0 {
                self.ready(i);
            }
        }
        let mut order = Vec::with_capacity(self.made.len());
        while order.len() < self.made.len() {
            let next = match self.first.first() {
                Some(&(_, i)) => i,
                None => self.delaying()?,
            };
            self.place(next);
            order.push(next);
        }
        Some(order)
    }

    /// The first access of its thread without a place.
    fn front(&self, thread: u32) -> Option<usize> {
        let (own, from) = &self.own[&thread];
        own.get(*from).copied()
    }

    fn ready(&mut self, i: usize) {
        if self.front(self.made[i].thread) == Some(i) {
            self.first.insert((!self.needed[i], i));
        } else {
            self.other.insert(i);
        }
    }

    /// The ready access that the fewest of its thread's have to wait for. They are in the buffer then.
    fn delaying(&mut self) -> Option<usize> {
        let waiting = |&i: &usize| {
            let (own, from) = &self.own[&self.made[i].thread];
            let stores = || own[*from..].iter().take_while(|&&j| j < i).filter(|&&j| !self.placed[j]);
            let new = stores().filter(|&&j| !self.buffered[j]).count();
            (stores().filter(|&&j| !self.buffered[j] && !self.leads(i, j)).count(), new, stores().count())
        };
        let chosen = self.other.iter().copied().min_by_key(waiting)?;
        let (own, from) = &self.own[&self.made[chosen].thread];
        let mut open: Vec<usize> = own[*from..].iter().copied().take_while(|&j| j < chosen).collect();
        open.iter().for_each(|&i| self.buffered[i] = true);
        while let Some(i) = open.pop() {
            if !self.placed[i] && !self.needed[i] {
                self.needed[i] = true;
                if self.first.remove(&(true, i)) {
                    self.first.insert((false, i));
                }
                open.extend(&self.before[i]);
            }
        }
        Some(chosen)
    }

    /// Whether the relation leads from a ready access to this one.
    fn leads(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.made.len()];
        let mut open = vec![to];
        while let Some(i) = open.pop() {
            if i == from {
                return true;
            }
            if !self.placed[i] && !std::mem::replace(&mut seen[i], true) {
                open.extend(&self.before[i]);
            }
        }
        false
    }

    fn place(&mut self, i: usize) {
        self.placed[i] = true;
        self.first.remove(&(!self.needed[i], i));
        self.other.remove(&i);
        if let Some((own, from)) = self.own.get_mut(&self.made[i].thread) {
            while own.get(*from).is_some_and(|&j| self.placed[j]) {
                *from += 1;
            }
        }
        if let Some(front) = self.front(self.made[i].thread)
            && self.other.remove(&front)
        {
            self.first.insert((!self.needed[front], front));
        }
        for j in std::mem::take(&mut self.after[i]) {
            self.left[j] -= 1;
            if self.left[j] == 0 {
                self.ready(j);
            }
        }
    }
}
