//! From an access of the program to steps of the execution.
//!
//! An access to one visible cell is one step: it is announced, and made by the program itself when the hook returns. An
//! access to several is several:
//!
//! * *reads*: each cell is announced, and what it holds then is noted. Before the program reads them all, the cells that have
//!   changed since are *patched* to what was noted, and put right at the thread's next announcement or barrier: nobody else
//!   runs in between.
//! * *writes*: the first cell is announced; then the program writes them all. At the thread's next announcement or barrier the
//!   others are restored to what they were, and announced and written one by one. So a barrier comes after all of them.
//! * *updates* (bit-fields, read-modify-writes in assembly without `lock`) are reads and then writes of the same cells.
//!
//! gcc announces the write of a structure assignment before its read, but makes both after that: [`early_write`]. It
//! changes a bit-field by reading and writing its neighbours too: [`update`].
//!
//! Operations that a hook makes itself are in `event`; whether what is accessed still exists is asked in `lifetime`.
//!
//! Invariants: while another thread runs, no cell is patched, and no write in `later` is in memory: each announcement begins with
//! [`settle`].
//!
//! Complexity: O(1) for an access to memory that nobody shares, and for one to one cell; otherwise O(1) for each cell of the range.

mod event;
mod lifetime;

use super::coroutine::Thread;
use super::heap::{Life, is_end, is_heap, life};
use super::layout::{STACK_SIZE, stack_base};
use super::registers::{Registers, register};
use super::shadow::{self, Hit};
use super::slot::{NOTHING, Pending};
use super::world::{World, world};
pub use event::Event;
pub use lifetime::{change_rights, end_all, lose};
use lifetime::{check, dead, is_mortal};
use membar_core::{AccessKind, C11};

/// The instruction that called the stub, as the one that the report will name.
#[inline]
pub fn site(w: &World) -> u32 {
    // SAFETY: the stack pointer of a stub's caller.
    let pc = w.module.offset(unsafe { *(register(0) as *const usize) });
    if w.wrappers.is_empty() && pc != u32::MAX { pc } else { w.user_site(pc, register(2)) }
}

/// A plain access by the program, which makes it when this returns.
#[inline(always)]
pub fn plain(addr: usize, size: usize, write: bool) {
    let w = world();
    if is_heap(addr) && (life(addr) != Life::Live as u8 || addr % 16 + size > 16) {
        both_ends(addr, size, write);
    }
    if w.alone {
        if w.ended {
            check(addr, write);
        }
        return;
    }
    let id = w.current;
    match w.shadow.access(id, addr, size, write, false) {
        Hit::Private => {
            // The stack is compared as a whole where it matters.
            let thread = w.this();
            if write && addr.wrapping_sub(stack_base(id) - STACK_SIZE) >= STACK_SIZE {
                thread.wrote(addr, size);
            }
            thread.private += 1;
            if thread.private >= thread.suspect {
                suspect(addr, write, false);
            }
            if thread.early.is_some() {
                late(addr, size, write);
            }
        }
        hit => visible(addr, size, write, hit),
    }
}

/// Complains if an access begins or ends outside of what it may access.
#[cold]
#[inline(never)]
fn both_ends(addr: usize, size: usize, write: bool) {
    let last = addr + size - 1;
    let fits = |at: usize, size: usize| life(at) == Life::Live as u8 || is_end(at, size) || world().is_known_later(at);
    if !fits(addr, size) {
        dead(addr, write);
    }
    if addr / 16 != last / 16 && !fits(last, 1) {
        dead(last, write);
    }
}

/// The thread has made many accesses that are nobody else's business. If it loops, then what it reads is
/// what it waits for: others will write it, once they get to run.
#[cold]
fn suspect(addr: usize, write: bool, atomic: bool) {
    /// Accesses after which to look, and how many to look at.
    const FIRST: u32 = 1000;
    const WATCHED: u32 = 256;
    let w = world();
    let id = w.current;
    let thread = &mut w.threads[id];
    let (liveness, floats) = (&mut w.liveness, w.floats);
    let own = addr.wrapping_sub(stack_base(id) - STACK_SIZE) < STACK_SIZE;
    let patience = if !own {
        1
    } else if atomic {
        2
    } else {
        4
    };
    if thread.suspect > FIRST && !w.whole_stacks {
        // It may count its rounds.
        liveness.load(std::path::Path::new(&w.object), w.module.base);
    }
    let mut state = |thread: &Thread| super::idle::state(liveness, floats, thread);
    if thread.suspect == 0 || thread.private > thread.suspect + WATCHED {
        thread.suspect = (2 * thread.suspect).clamp(FIRST, 1 << 30);
        thread.looked = None;
    } else if !thread.dirty && (write || thread.suspect < patience * FIRST) {
        // On its stack, which is part of its state. If there is nothing else, then it may be a variable that it lent to
        // others; rather an atomic one than what the compiler keeps there.
    } else if thread.dirty {
        thread.looked = None;
        thread.dirty = false;
        // It does change something, but nobody else knows: wait for longer.
        thread.was_dirty = true;
    } else if let Some((at, before)) = thread.looked {
        // A deep stack is read only where it may have been seen before.
        if at == addr && before == state(thread) {
            thread.looked = None;
            w.shadow.show_at(addr);
        }
    } else {
        thread.looked = Some((addr, state(thread)));
    }
}

