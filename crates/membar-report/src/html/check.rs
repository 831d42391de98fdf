//! From a decided trace to a [`Case`].

use super::machine;
use super::page::{
    Arrow, Axiom, Case, Command, Copy, FINAL, Fact, Fix, Fixes, Graph, INITIAL, ImpossibleRead, Lemma, ModelVerdict,
    Models, Node, Step, Stopped, Value,
};
use super::{copies, rules, shape};
use crate::build::{Blame, Decided};
use crate::data::{EventRef, Report, StepRef};
use crate::style::{count, list, quoted_path};
use crate::words::{Words, noun};
use membar_core::{
    AddrId, AddrName, Event, Kind, Model, OpId, OpKind, Proof, ResolveScratch, Rule, Source, ThreadId, Trace, Verdict,
};
use std::collections::{BTreeMap, BTreeSet};

/// Operations that are drawn at most.
const DRAWN: usize = 360;
/// Operations of the argument that are drawn at most.
const REDUCED: usize = 160;
/// Operations of a thread that are drawn where none matters more than another.
const BEGINNING: usize = 12;
/// Operations before and after one that matters.
const AROUND: usize = 4;
/// Arrows that are drawn at most.
const ARROWS: usize = 1200;
/// Steps of the argument that are listed at most.
const STEPS: usize = 400;
/// Initial values that are listed where all are the same.
const LISTED: usize = 8;
/// Values that are listed.
const VALUES: usize = 16;
/// Values of which nothing is known that are listed.
const UNTRIED: usize = 4;
/// Operations of a trace that can be copied whole.
const COPIED: usize = 2000;
/// Up to so many operations all pairs of a thread are looked at.
const PAIRS: usize = 40;

/// What a page needs beside the decision.
#[derive(Clone, Debug, Default)]
pub struct Aside {
    /// What the built-in models say.
    pub models: Vec<ModelVerdict>,
    /// A run of a machine with store buffers; see [`Prefix`].
    pub prefix: Option<Prefix>,
    /// Options that matter for a command: ` --clock global`.
    pub options: String,
    /// What was given to `--model`.
    pub model_arg: String,
    /// The time limit in seconds, if there was one.
    pub time: Option<f64>,
}

/// How far a machine comes with a forbidden trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// Operations of the part that was run.
    pub ops: Vec<OpId>,
    /// What the machine did: a commit or not, and the operation.
    pub steps: Vec<(bool, OpId)>,
    /// What it could not do: the operation, and for a read what it would have returned.
    pub stuck: Vec<(OpId, Option<u64>)>,
    /// No run gets further.
    pub longest: bool,
}

