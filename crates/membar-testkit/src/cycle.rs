//! Small traces built around one cycle, as litmus tests are.
//!
//! Problem: random programs rarely show what distinguishes two models; each difference between models is a cycle that
//! one of them forbids.
//!
//! Algorithm: go round a ring of threads. A thread has two accesses, of different addresses, or is a single store.
//! From the last access of one thread to the first of the next, on one address, there is
//! * `rf`: a store, and a load that returns it;
//! * `fr`: a load, and a store that overwrites what it returned;
//! * `co`: a store, and a store that overwrites it (visible where a final value or the write order is recorded, or the
//!   second is a read-modify-write).
//!
//! Then decorate: stores become read-modify-writes, barriers, sessions and loads of own stores go between a thread's
//! two accesses. SC forbids the bare cycle; what is decorated decides which of the other models do.

use crate::Small;
use membar_core::Rng;
use membar_core::{Final, Init, Mask, Op, OpKind, OrderLine, ResolveScratch, Span, Trace};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Rf,
    Fr,
    Co,
}

#[derive(Clone, Copy)]
struct Access {
    kind: OpKind,
    /// Address, or lock.
    addr: u32,
    read: u64,
    write: u64,
    mask: Option<Mask>,
}

impl Access {
    fn new(kind: OpKind, addr: u32) -> Access {
        Access { kind, addr, read: 0, write: 0, mask: None }
    }
}

/// A cycle with decorations, resolved; `None` where the knobs leave no room for one.
pub(crate) fn cycle(knobs: &Small, rng: &mut Rng) -> Option<Trace> {
    let fewest = (*knobs.threads.start()).max(2);
    let threads = rng.between(fewest, fewest.max(*knobs.threads.end())) as usize;
    let most = (*knobs.addresses.end() as usize).min(threads).min((*knobs.ops.end() as usize).saturating_sub(threads));
    if most < 2 || fewest > *knobs.threads.end() {
        return None;
    }
    // The first `addresses` threads of a random order have two accesses.
    let addresses = rng.between(2, most as u32) as usize;
    let mut single: Vec<bool> = (0..threads).map(|t| t >= addresses).collect();
    rng.shuffle(&mut single);
    let edges = edges(&single, rng);

    let initial: Vec<u64> =
        (0..addresses as u64).map(|a| if knobs.inits && rng.chance(1, 6) { 100 + a } else { 0 }).collect();
    let mut ring = Ring { last: initial.clone(), commits: vec![Vec::new(); addresses], value: 0, rmws: knobs.rmws };
    // An address's accesses begin with the second one of a thread that has two: start the walk there.
    let start = single.iter().position(|&s| !s)?;
    let mut first: Vec<Option<Access>> = vec![None; threads];
    let mut second: Vec<Option<Access>> = vec![None; threads];
    let mut addr = 0;
    for step in 0..threads {
        let (t, next) = ((start + step) % threads, (start + step + 1) % threads);
        if !single[t] {
            second[t] = Some(ring.access(edges[t] != Edge::Fr, addr, rng));
        }
        first[next] = Some(ring.access(edges[t] != Edge::Rf, addr, rng));
        addr += u32::from(!single[next]);
    }

    let mut room = *knobs.ops.end() as usize - threads - addresses;
    let mut bodies = Vec::new();
    for t in 0..threads {
        let first = first[t]?;
        let mut body = vec![first];
        let extra = second[t].map_or(Vec::new(), |_| between(knobs, first, rng));
        if extra.len() <= room {
            room -= extra.len();
            body.extend(extra);
        }
        body.extend(second[t]);
        if knobs.locks && room >= 2 && rng.chance(1, 6) {
            room -= 2;
            body.insert(0, Access::new(OpKind::Acquire, 0));
            body.push(Access::new(OpKind::Release, 0));
        }
        bodies.push(body);
    }
    rng.shuffle(&mut bodies);
    assemble(knobs, &bodies, &initial, &ring, rng)
}

/// Draws the edge that leaves each thread; a single store is entered and left as a store.
fn edges(single: &[bool], rng: &mut Rng) -> Vec<Edge> {
    (0..single.len())
        .map(|t| {
            let mut choices = vec![Edge::Rf, Edge::Rf, Edge::Fr, Edge::Fr, Edge::Co];
            choices.retain(|&e| !(single[t] && e == Edge::Fr || single[(t + 1) % single.len()] && e == Edge::Rf));
            rng.pick(&choices).copied().unwrap_or(Edge::Co)
        })
        .collect()
}

