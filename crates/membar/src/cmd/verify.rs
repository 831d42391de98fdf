//! `membar verify`: explores a program, says what was found, and keeps what is needed to continue.

use super::litmus::read;
use super::programs::{check_flags, inputs};
use crate::cli::{Cli, Command, Exploring, PropertyArg, RacesArg, StrategyName, Verify, VerifyFormat, VerifyMonitor};
use crate::page::{self, ToFile};
use crate::progress::Line;
use crate::stop::{self, Stdout};
use crate::terminal;
use clap::{Parser, ValueEnum};
use membar::core::ProgramModel;
use membar::explore::Strategy;
use membar::litmus::{Error, ErrorKind, Limits, LitmusTest, Model, crash_message, outcomes};
use membar::programs::{Input, NativeOptions, Package};
use membar::report::verify::{EnumeratedReport, Question, SarifRun, VerifyReport, verify_json};
use membar::report::{Style, count, list, quoted_path, safe};
use membar::verify::{Models, Races, Verdict, Watching};
use membar::{
    Explored, Failure, Interrupt, Listener, Now, VerifyOptions, verify_enumerated, verify_explored, verify_telling,
};
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Violations shown in full if nothing is said; the JSON report has all.
const SHOWN: usize = 5;
/// Preemptions of a bounded search if nothing is said.
const PREEMPTIONS: u32 = 2;
/// Executions of random and pct by default.
const DRAWN: u64 = 10_000;

/// Runs the command.
pub fn run(args: &Verify, style: Style) -> Result<u8, Failure> {
    run_built(args, None, style)
}

/// The same for a program that cargo has built so.
pub fn run_built(args: &Verify, package: Option<Package>, style: Style) -> Result<u8, Failure> {
    let options = options(args, NativeOptions { package, ..args.native.options() })?;
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
    if args.resume.is_some() && inputs.len() > 1 {
        let message = "error: --resume keeps the state of one program, but several were given\n \
                       = help: give each its own command and file";
        return Err(Failure::Usage(message.into()));
    }
    let page = args.html.as_deref().map(ToFile::create).transpose()?;
    let run = batch.run(args, &inputs, &options, &mut |_| None, style);
    finish(batch, page, &inputs, run)
}

/// Verifies what was explored elsewhere, program by program, and writes the results; how many programs are not complete.
pub fn run_explored(
    args: &Verify,
    given: &mut dyn FnMut(usize) -> Option<Explored>,
    style: Style,
) -> Result<u8, Failure> {
    let options = options(args, args.native.options())?;
    let (inputs, failures) = inputs(&args.programs);
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    let page = args.html.as_deref().map(ToFile::create).transpose()?;
    let mut batch = Batch::default();
    let run = batch.run(args, &inputs, &options, given, style);
    finish(batch, page, &inputs, run)
}

