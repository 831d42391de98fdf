//! What the executions of the model itself do, for a program that is not robust.
//!
//! They are explored until one fails or all are seen, for as long as there is time. Where there are several violations, some more are explored
//! after the first failure: a violation harms if a failing execution rests on it. An execution may have other stale reads, which have nothing to
//! do with the failure; so of the executions that fail in one way, those count that rest on as little as possible. An execution that fails is run again, confirmed by
//! separate code, and told step by step: on a machine with store buffers in the order in which that makes its steps, under C11 in an
//! order in which each read comes after what it reads.

use super::race;
use super::watchdog::Watchdog;
use super::{INTERRUPTED, VerifyOptions, initial};
use crate::certify::weak::Ending;
use crate::core::{GraphModel, Performed, ProgramModel};
use crate::explore::{FaultKind, Strategy, WeakSchedule};
use crate::programs::{Round, Run, Subject};
use crate::report::count;
use crate::report::kinds::NoteKind;
use crate::report::verify::{
    AccessRef, Consequence, FailureRef, Harm, NoteRef, Outcome, Question, VerifyReport, ViolationRef, WeakRef,
    WeakStepRef, tell_columns,
};
use crate::verify::{
    Checkpoint, Effort, ErrorKind, Event, MAX_RESTS, RunStep, Settings, Watching, WeakError, WeakRun, weak_run,
};
use crate::{Failure, Listener, Now};
use std::time::{Duration, Instant};

/// How long the executions of a model are explored if no time is given.
const TIME: Duration = Duration::from_secs(20);

/// How many executions to look at after the first that fails, to see what other violations lead to,
const MORE: u64 = 100_000;
/// and for how long.
const MORE_TIME: Duration = Duration::from_secs(2);

/// How long to look for something that says more than that threads wait.
const LOOKING: Duration = Duration::from_millis(500);

/// Explores the executions of `report.model`, until one fails or all are seen. `report.violations` are explained, and failures name the one
/// that they rest on by its index. The search begins where one of the same settings in `before` ended, and is kept there. `None` if the executions of the model are not explored: then the answer is about robustness.
pub fn consequences<S: Subject>(
    subject: &mut S,
    report: &VerifyReport,
    checkpoint: &Checkpoint,
    options: &VerifyOptions,
    deadline: Option<Instant>,
    (before, listener): (&mut Vec<Checkpoint>, &dyn Listener),
) -> Result<Option<Consequence>, Failure> {
    let facts = subject.facts();
    let consequence = explored(subject, report, checkpoint, options, deadline, (before, listener));
    // More may have been learnt, and then the schedules of what was found before would be others.
    if subject.facts() != facts || !matches!(consequence, Ok(Some(_))) {
        before.clear();
        subject.go_back(facts, checkpoint.settings)?;
    }
    consequence
}

