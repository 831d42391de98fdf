//! `membar status`: shards done, findings, stragglers.
//!
//! Ages are differences of times that the file system gave, so clocks of hosts do not matter.

use super::store::{Id, SILENT, State, Store};
use super::{Ending, Needless};
use crate::cli::{DataFormat, StatusArgs};
use crate::stop;
use membar::Failure;
use membar::report::{Style, count, safe, wrapped};
use serde::Serialize;
use std::io::Write;
use std::time::SystemTime;

/// What labels take of a line.
const LABEL: usize = 9;
/// Shards that are named in a list.
const NAMED: usize = 20;
/// How often the page loads itself again, in seconds.
const RELOAD: u32 = 10;

/// The document of `--format json`.
#[derive(Serialize)]
struct Status {
    schema: u32,
    command: String,
    shards: usize,
    done: usize,
    /// Tests, traces or executions.
    units: u64,
    /// Of all workers together.
    seconds: f64,
    units_per_second: f64,
    found: u64,
    found_in: Vec<String>,
    running: Vec<Running>,
    /// Somebody was at them and is silent.
    silent: Vec<Running>,
    /// Shards that took more than three times the mean.
    slow: Vec<Slow>,
    damaged: Vec<String>,
    /// The first shard that found out something that makes the plan useless.
    outdated: Option<String>,
    hosts: usize,
    /// Shards that are left out, since the first finding is the end.
    left_out: usize,
    complete: bool,
}

impl Status {
    /// Whether nothing is left for workers.
    fn is_over(&self) -> bool {
        self.done + self.left_out == self.shards
    }
}

#[derive(Serialize)]
struct Running {
    shard: String,
    worker: String,
    silent_seconds: u64,
}

#[derive(Serialize)]
struct Slow {
    shard: String,
    seconds: f64,
}

