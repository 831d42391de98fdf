//! RC11's graphs: known tests with known answers, and random programs compared with the machine of SC.

use membar_core::{C11, Fence, Order, Rng};
use membar_litmus::{Code, Limits as Steps, LitmusTest, Model, outcomes};
use membar_testkit::programs::{self, Memory};
use membar_testkit::random::{Knobs, random_program};
use membar_testkit::rc11::{Answer, GaveUp, Limits, enumerate, observed};
use membar_testkit::shorthand::{Known, corpus, litmus};
use std::collections::BTreeSet;

fn answer(code: &Code) -> Answer {
    enumerate(code, &Limits::default()).expect("small enough")
}

/// Whether a state that satisfies the condition is among these.
fn seen(test: &LitmusTest, states: &BTreeSet<Vec<u64>>) -> bool {
    states.iter().any(|state| test.condition.prop.holds(&observed(test, state)))
}

/// The outcome is one that SC forbids, and RC11 allows it if the numbers of graphs differ.
#[test]
fn tests_of_the_corpus() {
    let corpus = corpus();
    assert!(corpus.len() > 100);
    for Known { test, title, rc11, sc } in corpus {
        let answer = answer(&test.code);
        assert_eq!((answer.rc11, answer.sc), (rc11, sc), "{title}");
        assert_eq!(answer.robust, rc11 == sc, "{title}");
        assert!(!seen(&test, &answer.sc_states), "{title}");
        assert_eq!(seen(&test, &answer.states), rc11 != sc, "{title}");

        let sc_states: BTreeSet<Vec<u64>> = answer.sc_states.iter().map(|state| observed(&test, state)).collect();
        let run: BTreeSet<Vec<u64>> = outcomes(&test, Model::Sc, &Steps::default()).states.into_iter().collect();
        assert_eq!(sc_states, run, "{title}");
    }
}

/// In scb, po to and from a fence counts as po between different locations.
///
/// The reads of x, z and x have 3, 2 and 3 sources: 18 graphs. With z=0, SC excludes 3 pairs of reads of x, where the last one
/// reads an older write. Of these, RC11 excludes one: from x=1 over the fence to the read of z there is po;sw;po. From x=1
/// to x=2 and then on there is not, since the two are of one location; nor does x=1 itself, as a release, have po before sw.
#[test]
fn fences_are_elsewhere() {
    let outcome = |reads: &str| {
        let threads = ["x=1 sc; F rel; x=2 rlx", "r0=x acq; r1=z sc", "z=1 sc; r0=x sc"];
        let test = litmus("elsewhere", &threads.join("||"), &format!("1:r1=0 /\\ {reads}"));
        let answer = answer(&test.code);
        assert_eq!((answer.rc11, answer.sc), (17, 15));
        assert!(!seen(&test, &answer.sc_states));
        seen(&test, &answer.states)
    };
    assert!(!outcome("1:r0=2 /\\ 2:r0=0"));
    assert!(outcome("1:r0=2 /\\ 2:r0=1"));
    assert!(outcome("1:r0=1 /\\ 2:r0=0"));
}

#[test]
fn data_races() {
    // How many pairs of accesses race, in graphs of RC11 and of SC.
    let found = |threads: &[&str]| {
        let test = litmus("races", &threads.join("||"), "x=0");
        let answer = answer(&test.code);
        assert!(answer.races.is_superset(&answer.sc_races));
        (answer.races.len(), answer.sc_races.len())
    };
    // Atomic accesses do not race; a plain one races with an atomic one.
    assert_eq!(found(&["x=1 rlx", "x=2 rlx; r0=x rlx"]), (0, 0));
    assert_eq!(found(&["x=1 na", "r0=x rlx"]), (1, 1));
    assert_eq!(found(&["x=1 rlx", "r0=x na"]), (1, 1));
    assert_eq!(found(&["r0=x na", "r0=x na"]), (0, 0));
    assert_eq!(found(&["x=1 na", "x=2 na; r0=x na"]), (2, 2));
    assert_eq!(found(&["x=1 na", "r0=cas x 5 6 rlx rlx"]), (1, 1));
    // It is not written: a compare-exchange that fails only reads.
    assert_eq!(found(&["r0=x na", "r0=cas x 5 6 rlx rlx"]), (0, 0));
    // A flag protects, if it synchronises, and if one waits for it.
    let guarded = "if (r0 == 1) {; r1=x na; }";
    assert_eq!(found(&["x=1 na; y=1 rel", &format!("r0=y acq; {guarded}")]), (0, 0));
    assert_eq!(found(&["x=1 na; F rel; y=1 rlx", &format!("r0=y rlx; F acq; {guarded}")]), (0, 0));
    assert_eq!(found(&["x=1 na; y=1 rel", &format!("r0=y rlx; {guarded}")]), (1, 1));
    assert_eq!(found(&["x=1 na; y=1 rel", "r0=y acq; r1=x na"]), (1, 1));
    // Only one of them enters under SC.
    let enter = |order: &str| {
        let thread =
            |own: &str, other: &str| format!("{own}=1 {order}; r0={other} {order}; if (r0 == 0) {{; z=1 na; }}");
        found(&[&thread("x", "y"), &thread("y", "x")])
    };
    assert_eq!(enter("rlx"), (1, 0));
    assert_eq!(enter("sc"), (0, 0));
}

