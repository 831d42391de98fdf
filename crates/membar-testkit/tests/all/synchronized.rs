//! Models with locks, and time: do memory orders and frontiers say the same?
//!
//! `MEMBAR_TRACES` sets how many random traces each comparison takes.

use crate::models;

use membar_core::{Clock, Compare, Model, ResolveScratch, Rng, Trace};
use membar_testkit::corrupt;
use membar_testkit::frontier::{self, Algorithm, Limits};
use membar_testkit::synchronized::{
    Run, Synchronized, Times, figure_1, figure_1_observed, figure_2, figure_3, overlooked, overlooked_both_ways,
    recorded, synchronized,
};
use membar_testkit::{Outcome, fixpoint, orders};
use models::{all, named};
use std::collections::BTreeMap;

fn traces(default: u64) -> u64 {
    std::env::var("MEMBAR_TRACES").map_or(default, |text| text.parse().expect("MEMBAR_TRACES is a number"))
}

const NOTHING: Clock = Clock { compare: Compare::Nothing, error: 0, sampled_every: None };
const EVERYTHING: Clock = Clock { compare: Compare::Everything, error: 0, sampled_every: None };

fn with_clock(trace: &Trace, clock: Clock) -> Trace {
    let mut trace = trace.clone();
    trace.set_clock(clock);
    trace
}

fn show(trace: &Trace) -> String {
    let lines = trace.ops().map(|op| format!("{:?} {:?}\n", trace.op(op), trace.period(op)));
    let (inits, finals, orders) = (&trace.inits, &trace.finals, &trace.orders);
    format!("{}{inits:?}\n{finals:?}\n{orders:?}\n{:?}", lines.collect::<String>(), trace.guards)
}

#[derive(Default)]
struct Count {
    allowed: usize,
    forbidden: usize,
    refuted: usize,
    /// Allowed by the paper's algorithm as printed, and forbidden.
    overlooked: usize,
}

/// All deciders on one trace, as its clock is set.
fn compare(trace: &Trace, model: &Model, seed: u64, count: &mut Count) -> bool {
    let about = |what: &str| format!("{what}: {} seed {seed}\n{}", model.name, show(trace));
    let allowed = orders::decide(trace, model);
    *(if allowed { &mut count.allowed } else { &mut count.forbidden }) += 1;
    if fixpoint::refute(trace, model) == Outcome::Refuted {
        assert!(!allowed, "{}", about("refuted but allowed"));
        count.refuted += 1;
    }
    if model.write_order {
        assert_eq!(frontier::decide(trace, model, Algorithm::Baseline), allowed, "{}", about("baseline"));
        assert_eq!(frontier::decide(trace, model, Algorithm::Active), allowed, "{}", about("active"));
        let printed = frontier::decide(trace, model, Algorithm::AsPrinted);
        assert!(printed || !allowed, "{}", about("as printed, it forbids too much"));
        count.overlooked += usize::from(printed && !allowed);
    }
    allowed
}

/// Compares on many traces; both answers must be frequent.
fn check(what: &str, knobs: &Synchronized, clock: Option<Clock>, seeds: std::ops::Range<u64>) -> usize {
    let models = all();
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    for seed in seeds.clone() {
        let mut trace = synchronized(knobs, clock != Some(NOTHING), seed);
        if let Some(clock) = clock {
            trace.set_clock(clock);
        }
        for model in &models {
            compare(&trace, model, seed, counts.entry(&model.name).or_default());
        }
    }
    let tenth = seeds.count() / 10;
    for (model, Count { allowed, forbidden, refuted, overlooked }) in &counts {
        println!(
            "{what:10} {model:6} allowed {allowed:6} forbidden {forbidden:6} refuted {refuted:6} overlooked {overlooked:4}"
        );
        assert!(*allowed >= tenth && *forbidden >= tenth, "{what} {model}: not both answers");
    }
    counts.values().map(|count| count.overlooked).sum()
}

#[test]
fn oracle_untimed() {
    let overlooked = check("plain", &Synchronized::PLAIN, Some(NOTHING), 0..traces(1500));
    assert_eq!(overlooked, 0, "without time, the paper's algorithm is complete");
}

