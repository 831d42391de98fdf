//! Facts learnt about a program while it runs.

use super::layout::{ENDED, MAX_THREADS, STARTED, WOKEN, control};
use super::opaque::Unseen;
use super::parts::Parts;
use super::shadow::Cell;
use super::world::World;
use serde::{Deserialize, Serialize};

/// Facts learnt about a program while it runs that have to be known from the beginning for the result to count.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Visible cells; those below the arena are relative to the program's object, or to one of its libraries.
    pub cells: Vec<Cell>,
    /// Threads other than the first: their creator and their number among its threads.
    pub threads: Vec<(u8, u32)>,
    /// Instructions that threads come to more than once, as offsets in the object.
    pub loops: Vec<u32>,
    /// A thread waits where it might wake up without a reason.
    #[serde(default)]
    pub waits: bool,
    /// A thread makes a weak compare-exchange, which might fail without a reason.
    #[serde(default)]
    pub weak: bool,
    /// Steps of other threads inside atomic sections that could not be held back, as instructions.
    #[serde(default)]
    pub intruders: Vec<u32>,
    /// Instructions that wait in an atomic section for what others would have to do meanwhile.
    #[serde(default)]
    pub stuck: Vec<u32>,
    /// Accesses that are held back while another thread is in an atomic section, in the same way.
    #[serde(default)]
    pub guarded: Vec<u32>,
    /// A library wanted to load another one, and did not get it.
    #[serde(default)]
    pub unloaded: bool,
    /// A signal handler was set, which is never run.
    #[serde(default)]
    pub handlers_set: bool,
    /// Pages where accesses by uninstrumented code are examined one by one, as addresses like those of cells.
    #[serde(default)]
    pub exact: Vec<u64>,
    /// The unseen actions of such code.
    #[serde(default)]
    pub unseen: Vec<Unseen>,
    /// Notes about assembly that is not understood and has been executed ([`crate::build::Note::id`]).
    #[serde(default)]
    pub assembly: Vec<u64>,
    /// Some cell is accessed in parts: monitors have to tell its bytes apart.
    #[serde(default)]
    pub parts: bool,
    /// Plain accesses are a step for each cell, also where cells are atomic. For C11 there is no difference. Under store buffers the program has
    /// all executions that it would have otherwise, and perhaps more.
    #[serde(default)]
    pub tears: bool,
    /// Threads that seemed to be like the ones before them, and those that turned out not to be (`twins.rs`).
    #[serde(default)]
    pub twins: Vec<(u8, u32)>,
    /// See `twins`.
    #[serde(default)]
    pub apart: Vec<(u8, u32)>,
    /// Barriers that more threads use than meet there, as addresses like those of cells.
    #[serde(default)]
    pub crowded: Vec<u64>,
    /// Barriers whose results are looked at, in the same way.
    #[serde(default)]
    pub asked: Vec<u64>,
}

impl Facts {
    /// Whether there are threads that are explored up to renaming.
    pub fn is_symmetric(&self) -> bool {
        self.twins.iter().any(|twin| !self.apart.contains(twin))
    }

    /// Adds what was learnt elsewhere, as far as it goes together: threads are numbered in the order in which they were found.
    pub fn join(&mut self, other: Facts) {
        fn add<T: PartialEq>(to: &mut Vec<T>, more: Vec<T>) {
            for one in more {
                if !to.contains(&one) {
                    to.push(one);
                }
            }
        }
        let (short, long) = if self.threads.len() < other.threads.len() {
            (&self.threads, &other.threads)
        } else {
            (&other.threads, &self.threads)
        };
        if self.tears != other.tears || !long.starts_with(short) {
            return;
        }
        let ends = |cell: &Cell| cell.at + u64::from(cell.size);
        for cell in other.cells {
            if self.cells.iter().all(|own| ends(own) <= cell.at || ends(&cell) <= own.at) {
                self.cells.push(cell);
            }
        }
        add(&mut self.threads, other.threads);
        add(&mut self.loops, other.loops);
        add(&mut self.intruders, other.intruders);
        add(&mut self.stuck, other.stuck);
        add(&mut self.guarded, other.guarded);
        add(&mut self.exact, other.exact);
        add(&mut self.unseen, other.unseen);
        add(&mut self.assembly, other.assembly);
        add(&mut self.twins, other.twins);
        add(&mut self.apart, other.apart);
        add(&mut self.crowded, other.crowded);
        add(&mut self.asked, other.asked);
        self.waits |= other.waits;
        self.weak |= other.weak;
        self.unloaded |= other.unloaded;
        self.handlers_set |= other.handlers_set;
        self.parts |= other.parts;
    }

    /// From now on plain accesses are a step for each cell: which cells there are is found out again.
    pub fn tear(&mut self) {
        if !self.tears {
            (self.tears, self.parts) = (true, false);
            self.cells.clear();
        }
    }
}

/// The program did something else the second time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Divergence {
    /// The thread.
    pub thread: u32,
    /// The step of the path before which it stood.
    pub step: u32,
    /// Instructions, as offsets in the object: of what it did first, and of what it did now.
    pub first: Option<u32>,
    /// See `first`.
    pub second: Option<u32>,
}

