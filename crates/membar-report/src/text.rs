//! Reports for a terminal.
//!
//! A forbidden trace answers three questions first, one line each: what happened, why, and what to do next. Then comes
//! the cycle, and the steps that lead to it where it does not speak for itself.

use crate::columns::{self, Link};
use crate::data::{Edge, EventRef, LemmaRef, OpRef, Report, Shape, StepRef, Stop, Violation};
use crate::style::{Count, Safe, Style, capital, count, list, quoted_path, wrapped};
use membar_core::{RuleName, Undecided};
use std::fmt;
use std::io::{self, Write};

pub use crate::table::{Column, Table};

/// Steps that are shown; the JSON report has all.
const STEPS: usize = 60;
/// Operations of a cycle that are shown.
const CYCLE: usize = 40;

/// How to lay out reports.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Colours.
    pub style: Style,
    /// Lines of a witness that are shown.
    pub witness: usize,
    /// The user's argument of `--model`, for the commands that are suggested.
    pub model: Option<&'a str>,
}

impl Default for Text<'_> {
    fn default() -> Self {
        Text { style: Style::default(), witness: 50, model: None }
    }
}

/// Counts of what was decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Traces read.
    pub traces: u64,
    /// Answers: allowed.
    pub allowed: u64,
    /// Answers: forbidden.
    pub forbidden: u64,
    /// Answers: undecided.
    pub undecided: u64,
    /// Faults of the input.
    pub errors: u64,
    /// Bugs of membar.
    pub internal: u64,
}

/// A read-modify-write whose recorded end is part of the proof.
fn ended_atomic(violation: &Violation) -> Option<&OpRef> {
    let steps = violation.lemmas.iter().flat_map(|lemma| &lemma.steps);
    let timed = steps.filter(|step| step.edge.rule == RuleName::Time).filter_map(|step| step.edge.from.op());
    timed.into_iter().find(|op| op.text.starts_with('{'))
}

