//! Final states against the machines of the oracle, on random programs with everything that programs can have.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-litmus --test all oracle::` runs more of them.

use membar_litmus::{
    Arch, Code, Condition, Int, Limits, LitmusTest, Location, Method, Model, Prop, Quantifier, Spot, outcomes,
    outcomes_by,
};
use membar_simulate::Rng;
use membar_testkit::programs::{self, Memory};
use membar_testkit::random::{Knobs, random_program};
use membar_testkit::rc11;
use membar_testkit::shorthand::{Known, corpus};
use std::collections::BTreeSet;

/// A test that shows every register and every cell, in the order of the oracle's values.
fn test(code: Code) -> LitmusTest {
    let mut locations = Vec::new();
    for (thread, text) in (0..).zip(&code.threads) {
        for reg in 0..text.regs.len() as u16 {
            let name = format!("{thread}:r{reg}");
            locations.push(Location { name, spot: Spot::Reg { thread, reg }, ty: Int::I64 });
        }
    }
    for (cell, text) in (0..).zip(&code.cells) {
        locations.push(Location { name: format!("[{}]", text.name), spot: Spot::Cell(cell), ty: text.ty });
    }
    LitmusTest {
        name: "random".into(),
        arch: Arch::C,
        doc: None,
        meta: Vec::new(),
        shown: locations.len(),
        locations,
        code,
        filter: None,
        condition: Condition { quantifier: Quantifier::Exists, prop: Prop::And(Vec::new()) },
        relaxed: None,
    }
}

#[test]
fn oracle_agrees_on_final_states() {
    let programs: u64 = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let limits = programs::Limits { max_configurations: 50_000, ..programs::Limits::default() };
    let (mut compared, mut enumerated) = (0, 0);
    for seed in 0..programs {
        let test = test(random_program(&mut Rng::new(5_000_000 + seed), &Knobs::ALL));
        for (model, memory) in [(Model::Sc, Memory::Sc), (Model::Tso, Memory::Tso), (Model::Pso, Memory::Pso)] {
            let Some(truth) = programs::finals(&test.code, memory, &limits) else { continue };
            for method in [Method::Machine, Method::Executions] {
                let Some(outcomes) = outcomes_by(method, &test, model, &Limits::default()) else { continue };
                assert!(outcomes.complete && outcomes.crash.is_none());
                let states: BTreeSet<Vec<u64>> = outcomes.states.into_iter().collect();
                assert_eq!(states, truth, "seed {seed} {model} {method:?}\n{:#?}", test.code);
                enumerated += u64::from(method == Method::Executions);
            }
            compared += 1;
        }
    }
    assert!(compared * 10 > programs * 27, "only {compared} compared");
    assert!(enumerated > programs, "only {enumerated} enumerated");
}

#[test]
fn oracle_agrees_on_final_states_under_c11() {
    let programs: u64 = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let limits = rc11::Limits { graphs: 20_000, ..rc11::Limits::default() };
    let (mut compared, mut weak) = (0, 0);
    for seed in 0..programs {
        let test = test(random_program(&mut Rng::new(6_000_000 + seed), &Knobs::C11));
        let Ok(truth) = rc11::enumerate(&test.code, &limits) else { continue };
        let outcomes = outcomes(&test, Model::C11, &Limits::default());
        assert!(outcomes.complete && outcomes.crash.is_none());
        assert_eq!(
            outcomes.positive + outcomes.negative,
            truth.rc11 as u64,
            "seed {seed}: executions\n{:#?}",
            test.code
        );
        let states: BTreeSet<Vec<u64>> = outcomes.states.into_iter().collect();
        assert_eq!(states, truth.states, "seed {seed}\n{:#?}", test.code);
        compared += 1;
        weak += u64::from(truth.rc11 > truth.sc);
    }
    assert!(compared * 10 > programs * 7 && weak * 20 > programs, "only {compared} compared, {weak} not SC");
}

#[test]
fn outcomes_of_the_c11_corpus() {
    for Known { test, title, rc11, sc } in corpus() {
        let outcomes = outcomes(&test, Model::C11, &Limits::default());
        assert_eq!(outcomes.positive + outcomes.negative, rc11 as u64, "{title}");
        assert_eq!(outcomes.positive > 0, rc11 != sc, "{title}");
    }
}
