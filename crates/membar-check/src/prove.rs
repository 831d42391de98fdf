//! From edges to a proof.
//!
//! Problem: a cycle of the graph, or the conflicts of a search, as a [`Proof`] in which every step names its rule and
//! premises.
//!
//! Algorithm: edges carry why they hold; what a rule rests on is found again when it is needed.
//! 1. Program order: a path through collectors becomes one step, since the pair at its ends is ordered by itself (a guarantee of
//!    [`crate::ppo`]).
//! 2. R6 and R7: the path that is the premise is a shortest one in the graph as it was when the clocks were computed.
//! 3. A7 inside a conflict rests on a guess between the heads of two chains of read-modify-writes, `first ≤ second`; R7 carries it
//!    along the first chain, R4 along the second.
//! 4. A learned edge is a case of its lemma: the other guesses of that lemma hold here, as assumptions or learned themselves.
//!
//! Only conflicts that the last one needs become lemmas.
//!
//! Invariants: a step's premises come before it in its lemma, and a lemma's lemmas before it in the proof.
//!
//! Complexity: linear in the proof, plus one search of the graph per inferred edge, kept short by the topological order.
//!
//! Guarantees: none that count; `membar-certify` re-checks every proof before it is shown.
//!
//! Deviations from the paper: it reports a cycle of the graph; we also say why each edge is there.

use crate::problem::{NONE, Problem, Why, pair_rule};
use crate::schedule::{Conflict, Guess, Overwritten, Wait, WaitWhy};
use membar_core::{Assumption, Event, Lemma, Model, Proof, ProofStep, Rule, Trace};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

pub(crate) struct Prover<'a> {
    trace: &'a Trace,
    model: &'a Model,
    p: &'a Problem,
    conflicts: &'a [Conflict],
    /// Topological places of the last sorted graph, to keep searches short; empty before the first.
    rank: &'a [u32],
    /// Extras by their earlier node.
    by_from: FxHashMap<u32, Vec<u32>>,
    /// Lemma number of each conflict that is one.
    lemma_of: FxHashMap<u32, u32>,
    lemmas: Vec<Lemma>,
}

/// A lemma being written.
#[derive(Default)]
struct Draft {
    guesses: Vec<Guess>,
    /// Guesses that hold because an earlier conflict refutes their opposite.
    implied: FxHashMap<(u32, u32), u32>,
    lemma: Lemma,
    known: FxHashMap<(Event, Event), u32>,
}

