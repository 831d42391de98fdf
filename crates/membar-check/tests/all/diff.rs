//! The smallest traces that tell models apart are those that the book's reference/models.md names, and they are the smallest.
//!
//! Catches what no other test does: a rule of `diff.rs` that leaves out something that separates two models; a table in the
//! documentation that is not true.

use membar_check::diff::{Separation, Side, Size, includes, separate};
use membar_check::{Checker, Decision, Limits};
use membar_core::{Guard, Kind, Mask, Model, OpKind, Ppo, ResolveScratch, Rng, Trace, When};
use membar_model::{builtin, builtins, parse, source};
use membar_testkit::orders;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Trace {
    let name = path.display().to_string();
    let mut traces = membar_trace::parse(&name, text_of(path).as_bytes()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    assert_eq!(traces.len(), 1, "{name}");
    traces.remove(0)
}

fn allowed(trace: &Trace, model: &Model) -> bool {
    let decision = Checker::new().decide(trace, model, &Limits::default());
    assert!(!matches!(decision, Decision::Undecided(_)));
    let allowed = decision == Decision::Allowed;
    assert_eq!(orders::decide(trace, model), allowed, "{}: {}", model.name, shown(trace));
    allowed
}

fn shown(trace: &Trace) -> String {
    let mut text = Vec::new();
    membar_trace::write_trace(trace, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn find(a: &Model, b: &Model, size: Size) -> Separation {
    let found = separate(a, b, size, &Limits::default(), &mut |_| {});
    for (side, allow, forbid) in [(&found.only_first, a, b), (&found.only_second, b, a)] {
        if let Some(trace) = side.trace() {
            assert!(
                allowed(trace, allow) && !allowed(trace, forbid),
                "{} {}: {}",
                allow.name,
                forbid.name,
                shown(trace)
            );
        }
    }
    found
}

fn of(ops: usize) -> Size {
    Size { ops, ..Size::default() }
}

/// The table of the documentation: by the model that allows and the one that forbids, what its cell says; and the file and
/// the operations of each name that is used there.
#[allow(clippy::type_complexity)]
fn documented() -> (BTreeMap<(String, String), String>, BTreeMap<String, (PathBuf, usize)>) {
    let text = text_of(&root().join("book/src/reference/models.md"));
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('*').to_owned()).collect()
    };
    let mut lines = text.lines();
    let head = cells(lines.find(|line| line.starts_with("| allows ↓ forbids →")).expect("the table of pairs"));
    let mut table = BTreeMap::new();
    for line in lines.by_ref().skip(1).take(builtins().len()) {
        let row = cells(line);
        assert_eq!(row.len(), head.len(), "{line}");
        for (column, cell) in head.iter().zip(&row).skip(1) {
            table.insert((row[0].clone(), column.clone()), cell.clone());
        }
    }
    assert_eq!(table.len(), builtins().len() * builtins().len());
    let mut names = BTreeMap::new();
    for line in lines.filter(|line| line.contains("(../../../corpus/models/")) {
        let row = cells(line);
        let file = row[1].split(['(', ')']).nth(1).expect("a link").trim_start_matches("../../../");
        names.insert(row[0].clone(), (root().join(file), row[2].parse().expect("operations")));
    }
    (table, names)
}

#[test]
#[ignore = "long"]
fn builtins_differ_as_documented() {
    let (table, names) = documented();
    for (i, a) in builtins().iter().enumerate() {
        assert_eq!(table[&(a.name.clone(), a.name.clone())], "");
        for b in &builtins()[i + 1..] {
            // Between these two the tables do not decide, and there is nothing to find.
            let size = if (a.name.as_str(), b.name.as_str()) == ("tso", "lc") { of(7) } else { of(9) };
            let found = find(a, b, size);
            for (side, allow, forbid) in [(found.only_first, a, b), (found.only_second, b, a)] {
                let cell = &table[&(allow.name.clone(), forbid.name.clone())];
                let place = format!("{} allows, {} forbids: {cell}", allow.name, forbid.name);
                match (side, cell.as_str()) {
                    (Side::Never, "–") => {}
                    (Side::None { ops: 7 }, "(–)") => {}
                    (Side::Trace(trace), name) => {
                        let (file, ops) = names.get(name).unwrap_or_else(|| panic!("{place}"));
                        assert_eq!(trace.len(), *ops, "{place}: {}", shown(&trace));
                        let named = read(file);
                        assert_eq!(named.len(), *ops, "{place}");
                        assert!(allowed(&named, allow) && !allowed(&named, forbid), "{place}");
                    }
                    (side, _) => panic!("{place}, but {side:?}"),
                }
            }
        }
    }
}

/// The verdicts in the first line of each trace of corpus/models, by the checker and by the oracle.
#[test]
fn corpus_of_models() {
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("corpus/models")).expect("corpus/models") {
        let path = entry.unwrap().path();
        let text = text_of(&path);
        let mut lines = text.lines();
        let expected = lines.next().and_then(|line| line.strip_prefix("# expect: ")).expect("verdicts");
        assert!(lines.next().is_some_and(|line| line.starts_with("# ") && line.ends_with('.')), "{}", path.display());
        let trace = read(&path);
        let mut models = builtins().iter();
        for pair in expected.split(' ') {
            let (name, verdict) = pair.split_once('=').expect("model=verdict");
            let model = models.next().expect("a model");
            assert_eq!(model.name, name, "{}", path.display());
            let ours = if allowed(&trace, model) { "allowed" } else { "forbidden" };
            assert_eq!(ours, verdict, "{} under {name}", path.display());
            *told.entry(pair.to_owned()).or_default() += 1;
        }
        assert!(models.next().is_none(), "{}: a verdict for each model", path.display());
        count += 1;
    }
    assert!(count >= 30, "{count}");
    assert_eq!(told.len(), 2 * builtins().len(), "each model allows some and forbids some");
}

