//! Checks a claimed execution of a program under RC11 that is not sequentially consistent.
//!
//! Problem: a verifier says that this program ([`Threads`]) has an execution under C11 that is not sequentially consistent. It gives
//! the accesses of an SC execution in their order, and one more access, with the write that it comes before although it is
//! made after it. Are these accesses of the program, is the graph consistent under RC11, and is it not SC?
//!
//! Algorithm:
//! 1. Run the accesses but the last: each reads what the last write to its address left, and its writes come last in modification order.
//!    The last access reads what was there before the write that it overtakes, and if it writes, then right before that.
//! 2. The graph: accesses and fences in program order (po), reads-from (rf), modification order (mo), each as a matrix of bits;
//!    fr = rf⁻¹;mo and eco = (rf ∪ mo ∪ fr)⁺. A read-modify-write is one event; a compare-exchange that fails is a read.
//! 3. rs = \[W\];(rf;\[RMW\])*, for atomic accesses; sw = \[≥rel\];(\[F\];po)?;rs;rf;\[R\];(po;\[F\])?;\[≥acq\]; hb = (po ∪ sw)⁺.
//! 4. RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing sequential consistency in C/C++11, PLDI 2017; release sequences of C++20):
//!    * coherence: hb;eco? is irreflexive;
//!    * atomicity: nothing is in mo between a read-modify-write and what it read;
//!    * no thin air: po ∪ rf is acyclic;
//!    * psc = (\[SC\] ∪ \[Fsc\];hb?);scb;(\[SC\] ∪ hb?;\[Fsc\]) ∪ \[Fsc\];(hb ∪ hb;eco;hb);\[Fsc\] is acyclic, where
//!      scb = po ∪ po≠loc;hb;po≠loc ∪ hb|loc ∪ mo ∪ fr. Fences have no location: po≠loc has every pair with a fence.
//! 5. It is not SC iff po ∪ rf ∪ mo ∪ fr has a cycle.
//!
//! Complexity: O(n³ / 64) for n accesses and fences; more than [`MOST`] are refused.
//!
//! Guarantees: shares no code with the monitors, the explorer or the oracle. Claims may be garbage and nothing panics, as long as the
//! program itself is well-formed.

use membar_core::{Access, AccessKind, C11, Claim, Fence, Order, Threads};
use std::fmt;

/// The most accesses and fences of a graph.
pub const MOST: usize = 4096;

/// Why the claim does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There are too many accesses, or none.
    Size,
    /// The program does not make this access there.
    Access {
        /// Which one.
        claim: usize,
    },
    /// What the last access overtakes is no write to its address, or nothing fits before it.
    Place,
    /// The graph violates this axiom of RC11.
    Inconsistent(Axiom),
    /// The graph is sequentially consistent.
    Sc,
}

