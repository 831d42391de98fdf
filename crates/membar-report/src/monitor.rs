//! Findings of monitors on an interleaving: data, which is also the JSON schema, and text.
//!
//! The first lines of an unsafe result say what can be delayed, what overtakes it, why that is not sequentially consistent,
//! and where fences prevent it.

use crate::kinds::{MonitorName, MonitorStop, Strength};
use crate::style::{Style, count, list, safe, wrapped};
use membar_core::{ProgramVerdict, Relation};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Violations that are shown besides the first.
const MORE: usize = 20;
/// Edges of a cycle that are put into words.
const EDGES: usize = 8;

/// The findings of one monitor on one interleaving.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Monitored {
    /// The file as the user named it, `<stdin>` for standard input.
    pub file: String,
    /// Index of the trace in its file, from 0.
    pub trace: u64,
    /// The first line of the trace that is neither blank nor a comment.
    pub line: u64,
    /// `tso`, `pso`, `sober` or `sober-fixed`.
    #[serde(with = "crate::kinds")]
    pub monitor: MonitorName,
    /// `safe` (on this interleaving), `unsafe` or `undecided`.
    #[serde(with = "crate::kinds")]
    pub verdict: ProgramVerdict,
    /// Was the whole interleaving monitored?
    pub complete: bool,
    /// Why not: `time`, `interrupted`, `first` (stopped at a violation), `input` (bad input), `memory` or `writes`
    /// (2³² − 2²⁰ by a thread).
    #[serde(skip_serializing_if = "Option::is_none", default, with = "crate::kinds::optional")]
    pub stopped: Option<MonitorStop>,
    /// Does the text end without the `check` of this trace?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_check: bool,
    /// Number of operations monitored.
    pub events: u64,
    /// Number of threads.
    pub threads: usize,
    /// Number of addresses.
    pub addresses: usize,
    /// Number of locks.
    pub locks: usize,
    /// How long it took, all monitors together.
    pub seconds: f64,
    /// Violations, each time that one was seen.
    pub total: u64,
    /// Have all instructions in `violations` labels? If not, those of one thread, address and kind count as one.
    pub labelled: bool,
    /// One of each pair of instructions, in the order in which they were found.
    pub violations: Vec<Overtaking>,
    /// Violations of further pairs, which were not told apart.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub violations_omitted: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A store that can be delayed and the access that overtakes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Overtaking {
    /// The store.
    pub store: Operation,
    /// The access of the same address that overtakes it.
    pub access: Operation,
    /// The operation just before the access in its thread, and after the store in happens-before.
    pub prev: Operation,
    /// A happens-before cycle of the execution under the model. Empty if it was not looked for or cannot be told.
    pub cycle: Vec<CycleEdge>,
    /// Why it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_cycle: Option<String>,
    /// How often this pair of instructions was seen.
    pub count: u64,
}

/// An operation of the interleaving.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// The thread's number in the trace.
    pub thread: u32,
    /// Its line.
    pub line: u64,
    /// As in the trace, without thread, times and label.
    pub text: String,
    /// Its label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// One edge of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CycleEdge {
    /// Is before
    pub from: Operation,
    /// this one,
    pub to: Operation,
    /// because of `po`, `rf`, `co`, `fr`, `start` or `join`.
    #[serde(with = "crate::kinds")]
    pub by: Relation,
    /// The fence needed between the two so that the model keeps their order: `full` or `store-store`.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "crate::kinds::optional")]
    pub fence: Option<Strength>,
}

impl Operation {
    pub(crate) fn long(&self) -> String {
        let label = self.label.as_ref().map_or_else(String::new, |label| format!(" ({})", safe(label)));
        format!("line {}, thread {}: {}{label}", self.line, self.thread, self.text)
    }
}

impl Monitored {
    /// Does it take several lines?
    pub fn apart(&self) -> bool {
        self.verdict != ProgramVerdict::Safe
    }

    /// Writes the result for people.
    pub fn text(&self, style: Style, out: &mut impl Write) -> io::Result<()> {
        let mut size = vec![count(self.events as usize, "event"), count(self.threads, "thread")];
        size.push(count(self.addresses, "address"));
        if self.locks > 0 {
            size.push(count(self.locks, "lock"));
        }
        let place = format!("{}, trace {} (line {}): {}", safe(&self.file), self.trace + 1, self.line, size.join(", "));
        let monitor = self.monitor;
        match (self.verdict, self.violations.first()) {
            (ProgramVerdict::Unsafe, Some(first)) => {
                writeln!(out, "{} under {monitor}  {place}", style.bad("UNSAFE"))?;
                self.first(first, style, out)?;
                self.others(style, out)?;
            }
            (ProgramVerdict::Undecided, _) => {
                writeln!(out, "{} under {monitor}  {place}", style.open("UNDECIDED"))?;
                labelled(
                    style,
                    "What",
                    "No violation up to here, but the interleaving was not monitored to its end.",
                    out,
                )?;
            }
            _ => {
                let only = style.dim("(on this interleaving; others of the same program may differ)");
                writeln!(out, "{} under {monitor}  {place}  {only}", style.good("safe"))?;
            }
        }
        let stopped = match self.stopped {
            Some(MonitorStop::Time) => "the time limit passed; `--time none` removes it",
            Some(MonitorStop::Memory) => {
                "there are too many threads and addresses for the memory limit; `--memory none` removes it"
            }
            Some(MonitorStop::Interrupted) => "it was interrupted",
            Some(MonitorStop::First) => "`--stop-at-first` was given",
            Some(MonitorStop::Input) => "the input could not be read any further",
            Some(MonitorStop::Writes) => {
                "a thread has written more often than can be counted; split the recording with `check` lines"
            }
            None => return Ok(()),
        };
        labelled(style, "Note", &format!("Monitoring ended before the trace did: {stopped}."), out)
    }

