//! Traces with repeated values: which write each read returned is part of the search.
//!
//! Problem: reads have several possible sources, by address and value. Is there a choice of sources with a memory order?
//!
//! Algorithm:
//! 1. Guess when each operation took effect: at first by how far its thread had come, since threads of recorded executions advance
//!    together. The likeliest source of a read is the candidate that was not yet overwritten then, or the nearest to that.
//! 2. In rounds, decide the reading that knows the sources of which the guess is sure: those whose next candidate is much
//!    further away, less so from round to round. An order that is found gives better times, since the known sources tie the threads
//!    together. A proof shows guesses that were not sure; they are left out, and the round is repeated.
//!    On a machine that is right, the last rounds know all sources, and their order is the answer.
//! 3. Otherwise guess all sources, and decide that reading. If it is allowed, so is the trace.
//! 4. If it is forbidden, the proof rests on some of the guesses. If on none, it proves the trace forbidden. Otherwise take one of
//!    those reads, the one whose guess is surest, and try each of its candidates in turn, the guess first, for which the proof
//!    stands as it is; a case whose proof does not mention the read refutes the others too. Guesses are kept from case to case.
//!
//! Invariants: a proof that is returned mentions only reads that have one candidate or stand in the cases around it, and so
//! it is one about the reading that knows these alone ([`Trace::reading`]): a read that is not mentioned gave it no step.
//!
//! Complexity: a few decisions of n operations where guesses are right, and one for each guess that is wrong; exponentially many
//! cases in the worst case.
//!
//! Guarantees: complete within the limits; a search that takes more than [`WORK`] is given up, and says so.

use crate::{Checker, Effort, Limits, Outcome};
use membar_core::{
    Algorithm, Event, Model, OpId, OpKind, Proof, Read, Rule, Source, ThreadId, Trace, Undecided, Verdict,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Operations of all readings that are decided before the search is given up; a few readings are tried in any case.
const WORK: usize = 400_000_000;
const FEW: usize = 4;
/// How much further the next candidate has to be in each round, as a part of the whole trace.
const SURE: [f64; 8] = [0.03, 0.004, 0.0001, ANY, ANY, ANY, ANY, ANY];
const ANY: f64 = f64::NEG_INFINITY;
/// How often a round is repeated.
const REPEATS: usize = 100;
/// Smaller traces need no rounds.
const ROUNDS: usize = 64;
/// Proofs of larger traces are not shortened.
const SHORT: usize = 2000;

/// How a case ended.
enum End {
    Allowed(Vec<OpId>),
    Refuted(Proof),
    Limit(Undecided),
}

struct Search<'a> {
    trace: &'a Trace,
    model: &'a Model,
    limits: &'a Limits,
    checker: Checker,
    /// The guess of each read that has several candidates.
    guess: FxHashMap<Read, Source>,
    /// The sources of the cases around.
    path: Vec<(Read, Source)>,
    /// When each operation took effect, from 0 to 1, as far as is known: not before `time`, not after `until`.
    time: Vec<f64>,
    until: Vec<f64>,
    /// When each write was overwritten, and the initial value of each address.
    overwritten: Vec<f64>,
    first: Vec<f64>,
    effort: Effort,
    /// The most operations that were put into order.
    ordered: usize,
    work: usize,
    runs: usize,
}

