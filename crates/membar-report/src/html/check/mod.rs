//! From a decided trace to a [`Case`].

pub(crate) mod argument;
mod fixes;
mod graph;
mod models;
mod read;

use super::page::{Case, Command, Copy, FINAL, Fact, INITIAL, ImpossibleRead, ModelVerdict, Stopped};
use super::{copies, machine};
use crate::build::Decided;
use crate::data::Report;
use crate::reduced::Reduced;
use crate::style::{capital, count, quoted_path};
use crate::words::Words;
use argument::{axioms, lemmas};
use fixes::fixes;
use graph::{graph, window};
use membar_core::{
    Algorithm, Event, Model, OpId, OpKind, Proof, ResolveScratch, Rule, Trace, Undecided, Verdict, VerdictKind,
};
use models::{is_surely_weaker, models};
use read::impossible;
use std::collections::{BTreeMap, BTreeSet};

/// Arrows that are drawn at most.
const ARROWS: usize = 1200;
/// Values that are listed.
const VALUES: usize = 16;
/// Operations of a trace that can be copied whole.
const COPIED: usize = 2000;

/// The data that a page needs besides the decision.
#[derive(Clone, Debug, Default)]
pub struct PageContext {
    /// The verdicts of the built-in models.
    pub models: Vec<ModelVerdict>,
    /// A run of a machine with store buffers; see [`Prefix`].
    pub prefix: Option<Prefix>,
    /// Options that matter for a command: ` --clock global`.
    pub options: String,
    /// The argument of `--model`.
    pub model_arg: String,
    /// The trace is a part of the one that is meant: a model that allows it may forbid the whole.
    pub part: bool,
    /// The time limit in seconds, if there was one.
    pub time: Option<f64>,
}

/// How far a machine comes with a forbidden trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// Operations of the part that was run.
    pub ops: Vec<OpId>,
    /// The steps of the machine: a commit or not, and the operation.
    pub steps: Vec<(bool, OpId)>,
    /// The operations it could not make: each with the value that a read would have returned.
    pub stuck: Vec<(OpId, Option<u64>)>,
    /// No run gets further.
    pub longest: bool,
}

/// The operations that a proof is about, closed so that they are a trace: with the writes that reads returned and whole
/// sessions.
pub fn needed(trace: &Trace, proof: &Proof) -> Vec<OpId> {
    let mut ops: BTreeSet<OpId> = proof.ops().into_iter().collect();
    let mut todo: Vec<OpId> = ops.iter().copied().collect();
    let nobody_wrote = match proof.leaf() {
        Proof::Unwritten(op) => Some(trace.addr(*op)),
        Proof::UnwrittenFinal(addr) => Some(*addr),
        Proof::Unreserved(_) | Proof::Cycle(_) | Proof::Cases { .. } => None,
    };
    if let Some(addr) = nobody_wrote {
        let writes = trace.ops().filter(|&other| trace.kind(other).writes() && trace.addr(other) == addr);
        todo.extend(writes.take(VALUES));
        ops.extend(todo.iter().copied());
    }
    while let Some(op) = todo.pop() {
        let source = trace.source(op).as_op();
        for other in source.into_iter().chain(trace.partner(op)).chain(trace.reservation(op)) {
            if ops.insert(other) {
                todo.push(other);
            }
        }
    }
    for &source in trace.final_sources().iter().filter(|_| mentions_final(proof)) {
        ops.extend(source.as_op());
    }
    ops.into_iter().collect()
}

fn mentions_final(proof: &Proof) -> bool {
    let Proof::Cycle(lemmas) = proof else { return false };
    lemmas.iter().flat_map(|lemma| &lemma.steps).any(|step| {
        step.from == Event::FINAL || step.to == Event::FINAL || step.rule == Rule::BeforeRead { load: Event::FINAL }
    })
}

