//! Verifies a C program under both models, and says what a machine with store buffers can do to it and what repairs it.
//!
//! `cargo run -p membar --example verify_a_c_program [FILE.c]`

use membar::core::ProgramModel;
use membar::report::Style;
use membar::{Failure, VerifyOptions, verify};
use std::error::Error;

/// The heart of a hand-written lock: each thread says that it wants to enter, and looks at the other.
const LOCK: &str = "\
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int wants[2], inside;
static void *enter(void *arg) {
  int me = (int)(long)arg;
  atomic_store_explicit(&wants[me], 1, memory_order_relaxed);
  if (!atomic_load_explicit(&wants[!me], memory_order_relaxed)) {
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_sub(&inside, 1);
  }
  return 0;
}
int main(void) {
  pthread_t threads[2];
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, enter, (void *)i);
  for (long i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}
";

fn main() -> Result<(), Box<dyn Error>> {
    // Programs are run in their own processes, and this may be one of them.
    membar::serve_programs();
    let directory = tempfile::tempdir()?;
    let file = match std::env::args_os().nth(1) {
        Some(file) => file.into(),
        None => {
            let file = directory.path().join("lock.c");
            std::fs::write(&file, LOCK)?;
            file
        }
    };
    let models = [ProgramModel::Tso, ProgramModel::Pso].into_iter().collect();
    match verify(&file, &VerifyOptions { models, ..VerifyOptions::default() }) {
        Ok(reports) => {
            for report in reports {
                let (model, fences) = (report.model, report.plan.as_ref().map_or(0, Vec::len));
                println!("{model}: {}, {} {}es explored", report.verdict, report.interleavings, report.unit);
                println!("fences that repair it: {fences}");
                report.text(Style::default(), 1, &mut std::io::stdout())?;
            }
        }
        // No compiler, say, or another system than Linux on x86-64.
        Err(failure @ (Failure::Usage(_) | Failure::Input(_))) => println!("{failure}"),
        Err(failure) => return Err(failure.into()),
    }
    Ok(())
}
