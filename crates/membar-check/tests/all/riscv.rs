//! RISC-V's models against the manual's axioms, on small random traces, with every certificate re-checked.
//!
//! `MEMBAR_ORACLE_TRACES=100000 cargo test --release -p membar-check --test all riscv::` runs the long version.

use crate::common::{model, text, traces};
use membar_certify::Certifier;
use membar_certify::Flaw;
use membar_check::{Checker, Limits, Plan};
use membar_core::{
    Condition, Event, Lemma, Marks, OpId, OpKind, Proof, ProofStep, ResolveScratch, Rng, Rule, RuleName, Trace,
    Verdict, Witness,
};
use membar_testkit::riscv::{Riscv, armed, decide, decorated, explains, holds};
use membar_testkit::{Small, orders, small};
use std::collections::HashSet;

/// Random traces, unless the environment asks for more.
const TRACES: u64 = 4000;

/// The rules that proofs used.
fn rules(proof: &Proof, used: &mut HashSet<RuleName>) {
    if let Proof::Cycle(lemmas) = proof {
        let kept = |rule: &Rule| matches!(rule, Rule::Kept { .. });
        used.extend(lemmas.iter().flat_map(|l| &l.steps).map(|step| step.rule).filter(kept).map(Rule::name));
    }
}

#[test]
fn oracle_manual() {
    let many = Small { finals: true, inits: true, orders: true, ..Small::PLAIN };
    let two = Small { threads: 2..=2, addresses: 1..=2, ops: 5..=10, ..many.clone() };
    let mut checkers = [Checker::new(), Checker::with_plan(Plan::Paper), Checker::with_allowance(Plan::Fast, 1)];
    let mut certifier = Certifier::new();
    let mut used = HashSet::new();
    let (mut counts, mut resolved, mut pairs, mut unreserved, mut differ) = ([[0u64; 2]; 2], 0u64, 0u64, 0u64, 0u64);
    for seed in 0..traces(TRACES) {
        let mut rng = Rng::stream(seed, 0x815C);
        let mut trace = decorated(&small(if seed % 2 == 0 { &many } else { &two }, (7 << 32) + seed), &mut rng);
        if trace.resolve(&mut ResolveScratch::default()).is_err() {
            continue;
        }
        resolved += 1;
        pairs += trace.ops().any(|op| trace.reservation(op).is_some()) as u64;
        unreserved += trace.unreserved().is_some() as u64;
        let mut stronger = orders::decide(&trace, model("sc")) && trace.unreserved().is_none();
        for (i, (name, manual)) in [("ztso", Riscv::Ztso), ("rvwmo", Riscv::Rvwmo)].into_iter().enumerate() {
            let context = || format!("seed {seed}, {name}:\n{}", text(&trace));
            let model = model(name);
            let expected = decide(&trace, manual);
            assert_eq!(orders::decide(&trace, model), expected, "the oracles differ: {}", context());
            for checker in &mut checkers {
                let raw = checker.verdict(&trace, model, &Limits::default()).verdict;
                assert_eq!(matches!(raw, Verdict::Allowed(_)), expected, "{}", context());
                let short = checker.check(&trace, model, &Limits::default()).verdict;
                assert_eq!(short.kind(), raw.kind(), "{}", context());
                for verdict in [&raw, &short] {
                    if let Err(flaw) = certifier.verdict(&trace, model, verdict) {
                        panic!("{flaw}\n{verdict:#?}\n{}", context());
                    }
                    if let Verdict::Forbidden(proof) = verdict {
                        rules(proof, &mut used);
                    }
                }
            }
            assert!(expected || !stronger, "a stronger model allows more: {}", context());
            differ += (expected != stronger) as u64;
            stronger = expected;
            counts[i][expected as usize] += 1;
        }
    }
    eprintln!(
        "{resolved} traces, {counts:?}, {pairs} with pairs, {unreserved} without, {differ} differ, rules {used:?}"
    );
    assert!(
        resolved * 10 > traces(TRACES) * 9
            && pairs * 20 > traces(TRACES)
            && unreserved * 200 > traces(TRACES)
            && differ * 20 > traces(TRACES)
    );
    assert!(counts.iter().flatten().all(|&count| count * 20 > traces(TRACES)));
    let asked = |c: &&Condition| model("rvwmo").ppo.any(|when| when.also.has(**c));
    assert!(used.len() + 1 >= Condition::ALL.iter().filter(asked).count(), "rules that no proof needed: {used:?}");
}

