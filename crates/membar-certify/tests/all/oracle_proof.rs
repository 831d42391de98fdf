//! Every step that the certifier accepts is true in every memory order, and its rules suffice: a slow prover that tries
//! all steps, and splits cases where no cycle appears, refutes exactly the small traces that no permutation satisfies.

use crate::common;
use common::{
    ANY, Definition, Random, Recipe, Relation, lock_models, models, permutations, point, random_model, random_sessions,
    random_trace,
};
use membar_certify::{Certifier, Flaw};
use membar_core::{AddrId, Assumption, Event, Lemma, Model, OpId, OpKind, Proof, ProofStep, Rule, Trace};
use std::collections::VecDeque;

struct Prover<'a> {
    trace: &'a Trace,
    model: &'a Model,
    certifier: Certifier,
    events: Vec<Event>,
    /// Finished lemmas, then the one in work, then an empty one.
    lemmas: Vec<Lemma>,
    /// All allowed orders.
    allowed: Vec<Relation>,
    accepted: u64,
    /// The steps that rest on no other and on no assumption.
    observed: Vec<ProofStep>,
    /// Writes are ordered by splitting cases before R6 and R7 are tried.
    split_first: bool,
}

impl Prover<'_> {
    /// R7 on an address where writes have no order: it says only that `to` is not before `from`.
    fn not_before(&self, step: &ProofStep) -> bool {
        let reads_data = |op: OpId| self.trace.kind(op) != OpKind::Release;
        step.rule == Rule::AfterRead && !self.model.write_order && step.from.as_op().is_none_or(reads_data)
    }

    /// Adds the step to the lemma if the certifier accepts it, which must mean that it is true.
    fn try_step(&mut self, lemma: &mut Lemma, step: ProofStep) -> bool {
        let at = self.lemmas.len();
        lemma.steps.push(step);
        self.lemmas.extend([std::mem::take(lemma), Lemma::default()]);
        let proof = Proof::Cycle(std::mem::take(&mut self.lemmas));
        let answer = self.certifier.proof(self.trace, self.model, &proof);
        let Proof::Cycle(lemmas) = proof else { unreachable!() };
        self.lemmas = lemmas;
        self.lemmas.pop();
        *lemma = self.lemmas.pop().unwrap();
        let step = lemma.steps.last().unwrap();
        match answer {
            Err(Flaw::Cycle { lemma, place: 0 }) if lemma == at => {}
            Err(Flaw::Step { lemma: bad, step: last, .. }) if bad == at && last + 1 == lemma.steps.len() => {
                lemma.steps.pop();
                return false;
            }
            other => panic!("{other:?}"),
        }
        self.accepted += 1;
        let n = self.trace.len();
        for relation in &self.allowed {
            let before = |a, b| relation[point(n, a)][point(n, b)];
            if lemma.assume.iter().all(|a| before(a.first, a.second)) {
                let holds =
                    if self.not_before(step) { !before(step.to, step.from) } else { before(step.from, step.to) };
                assert!(holds, "{:#?}: {lemma:#?} of {:#?}", self.model, self.trace);
            }
        }
        true
    }

    fn path(lemma: &Lemma, from: Event, to: Event) -> Option<Vec<u32>> {
        let mut came: Vec<(Event, Option<(usize, u32)>)> = vec![(from, None)];
        let mut queue = VecDeque::from([0]);
        while let Some(at) = queue.pop_front() {
            let here = came[at].0;
            for (i, step) in lemma.steps.iter().enumerate().filter(|(_, step)| step.from == here) {
                if step.to == to {
                    let mut path = vec![i as u32];
                    let mut back = came[at].1;
                    while let Some((previous, edge)) = back {
                        path.push(edge);
                        back = came[previous].1;
                    }
                    path.reverse();
                    return Some(path);
                }
                if came.iter().all(|&(event, _)| event != step.to) {
                    came.push((step.to, Some((at, i as u32))));
                    queue.push_back(came.len() - 1);
                }
            }
        }
        None
    }

    /// The steps that rest on no other.
    fn observe(&mut self, lemma: &mut Lemma) {
        let events = self.events.clone();
        let ops: Vec<OpId> = self.trace.ops().collect();
        let mut rules = vec![Rule::LoadOp, Rule::StoreStore, Rule::StoreLoad, Rule::ReadsFrom];
        rules.extend([Rule::WriteOrder, Rule::Init, Rule::Final, Rule::Lock, Rule::Time]);
        rules.extend(ops.iter().map(|&fence| Rule::Membar { fence }));
        rules.extend(ops.iter().map(|&load| Rule::OwnStore { load }));
        if lemma.assume.is_empty() {
            for (from, to) in events.iter().flat_map(|&a| events.iter().map(move |&b| (a, b))) {
                for &rule in &rules {
                    self.try_step(lemma, ProofStep { from, to, rule, premises: vec![] });
                }
            }
            self.observed = lemma.steps.clone();
        } else {
            // The same follows whatever is assumed.
            lemma.steps = self.observed.clone();
        }
        for i in 0..lemma.assume.len() {
            let Assumption { first, second } = lemma.assume[i];
            let step = ProofStep { from: first, to: second, rule: Rule::Assume(i as u32), premises: vec![] };
            assert!(self.try_step(lemma, step));
        }
    }

    /// R6 and R7 to a fixed point. Where a read returned what is overwritten before it, that is the cycle.
    fn close(&mut self, lemma: &mut Lemma) -> Option<Vec<u32>> {
        let events = self.events.clone();
        loop {
            let known = lemma.steps.len();
            for (from, to) in events.iter().flat_map(|&a| events.iter().map(move |&b| (a, b))) {
                if self.model.write_order && Self::path(lemma, from, to).is_some() {
                    continue;
                }
                for &middle in &events {
                    let before = Self::path(lemma, from, middle).map(|p| (p, Rule::BeforeRead { load: middle }));
                    let after = Self::path(lemma, middle, to).map(|p| (p, Rule::AfterRead));
                    for (premises, rule) in before.into_iter().chain(after) {
                        let step = ProofStep { from, to, rule, premises };
                        let not_before = self.not_before(&step);
                        if !not_before && Self::path(lemma, from, to).is_some() {
                            continue;
                        }
                        if self.try_step(lemma, step) && not_before {
                            if let Some(path) = Self::path(lemma, to, from) {
                                return Some([vec![lemma.steps.len() as u32 - 1], path].concat());
                            }
                            // It would be in the way.
                            lemma.steps.pop();
                        }
                    }
                }
            }
            if lemma.steps.len() == known {
                return None;
            }
        }
    }

    /// The index of a lemma that refutes the assumptions, if they can be refuted.
    fn refute(&mut self, assume: Vec<Assumption>) -> Option<u32> {
        let mut lemma = Lemma { assume, ..Lemma::default() };
        self.observe(&mut lemma);
        let mut close = !self.split_first;
        loop {
            let overwritten = if close { self.close(&mut lemma) } else { None };
            let cycle = || self.events.iter().find_map(|&event| Self::path(&lemma, event, event));
            if let Some(cycle) = overwritten.or_else(cycle) {
                lemma.cycle = cycle;
                self.lemmas.push(lemma);
                return Some(self.lemmas.len() as u32 - 1);
            }
            let trace = self.trace;
            let locks = !self.model.write_order;
            let writes = |op: &OpId| {
                let kind = trace.kind(*op);
                kind.writes() && (!locks || kind.locks() && self.model.lock_exclusion)
            };
            let unordered = trace.ops().filter(writes).find_map(|a| {
                let free = |b: &OpId| {
                    let none = |a: OpId, b: OpId| Self::path(&lemma, a.into(), b.into()).is_none();
                    a < *b && trace.addr(a) == trace.addr(*b) && none(a, *b) && none(*b, a)
                };
                trace.ops().filter(writes).find(free).map(|b| (Event::from(a), Event::from(b)))
            });
            let Some((first, second)) = unordered else {
                if close {
                    return None;
                }
                close = true;
                continue;
            };
            let deeper = [lemma.assume.clone(), vec![Assumption { first, second }]].concat();
            let case = self.refute(deeper)?;
            assert!(
                self.try_step(
                    &mut lemma,
                    ProofStep { from: second, to: first, rule: Rule::Case(case), premises: vec![] }
                )
            );
        }
    }
}

