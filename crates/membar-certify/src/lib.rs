//! Re-checks verdicts, from the recorded values alone.
//!
//! `membar-check` is fast and therefore long; this crate is short. It sees a [`Trace`], a [`Model`] and a certificate,
//! and either agrees or names the first [`Flaw`]. No algorithm is shared with the checker, nor anything that was
//! computed for it: writes are identified by address and value, locks are paired, `final` and `order` lines are read
//! here once more. Trusted are that [`Trace::resolve`] succeeded (so a value that is read identifies the write of an address, and
//! sessions end), that it grouped operations by thread in the order of the text, and that [`Trace::set_clock`] read the
//! timestamps as it says.
//!
//! * [`witness`]: is this total order a memory order of the trace?
//! * [`proof`]: does each step follow by its rule, and does each lemma end in a cycle?
//! * [`verdict`]: whichever of the two applies; an undecided verdict claims nothing and is always fine.
//! * [`Certifier`]: the same with buffers that are kept, for many traces.
//! * [`replay`](mod@replay): runs the steps of a program's claimed execution on a machine with store buffers, and says
//!   whether it is sequentially consistent.
//! * [`rc11`]: checks a claimed execution of a C or C++ program against the axioms of RC11.
//! * [`weak`]: checks a claimed execution of a program, and how it ends, against the axioms of a memory model.
//!
//! A certificate may be garbage: every index in it is checked, and nothing here panics on it.
//!
//! # Memory order
//!
//! A total order `≤` of all operations but barriers; a read-modify-write is one point and counts as a load and as a store.
//! An acquire and the next release of its lock by its thread are the ends of a session, which holds what is between them
//! in program order. A total order is allowed if all of these hold:
//!
//! 1. **Program order.** An earlier and a later operation of one thread keep their order if, for some pair of what they
//!    count as (load, store, acquire, release), one of the conditions of the model's entry for that pair holds:
//!    * always;
//!    * they are on one address, or on one lock;
//!    * one session: the access is in the session that the acquire began or that the release will end; for two accesses, any
//!      session of the thread holds both. (Between two operations on locks, a release and what follows it, and an acquire
//!      and what precedes it, this never holds.)
//!    * guarded: the lock of one has a `guard` line with the address of the other;
//!    * time: the earlier one ended strictly before the later one began, by clocks that can be compared;
//!    * one of [`membar_core::Condition`]: see there.
//!
//!    They also keep it if a barrier between them has such a pair in its mask ([`Model::sync`] for `sync`); for a barrier, an
//!    acquire and a release each count as a load and as a store.
//! 2. **Time.** If one operation ended strictly before another one began, by clocks that can be compared, and was done at its
//!    end (it is not a plain store, or the model's writes are atomic), it is before the other. Where clocks are those of
//!    threads, this is about an earlier and a later operation of one thread; where there is one clock, about any two. When
//!    an operation began and ended is [`Trace::period`].
//! 3. **Value.** A read returns the write that is last in `≤` among those before it in `≤` or, for a plain load where
//!    the model forwards stores, before it in its own thread; without such a write, the initial value.
//! 4. **Final.** The last write in `≤` of an address with a `final` line has that value.
//! 5. **Write order.** The writes of an address with an `order` line appear in that sequence.
//! 6. **Lock exclusion**, where the model has it. Among the operations on one lock, a release comes directly after its
//!    acquire.
//!
//! 7. **Reservations.** A store conditional that stored is paired with the last load reserved of its thread, with no other of
//!    these two kinds between, of the same address. From the write that the load reserved returned to the store conditional,
//!    only its own thread writes the address. Those writes keep their program order and come after the load reserved, so this
//!    means: each of the thread's writes since the load reserved directly follows the one before it, and the first follows
//!    what the load reserved returned.
//!
//! Where the model has no write order ([`Model::write_order`]), memory order is partial. It is the transitive closure of
//! what 1 and 2 put in order, of the write before each read that returned it (also in one thread: nothing is forwarded),
//! of the sequences of 5, and, with 6, of one total order of the operations on each lock in which a release comes directly
//! after its acquire; initial values are before all operations, and final values are read after all of them. It is allowed
//! if it has no cycle and, instead of 3 and 4, no other write of the address is between a read and the write that it
//! returned: there is no `w'` with `w < w' < read`. A witness is still a total order: it has to go along with every edge,
//! and says in which order sessions were.
//!
//! # Proofs
//!
//! See [`membar_core::Rule`] for the rules. Each is checked to be a true consequence of the points above, so the
//! events on a cycle would each be strictly before itself. The test suites hold both halves against brute force: all
//! permutations of small traces, and all steps that this crate accepts on them.
//!
//! ```
//! use membar_core::{Model, Ppo, ResolveScratch, Trace, When, Witness};
//!
//! let sc = Model::new("sc", Ppo::new(When::ALWAYS, When::ALWAYS, When::ALWAYS, When::ALWAYS));
//! let mut trace = Trace::new();
//! let (t, u, x) = (trace.thread_id(0), trace.thread_id(1), trace.memory_id(0));
//! let store = trace.push_store(t, x, 1, 1);
//! let load = trace.push_load(u, x, 1, 2);
//! trace.resolve(&mut ResolveScratch::default()).unwrap();
//!
//! assert_eq!(membar_certify::witness(&trace, &sc, &Witness { order: vec![store, load] }), Ok(()));
//! let flaw = membar_certify::witness(&trace, &sc, &Witness { order: vec![load, store] }).unwrap_err();
//! assert_eq!(flaw.to_string(), "op1 read another value than 0, which this order gives it");
//! ```

