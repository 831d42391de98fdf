//! Hand-made proofs: each rule once where it holds and where it does not, broken proofs, garbage.

use crate::common;
use common::{
    ANY, Random, ec, lc, lock_models, model, models, pso, random_model, random_trace, rmo, sc, scope, trace, tso, wmo,
};
use membar_certify::{Certifier, Flaw, Reason, proof};
use membar_core::{AddrId, Assumption, Event, Kind, Lemma, Mask, Model, OpId, Proof, ProofStep, Rule, When};

const INIT: Event = Event::INIT;
const FINAL: Event = Event::FINAL;

fn ev(op: u32) -> Event {
    Event(op)
}

fn step(from: Event, to: Event, rule: Rule, premises: &[u32]) -> ProofStep {
    ProofStep { from, to, rule, premises: premises.to_vec() }
}

fn lemma(assume: &[(u32, u32)], steps: &[ProofStep], cycle: &[u32]) -> Lemma {
    let assume = assume.iter().map(|&(a, b)| Assumption { first: ev(a), second: ev(b) }).collect();
    Lemma { assume, steps: steps.to_vec(), cycle: cycle.to_vec() }
}

fn check(text: &str, model: &Model, lemmas: &[Lemma]) -> Result<(), Flaw> {
    proof(&trace(text), model, &Proof::Cycle(lemmas.to_vec()))
}

/// Whether the last step follows (the ones before it must).
fn last(text: &str, model: &Model, steps: &[ProofStep]) -> Result<(), Reason> {
    match check(text, model, &[lemma(&[], steps, &[])]) {
        Err(Flaw::Cycle { lemma: 0, place: 0 }) => Ok(()),
        Err(Flaw::Step { lemma: 0, step, reason }) if step + 1 == steps.len() => Err(reason),
        other => panic!("{other:?}"),
    }
}

fn one(text: &str, model: &Model, from: Event, to: Event, rule: Rule) -> Result<(), Reason> {
    last(text, model, &[step(from, to, rule, &[])])
}

const SB: &str = "0 x=1; 0 y:0; 1 y=1; 1 x:0";

/// SB under SC: both loads return the initial value, so both precede the other thread's store.
fn store_buffering() -> Lemma {
    let steps = [
        step(ev(0), ev(1), Rule::StoreLoad, &[]),
        step(ev(2), ev(3), Rule::StoreLoad, &[]),
        step(INIT, ev(2), Rule::Init, &[]),
        step(ev(1), ev(2), Rule::AfterRead, &[2]),
        step(INIT, ev(0), Rule::Init, &[]),
        step(ev(3), ev(0), Rule::AfterRead, &[4]),
    ];
    lemma(&[], &steps, &[0, 3, 1, 5])
}

#[test]
fn a_cycle_refutes_store_buffering() {
    let good = store_buffering();
    assert_eq!(check(SB, &sc(), std::slice::from_ref(&good)), Ok(()));
    let bad = |change: &dyn Fn(&mut Lemma)| {
        let mut lemma = good.clone();
        change(&mut lemma);
        check(SB, &sc(), &[lemma]).unwrap_err()
    };
    let at = |step, reason| Flaw::Step { lemma: 0, step, reason };
    assert_eq!(check(SB, &tso(), std::slice::from_ref(&good)), Err(at(0, Reason::Model)));
    assert_eq!(bad(&|l| l.steps[3].premises.clear()), at(3, Reason::Path));
    assert_eq!(bad(&|l| l.steps[3].premises = vec![3]), at(3, Reason::Premise));
    assert_eq!(bad(&|l| l.steps[3].premises = vec![99]), at(3, Reason::Premise));
    assert_eq!(bad(&|l| l.steps[3].premises = vec![0]), at(3, Reason::Source));
    assert_eq!(bad(&|l| l.steps[3].premises = vec![2, 2]), at(3, Reason::Path));
    assert_eq!(bad(&|l| l.steps[0].rule = Rule::LoadOp), at(0, Reason::Model));
    assert_eq!(bad(&|l| (l.steps[0].from, l.steps[0].to) = (ev(1), ev(0))), at(0, Reason::ProgramOrder));
    assert_eq!(bad(&|l| l.steps[0].to = ev(9)), at(0, Reason::Event));
    assert_eq!(bad(&|l| l.cycle = vec![0, 3, 1]), Flaw::Cycle { lemma: 0, place: 2 });
    assert_eq!(bad(&|l| l.cycle = vec![0, 1, 3, 5]), Flaw::Cycle { lemma: 0, place: 0 });
    assert_eq!(bad(&|l| l.cycle = vec![0, 6]), Flaw::Cycle { lemma: 0, place: 0 });
    assert_eq!(bad(&|l| l.cycle.clear()), Flaw::Cycle { lemma: 0, place: 0 });
    assert_eq!(bad(&|l| l.assume.push(Assumption { first: INIT, second: ev(0) })), Flaw::Conditional);
    assert_eq!(check(SB, &sc(), &[]), Err(Flaw::NoLemma));
}

