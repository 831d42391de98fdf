//! Schedules: which thread makes the next access, step by step, as short printable strings.
//!
//! A thread is a letter, `a` to `z` for threads 0 to 25, `A` to `Z` for 26 to 51, or its number in braces (`{52}`); a
//! number after it says how many steps it makes. `a3ba` is thread 0 three times, thread 1, thread 0. A number in brackets is the
//! outcome of a choice, which the thread before it makes then: in `a2[1]b` thread 0 makes two steps and chooses 1. If a
//! thread chooses before it has made a step, that is not a step: `a0[1]`.

use crate::{MAX_OUTCOMES, MAX_THREADS};
use std::fmt;
use std::str::FromStr;

/// A step: the thread that makes it and, if it is a choice, with which outcome.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Step(u32);

impl Step {
    /// An access of the thread, whose number is below 256.
    #[inline]
    pub const fn of(thread: usize) -> Step {
        Step(thread as u8 as u32)
    }

    /// A choice of the thread with this outcome, which is at most [`MAX_OUTCOMES`].
    pub const fn choice(thread: usize, outcome: u32) -> Step {
        Step((outcome + 1) << 8 | thread as u8 as u32)
    }

    /// The thread that makes the step.
    #[inline]
    pub const fn thread(self) -> usize {
        (self.0 & 0xff) as usize
    }

    /// The outcome, if it is a choice.
    #[inline]
    pub const fn outcome(self) -> Option<u32> {
        (self.0 >> 8).checked_sub(1)
    }

    /// As a number.
    #[inline]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// From its number.
    pub const fn from_bits(bits: u32) -> Step {
        Step(bits)
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.thread())?;
        self.outcome().map_or(Ok(()), |outcome| write!(f, "[{outcome}]"))
    }
}

/// A sequence of steps.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Schedule(pub Vec<Step>);

/// The longest schedule that is read from text.
const MAX_STEPS: usize = 10_000_000;

/// A part of a schedule's text, about the thread before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// It makes this many steps.
    Steps(usize),
    /// It makes a step that is behind this many writes.
    Behind(u32),
    /// It makes a choice with this outcome.
    Choice(u32),
}

/// Writes the parts, each with its thread.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, parts: impl Iterator<Item = (usize, Part)>) -> fmt::Result {
    let mut last = None;
    for (thread, part) in parts {
        let chooses = matches!(part, Part::Choice(_));
        if !chooses || last != Some(thread) {
            match thread as u8 {
                t @ 0..26 => write!(f, "{}", char::from(b'a' + t))?,
                t @ 26..52 => write!(f, "{}", char::from(b'A' + t - 26))?,
                t => write!(f, "{{{t}}}")?,
            }
        }
        match part {
            Part::Choice(outcome) if last == Some(thread) => write!(f, "[{outcome}]")?,
            Part::Choice(outcome) => write!(f, "0[{outcome}]")?,
            Part::Behind(writes) => write!(f, "~{writes}")?,
            Part::Steps(1) => {}
            Part::Steps(count) => write!(f, "{count}")?,
        }
        last = Some(thread);
    }
    Ok(())
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a == b && a.outcome().is_none());
        write(f, runs.map(|run| (run[0].thread(), run[0].outcome().map_or(Part::Steps(run.len()), Part::Choice))))
    }
}

/// Why a text is not a schedule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadSchedule {
    /// Something that is not a thread.
    #[error(
        "character {at} of the schedule, `{found}`, is not a thread: threads are `a` to `z`, `A` to `Z` or `{{52}}`"
    )]
    NoThread {
        /// The character's position, from 1.
        at: usize,
        /// The character.
        found: char,
    },
    /// A thread in braces that is not a number below [`MAX_THREADS`].
    #[error("character {at} of the schedule: expected a thread from 0 to {} in braces", MAX_THREADS - 1)]
    BadNumber {
        /// The position of the brace, from 1.
        at: usize,
    },
    /// A choice whose outcome is not a number, or too large.
    #[error("character {at} of the schedule: expected the outcome of a choice, from 0 to {MAX_OUTCOMES}, in brackets")]
    BadOutcome {
        /// The position of the bracket, from 1.
        at: usize,
    },
    /// A count of 0, or more steps than can be run.
    #[error("character {at} of the schedule: a thread makes between 1 and {MAX_STEPS} steps")]
    BadCount {
        /// The position of the count, from 1.
        at: usize,
    },
    /// A `~` that is not right after a thread, or without a number.
    #[error(
        "character {at} of the schedule: `~` comes right after a thread, and then how many writes its step is behind, from 1"
    )]
    BadBehind {
        /// The position of the `~`, from 1.
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
        let mut steps = Vec::new();
        read(text, false, |thread, part| match part {
            Part::Steps(count) => steps.resize(steps.len() + count, Step::of(thread)),
            Part::Choice(outcome) => steps.push(Step::choice(thread, outcome)),
            Part::Behind(_) => unreachable!("not asked for"),
        })?;
        Ok(Schedule(steps))
    }
}

