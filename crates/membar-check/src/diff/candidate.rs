//! One skeleton with everything that can be chosen for it: guards of locks, timestamps, values of loads.
//!
//! Problem: go through all traces of a skeleton, without those that no model could tell from one that came before.
//!
//! Algorithm: counters, the innermost of which is what loads return. A load returns any store of its address that is not
//! later in its own thread, or the initial value. Values are numbers that name the store, so renaming them makes no new trace.
//!
//! Complexity: exponential in the number of operations, of which there are at most 16: sets of them are words.

use super::skeleton::{Action, Thread};
use membar_core::{AddrId, Guard, Kind, Mask, Model, OpId, ResolveScratch, Span, Trace};

/// The value a load returned: an operation, or this for the initial value.
const INIT: u8 = u8::MAX;

/// A set of operations; there are at most 16.
type Set = u16;

#[derive(Clone, Copy)]
struct Op {
    thread: u8,
    step: Action,
    /// The other end of a session.
    partner: u8,
    /// The value a load returned.
    source: u8,
}

impl Op {
    fn kind(&self) -> Option<Kind> {
        match self.step {
            Action::Store(_) => Some(Kind::Store),
            Action::Load(_) => Some(Kind::Load),
            Action::Acquire(_) => Some(Kind::Acquire),
            Action::Release(_) => Some(Kind::Release),
            Action::Barrier => None,
        }
    }

    fn address(&self) -> Option<u8> {
        match self.step {
            Action::Store(x) | Action::Load(x) => Some(x),
            _ => None,
        }
    }

    fn lock(&self) -> Option<u8> {
        match self.step {
            Action::Acquire(k) | Action::Release(k) => Some(k),
            _ => None,
        }
    }
}

#[derive(Default)]
pub(super) struct Candidate {
    /// Thread by thread, in program order.
    ops: Vec<Op>,
    /// Where each thread begins, and the end.
    start: Vec<usize>,
    /// Per lock, the addresses that it guards.
    guarded: Vec<u32>,
    /// The operations that have timestamps.
    stamped: Set,
    /// The loads, what each may have returned, and which of these it is.
    loads: Vec<(usize, Vec<u8>, usize)>,
}

impl Candidate {
    /// Takes a skeleton, the guarded addresses (a set of addresses for each lock) and the operations with timestamps.
    pub(super) fn describe(&mut self, threads: &[Thread], addresses: usize, guards: u32, stamps: u32) {
        self.ops.clear();
        self.start.clear();
        for (t, thread) in threads.iter().enumerate() {
            let first = self.ops.len();
            self.start.push(first);
            for &step in thread {
                let mut partner = INIT;
                if let Action::Release(k) = step
                    && let Some(acquire) = self.ops[first..].iter().rposition(|op| op.step == Action::Acquire(k))
                {
                    partner = (first + acquire) as u8;
                    self.ops[first + acquire].partner = self.ops.len() as u8;
                }
                self.ops.push(Op { thread: t as u8, step, partner, source: INIT });
            }
        }
        self.start.push(self.ops.len());
        let locks = self.ops.iter().filter_map(Op::lock).max().map_or(0, |last| last as usize + 1);
        self.guarded.clear();
        self.guarded.extend((0..locks).map(|lock| guards >> (lock * addresses) & ((1 << addresses) - 1)));
        self.stamped = stamps as Set;
    }

    fn thread(&self, op: usize) -> std::ops::Range<usize> {
        let t = self.ops[op].thread as usize;
        self.start[t]..self.start[t + 1]
    }

    fn in_session(&self, end: usize, op: usize) -> bool {
        let (a, b) = (end.min(self.ops[end].partner as usize), end.max(self.ops[end].partner as usize));
        (a..=b).contains(&op)
    }