#[inline]
fn visible(addr: usize, size: usize, write: bool, hit: Hit) {
    settle();
    let w = world();
    let kind = if write { AccessKind::Store } else { AccessKind::Load };
    if w.this().early.is_some() && !write {
        return late(addr, size, write);
    }
    match hit {
        Hit::Exact(cell) | Hit::Part(cell) => {
            let site = site(w);
            let part = if let Hit::Part(_) = hit { w.plain_part(cell, addr, size, write) } else { 0 };
            let pending = Pending { part, c11: w.this().plain(), ..Pending::plain(cell, site, kind) };
            if is_mortal(w, addr) {
                World::announce::<true>(pending, NOTHING);
                // It may no longer exist.
                check(addr, write);
            } else {
                World::announce::<false>(pending, NOTHING);
            }
        }
        Hit::Private => {}
        Hit::Several => {
            let thread = w.this();
            thread.sources.clear();
            thread.targets.clear();
            let id = w.current;
            w.list(id, addr, size, write);
            make();
            check(addr, write);
        }
    }
}

fn bytes(cell: u32) -> [u8; 16] {
    shadow::bytes(&world().shadow.cells[cell as usize])
}

fn set_bytes(cell: u32, bytes: &[u8; 16]) {
    shadow::set_bytes(&world().shadow.cells[cell as usize], bytes);
}

/// Changes the bytes of a cell that are in a part of it.
fn set_part(cell: u32, bytes: &[u8; 16], part: u8) {
    if part == 0 {
        return set_bytes(cell, bytes);
    }
    let mut all = self::bytes(cell);
    let range = usize::from(part >> 4)..usize::from((part >> 4) + (part & 15));
    all[range.clone()].copy_from_slice(&bytes[range]);
    set_bytes(cell, &all);
}

fn step(cell: u32, part: u8, kind: AccessKind, site: u32) {
    let c11 = world().this().plain();
    World::announce::<true>(Pending { c11, part, ..Pending::plain(cell, site, kind) }, NOTHING);
}

fn step_of(cell: u32, kind: AccessKind, site: u32, c11: C11) {
    World::announce::<true>(Pending { c11, ..Pending::plain(cell, site, kind) }, NOTHING);
}

/// Reads the cells in `sources` one by one, and announces the first of those in `targets`: the program reads and writes them
/// all when the hook returns. Nothing is kept in local lists: a thread that is given up here would leak them.
fn make() {
    let site = site(world());
    let id = world().current;
    world().threads[id].reads.clear();
    for i in 0..world().threads[id].sources.len() {
        let (cell, part) = world().threads[id].sources[i];
        step(cell, part, AccessKind::Load, site);
        let value = bytes(cell);
        world().threads[id].reads.push(value);
    }
    if let Some(&(first, part)) = world().threads[id].targets.first() {
        step(first, part, AccessKind::Store, site);
    }
    let w = world();
    w.threads[id].later_site = site;
    for i in 1..w.threads[id].targets.len() {
        let (cell, part) = w.threads[id].targets[i];
        w.threads[id].later.push((cell, part, bytes(cell)));
    }
    // The cells hold the values read until the next announcement; values written are not restored.
    for i in 0..w.threads[id].sources.len() {
        let ((cell, part), value) = (w.threads[id].sources[i], w.threads[id].reads[i]);
        let now = bytes(cell);
        if now != value {
            set_part(cell, &value, part);
            if !w.threads[id].targets.iter().any(|&(target, _)| target == cell) {
                w.threads[id].patched.push((cell, now));
            }
        }
    }
}

/// A plain access by a hook that has more to do for its caller.
pub fn plain_within(addr: usize, size: usize, write: bool) {
    let registers = Registers::save();
    plain(addr, size, write);
    registers.restore_after(addr);
}

/// The thread overwrites all of a range, whatever the rights to access it are.
pub fn overwrite(addr: usize, size: usize) {
    let w = world();
    if w.alone {
        return;
    }
    settle();
    let id = w.current;
    w.threads[id].sources.clear();
    w.threads[id].targets.clear();
    range(id, addr, size, true);
    make();
}

