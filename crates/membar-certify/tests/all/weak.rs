//! Claimed executions under each model: exactly those that enumeration and the machines have are accepted.
//!
//! `MEMBAR_PROGRAMS=20000` makes the random tests longer.

use membar_certify::weak::{self, Axiom, Cause, Confirmed, Ending, Event, Refusal};
use membar_core::{Access, AccessKind, Barrier, C11, Claim, GraphModel, Halt, Order, Rng, Threads, WeakStep};
use membar_litmus::{Code, LitmusThreads, Model, outcomes};
use membar_testkit::named;
use membar_testkit::programs::{self, Memory};
use membar_testkit::random::{Knobs, random_program};
use membar_testkit::weak::{Weak, executions, random, shown};
use std::collections::{BTreeSet, HashSet};

fn replay(code: &Code, model: GraphModel, steps: &[WeakStep]) -> Result<Confirmed, Refusal> {
    weak::replay(&mut LitmusThreads::new(code), model, steps)
}

fn all(code: &Code, model: GraphModel) -> Option<Vec<Weak<'_>>> {
    executions(code, 2500, |steps| replay(code, model, steps).is_ok())
}

fn programs() -> u64 {
    std::env::var("MEMBAR_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(120)
}

fn litmus(model: GraphModel) -> Model {
    match model {
        GraphModel::Sc => Model::Sc,
        GraphModel::Tso => Model::Tso,
        GraphModel::Pso => Model::Pso,
        GraphModel::C11 => Model::C11,
    }
}

/// The sources of all reads, and the order of writes to each address.
type Relations = (Vec<Vec<Option<(u32, u32)>>>, Vec<Vec<(u32, u32)>>);

/// What the certifier found, as the oracle has it.
fn relations(confirmed: &Confirmed, cells: usize) -> Relations {
    let id = |event: Event| (event.thread, event.index);
    let trace = &confirmed.trace;
    let source = |made: &weak::Made| made.read.and_then(|read| read.source).map(id);
    let sources = trace.threads.iter().map(|thread| thread.iter().map(source).collect()).collect();
    let mut orders: Vec<Vec<(u32, u32)>> =
        trace.order.iter().map(|order| order.iter().map(|&event| id(event)).collect()).collect();
    orders.resize(cells, Vec::new());
    (sources, orders)
}

/// As many executions as enumeration has, with the same final states; under tso and pso the traces of the machine.
#[test]
fn oracle_enumeration() {
    let (mut compared, mut weaker) = ([0; 4], [0; 4]);
    for seed in 0..programs() {
        for c11 in [false, true] {
            let knobs = if c11 { Knobs { total: 6, ..Knobs::C11 } } else { Knobs { total: 7, ..Knobs::LOOP_FREE } };
            let code = random_program(&mut Rng::new(seed), &knobs);
            let test = shown(&code);
            let mut sequential = 0;
            for (at, model) in GraphModel::ALL.into_iter().enumerate() {
                if c11 != (model == GraphModel::C11) && model != GraphModel::Sc {
                    continue;
                }
                let Some(found) = all(&code, model) else { continue };
                let expected = outcomes(&test, litmus(model), &membar_litmus::Limits::default());
                assert!(expected.complete, "seed {seed}");
                assert_eq!(found.len() as u64, expected.positive + expected.negative, "seed {seed} {model:?}");
                let states: BTreeSet<Vec<u64>> = found.iter().map(Weak::state).collect();
                assert_eq!(states, expected.states.into_iter().collect(), "seed {seed} {model:?}");
                compared[at] += 1;
                if model == GraphModel::Sc {
                    sequential = found.len();
                }
                weaker[at] += usize::from(found.len() > sequential);
                if let Some(machine) = model.machine() {
                    let limits = programs::Limits { max_accesses: 30, ..programs::Limits::default() };
                    let traces = programs::traces(&code, Memory::from(machine), &limits).expect("it is small");
                    assert_eq!(machine_relations(&traces), relations_of(&found), "seed {seed} {model:?}");
                }
            }
        }
    }
    println!("{compared:?} programs compared, of which {weaker:?} have executions that SC has not");
    let least = programs() as usize;
    assert!(
        compared.iter().all(|&n| n > least / 2) && weaker[1..].iter().all(|&n| n > least / 20),
        "{compared:?} {weaker:?}"
    );
}

fn relations_of(found: &[Weak<'_>]) -> HashSet<Relations> {
    found.iter().map(|weak| (weak.sources(), weak.orders())).collect()
}

fn machine_relations(traces: &[programs::Trace]) -> HashSet<Relations> {
    let id = |id: programs::Id| (u32::from(id.thread), u32::from(id.index));
    let of = |trace: &programs::Trace| {
        let sources = trace.threads.iter().map(|thread| thread.iter().map(|event| event.source.map(id)).collect());
        let orders = trace.order.iter().map(|order| order.iter().map(|&write| id(write)).collect());
        (sources.collect(), orders.collect())
    };
    traces.iter().map(of).collect()
}

/// Complete lists that nobody has checked step by step are accepted exactly if enumeration has their graphs, and a step
/// that is changed gives another graph or is refused. What is accepted is what the steps say, and SC says whether it is SC.
#[test]
fn random_and_mutated_executions() {
    let (mut accepted, mut refused, mut cyclic) = (0, 0, 0u64);
    for seed in 0..programs() {
        let mut rng = Rng::new(seed);
        for model in GraphModel::ALL {
            let knobs = if model == GraphModel::C11 { Knobs::C11 } else { Knobs::LOOP_FREE };
            let code = random_program(&mut rng, &Knobs { total: 6, ..knobs });
            let Some(found) = all(&code, model) else { continue };
            let allowed = relations_of(&found);
            let Some(sc) = all(&code, GraphModel::Sc) else { continue };
            let sequential = relations_of(&sc);
            for _ in 0..20 {
                let mut weak = random(&code, &mut rng, 30);
                if rng.chance(1, 2)
                    && let Some(base) = rng.pick(&found)
                    && let Some(mutated) = mutated(&code, base, &mut rng)
                {
                    weak = mutated;
                }
                let answer = replay(&code, model, &weak.steps);
                let key = (weak.sources(), weak.orders());
                assert_eq!(answer.is_ok(), allowed.contains(&key), "seed {seed} {model:?} {:?} {answer:?}", weak.steps);
                match answer {
                    Ok(confirmed) => {
                        accepted += 1;
                        assert_eq!(relations(&confirmed, code.cells.len()), key);
                        assert_eq!(confirmed.cycle.is_none(), sequential.contains(&key), "seed {seed} {model:?}");
                        cyclic += u64::from(confirmed.cycle.is_some());
                    }
                    Err(refusal) => {
                        assert!(matches!(refusal, Refusal::Forbidden(_)), "{refusal}");
                        refused += 1;
                    }
                }
            }
        }
    }
    println!("{accepted} accepted, {cyclic} of them not sequentially consistent, {refused} refused");
    let least = programs();
    assert!(accepted > 20 * least && cyclic > least / 4 && refused > 5 * least, "{accepted} {cyclic} {refused}");
}

/// The execution with one step of it behind another number of writes, and continued to its end.
fn mutated<'c>(code: &'c Code, base: &Weak<'c>, rng: &mut Rng) -> Option<Weak<'c>> {
    let mut weak = Weak::new(code);
    let change = rng.below(base.steps.len().max(1) as u32) as usize;
    for (at, step) in base.steps.iter().enumerate() {
        let thread = step.thread as usize;
        let writes = weak.writes(thread)?;
        let behind = if at == change { rng.below(writes + 1) } else { step.behind };
        if behind > writes {
            return None;
        }
        weak.step(thread, behind);
    }
    while let Some(thread) = (0..code.threads.len()).find(|&thread| weak.writes(thread).is_some()) {
        weak.step(thread, 0);
    }
    Some(weak)
}

#[test]
fn garbage_is_refused() {
    for seed in 0..2000 {
        let mut rng = Rng::new(seed);
        let code = random_program(&mut rng, &Knobs::ALL);
        let steps: Vec<WeakStep> = (0..rng.below(12))
            .map(|_| WeakStep {
                thread: if rng.chance(1, 20) { u32::MAX } else { rng.below(4) },
                choice: rng.chance(1, 20).then(|| rng.below(3).into()),
                behind: if rng.chance(1, 20) { u32::MAX } else { rng.below(2) },
            })
            .collect();
        for model in GraphModel::ALL {
            if let Err(refusal) = replay(&code, model, &steps) {
                assert!(!refusal.to_string().is_empty());
            }
        }
    }
    let code = named::store_buffering([Barrier::None; 2]);
    let step = |thread, behind| WeakStep { behind, ..WeakStep::of(thread) };
    let refused = |steps: &[WeakStep]| replay(&code, GraphModel::Tso, steps).map(|_| ()).unwrap_err();
    let at = |step, cause| Refusal::Step { step, cause };
    assert_eq!(refused(&[step(7, 0)]), at(0, Cause::NoThread(7)));
    assert_eq!(refused(&[step(0, 1)]), at(0, Cause::Behind { thread: 0, addr: 0, writes: 0 }));
    assert_eq!(refused(&[step(0, 0), step(1, 0), step(1, 2)]), at(2, Cause::Behind { thread: 1, addr: 0, writes: 1 }));
    let chooses = WeakStep { choice: Some(0), ..step(0, 0) };
    assert_eq!(refused(&[chooses]), at(0, Cause::Choice { thread: 0 }));
    let ended = Cause::Halts { thread: 0, halt: Halt::Ended };
    assert_eq!(refused(&[step(0, 0), step(0, 0), step(0, 0)]), at(2, ended));
}

#[test]
fn store_buffering_under_each_model() {
    let step = |thread, behind| WeakStep { behind, ..WeakStep::of(thread) };
    let steps = [step(0, 0), step(0, 0), step(1, 0), step(1, 1)];
    for (barrier, model, allowed) in [
        (Barrier::None, GraphModel::Sc, Err(Refusal::Forbidden(Axiom::Sequential))),
        (Barrier::None, GraphModel::Tso, Ok(4)),
        (Barrier::Store, GraphModel::Pso, Ok(4)),
        (Barrier::Full, GraphModel::Tso, Err(Refusal::Forbidden(Axiom::MemoryOrder))),
        (Barrier::Full, GraphModel::Pso, Err(Refusal::Forbidden(Axiom::MemoryOrder))),
    ] {
        let code = named::store_buffering([barrier; 2]);
        let answer = replay(&code, model, &steps).map(|confirmed| confirmed.cycle.map_or(0, |cycle| cycle.len()));
        assert_eq!(answer, allowed, "{barrier:?} {model:?}");
    }
    // A thread that goes back.
    let back = [step(0, 0), step(1, 0), step(1, 0), step(0, 0)];
    let code = named::store_buffering([Barrier::None; 2]);
    assert_eq!(replay(&code, GraphModel::Sc, &back).unwrap().cycle, None);
}

/// A long execution takes no noticeable time under the models with store buffers, and is too much for the matrices of RC11.
#[test]
fn long_executions() {
    let mut program = membar_testkit::builder::Builder::new();
    let (x, y) = (program.cell("x"), program.cell("y"));
    for (mine, other) in [(x, y), (y, x)] {
        program.thread(|t| {
            for value in 0..1500 {
                t.store(mine, value);
                t.load(other);
            }
        });
    }
    let code = program.code();
    // Each misses the other's last store each time, or the one before.
    let mut steps = Vec::new();
    for round in 0..1500 {
        let late = |thread| WeakStep { behind: u32::from(round > 0), ..WeakStep::of(thread) };
        steps.extend([WeakStep::of(0), WeakStep::of(1), late(0), late(1)]);
    }
    let confirmed = replay(&code, GraphModel::Tso, &steps).expect("a buffer of one store does it");
    assert_eq!(confirmed.cycle.map(|cycle| cycle.len()), Some(4));
    assert_eq!(replay(&code, GraphModel::Sc, &steps).map(|_| ()), Err(Refusal::Forbidden(Axiom::Sequential)));
    assert_eq!(replay(&code, GraphModel::C11, &steps).map(|_| ()), Err(Refusal::Size));
}

/// Threads that take a lock, change what it guards, and give it back: `fresh` is whether the lock is a synchronisation object.
/// A thread fails if it finds what it wrote itself, and chooses before its end.
struct Locked {
    made: [usize; 2],
    found: [u64; 2],
    lock: u64,
    data: u64,
    fresh: bool,
}

impl Locked {
    fn new(fresh: bool) -> Locked {
        Locked { made: [0; 2], found: [9; 2], lock: 0, data: 0, fresh }
    }
}

const LOCK: u32 = 5;
const DATA: u32 = 6;

impl Threads for Locked {
    fn threads(&self) -> usize {
        2
    }

    fn next(&mut self, thread: usize) -> Result<Access, Halt> {
        let c11 = C11::new(Order::AcqRel);
        let (kind, addr) = match self.made[thread] {
            0 if self.lock != 0 => return Err(Halt::Blocked { addr: LOCK }),
            0 => (AccessKind::Rmw, LOCK),
            1 => (AccessKind::Load, DATA),
            2 if self.found[thread] != 0 => return Err(Halt::Fault),
            2 => (AccessKind::Store, DATA),
            3 => (AccessKind::Load, 8),
            4 if self.found[thread] == 1 => (AccessKind::Rmw, LOCK),
            _ => return Err(Halt::Ended),
        };
        let c11 = if self.fresh && addr == LOCK { c11.fresh() } else { C11::new(Order::Plain) };
        let expected = (self.made[thread] == 3).then_some(2);
        let site = (5 * thread + self.made[thread]) as u32;
        Ok(Access { kind, barrier: Barrier::None, c11, part: 0, addr, site, expected })
    }

    fn perform(&mut self, thread: usize, read: u64) -> Option<u64> {
        let made = self.made[thread];
        self.made[thread] += 1;
        self.found[thread] = read;
        match made {
            0 | 2 => Some(1),
            4 => Some(0),
            _ => None,
        }
    }

    fn value(&mut self, addr: u32) -> u64 {
        if addr == LOCK { self.lock } else { self.data * u64::from(addr == DATA) }
    }

    fn set(&mut self, addr: u32, value: u64) {
        *(if addr == LOCK { &mut self.lock } else { &mut self.data }) = value;
    }
}

/// A thread that looks at a word until another one has set it, or this many times; the other one sets the word if it is to.
struct Spins {
    times: usize,
    sets: bool,
    looks: AccessKind,
    made: [usize; 2],
    ended: [bool; 2],
}

impl Threads for Spins {
    fn threads(&self) -> usize {
        2
    }

    fn next(&mut self, thread: usize) -> Result<Access, Halt> {
        let kind = if thread == 0 { self.looks } else { AccessKind::Store };
        let ended = self.ended[thread] || thread == 1 && !self.sets;
        let c11 = C11::new(Order::Relaxed);
        let access =
            Access { kind, barrier: Barrier::None, c11, part: 0, addr: 0, site: thread as u32, expected: None };
        if ended { Err(Halt::Ended) } else { Ok(access) }
    }

    fn perform(&mut self, thread: usize, read: u64) -> Option<u64> {
        self.made[thread] += 1;
        self.ended[thread] = thread == 1 || read == 7 || self.made[thread] >= self.times;
        match (thread, self.looks) {
            (1, _) => Some(7),
            (_, AccessKind::Rmw) => Some(read),
            _ => None,
        }
    }

    fn value(&mut self, _: u32) -> u64 {
        0
    }

    fn set(&mut self, _: u32, _: u64) {}
}

/// Waiting loops are run on: only those wait forever that go round without effect, while nobody else can do anything.
#[test]
fn waiting_loops() {
    for looks in [AccessKind::Load, AccessKind::Rmw] {
        let waits = |times, sets, waiting: &[u32]| {
            let mut program = Spins { times, sets, looks, made: [0; 2], ended: [false; 2] };
            let steps = [WeakStep::of(0), WeakStep::of(0)];
            let claims = [0, 0].map(|site| Claim { thread: 0, site, read: Some(0) });
            weak::confirms(&mut program, GraphModel::Tso, &steps, &claims, Ending::Waits(waiting)).map(|_| ())
        };
        let not = |thread| Err(Refusal::Ending { thread });
        assert_eq!(waits(usize::MAX, false, &[0]), Ok(()));
        assert_eq!(waits(usize::MAX, false, &[1]), not(1), "it has ended");
        assert_eq!(waits(usize::MAX, true, &[0]), not(1), "the other one goes on");
        assert_eq!(waits(10, false, &[0]), not(0), "it gives up");
        assert_eq!(waits(weak::IN_VAIN + 1, false, &[0]), not(0), "it gives up");
    }
}

#[test]
fn locks_choices_and_endings() {
    let step = WeakStep::of;
    let choose = |thread, outcome| WeakStep { choice: Some(outcome), ..WeakStep::of(thread) };
    let claim = |thread, site, read| Claim { thread, site, read };
    // The first one keeps the lock, and the second waits for it forever.
    let steps = [step(0), step(0), step(0), choose(0, 0)];
    let claims = [claim(0, 0, Some(0)), claim(0, 1, Some(0)), claim(0, 2, None), claim(0, 3, Some(0))];
    let confirms = |model, steps: &[WeakStep], claims: &[Claim], ending| {
        weak::confirms(&mut Locked::new(true), model, steps, claims, ending).map(|confirmed| confirmed.cycle.is_some())
    };
    for model in GraphModel::ALL {
        assert_eq!(confirms(model, &steps, &claims, Ending::Waits(&[1])), Ok(false));
        assert_eq!(confirms(model, &steps, &claims, Ending::Open), Ok(false));
        let not = |thread| Err(Refusal::Ending { thread });
        assert_eq!(confirms(model, &steps, &claims, Ending::Waits(&[0, 1])), not(0), "it has ended");
        assert_eq!(confirms(model, &steps, &claims, Ending::Waits(&[1, 9])), not(9));
        assert_eq!(confirms(model, &steps, &claims, Ending::Complete), not(1));
        assert_eq!(confirms(model, &steps, &claims, Ending::Waits(&[])), not(0));
        assert_eq!(confirms(model, &steps, &claims, Ending::Stops(1)), not(1));
        assert_eq!(confirms(model, &steps, &claims, Ending::Stops(9)), not(9));
        assert_eq!(confirms(model, &steps[..3], &claims[..3], Ending::Waits(&[0, 1])), not(0), "it can go on");
    }
    // Every claim counts, and nothing else may have been done.
    for at in 0..claims.len() {
        let mut wrong = claims;
        wrong[at].site += 1;
        assert_eq!(confirms(GraphModel::Tso, &steps, &wrong, Ending::Open), Err(Refusal::Claims));
        let mut wrong = claims;
        wrong[at].read = Some(7);
        assert_eq!(confirms(GraphModel::Tso, &steps, &wrong, Ending::Open), Err(Refusal::Claims));
    }
    assert_eq!(confirms(GraphModel::Tso, &steps, &claims[..3], Ending::Open), Err(Refusal::Claims));
    assert_eq!(confirms(GraphModel::Tso, &steps[..3], &claims, Ending::Open), Err(Refusal::Claims));
    let choice = Refusal::Step { step: 3, cause: Cause::Choice { thread: 0 } };
    assert_eq!(confirms(GraphModel::Tso, &[step(0), step(0), step(0), step(0)], &[], Ending::Open), Err(choice));
    assert_eq!(confirms(GraphModel::Tso, &[step(0), step(0), step(0), choose(0, 2)], &[], Ending::Open), Err(choice));

    // The second takes the lock after the first has given it back, and fails on what it finds.
    let both = [step(0), step(0), step(0), choose(0, 1), step(0), step(1), step(1)];
    let found = weak::replay(&mut Locked::new(true), GraphModel::C11, &both).expect("it is possible");
    assert_eq!(found.trace.threads[1][1].read.map(|read| read.value), Some(1));
    let mut locked = Locked::new(true);
    let claims: Vec<Claim> = (0..)
        .zip(&found.trace.threads)
        .flat_map(|(thread, made)| {
            made.iter().map(move |made| claim(thread, made.access.site, made.read.map(|r| r.value)))
        })
        .collect();
    assert!(weak::confirms(&mut locked, GraphModel::C11, &both, &claims, Ending::Stops(1)).is_ok());
    let waits = Ending::Waits(&[1]);
    let refused = weak::confirms(&mut Locked::new(true), GraphModel::C11, &both, &claims, waits).map(|_| ());
    assert_eq!(refused, Err(Refusal::Ending { thread: 1 }));
}

/// A lock that is taken although it is held: a machine with buffers cannot tell an interlocked operation that, and a
/// synchronisation object is told by no model.
#[test]
fn stale_locks() {
    let behind = |thread, behind| WeakStep { behind, ..WeakStep::of(thread) };
    let steps = [behind(0, 0), behind(1, 1)];
    let refused = |fresh, model| weak::replay(&mut Locked::new(fresh), model, &steps).map(|_| ()).unwrap_err();
    for model in GraphModel::ALL {
        for fresh in [true, false] {
            assert_eq!(refused(fresh, model), Refusal::Forbidden(Axiom::Atomicity), "{model:?}");
        }
    }
    // The same with a load of what the lock guards: it misses a write though the lock says that it was made.
    let choose = WeakStep { choice: Some(1), ..WeakStep::of(0) };
    let steps = [behind(0, 0), behind(0, 0), behind(0, 0), choose, behind(0, 0), behind(1, 0), behind(1, 1)];
    let answer = |fresh, model| weak::replay(&mut Locked::new(fresh), model, &steps).map(|found| found.cycle.is_some());
    assert_eq!(answer(true, GraphModel::C11), Err(Refusal::Forbidden(Axiom::Coherence)));
    assert_eq!(answer(true, GraphModel::Tso), Err(Refusal::Forbidden(Axiom::MemoryOrder)));
    assert_eq!(answer(false, GraphModel::C11), Ok(true), "nothing synchronises");
    // pso keeps no store before an interlocked operation at another address.
    assert_eq!(answer(false, GraphModel::Pso), Ok(true));
}

/// Two threads ask two objects whether the other has come: at least one sees it, under every model.
#[test]
fn fresh_accesses_are_in_one_order() {
    struct Objects {
        made: [usize; 2],
        memory: [u64; 2],
        fresh: bool,
    }
    impl Threads for Objects {
        fn threads(&self) -> usize {
            2
        }

        fn next(&mut self, thread: usize) -> Result<Access, Halt> {
            let (kind, addr) = match self.made[thread] {
                0 => (AccessKind::Store, thread),
                1 => (AccessKind::Load, 1 - thread),
                _ => return Err(Halt::Ended),
            };
            let c11 = C11::new(Order::Relaxed);
            let c11 = if self.fresh { c11.fresh() } else { c11 };
            Ok(Access { kind, barrier: Barrier::None, c11, part: 0, addr: addr as u32, site: 0, expected: None })
        }

        fn perform(&mut self, thread: usize, _: u64) -> Option<u64> {
            self.made[thread] += 1;
            (self.made[thread] == 1).then_some(1)
        }

        fn value(&mut self, addr: u32) -> u64 {
            self.memory[addr as usize]
        }

        fn set(&mut self, addr: u32, value: u64) {
            self.memory[addr as usize] = value;
        }
    }
    let last = WeakStep { behind: 1, ..WeakStep::of(1) };
    let steps = [WeakStep::of(0), WeakStep::of(0), WeakStep::of(1), last];
    for model in [GraphModel::Tso, GraphModel::Pso, GraphModel::C11] {
        let answer =
            |fresh| weak::replay(&mut Objects { made: [0; 2], memory: [0; 2], fresh }, model, &steps).map(|_| ());
        assert_eq!(answer(true), Err(Refusal::Forbidden(Axiom::Fresh)));
        assert_eq!(answer(false), Ok(()));
    }
}