/// How often what happened.
#[derive(Default, Debug)]
struct Count {
    refuted: u32,
    satisfied: u32,
    unwritten: u32,
    split: u32,
    split_partial: u32,
    not_before: u32,
    accepted: u64,
    rules: std::collections::BTreeMap<&'static str, u32>,
}

fn prove(random: &mut Random, trace: &Trace, model: &Model, count: &mut Count) {
    let bad_read = |op: &OpId| {
        let written = |w: OpId| {
            matches!(trace.kind(w), OpKind::Store | OpKind::Rmw)
                && trace.addr(w) == trace.addr(*op)
                && trace.write(w) == trace.read(*op)
        };
        trace.kind(*op).reads() && trace.read(*op) != trace.initial(trace.addr(*op)) && !trace.ops().any(written)
    };
    let mut certifier = Certifier::new();
    for op in trace.ops() {
        assert_eq!(certifier.proof(trace, model, &Proof::Unwritten(op)).is_ok(), bad_read(&op));
    }
    let bad_final = |addr: &AddrId| {
        let end = trace.finals.iter().find(|end| end.addr == *addr);
        end.is_some_and(|end| {
            let written = |w: OpId| {
                matches!(trace.kind(w), OpKind::Store | OpKind::Rmw)
                    && trace.addr(w) == *addr
                    && trace.write(w) == end.value
            };
            end.value != trace.initial(*addr) && !trace.ops().any(written)
        })
    };
    let addrs: Vec<AddrId> = (0..trace.addrs() as u32 + 2).map(AddrId).collect();
    for addr in &addrs {
        assert_eq!(certifier.proof(trace, model, &Proof::UnwrittenFinal(*addr)).is_ok(), bad_final(addr));
    }
    let mut ops: Vec<OpId> = trace.memory_ops().collect();
    if ops.iter().any(bad_read) || addrs.iter().any(bad_final) {
        count.unwritten += 1;
        return;
    }
    let definition = Definition::new(trace, model);
    let mut allowed = Vec::new();
    permutations(&mut ops, &mut |order| allowed.extend(definition.relation(order)));
    allowed.sort_unstable();
    allowed.dedup();
    let none = allowed.is_empty();
    // All orders of more writes than that would take too long.
    let few = trace.ops().all(|a| {
        let writes = trace.ops().filter(|&b| trace.kind(b).writes() && trace.addr(a) == trace.addr(b)).count();
        writes <= if trace.kind(a).locks() { 4 } else { 3 }
    });
    let mut prover = Prover {
        trace,
        model,
        certifier,
        events: trace.ops().map(Event::from).chain([Event::INIT, Event::FINAL]).collect(),
        lemmas: vec![],
        allowed,
        accepted: 0,
        observed: vec![],
        split_first: few && random.one_in(2),
    };
    let found = prover.refute(vec![]);
    count.accepted += prover.accepted;
    assert_eq!(found.is_some(), none, "{model:#?}: {trace:#?}");
    if found.is_none() {
        count.satisfied += 1;
        return;
    }
    count.refuted += 1;
    count.split += (prover.lemmas.len() > 1) as u32;
    count.split_partial += (prover.lemmas.len() > 1 && !model.write_order) as u32;
    for step in prover.lemmas.iter().flat_map(|lemma| &lemma.steps) {
        *count.rules.entry(step.rule.name().name()).or_default() += 1;
        count.not_before += prover.not_before(step) as u32;
    }
    assert_eq!(membar_certify::proof(trace, model, &Proof::Cycle(prover.lemmas)), Ok(()));
}

