//! Litmus tests on the real cores of this machine.

use membar_litmus::{Limits, LitmusTest, Model, outcomes};
use membar_stress::litmus::{Amount, Histogram, Settings, run};
use membar_stress::{Cores, Engine, Error};
use membar_testkit::litmus_tests;
use std::time::Duration;

fn parse(text: &str) -> LitmusTest {
    LitmusTest::parse("test.litmus", text.as_bytes()).unwrap()
}

const SB: &str = "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n\
    exists (0:EAX=0 /\\ 1:EAX=0)";

fn engines() -> Vec<Engine> {
    let mut engines = vec![Engine::default(), Engine::Portable];
    engines.dedup();
    engines
}

fn outcomes_of(test: &LitmusTest, engine: Engine, n: u64) -> Result<Histogram, Error> {
    run(test, &Settings { engine, amount: Amount::Outcomes(n), ..Settings::default() })
}

#[test]
fn store_buffering_shows() {
    if Cores::allowed().count() < 2 {
        eprintln!("SKIPPED on a machine with one core: store buffering needs two");
        return;
    }
    if cfg!(not(target_arch = "x86_64")) {
        eprintln!(
            "SKIPPED on other processors than x86-64: a store-release may not be overtaken by a load-acquire there"
        );
        return;
    }
    let test = parse(SB);
    for engine in engines() {
        let settings = Settings { engine, amount: Amount::Time(Duration::from_millis(300)), ..Settings::default() };
        // A busy machine may not run two threads in parallel in this time.
        let seen = (0..100).find_map(|seed| {
            let histogram = run(&test, &Settings { seed, ..settings.clone() }).unwrap();
            (histogram.positive() > 0).then_some(histogram)
        });
        let histogram = seen.expect("a store buffer");
        assert!(histogram.log(&test).to_string().contains("*>0:EAX=0; 1:EAX=0;\n"));
        assert_eq!(histogram.observation().name(), "Sometimes");
    }
}

#[test]
fn nothing_shows_that_tso_forbids() {
    let (mut ran, mut seen) = (0, 0);
    for (_, test) in ["corpus/litmus", "corpus/native"].into_iter().flat_map(litmus_tests) {
        let tso = outcomes(&test, Model::Tso, &Limits::default());
        if !tso.complete || tso.crash.is_some() {
            continue;
        }
        for engine in engines() {
            let histogram = outcomes_of(&test, engine, 2_000).unwrap_or_else(|error| panic!("{}: {error}", test.name));
            assert_eq!(histogram.outside(&tso.states), 0, "{}", histogram.log(&test).against("tso", &tso.states));
            ran += 1;
            seen += histogram.outcomes();
        }
    }
    assert!(ran > 40 && seen > 80_000, "{ran} {seen}");
}

#[test]
fn fences_and_locked_instructions_forbid_it() {
    let fenced = "X86 SB+mfences\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MFENCE | MFENCE ;\n\
        MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)";
    let locked = "X86 SB+xchg\n{ 0:EBX=1; 1:EBX=1; }\n P0 | P1 ;\n XCHG [x],EBX | XCHG [y],EBX ;\n\
        MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)";
    for text in [fenced, locked] {
        for engine in engines() {
            let histogram = outcomes_of(&parse(text), engine, 20_000).unwrap();
            assert_eq!(histogram.positive(), 0);
            assert!(histogram.outcomes() >= 20_000);
        }
    }
}

#[test]
fn more_threads_than_cores_end() {
    let test = parse(SB);
    let cores = Cores::new(vec![Cores::allowed().numbers()[0]]).unwrap();
    for engine in engines() {
        let amount = Amount::Outcomes(3_000);
        let histogram =
            run(&test, &Settings { engine, amount, cores: Some(cores.clone()), ..Settings::default() }).unwrap();
        assert!(histogram.outcomes() >= 3_000);
        // One core never sees its own store buffer.
        assert_eq!(histogram.positive(), 0);
    }
}

#[test]
fn many_cores_run_many_tests_at_once() {
    let first = Cores::allowed().numbers()[0];
    let last = *Cores::allowed().numbers().last().unwrap();
    let cores = Some(Cores::new(vec![first, last, first, last, first]).unwrap());
    let histogram =
        run(&parse(SB), &Settings { cores, amount: Amount::Outcomes(10_000), ..Settings::default() }).unwrap();
    assert!(histogram.outcomes() >= 10_000);
    assert!(histogram.states.len() <= 4);
}

#[test]
fn a_test_that_does_not_end_is_stopped() {
    let test = parse("X86_64 W\n{ }\n P0 ;\n L: movl (x),%eax ;\n cmpl $0,%eax ;\n je L ;\nexists (0:rax=1)");
    for engine in engines() {
        let settings = Settings { engine, limit: Duration::from_millis(100), ..Settings::default() };
        assert!(matches!(run(&test, &settings), Err(Error::Stuck(_))));
    }
}

#[test]
fn a_wild_pointer_is_an_error_with_its_place() {
    let test = parse("X86_64 W\n{ 0:rax=5; }\n P0 ;\n movq (%rax),%rbx ;\nexists (0:rbx=1)");
    for engine in engines() {
        let error = outcomes_of(&test, engine, 100).unwrap_err().to_string();
        assert_eq!(error, "line 4, column 2: `movq (%rax),%rbx` goes through 5, which points to no location");
    }
}

#[test]
fn an_interrupt_ends_it() {
    let interrupt = Some(std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true)));
    let amount = Amount::Time(Duration::from_secs(1000));
    assert!(run(&parse(SB), &Settings { interrupt, amount, ..Settings::default() }).is_ok());
}
