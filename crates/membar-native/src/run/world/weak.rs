//! Steps of an execution that need not be sequentially consistent.
//!
//! # Problem
//!
//! An execution graph says what each access finds, which may be an old value, or another thread's store that its own is before. The
//! program is compiled code: it reads memory.
//!
//! # Algorithm
//!
//! Before a step the cell of its access gets the value that the access is to find, and after it the value that the graph has there
//! last. Both are kept with the path, and put there again when the path is run again. Nothing but accesses to visible cells is a step,
//! and a step accesses one cell, so no thread sees anything else of it.
//!
//! Whether an object still lives when it is accessed depends on what the access finds too: a write that ends its life
//! ([`membar_core::C11::ends`]) may have been run before an access that is before it in the graph.
//!
//! Not every write to a stack is an access: calls and compiled code that keeps things there are not announced, and bytes are used again. If a
//! cell on a stack does not hold what the last step on it left, then its thread has overwritten it since: a read by that thread
//! finds what is there, and a read by another one leaves it there.
//!
//! # Invariants
//!
//! `given` has one entry per step of the path. Between steps, memory holds what the last of them left at each cell, and `values` has the same. A
//! state is kept before a step is made, not after it: then memory is as the path says.
//!
//! Values of more than 8 bytes are numbers that stand for them ([`shadow::read`]); the bytes are remembered.

use super::{World, world};
use crate::run::layout::owner;
use crate::run::shadow::{self, read};
use crate::run::slot::Slot;
use membar_core::{Access, AccessKind, Performed};
use membar_explore::Watched;
use rustc_hash::FxHashMap;

/// What accesses are told.
#[derive(Debug, Default)]
pub struct Told {
    /// They are.
    pub on: bool,
    /// Of each step of the path.
    given: Vec<Given>,
    /// The object that the step which is being made accesses has come to its end.
    pub dead: bool,
    /// Values of more than 8 bytes.
    wide: FxHashMap<u64, [u8; 16]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Given {
    cell: u32,
    found: u64,
    dead: bool,
    left: u64,
    /// The thread whose stack it is has overwritten it, and reads what is there.
    own: bool,
    /// The same, but the step reads something else, and `left` is what is there.
    kept: bool,
}

impl World {
    /// Begins or stops telling accesses what they find. The path is empty.
    pub fn tell(&mut self, on: bool) {
        self.told = Told { on, ..Told::default() };
    }

    /// What the steps of the path found.
    pub fn found(&self) -> Vec<u64> {
        self.told.given.iter().map(|given| given.found).collect()
    }

    /// The value that memory holds at a cell.
    pub fn at_cell(cell: u32) -> u64 {
        if world().live != world().path.len() && !world().void {
            World::catch_up();
        }
        let w = world();
        w.value_of(cell)
    }

    /// The same where memory is as the path says.
    pub fn value_of(&mut self, cell: u32) -> u64 {
        let Some(cell) = self.shadow.cells.get(cell as usize) else { return 0 };
        let value = read(cell);
        if cell.size > 8 {
            self.told.wide.insert(value, shadow::bytes(cell));
        }
        value
    }

    /// A value of a cell with the bytes of this access replaced by those of another value of it.
    pub fn merge(&mut self, access: &Access, value: u64, written: u64) -> u64 {
        if self.shadow.cells.get(access.addr as usize).is_none_or(|cell| cell.size <= 8) {
            return access.put_part(value, access.part_of(written));
        }
        let (mut bytes, from) = (self.bytes_of(value), self.bytes_of(written));
        let range = usize::from(access.bytes().start)..usize::from(access.bytes().end);
        bytes[range.clone()].copy_from_slice(&from[range]);
        let merged = shadow::wide(u128::from_le_bytes(bytes));
        self.told.wide.insert(merged, bytes);
        merged
    }

