//! The effect of each instruction and statement, seen in the final states of one thread.

use membar_litmus::{Limits, LitmusTest, Model, Record, outcomes};

fn parse(text: &str) -> LitmusTest {
    LitmusTest::parse("t.litmus", text.as_bytes()).unwrap_or_else(|error| panic!("{text}\n{}", error.render()))
}

/// The only final state of the test under every model.
fn only_state(text: &str) -> String {
    let test = parse(text);
    let states: Vec<String> = Model::ALL
        .into_iter()
        .map(|model| {
            let outcomes = outcomes(&test, model, &Limits::default());
            assert!(
                outcomes.complete && outcomes.crash.is_none() && outcomes.states.len() == 1,
                "{text}\n{outcomes:?}"
            );
            Record { test: &test, model, outcomes: &outcomes, seconds: 0.0 }.state_text(&outcomes.states[0])
        })
        .collect();
    assert!(states.iter().all(|state| *state == states[0]));
    states[0].clone()
}

fn asm(dialect: &str, init: &str, code: &str, locations: &str) -> String {
    let rows: String = code.split(';').map(|instruction| format!(" {instruction} ;\n")).collect();
    only_state(&format!("{dialect} t\n{{ {init} }}\n P0 ;\n{rows}locations [{locations}]\n"))
}

#[test]
fn x86_instructions() {
    for (init, code, expected) in [
        ("x=5", "MOV EAX,[x]", "0:EAX=5; [x]=5;"),
        ("x=0", "MOV [x],$7; MOV EAX,[x]", "0:EAX=7; [x]=7;"),
        ("x=0", "MOV [x],-3; MOV EAX,[x]", "0:EAX=-3; [x]=-3;"),
        ("x=1; 0:EBX=x", "MOV EAX,[EBX]", "0:EAX=1; [x]=1;"),
        ("x=1; 0:EBX=x", "MOV EAX,(EBX); MOV [EBX],$2", "0:EAX=1; [x]=2;"),
        ("x=5", "MOV EAX,$3; ADD EAX,[x]", "0:EAX=8; [x]=5;"),
        ("x=5", "ADD [x],$3", "0:EAX=0; [x]=8;"),
        ("x=5", "MOV EAX,$6; XOR [x],EAX", "0:EAX=6; [x]=3;"),
        ("x=5", "MOV EAX,$2; OR EAX,[x]", "0:EAX=7; [x]=5;"),
        ("x=5", "MOV EAX,$4; AND EAX,[x]; SUB [x],EAX", "0:EAX=4; [x]=1;"),
        ("x=5", "INC [x]; DEC EAX", "0:EAX=-1; [x]=6;"),
        ("x=5", "LOCK DEC [x]; LOCK ADD [x],$10", "0:EAX=0; [x]=14;"),
        ("x=5", "LOCK OR [x],$2; LOCK AND [x],$6; LOCK XOR [x],$1", "0:EAX=0; [x]=7;"),
        ("x=5", "MOV EAX,$9; XCHG [x],EAX", "0:EAX=5; [x]=9;"),
        ("x=5", "MOV EAX,$9; XCHG EAX,[x]", "0:EAX=5; [x]=9;"),
        ("x=5", "MOV EAX,$9; MOV EBX,$4; XCHG EAX,EBX", "0:EAX=4; [x]=5;"),
        ("x=5", "MOV EAX,$5; MOV EBX,$8; CMPXCHG [x],EBX", "0:EAX=5; [x]=8;"),
        ("x=5", "MOV EAX,$4; MOV EBX,$8; LOCK CMPXCHG [x],EBX", "0:EAX=5; [x]=5;"),
        ("x=5", "MOV EAX,$1; LOCK ; XADD [x],EAX", "0:EAX=5; [x]=6;"),
        ("x=2147483647", "MOV EAX,[x]; INC EAX; INC [x]", "0:EAX=-2147483648; [x]=-2147483648;"),
        ("x=5", "MFENCE; SFENCE; LFENCE; NOP; MOV EAX,$1; RET; MOV [x],$9", "0:EAX=1; [x]=5;"),
        ("x=5", "JMP L; MOV [x],$9; L:; MOV EAX,$1", "0:EAX=1; [x]=5;"),
        ("x=0x10", "MOV EAX,$0xff", "0:EAX=255; [x]=16;"),
        ("int8_t x = 5; 0:EAX=-1", "MOVB AL,[x]", "0:EAX=-251; [x]=5;"),
        ("int16_t x; 0:EAX=3", "MOVW [x],AX", "0:EAX=3; [x]=3;"),
    ] {
        assert_eq!(asm("X86", init, code, "0:EAX; x;"), expected, "{code}");
    }
}