/// The operations that a proof is about, closed so that they are a trace: with the writes that reads returned and whole
/// sessions.
pub fn needed(trace: &Trace, proof: &Proof) -> Vec<OpId> {
    let mut ops: BTreeSet<OpId> = proof.ops().into_iter().collect();
    let mut todo: Vec<OpId> = ops.iter().copied().collect();
    if let Proof::Unwritten(op) = proof {
        let addr = trace.addr(*op);
        let writes = trace.ops().filter(|&other| trace.kind(other).writes() && trace.addr(other) == addr);
        todo.extend(writes.take(VALUES));
        ops.extend(todo.iter().copied());
    }
    while let Some(op) = todo.pop() {
        let source = trace.source(op).as_op();
        for other in source.into_iter().chain(trace.partner(op)) {
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
    let mut part = trace.restricted_to(&ops, |_| mentions_final(proof), |_| true);
    // What is said about addresses that are gone has no meaning left.
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
pub fn case(decided: &Decided<'_>, report: &Report, aside: &Aside) -> Case {
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
        verdict: verdict.name(),
        headline: headline(decided, report),
        facts: facts(report),
        models: models(&aside.models, model),
        ..Case::default()
    };
    case.graph = graph(&drawing, &reduced, columns, proof, decided.blame.as_ref());
    if case.graph.arrows.len() > ARROWS {
        notes.push(format!("{} arrows are not drawn.", case.graph.arrows.len() - ARROWS));
        // Those of the cycle come first.
        case.graph.arrows.truncate(ARROWS);
    }
    if let (Some(proof), Some(violation)) = (proof, &report.violation) {
        case.axioms = axioms(proof);
        case.shape = shape_of(trace, proof);
        case.lemmas = lemmas(&drawing, proof, violation, &mut notes);
        case.read = impossible(&drawing, proof, decided.blame.as_ref(), violation.explanation.get(1));
        case.fixes = fixes(&drawing, proof, &aside.models);
    }
    match verdict {
        Verdict::Allowed(witness) => match machine::of_witness(&drawing_machine(&drawing), model, &witness.order) {
            Ok(machine) => case.machine = Some(machine),
            Err(why) => case.no_machine = Some(why),
        },
        Verdict::Forbidden(_) => match &aside.prefix {
            Some(prefix) => case.machine = Some(machine::of_prefix(&drawing_machine(&drawing), model, prefix)),
            None => case.no_machine = Some(no_prefix(model, proof)),
        },
        Verdict::Undecided { ordered, .. } => {
            case.stop = Some(stopped(report, *ordered, aside, decided));
            case.no_machine =
                Some("There is no order of all operations to step through: none was found in time.".into());
        }
    }
    case.commands = commands(decided, aside);
    case.copies = texts(trace, small.flatten().map(|(_, part)| part).as_ref(), &mut notes);
    case.notes = notes;
    case
}

fn drawing_machine<'a>(drawing: &'a Drawing<'a>) -> machine::Drawn<'a> {
    machine::Drawn { trace: drawing.words.trace, index: &drawing.index }
}

fn no_prefix(model: &Model, proof: Option<&Proof>) -> String {
    let name = &model.name;
    match proof {
        Some(Proof::Unwritten(_)) => "No machine is needed: the value was never written.".into(),
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
            lines
        }
        Verdict::Allowed(_) => vec![
            format!("{model} allows this trace."),
            "A memory order explains every value that was read; it can be stepped through below.".into(),
        ],
        Verdict::Undecided { reason, ordered } => vec![
            format!("It is not known whether {model} allows this trace."),
            format!(
                "{}: {} of {} had been put in order at best.",
                capital(&reason.to_string()),
                ordered,
                count(decided.trace.len(), "operation")
            ),
        ],
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn facts(report: &Report) -> Vec<Fact> {
    let mut size =
        vec![count(report.ops, "operation"), count(report.threads, "thread"), count(report.addresses, "address")];
    if report.locks > 0 {
        size.push(count(report.locks, "lock"));
    }
    let by = match report.algorithm {
        "values" => "the values alone",
        "conflict" => "one sort: every write order is known",
        "rules" => "rules to a fixed point",
        "too" | "timed" => "building a memory order",
        "search" => "search",
        other => other,
    };
    let mut facts = vec![Fact { name: "Size", value: size.join(", ") }];
    if let Some(violation) = &report.violation {
        facts.push(Fact { name: "Needed for the argument", value: count(violation.involved, "operation") });
    }
    facts.push(Fact { name: "Decided by", value: format!("{by}, in {}", seconds(report.seconds)) });
    let certified = match report.certified {
        true => "checked again by separate code",
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

/// `stronger[i] = (a, b)`: b allows everything that a allows, directly.
const WEAKER: [(&str, &str); 14] = [
    ("sc", "tso"),
    ("sc", "lc"),
    // As far as no two threads share a clock.
    ("tso", "lc"),
    ("tso", "pso"),
    ("tso", "wc"),
    ("wc", "rc"),
    ("rc", "rcpc"),
    ("rcpc", "ec"),
    ("rcpc", "scope"),
    ("pso", "wmo"),
    ("ec", "wmo"),
    ("scope", "wmo"),
    ("wmo", "rmo"),
    ("pso", "rmo"),
];

/// Does the second model allow everything that the first allows?
fn is_weaker(first: &str, second: &str) -> bool {
    WEAKER.iter().any(|&(a, b)| a == first && (b == second || is_weaker(b, second)))
}

/// The same, without what holds only as far as no two threads share a clock.
fn is_surely_weaker(first: &str, second: &str) -> bool {
    is_weaker(first, second) && (second != "lc" || first == "sc")
}

/// Of these models those that are not weaker than another one of them.
fn strongest<'a>(models: &[&'a ModelVerdict]) -> Vec<&'a str> {
    let is_strongest = |model: &&&ModelVerdict| !models.iter().any(|other| is_weaker(&other.name, &model.name));
    models.iter().filter(is_strongest).map(|model| model.name.as_str()).collect()
}

pub(super) fn models(all: &[ModelVerdict], model: &Model) -> Option<Models> {
    if all.is_empty() {
        return None;
    }
    let with = |verdict: &str| -> Vec<&str> {
        all.iter().filter(|model| model.verdict == verdict).map(|model| model.name.as_str()).collect()
    };
    let (allow, forbid, open) = (with("allowed"), with("forbidden"), with("undecided"));
    let owned = |names: Vec<&str>| names.into_iter().map(String::from).collect::<Vec<_>>();
    let allowing: Vec<&ModelVerdict> = all.iter().filter(|model| model.verdict == "allowed").collect();
    let strongest = strongest(&allowing);
    let weakest: Vec<&str> =
        allow.iter().filter(|&&m| !allow.iter().any(|other| is_weaker(m, other))).copied().collect();
    let (strongest, weakest) = (owned(strongest), owned(weakest));
    let mut words = match (allow.is_empty(), forbid.is_empty()) {
        (true, _) if open.is_empty() => "Every built-in model forbids it.".to_owned(),
        (true, _) => "No built-in model was found to allow it.".to_owned(),
        (_, true) if open.is_empty() => "Every built-in model allows it, even sc.".to_owned(),
        _ => format!(
            "The strongest built-in {} that allow{} it: {}. Forbidden by {}.",
            if strongest.len() == 1 { "model" } else { "models" },
            if strongest.len() == 1 { "s" } else { "" },
            list(&strongest, "and"),
            if forbid.is_empty() { "none".into() } else { list(&owned(forbid.clone()), "and") },
        ),
    };
    if !open.is_empty() {
        words.push_str(&format!(" Not decided in the time given: {}.", list(&owned(open), "and")));
    }
    if !all.iter().any(|known| known.name == model.name) {
        words.push_str(&format!(" {} is a model of its own and not among these.", model.name));
    }
    Some(Models { all: all.to_vec(), strongest, weakest, forbid: owned(forbid), words })
}

/// What is drawn of the whole trace: all of it, or what is near the operations that matter.
fn window(trace: &Trace, reduced: &[OpId], notes: &mut Vec<String>) -> (Vec<OpId>, Vec<Vec<i64>>) {
    let important: Vec<OpId> = reduced.iter().copied().take(REDUCED).collect();
    if reduced.len() > REDUCED {
        notes.push(format!(
            "The argument needs {} operations; the first {REDUCED} are drawn. The steps below name all of them.",
            reduced.len()
        ));
    }
    let mut keep: BTreeSet<OpId> = important.iter().copied().collect();
    if trace.len() <= DRAWN {
        keep.extend(trace.ops());
    } else {
        'near: for distance in 0..=AROUND {
            for &op in &important {
                let ops = trace.thread_ops(trace.thread(op));
                let at = trace.po(op) as usize;
                for near in [at.checked_sub(distance), Some(at + distance)].into_iter().flatten() {
                    if let Some(&op) = ops.get(near) {
                        keep.insert(op);
                    }
                    if keep.len() >= DRAWN {
                        break 'near;
                    }
                }
            }
        }
        if important.is_empty() {
            // Nothing matters more than anything else: the beginning of each thread.
            let each = (DRAWN / trace.threads().max(1)).clamp(1, BEGINNING);
            for thread in 0..trace.threads().min(DRAWN) {
                keep.extend(trace.thread_ops(ThreadId(thread as u32)).iter().take(each));
            }
        }
        let which = if important.is_empty() {
            "the first of each thread"
        } else {
            "those of the argument and their neighbours"
        };
        notes.push(format!("Of {} {} are drawn: {which}.", count(trace.len(), "operation"), keep.len()));
    }
    let drawn: Vec<OpId> = keep.iter().copied().collect();
    let place: BTreeMap<OpId, usize> = drawn.iter().enumerate().map(|(i, &op)| (op, i)).collect();
    let mut columns = Vec::new();
    for thread in 0..trace.threads() {
        let mut column: Vec<i64> = Vec::new();
        let mut gap = 0;
        for op in trace.thread_ops(ThreadId(thread as u32)) {
            match place.get(op) {
                Some(&node) => {
                    if gap < 0 {
                        column.push(gap);
                        gap = 0;
                    }
                    column.push(node as i64);
                }
                None => gap -= 1,
            }
        }
        if gap < 0 {
            column.push(gap);
        }
        columns.push(column);
    }
    (drawn, columns)
}

fn node(words: &Words<'_>, op: OpId) -> Node {
    let trace = words.trace;
    let kind = trace.kind(op);
    let moment = |at: Option<u64>| at.map_or_else(String::new, |at| at.to_string());
    let span = trace.span(op);
    Node {
        thread: trace.thread(op).0,
        number: trace.line(op).to_string(),
        text: words.text(op),
        effect: String::new(),
        kind: if kind == OpKind::Rmw { "rmw" } else { noun(kind) },
        address: if trace.addr(op) == AddrId::NONE { String::new() } else { words.name(trace.addr(op)) },
        read: kind.reads().then(|| trace.read(op).to_string()),
        write: matches!(kind, OpKind::Store | OpKind::Rmw).then(|| trace.write(op).to_string()),
        time: (span.begin.is_some() || span.end.is_some())
            .then(|| format!("{}:{}", moment(span.begin), moment(span.end))),
        place: None,
        wrong: false,
    }
}

fn graph(
    drawing: &Drawing<'_>,
    reduced: &[OpId],
    original: Vec<Vec<i64>>,
    proof: Option<&Proof>,
    blame: Option<&Blame>,
) -> Graph {
    let words = &drawing.words;
    let trace = words.trace;
    let mut nodes: Vec<Node> = drawing.nodes.iter().map(|&op| node(words, op)).collect();
    let wrong = match proof {
        Some(Proof::Unwritten(op)) => Some(*op),
        _ => blame.map(|blame| blame.read),
    };
    if let Some(node) = wrong.and_then(|op| drawing.node(op)) {
        nodes[node].wrong = true;
    }
    let mut columns: Vec<Vec<i64>> = vec![Vec::new(); trace.threads()];
    let mut in_order: Vec<OpId> = reduced.to_vec();
    in_order.sort_by_key(|&op| (trace.thread(op), trace.po(op)));
    for op in in_order {
        if let Some(node) = drawing.node(op) {
            columns[trace.thread(op).index()].push(node as i64);
        }
    }
    let whole = !reduced.is_empty() && reduced.len() == trace.len();
    let (reduced_columns, original) = match (reduced.is_empty(), whole) {
        (true, _) => (original, Vec::new()),
        (_, true) => (columns, Vec::new()),
        _ => (columns, original),
    };
    let mattering = if reduced.is_empty() { &drawing.nodes[..] } else { reduced };
    let named: BTreeSet<AddrId> = mattering.iter().map(|&op| trace.addr(op)).collect();
    let shown = |name: &AddrName| !matches!(name, AddrName::Lock(_));
    let addresses: Vec<AddrId> = named
        .iter()
        .copied()
        .filter(|&addr| addr != AddrId::NONE && shown(&trace.addr_names()[addr.index()]))
        .collect();
    let initial = if addresses.len() > LISTED && addresses.iter().all(|&addr| trace.initial(addr) == 0) {
        vec!["every address is 0".into()]
    } else {
        let value = |&addr: &AddrId| format!("{} = {}", words.name(addr), trace.initial(addr));
        addresses.iter().take(3 * LISTED).map(value).collect()
    };
    let last = trace.finals.iter().take(24).map(|end| format!("{} = {}", words.name(end.addr), end.value)).collect();
    Graph {
        threads: trace.thread_names().iter().map(|name| format!("thread {name}")).collect(),
        nodes,
        reduced: reduced_columns,
        original,
        total: trace.len(),
        arrows: arrows(drawing, proof),
        initial,
        last,
    }
}

/// What orders the operations that are drawn: the cycle first, then the rest of the proof, then what was recorded.
fn arrows(drawing: &Drawing<'_>, proof: Option<&Proof>) -> Vec<Arrow> {
    let trace = drawing.words.trace;
    let mut arrows: Vec<Arrow> = Vec::new();
    let mut seen: BTreeSet<(i64, i64, &str)> = BTreeSet::new();
    let mut add = |from: Option<i64>, to: Option<i64>, kind: &'static str, cycle: bool| {
        if let (Some(from), Some(to)) = (from, to)
            && seen.insert((from, to, kind))
        {
            arrows.push(Arrow { from, to, kind, cycle });
        }
    };
    if let Some(Proof::Cycle(lemmas)) = proof {
        if let Some(last) = lemmas.last() {
            for &step in &last.cycle {
                let step = &last.steps[step as usize];
                add(drawing.event(step.from), drawing.event(step.to), rules::relation(step.rule), true);
            }
        }
        // What a case assumes is no fact: only the last lemma shows some.
        for step in lemmas.last().iter().flat_map(|lemma| &lemma.steps) {
            if !matches!(step.rule, Rule::Init | Rule::Final) {
                add(drawing.event(step.from), drawing.event(step.to), rules::relation(step.rule), false);
            }
        }
    }
    for &op in &drawing.nodes {
        if let (true, Some(source)) = (trace.kind(op).reads(), trace.source(op).as_op()) {
            add(drawing.event(source.into()), drawing.event(op.into()), "rf", false);
        }
    }
    for order in trace.order_ops() {
        let drawn: Vec<OpId> = order.iter().filter(|&&op| drawing.node(op).is_some()).copied().collect();
        for pair in drawn.windows(2) {
            add(drawing.event(pair[0].into()), drawing.event(pair[1].into()), "co", false);
        }
    }
    if drawing.nodes.len() <= PAIRS {
        let model = drawing.words.model;
        for &a in &drawing.nodes {
            for &b in &drawing.nodes {
                let (from, to) = (drawing.event(a.into()), drawing.event(b.into()));
                let one = trace.addr(a) == trace.addr(b) && trace.addr(a) != AddrId::NONE;
                if trace.thread(a) == trace.thread(b) && trace.po(a) < trace.po(b) && kept(trace, model, a, b) {
                    add(from, to, "ppo", false);
                }
                // Who read the initial value came before all writes of the address.
                if one && a != b && trace.kind(a).reads() && trace.kind(b).writes() && trace.source(a) == Source::INIT {
                    add(from, to, "fr", false);
                }
                if a != b
                    && trace.ended_before(a, b)
                    && model.done_at_end(trace.kind(a))
                    && trace.thread(a) != trace.thread(b)
                {
                    add(from, to, "time", false);
                }
            }
        }
    }
    arrows
}

