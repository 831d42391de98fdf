//! RISCV and AArch64 against the oracle, on random programs with dependencies, fences, atomics, exclusives, branches and sizes.
//!
//! `MEMBAR_ORACLE_PROGRAMS=100000 cargo test --release -p membar-litmus --test all relaxed::` runs more of them.

use membar_litmus::{Arch, Limits, LitmusTest, Model, Record, outcomes, outcomes_without};
use membar_simulate::Rng;
use membar_testkit::litmus_tests;
use membar_testkit::relaxed::{self, Fence, Instr, Place, Program, Stored};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Accesses of a program, at most: the oracle tries every order of them.
const ACCESSES: usize = 6;

struct Maker<'a> {
    rng: &'a mut Rng,
    arm: bool,
    mixed: bool,
    /// Registers of the thread so far.
    regs: usize,
    left: usize,
}

impl Maker<'_> {
    fn chance(&mut self, percent: u32) -> bool {
        self.rng.below(100) < percent
    }

    fn reg(&mut self) -> Option<usize> {
        (self.regs > 0).then(|| self.rng.below(self.regs as u32) as usize)
    }

    fn place(&mut self, whole: bool) -> Place {
        let location = self.rng.below(2) as usize;
        let (offset, bytes) = match self.rng.below(5) {
            _ if whole || !self.mixed => (0, 4),
            0 => (self.rng.below(4) as usize, 1),
            1 | 2 => (2 * self.rng.below(2) as usize, 2),
            _ => (0, 4),
        };
        let addr = if self.chance(25) { self.reg() } else { None };
        Place { location, offset, bytes, addr }
    }

    fn stored(&mut self) -> Stored {
        let value = 1 + u64::from(self.rng.below(2));
        match (self.rng.below(4), self.reg()) {
            (0, Some(reg)) => Stored::Depends(value, reg),
            (1, Some(reg)) => Stored::Register(reg),
            _ => Stored::Constant(value),
        }
    }

    fn fence(&mut self) -> Instr {
        let bit = |rng: &mut Rng| rng.below(2) == 1;
        Instr::Fence(match self.rng.below(6) {
            0 => Fence::Isb,
            1 if !self.arm => Fence::Tso,
            1 | 2 => Fence::Sets([true; 4]),
            3 if self.arm => Fence::Sets([true, false, true, true]),
            _ if self.arm => Fence::Sets([false, true, false, true]),
            _ => loop {
                let set = [bit(self.rng), bit(self.rng), bit(self.rng), bit(self.rng)];
                if (set[0] || set[1]) && (set[2] || set[3]) {
                    break Fence::Sets(set);
                }
            },
        })
    }

    fn thread(&mut self, most: usize) -> Vec<Instr> {
        let mut instrs = Vec::new();
        let mut accesses = 0;
        while accesses < most && self.left > 0 && instrs.len() < 8 {
            let kind = self.rng.below(16);
            let to = self.regs;
            let mut access = 1;
            match kind {
                0..=4 => {
                    let (at, acquire) = (self.place(false), self.chance(12));
                    let acquire_pc = self.arm && !acquire && self.chance(12);
                    instrs.push(Instr::Load { to, at, acquire, acquire_pc, reserve: false });
                    self.regs += 1;
                }
                5..=9 => {
                    let (at, value, release) = (self.place(false), self.stored(), self.chance(12));
                    instrs.push(Instr::Store { at, value, release });
                }
                10 if self.left > usize::from(self.arm) => {
                    let (at, value) = (self.place(false), self.stored());
                    let (adds, acquire, release) = (self.chance(50), self.chance(30), self.chance(30));
                    instrs.push(Instr::Atomic { to, at, value, adds, acquire, release });
                    self.regs += 1;
                    access = 1 + usize::from(self.arm);
                }
                11 if self.left > 1 => {
                    let (at, acquire) = (self.place(true), self.chance(20));
                    instrs.push(Instr::Load { to, at, acquire, acquire_pc: false, reserve: true });
                    let other = self.chance(25).then(|| self.stored());
                    if let Some(value) = other.filter(|_| self.left > 2) {
                        let at = self.place(false);
                        instrs.push(Instr::Store { at, value, release: false });
                        access = 2;
                    }
                    self.regs += 1;
                    let at = Place { addr: None, ..if self.chance(85) { at } else { self.place(true) } };
                    let (value, release) = (self.stored(), self.chance(20));
                    instrs.push(Instr::Conditional { to: self.regs, at, value, release });
                    self.regs += 1;
                    access += 1;
                }
                12 | 13 => {
                    let fence = self.fence();
                    instrs.push(fence);
                    access = 0;
                }
                _ => {
                    if let Some(on) = self.reg() {
                        instrs.push(if kind == 14 { Instr::Depend { on } } else { Instr::Skip { on } });
                    }
                    access = 0;
                }
            }
            accesses += access;
            self.left = self.left.saturating_sub(access);
        }
        instrs
    }
}

