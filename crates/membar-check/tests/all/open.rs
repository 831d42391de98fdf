//! Traces with repeated values against enumeration of memory orders, every certificate re-checked.
//!
//! `MEMBAR_ORACLE_TRACES=100000 cargo test --release -p membar-check --test all open::` runs the long version.

use crate::common::{model, text, traces};
use membar_certify::{Certifier, Flaw};
use membar_check::{Checker, Limits};
use membar_core::{OpId, OpKind, Proof, Read, ResolveScratch, Rng, Source, Trace, Verdict, Witness};
use membar_testkit::riscv::{Riscv, armed, decide, decorated};
use membar_testkit::{Small, small};

/// Random traces, unless the environment asks for more.
const TRACES: u64 = 2000;

/// The trace with fewer different values; not yet resolved.
fn folded(trace: &Trace, values: u64, rng: &mut Rng) -> Trace {
    let all: Vec<OpId> = trace.ops().collect();
    let empty = trace.restricted_to(&[], |_| false, |_| false);
    let mut new = empty;
    let fold = |value: u64| value % values;
    for &id in &all {
        let mut op = trace.op(id);
        op.thread = new.thread_id(trace.thread_names()[op.thread.index()]);
        if op.addr != membar_core::AddrId::NONE {
            op.addr = new.addr_id(&trace.addr_names()[op.addr.index()]);
        }
        op.read = fold(op.read);
        op.write = fold(op.write);
        if op.kind == OpKind::Load && rng.chance(1, 40) {
            op.read = u64::from(rng.below(values as u32));
        }
        new.push(op);
        for dep in trace.dependencies(id) {
            new.push_dependency(dep.how, dep.back);
        }
    }
    for end in &trace.finals {
        let addr = new.addr_id(&trace.addr_names()[end.addr.index()]);
        new.finals.push(membar_core::Final { addr, value: fold(end.value), ..*end });
    }
    for init in &trace.inits {
        let addr = new.addr_id(&trace.addr_names()[init.addr.index()]);
        new.inits.push(membar_core::Init { addr, value: fold(init.value), ..*init });
    }
    new
}

/// A recording of a sequentially consistent machine whose threads take turns at random: a bit for each of four addresses.
#[test]
fn recordings_in_order_are_decided_whatever_their_values() {
    let mut rng = Rng::stream(7, 0x0BE7);
    let mut trace = Trace::new();
    trace.clear(1);
    let threads: Vec<_> = (0..8).map(|name| trace.thread_id(name)).collect();
    let addrs: Vec<_> = (0..4).map(|name| trace.memory_id(name)).collect();
    let mut memory = [0; 4];
    for line in 1..=20_000 {
        let (thread, at) = (threads[rng.below(8) as usize], rng.below(4) as usize);
        if rng.chance(1, 2) {
            memory[at] = u64::from(rng.below(2));
            trace.push_store(thread, addrs[at], memory[at], line);
        } else {
            trace.push_load(thread, addrs[at], memory[at], line);
        }
    }
    trace.resolve_recorded(&mut ResolveScratch::default()).unwrap();
    assert!(trace.is_open());
    for name in ["sc", "tso", "rvwmo"] {
        let verdict = Checker::new().check(&trace, model(name), &Limits::default()).verdict;
        assert!(matches!(verdict, Verdict::Allowed(_)), "{name}: {verdict:?}");
        Certifier::new().verdict(&trace, model(name), &verdict).unwrap();
    }
}

#[test]
fn oracle_repeated() {
    let many = Small { finals: true, inits: true, ..Small::PLAIN };
    let two = Small { threads: 2..=2, addresses: 1..=2, ops: 5..=10, ..many.clone() };
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    let (mut counts, mut open, mut cases) = ([[0u64; 2]; 4], 0u64, 0u64);
    let models = [("sc", Riscv::Sc), ("ztso", Riscv::Ztso), ("rvwmo", Riscv::Rvwmo), ("armv8", Riscv::Armv8)];
    for seed in 0..traces(TRACES) {
        let mut rng = Rng::stream(seed, 0x0BE7);
        let mut trace = decorated(&small(if seed % 2 == 0 { &many } else { &two }, (13 << 32) + seed), &mut rng);
        if trace.resolve(&mut ResolveScratch::default()).is_err() {
            continue;
        }
        let mut trace = armed(&trace, &mut rng);
        if trace.resolve(&mut ResolveScratch::default()).is_err() {
            continue;
        }
        let values = u64::from(rng.between(2, 4));
        let mut trace = folded(&trace, values, &mut rng);
        if trace.resolve_recorded(&mut ResolveScratch::default()).is_err() || !trace.is_open() {
            continue;
        }
        open += 1;
        let mut stronger = false;
        for (i, (name, manual)) in models.into_iter().enumerate() {
            let model = model(name);
            let trace = trace.for_model(model);
            let context = || format!("seed {seed}, {name}:\n{}", text(&trace));
            let expected = decide(&trace, manual);
            let verdict = checker.check(&trace, model, &Limits::default()).verdict;
            assert_eq!(matches!(verdict, Verdict::Allowed(_)), expected, "{verdict:#?}{}", context());
            assert!(!matches!(verdict, Verdict::Undecided { .. }));
            if let Err(flaw) = certifier.verdict(&trace, model, &verdict) {
                panic!("{flaw}\n{verdict:#?}\n{}", context());
            }
            cases += u64::from(matches!(verdict, Verdict::Forbidden(Proof::Cases { .. })));
            if manual != Riscv::Armv8 {
                assert!(expected || !stronger, "a stronger model allows more: {}", context());
                stronger = expected;
            }
            counts[i][expected as usize] += 1;
        }
    }
    eprintln!("{open} open traces, {counts:?}, {cases} with cases");
    assert!(open * 2 > traces(TRACES) && cases * 20 > traces(TRACES));
    assert!(counts.iter().flatten().all(|&count| count * 20 > traces(TRACES)), "{counts:?}");
}

