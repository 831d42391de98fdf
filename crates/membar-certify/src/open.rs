//! Certificates of traces with repeated values.
//!
//! Problem: values do not say which write a read returned. A witness is still a total order, which says it; a proof goes through the
//! possible sources of some reads.
//!
//! Algorithm:
//! * Witness: derive what each read returned from the order by the Value axiom (the latest write before it in the order or, for a
//!   plain load where the model forwards stores, in its own thread), compare values, and check the order as one of the reading
//!   with these sources, in which every write has a value of its own.
//! * Proof: each split must have every source that the read can have by its value (found here by looking at all writes); the proofs
//!   below are checked for the reading that knows the sources on the way to them.
//!
//! Trusted besides what the crate trusts: [`Trace::reading`], whose guarantee is what makes a proof about a reading one about
//! the trace.
//!
//! Complexity: O(n) for a witness; O(n) for each split and each proof below.

use crate::{Certifier, Flaw};
use membar_core::{Model, OpId, OpKind, Proof, Read, Source, ThreadId, Trace};
use std::collections::HashMap;

/// Checks an order.
pub(crate) fn witness(it: &mut Certifier, trace: &Trace, model: &Model, order: &[OpId]) -> Result<(), Flaw> {
    if !model.write_order {
        return Err(Flaw::OpenModel);
    }
    let sources = sources(trace, model, order)?;
    let last = last_writes(trace, order);
    for op in trace.ops().filter(|&op| trace.kind(op).reads()) {
        let gives = value(trace, trace.addr(op), sources[op.index()]);
        if gives != trace.read(op) {
            return Err(Flaw::Value { read: op, gives });
        }
    }
    for end in &trace.finals {
        let gives = value(trace, end.addr, last[end.addr.index()]);
        if gives != end.value {
            return Err(Flaw::FinalValue { addr: end.addr, gives });
        }
    }
    let reading = trace.reading(|read| match read {
        Read::Op(op) => Some(sources[op.index()]),
        Read::Final(i) => Some(last[trace.finals[i as usize].addr.index()]),
    });
    it.witness.check(&reading, model, order)
}

/// The value that a source gave an address.
fn value(trace: &Trace, addr: membar_core::AddrId, source: Source) -> u64 {
    source.as_op().map_or_else(|| trace.initial(addr), |op| trace.write(op))
}

fn last_writes(trace: &Trace, order: &[OpId]) -> Vec<Source> {
    let mut last = vec![Source::INIT; trace.addrs()];
    for &op in order.iter().filter(|&&op| matches!(trace.kind(op), OpKind::Store | OpKind::Rmw)) {
        last[trace.addr(op).index()] = Source::op(op);
    }
    last
}

/// What each read of a trace with repeated values, and each recorded final value, returned in a memory order of it.
pub fn sources_of(trace: &Trace, model: &Model, order: &[OpId]) -> HashMap<Read, Source> {
    let last = last_writes(trace, order);
    let ends = (0..).zip(&trace.finals).map(|(i, end)| (Read::Final(i), last[end.addr.index()]));
    let sources = sources(trace, model, order).unwrap_or_default();
    let reads = trace.ops().zip(sources).filter(|&(op, _)| trace.kind(op).reads());
    reads.map(|(op, source)| (Read::Op(op), source)).chain(ends).collect()
}

/// What each read returns in this order.
fn sources(trace: &Trace, model: &Model, order: &[OpId]) -> Result<Vec<Source>, Flaw> {
    let mut place = vec![0u32; trace.len()];
    let mut sources = vec![Source::NONE; trace.len()];
    let mut current = vec![Source::INIT; trace.addrs()];
    for (i, &op) in order.iter().enumerate() {
        let Some(at) = place.get_mut(op.index()) else { return Err(Flaw::NotMemory { place: i, op }) };
        if trace.kind(op) == OpKind::Fence {
            return Err(Flaw::NotMemory { place: i, op });
        }
        *at = i as u32 + 1;
        let here = &mut current[trace.addr(op).index()];
        sources[op.index()] = *here;
        if matches!(trace.kind(op), OpKind::Store | OpKind::Rmw) {
            *here = Source::op(op);
        }
    }
    if !model.store_forwarding {
        return Ok(sources);
    }
    // Per address: the thread, plus one, and its store so far that is latest in the order.
    let mut own: Vec<(u32, OpId)> = vec![(0, OpId(0)); trace.addrs()];
    for thread in (0..trace.threads() as u32).map(ThreadId) {
        for &op in trace.thread_ops(thread) {
            let kind = trace.kind(op);
            if !matches!(kind, OpKind::Load | OpKind::Store | OpKind::Rmw) {
                continue;
            }
            let (by, store) = &mut own[trace.addr(op).index()];
            let mine = *by == thread.0 + 1;
            if kind == OpKind::Load && mine && place[store.index()] > place[op.index()] {
                sources[op.index()] = Source::op(*store);
            }
            if kind != OpKind::Load && !(mine && place[store.index()] > place[op.index()]) {
                (*by, *store) = (thread.0 + 1, op);
            }
        }
    }
    Ok(sources)
}

/// Checks a proof in the cases of the path.
pub(crate) fn proof(
    it: &mut Certifier,
    trace: &Trace,
    model: &Model,
    proof: &Proof,
    path: &mut HashMap<Read, Source>,
) -> Result<(), Flaw> {
    let Proof::Cases { read, cases } = proof else {
        let reading = trace.reading(|read| path.get(&read).copied());
        return it.proof.check(&reading, model, proof);
    };
    let exists = match *read {
        Read::Op(op) => op.index() < trace.len() && trace.kind(op).reads(),
        Read::Final(i) => (i as usize) < trace.finals.len(),
    };
    if !exists || path.contains_key(read) {
        return Err(Flaw::Cases(*read));
    }
    let (addr, wanted) = trace.returned(*read);
    let has = |source: Source| cases.iter().any(|&(other, _)| other == source);
    let gives = |op: OpId| {
        matches!(trace.kind(op), OpKind::Store | OpKind::Rmw) && trace.addr(op) == addr && trace.write(op) == wanted
    };
    let missing = trace.ops().any(|op| Read::Op(op) != *read && gives(op) && !has(Source::op(op)));
    if missing || (value(trace, addr, Source::INIT) == wanted && !has(Source::INIT)) {
        return Err(Flaw::Cases(*read));
    }
    for (source, inner) in cases {
        path.insert(*read, *source);
        self::proof(it, trace, model, inner, path)?;
        path.remove(read);
    }
    Ok(())
}
