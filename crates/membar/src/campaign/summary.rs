//! The end of a campaign, for people and as JSON.

use super::{Campaign, Plan, Source, bundle::profile_json};
use crate::core::VerdictKind;
use crate::report::campaign::{CampaignReport, Counts};
use crate::report::{Style, count, safe, with_command, wrapped};
use std::fmt::Write as _;

/// Violations that the text lists.
const LISTED: usize = 10;

/// Why a campaign ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// All tests were made.
    Tests,
    /// The time was over.
    Time,
    /// At a violation.
    Violation,
    /// At the last violation that was wanted.
    Violations,
    /// By the interrupt key.
    Interrupted,
    /// Parts that were run elsewhere are missing.
    Missing,
}

impl Stopped {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Stopped::Tests => "tests",
            Stopped::Time => "time",
            Stopped::Violation => "violation",
            Stopped::Violations => "max-violations",
            Stopped::Interrupted => "interrupted",
            Stopped::Missing => "missing",
        }
    }
}

/// A number in few characters: 950, 12.3K, 4.5M.
pub fn short(number: f64) -> String {
    match number {
        n if n < 1e4 => format!("{n:.0}"),
        n if n < 1e6 => format!("{:.1}K", n / 1e3),
        n if n < 1e9 => format!("{:.1}M", n / 1e6),
        n => format!("{:.2}G", n / 1e9),
    }
}

impl Campaign {
    /// Forbidden before undecided.
    pub fn verdict(&self) -> VerdictKind {
        let Counts { tests, forbidden, undecided, .. } = self.counters;
        match () {
            () if forbidden > 0 => VerdictKind::Forbidden,
            () if undecided > 0 || tests == 0 => VerdictKind::Undecided,
            () => VerdictKind::Allowed,
        }
    }

    /// For people: the runs, the findings, the next step.
    pub fn text(&self, plan: &Plan, source: &dyn Source, style: Style) -> String {
        let c = &self.counters;
        let mut text = String::new();
        let model = safe(&plan.model.arg);
        let names: Vec<String> = plan.profiles.iter().map(|chosen| safe(&chosen.profile.name)).collect();
        let (found, head) = match self.verdict() {
            VerdictKind::Forbidden => {
                let found = format!("{} found", count(c.violations.len(), "violation"));
                (found.clone(), style.bad(found).to_string())
            }
            VerdictKind::Undecided => {
                let found = match c.tests {
                    0 => "nothing was tested".into(),
                    _ => format!("{} undecided", count(c.undecided as usize, "test")),
                };
                (found.clone(), style.open(found).to_string())
            }
            VerdictKind::Allowed => ("no violation found".into(), style.good("no violation found").to_string()),
        };
        let about = format!(": {} against {model}, profile {}", source.name(), names.join(", "));
        // Programs look for this line, so it is broken only where it does not fit a narrow terminal.
        let _ = writeln!(text, "{}", style.head(&format!("{found}{about}")).replacen(&found, &head, 1));
        let last = plan.seed.wrapping_add(c.tests.saturating_sub(1));
        let ended = match self.stopped {
            Stopped::Interrupted => ", interrupted",
            Stopped::Missing => ", parts are missing",
            Stopped::Time => ", time limit reached",
            _ => "",
        };
        let labelled =
            |label: &str, said: &str| format!("  {label:<5}  {}\n", wrapped(said, style.prose() - 9, "\n         "));
        let seeds = match (self.scattered || self.stopped == Stopped::Missing, plan.tests) {
            (true, Some(tests)) => format!("some of the seeds {} to {}", plan.seed, plan.seed.wrapping_add(tests - 1)),
            _ if last == plan.seed => format!("seed {last}"),
            _ => format!("seeds {} to {last}", plan.seed),
        };
        let ran = format!(
            "{} ({seeds}), {} operations in {:.1} s{ended}",
            count(c.tests as usize, "test"),
            short(c.operations as f64),
            c.seconds,
        );
        text += &labelled("Ran", &ran);
        let mut speed = format!("{} operations per second", short(c.rate(c.seconds)));
        if c.check_seconds > 0.0 {
            speed += &format!("; the checker alone: {}", short(c.operations as f64 / c.check_seconds));
        }
        text += &labelled("Speed", &speed);
        if c.allowed > 0 {
            let mut seen = format!("{:.1}% of the allowed traces ordered at the first attempt", c.first_percent());
            if c.sampled > 0 {
                seen += &format!("; {} of {} sampled were not sequentially consistent", c.relaxed, c.sampled);
            }
            text += &labelled("Seen", &seen);
        }
        for found in c.violations.iter().take(LISTED) {
            let place = format!(
                "seed {}, profile {}, after {} operations",
                found.seed,
                safe(&found.profile),
                short(found.operations as f64)
            );
            let _ = writeln!(text, "\n{} {place}", style.bad("violation:"));
            text += &labelled("What", &safe(&found.what.replace('\n', " ")));
            let _ = writeln!(text, "  Kept   {}", safe(&found.bundle));
            let _ = writeln!(text, "{}", with_command("  Again ", &safe(&found.command), style.prose()));
        }
        if c.violations.len() > LISTED {
            let output = safe(&plan.output.to_string_lossy());
            let _ = writeln!(text, "\n… and {} more in {output}", c.violations.len() - LISTED);
        }
        text.push_str(&wrapped(&self.next(plan), style.prose(), "\n      "));
        text
    }

    fn next(&self, plan: &Plan) -> String {
        let c = &self.counters;
        if let Some(found) = c.violations.last() {
            let bundle = crate::report::quoted_path(&found.bundle);
            return format!("\nNext: read {bundle}/report.txt; shrunk.trace has the few operations that matter.\n");
        }
        match &plan.state {
            _ if c.undecided > 0 => {
                "\nNext: allow more time for a trace (--check-time), or give smaller programs.\n".into()
            }
            Some(path) if self.stopped != Stopped::Tests => {
                let path = crate::report::quoted_path(&path.to_string_lossy());
                format!("\nNext: the same command resumes from {path}.\n")
            }
            _ if c.tests == 0 => String::new(),
            _ => {
                let next = plan.seed.wrapping_add(c.tests);
                format!("\nNext: more tests begin at --seed {next}; other profiles find other bugs (--profile).\n")
            }
        }
    }

    /// As data.
    pub fn report(&self, plan: &Plan, source: &dyn Source) -> CampaignReport {
        let c = &self.counters;
        CampaignReport {
            source: source.describe(),
            model: plan.model.arg.clone(),
            profiles: plan.profiles.iter().map(|chosen| profile_json(&chosen.profile)).collect(),
            seed: plan.seed,
            verdict: self.verdict(),
            stopped: self.stopped.name().into(),
            counts: c.clone(),
            operations_per_second: c.rate(c.seconds),
        }
    }
}

/// For programs.
pub fn json(report: &CampaignReport) -> serde_json::Result<String> {
    #[derive(serde::Serialize)]
    struct Document<'a> {
        schema: u32,
        #[serde(flatten)]
        report: &'a CampaignReport,
    }
    Ok(serde_json::to_string(&Document { schema: crate::report::SCHEMA, report })? + "\n")
}
