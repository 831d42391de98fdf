//! The structs of a result. Their serialised form is the JSON schema.

use crate::reduced::Reduced;
use membar_core::{Algorithm, Axiom, Relation, RuleName, Undecided, VerdictKind};
use serde::{Deserialize, Serialize};

/// Version of the JSON schema.
pub const SCHEMA: u32 = 1;

/// The answer for one trace and one model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The file as the user named it, `<stdin>` for standard input.
    pub file: String,
    /// Index of the trace in its file, from 0.
    pub trace: u64,
    /// The first line of the trace that is neither blank nor a comment.
    pub line: u64,
    /// Name of the model.
    pub model: String,
    /// `allowed`, `forbidden` or `undecided`.
    #[serde(with = "crate::kinds")]
    pub verdict: VerdictKind,
    /// Number of operations.
    pub ops: usize,
    /// Number of threads.
    pub threads: usize,
    /// Number of addresses.
    pub addresses: usize,
    /// Number of locks.
    pub locks: usize,
    /// The algorithm that decided: `values`, `conflict`, `rules`, `too` or `search`.
    #[serde(with = "crate::kinds")]
    pub algorithm: Algorithm,
    /// The effort.
    pub effort: Effort,
    /// How long deciding and re-checking took.
    pub seconds: f64,
    /// Was the certificate re-checked? Always so for `allowed` and `forbidden`; `undecided` has none.
    pub certified: bool,
    /// Does the text end without the `check` of this trace?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_check: bool,
    /// The part left out because values are repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutRef>,
    /// Why it is forbidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Stop>,
    /// A memory order, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Vec<OpRef>>,
}

/// The part that a decision left out because values are repeated: the rest is forbidden, and so is the whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LeftOutRef {
    /// How many operations.
    pub operations: usize,
    /// The lines that give one address one value.
    pub lines: Vec<u64>,
    /// The same in words.
    pub message: String,
}

/// The cost of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Effort {
    /// Passes of the rules over the trace.
    pub passes: u64,
    /// Edges that the rules added.
    pub inferred: u64,
    /// Conflicts of the search.
    pub conflicts: u64,
}

/// Why a trace is forbidden.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Violation {
    /// The read that is impossible, where one read alone explains it.
    pub read: Option<OpRef>,
    /// The value that read returned.
    pub returned: Option<u64>,
    /// The values it could have returned instead, the rest of the trace being as it is.
    pub legal: Vec<LegalValue>,
    /// Are these all such values?
    pub legal_complete: bool,
    /// Edges of memory order that lead from an event back to itself. Empty where a value was read that nobody wrote.
    pub cycle: Vec<Edge>,
    /// The whole proof: each lemma's assumptions lead to a cycle; the last one assumes nothing.
    pub lemmas: Vec<LemmaRef>,
    /// The violation and its reason, then the cycle, in sentences.
    pub explanation: Vec<String>,
    /// Number of operations that the proof needs.
    pub involved: usize,
    /// The name of the cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// These operations as a trace; none if there are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduced: Option<Reduced>,
}

/// The shape of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shape {
    /// Its name in the literature; empty if it has none.
    pub name: String,
    /// A description.
    pub about: String,
    /// Its edges: `po rf po fr`.
    pub edges: String,
}

impl Shape {
    /// `SB, store buffering: two loads overtake the stores before them`, if it has a name.
    pub fn title(&self) -> Option<String> {
        (!self.name.is_empty()).then(|| format!("{}, {}", self.name, self.about))
    }
}

/// One operation of the trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OpRef {
    /// The thread's number in the trace.
    pub thread: u32,
    /// Its line.
    pub line: u64,
    /// As in the trace, without thread and times: `x := 1`.
    pub text: String,
}

/// A point of memory order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EventRef {
    /// An operation.
    Op(OpRef),
    /// One of the two ends.
    End(End),
}

/// An end of memory order: where initial values are written or final values are read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct End {
    /// The writing of the initial values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub initial: bool,
    /// The reading of the final values.
    #[serde(default, rename = "final", skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// The address that matters here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its `init` or `final` line, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A value that a read could have returned.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LegalValue {
    /// The value.
    pub value: u64,
    /// Line of the write; `null` for the initial value.
    pub line: Option<u64>,
}