/// Does the model keep the order of two operations of a thread, by its table?
fn kept(trace: &Trace, model: &Model, from: OpId, to: OpId) -> bool {
    let (first, second) = (trace.kind(from), trace.kind(to));
    let one = trace.addr(from) == trace.addr(to);
    let session = || match (first, second) {
        (OpKind::Acquire | OpKind::Release, _) => trace.in_session(from, to),
        (_, OpKind::Acquire | OpKind::Release) => trace.in_session(to, from),
        _ => trace.one_session(from, to),
    };
    let [lock, data] = if first.locks() { [from, to] } else { [to, from] }.map(|op| trace.addr(op));
    let pair = |e: Kind, l: Kind| {
        let when = model.ppo.entry(e, l);
        when.always
            || (when.same_address && one)
            || (when.same_session && session())
            || (when.guarded && trace.guards(lock, data))
            || (when.time && trace.ended_before(from, to))
    };
    first.kinds().iter().any(|e| second.kinds().iter().any(|l| pair(e, l)))
}

fn axioms(proof: &Proof) -> Vec<Axiom> {
    let mut axioms: Vec<Axiom> = Vec::new();
    match proof {
        Proof::Unwritten(_) => axioms.push(rules::axiom(Rule::ReadsFrom)),
        Proof::Cycle(lemmas) => {
            for step in lemmas.iter().flat_map(|lemma| &lemma.steps) {
                let axiom = rules::axiom(step.rule);
                if !matches!(step.rule, Rule::Init | Rule::Final) && !axioms.contains(&axiom) {
                    axioms.push(axiom);
                }
            }
        }
    }
    axioms
}

