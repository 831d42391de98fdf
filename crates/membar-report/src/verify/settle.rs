//! The verdict on a program, from what sequentially consistent executions show and what the model's own executions do.
//!
//! | robust? | executions of the model | `errors` | `robust` |
//! |---|---|---|---|
//! | yes | not needed | safe | safe |
//! | no | one fails | fails | fails |
//! | no | all explored, none fails, some are not SC | safe | unsafe |
//! | no | all explored, none fails, all are SC | safe | safe, but with `--strict` unsafe |
//! | no | not all explored, none fails | undecided | unsafe |
//! | no | not run, since sequentially consistent ones fail | error | unsafe |
//!
//! Violations that are allowed do not make a program unsafe; an error that follows from one still counts. Nothing is safe as long
//! as a note says that part of the program was not seen.

use super::{Consequence, Harm, NoteRef, Outcome, VerifyReport};
use crate::kinds::{NoteKind, Property};
use membar_core::ProgramVerdict;

/// The question that was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Question {
    /// `errors` if the program checks something itself and the model's executions can be explored, else `robust`.
    #[default]
    Auto,
    /// Does any execution lead to a program error?
    Errors,
    /// Is every execution sequentially consistent?
    Robust,
}

/// A part of a program that was not seen, so that it cannot be called safe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unseen {
    /// In words.
    pub why: String,
    /// What to do about it.
    pub advice: Option<&'static str>,
}

/// The first of these notes that keeps a program from being called safe.
pub fn unseen(notes: &[NoteRef]) -> Option<Unseen> {
    let code = |note: &&NoteRef| matches!(note.kind, NoteKind::Assembly | NoteKind::Opaque | NoteKind::Memory);
    let less = |note: &&NoteRef| matches!(note.kind, NoteKind::Parts | NoteKind::Sections);
    let first = notes.iter().find(code).or_else(|| notes.iter().find(less))?;
    let more = match notes.iter().filter(|note| note.kind == first.kind).count() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let place = match (&first.file, first.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        _ => String::new(),
    };
    let what = match first.kind {
        NoteKind::Parts => "not everything could be decided",
        NoteKind::Sections => "more was tried than can happen",
        _ => "not all accesses were seen",
    };
    let advice = (first.kind == NoteKind::Opaque)
        .then_some("compile that code with the program, or, if it touches no shared memory: --assume opaque=private");
    Some(Unseen { why: format!("{what}: {place}{}{more}", first.message), advice })
}

impl VerifyReport {
    /// Completes the verdict. So far it says whether the program is robust; `consequence` is what the executions of the model do, if
    /// they were explored; with `strict`, waiting loops count as any other.
    pub fn settle(&mut self, asked: Question, strict: bool, consequence: Option<Consequence>) {
        if asked == Question::Errors {
            self.property = Property::Errors;
        }
        if self.violations.is_empty() || self.verdict == ProgramVerdict::Error {
            return;
        }
        // An error under sequential consistency is an answer, too.
        let answered = consequence.is_some() || !self.errors.is_empty();
        if asked == Question::Auto && !self.checks.is_empty() && answered {
            self.property = Property::Errors;
        }
        let counted = self.counted();
        match consequence {
            None if self.property == Property::Errors && !self.errors.is_empty() => {
                self.verdict = ProgramVerdict::Error;
            }
            None if asked == Question::Errors => self.leave_open("executions of the model were not explored"),
            None => {}
            Some(Consequence { mut weak, outcome, harms, .. }) => match outcome {
                Outcome::Fails(failures) if !failures.is_empty() => {
                    self.violations.iter_mut().zip(harms).for_each(|(violation, harm)| violation.harm = harm);
                    for (i, at) in failures.iter().enumerate().filter_map(|(i, failure)| Some((i, failure.violation?)))
                    {
                        match self.violations.get_mut(at).map(|violation| &mut violation.harm) {
                            Some(Harm::Failures(list)) if list.contains(&i) => {}
                            Some(Harm::Failures(list)) => list.push(i),
                            Some(harm) => *harm = Harm::Failures(vec![i]),
                            None => {}
                        }
                    }
                    (self.verdict, self.weak, self.failures) = (ProgramVerdict::Fails, Some(weak), failures);
                }
                Outcome::NothingFails if weak.complete => {
                    self.violations.iter_mut().for_each(|violation| violation.harm = Harm::None);
                    let waits = weak.not_sc == 0 && !strict;
                    if waits && asked == Question::Auto {
                        self.property = Property::Robust;
                    }
                    self.weak = Some(weak);
                    if self.property == Property::Errors || waits || counted == 0 {
                        self.call_safe();
                    }
                }
                outcome => {
                    let why = match outcome {
                        Outcome::Unknown { why } => why,
                        _ => "not all executions of the model were explored".into(),
                    };
                    (weak.complete, weak.incomplete) = (false, Some(why.clone()));
                    self.weak = Some(weak);
                    if self.property == Property::Errors {
                        self.leave_open(&why);
                    }
                }
            },
        }
        // They matter to who relies on the rest.
        if self.verdict != ProgramVerdict::Safe {
            self.notes.retain(|note| note.kind != NoteKind::Untried);
        }
    }

    /// Everything was explored, unless there is code that was not seen.
    fn call_safe(&mut self) {
        (self.verdict, self.complete, self.incomplete) = (ProgramVerdict::Safe, true, None);
        (self.advice, self.size) = (None, Vec::new());
        if let Some(Unseen { why, advice }) = unseen(&self.notes) {
            self.leave_open(&why);
            self.advice = advice.map(str::to_owned);
        }
    }

    fn leave_open(&mut self, why: &str) {
        (self.verdict, self.complete) = (ProgramVerdict::Undecided, false);
        self.incomplete = Some(match self.incomplete.take() {
            // Both searches may have been cut short by the same thing.
            Some(known) if known != why && !known.starts_with(&format!("{why}; ")) => format!("{why}; {known}"),
            Some(known) => known,
            None => why.to_owned(),
        });
    }
}
