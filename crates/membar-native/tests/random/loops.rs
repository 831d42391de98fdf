//! Random loops over shared variables, with local variables of all kinds that are used afterwards or not: waiting loops are recognised by what is
//! live, and by everything on the stack, and both ways find the same.
//!
//! Errors are final values, as in [`super::mixed`], and assertions.

use membar_core::{Relaxation, Rng};
use membar_native::build::{self, Request};
use membar_native::session::Session;
use membar_verify::{Checkpoint, Effort, ErrorKind, Settings, Watching};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Programs in one source.
const BATCH: usize = 10;
/// The time for one exploration by everything on the stack. If it takes longer, there is nothing to compare with.
const PATIENCE: Duration = Duration::from_secs(2);

const HELPERS: &str = r#"#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
static atomic_int x, y, z;
static int out[3];
struct s { int p; short q; char c[2]; int r; };
static int get(atomic_int *at) { return atomic_load(at); }
__attribute__((noinline)) static int look(atomic_int *at, int *copy) { return *copy = atomic_load(at); }
__attribute__((noinline)) static int peek(const int *at) { return *at + atomic_load(&z); }
__attribute__((noinline)) static int deep(int n, int v) { return n ? deep(n - 1, v + n) + 1 : v + atomic_load(&y); }
__attribute__((noinline)) static int leaf(int a, int b) { return a * 3 + b; }
__attribute__((noinline)) static int many(int a, int b, int c, int d, int e, int f, int g, int h)
{ int l = atomic_load(&z); return a + b + c + d + e + f + 2 * g + 3 * h + l; }
__attribute__((noinline)) static int sum(int n, ...)
{ va_list l; int s = 0; va_start(l, n); while (n--) s += va_arg(l, int) + atomic_load(&z); va_end(l); return s; }
__attribute__((noinline)) static struct s make(int v) { struct s s = { v, v + 1, { 1, 2 }, v + 2 }; return s; }
"#;

/// A local variable that can be assigned to, or read.
fn local(rng: &mut Rng) -> &'static str {
    ["a", "b", "c", "d", "s.p", "s.q", "s.c[1]", "s.r", "v[0]", "v[a & 3]", "*p", "k"][rng.below(12) as usize]
}

fn shared(rng: &mut Rng) -> &'static str {
    ["x", "y", "z"][rng.below(3) as usize]
}

fn statement(rng: &mut Rng, depth: u32) -> String {
    let (to, from, at) = (local(rng), local(rng), shared(rng));
    let small = rng.below(4);
    match rng.below(if depth > 0 { 30 } else { 26 }) {
        0..=3 => format!("{to} = atomic_load(&{at});"),
        4 => format!("{to} = {from} + {small};"),
        5 => "n++;".into(),
        6 => format!("{to} ^= 1;"),
        7 => format!("r += {from};"),
        8 => format!("{to} = get(&{at});"),
        9 => format!("{to} = look(&{at}, &{});", ["b", "s.p", "v[1]"][rng.below(3) as usize]),
        10 => format!("{to} = deep({small}, {from});"),
        11 => format!("{to} = leaf({from}, {small});"),
        12 => format!("{to} = sum({small}, a, b, c);"),
        13 => format!("{to} = many(a, b, c, d, 1, 2, {from}, n);"),
        14 => format!("s = make({from});"),
        15 => "t = s;".into(),
        16 => format!("{to} = t.p + t.r;"),
        17 => format!("p = {};", ["&a", "&d", "&v[2]"][rng.below(3) as usize]),
        18 => format!("__asm__ volatile(\"\" : \"+r\"({}));", ["a", "b", "n"][rng.below(3) as usize]),
        19 => format!("{to} = atomic_fetch_or(&{at}, {from} & {small});"),
        20 => "sched_yield();".into(),
        21 => format!("if (setjmp(j) == 0) {{ {to} = atomic_load(&{at}); if ({from} > 2) longjmp(j, 1); }}"),
        22 | 23 => format!("w = {from};"),
        24 => "r += peek(&w);".into(),
        25 => format!("if (peek(&w) == {small}) {to} = {from};"),
        26 | 27 => format!("if ({from} == {small}) {{ {} }}", statement(rng, depth - 1)),
        28 => format!(
            "if ({from} > {small}) {{ {} }} else {{ {} }}",
            statement(rng, depth - 1),
            statement(rng, depth - 1)
        ),
        _ => {
            let cases: String = (0..5).fold(String::new(), |mut cases, i| {
                let _ = write!(cases, "case {i}: {} break; ", statement(rng, 0));
                cases
            });
            format!("switch ({from} & 7) {{ {cases}}}")
        }
    }
}

