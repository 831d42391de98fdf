//! Which fences make a program safe.
//!
//! Fences of all violations are put in, and of those that are left then, until there are none; then each is tried without,
//! or weaker. Every try is a whole verification, so the result is as sure as any verdict.

use super::{Names, Watchdog};
use crate::stop::Interrupt;
use membar::core::{Barrier, Relaxation};
use membar::explore::Strategy;
use membar::litmus::Interpreter;
use membar::report::verify::FenceRef;
use membar::verify::{Checkpoint, Effort, Settings, Verification, Watching, explain};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time to look for them.
const PLANNING: Duration = Duration::from_secs(5);

/// Fences after stores, by instruction: how strong, and the instruction before which they are needed.
type Plan = BTreeMap<u32, (Barrier, u32)>;

/// Fences that make the program safe, none of which can be left out or made weaker. `None` if they are not found in time.
pub fn plan(names: &Names<'_>, checkpoint: &Checkpoint, interrupt: &Interrupt) -> Option<Vec<FenceRef>> {
    let deadline = Instant::now() + PLANNING;
    let model = checkpoint.settings.model;
    let settings = Settings { strategy: Strategy::Dpor, watching: Watching::Class, ..checkpoint.settings };
    let check = |plan: &Plan| -> Option<Checkpoint> {
        let barriers: Vec<(u32, Barrier)> = plan.iter().map(|(site, (barrier, _))| (*site, *barrier)).collect();
        let program = Interpreter::new(Arc::new(names.test.code.with_barriers(&barriers)));
        let mut verification = Verification::new(Checkpoint::new(settings), program, Effort::default());
        let watchdog = Watchdog::new(Some(deadline), interrupt);
        while !verification.is_done() {
            verification.advance(&watchdog.stop);
            if Instant::now() >= deadline || interrupt.pressed() {
                return None;
            }
            if !verification.seen().violations.is_empty() && verification.search().counts().executions > 10_000 {
                break;
            }
        }
        Some(verification.checkpoint())
    };
    let mut plan = Plan::new();
    let mut seen = checkpoint.seen.clone();
    let mut code = names.test.code.clone();
    while !seen.violations.is_empty() {
        let mut program = Interpreter::new(Arc::new(code));
        for found in &seen.violations {
            let explanation = explain(&mut program, found, model)?;
            for fence in &explanation.fences {
                let site = |i: usize| explanation.events[i].access.site;
                let known = plan.entry(site(fence.after)).or_insert((fence.barrier, site(fence.before)));
                known.0 = known.0.max(fence.barrier);
            }
        }
        let barriers: Vec<(u32, Barrier)> = plan.iter().map(|(site, (barrier, _))| (*site, *barrier)).collect();
        code = names.test.code.with_barriers(&barriers);
        seen = check(&plan)?.seen;
    }
    for site in plan.keys().copied().collect::<Vec<_>>() {
        let whole = plan.clone();
        plan.remove(&site);
        let works = |plan: &Plan| check(plan).map(|result| result.is_complete() && result.seen.violations.is_empty());
        if works(&plan)? {
            continue;
        }
        plan = whole;
        let barrier = plan[&site].0;
        if barrier == Barrier::Full && model == Relaxation::Pso {
            plan.entry(site).and_modify(|entry| entry.0 = Barrier::Store);
            if !works(&plan)? {
                plan.entry(site).and_modify(|entry| entry.0 = Barrier::Full);
            }
        }
    }
    let fences = plan.iter().map(|(after, (barrier, before))| {
        let site = |site: &u32| &names.test.code.sites[*site as usize];
        FenceRef {
            thread_name: format!("P{}", site(after).thread),
            fence: names.instruction(*barrier).into(),
            after_line: site(after).line,
            after_column: site(after).column,
            before_line: site(before).line,
            before_column: site(before).column,
        }
    });
    Some(fences.collect())
}
