//! Changes that must not change a verdict, changes that may only change it one way, and certificates that must be refused.

use membar_certify::Certifier;
use membar_check::{Checker, Decision, Limits, Plan};
use membar_core::{AddrName, Event, Model, Op, OpId, OpKind, Proof, ResolveScratch, Trace, Verdict, Witness};
use membar_simulate::{Machine, Mix, Observe, Rng, Workload, simulate};
use membar_testkit::{Small, corrupt, small};

fn models() -> &'static [Model] {
    membar_model::builtins()
}

fn decide(trace: &Trace, model: &Model) -> Decision {
    Checker::new().decide(trace, model, &Limits::default())
}

/// The same execution with other names for threads, addresses and values, and its threads' texts interleaved differently.
fn renamed(trace: &Trace, rng: &mut Rng) -> Trace {
    let mut other = Trace::new();
    let value = |v: u64, salt: u64| v.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(salt);
    let salt = rng.next();
    let name = |name: &AddrName| match name {
        AddrName::Memory(n) => AddrName::Named(format!("v{n}").into()),
        AddrName::Named(n) => {
            AddrName::Memory(1_000_000 + n.len() as u64 * 977 + n.bytes().map(u64::from).sum::<u64>())
        }
        AddrName::Lock(n) => AddrName::Lock(format!("lock_{n}").into()),
        AddrName::Part(part) => AddrName::Part(part.clone()),
    };
    let mut order: Vec<OpId> = Vec::new();
    let mut next = vec![0; trace.threads()];
    while order.len() < trace.len() {
        let t = rng.below(trace.threads() as u32) as usize;
        if let Some(&op) = trace.thread_ops(membar_core::ThreadId(t as u32)).get(next[t]) {
            order.push(op);
            next[t] += 1;
        }
    }
    for (i, &id) in order.iter().enumerate() {
        let op = trace.op(id);
        let thread = other.thread_id(trace.thread_names()[op.thread.index()] * 7 + 13);
        let addr = match op.kind {
            OpKind::Fence => op.addr,
            _ => other.addr_id(&name(&trace.addr_names()[op.addr.index()])),
        };
        let (read, write) = match op.kind {
            OpKind::Load => (value(op.read, salt), 0),
            OpKind::Store => (0, value(op.write, salt)),
            OpKind::Rmw => (value(op.read, salt), value(op.write, salt)),
            _ => (0, 0),
        };
        other.push(Op { thread, addr, read, write, line: i as u64, ..op });
    }
    // Initial values default to zero, which is no longer zero.
    for (i, addr_name) in trace.addr_names().iter().enumerate() {
        if matches!(addr_name, AddrName::Lock(_)) {
            continue;
        }
        let addr = other.addr_id(&name(addr_name));
        let initial = value(trace.initial(membar_core::AddrId(i as u32)), salt);
        other.inits.push(membar_core::Init { addr, value: initial, line: 0 });
    }
    for end in &trace.finals {
        let addr = other.addr_id(&name(&trace.addr_names()[end.addr.index()]));
        other.finals.push(membar_core::Final { addr, value: value(end.value, salt), line: 0 });
    }
    for order in &trace.orders {
        let addr = other.addr_id(&name(&trace.addr_names()[order.addr.index()]));
        let values = order.values.iter().map(|&v| value(v, salt)).collect();
        other.orders.push(membar_core::OrderLine { addr, values, line: 0 });
    }
    other.resolve(&mut ResolveScratch::default()).expect("renaming keeps a trace well formed");
    other
}

#[test]
fn renaming_changes_nothing() {
    let mut rng = Rng::new(3);
    let mut forbidden = 0;
    for seed in 0..1500 {
        let trace = small(&Small::ALL, (3 << 32) + seed);
        let other = renamed(&trace, &mut rng);
        for model in models() {
            let verdict = decide(&trace, model);
            assert_eq!(verdict, decide(&other, model), "seed {seed} under {}", model.name);
            forbidden += (verdict == Decision::Forbidden) as u32;
        }
    }
    assert!(forbidden > 1000, "{forbidden}");
}

#[test]
fn stronger_models_allow_less_on_larger_traces() {
    for seed in 0..40 {
        let workload = Workload {
            threads: 2 + seed as u32 % 7,
            addresses: 1 + seed as u32 % 11,
            ops: 400,
            mix: if seed % 2 == 0 { Mix::PAPER } else { Mix::LOADS_STORES },
            seed,
        };
        for machine in [Machine::Sc, Machine::Tso, Machine::Pso] {
            let trace = simulate(&workload, machine, Observe::default());
            let verdicts: Vec<bool> = models().iter().map(|m| decide(&trace, m) == Decision::Allowed).collect();
            assert!(verdicts.is_sorted(), "{verdicts:?} on {machine:?}, seed {seed}");
            let own = machine as usize;
            assert!(verdicts[own..].iter().all(|&allowed| allowed), "{machine:?} breaks its own model, seed {seed}");
        }
    }
}

