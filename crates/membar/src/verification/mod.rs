//! Programs verified in one call: explored, with what was found explained, confirmed and repaired.
//!
//! | file | does |
//! |---|---|
//! | `sample` | a short time of sampling before a long search |
//! | `report` | the verdict and what it rests on |
//! | `allow` | violations that the user allows |
//! | `condition` | the condition at the end of a litmus test |
//! | `weak` | what the executions of the model itself do |
//! | `explain` | violations in words, each confirmed by separate code |
//! | `size` | why a search does not end |
//! | `race` | data races in words |
//! | `buffering` | load buffering, which is not looked for |
//! | `enumerated` | litmus tests of RISCV and AArch64, by all their executions |
//! | `plan` | the fences that make a program safe |
//! | `orders` | the memory orders that do, under C11 |
//! | `resume` | the file that a verification resumes from |
//! | `shards` | a search that is split, explored in parts, and put together |

mod allow;
mod condition;
mod enumerated;
mod explain;
mod orders;
mod plan;
mod race;
mod report;
mod resume;
mod sample;
mod shards;
mod size;
mod untried;
mod watchdog;
mod weak;

pub use allow::AllowLine;
pub use enumerated::verify_enumerated;
pub use explain::initial;
pub use shards::{Explored, Explores, Prepared, Shard};

use crate::core::ProgramModel;
use crate::explore::Strategy;
use crate::programs::{Input, Litmus, Native, NativeOptions, Round, Subject};
use crate::report::kinds::NoteKind;
use crate::report::verify::{NoteRef, Question, StatisticsRef, VerifyReport};
use crate::report::{count, quoted_path};
use crate::verify::{Checkpoint, Effort, Models, Races, Settings, Verdict, Watching};
use crate::{Failure, Interrupt, Listener, Now};
use sample::Sampling;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use watchdog::Watchdog;

/// Why a search has stopped.
const INTERRUPTED: &str = "interrupted";
/// Time between two checkpoints on disk.
const CHECKPOINT: Duration = Duration::from_secs(1);
/// How much longer than it may be explored a program may run, so that what was found is explained.
pub(crate) const EXPLAINING: Duration = Duration::from_millis(900);

/// How to verify a program. The default is what `membar verify` does.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// The memory models.
    pub models: Models,
    /// Under which of them data races are errors.
    pub races: Races,
    /// The question to answer.
    pub property: Question,
    /// Lines whose violations do not count, beside those that comments name.
    pub allow: Vec<AllowLine>,
    /// Which executions are explored.
    pub strategy: Strategy,
    /// The monitor that looks at each of them.
    pub watching: Watching,
    /// A thread is not run any further after this many accesses.
    pub max_steps: usize,
    /// Stop after about this many executions.
    pub max_executions: Option<u64>,
    /// Stop at the first violation or error.
    pub stop_at_first: bool,
    /// A search that takes long is preceded by a short time of sampling,
    pub samples: bool,
    /// whose random numbers begin here,
    pub seed: u64,
    /// and which looks for bugs that need this many ordering constraints.
    pub depth: u32,
    /// Time to explore, without compiling.
    pub time: Option<Duration>,
    /// Go on where this file says, if it exists, and keep it up to date.
    pub resume: Option<PathBuf>,
    /// Keep the state of a search that is interrupted in a temporary file ([`Listener::kept`]) if `resume` names none.
    pub keep: bool,
    /// How many cores to use; the result is the same.
    pub jobs: usize,
    /// How C and C++ programs are compiled and run.
    pub native: NativeOptions,
    /// Stops it early.
    pub interrupt: Interrupt,
}

impl Default for VerifyOptions {
    fn default() -> VerifyOptions {
        VerifyOptions {
            models: ProgramModel::Tso.into(),
            races: Races::default(),
            property: Question::Auto,
            allow: Vec::new(),
            strategy: Strategy::Dpor,
            watching: Watching::Class,
            max_steps: 10_000,
            max_executions: None,
            stop_at_first: false,
            samples: true,
            seed: 1,
            depth: 3,
            time: None,
            resume: None,
            keep: false,
            jobs: 1,
            native: NativeOptions::default(),
            interrupt: Interrupt::default(),
        }
    }
}

