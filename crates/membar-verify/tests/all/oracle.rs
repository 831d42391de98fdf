//! Verification against brute force over the operational machines, on random programs.
//!
//! `MEMBAR_ORACLE_PROGRAMS=20000 cargo test --release -p membar-verify --test all oracle::` runs more of them.

use crate::common;

use common::classes_by_brute_force;
use membar_certify::replay;
use membar_core::{Access, Claim, Performed, ProgramModel, Relaxation};
use membar_explore::{End, Fault, Local, Observer, Program, Schedule, Search, SearchState, Step, Strategy};
use membar_litmus::LitmusThreads;
use membar_litmus::{Code, Interpreter};
use membar_simulate::Rng;
use membar_testkit::programs::{self, Limits, Memory};
use membar_testkit::random::{Knobs, random_program};
use membar_verify::{Checkpoint, Effort, Manner, Settings, Verdict, Verification, Watching, explain, verify};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn programs() -> u64 {
    std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

fn settings(model: Relaxation, strategy: Strategy, watching: Watching) -> Settings {
    Settings { strategy, watching, max_steps: 400, ..Settings::new(model) }
}

/// Every strategy and monitor that claims to be complete for this model.
fn complete(model: Relaxation) -> Vec<Settings> {
    let unbounded = Strategy::Bounded { preemptions: u32::MAX };
    let mut all = vec![
        settings(model, Strategy::Dpor, Watching::Class),
        settings(model, Strategy::Exhaustive, Watching::Class),
        settings(model, unbounded, Watching::Class),
    ];
    match model {
        Relaxation::Tso => {
            all.push(settings(model, Strategy::Exhaustive, Watching::Tso));
            all.push(settings(model, Strategy::Dpor, Watching::SoberFixed));
            all.push(settings(model, Strategy::Exhaustive, Watching::SoberFixed));
        }
        Relaxation::Pso => all.push(settings(model, Strategy::Exhaustive, Watching::Pso)),
    }
    assert!(all.iter().all(Settings::monitor_is_complete));
    all
}

fn pairs(checkpoint: &Checkpoint) -> BTreeSet<(u32, u32)> {
    checkpoint.seen.violations.iter().map(|found| (found.store_site, found.access_site)).collect()
}

/// Every violation is confirmed by a run of the machine that is not SC.
fn certify(code: &Arc<Code>, checkpoint: &Checkpoint, seed: u64) {
    let mut program = Interpreter::new(code.clone());
    for found in &checkpoint.seen.violations {
        let model = checkpoint.settings.models.iter().find_map(ProgramModel::machine).unwrap();
        let explanation =
            explain(&mut program, found).unwrap_or_else(|| panic!("seed {seed}: {found:?} is not confirmed"));
        let (steps, claims) = (explanation.steps(), explanation.claims());
        replay::replay(&mut LitmusThreads::new(code), model, &steps).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert!(
            replay::confirms(&mut LitmusThreads::new(code), model, &steps, &claims),
            "seed {seed}: not the claimed execution, or SC"
        );
        // It does not confirm whatever it is told.
        let wrong = Claim { read: Some(77), ..claims[claims.len() - 1] };
        let claims = [&claims[..claims.len() - 1], &[wrong]].concat();
        assert!(!replay::confirms(&mut LitmusThreads::new(code), model, &steps, &claims));
        // The cycle has an edge that the model does not keep, and all of its events are in the run.
        assert!(!explanation.fences.is_empty(), "seed {seed}");
        for (link, next) in explanation.cycle.iter().zip(explanation.cycle.iter().cycle().skip(1)) {
            assert_eq!(link.to, next.from, "seed {seed}");
        }
    }
}

#[test]
fn oracle_agrees_on_every_complete_strategy() {
    let limits = Limits { max_accesses: 10, max_configurations: 150_000, ..Limits::default() };
    let (mut compared, mut violated, mut safe) = (0, 0, 0);
    for seed in 0..programs() {
        let code = Arc::new(random_program(&mut Rng::new(seed), &Knobs::ALL));
        let program = Interpreter::new(code.clone());
        for model in [Relaxation::Tso, Relaxation::Pso] {
            let Some(truth) = programs::search(&code, Memory::from(model), &limits) else { continue };
            let mut skip_exhaustive = false;
            for settings in complete(model) {
                if skip_exhaustive && settings.strategy != Strategy::Dpor {
                    continue;
                }
                let result = verify(&program, settings);
                if settings.strategy == Strategy::Dpor && result.counts().executions > 2000 {
                    skip_exhaustive = true;
                }
                let found = !result.seen.violations.is_empty();
                if truth.violation.is_some() {
                    assert!(found, "seed {seed} {settings:?}: missed {:?}\n{code:#?}", truth.violation);
                } else if !truth.cut {
                    assert!(!found, "seed {seed} {settings:?}: {:?}\n{code:#?}", result.seen.violations);
                }
                assert!(found || result.counts().cut > 0 || result.verdict() != Verdict::Undecided);
                certify(&code, &result, seed);
            }
            compared += 1;
            violated += u32::from(truth.violation.is_some());
            safe += u32::from(truth.violation.is_none() && !truth.cut);
        }
    }
    assert!(compared * 10 > programs() as u32 * 15, "only {compared} compared");
    assert!(violated * 10 > compared && safe * 10 > compared, "{violated} unsafe, {safe} safe of {compared}");
}

#[test]
fn oracle_counts_of_interleavings_and_classes() {
    let limits = Limits { max_accesses: 20, max_configurations: 200_000, ..Limits::default() };
    let mut compared = 0;
    for seed in 0..programs() / 2 {
        let code = Arc::new(random_program(&mut Rng::new(1_000_000 + seed), &Knobs::LOOP_FREE));
        let Some(truth) = programs::classes(&code, &limits) else { continue };
        let program = Interpreter::new(code.clone());
        let model = Relaxation::Pso;
        let dpor = verify(&program, settings(model, Strategy::Dpor, Watching::Class));
        assert_eq!(dpor.counts().executions, truth.classes.len() as u64, "seed {seed}\n{code:#?}");
        assert!(dpor.is_complete());
        if truth.interleavings < 50_000 {
            let all = verify(&program, settings(model, Strategy::Exhaustive, Watching::Class));
            assert_eq!(u128::from(all.counts().executions), truth.interleavings, "seed {seed}");
            let unbounded = Strategy::Bounded { preemptions: u32::MAX };
            let bounded = verify(&program, settings(model, unbounded, Watching::Class));
            assert_eq!(u128::from(bounded.counts().executions), truth.interleavings, "seed {seed}");
            assert!(bounded.is_complete());
            // The class monitor's answer depends on the class alone: nothing is gained by looking at all interleavings.
            assert_eq!(pairs(&dpor), pairs(&all), "seed {seed}");
            assert_eq!(pairs(&bounded), pairs(&all), "seed {seed}");
            compared += 1;
        }
    }
    assert!(compared * 4 > programs(), "only {compared} compared");
}

#[test]
fn oracle_classes_with_waiting_loops() {
    let knobs = Knobs { waits: 8, locks: 2, ..Knobs::ALL };
    let (mut compared, mut waiting) = (0, 0);
    for seed in 0..programs() / 2 {
        let code = Arc::new(random_program(&mut Rng::new(2_000_000 + seed), &knobs));
        let mut program = Interpreter::new(code.clone());
        let Some(classes) = classes_by_brute_force(&mut program, 20_000) else { continue };
        let dpor = verify(&program, settings(Relaxation::Tso, Strategy::Dpor, Watching::Class));
        assert_eq!(dpor.counts().executions, classes.len() as u64, "seed {seed}\n{code:#?}");
        compared += 1;
        waiting += u64::from(dpor.counts().blocked > 0);
    }
    assert!(compared * 4 > programs(), "only {compared} compared");
    assert!(waiting * 20 > compared, "only {waiting} of {compared} had rounds to drop");
}

/// Collects how executions end: memory and registers where all threads do, memory where some wait forever.
struct Ends {
    program: Interpreter,
    cells: u32,
    seen: BTreeSet<(bool, Vec<u64>)>,
}

impl Observer for Ends {
    type Part = BTreeSet<(bool, Vec<u64>)>;

    fn push(&mut self, _: &Performed, _: &[Step]) {}

    fn pop(&mut self, _: &[Step]) {}

    fn tried(&mut self, _: usize, _: Access, _: &[Step]) {}

    fn end(&mut self, end: End, path: &[Step]) {
        path.iter().for_each(|&step| _ = self.program.repeat(step));
        let mut state = Vec::new();
        match end {
            End::Deadlock { .. } => state.extend((0..self.cells).map(|addr| self.program.value(addr))),
            _ => self.program.state(&mut state),
        }
        path.iter().for_each(|_| self.program.undo());
        self.seen.insert((end == End::Complete, state));
    }

    fn fault(&mut self, _: usize, _: Fault, _: &[Step]) {}

    fn take(&mut self, _: &[Step]) -> Self::Part {
        std::mem::take(&mut self.seen)
    }
}

/// All ends that a strategy finds.
fn ends(code: &Arc<Code>, strategy: Strategy) -> BTreeSet<(bool, Vec<u64>)> {
    let program = || Interpreter::new(code.clone());
    let cells = code.cells.len() as u32;
    let worker = Local::new(program(), Ends { program: program(), cells, seen: BTreeSet::new() }, 400);
    let mut search = Search::new(SearchState::new(strategy), vec![worker], u64::MAX);
    let mut all = BTreeSet::new();
    while !search.state().is_done() {
        search.advance(&AtomicBool::new(false), |part| all.extend(part));
    }
    assert_eq!(search.state().counts().cut, 0);
    all
}

/// A thread that stops after an idle round is missed by nobody: programs end in the same states, deadlocks included.
#[test]
fn oracle_ends_with_waiting_loops() {
    let knobs = Knobs { waits: 8, locks: 2, ..Knobs::ALL };
    let (mut compared, mut stuck, mut several) = (0, 0, 0);
    for seed in 0..programs() / 2 {
        let code = Arc::new(random_program(&mut Rng::new(4_000_000 + seed), &knobs));
        if classes_by_brute_force(&mut Interpreter::new(code.clone()), 2_000).is_none() {
            continue;
        }
        let (few, every) = (ends(&code, Strategy::Dpor), ends(&code, Strategy::Exhaustive));
        assert_eq!(few, every, "seed {seed}\n{code:#?}");
        assert_eq!(ends(&code, Strategy::Strict), every, "strict, seed {seed}\n{code:#?}");
        compared += 1;
        stuck += u64::from(every.iter().any(|(complete, _)| !complete));
        several += u64::from(every.len() > 1);
    }
    assert!(compared * 8 > programs(), "only {compared} compared");
    assert!(stuck * 20 > compared && several * 4 > compared, "{stuck} deadlocks, {several} with several ends");
}

#[test]
fn workers_and_interruptions_change_nothing() {
    for seed in 0..programs() / 20 {
        let knobs = Knobs { total: 14, ..Knobs::ALL };
        let code = Arc::new(random_program(&mut Rng::new(3_000_000 + seed), &knobs));
        let program = Interpreter::new(code.clone());
        for strategy in [
            Strategy::Dpor,
            Strategy::Strict,
            Strategy::Bounded { preemptions: 1 },
            Strategy::Random { executions: 700, seed },
            Strategy::Pct { executions: 700, seed, depth: 3 },
        ] {
            let settings = settings(Relaxation::Pso, strategy, Watching::Class);
            let alone = verify(&program, settings);
            let stop = AtomicBool::new(false);
            // Three workers, and after each round everything is written down and read again.
            let mut checkpoint = Checkpoint::new(settings);
            while !checkpoint.search.is_done() {
                let mut part =
                    Verification::local(checkpoint, program.clone(), Effort { jobs: 3, ..Effort::default() });
                part.advance(&stop);
                let text = serde_json::to_string(&part.checkpoint()).unwrap();
                checkpoint = serde_json::from_str(&text).unwrap();
            }
            assert_eq!(checkpoint.seen, alone.seen, "seed {seed} {strategy:?}");
            assert_eq!(checkpoint.counts(), alone.counts(), "seed {seed} {strategy:?}");
        }
    }
}

/// Runs a search in parts that know nothing of each other; some give back what is left of them after a round, in parts again.
fn in_parts(mut checkpoint: Checkpoint, program: &Interpreter, rng: &mut Rng, depth: u32) -> Checkpoint {
    let stop = AtomicBool::new(false);
    while checkpoint.search.branches_left() > 0 {
        let parts = checkpoint.split(1 + rng.below(4) as usize).expect("it can be split");
        for part in parts {
            // Everything that passes between machines is text.
            let part: Checkpoint = serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap();
            let mut running = Verification::local(part, program.clone(), Effort::default());
            while !running.is_done() {
                running.advance(&stop);
                if depth > 0 && rng.below(2) == 0 {
                    break;
                }
            }
            let mut left = running.checkpoint();
            if rng.below(2) == 0 && !left.search.is_done() {
                let manner = Manner::Weigh { complete: rng.below(3) > 0 };
                let mut weighed = Verification::local(left, program.clone(), Effort { manner, ..Effort::default() });
                weighed.advance(&stop);
                left = weighed.checkpoint();
            }
            let part = in_parts(left, program, rng, depth.saturating_sub(1));
            assert_eq!(part.search.branches_left(), 0);
            checkpoint.rejoin(part);
        }
    }
    checkpoint
}

#[test]
fn parts_find_what_the_whole_finds() {
    let (mut split, mut unsafe_ones) = (0, 0);
    for seed in 0..programs() / 4 {
        let knobs = Knobs { total: 12, ..Knobs::ALL };
        let mut rng = Rng::new(7_000_000 + seed);
        let program = Interpreter::new(Arc::new(random_program(&mut rng, &knobs)));
        for strategy in [Strategy::Dpor, Strategy::Strict, Strategy::Exhaustive] {
            let settings = settings(Relaxation::Pso, strategy, Watching::Class);
            let alone = verify(&program, settings);
            let wide = Effort { manner: Manner::Wide(1 + rng.below(4) as usize), ..Effort::default() };
            let mut begun = Verification::local(Checkpoint::new(settings), program.clone(), wide);
            let stop = AtomicBool::new(false);
            let rounds = 1 + rng.below(4);
            for _ in 0..rounds {
                if !begun.is_done() {
                    begun.advance(&stop);
                }
            }
            split += u64::from(!begun.is_done());
            let parts = in_parts(begun.checkpoint(), &program, &mut rng, 2);
            assert!(parts.search.is_done(), "seed {seed} {strategy:?}");
            let (a, b) = (parts.counts(), alone.counts());
            let counts = |c: membar_explore::Counts| (c.executions, c.blocked, c.dropped, c.cut);
            assert_eq!(counts(a), counts(b), "seed {seed} {strategy:?}");
            let found = |checkpoint: &Checkpoint| {
                let violations = checkpoint.seen.violations.iter();
                let mut all: Vec<_> =
                    violations.map(|found| (found.store_site, found.access_site, found.executions)).collect();
                all.sort_unstable();
                all
            };
            assert_eq!(found(&parts), found(&alone), "seed {seed} {strategy:?}");
            let errors = |checkpoint: &Checkpoint| {
                let errors = checkpoint.seen.errors.iter();
                let mut all: Vec<_> = errors.map(|error| (format!("{:?}", error.kind), error.executions)).collect();
                all.sort_unstable();
                all
            };
            assert_eq!(errors(&parts), errors(&alone), "seed {seed} {strategy:?}");
            unsafe_ones += u64::from(!alone.seen.violations.is_empty());
        }
    }
    assert!(split > 20 && unsafe_ones > 20, "{split} were split, {unsafe_ones} have violations");
}

#[test]
fn schedules_replay_to_the_same_end() {
    #[derive(Clone, Default)]
    struct Ends(Vec<Schedule>);
    impl membar_explore::Observer for Ends {
        type Part = Vec<Schedule>;
        fn push(&mut self, _: &membar_core::Performed, _: &[membar_explore::Step]) {}
        fn pop(&mut self, _: &[membar_explore::Step]) {}
        fn tried(&mut self, _: usize, _: membar_core::Access, _: &[membar_explore::Step]) {}
        fn end(&mut self, _: membar_explore::End, path: &[membar_explore::Step]) {
            self.0.push(Schedule(path.to_vec()));
        }
        fn fault(&mut self, _: usize, _: membar_explore::Fault, _: &[membar_explore::Step]) {}
        fn take(&mut self, _: &[membar_explore::Step]) -> Vec<Schedule> {
            std::mem::take(&mut self.0)
        }
    }
    for seed in 0..100 {
        let code = Arc::new(random_program(&mut Rng::new(4_000_000 + seed), &Knobs::ALL));
        let program = Interpreter::new(code);
        let worker = Local::new(program.clone(), Ends::default(), 200);
        let mut search = Search::new(SearchState::new(Strategy::Dpor), vec![worker], u64::MAX);
        let stop = AtomicBool::new(false);
        let mut ends = Vec::new();
        while !search.state().is_done() && ends.len() < 500 {
            search.advance(&stop, |part| ends.extend(part));
        }
        let mut program = program;
        let (mut begin, mut again) = (Vec::new(), Vec::new());
        program.state(&mut begin);
        for schedule in ends {
            let text = schedule.to_string();
            let read: Schedule = text.parse().unwrap();
            assert_eq!(read, schedule);
            read.0.iter().for_each(|step| {
                program.step(step.thread());
            });
            read.0.iter().for_each(|_| program.undo());
            again.clear();
            program.state(&mut again);
            assert_eq!(begin, again, "seed {seed} {text}");
        }
    }
}
