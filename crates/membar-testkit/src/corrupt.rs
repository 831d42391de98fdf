//! One wrong value in a right trace, as a bug in a machine would leave it.

use membar_core::Rng;
use membar_core::{AddrId, Op, OpId, OpKind, ResolveScratch, Trace};

/// How many writes away from the right one a near value is at most.
const NEAR: usize = 4;

/// A trace with one read changed.
#[derive(Clone, Debug)]
pub struct Corrupted {
    /// The changed trace, resolved.
    pub trace: Trace,
    /// Which read was changed.
    pub op: OpId,
    /// The value that it returned before.
    pub was: u64,
}

/// Gives one random read (a load, or the read of a read-modify-write) the value of another write to its address, or the
/// initial value.
///
/// Half of the time the new value is one that was written close to the right one (in the order of the text, which for a
/// simulated machine is the order of issue), older or younger; these are the hard ones to find. The changed trace may
/// still be allowed. `None` if no read has an alternative.
pub fn corrupt(trace: &Trace, seed: u64) -> Option<Corrupted> {
    let mut rng = Rng::new(seed);
    let mut values: Vec<Vec<u64>> = (0..trace.addrs()).map(|a| vec![trace.initial(AddrId(a as u32))]).collect();
    let mut reads = Vec::new();
    for op in trace.ops() {
        match trace.kind(op) {
            OpKind::Load => reads.push(op),
            OpKind::Store => values[trace.addr(op).index()].push(trace.write(op)),
            OpKind::Rmw => {
                reads.push(op);
                values[trace.addr(op).index()].push(trace.write(op));
            }
            OpKind::Fence | OpKind::Acquire | OpKind::Release => {}
        }
    }
    // A read-modify-write never gets its own value: that would be too easy.
    let fits =
        |op: OpId, value: u64| value != trace.read(op) && !(trace.kind(op) == OpKind::Rmw && value == trace.write(op));
    reads.retain(|&op| values[trace.addr(op).index()].iter().any(|&value| fits(op, value)));
    let &op = rng.pick(&reads)?;
    let others = &values[trace.addr(op).index()];
    // The place of the right value, the initial one first.
    let right = others.iter().position(|&value| value == trace.read(op)).filter(|_| rng.chance(1, 2));
    let near = right.map_or(&others[..], |at| &others[at.saturating_sub(NEAR)..others.len().min(at + NEAR + 1)]);
    let fitting = |values: &[u64]| values.iter().copied().filter(|&value| fits(op, value)).collect::<Vec<u64>>();
    let mut choices = fitting(near);
    if choices.is_empty() {
        choices = fitting(others);
    }
    let &value = rng.pick(&choices)?;
    let mut ops: Vec<Op> = trace.ops().map(|op| trace.op(op)).collect();
    ops[op.index()].read = value;
    let mut changed = rebuilt(trace, &ops);
    changed.resolve(&mut ResolveScratch::default()).ok()?;
    Some(Corrupted { trace: changed, op, was: trace.read(op) })
}

/// A trace with these operations and the names and other lines of `trace`. Not yet resolved.
pub fn rebuilt(trace: &Trace, ops: &[Op]) -> Trace {
    let mut new = Trace::new();
    new.clear(trace.first_line());
    for &name in trace.thread_names() {
        new.thread_id(name);
    }
    for name in trace.addr_names() {
        new.addr_id(name);
    }
    for &op in ops {
        new.push(op);
    }
    new.inits.clone_from(&trace.inits);
    new.finals.clone_from(&trace.finals);
    new.orders.clone_from(&trace.orders);
    new.guards.clone_from(&trace.guards);
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use membar_core::Source;
    use membar_simulate::{Machine, Mix, Observe, Workload, simulate};

    #[test]
    fn changes_one_read_to_a_written_value() {
        let work = Workload { threads: 3, addresses: 2, ops: 60, mix: Mix::PAPER, seed: 8 };
        let trace = simulate(&work, Machine::Tso, Observe { write_order: true, finals: true });
        for seed in 0..200 {
            let Corrupted { trace: changed, op, was } = corrupt(&trace, seed).unwrap();
            assert_eq!(trace.read(op), was);
            assert_ne!(changed.read(op), was);
            assert_ne!(changed.source(op), Source::UNWRITTEN);
            assert!(trace.ops().all(|other| other == op || trace.op(other) == changed.op(other)));
        }
    }

    #[test]
    fn needs_an_alternative() {
        let work = Workload {
            threads: 1,
            addresses: 1,
            ops: 5,
            mix: Mix { loads: 1, stores: 0, rmws: 0, fences: 0 },
            seed: 0,
        };
        assert!(corrupt(&simulate(&work, Machine::Sc, Observe::default()), 0).is_none());
    }
}
