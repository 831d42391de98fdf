//! Recognises waiting loops.
//!
//! # Problem
//!
//! A thread that spins (`while (flag) ;`) would give an execution for each number of rounds. The engine wants to know when a
//! thread has made an *idle round*: one after which it is where it was, so that it will do the same again until it reads
//! something else ([`membar_explore::Waiting`]).
//!
//! # Algorithm
//!
//! All that a thread knows is in its registers, on its stack and in memory that it alone uses. At a call the registers that
//! the callee may change hold nothing that is used later. So when a thread comes to an access for the second time, with the
//! same saved registers, the same stack up to its first frame (return addresses included), the same contents of whatever
//! else it has written that is its own, having changed no shared memory in between, it is in the state that it was in then.
//!
//! Only instructions that a thread comes to more than once are looked at; they are learnt like visible cells. A loop may count
//! its tries and begin again at some number: then several rounds of the loop together are one idle round.
//!
//! # Guarantees
//!
//! What is called an idle round is one, but for states that differ and have the same 64-bit hash, and for memory that code
//! without instrumentation writes. A round that is not recognised costs executions, never an answer.
//!
//! # Deviations
//!
//! The interpreter of litmus tests compares only what is live; here a variable that is dead but differs hides a round.
//! Then one round more is explored.
//!
//! # Complexity
//!
//! Linear in the depth of the stack at instructions in loops; nothing elsewhere.

use super::shadow::Cell;
use membar_core::AccessKind;
use membar_explore::Awaited;

/// How many earlier visits to an instruction are looked at: a loop may count its tries, and begin again at some number.
const TRIES: usize = 32;

/// What is known about a thread's waiting, after some of its steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle {
    /// Lengths of the lists of reads and visits.
    pub log: u32,
    pub visits: u32,
    /// The thread has changed nothing since this position of the reads.
    pub quiet: u32,
    /// The idle round, as a range of the reads; empty if it is not waiting.
    pub round: (u32, u32),
    /// How much of it has been repeated.
    pub repeated: u32,
}

/// A thread came to an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    site: u32,
    log: u32,
    state: u64,
}

impl Idle {
    /// The thread has made an access.
    #[inline]
    pub fn made(&mut self, cell: u32, kind: AccessKind, old: u64, new: u64, log: &mut Vec<Awaited>) {
        let changed = new != old || !kind.reads();
        if kind.reads() {
            log.push(Awaited { addr: cell, value: old, until: false });
        }
        if changed {
            self.quiet = log.len() as u32;
        }
        let (from, to) = self.round;
        if from < to {
            let before = log[(from + self.repeated) as usize];
            if changed || (before.addr, before.value) != (cell, old) {
                self.round = (0, 0);
            } else {
                self.repeated = (self.repeated + 1) % (to - from);
            }
        }
    }

    /// The thread is about to make an access again that may be in a loop.
    #[inline(never)]
    pub fn visit(&mut self, site: u32, state: u64, log: &[Awaited], visits: &mut Vec<Visit>) {
        let now = log.len() as u32;
        self.visits = visits.len() as u32 + 1;
        if self.round.0 < self.round.1 {
            // Within a round that is being repeated every instruction is come to again; it begins where it did.
            visits.push(Visit { site, log: now, state });
            return;
        }
        let before = visits.iter().rev().take_while(|v| v.log >= self.quiet).filter(|v| v.site == site);
        if let Some(before) = before.take(TRIES).find(|v| v.state == state)
            && before.log < now
        {
            (self.round, self.repeated) = ((before.log, now), 0);
        }
        visits.push(Visit { site, log: now, state });
    }
}

/// Everything on the stack from the return address of a stub's caller up to the thread's first frame, and the registers
/// that the caller's callers rely on, and what the thread has written elsewhere, as one number.
#[inline]
pub fn state(from: usize, to: usize, written: &[(usize, usize)]) -> u64 {
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(A).rotate_left(29);
    // Four lanes: a chain of multiplications would take longer than everything else.
    let mut lanes = [from as u64, 1, 2, 3];
    for i in 1..7 {
        lanes[i % 4] = mix(lanes[i % 4], super::registers::register(i) as u64);
    }
    let words = (to.saturating_sub(from)) / 8;
    // SAFETY: the stack of a running thread, between its stack pointer and its first frame.
    let stack = unsafe { std::slice::from_raw_parts(from as *const u64, words) };
    let mut chunks = stack.chunks_exact(4);
    for chunk in &mut chunks {
        for (lane, &word) in lanes.iter_mut().zip(chunk) {
            *lane = mix(*lane, word);
        }
    }
    for (lane, &word) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = mix(*lane, word);
    }
    let stack = lanes.iter().fold(words as u64, |hash, &lane| mix(hash, lane));
    written.iter().fold(stack, |hash, &(addr, size)| {
        let cell = Cell { at: addr as u64, size: size.min(16) as u8, atomic: false };
        mix(mix(hash, addr as u64), super::shadow::read(&cell))
    })
}
