//! The order that an operation inherits from earlier operations of its thread.
//!
//! Problem: for each operation, gather the earlier ones of its thread that the model's table, a barrier, or the time axiom
//! (where clocks are those of threads) put before it, without looking at all pairs.
//!
//! Algorithm: walk each thread once and keep what was gathered so far ([`Join`]): by kind; by kind at each barrier; by
//! kind for each address and lock; by kind inside each open session; by kind among what each lock guards; and, in a
//! Fenwick tree over end times, among what ended before a time. [`Join`] says what gathering is: the largest place in an
//! order (`witness`), or a node of a graph behind all the others (`overwritten`).
//!
//! Of the sessions that hold an access, the one that began first holds whatever another one holds before that access: two
//! accesses share a session exactly if they share that one.
//!
//! The table's rules about time matter for plain stores that may still be in a buffer when their period ends, since
//! the axiom covers everything else. Where the table keeps a pair always, neither has to be looked at.
//!
//! Complexity: O(n + a) joins and steps; times the number of locks that a thread holds at once, or that guard one address;
//! O(n log n) where times of threads count.

use crate::Flaw;
use crate::locks::Guards;
use crate::said::Said;
use membar_core::{AddrId, Compare, Kind, Kinds, Mask, Model, OpId, OpKind, Ppo, ThreadId, Trace, When};

/// Information gathered about sets of operations; 0 stands for the empty set.
pub(crate) trait Join {
    /// For one operation.
    fn of(&self, op: OpId) -> u32;
    /// For both sets.
    fn join(&mut self, a: u32, b: u32) -> u32;
}

/// Buffers, kept between traces.
#[derive(Default, Debug)]
pub(crate) struct Past {
    rules: Rules,
    /// Per address or lock: the current thread's operations on it so far.
    own: Vec<OwnColumns>,
    /// Per lock: the current thread's operations so far on addresses that it guards.
    guarded: Vec<OwnColumns>,
    guards: Guards,
    /// The sessions that the current thread is in, in the order in which they began.
    open: Vec<Session>,
    ended: Ended,
    /// Conditions about marks, dependencies and what was read.
    said: Said,
}

/// By column, for one address or lock; stale unless it is the current thread's.
#[derive(Clone, Copy, Default, Debug)]
struct OwnColumns {
    /// The thread, plus one.
    thread: u32,
    columns: [u32; 2],
}

impl OwnColumns {
    /// Forgets what other threads did.
    #[inline]
    fn by(&mut self, thread: u32) -> &mut [u32; 2] {
        if self.thread != thread {
            *self = OwnColumns { thread, columns: [0; 2] };
        }
        &mut self.columns
    }
}

/// A session that has not ended yet.
#[derive(Clone, Copy, Debug)]
struct Session {
    lock: AddrId,
    acquire: u32,
    /// Its loads and stores so far.
    inside: [u32; 2],
}

/// The column of an access (load 0, store 1) or of a lock operation (acquire 0, release 1), as bits.
#[inline]
fn columns(kinds: Kinds) -> u8 {
    (kinds.0 | kinds.0 >> 2) & 3
}

/// The conditions that put earlier operations before a later one of some [`OpKind`].
#[derive(Clone, Copy, Default, Debug)]
struct Rule {
    /// Kinds, whatever they access.
    always: u8,
    /// Columns, on the same address or lock.
    same_address: u8,
    /// Columns of accesses, in the same session.
    same_session: u8,
    /// Acquires of the sessions that it is in.
    acquires: bool,
    /// Columns of the locks that guard its address, or of the accesses that its lock guards.
    guarded: u8,
    /// By time: operations that are done at their end.
    done: bool,
    /// By time: stores that are not.
    pending: bool,
}

/// Everything that the rules depend on besides the table; the rules are kept from one trace to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Case {
    sync: Mask,
    stores_done: bool,
    clocks: Compare,
    locked: bool,
    guards: bool,
}

