//! What a program that is safe under C11 relies on besides the model, in words.
//!
//! *Load buffering*, a shape that C11 allows and RC11, and so membar, does not have. One thread reads x and then writes y, another one reads y
//! and then writes x (or so on, over more threads), and nothing orders the read before the write: the read does not acquire, the write
//! does not release, and there is no fence between. Whether the write depends on the read is not known here. *Weak compare-exchanges*
//! may fail without a reason. *Assembly* has no memory orders.
//!
//! One execution is looked at, so these are hints and no more.

use crate::core::{Fence, Performed};
use crate::explore::Step;
use crate::programs::{Run, Subject};
use crate::report::list;
use crate::report::verify::ASSEMBLY;
use crate::verify::Event;
use std::collections::{BTreeMap, BTreeSet};

/// Steps that a thread makes in one go, and how often each has its turn.
const STEPS: usize = 64;
const ROUNDS: usize = 4;
/// Threads that load buffering is looked for in, at once.
const THREADS: usize = 4;

/// A relaxed read and a later relaxed write of one thread, as addresses and steps.
#[derive(Clone, Copy)]
struct Pair {
    thread: u32,
    read: (u32, usize),
    write: (u32, usize),
}

/// Notes about an execution of the program.
pub fn notes<S: Subject>(subject: &mut S) -> Vec<String> {
    let Some(run) = execution(subject) else { return Vec::new() };
    let mut notes = Vec::new();
    let pairs = pairs(&run.steps);
    let cycle = (2..=THREADS).find_map(|threads| pairs.iter().find_map(|&pair| cycle(&pairs, vec![pair], threads)));
    if let Some(cycle) = cycle {
        let place = |step: usize| place(subject, &run, step);
        let swapped = |pair: &Pair| format!("{} before {}", place(pair.write.1), place(pair.read.1));
        let swapped: Vec<String> = cycle.iter().map(swapped).collect();
        notes.push(format!(
            "load buffering was not looked for: compilers and Arm may put {}, unless each write depends on the read",
            list(&swapped, "and"),
        ));
    }
    let mut weak = BTreeSet::new();
    for (at, step) in run.steps.iter().enumerate().filter(|(_, step)| step.access.expected.is_some()) {
        let event = Event::new(at, step);
        if subject.access(&run, &event).text.contains("_weak") {
            weak.insert(place(subject, &run, at));
        }
    }
    if !weak.is_empty() {
        let places: Vec<String> = weak.into_iter().collect();
        notes.push(format!("compare-exchanges that fail without a reason were not tried ({})", places.join(", ")));
    }
    if run.steps.iter().any(|step| step.access.c11.is_assembly()) {
        notes.push(ASSEMBLY.into());
    }
    notes
}

fn place<S: Subject>(subject: &S, run: &Run<S::Detail>, step: usize) -> String {
    let (file, line, _) = subject.place(run, &Event::new(step, &run.steps[step]));
    format!("{}:{line}", file.rsplit('/').next().unwrap_or(&file))
}

/// An execution in which every thread gets far.
fn execution<S: Subject>(subject: &mut S) -> Option<Run<S::Detail>> {
    let mut schedule: Vec<Step> = Vec::new();
    let mut run = subject.trace(&schedule).ok()?;
    for round in 0..ROUNDS {
        let before = schedule.len();
        for thread in 0..run.next.len() {
            // As far as it gets; what it chooses does not matter here.
            schedule.extend([Step::of(thread); STEPS]);
            run = subject.trace(&schedule).ok()?;
            schedule.truncate(run.steps.len());
        }
        if round > 0 && schedule.len() == before {
            break;
        }
    }
    Some(run)
}

/// Pairs of this many threads, each of which writes what the next one reads, that begin like this.
fn cycle(pairs: &[Pair], path: Vec<Pair>, threads: usize) -> Option<Vec<Pair>> {
    let (first, last) = (path[0], path[path.len() - 1]);
    if path.len() == threads {
        return (last.write.0 == first.read.0).then_some(path);
    }
    let follows = |next: &&Pair| {
        next.thread > first.thread
            && next.read.0 == last.write.0
            && path.iter().all(|known| known.thread != next.thread)
    };
    pairs.iter().filter(follows).find_map(|&next| cycle(pairs, [&path[..], &[next]].concat(), threads))
}

/// Reads that a later write of their thread could come before; of each two addresses, the first.
fn pairs(steps: &[Performed]) -> Vec<Pair> {
    let mut open: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
    let mut pairs: BTreeMap<(u32, u32, u32), Pair> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        let (thread, addr, order) = (step.thread, step.access.addr, step.order());
        let reads = open.entry(thread).or_default();
        if step.access.c11.fence() != Fence::None {
            reads.clear();
        }
        if step.access.c11.is_fresh() {
            continue;
        }
        if step.writes && !order.releases() {
            for &read in reads.iter().filter(|(read, _)| *read != addr) {
                pairs.entry((thread, read.0, addr)).or_insert(Pair { thread, read, write: (addr, at) });
            }
        }
        if step.access.kind.reads() && order.is_atomic() && !order.acquires() {
            reads.push((addr, at));
        }
    }
    pairs.into_values().collect()
}