impl Text<'_> {
    /// Writes one report.
    pub fn report(&self, report: &Report, out: &mut impl Write) -> io::Result<()> {
        if let Some(violation) = &report.violation {
            return self.forbidden(report, violation, out);
        }
        if let Some(stop) = &report.undecided {
            return self.undecided(report, stop, out);
        }
        let painted = self.style.good("allowed");
        self.head(
            ("allowed", &painted),
            report,
            &format_args!("  {}", self.style.dim(format_args!("({})", report.algorithm))),
            out,
        )?;
        match &report.witness {
            Some(witness) => self.witness(witness, out),
            None => Ok(()),
        }
    }

    /// The line with the verdict, plain and painted. There may be a million of them.
    fn head(
        &self,
        (word, painted): (&str, &dyn fmt::Display),
        report: &Report,
        end: &dyn fmt::Display,
        out: &mut impl Write,
    ) -> io::Result<()> {
        if !self.style.is_narrow() {
            return writeln!(out, "{painted} by {}  {}{end}", report.model, Place(report));
        }
        let line = self.style.head(&format!("{word} by {}  {}", report.model, Place(report)));
        writeln!(out, "{}{end}", line.replacen(word, &painted.to_string(), 1))
    }

    fn witness(&self, witness: &[OpRef], out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "  {}", self.style.heading("A memory order that explains it"))?;
        let width = line_width(witness.iter());
        for op in witness.iter().take(self.witness) {
            writeln!(out, "    line {:<width$}  thread {}: {}", op.line, op.thread, op.text)?;
        }
        if witness.len() > self.witness {
            writeln!(out, "    … {} more; -vv shows all", witness.len() - self.witness)?;
        }
        Ok(())
    }

    fn undecided(&self, report: &Report, stop: &Stop, out: &mut impl Write) -> io::Result<()> {
        self.head(("UNDECIDED", &self.style.open("UNDECIDED")), report, &"", out)?;
        let (limit, next) = match stop.reason {
            Undecided::Time => ("The time limit passed", "Allow more time (`--time 10m`)"),
            Undecided::Memory => ("The memory limit was reached", "Allow more memory (`--memory 16GiB`)"),
            Undecided::Parts => {
                let what = "Accesses overlap, which models without a write order do not decide.";
                self.labelled("What", what, out)?;
                return self.labelled("Next", "Check it with a model that has a write order.", out);
            }
            Undecided::Torn => {
                let what = "It depends on the order in which the pieces of an access took effect.";
                self.labelled("What", what, out)?;
                return self.labelled("Next", "Give each piece a line of its own, in the machine's order.", out);
            }
            Undecided::Repeated => {
                let what = "Values are repeated, and what does not depend on them is allowed.";
                self.labelled("What", what, out)?;
                self.note(report, out)?;
                return self.labelled("Next", "Give every store to an address its own value.", out);
            }
            Undecided::Sources => (
                "There are too many ways in which reads may have got their values",
                "Give every store to an address its own value",
            ),
            Undecided::Interrupted => ("It was interrupted", "Run it again"),
        };
        self.labelled(
            "What",
            &format!(
                "{limit}; at best {} of {} had been put into memory order.",
                stop.ordered,
                count(report.ops, "operation")
            ),
            out,
        )?;
        self.labelled(
            "Next",
            &format!(
                "{next}, split the recording into shorter traces, or record the write order (`order` lines): with it any \
                 trace is decided in linear time."
            ),
            out,
        )
    }

    /// Notes the part left out, if any.
    fn note(&self, report: &Report, out: &mut impl Write) -> io::Result<()> {
        match &report.left_out {
            Some(left) => self.labelled("Note", &format!("{}.", capital(&left.message)), out),
            None => Ok(()),
        }
    }

    fn forbidden(&self, report: &Report, violation: &Violation, out: &mut impl Write) -> io::Result<()> {
        self.head(("FORBIDDEN", &self.style.bad("FORBIDDEN")), report, &"", out)?;
        let sentence = |index: usize| violation.explanation.get(index).map_or("", String::as_str);
        self.labelled("What", sentence(0), out)?;
        self.labelled("Why", &capital(sentence(1)), out)?;
        self.note(report, out)?;
        self.labelled("Next", &self.next(report, violation), out)?;
        let Some((last, cases)) = violation.lemmas.split_last() else { return Ok(()) };
        let mut left = STEPS;
        for (index, case) in cases.iter().enumerate() {
            if left == 0 {
                break;
            }
            self.case(index, case, &mut left, out)?;
        }
        let mut all: usize = violation.lemmas.iter().map(|lemma| numbered(lemma).count()).sum();
        if cases.is_empty() {
            let title = match violation.shape.as_ref().and_then(Shape::title) {
                Some(title) => format!("The cycle ({title})"),
                None => "The cycle, each before the next in memory order".into(),
            };
            writeln!(out, "\n  {}", self.style.heading(wrapped(&title, self.style.prose() - 2, "\n  ")))?;
            let links = links(last, violation);
            match self.in_columns(&links) {
                Some(drawn) => out.write_all(drawn.as_bytes())?,
                None => self.cycle(&links, out)?,
            }
            all -= last.cycle.iter().filter(|&&step| last.steps[step as usize].step.is_some()).count();
            if all > 0 {
                writeln!(out, "\n  {}", self.style.heading("Its premises"))?;
                self.steps(last, &last.cycle, &mut left, out)?;
            }
        } else if left > 0 {
            writeln!(out, "\n  {}", self.style.heading("Hence, without assumptions"))?;
            self.steps(last, &[], &mut left, out)?;
            self.sentence(&format!("That is a cycle: {}.", around(last)), out)?;
        }
        let shown = STEPS - left;
        if all > shown {
            writeln!(out, "    … {}; --format json has all", count(all - shown, "more step"))?;
        }
        Ok(())
    }

    /// Advice about a forbidden trace.
    fn next(&self, report: &Report, violation: &Violation) -> String {
        let model = self.model.map_or_else(|| report.model.clone(), quoted_path);
        let number = if report.trace > 0 { format!(" --trace {}", report.trace + 1) } else { String::new() };
        let proof = "`--format json` has the proof as data";
        if violation.lemmas.is_empty() {
            return match violation.read {
                Some(_) => {
                    "Check how values were recorded: the value a load returned must be stored somewhere, or be set by an \
                     `init` line. If the recording is right, the machine made the value up."
                }
                None => {
                    "Check how final values were recorded: each must be stored somewhere, or be set by an `init` line. If \
                     the recording is right, memory was corrupted."
                }
            }
            .into();
        }
        if let Some(op) = ended_atomic(violation) {
            return format!(
                "This rests on the end of the read-modify-write at line {}: does the recorder stamp it when its write is \
                 done? Some stamp a load-linked and a store-conditional with the times of the first alone; then leave the \
                 end out (`@ begin:`). If the times are right, {proof}.",
                op.line
            );
        }
        if violation.involved == report.ops {
            return format!("Every operation here is needed, so the trace is as small as it gets; {proof}.");
        }
        if report.file == "<stdin>" {
            return format!("Save the trace to a file, then `membar shrink` cuts it down to what is wrong; {proof}.");
        }
        let file = quoted_path(&report.file);
        format!("`membar shrink {file}{number} --model {model}` cuts the trace down to what is wrong; {proof}.")
    }

    fn labelled(&self, label: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
        let text = wrapped(text, self.style.prose() - 8, "\n        ");
        writeln!(out, "  {}{text}", self.style.heading(format_args!("{:<6}", format!("{label}:"))))
    }

    fn sentence(&self, text: &str, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "    {}", wrapped(text, self.style.prose() - 4, "\n    "))
    }

    /// The cycle in columns, one per thread, with arrows and reasons. `None` where that does not fit.
    fn in_columns(&self, links: &[(&EventRef, Link)]) -> Option<String> {
        let mut heads: Vec<String> = Vec::new();
        for (event, link) in links {
            let head = event.op().map_or_else(|| "memory".into(), |op| format!("thread {}", op.thread));
            heads.resize(heads.len().max(link.column + 1), String::new());
            heads[link.column] = head;
        }
        let links: Vec<&Link> = links.iter().map(|(_, link)| link).collect();
        if links.len() > CYCLE { None } else { columns::cycle(&heads, &links, self.style) }
    }

    /// The same as a list.
    fn cycle(&self, links: &[(&EventRef, Link)], out: &mut impl Write) -> io::Result<()> {
        let width = line_width(links.iter().filter_map(|(event, _)| event.op()));
        for (event, link) in links.iter().take(CYCLE) {
            match event.op() {
                Some(op) => writeln!(out, "    line {:<width$}  thread {}: {}", op.line, op.thread, op.text)?,
                None => writeln!(out, "    {}", link.text)?,
            }
            let before = link.rule.chars().count() + link.relation.name().len() + 11;
            let why = wrapped(&link.why, self.style.prose() - before.max(16), "\n            ");
            writeln!(out, "      ↓ {} {}  {why}", self.style.dim(&link.rule), self.style.dim(link.relation))?;
        }
        if links.len() > CYCLE {
            return writeln!(out, "    … {}; --format json has all", count(links.len() - CYCLE, "more operation"));
        }
        let Some((first, _)) = links.first() else { return Ok(()) };
        let again = first.op().map_or_else(|| "that".into(), |op| format!("line {}", op.line));
        self.sentence(&format!("{again} again, which would have to be before itself: a contradiction"), out)
    }

    fn case(&self, index: usize, case: &LemmaRef, left: &mut usize, out: &mut impl Write) -> io::Result<()> {
        let suppose: Vec<String> =
            case.assume.iter().map(|a| format!("{} is before {}", a.first.long(), a.second.long())).collect();
        let suppose = format!("Case {}: suppose {}", index + 1, list(&suppose, "and"));
        writeln!(out, "\n  {}", self.style.heading(wrapped(&suppose, self.style.prose() - 2, "\n    ")))?;
        self.steps(case, &[], left, out)?;
        let hence = match &case.assume[..] {
            [one] => format!("so {} is before {}", one.second.short(), one.first.short()),
            _ => "so these do not all hold".into(),
        };
        self.sentence(&format!("That is a cycle: {}; {hence}.", around(case)), out)
    }

    /// The steps of a lemma, but for those that are shown already.
    fn steps(&self, lemma: &LemmaRef, shown: &[u32], left: &mut usize, out: &mut impl Write) -> io::Result<()> {
        for (number, step) in numbered(lemma).filter(|(at, _)| !shown.contains(at)).map(|(_, step)| step) {
            if *left == 0 {
                return Ok(());
            }
            *left -= 1;
            let (from, to) = (step.edge.from.long(), step.edge.to.long());
            let text = wrapped(&format!("{from} is before {to}"), self.style.prose() - 8, "\n        ");
            writeln!(out, "    {number:>2}. {text}")?;
            let why = wrapped(&capital(&step.edge.why), self.style.prose() - 14, "\n            ");
            writeln!(out, "        {}  {why}.", self.style.dim(step.edge.rule))?;
        }
        Ok(())
    }

    /// Writes the line of counts.
    pub fn totals(&self, totals: &Totals, out: &mut impl Write) -> io::Result<()> {
        let n = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let mut parts = vec![format!("{} allowed", totals.allowed)];
        if totals.forbidden > 0 {
            parts.push(self.style.bad(format!("{} forbidden", totals.forbidden)).to_string());
        } else {
            parts.push("0 forbidden".into());
        }
        if totals.undecided > 0 {
            parts.push(self.style.open(format!("{} undecided", totals.undecided)).to_string());
        }
        if totals.errors > 0 {
            parts.push(self.style.bad(count(n(totals.errors), "error")).to_string());
        }
        if totals.internal > 0 {
            parts.push(self.style.bad(count(n(totals.internal), "internal error")).to_string());
        }
        writeln!(out, "{}: {}", count(n(totals.traces), "trace"), parts.join(", "))
    }
}

