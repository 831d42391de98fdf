//! The floors, measured in one run.

use crate::case::{Case, SMALL_LINES, size};
use crate::child::{Answer, Cost, Runner};
use crate::cli::{Floors, MachineName, MixName, Part};
use crate::error::Error;
use crate::explore::{LEAST, Plan, Subject, Watcher};
use crate::host::Results;
use crate::litmus::Tests;
use crate::monitor::{Interleaved, Monitors};
use crate::table::Table;
use membar_explore::Strategy;
use membar_verify::Effort;
use std::io::IsTerminal;
use std::process::ExitCode;

/// Threads and addresses of every large trace.
const P: u32 = 16;
const A: u32 = 256;

struct Measured<'a> {
    args: &'a Floors,
    runner: Runner,
    table: Table,
    missed: usize,
}

/// `membar-bench floors`
pub fn run(args: &Floors) -> Result<ExitCode, Error> {
    let runner = Runner::new(&args.common)?;
    let what = format!("floors, best of {}", args.best_of.max(1));
    let subject = "`membar`, one process per trace, from text; exploration: the libraries, in one process";
    let subject = if runner.has_membar() { subject } else { runner.subject() };
    let mut results = Results::begin(&args.common.output, &what, subject);
    let mut measured = Measured { args, runner, table: Table::default(), missed: 0 };
    // Exploration comes last: the memory of this process counts as that of those which it starts.
    for part in [Part::Check, Part::Locks, Part::Monitor, Part::Litmus, Part::Explore, Part::Native] {
        let native = cfg!(all(target_os = "linux", target_arch = "x86_64"));
        let possible = match part {
            Part::Check | Part::Explore => true,
            Part::Locks | Part::Monitor | Part::Litmus => measured.runner.has_membar(),
            Part::Native => native,
        };
        if if args.only.is_empty() { possible } else { args.only.contains(&part) } {
            let title = match part {
                Part::Check => format!("check: TSO, p={P}, a={A}"),
                Part::Locks => "locks and time: scope, 16 cores, scans every 600 cycles".to_owned(),
                Part::Monitor => format!("monitor: tso and pso, a={A}, rates for processor time"),
                Part::Litmus => "litmus: rates for processor time".to_owned(),
                Part::Explore => "verify: one worker, rates for processor time".to_owned(),
                Part::Native => "verify, C and C++: class monitor for TSO, rates for processor time".to_owned(),
            };
            measured.table = Table::new(title, &["what", "floor", "measured", "", "details"]);
            match part {
                Part::Check => measured.check()?,
                Part::Locks => measured.locks()?,
                Part::Monitor => measured.monitor()?,
                Part::Litmus => measured.litmus()?,
                Part::Explore => measured.explore(),
                Part::Native => measured.native()?,
            }
            results.table(&measured.table);
        }
    }
    let missed = measured.missed;
    results.say(&match missed {
        0 => "Every floor is met.".to_owned(),
        1 => "One floor is MISSED.".to_owned(),
        missed => format!("{missed} floors are MISSED."),
    });
    results.end()?;
    Ok(ExitCode::from(u8::from(missed > 0)))
}

