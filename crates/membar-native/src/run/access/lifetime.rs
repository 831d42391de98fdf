//! Whether what is accessed still exists: blocks of the heap, stacks and thread-local variables.
//!
//! An access is checked before it is announced, and, if what it accesses may come to an end before the program does, once more when it is made.
//! The end of a visible cell is a step, a write of it for C11, so that a use that nothing orders before it is a race.
//! An execution of a model is told whether the object exists, since the access may come late there (`told`).

use super::{settle, site, step_of};
use crate::run::fault;
use crate::run::heap::{Life, is_end, is_heap, life};
use crate::run::layout::{ARENA, ARENA_LEN, GONE, STACK_SIZE, STACKS, control, owner, stack_base};
use crate::run::slot::{END_SITE, NOTHING, Pending};
use crate::run::world::{World, world};
use membar_core::{AccessKind, Barrier, C11};
use membar_explore::message;

/// Whether memory of the heap or of another thread, which may come to an end before the program does.
#[inline]
pub(super) fn is_mortal(w: &World, addr: usize) -> bool {
    addr.wrapping_sub(ARENA) < ARENA_LEN && addr.wrapping_sub(stack_base(w.current) - STACK_SIZE) >= STACK_SIZE
}

/// The thread that runs has ended, and with it its own visible cell.
pub fn lose(cell: u32) {
    settle();
    // For C11 the end of a variable is a write like others.
    let (barrier, c11) = (Barrier::Full, C11::default().ending());
    let pending = Pending { barrier, c11, ..Pending::plain(cell, END_SITE, AccessKind::Rmw) };
    World::announce::<true>(pending, NOTHING);
}

/// The life of all that is in a range ends: a step for each visible cell.
pub fn end_all(addr: usize, size: usize) {
    settle();
    let site = site(world());
    let mut at = addr;
    while at < addr + size {
        match world().shadow.next_in(at, addr + size) {
            Some((cell, next)) => {
                step_of(cell, AccessKind::Store, site, world().this().plain().ending());
                at = next;
            }
            None => break,
        }
    }
}

/// Makes whole pages of a mapping something else: a step for each visible cell, which changes that cell. So each access of another thread is
/// before or after the change of what it accesses. If only writers are concerned, that is a read.
pub fn change_rights(from: usize, to: usize, new: Life) {
    settle();
    let w = world();
    let id = w.current;
    w.threads[id].dirty = true;
    let is = |life: Life| (from..to).step_by(16).any(|at| crate::run::heap::life(at) == life as u8);
    let (readers, given) = (new == Life::NoAccess || new == Life::Unmapped || is(Life::NoAccess), is(Life::NoAccess));
    if !w.alone {
        if given || !readers {
            // Whoever comes to it afterwards might have come before: it has to be known that there was a before.
            for at in (from..to).step_by(8) {
                w.shadow.access(id, at, 8, readers, false);
            }
        }
        if readers {
            w.shadow.claim(id, from, to - from);
        }
        let site = site(w);
        let mut at = from;
        while let Some((cell, next)) = world().shadow.next_in(at, to) {
            let (kind, c11) = if readers {
                (AccessKind::Store, world().this().plain().ending())
            } else {
                (AccessKind::Load, world().this().plain())
            };
            step_of(cell, kind, site, c11);
            let granule = world().shadow.cells[cell as usize].at as usize & !15;
            world().heap.change(granule, granule + 16, new);
            at = next;
        }
    }
    world().heap.change(from, to, new);
}

impl World {
    /// Whether an access to this address is a step that is told whether the object there still exists.
    #[inline]
    pub(super) fn is_told(&self, addr: usize) -> bool {
        self.told.on && !self.alone && self.shadow.is_visible(addr)
    }

    /// Whether an access to this address is a step before which it is not decided if it may be made: that is told, or another thread may
    /// give the right to. An access that failed before its step would not be one that others can come before.
    #[inline]
    pub(super) fn is_known_later(&self, addr: usize) -> bool {
        let depends = is_heap(addr) && [Life::ReadOnly as u8, Life::NoAccess as u8].contains(&life(addr));
        (self.told.on || depends) && !self.alone && self.shadow.is_visible(addr)
    }
}

/// Complains if the object at an address no longer exists.
#[inline]
pub(super) fn check(addr: usize, write: bool) {
    if addr.wrapping_sub(ARENA) >= ARENA_LEN {
        return;
    }
    if world().is_told(addr) && !world().told.dead {
        return;
    }
    if is_heap(addr) {
        if life(addr) != Life::Live as u8 && !is_end(addr, 1) {
            dead(addr, write);
        }
    } else if let Some(owner) = owner(addr) {
        check_owner(addr, write, owner);
    }
}

fn check_owner(addr: usize, write: bool, owner: usize) {
    let w = world();
    if owner == w.current {
        return;
    }
    let what = if write { "writes" } else { "reads" };
    let whose = fault::who(owner);
    // SAFETY: the control blocks are mapped.
    if unsafe { *((control(owner) + GONE) as *const u32) } == 0 {
        // A thread that stands somewhere has called a hook from there: all of its frames are above that.
        if addr >= STACKS && addr < w.threads[owner].frame.0 {
            fault::raise(format!("{what} a local variable of {whose}, in a function that has returned"));
        }
        return;
    }
    // Seen from its beginning it has a name.
    w.shadow.show_at(addr);
    let part = if addr >= STACKS { "on the stack" } else { "a thread-local variable" };
    fault::raise(message!(format!("{what} "), fault::name(addr), format!(", {part} of {whose}, which has ended")))
}

#[cold]
pub(super) fn dead(addr: usize, write: bool) {
    let what = if write { "writes" } else { "reads" };
    let how = match life(addr) {
        read if read == Life::ReadOnly as u8 && !write => return,
        read if read == Life::ReadOnly as u8 => "that may only be read",
        none if none == Life::NoAccess as u8 => "that may not be accessed",
        gone if gone == Life::Unmapped as u8 => "that has been unmapped",
        _ => "",
    };
    let block = world().heap.find(addr);
    if let Some(block) = block.filter(|block| block.alive && !how.is_empty()) {
        let place = format!("{what} memory {how}: byte {} of ", addr - block.start);
        fault::raise(message!(place, fault::block(&block)));
    }
    match block {
        Some(block) if !block.alive => fault::raise(message!(
            format!("{what} memory that has been freed: byte {} of ", addr - block.start),
            fault::block(&block)
        )),
        Some(block) => {
            // It may begin in the block.
            let behind = addr.saturating_sub(block.start + block.size);
            let outside = format!("{what} outside of any block of the heap: {behind} bytes behind ");
            fault::raise(message!(outside, fault::block(&block)))
        }
        None => fault::raise(message!(format!("{what} outside of any block of the heap"), fault::near(addr))),
    }
}