#[test]
fn program_order_rules() {
    let text = "0 x=1; 0 x:1; 0 y:0=2; 1 x=2";
    assert_eq!(one(text, &tso(), ev(1), ev(2), Rule::LoadOp), Ok(()));
    assert_eq!(one(text, &tso(), ev(0), ev(2), Rule::StoreStore), Ok(()));
    assert_eq!(one(text, &pso(), ev(0), ev(2), Rule::StoreStore), Err(Reason::Model));
    assert_eq!(one(text, &tso(), ev(0), ev(1), Rule::StoreStore), Err(Reason::Model));
    assert_eq!(one(text, &sc(), ev(0), ev(3), Rule::StoreStore), Err(Reason::ProgramOrder));
    assert_eq!(one(text, &sc(), INIT, ev(3), Rule::StoreStore), Err(Reason::Event));
    assert_eq!(one("0 x:0; 0 x:0", &wmo(), ev(0), ev(1), Rule::LoadOp), Ok(()));
    assert_eq!(one("0 x:0; 0 x:0", &rmo(), ev(0), ev(1), Rule::LoadOp), Err(Reason::Model));
    assert_eq!(one("0 x:0 @1-2; 0 y:0 @3-4", &rmo(), ev(0), ev(1), Rule::LoadOp), Ok(()));
    assert_eq!(one("0 x:0 @1-3; 0 y:0 @3-4", &rmo(), ev(0), ev(1), Rule::LoadOp), Err(Reason::Model));
}

#[test]
fn barrier_rule() {
    let text = "0 x=1; 0 membar 4; 0 y:0; 0 sync; 0 z=1; 1 sync";
    let membar = |fence| Rule::Membar { fence: OpId(fence) };
    assert_eq!(one(text, &rmo(), ev(0), ev(2), membar(1)), Ok(()));
    assert_eq!(one(text, &rmo(), ev(0), ev(4), membar(1)), Err(Reason::Barrier));
    assert_eq!(one(text, &rmo(), ev(0), ev(4), membar(3)), Ok(()));
    assert_eq!(one(text, &Model { sync: Mask::LOAD_LOAD, ..rmo() }, ev(0), ev(4), membar(3)), Err(Reason::Barrier));
    assert_eq!(one(text, &rmo(), ev(0), ev(2), membar(3)), Err(Reason::ProgramOrder));
    assert_eq!(one(text, &rmo(), ev(0), ev(2), membar(5)), Err(Reason::ProgramOrder));
    assert_eq!(one(text, &rmo(), ev(0), ev(4), membar(2)), Err(Reason::Barrier));
    assert_eq!(one(text, &rmo(), ev(0), ev(4), membar(77)), Err(Reason::Barrier));
    assert_eq!(one(text, &rmo(), ev(1), ev(4), membar(3)), Err(Reason::Event));
}

#[test]
fn reads_from_rule() {
    let text = "init y 3; 0 x=1; 0 x:1; 1 x:1; 1 y:3; 1 x:1=2; 2 z:4=4; final x 2; final y 3";
    let rf = |model: &Model, from, to| one(text, model, from, to, Rule::ReadsFrom);
    assert_eq!(rf(&tso(), ev(0), ev(2)), Ok(()));
    assert_eq!(rf(&tso(), ev(0), ev(1)), Err(Reason::Forwarded));
    assert_eq!(rf(&Model { store_forwarding: false, ..tso() }, ev(0), ev(1)), Ok(()));
    assert_eq!(rf(&tso(), INIT, ev(3)), Ok(()));
    assert_eq!(rf(&tso(), INIT, ev(2)), Err(Reason::Source));
    assert_eq!(rf(&tso(), ev(0), ev(4)), Ok(()));
    assert_eq!(rf(&tso(), ev(2), ev(0)), Err(Reason::Source));
    assert_eq!(rf(&tso(), ev(4), FINAL), Ok(()));
    assert_eq!(rf(&tso(), ev(0), FINAL), Err(Reason::Source));
    assert_eq!(rf(&tso(), INIT, FINAL), Ok(()));
    assert_eq!(rf(&tso(), FINAL, FINAL), Err(Reason::Source));
    assert_eq!(rf(&tso(), ev(0), INIT), Err(Reason::Event));
    // A read-modify-write that read its own write is a cycle by itself; a value that only it writes is written.
    let own = lemma(&[], &[step(ev(5), ev(5), Rule::ReadsFrom, &[])], &[0]);
    assert_eq!(check(text, &tso(), &[own]), Ok(()));
    assert_eq!(proof(&trace(text), &tso(), &Proof::Unwritten(OpId(5))), Err(Flaw::NotUnwritten(OpId(5))));
    // A load that returns its own thread's later store.
    let future = "0 x:1; 0 x=1";
    let steps = [step(ev(1), ev(0), Rule::ReadsFrom, &[]), step(ev(0), ev(1), Rule::LoadOp, &[])];
    assert_eq!(check(future, &rmo(), &[lemma(&[], &steps, &[0, 1])]), Ok(()));
}

