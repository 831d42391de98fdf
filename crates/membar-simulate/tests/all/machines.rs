//! Machines do what their models allow, and with a bug what they do not.

use membar_check::{Checker, Decision, Limits};
use membar_core::{Depends, Malformed, Marks, Model, OpId, Trace};
use membar_simulate::{
    Instr, Machine, Observe, Profile, Program, ProgramBuilder, Run, Setup, machines, profile, sampled, trace,
};

fn model(name: &str) -> &'static Model {
    membar_model::builtin(name).unwrap_or_else(|| panic!("no model {name}"))
}

fn recorded(program: &Program, run: &Run, observe: Observe) -> Trace {
    trace(program, &run.record, Some(&run.times), observe).expect("every value once")
}

fn decide(trace: &Trace, name: &str) -> Decision {
    Checker::new().decide(trace, model(name), &Limits::default())
}

/// A million operations over all profiles, in tests of different sizes.
fn a_million_allowed(machine: Machine) {
    let mut checked = 0;
    for (seed, profile) in (1..).zip(profile::builtins().iter().cycle()) {
        let operations = [40, 200, 1000, 5000][seed as usize % 4];
        let program = Profile { operations, ..profile.clone() }.program(seed).unwrap();
        let run = machine.run(&program, seed);
        // Sometimes with the order of writes, which makes the answer sharp.
        let observe = Observe { write_order: seed % 3 == 0, finals: seed % 2 == 0 };
        let trace = recorded(&program, &run, observe);
        assert_eq!(trace.len(), program.operations(), "{}: everything is executed", profile.name);
        let decision = decide(&trace, machine.model());
        assert_eq!(decision, Decision::Allowed, "{} on {}, seed {seed}", profile.name, machine.name());
        checked += trace.len();
        if checked > 1_000_000 {
            return;
        }
    }
}

#[test]
fn sc_allows_a_million_operations() {
    a_million_allowed(Machine::Sc);
}

#[test]
fn tso_allows_a_million_operations() {
    a_million_allowed(Machine::Tso);
}

#[test]
fn pso_allows_a_million_operations() {
    a_million_allowed(Machine::Pso);
}

#[test]
fn wmo_allows_a_million_operations() {
    a_million_allowed(Machine::Wmo);
}

#[test]
fn mesi_tso_allows_a_million_operations() {
    a_million_allowed(Machine::MesiTso);
}

#[test]
fn rvwmo_allows_a_million_operations() {
    a_million_allowed(Machine::Rvwmo);
}

#[test]
fn armv8_allows_a_million_operations() {
    a_million_allowed(Machine::Armv8);
}

#[test]
fn rvwmo_allows_many_small_traces() {
    many_small_traces(Machine::Rvwmo);
}

#[test]
fn armv8_allows_many_small_traces() {
    many_small_traces(Machine::Armv8);
}

/// Small traces, each with the order of writes and the final values, so that nothing is left open.
fn many_small_traces(machine: Machine) {
    let profile = profile::builtin(machine.profile()).unwrap();
    let (mut stored, mut failed, mut depending) = (0, 0, 0);
    for seed in 0..1500 {
        let size = 1 + seed as u32 % 3;
        let profile = Profile { threads: 1 + size, operations: 12 * size, addresses: 1 + size, ..profile.clone() };
        let program = profile.program(seed).unwrap();
        let run = machine.run(&program, seed);
        let observe = Observe { write_order: seed % 2 == 0, finals: true };
        let trace = recorded(&program, &run, observe);
        assert_eq!(decide(&trace, machine.model()), Decision::Allowed, "seed {seed}");
        for op in trace.ops() {
            failed += usize::from(trace.marks(op).meets(Marks::FAILED));
            stored += usize::from(trace.reservation(op).is_some());
            depending += trace.dependencies(op).len();
        }
    }
    assert!(stored > 500 && failed > 500 && depending > 5000, "{stored} {failed} {depending}");
}

