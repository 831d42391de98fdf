//! How fast programs run here: `cargo run --release -p membar-stress --example runner_speed [PROFILE [THREADS]]`.

use membar_simulate::{Profile, profile};
use membar_stress::{Engine, Runner, Settings, Timestamps};
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "default".into());
    let threads: u32 = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let profile = Profile { threads, operations: (128 << 10) / threads, ..profile::load(&name)? };
    println!(
        "{:10} {:14} {:>8} {:>12} {:>12} {:>12}",
        "engine", "timestamps", "ops", "compile ms", "run ms", "with all ms"
    );
    for (engine, timestamps) in [
        (Engine::Generated, Timestamps::Off),
        (Engine::Generated, Timestamps::Every(16)),
        (Engine::Generated, Timestamps::Every(1)),
        (Engine::Portable, Timestamps::Off),
    ] {
        let mut runner = Runner::new(Settings { engine, timestamps, ..Settings::default() })?;
        let program = profile.program(1)?;
        let (mut compile, mut run, mut all) = (f64::MAX, f64::MAX, f64::MAX);
        for seed in 0..20 {
            let start = Instant::now();
            let code = Arc::new(runner.compile(&program)?);
            compile = compile.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            let recorded = runner.run_compiled(&code, seed)?;
            all = all.min(start.elapsed().as_secs_f64());
            run = run.min(recorded.seconds);
        }
        println!(
            "{:10} {:14} {:8} {:12.2} {:12.2} {:12.2}",
            format!("{engine:?}"),
            format!("{timestamps:?}"),
            program.operations(),
            1e3 * compile,
            1e3 * run,
            1e3 * all
        );
        if let Some(offsets) = runner.offsets() {
            println!("    {offsets:?}");
        }
    }
    Ok(())
}