#[test]
fn oracle_untimed_everything() {
    check("all", &Synchronized::ALL, Some(NOTHING), 100_000..100_000 + traces(1500));
}

#[test]
fn oracle_timed() {
    let overlooked = check("timed", &Synchronized::PLAIN, None, 200_000..200_000 + traces(1500));
    println!("{overlooked} forbidden traces overlooked by the paper's algorithm");
}

#[test]
fn oracle_timed_everything() {
    check("timed all", &Synchronized::ALL, Some(EVERYTHING), 300_000..300_000 + traces(1500));
}

#[test]
fn oracle_clock_of_each_thread() {
    check("threads", &Synchronized::ALL, Some(Clock::default()), 400_000..400_000 + traces(700));
}

/// Every run of a machine is allowed, and stays so with the times at which it did things.
#[test]
fn honest_times_change_nothing() {
    let models = all();
    for seed in 0..traces(600) {
        let mut rng = Rng::stream(seed, 1);
        for model in &models {
            let run = recorded(&Synchronized::ALL, model, &mut rng);
            let times = Times::random(&mut rng);
            let trace = with_clock(&run.with_times(&times, &mut rng), times.clock());
            for trace in [&run.trace, &trace] {
                let allowed = compare(trace, model, seed, &mut Count::default());
                assert!(allowed, "{} seed {seed} {times:?}\n{}", model.name, show(trace));
            }
        }
    }
}

/// A clock that tells less never forbids more.
#[test]
fn widening_never_forbids() {
    let models = all();
    let mut forbidden_before = 0;
    for seed in 0..traces(600) {
        let trace = synchronized(&Synchronized::ALL, true, seed);
        let complete = trace.ops().all(|op| trace.span(op).begin.is_some() && trace.span(op).end.is_some());
        for model in &models {
            // Without its neighbours' bounds, which samples give to what has no timestamp.
            let widths = [0, 3, 10, 40].map(|error| Clock { error, ..EVERYTHING });
            let samples = [0, 4, 16, 64].map(|every| Clock { sampled_every: Some(every), ..EVERYTHING });
            let compares = [Compare::Everything, Compare::Threads, Compare::Nothing];
            let compares = compares.map(|compare| Clock { compare, ..NOTHING });
            for clocks in [&widths[..], &samples[..if complete { 4 } else { 0 }], &compares[..]] {
                let mut allowed_before = false;
                for &clock in clocks {
                    let allowed = orders::decide(&with_clock(&trace, clock), model);
                    let what = format!("{} seed {seed} {clock:?}\n{}", model.name, show(&trace));
                    assert!(allowed || !allowed_before, "{what}");
                    forbidden_before += usize::from(allowed && !allowed_before && clock != clocks[0]);
                    allowed_before = allowed;
                }
            }
        }
    }
    assert!(forbidden_before > 50, "widening makes a difference: {forbidden_before}");
}

/// Between models: less order allows more traces.
#[test]
fn weaker_models_allow_more() {
    let chains = [
        vec!["sc", "tso", "pso", "wmo", "rmo"],
        vec!["sc", "wc", "rc", "rcpc", "scope"],
        vec!["rcpc", "ec"],
        // Without times and barriers: those order a load that lc puts behind the own store that it returned.
        vec!["rcpc", "lc"],
    ];
    for seed in 0..traces(1000) {
        let trace = synchronized(&Synchronized::PLAIN, false, 500_000 + seed);
        for chain in &chains {
            let verdicts: Vec<bool> = chain.iter().map(|name| orders::decide(&trace, &named(name))).collect();
            assert!(verdicts.is_sorted(), "{chain:?} {verdicts:?} seed {seed}\n{}", show(&trace));
        }
    }
}

/// Each pair of models of the same family differs on some trace.
#[test]
fn models_differ() {
    for pair in [["sc", "wc"], ["wc", "rc"], ["rc", "rcpc"], ["rcpc", "scope"], ["rcpc", "ec"], ["rcpc", "lc"]] {
        let [strong, weak] = pair.map(named);
        let knobs = Synchronized { locks: 1..=2, sessions: 4, ..Synchronized::ALL };
        let differs = |seed: &u64| {
            let trace = synchronized(&knobs, false, *seed);
            orders::decide(&trace, &weak) && !orders::decide(&trace, &strong)
        };
        assert!((0..30_000).any(|seed| differs(&seed)), "{pair:?}");
    }
}

