//! Runs of executions of tso and pso: the certifier's machine makes them, with the same trace, and delays no store without need.
//!
//! `MEMBAR_PROGRAMS=20000` makes it longer.

use membar_certify::replay::Trace;
use membar_certify::{replay, weak};
use membar_core::{AccessKind, Barrier, GraphModel, MachineStep, Performed, Relaxation, Rng, WeakStep};
use membar_litmus::{Code, LitmusThreads};
use membar_testkit::random::{Knobs, random_program};
use membar_testkit::weak::executions;
use membar_testkit::{builder::Builder, named};
use membar_verify::{Delay, RunStep, WeakRun, weak_run};

/// The accesses of the steps, as somebody who runs them on the program finds them.
fn made(code: &Code, model: GraphModel, steps: &[WeakStep]) -> Option<(Vec<Performed>, weak::Confirmed)> {
    let confirmed = weak::replay(&mut LitmusThreads::new(code), model, steps).ok()?;
    let mut next = vec![0; code.threads.len()];
    let performed = |step: &WeakStep| {
        let index = &mut next[step.thread as usize];
        let made = confirmed.trace.threads[step.thread as usize][*index];
        *index += 1;
        let old = made.read.map_or(0, |read| read.value);
        let (thread, access, writes) = (step.thread, made.access, made.wrote.is_some());
        Performed { thread, access, writes, old, new: made.wrote.unwrap_or(old) }
    };
    let made = steps.iter().map(performed).collect();
    Some((made, confirmed))
}

fn run(code: &Code, model: GraphModel, steps: &[WeakStep]) -> (WeakRun, Vec<Performed>) {
    let (made, _) = made(code, model, steps).expect("the model allows it");
    (weak_run(model, steps, &made).expect("it has a run"), made)
}

/// The fewest stores that a run of the execution delays, from all orders of its accesses that the machine can make.
fn fewest(code: &Code, machine: Relaxation, made: &[Performed], trace: &replay::Trace) -> usize {
    fn search(order: &mut Vec<usize>, n: usize, test: &mut impl FnMut(&[usize])) {
        if order.len() == n {
            return test(order);
        }
        for i in 0..n {
            if !order.contains(&i) {
                order.push(i);
                search(order, n, test);
                order.pop();
            }
        }
    }
    let mut best = usize::MAX;
    search(&mut Vec::new(), made.len(), &mut |order| {
        let (mut steps, mut issued, mut delayed) = (Vec::new(), vec![None; made.len()], 0);
        for &i in order {
            for j in (0..=i).filter(|&j| made[j].thread == made[i].thread) {
                if issued[j].is_none() {
                    issued[j] = Some(steps.len());
                    steps.push(MachineStep::Issue(made[j].thread));
                }
            }
            if made[i].access.kind == AccessKind::Store {
                delayed += usize::from(issued[i].is_some_and(|at| at + 1 < steps.len()));
                steps.push(MachineStep::Commit(made[i].thread, made[i].access.addr, made[i].access.part));
            }
        }
        if delayed < best
            && let Ok(replayed) = replay::replay(&mut LitmusThreads::new(code), machine, &steps)
            && replayed.trace == *trace
        {
            best = delayed;
        }
    });
    best
}

/// The trace without the state of memory at each read, which the axioms do not have.
fn sources(mut trace: Trace) -> Trace {
    for read in trace.threads.iter_mut().flatten().filter_map(|made| made.read.as_mut()) {
        read.memory = None;
    }
    trace
}

