//! How fast C and C++ programs are explored, and what that is made of.

use crate::child::Runner;
use crate::cli::Native;
use crate::error::Error;
use crate::host::{Progress, Results};
use crate::native::{Cost, Program, Source, settings};
use crate::reductions;
use crate::table::Table;
use membar_core::Relaxation;
use membar_explore::Strategy;
use membar_verify::{Effort, Settings, Watching};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How an exploration is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Executions of one exploration, at most.
    pub most: u64,
    /// Seconds that a measurement takes, from the beginning again if need be.
    pub least: f64,
    pub best_of: u32,
}

impl Plan {
    pub fn new(quick: bool, best_of: u32) -> Plan {
        match quick {
            true => Plan { most: 5_000, least: 0.0, best_of: 1 },
            false => Plan { most: 500_000, least: 1.0, best_of: best_of.max(1) },
        }
    }

    pub fn random(&self) -> Strategy {
        Strategy::Random { executions: self.most, seed: 1 }
    }

    /// One core, with a monitor: the best of some times.
    pub fn measure(&self, source: &Source, strategy: Strategy, watching: Watching, jobs: usize) -> Result<Cost, Error> {
        self.measure_with(source, settings(Relaxation::Tso, strategy, watching), jobs)
    }

    /// The same with any settings.
    pub fn measure_with(&self, source: &Source, settings: Settings, jobs: usize) -> Result<Cost, Error> {
        let mut program = Program::open(source, jobs)?;
        let effort = Effort { jobs, max_executions: self.most, ..Effort::default() };
        let mut best = program.timed(settings, effort, self.least)?;
        for _ in 1..self.best_of {
            best = best.best(program.timed(settings, effort, self.least)?);
        }
        Ok(best)
    }
}

/// A program under a strategy, with one worker and with two.
pub struct Row {
    pub name: String,
    pub strategy: &'static str,
    pub one: Cost,
    pub two: Cost,
}

impl Row {
    pub fn measure(plan: &Plan, source: &Source, name: &'static str, strategy: Strategy) -> Result<Row, Error> {
        let cost = |jobs| plan.measure(source, strategy, Watching::Class, jobs);
        Ok(Row { name: source.name.clone(), strategy: name, one: cost(1)?, two: cost(2)? })
    }

    /// How much faster two workers are.
    pub fn ratio(&self) -> f64 {
        self.one.wall / self.two.wall
    }

    /// How much faster they could be on free cores.
    pub fn possible(&self) -> f64 {
        self.one.cpu() / (self.two.busiest + self.two.search)
    }
}

/// The programs, and how many preemptions are enough to run for a while. N=1 is 20 to 40 accesses an execution.
pub fn sources(quick: bool) -> Vec<Source> {
    let all = [("dekker", 1), ("peterson", 1), ("bakery", 1), ("msn", 1), ("treiber", 1)];
    let larger = [("dekker", 2), ("dekker", 3), ("peterson", 2), ("bakery", 2), ("msn", 2), ("treiber", 2)];
    let all = if quick { vec![all[0]] } else { all.into_iter().chain(larger).collect() };
    all.into_iter().map(|(name, n)| Source::example(name, Some(n))).collect()
}

/// Enough preemptions for a search that runs until it is stopped.
pub const PREEMPTIONS: u32 = 6;

/// `membar-bench native`
pub fn run(args: &Native) -> Result<ExitCode, Error> {
    let plan = Plan::new(args.quick, args.best_of);
    let runner = if args.quick && args.membar.is_none() { None } else { Some(Runner::real(args.membar.as_deref())?) };
    let what = format!("native, best of {}", plan.best_of);
    let subject = "the libraries, programs in their own processes; rates for processor time, ratios for wall time";
    let mut results = Results::begin(&args.output, &what, subject);
    results.table(&rates(&plan, args.quick)?);
    for table in costs(&plan)? {
        results.table(&table);
    }
    results.table(&memory(args.quick)?);
    results.table(&first(runner.as_ref(), plan.best_of)?);
    let programs = reductions::programs();
    let programs = if args.quick { &programs[..1] } else { &programs[..] };
    results.table(&reductions::table(programs, Duration::from_secs(20), |_| {})?.0);
    results.end()?;
    Ok(ExitCode::SUCCESS)
}