fn shape_of(trace: &Trace, proof: &Proof) -> Option<super::page::Shape> {
    let lemma = proof.last()?;
    let thread = |event: Event| event.as_op().map(|op| trace.thread(op).0);
    let edges: Vec<shape::Edge> = lemma
        .cycle
        .iter()
        .map(|&step| {
            let step = &lemma.steps[step as usize];
            let addr = |event: Event| event.as_op().map(|op| trace.addr(op));
            let one_address = addr(step.from).is_some() && addr(step.from) == addr(step.to);
            shape::Edge { kind: rules::relation(step.rule), from: thread(step.from), to: thread(step.to), one_address }
        })
        .collect();
    shape::shape(&edges)
}

fn lemmas(
    drawing: &Drawing<'_>,
    proof: &Proof,
    violation: &crate::data::Violation,
    notes: &mut Vec<String>,
) -> Vec<Lemma> {
    let Proof::Cycle(lemmas) = proof else { return Vec::new() };
    let mut left = STEPS;
    let mut shown = Vec::new();
    // The last lemma is the one that counts; of the cases before it as many as there is room for.
    let needed = lemmas.last().map_or(0, |lemma| lemma.steps.len());
    left = left.saturating_sub(needed);
    for (lemma, data) in lemmas.iter().zip(&violation.lemmas).rev().skip(1).rev() {
        if lemma.steps.len() > left {
            break;
        }
        left -= lemma.steps.len();
        shown.push(one_lemma(drawing, lemma, data));
    }
    let omitted = lemmas.len() - 1 - shown.len();
    if omitted > 0 {
        notes.push(format!(
            "Of the {} cases of the argument {omitted} are left out here; `--format json` has all of them.",
            lemmas.len() - 1
        ));
    }
    if let (Some(lemma), Some(data)) = (lemmas.last(), violation.lemmas.last()) {
        shown.push(one_lemma(drawing, lemma, data));
    }
    shown
}

