//! Learning from the scheduler's dead ends.
//!
//! Problem: a conflict is a set of guesses that cannot all hold, and now all of them do. Which decision is undone, and what
//! is known from now on? Guesses *stand* because of a decision (an execution or a choice) or because they were learned, which in turn rests
//! on decisions; [`Time`] orders decisions.
//!
//! Algorithm:
//! 1. The guesses of a cycle of waiting are those that its edges rest on. If there are several, and it passes several stores of
//!    one address, each stage between two of them becomes a learned edge first.
//! 2. Guesses that were learned since the latest decision, and those that hold always, are replaced by the guesses they were learned from
//!    ([`Scheduler::explain`]).
//! 3. The conflict is recorded, and the latest decision it rests on is undone. If the other guesses rest on earlier decisions, the
//!    opposite of the last one is learned: it stands as long as the latest of those.
//! 4. Before a store executes, the conflicts that have it as the first of a guess are looked at ([`Scheduler::nogood`]). If one would be
//!    repeated, and one guess is left to be wrong, that is learned; if several are, one is chosen.
//!
//! Invariants: the level of a learned edge is the latest time of the guesses it was learned from, so it is dropped with the first of
//! them. A conflict refers to older conflicts only.
//!
//! Guarantees: a cycle shows that its guesses cannot all hold. Step 2 is resolution: what was learned from a conflict is implied by the
//! conflict's other guesses. So every recorded conflict is one of the trace, and a conflict without guesses refutes the trace.
//!
//! Complexity: for each conflict, a look at the learned edges of the first store of each guess, for as many guesses as steps 1 and 2 go
//! through; step 4 looks at each guess of each conflict that names the store.

use super::{ALWAYS, Choice, Conflict, DynEdge, Guess, Nogood, Overwritten, Scheduler, Time, Wait, WaitWhy};
use crate::problem::{Extra, NONE, Problem, Why};

/// How to treat a store whose execution would repeat a conflict.
pub(super) enum Repeats {
    /// It has to wait for another one.
    Waits,
    /// Waiting does not help.
    Conflict(Conflict),
}

/// Guesses from which on a cycle is worked out by stages.
const STAGED: usize = 2;

impl Scheduler {
    /// Since when the guess stands, if it does, and the conflict that implies it, unless it was decided.
    fn standing(&self, p: &Problem, guess: Guess) -> Option<(Time, Option<u32>)> {
        let mut since: Option<(Time, Option<u32>)> = None;
        if let Some(&at) = self.choice_of.get(&guess) {
            since = Some(((2 * self.choices[at as usize].length + 2, at), None));
        }
        let place = self.place[guess.first as usize];
        if place != NONE && self.place[guess.second as usize] > place {
            // Before the first piece of its access.
            let time = (2 * self.place[p.first(guess.first) as usize] + 3, 0);
            since = Some(since.map_or((time, None), |since| since.min((time, None))));
        }
        let mut edge = self.dyn_succ[guess.first as usize];
        while edge != NONE {
            let DynEdge { to, extra, level, next_succ, .. } = self.dyn_edges[edge as usize];
            if to == guess.second
                && let Why::Lemma(lemma) = p.extras[extra as usize].why
                && since.is_none_or(|(time, reason)| level < time || (level == time && reason.is_some()))
            {
                // Of two edges the older one, which cannot rest on the newer: the list has it last.
                since = Some((level, Some(lemma)));
            }
            edge = next_succ;
        }
        since
    }

    /// The same conflict in terms of earlier guesses: of the latest decision nothing is left but that decision itself, and
    /// guesses that hold always are left out.
    fn explain(&self, p: &Problem, mut conflict: Conflict) -> Conflict {
        let since = |guess: Guess| self.standing(p, guess).expect("a conflict is about guesses that stand");
        let Conflict { guesses, implied, .. } = &mut conflict;
        loop {
            let Some(latest) = guesses.iter().map(|&guess| since(guess).0).max() else { return conflict };
            let at = guesses.iter().position(|&guess| match since(guess) {
                (time, Some(_)) => time == latest || time == ALWAYS,
                (_, None) => false,
            });
            let Some(at) = at else { return conflict };
            let guess = guesses.swap_remove(at);
            let lemma = since(guess).1.expect("implied");
            implied.push((guess, lemma));
            for &reason in &self.conflicts[lemma as usize].guesses {
                if reason != guess.flip() && !guesses.contains(&reason) {
                    guesses.push(reason);
                }
            }
        }
    }

