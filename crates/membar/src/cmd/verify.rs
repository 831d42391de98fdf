//! `membar verify`: explores a program, says what was found, and keeps what is needed to continue.

use super::programs::{check_flags, inputs};
use crate::cli::{Cli, Command, StrategyName, Verify, VerifyFormat, VerifyModel, VerifyMonitor};
use crate::page::{self, ToFile};
use crate::progress::Line;
use crate::stop::{self, Stdout};
use clap::Parser;
use membar::core::Relaxation;
use membar::explore::Strategy;
use membar::programs::Input;
use membar::report::verify::{SarifRun, VerifyReport, verify_json};
use membar::report::{Style, count, quoted_path, safe};
use membar::verify::{Verdict, Watching};
use membar::{Failure, Interrupt, Listener, Now, VerifyOptions, verify_telling};
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Violations shown in full if nothing is said; the JSON report has all.
const SHOWN: usize = 5;
/// Preemptions of a bounded search if nothing is said.
const PREEMPTIONS: u32 = 2;
/// Executions of random and pct by default.
const DRAWN: u64 = 10_000;

/// Runs the command.
pub fn run(args: &Verify, style: Style) -> Result<u8, Failure> {
    let mut models: Vec<VerifyModel> = Vec::new();
    for &model in &args.models {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let options = models.iter().map(|&model| options(args, model)).collect::<Result<Vec<_>, _>>()?;
    let mut batch = Batch::default();
    let (mut inputs, failures) = inputs(&args.programs);
    if !failures.is_empty() {
        // Nothing is begun that could not be answered as a whole.
        inputs.clear();
    }
    for failure in failures {
        batch.fail(failure)?;
    }
    check_flags(&inputs, &args.native.flags)?;
    let tasks: Vec<Task> =
        inputs.iter().flat_map(|input| options.iter().map(move |options| Task { input, options })).collect();
    if args.resume.is_some() && tasks.len() > 1 {
        let message = "error: --resume keeps the state of one program and model, but several were given\n \
                       = help: give each its own command and file";
        return Err(Failure::Usage(message.into()));
    }
    let page = args.html.as_deref().map(ToFile::create).transpose()?;
    let run = batch.run(args, &tasks, style);
    if let Some(mut page) = page {
        batch.reports.iter().for_each(|report| page.add_program(report));
        for error in &batch.errors {
            let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
            page.add_error(&text("file"), &text("message"));
        }
        for task in &tasks[batch.begun..] {
            page.add_missing(&task.input.name(), "not verified: the command was interrupted");
        }
        page.finish()?;
    }
    match run {
        Ok(()) => Ok(batch.code()),
        // The output is no longer read. Findings so far still count, and the rest is not known.
        Err(Failure::Closed) if batch.code() == stop::ALLOWED => Ok(stop::UNDECIDED),
        Err(Failure::Closed) => Ok(batch.code()),
        Err(failure) => Err(failure),
    }
}

/// One program, under one model.
struct Task<'a> {
    input: &'a Input,
    options: &'a VerifyOptions,
}

/// The results of the programs so far.
#[derive(Default)]
struct Batch {
    reports: Vec<VerifyReport>,
    /// Errors in the input.
    errors: Vec<serde_json::Value>,
    /// Programs that there was no time for, as errors.
    skipped: Vec<serde_json::Value>,
    /// Was something of that a bug of ours?
    internal: bool,
    interrupted: bool,
    /// How many tasks were begun.
    begun: usize,
    /// For a program there was not even time to begin, or it cannot be run at all.
    late: bool,
}

impl Batch {
    /// Something is wrong with one of the programs, with us, or there was no time for it; anything else ends everything.
    fn fail(&mut self, failure: Failure) -> Result<(), Failure> {
        let (text, json) = match failure {
            Failure::Input(problem) => (problem.text, problem.json),
            Failure::Internal(ref message) => {
                self.internal = true;
                let help = membar::REPORT_BUG;
                let json = serde_json::json!({
                    "file": "", "line": null, "column": null, "message": format!("internal error: {message}"), "help": help,
                });
                (failure.to_string(), json)
            }
            Failure::Late | Failure::Limit(_) => {
                self.late = true;
                let _ = writeln!(io::stderr(), "{failure}");
                return Ok(());
            }
            failure => return Err(failure),
        };
        let _ = writeln!(io::stderr(), "{}", text.trim_end());
        self.errors.push(json);
        Ok(())
    }

