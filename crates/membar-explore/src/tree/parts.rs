//! A search, split into parts that know nothing of each other, for other machines.
//!
//! # Problem
//!
//! Hand out what is left of a search in parts of comparable size, put the parts together when they are done, and have every execution run
//! once.
//!
//! # Algorithm
//!
//! 1. *Hand out.* Each part gets some items and a copy of the open nodes above them. A race that concerns such a node is not reversed
//!    there, since each part would do so: it is noted. When the part is taken back, the node, which stayed where the search was split,
//!    gets the thread, unless another part has asked for one that will do. That is what merging does at the end of a round, only later.
//! 2. *Complete.* What dpor runs from a node shows while it runs what is below, so parts would leave much to be done when they come back,
//!    and again after that. Before a search is split, each open node of its own gets every thread that can run there and is neither
//!    asleep nor futile, if one of some random walks ([`crate::estimate`]) below it comes to an end that is not redundant. Its item has
//!    the threads before it asleep, as always. Threads that are left out are not asleep for others, and are run if a race asks for them.
//! 3. *Weigh.* The mean of random walks says how many executions an item has. Items that are too heavy are run for a few executions
//!    ([`crate::Search::widen`]), and what is left of them is completed and weighed in turn. The heaviest item goes to the lightest part.
//!
//! # Invariants
//!
//! A thread is in the `asleep` of an item only if it is asleep at the node or an item of it was made before.
//!
//! # Guarantees
//!
//! Sleep sets see to it that each class is run once whatever is run from a node, as long as that is a source set; so more threads
//! there cost redundant executions at most, which end where everybody is asleep. Nothing is promised about sizes: walks are random.
//!
//! # References
//!
//! Knuth: Estimating the efficiency of backtrack programs, 1975 (weights). Graham: Bounds on multiprocessing timing anomalies, 1969 (the
//! heaviest first).

use super::{Frontier, Item, Open, Task};
use crate::node::Node;
use crate::races::Turn;
use crate::set::{Many, Set};
use std::collections::HashMap;

/// The search that a part belongs to, as far as it is in the part.
type Known = HashMap<u32, u32>;

impl Item {
    /// Executions that it is guessed to have, or that it has at least.
    fn size(&self) -> f64 {
        self.weight.unwrap_or(1.0).max(1.0)
    }
}

impl Frontier {
    /// Puts the shallowest items where they are taken next.
    pub fn shallow_first(&mut self) {
        let open = &self.open;
        self.items.sort_by_key(|item| std::cmp::Reverse(open[item.open as usize].depth));
    }

    /// Puts the heaviest items where they are taken next; how many are heavier than this.
    pub fn heavy_first(&mut self, than: f64) -> usize {
        self.items.sort_by(|a, b| a.size().total_cmp(&b.size()));
        self.items.iter().filter(|item| item.size() > than).count()
    }

    /// How many executions the items are guessed to have together.
    pub fn weight(&self) -> f64 {
        self.items.iter().map(Item::size).sum()
    }

    /// How many the heaviest one has.
    pub fn heaviest(&self) -> f64 {
        self.items.iter().map(Item::size).fold(0.0, f64::max)
    }

    /// How many items nobody has weighed.
    pub fn unweighed(&self) -> usize {
        self.items.iter().filter(|item| item.weight.is_none()).count()
    }

    /// Weighs the items that are not, by this guess.
    pub fn weigh(&mut self, mut guess: impl FnMut(Task) -> Option<f64>) {
        for at in 0..self.items.len() {
            if self.items[at].weight.is_none() {
                self.items[at].weight = guess(Task::new(self, &self.items[at]));
            }
        }
    }

    /// Gives each node of its own all threads below which the guess is that there is something.
    pub fn complete(&mut self, mut guess: impl FnMut(Task) -> Option<f64>) {
        for at in 0..self.items.len() {
            let mut id = self.items[at].open;
            loop {
                let open = &mut self.open[id as usize];
                if open.considered || open.shared.is_some() {
                    break;
                }
                open.considered = true;
                let (parent, depth) = (open.parent, open.depth);
                self.complete_node(id, &mut guess);
                if depth == 0 {
                    break;
                }
                id = parent;
            }
        }
    }

    fn complete_node(&mut self, id: u32, guess: &mut impl FnMut(Task) -> Option<f64>) {
        let node = self.open[id as usize].node;
        // All outcomes of a choice are run anyway.
        let others =
            if node.outcomes == 0 { node.enabled & !node.futile & !node.asleep & !node.todo } else { Many::NONE };
        for thread in others.iter() {
            let before = self.open[id as usize].node;
            let asleep = before.asleep | before.done;
            let mut after = Node { todo: before.todo | Many::one(thread), ..before };
            let item = Item { open: id, step: after.take(thread), asleep, share: 0.0, weight: None };
            let weight = guess(Task::new(self, &item));
            if weight.is_some_and(|weight| weight > 0.0) {
                let open = &mut self.open[id as usize];
                open.node = after;
                open.users += 1;
                self.items.push(Item { weight, ..item });
            }
        }
    }

    /// Hands out all items, to at most this many parts. Nodes stay here: what parts want of them comes back by [`Frontier::rejoin`].
    pub fn split(&mut self, parts: usize) -> Vec<Frontier> {
        let mut items = std::mem::take(&mut self.items);
        let parts = parts.clamp(1, items.len().max(1));
        // Of those that weigh the same, items of one depth, which are of a size more than others, go to different parts.
        items.sort_by(|a, b| {
            let depth = |item: &Item| self.open[item.open as usize].depth;
            b.size().total_cmp(&a.size()).then(depth(a).cmp(&depth(b)))
        });
        let mut all: Vec<(f64, Frontier, Known)> =
            (0..parts).map(|_| (0.0, Frontier { begun: true, ..Frontier::new() }, Known::new())).collect();
        for item in items {
            let lightest = all.iter_mut().min_by(|a, b| a.0.total_cmp(&b.0));
            let Some((weight, part, known)) = lightest else { break };
            *weight += item.size();
            let open = self.copy(item.open, part, known);
            part.open[open as usize].users += 1;
            part.items.push(Item { open, ..item });
        }
        all.into_iter().map(|(_, part, _)| part).filter(|part| !part.items.is_empty()).collect()
    }

    /// The same node in a part, with those above it.
    fn copy(&self, id: u32, part: &mut Frontier, known: &mut Known) -> u32 {
        if let Some(&copied) = known.get(&id) {
            return copied;
        }
        let open = &self.open[id as usize];
        let parent = if open.depth > 0 { self.copy(open.parent, part, known) } else { 0 };
        // One user more than it has: it stays.
        let copied = part.add_open(Open { parent, users: 1, shared: Some(id), ..*open });
        known.insert(id, copied);
        copied
    }

    /// Takes back a part that is done: what it wants becomes items, or a wish to the search that this one is a part of.
    pub fn rejoin(&mut self, part: &Frontier) {
        for wanted in &part.wanted {
            if let Some(node) = self.open.get(wanted.open as usize).filter(|node| node.users > 0) {
                let turn = Turn { depth: node.depth, initials: wanted.initials };
                if wanted.futile == Many::NONE {
                    self.turn(wanted.open, turn);
                } else {
                    self.replace(wanted.open, wanted.futile, wanted.initials);
                }
            }
        }
    }
}
