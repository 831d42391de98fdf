//! Executions of the models themselves, compared with the enumeration of all execution graphs from the axioms.
//!
//! Catches what no other test does: a graph that the search misses, or visits twice.

use membar_core::{Access, GraphModel, Performed, ProgramModel, Rng, WeakStep};
use membar_explore::{
    Awaited, Counts, End, Fault, GraphTask, Graphs, Next, Observer, Program, Step, Waiting, WeakExecution,
};
use membar_litmus::{Cell, Code, Interpreter, Limits as Steps, Model as Named, is_loop_free, outcomes};
use membar_testkit::graphs::{GaveUp, Limits, Model, count_awaiting, count_blocking};
use membar_testkit::litmus_tests;
use membar_testkit::random::{Knobs, random_program};
use membar_testkit::shorthand::{Counted, counted, litmus};
use membar_verify::{Races, Settings, verify};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const MODELS: [(GraphModel, Model); 4] = [
    (GraphModel::Sc, Model::SC),
    (GraphModel::Tso, Model::TSO),
    (GraphModel::Pso, Model::PSO),
    (GraphModel::C11, Model::Rc11),
];

/// Programs to compare: how many, and from which one on. `MEMBAR_ORACLE_PROGRAMS` and `MEMBAR_ORACLE_SEED` say otherwise.
fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let from = number("MEMBAR_ORACLE_SEED").unwrap_or(0);
    from..from + number("MEMBAR_ORACLE_PROGRAMS").unwrap_or(default)
}

/// Keeps all executions.
#[derive(Default)]
struct All {
    executions: Vec<Vec<WeakStep>>,
    sc: u64,
    deadlocks: u64,
}

impl Observer for All {
    type Part = ();

    fn push(&mut self, _: &Performed, _: &[Step]) {}
    fn pop(&mut self, _: &[Step]) {}
    fn tried(&mut self, _: usize, _: Access, _: &[Step]) {}
    fn end(&mut self, _: End, _: &[Step]) {}
    fn fault(&mut self, _: usize, _: Fault, _: &[Step]) {}
    fn take(&mut self, _: &[Step]) {}

    fn weak_end(&mut self, end: End, sc: bool, execution: &dyn WeakExecution) {
        assert_eq!(execution.missed().is_empty(), sc, "a cycle passes an access that is before another thread's write");
        match end {
            End::Complete => {
                self.executions.push(execution.steps());
                self.sc += u64::from(sc);
            }
            _ => self.deadlocks += 1,
        }
    }
}

/// An event: its thread, and its place there.
type Id = (u32, u32);

/// What makes an execution what it is: for each thread what its accesses read from, and for each address its writes in order.
type Shape = (Vec<Vec<Option<Id>>>, Vec<Vec<Id>>);

/// The shape of an execution, and its final state: all registers, and then all addresses.
fn shape(code: &Arc<Code>, steps: &[WeakStep]) -> (Shape, Vec<u64>) {
    let mut program = Interpreter::new(Arc::clone(code));
    let mut sources = vec![Vec::new(); program.threads()];
    let mut order: Vec<Vec<(Id, u64)>> = vec![Vec::new(); code.cells.len()];
    for step in steps {
        let thread = step.thread as usize;
        let Next::Access(access) = program.next(thread) else { panic!("{steps:?}") };
        let (addr, id) = (access.addr as usize, (step.thread, sources[thread].len() as u32));
        let at = order[addr].len() - step.behind as usize;
        let (source, value) = match at.checked_sub(1) {
            Some(before) => (Some(order[addr][before].0), order[addr][before].1),
            None => (None, code.cells[addr].init),
        };
        let performed = program.step_finding(thread, value, false);
        sources[thread].push(source.filter(|_| access.kind.reads()));
        if performed.writes {
            order[addr].insert(at, (id, performed.new));
        }
    }
    let mut state: Vec<u64> = (0..program.threads()).flat_map(|thread| program.registers(thread).to_vec()).collect();
    let last = |(cell, writes): (&Cell, &Vec<(Id, u64)>)| writes.last().map_or(cell.init, |&(_, value)| value);
    state.extend(code.cells.iter().zip(&order).map(last));
    let ids = |writes: Vec<(Id, u64)>| writes.into_iter().map(|(id, _)| id).collect();
    ((sources, order.into_iter().map(ids).collect()), state)
}