/// Decides a trace with repeated values.
pub(crate) fn decide(trace: &Trace, model: &Model, limits: &Limits) -> Outcome {
    let outcome = |verdict, algorithm, effort| Outcome { verdict, algorithm, effort };
    if !model.write_order {
        let verdict = Verdict::Undecided { reason: Undecided::Repeated, ordered: 0 };
        return outcome(verdict, Algorithm::Values, Effort::default());
    }
    let mut search = Search {
        trace,
        model,
        limits,
        checker: Checker::new(),
        guess: FxHashMap::default(),
        path: Vec::new(),
        until: trace.ops().map(|op| progress(trace, op)).collect(),
        time: trace.ops().map(|op| progress(trace, op)).collect(),
        overwritten: vec![1.0; trace.len()],
        first: vec![1.0; trace.addrs()],
        effort: Effort::default(),
        ordered: 0,
        work: 0,
        runs: 0,
    };
    search.overwrite();
    if trace.len() >= ROUNDS
        && let Some(order) = search.rounds()
    {
        return outcome(Verdict::Allowed(membar_core::Witness { order }), Algorithm::Search, search.effort);
    }
    search.guess = search.sure(ANY, &FxHashSet::default());
    let verdict = match search.decide() {
        End::Allowed(order) => Verdict::Allowed(membar_core::Witness { order }),
        End::Refuted(proof) => Verdict::Forbidden(proof),
        End::Limit(reason) => Verdict::Undecided { reason, ordered: search.ordered },
    };
    outcome(verdict, Algorithm::Search, search.effort)
}

/// How far its thread has come when it executes, from 0 to 1.
fn progress(trace: &Trace, op: OpId) -> f64 {
    f64::from(trace.po(op)) / trace.thread_ops(trace.thread(op)).len() as f64
}

/// All reads of a trace.
fn reads(trace: &Trace) -> impl Iterator<Item = Read> + '_ {
    let ops = trace.ops().filter(|&op| trace.kind(op).reads()).map(Read::Op);
    ops.chain((0..trace.finals.len() as u32).map(Read::Final))
}