fn explored<S: Subject>(
    subject: &mut S,
    report: &VerifyReport,
    checkpoint: &Checkpoint,
    options: &VerifyOptions,
    deadline: Option<Instant>,
    (before, listener): (&mut Vec<Checkpoint>, &dyn Listener),
) -> Result<Option<Consequence>, Failure> {
    let model = report.model;
    if options.watching != Watching::Class || !options.strategy.is_dpor() {
        return Ok(None);
    }
    let races = checkpoint.settings.looks_for_races();
    // Execution graphs have whole addresses.
    let bytes = model.machine().is_some() && subject.has_parts();
    let settings = Settings {
        models: model.into(),
        races: checkpoint.settings.races,
        strategy: Strategy::Graphs { model: model.into(), races, bytes },
        watching: Watching::Nothing,
        max_steps: options.max_steps,
    };
    let effort = Effort {
        jobs: options.jobs,
        max_executions: options.max_executions.unwrap_or(u64::MAX),
        stop_at_first: report.violations.len() < 2,
        ..Effort::default()
    };
    let mut first = None;
    let pairs: Vec<Vec<Pair>> = report.violations.iter().map(|violation| pairs(violation, model, checkpoint)).collect();
    let began = Instant::now();
    let until = deadline.unwrap_or(began + TIME);
    let watchdog = Watchdog::new(Some(until), &options.interrupt);
    let mut stopped = None;
    let name = subject.name().to_owned();
    let known = before.iter().position(|known| known.settings == settings).map(|at| before.swap_remove(at));
    let begin = known.unwrap_or_else(|| Checkpoint::new(settings));
    let explored = subject.explore(begin, effort, &[], &watchdog.stop, &mut |round: &Round<'_>| {
        stopped = match () {
            () if round.has_first || round.is_done => None,
            () if round.seen.has_found() && {
                let executions = round.search.counts().executions;
                let (before, then) = *first.get_or_insert((executions, Instant::now()));
                let harms = |pairs: &Vec<Pair>| round.seen.weak_errors.iter().any(|error| rests_on(error, pairs));
                executions >= before + MORE || then.elapsed() > MORE_TIME || pairs.iter().all(harms)
            } =>
            {
                Some("an error was found")
            }
            // Threads that wait forever; an assertion that fails would say more.
            () if !round.seen.has_found() && !round.seen.weak_errors.is_empty() && began.elapsed() > LOOKING => {
                Some("an error was found")
            }
            () if options.interrupt.pressed() => Some(INTERRUPTED),
            () if Instant::now() >= until => Some(match deadline {
                Some(_) => "the time limit was reached (--time)",
                None => "that takes longer than 20 s (more with --time)",
            }),
            () if round.is_out => Some("the limit of executions was reached (--executions)"),
            () => None,
        };
        listener.progress(&|| now(&name, round, model, began.elapsed().as_secs_f64()));
        stopped.is_none() && !round.has_first
    });
    listener.rest();
    // A program that cannot be run like this is asked about robustness alone.
    let Ok(explored) = explored else { return Ok(None) };
    // Under C11 plain accesses are taken apart. If that is not enough, the question is about robustness.
    let fails = explored.seen.weak_errors.iter().any(|error| !error.kind.is_limit());
    let parts = subject.has_parts() && explored.seen.weak_limit().is_some() && !fails;
    if parts && options.property != Question::Errors {
        return Ok(None);
    }
    let dies = |error: &WeakError| matches!(&error.kind, ErrorKind::Fault { why, .. } if why.kind == FaultKind::Death);
    if explored.seen.weak_errors.iter().any(dies) {
        return Ok(None);
    }
    before.push(explored.clone());
    concluded(subject, report, options, &explored, &pairs, (stopped, began.elapsed().as_secs_f64())).map(Some)
}

/// What the executions that were explored show.
fn concluded<S: Subject>(
    subject: &mut S,
    report: &VerifyReport,
    options: &VerifyOptions,
    explored: &Checkpoint,
    pairs: &[Vec<Pair>],
    (stopped, seconds): (Option<&str>, f64),
) -> Result<Consequence, Failure> {
    let counts = explored.counts();
    let mut weak = WeakRef {
        executions: counts.executions,
        not_sc: counts.not_sc,
        blocked: counts.blocked + counts.dropped,
        complete: explored.search.is_complete(),
        incomplete: None,
        seconds,
    };
    let mut failures = Vec::new();
    let mut why = stopped.map(str::to_owned);
    let tells = |error: &&WeakError| !error.kind.is_limit();
    let mut errors: Vec<&WeakError> = explored.seen.weak_errors.iter().filter(tells).collect();
    // Threads that wait may have been released unseen, and there may be fences.
    let hidden = |note: &NoteRef| matches!(note.kind, NoteKind::Assembly | NoteKind::Opaque | NoteKind::Memory);
    if report.notes.iter().any(hidden) && errors.iter().any(|error| waits_forever(error)) {
        errors.retain(|error| !waits_forever(error));
        why = Some("threads may wait forever, unless code that is not seen releases them".into());
    }
    errors.sort_by_key(|error| waits_forever(error));
    let mut told = Vec::new();
    for error in errors {
        match failure(subject, report, error)? {
            Ok(failure) => {
                failures.push(failure);
                told.push(error);
            }
            Err(refused) => why = Some(refused),
        }
    }
    if let Some(limit) = explored.seen.weak_limit()
        && let ErrorKind::Fault { why: fault, .. } = &limit.kind
    {
        why = Some(format!("a thread {}", fault.message));
    }
    if explored.counts().cut > 0 {
        why = why.or(Some(format!("threads made more than {} accesses (--max-steps)", options.max_steps)));
    }
    weak.complete &= explored.counts().cut == 0 && explored.seen.weak_limit().is_none();
    // Of the executions that end in one state, one is known where bytes are told apart.
    let all = told.is_empty() || !matches!(explored.settings.strategy, Strategy::Graphs { bytes: true, .. });
    let harms = harms(pairs, &told, weak.complete && why.is_none() && all);
    if counts.executions == 0 {
        why = why.or(Some("no execution of the model ends".into()));
    }
    let outcome = if !failures.is_empty() {
        Outcome::Fails(failures)
    } else if weak.complete && why.is_none() {
        Outcome::NothingFails
    } else {
        weak.complete = false;
        let why = why.unwrap_or_else(|| "not all of them were explored".into());
        weak.incomplete = Some(why.clone());
        Outcome::Unknown { why }
    };
    let asked = match &explored.seen.weak_asked {
        Some(asked) => confirmed(subject, report.model.into(), &asked.schedule, Ending::Complete)?.is_ok(),
        None => false,
    };
    let asked = explored.seen.weak_asked.as_ref().filter(|_| asked).map(|asked| asked.schedule.to_string());
    Ok(Consequence { weak, outcome, harms, asked })
}

