//! Random programs on the real cores of this machine.

use membar_check::{Checker, Decision, Limits};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use membar_core::{Clock, Compare};
use membar_simulate::{Instr, Observe, Profile, Program, ProgramBuilder, profile};
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use membar_stress::Recorded;
use membar_stress::{Cores, Engine, Error, Runner, Settings, Timestamps};
use std::time::{Duration, Instant};

/// Says loudly what cannot be tested here.
fn several_cores(what: &str) -> bool {
    let several = Cores::allowed().count() > 1;
    if !several {
        eprintln!("SKIPPED on a machine with one core: {what}");
    }
    several
}

fn verdict(program: &Program, runner: &mut Runner, seed: u64, model: &str) -> Decision {
    let run = runner.run(program, seed).unwrap();
    let trace = run.trace(program, Observe { finals: true, ..Observe::default() }).unwrap();
    Checker::new().decide(&trace, membar_model::builtin(model).unwrap(), &Limits::default())
}

fn engines() -> Vec<Engine> {
    if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        vec![Engine::Generated, Engine::Portable]
    } else {
        vec![Engine::Portable]
    }
}

/// Two threads, each of which stores and then looks for the other's stores, again and again.
fn store_buffering(rounds: u64) -> Program {
    let mut b = ProgramBuilder::new(2, 0);
    b.stride(64);
    for me in 0..2 {
        b.thread();
        for round in 0..rounds {
            b.push(Instr::Store { addr: me, value: 1 + round }).push(Instr::Load { addr: 1 - me });
        }
    }
    b.finish().unwrap()
}

