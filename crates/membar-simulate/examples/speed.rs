//! How fast programs are written and the simulated machines run them; the machines named on the command line, or all.
use membar_simulate::{Observe, machines, profile, sampled, trace};
use std::time::Instant;

fn main() {
    let only: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "{:<18} {:<9} {:>3} {:>5} {:>8} {:>7} {:>7} {:>7}",
        "profile", "machine", "p", "a", "n", "program", "run", "trace"
    );
    for (name, threads, addresses) in
        [("paper", 4, 16), ("default", 4, 16), ("paper", 16, 256), ("modv", 16, 2), ("locks", 8, 64)]
    {
        let mut profile = profile::load(name).expect("built in");
        (profile.threads, profile.addresses, profile.operations) = (threads, addresses, (1 << 20) / threads);
        let start = Instant::now();
        let program = profile.program(1).expect("valid");
        let written = start.elapsed();
        for &machine in
            machines::all().iter().filter(|machine| only.is_empty() || only.iter().any(|name| name == machine.name()))
        {
            let start = Instant::now();
            let run = machine.run(&program, 1);
            let ran = start.elapsed();
            let start = Instant::now();
            let times = sampled(&run.times, 600);
            let trace = trace(&program, &run.record, Some(&times), Observe::default()).expect("no bugs");
            let spans: u64 = (0..program.len()).map(|i| run.times.end[i] - run.times.begin[i]).sum();
            let rate = |time: std::time::Duration| trace.len() as f64 / 1e6 / time.as_secs_f64();
            println!(
                "{name:<18} {:<9} {threads:>3} {addresses:>5} {:>8} {:>7.1} {:>7.1} {:>7.1}  Mop/s; {} cycles an operation",
                machine.name(),
                trace.len(),
                rate(written),
                rate(ran),
                rate(start.elapsed()),
                spans / program.len() as u64,
            );
        }
    }
}
