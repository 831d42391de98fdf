//! Programs of the literature with known answers, and exact counts.

use crate::common;

use membar_core::{Barrier, Relaxation};
use membar_explore::Strategy;
use membar_litmus::{Code, Instr, Interpreter};
use membar_testkit::named::{self, Barriers, Mutex};
use membar_verify::{Checkpoint, Settings, Verdict, Watching, verify};
use std::sync::Arc;

use Barrier::{Full, None as No, Store};
use Relaxation::{Pso, Tso};
use Verdict::{Safe, Unsafe};

fn run(code: &Code, model: Relaxation, strategy: Strategy, watching: Watching) -> Checkpoint {
    let program = Interpreter::new(Arc::new(code.clone()));
    let result = verify(&program, Settings { strategy, watching, max_steps: 1000, ..Settings::new(model) });
    assert_eq!(result.counts().cut, 0);
    result
}

/// The verdict, by every strategy and monitor that is complete.
fn verdict(code: &Code, model: Relaxation) -> Verdict {
    let published = if model == Tso { Watching::Tso } else { Watching::Pso };
    let ways = [
        (Strategy::Dpor, Watching::Class),
        (Strategy::Exhaustive, Watching::Class),
        (Strategy::Exhaustive, published),
        (Strategy::Bounded { preemptions: 99 }, published),
    ];
    let verdicts = ways.map(|(strategy, watching)| run(code, model, strategy, watching).verdict());
    assert!(verdicts.iter().all(|verdict| *verdict == verdicts[0]), "{verdicts:?}");
    if model == Tso {
        assert_eq!(run(code, model, Strategy::Dpor, Watching::SoberFixed).verdict(), verdicts[0]);
    }
    verdicts[0]
}

#[test]
fn shapes_with_and_without_fences() {
    type Shape = fn([Barrier; 2]) -> Code;
    let shapes: &[(&str, Shape, [Barrier; 2], Verdict, Verdict)] = &[
        ("SB", named::store_buffering, [No, No], Unsafe, Unsafe),
        ("SB", named::store_buffering, [Full, No], Unsafe, Unsafe),
        ("SB", named::store_buffering, [Full, Full], Safe, Safe),
        ("SB", named::store_buffering, [Store, Store], Unsafe, Unsafe),
        ("MP", named::message_passing, [No, No], Safe, Unsafe),
        ("MP", named::message_passing, [Store, No], Safe, Safe),
        ("MP", named::message_passing, [Full, No], Safe, Safe),
        ("MP", named::message_passing, [No, Full], Safe, Unsafe),
        ("LB", named::load_buffering, [No, No], Safe, Safe),
        ("LB", named::load_buffering, [Full, Full], Safe, Safe),
        ("2+2W", named::two_plus_two_writes, [No, No], Safe, Unsafe),
        ("2+2W", named::two_plus_two_writes, [Store, No], Safe, Unsafe),
        ("2+2W", named::two_plus_two_writes, [Store, Store], Safe, Safe),
        ("IRIW", named::iriw, [No, No], Safe, Safe),
        ("IRIW", named::iriw, [Full, Full], Safe, Safe),
        ("R", named::r, [No, No], Unsafe, Unsafe),
        ("R", named::r, [No, Full], Safe, Unsafe),
        ("R", named::r, [Full, No], Unsafe, Unsafe),
        ("R", named::r, [Store, Full], Safe, Safe),
        ("S", named::s, [No, No], Safe, Unsafe),
        ("S", named::s, [Store, No], Safe, Safe),
        ("S", named::s, [No, Full], Safe, Unsafe),
    ];
    for (name, shape, barriers, tso, pso) in shapes {
        let code = shape(*barriers);
        assert_eq!(verdict(&code, Tso), *tso, "{name} {barriers:?} under tso");
        assert_eq!(verdict(&code, Pso), *pso, "{name} {barriers:?} under pso");
    }
}

/// Figures 6 and 7 of the 2010 report: the published SOBER misses it on every interleaving.
#[test]
fn figure_6_with_four_monitors() {
    let code = named::figure_6();
    for strategy in [Strategy::Exhaustive, Strategy::Dpor] {
        let published = run(&code, Tso, strategy, Watching::Sober);
        assert!(published.seen.violations.is_empty());
        assert_eq!(published.verdict(), Verdict::Undecided, "it claims nothing");
        assert_eq!(run(&code, Tso, strategy, Watching::SoberFixed).verdict(), Unsafe);
    }
    assert_eq!(run(&code, Tso, Strategy::Exhaustive, Watching::Tso).verdict(), Unsafe);
    assert_eq!(run(&code, Pso, Strategy::Exhaustive, Watching::Pso).verdict(), Unsafe);
    assert_eq!(verdict(&code, Tso), Unsafe);
    assert_eq!(verdict(&code, Pso), Unsafe);
}