#[test]
fn own_store_rule() {
    let own = |load| Rule::OwnStore { load: OpId(load) };
    let text = "0 x=1; 0 x:2; 1 x=2; 0 y=1; 0 x:0; 0 x:2=3";
    assert_eq!(one(text, &tso(), ev(0), ev(2), own(1)), Ok(()));
    assert_eq!(one(text, &tso(), ev(0), INIT, own(4)), Ok(()));
    assert_eq!(one(text, &tso(), ev(0), ev(2), own(5)), Ok(()));
    assert_eq!(one(text, &model("bare", [When::NEVER; 4]), ev(0), ev(2), own(5)), Err(Reason::Model));
    assert_eq!(one(text, &Model { store_forwarding: false, ..tso() }, ev(0), ev(2), own(1)), Err(Reason::Model));
    assert_eq!(one(text, &tso(), ev(3), ev(2), own(1)), Err(Reason::ProgramOrder));
    assert_eq!(one(text, &tso(), ev(3), INIT, own(4)), Err(Reason::OtherWrite));
    assert_eq!(one(text, &tso(), ev(0), INIT, own(1)), Err(Reason::Source));
    assert_eq!(one("0 x=1; 0 x:1", &tso(), ev(0), ev(0), own(1)), Err(Reason::OtherWrite));
    // A thread that misses its own store.
    let missed = [step(ev(0), INIT, own(1), &[]), step(INIT, ev(0), Rule::Init, &[])];
    assert_eq!(check("0 x=1; 0 x:0", &tso(), &[lemma(&[], &missed, &[0, 1])]), Ok(()));
}

#[test]
fn before_and_after_read_rules() {
    // CoRR: the second load misses what the first one saw.
    let corr = "0 x=1; 1 x:1; 1 x:0";
    let path = [step(ev(0), ev(1), Rule::ReadsFrom, &[]), step(ev(1), ev(2), Rule::LoadOp, &[])];
    let before = step(ev(0), INIT, Rule::BeforeRead { load: ev(2) }, &[0, 1]);
    let steps = [&path[..], &[before.clone(), step(INIT, ev(0), Rule::Init, &[])]].concat();
    assert_eq!(check(corr, &wmo(), &[lemma(&[], &steps, &[2, 3])]), Ok(()));
    let with = |change: &dyn Fn(&mut ProofStep)| {
        let mut step = before.clone();
        change(&mut step);
        last(corr, &wmo(), &[&path[..], &[step]].concat())
    };
    assert_eq!(with(&|s| s.premises = vec![0]), Err(Reason::Path));
    assert_eq!(with(&|s| s.premises = vec![1]), Err(Reason::Path));
    assert_eq!(with(&|s| s.premises = vec![1, 0]), Err(Reason::Path));
    assert_eq!(with(&|s| s.rule = Rule::BeforeRead { load: ev(1) }), Err(Reason::Source));
    assert_eq!(with(&|s| s.rule = Rule::BeforeRead { load: ev(7) }), Err(Reason::Event));
    assert_eq!(with(&|s| s.from = ev(1)), Err(Reason::OtherWrite));
    assert_eq!(with(&|s| s.to = ev(0)), Err(Reason::OtherWrite));
    // A read-modify-write is not one of the writes before itself, nor after itself.
    let rmw = "0 x=1; 1 x:1=2; 1 x=3";
    let itself = step(ev(1), ev(0), Rule::BeforeRead { load: ev(1) }, &[]);
    assert_eq!(last(rmw, &wmo(), &[itself]), Err(Reason::OtherWrite));
    let rf = step(ev(0), ev(1), Rule::ReadsFrom, &[]);
    let after = step(ev(1), ev(1), Rule::AfterRead, &[0]);
    assert_eq!(last(rmw, &wmo(), &[rf, after]), Err(Reason::OtherWrite));
    // Two of them cannot return one write.
    let steps = [
        step(INIT, ev(0), Rule::Init, &[]),
        step(ev(1), ev(0), Rule::AfterRead, &[0]),
        step(INIT, ev(1), Rule::Init, &[]),
        step(ev(0), ev(1), Rule::AfterRead, &[2]),
    ];
    assert_eq!(check("0 x:0=1; 1 x:0=2", &rmo(), &[lemma(&[], &steps, &[1, 3])]), Ok(()));
}