/// Puts right what an earlier access to several cells left.
#[inline(always)]
pub fn settle() {
    let thread = world().this();
    if thread.patched.len() | thread.later.len() != 0 {
        settle_some();
    }
}

#[cold]
#[inline(never)]
fn settle_some() {
    let w = world();
    let id = w.current;
    let thread = &mut w.threads[id];
    let site = thread.later_site;
    for i in 0..thread.patched.len() {
        let (cell, now) = thread.patched[i];
        set_bytes(cell, &now);
    }
    thread.patched.clear();
    for i in 0..thread.later.len() {
        let (cell, _, before) = thread.later[i];
        thread.later[i].2 = bytes(cell);
        set_bytes(cell, &before);
    }
    let mut i = 0;
    while let Some(&(cell, part, value)) = world().threads[id].later.get(i) {
        step(cell, part, AccessKind::Store, site);
        set_part(cell, &value, part);
        i += 1;
    }
    world().threads[id].later.clear();
}

/// The program is about to write, after the next read.
pub fn early_write(addr: usize, size: usize) {
    let w = world();
    if is_heap(addr) && life(addr) != Life::Live as u8 && !is_end(addr, 1) && !w.is_known_later(addr) {
        dead(addr, true);
    }
    if !w.alone {
        let id = w.current;
        w.threads[id].early = Some((addr, size));
    }
}

/// A read after which the program makes the write that was announced before.
#[cold]
fn late(addr: usize, size: usize, write: bool) {
    settle();
    let w = world();
    let id = w.current;
    let Some((to, to_size)) = w.threads[id].early.take() else { return };
    if write {
        // Not a copy after all: the write that was announced has been made.
        return plain(addr, size, write);
    }
    w.threads[id].sources.clear();
    w.threads[id].targets.clear();
    range(id, addr, size, false);
    range(id, to, to_size, true);
    make();
    check(addr, false);
    check(to, true);
}

/// Lists the visible cells of a range of any length, which is accessed as a whole.
fn range(id: usize, addr: usize, size: usize, write: bool) {
    let w = world();
    let mut at = addr;
    while at < addr + size {
        let to = ((at & !7) + 8).min(addr + size);
        if w.shadow.access(id, at, to - at, write, false) == Hit::Private && write {
            w.threads[id].wrote(at, to - at);
        }
        at = to;
    }
    w.list(id, addr, size, write);
}

impl World {
    /// Lists the visible cells of a range, each with the part of it that is in the range.
    fn list(&mut self, id: usize, addr: usize, size: usize, write: bool) {
        let mut at = addr;
        while let Some((cell, next)) = self.shadow.next_in(at, addr + size) {
            let whole = self.shadow.cells[cell as usize];
            let (start, end) = (whole.at as usize, whole.at as usize + usize::from(whole.size));
            let (from, to) = (start.max(addr), end.min(addr + size));
            let part = if (from, to) == (start, end) { 0 } else { self.plain_part(cell, from, to - from, write) };
            let thread = &mut self.threads[id];
            (if write { &mut thread.targets } else { &mut thread.sources }).push((cell, part));
            at = next;
        }
    }
}

/// The program is about to read something and to write it, changed, which is two steps.
pub fn update(addr: usize, size: usize) {
    check(addr, true);
    let w = world();
    if w.alone {
        return;
    }
    settle();
    let id = w.current;
    w.threads[id].sources.clear();
    w.threads[id].targets.clear();
    range(id, addr, size, false);
    range(id, addr, size, true);
    make();
    check(addr, true);
}

/// A range of bytes that the program is about to access as a whole.
pub fn whole_range(addr: usize, size: usize, write: bool) {
    if is_heap(addr) && size > 0 {
        let lives = |at: usize| life(at) == Life::Live as u8 || is_end(at, 1);
        // The first byte that is wrong is what there is to tell.
        for at in [addr, addr + size - 1].into_iter().filter(|&at| !lives(at) && !world().is_known_later(at)) {
            dead(at, write);
        }
    }
    let w = world();
    if w.alone || size == 0 {
        if w.ended && size > 0 {
            check(addr, write);
        }
        return;
    }
    let id = w.current;
    // A read that gcc does not announce, since nothing in the file writes there, may stand between the announcement of a
    // write and its store: where no other thread takes part, it leaves that write alone.
    if !write && w.threads[id].early.is_none() {
        w.threads[id].sources.clear();
        range(id, addr, size, false);
        if w.threads[id].sources.is_empty() {
            return;
        }
    }
    settle();
    if w.threads[id].early.is_some() && !write {
        return late(addr, size, write);
    }
    w.threads[id].sources.clear();
    w.threads[id].targets.clear();
    range(id, addr, size, write);
    make();
    check(addr, write);
}
