//! The data behind a page. Everything shown is in here; the script only lays it out.
//!
//! Operations are known by their index in [`Graph::nodes`] wherever they are mentioned, so that choosing one in a view
//! chooses it in all of them. Values are text: a script's numbers do not hold 64 bits.

pub use crate::data::Shape;

use crate::data::Report;
use crate::kinds::{OpName, ShownVerdict, StepKind};
use crate::style::count;
use membar_core::{Relation, VerdictKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the page's data. It is not part of the JSON contract.
pub const VERSION: u32 = 1;

/// A whole page.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Page {
    /// Version of this data.
    pub version: u32,
    /// The title of the window.
    pub title: String,
    /// The heading above the table of all answers.
    pub heading: String,
    /// How it was made.
    pub made: Made,
    /// Every answer, in the order of the input.
    pub rows: Vec<Row>,
    /// Answers that have no row.
    pub rows_omitted: u64,
    /// The answers that are shown in full.
    pub cases: Vec<Case>,
    /// The campaign that they come from, if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub campaign: Option<CampaignView>,
}

/// A campaign of random tests.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CampaignView {
    /// `allowed`, `forbidden` or `undecided`.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub verdict: VerdictKind,
    /// The verdict in a sentence, and more about it.
    pub headline: Vec<String>,
    /// Additional information.
    pub facts: Vec<Fact>,
    /// Tests by verdict and by what decided.
    pub outcomes: Vec<Bar>,
    /// Violations by shape.
    pub groups: Vec<Group>,
    /// The coverage.
    pub coverage: Option<Cover>,
    /// Operations per second over time.
    pub speed: Option<Series>,
    /// Commands that do it again.
    pub commands: Vec<Command>,
    /// Remarks on what is not shown.
    pub notes: Vec<String>,
}

/// A bar of a chart.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Bar {
    /// The item counted.
    pub label: String,
    /// How often.
    pub count: u64,
    /// `good`, `bad`, `open` or `plain`.
    pub tone: &'static str,
}

/// Violations with cycles of one shape.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Group {
    /// The name of the shape.
    pub name: String,
    /// More about it.
    pub about: String,
    /// How many there are.
    pub count: u64,
    /// Those that are listed.
    pub violations: Vec<Link>,
    /// Number of those not listed.
    pub omitted: u64,
}

/// A violation in a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Link {
    /// Which one.
    pub name: String,
    /// The event.
    pub about: String,
    /// Where it is in [`Page::cases`], if it is there.
    pub case: Option<usize>,
}

/// The coverage of tests.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cover {
    /// In a few words.
    pub words: String,
    /// A description of what it counts.
    pub about: String,
    /// Pairs of neighbours in a thread.
    pub pairs: Vec<CoverPair>,
    /// Where reads got their value.
    pub sources: Vec<Bar>,
}

/// Two kinds of operations that were neighbours in a thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CoverPair {
    /// The first kind.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub first: OpName,
    /// The kind after it.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub second: OpName,
    /// How often with one address; none where that makes no sense.
    pub same: Option<u64>,
    /// How often without.
    pub other: u64,
}

/// Numbers over time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Series {
    /// Seconds of each number.
    pub width: f64,
    /// Seconds in all.
    pub seconds: f64,
    /// Operations per second.
    pub rates: Vec<f64>,
}

/// How a page was made.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Made {
    /// The command as it can be typed.
    pub command: String,
    /// `membar 0.1.0`
    pub version: String,
    /// Processor and system.
    pub host: String,
}

/// One answer in the table of all answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Row {
    /// File, trace or program.
    pub name: String,
    /// The file or program, without the trace or violation.
    #[serde(skip)]
    pub subject: String,
    /// The verdicts in words, where one word for all models would not be true.
    #[serde(skip)]
    pub words: Option<String>,
    /// The model.
    pub model: String,
    /// The verdict.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub verdict: ShownVerdict,
    /// A few words.
    pub about: String,
    /// Where it is in [`Page::cases`], if it is there.
    pub case: Option<usize>,
}

