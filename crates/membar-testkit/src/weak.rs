//! Executions of a program as lists of steps that may be behind others ([`WeakStep`]): all of them, and random ones.
//!
//! Problem: compare different answers to which executions a model allows ([`membar_core::GraphModel`]).
//! Which lists of steps does a program have, and which execution graphs do they give, each once?
//!
//! Algorithm: every thread's next access is tried behind every number of writes. A list whose graph is not allowed is dropped: the
//! models are prefix-closed. So is one whose graph was there before: the sources of all reads and the order of all writes
//! determine it.
//!
//! Complexity: exponential; ten accesses have some thousand graphs.

use membar_core::{Rng, WeakStep};
use membar_litmus::{Code, Condition, Int, LitmusTest, Location, Prop, Quantifier, Settled, Spot};
use rustc_hash::FxHashSet;

/// A write or a read: number `index` of `thread`.
type Id = (u32, u32);

/// An execution, as far as it has come.
#[derive(Clone)]
pub struct Weak<'c> {
    code: &'c Code,
    threads: Vec<Thread>,
    /// For each address its writes in co, with their values.
    orders: Vec<Vec<(Id, u64)>>,
    /// The steps that led here.
    pub steps: Vec<WeakStep>,
}

#[derive(Clone)]
struct Thread {
    pc: u32,
    regs: Vec<u64>,
    next: Settled,
    /// What each access read from, `None` for the initial value and for stores.
    sources: Vec<Option<Id>>,
}

impl<'c> Weak<'c> {
    /// The program at its beginning.
    pub fn new(code: &'c Code) -> Weak<'c> {
        let thread = |t: usize| {
            let (mut pc, mut regs) = (0, code.threads[t].regs.clone());
            let next = code.settle(t, &mut pc, &mut regs, |_, _| {});
            Thread { pc, regs, next, sources: Vec::new() }
        };
        let threads = (0..code.threads.len()).map(thread).collect();
        Weak { code, threads, orders: vec![Vec::new(); code.cells.len()], steps: Vec::new() }
    }

    /// How many writes the thread's next access could be behind, if it makes one.
    pub fn writes(&self, t: usize) -> Option<u32> {
        match self.threads[t].next {
            Settled::Request(request) => Some(self.orders[request.access.addr as usize].len() as u32),
            _ => None,
        }
    }

    /// Whether every thread has run to its end.
    pub fn is_done(&self) -> bool {
        self.threads.iter().all(|thread| thread.next == Settled::Done)
    }

    /// The thread makes its next access, which it has, behind this many writes, which there are.
    pub fn step(&mut self, t: usize, behind: u32) {
        let thread = &mut self.threads[t];
        let Settled::Request(request) = thread.next else { panic!("thread {t} has no access to make") };
        let order = &mut self.orders[request.access.addr as usize];
        let place = order.len() - behind as usize;
        let source = place.checked_sub(1).map(|last| order[last]);
        let read = source.map_or(self.code.cells[request.access.addr as usize].init, |(_, value)| value);
        if let Some(value) = request.written(read) {
            order.insert(place, ((t as u32, thread.sources.len() as u32), value));
        }
        thread.sources.push(source.map(|(id, _)| id).filter(|_| request.access.kind.reads()));
        self.code.complete(t, &mut thread.pc, &mut thread.regs, read);
        thread.next = self.code.settle(t, &mut thread.pc, &mut thread.regs, |_, _| {});
        self.steps.push(WeakStep { behind, ..WeakStep::of(t as u32) });
    }

    /// The sources of all reads, thread by thread.
    pub fn sources(&self) -> Vec<Vec<Option<(u32, u32)>>> {
        self.threads.iter().map(|thread| thread.sources.clone()).collect()
    }

    /// The writes of each address in co.
    pub fn orders(&self) -> Vec<Vec<(u32, u32)>> {
        self.orders.iter().map(|order| order.iter().map(|&(id, _)| id).collect()).collect()
    }

    /// The values of all registers, thread by thread, and then of all addresses.
    pub fn state(&self) -> Vec<u64> {
        let memory = self.orders.iter().zip(&self.code.cells);
        let memory = memory.map(|(order, cell)| order.last().map_or(cell.init, |&(_, value)| value));
        self.threads.iter().flat_map(|thread| thread.regs.iter().copied()).chain(memory).collect()
    }
}

/// The executions in which all threads have run to their ends, one list of steps for each graph, if all of them and of their
/// beginnings are at most this many graphs. `allows` says whether the model has the execution.
pub fn executions<'c>(
    code: &'c Code,
    most: usize,
    mut allows: impl FnMut(&[WeakStep]) -> bool,
) -> Option<Vec<Weak<'c>>> {
    let mut seen = FxHashSet::default();
    let (mut open, mut done) = (vec![Weak::new(code)], Vec::new());
    while let Some(weak) = open.pop() {
        if !seen.insert((weak.sources(), weak.orders())) || !allows(&weak.steps) {
            continue;
        }
        if seen.len() > most {
            return None;
        }
        for t in 0..code.threads.len() {
            for behind in weak.writes(t).map_or(0..0, |writes| 0..writes + 1) {
                let mut next = weak.clone();
                next.step(t, behind);
                open.push(next);
            }
        }
        if weak.is_done() {
            done.push(weak);
        }
    }
    Some(done)
}

/// A random execution of at most this many steps, allowed by some model or not. Few steps are behind others.
pub fn random<'c>(code: &'c Code, rng: &mut Rng, most: usize) -> Weak<'c> {
    let mut weak = Weak::new(code);
    for _ in 0..most {
        let able: Vec<usize> = (0..code.threads.len()).filter(|&t| weak.writes(t).is_some()).collect();
        let Some(&t) = rng.pick(&able) else { break };
        let writes = weak.writes(t).unwrap_or(0);
        let behind = if rng.chance(1, 4) { rng.below(writes + 1) } else { 0 };
        weak.step(t, behind);
    }
    weak
}

/// The program as a test that shows all registers, thread by thread, and then all addresses.
pub fn shown(code: &Code) -> LitmusTest {
    let ty = Int { bits: 64, signed: false };
    let mut locations = Vec::new();
    for (thread, registers) in (0..).zip(&code.threads) {
        let register = |reg| Location { name: format!("{thread}:r{reg}"), spot: Spot::Reg { thread, reg }, ty };
        locations.extend((0..registers.regs.len() as u16).map(register));
    }
    let cell =
        |(at, cell): (u32, &membar_litmus::Cell)| Location { name: cell.name.to_string(), spot: Spot::Cell(at), ty };
    locations.extend((0..).zip(&code.cells).map(cell));
    LitmusTest {
        name: "shown".into(),
        arch: membar_litmus::Arch::C,
        doc: None,
        meta: Vec::new(),
        code: code.clone(),
        shown: locations.len(),
        locations,
        filter: None,
        condition: Condition { quantifier: Quantifier::Exists, prop: Prop::And(Vec::new()) },
        relaxed: None,
    }
}
