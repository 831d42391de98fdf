//! This machine's cores, which run the programs of a campaign.

use super::{Observed, Source};
use crate::core::{Clock, Compare};
use crate::simulate::Program;
use crate::stress::{Engine, Error, Runner, Settings, Timestamps};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// This machine's cores. One program runs at a time.
pub struct Hardware {
    cores: String,
    settings: Settings,
    runner: Mutex<Runner>,
}

impl Hardware {
    /// With these settings.
    pub fn new(settings: Settings) -> Result<Hardware, Error> {
        let runner = Runner::new(settings.clone())?;
        Ok(Hardware { cores: runner.cores().to_string(), settings, runner: Mutex::new(runner) })
    }

    /// The name of the model that this machine promises.
    pub fn model() -> &'static str {
        if cfg!(any(target_arch = "x86_64", target_arch = "x86")) { "tso" } else { "wmo" }
    }

    /// How many cores it uses.
    pub fn cores(&self) -> usize {
        self.runner().cores().count()
    }

    fn runner(&self) -> std::sync::MutexGuard<'_, Runner> {
        self.runner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn timestamps(&self) -> String {
        match self.settings.timestamps {
            Timestamps::Off => "off".into(),
            Timestamps::Every(1) => "every".into(),
            Timestamps::Every(n) => n.to_string(),
        }
    }
}

impl Source for Hardware {
    fn name(&self) -> String {
        "this-machine".into()
    }

    fn describe(&self) -> Value {
        json!({
            "kind": "hardware",
            "name": "this-machine",
            "cores": self.cores,
            "engine": if self.settings.engine == Engine::Portable { "portable" } else { "generated" },
            "timestamps": self.timestamps(),
        })
    }

    fn command(&self) -> Vec<String> {
        let mut words = vec!["stress".to_owned()];
        if self.settings.cores.is_some() {
            words.extend(["--cores".into(), self.cores.clone()]);
        }
        if self.settings.engine == Engine::Portable && Engine::default() != Engine::Portable {
            words.push("--portable".into());
        }
        if self.settings.timestamps != Timestamps::Off {
            words.extend(["--timestamps".into(), self.timestamps()]);
        }
        words
    }

    fn repeatable(&self) -> bool {
        false
    }

    fn run(&self, program: &Program, seed: u64) -> Result<Observed, String> {
        let told = |error: Error| error.to_string();
        let code = Arc::new(self.settings.compile(program).map_err(told)?);
        let recorded = self.runner().run_compiled(&code, seed).map_err(told)?;
        let compare = if recorded.times.is_some() { Compare::Everything } else { Compare::default() };
        let clock = Clock { compare, error: recorded.clock_error, sampled_every: None };
        Ok(Observed { record: recorded.record, times: recorded.times, clock })
    }
}
