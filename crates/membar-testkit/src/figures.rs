//! Traces from Manovit and Hangal, "Efficient Algorithms for Verifying Memory Consistency" (SPAA 2005).
//!
//! The figures name processors from P0 and locations A, B, C; here they are threads and named addresses. Figure 5 shows
//! only how its six key operations are ordered; [`fig5`] obtains those orders with flags that one thread writes and
//! another reads.

use membar_core::{AddrId, ResolveScratch, ThreadId, Trace};

/// Pushes operations thread by thread.
struct Build {
    trace: Trace,
    thread: ThreadId,
}

impl Build {
    fn new() -> Build {
        let mut trace = Trace::new();
        trace.clear(1);
        Build { trace, thread: ThreadId(0) }
    }

    fn addr(&mut self, name: &str) -> AddrId {
        self.trace.named_id(name)
    }

    /// The following operations are by thread `name`.
    fn by(&mut self, name: u32) -> &mut Build {
        self.thread = self.trace.thread_id(name);
        self
    }

    fn store(&mut self, addr: &str, value: u64) -> &mut Build {
        let (addr, line) = (self.addr(addr), self.trace.len() as u64 + 1);
        self.trace.push_store(self.thread, addr, value, line);
        self
    }

    fn load(&mut self, addr: &str, value: u64) -> &mut Build {
        let (addr, line) = (self.addr(addr), self.trace.len() as u64 + 1);
        self.trace.push_load(self.thread, addr, value, line);
        self
    }

    fn finish(mut self) -> Trace {
        let resolved = self.trace.resolve(&mut ResolveScratch::default());
        debug_assert!(resolved.is_ok(), "{resolved:?}");
        self.trace
    }
}

/// Figure 2: forbidden by TSO, and the fixed point of rules R1 to R7 finds the cycle.
pub fn fig2() -> Trace {
    let mut b = Build::new();
    b.by(0).store("B", 91).store("A", 1).load("A", 2);
    b.by(1).store("A", 2);
    b.by(2).store("B", 92).load("A", 2).load("B", 92);
    b.by(3).load("B", 92).load("B", 91);
    b.finish()
}

/// Both stores of 3 and 4 to B come before the store of 2 to A, both loads that see them after the store of 1 to A.
fn half(b: &mut Build) {
    b.by(0).store("B", 3).store("F", 7);
    b.by(1).store("B", 4).store("G", 8);
    b.by(4).load("A", 1).load("B", 3);
    b.by(5).load("A", 1).load("B", 4);
}

/// Figure 5: allowed, with the store of 1 to A before the store of 2 in every memory order; the fixed point of R1 to R7
/// leaves the two unordered.
pub fn fig5() -> Trace {
    let mut b = Build::new();
    half(&mut b);
    b.by(2).load("F", 7).load("G", 8).store("A", 2);
    b.by(3).store("A", 1);
    b.finish()
}

/// Figure 5 and its mirror image on location C (section 4.5): now each of the two stores to A would have to be before
/// the other, so TSO forbids it, but the fixed point of R1 to R7 has no cycle.
pub fn fig5_doubled() -> Trace {
    let mut b = Build::new();
    half(&mut b);
    b.by(6).store("C", 5).store("H", 9);
    b.by(7).store("C", 6).store("I", 10);
    b.by(8).load("A", 2).load("C", 5);
    b.by(9).load("A", 2).load("C", 6);
    b.by(2).load("F", 7).load("G", 8).store("A", 2);
    b.by(3).load("H", 9).load("I", 10).store("A", 1);
    b.finish()
}

/// Figure 5 made general: threads 0 to `stores - 1` each store to A, and for each pair `(i, j)` a copy of the figure's
/// other operations, on its own location, forces the store of thread `i` before that of thread `j`.
///
/// SC and TSO allow it exactly if the pairs have no cycle. The fixed point of R1 to R7 leaves all stores to A
/// unordered, so every forbidden trace of this family takes a search over their orders.
pub fn implied_orders(stores: u32, pairs: &[(u32, u32)]) -> Trace {
    let mut b = Build::new();
    for t in 0..stores {
        b.by(t);
        for (n, _) in pairs.iter().enumerate().filter(|(_, pair)| pair.1 == t) {
            b.load(&format!("F{n}"), 1).load(&format!("G{n}"), 1);
        }
        b.store("A", 1 + t as u64);
    }
    for (n, &(first, _)) in pairs.iter().enumerate() {
        let (thread, data) = (stores + 4 * n as u32, format!("B{n}"));
        b.by(thread).store(&data, 1).store(&format!("F{n}"), 1);
        b.by(thread + 1).store(&data, 2).store(&format!("G{n}"), 1);
        b.by(thread + 2).load("A", 1 + first as u64).load(&data, 1);
        b.by(thread + 3).load("A", 1 + first as u64).load(&data, 2);
    }
    b.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use membar_core::Source;

    #[test]
    fn every_read_has_a_source() {
        for (trace, ops, threads) in
            [(fig2(), 9, 4), (fig5(), 12, 6), (fig5_doubled(), 22, 10), (implied_orders(3, &[(0, 1), (2, 1)]), 23, 11)]
        {
            assert_eq!((trace.len(), trace.threads()), (ops, threads));
            assert!(trace.ops().all(|op| trace.source(op) != Source::UNWRITTEN && trace.source(op) != Source::INIT));
        }
    }
}
