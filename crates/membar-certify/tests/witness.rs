//! Hand-made orders: the classic shapes under each model, and broken orders.

mod common;
use common::{Random, model, pso, rmo, sc, trace, tso, wmo};
use membar_certify::{Certifier, Flaw, verdict, witness};
use membar_core::{AddrId, Event, Mask, Model, OpId, Trace, Undecided, Verdict, When, Witness};

fn order(ops: &[u32]) -> Witness {
    Witness { order: ops.iter().copied().map(OpId).collect() }
}

fn check(text: &str, model: &Model, ops: &[u32]) -> Result<(), Flaw> {
    witness(&trace(text), model, &order(ops))
}

fn reversed(earlier: u32, later: u32) -> Result<(), Flaw> {
    Err(Flaw::ProgramOrder { earlier: OpId(earlier), later: OpId(later) })
}

fn value(read: u32, gives: u64) -> Result<(), Flaw> {
    Err(Flaw::Value { read: OpId(read), gives })
}

#[test]
fn store_buffering() {
    let sb = "0 x=1; 0 y:0; 1 y=1; 1 x:0";
    assert_eq!(check(sb, &tso(), &[1, 3, 0, 2]), Ok(()));
    assert_eq!(check(sb, &sc(), &[1, 3, 0, 2]), reversed(0, 1));
    assert_eq!(check(sb, &sc(), &[0, 1, 2, 3]), value(3, 1));
    assert_eq!(check("0 x=1; 0 sync; 0 y:0; 1 y=1; 1 x:0", &tso(), &[2, 4, 0, 3]), reversed(0, 2));
}

#[test]
fn message_passing() {
    let mp = "0 x=1; 0 y=1; 1 y:1; 1 x:0";
    assert_eq!(check(mp, &pso(), &[1, 2, 3, 0]), Ok(()));
    assert_eq!(check(mp, &tso(), &[1, 2, 3, 0]), reversed(0, 1));
    assert_eq!(check(mp, &pso(), &[3, 0, 1, 2]), reversed(2, 3));
    assert_eq!(check(mp, &wmo(), &[3, 0, 1, 2]), Ok(()));
}

#[test]
fn forwarding_reads_the_buffer() {
    let own = "0 x=1; 0 x:1; 1 x=2; 1 x:2; final x 2";
    assert_eq!(check(own, &tso(), &[1, 3, 0, 2]), Ok(()));
    let bare = Model { store_forwarding: false, ..tso() };
    assert_eq!(check(own, &bare, &[1, 3, 0, 2]), value(1, 0));
    // The newest own store counts, not any own store.
    assert_eq!(check("0 x=1; 0 x=2; 0 x:1", &tso(), &[2, 0, 1]), value(2, 2));
    // A buffered store hides what is in memory.
    assert_eq!(check("0 x=1; 0 x:5; 1 x=5", &tso(), &[2, 1, 0]), value(1, 1));
    // A store that is already in memory hides nothing.
    assert_eq!(check("0 x=1; 0 x:5; 1 x=5", &tso(), &[0, 2, 1]), Ok(()));
}

#[test]
fn coherent_reads() {
    let corr = "0 x=1; 1 x:1; 1 x:0";
    assert_eq!(check(corr, &rmo(), &[2, 0, 1]), Ok(()));
    assert_eq!(check(corr, &wmo(), &[2, 0, 1]), reversed(1, 2));
}

#[test]
fn read_modify_writes_are_one_point() {
    let two = "0 x:0=1; 1 x:0=2";
    assert_eq!(check(two, &rmo(), &[0, 1]), value(1, 1));
    assert_eq!(check("0 x:0=1; 1 x:1=2; final x 2", &rmo(), &[0, 1]), Ok(()));
    // It never reads its own thread's buffer, nor itself.
    assert_eq!(check("0 x=1; 0 x:1=2", &model("bare", [When::NEVER; 4]), &[1, 0]), value(1, 0));
    assert_eq!(check("0 x:2=2", &sc(), &[0]), value(0, 0));
    // It counts as a load and as a store.
    assert_eq!(check("0 x:0=1; 0 y:0", &tso(), &[1, 0]), reversed(0, 1));
    assert_eq!(check("0 y=1; 0 x:0=1", &tso(), &[1, 0]), reversed(0, 1));
    assert_eq!(check("0 y=1; 0 x:0=1", &pso(), &[1, 0]), Ok(()));
}