fn waits_forever(error: &WeakError) -> bool {
    matches!(error.kind, ErrorKind::Deadlock { .. })
}

/// Runs an execution again, and has it confirmed by separate code; or says why it is not.
fn confirmed<S: Subject>(
    subject: &mut S,
    model: GraphModel,
    schedule: &WeakSchedule,
    ending: Ending<'_>,
) -> Result<Result<Run<S::Detail>, String>, Failure> {
    let steps = &schedule.0;
    let run = subject.weak_trace(steps)?;
    if run.steps.len() < steps.len() {
        return Ok(Err(format!("an execution ({schedule}) could not be run again")));
    }
    Ok(match subject.confirms_weak(model, steps, &run.steps, ending) {
        Ok(_) => Ok(run),
        Err(refused) => Err(format!("an execution ({schedule}) could not be confirmed: {refused}")),
    })
}

/// An access and the store that it misses, as instructions.
type Pair = (u32, u32);

/// The pairs of instructions that a violation is about.
fn pairs(violation: &ViolationRef, model: ProgramModel, checkpoint: &Checkpoint) -> Vec<Pair> {
    let schedules: Vec<&String> =
        std::iter::once(&violation.schedule).chain(violation.also.iter().map(|end| &end.schedule)).collect();
    let found = checkpoint.seen.violations.iter().filter(|found| found.model == model);
    found
        .filter(|found| schedules.contains(&&found.schedule.to_string()))
        .map(|found| (found.access_site, found.store_site))
        .collect()
}

/// Whether an error rests on one of these pairs.
fn rests_on(error: &WeakError, pairs: &[Pair]) -> bool {
    error.rests.iter().flatten().any(|pair| pairs.contains(pair))
}

/// Of each violation the failures that follow from it.
fn harms(violations: &[Vec<Pair>], failures: &[&WeakError], complete: bool) -> Vec<Harm> {
    // More sets than are kept, or none: what a failure rests on is not known for certain.
    let known = failures.iter().all(|error| error.rests.len() < MAX_RESTS && !error.rests.iter().any(Vec::is_empty));
    let harm = |pairs: &Vec<Pair>| {
        let follow: Vec<usize> = (0..failures.len()).filter(|&i| rests_on(failures[i], pairs)).collect();
        match follow.is_empty() {
            false => Harm::Failures(follow),
            true if complete && known && !pairs.is_empty() => Harm::None,
            true => Harm::Unknown,
        }
    };
    violations.iter().map(harm).collect()
}

fn now(name: &str, round: &Round<'_>, model: ProgramModel, seconds: f64) -> Now {
    let counts = round.search.counts();
    let executions = count(counts.executions as usize, &format!("execution of {}", model.name()));
    let counts = format!("{executions}, {} not SC, {:.0}/s", counts.not_sc, counts.runs() as f64 / seconds);
    Now { name: name.to_owned(), share: None, seconds, limit: None, counts }
}

