//! `membar verify`: explores a program, says what was found, and keeps what is needed to go on.

mod names;
mod plan;
mod resume;

pub use names::Names;

use super::litmus::{collect, read};
use super::output::shown_name;
use crate::cli::{Cli, Command, StrategyName, Verify, VerifyFormat, VerifyModel, VerifyMonitor};
use crate::stop::{self, Failure, Interrupt};
use clap::Parser;
use membar::core::Relaxation;
use membar::explore::Strategy;
use membar::litmus::{Error, ErrorKind, Interpreter, LitmusTest};
use membar::report::verify::{AccessRef, VerifyReport, verify_json};
use membar::report::{Style, count, safe};
use membar::verify::{Checkpoint, Effort, Settings, Verdict, Verification, Watching};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Time between two checkpoints on disk.
const CHECKPOINT: Duration = Duration::from_secs(1);
/// Executions of random and pct if nothing is said.
const DRAWN: u64 = 10_000;

/// Runs the command.
pub fn run(args: &Verify, style: Style) -> Result<u8, Failure> {
    let settings = settings(args)?;
    let mut session = Session::default();
    let mut files = Vec::new();
    for path in &args.programs {
        if let Err(error) = collect(path, &mut files) {
            session.bad(&error);
        }
    }
    if args.resume.is_some() && files.len() > 1 {
        let message = "error: --resume keeps the state of one program, but several were given";
        return Err(Failure::Usage(message.into()));
    }
    match session.run(args, settings, &files, style) {
        Ok(()) => Ok(session.code()),
        // Nobody reads on. What was found counts all the same, and the rest is not known.
        Err(Failure::Closed) if session.code() == stop::ALLOWED => Ok(stop::UNDECIDED),
        Err(Failure::Closed) => Ok(session.code()),
        Err(failure) => Err(failure),
    }
}

/// What has come of the programs so far.
#[derive(Default)]
struct Session {
    reports: Vec<VerifyReport>,
    /// What was wrong with the input.
    errors: Vec<serde_json::Value>,
    interrupted: bool,
}

impl Session {
    fn bad(&mut self, error: &Error) {
        let _ = io::stderr().write_all(error.render().as_bytes());
        self.errors.push(error.json());
    }

    fn run(&mut self, args: &Verify, settings: Settings, files: &[PathBuf], style: Style) -> Result<(), Failure> {
        let interrupt = Interrupt::on_key();
        let mut out = BufWriter::new(io::stdout());
        for file in files {
            if interrupt.pressed() && !self.reports.is_empty() {
                self.interrupted = true;
                let _ = writeln!(io::stderr(), "interrupted: what came after is left out");
                break;
            }
            let name = shown_name(file);
            let source = ["c", "cc", "cpp", "cxx"].iter().any(|end| file.extension().is_some_and(|e| e == *end));
            let test = match source {
                true => Err(Error::whole_file(ErrorKind::NotLitmus, &name)),
                false => read(file).and_then(|bytes| LitmusTest::parse(&name, &bytes)),
            };
            let test = match test {
                Ok(test) => test,
                Err(error) => {
                    out.flush()?;
                    self.bad(&error);
                    continue;
                }
            };
            let report = verify(&name, &test, args, settings, &interrupt)?;
            let shown = args.format == VerifyFormat::Text && !(args.quiet && report.verdict == "safe");
            self.reports.push(report);
            if shown {
                self.reports[self.reports.len() - 1].text(style, args.verbose, &mut out)?;
                out.flush()?;
            }
        }
        let several = args.programs.len() > 1 || files.len() != 1 || args.programs[0].is_dir();
        if args.format == VerifyFormat::Json {
            verify_json(&self.reports, &self.errors, several, &mut out)?;
        } else if several && !args.quiet && !self.reports.is_empty() {
            let programs = count(self.reports.len(), "program");
            let counts = ["safe", "unsafe", "error", "undecided"].map(|verdict| (self.number(verdict), verdict));
            let counts: Vec<_> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
            writeln!(out, "{programs}: {}", counts.join(", "))?;
        }
        out.flush()?;
        Ok(())
    }

