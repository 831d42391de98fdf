//! Does a condition about marks, dependencies or what was read keep two operations of a thread in order?
//!
//! [`crate::ppo`] lists such pairs as few edges; this looks at one pair, to name its rule in a proof.

use membar_core::{Condition, Depends, Marks, OpId, OpKind, Rule, Trace};

/// The marks that the earlier and the later operation must have for this condition, if it is about marks.
pub(crate) fn marks(condition: Condition) -> Option<[Option<Marks>; 2]> {
    match condition {
        Condition::EarlierAcquires => Some([Some(Marks::ACQUIRES), None]),
        Condition::LaterReleases => Some([None, Some(Marks::RELEASE)]),
        Condition::ReleaseAcquire => Some([Some(Marks::RELEASE), Some(Marks::ACQUIRE)]),
        _ => None,
    }
}

/// The kind of dependency that this condition is about.
pub(crate) fn dependency(condition: Condition) -> Option<Depends> {
    match condition {
        Condition::Address => Some(Depends::Address),
        Condition::Data => Some(Depends::Data),
        Condition::Control => Some(Depends::Control),
        _ => None,
    }
}

/// Can a load not be given its value before it is in memory: is it a read-modify-write or a store conditional?
pub(crate) fn is_atomic(trace: &Trace, op: OpId) -> bool {
    trace.kind(op) == OpKind::Rmw || trace.marks(op).meets(Marks::CONDITIONAL)
}

/// The rule, if the condition holds for an earlier and a later operation of one thread that have the kinds it is for.
pub(crate) fn rule(trace: &Trace, by: Condition, earlier: OpId, later: OpId) -> Option<Rule> {
    let thread = trace.thread_ops(trace.thread(earlier));
    let between = &thread[trace.po(earlier) as usize + 1..trace.po(later) as usize];
    let own_source = || trace.source(later).as_op().filter(|source| between.contains(source));
    let mut through = None;
    let holds = match by {
        Condition::AnotherStore => {
            let overwrites = |&op: &OpId| trace.kind(op).writes() && trace.addr(op) == trace.addr(later);
            trace.addr(earlier) == trace.addr(later)
                && trace.source(earlier) != trace.source(later)
                && !between.iter().any(overwrites)
        }
        Condition::FromAtomic => trace.source(later).as_op() == Some(earlier) && is_atomic(trace, earlier),
        Condition::Address | Condition::Data | Condition::Control => {
            dependency(by).is_some_and(|how| trace.depends(later, how, earlier))
        }
        Condition::ThroughStore => {
            let depends =
                |&store: &OpId| [Depends::Address, Depends::Data].iter().any(|&how| trace.depends(store, how, earlier));
            through = own_source().filter(depends);
            through.is_some()
        }
        Condition::PastAddress => {
            through = between.iter().copied().find(|&op| trace.depends(op, Depends::Address, earlier));
            through.is_some()
        }
        Condition::PastIsb => {
            let isb = between.iter().rposition(|&op| trace.marks(op).meets(Marks::ISB));
            let waits = |&&op: &&OpId| {
                trace.depends(op, Depends::Control, earlier) || trace.depends(op, Depends::Address, earlier)
            };
            through = isb.and_then(|isb| between[..=isb].iter().find(waits).map(|_| between[isb]));
            through.is_some()
        }
        Condition::AcquireFromPair => {
            through = own_source().filter(|&store| trace.reservation(store) == Some(earlier));
            through.is_some() && trace.marks(later).meets(Marks::ACQUIRES)
        }
        Condition::EarlierAcquires | Condition::LaterReleases | Condition::ReleaseAcquire => {
            let [first, second] = marks(by).unwrap_or_default();
            let has = |op: OpId, wanted: Option<Marks>| wanted.is_none_or(|wanted| trace.marks(op).meets(wanted));
            has(earlier, first) && has(later, second)
        }
    };
    holds.then_some(Rule::Kept { by, through })
}
