//! Robustness against RC11 and data races, compared with the enumeration of all RC11 graphs.

use membar_certify::rc11 as certifier;
use membar_core::{Barrier, C11, Claim, Fence, Order, ProgramModel, Rng};
use membar_explore::Strategy;
use membar_litmus::{Cell, Code, Instr, Interpreter, LitmusTest, LitmusThreads, Operand, Place, Site};
use membar_testkit::random::{Knobs, random_program};
use membar_testkit::rc11::{self, Limits};
use membar_testkit::shorthand::{Counted, Known, corpus, counted, litmus};
use membar_verify::{ErrorKind, Races, Settings, Verdict, Watching, explain, verify};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Programs that the random test compares; more with `MEMBAR_ORACLE_PROGRAMS`.
const PROGRAMS: u64 = 80;

fn settings() -> Settings {
    Settings { max_steps: 100, ..Settings::new(ProgramModel::C11) }
}

/// Compares one program. Whether it was small enough.
fn compare(code: Code, name: &str) -> Option<(bool, bool)> {
    let answer = rc11::enumerate(&code, &Limits { graphs: 60_000, ..Limits::default() }).ok()?;
    let code = Arc::new(code);
    let mut program = Interpreter::new(Arc::clone(&code));

    // Races count for nothing: plain accesses are like relaxed ones.
    let alone = verify(&program, Settings { races: Races::Off, ..settings() });
    assert!(alone.is_complete(), "{name}");
    assert_eq!(alone.counts().executions, answer.sc as u64, "{name}: classes");
    assert_eq!(alone.seen.violations.is_empty(), answer.robust, "{name}: robust?\n{code:?}");
    for found in &alone.seen.violations {
        let explanation =
            explain(&mut program, found).unwrap_or_else(|| panic!("{name}: {found:?} has no explanation"));
        let (claims, store) = (explanation.claims(), explanation.store);
        let confirmed = certifier::confirms(&mut LitmusThreads::new(&code), &claims, store);
        assert_eq!(confirmed, Ok(()), "{name}: {found:?}\n{code:?}");
        // It does not confirm whatever it is told.
        let last = claims.len() - 1;
        let wrong = [&claims[..last], &[Claim { read: Some(77), ..claims[last] }]].concat();
        if claims[last].read.is_some() {
            assert!(certifier::confirms(&mut LitmusThreads::new(&code), &wrong, store).is_err(), "{name}");
        }
        assert!(certifier::confirms(&mut LitmusThreads::new(&code), &claims[..last], store).is_err(), "{name}");
    }

    let both = verify(&program, settings());
    let races: BTreeSet<(u32, u32)> = both
        .seen
        .errors
        .iter()
        .filter_map(|error| match error.kind {
            ErrorKind::Race { sites } => Some(sites),
            _ => None,
        })
        .collect();
    assert_eq!(races, answer.sc_races, "{name}: races\n{code:?}");
    let safe = answer.robust && answer.races.is_empty();
    assert_eq!(both.verdict() == Verdict::Safe, safe, "{name}: {:?}\n{code:?}", both.verdict());
    Some((answer.robust, races.is_empty()))
}

