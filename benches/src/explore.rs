//! How fast programs are explored, and what monitors add.
//!
//! One program is explored by every monitor in turn, several times, and the best of each is kept: other processes only
//! ever add, and a change of the machine's mood during the run meets all of them. Rates are for processor time, which is
//! what the wall time would be on an idle core; with several workers they are for wall time.

use crate::cli::{Explore, Once, ProgramName, WatcherName};
use crate::error::Error;
use crate::host::{Clock, Progress, Results};
use crate::table::Table;
use membar_core::{Barrier, Relaxation};
use membar_explore::{Blind, Counts, Local, Search, SearchState, Strategy};
use membar_litmus::{Code, Interpreter};
use membar_testkit::named::{self, Mutex};
use membar_verify::{Checkpoint, Effort, Settings, Verification, Watching};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// No execution of the programs here comes near this.
const MAX_STEPS: usize = 1000;
/// A measurement that is to be precise takes this many seconds.
pub const LEAST: f64 = 0.25;
/// Interleavings of a program, at most.
const MOST: u64 = 2_000_000;

/// A program.
pub struct Subject {
    pub name: String,
    pub program: Interpreter,
}

impl Subject {
    fn new(name: impl Into<String>, code: Code) -> Subject {
        Subject { name: name.into(), program: Interpreter::new(Arc::new(code)) }
    }

    fn mutex(name: &str, algorithm: fn(&Mutex) -> Code, rounds: u32) -> Subject {
        Subject::new(format!("{name}, {}", rounds_of(rounds)), algorithm(&Mutex { rounds, ..Mutex::BARE }))
    }

    /// Thread i stores cell i and loads the next one's.
    pub fn ring(n: usize) -> Subject {
        Subject::new(format!("ring of {n}"), named::ring(n, Barrier::None))
    }

    pub fn peterson(rounds: u32) -> Subject {
        Subject::mutex("peterson", named::peterson, rounds)
    }

    pub fn dekker(rounds: u32) -> Subject {
        Subject::mutex("dekker", named::dekker, rounds)
    }

    pub fn bakery(rounds: u32) -> Subject {
        Subject::mutex("bakery", named::bakery, rounds)
    }

    fn spin_lock(threads: usize, rounds: u32) -> Subject {
        let name = format!("spin lock, {threads} threads, {}", rounds_of(rounds));
        Subject::new(name, named::spin_lock(threads, rounds, false))
    }
}

fn rounds_of(rounds: u32) -> String {
    format!("{rounds} round{}", if rounds == 1 { "" } else { "s" })
}

/// The monitor that watches each execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watcher {
    /// The engine alone.
    Blind,
    /// As `membar verify` would do it without a monitor: it keeps the schedule.
    Nothing,
    /// Ours.
    Class(Relaxation),
    /// Burnim, Sen and Stergiou's.
    Published(Relaxation),
}

impl Watcher {
    /// Ours for both models.
    pub const CLASS: [Watcher; 2] = [Watcher::Class(Relaxation::Tso), Watcher::Class(Relaxation::Pso)];

    pub fn name(self) -> String {
        match self {
            Watcher::Blind => "none, engine alone".to_owned(),
            Watcher::Nothing => "none".to_owned(),
            Watcher::Class(model) => format!("class, {}", model.name()),
            Watcher::Published(model) => format!("published {}", model.name()),
        }
    }

    fn settings(self, strategy: Strategy) -> Settings {
        let (watching, model) = match self {
            Watcher::Blind | Watcher::Nothing => (Watching::Nothing, Relaxation::Tso),
            Watcher::Class(model) => (Watching::Class, model),
            Watcher::Published(Relaxation::Tso) => (Watching::Tso, Relaxation::Tso),
            Watcher::Published(Relaxation::Pso) => (Watching::Pso, Relaxation::Pso),
        };
        Settings { strategy, watching, max_steps: MAX_STEPS, ..Settings::new(model) }
    }
}

/// How an exploration went.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    pub counts: Counts,
    /// Seconds of wall time for all of it.
    pub wall: f64,
    /// Seconds of processor time, if there was one worker.
    pub cpu: f64,
}

