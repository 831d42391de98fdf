//! What the fuzz targets share: bytes to traces, traces to text, and comparing with the oracle.

mod agree;
mod decode;

pub use agree::{agree, agree_everywhere};
pub use decode::{Traces, rebuilt};

use membar_core::Trace;

/// The trace as text, for messages.
pub fn text(trace: &Trace) -> String {
    let mut text = Vec::new();
    membar_trace::write_trace(trace, &mut text).expect("a trace of ours can be written");
    String::from_utf8(text).expect("a trace is text")
}

/// Asserts that two traces say the same, whatever their line numbers.
pub fn assert_same(left: &Trace, right: &Trace) {
    assert_eq!(left.len(), right.len());
    for op in left.ops() {
        let (mut l, mut r) = (left.op(op), right.op(op));
        (l.line, r.line) = (0, 0);
        assert_eq!(l, r);
        assert_eq!(left.source(op), right.source(op));
    }
    assert_eq!(left.thread_names(), right.thread_names());
    assert_eq!(left.addr_names(), right.addr_names());
    let pairs = |trace: &Trace| {
        let inits: Vec<_> = trace.inits.iter().map(|line| (line.addr, line.value)).collect();
        let finals: Vec<_> = trace.finals.iter().map(|line| (line.addr, line.value)).collect();
        let orders: Vec<_> = trace.orders.iter().map(|line| (line.addr, line.values.clone())).collect();
        let guards: Vec<_> = trace.guards.iter().map(|line| (line.lock, line.addrs.clone())).collect();
        (inits, finals, orders, guards)
    };
    assert_eq!(pairs(left), pairs(right));
}
