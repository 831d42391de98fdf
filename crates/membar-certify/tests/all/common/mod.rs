//! Models, traces from a few lines of text, random ones of both, and the definition of memory order, word for word.
#![allow(dead_code)]

use membar_core::{
    AddrId, Clock, Compare, Event, Final, Guard, Init, Kind, Mask, Model, OpId, OpKind, OrderLine, Ppo, ResolveScratch,
    Span, Trace, When,
};

pub const TIME: When = When { time: true, ..When::NEVER };
pub const SAME_OR_TIME: When = When { same_address: true, time: true, ..When::NEVER };

/// load-load, load-store, store-load, store-store
pub fn model(name: &str, [load_load, load_store, store_load, store_store]: [When; 4]) -> Model {
    Model::new(name, Ppo::new(load_load, load_store, store_load, store_store))
}

pub fn sc() -> Model {
    model("sc", [When::ALWAYS; 4])
}

pub fn tso() -> Model {
    model("tso", [When::ALWAYS, When::ALWAYS, When::NEVER, When::ALWAYS])
}

pub fn pso() -> Model {
    model("pso", [When::ALWAYS, When::ALWAYS, When::NEVER, When::SAME_ADDRESS])
}

pub fn wmo() -> Model {
    model("wmo", [SAME_OR_TIME, SAME_OR_TIME, When::NEVER, When::SAME_ADDRESS])
}

pub fn rmo() -> Model {
    model("rmo", [TIME, SAME_OR_TIME, When::NEVER, When::SAME_ADDRESS])
}

/// The five, and some that no machine has: every entry differs, no forwarding, no lock exclusion, a partial `sync`,
/// nothing kept at all, stores that are done at their end.
pub fn models() -> Vec<Model> {
    let mut odd = model("odd", [When::SAME_ADDRESS, TIME, SAME_OR_TIME, When::NEVER]);
    odd.sync = Mask::LOAD_STORE | Mask::STORE_STORE;
    let bare = model("bare", [When::NEVER; 4]);
    let plain = Model { store_forwarding: false, ..wmo() };
    let open = Model { lock_exclusion: false, ..pso() };
    let loose = Model { store_forwarding: false, lock_exclusion: false, name: "loose".into(), ..odd.clone() };
    let atomic = Model { atomic_writes: true, name: "atomic".into(), ..rmo() };
    vec![sc(), tso(), pso(), wmo(), rmo(), odd, bare, plain, open, loose, atomic]
}

/// Accesses of one address in order but for store-load; acquire to access, access to release, access to acquire and release
/// to access, and two operations on locks, as given.
pub fn synchronized(name: &str, enter: When, leave: When, outside: When, locks: When) -> Model {
    let mut model = model(name, [When::SAME_ADDRESS, When::SAME_ADDRESS, When::NEVER, When::SAME_ADDRESS]);
    let accesses = [Kind::Load, Kind::Store];
    for access in accesses {
        model.ppo.set(Kind::Acquire, access, enter);
        model.ppo.set(access, Kind::Release, leave);
        model.ppo.set(access, Kind::Acquire, outside);
        model.ppo.set(Kind::Release, access, outside);
    }
    for earlier in [Kind::Acquire, Kind::Release] {
        for later in [Kind::Acquire, Kind::Release] {
            model.ppo.set(earlier, later, locks);
        }
    }
    model
}

pub fn rc() -> Model {
    synchronized("rc", When::ALWAYS, When::ALWAYS, When::NEVER, When::ALWAYS)
}

pub fn ec() -> Model {
    synchronized("ec", When::GUARDED, When::GUARDED, When::NEVER, When::SAME_ADDRESS)
}

pub fn scope() -> Model {
    synchronized("scope", When::SAME_SESSION, When::SAME_SESSION, When::NEVER, When::SAME_ADDRESS)
}

pub fn lc() -> Model {
    let mut lc = synchronized("lc", When::ALWAYS, When::ALWAYS, When::NEVER, When::SAME_ADDRESS);
    lc.ppo.set(Kind::Store, Kind::Load, When::SAME_ADDRESS);
    lc.write_order = false;
    lc
}

