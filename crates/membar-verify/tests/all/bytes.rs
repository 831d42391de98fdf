//! The monitor that tells bytes apart, and the search of executions with bytes, against a machine whose buffers hold bytes, run in every
//! way.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-verify --test all bytes::` runs more of them.

use membar_certify::replay;
use membar_core::{
    Access, AccessKind, Barrier, GraphModel, Performed, ProgramModel, Relaxation, Rng, Threads, WeakStep,
};
use membar_explore::{Buffers, End, Fault, GraphTask, Next, Observer, Program, Schedule, Step, Waiting, WeakExecution};
use membar_monitor::{BytesMonitor, ClassMonitor};
use membar_testkit::bytes::{self, Piece, Pieces, interleavings, is_relaxed};
use membar_verify::{Found, explain_run, weak_run};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

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

/// Such threads for the search.
struct Run<'a> {
    threads: &'a [Vec<Piece>],
    next: Vec<usize>,
    made: Vec<usize>,
    memory: u64,
}

impl Run<'_> {
    fn access(&self, thread: usize) -> Option<Access> {
        let at = self.next[thread];
        self.threads[thread].get(at).map(|piece| piece.access((16 * thread + at) as u32))
    }
}

impl Program for Run<'_> {
    fn threads(&self) -> usize {
        self.threads.len()
    }

    fn next(&self, thread: usize) -> Next {
        self.access(thread).map_or(Next::Done, Next::Access)
    }

    fn waiting(&self, _: usize) -> Waiting<'_> {
        Waiting::default()
    }

    fn value(&self, _: u32) -> u64 {
        self.memory
    }

    fn step(&mut self, thread: usize) -> Performed {
        unreachable!("thread {thread} is told what it finds")
    }

    fn step_finding(&mut self, thread: usize, found: u64, _: bool) -> Performed {
        let performed = perform(self.threads, &mut self.next, thread, found).expect("it has not ended");
        self.made.push(thread);
        performed
    }

    fn undo(&mut self) {
        let thread = self.made.pop().expect("a step");
        self.next[thread] -= 1;
        if self.made.is_empty() {
            self.memory = 0;
        }
    }

    fn leave(&mut self, _: u32, value: u64) {
        self.memory = value;
    }

    fn hold(&mut self, _: u32, value: u64) {
        self.memory = value;
    }

    fn state(&self, _: &mut Vec<u64>) {}

    fn fault(&self, thread: usize) -> Fault {
        unreachable!("thread {thread} has no fault")
    }
}

/// A thread makes its next access and finds this.
fn perform(threads: &[Vec<Piece>], next: &mut [usize], thread: usize, found: u64) -> Option<Performed> {
    let at = next[thread];
    let access = threads[thread].get(at)?.access((16 * thread + at) as u32);
    next[thread] += 1;
    let writes = access.writes_on(found);
    let byte = (16 * thread + at + 1) as u64;
    let new = if writes { access.put_part(found, byte * 0x0101_0101_0101_0101) } else { found };
    Some(Performed { thread: thread as u32, access, writes, old: found, new })
}

/// The accesses of an execution, from what steps mean.
fn performed(threads: &[Vec<Piece>], steps: &[WeakStep]) -> Vec<Performed> {
    let mut next = vec![0; threads.len()];
    let (mut made, mut order): (Vec<Performed>, Vec<Performed>) = (Vec::new(), Vec::new());
    for step in steps {
        let place = order.len() - step.behind as usize;
        let own = |write: &&Performed| write.thread == step.thread;
        let seen = order[..place].iter().chain(order[place..].iter().filter(own));
        let found = seen.fold(0, |word, write| write.access.put_part(word, write.access.part_of(write.new)));
        let performed = perform(threads, &mut next, step.thread as usize, found).expect("an access");
        if performed.writes {
            order.insert(place, performed);
        }
        made.push(performed);
    }
    made
}

/// Keeps the executions that end.
#[derive(Default)]
struct Ended(Vec<(Vec<WeakStep>, bool)>);

