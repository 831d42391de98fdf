//! Random structures of atomic variables that are moved as plain memory. Catches what no other test does: a plain access to several
//! atomic variables that is not a step for each of them where it has to be.
//!
//! Each program is compiled twice: with a move of all 8 bytes, and with a plain access to each variable. For C11 there is no
//! difference. So both have the same classes, the same executions of each model, the same errors, and are both safe or not; and neither
//! is left undecided. The errors of sequentially consistent executions in which the move is one step are among those of each model.

use membar_core::{GraphModel, ProgramModel, Rng};
use membar_explore::Strategy;
use membar_native::build::{self, Request};
use membar_native::session::Session;
use membar_verify::{Checkpoint, Effort, ErrorKind, Settings, Watching};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::AtomicBool;

/// How 8 bytes are divided into variables: where each begins, and its bytes.
const LAYOUTS: [&[(usize, usize)]; 5] = [
    &[(0, 4), (4, 4)],
    &[(0, 2), (2, 2), (4, 4)],
    &[(0, 1), (1, 1), (2, 2), (4, 4)],
    &[(0, 4), (4, 2), (6, 1), (7, 1)],
    &[(0, 1), (1, 1), (2, 1), (3, 1), (4, 4)],
];

fn unsigned(width: usize) -> &'static str {
    ["", "uint8_t", "uint16_t", "", "uint32_t"][width]
}

