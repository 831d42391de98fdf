//! Which read is to blame.
//!
//! Problem: a proof shows that some operations do not fit together. People want one read that is wrong, and what it should have
//! returned.
//!
//! Algorithm: for each read that the proof mentions, let it return anything and decide again; if the rest is then allowed,
//! that read alone is to blame. The order that was found tells one value that it could have returned. On small traces
//! every value is tried, which gives all of them.
//!
//! Guarantees: every value listed is legal (the trace with that value in place is allowed).
//!
//! Complexity: one decision per read tried, for about [`SOON`]; on traces of up to [`SMALL`] operations one more for each
//! write of the address.

use crate::limits::Limits;
use crate::{Checker, Decision};
use membar_core::{Marks, Model, OpId, OpKind, Proof, Rule, Source, Trace};
use std::time::Duration;

/// How long reads are tried.
const SOON: Duration = Duration::from_secs(1);
/// Traces of this many operations are small.
const SMALL: usize = 256;

/// The read that is to blame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blame {
    /// The read: with any other legal value in its place the trace is allowed.
    pub read: OpId,
    /// The values it could have returned.
    pub legal: Vec<Legal>,
    /// Are these all the values that it could have returned?
    pub all: bool,
}

/// A value that a read could have returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Legal {
    /// The value.
    pub value: u64,
    /// Where it comes from.
    pub source: Source,
}

pub(crate) fn blame(
    checker: &mut Checker,
    trace: &Trace,
    model: &Model,
    proof: &Proof,
    limits: &Limits,
) -> Option<Blame> {
    let small = trace.len() <= SMALL;
    let reads = suspects(trace, proof);
    let limits = &limits.clone().within(SOON);
    for read in reads {
        match checker.decide_with(trace, model, Some((read, Source::NONE)), limits) {
            Decision::Allowed => {}
            Decision::Forbidden => continue,
            Decision::Undecided(_) => return None,
        }
        // In a partial order the last write is one of several that could be returned: all have to be tried.
        let found = model.write_order.then(|| returned(checker, trace, model, read));
        let mut legal: Vec<Source> = found.into_iter().collect();
        if small {
            let candidates = trace.ops().filter(|&op| trace.kind(op).writes() && trace.addr(op) == trace.addr(read));
            for source in [Source::INIT].into_iter().chain(candidates.map(Source::op)) {
                if Some(source) != found
                    && checker.decide_with(trace, model, Some((read, source)), limits) == Decision::Allowed
                {
                    legal.push(source);
                }
            }
        }
        let value = |source: Source| source.as_op().map_or(trace.initial(trace.addr(read)), |op| trace.write(op));
        let mut legal: Vec<Legal> = legal.into_iter().map(|source| Legal { value: value(source), source }).collect();
        legal.sort_by_key(|legal| legal.value);
        return Some(Blame { read, legal, all: small });
    }
    None
}

/// The reads of a proof: first those by which something was inferred, later ones before earlier ones, since a wrong value
/// contradicts what came before it; plain loads before read-modify-writes.
fn suspects(trace: &Trace, proof: &Proof) -> Vec<OpId> {
    let mut used = Vec::new();
    if let Proof::Cycle(lemmas) = proof {
        for step in lemmas.iter().flat_map(|lemma| &lemma.steps) {
            match step.rule {
                Rule::OwnStore { load } => used.push(load),
                Rule::BeforeRead { load } => used.extend(load.as_op()),
                Rule::AfterRead => used.extend(step.from.as_op()),
                _ => {}
            }
        }
    }
    let mut reads: Vec<OpId> =
        // What a store conditional has to follow hangs on what its load reserved returned: that one is not tried alone.
        proof.ops().into_iter().filter(|&op| trace.kind(op).reads() && !trace.marks(op).meets(Marks::RESERVES)).collect();
    reads.sort_by_key(|&op| (trace.kind(op) == OpKind::Rmw, !used.contains(&op), std::cmp::Reverse(trace.po(op))));
    reads
}

/// The source that the read returns at its place in the order that was found.
fn returned(checker: &Checker, trace: &Trace, model: &Model, read: OpId) -> Source {
    let order = checker.order(trace);
    let mut current = Source::INIT;
    let mut own = None;
    let mut seen = false;
    for op in order {
        if op == read {
            seen = true;
            continue;
        }
        if !trace.kind(op).writes() || trace.addr(op) != trace.addr(read) {
            continue;
        }
        if !seen {
            current = Source::op(op);
        } else if model.store_forwarding
            && trace.kind(read) == OpKind::Load
            && trace.thread(op) == trace.thread(read)
            && trace.po(op) < trace.po(read)
        {
            // Forwarded from the last of its own earlier stores.
            own = Some(Source::op(op));
        }
    }
    own.unwrap_or(current)
}
