//! Simulated machines that run the programs of a campaign.

use super::{Observed, Source};
use crate::core::{Clock, Compare};
use crate::simulate::{Program, Run, Setup, Times, sampled};
use serde_json::{Value, json};

/// Which times traces have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timestamps {
    /// Begin and end of every operation.
    Exact,
    /// Those of scans, so far apart.
    Sampled(u64),
    /// None.
    Off,
}

/// A simulated machine.
pub struct Simulated {
    /// The machine with its bugs.
    pub setup: Setup,
    /// Which times traces have.
    pub timestamps: Timestamps,
}

impl Simulated {
    /// The machine, with times where its model needs them.
    pub fn new(setup: Setup) -> Simulated {
        let timed = has_locks(setup.machine().model());
        Simulated { setup, timestamps: if timed { Timestamps::Exact } else { Timestamps::Off } }
    }

    /// The times of a run as they are recorded, and what they mean.
    pub fn times(&self, run: &Run) -> (Option<Times>, Clock) {
        match self.timestamps {
            Timestamps::Off => (None, Clock::default()),
            Timestamps::Exact => (Some(run.times.clone()), Clock { compare: Compare::Everything, ..Clock::default() }),
            Timestamps::Sampled(every) => {
                let clock = Clock { compare: Compare::Everything, error: 0, sampled_every: Some(every) };
                (Some(sampled(&run.times, every)), clock)
            }
        }
    }

    fn bugs(&self) -> Vec<&'static str> {
        let bugs = self.setup.machine().bugs().iter();
        bugs.filter(|&&bug| self.setup.has(bug)).map(|bug| bug.name()).collect()
    }

    /// The arguments of `--buffer` and `--drain`, where they are not the machine's usual values.
    fn buffers(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let unusual = [("buffer", self.setup.unusual_depth()), ("drain", self.setup.unusual_drain())];
        unusual.into_iter().filter_map(|(key, value)| Some((key, value?)))
    }

    /// The argument of `--timestamps`.
    pub fn timestamps(&self) -> String {
        match self.timestamps {
            Timestamps::Exact => "exact".into(),
            Timestamps::Sampled(every) => format!("sampled={every}"),
            Timestamps::Off => "off".into(),
        }
    }
}

impl Source for Simulated {
    fn name(&self) -> String {
        self.setup.to_string()
    }

    fn describe(&self) -> Value {
        let mut described = json!({
            "kind": "simulated",
            "name": self.setup.machine().name(),
            "bugs": self.bugs(),
            "timestamps": self.timestamps(),
        });
        for (key, value) in self.buffers() {
            described[key] = value.into();
        }
        described
    }

    fn command(&self) -> Vec<String> {
        let mut words = vec!["simulate".into(), "--machine".into(), self.setup.machine().name().into()];
        words.extend(self.bugs().into_iter().flat_map(|bug| ["--bug".into(), bug.into()]));
        words.extend(self.buffers().flat_map(|(key, value)| [format!("--{key}"), value.to_string()]));
        words.extend(["--timestamps".into(), self.timestamps()]);
        words
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn run(&self, program: &Program, seed: u64) -> Result<Observed, String> {
        let run = self.setup.run(program, seed);
        let (times, clock) = self.times(&run);
        Ok(Observed { record: run.record, times, clock })
    }
}

/// The models that say more than how loads and stores are ordered.
fn has_locks(model: &str) -> bool {
    !["sc", "tso", "pso", "wmo", "rmo"].contains(&model)
}
