//! Everything written is read back the same.

use membar_core::{AddrId, AddrName, Guard, Init, Marks, Mask, Op, OpId, OpKind, OrderLine, Span, Trace};
use membar_trace::{parse, write_op, write_trace};
use proptest::prelude::*;

fn name() -> impl Strategy<Value = AddrName> {
    let word = "[A-Za-z_][A-Za-z0-9_.$]{0,5}(\\[(0|[1-9][0-9]{0,5})\\])?";
    prop_oneof![
        any::<u64>().prop_map(AddrName::Memory),
        (0..9u64).prop_map(AddrName::Memory),
        word.prop_filter("means memory", |s| !s.starts_with("M[")).prop_map(|s| AddrName::Named(s.into())),
        prop_oneof![Just("sync"), Just("acq"), Just("check"), Just("M")].prop_map(|s| AddrName::Named(s.into())),
    ]
}

fn span() -> impl Strategy<Value = Span> {
    let ends = (proptest::option::of(any::<u64>()), proptest::option::of(any::<u64>()));
    prop_oneof![
        2 => Just(Span::UNKNOWN),
        1 => ends.prop_map(|(begin, end)| match (begin, end) {
            (Some(a), Some(b)) => Span { begin: Some(a.min(b)), end: Some(a.max(b)) },
            _ => Span { begin, end },
        }),
    ]
}

/// Random but sensible: every write has its own value.
fn trace() -> impl Strategy<Value = Trace> {
    let op = (0..8u8, any::<prop::sample::Index>(), prop_oneof![0..4u32, any::<u32>()], any::<u64>(), 1..16u8, span());
    let names = prop::collection::vec(name(), 1..6);
    (names, prop::collection::vec(op, 0..40), any::<[bool; 3]>()).prop_map(|(names, ops, [inits, orders, finals])| {
        let mut trace = Trace::new();
        trace.clear(1);
        let mut line = 0;
        let mut written: Vec<(AddrId, u64)> = Vec::new();
        if inits {
            for (i, name) in names.iter().enumerate() {
                let addr = trace.addr_id(name);
                if !trace.inits.iter().any(|init| init.addr == addr) {
                    line += 1;
                    trace.inits.push(Init { addr, value: 1_000_000 + i as u64, line });
                }
            }
            let lock = trace.lock_id("guard");
            let addrs = trace.inits.iter().map(|init| init.addr).collect();
            line += 1;
            trace.guards.push(Guard { lock, addrs, line });
        }
        for (i, (kind, at, thread, value, mask, span)) in ops.into_iter().enumerate() {
            let thread = trace.thread_id(thread);
            line += 1;
            let mut op = Op {
                kind: OpKind::Load,
                thread,
                addr: AddrId::NONE,
                read: 0,
                write: 0,
                mask: None,
                span,
                line,
                marks: Marks::NONE,
            };
            match kind {
                0..=4 => {
                    op.addr = trace.addr_id(at.get(&names));
                    op.kind = [OpKind::Load, OpKind::Load, OpKind::Store, OpKind::Store, OpKind::Rmw][kind as usize];
                    if op.kind != OpKind::Store {
                        op.read = value;
                    }
                    if op.kind != OpKind::Load {
                        op.write = i as u64 + 1;
                        written.push((op.addr, op.write));
                    }
                }
                5 => (op.kind, op.mask) = (OpKind::Fence, (mask < 15).then(|| Mask::from_bits(mask))),
                _ => {
                    op.addr = trace.lock_id("L[3]");
                    let held = trace.ops().filter(|&o| trace.thread(o) == thread && trace.addr(o) == op.addr).count();
                    op.kind = if held % 2 == 0 { OpKind::Acquire } else { OpKind::Release };
                }
            }
            trace.push(op);
        }
        // No lock stays held.
        let held = trace.ops().filter(|&op| trace.kind(op) == OpKind::Acquire).filter(|&op| {
            let after = |&o: &OpId| o > op && trace.thread(o) == trace.thread(op) && trace.addr(o) == trace.addr(op);
            trace.ops().find(after).is_none()
        });
        for (thread, lock) in held.map(|op| (trace.thread(op), trace.addr(op))).collect::<Vec<_>>() {
            line += 1;
            trace.push_release(thread, lock, line);
        }
        let mut addrs: Vec<AddrId> = written.iter().map(|w| w.0).collect();
        addrs.sort_unstable();
        addrs.dedup();
        for addr in addrs {
            let values: Vec<u64> = written.iter().filter(|w| w.0 == addr).map(|w| w.1).rev().collect();
            if finals {
                line += 1;
                trace.finals.push(membar_core::Final { addr, value: values[0], line });
            }
            if orders {
                line += 1;
                trace.orders.push(OrderLine { addr, values, line });
            }
        }
        trace
    })
}

fn assert_same(left: &Trace, right: &Trace) {
    assert!(left.ops().map(|op| left.op(op)).eq(right.ops().map(|op| right.op(op))));
    assert_eq!(left.thread_names(), right.thread_names());
    assert_eq!(left.addr_names(), right.addr_names());
    assert_eq!(left.inits, right.inits);
    assert_eq!(left.finals, right.finals);
    assert_eq!(left.orders, right.orders);
    assert_eq!(left.guards, right.guards);
}