fn program(rng: &mut Rng, arm: bool) -> Program {
    let mixed = rng.below(4) == 0;
    let threads = 2 + rng.below(4) as usize / 3;
    let mut maker = Maker { rng, arm, mixed, regs: 0, left: ACCESSES };
    let mut program = Program::default();
    for _ in 0..threads {
        maker.regs = 0;
        program.threads.push(maker.thread(if threads == 2 { 3 } else { 2 }));
    }
    program
}

/// How many programs, and a measure of their worth: how often two models differ.
fn compare(arm: bool, models: &[(Model, relaxed::Model)], first: u64) {
    let programs: u64 = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let mut weaker = vec![0u64; models.len()];
    for seed in 0..programs {
        let program = program(&mut Rng::new(first + seed), arm);
        let text = if arm { program.aarch64() } else { program.riscv() };
        let test =
            LitmusTest::parse("random", text.as_bytes()).unwrap_or_else(|error| panic!("{text}{}", error.render()));
        let mut before: Option<BTreeSet<Vec<u64>>> = None;
        for (at, &(model, oracle)) in models.iter().enumerate() {
            let outcomes = outcomes(&test, model, &Limits::default());
            assert!(outcomes.complete && outcomes.crash.is_none(), "{text}");
            let states: BTreeSet<Vec<u64>> = outcomes.states.iter().cloned().collect();
            assert_eq!(states, program.finals(oracle), "seed {seed} under {model}:\n{text}\n{program:?}");
            // Weaker models have more states, and where they do, an execution that is not SC.
            let relaxed = outcomes.relaxed.expect("counted");
            if let Some(before) = &before {
                assert!(before.is_subset(&states), "seed {seed} under {model}:\n{text}");
                weaker[at] += u64::from(before.len() < states.len());
            }
            assert_eq!(relaxed.executions > 0, relaxed.state.is_some());
            assert!(model != Model::Sc || relaxed.executions == 0);
            if at > 0 && relaxed.executions == 0 {
                let sc: BTreeSet<Vec<u64>> =
                    membar_litmus::outcomes(&test, Model::Sc, &Limits::default()).states.into_iter().collect();
                assert_eq!(sc, states, "seed {seed} under {model}:\n{text}");
            }
            before = Some(states);
        }
    }
    assert!(weaker[1..].iter().all(|&n| n * 40 > programs), "the programs tell no models apart: {weaker:?}");
}

#[test]
fn oracle_agrees_on_riscv() {
    let models =
        [(Model::Sc, relaxed::Model::Sc), (Model::Ztso, relaxed::Model::Ztso), (Model::Rvwmo, relaxed::Model::Rvwmo)];
    compare(false, &models, 7_000_000);
}

#[test]
fn oracle_agrees_on_aarch64() {
    compare(true, &[(Model::Sc, relaxed::Model::Sc), (Model::Armv8, relaxed::Model::Armv8)], 8_000_000);
}