/// The part of a forbidden trace that its proof is about, as a trace.
pub fn part(trace: &Trace, proof: &Proof) -> Option<(Vec<OpId>, Trace)> {
    let ops = needed(trace, proof);
    if let Proof::UnwrittenFinal(addr) = proof {
        let mut part = trace.restricted_to(&ops, |i| trace.finals[i].addr == *addr, |_| false);
        part.resolve(&mut ResolveScratch::default()).ok()?;
        return Some((ops, part));
    }
    let mut part = trace.restricted_to(&ops, |_| mentions_final(proof), |_| true);
    // Statements about addresses that are gone have no meaning left.
    let used = |addr| part.ops().any(|op| part.addr(op) == addr);
    let finals: Vec<_> = part.finals.iter().filter(|end| used(end.addr)).copied().collect();
    part.finals = finals;
    part.resolve(&mut ResolveScratch::default()).ok()?;
    Some((ops, part))
}

/// Which operations are drawn, and where.
struct Drawing<'a> {
    words: Words<'a>,
    nodes: Vec<OpId>,
    index: BTreeMap<OpId, usize>,
}

impl Drawing<'_> {
    fn node(&self, op: OpId) -> Option<usize> {
        self.index.get(&op).copied()
    }

    fn event(&self, event: Event) -> Option<i64> {
        match event.as_op() {
            Some(op) => self.node(op).map(|node| node as i64),
            None if event == Event::INIT => Some(INITIAL),
            None => Some(FINAL),
        }
    }
}

/// The case of a decided trace.
pub fn case(decided: &Decided<'_>, report: &Report, aside: &PageContext) -> Case {
    let Decided { trace, model, verdict, .. } = *decided;
    let words = Words::new(trace, model);
    let proof = match verdict {
        Verdict::Forbidden(proof) => Some(proof),
        _ => None,
    };
    let small = proof.map(|proof| part(trace, proof));
    let reduced: Vec<OpId> = match &small {
        Some(Some((ops, _))) => ops.clone(),
        _ => Vec::new(),
    };
    let mut notes = Vec::new();
    let (drawn, columns) = window(trace, &reduced, &mut notes);
    let index = drawn.iter().enumerate().map(|(i, &op)| (op, i)).collect();
    let drawing = Drawing { words, nodes: drawn, index };
    let mut case = Case {
        name: match decided.index {
            0 => decided.file.to_owned(),
            index => format!("{}, trace {}", decided.file, index + 1),
        },
        model: model.name.clone(),
        verdict: verdict.kind().into(),
        headline: headline(decided, report),
        facts: facts(report),
        models: models(&aside.models, model),
        ..Case::default()
    };
    if let (true, Some(models)) = (aside.part, &mut case.models) {
        models.words =
            format!("The operations of the argument alone: {} The whole trace may be forbidden by more.", models.words);
    }
    case.graph = graph(&drawing, &reduced, columns, proof, decided.blame.as_ref());
    if case.graph.arrows.len() > ARROWS {
        notes.push(format!("{} arrows are not drawn.", case.graph.arrows.len() - ARROWS));
        // Those of the cycle come first.
        case.graph.arrows.truncate(ARROWS);
    }
    if let (Some(proof), Some(violation)) = (proof, &report.violation) {
        case.axioms = axioms(proof);
        case.shape = crate::shape::of_proof(trace, proof);
        case.lemmas = lemmas(&drawing, proof, violation, &mut notes);
        case.read = impossible(&drawing, proof, decided.blame.as_ref(), violation.explanation.get(1));
        case.fixes = fixes(&drawing, proof, if aside.part { &[] } else { &aside.models });
    }
    case.values = short_values(&drawing, case.read.as_ref());
    match verdict {
        Verdict::Allowed(witness) => match machine::of_witness(&drawing_machine(&drawing), model, &witness.order) {
            Ok(machine) => case.machine = Some(machine),
            Err(why) => case.no_machine = Some(why),
        },
        Verdict::Forbidden(_) => match &aside.prefix {
            Some(prefix) => case.machine = Some(machine::of_prefix(&drawing_machine(&drawing), model, prefix)),
            None => case.no_machine = Some(no_prefix(model, proof)),
        },
        Verdict::Undecided { .. } => {
            let ordered = report.undecided.as_ref().map_or(0, |stop| stop.ordered);
            case.stop = Some(stopped(report, ordered, aside, decided));
            case.no_machine =
                Some("There is no order of all operations to step through: none was found in time.".into());
        }
    }
    case.commands = commands(decided, aside);
    case.copies = texts(trace, small.flatten().map(|(_, part)| part).as_ref(), &mut notes);
    case.notes = notes;
    case
}

