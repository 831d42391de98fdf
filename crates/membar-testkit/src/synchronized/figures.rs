//! The figures of Lv and others (technical report, 2014) that show executions, and two that the paper's algorithm overlooks.

use super::resolved;
use membar_core::{Clock, Compare, Span, Trace};

/// A trace from one line each: thread, what, name, value, begin and end. `=` stores, `?` loads, `(` acquires, `)` releases.
fn listed(lines: &[(u32, char, &str, u64, u64, u64)]) -> Trace {
    let mut trace = Trace::new();
    trace.clear(1);
    for (&(thread, what, name, value, begin, end), line) in lines.iter().zip(1..) {
        let thread = trace.thread_id(thread);
        let addr = if matches!(what, '(' | ')') { trace.lock_id(name) } else { trace.named_id(name) };
        let op = match what {
            '=' => trace.push_store(thread, addr, value, line),
            '?' => trace.push_load(thread, addr, value, line),
            '(' => trace.push_acquire(thread, addr, line),
            _ => trace.push_release(thread, addr, line),
        };
        trace.set_span(op, Span { begin: Some(begin), end: Some(end) });
    }
    let mut trace = resolved(trace);
    trace.set_clock(Clock { compare: Compare::Everything, ..Clock::default() });
    trace
}

/// Figure 1 of Lv and others: store buffering in which no two pending periods of a thread overlap, on one clock. TSO allows
/// it, since both stores may still be in their buffers when they end.
pub fn figure_1() -> Trace {
    listed(&[(1, '=', "A", 1, 10, 20), (1, '?', "B", 0, 30, 40), (2, '=', "B", 1, 12, 22), (2, '?', "A", 0, 32, 42)])
}

/// Figure 2: the same where the stores' periods last until they are performed, so that nothing is ordered by time.
pub fn figure_2() -> Trace {
    listed(&[(1, '=', "A", 1, 10, 50), (1, '?', "B", 0, 30, 40), (2, '=', "B", 1, 12, 52), (2, '?', "A", 0, 32, 42)])
}

/// Figure 1 with a third thread that has read the first store before the load that misses it begins: forbidden by all
/// models with one clock.
pub fn figure_1_observed() -> Trace {
    listed(&[
        (1, '=', "A", 1, 10, 20),
        (1, '?', "B", 0, 30, 40),
        (2, '=', "B", 1, 12, 22),
        (2, '?', "A", 0, 32, 42),
        (3, '?', "A", 1, 24, 28),
    ])
}

/// Figure 3: a bug of Godson-T. Under their own locks, thread 2 reads the newer of two stores, and when it has done so,
/// thread 3 still reads the older one. Without times that is allowed by all models but those with a total order of
/// everything; with one clock it is forbidden, scope consistency included.
pub fn figure_3() -> Trace {
    listed(&[
        (1, '(', "l1", 0, 10, 12),
        (1, '=', "A", 1, 14, 16),
        (1, '=', "A", 2, 30, 32),
        (1, ')', "l1", 0, 60, 62),
        (2, '(', "l2", 0, 34, 36),
        (2, '?', "A", 2, 38, 42),
        (2, ')', "l2", 0, 60, 64),
        (3, '(', "l3", 0, 18, 20),
        (3, '?', "A", 1, 22, 26),
        (3, '?', "A", 1, 46, 50),
        (3, ')', "l3", 0, 60, 66),
    ])
}

/// A stale read that the paper's function `FindTimedPath` overlooks where it visits the store of 1 before that of 2: that
/// store is read by nobody and so never surely performed, and stands between the stale read and the store of 2.
pub fn overlooked() -> Trace {
    listed(&[(1, '=', "A", 1, 0, 1), (2, '=', "A", 2, 0, 1), (3, '?', "A", 2, 2, 3), (4, '?', "A", 0, 5, 6)])
}

/// A cycle whose one pair in time order, the loads of threads 1 and 2, holds none of the stores: those, and the load of
/// thread 5, were pending all the time. Forbidden where a load keeps its place before a later store; the paper's function
/// overlooks it where it visits the store to Y first.
pub fn overlooked_both_ways() -> Trace {
    listed(&[
        (1, '?', "Y", 1, 10, 20),
        (2, '?', "A", 0, 30, 40),
        (3, '=', "A", 1, 0, 100),
        (4, '=', "A", 2, 0, 100),
        (5, '?', "A", 2, 0, 100),
        (5, '=', "Y", 1, 0, 100),
    ])
}
