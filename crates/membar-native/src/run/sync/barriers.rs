//! Barriers.
//!
//! Two words count arrivals, one in even and one in odd rounds. A thread that has arrived waits until the word of its round is what it
//! is when all have. Nobody arrives there for the round after next before everybody has departed, as long as no more threads use
//! the barrier than meet at it. So the order of arrivals makes no difference, and is not explored (`membar-explore`'s
//! `races.rs`). Which thread is told that it is the last one is nobody's to predict: the first to come is. If nobody looks
//! at what the barrier returns ([`crate::run::live`]), that need not be decided.
//!
//! If more threads use the barrier, who meets whom depends on the order. Such a barrier is *crowded*, which is a fact learnt
//! ([`crate::run::facts`]): it has one word for arrivals and one for the generation, and all orders are explored.

use super::*;
use crate::run::registers::{register, word_at};
use crate::run::world::World;

/// The word of the other rounds; of a crowded barrier, the generation.
const ODD: usize = 4;
const WANTED: usize = 8;
/// How many rounds are complete, and how many have arrived in this one: 16 bits each.
const ROUND: usize = 20;
/// The threads that have used it, of the first 32.
const USERS: usize = 24;
/// Rounds whose last thread has been told.
const TOLD: usize = 28;

/// Whether somebody has arrived and waits for others.
fn awaits(object: usize) -> bool {
    if is_crowded(object) { *word(object) > 0 } else { *word(object + ROUND) & 0xffff > 0 }
}

fn is_crowded(object: usize) -> bool {
    let w = world();
    !w.crowded.is_empty() && w.crowded.contains(&(w.module.portable(object) as u64))
}

/// Notes something about a barrier that has to be known from the beginning.
#[cold]
fn learn(barriers: fn(&mut World) -> &mut Vec<u64>, object: usize) {
    let w = world();
    let at = w.module.portable(object) as u64;
    if !barriers(w).contains(&at) {
        barriers(w).push(at);
        w.grown = true;
    }
}

/// Whether a thread looks at what it is returned.
fn is_asked(object: usize) -> bool {
    let w = world();
    !w.asked.is_empty() && w.asked.contains(&(w.module.portable(object) as u64))
}

pub extern "C-unwind" fn barrier_init(object: usize, _: usize, count: u32) -> c_int {
    if count == 0 || count > i32::MAX as u32 {
        return libc::EINVAL;
    }
    BARRIER.begin(object);
    if BARRIER.is_initialised(object) && awaits(object) {
        BARRIER.wrong(object, "initialises", "at which threads wait");
    }
    // A thread that has been let go and has not come back yet must not wait for the next round, if this is not the barrier's
    // first life.
    let kept = BARRIER.has_lived(object).then(|| [0, ODD, ROUND, TOLD].map(|at| (at, *word(object + at))));
    BARRIER.initialise(object);
    let kept = kept.into_iter().flatten().filter(|&(at, _)| at > 0 || !is_crowded(object));
    kept.for_each(|(at, value)| *word(object + at) = value);
    *word(object + WANTED) = count;
    0
}

/// No thread may wait. One that has been let go and has not come back yet does not wait.
pub extern "C-unwind" fn barrier_destroy(object: usize) -> c_int {
    if !is_crowded(object) {
        // Others may arrive at either word.
        Event::sync(object + ODD, 4).unordered().announce();
        full();
    }
    BARRIER.destroy(object, || awaits(object).then(|| "at which threads wait".into()))
}

pub extern "C-unwind" fn barrier_wait(object: usize) -> c_int {
    if is_crowded(object) {
        return crowded_wait(object);
    }
    if !is_asked(object) && !result_is_ignored() {
        learn(|w| &mut w.asked, object);
    }
    let rounds = *word(object + ROUND) >> 16;
    let told = is_asked(object) && comes_first(object, rounds);
    let at = object + (rounds & 1) as usize * ODD;
    Event::sync(at, 4).meets().announce();
    BARRIER.used(object, "waits at");
    let (id, wanted) = (current(), *word(object + WANTED));
    *word(object + USERS) |= 1u32.checked_shl(id as u32).unwrap_or(0);
    if id >= 32 || word(object + USERS).count_ones() > wanted {
        learn(|w| &mut w.crowded, object);
    }
    let arrived = *word(object + ROUND) & 0xffff;
    let all = word(at).wrapping_sub(arrived).wrapping_add(wanted);
    *word(at) = word(at).wrapping_add(1);
    *word(object + ROUND) = if arrived + 1 == wanted { (rounds + 1) << 16 } else { rounds << 16 | (arrived + 1) };
    full();
    Event::departure(at, 4).until(u64::from(all)).may_outlive().announce();
    full();
    if told { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
}

/// The first to come in each round will be told, before it arrives: when it departs, the barrier may be gone.
fn comes_first(object: usize, round: u32) -> bool {
    Event::sync(object + TOLD, 4).silent().expects(u64::from(round)).announce();
    full();
    let first = *word(object + TOLD) == round;
    if first {
        *word(object + TOLD) = (round + 1) & 0xffff;
    }
    first
}

/// Whether the caller does not look at what it is returned.
fn result_is_ignored() -> bool {
    let w = world();
    let base = w.module.base;
    w.liveness.load(std::path::Path::new(&w.object), base);
    !w.liveness.result(word_at(register(0)))
}

/// A round is complete with its last arrival, and the thread that made it then lets the others go. Who arrives in between
/// is of the next round.
fn crowded_wait(object: usize) -> c_int {
    Event::sync(object, 4).announce();
    BARRIER.used(object, "waits at");
    let round = *word(object + ROUND);
    let mut open = *word(object + ODD);
    *word(object) += 1;
    full();
    if *word(object) == *word(object + WANTED) {
        *word(object) = 0;
        *word(object + ROUND) = round + 1;
        Event::sync(object + ODD, 4).announce();
        *word(object + ODD) = (round + 1).max(*word(object + ODD));
        full();
        return libc::PTHREAD_BARRIER_SERIAL_THREAD;
    }
    while open <= round {
        Event::sync(object + ODD, 4).while_not(u64::from(open)).may_outlive().announce();
        full();
        open = *word(object + ODD);
    }
    0
}
