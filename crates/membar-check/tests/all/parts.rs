//! Traces with accesses of different sizes against enumeration of memory orders byte by byte, every certificate re-checked.
//!
//! `MEMBAR_ORACLE_TRACES=100000 cargo test --release -p membar-check --test all parts::` runs the long version.

use crate::common::{model, text, traces};
use membar_certify::Certifier;
use membar_check::{Checker, Limits};
use membar_core::{Model, ResolveScratch, Rng, Trace, Verdict, Witness};
use membar_testkit::sized::{Sized, decide, random, split};

/// Random traces, unless the environment asks for more.
const TRACES: u64 = 1500;

/// Sixteen bytes at once: half of a new value and half of an old one is never read, and values are the same after writing them.
#[test]
fn sixteen_bytes() {
    let value = "0x112233445566778899aabbccddeeff00";
    let (low, high) = ("0x99aabbccddeeff00", "0x1122334455667788");
    for (read, allowed) in [
        (value, true),
        ("0", true),
        ("0x11223344556677880000000000000000", false),
        (low, false),
        ("0x112233445566778899aabbccddeeff01", false),
    ] {
        let text = format!("0: x:16 := {value}\n1: x:16 == {read}\ncheck\n");
        for name in ["sc", "rvwmo", "armv8"] {
            assert_eq!(matches!(verdict(&text, name), Verdict::Allowed(_)), allowed, "{name}: {text}");
        }
        let trace = parse(&text);
        assert_eq!(parse(&self::text(&trace)).whole_read(membar_core::OpId(1)), trace.whole_read(membar_core::OpId(1)));
    }
    for (load, allowed) in [(low, true), (high, false)] {
        let text = format!("0: x:16 := {value}\n0: x == {load}\nfinal x:16 == {value}\ncheck\n");
        assert_eq!(matches!(verdict(&text, "armv8"), Verdict::Allowed(_)), allowed, "{text}");
    }
    // An exclusive pair of sixteen bytes is lost by a store to one of them.
    for (end, allowed) in [("0x07000000000000000000000000000001", true), ("1", false)] {
        let pair = format!("0: lr x:16 == 0\n0: sc x:16 := 1\n1: x+15:1 := 7\nfinal x:16 == {end}\ncheck\n");
        assert_eq!(matches!(verdict(&pair, "armv8"), Verdict::Allowed(_)), allowed, "{pair}");
    }
    let lost = "0: lr x:16 == 0\n0: sc x:16 := 1\n1: x+15:1 := 7\n1: x:16 == 0x07000000000000000000000000000000\n1: x:16 == 1\ncheck\n";
    assert!(matches!(verdict(lost, "armv8"), Verdict::Forbidden(_)));
}

/// A misaligned access in two pieces may be seen half done; at once it may not.
#[test]
fn an_access_in_pieces() {
    let text = |pieces: &str, between: &str| {
        format!("0: x+6:4 := 0x11112222{pieces}\n1: x+8:2 == 0x1111\n1: {between}\n1: x+6:2 == 0\ncheck\n")
    };
    for name in ["rvwmo", "armv8", "wmo"] {
        let allowed = |text: &str| matches!(verdict(text, name), Verdict::Allowed(_));
        assert!(allowed(&text(" pieces(2,2)", "sync")), "{name}");
        assert!(!allowed(&text("", "sync")), "{name}");
    }
    // What depends on a torn load depends on each of its pieces.
    for (piece, other) in [("x", 0), ("x+2", 1)] {
        let mp = |pieces: &str| {
            format!(
                "init x:4 == 0\n0: y := 1\n0: fence\n0: {piece}:2 := 1\n1: x:4 == {}{pieces}\n1: y == 0 addr(-1)\ncheck\n",
                1u32 << (16 * other)
            )
        };
        assert!(matches!(verdict(&mp(" pieces(2,2)"), "rvwmo"), Verdict::Forbidden(_)));
        assert!(matches!(verdict(&mp(" pieces(2,2)").replace(" addr(-1)", ""), "rvwmo"), Verdict::Allowed(_)));
    }
    // Which piece is first is not known: a proof that needs it is none.
    let first = "0: x+6:4 := 0x11112222 pieces(2,2)\n1: x+8:2 == 0x1111\n1: x+6:2 == 0\ncheck\n";
    let undecided = verdict(first, "sc");
    assert!(matches!(undecided, Verdict::Undecided { reason: membar_core::Undecided::Torn, .. }), "{undecided:?}");
    let other = "0: z := 1\n0: x+6:4 := 0x11112222 pieces(2,2)\n1: x+8:2 == 0x1111\n1: z == 0\ncheck\n";
    for name in ["sc", "tso", "ztso"] {
        assert!(matches!(verdict(other, name), Verdict::Forbidden(_)), "{name}");
    }
}

