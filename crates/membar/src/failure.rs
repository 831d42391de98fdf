//! Why a question has no answer, and the wish to stop.

use crate::report::safe;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Advice about an internal error.
pub const REPORT_BUG: &str = "This is a bug in membar. Please report it with the input and the command line; \
     `membar --version` tells the version.";

/// Why a question has no answer.
#[derive(Debug)]
pub enum Failure {
    /// Something the user can put right; the text is complete.
    Usage(String),
    /// Something is wrong with one of the programs; others may be fine.
    Input(Box<Problem>),
    /// A bug in membar; the text is complete but for what to do about it.
    Internal(String),
    /// There is no time left.
    Late,
    /// The program needs what membar does not have, before anything can be said about it.
    Limit(String),
    /// Nobody reads the results any more.
    Closed,
    /// The results cannot be written.
    Write(io::Error),
}

/// A fault in an input.
#[derive(Clone, Debug)]
pub struct Problem {
    /// For people, complete.
    pub text: String,
    /// For programs: `file`, `line`, `column`, `message`, `help`.
    pub json: serde_json::Value,
}

impl Failure {
    /// A search was kept in a file, and that of another program.
    pub(crate) fn foreign() -> Failure {
        let help = "make the plan again, or remove the file that --resume names";
        Failure::Usage(format!(
            "error: the search that was kept has steps that the program does not make\n = help: {help}"
        ))
    }
}

impl Problem {
    /// About a file, at a line if it is not 0.
    pub fn failure(file: &str, line: u32, message: &str, help: &str) -> Failure {
        let place = match (file, line) {
            ("", _) => String::new(),
            (file, 0) => format!("{}: ", safe(file)),
            (file, line) => format!("{}:{line}: ", safe(file)),
        };
        let clean = |text: &str| {
            let line = |line: &str| line.chars().map(crate::core::harmless).collect::<String>();
            text.lines().map(line).collect::<Vec<_>>().join("\n")
        };
        let help_line = if help.is_empty() { String::new() } else { format!("\n = help: {}", clean(help)) };
        let text = format!("error: {place}{}{help_line}", clean(message));
        let number = (line > 0).then_some(line);
        let json = serde_json::json!({
            "file": file, "line": number, "column": null, "message": message, "help": help,
        });
        Failure::Input(Box::new(Problem { text, json }))
    }
}

impl From<crate::litmus::Error> for Failure {
    fn from(error: crate::litmus::Error) -> Failure {
        Failure::Input(Box::new(Problem { text: error.render(), json: error.json() }))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe { Failure::Closed } else { Failure::Write(error) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(text) => f.write_str(text.trim_end()),
            Failure::Input(problem) => f.write_str(problem.text.trim_end()),
            Failure::Internal(text) => write!(f, "internal error: {text}\n{}", REPORT_BUG),
            Failure::Limit(text) => write!(f, "undecided: {text}"),
            Failure::Late => f.write_str("undecided: the time limit was reached (--time)"),
            Failure::Closed => f.write_str("error: standard output was closed"),
            Failure::Write(error) => write!(f, "error: cannot write the results: {error}"),
        }
    }
}

impl std::error::Error for Failure {}

/// A flag that asks everything that was given it to stop.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(pub Arc<AtomicBool>);

impl Interrupt {
    /// Asks to stop.
    pub fn press(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Was it pressed?
    pub fn pressed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
