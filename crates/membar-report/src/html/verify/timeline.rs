//! An execution with time from left to right, and what each thread may still read where there are no store buffers.
//!
//! Time is counted in steps of the case's machine, so that the picture and the stepper move together. A store is a bar from the step
//! that makes it to the one after which others see it: under tso and pso that is when it reaches memory, under c11 when no other thread
//! may read anything older. A read below that misses it is joined to the bar.

use super::run::{Run, Shown};
use crate::html::page::{Machine, Mark, Node, Timeline, TimelineEnd, Track, View};
use crate::kinds::{OpName, StepKind};
use crate::verify::{StepRef, ViolationRef};
use membar_core::AccessKind;
use std::collections::{BTreeMap, BTreeSet};

/// Steps that are drawn.
const DRAWN: usize = 60;
/// Variables that are drawn.
const VARIABLES: usize = 8;
/// Steps and variables with which views are listed.
const VIEWED: (usize, usize) = (80, 16);

/// An operation that misses or overtakes another one, and what that is called.
pub(super) struct Miss {
    /// The node that it is about.
    pub(super) node: usize,
    /// The node of the store.
    pub(super) store: usize,
    /// `misses` or `overtakes`.
    pub(super) verb: &'static str,
}

/// The picture of a machine's steps: `misses` are operations that go wrong; `late` says after which step a store is
/// seen if the machine does not; `end` is what happens in the end, and in which thread.
pub(super) fn timeline(
    machine: &Machine,
    nodes: &[Node],
    misses: &[Miss],
    late: Option<&BTreeMap<usize, usize>>,
    end: Option<(u32, String)>,
) -> Option<Timeline> {
    let steps = &machine.steps;
    let first = steps.len().saturating_sub(DRAWN);
    let commit = |from: usize| {
        let after = steps.iter().enumerate().skip(from + 1);
        after.filter(|(_, step)| step.step == StepKind::Commit).find(|(_, step)| step.node == steps[from].node)
    };
    let mut marks: Vec<Mark> = Vec::new();
    for (at, step) in steps.iter().enumerate().filter(|(_, step)| step.step == StepKind::Issue) {
        let node = &nodes[step.node];
        if node.kind == OpName::Control && !misses.iter().any(|miss| miss.node == step.node || miss.store == step.node)
        {
            continue;
        }
        let buffered = node.kind == OpName::Store && matches!(machine.buffers, "thread" | "address");
        let until = match late {
            _ if buffered => commit(at).map(|(to, _)| to),
            Some(late) if node.write.is_some() => late.get(&step.node).copied(),
            _ => Some(at),
        };
        let until = until.unwrap_or(steps.len());
        // Stores made long ago and not seen yet are drawn from the left edge.
        if until < first {
            continue;
        }
        marks.push(Mark { node: step.node, step: at.max(first), until, before: at < first, ..Mark::default() });
    }
    for &Miss { node, store, verb } in misses {
        let what = match &nodes[store].write {
            Some(value) => format!("{verb} {} := {value}", nodes[store].address),
            None => format!("{verb} {}", nodes[store].address),
        };
        let store = marks.iter().position(|mark| mark.node == store);
        if let (Some(store), Some(mark)) = (store, marks.iter_mut().find(|mark| mark.node == node)) {
            mark.misses.push(store);
            mark.says = what;
        }
    }
    if marks.len() < 2 {
        return None;
    }
    let mut lanes: Vec<u32> = Vec::new();
    // A store that is missed above the read that misses it, then the others.
    let missed = misses.iter().flat_map(|miss| [miss.store, miss.node]).map(|node| nodes[node].thread);
    for thread in missed.chain(marks.iter().map(|mark| nodes[mark.node].thread)).chain(end.iter().map(|end| end.0)) {
        if !lanes.contains(&thread) {
            lanes.push(thread);
        }
    }
    let end = end.map(|(thread, words)| TimelineEnd { thread, words });
    Some(Timeline { lanes, marks, memory: tracks(machine, nodes, misses, first), first, end })
}

/// What memory holds, variable by variable; those that matter first.
fn tracks(machine: &Machine, nodes: &[Node], misses: &[Miss], first: usize) -> Vec<Track> {
    let mut names: Vec<&str> = Vec::new();
    let missed = misses.iter().map(|miss| nodes[miss.node].address.as_str());
    let used = machine.steps[first..].iter().map(|step| &nodes[step.node]);
    let used = used.filter(|node| node.kind != OpName::Control).map(|node| node.address.as_str());
    for name in missed.chain(used) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    let track = |name: &&str| {
        let initial = machine.memory.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.clone());
        let mut values: Vec<(usize, String)> = vec![(0, initial.unwrap_or_else(|| "?".into()))];
        for (at, step) in machine.steps.iter().enumerate() {
            let node = &nodes[step.node];
            let buffered = node.kind == OpName::Store && matches!(machine.buffers, "thread" | "address");
            let arrives = (step.step == StepKind::Commit) == buffered;
            if let Some(value) = node.write.as_ref().filter(|_| arrives && node.address == **name) {
                values.push((at, value.clone()));
            } else if let Some(value) = node.read.as_ref().filter(|_| node.address == **name && values[0].1 == "?") {
                // Read before it is written: what was there at first.
                let untouched = values.len() == 1 && machine.buffers != "views";
                values[0].1 = if untouched { value.clone() } else { "?".into() };
            }
        }
        // Of what came before the picture only the last is left.
        let from = values.iter().rposition(|(at, _)| *at < first).unwrap_or(0);
        let mut values = values.split_off(from);
        values[0].0 = values[0].0.max(first);
        Track { name: (*name).to_owned(), values }
    };
    names.iter().take(VARIABLES).map(track).collect()
}