fn corpus() -> BTreeMap<String, LitmusTest> {
    let tests = litmus_tests("corpus/relaxed");
    tests.into_iter().inspect(|(name, test)| assert_eq!(test.name, *name)).collect()
}

/// Every test of corpus/relaxed has the states of corpus/relaxed/states.tsv; `MEMBAR_CORPUS=update` writes that file.
#[test]
fn tests_by_hand_have_their_states() {
    let tests = corpus();
    let mut table = String::from("name\tmodel\tcondition\tstates\n");
    for (name, test) in &tests {
        for &model in Model::of(test.arch) {
            let outcomes = outcomes(test, model, &Limits::default());
            assert!(outcomes.complete && outcomes.crash.is_none(), "{name}");
            let record = Record { test, model, outcomes: &outcomes, seconds: 0.0 };
            let states: Vec<String> = outcomes.states.iter().map(|state| record.state_text(state)).collect();
            let holds = if record.ok() { "holds" } else { "fails" };
            table += &format!("{name}\t{model}\t{holds}\t{}\n", states.join(" | "));
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/relaxed/states.tsv");
    if std::env::var("MEMBAR_CORPUS").is_ok_and(|what| what == "update") {
        std::fs::write(&file, &table).expect("states.tsv");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("states.tsv"), table);
    assert!([Arch::RiscV, Arch::AArch64].iter().all(|&arch| tests.values().filter(|t| t.arch == arch).count() > 15));
}

/// Each rule alone forbids what its test asks about: without it, it can happen.
#[test]
fn each_rule_has_a_test_that_needs_it() {
    let tests = corpus();
    let positive = |test: &LitmusTest, model: Model, without: Option<&str>| match without {
        None => outcomes(test, model, &Limits::default()).positive,
        Some(rule) => outcomes_without(test, model, rule, &Limits::default()).expect("a rule").positive,
    };
    // Over `co` and `fr`, as here, rules 1, 2 and 8 follow from coherence: a load is before the stores that overwrite what it read,
    // and these before the loads that read them. Over a memory order with the load value axiom, as in the manual and in the
    // oracle, they do not.
    for rule in (1..=13).filter(|rule| ![1, 2, 8].contains(rule)) {
        let test = &tests[&format!("rule-{rule:02}")];
        assert_eq!(positive(test, Model::Rvwmo, None), 0, "rule {rule}");
        assert!(positive(test, Model::Rvwmo, Some(&rule.to_string())) > 0, "rule {rule}");
        for other in (1..=13).filter(|&other| other != rule) {
            let needs = positive(test, Model::Rvwmo, Some(&other.to_string())) > 0;
            // Some tests need others too, for the rest of the cycle.
            assert!(!needs || [2, 3, 4, 5, 6, 9, 11, 12].contains(&rule), "rule {rule} needs {other}");
        }
    }
    for rule in [1, 2, 8] {
        assert_eq!(positive(&tests[&format!("rule-{rule:02}")], Model::Rvwmo, None), 0);
    }
    for (name, rule) in [
        ("bob-dmb-st", "dmb.st"),
        ("bob-dmb-ld", "dmb.ld"),
        ("bob-dmb-sy", "dmb.full"),
        ("bob-release", "release"),
        ("bob-acquire", "acquire"),
        ("bob-acquire-pc", "acquire-pc"),
        ("bob-release-acquire", "release-acquire"),
        ("bob-amo", "amo"),
        ("dob-addr", "addr"),
        ("dob-data", "data"),
        ("dob-ctrl", "ctrl"),
        ("dob-ctrl-isb", "isb"),
        ("dob-addr-po", "addr-po"),
        ("dob-data-rfi", "lrs"),
        ("pick-store", "pick"),
    ] {
        assert_eq!(positive(&tests[name], Model::Armv8, None), 0, "{name}");
        assert!(positive(&tests[name], Model::Armv8, Some(rule)) > 0, "{name} does not need {rule}");
    }
    assert!(outcomes_without(&tests["rule-04"], Model::Rvwmo, "fourteen", &Limits::default()).is_none());
}