impl VerifyOptions {
    fn settings(&self) -> Settings {
        Settings {
            models: self.models,
            races: self.races,
            strategy: self.strategy,
            watching: self.watching,
            max_steps: self.max_steps,
        }
    }
}

/// Finds out whether a program stays sequentially consistent, and explains why not: a litmus test, C or C++ sources, or an
/// executable that was built with `membar cc`. There is a report for each model; the program is explored once.
///
/// ```
/// use membar::{ProgramVerdict, VerifyOptions, verify};
///
/// let text = "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0)\n";
/// let file = tempfile::Builder::new().suffix(".litmus").tempfile()?;
/// std::fs::write(&file, text)?;
/// let report = &verify(file.path(), &VerifyOptions::default())?[0];
/// assert_eq!(report.verdict, ProgramVerdict::Unsafe);
/// assert!(report.violations[0].certified);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Programs are run in their own processes, which are this executable once more:
///
/// ```no_run
/// use membar::core::ProgramModel;
/// use membar::{VerifyOptions, verify};
///
/// membar::serve_programs(); // first of all: this may be such a process
/// let options = VerifyOptions { models: ProgramModel::C11.into(), ..VerifyOptions::default() };
/// for report in verify("dekker.c", &options)? {
///     println!("{} under {}: {}", report.program, report.model, report.verdict);
/// }
/// # Ok::<(), membar::Failure>(())
/// ```
pub fn verify(program: impl Into<Input>, options: &VerifyOptions) -> Result<Vec<VerifyReport>, Failure> {
    verify_telling(&program.into(), options, &())
}

/// The same, reporting progress.
pub fn verify_telling(
    program: &Input,
    options: &VerifyOptions,
    listener: &dyn Listener,
) -> Result<Vec<VerifyReport>, Failure> {
    verify_explored(program, options, None, listener)
}

/// The same for a program that has been explored elsewhere, if this says so.
pub fn verify_explored(
    program: &Input,
    options: &VerifyOptions,
    given: Option<Explored>,
    listener: &dyn Listener,
) -> Result<Vec<VerifyReport>, Failure> {
    match program {
        Input::Litmus(path) => {
            explored(&mut Litmus::open(path)?.with_symmetry(options.native.symmetry), options, given, listener)
        }
        Input::Text { name, text } => {
            explored(&mut Litmus::parse(name, text)?.with_symmetry(options.native.symmetry), options, given, listener)
        }
        native => {
            let mut native = Native::open(native, &options.native, options.jobs, options.time)?;
            explored(&mut native, options, given, listener)
        }
    }
}

/// Where a search begins: at the start of the program, or where an earlier one stopped.
struct Start {
    fingerprint: u64,
    checkpoint: Checkpoint,
    /// Of the search among the executions of each model.
    weak: Vec<Checkpoint>,
    /// Seconds spent before.
    before: f64,
    began: Instant,
    deadline: Option<Instant>,
}

impl Start {
    fn new<S: Subject>(
        subject: &mut S,
        options: &VerifyOptions,
        given: Option<&Explored>,
        began: Instant,
    ) -> Result<Start, Failure> {
        let settings = options.settings();
        let fingerprint = subject.fingerprint();
        let (mut checkpoint, mut before, mut weak) = (Checkpoint::new(settings), 0.0, Vec::new());
        if let Some(path) = &options.resume
            && let Some(saved) = resume::load(path, fingerprint, settings)?
        {
            if !subject.know(saved.facts, 0) {
                return Err(resume::no_state(path));
            }
            (checkpoint, before, weak) = (saved.checkpoint, saved.seconds, saved.weak);
        }
        if let Some(given) = given {
            before = given.seconds;
        }
        let deadline = options.time.and_then(|time| began.checked_add(time));
        Ok(Start { fingerprint, checkpoint, weak, before, began, deadline })
    }

    /// Seconds spent so far.
    fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }
}

fn effort(options: &VerifyOptions) -> Effort {
    Effort {
        jobs: options.jobs,
        max_executions: options.max_executions.unwrap_or(u64::MAX),
        stop_at_first: options.stop_at_first,
        ..Effort::default()
    }
}

