//! Possible causes in the hardware.

use super::super::page::{Fix, Fixes, ModelVerdict};
use super::Drawing;
use super::models::strongest;
use crate::style::list;
use membar_core::{OpId, OpKind, Proof, Rule, VerdictKind};

/// Explanations of the hardware's behaviour: it must have done one of these.
pub(super) fn fixes(drawing: &Drawing<'_>, proof: &Proof, models: &[ModelVerdict]) -> Fixes {
    let trace = drawing.words.trace;
    let line = |op: OpId| format!("line {} ({})", trace.line(op), drawing.words.text(op));
    let mut list_of: Vec<Fix> = Vec::new();
    let mut add = |words: String, ops: &[OpId]| {
        if !list_of.iter().any(|fix| fix.words == words) {
            list_of.push(Fix { words, code: None, nodes: ops.iter().filter_map(|&op| drawing.node(op)).collect() });
        }
    };
    let Some(lemma) = proof.last() else {
        let words = "The load returned something that is not in the trace: another address, part of a word, a torn or \
                     corrupted value, or the trace has lost a store.";
        add(words.into(), &[]);
        return Fixes { title: "What must have happened".into(), list: list_of, ..Fixes::default() };
    };
    let mut values = false;
    for &step in &lemma.cycle {
        let step = &lemma.steps[step as usize];
        let (Some(from), Some(to)) = (step.from.as_op(), step.to.as_op()) else { continue };
        let (a, b) = (line(from), line(to));
        match step.rule {
            Rule::StoreLoad => add(
                format!("{b} read before {a} was in memory: a load that passes a store buffer does this."),
                &[from, to],
            ),
            Rule::StoreStore => add(
                format!(
                    "{b} reached memory before {a}: a buffer that is not first in, first out, or merges stores, does this."
                ),
                &[from, to],
            ),
            Rule::LoadOp if trace.kind(to) == OpKind::Load => add(
                format!(
                    "{b} took its value before {a} did: loads that run out of order, or a stale line in a cache, do this."
                ),
                &[from, to],
            ),
            Rule::LoadOp => add(format!("{b} was seen by others before {a} had its value."), &[from, to]),
            Rule::Membar { fence } => {
                add(format!("The barrier at {} did not keep {a} before {b}.", line(fence)), &[from, fence, to]);
            }
            Rule::Lock => add(
                format!("{b} took effect before {a}, although the lock should have kept them in order."),
                &[from, to],
            ),
            Rule::Time => add(
                format!(
                    "{a} had ended when {b} began, and still took effect after it; or the clock is off by more than was said."
                ),
                &[from, to],
            ),
            Rule::ReadsFrom | Rule::AfterRead | Rule::BeforeRead { .. } | Rule::OwnStore { .. } => values = true,
            _ => {}
        }
    }
    let kept = list_of.len();
    let mut add = |words: String| list_of.push(Fix { words, code: None, nodes: Vec::new() });
    if values {
        let also = if kept > 0 { "Or a" } else { "A" };
        add(format!(
            "{also} read returned a stale or a wrong value: a copy that was not invalidated, or a value from elsewhere."
        ));
    }
    let allow: Vec<&ModelVerdict> = models.iter().filter(|m| m.verdict == VerdictKind::Allowed).collect();
    let strongest: Vec<String> = strongest(&allow).into_iter().map(String::from).collect();
    if !strongest.is_empty() {
        let verb = if strongest.len() == 1 { "allows" } else { "allow" };
        let model = &drawing.words.model.name;
        add(format!("If the machine is meant to be weaker than {model}: {} {verb} this.", list(&strongest, "and")));
    }
    Fixes {
        title: "What the hardware must have done".into(),
        about: "At least one of these happened; each of them would explain the trace.".into(),
        list: list_of,
        ..Fixes::default()
    }
}
