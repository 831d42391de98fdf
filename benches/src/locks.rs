//! Locks and time: figures 4 and 5 of Lv et al. (2014), with their workload on our simulated many-core.
//!
//! 60% loads and 30% stores over two addresses, 10% acquires and releases of one lock; timestamps of scans every 600 cycles;
//! the model is scope consistency. The published algorithms are run from `membar-testkit`, which has them as printed and
//! repaired; they get a limit, since they may not return in hours.

use crate::cli::Locks;
use crate::error::Error;
use crate::host::{Progress, Results};
use crate::table::Table;
use membar_certify::Certifier;
use membar_check::{Checker, Limits};
use membar_core::{Clock, Compare, Model, Trace};
use membar_simulate::{Machine, Observe, Profile, profile, sampled, trace};
use membar_testkit::frontier::{self, Algorithm};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Cycles between two scans, as in the paper.
pub const SCAN: u64 = 600;
/// Sizes of both figures.
const SIZES: [u32; 8] = [100, 300, 1_000, 4_000, 10_000, 40_000, 100_000, 1_000_000];
const CORES: [u32; 4] = [2, 4, 8, 16];

/// A run of the paper's workload with this many operations in all, as scans saw it.
pub fn run_of(cores: u32, operations: u32, seed: u64) -> Trace {
    let modv = profile::builtin("modv").expect("built in");
    let profile = Profile { threads: cores, operations: (operations / cores).max(1), ..modv.clone() };
    let program = profile.program(seed).expect("the profile is valid");
    let run = Machine::GodsonT.run(&program, seed);
    let times = sampled(&run.times, SCAN);
    trace(&program, &run.record, Some(&times), Observe::default()).expect("every value is written once")
}

fn scope() -> &'static Model {
    membar_model::builtin("scope").expect("built in")
}

/// Seconds to decide and certify a trace, and the verdict.
fn ours(trace: &Trace) -> Result<(f64, &'static str), Error> {
    let start = Instant::now();
    let verdict = Checker::new().verdict(trace, scope(), &Limits::default()).verdict;
    Certifier::new().verdict(trace, scope(), &verdict)?;
    Ok((start.elapsed().as_secs_f64(), verdict.name()))
}

/// Seconds of a published algorithm, or what it had reached.
fn published(trace: &Trace, algorithm: Algorithm, limit: Duration) -> String {
    let start = Instant::now();
    // They remember the orders that failed, which the paper does not say; without it they return even less often.
    let limits = frontier::Limits { deadline: Some(start + limit), remember: true, ..frontier::Limits::default() };
    let explored = frontier::explore(trace, scope(), algorithm, &limits);
    match explored.allowed {
        Some(_) => format!("{:.3} s", start.elapsed().as_secs_f64()),
        None => format!("> {:.0} s", limit.as_secs_f64()),
    }
}

fn on_clock(trace: &mut Trace, compare: Compare) {
    trace.set_clock(Clock { compare, error: 0, sampled_every: Some(SCAN) });
}

/// `membar-bench locks`
pub fn run(args: &Locks) -> Result<ExitCode, Error> {
    let subject = "checker and certifier in one process; the published algorithms from membar-testkit";
    let mut results = Results::begin(&args.output, "locks and time", subject);
    let sizes = || SIZES.into_iter().filter(|&n| n <= args.most);
    let limit = Duration::from_secs(args.limit);
    let mut progress = Progress::new(sizes().count() * (CORES.len() + 1));
    let mut first = Table::new(
        "Figure 4: 2 cores",
        &["operations", "baseline, published", "untimed, ours", "timed, published", "timed, ours", "verdict"],
    );
    let mut gave_up = [false; 2];
    for n in sizes() {
        progress.next(&format!("{n} operations on 2 cores"));
        let mut trace = run_of(2, n, 1);
        let mut row = vec![trace.len().to_string()];
        let mut verdicts = Vec::new();
        for (i, (compare, algorithm)) in
            [(Compare::Nothing, Algorithm::Baseline), (Compare::Everything, Algorithm::Active)].into_iter().enumerate()
        {
            on_clock(&mut trace, compare);
            // Longer traces take longer still.
            let theirs = if gave_up[i] { "-".to_owned() } else { published(&trace, algorithm, limit) };
            gave_up[i] |= theirs.starts_with('>');
            let (seconds, verdict) = ours(&trace)?;
            row.extend([theirs, format!("{seconds:.3} s")]);
            verdicts.push(verdict);
        }
        verdicts.dedup();
        row.push(verdicts.join("/"));
        first.row(row);
    }
    let mut header = vec!["operations".to_owned()];
    header.extend(CORES.iter().flat_map(|p| [format!("{p} cores, timed"), "untimed".to_owned()]));
    let mut second = Table::new("Figure 5: seconds, ours", &header);
    for n in sizes() {
        let mut row = vec![n.to_string()];
        for cores in CORES {
            progress.next(&format!("{n} operations on {cores} cores"));
            let mut trace = run_of(cores, n, 1);
            for compare in [Compare::Everything, Compare::Nothing] {
                on_clock(&mut trace, compare);
                row.push(format!("{:.3}", ours(&trace)?.0));
            }
        }
        second.row(row);
    }
    drop(progress);
    results.table(&first);
    results.table(&second);
    results.say(
        "The paper (four 8-core Xeons at 2.4 GHz): its baseline often does not return within 8 hours for 4K operations on 4 \
         cores; its timed algorithm takes minutes for hundreds of thousands of operations on 16 cores (figures 4 and 5).",
    );
    results.end()?;
    Ok(ExitCode::SUCCESS)
}