#[test]
fn x86_64_instructions() {
    for (init, code, expected) in [
        ("x=5", "movl (x),%eax", "0:rax=5; [x]=5;"),
        ("x=5", "mov [x],%eax; movl $6,(x)", "0:rax=5; [x]=6;"),
        ("x=-1; 0:rax=-1", "movl (x),%eax", "0:rax=4294967295; [x]=-1;"),
        ("int64_t x=-1", "movq (x),%rax; addq $2,(x)", "0:rax=-1; [x]=1;"),
        ("x=7; 0:rbx=x", "movl (%rbx),%eax; movl $8,0(%rbx)", "0:rax=7; [x]=8;"),
        ("x=7", "movl x(%rip),%eax", "0:rax=7; [x]=7;"),
        ("x=7; 0:rbx=-4", "mov $x,%rcx; add $4,%rcx; movl (%rcx,%rbx,1),%eax", "0:rax=7; [x]=7;"),
        ("x=7; 0:rax=1", "shll $3,%eax; shl $1,(x)", "0:rax=8; [x]=14;"),
        ("x=7; 0:rax=-1", "movb $0,%al; movw $1,%ax", "0:rax=-65535; [x]=7;"),
        ("x=7; 0:rax=-1", "xorl %eax,%eax; orl $9,(x)", "0:rax=0; [x]=15;"),
        ("x=7; 0:rax=2", "xchgl (x),%eax", "0:rax=7; [x]=2;"),
        ("x=7; 0:rax=2", "uxchl %eax,(x)", "0:rax=7; [x]=2;"),
        ("x=7; 0:rax=7; 0:rbx=1", "lock ; cmpxchgl %ebx,(x)", "0:rax=7; [x]=1;"),
        ("x=7; 0:rax=8; 0:rbx=1", "lock cmpxchgl (x),%ebx", "0:rax=7; [x]=7;"),
        ("x=7; 0:rax=2", "lock xaddl %eax,(x)", "0:rax=7; [x]=9;"),
        ("x=7; 0:rax=2", "xaddl %eax,(x)", "0:rax=7; [x]=9;"),
        ("x=7; 0:rax=2; 0:rbx=5", "xadd %eax,%ebx; movl %ebx,(x)", "0:rax=5; [x]=7;"),
        ("x=7", "clflush (x); clflushopt (x); decl (x); incl %eax", "0:rax=1; [x]=6;"),
        ("x=7; 0:rax=2", "movnti %eax,(x)", "0:rax=2; [x]=2;"),
        ("x=7; 0:r8=9", "movl %r8d,(x); movq %r8,%rax", "0:rax=9; [x]=9;"),
    ] {
        assert_eq!(asm("X86_64", init, code, "0:rax; x;"), expected, "{code}");
    }
}

#[test]
fn vector_loads_and_wide_stores() {
    assert_eq!(asm("X86_64", "x=7", "movntdqa (x),%xmm3; movl $8,(x)", "0:xmm3; x;"), "0:xmm3=7; [x]=8;");
    assert_eq!(asm("X86", "int64_t x=7", "MOVQ [x],$-1; MOV EAX,$2", "0:EAX; x;"), "0:EAX=2; [x]=-1;");
}