fn explored<S: Subject>(
    subject: &mut S,
    options: &VerifyOptions,
    given: Option<Explored>,
    listener: &dyn Listener,
) -> Result<Vec<VerifyReport>, Failure> {
    let (settings, interrupt) = (options.settings(), &options.interrupt);
    if let Some(failure) = options.models.iter().find_map(|model| subject.refuses(model)) {
        return Err(failure);
    }
    let mut said = Vec::new();
    say(&subject.about(0.0).notes, &mut said, listener);
    let mut start = Start::new(subject, options, given.as_ref(), Instant::now())?;
    let mut weak = std::mem::take(&mut start.weak);
    let mut sampling = Sampling::new(options);
    let elsewhere = given.as_ref().and_then(|given| given.shard.cost.clone());
    let (mut checkpoint, stopped) = search(subject, options, given, &start, &mut sampling, listener)?;
    let interrupted = stopped == Some(INTERRUPTED) && options.keep && options.resume.is_none();
    let kept = interrupted.then(|| {
        let (facts, seconds) = (subject.facts(), start.seconds());
        let state = resume::State { checkpoint: checkpoint.clone(), weak: Vec::new(), facts, seconds };
        resume::keep(start.fingerprint, &state)
    });
    let sampled = sampling.add_to(&mut checkpoint, subject, settings, effort(options), interrupt)?;
    checkpoint.seen.errors.retain(|error| !subject.is_assumption(error));
    let seconds = start.seconds();
    let about = subject.about(start.began.elapsed().as_secs_f64());
    let executed: Vec<NoteRef> = about.notes.iter().filter(|note| note.kind == NoteKind::Assembly).cloned().collect();
    say(&executed, &mut said, listener);
    let facts = subject.facts();
    let keep = |checkpoint: &Checkpoint, weak: Vec<Checkpoint>| match &options.resume {
        Some(path) => {
            let state = resume::State { checkpoint: checkpoint.clone(), weak, facts: facts.clone(), seconds };
            resume::save(path, start.fingerprint, &state)
        }
        None => Ok(()),
    };
    keep(&checkpoint, weak.clone())?;
    let kept = kept.and_then(Result::ok);
    if let Some(path) = &kept {
        listener.kept(path, &about.command.program);
    }
    let deadline = start.deadline;
    let done = Done { checkpoint, stopped, sampled, kept, deadline, seconds, elsewhere };
    let mut reports = reports(subject, options, &done, (&mut weak, listener))?;
    keep(&done.checkpoint, weak)?;
    // Only now: the search for fences leaves some in the program, and nothing is explained there.
    for (report, model) in reports.iter_mut().zip(options.models.iter()) {
        repair(subject, &done.checkpoint.under(model), report, options, deadline, listener);
    }
    let mut files = subject.files();
    files.extend(reports.iter().flat_map(|report| &report.violations).flat_map(allow::files));
    let allows: Vec<_> = allow::all(&files, &options.allow).into_iter().map(|allow| allow.told).collect();
    VerifyReport::note_unneeded(&mut reports, &allows);
    Ok(reports)
}