/// Runs everything in pieces of this many executions.
fn explore(code: &Arc<Code>, model: GraphModel, budget: u64) -> (All, Counts) {
    let program = Interpreter::new(Arc::clone(code));
    let mut search = Graphs::new(program, All::default(), model, false, 100);
    let (mut tasks, mut counts) = (vec![GraphTask::default()], Counts::default());
    while let Some(task) = tasks.pop() {
        let outcome = search.run(&task, budget, &AtomicBool::new(false));
        counts.add(&outcome.counts);
        tasks.extend(outcome.rest);
    }
    (search.into_parts().1, counts)
}

/// Compares one program under all models. Whether it was small enough, and under how many models it is not SC.
fn compare(code: Code, name: &str, loops: bool) -> Result<usize, GaveUp> {
    let code = Arc::new(code);
    let limits = Limits { graphs: 20_000, ..Limits::default() };
    let mut weaker = 0;
    for (model, oracle) in MODELS {
        let expected = count_awaiting(&code, oracle, &limits)?;
        let (all, counts) = explore(&code, model, u64::MAX);
        let found = all.executions.len();
        let (distinct, states): (HashSet<Shape>, BTreeSet<Vec<u64>>) =
            all.executions.iter().map(|steps| shape(&code, steps)).unzip();
        assert_eq!(distinct.len(), found, "{name}, {model:?}: each once\n{code:?}");
        assert_eq!(states, expected.states, "{name}, {model:?}: final states\n{code:?}");
        if loops {
            // Both leave out idle rounds, but need not agree where a round begins.
            assert!(found >= expected.complete, "{name}, {model:?}: graphs ({counts:?})\n{code:?}");
        } else {
            assert_eq!(found, expected.complete, "{name}, {model:?}: graphs ({counts:?})\n{code:?}");
            assert_eq!(all.sc as usize, expected.sc, "{name}, {model:?}: SC graphs\n{code:?}");
        }
        assert_eq!(counts.executions, found as u64 + all.deadlocks);
        // Robust programs are those of which all graphs are SC: the monitors know nothing of graphs.
        let machine = [ProgramModel::Tso, ProgramModel::Pso, ProgramModel::C11]
            .into_iter()
            .find(|&program| GraphModel::from(program) == model);
        if let Some(machine) = machine.filter(|_| !loops) {
            let settings = Settings { max_steps: 100, races: Races::Off, ..Settings::new(machine) };
            let robust = verify(&Interpreter::new(Arc::clone(&code)), settings).seen.violations.is_empty();
            assert_eq!(robust, counts.not_sc == 0, "{name}, {model:?}: robust?\n{code:?}");
        }
        weaker += usize::from(expected.sc < expected.complete);
        // The same in pieces.
        let (pieces, in_pieces) = explore(&code, model, 3);
        assert_eq!((pieces.executions.len(), in_pieces.executions), (found, counts.executions), "{name}, {model:?}");
    }
    Ok(weaker)
}

/// The programs of `corpus/litmus/graphs.tsv`, whose numbers of graphs come from elsewhere.
#[test]
fn counted_programs() {
    for Counted { threads, rc11, sc } in counted() {
        let code = Arc::new(litmus("counted", &threads, "x=0").code);
        for (model, expected) in [(GraphModel::Sc, sc), (GraphModel::C11, rc11)] {
            let (all, _) = explore(&code, model, u64::MAX);
            assert_eq!((all.executions.len(), all.sc as usize), (expected, sc), "{threads}, {model:?}");
        }
    }
}

