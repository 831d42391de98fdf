//! A violation as a directory that says everything about it.
//!
//! | file | holds |
//! |---|---|
//! | `README.txt` | what happened, and the commands that show it again |
//! | `program.txt` | the program |
//! | `trace.trace` | what was recorded |
//! | `shrunk.trace` | the smallest part of it that is still forbidden |
//! | `report.txt`, `result.json` | what `membar check` says about `trace.trace` |
//! | `machine.json` | machine, bugs, profile, seed, model, clock, version, host |
//! | `complete.trace` | only where a value was written twice: all that was recorded, of which `trace.trace` is a part |
//!
//! It is made under a hidden name, `.incomplete-PROCESS`, next to its place, and renamed when all files are written: a
//! directory with its real name is complete, whenever the process ended. Leftovers of dead processes are removed by
//! the next campaign that keeps its violations there.

use super::{Plan, Source, test::Evidence};
use crate::Failure;
use crate::core::{Clock, Compare};
use crate::report::json::Json;
use crate::report::text::Text;
use crate::report::{InputError, Reduced, Report, Shape, count, safe};
use crate::simulate::Profile;
use crate::{Decider, annotated};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = ".incomplete-";
const TRACE: &str = "trace.trace";
/// A violation is worth this long to be explained, whatever the limits of a check are.
const PATIENCE: Duration = Duration::from_secs(60);

/// The files that were written.
pub struct Kept {
    /// The directory.
    pub path: PathBuf,
    /// The violation, in a sentence or two.
    pub what: String,
    /// The shape of the cycle.
    pub shape: Option<Shape>,
    /// The operations that the proof needs.
    pub reduced: Option<Reduced>,
}

impl Kept {
    /// The place for messages.
    pub fn shown(&self) -> String {
        safe(&self.path.to_string_lossy())
    }
}

/// The files of a bundle, before they are written.
struct Files {
    what: String,
    shape: Option<Shape>,
    reduced: Option<Reduced>,
    files: Vec<(&'static str, Vec<u8>)>,
}

/// Keeps a violation. An identical one is not written again.
pub fn write(plan: &Plan, source: &dyn Source, test: u64, evidence: &Evidence) -> Result<Kept, Failure> {
    let Files { what, shape, reduced, files } = files(plan, source, test, evidence)?;
    let name: String = format!("{}-{}-{}", source.name(), plan.profile(test).profile.name, plan.seed(test))
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "+-._".contains(c) { c } else { '_' })
        .collect();
    let path = place(&plan.output, &name, &files).map_err(|error| {
        let output = safe(&plan.output.to_string_lossy());
        Failure::Usage(format!("error: a violation was found, but it cannot be kept in {output}: {error}\n{what}"))
    })?;
    Ok(Kept { path, what, shape, reduced })
}

pub(super) fn place(output: &Path, name: &str, files: &[(&str, Vec<u8>)]) -> io::Result<PathBuf> {
    std::fs::create_dir_all(output)?;
    // Another one of this name may be of a machine whose runs differ, or of another model.
    let mut path = output.join(name);
    for number in 2.. {
        if !path.exists() {
            break;
        }
        let same = |(name, bytes): &(&str, Vec<u8>)| std::fs::read(path.join(name)).is_ok_and(|kept| kept == *bytes);
        if files.iter().filter(|(name, _)| *name != "result.json").all(same) {
            return Ok(path);
        }
        path = output.join(format!("{name}-{number}"));
    }
    let hidden = format!("{PREFIX}{}-", std::process::id());
    let directory = tempfile::Builder::new().prefix(&hidden).tempdir_in(output)?;
    for (name, bytes) in files {
        let mut file = std::fs::File::create(directory.path().join(name))?;
        file.write_all(bytes)?;
        file.sync_data()?;
    }
    readable(directory.path())?;
    std::fs::rename(directory.path(), &path)?;
    drop(directory.keep()); // it has another name now
    Ok(path)
}

