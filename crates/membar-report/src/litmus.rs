//! Results of litmus tests: their final states under a model, or on a machine. Data only, as the JSON
//! documents have it.

use crate::kinds::{Claim, Counted, Observation};
use membar_core::Frequency;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// All final states of a test under one model: the output of `membar litmus --format json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LitmusResult {
    /// The name of the test.
    pub test: String,
    /// The file as it was named.
    pub file: String,
    /// `sc`, `tso` or `pso`.
    pub model: String,
    /// The final states, each with the values of its locations.
    pub states: Vec<Map<String, Value>>,
    /// For each of them whether the proposition holds.
    #[serde(default)]
    pub holds: Vec<bool>,
    /// `allowed` (`exists`), `forbidden` (`~exists`) or `required` (`forall`).
    #[serde(with = "crate::kinds")]
    pub condition: Claim,
    /// The condition in full.
    pub proposition: String,
    /// Whether what the test says is so.
    pub ok: bool,
    /// How often the proposition holds.
    #[serde(with = "crate::kinds")]
    pub observation: Observation,
    /// How many satisfy the proposition.
    pub positive: u64,
    /// How many do not.
    pub negative: u64,
    /// The unit of these counts: `executions` or `states`.
    #[serde(with = "crate::kinds")]
    pub counted: Counted,
    /// No limit was met.
    pub complete: bool,
    /// How long it took.
    pub seconds: f64,
}

/// The outcomes of a test on a machine: the output of `membar stress TEST --format json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Histogram {
    /// The file as it was named.
    pub file: String,
    /// The name of the test.
    pub test: String,
    /// The model that states are compared with.
    pub model: String,
    /// The condition in full.
    #[serde(default)]
    pub proposition: String,
    /// The locations that the values of a state belong to.
    #[serde(default)]
    pub locations: Vec<String>,
    /// Number of outcomes.
    pub outcomes: u64,
    /// How long it took.
    pub seconds: f64,
    /// The machine that it ran on, where results of several machines are together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Outcomes that satisfy the proposition.
    pub positive: u64,
    /// How often the proposition held.
    #[serde(with = "crate::kinds")]
    pub observation: Frequency,
    /// All states of the model are known.
    pub compared: bool,
    /// Outcomes that the model forbids.
    pub forbidden: u64,
    /// Everything seen.
    pub states: Vec<Seen>,
    /// States that the model allows and that were not seen; none where that is not known.
    #[serde(default)]
    pub unseen: Vec<Vec<Value>>,
    /// How many states the model allows.
    #[serde(default)]
    pub allowed_states: Option<u64>,
}

/// A state that was seen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The values of the locations, as numbers.
    pub values: Vec<Value>,
    /// How often.
    pub count: u64,
    /// Whether the proposition holds.
    pub holds: bool,
    /// Whether the model allows it; none where that is not known.
    pub allowed: Option<bool>,
}

/// A value as text.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
