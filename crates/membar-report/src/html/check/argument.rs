//! The proof as an argument, step by step.

use super::super::page::{ArgumentStep, Axiom, FINAL, INITIAL, Lemma};
use super::super::rules;
use super::Drawing;
use crate::data::{EventRef, StepRef};
use crate::words::Words;
use membar_core::{OpId, Proof, Rule};

/// Steps of the argument that are listed at most.
const STEPS: usize = 400;

pub(super) fn axioms(proof: &Proof) -> Vec<Axiom> {
    let mut axioms: Vec<Axiom> = Vec::new();
    match proof.leaf() {
        Proof::Unwritten(_) | Proof::UnwrittenFinal(_) | Proof::Unreserved(_) | Proof::Cases { .. } => {
            axioms.push(rules::axiom(Rule::ReadsFrom));
        }
        Proof::Cycle(lemmas) => {
            for step in lemmas.iter().flat_map(|lemma| &lemma.steps) {
                let axiom = rules::axiom(step.rule);
                if !matches!(step.rule, Rule::Init | Rule::Final) && !axioms.contains(&axiom) {
                    axioms.push(axiom);
                }
            }
        }
    }
    axioms
}

pub(super) fn lemmas(
    drawing: &Drawing<'_>,
    proof: &Proof,
    violation: &crate::data::Violation,
    notes: &mut Vec<String>,
) -> Vec<Lemma> {
    let Proof::Cycle(lemmas) = proof else { return Vec::new() };
    let mut left = STEPS;
    let mut shown = Vec::new();
    // The last lemma is the one that counts; of the cases before it as many as there is room for.
    let needed = lemmas.last().map_or(0, |lemma| lemma.steps.len());
    left = left.saturating_sub(needed);
    for (lemma, data) in lemmas.iter().zip(&violation.lemmas).rev().skip(1).rev() {
        if lemma.steps.len() > left {
            break;
        }
        left -= lemma.steps.len();
        shown.push(one_lemma(drawing, lemma, data));
    }
    let omitted = lemmas.len() - 1 - shown.len();
    if omitted > 0 {
        notes.push(format!(
            "Of the {} cases of the argument {omitted} are left out here; `--format json` has all of them.",
            lemmas.len() - 1
        ));
    }
    if let (Some(lemma), Some(data)) = (lemmas.last(), violation.lemmas.last()) {
        shown.push(one_lemma(drawing, lemma, data));
    }
    shown
}

pub(super) fn one_lemma(drawing: &Drawing<'_>, lemma: &membar_core::Lemma, data: &crate::data::LemmaRef) -> Lemma {
    let assume = data.assume.iter().map(|a| format!("{} is before {}", a.first.long(), a.second.long())).collect();
    let numbers = numbers(lemma, &data.cycle);
    let step = |((step, data), number): ((&membar_core::ProofStep, &StepRef), &Option<u32>)| ArgumentStep {
        number: *number,
        why: drawing.words.why(lemma, step, &numbers),
        ..one_step(drawing, step, data)
    };
    let steps = lemma.steps.iter().zip(&data.steps).zip(&numbers).map(step).collect();
    Lemma { assume, steps, cycle: data.cycle.clone() }
}

/// Numbers in the order in which a page is read: the cycle, then what its steps rest on, as it is opened.
fn numbers(lemma: &membar_core::Lemma, cycle: &[u32]) -> Vec<Option<u32>> {
    let mut numbers = vec![None; lemma.steps.len()];
    let mut next = 0;
    let mut todo: Vec<u32> = Vec::new();
    let mut number = |at: u32| {
        let step = &lemma.steps[at as usize];
        let new = numbers[at as usize].is_none() && !matches!(step.rule, Rule::Init | Rule::Final);
        if new {
            next += 1;
            numbers[at as usize] = Some(next);
        }
        new
    };
    for &at in cycle {
        number(at);
    }
    for &at in cycle {
        todo.extend(lemma.steps[at as usize].premises.iter().rev());
        while let Some(at) = todo.pop() {
            if number(at) {
                todo.extend(lemma.steps[at as usize].premises.iter().rev());
            }
        }
    }
    numbers
}

pub(super) fn one_step(drawing: &Drawing<'_>, step: &membar_core::ProofStep, data: &StepRef) -> ArgumentStep {
    let mut ops: Vec<OpId> = step.from.as_op().into_iter().chain(step.to.as_op()).collect();
    match step.rule {
        Rule::Membar { fence } => ops.push(fence),
        Rule::OwnStore { load } => ops.push(load),
        Rule::BeforeRead { load } => ops.extend(load.as_op()),
        _ => {}
    }
    let mut observed: Vec<String> = Vec::new();
    for &op in &ops {
        let said = observed_of(&drawing.words, op);
        if !observed.contains(&said) {
            observed.push(said);
        }
    }
    for event in [&data.edge.from, &data.edge.to] {
        if let EventRef::End(end) = event
            && let (Some(address), Some(line)) = (&end.address, end.line)
        {
            let word = if end.initial { "init" } else { "final" };
            observed.push(format!("line {line}: {word} {address}"));
        }
    }
    ArgumentStep {
        number: data.step,
        from: drawing.event(step.from).unwrap_or(INITIAL),
        to: drawing.event(step.to).unwrap_or(FINAL),
        from_text: data.edge.from.long(),
        to_text: data.edge.to.long(),
        kind: rules::relation(step.rule),
        rule: step.rule.name().name(),
        says: rules::says(step.rule),
        axiom: step.rule.axiom().name(),
        why: data.edge.why.clone(),
        premises: step.premises.clone(),
        lemma: data.lemma,
        nodes: ops.iter().filter_map(|&op| drawing.node(op)).collect(),
        observed,
    }
}

/// `line 4: thread 1 loaded 0 from x`
pub(super) fn observed_of(words: &Words<'_>, op: OpId) -> String {
    let trace = words.trace;
    let at = words.op(op);
    let time = match (trace.span(op).begin, trace.span(op).end) {
        (None, None) => String::new(),
        (begin, end) => {
            let moment = |at: Option<u64>| at.map_or_else(|| "?".into(), |at| at.to_string());
            format!(", pending from {} to {}", moment(begin), moment(end))
        }
    };
    format!("line {}: thread {} did {}{time}", at.line, at.thread, at.text)
}
