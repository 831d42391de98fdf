//! The smallest trace that tells two models apart.
//!
//! Problem: given two models, find a trace that the first allows and the second forbids, with as few operations as possible,
//! then with as few threads, addresses and locks; and one for the other direction.
//!
//! Algorithm, for each direction (`allow` is to allow the trace and `forbid` to forbid it):
//! 1. *Tables.* If `forbid` keeps only what `allow` keeps and claims no axiom that `allow` does not, there is no such trace
//!    of any size ([`includes`]).
//! 2. *Enumeration*, by number of operations, then of threads, addresses and locks: all threads of loads, stores, barriers and
//!    sessions up to renaming of threads, addresses and locks (`diff/skeleton.rs`), then what each lock guards if a model
//!    asks for it, which operations have timestamps if the models differ in time, and what each load returns
//!    (`diff/candidate.rs`). Every store has its own value, so a load's value is the store that it returned.
//! 3. *Pruning.* What cannot be part of a smallest trace is left out; each rule is stated where it is applied. They say either
//!    that `allow` forbids the trace, or that some operation can be left out and neither verdict changes for the worse:
//!    leaving something out of an allowed trace never makes it forbidden, so it is enough that `forbid` still forbids it.
//!    The two strongest: some pair of operations has to be kept in order by `forbid` and not by `allow` (unless their axioms
//!    differ), and the trace has to be forbidden under sequential consistency, which no model exceeds.
//! 4. *Decision* by [`Checker::decide`], under `forbid` first. Barriers are full ones until a trace is forbidden; if `allow`
//!    forbids it too, weaker barriers are tried in their place.
//!
//! Complexity: exponential in the number of operations; 7 take a fraction of a second and each one more some twenty times as
//! long, unless the tables say that locks have to be part of it.
//!
//! Guarantees: a trace that is returned has been decided under both models. "No difference up to N operations" means traces
//! within the given [`Size`], made of loads, stores, barriers and sessions, with per-thread clocks. It does not
//! speak of marks, reservations, dependencies, read-modify-writes, of `final` and `order` lines, nor of clocks that several threads share.

mod candidate;
mod skeleton;

use crate::{Checker, Decision, Limits};
use candidate::Candidate;
use membar_core::{Condition, Kind, Mask, Model, ResolveScratch, Trace, Undecided, When};
use skeleton::{Rules, Skeletons, Thread};
use std::ops::ControlFlow;

/// How large a trace may become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Operations, barriers, acquires and releases included.
    pub ops: usize,
    /// Threads.
    pub threads: usize,
    /// Addresses.
    pub addresses: usize,
    /// Locks.
    pub locks: usize,
}

impl Default for Size {
    /// Enough to tell all built-in models apart.
    fn default() -> Size {
        Size { ops: 9, threads: 4, addresses: 3, locks: 2 }
    }
}

impl Size {
    /// More operations than this are not supported, nor more threads, addresses or locks than [`Size::MOST`].
    pub const MOST: Size = Size { ops: 16, threads: 6, addresses: 6, locks: 4 };
}

/// Everything known about the traces that one model allows and another forbids.
#[derive(Clone, Debug)]
pub enum Side {
    /// A smallest one.
    Trace(Box<Trace>),
    /// No trace of any size: whatever the forbidding model keeps in order, the allowing one keeps too.
    Never,
    /// No trace with up to this many operations.
    None {
        /// How many.
        ops: usize,
    },
    /// No trace of up to this many operations tells them apart; then a limit was passed.
    Open {
        /// How many.
        ops: usize,
        /// The limit.
        reason: Undecided,
    },
}

impl Side {
    /// The trace, if there is one.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Side::Trace(trace) => Some(trace),
            _ => None,
        }
    }
}

/// How two models differ.
#[derive(Clone, Debug)]
pub struct Separation {
    /// Allowed by the first model, forbidden by the second.
    pub only_first: Side,
    /// Allowed by the second model, forbidden by the first.
    pub only_second: Side,
}

/// How far the search has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Traces with this many operations are being tried.
    pub ops: usize,
    /// With this many threads.
    pub threads: usize,
    /// Traces that have been decided so far.
    pub decided: u64,
}

