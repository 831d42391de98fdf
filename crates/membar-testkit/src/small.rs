//! Small random traces, many of them one step from legal, to compare deciders on.
//!
//! Problem: a random trace is nearly always forbidden and a recorded one never is; deciders differ on what is close to
//! the border.
//!
//! Algorithm:
//! 1. half of the time build a trace round a cycle, as litmus tests are; otherwise draw a program of a few
//!    instructions and run it on a random machine (SC, TSO, PSO), and in half of these cases let every read return any
//!    write to its address: a machine with no order at all;
//! 2. half of the time make one to three small changes: another value for a read, two neighbours of a thread swapped,
//!    another final value, two neighbours of a write order swapped.
//!
//! Guarantees: every trace resolves. A change that would break that is dropped.

use crate::corrupt::rebuilt;
use crate::cycle::cycle;
use membar_core::Rng;
use membar_core::{AddrId, AddrName, Mask, Op, OpKind, ResolveScratch, Span, Trace};
use membar_simulate::{Instr, Machine, Observe, Program, ProgramBuilder, trace as trace_of};
use std::ops::RangeInclusive;

/// The features that a small trace may have. Features that are switched on occur in some traces only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Small {
    /// Number of threads.
    pub threads: RangeInclusive<u32>,
    /// Number of addresses.
    pub addresses: RangeInclusive<u32>,
    /// Number of operations.
    pub ops: RangeInclusive<u32>,
    /// Read-modify-writes.
    pub rmws: bool,
    /// `sync`.
    pub syncs: bool,
    /// `membar` with a random mask.
    pub membars: bool,
    /// Acquires and releases of up to two locks, taken in the order of their numbers.
    pub locks: bool,
    /// Begin and end times, some of them missing.
    pub times: bool,
    /// `init` lines.
    pub inits: bool,
    /// `final` lines.
    pub finals: bool,
    /// `order` lines.
    pub orders: bool,
    /// Traces built round a cycle, not only recorded ones.
    pub cycles: bool,
    /// Rarely: reads of values that nobody writes, read-modify-writes that read their own value.
    pub oddities: bool,
}

impl Small {
    /// All features.
    pub const ALL: Small = Small {
        threads: 2..=4,
        addresses: 1..=3,
        ops: 3..=10,
        rmws: true,
        syncs: true,
        membars: true,
        locks: true,
        times: true,
        inits: true,
        finals: true,
        orders: true,
        cycles: true,
        oddities: true,
    };

    /// Loads, stores, read-modify-writes and barriers; no locks, times or further lines.
    pub const PLAIN: Small =
        Small { locks: false, times: false, inits: false, finals: false, orders: false, oddities: false, ..Small::ALL };
}

/// The small trace of this seed, resolved.
pub fn small(knobs: &Small, seed: u64) -> Trace {
    let mut rng = Rng::stream(seed, 0x5A11);
    let ring = if knobs.cycles && rng.chance(1, 2) { cycle(knobs, &mut rng) } else { None };
    let mut trace = ring.unwrap_or_else(|| recorded(knobs, &mut rng));
    if knobs.times && rng.chance(1, 2) {
        keep(&mut trace, |trace| Some(with_times(trace, &mut rng)));
    }
    if rng.chance(1, 2) {
        for _ in 0..rng.between(1, 3) {
            keep(&mut trace, |trace| changed(trace, knobs, &mut rng));
        }
    }
    trace
}

/// A random program as a random machine ran it.
fn recorded(knobs: &Small, rng: &mut Rng) -> Trace {
    let program = program(knobs, rng);
    let machine = [Machine::Sc, Machine::Tso, Machine::Pso][rng.below(3) as usize];
    let observe = Observe { write_order: knobs.orders && rng.chance(1, 4), finals: knobs.finals && rng.chance(1, 3) };
    let run = machine.run(&program, rng.next());
    // A machine without bugs writes each value once.
    let mut trace = trace_of(&program, &run.record, None, observe).unwrap_or_default();
    drop_some_lines(&mut trace, rng);
    if rng.chance(1, 2) {
        keep(&mut trace, |trace| Some(with_any_reads(trace, rng)));
    }
    trace
}

