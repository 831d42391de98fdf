//! What an operation that has not executed waits for, and for how long.

use super::lists::{WINDOW, fill};
use super::{Because, FAR, Fix, Forward, Learned, Wait};
use crate::problem::NONE;

/// How unlikely it is, as a distance, that a read returned an earlier write than the last one.
const EARLIER: u32 = 1000;

impl Forward<'_> {
    /// The first read of a thread that has not executed.
    pub(super) fn front(&mut self, t: usize) -> u32 {
        let end = self.p.thread_start[t + 1];
        let front = &mut self.front[t];
        while *front < end && (self.place[*front as usize] != NONE || self.reads[*front as usize] == NONE) {
            *front += 1;
        }
        *front
    }

    /// How far a node is from the first read of its thread that has not executed; or, where it is known, for how long it would have to wait.
    pub(super) fn distance(&mut self, node: u32) -> u32 {
        if let Some(&when) = self.when.get(node as usize) {
            return when.saturating_sub(self.now());
        }
        let t = self.p.thread(node);
        node.saturating_sub(self.front(t))
    }

    /// A distance as one in a thread: times count the operations of all threads.
    pub(super) fn in_a_thread(&self, distance: u32) -> u32 {
        if self.when.is_empty() { distance } else { distance / self.front.len() as u32 }
    }

    /// The nearest store that has still to write this: not this one, nor a later one of the thread of this read.
    pub(super) fn supply(&mut self, key: u32, but: u32, read: u32) -> (u32, u32) {
        if self.writers.left[key as usize] == 0 {
            return (FAR, NONE);
        }
        let mut near = [NONE; WINDOW];
        let p = self.p;
        let (not, learned) = (self.not.get(&read), &self.learned);
        let other = |node: u32| {
            let mut known = not.into_iter().flatten().map(|&l| &learned[l as usize]);
            known.any(|learned| !learned.gone && learned.fix == Fix::Other(read, node))
        };
        let usable = |node: u32| {
            node != but && (read == NONE || ((node < read || p.thread(node) != p.thread(read)) && !other(node)))
        };
        let n = fill(&mut near, self.writers.open(key, &self.place).filter(|&node| usable(node)));
        near[..n].iter().map(|&node| (self.distance(node), node)).min().unwrap_or((FAR, NONE))
    }

    /// Reads that have still to read this from memory, with their distances.
    pub(super) fn demand(&mut self, key: u32, but: u32, from: u32) -> ([(u32, u32); WINDOW], usize) {
        let mut near = [NONE; WINDOW];
        let (own, place) = (&self.own, &self.place);
        let from_memory = |node: u32| {
            let own = own[node as usize];
            own == NONE || own == from || place[own as usize] != NONE
        };
        let n = fill(&mut near, self.readers.open(key, place).filter(|&node| node != but && from_memory(node)));
        let mut all = [(FAR, NONE); WINDOW];
        for i in 0..n {
            all[i] = (self.distance(near[i]), near[i]);
        }
        (all, n)
    }

    /// What a store that is ready has to wait for.
    pub(super) fn held_by(&mut self, store: u32) -> Wait {
        let i = store as usize;
        let x = self.p.addr[i] as usize;
        let lock = self.locked[x];
        if lock != NONE && self.p.thread(lock) != self.p.thread(store) {
            let load = self.pair[&lock];
            return Wait::For(lock, Because::Guess(vec![(self.place[load as usize], Fix::Order(store, load))]));
        }
        for &l in self.orders.get(&store).into_iter().flatten() {
            if let Learned { fix: Fix::Order(first, _), gone: false, .. } = self.learned[l as usize]
                && !self.executed(first)
            {
                return Wait::For(first, Because::Learned(l, None));
            }
        }
        let mine = self.writes[i];
        if mine == NONE {
            return Wait::May;
        }
        let current = self.current[x];
        let key = self.writes[current as usize];
        let last = self.last[x];
        if last != NONE && self.stores.left[x] > 1 {
            let early = mine == last && self.writers.left[last as usize] == 1;
            let lost = key == last && mine != last && self.writers.left[last as usize] == 0;
            if early {
                // Any other one has to come first.
                let (p, t) = (self.p, self.p.thread(store));
                let before = |node: u32| node != store && !(p.thread(node) == t && node > store);
                let other = self.stores.open(x as u32, &self.place).find(|&node| before(node));
                return other.map_or(Wait::Never, |other| Wait::For(other, Because::Always));
            }
            if lost {
                return self.too_early(current, store);
            }
        } else if last != NONE && key == last && mine != last {
            return self.too_early(current, store);
        }
        // A read-modify-write that reads what is there could have read another write before it.
        let several = self.reads[i] == NONE || self.writes_of[key as usize] > 1;
        let movable = !self.p.is_init(current) && self.p.thread(current) != self.p.thread(store) && several;
        let order = movable.then(|| (self.place[current as usize], Fix::Order(store, current)));
        for &l in self.pins.get(&current).into_iter().flatten() {
            if let Learned { fix: Fix::Pin(_, reader), gone: false, .. } = self.learned[l as usize]
                && reader != store
                && !self.executed(reader)
            {
                return Wait::For(reader, Because::Learned(l, order));
            }
        }
        if key == mine || self.readers.left[key as usize] == 0 {
            return Wait::May;
        }
        let (all, n) = self.demand(key, store, NONE);
        let is_free = |reader: u32| self.holds(self.free.get(&current), Fix::Free(current, reader));
        let nearest = all[..n].iter().filter(|&&(_, reader)| !is_free(reader)).min();
        let Some(&(near, reader)) = nearest else { return Wait::May };
        let supply = self.supply(key, store, reader).0;
        let life = self.life[x];
        if supply < near || (near > life && supply < near + near / 2 + life) {
            return Wait::May;
        }
        let mut guesses = Vec::new();
        guesses.extend(order);
        if supply != FAR {
            let rank = self.rank(self.in_a_thread(supply.saturating_sub(near)));
            guesses.push((rank, Fix::Free(current, reader)));
        }
        if let Some((_, missed)) = self.missed(reader) {
            guesses.push(missed);
        }
        Wait::For(reader, Because::Guess(guesses))
    }

    /// A write was executed that has to come after this store.
    fn too_early(&self, write: u32, store: u32) -> Wait {
        if self.p.is_init(write) {
            return Wait::Never;
        }
        Wait::Late(vec![(self.place[write as usize], Fix::Order(store, write))])
    }

    /// For how long the address would be held up by this store.
    pub(super) fn hold(&mut self, store: u32) -> u32 {
        if self.writes[store as usize] == NONE {
            let conditional = self.pair[&store];
            let edges = self.p.succ(store).iter().filter(|&&next| next == conditional).count() as u32;
            let ready = self.indegree[conditional as usize] <= edges;
            return if ready { self.hold(conditional) } else { conditional - store };
        }
        let key = self.writes[store as usize];
        if self.readers.left[key as usize] == 0 {
            return 0;
        }
        let supply = self.supply(key, store, NONE).0;
        let (all, n) = self.demand(key, store, store);
        let mut worst = 0;
        for &(distance, node) in &all[..n] {
            if distance <= supply && self.indegree[node as usize] != 0 {
                worst = worst.max(distance + 1);
            }
        }
        worst
    }

    /// Does a ready store that reads too find its value?
    pub(super) fn finds_value(&self, store: u32) -> bool {
        self.reads[store as usize] == NONE
            || (self.in_memory(store) && (self.writes[store as usize] != NONE || self.own_pending(store).is_none()))
    }

    /// Lists what comes before each node, once.
    pub(super) fn predecessors(&mut self) {
        if !self.pred_start.is_empty() {
            return;
        }
        let p = self.p;
        let mut start = vec![0u32; p.nodes + 2];
        for &to in &p.succ {
            start[to as usize + 2] += 1;
        }
        for i in 0..p.nodes {
            start[i + 2] += start[i + 1];
        }
        self.pred = vec![0; p.succ.len()];
        for from in 0..p.nodes as u32 {
            for &to in p.succ(from) {
                let at = &mut start[to as usize + 1];
                self.pred[*at as usize] = from;
                *at += 1;
            }
        }
        self.pred_start = start;
    }

    /// What a node that has not executed waits for.
    pub(super) fn waits_for(&mut self, node: u32) -> Wait {
        let i = node as usize;
        if self.indegree[i] != 0 {
            if self.loads_first && i < self.p.ops {
                let front = self.front(self.p.thread(node));
                if front < node {
                    return Wait::For(front, Because::Always);
                }
            }
            let preds = self.pred_start[i] as usize..self.pred_start[i + 1] as usize;
            let from = self.pred[preds].iter().copied().find(|&from| !self.executed(from)).expect("it waits");
            return Wait::For(from, Because::Always);
        }
        if i >= self.p.ops {
            return Wait::May;
        }
        if self.reads[i] == NONE {
            return self.held_by(node);
        }
        let stores = self.writes[i] != NONE || self.is_reserved(node);
        if stores && self.finds_value(node) {
            return self.held_by(node);
        }
        let key = self.reads[i];
        if let Some(own) = self.own_pending(node) {
            return Wait::For(own, Because::Always);
        }
        let (supply, store) = self.supply(key, node, node);
        if let Some((source, guess)) = self.missed(node) {
            let age = (self.order.len() as u32 - guess.0) / self.front.len() as u32;
            if supply == FAR {
                // Or it returned a write before that one.
                return Wait::Late(vec![guess, (self.rank(age + EARLIER), Fix::Other(node, source))]);
            }
            let other = self.other(node, store, supply);
            return Wait::For(store, Because::Guess(std::iter::once(guess).chain(other).collect()));
        }
        if store == NONE {
            return Wait::Never;
        }
        let other = self.other(node, store, supply);
        Wait::For(store, other.map_or(Because::Always, |other| Because::Guess(vec![other])))
    }
}
