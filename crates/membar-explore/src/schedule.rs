//! Schedules: which thread makes the next access, step by step, as short printable strings.
//!
//! A thread is a letter, `a` to `z` for threads 0 to 25, `A` to `Z` for 26 to 51, or its number in braces (`{52}`); a
//! number after it says how many steps it makes. `a3ba` is thread 0 three times, thread 1, thread 0.

use crate::MAX_THREADS;
use std::fmt;
use std::str::FromStr;

/// A sequence of threads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Schedule(pub Vec<u8>);

/// The longest schedule that is read from text.
const MAX_STEPS: usize = 10_000_000;

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for run in self.0.chunk_by(|a, b| a == b) {
            match run[0] {
                t @ 0..26 => write!(f, "{}", char::from(b'a' + t))?,
                t @ 26..52 => write!(f, "{}", char::from(b'A' + t - 26))?,
                t => write!(f, "{{{t}}}")?,
            }
            if run.len() > 1 {
                write!(f, "{}", run.len())?;
            }
        }
        Ok(())
    }
}

/// Why a text is no schedule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadSchedule {
    /// Something that is no thread.
    #[error("character {at} of the schedule, `{found}`, is no thread: threads are `a` to `z`, `A` to `Z` or `{{52}}`")]
    NoThread {
        /// The character's position, from 1.
        at: usize,
        /// The character.
        found: char,
    },
    /// A thread in braces that is no number below [`MAX_THREADS`].
    #[error("character {at} of the schedule: expected a thread from 0 to 63 in braces")]
    BadNumber {
        /// The position of the brace, from 1.
        at: usize,
    },
    /// A count of 0, or more steps than can be run.
    #[error("character {at} of the schedule: a thread makes between 1 and {MAX_STEPS} steps")]
    BadCount {
        /// The position of the count, from 1.
        at: usize,
    },
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> String {
        schedule.to_string()
    }
}

impl TryFrom<String> for Schedule {
    type Error = BadSchedule;

    fn try_from(text: String) -> Result<Schedule, BadSchedule> {
        text.parse()
    }
}

impl FromStr for Schedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<Schedule, BadSchedule> {
        let mut chars = text.chars().zip(1..).peekable();
        let mut steps = Vec::new();
        while let Some((c, at)) = chars.next() {
            let thread = match c {
                'a'..='z' => c as u8 - b'a',
                'A'..='Z' => c as u8 - b'A' + 26,
                '{' => {
                    let mut number = String::new();
                    while let Some((c, _)) = chars.next_if(|(c, _)| c.is_ascii_digit()) {
                        number.push(c);
                    }
                    let closed = chars.next_if(|(c, _)| *c == '}').is_some();
                    match number.parse::<u8>() {
                        Ok(thread) if closed && usize::from(thread) < MAX_THREADS => thread,
                        _ => return Err(BadSchedule::BadNumber { at }),
                    }
                }
                _ => return Err(BadSchedule::NoThread { at, found: c }),
            };
            let mut count = None;
            while let Some((c, at)) = chars.next_if(|(c, _)| c.is_ascii_digit()) {
                let digit = c as usize - '0' as usize;
                let (first, so_far) = count.unwrap_or((at, 0));
                count = Some((first, (so_far * 10 + digit).min(MAX_STEPS + 1)));
            }
            let (at, count) = count.unwrap_or((at, 1));
            if count == 0 || steps.len() + count > MAX_STEPS {
                return Err(BadSchedule::BadCount { at });
            }
            steps.resize(steps.len() + count, thread);
        }
        Ok(Schedule(steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_round_trip() {
        for steps in [vec![], vec![0], vec![0, 0, 0, 1, 0], vec![25, 26, 51, 52, 52, 63], vec![7; 1000]] {
            let text = Schedule(steps.clone()).to_string();
            assert_eq!(text.parse::<Schedule>().unwrap().0, steps, "{text}");
        }
        assert_eq!(Schedule(vec![0, 0, 0, 1, 0]).to_string(), "a3ba");
        assert_eq!(Schedule(vec![52, 52]).to_string(), "{52}2");
    }

    #[test]
    fn many_threads_and_long_schedules_round_trip() {
        // Every thread, never twice in a row; and a very long run of one.
        let steps: Vec<u8> = (0..100_000u32).map(|i| ((i * 37 + i / 64) % MAX_THREADS as u32) as u8).collect();
        for steps in [steps, vec![63; 100_000]] {
            let schedule = Schedule(steps);
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
        assert!((0..64).all(|t| Schedule(vec![t; 3]).to_string().parse() == Ok(Schedule(vec![t; 3]))));
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_its_place() {
        use BadSchedule::*;
        for (text, error) in [
            ("a-b", NoThread { at: 2, found: '-' }),
            ("3a", NoThread { at: 1, found: '3' }),
            ("a{64}", BadNumber { at: 2 }),
            ("{1", BadNumber { at: 1 }),
            ("{}", BadNumber { at: 1 }),
            ("a0", BadCount { at: 2 }),
            ("a99999999999999999999999", BadCount { at: 2 }),
            ("a9999999b9999999", BadCount { at: 10 }),
        ] {
            assert_eq!(text.parse::<Schedule>(), Err(error), "{text}");
        }
    }
}