/// Replaces the trace by another version of it, if there is one and it resolves.
fn keep(trace: &mut Trace, make: impl FnOnce(&Trace) -> Option<Trace>) {
    if let Some(mut new) = make(trace)
        && new.resolve(&mut ResolveScratch::default()).is_ok()
    {
        *trace = new;
    }
}

/// Unlike those of a profile, these programs may get stuck: some locks stay held, some are taken in different orders.
fn program(knobs: &Small, rng: &mut Rng) -> Program {
    let mut range = |r: &RangeInclusive<u32>| rng.between(*r.start(), *r.end());
    let (threads, addresses, ops) = (range(&knobs.threads), range(&knobs.addresses), range(&knobs.ops));
    let locks = if knobs.locks && rng.chance(1, 2) { rng.between(1, 2) } else { 0 };
    let mut b = ProgramBuilder::new(addresses, locks);
    let mut value = 0;
    for t in 0..threads {
        let mut held = vec![false; locks as usize];
        let share = ops / threads + u32::from(t < ops % threads);
        let mut instrs: Vec<Instr> = Vec::new();
        for _ in 0..share {
            let addr = rng.below(addresses);
            instrs.push(match rng.below(12) {
                0..=4 => Instr::Load { addr },
                5 if knobs.rmws => {
                    value += 1;
                    Instr::Exchange { addr, value }
                }
                6 if knobs.syncs => Instr::SYNC,
                7 if knobs.membars => Instr::Fence { mask: Some(Mask::from_bits(rng.between(1, 15) as u8)) },
                8 | 9 if locks > 0 => {
                    let lock = rng.below(locks);
                    let later_held = held[lock as usize + 1..].contains(&true);
                    let held = &mut held[lock as usize];
                    if *held || !later_held {
                        *held = !*held;
                        if *held { Instr::Acquire { lock } } else { Instr::Release { lock } }
                    } else {
                        Instr::Load { addr }
                    }
                }
                _ => {
                    value += 1;
                    Instr::Store { addr, value }
                }
            });
        }
        instrs.extend((0..locks).filter(|&lock| held[lock as usize]).map(|lock| Instr::Release { lock }));
        b.thread();
        instrs.into_iter().for_each(|instr| {
            b.push(instr);
        });
    }
    for addr in 0..addresses {
        if knobs.inits && rng.chance(1, 5) {
            b.initial(addr, 100 + addr as u64);
        }
    }
    b.finish().expect("written to be valid")
}

fn ops_of(trace: &Trace) -> Vec<Op> {
    trace.ops().map(|op| trace.op(op)).collect()
}

/// Not every address of a trace has its `final` or `order` line.
fn drop_some_lines(trace: &mut Trace, rng: &mut Rng) {
    trace.finals.retain(|_| rng.chance(3, 4));
    trace.orders.retain(|_| rng.chance(3, 4));
    let resolved = trace.resolve(&mut ResolveScratch::default());
    debug_assert!(resolved.is_ok(), "{resolved:?}");
}

/// Times that mostly agree with the order of issue, some sides missing.
fn with_times(trace: &Trace, rng: &mut Rng) -> Trace {
    let mut ops = ops_of(trace);
    for (i, op) in ops.iter_mut().enumerate() {
        let begin = 10 * i as u64 + rng.below(20) as u64;
        let end = begin + rng.below(30) as u64;
        op.span = Span { begin: rng.chance(3, 4).then_some(begin), end: rng.chance(3, 4).then_some(end) };
    }
    rebuilt(trace, &ops)
}

/// The values that an address ever has, the initial one first.
fn values(trace: &Trace, addr: AddrId) -> Vec<u64> {
    let writes = trace.ops().filter(|&op| trace.kind(op).writes() && trace.addr(op) == addr);
    [trace.initial(addr)].into_iter().chain(writes.map(|op| trace.write(op))).collect()
}

