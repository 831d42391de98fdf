//! The read problem as a graph.
//!
//! Problem: given a trace and a model, name the points of memory order (nodes) and everything about their order that
//! needs no inference: preserved program order (R1-R3, locks), time, reads-from (R4), own stores (R5), given write orders
//! (A6), final values, and the part of R6 that is visible inside one thread (a thread that reads first one write of an
//! address and then another has seen the first one overwritten).
//!
//! A lock is an address: an acquire writes it, a release reads its acquire and writes it, so that nothing comes between
//! the two. A store conditional is a store that reads what its load reserved returned, so that nothing comes between; so are
//! its thread's stores to the address between the two. Where the model has no write order, locks are the only addresses that count as written; what a load may return
//! is then up to [`crate::location`].
//!
//! Nodes: `0..n` are the operations, numbered by thread and program order, so that a thread is a range; then one node per
//! address for its initial value; then the collectors of [`crate::ppo`].
//!
//! Complexity: O(n), with O(n log n) for time entries (see [`crate::ppo`]).

use crate::kept;
use crate::ppo::PpoEdges;
use membar_core::{AddrId, Compare, Event, Kind, Model, OpId, OpKind, Rule, Source, ThreadId, Trace, When};

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

pub(crate) const READS: u8 = 1;
pub(crate) const WRITES: u8 = 2;
/// Reads from its own thread's earlier store, possibly before that store is in memory order.
pub(crate) const FORWARDED: u8 = 4;

/// Writes an address that has no write order.
pub(crate) const WRITES_DATA: u8 = 8;

/// A store that has to follow its source directly, since its thread held a reservation: it counts as reading.
const HELD: u8 = 16;

/// Pieces of an access that one can have.
const MOST_PIECES: u32 = 16;

/// An edge that is neither program order nor reads-from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extra {
    pub from: u32,
    pub to: u32,
    pub why: Why,
    /// It held under decisions of the search only.
    pub conditional: bool,
}

impl Extra {
    /// An edge that holds for good.
    pub fn new(from: u32, to: u32, why: Why) -> Extra {
        Extra { from, to, why, conditional: false }
    }
}

/// Why an [`Extra`] edge holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// R5 through this load.
    OwnStore(u32),
    /// R6: `from` was read by the first load, `to` by the second, which is ordered after it.
    SeenBefore(u32, u32),
    /// R6 through the final value.
    Final,
    /// A6.
    WriteOrder,
    /// R6 through this load; the path uses extras below the limit.
    BeforeRead { load: u32, limit: u32 },
    /// R7; the path uses extras below the limit.
    AfterRead { limit: u32 },
    /// Refuted otherwise by this lemma of the search.
    Lemma(u32),
    /// Not known: a choice of the search.
    Choice,
}

/// Something impossible that is visible immediately: these operations alone are forbidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obvious {
    /// A value that nobody writes.
    Unwritten(OpId),
    /// A final value that nobody writes, of this address.
    UnwrittenFinal(AddrId),
    /// A store conditional that stored without a reservation.
    Unreserved(OpId),
    /// An address's initial value was read or is final although these writes come first.
    Core(Vec<OpId>),
}

/// See the module's description. All columns are indexed by node.
#[derive(Default)]
pub(crate) struct Problem {
    /// Number of operations.
    pub ops: usize,
    /// Number of addresses.
    pub addrs: usize,
    /// Number of nodes.
    pub nodes: usize,
    pub flags: Vec<u8>,
    /// Address, [`NONE`] for barriers and collectors.
    pub addr: Vec<u32>,
    /// The write that a read returned, [`NONE`] otherwise.
    pub src: Vec<u32>,
    /// The read-modify-write (or release) that reads this write, if there is exactly one; others show as conflicts.
    pub rmw_reader: Vec<u32>,
    /// Program order and extras, by earlier node.
    pub succ_start: Vec<u32>,
    pub succ: Vec<u32>,
    pub indegree: Vec<u32>,
    /// Readers of each write.
    pub reader_start: Vec<u32>,
    pub readers: Vec<u32>,
    /// Static extras first, then derived ones as they are found.
    pub extras: Vec<Extra>,
    /// How many of the extras are in `succ`.
    pub static_extras: usize,
    /// First node of each thread, and one past the last.
    pub thread_start: Vec<u32>,
    thread_of: Vec<u32>,
    /// Where accesses have several pieces: per operation the first piece of its access, which is one point of memory order.
    first: Vec<u32>,
    pub obvious: Option<Obvious>,
    /// Is the write order given for every address with two writes or more?
    pub conflict: bool,
    /// Has the model no write order?
    pub partial: bool,
    /// Then, per address, how many writes and how many reads of data there are,
    pub data_writes: Vec<u32>,
    pub data_reads: Vec<u32>,
    /// and each final value's address and write.
    pub finals: Vec<(u32, u32)>,
    ppo: PpoEdges,
    per_addr: Vec<u32>,
    per_addr2: Vec<u32>,
    touched: Vec<u32>,
    node_of: Vec<u32>,
}