#[test]
fn oracle_steps_are_true_and_suffice() {
    let mut random = Random(0xFACADE);
    let mut count = Count::default();
    let models = models();
    while count.refuted + count.satisfied < 6000 {
        let Some(trace) = random_trace(&mut random, ANY) else { continue };
        let model = &models[(count.refuted + count.satisfied) as usize % models.len()];
        prove(&mut random, &trace, model, &mut count);
    }
    assert!(count.refuted > 100 && count.satisfied > 100 && count.unwritten > 50, "{count:?}");
    assert!(count.split > 30 && count.accepted > 1000, "{count:?}");
    assert!(count.rules.len() == 15, "a rule is never used: {count:?}");
}

#[test]
fn oracle_steps_about_locks() {
    let mut random = Random(0x10C4ED);
    let mut count = Count::default();
    let models = lock_models();
    while count.refuted + count.satisfied < 3000 {
        let trace = if random.one_in(2) {
            random_trace(&mut random, Recipe { most: 7, locked: 1, timed: 6 })
        } else {
            random_sessions(&mut random)
        };
        let Some(trace) = trace else { continue };
        let model = &models[(count.refuted + count.satisfied) as usize % models.len()];
        prove(&mut random, &trace, model, &mut count);
    }
    assert!(count.refuted > 100 && count.satisfied > 100 && count.split > 30, "{count:?}");
    assert!(count.not_before > 50 && count.split_partial > 10, "{count:?}");
}

#[test]
fn oracle_steps_of_any_model() {
    let mut random = Random(0xA117);
    let mut count = Count::default();
    while count.refuted + count.satisfied < 6000 {
        let Some(trace) = random_trace(&mut random, Recipe { most: 6, locked: 2, timed: 2 }) else { continue };
        let model = random_model(&mut random);
        prove(&mut random, &trace, &model, &mut count);
    }
    assert!(count.refuted > 100 && count.satisfied > 100 && count.split > 30, "{count:?}");
    assert!(count.not_before > 50 && count.rules.len() == 15, "{count:?}");
}
