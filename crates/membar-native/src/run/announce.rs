//! From a hook to the scheduler and back: a thread says what it is about to do, and does it when it is resumed.

use super::registers::{Registers, register, word_at};
use super::shadow::read;
use super::slot::{BEFORE, NO_STAMP, Pending, Slot, Stand};
use super::world::{Mode, World, world};
use membar_core::{AccessKind, Barrier};
use membar_explore::Awaited;

impl World {
    /// The thread that runs is about to do this. Returns when it may.
    ///
    /// `MORE` if the hook may announce more on behalf of its caller, or complain about it: then the caller's registers are
    /// as they were.
    #[inline(always)]
    pub fn announce<const MORE: bool>(mut pending: Pending, awaited: Awaited) {
        let world = world();
        let id = world.current;
        let thread = world.this();
        pending.barrier = pending.barrier.max(thread.barrier);
        thread.barrier = Barrier::None;
        if !world.barriers.is_empty()
            && let Some(&barrier) = world.barriers.get(&(pending.site | BEFORE))
        {
            pending.barrier = pending.barrier.max(barrier);
        }
        (thread.private, thread.suspect) = (0, 1000);
        thread.low = thread.low.min(register(0));
        thread.frame = (register(0), register(2));
        thread.stand = Stand::Access;
        let registers = MORE.then(Registers::save);
        if world.mode == Mode::Again {
            let known = thread.slots.get(thread.said).and_then(Slot::access).copied();
            // Who called code without frame pointers is a guess that leftovers on the stack may change.
            let guessed = |known: Pending| {
                known == Pending { site: known.site, ..pending }
                    && world.is_wrapper(world.module.offset(word_at(register(0))))
            };
            if known != Some(pending) && !known.is_some_and(guessed) {
                world.diverge(id, Some(pending.site));
                thread.suspend();
            }
            thread.said += 1;
            (thread.dirty, thread.was_dirty) = (false, false);
            if world.sampling && pending.kind.reads() && !pending.waits {
                // The path has been begun anew; otherwise it is stamped already.
                let pc = world.module.offset(word_at(register(0)));
                world.stamp(pc, &mut 0);
            }
            if world.at < world.path.len() && usize::from(world.path[world.at]) == id {
                world.at += 1;
            } else {
                thread.suspend();
            }
        } else {
            let slots = &mut thread.slots;
            if slots.len() == slots.capacity() {
                slots.reserve(64);
            }
            // In place, field by field: a copy of the whole right after its parts have been written would wait for them.
            // SAFETY: there is room for one more, all of which is written.
            unsafe {
                let slot = slots.as_mut_ptr().add(slots.len());
                (&raw mut (*slot).pending).write(pending);
                (&raw mut (*slot).stand).write(Stand::Access);
                (&raw mut (*slot).stamped).write(NO_STAMP);
                (&raw mut (*slot).awaited).write(awaited);
                (&raw mut (*slot).idle).write(slots.last().map(|last| last.idle).unwrap_or_default());
                world.look(&mut *slot);
                slots.set_len(slots.len() + 1);
            }
            if !world.goes_on() {
                thread.suspend();
            }
        }
        if let Some(registers) = registers {
            registers.restore();
        }
        let world = super::world::world();
        if !world.barriers.is_empty()
            && let Some(&barrier) = world.barriers.get(&pending.site)
        {
            world.this().barrier = barrier;
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
    fn caller_of_wrapper(&self, frame: usize) -> Option<u32> {
        let stack = super::fault::walk(0, frame, self.current, 32);
        let user = |pc: usize| {
            let pc = self.module.offset(pc);
            (pc != u32::MAX && !self.is_wrapper(pc)).then_some(pc)
        };
        // Code without frame pointers hides its caller from the chain: what looks like a return address then will do.
        let (from, to) = (register(0), self.threads[self.current].entry.min(frame.max(register(0))));
        let hidden = (from..to).step_by(8).take(256).find_map(|at| user(word_at(at)));
        hidden.or_else(|| stack[1..].iter().find_map(|&pc| user(pc)))
    }

    /// Looks what came of the last step, and whether the thread waits for something, and completes the slot of its next
    /// access, whose `idle` is what was known before.
    #[inline(always)]
    fn look(&mut self, slot: &mut Slot) {
        let Slot { pending: Pending { cell, kind, waits, expected, .. }, ref mut stamped, ref mut idle, .. } = *slot;
        let thread = self.this();
        if waits && !self.sampling {
            let value = read(&self.shadow.cells[cell as usize]);
            self.set_value(cell, value);
        }
        // Where there is no loop nobody waits in one.
        let loops = !self.loop_list.is_empty();
        if self.stepping
            && let Some(Slot { pending: made, .. }) = thread.slots.last()
        {
            self.stepping = false;
            // A read changes nothing.
            self.new = match made.kind {
                AccessKind::Load => self.old,
                _ => read(&self.shadow.cells[made.cell as usize]),
            };
            if loops {
                idle.made(made.cell, made.kind, self.old, self.new, &mut thread.log);
            }
        }
        if thread.dirty | thread.was_dirty {
            (thread.dirty, thread.was_dirty) = (false, false);
            if loops {
                idle.quiet = thread.log.len() as u32;
                idle.round = (0, 0);
            }
        }
        if kind.reads() && !waits {
            let pc = self.module.offset(word_at(register(0)));
            if self.stamp(pc, stamped) {
                // What the call is about is in registers that it may change.
                let about = (u64::from(cell) << 32 ^ expected).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let state = super::idle::state(register(0), thread.entry, &thread.written);
                idle.visit(pc, state ^ about, &thread.log, &mut thread.visits);
                idle.visits = thread.visits.len() as u32;
            }
        }
        idle.log = thread.log.len() as u32;
    }

    /// Notes that the thread that runs has come to this read, and whether it has before: then it is in a loop. Whether it was
    /// known to be.
    #[inline]
    fn stamp(&mut self, pc: u32, stamped: &mut u32) -> bool {
        let Some(stamp) = self.stamps.get_mut(pc as usize) else { return false };
        if stamp.is_loop {
            return true;
        }
        let bit = 1 << self.current;
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
