//! Executions of the models themselves: how many there are, and how many per second, beside the classes of SC exploration.

use crate::cli;
use crate::error::Error;
use crate::host::Results;
use crate::native::{Program, Run, Source, settings};
use crate::table::Table;
use membar_core::{GraphModel, Relaxation};
use membar_explore::Strategy;
use membar_verify::{Effort, Watching};
use std::process::ExitCode;
use std::time::Duration;

/// The usual programs.
pub fn programs() -> Vec<Source> {
    let mut all = Vec::new();
    for (name, n) in [("dekker", 2), ("dekker", 3), ("bakery", 1), ("bakery", 2)] {
        all.push(Source::example(name, Some(n)));
    }
    all.extend(["peterson", "msn", "seqlock", "spsc"].map(|name| Source::example(name, None)));
    all
}

pub fn run(args: &cli::Weak) -> Result<ExitCode, Error> {
    if args.corpus {
        return corpus(args);
    }
    let sources = if args.files.is_empty() {
        programs()
    } else {
        args.files.iter().map(|file| Source::file(file, &args.flags)).collect()
    };
    let header = [
        "program",
        "strategy",
        "executions",
        "blocked",
        "not SC",
        "redundant",
        "events",
        "cpu s",
        "per s",
        "MiB",
        "errors",
    ];
    let mut table = Table::new("Executions of the models beside classes", &header);
    for source in &sources {
        let mut program = Program::open_with(source, 1, false)?;
        let strategies =
            [None, Some(GraphModel::Sc), Some(GraphModel::Tso), Some(GraphModel::Pso), Some(GraphModel::C11)];
        let name = |model: Option<GraphModel>| model.map_or("classes", GraphModel::name);
        let asked =
            |model: &Option<GraphModel>| args.only.is_empty() || args.only.iter().any(|only| only == name(*model));
        for model in strategies.into_iter().filter(asked) {
            let strategy = model.map_or(Strategy::Dpor, |model| Strategy::Graphs { model, races: false, bytes: false });
            let settings = settings(Relaxation::Tso, strategy, Watching::Nothing);
            let Run { checkpoint, cost } =
                program.explore(settings, Effort::default(), Some(Duration::from_secs(args.time)))?;
            let more = if checkpoint.search.is_done() { "" } else { "> " };
            table.row(vec![
                source.name.clone(),
                name(model).to_owned(),
                format!("{more}{}", cost.counts.executions),
                cost.counts.blocked.to_string(),
                cost.counts.not_sc.to_string(),
                cost.counts.redundant.to_string(),
                format!("{:.1}", cost.events()),
                format!("{:.3}", cost.cpu()),
                format!("{:.0}", cost.rate()),
                format!("{}", cost.resident >> 20),
                (checkpoint.seen.errors.len() + checkpoint.seen.weak_errors.len()).to_string(),
            ]);
        }
    }
    let mut results = Results::begin(&args.output, "weak", "executions of the models themselves");
    results.table(&table);
    results.end()?;
    Ok(ExitCode::SUCCESS)
}

/// The graphs of sc are the classes, one for one, but for programs with accesses to parts of a word, whose graphs are not explored, and
/// with loops: a read of a waiting loop that misses a write of the same value is not an execution of its own.
fn corpus(args: &cli::Weak) -> Result<ExitCode, Error> {
    let mut table =
        Table::new("Programs with other numbers of graphs than of classes", &["program", "classes", "graphs of sc"]);
    let (mut same, mut fewer) = (0, 0);
    for source in Source::corpus()? {
        let Ok(mut program) = Program::open_with(&source, 1, false) else { continue };
        let mut run = |strategy| {
            let settings = settings(Relaxation::Tso, strategy, Watching::Nothing);
            let run = program.explore(settings, Effort::default(), Some(Duration::from_secs(args.time))).ok()?;
            run.checkpoint.search.is_done().then_some(run.cost.counts.executions)
        };
        let graphs = Strategy::Graphs { model: GraphModel::Sc, races: false, bytes: false };
        let (Some(classes), Some(graphs)) = (run(Strategy::Dpor), run(graphs)) else { continue };
        if classes == graphs {
            same += 1;
            continue;
        }
        fewer += usize::from(graphs < classes);
        table.row(vec![source.name.clone(), classes.to_string(), graphs.to_string()]);
    }
    let mut results = Results::begin(&args.output, "weak --corpus", "graphs of sc beside classes");
    results.table(&table);
    results.say(&format!("{same} programs have as many of one as of the other, {fewer} have fewer graphs"));
    results.end()?;
    Ok(if fewer == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