/// For pairs of numbers, every condition is what the comparison says.
#[test]
fn flags() {
    let values = [0i64, 1, -1, 5, 127, 128, i32::MAX as i64, i32::MIN as i64];
    for a in values {
        for b in values {
            let (left, right) = (a as i32, b as i32);
            let (l, r) = (left as u32, right as u32);
            let difference = left.wrapping_sub(right);
            let conditions = [
                ("e", left == right),
                ("ne", left != right),
                ("lt", left < right),
                ("le", left <= right),
                ("gt", left > right),
                ("ge", left >= right),
                ("b", l < r),
                ("be", l <= r),
                ("a", l > r),
                ("nb", l >= r),
                ("s", difference < 0),
                ("ns", difference >= 0),
                ("o", left.checked_sub(right).is_none()),
                ("no", left.checked_sub(right).is_some()),
            ];
            let rows: String = conditions
                .iter()
                .enumerate()
                .map(|(at, (name, _))| {
                    let name = if *name == "lt" { "l" } else { name };
                    // One bit for each condition.
                    format!(" set{name} %cl ; shll $1,%edx ; movl $0,%r8d ; movb %cl,%r8b ; orl %r8d,%edx ; movl ${at},%edi ;\n cmpl ${right},%eax ;\n")
                })
                .collect();
            let rows = rows.replace(" ; ", " ;\n ");
            let text = format!("X86_64 t\n{{ 0:rax={a}; }}\n P0 ;\n cmpl ${right},%eax ;\n{rows}locations [0:rdx;]\n");
            let expected = conditions.iter().fold(0, |bits, (_, holds)| bits << 1 | u64::from(*holds));
            assert_eq!(only_state(&text), format!("0:rdx={expected};"), "{left} {right}");
        }
    }
}

#[test]
fn flags_of_other_instructions() {
    // Carry and overflow of an addition, zero of a logical one; inc and dec leave the carry alone.
    for (init, code, expected) in [
        (-1i64, "addl $1,%eax; setc %bl; sete %cl; seto %dl", "110"),
        (2147483647, "addl $1,%eax; setc %bl; sets %cl; seto %dl", "011"),
        (-1, "addl $1,%eax; incl %eax; setc %bl; sete %cl; seto %dl", "100"),
        (2147483647, "incl %eax; setc %bl; sets %cl; seto %dl", "011"),
        (-2147483648, "decl %eax; setc %bl; sets %cl; seto %dl", "001"),
        (5, "xorl %eax,%eax; setc %bl; sete %cl; seto %dl", "010"),
        (5, "testl $2,%eax; setc %bl; sete %cl; seto %dl", "010"),
        (-1073741824, "shll $1,%eax; setc %bl; sets %cl; seto %dl", "110"),
        (1073741824, "shll $1,%eax; setc %bl; sets %cl; seto %dl", "011"),
        (5, "movl $5,(x); movl $1,%esi; lock cmpxchgl %esi,(x); setc %bl; sete %cl; seto %dl", "010"),
        (5, "movl $6,(x); movl $1,%esi; cmpxchgl %esi,(x); setc %bl; sete %cl; seto %dl", "100"),
        (0, "movl $-1,(x); lock incl (x); setc %bl; sete %cl; seto %dl", "010"),
        (0, "movl $-1,(x); lock addl $1,(x); setc %bl; sete %cl; seto %dl", "110"),
    ] {
        let bits: Vec<&str> = expected.split("").filter(|bit| !bit.is_empty()).collect();
        let state = format!("0:rbx={}; 0:rcx={}; 0:rdx={};", bits[0], bits[1], bits[2]);
        let got = asm("X86_64", &format!("0:rax={init}; x=0"), code, "0:rbx; 0:rcx; 0:rdx;");
        assert_eq!(got, state, "{init} {code}");
    }
    let code = "cmpl $1,%eax; cmove %ebx,%ecx; cmovne %ebx,%edx; jmp end; L: movl $9,%ecx; end: nop";
    assert_eq!(asm("X86_64", "0:rax=1; 0:rbx=4", code, "0:rcx; 0:rdx;"), "0:rcx=4; 0:rdx=0;");
}

/// `statements` run in one thread with `int` locations x = 1 and y = 2.
fn c(statements: &str, shown: &str) -> String {
    let text = format!("C t\n{{ x=1; y=2; }}\nP0 (atomic_int *x, int *y) {{\n{statements}\n}}\nlocations [{shown}]\n");
    only_state(&text)
}

