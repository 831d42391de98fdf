//! `godson-t`: cores with caches that serve lock regions, over one shared memory, after the Godson-T many-core processor.
//!
//! Machine, per core:
//! * a *window* of eight instructions, fetched in program order, which is when an operation begins, and retired in program order,
//!   which is when it ends;
//! * *loads* of the window are done in any order, but those of one address in program order, and none before an older acquire
//!   or barrier, nor before its own older write to the address is in memory;
//! * a *write-through queue* (of eight, unless set otherwise), which stores enter when they retire; each goes to memory on its
//!   own way, those of one address in order, as soon as it can or in one turn of [`Buffer::drain`];
//! * a *cache* of 32 words, for regions only. A region is a session of a lock, from its acquire to its release. The first read of an
//!   address in a region goes to memory and leaves a copy, later ones use the copy. An acquire starts over: also inside another
//!   lock's session, or a copy from before could hide what the new lock protects.
//!
//! Memory is the shared cache of the real machine. Outside regions everything goes straight to memory. Atomics are done by memory
//! itself. The lock manager gives a free lock to the first core that asks; a release waits until the write-through queue is empty. So
//! does a barrier that orders stores.
//!
//! Model: `scope` (accesses in a session stay in it, accesses of one address in order, everything else free), with coherence for
//! each address, and in time: when a write reaches memory, all copies of it in other caches are gone in the same
//! cycle, so a copy always equals memory. Once somebody has seen a value, nobody who begins to read later sees an older one.
//!
//! Bug: `stale-region`. Copies stay when another core writes; only the reading core's next acquire drops them. This is what Lv and others found in
//! Godson-T (2014, section 6, figure 3). Under one lock for all accesses of an address nothing shows, since no other core
//! writes during a session. With several locks, or with writes outside regions, a core continues reading the copy (`r33` reads
//! the value of `w12`) after another one has read the new value (`r22` that of `w13`), earlier in time.
//! No thread sees the address go back, so it takes times to find this.
//!
//! Invariants: an entry of the cache counts only in the epoch (acquires done) in which it was made. Without the bug each one that
//! counts equals memory.
//!
//! Complexity: O(n p): each write looks at each other cache.
//!
//! Deviations: the real machine's caches hold lines, lock manager and banks have queues, and a core reads its own write before
//! memory has it. Here it waits, so that a read is always performed between its begin and its end.

use super::clock::{Clock, Cores};
use super::{Buffer, Bug, Setup};
use crate::program::{Kind, NONE};
use crate::{Program, Record, Rng, Run, Times};
use membar_core::Mask;

const WINDOW: u32 = 8;
const WORDS: usize = 32;

#[derive(Clone, Copy)]
struct Word {
    addr: u32,
    epoch: u32,
    value: u64,
}

#[derive(Clone, Copy)]
struct Write {
    addr: u32,
    value: u64,
}

struct Core {
    head: u32,
    tail: u32,
    end: u32,
    /// Bit `k`: the load `head + k` has its value.
    done: u32,
    /// Bit `k`: the load `head + k` is on its way to memory.
    asked: u32,
    /// Bit `k`: instruction `head + k` is inside a region.
    inside: u32,
    /// Locks held at `tail`.
    depth: u32,
    /// Acquires done.
    epoch: u32,
    cache: [Word; WORDS],
    queue: Vec<Write>,
}

impl Core {
    fn writes(&self, addr: u32) -> bool {
        self.queue.iter().any(|write| write.addr == addr)
    }

    fn word(&mut self, addr: u32) -> &mut Word {
        &mut self.cache[addr as usize % WORDS]
    }
}

struct Machine<'a> {
    program: &'a Program,
    setup: Setup,
    /// Stores that a queue holds at most.
    depth: usize,
    /// A store leaves its queue in one turn in this many.
    drain: u32,
    memory: Vec<u64>,
    locks: Vec<bool>,
    cores: Vec<Core>,
    record: Record,
    times: Times,
    clock: Clock,
}

