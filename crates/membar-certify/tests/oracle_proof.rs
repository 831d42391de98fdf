//! Every step that the certifier accepts is true in every memory order, and its rules suffice: a slow prover that tries
//! all steps, and splits cases where no cycle appears, refutes exactly the small traces that no permutation satisfies.

mod common;
use common::{Random, models, naive, permutations, random_trace};
use membar_certify::{Certifier, Flaw};
use membar_core::{Assumption, Event, Lemma, Model, OpId, OpKind, Proof, Rule, Step, Trace};
use std::collections::VecDeque;

struct Prover<'a> {
    trace: &'a Trace,
    model: &'a Model,
    certifier: Certifier,
    events: Vec<Event>,
    /// Finished lemmas, then the one in work, then an empty one.
    lemmas: Vec<Lemma>,
    /// All allowed orders, as places by operation.
    allowed: Vec<Vec<usize>>,
    accepted: u64,
    /// Writes are ordered by splitting cases before R6 and R7 are tried.
    split_first: bool,
}

impl Prover<'_> {
    fn place(places: &[usize], event: Event) -> isize {
        match event {
            Event::INIT => -1,
            Event::FINAL => isize::MAX,
            Event(op) => places[op as usize] as isize,
        }
    }

    /// Adds the step to the lemma if the certifier accepts it, which must mean that it is true.
    fn try_step(&mut self, lemma: &mut Lemma, step: Step) -> bool {
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
        for places in &self.allowed {
            let before = |a, b| Self::place(places, a) < Self::place(places, b);
            if lemma.assume.iter().all(|a| before(a.first, a.second)) {
                assert!(before(step.from, step.to), "{}: {lemma:#?} of {:#?}", self.model.name, self.trace);
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
        rules.extend([Rule::WriteOrder, Rule::Init, Rule::Final, Rule::Held]);
        rules.extend(ops.iter().map(|&fence| Rule::Membar { fence }));
        rules.extend(ops.iter().map(|&load| Rule::OwnStore { load }));
        for i in 0..lemma.assume.len() {
            let Assumption { first, second } = lemma.assume[i];
            let step = Step { from: first, to: second, rule: Rule::Assume(i as u32), premises: vec![] };
            assert!(self.try_step(lemma, step));
        }
        for (from, to) in events.iter().flat_map(|&a| events.iter().map(move |&b| (a, b))) {
            for &rule in &rules {
                self.try_step(lemma, Step { from, to, rule, premises: vec![] });
            }
        }
    }

    /// R6 and R7 to a fixed point.
    fn close(&mut self, lemma: &mut Lemma) {
        let events = self.events.clone();
        loop {
            let known = lemma.steps.len();
            for (from, to) in events.iter().flat_map(|&a| events.iter().map(move |&b| (a, b))) {
                if Self::path(lemma, from, to).is_some() {
                    continue;
                }
                for &middle in &events {
                    let before = Self::path(lemma, from, middle).map(|p| (p, Rule::BeforeRead { load: middle }));
                    let after = Self::path(lemma, middle, to).map(|p| (p, Rule::AfterRead));
                    for (premises, rule) in before.into_iter().chain(after) {
                        self.try_step(lemma, Step { from, to, rule, premises });
                    }
                }
            }
            if lemma.steps.len() == known {
                return;
            }
        }
    }

    /// The index of a lemma that refutes the assumptions, if they can be refuted.
    fn refute(&mut self, assume: Vec<Assumption>) -> Option<u32> {
        let mut lemma = Lemma { assume, ..Lemma::default() };
        self.observe(&mut lemma);
        let mut close = !self.split_first;
        loop {
            if close {
                self.close(&mut lemma);
            }
            if let Some(cycle) = self.events.iter().find_map(|&event| Self::path(&lemma, event, event)) {
                lemma.cycle = cycle;
                self.lemmas.push(lemma);
                return Some(self.lemmas.len() as u32 - 1);
            }
            let trace = self.trace;
            let writes = |op: &OpId| trace.kind(*op).stores();
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
                self.try_step(&mut lemma, Step { from: second, to: first, rule: Rule::Case(case), premises: vec![] })
            );
        }
    }
}

#[test]
fn oracle_steps_are_true_and_suffice() {
    let mut random = Random(0xFACADE);
    let (mut refuted, mut satisfied, mut unwritten, mut split, mut accepted) = (0, 0, 0, 0, 0u64);
    let mut names = std::collections::BTreeMap::<&str, u32>::new();
    let mut traces = 0;
    while traces < 6000 {
        let Some(trace) = random_trace(&mut random, 6) else { continue };
        let mut ops: Vec<OpId> = trace.memory_ops().collect();
        let bad_read = |op: &OpId| {
            let reads = matches!(trace.kind(*op), OpKind::Load | OpKind::Rmw);
            let written = |w: OpId| {
                matches!(trace.kind(w), OpKind::Store | OpKind::Rmw)
                    && trace.addr(w) == trace.addr(*op)
                    && trace.write(w) == trace.read(*op)
            };
            reads && trace.read(*op) != trace.initial(trace.addr(*op)) && !trace.ops().any(written)
        };
        let model = &models()[traces % 10];
        let mut certifier = Certifier::new();
        for op in trace.ops() {
            assert_eq!(certifier.proof(&trace, model, &Proof::Unwritten(op)).is_ok(), bad_read(&op));
        }
        if ops.iter().any(bad_read) {
            unwritten += 1;
            continue;
        }
        traces += 1;
        let mut allowed = Vec::new();
        permutations(&mut ops, &mut |order| {
            if naive(&trace, model, order) {
                let mut places = vec![usize::MAX; trace.len()];
                order.iter().enumerate().for_each(|(i, op)| places[op.index()] = i);
                allowed.push(places);
            }
        });
        let events = trace.ops().map(Event::from).chain([Event::INIT, Event::FINAL]).collect();
        let none = allowed.is_empty();
        let mut prover = Prover {
            trace: &trace,
            model,
            certifier,
            events,
            lemmas: vec![],
            allowed,
            accepted: 0,
            split_first: random.one_in(2),
        };
        let found = prover.refute(vec![]);
        accepted += prover.accepted;
        assert_eq!(found.is_some(), none, "{}: {trace:#?}", model.name);
        if found.is_some() {
            refuted += 1;
            split += (prover.lemmas.len() > 1) as u32;
            for step in prover.lemmas.iter().flat_map(|lemma| &lemma.steps) {
                *names.entry(step.rule.name()).or_default() += 1;
            }
            assert_eq!(membar_certify::proof(&trace, model, &Proof::Cycle(prover.lemmas)), Ok(()));
        } else {
            satisfied += 1;
        }
    }
    println!(
        "{refuted} refuted, {split} with cases, {satisfied} satisfied, {unwritten} unwritten, {accepted} {names:?}"
    );
    assert!(refuted > 100 && satisfied > 100 && unwritten > 50 && split > 50 && accepted > 1000);
    assert!(names.len() >= 14, "a rule is never used: {names:?}");
}
