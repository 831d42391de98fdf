//! From a campaign to its view: verdicts, violations by shape, coverage, speed.

use super::page::{Bar, CampaignView, Command, Cover, CoverPair, Fact, Group, Link, Series};
use crate::campaign::{CampaignReport, Found};
use crate::kinds::OpName;
use crate::style::{capital, count, safe};
use membar_core::VerdictKind;
use serde_json::Value;
use std::collections::BTreeMap;

/// Violations of one shape that are listed.
const LISTED: usize = 200;
/// Shapes that are listed.
const SHAPES: usize = 60;
/// Characters of a text that is shown.
const LONG: usize = 400;

/// The view of a campaign, with the command that ran it if that is known. `cases` says where violations, by index, are shown in full.
pub fn campaign(report: &CampaignReport, command: Option<&str>, cases: &BTreeMap<usize, usize>) -> CampaignView {
    let machine = name_of(&report.source);
    let model = cut(&report.model);
    let tests = count(report.counts.tests as usize, "test");
    let said = if machine.starts_with("this machine") { capital(&machine) } else { machine.clone() };
    let headline = vec![
        match report.verdict {
            VerdictKind::Forbidden => format!("{said} did what {model} forbids."),
            VerdictKind::Allowed => format!("{said} did nothing that {model} forbids."),
            _ => format!("It is not known whether {machine} obeys {model}."),
        },
        match report.verdict {
            VerdictKind::Forbidden => format!(
                "{} in {tests}; each was proved, and the proof re-checked.",
                count(report.counts.forbidden as usize, "violation")
            ),
            VerdictKind::Allowed => {
                format!("{tests}, each decided and re-checked. That is not a proof: other programs may find something.")
            }
            _ if report.counts.tests == 0 => "Nothing was tested.".into(),
            _ => format!(
                "{} of {tests} were not decided within the limits; in the others nothing was found.",
                report.counts.undecided
            ),
        },
    ];
    let mut facts = vec![
        Fact { name: "Machine", value: machine.clone() },
        Fact { name: "Model", value: model.clone() },
        Fact { name: "Profiles", value: profiles(report) },
        Fact { name: "Tests", value: format!("{} (seeds from {})", report.counts.tests, report.seed) },
        Fact { name: "Operations", value: format!("{} in {}", report.counts.operations, time(report.counts.seconds)) },
        Fact { name: "Speed", value: format!("{:.0} operations per second", report.operations_per_second) },
        Fact {
            name: "Time of all workers",
            value: format!(
                "{} to run, {} to decide and certify",
                time(report.counts.run_seconds),
                time(report.counts.check_seconds)
            ),
        },
        Fact { name: "Ended", value: ended(&report.stopped) },
    ];
    if report.counts.sampled > 0 {
        facts.push(Fact {
            name: "Relaxed",
            value: format!(
                "{} of {} allowed tests that were sampled were not sequentially consistent",
                report.counts.relaxed, report.counts.sampled
            ),
        });
    }
    if report.counts.allowed > 0 {
        let share = 100.0 * report.counts.first_attempt as f64 / report.counts.allowed as f64;
        facts.push(Fact {
            name: "First attempt",
            value: format!("{share:.1}% of the allowed traces were ordered at the first attempt"),
        });
    }
    CampaignView {
        verdict: report.verdict,
        headline,
        facts,
        outcomes: outcomes(report),
        groups: groups(report, cases),
        coverage: coverage(report),
        speed: speed(report),
        commands: commands(report, command),
        notes: notes(report, cases),
    }
}

fn cut(text: &str) -> String {
    let text = safe(text);
    if text.chars().count() > LONG { text.chars().take(LONG).collect::<String>() + "…" } else { text }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 7200.0 => format!("{:.1} h", s / 3600.0),
        s if s >= 120.0 => format!("{:.1} min", s / 60.0),
        s => format!("{s:.1} s"),
    }
}

