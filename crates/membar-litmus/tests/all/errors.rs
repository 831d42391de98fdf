//! Error messages for malformed tests, and input that means harm.

use membar_litmus::{Limits, LitmusTest, Model, crash_message, outcomes};

fn error(text: &str) -> String {
    match LitmusTest::parse("t.litmus", text.as_bytes()) {
        Ok(test) => panic!("{text}\n{test:?}"),
        Err(error) => error.render(),
    }
}

#[test]
fn errors_are_shown_with_place_and_fix() {
    assert_eq!(
        error("X86 t\n{ }\n P0          | P1 ;\n MOV [x],$1  | FROB EAX ;\n"),
        "error: unsupported instruction `FROB`
 --> t.litmus:4:16
  |
4 |  MOV [x],$1  | FROB EAX ;
  |                ^^^^
  = help: supported are mov movnti movntdqa add sub and or xor inc dec shl cmp test xchg uxch xadd cmpxchg cmovcc setcc jmp jcc ret nop mfence sfence lfence clflush and the prefix lock
"
    );
    assert_eq!(
        error("X86_64 t\n{ x = 1; }\n P0 ;\n movl $1,(x) ;\n movq (x),%rax ;\n"),
        "error: `x` has 32 bits, but this access has 64
 --> t.litmus:5:2
  |
5 |  movq (x),%rax ;
  |  ^^^^^^^^^^^^^
  = help: every access to a location must have the size of the location: declare its type in the first section, or use another size suffix
"
    );
    assert_eq!(
        error("C t\n{ }\nP0 (int *x) {\n  int r0 = spin_lock(x);\n}\n").lines().take(5).collect::<Vec<_>>(),
        [
            "error: unsupported function `spin_lock`",
            " --> t.litmus:4:12",
            "  |",
            "4 |   int r0 = spin_lock(x);",
            "  |            ^^^^^^^^^",
        ]
    );
    assert_eq!(
        error("X86 t\n{ }\n P0 ;\n MOV [x],$1 ;\nexists (0:EAX=1 /\\ )\n"),
        "error: expected a condition such as `0:rax=1`, `[x]=2` or `a[1]!=3`, found `)`
 --> t.litmus:5:20
  |
5 | exists (0:EAX=1 /\\ )
  |                    ^
  = help: conditions are written `exists (0:rax=1 /\\ [x]=2)`, with `/\\`, `\\/`, `=>`, `not` and parentheses
"
    );
}

