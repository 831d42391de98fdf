//! Workers are interchangeable: they may be far away, be replaced, or fail for a while.

use crate::common;

use common::Op::*;
use common::{Blocking, Class, Notes};
use membar_explore::{Answer, Local, Order, Search, SearchState, Strategy, Work};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

type Seen = Vec<(Class, u64)>;

/// As if it were in another process: everything is written down on its way.
struct Far(Local<Blocking, Notes>);

impl Work for Far {
    type Part = Seen;

    fn work(&mut self, order: &Order, stop: &AtomicBool) -> Answer<Seen> {
        let order: Order = serde_json::from_str(&serde_json::to_string(order).unwrap()).unwrap();
        let answer = self.0.work(&order, stop);
        serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap()
    }
}

/// Fails at one order of seven, and does each with a worker that has just begun.
struct Flaky(u32, Blocking);

impl Work for Flaky {
    type Part = Seen;

    fn work(&mut self, order: &Order, stop: &AtomicBool) -> Answer<Seen> {
        self.0 += 1;
        match self.0 % 7 {
            0 => Answer::Undone,
            _ => local(&self.1).work(order, stop),
        }
    }
}

fn local(program: &Blocking) -> Local<Blocking, Notes> {
    Local::new(program.clone(), Notes::default(), 1000)
}

fn program() -> Blocking {
    let lock = [Lock(0), Load(1), Store(1, 1), Unlock(0), Add(2, 1)];
    let other = [Store(1, 2), Choose(3, 3), Load(2), AddChosen(2)];
    Blocking::new(&[&lock, &other, &lock], &[0; 4], false)
}

const STRATEGIES: [Strategy; 5] = [
    Strategy::Exhaustive,
    Strategy::Dpor,
    Strategy::Bounded { preemptions: 2 },
    Strategy::Random { executions: 40_000, seed: 1 },
    Strategy::Pct { executions: 40_000, seed: 1, depth: 3 },
];

fn run<W: Work<Part = Seen> + Send>(workers: Vec<W>, strategy: Strategy) -> (Seen, SearchState, Vec<W>) {
    let mut search = Search::new(SearchState::new(strategy), workers, u64::MAX);
    let mut seen = Seen::new();
    while !search.state().is_done() {
        search.advance(&AtomicBool::new(false), |part| seen.extend(part));
    }
    (seen, search.state().clone(), search.into_workers())
}

#[test]
fn far_and_near_see_the_same_in_the_same_order() {
    let program = program();
    let mut kept = Some(vec![local(&program)]);
    for strategy in STRATEGIES {
        let (seen, state, _) = run(vec![local(&program)], strategy);
        assert!(seen.len() > 20, "{strategy:?}");
        let far = || Far(local(&program));
        let (theirs, their_state, _) = run(vec![far(), far(), far()], strategy);
        assert_eq!((&theirs, their_state.counts()), (&seen, state.counts()), "{strategy:?}");
        // A worker can be used again, for another strategy.
        let (again, _, workers) = run(kept.take().unwrap(), strategy);
        assert_eq!(again, seen, "{strategy:?}");
        kept = Some(workers);
    }
}

#[test]
fn undone_orders_are_done_later() {
    let program = program();
    for strategy in STRATEGIES {
        let (mut seen, state, _) = run(vec![local(&program)], strategy);
        let workers = vec![Flaky(6, program.clone()), Flaky(3, program.clone())];
        let (mut theirs, their_state, _) = run(workers, strategy);
        seen.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(theirs, seen, "{strategy:?}");
        assert_eq!(their_state.counts().executions, state.counts().executions, "{strategy:?}");
    }
}

#[test]
fn a_search_that_is_stopped_all_the_time_still_ends() {
    let program = program();
    for strategy in STRATEGIES {
        let (mut seen, state, _) = run(vec![local(&program)], strategy);
        let mut search = Search::new(SearchState::new(strategy), vec![local(&program), local(&program)], u64::MAX);
        let mut theirs = Seen::new();
        for round in 0.. {
            if search.state().is_done() {
                break;
            }
            // Random executions are not even begun after a stop.
            let drawn = matches!(strategy, Strategy::Random { .. } | Strategy::Pct { .. });
            search.advance(&AtomicBool::new(!drawn || round % 2 == 0), |part| theirs.extend(part));
        }
        seen.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(theirs, seen, "{strategy:?}");
        assert_eq!(search.state().counts().executions, state.counts().executions, "{strategy:?}");
    }
}

/// Every number of a JSON value.
fn numbers<'a>(value: &'a mut Value, all: &mut Vec<&'a mut Value>) {
    match value {
        Value::Number(_) => all.push(value),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| numbers(entry, all)),
        Value::Object(entries) => entries.values_mut().for_each(|entry| numbers(entry, all)),
        _ => {}
    }
}

/// A kept search in which one number was altered is refused, found to be foreign, or run: it never makes the search panic.
#[test]
fn altered_states_are_no_reason_to_panic() {
    let program = program();
    let (mut refused, mut foreign, mut run) = (0, 0, 0);
    for strategy in [Strategy::Exhaustive, Strategy::Dpor] {
        let mut search = Search::new(SearchState::new(strategy), vec![local(&program)], u64::MAX);
        search.limit_runs(4);
        (0..2).for_each(|_| search.advance(&AtomicBool::new(false), drop));
        let mut state = search.state().clone();
        let mut states = state.split(2).unwrap();
        states.push(search.state().clone());
        assert!(states.iter().all(|state| !state.is_done()));
        for state in states {
            let whole = serde_json::to_value(&state).unwrap();
            let mut copy = whole.clone();
            let mut all = Vec::new();
            numbers(&mut copy, &mut all);
            let count = all.len();
            for (at, new) in (0..count).flat_map(|at| [0, 2, 256, u64::from(u32::MAX)].map(|new| (at, new))) {
                let mut altered = whole.clone();
                let mut all = Vec::new();
                numbers(&mut altered, &mut all);
                *all[at] = new.into();
                let Ok(state) = serde_json::from_value::<SearchState>(altered) else {
                    refused += 1;
                    continue;
                };
                let mut search = Search::new(state, vec![local(&program)], 1000);
                search.limit_runs(search.state().counts().runs() + 100);
                for _ in 0..4 {
                    if !search.state().is_done() && !search.is_foreign() {
                        search.advance(&AtomicBool::new(false), drop);
                    }
                }
                if search.is_foreign() { foreign += 1 } else { run += 1 }
            }
        }
    }
    assert!(refused > 100 && foreign > 100 && run > 100, "{refused} {foreign} {run}");
}
