//! From litmus tests to the cases of a page: their final states by model, or what a machine did with them.

use super::page::{Case, Command, Copy, Fact, ModelVerdict, Models, Row, StateRow, States, Stopped};
use super::verify::{Read, told};
use crate::kinds::{Claim, ShownVerdict};
use crate::litmus::{Histogram, LitmusResult, shown};
use crate::style::{count, list};
use crate::verify::StepRef;
use membar_core::{Frequency, VerdictKind};
use std::collections::BTreeMap;

/// States that are listed.
const STATES: usize = 500;
/// Bytes of a test that can be copied.
const COPIED: usize = 64 << 10;
/// Values longer than this are cut.
const LONG: usize = 80;

/// A way to a final state on the machine of a model.
#[derive(Clone, Debug)]
pub struct Way {
    /// `sc`, `tso` or `pso`.
    pub model: String,
    /// The final state, in words.
    pub state: String,
    /// The steps.
    pub steps: Vec<StepRef>,
}

/// The case of one test under the models that were asked for; the table has the others too.
pub fn litmus(
    (results, others): (&[LitmusResult], &[LitmusResult]),
    command: &str,
    way: Option<&Way>,
    read: Read<'_>,
) -> Option<(Row, Case)> {
    let first = results.first()?;
    let models: Vec<String> = results.iter().map(|result| result.model.clone()).collect();
    let verdict = match first.condition {
        _ if results.iter().any(|result| result.condition != Claim::Allowed && !result.ok) => ShownVerdict::Fails,
        _ if results.iter().any(|result| !result.complete) => ShownVerdict::Undecided,
        Claim::Allowed if results.iter().any(|result| result.ok) => ShownVerdict::Possible,
        Claim::Allowed => ShownVerdict::Impossible,
        _ => ShownVerdict::Holds,
    };
    let each: Vec<String> = results.iter().map(|result| format!("{}: {}", result.model, result.observation)).collect();
    let mut case = Case {
        name: format!("{} ({})", first.test, first.file),
        model: models.join(", "),
        verdict,
        headline: vec![format!("{}: {}", first.test, first.proposition), asked(first, results)],
        facts: results.iter().map(fact).collect(),
        states: Some(table(results.iter().chain(others).collect())),
        commands: vec![Command { about: "This answer".into(), line: command.to_owned() }],
        ..Case::default()
    };
    if let Some(open) = results.iter().find(|result| !result.complete) {
        case.stop = Some(Stopped {
            why: format!("Under {} a limit was met: there may be more states.", open.model),
            done: open.states.len() as u64,
            of: 0,
            words: format!("{} were found.", count(open.states.len(), "state")),
            next: vec!["Give it more: `--time none`, `--memory none`.".into()],
            follows: None,
        });
    }
    case.models = says(&results.iter().chain(others).collect::<Vec<_>>());
    if let Some(text) = read(&first.file).filter(|text| text.len() <= COPIED) {
        let about = "as it was read, for `membar verify`, `membar stress` and herd".into();
        case.copies.push(Copy { name: "Litmus test", about, text });
    }
    match way {
        Some(way) => {
            let what = format!("Under {} these steps, the fewest there are, end in {}.", way.model, way.state);
            told(&mut case, (&way.steps, &[]), (&way.model, &what), read);
        }
        None if first.condition == Claim::Allowed && results.iter().all(|result| result.positive == 0) => {
            case.no_machine = Some("There is no run to step through: this outcome cannot happen.".into());
        }
        None => {
            case.no_machine =
                Some("There is no run to step through here: none was looked for, or none was found in time.".into());
        }
    }
    let row = Row {
        name: first.file.clone(),
        subject: first.file.clone(),
        words: Some(verdicts(results)),
        model: models.join(", "),
        verdict,
        about: format!("{} {}", first.test, each.join(", ")),
        case: None,
    };
    Some((row, case))
}

/// `possible under tso and pso, impossible under sc`
fn verdicts(results: &[LitmusResult]) -> String {
    let mut all: Vec<(&str, Vec<String>)> = Vec::new();
    for result in results {
        let verdict = match (result.condition, result.ok, result.complete) {
            (Claim::Allowed, true, _) => "possible",
            (Claim::Allowed, _, true) => "impossible",
            (Claim::Forbidden | Claim::Required, false, _) => "fails",
            (_, true, true) => "holds",
            _ => "undecided",
        };
        match all.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, models)) => models.push(result.model.clone()),
            None => all.push((verdict, vec![result.model.clone()])),
        }
    }
    all.sort_by_key(|(verdict, _)| !matches!(*verdict, "possible" | "fails"));
    let part = |(verdict, models): &(&str, Vec<String>)| format!("{verdict} under {}", list(models, "and"));
    all.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The models' verdicts on this outcome, where the test is about an outcome.
