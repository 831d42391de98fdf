//! The program oracle against everything else that knows an answer.

use crate::models;

use membar_certify::replay::{self, Relation, replay};
use membar_core::{AccessKind, AddrId, Barrier, Mask, Model, OrderLine, Relaxation, ResolveScratch, Trace as Recorded};
use membar_litmus::LitmusThreads;
use membar_litmus::{Code, Instr, Update};
use membar_simulate::Rng;
use membar_testkit::orders;
use membar_testkit::programs::{self, Event, Id, Limits, Machine, Memory, Step, Trace};
use membar_testkit::random::{Knobs, random_program};
use std::collections::{BTreeSet, HashSet};

const RELAXED: [Relaxation; 2] = [Relaxation::Tso, Relaxation::Pso];

fn program(seed: u64, knobs: &Knobs) -> Code {
    random_program(&mut Rng::new(seed), knobs)
}

/// The trace with the number of each write as its value, so that values say where a read got its own.
fn recorded(trace: &Trace) -> Recorded {
    let value = |id: Option<Id>| id.map_or(0, |id| 1 + u64::from(id.thread) * 100 + u64::from(id.index));
    let mut recorded = Recorded::new();
    recorded.clear(1);
    let mut line = 0;
    for (t, events) in (0..).zip(&trace.threads) {
        let thread = recorded.thread_id(t);
        for event in events {
            line += 1;
            match event.access.barrier {
                Barrier::None => {}
                Barrier::Store => drop(recorded.push_fence(thread, Some(Mask::STORE_STORE), line)),
                Barrier::Full => drop(recorded.push_fence(thread, None, line)),
            }
            let addr = recorded.memory_id(event.access.addr.into());
            match event.access.kind {
                AccessKind::Load => recorded.push_load(thread, addr, value(event.source), line),
                AccessKind::Store => recorded.push_store(thread, addr, value(Some(event.id)), line),
                AccessKind::Rmw => recorded.push_rmw(thread, addr, value(event.source), value(Some(event.id)), line),
            };
        }
    }
    for (a, order) in (0..).zip(&trace.order).filter(|(_, order)| !order.is_empty()) {
        let addr: AddrId = recorded.memory_id(a);
        recorded.orders.push(OrderLine { addr, values: order.iter().map(|&id| value(Some(id))).collect(), line });
    }
    recorded.resolve(&mut ResolveScratch::default()).expect("values are unique");
    recorded
}

