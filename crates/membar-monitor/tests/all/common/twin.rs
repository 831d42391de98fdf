//! The four monitors straight from the papers: explicit queues, sets of events, transitive closures.

use membar_monitor::{Event, Op};

/// Which earlier events happen before each event, as bits. `rhb` leaves out store to load program order; `fixed` also the
/// order that a load takes from writes if it reads its own thread's store.
struct Order {
    before: Vec<u64>,
}

/// An event of a monitored trace after the translation into what the papers know.
#[derive(Clone, Copy, Debug)]
struct Plain {
    thread: u32,
    kind: Kind,
    addr: Option<u32>,
    /// Index of the event that it comes from.
    of: usize,
    /// Events that it takes order from besides: the start of its thread,
    start: Option<usize>,
    /// the end of the thread it joins.
    joined: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Load,
    Store,
    Interlocked,
    /// Program order only, kept in full.
    Fence,
    /// Reads what nobody writes: joins, where `after` has the order.
    Private,
}

impl Kind {
    fn writes(self) -> bool {
        matches!(self, Kind::Store | Kind::Interlocked)
    }

    fn reads(self) -> bool {
        self != Kind::Store
    }
}

/// Fences as interlocked operations on private locations, failed interlocked operations as fence and load, starts as fences
/// and joins as a fence of the child and a read.
fn translate(events: &[Event]) -> Vec<Plain> {
    let mut all: Vec<Plain> = Vec::new();
    let mut started: Vec<Option<usize>> = vec![None; 16];
    for (of, event) in events.iter().enumerate() {
        let thread = event.thread;
        let mut push = |thread: u32, kind, addr, after| {
            let start = started[thread as usize];
            all.push(Plain { thread, kind, addr, of, start, joined: after });
            all.len() - 1
        };
        const NO: Option<usize> = None;
        match event.op {
            Op::Load { addr } => drop(push(thread, Kind::Load, Some(addr), NO)),
            Op::Store { addr } => drop(push(thread, Kind::Store, Some(addr), NO)),
            Op::Interlocked { addr, writes: true } => drop(push(thread, Kind::Interlocked, Some(addr), NO)),
            Op::Interlocked { addr, writes: false } => {
                push(thread, Kind::Fence, None, NO);
                push(thread, Kind::Load, Some(addr), NO);
            }
            Op::Fence => drop(push(thread, Kind::Fence, None, NO)),
            Op::StoreBarrier => {}
            Op::Start { child } => {
                let fence = push(thread, Kind::Fence, None, NO);
                started[child as usize] = Some(fence);
            }
            Op::Join { child } => {
                let end = push(child, Kind::Fence, None, NO);
                push(thread, Kind::Private, None, Some(end));
            }
        }
    }
    all
}

fn order(events: &[Plain], relaxed: bool, fixed: bool) -> Order {
    let mut before: Vec<u64> = Vec::new();
    for (j, later) in events.iter().enumerate() {
        let source =
            (0..j).rev().find(|&i| events[i].addr == later.addr && later.addr.is_some() && events[i].kind.writes());
        let own = source.is_some_and(|i| events[i].thread == later.thread && events[i].kind == Kind::Store);
        let mut set = 0u64;
        for (i, earlier) in events[..j].iter().enumerate() {
            let program = earlier.thread == later.thread;
            let conflict =
                earlier.addr.is_some() && earlier.addr == later.addr && (earlier.kind.writes() || later.kind.writes());
            let mut edge = program || conflict || later.start == Some(i) || later.joined == Some(i);
            if relaxed && program && earlier.kind == Kind::Store && matches!(later.kind, Kind::Load | Kind::Private) {
                edge = false;
            }
            // The standard definition: a load takes order from the write it reads, if that is not its own thread's.
            if relaxed && fixed && !program && conflict && later.kind == Kind::Load {
                edge = !own && source == Some(i);
            }
            if edge {
                set |= before[i] | 1 << i;
            }
        }
        before.push(set);
    }
    Order { before }
}

impl Order {
    /// Reflexive.
    fn reaches(&self, from: usize, to: usize) -> bool {
        from == to || self.before[to] >> from & 1 == 1
    }
}