pub(super) fn run(program: &Program, setup: Setup, buffer: Buffer, seed: u64) -> Run {
    let cores = program.threads();
    let mut machine = Machine {
        program,
        setup,
        depth: buffer.depth as usize,
        drain: buffer.drain,
        memory: program.initial.clone(),
        locks: vec![false; program.locks as usize],
        cores: (0..cores)
            .map(|t| Core {
                head: program.starts[t],
                tail: program.starts[t],
                end: program.starts[t + 1],
                done: 0,
                asked: 0,
                inside: 0,
                depth: 0,
                epoch: 0,
                cache: [Word { addr: NONE, epoch: 0, value: 0 }; WORDS],
                queue: Vec::new(),
            })
            .collect(),
        record: Record::empty(program),
        times: Times::empty(program),
        clock: Clock::new(cores),
    };
    machine.record.log.reserve(program.len());
    machine.run(&mut Rng::stream(seed, 0x60D5));
    machine.record.finals = machine.memory;
    Run { record: machine.record, times: machine.times }
}

impl Cores for Machine<'_> {
    const BURST: u32 = 4;

    #[inline(always)]
    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    #[inline(always)]
    fn step(&mut self, core: usize, rng: &mut Rng) -> bool {
        // False for good, where the thread has finished.
        self.advance(core, rng)
    }
}

