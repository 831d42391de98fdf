//! What the executions of the model itself do: how many there are, and which of them fail.
//!
//! Robustness is decided first, on sequentially consistent executions. Where a program is not robust, the executions of the
//! model are explored; the result is a [`Consequence`], from which [`VerifyReport::settle`](super::VerifyReport::settle) makes the verdict.

use super::{AccessRef, ErrorRef};
use crate::kinds::Action;
use membar_core::{AccessKind, ProgramModel};
use serde::de::{Deserializer, Error};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// What came of exploring the executions of a model.
#[derive(Clone, Debug)]
pub struct Consequence {
    /// How many there are.
    pub weak: WeakRef,
    /// What they do.
    pub outcome: Outcome,
    /// Of each violation what follows from it, where some executions fail; empty if that is not known.
    pub harms: Vec<Harm>,
    /// The schedule of an execution that ends as the `exists` of a litmus test says.
    pub asked: Option<String>,
}

/// What executions of a model do.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// All were explored, and no program error happens in any of them. [`WeakRef::complete`] has to be true.
    NothingFails,
    /// Some fail.
    Fails(Vec<FailureRef>),
    /// None of those that were explored fails, but there are others.
    Unknown {
        /// Why they were not explored, in words: `the time limit was reached (--time)`.
        why: String,
    },
}

/// The executions of the model that were explored.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WeakRef {
    /// Complete executions, each once; sequentially consistent ones included.
    pub executions: u64,
    /// Of these, executions that are not sequentially consistent.
    pub not_sc: u64,
    /// Executions that ended where a thread only waits in a loop, or where an assumption fails: they count for nothing.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub blocked: u64,
    /// Whether these are all.
    pub complete: bool,
    /// Why they are not all, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Time.
    pub seconds: f64,
}

/// A program error in an execution that is not sequentially consistent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FailureRef {
    /// The error. Its schedule is one of the model, with what is delayed: `ab~1a`.
    #[serde(flatten)]
    pub error: ErrorRef,
    /// The model.
    #[serde(with = "crate::kinds")]
    pub model: ProgramModel,
    /// The violation that it rests on: an index into the violations of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation: Option<usize>,
    /// The execution, in the order in which threads make their steps.
    pub steps: Vec<WeakStepRef>,
    /// The values of its variables before the first step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub initial: Vec<(String, String)>,
    /// Under c11: steps that write, and those that read from them and that they happen before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hb: Vec<(usize, usize)>,
    /// Separate code ran the execution, or checked it against the axioms, up to the error.
    pub certified: bool,
}

/// A step of an execution of the model. Steps are known by their index, from 0.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WeakStepRef {
    /// What it does.
    #[serde(with = "crate::kinds")]
    pub does: Action,
    /// The access: thread, place, source, location and values.
    #[serde(flatten)]
    pub access: AccessRef,
    /// Of a store under tso and pso: the step after which others see it, its own index if they do at once. Missing: none of
    /// them does before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<usize>,
    /// Of a read: the step whose store it reads. Missing: it reads the initial value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_from: Option<usize>,
    /// Of a read: the newest store to its location that was made before it, and that it does not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses: Option<usize>,
}

impl WeakStepRef {
    /// A load, store or read-modify-write that others see at once, if they see it at all.
    pub fn new(index: usize, access: AccessRef) -> WeakStepRef {
        let does = match access.kind {
            _ if access.control => Action::Control,
            AccessKind::Load => Action::Load,
            AccessKind::Store => Action::Store,
            AccessKind::Rmw => Action::Rmw,
        };
        let seen = access.write.is_some().then_some(index);
        WeakStepRef { does, access, seen, reads_from: None, misses: None }
    }
}

/// The failures that follow from a violation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Harm {
    /// These, by their index.
    Failures(Vec<usize>),
    /// None: no execution of the model fails because of it.
    None,
    /// It is not known.
    #[default]
    Unknown,
}

impl Serialize for Harm {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Harm::Failures(list) => list.serialize(to),
            Harm::None => to.serialize_str("none"),
            Harm::Unknown => to.serialize_str("unknown"),
        }
    }
}

impl<'de> Deserialize<'de> for Harm {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Harm, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Read {
            List(Vec<usize>),
            Word(String),
        }
        match Read::deserialize(from)? {
            Read::List(list) => Ok(Harm::Failures(list)),
            Read::Word(word) if word == "none" => Ok(Harm::None),
            Read::Word(word) if word == "unknown" => Ok(Harm::Unknown),
            Read::Word(_) => Err(D::Error::custom("`harm` is a list, \"none\" or \"unknown\"")),
        }
    }
}