    fn first(&self, first: &Overtaking, style: Style, out: &mut impl Write) -> io::Result<()> {
        let waits = if matches!(self.monitor, MonitorName::Sober | MonitorName::SoberFixed) {
            "may not be in memory yet"
        } else {
            "can wait in its store buffer"
        };
        labelled(style, "Store", &format!("{} {waits}", first.store.long()), out)?;
        let goes = match first.access.text.as_bytes() {
            [b'{', ..] => "while this goes to memory before it",
            text if text.windows(2).any(|pair| pair == b":=") => "while this reaches memory before it",
            _ => "while this reads memory without it",
        };
        labelled(style, "Past", &format!("{} {goes}", first.access.long()), out)?;
        match &first.no_cycle {
            Some(reason) => labelled(style, "Cycle", &format!("{reason}."), out),
            None => {
                labelled(style, "Cycle", &format!("{}.", words(&first.cycle)), out)?;
                labelled(style, "Fence", &fences(&first.cycle), out)
            }
        }
    }

    fn others(&self, style: Style, out: &mut impl Write) -> io::Result<()> {
        let distinct = self.violations.len();
        if self.total > 1 {
            let pairs = format!("{}, seen {} times", count(distinct, "violation"), self.total);
            writeln!(out, "\n  {}", style.heading(pairs))?;
            for (k, other) in self.violations.iter().take(MORE).enumerate() {
                let (store, access) = (other.store.long(), other.access.long());
                writeln!(out, "    {}. {store}  past  {access}  {}", k + 1, style.dim(times(other.count)))?;
            }
            if distinct > MORE {
                writeln!(out, "    … {} more; --format json has all", distinct - MORE)?;
            }
            if self.violations_omitted > 0 {
                writeln!(out, "    … and {} of further pairs", self.violations_omitted)?;
            }
            if !self.labelled {
                let note = "Accesses of one thread, address and kind count as one instruction; labels (`0: x := 1 ! file.c:12`) \
                            tell them apart.";
                writeln!(out, "    {}", style.dim(note))?;
            }
        }
        Ok(())
    }
}

fn times(n: u64) -> String {
    if n == 1 { "(once)".into() } else { format!("({n} times)") }
}

impl CycleEdge {
    /// Why the one is before the other; the last edge of a cycle holds under the model only.
    pub(crate) fn words(&self, last: bool) -> String {
        let (from, to) = (self.from.line, self.to.line);
        match self.by {
            Relation::Po | Relation::Ppo | Relation::Hb | Relation::Time => {
                format!("line {from} is before line {to} in thread {}", self.from.thread)
            }
            Relation::Rf => format!("line {to} reads what line {from} wrote"),
            Relation::Co if last => format!("line {from} reaches memory before line {to}"),
            Relation::Co => format!("line {to} overwrites line {from}"),
            Relation::Fr if last => format!("line {from} reads before line {to} is in memory"),
            Relation::Fr => format!("line {to} overwrites what line {from} read"),
            Relation::Start => format!("line {from} starts the thread of line {to}"),
            Relation::Join => format!("line {to} waits for the thread of line {from}"),
        }
    }
}

/// The cycle in a sentence.
fn words(cycle: &[CycleEdge]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let last = cycle.len().saturating_sub(1);
    for (k, step) in cycle.iter().enumerate() {
        if cycle.len() > EDGES && k == EDGES - 2 {
            parts.push(format!("… {} more …", last - k));
        }
        if cycle.len() > EDGES && k >= EDGES - 2 && k < last {
            continue;
        }
        parts.push(step.words(k == last));
    }
    let mut text = list(&parts, "and").replace(" and …", ", …");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

fn fences(cycle: &[CycleEdge]) -> String {
    let places: Vec<String> = cycle
        .iter()
        .filter_map(|step| {
            let (from, to, thread) = (step.from.line, step.to.line, step.from.thread);
            let enough = if step.fence? == Strength::Full { "" } else { ", where a store-store barrier is enough" };
            Some(format!("between line {from} and line {to} of thread {thread}{enough}"))
        })
        .collect();
    match places.len() {
        0 => "The model keeps all program order of this cycle.".into(),
        1 => format!("Needed {}.", places[0]),
        _ => format!("Needed {}.", list(&places, "and")),
    }
}

fn labelled(style: Style, label: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
    let text = wrapped(text, style.prose() - 9, "\n         ");
    writeln!(out, "  {}{text}", style.heading(format_args!("{:<7}", format!("{label}:"))))
}
