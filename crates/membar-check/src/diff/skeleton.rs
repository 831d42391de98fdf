//! All small programs, up to renaming.
//!
//! Threads are listed longest first; threads of one length by their pattern (the steps with addresses and locks numbered
//! inside the thread). Addresses and locks are numbered in the order in which they first occur. The remaining
//! symmetry is the order of threads with one pattern, and of those the first is kept.
//!
//! Left out, since none can be part of a smallest trace that separates two models (the operation can be left out):
//! 1. A barrier at an end of its thread, or next to another: the two are one with more pairs.
//! 2. A thread of one load: it can be placed directly after what it returned.
//! 3. A thread without accesses: its sessions can be placed before everything else.
//! 4. An address without a load, or without a store, unless such an access can pass on an order ([`Rules::private`]).
//! 5. Threads that share no address and no lock with the others: either part alone is forbidden.

use super::Size;
use std::ops::ControlFlow;

/// A step of a thread: addresses and locks are numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Action {
    Store(u8),
    Load(u8),
    Acquire(u8),
    Release(u8),
    Barrier,
}

pub(super) type Thread = Vec<Action>;

/// The parts left in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Barriers: unless the model keeps everything in order anyway.
    pub barriers: bool,
    /// Addresses that are only loaded or only stored.
    pub private: bool,
}

/// All skeletons of exactly one size.
pub(super) struct Skeletons {
    size: Size,
    rules: Rules,
    threads: Vec<Thread>,
    patterns: Vec<Thread>,
    /// Addresses and locks used so far.
    used: [usize; 2],
    /// Locks held by the thread that is being made.
    held: u32,
    /// Threads that have been made.
    ends: u32,
}

/// Is called with each skeleton, and with `None` now and then in between.
type Visit<'a, B> = &'a mut dyn FnMut(Option<&[Thread]>) -> ControlFlow<B>;

impl Skeletons {
    pub(super) fn new(size: Size, rules: Rules) -> Skeletons {
        Skeletons { size, rules, threads: Vec::new(), patterns: Vec::new(), used: [0, 0], held: 0, ends: 0 }
    }

    /// Calls `visit` with each.
    pub(super) fn each<B>(mut self, visit: Visit<'_, B>) -> ControlFlow<B> {
        self.thread(self.size.ops, self.size.ops, visit)
    }

    /// Makes the next thread, and all after it, of `left` steps.
    fn thread<B>(&mut self, left: usize, longest: usize, visit: Visit<'_, B>) -> ControlFlow<B> {
        let threads = self.size.threads - self.threads.len();
        if threads == 0 {
            return if left == 0 && self.whole() { visit(Some(&self.threads)) } else { ControlFlow::Continue(()) };
        }
        // The longest of the rest is at least their average.
        for length in left.div_ceil(threads)..=longest.min(left.saturating_sub(threads - 1)) {
            self.threads.push(Thread::new());
            let flow = self.step(length, left - length, visit);
            self.threads.pop();
            flow?;
        }
        ControlFlow::Continue(())
    }

    /// Makes the next step of the last thread, which gets `left` more; the threads after it get `rest`.
    fn step<B>(&mut self, left: usize, rest: usize, visit: Visit<'_, B>) -> ControlFlow<B> {
        if left == 0 {
            return self.end(rest, visit);
        }
        // The addresses and locks that are still to come need this many steps.
        let [addresses, locks] = [self.size.addresses - self.used[0], self.size.locks - self.used[1]];
        if addresses + 2 * locks + self.held.count_ones() as usize > left + rest {
            return ControlFlow::Continue(());
        }
        let t = self.threads.len() - 1;
        let alone = left == 1 && self.threads[t].is_empty();
        for address in 0..self.size.addresses.min(self.used[0] + 1) as u8 {
            self.with(Action::Store(address), left, rest, visit)?;
            if !alone {
                self.with(Action::Load(address), left, rest, visit)?;
            }
        }
        for lock in 0..self.size.locks.min(self.used[1] + 1) as u8 {
            if self.held >> lock & 1 != 0 {
                self.held &= !(1 << lock);
                let flow = self.with(Action::Release(lock), left, rest, visit);
                self.held |= 1 << lock;
                flow?;
            } else if (self.held.count_ones() as usize) + 2 <= left {
                self.held |= 1 << lock;
                let flow = self.with(Action::Acquire(lock), left, rest, visit);
                self.held &= !(1 << lock);
                flow?;
            }
        }
        if self.rules.barriers && left > 1 && self.threads[t].last().is_some_and(|&last| last != Action::Barrier) {
            self.with(Action::Barrier, left, rest, visit)?;
        }
        ControlFlow::Continue(())
    }

