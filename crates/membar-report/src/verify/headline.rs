//! The verdict on a program in words: the first line, for which question it answers, and what was explored.

use super::{Harm, VerifyReport, WeakRef};
use crate::kinds::{ErrorKind, Property};
use crate::style::{count, grouped};
use membar_core::ProgramVerdict;

impl VerifyReport {
    /// The verdict as a word.
    pub(crate) fn word(&self) -> &'static str {
        match self.verdict {
            ProgramVerdict::Safe => "safe",
            ProgramVerdict::Unsafe => "UNSAFE",
            ProgramVerdict::Fails => "FAILS",
            ProgramVerdict::Error => "ERROR",
            ProgramVerdict::Undecided => "UNDECIDED",
        }
    }

    /// Whether the verdict is about the model; a program error that needs no store buffer is not.
    pub(crate) fn is_about_model(&self) -> bool {
        // Races count under some models only.
        self.verdict != ProgramVerdict::Error || self.errors.first().is_some_and(|error| error.kind == ErrorKind::Race)
    }

    /// The first line after the verdict.
    pub(crate) fn headline(&self) -> String {
        let counted = self.counted();
        let violations = count(counted, "violation");
        match (self.verdict, &self.weak) {
            (ProgramVerdict::Safe, Some(weak)) if weak.not_sc == 0 => {
                format!("all of its {} are SC; stale reads only add iterations of waiting loops", executions(weak))
            }
            (ProgramVerdict::Safe, Some(weak)) if self.property == Property::Errors => {
                format!("not SC, but {}", self.nothing_fails(weak))
            }
            (ProgramVerdict::Safe, _) => {
                let races = if self.races { ", and there is no data race" } else { "" };
                let but = match self.violations.len() - counted {
                    0 => String::new(),
                    n => format!(
                        ", but for {} that {} allowed",
                        count(n, "violation"),
                        if n == 1 { "is" } else { "are" }
                    ),
                };
                let every = if but.is_empty() {
                    "every execution is sequentially consistent"
                } else {
                    "sequentially consistent"
                };
                format!("{every}{but}{races}")
            }
            (ProgramVerdict::Unsafe, _) if self.condition.as_ref().is_some_and(|condition| condition.is_weak()) => {
                format!("not SC ({violations}), and it can end as it never does under SC")
            }
            (ProgramVerdict::Unsafe, Some(weak)) if weak.complete => {
                format!("not SC ({violations}), but {}", self.nothing_fails(weak))
            }
            (ProgramVerdict::Unsafe, _) => violations,
            (ProgramVerdict::Fails, _) => self.failures.first().map_or("", |first| first.error.headline()).to_owned(),
            (ProgramVerdict::Error, _) => self.errors.first().map_or("", |first| first.headline()).to_owned(),
            (ProgramVerdict::Undecided, Some(weak)) if weak.executions > 0 => {
                format!("not SC, and not everything was explored; {} in {}", self.fails(), executions(weak))
            }
            (ProgramVerdict::Undecided, _) if counted > 0 => {
                format!("not SC ({violations}); whether anything fails is not known")
            }
            _ => "no violation found, but not everything was explored".into(),
        }
    }

    fn nothing_fails(&self, weak: &WeakRef) -> String {
        match &self.condition {
            Some(condition) if condition.asserts => format!("its condition holds in all of its {}", executions(weak)),
            _ => format!("{} in any of its {}", self.fails(), executions(weak)),
        }
    }

    fn fails(&self) -> &'static str {
        let asserts = self.checks.iter().any(|check| check.contains("assert"));
        if asserts { "no assertion fails" } else { "nothing fails" }
    }

    /// Violations that are nothing to worry about, by the question that was answered.
    pub(crate) fn is_harmless(&self) -> bool {
        self.verdict == ProgramVerdict::Safe && self.violations.iter().all(|violation| violation.harm == Harm::None)
    }

    pub(crate) fn explored(&self) -> String {
        let unit = count(self.interleavings as usize, self.unit.name());
        let all = if self.complete && self.interleavings > 1 { "all " } else { "" };
        let rate = self.interleavings as f64 / self.seconds.max(1e-6);
        let speed = if self.seconds > 0.5 { format!(", {rate:.0}/s") } else { String::new() };
        let renamed = if self.symmetric { ", up to renaming of threads" } else { "" };
        let blocked = match self.blocked {
            0 => String::new(),
            n if self.symmetric => format!(" and {}", count(n as usize, "blocked execution")),
            n => format!(", and {}", count(n as usize, "blocked execution")),
        };
        let sc = format!("{all}{unit}{renamed}{blocked} ({}, {:.2} s{speed})", self.strategy, self.seconds);
        match &self.weak {
            None => sc,
            Some(weak) => format!("{sc}; {}", weak.words(self.model.name(), !self.failures.is_empty())),
        }
    }
}

fn executions(weak: &WeakRef) -> String {
    format!("{} execution{}", grouped(weak.executions), if weak.executions == 1 { "" } else { "s" })
}

impl WeakRef {
    /// `all 1,204 executions of tso, 12 of them not SC (0.01 s)`
    ///
    /// The search may stop at a step that fails: that execution has no end, and is not among those that are counted.
    fn words(&self, model: &str, fails: bool) -> String {
        let all = if self.complete && self.executions > 1 { "all " } else { "" };
        let blocked = match self.blocked {
            0 => String::new(),
            n => format!(", and {} blocked", grouped(n)),
        };
        let rate = match self.seconds > 0.5 {
            true => format!(", {:.0}/s", self.executions as f64 / self.seconds),
            false => String::new(),
        };
        let not_sc = match self.not_sc {
            0 if fails => " before one that fails".to_owned(),
            0 => ", none of them not SC".to_owned(),
            n => format!(", {} of them not SC", grouped(n)),
        };
        format!("{all}{} of {model}{not_sc}{blocked} ({:.2} s{rate})", executions(self), self.seconds)
    }
}
