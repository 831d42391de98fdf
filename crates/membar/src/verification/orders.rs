//! Which memory orders and fences make a program safe under C11.
//!
//! The orders that each violation and each race needs are put in, and of those that are left then, until there are none. Then each is tried without, and
//! weaker: relaxed before acquire and release, those before acq_rel, that before seq_cst. What is left is minimal: nothing can be
//! dropped or weakened. Then the orders are written into a copy of the source, which is built and verified. Every try is a whole
//! verification.
//!
//! Where no order is written, at the access or where the function that it is in is called, fences take its place: acquire
//! behind the access, release before it. If that does not do it either, everything is tried with fences alone.

use super::explain::{case, needed};
use super::plan::{PLANNING, TRYING, Unfixed, now, tried};
use super::watchdog::Watchdog;
use crate::core::{AccessKind, Fence, Order, Remedy};
use crate::explore::Strategy;
use crate::programs::{Run, Subject};
use crate::report::verify::{AccessRef, FenceRef, FrameRef, fenced, proposals, reordered};
use crate::verify::{Checkpoint, Effort, ErrorKind, Event, ProgramError, Seen, Settings, Watching, race};
use crate::{Interrupt, Listener};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const LATE: &str = "there was no time to look for memory orders";
const NONE: &str = "memory orders alone do not do it";
const RACES: &str = "no memory order keeps all of the accesses that race apart";
const UNWRITTEN: &str = "the order is not written there in a way that can be edited";

/// The means of a fix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    /// Orders where they are written, otherwise fences.
    Orders,
    /// Fences alone.
    Fences,
}

/// Something that is put at an instruction.
#[derive(Clone)]
struct Put {
    order: Order,
    /// Whether it is a fence next to the instruction, and not its own order.
    fence: bool,
    /// An access of the instruction.
    event: Event,
    access: AccessRef,
    /// The calls that led to it, as far as they are known.
    stacks: Vec<Vec<FrameRef>>,
}

impl Put {
    fn remedy(&self) -> Remedy {
        if self.fence { Remedy::Fence(Fence::of(self.order)) } else { Remedy::Order(self.order) }
    }

    /// The places where it may be written: at the instruction; at all calls of its function; at all calls of those; and so on.
    fn levels(&self) -> impl Iterator<Item = Vec<AccessRef>> {
        let depth = self.stacks.iter().map(Vec::len).min().unwrap_or(0);
        let calls = |level: usize| {
            let mut calls: Vec<AccessRef> = Vec::new();
            for FrameRef { function, file, line, column } in self.stacks.iter().map(|stack| &stack[level]) {
                let (file, function) = (file.clone(), Some(function.clone()));
                let call = AccessRef { file, function, line: *line, column: *column, ..self.access.clone() };
                if !calls.contains(&call) {
                    calls.push(call);
                }
            }
            calls
        };
        std::iter::once(vec![self.access.clone()]).chain((1..depth).map(calls))
    }

    /// The memory order where it is written. `None` if it is not.
    fn as_order(&self) -> Option<Vec<FenceRef>> {
        let level = |level: Vec<AccessRef>| -> Vec<FenceRef> {
            level.iter().map(|access| needed(&self.event, access, self.order)).collect()
        };
        self.levels().map(level).find(|orders| !reordered(orders, &crate::source).is_empty())
    }

    /// The fence where there is a place for it.
    fn as_fence<S: Subject>(&self, subject: &S, before: bool) -> Option<Vec<FenceRef>> {
        let fence = |access: &AccessRef| {
            let place = |shown: bool| if shown { (access.line, access.column) } else { (0, 0) };
            let ((after_line, after_column), (before_line, before_column)) = (place(!before), place(before));
            FenceRef {
                fence: subject.fence_of(&access.file, self.order),
                replaces: None,
                after_line,
                after_column,
                before_line,
                before_column,
                tried_before: before,
                order: fenced(access, self.order, before),
                ..needed(&self.event, access, self.order)
            }
        };
        let level = |level: Vec<AccessRef>| -> Vec<FenceRef> { level.iter().map(fence).collect() };
        self.levels().map(level).find(|fences| !proposals(fences, &crate::source).is_empty())
    }
}

/// What is put where: instructions, with [`Remedy::BEFORE`] if it is a fence right before one.
type Plan = BTreeMap<u32, Put>;

/// Adds what makes this access have this order.
fn put<S: Subject>(plan: &mut Plan, subject: &mut S, run: &Run<S::Detail>, event: Event, order: Order, means: Means) {
    let site = event.access.site;
    if event.access.c11.is_fresh() || means == Means::Orders && !event.access.c11.order().is_atomic() {
        // Others may do.
        return;
    }
    let stack = subject.stack(run, &event);
    let access = subject.access(run, &event);
    let one = Put { order, fence: false, event, access, stacks: vec![stack.clone()] };
    let fence = means == Means::Fences || one.as_order().is_none();
    let mut add = |spot: u32, order: Order| {
        let known = plan.entry(spot).or_insert_with(|| Put { order, fence, ..one.clone() });
        known.order = known.order.join(order);
        if !known.stacks.contains(&stack) {
            known.stacks.push(stack.clone());
        }
    };
    let seq_cst = order == Order::SeqCst;
    match fence {
        false => add(site, order),
        true => {
            if order.acquires() {
                add(site, if seq_cst { order } else { Order::Acquire });
            }
            if order.releases() {
                add(site | Remedy::BEFORE, if seq_cst { order } else { Order::Release });
            }
        }
    }
}

