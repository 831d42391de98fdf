//! Small functions in assembly: what is live at their calls.

use super::code::Code;
use super::flow::Flow;
use super::quiet::Known;
use super::sites::{Site, sites};
use std::process::Command;

/// Hooks that are called below, as the program finds them.
const LOAD: &str = "movl $0, %esi\nleaq x(%rip), %rdi\ncall __tsan_atomic32_load@PLT\n";
const ENTER: &str = "pushq %rbp\nmovq %rsp, %rbp\npushq %rbx\nsubq $24, %rsp\n";
const LEAVE: &str = "movq -8(%rbp), %rbx\nleave\nret\n";

/// Links functions, each of which is a name and its instructions, with the stubs.
fn link(functions: &[(&str, &str)]) -> Code {
    let dir = tempfile::tempdir().expect("a directory");
    let mut text = String::from("\t.text\n");
    for (name, body) in functions {
        text.push_str(&format!("\t.type {name}, @function\n{name}:\n{body}\t.size {name}, .-{name}\n"));
    }
    text.push_str("\t.data\nx:\t.long 0\n");
    text.push_str(&crate::run::stubs::assembly());
    let (source, object) = (dir.path().join("a.s"), dir.path().join("a.so"));
    std::fs::write(&source, text).expect("writable");
    let done = Command::new("gcc").args(["-shared", "-nostdlib", "-o"]).args([&object, &source]).output();
    let done = done.expect("gcc runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut code = Code::load(&object);
    // An object without any frame that can be unwound.
    code.assume_no_exceptions();
    code
}

/// The calls of `f`, in their order; None if it is not understood.
fn calls(functions: &[(&str, &str)]) -> Option<Vec<Option<Site>>> {
    let code = link(functions);
    let entry = code.named("f").expect("f");
    let mut known = Known::default();
    Some(
        sites(&Flow::new(&code, entry, |function| known.about(&code, function))?)
            .into_iter()
            .map(|(_, site)| site)
            .collect(),
    )
}

fn first(body: &str) -> Site {
    calls(&[("f", body)]).expect("it is understood").remove(0).expect("a site")
}

/// Bits of the word that far below the return address, at the first call.
fn bits(site: &Site, below: u32) -> u64 {
    let found = site.words.iter().find(|(above, _)| site.size as u32 - above == below);
    found.map_or(0, |(_, bits)| *bits)
}

#[test]
fn bytes_of_the_frame() {
    // Below the return address: 8 is the saved rbp, 16 rbx, and -20(%rbp) is 28 below.
    let site = first(&format!("{ENTER}movl $1, -20(%rbp)\nmovl $2, -24(%rbp)\n{LOAD}movl -20(%rbp), %eax\n{LEAVE}"));
    assert!(site.hook && site.size == 48, "{site:?}");
    assert_eq!(bits(&site, 32), 0xffff_ffff_0000_0000, "{site:?}");
    assert_eq!(site.words.len(), 1, "{site:?}");
    // Overwritten before it is read; and only in part.
    let again = format!("{ENTER}{LOAD}movl $1, -20(%rbp)\nmovl -20(%rbp), %eax\n{LEAVE}");
    assert_eq!(first(&again).words.len(), 0);
    let part = format!("{ENTER}{LOAD}movb $1, -20(%rbp)\nmovl -20(%rbp), %eax\n{LEAVE}");
    assert_eq!(bits(&first(&part), 32), 0xffff_ff00_0000_0000);
    // Overwritten on one path only.
    let maybe = format!("{ENTER}{LOAD}testl %eax, %eax\nje 1f\nmovl $1, -20(%rbp)\n1: movl -20(%rbp), %eax\n{LEAVE}");
    assert_eq!(bits(&first(&maybe), 32), 0xffff_ffff_0000_0000);
}

#[test]
fn registers() {
    // rbx and rbp are the caller's, and where they are is known.
    let site = first(&format!("{ENTER}movl $1, %ebx\n{LOAD}xorl %eax, %eax\n{LEAVE}"));
    assert_eq!((site.registers, &site.saved[..]), (0, &[(0, 32), (1, 40)][..]), "{site:?}");
    let live = first(&format!("{ENTER}movl $1, %ebx\n{LOAD}movl %ebx, %eax\n{LEAVE}"));
    assert_eq!(live.registers, 1);
    // A part that is written leaves the rest; a move that may not be made leaves everything.
    let part = first(&format!("{ENTER}movl $1, %ebx\n{LOAD}movb $2, %bl\nmovl %ebx, %eax\n{LEAVE}"));
    assert_eq!(part.registers, 1);
    let maybe =
        first(&format!("{ENTER}movl $1, %ebx\n{LOAD}testl %eax, %eax\ncmovel %eax, %ebx\nmovl %ebx, %eax\n{LEAVE}"));
    assert_eq!(maybe.registers, 1);
    let killed = first(&format!("{ENTER}movl $1, %ebx\n{LOAD}movl $2, %ebx\nmovl %ebx, %eax\n{LEAVE}"));
    assert_eq!(killed.registers, 0);
    // One that is saved again where another call has overwritten it.
    let again = "pushq %rbx\npopq %rbx\nsubq $8, %rsp\ncall __tsan_func_exit@PLT\naddq $8, %rsp\nret\n";
    assert_eq!(first(again).saved.len(), 0);
    let lost = "pushq %rbx\nmovl $1, %ebx\npopq %rbx\ncall *%rax\npushq %rax\nmovl $1, %ebx\ncall *%rax\nud2\n";
    assert!(calls(&[("f", lost)]).expect("it is understood")[1].is_none());
    // An untouched one stays the caller's.
    let none = first(&format!("subq $8, %rsp\n{LOAD}addq $8, %rsp\nret\n"));
    assert_eq!((none.registers, none.saved.len(), none.size), (0, 0, 16));
}

#[test]
fn counters() {
    // Nobody asks for the count, in memory or in a register; or the loop ends because of it.
    let loops = |count: &str, asks: &str| {
        first(&format!(
            "{ENTER}movl $0, -20(%rbp)\nxorl %ebx, %ebx\n1: {LOAD}{count}\ntestl %eax, %eax\nje 1b\n{asks}\n{LEAVE}"
        ))
    };
    assert_eq!(loops("addl $1, -20(%rbp)", "").words.len(), 0);
    assert_eq!(loops("incl %ebx", "").registers, 0);
    assert_eq!(bits(&loops("addl $1, -20(%rbp)", "movl -20(%rbp), %eax"), 32), 0xffff_ffff_0000_0000);
    assert_eq!(loops("incl %ebx", "movl %ebx, %eax").registers, 1);
    assert_eq!(loops("addl $1, -20(%rbp)\nje 2f", "2:").words.len(), 1);
    assert_eq!(loops("movl -20(%rbp), %ecx\naddl $1, %ecx\nmovl %ecx, -20(%rbp)", "").words.len(), 0);
    // A pointer that is followed may lead nowhere.
    assert_eq!(loops("movq (%rbx), %rcx", "").registers, 1);
}

#[test]
fn every_so_many_rounds_of_gcc() {
    let sites = calls(&[(
        "f",
        &format!(
            "pushq %rbp\nmovq %rsp, %rbp\npushq %rbx\nsubq $56, %rsp\nmovq %rdi, -56(%rbp)\nmovq 8(%rbp), %rax\nmovq %rax, %rdi\n\
         call __tsan_func_entry@PLT\nmovq $0, -24(%rbp)\njmp 2f\n3: addq $1, -24(%rbp)\nmovq -24(%rbp), %rax\nandl $1023, %eax\n\
         testq %rax, %rax\njne 2f\ncall sched_yield@PLT\n2: leaq x(%rip), %rax\nmovq %rax, -32(%rbp)\n\
         leaq -128(%rsp), %rsp\npushq %rdi\npushq %rsi\nleaq -32(%rbp), %rdi\nmovl $0x108, %esi\ncall __membar_asm@PLT\n\
         popq %rsi\npopq %rdi\nleaq 128(%rsp), %rsp\nmovq -32(%rbp), %rax\n\
         movl $5, %esi\nmovq %rax, %rdi\ncall __tsan_atomic32_load@PLT\nmovl %eax, %ebx\nleaq -36(%rbp), %rax\nmovq %rax, %rdi\n\
         call __tsan_write4@PLT\nmovl %ebx, -36(%rbp)\nleaq -36(%rbp), %rax\nmovq %rax, %rdi\ncall __tsan_read4@PLT\n\
         movl -36(%rbp), %eax\ntestl %eax, %eax\nje 3b\nmovl $0, %ebx\ncall __tsan_func_exit@PLT\nmovq %rbx, %rax\n{LEAVE}"
        ),
    )]);
    let load = sites.expect("it is understood").remove(3).expect("a site");
    assert!(load.hook && load.words.is_empty(), "{load:?}");
}

#[test]
fn branches_that_decide_nothing() {
    let loops = |rare: &str, after: &str| {
        let body = format!(
            "{ENTER}movl $0, -20(%rbp)\njmp 1f\n2: addl $1, -20(%rbp)\ncmpl $100, -20(%rbp)\njle 1f\n{rare}\n1: \
             {LOAD}testl %eax, %eax\nje 2b\n{after}\n{LEAVE}"
        );
        calls(&[("f", &body)]).expect("it is understood").into_iter().flatten().last().expect("a site")
    };
    let yields = "movl $0, -20(%rbp)\ncall sched_yield@PLT";
    assert_eq!(loops(yields, "").words.len(), 0);
    assert_eq!(loops("movl -20(%rbp), %edi\ncall usleep@PLT", "").words.len(), 0);
    assert_eq!(loops("pause", "").words.len(), 0);
    let sleeps = "movq $0, -32(%rbp)\nmovq $9, -24(%rbp)\nleaq -32(%rbp), %rdi\nmovl $0, %esi\ncall nanosleep@PLT";
    assert_eq!(loops(sleeps, "").words.len(), 0);
    // Without the branch the time is what the next call sees, if nobody writes it in between.
    let often = |again: &str| {
        let body =
            format!("{ENTER}movq $0, -32(%rbp)\nmovq $9, -24(%rbp)\n1: {LOAD}{again}\ncall nanosleep@PLT\njmp 1b\n");
        first(&body).words.len()
    };
    assert_eq!(often("leaq -32(%rbp), %rdi\naddq $1, -24(%rbp)"), 2);
    assert_eq!(often("leaq -32(%rbp), %rdi\nmovq $9, -24(%rbp)"), 1);
    // Somebody else's time is read.
    assert_eq!(loops("leaq x(%rip), %rdi\ncall nanosleep@PLT", "").words.len(), 1);
    // It is asked for afterwards; or something else that the branch decides is.
    assert_eq!(loops(yields, "movl -20(%rbp), %eax").words.len(), 1);
    assert_eq!(loops("movl $1, -24(%rbp)", "movl -24(%rbp), %eax").words.len(), 1);
    assert_eq!(loops("movl $1, %ebx", "movl %ebx, %eax").words.len(), 1);
    // It acts, ends the loop, or may not come back.
    assert_eq!(loops("movl $1, x(%rip)", "").words.len(), 1);
    assert_eq!(loops("call pthread_self@PLT", "").words.len(), 1);
    assert_eq!(loops("jmp 3f", "3:").words.len(), 1);
    assert_eq!(loops("4: cmpl $0, -20(%rbp)\njne 4b", "").words.len(), 1);
}

#[test]
fn compare_exchange() {
    let body = |rsi: &str, after: &str| {
        format!(
            "{ENTER}movl $1, -20(%rbp)\nleaq x(%rip), %rdi\nmovl $1, %edx\nxorl %ecx, %ecx\nxorl %r8d, %r8d\n{rsi}\n\
             call __tsan_atomic32_compare_exchange_strong@PLT\n{after}\n{LEAVE}"
        )
    };
    // What is expected is looked at, and not what is beside it.
    let site = first(&body("leaq -20(%rbp), %rsi", ""));
    assert_eq!((site.words.len(), bits(&site, 32)), (1, 0xffff_ffff_0000_0000), "{site:?}");
    let beside = first(&body("leaq -20(%rbp), %rsi", "movl -24(%rbp), %eax"));
    assert_eq!(bits(&beside, 32), u64::MAX);
    // At a load before it that is overwritten.
    let loaded = first(&format!("{ENTER}{LOAD}{}", body("leaq -20(%rbp), %rsi", "").trim_start_matches(ENTER)));
    assert_eq!(loaded.words.len(), 0);
    // As the variable that others see, or the value that they get, it could be anybody's.
    assert_eq!(first(&body("leaq -20(%rbp), %rsi\nleaq -24(%rbp), %rdi", "")).words.len(), 3);
    assert_eq!(first(&body("leaq -20(%rbp), %rsi\nleaq -24(%rbp), %rdx", "")).words.len(), 3);
}

#[test]
fn escapes() {
    // All three words that are not the caller's registers.
    let escaped = |how: &str| {
        first(&format!("{ENTER}{LOAD}{how}\nmovl $0, %edx\nmovl $0, %ecx\nmovzbl %al, %eax\n{LEAVE}")).words.len()
    };
    assert_eq!(escaped(""), 0);
    assert_eq!(escaped("leaq -20(%rbp), %rdi\ncall *%rax"), 3);
    assert_eq!(escaped("leaq -20(%rbp), %rdi\nmovq %rdi, x(%rip)"), 3);
    assert_eq!(escaped("movl -20(%rbp,%rax,4), %eax"), 3);
    assert_eq!(escaped("leaq -20(%rbp), %rdi\naddq %rax, %rdi"), 3);
    assert_eq!(escaped("leaq -20(%rbp), %rdi\nmovl $1, %ecx\nrep stosl"), 3);
    assert_eq!(escaped("leaq -20(%rbp), %rcx\ntestl %eax, %eax\ncmovel %eax, %ecx"), 3);
    assert_eq!(escaped("leaq -20(%rbp), %rcx\ntestl %eax, %eax\nje 1f\nleaq -24(%rbp), %rcx\n1: movl (%rcx), %eax"), 3);
    // What is stored into such a frame is used.
    let stored = |how: &str| {
        let body =
            format!("{ENTER}xorl %ebx, %ebx\n{LOAD}{how}\nmovl %ebx, -24(%rbp)\nxorl %eax, %eax\nxorl %edx, %edx\n");
        first(&format!("{body}xorl %ecx, %ecx\n{LEAVE}")).registers
    };
    assert_eq!((stored(""), stored("leaq -20(%rbp), %rdi\ncall __tsan_vptr_update@PLT")), (0, 1));
    // It is announced, kept in the frame, and read from there.
    assert_eq!(escaped("leaq -20(%rbp), %rdi\ncall __tsan_read4@PLT\nmovl $1, -20(%rbp)"), 0);
    assert_eq!(escaped("leaq -20(%rbp), %rax\nmovq %rax, -32(%rbp)\nmovq -32(%rbp), %rcx\nmovl $1, (%rcx)"), 0);
    assert_eq!(escaped("leaq -20(%rbp), %rax\nmovq %rax, -32(%rbp)\nmovq -32(%rbp), %rcx\nmovl (%rcx), %eax"), 1);
}

#[test]
fn arguments_on_the_stack() {
    let caller = format!("{ENTER}movl $1, -20(%rbp)\ncall g\n{LEAVE}");
    let live = |g: &str| {
        let mut calls = calls(&[("f", &caller), ("g", g)]).expect("it is understood");
        calls.remove(0).expect("a site").words.len()
    };
    assert_eq!(live("ret\n"), 0);
    assert_eq!(live("pushq %rbp\nmovq %rsp, %rbp\nmovl 16(%rbp), %eax\npopq %rbp\nret\n"), 3);
    assert_eq!(live("leaq 8(%rsp), %rax\nmovl (%rax), %eax\nret\n"), 3);
    assert_eq!(live("jmp f\n"), 3);
    // Its own return address is not an argument.
    assert_eq!(live("movq (%rsp), %rdi\nret\n"), 0);
}

#[test]
fn not_understood() {
    let understood = |body: &str| calls(&[("f", body)]).is_some();
    assert!(understood(&format!("{ENTER}{LOAD}{LEAVE}")));
    // Moves the stack, jumps to anywhere, returns with other registers than it was called with, or uses them.
    assert!(!understood(&format!("{ENTER}andq $-32, %rsp\n{LOAD}{LEAVE}")));
    assert!(!understood(&format!("{ENTER}{LOAD}subq %rax, %rsp\n{LEAVE}")));
    assert!(!understood(&format!("{ENTER}{LOAD}jmp *%rax\n")));
    assert!(!understood(&format!("{ENTER}{LOAD}leave\nmovl $1, %ebx\nret\n")));
    assert!(!understood(&format!("{ENTER}movl %ebx, x(%rip)\n{LOAD}{LEAVE}")));
    assert!(!understood(&format!("{ENTER}{LOAD}movq -8(%rbp), %rcx\naddq %rcx, %rcx\n{LEAVE}")));
    assert!(!understood(&format!("{ENTER}{LOAD}movq $0, 8(%rbp)\n{LEAVE}")));
    assert!(!understood("subq $8, %rsp\ncall setjmp@PLT\naddq $8, %rsp\nret\n"));
    // Somebody else enters in the middle.
    assert!(!understood(&format!("{ENTER}{LOAD}\n.globl inside\ninside:\n{LEAVE}")));
}

#[test]
fn hidden_code_is_for_exceptions() {
    let body = format!("{ENTER}movl $1, -20(%rbp)\n{LOAD}call *%rax\nxorl %eax, %eax\n{LEAVE}");
    let hidden = format!("{body}movl -20(%rbp), %eax\nud2\n");
    let both = |body: &str| {
        let calls = calls(&[("f", body), ("g", "movl $1, x(%rip)\nret\n")]).expect("it is understood");
        calls.into_iter().map(|site| site.expect("a site").words.len()).collect::<Vec<_>>()
    };
    // An unknown function may take everything as arguments; before that nothing is certain to be needed but what it may take.
    assert_eq!(both(&body), [3, 3]);
    let known = |body: &str| both(&body.replace("call *%rax", "call g"));
    assert_eq!(known(&body), [0, 0]);
    assert_eq!(known(&hidden), [3, 3]);
}

#[test]
fn functions_that_do_nothing() {
    let counts = |g: &str, h: &str, after: &str| {
        let body = format!(
            "{ENTER}movl $0, -20(%rbp)\njmp 1f\n2: addl $1, -20(%rbp)\nmovl -20(%rbp), %eax\nandl $15, %eax\njne 1f\n\
             movl -20(%rbp), %edi\ncall g\n{after}\n1: {LOAD}testl %eax, %eax\nje 2b\n{LEAVE}"
        );
        let calls = calls(&[("f", &body), ("g", g), ("h", h)]).expect("it is understood");
        calls.into_iter().nth(1).flatten().expect("a site").words.len()
    };
    let wrap =
        |call: &str| format!("pushq %rbp\nmovq %rsp, %rbp\ncall __tsan_func_entry@PLT\n{call}\npopq %rbp\nret\n");
    let yields = wrap("call sched_yield@PLT");
    assert_eq!(counts(&yields, "ret\n", ""), 0);
    assert_eq!(counts(&wrap("call h"), &yields, ""), 0);
    assert_eq!(counts("pause\nret\n", "ret\n", ""), 0);
    assert_eq!(counts("leal 1(%rdi), %eax\nret\n", "ret\n", ""), 0);
    // Its result is looked at, by its caller or through memory.
    assert!(counts("leal 1(%rdi), %eax\nret\n", "ret\n", "movl %eax, x(%rip)") > 0);
    assert!(counts("movl %edi, x(%rip)\nret\n", "ret\n", "") > 0);
    // It calls something else, goes round, does not come back, may fail, or looks at arguments on the stack.
    assert!(counts(&wrap("call pthread_self@PLT"), "ret\n", "") > 0);
    assert!(counts(&wrap("call h"), &wrap("call pthread_self@PLT"), "") > 0);
    assert!(counts(&wrap("call g"), "ret\n", "") > 0);
    assert!(counts("1: subl $1, %edi\njne 1b\nret\n", "ret\n", "") > 0);
    assert!(counts("ud2\n", "ret\n", "") > 0);
    assert!(counts("jmp h\n", "ret\n", "") > 0);
    assert!(counts("movl (%rdi), %eax\nret\n", "ret\n", "") > 0);
    assert!(counts("movl 8(%rsp), %eax\nret\n", "ret\n", "") > 0);
}

#[test]
fn memory_that_is_filled() {
    let enter = ENTER.replace("$24", "$56");
    let fills = |how: &str, after: &str| {
        let body = format!(
            "{enter}movl $0, -20(%rbp)\njmp 1f\n2: addl $1, -20(%rbp)\ncmpl $9, -20(%rbp)\njle 1f\n{how}\n1: \
             {LOAD}testl %eax, %eax\nje 2b\n{after}\n{LEAVE}"
        );
        let sites = calls(&[("f", &body)]).expect("it is understood");
        sites.into_iter().flatten().last().expect("a site")
    };
    let time = |len: u32| {
        let fill = format!("leaq -40(%rbp), %rdi\nxorl %esi, %esi\nmovl ${len}, %edx\ncall memset@PLT\n");
        format!("{fill}movq $9, -32(%rbp)\nleaq -40(%rbp), %rdi\nxorl %esi, %esi\ncall nanosleep@PLT")
    };
    assert_eq!(fills(&time(16), "").words.len(), 0);
    // It is looked at afterwards, only a part of it is in the frame, or its length is not known.
    assert!(fills(&time(16), "movq -40(%rbp), %rax").words.len() > 1);
    let unknown = time(16).replace("movl $16, %edx", "movl %eax, %edx");
    assert!(fills(&unknown, "").words.len() > 1);
    let beyond = calls(&[("f", &format!("{enter}{LOAD}{}\n{LEAVE}", time(64)))]);
    assert!(beyond.is_none());
    // The result is an address in the frame.
    let kept = time(16).replace("memset@PLT\n", "memset@PLT\nmovq %rax, x(%rip)\n");
    assert!(fills(&kept, "").words.len() > 1);
}

#[test]
fn vector_registers() {
    let moves = |how: &str, after: &str| {
        let enter = ENTER.replace("$24", "$56");
        let body = format!("{enter}movl $1, -20(%rbp)\n{LOAD}{how}\ntestl %eax, %eax\nje 2f\n2: {after}\n{LEAVE}");
        calls(&[("f", &body)]).expect("it is understood").remove(0).expect("a site").words.len()
    };
    // The word is kept, stored, returned, or passed on; or none of these before another call.
    let load = "movups -32(%rbp), %xmm1";
    assert_eq!(moves(&format!("{load}\ncall __tsan_func_exit@PLT"), ""), 0);
    assert!(moves(load, "") > 0);
    assert!(moves(load, "movups %xmm1, x(%rip)\ncall __tsan_func_exit@PLT") > 0);
    assert!(moves(load, "call *%rax\nud2") > 0);
    assert!(moves(&format!("{load}\nmovups %xmm1, -64(%rbp)"), "call __tsan_func_exit@PLT\nmovq -64(%rbp), %rax") > 0);
    assert_eq!(moves(&format!("{load}\nmovups %xmm1, -64(%rbp)"), "call __tsan_func_exit@PLT\nxorl %eax, %eax"), 0);
    assert!(moves(&format!("{load}\nmovq %xmm1, %rbx"), "call __tsan_func_exit@PLT\nmovq %rbx, %rax") > 0);
}