/// Outcomes that RISC-V is known for: each is seen, and one order that forbids it is enough to never see it.
#[test]
fn rvwmo_shows_relaxed_outcomes() {
    let relaxed = |between: &dyn Fn(&mut ProgramBuilder), kinds: [bool; 4], outcome: [u64; 2]| {
        let mut b = ProgramBuilder::new(2, 0);
        for (t, addresses) in [(0, [0, 1]), (1, [1, 0])] {
            b.thread();
            for (at, addr) in addresses.into_iter().enumerate() {
                let value = 1 + t as u64;
                b.push(if kinds[2 * t + at] { Instr::Store { addr, value } } else { Instr::Load { addr } });
                if at == 1 {
                    between(&mut b);
                }
            }
        }
        let program = b.finish().unwrap();
        let reads: Vec<usize> = (0..4).filter(|&i| !kinds[i]).collect();
        (0..3000)
            .filter(|&seed| {
                let record = Machine::Rvwmo.run(&program, seed).record;
                [record.read(reads[0]), record.read(reads[1])] == outcome
            })
            .count()
    };
    let nothing = |_: &mut ProgramBuilder| {};
    let address = |b: &mut ProgramBuilder| {
        b.depends(Depends::Address, 1);
    };
    // Store buffering, load buffering, message passing with its reader alone in doubt.
    assert!(relaxed(&nothing, [true, false, true, false], [0, 0]) > 10);
    assert!(relaxed(&nothing, [false, true, false, true], [2, 1]) > 10);
    assert_eq!(relaxed(&address, [false, true, false, true], [2, 1]), 0);
    assert!(relaxed(&nothing, [true, true, false, false], [1, 0]) > 10);
}

#[test]
fn every_bug_of_rvwmo_and_armv8_is_found() {
    let all = [Machine::Rvwmo, Machine::Armv8]
        .into_iter()
        .flat_map(|machine| machine.bugs().iter().map(move |bug| (machine, bug)));
    for (machine, bug) in all {
        let setup = Setup::from(machine).with(bug.name()).unwrap();
        let profile = if bug.name() == "lost-byte-enables" { "sizes" } else { machine.profile() };
        let found = operations_to_find(setup, profile::builtin(profile).unwrap());
        println!("{}: {found:?}", bug.name());
        assert!(found.is_some_and(|operations| operations <= 40_000), "{}: {found:?}", bug.name());
    }
}

/// The tests above would mean nothing if machines were stronger than their models.
#[test]
fn machines_show_what_their_models_allow() {
    let weaker = [
        (Machine::Tso, "sc"),
        (Machine::Pso, "tso"),
        (Machine::Wmo, "pso"),
        (Machine::MesiTso, "sc"),
        (Machine::GodsonT, "pso"),
        (Machine::Rvwmo, "ztso"),
        (Machine::Armv8, "pso"),
    ];
    for (machine, stronger) in weaker {
        let profile = Profile { operations: 200, ..profile::builtin("producer-consumer").unwrap().clone() };
        let forbidden = (0..20).filter(|&seed| {
            let program = profile.program(seed).unwrap();
            let run = machine.run(&program, seed);
            let trace = trace(&program, &run.record, None, Observe::default()).unwrap();
            decide(&trace, stronger) == Decision::Forbidden
        });
        let found = forbidden.count();
        assert!(found >= 3, "{} against {stronger}: {found}", machine.name());
    }
}

/// Deep buffers that drain slowly are as legal as shallow ones, and so are buffers for a single store.
#[test]
fn buffers_of_any_depth_and_rate_do_what_models_allow() {
    for machine in ["tso", "pso", "wmo", "mesi-tso", "godson-t"] {
        for buffers in ["+buffer=1", "+buffer=64+drain=50", "+buffer=200+drain=1000000", "+drain=1", "+drain=3"] {
            let setup: Setup = format!("{machine}{buffers}").parse().unwrap();
            for (seed, profile) in (1..).zip(profile::builtins()) {
                let program = Profile { operations: 150, ..profile.clone() }.program(seed).unwrap();
                let run = setup.run(&program, seed);
                let observe = Observe { write_order: seed % 2 == 0, finals: true };
                let trace = recorded(&program, &run, observe);
                assert_eq!(trace.len(), program.operations(), "{setup}: everything is executed");
                let decision = decide(&trace, setup.machine().model());
                assert_eq!(decision, Decision::Allowed, "{} on {setup}, seed {seed}", profile.name);
            }
        }
    }
}

