//! The paper's figures, and cases that only one part of the checker can decide.

use crate::common::model;
use membar_certify::Certifier;
use membar_check::{Algorithm, Checker, Limits, Outcome, Plan};
use membar_core::{Model, Proof, Trace, Verdict};
use membar_testkit::figures;

fn certified(trace: &Trace, model: &Model, plan: Plan) -> Outcome {
    let outcome = Checker::with_plan(plan).check(trace, model, &Limits::default());
    Certifier::new().verdict(trace, model, &outcome.verdict).expect("a sound certificate");
    outcome
}

fn allowed(trace: &Trace, name: &str) -> bool {
    let [fast, paper] = [Plan::Fast, Plan::Paper].map(|plan| certified(trace, model(name), plan).verdict);
    assert_eq!(fast.name(), paper.name());
    matches!(fast, Verdict::Allowed(_))
}

#[test]
fn figure_2_violates_tso() {
    let trace = figures::fig2();
    assert!(!allowed(&trace, "sc"));
    assert!(!allowed(&trace, "tso"));
    // By the rules alone, as the paper says.
    assert_eq!(certified(&trace, model("tso"), Plan::Paper).algorithm, Algorithm::Rules);
}

#[test]
fn figure_5_is_allowed() {
    assert!(allowed(&figures::fig5(), "tso"));
}

#[test]
fn figure_5_doubled_needs_the_search() {
    let trace = figures::fig5_doubled();
    assert!(!allowed(&trace, "tso"));
    let outcome = certified(&trace, model("tso"), Plan::Paper);
    assert_eq!(outcome.algorithm, Algorithm::Search);
    let Verdict::Forbidden(Proof::Cycle(lemmas)) = outcome.verdict else { panic!("a proof by cases") };
    assert!(lemmas.len() > 1, "rules alone do not refute it");
}

/// Orders of `stores` writes that only case splits reveal: allowed exactly if the implied orders have no cycle.
#[test]
fn implied_orders_of_any_size() {
    for n in [2, 3, 5, 8] {
        let chain: Vec<(u32, u32)> = (0..n - 1).map(|i| (i, i + 1)).collect();
        let mut ring = chain.clone();
        ring.push((n - 1, 0));
        for name in ["sc", "tso"] {
            assert!(allowed(&figures::implied_orders(n, &chain), name), "chain of {n} under {name}");
            assert!(!allowed(&figures::implied_orders(n, &ring), name), "ring of {n} under {name}");
        }
    }
}

/// A thread that spins on a value, a million times: nothing may be quadratic in the number of readers.
#[test]
fn many_readers_of_one_write() {
    let mut trace = Trace::new();
    let (a, b, c) = (trace.thread_id(0), trace.thread_id(1), trace.thread_id(2));
    let (x, y) = (trace.named_id("x"), trace.named_id("y"));
    trace.push_store(a, y, 1, 1);
    trace.push_store(a, x, 1, 2);
    for _ in 0..100_000 {
        trace.push_load(b, x, 0, 3);
        trace.push_load(c, x, 0, 3);
    }
    trace.push_load(b, x, 1, 4);
    trace.push_load(b, y, 0, 5);
    trace.resolve(&mut Default::default()).unwrap();
    assert!(!allowed(&trace, "tso"));
    assert!(allowed(&trace, "pso"));
}

/// Limits that are hit are said so.
#[test]
fn limits_give_undecided() {
    let ring: Vec<(u32, u32)> = (0..40).map(|i| (i, (i + 1) % 40)).collect();
    let trace = figures::implied_orders(40, &ring);
    let limits = Limits { memory: Some(1000), ..Limits::default() };
    let outcome = Checker::new().check(&trace, model("tso"), &limits);
    assert!(matches!(outcome.verdict, Verdict::Undecided { reason: membar_core::Undecided::Memory, .. }));
    let limits = Limits::default().within(std::time::Duration::ZERO);
    let outcome = Checker::new().check(&trace, model("tso"), &limits);
    assert!(matches!(outcome.verdict, Verdict::Undecided { reason: membar_core::Undecided::Time, .. }));
}

fn parse(text: &str) -> Trace {
    membar_trace::parse("test", text.as_bytes()).expect("a trace").remove(0)
}

/// The proof as found once had the read-modify-write both as the read and as the other write of R6.
#[test]
fn regression_load_of_its_own_later_read_modify_write() {
    let trace = parse("0: x := 1\n0: x == 2\n0: { x == 1; x := 2 }\ncheck\n");
    for model in membar_model::builtins() {
        let outcome = Checker::new().verdict(&trace, model, &Limits::default());
        assert!(matches!(outcome.verdict, Verdict::Forbidden(_)));
        Certifier::new().verdict(&trace, model, &outcome.verdict).expect("a sound certificate");
    }
}

/// Which reader of a write was the first to wait was once kept from one attempt to the next.
#[test]
fn regression_search_after_inference_starts_afresh() {
    let workload = membar_simulate::Workload {
        threads: 24,
        addresses: 4,
        ops: 6000,
        mix: membar_simulate::Mix::LOADS_STORES,
        seed: 1,
    };
    let trace = membar_simulate::simulate(&workload, membar_simulate::Machine::Pso, Default::default());
    for allowance in [1, 10, 100] {
        let mut checker = Checker::with_allowance(Plan::Fast, allowance);
        let outcome = checker.verdict(&trace, model("pso"), &Limits::default());
        assert!(matches!(outcome.verdict, Verdict::Allowed(_)));
        Certifier::new().verdict(&trace, model("pso"), &outcome.verdict).expect("a sound certificate");
    }
}
