//! Hand-made orders: the classic shapes under each model, and broken orders.

use crate::common;
use common::{
    ANY, Definition, Random, Recipe, ec, lc, model, pso, random_model, random_trace, rc, rmo, sc, scope, trace, tso,
    wmo,
};
use membar_certify::{Certifier, Flaw, verdict, witness};
use membar_core::{
    AddrId, Event, Mask, Model, OpId, OpKind, ResolveScratch, Source, Trace, Undecided, Verdict, When, Witness,
};

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
    let store = "0 x=1 @1-2; 0 y:0 @3-4";
    assert_eq!(check(store, &rmo(), &[1, 0]), Ok(()));
    assert_eq!(check(store, &Model { atomic_writes: true, ..rmo() }, &[1, 0]), reversed(0, 1));
    let timed = model("timed", [When::NEVER, When::NEVER, common::TIME, When::NEVER]);
    assert_eq!(check(store, &timed, &[1, 0]), reversed(0, 1));
    // The axiom, where no entry of the model is about time.
    let bare = model("bare", [When::NEVER; 4]);
    assert_eq!(check(apart, &bare, &[1, 0]), reversed(0, 1));
    assert_eq!(check("0 acq L @1-2; 0 rel L @3-4; 0 y:0 @5-6", &bare, &[0, 2, 1]), reversed(1, 2));
    // By the clock of its thread, an operation is not before what precedes it in the thread.
    assert_eq!(check("0 x:0 @3-4; 0 y:0 @1-2", &bare, &[0, 1]), Ok(()));
    assert_eq!(check("0 x:0 @1-2; 1 y:0 @3-4", &rmo(), &[1, 0]), Ok(()));
    assert_eq!(check("0 x:0 @1-2; 0 y:0 @1-9; 0 z:0 @5-9", &rmo(), &[1, 2, 0]), reversed(0, 2));
}

#[test]
fn one_clock_orders_threads() {
    let time = |earlier, later| Err(Flaw::Time { earlier: OpId(earlier), later: OpId(later) });
    let apart = "0 x:0 @1-2; 1 y:0 @3-4; 1 z=1 @4-5; 2 x:0 @6-";
    let with = |clock: &str, model: &Model, ops: &[u32]| check(&format!("{clock}; {apart}"), model, ops);
    assert_eq!(with("", &rmo(), &[3, 2, 1, 0]), Ok(()));
    assert_eq!(with("clock 0", &rmo(), &[0, 1, 2, 3]), Ok(()));
    assert_eq!(with("clock 0", &rmo(), &[1, 0, 2, 3]), time(0, 1));
    // A store may still be in a buffer when it ends, but does not begin early.
    assert_eq!(with("clock 0", &rmo(), &[0, 1, 3, 2]), Ok(()));
    assert_eq!(with("clock 0", &Model { atomic_writes: true, ..rmo() }, &[0, 1, 3, 2]), time(2, 3));
    assert_eq!(with("clock 0", &rmo(), &[2, 0, 1, 3]), time(0, 2));
    // Half of the gap on each side.
    assert_eq!(with("clock 1", &rmo(), &[1, 0, 2, 3]), Ok(()));
    assert_eq!(with("clock 1", &rmo(), &[3, 0, 1, 2]), time(0, 3));
    // Also against program order.
    assert_eq!(check("clock 0; 0 x:0 @3-4; 0 y:0 @1-2", &rmo(), &[0, 1]), time(1, 0));
    assert_eq!(check("clock 0; 0 x:0 @3-4; 0 y:0 @1-2", &rmo(), &[1, 0]), Ok(()));
}

