//! Load buffering: the shape that C11 allows and RC11, and so membar, does not have.
//!
//! One thread reads x and then writes y, another one reads y and then writes x, and nothing orders the read before the write: the read does
//! not acquire, the write does not release, and there is no fence between. Whether the write depends on the read is not known here.
//! One execution is looked at, and two threads at a time, so this is a hint and no more.

use crate::core::{Fence, Performed};
use crate::explore::Step;
use crate::programs::Subject;
use std::collections::BTreeMap;

/// Steps that a thread makes in one go, and how often each has its turn.
const STEPS: usize = 64;
const ROUNDS: usize = 4;

/// A relaxed read and a later relaxed write of one thread, as addresses and steps.
#[derive(Clone, Copy)]
struct Pair {
    thread: u32,
    read: (u32, usize),
    write: (u32, usize),
}

/// The places of such a shape in words, if an execution of the program has it.
pub fn shape<S: Subject>(subject: &mut S) -> Option<String> {
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
    let pairs = pairs(&run.steps);
    let crosses = |one: &Pair, other: &Pair| {
        one.thread < other.thread && one.read.0 == other.write.0 && one.write.0 == other.read.0
    };
    let (one, other) = pairs.iter().find_map(|one| Some((one, pairs.iter().find(|other| crosses(one, other))?)))?;
    let mut place = |step: usize| {
        let (file, line, _) = subject.place(&run, &crate::verify::Event::new(step, &run.steps[step]));
        format!("{}:{line}", file.rsplit('/').next().unwrap_or(&file))
    };
    let [a, b, c, d] = [one.read.1, one.write.1, other.read.1, other.write.1].map(&mut place);
    Some(format!(
        "load buffering was not looked for: compilers and Arm may let {b} come before {a} and {d} before {c}, unless each \
         write depends on the read"
    ))
}

/// Reads that a later write of their thread could come before.
fn pairs(steps: &[Performed]) -> Vec<Pair> {
    let mut open: BTreeMap<u32, Vec<(u32, usize)>> = BTreeMap::new();
    let mut pairs: Vec<Pair> = Vec::new();
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
            let later = reads.iter().filter(|(read, _)| *read != addr);
            pairs.extend(later.map(|&read| Pair { thread, read, write: (addr, at) }));
        }
        if step.access.kind.reads() && order.is_atomic() && !order.acquires() {
            reads.push((addr, at));
        }
    }
    pairs
}