    /// Would executing `store` now repeat a known conflict?
    ///
    /// Of the guesses that would come true with it, one has to be wrong. If it is clear which, that is learned; otherwise
    /// one is chosen to be wrong.
    pub(super) fn nogood(&mut self, p: &mut Problem, store: u32) -> Option<Repeats> {
        if !p.grouped() {
            return self.nogood_of(p, store);
        }
        let pieces: Vec<u32> = p.pieces(store).collect();
        pieces.into_iter().find_map(|piece| self.nogood_of(p, piece))
    }

    fn nogood_of(&mut self, p: &mut Problem, store: u32) -> Option<Repeats> {
        let mut at = *self.nogood_head.get(store as usize)?;
        'conflicts: while at != NONE {
            let Nogood { conflict, next } = self.nogoods[at as usize];
            at = next;
            let mut level = ALWAYS;
            let mut open = [None; 2];
            for &guess in &self.conflicts[conflict as usize].guesses {
                if let Some((time, _)) = self.standing(p, guess) {
                    level = level.max(time);
                } else if p.first(guess.first) == p.first(store) && !self.executed(guess.second) {
                    open = [Some(guess), open[0]];
                } else {
                    // Already known to be wrong.
                    continue 'conflicts;
                }
            }
            match open {
                [None, _] => {
                    let again = self.conflicts[conflict as usize].clone();
                    return Some(Repeats::Conflict(self.explain(p, again)));
                }
                [Some(guess), None] => self.learn(p, guess, conflict, level),
                [Some(guess), Some(_)] => {
                    let guess = guess.flip();
                    let extra = Extra { conditional: true, ..Extra::new(guess.first, guess.second, Why::Choice) };
                    let edge = self.link(p, extra);
                    self.choice_of.insert(guess, self.choices.len() as u32);
                    self.choices.push(Choice { guess, edge, length: self.order.len() as u32 });
                }
            }
            return Some(Repeats::Waits);
        }
        None
    }

    /// From now on (while the decision at `level` stands) the second store of the guess is before the first.
    fn learn(&mut self, p: &mut Problem, guess: Guess, mut conflict: u32, level: Time) {
        let conditional = level > ALWAYS;
        if !conditional && self.conflicts[conflict as usize].guesses.len() > 1 {
            // The others hold always: a conflict of this guess alone.
            let mut alone = self.conflicts[conflict as usize].clone();
            alone.guesses.retain(|&other| other != guess);
            alone = self.explain(p, alone);
            alone.guesses.push(guess);
            conflict = self.record(p, alone);
        }
        let extra = Extra { conditional, ..Extra::new(guess.second, guess.first, Why::Lemma(conflict)) };
        let edge = self.link(p, extra);
        self.dyn_edges[edge as usize].level = level;
        if conditional {
            self.conditional.push((level, edge));
        }
    }

    /// Keeps a conflict, and returns its number. From now on the first stores of its guesses execute by decision only.
    fn record(&mut self, p: &Problem, conflict: Conflict) -> u32 {
        self.named.resize(p.nodes, false);
        for guess in &conflict.guesses {
            self.named[guess.first as usize] = true;
        }
        self.learned_bytes += conflict.bytes();
        self.conflicts.push(conflict);
        self.conflicts.len() as u32 - 1
    }

    /// Why nothing can execute.
    pub(super) fn find_conflict(&mut self, p: &mut Problem, cycle: Vec<Wait>) -> Conflict {
        let cycle = self.better_cycle(p, cycle);
        let mut cycle = self.by_stages(p, cycle);
        let guesses = self.rests_on(p, &cycle);
        cycle.shrink_to_fit();
        self.explain(p, Conflict { guesses, cycle, implied: Vec::new(), overwritten: None })
    }

    /// The conflict that a read of an overwritten value makes.
    pub(crate) fn partial_conflict(&self, p: &Problem, cycle: Vec<Wait>, premise: Vec<Wait>, by: u32) -> Conflict {
        let mut guesses = self.rests_on(p, &cycle);
        for guess in self.rests_on(p, &premise) {
            if !guesses.contains(&guess) {
                guesses.push(guess);
            }
        }
        let overwritten = Some(Box::new(Overwritten { by, premise }));
        self.explain(p, Conflict { guesses, cycle, implied: Vec::new(), overwritten })
    }

    /// The guesses that some edges rest on.
    fn rests_on(&self, p: &Problem, waits: &[Wait]) -> Vec<Guess> {
        let mut guesses: Vec<Guess> = Vec::new();
        for wait in waits {
            let guess = match wait.why {
                WaitWhy::Overwrites => self.guess(p, *wait),
                WaitWhy::Extra(extra) if p.extras[extra as usize].conditional => {
                    Some(Guess { first: wait.from, second: wait.to })
                }
                _ => None,
            };
            guesses.extend(guess.filter(|guess| !guesses.contains(guess)));
        }
        guesses
    }

    /// Is it a write of the address that reads nothing?
    fn is_store_of(&self, p: &Problem, node: u32, x: u32) -> bool {
        p.writes(node) && p.addr[node as usize] == x && self.head[node as usize] == node
    }

    /// The same cycle, with an edge learned for each stage between two stores of one address that several guesses lead
    /// through: what a stage rests on is then worked out once, not once for every way through the other stages.
    fn by_stages(&mut self, p: &mut Problem, mut cycle: Vec<Wait>) -> Vec<Wait> {
        let guessed = self.rests_on(p, &cycle).len();
        // Where accesses have pieces, a stage may end at another piece than the next one begins.
        if guessed < STAGED || p.grouped() {
            return cycle;
        }
        // The address with the most stores on the cycle.
        let stores = |x: u32| cycle.iter().filter(|wait| self.is_store_of(p, wait.from, x)).count();
        let Some(x) = cycle
            .iter()
            .filter(|wait| p.writes(wait.from))
            .map(|wait| p.addr[wait.from as usize])
            .max_by_key(|&x| stores(x))
        else {
            return cycle;
        };
        if stores(x) < 2 {
            return cycle;
        }
        let start = cycle.iter().position(|wait| self.is_store_of(p, wait.from, x)).expect("two of them");
        cycle.rotate_left(start);
        let mut staged = Vec::new();
        let mut at = 0;
        while at < cycle.len() {
            let mut end = at + 1;
            while end < cycle.len() && !self.is_store_of(p, cycle[end].from, x) {
                end += 1;
            }
            let stage = &cycle[at..end];
            let edge = Guess { first: stage[0].from, second: stage[stage.len() - 1].to };
            let guesses = self.rests_on(p, stage);
            let known = guesses.is_empty() || self.standing(p, edge).is_some();
            if known || guesses.len() == guessed || stage.len() == 1 {
                staged.extend_from_slice(stage);
            } else {
                let mut back = stage.to_vec();
                back.push(Wait { from: edge.second, to: edge.first, why: WaitWhy::Assumed });
                let since = |guess: &Guess| self.standing(p, *guess).expect("a conflict is about guesses that stand").0;
                let level = guesses.iter().map(since).max().expect("not empty");
                let mut conflict =
                    self.explain(p, Conflict { guesses, cycle: back, implied: Vec::new(), overwritten: None });
                conflict.guesses.push(edge.flip());
                let lemma = self.record(p, conflict);
                self.learn(p, edge.flip(), lemma, level);
                let extra = p.extras.len() as u32 - 1;
                staged.push(Wait { from: edge.first, to: edge.second, why: WaitWhy::Extra(extra) });
            }
            at = end;
        }
        staged
    }

    /// Learns from a conflict. `false`: the trace is refuted.
    pub(super) fn resolve_conflict(&mut self, p: &mut Problem, conflict: Conflict) -> bool {
        let lemma = self.conflicts.len() as u32;
        let since = |guess: Guess| self.standing(p, guess).expect("a conflict is about guesses that stand").0;
        let mut times: Vec<(Time, Guess)> = conflict.guesses.iter().map(|&guess| (since(guess), guess)).collect();
        times.sort_unstable_by_key(|&(time, _)| time);
        if times.len() > 1 {
            self.nogood_head.resize(p.nodes, NONE);
            for guess in &conflict.guesses {
                let id = self.nogoods.len() as u32;
                let next = std::mem::replace(&mut self.nogood_head[guess.first as usize], id);
                self.nogoods.push(Nogood { conflict: lemma, next });
            }
        }
        self.record(p, conflict);
        let Some((time, last)) = times.pop() else { return false };
        self.undo(p, time);
        // Several guesses that follow from one decision: `nogood` keeps it from being repeated.
        let level = times.last().map_or(ALWAYS, |&(time, _)| time);
        if level != time {
            self.learn(p, last, lemma, level);
        }
        true
    }
}