#[test]
fn barriers_order_the_pairs_in_their_mask() {
    let with = |mask: Mask| format!("0 x=1; 0 membar {}; 0 y:0", mask.bits());
    for bits in 0..16 {
        let mask = Mask::from_bits(bits);
        let expected = if mask.contains(Mask::STORE_LOAD) { reversed(0, 2) } else { Ok(()) };
        assert_eq!(check(&with(mask), &rmo(), &[2, 0]), expected);
    }
    let partial = Model { sync: Mask::STORE_STORE, ..rmo() };
    assert_eq!(check("0 x=1; 0 sync; 0 y:0", &partial, &[2, 0]), Ok(()));
    assert_eq!(check("0 x=1; 0 sync; 0 y=1", &partial, &[2, 0]), reversed(0, 2));
    // Two barriers do not add up across an operation that only one of them covers.
    assert_eq!(check("0 x=1; 0 membar 8; 0 y=1; 0 membar 8; 0 z:0", &rmo(), &[4, 0, 2]), Ok(()));
}

#[test]
fn periods_order_strictly() {
    let apart = "0 x:0 @1-2; 0 y:0 @3-4";
    assert_eq!(check(apart, &rmo(), &[1, 0]), reversed(0, 1));
    assert_eq!(check("0 x:0 @1-3; 0 y:0 @3-4", &rmo(), &[1, 0]), Ok(()));
    assert_eq!(check("0 x:0 @1-; 0 y:0 @3-4", &rmo(), &[1, 0]), Ok(()));
    assert_eq!(check("0 x=1 @1-2; 0 y:0 @3-4", &rmo(), &[1, 0]), Ok(()));
    assert_eq!(check("0 x:0 @1-2; 1 y:0 @3-4", &rmo(), &[1, 0]), Ok(()));
    assert_eq!(check("0 x:0 @1-2; 0 y:0 @1-9; 0 z:0 @5-9", &rmo(), &[1, 2, 0]), reversed(0, 2));
}

#[test]
fn lines_at_the_end() {
    let two = "0 x=1; 1 x=2; final x 1";
    assert_eq!(check(two, &sc(), &[1, 0]), Ok(()));
    assert_eq!(check(two, &sc(), &[0, 1]), Err(Flaw::FinalValue { addr: AddrId(0), gives: 2 }));
    assert_eq!(check("init x 7; 0 y=1; final x 7", &sc(), &[0]), Ok(()));
    assert_eq!(check("init x 7; 0 x=1; final x 7", &sc(), &[0]), Err(Flaw::FinalValue { addr: AddrId(0), gives: 1 }));
    let line = "0 x=1; 1 x=2; 2 x:2=3; order x 1 2 3";
    assert_eq!(check(line, &sc(), &[0, 1, 2]), Ok(()));
    assert_eq!(check(line, &sc(), &[1, 2, 0]), Err(Flaw::WriteOrder(OpId(1))));
}

#[test]
fn sessions_exclude_each_other() {
    let two = "0 acq L; 0 rel L; 1 acq L; 1 rel L; 2 acq K";
    let lock = |op, after| Err(Flaw::Lock { op: OpId(op), after });
    assert_eq!(check(two, &wmo(), &[2, 4, 3, 0, 1]), Ok(()));
    assert_eq!(check(two, &wmo(), &[0, 2, 1, 3, 4]), lock(2, Event(0)));
    assert_eq!(check(two, &Model { lock_exclusion: false, ..wmo() }, &[0, 2, 1, 3, 4]), Ok(()));
    let held = "0 acq L; 1 acq L; 1 rel L";
    assert_eq!(check(held, &sc(), &[1, 2, 0]), Ok(()));
    assert_eq!(check(held, &sc(), &[0, 1, 2]), lock(1, Event(0)));
    let bare = model("bare", [When::NEVER; 4]);
    assert_eq!(check("0 acq L; 0 rel L", &bare, &[1, 0]), lock(1, Event::INIT));
    assert_eq!(check("0 acq L; 0 rel L; 0 acq L; 0 rel L", &bare, &[0, 3, 2, 1]), lock(3, Event(0)));
    assert_eq!(check("0 acq L; 0 rel L", &tso(), &[1, 0]), reversed(0, 1));
}

