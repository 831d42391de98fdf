//! All final states of a test under a model.
//!
//! Programs without loops are enumerated execution by execution ([`axiomatic`](crate::axiomatic)); the others run on a
//! machine with store buffers that remembers where it has been ([`machine`](crate::machine)). Each is the other's oracle.

use crate::code::{Crash, Instr, Request, Settled};
use crate::condition::Quantifier;
use crate::test::{Arch, LitmusTest};
use crate::{axiomatic, machine, relaxed};
use rustc_hash::FxHashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A memory model that programs can run under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Model {
    /// Sequential consistency.
    Sc,
    /// Total Store Order: one store buffer per thread.
    Tso,
    /// Partial Store Order: one store buffer per thread and address.
    Pso,
    /// RC11: what C11's memory orders allow, load buffering excepted. For tests in C.
    C11,
    /// RISC-V's memory model. For tests in RISCV.
    Rvwmo,
    /// RISC-V with total store order. For tests in RISCV.
    Ztso,
    /// Arm's memory model. For tests in AArch64.
    Armv8,
}

impl Model {
    /// The machines, strongest first.
    pub const ALL: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];

    /// All of them, by name.
    const NAMED: [Model; 7] = [Model::Sc, Model::Tso, Model::Pso, Model::C11, Model::Rvwmo, Model::Ztso, Model::Armv8];

    /// The models of a dialect, strongest first.
    pub fn of(arch: Arch) -> &'static [Model] {
        match arch {
            Arch::X86 | Arch::X86_64 => &Model::ALL,
            Arch::C => &[Model::Sc, Model::Tso, Model::Pso, Model::C11],
            Arch::RiscV => &[Model::Sc, Model::Ztso, Model::Rvwmo],
            Arch::AArch64 => &[Model::Sc, Model::Armv8],
        }
    }

    /// `sc`, `tso`, `pso`, `c11`, `rvwmo`, `ztso` or `armv8`.
    pub fn name(self) -> &'static str {
        match self {
            Model::Sc => "sc",
            Model::Tso => "tso",
            Model::Pso => "pso",
            Model::C11 => "c11",
            Model::Rvwmo => "rvwmo",
            Model::Ztso => "ztso",
            Model::Armv8 => "armv8",
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Model {
    type Err = ();

    fn from_str(text: &str) -> Result<Model, ()> {
        Model::NAMED.into_iter().find(|model| model.name() == text).ok_or(())
    }
}

/// How far to go.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Steps of the enumeration before the machine takes over.
    pub steps: u64,
    /// States of the machine.
    pub states: usize,
    /// Bytes that the machine may remember.
    pub memory: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Giving up on request.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 4_000_000, states: usize::MAX, memory: 8 << 30, deadline: None, interrupt: None }
    }
}

impl Limits {
    pub(crate) fn over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.interrupt.as_ref().is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }
}

/// How the states were found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// Execution by execution: positive and negative ones are counted.
    Executions,
    /// By running: only final states can be counted.
    Machine,
}

/// Final states of a test under a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcomes {
    /// The distinct values of the shown locations, in order.
    pub states: Vec<Vec<u64>>,
    /// How many executions satisfy the condition's proposition (with [`Method::Machine`]: states).
    pub positive: u64,
    /// How many do not.
    pub negative: u64,
    /// Whether a limit left something out.
    pub complete: bool,
    /// How they were found.
    pub method: Method,
    /// The program error, if there was one.
    pub crash: Option<Crash>,
    /// How many executions are not sequentially consistent, and the final state of one of them, preferably one that no
    /// sequentially consistent execution has. Only tests of RISCV and AArch64 have this.
    pub relaxed: Option<Relaxed>,
}

/// Executions that are not sequentially consistent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Relaxed {
    /// How many there are.
    pub executions: u64,
    /// The final state of one.
    pub state: Option<Vec<u64>>,
    /// Whether no sequentially consistent execution ends like that.
    pub is_new: bool,
    /// Whether every execution was examined. Rounds of a loop that only waits are left out after the second: final states are
    /// complete without them.
    pub complete: bool,
}