fn rates(plan: &Plan, quick: bool) -> Result<Table, Error> {
    let header = [
        "program",
        "strategy",
        "executions",
        "events each",
        "wall",
        "cpu",
        "search",
        "executions/s",
        "2 jobs: wall",
        "2 jobs: cpu",
        "ratio",
        "possible",
    ];
    let title = format!("Executions a second, class monitor for TSO, at most {} executions at a time", plan.most);
    let mut table = Table::new(title, &header);
    let sources = sources(quick);
    let mut progress = Progress::new(3 * sources.len());
    for source in &sources {
        let bounded = Strategy::Bounded { preemptions: PREEMPTIONS };
        for (name, strategy) in [("random", plan.random()), ("bounded", bounded), ("dpor", Strategy::Dpor)] {
            progress.next(&format!("{}, {name}", source.name));
            let row = Row::measure(plan, source, name, strategy)?;
            table.row(vec![
                row.name.clone(),
                row.strategy.to_owned(),
                row.one.counts.executions.to_string(),
                format!("{:.1}", row.one.events()),
                format!("{:.3}", row.one.wall),
                format!("{:.3}", row.one.cpu()),
                format!("{:.3}", row.one.search),
                format!("{:.0}", row.one.rate()),
                format!("{:.3}", row.two.wall),
                format!("{:.3}", row.two.cpu()),
                format!("{:.2}", row.ratio()),
                format!("{:.2}", row.possible()),
            ]);
        }
    }
    Ok(table)
}

