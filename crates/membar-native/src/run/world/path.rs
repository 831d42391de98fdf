//! The path of steps, and how to get the program to its end again.
//!
//! # Algorithm
//!
//! Each thread's announcement after each of its steps is kept, so going back means forgetting (`slots`), and only when a step is
//! to be made from an earlier state the program is reset, or restored to a state on the way ([`crate::run::snapshot`]), and run
//! again along the path. On the way there a thread continues without a switch as long as the path says so, and each
//! announcement is compared with the one kept: a difference means that the program is not deterministic, and everything
//! stops ([`Divergence`]).

use super::{Mode, World, world};
use crate::run::facts::Divergence;
use crate::run::slot::{Slot, Stand};

impl World {
    /// Brings the world to the beginning for the first time, or after its facts have changed.
    pub fn begin() {
        let w = world();
        for thread in &mut w.threads {
            thread.slots.clear();
            thread.history.clear();
        }
        w.path.clear();
        w.frames.clear();
        w.forget_told();
        w.path_number += 1;
        w.arrivals = 0;
        w.snapshots.clear(!w.sampling);
        w.reset();
        w.mode = Mode::Live;
        World::begin_main();
        world().live = 0;
    }

    /// Runs the first thread to its first announcement.
    fn begin_main() {
        if world().endless.is_empty() || !world().is_endless(None) {
            World::go(0, &raw mut world().threads[0]);
        }
        if world().threads[0].slots.is_empty() {
            world().push_end(0);
        }
    }

    /// Goes to the end of the path.
    ///
    /// A snapshot would hide it if the program did something else the second time. So at first, and then once in a while, it
    /// is run from its beginning.
    pub fn catch_up() {
        const FIRST: u64 = 64;
        const EVERY: u64 = 32;
        let w = world();
        w.arrivals += 1;
        let again = w.arrivals < FIRST || w.arrivals.is_multiple_of(EVERY);
        w.record_path();
        if again || !w.put_back_state() {
            w.reset();
        }
        w.mode = Mode::Again;
        w.replayed += (w.path.len() - w.at) as u64;
        if w.at == 0 {
            World::begin_main();
        }
        loop {
            let w = world();
            if w.at == w.path.len() || w.void {
                break;
            }
            if w.at >= w.snapshots.next {
                w.keep_state(w.at);
            }
            let step = w.path[w.at];
            let id = step.thread();
            if w.threads[id].stand != Stand::Access {
                w.diverge(id, None);
                break;
            }
            if let Some(outcome) = step.outcome() {
                w.decide(outcome);
            }
            if w.told.on {
                w.find_again(w.at);
            }
            w.at += 1;
            World::go(id, &raw mut w.threads[id]);
            let w = world();
            if w.told.on {
                w.leave_again(w.at);
                w.told.dead = false;
            }
        }
        let w = world();
        w.mode = Mode::Live;
        w.live = w.path.len();
    }

    /// Writes the whole path down.
    #[inline]
    fn record_path(&self) {
        let len = self.path.len().min(self.black_box_len);
        if len > 0 {
            // SAFETY: the memory was given for this, and is that long.
            unsafe {
                std::ptr::copy_nonoverlapping(self.path.as_ptr().cast(), self.black_box.add(8).cast::<u32>(), len);
                *self.black_box.add(4).cast::<u32>() = len as u32;
            }
        }
    }

    #[cold]
    pub fn diverge(&mut self, id: usize, second: Option<u32>) {
        let thread = &self.threads[id];
        let slot = thread.slots.get(thread.said).or(thread.slots.last());
        let first = slot.and_then(Slot::access).map(|pending| pending.site);
        let step = self.at as u32;
        self.void = true;
        self.diverged.get_or_insert(Divergence { thread: id as u32, step, first, second });
    }

    /// Back to the beginning.
    pub fn rewind() {
        let w = world();
        for (cell, old) in w.frames.drain(..).rev() {
            w.values[cell as usize] = old;
        }
        w.path.clear();
        w.forget_told();
        w.path_number += 1;
        w.snapshots.clear(!w.sampling);
        for thread in &mut w.threads[..w.known] {
            thread.slots.truncate(1);
            let idle = thread.slots.first().map(|slot| slot.idle).unwrap_or_default();
            thread.history.truncate(&idle);
        }
        if w.sampling && !w.void {
            // Memory is asked for its values.
            World::catch_up();
        }
    }

    /// Takes the last step back.
    #[inline]
    pub fn undo(&mut self) {
        let id = self.path.pop().expect("a step to take back").thread();
        let (cell, old) = self.frames.pop().expect("as many as steps");
        self.values[cell as usize] = old;
        self.forget_told();
        if self.path.len() < self.snapshots.last {
            self.snapshots.drop_to(self.path.len());
        }
        let thread = &mut self.threads[id];
        if let Some(Slot { stamped, .. }) = thread.slots.pop()
            && let Some(stamp) = self.stamps.get_mut(stamped as usize)
        {
            stamp.threads &= !(1 << (id % 64));
        }
        let idle = thread.slots.last().expect("one more than steps").idle;
        thread.history.truncate(&idle);
    }
}