#[test]
fn oracle_armv8() {
    let many = Small { finals: true, inits: true, ..Small::PLAIN };
    let two = Small { threads: 2..=2, addresses: 1..=2, ops: 5..=10, ..many.clone() };
    let mut checkers = [Checker::new(), Checker::with_plan(Plan::Paper), Checker::with_allowance(Plan::Fast, 1)];
    let mut certifier = Certifier::new();
    let (mut used, mut counts, mut resolved) = (HashSet::new(), [0u64; 2], 0u64);
    let model = model("armv8");
    for seed in 0..traces(TRACES) {
        let mut rng = Rng::stream(seed, 0xA64);
        let mut trace = decorated(&small(if seed % 2 == 0 { &many } else { &two }, (11 << 32) + seed), &mut rng);
        if trace.resolve(&mut ResolveScratch::default()).is_err() {
            continue;
        }
        let mut trace = armed(&trace, &mut rng);
        if trace.resolve(&mut ResolveScratch::default()).is_err() {
            continue;
        }
        resolved += 1;
        let trace = trace.for_model(model);
        let context = || format!("seed {seed}:\n{}", text(&trace));
        let expected = decide(&trace, Riscv::Armv8);
        assert_eq!(orders::decide(&trace, model), expected, "the oracles differ: {}", context());
        for checker in &mut checkers {
            let raw = checker.verdict(&trace, model, &Limits::default()).verdict;
            assert_eq!(matches!(raw, Verdict::Allowed(_)), expected, "{}", context());
            let short = checker.check(&trace, model, &Limits::default()).verdict;
            assert_eq!(short.kind(), raw.kind(), "{}", context());
            for verdict in [&raw, &short] {
                if let Err(flaw) = certifier.verdict(&trace, model, verdict) {
                    panic!("{flaw}\n{verdict:#?}\n{}", context());
                }
                if let Verdict::Forbidden(proof) = verdict {
                    rules(proof, &mut used);
                }
            }
        }
        counts[expected as usize] += 1;
    }
    eprintln!("{resolved} traces, {counts:?}, rules {used:?}");
    assert!(resolved * 10 > traces(TRACES) * 9 && counts.iter().all(|&count| count * 20 > traces(TRACES)));
    assert!(used.len() >= 9, "rules that no proof needed: {used:?}");
}

/// Traces that one rule alone forbids: the rule's number in the manual, its name in proofs, the trace, and a line without which,
/// or with the second text instead of which, it is allowed.
const ALONE: [(&str, &str, &str, &str); 13] = [
    // Message passing, with the writer in order.
    (
        "R1",
        "0: x := 1\n0: x := 2\n1: x == 2\n1: fence r,r\n1: x == 1\ncheck\n",
        "0: x := 1\n0: x := 2\n",
        "0: x := 1\n2: x := 2\n",
    ),
    (
        "PPO2",
        "0: x := 1\n0: fence w,w\n0: x := 2\n1: x == 2\n1: x == 1\ncheck\n",
        "1: x == 2\n1: x == 1\n",
        "1: x == 2\n2: x == 1\n",
    ),
    (
        "PPO3",
        "0: lr x == 0\n0: sc x := 1\n0: x == 1\n0: y == 0 addr(-1)\n1: y := 1\n1: fence w,r\n1: x == 0\ncheck\n",
        "0: sc x := 1\n",
        "0: x := 1\n",
    ),
    ("R3", "0: x := 1\n0: fence w,w\n0: y := 1\n1: y == 1\n1: fence r,r\n1: x == 0\ncheck\n", "0: fence w,w\n", ""),
    ("PPO5", "0: x := 1\n0: fence w,w\n0: y := 1\n1: y == 1 aq\n1: x == 0\ncheck\n", " aq", ""),
    ("PPO6", "0: x := 1\n0: y := 1 rl\n1: y == 1\n1: fence r,r\n1: x == 0\ncheck\n", " rl", ""),
    ("PPO7", "0: x := 1 rl\n0: y == 0 aq\n1: y := 1\n1: fence w,r\n1: x == 0\ncheck\n", " aq", ""),
    (
        "R4",
        "0: lr x == 0\n0: sc x := 1\n1: x := 2\n2: x == 2\n2: fence r,r\n2: x == 1\nfinal x == 1\ninit x == 0\n3: x == 0\n3: fence r,r\n3: x == 2\ncheck\n",
        "0: sc x := 1\n",
        "0: x := 1\n",
    ),
    ("PPO9", "0: x := 1\n0: fence w,w\n0: y := 1\n1: y == 1\n1: x == 0 addr(-1)\ncheck\n", " addr(-1)", ""),
    ("PPO10", "0: x == 1\n0: fence r,w\n0: y := 1\n1: y == 1\n1: x := 1 data(-1)\ncheck\n", " data(-1)", ""),
    ("PPO11", "0: x == 1\n0: fence r,w\n0: y := 1\n1: y == 1\n1: x := 1 ctrl(-1)\ncheck\n", " ctrl(-1)", ""),
    (
        "PPO12",
        "0: x := 1\n0: fence w,w\n0: y := 1\n1: y == 1\n1: z := 5 data(-1)\n1: z == 5\n1: x == 0 addr(-1)\ncheck\n",
        " data(-1)",
        "",
    ),
    ("PPO13", "0: x == 1\n0: fence r,w\n0: y := 1\n1: y == 1\n1: z == 0 addr(-1)\n1: x := 1\ncheck\n", " addr(-1)", ""),
];

