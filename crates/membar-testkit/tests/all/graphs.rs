//! Execution graphs from axioms: known numbers, and random programs compared with machines and with the enumeration of
//! `membar-litmus`.
//!
//! Catches what no other test does: an axiom that is wrong in the same way in the code that decides and in its tests. The
//! machines have no axioms.

use membar_core::{Barrier, Rng};
use membar_litmus::{Code, Limits as Steps, LitmusTest, Method, Model as Named, outcomes_by};
use membar_testkit::graphs::{GaveUp, Graphs, Limits, Model, all, count, count_awaiting};
use membar_testkit::named;
use membar_testkit::programs::{self, Memory, Trace};
use membar_testkit::random::{Knobs, as_test, random_program};
use membar_testkit::shorthand::{Counted, counted, litmus};
use std::collections::{BTreeSet, HashSet};

const MACHINES: [Memory; 3] = [Memory::Sc, Memory::Tso, Memory::Pso];

/// Programs to compare; more with `MEMBAR_ORACLE_PROGRAMS`.
fn how_many(default: usize) -> usize {
    std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn counts(code: &Code, model: Model) -> (usize, usize) {
    let Graphs { complete, sc, .. } = count(code, model, &Limits::default()).expect("small enough");
    (complete, sc)
}

/// Each number is small enough to be counted by hand.
#[test]
fn known_numbers() {
    let numbers = |threads: &str| {
        let test = litmus("known", threads, "x=0");
        Model::ALL.map(|model| counts(&test.code, model).0)
    };
    // Two reads with two sources each; SC forbids that both miss.
    assert_eq!(numbers("x=1 rlx; r0=y rlx || y=1 rlx; r0=x rlx"), [3, 4, 4, 4]);
    assert_eq!(numbers("x=1 sc; r0=y sc || y=1 sc; r0=x sc"), [3, 3, 3, 3]);
    assert_eq!(numbers("x=1 rlx; F sc; r0=y rlx || y=1 rlx; F sc; r0=x rlx"), [3, 3, 3, 3]);
    // Releases and acquires order nothing here, store barriers neither.
    assert_eq!(numbers("x=1 rel; F rel; r0=y acq || y=1 rel; F rel; r0=x acq"), [3, 4, 4, 4]);
    // A read-modify-write waits for the buffer, also a compare-exchange that fails; under pso for its own address only.
    assert_eq!(numbers("x=1 rlx; r1=xchg z 1 rlx; r0=y rlx || y=1 rlx; F sc; r0=x rlx"), [3, 3, 4, 4]);
    assert_eq!(numbers("x=1 rlx; r1=cas z 5 1 rlx rlx; r0=y rlx || y=1 rlx; F sc; r0=x rlx"), [3, 3, 4, 4]);
    assert_eq!(numbers("x=1 rlx; r1=xchg z 1 rel; r0=y rlx || y=1 rlx; F sc; r0=x rlx"), [3, 3, 3, 4]);
    // Message passing: pso reorders the stores, RC11 also the loads.
    assert_eq!(numbers("x=1 rlx; y=1 rlx || r0=y rlx; r1=x rlx"), [3, 3, 4, 4]);
    assert_eq!(numbers("x=1 rlx; y=1 rel || r0=y rlx; r1=x rlx"), [3, 3, 3, 4]);
    assert_eq!(numbers("x=1 rlx; y=1 rel || r0=y acq; r1=x rlx"), [3, 3, 3, 3]);
    // Load buffering: no model has it.
    assert_eq!(numbers("r0=x rlx; y=1 rlx || r0=y rlx; x=1 rlx"), [3, 3, 3, 3]);
    // Coherence: the second read may not go back.
    assert_eq!(numbers("x=1 rlx || r0=x rlx; r1=x rlx"), [3, 3, 3, 3]);
    // A thread finds its own store in its buffer: 2 orders of the writes, and the read may be of the other one where that is last.
    assert_eq!(numbers("x=1 rlx; r0=x rlx || x=2 rlx"), [3, 3, 3, 3]);
    // n6: it does so while the store is delayed, which is why rf within a thread gives no order.
    // x=1 last: r1 is 1, with a delay also 0. x=2 last: r0=1 with either, r0=2 with 1, where stores are reordered also with 0.
    assert_eq!(numbers("x=1 rlx; r0=x rlx; r1=y rlx || y=1 rlx; x=2 rlx"), [4, 5, 6, 6]);
    // IRIW: machines with buffers have one memory. RC11 does not.
    let iriw = numbers("x=1 rlx || y=1 rlx || r0=x acq; r1=y acq || r0=y acq; r1=x acq");
    assert_eq!(iriw, [15, 15, 15, 16]);
    // Exchanges chain: the order of two, and nothing else.
    assert_eq!(numbers("r0=xchg x 1 rlx || r0=xchg x 2 rlx"), [2, 2, 2, 2]);
    // It succeeds, fails on the store, or succeeds before it.
    assert_eq!(numbers("r0=cas x 0 1 rlx rlx || x=2 rlx"), [2, 2, 2, 2]);
}

/// The programs of `corpus/litmus/graphs.tsv`, whose numbers of graphs come from elsewhere.
#[test]
#[ignore = "long"]
fn counted_programs() {
    let (mut compared, mut weaker) = (0, 0);
    let programs = counted();
    assert_eq!(programs.len(), 400);
    for Counted { threads, rc11, sc } in programs {
        let test = litmus("counted", &threads, "x=0");
        assert_eq!(counts(&test.code, Model::Rc11), (rc11, sc), "{threads}");
        assert_eq!(counts(&test.code, Model::SC), (sc, sc), "{threads}");
        if let Some(weak) = compare_machines(&test.code, &threads) {
            compared += 1;
            weaker += weak;
        }
    }
    assert!(compared > 300 && weaker > 100, "{compared} compared with machines, {weaker} not SC");
}

/// Compares with the traces that machines have, graph by graph. Under how many models some are not SC; `None` if too large.
fn compare_machines(code: &Code, name: &str) -> Option<usize> {
    let limits = Limits { graphs: 6_000, accesses: 20 };
    let machine = programs::Limits { max_accesses: 20, max_repeats: u8::MAX, max_configurations: 50_000 };
    let mut weaker = 0;
    for memory in MACHINES {
        let graphs = all(code, Model::Machine(memory), &limits).ok()?;
        let number = graphs.len();
        let graphs: HashSet<Trace> = graphs.into_iter().collect();
        assert_eq!(graphs.len(), number, "{name}, {memory:?}: each once");
        let traces: HashSet<Trace> = programs::traces(code, memory, &machine)?.into_iter().collect();
        assert_eq!(graphs, traces, "{name}, {memory:?}");
        let sequential = graphs.iter().filter(|graph| graph.is_sequential()).count();
        assert_eq!(programs::violations(code, memory, &machine), Some(sequential < number), "{name}, {memory:?}");
        weaker += usize::from(sequential < number);
    }
    Some(weaker)
}

/// Machines have exactly these graphs.
#[test]
fn oracle_machines() {
    let (mut compared, mut weaker) = (0, 0);
    let programs = how_many(150);
    for seed in 0..programs {
        let code = random_program(&mut Rng::new(8_000_000 + seed as u64), &Knobs::LOOP_FREE);
        let Some(weak) = compare_machines(&code, &format!("seed {seed}")) else { continue };
        compared += 1;
        weaker += weak;
    }
    assert!(compared * 3 > programs * 2 && weaker * 4 > programs, "{compared} compared, {weaker} not SC");
}

/// A random statement of C with the orders of C11, which front ends turn into barriers for machines.
fn statement(rng: &mut Rng, register: usize) -> String {
    let cell = *rng.pick(&["x", "y", "x", "y", "z"]).expect("there are some");
    let mut order = |of: &[&'static str]| *rng.pick(of).expect("there are some");
    let any = ["rlx", "acq", "rel", "ar", "sc"];
    let (store, load, rmw) =
        (order(&["rlx", "rlx", "rlx", "rel", "sc"]), order(&["rlx", "rlx", "acq", "sc"]), order(&any));
    let (failure, fence) = (order(&["rlx", "acq", "sc"]), order(&["acq", "rel", "ar", "sc"]));
    let (value, expected) = (1 + rng.below(2), rng.below(3));
    match rng.below(16) {
        0..=5 => format!("{cell}={value} {store}"),
        6..=10 => format!("r{register}={cell} {load}"),
        11 => format!("r{register}=xchg {cell} {value} {rmw}"),
        12 => format!("r{register}=add {cell} {value} {rmw}"),
        13 => format!("r{register}=cas {cell} {expected} {value} {rmw} {failure}"),
        14 => format!("F {fence}"),
        _ => format!("r{register}={cell} {load}; if (r{register} == {value}) {{; y={value} {store}; }}"),
    }
}

fn c_program(rng: &mut Rng) -> String {
    let threads = rng.between(2, 3);
    let thread = |rng: &mut Rng| {
        let length = rng.between(2, if threads == 2 { 4 } else { 3 });
        (0..length).map(|at| statement(rng, at as usize)).collect::<Vec<_>>().join("; ")
    };
    (0..threads).map(|_| thread(rng)).collect::<Vec<_>>().join(" || ")
}

/// Machines have exactly these graphs of programs in C, and `membar-litmus` the same states and as many executions.
#[test]
fn oracle_c() {
    let (mut compared, mut weak, mut different) = (0, 0, 0);
    let programs = how_many(150);
    for seed in 0..programs {
        let threads = c_program(&mut Rng::new(9_000_000 + seed as u64));
        let test = as_test(litmus("random", &threads, "x=0").code);
        if compare_machines(&test.code, &threads).is_none() {
            continue;
        }
        let Some(numbers) = compare_states(&test, &threads) else { continue };
        compared += 1;
        weak += usize::from(numbers[3] > numbers[0]);
        different += usize::from(numbers.iter().collect::<BTreeSet<_>>().len() > 2);
    }
    assert!(
        compared * 3 > programs * 2 && weak * 6 > programs && different * 40 > programs,
        "{compared}: {weak} weak, {different} different"
    );
}

/// Compares final states and numbers of executions with those of `membar-litmus`, model by model. `None`: too large.
fn compare_states(test: &LitmusTest, name: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for (model, named) in Model::ALL.into_iter().zip([Named::Sc, Named::Tso, Named::Pso, Named::C11]) {
        let graphs = count(&test.code, model, &Limits { graphs: 6_000, ..Limits::default() }).ok()?;
        let outcomes = outcomes_by(Method::Executions, test, named, &Steps::default())?;
        assert!(outcomes.complete && outcomes.crash.is_none());
        assert_eq!(outcomes.positive + outcomes.negative, graphs.complete as u64, "{name}, {model:?}");
        assert_eq!(outcomes.states.into_iter().collect::<BTreeSet<_>>(), graphs.states, "{name}, {model:?}");
        numbers.push(graphs.complete);
    }
    Some(numbers)
}

/// `membar-litmus` has the same states and as many executions of programs with every kind of order and branch.
#[test]
fn oracle_litmus() {
    let (mut compared, mut weak) = (0, 0);
    let programs = how_many(150);
    for seed in 0..programs {
        let knobs = if seed % 2 == 0 { &Knobs::C11 } else { &Knobs::LOOP_FREE };
        let test = as_test(random_program(&mut Rng::new(7_000_000 + seed as u64), knobs));
        let Some(numbers) = compare_states(&test, &format!("seed {seed}")) else { continue };
        compared += 1;
        weak += usize::from(numbers[1..].iter().any(|&number| number > numbers[0]));
    }
    assert!(compared * 3 > programs * 2 && weak * 4 > programs, "{compared} compared, {weak} not SC");
}

/// Programs with loops end as machines say, and without loops nothing is left out.
#[test]
fn oracle_awaiting() {
    let limits = Limits { graphs: 4_000, accesses: 10 };
    let machine = programs::Limits { max_configurations: 50_000, ..programs::Limits::default() };
    let (mut compared, mut looping, mut weak) = (0, 0, 0);
    let programs = how_many(150);
    for seed in 0..programs {
        let code = random_program(&mut Rng::new(4_000_000 + seed as u64), &Knobs { waits: 4, locks: 2, ..Knobs::ALL });
        for memory in MACHINES {
            let Ok(graphs) = count_awaiting(&code, Model::Machine(memory), &limits) else { continue };
            let Some(finals) = programs::finals(&code, memory, &machine) else { continue };
            assert_eq!(graphs.states, finals, "seed {seed}, {memory:?}\n{code:#?}");
            compared += 1;
            weak += usize::from(graphs.complete > graphs.sc);
            match count(&code, Model::Machine(memory), &limits) {
                Ok(everything) => assert_eq!(graphs, everything, "seed {seed}, {memory:?}"),
                Err(GaveUp::Accesses | GaveUp::Graphs) => looping += 1,
                Err(GaveUp::Stuck) => panic!("seed {seed}"),
            }
        }
    }
    assert!(
        compared > 2 * programs && looping > programs && weak * 8 > programs,
        "{compared} compared, {looping} with loops, {weak} not SC"
    );
}

/// Waiting for a flag: an await has a graph for each write that ends it.
#[test]
fn awaits() {
    let counts = |text: &str| {
        let test = LitmusTest::parse("awaits", text.as_bytes()).expect("a test");
        assert_eq!(count(&test.code, Model::SC, &Limits::default()), Err(GaveUp::Accesses));
        let number = |model| count_awaiting(&test.code, model, &Limits::default()).expect("small enough").complete;
        Model::ALL.map(number)
    };
    let waiter = |body: &str| format!("P1 (atomic_int* x, atomic_int* y) {{ {body} }}\nexists (x=0)");
    let relaxed = "memory_order_relaxed";
    let writer = format!(
        "C wait\n{{}}\nP0 (atomic_int* x, atomic_int* y) {{ atomic_store_explicit(x, 1, {relaxed}); \
         atomic_store_explicit(y, 1, {relaxed}); }}\n"
    );
    // Only y=1 ends it; x is then 1, under pso and RC11 also 0.
    let wait = format!("while (atomic_load_explicit(y, {relaxed}) == 0) {{}}");
    let read = format!("int r0 = atomic_load_explicit(x, {relaxed});");
    assert_eq!(counts(&format!("{writer}{}", waiter(&format!("{wait} {read}")))), [1, 1, 2, 2]);
    // Either ends it: y=1, or x=1 with y=0 or y=1 read before. The condition stops at the first that is not 0.
    let either = format!(
        "int r0 = 0; int r1 = 0; while (r0 == 0 && r1 == 0) {{ r0 = atomic_load_explicit(y, {relaxed}); \
         r1 = atomic_load_explicit(x, {relaxed}); }}"
    );
    // (y, x) read as (1, 1) or (0, 1); where stores are reordered also (1, 0).
    assert_eq!(counts(&format!("{writer}{}", waiter(&either))), [2, 2, 3, 3]);
    // Nobody ends it.
    let never = "while (atomic_load(x) != 7) {}";
    assert_eq!(counts(&format!("{writer}{}", waiter(never))), [0; 4]);
}

/// Limits are kept.
#[test]
fn gives_up() {
    let code = named::store_buffering([Barrier::None; 2]);
    let limited =
        |graphs, accesses| count(&code, Model::TSO, &Limits { graphs, accesses }).map(|graphs| graphs.complete);
    assert_eq!(limited(1000, 2), Ok(4));
    assert_eq!(limited(5, 2), Err(GaveUp::Graphs));
    assert_eq!(limited(1000, 1), Err(GaveUp::Accesses));
}
