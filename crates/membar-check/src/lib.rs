//! Decides whether a memory model allows a recorded execution.
//!
//! [`Checker::check`] takes a [`Trace`] and a [`Model`] and answers with a [`Verdict`] and its certificate: a total order, or a
//! proof. It is the home of these algorithms, one file each:
//!
//! | file | does |
//! |---|---|
//! | `ppo` | preserved program order of any model, and time, as a linear number of edges |
//! | `problem` | the graph: program order, reads-from, and what is visible inside one thread |
//! | `conflict` | write order given: rules A1-A7, linear time, complete |
//! | `read` | write order not given: when to infer, when to search |
//! | `saturate` | rules R6 and R7 with reverse vector clocks |
//! | `schedule` | the TOO heuristic and the complete search |
//! | `location` | models without a write order |
//! | `open` | traces with repeated values |
//! | `forward` | the same on a machine that was right: runs the trace |
//! | `prove`, `shortest` | from edges and conflicts to a proof; the shortest proof of a few operations |
//! | `shrink`, `blame` | the smallest forbidden part; the read that is to blame and what it could have returned |
//!
//! ```
//! use membar_check::{Checker, Limits};
//! # use membar_core::{Model, Ppo, ResolveScratch, Trace, Verdict, When};
//! # let sc = Model::new("sc", Ppo::new(When::ALWAYS, When::ALWAYS, When::ALWAYS, When::ALWAYS));
//! let mut trace = Trace::new(); // store buffering: both threads miss the other's store
//! let (a, b) = (trace.thread_id(0), trace.thread_id(1));
//! let (x, y) = (trace.named_id("x"), trace.named_id("y"));
//! trace.push_store(a, x, 1, 1);
//! trace.push_load(a, y, 0, 2);
//! trace.push_store(b, y, 1, 3);
//! trace.push_load(b, x, 0, 4);
//! trace.resolve(&mut ResolveScratch::default()).unwrap();
//!
//! let outcome = Checker::new().check(&trace, &sc, &Limits::default());
//! assert!(matches!(outcome.verdict, Verdict::Forbidden(_)));
//! ```

mod blame;
mod conflict;
pub mod diff;
mod forward;
mod kept;
mod limits;
mod location;
mod open;
mod ppo;
mod problem;
mod prove;
mod read;
mod saturate;
mod schedule;
mod shortest;
mod shrink;
mod sort;

pub use blame::{Blame, Legal};
pub use limits::Limits;
pub use read::{Effort, Plan};
pub use shrink::Part;

pub use membar_core::Algorithm;
use membar_core::{
    Compare, Event, Lemma, Model, OpId, Proof, ProofStep, Rule, Source, Trace, Undecided, Verdict, Witness,
};
use problem::{Obvious, Problem};
use prove::Prover;
use read::{Decided, ReadProblem};

/// A verdict and how it was reached.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer with its certificate.
    pub verdict: Verdict,
    /// The algorithm that decided.
    pub algorithm: Algorithm,
    /// The effort.
    pub effort: Effort,
}

impl Outcome {
    /// Undecided where the proof needs the pieces of an access that was torn to be in order: no machine promises that. All
    /// other steps hold whatever their order.
    fn unless_torn(mut self, trace: &Trace) -> Outcome {
        let apart = |step: &ProofStep| match (step.from.as_op(), step.to.as_op()) {
            (Some(from), Some(to)) => trace.torn_apart(from, to),
            _ => false,
        };
        if trace.is_torn()
            && let Verdict::Forbidden(proof) = &self.verdict
            && proof.steps().into_iter().any(apart)
        {
            self.verdict = Verdict::Undecided { reason: Undecided::Torn, ordered: 0 };
        }
        self
    }
}

/// A verdict without its certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// A memory order explains the values.
    Allowed,
    /// No memory order explains the values.
    Forbidden,
    /// Not known within the limits.
    Undecided(Undecided),
}

fn decision(verdict: &Verdict) -> Decision {
    match *verdict {
        Verdict::Allowed(_) => Decision::Allowed,
        Verdict::Forbidden(_) => Decision::Forbidden,
        Verdict::Undecided { reason, .. } => Decision::Undecided(reason),
    }
}

/// How a trace was found forbidden.
#[derive(Debug)]
enum Refutation {
    Obvious(Obvious),
    Cycle,
    BeforeInit { write: u32, load: u32 },
    Conflict,
}

/// Approximate memory of the graph and the search per operation.
const BYTES_PER_OP: usize = 160;

/// Proofs that mention more operations than this are not shortened.
const SHORTEN: usize = 4000;

