//! The figures of the papers, over the interleavings they give and over all interleavings of their programs.

use crate::common;

use common::{Program, all_reports, event, il, interleavings, ld, st};
use membar_monitor::{Event, Op};
use membar_simulate::Rng;

const A: u32 = 0;
const B: u32 = 1;
const C: u32 = 2;

fn run(ops: &[(u32, Op)]) -> Vec<Event> {
    ops.iter().enumerate().map(|(at, &(thread, op))| event(at, thread, op)).collect()
}

/// On how many interleavings tso, pso, sober and sober-fixed report; and how many there are.
fn counts(threads: u32, program: Program<'_>) -> ([usize; 4], usize) {
    let all = interleavings(threads, program);
    let mut counts = [0; 4];
    for events in &all {
        for (count, reports) in counts.iter_mut().zip(all_reports(events)) {
            *count += usize::from(!reports.is_empty());
        }
    }
    (counts, all.len())
}

/// Report 2010, figure 6: `a = 1; if (a == 1) print b` beside `b = 1; a = 2; interlock(c); print a`.
fn figure_6(thread: u32, done: usize, reads: &[u64]) -> Option<(Op, u64)> {
    Some(match (thread, done) {
        (0, 0) => (st(A), 1),
        (0, 1) => (ld(A), 0),
        (0, 2) if reads == [1] => (ld(B), 0),
        (1, 0) => (st(B), 1),
        (1, 1) => (st(A), 2),
        (1, 2) => (il(C), 1),
        (1, 3) => (ld(A), 0),
        _ => return None,
    })
}

#[test]
fn figure_6_and_7_are_missed_by_sober_as_published() {
    // The SC run given in section 4.
    let events = run(&[(0, st(A)), (0, ld(A)), (0, ld(B)), (1, st(B)), (1, st(A))]);
    let [tso, pso, sober, fixed] = all_reports(&events);
    assert_eq!((tso, pso, sober), (vec![(0, 4)], vec![(0, 4)], vec![]));
    assert_eq!(fixed, vec![], "sober judges loads, and there is none after");
    let ([tso, pso, sober, fixed], all) = counts(2, &figure_6);
    assert!(tso > 0 && pso >= tso && fixed > 0, "{tso} {pso} {fixed}");
    assert_eq!(sober, 0, "on every one of {all} interleavings");
}

/// Report 2010, figure 8.
fn figure_8(thread: u32, done: usize, _: &[u64]) -> Option<(Op, u64)> {
    let program: &[Op] = match thread {
        0 => &[st(A), ld(B)],
        1 => &[st(A)],
        _ => &[st(B), ld(A)],
    };
    program.get(done).map(|&op| (op, u64::from(thread) + 1))
}

#[test]
fn figure_8_shows_sober_to_be_more_sensitive() {
    let events = run(&[(0, st(A)), (0, ld(B)), (1, st(A)), (2, st(B)), (2, ld(A))]);
    let [tso, pso, sober, fixed] = all_reports(&events);
    assert_eq!((tso, pso), (vec![], vec![]));
    assert_eq!((sober, fixed), (vec![(0, 4)], vec![(0, 4)]));
    // "A different SC execution": the store of the second thread comes after the load.
    let events = run(&[(0, st(A)), (0, ld(B)), (2, st(B)), (2, ld(A)), (1, st(A))]);
    assert_eq!(all_reports(&events)[0], vec![(0, 3)]);
    let ([tso, pso, sober, fixed], all) = counts(3, &figure_8);
    assert_eq!(all, 30);
    assert!(0 < tso && tso < sober && pso >= tso && sober == fixed, "{tso} {pso} {sober} {fixed}");
}

/// SOBER, figure 1(b): store buffering.
fn store_buffering(thread: u32, done: usize, _: &[u64]) -> Option<(Op, u64)> {
    let (mine, other) = if thread == 0 { (A, B) } else { (B, A) };
    [st(mine), ld(other)].get(done).map(|&op| (op, 1))
}

/// The same with something unrelated first in one thread: one program that has the numbers of SOBER's table. Which program the
/// paper counted is not known to us, so this pins our counts and is no proof of agreement with its.
fn table_row(thread: u32, done: usize, reads: &[u64]) -> Option<(Op, u64)> {
    match (thread, done) {
        (1, 0) => Some((st(C), 1)),
        (1, _) => store_buffering(1, done - 1, reads),
        _ => store_buffering(thread, done, reads),
    }
}

#[test]
fn figure_1b_of_sober() {
    assert_eq!(counts(2, &store_buffering), ([2, 2, 2, 2], 6));
    assert_eq!(counts(2, &table_row), ([4, 4, 4, 4], 10));
}

const IDLING: u32 = 0;
const WORK: u32 = 1;
const LOCK: u32 = 2;

/// SOBER, figure 4(b): the consumer goes to sleep if there is no work, the producer wakes it if it says that it is idle. The
/// lock's release by `Wait` is part of the consumer; what it does after being woken is not.
fn figure_4b(thread: u32, done: usize, reads: &[u64]) -> Option<(Op, u64)> {
    Some(match (thread, done) {
        (0, 0) => (Op::Fence, 0),
        (0, 1) => (il(LOCK), 1),
        (0, 2) => (st(IDLING), 1),
        (0, 3) => (ld(WORK), 0),
        (0, 4) if reads[1] == 1 => (st(IDLING), 0),
        (0, 5) if reads[1] == 1 => (Op::Fence, 0),
        (0, 6) if reads[1] == 1 => (il(LOCK), 0),
        (1, 0) => (st(WORK), 1),
        (1, 1) => (ld(IDLING), 0),
        _ => return None,
    })
}

