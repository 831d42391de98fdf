//! A failure under the model in words: the error, and the execution that leads there.

use super::text::{base, printed, wrapped};
use super::{FailureRef, VerifyReport, ViolationRef, WeakStepRef};
use crate::columns::{Row, columns};
use crate::kinds::{Action, Property};
use crate::style::{Style, safe, with_command};
use membar_core::{ProgramModel, ProgramVerdict};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Steps of an execution that are shown.
const STEPS: usize = 80;
/// Lines of a program's output that are shown.
const PRINTED: usize = 20;

impl VerifyReport {
    /// What to do now, where nothing else says it.
    pub(super) fn next(&self) -> Option<String> {
        let failure = self.failures.first().map(|failure| self.replay(failure));
        let stricter = self.verdict == ProgramVerdict::Safe
            && self.property == Property::Errors
            && self.weak.as_ref().is_some_and(|weak| weak.not_sc > 0);
        failure.map(|command| format!("see it step by step: {command}")).or_else(|| {
            stricter.then(|| {
                "nothing has to be done; to be told of every execution that is not SC: --property robust".into()
            })
        })
    }

    /// The command that replays a failure.
    pub(crate) fn replay(&self, failure: &FailureRef) -> String {
        self.command.line(&failure.error.schedule, &format!(" --model {}", failure.model))
    }

    pub(super) fn failure(
        &self,
        failure: &FailureRef,
        index: usize,
        style: Style,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let FailureRef { error, model, .. } = failure;
        let of = match self.failures.len() {
            1 => String::new(),
            n => format!(" {} of {n}", index + 1),
        };
        let what = wrapped(&safe(error.headline()), style.prose() - 4, "\n    ");
        writeln!(out, "\n{}:\n  {what}", style.bad(format!("failure{of} under {model}, {}", error.kind)))?;
        for line in error.message.lines().skip(1) {
            writeln!(out, "    {}", wrapped(&safe(line), style.prose() - 6, "\n      "))?;
        }
        error.stack.iter().chain(&error.other).try_for_each(|frame| writeln!(out, "    {}", frame.text()))?;
        if let Some(violation) = failure.violation.and_then(|at| self.violations.get(at)) {
            let because = format!("It rests on a violation of SC: {}", failure.because(violation));
            writeln!(out, "  {}", wrapped(&because, style.prose() - 4, "\n    "))?;
        }
        writeln!(out, "  The execution under {model}:\n")?;
        columns(&rows(failure), STEPS, style, out)?;
        if let Some(output) = &error.output {
            printed(output, PRINTED, out)?;
        }
        writeln!(out, "\n{}", with_command("  See it:", &self.replay(failure), style.prose()))
    }
}

/// The steps, but for threads that begin and end.
fn rows(failure: &FailureRef) -> Vec<Row> {
    let shown = |step: &&WeakStepRef| !step.access.control || step.misses.is_some();
    let files: BTreeSet<&str> = failure.steps.iter().filter(shown).map(|step| step.access.file.as_str()).collect();
    let numbered = failure.steps.iter().enumerate().filter(|(_, step)| shown(step));
    let row = |(i, step): (usize, &WeakStepRef)| {
        let access = &step.access;
        let place = match files.len() > 1 {
            true => format!("{}:{}", safe(base(&access.file)), access.line),
            false => access.line.to_string(),
        };
        let mark = failure.mark(i);
        Row {
            thread: access.thread,
            name: safe(&access.thread_name),
            number: format!("{:>3}  {place:>3}", i + 1),
            text: access.source(),
            effect: access.effect(access.function.is_some()),
            marked: !mark.is_empty(),
            mark,
        }
    };
    numbered.map(row).collect()
}

impl FailureRef {
    /// The violation that it rests on, in words. The execution that it was found in may have had other threads in these places,
    /// and other values: those of this one are told.
    pub(crate) fn because(&self, violation: &ViolationRef) -> String {
        self.here(violation).unwrap_or_else(|| violation.clone()).sentence()
    }

    /// The violation with the accesses of this execution, if one of its reads misses a store as that of the violation does.
    fn here(&self, violation: &ViolationRef) -> Option<ViolationRef> {
        let missed = |(at, step): (usize, &WeakStepRef)| Some((at, step.misses?));
        let is_it = |&(at, store): &(usize, usize)| {
            self.steps[at].access.is_at(&violation.access) && self.steps[store].access.is_at(&violation.store)
        };
        let (at, store) = self.steps.iter().enumerate().filter_map(missed).find(is_it)?;
        let (access, store) = (&self.steps[at].access, &self.steps[store].access);
        let mut here = violation.clone();
        for link in &mut here.cycle {
            let by = match link.access.thread {
                thread if thread == violation.access.thread => access,
                thread if thread == violation.store.thread => store,
                _ => continue,
            };
            let same = |step: &&WeakStepRef| step.access.thread == by.thread && step.access.is_at(&link.access);
            match self.steps[..=at].iter().rev().find(same) {
                Some(step) => link.access = step.access.clone(),
                None => (link.access.thread, link.access.thread_name) = (by.thread, by.thread_name.clone()),
            }
        }
        (here.access, here.store) = (access.clone(), store.clone());
        Some(here)
    }

    /// What is special about a step: a store that is delayed, a read that misses one. Steps count from 1.
    pub(crate) fn mark(&self, at: usize) -> String {
        let step = &self.steps[at];
        let writes = matches!(step.does, Action::Store | Action::Rmw);
        match (step.misses, step.seen) {
            (Some(store), _) => format!("<- does not see step {}", store + 1),
            (None, Some(seen)) if writes && seen > at => format!("-> seen by others after step {}", seen + 1),
            // C11 has no memory that stores arrive at.
            (None, None) if writes && self.model != ProgramModel::C11 => "-> not seen by others".into(),
            _ => String::new(),
        }
    }
}
