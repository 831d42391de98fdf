//! From a hook to the scheduler and back: a thread says what it is about to do, and does it when it is resumed.

use super::coroutine::Thread;
use super::registers::{Registers, register, word_at};
use super::shadow::read;
use super::slot::{NO_STAMP, Pending, Slot, Stand};
use super::unwind::Call;
use super::world::{Mode, World, world};
use membar_core::{AccessKind, Barrier, Fence, Remedy};
use membar_explore::{Awaited, Step};

impl World {
    /// The thread that runs is about to do this. Returns when it may.
    ///
    /// `MORE` if the hook may announce more on behalf of its caller, or complain about it: then the caller's registers are
    /// as they were.
    #[inline(always)]
    pub fn announce<const MORE: bool>(mut pending: Pending, mut awaited: Awaited) {
        let world = world();
        if !world.guarded.is_empty() {
            world.guard(&mut pending, &mut awaited);
        }
        let thread = world.this();
        pending.barrier = pending.barrier.max(thread.barrier);
        pending.c11 = pending.c11.after(thread.fence);
        (thread.barrier, thread.fence) = (Barrier::None, Fence::None);
        if !world.remedies.is_empty() {
            world.remedy(&mut pending);
        }
        let thread = world.this();
        if !thread.ties.busy {
            thread.ties.announces(pending.cell);
        }
        if let Some(first) = thread.ties.joining {
            world.goes_on_without(first, pending.cell);
        }
        (thread.private, thread.suspect) = (0, 1000);
        thread.low = thread.low.min(register(0));
        thread.frame = (register(0), register(2));
        thread.stand = Stand::Access;
        let registers = MORE.then(Registers::save);
        let goes_on = if world.mode == Mode::Again {
            world.announced_again(pending)
        } else {
            world.announced(thread, pending, awaited)
        };
        if !goes_on {
            // SAFETY: it runs, and nothing that was looked up before is used any more.
            unsafe { Thread::suspend(thread) };
        }
        if let Some(registers) = registers {
            registers.restore();
        }
        let world = super::world::world();
        if !world.remedies.is_empty() {
            let (barrier, fence) = world.added(pending.site);
            let thread = world.this();
            (thread.barrier, thread.fence) = (barrier, fence);
        }
    }

    /// The thread that runs announces something for the first time: whether it may do that too, without being asked.
    #[inline(always)]
    fn announced(&mut self, thread: &mut Thread, pending: Pending, awaited: Awaited) -> bool {
        let slots = &mut thread.slots;
        if slots.len() == slots.capacity() {
            more_slots(slots);
        }
        // SAFETY: there is room for one more, all of which is written. If a step has been made, there is one before it.
        let (made, slot) = unsafe {
            let slot = slots.as_mut_ptr().add(slots.len());
            let before = (!slots.is_empty()).then(|| &*slot.sub(1));
            // In place, field by field: a copy of the whole right after its parts have been written would wait for them.
            (&raw mut (*slot).pending).write(pending);
            (&raw mut (*slot).stand).write(Stand::Access);
            (&raw mut (*slot).stamped).write(NO_STAMP);
            (&raw mut (*slot).awaited).write(awaited);
            (&raw mut (*slot).idle).write(before.map(|before| before.idle).unwrap_or_default());
            slots.set_len(slots.len() + 1);
            (self.stepping.then(|| &(*slot.sub(1)).pending), &mut *slot)
        };
        self.look(thread, made, &pending, slot);
        made.is_some_and(|made| self.goes_on(made, slot))
    }

    /// The thread that runs announces something on the way to a state: whether it is what it announced before, and it is
    /// the one to continue.
    #[inline(never)]
    fn announced_again(&mut self, pending: Pending) -> bool {
        let (id, thread) = (self.current, self.this());
        let known = thread.slots.get(thread.said).and_then(Slot::access);
        // The caller of a library's code is a guess, and leftovers on the stack may change it.
        let guessed = |known: &Pending| {
            *known == Pending { site: known.site, ..pending }
                && self.is_wrapper(self.module.offset(word_at(register(0))))
        };
        if known != Some(&pending) && !known.is_some_and(guessed) {
            self.diverge(id, Some(pending.site));
            return false;
        }
        thread.said += 1;
        (thread.dirty, thread.was_dirty) = (false, false);
        if self.sampling && pending.kind.reads() && !pending.waits {
            // The path has been restarted; otherwise it is stamped already.
            let pc = self.module.offset(word_at(register(0)));
            self.stamp(pc, &mut 0);
        }
        let next = self.path.get(self.at).copied().filter(|next| next.thread() == id);
        if let Some(outcome) = next.and_then(Step::outcome) {
            self.decide(outcome);
        }
        if self.told.on && next.is_some() {
            self.leave_again(self.at);
            self.find_again(self.at);
        }
        self.at += usize::from(next.is_some());
        next.is_some()
    }

