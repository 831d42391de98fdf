//! Execution graphs of programs whose accesses block: those of sc are the classes of brute force, each once.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-explore --test all graphs::` runs more random programs.

use crate::common;

use common::Op::{self, *};
use common::{Blocking, Class, Classes, bit, by_brute_force};
use membar_core::{Access, GraphModel, Performed, Rng, WeakStep};
use membar_explore::{End, Fault, GraphTask, Graphs, Next, Observer, Program, Step, WeakExecution};
use std::sync::atomic::AtomicBool;

/// Keeps executions, and the threads that wait at their end and should not.
#[derive(Default)]
struct Kept(Vec<(Vec<WeakStep>, u64)>);

impl Observer for Kept {
    type Part = ();

    fn push(&mut self, _: &Performed, _: &[Step]) {}
    fn pop(&mut self, _: &[Step]) {}
    fn tried(&mut self, _: usize, _: Access, _: &[Step]) {}
    fn end(&mut self, _: End, _: &[Step]) {}
    fn fault(&mut self, _: usize, _: Fault, _: &[Step]) {}
    fn take(&mut self, _: &[Step]) {}

    fn weak_end(&mut self, end: End, sc: bool, execution: &dyn WeakExecution) {
        assert!(sc);
        let stuck = match end {
            End::Deadlock { waiting } => waiting.threads().fold(0, |stuck, thread| stuck | bit(thread)),
            End::Complete | End::Dropped => 0,
            End::Cut { .. } => panic!("no execution is long"),
        };
        self.0.push((execution.steps(), stuck));
    }
}

/// The class of an execution whose steps need not be in an order of SC.
fn class(mut program: Blocking, steps: &[WeakStep]) -> Class {
    let mut events = Class::new();
    // Of each address its writes in order, by their places among the events, and their values.
    let mut order: Vec<Vec<(usize, u64)>> = (0..5).map(|_| Vec::new()).collect();
    let initial: Vec<u64> = (0..5).map(|addr| program.value(addr)).collect();
    let mut made = vec![0; program.threads()];
    // Of each event the write before it, if it reads only.
    let mut read: Vec<Option<usize>> = Vec::new();
    for step in steps {
        let thread = step.thread as usize;
        let name = u64::from(step.thread) << 32 | made[thread];
        made[thread] += 1;
        let Next::Access(access) = program.next(thread) else { panic!("{steps:?}") };
        if let Some(outcome) = step.choice {
            program.choose(thread, outcome as u32);
            let last = order[access.addr as usize].last().map(|&(write, _)| write);
            events.push([name, 0, 0, outcome]);
            read.push(last);
            continue;
        }
        let writes = &mut order[access.addr as usize];
        let at = writes.len() - step.behind as usize;
        let (before, found) = match at.checked_sub(1) {
            Some(before) => (Some(writes[before].0), writes[before].1),
            None => (None, initial[access.addr as usize]),
        };
        let performed = program.step_finding(thread, found, false);
        if performed.writes {
            writes.insert(at, (events.len(), performed.new));
        }
        read.push(before);
        events.push([name, u64::from(access.kind.reads()), u64::from(performed.writes), found]);
    }
    let names: Vec<u64> = events.iter().map(|event| event[0]).collect();
    for (event, &before) in events.iter_mut().zip(&read) {
        event[1] = before.map_or(u64::MAX, |before| names[before]);
    }
    for (writes, &initial) in order.iter().zip(&initial) {
        let mut last = (u64::MAX, initial);
        for &(write, value) in writes {
            (events[write][1], events[write][3]) = last;
            last = (names[write], value);
        }
    }
    events.sort_unstable();
    events
}

fn sc_graphs(program: &Blocking) -> Classes {
    let mut search = Graphs::new(program.clone(), Kept::default(), GraphModel::Sc, false, 100);
    let outcome = search.run(&GraphTask::default(), u64::MAX, &AtomicBool::new(false));
    assert_eq!(outcome.rest, []);
    let mut classes = Classes::new();
    for (steps, stuck) in search.into_parts().1.0 {
        *classes.entry((class(program.clone(), &steps), stuck)).or_default() += 1;
    }
    classes
}

fn random(rng: &mut Rng) -> Vec<Vec<Op>> {
    let threads = rng.between(2, 4);
    // Some programs have little but stores and threads that wait for them.
    let kinds = if rng.chance(1, 2) { 12 } else { 5 };
    let thread = |rng: &mut Rng| {
        let mut ops = Vec::new();
        for _ in 0..rng.between(1, 6 - threads) {
            let (lock, semaphore, cell) = (rng.below(2), 2, 3);
            let (cell, value) = (if kinds == 5 { cell - rng.below(2) } else { cell }, u64::from(rng.between(1, 2)));
            match rng.below(kinds) {
                0 | 1 => ops.push(Store(cell, value)),
                2 | 3 => ops.push(Await(cell, value)),
                4 => ops.push(Load(cell)),
                5 | 6 => ops.extend([Lock(lock), Load(cell), Unlock(lock)]),
                7 => ops.extend([Lock(lock), Lock(1 - lock), Unlock(1 - lock), Unlock(lock)]),
                8 => ops.push(Add(semaphore, 1)),
                9 => ops.push(Down(semaphore)),
                10 => ops.push(Choose(4, 2)),
                _ => ops.push(TryLock(lock)),
            }
        }
        ops
    };
    (0..threads).map(|_| thread(rng)).collect()
}

/// Accesses that block are decided on once, whatever order they become possible in.
#[test]
fn oracle_blocking_accesses() {
    let programs = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut deadlocks = 0;
    for seed in 0..programs {
        let threads = random(&mut Rng::new(seed));
        let threads: Vec<&[Op]> = threads.iter().map(Vec::as_slice).collect();
        let program = Blocking::new(&threads, &[0; 5], false);
        let once: Classes = by_brute_force(&program, true).into_keys().map(|class| (class, 1)).collect();
        deadlocks += u64::from(once.keys().any(|&(_, stuck)| stuck != 0));
        let graphs = sc_graphs(&program);
        if graphs != once {
            let again = graphs.iter().filter(|&(class, &times)| times > 1 || !once.contains_key(class));
            let missing = once.keys().filter(|&class| !graphs.contains_key(class));
            let (again, missing): (Vec<_>, Vec<_>) = (again.collect(), missing.collect());
            panic!("seed {seed}: {threads:?}\ntoo often: {again:x?}\nmissing: {missing:x?}");
        }
    }
    assert!(deadlocks * 4 > programs, "{deadlocks} of {programs}");
}