fn one_lemma(drawing: &Drawing<'_>, lemma: &membar_core::Lemma, data: &crate::data::LemmaRef) -> Lemma {
    let assume = data.assume.iter().map(|a| format!("{} is before {}", a.first.long(), a.second.long())).collect();
    let steps = lemma.steps.iter().zip(&data.steps).map(|(step, data)| one_step(drawing, step, data)).collect();
    Lemma { assume, steps, cycle: data.cycle.clone() }
}

fn one_step(drawing: &Drawing<'_>, step: &membar_core::Step, data: &StepRef) -> Step {
    let mut ops: Vec<OpId> = step.from.as_op().into_iter().chain(step.to.as_op()).collect();
    match step.rule {
        Rule::Membar { fence } => ops.push(fence),
        Rule::OwnStore { load } => ops.push(load),
        Rule::BeforeRead { load } => ops.extend(load.as_op()),
        _ => {}
    }
    let mut observed: Vec<String> = Vec::new();
    for &op in &ops {
        let said = observed_of(&drawing.words, op);
        if !observed.contains(&said) {
            observed.push(said);
        }
    }
    for event in [&data.edge.from, &data.edge.to] {
        if let EventRef::End(end) = event
            && let (Some(address), Some(line)) = (&end.address, end.line)
        {
            let word = if end.initial { "init" } else { "final" };
            observed.push(format!("line {line}: {word} {address}"));
        }
    }
    Step {
        number: data.step,
        from: drawing.event(step.from).unwrap_or(INITIAL),
        to: drawing.event(step.to).unwrap_or(FINAL),
        from_text: data.edge.from.long(),
        to_text: data.edge.to.long(),
        kind: rules::relation(step.rule),
        rule: step.rule.name(),
        says: rules::says(step.rule),
        axiom: step.rule.axiom(),
        why: data.edge.why.clone(),
        premises: step.premises.clone(),
        lemma: data.lemma,
        nodes: ops.iter().filter_map(|&op| drawing.node(op)).collect(),
        observed,
    }
}

