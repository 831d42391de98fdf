//! From what a monitor found on an interleaving to the cases of a page.
//!
//! A violation comes with a cycle. Its operations alone are an execution too: the interleaving without the rest, in which the
//! store waits until the access has gone past it. [`Execution`] writes that down as a trace; the caller decides
//! it, so that what the page shows is not taken on trust: the model must allow it, and sc must not.

mod execution;

use super::copies;
use super::machine::{Drawn, of_witness};
use super::page::{
    ArgumentStep, Arrow, Case, Command, Copy, Fact, Fix, Fixes, Graph, INITIAL, ImpossibleRead, Lemma, ModelVerdict,
    Models, Node, Row, Stopped, Value,
};
use crate::kinds::{MonitorName, MonitorStop, OpName, ShownVerdict, Strength};
use crate::monitor::{CycleEdge as Edge, Monitored, Operation, Overtaking};
use crate::shape;
use crate::style::{capital, count, list};
use execution::{Execution, kind_of, parts};
use membar_core::{Model, OpId, ProgramVerdict, Relation, Trace, VerdictKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Violations that are shown in full.
const FULL: usize = 40;

/// The results of deciding an execution.
#[derive(Clone, Debug)]
pub struct Confirmed {
    /// The verdicts of the built-in models.
    pub models: Vec<ModelVerdict>,
    /// The model of the monitor, and a memory order if it allows the execution.
    pub model: Model,
    /// See `model`.
    pub order: Option<Vec<OpId>>,
}

/// Decides an execution under the model of this name.
pub type Confirm<'a> = &'a mut dyn FnMut(&Trace, &str) -> Option<Confirmed>;

/// The cases of what one monitor found, each with its row.
pub fn monitored(report: &Monitored, command: &str, confirm: Confirm<'_>) -> Vec<(Row, Option<Case>)> {
    let place = match report.trace {
        0 => report.file.clone(),
        index => format!("{}, trace {}", report.file, index.saturating_add(1)),
    };
    let row = |name: String, verdict, about: String| {
        let subject = report.file.clone();
        Row { name, subject, words: None, model: report.monitor.name().into(), verdict, about, case: None }
    };
    let mut all = Vec::new();
    for (i, found) in report.violations.iter().enumerate() {
        let name = match report.violations.len() {
            1 => place.clone(),
            n => format!("{place}, violation {} of {n}", i + 1),
        };
        let about = format!("{} past {}", found.store.long(), found.access.long());
        let case = (i < FULL).then(|| violated(report, found, &name, command, confirm));
        all.push((row(name, ShownVerdict::Unsafe, about), case));
    }
    if all.is_empty() {
        let mut case = base(report, place.clone(), command);
        case.headline = match report.verdict {
            ProgramVerdict::Safe => vec![
                format!("No violation of {} on this interleaving.", model_of(report.monitor)),
                "Every access could be made only when the stores before it were in memory, or nobody could tell. Other \
                 interleavings of the same program may differ."
                    .into(),
            ],
            _ => vec![
                "It is not known whether this interleaving is safe.".into(),
                "No violation up to here, but it was not monitored to its end.".into(),
            ],
        };
        if report.verdict != ProgramVerdict::Safe {
            case.stop = Some(stopped(report));
        }
        all.push((row(place, report.verdict.into(), count(report.events as usize, "event")), Some(case)));
    }
    all
}

/// The model that a monitor is about.
fn model_of(monitor: MonitorName) -> &'static str {
    if monitor == MonitorName::Pso { "pso" } else { "tso" }
}

fn base(report: &Monitored, name: String, command: &str) -> Case {
    let mut size = vec![count(report.events as usize, "event"), count(report.threads, "thread")];
    size.push(count(report.addresses, "address"));
    if report.locks > 0 {
        size.push(count(report.locks, "lock"));
    }
    let mut facts = vec![
        Fact { name: "Monitor", value: report.monitor.name().into() },
        Fact { name: "Monitored", value: size.join(", ") },
    ];
    if let (Some(why), true) = (report.stopped, report.verdict == ProgramVerdict::Unsafe) {
        facts.push(Fact { name: "Stopped", value: stopped_words(why).into() });
    }
    Case {
        name,
        model: model_of(report.monitor).into(),
        verdict: report.verdict.into(),
        facts,
        commands: vec![Command { about: "This answer".into(), line: command.to_owned() }],
        ..Case::default()
    }
}

