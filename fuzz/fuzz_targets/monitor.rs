//! Any bytes, as interleavings: reading and monitoring never panics and ends; every monitor says the same alone and together
//! with the others; a cycle closes; a witness can be written; taking everything back and going forward again changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use membar_monitor::{
    Algorithm, Event, Monitor, Monitors, NO_SITE, Op, Pso, Recorded, Rule, Sober, Tso, Violation, Window, witness,
};
use membar_trace::{Act, InterleavedOp, Interleaving, Reader};
use std::ops::ControlFlow;

/// Rows have an entry for each thread: what many threads cost has nothing to do with what is looked for here.
const THREADS: u32 = 40;
const STEPS: usize = 2_000;

fn push(events: &mut Vec<Recorded>, step: &InterleavedOp<'_>) {
    let (thread, at) = (step.thread.0, step.line);
    let event = |op| Event { thread, op, site: step.label.map_or(NO_SITE, |label| label.len() as u32), at };
    let (op, read, write) = match step.act {
        Act::Load { addr, value } => (Op::Load { addr: addr.0 }, value, 0),
        Act::Store { addr, value } => (Op::Store { addr: addr.0 }, 0, value),
        Act::Rmw { addr, read, write } => (Op::Interlocked { addr: addr.0, writes: true }, read, write),
        Act::Attempt { addr, value } => (Op::Interlocked { addr: addr.0, writes: false }, value, 0),
        Act::Fence(None) => (Op::Fence, 0, 0),
        Act::Fence(Some(_)) => (Op::StoreBarrier, 0, 0),
        Act::Acquire(lock) | Act::Release(lock) => {
            let [fence, access] = Event::lock(thread, lock.0, NO_SITE, at);
            let taken = u64::from(matches!(step.act, Act::Acquire(_)));
            events.push(Recorded { event: fence, read: 0, write: 0 });
            events.push(Recorded { event: access, read: 1 - taken, write: taken });
            return;
        }
        Act::Start(child) => (Op::Start { child: child.0 }, 0, 0),
        Act::Join(child) => (Op::Join { child: child.0 }, 0, 0),
    };
    events.push(Recorded { event: event(op), read, write });
}

fn alone<R: Rule>(rule: R, events: &[Recorded]) -> Vec<Violation> {
    let mut monitor = Monitor::undoable(rule);
    let start = monitor.mark();
    let first: Vec<Violation> = events.iter().filter_map(|recorded| monitor.event(&recorded.event)).collect();
    monitor.rewind(start);
    let again: Vec<Violation> = events.iter().filter_map(|recorded| monitor.event(&recorded.event)).collect();
    assert_eq!(first, again);
    first
}

fuzz_target!(|bytes: &[u8]| {
    let mut reader = Reader::new("input", bytes);
    let mut state = Interleaving::new();
    loop {
        let mut events = Vec::new();
        let result = reader.interleaving(&mut state, |state, step| {
            push(&mut events, step);
            let large = events.len() > STEPS || state.names().thread_names().len() as u32 > THREADS;
            if large { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Some(result) = result else { break };
        if let Err(error) = result {
            let shown = error.render();
            assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
        }
        let mut together: [Vec<Violation>; 4] = Default::default();
        let mut monitors = Monitors::new(&Algorithm::ALL);
        for recorded in &events {
            monitors.event(&recorded.event, |algorithm, violation| together[algorithm as usize].push(violation));
        }
        assert_eq!(together[0], alone(Tso::default(), &events));
        assert_eq!(together[1], alone(Pso::default(), &events));
        assert_eq!(together[2], alone(Sober::published(), &events));
        assert_eq!(together[3], alone(Sober::fixed(), &events));
        let inits: Vec<(u32, u64)> = state.names().inits.iter().map(|init| (init.addr.0, init.value)).collect();
        for algorithm in Algorithm::ALL {
            let Some(violation) = together[algorithm as usize].first() else { continue };
            let end =
                events.iter().position(|recorded| recorded.event == violation.access).expect("the access is there");
            let mut window = Window::new(events.len());
            events[..=end].iter().for_each(|&recorded| window.push(recorded));
            let cycle = window.cycle(violation, algorithm.model()).expect("the store is there");
            assert_eq!((cycle[0].from.event.at, cycle[cycle.len() - 1].from), (violation.store.at, events[end]));
            if matches!(algorithm, Algorithm::Tso | Algorithm::Pso) {
                assert!(cycle.iter().any(|edge| edge.fence), "{cycle:?}");
                assert!(witness(algorithm.model(), &inits, &events, violation).is_some());
            }
        }
        if reader.skip_trace().is_err() {
            break;
        }
    }
});
