//! What the executions of the model itself do, for a program that is not robust.
//!
//! They are explored until one fails or all are seen, for as long as there is time. Where there are several violations, some more are explored
//! after the first failure: a violation harms if a failing execution rests on it. An execution may have other stale reads, which have nothing to
//! do with the failure; so of the executions that fail in one way, those count that rest on as little as possible. An execution that fails is run again, confirmed by
//! separate code, and told step by step: on a machine with store buffers in the order in which that makes its steps, under C11 in an
//! order in which each read comes after what it reads.

use super::watchdog::Watchdog;
use super::{INTERRUPTED, VerifyOptions, initial};
use crate::certify::weak::Ending;
use crate::core::{Claim, GraphModel, Performed, ProgramModel};
use crate::explore::{FaultKind, Strategy};
use crate::programs::{Round, Subject};
use crate::report::count;
use crate::report::verify::{
    AccessRef, Consequence, FailureRef, Harm, Outcome, Question, VerifyReport, ViolationRef, WeakRef, WeakStepRef,
};
use crate::verify::{
    Checkpoint, Effort, ErrorKind, Event, MAX_RESTS, RunStep, Settings, Watching, WeakError, WeakRun, weak_run,
};
use crate::{Failure, Listener, Now};
use std::time::{Duration, Instant};

/// How long the executions of a model are explored if no time is given.
const TIME: Duration = Duration::from_secs(20);

/// How many executions to look at after the first that fails, to see what other violations lead to.
const MORE: u64 = 5_000;

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
    // Execution graphs have whole addresses.
    if subject.has_parts() && options.property != Question::Errors {
        return Ok(None);
    }
    let races = checkpoint.settings.looks_for_races();
    let settings = Settings {
        models: model.into(),
        races: checkpoint.settings.races,
        strategy: Strategy::Graphs { model: model.into(), races },
        watching: Watching::Nothing,
        max_steps: options.max_steps,
    };
    let effort = Effort {
        jobs: options.jobs,
        max_executions: options.max_executions.unwrap_or(u64::MAX),
        stop_at_first: report.violations.len() < 2,
        widen: false,
    };
    let mut first = None;
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
                executions >= *first.get_or_insert(executions) + MORE
            } =>
            {
                Some("an error was found")
            }
            // Threads that wait forever; an assertion that fails would say more.
            () if !round.seen.weak_errors.is_empty() && began.elapsed() > LOOKING => Some("an error was found"),
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
    let dies = |error: &WeakError| matches!(&error.kind, ErrorKind::Fault { why, .. } if why.kind == FaultKind::Death);
    if explored.seen.weak_errors.iter().any(dies) {
        return Ok(None);
    }
    before.push(explored.clone());
    let counts = explored.counts();
    let mut weak = WeakRef {
        executions: counts.executions,
        not_sc: counts.not_sc,
        blocked: counts.blocked + counts.dropped,
        complete: explored.search.is_complete(),
        incomplete: None,
        seconds: began.elapsed().as_secs_f64(),
    };
    let mut failures = Vec::new();
    let mut why = stopped.map(str::to_owned);
    let mut errors: Vec<&WeakError> = explored.seen.weak_errors.iter().filter(|error| !error.kind.is_limit()).collect();
    errors.sort_by_key(|error| matches!(error.kind, ErrorKind::Deadlock { .. }));
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
    let harms = harms(report, checkpoint, &told, weak.complete && why.is_none());
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
    Ok(Some(Consequence { weak, outcome, harms }))
}

/// Of each violation the failures that follow from it.
fn harms(report: &VerifyReport, checkpoint: &Checkpoint, failures: &[&WeakError], complete: bool) -> Vec<Harm> {
    // More sets than are kept, or none: what a failure rests on is not known for certain.
    let known = failures.iter().all(|error| error.rests.len() < MAX_RESTS && !error.rests.iter().any(Vec::is_empty));
    let harm = |violation: &ViolationRef| {
        let schedules: Vec<&String> =
            std::iter::once(&violation.schedule).chain(violation.also.iter().map(|end| &end.schedule)).collect();
        let found = checkpoint.seen.violations.iter().filter(|found| found.model == report.model);
        let pairs: Vec<(u32, u32)> = found
            .filter(|found| schedules.contains(&&found.schedule.to_string()))
            .map(|found| (found.access_site, found.store_site))
            .collect();
        let rests = |error: &WeakError| error.rests.iter().flatten().any(|pair| pairs.contains(pair));
        let follow: Vec<usize> = (0..failures.len()).filter(|&i| rests(failures[i])).collect();
        match follow.is_empty() {
            false => Harm::Failures(follow),
            true if complete && known && !pairs.is_empty() => Harm::None,
            true => Harm::Unknown,
        }
    };
    report.violations.iter().map(harm).collect()
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
    let steps = &error.schedule.0;
    let run = subject.weak_trace(steps)?;
    if run.steps.len() < steps.len() {
        return Ok(Err(format!("an execution that fails ({}) could not be run again", error.schedule)));
    }
    let claim = |made: &Performed| Claim {
        thread: made.thread,
        site: made.access.site,
        read: made.access.kind.reads().then_some(made.old),
    };
    let claims: Vec<Claim> = run.steps.iter().map(claim).collect();
    let ending = match &error.kind {
        ErrorKind::Fault { thread, .. } => Ending::Stops(*thread),
        // A thread that waits in a loop has an access to make, of which the certifier does not know that it is in vain.
        ErrorKind::Deadlock { .. } | ErrorKind::Livelock | ErrorKind::Race { .. } => Ending::Open,
    };
    if let Err(refused) = subject.confirms_weak(GraphModel::from(model), steps, &claims, ending) {
        return Ok(Err(format!("an execution that fails ({}) could not be confirmed: {refused}", error.schedule)));
    }
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
        let does = |i: usize| {
            let AccessRef { thread_name, file, line, .. } = &accesses[i];
            let does = if run.steps[i].writes { "writes" } else { "reads" };
            format!("{thread_name} {does} it at {file}:{line}")
        };
        told.message = format!(
            "data race on `{}`: {}, and {}, with nothing to order them",
            accesses[one].address,
            does(one),
            does(other)
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
    let same = |one: &AccessRef, other: &AccessRef| {
        (&one.file, one.line, one.column) == (&other.file, other.line, other.column)
    };
    let missed: Vec<(usize, usize)> = (0..accesses.len()).filter_map(|i| Some((i, ran.misses[i]?))).collect();
    let rests = |both: bool| {
        report.violations.iter().position(|violation| {
            missed.iter().any(|&(i, store)| {
                same(&violation.access, &accesses[i]) && (!both || same(&violation.store, &accesses[store]))
            })
        })
    };
    rests(true).or_else(|| rests(false)).or_else(|| (!report.violations.is_empty()).then_some(0))
}
