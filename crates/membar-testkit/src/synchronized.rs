//! Small random traces with locks and timestamps, many of them one step from legal, to compare deciders on.
//!
//! Problem: models with locks differ in what sessions order, and timed deciders in what periods order. Make traces on
//! which both show, with answers that are known where possible.
//!
//! Algorithm:
//! 1. draw a [`program`]: threads with accesses and sessions, which nest, overlap, and return to a lock;
//! 2. [`run`] it on a machine that performs operations one at a time, out of a window of each thread, each as soon as all
//!    operations of its thread have been performed that a model keeps before it: the last store to its address gives a load
//!    its value, or its own thread's store that still waits. Such a machine does what a model with a total memory
//!    order allows;
//! 3. [`Run::with_times`] notes when each operation was pending: an operation begins before it is performed and ends
//!    after that, but a store may end before it is performed, unless writes are atomic;
//! 4. for traces near the border ([`synchronized`]) the model is a random weak one, and half of the time a read gets
//!    another value or an operation another period; or a ring of threads is drawn, as litmus tests are, that most models
//!    forbid or allow by what the sessions round its accesses order.
//!
//! Complexity: a run takes O(n p w^2) for p threads with a window of w operations, so long ones can be made too; with
//! several locks that threads hold at once they would end in a deadlock.
//!
//! Guarantees: every trace resolves. A run's trace is allowed by its model, with its timestamps on one clock too, if they
//! are read with [`Times::clock`].
//!
//! The figures of Lv and others (technical report, 2014) that show executions are here as well (`figures`).

mod figures;

pub use figures::{figure_1, figure_1_observed, figure_2, figure_3, overlooked, overlooked_both_ways};

use crate::Small;
use crate::corrupt::rebuilt;
use crate::cycle::cycle;
use membar_core::Rng;
use membar_core::{
    AddrId, Clock, Compare, Final, Guard, Init, Kind, Mask, Model, Op, OpId, OpKind, OrderLine, Ppo, ResolveScratch,
    Span, ThreadId, Trace, When,
};
use std::ops::RangeInclusive;

/// How far a machine looks ahead in a thread.
const WINDOW: usize = 16;

/// The features that a program may have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Synchronized {
    /// Number of threads.
    pub threads: RangeInclusive<u32>,
    /// Number of addresses.
    pub addresses: RangeInclusive<u32>,
    /// Number of accesses, of all threads together.
    pub accesses: RangeInclusive<u32>,
    /// Number of locks.
    pub locks: RangeInclusive<u32>,
    /// The most sessions, of all threads together.
    pub sessions: u32,
    /// Read-modify-writes.
    pub rmws: bool,
    /// `sync` and `membar`.
    pub barriers: bool,
    /// `init`, `final` and `order` lines.
    pub lines: bool,
}

impl Synchronized {
    /// Loads, stores and locks with guards.
    pub const PLAIN: Synchronized = Synchronized {
        threads: 2..=4,
        addresses: 1..=3,
        accesses: 4..=9,
        locks: 0..=2,
        sessions: 3,
        rmws: false,
        barriers: false,
        lines: false,
    };

    /// All features.
    pub const ALL: Synchronized = Synchronized { rmws: true, barriers: true, lines: true, ..Synchronized::PLAIN };
}

/// How it is noted when operations were pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// Operations of a thread begin and end in program order, as in a processor's window. Without it, each begins and ends
    /// whenever it likes.
    pub in_order: bool,
    /// How much longer an operation is pending, at either side, in most cases. In some, up to eight times as long.
    pub slack: u32,
    /// A quarter of the begins and of the ends is not recorded.
    pub missing: bool,
    /// Timestamps are those of the first scan after the event, scans being this far apart. To be in order, then.
    pub sampled_every: Option<u64>,
    /// Each timestamp is off by up to this.
    pub error: u64,
}

