//! Sets of threads.
//!
//! Threads that can run, that are asleep, that are to be run: every step examines a set of threads, and in nearly every program a word
//! holds them. So the code that runs an execution is made for one kind of set, a word or [`Many`], which is chosen once
//! for all executions. Sets that are kept, saved or passed between workers are [`Many`].

use crate::MAX_THREADS;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// A set of threads.
pub trait Set:
    Copy + Eq + fmt::Debug + BitAnd<Output = Self> + BitAndAssign + BitOr<Output = Self> + BitOrAssign + Not<Output = Self>
{
    /// The most threads that programs with such sets have.
    const MOST: usize;
    /// The empty set.
    const NONE: Self;
    /// One thread.
    fn one(thread: usize) -> Self;
    /// The thread with the lowest number; unspecified for the empty set.
    fn first(self) -> usize;
    /// The set without that thread.
    fn rest(self) -> Self;
    /// The number of threads.
    fn count(self) -> u32;
    /// The n-th thread, from 0, of more than that.
    fn nth(self, n: u32) -> usize;
    /// The same set, as others see it.
    fn many(self) -> Many;
    /// The same set, which has no thread beyond [`Set::MOST`].
    fn few(many: Many) -> Self;

    /// The thread if the condition holds, otherwise the empty set.
    #[inline(always)]
    fn one_if(thread: usize, so: bool) -> Self {
        if so { Self::one(thread) } else { Self::NONE }
    }

    /// Whether the set is empty.
    #[inline(always)]
    fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Whether the set is not empty.
    #[inline(always)]
    fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// Whether the thread is one of them.
    #[inline(always)]
    fn has(self, thread: usize) -> bool {
        (self & Self::one(thread)).is_some()
    }

    /// The lowest one alone, if there is one.
    #[inline(always)]
    fn lowest(self) -> Self {
        self & !self.rest()
    }

    /// The threads, the lowest first.
    #[inline(always)]
    fn iter(self) -> Threads<Self> {
        Threads(self)
    }
}

/// The threads of a set.
#[derive(Clone, Debug)]
pub struct Threads<S>(S);

impl<S: Set> Iterator for Threads<S> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let first = self.0.is_some().then(|| self.0.first());
        self.0 = self.0.rest();
        first
    }
}

impl Set for u64 {
    const MOST: usize = 64;
    const NONE: u64 = 0;

    #[inline(always)]
    fn one(thread: usize) -> u64 {
        1 << thread
    }

    #[inline(always)]
    fn first(self) -> usize {
        self.trailing_zeros() as usize
    }

    #[inline(always)]
    fn rest(self) -> u64 {
        self & self.wrapping_sub(1)
    }

    /// Few threads are what most programs have, and not every machine has an instruction for this.
    #[inline(always)]
    fn count(self) -> u32 {
        const SMALL: [u8; 64] = {
            let mut counts = [0; 64];
            let mut set = 1;
            while set < counts.len() {
                counts[set] = counts[set / 2] + set as u8 % 2;
                set += 1;
            }
            counts
        };
        match SMALL.get(self as usize) {
            Some(&count) => u32::from(count),
            None => self.count_ones(),
        }
    }

    /// The next thread cannot be predicted, so there is no branch for the first ones.
    #[inline(always)]
    fn nth(self, n: u32) -> usize {
        let (one, two) = (self.rest(), self.rest().rest());
        let mut left = if n == 0 { self } else { one };
        left = if n < 2 { left } else { two };
        for _ in 2..n {
            left = left.rest();
        }
        left.first()
    }

    #[inline(always)]
    fn one_if(thread: usize, so: bool) -> u64 {
        u64::from(so) << thread
    }

    #[inline(always)]
    fn has(self, thread: usize) -> bool {
        self >> thread & 1 != 0
    }

    #[inline(always)]
    fn lowest(self) -> u64 {
        self & self.wrapping_neg()
    }

    #[inline(always)]
    fn many(self) -> Many {
        let mut words = [0; WORDS];
        words[0] = self;
        Many(words)
    }

    #[inline(always)]
    fn few(many: Many) -> u64 {
        many.0[0]
    }
}

const WORDS: usize = MAX_THREADS / 64;

/// A set of as many threads as there can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Many([u64; WORDS]);

impl Many {
    /// The empty set.
    pub const NONE: Many = Many([0; WORDS]);

    /// The threads, the lowest first.
    pub fn threads(self) -> impl Iterator<Item = usize> {
        Set::iter(self)
    }
}

