//! Threads that nothing but their numbers distinguishes.
//!
//! # Problem
//!
//! A search need not tell threads apart that are alike ([`membar_explore::Program::twin`] and `symmetry.rs` there, which says
//! why). Which are?
//!
//! # Algorithm
//!
//! A thread is the twin of the one that the same thread created before it if both run the same function with equal arguments and
//! attributes, and their creator made no step between the two. Arguments are equal if they are the same number, or blocks of
//! the heap with the same contents, which their creator may have prepared in between: `std::thread` makes such blocks.
//!
//! That they are *treated* alike is taken for granted until the program shows otherwise. Then they are told apart for good, which
//! is a fact like others ([`super::facts`]), and the search begins again:
//!
//! * one of them asks who it is (`pthread_self`, `gettid`), for random numbers that nobody else gets, or joins another one;
//! * one of them lets others know an address of its own memory: such addresses can be compared;
//! * with the same past they do different things, which the search notices;
//! * a thread joins one of them and makes another step before it has joined all of them, or wants its result.
//!
//! A thread that joins all of them in a row waits for the last one, whichever that is.
//!
//! # Guarantees
//!
//! The thread that would take the other's part in an execution that is left out takes its own part in one that is run, and asks the
//! same questions there. So whatever tells threads apart is seen, except for a thread that calculates with addresses of its own memory
//! and shows them to nobody.

use super::layout::{
    CONTROL_SIZE, HEAP_SIZE, HEAPS, MAX_THREADS, STACK_SIZE, STACKS, STARTED, TLS, TLS_SIZE, control, owner, stack_base,
};
use super::world::{World, world};

/// What a thread has to do with others that are like it.
#[derive(Clone, Copy, Debug)]
pub struct Ties {
    /// The thread created before it, if that is no different.
    pub twin: Option<u8>,
    /// Whether it was created detached, and with how much stack.
    pub attributes: (bool, usize),
    /// It has announced something since it created a thread, other than accesses to these cells.
    pub busy: bool,
    between: [u32; BETWEEN],
    cells: u8,
    /// Somebody has waited for its end.
    pub joined: bool,
    /// It has joined some threads of a group, and not all: the first of the group.
    pub joining: Option<u8>,
}

impl Ties {
    /// Those of a thread that has not been created.
    pub const NEW: Ties = Ties {
        twin: None,
        attributes: (false, 0),
        busy: true,
        between: [0; BETWEEN],
        cells: 0,
        joined: false,
        joining: None,
    };

    /// It has created a thread.
    pub fn created(&mut self) {
        (self.busy, self.cells) = (false, 0);
    }

    /// It announces an access to this cell, the first since it created a thread or one of few.
    #[cold]
    pub fn announces(&mut self, cell: u32) {
        match self.between.get_mut(usize::from(self.cells)) {
            Some(place) => (*place, self.cells) = (cell, self.cells + 1),
            None => self.busy = true,
        }
    }
}

/// How many accesses may be made to the argument of a thread before it is created.
const BETWEEN: usize = 12;

/// Kinds of memory that is a thread's own.
const KIND: u64 = 1 << 40;

/// The bytes of a block of the heap.
fn bytes(block: &super::heap::Block) -> &'static [u8] {
    // SAFETY: a block that is alive.
    unsafe { std::slice::from_raw_parts(block.start as *const u8, block.size) }
}

impl World {
    /// Two arguments that a thread cannot tell from each other.
    fn equal_arguments(&self, a: usize, b: usize) -> bool {
        if a == b {
            return true;
        }
        let (Ok(a), Ok(b)) = (self.heap.block(a), self.heap.block(b)) else { return false };
        a.size == b.size && bytes(&a) == bytes(&b)
    }

    /// Whether the thread has done nothing since it created another one but prepare this argument.
    fn only_prepared(&self, thread: usize, arg: usize) -> bool {
        let Ties { busy, between, cells, .. } = self.threads[thread].ties;
        let cells = &between[..usize::from(cells)];
        !busy
            && (cells.is_empty()
                || self.heap.block(arg).is_ok_and(|block| {
                    let at = |&cell: &u32| self.shadow.cells[cell as usize].at as usize;
                    cells.iter().all(|cell| (block.start..block.start + block.size).contains(&at(cell)))
                }))
    }