#[test]
fn c_expressions() {
    for (expression, value) in [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("1 << 2 + 1", 8),
        ("7 & 3 == 3", 1),
        ("1 | 2 ^ 3 & 1", 3),
        ("-5 >> 1", -3),
        ("(unsigned int) -1 >> 28", 15),
        ("-1 < 0", 1),
        ("(unsigned) -1 < 0", 0),
        ("2 > 1 && 0 || 1", 1),
        ("!0 + !5", 1),
        ("~0", -1),
        ("(int8_t) 200", -56),
        ("(uint8_t) 300", 44),
        ("7 / 2 + 7 % 2", 4),
        ("*y == 2 ? 10 : 20", 10),
        ("*y != 2 ? 10 : *x + 20", 21),
        ("*y <= 2", 1),
        ("*y >= 3", 0),
        ("0x10", 16),
        ("*x - *y * 3 << 1", -10),
        ("(*x && *y) + (*x == 0 || *y == 0)", 1),
    ] {
        assert_eq!(c(&format!("int r = {expression};"), "0:r;"), format!("0:r={value};"), "{expression}");
        // The same of variables, which are not folded.
        let hidden = expression.replace('1', "one");
        let code = format!("int one = 1; int r = {hidden};");
        if !expression.contains(['/', 'x', '0']) {
            assert_eq!(c(&code, "0:r;"), format!("0:r={value};"), "{hidden}");
        }
    }
}

#[test]
fn c_statements_and_atomics() {
    for (code, expected) in [
        ("atomic_store(x, 5); int r = atomic_load(x);", "0:r=5; [x]=5;"),
        ("int r = atomic_exchange(x, 9);", "0:r=1; [x]=9;"),
        ("int r = atomic_fetch_add(x, 2); atomic_fetch_sub_explicit(x, 1, memory_order_relaxed);", "0:r=1; [x]=2;"),
        ("int r = atomic_fetch_or_explicit(x, 6, memory_order_acq_rel);", "0:r=1; [x]=7;"),
        ("int r = atomic_fetch_xor(x, 3); r = atomic_fetch_and(x, 3);", "0:r=2; [x]=2;"),
        ("int e = 1; int r = atomic_compare_exchange_strong(x, &e, 4);", "0:r=1; [x]=4;"),
        ("int e = 2; atomic_compare_exchange_weak(x, &e, 4); int r = e;", "0:r=1; [x]=1;"),
        ("*y = 3; int r = atomic_compare_exchange_strong(x, y, 4) + *y;", "0:r=1; [x]=1;"),
        ("int r = cmpxchg(x, 1, 7) + xchg(x, 8);", "0:r=8; [x]=8;"),
        ("atomic_add(3, x); int r = atomic_add_return(1, x); atomic_inc(x);", "0:r=5; [x]=6;"),
        ("int r = atomic_dec_and_test(x);", "0:r=1; [x]=0;"),
        ("smp_store_mb(*x, 4); smp_mb(); smp_wmb(); smp_rmb(); int r = smp_load_acquire(x);", "0:r=4; [x]=4;"),
        ("int r; if (*x) r = 1; else r = 2; if (!*x) { r = 3; }", "0:r=1; [x]=1;"),
        ("int r = 0; while (r < 5) { r++; if (r == 3) break; }", "0:r=3; [x]=1;"),
        ("int r = 0, i; for (i = 0; i < 5; i += 1) { if (i & 1) continue; r += i; }", "0:r=6; [x]=1;"),
        ("int r = 3; do r -= 1; while (r > 0); return; r = 7;", "0:r=0; [x]=1;"),
        ("*x += 4; *x ^= 1; r = *x; /* a comment */ // and another", "0:r=4; [x]=4;"),
        ("int *p = y; *p = 7; int r = *y; { *(p) = 8; }", "0:r=7; [x]=1;"),
        (
            "atomic_thread_fence(memory_order_release); atomic_signal_fence(memory_order_seq_cst); int r = 2;",
            "0:r=2; [x]=1;",
        ),
    ] {
        assert_eq!(c(code, "0:r; x;"), expected, "{code}");
    }
}

