//! Which fences make a program safe.
//!
//! Fences of all violations are put in, and of those that are left then, until there are none; then each is tried without,
//! or weaker. Then they are written into a copy of the source, which is built and verified, until a way to write them is found
//! that makes the program safe. Every try is a whole verification, so the result is as sure as any verdict.

use super::explain::case;
use super::watchdog::Watchdog;
use crate::Now;
use crate::core::{Barrier, Relaxation, Remedy};
use crate::explore::Strategy;
use crate::programs::{Subject, Unedited};
use crate::report::verify::{AccessRef, FenceRef, edits, proposals};
use crate::verify::{Checkpoint, Effort, Seen, Settings, Watching};
use crate::{Interrupt, Listener};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time to look for them, and to try them in the source.
pub const PLANNING: Duration = Duration::from_secs(5);
pub const TRYING: Duration = Duration::from_secs(20);

/// Fences by where they are ([`Subject::spot`]): how strong, after what, and before what they are needed.
type Plan = BTreeMap<u32, (Barrier, AccessRef, AccessRef)>;

/// Why no fix is suggested, and what must be ordered.
pub struct Unfixed {
    /// Why.
    pub why: String,
    /// In words; empty if it is not known.
    pub needs: Vec<String>,
}

/// Fences that make the program safe, with the edits that were tried.
pub fn plan<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    machine: Relaxation,
    limit: Option<Instant>,
    interrupt: &Interrupt,
    line: &dyn Listener,
) -> Result<Vec<FenceRef>, Unfixed> {
    let deadline = |time: Duration| limit.map_or(Instant::now() + time, |limit| limit.min(Instant::now() + time));
    let found = search(subject, checkpoint, machine, deadline(PLANNING), interrupt, line);
    let unfixed = |why: &str, needs| Err(Unfixed { why: why.into(), needs });
    let Some(fences) = found else { return unfixed("there was no time to look for fences", Vec::new()) };
    let mut needs: Vec<String> = fences.iter().map(|fence| fence.order.clone()).collect();
    needs.dedup();
    let proposals = proposals(&fences, &crate::source);
    let is_fine = |seen: &Seen| seen.violations.is_empty();
    tried(subject, checkpoint, (&proposals, is_fine), needs, deadline(TRYING), interrupt, line)
}

/// Whether nothing is left that a fix is for.
type IsFine = fn(&Seen) -> bool;

/// The first of these proposals with which the program is built and found safe.
pub fn tried<S: Subject>(
    subject: &S,
    checkpoint: &Checkpoint,
    (proposals, is_fine): (&[Vec<FenceRef>], IsFine),
    needs: Vec<String>,
    trying: Instant,
    interrupt: &Interrupt,
    line: &dyn Listener,
) -> Result<Vec<FenceRef>, Unfixed> {
    let unfixed = |why: &str, needs| Err(Unfixed { why: why.into(), needs });
    let began = Instant::now();
    let settings = Settings { strategy: Strategy::Dpor, watching: Watching::Class, ..checkpoint.settings };
    for proposal in proposals {
        // A build takes as long as the one before, about.
        if Instant::now() >= trying || interrupt.pressed() {
            return unfixed("there was no time to try a fix in the source", needs);
        }
        let mut edited = match subject.edited(&edits(proposal)) {
            Ok(edited) => edited,
            Err(Unedited::NotThis) => continue,
            Err(Unedited::Never(why)) => return unfixed(&why, needs),
        };
        let watchdog = Watchdog::new(Some(trying), interrupt);
        let result = edited.explore(Checkpoint::new(settings), Effort::default(), &[], &watchdog.stop, &mut |round| {
            line.progress(&|| now(subject.name(), began, TRYING, "trying a fix in the source"));
            is_fine(round.seen) && Instant::now() < trying && !interrupt.pressed()
        });
        if result.is_ok_and(|result| result.is_complete() && is_fine(&result.seen)) {
            return Ok(proposal.clone());
        }
    }
    unfixed("no edit of the source that was tried does that", needs)
}

pub fn now(name: &str, began: Instant, limit: Duration, what: &str) -> Now {
    Now {
        name: name.to_owned(),
        share: None,
        seconds: began.elapsed().as_secs_f64(),
        limit: Some(limit.as_secs_f64()),
        counts: what.into(),
    }
}

/// Fences that make the program safe, none of which can be left out or made weaker. `None` if they are not found in time.
fn search<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    model: Relaxation,
    deadline: Instant,
    interrupt: &Interrupt,
    line: &dyn Listener,
) -> Option<Vec<FenceRef>> {
    let (began, name) = (Instant::now(), subject.name().to_owned());
    let settings = Settings { strategy: Strategy::Dpor, watching: Watching::Class, ..checkpoint.settings };
    let check = |subject: &mut S, plan: &Plan| -> Option<Checkpoint> {
        let barriers: Vec<(u32, Remedy)> =
            plan.iter().map(|(site, (barrier, ..))| (*site, Remedy::Barrier(*barrier))).collect();
        let watchdog = Watchdog::new(Some(deadline), interrupt);
        let over = || Instant::now() >= deadline || interrupt.pressed();
        let result =
            subject.explore(Checkpoint::new(settings), Effort::default(), &barriers, &watchdog.stop, &mut |round| {
                let enough = !round.seen.violations.is_empty() && round.search.counts().executions > 10_000;
                line.progress(&|| now(&name, began, PLANNING, "looking for fences that make it safe"));
                !over() && !enough
            });
        result.ok().filter(|_| !over())
    };
    let mut plan = Plan::new();
    let mut seen = checkpoint.seen.clone();
    while !seen.violations.is_empty() {
        for found in &seen.violations {
            let case = case(subject, found).ok()??;
            for fence in &case.explanation.fences {
                let event = |i: usize| &case.explanation.events[i];
                let (after, before) = (subject.access(&case.run, event(fence.after)), event(fence.before));
                let before = subject.access(&case.run, before);
                let sites = (event(fence.after).access.site, event(fence.before).access.site);
                let spot = subject.spot(fence.barrier, sites.0, sites.1);
                let known = plan.entry(spot).or_insert((fence.barrier, after, before));
                known.0 = known.0.max(fence.barrier);
            }
        }
        seen = check(subject, &plan)?.seen;
    }
    let mut works =
        |plan: &Plan| check(subject, plan).map(|result| result.is_complete() && result.seen.violations.is_empty());
    for site in plan.keys().copied().collect::<Vec<_>>() {
        let whole = plan.clone();
        plan.remove(&site);
        if works(&plan)? {
            continue;
        }
        plan = whole;
        if plan[&site].0 == Barrier::Full && model == Relaxation::Pso {
            plan.entry(site).and_modify(|entry| entry.0 = Barrier::Store);
            if !works(&plan)? {
                plan.entry(site).and_modify(|entry| entry.0 = Barrier::Full);
            }
        }
    }
    Some(plan.values().map(|(barrier, after, before)| subject.fence(*barrier, after, before)).collect())
}