fn stopped_words(why: MonitorStop) -> &'static str {
    match why {
        MonitorStop::Time => "The time limit passed.",
        MonitorStop::Memory => "There are too many threads and addresses for the memory limit.",
        MonitorStop::Interrupted => "It was interrupted.",
        MonitorStop::First => "At the first violation, as requested.",
        MonitorStop::Input => "The input could not be read any further.",
        MonitorStop::Writes => "A thread has written more often than can be counted.",
    }
}

fn stopped(report: &Monitored) -> Stopped {
    let why = report.stopped.unwrap_or(MonitorStop::Interrupted);
    let next = match why {
        MonitorStop::Time => "Give it more time: `--time none` has no limit.",
        MonitorStop::Memory => "Give it more memory: `--memory none` has no limit.",
        MonitorStop::Writes => "Split the recording with `check` lines.",
        MonitorStop::Input => "Fix the input; the message on standard error says where.",
        MonitorStop::First | MonitorStop::Interrupted => "Run it again without an interrupt.",
    };
    Stopped {
        why: stopped_words(why).into(),
        done: report.events,
        of: 0,
        words: format!("{} were monitored without a violation.", count(report.events as usize, "event")),
        next: vec![next.into()],
        follows: None,
    }
}

fn violated(report: &Monitored, found: &Overtaking, name: &str, command: &str, confirm: Confirm<'_>) -> Case {
    let model = model_of(report.monitor);
    let mut case = base(report, name.to_owned(), command);
    case.verdict = ShownVerdict::Unsafe;
    let goes = match kind_of(&found.access.text) {
        OpName::Load => "reads memory without it",
        OpName::Store => "reaches memory before it",
        _ => "goes to memory before it",
    };
    case.headline = vec![
        format!("This interleaving is not safe under {model}."),
        capital(&format!("{} can wait in its store buffer while {} {goes}.", found.store.long(), found.access.long())),
    ];
    case.facts.push(Fact {
        name: "Seen",
        value: if found.count == 1 { "once".into() } else { format!("{} times", found.count) },
    });
    let execution = Execution::new(found);
    let lines = &execution.ops;
    let index: BTreeMap<(u64, u32), usize> =
        lines.iter().enumerate().map(|(node, op)| ((op.line, op.thread), node)).collect();
    let at = |op: &Operation| index.get(&(op.line, op.thread)).copied();
    case.graph = graph(lines, found, &at);
    if lines.len() < execution.total {
        case.notes.push(format!("Of {} operations of the cycle the first {} are drawn.", execution.total, lines.len()));
    }
    if found.cycle.is_empty() {
        let why = found.no_cycle.clone().unwrap_or_else(|| "there is none in the document".into());
        case.notes.push(format!("The cycle is not drawn. {why}."));
        case.no_machine = Some("There is no run to step through: the cycle is not known.".into());
        return case;
    }
    case.shape = shape_of(found);
    case.lemmas = vec![lemma(found, &at)];
    case.fixes = fixes(found, &at);
    confirmed(&mut case, model, &execution, confirm);
    case
}

