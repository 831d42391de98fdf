//! Atomic sections (`__VERIFIER_atomic_begin`, `_end`, functions `__VERIFIER_atomic_…`), and what comes between.
//!
//! # Problem
//!
//! While a thread is in a section no other thread runs. For the explorer a section is a lock, so sections exclude each other, but accesses
//! outside of sections may come in between. Disabling every access of the others would be right, and would make each of them
//! conflict with each section.
//!
//! # Algorithm
//!
//! 1. When a section ends, go through the steps since it began. A step of another thread is *inside* if it conflicts with
//!    an earlier step of the section or with a step inside, or comes after one in its thread. If a later step of the section conflicts with one that
//!    is inside, then the execution is not one of the program: no order of its independent steps has the section in one piece. The instruction of
//!    the step inside is *guarded* from then on, and exploration begins again.
//! 2. A guarded access by a thread outside of sections is disabled while another thread is in one, and conflicts with its beginning and end
//!    ([`membar_explore::Waiting`]: it waits for another address than its own).
//! 3. If a thread fails, or ends the program, while another is in a section, what that section has yet to do is not known: all steps inside are guarded.
//! 4. An access that may have to wait (a lock, a join) is never guarded. If such a step comes in between, that is noted.
//! 5. An access that has to wait in a section waits for steps that could as well come before the section. If there are none, the execution ends there, and that is
//!    noted: others would have to run meanwhile, which a section excludes.
//!
//! # Guarantees
//!
//! Every execution of the program is explored: guarding an access excludes no execution in which sections are in one piece. If nothing is
//! noted at the end, every execution that was explored is equivalent to one of the program. If something is noted, errors and violations may be
//! those of an execution that the program does not have: the answer is undecided. A section that waits in a loop, for what another thread would have to do, is not told from one that
//! need not wait.
//!
//! # Complexity
//!
//! Linear in the steps of the section, and of other threads meanwhile.

use super::access::Event;
use super::fault;
use super::layout::SECTIONS;
use super::slot::{Pending, Slot};
use super::tsan::barrier;
use super::world::{Mode, World, world};
use membar_core::{AccessKind, Barrier};
use membar_explore::Awaited;
use rustc_hash::{FxHashMap, FxHashSet};

/// One more function that is a section, within a section.
const DEEPER: u32 = 1 << 16;

/// The word that says who is in a section: a thread's number and 1, or 0; above that how many functions within it are sections too.
fn word() -> *mut u32 {
    SECTIONS as *mut u32
}

/// Whether the thread that runs is in a section.
#[inline]
pub fn is_inside() -> bool {
    // SAFETY: a word of the control blocks, which are mapped; so below.
    unsafe { *word() % DEEPER == world().current as u32 + 1 }
}

/// `__VERIFIER_atomic_begin`.
pub extern "C-unwind" fn begin() {
    if is_inside() {
        fault::raise("begins an atomic section inside of one (`__VERIFIER_atomic_begin`)");
    }
    enter();
}

/// `__VERIFIER_atomic_end`.
pub extern "C-unwind" fn end() {
    if !is_inside() {
        fault::raise("ends an atomic section without being in one (`__VERIFIER_atomic_end`)");
    }
    leave();
}

/// A function whose name begins with `__VERIFIER_atomic_` is called: it is a section as a whole.
pub extern "C-unwind" fn function_begin() {
    if is_inside() { unsafe { *word() += DEEPER } } else { enter() }
}

/// It returns.
pub extern "C-unwind" fn function_end() {
    if !is_inside() {
        fault::raise("ends an atomic section in a function that is one as a whole (`__VERIFIER_atomic_…`)");
    }
    unsafe { if *word() >= DEEPER { *word() -= DEEPER } else { leave() } }
}

/// Makes beginnings and ends of sections steps, even if no other thread has sections: where they are has to be known.
fn show() {
    let w = world();
    if !w.alone && w.shadow.number(SECTIONS).is_none() {
        w.shadow.access(w.current, SECTIONS, 4, true, true);
        w.shadow.number(SECTIONS).unwrap_or_else(|| w.shadow.show(SECTIONS));
    }
}

/// The beginning of a section: sections exclude each other.
pub fn enter() {
    show();
    Event::sync(SECTIONS, 4).takes().until(0).announce();
    unsafe { *word() = world().current as u32 + 1 };
    barrier(Barrier::Full);
}

