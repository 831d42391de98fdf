//! The checker against the oracle, with every certificate re-checked.

use crate::{rebuilt, text};
use membar_certify::Certifier;
use membar_check::{Checker, Limits, Plan};
use membar_core::{Model, Op, OpKind, Source, Trace, Verdict};
use membar_testkit::orders;

/// Asserts that the checker agrees with the oracle under every built-in model, and that weaker models allow more: of the
/// first five, each is weaker than the one before; the others are not in line.
/// The checkers' buffers are used for all of it.
pub fn agree_everywhere(trace: &Trace, checkers: &mut [Checker; 2]) {
    let mut stronger = false;
    for (i, model) in membar_model::builtins().iter().enumerate() {
        let allowed = agree(trace, model, checkers);
        assert!(allowed || !stronger || i >= 5, "a stronger model than {} allows this:\n{}", model.name, text(trace));
        stronger = allowed;
    }
}

/// Asserts that the checker agrees with the oracle; says whether the model allows the trace.
pub fn agree(trace: &Trace, model: &Model, checkers: &mut [Checker; 2]) -> bool {
    let expected = orders::decide(trace, model);
    for (checker, plan) in checkers.iter_mut().zip([Plan::Fast, Plan::Paper]) {
        let outcome = checker.check(trace, model, &Limits::default());
        let shown = || format!("{plan:?}, {model:?}, {:#?}:\n{}", outcome.verdict, text(trace));
        assert_eq!(matches!(outcome.verdict, Verdict::Allowed(_)), expected, "the oracle differs: {}", shown());
        assert!(!matches!(outcome.verdict, Verdict::Undecided { .. }), "undecided without limits: {}", shown());
        if let Err(flaw) = Certifier::new().verdict(trace, model, &outcome.verdict) {
            panic!("{flaw}: {}", shown());
        }
        if let Verdict::Forbidden(proof) = &outcome.verdict
            && plan == Plan::Fast
        {
            let part = checker.shrink(trace, model, &Limits::default());
            let part = part.unwrap_or_else(|| panic!("no smallest part: {}", shown()));
            assert!(!orders::decide(&part.trace, model), "the part\n{}is allowed: {}", text(&part.trace), shown());
            if let Some(blame) = checker.blame(trace, model, proof, &Limits::default()) {
                assert!(!blame.legal.is_empty(), "no legal value: {}", shown());
                for source in sources(trace, blame.read) {
                    let listed = blame.legal.iter().any(|legal| legal.source == source);
                    let legal =
                        with_source(trace, blame.read, source).is_some_and(|other| orders::decide(&other, model));
                    let right = if blame.all { listed == legal } else { legal || !listed };
                    assert!(right, "{source:?} is legal: {legal}, but {blame:?}: {}", shown());
                }
            }
        }
    }
    expected
}

/// Everything that a read could return.
fn sources(trace: &Trace, read: membar_core::OpId) -> Vec<Source> {
    let writes = trace.ops().filter(|&op| trace.kind(op).writes() && trace.addr(op) == trace.addr(read));
    [Source::INIT].into_iter().chain(writes.map(Source::op)).collect()
}

fn with_source(trace: &Trace, read: membar_core::OpId, source: Source) -> Option<Trace> {
    let mut ops: Vec<Op> = trace.ops().map(|op| trace.op(op)).collect();
    debug_assert!(matches!(ops[read.index()].kind, OpKind::Load | OpKind::Rmw));
    ops[read.index()].read = source.as_op().map_or(trace.initial(trace.addr(read)), |op| trace.write(op));
    rebuilt(trace, &ops)
}
