//! Random interleavings, all interleavings of small programs, and the monitors in slow motion.
#![allow(dead_code)]

pub mod twin;

use membar_monitor::{Event, Monitor, NO_SITE, Op, Pso, Recorded, Rule, Sober, Tso};
use membar_simulate::Rng;

pub fn event(at: usize, thread: u32, op: Op) -> Event {
    Event { thread, op, site: NO_SITE, at: at as u64 }
}

pub fn ld(addr: u32) -> Op {
    Op::Load { addr }
}

pub fn st(addr: u32) -> Op {
    Op::Store { addr }
}

pub fn il(addr: u32) -> Op {
    Op::Interlocked { addr, writes: true }
}

/// Values for an interleaving: every write has its own.
pub fn recorded(events: &[Event]) -> Vec<Recorded> {
    let mut memory = [0; 16];
    let mut recorded = Vec::new();
    for (i, &event) in events.iter().enumerate() {
        let Some(addr) = event.op.addr() else {
            recorded.push(Recorded { event, read: 0, write: 0 });
            continue;
        };
        let cell = &mut memory[addr as usize];
        let read = if event.op.reads() { *cell } else { 0 };
        let write = if event.op.writes() { i as u64 + 1 } else { 0 };
        if event.op.writes() {
            *cell = write;
        }
        recorded.push(Recorded { event, read, write });
    }
    recorded
}

/// A random interleaving with all kinds of events; threads may be started and joined.
pub fn random(seed: u64) -> Vec<Event> {
    let mut rng = Rng::new(seed);
    let threads = rng.between(2, 4);
    let addrs = rng.between(1, 3).max(rng.between(1, 3));
    let length = rng.between(4, 14) as usize;
    // Plain accesses only in part of the cases: each barrier makes violations rarer.
    let plain = rng.chance(1, 2);
    let spawning = rng.chance(1, 3);
    let mut running: Vec<u32> = if spawning { vec![0] } else { (0..threads).collect() };
    let mut next = if spawning { 1 } else { threads };
    let mut events = Vec::new();
    while events.len() < length {
        // A thread continues more often than not: that is what delays stores past what others see.
        let last = events.last().map(|event: &Event| event.thread).filter(|last| running.contains(last));
        let thread = last.filter(|_| rng.chance(1, 2)).unwrap_or_else(|| *rng.pick(&running).unwrap());
        let addr = rng.below(addrs);
        let op = match rng.below(if plain { 7 } else { 12 }) {
            0..3 => Op::Load { addr },
            3..7 => Op::Store { addr },
            7 | 8 => Op::Interlocked { addr, writes: true },
            9 => Op::Interlocked { addr, writes: false },
            10 => Op::Fence,
            _ => Op::StoreBarrier,
        };
        let op = if spawning && next < threads && rng.chance(1, 3) {
            running.push(next);
            next += 1;
            Op::Start { child: next - 1 }
        } else if running.len() > 1 && rng.chance(1, 12) {
            let others: Vec<u32> = running.iter().copied().filter(|&other| other != thread).collect();
            let child = *rng.pick(&others).unwrap();
            running.retain(|&other| other != child);
            Op::Join { child }
        } else {
            op
        };
        events.push(event(events.len(), thread, op));
    }
    events
}

/// The reports of a monitor, as (store, access).
pub fn reports<R: Rule>(rule: R, events: &[Event]) -> Vec<(usize, usize)> {
    let mut monitor = Monitor::new(rule);
    events
        .iter()
        .filter_map(|event| monitor.event(event))
        .map(|violation| (violation.store.at as usize, violation.access.at as usize))
        .collect()
}

/// tso, pso, sober, sober-fixed
pub fn all_reports(events: &[Event]) -> [Vec<(usize, usize)>; 4] {
    [
        reports(Tso::default(), events),
        reports(Pso::default(), events),
        reports(Sober::published(), events),
        reports(Sober::fixed(), events),
    ]
}

/// A program: what a thread does next, given how many events it has had and what its reads have returned; and the value that
/// is written.
pub type Program<'a> = &'a dyn Fn(u32, usize, &[u64]) -> Option<(Op, u64)>;

/// All SC interleavings of a program of this many threads.
pub fn interleavings(threads: u32, program: Program<'_>) -> Vec<Vec<Event>> {
    let mut all = Vec::new();
    let mut state = Vec::new();
    let mut run = Run { threads, program, all: &mut all };
    run.extend(&mut state, [0; 16], vec![(0, Vec::new()); threads as usize]);
    all
}

struct Run<'a> {
    threads: u32,
    program: Program<'a>,
    all: &'a mut Vec<Vec<Event>>,
}

impl Run<'_> {
    fn extend(&mut self, events: &mut Vec<Event>, memory: [u64; 16], done: Vec<(usize, Vec<u64>)>) {
        let mut ended = true;
        for thread in 0..self.threads {
            let (count, reads) = &done[thread as usize];
            let Some((op, value)) = (self.program)(thread, *count, reads) else { continue };
            ended = false;
            let (mut memory, mut done) = (memory, done.clone());
            let (count, reads) = &mut done[thread as usize];
            *count += 1;
            if let Some(addr) = op.addr() {
                if op.reads() {
                    reads.push(memory[addr as usize]);
                }
                if op.writes() {
                    memory[addr as usize] = value;
                }
            }
            events.push(event(events.len(), thread, op));
            self.extend(events, memory, done);
            events.pop();
        }
        if ended {
            self.all.push(events.clone());
        }
    }
}