impl Row {
    /// The row of a decided trace.
    pub fn new(report: &Report) -> Row {
        Row {
            name: match report.trace {
                0 => report.file.clone(),
                index => format!("{}, trace {}", report.file, index + 1),
            },
            subject: report.file.clone(),
            words: None,
            model: report.model.clone(),
            verdict: report.verdict.into(),
            about: format!("{}, {}", count(report.ops, "operation"), count(report.threads, "thread")),
            case: None,
        }
    }
}

/// One answer in full.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Case {
    /// File and trace, or program and violation.
    pub name: String,
    /// The model it is about.
    pub model: String,
    /// `allowed`, `forbidden`, `undecided`, `safe`, `unsafe` or `error`; of a schedule `ran`, of a litmus test `possible`,
    /// `impossible`, `holds` or `fails`.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub verdict: ShownVerdict,
    /// The verdict in a sentence, what happened, and why.
    pub headline: Vec<String>,
    /// Additional information at a glance.
    pub facts: Vec<Fact>,
    /// The axioms that do not hold together.
    pub axioms: Vec<Axiom>,
    /// The shape of the cycle.
    pub shape: Option<Shape>,
    /// The verdicts of the built-in models.
    pub models: Option<Models>,
    /// Operations and what orders them.
    pub graph: Graph,
    /// Short names for long values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The argument: cases first; the last one assumes nothing.
    pub lemmas: Vec<Lemma>,
    /// The impossible read.
    pub read: Option<ImpossibleRead>,
    /// The final states of a litmus test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<States>,
    /// The machine, step by step.
    pub machine: Option<Machine>,
    /// Its steps with time from left to right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// It is about a program, and not about a trace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub program: bool,
    /// Why there is no machine to step through.
    pub no_machine: Option<String>,
    /// Ways to make it right, or explanations of what the hardware must have done.
    pub fixes: Fixes,
    /// How far it got.
    pub stop: Option<Stopped>,
    /// Lines of source.
    pub sources: Vec<Source>,
    /// Commands that show it again.
    pub commands: Vec<Command>,
    /// Texts to copy.
    pub copies: Vec<Copy>,
    /// Remarks on what is not drawn, and on missing texts to copy.
    pub notes: Vec<String>,
}

/// A fact with its name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Fact {
    /// Its subject.
    pub name: &'static str,
    /// Its content.
    pub value: String,
}

/// An axiom that the argument uses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Axiom {
    /// Its name.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub name: membar_core::Axiom,
    /// Its statement.
    pub says: &'static str,
}

/// The verdicts of the built-in models.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Models {
    /// All of them.
    pub all: Vec<ModelVerdict>,
    /// The strongest ones that allow it.
    pub strongest: Vec<String>,
    /// The weakest ones that allow it.
    pub weakest: Vec<String>,
    /// Those that forbid it.
    pub forbid: Vec<String>,
    /// The verdicts in a sentence.
    pub words: String,
}

/// The verdict of one model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ModelVerdict {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// `allowed`, `forbidden` or `undecided`.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub verdict: VerdictKind,
}

/// Operations and what orders them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Graph {
    /// Names of the threads.
    pub threads: Vec<String>,
    /// The operations that are drawn somewhere.
    pub nodes: Vec<Node>,
    /// The columns of what the argument needs: node indices.
    pub reduced: Vec<Vec<i64>>,
    /// The columns of everything; a negative number stands for this many operations that are not drawn. Empty where that
    /// is the same.
    pub original: Vec<Vec<i64>>,
    /// Number of operations that there are.
    pub total: usize,
    /// The edges that order them.
    pub arrows: Vec<Arrow>,
    /// Everything known about the beginning: `x = 0`.
    pub initial: Vec<String>,
    /// Everything known about the end.
    pub last: Vec<String>,
}

/// The end of an arrow that is the writing of the initial values.
pub const INITIAL: i64 = -1;
/// The end of an arrow that is the reading of the final values.
pub const FINAL: i64 = -2;