impl Times {
    /// The clock to tell a decider about, given the timestamps.
    pub fn clock(&self) -> Clock {
        Clock { compare: Compare::Everything, error: self.error, sampled_every: self.sampled_every }
    }

    /// Any of them.
    pub fn random(rng: &mut Rng) -> Times {
        let sampled_every = rng.chance(1, 4).then(|| 1 + 5 * u64::from(rng.below(8)));
        Times {
            in_order: sampled_every.is_some() || rng.chance(1, 2),
            slack: rng.below(8),
            missing: rng.chance(1, 3),
            sampled_every,
            error: if rng.chance(1, 4) { rng.below(20).into() } else { 0 },
        }
    }
}

/// One run of a machine.
#[derive(Clone, Debug)]
pub struct Run {
    /// The recording, without timestamps, resolved.
    pub trace: Trace,
    /// When each operation was performed; 0 for a barrier.
    pub performed: Vec<u64>,
    /// A store is performed before it ends.
    pub atomic_writes: bool,
}

/// A program as a trace in which every read returns the initial value, resolved.
pub fn program(knobs: &Synchronized, rng: &mut Rng) -> Trace {
    let mut range = |r: &RangeInclusive<u32>| rng.between(*r.start(), *r.end());
    let (threads, addresses) = (range(&knobs.threads), range(&knobs.addresses));
    let (accesses, locks) = (range(&knobs.accesses), range(&knobs.locks));
    let mut trace = Trace::new();
    trace.clear(1);
    let mut value = 0;
    let mut sessions = if locks > 0 { knobs.sessions } else { 0 };
    for t in 0..threads {
        let thread = trace.thread_id(t);
        let mut left = accesses / threads + u32::from(t < accesses % threads);
        let mut mine = (knobs.sessions.div_ceil(threads) + 1).min(sessions);
        let mut held: Vec<u32> = Vec::new();
        while left > 0 || !held.is_empty() {
            let line = trace.len() as u64 + 1;
            let roll = if left == 0 { 0 } else { rng.below(12) };
            if roll < 2 && !held.is_empty() {
                // Any of them: not all sessions nest.
                let at = rng.below(held.len() as u32) as usize;
                let lock = trace.lock_id(&format!("L{}", held.remove(at)));
                trace.push_release(thread, lock, line);
                continue;
            }
            // Spread over the thread, where it is long.
            if (2..6).contains(&roll) && rng.below(left) < 2 * mine {
                let lock = rng.below(locks);
                if !held.contains(&lock) {
                    mine -= 1;
                    sessions -= 1;
                    held.push(lock);
                    let lock = trace.lock_id(&format!("L{lock}"));
                    trace.push_acquire(thread, lock, line);
                    continue;
                }
            }
            if roll == 6 && knobs.barriers {
                let mask = rng.chance(1, 2).then(|| Mask::from_bits(rng.between(1, 15) as u8));
                trace.push_fence(thread, mask, line);
            }
            left -= 1;
            let addr = trace.memory_id(rng.below(addresses).into());
            match rng.below(12) {
                0 if knobs.rmws => {
                    value += 1;
                    trace.push_rmw(thread, addr, 0, value, line);
                }
                0..6 => {
                    value += 1;
                    trace.push_store(thread, addr, value, line);
                }
                _ => {
                    trace.push_load(thread, addr, 0, line);
                }
            }
        }
    }
    for (l, line) in (0..locks).zip(trace.len() as u64 + 1..) {
        let mut addrs: Vec<AddrId> = (0..addresses).map(|a| trace.memory_id(a.into())).collect();
        addrs.retain(|_| rng.chance(2, 3));
        if !addrs.is_empty() {
            let lock = trace.lock_id(&format!("L{l}"));
            trace.guards.push(Guard { lock, addrs, line });
        }
    }
    resolved(trace)
}

fn resolved(mut trace: Trace) -> Trace {
    let resolved = trace.resolve(&mut ResolveScratch::default());
    debug_assert!(resolved.is_ok(), "{resolved:?}");
    trace
}