/// `line 4: thread 1 loaded 0 from x`
fn observed_of(words: &Words<'_>, op: OpId) -> String {
    let trace = words.trace;
    let at = words.op(op);
    let time = match (trace.span(op).begin, trace.span(op).end) {
        (None, None) => String::new(),
        (begin, end) => {
            let moment = |at: Option<u64>| at.map_or_else(|| "?".into(), |at| at.to_string());
            format!(", pending from {} to {}", moment(begin), moment(end))
        }
    };
    format!("line {}: thread {} did {}{time}", at.line, at.thread, at.text)
}

fn impossible(
    drawing: &Drawing<'_>,
    proof: &Proof,
    blame: Option<&Blame>,
    because: Option<&String>,
) -> Option<ImpossibleRead> {
    let trace = drawing.words.trace;
    let read = match proof {
        Proof::Unwritten(op) => *op,
        Proof::Cycle(_) => blame?.read,
    };
    let addr = trace.addr(read);
    let legal = blame.filter(|blame| blame.read == read);
    let complete = legal.is_some_and(|blame| blame.complete) || matches!(proof, Proof::Unwritten(_));
    let is_legal = |source: Source| legal.is_some_and(|blame| blame.legal.iter().any(|&(_, known)| known == source));
    let what = |source: Source| match () {
        () if trace.source(read) == source => "returned",
        () if is_legal(source) => "possible",
        () if legal.is_some_and(|blame| blame.complete) => "impossible",
        () => "unknown",
    };
    let mut values = vec![Value {
        value: trace.initial(addr).to_string(),
        from: "the initial value".into(),
        node: None,
        what: what(Source::INIT),
    }];
    let writes: Vec<OpId> = trace
        .ops()
        .filter(|&op| matches!(trace.kind(op), OpKind::Store | OpKind::Rmw) && trace.addr(op) == addr)
        .collect();
    for &op in writes.iter().filter(|&&op| op != read) {
        let at = drawing.words.op(op);
        values.push(Value {
            value: trace.write(op).to_string(),
            from: format!("line {}, thread {}", at.line, at.thread),
            node: drawing.node(op),
            what: what(Source::op(op)),
        });
    }
    if trace.source(read) == Source::UNWRITTEN {
        let value = Value { value: trace.read(read).to_string(), from: "nobody".into(), node: None, what: "returned" };
        values.insert(0, value);
    }
    let rank = |what: &str| ["returned", "possible", "impossible", "unknown"].iter().position(|&w| w == what);
    values.sort_by_key(|value| (rank(value.what), value.node.is_none()));
    let told = values.iter().filter(|value| value.what != "unknown").count();
    let all = values.len();
    values.truncate(VALUES.min(told + UNTRIED));
    let omitted = all - values.len();
    let at = drawing.words.op(read);
    Some(ImpossibleRead {
        node: drawing.node(read)?,
        words: format!(
            "Line {} of thread {} read {} from {}.",
            at.line,
            at.thread,
            trace.read(read),
            drawing.words.name(addr)
        ),
        because: because.map(|why| capital(why)).unwrap_or_default(),
        values,
        complete,
        omitted,
    })
}