#[test]
fn sc_is_violated_within_seconds() {
    if !several_cores("store buffering needs two") {
        return;
    }
    let program = store_buffering(1000);
    for engine in engines() {
        let mut runner = Runner::new(Settings { engine, ..Settings::default() }).unwrap();
        let start = Instant::now();
        let mut seed = 0;
        while verdict(&program, &mut runner, seed, "sc") != Decision::Forbidden {
            seed += 1;
            assert!(start.elapsed() < Duration::from_secs(60), "{engine:?}: no violation in {seed} runs");
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn tso_is_never_violated() {
    for profile in profile::builtins() {
        for (engine, threads) in engines().into_iter().flat_map(|engine| [(engine, 2), (engine, 5)]) {
            let profile = Profile { operations: 400, threads, ..profile.clone() };
            let mut runner = Runner::new(Settings { engine, stagger: 500, ..Settings::default() }).unwrap();
            for seed in 0..4 {
                let program = profile.program(seed).unwrap();
                assert_ne!(verdict(&program, &mut runner, seed, "tso"), Decision::Forbidden, "{} {seed}", profile.name);
            }
        }
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn times_contain_the_events() {
    let profile = Profile { operations: 500, threads: 2, ..profile::load("atomics").unwrap() };
    for every in [1, 9] {
        let settings = Settings { timestamps: Timestamps::Every(every), ..Settings::default() };
        let mut runner = Runner::new(settings).unwrap();
        let mut compared = 0;
        for seed in 0..5 {
            let program = profile.program(seed).unwrap();
            let run = runner.run(&program, seed).unwrap();
            let times = run.times.as_ref().unwrap();
            for t in 0..2 {
                let all: Vec<usize> = program.thread(t).collect();
                assert!(all.iter().all(|&i| times.begin[i] <= times.end[i]));
                assert!(all.windows(2).all(|pair| times.begin[pair[0]] <= times.begin[pair[1]]));
                assert!(all.windows(2).all(|pair| times.end[pair[0]] <= times.end[pair[1]]));
                // Stamps are of this run, and not zeros of a log that nobody wrote.
                assert!(times.begin[all[0]] < times.end[all[all.len() - 1]]);
            }
            // A value read was written before, by whatever clock: an atomic is in memory when it ends.
            let error = 2 * run.clock_error;
            for reader in 0..program.len() {
                let (Instr::Load { addr } | Instr::Exchange { addr, .. }) = program.instr(reader) else { continue };
                let read = Instr::Exchange { addr, value: run.record.read(reader) };
                if let Some(writer) = (0..program.len()).find(|&i| program.instr(i) == read) {
                    assert!(times.begin[writer] <= times.end[reader] + error, "{writer} {reader}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 100, "{compared}");
    }
}

/// With timestamps of all cores on one clock, and its error, what happened is still allowed. With clocks that differ by more than
/// was measured it is not: so times do matter.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn tso_is_never_violated_on_one_clock() {
    let mut wrong = 0;
    for profile in profile::builtins() {
        for every in [1, 6] {
            let profile = Profile { operations: 300, threads: 2, ..profile.clone() };
            let timestamps = Timestamps::Every(every);
            let mut runner = Runner::new(Settings { timestamps, ..Settings::default() }).unwrap();
            for seed in 0..4 {
                let program = profile.program(seed).unwrap();
                let mut run = runner.run(&program, seed).unwrap();
                let decide = |run: &Recorded| {
                    let mut trace = run.trace(&program, Observe { finals: true, ..Observe::default() }).unwrap();
                    trace.set_clock(Clock {
                        compare: Compare::Everything,
                        error: run.clock_error,
                        sampled_every: None,
                    });
                    Checker::new().decide(&trace, membar_model::builtin("tso").unwrap(), &Limits::default())
                };
                assert_ne!(decide(&run), Decision::Forbidden, "{} {every} {seed} {:?}", profile.name, runner.offsets());
                let times = run.times.as_mut().unwrap();
                for i in program.thread(1) {
                    times.begin[i] += 1 << 40;
                    times.end[i] += 1 << 40;
                }
                wrong += usize::from(decide(&run) == Decision::Forbidden);
            }
        }
    }
    if several_cores("clocks that differ") {
        assert!(wrong > 10, "{wrong}");
    }
}

#[test]
fn more_threads_than_cores_interleave() {
    let cores = Cores::new(vec![Cores::allowed().numbers()[0]]).unwrap();
    for engine in engines() {
        let profile = Profile { operations: 2000, threads: 6, ..profile::load("locks").unwrap() };
        let program = profile.program(1).unwrap();
        let mut runner = Runner::new(Settings { engine, cores: Some(cores.clone()), ..Settings::default() }).unwrap();
        let run = runner.run(&program, 1).unwrap();
        let trace = run.trace(&program, Observe::default()).unwrap();
        assert_eq!(trace.len(), program.operations());
        // On one core everything is sequentially consistent.
        assert_ne!(verdict(&program, &mut runner, 2, "sc"), Decision::Forbidden);
    }
}

#[test]
fn threads_that_wait_for_each_other_are_stopped() {
    let mut b = ProgramBuilder::new(1, 1);
    b.thread().push(Instr::Acquire { lock: 0 });
    b.thread().push(Instr::Acquire { lock: 0 });
    let program = b.finish().unwrap();
    for engine in engines() {
        let limit = Duration::from_millis(50);
        let mut runner = Runner::new(Settings { engine, limit, ..Settings::default() }).unwrap();
        assert!(matches!(runner.run(&program, 1), Err(Error::Stuck(_))));
        // And the next program runs.
        assert!(runner.run(&store_buffering(10), 1).is_ok());
    }
}

#[test]
fn a_runner_can_be_sent_elsewhere() {
    let mut runner = Runner::new(Settings::default()).unwrap();
    let program = store_buffering(100);
    let code = std::sync::Arc::new(runner.compile(&program).unwrap());
    let runs =
        std::thread::spawn(move || (0..10).map(|seed| runner.run_compiled(&code, seed).unwrap()).collect::<Vec<_>>());
    assert_eq!(runs.join().unwrap().len(), 10);
}

#[test]
fn the_interpreter_has_no_counter() {
    let settings = Settings { engine: Engine::Portable, timestamps: Timestamps::Every(1), ..Settings::default() };
    assert!(matches!(Runner::new(settings).unwrap().run(&store_buffering(1), 1), Err(Error::NoTimestamps)));
}
