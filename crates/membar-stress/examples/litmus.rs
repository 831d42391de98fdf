//! Runs litmus tests here: `cargo run --release -p membar-stress --example litmus FILE… [SECONDS]`.

use membar_litmus::{Limits, LitmusTest, Model, outcomes};
use membar_stress::litmus::{self, Amount, Settings};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = arguments.iter().find_map(|text| text.parse().ok()).unwrap_or(1.0);
    for file in arguments.iter().filter(|text| text.parse::<f64>().is_err()) {
        let test = LitmusTest::parse(file, &std::fs::read(file)?)?;
        let amount = Amount::Time(Duration::from_secs_f64(seconds));
        let histogram = litmus::run(&test, &Settings { amount, ..Settings::default() })?;
        let tso = outcomes(&test, Model::Tso, &Limits::default()).states;
        print!("{}", histogram.log(&test).against("tso", &tso));
        let (all, rate) = (histogram.outcomes() as f64, histogram.positive() as f64);
        println!(
            "# {:.2} million outcomes per second, {:.2}% positive\n",
            all / histogram.seconds / 1e6,
            100.0 * rate / all
        );
    }
    Ok(())
}