/// Models about locks, of which the last four have no write order.
pub fn lock_models() -> Vec<Model> {
    let wc = synchronized("wc", When::ALWAYS, When::ALWAYS, When::ALWAYS, When::ALWAYS);
    let mut rcpc = rc();
    rcpc.name = "rcpc".into();
    rcpc.ppo.set(Kind::Release, Kind::Acquire, When::SAME_ADDRESS);
    let mut session = synchronized("session", When::NEVER, When::NEVER, When::NEVER, When::NEVER);
    session.ppo.set(Kind::Load, Kind::Load, When::SAME_SESSION);
    session.ppo.set(Kind::Store, Kind::Load, When::SAME_SESSION);
    session.ppo.set(Kind::Store, Kind::Store, When::SAME_SESSION);
    let partial = |model: Model| {
        let mut model = Model { write_order: false, name: format!("{}-partial", model.name), ..model };
        model.ppo.set(Kind::Store, Kind::Load, When::SAME_ADDRESS);
        model
    };
    vec![wc, rc(), rcpc, ec(), scope(), session, lc(), partial(ec()), partial(scope()), partial(rmo())]
}

/// Any table and any axioms: most of these break the promises that model files have to keep.
pub fn random_model(random: &mut Random) -> Model {
    let mut model = model("random", [When::NEVER; 4]);
    let always = 3 + random.below(8);
    for earlier in Kind::ALL {
        for later in Kind::ALL {
            let mut when = When { always: random.one_in(always), ..When::NEVER };
            for condition in
                [&mut when.same_address, &mut when.same_session, &mut when.guarded, &mut when.time].into_iter()
            {
                *condition = random.one_in(4);
            }
            model.ppo.set(earlier, later, when);
        }
    }
    model.sync = Mask::from_bits(random.below(16) as u8);
    model.store_forwarding = random.one_in(2);
    model.lock_exclusion = !random.one_in(4);
    model.write_order = random.one_in(2);
    model.atomic_writes = random.one_in(2);
    model
}

/// One operation or line per `;` or line end: `0 x=1` stores, `0 x:1` loads, `0 x:1=2` is atomic, `0 sync`,
/// `0 membar 9` (mask bits), `0 acq L`, `0 rel L`, `final x 1`, `init x 1`, `order x 1 2`, `guard L x y`,
/// `clock 5` (one for all threads, up to 5 off); ` @b-e` adds a period.
pub fn trace(text: &str) -> Trace {
    let mut trace = Trace::new();
    trace.clear(1);
    let mut clock = Clock::default();
    for (line, text) in (1..).zip(text.split([';', '\n']).map(str::trim).filter(|text| !text.is_empty())) {
        let (text, period) = text.split_once(" @").unwrap_or((text, "-"));
        let words: Vec<&str> = text.split_whitespace().collect();
        let values = || words[2..].iter().map(|word| word.parse().unwrap()).collect::<Vec<u64>>();
        if words[0] == "clock" {
            clock = Clock { compare: Compare::Everything, error: words[1].parse().unwrap(), sampled_every: None };
            continue;
        }
        if words[0] == "guard" {
            let lock = trace.lock_id(words[1]);
            let addrs = words[2..].iter().map(|word| trace.named_id(word)).collect();
            trace.guards.push(Guard { lock, addrs, line });
            continue;
        }
        let Ok(name) = words[0].parse() else {
            let addr = trace.named_id(words[1]);
            match words[0] {
                "final" => trace.finals.push(Final { addr, value: values()[0], line }),
                "init" => trace.inits.push(Init { addr, value: values()[0], line }),
                "order" => trace.orders.push(OrderLine { addr, values: values(), line }),
                other => panic!("{other}?"),
            }
            continue;
        };
        let thread = trace.thread_id(name);
        let op = match words[1] {
            "sync" => trace.push_fence(thread, None, line),
            "membar" => trace.push_fence(thread, Some(Mask::from_bits(words[2].parse().unwrap())), line),
            "acq" => {
                let lock = trace.lock_id(words[2]);
                trace.push_acquire(thread, lock, line)
            }
            "rel" => {
                let lock = trace.lock_id(words[2]);
                trace.push_release(thread, lock, line)
            }
            access => {
                let (left, write) = access.split_once('=').map_or((access, None), |(l, w)| (l, w.parse().ok()));
                let (addr, read) = left.split_once(':').map_or((left, None), |(a, r)| (a, r.parse().ok()));
                let addr = trace.named_id(addr);
                match (read, write) {
                    (Some(read), Some(write)) => trace.push_rmw(thread, addr, read, write, line),
                    (Some(read), None) => trace.push_load(thread, addr, read, line),
                    (None, Some(write)) => trace.push_store(thread, addr, write, line),
                    (None, None) => panic!("{access}?"),
                }
            }
        };
        let (begin, end) = period.split_once('-').unwrap();
        if period != "-" {
            trace.set_span(op, Span { begin: begin.parse().ok(), end: end.parse().ok() });
        }
    }
    trace.resolve(&mut ResolveScratch::default()).unwrap();
    trace.set_clock(clock);
    trace
}

