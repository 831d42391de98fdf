//! What reductions of the search save: executions and seconds of processor time with all of them, without symmetry, and strict.

use crate::error::Error;
use crate::native::{Program, Source, settings};
use crate::table::Table;
use membar_core::Relaxation;
use membar_explore::Strategy;
use membar_verify::{Effort, Watching};
use std::time::Duration;

/// Programs with waiting and retry loops, and threads that are alike.
pub fn programs() -> Vec<Source> {
    let few: [(&str, &[&str]); 18] = [
        ("msq", &["-DW=2", "-DR=2"]),
        ("msq", &["-DW=3", "-DR=1"]),
        ("msq", &["-DW=2", "-DR=3"]),
        ("msq", &["-DW=3", "-DR=2"]),
        ("msq", &["-DW=4", "-DR=2"]),
        ("msq", &["-DRW=3"]),
        ("treiber", &["-DW=2", "-DR=3"]),
        ("treiber", &["-DW=3", "-DR=2"]),
        ("treiber", &["-DW=4", "-DR=1"]),
        ("treiber", &["-DW=3", "-DR=3"]),
        ("treiber", &["-DRW=3"]),
        ("ticket", &["-DN=4"]),
        ("tas", &["-DN=4"]),
        ("seqlock", &["-DN=2"]),
        ("steal", &["-DN=2"]),
        ("steal", &["-DN=3"]),
        ("peterson", &["-DN=2"]),
        ("peterson", &["-DN=3"]),
    ];
    few.into_iter().map(|(name, flags)| Source::bench(name, flags)).collect()
}

/// One row for each program. A search is given up after this time.
pub fn table(sources: &[Source], time: Duration, mut next: impl FnMut(&str)) -> Result<(Table, Vec<String>), Error> {
    let header = ["program", "classes", "blocked", "seconds", "no symmetry", "seconds", "strict", "seconds", "verdict"];
    let mut table = Table::new("dpor: classes and blocked executions with and without reductions", &header);
    let mut wrong = Vec::new();
    for source in sources {
        next(&source.name);
        let mut row = vec![source.name.clone()];
        let mut verdicts = Vec::new();
        let ways = [(true, Strategy::Dpor), (false, Strategy::Dpor), (false, Strategy::Strict)];
        for (i, (symmetry, strategy)) in ways.into_iter().enumerate() {
            let mut program = Program::open_with(source, 1, symmetry)?;
            let settings = settings(Relaxation::Tso, strategy, Watching::Class);
            // A program that is refused, because it is not deterministic for example, has no counts.
            let Ok(run) = program.explore(settings, Effort::default(), Some(time)) else { break };
            let (counts, done) = (run.cost.counts, run.checkpoint.is_complete());
            let more = if done { "" } else { "> " };
            if i == 0 {
                row.extend([format!("{more}{}", counts.executions), counts.blocked.to_string()]);
            } else {
                row.push(format!("{more}{}", counts.executions + counts.blocked));
            }
            row.push(format!("{:.3}", run.cost.cpu()));
            if done {
                verdicts.push(run.checkpoint.verdict());
            }
        }
        row.resize(header.len() - 1, String::new());
        verdicts.dedup();
        if verdicts.len() > 1 {
            wrong.push(format!("{}: verdicts differ with and without reductions: {verdicts:?}", source.name));
        }
        row.push(verdicts.first().map_or("undecided".into(), |verdict| format!("{verdict:?}").to_lowercase()));
        table.row(row);
    }
    Ok((table, wrong))
}
