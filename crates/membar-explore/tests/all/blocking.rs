//! Accesses that block, against brute force: locks, semaphores, reader-writer locks, threads that are started by others.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-explore --test all blocking::` runs more random programs.

use crate::common;

use common::Op::{self, *};
use common::{Blocking, Classes, Notes, by_brute_force};
use membar_core::Rng;
use membar_explore::{Local, Search, SearchState, Strategy};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

fn search(program: &Blocking, strategy: Strategy) -> (Classes, SearchState) {
    let worker = Local::new(program.clone(), Notes::default(), 1000);
    let mut search = Search::new(SearchState::new(strategy), vec![worker], u64::MAX);
    let mut classes = Classes::new();
    while !search.state().is_done() {
        search.advance(&AtomicBool::new(false), |part| {
            part.into_iter().for_each(|class| *classes.entry(class).or_default() += 1);
        });
    }
    (classes, search.state().clone())
}

/// All strategies find what there is. The deadlocks that there are, as the threads that wait in them.
fn agree(program: &Blocking, what: &str) -> BTreeSet<u64> {
    let truth = by_brute_force(program, true);
    let whenever = by_brute_force(program, false);
    assert!(truth.keys().eq(whenever.keys()), "when choices are made does not matter, {what}");
    let (all, state) = search(program, Strategy::Exhaustive);
    assert_eq!(all, truth, "exhaustive, {what}");
    assert!(state.is_complete());
    let (bounded, state) = search(program, Strategy::Bounded { preemptions: u32::MAX });
    assert_eq!(bounded, truth, "bounded, {what}");
    assert!(state.is_complete());
    let (dpor, state) = search(program, Strategy::Dpor);
    let once: Classes = truth.keys().map(|class| (class.clone(), 1)).collect();
    assert_eq!(dpor, once, "dpor, {what}");
    assert!(state.is_complete());
    let drawn = [Strategy::Random { executions: 70, seed: 1 }, Strategy::Pct { executions: 70, seed: 1, depth: 3 }];
    for strategy in drawn {
        let (drawn, state) = search(program, strategy);
        assert!(drawn.keys().all(|class| truth.contains_key(class)), "{strategy:?}, {what}");
        assert_eq!(state.counts().executions, 70);
    }
    truth.keys().map(|(_, stuck)| *stuck).filter(|&stuck| stuck != 0).collect()
}

fn never() -> BTreeSet<u64> {
    BTreeSet::new()
}

#[test]
fn a_lock_is_held_by_one() {
    let critical = [Lock(0), Load(1), Store(1, 1), Unlock(0)];
    let program = Blocking::new(&[&critical, &critical, &critical], &[0, 0], false);
    assert_eq!(agree(&program, "lock"), never());
    // As many classes as orders of the critical sections.
    assert_eq!(search(&program, Strategy::Dpor).0.len(), 6);
    let (_, state) = search(&program, Strategy::Exhaustive);
    assert_eq!(state.counts().executions, 6);
}

#[test]
fn locks_in_two_orders_deadlock() {
    let (one, other) = ([Lock(0), Lock(1), Unlock(1), Unlock(0)], [Lock(1), Lock(0), Unlock(0), Unlock(1)]);
    assert_eq!(agree(&Blocking::new(&[&one, &other], &[0, 0], false), "two orders"), BTreeSet::from([0b11]));
    assert_eq!(agree(&Blocking::new(&[&one, &one], &[0, 0], false), "one order"), never());
    // A lock that is never given back: the second thread waits, if there is nobody whose end is everybody's.
    let keep = [Lock(0)];
    let program = Blocking::new(&[&keep, &keep], &[0], false);
    assert_eq!(agree(&program, "kept"), BTreeSet::from([0b01, 0b10]));
    let program = Blocking::new(&[&keep, &keep], &[0], true);
    assert_eq!(agree(&program, "kept, main ends"), BTreeSet::from([0b01]));
}

#[test]
fn a_semaphore_lets_in_as_many_as_it_says() {
    let user = [Down(0), Add(1, 1), Add(0, 1)];
    let program = Blocking::new(&[&user, &user, &user], &[2, 0], false);
    assert_eq!(agree(&program, "semaphore"), never());
    let (take, give) = ([Down(0), Load(1), Down(0)], [Store(1, 1), Add(0, 1)]);
    let program = Blocking::new(&[&take, &give, &give], &[0, 0], false);
    assert_eq!(agree(&program, "both are needed"), never());
    let program = Blocking::new(&[&take, &give], &[0, 0], false);
    assert_eq!(agree(&program, "one is missing"), BTreeSet::from([0b01]));
}

#[test]
fn a_writer_waits_until_nobody_reads() {
    let reader = [LockToRead(0), Load(1), Add(0, u64::MAX)];
    let writer = [LockToWrite(0), Store(1, 1), Unlock(0)];
    for threads in [&[&reader[..], &reader, &writer][..], &[&reader, &writer, &writer], &[&writer, &writer]] {
        assert_eq!(agree(&Blocking::new(threads, &[0, 0], false), "readers and writers"), never());
    }
    let stays = [LockToRead(0)];
    let program = Blocking::new(&[&stays, &writer], &[0, 0], false);
    assert_eq!(agree(&program, "a reader stays"), BTreeSet::from([0b10]));
}

