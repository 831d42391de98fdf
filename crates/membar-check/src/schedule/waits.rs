//! Waits between operations when nothing can execute, and a cycle of such waits with few guesses.
//!
//! Problem: the scheduler is stuck, or part of it is: operations wait for each other, for good (the graph, reads-from) or
//! because of a guess (a write that must not come before the readers of the current one). The lesson is a cycle of
//! such waits: not all of its guesses can hold, so the fewer the better.
//!
//! Algorithm: walk from a waiting operation to what it waits for until something comes again: that is a cycle ([`super::decide`] walks as
//! well, and may find a store that can execute instead). Through the readers whose
//! guesses it rests on, search for better ones, breadth first by the number of guesses: at first one guess with little effort
//! from each reader, then with more, then several.
//!
//! Guarantees: what is returned is a cycle of waits that hold now. The search is bounded, so it need not be the shortest; it
//! only decides how much is learned, never what is answered.
//!
//! Complexity: O(n) for the first cycle, a bounded number of visits for better ones, O(n + e) once for lists of predecessors.

use super::{DynEdge, Guess, Scheduler, WINDOW, Wait, WaitWhy};
use crate::problem::{NONE, Problem};

/// Readers of one write that a conflict considers.
const READERS: usize = 8;
/// Visits that the analysis of a conflict may spend from one reader on cycles with one guess: few from each at first,
/// since the cycle is usually near.
const NEAR: [usize; 2] = [100, 1000];
/// The same for cycles with several guesses.
const FAR: usize = 1000;
/// Readers that it may try.
const STARTS: usize = 8;

/// The end of a walk from a waiting operation to what it waits for.
pub(super) enum Demand {
    /// At a store that may execute.
    Store(u32),
    /// Where it has been before.
    Cycle(Vec<Wait>),
}

impl Scheduler {
    pub(crate) fn make_preds(&mut self, p: &Problem) {
        if !self.pred_start.is_empty() {
            return;
        }
        self.pred_start.resize(p.nodes + 2, 0);
        for &to in &p.succ {
            self.pred_start[to as usize + 2] += 1;
        }
        for i in 1..p.nodes + 1 {
            self.pred_start[i + 1] += self.pred_start[i];
        }
        self.pred.clear();
        self.pred.resize(p.succ.len(), 0);
        for from in 0..p.nodes as u32 {
            for &to in p.succ(from) {
                let at = &mut self.pred_start[to as usize + 1];
                self.pred[*at as usize] = from;
                *at += 1;
            }
        }
        self.dyn_pred.clear();
        self.dyn_pred.resize(p.nodes, NONE);
        for id in 0..self.dyn_edges.len() {
            let to = self.dyn_edges[id].to as usize;
            if self.dyn_edges[id].from != NONE {
                self.dyn_edges[id].next_pred = std::mem::replace(&mut self.dyn_pred[to], id as u32);
            }
        }
        chain_heads(p, &mut self.head);
        self.first_reader.clear();
        self.first_reader.extend_from_slice(&p.reader_start);
        self.on_path.clear();
        self.on_path.resize(p.nodes, false);
        self.stamp.clear();
        self.stamp.resize(p.nodes, 0);
        self.epoch = 0;
        self.parent.clear();
        self.parent.resize(p.nodes, Wait { from: NONE, to: NONE, why: WaitWhy::Graph });
        self.distance.clear();
        self.distance.resize(p.nodes, 0);
    }

    /// Everything unexecuted that `node` waits for; what rests on a guess only if `guesses`.
    #[inline]
    fn for_each_wait(&mut self, p: &Problem, node: u32, guesses: bool, mut f: impl FnMut(Wait)) {
        for piece in p.pieces(node) {
            self.for_each_wait_of(p, piece, guesses, &mut f);
        }
    }

    #[inline]
    fn for_each_wait_of(&mut self, p: &Problem, node: u32, guesses: bool, f: &mut impl FnMut(Wait)) {
        let i = node as usize;
        for &from in &self.pred[self.pred_start[i] as usize..self.pred_start[i + 1] as usize] {
            if !self.executed(from) {
                f(Wait { from, to: node, why: WaitWhy::Graph });
            }
        }
        let mut edge = self.dyn_pred[i];
        while edge != NONE {
            let DynEdge { from, extra, next_pred, .. } = self.dyn_edges[edge as usize];
            if !self.executed(from) {
                f(Wait { from, to: node, why: WaitWhy::Extra(extra) });
            }
            edge = next_pred;
        }
        let src = p.src[i];
        if src != NONE && !self.executed(src) && !p.forwarded(node) {
            f(Wait { from: src, to: node, why: WaitWhy::ReadsFrom });
        }
        if p.writes(node) {
            let current = self.current[p.addr[i] as usize];
            let certain = src == current || p.is_init(current);
            if self.pending[current as usize] != 0 && (guesses || certain) {
                for from in self.waiting_readers(p, current).into_iter().flatten().filter(|&from| from != node) {
                    f(Wait { from, to: node, why: WaitWhy::Overwrites });
                }
            }
        }
    }

