//! The impossible read.

use super::super::page::{ImpossibleRead, Value};
use super::{Drawing, VALUES, capital};
use crate::build::Blame;
use membar_core::{OpId, OpKind, Proof, Source};

/// Values of which nothing is known that are listed.
const UNTRIED: usize = 4;

pub(super) fn impossible(
    drawing: &Drawing<'_>,
    proof: &Proof,
    blame: Option<&Blame>,
    because: Option<&String>,
) -> Option<ImpossibleRead> {
    let trace = drawing.words.trace;
    let read = match proof.leaf() {
        Proof::Unwritten(op) => *op,
        Proof::UnwrittenFinal(_) | Proof::Unreserved(_) | Proof::Cases { .. } => return None,
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
