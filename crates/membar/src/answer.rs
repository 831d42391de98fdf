//! A trace decided, certified, and put into words, in one call.

use crate::certify::Flaw;
use crate::report::html::{Aside, Made, ModelVerdict, Pages, Row};
use crate::report::{self, Blame, Decided, Effort, Report};
use crate::{Certifier, Checker, Limits, Model, Outcome, Trace, Verdict};
use std::time::{Duration, Instant};

/// Each of the other models on a page, and the search for the read to blame, get this long at most.
const ASIDE: Duration = Duration::from_secs(1);

/// An answer whose certificate was re-checked.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The model.
    pub model: &'a Model,
    /// The verdict with its certificate, what decided, and what that took.
    pub outcome: Outcome,
    /// Time to decide and re-check.
    pub seconds: f64,
}

/// Decides whether the model allows the trace, and has the certifier re-check the certificate before anyone sees it. An error
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
    let (began, mut certifier) = (Instant::now(), Certifier::new());
    let mut outcome = Checker::new().check(trace, model, limits);
    certifier.verdict(trace, model, &outcome.verdict)?;
    if let Verdict::Forbidden(proof) = &mut outcome.verdict {
        // The form that people follow most easily, if it holds too.
        let shown = report::readable(proof.clone(), model);
        if certifier.proof(trace, model, &shown).is_ok() {
            *proof = shown;
        }
    }
    Ok(Answer { trace, model, outcome, seconds: began.elapsed().as_secs_f64() })
}

impl Answer<'_> {
    /// `allowed`, `forbidden` or `undecided`.
    pub fn verdict(&self) -> &'static str {
        self.outcome.verdict.name()
    }

    /// The facts of a report; `file` is what the trace is called there.
    pub fn decided<'b>(&'b self, file: &'b str) -> Decided<'b> {
        let Outcome { verdict, algorithm, effort } = &self.outcome;
        let blame = match verdict {
            Verdict::Forbidden(proof) => {
                let limits = Limits::default().within(ASIDE);
                Checker::new().blame(self.trace, self.model, proof, &limits).map(|found| Blame {
                    read: found.read,
                    legal: found.legal.iter().map(|legal| (legal.value, legal.source)).collect(),
                    complete: found.all,
                })
            }
            _ => None,
        };
        Decided {
            algorithm: algorithm.name(),
            effort: Effort { passes: u64::from(effort.passes), inferred: effort.inferred, conflicts: effort.conflicts },
            seconds: self.seconds,
            certified: !matches!(verdict, Verdict::Undecided { .. }),
            blame,
            witness: true,
            ..Decided::new(file, 0, self.trace, self.model, verdict)
        }
    }

    /// Every fact and every sentence, as data.
    pub fn report(&self, file: &str) -> Report {
        Report::new(&self.decided(file))
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
        let answer = |other: &Model| {
            let decided = decide(self.trace, other, &Limits::default().within(ASIDE));
            let verdict = decided.map_or("undecided", |answer| answer.verdict());
            ModelVerdict { name: other.name.clone(), title: other.title.clone(), verdict }
        };
        let models = crate::model::builtins().iter().map(answer).collect();
        let decided = self.decided(file);
        let report = Report::new(&decided);
        let aside = Aside { models, model_arg: self.model.name.clone(), ..Aside::default() };
        let version = concat!("membar ", env!("CARGO_PKG_VERSION")).into();
        let command = format!("membar check --model {} {file}", self.model.name);
        let mut pages = Pages::new(Made { command, version, host: String::new() });
        pages.add(Row::new(&report), Some(report::html::case(&decided, &report, &aside)));
        written(|out| report::html::write(&pages.finish(), out))
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("writing to memory succeeds");
    String::from_utf8(out).expect("reports are UTF-8")
}