/// Explores until all is done or a limit is reached, with a short time of sampling if it takes long. Also why it stopped early, if it did.
fn search<S: Subject>(
    subject: &mut S,
    options: &VerifyOptions,
    given: Option<Explored>,
    start: &Start,
    sampling: &mut Sampling,
    listener: &dyn Listener,
) -> Result<(Checkpoint, Option<&'static str>), Failure> {
    const FIRST: &str = "stopped at the first finding (--stop-at-first)";
    const MISSING: &str = "parts are missing (membar work)";
    const LATE: &str = "the time limit was reached (--time)";
    let (settings, effort, interrupt) = (options.settings(), effort(options), &options.interrupt);
    let &Start { fingerprint, deadline, began, .. } = start;
    let name = subject.name().to_owned();
    let mut saved = Instant::now();
    let (mut stopped, mut failed) = (None, None);
    // What violations lead to is looked for in the last quarter.
    let spare = options.time.unwrap_or_default() / 4;
    let late = |round: &Round<'_>| {
        let asked = options.property != Question::Robust && !round.seen.violations.is_empty();
        let spare = if asked { spare } else { Duration::ZERO };
        deadline.is_some_and(|deadline| Instant::now() + spare >= deadline)
    };
    // A round takes milliseconds, but with many steps an execution may take long: the flag stops it on time.
    let watchdog = Watchdog::new(deadline, interrupt);
    let mut go_on = |round: &Round<'_>| {
        stopped = match () {
            () if round.has_first => Some(FIRST),
            () if round.is_done => return true,
            () if interrupt.pressed() => Some(INTERRUPTED),
            () if late(round) => Some(LATE),
            () if round.is_out => Some("the limit of executions was reached (--executions)"),
            () => None,
        };
        if let Some(path) = &options.resume
            && (stopped.is_some() || saved.elapsed() > CHECKPOINT)
        {
            let (checkpoint, facts, seconds) = ((round.checkpoint)(), (round.facts)(), start.seconds());
            let state = resume::State { checkpoint, weak: Vec::new(), facts, seconds };
            failed = resume::save(path, fingerprint, &state).err();
            saved = Instant::now();
        }
        listener.progress(&|| now(&name, round, options, began.elapsed().as_secs_f64()));
        stopped.is_none() && failed.is_none() && round.seen.limit().is_none()
    };
    let is_given = given.is_some();
    let missing = given.as_ref().is_some_and(|given| given.missing);
    let mut explored = match given {
        Some(given) => given.enter(subject),
        None => subject.explore(start.checkpoint.clone(), effort, &[], &watchdog.stop, &mut |round: &Round<'_>| {
            go_on(round) && !sampling.is_due(round)
        }),
    };
    if let Ok(checkpoint) = &mut explored
        && !is_given
        && sampling.is_next()
    {
        let known = subject.facts();
        sampling.sample(subject, settings, effort, deadline, interrupt)?;
        if subject.facts() != known {
            // The exploration so far was made with less knowledge.
            *checkpoint = Checkpoint::new(settings);
        }
        if !(options.stop_at_first && sampling.has_found()) {
            explored = subject.explore(checkpoint.clone(), effort, &[], &watchdog.stop, &mut go_on);
        }
    }
    listener.rest();
    let checkpoint = explored?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    if stopped.is_none() && checkpoint.seen.limit().is_none() && !checkpoint.search.is_done() {
        stopped = Some(match () {
            () if options.stop_at_first && is_given && checkpoint.seen.has_found() => FIRST,
            () if missing => MISSING,
            () if options.stop_at_first && sampling.has_found() => FIRST,
            () if interrupt.pressed() => INTERRUPTED,
            () => LATE,
        });
    }
    Ok((checkpoint, stopped))
}

/// An answer for each model.
fn reports<S: Subject>(
    subject: &mut S,
    options: &VerifyOptions,
    done: &Done,
    (weak, listener): (&mut Vec<Checkpoint>, &dyn Listener),
) -> Result<Vec<VerifyReport>, Failure> {
    let Done { checkpoint, seconds, stopped, .. } = done;
    let mut reports = Vec::new();
    // Findings that cannot be explained soon are left out.
    let until = done.deadline.and_then(|deadline| deadline.checked_add(EXPLAINING));
    for model in options.models.iter() {
        let mut about = subject.about(*seconds);
        if let (Some(cost), Some(elsewhere)) = (&mut about.statistics, &done.elsewhere) {
            cost.add(elsewhere);
            cost.seconds_per_access = seconds / (cost.accesses + cost.replayed).max(1) as f64;
        }
        let checkpoint = checkpoint.under(model);
        reports.push(report::report(subject, &checkpoint, model, about, *seconds, (*stopped, &options.allow), until)?);
    }
    // Only now: more may be learnt about the program, and then schedules are others.
    for report in &mut reports {
        answer(subject, &checkpoint.under(report.model), report, options, done, (weak, listener))?;
    }
    Ok(reports)
}

/// An exploration that is over.
struct Done {
    checkpoint: Checkpoint,
    stopped: Option<&'static str>,
    /// About samples, after the name of the strategy.
    sampled: Option<String>,
    /// The file that keeps its state.
    kept: Option<PathBuf>,
    deadline: Option<Instant>,
    /// Everything until then, earlier parts of a resumed search included.
    seconds: f64,
    /// What exploring it elsewhere cost.
    elsewhere: Option<StatisticsRef>,
}

