//! Any text is converted or refused, and what is written is a trace.

use membar_convert::{Choices, Format, convert};
use membar_core::{Named, Trace};
use membar_trace::Reader;
use proptest::prelude::*;

/// Pieces that the formats are made of.
const PIECES: [&str; 60] = [
    "core   0: ",
    "core",
    "3 ",
    "0 ",
    "1 ",
    "0x0000000080000000",
    " (0x00052583)",
    " (0x414c)",
    " (0x0eb5262f)",
    " (0x1405b52f)",
    " (0x18b5362f)",
    " (0x8330000f)",
    " x11 0x0000000000000001",
    " x10 0x2000",
    " mem 0x2000",
    " mem 0x2000 0x00000001",
    " x 5 0x7",
    " f1 0x3",
    " c768_mstatus 0x1",
    "\n",
    "\n",
    "\n",
    "\n",
    "#1 0 80000000 00052583 r 0b 1  lw x11, 0(x10) [0x2000]",
    " +",
    "#1 0 80000000 00b52023 m 2000 1  sw x11, 0(x10) [0x2000]",
    "pc, inst, modified regs, source operands, memory, inst info, privilege, trap, disassembly, hartid\n",
    "80000000,52583,x11=1,x10,2000,l,m,,lw,0",
    "80000004,b52023,,x10;x11,2000=1,s,m,,sw,1",
    " 0: load-req 0x8 #1 @3",
    " 0: resp 5 #1 @9",
    " 1: store-req 5 0x8 #2 @4",
    " 0: load-reserve-req 0x8 #3 @5",
    " 0: store-cond-req 7 0x8 #4 @6",
    " 0: resp 0 #4 @8",
    " 0: fence-req @1",
    " 0: fence-resp @2",
    " 0: swap-req 9 0x8 #5 @7",
    "0: M[1] := 1 ",
    "1: v1 == 1 ",
    "0: { M[2] == 0; M[2] := 4 } ",
    "@ 3:4 ",
    "@ :",
    "final M[1] == 1\n",
    "check\n",
    "0: sync ",
    "hart,op,address,size,read,written,addr\n",
    "0,load,0x1000,8,1,,",
    "1,store,0x1000,4,,2,-1",
    "\"fence rw,w\"",
    ",",
    "exception 11, tval 0",
    "é",
    "\u{0}",
    "-",
    "0xffffffffffffffffff",
    "18446744073709551615",
    "]",
    "[",
    ":",
];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_becomes_a_trace(text in texts(), shared in any::<bool>(), zero in any::<bool>()) {
        let _ = Format::guess(&text);
        for &format in <Format as Named>::ALL {
            let converted = convert(&text, format, Choices { shared, zero });
            let lines = text.lines().count() as u64;
            for problem in &converted.problems {
                prop_assert!(problem.line <= lines + 1, "{problem:?}");
            }
            // Lines are those of a trace. Whole traces may still be refused, for values that repeat, for example.
            for line in converted.text.lines().filter(|line| *line != "check") {
                let line = line.split(" addr(").next().unwrap_or_default();
                let line = line.split(" data(").next().unwrap_or_default();
                let line = line.split(" ctrl(").next().unwrap_or_default();
                let one = format!("{line}\n0: __other := 1\ncheck\n");
                let mut reader = Reader::new("one", one.as_bytes());
                let mut trace = Trace::default();
                if let Some(Err(error)) = reader.next(&mut trace) {
                    let error = error.to_string();
                    let whole = ["initial value", "end before its begin", "ends before"];
                    prop_assert!(whole.iter().any(|known| error.contains(known)), "{line}\n{error}");
                }
            }
        }
    }
}