    /// A few readers of a write that have not executed: two at least, if there are that many.
    fn waiting_readers(&mut self, p: &Problem, write: u32) -> [Option<u32>; READERS] {
        let mut found = [None; READERS];
        let mut count = 0;
        let end = p.reader_start[write as usize + 1];
        let first = self.first_reader[write as usize];
        for at in first..end {
            let reader = p.readers[at as usize];
            if self.executed(reader) {
                continue;
            }
            if count == 0 {
                self.first_reader[write as usize] = at;
            }
            found[count] = Some(reader);
            count += 1;
            if count == READERS || (count > 1 && at > first + WINDOW as u32) {
                break;
            }
        }
        found
    }

    /// A cycle of waiting, where nothing can execute.
    pub(super) fn some_cycle(&mut self, p: &Problem) -> Vec<Wait> {
        self.make_preds(p);
        // An operation that waits and is waited for: a reader of the last write that still has one, if there is any.
        let held = self.order.iter().rev().copied().find(|&node| p.writes(node) && self.pending[node as usize] != 0);
        let start = held
            .and_then(|write| self.waiting_readers(p, write)[0])
            .unwrap_or_else(|| (0..p.nodes as u32).find(|&node| !self.executed(node)).expect("something waits"));
        self.leave_path(p);
        match self.demand(p, start) {
            Demand::Cycle(cycle) => cycle,
            Demand::Store(_) => unreachable!("nothing can execute"),
        }
    }

    /// A cycle with few guesses: this one, or a better one through the same readers.
    pub(super) fn better_cycle(&mut self, p: &Problem, mut cycle: Vec<Wait>) -> Vec<Wait> {
        let guessed =
            |scheduler: &Scheduler, wait: &Wait| wait.why == WaitWhy::Overwrites && scheduler.guess(p, *wait).is_some();
        let mut readers: Vec<u32> = cycle.iter().filter(|wait| guessed(self, wait)).map(|wait| wait.from).collect();
        let mut cost = readers.len() as u32;
        readers.sort_by_key(|&reader| self.place[p.src[reader as usize] as usize]);
        readers.truncate(STARTS);
        // A cycle with one guess gives an edge for good.
        for visits in NEAR {
            for &reader in &readers {
                if cost > 1
                    && let Some((_, better)) = self.cycle_through(p, reader, 2, visits, false)
                {
                    return better;
                }
            }
        }
        for &reader in &readers {
            if cost > 2
                && let Some((fewer, better)) = self.cycle_through(p, reader, cost, FAR, true)
            {
                (cost, cycle) = (fewer, better);
            }
        }
        cycle
    }

    /// The cycle through `reader` with the fewest guesses, if it has fewer than `bound` and is near.
    fn cycle_through(
        &mut self,
        p: &Problem,
        reader: u32,
        bound: u32,
        most_visits: usize,
        guesses: bool,
    ) -> Option<(u32, Vec<Wait>)> {
        self.epoch += 1;
        let epoch = self.epoch;
        let x = p.addr[reader as usize];
        let mut queue = std::mem::take(&mut self.queue);
        queue.clear();
        // Of an access with several pieces, the first one stands for all.
        let start = p.first(reader);
        queue.push_back(start);
        self.stamp[start as usize] = epoch;
        self.distance[start as usize] = 0;
        let mut visits = 0;
        let mut best: Option<(u32, Wait)> = None;
        let mut next_queue = std::mem::take(&mut self.next_queue);
        next_queue.clear();
        let mut level = 0;
        loop {
            let Some(node) = queue.pop_front() else {
                if next_queue.is_empty() {
                    break;
                }
                std::mem::swap(&mut queue, &mut next_queue);
                level += 1;
                continue;
            };
            let cost = self.distance[node as usize];
            if cost < level {
                continue;
            }
            if cost >= best.map_or(bound, |(cost, _)| cost) {
                break;
            }
            let over = p.pieces(node).find(|&piece| p.addr[piece as usize] == x && p.writes(piece));
            if node != start
                && let Some(over) = over
            {
                let close = Wait { from: reader, to: over, why: WaitWhy::Overwrites };
                let total = cost + self.guess(p, close).is_some() as u32;
                if total < best.map_or(bound, |(cost, _)| cost) {
                    best = Some((total, close));
                    if total == cost {
                        break;
                    }
                }
            }
            visits += 1;
            if visits > most_visits {
                break;
            }
            let mut waits = std::mem::take(&mut self.waits);
            self.for_each_wait(p, node, guesses, |wait| waits.push(wait));
            for wait in waits.drain(..) {
                let from = p.first(wait.from) as usize;
                let next = cost + (wait.why == WaitWhy::Overwrites && self.guess(p, wait).is_some()) as u32;
                if from as u32 == start {
                    // Closes without an edge that overwrites.
                    if next < best.map_or(bound, |(cost, _)| cost) {
                        best = Some((next, wait));
                    }
                } else if self.stamp[from] != epoch || self.distance[from] > next {
                    self.stamp[from] = epoch;
                    self.distance[from] = next;
                    self.parent[from] = wait;
                    if next == cost { &mut queue } else { &mut next_queue }.push_back(from as u32);
                }
            }
            self.waits = waits;
        }
        self.queue = queue;
        self.next_queue = next_queue;
        let (cost, close) = best?;
        let mut cycle = vec![close];
        let mut at = p.first(close.to);
        while at != start {
            let wait = self.parent[at as usize];
            cycle.push(wait);
            at = p.first(wait.to);
        }
        Some((cost, cycle))
    }

