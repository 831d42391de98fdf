//! A memory order of a trace with repeated values, by running it: which write each read returns is not chosen before.
//!
//! Problem: reads have several possible sources. Find a memory order that explains all values, quickly if the machine was right; give up
//! where that is hard.
//!
//! Algorithm: execute operations one by one, along the graph of [`Problem`], and keep what memory holds.
//! 1. A load that is ready executes as soon as memory, or its own thread's store that has not executed, has its value.
//!    This loses nothing: in any order that goes on from here the load could be moved to this point. Its predecessors have executed, its
//!    successors stay behind it, it finds its value, and no other operation returns anything else because of it. Loads of one
//!    address are in order here in every model, so that none sees another source because of a later one; and one that would
//!    return its own thread's store waits where a rule about what was read (`said`) asks for something that has not executed.
//! 2. So only stores, read-modify-writes and loads reserved are choices. One may execute if nobody needs what memory has
//!    there. Who needs it is an estimate: a read of that value needs it if no store that has still to write the value again is nearer
//!    (in its thread, from the first read that has not executed) than the read is in its own. A store whose readers are all ready holds its
//!    address up for no time, and is taken at once.
//!    If threads take turns in the recording, it says when things happened ([`recorded`]), but for what buffers do to stores: then stores execute
//!    in that order, and distances are times. If that leads nowhere, stores that are read later wait for their readers; and then it is tried
//!    without ([`Hint`]).
//! 3. If no store can be taken, walk from the thread that has come least far to what it waits for, and on ([`waits`]): to a store that may
//!    execute, which is taken; or back to where the walk has been, or to a read whose value is gone: a conflict.
//! 4. A conflict rests on guesses, each of which has a place in the order and something that could have been done otherwise there
//!    ([`Fix`]): this store before that one, or this read before what it returns is overwritten. Estimates are guesses too; they are put
//!    where their likelihood puts them. The last guess is undone, and its fix is kept for as long as the others stand ([`learn`]).
//! 5. A conflict without guesses says that an estimate was wrong which is not among them: what was learned along the cycle is
//!    forgotten, and if that happens often, some operations are undone.
//! 6. Where that is given up, a large trace is run once more with restarts. After some conflicts without progress, or where the guess to undo is far
//!    back, some operations are undone (more each time) and everything learned is forgotten, since some of it rests on more than is written there and
//!    would lead back. Every other time goals are random for a while.
//!
//! Guarantees: none but that it ends. An order that is found says what each read returned; [`crate::open`] decides the reading with these
//! sources as it does all others, so that nothing rests on this module. It proves no trace forbidden.
//!
//! Complexity: O(n) where estimates are right, a walk for each store that is not free; at most [`EFFORT`] executions for each operation and hint ([`EFFORT_LARGE`] with restarts).

mod choose;
mod hints;
mod learn;
mod lists;
mod waits;

use crate::limits::Limits;
use crate::problem::{NONE, Problem};
use hints::{Hint, WAYS, recorded};
use lists::Lists;
use membar_core::{Condition, Depends, Kind, Model, OpId, OpKind, Read, Source, ThreadId, Trace, When};
use rustc_hash::FxHashMap;

/// Far away.
const FAR: u32 = u32::MAX;
/// Executions, done and undone, for each operation before it is given up.
const EFFORT: usize = 10;
/// The same with restarts, which only traces of this length get: nothing else decides them.
const EFFORT_LARGE: usize = 200;
const LARGE: usize = 4000;
/// A hint is given up after this many executions without progress, and one more for every two operations.
const STALL: usize = 20_000;
/// Guesses that what is known may rest on, all together, before it is given up: some 100 MB.
const MOST_KEPT: usize = 8_000_000;
/// Approximate memory for each operation.
const BYTES_PER_OP: usize = 400;

/// What could have been done otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Fix {
    /// The first store before the second.
    Order(u32, u32),
    /// The read before the write that was read is overwritten.
    Pin(u32, u32),
    /// The write need not wait for the read, which returns a later one.
    Free(u32, u32),
    /// The read does not return this write, which has not executed, but another one.
    Other(u32, u32),
}

/// What was executed at a place, and what could have been done otherwise there.
type Guess = (u32, Fix);

/// A fix, and the guesses that it rests on, as long as it is known.
struct Learned {
    fix: Fix,
    rests: Vec<Guess>,
    gone: bool,
}

/// Where a walk along who waits for whom ends.
enum End {
    /// At a store that may execute.
    Store(u32),
    /// Nobody can go on: one of these guesses was wrong.
    Conflict(Vec<Guess>),
    Lost,
}

