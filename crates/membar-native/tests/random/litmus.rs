//! Random programs, once interpreted and once compiled: the same classes, violations and errors.
//!
//! A program of the register machine that litmus tests are translated to is written as C, each instruction on a line of
//! its own. The interpreter and the native runner share the explorer and the monitor, but nothing of how a program comes to its
//! next access; and the interpreter has been compared with brute force.

use membar_core::{Barrier, Fence, Order, Rng};
use membar_litmus::{Alu, Code, Instr, Int, Interpreter, Operand, Place, Update};
use membar_native::build::{self, Request};
use membar_native::session::Session;
use membar_symbols::Symbols;
use membar_testkit::random::{Knobs, random_program};
use membar_verify::{Checkpoint, Effort, ErrorKind, Models, Settings, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Programs in one source: compiling takes longer than verifying.
const BATCH: usize = 20;

/// Compares this many programs.
pub fn run(programs: usize) {
    let mut compilers = vec!["gcc"];
    if std::process::Command::new("clang").arg("--version").output().is_ok() {
        compilers.push("clang");
    } else {
        eprintln!("clang is not installed: random programs are compared with gcc only");
    }
    let mut totals = Totals::default();
    for (batch, from) in (0..programs).step_by(BATCH).enumerate() {
        let compiler = compilers[batch % compilers.len()];
        batch_of(compiler, from as u64, BATCH.min(programs - from), &mut totals);
    }
    let Totals { programs, classes, unsafe_, errors, loops } = totals;
    println!("{programs} programs: {classes} classes, {unsafe_} unsafe, {errors} with errors, {loops} with loops");
    // Not vacuous.
    assert!(unsafe_ * 10 > programs && unsafe_ < 2 * programs && loops * 5 > programs && classes > programs);
}

#[derive(Default)]
struct Totals {
    programs: usize,
    classes: usize,
    unsafe_: usize,
    errors: usize,
    loops: usize,
}

fn batch_of(compiler: &str, from: u64, count: usize, totals: &mut Totals) {
    let mut source = String::from("#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n");
    let mut line = 3;
    let mut programs = Vec::new();
    for i in 0..count {
        let mut rng = Rng::stream(7, from + i as u64);
        let (c11, loops) = (rng.chance(1, 3), rng.chance(1, 2));
        let knobs = match (c11, loops) {
            (true, _) => &Knobs::C11,
            (false, true) => &Knobs::ALL,
            (false, false) => &Knobs::LOOP_FREE,
        };
        let (code, loops) = (random_program(&mut rng, knobs), loops && !c11);
        let text = write_c(i, &code, &mut rng, line);
        line += text.0.lines().count() as u32;
        source.push_str(&text.0);
        programs.push((code, text.1, loops));
    }
    source.push_str("int main(int argc, char **argv) {\n  switch (argc > 1 ? atoi(argv[1]) : 0) {\n");
    for i in 0..count {
        let _ = writeln!(source, "    case {i}: return main{i}();");
    }
    source.push_str("  }\n  return 2;\n}\n");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("random.c");
    std::fs::write(&file, &source).expect("writable");
    let request =
        Request { sources: &[file], flags: &[], dir: dir.path(), cc: Some(OsString::from(compiler)), cxx: None };
    let built = build::build(&request).expect("it compiles");
    let symbols = Symbols::load(&built.object).expect("symbols");
    for (i, (code, lines, loops)) in programs.iter().enumerate() {
        totals.programs += 1;
        totals.loops += usize::from(*loops);
        compare(i, code, lines, *loops, &built.object, dir.path(), &symbols, totals, compiler);
    }
}

/// Sites of races are numbered from here.
const RACES: u32 = 1 << 20;

/// The findings of a verification: violations and races as pairs of sites, and kinds of errors.
type Result = (BTreeSet<(u32, u32)>, BTreeSet<&'static str>, u64);

fn result(checkpoint: &Checkpoint, site: impl Fn(u32) -> u32) -> Result {
    let pairs = checkpoint.seen.violations.iter().map(|found| (site(found.store_site), site(found.access_site)));
    let kinds = checkpoint.seen.errors.iter().map(|error| match error.kind {
        ErrorKind::Deadlock { .. } => "deadlock",
        ErrorKind::Livelock => "livelock",
        ErrorKind::Fault { .. } => "fault",
        ErrorKind::Race { .. } => "race",
        ErrorKind::Condition => "condition",
    });
    let races = checkpoint.seen.errors.iter().filter_map(|error| match error.kind {
        ErrorKind::Race { sites: (one, other) } => Some((site(one), site(other))),
        _ => None,
    });
    let races = races.map(|(one, other)| (RACES + one.min(other), one.max(other)));
    let pairs = pairs.chain(races);
    assert!(checkpoint.search.is_complete(), "a limit was hit");
    (pairs.collect(), kinds.collect(), checkpoint.counts().executions)
}

#[allow(clippy::too_many_arguments)]
fn compare(
    i: usize,
    code: &Code,
    lines: &BTreeMap<u32, u32>,
    loops: bool,
    object: &Path,
    dir: &Path,
    symbols: &Symbols,
    totals: &mut Totals,
    compiler: &str,
) {
    let setup = crate::setup(object, dir, i);
    let mut session = Session::start(&setup, 1).expect("it starts");
    let interpreter = Interpreter::new(Arc::new(code.clone()));
    let c11 = has_orders(code);
    // Store buffers do not look at memory orders, and here nothing else is written for them.
    for model in Models::ALL.into_iter().filter(|model| c11 == model.machine().is_none()) {
        let settings = Settings { max_steps: 500, ..Settings::new(model) };
        let expected = verify(&interpreter, settings);
        if !expected.search.is_complete() {
            continue;
        }
        let expected = result(&expected, |site| site);
        let stop = AtomicBool::new(false);
        let checkpoint = Checkpoint::new(settings);
        let found = session.verify(checkpoint, Effort::default(), &[], &stop, |_, _| true).expect("it runs");
        let site = |offset: u32| {
            let frame = symbols.place(u64::from(offset)).into_iter().next().expect("a line");
            *lines.get(&frame.line).unwrap_or_else(|| panic!("line {} has an access", frame.line))
        };
        let found = result(&found, site);
        let what = || format!("program {i} with {compiler} under {}:\n{code:#?}", model.name());
        assert_eq!(found.0, expected.0, "violations of {}", what());
        assert_eq!(found.1, expected.1, "errors of {}", what());
        if !loops {
            assert_eq!(found.2, expected.2, "classes of {}", what());
        }
        totals.classes += found.2 as usize;
        totals.unsafe_ += usize::from(!found.0.is_empty());
        totals.errors += usize::from(!found.1.is_empty());
    }
}

fn c_type(ty: Int) -> String {
    format!("{}int{}_t", if ty.signed { "" } else { "u" }, ty.bits)
}

fn has_orders(code: &Code) -> bool {
    code.sites.iter().any(|site| site.c11.order() != Order::Plain)
}

fn spelled(order: Order) -> String {
    format!("__ATOMIC_{}", order.name().to_uppercase())
}

fn thread_fence(fence: Fence) -> String {
    let order = match fence {
        Fence::Acquire => Order::Acquire,
        Fence::Release => Order::Release,
        Fence::SeqCst => Order::SeqCst,
        _ => Order::AcqRel,
    };
    format!("__atomic_thread_fence({});", spelled(order))
}

/// The memory order of an access; none if it is to be plain. Where the program does not care, any will do.
fn order(code: &Code, site: u32, c11: bool, atomic: bool) -> Option<String> {
    match code.sites[site as usize].c11.order() {
        Order::Plain if c11 => None,
        Order::Plain => atomic.then(|| spelled(Order::Relaxed)),
        order => Some(spelled(order)),
    }
}

/// The program as C, from this line on, and the site of each line.
fn write_c(p: usize, code: &Code, rng: &mut Rng, before: u32) -> (String, BTreeMap<u32, u32>) {
    let mut text = String::new();
    let mut sites = BTreeMap::new();
    for (i, cell) in code.cells.iter().enumerate() {
        let _ = writeln!(text, "static {} c{p}_{i} = {};", c_type(cell.ty), cell.init as i64);
    }
    let operand = |operand: Operand| match operand {
        Operand::Reg(reg) => format!("r{reg}"),
        Operand::Value(value) => format!("(int64_t){}", value as i64),
    };
    let place = |place: Place| match place {
        Place::Cell(cell) => format!("c{p}_{cell}"),
        Place::At(_) => unreachable!("random programs have no pointers"),
    };
    let c11 = has_orders(code);
    for (t, thread) in code.threads.iter().enumerate() {
        let _ = writeln!(text, "static int64_t s{p}_{t}; static void *f{p}_{t}(void *a) {{ (void)a;");
        for (reg, init) in thread.regs.iter().enumerate() {
            let _ = writeln!(text, "  int64_t r{reg} = {};", *init as i64);
        }
        for (pc, instr) in thread.instrs.iter().enumerate() {
            let at = before + text.lines().count() as u32 + 1;
            let atomic = rng.chance(1, 2);
            let body = match *instr {
                Instr::Set { dst, src } => format!("r{dst} = {};", operand(src)),
                Instr::Alu { op, dst, a, b, ty } => {
                    let (a, b) = (operand(a), operand(b));
                    let value = match op {
                        Alu::Add => format!("(uint64_t){a} + (uint64_t){b}"),
                        Alu::Sub => format!("(uint64_t){a} - (uint64_t){b}"),
                        Alu::Mul => format!("(uint64_t){a} * (uint64_t){b}"),
                        Alu::And => format!("{a} & {b}"),
                        Alu::Or => format!("{a} | {b}"),
                        Alu::Xor => format!("{a} ^ {b}"),
                        Alu::Shl => format!("(uint64_t){a} << {b}"),
                        Alu::Shr => format!("(uint64_t){a} >> {b}"),
                        Alu::Eq => format!("{a} == {b}"),
                        Alu::Ne => format!("{a} != {b}"),
                        Alu::Lt => format!("{a} < {b}"),
                        Alu::Le => format!("{a} <= {b}"),
                        Alu::Below => format!("(uint64_t){a} < (uint64_t){b}"),
                    };
                    format!("r{dst} = ({})({value});", c_type(ty))
                }
                Instr::Jump { to } => format!("goto l{to};"),
                Instr::Branch { cond, unless, to } => {
                    format!("if ({} {} 0) goto l{to};", operand(cond), if unless { "==" } else { "!=" })
                }
                Instr::Load { dst, from, site, .. } => {
                    sites.insert(at, site);
                    match order(code, site, c11, atomic) {
                        Some(order) => format!("r{dst} = __atomic_load_n(&{}, {order});", place(from)),
                        None => format!("r{dst} = {};", place(from)),
                    }
                }
                Instr::Store { to, value, site, .. } => {
                    sites.insert(at, site);
                    match order(code, site, c11, atomic) {
                        Some(order) => format!("__atomic_store_n(&{}, {}, {order});", place(to), operand(value)),
                        None => format!("{} = {};", place(to), operand(value)),
                    }
                }
                Instr::Rmw { update, dst, at: cell, value, ty, site } => {
                    sites.insert(at, site);
                    let (cell, value) = (place(cell), operand(value));
                    let order = order(code, site, c11, true).unwrap_or_default();
                    let failure = spelled(if c11 { code.sites[site as usize].c11.failure() } else { Order::Relaxed });
                    let apply = |name: &str| format!("r{dst} = __atomic_{name}(&{cell}, {value}, {order});");
                    match update {
                        Update::Exchange => apply("exchange_n"),
                        Update::Apply(Alu::Add) => apply("fetch_add"),
                        Update::Apply(Alu::Sub) => apply("fetch_sub"),
                        Update::Apply(Alu::And) => apply("fetch_and"),
                        Update::Apply(Alu::Or) => apply("fetch_or"),
                        Update::Apply(Alu::Xor) => apply("fetch_xor"),
                        Update::Apply(other) => unreachable!("C has no atomic {other:?}"),
                        Update::CompareExchange { expected } => format!(
                            "{{ {} e = {}; __atomic_compare_exchange_n(&{cell}, &e, {value}, 0, {order}, {failure}); \
                             r{dst} = e; }}",
                            c_type(ty),
                            operand(expected)
                        ),
                    }
                }
                Instr::Barrier(Barrier::Full) => "__atomic_thread_fence(__ATOMIC_SEQ_CST);".into(),
                Instr::Barrier(Barrier::Store) => "__atomic_thread_fence(__ATOMIC_RELEASE);".into(),
                Instr::Barrier(Barrier::None) => ";".into(),
                Instr::Fence(fence) => fence.parts().iter().map(|part| thread_fence(*part)).collect(),
            };
            let _ = writeln!(text, "  l{pc}: __attribute__((unused)); {body}");
        }
        let end = thread.instrs.len();
        // To the interpreter all of them are results, so a round that changes one is not idle.
        let regs: Vec<String> = (0..thread.regs.len()).map(|reg| format!("r{reg}")).collect();
        let regs = if regs.is_empty() { "0".into() } else { regs.join(" ^ ") };
        let _ = writeln!(text, "  l{end}: __attribute__((unused)); s{p}_{t} = {regs}; return 0; }}");
    }
    let _ = writeln!(text, "static int main{p}(void) {{ pthread_t t[{}];", code.threads.len());
    for t in 0..code.threads.len() {
        let _ = writeln!(text, "  pthread_create(&t[{t}], 0, f{p}_{t}, 0);");
    }
    for t in 0..code.threads.len() {
        let _ = writeln!(text, "  pthread_join(t[{t}], 0);");
    }
    text.push_str("  return 0; }\n");
    (text, sites)
}
