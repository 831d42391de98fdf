//! Outcomes with their counts, also in litmus7's layout.

use super::Counts;
use membar_core::Frequency;
use membar_litmus::{LitmusTest, Quantifier};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

/// An outcome.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct State {
    /// The values of the locations that the test shows.
    pub values: Vec<u64>,
    /// How often it came out.
    pub count: u64,
    /// Whether the condition's proposition holds for it.
    pub holds: bool,
}

/// The outcomes of a test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Histogram {
    /// Every outcome that was seen, in the order of their values.
    pub states: Vec<State>,
    /// How long it took, starting threads included.
    pub seconds: f64,
}

impl Histogram {
    pub(super) fn new(test: &LitmusTest, counts: Counts, seconds: f64) -> Histogram {
        let mut states: Vec<State> = Vec::new();
        let mut counts: Vec<(Box<[u64]>, u64)> = counts.into_iter().collect();
        counts.retain(|(values, _)| test.filter.as_ref().is_none_or(|filter| filter.holds(values)));
        counts.sort_by_cached_key(|(values, _)| numbers(test, values));
        for (values, count) in counts {
            let (shown, holds) = (&values[..test.shown], test.condition.prop.holds(&values));
            match states.last_mut() {
                Some(last) if last.values == shown => last.count += count,
                _ => states.push(State { values: shown.to_vec(), count, holds }),
            }
        }
        Histogram { states, seconds }
    }

    /// The outcomes of several runs of a test together.
    pub fn sum(test: &LitmusTest, runs: impl IntoIterator<Item = Histogram>) -> Histogram {
        let mut states: BTreeMap<Vec<i128>, State> = BTreeMap::new();
        let mut seconds = 0.0;
        for run in runs {
            seconds += run.seconds;
            for state in run.states {
                match states.entry(numbers(test, &state.values)) {
                    Entry::Occupied(known) => known.into_mut().count += state.count,
                    Entry::Vacant(new) => drop(new.insert(state)),
                }
            }
        }
        Histogram { states: states.into_values().collect(), seconds }
    }

    /// How many there were.
    pub fn outcomes(&self) -> u64 {
        self.states.iter().map(|state| state.count).sum()
    }

    /// How many satisfy the condition's proposition.
    pub fn positive(&self) -> u64 {
        self.states.iter().filter(|state| state.holds).map(|state| state.count).sum()
    }

    /// How many do not.
    pub fn negative(&self) -> u64 {
        self.outcomes() - self.positive()
    }

    /// Whether what was seen fits the condition: litmus7's `Ok`.
    pub fn ok(&self, quantifier: Quantifier) -> bool {
        match quantifier {
            Quantifier::Exists => self.positive() > 0,
            Quantifier::NotExists => self.positive() == 0,
            Quantifier::Forall => self.negative() == 0,
        }
    }

    /// `Never`, `Sometimes` or `Always`: how often the proposition held.
    pub fn observation(&self) -> Frequency {
        match (self.positive(), self.negative()) {
            (0, _) => Frequency::Never,
            (_, 0) => Frequency::Always,
            _ => Frequency::Sometimes,
        }
    }

    /// How many outcomes are not among these, which a model allows.
    pub fn outside(&self, allowed: &[Vec<u64>]) -> u64 {
        self.states.iter().filter(|state| !allowed.contains(&state.values)).map(|state| state.count).sum()
    }

    /// In the layout of litmus7's logs.
    pub fn log<'a>(&'a self, test: &'a LitmusTest) -> Log<'a> {
        Log { histogram: self, test, model: None }
    }
}

/// Values as numbers, by which outcomes are put in order.
fn numbers(test: &LitmusTest, values: &[u64]) -> Vec<i128> {
    let signed = test.locations.iter().map(|location| location.ty.signed);
    values.iter().zip(signed).map(|(&v, signed)| if signed { (v as i64).into() } else { v.into() }).collect()
}

/// A histogram in the layout of litmus7's logs.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    histogram: &'a Histogram,
    test: &'a LitmusTest,
    model: Option<(&'a str, &'a [Vec<u64>])>,
}

impl<'a> Log<'a> {
    /// Marks outcomes that are not among those which this model allows.
    pub fn against(self, model: &'a str, allowed: &'a [Vec<u64>]) -> Log<'a> {
        Log { model: Some((model, allowed)), ..self }
    }
}

impl fmt::Display for Log<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Log { histogram, test, model } = *self;
        let (positive, negative) = (histogram.positive(), histogram.negative());
        let quantifier = test.condition.quantifier;
        let kind = match quantifier {
            Quantifier::Exists => "Allowed",
            Quantifier::NotExists => "Forbidden",
            Quantifier::Forall => "Required",
        };
        writeln!(f, "Test {} {kind}\nHistogram ({} states)", test.name, histogram.states.len())?;
        for state in &histogram.states {
            write!(f, "{:<6}{}>", state.count, if state.holds { '*' } else { ':' })?;
            for (at, &value) in state.values.iter().enumerate() {
                let space = if at > 0 { " " } else { "" };
                write!(f, "{space}{}={};", test.locations[at].name, test.shown_value(at, value))?;
            }
            if let Some((model, _)) = model.filter(|(_, allowed)| !allowed.contains(&state.values)) {
                write!(f, " # forbidden by {model}")?;
            }
            writeln!(f)?;
        }
        let ok = histogram.ok(quantifier);
        // As in litmus7, a witness of `~exists` is an outcome that it asks for.
        let (witnesses, others) = match quantifier {
            Quantifier::NotExists => (negative, positive),
            Quantifier::Exists | Quantifier::Forall => (positive, negative),
        };
        writeln!(f, "{}\n\nWitnesses\nPositive: {witnesses}, Negative: {others}", if ok { "Ok" } else { "No" })?;
        let validated = if ok { "is validated" } else { "is NOT validated" };
        writeln!(f, "Condition {} {validated}", test.condition_text())?;
        if let Some((_, hash)) = test.meta.iter().find(|(key, _)| key == "Hash") {
            writeln!(f, "Hash={hash}")?;
        }
        writeln!(f, "Observation {} {} {positive} {negative}", test.name, histogram.observation())?;
        writeln!(f, "Time {} {:.2}", test.name, histogram.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_like_litmus7() {
        let text = "X86_64 SB\nHash=abc\n{ }\n P0 | P1 ;\n movl $1,(x) | movl $1,(y) ;\n movl (y),%eax | movl (x),%eax ;\n\
            exists (0:rax=0 /\\ 1:rax=0)\n";
        let test = LitmusTest::parse("SB.litmus", text.as_bytes()).unwrap();
        let counts = [([1, 0], 500), ([0, 0], 12), ([0, 1], 488)];
        let counts = counts.into_iter().map(|(values, count)| (Box::from(values.as_slice()), count)).collect();
        let histogram = Histogram::new(&test, counts, 0.1);
        assert_eq!(
            histogram.log(&test).against("sc", &[vec![0, 1], vec![1, 0]]).to_string(),
            "Test SB Allowed\nHistogram (3 states)\n12    *>0:rax=0; 1:rax=0; # forbidden by sc\n\
             488   :>0:rax=0; 1:rax=1;\n500   :>0:rax=1; 1:rax=0;\nOk\n\nWitnesses\nPositive: 12, Negative: 988\n\
             Condition exists (0:rax=0 /\\ 1:rax=0) is validated\nHash=abc\nObservation SB Sometimes 12 988\nTime SB 0.10\n"
        );
        assert_eq!((histogram.outside(&[vec![0, 1]]), histogram.outcomes()), (512, 1000));
    }
}