fn verdict(trace: &Trace, model: &str) -> bool {
    compare(trace, &named(model), 0, &mut Count::default())
}

#[test]
fn figure_1_is_not_a_cycle_under_tso() {
    let trace = figure_1();
    assert!(!verdict(&trace, "sc"));
    for model in all().iter().filter(|model| model.name != "sc") {
        assert!(verdict(&trace, &model.name), "{}", model.name);
    }
    let relaxed = frontier::relaxed_commit_times(&trace, &named("tso")).unwrap();
    assert_eq!(relaxed, [None, Some(40), None, Some(42)], "a store that nobody reads may be performed at any time");
    // Read once, it has been performed.
    let observed = figure_1_observed();
    let relaxed = frontier::relaxed_commit_times(&observed, &named("tso")).unwrap();
    assert_eq!(relaxed, [Some(28), Some(40), None, Some(42), Some(28)]);
    for model in &all() {
        assert!(!verdict(&observed, &model.name), "{}", model.name);
        let untimed = with_clock(&observed, NOTHING);
        assert_eq!(verdict(&untimed, &model.name), model.name != "sc", "{}", model.name);
    }
}

#[test]
fn figure_2_has_no_time_order() {
    for model in &all() {
        assert_eq!(verdict(&figure_2(), &model.name), model.name != "sc", "{}", model.name);
    }
}

#[test]
fn figure_3_is_a_bug_only_with_one_clock() {
    let trace = figure_3();
    for model in &all() {
        assert!(!verdict(&trace, &model.name), "{}: on one clock", model.name);
        assert!(verdict(&with_clock(&trace, NOTHING), &model.name), "{}: without times", model.name);
        assert!(verdict(&with_clock(&trace, Clock::default()), &model.name), "{}: own clocks", model.name);
    }
}

/// The paper's theorem 2 does not hold: its algorithm, with every obvious slip repaired, allows these.
#[test]
fn function_5_overlooks_cycles() {
    for (trace, model) in [(overlooked(), "scope"), (overlooked(), "tso"), (overlooked_both_ways(), "tso")] {
        let model = named(model);
        assert!(!orders::decide(&trace, &model));
        assert!(!frontier::decide(&trace, &model, Algorithm::Baseline));
        assert!(!frontier::decide(&trace, &model, Algorithm::Active));
        assert!(frontier::decide(&trace, &model, Algorithm::AsPrinted));
        assert!(orders::decide(&with_clock(&trace, NOTHING), &model), "time is what forbids it");
    }
}

/// One line each: thread, what (`=` stores, `?` loads, `(` acquires, `)` releases), name and value.
fn listed(lines: &[(u32, char, &str, u64)]) -> Trace {
    let mut trace = Trace::new();
    trace.clear(1);
    for (&(thread, what, name, value), line) in lines.iter().zip(1..) {
        let thread = trace.thread_id(thread);
        let addr = if matches!(what, '(' | ')') { trace.lock_id(name) } else { trace.named_id(name) };
        match what {
            '=' => trace.push_store(thread, addr, value, line),
            '?' => trace.push_load(thread, addr, value, line),
            '(' => trace.push_acquire(thread, addr, line),
            _ => trace.push_release(thread, addr, line),
        };
    }
    trace.resolve(&mut ResolveScratch::default()).unwrap();
    trace
}

/// Which of all models allow it.
fn allowing(trace: &Trace) -> Vec<String> {
    all().into_iter().filter(|model| verdict(trace, &model.name)).map(|model| model.name).collect()
}

#[test]
fn location_consistency_has_no_write_order() {
    // Two readers see two stores in different orders.
    let readers = [(3, '?', "x", 1), (3, '?', "x", 2), (4, '?', "x", 2), (4, '?', "x", 1)];
    let trace = listed(&[&[(1, '=', "x", 1), (2, '=', "x", 2)][..], &readers].concat());
    assert_eq!(allowing(&trace), ["rmo", "lc"]);
    // The same of one thread's stores: the second overwrites the first for every thread that has read it.
    let trace = listed(&[&[(1, '=', "x", 1), (1, '=', "x", 2)][..], &readers].concat());
    assert_eq!(allowing(&trace), ["rmo"]);
    // Each thread's last own store, then back to the other's: that is not overwritten either.
    let trace = listed(&[(1, '=', "x", 1), (1, '?', "x", 2), (2, '=', "x", 2), (2, '?', "x", 1)]);
    assert_eq!(allowing(&trace), ["lc"]);
}

