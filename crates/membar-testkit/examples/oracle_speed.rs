//! How long the program oracle takes on random programs: `cargo run --release -p membar-testkit --example oracle_speed`.

use membar_simulate::Rng;
use membar_testkit::programs::{Limits, Memory, finals, search};
use membar_testkit::random::{Knobs, random_program};
use std::time::Instant;

fn main() {
    let programs = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2000);
    println!(
        "knobs      model what        mean us  median     p90     p99      max  unsafe  cut  given up  configurations"
    );
    for (name, knobs) in [("plain", Knobs::PLAIN), ("loop-free", Knobs::LOOP_FREE), ("all", Knobs::ALL)] {
        for model in [Memory::Tso, Memory::Pso] {
            let limits = Limits { max_configurations: 200_000, ..Limits::default() };
            let (mut times, mut final_times) = (Vec::new(), Vec::new());
            let (mut violated, mut cut, mut given_up, mut configurations) = (0, 0, 0, 0);
            for seed in 0..programs {
                let code = random_program(&mut Rng::new(seed), &knobs);
                let start = Instant::now();
                let found = search(&code, model, &limits);
                times.push(start.elapsed().as_nanos() as f64 / 1e3);
                match found {
                    Some(found) => {
                        violated += usize::from(found.violation.is_some());
                        cut += usize::from(found.cut && found.violation.is_none());
                        configurations += found.configurations;
                    }
                    None => given_up += 1,
                }
                let start = Instant::now();
                finals(&code, model, &limits);
                final_times.push(start.elapsed().as_nanos() as f64 / 1e3);
            }
            for (what, times) in [("search", &mut times), ("finals", &mut final_times)] {
                times.sort_by(f64::total_cmp);
                let mean = times.iter().sum::<f64>() / times.len() as f64;
                let at = |percent: usize| times[(times.len() - 1) * percent / 100];
                print!(
                    "{name:10} {model:?}   {what:10} {mean:8.0} {:7.0} {:7.0} {:7.0} {:8.0}",
                    at(50),
                    at(90),
                    at(99),
                    at(100)
                );
                println!("  {violated:6} {cut:4} {given_up:9} {configurations:15}");
            }
        }
    }
}
