//! The report of a verified program: data first, then words.

use crate::data::SCHEMA;
use crate::style::{Style, count, list, quoted_path, safe};
use crate::text::wrapped;
use serde::Serialize;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What came of verifying one program under one model.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// The program's file.
    pub program: String,
    /// `tso` or `pso`.
    pub model: &'static str,
    /// `safe`, `unsafe`, `error` or `undecided`.
    pub verdict: &'static str,
    /// Whether everything was explored that there is.
    pub complete: bool,
    /// How executions were chosen.
    pub strategy: String,
    /// What looked at them.
    pub monitor: &'static str,
    /// What one execution stands for: `interleaving` or `class`.
    #[serde(skip)]
    pub unit: &'static str,
    /// Executions explored; with dpor one of each happens-before class.
    pub interleavings: u64,
    /// Of these, executions that were cut because they were too long.
    pub cut: u64,
    /// Accesses made.
    pub events: u64,
    /// Time.
    pub seconds: f64,
    /// Why it is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// How to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Fences that make the program safe, checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<FenceRef>>,
    /// Distinct violations.
    pub violations: Vec<ViolationRef>,
    /// Distinct errors of the program itself.
    pub errors: Vec<ErrorRef>,
}

/// An access of the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AccessRef {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The thread, from 0.
    pub thread: u32,
    /// What the program calls the thread.
    pub thread_name: String,
    /// The instruction as it is written.
    pub text: String,
    /// `load`, `store` or `rmw`.
    pub kind: &'static str,
    /// The address by name.
    pub address: String,
    /// The value read, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// The value written, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
}

/// A violation.
#[derive(Clone, Debug, Serialize)]
pub struct ViolationRef {
    /// The store that is delayed.
    pub store: AccessRef,
    /// The access of another thread that overtakes it.
    pub access: AccessRef,
    /// The happens-before cycle: each entry comes before the next, the last before the first.
    pub cycle: Vec<LinkRef>,
    /// The execution under the model, step by step.
    pub run: Vec<StepRef>,
    /// Where fences make this cycle impossible: all of them are needed.
    pub fences: Vec<FenceRef>,
    /// An SC schedule that leads there.
    pub schedule: String,
    /// In how many of the explored executions it occurs.
    pub executions: u64,
    /// A separate machine ran the execution and found it not sequentially consistent.
    pub certified: bool,
}

/// An event of a cycle and why it comes before the next one.
#[derive(Clone, Debug, Serialize)]
pub struct LinkRef {
    /// The event.
    #[serde(flatten)]
    pub access: AccessRef,
    /// `po`, `rf`, `co` or `fr`.
    pub relation: &'static str,
    /// Whether the model keeps this order between memory operations of a thread; only for `po`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<bool>,
}

/// A step of the machine with store buffers.
#[derive(Clone, Debug, Serialize)]
pub struct StepRef {
    /// `issue`: the thread makes the access, a store goes into its buffer. `commit`: the store reaches memory.
    pub step: &'static str,
    /// The access.
    #[serde(flatten)]
    pub access: AccessRef,
    /// It is the store that is delayed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub delayed: bool,
    /// It is the access that overtakes it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overtakes: bool,
}

/// A place for a fence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FenceRef {
    /// The thread.
    pub thread_name: String,
    /// What to write there.
    pub fence: String,
    /// After the instruction in this line
    pub after_line: u32,
    /// and column,
    pub after_column: u32,
    /// before the one in this line, which may run after it,
    pub before_line: u32,
    /// and column.
    pub before_column: u32,
}

/// An error of the program itself.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorRef {
    /// `deadlock`, `livelock` or `fault`.
    pub kind: &'static str,
    /// In words.
    pub message: String,
    /// A schedule that leads there.
    pub schedule: String,
    /// In how many of the explored executions it occurs.
    pub executions: u64,
}

/// The JSON document for one program or several. `errors` are what was wrong with the input.
pub fn verify_json(reports: &[VerifyReport], errors: &[Value], several: bool, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct One<'a> {
        schema: u32,
        #[serde(flatten)]
        report: &'a VerifyReport,
    }
    #[derive(Serialize)]
    struct Many<'a> {
        schema: u32,
        results: &'a [VerifyReport],
        errors: &'a [Value],
    }
    match reports {
        [report] if !several => serde_json::to_writer(&mut *out, &One { schema: SCHEMA, report })?,
        _ => serde_json::to_writer(&mut *out, &Many { schema: SCHEMA, results: reports, errors })?,
    }
    out.write_all(b"\n")
}

