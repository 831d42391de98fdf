//! Each reduction of the search against exploration without it, on random programs with waiting loops, retry loops, locks
//! and threads that are alike: the same verdicts, errors, deadlocks and violations, but for those that `tree.rs` excludes.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-verify --test all reductions::` compares more of them;
//! `MEMBAR_ORACLE_SEED` says which is the first.

use membar_core::{ProgramModel, Relaxation, Rng};
use membar_explore::{Awaited, Program, Strategy};
use membar_litmus::{Code, Instr, Interpreter, Site};
use membar_testkit::programs::{self, Limits, Memory};
use membar_testkit::random::{Knobs, random_program};
use membar_verify::{Checkpoint, Effort, ErrorKind, Found, Settings, Verdict, Verification, Watching, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|n| n.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// For each thread, the nearest one before it with the same code.
fn twins_of(code: &Code) -> Vec<Option<usize>> {
    (0..code.threads.len()).map(|thread| (0..thread).rev().find(|&other| code.are_alike(other, thread))).collect()
}

/// A program, some of whose threads have the same code at different places.
fn with_copies(mut code: Code, rng: &mut Rng) -> Code {
    let copied = rng.below(code.threads.len() as u32) as usize;
    for _ in 0..1 + u32::from(code.threads.len() < 3 && rng.chance(1, 3)) {
        let mut copy = code.threads[copied].clone();
        for instr in &mut copy.instrs {
            if let Instr::Load { site, .. } | Instr::Store { site, .. } | Instr::Rmw { site, .. } = instr {
                let place = code.sites[*site as usize].clone();
                *site = code.sites.len() as u32;
                code.sites.push(Site { thread: code.threads.len() as u32, ..place });
            }
        }
        code.threads.push(copy);
    }
    let places = code.threads.len() as u32;
    code.threads.rotate_left(rng.below(places) as usize);
    for (thread, text) in (0..).zip(&code.threads) {
        text.instrs.iter().filter_map(Instr::site).for_each(|site| code.sites[site as usize].thread = thread);
    }
    code
}

type Pairs<'a> = BTreeMap<(u32, u32), &'a Found>;

/// Violations, whatever the numbers of threads that have the same code.
fn pairs<'a>(checkpoint: &'a Checkpoint, code: &Code) -> Pairs<'a> {
    let sites = code.common_sites(&twins_of(code));
    let pair = |found: &Found| (sites[found.store_site as usize], sites[found.access_site as usize]);
    checkpoint.seen.violations.iter().map(|found| (pair(found), found)).collect()
}

/// Errors, whatever the numbers of threads that are twins.
fn errors(checkpoint: &Checkpoint, code: &Code, twins: &[Option<usize>]) -> BTreeSet<String> {
    let first = |thread: u32| {
        let before = |&thread: &usize| twins[thread];
        std::iter::successors(Some(thread as usize), before).last().unwrap_or(thread as usize)
    };
    let sites = code.common_sites(twins);
    let name = |kind: &ErrorKind| match kind {
        ErrorKind::Deadlock { threads } => {
            let mut threads: Vec<usize> = threads.iter().map(|&thread| first(thread)).collect();
            threads.sort_unstable();
            format!("deadlock of {threads:?}")
        }
        ErrorKind::Fault { thread, why } => format!("{why:?} in {}", first(*thread)),
        ErrorKind::Race { sites: (one, other) } => {
            let (one, other) = (sites[*one as usize], sites[*other as usize]);
            format!("race of {} and {}", one.min(other), one.max(other))
        }
        other => format!("{other:?}"),
    };
    checkpoint.seen.errors.iter().map(|error| name(&error.kind)).collect()
}

/// Whether a thread continues, in this violation, after a round of a loop that changes nothing, or others do after one that was in vain: what
/// `tree.rs` excludes.
fn needs_idle_round(code: &Arc<Code>, found: &Found) -> bool {
    let mut program = Interpreter::new(Arc::clone(code));
    let mut vain = false;
    found.schedule.0.iter().any(|step| {
        let waiting = program.waiting(step.thread());
        let idle = !waiting.round.is_empty() && !waiting.blocking;
        program.step(step.thread());
        let after = vain;
        vain |= is_in_vain(&program, step.thread());
        idle || after
    }) || found.tried && (vain || !program.waiting(found.thread as usize).round.is_empty())
}