/// Its end.
pub fn leave() {
    show();
    Event::sync(SECTIONS, 4).gives().announce();
    let w = world();
    if w.mode == Mode::Live {
        w.look_inside();
    }
    unsafe { *word() = 0 };
    barrier(Barrier::Full);
}

/// Accesses to cells: whether one of them writes, and one of them.
#[derive(Default)]
struct Accesses(FxHashMap<u32, (bool, Pending)>);

impl Accesses {
    fn add(&mut self, access: &Pending) {
        self.0.entry(access.cell).or_insert((false, *access)).0 |= access.kind != AccessKind::Load;
    }

    /// One that conflicts with this.
    fn conflict(&self, access: &Pending) -> Option<Pending> {
        let writes = access.kind != AccessKind::Load;
        self.0.get(&access.cell).filter(|(wrote, _)| *wrote || writes).map(|(_, one)| *one)
    }
}

impl World {
    /// Makes an access wait until no other thread is in a section, if it is one of those.
    #[cold]
    #[inline(never)]
    pub fn guard(&self, pending: &mut Pending, awaited: &mut Awaited) {
        // Executions of a model are explored in another way.
        if pending.waits || self.told.on || !self.guarded.contains(&pending.site) || is_inside() {
            return;
        }
        if let Some(addr) = self.shadow.number(SECTIONS).filter(|&lock| lock != pending.cell) {
            pending.guarded = true;
            *awaited = Awaited { addr, value: 0, until: true };
        }
    }

    /// The steps since the section of this thread began, with the one that is being made.
    fn steps_of_section(&self, owner: usize, lock: u32) -> Vec<(usize, Option<Pending>)> {
        let mut made = vec![0; self.known];
        let mut steps = Vec::with_capacity(self.path.len() + 1);
        let current = self.stepping.then_some(self.current);
        for thread in self.path.iter().map(|step| step.thread()).chain(current) {
            let access = self.threads[thread].slots.get(made[thread]).and_then(Slot::access);
            made[thread] += 1;
            steps.push((thread, access.copied()));
        }
        // The end of a section, if that is the step, is not its beginning. One that began while there was only one thread has none.
        let own = |(thread, access): &(usize, Option<Pending>)| {
            *thread == owner && access.is_some_and(|access| access.cell == lock)
        };
        let last = steps.len() - usize::from(self.stepping);
        let began = steps[..last].iter().rposition(own).map_or(0, |began| began + 1);
        steps.split_off(began)
    }

    /// The thread that runs is at the end of a section.
    #[cold]
    fn look_inside(&mut self) {
        let Some(lock) = self.shadow.number(SECTIONS) else { return };
        self.keep_out(self.current, lock, false);
    }

    /// The thread that runs fails, or ends the program, while somebody may be in a section.
    pub fn look_into_open_section(&mut self) {
        // SAFETY: mapped.
        let owner = unsafe { *word() % DEEPER } as usize;
        if owner != 0
            && self.mode == Mode::Live
            && let Some(lock) = self.shadow.number(SECTIONS)
        {
            self.keep_out(owner - 1, lock, owner - 1 != self.current);
        }
    }

    /// An execution ends, and this thread waits.
    pub fn look_at_end(&mut self, thread: usize) {
        // SAFETY: mapped.
        let owner = unsafe { *word() % DEEPER } as usize;
        let slot = self.threads[thread].slots.last();
        if owner == thread + 1
            && let Some(site) = slot.filter(|slot| slot.pending.waits).map(|slot| slot.pending.site)
            && !self.stuck.contains(&site)
        {
            self.stuck.push(site);
            self.grown = true;
        }
    }

    /// Guards steps of others inside the section of this thread: those that it depends on, or all.
    fn keep_out(&mut self, owner: usize, lock: u32, all: bool) {
        let (mut before, mut inside, mut threads) = (Accesses::default(), Accesses::default(), FxHashSet::default());
        let mut found = Vec::new();
        for (thread, access) in self.steps_of_section(owner, lock) {
            let Some(access) = access.filter(|access| access.cell != lock) else { continue };
            if thread == owner {
                found.extend(inside.conflict(&access));
                before.add(&access);
            } else if threads.contains(&thread) || before.conflict(&access).is_some() {
                threads.insert(thread);
                before.add(&access);
                inside.add(&access);
                if all && !access.waits {
                    found.push(access);
                }
            }
        }
        for access in found {
            let list = if access.waits || access.guarded { &mut self.intruders } else { &mut self.guarded };
            if !list.contains(&access.site) {
                list.push(access.site);
                self.grown = true;
            }
        }
    }
}
