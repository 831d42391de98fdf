//! Why a search does not end, in words, and what to try instead.
//!
//! # Problem
//!
//! A search that ran into its limit has said nothing that its user can act on: which threads and which variables have so many
//! orders, and which smaller test would still be worth running?
//!
//! # Algorithm
//!
//! Some of the branches that are left, evenly spread, are run once more, and the races in them are counted by
//! variable: each is a choice that the search has to make both ways. How often an instruction is made in one execution
//! tells where a loop multiplies them.
//!
//! # Guarantees
//!
//! Nothing is counted while the search runs. The result is about executions that the search has reached; it is a hint,
//! not a measure of what is left.
//!
//! # Complexity
//!
//! Linear in the steps of the sampled branches, times threads.

use crate::core::Performed;
use crate::explore::{Step, Strategy};
use crate::programs::{Run, Subject};
use crate::report::verify::AccessRef;
use crate::verify::{Checkpoint, Event};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Branches that are examined, and the time that may take.
const SAMPLES: usize = 16;
const TIME: Duration = Duration::from_millis(300);
/// Variables that are named, and places of each.
const NAMED: usize = 3;
const PLACES: usize = 4;

/// Advice about a loop whose rounds differ.
pub const ROUND: &str = "if it waits there, see that no round leaves anything changed (a counter, say); otherwise fewer rounds, \
                         or longer executions: --steps N";

/// The reason why a search is large.
#[derive(Debug, Default)]
pub struct Size {
    /// The variables that threads race on most, in words.
    pub races: Vec<String>,
    /// Something to try.
    pub next: String,
}

/// A variable that threads race on.
#[derive(Default)]
struct Hot {
    /// Most races in one execution.
    races: usize,
    threads: BTreeSet<u32>,
    /// Steps that race, one for each instruction: in which run, and which.
    steps: BTreeMap<u32, (usize, usize)>,
}

/// The reason why the search that is left here is large. `None` if nothing shows.
pub fn size<S: Subject>(subject: &mut S, checkpoint: &Checkpoint) -> Option<Size> {
    let began = Instant::now();
    let mut runs: Vec<Run<S::Detail>> = Vec::new();
    for schedule in checkpoint.search.branches(SAMPLES) {
        if began.elapsed() > TIME {
            break;
        }
        runs.push(subject.trace(&schedule).ok()?);
    }
    let mut hot: BTreeMap<u32, Hot> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        let mut own: BTreeMap<u32, usize> = BTreeMap::new();
        for (first, second) in races(&run.steps) {
            let addr = run.steps[first].access.addr;
            *own.entry(addr).or_default() += 1;
            let known = hot.entry(addr).or_default();
            for at in [first, second] {
                known.threads.insert(run.steps[at].thread);
                known.steps.entry(run.steps[at].access.site).or_insert((number, at));
            }
        }
        for (addr, races) in own {
            let known = hot.entry(addr).or_default();
            known.races = known.races.max(races);
        }
    }
    let mut all: Vec<&Hot> = hot.values().collect();
    all.sort_by_key(|hot| std::cmp::Reverse(hot.races));
    let mut size = Size::default();
    let mut loops: Option<(usize, String)> = None;
    for hot in all {
        let mut accesses = Vec::new();
        for &(number, at) in hot.steps.values() {
            let run = &runs[number];
            let step = &run.steps[at];
            let access = subject.access(run, &Event::new(at, step));
            let same = |made: &&Performed| (made.thread, made.access.site) == (step.thread, step.access.site);
            let rounds = run.steps.iter().filter(same).count();
            if rounds > 1 && access.line > 0 && loops.as_ref().is_none_or(|(most, _)| rounds > *most) {
                loops = Some((rounds, place(&access)));
            }
            accesses.push(access);
        }
        if !accesses.iter().any(|access| access.control) && size.races.len() < NAMED {
            let names: Vec<String> = hot.threads.iter().map(|thread| subject.thread_name(*thread)).collect();
            size.races.push(words(&names, &accesses, hot.races));
        }
    }
    if size.races.is_empty() {
        // Nobody races yet: the search is still on its way through one long execution.
        let cut = checkpoint.seen.cut.as_ref().and_then(|cut| subject.trace(&cut.0).ok());
        let longest = cut.into_iter().chain(runs).max_by_key(|run| run.steps.len())?;
        size.races.push(goes_round(subject, &longest)?);
        size.next = ROUND.into();
        return Some(size);
    }
    let threads: BTreeSet<u32> = runs.iter().flat_map(|run| run.steps.iter().map(|step| step.thread)).collect();
    size.next = next(threads.len(), loops.as_ref(), checkpoint.settings.strategy);
    Some(size)
}

/// Which thread of an execution that reached the limit of steps goes round, and where: `T1 goes round at poll.c:7 `while …``.
pub fn round<S: Subject>(subject: &mut S, schedule: &[Step]) -> Option<String> {
    let run = subject.trace(schedule).ok()?;
    goes_round(subject, &run)
}

