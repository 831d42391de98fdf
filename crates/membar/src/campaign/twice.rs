//! What a trace says in which a value was written twice.
//!
//! Problem: values identify writes, and a machine that is right writes each of a random program's once: constants differ, and
//! what fetch-adds write grows from one constant to the next. One that loses an update may write a sum twice. Then there is no
//! trace to decide. Find a part of it that is one, and that shows what went wrong.
//!
//! Algorithm: two read-modify-writes of one address that read the same value are forbidden by every model in which they
//! are atomic. Take the two with the smallest such value, and the writes behind it: who wrote the value, and while that is a
//! read-modify-write too, who wrote what it read.
//!
//! Guarantees: where a sum was written twice, there are two such operations. Take the smallest sum that was. Each of its two
//! writers has a chain of fetch-adds behind it that ends at the same constant, and all values on the chains are smaller, so
//! written once. Where the chains part, two operations read one value.

use membar::Trace;
use membar::core::{AddrId, OpId, OpKind, ResolveScratch};
use rustc_hash::FxHashMap;

/// The part, resolved; `trace` is not.
pub fn part(trace: &Trace) -> Option<Trace> {
    let mut writers: FxHashMap<(AddrId, u64), Vec<OpId>> = FxHashMap::default();
    let mut readers: FxHashMap<(AddrId, u64), Vec<OpId>> = FxHashMap::default();
    for op in trace.ops() {
        let (kind, addr) = (trace.kind(op), trace.addr(op));
        if matches!(kind, OpKind::Store | OpKind::Rmw) {
            writers.entry((addr, trace.write(op))).or_default().push(op);
        }
        if kind == OpKind::Rmw {
            readers.entry((addr, trace.read(op))).or_default().push(op);
        }
    }
    let mut twins: Vec<((AddrId, u64), Vec<OpId>)> = readers.into_iter().filter(|(_, ops)| ops.len() > 1).collect();
    twins.sort_unstable_by_key(|&((addr, value), _)| (value, addr));
    twins.into_iter().find_map(|((addr, value), twins)| {
        let mut ops = twins[..2].to_vec();
        let mut value = value;
        while let Some(behind) = writers.get(&(addr, value)) {
            let [writer] = behind[..] else { return None };
            if ops.contains(&writer) {
                return None;
            }
            ops.push(writer);
            if trace.kind(writer) != OpKind::Rmw {
                break;
            }
            value = trace.read(writer);
        }
        ops.sort_unstable();
        let mut part = trace.restricted_to(&ops, |_| false, |_| false);
        part.resolve(&mut ResolveScratch::default()).ok()?;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_update_is_found_behind_a_sum_that_was_written_twice() {
        let mut trace = Trace::new();
        let threads = [0, 1, 2].map(|t| trace.thread_id(t));
        let x = trace.memory_id(0);
        trace.push_store(threads[0], x, 100, 1);
        trace.push_rmw(threads[0], x, 100, 103, 2); // lost
        trace.push_rmw(threads[1], x, 100, 101, 3);
        trace.push_rmw(threads[2], x, 101, 103, 4);
        trace.push_load(threads[2], x, 103, 5);
        assert!(trace.clone().resolve(&mut ResolveScratch::default()).is_err());
        let part = part(&trace).unwrap();
        assert_eq!(part.ops().map(|op| part.line(op)).collect::<Vec<_>>(), [1, 2, 3]);
        let model = membar::model::load("rmo").unwrap();
        let decision = membar::Checker::new().decide(&part, &model, &membar::Limits::default());
        assert_eq!(decision, membar::check::Decision::Forbidden);
    }
}