#[test]
fn rules_for_the_ends() {
    let text = "0 x=1; 0 x=2; 0 y=1; final x 1";
    let end = Rule::BeforeRead { load: FINAL };
    let steps = [
        step(ev(0), ev(1), Rule::StoreStore, &[]),
        step(ev(1), FINAL, Rule::Final, &[]),
        step(ev(1), ev(0), end, &[1]),
    ];
    assert_eq!(check(text, &pso(), &[lemma(&[], &steps, &[0, 2])]), Ok(()));
    let after = [steps[0].clone(), steps[1].clone(), step(FINAL, ev(1), Rule::AfterRead, &[0])];
    assert_eq!(check(text, &pso(), &[lemma(&[], &after, &[1, 2])]), Ok(()));
    let y = step(ev(2), FINAL, Rule::Final, &[]);
    assert_eq!(last(text, &pso(), &[y.clone(), step(ev(2), ev(0), end, &[0])]), Err(Reason::Source));
    let gone = [step(ev(0), FINAL, Rule::Final, &[]), step(ev(0), INIT, end, &[0])];
    assert_eq!(last("0 x=1; final x 0", &pso(), &gone), Ok(()));
    for (from, to, rule, fine) in [
        (INIT, ev(0), Rule::Init, true),
        (INIT, FINAL, Rule::Init, true),
        (INIT, INIT, Rule::Init, false),
        (ev(0), ev(1), Rule::Init, false),
        (INIT, FINAL, Rule::Final, true),
        (FINAL, FINAL, Rule::Final, false),
        (ev(0), ev(1), Rule::Final, false),
        (ev(5), FINAL, Rule::Final, false),
    ] {
        assert_eq!(one(text, &pso(), from, to, rule).is_ok(), fine, "{from:?} {to:?} {rule:?}");
    }
}

#[test]
fn write_order_rule() {
    let text = "0 x=1; 1 x=2; 2 x:1=3; 2 y=1; 2 y=2; 2 x:3; order x 2 1 3";
    let order = |from, to| one(text, &rmo(), from, to, Rule::WriteOrder);
    assert_eq!(order(ev(1), ev(0)), Ok(()));
    assert_eq!(order(ev(1), ev(2)), Ok(()));
    assert_eq!(order(ev(0), ev(1)), Err(Reason::WriteOrder));
    assert_eq!(order(ev(0), ev(0)), Err(Reason::WriteOrder));
    assert_eq!(order(ev(3), ev(4)), Err(Reason::WriteOrder));
    assert_eq!(order(ev(1), ev(5)), Err(Reason::WriteOrder));
    assert_eq!(order(INIT, ev(1)), Err(Reason::Event));
}

#[test]
fn sessions_read_their_acquire() {
    let text = "0 acq L; 0 rel L; 1 acq L; 1 rel L; 2 acq L; 2 acq K; 0 acq L; 0 rel L; 2 rel K; 2 rel L";
    let open = Model { lock_exclusion: false, ..rmo() };
    assert_eq!(one(text, &rmo(), ev(0), ev(1), Rule::ReadsFrom), Ok(()));
    assert_eq!(one(text, &open, ev(0), ev(1), Rule::ReadsFrom), Err(Reason::Source));
    assert_eq!(one(text, &rmo(), ev(0), ev(7), Rule::ReadsFrom), Err(Reason::Source));
    assert_eq!(one(text, &rmo(), ev(2), ev(1), Rule::ReadsFrom), Err(Reason::Source));
    assert_eq!(one(text, &rmo(), ev(4), ev(9), Rule::ReadsFrom), Ok(()));
    // A thread's earlier session is before its next one, if the model keeps operations on one lock in order.
    let own = Rule::OwnStore { load: OpId(7) };
    assert_eq!(one(text, &rmo(), ev(1), ev(6), own), Ok(()));
    assert_eq!(one(text, &model("bare", [When::NEVER; 4]), ev(1), ev(6), own), Err(Reason::Model));
}