    /// The thread, the n-th that `parent` creates, has its function and argument: looks for its twin.
    pub fn find_twin(&mut self, parent: usize, nth: u32, id: usize) {
        self.threads[id].ties.twin = None;
        if !self.symmetry
            || !self.only_prepared(parent, self.threads[id].arg)
            || self.apart.contains(&(parent as u8, nth))
        {
            return;
        }
        let Some(&before) = nth.checked_sub(1).and_then(|nth| self.ids.get(&(parent as u8, nth))) else { return };
        let (this, that) = (&self.threads[id], &self.threads[usize::from(before)]);
        let same = this.start == that.start
            && this.ties.attributes == that.ties.attributes
            && this.mask == that.mask
            && this.float == that.float
            && self.equal_arguments(this.arg, that.arg);
        if same {
            self.threads[id].ties.twin = Some(before);
            let key = (parent as u8, nth);
            if !self.sampling && !self.twins.contains(&key) {
                self.twins.push(key);
                self.grown = true;
            }
        }
    }

    /// The first of the group that a thread belongs to.
    fn first_of(&self, mut id: usize) -> usize {
        while let Some(before) = self.threads[id].ties.twin {
            id = usize::from(before);
        }
        id
    }

    fn is_started(id: usize) -> bool {
        // SAFETY: a control block, which is mapped.
        unsafe { *((control(id) + STARTED) as *const u32) != 0 }
    }

    /// The threads of a group, by its first.
    fn group(&self, first: usize) -> impl Iterator<Item = usize> + '_ {
        (1..self.known).filter(move |&id| World::is_started(id) && self.first_of(id) == first)
    }

    /// These threads differ from those before them in their groups. Not if there is something else to be known first, because
    /// of which they may only seem to.
    #[cold]
    fn differ(&mut self, threads: &[usize]) {
        if self.sampling || self.void || self.grown || self.shadow.grown {
            return;
        }
        let key = |id: &usize| self.ids.iter().find_map(|(&key, other)| (usize::from(*other) == *id).then_some(key));
        let keys: Vec<(u8, u32)> = threads.iter().filter_map(key).collect();
        for key in keys {
            if !self.apart.contains(&key) {
                self.apart.push(key);
                (self.grown, self.void) = (true, true);
            }
        }
    }

    /// The thread differs from those before it in its group.
    pub fn tell_apart(&mut self, id: usize) {
        self.differ(&[id]);
    }

    /// All threads of a group differ.
    #[cold]
    fn scatter(&mut self, first: usize) {
        let group: Vec<usize> = self.group(first).filter(|&id| id != first).collect();
        self.differ(&group);
    }

    /// The thread can be told from all others of its group.
    pub fn stands_out(&mut self, id: usize) {
        if !self.twins.is_empty() {
            self.scatter(self.first_of(id));
        }
    }

    /// The thread that runs asks for something that no other thread would be told.
    pub fn asks_who_it_is(&mut self) {
        self.stands_out(self.current);
    }

    /// The thread that runs has got hold of a thread of its own group.
    pub fn knows(&mut self, id: usize) {
        if self.first_of(id) == self.first_of(self.current) {
            self.stands_out(id);
        }
    }

    /// The thread that runs has waited for the end of this one, and wants its result or does not.
    pub fn joins(&mut self, id: usize, result: bool) {
        self.threads[id].ties.joined = true;
        if self.twins.is_empty() {
            return;
        }
        let first = self.first_of(id);
        let left = self.group(first).any(|id| !self.threads[id].ties.joined);
        self.threads[self.current].ties.joining = left.then_some(first as u8);
        if result {
            self.scatter(first);
        }
    }

    /// The thread that runs has joined some of this group and is about to make a step on this cell.
    #[cold]
    pub fn goes_on_without(&mut self, first: u8, cell: u32) {
        let first = usize::from(first);
        let at = self.shadow.cells[cell as usize].at as usize;
        if !self.group(first).any(|id| (control(id)..control(id) + CONTROL_SIZE).contains(&at)) {
            self.scatter(first);
        }
    }

    /// Where in the memory that is this thread's own an address is.
    pub fn own_memory(&self, thread: usize, at: usize) -> Option<u64> {
        let (kind, offset) = if at.wrapping_sub(control(thread)) < CONTROL_SIZE {
            (1, at - control(thread))
        } else if owner(at) == Some(thread) {
            let on_stack = (STACKS..STACKS + MAX_THREADS * STACK_SIZE).contains(&at);
            if on_stack { (2, stack_base(thread) - at) } else { (3, at - TLS - thread * TLS_SIZE) }
        } else if at.wrapping_sub(HEAPS + thread * HEAP_SIZE) < HEAP_SIZE {
            (4, at - HEAPS - thread * HEAP_SIZE)
        } else {
            let arg = self.threads[thread].arg;
            let block = self.heap.block(arg).ok()?;
            (5, at.checked_sub(block.start).filter(|&offset| offset < block.size)?)
        };
        Some(kind * KIND + offset as u64)
    }
}

/// The thread that runs asks for something that no other thread would be told.
pub fn asks_who_it_is() {
    world().asks_who_it_is();
}