/// What a node waits for.
enum Wait {
    /// Another node, and why that is so.
    For(u32, Because),
    /// Nothing.
    May,
    /// It is too late for it: one of these guesses was wrong.
    Late(Vec<Guess>),
    /// Nothing can help.
    Never,
}

/// Why a node waits for another one.
enum Because {
    Always,
    Guess(Vec<Guess>),
    Learned(u32, Option<Guess>),
}

struct Forward<'a> {
    trace: &'a Trace,
    p: &'a Problem,
    model: &'a Model,
    reads: Vec<u32>,
    writes: Vec<u32>,
    /// The last store of its thread to its address before each operation.
    own: Vec<u32>,
    hint: Hint,
    /// When each operation was recorded, if there is a hint.
    when: Vec<u32>,
    /// What each read that has executed returned.
    returned: Vec<u32>,
    readers: Lists,
    writers: Lists,
    /// The key of the recorded final value of each address.
    last: Vec<u32>,
    /// The stores of each address.
    stores: Lists,
    indegree: Vec<u32>,
    place: Vec<u32>,
    order: Vec<u32>,
    current: Vec<u32>,
    /// Before each store that has executed: what it overwrote.
    before: Vec<u32>,
    /// What overwrote it.
    after: Vec<u32>,
    /// The last write with each key.
    latest: Vec<u32>,
    latest_before: Vec<u32>,
    waiting: Vec<Vec<u32>>,
    is_waiting: Vec<bool>,
    ready: Vec<u32>,
    is_ready: Vec<bool>,
    cursor: usize,
    front: Vec<u32>,
    todo: Vec<u32>,
    /// What was learned: by the store that has to wait, and by the write that must not be overwritten.
    learned: Vec<Learned>,
    live: Vec<u32>,
    orders: FxHashMap<u32, Vec<u32>>,
    pins: FxHashMap<u32, Vec<u32>>,
    free: FxHashMap<u32, Vec<u32>>,
    not: FxHashMap<u32, Vec<u32>>,
    /// The load reserved's store of an address whose reservation is held.
    locked: Vec<u32>,
    /// The store conditional of each load reserved, and the other way round.
    pair: FxHashMap<u32, u32>,
    has_pairs: bool,
    /// For how many operations of a thread, or how long, a value of an address stays, on average.
    life: Vec<u32>,
    /// How many writes have each key, with the initial value.
    writes_of: Vec<u32>,
    /// Does everything in a thread come after its loads before?
    loads_first: bool,
    given_up: usize,
    last_longest: usize,
    vain: usize,
    /// Makes choices after a restart differ.
    random: u64,
    /// Step 6.
    restarts: bool,
    /// Guesses that what was learned rests on, and what of it is still known.
    rests: usize,
    kept: usize,
    /// Conflicts since `best_longest` was reached.
    fruitless: usize,
    best_longest: usize,
    /// Up to this place goals are random.
    astray: usize,
    /// What was learned that the last cycle passes.
    cycle: Vec<u32>,
    forwards: bool,
    careful: bool,
    held: Vec<u32>,
    goal: u32,
    pred_start: Vec<u32>,
    pred: Vec<u32>,
    on_path: Vec<bool>,
    /// Operations that have executed, and the most that ever had.
    done: usize,
    longest: usize,
    /// Executions, done and undone, when it was reached.
    spent: usize,
    steps: usize,
    undone: usize,
}

/// Does this module know what such a trace says?
pub(crate) fn knows(trace: &Trace, model: &Model, limits: &Limits) -> bool {
    let simple = !trace.is_grouped() && !trace.has_locks() && trace.orders.is_empty();
    simple && model.write_order && limits.fits(trace.len().saturating_mul(BYTES_PER_OP))
}

/// What each read returned in a memory order, or how many operations could be put into order.
pub(crate) fn sources(trace: &Trace, model: &Model, limits: &Limits) -> Result<FxHashMap<Read, Source>, usize> {
    let mut p = Problem::default();
    // No order is found that the model forbids for asking this of some loads only.
    let mut stronger = model.clone();
    let entry = stronger.ppo.entry(Kind::Load, Kind::Load).or(When::SAME_ADDRESS);
    stronger.ppo.set(Kind::Load, Kind::Load, entry);
    p.build(trace, &stronger, None);
    let when = recorded(trace, &p);
    let large = trace.len() >= LARGE;
    let mut longest = 0;
    for (hint, restarts) in WAYS {
        if restarts && !large || hint != Hint::None && when.is_empty() {
            continue;
        }
        let when = if hint == Hint::None { Vec::new() } else { when.clone() };
        let mut it = Forward { hint, restarts, ..Forward::new(trace, model, &p, when) };
        if it.hopeless() {
            return Err(0);
        }
        if it.run(limits) {
            return Ok(it.found());
        }
        longest = longest.max(it.longest).max(it.done);
    }
    Err(longest)
}