/// One operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Node {
    /// Index of the thread.
    pub thread: u32,
    /// Its number: its line.
    pub number: String,
    /// The text written there.
    pub text: String,
    /// Its effect, where the text does not say it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// `load`, `store`, `rmw`, `barrier`, `acquire` or `release`; `control` where threads begin and end.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub kind: OpName,
    /// The address or lock.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// The value read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// The value written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
    /// When it was pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Where it stands in [`Case::sources`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<(usize, u32)>,
    /// The fault, in a word or two: it is the read to blame, or the access that overtakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<&'static str>,
}

/// One operation before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct Arrow {
    /// The earlier one: a node, [`INITIAL`] or [`FINAL`].
    pub from: i64,
    /// The later one.
    pub to: i64,
    /// `po`, `rf`, `co`, `fr`, `ppo` or `time`.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub kind: Relation,
    /// Is it part of the cycle?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cycle: bool,
}

/// Part of the argument.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Lemma {
    /// The assumptions, in words.
    pub assume: Vec<String>,
    /// Its steps, each resting on earlier ones.
    pub steps: Vec<ArgumentStep>,
    /// The steps that form the cycle, by index.
    pub cycle: Vec<u32>,
}

/// A step of the argument.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ArgumentStep {
    /// The number that words use.
    pub number: Option<u32>,
    /// The earlier event: a node, [`INITIAL`] or [`FINAL`].
    pub from: i64,
    /// The later event.
    pub to: i64,
    /// The two in words.
    pub from_text: String,
    /// The two in words.
    pub to_text: String,
    /// `po`, `rf`, `co`, `fr`, `ppo` or `time`.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub kind: Relation,
    /// Name of the rule.
    pub rule: &'static str,
    /// The statement of the rule.
    pub says: &'static str,
    /// The axiom that it follows from.
    pub axiom: &'static str,
    /// Why it holds here.
    pub why: String,
    /// The steps that it rests on, by index.
    pub premises: Vec<u32>,
    /// The earlier lemma that it rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lemma: Option<u32>,
    /// The operations that it is about.
    pub nodes: Vec<usize>,
    /// The recording, as far as the step uses it.
    pub observed: Vec<String>,
}

/// The read that is to blame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ImpossibleRead {
    /// The operation.
    pub node: usize,
    /// In words.
    pub words: String,
    /// The reason that rules it out.
    pub because: String,
    /// The values of its address.
    pub values: Vec<Value>,
    /// Is it known of every value whether it was possible?
    pub complete: bool,
    /// Values that are not listed.
    pub omitted: usize,
}

/// A value that a read could return, or could not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Value {
    /// The value.
    pub value: String,
    /// Where it comes from.
    pub from: String,
    /// The store, if it is drawn.
    pub node: Option<usize>,
    /// `returned`, `possible`, `impossible` or `unknown`.
    pub what: &'static str,
}

/// Final states of a litmus test.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct States {
    /// The heading.
    pub title: String,
    /// A description of the table.
    pub about: String,
    /// The locations that the values belong to.
    pub locations: Vec<String>,
    /// The models that the states are compared with.
    pub models: Vec<String>,
    /// The states.
    pub rows: Vec<StateRow>,
    /// States that are not listed.
    pub omitted: usize,
}

/// A final state.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct StateRow {
    /// The values of the locations.
    pub values: Vec<String>,
    /// Whether the proposition of the test holds, where that is known.
    pub holds: Option<bool>,
    /// How often a machine ended so, where one was run.
    pub count: Option<u64>,
    /// Whether each model allows it, where that is known.
    pub models: Vec<Option<bool>>,
}