    /// Drops what has executed from the end of the path; the goal itself in the end.
    pub(super) fn trim_path(&mut self, p: &Problem) {
        while let Some(&Wait { from, .. }) = self.path.last()
            && self.executed(from)
        {
            self.on_path[p.first(from) as usize] = false;
            self.path.pop();
        }
    }

    /// The end of the goal's chain of waits: a store that may execute now, or the goal itself. The goal is that of the trimmed path, or,
    /// if there is none, this one.
    pub(super) fn demand(&mut self, p: &Problem, goal: u32) -> Demand {
        if self.path.is_empty() {
            self.path.push(Wait { from: goal, to: NONE, why: WaitWhy::Graph });
            self.on_path[p.first(goal) as usize] = true;
        }
        loop {
            let node = self.path[self.path.len() - 1].from;
            let Some(wait) = self.first_wait(p, node) else {
                debug_assert!(self.may_execute(p, node), "an unexecuted node waits for something");
                return Demand::Store(node);
            };
            self.path.push(wait);
            let first = p.first(wait.from);
            if std::mem::replace(&mut self.on_path[first as usize], true) {
                let start = self.path.iter().position(|on| p.first(on.from) == first).expect("on the path");
                let cycle = self.path[start + 1..].iter().rev().copied().collect();
                self.leave_path(p);
                return Demand::Cycle(cycle);
            }
        }
    }

    /// Forgets the goal and the way from it.
    pub(super) fn leave_path(&mut self, p: &Problem) {
        for wait in self.path.drain(..) {
            self.on_path[p.first(wait.from) as usize] = false;
        }
    }

    /// Something unexecuted that `node` waits for.
    fn first_wait(&mut self, p: &Problem, node: u32) -> Option<Wait> {
        p.pieces(node).find_map(|piece| self.first_wait_of(p, piece))
    }

    fn first_wait_of(&mut self, p: &Problem, node: u32) -> Option<Wait> {
        let i = node as usize;
        let preds = &self.pred[self.pred_start[i] as usize..self.pred_start[i + 1] as usize];
        if let Some(&from) = preds.iter().find(|&&from| !self.executed(from)) {
            return Some(Wait { from, to: node, why: WaitWhy::Graph });
        }
        let mut edge = self.dyn_pred[i];
        while edge != NONE {
            let DynEdge { from, extra, next_pred, .. } = self.dyn_edges[edge as usize];
            if !self.executed(from) {
                return Some(Wait { from, to: node, why: WaitWhy::Extra(extra) });
            }
            edge = next_pred;
        }
        let src = p.src[i];
        if src != NONE && !self.executed(src) && !p.forwarded(node) {
            return Some(Wait { from: src, to: node, why: WaitWhy::ReadsFrom });
        }
        if !p.writes(node) {
            return None;
        }
        let current = self.current[p.addr[i] as usize];
        if self.pending[current as usize] == 0 {
            return None;
        }
        let from = self.waiting_readers(p, current).into_iter().flatten().find(|&from| from != node)?;
        Some(Wait { from, to: node, why: WaitWhy::Overwrites })
    }

    /// The guess that an A7 edge rests on, unless it is certain.
    pub(super) fn guess(&self, p: &Problem, wait: Wait) -> Option<Guess> {
        let first = self.head[p.src[wait.from as usize] as usize];
        let second = self.head[wait.to as usize];
        (first != second && !p.is_init(first)).then_some(Guess { first, second })
    }
}

/// For each write the first of the chain of read-modify-writes that it ends. On a chain that bites its own tail each is
/// its own head: those never execute.
fn chain_heads(p: &Problem, head: &mut Vec<u32>) {
    head.clear();
    head.resize(p.nodes, NONE);
    let mut chain = Vec::new();
    for write in 0..(p.ops + p.addrs) as u32 {
        let mut at = write;
        while p.writes(at) && head[at as usize] == NONE {
            // Claimed for now, so that a loop is noticed.
            head[at as usize] = at;
            chain.push(at);
            match p.src[at as usize] {
                NONE => break,
                src => at = src,
            }
        }
        let looped = chain.contains(&at) && p.src[at as usize] != NONE;
        let first = head[at as usize];
        for node in chain.drain(..) {
            head[node as usize] = if looped { node } else { first };
        }
    }
}
