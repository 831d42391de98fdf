//! A model as it was named, and limits for many decisions.

use crate::failure::{Failure, Interrupt};
use crate::{Limits, Model};
use std::time::Duration;

/// A model as the user named it.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The argument of `--model`.
    pub arg: String,
    /// The model.
    pub model: Model,
}

impl Chosen {
    /// The model that the user means.
    pub fn load(arg: &str) -> Result<Chosen, Failure> {
        match crate::model::load(arg) {
            Ok(model) => Ok(Chosen { arg: arg.to_owned(), model }),
            Err(error) => Err(Failure::Usage(error.to_string())),
        }
    }
}

/// Limits before the clock runs. The default has none.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    time: Option<Duration>,
    memory: Option<usize>,
    interrupt: Interrupt,
}

impl Budget {
    /// Time and bytes for each decision, and who may stop it.
    pub fn new(time: Option<Duration>, memory: Option<usize>, interrupt: &Interrupt) -> Budget {
        Budget { time, memory, interrupt: interrupt.clone() }
    }

    /// At least this long, also after an interrupt: for what has been found and is to be kept.
    pub fn at_least(&self, time: Duration) -> Budget {
        let time = self.time.map(|own| own.max(time));
        Budget { time, memory: self.memory, interrupt: Interrupt::default() }
    }

    /// The limits of a decision that begins now.
    pub fn start(&self) -> Limits {
        let limits =
            Limits { deadline: None, memory: self.memory, interrupt: Some(std::sync::Arc::clone(&self.interrupt.0)) };
        match self.time {
            Some(time) => limits.within(time),
            None => limits,
        }
    }
}
