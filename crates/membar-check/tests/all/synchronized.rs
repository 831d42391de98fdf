//! Locks and time: the checker against the oracle under all built-in models, honest timestamps, wider ones, and the figures
//! of Lv et al. (2014); every certificate re-checked.
//!
//! `MEMBAR_ORACLE_TRACES=50000 cargo test --release -p membar-check --test all synchronized::` runs the long version.

use crate::common::{text, traces};
use membar_certify::Certifier;
use membar_check::{Checker, Limits};
use membar_core::{Clock, Compare, Model, Rng, Rule, Trace, Verdict};
use membar_testkit::orders;
use membar_testkit::synchronized::{
    self as make, Synchronized, Times, figure_1, figure_2, figure_3, overlooked, overlooked_both_ways,
};

/// Random traces, unless the environment asks for more.
const TRACES: u64 = 1000;

/// The verdict, both as found and as shown to people, certified.
fn decided(checker: &mut Checker, certifier: &mut Certifier, trace: &Trace, model: &Model) -> Verdict {
    let raw = checker.verdict(trace, model, &Limits::default()).verdict;
    let shown = checker.check(trace, model, &Limits::default()).verdict;
    for verdict in [&raw, &shown] {
        if let Err(flaw) = certifier.verdict(trace, model, verdict) {
            panic!("{}: {flaw}\n{verdict:#?}\n{}", model.name, text(trace));
        }
    }
    assert_eq!(raw.name(), shown.name());
    shown
}

fn agree(knobs: &Synchronized, timed: bool, first_seed: u64) {
    let models = membar_model::builtins();
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    let mut counts = vec![[0u64; 2]; models.len()];
    for seed in first_seed..first_seed + traces(TRACES) {
        let trace = make::synchronized(knobs, timed, seed);
        for (model, counts) in models.iter().zip(&mut counts) {
            let expected = orders::decide(&trace, model);
            let verdict = decided(&mut checker, &mut certifier, &trace, model);
            let allowed = matches!(verdict, Verdict::Allowed(_));
            assert_eq!(allowed, expected, "seed {seed}, {}:\n{}", model.name, text(&trace));
            counts[usize::from(expected)] += 1;
        }
    }
    assert!(counts.iter().flatten().all(|&count| count * 50 > traces(TRACES)), "{counts:?}");
}

#[test]
fn locks_agree_with_the_oracle() {
    agree(&Synchronized::PLAIN, false, 0);
    agree(&Synchronized::ALL, false, 1 << 32);
}

#[test]
fn time_agrees_with_the_oracle() {
    agree(&Synchronized::PLAIN, true, 2 << 32);
    agree(&Synchronized::ALL, true, 3 << 32);
}

/// Every run of a machine is allowed, with its timestamps and without, and by any clock that knows less.
#[test]
fn honest_timestamps_change_nothing_and_wider_ones_allow_more() {
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    for model in membar_model::builtins() {
        let mut rng = Rng::stream(17, model.name.len() as u64);
        for _ in 0..traces(TRACES) / 4 {
            let times = Times::random(&mut rng);
            let mut trace = make::recorded(&Synchronized::ALL, model, &mut rng).with_times(&times, &mut rng);
            let honest = times.clock();
            for clock in [
                Clock { compare: Compare::Nothing, ..honest },
                Clock { compare: Compare::Threads, ..honest },
                honest,
                Clock { error: honest.error + 7, ..honest },
                // Operations without a timestamp get their neighbours' only where those were sampled.
                Clock { sampled_every: honest.sampled_every.map(|every| every + 30), ..honest },
            ] {
                trace.set_clock(clock);
                let verdict = decided(&mut checker, &mut certifier, &trace, model);
                assert_eq!(verdict.name(), "allowed", "{} {clock:?}\n{}", model.name, text(&trace));
            }
        }
    }
}

