//! Logs of cores and simulators as membar traces.
//!
//! ```
//! use membar_convert::{Choices, Format, convert};
//!
//! let log = "\
//! core   0: 3 0x0000000080000000 (0x00002537) x10 0x0000000000002000
//! core   0: 3 0x0000000080000004 (0x00052583) x11 0x0000000000000001 mem 0x0000000000002000
//! core   0: 3 0x0000000080000008 (0x00b52223) mem 0x0000000000002004 0x00000001
//! ";
//! let converted = convert(log, Format::Spike, Choices::default());
//! assert_eq!(converted.text, "\
//! init M[0x2000] == 0x1
//! 0: M[0x2000] == 0x1 ! 0x80000004
//! 0: M[0x2004] := 0x1 data(-1) ! 0x80000008
//! check
//! ");
//! assert!(converted.problems.is_empty());
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `tracegen`, `spike`, `whisper`, `dromajo`, `axe`, `csv` | one format each: lines become operations, or steps of a hart |
//! | `riscv` | the instructions: what they access, read and write |
//! | `stream` | from executed instructions to operations with dependencies |
//! | `op`, `write` | operations, and their text |
//!
//! A line that cannot be converted is reported with its place and reason; everything else is converted.

mod axe;
mod csv;
mod dromajo;
mod op;
pub mod riscv;
mod spike;
mod stream;
mod tracegen;
mod whisper;
mod write;

pub use op::Problem;
pub use write::Choices;

membar_core::named! {
    /// The formats.
    pub enum Format {
        /// rocket-chip's and Chipyard's TraceGen.
        TraceGen = "tracegen",
        /// Spike's commit log.
        Spike = "spike",
        /// Whisper's log, plain or CSV.
        Whisper = "whisper",
        /// Dromajo's trace.
        Dromajo = "dromajo",
        /// axe, in all its forms.
        Axe = "axe",
        /// The documented CSV.
        Csv = "csv",
    }
}

impl Format {
    /// The format of a text, by its first lines that belong to one.
    pub fn guess(text: &str) -> Option<Format> {
        let tracegen = ["-req ", "resp ", "fence-resp"];
        text.lines().take(1000).map(str::trim).find_map(|line| {
            let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let after_colon = line.split_once(':').map(|(_, rest)| rest.trim_start());
            if line.starts_with("pc,") {
                Some(Format::Whisper)
            } else if line.split(',').any(|cell| cell.trim() == "op") {
                Some(Format::Csv)
            } else if first == "core" && rest.contains("0x") {
                Some(Format::Spike)
            } else if first.len() > 1
                && first.starts_with('#')
                && first[1..].bytes().all(|byte| byte.is_ascii_digit())
                && rest.split_whitespace().count() >= 6
            {
                Some(Format::Whisper)
            } else if first.parse::<u32>().is_ok() && rest.starts_with("0x") && rest.contains("(0x") {
                Some(Format::Spike)
            } else if first.parse::<u32>().is_ok() && rest.contains(" 0x") && rest.contains("(0x") {
                Some(Format::Dromajo)
            } else if after_colon.is_some_and(|rest| tracegen.iter().any(|word| rest.contains(word))) {
                Some(Format::TraceGen)
            } else if line.contains(":=")
                || line.contains("==")
                || after_colon.is_some_and(|rest| rest.starts_with("sync"))
            {
                Some(Format::Axe)
            } else {
                None
            }
        })
    }

    /// One line for listings.
    pub fn about(self) -> &'static str {
        match self {
            Format::TraceGen => "rocket-chip's and Chipyard's TraceGen",
            Format::Spike => "commit log of Spike (--log-commits), or of a core that prints the same",
            Format::Whisper => "Whisper's --logfile, plain or --csvlog",
            Format::Dromajo => "Dromajo's --trace",
            Format::Axe => "axe, in every form its parser takes",
            Format::Csv => "a table with a header line",
        }
    }
}

/// A converted log.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The traces.
    pub text: String,
    /// Lines that could not be converted, in order.
    pub problems: Vec<Problem>,
    /// What to know about the traces, with how often it happened.
    pub notes: Vec<(String, u64)>,
    /// How many operations there are.
    pub operations: usize,
    /// How many traces.
    pub traces: usize,
}

/// Converts a log.
pub fn convert(text: &str, format: Format, choices: Choices) -> Converted {
    let mut log = match format {
        Format::TraceGen => tracegen::read(text),
        Format::Spike => spike::read(text),
        Format::Whisper => whisper::read(text),
        Format::Dromajo => dromajo::read(text),
        Format::Axe => axe::read(text),
        Format::Csv => csv::read(text),
    };
    check_times(&mut log);
    let mut out = String::new();
    let operations = log.traces.iter().map(|section| section.ops.len()).sum();
    for section in &log.traces {
        write::write(section, choices, &mut out, &mut log.notes);
    }
    log.problems.sort_by_key(|problem| problem.line);
    Converted { text: out, problems: log.problems, notes: log.notes, operations, traces: log.traces.len() }
}

/// Takes the times of operations that end before they begin: no trace can say that.
fn check_times(log: &mut op::Log) {
    for op in log.traces.iter_mut().flat_map(|section| &mut section.ops) {
        if let (Some(begin), Some(end)) = (op.begin, op.end)
            && end < begin
        {
            (op.begin, op.end) = (None, None);
            let reason = format!("the operation ends at {end}, before it begins at {begin}");
            log.problems.push(Problem { line: op.line, span: 0..0, reason, help: "it is converted without its times" });
        }
    }
}
