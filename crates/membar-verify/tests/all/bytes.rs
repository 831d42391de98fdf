//! The monitor that tells bytes apart against a machine whose buffers hold bytes, run in every way.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-verify --test all bytes::` runs more of them.

use membar_certify::replay;
use membar_core::{AccessKind, Barrier, Performed, ProgramModel, Relaxation, Rng};
use membar_explore::Schedule;
use membar_monitor::{BytesMonitor, ClassMonitor};
use membar_testkit::bytes::{Piece, Pieces, interleavings, is_relaxed};
use membar_verify::{Found, explain_run};

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
    let expects = match rng.below(5) {
        _ if kind != AccessKind::Rmw => None,
        0 | 1 => None,
        2 => Some(None),
        _ => Some(Some((rng.below(3) as usize, rng.below(2) as usize))),
    };
    Piece { kind, barrier, from: rng.below(bytes - len + 1) as u8, len: len as u8, expects }
}

/// A program in which one thread may be about to make an access and never make it.
struct Case {
    threads: Vec<Vec<Piece>>,
    machine: Relaxation,
    truth: bool,
}

impl Case {
    /// What is reported about the last of these steps is explained, and the certifier's machine does what the explanation says.
    fn confirm(&self, steps: &[Performed], store: u32, tried: Option<Performed>) {
        let last = tried.as_ref().or(steps.last()).expect("an access");
        let (model, thread) = (ProgramModel::from(self.machine), last.thread);
        let (store_site, access_site) = (steps[store as usize].access.site, last.access.site);
        let schedule = Schedule(Vec::new());
        let tries = tried.is_some();
        let found = Found { model, store_site, access_site, schedule, store, thread, tried: tries, executions: 1 };
        let explained = explain_run(steps, tried.map(|step| step.access), &found);
        let explained = explained.unwrap_or_else(|| panic!("not explained: {found:?} {steps:#?}"));
        let (run, claims) = (explained.steps(), explained.claims());
        let mut threads = Pieces::new(&self.threads);
        let replayed = replay::replay(&mut threads, self.machine, &run);
        let mut threads = Pieces::new(&self.threads);
        let confirmed = replay::confirms(&mut threads, self.machine, &run, &claims);
        assert!(confirmed, "{} {:#?}\n{found:?}\n{explained:#?}\n{replayed:#?}", self.machine.name(), self.threads);
    }

    /// Whether the monitor reports something on an execution; going back and forth changes nothing.
    fn reports(&self, steps: &[Performed]) -> bool {
        let mut monitor = BytesMonitor::new(self.machine, self.threads.len());
        let mut found = false;
        for (at, step) in steps.iter().enumerate() {
            // What is tried is right too, however much of the others has been made.
            for thread in 0..self.threads.len() as u32 {
                let Some(next) = steps[at..].iter().find(|next| next.thread == thread) else { continue };
                if let Some(store) = monitor.tried(next.thread as usize, next.access) {
                    assert!(self.truth, "{next:?} is not relaxed: {steps:?}");
                    self.confirm(&steps[..at], store.store, Some(*next));
                }
            }
            let tried = monitor.tried(step.thread as usize, step.access);
            let first = monitor.push(step).expect("short");
            assert!(first.is_none() || tried.is_some(), "what is made is tried before: {steps:?}");
            monitor.pop();
            assert_eq!(monitor.push(step).expect("short"), first);
            if let Some(first) = first {
                self.confirm(&steps[..=at], first.store, None);
                found = true;
            }
        }
        found
    }
}

#[test]
fn the_machine_is_relaxed_where_an_execution_is_reported() {
    let number = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let mut relaxed = [0; 2];
    for i in 0..number {
        let mut rng = Rng::new(7 + 1_000_003 * i);
        let bytes = 1 + rng.below(4);
        let lengths: &[u32] = [&[3, 3][..], &[2, 2, 2], &[2, 3], &[1, 2, 2], &[1, 1, 2, 2]][rng.below(5) as usize];
        let threads: Vec<Vec<Piece>> =
            lengths.iter().map(|&length| (0..length).map(|_| piece(&mut rng, bytes)).collect()).collect();
        for (model, machine) in [Relaxation::Tso, Relaxation::Pso].into_iter().enumerate() {
            let truth = is_relaxed(&threads, machine);
            let case = Case { threads: threads.clone(), machine, truth };
            let mut found = false;
            interleavings(&threads, |steps| {
                found |= case.reports(steps);
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
        let value = |step: &Performed| u64::from(step.access.site % 3 % 2);
        for machine in [Relaxation::Tso, Relaxation::Pso] {
            interleavings(&threads, |steps| {
                let mut bytes = BytesMonitor::new(machine, threads.len());
                let mut class = ClassMonitor::new(machine, threads.len());
                let mut memory = [0; 16];
                for step in steps {
                    let mut step = *step;
                    let addr = step.access.part >> 4;
                    (step.access.addr, step.access.part) = (u32::from(addr), 0);
                    step.access.expected = (step.access.kind == AccessKind::Rmw).then_some(1);
                    step.old = memory[usize::from(addr)];
                    step.writes = step.access.writes_on(step.old);
                    step.new = if step.writes { value(&step) } else { step.old };
                    memory[usize::from(addr)] = step.new;
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
