//! Did a read return a write that nothing overwrites before it, in a partial memory order?
//!
//! Problem: the model has no write order. The edges of memory order are known: what threads keep ([`Past`]), time, reads
//! from their writes, `order` lines, and, per lock, each operation before the next one of a given total order, in which
//! all edges go forward. For each read of `w`, is there another write `w'` of its address with `w → w' → read`?
//!
//! Algorithm:
//! 1. Make a graph in which no node has more than two predecessors: operations, and joins of two nodes each. A join has
//!    the larger place of the two; an operation comes before joins at its place. That sorts them.
//! 2. Only a read that did not return what is last before it in the total order is in question. Take 256 of the writes
//!    behind such reads at a time, in order. Pass over the nodes from the first of those writes to the last such read of
//!    one, and keep two bits per node and write: the write is the node or before it; and another write of the address is
//!    the node or before it, and the write is before that one.
//!
//! Invariants: positions count from 1 in sorted order, so 0 is "none"; what is before the first position of a pass
//! counts as 0.
//!
//! Complexity: with m nodes and s writes in question O(s/256 · m) steps, each over 64 bytes, and memory for 64 bytes a
//! node. m is O(n), with the factors of [`Past`].

use crate::Flaw;
use crate::past::{Join, Past};
use crate::witness::value_at;
use membar_core::{AddrId, Compare, Model, OpId, OpKind, Trace};

const LANES: usize = 4;
type Bits = [u64; LANES];

#[inline]
fn or(a: Bits, b: Bits) -> Bits {
    std::array::from_fn(|lane| a[lane] | b[lane])
}

#[inline]
fn and(a: Bits, b: Bits) -> Bits {
    std::array::from_fn(|lane| a[lane] & b[lane])
}

#[inline]
fn set(bits: &mut Bits, bit: usize) {
    bits[bit / 64] |= 1 << (bit % 64);
}

#[inline]
fn has(bits: &Bits, bit: usize) -> bool {
    bits[bit / 64] >> (bit % 64) & 1 != 0
}

/// Per node and write in question.
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(64))]
struct Known {
    /// The write is this node or before it.
    before: Bits,
    /// Something that overwrites it is this node or before it.
    over: Bits,
}

/// Step 1. Nodes are numbered from 1: operations, then joins.
#[derive(Default, Debug)]
struct Graph {
    /// Per operation: the node behind everything that is directly before it.
    before: Vec<u32>,
    joins: Vec<(u32, u32)>,
}

impl Join for Graph {
    #[inline]
    fn of(&self, op: OpId) -> u32 {
        op.0 + 1
    }

    fn join(&mut self, a: u32, b: u32) -> u32 {
        match (a, b) {
            (0, one) | (one, 0) => one,
            _ if a == b => a,
            _ => {
                self.joins.push((a, b));
                (self.before.len() + self.joins.len()) as u32
            }
        }
    }
}

impl Graph {
    fn add(&mut self, earlier: u32, later: OpId) {
        self.before[later.index()] = self.join(self.before[later.index()], earlier);
    }
}

/// A read in question.
#[derive(Clone, Copy, Debug)]
struct Question {
    /// Position of the write that it returned; 0 for the initial value.
    write: u32,
    addr: AddrId,
    /// Position of the read; 0 for a final value.
    read: u32,
}

/// Buffers, kept between traces.
#[derive(Default, Debug)]
pub(crate) struct Overwritten {
    graph: Graph,
    /// Writes by (address, value), sorted.
    writes: Vec<(AddrId, u64, OpId)>,
    /// Per address: its initial value.
    initial: Vec<u64>,
    /// Per address or lock: one more than the last write of it.
    last: Vec<u32>,
    /// Per address: its writes are listed.
    listed: Vec<bool>,
    /// Operations that are done at their end, by end.
    ends: Vec<(u64, OpId)>,
    /// Per node: its place, then its position.
    position: Vec<u32>,
    /// By position: the two nodes directly before it, as positions, and one more than the operation that it is.
    nodes: Vec<(u32, u32, u32)>,
    questions: Vec<Question>,
    /// By position, from the first one of the pass.
    known: Vec<Known>,
    /// Per address: the bits of this pass that are about it.
    about: Vec<Bits>,
    /// By position: one more than the bit that is a node's write, or that a node's read is about.
    bit: Vec<[u16; 2]>,
}