/// The execution under the model, decided and stepped through.
fn confirmed(case: &mut Case, model: &str, execution: &Execution, confirm: Confirm<'_>) {
    let parsed = || membar_trace::parse("cycle", execution.text.as_ref()?.as_bytes()).ok()?.pop();
    let Some(trace) = parsed().filter(|trace| trace.len() >= execution.ops.len()) else {
        case.no_machine =
            Some("There is no run to step through: the cycle has threads that begin or end, or is too large.".into());
        return;
    };
    let Some(found) = confirm(&trace, model) else {
        case.no_machine = Some("There is no run to step through: none was found in time.".into());
        return;
    };
    let says =
        |name: &str| found.models.iter().find(|other| other.name == name).map_or(VerdictKind::Undecided, |m| m.verdict);
    let holds = found.order.is_some() && says("sc") == VerdictKind::Forbidden;
    if !holds {
        // The monitor's word stands; but the page says that this did not confirm it.
        case.notes.push(format!(
            "The operations of the cycle alone were decided again: sc says {}, {model} says {}. That does not confirm what the \
             monitor found; the rest of the interleaving may matter.",
            says("sc"),
            says(model)
        ));
        case.no_machine = Some("There is no run to step through.".into());
        return;
    }
    case.facts.push(Fact {
        name: "Certificate",
        value: format!(
            "the cycle's operations were decided again: {model} allows them, sc forbids them; both re-checked"
        ),
    });
    case.models = Some(Models {
        strongest: vec![model.into()],
        weakest: Vec::new(),
        forbid: found.models.iter().filter(|m| m.verdict == VerdictKind::Forbidden).map(|m| m.name.clone()).collect(),
        words: format!("sc forbids what {model} can do here: the access goes past the store."),
        all: found.models.clone(),
    });
    let places: BTreeMap<OpId, usize> =
        execution.ops_of(&trace).into_iter().enumerate().map(|(node, op)| (op, node)).collect();
    let drawn = Drawn { trace: &trace, index: &places };
    match found.order.as_deref().map(|order| of_witness(&drawn, &found.model, order)) {
        Some(Ok(mut machine)) => {
            machine.about = format!(
                "{} These steps are possible under {model}, but no interleaving explains what they read.",
                machine.about.split(" The steps explain").next().unwrap_or_default()
            );
            for (&op, &node) in &places {
                let node = &mut case.graph.nodes[node];
                let kind = trace.kind(op);
                let (read, write) = (kind.reads().then(|| trace.read(op).to_string()), trace.write(op).to_string());
                let write = kind.writes().then_some(write);
                if (&read, &write) != (&node.read, &node.write) {
                    let mut text = String::new();
                    let _ = membar_trace::write_op(&trace, op, &mut text);
                    let did = text.split_once(": ").map_or("", |(_, did)| did);
                    let before = if node.effect.is_empty() { "" } else { "; " };
                    let _ = write!(node.effect, "{before}in the interleaving: {}", node.text);
                    node.text = did.to_owned();
                }
                (node.read, node.write) = (read, write);
            }
            case.machine = Some(machine);
            case.read = overtaken(&trace, &places, execution, case);
        }
        Some(Err(why)) => case.no_machine = Some(why),
        None => {}
    }
    case.copies.push(Copy {
        name: "Execution as a trace",
        about: format!("the cycle alone, for `membar check`: {model} allows it, sc does not"),
        text: execution.text.clone().unwrap_or_default(),
    });
    for (name, about, test) in [
        ("Litmus test", "for `membar litmus`, `membar verify` and herd", copies::litmus(&trace)),
        ("C test", "looks for the cycle on this machine: gcc -O2 -pthread test.c && ./a.out", copies::c_test(&trace)),
    ] {
        match test {
            Ok(text) => case.copies.push(Copy { name, about: about.into(), text }),
            Err(why) => case.notes.push(format!("There is no {name} to copy: {why}.")),
        }
    }
}

/// The read that only the model allows: the value it returns in the run, and the one in an interleaving.
fn overtaken(
    trace: &Trace,
    places: &BTreeMap<OpId, usize>,
    execution: &Execution<'_>,
    case: &Case,
) -> Option<ImpossibleRead> {
    let node = case.graph.nodes.iter().position(|node| node.wrong.is_some() && node.kind == OpName::Load)?;
    let op = places.iter().find(|(_, place)| **place == node).map(|(&op, _)| op)?;
    let source = trace.source(op).as_op().and_then(|source| places.get(&source).copied());
    let store = execution.store.and_then(|store| Some((store, case.graph.nodes.get(store)?.write.clone()?)));
    let (store, written) = store?;
    let name = |node: usize| {
        format!(
            "line {}, {}",
            case.graph.nodes[node].number, case.graph.threads[case.graph.nodes[node].thread as usize]
        )
    };
    let returned = trace.read(op).to_string();
    let values = vec![
        Value {
            value: returned.clone(),
            from: source.map_or_else(|| "the initial value".into(), name),
            node: source,
            what: "returned",
        },
        Value { value: written, from: name(store), node: Some(store), what: "possible" },
    ];
    Some(ImpossibleRead {
        node,
        words: format!("In the run, {} reads {returned} from {}.", name(node), case.graph.nodes[node].address),
        because: "that store happens before what precedes this read in its own thread, so in an interleaving the read comes later \
                  and sees it."
            .into(),
        values,
        complete: true,
        omitted: 0,
    })
}

fn graph(ops: &[&Operation], found: &Overtaking, at: &dyn Fn(&Operation) -> Option<usize>) -> Graph {
    let threads: BTreeSet<u32> = ops.iter().map(|op| op.thread).collect();
    let place = |thread: u32| threads.iter().position(|&known| known == thread).unwrap_or(0);
    let mut columns: Vec<Vec<i64>> = vec![Vec::new(); threads.len()];
    for (node, op) in ops.iter().enumerate() {
        columns[place(op.thread)].push(node as i64);
    }
    let mut nodes: Vec<Node> = ops
        .iter()
        .map(|op| {
            let (address, read, write) = parts(&op.text);
            Node {
                thread: place(op.thread) as u32,
                number: op.line.to_string(),
                text: op.text.clone(),
                effect: op.label.clone().unwrap_or_default(),
                kind: kind_of(&op.text),
                address,
                read,
                write,
                time: None,
                place: None,
                wrong: None,
            }
        })
        .collect();
    if let Some(node) = at(&found.access) {
        nodes[node].wrong = Some("overtakes");
    }
    let mut arrows: Vec<Arrow> = Vec::new();
    for edge in &found.cycle {
        if let (Some(from), Some(to)) = (at(&edge.from), at(&edge.to)) {
            arrows.push(Arrow { from: from as i64, to: to as i64, kind: arrow(edge), cycle: true });
        }
    }
    Graph {
        threads: threads.iter().map(|thread| format!("thread {thread}")).collect(),
        total: nodes.len(),
        nodes,
        reduced: columns,
        arrows,
        ..Graph::default()
    }
}