    fn with<B>(&mut self, step: Action, left: usize, rest: usize, visit: Visit<'_, B>) -> ControlFlow<B> {
        // An open session needs its release.
        if self.held.count_ones() as usize > left - 1 {
            return ControlFlow::Continue(());
        }
        let used = self.used;
        match step {
            Action::Store(address) | Action::Load(address) => self.used[0] = used[0].max(address as usize + 1),
            Action::Acquire(lock) => self.used[1] = used[1].max(lock as usize + 1),
            Action::Release(_) | Action::Barrier => {}
        }
        let t = self.threads.len() - 1;
        self.threads[t].push(step);
        let flow = self.step(left - 1, rest, visit);
        self.threads[t].pop();
        self.used = used;
        flow
    }

    /// The last thread is complete.
    fn end<B>(&mut self, rest: usize, visit: Visit<'_, B>) -> ControlFlow<B> {
        let t = self.threads.len() - 1;
        let thread = &self.threads[t];
        if !thread.iter().any(|step| matches!(step, Action::Store(_) | Action::Load(_))) {
            return ControlFlow::Continue(());
        }
        let length = thread.len();
        let pattern = renamed(&[thread]);
        if t > 0 && self.threads[t - 1].len() == length && self.patterns[t - 1] > pattern {
            return ControlFlow::Continue(());
        }
        self.ends = self.ends.wrapping_add(1);
        if self.ends.is_multiple_of(256) {
            visit(None)?;
        }
        self.patterns.push(pattern);
        let flow = self.thread(rest, length, visit);
        self.patterns.pop();
        flow
    }

    /// Is a skeleton with all its threads one to be tried?
    fn whole(&self) -> bool {
        self.used == [self.size.addresses, self.size.locks]
            && self.addresses_are_shared()
            && self.connected()
            && self.first()
    }

    fn addresses_are_shared(&self) -> bool {
        let has = |step: Action| self.threads.iter().flatten().any(|&other| other == step);
        self.rules.private || (0..self.size.addresses as u8).all(|x| has(Action::Store(x)) && has(Action::Load(x)))
    }

    fn connected(&self) -> bool {
        let uses = |thread: &Thread| {
            thread.iter().fold(0u32, |all, step| match *step {
                Action::Store(x) | Action::Load(x) => all | 1 << x,
                Action::Acquire(k) | Action::Release(k) => all | 1 << (16 + k),
                Action::Barrier => all,
            })
        };
        let mut reached = uses(&self.threads[0]);
        let mut left: Vec<u32> = self.threads[1..].iter().map(uses).collect();
        while let Some(next) = left.iter().position(|uses| uses & reached != 0) {
            reached |= left.swap_remove(next);
        }
        left.is_empty()
    }

    /// Is this the first of the skeletons that differ only in the order of threads with one pattern?
    fn first(&self) -> bool {
        let t = self.threads.len();
        if (1..t).all(|i| self.patterns[i - 1] != self.patterns[i]) {
            return true;
        }
        let mine = renamed(&self.threads.iter().collect::<Vec<_>>());
        let mut order: Vec<usize> = (0..t).collect();
        loop {
            if !next_permutation(&mut order) {
                return true;
            }
            let same = |(place, &thread): (usize, &usize)| self.patterns[place] == self.patterns[thread];
            if order.iter().enumerate().all(same)
                && renamed(&order.iter().map(|&thread| &self.threads[thread]).collect::<Vec<_>>()) < mine
            {
                return false;
            }
        }
    }
}

