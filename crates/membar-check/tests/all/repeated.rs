//! Traces in which values are repeated, against brute force: whichever writes the reads returned, the whole is forbidden where
//! the part that is decided is.

use membar_certify::Certifier;
use membar_check::{Checker, Limits};
use membar_core::{OpKind, ResolveScratch, Rng, Trace, Undecided, Verdict};
use membar_testkit::orders;

/// Small and full of repeated values; not resolved.
fn random(rng: &mut Rng) -> Trace {
    let mut trace = Trace::new();
    trace.clear(1);
    let addrs = [trace.named_id("x"), trace.named_id("y")];
    for line in 1..=2 + rng.below(4) as u64 {
        let thread = trace.thread_id(rng.below(3));
        let addr = addrs[usize::from(rng.chance(1, 4))];
        let (read, write) = (u64::from(rng.below(3)), 1 + u64::from(rng.below(3)));
        match rng.below(5) {
            0 => trace.push_load(thread, addr, read, line),
            1 => trace.push_store(thread, addr, write, line),
            _ => trace.push_rmw(thread, addr, read, write, line),
        };
    }
    if rng.chance(1, 3) {
        trace.finals.push(membar_core::Final { addr: addrs[0], value: u64::from(rng.below(4)), line: 9 });
    }
    trace
}

/// Values that nothing else has: that of a write, and one that nobody writes.
const UNIQUE: u64 = 100;
const NOBODY: u64 = 99;

/// Every way to say which write each read, and each final value, returned, as a trace with unique values.
fn readings(trace: &Trace) -> Vec<Trace> {
    let sources = |addr, value: u64| {
        let writes = |op: &membar_core::OpId| {
            matches!(trace.kind(*op), OpKind::Store | OpKind::Rmw)
                && trace.addr(*op) == addr
                && trace.write(*op) == value
        };
        let mut values: Vec<u64> = trace.ops().filter(writes).map(|op| UNIQUE + u64::from(op.0)).collect();
        if value == 0 {
            values.push(0);
        }
        if values.is_empty() {
            values.push(NOBODY);
        }
        values
    };
    let mut all = vec![(Vec::new(), Vec::new())];
    for op in trace.ops() {
        let reads = matches!(trace.kind(op), OpKind::Load | OpKind::Rmw);
        let values = if reads { sources(trace.addr(op), trace.read(op)) } else { vec![0] };
        all = all
            .into_iter()
            .flat_map(|(ops, _)| {
                values.iter().map(move |&value| ([&ops[..], &[value]].concat(), Vec::new())).collect::<Vec<_>>()
            })
            .collect();
    }
    for end in &trace.finals {
        let values = sources(end.addr, end.value);
        all = all
            .into_iter()
            .flat_map(|(ops, ends)| {
                values.iter().map(move |&value| (ops.clone(), [&ends[..], &[value]].concat())).collect::<Vec<_>>()
            })
            .collect();
    }
    let unique = |(ops, ends): (Vec<u64>, Vec<u64>)| {
        let mut new = Trace::new();
        new.clear(1);
        trace.addr_names().iter().for_each(|name| _ = new.addr_id(name));
        trace.thread_names().iter().for_each(|&name| _ = new.thread_id(name));
        for id in trace.ops() {
            let mut op = trace.op(id);
            op.read = ops[id.index()];
            op.write = UNIQUE + u64::from(id.0);
            new.push(op);
        }
        new.finals = trace.finals.iter().zip(ends).map(|(end, value)| membar_core::Final { value, ..*end }).collect();
        new.resolve(&mut ResolveScratch::default()).unwrap();
        new
    };
    all.into_iter().map(unique).collect()
}

#[test]
fn the_whole_forbids_everything_its_part_forbids() {
    let (mut checker, mut certifier, mut rng) = (Checker::new(), Certifier::new(), Rng::stream(1, 2));
    let models = ["sc", "tso", "pso", "wmo", "rmo", "lc"].map(|name| membar_model::builtin(name).unwrap());
    let (mut forbidden, mut faults, mut open) = (0, 0, 0);
    for round in 0..3000 {
        let whole = random(&mut rng);
        let mut trace = whole.clone();
        let resolved = trace.resolve_recorded(&mut ResolveScratch::default());
        if trace.left_out().is_none() {
            assert!(resolved.is_ok());
            faults += u64::from(trace.is_open());
            continue;
        }
        for model in models {
            let verdict = checker.check(&trace, model, &Limits::default()).verdict;
            certifier.verdict(&trace, model, &verdict).unwrap();
            match verdict {
                Verdict::Forbidden(_) => {
                    forbidden += 1;
                    let legal = readings(&whole).into_iter().position(|reading| orders::decide(&reading, model));
                    assert_eq!(legal, None, "round {round}, {}", model.name);
                    let part = checker.shrink(&trace, model, &Limits::default()).unwrap();
                    assert!(part.trace.len() <= trace.len());
                }
                Verdict::Undecided { reason, .. } => {
                    assert_eq!((reason, model.name.as_str()), (Undecided::Repeated, "lc"));
                    open += 1;
                }
                Verdict::Allowed(_) => panic!("round {round}: a part cannot show that {} allows the whole", model.name),
            }
        }
    }
    assert!(forbidden > 1000 && faults > 100 && open > 20, "{forbidden} {faults} {open}");
}
