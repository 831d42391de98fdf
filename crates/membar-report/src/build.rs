//! From a trace, a model and a verdict to a [`Report`].

use crate::data::{
    Assumed, Edge, Effort, EventRef, LeftOutRef, LegalValue, LemmaRef, OpRef, Report, StepRef, Stop, Violation,
};
use crate::reduced::Reduced;
use crate::shape;
use crate::story;
use crate::style::count;
use crate::words::Words;
use membar_core::{
    AddrName, Algorithm, LeftOut, Lemma, Malformed, Model, OpId, Proof, ProofStep, Rule, Source, Trace, Verdict,
};

/// A decided trace: the source of a report.
#[derive(Clone, Debug)]
pub struct Decided<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// Index of the trace in its file, from 0.
    pub index: u64,
    /// The trace, resolved.
    pub trace: &'a Trace,
    /// The model it was checked against.
    pub model: &'a Model,
    /// The answer.
    pub verdict: &'a Verdict,
    /// Name of what decided.
    pub algorithm: Algorithm,
    /// The effort.
    pub effort: Effort,
    /// How long it took.
    pub seconds: f64,
    /// Was the certificate re-checked?
    pub certified: bool,
    /// The read that is to blame.
    pub blame: Option<Blame>,
    /// Should the report hold the witness of an allowed trace?
    pub witness: bool,
}

/// The read that is to blame, and what it could have returned.
#[derive(Clone, Debug)]
pub struct Blame {
    /// The read.
    pub read: OpId,
    /// Values and where they come from.
    pub legal: Vec<(u64, Source)>,
    /// Are these all?
    pub complete: bool,
}

impl<'a> Decided<'a> {
    /// The facts without which there is no report; the rest is public.
    pub fn new(file: &'a str, index: u64, trace: &'a Trace, model: &'a Model, verdict: &'a Verdict) -> Decided<'a> {
        Decided {
            file,
            index,
            trace,
            model,
            verdict,
            algorithm: Algorithm::Values,
            effort: Effort::default(),
            seconds: 0.0,
            certified: false,
            blame: None,
            witness: false,
        }
    }
}

impl Report {
    /// The report on a decided trace. The verdict's certificate must hold for the trace.
    #[inline] // there may be a million of them, and this crate is not optimised
    pub fn new(decided: &Decided<'_>) -> Report {
        let Decided { trace, model, verdict, .. } = *decided;
        let words = Words::new(trace, model);
        let recorded = trace.count_recorded(trace.ops());
        let locks = trace.addr_names().iter().filter(|name| matches!(name, AddrName::Lock(_))).count();
        Report {
            file: decided.file.to_owned(),
            trace: decided.index,
            line: first_line(trace),
            model: model.name.clone(),
            verdict: verdict.kind(),
            ops: recorded + trace.left_out().map_or(0, |left| left.ops),
            threads: trace.threads(),
            addresses: trace.addrs() - locks,
            locks,
            algorithm: decided.algorithm,
            effort: decided.effort,
            seconds: decided.seconds,
            certified: decided.certified,
            without_check: trace.open_end(),
            left_out: trace.left_out().map(left_out),
            violation: match verdict {
                Verdict::Forbidden(proof) => Some(violation(&words, proof, decided.blame.as_ref())),
                _ => None,
            },
            undecided: match *verdict {
                Verdict::Undecided { reason, ordered } => {
                    // Of this many pieces: at least this many accesses.
                    Some(Stop { reason, ordered: ordered.saturating_sub(trace.len() - recorded) })
                }
                _ => None,
            },
            witness: match verdict {
                Verdict::Allowed(witness) if decided.witness => {
                    Some(witness.order.iter().map(|&op| words.op(op)).collect())
                }
                _ => None,
            },
        }
    }
}

fn left_out(left: &LeftOut) -> LeftOutRef {
    let (lines, how) = match &left.why {
        Malformed::WrittenTwice { line, other, .. } => (vec![*other, *line], format!("lines {other} and {line}")),
        Malformed::WritesInitial { line, init, .. } => match init {
            Some(init) => (vec![*init, *line], format!("lines {init} and {line}")),
            None => (vec![*line], format!("line {line}")),
        },
        _ => (Vec::new(), String::new()),
    };
    let message = match left.ops {
        0 => format!("{} ({how}); nothing was concluded from that value", left.why),
        1 => format!("{} ({how}); 1 operation that depends on that value was left out", left.why),
        n => format!("{} ({how}); {} that depend on that value were left out", left.why, count(n, "operation")),
    };
    LeftOutRef { operations: left.ops, lines, message }
}

/// The first line of a trace that is neither blank nor a comment.
#[inline]
pub fn first_line(trace: &Trace) -> u64 {
    let declared = trace.inits.first().map(|line| line.line);
    let lines = [
        (!trace.is_empty()).then(|| trace.line(OpId(0))),
        declared,
        trace.finals.first().map(|line| line.line),
        trace.orders.first().map(|line| line.line),
        trace.guards.first().map(|line| line.line),
    ];
    lines.into_iter().flatten().min().unwrap_or(trace.first_line())
}