/// The case of an answer that was read back from a document: only the document's part of the trace is known. `again` is
/// the case of its reduced trace, decided again.
pub fn restored(report: &Report, again: Option<Case>, model_arg: &str) -> Case {
    let name = match report.trace {
        0 => report.file.clone(),
        index => format!("{}, trace {}", report.file, index.saturating_add(1)),
    };
    let model = &report.model;
    let file = if report.file == "<stdin>" { "FILE".into() } else { quoted_path(&report.file) };
    let options = report.violation.as_ref().and_then(|violation| violation.reduced.as_ref()).map(Reduced::options);
    let line = format!("membar check {file} --model {}{}", quoted_path(model_arg), options.unwrap_or_default());
    let mut case = Case {
        name,
        model: model.clone(),
        verdict: report.verdict.into(),
        commands: vec![Command { about: "This answer".into(), line }],
        no_machine: Some("There is no run to step through: the document does not hold the operations.".into()),
        ..again.unwrap_or_default()
    };
    if case.machine.is_some() || !case.lemmas.is_empty() {
        case.no_machine = None;
    }
    case.facts = facts(report);
    case.headline = vec![match report.verdict {
        VerdictKind::Allowed => format!("{model} allows this trace."),
        VerdictKind::Forbidden => format!("{model} forbids this trace."),
        _ => format!("It is not known whether {model} allows this trace."),
    }];
    if let Some(violation) = &report.violation {
        case.headline.extend(violation.explanation.iter().take(2).map(|line| capital(line)));
        if let (None, Some(shape)) = (&case.shape, &violation.shape) {
            case.facts.push(Fact { name: "Shape of the cycle", value: format!("{} {}", shape.name, shape.edges) });
        }
    }
    for copy in case.copies.iter_mut().filter(|copy| copy.name == "Trace") {
        (copy.name, copy.about) = ("Reduced trace", "what the argument needs, for `membar check`".into());
    }
    if case.graph.nodes.is_empty() && report.ops > 0 {
        case.notes.push("The document does not hold the operations of the trace, so that they are not drawn.".into());
    } else if case.graph.total < report.ops {
        case.notes.push(format!(
            "Of {} those that the argument needs are drawn: the document does not hold the others.",
            count(report.ops, "operation")
        ));
    }
    if let Some(stop) = &report.undecided {
        case.no_machine = Some("There is no order of all operations to step through: none was found in time.".into());
        case.stop = Some(how_far(report, stop.ordered, None));
    }
    case
}

/// Values of at least this many digits have short names.
const DIGITS: usize = 7;

/// Short names for long values: who wrote them, and on which line. A value that was written twice has none.
fn short_values(drawing: &Drawing<'_>, read: Option<&ImpossibleRead>) -> BTreeMap<String, String> {
    let trace = drawing.words.trace;
    let listed: BTreeSet<&str> = read.iter().flat_map(|read| &read.values).map(|value| value.value.as_str()).collect();
    let sources = drawing.nodes.iter().filter_map(|&op| trace.source(op).as_op());
    let mut writes: BTreeSet<OpId> = drawing.nodes.iter().copied().chain(sources).collect();
    writes.extend(trace.ops().filter(|&op| !listed.is_empty() && listed.contains(&*trace.write(op).to_string())));
    let mut names: BTreeMap<String, Option<String>> = BTreeMap::new();
    for op in writes.into_iter().filter(|&op| matches!(trace.kind(op), OpKind::Store | OpKind::Rmw)) {
        let value = trace.write(op).to_string();
        if value.len() >= DIGITS {
            let name = format!("T{}#{}", trace.thread_names()[trace.thread(op).index()], trace.line(op));
            names.entry(value).and_modify(|known| *known = None).or_insert(Some(name));
        }
    }
    names.into_iter().filter_map(|(value, name)| Some((value, name?))).collect()
}

fn drawing_machine<'a>(drawing: &'a Drawing<'a>) -> machine::Drawn<'a> {
    machine::Drawn { trace: drawing.words.trace, index: &drawing.index }
}