#[test]
fn a_model_does_not_differ_from_itself() {
    for name in ["sc", "pso", "scope", "lc"] {
        let model = builtin(name).unwrap();
        let found = find(model, model, of(5));
        assert!(matches!(found.only_first, Side::Never) && matches!(found.only_second, Side::Never), "{name}");
    }
}

fn edited(name: &str, from: &str, to: &str) -> Model {
    let text = source(name).unwrap().replace(&format!("\"{name}\""), "\"edited\"");
    assert!(text.contains(from));
    parse("edited.toml", &text.replacen(from, to, 1)).unwrap_or_else(|error| panic!("{error}"))
}

fn has(trace: &Trace, kind: OpKind) -> bool {
    trace.ops().any(|op| trace.kind(op) == kind)
}

#[test]
fn every_axiom_can_tell_two_models_apart() {
    // A sync that orders less.
    let leaky = edited("tso", "sync = \"all\"", "sync = [\"load-load\", \"load-store\", \"store-store\"]");
    let found = find(&leaky, builtin("tso").unwrap(), of(6));
    assert!(found.only_first.trace().is_some_and(|trace| trace.len() == 6 && has(trace, OpKind::Fence)));
    assert!(matches!(found.only_second, Side::Never));

    // No store forwarding, as on the IBM 370.
    let text = source("tso").unwrap().replace("\"tso\"", "\"ibm370\"").replace("\"never\"", "\"same-address\"");
    let ibm370 = parse("ibm370.toml", &text.replace("forwarding = true", "forwarding = false")).unwrap();
    let found = find(builtin("tso").unwrap(), &ibm370, of(6));
    assert!(matches!(found.only_first, Side::Trace(_)) && matches!(found.only_second, Side::Never), "{found:?}");

    // Sessions that overlap.
    let open = edited("scope", "lock-exclusion = true", "lock-exclusion = false");
    let found = find(&open, builtin("scope").unwrap(), of(7));
    assert!(found.only_first.trace().is_some_and(|trace| has(trace, OpKind::Acquire)));
    assert!(matches!(found.only_second, Side::Never));

    // Atomic writes: the end of a store counts.
    let atomic = edited("pso", "lock-exclusion = true", "lock-exclusion = true\natomic-writes = true");
    let found = find(builtin("pso").unwrap(), &atomic, of(4));
    assert!(found.only_first.trace().is_some_and(|trace| trace.len() == 4 && trace.has_times()), "{found:?}");
    assert!(matches!(found.only_second, Side::Never));

    // Time as a condition of a store.
    let timed = edited("pso", "store-load  = \"never\"", "store-load  = \"time\"");
    let found = find(builtin("pso").unwrap(), &timed, of(4));
    assert!(found.only_first.trace().is_some_and(Trace::has_times), "{found:?}");

    // A pair of locks.
    let early = edited("rc", "release-access = \"never\"", "release-access = \"guarded\"");
    let found = find(builtin("rc").unwrap(), &early, of(7));
    assert!(found.only_first.trace().is_some_and(|trace| !trace.guards.is_empty()), "{found:?}");
}

