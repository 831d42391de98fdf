//! A trace decided, certified, and put into words, as the command does, in one call or step by step.

use crate::certify::Flaw;
use crate::core::VerdictKind;
use crate::prefix;
use crate::report::html::{self, Case, Made, ModelVerdict, PageContext, Pages, Row};
use crate::report::{self, Blame, Decided, Effort, Report};
use crate::{Certifier, Checker, Limits, Model, Outcome, Trace, Verdict};
use membar_core::{OpId, Proof};
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// The search for the read to blame takes this long at most.
const BLAME: Duration = Duration::from_secs(5);

/// An answer whose certificate was re-checked.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The trace, in the form in which the model decides it ([`Trace::for_model`]).
    pub trace: Cow<'a, Trace>,
    /// The model.
    pub model: &'a Model,
    /// The verdict with its certificate, what decided, and what that took.
    pub outcome: Outcome,
    /// Time to decide and re-check.
    pub seconds: f64,
}

/// Decides whether the model allows the trace, and has the certifier re-check the certificate before anybody sees it. An error
/// is a bug of the checker.
///
/// ```
/// use membar::{Limits, Verdict, decide};
///
/// let trace = membar::trace::parse("sb.trace", b"0: x := 1\n0: y == 0\n1: y := 1\n1: x == 0\ncheck\n")?.remove(0);
/// let sc = membar::model::load("sc")?;
/// let answer = decide(&trace, &sc, &Limits::default())?;
/// assert!(matches!(answer.outcome.verdict, Verdict::Forbidden(_)));
/// assert!(answer.text("sb.trace").starts_with("FORBIDDEN by sc"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decide<'a>(trace: &'a Trace, model: &'a Model, limits: &Limits) -> Result<Answer<'a>, Flaw> {
    Decider::default().decide(trace, model, limits)
}

/// The message about a certificate that does not hold.
pub fn refused(flaw: &Flaw) -> String {
    format!("the verdict's certificate does not hold: {flaw}")
}

/// Decides and re-checks, keeping the buffers from one trace to the next.
///
/// ```
/// use membar::{Decider, Limits, VerdictKind};
///
/// let traces = membar::trace::parse("t", b"0: x := 1\n1: x == 1\ncheck\n0: x := 1\n1: x == 2\ncheck\n")?;
/// let (tso, mut decider) = (membar::model::load("tso")?, Decider::default());
/// let verdicts: Vec<VerdictKind> = traces
///     .iter()
///     .map(|trace| Ok(decider.verdict(trace, &tso, &Limits::default())?.verdict()))
///     .collect::<Result<_, membar::certify::Flaw>>()?;
/// assert_eq!(verdicts, [VerdictKind::Allowed, VerdictKind::Forbidden]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Decider {
    checker: Checker,
    certifier: Certifier,
}

impl Decider {
    /// Each model that is asked beside the one that matters gets this long at most.
    pub const PER_MODEL: Duration = Duration::from_secs(1);

    /// As [`decide`].
    pub fn decide<'a>(&mut self, trace: &'a Trace, model: &'a Model, limits: &Limits) -> Result<Answer<'a>, Flaw> {
        let started = Instant::now();
        let trace = trace.for_model(model);
        let mut outcome = self.checker.check(&trace, model, limits);
        self.certifier.verdict(&trace, model, &outcome.verdict)?;
        if let Verdict::Forbidden(proof) = &mut outcome.verdict {
            // The form that people follow most easily is certified too; the other one remains if it does not hold.
            let shown = report::readable(proof.clone(), model);
            if self.certifier.proof(&trace, model, &shown).is_ok() {
                *proof = shown;
            }
        }
        let trace = if trace.is_open() { Cow::Owned(shown(&trace, model, &outcome.verdict)) } else { trace };
        Ok(Answer { trace, model, outcome, seconds: started.elapsed().as_secs_f64() })
    }

    /// The same where nobody looks at the proof: it needs no shortening.
    pub fn verdict<'a>(&mut self, trace: &'a Trace, model: &'a Model, limits: &Limits) -> Result<Answer<'a>, Flaw> {
        let started = Instant::now();
        let trace = trace.for_model(model);
        let outcome = self.checker.verdict(&trace, model, limits);
        self.certifier.verdict(&trace, model, &outcome.verdict)?;
        Ok(Answer { trace, model, outcome, seconds: started.elapsed().as_secs_f64() })
    }