    fn number(&self, verdict: &str) -> usize {
        self.reports.iter().filter(|report| report.verdict == verdict).count()
    }

    fn code(&self) -> u8 {
        match () {
            () if !self.errors.is_empty() => stop::BAD,
            () if self.number("unsafe") + self.number("error") > 0 => stop::FORBIDDEN,
            () if self.interrupted || self.number("undecided") > 0 => stop::UNDECIDED,
            () => stop::ALLOWED,
        }
    }
}

/// What `membar verify` says about this litmus test.
pub fn examine(name: &str, text: &str) -> Result<VerifyReport, Failure> {
    let test = LitmusTest::parse(name, text.as_bytes()).map_err(|error| Failure::Usage(error.render()))?;
    let cli = Cli::try_parse_from(["membar", "verify", name]).map_err(|error| Failure::Usage(error.to_string()))?;
    let Command::Verify(args) = cli.command else { unreachable!("that is what was written") };
    verify(name, &test, &args, settings(&args)?, &Interrupt::default())
}

/// The model as the machine that it is.
pub fn relaxation(model: VerifyModel) -> Relaxation {
    match model {
        VerifyModel::Tso => Relaxation::Tso,
        VerifyModel::Pso => Relaxation::Pso,
    }
}

fn settings(args: &Verify) -> Result<Settings, Failure> {
    let model = relaxation(args.model);
    let watching = match args.monitor {
        VerifyMonitor::Auto => Watching::Class,
        VerifyMonitor::Tso => Watching::Tso,
        VerifyMonitor::Pso => Watching::Pso,
        VerifyMonitor::Sober => Watching::Sober,
        VerifyMonitor::SoberFixed => Watching::SoberFixed,
    };
    let fits = match watching {
        Watching::Tso | Watching::Sober | Watching::SoberFixed => model == Relaxation::Tso,
        Watching::Pso => model == Relaxation::Pso,
        Watching::Class | Watching::Nothing => true,
    };
    if !fits {
        let other = if model == Relaxation::Tso { "pso" } else { "tso" };
        let message = format!(
            "error: this monitor finds violations of {other}, not of {}\n = help: give --model {other}, or leave --monitor out",
            model.name()
        );
        return Err(Failure::Usage(message));
    }
    let executions = args.executions.unwrap_or(DRAWN);
    let strategy = match args.strategy {
        StrategyName::Auto | StrategyName::Dpor => Strategy::Dpor,
        StrategyName::Exhaustive => Strategy::Exhaustive,
        StrategyName::Bounded => Strategy::Bounded { preemptions: args.preemptions },
        StrategyName::Random => Strategy::Random { executions, seed: args.seed },
        StrategyName::Pct => Strategy::Pct { executions, seed: args.seed, depth: args.depth },
    };
    Ok(Settings { model, strategy, watching, max_steps: args.steps })
}