    /// The command was interrupted before these.
    fn skip(&mut self, tasks: &[Task]) {
        for task in tasks {
            let (name, model) = (task.input.name(), task.options.model.name());
            let message = format!("not verified under {model}: the command was interrupted");
            let _ = writeln!(io::stderr(), "interrupted: {}: not verified under {model}", safe(&name));
            self.skipped.push(serde_json::json!({
                "file": name, "line": null, "column": null, "message": message, "help": "run the command again for this program",
            }));
        }
    }

    fn run(&mut self, args: &Verify, tasks: &[Task], style: Style) -> Result<(), Failure> {
        let interrupt = stop::on_key();
        let mut out = BufWriter::new(Stdout::new(args.html.is_some()));
        for (number, task) in (1..).zip(tasks) {
            if interrupt.pressed() && !self.reports.is_empty() {
                self.interrupted = true;
                self.skip(&tasks[number - 1..]);
                break;
            }
            self.begun = number;
            let line = Line::new(args.quiet);
            let options = VerifyOptions { interrupt: interrupt.clone(), ..task.options.clone() };
            let listener =
                OneOf { line: &line, number, of: tasks.len(), programs: &args.programs, model: options.model };
            let report = match verify_telling(task.input, &options, &listener) {
                Ok(report) => report,
                Err(failure) => {
                    out.flush()?;
                    self.fail(failure)?;
                    continue;
                }
            };
            let shown = args.format == VerifyFormat::Text && !(args.quiet && report.verdict == Verdict::Safe);
            self.reports.push(report);
            if shown {
                let in_full = if args.verbose { usize::MAX } else { SHOWN };
                self.reports[self.reports.len() - 1].text(style, in_full, &mut out)?;
                out.flush()?;
            }
        }
        let several = tasks.len() != 1 || args.programs[0].is_dir();
        if args.format == VerifyFormat::Json {
            verify_json(&self.reports, &[&self.errors[..], &self.skipped].concat(), &mut out)?;
        } else if args.format == VerifyFormat::Sarif {
            self.sarif(&mut out)?;
        } else if several && !args.quiet && !self.reports.is_empty() {
            let what = if tasks.iter().any(|task| task.options.model != tasks[0].options.model) {
                "answer"
            } else {
                "program"
            };
            let programs = count(self.reports.len(), what);
            let counts = [Verdict::Safe, Verdict::Unsafe, Verdict::Error, Verdict::Undecided]
                .map(|verdict| (self.number(verdict), verdict));
            let counts: Vec<_> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
            writeln!(out, "{programs}: {}", counts.join(", "))?;
        }
        out.flush()?;
        Ok(())
    }

    fn sarif(&self, out: &mut impl Write) -> io::Result<()> {
        let directory = std::env::current_dir()?;
        // Files in a repository are named from its root, wherever the command runs.
        let root = directory.ancestors().find(|path| path.join(".git").exists()).unwrap_or(&directory);
        let run = SarifRun {
            reports: &self.reports,
            errors: &self.errors,
            exit_code: self.code(),
            interrupted: self.interrupted,
            command: page::made().command,
            version: env!("CARGO_PKG_VERSION"),
            directory: &directory,
            root,
            source: &membar::source,
        };
        run.write(out)
    }

    fn number(&self, verdict: Verdict) -> usize {
        self.reports.iter().filter(|report| report.verdict == verdict).count()
    }

    fn code(&self) -> u8 {
        match () {
            () if self.internal => stop::INTERNAL,
            () if !self.errors.is_empty() => stop::BAD,
            () if self.number(Verdict::Unsafe) + self.number(Verdict::Error) > 0 => stop::FORBIDDEN,
            () if self.interrupted || self.late || self.number(Verdict::Undecided) > 0 => stop::UNDECIDED,
            () => stop::ALLOWED,
        }
    }
}

/// The line of progress of one of several tasks.
struct OneOf<'a> {
    line: &'a Line,
    number: usize,
    of: usize,
    /// As they were named.
    programs: &'a [PathBuf],
    model: Relaxation,
}

