//! The checker against the oracles, on small random traces of which many are one step from legal, with every certificate
//! re-checked.
//!
//! `MEMBAR_ORACLE_TRACES=100000 cargo test --release -p membar-check --test oracle` runs the long version.

use membar_certify::Certifier;
use membar_check::{Algorithm, Checker, Decision, Limits, Plan};
use membar_core::{Model, Trace, Verdict};
use membar_oracle::{fixpoint, machine, orders};
use membar_stress::{Small, small};

fn traces() -> u64 {
    std::env::var("MEMBAR_ORACLE_TRACES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000)
}

/// What must not stay at zero for a suite to mean anything.
#[derive(Default, Debug)]
struct Tally {
    allowed: [u64; 5],
    forbidden: [u64; 5],
    searched: u64,
    splits: u64,
}

fn check(checkers: &mut [Checker], trace: &Trace, models: &[Model], tally: &mut Tally, seed: u64) {
    let mut certifier = Certifier::new();
    let mut wider_allowed = false;
    for (i, model) in models.iter().enumerate() {
        let context = || {
            let mut text = Vec::new();
            membar_trace::write_trace(trace, &mut text).unwrap();
            format!("seed {seed}, {}:\n{}", model.name, String::from_utf8(text).unwrap())
        };
        let expected = orders::decide(trace, model);
        if let Some(machine) = machine_of(&model.name) {
            assert_eq!(machine::decide(trace, machine), expected, "the oracles differ: {}", context());
        }
        for checker in checkers.iter_mut() {
            let outcome = checker.check(trace, model, &Limits::default());
            let allowed = matches!(outcome.verdict, Verdict::Allowed(_));
            assert_eq!(allowed, expected, "{}", context());
            if let Err(flaw) = certifier.verdict(trace, model, &outcome.verdict) {
                panic!("{flaw}\n{:#?}\n{}", outcome.verdict, context());
            }
            let raw = checker.verdict(trace, model, &Limits::default()).verdict;
            if let Err(flaw) = certifier.verdict(trace, model, &raw) {
                panic!("as found: {flaw}\n{raw:#?}\n{}", context());
            }
            tally.searched += (outcome.algorithm == Algorithm::Search) as u64;
            if let Verdict::Forbidden(membar_core::Proof::Cycle(lemmas)) = &outcome.verdict {
                tally.splits += (lemmas.len() > 1) as u64;
            }
        }
        if fixpoint::refute(trace, model) == fixpoint::Outcome::Refuted {
            assert!(!expected, "the fixed point refutes an allowed trace: {}", context());
        }
        assert!(expected || !wider_allowed, "a stronger model allows more: {}", context());
        wider_allowed = expected;
        let counts = if expected { &mut tally.allowed } else { &mut tally.forbidden };
        counts[i] += 1;
    }
}

fn machine_of(model: &str) -> Option<machine::Machine> {
    match model {
        "sc" => Some(machine::Machine::Sc),
        "tso" => Some(machine::Machine::Tso),
        "pso" => Some(machine::Machine::Pso),
        "wmo" => Some(machine::Machine::Wmo),
        _ => None,
    }
}

fn compare(knobs: &Small, first_seed: u64, count: u64) -> Tally {
    let models = membar_model::builtins();
    let mut tally = Tally::default();
    // Reused, so that nothing of one trace may leak into the next.
    let mut checkers = [Checker::new(), Checker::with_plan(Plan::Paper), Checker::with_allowance(Plan::Fast, 1)];
    for seed in first_seed..first_seed + count {
        check(&mut checkers, &small(knobs, seed), models, &mut tally, seed);
    }
    tally
}

fn assert_not_vacuous(tally: &Tally, count: u64) {
    for i in 0..5 {
        assert!(tally.allowed[i] * 20 > count, "{tally:?}");
        assert!(tally.forbidden[i] * 20 > count, "{tally:?}");
    }
}

#[test]
fn oracle_plain() {
    let tally = compare(&Small::PLAIN, 0, traces());
    eprintln!("{tally:?}");
    assert_not_vacuous(&tally, traces());
}

#[test]
fn oracle_everything() {
    let tally = compare(&Small::ALL, 1 << 32, traces());
    eprintln!("{tally:?}");
    assert_not_vacuous(&tally, traces());
}

/// Models that no machine has: random tables, with and without store forwarding, lock exclusion and full `sync`.
#[test]
fn oracle_odd_models() {
    let mut rng = membar_stress::Rng::new(7);
    let mut certifier = Certifier::new();
    let mut counts = [0u64; 2];
    for seed in 0..traces() {
        let trace = small(&Small::ALL, (2 << 32) + seed);
        let mut when = |least_same: bool| membar_core::When {
            always: rng.chance(1, 3),
            same_address: least_same || rng.chance(1, 2),
            time: rng.chance(1, 3),
        };
        let ppo = membar_core::Ppo {
            load_load: when(false),
            load_store: when(true),
            store_load: when(false),
            store_store: when(true),
        };
        let model = Model {
            name: "odd".into(),
            title: String::new(),
            about: String::new(),
            ppo,
            sync: membar_core::Mask::from_bits(rng.below(16) as u8),
            store_forwarding: rng.chance(2, 3),
            coherence: false,
            lock_exclusion: rng.chance(2, 3),
        };
        let expected = orders::decide(&trace, &model);
        let raw = Checker::new().verdict(&trace, &model, &Limits::default()).verdict;
        certifier.verdict(&trace, &model, &raw).unwrap_or_else(|flaw| panic!("seed {seed}: {flaw}\n{raw:#?}"));
        let outcome = Checker::new().check(&trace, &model, &Limits::default());
        let context = || {
            let mut text = Vec::new();
            membar_trace::write_trace(&trace, &mut text).unwrap();
            format!("seed {seed}, {model:?}:\n{}", String::from_utf8(text).unwrap())
        };
        assert_eq!(matches!(outcome.verdict, Verdict::Allowed(_)), expected, "{}", context());
        if let Err(flaw) = certifier.verdict(&trace, &model, &outcome.verdict) {
            panic!("{flaw}\n{:#?}\n{}", outcome.verdict, context());
        }
        assert_eq!(
            Checker::with_plan(Plan::Paper).decide(&trace, &model, &Limits::default()),
            match expected {
                true => Decision::Allowed,
                false => Decision::Forbidden,
            }
        );
        counts[expected as usize] += 1;
    }
    assert!(counts.iter().all(|&count| count * 10 > traces()), "{counts:?}");
}