mod axioms;
mod bytes;
mod execution;
mod flaw;
mod locks;
mod matrix;
mod open;
mod overwritten;
mod past;
mod proof;
pub mod rc11;
pub mod replay;
mod said;
pub mod weak;
mod witness;

pub use flaw::{Flaw, Reason};
pub use open::sources_of as sources;

use membar_core::{Model, Proof, Trace, Verdict, Witness};

/// Re-checks certificates with buffers that are kept from one trace to the next.
#[derive(Default, Debug)]
pub struct Certifier {
    witness: witness::Scratch,
    proof: proof::Scratch,
}

impl Certifier {
    /// A certifier with empty buffers.
    pub fn new() -> Certifier {
        Certifier::default()
    }

    /// Is this order one that the model allows for the (resolved) trace?
    pub fn witness(&mut self, trace: &Trace, model: &Model, witness: &Witness) -> Result<(), Flaw> {
        if trace.is_open() {
            return open::witness(self, trace, model, &witness.order);
        }
        self.witness.check(trace, model, &witness.order)
    }

    /// Does this prove that the model allows no order for the (resolved) trace?
    pub fn proof(&mut self, trace: &Trace, model: &Model, proof: &Proof) -> Result<(), Flaw> {
        if trace.is_open() {
            return open::proof(self, trace, model, proof, &mut Default::default());
        }
        self.proof.check(trace, model, proof)
    }

    /// Does the verdict's certificate hold? An undecided verdict has none to check.
    pub fn verdict(&mut self, trace: &Trace, model: &Model, verdict: &Verdict) -> Result<(), Flaw> {
        match verdict {
            Verdict::Allowed(witness) => self.witness(trace, model, witness),
            Verdict::Forbidden(proof) => self.proof(trace, model, proof),
            Verdict::Undecided { .. } => Ok(()),
        }
    }
}

/// [`Certifier::witness`], once.
pub fn witness(trace: &Trace, model: &Model, witness: &Witness) -> Result<(), Flaw> {
    Certifier::new().witness(trace, model, witness)
}

/// [`Certifier::proof`], once.
pub fn proof(trace: &Trace, model: &Model, proof: &Proof) -> Result<(), Flaw> {
    Certifier::new().proof(trace, model, proof)
}

/// [`Certifier::verdict`], once.
pub fn verdict(trace: &Trace, model: &Model, verdict: &Verdict) -> Result<(), Flaw> {
    Certifier::new().verdict(trace, model, verdict)
}