impl Outcomes {
    /// Whether the condition holds, as far as is known: herd's `Ok`.
    pub fn ok(&self, quantifier: Quantifier) -> bool {
        match quantifier {
            Quantifier::Exists => self.positive > 0,
            Quantifier::NotExists => self.positive == 0,
            Quantifier::Forall => self.negative == 0,
        }
    }

    /// `Never`, `Sometimes` or `Always`: how often the proposition holds. `Unknown` where a limit leaves that open.
    pub fn observation(&self) -> &'static str {
        match (self.positive, self.negative) {
            (0, _) | (_, 0) if !self.complete => "Unknown",
            (0, _) => "Never",
            (_, 0) => "Always",
            _ => "Sometimes",
        }
    }
}

/// All final states of the test. Under C11, a test with loops has none that are known; those of RISCV and AArch64 take a
/// jump backwards twice at most, which is enough where a loop only waits or retries. The model has to be one of the test's dialect ([`Model::of`]); otherwise nothing is known.
pub fn outcomes(test: &LitmusTest, model: Model, limits: &Limits) -> Outcomes {
    if !Model::of(test.arch).contains(&model) {
        return Collector::new(test).finish(false, Method::Executions);
    }
    if let Some(program) = &test.relaxed {
        return relaxed::outcomes(test, program, model, 0, limits);
    }
    let found = outcomes_by(Method::Executions, test, model, limits);
    // There is no machine for it.
    let none = || Collector::new(test).finish(false, Method::Executions);
    found.unwrap_or_else(|| if model == Model::C11 { none() } else { machine::outcomes(test, model, limits) })
}

/// All final states of a test in RISCV or AArch64 under a model without one of its rules: of rvwmo and ztso by number, as in the
/// manual, of armv8 by name (`addr`, `ctrl`, `dmb.st`, `release`, …). It shows what a rule is for.
pub fn outcomes_without(test: &LitmusTest, model: Model, rule: &str, limits: &Limits) -> Option<Outcomes> {
    let program = test.relaxed.as_ref().filter(|_| Model::of(test.arch).contains(&model))?;
    let number = relaxed::rule(model, rule);
    (number > 0).then(|| relaxed::outcomes(test, program, model, number, limits))
}

/// All final states, found in this way: `None` if the test has loops, or too many executions, to be enumerated.
pub fn outcomes_by(method: Method, test: &LitmusTest, model: Model, limits: &Limits) -> Option<Outcomes> {
    if let Some(program) = &test.relaxed {
        let known = method == Method::Executions && Model::of(test.arch).contains(&model);
        return known.then(|| relaxed::outcomes(test, program, model, 0, limits));
    }
    match method {
        _ if !Model::of(test.arch).contains(&model) => None,
        Method::Executions if is_loop_free(test) => axiomatic::outcomes(test, model, limits),
        Method::Executions => None,
        Method::Machine if model == Model::C11 => None,
        Method::Machine => Some(machine::outcomes(test, model, limits)),
    }
}

/// Whether no thread can come back to where it was.
pub fn is_loop_free(test: &LitmusTest) -> bool {
    if let Some(program) = &test.relaxed {
        return !program.end.cut && !program.end.waits;
    }
    test.code.threads.iter().all(|thread| {
        thread.instrs.iter().enumerate().all(|(at, instr)| match *instr {
            Instr::Jump { to } | Instr::Branch { to, .. } => to as usize > at,
            _ => true,
        })
    })
}

/// The request that a thread settled at, if the program can continue from there.
pub(crate) fn checked(settled: Settled) -> Result<Option<Request>, Crash> {
    match settled {
        Settled::Request(request) => Ok(Some(request)),
        Settled::Crash(crash) => Err(crash),
        Settled::Done | Settled::Endless | Settled::Long => Ok(None),
    }
}