#[test]
fn tables_for_locks() {
    let text = "guard L x; 0 y=1; 0 acq L; 0 x=1; 0 acq K; 0 z=1; 0 rel L; 0 w=1; 0 rel K; 0 v=1";
    // Out of a session upwards and downwards, into it never.
    assert_eq!(check(text, &rc(), &[1, 2, 3, 8, 4, 0, 5, 6, 7]), Ok(()));
    assert_eq!(check(text, &rc(), &[1, 2, 3, 8, 4, 5, 0, 6, 7]), reversed(0, 5));
    assert_eq!(check(text, &rc(), &[8, 0, 2, 1, 3, 4, 5, 6, 7]), reversed(1, 2));
    assert_eq!(check(text, &rc(), &[0, 3, 1, 2, 4, 5, 6, 7, 8]), reversed(1, 3));
    // Only what is guarded.
    assert_eq!(check(text, &ec(), &[0, 3, 7, 4, 8, 1, 2, 5, 6]), Ok(()));
    assert_eq!(check(text, &ec(), &[0, 3, 7, 4, 8, 2, 1, 5, 6]), reversed(1, 2));
    assert_eq!(check(text, &ec(), &[0, 3, 7, 4, 8, 1, 5, 2, 6]), reversed(2, 5));
    // Only what is inside: z in both, w in the second session.
    assert_eq!(check(text, &scope(), &[1, 2, 3, 4, 6, 5, 7, 0, 8]), Ok(()));
    assert_eq!(check(text, &scope(), &[8, 3, 6, 1, 2, 4, 5, 7, 0]), Ok(()));
    assert_eq!(check(text, &scope(), &[3, 4, 1, 2, 5, 6, 7, 0, 8]), reversed(1, 4));
    assert_eq!(check(text, &scope(), &[1, 2, 4, 3, 5, 6, 7, 0, 8]), reversed(3, 4));
    assert_eq!(check(text, &scope(), &[1, 2, 3, 4, 5, 7, 6, 0, 8]), reversed(6, 7));
}

#[test]
fn partial_orders() {
    let over = |read, by| Err(Flaw::Overwritten { read: OpId(read), by: OpId(by) });
    // Two readers see two writes in different orders.
    let coherent = "0 x=1; 1 x=2; 2 x:1; 2 x:2; 3 x:2; 3 x:1";
    assert_eq!(check(coherent, &lc(), &[0, 1, 2, 3, 4, 5]), Ok(()));
    // But not what is overwritten for them.
    let own = "0 x=1; 0 x=2; 1 x:1; 1 x:2; 1 x:1";
    assert_eq!(check(own, &lc(), &[0, 1, 2, 3, 4]), over(4, 1));
    assert_eq!(check("0 x=1; 0 x:0", &lc(), &[0, 1]), over(1, 0));
    // The write that is read comes first, also within one thread.
    assert_eq!(check("0 x=1; 1 x:1", &lc(), &[1, 0]), value(1, 0));
    assert_eq!(check("0 x:1=1", &lc(), &[0]), value(0, 0));
    let forwarding = Model { write_order: false, ..tso() };
    assert_eq!(check("0 x=1; 0 x:1", &forwarding, &[1, 0]), value(1, 0));
    // Sessions carry it on, in the order of the witness.
    let sessions = "0 acq L; 0 x=1; 0 rel L; 1 acq L; 1 x:0; 1 rel L";
    assert_eq!(check(sessions, &lc(), &[0, 1, 2, 3, 4, 5]), over(4, 1));
    assert_eq!(check(sessions, &lc(), &[3, 4, 5, 0, 1, 2]), Ok(()));
    let after = "0 x=1; 0 acq L; 0 rel L; 1 acq L; 1 rel L; 1 x:0";
    assert_eq!(check(after, &lc(), &[0, 1, 2, 3, 4, 5]), over(5, 0));
    assert_eq!(check(after, &Model { lock_exclusion: false, ..lc() }, &[0, 1, 2, 3, 4, 5]), Ok(()));
    // So do `order` lines, and one clock.
    let both = "0 x=1; 1 x=2; 2 x:2; 2 x:1";
    assert_eq!(check(both, &lc(), &[0, 1, 2, 3]), Ok(()));
    assert_eq!(check(&format!("{both}; order x 1 2"), &lc(), &[0, 1, 2, 3]), over(3, 1));
    let timed = "0 x=1 @1-2; 1 x:0 @3-4";
    let atomic = Model { atomic_writes: true, ..lc() };
    assert_eq!(check(timed, &atomic, &[0, 1]), Ok(()));
    assert_eq!(check(&format!("clock 0; {timed}"), &lc(), &[0, 1]), Ok(()));
    assert_eq!(check(&format!("clock 0; {timed}"), &atomic, &[0, 1]), over(1, 0));
    // Final values.
    let end = |by| Err(Flaw::FinalOverwritten { addr: AddrId(0), by: OpId(by) });
    assert_eq!(check("0 x=1; 1 x=2; final x 1", &lc(), &[0, 1]), Ok(()));
    assert_eq!(check("0 x=1; 0 x=2; 0 x=3; final x 1", &lc(), &[0, 1, 2]), end(1));
    assert_eq!(check("0 x=1; final x 0", &lc(), &[0]), end(0));
    // Two read-modify-writes may return one write.
    assert_eq!(check("0 x:0=1; 1 x:0=2", &lc(), &[0, 1]), Ok(()));
}