#[test]
fn gives_up() {
    let test = litmus("SB", "x=1 rlx; r0=y rlx || y=1 rlx; r0=x rlx", "x=0");
    let limit = |graphs, accesses| enumerate(&test.code, &Limits { graphs, accesses });
    assert_eq!(limit(5, 2), Err(GaveUp::Graphs));
    assert_eq!(limit(1000, 1), Err(GaveUp::Accesses));
    assert!(limit(1000, 2).is_ok());
    let spin = "C spin\n{}\nP0 (atomic_int* x) { while (atomic_load(x) == 0) {} }\nexists (x=0)";
    let test = LitmusTest::parse("spin", spin.as_bytes()).expect("a test");
    assert_eq!(enumerate(&test.code, &Limits::default()), Err(GaveUp::Accesses));
}

/// The program with accesses of this order, plain ones too if asked to.
fn with_order(code: &Code, order: C11, plain_too: bool) -> Code {
    let mut code = code.clone();
    let chosen = code.sites.iter_mut().filter(|site| plain_too || site.c11.order().is_atomic());
    chosen.for_each(|site| site.c11 = order);
    code
}

/// Graphs of SC are the classes of interleavings; states agree; and what theorems say of RC11 holds.
#[test]
fn random_programs() {
    let limits = Limits { graphs: 1_500, ..Limits::default() };
    let machine = programs::Limits { max_accesses: 20, ..programs::Limits::default() };
    let (mut compared, mut weak, mut racy, mut free) = (0, 0, 0, 0);
    for seed in 0..150 {
        let code = random_program(&mut Rng::new(seed), &Knobs::C11);
        let Ok(answer) = enumerate(&code, &limits) else { continue };
        let classes = programs::classes(&code, &machine).expect("small enough").classes.len();
        let finals = programs::finals(&code, Memory::Sc, &machine).expect("small enough");
        assert_eq!((answer.sc, &answer.sc_states), (classes, &finals), "seed {seed}");
        assert!(answer.states.is_superset(&answer.sc_states), "seed {seed}");
        assert!(answer.races.is_superset(&answer.sc_races), "seed {seed}");
        // Every graph that is not complete can be completed.
        assert_eq!(answer.robust, answer.rc11 == answer.sc, "seed {seed}");

        let answer_with = |order, plain_too| {
            enumerate(&with_order(&code, order, plain_too), &Limits::default()).expect("small enough")
        };
        // Everything seq_cst, or seq_cst fences everywhere: nothing but SC.
        let seq_cst = C11::new(Order::SeqCst);
        let fenced = C11::new(Order::Relaxed).after(Fence::SeqCst);
        for order in [seq_cst, fenced] {
            let strong = answer_with(order, true);
            assert_eq!((strong.robust, strong.rc11, strong.races.len()), (true, answer.sc, 0), "seed {seed}");
        }
        // All atomics seq_cst, and no race under SC: no race, and nothing but SC.
        let strong = answer_with(seq_cst, false);
        if strong.sc_races.is_empty() {
            assert!(strong.robust && strong.races.is_empty(), "seed {seed}");
            free += usize::from(code.sites.iter().any(|site| !site.c11.order().is_atomic()));
        }
        compared += 1;
        weak += usize::from(!answer.robust);
        racy += usize::from(!answer.races.is_empty());
    }
    let counts =
        format!("{compared} compared, {weak} not robust, {racy} with races, {free} with plain accesses but none");
    assert!(compared > 110 && weak > 15 && racy > 20 && free > 5, "{counts}");
}
