//! The same proof in the form that people follow most easily.
//!
//! Problem: where a read `L` of `S` proves with R6 that another write `S'` is before `S`, and the rest of the cycle leads
//! from `S` back to `S'`, the path from `S'` to `L` is hidden in the premises and the cycle is short but says little; with
//! initial values it even says that a write is before the initial value.
//!
//! Algorithm: the mirror image of that step. By R7 the rest of the cycle proves `L` before `S'`, and then the path from
//! `S'` to `L` itself is what the cycle consists of: write, read, …, back to the write. Done in lemmas whose cycle has
//! exactly one R6 step, about an operation. Steps that are no longer needed are dropped.
//!
//! Guarantees: the result has at most as many steps, and each follows by its rule. It is a proof like any other, to be
//! certified before it is shown.

use membar_core::{Event, Lemma, Model, Proof, ProofStep, Rule};

/// The proof in readable form. Where the model has no write order, R7 is not a premise of anything, and the proof stays as it is.
pub fn readable(proof: Proof, model: &Model) -> Proof {
    match proof {
        Proof::Cycle(lemmas) if model.write_order => Proof::Cycle(lemmas.into_iter().map(unfolded).collect()),
        other => other,
    }
}

fn unfolded(lemma: Lemma) -> Lemma {
    let is_inferred =
        |step: u32| lemma.steps.get(step as usize).is_some_and(|step| matches!(step.rule, Rule::BeforeRead { .. }));
    let mut inferred = (0..lemma.cycle.len()).filter(|&place| is_inferred(lemma.cycle[place]));
    let (Some(place), None) = (inferred.next(), inferred.next()) else { return lemma };
    let folded = &lemma.steps[lemma.cycle[place] as usize];
    let Rule::BeforeRead { load } = folded.rule else { return lemma };
    if load == Event::FINAL || folded.from == Event::INIT || folded.premises.is_empty() || lemma.cycle.len() < 2 {
        return lemma;
    }
    let mut rest = lemma.cycle.clone();
    rest.rotate_left(place);
    rest.remove(0);
    let mirror = ProofStep { from: load, to: folded.from, rule: Rule::AfterRead, premises: rest };
    let mut cycle = folded.premises.clone();
    cycle.push(lemma.steps.len() as u32);
    let mut steps = lemma.steps;
    steps.push(mirror);
    needed(Lemma { assume: lemma.assume, steps, cycle })
}

/// Without the steps that the cycle does not rest on.
fn needed(mut lemma: Lemma) -> Lemma {
    let mut keep = vec![false; lemma.steps.len()];
    for &step in &lemma.cycle {
        keep[step as usize] = true;
    }
    // Premises are earlier steps.
    for at in (0..lemma.steps.len()).rev().filter(|&at| keep[at]).collect::<Vec<_>>() {
        mark(&lemma, at, &mut keep);
    }
    let mut next = 0;
    let places: Vec<u32> = keep
        .iter()
        .map(|&keep| {
            next += u32::from(keep);
            next.saturating_sub(1)
        })
        .collect();
    let mut at = 0;
    lemma.steps.retain(|_| {
        at += 1;
        keep[at - 1]
    });
    let premises = lemma.steps.iter_mut().flat_map(|step| &mut step.premises);
    for index in premises.chain(&mut lemma.cycle) {
        *index = places[*index as usize];
    }
    lemma
}

/// Keeps what the step rests on.
fn mark(lemma: &Lemma, at: usize, keep: &mut [bool]) {
    let mut todo = vec![at];
    while let Some(at) = todo.pop() {
        for &premise in &lemma.steps[at].premises {
            if !std::mem::replace(&mut keep[premise as usize], true) {
                todo.push(premise as usize);
            }
        }
    }
}