/// How an edge is drawn. That a thread begins or ends is an order that every model keeps.
fn arrow(edge: &Edge) -> Relation {
    match edge.by {
        Relation::Po if edge.fence.is_some() => Relation::Po,
        Relation::Rf | Relation::Co | Relation::Fr => edge.by,
        _ => Relation::Ppo,
    }
}

fn shape_of(found: &Overtaking) -> Option<super::page::Shape> {
    if found.cycle.iter().any(|edge| matches!(edge.by, Relation::Start | Relation::Join)) {
        return None;
    }
    let address = |op: &Operation| parts(&op.text).0;
    let edges: Vec<shape::Edge> = found
        .cycle
        .iter()
        .map(|edge| shape::Edge {
            kind: edge.by,
            from: Some(edge.from.thread),
            to: Some(edge.to.thread),
            one_address: address(&edge.from) == address(&edge.to),
        })
        .collect();
    shape::shape(&edges)
}

fn lemma(found: &Overtaking, at: &dyn Fn(&Operation) -> Option<usize>) -> Lemma {
    let last = found.cycle.len().saturating_sub(1);
    let step = |(i, edge): (usize, &Edge)| {
        let says = match (edge.by, edge.fence) {
            (Relation::Po, Some(_)) => {
                "Program order. Sequential consistency keeps it; the model does not: the store may wait in a buffer while its \
                 thread goes on."
            }
            (Relation::Po, None) => {
                "Program order, which the model keeps here. Sequential consistency keeps all of it."
            }
            (Relation::Rf, _) => "A read comes after the write whose value it returned.",
            (Relation::Co, _) => "Writes to one address reach memory one after the other.",
            (Relation::Fr, _) => "A read comes before the next write of its address: it did not see it.",
            (Relation::Start, _) => "A thread begins after the operation that starts it.",
            _ => "A thread that waits for another continues after its last operation.",
        };
        let node = |op: &Operation| at(op).map_or(INITIAL, |node| node as i64);
        ArgumentStep {
            number: Some(i as u32 + 1),
            from: node(&edge.from),
            to: node(&edge.to),
            from_text: edge.from.long(),
            to_text: edge.to.long(),
            kind: arrow(edge),
            rule: edge.by.name(),
            says,
            axiom: "",
            why: format!("{}.", capital(&edge.words(i == last))),
            premises: Vec::new(),
            lemma: None,
            nodes: [&edge.from, &edge.to].into_iter().filter_map(at).collect(),
            observed: vec![edge.from.long(), edge.to.long()],
        }
    };
    let steps: Vec<ArgumentStep> = found.cycle.iter().enumerate().map(step).collect();
    Lemma { assume: Vec::new(), cycle: (0..steps.len() as u32).collect(), steps }
}

fn fixes(found: &Overtaking, at: &dyn Fn(&Operation) -> Option<usize>) -> Fixes {
    let fix = |edge: &Edge| {
        let enough = if edge.fence? == Strength::Full { "A full barrier" } else { "A store-store barrier" };
        let labels: Vec<String> = [&edge.from, &edge.to].iter().filter_map(|op| op.label.clone()).collect();
        let labels =
            if labels.len() < 2 { String::new() } else { format!(", that is between {}", list(&labels, "and")) };
        Some(Fix {
            words: format!(
                "{enough} between line {} and line {} of thread {}{labels}",
                edge.from.line, edge.to.line, edge.from.thread
            ),
            code: Some(if edge.fence == Some(Strength::Full) { "sync".into() } else { "membar #StoreStore".into() }),
            nodes: [&edge.from, &edge.to].into_iter().filter_map(at).collect(),
        })
    };
    Fixes {
        title: "What would fix it".into(),
        about: "These break this cycle; other violations may need more.".into(),
        list: found.cycle.iter().filter_map(fix).collect(),
        ..Fixes::default()
    }
}
