//! How a command ends, and the interrupt key.

use membar::report::safe;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interrupts closer together than this are one.
const MOMENT: Duration = Duration::from_millis(300);

/// Everything allowed.
pub const ALLOWED: u8 = 0;
/// Something forbidden.
pub const FORBIDDEN: u8 = 1;
/// Bad usage or bad input.
pub const BAD: u8 = 2;
/// Undecided within the limits.
pub const UNDECIDED: u8 = 3;
/// A bug in membar.
pub const INTERNAL: u8 = 4;

/// Why a command cannot continue.
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

/// An error in an input.
#[derive(Clone, Debug)]
pub struct Problem {
    /// For people, complete.
    pub text: String,
    /// For programs: `file`, `line`, `column`, `message`, `help`.
    pub json: serde_json::Value,
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
            let line = |line: &str| line.chars().map(membar::core::harmless).collect::<String>();
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

impl From<membar::litmus::Error> for Failure {
    fn from(error: membar::litmus::Error) -> Failure {
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
            Failure::Internal(text) => write!(f, "internal error: {text}\n{}", crate::decide::REPORT_BUG),
            Failure::Limit(text) => write!(f, "undecided: {text}"),
            Failure::Late => f.write_str("undecided: the time limit was reached (--time)"),
            Failure::Closed => f.write_str("error: standard output was closed"),
            Failure::Write(error) => write!(f, "error: cannot write the results: {error}"),
        }
    }
}

/// Set by the interrupt key.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(pub Arc<AtomicBool>);

impl Interrupt {
    /// The first press asks to stop, the second one stops. Two within a moment are one: some tools signal a process and its
    /// group.
    pub fn on_key() -> Interrupt {
        let interrupt = Interrupt::default();
        let flag = Arc::clone(&interrupt.0);
        let mut first: Option<Instant> = None;
        // Without a handler the first press stops at once, which is all that could be done about it.
        let _ = ctrlc::set_handler(move || {
            flag.store(true, Ordering::Relaxed);
            if first.get_or_insert_with(Instant::now).elapsed() > MOMENT {
                std::process::exit(130);
            }
        });
        interrupt
    }

    /// Was it pressed?
    pub fn pressed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