fn violation(words: &Words<'_>, proof: &Proof, blame: Option<&Blame>) -> Violation {
    let trace = words.trace;
    let (whole, proof) = (proof, proof.leaf());
    let lemmas: Vec<LemmaRef> = match proof {
        Proof::Unwritten(_) | Proof::UnwrittenFinal(_) | Proof::Unreserved(_) | Proof::Cases { .. } => Vec::new(),
        Proof::Cycle(lemmas) => lemmas.iter().map(|lemma| lemma_ref(words, lemma)).collect(),
    };
    let cycle: Vec<Edge> = lemmas.last().map_or_else(Vec::new, |lemma| {
        lemma.cycle.iter().map(|&step| lemma.steps[step as usize].edge.clone()).collect()
    });
    let mut explanation = vec![story::happened(words, proof, blame), story::why(words, whole, &cycle)];
    explanation.extend(
        cycle
            .iter()
            .map(|edge| format!("{} is before {} ({}): {}.", edge.from.long(), edge.to.long(), edge.rule, edge.why)),
    );
    let read = match proof {
        Proof::Unwritten(op) => Some(*op),
        Proof::UnwrittenFinal(_) | Proof::Unreserved(_) | Proof::Cases { .. } => None,
        Proof::Cycle(_) => blame.map(|blame| blame.read),
    };
    let legal = blame.filter(|blame| Some(blame.read) == read);
    Violation {
        read: read.map(|op| words.op(op)),
        returned: read.map(|op| trace.read(op)),
        legal: legal.map_or_else(Vec::new, |blame| legal_values(trace, blame)),
        legal_complete: legal.is_some_and(|blame| blame.complete),
        cycle,
        lemmas,
        explanation,
        involved: trace.count_recorded(proof.ops()),
        shape: shape::of_proof(trace, proof),
        reduced: Reduced::of(trace, proof),
    }
}

pub(crate) fn legal_values(trace: &Trace, blame: &Blame) -> Vec<LegalValue> {
    let line = |source: Source| source.as_op().map(|op| trace.line(op));
    blame.legal.iter().map(|&(value, source)| LegalValue { value, line: line(source) }).collect()
}

fn lemma_ref(words: &Words<'_>, lemma: &Lemma) -> LemmaRef {
    let numbers = numbers(lemma);
    LemmaRef {
        assume: lemma
            .assume
            .iter()
            .map(|a| Assumed {
                first: words.event(a.first, words.addr(a.second)),
                second: words.event(a.second, words.addr(a.first)),
            })
            .collect(),
        steps: lemma
            .steps
            .iter()
            .enumerate()
            .map(|(index, step)| step_ref(words, lemma, step, &numbers, numbers[index]))
            .collect(),
        cycle: rotated(words, lemma),
    }
}

/// Numbers the steps that have to be stated, from 1.
fn numbers(lemma: &Lemma) -> Vec<Option<u32>> {
    let mut next = 0;
    let number = |step: &ProofStep| {
        (!matches!(step.rule, Rule::Init | Rule::Final)).then(|| {
            next += 1;
            next
        })
    };
    lemma.steps.iter().map(number).collect()
}

fn step_ref(
    words: &Words<'_>,
    lemma: &Lemma,
    step: &ProofStep,
    numbers: &[Option<u32>],
    number: Option<u32>,
) -> StepRef {
    let (from, to) = words.ends(step);
    StepRef {
        edge: Edge {
            from,
            to,
            rule: step.rule.name(),
            relation: shape::relation(step.rule),
            axiom: step.rule.axiom(),
            why: words.why(lemma, step, numbers),
        },
        premises: step.premises.clone(),
        step: number,
        fence: match step.rule {
            Rule::Membar { fence } => Some(words.op(fence)),
            _ => None,
        },
        load: match step.rule {
            Rule::OwnStore { load } => Some(EventRef::Op(words.op(load))),
            Rule::BeforeRead { load } => Some(words.event(load, words.addr(step.from))),
            _ => None,
        },
        assumption: match step.rule {
            Rule::Assume(index) => Some(index),
            _ => None,
        },
        lemma: match step.rule {
            Rule::Case(index) => Some(index),
            _ => None,
        },
    }
}

/// The cycle, from the operation that is first in the text.
fn rotated(words: &Words<'_>, lemma: &Lemma) -> Vec<u32> {
    let mut cycle = lemma.cycle.clone();
    let line = |&step: &u32| lemma.steps[step as usize].from.as_op().map_or(u64::MAX, |op| words.trace.line(op));
    if let Some(start) = (0..cycle.len()).min_by_key(|&place| line(&cycle[place])) {
        cycle.rotate_left(start);
    }
    cycle
}

impl Words<'_> {
    /// An operation as data.
    pub(crate) fn op(&self, op: OpId) -> OpRef {
        let trace = self.trace;
        OpRef { thread: trace.thread_names()[trace.thread(op).index()], line: trace.line(op), text: self.text(op) }
    }
}