/// A temporary directory is its owner's alone; a kept one is like any other.
fn readable(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755))?;
    }
    let _ = directory;
    Ok(())
}

/// Takes away what processes that are gone left behind, where the system tells which are.
pub fn sweep(output: &Path) {
    let Ok(entries) = std::fs::read_dir(output) else { return };
    let alive = Path::new("/proc/self").exists();
    for entry in entries.flatten().filter(|_| alive) {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            // If it cannot be taken away, it does no harm.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn files(plan: &Plan, source: &dyn Source, test: u64, evidence: &Evidence) -> Result<Files, Failure> {
    let seed = plan.seed(test);
    let chosen = plan.profile(test);
    let command = plan.command(source, test);
    let clock = evidence.clock;
    let model = &plan.model.arg;
    let head = format!(
        "# {} ran the program of profile {} and seed {seed}.\n# Checked against {}.\n# {}\n",
        source.name(),
        safe(&chosen.profile.name),
        safe(model),
        if source.repeatable() { format!("Again: {command}") } else { format!("The same program: {command}") },
    );
    let text = |trace: &crate::Trace, note: &str| -> io::Result<Vec<u8>> {
        let mut bytes = format!("{head}{note}").into_bytes();
        crate::trace::write_trace(trace, &mut bytes)?;
        Ok(bytes)
    };
    let note = if evidence.complete.is_some() {
        "# A value was written twice, which makes no trace; this is the part of complete.trace that shows why.\n"
    } else {
        ""
    };
    let trace = text(&evidence.trace, note)?;
    let mut files = vec![("program.txt", format!("{head}{}", evidence.program).into_bytes()), (TRACE, trace.clone())];
    if let Some(complete) = &evidence.complete {
        files.push(("complete.trace", text(complete, "# A value was written twice.\n")?));
    }
    let mut json = Json::default();
    let (mut result, mut report) = (Vec::new(), Vec::new());
    let check = check_command(TRACE, model, clock);
    let internal = |fault: String| Failure::Internal(format!("{command}: {fault}"));
    let (mut shape, mut reduced) = (None, None);
    // The report is about the trace as read back, so that lines are those of the file.
    let what = match crate::trace::parse(TRACE, &trace) {
        Err(error) => {
            json.error(InputError::new(&error, 0));
            report.extend(error.render().into_bytes());
            format!("The recording is not a trace, since the machine lost an update: {error}")
        }
        Ok(mut traces) => {
            let Some(whole) = traces.first_mut() else { return Err(internal("the trace is empty".into())) };
            whole.set_clock(clock);
            let mut decider = Decider::default();
            let budget = plan.budget.at_least(PATIENCE);
            let answer = decider.decide(whole, &plan.model.model, &budget.start());
            let answer = answer.map_err(|flaw| internal(crate::refused(&flaw)))?;
            let shown = &Report::new(&decider.decided(&answer, (TRACE, 0), false, &budget.start()));
            json.report(shown, &mut result)?;
            if let Some(violation) = &shown.violation {
                (shape, reduced) = (violation.shape.clone(), violation.reduced.clone());
            }
            let text = Text { model: Some(model), ..Text::default() };
            text.report(shown, &mut report)?;
            match decider.shrink(whole, &plan.model.model, &budget.start()) {
                Some((_, part)) => {
                    let part = annotated(&part, TRACE, 1, model, whole.len())?;
                    write!(report, "\nThe part that matters (shrunk.trace):\n\n{part}")?;
                    files.push(("shrunk.trace", part.into_bytes()));
                }
                None => writeln!(report, "\nIt could not be made smaller within the limits.")?,
            }
            let words = shown.violation.as_ref().map(|violation| violation.explanation.iter().take(2).cloned());
            words.map(|words| words.collect::<Vec<_>>().join(" ")).unwrap_or_default()
        }
    };
    json.finish(&mut result)?;
    let readme = readme(plan, source, test, evidence, (&what, &check, &command));
    files.extend([
        ("report.txt", report),
        ("result.json", result),
        ("machine.json", machine(plan, source, test, clock, &command)),
        ("README.txt", readme.into_bytes()),
    ]);
    Ok(Files { what, shape, reduced, files })
}

fn readme(
    plan: &Plan,
    source: &dyn Source,
    test: u64,
    evidence: &Evidence,
    (what, check, command): (&str, &str, &str),
) -> String {
    let trace = evidence.complete.as_ref().unwrap_or(&evidence.trace);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} did what {} forbids: test {}, seed {}, profile {}, {} in {}.",
        source.name(),
        safe(&plan.model.arg),
        test + 1,
        plan.seed(test),
        safe(&plan.profile(test).profile.name),
        count(trace.len(), "operation"),
        count(evidence.program.threads(), "thread"),
    );
    let _ = writeln!(text, "{}", safe(&what.replace('\n', " ")));
    let _ = writeln!(text, "Read report.txt for the reason; shrunk.trace has the few operations that matter.");
    let _ = writeln!(text, "Check it again, in this directory:  {check}");
    let again =
        if source.repeatable() { "Run it again:" } else { "Run the same program again (it may take many tests):" };
    let _ = writeln!(text, "{again}  {command}");
    text
}

