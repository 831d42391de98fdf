//! RISCV and AArch64: what instructions compute, what their results depend on, and how code and initial values may be written.

use membar_litmus::{Limits, LitmusTest, Model, Record, outcomes};

fn parse(text: &str) -> LitmusTest {
    LitmusTest::parse("test", text.as_bytes()).unwrap_or_else(|error| panic!("{text}{}", error.render()))
}

/// All final states.
fn states(text: &str) -> Vec<String> {
    let test = parse(text);
    let model = test.arch.machine();
    let outcomes = outcomes(&test, model, &Limits::default());
    assert!(outcomes.complete && outcomes.crash.is_none(), "{text}");
    let record = Record { test: &test, model, outcomes: &outcomes, seconds: 0.0 };
    outcomes.states.iter().map(|state| record.state_text(state)).collect()
}

/// The final value of a register after each of these pieces of code.
fn computes(dialect: &str, start: &str, register: &str, rows: &[(&str, i64)]) {
    for (code, expected) in rows {
        let rows: String = code.split(';').map(|row| format!(" {} ;\n", row.trim())).collect();
        let text = format!("{dialect} t\n{{ {start} }}\n P0 ;\n{rows}locations [0:{register};]\nforall (true)\n");
        assert_eq!(states(&text), [format!("0:{register}={expected};")], "{code}");
    }
}

#[test]
fn riscv_instructions_compute_what_the_manual_says() {
    let start = "0:x1=7; 0:x2=3; 0:x3=-7; 0:x4=0x8000000000000000; 0:x5=-1; 0:x6=0xffffffff80000000; 0:x7=0x180000000;";
    let min = i64::MIN;
    computes(
        "RISCV",
        start,
        "x10",
        &[
            ("div x10,x3,x2", -2),
            ("div x10,x3,x0", -1),
            ("div x10,x4,x5", min),
            ("divu x10,x5,x2", 0x5555_5555_5555_5555),
            ("divu x10,x1,x0", -1),
            ("rem x10,x3,x2", -1),
            ("rem x10,x3,x0", -7),
            ("rem x10,x4,x5", 0),
            ("remu x10,x5,x2", 0),
            ("remu x10,x1,x0", 7),
            ("divw x10,x6,x5", -0x8000_0000),
            ("divw x10,x7,x2", -0x2AAA_AAAA),
            ("divw x10,x1,x0", -1),
            ("divuw x10,x7,x2", 0x2AAA_AAAA),
            ("divuw x10,x1,x0", -1),
            ("divuw x10,x5,x0", -1),
            ("remw x10,x6,x5", 0),
            ("remw x10,x7,x0", -0x8000_0000),
            ("remuw x10,x7,x2", 2),
            ("remuw x10,x7,x0", -0x8000_0000),
            ("mul x10,x3,x2", -21),
            ("mulw x10,x7,x2", -0x8000_0000),
            ("mulh x10,x3,x2", -1),
            ("mulhu x10,x3,x2", 2),
            ("mulhsu x10,x3,x5", -7),
            ("mulhsu x10,x5,x3", -1),
            ("sltu x10,x1,x5", 1),
            ("seqz x10,x1", 0),
            ("snez x10,x1", 1),
            ("sgt x10,x1,x2", 1),
            ("sgtu x10,x1,x5", 0),
            ("sraiw x10,x7,4", -0x800_0000),
            ("srlw x10,x7,x2", 0x1000_0000),
            ("rori x10,x1,1", min + 3),
            ("rol x10,x4,x2", 4),
            ("ror x10,x1,x0", 7),
            ("rolw x10,x7,x2", 4),
            ("roriw x10,x1,1", -0x7fff_fffd),
            ("xnor x10,x1,x2", !4),
            ("sh3add x10,x1,x2", 59),
            ("czero.eqz x10,x1,x0", 0),
            ("czero.eqz x10,x1,x2", 7),
            ("czero.nez x10,x1,x2", 0),
            ("lui x10,0x80000", -0x8000_0000),
            ("li x10,0x123456789abcdef0", 0x1234_5678_9abc_def0),
            ("li x10,1; pause; prefetch.r 0(x1); nop", 1),
            ("li x10,1; jal x0,.Lend; li x10,2; .Lend:", 1),
            ("li x10,1; j .L.2; li x10,2; .L.2: addi x10,x10,4", 5),
        ],
    );
}

