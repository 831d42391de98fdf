//! The report of a verified program: data first; `text` puts it into words, `sarif` into the form that code-review tools read,
//! `replay` is about one schedule.

mod allow;
mod condition;
mod diff;
mod enumerated;
mod failure;
mod headline;
mod orders;
mod repair;
mod replay;
mod sarif;
mod settle;
mod text;
mod weak;

pub use allow::{AllowRef, COMMENT, allowing_comments};
pub use condition::ConditionRef;
pub use diff::diff;
pub use enumerated::EnumeratedReport;
pub use orders::reordered;
pub use repair::{edited, edits, proposals};
pub use replay::{ReplayReport, ReplayStep};
pub use sarif::SarifRun;
pub use settle::{Question, Unseen, unseen};
pub use text::tell_columns;
pub use weak::{Consequence, FailureRef, Harm, Outcome, WeakRef, WeakStepRef};

use crate::data::{SCHEMA, Shape};
use crate::kinds::{ErrorKind, Maker, MonitorName, NoteKind, Property, StepKind, Unit};
use crate::style::{list, quoted_path, safe};
use membar_core::{AccessKind, Order, ProgramModel, ProgramVerdict, Relation};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Write};

/// The result of verifying one program under one model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VerifyReport {
    /// The program's file.
    pub program: String,
    /// The first of its files.
    #[serde(skip)]
    pub main: String,
    /// `tso`, `pso` or `c11`.
    #[serde(with = "crate::kinds")]
    pub model: ProgramModel,
    /// Whether data races were looked for, and are errors.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub races: bool,
    /// `safe`, `unsafe`, `fails`, `error` or `undecided`.
    #[serde(with = "crate::kinds")]
    pub verdict: ProgramVerdict,
    /// The question that it answers: `robust` or `errors`.
    #[serde(default, with = "crate::kinds")]
    pub property: Property,
    /// The checks that the program makes itself, such as `assert`: they decide which question is asked by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// The condition at the end of a litmus test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<ConditionRef>,
    /// Whether everything was explored that there is.
    pub complete: bool,
    /// How executions were chosen.
    pub strategy: String,
    /// The monitor that examined them.
    #[serde(with = "crate::kinds")]
    pub monitor: MonitorName,
    /// The unit that one execution stands for: `interleaving` or `class`.
    #[serde(with = "crate::kinds")]
    pub unit: Unit,
    /// Executions explored; with dpor one of each happens-before class.
    pub interleavings: u64,
    /// Further executions, each ended where a thread had made a round that changed nothing and had something else to read: one
    /// of `interleavings` stands for each of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocked: u64,
    /// Whether `interleavings` are all up to renaming of threads that nothing else distinguishes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub symmetric: bool,
    /// Of `interleavings`, executions that were cut because they were too long.
    pub cut: u64,
    /// Accesses made.
    pub events: u64,
    /// Time.
    pub seconds: f64,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The reasons why the search is large, if it did not end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub size: Vec<String>,
    /// How to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The compiler of the program, if it was compiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// Notes about parts of the program that are not seen, and about what the compiler said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<NoteRef>,
    /// The cost of running the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<StatisticsRef>,
    /// How to replay a schedule of it.
    #[serde(default, rename = "replay")]
    pub command: ReplayCommand,
    /// Fences that make the program safe: with their edits it was built and verified again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<FenceRef>>,
    /// Why there is none, if the program is unsafe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfixed: Option<String>,
    /// The accesses that must be ordered then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Distinct violations.
    pub violations: Vec<ViolationRef>,
    /// Distinct program errors, under sequential consistency already.
    pub errors: Vec<ErrorRef>,
    /// The executions of the model, if they were explored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weak: Option<WeakRef>,
    /// Program errors in executions that are not sequentially consistent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<FailureRef>,
}

