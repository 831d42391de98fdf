//! Verdicts and their certificates.
//!
//! A [`Witness`] is a total order; a [`Proof`] is a list of lemmas, each of which ends in a cycle of memory order.
//! Both are plain data: `membar-check` makes them, `membar-certify` re-checks them from the recorded values alone,
//! `membar-report` turns them into words.

use crate::{AddrId, Axiom, Condition, OpId, Read, RuleName, Source, Trace, VerdictKind};
use std::fmt;

/// A point of memory order: an operation, or one of the two ends of the trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Event(pub u32);

impl Event {
    /// Writes every initial value, before everything.
    pub const INIT: Event = Event(u32::MAX);
    /// Reads every recorded final value, after everything.
    pub const FINAL: Event = Event(u32::MAX - 1);

    /// The operation, unless this is one of the ends.
    #[inline]
    pub fn as_op(self) -> Option<OpId> {
        (self != Self::INIT && self != Self::FINAL).then_some(OpId(self.0))
    }
}

impl From<OpId> for Event {
    fn from(op: OpId) -> Event {
        Event(op.0)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Event::INIT => f.write_str("INIT"),
            Event::FINAL => f.write_str("FINAL"),
            Event(op) => write!(f, "op{op}"),
        }
    }
}

/// Why one event is before another in memory order. The names are those of Manovit and Hangal (SPAA 2005) where they
/// have one.
///
/// In the descriptions `L` is a read, `S = w(L)` the write it returned, `S'` another write to the same address, `;` is
/// program order and `≤` memory order. The two ends count as a write of every address ([`Event::INIT`]) and as a read
/// of every address with a recorded final value ([`Event::FINAL`]). A release reads from its acquire. A store conditional, and
/// its thread's stores to the address since the load reserved, count as reads of the write that they have to follow.
///
/// Where the model has no write order, memory order is partial: R5 and R6 and the order of two stores do not hold there,
/// except for locks; and R7 on an address is not an order but says that `S'` is not before `L`. There it must be a step
/// of the lemma's cycle, the only such step in it, and no premise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Rule {
    /// R1 (LoadOp): `L ; X ⇒ L ≤ X`, where the model's load-load or load-store entry says so.
    LoadOp,
    /// R2 (StoreStore): `S ; S' ⇒ S ≤ S'`, where the model's store-store entry says so.
    StoreStore,
    /// SL (StoreLoad): `S ; L ⇒ S ≤ L`, where the model's store-load entry says so.
    StoreLoad,
    /// R3 (Membar): both sides of a barrier whose mask holds the pair.
    Membar {
        /// The barrier between them.
        fence: OpId,
    },
    /// R4 (Value): `S ≤ L`, unless `S ; L` and the model forwards stores to plain loads.
    ReadsFrom,
    /// R5 (Value): `S' ; L ⇒ S' ≤ S`, where the model forwards stores.
    OwnStore {
        /// The read `L`.
        load: OpId,
    },
    /// R6 (Value): `S' ≤ L ⇒ S' ≤ S`. The premises are a path from `S'` to `L`.
    BeforeRead {
        /// The read `L`, or [`Event::FINAL`].
        load: Event,
    },
    /// R7 (Value): `S ≤ S' ⇒ L ≤ S'`. The premises are a path from `S` to `S'`. Where that path is one
    /// [`Rule::WriteOrder`] step, this is A7.
    AfterRead,
    /// A6: the trace's `order` line lists the first write before the second.
    WriteOrder,
    /// Initial values are before every operation.
    Init,
    /// Every operation is before the reading of final values.
    Final,
    /// An acquire or a release and another operation of its thread, in program order, where the model's entry for the
    /// two kinds says so.
    Lock,
    /// The first ended before the second began, by clocks that can be compared, and the first had taken effect for
    /// everybody when it ended: it is not a store, unless the model's writes are atomic.
    Time,
    /// Two operations of one thread, in program order, by a condition of the model's entry for the two kinds.
    Kept {
        /// The condition.
        by: Condition,
        /// The operation between them that the condition speaks of, if it does.
        through: Option<OpId>,
    },
    /// Assumption of this lemma, by index.
    Assume(u32),
    /// An earlier lemma, by index, refuted the opposite order under other assumptions, each of which holds here: it is
    /// assumed, or shown by a premise.
    Case(u32),
}