fn no_prefix(model: &Model, proof: Option<&Proof>) -> String {
    let name = &model.name;
    match proof {
        Some(Proof::Unwritten(_) | Proof::UnwrittenFinal(_)) => "No machine is needed: the value was never written.".into(),
        _ if !matches!(name.as_str(), "sc" | "tso" | "pso") => format!(
            "There is no machine to step through: sc, tso and pso are machines with store buffers; under {name} operations of \
             a thread may take effect out of order."
        ),
        _ => "There is no run to step through: what is wrong here lies in locks, times or final values, which the machine does \
              not have, or the part of the trace that matters is too large."
            .into(),
    }
}

/// The verdict first, then what happened and why.
fn headline(decided: &Decided<'_>, report: &Report) -> Vec<String> {
    let model = &decided.model.name;
    match decided.verdict {
        Verdict::Forbidden(_) => {
            let mut lines = vec![format!("{model} forbids this trace.")];
            if let Some(violation) = &report.violation {
                lines.extend(violation.explanation.iter().take(2).map(|line| capital(line)));
            }
            lines.extend(report.left_out.as_ref().map(|left| format!("{}.", capital(&left.message))));
            lines
        }
        Verdict::Allowed(_) => vec![
            format!("{model} allows this trace."),
            "A memory order explains every value that was read; it can be stepped through below.".into(),
        ],
        Verdict::Undecided { reason, .. } => vec![
            format!("It is not known whether {model} allows this trace."),
            format!(
                "{}: {} of {} had been put in order at best.",
                capital(&reason.to_string()),
                report.undecided.as_ref().map_or(0, |stop| stop.ordered),
                count(report.ops, "operation")
            ),
        ],
    }
}

fn facts(report: &Report) -> Vec<Fact> {
    let mut size =
        vec![count(report.ops, "operation"), count(report.threads, "thread"), count(report.addresses, "address")];
    if report.locks > 0 {
        size.push(count(report.locks, "lock"));
    }
    let by = match report.algorithm {
        Algorithm::Values => "the values alone",
        Algorithm::Conflict => "one sort: every write order is known",
        Algorithm::Rules => "rules to a fixed point",
        Algorithm::Too | Algorithm::Timed => "building a memory order",
        Algorithm::Search => "search",
    };
    let mut facts = vec![Fact { name: "Size", value: size.join(", ") }];
    if let Some(violation) = &report.violation {
        facts.push(Fact { name: "Needed for the argument", value: count(violation.involved, "operation") });
    }
    facts.push(Fact { name: "Decided by", value: format!("{by}, in {}", seconds(report.seconds)) });
    let certified = match report.certified {
        true => "re-checked by an independent checker",
        false => "none: there is no verdict",
    };
    facts.push(Fact { name: "Certificate", value: certified.into() });
    facts
}

pub(super) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => "less than 1 ms".into(),
        s if s < 1.0 => format!("{:.0} ms", 1000.0 * s),
        s => format!("{s:.1} s"),
    }
}

fn stopped(report: &Report, ordered: usize, aside: &PageContext, decided: &Decided<'_>) -> Stopped {
    let (trace, model) = (decided.trace, &decided.model.name);
    let mut stopped = how_far(report, ordered, aside.time);
    let next = &mut stopped.next;
    let last = next.pop();
    if trace.orders.is_empty() {
        next.push(
            "Record the order of writes, if the machine can observe it: with an `order` line for each address the answer takes \
             one pass."
                .into(),
        );
    }
    if !trace.has_times() {
        next.push("Record when operations began and ended (`@ begin:end`) and say --clock global: time orders most of a trace.".into());
    }
    next.extend(last);
    // Other models were asked too, and some of them settle it.
    let weaker = aside
        .models
        .iter()
        .find(|other| other.verdict == VerdictKind::Forbidden && is_surely_weaker(model, &other.name));
    let stronger =
        aside.models.iter().find(|other| other.verdict == VerdictKind::Allowed && is_surely_weaker(&other.name, model));
    stopped.follows = match (weaker, stronger) {
        (Some(other), _) => Some(format!(
            "It follows that {model} forbids it: {0} forbids it, and {0} allows everything that {model} allows. See --model {0}.",
            other.name
        )),
        (_, Some(other)) => Some(format!(
            "It follows that {model} allows it: {0} allows it, and {model} allows everything that {0} allows. See --model {0}.",
            other.name
        )),
        _ => None,
    };
    stopped
}