/// What threads may still read after each step, by the rules of C11 that any order obeys: nothing older than what they have written or
/// read, or than what happens before. Also the step after which no other thread may read anything older than a write.
pub(super) fn views(
    machine: &mut Machine,
    steps: &[StepRef],
    run: &Run<'_>,
    hb: &[(usize, usize)],
    shown: &Shown,
) -> BTreeMap<usize, usize> {
    let issued: Vec<&StepRef> = steps.iter().filter(|step| step.step == StepKind::Issue).collect();
    let threads: BTreeSet<u32> = issued.iter().map(|step| step.access.thread).collect();
    let mut users: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for step in &issued {
        users.entry(step.access.address.as_str()).or_default().insert(step.access.thread);
    }
    let names: Vec<&str> = machine.memory.iter().map(|(name, _)| name.as_str()).collect();
    // For each thread and variable the oldest write that it may read: 0 is the initial value.
    let mut seen: BTreeMap<u32, BTreeMap<&str, usize>> =
        threads.iter().map(|&thread| (thread, BTreeMap::new())).collect();
    let mut passed: BTreeMap<usize, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut made: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut late: BTreeMap<usize, usize> = BTreeMap::new();
    let mut views: Vec<Vec<View>> = Vec::new();
    let listed = machine.steps.len() <= VIEWED.0 && names.len() <= VIEWED.1;
    let place = |address: &str, event: usize| {
        run.order.get(address).and_then(|writes| writes.iter().position(|&write| write == event)).map(|at| at + 1)
    };
    for step in &issued {
        let (access, event) = (&step.access, step.event);
        let address = access.address.as_str();
        let own = seen.entry(access.thread).or_default();
        if let Some(source) = run.events.get(&event).and_then(|known| known.source) {
            if hb.contains(&(source, event)) {
                for (name, at) in passed.get(&source).into_iter().flatten() {
                    let known = own.entry(name).or_default();
                    *known = (*known).max(*at);
                }
            }
            let known = own.entry(address).or_default();
            *known = (*known).max(place(address, source).unwrap_or(0));
        }
        if access.write.is_some() {
            if let Some(at) = place(address, event) {
                let known = own.entry(address).or_default();
                *known = (*known).max(at);
            }
            made.entry(address).or_default().push(event);
        }
        passed.insert(event, own.clone());
        let Some(at) = machine.steps.iter().position(|kept| shown.index.get(&event) == Some(&kept.node)) else {
            continue;
        };
        // Which writes nobody may miss any more.
        for (name, events) in &made {
            for &write in events {
                let (Some(order), Some(&node)) = (place(name, write), shown.index.get(&write)) else { continue };
                let knows = |thread: &u32| seen[thread].get(name).is_some_and(|&least| least >= order);
                if users[name].iter().all(knows) {
                    late.entry(node).or_insert(at);
                }
            }
        }
        if listed {
            let values = |thread: u32, name: &&str| {
                let least = seen[&thread].get(*name).copied().unwrap_or(0);
                let writes = run.order.get(*name).map_or(&[][..], |writes| writes);
                let mut values: Vec<String> = Vec::new();
                if least == 0 {
                    values.extend(run.initial.get(*name).map(|value| (*value).to_owned()));
                }
                for (order, write) in writes.iter().enumerate().filter(|(order, _)| order + 1 >= least) {
                    let is_made = made.get(*name).is_some_and(|made| made.contains(write));
                    let value = run.events[write].access.write.clone().filter(|_| is_made && order + 1 >= least);
                    values.extend(value);
                }
                values.dedup();
                ((*name).to_owned(), values)
            };
            let view = |(number, &thread): (usize, &u32)| View {
                thread: number as u32,
                values: names.iter().map(|name| values(thread, name)).collect(),
            };
            views.push(threads.iter().enumerate().map(view).collect());
        }
    }
    machine.views = views;
    late
}

/// What goes wrong in a violation: a read misses the store that is delayed; a store overtakes it; or, where that is a read-modify-write, which is
/// never delayed, an access overtakes a store before it in its own thread.
pub(super) fn missed(violation: &ViolationRef, shown: &Shown) -> Option<Miss> {
    let event = |wanted: fn(&&StepRef) -> bool| violation.run.iter().find(wanted).map(|step| step.event);
    let (overtaking, delayed) = (event(|step| step.overtakes)?, event(|step| step.delayed)?);
    let own = violation.cycle.iter().rev().find(|link| link.kept == Some(false)).map(|link| link.event);
    let (store, verb) = match (violation.store.kind, own) {
        (AccessKind::Rmw, Some(own)) => (own, "overtakes"),
        _ if violation.access.kind != AccessKind::Store => (delayed, "misses"),
        _ if violation.is_c11() => (delayed, "comes before"),
        _ => (delayed, "overtakes"),
    };
    Some(Miss { node: *shown.index.get(&overtaking)?, store: *shown.index.get(&store)?, verb })
}