/// Reads a text part by part, each with its thread; `weak` ones have steps that are behind.
pub(crate) fn read(text: &str, weak: bool, mut take: impl FnMut(usize, Part)) -> Result<(), BadSchedule> {
    let mut chars = text.chars().zip(1..).peekable();
    let mut total = 0;
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
            '~' if weak => return Err(BadSchedule::BadBehind { at }),
            _ => return Err(BadSchedule::NoThread { at, found: c }),
        };
        let thread = usize::from(thread);
        let behind = if weak { chars.next_if(|(c, _)| *c == '~') } else { None };
        let mut count = None;
        while let Some((c, at)) = chars.next_if(|(c, _)| c.is_ascii_digit()) {
            let digit = c as usize - '0' as usize;
            let (first, so_far) = count.unwrap_or((at, 0));
            count = Some((first, (so_far * 10 + digit).min(MAX_STEPS + 1)));
        }
        let part = match (behind, count) {
            (Some((_, at)), writes) => match writes {
                Some((_, writes)) if (1..=MAX_STEPS).contains(&writes) => Part::Behind(writes as u32),
                _ => return Err(BadSchedule::BadBehind { at }),
            },
            (None, count) => Part::Steps(count.map_or(1, |(_, count)| count)),
        };
        let steps = if let Part::Steps(count) = part { count } else { 1 };
        let chooses = chars.peek().is_some_and(|(c, _)| *c == '[');
        if steps == 0 && !chooses || total + steps > MAX_STEPS {
            return Err(BadSchedule::BadCount { at: count.map_or(at, |(at, _)| at) });
        }
        total += steps;
        take(thread, part);
        while let Some((_, at)) = chars.next_if(|(c, _)| *c == '[') {
            let mut number = String::new();
            while let Some((c, _)) = chars.next_if(|(c, _)| c.is_ascii_digit()) {
                number.push(c);
            }
            let closed = chars.next_if(|(c, _)| *c == ']').is_some();
            match number.parse::<u32>() {
                Ok(outcome) if closed && outcome <= MAX_OUTCOMES && total < MAX_STEPS => {
                    total += 1;
                    take(thread, Part::Choice(outcome));
                }
                _ => return Err(BadSchedule::BadOutcome { at }),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(threads: &[usize]) -> Schedule {
        Schedule(threads.iter().map(|&thread| Step::of(thread)).collect())
    }

    #[test]
    fn schedules_round_trip() {
        for steps in [&[][..], &[0], &[0, 0, 0, 1, 0], &[25, 26, 51, 52, 52, 63], &[7; 1000]] {
            let text = of(steps).to_string();
            assert_eq!(text.parse::<Schedule>().unwrap(), of(steps), "{text}");
        }
        assert_eq!(of(&[0, 0, 0, 1, 0]).to_string(), "a3ba");
        assert_eq!(of(&[52, 52]).to_string(), "{52}2");
    }

    #[test]
    fn choices_are_written_after_the_steps_of_their_thread() {
        let (a, b) = (Step::of(0), Step::of(1));
        let choice = Step::choice;
        for (steps, text) in [
            (vec![a, a, choice(0, 1), b], "a2[1]b"),
            (vec![choice(0, 0), choice(1, 2), a, b], "a0[0]b0[2]ab"),
            (vec![a, choice(0, 3), choice(0, 3), a, a, choice(0, 0)], "a[3][3]a2[0]"),
            (vec![choice(0, 65_534)], "a0[65534]"),
            (vec![b, choice(0, 1)], "ba0[1]"),
            (vec![Step::of(60), choice(60, 7)], "{60}[7]"),
        ] {
            assert_eq!(Schedule(steps.clone()).to_string(), text);
            assert_eq!(text.parse::<Schedule>().unwrap().0, steps, "{text}");
        }
        assert_eq!(format!("{:?}", [a, choice(1, 4)]), "[0, 1[4]]");
    }

    #[test]
    fn many_threads_and_long_schedules_round_trip() {
        // Every thread, never twice in a row; and a very long run of one.
        let steps: Vec<usize> = (0..100_000).map(|i| (i * 37 + i / 64) % MAX_THREADS).collect();
        for steps in [steps, vec![255; 100_000]] {
            let schedule = of(&steps);
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
        assert!((0..MAX_THREADS).all(|t| of(&[t; 3]).to_string().parse() == Ok(of(&[t; 3]))));
    }

    #[test]
    fn invalid_schedules_are_refused_with_their_place() {
        use BadSchedule::*;
        for (text, error) in [
            ("a-b", NoThread { at: 2, found: '-' }),
            ("3a", NoThread { at: 1, found: '3' }),
            ("a{256}", BadNumber { at: 2 }),
            ("{1", BadNumber { at: 1 }),
            ("{}", BadNumber { at: 1 }),
            ("a0", BadCount { at: 2 }),
            ("a99999999999999999999999", BadCount { at: 2 }),
            ("a9999999b9999999", BadCount { at: 10 }),
            ("a0b", BadCount { at: 2 }),
            ("[1]", NoThread { at: 1, found: '[' }),
            ("a[", BadOutcome { at: 2 }),
            ("ab[]", BadOutcome { at: 3 }),
            ("a[1][x]", BadOutcome { at: 5 }),
            ("a[65536]", BadOutcome { at: 2 }),
        ] {
            assert_eq!(text.parse::<Schedule>(), Err(error), "{text}");
        }
    }
}
