//! RISC-V or Arm cores that perform their instructions out of order, on one memory.
//!
//! Problem: run a program with dependencies, reservations, fences, `aq`, `aqpc` and `rl` on a machine that obeys RVWMO and Armv8 by construction
//! and reorders as much as a window allows. (For these programs, which have no ISB, what both models ask of one memory is the same.)
//!
//! Algorithm: a scheduler picks harts at random, for short bursts of steps. A hart fetches its next instruction into its window, or performs any
//! instruction of the window that no older one holds back. Performing is a point of memory order: a store and an atomic write memory, and a load
//! returns the youngest older store of its address that is still in the window, if there is one, else memory. Instructions leave
//! the window in program order, once performed. An instruction waits for an older one that is not performed, if
//!
//! 1. it writes and both access one address (ppo rule 1);
//! 2. both read one address, and no store between them forwards to the second (rule 2); it loads from an atomic or `sc` (rule 3);
//! 3. a fence between them orders the two (rule 4), the older acquires, it releases, or both are marked (rules 5 to 7);
//! 4. its address or data depend on the older one, or it writes and its execution does (rules 9 to 11), or it writes
//!    and the address of an instruction between them depends on the older one (rule 13);
//! 5. both are load reserved or store conditional (rule 8, and more than the model asks).
//!
//! A load takes a value from a store in the window only when what that store's address and data depend on is performed (rule 12).
//!
//! A load reserved makes a reservation of its address, which the next one, any `sc` of the hart, and a write of another hart to the address end. An `sc`
//! stores if there is a reservation of its address.
//!
//! Invariants: memory order is the order of performing; the window is a range of the thread's instructions.
//!
//! Complexity: O(n w²) with windows of w instructions.
//!
//! Guarantees: every trace is allowed by `rvwmo`, and by `armv8`; each clause above is the ppo rule it names. The load value axiom holds since own stores of an address
//! are performed in order.
//!
//! Deviations from the model: windows are small, addresses are known from the beginning, acquires and releases of locks order everything,
//! atomics and `sc` do not forward.

use super::clock::{Clock, Cores, Moved};
use super::{Bug, Setup};
use crate::program::Kind;
use crate::{Program, Record, Rng, Run, Times};
use membar_core::{Depends, Marks, Mask};

/// Instructions that a window holds at most.
const WINDOW: u32 = 16;

struct Core {
    /// The oldest instruction in the window.
    head: u32,
    /// The next instruction to fetch.
    tail: u32,
    /// One past the thread's last instruction.
    end: u32,
    /// Bit `k`: instruction `head + k` has been performed.
    done: u32,
    /// The address that is reserved.
    reserved: Option<u32>,
    /// An atomic that has read but not written, with its value (a bug).
    half: Option<(u32, u64)>,
}

struct Machine<'a> {
    program: &'a Program,
    setup: Setup,
    memory: Vec<u64>,
    locks: Vec<bool>,
    cores: Vec<Core>,
    record: Record,
    stored: Vec<bool>,
    times: Times,
    clock: Clock,
    released: bool,
}

/// Runs a program. Where threads wait for locks forever, the record holds what was executed.
pub(super) fn run(program: &Program, setup: Setup, seed: u64) -> Run {
    let core = |t: usize| Core {
        head: program.starts[t],
        tail: program.starts[t],
        end: program.starts[t + 1],
        done: 0,
        reserved: None,
        half: None,
    };
    let mut machine = Machine {
        program,
        setup,
        memory: program.initial.clone(),
        locks: vec![false; program.locks as usize],
        cores: (0..program.threads()).map(core).collect(),
        record: Record::empty(program),
        stored: vec![false; program.len()],
        times: Times::empty(program),
        clock: Clock::new(program.threads()),
        released: false,
    };
    machine.record.log.reserve(program.len());
    machine.run_all(&mut Rng::stream(seed, 0x52));
    machine.log_what_is_left();
    machine.record.finals = machine.memory;
    machine.record.conditional = Some(machine.stored);
    machine.record.arm = setup.machine() == super::Machine::Armv8 && program.has_arm_barriers();
    Run { record: machine.record, times: machine.times }
}

impl Cores for Machine<'_> {
    const BURST: u32 = 6;

    #[inline(always)]
    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    #[inline(always)]
    fn move_core(&mut self, core: usize, rng: &mut Rng) -> Moved {
        if self.cores[core].head == self.cores[core].end {
            Moved::Finished
        } else if self.step(core, rng) {
            Moved::Yes
        } else {
            Moved::No
        }
    }

    #[inline(always)]
    fn wake(&mut self) {
        if std::mem::take(&mut self.released) {
            self.clock.wake(|_| true);
        }
    }
}

