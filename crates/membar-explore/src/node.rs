//! A state on the path of a search, with the threads that are to be run from it.

use crate::Step;
use crate::set::{Many, Set};

fn none<S: Set>() -> S {
    S::NONE
}

fn is_none<S: Set>(set: &S) -> bool {
    set.is_none()
}

/// A state of the program on the current path.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[serde(bound(serialize = "S: Set + serde::Serialize", deserialize = "S: Set + serde::Deserialize<'de>"))]
pub struct Node<S = Many> {
    /// Threads that can run.
    pub(crate) enabled: S,
    /// Threads to run.
    pub(crate) todo: S,
    /// Those of them that have been, or are sure to be.
    pub(crate) done: S,
    /// Threads that need not be run: their next actions have been explored elsewhere.
    pub(crate) asleep: S,
    /// Threads whose next access would close a round in vain ([`crate::tree`]): they cannot run.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub(crate) futile: S,
    /// Preemptions so far.
    pub(crate) preemptions: u32,
    /// If the one thread that can run makes a choice: how many outcomes it has, and how many of them, from 0, have been run or
    /// are sure to be.
    pub(crate) outcomes: u16,
    pub(crate) chosen: u16,
}

impl Node {
    /// Whether choices are as this file leaves them.
    pub(crate) fn is_sound(&self) -> bool {
        let is_over = self.chosen == self.outcomes;
        let one = (self.enabled | self.todo).count() <= 1;
        self.chosen <= self.outcomes && (self.outcomes == 0 || one && !(is_over && self.left().is_some()))
    }

    /// The same, for callers with other sets.
    pub(crate) fn few<S: Set>(&self) -> Node<S> {
        let Node { enabled, todo, done, asleep, futile, preemptions, outcomes, chosen } = *self;
        let (enabled, todo, done, asleep) = (S::few(enabled), S::few(todo), S::few(done), S::few(asleep));
        Node { enabled, todo, done, asleep, futile: S::few(futile), preemptions, outcomes, chosen }
    }
}

impl<S: Set> Node<S> {
    /// No thread is to be run.
    #[inline]
    pub(crate) fn new(enabled: S, preemptions: u32) -> Node<S> {
        let none = S::NONE;
        Node { enabled, todo: none, done: none, asleep: none, futile: none, preemptions, outcomes: 0, chosen: 0 }
    }

    /// The same, for others.
    pub(crate) fn many(&self) -> Node {
        let Node { enabled, todo, done, asleep, futile, preemptions, outcomes, chosen } = *self;
        let (enabled, todo, done, asleep) = (enabled.many(), todo.many(), done.many(), asleep.many());
        Node { enabled, todo, done, asleep, futile: futile.many(), preemptions, outcomes, chosen }
    }

    /// Threads that are still to be run.
    #[inline]
    pub(crate) fn left(&self) -> S {
        self.todo & !self.done & !self.asleep
    }

    /// The thread, which is left, is to be run now: the step that it makes.
    #[inline]
    pub(crate) fn take(&mut self, thread: usize) -> Step {
        if self.outcomes != 0 {
            return self.take_outcome(thread);
        }
        self.done |= S::one(thread);
        Step::of(thread)
    }

    #[cold]
    fn take_outcome(&mut self, thread: usize) -> Step {
        let outcome = self.chosen;
        self.chosen += 1;
        if self.chosen == self.outcomes {
            self.done |= S::one(thread);
        }
        Step::choice(thread, u32::from(outcome))
    }

    /// How many ways there are to continue from here, and how many of them have not been taken.
    pub(crate) fn ways(&self) -> (u32, u32) {
        if self.outcomes != 0 {
            return (u32::from(self.outcomes), u32::from(self.outcomes - self.chosen));
        }
        ((self.todo & !self.asleep).count(), self.left().count())
    }

    /// The thread, which was to be run from here, cannot: these can instead, unless others are run anyway. Whether one of them
    /// is to be run now.
    pub(crate) fn replace(&mut self, futile: S, others: S) -> bool {
        self.futile |= futile;
        self.enabled &= !futile;
        let others = others & !self.futile;
        let replaces = (self.todo & !self.futile).is_none() && others.is_some();
        if replaces {
            self.todo |= others.lowest();
        }
        replaces
    }

    /// Makes sure that one of these threads is run from here.
    pub(crate) fn add(&mut self, initials: S) {
        if (initials & (self.todo | self.asleep)).is_none() {
            let able = initials & self.enabled;
            // An initial that cannot run here would be a waiting read; then anything that can run will do.
            self.todo |= if able.is_some() { able.lowest() } else { self.enabled };
        }
    }
}
