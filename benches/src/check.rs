//! The same job as `membar check`, from the libraries: for `--in-process`, and for what the command has no flag for.

use crate::cli::{Check, Parse};
use crate::error::Error;
use membar_certify::Certifier;
use membar_check::{Checker, Limits};
use membar_core::{Trace, Verdict};
use membar_trace::Reader;
use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// As long as `membar check` takes at most.
const TIME: Duration = Duration::from_secs(60);

/// `membar-bench check`: decides, certifies and answers in the same form as `membar check`.
pub fn run(args: &Check) -> Result<ExitCode, Error> {
    let model = membar_model::load(&args.model)?;
    let mut reader = Reader::open(&args.file)?;
    let mut trace = Trace::new();
    let mut checker = Checker::with_plan(args.plan.plan());
    let mut certifier = Certifier::new();
    let mut out = BufWriter::new(io::stdout().lock());
    let axe = args.format == "axe";
    let mut results = Vec::new();
    while let Some(read) = reader.next(&mut trace) {
        read?;
        let outcome = checker.check(&trace, &model, &Limits::default().within(TIME));
        certifier.verdict(&trace, &model, &outcome.verdict)?;
        if axe {
            let word = match outcome.verdict {
                Verdict::Allowed(_) => "OK",
                Verdict::Forbidden(_) => "NO",
                Verdict::Undecided { .. } => "UNDECIDED",
            };
            writeln!(out, "{word}")?;
        } else {
            results.push(serde_json::json!({
                "verdict": outcome.verdict.name(),
                "algorithm": outcome.algorithm.name(),
                "certified": !matches!(outcome.verdict, Verdict::Undecided { .. }),
                "effort": { "conflicts": outcome.effort.conflicts },
            }));
        }
    }
    if !axe {
        writeln!(out, "{}", serde_json::json!({ "schema": 1, "results": results }))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The same bytes again and again.
struct Repeated {
    bytes: Vec<u8>,
    at: usize,
    times: u64,
}

impl Read for Repeated {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.bytes.len() {
            (self.at, self.times) = (0, self.times.saturating_sub(1));
        }
        if self.times == 0 {
            return Ok(0);
        }
        let size = into.len().min(self.bytes.len() - self.at);
        into[..size].copy_from_slice(&self.bytes[self.at..self.at + size]);
        self.at += size;
        Ok(size)
    }
}

/// `membar-bench parse`: prints megabytes per second.
pub fn parse(args: &Parse) -> Result<ExitCode, Error> {
    let bytes = std::fs::read(&args.file).map_err(Error::file("read", &args.file))?;
    let times = args.bytes.div_ceil(bytes.len().max(1) as u64);
    let total = times * bytes.len() as u64;
    let mut trace = Trace::new();
    let start = Instant::now();
    let mut reader = Reader::new("text", Repeated { bytes, at: 0, times });
    while let Some(read) = reader.next(&mut trace) {
        read?;
    }
    println!("{}", total as f64 / 1e6 / start.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}
