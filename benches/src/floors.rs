//! What was promised, measured in one run.

use crate::case::{Case, SMALL_LINES, size};
use crate::child::{Answer, Cost, Runner};
use crate::cli::{Floors, MachineName, MixName};
use crate::error::Error;
use crate::host::Results;
use crate::table::Table;
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
    let mut results = Results::begin(&args.common, &what, runner.subject());
    let table = Table::new(format!("TSO, p={P}, a={A}"), &["what", "floor", "measured", "", "details"]);
    let mut measured = Measured { args, runner, table, missed: 0 };
    for mix in [MixName::Paper, MixName::LoadsStores] {
        measured.sizes(mix)?;
    }
    measured.orders()?;
    measured.corrupted()?;
    measured.small()?;
    measured.parsing()?;
    results.table(&measured.table);
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

    fn scaled(&self, n: u32) -> u32 {
        (n / self.args.scale_down.max(1)).max(1)
    }

    fn best(&self, case: &Case) -> Result<(Cost, Answer), Error> {
        let file = self.runner.write(&Case { n: self.scaled(case.n), ..*case })?;
        let (mut best, answer) = self.runner.check(&file, case.machine.name())?;
        for _ in 1..self.args.best_of {
            best = best.best(self.runner.check(&file, case.machine.name())?.0);
        }
        Ok((best, answer))
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