/// Writes the page; the exit code.
fn finish(batch: Batch, page: Option<ToFile>, inputs: &[Input], run: Result<(), Failure>) -> Result<u8, Failure> {
    if let Some(mut page) = page {
        batch.reports.iter().for_each(|report| page.add_program(report));
        for error in &batch.errors {
            let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
            page.add_error(&text("file"), &text("message"));
        }
        for report in &batch.enumerated {
            let why = format!(
                "{} under {}: its executions were enumerated, `membar litmus --html` shows their final states",
                report.verdict, report.model
            );
            page.add_missing(&report.program, &why);
        }
        for input in &inputs[batch.begun..] {
            page.add_missing(&input.name(), "not verified: the command was interrupted");
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

/// The results of the programs so far.
#[derive(Default)]
pub struct Batch {
    pub reports: Vec<VerifyReport>,
    /// Those of litmus tests whose executions were enumerated.
    enumerated: Vec<EnumeratedReport>,
    /// Errors in the input.
    pub errors: Vec<serde_json::Value>,
    /// Programs that there was no time for, as errors.
    skipped: Vec<serde_json::Value>,
    /// Was something of that a bug of ours?
    internal: bool,
    interrupted: bool,
    /// How many programs were begun.
    begun: usize,
    /// For a program there was not even time to begin, or it cannot be run at all.
    late: bool,
}

impl Batch {
    /// Something is wrong with one of the programs, with us, or there was no time for it; anything else ends everything.
    pub fn fail(&mut self, failure: Failure) -> Result<(), Failure> {
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
                terminal::tell(&failure.to_string());
                return Ok(());
            }
            failure => return Err(failure),
        };
        terminal::tell(text.trim_end());
        self.errors.push(json);
        Ok(())
    }

    /// The command was interrupted before these.
    fn skip(&mut self, inputs: &[Input]) {
        for input in inputs {
            let name = input.name();
            let message = "not verified: the command was interrupted";
            let _ = writeln!(io::stderr(), "interrupted: {}: not verified", safe(&name));
            self.skipped.push(serde_json::json!({
                "file": name, "line": null, "column": null, "message": message, "help": "run the command again for this program",
            }));
        }
    }

    fn run(
        &mut self,
        args: &Verify,
        inputs: &[Input],
        options: &VerifyOptions,
        given: &mut dyn FnMut(usize) -> Option<Explored>,
        style: Style,
    ) -> Result<(), Failure> {
        let interrupt = stop::on_key();
        let mut out = BufWriter::new(Stdout::new(args.html.is_some()));
        let options = VerifyOptions { interrupt: interrupt.clone(), ..options.clone() };
        for (number, input) in (1..).zip(inputs) {
            if interrupt.pressed() && !self.reports.is_empty() {
                self.interrupted = true;
                self.skip(&inputs[number - 1..]);
                break;
            }
            self.begun = number;
            let line = Line::new(args.quiet);
            match enumerated(args, input, &interrupt) {
                Ok(None) => {}
                Ok(Some(reports)) => {
                    for report in reports {
                        if args.format == VerifyFormat::Text && !(args.quiet && report.verdict == Verdict::Safe) {
                            report.text(style, &mut out)?;
                            out.flush()?;
                        }
                        self.enumerated.push(report);
                    }
                    continue;
                }
                Err(failure) => {
                    out.flush()?;
                    self.fail(failure)?;
                    continue;
                }
            }
            let listener = OneOf { line: &line, number, of: inputs.len(), programs: &args.programs };
            let options = options_for(args, input, &options);
            let reports = match verify_explored(input, &options, given(number - 1), &listener) {
                Ok(reports) => reports,
                Err(failure) => {
                    out.flush()?;
                    self.fail(failure)?;
                    continue;
                }
            };
            for report in reports {
                if args.format == VerifyFormat::Text && !(args.quiet && report.verdict == Verdict::Safe) {
                    let in_full = if args.verbose { usize::MAX } else { SHOWN };
                    report.text(style, in_full, &mut out)?;
                    out.flush()?;
                }
                self.reports.push(report);
            }
        }
        let models = options.models.iter().count();
        let answers = self.reports.len() + self.enumerated.len();
        let several = (models * inputs.len()).max(answers) != 1 || args.programs[0].is_dir();
        if args.format == VerifyFormat::Json {
            verify_json(&self.reports, &self.enumerated, &[&self.errors[..], &self.skipped].concat(), &mut out)?;
        } else if args.format == VerifyFormat::Sarif {
            self.sarif(&mut out)?;
        } else if several && !args.quiet && answers > 0 {
            if models > 1 && !self.reports.is_empty() {
                by_model(&self.reports, style, &mut out)?;
            }
            let what = if answers > inputs.len() { "answer" } else { "program" };
            let programs = count(answers, what);
            let counts = [Verdict::Safe, Verdict::Unsafe, Verdict::Fails, Verdict::Error, Verdict::Undecided]
                .map(|verdict| (self.number(verdict), verdict));
            let counts: Vec<_> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
            writeln!(out, "{programs}: {}", counts.join(", "))?;
        }
        out.flush()?;
        Ok(())
    }

    pub fn sarif(&self, out: &mut impl Write) -> io::Result<()> {
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
            + self.enumerated.iter().filter(|report| report.verdict == verdict).count()
    }

    pub fn code(&self) -> u8 {
        match () {
            () if self.internal => stop::INTERNAL,
            () if !self.errors.is_empty() => stop::BAD,
            () if [Verdict::Unsafe, Verdict::Fails, Verdict::Error].map(|bad| self.number(bad)) != [0; 3] => {
                stop::FORBIDDEN
            }
            () if self.interrupted || self.late || self.number(Verdict::Undecided) > 0 => stop::UNDECIDED,
            () => stop::ALLOWED,
        }
    }
}

/// Whether something is wrong with the program.
fn is_bad(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Unsafe | Verdict::Fails | Verdict::Error)
}