/// Where a read in question got its value, and which.
type Source = (Option<OpId>, AddrId);

impl Overwritten {
    /// `order` has each operation but barriers once, `place` says where (from 1); it keeps every order between operations
    /// but reads and their writes, which is checked here.
    pub(crate) fn check(
        &mut self,
        trace: &Trace,
        model: &Model,
        order: &[OpId],
        place: &[u32],
        past: &mut Past,
    ) -> Result<(), Flaw> {
        self.graph.joins.clear();
        self.graph.before.clear();
        self.graph.before.resize(trace.len(), 0);
        past.walk(trace, model, &mut self.graph, |graph, op, before, _| {
            graph.before[op.index()] = before;
            Ok(())
        })?;
        let sources = self.add_order(trace, model, order, place)?;
        if trace.has_times() && trace.compare() == Compare::Everything {
            self.add_time(trace, model, order);
        }
        self.sort(order, place);
        self.questions.clear();
        for ((write, addr), read) in sources {
            let position = |op: Option<OpId>| op.map_or(0, |op| self.position[op.index() + 1]);
            self.questions.push(Question { write: position(write), addr, read: position(read) });
        }
        self.questions.sort_unstable_by_key(|q| (q.write, q.addr, q.read));
        self.about.clear();
        self.about.resize(trace.addrs(), Bits::default());
        self.bit.clear();
        self.bit.resize(self.nodes.len(), [0; 2]);
        let mut start = 0;
        while start < self.questions.len() {
            start = self.pass(trace, start)?;
        }
        Ok(())
    }

    /// Edges to reads, along `order` lines and on locks. Gives the reads in question.
    fn add_order(
        &mut self,
        trace: &Trace,
        model: &Model,
        order: &[OpId],
        place: &[u32],
    ) -> Result<Vec<(Source, Option<OpId>)>, Flaw> {
        self.writes.clear();
        let valued = |op: OpId| matches!(trace.kind(op), OpKind::Store | OpKind::Rmw);
        self.writes.extend(order.iter().filter(|&&op| valued(op)).map(|&op| (trace.addr(op), trace.write(op), op)));
        self.writes.sort_unstable();
        self.initial.clear();
        self.initial.resize(trace.addrs(), 0);
        for init in &trace.inits {
            self.initial[init.addr.index()] = init.value;
        }
        // None: nobody writes it, and it is not initial.
        let source = |addr: AddrId, value: u64| {
            let at = self.writes.partition_point(|&(a, v, _)| (a, v) < (addr, value));
            match self.writes.get(at) {
                Some(&(a, v, op)) if (a, v) == (addr, value) => Some(Some(op)),
                _ => (value == self.initial[addr.index()]).then_some(None),
            }
        };
        self.listed.clear();
        self.listed.resize(trace.addrs(), false);
        for line in &trace.orders {
            self.listed[line.addr.index()] = true;
        }
        self.last.clear();
        self.last.resize(trace.addrs(), 0);
        let mut sources = Vec::new();
        for &op in order {
            let (kind, addr) = (trace.kind(op), trace.addr(op));
            let last = &mut self.last[addr.index()];
            if kind.reads() {
                let last = last.checked_sub(1).map(OpId);
                let fresh = last.is_some_and(|last| trace.write(last) == trace.read(op));
                let found = if fresh { Some(last) } else { source(addr, trace.read(op)) };
                let at = place[op.index()];
                match found {
                    Some(Some(write)) if place[write.index()] < at => self.graph.add(write.0 + 1, op),
                    Some(None) => {}
                    _ => return Err(Flaw::Value { read: op, gives: value_at(trace, order, at, addr) }),
                }
                if let Some(write) = found.filter(|&write| write != last) {
                    sources.push(((write, addr), Some(op)));
                }
            }
            if kind.writes() {
                if self.listed[addr.index()] || kind.locks() && model.lock_exclusion {
                    self.graph.add(*last, op);
                }
                *last = op.0 + 1;
            }
        }
        for end in &trace.finals {
            let last = self.last[end.addr.index()].checked_sub(1).map(OpId);
            let Some(write) = source(end.addr, end.value) else {
                let gives = last.map_or_else(|| self.initial[end.addr.index()], |last| trace.write(last));
                return Err(Flaw::FinalValue { addr: end.addr, gives });
            };
            if write != last {
                sources.push(((write, end.addr), None));
            }
        }
        Ok(sources)
    }

