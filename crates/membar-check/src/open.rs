//! Traces with repeated values: which write each read returned is part of the search.
//!
//! Problem: reads have several possible sources, by address and value. Is there a choice of sources with a memory order?
//!
//! Algorithm:
//! 0. Run the trace ([`forward`]). On a machine that is right, this mostly finds sources with which the trace is allowed.
//! 1. Guess when each operation took effect: at first by how far its thread had come, since threads of recorded executions advance
//!    together. The likeliest source of a read is the candidate that was not yet overwritten then, or the nearest to that.
//! 2. In rounds, decide the reading that knows the sources of which the guess is sure: those whose next candidate is much
//!    further away, less so from round to round. An order that is found gives better times, since the known sources tie the threads
//!    together. A proof shows guesses that were not sure; they are left out, and the round is repeated.
//!    On a machine that is right, the last rounds know all sources, and their order is the answer.
//! 3. Otherwise guess all sources, and decide that reading. If it is allowed, so is the trace.
//! 4. If it is forbidden, the proof rests on some of the guesses. If on none, it proves the trace forbidden. Otherwise take one of
//!    those reads and try each of its candidates in turn, the guess first, for which the proof stands as it is; a case whose
//!    proof does not mention the read refutes the others too. Guesses are kept from case to case. The read is the one with the
//!    fewest candidates that are not refuted yet, and of several the one whose guess is surest.
//! 5. Each proof is kept with the sources that it rests on. Before a reading is decided, the guesses give way to what is kept: a
//!    candidate that a proof refutes in the cases around is not guessed; where all candidates of a read are refuted, so is the case;
//!    and where the guesses are those of a proof, it goes on with step 4 at once. After [`HARD`] readings, a proof about accesses with
//!    pieces is first made to rest on as few guesses as possible.
//!
//! Candidates that coherence forbids (the thread's own future, what it had itself overwritten) are guessed last.
//!
//! Invariants: a proof that is returned mentions only reads that have one candidate or stand in the cases around it, and so
//! it is one about the reading that knows these alone ([`Trace::reading`]): a read that is not mentioned gave it no step.
//!
//! Complexity: a few decisions of n operations where guesses are right, and one for each guess that is wrong; exponentially many
//! cases in the worst case. A case costs a walk through the sources of the proofs that are kept.
//!
//! Guarantees: complete within the limits; a search that takes more than [`WORK`] or [`CASES`] is given up, and says so.

use crate::forward;
use crate::{Checker, Effort, Limits, Outcome};
use membar_core::{
    AddrId, Algorithm, Event, Model, OpId, OpKind, Proof, Read, Rule, Source, ThreadId, Trace, Undecided, Verdict,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;

/// Operations of all readings that are decided, and looks at kept proofs ([`LOOK`]), before the search is given up; a few readings are tried in any case.
const WORK: usize = 400_000_000;
const FEW: usize = 4;
/// Candidates that are compared for the price of an operation.
const COMPARED: usize = 8;
/// Steps of proofs that are kept, before the search is given up: about 512 MB.
const STEPS: usize = 8_000_000;
/// Cases that are looked into, and readings that are decided, before the search is given up.
const CASES: usize = 200_000;
const READINGS: usize = 20_000;
/// What it costs to look at a kept proof, in operations of a reading.
const LOOK: usize = 8;
/// Approximate memory of a step of a proof.
const BYTES_PER_STEP: usize = 64;
/// How much further the next candidate has to be in each round, as a part of the whole trace.
const SURE: [f64; 8] = [0.03, 0.004, 0.0001, ANY, ANY, ANY, ANY, ANY];
const ANY: f64 = f64::NEG_INFINITY;
/// How often a round is repeated.
const REPEATS: usize = 100;
/// Smaller traces need no rounds.
const ROUNDS: usize = 64;
/// Readings after which proofs are made to rest on as little as possible.
const HARD: usize = 100;
/// Proofs of larger traces are not shortened.
const SHORT: usize = 2000;

/// How a case ended.
enum End {
    Allowed(Vec<OpId>),
    Refuted(Refuted),
    Limit(Undecided),
}

/// A proof, and the reads with several candidates that it rests on, in order.
struct Refuted {
    proof: Proof,
    rests: Vec<Read>,
}

/// A proof of one reading: there is no memory order in which these reads have these sources.
struct Kept {
    proof: Proof,
    sources: Vec<(Read, Source)>,
}

/// The cases of a read, as they are refuted.
struct Cases {
    read: Read,
    cases: Vec<(Source, Proof)>,
    rests: Vec<Read>,
}

impl Cases {
    fn new(read: Read) -> Cases {
        Cases { read, cases: Vec::new(), rests: Vec::new() }
    }

    fn add(&mut self, source: Source, refuted: Refuted) {
        self.cases.push((source, refuted.proof));
        self.rests.extend(refuted.rests);
    }

    /// All of them are there: nothing rests on the read any more.
    fn refuted(self) -> Refuted {
        let Cases { read, cases, mut rests } = self;
        rests.sort_unstable();
        rests.dedup();
        rests.retain(|&other| other != read);
        Refuted { proof: Proof::Cases { read, cases }, rests }
    }
}

struct Search<'a> {
    trace: &'a Trace,
    model: &'a Model,
    limits: &'a Limits,
    checker: Checker,
    /// The guess of each read that has several candidates.
    guess: FxHashMap<Read, Source>,
    /// The sources of the cases around.
    path: FxHashMap<Read, Source>,
    kept: Vec<Kept>,
    /// When each operation took effect, from 0 to 1, as far as is known: not before `time`, not after `until`.
    time: Vec<f64>,
    until: Vec<f64>,
    /// When each write was overwritten, and the initial value of each address.
    overwritten: Vec<f64>,
    first: Vec<f64>,
    /// Before each operation and write: the last write of its thread to its address; and is there a later one?
    own: Vec<Option<OpId>>,
    covered: Vec<bool>,
    effort: Effort,
    /// The most operations that were put into order.
    ordered: usize,
    work: usize,
    /// Candidates that were compared.
    compared: Cell<usize>,
    runs: usize,
    cases: usize,
    /// Steps of the proofs that are kept or returned.
    steps: usize,
}