/// Widening never turns allowed into forbidden, on traces near the border.
#[test]
fn wider_timestamps_allow_more() {
    let mut checker = Checker::new();
    let mut changed = 0;
    for seed in 0..traces(TRACES) {
        let trace = make::synchronized(&Synchronized::PLAIN, true, (4 << 32) + seed);
        for model in membar_model::builtins() {
            let mut allowed = |clock: Clock| {
                let mut trace = trace.clone();
                trace.set_clock(clock);
                matches!(checker.verdict(&trace, model, &Limits::default()).verdict, Verdict::Allowed(_))
            };
            let global = Clock { compare: Compare::Everything, ..Clock::default() };
            let narrow = allowed(global);
            let wider = [
                allowed(Clock { error: 3, ..global }),
                allowed(Clock { error: 40, ..global }),
                allowed(Clock { compare: Compare::Threads, ..global }),
                allowed(Clock { compare: Compare::Nothing, ..global }),
            ];
            assert!(!narrow || wider == [true; 4], "{}: {narrow} {wider:?}\n{}", model.name, text(&trace));
            assert!(wider[0] <= wider[1], "{}\n{}", model.name, text(&trace));
            changed += u64::from(!narrow && wider[3]);
        }
    }
    assert!(changed > traces(TRACES), "time decided only {changed} of them");
}

/// Thousands of operations at once, as a machine with locks did them.
#[test]
fn long_runs_are_allowed_with_and_without_time() {
    let knobs = Synchronized {
        threads: 8..=8,
        addresses: 2..=2,
        accesses: 2000..=2000,
        locks: 1..=1,
        sessions: 200,
        ..Synchronized::PLAIN
    };
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    for model in membar_model::builtins() {
        let mut rng = Rng::new(5);
        let times = Times { in_order: true, slack: 20, ..Times::default() };
        let mut trace = make::recorded(&knobs, model, &mut rng).with_times(&times, &mut rng);
        for compare in [Compare::Nothing, Compare::Everything] {
            trace.set_clock(Clock { compare, ..times.clock() });
            let verdict = checker.verdict(&trace, model, &Limits::default()).verdict;
            assert_eq!(verdict.name(), "allowed", "{}", model.name);
            certifier.verdict(&trace, model, &verdict).unwrap();
        }
    }
}

fn on_one_clock(mut trace: Trace) -> Trace {
    trace.set_clock(Clock { compare: Compare::Everything, ..Clock::default() });
    trace
}

/// A cycle under the old time order, which takes a store to be done when it is committed.
#[test]
fn figure_1_is_a_false_cycle() {
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    for trace in [on_one_clock(figure_1()), on_one_clock(figure_2())] {
        for model in membar_model::builtins() {
            let verdict = decided(&mut checker, &mut certifier, &trace, model);
            assert_eq!(verdict.name(), if model.name == "sc" { "forbidden" } else { "allowed" }, "{}", model.name);
        }
    }
}

/// The multi-lock bug of Godson-T: the cycle needs one edge of time, and the proof says so.
#[test]
fn figure_3_is_found_and_explained() {
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    let scope = membar_model::builtin("scope").unwrap();
    let Verdict::Forbidden(proof) = decided(&mut checker, &mut certifier, &on_one_clock(figure_3()), scope) else {
        panic!("figure 3 is allowed");
    };
    let lemma = proof.last().unwrap();
    let timed = lemma.steps.iter().filter(|step| step.rule == Rule::Time).count();
    assert_eq!((lemma.steps.len(), timed), (4, 1), "{lemma:#?}");
    let mut trace = figure_3();
    trace.set_clock(Clock::default());
    assert_eq!(decided(&mut checker, &mut certifier, &trace, scope).name(), "allowed", "with a clock for each thread");
}

/// Forbidden traces that the paper's algorithm, as printed, allows.
#[test]
fn cases_that_the_published_search_overlooks() {
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    let scope = membar_model::builtin("scope").unwrap();
    let tso = membar_model::builtin("tso").unwrap();
    for (trace, model) in [(overlooked(), scope), (overlooked_both_ways(), tso)] {
        let trace = on_one_clock(trace);
        assert_eq!(decided(&mut checker, &mut certifier, &trace, model).name(), "forbidden");
    }
}
