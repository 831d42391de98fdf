//! The drawing: operations and the edges that order them.

use super::super::page::{Arrow, Graph, Node};
use super::super::rules;
use super::Drawing;
use crate::build::Blame;
use crate::kinds::OpName;
use crate::style::count;
use crate::words::Words;
use membar_core::{AddrId, AddrName, Kind, Model, OpId, OpKind, Proof, Relation, Rule, Source, ThreadId, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// Operations that are drawn at most.
const DRAWN: usize = 360;
/// Operations of the argument that are drawn at most.
const REDUCED: usize = 160;
/// Operations of a thread that are drawn where none matters more than another.
const BEGINNING: usize = 12;
/// Operations before and after one that matters.
const AROUND: usize = 4;
/// Initial values that are listed where all are the same.
const LISTED: usize = 8;
/// Up to this many operations all pairs of a thread are examined.
const PAIRS: usize = 40;

/// The part of the trace that is drawn: all of it, or what is near the operations that matter.
pub(super) fn window(trace: &Trace, reduced: &[OpId], notes: &mut Vec<String>) -> (Vec<OpId>, Vec<Vec<i64>>) {
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

pub(super) fn node(words: &Words<'_>, op: OpId) -> Node {
    let trace = words.trace;
    let kind = trace.kind(op);
    let moment = |at: Option<u64>| at.map_or_else(String::new, |at| at.to_string());
    let span = trace.span(op);
    Node {
        thread: trace.thread(op).0,
        number: trace.line(op).to_string(),
        text: words.text(op),
        effect: String::new(),
        kind: OpName::from(kind),
        address: if trace.addr(op) == AddrId::NONE { String::new() } else { words.name(trace.addr(op)) },
        read: kind.reads().then(|| trace.read(op).to_string()),
        write: matches!(kind, OpKind::Store | OpKind::Rmw).then(|| trace.write(op).to_string()),
        time: (span.begin.is_some() || span.end.is_some())
            .then(|| format!("{}:{}", moment(span.begin), moment(span.end))),
        place: None,
        wrong: None,
    }
}

pub(super) fn graph(
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
        nodes[node].wrong = Some("impossible");
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

/// The edges between the operations that are drawn: the cycle first, then the rest of the proof, then what was recorded.
pub(super) fn arrows(drawing: &Drawing<'_>, proof: Option<&Proof>) -> Vec<Arrow> {
    let trace = drawing.words.trace;
    let mut arrows: Vec<Arrow> = Vec::new();
    let mut seen: BTreeSet<(i64, i64, Relation)> = BTreeSet::new();
    let mut add = |from: Option<i64>, to: Option<i64>, kind: Relation, cycle: bool| {
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
        // The assumptions of a case are not facts: only the last lemma shows some.
        for step in lemmas.last().iter().flat_map(|lemma| &lemma.steps) {
            if !matches!(step.rule, Rule::Init | Rule::Final) {
                add(drawing.event(step.from), drawing.event(step.to), rules::relation(step.rule), false);
            }
        }
    }
    for &op in &drawing.nodes {
        if let (true, Some(source)) = (trace.kind(op).reads(), trace.source(op).as_op()) {
            add(drawing.event(source.into()), drawing.event(op.into()), Relation::Rf, false);
        }
    }
    for order in trace.order_ops() {
        let drawn: Vec<OpId> = order.iter().filter(|&&op| drawing.node(op).is_some()).copied().collect();
        for pair in drawn.windows(2) {
            add(drawing.event(pair[0].into()), drawing.event(pair[1].into()), Relation::Co, false);
        }
    }
    if drawing.nodes.len() <= PAIRS {
        let model = drawing.words.model;
        for &a in &drawing.nodes {
            for &b in &drawing.nodes {
                let (from, to) = (drawing.event(a.into()), drawing.event(b.into()));
                let one = trace.addr(a) == trace.addr(b) && trace.addr(a) != AddrId::NONE;
                if trace.thread(a) == trace.thread(b) && trace.po(a) < trace.po(b) && kept(trace, model, a, b) {
                    add(from, to, Relation::Ppo, false);
                }
                // A read of the initial value came before all writes of the address.
                if one && a != b && trace.kind(a).reads() && trace.kind(b).writes() && trace.source(a) == Source::INIT {
                    add(from, to, Relation::Fr, false);
                }
                if a != b
                    && trace.ended_before(a, b)
                    && model.done_at_end(trace.kind(a))
                    && trace.thread(a) != trace.thread(b)
                {
                    add(from, to, Relation::Time, false);
                }
            }
        }
    }
    arrows
}

/// Does the model keep the order of two operations of a thread, by its table?
pub(super) fn kept(trace: &Trace, model: &Model, from: OpId, to: OpId) -> bool {
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