impl Machine<'_> {
    fn run(&mut self, rng: &mut Rng) {
        self.run_all(rng);
        let cores = self.cores.iter().map(|core| (core.head..core.tail, core.done));
        self.clock.log_what_is_left(cores, &mut self.record, &mut self.times);
    }

    /// Moves some part of core `c`; `false` if nothing can move until a lock is released or a pause is over.
    fn advance(&mut self, c: usize, rng: &mut Rng) -> bool {
        let first = (rng.next() >> 61) as usize;
        (0..8).any(|turn| match (first + turn) % 8 {
            0 | 4 => self.fetch(c),
            1 | 5 => self.retire(c),
            2 => self.ask(c, rng),
            3 | 6 => self.serve(c, rng),
            _ => (self.drain == 1 || rng.chance(1, self.drain)) && self.write_through(c, rng),
        }) || self.write_through(c, rng)
    }

    fn fetch(&mut self, c: usize) -> bool {
        let core = &mut self.cores[c];
        if core.tail == core.end || core.tail - core.head == WINDOW || !self.clock.runs(c) {
            return false;
        }
        let i = core.tail as usize;
        self.times.begin[i] = self.clock.now();
        core.inside |= u32::from(core.depth > 0) << (core.tail - core.head);
        core.tail += 1;
        match self.program.kind[i] {
            Kind::Acquire => core.depth += 1,
            Kind::Release => core.depth -= 1,
            Kind::Delay => self.clock.pause(c, self.program.value[i]),
            _ => {}
        }
        true
    }

    /// Sends some load of the window to memory, or lets it take the copy.
    fn ask(&mut self, c: usize, rng: &mut Rng) -> bool {
        let core = &self.cores[c];
        let (p, size) = (self.program, core.tail - core.head);
        let stops = |i: usize| match p.kind[i] {
            Kind::Fence => p.orders(i).intersects(Mask::LOAD_LOAD | Mask::STORE_LOAD),
            kind => kind == Kind::Acquire,
        };
        let open = (0..size).find(|k| stops((core.head + k) as usize)).unwrap_or(size);
        let first = rng.below(open);
        for k in (0..open).map(|k| (first + k) % open) {
            let i = (core.head + k) as usize;
            let addr = p.addr[i];
            if p.kind[i] != Kind::Load || (core.done | core.asked) >> k & 1 != 0 || core.writes(addr) {
                continue;
            }
            // An older access of the address that is not done: a load without value, or anything else, since those retire when done.
            let waits = (0..k).any(|older| {
                let j = (core.head + older) as usize;
                p.kind[j].access() && p.addr[j] == addr && core.done >> older & 1 == 0
            });
            if waits {
                continue;
            }
            let core = &mut self.cores[c];
            let epoch = core.epoch;
            let word = *core.word(addr);
            if core.inside >> k & 1 != 0 && word.addr == addr && word.epoch == epoch {
                core.done |= 1 << k;
                self.record.reads[i] = word.value;
            } else {
                core.asked |= 1 << k;
            }
            return true;
        }
        false
    }

    /// Memory answers one of the core's loads.
    fn serve(&mut self, c: usize, rng: &mut Rng) -> bool {
        let core = &mut self.cores[c];
        if core.asked == 0 {
            return false;
        }
        let mut k = rng.below(WINDOW);
        while core.asked >> k & 1 == 0 {
            k = (k + 1) % WINDOW;
        }
        let i = (core.head + k) as usize;
        let addr = self.program.addr[i];
        let value = self.memory[addr as usize];
        core.asked &= !(1 << k);
        core.done |= 1 << k;
        self.record.reads[i] = value;
        if core.inside >> k & 1 != 0 {
            let epoch = core.epoch;
            *core.word(addr) = Word { addr, epoch, value };
        }
        true
    }

    /// One of the core's stores reaches memory.
    fn write_through(&mut self, c: usize, rng: &mut Rng) -> bool {
        let core = &mut self.cores[c];
        if core.queue.is_empty() {
            return false;
        }
        let addr = core.queue[rng.below(core.queue.len() as u32) as usize].addr;
        let at = core.queue.iter().position(|write| write.addr == addr).unwrap_or(0);
        let write = core.queue.remove(at);
        self.write(c, write.addr, write.value);
        true
    }

    /// Writes memory, the core's own copy, and does away with those of others.
    fn write(&mut self, c: usize, addr: u32, value: u64) {
        self.memory[addr as usize] = value;
        self.record.commits.push((addr, value));
        let own = self.cores[c].word(addr);
        if own.addr == addr {
            own.value = value;
        }
        if !self.setup.has(Bug::StaleRegion) {
            for (other, core) in self.cores.iter_mut().enumerate() {
                let word = core.word(addr);
                if other != c && word.addr == addr {
                    word.addr = NONE;
                }
            }
        }
    }

    /// Lets the oldest instruction leave the window if it is done, or can be done now.
    fn retire(&mut self, c: usize) -> bool {
        let core = &mut self.cores[c];
        if core.head == core.tail {
            return false;
        }
        let i = core.head as usize;
        let (p, addr) = (self.program, self.program.addr[i]);
        let may = match p.kind[i] {
            Kind::Delay => true,
            Kind::Load => core.done & 1 != 0,
            Kind::Store => core.queue.len() < self.depth,
            Kind::Exchange | Kind::Add | Kind::Cas => !core.writes(addr),
            Kind::Fence => core.queue.is_empty() || !p.orders(i).intersects(Mask::STORE_LOAD | Mask::STORE_STORE),
            Kind::Acquire => !self.locks[addr as usize],
            Kind::Release => core.queue.is_empty(),
        };
        if !may {
            return false;
        }
        self.times.end[i] = self.clock.now();
        self.record.log.push(core.head);
        core.head += 1;
        core.done >>= 1;
        core.asked >>= 1;
        core.inside >>= 1;
        match p.kind[i] {
            Kind::Store => core.queue.push(Write { addr, value: p.value[i] }),
            Kind::Acquire => {
                core.epoch += 1;
                self.locks[addr as usize] = true;
            }
            Kind::Release => {
                self.locks[addr as usize] = false;
                self.clock.release();
            }
            kind if kind.atomic() => {
                if let Some(value) = self.record.execute(p, i, self.memory[addr as usize]) {
                    self.write(c, addr, value);
                }
            }
            _ => {}
        }
        true
    }
}