/// The same operations, but with these values read.
fn with_reads(trace: &Trace, reads: &[u64]) -> Trace {
    let mut changed = Trace::new();
    changed.clear(1);
    for op in trace.ops() {
        let mut copy = trace.op(op);
        copy.thread = changed.thread_id(trace.thread_names()[copy.thread.index()]);
        if copy.kind != OpKind::Fence {
            copy.addr = changed.addr_id(&trace.addr_names()[copy.addr.index()]);
        }
        copy.read = reads[op.index()];
        changed.push(copy);
    }
    changed.resolve(&mut ResolveScratch::default()).unwrap();
    changed
}

/// Long traces whose reads return any write that nothing overwrites, found with a set of predecessors per operation.
#[test]
fn long_partial_orders() {
    let mut random = Random(0x10C);
    let mut certifier = Certifier::new();
    for (round, model) in [lc(), Model { write_order: false, ..scope() }, lc()].into_iter().enumerate() {
        let n = 1500;
        let mut text = String::new();
        let (mut held, mut line) = (None, 0);
        while line < n || held.is_some() {
            line += 1;
            let thread = random.below(12);
            match (random.below(24), held) {
                (0, None) => {
                    held = Some(thread);
                    text += &format!("{thread} acq L;");
                }
                (1 | 2, Some(holder)) => {
                    held = None;
                    text += &format!("{holder} rel L;");
                }
                (3, _) => text += &format!("{thread} sync;"),
                (4, _) => text += &format!("{thread} x{}:0={line};", random.below(3)),
                (kind, _) if kind % 2 == 0 => text += &format!("{thread} x{}={line};", random.below(3)),
                _ => text += &format!("{thread} x{}:0;", random.below(3)),
            }
        }
        let plain = trace(&text);
        let definition = Definition::new(&plain, &model);
        let order: Vec<OpId> = plain.memory_ops().collect();
        let mut before: Vec<Vec<bool>> = vec![vec![]; plain.len()];
        let mut reads = vec![0; plain.len()];
        let mut last_on_lock: Option<OpId> = None;
        // (reads, with what is overwritten)
        let mut wrong = Vec::new();
        let mut old = std::collections::BTreeSet::new();
        let mut direct = vec![vec![]; plain.len()];
        definition.kept.iter().for_each(|&(a, b)| direct[b.index()].push(a));
        for &op in &order {
            let mut mine = vec![false; plain.len()];
            let add = |mine: &mut Vec<bool>, other: OpId| {
                before[other.index()].iter().zip(&mut *mine).for_each(|(&theirs, mine)| *mine |= theirs);
                mine[other.index()] = true;
            };
            direct[op.index()].iter().for_each(|&other| add(&mut mine, other));
            if plain.kind(op).locks() {
                last_on_lock.into_iter().for_each(|other| add(&mut mine, other));
                last_on_lock = Some(op);
            }
            if plain.kind(op).reads() {
                let writes: Vec<OpId> = order
                    .iter()
                    .copied()
                    .filter(|&w| w < op && !plain.kind(w).locks() && plain.kind(w).writes())
                    .filter(|&w| plain.addr(w) == plain.addr(op))
                    .collect();
                let overwritten = |write: Option<OpId>| {
                    writes.iter().any(|&w| {
                        let read = write.is_some_and(|write| before[write.index()][w.index()]);
                        let after = write.is_none_or(|write| before[w.index()][write.index()]);
                        after && (mine[w.index()] || read)
                    })
                };
                let all: Vec<Option<OpId>> = writes.iter().copied().map(Some).chain([None]).collect();
                let (bad, good): (Vec<Option<OpId>>, Vec<_>) = all.into_iter().partition(|&write| overwritten(write));
                if let Some(&bad) = bad.get(random.below(bad.len().max(1) as u64) as usize) {
                    wrong.push((op, bad.map_or(0, |w| plain.write(w))));
                }
                let write = good[random.below(good.len() as u64) as usize];
                if write != writes.last().copied() {
                    old.insert((plain.addr(op), write));
                }
                reads[op.index()] = write.map_or(0, |w| plain.write(w));
                write.into_iter().for_each(|write| add(&mut mine, write));
            }
            before[op.index()] = mine;
        }
        let fine = with_reads(&plain, &reads);
        assert_eq!(certifier.witness(&fine, &model, &Witness { order: order.clone() }), Ok(()), "{round}");
        assert!(fine.ops().all(|op| fine.source(op) != Source::UNWRITTEN));
        assert!(wrong.len() > 100 && old.len() > 300, "{} {}", wrong.len(), old.len());
        for _ in 0..30 {
            let (op, value) = wrong[random.below(wrong.len() as u64) as usize];
            let mut reads = reads.clone();
            reads[op.index()] = value;
            // Everything after it is made without it, and may be wrong too.
            let broken = with_reads(&plain, &reads);
            let answer = certifier.witness(&broken, &model, &Witness { order: order.clone() });
            let Err(Flaw::Overwritten { read, by }) = answer else { panic!("{answer:?}") };
            assert!(read >= op && by < read && plain.addr(by) == plain.addr(read), "{op:?} {read:?} {by:?}");
        }
    }
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
    let two = "0 acq L; 0 rel L; 1 acq L; 1 rel L; 2 acq K; 2 rel K";
    let lock = |op, after| Err(Flaw::Lock { op: OpId(op), after });
    assert_eq!(check(two, &wmo(), &[2, 4, 3, 0, 5, 1]), Ok(()));
    assert_eq!(check(two, &wmo(), &[0, 2, 1, 3, 4, 5]), lock(2, Event(0)));
    assert_eq!(check(two, &Model { lock_exclusion: false, ..wmo() }, &[0, 2, 1, 3, 4, 5]), Ok(()));
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
fn garbage_is_refused_without_panic() {
    let mut random = Random(0xBADBAD);
    let mut certifier = Certifier::new();
    let mut flaws = 0;
    for _ in 0..30_000 {
        let Some(trace) = random_trace(&mut random, Recipe { most: 9, ..ANY }) else { continue };
        let mut ops: Vec<OpId> = trace.memory_ops().collect();
        for i in (1..ops.len()).rev() {
            if random.one_in(3) {
                ops.swap(i, random.below(i as u64 + 1) as usize);
            }
        }
        if random.one_in(3) {
            let at = random.below(ops.len() as u64 + 1) as usize;
            let id = random.below(trace.len() as u64 + 2) as u32;
            ops.insert(at, OpId(if random.one_in(9) { u32::MAX } else { id }));
        }
        if random.one_in(3) && !ops.is_empty() {
            ops.remove(random.below(ops.len() as u64) as usize);
        }
        let model = random_model(&mut random);
        if let Err(flaw) = certifier.witness(&trace, &model, &Witness { order: ops }) {
            flaws += 1;
            assert!(!flaw.to_string().is_empty());
        }
    }
    assert!(flaws > 10_000);
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
                    trace.kind(a) == OpKind::Load && trace.kind(b).writes()
                        || trace.kind(a).writes() && trace.kind(b) == OpKind::Load
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