impl Problem {
    /// Is it an operation that reads?
    #[inline]
    pub fn reads(&self, node: u32) -> bool {
        self.flags[node as usize] & READS != 0
    }

    /// Does it write an address (operations and initial values)?
    #[inline]
    pub fn writes(&self, node: u32) -> bool {
        self.flags[node as usize] & WRITES != 0
    }

    /// Does it write and not read?
    #[inline]
    pub fn is_store(&self, node: u32) -> bool {
        self.flags[node as usize] & (WRITES | READS) == WRITES
    }

    /// Does it write an address that has no write order?
    #[inline]
    pub fn writes_data(&self, node: u32) -> bool {
        self.flags[node as usize] & WRITES_DATA != 0
    }

    /// May it read before its source is in memory order?
    #[inline]
    pub fn forwarded(&self, node: u32) -> bool {
        self.flags[node as usize] & FORWARDED != 0
    }

    /// Have some accesses several pieces?
    #[inline]
    pub fn grouped(&self) -> bool {
        !self.first.is_empty()
    }

    /// The first piece of the access that a node is a piece of, or the node itself.
    #[inline]
    pub fn first(&self, node: u32) -> u32 {
        self.first.get(node as usize).copied().unwrap_or(node)
    }

    /// The pieces of the access that a node is one of, in order.
    #[inline]
    pub fn pieces(&self, node: u32) -> impl Iterator<Item = u32> + use<'_> {
        let first = self.first(node);
        let end = if self.first.is_empty() { first + 1 } else { (first + MOST_PIECES).max(node + 1) };
        (first..end).filter(move |&piece| piece == node || self.first.get(piece as usize) == Some(&first))
    }

    /// The readers of a write.
    #[inline]
    pub fn readers(&self, node: u32) -> &[u32] {
        let i = node as usize;
        &self.readers[self.reader_start[i] as usize..self.reader_start[i + 1] as usize]
    }

    /// Successors by program order and static extras.
    #[inline]
    pub fn succ(&self, node: u32) -> &[u32] {
        let i = node as usize;
        &self.succ[self.succ_start[i] as usize..self.succ_start[i + 1] as usize]
    }

    /// Is it the initial value of an address?
    #[inline]
    pub fn is_init(&self, node: u32) -> bool {
        (node as usize) >= self.ops && (node as usize) < self.ops + self.addrs
    }

    /// The operation behind a node.
    #[inline]
    pub fn op(&self, trace: &Trace, node: u32) -> Option<OpId> {
        ((node as usize) < self.ops).then(|| {
            let thread = self.thread(node);
            trace.thread_ops(ThreadId(thread as u32))[(node - self.thread_start[thread]) as usize]
        })
    }

    /// The node of an operation.
    pub fn node(&self, op: OpId) -> u32 {
        self.node_of[op.index()]
    }

    /// The event behind a node; collectors have none.
    pub fn event(&self, trace: &Trace, node: u32) -> Option<Event> {
        if self.is_init(node) { Some(Event::INIT) } else { self.op(trace, node).map(Event::from) }
    }

    /// The thread of an operation's node.
    #[inline]
    pub fn thread(&self, node: u32) -> usize {
        self.thread_of[node as usize] as usize
    }

    /// Fills everything in from a trace. `other` says that one read returned something else than recorded: another
    /// write, or ([`Source::NONE`]) it does not matter what.
    pub fn build(&mut self, trace: &Trace, model: &Model, other: Option<(OpId, Source)>) {
        let (n, addrs) = (trace.len(), trace.addrs());
        self.ops = n;
        self.addrs = addrs;
        self.obvious = None;
        self.extras.clear();
        self.number_nodes(trace);
        self.find_pieces(trace);
        self.ppo.build(trace, model, (n + addrs) as u32, other);
        self.nodes = self.ppo.next_node as usize;
        self.describe_nodes(trace, model, other);
        if let Some(i) = trace.final_sources().iter().position(|&source| source == Source::UNWRITTEN) {
            self.obvious.get_or_insert(Obvious::UnwrittenFinal(trace.finals[i].addr));
        }
        if let Some(op) = trace.unreserved() {
            self.obvious.get_or_insert(Obvious::Unreserved(op));
        }
        self.group_readers();
        self.partial = !model.write_order;
        if self.partial {
            self.count_data(trace);
        }
        self.observe(trace, model);
        self.finals(trace, model);
        self.given_orders(trace, model);
        self.static_extras = self.extras.len();
        self.link();
    }

    fn number_nodes(&mut self, trace: &Trace) {
        self.thread_start.clear();
        self.thread_start.push(0);
        self.thread_of.clear();
        self.node_of.clear();
        self.node_of.resize(trace.len(), 0);
        let mut node = 0;
        for t in 0..trace.threads() {
            for &op in trace.thread_ops(ThreadId(t as u32)) {
                self.node_of[op.index()] = node;
                node += 1;
            }
            self.thread_start.push(node);
            self.thread_of.resize(node as usize, t as u32);
        }
    }

    /// Pieces of which it is not known what they returned are barriers, and stand for themselves.
    fn find_pieces(&mut self, trace: &Trace) {
        self.first.clear();
        if !trace.is_grouped() {
            return;
        }
        self.first.extend(0..self.ops as u32);
        let mut last = (OpId(u32::MAX), NONE);
        for t in 0..trace.threads() {
            for &op in trace.thread_ops(ThreadId(t as u32)) {
                if trace.kind(op) == OpKind::Fence {
                    continue;
                }
                let node = self.node_of[op.index()];
                if last.0 != trace.group(op) {
                    last = (trace.group(op), node);
                }
                self.first[node as usize] = last.1;
            }
        }
    }

    fn describe_nodes(&mut self, trace: &Trace, model: &Model, other: Option<(OpId, Source)>) {
        let (n, addrs, nodes) = (self.ops, self.addrs, self.nodes);
        self.flags.clear();
        self.addr.clear();
        self.src.clear();
        for t in 0..trace.threads() {
            for &op in trace.thread_ops(ThreadId(t as u32)) {
                let kind = trace.kind(op);
                let node = self.flags.len() as u32;
                let mut flags = match (kind.writes(), model.write_order || kind.locks()) {
                    (true, true) => WRITES,
                    (true, false) => WRITES_DATA,
                    (false, _) => 0,
                };
                let source = match kind {
                    _ if other.is_some_and(|(read, _)| read == op) => other.map_or(Source::NONE, |(_, source)| source),
                    OpKind::Release if !model.lock_exclusion => Source::NONE,
                    OpKind::Store if !model.write_order => Source::NONE,
                    _ => trace.source(op),
                };
                let src = match source {
                    Source::INIT => (n + trace.addr(op).index()) as u32,
                    Source::NONE => NONE,
                    Source::UNWRITTEN => {
                        self.obvious.get_or_insert(Obvious::Unwritten(op));
                        NONE
                    }
                    source => self.node_of[source.as_op().expect("an operation").index()],
                };
                if src != NONE {
                    flags |= READS;
                    if kind == OpKind::Store {
                        flags |= HELD;
                    }
                    if kind == OpKind::Load
                        && model.store_forwarding
                        && model.write_order
                        && src < node
                        && src >= self.thread_start[t]
                        && (src as usize) < n
                    {
                        flags |= FORWARDED;
                    }
                }
                self.flags.push(flags);
                self.addr.push(if kind == OpKind::Fence { NONE } else { trace.addr(op).0 });
                self.src.push(src);
            }
        }
        self.flags.resize(n + addrs, WRITES);
        self.flags.resize(nodes, 0);
        self.addr.extend(0..addrs as u32);
        self.addr.resize(nodes, NONE);
        self.src.resize(nodes, NONE);
    }

    fn group_readers(&mut self) {
        let writes = self.ops + self.addrs;
        self.reader_start.clear();
        self.reader_start.resize(self.nodes + 1, 0);
        self.rmw_reader.clear();
        self.rmw_reader.resize(self.nodes, NONE);
        for node in 0..self.ops {
            let src = self.src[node];
            if src != NONE {
                self.reader_start[src as usize + 1] += 1;
                if self.flags[node] & WRITES != 0 {
                    self.rmw_reader[src as usize] = node as u32;
                }
            }
        }
        for i in 0..self.nodes {
            self.reader_start[i + 1] += self.reader_start[i];
        }
        self.readers.clear();
        self.readers.resize(self.reader_start[writes] as usize, 0);
        // Fill backwards so that each list comes out in node order and the starts end up right.
        let mut fill = std::mem::take(&mut self.per_addr2);
        fill.clear();
        fill.extend_from_slice(&self.reader_start);
        for node in 0..self.ops {
            let src = self.src[node];
            if src != NONE {
                let at = &mut fill[src as usize];
                self.readers[*at as usize] = node as u32;
                *at += 1;
            }
        }
        self.per_addr2 = fill;
    }

    /// Counts the accesses that [`crate::location`] has to look at.
    fn count_data(&mut self, trace: &Trace) {
        for column in [&mut self.data_writes, &mut self.data_reads] {
            column.clear();
            column.resize(self.addrs, 0);
        }
        for node in 0..self.ops {
            if let Some(x) = (self.addr[node] != NONE).then_some(self.addr[node] as usize) {
                self.data_writes[x] += (self.flags[node] & WRITES_DATA != 0) as u32;
                self.data_reads[x] += (self.flags[node] & READS != 0) as u32;
            }
        }
        self.finals.clear();
        self.finals.extend(trace.finals.iter().zip(trace.final_sources()).map(|(end, source)| {
            let init = (self.ops + end.addr.index()) as u32;
            (end.addr.0, source.as_op().map_or(init, |op| self.node_of[op.index()]))
        }));
    }

    /// R5, and R6 inside one thread.
    fn observe(&mut self, trace: &Trace, model: &Model) {
        if !model.write_order {
            return; // a release and its acquire have nothing between them in their thread
        }
        // Where two loads of one write pass each other, nothing is seen.
        let loads_ordered = model.ppo.entry(Kind::Load, Kind::Load).coherent();
        // Per address: the write that this thread last saw, and through which node it saw it.
        let mut seen = std::mem::take(&mut self.per_addr);
        let mut through = std::mem::take(&mut self.per_addr2);
        for column in [&mut seen, &mut through] {
            column.clear();
            column.resize(self.addrs, NONE);
        }
        for t in 0..self.thread_start.len() - 1 {
            for node in self.thread_start[t]..self.thread_start[t + 1] {
                let x = self.addr[node as usize];
                if x == NONE {
                    continue;
                }
                // A store that a reservation makes follow another one has seen nothing itself.
                let held = self.flags[node as usize] & HELD != 0;
                let (src, x) = (if held { NONE } else { self.src[node as usize] }, x as usize);
                if seen[x] == NONE {
                    self.touched.push(x as u32);
                }
                if src != NONE {
                    let last = seen[x];
                    // A read-modify-write whose write was seen before it came: the cycle of reads-from shows that.
                    if last != NONE && last != src && last != node {
                        let own = through[x] == last;
                        if own && !model.store_forwarding {
                            // Only the path, if there is one, says that the load comes after the store.
                        } else if self.is_init(src) {
                            let ops = [last, through[x], node].iter().filter_map(|&v| self.op(trace, v)).collect();
                            self.obvious.get_or_insert(Obvious::Core(ops));
                        } else if !self.is_init(last) {
                            let why = if own { Why::OwnStore(node) } else { Why::SeenBefore(through[x], node) };
                            self.extras.push(Extra::new(last, src, why));
                        }
                    }
                    if loads_ordered && (last != src || last == NONE) {
                        seen[x] = src;
                        through[x] = node;
                    }
                }
                if self.flags[node as usize] & WRITES != 0 {
                    seen[x] = node;
                    through[x] = node;
                }
            }
            for x in self.touched.drain(..) {
                seen[x as usize] = NONE;
            }
        }
        self.per_addr = seen;
        self.per_addr2 = through;
    }

    fn finals(&mut self, trace: &Trace, model: &Model) {
        if trace.finals.is_empty() || !model.write_order {
            return;
        }
        // Per address: the write after which nothing comes.
        let mut last = vec![NONE; self.addrs];
        for (end, source) in trace.finals.iter().zip(trace.final_sources()) {
            last[end.addr.index()] = match source.as_op() {
                Some(op) => self.node_of[op.index()],
                None => (self.ops + end.addr.index()) as u32,
            };
        }
        for node in 0..self.ops as u32 {
            let x = self.addr[node as usize];
            if x == NONE || !self.writes(node) {
                continue;
            }
            let to = last[x as usize];
            if to == NONE || to == node {
                continue;
            }
            if self.is_init(to) {
                self.obvious.get_or_insert(Obvious::Core(vec![self.op(trace, node).expect("a write")]));
            } else {
                self.extras.push(Extra::new(node, to, Why::Final));
            }
        }
    }

    fn given_orders(&mut self, trace: &Trace, model: &Model) {
        for ops in trace.order_ops() {
            for pair in ops.windows(2) {
                let [from, to] = [0, 1].map(|i| self.node_of[pair[i].index()]);
                self.extras.push(Extra::new(from, to, Why::WriteOrder));
            }
        }
        if !model.write_order || self.grouped() {
            self.conflict = false;
            return;
        }
        let mut given = vec![0u32; self.addrs];
        for order in &trace.orders {
            given[order.addr.index()] = u32::MAX;
        }
        self.conflict = (0..self.ops).all(|node| {
            let x = self.addr[node];
            if x == NONE || self.flags[node] & WRITES == 0 || given[x as usize] == u32::MAX {
                return true;
            }
            given[x as usize] += 1;
            given[x as usize] < 2
        });
    }

    /// Program order and static extras as successor lists.
    fn link(&mut self) {
        let edges = self.ppo.edges.iter().copied().chain(self.extras.iter().map(|extra| (extra.from, extra.to)));
        self.succ_start.clear();
        self.succ_start.resize(self.nodes + 1, 0);
        self.indegree.clear();
        self.indegree.resize(self.nodes, 0);
        for (from, to) in edges.clone() {
            self.succ_start[from as usize + 1] += 1;
            self.indegree[to as usize] += 1;
        }
        for i in 0..self.nodes {
            self.succ_start[i + 1] += self.succ_start[i];
        }
        self.succ.clear();
        self.succ.resize(self.succ_start[self.nodes] as usize, 0);
        let mut fill = std::mem::take(&mut self.per_addr2);
        fill.clear();
        fill.extend_from_slice(&self.succ_start);
        for (from, to) in edges {
            let at = &mut fill[from as usize];
            self.succ[*at as usize] = to;
            *at += 1;
        }
        self.per_addr2 = fill;
    }
}