/// Runs a program on a machine that obeys a model, whose memory order is total. `None` if its threads waited for each
/// other's locks, or if the model lets no order of them through.
pub fn run(program: &Trace, model: &Model, rng: &mut Rng) -> Option<Run> {
    let mut machine = Machine {
        program,
        model,
        values: (0..program.addrs() as u32).map(|a| program.initial(AddrId(a))).collect(),
        free: vec![true; program.addrs()],
        ops: program.ops().map(|op| program.op(op)).collect(),
        performed: vec![None; program.len()],
        first: vec![0; program.threads()],
    };
    let mut now = 0;
    loop {
        let ready = machine.ready();
        let Some(&op) = rng.pick(&ready) else { break };
        now += u64::from(rng.between(1, 10));
        machine.perform(op, now);
    }
    if program.memory_ops().any(|op| machine.performed[op.index()].is_none()) {
        return None;
    }
    let trace = resolved(rebuilt(program, &machine.ops));
    let performed = machine.performed.iter().map(|at| at.unwrap_or(0)).collect();
    Some(Run { trace, performed, atomic_writes: model.atomic_writes })
}

struct Machine<'a> {
    program: &'a Trace,
    model: &'a Model,
    values: Vec<u64>,
    free: Vec<bool>,
    ops: Vec<Op>,
    performed: Vec<Option<u64>>,
    /// Per thread, how many operations have been performed without a gap.
    first: Vec<usize>,
}

impl Machine<'_> {
    /// The operations of a thread that are not performed and in its window, in program order.
    fn waiting(&self, thread: ThreadId) -> impl Iterator<Item = OpId> {
        let ops = &self.program.thread_ops(thread)[self.first[thread.index()]..];
        ops.iter().copied().take(WINDOW).filter(|&op| self.waits(op))
    }

    fn waits(&self, op: OpId) -> bool {
        self.program.kind(op) != OpKind::Fence && self.performed[op.index()].is_none()
    }

    fn ready(&self) -> Vec<OpId> {
        let program = self.program;
        let threads = (0..program.threads() as u32).map(ThreadId);
        let taken = |op: OpId| {
            let acquires = program.kind(op) == OpKind::Acquire && self.model.lock_exclusion;
            acquires && !self.free[program.addr(op).index()]
        };
        let goes_first = |thread, op: OpId| self.waiting(thread).take_while(move |&earlier| earlier != op);
        threads
            .flat_map(|thread| self.waiting(thread).map(move |op| (thread, op)))
            .filter(|&(thread, op)| !taken(op) && !goes_first(thread, op).any(|earlier| self.keeps(earlier, op)))
            .map(|(_, op)| op)
            .collect()
    }

    fn perform(&mut self, op: OpId, now: u64) {
        let program = self.program;
        let (thread, addr) = (program.thread(op), program.addr(op).index());
        let own = |&own: &OpId| program.addr(own) == program.addr(op) && program.kind(own).writes();
        let own = self.waiting(thread).take_while(|&earlier| earlier != op).filter(own).last();
        let own = own.filter(|_| self.model.store_forwarding);
        let record = &mut self.ops[op.index()];
        match record.kind {
            OpKind::Load => record.read = own.map_or(self.values[addr], |own| program.write(own)),
            OpKind::Rmw => record.read = std::mem::replace(&mut self.values[addr], record.write),
            OpKind::Store => self.values[addr] = record.write,
            OpKind::Acquire | OpKind::Release => self.free[addr] = record.kind == OpKind::Release,
            OpKind::Fence => {}
        }
        self.performed[op.index()] = Some(now);
        let done = program.thread_ops(thread)[self.first[thread.index()]..].iter().take_while(|&&op| !self.waits(op));
        self.first[thread.index()] += done.count();
    }

    /// Does the model keep two operations of one thread in order? Nothing is known of time yet.
    fn keeps(&self, earlier: OpId, later: OpId) -> bool {
        let program = self.program;
        let (from, to) = (program.kind(earlier).kinds(), program.kind(later).kinds());
        let (a, b) = (program.addr(earlier), program.addr(later));
        let table = from.iter().any(|e| {
            to.iter().any(|l| {
                let when = self.model.ppo.entry(e, l);
                let in_session = || match (e.locks(), l.locks()) {
                    (false, false) => program.one_session(earlier, later),
                    _ => program.in_session(earlier, later) || program.in_session(later, earlier),
                };
                let guarded = || program.guards(a, b) || program.guards(b, a);
                when.always
                    || when.same_address && a == b
                    || when.same_session && in_session()
                    || when.guarded && guarded()
            })
        });
        let between =
            &program.thread_ops(program.thread(earlier))[program.po(earlier) as usize..program.po(later) as usize];
        table
            || between.iter().filter(|&&op| program.kind(op) == OpKind::Fence).any(|&fence| {
                let rows = program.mask(fence).unwrap_or(self.model.sync).rows();
                from.iter().any(|e| rows[e as usize].meets(to))
            })
    }
}

