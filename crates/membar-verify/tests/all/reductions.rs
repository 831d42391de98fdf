//! Each reduction of the search against exploration without it, on random programs with waiting loops, retry loops, locks
//! and threads that are alike: the same verdicts, errors, deadlocks and violations, but for those that `tree.rs` excludes.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-verify --test all reductions::` compares more of them;
//! `MEMBAR_ORACLE_SEED` says which is the first.

use membar_core::{Performed, ProgramModel, Relaxation, Rng};
use membar_explore::{Fault, Next, Program, Strategy, Waiting};
use membar_litmus::{Code, Interpreter};
use membar_testkit::programs::{self, Limits, Memory};
use membar_testkit::random::{Knobs, random_program};
use membar_verify::{Checkpoint, Effort, ErrorKind, Found, Settings, Verdict, Verification, Watching, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|n| n.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// A program of which threads with the same code are explored up to renaming.
#[derive(Clone)]
struct Twins {
    program: Interpreter,
    before: Vec<Option<usize>>,
}

impl Twins {
    fn new(code: &Arc<Code>) -> Twins {
        let same = |thread: usize| (0..thread).rev().find(|&other| code.threads[other] == code.threads[thread]);
        Twins { program: Interpreter::new(Arc::clone(code)), before: (0..code.threads.len()).map(same).collect() }
    }
}

impl Program for Twins {
    fn threads(&self) -> usize {
        self.program.threads()
    }

    fn next(&self, thread: usize) -> Next {
        self.program.next(thread)
    }

    fn waiting(&self, thread: usize) -> Waiting<'_> {
        self.program.waiting(thread)
    }

    fn is_symmetric(&self) -> bool {
        true
    }

    fn twin(&self, thread: usize) -> Option<usize> {
        self.before[thread]
    }

    fn tell_apart(&mut self, thread: usize) {
        panic!("thread {thread} has a twin that does something else");
    }

    fn value(&self, addr: u32) -> u64 {
        self.program.value(addr)
    }

    fn step(&mut self, thread: usize) -> Performed {
        self.program.step(thread)
    }

    fn undo(&mut self) {
        self.program.undo();
    }

    fn state(&self, state: &mut Vec<u64>) {
        self.program.state(state);
    }

    fn fault(&self, thread: usize) -> Fault {
        self.program.fault(thread)
    }
}

/// A program, some of whose threads have the same code, instruction by instruction.
fn with_copies(mut code: Code, rng: &mut Rng) -> Code {
    let copied = rng.below(code.threads.len() as u32) as usize;
    for _ in 0..1 + u32::from(code.threads.len() < 3 && rng.chance(1, 3)) {
        code.threads.push(code.threads[copied].clone());
    }
    let places = code.threads.len() as u32;
    code.threads.rotate_left(rng.below(places) as usize);
    code
}

type Pairs<'a> = BTreeMap<(u32, u32), &'a Found>;

fn pairs(checkpoint: &Checkpoint) -> Pairs<'_> {
    checkpoint.seen.violations.iter().map(|found| ((found.store_site, found.access_site), found)).collect()
}

/// Errors, whatever the numbers of threads that have the same code.
fn errors(checkpoint: &Checkpoint, code: &Code) -> BTreeSet<String> {
    let first = |thread: u32| {
        let text = &code.threads[thread as usize];
        code.threads.iter().position(|other| other == text).unwrap_or(0)
    };
    let name = |kind: &ErrorKind| match kind {
        ErrorKind::Deadlock { threads } => {
            let mut threads: Vec<usize> = threads.iter().map(|&thread| first(thread)).collect();
            threads.sort_unstable();
            format!("deadlock of {threads:?}")
        }
        ErrorKind::Fault { thread, why } => format!("{why:?} in {}", first(*thread)),
        other => format!("{other:?}"),
    };
    checkpoint.seen.errors.iter().map(|error| name(&error.kind)).collect()
}

/// Whether a thread continues, in this violation, after a round of a loop that changes nothing: what `tree.rs` excludes.
fn goes_on_after_idle_round(code: &Arc<Code>, found: &Found) -> bool {
    let mut program = Interpreter::new(Arc::clone(code));
    found.schedule.0.iter().any(|step| {
        let waiting = program.waiting(step.thread());
        let idle = !waiting.round.is_empty() && !waiting.blocking;
        program.step(step.thread());
        idle
    }) || found.tried && !program.waiting(found.thread as usize).round.is_empty()
}

fn settings(model: ProgramModel, strategy: Strategy) -> Settings {
    Settings { strategy, watching: Watching::Class, max_steps: 100, ..Settings::new(model) }
}

/// Verifies a program, unless it has more executions than this.
fn up_to(program: &Interpreter, settings: Settings, max_executions: u64) -> Checkpoint {
    let effort = Effort { max_executions, ..Effort::default() };
    let mut verification = Verification::local(Checkpoint::new(settings), program.clone(), effort);
    while !verification.is_done() && !verification.is_out_of_executions() {
        verification.advance(&AtomicBool::new(false));
    }
    verification.checkpoint()
}

/// How many programs were compared, and what they were like.
#[derive(Debug, Default)]
struct Tally {
    programs: u64,
    unsafe_ones: u64,
    deadlocks: u64,
    fewer: u64,
    renamed: u64,
    excluded: u64,
    exhaustive: u64,
    by_machine: u64,
}