#[test]
fn lock_rule() {
    let text = "guard L x; 0 x=1; 0 acq L; 0 x:1; 0 y:0=1; 0 acq K; 0 z=1; 0 rel L; 0 y=2; 0 rel K; 1 x=2";
    let (x, l, load, rmw, k, z, rel_l, y, rel_k) = (ev(0), ev(1), ev(2), ev(3), ev(4), ev(5), ev(6), ev(7), ev(8));
    let lock = |model: &Model, from, to| one(text, model, from, to, Rule::Lock);
    // Everything, also where the other is a read-modify-write; accesses have their own rules.
    assert_eq!(lock(&sc(), x, l), Ok(()));
    assert_eq!(lock(&sc(), l, rmw), Ok(()));
    assert_eq!(lock(&sc(), l, k), Ok(()));
    assert_eq!(lock(&sc(), rel_l, y), Ok(()));
    assert_eq!(lock(&sc(), x, load), Err(Reason::Lock));
    assert_eq!(lock(&sc(), l, ev(9)), Err(Reason::ProgramOrder));
    assert_eq!(lock(&sc(), load, l), Err(Reason::ProgramOrder));
    assert_eq!(one(text, &sc(), l, load, Rule::LoadOp), Err(Reason::Model));
    assert_eq!(one(text, &sc(), l, rmw, Rule::StoreStore), Err(Reason::Model));
    // Guarded, inside the session or not.
    assert_eq!(lock(&ec(), l, load), Ok(()));
    assert_eq!(lock(&ec(), x, rel_l), Ok(()));
    assert_eq!(lock(&ec(), l, rmw), Err(Reason::Model));
    assert_eq!(lock(&ec(), x, rel_k), Err(Reason::Model));
    assert_eq!(lock(&ec(), l, rel_l), Ok(()));
    assert_eq!(lock(&ec(), l, k), Err(Reason::Model));
    // Inside the session of that acquire or release; no matter which other one it is in.
    assert_eq!(lock(&scope(), l, load), Ok(()));
    assert_eq!(lock(&scope(), l, z), Ok(()));
    assert_eq!(lock(&scope(), l, y), Err(Reason::Model));
    assert_eq!(lock(&scope(), k, y), Ok(()));
    assert_eq!(lock(&scope(), rmw, rel_l), Ok(()));
    assert_eq!(lock(&scope(), rmw, rel_k), Err(Reason::Model));
    assert_eq!(lock(&scope(), x, rel_l), Err(Reason::Model));
    assert_eq!(lock(&scope(), rel_l, y), Err(Reason::Model));
    assert_eq!(lock(&scope(), x, l), Err(Reason::Model));
    // Two accesses: any session of the thread that holds both.
    let mut inside = model("inside", [When::NEVER; 4]);
    inside.ppo.set(Kind::Store, Kind::Store, When::SAME_SESSION);
    assert_eq!(one(text, &inside, rmw, z, Rule::StoreStore), Ok(()));
    assert_eq!(one(text, &inside, z, y, Rule::StoreStore), Ok(()));
    assert_eq!(one(text, &inside, rmw, y, Rule::StoreStore), Err(Reason::Model));
    assert_eq!(one(text, &inside, x, z, Rule::StoreStore), Err(Reason::Model));
    // For barriers, both count as a load and as a store.
    let fenced = "0 acq L; 0 membar 4; 0 x:0; 0 rel L; 0 membar 1; 0 y=1; 0 z:0";
    let membar = |from, to, fence| one(fenced, &rmo(), from, to, Rule::Membar { fence: OpId(fence) });
    assert_eq!(membar(ev(0), ev(2), 1), Ok(()));
    assert_eq!(membar(ev(3), ev(5), 4), Err(Reason::Barrier));
    assert_eq!(membar(ev(3), ev(6), 4), Ok(()));
    assert_eq!(membar(ev(0), ev(3), 1), Ok(()));
}