impl Listener for OneOf<'_> {
    fn progress(&self, now: &dyn Fn() -> Now) {
        self.line.progress(&|| {
            let now = now();
            match self.of {
                1 => now,
                of => Now { name: format!("{}/{of} {}", self.number, now.name), ..now },
            }
        });
    }

    fn rest(&self) {
        self.line.rest();
    }

    fn note(&self, line: &str) {
        self.line.note(line);
    }

    fn kept(&self, state: &Path, program: &str) {
        let command = again(self.programs, (program, self.model), state);
        self.line.note(&format!("interrupted: the state is kept; this resumes where it stopped:\n  {command}"));
    }
}

/// This command, for one of its programs and models and with its state.
fn again(programs: &[PathBuf], (program, model): (&str, Relaxation), state: &Path) -> String {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let quoted = |word: &OsString| quoted_path(&word.to_string_lossy());
    let mut line = vec!["membar".to_owned()];
    let mut own = words[..end].iter().filter(|word| !programs.iter().any(|program| program.as_os_str() == *word));
    while let Some(word) = own.next() {
        match word.to_string_lossy() {
            flag if flag == "-m" || flag == "--model" => drop(own.next()),
            flag if flag.starts_with("--model=") || flag.starts_with("-m") => {}
            _ => line.push(quoted(word)),
        }
    }
    line.extend(["--model".into(), model.name().to_owned(), program.to_owned()]);
    line.extend(["--resume".into(), quoted_path(&state.to_string_lossy())]);
    line.extend(words[end..].iter().map(quoted));
    line.join(" ")
}

/// The report of `membar verify FILE`.
pub fn examine(file: &str, interrupt: &Interrupt) -> Result<VerifyReport, Failure> {
    let cli = Cli::try_parse_from(["membar", "verify", file]).map_err(|error| Failure::Usage(error.to_string()))?;
    let Command::Verify(args) = cli.command else { unreachable!("that is what was written") };
    let (inputs, failures) = inputs(&args.programs);
    match (inputs.first(), failures.into_iter().next()) {
        (_, Some(failure)) => Err(failure),
        (Some(input), None) => verify_telling(
            input,
            &VerifyOptions { interrupt: interrupt.clone(), ..options(&args, args.models[0])? },
            &Line::new(args.quiet),
        ),
        (None, None) => Err(Failure::Usage(format!("error: there is no program in {}", safe(file)))),
    }
}

/// The model as the machine that it is.
pub fn relaxation(model: VerifyModel) -> Relaxation {
    match model {
        VerifyModel::Tso => Relaxation::Tso,
        VerifyModel::Pso => Relaxation::Pso,
    }
}

/// The options that flags describe.
fn options(args: &Verify, model: VerifyModel) -> Result<VerifyOptions, Failure> {
    let model = relaxation(model);
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
    let preemptions = args.preemptions.unwrap_or(PREEMPTIONS);
    if args.preemptions.is_some() && !matches!(args.strategy, StrategyName::Auto | StrategyName::Bounded) {
        let message = "error: --preemptions is for --strategy bounded\n = help: leave one of the two out";
        return Err(Failure::Usage(message.into()));
    }
    let strategy = match args.strategy {
        StrategyName::Auto if args.preemptions.is_some() => Strategy::Bounded { preemptions },
        StrategyName::Auto | StrategyName::Dpor => Strategy::Dpor,
        StrategyName::Exhaustive => Strategy::Exhaustive,
        StrategyName::Bounded => Strategy::Bounded { preemptions },
        StrategyName::Random => Strategy::Random { executions, seed: args.seed },
        StrategyName::Pct => Strategy::Pct { executions, seed: args.seed, depth: args.depth },
    };
    Ok(VerifyOptions {
        model,
        strategy,
        watching,
        max_steps: args.steps,
        max_executions: args.executions,
        stop_at_first: args.stop_at_first,
        samples: args.strategy == StrategyName::Auto,
        seed: args.seed,
        depth: args.depth,
        time: args.time.0,
        resume: args.resume.clone(),
        keep: true,
        jobs: usize::from(args.jobs),
        native: args.native.options(),
        interrupt: Interrupt::default(),
    })
}