/// Chains of atomics that overlap in parts: refuting them takes few cases if proofs rest on few guesses, and millions otherwise.
#[test]
fn overlapping_atomics_are_decided() {
    const CHAINS: [&str; 3] = [
        "0: {x+1:1 == 1; x+1:1 := 0}\n0: {x:1 == 0; x:1 := 1} rl\n0: {x+1:1 == 0; x+1:1 := 1} rl\n0: x:2 := 1 rl\n\
         1: {x:2 == 257; x:2 := 256} aq\n1: {x:1 == 0; x:1 := 0}\n1: {x+1:1 == 1; x+1:1 := 1} aq\n1: x:2 := 257\n\
         2: {x:2 == 257; x:2 := 256}\n2: {x:4 == 256; x:4 := 16777216}\n2: {x:2 == 257; x:2 := 1}\ncheck\n",
        "0: {x:2 == 0; x:2 := 257}\n0: x:2 == 256\n0: {x:2 == 257; x:2 := 1}\n1: {x:2 == 1; x:2 := 1}\n\
         1: {x+1:1 == 2; x+1:1 := 2}\n1: {x:2 == 513; x:2 := 257} aq\n1: {x:2 == 257; x:2 := 257}\n\
         2: {x:1 == 0; x:1 := 0}\n2: x:1 == 1 aq\n2: {x:2 == 257; x:2 := 512} rl\ncheck\n",
        "0: {x:2 == 258; x:2 := 0}\n0: {x:1 == 0; x:1 := 2}\n0: {x:2 == 2; x:2 := 514}\n0: {x:2 == 256; x:2 := 512}\n\
         1: {x+1:2 == 0; x+1:2 := 1} aq rl\n1: x+1:1 := 0\n1: {x:2 == 2; x:2 := 2}\n1: {x:2 == 2; x:2 := 258} aq\n\
         2: x:1 := 0\n2: x:2 := 258\n2: x+1:1 := 1\ncheck\n",
    ];
    for text in CHAINS {
        let verdict = verdict(text, "armv8");
        assert!(matches!(verdict, Verdict::Forbidden(_)), "{text}");
    }
}

#[test]
fn oracle_sizes() {
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    let mut counts = [[0u64; 2]; 7];
    let (mut mixed, mut swapped, mut grouped) = (0, 0, [0u64; 2]);
    for seed in 0..traces(TRACES) {
        let mut rng = Rng::stream(seed, 0x517E);
        let mut trace = random(&mut rng, 9);
        if trace.resolve_recorded(&mut ResolveScratch::default()).is_err() || !trace.is_mixed() {
            continue;
        }
        mixed += 1;
        let mut allowed = Vec::new();
        for (i, (manual, name)) in Sized::ALL.into_iter().enumerate() {
            let model = model(name);
            let form = trace.for_model(model);
            assert_eq!(form.count_recorded(form.ops()), trace.len());
            let context = || format!("seed {seed}, {name}:\n{}\n{}", text(&trace), text(&form));
            let expected = if manual == Sized::Armv8 { decide(&split(&trace), manual) } else { decide(&trace, manual) };
            let verdict = checker.check(&form, model, &Limits::default()).verdict;
            assert_eq!(matches!(verdict, Verdict::Allowed(_)), expected, "{verdict:#?}{}", context());
            assert!(!matches!(verdict, Verdict::Undecided { .. }));
            if let Err(flaw) = certifier.verdict(&form, model, &verdict) {
                panic!("{flaw}\n{verdict:#?}\n{}", context());
            }
            if let Verdict::Allowed(witness) = &verdict {
                swapped += swap(&mut rng, witness, &form, manual, &mut certifier, model);
            }
            grouped[usize::from(expected)] += u64::from(form.is_grouped() && !form.is_open());
            counts[i][usize::from(expected)] += 1;
            allowed.push(expected);
        }
        let stronger =
            |a: usize, b: usize| assert!(allowed[b] || !allowed[a], "seed {seed}: a stronger model allows more");
        stronger(0, 1);
        stronger(1, 2);
        stronger(2, 3);
        stronger(0, 4);
        stronger(4, 5);
    }
    eprintln!("{mixed} mixed traces, {counts:?}, {grouped:?} with known sources, {swapped} wrong orders refused");
    assert!(mixed * 2 > traces(TRACES) && swapped * 10 > traces(TRACES));
    assert!(counts.iter().flatten().all(|&count| count * 20 > traces(TRACES)), "{counts:?}");
}

