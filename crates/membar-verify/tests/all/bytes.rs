//! The monitor over bytes against a machine with bytes in its store buffers, on random programs of a few accesses to one word.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-verify --test all bytes::` runs more of them.

use membar_core::{AccessKind, Barrier, Performed, Relaxation, Rng};
use membar_monitor::{BytesMonitor, ClassMonitor};
use membar_testkit::bytes::{Piece, interleavings, is_relaxed};

fn piece(rng: &mut Rng, bytes: u32) -> Piece {
    let len = [1, 1, 2, 2, 3, 4][rng.below(6) as usize].min(bytes);
    let kind = match rng.below(9) {
        0..4 => AccessKind::Load,
        4..8 => AccessKind::Store,
        _ => AccessKind::Rmw,
    };
    let barrier = match rng.below(12) {
        0 => Barrier::Full,
        1 => Barrier::Store,
        _ => Barrier::None,
    };
    Piece { kind, barrier, from: rng.below(bytes - len + 1) as u8, len: len as u8 }
}

/// Whether the monitor reports something on an execution; going back and forth changes nothing.
fn reports(steps: &[Performed], machine: Relaxation, threads: usize) -> bool {
    let mut monitor = BytesMonitor::new(machine, threads);
    let mut found = false;
    for step in steps {
        let tried = monitor.tried(step.thread as usize, step.access);
        let first = monitor.push(step).expect("short");
        assert!(first.is_none() || tried.is_some(), "what is made is tried before: {steps:?}");
        monitor.pop();
        assert_eq!(monitor.push(step).expect("short"), first);
        found |= first.is_some();
    }
    found
}

#[test]
fn the_machine_is_relaxed_where_an_execution_is_reported() {
    let number = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let mut relaxed = [0; 2];
    for i in 0..number {
        let mut rng = Rng::new(7 + 1_000_003 * i);
        let bytes = 1 + rng.below(4);
        let lengths: &[u32] = [&[3, 3][..], &[2, 2, 2], &[2, 3], &[1, 2, 2], &[1, 1, 2, 2]][rng.below(5) as usize];
        let threads: Vec<Vec<Piece>> =
            lengths.iter().map(|&length| (0..length).map(|_| piece(&mut rng, bytes)).collect()).collect();
        for (model, machine) in [Relaxation::Tso, Relaxation::Pso].into_iter().enumerate() {
            let truth = is_relaxed(&threads, machine);
            let mut found = false;
            interleavings(&threads, |steps| {
                found |= reports(steps, machine, threads.len());
                found
            });
            assert_eq!(found, truth, "program {i}, {}: {threads:#?}", machine.name());
            relaxed[model] += u64::from(truth);
        }
    }
    println!("{number} programs, {relaxed:?} relaxed under tso and pso");
    assert!(relaxed.iter().all(|&relaxed| relaxed * 20 > number), "{relaxed:?} of {number}");
}

/// Where all accesses are to whole words, it is the class monitor.
#[test]
fn whole_words_are_as_for_the_class_monitor() {
    let mut reported = 0;
    for i in 0..300 {
        let mut rng = Rng::new(5 + 1_000_003 * i);
        let threads: Vec<Vec<Piece>> = (0..3).map(|_| (0..2).map(|_| piece(&mut rng, 3)).collect()).collect();
        for machine in [Relaxation::Tso, Relaxation::Pso] {
            interleavings(&threads, |steps| {
                let mut bytes = BytesMonitor::new(machine, threads.len());
                let mut class = ClassMonitor::new(machine, threads.len());
                for step in steps {
                    let mut step = *step;
                    (step.access.addr, step.access.part) = (u32::from(step.access.part >> 4), 0);
                    if step.access.kind == AccessKind::Rmw {
                        (step.access.expected, step.old) = (Some(1), rng.below(2).into());
                        step.writes = step.old == 1;
                    }
                    let (a, b) = (bytes.push(&step), class.push(&step));
                    assert_eq!(a.expect("short").is_some(), b.expect("short").is_some(), "program {i}: {steps:?}");
                    reported += 1;
                }
                false
            });
        }
    }
    assert!(reported > 1000);
}