impl Run {
    /// The trace with the periods of its operations. They contain what happened, if [`Times::clock`] reads them.
    pub fn with_times(&self, times: &Times, rng: &mut Rng) -> Trace {
        let mut periods = self.periods(times, rng);
        let mut stamp = |time: u64| {
            let time = match times.sampled_every {
                Some(every) => time.div_ceil(every) * every,
                None => time,
            };
            let off = u64::from(rng.below(2 * times.error as u32 + 1));
            let time = (time + off).saturating_sub(times.error);
            (!times.missing || rng.chance(3, 4)).then_some(time)
        };
        let mut ops: Vec<Op> = self.trace.ops().map(|op| self.trace.op(op)).collect();
        for (op, (begin, end)) in ops.iter_mut().zip(periods.drain(..)) {
            op.span = Span { begin: stamp(begin), end: stamp(end) };
        }
        resolved(rebuilt(&self.trace, &ops))
    }

    /// When each operation entered and left its processor.
    fn periods(&self, times: &Times, rng: &mut Rng) -> Vec<(u64, u64)> {
        let trace = &self.trace;
        let mut periods = vec![(0, 0); trace.len()];
        let last = self.performed.iter().copied().max().unwrap_or(0);
        let slack = |rng: &mut Rng| {
            let most = if rng.chance(1, 3) { 8 * times.slack } else { times.slack };
            u64::from(rng.below(most + 1))
        };
        for thread in 0..trace.threads() as u32 {
            let ops = trace.thread_ops(ThreadId(thread));
            let mut latest = u64::MAX;
            for op in ops.iter().rev() {
                let performed = match trace.kind(*op) {
                    OpKind::Fence => latest.min(last),
                    _ => self.performed[op.index()],
                };
                let begin = if times.in_order { performed.min(latest) } else { performed };
                periods[op.index()].0 = begin.saturating_sub(slack(rng));
                latest = periods[op.index()].0;
            }
            let mut earliest = 0;
            for op in ops {
                let begin = periods[op.index()].0;
                let done = match trace.kind(*op) {
                    OpKind::Fence => begin,
                    // Into the buffer, and only later to memory.
                    OpKind::Store if !self.atomic_writes => begin + u64::from(rng.below(3)),
                    _ => self.performed[op.index()],
                };
                let end = if times.in_order { done.max(earliest) } else { done };
                periods[op.index()].1 = end + slack(rng);
                earliest = periods[op.index()].1;
            }
        }
        periods
    }
}

/// A random run of a random program under this model, without timestamps.
pub fn recorded(knobs: &Synchronized, model: &Model, rng: &mut Rng) -> Run {
    loop {
        let program = program(knobs, rng);
        if let Some(run) = (0..20).find_map(|_| run(&program, model, rng)) {
            return run;
        }
    }
}