impl BitAnd for Many {
    type Output = Many;
    #[inline]
    fn bitand(self, other: Many) -> Many {
        Many(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }
}

impl BitOr for Many {
    type Output = Many;
    #[inline]
    fn bitor(self, other: Many) -> Many {
        Many(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
}

impl BitAndAssign for Many {
    #[inline]
    fn bitand_assign(&mut self, other: Many) {
        *self = *self & other;
    }
}

impl BitOrAssign for Many {
    #[inline]
    fn bitor_assign(&mut self, other: Many) {
        *self = *self | other;
    }
}

impl Not for Many {
    type Output = Many;
    #[inline]
    fn not(self) -> Many {
        Many(self.0.map(|word| !word))
    }
}

impl Set for Many {
    const MOST: usize = MAX_THREADS;
    const NONE: Many = Many::NONE;

    #[inline]
    fn one(thread: usize) -> Many {
        let mut words = [0; WORDS];
        words[thread / 64] = 1 << (thread % 64);
        Many(words)
    }

    #[inline]
    fn first(self) -> usize {
        let word = self.0.iter().position(|&word| word != 0).unwrap_or(0);
        64 * word + self.0[word].trailing_zeros() as usize
    }

    #[inline]
    fn rest(self) -> Many {
        let mut words = self.0;
        if let Some(word) = words.iter_mut().find(|word| **word != 0) {
            *word &= *word - 1;
        }
        Many(words)
    }

    fn nth(self, n: u32) -> usize {
        self.iter().nth(n as usize).unwrap_or(0)
    }

    fn count(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    #[inline]
    fn many(self) -> Many {
        self
    }

    #[inline]
    fn few(many: Many) -> Many {
        many
    }
}

/// As a number if that is enough, otherwise as a list of numbers.
impl Serialize for Many {
    fn serialize<T: Serializer>(&self, to: T) -> Result<T::Ok, T::Error> {
        match self.0[1..].iter().rposition(|&word| word != 0) {
            None => to.serialize_u64(self.0[0]),
            Some(last) => to.collect_seq(&self.0[..last + 2]),
        }
    }
}

impl<'de> Deserialize<'de> for Many {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Many, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Many;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a set of threads")
            }

            fn visit_u64<E>(self, word: u64) -> Result<Many, E> {
                Ok(word.many())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Many, A::Error> {
                let mut words = [0; WORDS];
                let mut n = 0;
                while let Some(word) = seq.next_element()? {
                    let Some(slot) = words.get_mut(n) else { return Err(serde::de::Error::invalid_length(n, &self)) };
                    *slot = word;
                    n += 1;
                }
                Ok(Many(words))
            }
        }
        from.deserialize_any(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both kinds are the sets that they stand for: compared with sorted lists.
    fn agrees<S: Set>() {
        let mut seed = 7u64;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % n
        };
        for _ in 0..200 {
            let mut lists = [Vec::new(), Vec::new()];
            let mut sets = [S::NONE; 2];
            for i in 0..2 {
                for _ in 0..random(9) {
                    let thread = random(S::MOST);
                    lists[i].push(thread);
                    sets[i] |= S::one(thread);
                }
                lists[i].sort_unstable();
                lists[i].dedup();
                assert_eq!(sets[i].iter().collect::<Vec<_>>(), lists[i]);
                assert_eq!(sets[i].count() as usize, lists[i].len());
                assert!(lists[i].iter().enumerate().all(|(n, &thread)| sets[i].nth(n as u32) == thread));
                assert_eq!(sets[i].is_none(), lists[i].is_empty());
                assert_eq!(sets[i].lowest().iter().next(), lists[i].first().copied());
                assert_eq!(
                    sets[i].rest().iter().collect::<Vec<_>>(),
                    lists[i].iter().skip(1).copied().collect::<Vec<_>>()
                );
                assert!((0..S::MOST).all(|thread| sets[i].has(thread) == lists[i].contains(&thread)));
                assert_eq!(S::few(sets[i].many()), sets[i]);
                let text = serde_json::to_string(&sets[i].many()).unwrap();
                assert_eq!(serde_json::from_str::<Many>(&text).unwrap(), sets[i].many(), "{text}");
            }
            let both: Vec<usize> = lists[0].iter().filter(|t| lists[1].contains(t)).copied().collect();
            let only: Vec<usize> = lists[0].iter().filter(|t| !lists[1].contains(t)).copied().collect();
            assert_eq!((sets[0] & sets[1]).iter().collect::<Vec<_>>(), both);
            assert_eq!((sets[0] & !sets[1]).iter().collect::<Vec<_>>(), only);
        }
    }

    #[test]
    fn words_and_lists_of_words_are_sets() {
        agrees::<u64>();
        agrees::<Many>();
    }

    #[test]
    fn invalid_sets_are_refused() {
        for text in ["-1", "\"a\"", "[1,2,3,4,5]", "null"] {
            assert!(serde_json::from_str::<Many>(text).is_err(), "{text}");
        }
        assert_eq!(serde_json::to_string(&Many::one(63)).unwrap(), "9223372036854775808");
        assert_eq!(serde_json::to_string(&Many::one(64)).unwrap(), "[0,1]");
    }
}