impl Observer for Ended {
    type Part = Vec<(Vec<WeakStep>, bool)>;

    fn push(&mut self, _: &Performed, _: &[Step]) {}

    fn pop(&mut self, _: &[Step]) {}

    fn tried(&mut self, _: usize, _: Access, _: &[Step]) {}

    fn end(&mut self, _: End, _: &[Step]) {}

    fn fault(&mut self, _: usize, _: Fault, _: &[Step]) {}

    fn weak_end(&mut self, end: End, sc: bool, execution: &dyn WeakExecution) {
        assert_eq!(end, End::Complete);
        assert!(sc || !execution.missed().is_empty());
        self.0.push((execution.steps(), sc));
    }

    fn take(&mut self, _: &[Step]) -> Self::Part {
        std::mem::take(&mut self.0)
    }
}

/// The search ends as the machine does that is run in every way; each of its executions, put in order and run by the certifier,
/// ends as it should, and is sequentially consistent if the search says so.
#[test]
fn executions_with_bytes_end_as_those_of_the_machine() {
    let number = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(50);
    let (mut all, mut not_sc) = (0, 0);
    for i in 0..number {
        let mut rng = Rng::new(11 + 1_000_003 * i);
        let bytes = 1 + rng.below(4);
        let lengths: &[u32] = [&[3, 3][..], &[2, 2, 2], &[2, 4], &[1, 2, 2], &[1, 1, 2, 2]][rng.below(5) as usize];
        let threads: Vec<Vec<Piece>> =
            lengths.iter().map(|&length| (0..length).map(|_| piece(&mut rng, bytes)).collect()).collect();
        for machine in [Relaxation::Tso, Relaxation::Pso] {
            let truth = bytes::ends(&threads, machine);
            let program = Run { threads: &threads, next: vec![0; threads.len()], made: Vec::new(), memory: 0 };
            let mut search = Buffers::new(program, Ended::default(), machine, 100);
            let (mut tasks, mut found) = (vec![GraphTask::default()], BTreeMap::new());
            // In parts, too.
            let budget = if rng.chance(1, 2) { 1 + u64::from(rng.below(5)) } else { u64::MAX };
            while let Some(task) = tasks.pop() {
                let outcome = search.run(&task, budget, &AtomicBool::new(false));
                tasks.extend(outcome.rest);
                for (steps, sc) in outcome.part {
                    let made = performed(&threads, &steps);
                    let model = GraphModel::from(ProgramModel::from(machine));
                    let run = weak_run(model, &steps, &made).expect("in order");
                    let mut pieces = Pieces::new(&threads);
                    let replayed = replay::replay(&mut pieces, machine, &run.machine_steps(&made));
                    let replayed = replayed.unwrap_or_else(|refusal| panic!("program {i}: {refusal}, {threads:#?}"));
                    assert_eq!(replayed.cycle.is_none(), sc, "program {i}: {threads:#?} {steps:?}");
                    assert!(!sc || run.delays.is_empty(), "program {i}: {threads:#?} {steps:?}");
                    let mut reads = BTreeMap::new();
                    for (thread, made) in replayed.trace.threads.iter().enumerate() {
                        let read = |(at, made): (usize, &membar_certify::replay::Made)| {
                            Some(((thread, at), u128::from(made.value_read()?)))
                        };
                        reads.extend(made.iter().enumerate().filter_map(read));
                    }
                    let twice = found.insert((reads, u128::from(pieces.value(0))), sc).is_some();
                    assert!(!twice, "program {i} ends twice in one way: {threads:#?}");
                }
            }
            assert!(found.keys().eq(truth.keys()), "program {i}, {}: {threads:#?}", machine.name());
            for (end, sc) in &found {
                let (is_sc, is_not) = truth[end];
                assert!(if *sc { is_sc } else { is_not }, "program {i}: {threads:#?}");
            }
            all += found.len();
            not_sc += found.values().filter(|&&sc| !sc).count();
        }
    }
    println!("{number} programs, {all} ends, {not_sc} of them not sequentially consistent");
    assert!(not_sc * 40 > all && all > not_sc);
}