/// The same of an execution that has been run.
fn goes_round<S: Subject>(subject: &mut S, run: &Run<S::Detail>) -> Option<String> {
    /// Steps that are examined: those of the last rounds.
    const LAST: usize = 32;
    let mut made: BTreeMap<u32, usize> = BTreeMap::new();
    run.steps.iter().for_each(|step| *made.entry(step.thread).or_default() += 1);
    let (&thread, _) = made.iter().max_by_key(|(_, steps)| **steps)?;
    let own = run.steps.iter().enumerate().filter(|(_, step)| step.thread == thread);
    let mut sites: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (at, step) in own.rev().take(LAST) {
        let (_, times) = sites.entry(step.access.site).or_insert((at, 0));
        *times += 1;
    }
    let again = sites.values().filter(|(_, times)| *times > 2);
    let accesses: Vec<AccessRef> = again.map(|&(at, _)| subject.access(run, &Event::new(at, &run.steps[at]))).collect();
    if accesses.is_empty() {
        return None;
    }
    let mut places: Vec<String> =
        accesses.iter().map(|access| format!("{} `{}`", place(access), access.text)).collect();
    places.dedup();
    places.truncate(PLACES);
    Some(format!("{} goes round at {}", subject.thread_name(thread), places.join(", ")))
}

/// `T1 and T2 race on `q.head` (queue.c:33, queue.c:40) up to 12 times in one execution`
fn words(names: &[String], accesses: &[AccessRef], races: usize) -> String {
    let mut places: Vec<String> = accesses.iter().map(place).collect();
    places.sort();
    places.dedup();
    let more = places.len().saturating_sub(PLACES);
    places.truncate(PLACES);
    if more > 0 {
        places.push(format!("{more} more"));
    }
    let times = if races == 1 { "once".into() } else { format!("up to {races} times") };
    let (names, places) = (joined(names), places.join(", "));
    format!("{names} race on `{}` ({places}) {times} in one execution", accesses[0].address)
}

/// `T1, T2 and T3`
fn joined(names: &[String]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        names => names.concat(),
    }
}

fn place(access: &AccessRef) -> String {
    match &access.function {
        None => format!("{} line {}", access.thread_name, access.line),
        Some(_) => format!("{}:{}", access.file.rsplit('/').next().unwrap_or(&access.file), access.line),
    }
}

fn next(threads: usize, loops: Option<&(usize, String)>, strategy: Strategy) -> String {
    let mut smaller = Vec::new();
    if threads > 3 {
        smaller.push("2 or 3 threads".to_owned());
    }
    if let Some((rounds, place)) = loops {
        smaller.push(format!("1 or 2 rounds instead of {rounds} at {place}"));
    }
    let mut all = Vec::new();
    match smaller.is_empty() {
        false => all.push(format!("a smaller test can be explored to its end: {}", smaller.join(" and "))),
        true => all.push("a smaller test can be explored to its end: fewer operations of each thread".to_owned()),
    }
    if !matches!(strategy, Strategy::Bounded { .. }) {
        all.push("or only executions with few preemptions: --strategy bounded --preemptions 2".into());
    }
    all.join("; ")
}

/// The pairs of steps that race: they conflict, and nothing orders them but that.
fn races(steps: &[Performed]) -> Vec<(usize, usize)> {
    let threads = steps.iter().map(|step| step.thread as usize + 1).max().unwrap_or(0);
    let mut now = vec![vec![0u32; threads]; threads];
    let mut clocks: Vec<Vec<u32>> = Vec::with_capacity(steps.len());
    // Of each cell the last write and the reads since.
    let mut cells: BTreeMap<u32, (Option<usize>, Vec<usize>)> = BTreeMap::new();
    let mut races = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let thread = step.thread as usize;
        let mut clock = std::mem::take(&mut now[thread]);
        clock[thread] += 1;
        let (write, reads) = cells.entry(step.access.addr).or_default();
        let since = if step.writes { &reads[..] } else { &[] };
        for &other in since.iter().rev().chain(write.iter()) {
            let by = steps[other].thread as usize;
            if clock[by] < clocks[other][by] {
                races.push((other, at));
                clock.iter_mut().zip(&clocks[other]).for_each(|(a, &b)| *a = (*a).max(b));
            }
        }
        if step.writes {
            (*write, *reads) = (Some(at), Vec::new());
        } else {
            reads.push(at);
        }
        clocks.push(clock.clone());
        now[thread] = clock;
    }
    races
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Access, AccessKind, Barrier, C11};

    fn step(thread: u32, addr: u32, writes: bool) -> Performed {
        let kind = if writes { AccessKind::Store } else { AccessKind::Load };
        let access =
            Access { kind, barrier: Barrier::None, c11: C11::default(), part: 0, addr, site: 0, expected: None };
        Performed { thread, access, writes, old: 0, new: 0 }
    }

    #[test]
    fn only_unordered_accesses_race() {
        // T0 writes x and y; T1 reads y, then x: the second is ordered by the first.
        let steps = [step(0, 0, true), step(0, 1, true), step(1, 1, false), step(1, 0, false)];
        assert_eq!(races(&steps), [(1, 2)]);
        assert_eq!(races(&[step(0, 0, false), step(1, 0, false)]), []);
        assert_eq!(races(&[step(0, 0, false), step(1, 0, false), step(0, 0, true)]), [(1, 2)]);
    }

    #[test]
    fn advice_is_about_the_largest_part() {
        let loops = (9, "q.c:33".to_owned());
        let words = next(5, Some(&loops), Strategy::Dpor);
        assert!(words.contains("2 or 3 threads and 1 or 2 rounds instead of 9 at q.c:33"), "{words}");
        assert!(!next(2, None, Strategy::Bounded { preemptions: 2 }).contains("--preemptions"));
    }
}
