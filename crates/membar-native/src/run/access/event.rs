//! Accesses that a hook makes itself: atomics, operations on synchronisation objects, and what waits for a value.
//!
//! The hook says what the access does and what it orders, and announces it; when [`Event::announce`] returns, nobody else runs until the
//! next announcement, so the hook makes the access with plain instructions.
//!
//! One that waits is not runnable until its cell holds the right value. What nobody shares is no step, but its barrier is noted, since it
//! orders the accesses around it; one that waits is shared by that.

use super::{check, settle, site, suspect};
use crate::run::fault;
use crate::run::shadow::{Cell, Hit, read};
use crate::run::slot::{NOTHING, Pending};
use crate::run::world::{World, world};
use membar_core::{Access, AccessKind, Barrier, C11, Order};
use membar_explore::Awaited;

/// An access to one object by a hook that makes it itself.
#[derive(Clone, Copy)]
pub struct Event {
    addr: usize,
    size: usize,
    kind: AccessKind,
    before: Barrier,
    c11: C11,
    expected: Option<u64>,
    wait: Option<(u64, bool)>,
    site: Option<u32>,
    always: bool,
    outlived: bool,
    counted: bool,
}

impl Event {
    /// An atomic access of this memory order.
    pub fn atomic(kind: AccessKind, addr: usize, size: usize, order: Order) -> Event {
        Event {
            addr,
            size,
            kind,
            before: Barrier::None,
            c11: C11::new(order),
            expected: None,
            wait: None,
            site: None,
            always: false,
            outlived: false,
            counted: false,
        }
    }

    /// An operation on a synchronisation object. Memory with store buffers is synchronised fully: the caller sets the barrier after it.
    /// For C11 it acquires and releases, unless told otherwise, and finds the last value there is.
    pub fn sync(addr: usize, size: usize) -> Event {
        let event = Event::atomic(AccessKind::Rmw, addr, size, Order::AcqRel);
        Event { before: Barrier::Full, c11: C11::new(Order::AcqRel).fresh(), ..event }
    }

    /// It takes something: for C11 it acquires.
    pub fn takes(self) -> Event {
        Event { c11: C11::new(Order::Acquire).fresh(), ..self }
    }

    /// The same if it can; otherwise it does not change the object, and orders nothing.
    pub fn tries(self) -> Event {
        Event { c11: C11::new(Order::Acquire).failing(Order::Relaxed).fresh(), ..self }
    }

    /// It gives something back: for C11 it releases.
    pub fn gives(self) -> Event {
        Event { c11: C11::new(Order::Release).fresh(), ..self }
    }

    /// For C11 it orders nothing: what it is part of does, where it does.
    pub fn silent(self) -> Event {
        Event { c11: C11::new(Order::Relaxed).fresh(), ..self }
    }

    /// For C11 it is no more than a plain write: others must not come to the object before or after it unordered.
    pub fn unordered(self) -> Event {
        Event { c11: C11::new(Order::Plain).fresh(), ..self }
    }

    /// It is an arrival at a barrier, if it writes, or a departure.
    pub fn meets(self) -> Event {
        Event { c11: self.c11.fresh().meeting(), ..self }
    }

    /// A departure from a barrier.
    pub fn departure(addr: usize, size: usize) -> Event {
        Event::atomic(AccessKind::Load, addr, size, Order::Acquire).before(Barrier::Full).meets()
    }

    /// It finds the last value there is.
    pub fn fresh(self) -> Event {
        Event { c11: self.c11.fresh(), ..self }
    }

    /// Inline assembly makes it.
    pub fn assembly(self) -> Event {
        Event { c11: self.c11.assembly(), ..self }
    }

    /// The memory order of a compare-exchange that fails.
    pub fn failing(self, order: Order) -> Event {
        Event { c11: self.c11.failing(order), ..self }
    }

    pub fn before(self, before: Barrier) -> Event {
        Event { before, ..self }
    }

    /// It writes only if it reads this.
    pub fn expects(self, expected: u64) -> Event {
        Event { expected: Some(expected), ..self }
    }

    /// It cannot be made while the object holds this value.
    pub fn while_not(self, value: u64) -> Event {
        Event { wait: Some((value, false)), ..self }
    }

    /// It cannot be made until the object holds this value.
    pub fn until(self, value: u64) -> Event {
        Event { wait: Some((value, true)), ..self }
    }