/// An atomic access to one of the variables, or to another one.
fn access(rng: &mut Rng, layout: &[(usize, usize)], value: u64) -> String {
    let (at, width) = layout[rng.below(layout.len() as u32) as usize];
    let place = if rng.chance(1, 3) { "&other".into() } else { format!("(({} *)(u + {at}))", unsigned(width)) };
    let order = |orders: [&'static str; 2]| orders[rng.clone().below(2) as usize];
    let (load, store) = (order(["RELAXED", "ACQUIRE"]), order(["RELAXED", "RELEASE"]));
    match rng.below(4) {
        0 | 1 => format!("r += __atomic_load_n({place}, __ATOMIC_{load});"),
        2 => format!("__atomic_store_n({place}, {value}, __ATOMIC_{store});"),
        _ => format!("r += __atomic_fetch_add({place}, {value}, __ATOMIC_RELAXED);"),
    }
}

/// A move from one place to another, as a whole or variable by variable.
fn moved(layout: &[(usize, usize)], to: &str, from: &str, whole: bool) -> String {
    if whole {
        return format!("__builtin_memcpy({to}, {from}, 8);");
    }
    let mut text = String::from("{ ");
    for &(at, width) in layout {
        let ty = unsigned(width);
        let _ = write!(text, "{ty} t{at} = *({ty} *)({from} + {at}); ");
    }
    for &(at, width) in layout {
        let _ = write!(text, "*({} *)({to} + {at}) = t{at}; ", unsigned(width));
    }
    text + "}"
}

/// The bodies of two threads.
fn bodies(rng: &Rng, whole: bool) -> [String; 2] {
    let mut rng = rng.clone();
    let layout = LAYOUTS[rng.below(LAYOUTS.len() as u32) as usize];
    let (mut one, mut two) = (String::new(), String::new());
    let mut value = 0;
    let mut some = |rng: &mut Rng, text: &mut String, most: u32| {
        for _ in 0..rng.below(most + 1) {
            value += 1;
            let _ = writeln!(text, "    {}", access(rng, layout, value));
        }
    };
    // A structure is filled, moved to where others will find it, and published.
    for &(at, width) in layout {
        let _ = writeln!(one, "  *({} *)(v + {at}) = {};", unsigned(width), 10 + at);
    }
    let early = rng.chance(1, 4);
    if early {
        some(&mut rng, &mut one, 1);
    }
    let _ = writeln!(one, "  {}", moved(layout, "u", "v", whole));
    let store = if rng.chance(1, 4) { "RELAXED" } else { "RELEASE" };
    let _ = writeln!(one, "  __atomic_store_n(&flag, 1, __ATOMIC_{store});");
    some(&mut rng, &mut one, 2);
    let _ = writeln!(two, "  if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) {{");
    some(&mut rng, &mut two, 2);
    if rng.chance(1, 3) {
        let _ = writeln!(two, "    {} r += w[0] + w[4];", moved(layout, "w", "u", whole));
    }
    let _ = writeln!(two, "  }}");
    if rng.chance(1, 4) {
        some(&mut rng, &mut two, 2);
    }
    [one, two]
}

/// What is said about a program.
#[derive(PartialEq, Debug)]
struct Said {
    classes: u64,
    safe: bool,
    races: bool,
    errors: BTreeSet<String>,
    /// Of each model: executions, those that are not SC, and errors.
    models: Vec<(u64, u64, BTreeSet<String>)>,
}

/// Explores this many programs.
pub fn run(programs: usize) {
    let mut source = String::from("#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n");
    source.push_str("static unsigned char u[8] __attribute__((aligned(8))), v[8] __attribute__((aligned(8)));\n");
    source.push_str("static unsigned flag, other, sums[2];\n");
    for i in 0..programs {
        for whole in [false, true] {
            let bodies = bodies(&Rng::stream(41, i as u64), whole);
            for (t, body) in bodies.iter().enumerate() {
                let n = 2 * i + usize::from(whole);
                let _ = writeln!(source, "static void *f{n}_{t}(void *a) {{ unsigned r = 0;");
                let _ = writeln!(source, "  unsigned char w[8] __attribute__((aligned(8))); (void)w;\n{body}");
                let _ = writeln!(source, "  sums[{t}] = r; return a; }}");
            }
        }
    }
    source.push_str("int main(int argc, char **argv) { pthread_t p; switch (atoi(argv[1])) {\n");
    for n in 0..2 * programs {
        let _ = writeln!(source, "  case {n}: pthread_create(&p, 0, f{n}_1, 0); f{n}_0(0); break;");
    }
    source.push_str("  } pthread_join(p, 0); unsigned sum = 0;\n");
    source.push_str("  for (int i = 0; i < 8; i++) sum = sum * 31 + u[i];\n");
    source.push_str("  return (sum + 5 * sums[0] + 7 * sums[1]) % 251 + 1; }\n");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("torn.c");
    std::fs::write(&file, &source).expect("writable");
    let request = Request { sources: &[file], flags: &[], dir: dir.path(), cc: None, cxx: None };
    let built = build::build(&request).expect("it compiles");
    let (mut open, mut races, mut weak) = (0, 0, 0);
    for i in 0..programs {
        let said = [2 * i, 2 * i + 1].map(|n| {
            let mut session = Session::start(&crate::setup(&built.object, dir.path(), n), 1).expect("it starts");
            // One that is known from other models has words in one piece: the graphs are right all the same.
            let learnt = i % 3 == 0;
            let sequential = learnt.then(|| errors(&explore(&mut session, ProgramModel::Pso, Strategy::Dpor)));
            let found = explore(&mut session, ProgramModel::C11, Strategy::Dpor);
            let models = [GraphModel::C11, GraphModel::Tso, GraphModel::Pso].map(|model| {
                let strategy = Strategy::Graphs { model, races: model == GraphModel::C11, bytes: false };
                let graphs = explore(&mut session, ProgramModel::C11, strategy);
                let fails: BTreeSet<String> =
                    graphs.seen.weak_errors.iter().map(|error| message(&error.kind)).collect();
                let all = sequential.as_ref().is_none_or(|errors| errors.is_subset(&fails));
                assert!(all, "program {i} has errors that it has not under {}", model.name());
                (graphs.counts().executions, graphs.counts().not_sc, fails)
            });
            assert!(learnt || found.seen.unclear.is_empty(), "program {i} is undecided");
            Said {
                classes: if learnt { 0 } else { found.counts().executions },
                safe: learnt || found.seen.violations.is_empty(),
                races: models[0].2.contains("race"),
                errors: if learnt { BTreeSet::new() } else { errors(&found) },
                models: models.into(),
            }
        });
        assert_eq!(said[0], said[1], "program {i}: {:#?}", bodies(&Rng::stream(41, i as u64), true));
        open += usize::from(!said[1].safe);
        races += usize::from(said[1].races);
        weak += usize::from(said[1].models[0].1 > 0);
    }
    println!(
        "{programs} moved structures under c11: {open} not robust, {races} with races, {weak} with executions not SC"
    );
    // Not vacuous.
    assert!(races * 10 > programs && (programs - races) * 4 > programs && weak * 10 > programs);
}

fn message(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::Fault { why, .. } => why.message.to_string(),
        ErrorKind::Race { .. } => "race".into(),
        other => format!("{other:?}"),
    }
}

fn errors(found: &Checkpoint) -> BTreeSet<String> {
    found.seen.errors.iter().map(|error| message(&error.kind)).collect()
}

fn explore(session: &mut Session, model: ProgramModel, strategy: Strategy) -> Checkpoint {
    let watching = if matches!(strategy, Strategy::Dpor) { Watching::Class } else { Watching::Nothing };
    let settings = Settings { strategy, watching, max_steps: 500, ..Settings::new(model) };
    let stop = AtomicBool::new(false);
    let found = session.verify(Checkpoint::new(settings), Effort::default(), &[], &stop, |_, _| true);
    let found = found.expect("it runs");
    assert!(found.search.is_complete(), "it does not come to an end: {:?}", found.seen);
    found
}
