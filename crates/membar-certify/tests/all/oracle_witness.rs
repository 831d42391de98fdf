//! The fast witness check against the definition, on all permutations of random small traces.

use crate::common;
use common::{
    ANY, Definition, Random, Recipe, lock_models, models, permutations, random_model, random_sessions, random_trace,
};
use membar_certify::{Certifier, Flaw};
use membar_core::{Model, OpId, Trace, Witness};

/// How often each answer was given.
#[derive(Default, Debug)]
struct Count {
    allowed: u64,
    refused: u64,
    times: u64,
    overwritten: u64,
}

fn compare(certifier: &mut Certifier, trace: &Trace, model: &Model, count: &mut Count) {
    let definition = Definition::new(trace, model);
    let mut ops: Vec<OpId> = trace.memory_ops().collect();
    permutations(&mut ops, &mut |order| {
        let witness = Witness { order: order.to_vec() };
        let fast = certifier.witness(trace, model, &witness);
        let slow = definition.relation(order).is_some();
        assert_eq!(fast.is_ok(), slow, "{model:#?}: {order:?} of {trace:#?}: {fast:?}");
        count.allowed += slow as u64;
        count.refused += !slow as u64;
        count.times += matches!(fast, Err(Flaw::Time { .. })) as u64;
        count.overwritten += matches!(fast, Err(Flaw::Overwritten { .. } | Flaw::FinalOverwritten { .. })) as u64;
    });
}

/// Mostly traces in which every value that is read is written.
fn readable(random: &mut Random, recipe: Recipe) -> Option<Trace> {
    let sessions = recipe.locked == 1 && random.one_in(10);
    let trace = if sessions { random_sessions(random)? } else { random_trace(random, recipe)? };
    (!trace.has_unwritten() || random.one_in(20)).then_some(trace)
}

#[test]
fn oracle_all_permutations() {
    let mut random = Random(0x5EED);
    let mut certifier = Certifier::new();
    let mut by_model: Vec<Count> = models().iter().map(|_| Count::default()).collect();
    let mut traces = 0;
    while traces < 6_000 {
        let most = if traces % 10 == 0 { 6 } else { 5 };
        let Some(trace) = random_trace(&mut random, Recipe { most, ..ANY }) else { continue };
        traces += 1;
        for (model, count) in models().iter().zip(&mut by_model) {
            compare(&mut certifier, &trace, model, count);
        }
    }
    // Not vacuous: both answers are common, under every model.
    assert!(by_model.iter().all(|count| count.allowed > 500 && count.refused > 10_000), "{by_model:?}");
}

#[test]
#[ignore = "long"]
fn oracle_sessions_guards_and_partial_orders() {
    let mut random = Random(0x10C5);
    let mut certifier = Certifier::new();
    let mut by_model: Vec<Count> = lock_models().iter().map(|_| Count::default()).collect();
    let mut traces = 0;
    while traces < 3_000 {
        let most = if traces % 20 == 0 { 7 } else { 6 };
        let recipe = Recipe { most, locked: 1, timed: 6 };
        let Some(trace) = readable(&mut random, recipe) else { continue };
        traces += 1;
        for (model, count) in lock_models().iter().zip(&mut by_model) {
            compare(&mut certifier, &trace, model, count);
        }
    }
    assert!(by_model.iter().all(|count| count.allowed > 2_000 && count.refused > 50_000), "{by_model:?}");
    assert!(by_model[6..].iter().all(|count| count.overwritten > 100), "{by_model:?}");
}

#[test]
fn oracle_any_model() {
    let mut random = Random(0xA11);
    let mut certifier = Certifier::new();
    let (mut total, mut partial, mut traces) = (Count::default(), Count::default(), 0);
    while traces < 12_000 {
        let recipe = Recipe { most: if traces % 20 == 0 { 7 } else { 6 }, locked: 2, timed: 2 };
        let Some(trace) = readable(&mut random, recipe) else { continue };
        traces += 1;
        let model = random_model(&mut random);
        compare(&mut certifier, &trace, &model, if model.write_order { &mut total } else { &mut partial });
    }
    assert!(total.allowed > 10_000 && total.refused > 100_000 && total.times > 1_000, "{total:?}");
    assert!(partial.allowed > 10_000 && partial.refused > 100_000 && partial.overwritten > 5_000, "{partial:?}");
}
