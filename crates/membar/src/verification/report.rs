//! From an exploration to its report: the verdict, what it rests on, and what was found in words.

use super::{allow, condition, explain, race, size};
use crate::Failure;
use crate::certify::rc11;
use crate::core::ProgramModel;
use crate::explore::{SearchState, Strategy};
use crate::programs::{About, Subject};
use crate::report::count;
use crate::report::kinds::{ErrorKind, MonitorName, NoteKind, Property, Unit};
use crate::report::verify::{ErrorRef, NoteRef, Unseen, VerifyReport, unseen};
use crate::verify::{Checkpoint, ErrorKind as FoundKind, Settings, Verdict, Watching};
use std::time::Instant;

/// The unit that an explored execution stands for.
pub fn unit(strategy: Strategy) -> Unit {
    if strategy.is_dpor() { Unit::Class } else { Unit::Interleaving }
}

/// How many there are in all, with what the guess may be off by. Nothing where nobody knows.
pub fn total(search: &SearchState, unit: Unit) -> Option<String> {
    // A guess that has turned out to be too low is none.
    let (total, off) = search.estimate().total().filter(|(total, _)| *total > search.counts().runs() as f64)?;
    // Two digits are more than it is worth.
    let digits = total.max(1.0).log10().floor() as i32 - 1;
    let (total, off) = ((total / 10f64.powi(digits.max(0))).round() * 10f64.powi(digits.max(0)), (100.0 * off).ceil());
    Some(format!("about {} in all (± {off} %)", count(total as usize, unit.name())))
}

/// Why an exploration does not show everything, and what would.
struct Incomplete {
    why: Option<String>,
    advice: Option<String>,
}

