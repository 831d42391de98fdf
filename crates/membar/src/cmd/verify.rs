//! `membar verify`: explores a program, says what was found, and keeps what is needed to continue.

mod explain;
mod plan;
mod resume;
mod sample;
mod size;

pub use explain::initial;

use super::programs::{About, Input, Litmus, Native, Round, Subject, check_flags, inputs};
use crate::cli::{Cli, Command, StrategyName, Verify, VerifyFormat, VerifyModel, VerifyMonitor};
use crate::page::{self, ToFile};
use crate::progress::{Line, Now};
use crate::stop::{self, Failure, Interrupt};
use clap::Parser;
use membar::core::Relaxation;
use membar::explore::Strategy;
use membar::report::verify::{ErrorRef, NoteRef, SarifRun, VerifyReport, verify_json};
use membar::report::{Style, count, quoted_path, safe};
use membar::verify::{Checkpoint, Effort, Settings, Verdict, Watching};
use sample::Sampling;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Kinds of notes about accesses to parts of a cell; the second matters only where stores may overtake each other.
pub const PARTS: &str = "parts";
pub const STORES_OF_PARTS: &str = "parts-stores";

/// Time between two checkpoints on disk.
const CHECKPOINT: Duration = Duration::from_secs(1);
/// Violations shown in full by default; the JSON report has all.
const SHOWN: usize = 5;
/// How much longer than it may be explored a program may run, so that what was found is explained.
pub const EXPLAINING: Duration = Duration::from_millis(900);
/// Preemptions of a bounded search by default.
const PREEMPTIONS: u32 = 2;
/// Executions of random and pct by default.
const DRAWN: u64 = 10_000;

/// Runs the command.
pub fn run(args: &Verify, style: Style) -> Result<u8, Failure> {
    let settings = settings(args)?;
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
        let message = "error: --resume keeps the state of one program, but several were given";
        return Err(Failure::Usage(message.into()));
    }
    let page = args.html.as_deref().map(ToFile::create).transpose()?;
    let run = batch.run(args, settings, &inputs, style);
    if let Some(mut page) = page {
        batch.reports.iter().for_each(|report| page.add_program(report));
        for error in &batch.errors {
            let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
            page.add_error(&text("file"), &text("message"));
        }
        for input in &inputs[batch.begun..] {
            page.add_missing(&input.name(), "not verified: the command was interrupted");
        }
        page.finish()?;
    }
    match run {
        Ok(()) => Ok(batch.code()),
        // Nobody reads on. What was found counts all the same, and the rest is not known.
        Err(Failure::Closed) if batch.code() == stop::ALLOWED => Ok(stop::UNDECIDED),
        Err(Failure::Closed) => Ok(batch.code()),
        Err(failure) => Err(failure),
    }
}