impl Speed {
    /// The smaller of each.
    fn best(self, other: Speed) -> Speed {
        Speed { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu), ..self }
    }

    /// Executions per second of processor time.
    pub fn rate(&self) -> f64 {
        self.counts.runs() as f64 / self.cpu
    }

    /// Nanoseconds of processor time an access.
    fn step(&self) -> f64 {
        self.cpu * 1e9 / self.counts.events.max(1) as f64
    }

    /// How much longer this took, in percent.
    pub fn overhead(&self, than: &Speed) -> f64 {
        (self.cpu / than.cpu - 1.0) * 100.0
    }
}

/// Explores once.
fn explore(subject: &Subject, strategy: Strategy, watcher: Watcher, effort: Effort) -> Counts {
    let stop = AtomicBool::new(false);
    let program = subject.program.clone();
    if watcher == Watcher::Blind {
        let worker = || Local::new(program.clone(), Blind, MAX_STEPS);
        let workers = (0..effort.jobs).map(|_| worker()).collect();
        let mut search = Search::new(SearchState::new(strategy), workers, effort.max_executions);
        while !search.state().is_done() && search.state().counts().executions < effort.max_executions {
            search.advance(&stop, |()| ());
        }
        return search.state().counts();
    }
    let mut verification = Verification::local(Checkpoint::new(watcher.settings(strategy)), program, effort);
    while !verification.is_done() && !verification.is_out_of_executions() {
        verification.advance(&stop);
    }
    verification.search().counts()
}

/// The measurements to make of each program.
pub struct Plan<'a> {
    pub strategy: Strategy,
    pub watchers: &'a [Watcher],
    pub effort: Effort,
    pub best_of: u32,
    /// A measurement takes this many seconds of wall time, from the beginning again if need be.
    pub least: f64,
}

impl Plan<'_> {
    fn timed(&self, subject: &Subject, watcher: Watcher) -> Speed {
        let clock = Clock::start();
        let mut times = 0.0;
        loop {
            let counts = explore(subject, self.strategy, watcher, self.effort);
            times += 1.0;
            if clock.wall() >= self.least {
                let (wall, cpu) = clock.seconds();
                return Speed { counts, wall: wall / times, cpu: cpu / times };
            }
        }
    }

    /// All watchers in turn, several times; the best of each.
    pub fn measure(&self, subject: &Subject) -> Vec<Speed> {
        let once = |&watcher: &Watcher| self.timed(subject, watcher);
        let mut best: Vec<Speed> = self.watchers.iter().map(once).collect();
        for _ in 1..self.best_of {
            for (best, watcher) in best.iter_mut().zip(self.watchers) {
                *best = best.best(once(watcher));
            }
        }
        best
    }
}

/// `membar-bench explore`
pub fn run(args: &Explore) -> Result<ExitCode, Error> {
    let what = format!("explore, best of {}", args.best_of.max(1));
    let subject = "the libraries, in one process; monitors in turn, the best of each; rates for processor time";
    let mut results = Results::begin(&args.output, &what, subject);
    results.table(&exhaustive(args));
    for jobs in [1, 2] {
        results.table(&dpor(args, jobs));
    }
    results.end()?;
    Ok(ExitCode::SUCCESS)
}

/// `membar-bench once`
pub fn once(args: &Once) -> Result<ExitCode, Error> {
    let subject = match args.program {
        ProgramName::Ring => Subject::ring(args.size as usize),
        ProgramName::Peterson => Subject::peterson(args.size),
        ProgramName::Dekker => Subject::dekker(args.size),
        ProgramName::Bakery => Subject::bakery(args.size),
    };
    let watcher = match args.monitor {
        WatcherName::Engine => Watcher::Blind,
        WatcherName::None => Watcher::Nothing,
        WatcherName::ClassTso => Watcher::Class(Relaxation::Tso),
        WatcherName::ClassPso => Watcher::Class(Relaxation::Pso),
        WatcherName::Tso => Watcher::Published(Relaxation::Tso),
        WatcherName::Pso => Watcher::Published(Relaxation::Pso),
    };
    let strategy = if args.dpor { Strategy::Dpor } else { Strategy::Exhaustive };
    let counts = explore(&subject, strategy, watcher, Effort { max_executions: args.most, ..Effort::default() });
    println!(
        "{} executions, {} steps, {} blocked",
        counts.executions,
        counts.events,
        counts.blocked + counts.redundant
    );
    Ok(ExitCode::SUCCESS)
}