    /// Edges by a clock that all threads share.
    fn add_time(&mut self, trace: &Trace, model: &Model, order: &[OpId]) {
        self.ends.clear();
        let done = order.iter().filter(|&&op| model.done_at_end(trace.kind(op)));
        self.ends.extend(done.filter_map(|&op| Some((trace.period(op).end?, op))));
        self.ends.sort_unstable();
        let mut ended = 0;
        let ends = self.ends.iter().map(|&(_, op)| {
            ended = self.graph.join(ended, op.0 + 1);
            ended
        });
        let ended: Vec<u32> = ends.collect();
        for &op in order {
            let period = trace.period(op);
            let Some(begin) = period.begin else { continue };
            let count = self.ends.partition_point(|&(end, _)| end < begin);
            if period.end.is_some_and(|end| end < begin) {
                // Clocks that make no sense: it is among them itself.
                for i in (0..count).filter(|&i| self.ends[i].1 != op) {
                    self.graph.add(self.ends[i].1.0 + 1, op);
                }
            } else if count > 0 {
                self.graph.add(ended[count - 1], op);
            }
        }
    }

    /// Gives the nodes that lead to an operation their positions.
    fn sort(&mut self, order: &[OpId], place: &[u32]) {
        let Graph { before, joins } = &self.graph;
        let ops = before.len();
        let mut used = vec![false; 1 + ops + joins.len()];
        for &node in before {
            used[node as usize] = true;
        }
        for (i, &(a, b)) in joins.iter().enumerate().rev() {
            if used[1 + ops + i] {
                used[a as usize] = true;
                used[b as usize] = true;
            }
        }
        self.position.clear();
        self.position.push(0);
        self.position.extend_from_slice(place);
        // How many nodes there are at each place, then where the next one of it goes.
        let mut next = vec![1; order.len() + 1];
        next[0] = 0;
        for (i, &(a, b)) in joins.iter().enumerate() {
            let at = self.position[a as usize].max(self.position[b as usize]);
            self.position.push(at);
            next[at as usize] += used[1 + ops + i] as u32;
        }
        let mut start = 1;
        for next in &mut next {
            start += *next;
            *next = start - *next;
        }
        self.nodes.clear();
        self.nodes.resize(start as usize, (0, 0, 0));
        let mut positioned = |at: u32| {
            let next = &mut next[at as usize];
            *next += 1;
            *next - 1
        };
        for op in order {
            let place = &mut self.position[op.index() + 1];
            *place = positioned(*place);
        }
        for i in (1 + ops..self.position.len()).filter(|&i| used[i]) {
            self.position[i] = positioned(self.position[i]);
        }
        let position = |node: u32| if node == 0 { 0 } else { self.position[node as usize] };
        for op in order {
            let at = self.position[op.index() + 1];
            self.nodes[at as usize] = (position(before[op.index()]), 0, op.0 + 1);
        }
        for (i, &(a, b)) in joins.iter().enumerate().filter(|&(i, _)| used[1 + ops + i]) {
            self.nodes[self.position[1 + ops + i] as usize] = (position(a), position(b), 0);
        }
    }