/// An axiom of RC11.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axiom {
    /// hb;eco? is irreflexive.
    Coherence,
    /// Nothing comes between a read-modify-write and what it read.
    Atomicity,
    /// po ∪ rf is acyclic.
    NoThinAir,
    /// psc is acyclic.
    Sc,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Size => write!(f, "there are more than {MOST} accesses, or none"),
            Refusal::Access { claim } => write!(f, "access {claim} is not one that the program makes there"),
            Refusal::Place => write!(f, "the last access does not fit before the write it is to come before"),
            Refusal::Inconsistent(axiom) => write!(f, "RC11 forbids it: {axiom:?}"),
            Refusal::Sc => write!(f, "it is sequentially consistent"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Whether these are accesses of the program, which is at its beginning, the last of them right before the write `before` (an index of the
/// claims) to its address, and whether that is an execution under RC11 and not under SC.
pub fn confirms(program: &mut impl Threads, claims: &[Claim], before: usize) -> Result<(), Refusal> {
    let graph = Graph::run(program, claims, before)?;
    graph.consistent()?;
    let mut order = graph.po.clone();
    for more in [&graph.rf, &graph.mo, &graph.fr] {
        order.join(more);
    }
    if order.closed().is_irreflexive() { Err(Refusal::Sc) } else { Ok(()) }
}

/// A relation between events, a bit for each pair.
#[derive(Clone)]
struct Matrix {
    size: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Matrix {
    fn new(size: usize) -> Matrix {
        let words = size.div_ceil(64);
        Matrix { size, words, bits: vec![0; size * words] }
    }

    fn identity(size: usize) -> Matrix {
        let mut all = Matrix::new(size);
        (0..size).for_each(|i| all.set(i, i));
        all
    }

    fn set(&mut self, from: usize, to: usize) {
        self.bits[from * self.words + to / 64] |= 1 << (to % 64);
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 != 0
    }

    fn row(&self, from: usize) -> &[u64] {
        &self.bits[from * self.words..][..self.words]
    }

    fn join_row(&mut self, into: usize, row: &[u64]) {
        self.bits[into * self.words..][..self.words].iter_mut().zip(row).for_each(|(into, from)| *into |= from);
    }

    fn join(&mut self, other: &Matrix) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(into, from)| *into |= from);
    }

    /// Only the pairs of which this is true.
    fn only(&self, wanted: impl Fn(usize, usize) -> bool) -> Matrix {
        let mut some = Matrix::new(self.size);
        for from in 0..self.size {
            self.each(from, |to| {
                if wanted(from, to) {
                    some.set(from, to);
                }
            });
        }
        some
    }

    fn each(&self, from: usize, mut work: impl FnMut(usize)) {
        for (word, &bits) in self.row(from).iter().enumerate() {
            let mut left = bits;
            while left != 0 {
                work(64 * word + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }

    /// This one, and then the other.
    fn then(&self, next: &Matrix) -> Matrix {
        let mut both = Matrix::new(self.size);
        for from in 0..self.size {
            self.each(from, |to| both.join_row(from, next.row(to)));
        }
        both
    }

    /// Its transitive closure.
    fn closed(mut self) -> Matrix {
        for via in 0..self.size {
            let row = self.row(via).to_vec();
            for from in 0..self.size {
                if self.has(from, via) {
                    self.join_row(from, &row);
                }
            }
        }
        self
    }

    /// It or nothing.
    fn or_same(&self) -> Matrix {
        let mut all = Matrix::identity(self.size);
        all.join(self);
        all
    }

    fn is_irreflexive(&self) -> bool {
        (0..self.size).all(|i| !self.has(i, i))
    }
}

/// An access or a fence.
#[derive(Clone, Copy)]
struct Event {
    thread: u32,
    /// None is a fence.
    addr: Option<u32>,
    reads: bool,
    writes: bool,
    /// Of a fence: the order that it has.
    order: Order,
}

impl Event {
    fn is_fence(&self) -> bool {
        self.addr.is_none()
    }

    fn is_sc(&self) -> bool {
        self.order == Order::SeqCst
    }
}

struct Graph {
    events: Vec<Event>,
    po: Matrix,
    rf: Matrix,
    mo: Matrix,
    fr: Matrix,
}

/// A write to an address: the event, and the value it left.
type Written = (usize, u64);

/// A graph while it is made.
#[derive(Default)]
struct Run {
    events: Vec<Event>,
    /// Reads and what they read; none is the initial value.
    sources: Vec<(usize, Option<usize>)>,
    /// Of each address its writes in modification order, and its initial value.
    orders: Vec<(u64, Vec<Written>)>,
}

impl Run {
    fn order(&mut self, addr: u32, initial: u64) -> &mut (u64, Vec<Written>) {
        let at = addr as usize;
        while self.orders.len() <= at {
            self.orders.push((0, Vec::new()));
        }
        let order = &mut self.orders[at];
        if order.1.is_empty() {
            order.0 = initial;
        }
        order
    }

    /// The thread makes the access, after its fences: it reads this write and value, and leaves what it wrote at this place.
    fn add(&mut self, thread: u32, access: &Access, read: (Option<usize>, u64), wrote: Option<u64>, place: usize) {
        for fence in access.c11.fence().parts() {
            let order = match fence {
                Fence::Acquire => Order::Acquire,
                Fence::Release => Order::Release,
                Fence::SeqCst => Order::SeqCst,
                _ => Order::AcqRel,
            };
            self.events.push(Event { thread, addr: None, reads: false, writes: false, order });
        }
        let reads = access.kind != AccessKind::Store;
        let order = order(access.kind, access.c11, read.1, wrote);
        let event = self.events.len();
        self.events.push(Event { thread, addr: Some(access.addr), reads, writes: wrote.is_some(), order });
        if reads {
            self.sources.push((event, read.0));
        }
        if let Some(value) = wrote {
            self.orders[access.addr as usize].1.insert(place, (event, value));
        }
    }
}

/// The order that an access had. One on a synchronisation object that changed nothing has failed.
fn order(kind: AccessKind, c11: C11, read: u64, wrote: Option<u64>) -> Order {
    let failed = wrote.is_none() || c11.is_fresh() && wrote == Some(read);
    if kind == AccessKind::Rmw && failed { c11.failure() } else { c11.order() }
}

impl Graph {
    fn run(program: &mut impl Threads, claims: &[Claim], before: usize) -> Result<Graph, Refusal> {
        let Some((last, sc)) = claims.split_last() else { return Err(Refusal::Size) };
        if claims.len() > MOST {
            return Err(Refusal::Size);
        }
        let mut run = Run::default();
        // Of each claim the event, and where the value that was there before it came from.
        let mut made: Vec<(usize, Option<usize>, u64)> = Vec::new();
        for (claim, wanted) in sc.iter().enumerate() {
            let refused = Refusal::Access { claim };
            let access = next(program, wanted).ok_or(refused)?;
            let initial = program.value(access.addr);
            let (initial, order) = run.order(access.addr, initial);
            let (source, mut value) = order.last().map_or((None, *initial), |&(event, value)| (Some(event), value));
            let place = order.len();
            if let Some(outcomes) = access.outcomes() {
                value = wanted.read.filter(|&read| read < outcomes).ok_or(refused)?;
            }
            if access.kind != AccessKind::Store && wanted.read != Some(value) {
                return Err(refused);
            }
            let wrote = program.perform(wanted.thread as usize, value);
            if let Some(value) = wrote {
                program.set(access.addr, value);
            }
            run.add(wanted.thread, &access, (source, value), wrote, place);
            made.push((run.events.len() - 1, source, value));
        }
        let refused = Refusal::Access { claim: sc.len() };
        let access = next(program, last).ok_or(refused)?;
        let &(overtaken, source, value) = made.get(before).ok_or(Refusal::Place)?;
        let (_, order) = run.orders.get(access.addr as usize).ok_or(Refusal::Place)?;
        let place = order.iter().position(|&(event, _)| event == overtaken).ok_or(Refusal::Place)?;
        if access.outcomes().is_some() || access.c11.is_fresh() {
            return Err(Refusal::Place);
        }
        if access.kind != AccessKind::Store && last.read != Some(value) {
            return Err(refused);
        }
        let wrote = program.perform(last.thread as usize, value);
        run.add(last.thread, &access, (source, value), wrote, place);
        Ok(Graph::new(run))
    }

    fn new(run: Run) -> Graph {
        let Run { events, sources, orders } = run;
        let n = events.len();
        let (mut po, mut rf, mut mo, mut fr) = (Matrix::new(n), Matrix::new(n), Matrix::new(n), Matrix::new(n));
        for (i, event) in events.iter().enumerate() {
            (i + 1..n).filter(|&j| events[j].thread == event.thread).for_each(|j| po.set(i, j));
        }
        for (_, order) in &orders {
            for (i, &(one, _)) in order.iter().enumerate() {
                order[i + 1..].iter().for_each(|&(other, _)| mo.set(one, other));
            }
        }
        for &(read, source) in &sources {
            if let Some(source) = source {
                rf.set(source, read);
            }
            let addr = events[read].addr.map_or(0, |addr| addr as usize);
            let order = orders.get(addr).map_or(&[][..], |(_, order)| order);
            let after = source.and_then(|source| order.iter().position(|&(event, _)| event == source));
            let later = &order[after.map_or(0, |at| at + 1)..];
            later.iter().filter(|&&(write, _)| write != read).for_each(|&(write, _)| fr.set(read, write));
        }
        Graph { events, po, rf, mo, fr }
    }

    fn happens_before(&self) -> Matrix {
        let (n, event) = (self.events.len(), |i: usize| &self.events[i]);
        let is_rmw = |i: usize| event(i).reads && event(i).writes;
        let atomic = |i: usize| event(i).order.is_atomic();
        // A release sequence goes on with read-modify-writes.
        let chain = self.rf.only(|from, to| is_rmw(to) && atomic(from) && atomic(to)).closed().or_same();
        let read = chain.then(&self.rf.only(|from, to| atomic(from) && atomic(to)));
        let mut sw = Matrix::new(n);
        for write in (0..n).filter(|&i| event(i).writes && atomic(i)) {
            let mut from = vec![];
            if event(write).order.releases() {
                from.push(write);
            }
            let fence = |i: &usize| event(*i).is_fence() && event(*i).order.releases() && self.po.has(*i, write);
            from.extend((0..n).filter(fence));
            read.each(write, |reader| {
                let mut to = vec![];
                if event(reader).order.acquires() {
                    to.push(reader);
                }
                let fence = |i: &usize| event(*i).is_fence() && event(*i).order.acquires() && self.po.has(reader, *i);
                to.extend((0..n).filter(fence));
                from.iter().for_each(|&from| to.iter().for_each(|&to| sw.set(from, to)));
            });
        }
        sw.join(&self.po);
        sw.closed()
    }

    fn consistent(&self) -> Result<(), Refusal> {
        let Graph { events, po, rf, mo, fr } = self;
        let event = |i: usize| &events[i];
        let same = |i: usize, j: usize| event(i).addr.is_some() && event(i).addr == event(j).addr;
        let mut causes = po.clone();
        causes.join(rf);
        if !causes.closed().is_irreflexive() {
            return Err(Refusal::Inconsistent(Axiom::NoThinAir));
        }
        // Something between a read-modify-write and its source: fr leads to it, and mo from it.
        if !fr.then(mo).is_irreflexive() {
            return Err(Refusal::Inconsistent(Axiom::Atomicity));
        }
        let hb = self.happens_before();
        let mut eco = rf.clone();
        eco.join(mo);
        eco.join(fr);
        let eco = eco.closed();
        if !hb.is_irreflexive() || !hb.then(&eco).is_irreflexive() {
            return Err(Refusal::Inconsistent(Axiom::Coherence));
        }
        let apart = po.only(|i, j| !same(i, j));
        let mut scb = apart.then(&hb).then(&apart);
        for more in [po, &hb.only(same), mo, fr] {
            scb.join(more);
        }
        let n = events.len();
        let is_sc_fence = |i: usize| event(i).is_fence() && event(i).is_sc();
        let sc = Matrix::identity(n).only(|i, _| event(i).is_sc());
        let hb_or_same = hb.or_same();
        let mut left = hb_or_same.only(|i, _| is_sc_fence(i));
        left.join(&sc);
        let mut right = hb_or_same.only(|_, j| is_sc_fence(j));
        right.join(&sc);
        let mut psc = left.then(&scb).then(&right);
        let mut fences = hb.then(&eco).then(&hb);
        fences.join(&hb);
        psc.join(&fences.only(|i, j| is_sc_fence(i) && is_sc_fence(j)));
        if psc.closed().is_irreflexive() { Ok(()) } else { Err(Refusal::Inconsistent(Axiom::Sc)) }
    }
}

/// The thread's next access, if it is the one that is claimed.
fn next(program: &mut impl Threads, claim: &Claim) -> Option<Access> {
    if claim.thread as usize >= program.threads() {
        return None;
    }
    program.next(claim.thread as usize).ok().filter(|access| access.site == claim.site)
}
