//! Models, and traces from a few lines of text.
#![allow(dead_code)]

use membar_core::{AddrId, Final, Init, Mask, Model, OpId, OpKind, OrderLine, Ppo, ResolveScratch, Span, Trace, When};

pub const TIME: When = When { always: false, same_address: false, time: true };
pub const SAME_OR_TIME: When = When { always: false, same_address: true, time: true };
pub const KINDS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// load-load, load-store, store-load, store-store
pub fn model(name: &str, [load_load, load_store, store_load, store_store]: [When; 4]) -> Model {
    Model {
        name: name.into(),
        title: String::new(),
        about: String::new(),
        ppo: Ppo { load_load, load_store, store_load, store_store },
        sync: Mask::FULL,
        store_forwarding: true,
        coherence: false,
        lock_exclusion: true,
    }
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
/// nothing kept at all.
pub fn models() -> Vec<Model> {
    let mut odd = model("odd", [When::SAME_ADDRESS, TIME, SAME_OR_TIME, When::NEVER]);
    odd.sync = Mask::LOAD_STORE | Mask::STORE_STORE;
    let bare = model("bare", [When::NEVER; 4]);
    let plain = Model { store_forwarding: false, ..wmo() };
    let open = Model { lock_exclusion: false, ..pso() };
    let loose = Model { store_forwarding: false, lock_exclusion: false, name: "loose".into(), ..odd.clone() };
    vec![sc(), tso(), pso(), wmo(), rmo(), odd, bare, plain, open, loose]
}

/// One operation or line per `;` or line end: `0 x=1` stores, `0 x:1` loads, `0 x:1=2` is atomic, `0 sync`,
/// `0 membar 9` (mask bits), `0 acq L`, `0 rel L`, `final x 1`, `init x 1`, `order x 1 2`; ` @b-e` adds a period.
pub fn trace(text: &str) -> Trace {
    let mut trace = Trace::new();
    trace.clear(1);
    for (line, text) in (1..).zip(text.split([';', '\n']).map(str::trim).filter(|text| !text.is_empty())) {
        let (text, period) = text.split_once(" @").unwrap_or((text, "-"));
        let words: Vec<&str> = text.split_whitespace().collect();
        let values = || words[2..].iter().map(|word| word.parse().unwrap()).collect::<Vec<u64>>();
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

/// A random trace with at most `most` memory operations, and up to two barriers. None where it makes no sense.
pub fn random_trace(random: &mut Random, most: u64) -> Option<Trace> {
    let mut trace = Trace::new();
    trace.clear(1);
    let threads = 1 + random.below(3);
    let addrs = [trace.memory_id(0), trace.named_id("y")];
    let locks = [trace.lock_id("L"), trace.lock_id("K")];
    let (timed, locked, fenced) = (random.one_in(3), random.one_in(4), random.one_in(2));
    let mut written = [0u64; 2];
    if random.one_in(5) {
        trace.inits.push(Init { addr: addrs[0], value: 9, line: 1 });
    }
    let (count, mut fences) = (1 + random.below(most), 0);
    let mut placed = 0;
    while placed < count {
        let thread = trace.thread_id(random.below(threads) as u32);
        let a = random.below(2) as usize;
        let read = random.below(4);
        let read = if read == 3 && random.one_in(2) { 9 } else { read };
        placed += 1;
        let op = match random.below(9) {
            0..=2 => trace.push_load(thread, addrs[a], read, 1),
            3..=4 => {
                written[a] += 1;
                trace.push_store(thread, addrs[a], written[a], 1)
            }
            5 => {
                written[a] += 1;
                trace.push_rmw(thread, addrs[a], read, written[a], 1)
            }
            6 if fenced && fences < 2 => {
                fences += 1;
                placed -= 1;
                let mask = (!random.one_in(3)).then(|| Mask::from_bits(random.below(16) as u8));
                trace.push_fence(thread, mask, 1)
            }
            7 if locked => trace.push_acquire(thread, locks[a % (1 + random.below(2) as usize)], 1),
            8 if locked => trace.push_release(thread, locks[a % (1 + random.below(2) as usize)], 1),
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
    }
    trace.resolve(&mut ResolveScratch::default()).ok().map(|()| trace)
}

/// The definition, word for word and pair by pair. `order` is a permutation of the memory operations.
pub fn naive(trace: &Trace, model: &Model, order: &[OpId]) -> bool {
    let n = trace.len();
    let mut place = vec![usize::MAX; n];
    for (i, op) in order.iter().enumerate() {
        place[op.index()] = i;
    }
    let ops: Vec<OpId> = trace.ops().collect();
    let before = |a: OpId, b: OpId| place[a.index()] < place[b.index()];
    let program = |a: OpId, b: OpId| trace.thread(a) == trace.thread(b) && a < b;
    let is = |op: OpId, store: bool| if store { trace.kind(op).stores() } else { trace.kind(op).loads() };
    for &a in order {
        for &b in order.iter().filter(|&&b| program(a, b)) {
            let kept = KINDS.iter().filter(|&&(e, l)| is(a, e) && is(b, l)).any(|&(e, l)| {
                let when = model.ppo.entry(e, l);
                let fence = |f: &OpId| {
                    let mask = trace.mask(*f).unwrap_or(model.sync);
                    trace.kind(*f) == OpKind::Fence
                        && program(a, *f)
                        && program(*f, b)
                        && mask.contains(Mask::pair(e, l))
                };
                when.always
                    || when.same_address && trace.addr(a) == trace.addr(b)
                    || when.time && trace.span(a).before(trace.span(b))
                    || ops.iter().any(fence)
            });
            if kept && !before(a, b) {
                return false;
            }
        }
    }
    let initial = |addr: AddrId| trace.inits.iter().find(|i| i.addr == addr).map_or(0, |i| i.value);
    let writes = |addr: AddrId| {
        let is_write =
            move |op: &OpId| matches!(trace.kind(*op), OpKind::Store | OpKind::Rmw) && trace.addr(*op) == addr;
        order.iter().copied().filter(is_write).collect::<Vec<_>>()
    };
    for &read in order.iter().filter(|&&op| matches!(trace.kind(op), OpKind::Load | OpKind::Rmw)) {
        let forwards = trace.kind(read) == OpKind::Load && model.store_forwarding;
        let last = writes(trace.addr(read))
            .into_iter()
            .filter(|&w| w != read && (before(w, read) || forwards && program(w, read)))
            .max_by_key(|w| place[w.index()]);
        if last.map_or(initial(trace.addr(read)), |w| trace.write(w)) != trace.read(read) {
            return false;
        }
    }
    let last_value = |addr| writes(addr).last().map_or(initial(addr), |&w| trace.write(w));
    let orders_hold = trace
        .orders
        .iter()
        .all(|line| writes(line.addr).iter().map(|&w| trace.write(w)).collect::<Vec<_>>() == line.values);
    if !orders_hold || trace.finals.iter().any(|end| last_value(end.addr) != end.value) {
        return false;
    }
    if model.lock_exclusion {
        for &acquire in order.iter().filter(|&&op| trace.kind(op) == OpKind::Acquire) {
            let on_lock = |op: &&OpId| trace.addr(**op) == trace.addr(acquire);
            let release = ops.iter().find(|&&op| {
                program(acquire, op) && trace.kind(op) == OpKind::Release && trace.addr(op) == trace.addr(acquire)
            });
            let fits = match release {
                Some(&r) => {
                    let between = |op: &OpId| before(acquire, *op) && before(*op, r);
                    before(acquire, r) && !order.iter().filter(on_lock).any(between)
                }
                None => !order.iter().filter(on_lock).any(|&op| before(acquire, op)),
            };
            if !fits {
                return false;
            }
        }
    }
    true
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