impl Rule {
    /// The short name used in text, JSON and documentation.
    pub fn name(self) -> RuleName {
        match self {
            Rule::LoadOp => RuleName::R1,
            Rule::StoreStore => RuleName::R2,
            Rule::StoreLoad => RuleName::Sl,
            Rule::Membar { .. } => RuleName::R3,
            Rule::ReadsFrom => RuleName::R4,
            Rule::OwnStore { .. } => RuleName::R5,
            Rule::BeforeRead { .. } => RuleName::R6,
            Rule::AfterRead => RuleName::R7,
            Rule::WriteOrder => RuleName::A6,
            Rule::Init => RuleName::Init,
            Rule::Final => RuleName::Final,
            Rule::Lock => RuleName::Lock,
            Rule::Time => RuleName::Time,
            Rule::Kept { by, .. } => match by {
                Condition::AnotherStore => RuleName::Ppo2,
                Condition::FromAtomic => RuleName::Ppo3,
                Condition::EarlierAcquires => RuleName::Ppo5,
                Condition::LaterReleases => RuleName::Ppo6,
                Condition::ReleaseAcquire => RuleName::Ppo7,
                Condition::Address => RuleName::Ppo9,
                Condition::Data => RuleName::Ppo10,
                Condition::Control => RuleName::Ppo11,
                Condition::ThroughStore => RuleName::Ppo12,
                Condition::PastAddress => RuleName::Ppo13,
                Condition::PastIsb => RuleName::Isb,
                Condition::AcquireFromPair => RuleName::Aob,
            },
            Rule::Assume(_) => RuleName::Assume,
            Rule::Case(_) => RuleName::Case,
        }
    }

    /// The axiom that the rule follows from.
    pub fn axiom(self) -> Axiom {
        match self {
            Rule::LoadOp => Axiom::LoadOp,
            Rule::StoreStore => Axiom::StoreStore,
            Rule::StoreLoad => Axiom::StoreLoad,
            Rule::Membar { .. } => Axiom::Membar,
            Rule::ReadsFrom | Rule::OwnStore { .. } | Rule::BeforeRead { .. } | Rule::AfterRead => Axiom::Value,
            Rule::WriteOrder => Axiom::WriteOrder,
            Rule::Init | Rule::Final => Axiom::Value,
            Rule::Lock => Axiom::LockOrder,
            Rule::Time => Axiom::Time,
            Rule::Kept { .. } => Axiom::ProgramOrder,
            Rule::Assume(_) | Rule::Case(_) => Axiom::Order,
        }
    }
}

/// `from ≤ to`, by `rule`.
///
/// Invariant: `premises` are indices of earlier steps of the same lemma; where the rule needs a path, they are its
/// edges in order (empty where the path's two ends are one event).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProofStep {
    /// The earlier event.
    pub from: Event,
    /// The later event.
    pub to: Event,
    /// Why.
    pub rule: Rule,
    /// The premises of the rule.
    pub premises: Vec<u32>,
}

/// Two different writes of one address, `first ≤ second`; the alternative is the [`Flip`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Assumption {
    /// The write taken to be earlier.
    pub first: Event,
    /// The write taken to be later.
    pub second: Event,
}

/// The opposite of an [`Assumption`]: by the Order axiom one of the two holds.
pub type Flip = Assumption;

impl Assumption {
    /// The other order of the same two writes.
    pub fn flip(self) -> Flip {
        Assumption { first: self.second, second: self.first }
    }
}

/// Under `assume`, memory order has a cycle: so the assumptions do not all hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lemma {
    /// The assumptions; empty in the last lemma of a proof.
    pub assume: Vec<Assumption>,
    /// Edges, each resting on earlier ones.
    pub steps: Vec<ProofStep>,
    /// Indices of the steps that form the cycle, head to tail. A single step from an event to itself is a cycle.
    pub cycle: Vec<u32>,
}

/// Why a trace is forbidden.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Proof {
    /// This operation read a value that nobody writes there.
    Unwritten(OpId),
    /// The recorded final value of this address is one that nobody writes there.
    UnwrittenFinal(AddrId),
    /// This store conditional stored, although its thread held no reservation.
    Unreserved(OpId),
    /// Case splits with a cycle each; the last lemma assumes nothing.
    Cycle(Vec<Lemma>),
    /// Of a trace with repeated values: whichever write the read returned, there is no memory order. Each proof is about the
    /// trace's reading ([`Trace::reading`]) with the sources of the cases that it stands in.
    Cases {
        /// The read.
        read: Read,
        /// Each source that it can have by its value, with a proof.
        cases: Vec<(Source, Proof)>,
    },
}

impl Proof {
    /// The first proof in it that is not made of cases.
    pub fn leaf(&self) -> &Proof {
        match self {
            Proof::Cases { cases, .. } => cases.first().map_or(self, |(_, proof)| proof.leaf()),
            proof => proof,
        }
    }

    /// The reads and sources of the cases that lead to [`Proof::leaf`].
    pub fn path(&self) -> Vec<(Read, Source)> {
        let (mut path, mut proof) = (Vec::new(), self);
        while let Proof::Cases { read, cases } = proof
            && let Some((source, inner)) = cases.first()
        {
            path.push((*read, *source));
            proof = inner;
        }
        path
    }