/// Decides traces, keeping its buffers from one to the next.
#[derive(Default)]
pub struct Checker {
    problem: Problem,
    read: ReadProblem,
    refutation: Option<Refutation>,
    algorithm: Option<Algorithm>,
    effort: Effort,
}

impl Checker {
    /// A checker with the default plan.
    pub fn new() -> Checker {
        Checker::default()
    }

    /// A checker with this plan.
    pub fn with_plan(plan: Plan) -> Checker {
        let read = ReadProblem { plan, ..ReadProblem::default() };
        Checker { read, ..Checker::default() }
    }

    /// A checker that turns from search to inference after this many conflicts; for tests.
    #[doc(hidden)]
    pub fn with_allowance(plan: Plan, conflicts: usize) -> Checker {
        let read = ReadProblem { plan, allowance: Some(conflicts), ..ReadProblem::default() };
        Checker { read, ..Checker::default() }
    }

    /// Decides a trace, with a certificate that people can follow: a proof is shortened, within limits.
    pub fn check(&mut self, trace: &Trace, model: &Model, limits: &Limits) -> Outcome {
        let mut outcome = self.found(trace, model, limits);
        if trace.is_open() || trace.is_grouped() {
            return outcome.unless_torn(trace);
        }
        if let Verdict::Forbidden(proof) = outcome.verdict {
            outcome.verdict = Verdict::Forbidden(shorten(trace, model, proof, limits));
        }
        outcome.unless_torn(trace)
    }

    /// Decides a trace, with the certificate as found: for machines.
    pub fn verdict(&mut self, trace: &Trace, model: &Model, limits: &Limits) -> Outcome {
        self.found(trace, model, limits).unless_torn(trace)
    }

    /// As [`Checker::verdict`], where the pieces of a torn access are taken to be in order.
    fn found(&mut self, trace: &Trace, model: &Model, limits: &Limits) -> Outcome {
        assert!(!trace.is_mixed(), "certificates are for the form that `Trace::for_model` gives");
        if trace.is_open() {
            return open::decide(trace, model, limits);
        }
        let decision = self.decide_in_order(trace, model, limits);
        let (algorithm, effort) = (self.algorithm.expect("decided"), self.effort);
        let verdict = match decision {
            Decision::Allowed => Verdict::Allowed(Witness { order: self.order(trace) }),
            Decision::Undecided(reason) => {
                Verdict::Undecided { reason, ordered: self.read.scheduler.longest.min(trace.len()) }
            }
            Decision::Forbidden if effort.conflicts > DEEP => Verdict::Forbidden(deeply(|| self.proof(trace, model))),
            Decision::Forbidden => Verdict::Forbidden(self.proof(trace, model)),
        };
        Outcome { verdict, algorithm, effort }
    }

    /// Decides a trace, as recorded or in the form for the model.
    pub fn decide(&mut self, trace: &Trace, model: &Model, limits: &Limits) -> Decision {
        let trace = &*trace.for_model(model);
        if trace.is_torn() {
            return decision(&self.check(trace, model, limits).verdict);
        }
        self.decide_in_order(trace, model, limits)
    }

    /// The same, where the pieces of a torn access are taken to be in order.
    fn decide_in_order(&mut self, trace: &Trace, model: &Model, limits: &Limits) -> Decision {
        if trace.is_open() {
            return decision(&open::decide(trace, model, limits).verdict);
        }
        match self.decide_with(trace, model, None, limits) {
            // The operations left out may forbid it.
            Decision::Allowed if trace.left_out().is_some() => Decision::Undecided(Undecided::Repeated),
            decision => decision,
        }
    }