/// The answers for a litmus test of RISCV or AArch64; nothing if it is another program.
pub fn enumerated(
    args: &Verify,
    input: &Input,
    interrupt: &Interrupt,
) -> Result<Option<Vec<EnumeratedReport>>, Failure> {
    let name = safe(&input.name());
    let text = match input {
        Input::Litmus(path) => read(path).ok(),
        Input::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    // What is wrong with it is said where it is read next.
    let test = text.and_then(|text| LitmusTest::parse(&name, &text).ok()).filter(|test| !test.arch.has_store_buffers());
    let Some(test) = test else {
        let only =
            args.models.iter().find(|model| model.models().is_empty()).and_then(|model| model.to_possible_value());
        return match only {
            None => Ok(None),
            Some(model) => Err(Failure::Usage(format!(
                "error: {name}: {} is for litmus tests in RISCV and AArch64\n = help: for a C or C++ program, --model c11 \
                 answers for these machines",
                model.get_name()
            ))),
        };
    };
    let mut models: Vec<Model> = args.models.iter().flat_map(|model| model.enumerated(test.arch)).collect();
    if models.is_empty() {
        models.push(test.arch.machine());
    }
    models.dedup();
    let mut reports = Vec::new();
    for model in models {
        if !Model::of(test.arch).contains(&model) {
            return Err(Error::whole_file(ErrorKind::WrongModel { model, arch: test.arch }, &name).into());
        }
        let deadline = args.time.0.and_then(|time| Instant::now().checked_add(time));
        let limits = Limits { deadline, interrupt: Some(interrupt.0.clone()), ..Limits::default() };
        match verify_enumerated(&name, &test, model, &limits) {
            Some(report) => reports.push(report),
            None => {
                let crash = outcomes(&test, model, &limits).crash;
                let text = crash.map_or(String::new(), |crash| crash_message(&test, &name, model, crash));
                return Err(Failure::Usage(text.trim_end().to_owned()));
            }
        }
    }
    Ok(Some(reports))
}

/// The line of progress of one of several tasks.
struct OneOf<'a> {
    line: &'a Line,
    number: usize,
    of: usize,
    /// As they were named.
    programs: &'a [PathBuf],
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
        let command = again(self.programs, program, state);
        self.line.note(&format!("interrupted: the state is kept; this resumes where it stopped:\n  {command}"));
    }
}

/// This command, for one of its programs and with its state.
fn again(programs: &[PathBuf], program: &str, state: &Path) -> String {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let quoted = |word: &OsString| quoted_path(&word.to_string_lossy());
    let mut line = vec!["membar".to_owned()];
    let own = words[..end].iter().filter(|word| !programs.iter().any(|program| program.as_os_str() == *word));
    line.extend(own.map(quoted));
    line.push(program.to_owned());
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
        (Some(input), None) => {
            let options = VerifyOptions { interrupt: interrupt.clone(), ..options(&args, args.native.options())? };
            let reports = verify_telling(input, &options, &Line::new(args.quiet))?;
            reports.into_iter().next().ok_or_else(|| Failure::Internal("no model was asked about".into()))
        }
        (None, None) => Err(Failure::Usage(format!("error: there is no program in {}", safe(file)))),
    }
}

