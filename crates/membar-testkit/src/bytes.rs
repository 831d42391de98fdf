//! Programs whose accesses have bytes in common, run in every way on a machine whose store buffers hold bytes: slow and obvious.
//!
//! A store goes into its thread's buffer as a whole. A load takes each byte from the newest store in the buffer that has it, else from
//! memory. Under TSO stores leave the buffer in order; under PSO one may leave before older ones that it has no byte in
//! common with and no store barrier stands behind. An interlocked operation waits for all stores (TSO), or for those with bytes in common and
//! those behind a store barrier (PSO); a full barrier for all. A compare-and-swap writes if every byte is from the write that it expects.
//!
//! Each write has its own value in all of its bytes ([`Event`]), so that values say what they came from.

use membar_core::{Access, AccessKind, Barrier, C11, Halt, Performed, Relaxation, Threads};
use std::collections::BTreeMap;

/// An access to some bytes of the only word there is: the first, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The effect.
    pub kind: AccessKind,
    /// The barrier before it.
    pub barrier: Barrier,
    /// The first byte.
    pub from: u8,
    /// How many bytes.
    pub len: u8,
    /// If it compares and swaps: the write that all of its bytes have to be from, or the initial value.
    pub expects: Option<Option<Event>>,
}

impl Piece {
    fn bytes(&self) -> std::ops::Range<usize> {
        usize::from(self.from)..usize::from(self.from + self.len)
    }

    fn overlaps(&self, other: &Piece) -> bool {
        self.bytes().any(|byte| other.bytes().contains(&byte))
    }

    /// The same for a monitor, at the instruction with this number. The word has more bytes than any access.
    pub fn access(&self, site: u32) -> Access {
        let part = self.from << 4 | self.len;
        let expected = self.expects.map(|expects| self.value(expects));
        Access { kind: self.kind, barrier: self.barrier, c11: C11::default(), part, addr: 0, site, expected }
    }

    /// The value of its bytes if they are all from this write.
    fn value(&self, write: Option<Event>) -> u64 {
        let byte = write.map_or(0, |(thread, at)| (16 * thread + at + 1) as u64);
        (0..self.len).fold(0, |value, _| value << 8 | byte)
    }

    fn writes(&self, found: impl IntoIterator<Item = Option<Event>>) -> bool {
        let expected = |found: Option<Event>| self.expects.is_none_or(|expects| expects == found);
        self.kind.may_write() && found.into_iter().all(expected)
    }
}

/// An event: a thread, and its place there.
pub type Event = (usize, usize);

/// The threads for somebody who acts as memory.
#[derive(Debug)]
pub struct Pieces<'a> {
    threads: &'a [Vec<Piece>],
    next: Vec<usize>,
    memory: u64,
}

impl<'a> Pieces<'a> {
    /// At the beginning.
    pub fn new(threads: &'a [Vec<Piece>]) -> Pieces<'a> {
        Pieces { threads, next: vec![0; threads.len()], memory: 0 }
    }
}

impl Threads for Pieces<'_> {
    fn threads(&self) -> usize {
        self.threads.len()
    }

    fn next(&mut self, thread: usize) -> Result<Access, Halt> {
        let at = self.next[thread];
        self.threads[thread].get(at).map(|piece| piece.access(site((thread, at)))).ok_or(Halt::Ended)
    }

    fn perform(&mut self, thread: usize, read: u64) -> Option<u64> {
        let at = self.next[thread];
        self.next[thread] += 1;
        let piece = &self.threads[thread][at];
        let access = piece.access(0);
        access.writes_on(read).then(|| access.put_part(read, piece.value(Some((thread, at)))))
    }

    fn value(&mut self, _: u32) -> u64 {
        self.memory
    }

    fn set(&mut self, _: u32, value: u64) {
        self.memory = value;
    }
}

fn site((thread, at): Event) -> u32 {
    (thread * 16 + at) as u32
}

/// A state of the machine, and how it came to be.
#[derive(Clone)]
struct State {
    next: Vec<usize>,
    /// Stores that have not reached memory, the oldest first, with the number of store barriers before them.
    buffers: Vec<Vec<(usize, u32)>>,
    barriers: Vec<u32>,
    /// The writes of each byte in the order in which they reached memory.
    order: Vec<Vec<Event>>,
    /// Of each read the byte and the write that it came from.
    reads: Vec<(Event, usize, Option<Event>)>,
}

const WORD: usize = 16;

/// Whether the machine has an execution of these threads that is not sequentially consistent.
pub fn is_relaxed(threads: &[Vec<Piece>], machine: Relaxation) -> bool {
    explore(threads, machine, start(threads), &mut |state| is_cyclic(threads, state))
}

/// The end of an execution: the values that accesses have read, and what the word holds.
pub type End = (BTreeMap<Event, u128>, u128);

/// How executions of these threads on the machine end, and whether one that is sequentially consistent and one that is not end like this.
pub fn ends(threads: &[Vec<Piece>], machine: Relaxation) -> BTreeMap<End, (bool, bool)> {
    let mut ends: BTreeMap<End, (bool, bool)> = BTreeMap::new();
    explore(threads, machine, start(threads), &mut |state| {
        let byte = |source: Option<Event>| source.map_or(0, |(thread, at)| (16 * thread + at + 1) as u128);
        let mut reads = BTreeMap::new();
        for &((thread, at), place, source) in &state.reads {
            let from = usize::from(threads[thread][at].from);
            *reads.entry((thread, at)).or_insert(0) |= byte(source) << (8 * (place - from));
        }
        let bytes = state.order.iter().enumerate();
        let memory = bytes.fold(0, |word, (place, order)| word | byte(order.last().copied()) << (8 * place));
        let kinds = ends.entry((reads, memory)).or_default();
        if is_cyclic(threads, state) {
            kinds.1 = true
        } else {
            kinds.0 = true
        }
        false
    });
    ends
}