    /// Does the model's table, or time, keep two operations of one thread in order?
    fn keeps(&self, model: &Model, earlier: usize, later: usize) -> bool {
        let (e, l) = (&self.ops[earlier], &self.ops[later]);
        let (Some(ek), Some(lk)) = (e.kind(), l.kind()) else { return false };
        let when = model.ppo.entry(ek, lk);
        let timed = when.time || ek != Kind::Store || model.atomic_writes;
        let guards = |lock: u8, address: u8| self.guarded[lock as usize] >> address & 1 != 0;
        when.always
            || when.same_address && e.address() == l.address() && e.lock() == l.lock()
            || when.same_session
                && match (ek.locks(), lk.locks()) {
                    (true, _) => self.in_session(earlier, later),
                    (_, true) => self.in_session(later, earlier),
                    _ => (self.thread(earlier).start..earlier).any(|op| {
                        matches!(self.ops[op].step, Action::Acquire(_))
                            && self.in_session(op, earlier)
                            && self.in_session(op, later)
                    }),
                }
            || when.guarded
                && match (e.lock(), l.lock(), e.address(), l.address()) {
                    (Some(lock), _, _, Some(address)) | (_, Some(lock), Some(address), _) => guards(lock, address),
                    _ => false,
                }
            || timed && self.stamped >> earlier & 1 != 0 && self.stamped >> later & 1 != 0
    }

    /// Per operation, what is after it by the model's table and time alone, directly or not.
    fn after(&self, model: &Model) -> [Set; 16] {
        let mut after = [0; 16];
        for earlier in (0..self.ops.len()).rev() {
            for later in (earlier + 1..self.thread(earlier).end).rev() {
                if self.keeps(model, earlier, later) {
                    after[earlier] |= 1 << later | after[later];
                }
            }
        }
        after
    }

    /// Is a pair in order under `forbid` and not under `allow`? If none is, and their axioms are the same, `forbid` allows what
    /// `allow` allows. Barriers order the same under both, unless `sync` means less to `allow`.
    pub(super) fn tells(&self, allow: &Model, forbid: &Model) -> bool {
        let [a, f] = [self.after(allow), self.after(forbid)];
        let sync = !allow.sync.contains(forbid.sync) && self.ops.iter().any(|op| op.step == Action::Barrier);
        sync || (0..self.ops.len()).any(|op| f[op] & !a[op] != 0)
    }

    /// Does every barrier have a pair across it that the model does not keep in order anyway? One that has none can be left out.
    pub(super) fn barriers_count(&self, forbid: &Model) -> bool {
        if !self.ops.iter().any(|op| op.step == Action::Barrier) {
            return true;
        }
        let after = self.after(forbid);
        (0..self.ops.len()).filter(|&op| self.ops[op].step == Action::Barrier).all(|barrier| {
            let thread = self.thread(barrier);
            (thread.start..barrier).any(|earlier| {
                self.ops[earlier].kind().is_some()
                    && (barrier + 1..thread.end)
                        .any(|later| self.ops[later].kind().is_some() && after[earlier] >> later & 1 == 0)
            })
        })
    }

    /// The pairs of accesses that each barrier stands between.
    pub(super) fn barrier_pairs(&self) -> Vec<Mask> {
        let is = |op: usize, stores: bool| match self.ops[op].step {
            Action::Load(_) => !stores,
            Action::Store(_) => stores,
            Action::Acquire(_) | Action::Release(_) => true,
            Action::Barrier => false,
        };
        let barriers = (0..self.ops.len()).filter(|&op| self.ops[op].step == Action::Barrier);
        barriers
            .map(|barrier| {
                let thread = self.thread(barrier);
                let mut pairs = Mask::NONE;
                for (e, l) in [(false, false), (false, true), (true, false), (true, true)] {
                    if (thread.start..barrier).any(|op| is(op, e)) && (barrier + 1..thread.end).any(|op| is(op, l)) {
                        pairs = pairs | Mask::pair(e, l);
                    }
                }
                pairs
            })
            .collect()
    }

