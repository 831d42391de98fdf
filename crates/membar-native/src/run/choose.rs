//! Choices of the program: those that testers write, and behaviour that the system may vary.

use super::access::{settle, site};
use super::coroutine::Thread;
use super::fault;
use super::layout::CHOICE;
use super::slot::{Pending, Stand};
use super::world::{World, world};
use membar_core::{AccessKind, Barrier, C11, Order};
use membar_explore::{Awaited, MAX_OUTCOMES};
use std::ffi::c_int;

/// A value that nobody waits for.
const NEVER: u64 = u64::MAX;

/// The thread that runs chooses a number below `outcomes`, each of which is explored. For hooks: the choice is made before
/// any other thread makes a step, so what comes after it, up to the thread's next step, is one with the step before it. Like that
/// it may change nothing but what that step is about.
pub fn choose(outcomes: u32) -> u32 {
    if outcomes < 2 {
        return 0;
    }
    settle();
    let w = world();
    if w.module.len == 0 {
        fault::raise("makes a choice before `main` begins");
    }
    if outcomes > MAX_OUTCOMES {
        fault::limit(format!("chooses one of {outcomes} numbers: there can be {MAX_OUTCOMES}"));
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
        c11: C11::new(Order::Relaxed).fresh(),
        compares: true,
        waits: true,
        guarded: false,
        counted: false,
        part: 0,
    };
    World::announce::<true>(pending, Awaited { addr: cell, value: NEVER, until: false });
    // A thread that chooses inside a loop may do something else the next time.
    world().this().dirty = true;
    // SAFETY: mapped; written before the thread continues.
    unsafe { *(CHOICE as *const u32) }
}

/// Whether something happens here without a reason, in this execution: once for each call in the source and thread, or loops would
/// have no end.
pub fn surprise() -> bool {
    let w = world();
    let site = site(w);
    if w.this().surprised.contains(&site) || choose(2) == 0 {
        return false;
    }
    world().this().surprised.push(site);
    true
}

/// `membar_choose`: any number from 0 to one less than this.
pub extern "C-unwind" fn membar_choose(outcomes: u32) -> u32 {
    if outcomes == 0 {
        fault::raise("chooses one of no numbers (`membar_choose(0)`)");
    }
    choose(outcomes)
}

/// `membar_assume`, `__VERIFIER_assume`: if it does not hold, this execution counts for nothing. The thread stops; others continue
/// to where they can, since they could have done that before.
pub extern "C-unwind" fn assume(condition: c_int) {
    if condition == 0 {
        if world().module.len == 0 {
            fault::raise("assumes something before `main` begins that does not hold");
        }
        settle();
        Thread::rest(Stand::Dropped);
    }
}

/// `__VERIFIER_nondet_bool`.
pub extern "C-unwind" fn nondet_bool() -> u32 {
    choose(2)
}

/// Any number from `--nondet` that the type can hold.
fn nondet(least: i64, most: i64) -> i64 {
    let Some((from, to)) = world().nondet else {
        fault::limit("asks for any number (`__VERIFIER_nondet_…`): say which to try, as in --nondet 0..3");
    };
    let (from, to) = (from.max(least), to.min(most));
    let outcomes = to.saturating_sub(from).saturating_add(1);
    if outcomes < 1 {
        fault::limit("asks for a number of a type that can hold none of --nondet");
    }
    from + i64::from(choose(u32::try_from(outcomes).unwrap_or(u32::MAX)))
}

/// `__VERIFIER_nondet_int` and similar functions, for each type of the machine.
pub extern "C-unwind" fn nondet_int<const LEAST: i64, const MOST: i64>() -> i64 {
    nondet(LEAST, MOST)
}

/// `__VERIFIER_nondet_double`: whole numbers.
pub extern "C-unwind" fn nondet_double() -> f64 {
    nondet(i64::MIN, i64::MAX) as f64
}

/// `__VERIFIER_nondet_float`.
pub extern "C-unwind" fn nondet_float() -> f32 {
    nondet(i64::MIN, i64::MAX) as f32
}

/// `__VERIFIER_nondet_pointer`.
pub extern "C-unwind" fn nondet_pointer() -> usize {
    fault::limit("asks for any pointer, which membar cannot choose")
}

/// `reach_error`, `__VERIFIER_error`: where a program does not define them itself.
pub extern "C-unwind" fn reach_error() -> ! {
    fault::raise("reaches an error (`reach_error`)")
}
