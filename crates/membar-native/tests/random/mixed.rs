//! Random accesses of all sizes to the same two blocks of 16 bytes. Catches what no other test does: memory that is never learnt, or learnt
//! as something that it is not.
//!
//! Each program is explored class by class and interleaving by interleaving. Both come to an end, find the same errors, and
//! agree on whether the program is safe. The errors are final values: each thread adds up what it read, and `main` fails with that
//! sum as its status, so an execution that one exploration has and the other has not shows as an error that is missing.

use membar_core::{Relaxation, Rng};
use membar_explore::Strategy;
use membar_native::build::{self, Request};
use membar_native::session::Session;
use membar_verify::{Checkpoint, Effort, ErrorKind, Settings, Watching};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const WIDTHS: [usize; 4] = [1, 2, 4, 8];

/// One access, which adds to `r`.
fn access(rng: &mut Rng) -> String {
    let width = WIDTHS[rng.below(4) as usize];
    // Aligned, mostly, or across others.
    let wide = width as u32;
    let at = if rng.chance(3, 4) { rng.below(16 / wide) * wide } else { rng.below(17 - wide) };
    let ty = ["", "uint8_t", "uint16_t", "", "uint32_t", "", "", "", "uint64_t"][width];
    let at = at + 16 * rng.below(2);
    let place = format!("(({ty} *)(u + {at}))");
    let value = rng.below(4);
    match rng.below(7) {
        0 => format!("r += *(volatile {ty} *){place};"),
        1 => format!("*(volatile {ty} *){place} = {value};"),
        2 => format!("r += __atomic_load_n({place}, __ATOMIC_RELAXED);"),
        3 => format!("__atomic_store_n({place}, {value}, __ATOMIC_RELAXED);"),
        4 => format!("r += __atomic_fetch_add({place}, {value}, __ATOMIC_RELAXED);"),
        5 => format!("r += __atomic_exchange_n({place}, {value}, __ATOMIC_RELAXED);"),
        _ => format!("{{ {ty} e = {value}; r += __atomic_compare_exchange_n({place}, &e, 3, 0, 0, 0); }}"),
    }
}

/// Explores this many programs.
pub fn run(programs: usize) {
    let mut source = String::from("#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n");
    source.push_str("static unsigned char u[32] __attribute__((aligned(16)));\nstatic unsigned sums[3];\n");
    for i in 0..programs {
        let mut rng = Rng::stream(11, i as u64);
        for t in 0..2 {
            let _ = writeln!(source, "static void *f{i}_{t}(void *a) {{ unsigned r = 0;");
            for _ in 0..2 + rng.below(2) {
                let _ = writeln!(source, "  {}", access(&mut rng));
            }
            let _ = writeln!(source, "  sums[{t}] = r; return a; }}");
        }
    }
    source.push_str("int main(int argc, char **argv) { pthread_t p; switch (atoi(argv[1])) {\n");
    for i in 0..programs {
        let _ = writeln!(source, "  case {i}: pthread_create(&p, 0, f{i}_0, 0); f{i}_1(0); break;");
    }
    source.push_str("  } pthread_join(p, 0); unsigned sum = 0;\n");
    source.push_str("  for (int i = 0; i < 32; i++) sum = sum * 31 + u[i];\n");
    source.push_str("  return (sum + 5 * sums[0] + 7 * sums[1]) % 251 + 1; }\n");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("mixed.c");
    std::fs::write(&file, &source).expect("writable");
    let request = Request { sources: &[file], flags: &[], dir: dir.path(), cc: None, cxx: None };
    let built = build::build(&request).expect("it compiles");
    let (mut several, mut violations) = (0, 0);
    for i in 0..programs {
        let setup = crate::setup(&built.object, dir.path(), i);
        let mut session = Session::start(&setup, 1).expect("it starts");
        for model in [Relaxation::Tso, Relaxation::Pso] {
            let mut explore = |strategy| {
                let settings = Settings { strategy, watching: Watching::Class, max_steps: 500, ..Settings::new(model) };
                let (stop, began) = (AtomicBool::new(false), Instant::now());
                let go_on = |_: &_, _: &_| {
                    stop.store(began.elapsed() > Duration::from_secs(60), Ordering::Relaxed);
                    true
                };
                let found = session.verify(Checkpoint::new(settings), Effort::default(), &[], &stop, go_on);
                let found = found.expect("it runs");
                assert!(found.search.is_complete(), "program {i} does not come to an end");
                let errors: BTreeSet<String> = found
                    .seen
                    .errors
                    .iter()
                    .map(|error| match &error.kind {
                        ErrorKind::Fault { why, .. } => why.message.to_string(),
                        other => format!("{other:?}"),
                    })
                    .collect();
                (errors, found.seen.violations.is_empty())
            };
            let (classes, all) = (explore(Strategy::Dpor), explore(Strategy::Exhaustive));
            assert_eq!(classes, all, "program {i} under {}", model.name());
            several += usize::from(classes.0.len() > 1);
            violations += usize::from(!classes.1);
        }
    }
    println!("{programs} programs: {several} with several outcomes, {violations} not safe");
    // Not vacuous.
    assert!(several * 4 > programs && violations * 20 > programs);
}