/// xorshift64*
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// The ingredients of a random trace.
#[derive(Clone, Copy)]
pub struct Recipe {
    /// At most this many memory operations (and up to two barriers).
    pub most: u64,
    /// One in this many traces has locks.
    pub locked: u64,
    /// One in this many traces has times.
    pub timed: u64,
}

/// All sorts of traces.
pub const ANY: Recipe = Recipe { most: 6, locked: 4, timed: 3 };

/// A random trace. None where it makes no sense.
pub fn random_trace(random: &mut Random, recipe: Recipe) -> Option<Trace> {
    let mut trace = Trace::new();
    trace.clear(1);
    let threads = 1 + random.below(3);
    let addrs = [trace.memory_id(0), trace.named_id("y")];
    let locks = [trace.lock_id("L"), trace.lock_id("K")];
    let (timed, locked, fenced) = (random.one_in(recipe.timed), random.one_in(recipe.locked), random.one_in(2));
    let mut written = [0u64; 2];
    if random.one_in(5) {
        trace.inits.push(Init { addr: addrs[0], value: 9, line: 1 });
    }
    let count = 1 + random.below(recipe.most);
    let (mut fences, mut placed) = (0, 0);
    // Thread and lock of each open session; room is left for the releases.
    let mut held: Vec<(u32, usize)> = Vec::new();
    while placed < count {
        let name = random.below(threads) as u32;
        let a = random.below(2) as usize;
        let read = random.below(4);
        let read = if read == 3 && random.one_in(2) { 9 } else { read };
        let full = placed + held.len() as u64 == count;
        let kind = if full { 8 } else { random.below(9) };
        let session = (name, a);
        let open = held.iter().position(|&other| other == session);
        placed += 1;
        let thread = trace.thread_id(name);
        let op = match (kind, open) {
            (0..=2, _) => trace.push_load(thread, addrs[a], read, 1),
            (3..=4, _) => {
                written[a] += 1;
                trace.push_store(thread, addrs[a], written[a], 1)
            }
            (5, _) => {
                written[a] += 1;
                trace.push_rmw(thread, addrs[a], read, written[a], 1)
            }
            (6, _) if fenced && fences < 2 => {
                fences += 1;
                placed -= 1;
                let mask = (!random.one_in(3)).then(|| Mask::from_bits(random.below(16) as u8));
                trace.push_fence(thread, mask, 1)
            }
            (7, None) if locked && placed + (held.len() as u64) < count => {
                held.push(session);
                trace.push_acquire(thread, locks[a], 1)
            }
            (8, Some(open)) => {
                held.swap_remove(open);
                trace.push_release(thread, locks[a], 1)
            }
            _ => {
                placed -= 1;
                continue;
            }
        };
        if timed && !random.one_in(5) {
            let begin = random.below(6);
            let end = begin + random.below(3);
            let mut known = |time| (!random.one_in(6)).then_some(time);
            trace.set_span(op, Span { begin: known(begin), end: known(end) });
        }
    }
    for a in 0..2 {
        if random.one_in(4) {
            let value = random.below(written[a] + 1);
            trace.finals.push(Final { addr: addrs[a], value, line: 1 });
        }
        if random.one_in(4) {
            let mut values: Vec<u64> = (1..=written[a]).collect();
            for i in (1..values.len()).rev() {
                values.swap(i, random.below(i as u64 + 1) as usize);
            }
            trace.orders.push(OrderLine { addr: addrs[a], values, line: 1 });
        }
        if random.one_in(2) {
            let addrs = addrs.into_iter().filter(|_| random.one_in(2)).collect();
            trace.guards.push(Guard { lock: locks[a], addrs, line: 1 });
        }
    }
    trace.resolve(&mut ResolveScratch::default()).ok()?;
    if timed {
        let compare = [Compare::Threads, Compare::Everything, Compare::Everything, Compare::Nothing];
        trace.set_clock(Clock {
            compare: compare[random.below(4) as usize],
            error: random.below(4).saturating_sub(2),
            sampled_every: random.one_in(8).then(|| 1 + random.below(2)),
        });
    }
    Some(trace)
}