#[test]
fn time_rule() {
    let text = "0 x=1 @1-2; 0 y:0 @4-5; 0 acq L @7-8; 0 rel L @7-; 1 z:0 @9-10; 1 y=1 @1-2; 0 sync @0-0";
    let time = |text: &str, model: &Model, from, to| one(text, model, ev(from), ev(to), Rule::Time);
    let atomic = Model { atomic_writes: true, ..rmo() };
    assert_eq!(time(text, &rmo(), 1, 2), Ok(()));
    assert_eq!(time(text, &rmo(), 0, 1), Err(Reason::Time));
    assert_eq!(time(text, &atomic, 0, 1), Ok(()));
    assert_eq!(time(text, &rmo(), 2, 1), Err(Reason::Time));
    assert_eq!(time(text, &rmo(), 2, 3), Err(Reason::Time));
    assert_eq!(time(text, &rmo(), 1, 4), Err(Reason::Time));
    assert_eq!(time(text, &atomic, 5, 4), Err(Reason::Time));
    assert_eq!(time(text, &rmo(), 6, 1), Err(Reason::Event));
    assert_eq!(one(text, &rmo(), INIT, ev(1), Rule::Time), Err(Reason::Event));
    let one_clock = format!("clock 0; {text}");
    assert_eq!(time(&one_clock, &rmo(), 2, 4), Ok(()));
    assert_eq!(time(&one_clock, &atomic, 5, 4), Ok(()));
    assert_eq!(time(&one_clock, &atomic, 5, 1), Ok(()));
    assert_eq!(time(&one_clock, &rmo(), 3, 4), Err(Reason::Time));
    assert_eq!(time(&one_clock, &rmo(), 4, 4), Err(Reason::Time));
    assert_eq!(time(&format!("clock 1; {text}"), &rmo(), 2, 4), Err(Reason::Time));
    // A thread that says it did the later operation first, by one clock.
    let backwards = "clock 0; 0 x:0 @5-6; 0 x:0 @1-2";
    let steps = [step(ev(1), ev(0), Rule::Time, &[]), step(ev(0), ev(1), Rule::LoadOp, &[])];
    assert_eq!(check(backwards, &wmo(), &[lemma(&[], &steps, &[0, 1])]), Ok(()));
    assert_eq!(time(&backwards[8..], &wmo(), 1, 0), Err(Reason::Time));
    // The table's rule about the time of stores is R2.
    let stores = "0 x=1 @1-2; 0 y=1 @3-4";
    let timed = model("timed", [When::NEVER, When::NEVER, When::NEVER, common::TIME]);
    assert_eq!(one(stores, &timed, ev(0), ev(1), Rule::StoreStore), Ok(()));
    assert_eq!(time(stores, &timed, 0, 1), Err(Reason::Time));
}

#[test]
fn without_write_order() {
    // The second read of 0 comes after x=1, in a session that follows its one.
    let text = "0 acq L; 0 x:0=1; 0 rel L; 1 acq L; 1 x:0=2; 1 rel L; 2 x=3; 2 x:3; final x 1";
    let po = |from, to| step(ev(from), ev(to), Rule::Lock, &[]);
    let rf = |from, to| step(ev(from), ev(to), Rule::ReadsFrom, &[]);
    let session = |mine: [u32; 3], other: [u32; 3]| {
        [
            rf(mine[0], mine[2]),
            step(ev(mine[0]), ev(other[0]), Rule::Assume(0), &[]),
            step(ev(mine[2]), ev(other[0]), Rule::AfterRead, &[1]),
            po(mine[1], mine[2]),
            po(other[0], other[1]),
            step(INIT, ev(mine[1]), Rule::Init, &[]),
            step(ev(other[1]), ev(mine[1]), Rule::AfterRead, &[5]),
        ]
    };
    let (a, b) = ([0, 1, 2], [3, 4, 5]);
    let first = lemma(&[(0, 3)], &session(a, b), &[6, 3, 2, 4]);
    let mut second = lemma(&[], &session(b, a), &[6, 3, 2, 4]);
    second.steps[1].rule = Rule::Case(0);
    assert_eq!(check(text, &lc(), &[first.clone(), second.clone()]), Ok(()));
    let bad = |change: &dyn Fn(&mut Lemma)| {
        let mut changed = first.clone();
        change(&mut changed);
        check(text, &lc(), &[changed, second.clone()]).unwrap_err()
    };
    // The same step twice, two of its sort, or one that is not in the cycle.
    let not_before = |step| Flaw::NotBefore { lemma: 0, step };
    assert_eq!(bad(&|l| l.cycle = vec![6, 3, 2, 4, 6, 3, 2, 4]), not_before(6));
    let stray = step(ev(4), ev(1), Rule::AfterRead, &[5]);
    assert_eq!(bad(&|l| l.steps.push(stray.clone())), not_before(7));
    let two = "0 x=1; 0 x:0; 1 x=2; 1 x:0";
    let po_read = |from, to| step(ev(from), ev(to), Rule::StoreLoad, &[]);
    let init = |to| step(INIT, ev(to), Rule::Init, &[]);
    let after = |from, to, init| step(ev(from), ev(to), Rule::AfterRead, &[init]);
    let steps = [po_read(0, 1), po_read(2, 3), init(0), init(2), after(1, 2, 3), after(3, 0, 2)];
    assert_eq!(check(two, &lc(), &[lemma(&[], &steps, &[0, 4, 1, 5])]), Err(not_before(5)));
    let steps = [po_read(0, 1), init(0), after(1, 0, 1)];
    assert_eq!(check(two, &lc(), &[lemma(&[], &steps, &[0, 2])]), Ok(()));
    // It is not a premise of any rule.
    let on = |rule, premises: &[u32]| {
        let steps = [po_read(0, 1), init(0), after(1, 0, 1), step(ev(1), ev(0), rule, premises)];
        last(two, &lc(), &steps)
    };
    assert_eq!(on(Rule::AfterRead, &[1, 2]), Err(Reason::NotBefore));
    assert_eq!(on(Rule::Case(0), &[2]), Err(Reason::NotBefore));
    // On addresses there is no R5, no R6 and nothing to assume; a thread's own store is before what reads it.
    assert_eq!(one(two, &lc(), ev(0), INIT, Rule::OwnStore { load: OpId(1) }), Err(Reason::Model));
    let before = step(ev(0), INIT, Rule::BeforeRead { load: ev(1) }, &[0]);
    assert_eq!(last(two, &lc(), &[po_read(0, 1), before]), Err(Reason::Model));
    let at_end = step(ev(0), ev(1), Rule::BeforeRead { load: FINAL }, &[0]);
    assert_eq!(last(text, &lc(), &[step(ev(0), FINAL, Rule::Final, &[]), at_end]), Err(Reason::Model));
    assert_eq!(one(text, &lc(), ev(6), ev(7), Rule::ReadsFrom), Ok(()));
    assert_eq!(one(text, &lc(), ev(1), FINAL, Rule::ReadsFrom), Ok(()));
    let assumes = |model: &Model, first, second| {
        let mut lemma = lemma(&[], &[step(first, second, Rule::Assume(0), &[])], &[]);
        lemma.assume.push(Assumption { first, second });
        check(text, model, &[lemma, Lemma::default()])
    };
    let refused = Err(Flaw::Assumption { lemma: 0, index: 0 });
    let fine = Err(Flaw::Cycle { lemma: 0, place: 0 });
    assert_eq!(assumes(&lc(), ev(1), ev(4)), refused);
    assert_eq!(assumes(&lc(), INIT, ev(4)), refused);
    assert_eq!(assumes(&lc(), ev(2), ev(3)), fine);
    assert_eq!(assumes(&lc(), ev(3), INIT), fine);
    assert_eq!(assumes(&Model { lock_exclusion: false, ..lc() }, ev(2), ev(3)), refused);
    // On locks they are as ever.
    let release = [rf(0, 2), step(ev(5), ev(2), Rule::Assume(0), &[])];
    let r6 = step(ev(5), ev(0), Rule::BeforeRead { load: ev(2) }, &[1]);
    let with = lemma(&[(5, 2)], &[&release[..], &[r6]].concat(), &[]);
    assert_eq!(check(text, &lc(), &[with, Lemma::default()]), fine);
    // A final value that is overwritten.
    let end = "0 x=1; 0 x=2; final x 1";
    let steps = [
        step(ev(0), ev(1), Rule::StoreStore, &[]),
        step(FINAL, ev(1), Rule::AfterRead, &[0]),
        step(ev(1), FINAL, Rule::Final, &[]),
    ];
    assert_eq!(check(end, &lc(), &[lemma(&[], &steps, &[1, 2])]), Ok(()));
}

