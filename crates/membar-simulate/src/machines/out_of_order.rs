//! RISC-V or Arm cores that perform their instructions out of order, with caches.
//!
//! Problem: run a program with dependencies, reservations, fences, `aq`, `aqpc` and `rl` on a machine that obeys RVWMO and Armv8 by construction
//! and reorders as much as a window allows. (For these programs, which have no ISB, what both models ask of one memory is the same.)
//!
//! Algorithm: a scheduler picks harts at random, for short bursts of steps. A hart fetches its next instruction into its window, or performs any
//! instruction of the window that no older one holds back and whose cache line is [at hand](caches). Performing is a point of memory order: a store and an
//! atomic write memory, and a load returns what the youngest older store of its bytes that is still in the window writes, if that is all of
//! them, else memory. Instructions leave the window in program order, once performed. Accesses may be to some bytes of an address. An instruction waits
//! for an older one that is not performed, if
//!
//! 1. it writes and both access one byte (ppo rule 1);
//! 2. both read one byte, and no store between them forwards to the second (rule 2); it loads from an atomic or `sc` (rule 3);
//! 3. a fence between them orders the two (rule 4), the older acquires, it releases, or both are marked (rules 5 to 7);
//! 4. its address or data depend on the older one, or it writes and its execution does (rules 9 to 11), or it writes
//!    and the address of an instruction between them depends on the older one (rule 13);
//! 5. both are load reserved or store conditional (rule 8, and more than the model asks).
//!
//! A load takes a value from a store in the window only when what that store's address and data depend on is performed (rule 12).
//!
//! A load reserved makes a reservation of its address, which the next one, any `sc` of the hart, a write of another hart to the address, and the
//! eviction of its line end. An `sc` stores if there is a reservation of its bytes.
//!
//! Invariants: memory order is the order of performing; the window is a range of the thread's instructions.
//!
//! Complexity: O(n w²) with windows of w instructions.
//!
//! Guarantees: every trace is allowed by `rvwmo`, and by `armv8`; each clause above is the ppo rule it names. The load value axiom holds since own stores of an address
//! are performed in order.
//!
//! Deviations from the model: a load of which a store in the window writes only some bytes waits for that store; windows are small, addresses are known from the beginning, acquires and releases of locks order everything,
//! atomics and `sc` do not forward.

mod caches;

use super::clock::{Clock, Cores};
use super::{Bug, Setup};
use crate::program::{Bytes, Kind};
use crate::{Program, Record, Rng, Run, Times};
use caches::Caches;
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
    /// The bytes that are reserved.
    reserved: Option<(u32, Bytes)>,
    /// An atomic that has read but not written, with its value (a bug).
    half: Option<(u32, u64)>,
}

struct Machine<'a> {
    program: &'a Program,
    setup: Setup,
    caches: Caches,
    locks: Vec<bool>,
    cores: Vec<Core>,
    record: Record,
    stored: Vec<bool>,
    times: Times,
    clock: Clock,
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
        caches: Caches::new(program, setup, seed),
        locks: vec![false; program.locks as usize],
        cores: (0..program.threads()).map(core).collect(),
        record: Record::empty(program),
        stored: vec![false; program.len()],
        times: Times::empty(program),
        clock: Clock::new(program.threads()),
    };
    machine.record.log.reserve(program.len());
    machine.run_all(&mut Rng::stream(seed, 0x52));
    let cores = machine.cores.iter().map(|core| (core.head..core.tail, core.done));
    machine.clock.log_what_is_left(cores, &mut machine.record, &mut machine.times);
    machine.record.finals = machine.caches.finish();
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
    fn has_finished(&self, core: usize) -> bool {
        self.cores[core].head == self.cores[core].end
    }

    #[inline(always)]
    fn step(&mut self, core: usize, rng: &mut Rng) -> bool {
        self.advance(core, rng)
    }
}

