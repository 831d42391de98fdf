//! Programs for an interpreter with Rust's atomics.
//!
//! Loads and stores are relaxed, atomics and locks sequentially consistent, and barriers are fences: `sync` and those with
//! `#StoreLoad` sequentially consistent ones, the others acquire, release or both. Any other order that a processor keeps is
//! its own affair and that of the model that the trace is checked against. The compiler may not reorder anything: after each
//! instruction there is a compiler fence.

use super::{Expected, Layout, PlannedInstr, Steps};
use membar_core::Mask;
use membar_simulate::Instr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence, fence};

/// The actions of a thread.
#[derive(Debug)]
pub(crate) struct Listing {
    steps: Vec<PlannedInstr>,
}

impl Listing {
    pub fn new(steps: &mut Steps<'_>) -> Listing {
        Listing { steps: steps.collect() }
    }

    pub fn bytes(&self) -> usize {
        std::mem::size_of_val(&self.steps[..])
    }

    pub fn run(&self, layout: &Layout, memory: &[AtomicU64], log: &[AtomicU64], stop: &AtomicBool) -> bool {
        use Ordering::{Relaxed, SeqCst};
        for step in &self.steps {
            let read = match step.instr {
                Instr::Load { addr } => memory[layout.cell(addr)].load(Relaxed),
                Instr::Store { addr, value } => {
                    memory[layout.cell(addr)].store(value, Relaxed);
                    0
                }
                Instr::Exchange { addr, value } => memory[layout.cell(addr)].swap(value, SeqCst),
                Instr::Add { addr, by } => memory[layout.cell(addr)].fetch_add(by, SeqCst),
                Instr::Cas { addr, value } => {
                    let expected = match step.expected {
                        Expected::Value(expected) => expected,
                        Expected::Logged { word, plus } => log[word].load(Relaxed).wrapping_add(plus),
                    };
                    let result = memory[layout.cell(addr)].compare_exchange(expected, value, SeqCst, SeqCst);
                    if let Some(word) = step.read() {
                        log[word + 1].store(result.map_or_else(|read| read, |_| value), Relaxed);
                    }
                    result.unwrap_or_else(|read| read)
                }
                Instr::Fence { mask } => {
                    barrier(mask.unwrap_or(Mask::FULL));
                    0
                }
                Instr::Acquire { lock } => {
                    if !acquire(&memory[layout.lock(lock)], stop) {
                        return false;
                    }
                    0
                }
                Instr::Release { lock } => memory[layout.lock(lock)].swap(0, SeqCst),
                Instr::Delay { cycles } => {
                    (0..cycles.div_ceil(40)).for_each(|_| std::hint::spin_loop());
                    0
                }
            };
            compiler_fence(SeqCst);
            if let Some(word) = step.read() {
                log[word].store(read, Relaxed);
            }
            if step.yields {
                std::thread::yield_now();
            }
        }
        true
    }
}

fn barrier(mask: Mask) {
    let (loads, stores) = (mask.contains(Mask::LOAD_LOAD), mask.contains(Mask::STORE_STORE));
    fence(match (mask.contains(Mask::STORE_LOAD), loads, stores) {
        (true, _, _) => Ordering::SeqCst,
        (false, true, false) => Ordering::Acquire,
        (false, false, true) => Ordering::Release,
        (false, _, _) => Ordering::AcqRel,
    });
}

fn acquire(lock: &AtomicU64, stop: &AtomicBool) -> bool {
    let mut wait = crate::barrier::Wait::default();
    while lock.swap(1, Ordering::SeqCst) != 0 {
        while lock.load(Ordering::Relaxed) != 0 {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            wait.round();
        }
    }
    true
}