#[test]
fn case_splits() {
    // Both orders of the two writes are refuted: each thread saw the other's write and then its own one.
    let text = "0 x=1; 1 x=2; 2 x:1; 2 x:2; 3 x:2; 3 x:1";
    let rf = |from, to| step(ev(from), ev(to), Rule::ReadsFrom, &[]);
    let po = |from, to| step(ev(from), ev(to), Rule::LoadOp, &[]);
    // Under 0 ≤ 1: load 4 returned 1, then load 5 returned 0, so 5 ≤ 1 ≤ 4 ≤ 5.
    let first = lemma(
        &[(0, 1)],
        &[step(ev(0), ev(1), Rule::Assume(0), &[]), rf(1, 4), po(4, 5), step(ev(5), ev(1), Rule::AfterRead, &[0])],
        &[1, 2, 3],
    );
    let main = |case| {
        let flip = step(ev(1), ev(0), Rule::Case(case), &[]);
        lemma(&[], &[flip, rf(0, 2), po(2, 3), step(ev(3), ev(0), Rule::AfterRead, &[0])], &[1, 2, 3])
    };
    assert_eq!(check(text, &wmo(), &[first.clone(), main(0)]), Ok(()));
    let case = Flaw::Step { lemma: 1, step: 0, reason: Reason::Case };
    assert_eq!(check(text, &wmo(), &[first.clone(), main(1)]), Err(case));
    assert_eq!(check(text, &wmo(), &[first.clone(), main(9)]), Err(case));
    let mut unflipped = main(0);
    (unflipped.steps[0].from, unflipped.steps[0].to) = (ev(0), ev(1));
    assert_eq!(check(text, &wmo(), &[first.clone(), unflipped]), Err(case));
    // A further assumption of the lemma has to hold where it is used.
    let mut narrow = first.clone();
    narrow.assume.push(Assumption { first: INIT, second: ev(0) });
    assert_eq!(check(text, &wmo(), &[narrow, main(0)]), Err(case));
    let wrong = |first, second| {
        let mut lemma = lemma(&[], &[step(first, second, Rule::Assume(0), &[])], &[0]);
        lemma.assume.push(Assumption { first, second });
        check(text, &wmo(), &[lemma, main(0)])
    };
    let assumption = Err(Flaw::Assumption { lemma: 0, index: 0 });
    let pairs = [(ev(0), ev(0)), (INIT, INIT), (INIT, FINAL), (ev(0), ev(2)), (INIT, ev(2)), (ev(0), ev(99))];
    for (first, second) in pairs {
        assert_eq!(wrong(first, second), assumption);
    }
    assert_eq!(wrong(INIT, ev(0)), Err(Flaw::Cycle { lemma: 0, place: 0 }));
    let mut other = first;
    other.steps[0].rule = Rule::Assume(1);
    let assume = Flaw::Step { lemma: 0, step: 0, reason: Reason::Assume };
    assert_eq!(check(text, &wmo(), &[other, main(0)]), Err(assume));
}