impl<'a> Forward<'a> {
    fn new(trace: &'a Trace, model: &'a Model, p: &'a Problem, when: Vec<u32>) -> Forward<'a> {
        let mut keys: FxHashMap<(u32, u64), u32> = FxHashMap::default();
        let mut key = |x: u32, value: u64| {
            let next = keys.len() as u32;
            *keys.entry((x, value)).or_insert(next)
        };
        let mut reads = vec![NONE; p.nodes];
        let mut writes = vec![NONE; p.nodes];
        let mut own = vec![NONE; p.ops];
        let mut stores_left = vec![0; p.addrs];
        let mut by_time: Vec<(u32, u32)> = Vec::with_capacity(p.ops);
        let mut mine: Vec<u32> = vec![NONE; p.addrs];
        for t in 0..trace.threads() {
            let ops = trace.thread_ops(ThreadId(t as u32));
            let (start, scale) = (p.thread_start[t], (u32::MAX as u64) / (ops.len() as u64 + 1));
            for (i, &op) in ops.iter().enumerate() {
                let node = start + i as u32;
                let kind = trace.kind(op);
                if kind == OpKind::Fence {
                    continue;
                }
                let x = trace.addr(op).0;
                by_time.push((when.get(node as usize).copied().unwrap_or((i as u64 * scale) as u32), node));
                let last = &mut mine[x as usize];
                if *last != NONE && *last >= start {
                    own[node as usize] = *last;
                }
                if kind.reads() {
                    reads[node as usize] = key(x, trace.read(op));
                }
                if kind.writes() {
                    writes[node as usize] = key(x, trace.write(op));
                    stores_left[x as usize] += 1;
                    *last = node;
                }
            }
        }
        for x in 0..p.addrs {
            writes[p.ops + x] = key(x as u32, trace.initial(membar_core::AddrId(x as u32)));
        }
        let mut last = vec![NONE; p.addrs];
        for end in &trace.finals {
            last[end.addr.index()] = key(end.addr.0, end.value);
        }
        let mut pair = FxHashMap::default();
        for op in trace.ops() {
            if let Some(load) = trace.reservation(op) {
                pair.insert(p.node(op), p.node(load));
                pair.insert(p.node(load), p.node(op));
            }
        }
        by_time.sort_unstable();
        let by_time: Vec<u32> = by_time.into_iter().map(|(_, node)| node).collect();
        let each = if when.is_empty() { p.ops / trace.threads().max(1) } else { p.ops } as u32;
        let life = stores_left.iter().map(|&stores: &u32| each / (stores + 1)).collect();
        let keys = keys.len();
        let readers = Lists::new(keys, &reads, &by_time);
        let writers = Lists::new(keys, &writes[..p.ops], &by_time);
        let address = |node: usize| if writes[node] == NONE { NONE } else { p.addr[node] };
        let stores = Lists::new(p.addrs, &(0..p.ops).map(address).collect::<Vec<_>>(), &by_time);
        let mut writes_of = writers.left.clone();
        for x in 0..p.addrs {
            writes_of[writes[p.ops + x] as usize] += 1;
        }
        let mut place = vec![NONE; p.nodes];
        let mut latest = vec![NONE; keys];
        for x in 0..p.addrs {
            place[p.ops + x] = 0;
            latest[writes[p.ops + x] as usize] = (p.ops + x) as u32;
        }
        Forward {
            trace,
            p,
            model,
            own,
            hint: Hint::None,
            when,
            returned: vec![NONE; p.ops],
            readers,
            writers,
            last,
            stores,
            indegree: p.indegree.clone(),
            order: Vec::with_capacity(p.nodes),
            current: (0..p.addrs).map(|x| (p.ops + x) as u32).collect(),
            before: vec![NONE; p.ops],
            after: vec![NONE; p.ops + p.addrs],
            latest,
            latest_before: vec![NONE; p.ops],
            waiting: vec![Vec::new(); keys],
            is_waiting: vec![false; p.ops],
            ready: Vec::new(),
            is_ready: vec![false; p.ops],
            cursor: 0,
            front: p.thread_start[..trace.threads()].to_vec(),
            todo: (0..p.nodes as u32).rev().filter(|&v| p.indegree[v as usize] == 0 && !p.is_init(v)).collect(),
            learned: Vec::new(),
            live: Vec::new(),
            orders: FxHashMap::default(),
            pins: FxHashMap::default(),
            free: FxHashMap::default(),
            not: FxHashMap::default(),
            last_longest: 0,
            vain: 0,
            random: 0,
            restarts: false,
            rests: 0,
            kept: 0,
            astray: 0,
            fruitless: 0,
            best_longest: 0,
            locked: vec![NONE; p.addrs],
            has_pairs: !pair.is_empty(),
            life,
            writes_of,
            loads_first: [Kind::Load, Kind::Store].iter().all(|&kind| model.ppo.entry(Kind::Load, kind).always),
            given_up: 0,
            cycle: Vec::new(),
            pair,
            forwards: model.store_forwarding,
            careful: trace.has_marks() || trace.has_dependencies() || model.ppo.any(|when| !when.also.is_empty()),
            held: Vec::new(),
            goal: NONE,
            pred_start: Vec::new(),
            pred: Vec::new(),
            on_path: vec![false; p.nodes],
            done: 0,
            longest: 0,
            spent: 0,
            steps: 0,
            undone: 0,
            place,
            reads,
            writes,
        }
    }

    /// What each read returned.
    fn found(&self) -> FxHashMap<Read, Source> {
        let (trace, p) = (self.trace, self.p);
        let source = |write: u32| p.op(trace, write).map_or(Source::INIT, Source::op);
        let ops = trace.ops().filter(|&op| trace.kind(op).reads());
        let ops = ops.map(|op| (Read::Op(op), source(self.returned[p.node(op) as usize])));
        let ends = (0..).zip(&trace.finals);
        let ends = ends.map(|(i, end)| (Read::Final(i), source(self.current[end.addr.index()])));
        ops.chain(ends).collect()
    }

    /// Does a read or a final value have no source at all?
    fn hopeless(&self) -> bool {
        let mut keys = self.reads.iter().chain(&self.last).filter(|&&key| key != NONE);
        keys.any(|&key| self.writes_of[key as usize] == 0)
    }

    fn executed(&self, node: u32) -> bool {
        self.place[node as usize] != NONE
    }

    fn run(&mut self, limits: &Limits) -> bool {
        let all = self.p.nodes - self.p.addrs;
        let most = if self.restarts { EFFORT_LARGE } else { EFFORT } * all + 1000;
        loop {
            self.settle();
            if self.order.len() == all {
                return true;
            }
            self.steps += 1;
            if self.steps.is_multiple_of(256) && limits.passed().is_some() {
                return false;
            }
            match self.choose() {
                End::Store(store) => self.execute(store),
                End::Lost => return false,
                End::Conflict(guesses) => {
                    let spent = self.steps + self.undone;
                    if self.done > self.longest {
                        (self.longest, self.spent) = (self.done, spent);
                    }
                    if self.hint != Hint::None && spent - self.spent > all / 2 + STALL {
                        return false;
                    }
                    // A conflict takes as long as the walk that found it.
                    let given_up = spent > most || self.kept > MOST_KEPT || limits.passed().is_some();
                    if given_up || (!self.learn(guesses) && !self.give_way()) {
                        return false;
                    }
                }
            }
        }
    }

    fn settle(&mut self) {
        for load in std::mem::take(&mut self.held) {
            if !self.executed(load) && self.indegree[load as usize] == 0 {
                self.todo.push(load);
            }
        }
        while let Some(node) = self.todo.pop() {
            if self.executed(node) || self.indegree[node as usize] != 0 {
                continue;
            }
            let i = node as usize;
            if i >= self.p.ops || (self.reads[i] == NONE && self.writes[i] == NONE) {
                self.execute(node);
            } else if self.writes[i] != NONE || self.is_reserved(node) {
                self.list(node);
            } else if self.has_value(node) {
                self.execute(node);
            } else {
                self.wait(node);
            }
        }
    }

    /// Is it a load reserved of a store conditional that stored?
    fn is_reserved(&self, node: u32) -> bool {
        self.has_pairs && self.writes[node as usize] == NONE && self.pair.contains_key(&node)
    }

    fn list(&mut self, node: u32) {
        if !self.is_ready[node as usize] {
            self.is_ready[node as usize] = true;
            self.ready.push(node);
        }
    }

    fn wait(&mut self, node: u32) {
        if !self.is_waiting[node as usize] {
            self.is_waiting[node as usize] = true;
            self.waiting[self.reads[node as usize] as usize].push(node);
        }
        if self.careful && self.own_value(node) {
            self.held.push(node);
        }
    }

    /// Its thread's store to the address that a load comes too early for.
    fn own_pending(&self, load: u32) -> Option<u32> {
        let own = self.own[load as usize];
        (self.forwards && own != NONE && !self.executed(own)).then_some(own)
    }

    fn own_value(&self, load: u32) -> bool {
        self.own_pending(load).is_some_and(|own| self.writes[own as usize] == self.reads[load as usize])
    }

    /// Would a load that is ready return its value now?
    fn has_value(&self, load: u32) -> bool {
        match self.own_pending(load) {
            Some(own) => {
                self.writes[own as usize] == self.reads[load as usize]
                    && (!self.careful || self.may_forward(load, own))
                    && !self.is_reserved(load)
            }
            None => self.in_memory(load),
        }
    }

    fn in_memory(&self, read: u32) -> bool {
        let x = self.p.addr[read as usize] as usize;
        self.writes[self.current[x] as usize] == self.reads[read as usize]
    }

    /// Has everything executed that a load comes after if it reads from this store?
    fn may_forward(&self, load: u32, own: u32) -> bool {
        let op = |node: u32| self.p.op(self.trace, node).expect("an access");
        let (load, own) = (op(load), op(own));
        let asks = |condition: Condition| self.model.ppo.any(|when| when.also.has(condition));
        let executed = |op: OpId| self.executed(self.p.node(op));
        if asks(Condition::FromAtomic) && crate::kept::is_atomic(self.trace, own) {
            return false;
        }
        if asks(Condition::AcquireFromPair)
            && self.trace.marks(load).meets(membar_core::Marks::ACQUIRES)
            && self.trace.reservation(own).is_some_and(|pair| !executed(pair))
        {
            return false;
        }
        !asks(Condition::ThroughStore)
            || self.trace.dependencies(own).iter().all(|dep| dep.how == Depends::Control || executed(dep.on))
    }

    fn execute(&mut self, node: u32) {
        let i = node as usize;
        self.place[i] = self.order.len() as u32;
        self.order.push(node);
        for &next in self.p.succ(node) {
            let left = &mut self.indegree[next as usize];
            *left -= 1;
            if *left == 0 {
                self.todo.push(next);
            }
        }
        if i >= self.p.ops {
            return;
        }
        self.done += 1;
        if self.reads[i] != NONE {
            let own = if self.writes[i] == NONE { self.own_pending(node) } else { None };
            self.returned[i] = own.unwrap_or(self.current[self.p.addr[i] as usize]);
            self.readers.left[self.reads[i] as usize] -= 1;
        }
        let key = self.writes[i];
        if self.has_pairs && self.pair.contains_key(&node) {
            self.locked[self.p.addr[i] as usize] = if key == NONE { self.pair[&node] } else { NONE };
        }
        if key == NONE {
            return;
        }
        self.writers.left[key as usize] -= 1;
        let x = self.p.addr[i] as usize;
        self.stores.left[x] -= 1;
        let before = std::mem::replace(&mut self.current[x], node);
        self.before[i] = before;
        self.after[before as usize] = node;
        self.latest_before[i] = std::mem::replace(&mut self.latest[key as usize], node);
        let mut waiting = std::mem::take(&mut self.waiting[key as usize]);
        waiting.retain(|&load| {
            let stays = !self.executed(load) && self.indegree[load as usize] == 0;
            let goes = stays && self.has_value(load);
            if goes {
                self.todo.push(load);
            }
            self.is_waiting[load as usize] = stays && !goes;
            stays && !goes
        });
        self.waiting[key as usize] = waiting;
    }

    fn undo(&mut self, length: usize) {
        self.todo.clear();
        self.goal = NONE;
        self.undone += self.order.len() - length;
        while self.order.len() > length {
            let node = self.order.pop().expect("longer");
            let i = node as usize;
            self.place[i] = NONE;
            for &next in self.p.succ(node) {
                self.indegree[next as usize] += 1;
            }
            self.todo.push(node);
            if i >= self.p.ops {
                continue;
            }
            self.done -= 1;
            let t = self.p.thread(node);
            self.front[t] = self.front[t].min(node);
            let key = self.reads[i];
            if key != NONE {
                self.readers.undo(key, node);
            }
            let key = self.writes[i];
            if self.has_pairs && self.pair.contains_key(&node) {
                self.locked[self.p.addr[i] as usize] = if key == NONE { NONE } else { node };
            }
            if key != NONE {
                let x = self.p.addr[i] as usize;
                self.writers.undo(key, node);
                self.stores.undo(x as u32, node);
                self.current[x] = self.before[i];
                self.after[self.before[i] as usize] = NONE;
                self.latest[key as usize] = self.latest_before[i];
            }
        }
    }
}