/// The same for armv8.
const ARM_ALONE: [(&str, &str, &str, &str); 14] = [
    ("PPO2", "0: x := 1\n0: dmb st\n0: x := 2\n1: x == 2\n1: x == 1\ncheck\n", "1: x == 1", "2: x == 1"),
    ("PPO5", "0: x := 1\n0: dmb st\n0: y := 1\n1: y == 1 aq\n1: x == 0\ncheck\n", " aq", ""),
    ("PPO5", "0: x := 1\n0: dmb st\n0: y := 1\n1: y == 1 aqpc\n1: x == 0\ncheck\n", " aqpc", ""),
    ("PPO6", "0: x := 1\n0: y := 1 rl\n1: y == 1\n1: dmb ld\n1: x == 0\ncheck\n", " rl", ""),
    ("PPO7", "0: x := 1 rl\n0: y == 0 aq\n1: y := 1\n1: dmb sy\n1: x == 0\ncheck\n", " aq", " aqpc"),
    ("R3", "0: x := 1\n0: dmb st\n0: y := 1\n1: y == 1\n1: dmb ld\n1: x == 0\ncheck\n", "0: dmb st\n", ""),
    ("PPO9", "0: x := 1\n0: dmb st\n0: y := 1\n1: y == 1\n1: x == 0 addr(-1)\ncheck\n", " addr(-1)", ""),
    ("PPO10", "0: x == 1\n0: dmb ld\n0: y := 1\n1: y == 1\n1: x := 1 data(-1)\ncheck\n", " data(-1)", ""),
    ("PPO11", "0: x == 1\n0: dmb ld\n0: y := 1\n1: y == 1\n1: x := 1 ctrl(-1)\ncheck\n", " ctrl(-1)", ""),
    (
        "PPO12",
        "0: x := 1\n0: dmb st\n0: y := 1\n1: y == 1\n1: z := 5 data(-1)\n1: z == 5\n1: x == 0 addr(-1)\ncheck\n",
        " data(-1)",
        "",
    ),
    ("PPO13", "0: x == 1\n0: dmb ld\n0: y := 1\n1: y == 1\n1: z == 0 addr(-1)\n1: x := 1\ncheck\n", " addr(-1)", ""),
    ("ISB", "0: x := 1\n0: dmb st\n0: y := 1\n1: y == 1\n1: isb ctrl(-1)\n1: x == 0\ncheck\n", " ctrl(-1)", ""),
    (
        "AOB",
        "0: x := 1\n0: dmb st\n0: y := 1\n1: { y == 1; y := 2 }\n1: y == 2 aq\n1: x == 0\ncheck\n",
        "1: y == 2 aq",
        "1: y == 2",
    ),
    // The store of an atomic that acquires and releases stays before what follows.
    ("PPO5", "0: { x == 0; x := 1 } aq rl\n0: y == 0\n1: y := 1\n1: dmb sy\n1: x == 0\ncheck\n", " rl", ""),
];

