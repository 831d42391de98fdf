//! Every witness is a run of the machine that is not SC, says a machine that shares nothing with the one that wrote it; and
//! cycles are cycles.

use crate::common;

use common::{random, recorded};
use membar_core::Relation;
use membar_core::Relaxation;
use membar_monitor::{Monitor, Op, Pso, Recorded, Rule, Tso, Violation, Window, WitnessStep, witness};
use std::collections::BTreeMap;

/// One store buffer entry: address, value, index of the event, barriers before it.
type Entry = (u32, u64, usize, u32);

/// Replays the steps; every one must be possible. Returns for each event of `events` (those up to the access) the index of
/// the write that it read from, and the commit order of each address.
struct Replayed {
    source: BTreeMap<usize, Option<usize>>,
    co: BTreeMap<u32, Vec<usize>>,
}

fn replay(model: Relaxation, events: &[Recorded], steps: &[WitnessStep]) -> Replayed {
    let mut memory: BTreeMap<u32, (u64, Option<usize>)> = BTreeMap::new();
    let mut buffers: Vec<Vec<Entry>> = vec![Vec::new(); 8];
    let mut barriers = [0u32; 8];
    let mut next = [0usize; 8];
    let mut replayed = Replayed { source: BTreeMap::new(), co: BTreeMap::new() };
    // The events of a thread, in order.
    let of = |thread: u32| -> Vec<usize> { (0..events.len()).filter(|&i| events[i].event.thread == thread).collect() };
    for step in steps {
        let mut issue = |thread: u32, op: &dyn Fn(Op) -> bool| {
            let i = of(thread)[next[thread as usize]];
            next[thread as usize] += 1;
            assert!(op(events[i].event.op), "{step:?} is not the next of its thread: {:?}", events[i]);
            i
        };
        let read = |memory: &BTreeMap<u32, (u64, Option<usize>)>, addr| memory.get(&addr).copied().unwrap_or((0, None));
        match *step {
            WitnessStep::Issue { thread, addr, value, .. } => {
                let i = issue(thread, &|op| op == Op::Store { addr });
                assert_eq!(events[i].write, value);
                buffers[thread as usize].push((addr, value, i, barriers[thread as usize]));
            }
            WitnessStep::Commit { thread, addr, value, .. } => {
                let buffer = &mut buffers[thread as usize];
                let k = match model {
                    Relaxation::Tso => 0,
                    Relaxation::Pso => buffer.iter().position(|entry| entry.0 == addr).expect("something to commit"),
                };
                let entry = buffer.remove(k);
                assert_eq!((entry.0, entry.1), (addr, value));
                assert!(buffer.iter().all(|other| model == Relaxation::Tso || other.3 >= entry.3), "across a barrier");
                memory.insert(addr, (value, Some(entry.2)));
                replayed.co.entry(addr).or_default().push(entry.2);
            }
            WitnessStep::Load { thread, addr, value, .. } => {
                let i = issue(thread, &|op| op == Op::Load { addr });
                let own = buffers[thread as usize].iter().rev().find(|entry| entry.0 == addr);
                let (returned, source) = own.map_or(read(&memory, addr), |entry| (entry.1, Some(entry.2)));
                assert_eq!(returned, value);
                replayed.source.insert(i, source);
            }
            WitnessStep::Interlocked { thread, addr, read: value, .. } => {
                let i = issue(thread, &|op| matches!(op, Op::Interlocked { addr: other, .. } if other == addr));
                let waiting =
                    |entry: &Entry| model == Relaxation::Tso || entry.0 == addr || entry.3 < barriers[thread as usize];
                assert!(!buffers[thread as usize].iter().any(waiting), "must wait");
                let (returned, source) = read(&memory, addr);
                assert_eq!(returned, value);
                replayed.source.insert(i, source);
                if events[i].event.op.writes() {
                    memory.insert(addr, (events[i].write, Some(i)));
                    replayed.co.entry(addr).or_default().push(i);
                }
            }
            WitnessStep::Other(event) => {
                issue(event.thread, &|op| op == event.op);
                match event.op {
                    Op::StoreBarrier => barriers[event.thread as usize] += 1,
                    Op::Join { child } => assert!(buffers[child as usize].is_empty()),
                    _ => assert!(buffers[event.thread as usize].is_empty()),
                }
            }
        }
    }
    assert!(buffers.iter().all(Vec::is_empty), "something was not committed");
    for thread in 0..8 {
        assert_eq!(next[thread as usize], of(thread).len(), "thread {thread} has more to do");
    }
    replayed
}

/// Program order, reads-from, commit order and from-read: is there a cycle?
fn cyclic(events: &[Recorded], replayed: &Replayed) -> bool {
    let n = events.len();
    let mut edges = vec![0u64; n];
    for i in 0..n {
        for j in i + 1..n {
            let (a, b) = (events[i].event, events[j].event);
            let start = matches!(a.op, Op::Start { child } if child == b.thread);
            let join = matches!(b.op, Op::Join { child } if child == a.thread);
            if a.thread == b.thread || start || join {
                edges[i] |= 1 << j;
            }
        }
    }
    for co in replayed.co.values() {
        for (k, &first) in co.iter().enumerate() {
            co[k + 1..].iter().for_each(|&second| edges[first] |= 1 << second);
        }
    }
    for (&read, &source) in &replayed.source {
        let addr = events[read].event.op.addr().unwrap();
        let co = replayed.co.get(&addr).map_or(&[][..], Vec::as_slice);
        let from = source.map_or(0, |source| co.iter().position(|&write| write == source).unwrap() + 1);
        if let Some(source) = source {
            edges[source] |= 1 << read;
        }
        co[from..].iter().filter(|&&write| write != read).for_each(|&write| edges[read] |= 1 << write);
    }
    for k in 0..n {
        for i in 0..n {
            if edges[i] >> k & 1 == 1 {
                edges[i] |= edges[k];
            }
        }
    }
    (0..n).any(|i| edges[i] >> i & 1 == 1)
}

