//! The record of a program's run, and its trace.

use crate::program::{Bytes, Kind};
use crate::{Instr, Program};
use membar_core::{AddrId, AddrName, Final, Init, Malformed, Marks, OrderLine, ResolveScratch, Span, Trace};
use std::collections::BTreeSet;

/// The observations recorded besides the operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Observe {
    /// `order` lines: the order in which the writes of each address reached memory.
    pub write_order: bool,
    /// `final` lines: the contents of memory in the end.
    pub finals: bool,
}

/// The results of a run: a value for each instruction that reads, by the instruction's number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// The value that each load and atomic read.
    pub(crate) reads: Vec<u64>,
    /// Which compare-and-swaps wrote. Empty where the program has none.
    swapped: Vec<bool>,
    /// The executed instructions in the order in which a trace lists them: each thread's in program order. Nothing at
    /// all means that every thread executed everything.
    pub(crate) log: Vec<u32>,
    /// The final memory; empty where that is not known.
    pub(crate) finals: Vec<u64>,
    /// Addresses and values in the order in which they reached memory; empty where that is not known.
    pub(crate) commits: Vec<(u32, u64)>,
    /// For a machine that knows marks, dependencies, reservations and sizes: which conditional stores stored, by instruction. For
    /// others, to which a reserving load is a load and a conditional store a store, nothing.
    pub(crate) conditional: Option<Vec<bool>>,
    /// Are its barriers Arm's?
    pub(crate) arm: bool,
}

impl Record {
    /// The record of a run in which every instruction was executed. `reads` has an entry for each instruction of the
    /// program (any value where it reads nothing); missing ones count as 0, surplus ones are ignored.
    pub fn new(program: &Program, mut reads: Vec<u64>) -> Record {
        reads.resize(program.len(), 0);
        let mut record = Record::empty(program);
        for (i, read) in reads.into_iter().enumerate() {
            record.execute(program, i, read);
        }
        record
    }

    /// Adds what memory held in the end, by address.
    pub fn with_finals(self, finals: Vec<u64>) -> Record {
        Record { finals, ..self }
    }

    pub(crate) fn empty(program: &Program) -> Record {
        Record {
            reads: vec![0; program.len()],
            swapped: if program.expect.is_empty() { Vec::new() } else { vec![false; program.len()] },
            ..Record::default()
        }
    }

    /// The value an instruction read.
    pub fn read(&self, i: usize) -> u64 {
        self.reads[i]
    }

    /// Notes what an access read (ignored for a store) and says what it writes. Earlier accesses of its thread to its
    /// address have been noted before.
    #[inline]
    pub(crate) fn execute(&mut self, program: &Program, i: usize, read: u64) -> Option<u64> {
        let value = program.value[i];
        self.reads[i] = read;
        match program.kind[i] {
            Kind::Store | Kind::Exchange => Some(value),
            Kind::Add => Some(read.wrapping_add(value)),
            Kind::Cas => {
                let swaps = read == self.expected(program, i);
                self.swapped[i] = swaps;
                swaps.then_some(value)
            }
            _ => None,
        }
    }

    /// The value that a compare-and-swap compares with.
    fn expected(&self, program: &Program, i: usize) -> u64 {
        match program.expects(i) {
            Some(from) => self.written(program, from).unwrap_or(self.reads[from]),
            None => program.initial[program.addr[i] as usize],
        }
    }

    /// Is it a conditional store that did not store?
    fn failed(&self, program: &Program, i: usize) -> bool {
        self.conditional.as_ref().is_some_and(|stored| program.marks(i).meets(Marks::CONDITIONAL) && !stored[i])
    }

    /// The value that an executed instruction wrote.
    #[inline]
    pub fn written(&self, program: &Program, i: usize) -> Option<u64> {
        let knows = self.conditional.is_some();
        let value = if knows { program.bytes(i).low(program.value[i]) } else { program.value[i] };
        match program.kind[i] {
            Kind::Store if self.failed(program, i) => None,
            Kind::Store | Kind::Exchange => Some(value),
            Kind::Add => Some(self.reads[i].wrapping_add(value)),
            Kind::Cas => self.swapped[i].then_some(value),
            _ => None,
        }
    }
}

/// When each instruction was pending, by its number, in cycles of one clock.
///
/// An operation begins when it enters its core's window and ends when it leaves it. By its end a load has its value, an atomic is in
/// memory and a lock taken or given back; a store may still be on its way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// When it began.
    pub begin: Vec<u64>,
    /// When it ended.
    pub end: Vec<u64>,
}