    /// Step 2 for the questions from `start` on that fit into one pass. Gives the first one that does not.
    fn pass(&mut self, trace: &Trace, start: usize) -> Result<usize, Flaw> {
        let (mut bits, mut end, mut last) = (0, start, 0);
        let (mut initial, mut at_end) = (Bits::default(), false);
        while let Some(&q) = self.questions.get(end) {
            let same = end > start && {
                let previous = self.questions[end - 1];
                (previous.write, previous.addr) == (q.write, q.addr)
            };
            if !same {
                if bits == 64 * LANES {
                    break;
                }
                bits += 1;
                set(&mut self.about[q.addr.index()], bits - 1);
                if q.write == 0 {
                    set(&mut initial, bits - 1);
                } else {
                    self.bit[q.write as usize][0] = bits as u16;
                }
            }
            if q.read == 0 {
                at_end = true;
            } else {
                self.bit[q.read as usize][1] = bits as u16;
                last = last.max(q.read as usize);
            }
            end += 1;
        }
        if at_end {
            last = self.nodes.len() - 1;
        }
        let first = (self.questions[start].write as usize).max(1);
        let mut left = Bits::default();
        self.known.clear();
        for at in first..=last {
            let (a, b, op) = self.nodes[at];
            let known = |node: u32| match (node as usize).checked_sub(first) {
                Some(node) => self.known[node],
                None => Known::default(),
            };
            let (a, b) = (known(a), known(b));
            let mut here = Known { before: or(a.before, b.before), over: or(a.over, b.over) };
            if let Some(op) = op.checked_sub(1).map(OpId) {
                let [write, read] = self.bit[at];
                if read != 0 && has(&here.over, read as usize - 1) {
                    let by = self.overwrites(trace, first, at as u32, trace.addr(op), read as usize - 1);
                    return Err(Flaw::Overwritten { read: op, by });
                }
                if matches!(trace.kind(op), OpKind::Store | OpKind::Rmw) {
                    let about = self.about[trace.addr(op).index()];
                    here.over = or(here.over, and(or(here.before, initial), about));
                    left = or(left, here.over);
                }
                if write != 0 {
                    set(&mut here.before, write as usize - 1);
                }
            }
            self.known.push(here);
        }
        let mut bits = 0;
        for i in start..end {
            let q = self.questions[i];
            let same = i > start && {
                let previous = self.questions[i - 1];
                (previous.write, previous.addr) == (q.write, q.addr)
            };
            bits += !same as usize;
            if q.read == 0 && has(&left, bits - 1) {
                let by = self.overwrites(trace, first, self.nodes.len() as u32, q.addr, bits - 1);
                return Err(Flaw::FinalOverwritten { addr: q.addr, by });
            }
            self.about[q.addr.index()] = Bits::default();
            self.bit[q.write as usize] = [0; 2];
            self.bit[q.read as usize] = [0; 2];
        }
        Ok(end)
    }

    /// The operation that overwrites the write of a bit before a position (one past the last: before the end); for messages only.
    #[cold]
    fn overwrites(&self, trace: &Trace, first: usize, read: u32, addr: AddrId, bit: usize) -> OpId {
        let mut reaches = vec![read as usize == self.nodes.len(); read as usize + 1];
        reaches[read as usize] = true;
        let mut found = OpId(0);
        for at in (first..read as usize + 1).rev().filter(|&at| at < self.nodes.len()) {
            let (a, b, op) = self.nodes[at];
            if !reaches[at] {
                continue;
            }
            reaches[a as usize] = true;
            reaches[b as usize] = true;
            let Some(op) = op.checked_sub(1).map(OpId) else { continue };
            let writes = matches!(trace.kind(op), OpKind::Store | OpKind::Rmw) && trace.addr(op) == addr;
            if writes && at != read as usize && has(&self.known[at - first].over, bit) {
                found = op;
            }
        }
        found
    }
}