fn look(store: &Store) -> Status {
    let now = store.probe().unwrap_or_else(|_| SystemTime::now());
    let states = store.scan();
    let mut hosts = std::collections::BTreeSet::new();
    let (mut done, mut units, mut seconds, mut found) = (0, 0, 0.0, store.manifest.found);
    let (mut found_in, mut damaged, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for (id, state) in &states {
        match state {
            State::Done(result) => {
                done += 1;
                units = result.units.saturating_add(units);
                seconds += result.seconds;
                found = result.found.saturating_add(found);
                hosts.insert(&result.host);
                times.push((id, result.seconds));
                if result.found > 0 {
                    found_in.push(id.to_string());
                }
            }
            State::Damaged(why) => damaged.push(format!("{id} {why}")),
            State::Open => {}
        }
    }
    let needless = Needless::now(store, Ending::of(&store.manifest));
    let is_left_out = |(id, state): &(&Id, &State)| !matches!(state, State::Done(_)) && needless.has(id);
    let left_out = states.iter().filter(is_left_out).count();
    let mean = seconds / f64::from(u32::try_from(done).unwrap_or(u32::MAX).max(1));
    let mut slow: Vec<Slow> = times
        .iter()
        .filter(|(_, seconds)| *seconds > 3.0 * mean && *seconds > 1.0)
        .map(|(id, seconds)| Slow { shard: id.to_string(), seconds: *seconds })
        .collect();
    slow.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let is_open = |id: &Id| states.get(id).is_some_and(|state| !matches!(state, State::Done(_)));
    let running = store.running(now).into_iter().filter(|(id, _)| is_open(id));
    let (silent, running): (Vec<_>, Vec<_>) = running.partition(|(_, (_, silent))| *silent >= SILENT);
    let told = |(id, (worker, silent)): (Id, (String, std::time::Duration))| Running {
        shard: id.to_string(),
        worker,
        silent_seconds: silent.as_secs(),
    };
    Status {
        schema: 1,
        command: format!("membar {}", store.manifest.command.join(" ")),
        shards: states.len(),
        done,
        units,
        seconds,
        units_per_second: if seconds > 0.0 { units as f64 / seconds } else { 0.0 },
        found,
        found_in,
        running: running.into_iter().map(told).collect(),
        silent: silent.into_iter().map(told).collect(),
        slow,
        damaged,
        outdated: store.learnt().first().map(|(id, _)| id.to_string()),
        hosts: hosts.len(),
        left_out,
        complete: done == states.len(),
    }
}

fn named(names: impl ExactSizeIterator<Item = String>) -> String {
    let all = names.len();
    let mut names: Vec<String> = names.take(NAMED).collect();
    if all > NAMED {
        names.push(format!("and {} more", all - NAMED));
    }
    names.join(", ")
}

/// Label and text of each line.
fn lines(store: &Store, status: &Status) -> Vec<(&'static str, String)> {
    let unit = match store.manifest.merge {
        super::store::Merge::Tests => "test",
        super::store::Merge::Outcomes => "outcome",
        super::store::Merge::Traces => "trace",
        super::store::Merge::Subtrees => "execution",
    };
    let percent = if status.complete { 100 } else { 100 * status.done / status.shards };
    let mut lines = vec![
        ("Plan", safe(&status.command)),
        ("Done", format!("{} of {} ({percent}%)", status.done, count(status.shards, "shard"))),
    ];
    if status.left_out > 0 {
        lines.push(("Ended", format!("at the first finding: {} left out", count(status.left_out, "shard"))));
    }
    if status.done > 0 {
        lines.push((
            "Speed",
            format!(
                "{} in {:.1} s of {}: {:.0} per second and worker",
                count(status.units as usize, unit),
                status.seconds,
                count(status.hosts, "host"),
                status.units_per_second
            ),
        ));
    }
    lines.push((
        "Found",
        match status.found {
            0 => "nothing so far".into(),
            found => {
                let planning = (store.manifest.found > 0).then(|| "planning".to_owned());
                let shards =
                    (!status.found_in.is_empty()).then(|| format!("shards {}", named(status.found_in.iter().cloned())));
                let places: Vec<String> = planning.into_iter().chain(shards).collect();
                // Parts of a search know nothing of each other.
                let again = match store.manifest.merge {
                    super::store::Merge::Subtrees if found > 1 => " (the same one in several places counts again)",
                    _ => "",
                };
                format!("{}{again} in {}", count(found as usize, "finding"), places.join(" and "))
            }
        },
    ));
    let worker = |running: &Running| format!("{} ({})", running.shard, running.worker);
    if !status.running.is_empty() {
        lines.push(("Running", named(status.running.iter().map(worker))));
    }
    if !status.silent.is_empty() {
        let silent = |running: &Running| format!("{}, for {} s", worker(running), running.silent_seconds);
        lines.push(("Silent", format!("{}: run these shards again", named(status.silent.iter().map(silent)))));
    }
    if !status.slow.is_empty() {
        let slow = |slow: &Slow| format!("{} ({:.0} s)", slow.shard, slow.seconds);
        lines.push(("Slow", format!("more than three times the mean: {}", named(status.slow.iter().map(slow)))));
    }
    if let Some(id) = &status.outdated {
        let again = "membar plan NEW --again PLAN";
        lines.push(("Outdated", format!("shard {id} found out something that the plan did not know: `{again}`")));
    }
    if !status.damaged.is_empty() {
        lines.push(("Damaged", named(status.damaged.iter().cloned())));
    }
    lines
}

fn page(lines: &[(&str, String)], status: &Status) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let rows: String =
        lines.iter().map(|(label, text)| format!("<dt>{label}</dt><dd>{}</dd>\n", escaped(text))).collect();
    let reload =
        if status.is_over() { String::new() } else { format!("<meta http-equiv=\"refresh\" content=\"{RELOAD}\">") };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{done}/{shards} shards</title>{reload}\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:50rem;\
         margin:2rem auto;padding:0 1rem;color-scheme:light dark}}dt{{font-weight:600;margin-top:.6rem}}dd{{margin:0;\
         overflow-wrap:anywhere}}progress{{width:100%}}</style></head><body><h1>membar: a plan at work</h1>\n\
         <progress max=\"{shards}\" value=\"{done}\" aria-label=\"shards done\"></progress><dl>\n{rows}</dl></body></html>\n",
        done = status.done,
        shards = status.shards,
    )
}

/// Runs the command.
pub fn status(args: &StatusArgs, style: Style) -> Result<u8, Failure> {
    let store = Store::open(&args.plan)?;
    let status = look(&store);
    let lines = lines(&store, &status);
    if let Some(file) = &args.html {
        std::fs::write(file, page(&lines, &status)).map_err(|error| {
            Failure::Usage(format!("error: cannot write {}: {error}", safe(&file.to_string_lossy())))
        })?;
    }
    let mut out = std::io::stdout();
    match args.format {
        DataFormat::Text => {
            for (label, text) in &lines {
                writeln!(out, "{label:<8} {}", wrapped(text, style.prose() - LABEL, &format!("\n{:LABEL$}", "")))?;
            }
        }
        DataFormat::Json => writeln!(out, "{}", serde_json::to_string(&status).map_err(std::io::Error::from)?)?,
    }
    Ok(if status.is_over() { stop::ALLOWED } else { stop::UNDECIDED })
}