fn says(results: &[&LitmusResult]) -> Option<Models> {
    if results.first()?.condition == Claim::Required {
        return None;
    }
    let verdict = |result: &LitmusResult| match (result.positive, result.complete) {
        (0, true) => VerdictKind::Forbidden,
        (0, false) => VerdictKind::Undecided,
        _ => VerdictKind::Allowed,
    };
    let mut all: Vec<ModelVerdict> = Vec::new();
    for name in ["sc", "tso", "pso", "c11", "ztso", "rvwmo", "armv8"] {
        if let Some(result) = results.iter().find(|result| result.model == name) {
            all.push(ModelVerdict { name: name.into(), title: String::new(), verdict: verdict(result) });
        }
    }
    let names = |wanted: VerdictKind| -> Vec<String> {
        all.iter().filter(|model| model.verdict == wanted).map(|model| model.name.clone()).collect()
    };
    let (allow, forbid) = (names(VerdictKind::Allowed), names(VerdictKind::Forbidden));
    let words = match allow.first() {
        Some(first) => format!("{first} is the strongest of these models that allows this outcome."),
        None if forbid.is_empty() => "It is not known which model allows this outcome.".into(),
        None => "None of these models allows this outcome.".into(),
    };
    let ends = |name: Option<&String>| name.cloned().into_iter().collect();
    Some(Models { strongest: ends(allow.first()), weakest: ends(allow.last()), forbid, words, all })
}

/// The question or claim of the test, and the answer.
fn asked(first: &LitmusResult, results: &[LitmusResult]) -> String {
    let names = |ok: bool| -> Vec<String> {
        results.iter().filter(|result| result.ok == ok).map(|result| result.model.clone()).collect()
    };
    let (yes, no) = (names(true), names(false));
    let say = |models: &[String], one: &str, many: &str| match models.len() {
        0 => String::new(),
        1 => format!("{} {one}", models[0]),
        _ => format!("{} {many}", list(models, "and")),
    };
    let both = |a: String, b: String| {
        let parts: Vec<String> = [a, b].into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}.", parts.join("; "))
    };
    match first.condition {
        Claim::Allowed => {
            format!(
                "Can this outcome happen? {}",
                both(say(&yes, "allows it", "allow it"), say(&no, "does not", "do not"))
            )
        }
        Claim::Forbidden => format!(
            "The test says that this outcome never happens: {}",
            both(say(&yes, "agrees", "agree"), say(&no, "allows it", "allow it"))
        ),
        Claim::Required => format!(
            "The test says that this outcome always happens: {}",
            both(say(&yes, "agrees", "agree"), say(&no, "has others", "have others"))
        ),
    }
}

fn fact(result: &LitmusResult) -> Fact {
    let what = result.counted;
    Fact {
        name: "Under a model",
        value: format!(
            "{}: {}, {}; {} of {} {what} satisfy the proposition{}",
            result.model,
            result.observation,
            count(result.states.len(), "state"),
            result.positive,
            result.positive.saturating_add(result.negative),
            if result.complete { "" } else { " (not complete)" }
        ),
    }
}

