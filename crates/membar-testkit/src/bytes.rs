//! Programs whose accesses have bytes in common, run in every way on a machine whose store buffers hold bytes: slow and obvious.
//!
//! A store goes into its thread's buffer as a whole. A load takes each byte from the newest store in the buffer that has it, else from
//! memory. Under TSO stores leave the buffer in order; under PSO one may leave before older ones that it has no byte in
//! common with and no store barrier stands behind. An interlocked operation waits for all stores (TSO), or for those with bytes in common and
//! those behind a store barrier (PSO); a full barrier for all.

use membar_core::{Access, AccessKind, Barrier, C11, Performed, Relaxation};

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
        Access { kind: self.kind, barrier: self.barrier, c11: C11::default(), part, addr: 0, site, expected: None }
    }
}

/// An event: a thread, and its place there.
type Event = (usize, usize);

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
    let start = State {
        next: vec![0; threads.len()],
        buffers: vec![Vec::new(); threads.len()],
        barriers: vec![0; threads.len()],
        order: vec![Vec::new(); WORD],
        reads: Vec::new(),
    };
    explore(threads, machine, start)
}

fn explore(threads: &[Vec<Piece>], machine: Relaxation, state: State) -> bool {
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
            if explore(threads, machine, after) {
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
        if piece.kind.reads() {
            for byte in piece.bytes() {
                let own = state.buffers[t].iter().rev().find(|(store, _)| threads[t][*store].bytes().contains(&byte));
                let source = own.map(|&(store, _)| (t, store)).or(state.order[byte].last().copied());
                after.reads.push(((t, at), byte, source));
            }
        }
        match piece.kind {
            AccessKind::Load => {}
            AccessKind::Store => after.buffers[t].push((at, barriers)),
            AccessKind::Rmw => piece.bytes().for_each(|byte| after.order[byte].push((t, at))),
        }
        if explore(threads, machine, after) {
            return true;
        }
    }
    ended && is_cyclic(threads, &state)
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
            let access = piece.access((t * 16 + next[t]) as u32);
            let writes = access.kind.may_write();
            steps.push(Performed { thread: t as u32, access, writes, old: 0, new: 0 });
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