/// The model, by later operation.
#[derive(Default, Debug)]
struct Rules {
    case: Option<(Case, Ppo)>,
    of: [Rule; 6],
    sync: [Kinds; 4],
    timed: bool,
    stores_done: bool,
    locked: bool,
    /// Some rule is about sessions.
    sessions: bool,
    /// Some rule is about accesses that share a session, or that are before its release.
    insides: bool,
    guarded: bool,
}

/// Do the two say the same? Without locks, four entries count.
#[inline]
fn same(a: &Ppo, b: &Ppo, locked: bool) -> bool {
    const ACCESSES: [Kind; 2] = [Kind::Load, Kind::Store];
    let entry = |e: Kind, l: Kind| a.entry(e, l) == b.entry(e, l);
    if locked { a == b } else { ACCESSES.iter().all(|&e| ACCESSES.iter().all(|&l| entry(e, l))) }
}

const MEMORY: [OpKind; 5] = [OpKind::Load, OpKind::Store, OpKind::Rmw, OpKind::Acquire, OpKind::Release];

impl Rules {
    fn update(&mut self, trace: &Trace, model: &Model) {
        let case = Case {
            sync: model.sync,
            stores_done: model.done_at_end(OpKind::Store),
            clocks: if trace.has_times() { trace.compare() } else { Compare::Nothing },
            locked: trace.has_locks(),
            guards: !trace.guards.is_empty(),
        };
        if !self.case.as_ref().is_some_and(|(old, ppo)| *old == case && same(ppo, &model.ppo, case.locked)) {
            *self = Rules::new(case, model.ppo);
        }
    }

    fn new(case: Case, ppo: Ppo) -> Rules {
        let Case { stores_done, clocks, locked, .. } = case;
        let mut rules =
            Rules { sync: case.sync.rows(), stores_done, locked, case: Some((case, ppo)), ..Rules::default() };
        for later in MEMORY {
            let rule = &mut rules.of[later as usize];
            for earlier in Kind::ALL {
                let when = later.kinds().iter().fold(When::NEVER, |when, kind| when.or(ppo.entry(earlier, kind)));
                let column = columns(Kinds::of(earlier));
                rule.always |= Kinds::of(earlier).0 * when.always as u8;
                if when.always {
                    continue;
                }
                if when.same_address && earlier.locks() == later.locks() {
                    rule.same_address |= column;
                }
                if when.guarded && earlier.locks() != later.locks() {
                    rule.guarded |= column;
                }
                if when.same_session {
                    match (earlier, later) {
                        (Kind::Load | Kind::Store, OpKind::Acquire) => {}
                        (Kind::Load | Kind::Store, _) => rule.same_session |= column,
                        (Kind::Acquire, _) => rule.acquires |= !later.locks(),
                        (Kind::Release, _) => {}
                    }
                }
                rule.pending |= clocks != Compare::Nothing && earlier == Kind::Store && when.time && !stores_done;
            }
            let done = |kind: &OpKind| {
                let done = (stores_done || *kind != OpKind::Store) && (locked || !kind.locks());
                done && !kind.kinds().meets(Kinds(rule.always))
            };
            rule.done = clocks == Compare::Threads && MEMORY.iter().any(done);
            rules.timed |= rule.done || rule.pending;
            rules.insides |= rule.same_session != 0;
            rules.sessions |= rule.same_session != 0 || rule.acquires;
            rules.guarded |= rule.guarded != 0;
        }
        rules.sessions &= rules.locked;
        rules.guarded &= rules.locked && case.guards;
        rules
    }
}