#[test]
fn aarch64_instructions_compute_what_the_manual_says() {
    let start = "0:X1=7; 0:X2=3; 0:X3=-7; 0:X4=0x8000000000000000; 0:X5=-1; 0:X6=0xffffffff80000000; 0:X10=0x1234;";
    let min = i64::MIN;
    computes(
        "AArch64",
        start,
        "X10",
        &[
            ("MADD X10,X1,X2,X5", 20),
            ("MSUB X10,X1,X2,X5", -22),
            ("MSUB W10,W1,W2,W5", 0xffff_ffea),
            ("MNEG X10,X1,X2", -21),
            ("SMULL X10,W3,W2", -21),
            ("UMULL X10,W5,W5", -0x1_ffff_ffff),
            ("UMADDL X10,W1,W2,X3", 14),
            ("SMSUBL X10,W3,W2,XZR", 21),
            ("SMULH X10,X3,X2", -1),
            ("UMULH X10,X3,X2", 2),
            ("SDIV X10,X3,X2", -2),
            ("SDIV X10,X3,XZR", 0),
            ("SDIV X10,X4,X5", min),
            ("SDIV W10,W6,W5", 0x8000_0000),
            ("UDIV X10,X3,XZR", 0),
            ("UDIV W10,W3,W2", 0x5555_5553),
            ("ROR X10,X1,#1", min + 3),
            ("ROR W10,W1,W2", 0xe000_0000),
            ("ORR X10,XZR,X1,ROR #1", min + 3),
            ("UBFX X10,X3,#1,#3", 4),
            ("SBFX X10,X3,#1,#3", -4),
            ("SBFX W10,W3,#1,#3", 0xffff_fffc),
            ("UBFIZ X10,X3,#4,#4", 0x90),
            ("BFI X10,X1,#4,#8", 0x1074),
            ("BFXIL X10,X3,#4,#8", 0x12ff),
            ("BFC X10,#0,#8", 0x1200),
            ("MVN W10,W1", 0xffff_fff8),
            ("NEGS X10,X1", -7),
            ("ORN X10,X1,X2", -1),
            ("CMP X1,X2; ADC X10,X1,X2", 11),
            ("CMP X2,X1; ADC X10,X1,X2", 10),
            ("CMP X1,X2; SBC X10,X1,X2", 4),
            ("CMP X2,X1; SBC W10,W1,W2", 3),
            // Carry of a W register whose operand is shifted out of it.
            ("CMP W1,W5,LSL #4; CSET X10,CS", 0),
            ("CMP W5,W5,SXTB; CSET X10,CS", 1),
            ("CMP X1,#7; CCMP X2,#3,#0,EQ; CSET X10,EQ", 1),
            ("CMP X1,#7; CCMP X2,#3,#0,NE; CSET X10,EQ", 0),
            ("CMP X1,#6; CCMP X2,#3,#4,EQ; CSET X10,EQ", 1),
            ("CMP X1,#7; CCMN X2,#1,#15,AL; CSET X10,MI", 0),
            ("CMP X1,#6; CCMN X2,X5,#8,EQ; CSET X10,MI", 1),
            ("CMP X1,#7; CCMP X2,X1,#0,LE; CSET X10,CC", 1),
            ("MOV X10,#1; WFI; CSDB; PRFM PLDL1KEEP,[X1,#8]; CLREX", 1),
            ("MOV X10,#1; B .L1; MOV X10,#2; .L1:", 1),
        ],
    );
    let adr = "AArch64 t\n{ uint64_t x=5; }\n P0 ;\n ADR X0,x ;\n LDR X1,[X0] ;\nforall (0:X1=5)\n";
    assert_eq!(states(adr), ["0:X1=5;"]);
}

/// LB in which the value stored is 1, made with these instructions of what was loaded. Whether both loads can read 1.
fn speculates(arm: bool, code: &str) -> bool {
    let (head, load, store) = if arm {
        (
            "AArch64 t\n{ uint64_t x; uint64_t y; 0:X1=x; 0:X2=y; 1:X1=y; 1:X2=x; 0:X9=3; 1:X9=3; }\n",
            "LDR X5,[X1]",
            "STR X6,[X2]",
        )
    } else {
        (
            "RISCV t\n{ uint64_t x; uint64_t y; 0:x1=x; 0:x2=y; 1:x1=y; 1:x2=x; 0:x9=3; 1:x9=3; }\n",
            "ld x5,0(x1)",
            "sd x6,0(x2)",
        )
    };
    let mut text = format!("{head} P0 | P1 ;\n");
    for row in [load].into_iter().chain(code.split(';')).chain([store]) {
        text += &format!(" {row} | {row} ;\n");
    }
    text += if arm { "exists (0:X5=1 /\\ 1:X5=1)\n" } else { "exists (0:x5=1 /\\ 1:x5=1)\n" };
    let test = parse(&text);
    let outcomes = outcomes(&test, if arm { Model::Armv8 } else { Model::Rvwmo }, &Limits::default());
    assert!(outcomes.complete && outcomes.crash.is_none(), "{text}");
    outcomes.positive > 0
}