/// The rule that orders this pair of operations: the model's, if they are of one thread and `earlier` is first in program
/// order, or time.
pub(crate) fn pair_rule(trace: &Trace, model: &Model, earlier: OpId, later: OpId) -> Option<Rule> {
    let in_order = trace.thread(earlier) == trace.thread(later) && trace.po(earlier) < trace.po(later);
    if in_order && let Some(rule) = program_order(trace, model, earlier, later) {
        return Some(rule);
    }
    let comparable = in_order || trace.compare() == Compare::Everything;
    let done = model.done_at_end(trace.kind(earlier));
    (comparable && done && trace.ended_before(earlier, later)).then_some(Rule::Time)
}

/// The rule by which the model keeps the program order of this pair of one thread.
fn program_order(trace: &Trace, model: &Model, earlier: OpId, later: OpId) -> Option<Rule> {
    let (a, b) = (trace.op(earlier), trace.op(later));
    let same = a.addr == b.addr;
    let guarded = || trace.guards(a.addr, b.addr) || trace.guards(b.addr, a.addr);
    let one_session = || match (a.kind, b.kind) {
        (OpKind::Acquire, _) => trace.in_session(earlier, later),
        (_, OpKind::Release) => trace.in_session(later, earlier),
        _ => trace.one_session(earlier, later),
    };
    let kept = |when: When| {
        when.always
            || (when.same_address && same)
            || (when.time && trace.ended_before(earlier, later))
            || (when.same_session && one_session())
            || (when.guarded && guarded())
    };
    for e in a.kind.kinds().iter() {
        for l in b.kind.kinds().iter() {
            if kept(model.ppo.entry(e, l)) {
                return Some(match (e, l) {
                    _ if e.locks() || l.locks() => Rule::Lock,
                    (Kind::Load, _) => Rule::LoadOp,
                    (_, Kind::Store) => Rule::StoreStore,
                    _ => Rule::StoreLoad,
                });
            }
        }
    }
    for e in a.kind.kinds().iter() {
        for l in b.kind.kinds().iter() {
            let mut also = model.ppo.entry(e, l).also.iter();
            if let Some(rule) = also.find_map(|condition| kept::rule(trace, condition, earlier, later)) {
                return Some(rule);
            }
        }
    }
    let between = &trace.thread_ops(a.thread)[trace.po(earlier) as usize + 1..trace.po(later) as usize];
    between.iter().copied().filter(|&op| trace.kind(op) == OpKind::Fence).find_map(|fence| {
        let rows = trace.mask(fence).unwrap_or(model.sync).rows();
        let crosses = a.kind.kinds().iter().any(|e| rows[e as usize].meets(b.kind.kinds()));
        crosses.then_some(Rule::Membar { fence })
    })
}