#[test]
fn a_thread_that_is_never_started_is_not_a_deadlock() {
    let child = [Born(0), Store(1, 1), Lock(2), Unlock(2)];
    let starts = [Load(1), Store(0, 1), Load(1), Lock(2), Unlock(2)];
    let program = Blocking::new(&[&starts, &child], &[0; 3], false);
    assert_eq!(agree(&program, "started"), never());
    let program = Blocking::new(&[&[Load(1)], &child], &[0; 3], false);
    assert_eq!(agree(&program, "not started"), never());
    assert_eq!(search(&program, Strategy::Exhaustive).1.counts().executions, 1);
    // Started or not, depending on which thread is first.
    let perhaps = [TryLock(2), Down(2), Store(0, 1)];
    let program = Blocking::new(&[&perhaps, &[TryLock(2), Unlock(2)], &child], &[0; 3], false);
    assert!(agree(&program, "perhaps").contains(&0b001));
    // No thread can run from the beginning.
    assert_eq!(agree(&Blocking::new(&[&child], &[0; 3], false), "nobody"), never());
    assert_eq!(agree(&Blocking::new(&[&child, &[Down(0)]], &[0; 3], false), "stuck"), BTreeSet::from([0b10]));
}

/// The cell that choices read in random programs.
const CHOICES: u32 = 3;

#[test]
fn every_outcome_of_a_choice_is_explored() {
    // Alone, and of two threads that have nothing to do with each other.
    for (one, other) in [(1, 1), (2, 1), (7, 1), (2, 3), (5, 4)] {
        let program = Blocking::new(&[&[Choose(0, one)], &[Load(1), Choose(0, other), Load(1)]], &[0; 2], false);
        assert_eq!(agree(&program, "independent"), never());
        let (classes, state) = search(&program, Strategy::Dpor);
        assert_eq!((classes.len() as u64, state.counts().redundant), (one * other, 0));
    }
    // k choices of n outcomes each: n to the power of k; of three threads that write one cell after that: six times as many.
    let chooses = [Choose(0, 3), Choose(0, 3), Store(1, 1)];
    let program = Blocking::new(&[&chooses, &chooses, &[Choose(0, 2), Store(1, 2)]], &[0; 2], false);
    let (classes, state) = search(&program, Strategy::Dpor);
    assert_eq!(classes.len(), 9 * 9 * 2 * 6);
    assert_eq!(state.counts().executions, 9 * 9 * 2 * 6);
    // Many outcomes.
    let program = Blocking::new(&[&[Load(1), Choose(0, 65_535)]], &[0; 2], false);
    for strategy in [Strategy::Dpor, Strategy::Exhaustive, Strategy::Bounded { preemptions: 1 }] {
        let (classes, state) = search(&program, strategy);
        assert_eq!((classes.len(), state.counts().executions), (65_535, 65_535));
        assert!(state.is_complete());
    }
}

#[test]
fn choices_decide() {
    // A thread that gives nothing leaves the other one waiting.
    let (giver, taker) = ([Load(1), Choose(2, 3), AddChosen(0)], [Down(0), Down(0)]);
    let program = Blocking::new(&[&giver, &taker], &[0; 3], false);
    assert_eq!(agree(&program, "gives 0, 1 or 2"), BTreeSet::from([0b10]));
    assert_eq!(search(&program, Strategy::Dpor).0.len(), 3);
    // A choice is not a switch: without preemptions either thread goes first, whatever both have chosen.
    let thread = [Choose(2, 2), Store(0, 1), Choose(2, 2), Store(1, 1)];
    let program = Blocking::new(&[&thread, &thread], &[0; 3], false);
    assert_eq!(search(&program, Strategy::Bounded { preemptions: 0 }).1.counts().executions, 2 * 16);
}

#[test]
fn oracle_agrees_on_random_programs() {
    let programs = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000);
    let (mut deadlocks, mut several) = (0, 0);
    for seed in 0..programs {
        let mut rng = Rng::new(seed);
        let cells = rng.between(1, 3);
        let mut op = |_| {
            let cell = rng.below(cells);
            match rng.below(15) {
                0 => Load(cell),
                1 => Store(cell, u64::from(rng.below(3))),
                2 | 3 => Lock(cell),
                4 => TryLock(cell),
                5 | 6 => Unlock(cell),
                7 => Down(cell),
                8 => Add(cell, 1),
                9 => LockToRead(cell),
                10 => Add(cell, u64::MAX),
                11 => LockToWrite(cell),
                12 => Born(cell),
                13 => Choose(CHOICES, u64::from(rng.between(1, 3))),
                _ => AddChosen(cell),
            }
        };
        let lengths = [[5, 5, 0, 0], [4, 4, 1, 0], [3, 3, 3, 0], [2, 2, 2, 2]][seed as usize % 4];
        let threads = lengths.map(|length| (0..length).map(&mut op).collect::<Vec<Op>>());
        let mut threads: Vec<&[Op]> = threads.iter().filter(|ops| !ops.is_empty()).map(|ops| &ops[..]).collect();
        if seed % 50 == 49 {
            // Their numbers do not matter, however large they are, nor do threads that do nothing.
            let mut many = vec![&[][..]; 256];
            [0, 70, 100, 255].iter().zip(&threads).for_each(|(&number, &ops)| many[number] = ops);
            threads = many;
        }
        let program = Blocking::new(&threads, &[0, 1, 2, 0], seed % 3 == 0);
        deadlocks += u64::from(!agree(&program, &format!("seed {seed} {program:?}")).is_empty());
        several += u64::from(by_brute_force(&program, true).len() > 3);
    }
    assert!(deadlocks * 4 > programs && several * 4 > programs, "{deadlocks} and {several} of {programs}");
}