/// In the SC run.
fn sc_source(events: &[Recorded], read: usize) -> Option<usize> {
    let addr = events[read].event.op.addr();
    (0..read).rev().find(|&i| events[i].event.op.writes() && events[i].event.op.addr() == addr)
}

fn assert_witness(model: Relaxation, events: &[Recorded], violation: &Violation) {
    let steps = witness(model, &[], events, violation).expect("the access is there");
    let access = violation.access.at as usize;
    let prefix = &events[..=access];
    let replayed = replay(model, prefix, &steps);
    for (&read, &source) in &replayed.source {
        let expected = sc_source(prefix, read);
        assert!(read == access || source == expected, "event {read} read {source:?} and not {expected:?}");
    }
    assert!(cyclic(prefix, &replayed), "{prefix:#?}\n{steps:#?}");
    for step in &steps {
        assert!(!step.to_string().is_empty());
    }
}

/// The edges of a cycle hold, it closes, and a fence is asked for at the delayed store.
fn assert_cycle(model: Relaxation, events: &[Recorded], violation: &Violation) {
    let mut window = Window::new(events.len());
    events[..=violation.access.at as usize].iter().for_each(|&recorded| window.push(recorded));
    let cycle = window.cycle(violation, model).expect("the store is in the window");
    assert_eq!(cycle[0].from.event.at, violation.store.at);
    assert_eq!(cycle[cycle.len() - 1].from.event, violation.access);
    for (k, edge) in cycle.iter().enumerate() {
        let next = &cycle[(k + 1) % cycle.len()];
        assert_eq!(edge.to, next.from);
        let (from, to) = (edge.from.event, edge.to.event);
        let closing = k == cycle.len() - 1;
        assert!(closing || from.at < to.at, "{cycle:#?}");
        match edge.relation {
            Relation::Po => assert_eq!(from.thread, to.thread),
            Relation::Rf => assert!(from.op.writes() && to.op.reads() && edge.from.write == edge.to.read),
            Relation::Co => assert!(from.op.writes() && to.op.writes() && from.op.addr() == to.op.addr()),
            Relation::Fr => assert!(from.op.reads() && to.op.writes() && from.op.addr() == to.op.addr()),
            Relation::Start => assert_eq!(from.op, Op::Start { child: to.thread }),
            Relation::Join => assert_eq!(to.op, Op::Join { child: from.thread }),
            Relation::Ppo | Relation::Hb | Relation::Time => panic!("not a relation of an interleaving: {edge:?}"),
        }
    }
    // The monitor found the store pending, so some program order of the cycle is one that the model does not keep.
    assert!(cycle.iter().any(|edge| edge.fence), "{cycle:#?}");
}

fn all<R: Rule>(model: Relaxation, rule: impl Fn() -> R) -> usize {
    let mut checked = 0;
    for seed in 0..40_000 {
        let events = random(seed);
        let events = recorded(&events);
        let mut monitor = Monitor::new(rule());
        for recorded in &events {
            let Some(violation) = monitor.event(&recorded.event) else { continue };
            assert_witness(model, &events, &violation);
            assert_cycle(model, &events, &violation);
            checked += 1;
        }
    }
    checked
}

#[test]
fn tso_witnesses_are_tso_runs_that_are_not_sc() {
    assert!(all(Relaxation::Tso, Tso::default) > 500);
}

#[test]
fn pso_witnesses_are_pso_runs_that_are_not_sc() {
    assert!(all(Relaxation::Pso, Pso::default) > 1000);
}

#[test]
fn a_store_that_left_the_window_has_no_cycle() {
    let ops =
        [(0, Op::Store { addr: 0 }), (0, Op::Load { addr: 1 }), (1, Op::Store { addr: 1 }), (1, Op::Load { addr: 0 })];
    let events: Vec<_> = ops.iter().enumerate().map(|(at, &(thread, op))| common::event(at, thread, op)).collect();
    let events = recorded(&events);
    let mut monitor = Monitor::new(Tso::default());
    let violation = events.iter().filter_map(|recorded| monitor.event(&recorded.event)).next().unwrap();
    for (capacity, found) in [(0, false), (3, false), (4, true), (100, true)] {
        let mut window = Window::new(capacity);
        events.iter().for_each(|&recorded| window.push(recorded));
        assert_eq!(window.cycle(&violation, Relaxation::Tso).is_some(), found, "{capacity}");
        assert_eq!(window.store(&violation).is_some(), found);
        assert_eq!(window.distance(&violation).is_some(), found);
    }
}

#[test]
fn steps_can_be_read() {
    let ops =
        [(0, Op::Store { addr: 0 }), (0, Op::Load { addr: 1 }), (1, Op::Store { addr: 1 }), (1, Op::Load { addr: 0 })];
    let events: Vec<_> = ops.iter().enumerate().map(|(at, &(thread, op))| common::event(at, thread, op)).collect();
    let events = recorded(&events);
    let mut monitor = Monitor::new(Tso::default());
    let violation = events.iter().filter_map(|recorded| monitor.event(&recorded.event)).next().unwrap();
    let steps = witness(Relaxation::Tso, &[], &events, &violation).unwrap();
    let text: Vec<String> = steps.iter().map(WitnessStep::to_string).collect();
    assert_eq!(
        text,
        [
            "issue  0: M[0] := 1",
            "load   0: M[1] == 0",
            "issue  1: M[1] := 3",
            "load   1: M[0] == 0",
            "commit 0: M[0] := 1",
            "commit 1: M[1] := 3",
        ]
    );
}