/// How far it got and how to continue, by the report alone.
fn how_far(report: &Report, ordered: usize, time: Option<f64>) -> Stopped {
    let why = report.undecided.as_ref().map(|stop| stop.reason);
    let mut next = Vec::new();
    match why {
        Some(Undecided::Time) => {
            let more = time.map_or(600.0, |time| (10.0 * time).max(1.0));
            next.push(format!("Give it more time: --time {more:.0}s (or --time none)."));
        }
        Some(Undecided::Memory) => next.push("Give it more memory: --memory 32GiB (or --memory none).".into()),
        Some(Undecided::Parts) => next.push("Check it with a model that has a write order.".into()),
        Some(Undecided::Repeated | Undecided::Sources) => {
            next.push("Give every store to an address its own value.".into())
        }
        Some(Undecided::Torn) => next.push("Give each piece a line of its own, in the machine's order.".into()),
        Some(Undecided::Interrupted) | None => next.push("Run it again without an interrupt.".into()),
    }
    next.push("Record shorter traces, or end them at points where all threads wait for each other (`check`).".into());
    Stopped {
        why: match why {
            Some(Undecided::Time) => "The time limit passed.".into(),
            Some(Undecided::Memory) => "The memory limit was reached.".into(),
            Some(Undecided::Parts) => "Accesses overlap, and the model has no write order.".into(),
            Some(Undecided::Torn) => "It depends on the order in which the pieces of an access took effect.".into(),
            Some(Undecided::Sources) => "There are too many ways in which reads may have got their values.".into(),
            Some(Undecided::Repeated) => "Values are repeated, and what does not depend on them is allowed.".into(),
            _ => "It was interrupted.".into(),
        },
        done: ordered as u64,
        of: report.ops as u64,
        words: format!(
            "{ordered} of {} were put in a legal order at best. The rules made {} over the trace and added {}; the search met {}.",
            count(report.ops, "operation"),
            count(report.effort.passes as usize, "pass"),
            count(report.effort.inferred as usize, "edge"),
            count(report.effort.conflicts as usize, "conflict"),
        ),
        next,
        follows: None,
    }
}

fn commands(decided: &Decided<'_>, aside: &PageContext) -> Vec<Command> {
    let stdin = decided.file == "<stdin>";
    let file = if stdin { "FILE".into() } else { quoted_path(decided.file) };
    let model = quoted_path(&aside.model_arg);
    let options = &aside.options;
    let mut commands =
        vec![Command { about: "This answer".into(), line: format!("membar check {file} --model {model}{options}") }];
    if let Verdict::Forbidden(_) = decided.verdict {
        let trace = if decided.index == 0 { String::new() } else { format!(" --trace {}", decided.index + 1) };
        commands.push(Command {
            about: "The smallest part of the trace that is still forbidden".into(),
            line: format!("membar shrink {file} --model {model}{trace}{options}"),
        });
    }
    commands
}

fn texts(trace: &Trace, part: Option<&Trace>, notes: &mut Vec<String>) -> Vec<Copy> {
    let text = |trace: &Trace| {
        let mut text = Vec::new();
        membar_trace::write_trace(trace, &mut text).ok()?;
        String::from_utf8(text).ok()
    };
    let mut copies = Vec::new();
    let small = part.filter(|part| part.len() < trace.len());
    if let Some(text) = small.and_then(text) {
        copies.push(Copy { name: "Reduced trace", about: "what the argument needs, for `membar check`".into(), text });
    }
    if trace.len() <= COPIED {
        if let Some(text) = text(trace) {
            copies.push(Copy { name: "Trace", about: "all of it, for `membar check`".into(), text });
        }
    } else {
        notes.push(format!("The whole trace of {} is not part of this page.", count(trace.len(), "operation")));
    }
    let shown = part.unwrap_or(trace);
    match copies::litmus(shown) {
        Ok(text) => copies.push(Copy {
            name: "Litmus test",
            about: "for `membar litmus`, `membar verify` and herd".into(),
            text,
        }),
        Err(why) => notes.push(format!("There is no litmus test to copy: {why}.")),
    }
    match copies::c_test(shown) {
        Ok(text) => copies.push(Copy {
            name: "C test",
            about: "runs it on this machine: gcc -O2 -pthread test.c && ./a.out".into(),
            text,
        }),
        Err(why) => notes.push(format!("There is no C test to copy: {why}.")),
    }
    copies
}