/// `mesi-tso with no-replay`
fn name_of(source: &Value) -> String {
    let text = |key: &str| source.get(key).and_then(Value::as_str).unwrap_or_default();
    let bugs: Vec<&str> =
        source.get("bugs").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let name = if text("kind") == "hardware" { "this machine" } else { text("name") };
    let mut words = if name.is_empty() { "the machine".to_owned() } else { name.to_owned() };
    if !bugs.is_empty() {
        words += &format!(" with the bug {}", bugs.join(", "));
    }
    if text("kind") == "hardware" && !text("cores").is_empty() {
        words += &format!(" (cores {})", text("cores"));
    }
    cut(&words)
}

fn profiles(report: &CampaignReport) -> String {
    let name = |profile: &Value| profile.get("name").and_then(Value::as_str).unwrap_or("?").to_owned();
    let number = |profile: &Value, key: &str| profile.get(key).and_then(Value::as_u64).unwrap_or(0);
    let one = |profile: &Value| {
        let size = format!(
            "{} threads of {} operations, {} addresses",
            number(profile, "threads"),
            number(profile, "operations"),
            number(profile, "addresses")
        );
        format!("{} ({size})", name(profile))
    };
    cut(&report.profiles.iter().take(20).map(one).collect::<Vec<_>>().join("; "))
}

fn ended(stopped: &str) -> String {
    match stopped {
        "tests" => "all tests were made".into(),
        "time" => "time limit reached".into(),
        "violation" => "at the first violation".into(),
        "max-violations" => "at the requested number of violations".into(),
        "interrupted" => "it was interrupted".into(),
        other => cut(other),
    }
}

/// Verdicts, and what decided.
fn outcomes(report: &CampaignReport) -> Vec<Bar> {
    let tone = |label: &str| match label {
        label if label.starts_with("allowed") => "good",
        label if label.starts_with("forbidden") => "bad",
        _ => "open",
    };
    let bar = |(label, &n): (&String, &u64)| {
        let (verdict, by) = label.split_once(" by ").unwrap_or((label, ""));
        let by = match by {
            "values" => "the values alone",
            "conflict" => "one sort: every write order was known",
            "rules" => "the rules",
            "too" => "building a memory order",
            "timed" => "building a memory order along time",
            "search" => "search",
            other => other,
        };
        Bar { label: cut(&format!("{verdict}, by {by}")), count: n, tone: tone(verdict) }
    };
    if !report.counts.decided.is_empty() {
        return report.counts.decided.iter().take(40).map(bar).collect();
    }
    let all = [
        ("allowed", report.counts.allowed),
        ("forbidden", report.counts.forbidden),
        ("undecided", report.counts.undecided),
    ];
    all.iter()
        .filter(|(_, n)| *n > 0)
        .map(|&(label, n)| Bar { label: label.into(), count: n, tone: tone(label) })
        .collect()
}

/// The name of violations of one shape.
fn group_name(found: &Found) -> (String, String) {
    match &found.shape {
        Some(shape) if !shape.name.is_empty() => (cut(&shape.name), cut(&shape.edges)),
        Some(shape) => {
            (format!("a cycle without a common name, {} edges", shape.edges.split(' ').count()), String::new())
        }
        None => ("no cycle of the four relations".into(), "locks, times, or a value that nobody wrote".into()),
    }
}