impl Measured<'_> {
    fn note(&mut self, what: String, floor: String, measured: String, ok: bool, details: String) {
        self.missed += usize::from(!ok);
        if std::io::stderr().is_terminal() {
            eprintln!("{what}: {measured} (floor {floor}){}", if ok { "" } else { " MISSED" });
        }
        self.table.row(vec![what, floor, measured, if ok { "ok" } else { "MISSED" }.to_owned(), details]);
    }

    fn seconds(&mut self, what: String, floor: f64, cost: Cost, answer: &Answer) {
        let ok = cost.seconds <= floor && answer.verdict != "undecided" && answer.certified;
        let answer = format!("{}, {}, cpu {:.3} s", answer.verdict, answer.algorithm, cost.cpu);
        self.note(what, format!("≤ {floor} s"), format!("{:.3} s", cost.seconds), ok, answer);
    }

    fn megabytes(&mut self, what: String, floor: f64, cost: Cost) {
        let ok = cost.megabytes <= floor;
        self.note(what, format!("≤ {floor} MB"), format!("{:.0} MB", cost.megabytes), ok, String::new());
    }

    fn at_least(&mut self, what: String, floor: f64, measured: f64, unit: &str, details: String) {
        let digits = usize::from(floor < 1000.0);
        let shown = format!("{measured:.digits$} {unit}");
        self.note(what, format!("≥ {floor} {unit}"), shown, measured >= floor, details);
    }

    fn at_most(&mut self, what: String, floor: f64, measured: f64, unit: &str, details: String) {
        self.note(what, format!("≤ {floor} {unit}"), format!("{measured:.1} {unit}"), measured <= floor, details);
    }

    fn scaled(&self, n: u32) -> u32 {
        (n / self.args.scale_down.max(1)).max(1)
    }

    fn best(&self, case: &Case) -> Result<(Cost, Answer), Error> {
        let file = self.runner.write(&Case { n: self.scaled(case.n), ..*case })?;
        let (mut best, answer) = self.runner.check(&file, case.machine.model())?;
        for _ in 1..self.args.best_of {
            best = best.best(self.runner.check(&file, case.machine.model())?.0);
        }
        Ok((best, answer))
    }

    fn check(&mut self) -> Result<(), Error> {
        for mix in [MixName::Paper, MixName::LoadsStores] {
            self.sizes(mix)?;
        }
        self.orders()?;
        self.corrupted()?;
        self.small()?;
        self.parsing()
    }

    /// The MODV paper's workload, from text, with timestamps and without.
    fn locks(&mut self) -> Result<(), Error> {
        let file = self.runner.file("locks.trace");
        let mut each = Vec::new();
        for (n, timed, floor) in
            [(100_000, true, 2.0), (1_000_000, true, 25.0), (100_000, false, 30.0), (1_000_000, false, 300.0)]
        {
            let n = self.scaled(n);
            let trace = crate::locks::run_of(16, n, 7);
            let mut out = std::io::BufWriter::new(std::fs::File::create(&file).map_err(Error::file("write", &file))?);
            membar_trace::write_trace(&trace, &mut out).map_err(Error::file("write", &file))?;
            drop(out);
            let scan = crate::locks::SCAN.to_string();
            let clock = if timed { ["global", "--sampled-every", &scan] } else { ["none", "--sampled-every", &scan] };
            let name = file.to_string_lossy();
            let arguments = ["check", "--model", "scope", "--format", "json", &name, "--clock"];
            let arguments: Vec<String> = arguments.iter().chain(&clock).map(|&text| text.to_owned()).collect();
            let (cost, out) = self.runner.membar(&arguments, self.args.best_of)?;
            let answer = self.runner.answer(&out)?;
            let what = format!("{n} operations, {}", if timed { "timed" } else { "untimed" });
            self.seconds(what, floor, cost, &answer);
            if timed {
                each.push(cost.cpu / f64::from(n));
            }
        }
        if let [small, large] = each[..] {
            let growth = (large / small - 1.0) * 100.0;
            let details = "processor time an operation, 10 times as many".to_owned();
            self.at_most("growth beyond linear, timed".to_owned(), 15.0, growth, "%", details);
        }
        Ok(())
    }

    /// Events per second; neither cost nor memory grows with the length.
    fn monitor(&mut self) -> Result<(), Error> {
        let both = [Monitors::Both];
        for mix in [MixName::LoadsStores, MixName::Paper] {
            for (p, floor) in [(4, 10.0), (32, 3.0)] {
                let at = Interleaved { mix, n: self.scaled(4 << 20), p, a: A };
                for monitored in at.measure(&self.runner, &both, self.args.best_of)? {
                    let details = format!(
                        "{:.1} ns an event, wall {:.3} s, {}",
                        monitored.each(),
                        monitored.cost.seconds,
                        monitored.verdicts
                    );
                    let what = format!("events, {p} threads, {} mix", mix.name());
                    self.at_least(what, floor, monitored.rate(), "M/s", details);
                }
            }
        }
        let mut lengths = Vec::new();
        for n in [1 << 20, 8 << 20] {
            let at = Interleaved { mix: MixName::LoadsStores, n: self.scaled(n), p: 4, a: A };
            lengths.extend(at.measure(&self.runner, &both, self.args.best_of)?);
        }
        if let [short, long] = &lengths[..] {
            let (before, after) = (short.cost.megabytes, long.cost.megabytes);
            let details = format!("{before:.1} MB to {after:.1} MB");
            self.at_most("memory, 1M to 8M events, 4 threads".to_owned(), 1.1, after / before, "times", details);
            let details = format!("{:.1} ns to {:.1} ns", short.each(), long.each());
            self.at_most(
                "cost an event, 1M to 8M events, 4 threads".to_owned(),
                1.1,
                long.each() / short.each(),
                "times",
                details,
            );
        }
        Ok(())
    }

    fn litmus(&mut self) -> Result<(), Error> {
        let tests = Tests::new(None);
        let (cost, count) = tests.measure(&self.runner, "tso", self.scaled(40), self.args.best_of)?;
        let details = format!("{count} tests of {}, wall {:.3} s", tests.name, cost.seconds);
        self.at_least("litmus tests under tso".to_owned(), 1000.0, count as f64 / cost.cpu, "tests/s", details);
        Ok(())
    }

    fn explore(&mut self) {
        let most = u64::from(self.scaled(2_000_000));
        let watchers = [Watcher::Nothing, Watcher::CLASS[0], Watcher::CLASS[1], Watcher::Blind];
        let plan = Plan {
            strategy: Strategy::Exhaustive,
            watchers: &watchers,
            effort: Effort { max_executions: most, ..Effort::default() },
            best_of: self.args.best_of,
            least: if self.args.scale_down > 1 { 0.0 } else { LEAST },
        };
        for subject in
            [Subject::ring(5), Subject::ring(6), Subject::peterson(2), Subject::dekker(2), Subject::bakery(2)]
        {
            let speeds = plan.measure(&subject);
            let alone = speeds[0];
            let details =
                format!("{} interleavings, {:.3} s, wall {:.3} s", alone.counts.executions, alone.cpu, alone.wall);
            self.at_least(format!("exhaustive, {}", subject.name), 1e6, alone.rate(), "interleavings/s", details);
            for (watcher, speed) in watchers.iter().zip(&speeds).skip(1).take(2) {
                let engine = speed.overhead(&speeds[3]);
                let details = format!("{:.0} interleavings/s, {engine:.1} % more than the engine alone", speed.rate());
                let what = format!("monitor {}, {}", watcher.name(), subject.name);
                self.at_most(what, 30.0, speed.overhead(&alone), "% extra", details);
            }
        }
        let watchers = &watchers[..3];
        let plan = Plan {
            strategy: Strategy::Dpor,
            watchers,
            effort: Effort { max_executions: most, ..Effort::default() },
            ..plan
        };
        let subject = Subject::peterson(3);
        for (watcher, speed) in watchers.iter().zip(plan.measure(&subject)) {
            let details = format!(
                "{} classes, {} blocked, {:.3} s, wall {:.3} s",
                speed.counts.executions, speed.counts.blocked, speed.cpu, speed.wall
            );
            let what = format!("dpor, {}, monitor {}", subject.name, watcher.name());
            self.at_least(what, 150_000.0, speed.rate(), "classes/s", details);
        }
    }

    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    fn native(&mut self) -> Result<(), Error> {
        Err(Error::Platform)
    }

    /// Programs of 20 to 40 accesses an execution.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn native(&mut self) -> Result<(), Error> {
        use crate::native::Source;
        use crate::speed::{PREEMPTIONS, Plan, Row, first_of_command, first_violation, growth};
        use membar_verify::Watching;
        let quick = self.args.scale_down > 1;
        let plan = Plan::new(quick, self.args.best_of);
        let bounded = Strategy::Bounded { preemptions: PREEMPTIONS };
        let ways = [("random", plan.random()), ("bounded", bounded), ("dpor", Strategy::Dpor)];
        for name in ["dekker", "peterson", "bakery", "msn", "treiber"] {
            // With one round most of these programs have too few classes to measure anything.
            for ((how, strategy), (n, floor)) in ways.into_iter().zip([(1, 500_000.0), (1, 500_000.0), (2, 200_000.0)])
            {
                let source = Source::example(name, Some(n));
                let cost = plan.measure(&source, strategy, Watching::Class, 1)?;
                let details = format!(
                    "{} executions of {:.0} events, cpu {:.3} s, wall {:.3} s",
                    cost.counts.executions,
                    cost.events(),
                    cost.cpu(),
                    cost.wall
                );
                self.at_least(format!("{how}, {}", source.name), floor, cost.rate(), "executions/s", details);
            }
        }
        // Searches that take a while: nobody needs two workers for milliseconds.
        for (name, sizes) in [("dekker", [1, 2, 3]), ("msn", [1, 2, 2])] {
            for ((how, strategy), n) in ways.into_iter().zip(sizes) {
                let row = Row::measure(&plan, &Source::example(name, Some(n)), how, strategy)?;
                let details = format!(
                    "{} executions, wall {:.3} s to {:.3} s, cpu {:.3} s to {:.3} s; by that {:.2} times",
                    row.one.counts.executions,
                    row.one.wall,
                    row.two.wall,
                    row.one.cpu(),
                    row.two.cpu(),
                    row.possible()
                );
                let ratio = row.ratio();
                let what = format!("two jobs, {how}, {}", row.name);
                self.note(what, "≥ 1.8 times".to_owned(), format!("{ratio:.2} times"), ratio >= 1.8, details);
            }
        }
        self.c11(&plan)?;
        self.weak()?;
        let [(few, before), (many, after)] = growth(quick)?;
        let details =
            format!("{:.2} MB after {few}, {:.2} MB after {many} executions", before as f64 / 1e6, after as f64 / 1e6);
        self.at_most("memory, msn".to_owned(), 1.05, after as f64 / before as f64, "times", details);
        let (mut wall, mut compiling) = first_violation()?;
        for _ in 1..self.args.best_of {
            let next = first_violation()?;
            (wall, compiling) = (wall.min(next.0), compiling.min(next.1));
        }
        let (floor, details) = ("≤ 1 s".to_owned(), format!("compiling {compiling:.3} s"));
        self.note(
            "first violation in dekker.c".to_owned(),
            floor.clone(),
            format!("{wall:.3} s"),
            wall <= 1.0,
            details,
        );
        if self.runner.has_membar() {
            let (wall, cpu) = first_of_command(&self.runner, self.args.best_of)?;
            let what = "membar verify dekker.c --stop-at-first".to_owned();
            self.note(what, floor, format!("{wall:.3} s"), wall <= 1.0, format!("cpu {cpu:.3} s"));
        }
        Ok(())
    }

    /// Executions of the models themselves.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn weak(&mut self) -> Result<(), Error> {
        use crate::native::{Program, Source, settings};
        use membar_core::{GraphModel, Relaxation};
        use membar_verify::{Effort, Watching};
        let max_executions = 200_000 / u64::from(self.args.scale_down.max(1));
        let effort = Effort { max_executions, ..Effort::default() };
        for (name, n) in [("dekker", 3), ("peterson", 3), ("bakery", 2), ("msn", 2)] {
            let source = Source::example(name, Some(n));
            let mut program = Program::open_with(&source, 1, false)?;
            for model in [GraphModel::Tso, GraphModel::C11] {
                let strategy = Strategy::Graphs { model, races: false, bytes: false };
                let settings = settings(Relaxation::Tso, strategy, Watching::Nothing);
                let mut cost = program.explore(settings, effort, None)?.cost;
                for _ in 1..self.args.best_of {
                    cost = cost.best(program.explore(settings, effort, None)?.cost);
                }
                let details = format!("{} executions of {:.0} events", cost.counts.executions, cost.events());
                let what = format!("graphs of {}, {}", model.name(), source.name);
                self.at_least(what, 100_000.0, cost.rate(), "executions/s", details);
            }
        }
        Ok(())
    }

    /// The cost of the monitors for C11, over exploration alone.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn c11(&mut self, plan: &crate::speed::Plan) -> Result<(), Error> {
        use crate::native::Source;
        use membar_core::ProgramModel;
        use membar_verify::{Races, Settings, Watching};
        let c11 = Settings { max_steps: crate::native::MAX_STEPS, ..Settings::new(ProgramModel::C11) };
        for (name, n) in [("dekker", 3), ("peterson", 3), ("bakery", 2)] {
            let source = Source::atomic(name, n);
            let bare = plan.measure_with(&source, Settings { watching: Watching::Nothing, ..c11 }, 1)?;
            let robust = plan.measure_with(&source, Settings { races: Races::Off, ..c11 }, 1)?;
            let races = plan.measure_with(&source, c11, 1)?;
            let details =
                |cost: &crate::native::Cost| format!("{:.0} against {:.0} executions/s", cost.rate(), bare.rate());
            if name == "dekker" {
                self.at_least(format!("c11, {}", source.name), 120_000.0, robust.rate(), "executions/s", String::new());
            }
            let ratio = bare.rate() / robust.rate();
            self.at_most(format!("c11 over nothing, {}", source.name), 1.6, ratio, "times", details(&robust));
            let ratio = robust.rate() / races.rate();
            self.at_most(format!("c11, races over none, {}", source.name), 1.3, ratio, "times", details(&races));
        }
        Ok(())
    }

    /// 128K and 1M operations, and each doubling on the way.
    fn sizes(&mut self, mix: MixName) -> Result<(), Error> {
        let mut before: Option<(u32, Cost)> = None;
        for n in (16..=20).map(|log| 1 << log) {
            let (cost, answer) = self.best(&Case::plain(MachineName::Tso, mix, [n, P, A]))?;
            let what = |kind: &str| format!("{kind}, n={}, {} mix", size(n), mix.name());
            let floors = match n {
                0x2_0000 => Some((0.3, 400.0)),
                0x10_0000 => Some((3.0, 1500.0)),
                _ => None,
            };
            if let Some((seconds, megabytes)) = floors {
                self.seconds(what("time"), seconds, cost, &answer);
                self.megabytes(what("memory"), megabytes, cost);
            }
            if let Some((half, shorter)) = before {
                let ratio = cost.seconds / shorter.seconds;
                self.note(
                    format!("{} to {}, {} mix", size(half), size(n), mix.name()),
                    "≤ 2.3 times".to_owned(),
                    format!("{ratio:.2} times"),
                    ratio <= 2.3,
                    format!(
                        "{:.3} s to {:.3} s, cpu {:.2} times",
                        shorter.seconds,
                        cost.seconds,
                        cost.cpu / shorter.cpu
                    ),
                );
            }
            before = Some((n, cost));
        }
        Ok(())
    }

    fn orders(&mut self) -> Result<(), Error> {
        for mix in [MixName::Paper, MixName::LoadsStores] {
            let case = Case { orders: true, ..Case::plain(MachineName::Tso, mix, [1 << 20, P, A]) };
            let (cost, answer) = self.best(&case)?;
            self.seconds(format!("write order given, n=1M, {} mix", mix.name()), 0.7, cost, &answer);
        }
        Ok(())
    }

    /// As fast as the legal trace of that size has to be.
    fn corrupted(&mut self) -> Result<(), Error> {
        for mix in [MixName::Paper, MixName::LoadsStores] {
            for seed in 1..=3 {
                let case = Case { corrupt: Some(seed), ..Case::plain(MachineName::Tso, mix, [1 << 20, P, A]) };
                let (cost, answer) = self.best(&case)?;
                self.seconds(format!("corrupted ({seed}), n=1M, {} mix", mix.name()), 3.0, cost, &answer);
            }
        }
        Ok(())
    }

    fn small(&mut self) -> Result<(), Error> {
        let traces = self.scaled(100_000);
        let file = self.runner.file("small.trace");
        let arguments = ["write-small", "--traces", &traces.to_string(), "--out", &file.to_string_lossy()];
        self.runner.bench(&arguments.map(str::to_owned))?;
        let (mut best, allowed) = self.runner.check_many(&file, "tso")?;
        for _ in 1..self.args.best_of {
            best = best.best(self.runner.check_many(&file, "tso")?.0);
        }
        let ok = best.seconds <= 1.0 && allowed == traces as usize;
        let answer = format!("{allowed} allowed, {:.0} MB, cpu {:.3} s", best.megabytes, best.cpu);
        let what = format!("{traces} traces of {SMALL_LINES} lines");
        self.note(what, "≤ 1 s".to_owned(), format!("{:.3} s", best.seconds), ok, answer);
        Ok(())
    }

    /// Reading alone, of about 1 GB.
    fn parsing(&mut self) -> Result<(), Error> {
        let bytes = (1_000_000_000 / u64::from(self.args.scale_down.max(1))).to_string();
        for mix in [MixName::Paper, MixName::LoadsStores] {
            let case = Case::plain(MachineName::Tso, mix, [self.scaled(1 << 20), P, A]);
            let file = self.runner.write(&case)?;
            let arguments = ["parse", "--bytes", &bytes, &file.to_string_lossy()].map(str::to_owned);
            let rate: f64 = self.runner.bench(&arguments)?.trim().parse().unwrap_or(0.0);
            let answer = format!("{bytes} bytes");
            let what = format!("reading, {} mix", mix.name());
            self.note(what, "≥ 100 MB/s".to_owned(), format!("{rate:.0} MB/s"), rate >= 100.0, answer);
        }
        Ok(())
    }
}
