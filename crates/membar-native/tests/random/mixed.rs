//! Random accesses of all sizes to the same two blocks of 16 bytes. Catches what no other test does: memory that is never learnt, or learnt
//! as something that it is not.
//!
//! Each program is explored class by class and interleaving by interleaving. Both come to an end, find the same errors, and
//! agree on whether the program is safe. The errors are final values: each thread adds up what it read, and `main` fails with that
//! sum as its status, so an execution that one exploration has and the other has not shows as an error that is missing.

use membar_certify::replay;
use membar_core::{AccessKind, Barrier, ProgramModel, Relaxation, Rng};
use membar_explore::Strategy;
use membar_native::Standing;
use membar_native::build::{self, Request};
use membar_native::session::Session;
use membar_testkit::bytes::{Piece, is_relaxed};
use membar_verify::{Checkpoint, Effort, ErrorKind, Settings, Watching, explain_run};
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

/// An access of a random program, or a fence.
#[derive(Clone, Copy, PartialEq)]
enum Op {
    Load,
    Store,
    Add,
    Exchange,
    Compare,
}

/// An access to some bytes of two words.
#[derive(Clone, Copy)]
struct Small {
    op: Op,
    atomic: bool,
    strong: bool,
    barrier: Barrier,
    from: usize,
    len: usize,
}

impl Small {
    fn random(rng: &mut Rng) -> Small {
        let len = WIDTHS[rng.below(4) as usize];
        let op = [Op::Load, Op::Load, Op::Store, Op::Store, Op::Add, Op::Exchange, Op::Compare][rng.below(7) as usize];
        let atomic = !matches!(op, Op::Load | Op::Store) || rng.chance(2, 3);
        let wide = len as u32;
        // Atomic accesses are aligned; of others some are not.
        let aligned = atomic || rng.chance(1, 2);
        let from = if aligned { rng.below(16 / wide) * wide } else { rng.below(17 - wide) } as usize;
        let barrier =
            [Barrier::Full, Barrier::Store, Barrier::None, Barrier::None, Barrier::None][rng.below(5) as usize];
        Small { op, atomic, strong: atomic && op == Op::Store && rng.chance(1, 5), barrier, from, len }
    }

    /// In C. Each write has a number in all of its bytes, and sums of them have no byte that is 0.
    fn text(&self, number: u64) -> String {
        let ty = ["", "uint8_t", "uint16_t", "", "uint32_t", "", "", "", "uint64_t"][self.len];
        let place = format!("(({ty} *)(u + {}))", self.from);
        let value = (0..self.len).fold(0, |value, _| value << 8 | number);
        let fence = match self.barrier {
            Barrier::None => "",
            Barrier::Store => "__atomic_thread_fence(__ATOMIC_RELEASE); ",
            Barrier::Full => "__atomic_thread_fence(__ATOMIC_SEQ_CST); ",
        };
        let order = if self.strong { "__ATOMIC_SEQ_CST" } else { "__ATOMIC_RELAXED" };
        let access = match (self.op, self.atomic) {
            (Op::Load, false) => format!("r += *(volatile {ty} *){place};"),
            (Op::Store, false) => format!("*(volatile {ty} *){place} = {value}u;"),
            (Op::Load, true) => format!("r += __atomic_load_n({place}, {order});"),
            (Op::Store, true) => format!("__atomic_store_n({place}, {value}u, {order});"),
            (Op::Add, _) => format!("r += __atomic_fetch_add({place}, {value}u, {order});"),
            (Op::Exchange, _) => format!("r += __atomic_exchange_n({place}, {value}u, {order});"),
            (Op::Compare, _) => {
                format!(
                    "{{ {ty} e = 0; r += __atomic_compare_exchange_n({place}, &e, {value}u, 0, {order}, {order}); }}"
                )
            }
        };
        format!("{fence}{access}").replace("u,", "ull,").replace("u;", "ull;")
    }

    /// The access to these of its bytes.
    fn piece(&self, from: usize, to: usize) -> Piece {
        let kind = match self.op {
            Op::Load => AccessKind::Load,
            Op::Store => AccessKind::Store,
            _ => AccessKind::Rmw,
        };
        let expects = (self.op == Op::Compare).then_some(None);
        Piece { kind, barrier: self.barrier, from: from as u8, len: (to - from) as u8, expects }
    }
}

