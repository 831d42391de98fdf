//! A place where threads meet: none continues before all have come.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Rounds of waiting before a thread lets others have its core.
///
/// A thread alone on its core never gets there in a healthy run; where threads share cores with each other or other processes, the thread
/// that it waits for may need this core.
const PATIENCE: u32 = 2000;

/// Waits, a little at first; gives the core away when that takes long.
#[derive(Default)]
pub(crate) struct Wait {
    rounds: u32,
}

impl Wait {
    /// Gives the core away immediately.
    pub fn impatient() -> Wait {
        Wait { rounds: PATIENCE }
    }

    #[inline]
    pub fn round(&mut self) {
        if self.rounds < PATIENCE {
            self.rounds += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

/// A barrier for a fixed number of threads, with its own cache line.
///
/// Invariant: `arrived` counts those that have come to the meeting number `meetings`; the last one sets it to 0 and starts the
/// next meeting, in this order.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Rendezvous {
    threads: u32,
    arrived: AtomicU32,
    meetings: AtomicU32,
}

impl Rendezvous {
    pub fn new(threads: usize) -> Rendezvous {
        Rendezvous { threads: threads as u32, arrived: AtomicU32::new(0), meetings: AtomicU32::new(0) }
    }

    /// Waits for all; false if `stop` was set meanwhile.
    pub fn wait(&self, stop: &AtomicBool) -> bool {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.meetings.store(meeting.wrapping_add(1), Ordering::Release);
            return true;
        }
        let mut wait = Wait::default();
        while self.meetings.load(Ordering::Acquire) == meeting {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            wait.round();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_is_ahead() {
        let (meet, stop) = (Rendezvous::new(3), AtomicBool::new(false));
        let counts = [const { AtomicU32::new(0) }; 3];
        std::thread::scope(|scope| {
            for me in 0..3 {
                let (meet, stop, counts) = (&meet, &stop, &counts);
                scope.spawn(move || {
                    for round in 1..=200 {
                        counts[me].store(round, Ordering::Relaxed);
                        assert!(meet.wait(stop));
                        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) >= round));
                        assert!(meet.wait(stop));
                    }
                });
            }
        });
    }

    #[test]
    fn a_stop_ends_the_waiting() {
        assert!(!Rendezvous::new(2).wait(&AtomicBool::new(true)));
    }
}
