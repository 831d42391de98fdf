//! Every size, one line a trace.

use crate::case::{Case, size};
use crate::child::Runner;
use crate::cli::Grid;
use crate::error::Error;
use crate::host::{Progress, Results};
use crate::table::Table;
use std::process::ExitCode;

/// The seed of a trace decides where it is corrupted, too.
fn cases(args: &Grid) -> Vec<Case> {
    let mut cases = Vec::new();
    for &machine in args.machine.list() {
        for &mix in args.mix.list() {
            for n in args.sizes.n() {
                for p in args.sizes.p() {
                    for a in args.sizes.a() {
                        for seed in 1..=args.seeds {
                            let corrupt = args.corrupt.then_some(seed);
                            cases.push(Case { machine, mix, n, p, a, seed, orders: args.orders, corrupt });
                        }
                    }
                }
            }
        }
    }
    cases
}

/// `membar-bench grid`
pub fn run(args: &Grid) -> Result<ExitCode, Error> {
    let runner = Runner::new(&args.common)?;
    let cases = cases(args);
    let what = match (args.corrupt, args.orders) {
        (false, false) => "grid",
        (true, false) => "grid of corrupted traces",
        (false, true) => "grid with write orders",
        (true, true) => "grid of corrupted traces with write orders",
    };
    let mut results = Results::begin(&args.common.output, what, runner.subject());
    let header = [
        "machine",
        "mix",
        "n",
        "p",
        "a",
        "seed",
        "seconds",
        "cpu",
        "MB",
        "algorithm",
        "verdict",
        "certified",
        "conflicts",
    ];
    let mut table = Table::new(format!("{} trace{}", cases.len(), if cases.len() == 1 { "" } else { "s" }), &header);
    let mut progress = Progress::new(cases.len());
    let (mut undecided, mut slowest): (usize, Option<(f64, Case)>) = (0, None);
    for case in &cases {
        progress.next(&format!(
            "{} {} n={} p={} a={}",
            case.machine.name(),
            case.mix.name(),
            size(case.n),
            case.p,
            case.a
        ));
        let file = runner.write(case)?;
        let (cost, answer) = runner.check(&file, case.machine.model())?;
        undecided += usize::from(answer.verdict == "undecided");
        if slowest.is_none_or(|(seconds, _)| seconds < cost.seconds) {
            slowest = Some((cost.seconds, *case));
        }
        table.row(vec![
            case.machine.name().to_owned(),
            case.mix.name().to_owned(),
            size(case.n),
            case.p.to_string(),
            case.a.to_string(),
            case.seed.to_string(),
            format!("{:.3}", cost.seconds),
            format!("{:.3}", cost.cpu),
            format!("{:.0}", cost.megabytes),
            answer.algorithm,
            answer.verdict,
            if answer.certified { "yes" } else { "no" }.to_owned(),
            answer.effort.conflicts.to_string(),
        ]);
    }
    drop(progress);
    results.table(&table);
    if let Some((seconds, case)) = slowest {
        results.say(&format!(
            "{} of {} decided; slowest: {seconds:.3} s at {} {} n={} p={} a={}.",
            cases.len() - undecided,
            cases.len(),
            case.machine.name(),
            case.mix.name(),
            size(case.n),
            case.p,
            case.a
        ));
    }
    results.end()?;
    Ok(ExitCode::SUCCESS)
}