#[test]
fn the_machine_makes_them() {
    let programs: u64 = std::env::var("MEMBAR_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(250);
    let (mut runs, mut weak_runs, mut compared, mut more, mut delayed) = (0, 0u64, 0u64, 0u64, 0);
    for seed in 0..programs {
        let total = if seed % 2 == 0 { 8 } else { 6 };
        let code = random_program(&mut Rng::new(seed), &Knobs { total, ..Knobs::LOOP_FREE });
        for model in [GraphModel::Tso, GraphModel::Pso] {
            let machine = model.machine().expect("it is one");
            let allows = |steps: &[WeakStep]| weak::replay(&mut LitmusThreads::new(&code), model, steps).is_ok();
            let Some(found) = executions(&code, 1500, allows) else { continue };
            for execution in found {
                let (made, confirmed) = made(&code, model, &execution.steps).expect("it is allowed");
                let what = || format!("seed {seed} {model:?} {:?}", execution.steps);
                let run = weak_run(model, &execution.steps, &made).unwrap_or_else(|| panic!("{}", what()));
                let replayed = replay::replay(&mut LitmusThreads::new(&code), machine, &run.machine_steps(&made))
                    .expect("possible");
                assert_eq!(sources(replayed.trace), sources(confirmed.trace.clone()), "{}", what());
                assert_eq!(run.delays.is_empty(), confirmed.cycle.is_none(), "{}", what());
                check_words(&run, &made, &execution.steps);
                runs += 1;
                if confirmed.cycle.is_none() {
                    continue;
                }
                weak_runs += 1;
                delayed += run.delays.len();
                if made.len() <= 7 {
                    let best = fewest(&code, machine, &made, &confirmed.trace);
                    assert!(run.delays.len() >= best && best > 0);
                    compared += 1;
                    more += u64::from(run.delays.len() > best);
                }
            }
        }
    }
    println!(
        "{runs} runs, {weak_runs} not SC with {delayed} delayed stores; {more} of {compared} delay more than needed"
    );
    assert!(
        runs > 2 * programs && weak_runs > programs / 8 && compared > programs / 50,
        "{runs} {weak_runs} {compared}"
    );
    assert!(more * 20 <= compared, "{more} of {compared}");
}

/// What the run says about each access agrees with its steps.
fn check_words(run: &WeakRun, made: &[Performed], steps: &[WeakStep]) {
    for i in 0..steps.len() {
        for other in [run.misses[i], run.sources[i]].into_iter().flatten() {
            assert!(made[other].writes && made[other].access.addr == made[i].access.addr);
        }
        assert!(run.sources[i].is_none_or(|source| source < i));
        let Some(missed) = run.misses[i] else { continue };
        // It is in another thread's buffer while this one is made.
        let at = run.run.iter().position(|step| *step == RunStep::Issue(i)).expect("each is made");
        assert!(made[missed].thread != made[i].thread && run.buffered(at).any(|store| store == missed));
    }
    assert!(run.delays.is_empty() || run.misses.iter().any(Option::is_some), "{run:?}");
    let mut waiting: Vec<usize> = Vec::new();
    let late: Vec<usize> = run.delays.iter().map(|delay| delay.store).collect();
    for (at, step) in run.run.iter().enumerate() {
        match *step {
            RunStep::Issue(i) if late.contains(&i) => waiting.push(i),
            RunStep::Issue(_) => {}
            RunStep::Commit(i) => waiting.retain(|&store| store != i),
        }
        assert_eq!(run.buffered(at).collect::<Vec<_>>(), waiting);
    }
}

#[test]
fn only_one_store_of_store_buffering_is_delayed() {
    let code = named::store_buffering([Barrier::None; 2]);
    let last = WeakStep { behind: 1, ..WeakStep::of(1) };
    let steps = [WeakStep::of(0), WeakStep::of(0), WeakStep::of(1), last];
    let (run, _) = run(&code, GraphModel::Tso, &steps);
    use RunStep::{Commit, Issue};
    assert_eq!(run.run, [Issue(0), Issue(1), Issue(2), Commit(2), Issue(3), Commit(0)]);
    assert_eq!(run.delays, [Delay { store: 0, issued: 0, committed: 5 }]);
    assert_eq!(run.misses, [None, None, None, Some(0)]);
    assert_eq!(run.buffered(1).collect::<Vec<_>>(), [0]);
    assert_eq!(run.buffered(5).count(), 0);
    // Without a machine there is only the list.
    let listed = weak_run(GraphModel::C11, &steps, &made(&code, GraphModel::Pso, &steps).unwrap().0).unwrap();
    assert_eq!(listed.run, [Issue(0), Commit(0), Issue(1), Issue(2), Commit(2), Issue(3)]);
    assert_eq!((listed.misses, listed.delays), (run.misses, vec![]));
}

/// What a delayed store does not wait for comes after it.
#[test]
fn delays_are_short() {
    let mut program = Builder::new();
    let [x, y, z] = ["x", "y", "z"].map(|name| program.cell(name));
    for (mine, other) in [(x, y), (y, x)] {
        program.thread(|t| {
            t.store(mine, 1);
            t.load(other);
        });
    }
    program.thread(|t| (0..20).for_each(|value| t.store(z, value)));
    let code = program.code();
    let mut steps = vec![WeakStep::of(0), WeakStep::of(0)];
    steps.extend([WeakStep::of(2); 20]);
    steps.extend([WeakStep::of(1), WeakStep { behind: 1, ..WeakStep::of(1) }]);
    for model in [GraphModel::Tso, GraphModel::Pso] {
        let (run, _) = run(&code, model, &steps);
        assert_eq!(run.delays.len(), 1);
        assert!(run.delays[0].committed - run.delays[0].issued < 6, "{:?}", run.delays);
    }
}

#[test]
fn what_the_model_forbids_has_no_run() {
    let code = named::store_buffering([Barrier::None; 2]);
    let last = WeakStep { behind: 1, ..WeakStep::of(1) };
    let steps = [WeakStep::of(0), WeakStep::of(0), WeakStep::of(1), last];
    let (mut accesses, _) = made(&code, GraphModel::Tso, &steps).unwrap();
    accesses[1].access.barrier = Barrier::Full;
    accesses[3].access.barrier = Barrier::Full;
    assert_eq!(weak_run(GraphModel::Tso, &steps, &accesses), None);
    assert_eq!(weak_run(GraphModel::Tso, &steps[..2], &accesses), None);
    let far = [WeakStep { behind: 9, ..WeakStep::of(0) }];
    assert_eq!(weak_run(GraphModel::C11, &far, &accesses[..1]), None);
}
