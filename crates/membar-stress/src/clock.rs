//! The time-stamp counter, and how far the counters of cores differ.
//!
//! Problem: each core has its own counter. For timestamps of different cores to be compared, their offsets must be known, with
//! a bound on the error.
//!
//! Algorithm: two threads on two cores play ping-pong. The first reads its counter (`t1`), sends, waits for the answer and reads
//! it again (`t3`); the second reads its own (`t2`) between receiving and answering. So `t2` was read between `t1` and
//! `t3`, and the second counter is ahead of the first by something between `t2 - t3` and `t2 - t1`. All rounds together bound
//! the offset by the intersection of these intervals: its middle is the offset, half its width the error.
//!
//! Guarantees: the bound holds if both counters run at one constant rate. A thread that loses its core only makes an interval
//! wide. Where intervals contradict each other, the rates differ, and the error is what covers all of them.
//!
//! Where there is no such counter that programs may read, time is the system's monotonic clock in nanoseconds, the same on all cores.
#![allow(unsafe_code)]

use crate::barrier::Wait;
use crate::cores::pin;
use crate::{Cores, Error};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Now, in cycles of the counter: after everything before it was executed and before anything after it.
#[inline]
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // newer compilers call some of these safe
pub(crate) fn now() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: every x86-64 processor has both, and Linux lets programs read the counter.
    unsafe {
        _mm_lfence();
        let now = _rdtsc();
        _mm_lfence();
        now
    }
}

/// Now, roughly: not ordered with what is around it.
#[inline]
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)]
pub(crate) fn about_now() -> u64 {
    // SAFETY: as above.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Now, in nanoseconds.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use now as about_now;

/// How far a core's counter is ahead of the first core's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offset {
    /// By this many cycles.
    pub ahead: i64,
    /// It may be this much more or less.
    pub error: u64,
}

/// The offsets of cores, in the order of their list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offsets {
    cores: Vec<usize>,
    offsets: Vec<Offset>,
}

/// Everything known about one offset: it is at least `low` and at most `high`.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: i64,
    high: i64,
}

impl Bounds {
    fn offset(self) -> Offset {
        let middle = self.low.midpoint(self.high);
        Offset { ahead: middle, error: self.low.abs_diff(middle).max(self.high.abs_diff(middle)) }
    }
}

/// Rounds, and how long they may take: a busy machine plays fewer.
const ROUNDS: i64 = 4000;
const LONGEST: Duration = Duration::from_millis(100);

impl Offsets {
    /// Measures the counters of these cores against the first one's: a few milliseconds each.
    pub fn measure(cores: &Cores) -> Result<Offsets, Error> {
        let mut numbers = cores.numbers().to_vec();
        let first = numbers[0];
        numbers.sort_unstable();
        numbers.dedup();
        let mut offsets = Vec::with_capacity(numbers.len());
        for &core in &numbers {
            offsets.push(if core == first { Offset::default() } else { measure(first, core)?.offset() });
        }
        Ok(Offsets { cores: numbers, offsets })
    }

    /// Of this core; nothing is known of others.
    pub fn of(&self, core: usize) -> Offset {
        self.cores.binary_search(&core).map_or(Offset::default(), |at| self.offsets[at])
    }

    /// How far a timestamp may be off once offsets are taken away.
    pub fn error(&self) -> u64 {
        self.offsets.iter().map(|offset| offset.error).max().unwrap_or(0)
    }
}

/// A word that has its cache line, and the one that is fetched with it, for itself.
#[derive(Default)]
#[repr(align(128))]
struct Word<T>(T);

fn measure(first: usize, second: usize) -> Result<Bounds, Error> {
    // `ping` and `pong` count rounds; ping is -1 when the game is over.
    let (ping, pong, theirs) = (Word(AtomicI64::new(0)), Word(AtomicI64::new(0)), Word(AtomicU64::new(0)));
    std::thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let pinned = pin(second);
            let mut round = 1;
            loop {
                let mut wait = Wait::default();
                loop {
                    match ping.0.load(Ordering::Acquire) {
                        -1 => return pinned,
                        got if got == round => break,
                        _ => wait.round(),
                    }
                }
                theirs.0.store(now(), Ordering::Relaxed);
                pong.0.store(round, Ordering::Release);
                round += 1;
            }
        });
        let asking = scope.spawn(|| {
            let pinned = pin(first);
            let (mut low, mut high) = (i64::MIN, i64::MAX);
            let (mut least, mut most) = (i64::MAX, i64::MIN);
            let start = Instant::now();
            // One round at least, or nothing would be known.
            for round in 1..=ROUNDS {
                let before = now();
                ping.0.store(round, Ordering::Release);
                let mut wait = Wait::default();
                while pong.0.load(Ordering::Acquire) != round {
                    wait.round();
                }
                let after = now();
                let theirs = theirs.0.load(Ordering::Relaxed);
                let (at_least, at_most) = (theirs.wrapping_sub(after) as i64, theirs.wrapping_sub(before) as i64);
                (low, high) = (low.max(at_least), high.min(at_most));
                (least, most) = (least.min(at_least), most.max(at_most));
                if start.elapsed() > LONGEST {
                    break;
                }
            }
            ping.0.store(-1, Ordering::Release);
            pinned.map(|()| if low <= high { Bounds { low, high } } else { Bounds { low: least, high: most } })
        });
        let bounds = asking.join().map_err(|_| Error::Worker)?;
        answering.join().map_err(|_| Error::Worker)??;
        bounds
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on() {
        let before = now();
        let between = about_now();
        assert!(before <= between.saturating_add(1) && before < now());
    }

    #[test]
    fn offsets_are_bounded() {
        let cores = Cores::allowed();
        let offsets = Offsets::measure(&cores).unwrap();
        assert_eq!(offsets.of(cores.numbers()[0]), Offset::default());
        // Half a second would mean that no round ever succeeded.
        assert!(offsets.error() < 1_000_000_000, "{offsets:?}");
        assert_eq!(Bounds { low: -3, high: 6 }.offset(), Offset { ahead: 1, error: 5 });
    }
}