impl<'a> Prover<'a> {
    pub fn new(
        trace: &'a Trace,
        model: &'a Model,
        p: &'a Problem,
        conflicts: &'a [Conflict],
        rank: &'a [u32],
    ) -> Prover<'a> {
        let mut by_from: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (i, extra) in p.extras.iter().enumerate() {
            by_from.entry(extra.from).or_default().push(i as u32);
        }
        let lemma_of = FxHashMap::default();
        Prover { trace, model, p, conflicts, rank, by_from, lemma_of, lemmas: Vec::new() }
    }

    /// The proof that ends in this cycle, which rests on no guess.
    pub fn cycle(mut self, cycle: Vec<Wait>) -> Proof {
        self.write(&Conflict { guesses: Vec::new(), cycle, implied: Vec::new(), overwritten: None });
        Proof::Cycle(self.lemmas)
    }

    /// The proof that ends with the last conflict.
    pub fn last_conflict(mut self) -> Proof {
        // Write what the last one needs oldest first, so that proving one lemma does not mean proving all before it.
        let mut needed = vec![false; self.conflicts.len()];
        *needed.last_mut().expect("a conflict") = true;
        for i in (0..self.conflicts.len()).rev() {
            if needed[i] {
                for wait in &self.conflicts[i].cycle {
                    if let WaitWhy::Extra(extra) = wait.why
                        && let Why::Lemma(lemma) = self.p.extras[extra as usize].why
                    {
                        needed[lemma as usize] = true;
                    }
                }
                self.conflicts[i].implied.iter().for_each(|&(_, lemma)| needed[lemma as usize] = true);
            }
        }
        for i in (0..self.conflicts.len()).filter(|&i| needed[i]) {
            self.lemma(i as u32);
        }
        Proof::Cycle(self.lemmas)
    }

    /// The proof that R6 puts a write before the initial value that `load` returned.
    pub fn before_init(mut self, write: u32, load: u32) -> Proof {
        let mut draft = Draft::default();
        let path = self.search(&mut draft, write, load, u32::MAX);
        let rule = Rule::BeforeRead { load: self.event(load) };
        let before = self.add(&mut draft, write, Event::INIT, rule, path);
        let after = self.add_events(&mut draft, Event::INIT, self.event(write), Rule::Init, vec![]);
        draft.lemma.cycle = vec![before, after];
        self.lemmas.push(draft.lemma);
        Proof::Cycle(self.lemmas)
    }

    /// Writes a lemma, and first those that it needs.
    fn write(&mut self, conflict: &Conflict) -> u32 {
        let mut draft = Draft { guesses: conflict.guesses.clone(), ..Draft::default() };
        draft.implied.extend(conflict.implied.iter().map(|&(guess, lemma)| ((guess.first, guess.second), lemma)));
        draft.lemma.assume = conflict.guesses.iter().map(|&guess| self.assumption(guess)).collect();
        if let Some(overwritten) = &conflict.overwritten {
            self.overwritten(&mut draft, conflict, overwritten);
        } else {
            draft.lemma.cycle = self.path(&mut draft, &conflict.cycle, true);
        }
        self.lemmas.push(draft.lemma);
        self.lemmas.len() as u32 - 1
    }

    /// The cycle of a read whose value was overwritten in a partial order.
    fn overwritten(&mut self, draft: &mut Draft, conflict: &Conflict, overwritten: &Overwritten) {
        let by = self.event(overwritten.by);
        let mut premise = self.path(draft, &overwritten.premise, false);
        if premise.is_empty() {
            premise.push(self.add_events(draft, Event::INIT, by, Rule::Init, vec![]));
        }
        let (read, mut cycle) = match conflict.cycle.split_last() {
            Some((close, way)) => (self.event(close.from), self.path(draft, way, false)),
            None => (Event::FINAL, vec![self.add_events(draft, by, Event::FINAL, Rule::Final, vec![])]),
        };
        cycle.push(self.add_events(draft, read, by, Rule::AfterRead, premise));
        draft.lemma.cycle = cycle;
    }

    fn lemma(&mut self, conflict: u32) -> u32 {
        if let Some(&lemma) = self.lemma_of.get(&conflict) {
            return lemma;
        }
        let conflicts = self.conflicts;
        let lemma = self.write(&conflicts[conflict as usize]);
        self.lemma_of.insert(conflict, lemma);
        lemma
    }

    fn event(&self, node: u32) -> Event {
        self.p.event(self.trace, node).expect("not a collector")
    }

    fn assumption(&self, guess: Guess) -> Assumption {
        Assumption { first: self.event(guess.first), second: self.event(guess.second) }
    }

    fn add(&self, draft: &mut Draft, from: u32, to: Event, rule: Rule, premises: Vec<u32>) -> u32 {
        let from = self.event(from);
        self.add_events(draft, from, to, rule, premises)
    }

    fn add_events(&self, draft: &mut Draft, from: Event, to: Event, rule: Rule, premises: Vec<u32>) -> u32 {
        let step = draft.lemma.steps.len() as u32;
        draft.lemma.steps.push(ProofStep { from, to, rule, premises });
        draft.known.entry((from, to)).or_insert(step);
        step
    }

    fn known(&self, draft: &Draft, from: u32, to: u32) -> Option<u32> {
        draft.known.get(&(self.event(from), self.event(to))).copied()
    }

    /// Steps for a chain of waits, head to tail; `closed` if it ends where it begins.
    fn path(&mut self, draft: &mut Draft, waits: &[Wait], closed: bool) -> Vec<u32> {
        let p = self.p;
        let collector = |node: u32| p.addr[node as usize] == NONE;
        let mut waits = waits.to_vec();
        if closed {
            // Begin at an operation.
            let start = waits.iter().position(|wait| !collector(wait.from)).expect("an operation on the cycle");
            waits.rotate_left(start);
        }
        let mut steps = Vec::new();
        let mut at = 0;
        while at < waits.len() {
            let from = waits[at].from;
            let mut end = at;
            while collector(waits[end].to) {
                end += 1;
            }
            let wait = Wait { from, to: waits[end].to, ..waits[at] };
            steps.push(self.step(draft, wait));
            at = end + 1;
        }
        steps
    }

    fn step(&mut self, draft: &mut Draft, wait: Wait) -> u32 {
        let Wait { from, to, why } = wait;
        if let Some(step) = self.known(draft, from, to) {
            return step;
        }
        let to_event = self.event(to);
        match why {
            WaitWhy::ReadsFrom => self.add(draft, from, to_event, Rule::ReadsFrom, vec![]),
            WaitWhy::Extra(extra) => self.extra(draft, extra),
            WaitWhy::Overwrites => self.overwrites(draft, from, to),
            WaitWhy::Overwritten => unreachable!("closes a cycle, see `overwritten`"),
            WaitWhy::Assumed => self.holds(draft, Guess { first: from, second: to }),
            WaitWhy::Graph => {
                let ops = [from, to].map(|node| self.p.op(self.trace, node).expect("an operation"));
                if let Some(rule) = pair_rule(self.trace, self.model, ops[0], ops[1]) {
                    return self.add(draft, from, to_event, rule, vec![]);
                }
                let extra = self.by_from[&from]
                    .iter()
                    .copied()
                    .find(|&i| self.p.extras[i as usize].to == to && (i as usize) < self.p.static_extras)
                    .expect("program order or an extra");
                self.extra(draft, extra)
            }
        }
    }

    fn extra(&mut self, draft: &mut Draft, index: u32) -> u32 {
        let extra = self.p.extras[index as usize];
        let (from, to) = (extra.from, extra.to);
        if let Some(step) = self.known(draft, from, to) {
            return step;
        }
        let to_event = self.event(to);
        let op = |prover: &Self, node: u32| prover.p.op(prover.trace, node).expect("an operation");
        match extra.why {
            Why::OwnStore(load) => {
                let rule = Rule::OwnStore { load: op(self, load) };
                self.add(draft, from, to_event, rule, vec![])
            }
            Why::SeenBefore(first, second) => {
                if self.p.forwarded(first) {
                    let rule = Rule::OwnStore { load: op(self, second) };
                    return self.add(draft, from, to_event, rule, vec![]);
                }
                let seen = self.step(draft, Wait { from, to: first, why: WaitWhy::ReadsFrom });
                let then = self.step(draft, Wait { from: first, to: second, why: WaitWhy::Graph });
                let rule = Rule::BeforeRead { load: self.event(second) };
                self.add(draft, from, to_event, rule, vec![seen, then])
            }
            Why::Final => {
                let end = match draft.known.get(&(self.event(from), Event::FINAL)) {
                    Some(&step) => step,
                    None => self.add(draft, from, Event::FINAL, Rule::Final, vec![]),
                };
                self.add(draft, from, to_event, Rule::BeforeRead { load: Event::FINAL }, vec![end])
            }
            Why::WriteOrder => self.add(draft, from, to_event, Rule::WriteOrder, vec![]),
            Why::BeforeRead { load, limit } => {
                let path = self.search(draft, from, load, limit);
                let rule = Rule::BeforeRead { load: self.event(load) };
                self.add(draft, from, to_event, rule, path)
            }
            Why::AfterRead { limit } => {
                let path = self.search(draft, self.p.src[from as usize], to, limit);
                self.add(draft, from, to_event, Rule::AfterRead, path)
            }
            Why::Choice => self.holds(draft, Guess { first: from, second: to }),
            Why::Lemma(_) if extra.conditional => self.holds(draft, Guess { first: from, second: to }),
            Why::Lemma(conflict) => self.case(draft, Guess { first: from, second: to }, conflict),
        }
    }

    /// `first ≤ second`, as an assumption or because it was learned.
    fn holds(&mut self, draft: &mut Draft, guess: Guess) -> u32 {
        if let Some(step) = self.known(draft, guess.first, guess.second) {
            return step;
        }
        if let Some(i) = draft.guesses.iter().position(|&assumed| assumed == guess) {
            let to = self.event(guess.second);
            return self.add(draft, guess.first, to, Rule::Assume(i as u32), vec![]);
        }
        let conflict = draft.implied[&(guess.first, guess.second)];
        self.case(draft, guess, conflict)
    }

    /// `guess` because the conflict refutes its opposite, and the conflict's other guesses hold.
    fn case(&mut self, draft: &mut Draft, guess: Guess, conflict: u32) -> u32 {
        let conflicts = self.conflicts;
        let others = conflicts[conflict as usize].guesses.iter().filter(|&&other| other != guess.flip());
        let premises = others.map(|&other| self.holds(draft, other)).collect();
        let lemma = self.lemma(conflict);
        let to = self.event(guess.second);
        self.add(draft, guess.first, to, Rule::Case(lemma), premises)
    }

    /// R7 for a read and a write that the search put after its source.
    fn overwrites(&mut self, draft: &mut Draft, read: u32, write: u32) -> u32 {
        let p = self.p;
        let source = p.src[read as usize];
        // The write's chain, from its head (or from the source, if that is on it) to the write.
        let mut behind = vec![write];
        while let Some(&at) = behind.last()
            && at != source
            && p.src[at as usize] != NONE
            && behind.len() <= p.ops
        {
            behind.push(p.src[at as usize]);
        }
        behind.reverse();
        let second = behind[0];
        let mut path = Vec::new();
        if second != source {
            // The source's chain, from its head.
            let mut chain = vec![source];
            while let Some(&at) = chain.last()
                && p.src[at as usize] != NONE
                && chain.len() <= p.ops
            {
                chain.push(p.src[at as usize]);
            }
            chain.reverse();
            let second_event = self.event(second);
            let mut step = if p.is_init(chain[0]) {
                match self.known(draft, chain[0], second) {
                    Some(step) => step,
                    None => self.add(draft, chain[0], second_event, Rule::Init, vec![]),
                }
            } else {
                self.holds(draft, Guess { first: chain[0], second })
            };
            for &rmw in &chain[1..] {
                step = match self.known(draft, rmw, second) {
                    Some(step) => step,
                    None => self.add(draft, rmw, second_event, Rule::AfterRead, vec![step]),
                };
            }
            path.push(step);
        }
        for pair in behind.windows(2) {
            path.push(self.step(draft, Wait { from: pair[0], to: pair[1], why: WaitWhy::ReadsFrom }));
        }
        if read == write {
            return path[0];
        }
        let to = self.event(write);
        self.add(draft, read, to, Rule::AfterRead, path)
    }

    /// Steps of a shortest path in the graph with the extras below `limit`.
    fn search(&mut self, draft: &mut Draft, from: u32, to: u32, limit: u32) -> Vec<u32> {
        let p = self.p;
        if p.is_init(from) {
            if let Some(step) = self.known(draft, from, to) {
                return vec![step];
            }
            let to = self.event(to);
            return vec![self.add(draft, from, to, Rule::Init, vec![])];
        }
        let last = self.rank.get(to as usize).copied().unwrap_or(NONE);
        let mut parent: FxHashMap<u32, Wait> = FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to && parent.contains_key(&to) {
                break;
            }
            let mut visit = |next: u32, why: WaitWhy| {
                let rank = self.rank.get(next as usize).copied().unwrap_or(0);
                if rank <= last && !parent.contains_key(&next) {
                    parent.insert(next, Wait { from: node, to: next, why });
                    queue.push_back(next);
                }
            };
            for &next in p.succ(node) {
                visit(next, WaitWhy::Graph);
            }
            for &reader in p.readers(node) {
                if !p.forwarded(reader) {
                    visit(reader, WaitWhy::ReadsFrom);
                }
            }
            for &i in self.by_from.get(&node).into_iter().flatten() {
                let extra = &p.extras[i as usize];
                if i < limit && i as usize >= p.static_extras && !extra.conditional {
                    visit(extra.to, WaitWhy::Extra(i));
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        loop {
            let wait = parent[&at];
            path.push(wait);
            at = wait.from;
            if at == from {
                break;
            }
        }
        path.reverse();
        self.path(draft, &path, false)
    }
}