/// Both plans, on traces too large for the oracles: legal, and with one read changed.
#[test]
fn plans_agree_and_certificates_hold_on_larger_traces() {
    let (mut allowed, mut forbidden) = (0, 0);
    let mut certifier = Certifier::new();
    for seed in 0..60 {
        let workload = Workload {
            threads: [2, 4, 8, 16][seed as usize % 4],
            addresses: [2, 4, 16, 64][seed as usize / 4 % 4],
            ops: 3000,
            mix: if seed % 3 == 0 { Mix::LOADS_STORES } else { Mix::PAPER },
            seed,
        };
        let (machine, name) = if seed % 2 == 0 { (Machine::Tso, "tso") } else { (Machine::Pso, "pso") };
        let observe = Observe { write_order: seed % 5 == 0, finals: seed % 7 == 0 };
        let trace = simulate(&workload, machine, observe);
        let model = membar_model::builtin(name).unwrap();
        for trace in [Some(trace.clone()), corrupt(&trace, seed).map(|changed| changed.trace)].into_iter().flatten() {
            let fast = Checker::new().check(&trace, model, &Limits::default());
            let paper = Checker::with_plan(Plan::Paper).verdict(&trace, model, &Limits::default());
            // Back and forth between search and inference.
            let mixed =
                Checker::with_allowance(Plan::Fast, 1 + seed as usize % 9).verdict(&trace, model, &Limits::default());
            for outcome in [&fast, &paper, &mixed] {
                assert_eq!(fast.verdict.name(), outcome.verdict.name(), "seed {seed}");
                certifier.verdict(&trace, model, &outcome.verdict).expect("a sound certificate");
            }
            match fast.verdict {
                Verdict::Allowed(_) => allowed += 1,
                _ => forbidden += 1,
            }
        }
    }
    assert!(allowed >= 60 && forbidden > 20, "{allowed} {forbidden}");
}

/// The result of `shrink` is forbidden, and nothing can be left out of it.
#[test]
fn shrunk_traces_are_minimal() {
    let tso = membar_model::builtin("tso").unwrap();
    let mut shrunk = 0;
    for seed in 0..40 {
        let workload = Workload { threads: 4, addresses: 4, ops: 300, mix: Mix::PAPER, seed };
        let Some(changed) = corrupt(&simulate(&workload, Machine::Tso, Observe::default()), seed) else { continue };
        let Some(part) = Checker::new().shrink(&changed.trace, tso, &Limits::default()) else { continue };
        shrunk += 1;
        assert_eq!(decide(&part.trace, tso), Decision::Forbidden);
        for op in part.trace.ops() {
            // Without it, and without the reads of what it wrote.
            let mut gone = vec![op];
            while let Some(next) = part.trace.ops().find(|other| {
                !gone.contains(other) && part.trace.source(*other).as_op().is_some_and(|source| gone.contains(&source))
            }) {
                gone.push(next);
            }
            let left: Vec<OpId> = part.trace.ops().filter(|other| !gone.contains(other)).collect();
            let mut rest = part.trace.restricted_to(&left, |_| true, |_| true);
            rest.resolve(&mut ResolveScratch::default()).unwrap();
            assert_eq!(decide(&rest, tso), Decision::Allowed, "seed {seed}: {op:?} can go");
        }
    }
    assert!(shrunk > 20, "{shrunk}");
}

/// A certificate with one thing changed is refused, unless the change makes no difference to what it says.
#[test]
fn mutated_certificates_are_refused() {
    let mut rng = Rng::new(11);
    let (mut witnesses, mut proofs) = (0, 0);
    let (mut refused_witnesses, mut refused_proofs) = (0, 0);
    for seed in 0..2000 {
        let trace = small(&Small::ALL, (4 << 32) + seed);
        let model = &models()[seed as usize % 5];
        match Checker::new().check(&trace, model, &Limits::default()).verdict {
            Verdict::Allowed(Witness { mut order }) if order.len() > 1 => {
                // Drop, double or misplace one.
                let at = rng.below(order.len() as u32) as usize;
                match rng.below(3) {
                    0 => drop(order.remove(at)),
                    1 => order.insert(at, order[at]),
                    _ => {
                        let by = 1 + at % (order.len() - 1).max(1);
                        order.rotate_left(by);
                    }
                }
                witnesses += 1;
                refused_witnesses += membar_certify::witness(&trace, model, &Witness { order }).is_err() as u32;
            }
            Verdict::Forbidden(Proof::Cycle(mut lemmas)) => {
                let lemma = lemmas.last_mut().expect("a lemma");
                let at = rng.below(lemma.steps.len() as u32) as usize;
                match rng.below(4) {
                    0 if lemma.steps[at].from != lemma.steps[at].to => {
                        let step = &mut lemma.steps[at];
                        std::mem::swap(&mut step.from, &mut step.to);
                    }
                    1 => drop(lemma.cycle.pop()),
                    2 if lemma.steps[at].to != Event::INIT => lemma.steps[at].to = Event::INIT,
                    _ => lemma.steps[at].premises.push(at as u32),
                }
                proofs += 1;
                refused_proofs += membar_certify::proof(&trace, model, &Proof::Cycle(lemmas)).is_err() as u32;
            }
            _ => {}
        }
    }
    assert!(witnesses > 500 && proofs > 300, "{witnesses} {proofs}");
    // Rotating a witness of independent operations is no flaw.
    assert!(refused_witnesses * 10 > witnesses * 7, "{refused_witnesses} of {witnesses}");
    assert_eq!(refused_proofs, proofs);
}

/// Printing and parsing a trace gives the same trace and the same verdicts.
#[test]
fn round_trip_keeps_verdicts() {
    for seed in 0..500 {
        let trace = small(&Small::ALL, (5 << 32) + seed);
        let mut text = Vec::new();
        membar_trace::write_trace(&trace, &mut text).unwrap();
        let parsed = membar_trace::parse("round trip", &text).expect("what we write we can read");
        assert_eq!(parsed.len(), 1);
        for model in models() {
            assert_eq!(decide(&trace, model), decide(&parsed[0], model), "seed {seed}");
        }
    }
}