/// Something to know about how the program was built.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NoteRef {
    /// Its kind.
    #[serde(with = "crate::kinds")]
    pub kind: NoteKind,
    /// In words.
    pub message: String,
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl NoteRef {
    /// `note: dekker.c:12: …`; of what a compiler said, the line of each warning.
    pub fn text(&self) -> Vec<String> {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}:{line}: ", safe(file)),
            _ => String::new(),
        };
        let lines = || self.message.lines().filter(|line| !line.trim().is_empty());
        let warnings: Vec<&str> = lines().filter(|line| line.contains("warning: ")).collect();
        let shown =
            if self.kind == NoteKind::Warning && !warnings.is_empty() { warnings } else { lines().take(1).collect() };
        shown.iter().map(|line| format!("note: {place}{}", safe(line.trim()))).collect()
    }
}

/// The cost of running a compiled program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StatisticsRef {
    /// How often the program was restored to its beginning.
    pub resets: u64,
    /// Accesses made for the first time.
    pub accesses: u64,
    /// Accesses made again, to come to a state.
    pub replayed: u64,
    /// Bytes of data that a reset restores, but for stacks.
    pub reset_bytes: u64,
    /// Bytes of memory of the largest process.
    pub resident_bytes: u64,
    /// Seconds for one access, first or again, everything included.
    pub seconds_per_access: f64,
    /// How often exploration began again because the program showed something new.
    pub restarts: u32,
}

impl StatisticsRef {
    /// Adds the cost of another part of the same search, but for its time and its new beginnings.
    pub fn add(&mut self, other: &StatisticsRef) {
        self.resets += other.resets;
        self.accesses += other.accesses;
        self.replayed += other.replayed;
        self.reset_bytes = self.reset_bytes.max(other.reset_bytes);
        self.resident_bytes = self.resident_bytes.max(other.resident_bytes);
    }

    /// The cost since it was this one.
    pub fn since(mut self, before: &StatisticsRef) -> StatisticsRef {
        // A process that was started again counts from nothing.
        self.resets = self.resets.saturating_sub(before.resets);
        self.accesses = self.accesses.saturating_sub(before.accesses);
        self.replayed = self.replayed.saturating_sub(before.replayed);
        self
    }
}

/// How to replay a schedule: what comes before it, and what comes at the end of the line.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReplayCommand {
    /// The programs, as they can be typed into a shell.
    pub program: String,
    /// Options and flags, as they can be typed; with a blank before them, or empty.
    pub flags: String,
}

impl ReplayCommand {
    /// For a program that is one file.
    pub fn of(program: &str) -> ReplayCommand {
        ReplayCommand { program: quoted_path(program), flags: String::new() }
    }

    /// The command for a schedule.
    pub(crate) fn line(&self, schedule: &str, options: &str) -> String {
        format!("membar replay {} {}{options}{}", self.program, quoted_path(schedule), self.flags)
    }
}

/// An access of the program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AccessRef {
    /// The file.
    pub file: String,
    /// The function, if the program has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The thread, from 0.
    pub thread: u32,
    /// The program's name for the thread.
    pub thread_name: String,
    /// The instruction as it is written.
    pub text: String,
    /// `load`, `store` or `rmw`.
    #[serde(with = "crate::kinds")]
    pub kind: AccessKind,
    /// The address by name.
    pub address: String,
    /// The value read, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// The value written, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
    /// It is about threads that begin and end, and left out where it does not matter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// There are others on its line, so the column matters.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub crowded: bool,
    /// What makes it, if not the program's own C or C++.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Maker>,
}

/// A violation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ViolationRef {
    /// The store that is delayed.
    pub store: AccessRef,
    /// The access of another thread that overtakes it.
    pub access: AccessRef,
    /// The happens-before cycle: each entry comes before the next, the last before the first.
    pub cycle: Vec<LinkRef>,
    /// The execution under the model, step by step.
    pub run: Vec<StepRef>,
    /// The values of its variables before the first step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub initial: Vec<(String, String)>,
    /// Where fences make this cycle impossible: all of them are needed.
    pub fences: Vec<FenceRef>,
    /// An SC schedule that leads there.
    pub schedule: String,
    /// In how many of the explored executions it occurs.
    pub executions: u64,
    /// A separate machine ran the execution and found it not sequentially consistent.
    pub certified: bool,
    /// The name of the cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Under c11: events that write, and those that read from them and that they happen before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hb: Vec<(usize, usize)>,
    /// The same cycle, found from another of its ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<EndRef>,
    /// The failures that follow from it.
    #[serde(default)]
    pub harm: Harm,
    /// Where it is allowed; if anywhere, it does not count for the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<AllowRef>,
}