/// Decides a trace with repeated values.
pub(crate) fn decide(trace: &Trace, model: &Model, limits: &Limits) -> Outcome {
    let outcome = |verdict, algorithm, effort| Outcome { verdict, algorithm, effort };
    if !model.write_order {
        let reason = if trace.is_grouped() { Undecided::Parts } else { Undecided::Repeated };
        let verdict = Verdict::Undecided { reason, ordered: 0 };
        return outcome(verdict, Algorithm::Values, Effort::default());
    }
    let (own, covered) = own_writes(trace);
    let mut search = Search {
        trace,
        model,
        limits,
        checker: Checker::new(),
        guess: FxHashMap::default(),
        path: FxHashMap::default(),
        kept: Vec::new(),
        until: trace.ops().map(|op| progress(trace, op)).collect(),
        time: trace.ops().map(|op| progress(trace, op)).collect(),
        overwritten: vec![1.0; trace.len()],
        first: vec![1.0; trace.addrs()],
        own,
        covered,
        effort: Effort::default(),
        ordered: 0,
        work: 0,
        compared: Cell::new(0),
        runs: 0,
        cases: 0,
        steps: 0,
    };
    if let Some(order) = search.run_forward() {
        return outcome(Verdict::Allowed(membar_core::Witness { order }), Algorithm::Search, search.effort);
    }
    search.overwrite();
    if trace.len() >= ROUNDS
        && let Some(order) = search.rounds()
    {
        return outcome(Verdict::Allowed(membar_core::Witness { order }), Algorithm::Search, search.effort);
    }
    let end = match search.sure(ANY, &FxHashSet::default()) {
        Some(guess) => {
            search.guess = guess;
            search.decide()
        }
        None => End::Limit(search.passed().unwrap_or(Undecided::Sources)),
    };
    let verdict = match end {
        End::Allowed(order) => Verdict::Allowed(membar_core::Witness { order }),
        End::Refuted(refuted) => Verdict::Forbidden(refuted.proof),
        End::Limit(reason) => Verdict::Undecided { reason, ordered: search.ordered },
    };
    outcome(verdict, Algorithm::Search, search.effort)
}

/// How far its thread has come when it executes, from 0 to 1.
fn progress(trace: &Trace, op: OpId) -> f64 {
    f64::from(trace.po(op)) / trace.thread_ops(trace.thread(op)).len() as f64
}

