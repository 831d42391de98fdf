//! `membar monitor`: the cost of an event, against the number of threads and against the length.

use crate::case::size;
use crate::child::{Cost, Runner};
use crate::cli::{MixName, Monitor};
use crate::error::Error;
use crate::host::{Progress, Results};
use crate::table::Table;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// An interleaving to be monitored.
#[derive(Clone, Copy, Debug)]
pub struct Interleaved {
    pub mix: MixName,
    pub n: u32,
    pub p: u32,
    pub a: u32,
}

/// Which monitors, as arguments; none: the default, which is both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Monitors {
    Tso,
    Pso,
    Both,
}

impl Monitors {
    const ALL: [Monitors; 3] = [Monitors::Tso, Monitors::Pso, Monitors::Both];

    pub fn name(self) -> &'static str {
        match self {
            Monitors::Tso => "tso",
            Monitors::Pso => "pso",
            Monitors::Both => "tso and pso",
        }
    }

    fn arguments(self, file: &Path) -> Vec<String> {
        let flags: &[&str] = match self {
            Monitors::Tso => &["--monitor", "tso"],
            Monitors::Pso => &["--monitor", "pso"],
            Monitors::Both => &[],
        };
        let file = file.to_string_lossy();
        ["monitor"].into_iter().chain(flags.iter().copied()).chain([&*file]).map(str::to_owned).collect()
    }
}

/// The cost of monitoring, and what it said.
pub struct Monitored {
    pub cost: Cost,
    pub events: u32,
    /// `unsafe under tso, unsafe under pso`
    pub verdicts: String,
}

impl Monitored {
    /// Millions of events per second of processor time.
    pub fn rate(&self) -> f64 {
        f64::from(self.events) / 1e6 / self.cost.cpu
    }

    /// Nanoseconds of processor time an event.
    pub fn each(&self) -> f64 {
        self.cost.cpu * 1e9 / f64::from(self.events)
    }
}

impl Interleaved {
    /// Writes the interleaving and has it monitored by each of these, some times.
    pub fn measure(&self, runner: &Runner, which: &[Monitors], times: u32) -> Result<Vec<Monitored>, Error> {
        let file = runner.file("bench.trace");
        let mut arguments: Vec<String> =
            ["write-interleaving", "--mix", self.mix.name()].into_iter().map(str::to_owned).collect();
        for (flag, value) in [("--n", self.n), ("--p", self.p), ("--a", self.a)] {
            arguments.extend([flag.to_owned(), value.to_string()]);
        }
        arguments.extend(["--out".to_owned(), file.to_string_lossy().into_owned()]);
        runner.bench(&arguments)?;
        which
            .iter()
            .map(|monitors| {
                let (cost, out) = runner.membar(&monitors.arguments(&file), times)?;
                let verdicts = verdicts(&out, self.n).ok_or_else(|| Error::Unexpected {
                    program: "membar monitor".into(),
                    about: format!("{} events", self.n),
                    said: out.lines().next().unwrap_or("nothing").to_owned(),
                })?;
                Ok(Monitored { cost, events: self.n, verdicts })
            })
            .collect()
    }
}

/// The verdict of each monitor, if it is about this many events: `unsafe under tso, unsafe under pso`.
fn verdicts(out: &str, events: u32) -> Option<String> {
    let all = format!(": {events} event");
    let about = out.lines().filter(|line| line.contains(&all));
    let said: Option<Vec<String>> = about
        .map(|line| {
            let (verdict, rest) = line.split_once(" under ")?;
            Some(format!("{} under {}", verdict.to_lowercase(), rest.split(' ').next()?))
        })
        .collect();
    said.filter(|said| !said.is_empty()).map(|said| said.join(", "))
}