fn compare(code: &Arc<Code>, model: ProgramModel, seed: u64, tally: &mut Tally) {
    let what = || format!("seed {seed} {model:?}\n{code:#?}");
    let program = Interpreter::new(Arc::clone(code));
    let limited = |strategy| up_to(&program, settings(model, strategy), 20_000);
    let strict = limited(Strategy::Strict);
    if !strict.is_complete() || strict.counts().cut > 0 {
        return;
    }
    let reduced = limited(Strategy::Dpor);
    let twins = verify(&Twins::new(code), settings(model, Strategy::Dpor));
    assert!(reduced.is_complete() && twins.is_complete(), "{}", what());
    let all = pairs(&strict);

    for (less, how) in [(&reduced, "idle rounds"), (&twins, "idle rounds and twins")] {
        assert_eq!(less.verdict(), strict.verdict(), "{how}: verdict, {}", what());
        assert_eq!(errors(less, code), errors(&strict, code), "{how}: errors, {}", what());
        let found = pairs(less);
        assert!(found.keys().all(|pair| all.contains_key(pair)), "{how}: {found:?} not in {all:?}, {}", what());
        for (pair, missing) in all.iter().filter(|(pair, _)| !found.contains_key(pair)) {
            assert!(goes_on_after_idle_round(code, missing), "{how}: {pair:?} is missing, {}", what());
            tally.excluded += 1;
        }
    }
    assert_eq!(pairs(&twins).keys().collect::<Vec<_>>(), pairs(&reduced).keys().collect::<Vec<_>>(), "{}", what());

    // Those that choose interleavings find nothing that is not there, and all of it if they run them all.
    let every = limited(Strategy::Exhaustive);
    let complete = every.is_complete() && every.counts().cut == 0;
    if complete {
        assert_eq!(every.verdict(), strict.verdict(), "exhaustive, {}", what());
        assert_eq!(errors(&every, code), errors(&strict, code), "exhaustive, {}", what());
        let unbounded = limited(Strategy::Bounded { preemptions: u32::MAX });
        assert_eq!(
            pairs(&unbounded).keys().collect::<Vec<_>>(),
            pairs(&every).keys().collect::<Vec<_>>(),
            "{}",
            what()
        );
        assert_eq!(errors(&unbounded, code), errors(&every, code), "bounded, {}", what());
        for strategy in [
            Strategy::Bounded { preemptions: 1 },
            Strategy::Random { executions: 50, seed },
            Strategy::Pct { executions: 50, seed, depth: 3 },
        ] {
            let some = verify(&program, settings(model, strategy));
            assert!(errors(&some, code).is_subset(&errors(&every, code)), "{strategy:?}, {}", what());
            let known = pairs(&every);
            assert!(pairs(&some).keys().all(|pair| known.contains_key(pair)), "{strategy:?}, {}", what());
        }
        tally.exhaustive += 1;
    }

    // The machine itself, by brute force.
    let limits = Limits { max_accesses: 8, max_configurations: 10_000, ..Limits::default() };
    if let Some(machine) = model.machine()
        && let Some(truth) = programs::search(code, Memory::from(machine), &limits)
    {
        assert!(truth.violation.is_none() || !pairs(&twins).is_empty(), "missed {:?}, {}", truth.violation, what());
        assert!(truth.cut || truth.violation.is_some() || pairs(&twins).is_empty(), "nothing to find, {}", what());
        tally.by_machine += u64::from(!truth.cut);
    }

    tally.programs += 1;
    tally.unsafe_ones += u64::from(strict.verdict() == Verdict::Unsafe);
    tally.deadlocks += u64::from(errors(&strict, code).iter().any(|error| error.starts_with("deadlock")));
    let runs = |checkpoint: &Checkpoint| checkpoint.counts().executions;
    tally.fewer += u64::from(runs(&reduced) < runs(&strict));
    tally.renamed += u64::from(runs(&twins) < runs(&reduced));
}

fn run(default: u64) {
    let programs = number("MEMBAR_ORACLE_PROGRAMS").unwrap_or(default);
    let first = number("MEMBAR_ORACLE_SEED").unwrap_or(0);
    // Waiting loops; retry loops; locks and both of them.
    let shapes = [(6, 0, 0), (0, 8, 0), (2, 2, 4)];
    let models = [Relaxation::Tso.into(), Relaxation::Pso.into(), ProgramModel::C11];
    for (model, c11) in models.into_iter().zip([None, None, Some(4)]) {
        let mut tally = Tally::default();
        for seed in first..first + programs {
            let mut rng = Rng::new(7_000_000 + seed);
            let (waits, retries, locks) = shapes[(seed % 3) as usize];
            let knobs = Knobs { waits, retries, locks, threads: (2, 3), total: 6, c11, ..Knobs::ALL };
            let code = random_program(&mut rng, &knobs);
            let code = if rng.chance(2, 3) { with_copies(code, &mut rng) } else { code };
            compare(&Arc::new(code), model, seed, &mut tally);
        }
        println!("{model:?}: {tally:?}");
        let some = |n: u64, of: u64| assert!(n * of > programs, "not a test of much: {tally:?}");
        some(tally.programs, 2);
        some(tally.unsafe_ones, 60);
        some(tally.deadlocks, 30);
        some(tally.fewer, 10);
        some(tally.renamed, 10);
        some(tally.exhaustive, 4);
    }
}

#[test]
fn reductions_change_no_answer() {
    run(60);
}

#[test]
#[ignore = "long"]
fn reductions_never_change_an_answer() {
    run(2_000);
}