#[test]
fn limits_are_told() {
    let [tso, lc] = ["tso", "lc"].map(|name| builtin(name).unwrap());
    let mut last = 0;
    let limits = Limits::default().within(Duration::from_millis(50));
    let found = separate(tso, lc, Size { ops: 16, ..Size::default() }, &limits, &mut |now| {
        assert!(now.ops >= last);
        last = now.ops;
    });
    assert!(matches!(found.only_first, Side::Open { ops: 3..=9, .. }), "{found:?}");
    assert!(last > 3);
    let none = separate(tso, lc, of(2), &Limits::default(), &mut |_| {});
    assert!(matches!((none.only_first, none.only_second), (Side::None { ops: 2 }, Side::None { ops: 2 })));
}

/// All traces of this many operations over these, by brute force: thread lengths, operations and values.
fn each_trace(ops: usize, alphabet: &[(OpKind, u64)], guards: &[Vec<u64>], visit: &mut dyn FnMut(&Trace)) {
    let mut scratch = ResolveScratch::default();
    for code in 0..alphabet.len().pow(ops as u32) {
        let op = |i: usize| alphabet[code / alphabet.len().pow(i as u32) % alphabet.len()];
        for split in 0..ops {
            let thread = |i: usize| u32::from(split > 0 && i >= split);
            // Sessions, of the one lock, have to be whole.
            let mut held = [0i32; 2];
            let whole = (0..ops).all(|i| {
                let held = &mut held[thread(i) as usize];
                *held += i32::from(op(i).0 == OpKind::Acquire) - i32::from(op(i).0 == OpKind::Release);
                (0..=1).contains(held)
            });
            if !whole || held != [0, 0] {
                continue;
            }
            let of = |kind: OpKind, addr: u64| (0..ops).filter(move |&i| op(i) == (kind, addr)).count() as u64;
            let choices: Vec<u64> =
                (0..ops).map(|i| if op(i).0 == OpKind::Load { 1 + of(OpKind::Store, op(i).1) } else { 1 }).collect();
            for values in 0..choices.iter().product() {
                for guarded in guards {
                    let mut trace = Trace::new();
                    trace.clear(1);
                    let mut left: u64 = values;
                    let mut stored = [0; 2];
                    for (i, &choice) in choices.iter().enumerate() {
                        let (kind, addr) = op(i);
                        let thread = trace.thread_id(thread(i));
                        let x = if kind == OpKind::Fence { None } else { Some(trace.memory_id(addr)) };
                        let line = i as u64 + 1;
                        let value = left % choice;
                        left /= choice;
                        match kind {
                            OpKind::Load => _ = trace.push_load(thread, x.unwrap(), value, line),
                            OpKind::Store => {
                                stored[addr as usize] += 1;
                                trace.push_store(thread, x.unwrap(), stored[addr as usize], line);
                            }
                            OpKind::Fence => _ = trace.push_fence(thread, None, line),
                            OpKind::Acquire | OpKind::Release => {
                                let lock = trace.lock_id("L");
                                match kind {
                                    OpKind::Acquire => trace.push_acquire(thread, lock, line),
                                    _ => trace.push_release(thread, lock, line),
                                };
                            }
                            OpKind::Rmw => unreachable!("not in the alphabet"),
                        }
                    }
                    if !guarded.is_empty() {
                        let lock = trace.lock_id("L");
                        let addrs = guarded.iter().map(|&x| trace.memory_id(x)).collect();
                        trace.guards.push(Guard { lock, addrs, line: 99 });
                    }
                    if trace.resolve(&mut scratch).is_ok() {
                        visit(&trace);
                    }
                }
            }
        }
    }
}

/// For each pair of models, the size of the smallest trace that the first allows and the second forbids, by brute force.
fn by_brute_force(
    pairs: &[(Model, Model)],
    most: usize,
    alphabet: &[(OpKind, u64)],
    guards: &[Vec<u64>],
) -> Vec<[Option<usize>; 2]> {
    let mut smallest = vec![[None; 2]; pairs.len()];
    let mut checker = Checker::new();
    let sc = builtin("sc").unwrap();
    for ops in 1..=most {
        each_trace(ops, alphabet, guards, &mut |trace| {
            let mut decide = |model: &Model| checker.decide(trace, model, &Limits::default()) == Decision::Allowed;
            if decide(sc) && pairs.iter().all(|(a, b)| a.lock_exclusion && b.lock_exclusion) {
                return;
            }
            for ((a, b), found) in pairs.iter().zip(&mut smallest) {
                if found.iter().any(Option::is_none) {
                    let [a, b] = [decide(a), decide(b)];
                    if a != b {
                        found[usize::from(b)].get_or_insert(ops);
                    }
                }
            }
        });
    }
    smallest
}

