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
use membar_testkit::bytes::{Piece, ends, is_relaxed};
use membar_verify::{Checkpoint, Effort, ErrorKind, Found, Settings, Watching, explain_run};
use std::collections::{BTreeMap, BTreeSet};
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
    /// If there may be ones of 16 bytes, all are aligned: plain ones are in one piece then, whatever is known first.
    fn random(rng: &mut Rng, wide: bool) -> Small {
        let barriers = [Barrier::Full, Barrier::Store, Barrier::None, Barrier::None, Barrier::None];
        if wide && rng.chance(1, 4) {
            let barrier = barriers[rng.below(5) as usize];
            return Small { op: Op::Compare, atomic: true, strong: false, barrier, from: 0, len: 16 };
        }
        let len = WIDTHS[rng.below(4) as usize];
        let op = [Op::Load, Op::Load, Op::Store, Op::Store, Op::Add, Op::Exchange, Op::Compare][rng.below(7) as usize];
        let atomic = !matches!(op, Op::Load | Op::Store) || rng.chance(2, 3);
        let bytes = len as u32;
        // Atomic accesses are aligned; of others some are not.
        let aligned = atomic || wide || rng.chance(1, 2);
        let from = if aligned { rng.below(16 / bytes) * bytes } else { rng.below(17 - bytes) } as usize;
        let barrier = barriers[rng.below(5) as usize];
        Small { op, atomic, strong: atomic && op == Op::Store && rng.chance(1, 5), barrier, from, len }
    }

    /// In C. Each write has a number in all of its bytes, and sums of them have no byte that is 0.
    fn text(&self, number: u64) -> String {
        let ty = ["", "uint8_t", "uint16_t", "", "uint32_t", "", "", "", "uint64_t"][self.len.min(8)];
        let place = format!("(({ty} *)(u + {}))", self.from);
        let value = (0..self.len.min(8)).fold(0, |value, _| value << 8 | number);
        let fence = match self.barrier {
            Barrier::None => "",
            Barrier::Store => "__atomic_thread_fence(__ATOMIC_RELEASE); ",
            Barrier::Full => "__atomic_thread_fence(__ATOMIC_SEQ_CST); ",
        };
        let order = if self.strong { "__ATOMIC_SEQ_CST" } else { "__ATOMIC_RELAXED" };
        if self.len == 16 {
            let word = (0..16).fold(0u128, |value, _| value << 8 | u128::from(number));
            let (high, low) = ((word >> 64) as u64, word as u64);
            let value = format!("(__int128){high}ull << 64 | {low}ull");
            return format!("{fence}r += __sync_bool_compare_and_swap((__int128 *)u, (__int128)0, {value});");
        }
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
///
/// With each its access, by its place in the thread.
fn pieces(threads: &[Vec<Small>]) -> Vec<Vec<(usize, Piece)>> {
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
        let mut own: Vec<(usize, Piece)> = Vec::new();
        let mut next = Barrier::None;
        for (at, small) in thread.iter().enumerate() {
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
                    own.push((at, Piece { barrier, ..small.piece(pair[0], pair[1]) }));
                    barrier = Barrier::None;
                }
            }
            number += 1;
        }
        made.push(own);
    }
    made
}

/// An end of the machine, whose values say which access they are from: those of the program.
struct Known<'a> {
    threads: &'a [Vec<Small>],
    pieces: &'a [Vec<(usize, Piece)>],
    reads: &'a BTreeMap<(usize, usize), u128>,
}

impl Known<'_> {
    /// The value that an access found.
    fn found(&self, (t, at): (usize, usize)) -> u64 {
        let piece = &self.pieces[t][at].1;
        let byte = |i: usize| self.byte((self.reads[&(t, at)] >> (8 * i)) as u64 & 0xff, usize::from(piece.from) + i);
        (0..usize::from(piece.len).min(8)).fold(0, |value, i| value | byte(i) << (8 * i))
    }

    /// The byte at this place that comes from this access: it has the number of the access in all of its bytes, or adds that.
    fn byte(&self, from: u64, place: usize) -> u64 {
        let Some(number) = (from as usize).checked_sub(1) else { return 0 };
        let (t, at) = (number / 16, number % 16);
        let (index, piece) = &self.pieces[t][at];
        let number = (3 * t + index + 1) as u64;
        match self.threads[t][*index].op {
            Op::Add => {
                let all = (0..piece.len).fold(0, |value, _| value << 8 | number);
                self.found((t, at)).wrapping_add(all) >> (8 * (place - usize::from(piece.from))) & 0xff
            }
            _ => number,
        }
    }
}