fn incomplete<S: Subject>(subject: &mut S, checkpoint: &Checkpoint, stopped: Option<&str>) -> Incomplete {
    let Settings { strategy, watching, .. } = checkpoint.settings;
    let mut advice = None;
    let limit = checkpoint.seen.limit().and_then(|error| subject.limit(error));
    let why = match stopped {
        _ if limit.is_some() => limit.map(|limit| {
            advice = Some(limit.help);
            limit.message
        }),
        Some(why) => Some(match checkpoint.search.share() {
            Some(share) => format!("{why}; by a rough guess {:.1} % were explored", 100.0 * share),
            None => {
                let branches = count(checkpoint.search.branches_left(), "branch");
                match total(&checkpoint.search, unit(strategy)) {
                    Some(total) => format!("{why}; by a rough guess there are {total}"),
                    None => format!("{why}; {branches} known to be left, of unknown size"),
                }
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
    Incomplete { why, advice }
}

/// The program errors that were found, and how many could not be explained in time.
fn errors<S: Subject>(subject: &mut S, checkpoint: &Checkpoint) -> Result<(Vec<ErrorRef>, usize), Failure> {
    let (mut errors, mut unexplained) = (Vec::new(), 0);
    for error in checkpoint.seen.errors.iter().filter(|error| !error.kind.is_limit()) {
        let told = match error.kind {
            FoundKind::Race { .. } => race::told(subject, error),
            _ => subject.error(error),
        };
        match told {
            Ok(error) => errors.push(error),
            Err(Failure::Late) => unexplained += 1,
            Err(failure) => return Err(failure),
        }
    }
    // Others say more.
    errors.sort_by_key(|error| error.kind == ErrorKind::Race);
    Ok((errors, unexplained))
}

/// The same reason, with findings for whose explanation there was no time, and violations whose executions are too long.
fn with_unexplained(incomplete: Option<String>, late: usize, long: usize) -> Option<String> {
    let incomplete = match late {
        0 => incomplete,
        n => {
            let why = incomplete.unwrap_or_else(|| "the time limit was reached (--time)".into());
            Some(format!("{why}; {} could not be explained in time", count(n, "finding")))
        }
    };
    match long {
        0 => incomplete,
        n => {
            let more = format!(
                "{} in executions of more than {} accesses could not be confirmed: a test with fewer rounds can be",
                count(n, "violation"),
                rc11::MOST
            );
            Some(incomplete.map_or(more.clone(), |why| format!("{why}; {more}")))
        }
    }
}

/// What is left of the findings once they are in words.
struct Left {
    errors: bool,
    violations: bool,
    /// Some violations are not allowed.
    counts: bool,
}

/// The verdict of an exploration, given what is left of its findings. `is_all`: all was explored, and all that was found was explained.
fn verdict(explored: Verdict, left: Left, is_all: bool, bytes: bool) -> Verdict {
    match explored {
        // Of what was found nothing may be left.
        Verdict::Error if left.errors => Verdict::Error,
        Verdict::Error | Verdict::Unsafe if left.counts => Verdict::Unsafe,
        // All of them are allowed.
        Verdict::Unsafe if left.errors => Verdict::Error,
        Verdict::Unsafe if left.violations && is_all => Verdict::Safe,
        // They need words to be one location; if their bytes are, there are none (`membar-monitor/src/c11/mixed.rs`).
        Verdict::Unsafe if bytes && is_all => Verdict::Safe,
        Verdict::Error | Verdict::Unsafe => Verdict::Undecided,
        verdict => verdict,
    }
}

/// The report on an exploration, complete or not.
pub fn report<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    model: ProgramModel,
    about: About,
    seconds: f64,
    (stopped, allows): (Option<&str>, &[allow::AllowLine]),
    until: Option<Instant>,
) -> Result<VerifyReport, Failure> {
    let Settings { strategy, watching, .. } = checkpoint.settings;
    let Incomplete { why: incomplete, mut advice } = incomplete(subject, checkpoint, stopped);
    let (mut errors, mut unexplained) = errors(subject, checkpoint)?;
    let explain::Explained { mut violations, left, long, apart } =
        explain::violations(subject, &checkpoint.seen.violations, model, until)?;
    unexplained += left;
    allow::mark(&mut violations, allows);
    let mut counts = violations.iter().any(|violation| violation.allowed.is_empty());
    let incomplete = with_unexplained(incomplete, unexplained, long);
    unexplained += long;
    let bytes = model == ProgramModel::C11 && subject.has_parts();
    let is_all = checkpoint.is_complete() && unexplained == 0;
    let left = Left { errors: !errors.is_empty(), violations: !violations.is_empty(), counts };
    let mut verdict = verdict(checkpoint.verdict(), left, is_all, bytes);
    let About { compiler, mut notes, statistics, command, symmetric } = about;
    // It matters to who relies on the rest; whether violations harm is not known yet.
    notes.retain(|note| note.kind != NoteKind::Untried || verdict == Verdict::Safe || !violations.is_empty());
    // A thread that stopped at something that is not run may have created others.
    let limited = checkpoint.seen.errors.iter().any(|error| error.kind.is_limit());
    if subject.is_alone() && !limited && matches!(verdict, Verdict::Safe | Verdict::Undecided) {
        let message = "it has only one thread: there was nothing to interleave".into();
        notes.push(NoteRef { kind: NoteKind::Untried, message, file: None, line: None });
    }
    // More was explored than the program can do: that it is safe is right.
    let intruded = notes.iter().any(|note| note.kind == NoteKind::Sections);
    if intruded && matches!(verdict, Verdict::Error | Verdict::Unsafe) {
        verdict = Verdict::Undecided;
        errors.clear();
        violations.clear();
        counts = false;
    } else {
        notes.retain(|note| note.kind != NoteKind::Sections);
    }
    if violations.is_empty() {
        notes.extend(apart.into_iter().filter(|_| !bytes));
        notes.extend(checkpoint.seen.unclear.iter().map(|&(store, access)| subject.apart(store, access)));
    }
    // Threads that wait may have been released unseen.
    let hidden = |note: &NoteRef| matches!(note.kind, NoteKind::Assembly | NoteKind::Opaque | NoteKind::Memory);
    let hung = |error: &ErrorRef| matches!(error.kind, ErrorKind::Deadlock | ErrorKind::Livelock);
    if notes.iter().any(hidden) && !counts && !errors.is_empty() && errors.iter().all(hung) {
        errors.clear();
    }
    // Unseen code may be what breaks it.
    let clean = !counts && errors.is_empty();
    let unseen = unseen(&notes).filter(|_| verdict == Verdict::Safe || clean);
    if let Some(Unseen { advice: Some(what), .. }) = &unseen {
        advice.get_or_insert_with(|| (*what).into());
    }
    let made = checkpoint.counts();
    let vacuous = made.executions == 0 && verdict == Verdict::Safe;
    let nothing = || match made.dropped {
        0 => "no execution ends: some threads wait for each other in loops".to_owned(),
        _ => "its assumptions hold in no execution".to_owned(),
    };
    let incomplete =
        incomplete.or_else(|| vacuous.then(nothing)).or_else(|| unseen.as_ref().map(|unseen| unseen.why.clone()));
    let mut report = VerifyReport {
        program: subject.name().into(),
        main: subject.file().into(),
        model,
        races: checkpoint.settings.looks_for_races(),
        verdict: match verdict {
            _ if unseen.is_some() || vacuous => Verdict::Undecided,
            verdict => verdict,
        },
        complete: checkpoint.is_complete() && incomplete.is_none(),
        strategy: strategy_name(checkpoint),
        monitor: monitor_name(watching),
        unit: unit(strategy),
        interleavings: checkpoint.counts().executions,
        blocked: checkpoint.counts().blocked,
        symmetric: symmetric && strategy.is_dpor(),
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
        property: Property::Robust,
        checks: subject.checks(),
        condition: condition::under_sc(subject, checkpoint),
        weak: None,
        failures: Vec::new(),
    };
    report.look_at_columns();
    Ok(report)
}

/// The strategy, and how far it went.
fn strategy_name(checkpoint: &Checkpoint) -> String {
    let name = match checkpoint.settings.strategy {
        Strategy::Graphs { model, bytes: true, .. } => format!("states of {}", model.name()),
        Strategy::Graphs { model, .. } => format!("graphs of {}", model.name()),
        Strategy::Exhaustive => "exhaustive".into(),
        Strategy::Bounded { .. } => match checkpoint.search.preemptions_done() {
            Some(done) => format!("bounded, all with up to {}", count(done as usize, "preemption")),
            None => "bounded".into(),
        },
        Strategy::Dpor => "dpor".into(),
        Strategy::Strict => "dpor, strict".into(),
        Strategy::Random { seed, .. } => format!("random, seed {seed}"),
        Strategy::Pct { seed, depth, .. } => format!("pct, depth {depth}, seed {seed}"),
    };
    match checkpoint.counts().dropped {
        0 => name,
        dropped => format!("{name}, without {dropped} in which an assumption fails"),
    }
}

fn monitor_name(watching: Watching) -> MonitorName {
    match watching {
        Watching::Nothing => MonitorName::None,
        Watching::Class => MonitorName::Class,
        Watching::Tso => MonitorName::Tso,
        Watching::Pso => MonitorName::Pso,
        Watching::Sober => MonitorName::Sober,
        Watching::SoberFixed => MonitorName::SoberFixed,
    }
}