/// How wide the columns of threads may get before the execution is listed line by line.
const WIDTH: usize = 110;
/// Violations shown in full; the JSON report has all.
const SHOWN: usize = 5;
/// Steps of an execution that are shown.
const STEPS: usize = 60;

impl VerifyReport {
    /// Writes the report for a terminal. `all` shows every violation in full.
    pub fn text(&self, style: Style, all: bool, out: &mut impl Write) -> io::Result<()> {
        let (program, model) = (safe(&self.program), self.model);
        match self.verdict {
            "safe" => {
                let verdict = style.good("safe");
                writeln!(out, "{verdict} under {model}  {program}: every execution is sequentially consistent")?;
            }
            "unsafe" => {
                let (verdict, n) = (style.bad("UNSAFE"), count(self.violations.len(), "distinct violation"));
                writeln!(out, "{verdict} under {model}  {program}: {n}")?;
            }
            "error" => {
                let verdict = style.bad("ERROR");
                writeln!(out, "{verdict}  {program}: {}", safe(&self.errors[0].message))?;
            }
            _ => {
                let verdict = style.open("UNDECIDED");
                writeln!(
                    out,
                    "{verdict} under {model}  {program}: no violation found, but not everything was explored"
                )?;
            }
        }
        let line = |label: &str, text: &str, out: &mut dyn Write| {
            writeln!(out, "  {label} {}", wrapped(text, WIDTH - 8, "\n        "))
        };
        if let Some(first) = self.violations.first() {
            line("What:", &first.sentence(), out)?;
            if let Some(plan) = &self.plan {
                let it = if plan.len() == 1 { "it" } else { "these" };
                line("Fix: ", &format!("{} (checked: safe with {it})", fences(plan)), out)?;
            }
        }
        line("Seen:", &self.explored(), out)?;
        if let Some(why) = &self.incomplete {
            line("Left:", why, out)?;
        }
        if let Some(advice) = &self.advice {
            line("Next:", advice, out)?;
        }
        for error in &self.errors {
            let n = count(error.executions as usize, "execution");
            writeln!(out, "\n{}: {} ({n})", style.bad(error.kind), safe(&error.message))?;
            writeln!(out, "  See it: membar replay {} {}", quoted_path(&self.program), quoted_path(&error.schedule))?;
        }
        let shown = if all { self.violations.len() } else { SHOWN };
        for (i, violation) in self.violations.iter().take(shown).enumerate() {
            let of = self.violations.len();
            writeln!(out, "\n{}", style.heading(format!("violation {} of {of}", i + 1)))?;
            self.violation(violation, style, out)?;
        }
        if self.violations.len() > shown {
            writeln!(out, "\nand these, shown in full with -v:")?;
            for violation in &self.violations[shown..] {
                writeln!(out, "  {}", wrapped(&violation.sentence(), WIDTH - 4, "\n    "))?;
            }
        }
        Ok(())
    }

    fn explored(&self) -> String {
        let unit = count(self.interleavings as usize, self.unit);
        let all = if self.complete && self.interleavings > 1 { "all " } else { "" };
        let rate = self.interleavings as f64 / self.seconds.max(1e-6);
        let speed = if self.seconds > 0.5 { format!(", {rate:.0}/s") } else { String::new() };
        format!("{all}{unit} ({}, {:.2} s{speed})", self.strategy, self.seconds)
    }