/// A loop, and how it may end.
fn rounds(rng: &mut Rng) -> String {
    let mut body = String::new();
    for _ in 0..1 + rng.below(4) {
        let _ = writeln!(body, "    {}", statement(rng, 1));
    }
    let (at, value) = (shared(rng), rng.below(3));
    let from = local(rng);
    match rng.below(6) {
        0 => format!(
            "  do {{\n{body}    e = atomic_load(&{at});\n  }} while (!atomic_compare_exchange_strong(&{at}, &e, e + 1));\n"
        ),
        1 => format!("  e = {from};\n  while (!atomic_compare_exchange_weak(&{at}, &e, e | 1)) {{\n{body}  }}\n"),
        2 => format!("  for (n = 0; n < 2; n++) {{\n{body}    if (atomic_load(&{at}) == {value}) break;\n  }}\n"),
        3 => format!("  for (k = 0; atomic_load(&{at}) != {value} && k < 3; k++) {{\n{body}  }}\n"),
        4 => format!("  while (atomic_load(&{at}) < {value}) {{\n{body}  }}\n"),
        _ => format!(
            "  for (;;) {{\n    a = atomic_load(&{at});\n{body}    if (a != atomic_load(&{at})) continue;\n    e = a;\n    \
             if (atomic_compare_exchange_strong(&{at}, &e, a + 1)) break;\n  }}\n"
        ),
    }
}

fn function(rng: &mut Rng, program: usize, thread: usize) -> String {
    let mut text = format!("static void *f{program}_{thread}(void *arg)\n{{\n");
    text.push_str("  int a = 0, b = 0, c = 1, d = 2, e = 0, k = 0, n = 0, r = 0, w = 0, v[4] = { 0 }, *p = &d;\n");
    text.push_str(
        "  struct s s = { 0 }, t = { 0 }; jmp_buf j; (void)p; (void)t; (void)w; (void)j; (void)b; (void)e; (void)c;\n",
    );
    // Not all of that escapes in all of them.
    if rng.chance(1, 2) {
        let _ = writeln!(text, "  {}", statement(rng, 0));
    }
    for _ in 0..1 + rng.below(2) {
        text.push_str(&rounds(rng));
        let _ = writeln!(text, "  atomic_store(&{}, {});", shared(rng), 1 + rng.below(2));
    }
    for name in ["a", "b", "c", "d", "e", "k", "n", "v[1]", "s.p", "s.q", "t.r", "*p"] {
        if rng.chance(1, 4) {
            let _ = writeln!(text, "  r = r * 5 + {name};");
        }
    }
    let _ = writeln!(text, "  assert(!(n == {} && {} == {}));", 1 + rng.below(3), local(rng), rng.below(3));
    let _ = writeln!(text, "  out[{thread}] = r; return arg;\n}}");
    text
}

/// The loops of one program: without most of what the others have, so that frames do not escape.
fn plain_function(rng: &mut Rng, program: usize, thread: usize) -> String {
    let simple = ["a", "b", "c", "d", "k"];
    let pick = |rng: &mut Rng| simple[rng.below(5) as usize];
    let mut text = format!("static void *f{program}_{thread}(void *arg)\n{{\n");
    text.push_str(
        "  int a = 0, b = 0, c = 1, d = 2, e = 0, k = 0, n = 0, r = 0;\n  (void)b; (void)e; (void)c; (void)d;\n",
    );
    for _ in 0..1 + rng.below(2) {
        let mut body = String::new();
        for _ in 0..1 + rng.below(4) {
            let (to, from, at, small) = (pick(rng), pick(rng), shared(rng), rng.below(4));
            let statement = match rng.below(11) {
                0..=3 => format!("{to} = atomic_load(&{at});"),
                4 => format!("{to} = {from} + {small};"),
                5 => "n++;".into(),
                6 => format!("{to} = {from} ^ 1;"),
                7 => format!("{to} = leaf({from}, {small});"),
                8 => format!("if ({from} == {small}) {to} = atomic_load(&{at});"),
                9 => format!("if ({from} > {small}) {to} = {}; else {} = {small};", pick(rng), pick(rng)),
                _ => format!("{to} = deep({small}, {from});"),
            };
            let _ = writeln!(body, "    {statement}");
        }
        let (at, value, from) = (shared(rng), rng.below(3), pick(rng));
        let _ = match rng.below(4) {
            0 => writeln!(
                text,
                "  do {{\n{body}    e = atomic_load(&{at});\n  }} while (!atomic_compare_exchange_strong(&{at}, &e, {from} + 1));"
            ),
            1 => writeln!(
                text,
                "  e = {from};\n  while (!atomic_compare_exchange_weak(&{at}, &e, e | 1)) {{\n{body}  }}"
            ),
            2 => writeln!(text, "  for (k = 0; atomic_load(&{at}) != {value} && k < 3; k++) {{\n{body}  }}"),
            _ => writeln!(
                text,
                "  for (;;) {{\n    a = atomic_load(&{at});\n{body}    if (a != atomic_load(&{at})) continue;\n    e = a;\n    \
                 if (atomic_compare_exchange_strong(&{at}, &e, a + 1)) break;\n  }}"
            ),
        };
        let _ = writeln!(text, "  atomic_store(&{}, {});", shared(rng), 1 + rng.below(2));
    }
    for name in ["a", "b", "c", "d", "e", "k", "n"] {
        if rng.chance(1, 4) {
            let _ = writeln!(text, "  r = r * 5 + {name};");
        }
    }
    let _ = writeln!(text, "  assert(!(n == {} && {} == {}));", 1 + rng.below(3), pick(rng), rng.below(3));
    let _ = writeln!(text, "  out[{thread}] = r; return arg;\n}}");
    text
}