#[test]
fn every_kind_of_mistake_has_a_place() {
    let x86 = |row: &str| format!("X86_64 t\n{{ x=0; }}\n P0 ;\n {row} ;\nexists (x=0)\n");
    let riscv = |row: &str| format!("RISCV t\n{{ 0:x6=x; }}\n P0 ;\n {row} ;\nexists (0:x5=0)\n");
    let arm = |row: &str| format!("AArch64 t\n{{ 0:X1=x; }}\n P0 ;\n {row} ;\nexists (0:X5=0)\n");
    let c = |body: &str| format!("C t\n{{ x=0; int64_t q; }}\nP0 (int *x, int64_t *q) {{ {body} }}\nexists (x=0)\n");
    let end = |end: &str| format!("X86 t\n{{ x=0; int a[2]; }}\n P0 | P1 ;\n MOV [x],$1 | ;\n{end}\n");
    for (text, says) in [
        (String::new(), "1:1 expected a dialect"),
        ("ARM t\n{}\n".into(), "1:1 unsupported dialect `ARM`"),
        (riscv("frob x5,x6"), "4:2 unsupported instruction `frob`"),
        (riscv("add.aq x5,x6,x7"), "4:2 unsupported instruction `add.aq`"),
        (riscv("lw x5,x6"), "4:2 `lw x5,x6` cannot have these operands"),
        (riscv("lw x32,0(x6)"), "4:2 there is no register `x32`"),
        (riscv("fence r,q"), "4:2 `fence r,q` cannot have these operands"),
        (riscv("bne x5,x0,L"), "4:2 there is no label `L`"),
        (riscv("add x5,x6,]"), "4:12 expected an operand, found `]`"),
        (riscv("subi x5,x6,1"), "4:2 unsupported instruction `subi`"),
        (riscv("jal x1,L"), "4:2 `jal x1,L` cannot have these operands"),
        (riscv("csrr x5,cycle"), "4:2 unsupported instruction `csrr`"),
        (riscv("lui x5,0x100000"), "4:2 `lui x5,0x100000` cannot have these operands"),
        (arm("DC CVAU,X1"), "4:2 unsupported instruction `DC`"),
        (arm("TLBI VAE1,X1"), "4:2 unsupported instruction `TLBI`"),
        (arm("ADR X0,nowhere"), "4:2 `ADR X0,nowhere` cannot have these operands"),
        (arm("UBFX X0,X1,#60,#5"), "4:2 `UBFX X0,X1,#60,#5` cannot have these operands"),
        (arm("CCMP X0,#1,#16,EQ"), "4:2 `CCMP X0,#1,#16,EQ` cannot have these operands"),
        ("RISCV t\n{ 0:x6=x+y; }\n P0 ;\n nop ;\nexists (x=0)\n".into(), "2:10 expected a number of bytes, found `y`"),
        ("RISCV t\n{ x; y; 0:x6=x+64; }\n P0 ;\n nop ;\nexists (x=0)\n".into(), "2:14 there is no byte `x+64`"),
        (arm("FROB X0,X1,[X2]"), "4:2 unsupported instruction `FROB`"),
        (arm("CASP X1,X2,X3,X4,[X5]"), "4:2 `CASP X1,X2,X3,X4,[X5]` cannot have these operands"),
        (arm("LDR W0,[W1]"), "4:2 `LDR W0,[W1]` cannot have these operands"),
        (arm("LDR W0,[X1,#4"), "4:16 expected `]`, found `;`"),
        (arm("DMB FOO"), "4:2 `DMB FOO` cannot have these operands"),
        (arm("CSEL X0,X1,X2,XX"), "4:2 `CSEL X0,X1,X2,XX` cannot have these operands"),
        (arm("ADD X0,X31,#1"), "4:2 there is no register `X31`"),
        ("X86".into(), "1:4 expected the name of the test, found nothing"),
        ("X86 t".into(), "1:6 expected `{`"),
        ("X86 t\n{ __int128 x; }\n P0 ;\n".into(), "2:3 unsupported type `__int128`"),
        ("X86 t\n{ x = 99999999999999999999; }\n P0 ;\n".into(), "2:7 the number 99999999999999999999 is too large"),
        ("X86 t\n{ int a[5000]; }\n P0 ;\n".into(), "2:9 the size of the array 5000 is too large"),
        ("X86 t\n{ int a[1] = {1,2}; }\n P0 ;\n".into(), "2:17 expected `}`"),
        ("X86 t\n{ int x; int x; }\n P0 ;\n".into(), "2:14 location `x` is defined twice"),
        ("X86 t\n{ 0:RAX=1; }\n P0 ;\n".into(), "2:3 there is no register `RAX`"),
        ("X86 t\n{ 3:EAX=1; }\n P0 ;\n".into(), "2:3 there is no thread `P3`"),
        ("X86 t\n{ }\n P0 | P2 ;\n".into(), "3:7 expected the next thread"),
        ("X86 t\n{ }\n P0 ;\n MOV EAX,$1 | MOV EAX,$1 ;\n".into(), "4:15 expected `;`"),
        ("X86 t\n{ } (* never closed".into(), "2:5 expected `*)`"),
        (x86("movl x,%eax"), "4:2 `movl x,%eax` cannot have these operands"),
        (x86("movl (x),(x)"), "4:2 `movl (x),(x)` cannot have these operands"),
        (x86("movb (x),%eax"), "4:2 `movb (x),%eax` cannot have these operands"),
        (x86("movl (%eax),%ebx"), "4:9 expected a whole register"),
        (x86("movl %xmm0,%ebx"), "4:2 `movl %xmm0,%ebx` cannot have these operands"),
        (x86("movdqa (x),%xmm0"), "4:2 unsupported instruction `movdqa`"),
        (x86("movl %xmm16,%ebx"), "4:8 there is no register `xmm16`"),
        (x86("lock movl $1,(x)"), "4:2 `lock movl $1,(x)` cannot have these operands"),
        (x86("lock incl %eax"), "4:2 `lock incl %eax` cannot have these operands"),
        (x86("jne nowhere"), "4:2 there is no label `nowhere`"),
        (x86("L: nop ;\n L: nop"), "5:2 label `L` is defined twice"),
        (x86("movl $1,[8]"), "4:11 expected a location or a register"),
        (c("*z = 1;"), "3:28 there is no variable `z`"),
        (c("int r0 = 1 +;"), "3:39 expected an expression"),
        (c("int x = 1;"), "3:31 variable `x` is defined twice"),
        (c("goto out;"), "3:27 unsupported statement `goto`"),
        (c("atomic_load_explicit(x, memory_order_strong);"), "3:51 there is no memory order `strong`"),
        (c("atomic_load_explicit(x);"), "3:27 `atomic_load_explicit(x)` cannot have these operands"),
        (c("int r = *x / *x;"), "3:35 unsupported operator `/`"),
        (c("*(x + 1) = 2;"), "3:27 `*(x + 1) = 2` cannot have these operands"),
        (c("READ_ONCE(x);"), "3:37 `x` cannot have these operands"),
        (c("x = 1;"), "3:29 expected `;`"),
        (c("break;"), "3:27 unsupported statement `break`"),
        ("C t\n{ int64_t x; }\nP0 (int *x) { }\n".into(), "3:10 `x` has 64 bits, but this access has 32"),
        ("C t\n{ }\nP0 (int x) { }\n".into(), "3:9 expected a pointer"),
        (end("exists (y=1)"), "5:9 there is no location `y`"),
        (end("exists (1:ECX=y)"), "5:15 there is no location `y`"),
        (end("exists (a[2]=1)"), "5:9 there is no cell `a[2]`"),
        (end("exists (a=1)"), "5:9 expected one cell"),
        (end("exists (fault(P0,x))"), "5:9 unsupported condition `fault`"),
        (end("exists (x=1) exists"), "5:14 expected the end of the test"),
        (end("locations [x y"), "5:13 expected `;` or `]`"),
        (end("observed x=1;"), "5:1 unsupported condition `observed`"),
        (end("~x=1"), "5:2 expected `exists`"),
    ] {
        let Err(error) = LitmusTest::parse("t.litmus", text.as_bytes()) else { panic!("{text}") };
        let got = format!("{}:{} {}", error.line, error.column, error.kind);
        // Types may follow a location in `locations`, so that case is found at its end.
        assert!(got.starts_with(says) || (says.contains("`]`") && got.contains("`]`")), "{text}\n{got}\n{says}");
        assert!(error.render().contains("\n = help: ") || error.render().contains("= help: "), "{got}");
    }
}

