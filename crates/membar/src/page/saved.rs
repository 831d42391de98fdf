//! Answers that were read back from a document, decided again from what the document holds.
//!
//! A document with a violation holds the operations that its proof needs. They are decided again, so that the page has every view
//! that `--html` makes and nothing in it rests on the document's word; where that does not confirm what was saved, the page
//! says so.

use super::PageOptions;
use crate::decide::{Detail, Guarded};
use membar::core::{Compare, Source, VerdictKind};
use membar::report::campaign::Found;
use membar::report::html::{self, Case, Fact, Row};
use membar::report::kinds::ShownVerdict;
use membar::report::{OpRef, Reduced, Report, capital, count, quoted_path};
use membar::{Budget, Chosen, Interrupt};
use std::fmt::Write as _;
use std::time::Duration;

/// Time to decide one of them again.
const TIME: Duration = Duration::from_secs(10);
/// Operations of a memory order that is decided again.
const WITNESS: usize = 5_000;

/// Decides what was saved again.
pub struct Again {
    decider: Guarded,
    wish: PageOptions,
    models: Vec<Chosen>,
}

impl Again {
    /// With these models beside the built-in ones.
    pub fn new(models: Vec<Chosen>) -> Again {
        Again { decider: Guarded::default(), wish: PageOptions { part: true, ..PageOptions::default() }, models }
    }

    fn model(&self, name: &str) -> Option<Chosen> {
        let given = self.models.iter().find(|chosen| chosen.arg == name || chosen.model.name == name);
        let own = || membar::model::builtin(name).map(|model| Chosen { arg: name.to_owned(), model: model.clone() });
        given.cloned().or_else(own)
    }

    /// The saved operations decided again: the case, and the verdict. The error is for the page.
    fn decide(
        &mut self,
        file: &str,
        index: u64,
        reduced: &Reduced,
        model: &str,
    ) -> Result<(Option<Case>, VerdictKind), String> {
        let trace = reduced.parsed()?;
        let chosen = self
            .model(model)
            .ok_or_else(|| format!("the model `{model}` is not built in; give its file with --model"))?;
        self.wish.options = reduced.options();
        let budget = Budget::new(Some(TIME), None, &Interrupt::default());
        let wanted = (Detail::Verdict, Some(&self.wish));
        let answer = self.decider.answer_for((file, index, &trace), (&chosen.model, &chosen.arg), &budget, wanted)?;
        Ok((answer.entry.and_then(|entry| entry.case), answer.verdict))
    }

    /// The row and the case of a saved answer.
    pub fn answer(&mut self, report: &Report) -> (Row, Case) {
        let saved = match (&report.violation, &report.witness) {
            (Some(violation), _) => violation.reduced.clone().ok_or("the document does not hold the operations"),
            (None, Some(order)) => ordered(order).ok_or("initial values are not part of the document"),
            (None, None) => Err(""),
        };
        let again = match &saved {
            Ok(reduced) => self.decide(&report.file, report.trace.min(1 << 53), reduced, &report.model),
            Err(why) => Err((*why).to_owned()),
        };
        let (case, sentence, fact) = judged(again, report.verdict);
        let arg = self.model(&report.model).map_or_else(|| report.model.clone(), |chosen| chosen.arg);
        let mut case = html::restored(report, case, &arg);
        case.headline.extend(sentence);
        case.facts.extend(fact.map(|value| Fact { name: "Decided again", value }));
        let row = Row {
            name: case.name.clone(),
            subject: report.file.clone(),
            model: report.model.clone(),
            verdict: report.verdict.into(),
            about: format!("{}, {}", count(report.ops, "operation"), count(report.threads, "thread")),
            ..Row::default()
        };
        (row, case)
    }

    /// The row and the case of a violation of a campaign.
    pub fn violation(&mut self, found: &Found, model: &str) -> (Row, Option<Case>) {
        let name = html::violation_name(found);
        let row = Row {
            name: name.clone(),
            subject: name.clone(),
            model: model.into(),
            verdict: ShownVerdict::Forbidden,
            about: found.what.clone(),
            ..Row::default()
        };
        let Some(reduced) = &found.reduced else { return (row, None) };
        let (case, sentence, fact) = judged(self.decide(&name, 0, reduced, model), VerdictKind::Forbidden);
        // Beyond a certain number there is only a row.
        if case.is_none() && sentence.is_none() {
            return (row, None);
        }
        let mut case = Case {
            name,
            model: model.into(),
            verdict: ShownVerdict::Forbidden,
            no_machine: case
                .as_ref()
                .map_or(Some("There is no run to step through.".into()), |case| case.no_machine.clone()),
            ..case.unwrap_or_default()
        };
        case.headline = vec![format!("{} is forbidden by {model}.", capital(&case.name)), found.what.clone()];
        case.headline.extend(sentence);
        case.facts.extend(fact.map(|value| Fact { name: "Decided again", value }));
        case.facts.push(Fact { name: "Kept in", value: found.bundle.clone() });
        let trace = quoted_path(&format!("{}/trace.trace", found.bundle));
        case.commands = [
            ("Run the program again", found.command.clone()),
            (
                "Check the trace that was kept",
                format!("membar check {trace} --model {}{}", quoted_path(model), reduced.options()),
            ),
        ]
        .map(|(about, line)| html::Command { about: about.into(), line })
        .into();
        for copy in case.copies.iter_mut().filter(|copy| copy.name == "Trace") {
            (copy.name, copy.about) = ("Reduced trace", "what the argument needs, for `membar check`".into());
        }
        case.notes
            .push("Only the operations that the argument needs are drawn; lines are those of `trace.trace`.".into());
        (row, Some(case))
    }
}

/// The result of deciding a saved case again: the case if it was confirmed, a sentence if it was not, and a fact.
fn judged(
    again: Result<(Option<Case>, VerdictKind), String>,
    saved: VerdictKind,
) -> (Option<Case>, Option<String>, Option<String>) {
    match again {
        Ok((case, verdict)) if verdict == saved => {
            (case, None, Some("yes, from the operations in the document, and certified".into()))
        }
        Ok((_, verdict)) => (
            None,
            Some(format!(
                "This is not confirmed: the document says {saved}, but the operations in it, decided again, are {verdict}."
            )),
            Some(format!("not confirmed: {verdict}")),
        ),
        Err(why) if why.is_empty() => (None, None, None),
        Err(why) => (None, Some(format!("It was not decided again: {why}.")), Some("no".into())),
    }
}

/// The operations of a memory order as a trace; none if it has initial values, which the order does not tell.
fn ordered(order: &[OpRef]) -> Option<Reduced> {
    if order.len() > WITNESS {
        return None;
    }
    let mut ops: Vec<&OpRef> = order.iter().collect();
    ops.sort_by_key(|op| op.line);
    let mut text = String::new();
    for op in &ops {
        let _ = writeln!(text, "{}: {}", op.thread, op.text.replace('\n', " "));
    }
    text.push_str("check\n");
    let reduced = Reduced {
        trace: text,
        lines: ops.iter().map(|op| op.line).collect(),
        clock: Compare::Threads,
        clock_error: 0,
        sampled_every: None,
    };
    let trace = reduced.parsed().ok()?;
    let known = |source: Source| source == Source::INIT || source.as_op().is_some();
    trace.ops().filter(|&op| trace.kind(op).reads()).all(|op| known(trace.source(op))).then_some(reduced)
}
