//! Threads that are alike, explored up to renaming, against exploration that tells them apart.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-explore --test all symmetry::` runs more random programs.

use crate::common::Op::{self, *};
use crate::common::{Blocking, Class, Classes, Notes, bit};
use membar_core::Rng;
use membar_explore::{Local, Search, SearchState, Strategy};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

fn search(program: &Blocking, workers: usize) -> Classes {
    let worker = || Local::new(program.clone(), Notes::default(), 1000);
    let workers = (0..workers).map(|_| worker()).collect();
    let mut search = Search::new(SearchState::new(Strategy::Dpor), workers, u64::MAX);
    let mut classes = Classes::new();
    while !search.state().is_done() {
        search.advance(&AtomicBool::new(false), |part| {
            part.into_iter().for_each(|class| *classes.entry(class).or_default() += 1);
        });
    }
    assert!(search.state().is_complete());
    classes
}

/// All ways to rename threads with the same code.
fn renamings(threads: &[&[Op]]) -> Vec<Vec<usize>> {
    fn extend(threads: &[&[Op]], to: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if to.len() == threads.len() {
            return all.push(to.clone());
        }
        for other in 0..threads.len() {
            if !to.contains(&other) && threads[other] == threads[to.len()] {
                to.push(other);
                extend(threads, to, all);
                to.pop();
            }
        }
    }
    let mut all = Vec::new();
    extend(threads, &mut Vec::new(), &mut all);
    all
}

/// The first of all the names that a class has.
fn first_name((class, stuck): &(Class, u64), renamings: &[Vec<usize>]) -> (Class, u64) {
    let renamed = |to: &Vec<usize>| {
        let event = |name: u64| match name {
            u64::MAX => u64::MAX,
            _ => (to[(name >> 32) as usize] as u64) << 32 | name & u64::from(u32::MAX),
        };
        let mut class: Class = class.iter().map(|&[a, b, writes, old]| [event(a), event(b), writes, old]).collect();
        class.sort_unstable();
        let stuck =
            (0..to.len()).filter(|&thread| stuck & bit(thread) != 0).fold(0, |set, thread| set | bit(to[thread]));
        (class, stuck)
    };
    renamings.iter().map(renamed).min().expect("at least one")
}

/// Whether the classes up to renaming are found, each once. How many there are, and how many without renaming.
fn agree(threads: &[&[Op]], memory: &[u64], main: bool, what: &str) -> (usize, usize) {
    let program = Blocking::new(threads, memory, main);
    let all = search(&program, 1);
    let renamings = renamings(threads);
    let truth: BTreeSet<_> = all.keys().map(|class| first_name(class, &renamings)).collect();
    let few = search(&program.clone().with_twins(), 1);
    assert!(few.keys().all(|class| all.contains_key(class)), "they are classes of the program, {what}");
    let found: BTreeSet<_> = few.keys().map(|class| first_name(class, &renamings)).collect();
    assert_eq!(found, truth, "{what}");
    // Which thread chooses what is not a matter of order.
    let chooses = threads.iter().any(|code| code.iter().any(|op| matches!(op, Choose(..))));
    assert!(chooses || few.values().sum::<u64>() == truth.len() as u64, "each once, {what}");
    assert_eq!(search(&program.with_twins(), 3), few, "whatever the number of workers, {what}");
    (truth.len(), all.len())
}

#[test]
fn counters_have_one_order() {
    let add: &[Op] = &[Add(0, 1), Store(1, 7)];
    assert_eq!(agree(&[add; 3], &[0, 0], false, "counters"), (6, 36));
    let takes: &[Op] = &[Take(0), AddChosen(1), Store(0, 3)];
    agree(&[takes; 3], &[0, 0], false, "values that flow");
    let critical: &[Op] = &[Lock(0), Load(1), Store(1, 1), Unlock(0)];
    assert_eq!(agree(&[critical; 4], &[0, 0], false, "lock"), (1, 24));
}

#[test]
fn deadlocks_stay() {
    let keep: &[Op] = &[Lock(0)];
    assert_eq!(agree(&[keep; 3], &[0], false, "kept"), (1, 3));
    let one: &[Op] = &[Lock(0), Lock(1), Unlock(1), Unlock(0)];
    let other: &[Op] = &[Lock(1), Lock(0), Unlock(0), Unlock(1)];
    agree(&[one, one, other, other], &[0, 0], false, "two orders");
}

fn op(rng: &mut Rng, cells: u32) -> Op {
    let cell = rng.below(cells);
    match rng.below(10) {
        0 | 1 => Load(cell),
        2 => Take(cell),
        3 => Store(cell, u64::from(1 + rng.below(2))),
        4 => Add(cell, 1),
        5 => AddChosen(cell),
        6 => Lock(cell),
        7 => Unlock(cell),
        8 => TryLock(cell),
        _ => [Choose(9, 2), Down(cell), Add(cell, 2)][rng.below(3) as usize],
    }
}

#[test]
fn random_programs_with_twins() {
    let number = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let seed = std::env::var("MEMBAR_ORACLE_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut some, mut most) = (0, 0);
    for i in 0..number {
        let mut rng = Rng::new(seed + 1_000_003 * i);
        let cells = 1 + rng.below(3);
        let kinds = 1 + rng.below(2) as usize;
        let sizes: Vec<usize> = (0..kinds)
            .map(|kind| if kind == 0 { 2 + rng.below(2) as usize } else { 1 + rng.below(2) as usize })
            .collect();
        // Four threads of three steps have up to 369,600 classes, all of which are kept.
        let long = match sizes.iter().sum() {
            ..=3 => 4,
            4 if cells == 3 => 3,
            _ => 2,
        };
        let codes: Vec<Vec<Op>> =
            sizes.iter().map(|_| (0..1 + rng.below(long)).map(|_| op(&mut rng, cells)).collect()).collect();
        let mut threads: Vec<&[Op]> = Vec::new();
        codes.iter().zip(&sizes).for_each(|(code, &size)| threads.extend(std::iter::repeat_n(&code[..], size)));
        // A group need not be in a row.
        let at = rng.below(threads.len() as u32) as usize;
        threads.rotate_left(at);
        let memory: Vec<u64> = (0..10).map(|_| u64::from(rng.below(2))).collect();
        let (few, all) = agree(&threads, &memory, false, &format!("program {i}: {threads:?} {memory:?}"));
        some += usize::from(few < all);
        most = most.max(all / few);
    }
    assert!(
        some > number as usize / 3 && most > 5,
        "{some} programs of {number} have fewer classes, {most} times at most"
    );
}