/// The steps with addresses and locks numbered in the order in which they first occur.
fn renamed(threads: &[&Thread]) -> Thread {
    let mut names: [Vec<u8>; 2] = [Vec::new(), Vec::new()];
    let mut name = |which: usize, old: u8| {
        let names = &mut names[which];
        let at = names.iter().position(|&other| other == old).unwrap_or(names.len());
        if at == names.len() {
            names.push(old);
        }
        at as u8
    };
    threads
        .iter()
        .flat_map(|thread| thread.iter())
        .map(|step| match *step {
            Action::Store(x) => Action::Store(name(0, x)),
            Action::Load(x) => Action::Load(name(0, x)),
            Action::Acquire(k) => Action::Acquire(name(1, k)),
            Action::Release(k) => Action::Release(name(1, k)),
            Action::Barrier => Action::Barrier,
        })
        .collect()
}

fn next_permutation(order: &mut [usize]) -> bool {
    let Some(i) = (1..order.len()).rev().find(|&i| order[i - 1] < order[i]) else { return false };
    let j = (i..order.len()).rev().find(|&j| order[j] > order[i - 1]).unwrap_or(i);
    order.swap(i - 1, j);
    order[i..].reverse();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn all(ops: usize, threads: usize, addresses: usize, locks: usize) -> Vec<Vec<Thread>> {
        let mut all = Vec::new();
        let size = Size { ops, threads, addresses, locks };
        let rules = Rules { barriers: true, private: true };
        let flow: ControlFlow<()> = Skeletons::new(size, rules).each(&mut |threads: Option<&[Thread]>| {
            all.extend(threads.map(<[Thread]>::to_vec));
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        all
    }

    /// The least of all ways to write these threads down.
    fn canonical(threads: &[Thread]) -> Vec<Action> {
        let mut order: Vec<usize> = (0..threads.len()).collect();
        let mut least = None;
        loop {
            let mut code = Vec::new();
            for &thread in &order {
                code.push(threads[thread].len());
            }
            let steps = renamed(&order.iter().map(|&thread| &threads[thread]).collect::<Vec<_>>());
            let this = (code, steps);
            if least.as_ref().is_none_or(|least| this < *least) {
                least = Some(this);
            }
            if !next_permutation(&mut order) {
                return least.unwrap().1;
            }
        }
    }

    #[test]
    fn no_skeleton_comes_twice() {
        for (ops, threads, addresses, locks) in [(4, 2, 2, 0), (5, 3, 2, 0), (6, 2, 2, 1), (6, 3, 1, 1), (6, 2, 1, 2)] {
            let all = all(ops, threads, addresses, locks);
            let distinct: BTreeSet<_> = all
                .iter()
                .map(|threads| (threads.iter().map(Vec::len).collect::<Vec<_>>(), canonical(threads)))
                .collect();
            assert_eq!(all.len(), distinct.len(), "{ops} {threads} {addresses} {locks}");
            assert!(all.len() > 3);
        }
    }

    #[test]
    fn every_skeleton_comes() {
        // All pairs of threads of two accesses, by brute force.
        let steps = [Action::Store(0), Action::Store(1), Action::Load(0), Action::Load(1)];
        let mut distinct = BTreeSet::new();
        for code in 0..256usize {
            let step = |place: usize| steps[code >> (2 * place) & 3];
            let threads = [vec![step(0), step(1)], vec![step(2), step(3)]];
            let uses = |thread: &Thread, x: u8| {
                thread.iter().any(|s| matches!(s, Action::Store(y) | Action::Load(y) if *y == x))
            };
            let shared = (0..2).any(|x| uses(&threads[0], x) && uses(&threads[1], x));
            let both = (0..2).all(|x| uses(&threads[0], x) || uses(&threads[1], x));
            if shared && both {
                distinct.insert(canonical(&threads));
            }
        }
        let found = all(4, 2, 2, 0)
            .into_iter()
            .filter(|threads| threads[0].len() == 2 && !threads.concat().contains(&Action::Barrier));
        assert_eq!(found.count(), distinct.len());
    }
}