/// Where else a cycle can be entered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EndRef {
    /// The store that is delayed.
    pub store: AccessRef,
    /// The access of another thread that overtakes it.
    pub access: AccessRef,
    /// An SC schedule that leads there.
    pub schedule: String,
    /// In how many of the explored executions it occurs.
    pub executions: u64,
}

/// The name of a happens-before cycle.
pub fn shape(cycle: &[LinkRef], same_location: &dyn Fn(usize, usize) -> bool) -> Option<Shape> {
    let edge = |(link, next): (&LinkRef, &LinkRef)| crate::shape::Edge {
        kind: link.relation,
        from: Some(link.access.thread),
        to: Some(next.access.thread),
        one_address: same_location(link.event, next.event),
    };
    let edges: Vec<_> = cycle.iter().zip(cycle.iter().cycle().skip(1)).map(edge).collect();
    crate::shape::shape(&edges)
}

/// An event of a cycle and why it comes before the next one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkRef {
    /// The event.
    #[serde(flatten)]
    pub access: AccessRef,
    /// `po`, `rf`, `co` or `fr`.
    #[serde(with = "crate::kinds")]
    pub relation: Relation,
    /// Whether the model keeps this order between memory operations of a thread; only for `po`, and not under c11.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<bool>,
    /// Whether it happens before the read of what it wrote; only for `rf`, and under c11.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordered: Option<bool>,
    /// Which event of the run it is: the same number in [`StepRef::event`].
    #[serde(default)]
    pub event: usize,
}

/// A step of the machine with store buffers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepRef {
    /// `issue`: the thread makes the access, a store goes into its buffer. `commit`: the store reaches memory.
    #[serde(with = "crate::kinds")]
    pub step: StepKind,
    /// The access.
    #[serde(flatten)]
    pub access: AccessRef,
    /// It is the store that is delayed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delayed: bool,
    /// It is the access that overtakes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtakes: bool,
    /// The event of another thread whose write was made before, and which it comes before: a read misses its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses: Option<usize>,
    /// Which event it is: an issue and a commit of one store have the same number.
    #[serde(default)]
    pub event: usize,
}

/// A place for a fence, or for a stronger memory order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FenceRef {
    /// The file.
    pub file: String,
    /// The function, if the program has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The thread.
    pub thread_name: String,
    /// The code to write there.
    pub fence: String,
    /// The memory order that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// The order it enforces, in words.
    #[serde(default)]
    pub order: String,
    /// How it is written into the source; empty if that was not tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<EditRef>,
    /// After the instruction in this line
    pub after_line: u32,
    /// and column,
    pub after_column: u32,
    /// before the one in this line, which may run after it,
    pub before_line: u32,
    /// and column.
    pub before_column: u32,
    /// It was tried right before the second instruction, not right after the first one.
    #[serde(skip)]
    pub tried_before: bool,
    /// The order that it replaces is in its line more than once.
    #[serde(skip)]
    pub crowded: bool,
}

/// Text to insert into a file, or to replace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EditRef {
    /// The file.
    pub file: String,
    /// Before this line, from 1,
    pub line: u32,
    /// and this byte of it, from 1.
    pub column: u32,
    /// The text to insert; whole lines have their ends.
    pub text: String,
    /// How many bytes it replaces.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removes: u32,
}

fn is_zero<N: Default + PartialEq>(n: &N) -> bool {
    *n == N::default()
}

