//! The report of a schedule that was run.

use super::text::printed;
use super::{AccessRef, StepRef};
use crate::columns::{Row, columns};
use crate::data::SCHEMA;
use crate::kinds::StepKind;
use crate::style::{Style, count, safe, wrapped};
use membar_core::{AccessKind, ProgramModel};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// A schedule that was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReplayReport {
    /// The program's file.
    pub program: String,
    /// The schedule.
    pub schedule: String,
    /// The model that accesses were examined under.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "crate::kinds::optional")]
    pub model: Option<ProgramModel>,
    /// The accesses, in the order in which they are made.
    pub steps: Vec<ReplayStep>,
    /// If steps of the schedule are behind others: whether the execution is sequentially consistent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<bool>,
    /// Then also the run under the model, in which an event is an index of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<StepRef>,
    /// The initial values of the variables that they use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub initial: Vec<(String, String)>,
    /// The values of all addresses at the end.
    pub memory: Vec<(String, String)>,
    /// Where each thread is at the end, in words.
    pub threads: Vec<String>,
    /// The program's output, its last 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A step of a schedule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReplayStep {
    /// The access.
    #[serde(flatten)]
    pub access: AccessRef,
    /// Under the model this access could have overtaken the store of this step, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overtakes: Option<u32>,
    /// `std::thread` hands a function and its arguments to its thread: nothing that the program says, and left out of text and pages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub launch: bool,
}

impl ReplayStep {
    /// Whether people see it.
    pub fn is_shown(&self) -> bool {
        !self.launch || self.overtakes.is_some()
    }
}

impl ReplayReport {
    /// Why numbers of steps are missing, if some are.
    pub fn left_out(&self) -> Option<String> {
        let hidden = self.steps.iter().filter(|step| !step.is_shown()).count();
        let (steps, verb) = (count(hidden, "step"), if hidden == 1 { "is" } else { "are" });
        (hidden > 0).then(|| format!("{steps} of `std::thread`, which starts threads, {verb} not shown."))
    }

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
        let model = match (self.sequential, self.model) {
            (Some(_), Some(model)) => format!("under {model}, "),
            _ => String::new(),
        };
        let not = if self.sequential == Some(false) { "not " } else { "" };
        let head = format!(
            "{}: schedule {}, {steps}, {model}{not}sequentially consistent",
            safe(&self.program),
            self.schedule
        );
        writeln!(out, "{}\n", style.head(&head))?;
        let rows = if self.sequential.is_some() { self.run_rows() } else { self.rows() };
        columns(&rows, usize::MAX, style, out)?;
        if let Some(note) = self.left_out() {
            writeln!(out, "\n  {}", wrapped(&note, style.prose() - 2, "\n  "))?;
        }
        let memory: Vec<String> = self.memory.iter().map(|(name, value)| format!("{}={value}", safe(name))).collect();
        writeln!(out, "\n  memory: {}", wrapped(&memory.join(" "), style.prose() - 10, "\n          "))?;
        let room = style.prose() - 6;
        // Indented lines stay indented.
        let line = |line: &str| match line.chars().count() > room {
            true => wrapped(&safe(line), room, "\n      "),
            false => safe(line),
        };
        let lines = |thread: &str| thread.lines().map(line).collect::<Vec<_>>().join("\n      ");
        self.threads.iter().try_for_each(|thread| writeln!(out, "  {}", lines(thread)))?;
        self.output.iter().try_for_each(|output| printed(output, usize::MAX, out))
    }

    /// The steps of an interleaving.
    fn rows(&self) -> Vec<Row> {
        let rows = self.steps.iter().enumerate().filter(|(_, step)| step.is_shown()).map(|(i, step)| {
            let access = &step.access;
            let mark = match (step.overtakes, self.model) {
                (Some(store), Some(ProgramModel::C11)) => format!(" c11: need not come after step {store}"),
                (Some(store), Some(model)) => format!(" {model}: could overtake step {store}"),
                _ => String::new(),
            };
            row(access, i, mark, step.overtakes.is_some())
        });
        rows.collect()
    }

    /// The steps of a run under a model. A store that reaches memory immediately is one row.
    fn run_rows(&self) -> Vec<Row> {
        let is_c11 = self.model == Some(ProgramModel::C11);
        let mut rows = Vec::new();
        for step in self.run.iter().filter(|step| self.steps.get(step.event).is_none_or(ReplayStep::is_shown)) {
            let missed = step.misses.map(|event| event + 1);
            match (step.step, missed) {
                (StepKind::Commit, _) if !step.delayed => continue,
                (StepKind::Commit, _) => {
                    let mark = format!("<- step {} reaches memory", step.event + 1);
                    rows.push(Row { number: "   ".into(), ..row(&step.access, step.event, mark, true) });
                }
                (StepKind::Issue, missed) => {
                    let mark = match missed {
                        Some(missed) if step.access.kind == AccessKind::Load => format!("misses step {missed}"),
                        Some(missed) => format!("comes before step {missed}"),
                        None if step.delayed && !is_c11 => "-> waits in the store buffer".into(),
                        None => String::new(),
                    };
                    rows.push(row(&step.access, step.event, mark, step.delayed || missed.is_some()));
                }
            }
        }
        rows
    }
}

/// The row of step `i`, from 0.
fn row(access: &AccessRef, i: usize, mark: String, marked: bool) -> Row {
    let number = match &access.function {
        Some(function) if access.line > 0 => format!("{:>3}  {} {}", i + 1, access.position(), safe(function)),
        _ => format!("{:>3}", i + 1),
    };
    Row {
        thread: access.thread,
        name: safe(&access.thread_name),
        number,
        text: access.source(),
        effect: access.effect(true),
        mark,
        marked,
    }
}
