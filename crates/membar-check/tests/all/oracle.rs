//! The checker against the oracles, on small random traces of which many are one step from legal, with every certificate
//! re-checked.
//!
//! `MEMBAR_ORACLE_TRACES=100000 cargo test --release -p membar-check --test all oracle::` runs the long version.

use crate::common::traces;
use membar_certify::Certifier;
use membar_check::{Algorithm, Checker, Decision, Limits, Plan};
use membar_core::{AddrId, AddrName, Clock, Compare, Guard, Kind, Model, Ppo, Trace, Verdict, When};
use membar_testkit::{Small, small};
use membar_testkit::{fixpoint, machine, orders};

/// Random traces, unless the environment asks for more.
const TRACES: u64 = 3000;

/// Counts that must not stay at zero for a suite to mean anything.
#[derive(Default, Debug)]
struct Tally {
    allowed: [u64; 11],
    forbidden: [u64; 11],
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
        // The first five are each stronger than the next; the synchronized ones are not in line.
        assert!(expected || !wider_allowed || i >= 5, "a stronger model allows more: {}", context());
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
    for i in 0..tally.allowed.len() {
        assert!(tally.allowed[i] * 20 > count, "{tally:?}");
        assert!(tally.forbidden[i] * 20 > count, "{tally:?}");
    }
}

#[test]
fn oracle_plain() {
    let tally = compare(&Small::PLAIN, 0, traces(TRACES));
    eprintln!("{tally:?}");
    assert_not_vacuous(&tally, traces(TRACES));
}

#[test]
fn oracle_everything() {
    let tally = compare(&Small::ALL, 1 << 32, traces(TRACES));
    eprintln!("{tally:?}");
    assert_not_vacuous(&tally, traces(TRACES));
}

/// A table and axioms that no machine has.
fn odd_model(rng: &mut membar_simulate::Rng) -> Model {
    let write_order = rng.chance(4, 5);
    let mut when = |least_same: bool| When {
        always: rng.chance(1, 4),
        same_address: least_same || rng.chance(1, 2),
        same_session: rng.chance(1, 5),
        time: rng.chance(1, 4),
        guarded: false,
        ..When::NEVER
    };
    let mut ppo = Ppo::new(when(false), when(true), when(!write_order), when(true));
    if rng.chance(2, 3) {
        for earlier in Kind::ALL {
            for later in Kind::ALL.into_iter().filter(|later| earlier.locks() || later.locks()) {
                let both = earlier.locks() && later.locks();
                let inside = !both && (earlier == Kind::Acquire || later == Kind::Release);
                let entry = When {
                    always: rng.chance(1, 4),
                    same_address: both,
                    same_session: inside && rng.chance(1, 3),
                    guarded: !both && rng.chance(1, 3),
                    time: rng.chance(1, 6),
                    ..When::NEVER
                };
                ppo.set(earlier, later, entry);
            }
        }
    }
    Model {
        sync: membar_core::Mask::from_bits(rng.below(16) as u8),
        store_forwarding: rng.chance(2, 3),
        lock_exclusion: rng.chance(3, 4),
        atomic_writes: rng.chance(1, 4),
        write_order,
        ..Model::new("odd", ppo)
    }
}

/// Says what locks guard and what timestamps mean, at random.
fn at_random(mut trace: Trace, rng: &mut membar_simulate::Rng) -> Trace {
    let ids = || (0..trace.addrs() as u32).map(AddrId);
    let (locks, addrs): (Vec<AddrId>, Vec<AddrId>) =
        ids().partition(|addr| matches!(trace.addr_names()[addr.index()], AddrName::Lock(_)));
    for (line, lock) in locks.into_iter().enumerate() {
        let guarded = addrs.iter().copied().filter(|_| rng.chance(1, 2)).collect();
        trace.guards.push(Guard { lock, addrs: guarded, line: 100 + line as u64 });
    }
    let compare = [Compare::Nothing, Compare::Threads, Compare::Everything, Compare::Everything][rng.below(4) as usize];
    let error = if rng.chance(1, 2) { 0 } else { u64::from(rng.below(20)) };
    trace.set_clock(Clock { compare, error, sampled_every: rng.chance(1, 4).then_some(15) });
    trace
}

/// Models that no machine has, clocks of all kinds.
#[test]
fn oracle_odd_models() {
    let mut rng = membar_simulate::Rng::new(7);
    let mut certifier = Certifier::new();
    let mut counts = [0u64; 2];
    for seed in 0..traces(TRACES) {
        let trace = at_random(small(&Small::ALL, (2 << 32) + seed), &mut rng);
        let model = odd_model(&mut rng);
        let expected = orders::decide(&trace, &model);
        let raw = Checker::new().verdict(&trace, &model, &Limits::default()).verdict;
        certifier.verdict(&trace, &model, &raw).unwrap_or_else(|flaw| panic!("seed {seed}: {flaw}\n{raw:#?}"));
        let outcome = Checker::new().check(&trace, &model, &Limits::default());
        let context = || {
            let mut text = Vec::new();
            membar_trace::write_trace(&trace, &mut text).unwrap();
            format!("seed {seed}, {model:?}, {:?}:\n{}", trace.compare(), String::from_utf8(text).unwrap())
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
    assert!(counts.iter().all(|&count| count * 10 > traces(TRACES)), "{counts:?}");
}