fn groups(report: &CampaignReport, cases: &BTreeMap<usize, usize>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (i, found) in report.counts.violations.iter().enumerate() {
        let (name, about) = group_name(found);
        let place = *places.entry(name.clone()).or_insert_with(|| {
            groups.push(Group { name, about, ..Group::default() });
            groups.len() - 1
        });
        let group = &mut groups[place];
        group.count += 1;
        if group.violations.len() < LISTED {
            group.violations.push(Link {
                name: violation_name(found),
                about: cut(&found.what),
                case: cases.get(&i).copied(),
            });
        } else {
            group.omitted += 1;
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    groups.truncate(SHAPES);
    groups
}

/// `test 3, seed 4, profile hot`
pub fn violation_name(found: &Found) -> String {
    format!("test {}, seed {}, profile {}", found.test.saturating_add(1), found.seed, cut(&found.profile))
}

fn coverage(report: &CampaignReport) -> Option<Cover> {
    let coverage = &report.counts.coverage;
    let seen = |kind: OpName| {
        coverage
            .pairs
            .iter()
            .any(|pair| (pair.first == kind || pair.second == kind) && (pair.same > 0 || pair.other > 0))
    };
    let barrier = |kind: OpName| kind == OpName::Barrier;
    let mut pairs = Vec::new();
    for pair in coverage.pairs.iter().filter(|pair| seen(pair.first) && seen(pair.second)) {
        let lock = |kind: OpName| matches!(kind, OpName::Acquire | OpName::Release);
        // A barrier has no address, a lock is no address that loads and stores have, and nobody acquires a lock that they hold.
        let locks = lock(pair.first) || lock(pair.second);
        let both = lock(pair.first) && lock(pair.second) && pair.first != pair.second;
        let same = !barrier(pair.first) && !barrier(pair.second) && (!locks || both);
        pairs.push(CoverPair {
            first: pair.first,
            second: pair.second,
            same: same.then_some(pair.same),
            other: pair.other,
        });
    }
    if pairs.is_empty() {
        return None;
    }
    let cells = || pairs.iter().flat_map(|pair| pair.same.into_iter().chain([pair.other]));
    let (tried, all) = (cells().filter(|&n| n > 0).count(), cells().count());
    let reads = &coverage.reads;
    let bar = |label: &str, n| Bar { label: label.into(), count: n, tone: "plain" };
    Some(Cover {
        words: format!("{tried} of {all} pairs were tried"),
        about: "It counts what the programs had and what their reads returned: for each pair of kinds of operations, how often one stood \
                right before the other in a thread. It does not say which orders the machine could have made of them."
            .into(),
        pairs,
        sources: vec![
            bar("another thread", reads.other),
            bar("an own store, in the buffer or in memory", reads.own),
            bar("the initial value", reads.initial),
        ],
    })
}

fn speed(report: &CampaignReport) -> Option<Series> {
    let speed = &report.counts.speed;
    let fine = speed.width > 0.0 && speed.width.is_finite() && report.counts.seconds.is_finite();
    if !fine || speed.operations.is_empty() || speed.operations.len() > 4 * crate::campaign::Speed::BUCKETS {
        return None;
    }
    let end = report.counts.seconds.max(speed.width * (speed.operations.len() - 1) as f64 + 1e-3);
    let mut operations = speed.operations.clone();
    // A period that has just begun says little by itself: it counts with the one before.
    let begun = end - speed.width * (operations.len() - 1) as f64;
    if operations.len() > 1 && begun < speed.width / 2.0 {
        let last = operations.pop().unwrap_or_default();
        if let Some(before) = operations.last_mut() {
            *before = before.saturating_add(last);
        }
    }
    let count = operations.len();
    let rate = |(i, &n): (usize, &u64)| {
        let width = if i + 1 == count { end - speed.width * i as f64 } else { speed.width };
        (n as f64 / width.max(1e-3)).round()
    };
    Some(Series { width: speed.width, seconds: end, rates: speed.operations.iter().enumerate().map(rate).collect() })
}

fn commands(report: &CampaignReport, command: Option<&str>) -> Vec<Command> {
    let campaign = command.map(|line| Command { about: "This campaign".into(), line: line.to_owned() });
    let mut commands: Vec<Command> = campaign.into_iter().collect();
    if let Some(found) = report.counts.violations.first() {
        commands.push(Command { about: "The first violation alone".into(), line: found.command.clone() });
    }
    commands
}

fn notes(report: &CampaignReport, cases: &BTreeMap<usize, usize>) -> Vec<String> {
    let mut notes = vec!["All counts include those of earlier runs with the same `--resume` file.".to_owned()];
    if cases.len() < report.counts.violations.len() {
        notes.push(format!(
            "{} of {} are shown in full; the others are kept in their directories.",
            cases.len(),
            count(report.counts.violations.len(), "violation")
        ));
    }
    notes
}