/// Two threads with a session each on one lock, and up to three accesses in, before or after them.
pub fn random_sessions(random: &mut Random) -> Option<Trace> {
    let mut trace = Trace::new();
    trace.clear(1);
    let addrs = [trace.memory_id(0), trace.named_id("y")];
    let lock = trace.lock_id("L");
    let mut written = [0u64; 2];
    let mut left = 3;
    for name in 0..2 {
        let thread = trace.thread_id(name);
        for place in 0..3 {
            while left > 0 && random.one_in(if place == 1 { 2 } else { 6 }) {
                left -= 1;
                let a = random.below(3) as usize / 2;
                let read = random.below(written[a] + 2);
                let kind = random.below(4);
                written[a] += (kind > 0) as u64;
                match kind {
                    0 => trace.push_load(thread, addrs[a], read, 1),
                    1 => trace.push_store(thread, addrs[a], written[a], 1),
                    _ => trace.push_rmw(thread, addrs[a], read, written[a], 1),
                };
            }
            match place {
                0 => trace.push_acquire(thread, lock, 1),
                1 => trace.push_release(thread, lock, 1),
                _ => break,
            };
        }
    }
    trace.guards.push(Guard { lock, addrs: addrs[..1 + random.below(2) as usize].to_vec(), line: 1 });
    trace.resolve(&mut ResolveScratch::default()).ok().map(|()| trace)
}

/// Which operations come before which in a memory order, by [`point`].
pub type Relation = Vec<Vec<bool>>;

/// The index of an event in a [`Relation`] of a trace with `n` operations.
pub fn point(n: usize, event: Event) -> usize {
    match event {
        Event::INIT => n,
        Event::FINAL => n + 1,
        Event(op) => op as usize,
    }
}

/// The definition, word for word and pair by pair.
pub struct Definition<'a> {
    trace: &'a Trace,
    model: &'a Model,
    /// Pairs that program order and time put in order.
    pub kept: Vec<(OpId, OpId)>,
    /// Acquire and release of each session.
    sessions: Vec<(OpId, OpId)>,
}