/// The accesses as they are made: plain ones may be made in pieces. Bytes that an atomic access and others have in common are
/// accessed as a whole up to a multiple of 8; others are cut where an access begins or ends.
fn pieces(threads: &[Vec<Small>]) -> Vec<Vec<Piece>> {
    let all: Vec<&Small> = threads.iter().flatten().collect();
    let mut split = vec![false; all.len()];
    let halves = |i: usize, split: bool| match (all[i].from, all[i].from + all[i].len) {
        (from, to) if split => vec![(from, 8), (8, to)],
        whole => vec![whole],
    };
    let component = |split: &[bool], of: (usize, usize)| {
        // All accesses that are connected to this one, and the bytes of them.
        let (mut from, mut to, mut atomic) = (of.0, of.1, false);
        loop {
            let before = (from, to);
            for i in 0..all.len() {
                for (a, b) in halves(i, split[i]) {
                    if a < to && from < b {
                        (from, to, atomic) = (from.min(a), to.max(b), atomic || all[i].atomic);
                    }
                }
            }
            if before == (from, to) {
                return (from, to, atomic);
            }
        }
    };
    loop {
        let before = split.clone();
        for i in 0..all.len() {
            let (from, to) = (all[i].from, all[i].from + all[i].len);
            split[i] |= from < 8 && to > 8 && !all[i].atomic && component(&split, (from, to)).2;
        }
        if before == split {
            break;
        }
    }
    let mut number = 0;
    let mut made = Vec::new();
    for thread in threads {
        let mut own: Vec<Piece> = Vec::new();
        let mut next = Barrier::None;
        for small in thread {
            let mut barrier = small.barrier.max(std::mem::replace(&mut next, Barrier::None));
            if small.strong {
                // It releases, and a fence follows it.
                barrier = barrier.max(Barrier::Store);
                next = Barrier::Full;
            }
            for (a, b) in halves(number, split[number]) {
                let (from, to, atomic) = component(&split, (a, b));
                let mut borders: Vec<usize> = vec![a, b];
                if !atomic {
                    let ends = (0..all.len()).flat_map(|i| halves(i, split[i])).flat_map(|(a, b)| [a, b]);
                    borders.extend(ends.filter(|&at| from < at && at < to && a < at && at < b));
                }
                borders.sort_unstable();
                borders.dedup();
                for pair in borders.windows(2) {
                    own.push(Piece { barrier, ..small.piece(pair[0], pair[1]) });
                    barrier = Barrier::None;
                }
            }
            number += 1;
        }
        made.push(own);
    }
    made
}

