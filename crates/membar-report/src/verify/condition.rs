//! The condition at the end of a litmus test, in words.

use super::VerifyReport;
use membar_core::ProgramModel;
use serde::{Deserialize, Serialize};

/// The condition at the end of a litmus test. `~exists` and `forall` assert, `exists` asks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConditionRef {
    /// As it is written: `exists (0:EAX=0 /\ 1:EAX=0)`.
    pub text: String,
    /// Whether it is an error if it does not hold.
    pub asserts: bool,
    /// Whether it holds under the model, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// Whether it holds under SC, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds_under_sc: Option<bool>,
    /// Of `exists`: an execution that ends like that, sequentially consistent if there is such a one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
}

impl ConditionRef {
    /// Whether the outcome that `exists` asks about happens under the model, and never under SC.
    pub(super) fn is_weak(&self) -> bool {
        !self.asserts && (self.holds, self.holds_under_sc) == (Some(true), Some(false))
    }

    fn words(&self, model: ProgramModel) -> String {
        let ConditionRef { text, .. } = self;
        match (self.asserts, self.holds, self.holds_under_sc) {
            (true, Some(true), _) => format!("{text} holds"),
            (true, Some(false), Some(false)) => format!("{text} does not hold, under SC neither"),
            (true, Some(false), _) => format!("{text} does not hold under {model}, though it does under SC"),
            (false, Some(true), Some(true)) => format!("{text}: happens, under SC too"),
            (false, Some(true), Some(false)) => format!("{text}: happens under {model}, and never under SC"),
            (false, Some(true), None) => format!("{text}: happens"),
            (false, Some(false), _) => format!("{text}: never happens"),
            (true, None, Some(true)) => format!("{text} holds under SC; under {model} that is not known"),
            (false, None, Some(false)) => format!("{text}: never happens under SC; under {model} that is not known"),
            (true, None, _) => format!("whether {text} holds is not known"),
            (false, None, _) => format!("{text}: whether it happens is not known"),
        }
    }
}

impl VerifyReport {
    /// What a litmus test asks, and the answer.
    pub(crate) fn asks(&self) -> Option<String> {
        let condition = self.condition.as_ref()?;
        let words = condition.words(self.model);
        Some(match condition.schedule.as_ref().filter(|_| condition.is_weak()) {
            Some(schedule) => {
                format!("{words} ({})", self.command.line(schedule, &format!(" --model {}", self.model)))
            }
            None => words,
        })
    }
}
