//! How many operations it takes to find each bug, per profile: the mean over some seeds, `-` where it was not found.
//!
//! ```sh
//! cargo run --release -p membar-stress --example detect
//! ```

use membar_check::{Checker, Decision, Limits};
use membar_stress::{Machine, Observe, Profile, Setup, profile, trace};

/// Tests that are tried for one bug and profile before giving up.
const TESTS: u64 = 200;
const ROUNDS: u64 = 5;

fn main() {
    print!("{:<18}", "");
    profile::builtins().iter().for_each(|profile| print!(" {:>17}", profile.name));
    println!();
    for bug in Machine::MesiTso.bugs() {
        let setup = Setup::from(Machine::MesiTso).with(bug.name()).expect("its bug");
        print!("{:<18}", bug.name());
        for profile in profile::builtins() {
            let profile = Profile { operations: 200, ..profile.clone() };
            let found: Vec<u64> = (0..ROUNDS).filter_map(|round| first(setup, &profile, round)).collect();
            let shown = match found.len() as u64 {
                0 => "-".to_owned(),
                n => (found.iter().sum::<u64>() / n).to_string() + if n < ROUNDS { "*" } else { "" },
            };
            print!(" {shown:>17}");
        }
        println!();
    }
    println!("operations to first detection, tests of 200 operations a thread; *: not in every round");
}

fn first(setup: Setup, profile: &Profile, round: u64) -> Option<u64> {
    let model = membar_model::builtin(setup.machine().model()).expect("built in");
    let mut operations = 0;
    for test in 0..TESTS {
        let seed = round * TESTS + test;
        let program = profile.program(seed).expect("valid");
        let run = setup.run(&program, seed);
        operations += program.operations() as u64;
        let found = match trace(&program, &run.record, None, Observe::default()) {
            Ok(trace) => Checker::new().decide(&trace, model, &Limits::default()) == Decision::Forbidden,
            // A value written twice.
            Err(_) => true,
        };
        if found {
            return Some(operations);
        }
    }
    None
}