/// A model of which any pair of operations may keep its order or not, as far as models may choose.
pub fn weak_model(rng: &mut Rng) -> Model {
    let mut pick = |choices: &[When]| *rng.pick(choices).expect("there are some");
    let (always, never, address) = (When::ALWAYS, When::NEVER, When::SAME_ADDRESS);
    let access = [always, address, address, address];
    let mut ppo = Ppo::new(pick(&access), pick(&access), pick(&[always, never, never, never]), pick(&access));
    let session = [always, When::SAME_SESSION, When::GUARDED, never];
    for kind in [Kind::Load, Kind::Store] {
        ppo.set(Kind::Acquire, kind, pick(&session));
        ppo.set(kind, Kind::Release, pick(&session));
        ppo.set(kind, Kind::Acquire, pick(&[always, never, never]));
        ppo.set(Kind::Release, kind, pick(&[always, never, never]));
    }
    for earlier in [Kind::Acquire, Kind::Release] {
        for later in [Kind::Acquire, Kind::Release] {
            ppo.set(earlier, later, pick(&[always, address]));
        }
    }
    Model::new("weak", ppo)
}

/// The trace of this seed near the border of what is allowed, with timestamps on one clock if so wanted. Resolved, and its
/// clock is set.
pub fn synchronized(knobs: &Synchronized, timed: bool, seed: u64) -> Trace {
    let mut rng = Rng::stream(seed, 0x5E55);
    let times = timed.then(|| Times::random(&mut rng));
    let ring = if rng.chance(1, 2) { ring(knobs, &mut rng) } else { None };
    let mut trace = match (ring, &times) {
        (Some(ring), None) => ring,
        (Some(ring), Some(times)) => interleaved(ring, &mut rng).with_times(times, &mut rng),
        (None, times) => {
            let model = weak_model(&mut rng);
            let mut run = recorded(knobs, &model, &mut rng);
            if knobs.lines {
                run.trace = with_lines(&run, &mut rng);
            }
            match times {
                Some(times) => run.with_times(times, &mut rng),
                None => run.trace,
            }
        }
    };
    if rng.chance(2, 3) {
        // Sometimes, nearly all reads return just anything.
        let most = if rng.chance(1, 4) { trace.len() as u32 } else { 3 };
        for _ in 0..rng.between(1, most) {
            trace =
                if timed && rng.chance(1, 3) { other_period(&trace, &mut rng) } else { other_value(&trace, &mut rng) };
        }
    }
    if let Some(times) = times {
        trace.set_clock(times.clock());
    }
    trace
}