#[test]
fn unwritten_values() {
    let text = "init y 3; 0 x:1; 0 y:3; 0 x=2; 1 x:2; 0 sync; 1 y:0; 1 acq L; 1 x:9=4; 1 rel L";
    let found: Vec<u32> =
        (0..12).filter(|&op| proof(&trace(text), &sc(), &Proof::Unwritten(OpId(op))).is_ok()).collect();
    assert_eq!(found, [0, 5, 7]);
}

#[test]
fn unwritten_final_values() {
    let text = "init y 3; 0 x=1; 0 z=2; final x 3; final y 3; final z 2; final w 1";
    let trace = trace(text);
    let names: Vec<String> = (0..9)
        .map(AddrId)
        .filter(|&addr| proof(&trace, &sc(), &Proof::UnwrittenFinal(addr)).is_ok())
        .map(|addr| trace.addr_names()[addr.index()].to_string())
        .collect();
    assert_eq!(names, ["x", "w"]);
}

#[test]
fn garbage_is_refused_without_panic() {
    let mut random = Random(0xBAD);
    let mut certifier = Certifier::new();
    let models = [models(), lock_models()].concat();
    let mut flaws = 0;
    for round in 0..60_000usize {
        let Some(trace) = random_trace(&mut random, ANY) else { continue };
        let n = trace.len() as u64;
        let event = |random: &mut Random| match random.below(8) {
            0 => INIT,
            1 => FINAL,
            2 => Event(u32::MAX - random.below(20) as u32),
            _ => ev(random.below(n + 2) as u32),
        };
        let mut lemmas = Vec::new();
        for _ in 0..random.below(4) {
            let mut lemma = Lemma::default();
            for _ in 0..random.below(3) {
                lemma.assume.push(Assumption { first: event(&mut random), second: event(&mut random) });
            }
            for at in 0..random.below(6) {
                let (from, to, other) = (event(&mut random), event(&mut random), event(&mut random));
                let index = random.below(4) as u32;
                let rule = match random.below(15) {
                    0 => Rule::LoadOp,
                    1 => Rule::StoreStore,
                    2 => Rule::StoreLoad,
                    3 => Rule::Membar { fence: OpId(other.0) },
                    4 => Rule::ReadsFrom,
                    5 => Rule::OwnStore { load: OpId(other.0) },
                    6 => Rule::BeforeRead { load: other },
                    7 => Rule::AfterRead,
                    8 => Rule::WriteOrder,
                    9 => Rule::Init,
                    10 => Rule::Final,
                    11 => Rule::Lock,
                    12 => Rule::Time,
                    13 => Rule::Assume(index),
                    _ => Rule::Case(if random.one_in(5) { u32::MAX } else { index }),
                };
                let premises = (0..random.below(3)).map(|_| random.below(at + 2) as u32).collect();
                lemma.steps.push(ProofStep { from, to, rule, premises });
            }
            lemma.cycle = (0..random.below(4)).map(|_| random.below(7) as u32).collect();
            lemmas.push(lemma);
        }
        let garbage =
            if random.one_in(20) { Proof::Unwritten(OpId(event(&mut random).0)) } else { Proof::Cycle(lemmas) };
        let any = random_model(&mut random);
        let model = models.get(round % (2 * models.len())).unwrap_or(&any);
        if let Err(flaw) = certifier.proof(&trace, model, &garbage) {
            flaws += 1;
            assert!(!flaw.to_string().is_empty());
        }
    }
    assert!(flaws > 10_000);
}