/// An execution that fails, in words; or why it is not told.
fn failure<S: Subject>(
    subject: &mut S,
    report: &VerifyReport,
    error: &WeakError,
) -> Result<Result<FailureRef, String>, Failure> {
    let model = report.model;
    let ending = match &error.kind {
        ErrorKind::Fault { thread, .. } => Ending::Stops(*thread),
        ErrorKind::Condition => Ending::Complete,
        ErrorKind::Deadlock { threads } => Ending::Waits(threads),
        ErrorKind::Livelock | ErrorKind::Race { .. } => Ending::Open,
    };
    let run = match confirmed(subject, model.into(), &error.schedule, ending)? {
        Ok(run) => run,
        Err(why) => return Ok(Err(why)),
    };
    let steps = &error.schedule.0;
    let Some(ran) = weak_run(model.into(), steps, &run.steps) else {
        return Ok(Err(format!("an execution that fails ({}) could not be put in order", error.schedule)));
    };
    let mut told = subject.weak_error(error, &run);
    let mut raced = [None; 2];
    if let ErrorKind::Race { sites } = error.kind {
        let racing = |site: u32| run.steps.iter().rposition(|step| step.access.site == site);
        let stacks = [sites.0, sites.1]
            .map(|site| racing(site).map_or(Vec::new(), |at| subject.stack(&run, &Event::new(at, &run.steps[at]))));
        [told.stack, told.other] = stacks;
        raced = [sites.0, sites.1].map(racing);
    }
    // The order in which threads make their steps, and where each is in it.
    let order: Vec<usize> =
        ran.run.iter().filter_map(|step| if let RunStep::Issue(i) = step { Some(*i) } else { None }).collect();
    let mut place = vec![0; run.steps.len()];
    order.iter().enumerate().for_each(|(at, &step)| place[step] = at);
    let events: Vec<Event> = run.steps.iter().enumerate().map(|(at, made)| Event::new(at, made)).collect();
    let accesses: Vec<AccessRef> = events.iter().map(|event| subject.access(&run, event)).collect();
    if let [Some(one), Some(other)] = raced {
        let mut racing = [accesses[one].clone(), accesses[other].clone()];
        tell_columns(racing.iter_mut().collect());
        let does = |access: &AccessRef, i: usize| {
            let does = if run.steps[i].writes { "writes" } else { "reads" };
            format!("{} {does} it at {}", access.thread_name, race::place(access))
        };
        told.message = format!(
            "data race on `{}`: {}, and {}, with nothing to order them",
            accesses[one].address,
            does(&racing[0], one),
            does(&racing[1], other)
        );
    }
    let step = |(at, &i): (usize, &usize)| WeakStepRef {
        seen: seen(&ran, &run.steps[i], i, at, model),
        reads_from: ran.sources[i].map(|source| place[source]),
        misses: ran.misses[i].filter(|_| run.steps[i].access.kind.reads()).map(|missed| place[missed]),
        ..WeakStepRef::new(at, accesses[i].clone())
    };
    let told_steps: Vec<WeakStepRef> = order.iter().enumerate().map(step).collect();
    let violation = violation(report, &ran, &accesses);
    let synchronises = |i: usize| {
        let source = ran.sources[i]?;
        let (write, read) = (&run.steps[source], &run.steps[i]);
        let ordered = write.order().releases() && read.order().acquires() && write.thread != read.thread;
        ordered.then_some((place[source], place[i]))
    };
    let hb =
        if model == ProgramModel::C11 { (0..run.steps.len()).filter_map(synchronises).collect() } else { Vec::new() };
    Ok(Ok(FailureRef {
        error: told,
        model,
        violation,
        steps: told_steps,
        initial: initial(subject, &run, &events),
        hb,
        certified: true,
    }))
}

/// The step after which others see a store.
fn seen(ran: &WeakRun, made: &Performed, i: usize, at: usize, model: ProgramModel) -> Option<usize> {
    if !made.writes {
        return None;
    }
    if model == ProgramModel::C11 {
        return None;
    }
    let Some(delay) = ran.delays.iter().find(|delay| delay.store == i) else { return Some(at) };
    let is_issue = |step: &&RunStep| matches!(step, RunStep::Issue(_));
    let before = ran.run[..delay.committed].iter().filter(is_issue).count();
    let all = ran.run.iter().filter(is_issue).count();
    (before < all).then_some(before - 1)
}

/// The violation that an execution rests on: one of its steps misses a store as the access of the violation does.
fn violation(report: &VerifyReport, ran: &WeakRun, accesses: &[AccessRef]) -> Option<usize> {
    let missed: Vec<(usize, usize)> = (0..accesses.len()).filter_map(|i| Some((i, ran.misses[i]?))).collect();
    let rests = |both: bool| {
        report.violations.iter().position(|violation| {
            missed.iter().any(|&(i, store)| {
                violation.access.is_at(&accesses[i]) && (!both || violation.store.is_at(&accesses[store]))
            })
        })
    };
    rests(true).or_else(|| rests(false)).or_else(|| (!report.violations.is_empty()).then_some(0))
}