impl<'a> Definition<'a> {
    pub fn new(trace: &'a Trace, model: &'a Model) -> Definition<'a> {
        let mut this = Definition { trace, model, kept: vec![], sessions: vec![] };
        for acquire in trace.ops().filter(|&op| trace.kind(op) == OpKind::Acquire) {
            let gives_back = |op: &OpId| {
                this.program(acquire, *op)
                    && trace.kind(*op) == OpKind::Release
                    && trace.addr(*op) == trace.addr(acquire)
            };
            this.sessions.push((acquire, trace.ops().find(gives_back).unwrap()));
        }
        let memory: Vec<OpId> = trace.ops().filter(|&op| trace.kind(op) != OpKind::Fence).collect();
        for &a in &memory {
            for &b in memory.iter().filter(|&&b| a != b) {
                if this.program(a, b) && (this.table(a, b) || this.barrier(a, b)) || this.time(a, b) {
                    this.kept.push((a, b));
                }
            }
        }
        this
    }

    /// Is one earlier in the program order of their thread?
    fn program(&self, a: OpId, b: OpId) -> bool {
        self.trace.thread(a) == self.trace.thread(b) && a < b
    }

    fn kinds(&self, op: OpId) -> &'static [Kind] {
        match self.trace.kind(op) {
            OpKind::Load => &[Kind::Load],
            OpKind::Store => &[Kind::Store],
            OpKind::Rmw => &[Kind::Load, Kind::Store],
            OpKind::Acquire => &[Kind::Acquire],
            OpKind::Release => &[Kind::Release],
            OpKind::Fence => &[],
        }
    }

    fn ended_before(&self, a: OpId, b: OpId) -> bool {
        let clocks = match self.trace.compare() {
            Compare::Nothing => false,
            Compare::Threads => self.program(a, b),
            Compare::Everything => true,
        };
        match (self.trace.period(a).end, self.trace.period(b).begin) {
            (Some(end), Some(begin)) => clocks && end < begin,
            _ => false,
        }
    }

    fn table(&self, a: OpId, b: OpId) -> bool {
        let trace = self.trace;
        let inside = |(acquire, release): (OpId, OpId), op| self.program(acquire, op) && self.program(op, release);
        let guards = |lock: OpId, access: OpId| {
            let guarded = |line: &Guard| line.lock == trace.addr(lock) && line.addrs.contains(&trace.addr(access));
            trace.guards.iter().any(guarded)
        };
        let holds = |e: Kind, l: Kind| {
            let when = self.model.ppo.entry(e, l);
            let session = match (e, l) {
                (Kind::Acquire, Kind::Load | Kind::Store) => self.sessions.iter().any(|&s| s.0 == a && inside(s, b)),
                (Kind::Load | Kind::Store, Kind::Release) => self.sessions.iter().any(|&s| s.1 == b && inside(s, a)),
                (Kind::Load | Kind::Store, Kind::Load | Kind::Store) => {
                    self.sessions.iter().any(|&s| inside(s, a) && inside(s, b))
                }
                _ => false,
            };
            let guarded = e.locks() && !l.locks() && guards(a, b) || l.locks() && !e.locks() && guards(b, a);
            when.always
                || when.same_address && trace.addr(a) == trace.addr(b)
                || when.same_session && session
                || when.guarded && guarded
                || when.time && self.ended_before(a, b)
        };
        self.kinds(a).iter().any(|&e| self.kinds(b).iter().any(|&l| holds(e, l)))
    }

    fn barrier(&self, a: OpId, b: OpId) -> bool {
        let trace = self.trace;
        let counts = |op: OpId, store: bool| match trace.kind(op) {
            OpKind::Load => !store,
            OpKind::Store => store,
            _ => true,
        };
        trace.ops().filter(|&f| trace.kind(f) == OpKind::Fence && self.program(a, f) && self.program(f, b)).any(|f| {
            let mask = trace.mask(f).unwrap_or(self.model.sync);
            [(false, false), (false, true), (true, false), (true, true)]
                .iter()
                .any(|&(e, l)| mask.contains(Mask::pair(e, l)) && counts(a, e) && counts(b, l))
        })
    }

    fn time(&self, a: OpId, b: OpId) -> bool {
        let done = self.trace.kind(a) != OpKind::Store || self.model.atomic_writes;
        done && self.ended_before(a, b)
    }

    fn initial(&self, addr: AddrId) -> u64 {
        self.trace.inits.iter().find(|i| i.addr == addr).map_or(0, |i| i.value)
    }

    /// Writes of an address, in this order.
    fn writes(&self, order: &[OpId], addr: AddrId) -> Vec<OpId> {
        let trace = self.trace;
        let is_write = |op: &OpId| matches!(trace.kind(*op), OpKind::Store | OpKind::Rmw) && trace.addr(*op) == addr;
        order.iter().copied().filter(is_write).collect()
    }

    /// The order as a relation, if this permutation of the memory operations is (a layout of) a memory order.
    pub fn relation(&self, order: &[OpId]) -> Option<Relation> {
        let (trace, n) = (self.trace, self.trace.len());
        let mut place = vec![usize::MAX; n];
        for (i, op) in order.iter().enumerate() {
            place[op.index()] = i;
        }
        let before = |a: OpId, b: OpId| place[a.index()] < place[b.index()];
        if self.kept.iter().any(|&(a, b)| !before(a, b)) {
            return None;
        }
        for line in &trace.orders {
            let values: Vec<u64> = self.writes(order, line.addr).iter().map(|&w| trace.write(w)).collect();
            if values != line.values {
                return None;
            }
        }
        if self.model.lock_exclusion {
            for &(acquire, release) in &self.sessions {
                let on_lock = |op: &&OpId| trace.addr(**op) == trace.addr(acquire);
                let between = |op: &OpId| before(acquire, *op) && before(*op, release);
                if !before(acquire, release) || order.iter().filter(on_lock).any(between) {
                    return None;
                }
            }
        }
        if self.model.write_order { self.total(order, &place) } else { self.partial(order) }
    }

    fn total(&self, order: &[OpId], place: &[usize]) -> Option<Relation> {
        let (trace, n) = (self.trace, self.trace.len());
        let before = |a: OpId, b: OpId| place[a.index()] < place[b.index()];
        for &read in order.iter().filter(|&&op| matches!(trace.kind(op), OpKind::Load | OpKind::Rmw)) {
            let forwards = trace.kind(read) == OpKind::Load && self.model.store_forwarding;
            let last = self
                .writes(order, trace.addr(read))
                .into_iter()
                .filter(|&w| w != read && (before(w, read) || forwards && self.program(w, read)))
                .max_by_key(|w| place[w.index()]);
            if last.map_or(self.initial(trace.addr(read)), |w| trace.write(w)) != trace.read(read) {
                return None;
            }
        }
        for end in &trace.finals {
            let last = self.writes(order, end.addr).last().map_or(self.initial(end.addr), |&w| trace.write(w));
            if last != end.value {
                return None;
            }
        }
        let mut relation = vec![vec![false; n + 2]; n + 2];
        for (i, a) in order.iter().enumerate() {
            order[i + 1..].iter().for_each(|b| relation[a.index()][b.index()] = true);
        }
        self.add_ends(order, &mut relation);
        Some(relation)
    }

    fn add_ends(&self, order: &[OpId], relation: &mut Relation) {
        let n = self.trace.len();
        relation[n][n + 1] = true;
        for op in order {
            relation[n][op.index()] = true;
            relation[op.index()][n + 1] = true;
        }
    }

    fn partial(&self, order: &[OpId]) -> Option<Relation> {
        let (trace, n) = (self.trace, self.trace.len());
        let mut relation = vec![vec![false; n + 2]; n + 2];
        for &(a, b) in &self.kept {
            relation[a.index()][b.index()] = true;
        }
        let addrs = || (0..trace.addrs() as u32).map(AddrId);
        for line in &trace.orders {
            let writes = self.writes(order, line.addr);
            writes.windows(2).for_each(|pair| relation[pair[0].index()][pair[1].index()] = true);
        }
        for lock in addrs().filter(|_| self.model.lock_exclusion) {
            let on_lock: Vec<&OpId> =
                order.iter().filter(|&&op| trace.kind(op).locks() && trace.addr(op) == lock).collect();
            on_lock.windows(2).for_each(|pair| relation[pair[0].index()][pair[1].index()] = true);
        }
        // (what was returned, read, address)
        let mut reads = Vec::new();
        let mut read = |addr: AddrId, value: u64, by: usize| {
            let write = self.writes(order, addr).into_iter().find(|&w| trace.write(w) == value);
            let write = write.map(OpId::index).or((value == self.initial(addr)).then_some(n))?;
            reads.push((write, by, addr));
            Some(())
        };
        for &op in order.iter().filter(|&&op| matches!(trace.kind(op), OpKind::Load | OpKind::Rmw)) {
            read(trace.addr(op), trace.read(op), op.index())?;
        }
        for end in &trace.finals {
            read(end.addr, end.value, n + 1)?;
        }
        for &(write, read, _) in &reads {
            relation[write][read] = true;
        }
        self.add_ends(order, &mut relation);
        // The permutation goes along with every edge.
        let mut place = vec![0; n + 2];
        order.iter().enumerate().for_each(|(i, op)| place[op.index()] = i + 1);
        place[n + 1] = usize::MAX;
        for a in 0..n + 2 {
            for b in 0..n + 2 {
                if relation[a][b] && place[a] >= place[b] {
                    return None;
                }
            }
        }
        for middle in 0..n + 2 {
            for a in 0..n + 2 {
                for b in 0..n + 2 {
                    relation[a][b] |= relation[a][middle] && relation[middle][b];
                }
            }
        }
        for &(write, read, addr) in &reads {
            let overwrites = |w: &OpId| relation[write][w.index()] && relation[w.index()][read];
            if self.writes(order, addr).iter().any(overwrites) {
                return None;
            }
        }
        Some(relation)
    }
}

/// Calls `visit` with every permutation (Heap's algorithm).
pub fn permutations(items: &mut [OpId], visit: &mut impl FnMut(&[OpId])) {
    fn heap(k: usize, items: &mut [OpId], visit: &mut impl FnMut(&[OpId])) {
        if k <= 1 {
            return visit(items);
        }
        for i in 0..k {
            heap(k - 1, items, visit);
            let other = if k.is_multiple_of(2) { i } else { 0 };
            items.swap(other, k - 1);
        }
    }
    heap(items.len(), items, visit);
}