/// A machine and what it did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Machine {
    /// The kind of machine, in a sentence, and what the steps are.
    pub about: String,
    /// Does it have buffers? One for each thread (`thread`), one for each thread and address (`address`), or `none`. Or `views`: there is
    /// no machine, and threads may read what others have overwritten.
    pub buffers: &'static str,
    /// The addresses with their initial values, where they are known.
    pub memory: Vec<(String, Option<String>)>,
    /// Its effect.
    pub steps: Vec<MachineStep>,
    /// Steps that are left out at the end.
    pub omitted: usize,
    /// The step that no interleaving makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<WrongStep>,
    /// Why it cannot continue, in sentences, with the operations that it would need.
    pub stuck: Vec<Stuck>,
    /// What happens after the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
    /// Without buffers: what each thread may still read after each step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<Vec<View>>,
}

/// What a thread may still read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct View {
    /// The thread, by its index in [`Graph::threads`].
    pub thread: u32,
    /// Variables, each with its values, the oldest first.
    pub values: Vec<(String, Vec<String>)>,
}

/// An execution with time from left to right. Steps are those of [`Machine::steps`], by index.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Timeline {
    /// Threads, by their index in [`Graph::threads`], from top to bottom.
    pub lanes: Vec<u32>,
    /// What they do.
    pub marks: Vec<Mark>,
    /// What memory holds.
    pub memory: Vec<Track>,
    /// The first step that is drawn.
    pub first: usize,
    /// What happens in the end.
    pub end: Option<TimelineEnd>,
}

/// An operation in a timeline.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Mark {
    /// The operation.
    pub node: usize,
    /// The step that makes it.
    pub step: usize,
    /// The step after which others see what it writes; the number of steps if none of them does.
    pub until: usize,
    /// It was made before the first step that is drawn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub before: bool,
    /// The stores that it misses or overtakes, by their index in [`Timeline::marks`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<usize>,
    /// The same in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub says: String,
}

/// A variable in a timeline.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Track {
    /// Its name.
    pub name: String,
    /// Its values, each with the step that puts it there.
    pub values: Vec<(usize, String)>,
}

/// What an execution leads to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct TimelineEnd {
    /// The thread that it happens to.
    pub thread: u32,
    /// In words.
    pub words: String,
}

/// A step of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct MachineStep {
    /// `issue`: the thread does it. `commit`: a store reaches memory.
    #[serde(serialize_with = "crate::kinds::serialize")]
    pub step: StepKind,
    /// The operation.
    pub node: usize,
}

/// The step at which an execution stops being an interleaving.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WrongStep {
    /// Index into [`Machine::steps`].
    pub step: usize,
    /// A description of the step.
    pub words: String,
}

/// Where a thread is stuck.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Stuck {
    /// The operation that it cannot do.
    pub node: usize,
    /// Why.
    pub why: String,
}

/// Ways to make it right.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Fixes {
    /// The heading.
    pub title: String,
    /// An introduction to the list.
    pub about: String,
    /// One entry each.
    pub list: Vec<Fix>,
    /// All of it as a change of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// It belongs beside the verdict.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
}

/// One thing to change, or one thing that must have happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Fix {
    /// In words.
    pub words: String,
    /// The code to write.
    pub code: Option<String>,
    /// The operations that it is about.
    pub nodes: Vec<usize>,
}

/// Why there is no answer, and what there is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Stopped {
    /// Why.
    pub why: String,
    /// How much was done,
    pub done: u64,
    /// of how much; 0 if that is not known.
    pub of: u64,
    /// In words.
    pub words: String,
    /// How to continue.
    pub next: Vec<String>,
    /// The conclusion from the other models' verdicts.
    pub follows: Option<String>,
}

/// An excerpt of a source.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Source {
    /// The file.
    pub file: String,
    /// Lines with their numbers; where numbers are missing there is a gap.
    pub lines: Vec<(u32, String)>,
    /// Lines that matter although no operation of the page stands there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<u32>,
}

/// A command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Command {
    /// Its effect.
    pub about: String,
    /// The command.
    pub line: String,
}

/// A text to copy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Copy {
    /// Its kind.
    pub name: &'static str,
    /// How to use it.
    pub about: String,
    /// The text.
    pub text: String,
}