/// How two models differ. `progress` is called now and then.
pub fn separate(
    first: &Model,
    second: &Model,
    size: Size,
    limits: &Limits,
    progress: &mut dyn FnMut(Progress),
) -> Separation {
    let most = Size::MOST;
    let size = Size {
        ops: size.ops.min(most.ops),
        threads: size.threads.min(most.threads),
        addresses: size.addresses.min(most.addresses),
        locks: size.locks.min(most.locks),
    };
    let mut sides = [Direction::new(first, second, size), Direction::new(second, first, size)];
    let mut stopped = None;
    // Both directions grow together, so that a limit leaves neither far behind.
    'all: for ops in 1..=size.ops {
        for side in &mut sides {
            if let ControlFlow::Break(reason) = side.level(ops, limits, progress) {
                stopped = Some(reason);
                break 'all;
            }
        }
    }
    let [only_first, only_second] = sides.map(|side| side.result(stopped));
    Separation { only_first, only_second }
}

/// Does the second model allow every trace that the first allows, as their tables show? (`false` may also mean that the tables do
/// not show it.)
pub fn includes(strong: &Model, weak: &Model) -> bool {
    let [s, w] = [strong, weak];
    // Time is an axiom of every model, except for stores that are not atomic.
    let timed = |model: &Model, earlier: Kind| earlier != Kind::Store || model.atomic_writes;
    let keeps = |earlier: Kind, later: Kind| {
        let (a, b) = (s.ppo.entry(earlier, later), w.ppo.entry(earlier, later));
        a.always
            || (!b.always
                && (a.same_address || !b.same_address)
                && (a.same_session || !b.same_session)
                && (a.guarded || !b.guarded)
                && (a.time || timed(s, earlier) || !b.time)
                && b.also.iter().all(|it| a.also.has(it) || (it == Condition::AnotherStore && a.same_address)))
    };
    let own_first = s.ppo.entry(Kind::Store, Kind::Load).on_one_address();
    Kind::ALL.into_iter().all(|earlier| Kind::ALL.into_iter().all(|later| keeps(earlier, later)))
        && s.sync.contains(w.sync)
        && (s.lock_exclusion || !w.lock_exclusion)
        && (s.atomic_writes || !w.atomic_writes)
        && (s.write_order || !w.write_order)
        // With its own stores before a load anyway, forwarding has no effect.
        && (s.store_forwarding == w.store_forwarding && s.write_order == w.write_order || own_first)
}

/// One direction of the search.
struct Direction<'m> {
    allow: &'m Model,
    forbid: &'m Model,
    size: Size,
    /// Can the axioms of `forbid` exclude something that those of `allow` do not?
    axioms: bool,
    /// Do the models differ in what timestamps mean?
    times: bool,
    /// Does one of them ask what a lock guards?
    guards: bool,
    /// The fewest locks that a trace needs.
    locks: usize,
    never: bool,
    found: Option<Box<Trace>>,
    /// All traces with this many operations have been tried.
    done: usize,
    checker: Checker,
    candidate: Candidate,
    trace: Trace,
    scratch: ResolveScratch,
    decided: u64,
}