/// Two threads store 64 times and then read what the other one stores: with room for all stores and no hurry nothing is seen,
/// with room for one something must be.
#[test]
fn the_depth_of_a_buffer_shows() {
    const STORES: u32 = 64;
    let mut b = ProgramBuilder::new(2 * STORES, 0);
    for (own, other) in [(0, STORES), (STORES, 0)] {
        b.thread();
        (0..STORES).for_each(|k| _ = b.push(Instr::Store { addr: own + k, value: 1 }));
        (0..STORES).for_each(|k| _ = b.push(Instr::Load { addr: other + k }));
    }
    let program = b.finish().unwrap();
    let seen = |setup: &str, seed| {
        let run = setup.parse::<Setup>().unwrap().run(&program, seed);
        (0..program.len())
            .filter(|&i| matches!(program.instr(i), Instr::Load { .. }) && run.record.read(i) != 0)
            .count()
    };
    for seed in 0..20 {
        for machine in ["tso", "pso"] {
            assert_eq!(seen(&format!("{machine}+buffer=64+drain=1000000"), seed), 0, "{machine}, seed {seed}");
            assert!(seen(&format!("{machine}+buffer=1"), seed) > 0, "{machine}, seed {seed}");
            assert!(seen(&format!("{machine}+buffer=64+drain=1"), seed) > 0, "{machine}, seed {seed}");
        }
    }
}

/// Operations until a bug is found, in tests of 200 operations per thread.
fn operations_to_find(setup: Setup, profile: &Profile) -> Option<usize> {
    let profile = Profile { operations: 200, ..profile.clone() };
    let mut operations = 0;
    for seed in 0..300 {
        let program = profile.program(seed).unwrap();
        operations += program.operations();
        let run = setup.run(&program, seed);
        // An update that is lost may write a value twice.
        let Ok(trace) = trace(&program, &run.record, None, Observe::default()) else { return Some(operations) };
        if decide(&trace, setup.machine().model()) == Decision::Forbidden {
            return Some(operations);
        }
    }
    None
}

#[test]
fn every_bug_is_found() {
    // The profile that was made for it, and a bound on the operations it takes; then a bound for the default profile.
    let table = [
        ("stale-forward", "hot", 4_000, 20_000),
        ("lost-invalidation", "hot", 4_000, 20_000),
        ("late-invalidation", "false-sharing", 20_000, 200_000),
        ("no-replay", "migrating", 20_000, 200_000),
        ("unordered-drain", "producer-consumer", 4_000, 40_000),
        ("idle-fence", "fences", 4_000, 40_000),
        ("split-rmw", "atomics", 4_000, 100_000),
        ("dropped-dirty", "producer-consumer", 4_000, 40_000),
    ];
    assert_eq!(
        table.map(|row| row.0).to_vec(),
        Machine::MesiTso.bugs().iter().map(|bug| bug.name()).collect::<Vec<_>>()
    );
    for (bug, name, most, most_by_default) in table {
        let setup = Setup::from(Machine::MesiTso).with(bug).unwrap();
        for (name, most) in [(name, most), ("default", most_by_default)] {
            let found = operations_to_find(setup, profile::builtin(name).unwrap());
            println!("{bug} with {name}: {found:?}");
            assert!(found.is_some_and(|operations| operations <= most), "{bug} with {name}: {found:?}");
        }
    }
}

fn hash(trace: &Trace) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    let mut add = |value: u64| hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23);
    for op in trace.ops().map(|op| trace.op(op)) {
        add(op.kind as u64);
        add(op.thread.0 as u64);
        add(op.addr.0 as u64);
        add(op.read);
        add(op.write);
        add(op.span.begin.unwrap_or(u64::MAX));
        add(op.span.end.unwrap_or(u64::MAX));
    }
    hash
}

/// The same seed gives the same program and the same run everywhere. Changing a machine or the way programs are drawn changes these
/// numbers: then replace them, and say so, because saved seeds no longer mean what they did.
#[test]
fn same_seed_same_trace() {
    let program = profile::builtin("default").unwrap().program(1).unwrap();
    let found: Vec<(&str, u64)> = machines::all()
        .iter()
        .map(|&machine| (machine.name(), hash(&recorded(&program, &machine.run(&program, 1), Observe::default()))))
        .collect();
    let expected = [
        ("sc", 0x4B19EEB7F4ED5644),
        ("tso", 0x7305AE36697A81D9),
        ("pso", 0x5258050F0785501D),
        ("wmo", 0x5125352FA351AA0C),
        ("mesi-tso", 0xA081CBBC0B0C9508),
        ("godson-t", 0x4086A1EF6D49AE04),
        ("rvwmo", 0x992407726958EBA7),
        ("armv8", 0x992407726958EBA7),
    ];
    assert_eq!(found, expected);
}

