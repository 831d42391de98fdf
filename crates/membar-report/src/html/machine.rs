//! A memory order as steps of a machine with store buffers.
//!
//! A memory order of a trace that sc, tso or pso allows is a run of that model's machine: a load happens where it stands in
//! the order; a store goes into its thread's buffer as soon as its thread does something later, and reaches memory where it
//! stands in the order. Under other models operations of a thread take effect out of order, which no such machine does;
//! there the steps are the memory order itself.

use super::check::Prefix;
use super::page::{Machine, MachineStep, Stuck};
use crate::kinds::StepKind;
use crate::style::count;
use membar_core::{AddrId, AddrName, Model, OpId, OpKind, ThreadId, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// Steps that are kept.
const STEPS: usize = 600;

/// A trace and which of its operations are drawn.
pub(super) struct Drawn<'a> {
    pub(super) trace: &'a Trace,
    pub(super) index: &'a BTreeMap<OpId, usize>,
}

impl Drawn<'_> {
    /// The addresses that these steps use, with their initial values.
    fn memory(&self, steps: &[(bool, OpId)]) -> Vec<(String, Option<String>)> {
        let trace = self.trace;
        let used: BTreeSet<AddrId> =
            steps.iter().map(|&(_, op)| trace.addr(op)).filter(|&addr| addr != AddrId::NONE).collect();
        used.iter()
            .map(|addr| match &trace.addr_names()[addr.index()] {
                AddrName::Lock(name) => (name.to_string(), Some("free".to_owned())),
                name => (name.to_string(), Some(trace.initial(*addr).to_string())),
            })
            .collect()
    }

    fn steps(&self, steps: &[(bool, OpId)]) -> Vec<MachineStep> {
        let step = |&(commit, op): &(bool, OpId)| {
            Some(MachineStep {
                step: if commit { StepKind::Commit } else { StepKind::Issue },
                node: *self.index.get(&op)?,
            })
        };
        steps.iter().map_while(step).take(STEPS).collect()
    }
}

/// How the machine of a model buffers stores, if it has one.
fn buffers(model: &Model) -> Option<&'static str> {
    match model.name.as_str() {
        "sc" => Some("none"),
        "tso" => Some("thread"),
        "pso" => Some("address"),
        _ => None,
    }
}

fn about(model: &Model) -> String {
    match model.name.as_str() {
        "sc" => "Every operation acts on memory at once.".into(),
        "tso" => "Each thread has a store buffer, first in, first out; loads look there first.".into(),
        "pso" => "Each thread has a store buffer for each address; loads look there first.".into(),
        name => format!(
            "{name} has no machine with store buffers: operations of a thread may take effect out of order. These steps are the \
             memory order."
        ),
    }
}

/// The run of an allowed trace.
pub(super) fn of_witness(drawn: &Drawn<'_>, model: &Model, order: &[OpId]) -> Result<Machine, String> {
    let trace = drawn.trace;
    if order.is_empty() {
        return Err("There is nothing to step through: the trace has no operation.".into());
    }
    let kind = buffers(model);
    let mut run: Vec<(bool, OpId)> = Vec::new();
    if kind.is_some_and(|kind| kind != "none") {
        let mut next = vec![0usize; trace.threads()];
        for &op in order {
            let thread = trace.thread(op);
            issue(trace, thread, trace.po(op) as usize, &mut next, &mut run);
            if trace.kind(op) == OpKind::Store {
                run.push((true, op));
            }
            if run.len() > STEPS {
                break;
            }
        }
    } else {
        run.extend(order.iter().take(STEPS + 1).map(|&op| (false, op)));
    }
    let all = trace.memory_ops().count();
    let steps = drawn.steps(&run);
    let done = run[..steps.len()].iter().filter(|&&(commit, op)| commit != (trace.kind(op) != OpKind::Store)).count();
    if steps.is_empty() {
        return Err("The first steps of the run are among the operations that are not drawn.".into());
    }
    let left = match kind {
        Some("none") | None => all.saturating_sub(steps.len()),
        _ => all.saturating_sub(done),
    };
    let tail = if left > 0 { format!(" The first {} are shown.", count(steps.len(), "step")) } else { String::new() };
    Ok(Machine {
        about: format!("{} The steps explain every value of the trace.{tail}", about(model)),
        buffers: kind.unwrap_or("none"),
        memory: drawn.memory(&run[..steps.len()]),
        steps,
        omitted: left,
        wrong: None,
        stuck: Vec::new(),
        fails: None,
        views: Vec::new(),
    })
}

/// Issues the thread's operations up to this place in program order.
fn issue(trace: &Trace, thread: ThreadId, to: usize, next: &mut [usize], run: &mut Vec<(bool, OpId)>) {
    let ops = trace.thread_ops(thread);
    while next[thread.index()] <= to {
        let op = ops[next[thread.index()]];
        next[thread.index()] += 1;
        if trace.kind(op) != OpKind::Fence {
            run.push((false, op));
        }
    }
}

/// The longest run of a forbidden trace.
pub(super) fn of_prefix(drawn: &Drawn<'_>, model: &Model, prefix: &Prefix) -> Machine {
    let trace = drawn.trace;
    let steps = drawn.steps(&prefix.steps);
    let done = prefix.steps.iter().filter(|(commit, _)| !commit).count();
    let all = prefix.ops.iter().filter(|&&op| trace.kind(op) != OpKind::Fence).count();
    let furthest = if prefix.longest { "No run of this machine gets further" } else { "No longer run was found" };
    let why = |&(op, value): &(OpId, Option<u64>)| {
        let node = *drawn.index.get(&op)?;
        let line = trace.line(op);
        let why = match value {
            Some(value) => format!("Line {line} would return {value} here, but {} was recorded.", trace.read(op)),
            None => format!("Line {line} cannot be done here."),
        };
        Some(Stuck { node, why })
    };
    Machine {
        about: format!(
            "{} {furthest} with the operations of the argument: {done} of {all}, and then it is stuck.",
            about(model)
        ),
        buffers: buffers(model).unwrap_or("none"),
        memory: drawn.memory(&prefix.ops.iter().map(|&op| (false, op)).collect::<Vec<_>>()),
        omitted: prefix.steps.len() - steps.len(),
        steps,
        wrong: None,
        stuck: prefix.stuck.iter().filter_map(why).collect(),
        fails: None,
        views: Vec::new(),
    }
}