    pub fn at(self, site: u32) -> Event {
        Event { site: Some(site), ..self }
    }

    /// A step even if nobody else knows the object.
    pub fn always(self) -> Event {
        Event { always: true, ..self }
    }

    /// The object may no longer exist when the access can be made, and that is not an error.
    pub fn may_outlive(self) -> Event {
        Event { outlived: true, ..self }
    }

    /// It takes a lock that several may hold, and waits until it can; or, if it does not wait, gives it back.
    pub fn counted(self) -> Event {
        Event { counted: true, ..self }
    }

    /// Returns when the access may be made. Its barrier is noted even if it is not a step.
    #[inline]
    pub fn announce(self) {
        settle();
        let w = world();
        let id = w.current;
        if !w.is_known_later(self.addr) {
            check(self.addr, self.kind != AccessKind::Load);
        }
        let hit = if w.alone && !self.always {
            Hit::Private
        } else {
            w.shadow.access(id, self.addr, self.size, self.kind != AccessKind::Load, true)
        };
        let (mut expected, mut part) = (self.expected, 0);
        let cell = match hit {
            Hit::Exact(cell) => {
                if w.parts.any && w.shadow.cells[cell as usize].size > 8 {
                    part = Access::WIDE;
                }
                cell
            }
            Hit::Part(cell) if self.wait.is_some() => return self.wait_for_part(cell),
            Hit::Part(cell) => {
                part = w.part(cell, self.addr, self.size);
                // The parts of a larger value cannot be told from it.
                expected = expected.filter(|_| w.shadow.cells[cell as usize].size <= 8);
                cell
            }
            // No compiler makes one, but a packed structure may.
            Hit::Several => fault::limit("makes an atomic access across a multiple of 16 bytes"),
            // One that blocks: nobody else knows it, so nobody will ever change it. And an interlocked operation empties
            // store buffers whatever it works on (one that synchronises fully says so by its barriers).
            Hit::Private
                if self.blocks()
                    || self.kind == AccessKind::Rmw
                        && self.before != Barrier::Full
                        && !w.alone
                        && w.shadow.has(self.addr) =>
            {
                if w.alone {
                    w.shadow.access(id, self.addr, self.size, true, true);
                }
                let cell = w.shadow.show_at(self.addr);
                cell.unwrap_or_else(|| fault::limit("waits for an object in memory that is not its own"))
            }
            Hit::Private => {
                let thread = &mut w.threads[id];
                thread.barrier = thread.barrier.max(self.before);
                if self.kind != AccessKind::Load {
                    thread.wrote(self.addr, self.size);
                }
                thread.private += 1;
                if thread.private >= thread.suspect && !w.alone {
                    suspect(self.addr, self.kind == AccessKind::Store, true);
                }
                return;
            }
        };
        let site = self.site.unwrap_or_else(|| site(w));
        let pending = Pending {
            expected: expected.unwrap_or(0),
            cell,
            site,
            kind: self.kind,
            barrier: self.before,
            c11: self.c11,
            compares: expected.is_some(),
            waits: self.wait.is_some(),
            guarded: false,
            counted: self.counted,
            part,
        };
        let awaited = self.wait.map_or(NOTHING, |(value, until)| Awaited { addr: cell, value, until });
        World::announce::<true>(pending, awaited);
        if !self.outlived {
            check(self.addr, self.kind != AccessKind::Load);
        }
    }

    /// Waits for a part of a cell. The engine compares whole cells: so the thread looks, and if the part blocks it, waits until
    /// anything of the cell has changed and looks again. A look that finds the part taken is a step that changes nothing.
    #[cold]
    fn wait_for_part(self, cell: u32) {
        let site = self.site.unwrap_or_else(|| site(world()));
        let mut pending = Pending { barrier: self.before, c11: self.c11, ..Pending::plain(cell, site, self.kind) };
        let mut awaited = NOTHING;
        loop {
            World::announce::<true>(pending, awaited);
            check(self.addr, self.kind != AccessKind::Load);
            if !self.blocks() {
                return;
            }
            pending.waits = true;
            awaited = Awaited { addr: cell, value: read(&world().shadow.cells[cell as usize]), until: false };
        }
    }

    fn blocks(&self) -> bool {
        let Some((value, until)) = self.wait else { return false };
        let cell = Cell { at: self.addr as u64, size: self.size as u8, atomic: true };
        (read(&cell) == value) != until
    }
}