/// What the hardware must have done: one of these.
fn fixes(drawing: &Drawing<'_>, proof: &Proof, models: &[ModelVerdict]) -> Fixes {
    let trace = drawing.words.trace;
    let line = |op: OpId| format!("line {} ({})", trace.line(op), drawing.words.text(op));
    let mut list_of: Vec<Fix> = Vec::new();
    let mut add = |words: String, ops: &[OpId]| {
        if !list_of.iter().any(|fix| fix.words == words) {
            list_of.push(Fix { words, code: None, nodes: ops.iter().filter_map(|&op| drawing.node(op)).collect() });
        }
    };
    let Some(lemma) = proof.last() else {
        let words = "The load returned something that is not in the trace: another address, part of a word, a torn or \
                     corrupted value, or the trace has lost a store.";
        add(words.into(), &[]);
        return Fixes { title: "What must have happened".into(), about: String::new(), list: list_of };
    };
    let mut values = false;
    for &step in &lemma.cycle {
        let step = &lemma.steps[step as usize];
        let (Some(from), Some(to)) = (step.from.as_op(), step.to.as_op()) else { continue };
        let (a, b) = (line(from), line(to));
        match step.rule {
            Rule::StoreLoad => add(
                format!("{b} read before {a} was in memory: a load that passes a store buffer does this."),
                &[from, to],
            ),
            Rule::StoreStore => add(
                format!(
                    "{b} reached memory before {a}: a buffer that is not first in, first out, or merges stores, does this."
                ),
                &[from, to],
            ),
            Rule::LoadOp if trace.kind(to) == OpKind::Load => add(
                format!(
                    "{b} took its value before {a} did: loads that run out of order, or a stale line in a cache, do this."
                ),
                &[from, to],
            ),
            Rule::LoadOp => add(format!("{b} was seen by others before {a} had its value."), &[from, to]),
            Rule::Membar { fence } => {
                add(format!("The barrier at {} did not keep {a} before {b}.", line(fence)), &[from, fence, to]);
            }
            Rule::Lock => add(
                format!("{b} took effect before {a}, although the lock should have kept them in order."),
                &[from, to],
            ),
            Rule::Time => add(
                format!(
                    "{a} had ended when {b} began, and still took effect after it; or the clock is off by more than was said."
                ),
                &[from, to],
            ),
            Rule::ReadsFrom | Rule::AfterRead | Rule::BeforeRead { .. } | Rule::OwnStore { .. } => values = true,
            _ => {}
        }
    }
    let kept = list_of.len();
    let mut add = |words: String| list_of.push(Fix { words, code: None, nodes: Vec::new() });
    if values {
        let also = if kept > 0 { "Or a" } else { "A" };
        add(format!(
            "{also} read returned a stale or a wrong value: a copy that was not invalidated, or a value from elsewhere."
        ));
    }
    let allow: Vec<&ModelVerdict> = models.iter().filter(|m| m.verdict == "allowed").collect();
    let strongest: Vec<String> = strongest(&allow).into_iter().map(String::from).collect();
    if !strongest.is_empty() {
        let verb = if strongest.len() == 1 { "allows" } else { "allow" };
        let model = &drawing.words.model.name;
        add(format!("If the machine is meant to be weaker than {model}: {} {verb} this.", list(&strongest, "and")));
    }
    Fixes {
        title: "What the hardware must have done".into(),
        about: "At least one of these happened; every one of them breaks the circle.".into(),
        list: list_of,
    }
}