#[test]
fn sessions_are_one_after_the_other() {
    // Each session would have to be before the other.
    let session = |thread, mine, other| {
        [(thread, '(', "l", 0), (thread, '=', mine, 1), (thread, '?', other, 0), (thread, ')', "l", 0)]
    };
    let trace = listed(&[session(1, "x", "y"), session(2, "y", "x")].concat());
    assert_eq!(allowing(&trace), ["pso", "wmo", "rmo", "ec"], "the stores leave their sessions; nothing is guarded");
}

/// The verdict of each model on store buffering where each access has its own session.
#[test]
fn sessions_round_single_accesses() {
    let session =
        |thread, lock, what, name, value| [(thread, '(', lock, 0), (thread, what, name, value), (thread, ')', lock, 0)];
    let four = |locks: [&'static str; 4]| {
        listed(
            &[
                session(1, locks[0], '=', "x", 1),
                session(1, locks[1], '?', "y", 0),
                session(2, locks[2], '=', "y", 1),
                session(2, locks[3], '?', "x", 0),
            ]
            .concat(),
        )
    };
    let own = four(["a", "b", "c", "d"]);
    assert!(!verdict(&own, "wc") && !verdict(&own, "rc") && verdict(&own, "rcpc"), "release and acquire turn round");
    let shared = four(["a", "b", "b", "a"]);
    assert!(!verdict(&shared, "rc") && !verdict(&shared, "rcpc"), "by the order of the acquires");
    assert!(verdict(&shared, "scope"), "what one lock orders says nothing about the other");
    assert!(!verdict(&shared, "lc"), "the store before its thread's releases, the load behind its acquires");
    let one = four(["a"; 4]);
    assert!(!verdict(&one, "scope") && !verdict(&one, "lc"), "one lock, one order");
    assert!(verdict(&one, "ec"), "nothing is guarded");
}

/// With nearly exact times, a long execution is decided nearly without going back; and deep searches take no stack.
#[test]
fn long_traces_with_times() {
    let knobs = Synchronized {
        threads: 2..=2,
        addresses: 2..=2,
        accesses: 4000..=4000,
        locks: 1..=1,
        sessions: 200,
        ..Synchronized::PLAIN
    };
    let (sc, limits) = (named("sc"), Limits { frontiers: Some(20_000), ..Limits::default() });
    for seed in 0..3 {
        let mut rng = Rng::new(seed);
        let run = recorded(&knobs, &sc, &mut rng);
        let times = Times { in_order: true, slack: 2, ..Times::default() };
        let trace = with_clock(&run.with_times(&times, &mut rng), times.clock());
        assert_eq!(frontier::explore(&trace, &sc, Algorithm::Active, &limits).allowed, Some(true), "seed {seed}");
        let wrong = corrupt(&run.trace, seed).map(|wrong| Run { trace: wrong.trace, ..run });
        let trace = with_clock(&wrong.unwrap().with_times(&times, &mut rng), times.clock());
        assert_ne!(frontier::explore(&trace, &sc, Algorithm::Active, &limits).allowed, Some(true), "seed {seed}");
    }
}

#[test]
fn limits_stop_a_search() {
    let mut stopped = 0;
    for seed in 0..300 {
        let trace = synchronized(&Synchronized::PLAIN, false, seed);
        let model = named("scope");
        let full = frontier::explore(&trace, &model, Algorithm::Baseline, &Limits::default());
        assert_eq!(full.allowed, Some(frontier::decide(&trace, &model, Algorithm::Baseline)), "seed {seed}");
        if full.frontiers > 0 {
            let limits = Limits { frontiers: Some(full.frontiers - 1), ..Limits::default() };
            assert_eq!(frontier::explore(&trace, &model, Algorithm::Baseline, &limits).allowed, None);
            stopped += 1;
        }
    }
    assert!(stopped > 100, "{stopped}");
}