#[test]
fn random_programs_have_the_verdicts_of_all_graphs() {
    let programs = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    let first: u64 = std::env::var("MEMBAR_ORACLE_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (mut compared, mut weak, mut racy) = (0, 0, 0);
    for seed in first..first + programs {
        let mut rng = Rng::new(seed);
        let code = random_program(&mut rng, &Knobs::C11);
        if let Some((robust, race_free)) = compare(code, &format!("seed {seed}")) {
            compared += 1;
            weak += u64::from(!robust);
            racy += u64::from(!race_free);
        }
    }
    println!("{compared} of {programs} compared, {weak} not robust, {racy} racy");
    assert!(compared > programs / 2 && weak > programs / 20 && racy > programs / 40, "{compared} {weak} {racy}");
}

/// MP, SB, IRIW, 2+2W, R, S, LB, CoRR, WRC, ISA2, RWC, Z6.U, release sequences, fences of each kind, and mixtures of orders.
#[test]
fn tests_of_the_corpus_have_their_verdicts() {
    for Known { test, title, rc11, sc } in corpus() {
        let result =
            verify(&Interpreter::new(Arc::new(test.code.clone())), Settings { races: Races::Off, ..settings() });
        assert_eq!(result.counts().executions, sc as u64, "{title}");
        let expected = if rc11 == sc { Verdict::Safe } else { Verdict::Unsafe };
        assert_eq!(result.verdict(), expected, "{title}");
        compare(test.code, &title).expect("small enough");
    }
}

/// Loops that wait, and locks: whatever the first graphs show is found.
#[test]
fn programs_with_loops() {
    let programs = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    let knobs = Knobs { waits: 3, locks: 2, total: 7, ..Knobs::C11 };
    let (mut weak, mut racy, mut safe) = (0, 0, 0);
    for seed in 0..programs {
        let code = Arc::new(random_program(&mut Rng::new(9_000_000 + seed), &knobs));
        let Ok(answer) = rc11::beginnings(&code, &Limits { graphs: 6_000, accesses: 5 }) else { continue };
        let mut program = Interpreter::new(Arc::clone(&code));
        let alone = verify(&program, Settings { races: Races::Off, ..settings() });
        if !answer.robust {
            assert!(!alone.seen.violations.is_empty(), "seed {seed}: {:?}\n{code:?}", alone.verdict());
            weak += 1;
        }
        for found in &alone.seen.violations {
            let explanation = explain(&mut program, found).expect("an explanation");
            let claims = explanation.claims();
            assert_eq!(
                certifier::confirms(&mut LitmusThreads::new(&code), &claims, explanation.store),
                Ok(()),
                "seed {seed}"
            );
        }
        let both = verify(&program, settings());
        if !answer.sc_races.is_empty() {
            assert!(!both.seen.errors.is_empty(), "seed {seed}: {:?}\n{code:?}", answer.sc_races);
            racy += 1;
        }
        safe += u64::from(both.verdict() == Verdict::Safe);
    }
    assert!(weak > programs / 20 && racy > programs / 40 && safe > programs / 40, "{weak} {racy} {safe}");
}

/// Other strategies find what systematic search finds, or part of it, and nothing else.
#[test]
fn strategies_agree() {
    for seed in 0..60 {
        let code = Arc::new(random_program(&mut Rng::new(1000 + seed), &Knobs::C11));
        let program = Interpreter::new(Arc::clone(&code));
        let run = |strategy| verify(&program, Settings { strategy, ..settings() }).seen;
        let sites = |seen: &membar_verify::Seen| -> BTreeSet<_> {
            seen.violations.iter().map(|found| (found.store_site, found.access_site)).collect()
        };
        let all = run(Strategy::Dpor);
        let exhaustive = run(Strategy::Exhaustive);
        assert_eq!(sites(&all), sites(&exhaustive), "seed {seed}");
        let random = run(Strategy::Random { executions: 300, seed });
        assert!(sites(&random).is_subset(&sites(&all)), "seed {seed}");
        let raced = |seen: &membar_verify::Seen| -> BTreeSet<_> {
            seen.errors.iter().map(|error| format!("{:?}", error.kind)).collect()
        };
        assert_eq!(raced(&all), raced(&exhaustive), "seed {seed}");
        assert!(raced(&random).is_subset(&raced(&all)), "seed {seed}");
    }
}

/// Several models at once find what each finds alone.
#[test]
fn models_do_not_disturb_each_other() {
    for seed in 0..60 {
        let code = Arc::new(random_program(&mut Rng::new(2000 + seed), &Knobs::C11));
        let program = Interpreter::new(Arc::clone(&code));
        let models = [ProgramModel::Tso, ProgramModel::Pso, ProgramModel::C11];
        let together = verify(&program, Settings::new(models.into_iter().collect::<membar_verify::Models>()));
        for model in models {
            let alone = verify(&program, Settings::new(model));
            let one = together.under(model);
            assert_eq!(one.seen, alone.seen, "seed {seed}, {model}");
            assert_eq!(one.verdict(), alone.verdict(), "seed {seed}, {model}");
        }
    }
}

/// Monitors can be left out, and races looked for without C11.
#[test]
fn races_can_be_had_alone() {
    let text = "C MP\n{ }\nP0 (int* x, atomic_int* y) { *x = 1; atomic_store_explicit(y, 1, memory_order_relaxed); }\n\
                P1 (int* x, atomic_int* y) { int r = atomic_load_explicit(y, memory_order_relaxed); if (r) { int s = *x; } }\n\
                exists (1:r=1)";
    let test = LitmusTest::parse("MP", text.as_bytes()).unwrap();
    let program = Interpreter::new(Arc::new(test.code));
    let verdict = |settings| verify(&program, settings).verdict();
    assert_eq!(verdict(Settings::new(ProgramModel::Tso)), Verdict::Safe);
    assert_eq!(verdict(Settings { races: Races::On, ..Settings::new(ProgramModel::Tso) }), Verdict::Error);
    assert_eq!(verdict(Settings::new(ProgramModel::C11)), Verdict::Error);
    assert_eq!(verdict(Settings { races: Races::Off, ..Settings::new(ProgramModel::C11) }), Verdict::Unsafe);
    let nothing = Settings { watching: Watching::Nothing, ..Settings::new(ProgramModel::C11) };
    assert!(verify(&program, nothing).seen.errors.is_empty());
}

/// What compilers make of the orders on machines with store buffers.
fn compiled(code: &Code) -> Code {
    let mut code = code.clone();
    for thread in &mut code.threads {
        let mut places = Vec::new();
        let mut instrs = Vec::new();
        for &instr in &thread.instrs {
            places.push(instrs.len() as u32);
            let order = |site: u32| code.sites[site as usize].c11.order();
            let (before, after) = match instr {
                Instr::Store { site, .. } if order(site) == Order::SeqCst => (Barrier::Store, Barrier::Full),
                Instr::Store { site, .. } | Instr::Rmw { site, .. } if order(site).releases() => {
                    (Barrier::Store, Barrier::None)
                }
                Instr::Fence(Fence::SeqCst) => (Barrier::Full, Barrier::None),
                Instr::Fence(fence) if fence.releases() => (Barrier::Store, Barrier::None),
                _ => (Barrier::None, Barrier::None),
            };
            instrs.extend([Instr::Barrier(before), instr, Instr::Barrier(after)]);
        }
        let end = instrs.len() as u32;
        for instr in &mut instrs {
            if let Instr::Jump { to } | Instr::Branch { to, .. } = instr {
                *to = places.get(*to as usize).copied().unwrap_or(end);
            }
        }
        thread.instrs = instrs;
    }
    code
}

/// Machines with store buffers do nothing to a compiled program that C11 forbids. The other way round there are exceptions: a
/// read-modify-write is a fence on TSO, stores stay in order there, and loads everywhere.
#[test]
fn what_is_safe_under_c11_is_safe_with_store_buffers() {
    let (mut safe, mut stronger) = (0, 0);
    for seed in 0..1500 {
        let code = compiled(&random_program(&mut Rng::new(3000 + seed), &Knobs::C11));
        let program = Interpreter::new(Arc::new(code));
        let verdict =
            |model: ProgramModel| verify(&program, Settings { races: Races::Off, ..Settings::new(model) }).verdict();
        let machines = [ProgramModel::Tso, ProgramModel::Pso].map(verdict);
        if verdict(ProgramModel::C11) == Verdict::Safe {
            safe += 1;
            assert_eq!(machines, [Verdict::Safe; 2], "seed {seed}");
        } else {
            stronger += usize::from(machines == [Verdict::Safe; 2]);
        }
    }
    assert!(safe > 500 && stronger > 20, "{safe} {stronger}");
}

/// The program with stores in front of each thread that nobody else sees, so that the monitor needs wider sets.
fn padded(code: &Code, stores: u32) -> Code {
    let mut code = code.clone();
    let like = code.cells[0].clone();
    for t in 0..code.threads.len() {
        let (cell, site) = (code.cells.len() as u32, code.sites.len() as u32);
        code.cells.push(Cell { name: format!("pad{t}"), pointer: 0x1000_0000 + u64::from(cell), ..like.clone() });
        code.sites.push(Site { c11: C11::new(Order::Relaxed), thread: t as u32, ..code.sites[0].clone() });
        let thread = &mut code.threads[t];
        for instr in &mut thread.instrs {
            if let Instr::Jump { to } | Instr::Branch { to, .. } = instr {
                *to += stores;
            }
        }
        let store = Instr::Store { to: Place::Cell(cell), value: Operand::Value(1), ty: like.ty, site };
        thread.instrs.splice(..0, vec![store; stores as usize]);
    }
    code
}

/// Executions of more than 64, and of more than 256 writes.
#[test]
fn long_executions_are_judged_like_short_ones() {
    let mut weak = 0;
    for seed in 0..60 {
        let code = random_program(&mut Rng::new(4000 + seed), &Knobs::C11);
        let settings = Settings { max_steps: 1000, ..settings() };
        let seen = |code: Code| {
            let seen = verify(&Interpreter::new(Arc::new(code)), settings).seen;
            let pairs: BTreeSet<(u32, u32)> =
                seen.violations.iter().map(|found| (found.store_site, found.access_site)).collect();
            let races: BTreeSet<String> = seen.errors.iter().map(|error| format!("{:?}", error.kind)).collect();
            (pairs, races, seen.too_long)
        };
        let short = seen(code.clone());
        weak += usize::from(!short.0.is_empty());
        for stores in [33, 140] {
            assert_eq!(short, seen(padded(&code, stores)), "seed {seed}, {stores} stores more in each thread");
        }
    }
    assert!(weak > 3, "{weak}");
}

/// Programs whose graphs others have counted.
#[test]
fn counted_programs() {
    let (mut weak, mut enumerated) = (0, 0);
    for (n, Counted { threads, rc11, sc }) in counted().into_iter().enumerate() {
        let code = Arc::new(litmus("counted", &threads, "x=0").code);
        let result = verify(&Interpreter::new(Arc::clone(&code)), settings());
        let expected = if rc11 == sc { Verdict::Safe } else { Verdict::Unsafe };
        assert_eq!((result.verdict(), result.counts().executions), (expected, sc as u64), "{threads}");
        weak += usize::from(rc11 != sc);
        // The oracle counts the same; a sample will do.
        if n % 8 == 0
            && let Ok(answer) = rc11::enumerate(&code, &Limits { graphs: 10_000, ..Limits::default() })
        {
            assert_eq!((answer.rc11, answer.sc), (rc11, sc), "{threads}");
            enumerated += 1;
        }
    }
    assert!(weak == 200 && enumerated > 30, "{weak} {enumerated}");
}
