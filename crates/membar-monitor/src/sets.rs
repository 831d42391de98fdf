//! Sets of the writes of an execution, a bit each, in the order in which the writes were made; and monitors over them that grow with
//! the execution.
//!
//! A monitor over sets of W words can follow W · 64 writes. Most executions have fewer than 64, so a [`Growing`] monitor begins
//! with one word and is copied into a wider one when an execution has more.

use membar_core::{Access, Performed};
use std::fmt;

/// A set of writes.
pub(crate) type Set<const W: usize> = [u64; W];

#[inline(always)]
pub(crate) fn join<const W: usize>(into: &mut Set<W>, from: &Set<W>) {
    for (into, from) in into.iter_mut().zip(from) {
        *into |= from;
    }
}

/// The same set with room for more.
pub(crate) fn widen<const W: usize, const V: usize>(set: &Set<W>) -> Set<V> {
    std::array::from_fn(|word| set.get(word).copied().unwrap_or(0))
}

#[inline(always)]
pub(crate) fn contains<const W: usize>(set: &Set<W>, write: u32) -> bool {
    set[write as usize / 64] >> (write % 64) & 1 != 0
}

#[inline(always)]
pub(crate) fn insert<const W: usize>(set: &mut Set<W>, write: u32) {
    set[write as usize / 64] |= 1 << (write % 64);
}

/// No thread, no write.
pub(crate) const NOBODY: u32 = u32::MAX;

/// A violation: an access that could have come before a store that happened before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overtaken {
    /// The store, as a position in the execution.
    pub store: u32,
    /// Its instruction.
    pub store_site: u32,
}

/// The most writes that an execution may have: writes beyond that are not monitored, and [`Growing::push`] says so.
pub const MAX_WRITES: usize = 256 * 64;

/// The execution has more than [`MAX_WRITES`] writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

/// A monitor over sets of some size.
pub trait Monitored<G> {
    /// Whether it cannot follow another write.
    fn is_full(&self) -> bool;

    /// Takes the next access, and returns the write that it could have overtaken, or the number that is none.
    fn push(&mut self, performed: &Performed, given: &G) -> u32;

    /// Takes back the last access.
    fn pop(&mut self);

    /// Takes back all accesses.
    fn restart(&mut self);

    /// The write that this next access of the thread could overtake.
    fn tried(&self, thread: usize, access: Access, given: &G) -> u32;

    /// What to report about a write.
    fn overtaken(&self, write: u32) -> Overtaken;
}

/// A monitor for sets of any size.
pub trait Family: Clone + fmt::Debug {
    /// What it is told besides the accesses.
    type Given;
    /// It with sets of W words.
    type At<const W: usize>: Monitored<Self::Given> + Clone + fmt::Debug;

    /// It at the beginning of an execution.
    fn begin(&self) -> Self::At<1>;

    /// The same with wider sets.
    fn wider<const W: usize, const V: usize>(from: &Self::At<W>) -> Self::At<V>;
}

/// A monitor whose sets grow with the execution.
#[derive(Clone, Debug)]
pub struct Growing<F: Family> {
    family: F,
    sets: Width<F>,
}

/// Sets of up to 64, 256, … writes.
#[derive(Clone, Debug)]
enum Width<F: Family> {
    W1(F::At<1>),
    W4(F::At<4>),
    W32(F::At<32>),
    W256(F::At<256>),
}

macro_rules! any_width {
    ($sets:expr, $class:ident => $work:expr) => {
        match $sets {
            Width::W1($class) => $work,
            Width::W4($class) => $work,
            Width::W32($class) => $work,
            Width::W256($class) => $work,
        }
    };
}

impl<F: Family> Growing<F> {
    pub(crate) fn of(family: F) -> Growing<F> {
        let sets = Width::W1(family.begin());
        Growing { family, sets }
    }

    /// Takes the next access of the execution; the store that it could have overtaken, if there is one.
    #[inline(always)]
    pub fn push_given(&mut self, performed: &Performed, given: &F::Given) -> Result<Option<Overtaken>, TooLong> {
        match &mut self.sets {
            Width::W1(class) if !class.is_full() => match class.push(performed, given) {
                NOBODY => Ok(None),
                write => Ok(Some(class.overtaken(write))),
            },
            // A copy, so that what is performed need not be in memory otherwise.
            _ => self.push_wide(*performed, given),
        }
    }

    /// Apart, because its stack frame is large.
    #[cold]
    #[inline(never)]
    fn push_wide(&mut self, performed: Performed, given: &F::Given) -> Result<Option<Overtaken>, TooLong> {
        if any_width!(&self.sets, class => class.is_full()) {
            self.widen()?;
        }
        Ok(any_width!(&mut self.sets, class => match class.push(&performed, given) {
            NOBODY => None,
            write => Some(class.overtaken(write)),
        }))
    }

    /// Takes back the last access.
    ///
    /// # Panics
    ///
    /// If there is none, or the monitor only goes forward.
    #[inline]
    pub fn pop(&mut self) {
        match &mut self.sets {
            Width::W1(class) => class.pop(),
            _ => self.pop_wide(),
        }
    }

    /// Apart, because its stack frame is large.
    #[cold]
    #[inline(never)]
    fn pop_wide(&mut self) {
        any_width!(&mut self.sets, class => class.pop());
    }

    /// Takes back all accesses.
    pub fn restart(&mut self) {
        match &mut self.sets {
            Width::W1(class) => class.restart(),
            // Executions that need more are the exception.
            Width::W4(_) | Width::W32(_) | Width::W256(_) => self.sets = Width::W1(self.family.begin()),
        }
    }

    /// The store that this next access of the thread could overtake, if it were made now or later.
    pub fn tried_given(&self, thread: usize, access: Access, given: &F::Given) -> Option<Overtaken> {
        any_width!(&self.sets, class => match class.tried(thread, access, given) {
            NOBODY => None,
            write => Some(class.overtaken(write)),
        })
    }

    #[cold]
    fn widen(&mut self) -> Result<(), TooLong> {
        self.sets = match self.sets {
            Width::W1(ref class) => Width::W4(F::wider(class)),
            Width::W4(ref class) => Width::W32(F::wider(class)),
            Width::W32(ref class) => Width::W256(F::wider(class)),
            Width::W256(_) => return Err(TooLong),
        };
        Ok(())
    }
}