fn stopped(report: &Report, ordered: usize, aside: &Aside, decided: &Decided<'_>) -> Stopped {
    let (trace, model) = (decided.trace, &decided.model.name);
    let why = report.undecided.as_ref().map_or("", |stop| stop.reason);
    let mut next = Vec::new();
    match why {
        "time" => {
            let more = aside.time.map_or(600.0, |time| (10.0 * time).max(1.0));
            next.push(format!("Give it more time: --time {more:.0}s (or --time none)."));
        }
        "memory" => next.push("Give it more memory: --memory 32GiB (or --memory none).".into()),
        _ => next.push("Run it again without an interrupt.".into()),
    }
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
    next.push("Record shorter traces, or end them at points where all threads wait for each other (`check`).".into());
    // Other models were asked too, and some of them settle it.
    let weaker = aside.models.iter().find(|other| other.verdict == "forbidden" && is_surely_weaker(model, &other.name));
    let stronger = aside.models.iter().find(|other| other.verdict == "allowed" && is_surely_weaker(&other.name, model));
    let follows = match (weaker, stronger) {
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
    Stopped {
        why: match why {
            "time" => "The time limit passed.".into(),
            "memory" => "The memory limit was reached.".into(),
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
        follows,
    }
}

fn commands(decided: &Decided<'_>, aside: &Aside) -> Vec<Command> {
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
