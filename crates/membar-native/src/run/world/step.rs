//! Making steps: the thread that is to run makes the access that it announced, and runs to its next announcement.
//!
//! While a step is made the world is the program's: code here has no reference to it across [`World::go`].

use super::{Mode, World, world};
use crate::run::coroutine::Thread;
use crate::run::layout::CHOICE;
use crate::run::shadow::read;
use crate::run::slot::{END_SITE, NO_STAMP, NOTHING, Pending, START_SITE, Slot, Stand};
use membar_core::{Access, AccessKind, Performed};
use membar_explore::{Fault, Standing, Step, Stop, Watched};

/// The step of a thread that compares, or chooses, and found this.
fn made_by(id: usize, kind: AccessKind, old: u64) -> Step {
    match kind {
        AccessKind::Load => Step::choice(id, old as u32),
        _ => Step::of(id),
    }
}

impl World {
    /// Makes a step of a thread whose stand is an access, and up to `more` others ([`membar_explore::Program::steps`]).
    #[inline(always)]
    pub fn steps(id: usize, more: usize, watched: Watched, made: &mut Vec<Performed>) -> Stop {
        let w = world();
        if (w.live != w.path.len()) | w.void {
            if !w.void {
                World::catch_up();
            }
            if world().void {
                made.push(world().void_step(Step::of(id)));
                return Stop { standing: Standing::Stopped, disturbs: false };
            }
        }
        let w = world();
        let thread: *mut Thread = &mut w.threads[id];
        // SAFETY: threads are never moved.
        let Some(&Pending { cell, .. }) = unsafe { (*thread).slots.last() }.and_then(Slot::access) else {
            panic!("thread {id} has no access to make");
        };
        made.reserve(more + 1);
        (w.watched, w.made, w.disturbed) = (watched, &raw mut *made, false);
        w.begin_step(Step::of(id), cell);
        if w.poison.is_empty() & w.endless.is_empty() {
            w.more = more;
            World::go(id, thread);
            world().more = 0;
        } else if !w.is_poisoned(Step::of(id)) && !w.is_endless(Some(Step::of(id))) {
            World::go(id, thread);
        }
        let w = world();
        if w.stepping {
            w.last_step(id);
        }
        w.live = w.path.len();
        if !w.sampling {
            w.void = w.grown | w.shadow.grown;
            if w.path.len() >= w.snapshots.next && !w.void && !w.told.on {
                w.keep_state(w.path.len());
            }
        }
        // SAFETY: as above.
        let standing = match unsafe { (*thread).slots.last() } {
            Some(slot) if !w.void => slot.standing(),
            _ => Standing::Stopped,
        };
        Stop { standing, disturbs: w.disturbed }
    }

    /// Makes a choice of a thread that is at one, and what comes before its next access.
    #[cold]
    pub fn choice(id: usize, outcome: u32) -> Performed {
        if world().live != world().path.len() && !world().void {
            World::catch_up();
        }
        let w = world();
        let cell = w.threads[id].slots.last().and_then(Slot::access).map(|pending| pending.cell);
        let Some(cell) = cell.filter(|_| !w.void) else { return w.void_step(Step::choice(id, outcome)) };
        let mut made = Vec::with_capacity(1);
        (w.watched, w.made, w.disturbed) = (Watched::default(), &raw mut made, false);
        w.decide(outcome);
        let step = Step::choice(id, outcome);
        w.begin_step(step, cell);
        if (w.poison.is_empty() || !w.is_poisoned(step)) && (w.endless.is_empty() || !w.is_endless(Some(step))) {
            World::go(id, &raw mut world().threads[id]);
        }
        let w = world();
        if w.stepping {
            w.last_step(id);
        }
        w.live = w.path.len();
        if !w.sampling {
            w.void = w.grown | w.shadow.grown;
        }
        made[0]
    }

    /// Sees to it that the choice that is made next reads this.
    pub fn decide(&mut self, outcome: u32) {
        // SAFETY: a word of the control block, which is mapped.
        unsafe { *(CHOICE as *mut u32) = outcome };
    }

    /// The thread is about to make its access.
    #[inline(always)]
    fn begin_step(&mut self, step: Step, cell: u32) {
        self.old = read(&self.shadow.cells[cell as usize]);
        self.steps += 1;
        self.stepping = true;
        self.record(self.path.len(), step);
    }

    /// It has made it: notes what it was, what was there before, and what is there now.
    #[inline(always)]
    fn end_step(&mut self, pending: &Pending) {
        let &Pending { expected, cell, site, kind, barrier, c11, part, compares, .. } = pending;
        let (id, old, new) = (self.current, self.old, self.new);
        self.stepping = false;
        self.path.push(if compares { made_by(id, kind, old) } else { Step::of(id) });
        if !self.sampling {
            self.frames.push((cell, old));
            self.set_value(cell, new);
        }
        let access = Access { kind, barrier, c11, part, addr: cell, site, expected: compares.then_some(expected) };
        let writes = access.writes_on(old);
        self.disturbed |= writes & self.watched.has(cell);
        // SAFETY: the scheduler that asked for steps waits for them, and has made room for all.
        unsafe {
            let made = &mut *self.made;
            made.as_mut_ptr().add(made.len()).write(Performed { thread: id as u32, access, writes, old, new });
            made.set_len(made.len() + 1);
        }
    }