    /// The facts of a report on the answer for a trace of a file, with the read to blame, which is looked for within these
    /// limits.
    pub fn decided<'b>(
        &mut self,
        answer: &'b Answer<'_>,
        (file, index): (&'b str, u64),
        witness: bool,
        limits: &Limits,
    ) -> Decided<'b> {
        let Outcome { verdict, algorithm, effort } = &answer.outcome;
        let blame = match verdict {
            Verdict::Forbidden(proof) => self.blame(answer, proof, limits),
            _ => None,
        };
        Decided {
            algorithm: *algorithm,
            effort: Effort { passes: u64::from(effort.passes), inferred: effort.inferred, conflicts: effort.conflicts },
            seconds: answer.seconds,
            certified: !matches!(verdict, Verdict::Undecided { .. }),
            blame,
            witness,
            ..Decided::new(file, index, &answer.trace, answer.model, verdict)
        }
    }

    fn blame(&mut self, answer: &Answer<'_>, proof: &Proof, limits: &Limits) -> Option<Blame> {
        if matches!(proof, Proof::Cases { .. }) {
            return None;
        }
        let soon = Instant::now() + BLAME;
        let deadline = Some(limits.deadline.map_or(soon, |deadline| deadline.min(soon)));
        let limits = Limits { deadline, ..limits.clone() };
        let found = self.checker.blame(&answer.trace, answer.model, proof, &limits)?;
        let legal = found.legal.iter().map(|legal| (legal.value, legal.source)).collect();
        Some(Blame { read: found.read, legal, complete: found.all })
    }

    /// The verdicts of the built-in models, each within a second. A verdict counts only if its certificate holds.
    pub fn models(&mut self, trace: &Trace, known: (&Model, VerdictKind), limits: &Limits) -> Vec<ModelVerdict> {
        let answer = |other: &Model| {
            let verdict = if other == known.0 {
                known.1
            } else {
                let answer = self.verdict(trace, other, &limits.clone().within(Decider::PER_MODEL));
                answer.map_or(VerdictKind::Undecided, |answer| answer.verdict())
            };
            ModelVerdict { name: other.name.clone(), title: other.title.clone(), verdict }
        };
        crate::model::builtins().iter().map(answer).collect()
    }

    /// The answer in every view of a page; `aside` has what the command line said.
    pub fn case(&mut self, decided: &Decided<'_>, report: &Report, aside: PageContext, limits: &Limits) -> Case {
        let Decided { trace, model, verdict, .. } = *decided;
        let blamed = decided.blame.as_ref().map(|blame| blame.read);
        let prefix = match verdict {
            Verdict::Forbidden(proof) => prefix::of(trace, model, proof, blamed),
            _ => None,
        };
        let models = self.models(trace, (model, verdict.kind()), limits);
        html::case(decided, report, &PageContext { models, prefix, ..aside })
    }

    /// The smallest forbidden part of a forbidden trace, with where its operations come from.
    pub fn shrink(&mut self, trace: &Trace, model: &Model, limits: &Limits) -> Option<(Vec<OpId>, Trace)> {
        // Accesses of different sizes are shown whole.
        let trace = if trace.is_mixed() { Cow::Borrowed(trace) } else { trace.for_model(model) };
        let mut part = self.checker.shrink(&trace, model, limits)?;
        // Statements about addresses and locks that are gone have no meaning left.
        let used = |addr| {
            part.trace.ops().any(|op| part.trace.addr(op) == addr) || part.trace.finals.iter().any(|f| f.addr == addr)
        };
        let inits: Vec<_> = part.trace.inits.iter().filter(|init| used(init.addr)).copied().collect();
        let guards: Vec<_> = part.trace.guards.iter().filter(|guard| used(guard.lock)).cloned().collect();
        part.trace.inits = inits;
        part.trace.guards = guards;
        Some((part.ops, part.trace))
    }
}

/// An open trace with the sources that its verdict speaks of, to show.
fn shown(trace: &Trace, model: &Model, verdict: &Verdict) -> Trace {
    match verdict {
        Verdict::Allowed(witness) => {
            let sources = crate::certify::sources(trace, model, &witness.order);
            trace.shown_as(|read| sources.get(&read).copied())
        }
        Verdict::Forbidden(proof) => {
            let path: std::collections::HashMap<_, _> = proof.path().into_iter().collect();
            trace.shown_as(|read| path.get(&read).copied())
        }
        Verdict::Undecided { .. } => trace.shown_as(|_| None),
    }
}

impl Answer<'_> {
    /// The answer without its certificate.
    pub fn verdict(&self) -> VerdictKind {
        self.outcome.verdict.kind()
    }

    /// Allowed, by the first order that was tried?
    pub fn is_first_attempt(&self) -> bool {
        self.verdict() == VerdictKind::Allowed && self.outcome.effort.conflicts == 0
    }

    /// Every fact and every sentence, as data; `file` is what the trace is called there.
    pub fn report(&self, file: &str) -> Report {
        Report::new(&Decider::default().decided(self, (file, 0), true, &Limits::default()))
    }

    /// The report for a terminal.
    pub fn text(&self, file: &str) -> String {
        written(|out| report::text::Text::default().report(&self.report(file), out))
    }

    /// The report as the JSON document of `membar check --format json`.
    pub fn json(&self, file: &str) -> String {
        written(|out| {
            let mut json = report::json::Json::default();
            json.report(&self.report(file), out)?;
            json.finish(out)
        })
    }

    /// The report as a page for a browser, with what the built-in models say.
    pub fn page(&self, file: &str) -> String {
        let (mut decider, limits) = (Decider::default(), Limits::default());
        let decided = decider.decided(self, (file, 0), true, &limits);
        let report = Report::new(&decided);
        let aside = PageContext { model_arg: self.model.name.clone(), ..PageContext::default() };
        let case = decider.case(&decided, &report, aside, &limits);
        let version = concat!("membar ", env!("CARGO_PKG_VERSION")).into();
        let command = format!("membar check --model {} {file}", self.model.name);
        let mut pages = Pages::new(Made { command, version, host: String::new() });
        pages.add(Row::new(&report), Some(case));
        written(|out| report::html::write(&pages.finish(), out))
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("writing to memory succeeds");
    String::from_utf8(out).expect("reports are UTF-8")
}