/// The litmus tests of the corpus end as `membar-litmus` says; and robust ones are those of which all graphs are SC.
#[test]
fn oracle_corpus() {
    let named = [Named::Sc, Named::Tso, Named::Pso, Named::C11];
    let (mut compared, mut weak) = (0, 0);
    for folder in ["corpus/litmus", "corpus/native", "examples/litmus"] {
        for (name, test) in litmus_tests(folder) {
            let code = Arc::new(test.code.clone());
            for (&(model, _), named) in MODELS.iter().zip(named) {
                let expected = outcomes(&test, named, &Steps::default());
                if !expected.complete || expected.crash.is_some() {
                    continue;
                }
                let (all, counts) = explore(&code, model, u64::MAX);
                let last = |steps: &Vec<WeakStep>| {
                    let program = replayed(&code, steps);
                    let mut values = Vec::new();
                    let register = |thread: u32, reg: u16| program.registers(thread as usize)[usize::from(reg)];
                    let counts = test.holds(register, |cell| program.memory()[cell as usize], &mut values);
                    counts.map(|_| values[..test.shown].to_vec())
                };
                let states: BTreeSet<Vec<u64>> = all.executions.iter().filter_map(last).collect();
                assert_eq!(states, expected.states.into_iter().collect(), "{name}, {model:?}");
                compared += 1;
                weak += u64::from(counts.not_sc > 0);
                let program = [ProgramModel::Tso, ProgramModel::Pso, ProgramModel::C11]
                    .into_iter()
                    .find(|&program| GraphModel::from(program) == model);
                // In waiting loops a round that misses a write is a violation to the one, and nothing to the other.
                if let Some(program) = program.filter(|_| is_loop_free(&test)) {
                    let settings = Settings { races: Races::Off, ..Settings::new(program) };
                    let robust = verify(&Interpreter::new(Arc::clone(&code)), settings).seen.violations.is_empty();
                    assert_eq!(robust, counts.not_sc == 0, "{name}, {model:?}: robust?");
                }
            }
        }
    }
    assert!(compared > 150 && weak > 30, "{compared} compared, {weak} not SC");
}

/// The program after an execution, with memory as it is then.
fn replayed(code: &Arc<Code>, steps: &[WeakStep]) -> Interpreter {
    let mut program = Interpreter::new(Arc::clone(code));
    let mut order: Vec<Vec<u64>> = code.cells.iter().map(|cell| vec![cell.init]).collect();
    for step in steps {
        let Next::Access(access) = program.next(step.thread as usize) else { panic!("{steps:?}") };
        let values = &mut order[access.addr as usize];
        let at = values.len() - step.behind as usize;
        let performed = program.step_finding(step.thread as usize, values[at - 1], false);
        if performed.writes {
            values.insert(at, performed.new);
        }
        program.leave(access.addr, *values.last().expect("a value"));
    }
    program
}

#[test]
fn oracle_random_programs() {
    for knobs in [Knobs::LOOP_FREE, Knobs::C11, Knobs::ALL] {
        let (mut compared, mut weaker) = (0, 0);
        let (seeds, mut programs) = (seeds(30), 0);
        for seed in seeds {
            programs += 1;
            let code = random_program(&mut Rng::new(9_000_000 + seed), &knobs);
            if let Ok(weak) = compare(code, &format!("seed {seed}"), knobs.waits > 0) {
                compared += 1;
                weaker += weak as u64;
            }
        }
        eprintln!("{programs} programs, {compared} small enough, {weaker} times not SC");
        assert!(compared * 2 > programs && weaker * 10 > programs, "{compared} compared, {weaker} not SC");
    }
}

/// Fences that are not seq_cst take part in psc too: a pair with a fence is in po≠loc. This program has a graph which only
/// that rules out.
#[test]
fn regression_fences_have_no_location() {
    let code = random_program(&mut Rng::new(9_003_393), &Knobs::C11);
    assert!(matches!(compare(code, "fences", false), Ok(1..)));
}

/// A program of which some reads, by their instructions, are made only with certain values.
struct Blocking {
    program: Interpreter,
    awaited: Vec<Option<Awaited>>,
    salt: u64,
}