/// What has come of the programs so far.
#[derive(Default)]
struct Batch {
    reports: Vec<VerifyReport>,
    /// What was wrong with the input.
    errors: Vec<serde_json::Value>,
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
    fn fail(&mut self, failure: Failure) -> Result<(), Failure> {
        let (text, json) = match failure {
            Failure::Input(problem) => (problem.text, problem.json),
            Failure::Internal(ref message) => {
                self.internal = true;
                let help = crate::decide::REPORT_BUG;
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

    fn run(&mut self, args: &Verify, settings: Settings, inputs: &[Input], style: Style) -> Result<(), Failure> {
        let interrupt = Interrupt::on_key();
        let mut out = BufWriter::new(io::stdout());
        let mut closed = false;
        for (number, input) in (1..).zip(inputs) {
            if interrupt.pressed() && !self.reports.is_empty() {
                self.interrupted = true;
                let _ = writeln!(io::stderr(), "interrupted: the rest was skipped");
                break;
            }
            self.begun = number;
            let report = match verify_input((input, number, inputs.len()), args, settings, &interrupt) {
                Ok(report) => report,
                Err(failure) => {
                    if !closed {
                        out.flush()?;
                    }
                    self.fail(failure)?;
                    continue;
                }
            };
            let shown = args.format == VerifyFormat::Text && !(args.quiet && report.verdict == "safe");
            self.reports.push(report);
            if shown && !closed {
                let in_full = if args.verbose { usize::MAX } else { SHOWN };
                let report = &self.reports[self.reports.len() - 1];
                let written = report.text(style, in_full, &mut out).and_then(|()| out.flush());
                match written.map_err(Failure::from) {
                    // The page is wanted whole.
                    Err(Failure::Closed) if args.html.is_some() => closed = true,
                    written => written?,
                }
            }
        }
        if closed {
            return Err(Failure::Closed);
        }
        let several = inputs.len() != 1 || args.programs[0].is_dir();
        if args.format == VerifyFormat::Json {
            verify_json(&self.reports, &self.errors, &mut out)?;
        } else if args.format == VerifyFormat::Sarif {
            self.sarif(&mut out)?;
        } else if several && !args.quiet && !self.reports.is_empty() {
            let programs = count(self.reports.len(), "program");
            let counts = ["safe", "unsafe", "error", "undecided"].map(|verdict| (self.number(verdict), verdict));
            let counts: Vec<_> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
            writeln!(out, "{programs}: {}", counts.join(", "))?;
        }
        out.flush()?;
        Ok(())
    }

    fn sarif(&self, out: &mut impl Write) -> io::Result<()> {
        let directory = std::env::current_dir()?;
        // What is in a repository is named from its root, wherever the command runs.
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
            source: &page::source,
        };
        run.write(out)
    }

    fn number(&self, verdict: &str) -> usize {
        self.reports.iter().filter(|report| report.verdict == verdict).count()
    }

    fn code(&self) -> u8 {
        match () {
            () if self.internal => stop::INTERNAL,
            () if !self.errors.is_empty() => stop::BAD,
            () if self.number("unsafe") + self.number("error") > 0 => stop::FORBIDDEN,
            () if self.interrupted || self.late || self.number("undecided") > 0 => stop::UNDECIDED,
            () => stop::ALLOWED,
        }
    }
}

fn verify_input(
    (input, number, of): (&Input, usize, usize),
    args: &Verify,
    settings: Settings,
    interrupt: &Interrupt,
) -> Result<VerifyReport, Failure> {
    match input {
        Input::Litmus(path) => verify(&mut Litmus::open(path)?, (number, of), args, settings, interrupt),
        native => {
            let mut native = Native::open(native, &args.native, usize::from(args.jobs), args.time.0)?;
            verify(&mut native, (number, of), args, settings, interrupt)
        }
    }
}

/// What `membar verify FILE` finds out.
pub fn examine(file: &str, interrupt: &Interrupt) -> Result<VerifyReport, Failure> {
    let cli = Cli::try_parse_from(["membar", "verify", file]).map_err(|error| Failure::Usage(error.to_string()))?;
    let Command::Verify(args) = cli.command else { unreachable!("that is what was written") };
    let (inputs, failures) = inputs(&args.programs);
    match (inputs.first(), failures.into_iter().next()) {
        (_, Some(failure)) => Err(failure),
        (Some(input), None) => verify_input((input, 1, 1), &args, settings(&args)?, interrupt),
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
    Ok(Settings { model, strategy, watching, max_steps: args.steps })
}

fn verify<S: Subject>(
    subject: &mut S,
    (number, of): (usize, usize),
    args: &Verify,
    settings: Settings,
    interrupt: &Interrupt,
) -> Result<VerifyReport, Failure> {
    let name = if of > 1 { format!("{number}/{of} {}", subject.name()) } else { subject.name().to_owned() };
    let mut said = Vec::new();
    say(&subject.about(0.0).notes, &mut said);
    let began = Instant::now();
    let (mut checkpoint, mut before) = (Checkpoint::new(settings), 0.0);
    let fingerprint = subject.fingerprint();
    if let Some(path) = &args.resume
        && let Some(saved) = resume::load(path, fingerprint, settings)?
    {
        if !subject.know(saved.facts) {
            return Err(resume::no_state(path));
        }
        (checkpoint, before) = (saved.checkpoint, saved.seconds);
    }
    let effort = Effort {
        jobs: usize::from(args.jobs),
        max_executions: args.executions.unwrap_or(u64::MAX),
        stop_at_first: args.stop_at_first,
    };
    let deadline = args.time.0.and_then(|time| began.checked_add(time));
    let line = Line::new(args.quiet);
    let mut saved = Instant::now();
    let (mut stopped, mut failed) = (None, None);
    let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    const FIRST: &str = "stopped at the first finding (--stop-at-first)";
    const INTERRUPTED: &str = "interrupted";
    const LATE: &str = "the time limit was reached (--time)";
    // A round takes milliseconds, but with many steps per execution may take long: the flag stops it on time.
    let watchdog = Watchdog::new(deadline, interrupt);
    let mut go_on = |round: &Round<'_>| {
        stopped = match () {
            () if round.has_first => Some(FIRST),
            () if round.is_done => return true,
            () if interrupt.pressed() => Some(INTERRUPTED),
            () if late() => Some(LATE),
            () if round.is_out => Some("the limit of executions was reached (--executions)"),
            () => None,
        };
        if let Some(path) = &args.resume
            && (stopped.is_some() || saved.elapsed() > CHECKPOINT)
        {
            let seconds = before + began.elapsed().as_secs_f64();
            let state = resume::State { checkpoint: (round.checkpoint)(), facts: (round.facts)(), seconds };
            failed = resume::save(path, fingerprint, &state).err();
            saved = Instant::now();
        }
        line.draw(|| now(&name, round, args, settings.strategy, began.elapsed().as_secs_f64()));
        stopped.is_none() && failed.is_none() && round.seen.limit().is_none()
    };
    let mut sampling = Sampling::new(args);
    let mut explored = subject.explore(checkpoint, effort, &[], &watchdog.stop, &mut |round: &Round<'_>| {
        go_on(round) && !sampling.is_due(round)
    });
    if let Ok(checkpoint) = &mut explored
        && sampling.is_next()
    {
        let known = subject.facts();
        sampling.sample(subject, settings, effort, deadline, interrupt)?;
        if subject.facts() != known {
            // What was explored was explored with less knowledge.
            *checkpoint = Checkpoint::new(settings);
        }
        if !(args.stop_at_first && sampling.has_found()) {
            explored = subject.explore(checkpoint.clone(), effort, &[], &watchdog.stop, &mut go_on);
        }
    }
    line.hide();
    let mut checkpoint = explored?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    if stopped.is_none() && checkpoint.seen.limit().is_none() && !checkpoint.search.is_done() {
        stopped = Some(match () {
            () if args.stop_at_first && sampling.has_found() => FIRST,
            () if interrupt.pressed() => INTERRUPTED,
            () => LATE,
        });
    }
    let interrupted = stopped == Some(INTERRUPTED) && args.resume.is_none();
    let kept = interrupted.then(|| {
        let seconds = before + began.elapsed().as_secs_f64();
        let state = resume::State { checkpoint: checkpoint.clone(), facts: subject.facts(), seconds };
        resume::keep(fingerprint, &state)
    });
    let sampled = sampling.add_to(&mut checkpoint, subject, settings, effort, interrupt)?;
    checkpoint.seen.errors.retain(|error| !subject.is_assumption(error));
    let seconds = before + began.elapsed().as_secs_f64();
    let about = subject.about(began.elapsed().as_secs_f64());
    let executed: Vec<NoteRef> = about.notes.iter().filter(|note| note.kind == "assembly").cloned().collect();
    say(&executed, &mut said);
    if let Some(path) = &args.resume {
        let state = resume::State { checkpoint: checkpoint.clone(), facts: subject.facts(), seconds };
        resume::save(path, fingerprint, &state)?;
    }
    // What cannot be explained soon is left out.
    let until = deadline.and_then(|deadline| deadline.checked_add(EXPLAINING));
    let mut report = report(subject, &checkpoint, about, seconds, stopped, until)?;
    if let Some(sampled) = sampled {
        report.strategy += &sampled;
    }
    if report.verdict == "undecided"
        && stopped.is_some_and(|why| why != INTERRUPTED)
        && let Some(size) = size::size(subject, &checkpoint)
    {
        (report.size, report.advice) = (size.races, Some(size.next));
    }
    if let Some(Ok(path)) = kept {
        let command = resume::command(&args.programs, &report.command.program, &path);
        let _ = writeln!(io::stderr(), "interrupted: the state is kept; this resumes where it stopped:\n  {command}");
        let path = quoted_path(&path.to_string_lossy());
        report.advice = Some(format!("to resume where it stopped: --resume {path}"));
    } else if args.resume.is_none() && report.verdict == "undecided" && stopped.is_some() && args.executions.is_none() {
        let how = "to be able to resume where it stopped: --resume FILE";
        report.advice = Some(report.advice.take().map_or(how.into(), |advice| format!("{advice}; {how}")));
    }
    if !report.violations.is_empty() && checkpoint.search.is_complete() && !interrupt.pressed() {
        match plan::plan(subject, &checkpoint, deadline, interrupt, &line) {
            Ok(fences) => report.plan = Some(fences),
            Err(plan::Unfixed { why, needs }) => (report.unfixed, report.needs) = (Some(why), needs),
        }
        line.hide();
    }
    Ok(report)
}

/// Notes of the build, and of what was executed, one per line, each once.
fn say(notes: &[NoteRef], said: &mut Vec<String>) {
    for line in notes.iter().flat_map(NoteRef::text) {
        if !said.contains(&line) {
            let _ = writeln!(io::stderr(), "{line}");
            said.push(line);
        }
    }
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

/// How far exploration is.
fn now(name: &str, round: &Round<'_>, args: &Verify, strategy: Strategy, seconds: f64) -> Now {
    let (search, unit) = (round.search, unit(strategy));
    let executions = search.counts().executions;
    let mut counts = Vec::new();
    if let Some(bound) = search.preemptions_bound() {
        counts.push(count(bound as usize, "preemption"));
    }
    counts.push(match args.executions {
        Some(most) if search.share().is_none() => format!("{executions} of at most {}", count(most as usize, unit)),
        _ => count(executions as usize, unit),
    });
    counts.push(format!("{:.0}/s", executions as f64 / seconds));
    if search.share().is_none() {
        counts.push(format!("{} known to be left", count(search.branches_left(), "branch")));
    }
    counts.push(count(round.seen.violations.len(), "violation"));
    let limit = args.time.0.map(|time| time.as_secs_f64());
    Now { name: name.to_owned(), share: search.share(), seconds, limit, counts: counts.join(", ") }
}

fn unit(strategy: Strategy) -> &'static str {
    if strategy == Strategy::Dpor { "class" } else { "interleaving" }
}

fn report<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    about: About,
    seconds: f64,
    stopped: Option<&str>,
    until: Option<Instant>,
) -> Result<VerifyReport, Failure> {
    let Settings { model, strategy, watching, .. } = checkpoint.settings;
    let mut advice = None;
    let limit = checkpoint.seen.limit().and_then(|error| subject.limit(error));
    let incomplete = match stopped {
        _ if limit.is_some() => limit.map(|limit| {
            advice = Some(limit.help);
            limit.message
        }),
        Some(why) => Some(match checkpoint.search.share() {
            Some(share) => format!("{why}; by a rough guess {:.1} % were explored", 100.0 * share),
            None => {
                let branches = count(checkpoint.search.branches_left(), "branch");
                format!("{why}; {branches} known to be left, of unknown size")
            }
        }),
        None if checkpoint.counts().cut > 0 => {
            let executions = count(checkpoint.counts().cut as usize, "execution");
            let round = checkpoint.seen.cut.as_ref().and_then(|cut| size::round(subject, &cut.0));
            advice = Some(match round {
                Some(_) => size::ROUND.into(),
                None => "longer executions: --steps N".into(),
            });
            let where_ =
                round.map_or(String::new(), |round| format!(": {round}, and each round leaves something else"));
            Some(format!("in {executions} a thread went past {} steps{where_}", checkpoint.settings.max_steps))
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
    let (mut errors, mut unexplained) = (Vec::new(), 0);
    for error in checkpoint.seen.errors.iter().filter(|error| error.kind.limit().is_none()) {
        match subject.error(error) {
            Ok(error) => errors.push(error),
            Err(Failure::Late) => unexplained += 1,
            Err(failure) => return Err(failure),
        }
    }
    let explain::Explained { violations, left, apart } =
        explain::violations(subject, &checkpoint.seen.violations, model, until)?;
    unexplained += left;
    let incomplete = match unexplained {
        0 => incomplete,
        n => {
            let why = incomplete.unwrap_or_else(|| "the time limit was reached (--time)".into());
            Some(format!("{why}; {} could not be explained in time", count(n, "finding")))
        }
    };
    let verdict = match checkpoint.verdict() {
        // Of what was found nothing may be left.
        Verdict::Error if !errors.is_empty() => Verdict::Error,
        Verdict::Error | Verdict::Unsafe if !violations.is_empty() => Verdict::Unsafe,
        Verdict::Error | Verdict::Unsafe => Verdict::Undecided,
        verdict => verdict,
    };
    let About { compiler, mut notes, statistics, command } = about;
    if subject.is_alone() {
        let message = "it has one thread only: there was nothing to interleave".into();
        notes.push(NoteRef { kind: "untried", message, file: None, line: None });
    }
    // It matters to who relies on the rest.
    notes.retain(|note| note.kind != "untried" || verdict == Verdict::Safe);
    // Only who reorders stores could tell.
    notes.retain(|note| note.kind != STORES_OF_PARTS || model == Relaxation::Pso);
    notes.iter_mut().filter(|note| note.kind == STORES_OF_PARTS).for_each(|note| note.kind = PARTS);
    if apart > 0 && violations.is_empty() {
        let message = "what looks like a violation is about different bytes of an atomic word, which membar treats as one location";
        notes.push(NoteRef { kind: PARTS, message: message.into(), file: None, line: None });
    }
    // What was not seen may be what breaks it.
    let unseen = notes.iter().find(|note| matches!(note.kind, "assembly" | "opaque" | "memory"));
    // Threads that wait may have been released unseen.
    let hung = |error: &&ErrorRef| error.kind != "fault";
    if unseen.is_some() && violations.is_empty() && !errors.is_empty() && errors.iter().all(|error| hung(&error)) {
        errors.clear();
    }
    let unseen = unseen.or_else(|| notes.iter().find(|note| note.kind == PARTS));
    let clean = violations.is_empty() && errors.is_empty();
    let unseen = unseen.filter(|_| verdict == Verdict::Safe || clean);
    let same = |note: &NoteRef| unseen.is_some_and(|first| first.kind == note.kind);
    let more = match notes.iter().filter(|note| same(note)).count() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let place = |note: &NoteRef| match (&note.file, note.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        _ => String::new(),
    };
    let words = |note: &NoteRef| {
        let what = if note.kind == PARTS { "not all orders were tried" } else { "not all accesses were seen" };
        format!("{what}: {}{}{more}", place(note), note.message)
    };
    if unseen.is_some_and(|note| note.kind == "opaque") {
        advice.get_or_insert_with(|| {
            "compile that code with the program, or, if it touches nothing shared: --assume opaque=private".into()
        });
    }
    let counts = checkpoint.counts();
    let vacuous = counts.executions == 0 && verdict == Verdict::Safe;
    let nothing = || match counts.dropped {
        0 => "no execution ends: some threads wait for each other in loops".to_owned(),
        _ => "its assumptions hold in no execution".to_owned(),
    };
    let incomplete = incomplete.or_else(|| vacuous.then(nothing)).or_else(|| unseen.map(words));
    let mut report = VerifyReport {
        program: subject.name().into(),
        main: subject.file().into(),
        model: model.name(),
        verdict: match verdict {
            _ if unseen.is_some() || vacuous => "undecided",
            Verdict::Safe => "safe",
            Verdict::Unsafe => "unsafe",
            Verdict::Error => "error",
            Verdict::Undecided => "undecided",
        },
        complete: checkpoint.is_complete() && incomplete.is_none(),
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
        size: Vec::new(),
        advice,
        compiler,
        notes,
        statistics,
        command,
        plan: None,
        unfixed: None,
        needs: Vec::new(),
        violations,
        errors,
    };
    if counts.dropped > 0 {
        report.strategy += &format!(", without {} in which an assumption fails", counts.dropped);
    }
    report.look_at_columns();
    Ok(report)
}