fn verify(
    name: &str,
    test: &LitmusTest,
    args: &Verify,
    settings: Settings,
    interrupt: &Interrupt,
) -> Result<VerifyReport, Failure> {
    let began = Instant::now();
    let code = Arc::new(test.code.clone());
    let program = Interpreter::new(Arc::clone(&code));
    let (mut checkpoint, mut before) = (Checkpoint::new(settings), 0.0);
    if let Some(path) = &args.resume
        && let Some(saved) = resume::load(path, test, settings)?
    {
        (checkpoint, before) = saved;
    }
    let effort = Effort {
        jobs: usize::from(args.jobs),
        max_executions: args.executions.unwrap_or(u64::MAX),
        stop_at_first: args.stop_at_first,
    };
    let mut verification = Verification::new(checkpoint, program, effort);
    let deadline = args.time.0.and_then(|time| began.checked_add(time));
    let mut line = ProgressLine::new(name, settings.strategy);
    let mut saved = Instant::now();
    let mut stopped = None;
    // A round takes milliseconds, but with many steps an execution may take long: the flag stops it on time.
    let watchdog = Watchdog::new(deadline, interrupt);
    while !verification.is_done() {
        verification.advance(&watchdog.stop);
        if verification.has_found_first() {
            stopped = Some("stopped at the first finding (--stop-at-first)");
        } else if verification.is_done() {
            break;
        } else if interrupt.pressed() {
            stopped = Some("interrupted");
        } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            stopped = Some("the time limit was reached (--time)");
        } else if verification.is_out_of_executions() {
            stopped = Some("the limit of executions was reached (--executions)");
        }
        let seconds = before + began.elapsed().as_secs_f64();
        if let Some(path) = &args.resume
            && (stopped.is_some() || saved.elapsed() > CHECKPOINT)
        {
            resume::save(path, test, &verification.checkpoint(), seconds)?;
            saved = Instant::now();
        }
        if stopped.is_some() {
            break;
        }
        line.draw(&verification, began);
    }
    line.clear();
    let checkpoint = verification.checkpoint();
    let seconds = before + began.elapsed().as_secs_f64();
    if let Some(path) = &args.resume {
        resume::save(path, test, &checkpoint, seconds)?;
    }
    let names = Names { file: name, test };
    let mut report = report(&names, &checkpoint, seconds, stopped)?;
    if args.resume.is_none() && report.verdict == "undecided" && stopped.is_some() && args.executions.is_none() {
        let how = "to be able to go on where it stopped: --resume FILE";
        report.advice.get_or_insert_with(|| how.into());
    }
    if checkpoint.verdict() == Verdict::Unsafe && checkpoint.search.is_complete() && !interrupt.pressed() {
        report.plan = plan::plan(&names, &checkpoint, interrupt);
    }
    Ok(report)
}