    /// The lemma that closes the proof.
    pub fn last(&self) -> Option<&Lemma> {
        match self.leaf() {
            Proof::Cases { .. } => None,
            Proof::Unwritten(_) | Proof::UnwrittenFinal(_) | Proof::Unreserved(_) => None,
            Proof::Cycle(lemmas) => lemmas.last(),
        }
    }

    /// Its steps, in all cases.
    pub fn steps(&self) -> Vec<&ProofStep> {
        match self {
            Proof::Unwritten(_) | Proof::Unreserved(_) | Proof::UnwrittenFinal(_) => Vec::new(),
            Proof::Cases { cases, .. } => cases.iter().flat_map(|(_, proof)| proof.steps()).collect(),
            Proof::Cycle(lemmas) => lemmas.iter().flat_map(|lemma| &lemma.steps).collect(),
        }
    }

    /// Every operation that the proof mentions, in id order: these alone are already forbidden.
    pub fn ops(&self) -> Vec<OpId> {
        let mut ops = Vec::new();
        match self {
            Proof::Unwritten(op) | Proof::Unreserved(op) => ops.push(*op),
            Proof::UnwrittenFinal(_) => {}
            Proof::Cases { read, cases } => {
                if let Read::Op(op) = read {
                    ops.push(*op);
                }
                ops.extend(cases.iter().filter_map(|(source, _)| source.as_op()));
                ops.extend(cases.iter().flat_map(|(_, proof)| proof.ops()));
            }
            Proof::Cycle(lemmas) => {
                let mut push = |event: Event| ops.extend(event.as_op());
                for step in lemmas.iter().flat_map(|lemma| &lemma.steps) {
                    push(step.from);
                    push(step.to);
                    match step.rule {
                        Rule::Membar { fence } => push(fence.into()),
                        Rule::OwnStore { load } => push(load.into()),
                        Rule::BeforeRead { load } => push(load),
                        Rule::Kept { through: Some(op), .. } => push(op.into()),
                        _ => {}
                    }
                }
            }
        }
        ops.sort_unstable();
        ops.dedup();
        ops
    }

    /// The number of steps in all lemmas.
    pub fn len(&self) -> usize {
        match self {
            Proof::Unwritten(_) | Proof::UnwrittenFinal(_) | Proof::Unreserved(_) => 1,
            Proof::Cycle(lemmas) => lemmas.iter().map(|lemma| lemma.steps.len()).sum(),
            Proof::Cases { cases, .. } => cases.iter().map(|(_, proof)| proof.len()).sum(),
        }
    }

    /// A proof is never empty; this exists because `len` does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a trace is allowed: all its memory operations (everything but barriers), in memory order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Witness {
    /// Each operation of the trace that is not a barrier, once.
    pub order: Vec<OpId>,
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undecided {
    /// The time limit passed.
    Time,
    /// The memory limit would be passed.
    Memory,
    /// The user interrupted.
    Interrupted,
    /// Accesses overlap, and the model has no write order.
    Parts,
    /// Values are repeated, and the part of the trace that does not depend on them is allowed: see [`Trace::left_out`].
    Repeated,
    /// Values are repeated, or accesses overlap, and there are too many ways in which reads may have got their values.
    Sources,
    /// It is forbidden if the pieces of an access that was torn took effect in order.
    Torn,
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Undecided::Time => "the time limit passed",
            Undecided::Memory => "the memory limit was reached",
            Undecided::Interrupted => "interrupted",
            Undecided::Parts => "accesses overlap, which models without a write order do not decide",
            Undecided::Repeated => "values are repeated, and what does not depend on them is allowed",
            Undecided::Sources => "too many ways in which reads may have got their values",
            Undecided::Torn => "it depends on the order in which the pieces of an access took effect",
        })
    }
}

/// The answer to "does the model allow this trace?".
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Yes, and here is an order.
    Allowed(Witness),
    /// No, and here is why.
    Forbidden(Proof),
    /// Not known within the limits. `ordered` of the trace's operations had been placed at best.
    Undecided {
        /// Which limit was hit.
        reason: Undecided,
        /// The longest legal prefix of memory order that was found, in operations.
        ordered: usize,
    },
}

impl Verdict {
    /// The answer without its certificate.
    pub fn kind(&self) -> VerdictKind {
        match self {
            Verdict::Allowed(_) => VerdictKind::Allowed,
            Verdict::Forbidden(_) => VerdictKind::Forbidden,
            Verdict::Undecided { .. } => VerdictKind::Undecided,
        }
    }

    /// `allowed`, `forbidden` or `undecided`.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }
}

impl Trace {
    /// All events of memory order that are operations: everything but barriers.
    pub fn memory_ops(&self) -> impl Iterator<Item = OpId> + '_ {
        self.ops().filter(|&op| self.kind(op) != crate::OpKind::Fence)
    }
}
