//! Known answers: which programs stay sequentially consistent, in how many ways they run, how they end.

use membar_core::Barrier::{self, Full, None as Nothing, Store};
use membar_litmus::Code;
use membar_testkit::named::{self, Barriers, Mutex};
use membar_testkit::programs::{Limits, Memory, classes, finals, violations};

/// Is every execution sequentially consistent, under TSO and under PSO?
fn robust(code: &Code) -> (bool, bool) {
    let limits = Limits { max_accesses: 20, ..Limits::default() };
    let robust = |model| !violations(code, model, &limits).expect("small enough");
    assert!(robust(Memory::Sc));
    (robust(Memory::Tso), robust(Memory::Pso))
}

#[test]
fn litmus_shapes() {
    type Case = (&'static str, fn([Barrier; 2]) -> Code, [Barrier; 2], (bool, bool));
    let cases: [Case; 27] = [
        ("SB", named::store_buffering, [Nothing, Nothing], (false, false)),
        ("SB", named::store_buffering, [Full, Nothing], (false, false)),
        ("SB", named::store_buffering, [Nothing, Full], (false, false)),
        ("SB", named::store_buffering, [Store, Store], (false, false)),
        ("SB", named::store_buffering, [Full, Full], (true, true)),
        ("MP", named::message_passing, [Nothing, Nothing], (true, false)),
        ("MP", named::message_passing, [Nothing, Full], (true, false)),
        ("MP", named::message_passing, [Store, Nothing], (true, true)),
        ("MP", named::message_passing, [Full, Nothing], (true, true)),
        ("LB", named::load_buffering, [Nothing, Nothing], (true, true)),
        ("LB", named::load_buffering, [Full, Full], (true, true)),
        ("2+2W", named::two_plus_two_writes, [Nothing, Nothing], (true, false)),
        ("2+2W", named::two_plus_two_writes, [Store, Nothing], (true, false)),
        ("2+2W", named::two_plus_two_writes, [Store, Store], (true, true)),
        ("2+2W", named::two_plus_two_writes, [Full, Full], (true, true)),
        ("IRIW", named::iriw, [Nothing, Nothing], (true, true)),
        ("IRIW", named::iriw, [Full, Full], (true, true)),
        ("R", named::r, [Nothing, Nothing], (false, false)),
        ("R", named::r, [Full, Nothing], (false, false)),
        ("R", named::r, [Nothing, Full], (true, false)),
        ("R", named::r, [Store, Full], (true, true)),
        ("R", named::r, [Full, Full], (true, true)),
        ("S", named::s, [Nothing, Nothing], (true, false)),
        ("S", named::s, [Nothing, Full], (true, false)),
        ("S", named::s, [Store, Nothing], (true, true)),
        ("S", named::s, [Full, Nothing], (true, true)),
        ("S", named::s, [Full, Full], (true, true)),
    ];
    for (name, shape, barriers, expected) in cases {
        assert_eq!(robust(&shape(barriers)), expected, "{name} with {barriers:?}");
    }
}

#[test]
fn examples_of_the_papers() {
    assert_eq!(robust(&named::figure_6()), (false, false));
    assert_eq!(robust(&named::figure_8()), (false, false));
    assert_eq!(robust(&named::sober_4b(false)), (false, false));
    assert_eq!(robust(&named::sober_4b(true)), (true, true));
}

#[test]
fn mutual_exclusion() {
    for (name, program) in
        [("Peterson", named::peterson as fn(&Mutex) -> Code), ("Dekker", named::dekker), ("bakery", named::bakery)]
    {
        let with = |barriers, section| robust(&program(&Mutex { rounds: 1, barriers, section }));
        assert_eq!(with(Barriers::None, false), (false, false), "{name}");
        assert_eq!(with(Barriers::FullAndStore, false), (true, true), "{name}");
        assert_eq!(with(Barriers::Full, true), (true, false), "{name}");
        assert_eq!(with(Barriers::FullAndStore, true), (true, true), "{name}");
    }
}

#[test]
fn spin_locks() {
    assert_eq!(robust(&named::spin_lock(2, 1, false)), (true, false));
    assert_eq!(robust(&named::spin_lock(2, 1, true)), (true, true));
}

/// (interleavings, classes)
fn count(code: &Code) -> (u128, usize) {
    let classes = classes(code, &Limits::default()).expect("no loops");
    (classes.interleavings, classes.classes.len())
}

#[test]
fn counts() {
    assert_eq!(count(&named::store_buffering([Nothing; 2])), (6, 3));
    assert_eq!(count(&named::message_passing([Nothing; 2])), (6, 3));
    assert_eq!(count(&named::load_buffering([Nothing; 2])), (6, 3));
    assert_eq!(count(&named::two_plus_two_writes([Nothing; 2])), (6, 3));
    assert_eq!(count(&named::iriw([Nothing; 2])), (180, 15));
    // n threads of two accesses: (2n)! / 2^n interleavings. Each of n pairs of accesses goes either way, but not all
    // of them against program order: 2^n - 1 classes.
    assert_eq!(count(&named::ring(2, Nothing)), (6, 3));
    assert_eq!(count(&named::ring(3, Nothing)), (90, 7));
    assert_eq!(count(&named::ring(4, Nothing)), (2520, 15));
    assert_eq!(count(&named::ring(5, Nothing)), (113_400, 31));
    // A barrier is not a step.
    assert_eq!(count(&named::ring(4, Full)), (2520, 15));
    assert!(classes(&named::peterson(&Mutex::BARE), &Limits::default()).is_none(), "it has loops");
}

#[test]
fn final_states() {
    let states = |code: &Code, model| finals(code, model, &Limits::default()).expect("small enough").len();
    let code = named::store_buffering([Nothing; 2]);
    assert_eq!([Memory::Sc, Memory::Tso, Memory::Pso].map(|model| states(&code, model)), [3, 4, 4]);
    let code = named::message_passing([Nothing; 2]);
    assert_eq!([Memory::Sc, Memory::Tso, Memory::Pso].map(|model| states(&code, model)), [3, 3, 4]);
    let code = named::two_plus_two_writes([Nothing; 2]);
    assert_eq!([Memory::Sc, Memory::Tso, Memory::Pso].map(|model| states(&code, model)), [3, 3, 4]);
}

/// The register that loads `owner` in the critical section tells whether somebody else was there.
#[test]
fn mutual_exclusion_holds_exactly_with_barriers() {
    let programs =
        [("Peterson", named::peterson as fn(&Mutex) -> Code), ("Dekker", named::dekker), ("bakery", named::bakery)];
    for (name, program) in programs {
        let exclusive = |barriers, model| {
            let code = program(&Mutex { rounds: 2, barriers, section: true });
            let load_of_owner = |t: usize| {
                let owner = code.cells.iter().position(|cell| cell.name == "owner").expect("it has a section") as u32;
                let load = |instr: &membar_litmus::Instr| match *instr {
                    membar_litmus::Instr::Load { dst, from: membar_litmus::Place::Cell(cell), .. } if cell == owner => {
                        Some(dst as usize)
                    }
                    _ => None,
                };
                code.threads[t].instrs.iter().find_map(load).expect("the section loads")
            };
            let (first, second) = (load_of_owner(0), code.threads[0].regs.len() + load_of_owner(1));
            let finals = finals(&code, model, &Limits::default()).expect("small enough");
            assert!(!finals.is_empty());
            finals.iter().all(|values| values[first] == 1 && values[second] == 2)
        };
        assert!(exclusive(Barriers::None, Memory::Sc), "{name}");
        assert!(!exclusive(Barriers::None, Memory::Tso), "{name}");
        assert!(exclusive(Barriers::Full, Memory::Tso), "{name}");
        assert!(exclusive(Barriers::FullAndStore, Memory::Pso), "{name}");
    }
}
