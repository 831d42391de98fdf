//! The conflict problem: the write order of every address is given.
//!
//! Problem: given reads-from and, for every address with several writes, their order, is there a memory order?
//!
//! Algorithm (4.1 of the paper): A1-A5 are R1-R5 and A6 is the given order, all of which [`crate::problem`] has put into
//! the graph; add A7, `L ≤ S'` for every read L and the write S' that immediately follows w(L); sort. The trace is
//! forbidden exactly if there is a cycle; otherwise the sorted order is a witness.
//!
//! Complexity: O(n), since each operation has at most one edge of each rule.
//!
//! Guarantees: complete. A read-modify-write that does not immediately follow its source shows as a cycle: A7 puts it
//! before the write in between, A6 after it.
//!
//! Deviations from the paper: reads-from edges from a thread's own earlier store (A4 excludes them) and R6 inside one
//! thread (see [`crate::problem`]) are shared with the read problem; the latter changes nothing here.
//!
//! References: Manovit, Hangal, SPAA 2005, 4.1.

use crate::problem::{Extra, NONE, Problem, Why};
use crate::sort::Sorter;
use membar_core::Trace;

/// Adds A7 and sorts. `true`: `sorter.order` is a memory order.
pub(crate) fn decide(trace: &Trace, p: &mut Problem, sorter: &mut Sorter) -> bool {
    let mut next = vec![NONE; p.ops + p.addrs];
    let mut first = vec![NONE; p.addrs];
    for extra in &p.extras[..p.static_extras] {
        if extra.why == Why::WriteOrder {
            next[extra.from as usize] = extra.to;
        }
    }
    for ops in trace.order_ops() {
        if let Some(&op) = ops.first() {
            first[trace.addr(op).index()] = p.node(op);
        }
    }
    for node in 0..p.ops as u32 {
        let x = p.addr[node as usize];
        if p.writes(node) && first[x as usize] == NONE {
            first[x as usize] = node;
        }
    }
    next[p.ops..].copy_from_slice(&first);
    let limit = p.extras.len() as u32;
    for node in 0..p.ops as u32 {
        let src = p.src[node as usize];
        if src != NONE {
            let later = next[src as usize];
            if later != NONE && later != node {
                p.extras.push(Extra::new(node, later, Why::AfterRead { limit }));
            }
        }
    }
    sorter.sort(p)
}