    /// The barrier and the fence to add at a site.
    #[cold]
    #[inline(never)]
    fn added(&self, site: u32) -> (Barrier, Fence) {
        match self.remedies.get(&site) {
            Some(&Remedy::Barrier(barrier)) => (barrier, Fence::None),
            Some(&Remedy::Fence(fence)) => (Barrier::None, fence),
            _ => (Barrier::None, Fence::None),
        }
    }

    /// Changes an access that is about to be announced.
    #[cold]
    #[inline(never)]
    fn remedy(&self, pending: &mut Pending) {
        let (barrier, fence) = self.added(pending.site | Remedy::BEFORE);
        pending.barrier = pending.barrier.max(barrier);
        pending.c11 = pending.c11.right_after(fence);
        if let Some(&Remedy::Order(order)) = self.remedies.get(&pending.site)
            && !pending.c11.is_fresh()
        {
            pending.c11 = pending.c11.strengthened(order);
        }
    }

    /// The instruction that a report should name for a call from `pc`, which may be in code that only wraps.
    #[inline(always)]
    pub fn user_site(&self, pc: u32, frame: usize) -> u32 {
        if self.is_wrapper(pc) { self.caller_of_wrapper(frame).unwrap_or(pc) } else { pc }
    }

    #[inline]
    pub fn is_wrapper(&self, pc: u32) -> bool {
        let pc = pc.wrapping_sub(1) as usize;
        self.wrappers.get(pc / 64).is_none_or(|bits| bits >> (pc % 64) & 1 != 0)
    }

    #[inline(never)]
    pub fn caller_of_wrapper(&self, frame: usize) -> Option<u32> {
        if !self.module.is_code(word_at(register(0))) {
            // A library may use the frame pointer for anything.
            return super::fault::call_from_program(register(0)).map(|pc| self.module.offset(pc));
        }
        let user = |pc: usize| {
            let pc = self.module.offset(pc);
            (pc != u32::MAX && !self.is_wrapper(pc)).then_some(pc)
        };
        let (base, top) = (self.module.base, self.threads[self.current].entry);
        let mut call = Call::at(register(0), frame);
        for _ in 0..32 {
            let Some(caller) = self.unwinder.caller(call, base, top) else { break };
            if let Some(pc) = user(caller.back) {
                return Some(pc);
            }
            call = caller;
        }
        // Frame pointers lead further where nothing is known about a frame.
        super::fault::callers(call.frame, self.current).take(32).find_map(user)
    }

    /// Looks what came of the step that was made, and whether the thread waits for something, and completes the slot of its next
    /// access, whose `idle` is what was known before.
    #[inline(always)]
    fn look(&mut self, thread: &mut Thread, made: Option<&Pending>, pending: &Pending, slot: &mut Slot) {
        let &Pending { cell, kind, waits, expected, part, .. } = pending;
        let Slot { stamped, idle, awaited, .. } = slot;
        if (waits | pending.guarded) && !self.sampling {
            let awaited = if pending.guarded { awaited.addr } else { cell };
            let value = read(&self.shadow.cells[awaited as usize]);
            self.set_value(awaited, value);
        }
        // Without a loop, no thread waits in one.
        let loops = !self.loop_list.is_empty();
        if let Some(made) = made {
            // A read changes nothing.
            self.new = match made.kind {
                AccessKind::Load => self.old,
                _ => read(&self.shadow.cells[made.cell as usize]),
            };
            if loops {
                idle.made(made, self.old, self.new, self.path.len(), &mut thread.history);
            }
        }
        if thread.dirty | thread.was_dirty {
            (thread.dirty, thread.was_dirty) = (false, false);
            if loops {
                idle.disturbed(&thread.history);
            }
        }
        if kind.reads() && !waits {
            let pc = self.module.offset(word_at(register(0)));
            if self.stamp(pc, stamped) {
                // The subject of the call is in registers that it may change.
                let about =
                    (u64::from(cell) << 32 ^ u64::from(part) << 24 ^ expected).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let state = super::idle::state(&mut self.liveness, self.floats, thread);
                idle.visit(pc, state ^ about, &mut thread.history);
            }
        }
        if idle.length != 0 {
            self.park(thread, idle);
        }
        idle.log = thread.history.log.len() as u32;
    }

    /// Notes that the thread that runs has come to this read, and whether it has before: then it is in a loop. Whether it was
    /// known to be.
    #[inline]
    fn stamp(&mut self, pc: u32, stamped: &mut u32) -> bool {
        let Some(stamp) = self.stamps.get_mut(pc as usize) else { return false };
        if stamp.is_loop {
            return true;
        }
        let bit = 1 << (self.current % 64);
        if stamp.path != self.path_number {
            (stamp.path, stamp.threads) = (self.path_number, 0);
        }
        if stamp.threads & bit == 0 {
            stamp.threads |= bit;
            *stamped = pc;
        } else {
            stamp.is_loop = true;
            self.loop_list.push(pc);
            self.grown = true;
        }
        false
    }
}

#[cold]
#[inline(never)]
fn more_slots(slots: &mut Vec<Slot>) {
    slots.reserve(64);
}
