//! Prints how long certifying takes: `cargo run --release -p membar-certify --example timing`.

use membar_certify::Certifier;
use membar_core::{Kind, Lemma, Model, OpId, Ppo, Proof, ResolveScratch, Span, Trace, When, Witness};
use std::time::Instant;

fn model(load: When, store_load: When, store_store: When) -> Model {
    Model::new("", Ppo::new(load, load, store_load, store_store))
}

/// An interleaving on one memory: its own line order is a witness.
fn interleaving(n: u32, threads: u64, addrs: u64, timed: bool) -> (Trace, Witness) {
    let mut trace = Trace::new();
    trace.clear(1);
    let mut state = 88172645463325252u64;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % below
    };
    let mut memory = vec![0; addrs as usize];
    for i in 0..n {
        let thread = trace.thread_id(next(threads) as u32);
        let a = next(addrs);
        let addr = trace.memory_id(a);
        let (old, new, line) = (memory[a as usize], i as u64 + 1, i as u64 + 1);
        let op = match next(20) {
            0..=9 => trace.push_load(thread, addr, old, line),
            10..=17 => trace.push_store(thread, addr, new, line),
            18 => trace.push_rmw(thread, addr, old, new, line),
            _ => trace.push_fence(thread, None, line),
        };
        if !matches!(trace.kind(op), membar_core::OpKind::Load | membar_core::OpKind::Fence) {
            memory[a as usize] = new;
        }
        if timed {
            trace.set_span(op, Span { begin: Some(4 * line), end: Some(4 * line + 40) });
        }
    }
    trace.resolve(&mut ResolveScratch::default()).unwrap();
    let order: Vec<OpId> = trace.memory_ops().collect();
    (trace, Witness { order })
}

/// The same with each thread's lines in one block, as a test bench writes them at its end.
fn by_thread((trace, witness): (Trace, Witness)) -> (Trace, Witness) {
    let mut blocks: Vec<OpId> = trace.ops().collect();
    blocks.sort_by_key(|&op| trace.thread(op));
    let mut now = vec![OpId(0); trace.len()];
    for (i, op) in blocks.iter().enumerate() {
        now[op.index()] = OpId(i as u32);
    }
    let mut blocked = trace.restricted_to(&blocks, |_| true, |_| true);
    blocked.resolve(&mut ResolveScratch::default()).unwrap();
    (blocked, Witness { order: witness.order.iter().map(|op| now[op.index()]).collect() })
}

/// Half of the threads write, the other half read what one of them wrote, as late as they can: under location consistency.
fn late(n: u32, threads: u32, addrs: u64, timed: bool) -> (Trace, Witness) {
    let mut trace = Trace::new();
    trace.clear(1);
    let (half, writers) = (n / 2, threads / 2);
    let session = |trace: &mut Trace, by: u32, i: u32| {
        // Each thread has its own lock.
        let (thread, lock) = (trace.thread_id(by), trace.lock_id(&format!("L{by}")));
        if (i / threads).is_multiple_of(10) {
            trace.push_acquire(thread, lock, 1);
            trace.push_release(thread, lock, 1);
        }
        thread
    };
    for i in 0..half {
        let thread = session(&mut trace, i % writers, i);
        let addr = trace.memory_id(i as u64 / writers as u64 % addrs);
        trace.push_store(thread, addr, i as u64 + 1, 1);
    }
    for i in 0..half {
        let thread = session(&mut trace, writers + i % writers, i);
        let addr = trace.memory_id(i as u64 / writers as u64 % addrs);
        trace.push_load(thread, addr, i as u64 + 1, 1);
    }
    if timed {
        for op in trace.ops() {
            trace.set_span(op, Span { begin: Some(op.0 as u64), end: Some((n + op.0) as u64) });
        }
    }
    trace.resolve(&mut ResolveScratch::default()).unwrap();
    let order = trace.memory_ops().collect();
    (trace, Witness { order })
}

fn location_consistency() -> Model {
    let mut lc = model(When::SAME_ADDRESS, When::SAME_ADDRESS, When::SAME_ADDRESS);
    for access in [Kind::Load, Kind::Store] {
        lc.ppo.set(Kind::Acquire, access, When::ALWAYS);
        lc.ppo.set(access, Kind::Release, When::ALWAYS);
    }
    lc.write_order = false;
    lc
}

fn main() {
    let tso = model(When::ALWAYS, When::NEVER, When::ALWAYS);
    let same_or_time = When { same_address: true, time: true, ..When::NEVER };
    let wmo = model(same_or_time, When::NEVER, When::SAME_ADDRESS);
    let mut certifier = Certifier::new();
    // Proofs: the part that does not depend on their length.
    let (trace, _) = interleaving(1_000_000, 8, 16, false);
    let start = Instant::now();
    let flaw = certifier.proof(&trace, &tso, &Proof::Cycle(vec![Lemma::default()]));
    println!("a proof about 1000000 operations, beside its steps: {:.2?} ({})", start.elapsed(), flaw.unwrap_err());
    println!("{:>9} {:>3} {:>7} {:>6} {:>5} {:>12} {:>9}", "n", "p", "a", "model", "times", "a trace", "an op");
    for (n, threads, addrs, timed, repeat) in [
        (17, 2, 3, false, 1_000_000u32),
        (17, 2, 3, true, 300_000),
        (1_000_000, 8, 16, false, 10),
        (1_000_000, 64, 100_000, false, 10),
        (1_000_000, 8, 16, true, 5),
        (1_000_000, 64, 100_000, true, 5),
    ] {
        let (trace, witness) = by_thread(interleaving(n, threads, addrs, timed));
        for (name, model) in [("tso", &tso), ("wmo", &wmo)] {
            certifier.witness(&trace, model, &witness).unwrap();
            // The best of many batches: other processes disturb.
            let batch = (100_000 / n).max(1);
            let each = (0..(repeat / batch).max(5)).map(|_| {
                let start = Instant::now();
                for _ in 0..batch {
                    certifier.witness(&trace, model, std::hint::black_box(&witness)).unwrap();
                }
                start.elapsed() / batch
            });
            let each = each.min().unwrap_or_default();
            println!("{n:>9} {threads:>3} {addrs:>7} {name:>6} {timed:>5} {each:>12.2?} {:>9.2?}", each / n);
        }
    }
    let lc = location_consistency();
    for (n, threads, addrs, timed) in
        [(10_000, 8, 4, false), (100_000, 8, 4, false), (100_000, 8, 4, true), (100_000, 64, 100, false)]
    {
        let (trace, witness) = late(n, threads, addrs, timed);
        let start = Instant::now();
        certifier.witness(&trace, &lc, &witness).unwrap();
        let each = start.elapsed();
        println!("{n:>9} {threads:>3} {addrs:>7} {:>6} {timed:>5} {each:>12.2?} {:>9.2?}", "lc", each / n);
    }
}
