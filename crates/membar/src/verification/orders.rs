//! Which memory orders make a program safe under C11.
//!
//! The orders that each violation and each race needs are put in, and of those that are left then, until there are none. Then each is tried without, and
//! weaker: relaxed before acquire and release, those before acq_rel, that before seq_cst. What is left is minimal: nothing can be
//! dropped or weakened. Then the orders are written into a copy of the source, which is built and verified. Every try is a whole
//! verification.

use super::explain::{case, needed};
use super::plan::{PLANNING, TRYING, Unfixed, now, tried};
use super::watchdog::Watchdog;
use crate::core::{AccessKind, Order, Remedy};
use crate::explore::Strategy;
use crate::programs::Subject;
use crate::report::verify::{AccessRef, FenceRef, reordered};
use crate::verify::{Checkpoint, Effort, ErrorKind, Event, ProgramError, Seen, Settings, Watching, race};
use crate::{Interrupt, Listener};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The orders of instructions, with one of their accesses.
type Plan = BTreeMap<u32, (Order, Event, AccessRef)>;

/// Memory orders that make the program safe, with the edits that were tried.
pub fn plan<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    limit: Option<Instant>,
    interrupt: &Interrupt,
    line: &dyn Listener,
) -> Result<Vec<FenceRef>, Unfixed> {
    let deadline = |time: Duration| limit.map_or(Instant::now() + time, |limit| limit.min(Instant::now() + time));
    let unfixed = |why: &str, needs| Err(Unfixed { why: why.into(), needs });
    let found = match search(subject, checkpoint, deadline(PLANNING), interrupt, line) {
        Ok(plan) => plan,
        Err(why) => return unfixed(why, Vec::new()),
    };
    let mut orders: Vec<FenceRef> = Vec::new();
    for (order, event, access) in found.values() {
        let order = needed(event, access, *order);
        // A compiler may have copied the instruction.
        let same = |known: &FenceRef| {
            (&known.file, known.after_line, known.after_column, &known.fence)
                == (&order.file, order.after_line, order.after_column, &order.fence)
        };
        if !orders.iter().any(same) {
            orders.push(order);
        }
    }
    let needs: Vec<String> = orders.iter().map(|order| order.order.clone()).collect();
    match &reordered(&orders, &crate::source)[..] {
        [] => unfixed("the order is not written there in a way that can be edited", needs),
        proposals => tried(subject, checkpoint, (proposals, is_fine), needs, deadline(TRYING), interrupt, line),
    }
}

/// Orders that make the program safe, none of which can be left out or made weaker; otherwise why there are none.
fn search<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    deadline: Instant,
    interrupt: &Interrupt,
    line: &dyn Listener,
) -> Result<Plan, &'static str> {
    const LATE: &str = "there was no time to look for memory orders";
    const NONE: &str = "memory orders alone do not do it";
    const RACES: &str = "no memory order keeps all of the accesses that race apart";
    let (began, name) = (Instant::now(), subject.name().to_owned());
    let settings = Settings { strategy: Strategy::Dpor, watching: Watching::Class, ..checkpoint.settings };
    let check = |subject: &mut S, plan: &Plan| -> Option<Checkpoint> {
        let remedies: Vec<(u32, Remedy)> =
            plan.iter().map(|(&site, &(order, ..))| (site, Remedy::Order(order))).collect();
        let watchdog = Watchdog::new(Some(deadline), interrupt);
        let over = || Instant::now() >= deadline || interrupt.pressed();
        let result =
            subject.explore(Checkpoint::new(settings), Effort::default(), &remedies, &watchdog.stop, &mut |round| {
                let enough = !is_fine(round.seen) && round.search.counts().executions > 10_000;
                line.progress(&|| now(&name, began, PLANNING, "looking for memory orders that make it safe"));
                !over() && !enough
            });
        result.ok().filter(|_| !over())
    };
    let mut plan = Plan::new();
    let mut seen = checkpoint.seen.clone();
    while !is_fine(&seen) {
        let before: Vec<(u32, Order)> = plan.iter().map(|(&site, &(order, ..))| (site, order)).collect();
        for error in &seen.errors {
            let ErrorKind::Race { sites } = error.kind else { continue };
            let run = subject.trace(&error.schedule.0).map_err(|_| LATE)?;
            let raced = race(&run.steps, sites).ok_or(RACES)?;
            if raced.missing.is_empty() {
                return Err(RACES);
            }
            for (step, order) in raced.missing {
                let event = Event::new(step, &run.steps[step]);
                if !event.access.c11.is_fresh() {
                    let access = subject.access(&run, &event);
                    let known = plan.entry(event.access.site).or_insert((order, event, access));
                    known.0 = known.0.join(order);
                }
            }
        }
        for found in &seen.violations {
            let case = case(subject, found).ok().flatten().ok_or(LATE)?;
            for &(i, order) in &case.explanation.orders {
                let event = case.explanation.events[i];
                if event.access.c11.order() == Order::Plain {
                    // Others may do.
                    continue;
                }
                let access = subject.access(&case.run, &event);
                let known = plan.entry(event.access.site).or_insert((order, event, access));
                known.0 = known.0.join(order);
            }
        }
        if plan.iter().map(|(&site, &(order, ..))| (site, order)).eq(before) {
            return Err(if seen.violations.is_empty() { RACES } else { NONE });
        }
        seen = check(subject, &plan).ok_or(LATE)?.seen;
    }
    let mut works = |plan: &Plan| -> Result<bool, &'static str> {
        let result = check(subject, plan).ok_or(LATE)?;
        Ok(result.is_complete() && is_fine(&result.seen))
    };
    for site in plan.keys().copied().collect::<Vec<_>>() {
        let whole = plan.clone();
        let (order, event, _) = &whole[&site];
        plan.remove(&site);
        if works(&plan)? {
            continue;
        }
        plan = whole.clone();
        for weaker in weaker(event.access.kind, *order) {
            plan.entry(site).and_modify(|known| known.0 = weaker);
            if works(&plan)? {
                break;
            }
            plan.clone_from(&whole);
        }
    }
    // As the program has them, before anything was strengthened.
    Ok(plan)
}

/// Whether there is nothing that memory orders could be for.
pub fn is_fine(seen: &Seen) -> bool {
    let races = |error: &ProgramError| matches!(error.kind, ErrorKind::Race { .. });
    seen.violations.is_empty() && !seen.errors.iter().any(races)
}

/// The orders below this one that such an access can have, the weakest first.
fn weaker(kind: AccessKind, order: Order) -> Vec<Order> {
    let all: &[Order] = match kind {
        AccessKind::Load => &[Order::Acquire],
        AccessKind::Store => &[Order::Release],
        AccessKind::Rmw => &[Order::Acquire, Order::Release, Order::AcqRel],
    };
    all.iter().copied().filter(|&weaker| weaker != order && weaker.join(order) == order).collect()
}