/// Collects final states.
pub(crate) struct Collector<'a> {
    test: &'a LitmusTest,
    states: FxHashSet<Box<[u64]>>,
    values: Vec<u64>,
    positive: u64,
    negative: u64,
    crash: Option<Crash>,
    /// The final states of executions that are sequentially consistent, and of those that are not, with their number.
    consistent: FxHashSet<Box<[u64]>>,
    relaxed: Vec<Box<[u64]>>,
    executions: u64,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(test: &'a LitmusTest) -> Collector<'a> {
        let values = vec![0; test.locations.len()];
        Collector {
            test,
            states: FxHashSet::default(),
            values,
            positive: 0,
            negative: 0,
            crash: None,
            consistent: FxHashSet::default(),
            relaxed: Vec::new(),
            executions: 0,
        }
    }

    /// An execution is over: where its registers and cells are. Whether it counts.
    pub(crate) fn end(&mut self, register: impl Fn(u32, u16) -> u64, cell: impl Fn(u32) -> u64) -> bool {
        let Some(holds) = self.test.holds(register, cell, &mut self.values) else { return false };
        *(if holds { &mut self.positive } else { &mut self.negative }) += 1;
        let shown = &self.values[..self.test.shown];
        if !self.states.contains(shown) {
            self.states.insert(shown.into());
        }
        true
    }

    /// Notes whether the last execution that counted was sequentially consistent.
    pub(crate) fn was(&mut self, consistent: bool) {
        let shown: Box<[u64]> = self.values[..self.test.shown].into();
        if consistent {
            self.consistent.insert(shown);
        } else {
            self.executions += 1;
            if !self.relaxed.contains(&shown) {
                self.relaxed.push(shown);
            }
        }
    }

    /// The same as [`Collector::finish`], where it was noted; `all` says whether every execution was seen.
    pub(crate) fn finish_noted(mut self, complete: bool, all: bool) -> Outcomes {
        let (mut states, consistent) = (std::mem::take(&mut self.relaxed), std::mem::take(&mut self.consistent));
        let executions = self.executions;
        states.sort();
        let new = states.iter().find(|state| !consistent.contains(*state));
        let is_new = new.is_some();
        let state = new.or(states.first()).map(|state| state.to_vec());
        let relaxed = Some(Relaxed { executions, state, is_new, complete: all });
        Outcomes { relaxed, ..self.finish(complete, Method::Executions) }
    }

    /// The final state of the last execution that was over.
    pub(crate) fn last(&self) -> &[u64] {
        &self.values[..self.test.shown]
    }

    /// An execution ended in a crash. The least one is kept, whatever the order of the search.
    pub(crate) fn crash(&mut self, crash: Crash) {
        self.crash = Some(self.crash.map_or(crash, |before| before.min(crash)));
    }

    pub(crate) fn finish(self, complete: bool, method: Method) -> Outcomes {
        let types: Vec<bool> = self.test.locations.iter().map(|location| location.ty.signed).collect();
        let mut states: Vec<Vec<u64>> = self.states.into_iter().map(Vec::from).collect();
        // Numbers come before addresses, which come by name.
        let key = |state: &Vec<u64>| -> Vec<(i128, Option<String>)> {
            let value = |(&value, &signed): (&u64, &bool)| match self.test.pointed_at(value) {
                Some(name) => (i128::MAX, Some(name.to_owned())),
                None => (if signed { (value as i64).into() } else { value.into() }, None),
            };
            state.iter().zip(&types).map(value).collect()
        };
        states.sort_by_cached_key(key);
        let (mut positive, mut negative) = (self.positive, self.negative);
        if method == Method::Machine {
            // Runs are not executions: count states, of all that the condition looks at.
            let counts = states.iter().filter(|state| self.test.condition.prop.holds(state)).count() as u64;
            (positive, negative) = (counts, states.len() as u64 - counts);
        }
        Outcomes { states, positive, negative, complete, method, crash: self.crash, relaxed: None }
    }
}
