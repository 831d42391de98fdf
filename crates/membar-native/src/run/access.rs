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

use super::coroutine::Thread;
use super::fault;
use super::heap::{Life, is_end, is_heap, life};
use super::layout::{ARENA, ARENA_LEN, GONE, STACK_SIZE, STACKS, control, owner, stack_base};
use super::registers::{Registers, register};
use super::shadow::{self, Hit, read};
use super::slot::{END_SITE, NOTHING, Pending};
use super::world::{World, world};
use membar_core::{Access, AccessKind, Barrier, C11, Order};
use membar_explore::{Awaited, message};

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
        let cell = super::shadow::Cell { at: self.addr as u64, size: self.size as u8, atomic: true };
        (read(&cell) == value) != until
    }
}

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
        thread.circle = None;
    } else if !thread.dirty && (write || thread.suspect < patience * FIRST) {
        // On its stack, which is part of its state. If there is nothing else, then it may be a variable that it lent to
        // others; rather an atomic one than what the compiler keeps there.
    } else if thread.dirty {
        thread.circle = None;
        thread.dirty = false;
        // It does change something, but nobody else knows: wait for longer.
        thread.was_dirty = true;
    } else if let Some((at, before)) = thread.circle {
        // A deep stack is read only where it may have been seen before.
        if at == addr && before == state(thread) {
            thread.circle = None;
            w.shadow.show_at(addr);
        }
    } else {
        thread.circle = Some((addr, state(thread)));
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

/// Whether memory of the heap or of another thread, which may come to an end before the program does.
#[inline]
fn is_mortal(w: &World, addr: usize) -> bool {
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
    let is = |life: Life| (from..to).step_by(16).any(|at| self::life(at) == life as u8);
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

impl World {
    /// Whether an access to this address is a step that is told whether the object there still exists.
    #[inline]
    fn is_told(&self, addr: usize) -> bool {
        self.told.on && !self.alone && self.shadow.is_visible(addr)
    }

    /// Whether an access to this address is a step before which it is not decided if it may be made: that is told, or another thread may
    /// give the right to. An access that failed before its step would not be one that others can come before.
    #[inline]
    fn is_known_later(&self, addr: usize) -> bool {
        let depends = is_heap(addr) && [Life::ReadOnly as u8, Life::NoAccess as u8].contains(&life(addr));
        (self.told.on || depends) && !self.alone && self.shadow.is_visible(addr)
    }
}

/// Complains if the object at an address no longer exists.
#[inline]
fn check(addr: usize, write: bool) {
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
fn dead(addr: usize, write: bool) {
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
