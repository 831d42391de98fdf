//! The report of a litmus test whose executions were enumerated.

use crate::kinds;
use crate::style::{Style, count, safe, wrapped};
use membar_core::ProgramVerdict;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The result of verifying one litmus test of RISCV or AArch64 under one model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EnumeratedReport {
    /// The test's file.
    pub program: String,
    /// `rvwmo`, `ztso` or `armv8`.
    pub model: String,
    /// `safe` if every execution is sequentially consistent, `unsafe` if one is not, otherwise `undecided`.
    #[serde(with = "kinds")]
    pub verdict: ProgramVerdict,
    /// Whether these are all executions.
    pub complete: bool,
    /// Executions of the model.
    pub executions: u64,
    /// Of these, executions that are not sequentially consistent.
    pub relaxed: u64,
    /// The final state of one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Whether no sequentially consistent execution ends like that.
    pub new_state: bool,
    /// The condition of the test.
    pub condition: String,
    /// Whether it holds under the model.
    pub holds: bool,
    /// Whether it holds under sc.
    pub holds_under_sc: bool,
    /// Time.
    pub seconds: f64,
}

impl EnumeratedReport {
    /// In words.
    pub fn text(&self, style: Style, out: &mut impl Write) -> io::Result<()> {
        let EnumeratedReport { model, executions, relaxed, .. } = self;
        let (word, what) = match self.verdict {
            ProgramVerdict::Safe => {
                (style.good("safe").to_string(), "every execution is sequentially consistent".to_owned())
            }
            ProgramVerdict::Unsafe => {
                let are = if *relaxed == 1 { "is" } else { "are" };
                let of = count(*executions as usize, "execution");
                (style.bad("UNSAFE").to_string(), format!("{relaxed} of {of} {are} not sequentially consistent"))
            }
            _ => {
                (style.open("UNDECIDED").to_string(), "no execution so far that is not sequentially consistent".into())
            }
        };
        writeln!(out, "{word} under {model}  {}: {what}", safe(&self.program))?;
        let mut line =
            |label: &str, text: &str| writeln!(out, "  {label} {}", wrapped(text, style.prose() - 8, "\n        "));
        if let Some(state) = &self.state {
            let end = match self.new_state {
                true => "sc has no execution that ends like this",
                false => "an execution under sc can end like this too, but not in the same way",
            };
            line("What:", &format!("it ends with {}: {end}", safe(state)))?;
        }
        let holds = |holds: bool| if holds { "holds" } else { "does not hold" };
        let sc = match self.holds == self.holds_under_sc {
            true => "as it does under sc".to_owned(),
            false => format!("but {} under sc", holds(self.holds_under_sc)),
        };
        let sc = if self.holds || self.holds != self.holds_under_sc { sc } else { "nor under sc".into() };
        line("Asks:", &format!("{} {} under {model}, {sc}", safe(&self.condition), holds(self.holds)))?;
        let all = if self.complete { "all " } else { "" };
        let seen = format!("{all}{}, enumerated ({:.2} s)", count(*executions as usize, "execution"), self.seconds);
        line("Seen:", &seen)?;
        if !self.complete {
            line("Next:", "a limit was reached: a loop may go on, or there are more executions (--time)")?;
        }
        Ok(())
    }
}
