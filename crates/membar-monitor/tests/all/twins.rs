//! Each monitor against its slow twin, undo against fresh runs, and memory against the length of the trace.

use crate::common;

use common::{all_reports, event, random, twin};
use membar_monitor::{Algorithm, Event, Monitor, Monitors, Op, Pso, Rule, Sober, Tso};
use membar_simulate::Rng;

const CASES: u64 = 50_000;

#[test]
fn every_monitor_reports_what_its_twin_reports() {
    let mut found = [0; 4];
    for seed in 0..CASES {
        let events = random(seed);
        let (fast, slow) = (all_reports(&events), twin::all_reports(&events));
        for k in 0..4 {
            assert_eq!(fast[k], slow[k], "{} on seed {seed}: {events:?}", Algorithm::ALL[k]);
            found[k] += usize::from(!fast[k].is_empty());
        }
    }
    // Not vacuous: each of them finds something often, and nothing often.
    assert!(found.iter().all(|&n| n > 500 && n < CASES as usize - 500), "{found:?}");
}

#[test]
fn together_they_report_the_same() {
    for seed in 0..2_000 {
        let events = random(seed);
        let mut together = [const { Vec::new() }; 4];
        let mut monitors = Monitors::new(&Algorithm::ALL);
        for event in &events {
            monitors.event(event, |algorithm, violation| {
                together[algorithm as usize].push((violation.store.at as usize, violation.access.at as usize));
            });
        }
        assert_eq!(together, all_reports(&events), "seed {seed}");
    }
}

/// Goes forward and back at random; the reports on the way are those of a fresh monitor.
fn undo<R: Rule + Clone>(rule: &R) {
    for seed in 0..1_500 {
        let mut rng = Rng::new(seed);
        let mut monitor = Monitor::undoable(rule.clone());
        let mut path: Vec<Event> = Vec::new();
        let mut marks = vec![monitor.mark()];
        for _ in 0..40 {
            if rng.chance(2, 5) {
                let to = rng.below(marks.len() as u32) as usize;
                monitor.rewind(marks[to]);
                marks.truncate(to + 1);
                path.truncate(to);
                continue;
            }
            // Threads and addresses that were never seen come late, so that rows grow between a mark and its rewind.
            let (threads, addr) = (2 + rng.below(5), rng.below(1 + path.len().min(4) as u32));
            let op = match rng.below(10) {
                0..4 => Op::Load { addr },
                4..7 => Op::Store { addr },
                7 => Op::Interlocked { addr, writes: rng.chance(1, 2) },
                8 => Op::StoreBarrier,
                _ => Op::Fence,
            };
            path.push(event(path.len(), rng.below(threads), op));
            let found = monitor.event(&path[path.len() - 1]);
            marks.push(monitor.mark());
            let mut fresh = Monitor::new(rule.clone());
            let fresh = path.iter().map(|event| fresh.event(event)).last().flatten();
            assert_eq!(found, fresh, "seed {seed}: {path:?}");
        }
    }
}

#[test]
fn undo_tso() {
    undo(&Tso::default());
}

#[test]
fn undo_pso() {
    undo(&Pso::default());
}

#[test]
fn undo_sober() {
    undo(&Sober::published());
}

#[test]
fn undo_sober_fixed() {
    undo(&Sober::fixed());
}

/// A racy interleaving of any length. One thread is rarely seen, so that old clocks live on.
fn racy(length: usize, seed: u64) -> impl Iterator<Item = Event> {
    let mut rng = Rng::new(seed);
    (0..length).map(move |at| {
        let thread = if rng.chance(1, 1000) { 0 } else { rng.between(1, 5) };
        let addr = rng.below(12);
        let op = match rng.below(20) {
            0..9 => Op::Load { addr },
            9..18 => Op::Store { addr },
            18 => Op::Interlocked { addr, writes: rng.chance(2, 3) },
            _ => Op::StoreBarrier,
        };
        event(at, thread, op)
    })
}

#[test]
fn memory_does_not_grow_with_the_trace() {
    for algorithm in Algorithm::ALL {
        let mut monitors = Monitors::new(&[algorithm]);
        let mut found = 0u64;
        let (mut early, mut late) = (0, 0);
        for event in racy(300_000, 1) {
            monitors.event(&event, |_, _| found += 1);
            let most = if event.at < 60_000 { &mut early } else { &mut late };
            *most = monitors.words().max(*most);
        }
        assert!(found > 1000, "{algorithm}: {found}");
        assert!(late <= early + early / 4, "{algorithm}: {early} words at first, {late} later");
    }
}

/// Forgetting old writes changes nothing: a monitor that records for undo never forgets.
#[test]
fn sifting_changes_no_report() {
    for seed in 0..3 {
        let (mut sifting, mut keeping) = (Monitor::new(Sober::published()), Monitor::undoable(Sober::published()));
        let mut found = 0;
        for event in racy(30_000, seed) {
            let reported = sifting.event(&event);
            assert_eq!(reported, keeping.event(&event), "at {}", event.at);
            found += usize::from(reported.is_some());
        }
        assert!(found > 100 && 2 * sifting.words() < keeping.words(), "{found} {}", sifting.words());
    }
}
