//! From violations as they are found to what reports show, each confirmed.

use super::super::programs::{Run, Stand, Subject};
use crate::stop::Failure;
use membar::core::Relaxation;
use membar::report::safe;
use membar::report::verify::{LinkRef, StepRef, ViolationRef, shape};
use membar::verify::{Explanation, Found, Link, Relation, RunStep, explain_run};
use std::time::Instant;

/// A violation, explained.
pub struct Case<T> {
    /// The SC run that shows it.
    pub run: Run<T>,
    /// The execution under the model.
    pub explanation: Explanation,
}

/// Runs the schedule of a violation again and explains what could happen there. `None` if it cannot be.
pub fn case<S: Subject>(subject: &mut S, found: &Found, model: Relaxation) -> Result<Option<Case<S::Detail>>, Failure> {
    let run = subject.trace(&found.schedule.0)?;
    let next = match run.next.get(found.thread as usize) {
        Some(Stand::Access(access)) => Some(*access),
        _ => None,
    };
    if run.steps.len() < found.schedule.0.len() {
        return Ok(None);
    }
    let explanation = explain_run(&run.steps, next, found, model);
    Ok(explanation.map(|explanation| Case { run, explanation }))
}

/// All violations in words, those with short executions first, and how many there was no time for. Each has been confirmed by
/// separate code.
pub fn violations<S: Subject>(
    subject: &mut S,
    found: &[Found],
    model: Relaxation,
    until: Option<Instant>,
) -> Result<(Vec<ViolationRef>, usize), Failure> {
    let mut cases = Vec::new();
    let late = || until.is_some_and(|until| Instant::now() >= until);
    let mut left = 0;
    for found in found {
        let case = if late() { Err(Failure::Late) } else { case(subject, found, model) };
        let case = match case {
            Err(Failure::Late) => {
                left += 1;
                continue;
            }
            case => case?,
        };
        // Separate code runs it on a machine with buffers, compares what is read, and looks for a cycle by itself.
        let confirmed = case.filter(|case| subject.confirms(model, &case.explanation));
        let Some(case) = confirmed else {
            if late() {
                left += 1;
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
    Ok((cases.iter().map(|(_, found, case)| violation(subject, found, case)).collect(), left))
}

fn violation<S: Subject>(subject: &mut S, found: &Found, case: &Case<S::Detail>) -> ViolationRef {
    let Case { run, explanation } = case;
    let events: Vec<_> = explanation.events.iter().map(|event| subject.access(run, event)).collect();
    let overtaking = events.len() - 1;
    let link = |link: &Link| LinkRef {
        access: events[link.from].clone(),
        event: link.from,
        relation: match link.relation {
            Relation::Po { .. } => "po",
            Relation::Rf => "rf",
            Relation::Co => "co",
            Relation::Fr => "fr",
        },
        kept: match link.relation {
            Relation::Po { kept } => Some(kept),
            _ => None,
        },
    };
    let step = |step: &RunStep| {
        let (step, i) = match *step {
            RunStep::Issue(i) => ("issue", i),
            RunStep::Commit(i) => ("commit", i),
        };
        let (delayed, overtakes) = (i == explanation.store, i == overtaking && step == "issue");
        StepRef { step, access: events[i].clone(), delayed, overtakes, event: i }
    };
    let fences = &explanation.fences;
    let cycle: Vec<LinkRef> = explanation.cycle.iter().map(link).collect();
    ViolationRef {
        shape: shape(&cycle),
        cycle,
        store: events[explanation.store].clone(),
        access: events[overtaking].clone(),
        run: explanation.run.iter().map(step).collect(),
        fences: fences.iter().map(|f| subject.fence(f.barrier, &events[f.after], &events[f.before])).collect(),
        schedule: found.schedule.to_string(),
        executions: found.executions,
        certified: true,
    }
}