/// Where a trace is, and its size.
struct Place<'a>(&'a Report);

impl fmt::Display for Place<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { file, trace, line, ops, threads, addresses, locks, .. } = self.0;
        let (ops, threads) = (Count(*ops, "operation"), Count(*threads, "thread"));
        write!(f, "{}, trace {} (line {line}): {ops}, {threads}", Safe(file), trace + 1)?;
        if *addresses > 0 || *locks == 0 {
            write!(f, ", {}", Count(*addresses, "address"))?;
        }
        if *locks > 0 { write!(f, ", {}", Count(*locks, "lock")) } else { Ok(()) }
    }
}

/// The steps that have a number, with where they are in the lemma.
fn numbered(lemma: &LemmaRef) -> impl Iterator<Item = (u32, (u32, &StepRef))> {
    (0..).zip(&lemma.steps).filter_map(|(at, step)| step.step.map(|number| (at, (number, step))))
}

/// The events of the cycle that a proof without cases ends with, each with why it is before the next one.
fn links<'a>(lemma: &LemmaRef, violation: &'a Violation) -> Vec<(&'a EventRef, Link)> {
    let cycle = &violation.cycle;
    let mut threads: Vec<u32> = cycle.iter().filter_map(|edge| Some(edge.from.op()?.thread)).collect();
    threads.sort_unstable();
    threads.dedup();
    // A number is needed where other steps refer to it.
    let cited = lemma.steps.iter().any(|step| cites(step, lemma));
    let link = |(edge, &step): (&'a Edge, &u32)| {
        let op = edge.from.op();
        let number = lemma.steps.get(step as usize).and_then(|step| step.step).filter(|_| cited);
        let link = Link {
            column: op.and_then(|op| threads.binary_search(&op.thread).ok()).unwrap_or(threads.len()),
            line: op.map(|op| op.line),
            text: op.map_or_else(|| edge.from.short(), |op| op.text.clone()),
            marked: op.is_some() && op == violation.read.as_ref(),
            relation: edge.relation,
            rule: number.map_or_else(|| edge.rule.to_string(), |number| format!("{number}. {}", edge.rule)),
            why: edge.why.clone(),
        };
        (&edge.from, link)
    };
    cycle.iter().zip(&lemma.cycle).map(link).collect()
}

/// Does the step rest on one that has to be shown?
fn cites(step: &StepRef, lemma: &LemmaRef) -> bool {
    step.premises.iter().any(|&premise| lemma.steps.get(premise as usize).is_some_and(|step| step.step.is_some()))
}

/// `line 4 → line 5 → line 4`
fn around(lemma: &LemmaRef) -> String {
    const MOST: usize = 12;
    let mut events: Vec<String> =
        lemma.cycle.iter().map(|&step| lemma.steps[step as usize].edge.from.short()).collect();
    let first = events.first().cloned();
    if events.len() > MOST {
        events.truncate(MOST);
        events.push("…".into());
    }
    events.extend(first);
    events.join(" → ")
}

fn line_width<'a>(ops: impl Iterator<Item = &'a OpRef>) -> usize {
    ops.map(|op| op.line).max().unwrap_or(0).to_string().len()
}