fn start(threads: &[Vec<Piece>]) -> State {
    State {
        next: vec![0; threads.len()],
        buffers: vec![Vec::new(); threads.len()],
        barriers: vec![0; threads.len()],
        order: vec![Vec::new(); WORD],
        reads: Vec::new(),
    }
}

/// Shows every end of the machine to `look`, until it says that it has seen enough.
fn explore(threads: &[Vec<Piece>], machine: Relaxation, state: State, look: &mut impl FnMut(&State) -> bool) -> bool {
    let mut ended = true;
    for t in 0..threads.len() {
        for place in 0..state.buffers[t].len() {
            let (store, barriers) = state.buffers[t][place];
            let older = &state.buffers[t][..place];
            let waits = |&(other, before): &(usize, u32)| {
                machine == Relaxation::Tso || before < barriers || threads[t][other].overlaps(&threads[t][store])
            };
            if older.iter().any(waits) {
                continue;
            }
            ended = false;
            let mut after = state.clone();
            after.buffers[t].remove(place);
            threads[t][store].bytes().for_each(|byte| after.order[byte].push((t, store)));
            if explore(threads, machine, after, look) {
                return true;
            }
        }
        let at = state.next[t];
        let Some(piece) = threads[t].get(at) else { continue };
        ended = false;
        let barriers = state.barriers[t] + u32::from(piece.barrier != Barrier::None);
        let waits = |&(store, before): &(usize, u32)| {
            piece.barrier == Barrier::Full
                || piece.kind == AccessKind::Rmw
                    && (machine == Relaxation::Tso || before < barriers || threads[t][store].overlaps(piece))
        };
        if state.buffers[t].iter().any(waits) {
            continue;
        }
        let mut after = state.clone();
        after.next[t] += 1;
        after.barriers[t] = barriers;
        let mut found = Vec::new();
        if piece.kind.reads() {
            for byte in piece.bytes() {
                let own = state.buffers[t].iter().rev().find(|(store, _)| threads[t][*store].bytes().contains(&byte));
                let source = own.map(|&(store, _)| (t, store)).or(state.order[byte].last().copied());
                after.reads.push(((t, at), byte, source));
                found.push(source);
            }
        }
        match piece.kind {
            AccessKind::Load => {}
            AccessKind::Store => after.buffers[t].push((at, barriers)),
            AccessKind::Rmw if piece.writes(found) => {
                piece.bytes().for_each(|byte| after.order[byte].push((t, at)));
            }
            AccessKind::Rmw => {}
        }
        if explore(threads, machine, after, look) {
            return true;
        }
    }
    ended && look(&state)
}

/// Whether happens-before is cyclic.
fn is_cyclic(threads: &[Vec<Piece>], state: &State) -> bool {
    let mut edges: Vec<(Event, Event)> = Vec::new();
    for (t, thread) in threads.iter().enumerate() {
        edges.extend((1..thread.len()).map(|at| ((t, at - 1), (t, at))));
    }
    for order in &state.order {
        edges.extend(order.windows(2).map(|pair| (pair[0], pair[1])));
    }
    for &(read, byte, source) in &state.reads {
        edges.extend(source.map(|source| (source, read)));
        let order = &state.order[byte];
        let next = source.map_or(0, |source| order.iter().position(|&write| write == source).expect("written") + 1);
        edges.extend(order.get(next).filter(|&&write| write != read).map(|&write| (read, write)));
    }
    // Events without a predecessor are removed until none is left.
    loop {
        let blocked = |event: Event| edges.iter().any(|&(_, to)| to == event);
        let before = edges.len();
        let kept: Vec<_> = edges.iter().copied().filter(|&(from, _)| blocked(from)).collect();
        if kept.is_empty() {
            return false;
        }
        if kept.len() == before {
            return true;
        }
        edges = kept;
    }
}

/// Shows every SC execution of these threads to `look`, step by step, until it says that it has seen enough.
pub fn interleavings(threads: &[Vec<Piece>], mut look: impl FnMut(&[Performed]) -> bool) {
    fn extend(
        threads: &[Vec<Piece>],
        next: &mut [usize],
        steps: &mut Vec<Performed>,
        look: &mut impl FnMut(&[Performed]) -> bool,
    ) -> bool {
        let mut ended = true;
        for t in 0..threads.len() {
            let Some(piece) = threads[t].get(next[t]) else { continue };
            ended = false;
            let access = piece.access(site((t, next[t])));
            let old = steps.last().map_or(0, |step| step.new);
            let writes = access.writes_on(old);
            let new = if writes { access.put_part(old, piece.value(Some((t, next[t])))) } else { old };
            steps.push(Performed { thread: t as u32, access, writes, old, new });
            next[t] += 1;
            let enough = extend(threads, next, steps, look);
            next[t] -= 1;
            steps.pop();
            if enough {
                return true;
            }
        }
        ended && look(steps)
    }
    extend(threads, &mut vec![0; threads.len()], &mut Vec::new(), &mut look);
}