    /// Decides a trace in which one read returned something else; see [`Problem::build`].
    fn decide_with(
        &mut self,
        trace: &Trace,
        model: &Model,
        other: Option<(OpId, Source)>,
        limits: &Limits,
    ) -> Decision {
        self.effort = Effort::default();
        self.refutation = None;
        self.read.sorter.rank.clear();
        if trace.is_grouped() && !model.write_order {
            self.algorithm = Some(Algorithm::Values);
            self.read.scheduler.longest = 0;
            return Decision::Undecided(Undecided::Parts);
        }
        let p = &mut self.problem;
        if !limits.fits(trace.len().saturating_mul(BYTES_PER_OP)) {
            self.algorithm = Some(Algorithm::Values);
            self.read.scheduler.longest = 0;
            return Decision::Undecided(Undecided::Memory);
        }
        p.build(trace, model, other);
        if let Some(obvious) = p.obvious.take() {
            self.algorithm = Some(Algorithm::Values);
            self.refutation = Some(Refutation::Obvious(obvious));
            return Decision::Forbidden;
        }
        if p.conflict {
            self.algorithm = Some(Algorithm::Conflict);
            if conflict::decide(trace, p, &mut self.read.sorter) {
                return Decision::Allowed;
            }
            self.refutation = Some(Refutation::Cycle);
            return Decision::Forbidden;
        }
        let decided = self.read.decide(trace, model, p, limits, &mut self.effort);
        let without_conflicts = self.effort.conflicts == 0;
        let (algorithm, decision) = match decided {
            Decided::Order if without_conflicts => (Algorithm::Too, Decision::Allowed),
            Decided::Order => (Algorithm::Search, Decision::Allowed),
            Decided::Conflict => (Algorithm::Search, Decision::Forbidden),
            Decided::Cycle | Decided::BeforeInit { .. } => (Algorithm::Rules, Decision::Forbidden),
            Decided::Open(reason) => (Algorithm::Search, Decision::Undecided(reason)),
        };
        let timed = trace.has_times() && trace.compare() == Compare::Everything;
        self.algorithm = Some(if timed { Algorithm::Timed } else { algorithm });
        self.refutation = match decided {
            Decided::Conflict => Some(Refutation::Conflict),
            Decided::Cycle => Some(Refutation::Cycle),
            Decided::BeforeInit { write, load } => Some(Refutation::BeforeInit { write, load }),
            Decided::Order | Decided::Open(_) => None,
        };
        decision
    }

    /// The order that was found.
    fn order(&self, trace: &Trace) -> Vec<OpId> {
        let p = &self.problem;
        let nodes = if p.conflict { &self.read.sorter.order } else { &self.read.scheduler.order };
        let in_memory = |node: &&u32| (**node as usize) < p.ops && p.addr[**node as usize] != problem::NONE;
        nodes.iter().filter(in_memory).map(|&node| p.op(trace, node).expect("an operation")).collect()
    }

    /// The proof as it was found.
    fn proof(&self, trace: &Trace, model: &Model) -> Proof {
        let p = &self.problem;
        let prover = || Prover::new(trace, model, p, &self.read.scheduler.conflicts, &self.read.sorter.rank);
        match self.refutation.as_ref().expect("forbidden") {
            Refutation::Obvious(Obvious::Unwritten(op)) => Proof::Unwritten(*op),
            Refutation::Obvious(Obvious::UnwrittenFinal(addr)) => Proof::UnwrittenFinal(*addr),
            Refutation::Obvious(Obvious::Unreserved(op)) => Proof::Unreserved(*op),
            Refutation::Obvious(Obvious::Core(ops)) => {
                part_proof(trace, model, shrink::with_stores_between(trace, ops))
                    .expect("these operations are forbidden")
            }
            Refutation::Cycle => prover().cycle(self.read.sorter.cycle(p)),
            Refutation::BeforeInit { write, load } => prover().before_init(*write, *load),
            Refutation::Conflict => prover().last_conflict(),
        }
    }

    /// The smallest part of a forbidden trace that is still forbidden; `None` if the trace is not.
    /// A trace whose accesses overlap is given as recorded, and so is the part.
    pub fn shrink(&mut self, trace: &Trace, model: &Model, limits: &Limits) -> Option<Part> {
        if trace.is_mixed() {
            return shrink::mixed(trace, model, limits);
        }
        let Verdict::Forbidden(proof) = self.check(trace, model, limits).verdict else { return None };
        if let Proof::Unwritten(op) | Proof::Unreserved(op) = proof {
            let mut part = trace.restricted_to(&[op], |_| false, |_| false);
            part.resolve(&mut Default::default()).ok()?;
            return Some(Part { ops: vec![op], trace: part });
        }
        if trace.is_open() {
            return shrink::open(trace, model, &proof, limits);
        }
        if let Proof::UnwrittenFinal(addr) = proof {
            let mut part = trace.restricted_to(&[], |i| trace.finals[i].addr == addr, |_| false);
            part.resolve(&mut Default::default()).ok()?;
            return Some(Part { ops: Vec::new(), trace: part });
        }
        shrink::smallest(trace, model, shrink::closure(trace, &proof.ops()), limits)
    }

    /// Which read of a forbidden trace is to blame, and what it could have returned.
    pub fn blame(&mut self, trace: &Trace, model: &Model, proof: &Proof, limits: &Limits) -> Option<Blame> {
        // Where values are repeated, a read that returned something else would have other candidates.
        // Where accesses have pieces, those would have to change together.
        if trace.is_open() || trace.is_grouped() { None } else { blame::blame(self, trace, model, proof, limits) }
    }
}

