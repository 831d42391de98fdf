//! Plans: what splitting costs, and how far more workers help.
//!
//! Measured: processor time of the command in one process, and of `plan`, `work` (one worker) and `merge`; the time of each shard.
//! Computed from that: the speed-up of 10 to 10,000 workers, each of which takes the next shard when it is done, and the three things
//! that limit it. No worker is faster than the largest shard; one process merges; and every shard costs some file operations.

use crate::child::Runner;
use crate::cli;
use crate::error::Error;
use crate::host::Results;
use crate::table::Table;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::process::ExitCode;

const WORKERS: [usize; 5] = [1, 10, 100, 1_000, 10_000];

/// Stores of each of the two threads of the test that is searched: C(26, 13) orders, about 10 million classes.
const STORES: usize = 13;
/// Parts of its search, at most: with more, starting them would be most of the work.
const PARTS: u32 = 64;

/// One command, split.
struct Measured {
    name: String,
    one: f64,
    plan: f64,
    work: f64,
    merge: f64,
    /// Seconds of each shard, in the order in which they are taken.
    shards: Vec<f64>,
}

/// The seconds that results give, the planned shards first.
fn seconds(plan: &Path) -> Result<Vec<f64>, Error> {
    let directory = plan.join("results");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&directory).map_err(Error::file("read", &directory))? {
        let path = entry?.path();
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if name.starts_with('.') {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        let head: Value = serde_json::from_str(text.lines().next().unwrap_or_default())
            .map_err(|source| Error::Answer { program: path.clone(), source })?;
        let order: Vec<u32> = name.split('.').filter_map(|part| part.parse().ok()).collect();
        all.push((order, head["done"]["seconds"].as_f64().unwrap_or(0.0)));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all.into_iter().map(|(_, seconds)| seconds).collect())
}

/// When the last worker is done, if each takes the next shard when it can.
fn makespan(shards: &[f64], workers: usize) -> f64 {
    let mut free: BinaryHeap<Reverse<u64>> = (0..workers.min(shards.len()).max(1)).map(|_| Reverse(0)).collect();
    let mut last = 0;
    for &seconds in shards {
        let Some(Reverse(begin)) = free.pop() else { break };
        let end = begin + (seconds * 1e9) as u64;
        last = last.max(end);
        free.push(Reverse(end));
    }
    last as f64 / 1e9
}

fn measure(runner: &Runner, shards: u32, name: &str, line: &str) -> Result<Measured, Error> {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let plan = runner.file(&format!("{name}.plan"));
    let shown = plan.to_string_lossy().into_owned();
    let run = |arguments: Vec<String>| runner.membar(&arguments, 1).map(|(cost, _)| cost.cpu);
    let one = run(words(line))?;
    let first = [words(&format!("plan {shown} --shards {shards}")), words(line)].concat();
    let first = run(first)?;
    let work = run(words(&format!("work --quiet {shown}")))?;
    let merge = run(words(&format!("merge {shown}")))?;
    Ok(Measured { name: name.into(), one, plan: first, work, merge, shards: seconds(&plan)? })
}

pub fn run(args: &cli::Scale) -> Result<ExitCode, Error> {
    let runner = Runner::real(args.membar.as_deref())?;
    let litmus = runner.file("stores.litmus");
    let row = |text: &dyn Fn(usize) -> String| (0..2).map(text).collect::<Vec<_>>().join(" | ") + " ;\n";
    let mut text = String::from("X86 stores\n{ x=0; }\n ") + &row(&|thread| format!("P{thread}"));
    (0..STORES).for_each(|i| text += &row(&|thread| format!("MOV [x],${}", thread * STORES + i + 1)));
    std::fs::write(&litmus, text + "exists (x=1)\n").map_err(Error::file("write", &litmus))?;
    let simulate = format!("simulate --quiet --machine mesi-tso --tests {}", args.tests);
    let verify = format!("verify --quiet --strategy dpor {}", litmus.display());
    let all = [
        measure(&runner, args.shards, "simulate", &simulate)?,
        measure(&runner, args.shards.min(PARTS), "verify", &verify)?,
    ];
    let mut results = Results::begin(&args.output, "scale", "`membar`: plan, one worker, merge");
    let header = ["command", "shards", "one process, s", "plan, s", "work, s", "over", "merge, s", "largest / mean"];
    let mut table = Table::new("Plans: processor time", &header);
    let mut model =
        Table::new("Plans: speed-up by workers, computed", &["command", "workers", "speed-up", "limited by"]);
    for Measured { name, one, plan, work, merge, shards } in &all {
        let total: f64 = shards.iter().sum();
        let largest = shards.iter().copied().fold(0.0, f64::max);
        let mean = total / shards.len().max(1) as f64;
        table.row(vec![
            name.clone(),
            shards.len().to_string(),
            format!("{one:.2}"),
            format!("{plan:.2}"),
            format!("{work:.2}"),
            format!("{:+.1}%", 100.0 * (plan + work + merge - one) / one),
            format!("{merge:.2}"),
            format!("{:.1}", largest / mean),
        ]);
        for workers in WORKERS {
            let span = makespan(shards, workers);
            let limits = [
                ("the number of workers", total / workers as f64),
                ("the largest shard", largest),
                ("plan and merge, on one machine", plan + merge),
            ];
            let limit = limits.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |(name, _)| name);
            let speed = total / (span + plan + merge);
            model.row(vec![name.clone(), workers.to_string(), format!("{speed:.1}"), limit.to_owned()]);
        }
    }
    results.table(&table);
    results.table(&model);
    results.end()?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::makespan;

    #[test]
    fn workers_take_the_next_shard() {
        assert!((makespan(&[1.0, 1.0, 1.0, 1.0], 2) - 2.0).abs() < 1e-6);
        assert!((makespan(&[1.0, 3.0, 1.0, 1.0], 2) - 3.0).abs() < 1e-6);
        assert!((makespan(&[2.0], 100) - 2.0).abs() < 1e-6);
        assert_eq!(makespan(&[], 3), 0.0);
    }
}