/// All states of all models.
fn table(mut results: Vec<&LitmusResult>) -> States {
    // Stronger models first.
    results.sort_by_key(|result| {
        ["sc", "tso", "pso", "c11", "ztso", "rvwmo", "armv8"].iter().position(|name| *name == result.model)
    });
    let mut locations: Vec<String> = Vec::new();
    for state in results.iter().flat_map(|result| &result.states) {
        for name in state.keys() {
            if !locations.contains(name) && locations.len() < 64 {
                locations.push(name.clone());
            }
        }
    }
    let mut rows: BTreeMap<Vec<String>, (Option<bool>, Vec<bool>)> = BTreeMap::new();
    for (m, result) in results.iter().enumerate() {
        for (i, state) in result.states.iter().enumerate() {
            let values =
                locations.iter().map(|name| state.get(name).map_or_else(String::new, |value| cut(&shown(value))));
            let row = rows.entry(values.collect()).or_insert_with(|| (None, vec![false; results.len()]));
            row.0 = row.0.or(result.holds.get(i).copied());
            row.1[m] = true;
        }
    }
    let omitted = rows.len().saturating_sub(STATES);
    let row = |(values, (holds, models)): (Vec<String>, (Option<bool>, Vec<bool>))| StateRow {
        values,
        holds,
        count: None,
        models: models.iter().zip(&results).map(|(&here, result)| (here || result.complete).then_some(here)).collect(),
    };
    States {
        title: "Final states".into(),
        about: "Each row is a way in which the test can end, each column a model.".into(),
        locations,
        models: results.iter().map(|result| result.model.clone()).collect(),
        rows: rows.into_iter().take(STATES).map(row).collect(),
        omitted,
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() > LONG { text.chars().take(LONG).collect::<String>() + "…" } else { text.to_owned() }
}

/// The case of what a machine did with a test.
pub fn histogram(result: &Histogram, command: &str) -> (Row, Case) {
    let model = &result.model;
    let verdict = match () {
        () if !result.compared => VerdictKind::Undecided,
        () if result.forbidden > 0 => VerdictKind::Forbidden,
        () => VerdictKind::Allowed,
    };
    let share = |n: u64| if result.outcomes > 0 { 100.0 * n as f64 / result.outcomes as f64 } else { 0.0 };
    let outcomes = count(result.outcomes as usize, "outcome");
    let mut headline = vec![format!("{}: {}", result.test, result.proposition)];
    headline.push(match verdict {
        VerdictKind::Forbidden => format!(
            "The machine did what {model} forbids: {} of {outcomes}, in the rows that are marked.",
            result.forbidden
        ),
        VerdictKind::Allowed => format!("{model} allows every state that was seen in {outcomes}."),
        VerdictKind::Undecided => {
            format!("Not all states under {model} were found, so it is not known which of these it forbids.")
        }
    });
    headline.push(match result.observation {
        Frequency::Never => "The proposition never held.".into(),
        Frequency::Always => "The proposition always held.".into(),
        Frequency::Sometimes => format!(
            "The proposition held {} times, in {:.3}% of all outcomes.",
            result.positive,
            share(result.positive)
        ),
    });
    let rate = if result.seconds > 0.0 { result.outcomes as f64 / result.seconds } else { 0.0 };
    let mut facts = vec![
        Fact { name: "Outcomes", value: format!("{} in {:.1} s", result.outcomes, result.seconds) },
        Fact { name: "Speed", value: format!("{rate:.0} outcomes per second") },
    ];
    if let Some(machine) = &result.machine {
        facts.push(Fact { name: "Machine", value: machine.clone() });
    }
    if let Some(allowed) = result.allowed_states {
        let seen = result.states.iter().filter(|state| state.allowed == Some(true)).count();
        facts.push(Fact {
            name: "Coverage",
            value: format!("{seen} of the {} that {model} allows were seen", count(allowed as usize, "state")),
        });
    }
    let row = |values: &[serde_json::Value], holds, number, allowed| StateRow {
        values: values.iter().map(|value| cut(&shown(value))).collect(),
        holds,
        count: Some(number),
        models: vec![allowed],
    };
    let mut rows: Vec<StateRow> =
        result.states.iter().map(|s| row(&s.values, Some(s.holds), s.count, s.allowed)).collect();
    rows.extend(result.unseen.iter().map(|values| row(values, None, 0, Some(true))));
    let omitted = rows.len().saturating_sub(STATES);
    rows.truncate(STATES);
    let case = Case {
        name: format!("{} ({})", result.test, result.file),
        model: model.clone(),
        verdict: verdict.into(),
        headline,
        facts,
        states: Some(States {
            title: "Outcomes".into(),
            about: "Each row is a way in which the test ended, or could have ended; the bar says how often.".into(),
            locations: result.locations.clone(),
            models: vec![model.clone()],
            rows,
            omitted,
        }),
        commands: vec![
            Command { about: "This answer".into(), line: command.to_owned() },
            Command {
                about: "How a machine gets to such a state, step by step".into(),
                line: format!("membar litmus {} --html litmus.html", crate::style::quoted_path(&result.file)),
            },
        ],
        ..Case::default()
    };
    let row = Row {
        name: result.file.clone(),
        subject: result.file.clone(),
        words: None,
        model: model.clone(),
        verdict: verdict.into(),
        about: format!("{}: {outcomes}, {}", result.test, result.observation.name().to_lowercase()),
        case: None,
    };
    (row, case)
}