/// `from` is before `to` in memory order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Edge {
    /// The earlier event.
    pub from: EventRef,
    /// The later event.
    pub to: EventRef,
    /// Short name of the rule: `R1` to `R7`, `SL`, `A6`, `Init`, `Final`, `Lock`, `Time`, `Assume`, `Case`.
    #[serde(with = "crate::kinds")]
    pub rule: RuleName,
    /// The relation of the literature that it shows: `po`, `ppo`, `rf`, `co`, `fr` or `time`.
    #[serde(with = "crate::kinds")]
    pub relation: Relation,
    /// The axiom that the rule follows from.
    #[serde(with = "crate::kinds")]
    pub axiom: Axiom,
    /// Why, in words.
    pub why: String,
}

/// One step of a lemma.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepRef {
    /// The edge that it proves.
    #[serde(flatten)]
    pub edge: Edge,
    /// The steps that it rests on, by index in this lemma.
    pub premises: Vec<u32>,
    /// The number by which words refer to it; `null` for what needs no saying (initial values come first, final ones
    /// last).
    pub step: Option<u32>,
    /// The barrier that orders the two (R3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<OpRef>,
    /// The read that the rule is about (R5, R6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<EventRef>,
    /// The assumption used, by index in this lemma (Assume).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumption: Option<u32>,
    /// The earlier lemma used, by index (Case).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lemma: Option<u32>,
}

/// An assumption: `first` is before `second`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Assumed {
    /// The write taken to be earlier.
    pub first: EventRef,
    /// The write taken to be later.
    pub second: EventRef,
}

/// A lemma: its assumptions lead to a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LemmaRef {
    /// The assumptions; empty in the last lemma.
    pub assume: Vec<Assumed>,
    /// Edges, each resting on earlier ones.
    pub steps: Vec<StepRef>,
    /// The steps that form the cycle, by index.
    pub cycle: Vec<u32>,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stop {
    /// The limit that was passed, or what is not decided.
    #[serde(with = "crate::kinds")]
    pub reason: Undecided,
    /// How many operations had been placed in memory order at best; of accesses in several pieces, at least this many.
    pub ordered: usize,
}

/// Something wrong with the input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InputError {
    /// The file as the user named it.
    pub file: String,
    /// Index of the trace, from 0; `null` if the whole file is meant.
    pub trace: Option<u64>,
    /// Line, from 1; `null` if the whole file is meant.
    pub line: Option<u64>,
    /// Column, from 1; `null` if the whole file is meant.
    pub column: Option<u64>,
    /// The error.
    pub message: String,
    /// How to fix it.
    pub help: String,
}

impl InputError {
    /// A fault of a trace file, in the trace of this index.
    pub fn new(error: &membar_trace::Error, trace: u64) -> InputError {
        let place = |n: u64| (error.line > 0).then_some(n);
        InputError {
            file: error.file.clone(),
            trace: place(trace),
            line: place(error.line),
            column: place(error.column),
            message: error.kind.to_string(),
            help: error.kind.help().to_owned(),
        }
    }
}

impl EventRef {
    /// The operation, unless it is an end.
    pub fn op(&self) -> Option<&OpRef> {
        match self {
            EventRef::Op(op) => Some(op),
            EventRef::End(_) => None,
        }
    }

    /// `line 4`, `the initial value of x`, `the final value of x (line 9)`.
    pub fn short(&self) -> String {
        match self {
            EventRef::Op(op) => format!("line {}", op.line),
            EventRef::End(End { initial: true, address: Some(address), .. }) => {
                format!("the initial value of {address}")
            }
            EventRef::End(End { initial: true, .. }) => "the initial values".into(),
            EventRef::End(End { address: Some(address), line: Some(line), .. }) => {
                format!("the final value of {address} (line {line})")
            }
            EventRef::End(_) => "the end".into(),
        }
    }

    /// The same with thread and operation: `line 4 (thread 0: x := 1)`.
    pub fn long(&self) -> String {
        match self {
            EventRef::Op(op) => op.long(),
            EventRef::End(_) => self.short(),
        }
    }
}

impl OpRef {
    /// `line 4 (thread 0: x := 1)`
    pub fn long(&self) -> String {
        format!("line {} (thread {}: {})", self.line, self.thread, self.text)
    }
}
