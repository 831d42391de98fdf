//! From violations as they are found to what reports show, each confirmed.

use crate::Failure;
use crate::certify::rc11;
use crate::core::{Access, Order, ProgramModel, Relation};
use crate::programs::{Run, Stand, Subject};
use crate::report::kinds::StepKind;
use crate::report::safe;
use crate::report::verify::{
    AccessRef, EndRef, FenceRef, Harm, LinkRef, NoteRef, StepRef, ViolationRef, ordered, shape,
};
use crate::verify::{Event, Explanation, Found, Link, RunStep, explain_run};
use std::collections::BTreeMap;
use std::time::Instant;

/// A violation, explained.
pub struct Case<T> {
    /// The SC run that shows it.
    pub run: Run<T>,
    /// The execution under the model.
    pub explanation: Explanation,
}

/// Runs the schedule of a violation again and explains what could happen there. `None` if it cannot be.
pub fn case<S: Subject>(subject: &mut S, found: &Found) -> Result<Option<Case<S::Detail>>, Failure> {
    let run = subject.trace(&found.schedule.0)?;
    let next = match run.next.get(found.thread as usize) {
        Some(Stand::Access(access)) => Some(*access),
        _ => None,
    };
    if run.steps.len() < found.schedule.0.len() {
        return Ok(None);
    }
    let explanation = explain_run(&run.steps, next, found);
    Ok(explanation.map(|explanation| Case { run, explanation }))
}

/// The findings, in words.
pub struct Explained {
    /// Those with short executions first. Each has been confirmed by separate code.
    pub violations: Vec<ViolationRef>,
    /// How many there was no time for.
    pub left: usize,
    /// How many are in executions that are too long for the certifier.
    pub long: usize,
    /// Notes about those that were not confirmed because they are about parts of what is taken for one location.
    pub apart: Vec<NoteRef>,
}

/// All violations in words.
pub fn violations<S: Subject>(
    subject: &mut S,
    found: &[Found],
    model: ProgramModel,
    until: Option<Instant>,
) -> Result<Explained, Failure> {
    let mut cases = Vec::new();
    let late = || until.is_some_and(|until| Instant::now() >= until);
    let (mut left, mut long, mut apart) = (0, 0, Vec::new());
    for found in found {
        let case = if late() { Err(Failure::Late) } else { case(subject, found) };
        let case = match case {
            Err(Failure::Late) => {
                left += 1;
                continue;
            }
            case => case?,
        };
        if case.as_ref().is_some_and(|case| is_apart(subject, case)) {
            apart.push(subject.apart(found.store_site, found.access_site));
            continue;
        }
        if model == ProgramModel::C11 && case.as_ref().is_some_and(|case| case.explanation.claims().len() > rc11::MOST)
        {
            long += 1;
            continue;
        }
        // Separate code runs it on a machine with buffers, compares what is read, and looks for a cycle by itself.
        let confirmed = case.filter(|case| subject.confirms(model, &case.explanation));
        let Some(case) = confirmed else {
            if late() {
                left += 1;
                continue;
            }
            if subject.has_parts() {
                // The machine has whole locations in its buffers, and cannot make it.
                apart.push(subject.apart(found.store_site, found.access_site));
                continue;
            }
            return Err(Failure::Internal(format!(
                "a violation could not be confirmed ({}, schedule {})",
                safe(subject.name()),
                found.schedule,
            )));
        };
        let place = |i: usize| {
            let event = &case.explanation.events[i];
            (subject.place(&case.run, event), event.thread)
        };
        let key = (case.explanation.run.len(), place(case.explanation.store), place(case.explanation.events.len() - 1));
        cases.push((key, found, case));
    }
    // Before anything is named: names are numbered as they are mentioned.
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    // A compiler may copy code: instructions that stand for the same accesses of the source are one.
    let mut shown = Vec::new();
    cases.retain(|(key, _, case)| {
        let kind = |i: usize| case.explanation.events[i].access.kind;
        let ends = (kind(case.explanation.store), kind(case.explanation.events.len() - 1));
        let places = (key.1.0.clone(), key.2.0.clone(), ends);
        let new = !shown.contains(&places);
        if new {
            shown.push(places);
        }
        new
    });
    // A cycle that is found from both of its ends is one.
    let mut violations: Vec<ViolationRef> = Vec::new();
    let mut cycles = Vec::new();
    for (_, found, case) in &cases {
        let event = |link: &Link| &case.explanation.events[link.from];
        let place = |event: &Event| (event.thread, subject.place(&case.run, event));
        let mut cycle: Vec<_> = case.explanation.cycle.iter().map(event).map(place).collect();
        cycle.sort();
        let known = cycles.iter().position(|known| *known == cycle);
        let violation = violation(subject, found, case);
        match known {
            Some(at) => {
                let ViolationRef { store, access, schedule, executions, .. } = violation;
                violations[at].also.push(EndRef { store, access, schedule, executions });
            }
            None => {
                cycles.push(cycle);
                violations.push(violation);
            }
        }
    }
    Ok(Explained { violations, left, long, apart })
}