/// Whether and when an instruction blocks: its value, and whether that lets it be made.
fn condition(salt: u64, site: u32) -> Option<(u64, bool)> {
    match Rng::new(salt << 8 | u64::from(site)).below(8) {
        0 => Some((1, true)),
        1 => Some((2, true)),
        2 => Some((0, false)),
        3 => Some((1, false)),
        _ => None,
    }
}

impl Blocking {
    fn new(program: Interpreter, salt: u64) -> Blocking {
        let mut blocking = Blocking { awaited: vec![None; program.threads()], program, salt };
        (0..blocking.awaited.len()).for_each(|thread| blocking.look(thread));
        blocking
    }

    fn look(&mut self, thread: usize) {
        self.awaited[thread] = match self.program.next(thread) {
            Next::Access(access) if access.kind.reads() => {
                condition(self.salt, access.site).map(|(value, until)| Awaited { addr: access.addr, value, until })
            }
            _ => None,
        };
    }
}

impl Program for Blocking {
    fn threads(&self) -> usize {
        self.program.threads()
    }

    fn next(&self, thread: usize) -> Next {
        self.program.next(thread)
    }

    fn waiting(&self, thread: usize) -> Waiting<'_> {
        Waiting { round: self.awaited[thread].as_slice(), blocking: true, ..Waiting::default() }
    }

    fn value(&self, addr: u32) -> u64 {
        self.program.value(addr)
    }

    fn step(&mut self, thread: usize) -> Performed {
        let performed = self.program.step(thread);
        self.look(thread);
        performed
    }

    fn undo(&mut self) {
        self.program.undo();
        (0..self.awaited.len()).for_each(|thread| self.look(thread));
    }

    fn step_finding(&mut self, thread: usize, found: u64, dead: bool) -> Performed {
        let performed = self.program.step_finding(thread, found, dead);
        self.look(thread);
        performed
    }

    fn leave(&mut self, addr: u32, value: u64) {
        self.program.leave(addr, value);
    }

    fn state(&self, state: &mut Vec<u64>) {
        self.program.state(state);
    }

    fn fault(&self, thread: usize) -> Fault {
        self.program.fault(thread)
    }
}

/// Accesses that block, under all models: each graph once, deadlocks included.
#[test]
fn oracle_blocking_accesses() {
    let (mut compared, mut weaker, mut deadlocks) = (0, 0, 0);
    let (seeds, mut programs) = (seeds(100), 0);
    let limits = Limits { graphs: 20_000, ..Limits::default() };
    for seed in seeds {
        programs += 1;
        let knobs = if seed % 2 == 0 { Knobs::LOOP_FREE } else { Knobs::C11 };
        let code = Arc::new(random_program(&mut Rng::new(9_500_000 + seed), &knobs));
        let blocks =
            |site: u32, value: u64| condition(seed, site).is_some_and(|(other, until)| (value == other) != until);
        for (model, oracle) in MODELS {
            let Ok((expected, sc)) = count_blocking(&code, oracle, &limits, blocks) else { continue };
            let program = Blocking::new(Interpreter::new(Arc::clone(&code)), seed);
            let mut search = Graphs::new(program, All::default(), model, false, 100);
            let counts = search.run(&GraphTask::default(), u64::MAX, &AtomicBool::new(false)).counts;
            let all = search.into_parts().1;
            let distinct: HashSet<Shape> = all.executions.iter().map(|steps| shape(&code, steps).0).collect();
            assert_eq!(distinct.len(), all.executions.len(), "seed {seed}, {model:?}: each once\n{code:?}");
            let found = (counts.executions as usize, (counts.executions - counts.not_sc) as usize);
            assert_eq!(found, (expected, sc), "seed {seed}, {model:?}: graphs ({counts:?})\n{code:?}");
            compared += 1;
            weaker += u64::from(sc < expected);
            deadlocks += u64::from(all.deadlocks > 0);
        }
    }
    eprintln!("{programs} programs, {compared} comparisons, {weaker} times not SC, {deadlocks} with deadlocks");
    assert!(
        compared > 3 * programs && weaker * 4 > programs && deadlocks > programs,
        "{compared}, {weaker}, {deadlocks}"
    );
}