#[test]
fn each_rule_of_arm_alone_forbids_a_trace() {
    let armv8 = model("armv8");
    let verdict = |text: &str| {
        let trace =
            membar_trace::parse("alone", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0);
        let trace = trace.for_model(armv8);
        let verdict = Checker::new().check(&trace, armv8, &Limits::default()).verdict;
        membar_certify::verdict(&trace, armv8, &verdict).unwrap();
        assert_eq!(decide(&trace, Riscv::Armv8), matches!(verdict, Verdict::Allowed(_)), "{text}");
        verdict
    };
    for (rule, text, with, without) in ARM_ALONE {
        let Verdict::Forbidden(Proof::Cycle(lemmas)) = verdict(text) else { panic!("{rule}: not forbidden\n{text}") };
        let named = lemmas.iter().flat_map(|lemma| &lemma.steps).any(|step| step.rule.name().name() == rule);
        assert!(named, "{rule} is not in the proof of\n{text}{lemmas:#?}");
        assert!(text.contains(with));
        let other = verdict(&text.replacen(with, without, 1));
        assert!(matches!(other, Verdict::Allowed(_)), "{rule}: something else forbids\n{text}{other:#?}");
    }
}

#[test]
fn each_rule_alone_forbids_a_trace() {
    let rvwmo = model("rvwmo");
    let verdict = |text: &str| {
        let trace =
            membar_trace::parse("alone", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0);
        let verdict = Checker::new().check(&trace, rvwmo, &Limits::default()).verdict;
        membar_certify::verdict(&trace, rvwmo, &verdict).unwrap();
        assert_eq!(decide(&trace, Riscv::Rvwmo), matches!(verdict, Verdict::Allowed(_)), "{text}");
        verdict
    };
    for (rule, text, with, without) in ALONE {
        let Verdict::Forbidden(Proof::Cycle(lemmas)) = verdict(text) else { panic!("{rule}: not forbidden\n{text}") };
        let named = lemmas.iter().flat_map(|lemma| &lemma.steps).any(|step| step.rule.name().name() == rule);
        assert!(named || rule == "R1", "{rule} is not in the proof of\n{text}{lemmas:#?}");
        assert!(text.contains(with));
        let weaker = text.replacen(with, without, 1);
        assert!(matches!(verdict(&weaker), Verdict::Allowed(_)), "{rule} is not alone:\n{weaker}");
    }
}

#[test]
fn reservations() {
    let rvwmo = model("rvwmo");
    let allowed = |lines: &str| {
        let text = lines.replace(" / ", "\n") + "\ncheck\n";
        let trace =
            membar_trace::parse("lr", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0);
        let verdict = Checker::new().check(&trace, rvwmo, &Limits::default()).verdict;
        membar_certify::verdict(&trace, rvwmo, &verdict).unwrap();
        assert_eq!(decide(&trace, Riscv::Rvwmo), matches!(verdict, Verdict::Allowed(_)), "{text}");
        matches!(verdict, Verdict::Allowed(_))
    };
    assert!(allowed("0: lr x == 0 / 0: sc x := 1"));
    assert!(allowed("0: lr x == 0 / 0: y := 3 / 0: x == 0 / 0: sc x := 1 / 1: lr x == 1 / 1: sc x := 2"));
    assert!(!allowed("0: lr x == 0 / 0: sc x := 1 / 1: lr x == 0 / 1: sc x := 2"), "a lost update");
    assert!(allowed("0: lr x == 0 / 0: sc x := 1 / 1: lr x == 0 / 1: sc x fails"));
    assert!(allowed("0: lr x == 0 / 0: sc x := 1 / 1: lr x == 0 / 1: x := 2"), "a load reserved alone");
    assert!(!allowed("0: sc x := 1"), "nothing is reserved");
    assert!(!allowed("0: lr x == 0 / 0: sc x fails / 0: sc x := 1"), "a failed store conditional uses it up");
    assert!(!allowed("0: lr x == 0 / 0: sc x := 1 / 0: sc x := 2"));
    assert!(allowed("0: lr y == 0 / 0: lr x == 0 / 0: sc x := 1"), "the last one counts");
    assert!(allowed("0: lr x == 0 / 0: x := 7 / 0: sc x := 1 / 1: x == 7 / 1: fence r,r / 1: x == 1"), "its own store");
    let between = "2: x := 9 / 0: lr x == 0 / 0: x := 7 / 0: sc x := 1 / 1: x == 7 / 1: fence r,r / 1: x == 9 / 1: fence r,r / 1: x == 1";
    assert!(!allowed(between), "another thread's");
    assert!(!allowed("2: x := 9 / 0: lr x == 0 / 0: { x == 9; x := 7 } / 0: sc x := 1"), "an atomic found another's");
    assert!(allowed("0: lr x == 0 / 0: { x == 0; x := 7 } / 0: sc x := 1"));
}

