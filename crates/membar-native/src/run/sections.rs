//! Atomic sections (`__VERIFIER_atomic_begin`, `_end`), and what comes between.
//!
//! Problem: while a thread is in a section no other thread runs. For the explorer a section is a lock, so sections exclude each other,
//! but accesses outside of sections may come in between.
//!
//! Algorithm: when a section ends, go through the steps since it began. A step of another thread is *inside* if it conflicts with
//! an earlier step of the section or of a step inside, or comes after one in its thread. If a later step of the section conflicts with one that
//! is inside, then the execution is not one of the program: no order of its independent steps has the section in one piece. That is noted with the place of the step
//! inside.
//!
//! Guarantees: every execution of the program is explored, since others may come in between and need not; so "safe" is right. If
//! nothing is noted, every execution that was explored to the end of its sections is equivalent to one of the program. If something is noted,
//! errors and violations may be those of an execution that the program does not have: the answer is undecided.
//!
//! Complexity: linear in the steps of the section, and of other threads meanwhile.

use super::access::Event;
use super::layout::SECTIONS;
use super::slot::Slot;
use super::tsan::barrier;
use super::world::{Mode, World, world};
use membar_core::{AccessKind, Barrier};
use rustc_hash::{FxHashMap, FxHashSet};

/// The beginning of a section: sections exclude each other.
pub extern "C-unwind" fn begin() {
    let w = world();
    if !w.alone && w.shadow.number(SECTIONS).is_none() {
        // A step, even if no other thread has sections: where it began has to be known.
        w.shadow.access(w.current, SECTIONS, 4, true, true);
        w.shadow.number(SECTIONS).unwrap_or_else(|| w.shadow.show(SECTIONS));
    }
    Event::sync(SECTIONS, 4).takes().while_not(1).announce();
    // SAFETY: a word of the control blocks, which are mapped; so below.
    unsafe { *(SECTIONS as *mut u32) = 1 };
    barrier(Barrier::Full);
}

/// Its end.
pub extern "C-unwind" fn end() {
    Event::sync(SECTIONS, 4).gives().announce();
    let w = world();
    if w.mode == Mode::Live {
        w.look_inside();
    }
    unsafe { *(SECTIONS as *mut u32) = 0 };
    barrier(Barrier::Full);
}

/// Accesses to cells: whether one of them writes, and the instruction of one of them.
#[derive(Default)]
struct Accesses(FxHashMap<u32, (bool, u32)>);

impl Accesses {
    fn add(&mut self, cell: u32, writes: bool, site: u32) {
        self.0.entry(cell).or_insert((false, site)).0 |= writes;
    }

    /// The instruction of one that conflicts with this.
    fn conflict(&self, cell: u32, writes: bool) -> Option<u32> {
        self.0.get(&cell).filter(|(wrote, _)| *wrote || writes).map(|(_, site)| *site)
    }
}

impl World {
    /// The thread that runs is at the end of a section.
    #[cold]
    fn look_inside(&mut self) {
        let Some(lock) = self.shadow.number(SECTIONS) else { return };
        let mut made = vec![0; self.known];
        let mut steps = Vec::with_capacity(self.path.len());
        for step in &self.path {
            let thread = step.thread();
            let access = self.threads[thread].slots.get(made[thread]).and_then(Slot::access);
            made[thread] += 1;
            steps.push((thread, access));
        }
        let own = |(thread, access): &(usize, Option<&super::slot::Pending>)| {
            *thread == self.current && access.is_some_and(|access| access.cell == lock)
        };
        let Some(began) = steps.iter().rposition(own) else { return };
        let (mut before, mut inside, mut threads) = (Accesses::default(), Accesses::default(), FxHashSet::default());
        let mut found = Vec::new();
        for (thread, access) in &steps[began + 1..] {
            let Some(access) = access.filter(|access| access.cell != lock) else { continue };
            let (cell, writes) = (access.cell, access.kind != AccessKind::Load);
            if *thread == self.current {
                found.extend(inside.conflict(cell, writes));
                before.add(cell, writes, access.site);
            } else if threads.contains(thread) || before.conflict(cell, writes).is_some() {
                threads.insert(*thread);
                before.add(cell, writes, access.site);
                inside.add(cell, writes, access.site);
            }
        }
        for site in found {
            if !self.intruders.contains(&site) {
                self.intruders.push(site);
                self.grown = true;
            }
        }
    }
}