#[test]
fn hostile_input_is_refused_at_once() {
    let deep =
        |open: &str, close: &str, inside: &str| format!("{}{inside}{}", open.repeat(50_000), close.repeat(50_000));
    let condition = |text: String| format!("X86 t\n{{ x=0; }}\n P0 ;\n ;\nexists {text}\n");
    let c = |text: String| format!("C t\n{{ }}\nP0 (int *x) {{ {text} }}\n");
    for (text, says) in [
        (condition(deep("(", ")", "x=0")), "more than 100 levels of nesting"),
        (condition(deep("not ", "", "x=0")), "more than 100 levels of nesting"),
        (condition(deep("x=0 => ", "", "x=0")), "more than 100 levels of nesting"),
        (c(format!("int r = {};", deep("(", ")", "1"))), "more than 100 levels of nesting"),
        (c(format!("int r = {};", deep("- ", "", "1"))), "more than 100 levels of nesting"),
        (c(deep("{", "}", "")), "more than 100 levels of nesting"),
        (c(deep("if (1) ", "", ";")), "more than 100 levels of nesting"),
        (c(deep("*", "", "x = 1;")), "more than 100 levels of nesting"),
        (
            format!("X86 t\n{{ }}\n{} ;\n", (0..65).map(|t| format!("P{t}")).collect::<Vec<_>>().join("|")),
            "more than 64 threads",
        ),
        (
            format!("X86 t\n{{ {} }}\n P0 ;\n", (0..2000).map(|x| format!("x{x};")).collect::<String>()),
            "more than 1024 locations",
        ),
        ("C".repeat(2 << 20), "more than 1048576 bytes in the file"),
    ] {
        let shown = error(&text);
        assert!(shown.starts_with(&format!("error: {says}")), "{shown}");
    }
    let error = LitmusTest::parse("t\u{1b}[2J", b"X86 t\n{ } \xff\xfe").unwrap_err();
    assert_eq!((error.line, error.column), (2, 5));
    assert!(!error.render().contains('\u{1b}'));
    // Long but flat is fine.
    let long = c(format!("int r = {}1;", "1 + ".repeat(100_000)));
    let test = LitmusTest::parse("t", long.as_bytes()).expect("a sum");
    assert_eq!(test.code.threads[0].instrs.len(), 1);
}

