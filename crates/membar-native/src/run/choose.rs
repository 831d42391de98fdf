//! Choices of the program: what testers write, and what the system may do in one way or another.

use super::access::{settle, site};
use super::fault;
use super::layout::CHOICE;
use super::slot::Pending;
use super::world::{World, world};
use membar_core::{AccessKind, Barrier};
use membar_explore::{Awaited, MAX_OUTCOMES};

/// What nobody waits for.
const NEVER: u64 = u64::MAX;

/// The thread that runs chooses a number below `outcomes`, each of which is explored. For hooks: the choice is made before
/// anybody else makes a step, so what comes after it, up to the thread's next step, is one with the step before it. Like that
/// it may change nothing but what that step is about.
pub fn choose(outcomes: u32) -> u32 {
    if outcomes < 2 {
        return 0;
    }
    settle();
    let w = world();
    if w.module.len == 0 {
        fault::raise("makes a choice before `main` begins".into());
    }
    if outcomes > MAX_OUTCOMES {
        fault::raise(format!("chooses one of {outcomes}: there can be {MAX_OUTCOMES}"));
    }
    let id = w.current;
    let cell = w.shadow.number(CHOICE).unwrap_or_else(|| {
        w.shadow.access(id, CHOICE, 4, false, true);
        w.shadow.number(CHOICE).unwrap_or_else(|| w.shadow.show(CHOICE))
    });
    let pending = Pending {
        expected: u64::from(outcomes),
        cell,
        site: site(w),
        kind: AccessKind::Load,
        barrier: Barrier::None,
        compares: true,
        waits: true,
        counted: false,
    };
    World::announce::<true>(pending, Awaited { addr: cell, value: NEVER, until: false });
    // Whoever goes round in a loop and chooses may do something else the next time.
    world().this().dirty = true;
    // SAFETY: mapped; whoever lets the thread go on has written it.
    unsafe { *(CHOICE as *const u32) }
}

/// `membar_choose`: any number from 0 to one less than this; 0 if there is none.
pub extern "C-unwind" fn membar_choose(outcomes: u32) -> u32 {
    choose(outcomes)
}
