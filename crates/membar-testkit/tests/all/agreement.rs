//! Do the machines and the memory orders say the same, and is whatever the rules refute forbidden?

use crate::models;

use membar_core::{Clock, Compare, Model, Trace};
use membar_simulate::{Mix, Observe, Workload, simulate};
use membar_testkit::{Machine, Outcome, fixpoint, frontier, machine, orders};
use membar_testkit::{Small, figures, small};
use models::{all, models};

/// Runs all deciders on the small traces of these knobs and returns, per model, (allowed, forbidden, refuted).
fn compare(knobs: &Small, seeds: std::ops::Range<u64>) -> Vec<(String, usize, usize, usize)> {
    let models = models();
    let machines = [Some(Machine::Sc), Some(Machine::Tso), Some(Machine::Pso), Some(Machine::Wmo), None];
    let mut counts = vec![(0, 0, 0); models.len()];
    for seed in seeds {
        let trace = small(knobs, seed);
        let mut weaker_forbids = false;
        for ((model, machine), count) in models.iter().zip(machines).zip(&mut counts).rev() {
            let allowed = orders::decide(&trace, model);
            if let Some(machine) = machine {
                assert_eq!(machine::decide(&trace, machine), allowed, "{} seed {seed}\n{}", model.name, show(&trace));
            }
            assert!(!(allowed && weaker_forbids), "{} allows more than a weaker one, seed {seed}", model.name);
            weaker_forbids |= !allowed;
            let refuted = fixpoint::refute(&trace, model) == Outcome::Refuted;
            assert!(!(refuted && allowed), "{} seed {seed}: refuted but allowed\n{}", model.name, show(&trace));
            assert_eq!(by_frontiers(&trace, model), allowed, "{} seed {seed}\n{}", model.name, show(&trace));
            *count = (count.0 + usize::from(allowed), count.1 + usize::from(!allowed), count.2 + usize::from(refuted));
        }
    }
    models.iter().zip(counts).map(|(model, (a, f, r))| (model.name.clone(), a, f, r)).collect()
}

fn show(trace: &Trace) -> String {
    let lines = trace.ops().map(|op| format!("{:?}\n", trace.op(op)));
    format!("{}{:?}\n{:?}\n{:?}", lines.collect::<String>(), trace.inits, trace.finals, trace.orders)
}

fn by_frontiers(trace: &Trace, model: &Model) -> bool {
    frontier::decide(trace, model, frontier::Algorithm::Baseline)
}

fn check(what: &str, knobs: &Small, seeds: std::ops::Range<u64>) {
    for (model, allowed, forbidden, refuted) in compare(knobs, seeds.clone()) {
        println!(
            "{what:10} {model}: {allowed} allowed, {forbidden} forbidden, of these {refuted} refuted by the rules"
        );
        let tenth = seeds.clone().count() / 10;
        assert!(allowed > tenth && forbidden > tenth, "{what} {model}: not both answers");
        assert!(refuted * 10 > forbidden * 9, "{what} {model}: the rules refute most of what is forbidden");
    }
}

#[test]
fn oracle_plain() {
    check("plain", &Small::PLAIN, 0..10_000);
}

#[test]
fn oracle_everything() {
    check("everything", &Small::ALL, 0..10_000);
}

#[test]
fn oracle_locks() {
    check("locks", &Small { locks: true, membars: false, syncs: false, ..Small::PLAIN }, 20_000..25_000);
}

#[test]
fn oracle_times_and_orders() {
    let knobs = Small { times: true, orders: true, finals: true, inits: true, ..Small::PLAIN };
    check("times", &knobs, 30_000..35_000);
}

/// These have what others have not: times that no machine had, odd values, rings. On one clock, and for models with locks.
#[test]
fn oracle_all_models_on_one_clock() {
    let mut counts = [0; 2];
    for seed in 40_000..42_000 {
        let mut trace = small(&Small::ALL, seed);
        trace.set_clock(Clock { compare: Compare::Everything, ..Clock::default() });
        for model in all().iter() {
            let allowed = orders::decide(&trace, model);
            let about = || format!("{} seed {seed}\n{}", model.name, show(&trace));
            counts[usize::from(allowed)] += 1;
            assert!(!allowed || fixpoint::refute(&trace, model) == Outcome::Open, "{}", about());
            if model.write_order {
                assert_eq!(by_frontiers(&trace, model), allowed, "{}", about());
                let active = frontier::decide(&trace, model, frontier::Algorithm::Active);
                assert_eq!(active, allowed, "{}", about());
            }
        }
    }
    assert!(counts.iter().all(|&n| n > 3000), "{counts:?}");
}

/// Each model allows something that the next stronger one forbids.
#[test]
fn models_differ() {
    let models = models();
    for pair in models.windows(2) {
        let differs = |seed: &u64| {
            let trace = small(&Small::PLAIN, *seed);
            orders::decide(&trace, &pair[1]) && !orders::decide(&trace, &pair[0])
        };
        assert!((0..2000).any(|seed| differs(&seed)), "{} and {}", pair[0].name, pair[1].name);
    }
}

#[test]
fn simulated_machines_obey_their_models() {
    use membar_simulate::Machine::{Pso, Sc, Tso};
    let models = models();
    for seed in 0..300 {
        let work = Workload { threads: 3, addresses: 3, ops: 14, mix: Mix::PAPER, seed };
        for (machine, model) in [(Sc, &models[0]), (Tso, &models[1]), (Pso, &models[2])] {
            let trace = simulate(&work, machine, Observe { write_order: seed % 2 == 0, finals: true });
            assert!(orders::decide(&trace, model), "{machine:?} seed {seed}\n{}", show(&trace));
        }
    }
}

fn tso() -> Model {
    models().swap_remove(1)
}

#[test]
fn figure_2_is_refuted() {
    let trace = figures::fig2();
    assert_eq!(fixpoint::refute(&trace, &tso()), Outcome::Refuted);
    assert!(!orders::decide(&trace, &tso()));
    assert!(!machine::decide(&trace, Machine::Tso));
}

#[test]
fn figure_5_is_allowed() {
    let trace = figures::fig5();
    assert_eq!(fixpoint::refute(&trace, &tso()), Outcome::Open);
    assert!(orders::decide(&trace, &tso()));
    assert!(by_frontiers(&trace, &tso()));
    assert!(machine::decide(&trace, Machine::Tso));
}

#[test]
fn doubled_figure_5_needs_search() {
    let trace = figures::fig5_doubled();
    assert_eq!(fixpoint::refute(&trace, &tso()), Outcome::Open);
    assert!(!orders::decide(&trace, &tso()));
    assert!(!by_frontiers(&trace, &tso()));
    assert!(!machine::decide(&trace, Machine::Tso));
}

#[test]
fn implied_orders_need_search_too() {
    for (pairs, expected) in
        [(&[(0, 1)][..], true), (&[(1, 0)], true), (&[(0, 1), (1, 0)], false), (&[(2, 0), (0, 1)], true)]
    {
        let trace = figures::implied_orders(3, pairs);
        for model in &models()[..2] {
            assert_eq!(fixpoint::refute(&trace, model), Outcome::Open, "{pairs:?}");
            assert_eq!(orders::decide(&trace, model), expected, "{pairs:?} {}", model.name);
            assert_eq!(by_frontiers(&trace, model), expected, "{pairs:?} {}", model.name);
        }
    }
}