fn figure_4b_fenced(thread: u32, done: usize, reads: &[u64]) -> Option<(Op, u64)> {
    match (thread, done) {
        (0, 0..3) => figure_4b(0, done, reads),
        (0, 3) | (1, 1) => Some((Op::Fence, 0)),
        (1, 0) => figure_4b(1, 0, reads),
        (_, _) => figure_4b(thread, done - 1, reads),
    }
}

#[test]
fn figure_4b_of_sober() {
    let ([tso, pso, sober, fixed], _) = counts(2, &figure_4b);
    assert!(tso > 0 && pso > 0 && sober > 0 && fixed > 0, "{tso} {pso} {sober} {fixed}");
    let (fenced, all) = counts(2, &figure_4b_fenced);
    assert_eq!(fenced, [0; 4], "of {all}");
}

/// Message passing is safe under TSO and not under PSO; a store-store barrier makes it safe.
fn message_passing(thread: u32, done: usize, _: &[u64]) -> Option<(Op, u64)> {
    let program: &[Op] = if thread == 0 { &[st(A), st(B)] } else { &[ld(B), ld(A)] };
    program.get(done).map(|&op| (op, 1))
}

fn message_passing_ordered(thread: u32, done: usize, _: &[u64]) -> Option<(Op, u64)> {
    let program: &[Op] = if thread == 0 { &[st(A), Op::StoreBarrier, st(B)] } else { &[ld(B), ld(A)] };
    program.get(done).map(|&op| (op, 1))
}

/// An interlocked operation orders earlier stores under TSO; under PSO only those to its own address.
fn message_passing_interlocked(thread: u32, done: usize, _: &[u64]) -> Option<(Op, u64)> {
    let program: &[Op] = if thread == 0 { &[st(A), il(B)] } else { &[ld(B), ld(A)] };
    program.get(done).map(|&op| (op, 1))
}

#[test]
fn message_passing_tells_tso_from_pso() {
    let ([tso, pso, sober, fixed], _) = counts(2, &message_passing);
    assert!((tso, sober, fixed) == (0, 0, 0) && pso > 0);
    assert_eq!(counts(2, &message_passing_ordered).0, [0; 4]);
    let ([tso, pso, ..], _) = counts(2, &message_passing_interlocked);
    assert!(tso == 0 && pso > 0);
}

/// A thread that is started sees what its parent did, and a violation can pass through the start.
#[test]
fn threads_that_start_and_end() {
    let start = Op::Start { child: 1 };
    let join = Op::Join { child: 1 };
    assert_eq!(all_reports(&run(&[(0, st(A)), (0, start), (1, ld(A))])), [const { Vec::new() }; 4]);
    assert_eq!(all_reports(&run(&[(1, st(A)), (0, join), (0, ld(A))])), [const { Vec::new() }; 4]);
    // Thread 2 delays its store past its load; the parent then stores and starts a child, which reads.
    let through = run(&[(2, st(A)), (2, ld(B)), (0, st(B)), (0, start), (1, ld(A))]);
    assert_eq!(all_reports(&through), [const { [(0, 4)] }; 4].map(Vec::from));
    let joined = run(&[(2, st(A)), (2, ld(B)), (1, st(B)), (0, join), (0, ld(A))]);
    assert_eq!(all_reports(&joined), [const { [(0, 4)] }; 4].map(Vec::from));
}

/// A compare-and-swap that fails waits for its thread's buffer and can still overtake another thread's store.
#[test]
fn a_failed_compare_and_swap() {
    let failed = Op::Interlocked { addr: A, writes: false };
    let overtakes = run(&[(0, st(A)), (0, ld(B)), (1, st(B)), (1, failed)]);
    assert_eq!(all_reports(&overtakes), [const { [(0, 3)] }; 4].map(Vec::from));
    let other = Op::Interlocked { addr: C, writes: false };
    let waits = run(&[(0, st(A)), (0, other), (0, ld(B)), (1, st(B)), (1, Op::Fence), (1, ld(A))]);
    let [tso, pso, sober, fixed] = all_reports(&waits);
    assert_eq!((tso.len(), sober.len(), fixed.len()), (0, 0, 0));
    assert_eq!(pso, vec![(0, 5)], "under pso it waits for its own address only");
}

/// Over all interleavings of a program, tso and sober-fixed find a violation in the same programs, and sober in no others: all
/// three are right, the first two miss nothing, and what happens under TSO happens under PSO.
#[test]
fn over_all_interleavings_the_complete_monitors_agree() {
    let (mut unsafe_ones, mut missed) = (0, 0);
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let threads = rng.between(2, 3);
        let most = if threads == 2 { 4 } else { 3 };
        let mut operation = |_| match rng.below(10) {
            0..4 => ld(rng.below(2)),
            4..8 => st(rng.below(2)),
            8 => il(rng.below(2)),
            _ => Op::Fence,
        };
        let program: Vec<Vec<Op>> = (0..threads).map(|_| (0..most).map(&mut operation).collect()).collect();
        let next = |thread: u32, done: usize, _: &[u64]| program[thread as usize].get(done).map(|&op| (op, 1));
        let ([tso, pso, sober, fixed], _) = counts(threads, &next);
        assert_eq!(tso > 0, fixed > 0, "seed {seed}: {program:?}");
        assert!(pso > 0 || tso == 0, "seed {seed}: {program:?}");
        assert!(tso > 0 || sober == 0, "seed {seed}: {program:?}");
        unsafe_ones += usize::from(tso > 0);
        missed += usize::from(tso > 0 && sober == 0);
    }
    assert!((50..350).contains(&unsafe_ones) && missed > 0, "{unsafe_ones} unsafe, {missed} missed by sober");
}