impl Past {
    /// Calls `visit` for each operation but barriers, by thread and in program order, with what has to come before it and
    /// with what its thread stored earlier to its address.
    pub(crate) fn walk<J: Join>(
        &mut self,
        trace: &Trace,
        model: &Model,
        join: &mut J,
        mut visit: impl FnMut(&mut J, OpId, u32, u32) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        self.rules.update(trace, model);
        self.own.clear();
        self.own.resize(trace.addrs(), OwnColumns::default());
        if self.rules.guarded {
            self.guards.read(trace);
            self.guarded.clear();
            self.guarded.resize(trace.addrs(), OwnColumns::default());
        }
        let says = self.said.start(trace, model);
        for thread in (0..trace.threads() as u32).map(ThreadId) {
            match (self.rules.timed, self.rules.locked, says) {
                (false, false, false) => self.thread::<J, false, false, false>(trace, thread, join, &mut visit),
                (false, true, false) => self.thread::<J, false, true, false>(trace, thread, join, &mut visit),
                (true, false, false) => self.thread::<J, true, false, false>(trace, thread, join, &mut visit),
                (true, true, false) => self.thread::<J, true, true, false>(trace, thread, join, &mut visit),
                (false, false, true) => self.thread::<J, false, false, true>(trace, thread, join, &mut visit),
                (_, _, true) => self.thread::<J, true, true, true>(trace, thread, join, &mut visit),
            }?;
        }
        Ok(())
    }

    fn thread<J: Join, const TIMED: bool, const LOCKED: bool, const SAYS: bool>(
        &mut self,
        trace: &Trace,
        thread: ThreadId,
        join: &mut J,
        visit: &mut impl FnMut(&mut J, OpId, u32, u32) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        let kinds = if LOCKED { 4 } else { 2 };
        let by = thread.0 + 1;
        let ops = trace.thread_ops(thread);
        if TIMED {
            self.ended.start(trace, ops);
        }
        self.open.clear();
        if SAYS {
            self.said.enter(thread.0);
        }
        // By earlier kind; by later kind, what barriers put before it.
        let (mut all, mut barrier) = ([0; 4], [0; 4]);
        for &op in ops {
            let kind = trace.kind(op);
            if kind == OpKind::Fence {
                let rows = trace.mask(op).map_or(self.rules.sync, Mask::rows);
                for earlier in 0..kinds {
                    for later in (0..kinds).filter(|later| rows[earlier].0 >> later & 1 != 0) {
                        barrier[later] = join.join(barrier[later], all[earlier]);
                    }
                }
                if SAYS {
                    self.said.addresses(trace, op, join);
                }
                continue;
            }
            let (me, rule) = (kind.kinds(), self.rules.of[kind as usize]);
            let own = self.own[trace.addr(op).index()].by(by);
            let here = *own;
            let mut before = 0;
            for k in 0..kinds {
                if me.0 >> k & 1 != 0 {
                    before = join.join(before, barrier[k]);
                }
                if rule.always >> k & 1 != 0 {
                    before = join.join(before, all[k]);
                }
            }
            for (column, &earlier) in here.iter().enumerate() {
                if rule.same_address >> column & 1 != 0 {
                    before = join.join(before, earlier);
                }
            }
            let item = join.of(op);
            for (column, earlier) in own.iter_mut().enumerate() {
                if columns(me) >> column & 1 != 0 {
                    *earlier = join.join(*earlier, item);
                }
            }
            if TIMED {
                before = self.ended.before(trace, op, rule, before, join);
            }
            if LOCKED && self.rules.sessions {
                before = self.session(trace, op, rule, before, join);
            }
            if LOCKED && self.rules.guarded {
                before = self.guard(trace, op, rule, before, join);
            }
            if SAYS && !kind.locks() {
                before = self.said.access(trace, op, before, join);
            }
            visit(join, op, before, here[1])?;
            for (k, all) in all[..kinds].iter_mut().enumerate() {
                if me.0 >> k & 1 != 0 {
                    *all = join.join(*all, item);
                }
            }
            if TIMED {
                let class = (kind == OpKind::Store && !self.rules.stores_done) as usize;
                self.ended.add(trace, op, class, item, join);
            }
        }
        Ok(())
    }