/// Swaps two neighbours of an order. If they were pieces of one access or its neighbours, the certifier has to refuse it.
fn swap(
    rng: &mut Rng,
    witness: &Witness,
    form: &Trace,
    manual: Sized,
    certifier: &mut Certifier,
    model: &Model,
) -> u64 {
    let mut order = witness.order.clone();
    if order.len() < 3 {
        return 0;
    }
    let at = rng.below(order.len() as u32 - 2) as usize;
    order.swap(at, at + 2);
    let split_up = |order: &[membar_core::OpId]| {
        let mut seen = Vec::new();
        order.iter().any(|&op| {
            let group = form.group(op);
            let again = seen.contains(&group) && seen.last() != Some(&group);
            seen.push(group);
            again
        })
    };
    let refused = certifier.verdict(form, model, &Verdict::Allowed(Witness { order: order.clone() })).is_err();
    assert!(refused || !split_up(&order), "{manual:?} {order:?}");
    u64::from(refused)
}

fn parse(text: &str) -> Trace {
    membar_trace::parse("parts", text.as_bytes()).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

fn verdict(text: &str, name: &str) -> Verdict {
    let (trace, model) = (parse(text), model(name));
    let form = trace.for_model(model);
    let verdict = Checker::new().check(&form, model, &Limits::default()).verdict;
    assert_eq!(membar_certify::verdict(&form, model, &verdict), Ok(()));
    verdict
}

#[test]
fn an_access_has_one_place() {
    // The second half is old: no model tears an access.
    let torn = "0: x := 0x100000001\n1: x == 1\n1: x:4 == 1\ncheck\n";
    let whole = "0: x := 0x100000001\n1: x == 0x100000001\n1: x:4 == 1\ncheck\n";
    for (_, name) in Sized::ALL {
        assert!(matches!(verdict(torn, name), Verdict::Forbidden(_)), "{name}");
        assert!(matches!(verdict(whole, name), Verdict::Allowed(_)), "{name}");
    }
}

#[test]
fn a_byte_of_the_own_store_and_others_from_memory() {
    let forwarded = "init x+2:1 == 3\n0: x:1 := 1\n0: x == 0x30001\n1: x+1:1 := 2\n1: x == 0x30200\ncheck\n";
    assert!(matches!(verdict(forwarded, "sc"), Verdict::Forbidden(_)));
    for name in ["tso", "pso", "wmo", "ztso", "rvwmo", "armv8"] {
        assert!(matches!(verdict(forwarded, name), Verdict::Allowed(_)), "{name}");
    }
}

#[test]
fn no_store_of_arm_acquires_but_that_of_an_atomic() {
    let buffering = |store: &str| format!("{store}\n0: y == 0\n1: y := 1\n1: dmb sy\n1: x == 0\ncheck\n");
    for (store, allowed) in [
        ("0: x := 1 aq", true),
        ("0: x := 1 aq rl", true),
        ("0: x := 1 aqpc", true),
        ("0: lr x == 0\n0: sc x := 1 aq", true),
        ("0: { x == 0; x := 1 } aq", true),
        ("0: { x == 0; x := 1 } aq rl", false),
    ] {
        let text = buffering(store);
        assert_eq!(matches!(verdict(&text, "armv8"), Verdict::Allowed(_)), allowed, "{text}");
    }
    // RISC-V may mark any access.
    assert!(matches!(verdict(&buffering("0: x := 1 aq"), "rvwmo"), Verdict::Forbidden(_)));
}

#[test]
fn a_byte_that_goes_back_is_forbidden() {
    // NaxRiscv #147: the second load of the byte returns what another hart stored before it, the word load after them the own store.
    let text = "0: x := 0x8006decc\n0: x:1 == 0xcc\n0: x:1 == 0\n0: x:4 == 0x8006decc\n1: x := 0\n1: x := 0\ncheck\n";
    for name in ["sc", "tso", "ztso", "rvwmo", "armv8"] {
        assert!(matches!(verdict(text, name), Verdict::Forbidden(_)), "{name}");
    }
}

#[test]
fn addresses_where_nothing_may_execute_are_looked_at_once() {
    // The scheduler missed the store to x beside the half of y's that has to wait for the other half.
    let text = "0: y:2 := 256 rl\n0: fence rw,rw\n0: y:4 == 16777472\n1: y+2:2 := 256\n1: x:2 := 0\n1: y:2 == 256\n\
        1: x+2:2 := 512 addr(-1)\n1: y:4 := 131330 rl\n1: { x:2 == 0; x:2 := 0 }\ncheck\n";
    assert!(matches!(verdict(text, "sc"), Verdict::Allowed(_)));
}

#[test]
fn a_part_has_whole_accesses() {
    let text = "0: y:2 := 7\n0: x := 0x100000001\n2: y == 7\n1: x == 1\n1: y:1 == 0\n1: x:4 == 1\n2: y:1 == 7\ncheck\n";
    let (trace, model) = (parse(text), model("rvwmo"));
    let part = Checker::new().shrink(&trace, model, &Limits::default()).unwrap();
    assert_eq!(self::text(&part.trace), "0: x := 4294967297\n1: x == 1\ncheck\n");
}