    /// The thread that runs has made a step and announced the next one: whether it may make that too, without being asked.
    /// Then that has begun.
    #[inline(always)]
    pub fn goes_on(&mut self, made: &Pending, next: &Slot) -> bool {
        self.end_step(made);
        let looked_at = !self.sampling && (self.grown | self.shadow.grown | (self.path.len() >= self.snapshots.next));
        if (self.more == 0) | next.waits() | self.disturbed | looked_at {
            return false;
        }
        self.more -= 1;
        self.begin_step(Step::of(self.current), next.pending.cell);
        true
    }

    /// The thread has made a step and not come to another access.
    #[inline(never)]
    fn last_step(&mut self, id: usize) {
        let pending =
            self.threads[id].slots.last().map_or(Pending::plain(0, END_SITE, AccessKind::Load), |slot| slot.pending);
        self.push_end(id);
        self.new = read(&self.shadow.cells[pending.cell as usize]);
        self.end_step(&pending);
    }

    /// Notes that the thread will make no access any more.
    pub(super) fn push_end(&mut self, id: usize) {
        let thread = &mut self.threads[id];
        let pending = Pending::plain(0, END_SITE, AccessKind::Load);
        let idle = thread.slots.last().map(|slot| slot.idle).unwrap_or_default();
        let stand = thread.stand;
        thread.slots.push(Slot { pending, stand, stamped: NO_STAMP, awaited: NOTHING, idle });
    }

    /// The step that is being made.
    fn step_in_progress(&self) -> Step {
        match self.this().slots.last().and_then(Slot::access) {
            Some(pending) if pending.compares => made_by(self.current, pending.kind, self.old),
            _ => Step::of(self.current),
        }
    }

    /// Makes a thread's access, for a caller that acts as memory.
    pub fn perform(id: usize) {
        world().stepping = false;
        World::go(id, &raw mut world().threads[id]);
        world().live = usize::MAX;
    }

    /// A step that is not made, so that a thread in the middle of something can finish it.
    #[cold]
    fn void_step(&mut self, step: Step) -> Performed {
        let id = step.thread();
        let access = crate::run::program::access(&Pending::plain(0, START_SITE, AccessKind::Load));
        self.live = usize::MAX;
        self.path.push(step);
        let value = self.values.first().copied().unwrap_or(0);
        self.set_value(0, value);
        self.frames.push((0, value));
        match self.threads[id].slots.last().copied() {
            Some(slot) => self.threads[id].slots.push(Slot { stamped: NO_STAMP, ..slot }),
            None => self.push_end(id),
        }
        Performed { thread: id as u32, access, writes: false, old: 0, new: 0 }
    }

    /// Records which step is made, for the parent in case this process dies.
    #[inline]
    fn record(&self, at: usize, step: Step) {
        if at < self.black_box_len {
            // SAFETY: the memory was given for this, and is that long.
            unsafe {
                *self.black_box.add(8).cast::<u32>().add(at) = step.to_bits();
                *self.black_box.add(4).cast::<u32>() = at as u32 + 1;
            }
        }
    }

    /// Whether the thread, or the first one if the program is only beginning, is known to run forever from here.
    #[cold]
    pub(super) fn is_endless(&mut self, step: Option<Step>) -> bool {
        let path = &self.path[..];
        let found = self.found();
        let is = |known: &[Step], then: &[u64]| match step {
            Some(step) => known.split_last() == Some((&step, path)) && then == found,
            None => known.is_empty(),
        };
        let Some((_, _, fault)) = self.endless.iter().find(|(known, then, _)| is(known, then)) else { return false };
        self.stop_instead(step.map_or(0, Step::thread), fault.clone());
        true
    }

    /// The thread is not run but stopped: the step is still its own, not one of the thread that ran last.
    fn stop_instead(&mut self, id: usize, fault: Fault) {
        let thread = &mut self.threads[id];
        (thread.fault, thread.stand) = (Some(fault), Stand::Fault);
        (self.current, self.this) = (id, &raw mut *thread);
    }

    /// The thread that runs would run forever. Noted if this is the first time that it is here.
    pub fn never_ends(&mut self, fault: &Fault) {
        let first = self.stepping;
        if self.mode == Mode::Live && (first || self.path.is_empty()) {
            let step = first.then(|| self.step_in_progress());
            self.endless.push((self.path.iter().copied().chain(step).collect(), self.found(), fault.clone()));
        }
    }

    #[cold]
    fn is_poisoned(&mut self, step: Step) -> bool {
        let id = step.thread();
        let is = |path: &[Step]| path.split_last() == Some((&step, &self.path[..]));
        let Some((_, fault)) = self.poison.iter().find(|(path, _)| is(path)) else { return false };
        self.stop_instead(id, fault.clone());
        true
    }
}