fn assert_smallest(pairs: &[(Model, Model)], smallest: &[[Option<usize>; 2]], size: Size) {
    let mut some = 0;
    for ((a, b), smallest) in pairs.iter().zip(smallest) {
        let found = find(a, b, size);
        for (side, &smallest) in [found.only_first, found.only_second].iter().zip(smallest) {
            some += usize::from(smallest.is_some());
            let partial = side.trace().is_some_and(|trace| trace.ops().any(|op| trace.mask(op).is_some()));
            match side {
                // Brute force does not try weaker barriers.
                Side::Trace(trace) if partial => assert!(smallest.is_none_or(|smallest| trace.len() <= smallest)),
                Side::Trace(trace) => assert_eq!(Some(trace.len()), smallest, "{a:?} {b:?} {}", shown(trace)),
                _ => assert_eq!(smallest, None, "{a:?} {b:?}"),
            }
        }
    }
    assert!(some * 2 > pairs.len(), "{some} differences between {} pairs", pairs.len());
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u32) as usize]
}

/// A random table for accesses that keeps the invariant of models.
fn random(rng: &mut Rng) -> Model {
    let any = [When::NEVER, When::SAME_ADDRESS, When::ALWAYS];
    let write_order = rng.chance(3, 4);
    let store_load = if write_order { pick(rng, &any) } else { pick(rng, &any[1..]) };
    let ppo = Ppo::new(pick(rng, &any), pick(rng, &any[1..]), store_load, pick(rng, &any[1..]));
    let sync = Mask::from_bits(pick(rng, &[15, 15, 11, 7]));
    Model { write_order, store_forwarding: rng.chance(3, 4), sync, ..Model::new("random", ppo) }
}

#[test]
fn oracle_smallest_without_locks() {
    let mut rng = Rng::new(7);
    let pairs: Vec<_> = (0..60).map(|_| (random(&mut rng), random(&mut rng))).collect();
    use OpKind::{Fence, Load, Store};
    let alphabet = [(Load, 0), (Load, 1), (Store, 0), (Store, 1), (Fence, 0)];
    let smallest = by_brute_force(&pairs, 5, &alphabet, &[vec![]]);
    assert_smallest(&pairs, &smallest, Size { ops: 5, threads: 2, addresses: 2, locks: 0 });
}

#[test]
#[ignore = "long"]
fn oracle_smallest_with_locks() {
    let mut rng = Rng::new(8);
    let mut random = || {
        let mut model = random(&mut rng);
        for earlier in Kind::ALL {
            for later in Kind::ALL {
                let when = match (earlier.locks(), later.locks()) {
                    (false, false) => continue,
                    (true, true) => When::SAME_ADDRESS,
                    _ if earlier == Kind::Release || later == Kind::Acquire => {
                        pick(&mut rng, &[When::NEVER, When::NEVER, When::GUARDED, When::ALWAYS])
                    }
                    _ => pick(&mut rng, &[When::NEVER, When::SAME_SESSION, When::GUARDED, When::ALWAYS]),
                };
                model.ppo.set(earlier, later, when);
            }
        }
        // Only the locks are to tell them apart.
        let same = When::SAME_ADDRESS;
        for (earlier, later) in [(Kind::Load, Kind::Load), (Kind::Load, Kind::Store), (Kind::Store, Kind::Store)] {
            model.ppo.set(earlier, later, same);
        }
        model.ppo.set(Kind::Store, Kind::Load, if model.write_order { When::NEVER } else { same });
        Model { store_forwarding: true, sync: Mask::FULL, ..model }
    };
    let pairs: Vec<_> = (0..12).map(|_| (random(), random())).collect();
    use OpKind::{Acquire, Load, Release, Store};
    let alphabet = [(Load, 0), (Store, 0), (Acquire, 0), (Release, 0)];
    let smallest = by_brute_force(&pairs, 7, &alphabet, &[vec![], vec![0]]);
    assert_smallest(&pairs, &smallest, Size { ops: 7, threads: 2, addresses: 1, locks: 1 });
}

/// The inclusions shown in the tables hold for every trace of the corpus.
#[test]
fn tables_that_include_each_other_do() {
    let mut pairs = 0;
    for entry in std::fs::read_dir(root().join("corpus/models")).unwrap() {
        let trace = read(&entry.unwrap().path());
        for a in builtins() {
            for b in builtins().iter().filter(|b| includes(a, b)) {
                assert!(!allowed(&trace, a) || allowed(&trace, b), "{} {}", a.name, b.name);
                pairs += 1;
            }
        }
    }
    assert!(pairs > 1000, "{pairs}");
}