#[test]
fn figure_8_and_sober_4b() {
    for strategy in [Strategy::Exhaustive, Strategy::Dpor] {
        for watching in [Watching::Sober, Watching::SoberFixed] {
            assert_eq!(run(&named::figure_8(), Tso, strategy, watching).verdict(), Unsafe);
        }
    }
    assert_eq!(verdict(&named::figure_8(), Tso), Unsafe);
    assert_eq!(verdict(&named::figure_8(), Pso), Unsafe);
    let violations = |fenced| run(&named::sober_4b(fenced), Tso, Strategy::Dpor, Watching::Class).seen.violations;
    assert!(!violations(false).is_empty());
    assert!(violations(true).is_empty());
}

/// The same program with its threads in another order.
fn rotated(code: &Code, by: usize) -> Code {
    let mut code = code.clone();
    code.threads.rotate_left(by);
    code
}

fn counts(code: &Code) -> (u64, u64) {
    let dpor = run(code, Tso, Strategy::Dpor, Watching::Nothing).counts().executions;
    let all = run(code, Tso, Strategy::Exhaustive, Watching::Nothing).counts().executions;
    (all, dpor)
}

/// n threads, each a store and a load: (2n)!/2ⁿ interleavings and 2ⁿ - 1 classes, in whatever order the threads come.
#[test]
fn counts_of_store_buffering_rings() {
    for (n, all, classes) in [(2, 6, 3), (3, 90, 7), (4, 2_520, 15), (5, 113_400, 31)] {
        let code = named::ring(n, No);
        for by in 0..n {
            assert_eq!(counts(&rotated(&code, by)), (all, classes), "{n} threads, rotated by {by}");
        }
    }
    let dpor = |n| run(&named::ring(n, No), Tso, Strategy::Dpor, Watching::Nothing).counts();
    for n in 6..12 {
        assert_eq!((dpor(n).executions, dpor(n).redundant), ((1 << n) - 1, 0), "{n} threads");
    }
}

/// n threads that write one address once: n! of both. n that read it: n! interleavings, one class.
#[test]
fn counts_of_writers_and_readers() {
    for n in 1..=7u64 {
        let factorial: u64 = (1..=n).product();
        let writers = named::ring(1, No);
        let mut code = writers.clone();
        let only = |keep: fn(&Instr) -> bool| {
            let mut thread = writers.threads[0].clone();
            thread.instrs.retain(keep);
            thread
        };
        code.threads = vec![only(|i| matches!(i, Instr::Store { .. })); n as usize];
        assert_eq!(counts(&code), (factorial, factorial), "{n} writers");
        code.threads = vec![only(|i| matches!(i, Instr::Load { .. })); n as usize];
        assert_eq!(counts(&code), (factorial, 1), "{n} readers");
        // One writer and n readers: each reads before or after.
        code.threads.push(only(|i| matches!(i, Instr::Store { .. })));
        let dpor = run(&code, Tso, Strategy::Dpor, Watching::Nothing).counts();
        assert_eq!((dpor.executions, dpor.redundant), (1 << n, 0), "{n} readers, one writer");
    }
}

/// Dekker, Peterson and bakery: the numbers do not depend on which thread comes first, and are what brute force gives.
#[test]
fn counts_of_mutual_exclusion() {
    type Algorithm = fn(&Mutex) -> Code;
    let one: [(&str, Algorithm, (u64, u64)); 3] = [
        ("peterson", named::peterson, (1402, 12)),
        ("dekker", named::dekker, (1226, 7)),
        ("bakery", named::bakery, (13_490, 16)),
    ];
    for (name, algorithm, expected) in one {
        let code = algorithm(&Mutex::BARE);
        for by in 0..2 {
            assert_eq!(counts(&rotated(&code, by)), expected, "{name}, one round, rotated by {by}");
        }
        let mut program = Interpreter::new(Arc::new(code));
        let classes = common::classes_by_brute_force(&mut program, 1_000_000).unwrap().len() as u64;
        let interleavings = common::interleavings_by_brute_force(&mut program);
        assert_eq!((interleavings, classes), expected, "{name}");
    }
    let more: [(&str, Algorithm, u32, u64); 4] = [
        ("peterson", named::peterson, 2, 618),
        ("peterson", named::peterson, 3, 29_040),
        ("dekker", named::dekker, 2, 433),
        ("bakery", named::bakery, 2, 752),
    ];
    for (name, algorithm, rounds, expected) in more {
        let code = algorithm(&Mutex { rounds, ..Mutex::BARE });
        for by in 0..2 {
            let dpor = run(&rotated(&code, by), Tso, Strategy::Dpor, Watching::Nothing).counts();
            assert_eq!(dpor.executions, expected, "{name}, {rounds} rounds, rotated by {by}");
        }
    }
}

#[test]
fn mutual_exclusion_needs_its_fences() {
    for algorithm in [named::peterson, named::dekker, named::bakery] {
        let with = |barriers| algorithm(&Mutex { barriers, section: true, ..Mutex::BARE });
        let dpor = |barriers, model| run(&with(barriers), model, Strategy::Dpor, Watching::Class).verdict();
        assert_eq!(dpor(Barriers::None, Tso), Unsafe);
        assert_eq!(dpor(Barriers::Full, Tso), Safe);
        assert_eq!(dpor(Barriers::None, Pso), Unsafe);
        assert_eq!(dpor(Barriers::FullAndStore, Pso), Safe);
    }
}