/// The writes made so far on the walk round the ring.
struct Ring {
    last: Vec<u64>,
    commits: Vec<Vec<u64>>,
    value: u64,
    rmws: bool,
}

impl Ring {
    fn access(&mut self, stores: bool, addr: u32, rng: &mut Rng) -> Access {
        let last = &mut self.last[addr as usize];
        if !stores {
            return Access { read: *last, ..Access::new(OpKind::Load, addr) };
        }
        self.value += 1;
        self.commits[addr as usize].push(self.value);
        let before = std::mem::replace(last, self.value);
        if self.rmws && rng.chance(1, 6) {
            Access { read: before, write: self.value, ..Access::new(OpKind::Rmw, addr) }
        } else {
            Access { write: self.value, ..Access::new(OpKind::Store, addr) }
        }
    }
}

/// The operations between a thread's two accesses.
fn between(knobs: &Small, first: Access, rng: &mut Rng) -> Vec<Access> {
    let mut extra = Vec::new();
    if first.kind == OpKind::Store && rng.chance(1, 4) {
        extra.push(Access { read: first.write, ..Access::new(OpKind::Load, first.addr) });
    }
    match rng.below(8) {
        0 if knobs.syncs => extra.push(Access::new(OpKind::Fence, 0)),
        1 | 2 if knobs.membars => {
            let mask = Mask::from_bits(rng.between(1, 15) as u8);
            extra.push(Access { mask: Some(mask), ..Access::new(OpKind::Fence, 0) });
        }
        3 if knobs.locks => {
            let lock = 1 + rng.below(2);
            extra.extend([Access::new(OpKind::Acquire, lock), Access::new(OpKind::Release, lock)]);
        }
        _ => {}
    }
    if extra.len() > 1 && rng.chance(1, 2) {
        extra.rotate_left(1);
        // A release must not come before its acquire.
        if extra[0].kind == OpKind::Release || extra.last().is_some_and(|last| last.kind == OpKind::Acquire) {
            extra.rotate_right(1);
        }
    }
    extra
}

fn assemble(knobs: &Small, bodies: &[Vec<Access>], initial: &[u64], ring: &Ring, rng: &mut Rng) -> Option<Trace> {
    let mut trace = Trace::new();
    trace.clear(1);
    let mut turns: Vec<usize> = bodies.iter().enumerate().flat_map(|(t, body)| vec![t; body.len()]).collect();
    rng.shuffle(&mut turns);
    let mut next = vec![0; bodies.len()];
    for t in turns {
        let access = bodies[t][next[t]];
        next[t] += 1;
        let addr = match access.kind {
            OpKind::Fence => membar_core::AddrId::NONE,
            OpKind::Acquire | OpKind::Release => trace.lock_id(&format!("L{}", access.addr)),
            _ => trace.memory_id(access.addr as u64),
        };
        let Access { kind, read, write, mask, .. } = access;
        let (thread, line) = (trace.thread_id(t as u32), trace.len() as u64 + 1);
        trace.push(Op {
            kind,
            thread,
            addr,
            read,
            write,
            mask,
            span: Span::UNKNOWN,
            line,
            marks: membar_core::Marks::NONE,
        });
    }
    let mut line = trace.len() as u64;
    for (a, values) in ring.commits.iter().enumerate() {
        let addr = trace.memory_id(a as u64);
        let mut line = || {
            line += 1;
            line
        };
        if initial[a] != 0 {
            trace.inits.push(Init { addr, value: initial[a], line: line() });
        }
        let told = if values.len() > 1 { 3 } else { 1 };
        if knobs.finals && rng.chance(told, 4) {
            trace.finals.push(Final { addr, value: ring.last[a], line: line() });
        }
        if knobs.orders && !values.is_empty() && rng.chance(told, 6) {
            trace.orders.push(OrderLine { addr, values: values.clone(), line: line() });
        }
    }
    trace.resolve(&mut ResolveScratch::default()).ok().map(|()| trace)
}
