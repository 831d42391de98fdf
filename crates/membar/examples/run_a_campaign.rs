//! A campaign of random tests on a simulated machine with a bug: every result decided and certified, a violation kept as a
//! directory that says everything about it.
//!
//! `cargo run -p membar --example run_a_campaign`

use membar::campaign::{Plan, Simulated};
use membar::report::Style;
use membar::simulate::{Machine, Setup};
use membar::{Chosen, Interrupt, campaign};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let machine = Simulated::new(Setup::from(Machine::MesiTso).with("stale-forward")?);
    let plan = Plan { tests: Some(200), output: directory.path().into(), ..Plan::new(Chosen::load("tso")?)? };
    let found = campaign(&plan, &machine, &Interrupt::default(), &())?;
    println!("{} after {} tests", found.verdict(), found.counters.tests);
    print!("{}", found.text(&plan, &machine, Style::default()));
    for violation in &found.counters.violations {
        print!("{}", std::fs::read_to_string(std::path::Path::new(&violation.bundle).join("shrunk.trace"))?);
    }
    Ok(())
}