/// All traces with these events, whatever the sources of reads and the order of writes.
fn candidates(events: &[Vec<Event>], addrs: usize) -> Vec<Trace> {
    let writes = |a: usize| {
        let to = |event: &&Event| event.wrote && event.access.addr as usize == a;
        events.iter().flatten().filter(to).map(|event| event.id).collect::<Vec<Id>>()
    };
    let mut all = vec![Trace { threads: events.to_vec(), order: vec![Vec::new(); addrs] }];
    for a in 0..addrs {
        for _ in writes(a) {
            let longer = |trace: Trace| {
                let missing: Vec<Id> = writes(a).into_iter().filter(|id| !trace.order[a].contains(id)).collect();
                missing.into_iter().map(move |id| {
                    let mut trace = trace.clone();
                    trace.order[a].push(id);
                    trace
                })
            };
            all = all.into_iter().flat_map(longer).collect();
        }
    }
    for event in events.iter().flatten().filter(|event| event.access.kind.reads()) {
        let others = writes(event.access.addr as usize).into_iter().filter(|&id| id != event.id).map(Some);
        let sources: Vec<Option<Id>> = others.chain([None]).collect();
        let with = |trace: Trace| {
            sources.clone().into_iter().map(move |source| {
                let mut trace = trace.clone();
                trace.threads[event.id.thread as usize][event.id.index as usize].source = source;
                trace
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    all
}

fn candidate_count(events: &[Vec<Event>]) -> usize {
    let all: Vec<&Event> = events.iter().flatten().collect();
    let ways = |(at, event): (usize, &&Event)| {
        let same = |other: &&&Event| other.wrote && other.access.addr == event.access.addr;
        let places = if event.wrote { all[..=at].iter().filter(same).count() } else { 1 };
        let other = |other: &&&Event| same(other) && other.id != event.id;
        places * if event.access.kind.reads() { 1 + all.iter().filter(other).count() } else { 1 }
    };
    all.iter().enumerate().map(ways).product()
}

/// The machines have exactly the traces that the axioms allow, and a trace is sequential exactly if the axioms of sc say
/// so. On straight-line programs, where the events do not depend on what is read.
#[test]
fn oracle_orders() {
    let models: Vec<Model> = models::models();
    let knobs = Knobs { total: 7, branches: 0, ..Knobs::LOOP_FREE };
    let (mut programs_compared, mut allowed, mut forbidden) = (0, [0; 3], 0);
    for seed in 0..600 {
        let code = program(seed, &knobs);
        let compares = |i: &Instr| matches!(i, Instr::Rmw { update: Update::CompareExchange { .. }, .. });
        if code.threads.iter().flat_map(|thread| &thread.instrs).any(compares) {
            continue; // may fail, and a recorded trace cannot say that
        }
        let machines = [Memory::Sc, Memory::Tso, Memory::Pso];
        let traces = machines.map(|m| programs::traces(&code, m, &Limits::default()).expect("small enough"));
        let events = &traces[0][0].threads;
        if candidate_count(events) > 400 {
            continue;
        }
        let candidates = candidates(events, code.cells.len());
        assert_eq!(candidates.len(), candidate_count(events));
        programs_compared += 1;
        let traces: Vec<HashSet<Trace>> = traces.into_iter().map(|traces| traces.into_iter().collect()).collect();
        for candidate in candidates {
            let recorded = recorded(&candidate);
            for (at, traces) in traces.iter().enumerate() {
                let decided = orders::decide(&recorded, &models[at]);
                assert_eq!(traces.contains(&candidate), decided, "seed {seed} {} {candidate:#?}", models[at].name);
                allowed[at] += usize::from(decided);
                assert!(at > 0 || candidate.is_sequential() == decided, "seed {seed} {candidate:#?}");
            }
            forbidden += usize::from(!traces[2].contains(&candidate));
        }
    }
    println!("{programs_compared} programs, {allowed:?} traces allowed, {forbidden} forbidden by all");
    assert!(programs_compared > 100 && forbidden > 1000 && allowed[0] < allowed[1] && allowed[1] < allowed[2]);
}

/// Each model ends in whatever stronger ones end in; a program without violation ends in nothing else.
#[test]
fn final_states_and_violations() {
    let limits = Limits { max_configurations: 50_000, ..Limits::default() };
    let (mut safe, mut shown) = ([0; 2], [0; 2]);
    for seed in 0..300 {
        let code = program(seed, if seed % 2 == 0 { &Knobs::LOOP_FREE } else { &Knobs::ALL });
        let finals = [Memory::Sc, Memory::Tso, Memory::Pso].map(|m| programs::finals(&code, m, &limits));
        let [Some(sc), Some(tso), Some(pso)] = finals else { continue };
        assert!(sc.is_subset(&tso) && tso.is_subset(&pso), "seed {seed}");
        for (at, (model, finals)) in [(Memory::Tso, tso), (Memory::Pso, pso)].into_iter().enumerate() {
            let Some(found) = programs::search(&code, model, &limits) else { continue };
            if found.violation.is_none() && !found.cut {
                assert_eq!(finals, sc, "seed {seed} {model:?}");
                safe[at] += 1;
            }
            shown[at] += usize::from(finals != sc);
        }
    }
    println!("safe {safe:?}, unsafe and seen in final states {shown:?}");
    assert!(safe.iter().all(|&n| n > 100) && shown.iter().all(|&n| n > 5));
}

/// Facts that can be read off a trace: the classes of the SC machine, the leaves of the search, and runs one by one.
#[test]
fn classes_are_the_traces_of_interleavings() {
    fn all(machine: &Machine<'_>, traces: &mut HashSet<Trace>) -> u128 {
        let steps = machine.steps();
        if steps.is_empty() {
            traces.insert(machine.trace());
            return 1;
        }
        steps
            .into_iter()
            .map(|step| {
                let mut next = machine.clone();
                next.step(step);
                all(&next, traces)
            })
            .sum()
    }
    for seed in 0..150 {
        let code = program(seed, &Knobs { total: 7, ..Knobs::LOOP_FREE });
        let mut traces = HashSet::new();
        let interleavings = all(&Machine::new(&code, Memory::Sc), &mut traces);
        let classes = programs::classes(&code, &Limits::default()).expect("no loops");
        assert_eq!((classes.interleavings, classes.classes.len()), (interleavings, traces.len()), "seed {seed}");
        assert!(traces.iter().all(|trace| classes.classes.contains(trace) && trace.is_sequential()));
        let leaves: HashSet<Trace> =
            programs::traces(&code, Memory::Sc, &Limits::default()).expect("no loops").into_iter().collect();
        assert_eq!(leaves, traces, "seed {seed}");
    }
}

fn same(ours: &Trace, theirs: &replay::Trace) -> bool {
    let id = |event: replay::Event| Id { thread: event.thread as u8, index: event.index as u8 };
    let mut order: Vec<Vec<Id>> = theirs.order.iter().map(|order| order.iter().copied().map(id).collect()).collect();
    // They know an address only once it is written.
    order.resize(ours.order.len().max(order.len()), Vec::new());
    ours.order == order
        && ours.threads.len() == theirs.threads.len()
        && ours.threads.iter().zip(&theirs.threads).all(|(ours, theirs)| {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| {
                    ours.access == theirs.access
                        && ours.wrote == theirs.wrote.is_some()
                        && ours.access.kind.reads() == theirs.read.is_some()
                        && ours.source == theirs.read.and_then(|read| read.source).map(id)
                })
        })
}

/// Is each link of the cycle what it says?
fn assert_cycle(trace: &replay::Trace, cycle: &[replay::Link]) {
    assert!(cycle.len() > 1);
    for (at, link) in cycle.iter().enumerate() {
        let (from, to) = (link.event, cycle[(at + 1) % cycle.len()].event);
        let (a, b) = (trace.get(from).expect("an event"), trace.get(to).expect("an event"));
        let place = |event| trace.order[a.access.addr as usize].iter().position(|&write| write == event);
        let holds = match link.relation {
            Relation::Po => from.thread == to.thread && from.index < to.index,
            Relation::Rf => b.read.is_some_and(|read| read.source == Some(from)),
            Relation::Co => place(from).is_some() && place(from) < place(to),
            Relation::Fr => {
                let read = a.read.expect("a read");
                from != to && place(to).is_some() && read.source.and_then(place) < place(to)
            }
        };
        assert!(holds, "{link:?} to {to:?} in {trace:#?}");
        let next = cycle[(at + 1) % cycle.len()].relation;
        assert!(link.relation != Relation::Po || next != Relation::Po, "program order is one link: {cycle:?}");
    }
    let events: BTreeSet<replay::Event> = cycle.iter().map(|link| link.event).collect();
    assert_eq!(events.len(), cycle.len(), "no event twice: {cycle:?}");
}

/// The certifier's machine and this one: the same steps are possible, with the same traces and the same verdicts.
#[test]
fn oracle_replay() {
    let (mut refused, mut ended, mut cycles) = (0, 0, 0);
    for seed in 0..1500 {
        let mut rng = Rng::new(seed);
        let code = random_program(&mut rng, &Knobs::ALL);
        for relaxation in RELAXED {
            let mut machine = Machine::new(&code, relaxation.into());
            let mut steps = Vec::new();
            for _ in 0..40 {
                let thread = rng.below(code.threads.len() as u32 + 1);
                let any = match rng.chance(1, 2) {
                    true => Step::Issue(thread),
                    false => Step::Commit(thread, rng.below(code.cells.len() as u32 + 1), 0),
                };
                let possible = machine.steps();
                steps.push(any);
                let answer = replay(&mut LitmusThreads::new(&code), relaxation, &steps);
                let refusal = answer.as_ref().err().is_some_and(|refusal| refusal.step < steps.len());
                assert_eq!(refusal, !possible.contains(&any), "seed {seed} {relaxation:?} {steps:?} {answer:?}");
                steps.pop();
                refused += usize::from(refusal);
                // Mostly issue, so that stores stay in buffers for a while, and drain towards the end.
                let (issues, commits): (Vec<Step>, Vec<Step>) =
                    possible.into_iter().partition(|step| matches!(step, Step::Issue(_)));
                let issue = steps.len() < 16 && rng.chance(7, 8);
                let (wanted, others) = if issue { (issues, commits) } else { (commits, issues) };
                let step = rng.pick(&wanted).or_else(|| rng.pick(&others));
                let Some(&step) = step else { break };
                steps.push(step);
                machine.step(step);
                if let Ok(replayed) = replay(&mut LitmusThreads::new(&code), relaxation, &steps) {
                    let trace = machine.trace();
                    assert!(same(&trace, &replayed.trace), "seed {seed} {relaxation:?} {steps:?}");
                    assert_eq!(replayed.cycle.is_none(), trace.is_sequential(), "seed {seed} {relaxation:?} {steps:?}");
                    ended += 1;
                    if let Some(cycle) = replayed.cycle {
                        assert_cycle(&replayed.trace, &cycle);
                        cycles += 1;
                    }
                }
            }
        }
    }
    println!("{refused} steps refused, {ended} executions, {cycles} with a cycle");
    assert!(refused > 1000 && ended > 1000 && cycles > 100);
}

/// The certifier confirms everything that the search finds.
#[test]
fn violations_replay() {
    let mut confirmed = 0;
    let limits = Limits { max_configurations: 20_000, ..Limits::default() };
    for seed in 0..300 {
        let code = program(seed, &Knobs::ALL);
        for relaxation in RELAXED {
            let Some(found) = programs::search(&code, relaxation.into(), &limits) else { continue };
            let Some(steps) = found.violation else { continue };
            let replayed = replay(&mut LitmusThreads::new(&code), relaxation, &steps).expect("the steps are possible");
            assert_cycle(&replayed.trace, &replayed.cycle.expect("a violation has a cycle"));
            confirmed += 1;
        }
    }
    assert!(confirmed > 50, "{confirmed} confirmed");
}
