//! The fast witness check against the definition, on all permutations of random small traces.

mod common;
use common::{Random, models, naive, permutations, random_trace};
use membar_certify::Certifier;
use membar_core::{OpId, Witness};

#[test]
fn oracle_all_permutations() {
    let mut random = Random(0x5EED);
    let mut certifier = Certifier::new();
    let (mut allowed, mut refused, mut traces) = (0u64, 0u64, 0);
    let mut by_model = vec![0u64; models().len()];
    while traces < 12_000 {
        let Some(trace) = random_trace(&mut random, if traces % 10 == 0 { 6 } else { 5 }) else { continue };
        traces += 1;
        let mut ops: Vec<OpId> = trace.memory_ops().collect();
        for (m, model) in models().iter().enumerate() {
            permutations(&mut ops, &mut |order| {
                let witness = Witness { order: order.to_vec() };
                let fast = certifier.witness(&trace, model, &witness);
                let slow = naive(&trace, model, order);
                assert_eq!(fast.is_ok(), slow, "{}: {order:?} of {trace:#?}: {fast:?}", model.name);
                if slow {
                    allowed += 1;
                    by_model[m] += 1;
                } else {
                    refused += 1;
                }
            });
        }
    }
    // Not vacuous: both answers are common, under every model.
    assert!(allowed > 10_000 && refused > 100_000, "{allowed} {refused}");
    assert!(by_model.iter().all(|&count| count > 500), "{by_model:?}");
}