impl World {
    /// The facts learnt so far.
    pub fn facts(&self) -> Facts {
        let relative = |cell: &Cell| Cell { at: self.module.portable(cell.at as usize) as u64, ..*cell };
        let mut threads: Vec<_> = self.ids.iter().map(|(key, id)| (*id, *key)).collect();
        threads.sort_unstable();
        let mut exact: Vec<u64> = self.shadow.exact.iter().map(|&page| self.module.portable(page) as u64).collect();
        exact.sort_unstable();
        Facts {
            cells: self.shadow.cells.iter().filter(|cell| cell.size > 0).map(relative).collect(),
            threads: threads.into_iter().map(|(_, key)| key).collect(),
            loops: self.loop_list.clone(),
            waits: self.waits,
            weak: self.weak,
            intruders: self.intruders.clone(),
            stuck: self.stuck.clone(),
            guarded: self.guarded.clone(),
            unloaded: self.unloaded,
            handlers_set: self.handlers_set,
            exact,
            unseen: self.opaque.unseen.clone(),
            assembly: self.assembly.clone(),
            parts: self.parts.any,
            tears: self.shadow.tears,
            twins: self.twins.clone(),
            apart: self.apart.clone(),
            crowded: self.crowded.clone(),
            asked: self.asked.clone(),
        }
    }

    /// Assembly that this note speaks of is about to be executed.
    #[cold]
    pub fn executed(&mut self, note: u64) {
        if !self.assembly.contains(&note) {
            self.assembly.push(note);
            self.grown = true;
        }
    }

    /// Knows this and nothing else.
    pub fn know(&mut self, facts: &Facts) {
        self.shadow.clear();
        self.shadow.tears = facts.tears;
        self.ids.clear();
        self.known = 1;
        self.values.clear();
        for &site in &std::mem::take(&mut self.loop_list) {
            self.stamps[site as usize].is_loop = false;
        }
        for thread in &mut self.threads {
            thread.slots.clear();
        }
        // The behaviour of one thread alone depends on no facts.
        self.endless.retain(|(path, _, _)| path.is_empty());
        for &(parent, nth) in &facts.threads {
            self.thread_id(parent as usize, nth);
        }
        for cell in &facts.cells {
            let at = self.module.address(cell.at as usize) as u64;
            if self.shadow.number(at as usize).is_none() {
                self.shadow.reveal(Cell { at, ..*cell });
            }
        }
        self.waits = facts.waits;
        self.weak = facts.weak;
        self.intruders.clone_from(&facts.intruders);
        self.stuck.clone_from(&facts.stuck);
        self.guarded.clone_from(&facts.guarded);
        self.twins.clone_from(&facts.twins);
        self.apart.clone_from(&facts.apart);
        self.crowded.clone_from(&facts.crowded);
        self.asked.clone_from(&facts.asked);
        self.shadow.exact = facts.exact.iter().map(|&page| self.module.address(page as usize)).collect();
        self.know_unseen(&facts.unseen);
        self.parts = Parts { any: facts.parts };
        for &site in &facts.loops {
            if let Some(stamp) = self.stamps.get_mut(site as usize)
                && !stamp.is_loop
            {
                stamp.is_loop = true;
                self.loop_list.push(site);
            }
        }
        (self.grown, self.shadow.grown, self.diverged, self.void) = (false, false, None, false);
        // Assembly once executed stays noted: also if constructors ran it, before anything was to be known.
        for note in std::mem::take(&mut self.assembly).into_iter().chain(facts.assembly.iter().copied()) {
            if !self.assembly.contains(&note) {
                self.assembly.push(note);
            }
        }
        self.grown = self.assembly.len() > facts.assembly.len()
            || self.opaque.unseen.len() > facts.unseen.len()
            || self.unloaded && !facts.unloaded
            || self.handlers_set && !facts.handlers_set;
        self.unloaded |= facts.unloaded;
        self.handlers_set |= facts.handlers_set;
    }

    /// The number of the thread that this one creates as its n-th. `None` if there are too many.
    pub fn thread_id(&mut self, parent: usize, nth: u32) -> Option<usize> {
        if let Some(&id) = self.ids.get(&(parent as u8, nth)) {
            return Some(usize::from(id));
        }
        if self.known == MAX_THREADS {
            return None;
        }
        let id = self.known;
        self.known += 1;
        self.ids.insert((parent as u8, nth), id as u8);
        self.grown = true;
        for offset in [STARTED, ENDED, WOKEN] {
            self.shadow.reveal(Cell { at: (control(id) + offset) as u64, size: 4, atomic: true });
        }
        self.threads[id].slots.clear();
        self.unborn(id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Facts};

    #[test]
    fn facts_of_two_searches_go_together() {
        let cell = |at, size| Cell { at, size, atomic: false };
        let mut one = Facts { cells: vec![cell(0, 4)], threads: vec![(0, 0)], loops: vec![7], ..Facts::default() };
        let other = Facts {
            cells: vec![cell(2, 4), cell(8, 8)],
            threads: vec![(0, 0), (1, 0)],
            loops: vec![7, 9],
            waits: true,
            ..Facts::default()
        };
        let (before, mut both) = (one.clone(), one.clone());
        one.join(other.clone());
        assert_eq!((&one.cells, &one.threads), (&vec![cell(0, 4), cell(8, 8)], &vec![(0, 0), (1, 0)]));
        assert!(one.loops == [7, 9] && one.waits);
        // Threads that were found in another order have other numbers.
        both.join(Facts { threads: vec![(0, 1), (0, 0)], ..other });
        assert_eq!(both, before);
    }
}
