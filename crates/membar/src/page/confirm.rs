//! Confirmation of the executions that a page shows: the models' verdicts, and a machine's run.

use membar::core::{AccessKind, Verdict};
use membar::litmus::{LitmusTest, Model as Machine, Outcomes, Quantifier, Transition, way};
use membar::report::html::{Confirmed, Way};
use membar::report::kinds::StepKind;
use membar::report::verify::{AccessRef, StepRef};
use membar::{Decider, Limits, Trace};
use std::time::Instant;

/// Decides executions under all built-in models, one second each at most.
pub fn confirmer() -> impl FnMut(&Trace, &str) -> Option<Confirmed> {
    let mut decider = Decider::default();
    move |trace, name| {
        let model = membar::model::builtin(name)?;
        let answer = decider.verdict(trace, model, &Limits::default().within(Decider::PER_MODEL)).ok()?;
        let models = decider.models(trace, (model, answer.verdict()), &Limits::default());
        let order = match answer.outcome.verdict {
            Verdict::Allowed(witness) => Some(witness.order),
            _ => None,
        };
        Some(Confirmed { models, model: model.clone(), order })
    }
}

/// How the machine gets to a state that the test asks for, or that it says cannot be: under the first of these models, given
/// with all their states, that has one.
pub fn ways(test: &LitmusTest, file: &str, found: &[(Machine, &Outcomes)]) -> Option<Way> {
    // Only machines with store buffers are run.
    if !test.arch.has_store_buffers() {
        return None;
    }
    let wanted = |state: &Vec<u64>| match test.condition.quantifier {
        Quantifier::Exists | Quantifier::NotExists => test.condition.prop.holds(state),
        Quantifier::Forall => !test.condition.prop.holds(state),
    };
    let (model, state) = found
        .iter()
        // C11 is not a machine.
        .filter(|(model, _)| *model != Machine::C11)
        .find_map(|(model, outcomes)| Some((*model, outcomes.states.iter().find(|state| wanted(state))?)))?;
    let limits =
        membar::litmus::Limits { deadline: Instant::now().checked_add(Decider::PER_MODEL), ..Default::default() };
    let steps = way(test, model, state, &limits)?;
    let shown = |(at, &value): (usize, &u64)| format!("{}={}", test.locations[at].name, test.shown_value(at, value));
    let state: Vec<String> = state.iter().enumerate().map(shown).collect();
    Some(Way { model: model.name().into(), state: state.join("; "), steps: told(test, file, &steps) })
}

/// The machine's steps with their places in the source. A commit belongs to the oldest store of its thread and address that
/// has not reached memory.
fn told(test: &LitmusTest, file: &str, steps: &[Transition]) -> Vec<StepRef> {
    let mut waiting: Vec<(u32, u32, usize)> = Vec::new();
    let mut told: Vec<StepRef> = Vec::new();
    for (event, step) in steps.iter().enumerate() {
        if step.commit {
            let place = waiting.iter().position(|&(thread, cell, _)| (thread, cell) == (step.thread, step.cell));
            let Some((_, _, store)) = place.map(|place| waiting.remove(place)) else { continue };
            let Some(issued) = told.iter().find(|other| other.event == store) else { continue };
            let commit = StepRef { step: StepKind::Commit, ..issued.clone() };
            told.push(commit);
            continue;
        }
        let Some(site) = step.site.and_then(|site| test.code.sites.get(site as usize)) else { continue };
        let cell = &test.code.cells[step.cell as usize];
        let value = |value: u64| match test.pointed_at(value) {
            Some(name) => name.to_owned(),
            None if cell.ty.signed => (cell.ty.wrap(value) as i64).to_string(),
            None => value.to_string(),
        };
        let access = AccessRef {
            file: file.to_owned(),
            function: None,
            line: site.line,
            column: site.column,
            thread: step.thread,
            thread_name: format!("P{}", step.thread),
            text: site.text.clone(),
            kind: step.kind,
            address: cell.name.clone(),
            read: step.read.map(value),
            write: step.write.map(value),
            control: false,
            crowded: false,
            by: None,
        };
        told.push(StepRef { step: StepKind::Issue, access, delayed: false, overtakes: false, misses: None, event });
        if step.kind == AccessKind::Store {
            waiting.push((step.thread, step.cell, event));
        }
    }
    // Under sc there are no buffers, and stores act immediately.
    if steps.iter().all(|step| !step.commit) {
        told = told
            .into_iter()
            .flat_map(|step| {
                let commit =
                    (step.access.kind == AccessKind::Store).then(|| StepRef { step: StepKind::Commit, ..step.clone() });
                [Some(step), commit].into_iter().flatten()
            })
            .collect();
    }
    told
}