/// The command that decides the trace of a bundle.
fn check_command(file: &str, model: &str, clock: Clock) -> String {
    let mut text = format!("membar check {file} --model {}", crate::report::quoted_path(model));
    match clock.compare {
        Compare::Everything => text += " --clock global",
        Compare::Nothing => text += " --clock none",
        Compare::Threads => {}
    }
    if clock.error > 0 {
        let _ = write!(text, " --clock-error {}", clock.error);
    }
    if let Some(every) = clock.sampled_every {
        let _ = write!(text, " --sampled-every {every}");
    }
    text
}

fn machine(plan: &Plan, source: &dyn Source, test: u64, clock: Clock, command: &str) -> Vec<u8> {
    let value = json!({
        "schema": 1,
        "machine": source.describe(),
        "profile": profile_json(&plan.profile(test).profile),
        "seed": plan.seed(test),
        "test": test,
        "model": plan.model.arg,
        "clock": clock_json(clock),
        "command": command,
        "version": env!("CARGO_PKG_VERSION"),
        "host": host(),
    });
    format!("{value:#}\n").into_bytes()
}

/// The meaning of timestamps, with the words of the command line.
pub fn clock_json(clock: Clock) -> Value {
    let compare = match clock.compare {
        Compare::Everything => "global",
        Compare::Threads => "local",
        Compare::Nothing => "none",
    };
    json!({ "clock": compare, "clock_error": clock.error, "sampled_every": clock.sampled_every })
}

/// Where this runs.
fn host() -> Value {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    json!({
        "processor": processor.map_or(std::env::consts::ARCH, |(_, name)| name.trim()),
        "cores": std::thread::available_parallelism().map_or(1, usize::from),
        "system": std::env::consts::OS,
    })
}

/// A profile as its settings.
pub fn profile_json(profile: &Profile) -> Value {
    let mix = profile.mix;
    json!({
        "name": profile.name,
        "threads": profile.threads,
        "operations": profile.operations,
        "addresses": profile.addresses,
        "locks": profile.locks,
        "nesting": profile.nesting,
        "mix": {
            "loads": mix.loads,
            "stores": mix.stores,
            "exchanges": mix.exchanges,
            "adds": mix.adds,
            "compare-and-swaps": mix.compare_and_swaps,
            "barriers": mix.barriers,
            "store-barriers": mix.store_barriers,
            "locks": mix.locks,
        },
        "sharing": profile.sharing.name(),
        "stride": profile.stride,
        "burst": profile.burst,
        "delay": profile.delay,
    })
}