/// Whether the cycle needs accesses to follow each other that have no byte in common.
fn is_apart<S: Subject>(subject: &S, case: &Case<S::Detail>) -> bool {
    let Explanation { events, cycle, .. } = &case.explanation;
    let conflicts = cycle.iter().filter(|link| !matches!(link.relation, Relation::Po | Relation::Ppo));
    conflicts.into_iter().any(|link| !subject.overlap(&case.run, &events[link.from], &events[link.to]))
}

/// The values of these events' variables before the run.
pub fn initial<S: Subject>(subject: &mut S, run: &Run<S::Detail>, events: &[Event]) -> Vec<(String, String)> {
    let mut known = BTreeMap::new();
    for event in events {
        let first = run.steps.iter().find(|step| step.access.addr == event.access.addr);
        let apart = |first: &Access| (first.is_wide() || event.access.is_wide()) && first.part != event.access.part;
        if let Some(value) = first.filter(|first| !apart(&first.access)).map(|first| event.access.part_of(first.old)) {
            let place = (event.access.addr, event.access.part);
            known.entry(place).or_insert(Event { read: Some(value), write: None, ..*event });
        }
    }
    let accesses = known.values().map(|event| subject.access(run, event)).filter(|access| !access.control);
    accesses.filter_map(|access| Some((access.address, access.read?))).collect()
}

/// A memory order that an access needs.
pub fn needed(event: &Event, access: &AccessRef, order: Order) -> FenceRef {
    let order = event.access.c11.order().join(order);
    FenceRef {
        file: access.file.clone(),
        function: access.function.clone(),
        thread_name: access.thread_name.clone(),
        fence: order.name().into(),
        replaces: Some(event.access.c11.order().name().into()),
        order: ordered(access, order),
        edits: Vec::new(),
        after_line: access.line,
        after_column: access.column,
        before_line: access.line,
        before_column: access.column,
        tried_before: false,
        crowded: false,
    }
}

fn violation<S: Subject>(subject: &mut S, found: &Found, case: &Case<S::Detail>) -> ViolationRef {
    let Case { run, explanation } = case;
    let events: Vec<_> = explanation.events.iter().map(|event| subject.access(run, event)).collect();
    let overtaking = events.len() - 1;
    let link = |link: &Link| LinkRef {
        access: events[link.from].clone(),
        event: link.from,
        ordered: (found.model.machine().is_none() && link.relation == Relation::Rf)
            .then(|| explanation.ordered.contains(&(link.from, link.to))),
        relation: if link.relation == Relation::Ppo { Relation::Po } else { link.relation },
        kept: match link.relation {
            Relation::Ppo => Some(true),
            Relation::Po if found.model.machine().is_some() => Some(false),
            _ => None,
        },
    };
    let step = |step: &RunStep| {
        let (step, i) = match *step {
            RunStep::Issue(i) => (StepKind::Issue, i),
            RunStep::Commit(i) => (StepKind::Commit, i),
        };
        let (delayed, overtakes) = (i == explanation.store, i == overtaking && step == StepKind::Issue);
        StepRef { step, access: events[i].clone(), delayed, overtakes, misses: None, event: i }
    };
    let fences = &explanation.fences;
    let cycle: Vec<LinkRef> = explanation.cycle.iter().map(link).collect();
    let access = |i: usize| &explanation.events[i].access;
    let overlap =
        |one: usize, other: usize| access(one).addr == access(other).addr && access(one).overlaps(access(other));
    let sources = || explanation.cycle.iter().map(|link| link.from);
    let mixed = sources().any(|i| sources().any(|j| overlap(i, j) && access(i).part != access(j).part));
    ViolationRef {
        // The names are for addresses that are accessed as a whole.
        shape: if mixed { None } else { shape(&cycle, &overlap) },
        cycle,
        store: events[explanation.store].clone(),
        access: events[overtaking].clone(),
        run: explanation.run.iter().map(step).collect(),
        initial: initial(subject, run, &explanation.events),
        fences: fences
            .iter()
            .map(|f| subject.fence(f.barrier, &events[f.after], &events[f.before]))
            .chain(explanation.orders.iter().map(|&(i, order)| needed(&explanation.events[i], &events[i], order)))
            .collect(),
        schedule: found.schedule.to_string(),
        executions: found.executions,
        certified: true,
        hb: explanation.ordered.clone(),
        also: Vec::new(),
        harm: Harm::Unknown,
        allowed: Vec::new(),
    }
}