impl Search<'_> {
    /// The candidates of a read, the likeliest first, with how far each is in time.
    fn likeliest(&self, read: Read) -> Vec<(f64, Source)> {
        let trace = self.trace;
        let (begin, end) = match read {
            Read::Op(op) => (self.time[op.index()], self.until[op.index()]),
            Read::Final(_) => (1.0, 1.0),
        };
        let far = |source: Source| {
            let (at, over) = match source.as_op() {
                Some(op) => (self.time[op.index()], self.overwritten[op.index()]),
                None => (0.0, self.first[trace.returned(read).0.index()]),
            };
            let own = match (read, source.as_op()) {
                (Read::Op(op), Some(write)) => {
                    trace.thread(op) == trace.thread(write) && trace.po(write) > trace.po(op)
                }
                _ => false,
            };
            // No thread reads its own future. Of several that were there at the time, the latest.
            let gap = (at - end).max(begin - over).max(0.0);
            if own { 2.0 + at } else { gap + 1e-3 * (begin - at).abs() }
        };
        let mut all: Vec<(f64, Source)> = trace.candidates(read).map(|source| (far(source), source)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// The likeliest sources of the reads with several candidates whose next candidate is further by this much.
    fn sure(&self, margin: f64, unsure: &FxHashSet<Read>) -> FxHashMap<Read, Source> {
        let guess = |read: Read| match self.likeliest(read)[..] {
            [first, second, ..] if second.0 - first.0 >= margin && !unsure.contains(&read) => Some((read, first.1)),
            _ => None,
        };
        reads(self.trace).filter_map(guess).collect()
    }

    /// Step 2. The order, if one was found with all sources.
    fn rounds(&mut self) -> Option<Vec<OpId>> {
        let memory_ops = self.trace.memory_ops().count();
        for margin in SURE {
            let mut unsure = FxHashSet::default();
            self.guess = self.sure(margin, &unsure);
            for _ in 0..REPEATS {
                if self.limits.passed().is_some() {
                    return None;
                }
                match self.run() {
                    // Reads of which the source is not known are not in the order.
                    Verdict::Allowed(witness) if witness.order.len() == memory_ops && self.all_known() => {
                        return Some(witness.order);
                    }
                    Verdict::Allowed(witness) => {
                        self.take_times(&witness.order);
                        break;
                    }
                    Verdict::Forbidden(proof) => {
                        let wrong = self.mentioned(&proof);
                        if wrong.is_empty() {
                            return None;
                        }
                        for read in wrong {
                            unsure.insert(read);
                            self.guess.remove(&read);
                        }
                    }
                    Verdict::Undecided { .. } => return None,
                }
            }
        }
        None
    }

    /// Are all reads with several candidates guessed?
    fn all_known(&self) -> bool {
        reads(self.trace).all(|read| self.guess.contains_key(&read) || self.trace.candidates(read).nth(1).is_none())
    }

    /// Takes times from an order of some of the operations; others are between those before and after them in their thread.
    fn take_times(&mut self, order: &[OpId]) {
        self.time.fill(-1.0);
        for (place, &op) in order.iter().enumerate() {
            self.time[op.index()] = (place + 1) as f64 / (order.len() + 1) as f64;
        }
        self.until.clone_from(&self.time);
        for thread in (0..self.trace.threads() as u32).map(ThreadId) {
            let ops = self.trace.thread_ops(thread);
            let mut before = 0.0;
            for &op in ops {
                let time = &mut self.time[op.index()];
                if *time < 0.0 {
                    *time = before;
                }
                before = *time;
            }
            let mut after = 1.0f64;
            for &op in ops.iter().rev() {
                let until = &mut self.until[op.index()];
                if *until < 0.0 {
                    *until = after.max(self.time[op.index()]);
                }
                after = *until;
            }
        }
        self.overwrite();
    }

    /// Works out from the times when writes were overwritten.
    fn overwrite(&mut self) {
        let trace = self.trace;
        let mut writes: Vec<(u32, f64, OpId)> = trace
            .ops()
            .filter(|&op| matches!(trace.kind(op), OpKind::Store | OpKind::Rmw))
            .map(|op| (trace.addr(op).0, self.time[op.index()], op))
            .collect();
        writes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.first.fill(1.0);
        for (i, &(addr, time, op)) in writes.iter().enumerate() {
            if i == 0 || writes[i - 1].0 != addr {
                self.first[addr as usize] = time;
            }
            let next = writes.get(i + 1).filter(|next| next.0 == addr);
            self.overwritten[op.index()] = next.map_or(1.0, |next| next.1);
        }
    }

    /// Decides the reading with the sources of the path and the guesses.
    fn run(&mut self) -> Verdict {
        self.runs += 1;
        self.work += self.trace.len();
        let path: FxHashMap<Read, Source> = self.path.iter().copied().collect();
        let guess = &self.guess;
        let reading = self.trace.reading(|read| path.get(&read).or_else(|| guess.get(&read)).copied());
        let outcome = if self.trace.len() <= SHORT {
            self.checker.check(&reading, self.model, self.limits)
        } else {
            self.checker.verdict(&reading, self.model, self.limits)
        };
        self.effort.passes += outcome.effort.passes;
        self.effort.inferred += outcome.effort.inferred;
        self.effort.conflicts += outcome.effort.conflicts + u64::from(!matches!(outcome.verdict, Verdict::Allowed(_)));
        let ordered = match &outcome.verdict {
            Verdict::Allowed(witness) => witness.order.len(),
            Verdict::Undecided { ordered, .. } => *ordered,
            Verdict::Forbidden(_) => 0,
        };
        self.ordered = self.ordered.max(ordered);
        outcome.verdict
    }

    /// How sure the guess of a read is: by how much the next candidate is further.
    fn certainty(&self, read: Read) -> f64 {
        let all = self.likeliest(read);
        let at = |wanted: bool| all.iter().find(|(_, source)| (*source == self.guess[&read]) == wanted);
        match (at(true), at(false)) {
            (Some(guess), Some(other)) => other.0 - guess.0,
            _ => 0.0,
        }
    }

    /// Decides the trace with the sources of the path.
    fn decide(&mut self) -> End {
        if let Some(reason) = self.limits.passed() {
            return End::Limit(reason);
        }
        if self.runs >= FEW && self.work > WORK {
            return End::Limit(Undecided::Repeated);
        }
        match self.run() {
            Verdict::Allowed(witness) => End::Allowed(witness.order),
            Verdict::Undecided { reason, .. } => End::Limit(reason),
            Verdict::Forbidden(proof) => self.refute(proof),
        }
    }

    /// Goes through the cases of a read that this proof, which holds on the path with the guesses, rests on.
    fn refute(&mut self, proof: Proof) -> End {
        let open = |read: &Read| self.guess.contains_key(read) && !self.path.iter().any(|(known, _)| known == read);
        let rests = self.mentioned(&proof).into_iter().filter(open);
        // The surest first: what is decided last is revised first.
        let Some(read) = rests.max_by(|&a, &b| self.certainty(a).total_cmp(&self.certainty(b))) else {
            return End::Refuted(proof);
        };
        let first = self.guess[&read];
        let others = self.likeliest(read).into_iter().map(|(_, source)| source).filter(|&source| source != first);
        let sources: Vec<Source> = std::iter::once(first).chain(others).collect();
        let mut known = Some(proof);
        let mut cases = Vec::with_capacity(sources.len());
        for source in sources {
            self.path.push((read, source));
            self.guess.insert(read, source);
            let end = match known.take() {
                Some(proof) => self.refute(proof),
                None => self.decide(),
            };
            self.path.pop();
            match end {
                End::Refuted(proof) if !self.mentioned(&proof).contains(&read) => return End::Refuted(proof),
                End::Refuted(proof) => cases.push((source, proof)),
                end => return end,
            }
        }
        End::Refuted(Proof::Cases { read, cases })
    }

    /// The reads with several candidates that a proof may rest on.
    fn mentioned(&self, proof: &Proof) -> Vec<Read> {
        let mut found = Vec::new();
        self.mentions(proof, &mut found);
        found.sort_unstable();
        found.dedup();
        found.retain(|read| self.guess.contains_key(read));
        found
    }

    fn mentions(&self, proof: &Proof, found: &mut Vec<Read>) {
        let trace = self.trace;
        match proof {
            Proof::Cases { read, cases } => {
                for (_, proof) in cases {
                    self.mentions(proof, found);
                }
                // All of its cases are there: nothing rests on one of them.
                found.retain(|other| other != read);
            }
            Proof::UnwrittenFinal(addr) => {
                found
                    .extend((0..).zip(&trace.finals).filter(|(_, end)| end.addr == *addr).map(|(i, _)| Read::Final(i)));
            }
            Proof::Unreserved(_) => {
                // Found by what loads reserved and atomics between them returned.
                found.extend(self.guess.keys().copied());
            }
            Proof::Unwritten(_) | Proof::Cycle(_) => {
                found.extend(proof.ops().into_iter().map(Read::Op));
                // A store conditional counts as a read of what its load reserved returned, and so on.
                let pairs = proof.ops().into_iter().filter_map(|op| trace.reservation(op));
                found.extend(pairs.map(Read::Op));
                let steps = match proof {
                    Proof::Cycle(lemmas) => lemmas.iter().flat_map(|lemma| &lemma.steps).collect(),
                    _ => Vec::new(),
                };
                for step in steps {
                    let last = step.from == Event::FINAL
                        || step.to == Event::FINAL
                        || step.rule == Rule::BeforeRead { load: Event::FINAL };
                    let addrs = [step.from, step.to].map(|event| event.as_op().map(|op| trace.addr(op)));
                    for (i, end) in (0..).zip(&trace.finals) {
                        if last && (addrs.contains(&Some(end.addr)) || addrs == [None; 2]) {
                            found.push(Read::Final(i));
                        }
                    }
                }
                // Stores between a load reserved and its store conditional follow each other because of the pair.
                for op in proof.ops().into_iter().filter(|&op| trace.kind(op).writes()) {
                    let thread = &trace.thread_ops(trace.thread(op))[trace.po(op) as usize..];
                    let later = thread.iter().filter_map(|&store| trace.reservation(store));
                    found.extend(later.filter(|&load| trace.po(load) < trace.po(op)).map(Read::Op));
                }
            }
        }
    }
}