fn with_any_reads(trace: &Trace, rng: &mut Rng) -> Trace {
    let mut ops = ops_of(trace);
    for op in ops.iter_mut().filter(|op| matches!(op.kind, OpKind::Load | OpKind::Rmw)) {
        let mut choices = values(trace, op.addr);
        choices.retain(|&value| op.kind != OpKind::Rmw || value != op.write);
        op.read = rng.pick(&choices).copied().unwrap_or(op.read);
    }
    rebuilt(trace, &ops)
}

fn changed(trace: &Trace, knobs: &Small, rng: &mut Rng) -> Option<Trace> {
    let mut ops = ops_of(trace);
    match rng.below(8) {
        0..=3 => {
            let reads: Vec<usize> =
                (0..ops.len()).filter(|&i| matches!(ops[i].kind, OpKind::Load | OpKind::Rmw)).collect();
            let op = &mut ops[*rng.pick(&reads)?];
            let odd = knobs.oddities && rng.chance(1, 12);
            op.read = match op.kind {
                _ if odd && rng.chance(1, 2) => 999,
                OpKind::Rmw if odd => op.write,
                _ => *rng.pick(&values(trace, op.addr))?,
            };
            if !odd && op.kind == OpKind::Rmw && op.read == op.write {
                return None;
            }
        }
        4 | 5 => {
            let i = rng.below(ops.len() as u32) as usize;
            let j = (i + 1..ops.len()).find(|&j| ops[j].thread == ops[i].thread)?;
            ops.swap(i, j);
            let (a, b) = (ops[i], ops[j]);
            (ops[i].span, ops[j].span) = (b.span, a.span);
            (ops[i].line, ops[j].line) = (b.line, a.line);
        }
        6 => {
            let mut new = rebuilt(trace, &ops);
            let memory: Vec<AddrId> = (0..trace.addrs() as u32)
                .map(AddrId)
                .filter(|a| !matches!(trace.addr_names()[a.index()], AddrName::Lock(_)))
                .collect();
            let &addr = rng.pick(&memory)?;
            let value = *rng.pick(&values(trace, addr))?;
            new.finals.iter_mut().find(|f| f.addr == addr)?.value = value;
            return Some(new);
        }
        _ => {
            let mut new = rebuilt(trace, &ops);
            let line = rng.below(new.orders.len() as u32) as usize;
            let values = &mut new.orders.get_mut(line)?.values;
            let at = rng.below(values.len().saturating_sub(1) as u32) as usize;
            if at + 1 < values.len() {
                values.swap(at, at + 1);
            }
            return Some(new);
        }
    }
    Some(rebuilt(trace, &ops))
}

#[cfg(test)]
mod tests {
    use super::*;
    use membar_core::Source;

    #[test]
    fn everything_occurs_and_resolves() {
        let mut seen = [0; 11];
        for seed in 0..3000 {
            let trace = small(&Small::ALL, seed);
            let again = small(&Small::ALL, seed);
            assert!(trace.ops().all(|op| trace.op(op) == again.op(op)));
            assert!(rebuilt(&trace, &ops_of(&trace)).resolve(&mut ResolveScratch::default()).is_ok());
            let any = |test: &dyn Fn(Op) -> bool| usize::from(trace.ops().any(|op| test(trace.op(op))));
            let kind = |kind| any(&|op| op.kind == kind);
            let counts = [
                kind(OpKind::Rmw),
                any(&|op| op.kind == OpKind::Fence && op.mask.is_none()),
                any(&|op| op.mask.is_some()),
                kind(OpKind::Acquire),
                kind(OpKind::Release),
                usize::from(trace.has_times()),
                usize::from(!trace.inits.is_empty()),
                usize::from(!trace.finals.is_empty()),
                usize::from(!trace.orders.is_empty()),
                usize::from(trace.ops().any(|op| trace.source(op) == Source::UNWRITTEN)),
                usize::from(trace.ops().any(|op| trace.source(op) == Source::op(op))),
            ];
            seen.iter_mut().zip(counts).for_each(|(all, one)| *all += one);
        }
        assert!(seen[..9].iter().all(|&n| n > 200) && seen[9] > 5 && seen[10] > 0, "{seen:?}");
    }
}