/// For each operation the last write of its thread to its address before it, and whether the thread writes there again.
fn own_writes(trace: &Trace) -> (Vec<Option<OpId>>, Vec<bool>) {
    let (mut own, mut covered) = (vec![None; trace.len()], vec![false; trace.len()]);
    let mut last: FxHashMap<AddrId, OpId> = FxHashMap::default();
    for thread in (0..trace.threads() as u32).map(ThreadId) {
        last.clear();
        for &op in trace.thread_ops(thread) {
            own[op.index()] = last.get(&trace.addr(op)).copied();
            if matches!(trace.kind(op), OpKind::Store | OpKind::Rmw)
                && let Some(before) = last.insert(trace.addr(op), op)
            {
                covered[before.index()] = true;
            }
        }
    }
    (own, covered)
}

/// All reads of a trace.
fn reads(trace: &Trace) -> impl Iterator<Item = Read> + '_ {
    let ops = trace.ops().filter(|&op| trace.kind(op).reads()).map(Read::Op);
    ops.chain((0..trace.finals.len() as u32).map(Read::Final))
}

impl Search<'_> {
    /// The candidates of a read, the likeliest first, with how far each is in time.
    fn likeliest(&self, read: Read) -> Vec<(f64, Source)> {
        let mut all: Vec<(f64, Source)> = self.distances(read).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// The likeliest one, and how far the next one is; nothing if there are not two.
    fn nearest(&self, read: Read) -> Option<((f64, Source), f64)> {
        let (mut first, mut second) = (None, f64::INFINITY);
        for (far, source) in self.distances(read) {
            match first {
                Some((nearest, _)) if nearest <= far => second = second.min(far),
                _ => {
                    second = first.map_or(second, |(nearest, _)| nearest);
                    first = Some((far, source));
                }
            }
        }
        first.filter(|_| second < f64::INFINITY).map(|first| (first, second))
    }

    /// How far each candidate of a read is in time.
    fn distances(&self, read: Read) -> impl Iterator<Item = (f64, Source)> + '_ {
        let trace = self.trace;
        let (begin, end) = match read {
            Read::Op(op) => (self.time[op.index()], self.until[op.index()]),
            Read::Final(_) => (1.0, 1.0),
        };
        let far = move |source: Source| {
            let (at, over) = match source.as_op() {
                Some(op) => (self.time[op.index()], self.overwritten[op.index()]),
                None => (0.0, self.first[trace.returned(read).0.index()]),
            };
            // Of several that were there at the time, the latest.
            let gap = (at - end).max(begin - over).max(0.0);
            if self.incoherent(read, source) { 2.0 + at } else { gap + 1e-3 * (begin - at).abs() }
        };
        let compared = &self.compared;
        trace.candidates(read).map(move |source| {
            compared.set(compared.get() + 1);
            (far(source), source)
        })
    }

    /// Does the read's or the write's own thread exclude this source? No thread reads its own future or what it has overwritten.
    fn incoherent(&self, read: Read, source: Source) -> bool {
        let trace = self.trace;
        match (read, source.as_op()) {
            (Read::Op(op), Some(write)) if trace.thread(op) == trace.thread(write) => {
                self.own[op.index()] != Some(write)
            }
            (Read::Op(op), None) => self.own[op.index()].is_some(),
            (Read::Final(_), Some(write)) => self.covered[write.index()],
            _ => false,
        }
    }

    /// The likeliest sources of the reads with several candidates whose next candidate is further by this much. Nothing past a limit.
    fn sure(&self, margin: f64, unsure: &FxHashSet<Read>) -> Option<FxHashMap<Read, Source>> {
        let mut guesses = FxHashMap::default();
        let mut look = self.compared.get();
        for read in reads(self.trace) {
            if self.compared.get() >= look {
                if self.passed().is_some() {
                    return None;
                }
                look += 1 << 20;
            }
            if let Some(((nearest, source), next)) = self.nearest(read)
                && next - nearest >= margin
                && !unsure.contains(&read)
            {
                guesses.insert(read, source);
            }
        }
        Some(guesses)
    }

    /// Step 0. The order, if the sources that running the trace finds have one.
    fn run_forward(&mut self) -> Option<Vec<OpId>> {
        if !forward::knows(self.trace, self.model, self.limits) {
            return None;
        }
        match forward::sources(self.trace, self.model, self.limits) {
            Ok(sources) => self.guess = sources,
            Err(ordered) => {
                self.ordered = ordered;
                return None;
            }
        }
        let found = match self.run() {
            Verdict::Allowed(witness) => Some(witness.order),
            // Running does not know every rule about what was read.
            _ => None,
        };
        self.guess.clear();
        found
    }

    /// Step 2. The order, if one was found with all sources.
    fn rounds(&mut self) -> Option<Vec<OpId>> {
        let memory_ops = self.trace.memory_ops().count();
        for margin in SURE {
            let mut unsure = FxHashSet::default();
            self.guess = self.sure(margin, &unsure)?;
            for _ in 0..REPEATS {
                if self.passed().is_some() {
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
                        let wrong = self.rests(&proof);
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
        let (path, guess) = (&self.path, &self.guess);
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
        let at = |wanted: bool| {
            let those = self.distances(read).filter(|(_, source)| (*source == self.guess[&read]) == wanted);
            those.map(|(far, _)| far).min_by(f64::total_cmp)
        };
        at(true).zip(at(false)).map_or(0.0, |(guess, other)| other - guess)
    }

    /// The limit that the search has passed, if any.
    fn passed(&self) -> Option<Undecided> {
        if let Some(reason) = self.limits.passed() {
            return Some(reason);
        }
        if !self.limits.fits(self.steps.saturating_mul(BYTES_PER_STEP)) {
            return Some(Undecided::Memory);
        }
        let work = self.work + self.compared.get() / COMPARED;
        let far = work > WORK || self.runs > READINGS || self.steps > STEPS;
        (self.runs >= FEW && far || self.cases > CASES).then_some(Undecided::Sources)
    }

    /// Decides the trace with the sources of the path.
    fn decide(&mut self) -> End {
        self.cases += 1;
        self.work += LOOK * self.kept.len();
        if let Some(reason) = self.passed() {
            return End::Limit(reason);
        }
        if let Some(refuted) = self.give_way() {
            return self.refute(refuted);
        }
        match self.run() {
            Verdict::Allowed(witness) => End::Allowed(witness.order),
            Verdict::Undecided { reason, .. } => End::Limit(reason),
            Verdict::Forbidden(proof) => {
                let rests = self.rests(&proof);
                let Refuted { proof, rests } = self.minimal(Refuted { proof, rests });
                let sources = rests.iter().map(|&read| (read, self.guess[&read])).collect();
                self.kept.push(Kept { proof: proof.clone(), sources });
                self.steps += 2 * proof.len();
                self.refute(Refuted { proof, rests })
            }
        }
    }

    /// A proof that rests on as few of these reads as possible: each is left out in turn. Where accesses have pieces the checker
    /// does not shorten proofs, and one that rests on much is of little use to other cases.
    fn minimal(&mut self, mut refuted: Refuted) -> Refuted {
        if !self.trace.is_grouped() || self.trace.len() > SHORT || self.runs < HARD {
            return refuted;
        }
        let mut at = 0;
        while at < refuted.rests.len() && self.passed().is_none() {
            let mut fewer = refuted.rests.clone();
            fewer.remove(at);
            let (guess, path) = (std::mem::take(&mut self.guess), std::mem::take(&mut self.path));
            self.guess = fewer.iter().map(|&read| (read, guess[&read])).collect();
            match self.run() {
                Verdict::Forbidden(proof) => refuted = Refuted { rests: self.rests(&proof), proof },
                _ => at += 1,
            }
            (self.guess, self.path) = (guess, path);
        }
        refuted
    }

    /// The candidates that kept proofs refute on the path, with the proof's index. A proof that rests on the path alone is returned.
    fn refuted(&self) -> Result<FxHashMap<(Read, Source), usize>, usize> {
        let mut dead = FxHashMap::default();
        for (i, kept) in self.kept.iter().enumerate() {
            if kept.sources.iter().any(|(read, source)| self.path.get(read).is_some_and(|known| known != source)) {
                continue;
            }
            let mut open = kept.sources.iter().filter(|(read, _)| !self.path.contains_key(read));
            match (open.next(), open.next()) {
                (None, _) => return Err(i),
                (Some(&candidate), None) => _ = dead.entry(candidate).or_insert(i),
                _ => {}
            }
        }
        Ok(dead)
    }

    /// Step 5: changes guesses that are refuted. A kept proof that holds all the same is returned.
    fn give_way(&mut self) -> Option<Refuted> {
        let dead = match self.refuted() {
            Ok(dead) => dead,
            Err(i) => return Some(self.again(i)),
        };
        let mut wrong: Vec<Read> =
            dead.keys().map(|&(read, _)| read).filter(|read| dead.contains_key(&(*read, self.guess[read]))).collect();
        wrong.sort_unstable();
        wrong.dedup();
        for read in wrong {
            let all = self.likeliest(read);
            if let Some(&(_, live)) = all.iter().find(|&&(_, source)| !dead.contains_key(&(read, source))) {
                self.guess.insert(read, live);
                continue;
            }
            let each = |&(_, source): &(f64, Source)| (source, dead[&(read, source)]);
            let proofs: Vec<(Source, usize)> = all.iter().map(each).collect();
            let mut cases = Cases::new(read);
            for (source, i) in proofs {
                cases.add(source, self.again(i));
            }
            return Some(cases.refuted());
        }
        let guessed = |kept: &Kept| kept.sources.iter().all(|(read, source)| self.guess.get(read) == Some(source));
        let open = |kept: &Kept| kept.sources.iter().filter(|(read, _)| !self.path.contains_key(read)).count();
        let matching = self.kept.iter().enumerate().filter(|(_, kept)| guessed(kept));
        let (i, _) = matching.min_by_key(|(_, kept)| open(kept))?;
        Some(self.again(i))
    }

    /// A kept proof once more.
    fn again(&mut self, kept: usize) -> Refuted {
        let kept = &self.kept[kept];
        self.steps += kept.proof.len();
        Refuted { proof: kept.proof.clone(), rests: kept.sources.iter().map(|&(read, _)| read).collect() }
    }

    /// Goes through the cases of a read that this proof, which holds on the path with the guesses, rests on.
    fn refute(&mut self, refuted: Refuted) -> End {
        let open: Vec<Read> = refuted.rests.iter().copied().filter(|read| !self.path.contains_key(read)).collect();
        // The surest first: what is decided last is revised first.
        let Some(read) = self.best(&open) else { return End::Refuted(refuted) };
        self.work += LOOK * self.kept.len();
        let first = self.guess[&read];
        let others = self.likeliest(read).into_iter().map(|(_, source)| source).filter(|&source| source != first);
        let sources: Vec<Source> = std::iter::once(first).chain(others).collect();
        let mut known = Some(refuted);
        let mut cases = Cases::new(read);
        for source in sources {
            self.path.insert(read, source);
            self.guess.insert(read, source);
            let end = match known.take() {
                Some(refuted) => self.refute(refuted),
                None => self.decide(),
            };
            self.path.remove(&read);
            match end {
                End::Refuted(refuted) if refuted.rests.binary_search(&read).is_err() => return End::Refuted(refuted),
                End::Refuted(refuted) => cases.add(source, refuted),
                end => return end,
            }
        }
        End::Refuted(cases.refuted())
    }

    /// The read to go through the cases of.
    fn best(&self, reads: &[Read]) -> Option<Read> {
        if let [] | [_] = reads {
            return reads.first().copied();
        }
        let dead = self.refuted().unwrap_or_default();
        let live =
            |read: Read| self.trace.candidates(read).filter(|&source| !dead.contains_key(&(read, source))).count();
        let rank = |&read: &Read| (live(read), self.certainty(read));
        let ranked = reads.iter().map(|read| (rank(read), *read));
        let best = ranked.min_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        best.map(|(_, read)| read)
    }

    /// The reads with several candidates that the proof of a reading may rest on, in order.
    fn rests(&self, proof: &Proof) -> Vec<Read> {
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
            Proof::Cases { .. } => unreachable!("a reading has no repeated values"),
            Proof::UnwrittenFinal(addr) => {
                found
                    .extend((0..).zip(&trace.finals).filter(|(_, end)| end.addr == *addr).map(|(i, _)| Read::Final(i)));
            }
            Proof::Unreserved(store) => {
                // Found by what the load reserved, and atomics of the address between the two, returned.
                let Some(load) = trace.reservation(*store) else { return };
                let between = trace.po(load) as usize..trace.po(*store) as usize;
                let ops = trace.thread_ops(trace.thread(load))[between].iter().copied();
                found.extend(ops.filter(|&op| trace.addr(op) == trace.addr(load)).map(Read::Op));
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
