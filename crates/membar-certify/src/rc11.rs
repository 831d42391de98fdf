//! Checks a claimed execution of a program under RC11 that is not sequentially consistent.
//!
//! Problem: a verifier says that this program ([`Threads`]) has an execution under C11 that is not sequentially consistent. It gives
//! the accesses of an SC execution in their order, and one more access, with the write that it comes before although it is
//! made after it. Are these accesses of the program, is the graph consistent under RC11, and is it not SC?
//!
//! Algorithm:
//! 1. Run the accesses but the last: each reads what the last write to its address left, and its writes come last in modification order.
//!    The last access reads what was there before the write that it overtakes, and if it writes, then right before that. That is an
//!    execution of which one step is behind others, see [`weak`](crate::weak).
//! 2. The graph: accesses and fences in program order (po), reads-from (rf), modification order (mo, elsewhere co), each as a matrix of bits;
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

pub use crate::axioms::Axiom;

use crate::execution::{Event as Id, Made, Trace};
use crate::matrix::Matrix;
use crate::weak::{Cause, Run};
use membar_core::{AccessKind, Claim, Fence, Order, Threads};
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

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Size => write!(f, "there are more than {MOST} accesses, or none"),
            Refusal::Access { claim } => write!(f, "access {claim} is not one that the program makes there"),
            Refusal::Place => write!(f, "the last access does not fit before the write it is to come before"),
            Refusal::Inconsistent(axiom) => write!(f, "RC11 forbids it: {axiom}"),
            Refusal::Sc => write!(f, "it is sequentially consistent"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Whether these are accesses of the program, which is at its beginning, the last of them right before the write `before` (an index of the
/// claims) to its address, and whether that is an execution under RC11 and not under SC.
pub fn confirms(program: &mut impl Threads, claims: &[Claim], before: usize) -> Result<(), Refusal> {
    let trace = run(program, claims, before)?;
    check(&trace).ok_or(Refusal::Size)?.map_err(Refusal::Inconsistent)?;
    if trace.cycle().is_some() { Ok(()) } else { Err(Refusal::Sc) }
}

fn run(program: &mut impl Threads, claims: &[Claim], before: usize) -> Result<Trace, Refusal> {
    let Some((last, sc)) = claims.split_last() else { return Err(Refusal::Size) };
    if claims.len() > MOST {
        return Err(Refusal::Size);
    }
    let mut run = Run::new(program);
    let mut made = Vec::new();
    for (claim, wanted) in sc.iter().enumerate() {
        let event = run.step(wanted.thread, 0, |access| access.outcomes().and(wanted.read));
        let event = event.ok().filter(|&event| is_claimed(&run.trace, event, wanted));
        made.push(event.ok_or(Refusal::Access { claim })?);
    }
    let &overtaken = made.get(before).ok_or(Refusal::Place)?;
    let addr = run.trace.get(overtaken).map_or(0, |made| made.access.addr);
    let place = run.trace.place(addr, overtaken).ok_or(Refusal::Place)?;
    let behind = (run.trace.order[addr as usize].len() - place) as u32;
    let refused = Refusal::Access { claim: sc.len() };
    let event = run.step(last.thread, behind, |_| None).map_err(|cause| match cause {
        Cause::Behind { .. } | Cause::Parts { .. } | Cause::Choice { .. } => Refusal::Place,
        _ => refused,
    })?;
    let access = run.trace.get(event).map(|made| made.access);
    if access.is_none_or(|access| access.addr != addr || access.c11.is_fresh()) {
        return Err(Refusal::Place);
    }
    if is_claimed(&run.trace, event, last) { Ok(run.trace) } else { Err(refused) }
}

fn is_claimed(trace: &Trace, event: Id, claim: &Claim) -> bool {
    let is =
        |made: &Made| made.access.site == claim.site && made.value_read().is_none_or(|read| claim.read == Some(read));
    trace.get(event).is_some_and(is)
}

/// Whether RC11 allows the execution; `None` if it has more than [`MOST`] accesses and fences.
pub(crate) fn check(trace: &Trace) -> Option<Result<(), Axiom>> {
    let fences = |made: &Made| made.access.c11.fence().parts().len();
    let events: usize = trace.threads.iter().flatten().map(|made| 1 + fences(made)).sum();
    (events <= MOST).then(|| Graph::new(trace).consistent())
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

/// The order that an access had. One on a synchronisation object that changed nothing has failed.
fn order(made: &Made) -> Order {
    let (read, c11) = (made.read.map(|read| read.value), made.access.c11);
    let failed = made.wrote.is_none() || c11.is_fresh() && made.wrote == read;
    if made.access.kind == AccessKind::Rmw && failed { c11.failure() } else { c11.order() }
}

impl Graph {
    fn new(trace: &Trace) -> Graph {
        let mut events = Vec::new();
        // Of each thread the numbers of its accesses.
        let mut numbers: Vec<Vec<usize>> = Vec::new();
        for (thread, accesses) in (0..).zip(&trace.threads) {
            let mut own = Vec::new();
            for made in accesses {
                for fence in made.access.c11.fence().parts() {
                    let order = match fence {
                        Fence::Acquire => Order::Acquire,
                        Fence::Release => Order::Release,
                        Fence::SeqCst => Order::SeqCst,
                        _ => Order::AcqRel,
                    };
                    events.push(Event { thread, addr: None, reads: false, writes: false, order });
                }
                own.push(events.len());
                let (reads, writes) = (made.read.is_some(), made.wrote.is_some());
                events.push(Event { thread, addr: Some(made.access.addr), reads, writes, order: order(made) });
            }
            numbers.push(own);
        }
        let n = events.len();
        let number = |id: Id| numbers[id.thread as usize][id.index as usize];
        let (mut po, mut rf, mut mo, mut fr) = (Matrix::new(n), Matrix::new(n), Matrix::new(n), Matrix::new(n));
        for (i, event) in events.iter().enumerate() {
            (i + 1..n).filter(|&j| events[j].thread == event.thread).for_each(|j| po.set(i, j));
        }
        for order in &trace.order {
            for (i, &one) in order.iter().enumerate() {
                order[i + 1..].iter().for_each(|&other| mo.set(number(one), number(other)));
            }
        }
        for (made, read) in trace.threads.iter().flatten().zip(numbers.iter().flatten()) {
            let Some(found) = made.read else { continue };
            if let Some(source) = found.source {
                rf.set(number(source), *read);
            }
            let order = trace.order.get(made.access.addr as usize).map_or(&[][..], |order| order);
            let after = found.source.and_then(|source| trace.place(made.access.addr, source));
            let later = &order[after.map_or(0, |at| at + 1)..];
            later
                .iter()
                .map(|&write| number(write))
                .filter(|write| write != read)
                .for_each(|write| fr.set(*read, write));
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

    fn consistent(&self) -> Result<(), Axiom> {
        let Graph { events, po, rf, mo, fr } = self;
        let event = |i: usize| &events[i];
        let same = |i: usize, j: usize| event(i).addr.is_some() && event(i).addr == event(j).addr;
        let mut causes = po.clone();
        causes.join(rf);
        if !causes.closed().is_irreflexive() {
            return Err(Axiom::NoThinAir);
        }
        // Something between a read-modify-write and its source: fr leads to it, and mo from it.
        if !fr.then(mo).is_irreflexive() {
            return Err(Axiom::Atomicity);
        }
        let hb = self.happens_before();
        let mut eco = rf.clone();
        eco.join(mo);
        eco.join(fr);
        let eco = eco.closed();
        if !hb.is_irreflexive() || !hb.then(&eco).is_irreflexive() {
            return Err(Axiom::Coherence);
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
        if psc.closed().is_irreflexive() { Ok(()) } else { Err(Axiom::Sc) }
    }
}
