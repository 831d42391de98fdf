//! Schedules of executions that need not be sequentially consistent.
//!
//! As a [`Schedule`], with `~k` after a thread whose step is behind the last k writes to its address ([`WeakStep`]): in `a2b~1b`
//! thread 0 makes two steps, then thread 1 one that comes before the last write to its address, and then another. A count and
//! `~` do not combine. Every schedule is a weak one in which no step is behind anything.

use crate::schedule::{Part, read, write};
use crate::{BadSchedule, Schedule, Step};
use membar_core::WeakStep;
use std::fmt;
use std::str::FromStr;

/// A sequence of steps that may be behind others.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct WeakSchedule(pub Vec<WeakStep>);

impl WeakSchedule {
    /// The same as a schedule, if no step is behind anything.
    pub fn sequential(&self) -> Option<Schedule> {
        let step = |step: &WeakStep| match step.choice {
            Some(outcome) => Step::choice(step.thread as usize, outcome as u32),
            None => Step::of(step.thread as usize),
        };
        self.0.iter().map(|weak| (weak.behind == 0).then(|| step(weak))).collect::<Option<_>>().map(Schedule)
    }
}

impl From<&Schedule> for WeakSchedule {
    fn from(schedule: &Schedule) -> WeakSchedule {
        let weak =
            |step: &Step| WeakStep { thread: step.thread() as u32, choice: step.outcome().map(u64::from), behind: 0 };
        WeakSchedule(schedule.0.iter().map(weak).collect())
    }
}

impl fmt::Display for WeakSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a == b && a.choice.is_none() && a.behind == 0);
        let part = |run: &[WeakStep]| match run[0] {
            WeakStep { choice: Some(outcome), .. } => Part::Choice(outcome as u32),
            WeakStep { behind: 0, .. } => Part::Steps(run.len()),
            WeakStep { behind, .. } => Part::Behind(behind),
        };
        write(f, runs.map(|run| (run[0].thread as usize, part(run))))
    }
}

impl From<WeakSchedule> for String {
    fn from(schedule: WeakSchedule) -> String {
        schedule.to_string()
    }
}

impl TryFrom<String> for WeakSchedule {
    type Error = BadSchedule;

    fn try_from(text: String) -> Result<WeakSchedule, BadSchedule> {
        text.parse()
    }
}

impl FromStr for WeakSchedule {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<WeakSchedule, BadSchedule> {
        let mut steps = Vec::new();
        read(text, true, |thread, part| {
            let thread = thread as u32;
            match part {
                Part::Steps(count) => steps.resize(steps.len() + count, WeakStep::of(thread)),
                Part::Behind(behind) => steps.push(WeakStep { behind, ..WeakStep::of(thread) }),
                Part::Choice(outcome) => steps.push(WeakStep { choice: Some(outcome.into()), ..WeakStep::of(thread) }),
            }
        })?;
        Ok(WeakSchedule(steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use membar_core::Rng;

    fn step(thread: u32, behind: u32) -> WeakStep {
        WeakStep { behind, ..WeakStep::of(thread) }
    }

    #[test]
    fn steps_behind_writes_round_trip() {
        let choice = WeakStep { choice: Some(4), ..WeakStep::of(0) };
        for (steps, text) in [
            (vec![step(0, 0), step(0, 0), step(0, 0), step(1, 2), step(0, 0)], "a3b~2a"),
            (vec![step(0, 1), step(0, 1), step(0, 0), step(0, 0), step(0, 1)], "a~1a~1a2a~1"),
            (vec![step(0, 12), choice, choice, step(52, 3)], "a~12[4][4]{52}~3"),
            (vec![choice, step(0, 1)], "a0[4]a~1"),
            (vec![], ""),
        ] {
            assert_eq!(WeakSchedule(steps.clone()).to_string(), text);
            assert_eq!(text.parse::<WeakSchedule>().unwrap().0, steps, "{text}");
        }
    }

    #[test]
    fn random_ones_round_trip_as_text_and_through_serde() {
        let mut rng = Rng::new(7);
        for _ in 0..500 {
            let steps = (0..rng.below(20)).map(|_| {
                let thread = rng.below(60);
                match rng.below(4) {
                    0 => WeakStep { choice: Some(rng.below(100).into()), ..WeakStep::of(thread % 2) },
                    1 => step(thread, 1 + rng.below(30)),
                    _ => step(thread % 2, 0),
                }
            });
            let schedule = WeakSchedule(steps.collect());
            assert_eq!(schedule.to_string().parse(), Ok(schedule.clone()));
            let json = serde_json::to_string(&schedule).unwrap();
            assert_eq!(json, format!("\"{schedule}\""));
            assert_eq!(serde_json::from_str::<WeakSchedule>(&json).unwrap(), schedule);
        }
        assert!(serde_json::from_str::<WeakSchedule>("\"a~\"").is_err());
    }

    #[test]
    fn schedules_are_weak_schedules() {
        for text in ["", "a3ba", "a2[1]b", "a0[0]b0[2]ab", "{60}[7]"] {
            let schedule: Schedule = text.parse().unwrap();
            let weak: WeakSchedule = text.parse().unwrap();
            assert_eq!(weak, WeakSchedule::from(&schedule));
            assert_eq!(weak.sequential(), Some(schedule));
            assert_eq!(weak.to_string(), text);
        }
        assert_eq!("ab~1".parse::<WeakSchedule>().unwrap().sequential(), None);
    }

    #[test]
    fn invalid_ones_are_refused_with_their_place() {
        use BadSchedule::*;
        for (text, error) in [
            ("a2~1", BadBehind { at: 3 }),
            ("~1", BadBehind { at: 1 }),
            ("a~", BadBehind { at: 2 }),
            ("ab~0", BadBehind { at: 3 }),
            ("a~b", BadBehind { at: 2 }),
            ("a[1]~2", BadBehind { at: 5 }),
            ("a~1~1", BadBehind { at: 4 }),
            ("a~99999999999999", BadBehind { at: 2 }),
            ("a-b", NoThread { at: 2, found: '-' }),
            ("a~1[", BadOutcome { at: 4 }),
            ("a9999999b~1b9999999", BadCount { at: 13 }),
        ] {
            assert_eq!(text.parse::<WeakSchedule>(), Err(error.clone()), "{text}");
            assert!(error.to_string().starts_with("character "));
        }
        assert_eq!("a~1".parse::<Schedule>(), Err(NoThread { at: 2, found: '~' }));
    }
}