#[test]
fn an_order_has_each_operation_once() {
    let text = "0 x=1; 0 sync; 0 x:1";
    assert_eq!(check(text, &sc(), &[0, 2]), Ok(()));
    assert_eq!(check(text, &sc(), &[0]), Err(Flaw::Missing(OpId(2))));
    assert_eq!(check(text, &sc(), &[]), Err(Flaw::Missing(OpId(0))));
    assert_eq!(check(text, &sc(), &[0, 2, 2]), Err(Flaw::Twice(OpId(2))));
    assert_eq!(check(text, &sc(), &[0, 1, 2]), Err(Flaw::NotMemory { place: 1, op: OpId(1) }));
    assert_eq!(check(text, &sc(), &[0, 3]), Err(Flaw::NotMemory { place: 1, op: OpId(3) }));
    assert_eq!(check(text, &sc(), &[u32::MAX, 0]), Err(Flaw::NotMemory { place: 0, op: OpId(u32::MAX) }));
    assert_eq!(check("", &sc(), &[]), Ok(()));
}

#[test]
fn undecided_claims_nothing() {
    let trace = trace("0 x:1");
    let undecided = Verdict::Undecided { reason: Undecided::Time, ordered: 0 };
    assert_eq!(verdict(&trace, &sc(), &undecided), Ok(()));
    assert_eq!(verdict(&trace, &sc(), &Verdict::Allowed(order(&[0]))), value(0, 0));
}

/// A long interleaving on one memory, in which thread, address and kind are random.
fn interleaving(random: &mut Random, n: u64) -> Trace {
    let mut memory = [0; 4];
    let mut text = String::new();
    for i in 1..=n {
        let (thread, a) = (random.below(4), random.below(4) as usize);
        match random.below(3) {
            0 => text += &format!("{thread} a{a}:{}\n", memory[a]),
            1 => text += &format!("{thread} a{a}={i}\n"),
            _ => text += &format!("{thread} a{a}:{}={i}\n", memory[a]),
        }
        if !text.trim_end().ends_with(&format!(":{}", memory[a])) {
            memory[a] = i;
        }
    }
    trace(&text)
}

#[test]
fn mutated_orders_are_rejected() {
    let mut random = Random(7);
    let mut certifier = Certifier::new();
    for _ in 0..50 {
        let trace = interleaving(&mut random, 60);
        let good = Witness { order: trace.ops().collect() };
        assert_eq!(certifier.witness(&trace, &sc(), &good), Ok(()));
        for i in 0..good.order.len() {
            let mut dropped = good.clone();
            dropped.order.remove(i);
            assert!(certifier.witness(&trace, &sc(), &dropped).is_err());
            let mut twice = good.clone();
            twice.order.insert(random.below(60) as usize, good.order[i]);
            assert!(certifier.witness(&trace, &sc(), &twice).is_err());
            for j in i + 1..good.order.len() {
                let (a, b) = (good.order[i], good.order[j]);
                let read_write = |a, b| {
                    trace.kind(a).loads() && trace.kind(b).stores() && !trace.kind(a).stores()
                        || trace.kind(a).stores() && trace.kind(b).loads() && !trace.kind(b).stores()
                };
                let same_thread = trace.thread(a) == trace.thread(b);
                let conflict = trace.addr(a) == trace.addr(b) && read_write(a, b) && j == i + 1;
                if same_thread || conflict {
                    let mut swapped = good.clone();
                    swapped.order.swap(i, j);
                    assert!(certifier.witness(&trace, &sc(), &swapped).is_err(), "{i} {j} of {trace:#?}");
                }
            }
        }
    }
}