    /// Chooses what the loads returned for the first time. A load never returned
    /// - a later store of its own thread: no model allows it;
    /// - anything older than its own thread's last store before it, if `allow` does not let it miss that one;
    /// - the initial value, as the first step of its thread: it could be placed before everything else.
    pub(super) fn first_values(&mut self, sees_own: bool) -> bool {
        self.loads.clear();
        for load in 0..self.ops.len() {
            let Action::Load(x) = self.ops[load].step else { continue };
            let thread = self.thread(load);
            let own = (thread.start..load).rfind(|&op| self.ops[op].step == Action::Store(x));
            let mut from: Vec<u8> = Vec::new();
            if load > thread.start && !(sees_own && own.is_some()) {
                from.push(INIT);
            }
            let stores = (0..self.ops.len()).filter(|&op| self.ops[op].step == Action::Store(x));
            from.extend(
                stores
                    .filter(|&op| !thread.contains(&op) || op < load && (!sees_own || Some(op) == own))
                    .map(|op| op as u8),
            );
            if from.is_empty() {
                return false;
            }
            self.ops[load].source = from[0];
            self.loads.push((load, from, 0));
        }
        true
    }

    /// The next choice.
    pub(super) fn next_values(&mut self) -> bool {
        for (load, from, chosen) in self.loads.iter_mut().rev() {
            *chosen = (*chosen + 1) % from.len();
            self.ops[*load].source = from[*chosen];
            if *chosen != 0 {
                return true;
            }
        }
        false
    }

    /// Can the present choice be part of a smallest separating trace? Not if
    /// - a thread's last step is a store that nobody reads, or a thread does nothing but store what nobody reads: it could
    ///   be placed after everything else;
    /// - a thread stores nothing and reads initial values only: it could be placed first;
    /// - a load repeats the one before it: it could be placed directly after that;
    /// - it is sequentially consistent, and so allowed by all models.
    pub(super) fn may_matter(&self, exclusion: bool) -> bool {
        let read = self.ops.iter().filter(|op| matches!(op.step, Action::Load(_)) && op.source != INIT);
        let read = read.fold(0 as Set, |all, op| all | 1 << op.source);
        for thread in self.start.windows(2) {
            let ops = &self.ops[thread[0]..thread[1]];
            let mut gives = false;
            let mut takes = false;
            for (i, op) in ops.iter().enumerate() {
                match op.step {
                    Action::Store(_) if read >> (thread[0] + i) & 1 != 0 => gives = true,
                    Action::Store(_) if i + 1 == ops.len() => return false,
                    Action::Load(_) => {
                        takes = true;
                        let again = i > 0 && ops[i - 1].step == op.step && ops[i - 1].source == op.source;
                        if again && self.stamped == 0 {
                            return false;
                        }
                    }
                    _ => {}
                }
            }
            let stores = ops.iter().any(|op| matches!(op.step, Action::Store(_)));
            let only_initial = ops.iter().all(|op| !matches!(op.step, Action::Load(_)) || op.source == INIT);
            if !gives && !takes || !stores && only_initial {
                return false;
            }
        }
        !self.sequential(exclusion)
    }

    /// Is there one interleaving in which every load returns the last store?
    fn sequential(&self, exclusion: bool) -> bool {
        let mut pending = [0u8; 16];
        let mut initial = [0u8; 8];
        for op in &self.ops {
            if let Action::Load(x) = op.step {
                if op.source == INIT { initial[x as usize] += 1 } else { pending[op.source as usize] += 1 }
            }
        }
        let mut at = [0u8; 8];
        for (t, &start) in self.start[..self.start.len() - 1].iter().enumerate() {
            at[t] = start as u8;
        }
        self.run(State { at, last: [INIT; 8], held: 0, pending, initial }, exclusion)
    }