#[test]
fn programs_that_go_wrong_and_programs_without_end() {
    let parse =
        |text: &str| LitmusTest::parse("t", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render()));
    let wild = parse("X86_64 t\n{ uint64_t p; }\n P0 ;\n movq (p),%rax ;\n movl (%rax),%ebx ;\n");
    let found = outcomes(&wild, Model::Tso, &Limits::default());
    assert!(found.states.is_empty());
    let shown = crash_message(&wild, "t", Model::Tso, found.crash.expect("a crash"));
    assert!(
        shown.starts_with("error: under tso this goes through 0, which points to no location\n --> t:5:2\n"),
        "{shown}"
    );
    let mixed = parse("X86_64 t\n{ uint64_t q; 0:rax=q; }\n P0 ;\n movl (%rax),%ebx ;\n");
    assert!(outcomes(&mixed, Model::Sc, &Limits::default()).crash.is_some());
    // A loop that counts forever has no end, and the limit says so.
    let endless = parse("C t\n{ }\nP0 (int *x) { while (1) *x += 1; }\nexists (x=1)\n");
    let found = outcomes(&endless, Model::Tso, &Limits { states: 1000, ..Limits::default() });
    assert!(!found.complete && found.states.is_empty());
    // One that does nothing never ends either: there is no final state.
    let stuck = parse("C t\n{ }\nP0 (int *x) { *x = 1; while (1) ; }\nP1 (int *x) { int r = *x; }\nforall (x=1)\n");
    let found = outcomes(&stuck, Model::Pso, &Limits::default());
    assert!(found.complete && found.states.is_empty());
    // One that counts to itself for too long may end; nobody knows.
    let long = parse("C t\n{ }\nP0 (int *x) { int r = 0; while (r < 100000000) r++; *x = 1; }\nforall (x=1)\n");
    let found = outcomes(&long, Model::Tso, &Limits::default());
    assert!(!found.complete && found.states.is_empty());
    let short = parse("C t\n{ }\nP0 (int *x) { int r = 0; while (r < 1000) r++; *x = r; }\nforall (x=1000)\n");
    let found = outcomes(&short, Model::Tso, &Limits::default());
    assert!(found.complete && found.states == [[1000]]);
}