fn exhaustive(args: &Explore) -> Table {
    let subjects = if args.quick {
        vec![Subject::ring(4), Subject::peterson(1)]
    } else {
        vec![
            Subject::ring(4),
            Subject::ring(5),
            Subject::ring(6),
            Subject::peterson(1),
            Subject::peterson(2),
            Subject::dekker(1),
            Subject::dekker(2),
            Subject::bakery(1),
            Subject::bakery(2),
            Subject::spin_lock(3, 1),
        ]
    };
    let watchers = [
        Watcher::Nothing,
        Watcher::Blind,
        Watcher::Class(Relaxation::Tso),
        Watcher::Class(Relaxation::Pso),
        Watcher::Published(Relaxation::Tso),
        Watcher::Published(Relaxation::Pso),
    ];
    let most = if args.quick { 10_000 } else { MOST };
    let plan = Plan {
        strategy: Strategy::Exhaustive,
        watchers: &watchers,
        effort: Effort { max_executions: most, ..Effort::default() },
        best_of: args.best_of,
        least: if args.quick { 0.0 } else { LEAST },
    };
    let header =
        ["program", "monitor", "interleavings", "steps", "seconds", "cpu", "interleavings/s", "ns/step", "extra %"];
    let mut table = Table::new(format!("Exhaustive, at most {most} interleavings, one worker"), &header);
    let mut progress = Progress::new(subjects.len());
    for subject in &subjects {
        progress.next(&format!("exhaustive, {}", subject.name));
        let speeds = plan.measure(subject);
        for (watcher, speed) in watchers.iter().zip(&speeds) {
            table.row(vec![
                subject.name.clone(),
                watcher.name(),
                speed.counts.executions.to_string(),
                speed.counts.events.to_string(),
                seconds(speed.wall),
                seconds(speed.cpu),
                format!("{:.0}", speed.rate()),
                format!("{:.1}", speed.step()),
                format!("{:.1}", speed.overhead(&speeds[0])),
            ]);
        }
    }
    table
}

fn dpor(args: &Explore, jobs: usize) -> Table {
    let subjects = if args.quick {
        vec![Subject::ring(5), Subject::peterson(1)]
    } else {
        vec![
            Subject::peterson(1),
            Subject::peterson(2),
            Subject::peterson(3),
            Subject::dekker(2),
            Subject::bakery(2),
            Subject::ring(8),
            Subject::ring(12),
            Subject::ring(16),
        ]
    };
    let watchers = [Watcher::Nothing, Watcher::CLASS[0], Watcher::CLASS[1]];
    let plan = Plan {
        strategy: Strategy::Dpor,
        watchers: &watchers,
        effort: Effort { jobs, ..Effort::default() },
        best_of: args.best_of,
        least: if args.quick { 0.0 } else { LEAST },
    };
    let header = ["program", "monitor", "classes", "blocked", "steps", "seconds", "classes/s", "ns/step", "extra %"];
    let workers = if jobs == 1 { "one worker".to_owned() } else { format!("{jobs} workers, wall time") };
    let mut table = Table::new(format!("dpor, {workers}"), &header);
    let mut progress = Progress::new(subjects.len());
    for subject in &subjects {
        progress.next(&format!("dpor, {jobs} workers, {}", subject.name));
        let mut speeds = plan.measure(subject);
        if jobs > 1 {
            speeds.iter_mut().for_each(|speed| speed.cpu = speed.wall);
        }
        for (watcher, speed) in watchers.iter().zip(&speeds) {
            table.row(vec![
                subject.name.clone(),
                watcher.name(),
                speed.counts.executions.to_string(),
                (speed.counts.blocked + speed.counts.redundant).to_string(),
                speed.counts.events.to_string(),
                seconds(speed.cpu),
                format!("{:.0}", speed.rate()),
                format!("{:.1}", speed.step()),
                format!("{:.1}", speed.overhead(&speeds[0])),
            ]);
        }
    }
    table
}

/// Three digits at least: small programs take microseconds.
fn seconds(seconds: f64) -> String {
    if seconds < 0.1 { format!("{seconds:.6}") } else { format!("{seconds:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_watcher_sees_the_same_executions() {
        for (strategy, executions) in [(Strategy::Exhaustive, 90), (Strategy::Dpor, 7)] {
            let watchers = [Watcher::Nothing, Watcher::Blind, Watcher::CLASS[0], Watcher::Published(Relaxation::Pso)];
            for watcher in watchers {
                let counts = explore(&Subject::ring(3), strategy, watcher, Effort::default());
                assert_eq!((counts.executions, counts.cut), (executions, 0), "{strategy:?} {watcher:?}");
            }
        }
    }
}