#[test]
fn barriers_of_memory_orders() {
    use membar_core::Barrier::{self, Full, Store};
    use membar_litmus::Instr;
    let barriers = |statement: &str| -> Vec<Option<Barrier>> {
        let text = format!("C t\n{{}}\nP0 (atomic_int *x) {{ {statement} }}\n");
        let instrs = parse(&text).code.threads[0].instrs.clone();
        instrs
            .iter()
            .filter_map(|instr| match instr {
                Instr::Barrier(barrier) => Some(Some(*barrier)),
                Instr::Load { .. } | Instr::Store { .. } | Instr::Rmw { .. } => Some(None),
                _ => None,
            })
            .collect()
    };
    for (statement, expected) in [
        ("atomic_store_explicit(x, 1, memory_order_relaxed);", vec![None]),
        ("atomic_store_explicit(x, 1, memory_order_release);", vec![Some(Store), None]),
        ("atomic_store_explicit(x, 1, memory_order_seq_cst);", vec![Some(Store), None, Some(Full)]),
        ("atomic_store(x, 1);", vec![Some(Store), None, Some(Full)]),
        ("atomic_load_explicit(x, memory_order_seq_cst);", vec![None]),
        ("atomic_exchange_explicit(x, 1, memory_order_acquire);", vec![None]),
        ("atomic_exchange_explicit(x, 1, memory_order_release);", vec![Some(Store), None]),
        ("atomic_fetch_add_explicit(x, 1, memory_order_acq_rel);", vec![Some(Store), None]),
        ("atomic_fetch_add(x, 1);", vec![Some(Store), None]),
        ("atomic_thread_fence(memory_order_seq_cst);", vec![Some(Full)]),
        ("atomic_thread_fence(memory_order_acq_rel);", vec![Some(Store)]),
        ("atomic_thread_fence(memory_order_release);", vec![Some(Store)]),
        ("atomic_thread_fence(memory_order_acquire);", vec![]),
        ("atomic_signal_fence(memory_order_seq_cst);", vec![]),
        ("WRITE_ONCE(*x, 1);", vec![None]),
        ("smp_store_release(x, 1);", vec![Some(Store), None]),
        ("xchg(x, 1);", vec![Some(Full), None, Some(Full)]),
        ("cmpxchg_acquire(x, 0, 1);", vec![None]),
        ("*x = 1;", vec![None]),
    ] {
        assert_eq!(barriers(statement), expected, "{statement}");
    }
}

#[test]
fn headers_and_sites() {
    let test = parse(
        "(* first *)\nX86 name+with-[all]/chars.x(tex) \"a\n doc\"\nHash=abc\nCycle=Fre PodWR\nnoise\n{ int x; }\n P0 | P1 ;\n\
         \tmov\t[x] , $1 | lock ;xchg [x],eax ;\n (* c *) | L: mov ebx,[x] ;\n\nexists (x=1 \\/ true => false /\\ not [x]!=2)\n<< rest",
    );
    assert_eq!((test.name.as_str(), test.doc.as_deref()), ("name+with-[all]/chars.x", Some("a doc")));
    assert_eq!(test.meta, [("Hash".into(), "abc".into()), ("Cycle".into(), "Fre PodWR".into())]);
    let sites: Vec<_> = test.code.sites.iter().map(|s| (s.thread, s.line, s.column, s.text.as_str())).collect();
    assert_eq!(sites, [(0, 9, 2, "mov [x] , $1"), (1, 9, 17, "lock ;xchg [x],eax"), (1, 10, 15, "mov ebx,[x]")]);
    // `=>` binds tighter than `/\`, and `\/` loosest, as in herd.
    assert_eq!(test.condition_text(), "exists ([x]=1 \\/ ((true) => (false) /\\ not (not ([x]=2))))");
    assert_eq!(parse("C --\n{}\nP0 () { }\n").name, "t");
}