    /// Adds to `before` what sessions put before the operation, and the operation to the sessions that it is in.
    fn session<J: Join>(&mut self, trace: &Trace, op: OpId, rule: Rule, mut before: u32, join: &mut J) -> u32 {
        let (kind, item) = (trace.kind(op), join.of(op));
        let add_inside = |before: &mut u32, join: &mut J, session: &Session| {
            for (column, &inside) in session.inside.iter().enumerate() {
                if rule.same_session >> column & 1 != 0 {
                    *before = join.join(*before, inside);
                }
            }
        };
        match kind {
            OpKind::Acquire => self.open.push(Session { lock: trace.addr(op), acquire: item, inside: [0; 2] }),
            OpKind::Release => {
                if let Some(at) = self.open.iter().rposition(|session| session.lock == trace.addr(op)) {
                    add_inside(&mut before, join, &self.open.remove(at));
                }
            }
            _ => {
                if let Some(first) = self.open.first() {
                    add_inside(&mut before, join, first);
                }
                for session in &mut self.open {
                    if rule.acquires {
                        before = join.join(before, session.acquire);
                    }
                    for (column, inside) in session.inside.iter_mut().enumerate() {
                        if self.rules.insides && columns(kind.kinds()) >> column & 1 != 0 {
                            *inside = join.join(*inside, item);
                        }
                    }
                }
            }
        }
        before
    }

    /// Adds to `before` what guards put before the operation, and the operation to what the locks of its address guard.
    fn guard<J: Join>(&mut self, trace: &Trace, op: OpId, rule: Rule, mut before: u32, join: &mut J) -> u32 {
        let (kind, by, item) = (trace.kind(op), trace.thread(op).0 + 1, join.of(op));
        let add = |before: &mut u32, join: &mut J, earlier: [u32; 2]| {
            for (column, earlier) in earlier.into_iter().enumerate() {
                if rule.guarded >> column & 1 != 0 {
                    *before = join.join(*before, earlier);
                }
            }
        };
        if kind.locks() {
            add(&mut before, join, *self.guarded[trace.addr(op).index()].by(by));
            return before;
        }
        for lock in self.guards.of(trace.addr(op)) {
            add(&mut before, join, *self.own[lock.index()].by(by));
            for (column, guarded) in self.guarded[lock.index()].by(by).iter_mut().enumerate() {
                if columns(kind.kinds()) >> column & 1 != 0 {
                    *guarded = join.join(*guarded, item);
                }
            }
        }
        before
    }
}

/// The earlier operations of a thread, by when they ended.
#[derive(Default, Debug)]
struct Ended {
    /// The thread's end times, sorted.
    times: Vec<u64>,
    /// Fenwick tree over `times`, from index 1: operations that were done at their end, and stores that were not.
    tree: Vec<[u32; 2]>,
}

impl Ended {
    fn start(&mut self, trace: &Trace, ops: &[OpId]) {
        self.times.clear();
        self.times.extend(ops.iter().filter_map(|&op| trace.period(op).end));
        self.times.sort_unstable();
        self.tree.clear();
        self.tree.resize(self.times.len() + 1, [0; 2]);
    }

    /// How many of the thread's operations ended before `time`.
    fn count_before(&self, time: u64) -> usize {
        self.times.partition_point(|&end| end < time)
    }

    /// Adds an operation; `class` is 0 if it was done at its end, and 1 otherwise.
    fn add<J: Join>(&mut self, trace: &Trace, op: OpId, class: usize, item: u32, join: &mut J) {
        let Some(end) = trace.period(op).end else { return };
        let mut i = self.count_before(end) + 1;
        while i < self.tree.len() {
            self.tree[i][class] = join.join(self.tree[i][class], item);
            i += i & i.wrapping_neg();
        }
    }

    /// Adds to `before` the earlier operations that ended before `op` began, as far as the rule is about them.
    fn before<J: Join>(&self, trace: &Trace, op: OpId, rule: Rule, mut before: u32, join: &mut J) -> u32 {
        let Some(begin) = trace.period(op).begin else { return before };
        let mut i = self.count_before(begin);
        while i > 0 {
            for (class, counts) in [rule.done, rule.pending].into_iter().enumerate() {
                if counts {
                    before = join.join(before, self.tree[i][class]);
                }
            }
            i &= i - 1;
        }
        before
    }
}
