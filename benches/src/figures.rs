//! Figures 6 to 8 of Manovit and Hangal, "Efficient Algorithms for Verifying Memory Consistency" (SPAA 2005), as tables.
//!
//! Figure 6 says how often the heuristic of their section 4.5 finds a total order, so it is computed with that plan; the
//! same for the default plan, which learns from each dead end, stands beside it.
//! Figures 7 and 8 are the time of the whole command, which is what they would be for: the paper's leave out reading.

use crate::case::{Case, size};
use crate::child::Runner;
use crate::cli::{Figures, PlanName};
use crate::error::Error;
use crate::host::{Progress, Results};
use crate::table::Table;
use std::collections::HashMap;
use std::process::ExitCode;

/// Average seconds for (n, p, a).
type Times = HashMap<[u32; 3], f64>;

/// `membar-bench figures`
pub fn run(args: &Figures) -> Result<ExitCode, Error> {
    let runner = Runner::new(&args.common)?;
    let (ns, ps, aas) = (args.sizes.n(), args.sizes.p(), args.sizes.a());
    let many = args.seeds.unwrap_or(if args.sizes.quick { 2 } else { 8 });
    let few = args.seeds.unwrap_or(if args.sizes.quick { 1 } else { 2 });
    let cells = ps.len() * aas.len();
    let mut sizes = ns.clone();
    if !sizes.contains(&args.at) {
        sizes.push(args.at);
    }
    let what = format!("figures, {} machine, {} mix", args.machine.name(), args.mix.name());
    let mut results = Results::begin(&args.common.output, &what, runner.subject());
    let mut progress = Progress::new(cells * many as usize + cells * sizes.len() * few as usize);

    let mut found: HashMap<[u32; 2], (u64, f64)> = HashMap::new();
    let mut learned: HashMap<[u32; 2], u64> = HashMap::new();
    let mut times: Times = HashMap::new();
    for &p in &ps {
        for &a in &aas {
            let case = Case::plain(args.machine, args.mix, [args.at, p, a]);
            let cell = found.entry([p, a]).or_default();
            for seed in 1..=many {
                progress.next(&format!("figure 6, p={p} a={a}"));
                let file = runner.write(&Case { seed, ..case })?;
                let (cost, answer) = runner.check_with(&file, args.machine.model(), PlanName::Paper)?;
                cell.0 += u64::from(answer.algorithm == "too");
                cell.1 += cost.seconds / many as f64;
            }
            for &n in &sizes {
                for seed in 1..=few {
                    progress.next(&format!("figures 7 and 8, n={} p={p} a={a}", size(n)));
                    let file = runner.write(&Case { seed, n, ..case })?;
                    let (cost, answer) = runner.check(&file, args.machine.model())?;
                    if n == args.at {
                        *learned.entry([p, a]).or_default() += u64::from(answer.verdict == "allowed");
                    }
                    *times.entry([n, p, a]).or_default() += cost.seconds / few as f64;
                }
            }
        }
    }
    drop(progress);

    let label = |name: &'static str| move |&value: &u32| (format!("{name}={}", size(value)), value);
    let (n_labels, p_labels, a_labels) = (labels(&ns, label("n")), labels(&ps, label("p")), labels(&aas, label("a")));
    let at = size(args.at);
    results.table(&Table::matrix(
        format!("Figure 6. % TOO found with the paper's plan (n={at}, {many} traces a cell)"),
        "",
        &p_labels,
        &a_labels,
        |p, a| format!("{:.0}", found[&[p, a]].0 as f64 * 100.0 / many as f64),
    ));
    results.table(&Table::matrix(
        format!("Figure 6, ordering found with learning, the default plan (n={at}, {few} traces a cell)"),
        "",
        &p_labels,
        &a_labels,
        |p, a| format!("{:.0}", learned[&[p, a]] as f64 * 100.0 / few as f64),
    ));
    results.table(&Table::matrix(
        format!("Figure 7. Analysis time in seconds (n={at})"),
        "",
        &p_labels,
        &a_labels,
        |p, a| format!("{:.3}", times[&[args.at, p, a]]),
    ));
    results.table(&Table::matrix(
        format!("Figure 7, with the paper's plan instead (n={at})"),
        "",
        &p_labels,
        &a_labels,
        |p, a| format!("{:.3}", found[&[p, a]].1),
    ));
    let over_a = |n: u32, p: u32| format!("{:.3}", average(aas.iter().map(|&a| times[&[n, p, a]])));
    let over_p = |n: u32, a: u32| format!("{:.3}", average(ps.iter().map(|&p| times[&[n, p, a]])));
    results.table(&Table::matrix("Figure 8. Seconds against n (averaged over a)", "", &n_labels, &p_labels, over_a));
    results.table(&Table::matrix("Figure 8. Seconds against p (averaged over a)", "", &p_labels, &n_labels, |p, n| {
        over_a(n, p)
    }));
    results.table(&Table::matrix("Figure 8. Seconds against a (averaged over p)", "", &a_labels, &n_labels, |a, n| {
        over_p(n, a)
    }));
    results.end()?;
    Ok(ExitCode::SUCCESS)
}

fn labels(values: &[u32], label: impl Fn(&u32) -> (String, u32)) -> Vec<(String, u32)> {
    values.iter().map(label).collect()
}

fn average(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}