/// An error of the program itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorRef {
    /// `deadlock`, `livelock`, `fault`, `race` or `condition`.
    #[serde(with = "crate::kinds")]
    pub kind: ErrorKind,
    /// In words; lines after the first say more.
    pub message: String,
    /// Where it happened, the innermost call first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<FrameRef>,
    /// Of a race: where the other access is, the innermost call first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other: Vec<FrameRef>,
    /// The program's output so far, its last 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// A schedule that leads there.
    pub schedule: String,
    /// In how many of the explored executions it occurs.
    pub executions: u64,
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FrameRef {
    /// The function.
    pub function: String,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    #[serde(skip)]
    pub column: u32,
}

/// The order that a fence between two accesses of a thread enforces: `the store to `x` (line 3) must reach memory before …`.
pub fn order(after: &AccessRef, before: &AccessRef) -> String {
    let place = |access: &AccessRef| match &access.function {
        None => format!("{} line {}", access.thread_name, access.line),
        Some(_) if access.line == 0 => access.thread_name.clone(),
        Some(_) => access.position(),
    };
    let then = match before.kind {
        AccessKind::Load => format!("`{}` is read", before.address),
        AccessKind::Store => format!("`{}` is written", before.address),
        AccessKind::Rmw => format!("`{}` is updated", before.address),
    };
    format!("`{}` ({}) must reach memory before {then} ({})", after.address, place(after), place(before))
}

/// The memory order that an access needs: `` `ready` (mp.c:31) must be written with release``.
pub fn ordered(access: &AccessRef, order: Order) -> String {
    format!("{} with {order}", must_be(access))
}

/// The fence that an access needs right before it, or right after: `` `x` (line 3) must be read after a seq_cst fence ``.
pub fn fenced(access: &AccessRef, order: Order, before: bool) -> String {
    let side = if before { "after" } else { "before" };
    let article = if matches!(order, Order::Acquire | Order::AcqRel) { "an" } else { "a" };
    format!("{} {side} {article} {order} fence", must_be(access))
}

fn must_be(access: &AccessRef) -> String {
    let place = match &access.function {
        None => format!("{} line {}", access.thread_name, access.line),
        Some(_) => access.position(),
    };
    let done = match access.kind {
        AccessKind::Load => "read",
        AccessKind::Store => "written",
        AccessKind::Rmw => "updated",
    };
    format!("`{}` ({place}) must be {done}", access.address)
}

/// Inline assembly as C11 sees it.
pub const ASSEMBLY: &str =
    "assembly has no memory orders: its loads and stores are taken as relaxed, locked instructions as seq_cst";

/// Remarks about those of these accesses that the program's own C or C++ does not make.
pub fn remarks<'a>(accesses: impl IntoIterator<Item = &'a AccessRef>) -> Vec<String> {
    let (mut assembly, mut calls): (bool, Vec<String>) = (false, Vec::new());
    for access in accesses {
        let call = format!("{}:{}", text::base(&access.file), access.line);
        assembly |= access.by == Some(Maker::Assembly);
        if access.by == Some(Maker::Library) && !calls.contains(&call) {
            calls.push(call);
        }
    }
    let library =
        (!calls.is_empty()).then(|| format!("it is inside the C++ library, called at {}", list(&calls, "and")));
    library.into_iter().chain(assembly.then(|| ASSEMBLY.into())).collect()
}

impl FrameRef {
    pub(crate) fn text(&self) -> String {
        match (self.function.as_str(), self.line) {
            (function, 0) => format!("at {}", safe(function)),
            ("", line) => format!("at {}:{line}", safe(&self.file)),
            (function, line) => format!("at {} ({}:{line})", safe(function), safe(&self.file)),
        }
    }
}

impl ErrorRef {
    pub(crate) fn headline(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

/// The JSON document. `errors` are what was wrong with the input.
pub fn verify_json(
    reports: &[VerifyReport],
    enumerated: &[EnumeratedReport],
    errors: &[Value],
    out: &mut impl Write,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        results: &'a [VerifyReport],
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        enumerated: &'a [EnumeratedReport],
        errors: &'a [Value],
    }
    serde_json::to_writer(&mut *out, &Document { schema: SCHEMA, results: reports, enumerated, errors })?;
    out.write_all(b"\n")
}

#[cfg(test)]
pub(crate) mod tests;
