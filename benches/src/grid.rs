//! Every size, one line per trace.

use crate::case::{Case, size};
use crate::child::Runner;
use crate::cli::{Grid, MachineName, MixName};
use crate::error::Error;
use crate::host::{Progress, Results};
use crate::table::Table;
use std::process::ExitCode;

/// Many threads whose stores stay in their buffers for long, on many addresses: most stores that may execute are needed by
/// nobody yet. Buffers hold [`DEPTH`] stores.
const DEEP: [(MachineName, MixName, [u32; 3]); 8] = [
    (MachineName::Tso, MixName::Paper, [96 << 10, 512, 24]),
    (MachineName::Pso, MixName::Paper, [96 << 10, 64, 4096]),
    (MachineName::Pso, MixName::LoadsStores, [96 << 10, 64, 4096]),
    (MachineName::Pso, MixName::StoresLoads, [96 << 10, 64, 4096]),
    (MachineName::Pso, MixName::LoadsStores, [96 << 10, 128, 4096]),
    (MachineName::Pso, MixName::StoresLoads, [96 << 10, 128, 4096]),
    (MachineName::Wmo, MixName::LoadsStores, [96 << 10, 128, 4096]),
    (MachineName::Wmo, MixName::Paper, [96 << 10, 128, 4096]),
];
const DEPTH: u32 = 64;

/// The seed of a trace decides where it is corrupted, too.
fn cases(args: &Grid) -> Vec<Case> {
    let mut cases = Vec::new();
    let machines = if args.deep { &[] } else { args.machine.list() };
    for &machine in machines {
        for &mix in args.mix.list() {
            for n in args.sizes.n() {
                for p in args.sizes.p() {
                    for a in args.sizes.a() {
                        for seed in 1..=args.seeds {
                            let corrupt = args.corrupt.then_some(seed);
                            let orders = args.orders;
                            cases.push(Case { seed, orders, corrupt, ..Case::plain(machine, mix, [n, p, a]) });
                        }
                    }
                }
            }
        }
    }
    if args.sizes.n.is_empty() && args.sizes.p.is_empty() && args.sizes.a.is_empty() {
        for (machine, mix, size) in DEEP {
            for seed in 1..=args.seeds {
                let corrupt = args.corrupt.then_some(seed);
                let (orders, buffer) = (args.orders, Some(DEPTH));
                cases.push(Case { seed, orders, corrupt, buffer, ..Case::plain(machine, mix, size) });
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
        "buffer",
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
            case.buffer.map_or_else(String::new, |stores| stores.to_string()),
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