impl Times {
    pub(crate) fn empty(program: &Program) -> Times {
        Times { begin: vec![0; program.len()], end: vec![0; program.len()] }
    }

    /// When this instruction was pending.
    pub fn span(&self, i: usize) -> Span {
        Span { begin: self.begin.get(i).copied(), end: self.end.get(i).copied() }
    }
}

/// The times seen by an observer who scans counters periodically: each time becomes that of the first scan at or after it.
///
/// Scanned times never claim more than exact ones: where one operation ends before another begins in scanned times, it did.
pub fn sampled(times: &Times, every: u64) -> Times {
    let every = every.max(1);
    let scan = |times: &[u64]| times.iter().map(|time| time.div_ceil(every).saturating_mul(every)).collect();
    Times { begin: scan(&times.begin), end: scan(&times.end) }
}

/// A program's run: its results and its exact times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// The results.
    pub record: Record,
    /// When each instruction was pending.
    pub times: Times,
}

/// The seed of the run of the program of a seed: the same program can be run in other ways with other seeds.
pub fn run_seed(seed: u64) -> u64 {
    membar_core::Rng::stream(seed, u64::MAX).next()
}

/// The trace of a run, resolved. Addresses are called `M[0]`, `M[1]`, …, locks `L0`, `L1`, …; a compare-and-swap that failed is
/// a load.
///
/// Fails if a machine lost an update in such a way that a value was written twice, which no correct machine does, or if the
/// program got stuck with locks held.
pub fn trace(program: &Program, record: &Record, times: Option<&Times>, observe: Observe) -> Result<Trace, Malformed> {
    let mut trace = unresolved(program, record, times, observe);
    trace.resolve(&mut ResolveScratch::default())?;
    Ok(trace)
}

/// The same, not resolved: for those who want to see what was recorded even where it makes no trace.
pub fn unresolved(program: &Program, record: &Record, times: Option<&Times>, observe: Observe) -> Trace {
    let mut trace = Trace::new();
    trace.clear(1);
    let mut thread_of = Threads { program, last: 0 };
    let everything = record.log.is_empty();
    let count = if everything { program.len() } else { record.log.len() };
    let locks: Vec<String> = (0..program.locks).map(|lock| format!("L{lock}")).collect();
    for at in 0..count {
        let i = if everything { at } else { record.log[at] as usize };
        if program.kind[i] == Kind::Delay {
            continue;
        }
        // Ids are given here, so that they are in the order of first appearance, as if read from text.
        let thread = trace.thread_id(thread_of.of(i));
        let (line, read) = (trace.len() as u64 + 1, record.reads[i]);
        let id = |trace: &mut Trace, addr: u32| match program.bytes(i) {
            // Other machines access whole cells.
            Bytes { offset, width } if record.conditional.is_some() && width < 8 => {
                trace.part_id(&AddrName::Memory(addr.into()), offset.into(), width)
            }
            _ => trace.memory_id(addr.into()),
        };
        let op = match program.instr(i) {
            Instr::Load { addr } => {
                let addr = id(&mut trace, addr);
                trace.push_load(thread, addr, read, line)
            }
            Instr::Store { addr, .. } if record.failed(program, i) => {
                let addr = id(&mut trace, addr);
                trace.push_failed(thread, addr, line)
            }
            Instr::Store { addr, value } => {
                let addr = id(&mut trace, addr);
                trace.push_store(thread, addr, record.written(program, i).unwrap_or(value), line)
            }
            Instr::Exchange { addr, .. } | Instr::Add { addr, .. } | Instr::Cas { addr, .. } => {
                let addr = id(&mut trace, addr);
                match record.written(program, i) {
                    Some(value) => trace.push_rmw(thread, addr, read, value, line),
                    None => trace.push_load(thread, addr, read, line),
                }
            }
            Instr::Fence { mask } => trace.push_fence(thread, mask, line),
            Instr::Acquire { lock } => {
                let lock = trace.lock_id(&locks[lock as usize]);
                trace.push_acquire(thread, lock, line)
            }
            Instr::Release { lock } => {
                let lock = trace.lock_id(&locks[lock as usize]);
                trace.push_release(thread, lock, line)
            }
            Instr::Delay { .. } => continue,
        };
        if let Some(times) = times {
            trace.set_span(op, times.span(i));
        }
        if record.conditional.is_some() {
            let marks = program.marks(i);
            if !marks.is_empty() && !record.failed(program, i) {
                trace.set_marks(op, marks);
            }
            if program.mask(i).is_some() {
                trace.set_marks(op, if record.arm { Marks::DMB } else { Marks::FENCE });
            }
            // Delays are no lines of a trace.
            let lines = |on: u32| (on as usize..i).filter(|&j| program.kind[j] != Kind::Delay).count() as u32;
            program.depends(i).iter().for_each(|dep| trace.push_dependency(dep.how, lines(dep.on)));
        }
    }
    add_lines(&mut trace, program, record, observe);
    trace
}