/// What is said about this many programs is what a machine says whose buffers hold bytes, run in every way; and what is called
/// unsafe is explained, and confirmed by the certifier's machine. Under C11 nothing is safe that is not under PSO.
pub fn against_the_machine(programs: usize, cc: Option<&str>) {
    if let Some(cc) = cc
        && std::process::Command::new(cc).arg("--version").output().is_err()
    {
        println!("{cc} is not installed: mixed sizes were not compiled with it");
        return;
    }
    let mut source = String::from("#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n");
    source.push_str("static unsigned char u[16] __attribute__((aligned(16)));\nstatic volatile uint64_t sums[3];\n");
    let mut all: Vec<Vec<Vec<Small>>> = Vec::new();
    let mut rng = Rng::stream(23, 0);
    while all.len() < programs {
        let lengths: &[usize] = [&[2, 2][..], &[2, 3], &[3, 3], &[2, 2, 2], &[1, 2, 2]][rng.below(5) as usize];
        let threads: Vec<Vec<Small>> =
            lengths.iter().map(|&length| (0..length).map(|_| Small::random(&mut rng)).collect()).collect();
        if pieces(&threads).iter().map(Vec::len).sum::<usize>() > 7 {
            continue;
        }
        let i = all.len();
        for (t, thread) in threads.iter().enumerate() {
            let _ = writeln!(source, "static void *f{i}_{t}(void *a) {{ uint64_t r = 0;");
            for (at, small) in thread.iter().enumerate() {
                let _ = writeln!(source, "  {}", small.text((3 * t + at + 1) as u64));
            }
            let _ = writeln!(source, "  sums[{t}] = r; return a; }}");
        }
        all.push(threads);
    }
    source.push_str("int main(int argc, char **argv) { pthread_t p[3]; int n = 0; switch (atoi(argv[1])) {\n");
    for (i, threads) in all.iter().enumerate() {
        let _ = write!(source, "  case {i}: n = {};", threads.len());
        for t in 0..threads.len() {
            let _ = write!(source, " pthread_create(&p[{t}], 0, f{i}_{t}, 0);");
        }
        source.push_str(" break;\n");
    }
    source.push_str("  } for (int i = 0; i < n; i++) pthread_join(p[i], 0); return 0; }\n");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("machine.c");
    std::fs::write(&file, &source).expect("writable");
    let flags = ["-O1".into()];
    let request = Request { sources: &[file], flags: &flags, dir: dir.path(), cc: cc.map(Into::into), cxx: None };
    let built = build::build(&request).expect("it compiles");
    let (mut relaxed, mut open, mut safe) = ([0; 2], 0, 0);
    for (i, threads) in all.iter().enumerate() {
        let setup = crate::setup(&built.object, dir.path(), i);
        let mut session = Session::start(&setup, 1).expect("it starts");
        let pieces = pieces(threads);
        let verify = |session: &mut Session, model: ProgramModel| {
            let strategy = Strategy::Dpor;
            let first = Settings::new(Relaxation::Tso);
            let settings =
                Settings { models: model.into(), strategy, watching: Watching::Class, max_steps: 500, ..first };
            let stop = AtomicBool::new(false);
            let found = session.verify(Checkpoint::new(settings), Effort::default(), &[], &stop, |_, _| true);
            let found = found.expect("it runs");
            assert!(found.search.is_complete(), "program {i} does not come to an end");
            found
        };
        let mut truth = false;
        for (model, machine) in [Relaxation::Tso, Relaxation::Pso].into_iter().enumerate() {
            truth = is_relaxed(&pieces, machine);
            let found = verify(&mut session, machine.into());
            let name = machine.name();
            let text: Vec<Vec<String>> =
                threads.iter().map(|thread| thread.iter().map(|small| small.text(9)).collect()).collect();
            assert_eq!(!found.seen.violations.is_empty(), truth, "program {i} under {name}: {text:#?}\n{pieces:#?}");
            relaxed[model] += usize::from(truth);
            for violation in &found.seen.violations {
                let traced = session.trace(&violation.schedule.0).expect("it runs");
                let steps: Vec<_> = traced.steps.iter().map(|step| step.made.performed()).collect();
                let next = match &traced.threads[violation.thread as usize] {
                    Standing::Access(step, _) => Some(step.made.performed().access),
                    _ => None,
                };
                let explained = explain_run(&steps, next, violation);
                let explained =
                    explained.unwrap_or_else(|| panic!("program {i} under {name} is not explained: {text:#?}"));
                let (run, claims) = (explained.steps(), explained.claims());
                let confirmed = replay::confirms(&mut session.remote(), machine, &run, &claims);
                assert!(confirmed, "program {i} under {name}: {text:#?}\n{violation:?}\n{explained:#?}");
            }
        }
        let found = verify(&mut session, ProgramModel::C11);
        let is_safe = found.seen.violations.is_empty() && found.seen.unclear.is_empty() && found.seen.errors.is_empty();
        assert!(!(is_safe && truth), "program {i} is called safe under c11, and is not under pso");
        open += usize::from(found.seen.violations.is_empty() && found.seen.errors.is_empty() && !is_safe);
        safe += usize::from(is_safe);
    }
    println!(
        "{programs} programs of mixed sizes with {}: {relaxed:?} not safe under tso and pso; under c11 {safe} safe, {open} undecided",
        cc.unwrap_or("the compiler"),
    );
    // Not vacuous.
    assert!(relaxed.iter().all(|&relaxed| relaxed * 50 > programs) && safe > 0);
}