/// What is computed of `@` depends on it: with what was loaded there, the load comes first; with another register, it need not.
fn depends(arm: bool, instructions: &[&str], end: &str) {
    let (loaded, other) = if arm { ("5", "9") } else { ("x5", "x9") };
    for instruction in instructions {
        let with = |register: &str| format!("{};{end}", instruction.replace('@', register));
        assert!(!speculates(arm, &with(loaded)), "{instruction} has no dependency");
        assert!(speculates(arm, &with(other)), "{instruction} orders without one");
    }
}

#[test]
fn results_depend_on_operands() {
    let riscv = "div divu rem remu divw remuw mulh mulhu mulhsu sltu rol ror rolw xnor sh1add sgt czero.eqz czero.nez";
    for name in riscv.split(' ') {
        let both = [format!("{name} x7,@,x9"), format!("{name} x7,x9,@")];
        depends(false, &both.each_ref().map(String::as_str), "xor x6,x7,x7;addi x6,x6,1");
    }
    let arm = [
        "MADD X7,X@,X9,X9",
        "MADD X7,X9,X@,X9",
        "MSUB X7,X9,X9,X@",
        "MNEG X7,X9,X@",
        "SMULL X7,W@,W9",
        "UMADDL X7,W9,W9,X@",
        "SMULH X7,X9,X@",
        "SDIV X7,X@,X9",
        "UDIV X7,X9,X@",
        "ROR X7,X9,X@",
        "ROR X7,X@,#3",
        "UBFX X7,X@,#1,#3",
        "SBFIZ X7,X@,#1,#3",
        "BFI X7,X@,#1,#3",
        "MOV X7,X@;BFI X7,X9,#1,#3",
        "MVN X7,X@",
        "ADC X7,X9,X@",
        "NEGS X7,X@",
        "CMP X@,#9;ADC X7,X9,X9",
        "CMP X@,#9;SBC X7,X9,X9",
    ];
    depends(true, &arm, "EOR X6,X7,X7;ADD X6,X6,#1");
    // Through flags to a branch; TST clears C, which it still writes.
    let flags =
        ["NEGS X7,X@", "CCMP X@,#9,#0,AL", "CCMP X9,X@,#0,AL", "CCMN X@,X9,#0,AL", "CMP X@,#9;CCMP X9,#0,#0,EQ"];
    depends(true, &flags, "MOV X6,#1;B.EQ L;L:");
    depends(true, &["TST X@,#9"], "MOV X6,#1;B.CS L;L:");
    // A comparison that is not made depends on nothing but what decided so.
    assert!(speculates(true, "CMP X9,#9;CCMP X5,#0,#0,EQ;MOV X6,#1;B.EQ L;L:"));
}

#[test]
fn hints_order_nothing() {
    for hint in ["PRFM PLDL1KEEP,[X2]", "CSDB", "CLREX"] {
        assert!(speculates(true, &format!("{hint};MOV X6,#1")), "{hint}");
    }
    assert!(speculates(false, "pause;prefetch.w 0(x2);li x6,1"));
}

#[test]
fn clrex_lets_the_store_fail() {
    let test = |between: &str| {
        let rows = format!(" LDXR W0,[X1] ;\n{between} STXR W2,W3,[X1] ;\n");
        format!("AArch64 t\n{{ x=0; 0:X1=x; 0:X3=1; }}\n P0 ;\n{rows}locations [0:X2; x;]\nforall (true)\n")
    };
    assert_eq!(states(&test("")), ["0:X2=0; [x]=1;", "0:X2=1; [x]=0;"]);
    assert_eq!(states(&test(" CLREX ;\n")), ["0:X2=1; [x]=0;"]);
    assert_eq!(states(&test(" CLREX #15 ;\n LDXR W0,[X1] ;\n")), ["0:X2=0; [x]=1;", "0:X2=1; [x]=0;"]);
}

#[test]
fn comments_and_addresses_in_the_first_section() {
    let text = "RISCV t\n{ // two halves\n uint64_t x = 0x200000001; int a[2] = {7, 8}; 0:x6=x+4; 0:x7=a[0]+4; // here\n uint64_t p = x+4; 0:x8=p; }\n\
                P0 ; // the thread\n lw x5,0(x6) ; // the upper half\n lw x9,0(x7) ;\n ld x10,0(x8) ;\n lw x11,0(x10) ;\n\
                forall (0:x5=2 /\\ 0:x9=8 /\\ 0:x11=2 /\\ 0:x6=x+4)\n";
    let test = parse(text);
    let outcomes = outcomes(&test, Model::Rvwmo, &Limits::default());
    assert!(outcomes.complete && outcomes.crash.is_none());
    assert_eq!((outcomes.positive > 0, outcomes.negative), (true, 0));
}