    fn violation(&self, violation: &ViolationRef, style: Style, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "  {}", wrapped(&violation.sentence(), WIDTH - 4, "\n    "))?;
        writeln!(out, "  An execution under {} that is not sequentially consistent:\n", self.model)?;
        run(&violation.run, style, out)?;
        writeln!(out, "\n  Each of these comes before the next, and the last before the first:")?;
        for (i, link) in violation.cycle.iter().enumerate() {
            let next = &violation.cycle[(i + 1) % violation.cycle.len()];
            let words = link.words(&next.access, self.model);
            writeln!(out, "    {}  {} {}", style.dim(link.relation), link.access.place(), words)?;
        }
        let broken = format!("It is broken by {}", fences(&violation.fences));
        writeln!(out, "  {}", wrapped(&broken, WIDTH - 4, "\n    "))?;
        let n = count(self.interleavings as usize, self.unit);
        writeln!(
            out,
            "  In {} of {n}. See the SC execution: membar replay {} {} --model {}",
            violation.executions,
            quoted_path(&self.program),
            violation.schedule,
            self.model
        )
    }
}

impl AccessRef {
    /// `P0 line 7`
    fn place(&self) -> String {
        format!("{} line {}", safe(&self.thread_name), self.line)
    }

    /// `P0 line 7 `MOV [x],$1``
    fn short(&self) -> String {
        format!("{} `{}`", self.place(), safe(&self.text))
    }
}

impl FenceRef {
    fn place(&self) -> String {
        let Self { after_line, before_line, after_column, before_column, .. } = self;
        let thread = safe(&self.thread_name);
        match before_line.cmp(after_line) {
            Ordering::Greater => format!("in {thread} between lines {after_line} and {before_line}"),
            Ordering::Equal if before_column > after_column => {
                format!("in {thread} between columns {after_column} and {before_column} of line {after_line}")
            }
            _ => format!("in {thread} after line {after_line}"),
        }
    }
}

/// Fences of one kind together.
fn fences(all: &[FenceRef]) -> String {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for fence in all {
        match kinds.iter_mut().find(|(kind, _)| *kind == fence.fence) {
            Some((_, places)) => places.push(fence.place()),
            None => kinds.push((&fence.fence, vec![fence.place()])),
        }
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, places)| format!("`{kind}` {}", list(places, "and"))).collect();
    kinds.join("; ")
}

impl ViolationRef {
    fn sentence(&self) -> String {
        let (store, access) = (&self.store, &self.access);
        let done = match access.kind {
            "load" => "reads",
            "store" => "writes",
            _ => "accesses",
        };
        format!(
            "{} {done} `{}` while {} is still in a store buffer",
            access.short(),
            safe(&access.address),
            store.short()
        )
    }
}

impl LinkRef {
    fn words(&self, next: &AccessRef, model: &str) -> String {
        let address = safe(&self.access.address);
        let line = match next.line == self.access.line {
            true => format!("column {} of that line", next.column),
            false => format!("line {}", next.line),
        };
        match (self.relation, self.kept) {
            ("po", Some(true)) => format!("is before {line} in its thread, and {model} keeps that order"),
            ("po", _) => format!("is before {line} in its thread, but {model} does not keep that order"),
            ("rf", _) => format!("writes the {address} that {} reads", next.place()),
            ("co", _) => format!("writes {address}, which {} overwrites", next.place()),
            _ => format!("reads the {address} that {} overwrites", next.place()),
        }
    }
}

/// The execution under the model.
fn run(steps: &[StepRef], style: Style, out: &mut impl Write) -> io::Result<()> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let step = &steps[at];
        let access = &step.access;
        // A store that reaches memory at once is one row.
        let at_once = steps.get(at + 1).is_some_and(|next| next.step == "commit" && next.access == *access);
        let value = match (&access.read, &access.write) {
            (Some(read), Some(write)) => format!("  {} = {read}, then {write}", access.address),
            (Some(read), None) => format!("  {} = {read}", access.address),
            _ => String::new(),
        };
        let text = format!("{:>3}  {}{}", access.line, safe(&access.text), safe(&value));
        let text = match (step.step, step.delayed, step.overtakes) {
            ("commit", true, _) => format!("{text}  <- reaches memory now"),
            ("commit", ..) => format!("{text}  <- reaches memory"),
            ("issue", true, _) => format!("{text}  -> delayed in the store buffer"),
            ("issue", _, true) => format!("{text}  overtakes it"),
            _ if access.kind == "store" && !at_once => format!("{text}  -> store buffer"),
            _ => text,
        };
        let marked = step.delayed || step.overtakes;
        rows.push(Row { thread: access.thread, name: safe(&access.thread_name), text, marked });
        at += if at_once && step.step == "issue" { 2 } else { 1 };
    }
    columns(&rows, STEPS, style, out)
}