/// Two threads that store to one variable, K times each.
const STORES: &str = "
#include <pthread.h>
static volatile int x;
static void *run(void *arg) { for (int i = 0; i < K; i++) x = i; return 0; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// Values of K.
const STORED: [u32; 5] = [2, 4, 8, 16, 32];

/// The cost of an execution and of an event: a line fitted to executions of different lengths.
struct Line {
    /// Events and nanoseconds of an execution.
    points: Vec<(f64, f64)>,
    /// Nanoseconds an execution, whatever its length.
    reset: f64,
    /// Nanoseconds an event.
    event: f64,
    reset_bytes: usize,
}

impl Line {
    fn measure(plan: &Plan, watching: Watching) -> Result<Line, Error> {
        let directory = TempDir::new()?;
        let file = directory.path().join("stores.c");
        std::fs::write(&file, STORES).map_err(Error::file("write", &file))?;
        let mut points = Vec::new();
        let mut reset_bytes = 0;
        for k in STORED {
            let cost = plan.measure(&Source::at(&file, format!("-DK={k}")), plan.random(), watching, 1)?;
            points.push((cost.events(), cost.cpu() * 1e9 / cost.counts.runs() as f64));
            reset_bytes = cost.reset_bytes;
        }
        let (reset, event) = fit(&points);
        Ok(Line { points, reset, event, reset_bytes })
    }
}

/// The line through the points with the smallest sum of squared relative errors: where it begins and how it rises.
fn fit(points: &[(f64, f64)]) -> (f64, f64) {
    let [mut w, mut x, mut y, mut xx, mut xy] = [0.0; 5];
    for &(px, py) in points {
        let weight = 1.0 / (py * py);
        w += weight;
        x += weight * px;
        y += weight * py;
        xx += weight * px * px;
        xy += weight * px * py;
    }
    let slope = (w * xy - x * y) / (w * xx - x * x);
    ((y - slope * x) / w, slope)
}

fn costs(plan: &Plan) -> Result<[Table; 2], Error> {
    let lines = [Line::measure(plan, Watching::Nothing)?, Line::measure(plan, Watching::Class)?];
    let title = "Nanoseconds of processor time an execution, random schedules: two threads that store to one variable";
    let mut table = Table::new(title, &["stores each", "events", "no monitor", "class monitor"]);
    for (i, k) in STORED.iter().enumerate() {
        let [none, class] = [lines[0].points[i], lines[1].points[i]];
        let cells = [format!("{:.1}", none.0), format!("{:.0}", none.1), format!("{:.0}", class.1)];
        table.row([k.to_string()].into_iter().chain(cells).collect());
    }
    let header = ["monitor", "ns a reset", "ns an event", "bytes a reset copies"];
    let mut fitted = Table::new("A line through these, by relative errors", &header);
    for (name, line) in ["none", "class"].iter().zip(&lines) {
        let (reset, event) = (format!("{:.0}", line.reset), format!("{:.1}", line.event));
        fitted.row(vec![(*name).to_owned(), reset, event, line.reset_bytes.to_string()]);
    }
    Ok([table, fitted])
}

/// Resident bytes of a child after 10^5 executions and after 50 times as many.
pub fn growth(quick: bool) -> Result<[(u64, u64); 2], Error> {
    let mut program = Program::open(&Source::example("msn", Some(1)), 1)?;
    let executions = if quick { [1_000, 10_000] } else { [100_000, 5_000_000] };
    let mut resident = |executions| -> Result<(u64, u64), Error> {
        let strategy = Strategy::Random { executions, seed: 1 };
        let effort = Effort { max_executions: executions, ..Effort::default() };
        let run = program.explore(settings(Relaxation::Pso, strategy, Watching::Class), effort, None)?;
        Ok((run.cost.counts.executions, run.cost.resident))
    };
    Ok([resident(executions[0])?, resident(executions[1])?])
}

fn memory(quick: bool) -> Result<Table, Error> {
    let mut table = Table::new("Memory of the process that runs the program: msn, N=1", &["executions", "MB"]);
    for (executions, resident) in growth(quick)? {
        table.row(vec![executions.to_string(), format!("{:.2}", resident as f64 / 1e6)]);
    }
    Ok(table)
}

/// Seconds of wall time from a source to the first violation, and of these seconds of compiling.
pub fn first_violation() -> Result<(f64, f64), Error> {
    let start = Instant::now();
    let mut program = Program::open(&Source::example("dekker", None), 1)?;
    let effort = Effort { stop_at_first: true, ..Effort::default() };
    let run = program.explore(settings(Relaxation::Tso, Strategy::Dpor, Watching::Class), effort, None)?;
    let seconds = start.elapsed().as_secs_f64();
    if run.checkpoint.seen.violations.is_empty() {
        return Err(Error::Program { name: "dekker".to_owned(), message: "no violation was found".to_owned() });
    }
    Ok((seconds, program.compiling))
}

/// The same with the command: wall and processor time.
pub fn first_of_command(runner: &Runner, times: u32) -> Result<(f64, f64), Error> {
    let file = Source::example("dekker", None).file.to_string_lossy().into_owned();
    let (cost, out) = runner.membar(&["verify".to_owned(), file, "--stop-at-first".to_owned()], times)?;
    if !out.starts_with("FAILS") {
        return Err(Error::Unexpected { program: "membar".into(), about: "dekker.c".to_owned(), said: out });
    }
    Ok((cost.seconds, cost.cpu))
}

fn first(runner: Option<&Runner>, times: u32) -> Result<Table, Error> {
    let header = ["what", "wall", "of which"];
    let mut table = Table::new("From dekker.c to the first violation, in seconds", &header);
    let mut best = first_violation()?;
    for _ in 1..times {
        let next = first_violation()?;
        best = (best.0.min(next.0), best.1.min(next.1));
    }
    table.row(vec!["the libraries".to_owned(), format!("{:.3}", best.0), format!("compiling {:.3}", best.1)]);
    if let Some(runner) = runner {
        let (wall, cpu) = first_of_command(runner, times)?;
        let what = "membar verify dekker.c --stop-at-first".to_owned();
        table.row(vec![what, format!("{wall:.3}"), format!("cpu {cpu:.3}")]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found() {
        let (reset, event) = fit(&[(10.0, 1200.0), (20.0, 1400.0), (100.0, 3000.0)]);
        assert!((reset - 1000.0).abs() < 1e-6 && (event - 20.0).abs() < 1e-6, "{reset} {event}");
    }
}