/// `membar-bench monitor`
pub fn run(args: &Monitor) -> Result<ExitCode, Error> {
    let runner = Runner::real(args.membar.as_deref())?;
    let what = format!("monitor, a={}, best of {}", args.a, args.best_of.max(1));
    let subject = "`membar monitor`, a process an interleaving, from text; rates for processor time";
    let mut results = Results::begin(&args.output, &what, subject);
    let header = ["mix", "events", "p", "monitors", "seconds", "cpu", "M events/s", "ns/event", "MB", "verdicts"];
    let row = |at: &Interleaved, monitors: Monitors, monitored: &Monitored| {
        vec![
            at.mix.name().to_owned(),
            size(at.n),
            at.p.to_string(),
            monitors.name().to_owned(),
            format!("{:.3}", monitored.cost.seconds),
            format!("{:.3}", monitored.cost.cpu),
            format!("{:.1}", monitored.rate()),
            format!("{:.1}", monitored.each()),
            format!("{:.1}", monitored.cost.megabytes),
            monitored.verdicts.clone(),
        ]
    };
    let mixes = [MixName::LoadsStores, MixName::Paper, MixName::Interlocked];
    let mut progress = Progress::new(mixes.len() * args.p.len() + args.n.len());
    let mut curves = String::new();
    for mix in mixes {
        let mut table = Table::new(format!("Against threads, {} mix", mix.name()), &header);
        let mut curve = Vec::new();
        for &p in &args.p {
            progress.next(&format!("{} mix, p={p}", mix.name()));
            let at = Interleaved { mix, n: args.at, p, a: args.a };
            let measured = at.measure(&runner, &Monitors::ALL, args.best_of)?;
            for (monitors, monitored) in Monitors::ALL.into_iter().zip(&measured) {
                table.row(row(&at, monitors, monitored));
                if monitors == Monitors::Both {
                    curve.push((p, monitored.each()));
                }
            }
        }
        results.table(&table);
        let title = format!("ns an event against threads, {} mix, tso and pso", mix.name());
        let _ = writeln!(curves, "{}", plot(&title, "p", &curve));
    }
    results.drawing(&curves);
    let mut table = Table::new("Against length, p=4, loads-stores mix".to_owned(), &header);
    let mut curve = Vec::new();
    for &n in &args.n {
        progress.next(&format!("{} events", size(n)));
        let at = Interleaved { mix: MixName::LoadsStores, n, p: 4, a: args.a };
        let measured = at.measure(&runner, &Monitors::ALL, args.best_of)?;
        for (monitors, monitored) in Monitors::ALL.into_iter().zip(&measured) {
            table.row(row(&at, monitors, monitored));
            if monitors == Monitors::Both {
                curve.push((n >> 20, monitored.each()));
            }
        }
    }
    drop(progress);
    results.table(&table);
    results.drawing(&plot("ns an event against length in M events, p=4, tso and pso", "n", &curve));
    results.end()?;
    Ok(ExitCode::SUCCESS)
}

/// Columns of a bar at the largest value.
const WIDE: f64 = 60.0;

/// A bar for each value, and the line that fits them best.
fn plot(title: &str, name: &str, points: &[(u32, f64)]) -> String {
    let largest = points.iter().map(|&(_, y)| y).fold(0.0, f64::max);
    let mut out = format!("{title}\n");
    for &(x, y) in points {
        let bar = "#".repeat((y / largest * WIDE).round() as usize);
        let _ = writeln!(out, "{:>6} |{bar} {y:.1}", format!("{name}={x}"));
    }
    if let Some((offset, slope)) = line(points) {
        let _ = writeln!(out, "       best line: {offset:.1} + {slope:.2} {name}");
    }
    out
}

/// Least squares: where the line begins, and its slope.
fn line(points: &[(u32, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let (mean_x, mean_y) =
        points.iter().fold((0.0, 0.0), |(xs, ys), &(x, y)| (xs + f64::from(x) / count, ys + y / count));
    let spread: f64 = points.iter().map(|&(x, _)| (f64::from(x) - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|&(x, y)| (f64::from(x) - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| (mean_y - together / spread * mean_x, together / spread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots() {
        let drawn = plot("title", "p", &[(2, 5.0), (4, 6.0), (8, 8.0)]);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[0], "title");
        assert_eq!(lines[3], format!("   p=8 |{} 8.0", "#".repeat(60)));
        assert_eq!(lines[4].trim(), "best line: 4.0 + 0.50 p");
        assert_eq!(line(&[(1, 1.0)]), None);
    }

    #[test]
    fn answers() {
        let out = "UNSAFE under tso  a.trace, trace 1 (line 1): 12 events, 4 threads\n  Store: line 3\nSAFE under pso  \
                   a.trace, trace 1 (line 1): 12 events, 4 threads\n";
        assert_eq!(verdicts(out, 12).as_deref(), Some("unsafe under tso, safe under pso"));
        assert_eq!(verdicts(out, 13), None);
    }
}