/// The verdicts on each program, a column for each model.
fn by_model(reports: &[VerifyReport], style: Style, out: &mut impl Write) -> io::Result<()> {
    let programs = reports.chunk_by(|a, b| a.program == b.program);
    let width = reports.iter().map(|report| report.program.chars().count()).max().unwrap_or(0);
    for (i, row) in programs.enumerate() {
        if i == 0 {
            let names: String = row.iter().map(|report| format!("  {:<9}", report.model.name())).collect();
            writeln!(out, "\n{:width$}{}", "", names.trim_end())?;
        }
        write!(out, "{:width$}", safe(&row[0].program))?;
        for (n, report) in row.iter().enumerate() {
            let word = match report.verdict {
                Verdict::Safe => "safe",
                Verdict::Unsafe => "UNSAFE",
                Verdict::Fails => "FAILS",
                Verdict::Error => "ERROR",
                Verdict::Undecided => "UNDECIDED",
            };
            let painted = match report.verdict {
                Verdict::Safe => style.good(word).to_string(),
                verdict if is_bad(verdict) => style.bad(word).to_string(),
                _ => style.open(word).to_string(),
            };
            let fill = if n + 1 == row.len() { 0 } else { 9 - word.len() };
            write!(out, "  {painted}{:fill$}", "")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The options for one of the programs.
pub fn options_for(args: &Exploring, input: &Input, options: &VerifyOptions) -> VerifyOptions {
    let mut options = options.clone();
    if args.models.is_empty() && input.is_rust() {
        options.models = ProgramModel::C11.into();
    }
    options
}

/// The options that flags describe.
pub fn options(args: &Exploring, native: NativeOptions) -> Result<VerifyOptions, Failure> {
    let mut models: Models = args.models.iter().flat_map(|model| model.models()).copied().collect();
    if args.models.is_empty() {
        models = ProgramModel::Tso.into();
    }
    let watching = match args.monitor {
        VerifyMonitor::Auto => Watching::Class,
        VerifyMonitor::Tso => Watching::Tso,
        VerifyMonitor::Pso => Watching::Pso,
        VerifyMonitor::Sober => Watching::Sober,
        VerifyMonitor::SoberFixed => Watching::SoberFixed,
    };
    let fits = match watching {
        Watching::Tso | Watching::Sober | Watching::SoberFixed => models == ProgramModel::Tso.into(),
        Watching::Pso => models == ProgramModel::Pso.into(),
        Watching::Class | Watching::Nothing => true,
    };
    if !fits {
        let other = if watching == Watching::Pso { "pso" } else { "tso" };
        let asked: Vec<String> = models.iter().map(|model| model.name().to_owned()).collect();
        let message = format!(
            "error: this monitor finds violations of {other}, not of {}\n = help: give --model {other}, or leave --monitor out",
            list(&asked, "and")
        );
        return Err(Failure::Usage(message));
    }
    let executions = args.executions.unwrap_or(DRAWN);
    let preemptions = args.preemptions.unwrap_or(PREEMPTIONS);
    if args.preemptions.is_some() && !matches!(args.strategy, StrategyName::Auto | StrategyName::Bounded) {
        let message = "error: --preemptions is for --strategy bounded\n = help: leave one of the two out";
        return Err(Failure::Usage(message.into()));
    }
    if args.strict && (args.preemptions.is_some() || !matches!(args.strategy, StrategyName::Auto | StrategyName::Dpor))
    {
        let message = "error: --strict is for --strategy dpor\n = help: leave one of the two out";
        return Err(Failure::Usage(message.into()));
    }
    let strategy = match args.strategy {
        StrategyName::Auto if args.preemptions.is_some() => Strategy::Bounded { preemptions },
        StrategyName::Auto | StrategyName::Dpor if args.strict => Strategy::Strict,
        StrategyName::Auto | StrategyName::Dpor => Strategy::Dpor,
        StrategyName::Exhaustive => Strategy::Exhaustive,
        StrategyName::Bounded => Strategy::Bounded { preemptions },
        StrategyName::Random => Strategy::Random { executions, seed: args.seed },
        StrategyName::Pct => Strategy::Pct { executions, seed: args.seed, depth: args.depth },
    };
    Ok(VerifyOptions {
        models,
        races: match args.races {
            RacesArg::Auto => Races::C11,
            RacesArg::On => Races::On,
            RacesArg::Off => Races::Off,
        },
        property: match args.property {
            PropertyArg::Auto => Question::Auto,
            PropertyArg::Errors => Question::Errors,
            PropertyArg::Robust => Question::Robust,
        },
        allow: args.allow.clone(),
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
        native,
        interrupt: Interrupt::default(),
    })
}
