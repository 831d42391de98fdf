//! Results as herd writes them, and as JSON.

use crate::code::Crash;
use crate::condition::Quantifier;
use crate::states::{Method, Model, Outcomes};
use crate::test::LitmusTest;
use membar_core::{Diagnostic, Excerpt, Place};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// One test under one model.
pub struct Record<'a> {
    /// The test.
    pub test: &'a LitmusTest,
    /// The model.
    pub model: Model,
    /// The outcome.
    pub outcomes: &'a Outcomes,
    /// How long it took.
    pub seconds: f64,
}

impl Record<'_> {
    /// Whether the condition holds.
    pub fn ok(&self) -> bool {
        self.outcomes.ok(self.test.condition.quantifier)
    }

    /// Whether something that the test asserts (`~exists` or `forall`) does not hold.
    pub fn refuted(&self) -> bool {
        self.test.condition.quantifier != Quantifier::Exists && !self.ok()
    }

    /// Appends the record in herd's layout, which ends with an empty line. Where a limit was met, the verdict line begins
    /// with `Incomplete`, as herd writes `Loop` where it went round a loop too often.
    pub fn write_text(&self, out: &mut String) {
        let Record { test, outcomes, .. } = self;
        let quantifier = test.condition.quantifier;
        let kind = match quantifier {
            Quantifier::Exists => "Allowed",
            Quantifier::NotExists => "Forbidden",
            Quantifier::Forall => "Required",
        };
        // Writing to a string succeeds.
        let _ = writeln!(out, "Test {} {kind}\nStates {}", test.name, outcomes.states.len());
        for state in &outcomes.states {
            self.write_state(out, state);
            out.push('\n');
        }
        // herd's witnesses of `~exists` are what it asks for.
        let (witnesses, others) = match quantifier {
            Quantifier::NotExists => (outcomes.negative, outcomes.positive),
            Quantifier::Exists | Quantifier::Forall => (outcomes.positive, outcomes.negative),
        };
        let limit = if outcomes.complete { "" } else { "Incomplete " };
        let _ = write!(
            out,
            "{limit}{}\nWitnesses\nPositive: {witnesses} Negative: {others}\nCondition {}\nObservation {} {} {} {}\n\
             Time {} {:.2}\n",
            if self.ok() { "Ok" } else { "No" },
            test.condition_text(),
            test.name,
            outcomes.observation(),
            outcomes.positive,
            outcomes.negative,
            test.name,
            self.seconds,
        );
        if let Some((_, hash)) = test.meta.iter().find(|(key, _)| key == "Hash") {
            let _ = writeln!(out, "Hash={hash}");
        }
        out.push('\n');
    }

    fn write_state(&self, out: &mut String, state: &[u64]) {
        for (location, &value) in state.iter().enumerate() {
            let separator = if location > 0 { " " } else { "" };
            let name = &self.test.locations[location].name;
            let _ = match self.test.pointed_at(value) {
                Some(pointed) => write!(out, "{separator}{name}={pointed};"),
                None if self.test.locations[location].ty.signed => write!(out, "{separator}{name}={};", value as i64),
                None => write!(out, "{separator}{name}={value};"),
            };
        }
    }

    /// A state as herd writes it: `0:rax=0; [x]=1;`
    pub fn state_text(&self, state: &[u64]) -> String {
        let mut out = String::new();
        self.write_state(&mut out, state);
        out
    }

    /// The record as JSON. `condition` is how the condition's quantifier reads: `exists` asks whether the outcome is
    /// `allowed`, `~exists` says that it is `forbidden`, `forall` that it is `required`; `ok` says whether it is.
    pub fn json(&self, file: &str) -> Value {
        let Record { test, outcomes, .. } = self;
        let number = |location: usize, value: u64| match test.pointed_at(value) {
            Some(name) => Value::from(name),
            None if test.locations[location].ty.signed => Value::from(value as i64),
            None => Value::from(value),
        };
        let state = |state: &Vec<u64>| {
            let pairs = state.iter().enumerate();
            let pairs = pairs.map(|(at, &value)| (test.locations[at].name.clone(), number(at, value)));
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        let mut record = json!({
            "test": test.name,
            "file": file,
            "model": self.model.name(),
            "states": outcomes.states.iter().map(state).collect::<Vec<_>>(),
            "holds": outcomes.states.iter().map(|state| test.condition.prop.holds(state)).collect::<Vec<_>>(),
            "condition": match test.condition.quantifier {
                Quantifier::Exists => "allowed",
                Quantifier::NotExists => "forbidden",
                Quantifier::Forall => "required",
            },
            "proposition": test.condition_text(),
            "ok": self.ok(),
            "observation": outcomes.observation().to_ascii_lowercase(),
            "positive": outcomes.positive,
            "negative": outcomes.negative,
            "counted": match outcomes.method {
                Method::Executions => "executions",
                Method::Machine => "states",
            },
            "complete": outcomes.complete,
            "seconds": self.seconds,
        });
        if let Some((_, hash)) = test.meta.iter().find(|(key, _)| key == "Hash") {
            record["hash"] = Value::from(hash.as_str());
        }
        record
    }
}

/// The instruction that went wrong, what it did, and the fix.
fn crash_words(test: &LitmusTest, model: Model, crash: Crash) -> (u32, String, &'static str) {
    match crash {
        Crash::Wild { site, pointer } => {
            let what = format!("under {model} this goes through {}, which points to no location", pointer as i64);
            (site, what, "follow the values that the pointer can have; everything that is not set is 0")
        }
        Crash::Size { site, cell } => {
            let cell = &test.code.cells[cell as usize];
            let what = format!("under {model} this accesses `{}`, which has {} bits", cell.name, cell.ty.bits);
            (site, what, "every access to a location must have the size of the location")
        }
    }
}

/// A program error in the form of an error message: with the place, the instruction and the fix.
pub fn crash_message(test: &LitmusTest, file: &str, model: Model, crash: Crash) -> String {
    let (site, what, help) = crash_words(test, model, crash);
    let site = &test.code.sites[site as usize];
    let excerpt = Excerpt::new(site.text.as_bytes(), 0..site.text.len());
    let place = Place { file, line: site.line as u64, column: site.column as u64, excerpt: Some(&excerpt) };
    format!("{}\n", Diagnostic { message: &what, place: Some(place), notes: Vec::new(), help })
}

/// The same, machine-readable.
pub fn crash_json(test: &LitmusTest, file: &str, model: Model, crash: Crash) -> Value {
    let (site, what, help) = crash_words(test, model, crash);
    let site = &test.code.sites[site as usize];
    json!({ "file": file, "line": site.line, "column": site.column, "message": what, "help": help })
}
