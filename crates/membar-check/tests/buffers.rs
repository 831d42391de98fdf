//! Machines with many threads: what they record is allowed by their model, and one wrong value is found or explained.

use membar_certify::Certifier;
use membar_check::{Checker, Limits};
use membar_core::{Model, Trace, Verdict};
use membar_stress::{Machine, Mix, Observe, Workload, corrupt, simulate};

fn verdict(trace: &Trace, model: &Model, what: &str) -> Verdict {
    let verdict = Checker::new().verdict(trace, model, &Limits::default()).verdict;
    Certifier::new().verdict(trace, model, &verdict).unwrap_or_else(|flaw| panic!("{what}: {flaw:?}"));
    verdict
}

/// Seeds of each size.
const SEEDS: u64 = 3;

#[test]
fn machines_obey_their_models() {
    for machine in [Machine::Tso, Machine::Pso, Machine::Wmo] {
        let model = membar_model::builtins().iter().find(|model| model.name == machine.model()).expect("built in");
        for (threads, addresses, ops) in [(32, 8, 1500), (32, 64, 3000), (128, 24, 3000), (512, 24, 4400)] {
            for mix in [Mix::PAPER, Mix::LOADS_STORES] {
                for seed in 1..=SEEDS {
                    let work = Workload { threads, addresses, ops, mix, seed };
                    let what = format!("{} {work:?}", machine.name());
                    let trace = simulate(&work, machine, Observe::default());
                    assert!(matches!(verdict(&trace, model, &what), Verdict::Allowed(_)), "{what}");
                    let wrong = corrupt(&trace, seed).expect("some read has another value").trace;
                    verdict(&wrong, model, &what);
                }
            }
        }
    }
}