proptest! {
    #[test]
    fn read_back_the_same(trace in trace()) {
        let mut text = Vec::new();
        write_trace(&trace, &mut text).unwrap();
        let back = parse("t", &text).unwrap_or_else(|error| panic!("{}", error.render()));
        prop_assert_eq!(back.len(), 1);
        assert_same(&trace, &back[0]);
        let mut again = Vec::new();
        write_trace(&back[0], &mut again).unwrap();
        prop_assert_eq!(text, again);
    }

    #[test]
    fn no_bytes_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse("t", &text).map_err(|error| error.render());
    }

    #[test]
    fn no_damage_panics(trace in trace(), at: prop::sample::Index, with in prop::collection::vec(any::<u8>(), 0..4)) {
        let mut text = Vec::new();
        write_trace(&trace, &mut text).unwrap();
        let at = at.index(text.len());
        text.splice(at..(at + 2).min(text.len()), with);
        let _ = parse("t", &text).map_err(|error| error.render());
    }
}

#[test]
fn one_operation() {
    let trace = &parse("t", b"0:M[1]:=0x10@100:120\n1:<x==0;x:=1>\n1:membar#StoreLoad|#LoadLoad\ncheck").unwrap()[0];
    let mut text = String::new();
    for op in trace.ops() {
        write_op(trace, op, &mut text).unwrap();
        text.push('\n');
    }
    assert_eq!(text, "0: M[1] := 16 @ 100:120\n1: { x == 0; x := 1 }\n1: membar #LoadLoad|#StoreLoad\n");
}

#[test]
fn unreadable_output_is_not_written() {
    for bad in ["", "a b", "1x", "x[01]", "x[", "M[3]", "é", "x\n0: y", "x#", " x", "x "] {
        let mut trace = Trace::new();
        trace.clear(1);
        let (thread, addr) = (trace.thread_id(0), trace.named_id(bad));
        trace.push_load(thread, addr, 0, 1);
        let mut out = Vec::new();
        assert!(write_trace(&trace, &mut out).is_err(), "{bad:?}");
        assert!(out.is_empty());
    }
    let mut trace = Trace::new();
    trace.clear(1);
    let thread = trace.thread_id(0);
    trace.push_fence(thread, Some(Mask::NONE), 1);
    assert!(write_trace(&trace, &mut Vec::new()).is_err());
}

#[test]
fn without_line_numbers_declarations_surround_the_operations() {
    let mut trace = Trace::new();
    let (thread, x) = (trace.thread_id(0), trace.named_id("x"));
    trace.push_store(thread, x, 1, 0);
    trace.finals.push(membar_core::Final { addr: x, value: 1, line: 0 });
    trace.inits.push(Init { addr: x, value: 5, line: 0 });
    let mut out = Vec::new();
    write_trace(&trace, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "init x == 5\n0: x := 1\nfinal x == 1\ncheck\n");
}

#[test]
fn parts_of_words() {
    let text = "init x+4:2 == 65535\n0: x+2:4 := 4294967295\n0: M[3]:1 == 7\n1: { M[3] == 1; M[3] := 2 } aq\n1: lr x == 0\n1: sc x fails\nfinal x:1 == 255\n0: x:16 := 340282366920938463463374607431768211455\n0: M[3]+6:4 == 1 pieces(2,1,1) addr(-2)\ncheck\n";
    let trace = membar_trace::parse("parts", text.as_bytes()).unwrap().remove(0);
    assert!(trace.is_mixed());
    let mut written = Vec::new();
    membar_trace::write_trace(&trace, &mut written).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), text);
    let same = membar_trace::parse("parts", b"0: x:8 := 1\n1: x+0:8 == 1\ncheck\n").unwrap().remove(0);
    assert!(!same.is_mixed() && same.addrs() == 1);
    for (bad, message) in [
        ("0: x:0 := 1\ncheck\n", "1 to 16"),
        ("0: x:17 := 1\ncheck\n", "larger than 16"),
        ("0: x:1 := 256\ncheck\n", "larger than 255"),
        ("0: x:9 := 0x1000000000000000000\ncheck\n", "larger than 4722366482869645213695"),
        (
            "0: x:16 := 340282366920938463463374607431768211456\ncheck\n",
            "larger than 340282366920938463463374607431768211455",
        ),
        ("0: x:4 := 1 pieces(2,1)\ncheck\n", "expected pieces that add up"),
        ("0: x:4 := 1 pieces(4,0)\ncheck\n", "expected a piece of at least"),
        ("0: x:4 := 1 pieces()\ncheck\n", "expected a number"),
        ("0: lr x:4 == 1 pieces(2,2)\ncheck\n", "only a plain load or store"),
        ("0: x:4 == 1 aq pieces(2,2)\ncheck\n", "only a plain load or store"),
        ("0: sync pieces(4,4)\ncheck\n", "only a plain load or store"),
        ("0: x+ := 256\ncheck\n", "expected a number"),
        ("init x == 1\ninit x:1 == 1\n0: x := 2\ncheck\n", "a second `init` line for x:1"),
        ("0: x:1 := 1\n0: x := 1\norder x: 1\ncheck\n", "an `order` line of x"),
        ("0: lr x:4 == 0\n0: sc x := 1\ncheck\n", "load reserved of another address"),
    ] {
        let error = membar_trace::parse("parts", bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{bad}{error}");
    }
}