/// What the text says is what was meant.
#[test]
fn decorated_traces_survive_being_written() {
    for seed in 0..traces(TRACES) / 4 {
        let mut rng = Rng::stream(seed, 0x7E47);
        let mut trace = decorated(&small(&Small::PLAIN, (8 << 32) + seed), &mut rng);
        if trace.resolve(&mut ResolveScratch::default()).is_err() {
            continue;
        }
        let written = text(&trace);
        let read =
            membar_trace::parse("again", written.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(text(&read[0]), written);
        for op in trace.ops() {
            assert_eq!(read[0].marks(op), trace.marks(op), "{written}");
            let on = |trace: &Trace| trace.dependencies(op).iter().map(|dep| (dep.how, dep.on)).collect::<Vec<_>>();
            assert_eq!(on(&read[0]), on(&trace), "{written}");
        }
        assert!(read[0].ops().all(|op| read[0].kind(op) != OpKind::Fence || !read[0].marks(op).meets(Marks::ACQUIRE)));
    }
}

/// The certifier accepts a step by a condition exactly where the condition holds, and an order exactly where it is one.
#[test]
fn the_certifier_takes_what_is_true() {
    let (mut certifier, rvwmo) = (Certifier::new(), model("rvwmo"));
    let (mut steps, mut orders) = ([0u64; 2], [0u64; 2]);
    for seed in 0..traces(TRACES) / 8 {
        let mut rng = Rng::stream(seed, 0xCE27);
        let mut trace = decorated(&small(&Small { finals: true, ..Small::PLAIN }, (9 << 32) + seed), &mut rng);
        if trace.resolve(&mut ResolveScratch::default()).is_err() || trace.has_unwritten() {
            continue;
        }
        let accesses: Vec<OpId> = trace.memory_ops().collect();
        for (&a, &b) in accesses.iter().flat_map(|a| accesses.iter().map(move |b| (a, b))) {
            for &by in Condition::ALL {
                let middles = trace.ops().map(Some).chain([None]);
                let accepted = middles.into_iter().any(|through| {
                    let rule = Rule::Kept { by, through };
                    let step = ProofStep { from: Event::from(a), to: Event::from(b), rule, premises: vec![] };
                    let lemma = Lemma { steps: vec![step], ..Lemma::default() };
                    match certifier.proof(&trace, rvwmo, &Proof::Cycle(vec![lemma])) {
                        Err(Flaw::Cycle { .. }) => true,
                        Err(Flaw::Step { .. }) => false,
                        other => panic!("{other:?}"),
                    }
                });
                let in_order = trace.thread(a) == trace.thread(b) && trace.po(a) < trace.po(b);
                let kinds = |op: OpId| trace.kind(op).kinds();
                let asked = kinds(a).iter().any(|e| kinds(b).iter().any(|l| rvwmo.ppo.entry(e, l).also.has(by)));
                let expected = in_order && asked && holds(&trace, by, a, b);
                assert_eq!(accepted, expected, "{by} {a:?} {b:?}\n{}", text(&trace));
                steps[accepted as usize] += 1;
            }
        }
        if let Verdict::Allowed(witness) = Checker::new().verdict(&trace, rvwmo, &Limits::default()).verdict {
            for at in 1..witness.order.len() {
                let mut order = witness.order.clone();
                order.swap(at - 1, at);
                let expected = explains(&trace, Riscv::Rvwmo, &order);
                let accepted = certifier.witness(&trace, rvwmo, &Witness { order: order.clone() });
                assert_eq!(accepted.is_ok(), expected, "{accepted:?} {order:?}\n{}", text(&trace));
                orders[expected as usize] += 1;
            }
        }
    }
    assert!(
        steps[1] * 8 > traces(TRACES) && orders.iter().all(|&count| count * 8 > traces(TRACES)),
        "{steps:?} {orders:?}"
    );
}

/// A plain store under a reservation is held by the `sc` behind it, which a part needs too, though no proof names it.
#[test]
fn a_held_store_is_shrunk_with_its_reservation() {
    let text = "0: x := 1\n0: y := 9\n1: lr x == 1\n1: x := 2\n1: sc x := 3\n1: y == 9\n2: { x == 1; x := 4 }\ncheck\n";
    let trace = membar_trace::parse("held", text.as_bytes()).unwrap().remove(0);
    let part = Checker::new().shrink(&trace, model("rvwmo"), &Limits::default()).expect("it is forbidden");
    let lines: Vec<u64> = part.trace.ops().map(|op| part.trace.line(op)).collect();
    assert_eq!(lines, [1, 3, 4, 5, 7]);
}