impl Machine<'_> {
    /// Moves core `c` on; `false` if nothing can move before a lock is released or a pause is over.
    fn advance(&mut self, c: usize, rng: &mut Rng) -> bool {
        let roll = rng.next();
        let core = &self.cores[c];
        if let Some((i, value)) = core.half {
            if roll & 3 != 0 {
                return true;
            }
            self.write(c, i, value);
            self.cores[c].half = None;
            self.finish(c, i);
            return true;
        }
        let room = core.tail < core.end && core.tail - core.head < WINDOW && self.clock.runs(c);
        if roll >> 40 & 3 == 0 && self.serve(c) {
            return true;
        }
        let core = &self.cores[c];
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
        room || self.serve(c)
    }

    /// Lets a line that the core waits for arrive, if it waits for one. What is evicted is no longer reserved.
    fn serve(&mut self, c: usize) -> bool {
        let Some(evicted) = self.caches.serve(c) else { return false };
        let caches = &self.caches;
        let reserved = &mut self.cores[c].reserved;
        if let (Some(line), Some((addr, _))) = (evicted, *reserved)
            && caches.is_in(addr, line)
        {
            *reserved = None;
        }
        true
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
        if !self.at_hand(c, i, forward) {
            return false;
        }
        self.perform(c, i, forward);
        true
    }

    /// Does the core have the line of an access? If not, it asks for it.
    fn at_hand(&mut self, c: usize, i: u32, forward: Option<u32>) -> bool {
        let (kind, addr) = (self.program.kind[i as usize], self.program.addr[i as usize]);
        let fails = self.program.marks(i as usize).meets(Marks::CONDITIONAL) && self.cores[c].reserved.is_none();
        if !kind.access() || forward.is_some() || fails {
            return true;
        }
        let writes = kind != Kind::Load;
        let has = self.caches.has(c, addr, writes);
        if !has {
            self.caches.request(c, addr, writes);
        }
        has
    }

    /// The store in the window that a load would take its value from.
    fn forwards(&self, core: &Core, i: u32) -> Option<u32> {
        let p = self.program;
        let plain = |j: u32| p.kind[j as usize] == Kind::Store && !p.marks(j as usize).meets(Marks::CONDITIONAL);
        if p.kind[i as usize] != Kind::Load || p.marks(i as usize).meets(Marks::RESERVES) {
            return None;
        }
        let writes = |j: u32| {
            let kind = p.kind[j as usize];
            kind.access() && kind != Kind::Load && p.overlap(j as usize, i as usize)
        };
        let store = (core.head..i).rev().find(|&j| writes(j))?;
        let covers = p.bytes(store as usize).cover(p.bytes(i as usize));
        (covers && plain(store) && self.pending(core, store)).then_some(store)
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
        if p.overlap(a, b) {
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
        let bytes = p.bytes(at);
        match p.kind[at] {
            Kind::Load => {
                let cell = forward.map_or_else(
                    || self.caches.read(c, addr),
                    |store| p.bytes(store as usize).put(0, p.value[store as usize]),
                );
                self.record.reads[at] = bytes.of(cell);
                if marks.meets(Marks::RESERVES) {
                    self.cores[c].reserved = Some((addr, bytes));
                }
            }
            Kind::Store if marks.meets(Marks::CONDITIONAL) => {
                if self.cores[c].reserved.take() == Some((addr, bytes)) {
                    self.stored[at] = true;
                    self.write(c, i, p.value[at]);
                }
            }
            Kind::Store | Kind::Exchange | Kind::Add | Kind::Cas => {
                if let Some(value) = self.record.execute(p, at, bytes.of(self.caches.read(c, addr))) {
                    if self.setup.has(Bug::SplitRmw) && p.kind[at] != Kind::Store {
                        self.cores[c].half = Some((i, value));
                        return;
                    }
                    self.write(c, i, value);
                }
            }
            Kind::Acquire => self.locks[addr as usize] = true,
            Kind::Release => {
                self.locks[addr as usize] = false;
                self.clock.release();
            }
            Kind::Fence | Kind::Delay => {}
        }
        self.finish(c, i);
    }

    fn write(&mut self, c: usize, i: u32, value: u64) {
        let (addr, bytes) = (self.program.addr[i as usize], self.program.bytes(i as usize));
        let lost = self.setup.has(Bug::LostByteEnables) && bytes != Bytes::WHOLE;
        let cell = if lost { 0 } else { self.caches.read(c, addr) };
        self.caches.write(c, addr, bytes.put(cell, value));
        self.record.commits.push((addr, value));
        if self.setup.has(Bug::StaleReservation) {
            return;
        }
        let reserved = |core: &Core| core.reserved.is_some_and(|(reserved, _)| reserved == addr);
        for (_, core) in self.cores.iter_mut().enumerate().filter(|(other, core)| *other != c && reserved(core)) {
            core.reserved = None;
        }
    }
}