/// With more conflicts than this a proof is written on its own stack.
const DEEP: u64 = 500;

/// The name of threads that have a large stack: a panic of theirs is passed on to the thread that waits for them.
pub const PROOF_THREAD: &str = "membar proof";

/// Runs with a large stack: proofs are written by recursion along their premises, which can go deep.
fn deeply<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    const STACK: usize = 256 << 20;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(PROOF_THREAD.into()).stack_size(STACK).spawn_scoped(scope, f);
        thread.expect("a thread can be started").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The shortest proof of these operations alone, in terms of the whole trace.
fn part_proof(trace: &Trace, model: &Model, ops: Vec<OpId>) -> Option<Proof> {
    let written = |i: usize| match trace.final_sources()[i] {
        Source::UNWRITTEN => false,
        source => source.as_op().is_none_or(|op| ops.binary_search(&op).is_ok()),
    };
    let mut part = trace.restricted_to(&ops, written, |_| true);
    part.resolve(&mut Default::default()).ok()?;
    shortest::prove(&part, model).map(|proof| translate(proof, &ops))
}

/// A proof about a part, as one about the whole.
fn translate(proof: Proof, ops: &[OpId]) -> Proof {
    let op = |op: OpId| ops[op.index()];
    let event = |event: Event| event.as_op().map_or(event, |inner| op(inner).into());
    let rule = |rule: Rule| match rule {
        Rule::Membar { fence } => Rule::Membar { fence: op(fence) },
        Rule::OwnStore { load } => Rule::OwnStore { load: op(load) },
        Rule::BeforeRead { load } => Rule::BeforeRead { load: event(load) },
        Rule::Kept { by, through } => Rule::Kept { by, through: through.map(op) },
        other => other,
    };
    match proof {
        Proof::Unwritten(read) => Proof::Unwritten(op(read)),
        Proof::Unreserved(store) => Proof::Unreserved(op(store)),
        // Ids of addresses differ, but a part has no final value that nobody writes: the whole would not have been looked into.
        Proof::UnwrittenFinal(addr) => Proof::UnwrittenFinal(addr),
        Proof::Cases { .. } => unreachable!("a part of a trace with repeated values is not looked into"),
        Proof::Cycle(lemmas) => Proof::Cycle(
            lemmas
                .into_iter()
                .map(|lemma| Lemma {
                    assume: lemma
                        .assume
                        .into_iter()
                        .map(|a| membar_core::Assumption { first: event(a.first), second: event(a.second) })
                        .collect(),
                    steps: lemma
                        .steps
                        .into_iter()
                        .map(|step| ProofStep {
                            from: event(step.from),
                            to: event(step.to),
                            rule: rule(step.rule),
                            ..step
                        })
                        .collect(),
                    cycle: lemma.cycle,
                })
                .collect(),
        ),
    }
}

/// A shorter proof of the same, if one is found soon.
fn shorten(trace: &Trace, model: &Model, proof: Proof, limits: &Limits) -> Proof {
    if matches!(proof, Proof::Unwritten(_) | Proof::UnwrittenFinal(_) | Proof::Unreserved(_)) {
        return proof;
    }
    let ops = shrink::closure(trace, &proof.ops());
    if ops.len() > SHORTEN {
        return proof;
    }
    let soon = limits.clone().within(std::time::Duration::from_secs(2));
    let Some(part) = shrink::smallest(trace, model, ops, &soon) else { return proof };
    if let Some(short) = shortest::prove(&part.trace, model) {
        let short = translate(short, &part.ops);
        return if still_kept(trace, &short) { short } else { proof };
    }
    // The rules alone do not refute it: the search's proof of the part.
    let mut checker = Checker::new();
    if checker.decide_in_order(&part.trace, model, limits) != Decision::Forbidden {
        return proof;
    }
    let short = translate(checker.proof(&part.trace, model), &part.ops);
    if short.len() < proof.len() && still_kept(trace, &short) { short } else { proof }
}

/// Do the steps of a part's proof hold in the whole? Two loads of a part may have nothing between them where the whole has a store
/// of their thread; then other rules put them in order, but this proof does not say so.
fn still_kept(trace: &Trace, proof: &Proof) -> bool {
    let Proof::Cycle(lemmas) = proof else { return true };
    lemmas.iter().flat_map(|lemma| &lemma.steps).all(|step| match (step.rule, step.from.as_op(), step.to.as_op()) {
        (Rule::Kept { by, .. }, Some(from), Some(to)) => kept::rule(trace, by, from, to).is_some(),
        _ => true,
    })
}