    /// A value that stands for one of more than 8 bytes, as others can take the part of this access from it.
    pub fn shown(&self, access: &Access, value: u64) -> u64 {
        let range = usize::from(access.bytes().start)..usize::from(access.bytes().end);
        if access.part == 0 || self.shadow.cells.get(access.addr as usize).is_none_or(|cell| cell.size <= 8) {
            return value;
        }
        let bytes = self.bytes_of(value);
        if range.len() > 8 {
            return value;
        }
        let from = if access.is_wide() { 0 } else { range.start };
        bytes[range].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)) << (8 * from)
    }

    /// The bytes that a value of more than 8 bytes stands for.
    fn bytes_of(&self, value: u64) -> [u8; 16] {
        self.told.wide.get(&value).copied().unwrap_or_else(|| u128::from(value).to_le_bytes())
    }

    /// Memory holds this at a cell, for a moment.
    pub fn hold_at(&mut self, cell: u32, value: u64) {
        self.put(cell, value);
        self.set_value(cell, value);
    }

    /// The same from now on, for one who acts as memory.
    pub fn put(&mut self, cell: u32, value: u64) {
        let Some(at) = self.shadow.cells.get(cell as usize) else { return };
        match self.told.wide.get(&value) {
            Some(bytes) if at.size > 8 => shadow::set_bytes(at, bytes),
            _ => shadow::write(at, value),
        }
    }

    /// Makes a step that finds this value.
    pub fn step_finding(id: usize, found: u64, dead: bool) -> Performed {
        if world().live != world().path.len() && !world().void {
            World::catch_up();
        }
        let w = world();
        let (mut before, mut unseen) = (0, None);
        if !w.void {
            if w.path.len() >= w.snapshots.next {
                w.keep_state(w.path.len());
            }
            let cell = w.threads[id].slots.last().and_then(Slot::access).map_or(0, |pending| pending.cell);
            before = w.values.get(cell as usize).copied().unwrap_or(0);
            unseen = w.overwritten(cell);
            let reads = w.threads[id].slots.last().is_some_and(|slot| slot.pending.kind == AccessKind::Load);
            let own = reads && unseen.is_some_and(|(owner, _)| owner == id);
            w.told.given.push(Given { cell, found, dead, left: found, own, kept: false });
            if !own {
                w.put(cell, found);
            }
            w.told.dead = dead;
        }
        let mut made = Vec::with_capacity(1);
        World::steps(id, 0, Watched::default(), &mut made);
        let w = world();
        w.told.dead = false;
        w.told.given.resize(w.path.len(), Given::default());
        if let Some(frame) = w.frames.last_mut().filter(|_| !w.void) {
            frame.1 = before;
        }
        let performed = made[0];
        let addr = performed.access.addr;
        let own = w.shadow.cells.get(addr as usize).and_then(|cell| owner(cell.at as usize)) == Some(id);
        if own && unseen.is_none() {
            // After the read, before the next access.
            unseen = Some((id, w.value_of(addr))).filter(|&(_, there)| there != found);
        }
        if let Some((_, there)) = unseen.filter(|_| !performed.writes)
            && let Some(given) = w.told.given.last_mut().filter(|given| !given.own)
        {
            (given.kept, given.left) = (true, there);
            w.put(addr, there);
        }
        // Known from now on.
        w.value_of(addr);
        performed
    }

    /// The thread that has overwritten this cell of its stack since the last step on it, and the value there.
    fn overwritten(&mut self, cell: u32) -> Option<(usize, u64)> {
        let owner = owner(self.shadow.cells.get(cell as usize)?.at as usize)?;
        let there = self.value_of(cell);
        let last = self.told.given.iter().rev().find(|given| given.cell == cell);
        last.is_none_or(|last| last.own || last.kept || last.left != there).then_some((owner, there))
    }

    /// What the last step leaves there.
    pub fn leave_at(&mut self, cell: u32, value: u64) {
        if self.void {
            return;
        }
        let last = self.told.given.last_mut();
        if let Some(given) = last.filter(|given| !given.own && !given.kept) {
            given.left = value;
            self.put(cell, value);
        }
        self.set_value(cell, value);
    }

    /// A choice has been made.
    pub fn chose(&mut self) {
        self.told.given.resize(self.path.len(), Given::default());
    }

    /// Steps have been taken back.
    #[inline]
    pub(super) fn forget_told(&mut self) {
        if self.told.on {
            self.told.given.truncate(self.path.len());
        }
    }

    /// The step before `at` of the path has been made again.
    #[inline]
    pub fn leave_again(&mut self, at: usize) {
        if let Some(&Given { cell, left, own: false, .. }) = self.told.given.get(at.wrapping_sub(1))
            && self.path[at - 1].outcome().is_none()
        {
            self.put(cell, left);
        }
    }

    /// The step `at` of the path is about to be made again.
    #[inline]
    pub fn find_again(&mut self, at: usize) {
        if let Some(&Given { cell, found, dead, own, .. }) = self.told.given.get(at)
            && self.path[at].outcome().is_none()
        {
            if !own {
                self.put(cell, found);
            }
            self.told.dead = dead;
        }
    }
}