/// Finds the thread of an instruction; neighbours in a log are often of one thread.
struct Threads<'a> {
    program: &'a Program,
    last: usize,
}

impl Threads<'_> {
    fn of(&mut self, i: usize) -> u32 {
        let starts = &self.program.starts;
        if !(starts[self.last] as usize..starts[self.last + 1] as usize).contains(&i) {
            self.last = starts.partition_point(|&start| start as usize <= i) - 1;
        }
        self.last as u32
    }
}

/// Adds `init`, `final` and `order` lines for the addresses that the trace has.
fn add_lines(trace: &mut Trace, program: &Program, record: &Record, observe: Observe) {
    if program.has_parts() && record.conditional.is_some() {
        return add_cells(trace, program, record, observe);
    }
    let mut orders: Vec<Vec<u64>> = Vec::new();
    if observe.write_order {
        orders.resize(program.initial.len(), Vec::new());
        record.commits.iter().for_each(|&(addr, value)| orders[addr as usize].push(value));
    }
    let mut line = trace.len() as u64;
    for id in (0..trace.addrs() as u32).map(AddrId) {
        let AddrName::Memory(n) = trace.addr_names()[id.index()] else { continue };
        let n = n as usize;
        if program.initial[n] != 0 {
            line += 1;
            trace.inits.push(Init { addr: id, value: program.initial[n], line });
        }
        if let Some(&value) = record.finals.get(n).filter(|_| observe.finals) {
            line += 1;
            trace.finals.push(Final { addr: id, value, line });
        }
        if let Some(values) = orders.get_mut(n).filter(|values| !values.is_empty()) {
            line += 1;
            trace.orders.push(OrderLine { addr: id, values: std::mem::take(values), line });
        }
    }
}

/// The same where parts of cells are accessed: about whole cells, whose orders of writes no line can say.
fn add_cells(trace: &mut Trace, program: &Program, record: &Record, observe: Observe) {
    let cells: BTreeSet<u64> = trace
        .addr_names()
        .iter()
        .filter_map(|name| match name.bytes()?.0 {
            AddrName::Memory(n) => Some(*n),
            _ => None,
        })
        .collect();
    let mut line = trace.len() as u64;
    for n in cells {
        let name = AddrName::Memory(n);
        if program.initial[n as usize] != 0 {
            line += 1;
            trace.push_init(&name, program.initial[n as usize].into(), line);
        }
        if let Some(&value) = record.finals.get(n as usize).filter(|_| observe.finals) {
            line += 1;
            trace.push_final(&name, value.into(), line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProgramBuilder;
    use membar_core::OpKind;

    #[test]
    fn results_become_a_trace() {
        use Instr::*;
        let mut b = ProgramBuilder::new(2, 1);
        b.thread().push(Acquire { lock: 0 }).push(Store { addr: 0, value: 1 }).push(Cas { addr: 0, value: 2 });
        b.push(Cas { addr: 0, value: 3 }).push(Delay { cycles: 5 }).push(Release { lock: 0 });
        b.thread().push(Cas { addr: 0, value: 4 }).push(Add { addr: 1, by: 8 }).push(Instr::SYNC);
        let program = b.finish().unwrap();
        // The first compare-and-swap finds its thread's store, the second something else, the third the initial value.
        let record = Record::new(&program, vec![0, 0, 1, 9, 0, 0, 0, 0]);
        let times = Times { begin: (0..9).map(|i| 10 * i).collect(), end: (0..9).map(|i| 10 * i + 25).collect() };
        let trace = trace(&program, &record, Some(&sampled(&times, 20)), Observe::default()).unwrap();
        let kinds: Vec<OpKind> = trace.ops().map(|op| trace.kind(op)).collect();
        let expected = {
            use OpKind::*;
            [Acquire, Store, Rmw, Load, Release, Rmw, Rmw, Fence]
        };
        assert_eq!(kinds, expected);
        let writes: Vec<u64> = trace.ops().map(|op| trace.write(op)).collect();
        assert_eq!(writes, [0, 1, 2, 0, 0, 4, 8, 0]);
        assert_eq!(trace.span(membar_core::OpId(1)), Span { begin: Some(20), end: Some(40) });
        assert_eq!(trace.addr_names()[0].to_string(), "L0");
    }
}