/// The statuses with which a program may end on the machine: sums of what threads read. What is left in memory is not looked at: that would
/// be by bytes, and plain accesses are cut where others begin.
fn statuses(threads: &[Vec<Small>], pieces: &[Vec<(usize, Piece)>], machine: Relaxation) -> BTreeSet<u64> {
    let mut bare: Vec<Vec<Piece>> = Vec::new();
    for own in pieces {
        bare.push(own.iter().map(|(_, piece)| *piece).collect());
    }
    let mut statuses = BTreeSet::new();
    for (reads, _) in ends(&bare, machine).into_keys() {
        let end = Known { threads, pieces, reads: &reads };
        let mut sum = 0u64;
        for (&(t, at), &read) in &reads {
            let (index, piece) = &pieces[t][at];
            let small = &threads[t][*index];
            let found = match small.op {
                Op::Compare => u64::from(read == 0),
                _ => end.found((t, at)) << (8 * (usize::from(piece.from) - small.from)),
            };
            sum = sum.wrapping_add(found.wrapping_mul([5, 7, 11][t]));
        }
        statuses.insert(sum % 251 + 1);
    }
    statuses
}

/// Random programs, and one in C that runs the one of them that its argument says; a number that is larger by how many there are asks for an
/// exit status that tells what was read.
fn random(programs: usize, wide: bool) -> (Vec<Vec<Vec<Small>>>, String) {
    let mut source = String::from("#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n");
    source.push_str("static unsigned char u[16] __attribute__((aligned(16)));\nstatic volatile uint64_t sums[3];\n");
    let mut all: Vec<Vec<Vec<Small>>> = Vec::new();
    let mut rng = Rng::stream(23, u64::from(wide));
    while all.len() < programs {
        let lengths: &[usize] = [&[2, 2][..], &[2, 3], &[3, 3], &[2, 2, 2], &[1, 2, 2]][rng.below(5) as usize];
        let threads: Vec<Vec<Small>> =
            lengths.iter().map(|&length| (0..length).map(|_| Small::random(&mut rng, wide)).collect()).collect();
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
    source.push_str("int main(int argc, char **argv) { pthread_t p[3]; int n = 0, which = atoi(argv[1]);\n");
    let _ = writeln!(source, "switch (which % {programs}) {{");
    for (i, threads) in all.iter().enumerate() {
        let _ = write!(source, "  case {i}: n = {};", threads.len());
        for t in 0..threads.len() {
            let _ = write!(source, " pthread_create(&p[{t}], 0, f{i}_{t}, 0);");
        }
        source.push_str(" break;\n");
    }
    source.push_str("  } for (int i = 0; i < n; i++) pthread_join(p[i], 0);\n");
    let _ = writeln!(source, "  if (which < {programs}) return 0;");
    source.push_str("  return (5 * sums[0] + 7 * sums[1] + 11 * sums[2]) % 251 + 1; }\n");
    (all, source)
}

/// Whether the certifier's machine confirms a violation. Nothing if it cannot be explained.
fn confirms(session: &mut Session, machine: Relaxation, violation: &Found) -> Option<bool> {
    let traced = session.trace(&violation.schedule.0).expect("it runs");
    let steps: Vec<_> = traced.steps.iter().map(|step| step.made.performed()).collect();
    let next = match &traced.threads[violation.thread as usize] {
        Standing::Access(step, _) => Some(step.made.performed().access),
        _ => None,
    };
    let explained = explain_run(&steps, next, violation)?;
    let (run, claims) = (explained.steps(), explained.claims());
    Some(replay::confirms(&mut session.remote(), machine, &run, &claims))
}

/// What is said about this many programs is what a machine says whose buffers hold bytes, run in every way; and what is called
/// unsafe is explained, and confirmed by the certifier's machine. Executions of the model end as those of the machine. Under C11 nothing is
/// safe that is not under PSO.
///
/// With words of 16 bytes some may be left open, but nothing is said that is wrong.
pub fn against_the_machine(programs: usize, cc: Option<&str>, wide: bool) {
    if let Some(cc) = cc
        && std::process::Command::new(cc).arg("--version").output().is_err()
    {
        println!("{cc} is not installed: mixed sizes were not compiled with it");
        return;
    }
    let (all, source) = random(programs, wide);
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("machine.c");
    std::fs::write(&file, &source).expect("writable");
    let flags = ["-O1".into(), "-mcx16".into()];
    let request = Request { sources: &[file], flags: &flags, dir: dir.path(), cc: cc.map(Into::into), cxx: None };
    let built = build::build(&request).expect("it compiles");
    let (mut relaxed, mut open, mut safe, mut left, mut ends_seen) = ([0; 2], 0, 0, 0, 0);
    for (i, threads) in all.iter().enumerate() {
        let setup = crate::setup(&built.object, dir.path(), i);
        let mut session = Session::start(&setup, 1).expect("it starts");
        let all_pieces = pieces(threads);
        let mut pieces: Vec<Vec<Piece>> = Vec::new();
        for own in &all_pieces {
            pieces.push(own.iter().map(|(_, piece)| *piece).collect());
        }
        let mut ending = Session::start(&crate::setup(&built.object, dir.path(), programs + i), 1).expect("it starts");
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
            let reported = !found.seen.violations.is_empty();
            assert!(reported == truth || wide && reported, "program {i} under {name}: {text:#?}\n{pieces:#?}");
            relaxed[model] += usize::from(truth);
            let mut any = false;
            for violation in &found.seen.violations {
                let confirmed = confirms(&mut session, machine, violation)
                    .unwrap_or_else(|| panic!("program {i} under {name} is not explained: {text:#?}"));
                assert!(confirmed || wide, "program {i} under {name}: {text:#?}\n{violation:?}");
                assert!(!confirmed || truth, "program {i} under {name}: {text:#?}");
                any |= confirmed;
            }
            left += usize::from(reported && !any);
            let strategy = Strategy::Graphs { model: ProgramModel::from(machine).into(), races: false, bytes: true };
            let settings = Settings { strategy, watching: Watching::Nothing, max_steps: 500, ..Settings::new(machine) };
            let stop = AtomicBool::new(false);
            let found = ending.verify(Checkpoint::new(settings), Effort::default(), &[], &stop, |_, _| true);
            let found = found.expect("it runs");
            assert!(found.search.is_complete(), "program {i} does not come to an end");
            let message = |error: &membar_verify::WeakError| match &error.kind {
                ErrorKind::Fault { why, .. } => why.message.to_string(),
                other => format!("{other:?}"),
            };
            let said: BTreeSet<String> = found.seen.weak_errors.iter().map(message).collect();
            let expected: BTreeSet<String> = statuses(threads, &all_pieces, machine)
                .into_iter()
                .map(|status| format!("the program ends with status {status}"))
                .collect();
            assert_eq!(said, expected, "program {i} under {name}: {text:#?}\n{pieces:#?}");
            ends_seen += said.len();
        }
        let found = verify(&mut session, ProgramModel::C11);
        let is_safe = found.seen.violations.is_empty() && found.seen.unclear.is_empty() && found.seen.errors.is_empty();
        assert!(!(is_safe && truth), "program {i} is called safe under c11, and is not under pso");
        open += usize::from(found.seen.violations.is_empty() && found.seen.errors.is_empty() && !is_safe);
        safe += usize::from(is_safe);
    }
    println!("{ends_seen} ends; {left} left open under tso and pso");
    assert!(left * 10 <= programs && ends_seen > programs);
    println!(
        "{programs} programs of mixed sizes with {}: {relaxed:?} not safe under tso and pso; under c11 {safe} safe, {open} undecided",
        cc.unwrap_or("the compiler"),
    );
    // Not vacuous.
    assert!(relaxed.iter().all(|&relaxed| relaxed * 50 > programs || wide && relaxed > 0) && safe > 0);
}