/// A ring of threads, each with two accesses that one of the next thread contradicts, and sessions round some of them.
/// Each address has a lock that guards it.
fn ring(knobs: &Synchronized, rng: &mut Rng) -> Option<Trace> {
    let bare = Small {
        threads: knobs.threads.clone(),
        addresses: knobs.addresses.clone(),
        ops: knobs.accesses.clone(),
        rmws: knobs.rmws,
        syncs: knobs.barriers,
        membars: knobs.barriers,
        locks: false,
        times: false,
        inits: knobs.lines,
        finals: knobs.lines,
        orders: knobs.lines,
        cycles: true,
        oddities: false,
    };
    let bare = cycle(&bare, rng)?;
    let locks = rng.between(*knobs.locks.start(), *knobs.locks.end());
    let mut lines = rebuilt(&bare, &[]);
    let addrs: Vec<AddrId> = (0..bare.addrs() as u32).map(AddrId).collect();
    // Session round one access, round two neighbours (and what is between them), or round none.
    let single = rng.chance(2, 3);
    let mut sessions = if locks > 0 { knobs.sessions + 1 } else { 0 };
    let mut ops = Vec::new();
    for thread in 0..bare.threads() as u32 {
        let mut body: Vec<Op> = bare.thread_ops(ThreadId(thread)).iter().map(|&op| bare.op(op)).collect();
        let mut at = 0;
        while at < body.len() {
            let op = body[at];
            let length = if single { 1 } else { 1 + rng.below((body.len() - at) as u32) as usize };
            if sessions > 0 && op.kind != OpKind::Fence && rng.chance(3, 4) {
                sessions -= 1;
                let own = if rng.chance(2, 3) { op.addr.0 % locks } else { rng.below(locks) };
                let lock = lines.lock_id(&format!("L{own}"));
                let end = |kind| Op { kind, addr: lock, read: 0, write: 0, mask: None, ..op };
                body.insert(at + length, end(OpKind::Release));
                body.insert(at, end(OpKind::Acquire));
                at += 2;
            }
            at += length;
        }
        ops.extend(body);
    }
    for lock in 0..locks {
        let mine: Vec<AddrId> = addrs.iter().copied().filter(|a| a.0 % locks == lock || rng.chance(1, 6)).collect();
        let id = lines.lock_id(&format!("L{lock}"));
        lines.guards.push(Guard { lock: id, addrs: mine, line: 200 + u64::from(lock) });
    }
    for (op, line) in ops.iter_mut().zip(1..) {
        op.line = line;
    }
    Some(resolved(rebuilt(&lines, &ops)))
}

/// The trace as if its operations had been performed one by one, in any order that keeps each thread's.
fn interleaved(trace: Trace, rng: &mut Rng) -> Run {
    let mut turns: Vec<ThreadId> = trace.ops().map(|op| trace.thread(op)).collect();
    rng.shuffle(&mut turns);
    let mut next = vec![0; trace.threads()];
    let mut performed = vec![0; trace.len()];
    for (turn, now) in turns.into_iter().zip(1..) {
        performed[trace.thread_ops(turn)[next[turn.index()]].index()] = 8 * now;
        next[turn.index()] += 1;
    }
    Run { trace, performed, atomic_writes: rng.chance(1, 2) }
}

/// Some of what the machine knows about write order and final values, and other initial values.
fn with_lines(run: &Run, rng: &mut Rng) -> Trace {
    let trace = &run.trace;
    let mut ops: Vec<Op> = trace.ops().map(|op| trace.op(op)).collect();
    let mut lines = rebuilt(trace, &[]);
    let mut line = 100;
    for a in (0..trace.addrs() as u32).map(AddrId) {
        let mut writes: Vec<OpId> = trace
            .ops()
            .filter(|&op| trace.addr(op) == a && matches!(trace.kind(op), OpKind::Store | OpKind::Rmw))
            .collect();
        writes.sort_by_key(|op| run.performed[op.index()]);
        let values: Vec<u64> = writes.iter().map(|&op| trace.write(op)).collect();
        if values.is_empty() {
            continue;
        }
        line += 3;
        if rng.chance(1, 4) {
            lines.finals.push(Final { addr: a, value: values[values.len() - 1], line });
        }
        if rng.chance(1, 6) {
            lines.orders.push(OrderLine { addr: a, values, line: line + 1 });
        }
        if rng.chance(1, 6) {
            let reads = |op: &&mut Op| op.addr == a && matches!(op.kind, OpKind::Load | OpKind::Rmw) && op.read == 0;
            ops.iter_mut().filter(reads).for_each(|op| op.read = 1_000);
            lines.inits.push(Init { addr: a, value: 1_000, line: line + 2 });
        }
    }
    resolved(rebuilt(&lines, &ops))
}