/// Completes the answer for one of the models.
fn answer<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    report: &mut VerifyReport,
    options: &VerifyOptions,
    done: &Done,
    (before, listener): (&mut Vec<Checkpoint>, &dyn Listener),
) -> Result<(), Failure> {
    let &Done { stopped, deadline, .. } = done;
    // What goes wrong under SC needs no other execution.
    let consequence = match report.violations.is_empty() || !report.errors.is_empty() {
        true => None,
        false => weak::consequences(subject, report, checkpoint, options, deadline, (before, listener))?,
    };
    let asked = consequence.as_ref().and_then(|consequence| consequence.asked.clone());
    report.settle(options.property, options.strategy == Strategy::Strict, consequence);
    condition::settle(report, checkpoint, asked);
    if report.model == ProgramModel::C11 && report.verdict == Verdict::Safe {
        let note = |message| NoteRef { kind: NoteKind::Untried, message, file: None, line: None };
        report.notes.extend(untried::notes(subject).into_iter().map(note));
    }
    if let Some(sampled) = &done.sampled {
        report.strategy += sampled;
    }
    if report.verdict == Verdict::Undecided
        && stopped.is_some_and(|why| why != INTERRUPTED)
        && let Some(size) = size::size(subject, checkpoint)
    {
        (report.size, report.advice) = (size.races, Some(size.next));
    }
    if let Some(path) = &done.kept {
        let path = quoted_path(&path.to_string_lossy());
        report.advice = Some(format!("to resume where it stopped: --resume {path}"));
    } else if options.resume.is_none()
        && report.verdict == Verdict::Undecided
        && stopped.is_some()
        && options.max_executions.is_none()
    {
        let how = "to be able to resume where it stopped: --resume FILE";
        report.advice = Some(report.advice.take().map_or(how.into(), |advice| format!("{advice}; {how}")));
    }
    Ok(())
}

/// Looks for what makes the program right under the model of the report.
fn repair<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    report: &mut VerifyReport,
    options: &VerifyOptions,
    deadline: Option<Instant>,
    listener: &dyn Listener,
) {
    let model = report.model;
    // A violation may be allowed, and what follows from it is a failure all the same.
    let harms = report.counted() > 0 || report.verdict == Verdict::Fails;
    // With store buffers, races are another matter.
    let fixable = match model {
        ProgramModel::C11 => !orders::is_fine(&checkpoint.seen),
        _ => harms,
    };
    let wanted = !matches!(report.verdict, Verdict::Safe) && (harms || !report.errors.is_empty());
    if fixable && wanted && checkpoint.search.is_complete() && !options.interrupt.pressed() {
        let planned = match model.machine() {
            Some(machine) => plan::plan(subject, checkpoint, machine, deadline, &options.interrupt, listener),
            None => orders::plan(subject, checkpoint, deadline, &options.interrupt, listener),
        };
        match planned {
            Ok(fences) => report.plan = Some(fences),
            Err(plan::Unfixed { why, needs }) => (report.unfixed, report.needs) = (Some(why), needs),
        }
        listener.rest();
    }
}

/// Notes of the build, and of what was executed, one per line, each once.
fn say(notes: &[NoteRef], said: &mut Vec<String>, listener: &dyn Listener) {
    for line in notes.iter().flat_map(NoteRef::text) {
        if !said.contains(&line) {
            listener.note(&line);
            said.push(line);
        }
    }
}

/// How far exploration is.
fn now(name: &str, round: &Round<'_>, options: &VerifyOptions, seconds: f64) -> Now {
    let (search, unit) = (round.search, report::unit(options.strategy));
    let executions = search.counts().executions;
    let mut counts = Vec::new();
    if let Some(bound) = search.preemptions_bound() {
        counts.push(count(bound as usize, "preemption"));
    }
    counts.push(match options.max_executions {
        Some(most) if search.share().is_none() => {
            format!("{executions} of at most {}", count(most as usize, unit.name()))
        }
        _ => count(executions as usize, unit.name()),
    });
    // Where there is no room, the last of these goes first.
    if search.share().is_none() {
        counts.push(report::total(search, unit).unwrap_or("no idea yet how many in all".into()));
    }
    counts.push(format!("{:.0}/s", executions as f64 / seconds));
    counts.push(count(round.seen.violations.len(), "violation"));
    let limit = options.time.map(|time| time.as_secs_f64());
    Now { name: name.to_owned(), share: search.share(), seconds, limit, counts: counts.join(", ") }
}
