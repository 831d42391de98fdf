//! How fast the simulated machines are.
use membar_stress::{Machine, Mix, Observe, Workload, simulate};
use std::time::Instant;

fn main() {
    println!("{:>8} {:>3} {:>4} {:>8} {:>8}", "n", "p", "a", "machine", "seconds");
    for (ops, threads, addresses) in [(1 << 20, 4, 4), (1 << 20, 16, 256), (1 << 20, 64, 4096)] {
        for machine in [Machine::Sc, Machine::Tso, Machine::Pso] {
            let work = Workload { threads, addresses, ops, mix: Mix::PAPER, seed: 1 };
            let start = Instant::now();
            let trace = simulate(&work, machine, Observe { write_order: true, finals: true });
            let seconds = start.elapsed().as_secs_f64();
            println!("{:>8} {threads:>3} {addresses:>4} {:>8} {seconds:>8.3}", trace.len(), format!("{machine:?}"));
        }
    }
}