/// A line in the column of a thread.
struct Row {
    thread: u32,
    name: String,
    text: String,
    marked: bool,
}

/// The last `most` rows in columns, one a thread, or one after the other with the thread's name where columns would be too
/// wide.
fn columns(rows: &[Row], most: usize, style: Style, out: &mut impl Write) -> io::Result<()> {
    const GAP: usize = 3;
    let mut threads: BTreeMap<u32, (usize, &str)> = BTreeMap::new();
    for row in rows {
        let width = row.text.chars().count().max(row.name.chars().count() + 5);
        let known = threads.entry(row.thread).or_insert((0, &row.name));
        known.0 = known.0.max(width);
    }
    let aside = threads.values().map(|(width, _)| width + GAP).sum::<usize>() <= WIDTH;
    let hidden = rows.len().saturating_sub(most);
    if hidden > 0 {
        writeln!(out, "    … {} before these …", count(hidden, "step"))?;
    }
    if aside {
        let head =
            threads.values().map(|(width, name)| format!("{:width$}", format!("     {name}"), width = width + GAP));
        writeln!(out, "    {}", style.heading(head.collect::<String>().trim_end()))?;
    }
    for row in &rows[hidden..] {
        let text = if row.marked { style.bad(&row.text).to_string() } else { row.text.clone() };
        if aside {
            let before = threads.range(..row.thread).map(|(_, (width, _))| width + GAP).sum();
            writeln!(out, "    {}{text}", " ".repeat(before))?;
        } else {
            writeln!(out, "    {}: {text}", row.name)?;
        }
    }
    Ok(())
}

/// A schedule that was run.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayReport {
    /// The program's file.
    pub program: String,
    /// The schedule.
    pub schedule: String,
    /// The model that accesses were looked at under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'static str>,
    /// The steps.
    pub steps: Vec<ReplayStep>,
    /// The values of all addresses at the end.
    pub memory: Vec<(String, String)>,
    /// Where each thread is at the end, in words.
    pub threads: Vec<String>,
}

/// A step of a schedule.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayStep {
    /// The access.
    #[serde(flatten)]
    pub access: AccessRef,
    /// Under the model this access could have overtaken the store of this step, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overtakes: Option<u32>,
}

impl ReplayReport {
    /// Writes the JSON document.
    pub fn json(&self, out: &mut impl Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct One<'a> {
            schema: u32,
            #[serde(flatten)]
            report: &'a ReplayReport,
        }
        serde_json::to_writer(&mut *out, &One { schema: SCHEMA, report: self })?;
        out.write_all(b"\n")
    }

    /// Writes the steps for a terminal.
    pub fn text(&self, style: Style, out: &mut impl Write) -> io::Result<()> {
        let steps = count(self.steps.len(), "step");
        writeln!(out, "{}: schedule {}, {steps}, sequentially consistent\n", safe(&self.program), self.schedule)?;
        let rows = self.steps.iter().enumerate().map(|(i, step)| {
            let access = &step.access;
            let value = match (&access.read, &access.write) {
                (Some(read), Some(write)) => format!("{} = {read}, then {write}", access.address),
                (Some(read), None) => format!("{} = {read}", access.address),
                (None, Some(write)) => format!("{} := {write}", access.address),
                (None, None) => String::new(),
            };
            let mark = match (step.overtakes, self.model) {
                (Some(store), Some(model)) => format!("   {model}: could overtake step {store}"),
                _ => String::new(),
            };
            let text = format!("{:>3}  {}  {}{mark}", i + 1, safe(&access.text), safe(&value));
            Row { thread: access.thread, name: safe(&access.thread_name), text, marked: step.overtakes.is_some() }
        });
        columns(&rows.collect::<Vec<_>>(), usize::MAX, style, out)?;
        let memory: Vec<String> = self.memory.iter().map(|(name, value)| format!("{}={value}", safe(name))).collect();
        writeln!(out, "\n  memory: {}", memory.join(" "))?;
        self.threads.iter().try_for_each(|thread| writeln!(out, "  {}", safe(thread)))
    }
}