#[derive(Default)]
struct Totals {
    compared: usize,
    skipped: usize,
    live: u64,
    whole: u64,
    fewer: usize,
    errors: usize,
}

/// Explores this many programs.
pub fn run(programs: usize) {
    let clang = std::process::Command::new("clang").arg("--version").output().is_ok();
    let compilers: &[&str] = if clang { &["gcc", "clang"] } else { &["gcc"] };
    let mut totals = Totals::default();
    for (batch, from) in (0..programs).step_by(BATCH).enumerate() {
        let flags = ["-O0", "-O1", "-O2", "-O3"][batch / compilers.len() % 4];
        batch_of(compilers[batch % compilers.len()], flags, from, BATCH.min(programs - from), &mut totals);
    }
    let Totals { compared, skipped, live, whole, fewer, errors } = totals;
    println!(
        "{compared} programs with loops ({skipped} skipped): {live} classes by what is live, {whole} by everything, fewer in {fewer}, \
         {errors} with errors"
    );
    // Not vacuous.
    assert!(live < whole && fewer * 20 > compared && errors * 3 > compared && compared * 2 > programs);
}

fn batch_of(compiler: &str, level: &str, from: usize, count: usize, totals: &mut Totals) {
    let mut source = String::from(HELPERS);
    for i in 0..count {
        let mut rng = Rng::stream(18, (from + i) as u64);
        let plain = rng.chance(1, 2);
        for thread in 0..2 {
            let write = if plain { plain_function } else { function };
            source.push_str(&write(&mut rng, i, thread));
        }
    }
    source.push_str("int main(int argc, char **argv) {\n  pthread_t p;\n  switch (argc > 1 ? atoi(argv[1]) : 0) {\n");
    for i in 0..count {
        let _ = writeln!(source, "    case {i}: pthread_create(&p, 0, f{i}_0, 0); f{i}_1(0); break;");
    }
    source.push_str("  }\n  pthread_join(p, 0);\n");
    source.push_str("  return (unsigned)(x + 3 * y + 5 * z + 7 * out[0] + 31 * out[1]) % 251 + 1;\n}\n");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("loops.c");
    std::fs::write(&file, &source).expect("writable");
    let flags = [level, "-w"].map(OsString::from);
    let request = Request { sources: &[file], flags: &flags, dir: dir.path(), cc: Some(compiler.into()), cxx: None };
    let built = build::build(&request).expect("it compiles");
    for i in 0..count {
        let name = format!("program {} ({compiler} {level}, number {i} of its file)", from + i);
        compare(&built.object, dir.path(), i, &name, totals);
    }
}

/// Errors, whether there are violations, classes, and whether that was all.
type Found = (BTreeSet<String>, bool, u64, bool);

fn explore(object: &Path, dir: &Path, program: usize, whole_stacks: bool, time: Duration) -> Found {
    let mut setup = crate::setup(object, dir, program);
    setup.options.whole_stacks = whole_stacks;
    let mut session = Session::start(&setup, 1).expect("it starts");
    let settings = Settings { watching: Watching::Class, max_steps: 300, ..Settings::new(Relaxation::Tso) };
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    let go_on = |_: &_, _: &_| {
        stop.store(began.elapsed() > time, Ordering::Relaxed);
        true
    };
    let found = session.verify(Checkpoint::new(settings), Effort::default(), &[], &stop, go_on).expect("it runs");
    let message = |kind: &ErrorKind| match kind {
        ErrorKind::Fault { why, .. } => why.message.to_string(),
        ErrorKind::Deadlock { .. } => "deadlock".into(),
        other => format!("{other:?}"),
    };
    let errors = found.seen.errors.iter().map(|error| message(&error.kind)).collect();
    let complete = found.search.is_complete() && found.seen.cut.is_none() && found.seen.limit().is_none();
    (errors, found.seen.violations.is_empty(), found.counts().executions, complete)
}

fn compare(object: &Path, dir: &Path, program: usize, name: &str, totals: &mut Totals) {
    let whole = explore(object, dir, program, true, PATIENCE);
    if !whole.3 {
        totals.skipped += 1;
        return;
    }
    let live = explore(object, dir, program, false, 10 * PATIENCE);
    assert!(live.3, "{name} does not come to an end by what is live");
    assert_eq!((&live.0, live.1), (&whole.0, whole.1), "{name}: by what is live, by everything");
    assert!(live.2 <= whole.2, "{name}: {} classes, and {} by everything", live.2, whole.2);
    totals.compared += 1;
    totals.live += live.2;
    totals.whole += whole.2;
    totals.fewer += usize::from(live.2 < whole.2);
    totals.errors += usize::from(!live.0.is_empty());
}