/// Whether the thread has just made a round that found two values at one address.
fn is_in_vain(program: &Interpreter, thread: usize) -> bool {
    let waiting = program.waiting(thread);
    let differs = |a: &Awaited| waiting.round.iter().any(|b| a.addr == b.addr && a.value != b.value);
    !waiting.blocking && !waiting.parked && waiting.round.iter().any(differs)
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
    let twins = verify(&program.clone().with_twins(twins_of(code)), settings(model, Strategy::Dpor));
    assert!(reduced.is_complete() && twins.is_complete(), "{}", what());
    let all = pairs(&strict, code);
    let (alike, unlike) = (twins_of(code), vec![None; code.threads.len()]);

    for (less, renamed, how) in [(&reduced, &unlike, "idle rounds"), (&twins, &alike, "idle rounds and twins")] {
        assert_eq!(errors(less, code, renamed), errors(&strict, code, renamed), "{how}: errors, {}", what());
        let found = pairs(less, code);
        // If all violations are excluded, what is left is the verdict on the rest.
        let expected = match strict.verdict() {
            Verdict::Unsafe if found.is_empty() && errors(less, code, renamed).is_empty() => Verdict::Safe,
            Verdict::Unsafe if found.is_empty() => Verdict::Error,
            verdict => verdict,
        };
        assert_eq!(less.verdict(), expected, "{how}: verdict, {}", what());
        assert!(found.keys().all(|pair| all.contains_key(pair)), "{how}: {found:?} not in {all:?}, {}", what());
        for (pair, missing) in all.iter().filter(|(pair, _)| !found.contains_key(pair)) {
            let schedule = &missing.schedule;
            assert!(needs_idle_round(code, missing), "{how}: {pair:?} is missing, {schedule}, {}", what());
            tally.excluded += 1;
        }
    }
    assert_eq!(
        pairs(&twins, code).keys().collect::<Vec<_>>(),
        pairs(&reduced, code).keys().collect::<Vec<_>>(),
        "{}",
        what()
    );

    // Those that choose interleavings find nothing that is not there, and all of it if they run them all.
    let every = limited(Strategy::Exhaustive);
    let complete = every.is_complete() && every.counts().cut == 0;
    if complete {
        assert_eq!(every.verdict(), strict.verdict(), "exhaustive, {}", what());
        assert_eq!(errors(&every, code, &unlike), errors(&strict, code, &unlike), "exhaustive, {}", what());
        let unbounded = limited(Strategy::Bounded { preemptions: u32::MAX });
        assert_eq!(
            pairs(&unbounded, code).keys().collect::<Vec<_>>(),
            pairs(&every, code).keys().collect::<Vec<_>>(),
            "{}",
            what()
        );
        assert_eq!(errors(&unbounded, code, &unlike), errors(&every, code, &unlike), "bounded, {}", what());
        for strategy in [
            Strategy::Bounded { preemptions: 1 },
            Strategy::Random { executions: 50, seed },
            Strategy::Pct { executions: 50, seed, depth: 3 },
        ] {
            let some = verify(&program, settings(model, strategy));
            assert!(errors(&some, code, &unlike).is_subset(&errors(&every, code, &unlike)), "{strategy:?}, {}", what());
            let known = pairs(&every, code);
            assert!(pairs(&some, code).keys().all(|pair| known.contains_key(pair)), "{strategy:?}, {}", what());
        }
        tally.exhaustive += 1;
    }

    // The machine itself, by brute force.
    let limits = Limits { max_accesses: 8, max_configurations: 10_000, ..Limits::default() };
    if let Some(machine) = model.machine()
        && let Some(truth) = programs::search(code, Memory::from(machine), &limits)
    {
        assert!(
            truth.violation.is_none() || !pairs(&twins, code).is_empty(),
            "missed {:?}, {}",
            truth.violation,
            what()
        );
        assert!(
            truth.cut || truth.violation.is_some() || pairs(&twins, code).is_empty(),
            "nothing to find, {}",
            what()
        );
        tally.by_machine += u64::from(!truth.cut);
    }

    tally.programs += 1;
    tally.unsafe_ones += u64::from(strict.verdict() == Verdict::Unsafe);
    tally.deadlocks += u64::from(errors(&strict, code, &unlike).iter().any(|error| error.starts_with("deadlock")));
    let runs = |checkpoint: &Checkpoint| checkpoint.counts().executions;
    tally.fewer += u64::from(runs(&reduced) < runs(&strict));
    tally.renamed += u64::from(runs(&twins) < runs(&reduced));
}

/// A random program with waiting loops, retry loops, or locks and both of them; `c11` as for [`Knobs`].
fn drawn(seed: u64, c11: Option<u32>) -> Code {
    let mut rng = Rng::new(7_000_000 + seed);
    let (waits, retries, locks) = [(6, 0, 0), (0, 8, 0), (2, 2, 4)][(seed % 3) as usize];
    let knobs = Knobs { waits, retries, locks, threads: (2, 3), total: 6, c11, ..Knobs::ALL };
    let code = random_program(&mut rng, &knobs);
    if rng.chance(2, 3) { with_copies(code, &mut rng) } else { code }
}

fn run(default: u64) {
    let programs = number("MEMBAR_ORACLE_PROGRAMS").unwrap_or(default);
    let first = number("MEMBAR_ORACLE_SEED").unwrap_or(0);
    let models = [Relaxation::Tso.into(), Relaxation::Pso.into(), ProgramModel::C11];
    for (model, c11) in models.into_iter().zip([None, None, Some(4)]) {
        let mut tally = Tally::default();
        for seed in first..first + programs {
            compare(&Arc::new(drawn(seed, c11)), model, seed, &mut tally);
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
fn regression_a_round_in_vain_that_others_go_on_after() {
    // A thread reads x = 1, and its compare-exchange of y fails. Another one's then succeeds, which makes its stale read of x a violation.
    // Without the round nothing says that x was written before: it is excluded, and was once taken for a lost verdict.
    let mut tally = Tally::default();
    compare(&Arc::new(drawn(72_067, Some(4))), ProgramModel::C11, 72_067, &mut tally);
    assert!(tally.programs == 1 && tally.excluded > 0, "{tally:?}");
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