    fn run(&self, mut state: State, exclusion: bool) -> bool {
        let threads = self.start.len() - 1;
        // Operations that change nothing for the others may happen immediately: loads that see their value, barriers, releases.
        let mut done = true;
        for t in 0..threads {
            while (state.at[t] as usize) < self.start[t + 1] {
                let op = &self.ops[state.at[t] as usize];
                match op.step {
                    Action::Load(x) if state.last[x as usize] == op.source => {
                        let waiting = match op.source {
                            INIT => &mut state.initial[x as usize],
                            source => &mut state.pending[source as usize],
                        };
                        *waiting -= 1;
                    }
                    Action::Barrier => {}
                    Action::Release(k) => state.held &= !(1 << k),
                    _ => break,
                }
                state.at[t] += 1;
            }
            done &= state.at[t] as usize == self.start[t + 1];
        }
        if done {
            return true;
        }
        (0..threads).any(|t| {
            let i = state.at[t] as usize;
            if i >= self.start[t + 1] {
                return false;
            }
            let mut next = state;
            next.at[t] += 1;
            match self.ops[i].step {
                Action::Store(x) => {
                    let waiting = match state.last[x as usize] {
                        INIT => state.initial[x as usize],
                        last => state.pending[last as usize],
                    };
                    next.last[x as usize] = i as u8;
                    // A load of the value that is overwritten now would never see it.
                    waiting == 0 && self.run(next, exclusion)
                }
                Action::Acquire(k) => {
                    next.held |= 1 << k;
                    (!exclusion || state.held >> k & 1 == 0) && self.run(next, exclusion)
                }
                _ => false,
            }
        })
    }

    /// Writes it down, with these barriers: `None` is `sync`.
    pub(super) fn write(&self, masks: &[Option<Mask>], trace: &mut Trace, scratch: &mut ResolveScratch) {
        trace.clear(1);
        let mut masks = masks.iter();
        let mut values = [0u64; 16];
        for (i, op) in self.ops.iter().enumerate() {
            if let Action::Store(x) = op.step {
                values[i] = 1 + self.ops[..i].iter().filter(|other| other.step == Action::Store(x)).count() as u64;
            }
        }
        for (i, op) in self.ops.iter().enumerate() {
            let (thread, line) = (trace.thread_id(op.thread as u32), i as u64 + 1);
            let id = match op.step {
                Action::Store(x) => {
                    let x = address(trace, x);
                    trace.push_store(thread, x, values[i], line)
                }
                Action::Load(x) => {
                    let x = address(trace, x);
                    let value = if op.source == INIT { 0 } else { values[op.source as usize] };
                    trace.push_load(thread, x, value, line)
                }
                Action::Acquire(k) => {
                    let k = lock(trace, k);
                    trace.push_acquire(thread, k, line)
                }
                Action::Release(k) => {
                    let k = lock(trace, k);
                    trace.push_release(thread, k, line)
                }
                Action::Barrier => trace.push_fence(thread, masks.next().copied().flatten(), line),
            };
            if self.stamped >> i & 1 != 0 {
                let begin = 10 * (i - self.start[op.thread as usize]) as u64;
                trace.set_span(OpId(id.0), Span { begin: Some(begin), end: Some(begin + 5) });
            }
        }
        for (k, &guarded) in self.guarded.iter().enumerate() {
            if guarded != 0 {
                let addrs = (0..8).filter(|x| guarded >> x & 1 != 0).map(|x| address(trace, x)).collect();
                let lock = lock(trace, k as u8);
                trace.guards.push(Guard { lock, addrs, line: self.ops.len() as u64 + 1 + k as u64 });
            }
        }
        let resolved = trace.resolve(scratch);
        debug_assert!(resolved.is_ok(), "{resolved:?}");
    }
}

/// A point of an interleaving.
#[derive(Clone, Copy)]
struct State {
    /// Per thread, the next operation.
    at: [u8; 8],
    /// Per address, its last store.
    last: [u8; 8],
    /// Locks that are held.
    held: u8,
    /// Per store, how many loads of it are to come.
    pending: [u8; 16],
    /// Per address, how many loads of its initial value are to come.
    initial: [u8; 8],
}

fn address(trace: &mut Trace, x: u8) -> AddrId {
    trace.named_id(["x", "y", "z", "u", "v", "w"][x as usize])
}

fn lock(trace: &mut Trace, k: u8) -> AddrId {
    trace.lock_id(["A", "B", "C", "D"][k as usize])
}