/// Sets a flag at a time, or when the key is pressed, so that work in a round ends.
struct Watchdog {
    stop: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Watchdog {
    fn new(deadline: Option<Instant>, interrupt: &Interrupt) -> Watchdog {
        use std::sync::atomic::Ordering::Relaxed;
        let over = Arc::new(AtomicBool::new(false));
        // Without a deadline the interrupt's own flag will do.
        let Some(deadline) = deadline else { return Watchdog { stop: Arc::clone(&interrupt.0), over } };
        let stop = Arc::new(AtomicBool::new(false));
        let (flag, done, interrupt) = (Arc::clone(&stop), Arc::clone(&over), interrupt.clone());
        std::thread::spawn(move || {
            while !done.load(Relaxed) {
                if interrupt.pressed() || Instant::now() >= deadline {
                    flag.store(true, Relaxed);
                    return;
                }
                std::thread::sleep(Duration::from_millis(5).min(deadline.saturating_duration_since(Instant::now())));
            }
        });
        Watchdog { stop, over }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// One updating line on standard error, where that is a terminal and a program takes long.
struct ProgressLine<'a> {
    name: &'a str,
    unit: &'static str,
    live: bool,
    shown: bool,
    drawn: Instant,
}

impl<'a> ProgressLine<'a> {
    fn new(name: &'a str, strategy: Strategy) -> ProgressLine<'a> {
        let unit = unit(strategy);
        ProgressLine { name, unit, live: io::stderr().is_terminal(), shown: false, drawn: Instant::now() }
    }

    fn draw(&mut self, verification: &Verification<Interpreter>, began: Instant) {
        let seconds = began.elapsed().as_secs_f64();
        if !self.live || seconds < 2.0 || (self.shown && self.drawn.elapsed() < Duration::from_millis(200)) {
            return;
        }
        (self.shown, self.drawn) = (true, Instant::now());
        let (search, seen) = (verification.search(), verification.seen());
        let executions = search.counts().executions;
        let covered = match search.share() {
            Some(share) if share > 0.001 => {
                format!("roughly {:.1} %, about {:.0} s left", 100.0 * share, seconds / share - seconds)
            }
            Some(_) => "less than 0.1 %".into(),
            None => format!("{} known to be left", count(search.branches_left(), "branch")),
        };
        let bound = search.preemptions_bound().map(|k| format!(", {k} preemptions")).unwrap_or_default();
        let line = format!(
            "{}: {seconds:.0} s{bound}, {} ({:.0}/s), {covered}, {}",
            safe(self.name),
            count(executions as usize, self.unit),
            executions as f64 / seconds,
            count(seen.violations.len(), "violation"),
        );
        let _ = write!(io::stderr(), "\r\x1b[2K{}", line.chars().take(100).collect::<String>());
    }

    fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}

fn unit(strategy: Strategy) -> &'static str {
    if strategy == Strategy::Dpor { "class" } else { "interleaving" }
}

fn report(
    names: &Names<'_>,
    checkpoint: &Checkpoint,
    seconds: f64,
    stopped: Option<&str>,
) -> Result<VerifyReport, Failure> {
    let Settings { model, strategy, watching, .. } = checkpoint.settings;
    let mut advice = None;
    let incomplete = match stopped {
        Some(why) => Some(match checkpoint.search.share() {
            Some(share) => format!("{why}; by a rough guess {:.1} % were explored", 100.0 * share),
            None => {
                let branches = count(checkpoint.search.branches_left(), "branch");
                format!("{why}; {branches} known to be left, of unknown size")
            }
        }),
        None if checkpoint.counts().cut > 0 => {
            let executions = count(checkpoint.counts().cut as usize, "execution");
            advice = Some("longer executions: --steps N".into());
            Some(format!(
                "in {executions} a thread went round in a circle or past {} steps",
                checkpoint.settings.max_steps
            ))
        }
        None if checkpoint.seen.too_long => Some("an execution was too long for the monitor".into()),
        None if !checkpoint.search.is_complete() => Some(match strategy {
            Strategy::Bounded { preemptions } => {
                advice = Some(format!("further: --preemptions {}, or all of them: --strategy dpor", preemptions + 1));
                format!("there are executions with more than {}", count(preemptions as usize, "preemption"))
            }
            _ => {
                advice = Some("all of them: --strategy dpor".into());
                "executions were chosen at random".into()
            }
        }),
        None if !checkpoint.settings.monitor_is_complete() => Some(match watching {
            Watching::Sober => "SOBER as published misses some violations".into(),
            _ => {
                advice = Some("with this monitor: --strategy exhaustive; with dpor: leave --monitor out".into());
                "this monitor needs every interleaving, not one of each class".into()
            }
        }),
        None => None,
    };
    let mut violations = Vec::new();
    for found in &checkpoint.seen.violations {
        violations.push(names.violation(found, model)?);
    }
    let place = |access: &AccessRef| (access.line, access.column, access.thread);
    violations.sort_by_key(|violation| (violation.run.len(), place(&violation.store), place(&violation.access)));
    Ok(VerifyReport {
        program: names.file.into(),
        model: model.name(),
        verdict: match checkpoint.verdict() {
            Verdict::Safe => "safe",
            Verdict::Unsafe => "unsafe",
            Verdict::Error => "error",
            Verdict::Undecided => "undecided",
        },
        complete: checkpoint.is_complete(),
        strategy: match strategy {
            Strategy::Exhaustive => "exhaustive".into(),
            Strategy::Bounded { .. } => match checkpoint.search.preemptions_done() {
                Some(done) => format!("bounded, all with up to {}", count(done as usize, "preemption")),
                None => "bounded".into(),
            },
            Strategy::Dpor => "dpor".into(),
            Strategy::Random { seed, .. } => format!("random, seed {seed}"),
            Strategy::Pct { seed, depth, .. } => format!("pct, depth {depth}, seed {seed}"),
        },
        monitor: match watching {
            Watching::Nothing => "none",
            Watching::Class => "class",
            Watching::Tso => "tso",
            Watching::Pso => "pso",
            Watching::Sober => "sober",
            Watching::SoberFixed => "sober-fixed",
        },
        unit: unit(strategy),
        interleavings: checkpoint.counts().executions,
        cut: checkpoint.counts().cut,
        events: checkpoint.counts().events,
        seconds,
        incomplete,
        advice,
        plan: None,
        violations,
        errors: checkpoint.seen.errors.iter().map(|error| names.error(error)).collect(),
    })
}