impl<'m> Direction<'m> {
    fn new(allow: &'m Model, forbid: &'m Model, size: Size) -> Direction<'m> {
        let axioms = forbid.write_order && !allow.write_order
            || forbid.store_forwarding != allow.store_forwarding
            || forbid.lock_exclusion && !allow.lock_exclusion;
        // Only of a store does the model say whether time orders it.
        let times = Kind::ALL.into_iter().any(|later| {
            let [a, f] = [allow, forbid].map(|model| (model.ppo.entry(Kind::Store, later), model.atomic_writes));
            (f.0.time || f.1) && !f.0.always && !(a.0.always || a.0.time || a.1)
        });
        let guards = [allow, forbid].iter().any(|model| model.ppo.any(|when| when.guarded && !when.always));
        Direction {
            allow,
            forbid,
            size,
            axioms,
            times,
            guards,
            locks: if axioms { 0 } else { fewest_locks(allow, forbid, times) },
            never: includes(allow, forbid),
            found: None,
            done: 0,
            checker: Checker::new(),
            candidate: Candidate::default(),
            trace: Trace::new(),
            scratch: ResolveScratch::default(),
            decided: 0,
        }
    }

    fn result(self, stopped: Option<Undecided>) -> Side {
        match (self.found, stopped) {
            (Some(trace), _) => Side::Trace(trace),
            _ if self.never => Side::Never,
            (None, Some(reason)) if self.done < self.size.ops => Side::Open { ops: self.done, reason },
            (None, _) => Side::None { ops: self.done },
        }
    }

    /// Tries all traces with this many operations.
    fn level(&mut self, ops: usize, limits: &Limits, progress: &mut dyn FnMut(Progress)) -> ControlFlow<Undecided> {
        if self.never || self.found.is_some() {
            return ControlFlow::Continue(());
        }
        for threads in 1..=self.size.threads.min(ops) {
            progress(Progress { ops, threads, decided: self.decided });
            for addresses in 1..=self.size.addresses {
                for locks in self.locks..=self.size.locks {
                    let size = Size { ops, threads, addresses, locks };
                    let mut found = None;
                    let flow = Skeletons::new(size, self.rules(locks)).each(&mut |threads: Option<&[Thread]>| {
                        if let Some(threads) = threads {
                            return self.skeleton(size, threads, limits, &mut found);
                        }
                        limits.passed().map_or(ControlFlow::Continue(()), |reason| ControlFlow::Break(Some(reason)))
                    });
                    if let ControlFlow::Break(Some(reason)) = flow {
                        return ControlFlow::Break(reason);
                    }
                    if let Some(found) = found {
                        self.found = Some(Box::new(found));
                        return ControlFlow::Continue(());
                    }
                }
            }
        }
        self.done = ops;
        ControlFlow::Continue(())
    }

    /// The rules for leaving things out of traces with this many locks.
    fn rules(&self, locks: usize) -> Rules {
        let entry = |earlier: Kind, later: Kind| self.forbid.ppo.entry(earlier, later);
        let all = |test: &dyn Fn(Kind, Kind) -> bool| Kind::ALL.iter().all(|&e| Kind::ALL.iter().all(|&l| test(e, l)));
        // Can an access to an address that nobody else uses pass on an order that its neighbours do not have anyway?
        let passed_on = |when: When| when.always || when.same_session || when.guarded || self.times;
        let own = |e: Kind, l: Kind| match (e.locks(), l.locks()) {
            (true, true) => locks < 2 || entry(e, l).always,
            (false, false) => entry(e, l).always,
            _ => locks == 0 || entry(e, l).always,
        };
        let idle = |e: Kind, l: Kind| {
            own(e, l) || [Kind::Load, Kind::Store].iter().all(|&m| !passed_on(entry(e, m)) || !passed_on(entry(m, l)))
        };
        Rules { barriers: !all(&|e, l| entry(e, l).always), private: !all(&idle) }
    }

    /// Tries everything that these threads may have seen.
    fn skeleton(
        &mut self,
        size: Size,
        threads: &[Thread],
        limits: &Limits,
        found: &mut Option<Trace>,
    ) -> ControlFlow<Option<Undecided>> {
        let sets = if self.guards { 1u32 << (size.addresses * size.locks) } else { 1 };
        let stamps = if self.times { 1u32 << size.ops } else { 1 };
        for guards in 0..sets {
            for stamps in 0..stamps {
                self.candidate.describe(threads, size.addresses, guards, stamps);
                let tells = self.axioms || self.candidate.tells(self.allow, self.forbid);
                if !tells || !self.candidate.barriers_count(self.forbid) {
                    continue;
                }
                let sees_own =
                    self.allow.store_forwarding || self.allow.ppo.entry(Kind::Store, Kind::Load).on_one_address();
                if !self.candidate.first_values(sees_own) {
                    continue;
                }
                loop {
                    if self.candidate.may_matter(self.forbid.lock_exclusion) {
                        self.decide(limits, found)?;
                    }
                    if !self.candidate.next_values() {
                        break;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Decides the present candidate, with its barriers as `sync` and, where this may help, as weaker ones.
    fn decide(&mut self, limits: &Limits, found: &mut Option<Trace>) -> ControlFlow<Option<Undecided>> {
        let pairs = self.candidate.barrier_pairs();
        let full: Vec<Option<Mask>> = vec![Some(Mask::FULL); pairs.len()];
        let sync: Vec<Option<Mask>> = vec![None; pairs.len()];
        if self.forbid.sync != Mask::FULL && !pairs.is_empty() && !self.forbids(&full, limits)? {
            return ControlFlow::Continue(());
        }
        let forbidden = self.forbids(&sync, limits)?;
        if forbidden && self.allows(limits)? {
            *found = Some(self.trace.clone());
            return ControlFlow::Break(None);
        }
        // No barrier is stronger than a full one.
        if found.is_some() || pairs.is_empty() || (!forbidden && self.forbid.sync == Mask::FULL) {
            return ControlFlow::Continue(());
        }
        let mut masks = pairs.clone();
        while weaker(&mut masks, &pairs) {
            // One that orders all that it can is written as what it is for people.
            let is_sync = |mask: Mask, all: Mask| mask == all && self.allow.sync & self.forbid.sync == Mask::FULL;
            let written: Vec<_> =
                masks.iter().zip(&pairs).map(|(&mask, &all)| (!is_sync(mask, all)).then_some(mask)).collect();
            if self.forbids(&written, limits)? && self.allows(limits)? {
                *found = Some(self.trace.clone());
                break;
            }
        }
        ControlFlow::Continue(())
    }

    fn forbids(&mut self, masks: &[Option<Mask>], limits: &Limits) -> ControlFlow<Option<Undecided>, bool> {
        self.candidate.write(masks, &mut self.trace, &mut self.scratch);
        self.decided += 1;
        match self.checker.decide(&self.trace, self.forbid, limits) {
            Decision::Undecided(reason) => ControlFlow::Break(Some(reason)),
            decision => ControlFlow::Continue(decision == Decision::Forbidden),
        }
    }

    /// Is the trace that was just decided allowed?
    fn allows(&mut self, limits: &Limits) -> ControlFlow<Option<Undecided>, bool> {
        self.decided += 1;
        match self.checker.decide(&self.trace, self.allow, limits) {
            Decision::Undecided(reason) => ControlFlow::Break(Some(reason)),
            decision => ControlFlow::Continue(decision == Decision::Allowed),
        }
    }
}

/// The next choice of masks, each a part of its pairs and not empty; the first is all pairs of each.
fn weaker(masks: &mut [Mask], pairs: &[Mask]) -> bool {
    for (mask, &all) in masks.iter_mut().zip(pairs) {
        // The parts of a set, in falling order.
        let next = mask.bits().wrapping_sub(1) & all.bits();
        if next > 0 {
            *mask = Mask::from_bits(next);
            return true;
        }
        *mask = all;
    }
    false
}

/// The fewest locks without which no pair of operations tells the models apart.
fn fewest_locks(allow: &Model, forbid: &Model, times: bool) -> usize {
    if times || !allow.sync.contains(forbid.sync) {
        return 0;
    }
    let mut fewest = usize::MAX;
    for earlier in Kind::ALL {
        for later in Kind::ALL {
            let (a, f) = (allow.ppo.entry(earlier, later), forbid.ppo.entry(earlier, later));
            let more = f.always && !a.always
                || f.same_session && !(a.always || a.same_session)
                || f.guarded && !(a.always || a.guarded)
                || f.same_address && !a.on_one_address();
            if !more {
                continue;
            }
            fewest = fewest.min(match (earlier.locks(), later.locks()) {
                (false, false) => usize::from(!f.always && !f.same_address),
                // On one lock the order is kept by both: two are needed.
                (true, true) if a.on_one_address() => 2,
                _ => 1,
            });
        }
    }
    if fewest == usize::MAX { 0 } else { fewest }
}