/// Memory orders and fences that make the program safe, with the edits that were tried.
pub fn plan<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    limit: Option<Instant>,
    interrupt: &Interrupt,
    line: &dyn Listener,
) -> Result<Vec<FenceRef>, Unfixed> {
    let deadline = |time: Duration| limit.map_or(Instant::now() + time, |limit| limit.min(Instant::now() + time));
    let mut unfixed: Option<Unfixed> = None;
    for means in [Means::Orders, Means::Fences] {
        let found = match search(subject, checkpoint, means, deadline(PLANNING), interrupt, line) {
            Ok(plan) => plan,
            Err(why) => {
                unfixed.get_or_insert(Unfixed { why: why.into(), needs: Vec::new() });
                continue;
            }
        };
        let mut needs: Vec<String> = Vec::new();
        for (spot, put) in &found {
            let need = match put.fence {
                true => fenced(&put.access, put.order, spot & Remedy::BEFORE != 0),
                false => needed(&put.event, &put.access, put.order).order,
            };
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        let proposals = written(subject, &found);
        let result = match &proposals[..] {
            [] => Err(Unfixed { why: UNWRITTEN.into(), needs }),
            _ => tried(subject, checkpoint, (&proposals, is_fine), needs, deadline(TRYING), interrupt, line),
        };
        match result {
            Ok(edits) => return Ok(edits),
            Err(why) if unfixed.as_ref().is_none_or(|known| known.needs.is_empty()) => unfixed = Some(why),
            Err(_) => {}
        }
    }
    Err(unfixed.unwrap_or(Unfixed { why: NONE.into(), needs: Vec::new() }))
}

/// Ways to write the plan into the source. Empty if something has no place there.
fn written<S: Subject>(subject: &S, plan: &Plan) -> Vec<Vec<FenceRef>> {
    let (mut orders, mut fences): (Vec<FenceRef>, Vec<FenceRef>) = (Vec::new(), Vec::new());
    for (spot, put) in plan {
        let (known, places) = match put.fence {
            false => (&mut orders, put.as_order()),
            true => (&mut fences, put.as_fence(subject, spot & Remedy::BEFORE != 0)),
        };
        let Some(places) = places else { return Vec::new() };
        for place in places {
            // A compiler may have copied the instruction.
            let key = |one: &FenceRef| {
                let (after, before) = ((one.after_line, one.after_column), (one.before_line, one.before_column));
                (one.file.clone(), after, before, one.fence.clone())
            };
            if !known.iter().any(|one| key(one) == key(&place)) {
                known.push(place);
            }
        }
    }
    let orders = if orders.is_empty() { vec![Vec::new()] } else { reordered(&orders, &crate::source) };
    let fences = if fences.is_empty() { vec![Vec::new()] } else { proposals(&fences, &crate::source) };
    let both = |orders: &Vec<FenceRef>| fences.iter().map(|fences| [&orders[..], fences].concat()).collect::<Vec<_>>();
    orders.iter().flat_map(both).collect()
}

/// Orders and fences that make the program safe, none of which can be left out or made weaker; otherwise why there are none.
fn search<S: Subject>(
    subject: &mut S,
    checkpoint: &Checkpoint,
    means: Means,
    deadline: Instant,
    interrupt: &Interrupt,
    line: &dyn Listener,
) -> Result<Plan, &'static str> {
    let (began, name) = (Instant::now(), subject.name().to_owned());
    let settings = Settings { strategy: Strategy::Dpor, watching: Watching::Class, ..checkpoint.settings };
    let check = |subject: &mut S, plan: &Plan| -> Option<Checkpoint> {
        let remedies: Vec<(u32, Remedy)> = plan.iter().map(|(&spot, put)| (spot, put.remedy())).collect();
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
        let remedies = |plan: &Plan| plan.iter().map(|(&spot, put)| (spot, put.remedy())).collect::<Vec<_>>();
        let before = remedies(&plan);
        for error in &seen.errors {
            let ErrorKind::Race { sites } = error.kind else { continue };
            let run = subject.trace(&error.schedule.0).map_err(|_| LATE)?;
            let raced = race(&run.steps, sites).ok_or(RACES)?;
            if raced.missing.is_empty() {
                return Err(RACES);
            }
            for (step, order) in raced.missing {
                put(&mut plan, subject, &run, Event::new(step, &run.steps[step]), order, means);
            }
        }
        for found in &seen.violations {
            let case = case(subject, found).ok().flatten().ok_or(LATE)?;
            for &(i, order) in &case.explanation.orders {
                put(&mut plan, subject, &case.run, case.explanation.events[i], order, means);
            }
        }
        if remedies(&plan) == before {
            return Err(if seen.violations.is_empty() { RACES } else { NONE });
        }
        seen = check(subject, &plan).ok_or(LATE)?.seen;
    }
    let mut works = |plan: &Plan| -> Result<bool, &'static str> {
        let result = check(subject, plan).ok_or(LATE)?;
        Ok(result.is_complete() && is_fine(&result.seen))
    };
    for spot in plan.keys().copied().collect::<Vec<_>>() {
        let whole = plan.clone();
        plan.remove(&spot);
        if works(&plan)? {
            continue;
        }
        plan = whole.clone();
        for weaker in weaker(&whole[&spot]) {
            plan.entry(spot).and_modify(|known| known.order = weaker);
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

/// The orders below this one that such an access or a fence can have, the weakest first.
fn weaker(put: &Put) -> Vec<Order> {
    let all: &[Order] = match put.event.access.kind {
        AccessKind::Load if !put.fence => &[Order::Acquire],
        AccessKind::Store if !put.fence => &[Order::Release],
        _ => &[Order::Acquire, Order::Release, Order::AcqRel],
    };
    all.iter().copied().filter(|&weaker| weaker != put.order && weaker.join(put.order) == put.order).collect()
}