/// One read returns another value of its address.
fn other_value(trace: &Trace, rng: &mut Rng) -> Trace {
    let mut ops: Vec<Op> = trace.ops().map(|op| trace.op(op)).collect();
    let reads: Vec<usize> = (0..ops.len()).filter(|&i| ops[i].kind.reads()).collect();
    if let Some(&i) = rng.pick(&reads) {
        let writes = ops.iter().filter(|op| op.addr == ops[i].addr && op.kind.writes()).map(|op| op.write);
        let mut values: Vec<u64> = [trace.initial(ops[i].addr)].into_iter().chain(writes).collect();
        values.retain(|&value| value != ops[i].read && !(ops[i].kind == OpKind::Rmw && value == ops[i].write));
        ops[i].read = rng.pick(&values).copied().unwrap_or(ops[i].read);
    }
    resolved(rebuilt(trace, &ops))
}

/// One operation was pending at another time.
fn other_period(trace: &Trace, rng: &mut Rng) -> Trace {
    let mut ops: Vec<Op> = trace.ops().map(|op| trace.op(op)).collect();
    let i = rng.below(ops.len() as u32) as usize;
    let by = u64::from(rng.between(5, 60));
    let later = rng.chance(1, 2);
    let moved = |time: u64| if later { time + by } else { time.saturating_sub(by) };
    ops[i].span = Span { begin: ops[i].span.begin.map(moved), end: ops[i].span.end.map(moved) };
    resolved(rebuilt(trace, &ops))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_occurs_and_resolves() {
        let mut seen = [0; 12];
        for seed in 0..3000 {
            let trace = synchronized(&Synchronized::ALL, seed % 2 == 0, seed);
            let again = synchronized(&Synchronized::ALL, seed % 2 == 0, seed);
            assert!(trace.ops().all(|op| trace.op(op) == again.op(op)));
            let any = |test: &dyn Fn(OpId) -> bool| usize::from(trace.ops().any(test));
            let kind = |kind| any(&|op| trace.kind(op) == kind);
            let acquire = |op: OpId| trace.kind(op) == OpKind::Acquire;
            let inside = |op: OpId, outer: OpId| acquire(outer) && op != outer && trace.in_session(outer, op);
            let nested = |op: OpId| trace.ops().any(|outer| acquire(op) && inside(op, outer));
            let crossed = |op: OpId| {
                let across = |outer| inside(op, outer) && !trace.partner(op).is_some_and(|end| inside(end, outer));
                acquire(op) && trace.ops().any(across)
            };
            let returns = |op: OpId| {
                let same = |other| other > op && acquire(other) && trace.addr(other) == trace.addr(op);
                acquire(op) && trace.ops().any(|other| same(other) && trace.thread(other) == trace.thread(op))
            };
            let counts = [
                kind(OpKind::Rmw),
                kind(OpKind::Fence),
                kind(OpKind::Acquire),
                any(&nested),
                any(&crossed),
                any(&returns),
                usize::from(!trace.guards.is_empty()),
                usize::from(!trace.inits.is_empty()),
                usize::from(!trace.finals.is_empty()),
                usize::from(!trace.orders.is_empty()),
                usize::from(trace.has_times()),
                any(&|op| trace.has_times() && trace.span(op).end.is_none()),
            ];
            seen.iter_mut().zip(counts).for_each(|(all, one)| *all += one);
        }
        assert!(seen.iter().all(|&n| n > 20), "{seen:?}");
    }

    #[test]
    fn periods_contain_the_events() {
        let mut rng = Rng::new(1);
        for _ in 0..500 {
            let model = Model { atomic_writes: rng.chance(1, 2), ..weak_model(&mut rng) };
            let run = recorded(&Synchronized::ALL, &model, &mut rng);
            let times = Times::random(&mut rng);
            let mut trace = run.with_times(&times, &mut rng);
            trace.set_clock(times.clock());
            for op in trace.memory_ops() {
                let (period, performed) = (trace.period(op), run.performed[op.index()]);
                assert!(period.begin.is_none_or(|begin| begin <= performed), "{times:?} {:?}", trace.op(op));
                let done = !model.done_at_end(trace.kind(op)) || period.end.is_none_or(|end| performed <= end);
                assert!(done, "{times:?} {:?}", trace.op(op));
            }
        }
    }
}