/// Figure 2 of SOBER.
pub fn sober(events: &[Event], fixed: bool) -> Vec<(usize, usize)> {
    let plain = translate(events);
    let (hb, rhb) = (order(&plain, false, false), order(&plain, true, fixed));
    let mut reports = Vec::new();
    for (k, e) in plain.iter().enumerate() {
        if e.kind != Kind::Load {
            continue;
        }
        let writes: Vec<usize> = (0..k).filter(|&w| plain[w].kind.writes() && plain[w].addr == e.addr).collect();
        let started = e.start;
        let last = (0..k).rev().find(|&i| plain[i].thread == e.thread).or(started);
        let last_r = (0..k).rev().find(|&i| plain[i].thread == e.thread && plain[i].kind.reads()).or(started);
        let mut c = writes.len();
        while c > 0 {
            let write = writes[c - 1];
            if plain[write].thread == e.thread {
                break;
            }
            if last_r.is_some_and(|last_r| rhb.reaches(write, last_r)) {
                break;
            }
            if last.is_some_and(|last| hb.reaches(write, last)) {
                reports.push((plain[write].of, e.of));
                break;
            }
            c -= 1;
        }
    }
    reports
}

/// Happens-before on the events as they are.
fn happens_before(events: &[Event]) -> (Order, Vec<Option<usize>>) {
    let mut before: Vec<u64> = Vec::new();
    let mut started: Vec<Option<usize>> = vec![None; 16];
    let mut prevs = Vec::new();
    for (j, later) in events.iter().enumerate() {
        let mut set = 0u64;
        for (i, earlier) in events[..j].iter().enumerate() {
            let conflict = earlier.op.addr().is_some()
                && earlier.op.addr() == later.op.addr()
                && (earlier.op.writes() || later.op.writes());
            let joined = later.op == Op::Join { child: earlier.thread };
            let start = started[later.thread as usize] == Some(i);
            if earlier.thread == later.thread || conflict || joined || start {
                set |= before[i] | 1 << i;
            }
        }
        // A child that did nothing still passes on what its parent did.
        if let Op::Join { child } = later.op
            && let Some(start) = started[child as usize]
        {
            set |= before[start] | 1 << start;
        }
        before.push(set);
        let own = (0..j).rev().find(|&i| events[i].thread == later.thread);
        prevs.push(own.or(started[later.thread as usize]));
        if let Op::Start { child } = later.op {
            started[child as usize] = Some(j);
        }
    }
    (Order { before }, prevs)
}

/// Figures 4 and 5 of the report.
pub fn burnim(events: &[Event], pso: bool) -> Vec<(usize, usize)> {
    let (hb, prevs) = happens_before(events);
    let mut buffers: Vec<Vec<usize>> = vec![Vec::new(); 16];
    // Store-store barriers of the thread before each store.
    let mut barriers = [0; 16];
    let mut level = vec![0; events.len()];
    let mut reports = Vec::new();
    // Commits a store, and first what has to be committed before it.
    let commit = |buffer: &mut Vec<usize>, store: usize, level: &[i32]| {
        if pso {
            let addr = events[store].op.addr();
            buffer.retain(|&other| {
                let first = other <= store && (events[other].op.addr() == addr || level[other] < level[store]);
                // These have to go before those: all of a lower level than any of them, which is lower than this one.
                !first
            });
        } else {
            buffer.retain(|&other| other > store);
        }
    };
    for (i, e) in events.iter().enumerate() {
        let p = e.thread as usize;
        if let Some(addr) = e.op.addr() {
            for q in (0..16).filter(|&q| q != p) {
                let pending = buffers[q].iter().rev().copied().find(|&store| events[store].op.addr() == Some(addr));
                let Some(store) = pending else { continue };
                if prevs[i].is_some_and(|prev| hb.reaches(store, prev)) {
                    reports.push((store, i));
                }
                commit(&mut buffers[q], store, &level);
            }
        }
        match e.op {
            Op::Store { .. } => {
                level[i] = barriers[p];
                buffers[p].push(i);
            }
            Op::Interlocked { addr, .. } => {
                if pso {
                    let own: Vec<usize> = buffers[p].clone();
                    for store in own {
                        if events[store].op.addr() == Some(addr) || level[store] < barriers[p] {
                            commit(&mut buffers[p], store, &level);
                        }
                    }
                } else {
                    buffers[p].clear();
                }
            }
            Op::Fence | Op::Start { .. } => buffers[p].clear(),
            Op::Join { child } => buffers[child as usize].clear(),
            Op::StoreBarrier => barriers[p] += 1,
            Op::Load { .. } => {}
        }
    }
    reports
}

/// tso, pso, sober, sober-fixed
pub fn all_reports(events: &[Event]) -> [Vec<(usize, usize)>; 4] {
    [burnim(events, false), burnim(events, true), sober(events, false), sober(events, true)]
}
