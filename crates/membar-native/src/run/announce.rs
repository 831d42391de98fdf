//! From a hook to the scheduler and back: a thread says what it is about to do, and does it when it is resumed.

use super::idle::Idle;
use super::registers::{Registers, register, word_at};
use super::shadow::read;
use super::slot::{BEFORE, Pending, Slot, Stand};
use super::world::{Mode, World, world};
use membar_core::Barrier;
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
        let thread = &mut world.threads[id];
        pending.barrier = pending.barrier.max(thread.barrier);
        thread.barrier = Barrier::None;
        if !world.barriers.is_empty()
            && let Some(&barrier) = world.barriers.get(&(pending.site | BEFORE))
        {
            pending.barrier = pending.barrier.max(barrier);
        }
        let thread = &mut world.threads[id];
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
                world.threads[id].suspend();
            }
            let thread = &mut world.threads[id];
            thread.said += 1;
            (thread.dirty, thread.was_dirty) = (false, false);
            if pending.kind.reads() && !pending.waits {
                let pc = world.module.offset(word_at(register(0)));
                world.stamp(id, pc);
            }
            let thread = &mut world.threads[id];
            if world.at < world.path.len() && usize::from(world.path[world.at]) == id {
                world.at += 1;
            } else {
                thread.suspend();
            }
        } else {
            let idle = world.look(id, &pending);
            let slots = &mut world.threads[id].slots;
            if slots.len() == slots.capacity() {
                slots.reserve(64);
            }
            // Field by field: a copy of the whole right after its parts have been written would wait for them.
            // SAFETY: there is room for one more, all of which is written.
            unsafe {
                let slot = slots.as_mut_ptr().add(slots.len());
                (&raw mut (*slot).pending).write(pending);
                (&raw mut (*slot).stand).write(Stand::Access);
                (&raw mut (*slot).awaited).write(awaited);
                (&raw mut (*slot).idle).write(idle);
                slots.set_len(slots.len() + 1);
            }
            world.threads[id].suspend();
        }
        if let Some(registers) = registers {
            registers.restore();
        }
        let world = super::world::world();
        if !world.barriers.is_empty()
            && let Some(&barrier) = world.barriers.get(&pending.site)
        {
            world.threads[id].barrier = barrier;
        }
    }

    /// The instruction that a report should name for a call from `pc`, which may be in code that only wraps.
    #[inline]
    pub fn user_site(&self, pc: u32, frame: usize) -> u32 {
        if !self.is_wrapper(pc) {
            return pc;
        }
        self.caller_of_wrapper(frame).unwrap_or(pc)
    }

    #[inline]
    pub fn is_wrapper(&self, pc: u32) -> bool {
        let pc = pc.wrapping_sub(1) as usize;
        self.wrappers.get(pc / 64).is_none_or(|bits| bits >> (pc % 64) & 1 != 0)
    }

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

    /// Looks what came of the last step, and whether the thread waits for something.
    #[inline]
    fn look(&mut self, id: usize, &Pending { cell, kind, waits, expected, .. }: &Pending) -> Idle {
        if waits {
            let value = read(&self.shadow.cells[cell as usize]);
            self.set_value(cell, value);
        }
        let made = self.stepping.take();
        if let Some((cell, _)) = made {
            self.new = read(&self.shadow.cells[cell as usize]);
        }
        let thread = &mut self.threads[id];
        let mut idle = match thread.slots.last() {
            Some(slot) => slot.idle,
            None => Idle::default(),
        };
        // Where there is no loop nobody waits in one.
        if !self.loop_list.is_empty() {
            if let Some((cell, kind)) = made {
                idle.made(cell, kind, self.old, self.new, &mut thread.log);
            }
            if thread.dirty | thread.was_dirty {
                idle.quiet = thread.log.len() as u32;
                idle.round = (0, 0);
            }
        }
        (thread.dirty, thread.was_dirty) = (false, false);
        if kind.reads() && !waits {
            self.look_round(id, &mut idle, u64::from(cell) << 32 ^ expected);
        }
        let thread = &self.threads[id];
        idle.log = thread.log.len() as u32;
        idle.visits = thread.visits.len() as u32;
        idle
    }

    /// Looks whether the thread has been here before.
    #[inline]
    fn look_round(&mut self, id: usize, idle: &mut Idle, about: u64) {
        let pc = self.module.offset(word_at(register(0)));
        if self.loops.get(pc as usize) != Some(&true) {
            return self.stamp(id, pc);
        }
        // What the call is about is in registers that it may change.
        let thread = &mut self.threads[id];
        let state = super::idle::state(register(0), thread.entry, &thread.written);
        idle.visit(pc, state ^ about.wrapping_mul(0x9e37_79b9_7f4a_7c15), &thread.log, &mut thread.visits);
    }

    /// Notes that the thread has come to this read, and whether it has before: then it is in a loop.
    #[inline]
    fn stamp(&mut self, id: usize, pc: u32) {
        let (Some(stamp), now) = (self.stamps.get_mut(pc as usize), self.executions as u32) else { return };
        if stamp.0 != now {
            *stamp = (now, 1 << id);
        } else if stamp.1 >> id & 1 == 0 {
            stamp.1 |= 1 << id;
        } else if !self.loops[pc as usize] {
            self.loops[pc as usize] = true;
            self.loop_list.push(pc);
            self.grown = true;
        }
    }
}