/// Threads that wait for each other's locks: the run ends, with locks held.
#[test]
fn stuck_programs_end() {
    let mut b = ProgramBuilder::new(2, 2);
    for (first, second) in [(0, 1), (1, 0)] {
        b.thread().push(Instr::Store { addr: first, value: 1 }).push(Instr::Acquire { lock: first });
        b.push(Instr::Load { addr: 1 - first }).push(Instr::Acquire { lock: second }).push(Instr::Load { addr: first });
        b.push(Instr::Release { lock: second }).push(Instr::Release { lock: first });
    }
    let program = b.finish().unwrap();
    for &machine in machines::all() {
        let mut stuck = 0;
        for seed in 0..200 {
            let run = machine.run(&program, seed);
            match trace(&program, &run.record, None, Observe { write_order: true, finals: true }) {
                Ok(trace) => {
                    assert_eq!(trace.len(), program.len());
                    let decision = decide(&trace, machine.model());
                    assert_eq!(decision, Decision::Allowed, "{}, seed {seed}", machine.name());
                }
                Err(Malformed::HeldAtEnd { .. }) => stuck += 1,
                Err(fault) => panic!("{fault:?}"),
            }
        }
        assert!(stuck > 10 && stuck < 190, "{}: {stuck}", machine.name());
    }
}

#[test]
fn times_overlap_and_scans_claim_no_more() {
    for profile in profile::builtins() {
        let program = profile.program(5).unwrap();
        for &machine in machines::all() {
            let run = machine.run(&program, 5);
            let scans = sampled(&run.times, 600);
            let (mut overlaps, mut pairs, mut longest) = (0, 0, 0);
            for t in 0..program.threads() {
                let ops: Vec<usize> =
                    program.thread(t).filter(|&i| !matches!(program.instr(i), Instr::Delay { .. })).collect();
                assert!(ops.iter().all(|&i| run.times.begin[i] <= run.times.end[i]));
                longest = ops.iter().map(|&i| run.times.end[i] - run.times.begin[i]).max().unwrap_or(0).max(longest);
                for pair in ops.windows(2) {
                    assert!(run.times.begin[pair[0]] <= run.times.begin[pair[1]], "fetched in order");
                    pairs += 1;
                    overlaps += usize::from(run.times.begin[pair[1]] <= run.times.end[pair[0]]);
                }
            }
            assert!(overlaps * 2 > pairs, "{} on {}", profile.name, machine.name());
            assert!(longest > 20, "{} on {}", profile.name, machine.name());
            for (i, j) in (0..program.len()).zip((0..program.len()).rev()) {
                assert!(scans.begin[i].is_multiple_of(600) && scans.begin[i] - run.times.begin[i] < 600);
                assert!(!scans.span(i).before(scans.span(j)) || run.times.span(i).before(run.times.span(j)));
            }
        }
    }
}

/// A printed program is a trace with `?` for the values read, thread by thread.
#[test]
fn a_program_reads_like_its_trace() {
    let profile = Profile { operations: 30, ..profile::builtin("paper").unwrap().clone() };
    let program = profile.program(9).unwrap();
    let trace = recorded(&program, &Machine::Sc.run(&program, 9), Observe::default());
    let mut lines: Vec<Vec<String>> = vec![Vec::new(); trace.threads()];
    for op in trace.ops() {
        let mut text = String::new();
        membar_trace::write_op(&trace, op, &mut text).unwrap();
        let text = text.split(" @ ").next().unwrap_or_default().to_owned();
        lines[trace.thread_names()[trace.thread(op).index()] as usize].push(text);
    }
    let expected: Vec<String> = program.to_string().lines().map(str::to_owned).collect();
    let found: Vec<String> = lines.into_iter().flatten().collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        let unread = |text: &str| match text.split_once(" == ") {
            Some((before, after)) => {
                format!("{before} == ?{}", after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '?'))
            }
            None => text.to_owned(),
        };
        assert_eq!(unread(found), unread(expected));
    }
    assert!(trace.ops().all(|op: OpId| trace.span(op).begin.is_some()));
}
