//! How many tests and operations it takes to find each bug of the simulated machines, for each profile: a better profile
//! shows as fewer.
//!
//! Tests are those of `membar simulate`: the same programs and runs for the same seeds. A round begins at its own seed and
//! ends with the first violation, or gives up.

use crate::cli::Detect;
use crate::error::Error;
use crate::host::{Progress, Results};
use crate::table::Table;
use membar_check::{Checker, Decision, Limits};
use membar_core::{Clock, Compare, Model};
use membar_simulate::{Bug, Machine, Observe, Profile, Setup, machines, profile, run_seed, trace};
use std::process::ExitCode;

/// Seeds between two rounds.
const APART: u64 = 1 << 32;

/// The outcome of all rounds of one bug and profile.
#[derive(Default)]
struct Found {
    rounds: u64,
    tests: u64,
    operations: u64,
}

impl Found {
    /// The mean of a sum over the rounds that found something.
    fn mean(&self, sum: u64, all: u64) -> String {
        match self.rounds {
            0 => "-".to_owned(),
            rounds => format!("{:.0}{}", sum as f64 / rounds as f64, if rounds < all { "*" } else { "" }),
        }
    }
}

/// `membar-bench detect`
pub fn run(args: &Detect) -> Result<ExitCode, Error> {
    let subject = "machines and checker in one process; the seeds are those of membar simulate";
    let mut results = Results::begin(&args.output, "bugs of simulated machines, to first detection", subject);
    let bugs: Vec<(Machine, Bug)> =
        machines::all().iter().flat_map(|machine| machine.bugs().iter().map(|&bug| (*machine, bug))).collect();
    let profiles = profile::builtins();
    let mut header = vec!["bug".to_owned()];
    header.extend(profiles.iter().map(|profile| profile.name.clone()));
    let size = format!("{} operations a thread, mean of {} rounds", args.operations, args.rounds);
    let mut tests = Table::new(format!("Tests to first detection, {size}"), &header);
    let mut operations = Table::new(format!("Operations to first detection, {size}"), &header);
    let mut progress = Progress::new(bugs.len() * profiles.len());
    let mut missed = Vec::new();
    for (machine, bug) in bugs {
        let setup = Setup::from(machine).with(bug.name()).expect("its bug");
        let (mut tests_row, mut operations_row) = (vec![setup.to_string()], vec![setup.to_string()]);
        let mut ever = false;
        for profile in profiles {
            progress.next(&format!("{setup}, {}", profile.name));
            let profile = Profile { operations: args.operations, ..profile.clone() };
            let found = search(setup, &profile, args);
            ever |= found.rounds > 0;
            tests_row.push(found.mean(found.tests, args.rounds));
            operations_row.push(found.mean(found.operations, args.rounds));
        }
        if !ever {
            missed.push(bug.name());
        }
        tests.row(tests_row);
        operations.row(operations_row);
    }
    drop(progress);
    results.table(&tests);
    results.table(&operations);
    results.say(&format!(
        "*: not in every round; -: in no round of {} tests. {}",
        args.tests,
        if missed.is_empty() {
            "Every bug was found.".to_owned()
        } else {
            format!("Never found: {}.", missed.join(", "))
        }
    ));
    results.end()?;
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn search(setup: Setup, profile: &Profile, args: &Detect) -> Found {
    let model = membar_model::builtin(setup.machine().model()).expect("built in");
    let mut checker = Checker::new();
    let mut found = Found::default();
    for round in 0..args.rounds {
        let mut operations = 0;
        for test in 0..args.tests {
            let program = profile.program(round * APART + test + 1).expect("valid");
            operations += program.operations() as u64;
            if forbidden(setup, &program, round * APART + test + 1, model, &mut checker) {
                found.rounds += 1;
                found.tests += test + 1;
                found.operations += operations;
                break;
            }
        }
    }
    found
}

fn forbidden(
    setup: Setup,
    program: &membar_simulate::Program,
    seed: u64,
    model: &Model,
    checker: &mut Checker,
) -> bool {
    let run = setup.run(program, run_seed(seed));
    let times = (setup.machine() == Machine::GodsonT).then_some(&run.times);
    match trace(program, &run.record, times, Observe::default()) {
        Ok(mut trace) => {
            if times.is_some() {
                trace.set_clock(Clock { compare: Compare::Everything, ..Clock::default() });
            }
            checker.decide(&trace, model, &Limits::default()) == Decision::Forbidden
        }
        // A value written twice.
        Err(_) => true,
    }
}
