//! From a schedule that was run to the case of a page.

use super::super::page::{Case, Command, Fact, Fix, Fixes, Row};
use super::{Read, printed, told};
use crate::kinds::{ShownVerdict, StepKind};
use crate::style::count;
use crate::verify::{ReplayReport, StepRef};
use membar_core::{AccessKind, ProgramModel};

/// Overtakings that are listed.
const LISTED: usize = 100;
/// Addresses whose last value is shown.
const ADDRESSES: usize = 200;

/// The case of a schedule, with its row.
pub fn replayed(report: &ReplayReport, command: &str, read: Read<'_>) -> (Row, Case) {
    let steps = count(report.steps.len(), "step");
    let overtaking: Vec<(usize, usize)> = report
        .steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| Some((at, (step.overtakes? as usize).checked_sub(1)?)))
        .filter(|&(at, store)| store < at)
        .collect();
    let unsafe_run = !overtaking.is_empty() || report.sequential == Some(false);
    let verdict = if unsafe_run { ShownVerdict::Unsafe } else { ShownVerdict::Ran };
    let model = report.model.map_or("sc", ProgramModel::name);
    let name = report.program.rsplit('/').next().unwrap_or(&report.program);
    let mut case = Case {
        name: report.program.clone(),
        model: model.into(),
        verdict,
        headline: vec![
            format!("Schedule {} of {name}, {steps}.", report.schedule),
            match report.sequential {
                None => "It was run as an interleaving: every access acts on memory before the next one.".into(),
                Some(true) => format!("It is an execution under {model}, and sequentially consistent."),
                Some(false) => format!("It is an execution under {model}, and not sequentially consistent."),
            },
        ],
        facts: vec![Fact { name: "Schedule", value: report.schedule.clone() }],
        commands: vec![Command { about: "This answer".into(), line: command.to_owned() }],
        ..Case::default()
    };
    match (report.model, overtaking.len()) {
        _ if report.sequential.is_some() => {}
        (None, _) => case.headline.push("Overtaking was not checked: add `--model tso`.".into()),
        (Some(model), 0) => case.headline.push(format!("Under {model} no access of it could overtake a store.")),
        (Some(ProgramModel::C11), n) => case.headline.push(format!(
            "Under c11, {} need not come after a store that came before. The execution is then no longer an interleaving.",
            count(n, "access")
        )),
        (Some(model), n) => case.headline.push(format!(
            "Under {model}, {} could overtake a store that waits in a buffer. The execution is then no longer an interleaving.",
            count(n, "access")
        )),
    }
    case.copies.extend(printed(report.output.as_ref()));
    case.facts.extend(report.threads.iter().take(64).map(|thread| Fact { name: "Thread", value: thread.clone() }));
    if !report.memory.is_empty() {
        let value = |(name, value): &(String, String)| format!("{name} = {value}");
        let mut memory: Vec<String> = report.memory.iter().take(ADDRESSES).map(value).collect();
        if report.memory.len() > ADDRESSES {
            memory.push(format!("and {} more", report.memory.len() - ADDRESSES));
        }
        case.facts.push(Fact { name: "Memory at the end", value: memory.join(", ") });
    }
    let mut run: Vec<StepRef> = report.run.clone();
    case.notes.extend(report.left_out());
    let interleaved = if report.sequential.is_none() { &report.steps[..] } else { &[] };
    for (event, step) in interleaved.iter().enumerate().filter(|(_, step)| step.is_shown()) {
        let (access, delayed, overtakes, misses) = (step.access.clone(), false, false, None);
        let issue = StepRef { step: StepKind::Issue, access, delayed, overtakes, misses, event };
        let commit =
            (step.access.kind == AccessKind::Store).then(|| StepRef { step: StepKind::Commit, ..issue.clone() });
        run.push(issue);
        run.extend(commit);
    }
    let machine = if report.sequential.is_some() { model } else { "sc" };
    let index = told(&mut case, (&run, &report.initial), (machine, "This is the schedule, step by step."), read);
    let node = |step: usize| index.get(&step).copied();
    for &(at, _) in &overtaking {
        if let Some(node) = node(at) {
            case.graph.nodes[node].wrong = Some("could overtake");
        }
    }
    for step in report.run.iter().filter(|step| step.misses.is_some()) {
        if let Some(node) = node(step.event) {
            case.graph.nodes[node].wrong = Some("misses a write");
        }
    }
    case.fixes = Fixes {
        title: "Stores that could be overtaken".into(),
        about: format!("Under {model} the store may still be in its thread's buffer when the other access is made."),
        list: overtaking
            .iter()
            .take(LISTED)
            .map(|&(at, store)| {
                let (access, delayed) = (&report.steps[at].access, &report.steps[store].access);
                Fix {
                    words: format!(
                        "Step {}, {}, could overtake the store of step {}, {}.",
                        at + 1,
                        access.place(),
                        store + 1,
                        delayed.place()
                    ),
                    code: None,
                    nodes: [store, at].into_iter().filter_map(node).collect(),
                }
            })
            .collect(),
        ..Fixes::default()
    };
    if overtaking.len() > LISTED {
        case.notes.push(format!("{} more accesses that could overtake are not listed.", overtaking.len() - LISTED));
    }
    let about = if overtaking.is_empty() { steps } else { format!("{steps}, {} could overtake", overtaking.len()) };
    let (name, subject) = (report.program.clone(), report.program.clone());
    let row = Row { name, subject, words: None, model: model.into(), verdict, about, case: None };
    (row, case)
}
