//! A program given as Rust code: Dekker's entry, with and without fences. Every execution is explored, one of each
//! happens-before class, and what a store buffer could do is found on the way.
//!
//! `cargo run -p membar --example explore_rust_code`

use membar::certify::replay::confirms;
use membar::core::Relaxation;
use membar::program::{FromFn, Op, Then};
use membar::verify::{Settings, explain, verify};

/// The addresses: what each thread wants, and how many are inside.
const WANTS: [u32; 2] = [0, 1];
const INSIDE: u32 = 2;

/// Each thread says that it wants to enter, and enters if the other one does not want to. `got` is what its accesses have
/// returned so far; what comes next depends on nothing else.
fn dekker(fences: bool) -> FromFn<impl Fn(usize, &[u64]) -> Then + Clone> {
    FromFn::new(2, 3, move |thread, got: &[u64]| match got {
        [] => Then::Do(Op::store(WANTS[thread], 1)),
        [_] if fences => Then::Do(Op::load(WANTS[1 - thread]).after_fence()),
        [_] => Then::Do(Op::load(WANTS[1 - thread])),
        [_, 0] => Then::Do(Op::add(INSIDE, 1)),
        [_, 0, 0] => Then::Do(Op::add(INSIDE, u64::MAX)), // minus one
        [_, 0, n] if *n > 0 => Then::Fail(format!("{} threads are inside", n + 1)),
        _ => Then::End,
    })
}

fn main() {
    for fences in [false, true] {
        for model in [Relaxation::Tso, Relaxation::Pso] {
            let program = dekker(fences);
            let result = verify(&program, Settings::new(model));
            let (verdict, classes) = (result.verdict(), result.counts().executions);
            println!("fences: {fences}, {}: {verdict:?}, {classes} classes", model.name());
            for error in &result.seen.errors {
                println!("  wrong already without buffers: {:?}", error.kind);
            }
            for found in &result.seen.violations {
                let Some(run) = explain(&mut program.clone(), found) else { continue };
                let certified = confirms(&mut program.clone(), model, &run.steps(), &run.claims());
                let (thread, schedule) = (found.thread, &found.schedule);
                println!("  thread {thread} overtakes a store (schedule {schedule}), certified: {certified}");
            }
        }
    }
}