impl Machine<'_> {
    /// Moves core `c` on; `false` if nothing can move before a lock is released or a pause is over.
    fn step(&mut self, c: usize, rng: &mut Rng) -> bool {
        let roll = rng.next();
        let core = &self.cores[c];
        if let Some((i, value)) = core.half {
            if roll & 3 != 0 {
                return true;
            }
            self.write(c, self.program.addr[i as usize], value);
            self.cores[c].half = None;
            self.finish(c, i);
            return true;
        }
        let room = core.tail < core.end && core.tail - core.head < WINDOW && self.clock.runs(c);
        if room && (roll & 3 != 0 || core.head == core.tail) {
            self.fetch(c);
            return true;
        }
        let size = core.tail - core.head;
        let first = if size == 0 { 0 } else { (roll >> 8) as u32 % size };
        if (0..size).any(|k| self.try_perform(c, (first + k) % size)) {
            return true;
        }
        if room {
            self.fetch(c);
        }
        room
    }

    fn fetch(&mut self, c: usize) {
        let i = self.cores[c].tail as usize;
        self.times.begin[i] = self.clock.now();
        self.cores[c].tail += 1;
        match self.program.kind[i] {
            Kind::Delay => {
                self.clock.pause(c, self.program.value[i]);
                self.finish(c, i as u32);
            }
            // A fence does nothing itself: others look at it while it is in the window.
            Kind::Fence => self.finish(c, i as u32),
            _ => {}
        }
    }

    /// Marks an instruction as performed, and lets the oldest ones leave the window.
    fn finish(&mut self, c: usize, i: u32) {
        let core = &mut self.cores[c];
        core.done |= 1 << (i - core.head);
        while core.done & 1 != 0 {
            self.times.end[core.head as usize] = self.clock.now();
            self.record.log.push(core.head);
            core.head += 1;
            core.done >>= 1;
        }
    }

    /// Where threads are stuck, what was performed behind what is stuck happened all the same.
    fn log_what_is_left(&mut self) {
        for core in &self.cores {
            for i in (core.head..core.tail).filter(|i| core.done >> (i - core.head) & 1 != 0) {
                self.times.end[i as usize] = self.clock.now();
                self.record.log.push(i);
            }
        }
    }

    fn pending(&self, core: &Core, i: u32) -> bool {
        i >= core.head && core.done >> (i - core.head) & 1 == 0
    }

    fn try_perform(&mut self, c: usize, k: u32) -> bool {
        let core = &self.cores[c];
        let i = core.head + k;
        if !self.pending(core, i) {
            return false;
        }
        let forward = self.forwards(core, i);
        if (core.head..i).any(|older| self.pending(core, older) && self.holds_back(core, older, i, forward)) {
            return false;
        }
        if forward.is_some_and(|store| self.waits_for_sources(core, store)) {
            return false;
        }
        if self.program.kind[i as usize] == Kind::Acquire && self.locks[self.program.addr[i as usize] as usize] {
            return false;
        }
        self.perform(c, i, forward);
        true
    }

    /// The store in the window that a load would take its value from.
    fn forwards(&self, core: &Core, i: u32) -> Option<u32> {
        let p = self.program;
        let plain = |j: u32| p.kind[j as usize] == Kind::Store && !p.marks(j as usize).meets(Marks::CONDITIONAL);
        if p.kind[i as usize] != Kind::Load || p.marks(i as usize).meets(Marks::RESERVES) {
            return None;
        }
        let writes = |j: u32| {
            p.kind[j as usize].access() && p.kind[j as usize] != Kind::Load && p.addr[j as usize] == p.addr[i as usize]
        };
        let store = (core.head..i).rev().find(|&j| writes(j))?;
        (plain(store) && self.pending(core, store)).then_some(store)
    }

    /// Is what the address or the data of a store come from not performed yet?
    fn waits_for_sources(&self, core: &Core, store: u32) -> bool {
        let blind = self.setup.has(Bug::IgnoredDependency);
        self.program.depends(store as usize).iter().any(|dep| match dep.how {
            Depends::Address => !blind && self.pending(core, dep.on),
            Depends::Data => self.pending(core, dep.on),
            Depends::Control => false,
        })
    }

    /// Must the older instruction, which is not performed, come first?
    fn holds_back(&self, core: &Core, older: u32, i: u32, forward: Option<u32>) -> bool {
        let p = self.program;
        let (a, b) = (older as usize, i as usize);
        let (first, second) = (p.kind[a], p.kind[b]);
        if first.lock() || second.lock() {
            return true;
        }
        let (reads, writes) = (second != Kind::Store, second != Kind::Load);
        let (was, is) = (p.marks(a), p.marks(b));
        let both = |marks: Marks| was.meets(marks) && is.meets(marks);
        let exclusive = Marks::RESERVES.with(Marks::CONDITIONAL);
        let marked = Marks::ACQUIRE.with(Marks::RELEASE);
        if p.addr[a] == p.addr[b] {
            let replayed = self.setup.has(Bug::NoReplay) && first == Kind::Load && second == Kind::Load;
            let forwarded = forward.is_some_and(|store| store >= older);
            if writes || !forwarded && !replayed {
                return true;
            }
        }
        let releases = is.meets(Marks::RELEASE) && !self.setup.has(Bug::IgnoredRelease);
        let acquired = was.meets(Marks::ACQUIRE.with(Marks::ACQUIRE_PC));
        if acquired || releases || was.meets(marked) && is.meets(Marks::ACQUIRE) || both(exclusive) {
            return true;
        }
        let before = (first != Kind::Store, first != Kind::Load);
        if self.fenced(older, i, before, (reads, writes)) {
            return true;
        }
        let depends = p.depends(b).iter().any(|dep| {
            dep.on == older
                && match dep.how {
                    Depends::Address => !self.setup.has(Bug::IgnoredDependency),
                    Depends::Data => true,
                    Depends::Control => writes,
                }
        });
        // A store waits until the addresses of all before it are known (rule 13).
        let unknown = |between: u32| {
            let addresses = p.depends(between as usize).iter().filter(|dep| dep.how == Depends::Address);
            addresses.into_iter().any(|dep| dep.on == older)
        };
        let blind = self.setup.has(Bug::IgnoredDependency);
        depends || writes && !blind && (older + 1..i).any(|between| between >= core.head && unknown(between))
    }

    /// Does a fence between the two order them? Of each: does it read, does it write?
    fn fenced(&self, older: u32, i: u32, first: (bool, bool), second: (bool, bool)) -> bool {
        let pairs = [
            (first.0 && second.0, Mask::LOAD_LOAD),
            (first.0 && second.1, Mask::LOAD_STORE),
            (first.1 && second.0, Mask::STORE_LOAD),
            (first.1 && second.1, Mask::STORE_STORE),
        ];
        let narrow = self.setup.has(Bug::NarrowFence);
        let needed = |mask: Mask| {
            pairs.iter().any(|&(both, pair)| {
                both && mask.contains(pair) && !(narrow && (pair == Mask::LOAD_LOAD || pair == Mask::STORE_LOAD))
            })
        };
        (older + 1..i).any(|f| self.program.kind[f as usize] == Kind::Fence && needed(self.program.orders(f as usize)))
    }

    /// Performs an instruction that nothing holds back.
    fn perform(&mut self, c: usize, i: u32, forward: Option<u32>) {
        let p = self.program;
        let at = i as usize;
        let addr = p.addr[at];
        let marks = p.marks(at);
        match p.kind[at] {
            Kind::Load => {
                let value = forward.map_or_else(|| self.memory[addr as usize], |store| p.value[store as usize]);
                self.record.reads[at] = value;
                if marks.meets(Marks::RESERVES) {
                    self.cores[c].reserved = Some(addr);
                }
            }
            Kind::Store if marks.meets(Marks::CONDITIONAL) => {
                if self.cores[c].reserved.take() == Some(addr) {
                    self.stored[at] = true;
                    self.write(c, addr, p.value[at]);
                }
            }
            Kind::Store | Kind::Exchange | Kind::Add | Kind::Cas => {
                if let Some(value) = self.record.execute(p, at, self.memory[addr as usize]) {
                    if self.setup.has(Bug::SplitRmw) && p.kind[at] != Kind::Store {
                        self.cores[c].half = Some((i, value));
                        return;
                    }
                    self.write(c, addr, value);
                }
            }
            Kind::Acquire => self.locks[addr as usize] = true,
            Kind::Release => {
                self.locks[addr as usize] = false;
                self.released = true;
            }
            Kind::Fence | Kind::Delay => {}
        }
        self.finish(c, i);
    }

    fn write(&mut self, c: usize, addr: u32, value: u64) {
        self.memory[addr as usize] = value;
        self.record.commits.push((addr, value));
        if self.setup.has(Bug::StaleReservation) {
            return;
        }
        for (_, core) in
            self.cores.iter_mut().enumerate().filter(|(other, core)| *other != c && core.reserved == Some(addr))
        {
            core.reserved = None;
        }
    }
}
