//! The clock that all cores of a simulated machine share, and which of them have something to do.

use crate::{Record, Rng, Times};
use std::ops::Range;

/// A simulation moves one core at a time, real cores all move in parallel: a step of one of `n` busy cores takes `ROUND / n`
/// cycles, so that an operation takes about as long among many cores as among few.
const ROUND: u64 = 4;
const FRACTION: u32 = 8;

/// Counts cycles, and picks who moves next. Cores that can do nothing sleep until a lock is released, or their pause is over, or
/// somebody wakes them; when all sleep forever, the program is stuck.
pub(super) struct Clock {
    /// In parts of a cycle.
    now: u64,
    awake: Vec<u32>,
    asleep: Vec<u32>,
    /// When each core's pause ends.
    resume: Vec<u64>,
    /// No sleeper's pause ends before this.
    next_resume: u64,
    /// A lock was released, and those who sleep do not know yet.
    released: bool,
}

impl Clock {
    pub fn new(cores: usize) -> Clock {
        Clock {
            now: 0,
            awake: (0..cores as u32).collect(),
            asleep: Vec::new(),
            resume: vec![0; cores],
            next_resume: u64::MAX,
            released: false,
        }
    }

    /// The current cycle.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now >> FRACTION
    }

    /// A step of some core.
    #[inline]
    pub fn tick(&mut self) {
        self.now += (ROUND << FRACTION) / (self.awake.len() as u64).max(1);
    }

    /// Where threads are stuck, what was done behind what is stuck happened all the same. Cores are windows of instructions, with a bit
    /// for each that was done.
    pub fn log_what_is_left(
        &self,
        cores: impl Iterator<Item = (Range<u32>, u32)>,
        record: &mut Record,
        times: &mut Times,
    ) {
        for (window, done) in cores {
            for i in window.clone().filter(|i| done >> (i - window.start) & 1 != 0) {
                times.end[i as usize] = self.now();
                record.log.push(i);
            }
        }
    }

    /// Starts a pause of a core.
    pub fn pause(&mut self, core: usize, cycles: u64) {
        self.resume[core] = self.now() + cycles;
    }

    /// Is this core's pause over?
    #[inline]
    pub fn runs(&self, core: usize) -> bool {
        self.resume[core] <= self.now()
    }

    /// The core that moves next, as its place among those that are awake; `None` when nobody ever will. Lets time pass when all
    /// sleep.
    #[inline]
    pub fn pick(&mut self, rng: &mut Rng) -> Option<usize> {
        if self.now() >= self.next_resume {
            self.wake(|_| false);
        } else if self.awake.is_empty() {
            if self.next_resume == u64::MAX {
                return None;
            }
            self.now = self.next_resume << FRACTION;
            self.wake(|_| false);
        }
        Some(rng.below(self.awake.len() as u32) as usize)
    }

    /// The core at this place.
    #[inline]
    pub fn core(&self, place: usize) -> usize {
        self.awake[place] as usize
    }

    /// The core at this place has nothing to do for now.
    pub fn sleep(&mut self, place: usize) {
        let core = self.awake.swap_remove(place);
        self.asleep.push(core);
        let resume = self.resume[core as usize];
        if resume > self.now() {
            self.next_resume = self.next_resume.min(resume);
        }
    }

    /// The core at this place has finished.
    pub fn finish(&mut self, place: usize) {
        self.awake.swap_remove(place);
    }

    /// A lock was released.
    #[inline]
    pub fn release(&mut self) {
        self.released = true;
    }

    /// Wakes all if a lock was released; whether one was.
    #[inline]
    pub fn wake_released(&mut self) -> bool {
        let released = std::mem::take(&mut self.released);
        if released {
            self.wake(|_| true);
        }
        released
    }

    /// Wakes these cores, and those whose pause is over.
    pub fn wake(&mut self, who: impl Fn(usize) -> bool) {
        let now = self.now();
        let mut next = u64::MAX;
        let mut at = 0;
        while at < self.asleep.len() {
            let core = self.asleep[at];
            let resume = self.resume[core as usize];
            // A pause that ended earlier is not what this one waits for.
            if who(core as usize) || resume <= now && resume >= self.next_resume {
                self.asleep.swap_remove(at);
                self.awake.push(core);
                continue;
            }
            if resume > now {
                next = next.min(resume);
            }
            at += 1;
        }
        self.next_resume = next;
    }
}

/// Cores that share a clock.
pub(super) trait Cores {
    /// A core that is picked makes from one to this many steps.
    const BURST: u32;

    fn clock(&mut self) -> &mut Clock;

    /// Whether no part of this core will ever move again.
    #[inline(always)]
    fn has_finished(&self, _core: usize) -> bool {
        false
    }

    /// Moves some part of this core; `false` if nothing can move until another core does something, or a pause is over.
    fn step(&mut self, core: usize, rng: &mut Rng) -> bool;

    /// Wakes those whom the last steps gave something to do.
    #[inline(always)]
    fn wake(&mut self) {
        self.clock().wake_released();
    }

    /// Moves cores picked at random, until none can move any more.
    fn run_all(&mut self, rng: &mut Rng) {
        while let Some(place) = self.clock().pick(rng) {
            let core = self.clock().core(place);
            for _ in 0..1 + rng.below(Self::BURST) {
                self.clock().tick();
                if self.has_finished(core) {
                    self.clock().finish(place);
                    break;
                }
                if !self.step(core, rng) {
                    self.clock().sleep(place);
                    break;
                }
            }
            self.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleepers_wake_in_time() {
        let (mut clock, mut rng) = (Clock::new(2), Rng::new(1));
        clock.pause(0, 50);
        clock.pause(1, 30);
        while let Some(place) = clock.pick(&mut rng) {
            let core = clock.core(place);
            if clock.runs(core) {
                assert_eq!(clock.now(), [50, 30][core]);
                clock.finish(place);
            } else {
                clock.sleep(place);
            }
        }
        assert_eq!(clock.now(), 50);
    }
}