fn parse(text: &str) -> Trace {
    membar_trace::parse("open", text.as_bytes()).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

#[test]
fn a_proof_has_all_cases() {
    // x goes 1, 0 in one thread, and the other sees 1, 0, 1, 0, which coherence forbids, whichever 0 it was.
    let trace = parse("0: x := 1\n0: x := 0\n1: x == 1\n1: x == 0\n1: x == 1\ncheck\n");
    let sc = model("sc");
    assert!(trace.is_open());
    let Verdict::Forbidden(proof) = Checker::new().check(&trace, sc, &Limits::default()).verdict else { panic!() };
    let Proof::Cases { read, cases } = &proof else { panic!("{proof:?}") };
    assert_eq!(membar_certify::proof(&trace, sc, &proof), Ok(()));
    let fewer = Proof::Cases { read: *read, cases: cases[1..].to_vec() };
    assert_eq!(membar_certify::proof(&trace, sc, &fewer), Err(Flaw::Cases(*read)));
    let elsewhere = Proof::Cases { read: Read::Op(OpId(0)), cases: vec![(Source::INIT, cases[0].1.clone())] };
    assert_eq!(membar_certify::proof(&trace, sc, &elsewhere), Err(Flaw::Cases(Read::Op(OpId(0)))));
}

#[test]
fn a_witness_says_what_was_read() {
    let trace = parse("0: x := 1\n0: x := 0\n1: x == 1\n1: x == 0\ncheck\n");
    let sc = model("sc");
    let Verdict::Allowed(witness) = Checker::new().check(&trace, sc, &Limits::default()).verdict else { panic!() };
    assert_eq!(membar_certify::witness(&trace, sc, &witness), Ok(()));
    let order = |ids: [u32; 4]| Witness { order: ids.map(OpId).to_vec() };
    assert_eq!(membar_certify::witness(&trace, sc, &order([0, 2, 1, 3])), Ok(()));
    assert_eq!(membar_certify::witness(&trace, sc, &order([0, 1, 2, 3])), Err(Flaw::Value { read: OpId(2), gives: 0 }));
    assert!(membar_certify::witness(&trace, sc, &order([0, 2, 3, 1])).is_err());
}

/// A recording of a machine with store buffers of this depth (0: none), with values of 8 bits.
fn recorded(ops: usize, threads: u32, addrs: u32, depth: usize, seed: u64) -> Trace {
    let mut rng = Rng::stream(seed, 0x51);
    let mut trace = Trace::new();
    trace.clear(1);
    let ids: Vec<_> = (0..threads).map(|t| trace.thread_id(t)).collect();
    let places: Vec<_> = (0..addrs).map(|a| trace.memory_id(u64::from(a))).collect();
    let mut memory = vec![0u64; addrs as usize];
    let mut buffers = vec![std::collections::VecDeque::new(); threads as usize];
    while trace.len() < ops {
        let t = rng.below(threads) as usize;
        if buffers[t].len() > depth || (!buffers[t].is_empty() && rng.chance(1, 3)) {
            let (a, value): (usize, u64) = buffers[t].pop_front().unwrap();
            memory[a] = value;
            continue;
        }
        let (a, line) = (rng.below(addrs) as usize, trace.len() as u64 + 1);
        if rng.chance(1, 2) {
            let value = u64::from(rng.below(256));
            trace.push_store(ids[t], places[a], value, line);
            buffers[t].push_back((a, value));
            if depth == 0 {
                memory[a] = value;
                buffers[t].clear();
            }
        } else {
            let own = buffers[t].iter().rev().find(|&&(b, _)| b == a);
            let value = own.map_or(memory[a], |&(_, value)| value);
            trace.push_load(ids[t], places[a], value, line);
        }
    }
    trace.resolve_recorded(&mut ResolveScratch::default()).unwrap();
    trace
}

#[test]
fn a_right_machine_is_found_right() {
    let ops = std::env::var("MEMBAR_LARGE").ok().and_then(|n| n.parse().ok()).unwrap_or(16_384);
    for (name, depth, addrs) in [("sc", 0, 256), ("tso", 8, 256), ("sc", 0, 24)] {
        let trace = recorded(ops, 16, addrs, depth, 1);
        let started = std::time::Instant::now();
        let limits = Limits::default().within(std::time::Duration::from_secs(20));
        let verdict = Checker::new().verdict(&trace, model(name), &limits).verdict;
        eprintln!("{name}: {} in {:.2} s", verdict.name(), started.elapsed().as_secs_f64());
        if let Verdict::Undecided { ordered, .. } = verdict {
            panic!("{name}: {ordered} of {ops}");
        }
        assert!(matches!(verdict, Verdict::Allowed(_)), "{name}");
        membar_certify::verdict(&trace, model(name), &verdict).unwrap();
    }
}
