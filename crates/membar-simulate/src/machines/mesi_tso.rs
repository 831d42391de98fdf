//! `mesi-tso`: cores with private caches, a directory, store buffers and speculative loads.
//!
//! Machine, per core:
//! * a *window* of eight instructions, fetched in program order, which is when an operation begins, and retired in program order,
//!   which is when it ends;
//! * *loads* of the window are done early and in any order, unless an older barrier, atomic or lock operation waits. A load
//!   returns the youngest older store to its address, in the window or in the store buffer, else what the cache holds. If its line
//!   is invalidated or evicted before it retires, it is *replayed*;
//! * a *store buffer* (of eight, unless set otherwise), which stores enter when they retire and leave in order, once the cache owns the line, as soon as
//!   they can or in one turn of [`Buffer::drain`];
//! * a *cache* of eight lines of 64 bytes (four sets of two), so that lines are evicted often;
//! * *queues* to and from the directory, first in first out, in which messages take their time.
//!
//! The directory knows each line's owner and sharers and serves one request per line at a time: it calls the line back
//! from its owner, or invalidates all copies, waits for the answers and then grants the line. Full barriers, atomics and lock
//! operations retire when the store buffer is empty; an atomic reads and writes in one step, in a line that is owned.
//!
//! Model: `tso`. A store is performed when it writes its line, of which there is no other copy then. A load counts as done when it
//! retires: since it was done nothing has changed, or it would have been replayed.
//!
//! Bugs, and how each shows:
//! * `stale-forward`: of several stores to one address in the buffer a load gets the oldest: a thread does not see its last store;
//! * `lost-invalidation`: an invalidation that arrives while the core waits for a line is now and then acknowledged and
//!   forgotten: the core reads old values until the line happens to be evicted;
//! * `late-invalidation`: invalidations are acknowledged immediately and done some time later: stale reads, for a while;
//! * `no-replay`: loads keep their early values: a load that was done before an older one misses what happened in between;
//! * `unordered-drain`: any store whose line the cache owns may leave the buffer: stores to different addresses out of order;
//! * `idle-fence`: full barriers do not wait for the store buffer: later loads are done before earlier stores;
//! * `split-rmw`: an atomic that has read may lose its line before it writes: another store gets in between and is overwritten unseen;
//! * `dropped-dirty`: now and then an evicted line that was modified is not written back: everybody reads an older value again.
//!
//! Invariants: at most one cache has a line as `E` or `M`, and then no other has a copy; whatever a core holds as `S` equals
//! memory. A core has at most one request per line under way. Since queues keep their order, a grant arrives before any later
//! call for the same line, and a written-back line before the answer to a call that found it gone.
//!
//! Complexity: O(n), a few dozen steps for each operation.

mod directory;

use super::clock::{Clock, Cores};
use super::{Buffer, Bug, Setup};
use crate::program::{Kind, NONE};
use crate::{Program, Record, Rng, Run, Times};
use directory::{Down, Home, Up};
use membar_core::Mask;
use std::collections::VecDeque;

const WINDOW: u32 = 8;
const SETS: usize = 4;
const WAYS: usize = 2;
/// Requests that a core has under way at most.
const MISSES: usize = 4;
const LINE_BYTES: u64 = 64;

type Data = [u64; 8];

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Invalid,
    Shared,
    Exclusive,
    Modified,
}

impl State {
    fn owned(self) -> bool {
        matches!(self, State::Exclusive | State::Modified)
    }
}

#[derive(Clone, Copy)]
struct Line {
    line: u32,
    state: State,
    data: Data,
}

#[derive(Clone, Copy)]
struct Entry {
    addr: u32,
    value: u64,
}

struct Core {
    head: u32,
    tail: u32,
    end: u32,
    /// Bit `k`: the load `head + k` has its value.
    done: u32,
    /// Bit `k`: there is nothing to try at `head + k` before a line arrives or something is replayed.
    waits: u32,
    buffer: Vec<Entry>,
    cache: [[Line; WAYS]; SETS],
    /// Lines that it has asked for.
    misses: Vec<u32>,
    inbox: VecDeque<(u32, Down)>,
    outbox: VecDeque<(u32, Up)>,
    /// `late-invalidation`: acknowledged and still to do.
    late: Vec<u32>,
    /// `split-rmw`: the value that the oldest instruction has read.
    half: Option<u64>,
}

impl Core {
    fn find(&self, line: u32) -> Option<&Line> {
        self.cache[line as usize % SETS].iter().find(|way| way.state != State::Invalid && way.line == line)
    }

    fn find_mut(&mut self, line: u32) -> Option<&mut Line> {
        self.cache[line as usize % SETS].iter_mut().find(|way| way.state != State::Invalid && way.line == line)
    }

    fn owns(&self, line: u32) -> bool {
        self.find(line).is_some_and(|way| way.state.owned())
    }

    /// Asks for a line, unless that is under way or too much is; `false` if nothing happened.
    fn ask(&mut self, line: u32, owned: bool) -> bool {
        if self.misses.len() >= MISSES || self.misses.contains(&line) {
            return false;
        }
        self.misses.push(line);
        self.outbox.push_back((line, Up::Get { owned }));
        true
    }
}

struct Machine<'a> {
    program: &'a Program,
    setup: Setup,
    /// Stores that a buffer holds at most.
    depth: usize,
    /// A store leaves its buffer in one turn in this many.
    drain: u32,
    /// The line of each address, and its place in there.
    place: Vec<(u32, u8)>,
    cores: Vec<Core>,
    homes: Vec<Home>,
    /// The cores that may have a copy: `words` words of bits for each line.
    sharers: Vec<u64>,
    words: usize,
    locks: Vec<bool>,
    record: Record,
    times: Times,
    clock: Clock,
    /// Has a message been sent that a sleeping core may wait for?
    sent: bool,
}

pub(super) fn run(program: &Program, setup: Setup, buffer: Buffer, seed: u64) -> Run {
    let cores = program.threads();
    let (place, homes) = memory(program);
    let words = cores.div_ceil(64);
    let empty = Line { line: NONE, state: State::Invalid, data: [0; 8] };
    let mut machine = Machine {
        program,
        setup,
        depth: buffer.depth as usize,
        drain: buffer.drain,
        place,
        cores: (0..cores)
            .map(|t| Core {
                head: program.starts[t],
                tail: program.starts[t],
                end: program.starts[t + 1],
                done: 0,
                waits: 0,
                buffer: Vec::new(),
                cache: [[empty; WAYS]; SETS],
                misses: Vec::with_capacity(MISSES),
                inbox: VecDeque::new(),
                outbox: VecDeque::new(),
                late: Vec::new(),
                half: None,
            })
            .collect(),
        sharers: vec![0; words * homes.len()],
        homes,
        words,
        locks: vec![false; program.locks as usize],
        record: Record::empty(program),
        times: Times::empty(program),
        clock: Clock::new(cores),
        sent: false,
    };
    machine.record.log.reserve(program.len());
    machine.run_all(&mut Rng::stream(seed, 0x3E51));
    machine.record.finals = machine.finals();
    Run { record: machine.record, times: machine.times }
}

/// Which line each address is in, and the lines with their initial values.
fn memory(program: &Program) -> (Vec<(u32, u8)>, Vec<Home>) {
    let mut homes: Vec<Home> = Vec::new();
    let mut last = None;
    let place = (0..program.addresses())
        .map(|addr| {
            let offset = program.offset(addr);
            // Addresses come in the order of their offsets.
            if last.replace(offset / LINE_BYTES) != Some(offset / LINE_BYTES) {
                homes.push(Home::new());
            }
            let (line, word) = (homes.len() - 1, (offset % LINE_BYTES / 8) as u8);
            homes[line].data[word as usize] = program.initial[addr as usize];
            (line as u32, word)
        })
        .collect();
    (place, homes)
}

impl Cores for Machine<'_> {
    const BURST: u32 = 4;

    #[inline(always)]
    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    #[inline(always)]
    fn step(&mut self, core: usize, rng: &mut Rng) -> bool {
        // Cores that have finished still answer for their caches, so all of them sleep in the end.
        self.advance(core, rng)
    }

    #[inline(always)]
    fn wake(&mut self) {
        if !self.clock.wake_released() && std::mem::take(&mut self.sent) {
            self.clock.wake(|core| !self.cores[core].inbox.is_empty());
        }
    }
}

impl Machine<'_> {
    /// The contents of memory if all caches were written back.
    fn finals(&self) -> Vec<u64> {
        let mut lines: Vec<Data> = self.homes.iter().map(|home| home.data).collect();
        for way in self.cores.iter().flat_map(|core| core.cache.iter().flatten()) {
            if way.state == State::Modified {
                lines[way.line as usize] = way.data;
            }
        }
        self.place.iter().map(|&(line, word)| lines[line as usize][word as usize]).collect()
    }

    /// Moves some part of core `c`; `false` if nothing can move until something else moves.
    fn advance(&mut self, c: usize, rng: &mut Rng) -> bool {
        // Messages take a while; the first attempt is left to chance, so that nothing is done in a fixed order.
        const TURNS: [u8; 8] = [0, 1, 2, 3, 4, 4, 3, 2];
        let first = (rng.next() >> 61) as usize;
        if first == 7 && rng.chance(1, 4) && self.invalidate_late(c, rng) {
            return true;
        }
        (0..8).any(|turn| match TURNS[(first + turn) % 8] {
            0 => self.receive(c, rng),
            1 => self.send(c),
            2 => self.load_some(c, rng),
            3 => self.retire(c, rng),
            _ => self.fetch(c) || (self.drain == 1 || rng.chance(1, self.drain)) && self.drain(c, rng),
        }) || self.drain(c, rng)
            || self.invalidate_late(c, rng)
    }

    fn fetch(&mut self, c: usize) -> bool {
        let core = &mut self.cores[c];
        if core.tail == core.end || core.tail - core.head == WINDOW || !self.clock.runs(c) {
            return false;
        }
        let i = core.tail as usize;
        self.times.begin[i] = self.clock.now();
        core.tail += 1;
        if self.program.kind[i] == Kind::Delay {
            self.clock.pause(c, self.program.value[i]);
        }
        true
    }

    /// Does some load of the window, or asks for its line.
    fn load_some(&mut self, c: usize, rng: &mut Rng) -> bool {
        let core = &self.cores[c];
        let size = core.tail - core.head;
        // Loads behind a barrier, an atomic or a lock operation wait for it.
        let orders = |i: usize| match self.program.kind[i] {
            Kind::Fence => self.program.orders(i).contains(Mask::STORE_LOAD),
            kind => kind.atomic() || kind.lock(),
        };
        let mut left = ((1u32 << size) - 1) & !(core.done | core.waits);
        if left == 0 {
            return false;
        }
        let open = (0..size).find(|k| orders((core.head + k) as usize)).unwrap_or(size);
        left &= (1 << open) - 1;
        // From a place left to chance, round to where it began.
        let first = rng.below(WINDOW);
        let mut parts = [left >> first << first, left & ((1 << first) - 1)];
        for part in &mut parts {
            while *part != 0 {
                let k = part.trailing_zeros();
                *part &= *part - 1;
                if self.load(c, k) {
                    return true;
                }
                self.cores[c].waits |= 1 << k;
            }
        }
        false
    }

    /// Does the load `head + k`, or asks for its line; `false` if it is not a load, or done, or its line is on its way.
    fn load(&mut self, c: usize, k: u32) -> bool {
        let core = &mut self.cores[c];
        let i = (core.head + k) as usize;
        if self.program.kind[i] != Kind::Load || core.done >> k & 1 != 0 {
            return false;
        }
        let addr = self.program.addr[i];
        let in_window = (core.head as usize..i)
            .rev()
            .find(|&j| self.program.kind[j] == Kind::Store && self.program.addr[j] == addr);
        let buffer = &core.buffer;
        let forwarded = match in_window {
            Some(j) => Some(self.program.value[j]),
            None if self.setup.has(Bug::StaleForward) => {
                buffer.iter().find(|entry| entry.addr == addr).map(|e| e.value)
            }
            None => buffer.iter().rev().find(|entry| entry.addr == addr).map(|entry| entry.value),
        };
        let (line, word) = self.place[addr as usize];
        let Some(value) = forwarded.or_else(|| core.find(line).map(|way| way.data[word as usize])) else {
            return core.ask(line, false);
        };
        core.done |= 1 << k;
        self.record.reads[i] = value;
        true
    }

    /// Lets the oldest instruction leave the window if it is done, or can be done now.
    fn retire(&mut self, c: usize, rng: &mut Rng) -> bool {
        let core = &mut self.cores[c];
        if core.head == core.tail {
            return false;
        }
        let i = core.head as usize;
        let addr = self.program.addr[i];
        let may = match self.program.kind[i] {
            Kind::Delay => true,
            Kind::Load => core.done & 1 != 0,
            Kind::Store => {
                let room = core.buffer.len() < self.depth;
                if room {
                    core.buffer.push(Entry { addr, value: self.program.value[i] });
                }
                room
            }
            Kind::Fence => {
                core.buffer.is_empty()
                    || !self.program.orders(i).contains(Mask::STORE_LOAD)
                    || self.setup.has(Bug::IdleFence)
            }
            Kind::Acquire => {
                let free = core.buffer.is_empty() && !self.locks[addr as usize];
                if free {
                    self.locks[addr as usize] = true;
                }
                free
            }
            Kind::Release => {
                let may = core.buffer.is_empty();
                if may {
                    self.locks[addr as usize] = false;
                    self.clock.release();
                }
                may
            }
            Kind::Exchange | Kind::Add | Kind::Cas => {
                if !core.buffer.is_empty() {
                    return false;
                }
                match self.atomic(c, i, rng) {
                    Atomic::Done => true,
                    Atomic::Moved => return true,
                    Atomic::Waits => false,
                }
            }
        };
        if may {
            let core = &mut self.cores[c];
            self.times.end[i] = self.clock.now();
            self.record.log.push(core.head);
            core.head += 1;
            core.done >>= 1;
            core.waits >>= 1;
        }
        may
    }

    /// Does an atomic, the oldest instruction, with the store buffer empty.
    fn atomic(&mut self, c: usize, i: usize, rng: &mut Rng) -> Atomic {
        let addr = self.program.addr[i];
        let (line, word) = self.place[addr as usize];
        let core = &mut self.cores[c];
        let Some(way) = core.find_mut(line).filter(|way| way.state.owned()) else {
            return if core.ask(line, true) { Atomic::Moved } else { Atomic::Waits };
        };
        let now = way.data[word as usize];
        let read = match core.half.take() {
            Some(read) => read,
            None if self.setup.has(Bug::SplitRmw) && rng.chance(1, 2) => {
                core.half = Some(now);
                return Atomic::Moved;
            }
            None => now,
        };
        if let Some(value) = self.record.execute(self.program, i, read) {
            self.write(c, addr, value);
        }
        Atomic::Done
    }

    /// Writes an address of a line that the core owns.
    fn write(&mut self, c: usize, addr: u32, value: u64) {
        let (line, word) = self.place[addr as usize];
        if let Some(way) = self.cores[c].find_mut(line) {
            way.data[word as usize] = value;
            way.state = State::Modified;
            self.record.commits.push((addr, value));
        }
    }

    /// Moves a store from the buffer to the cache, or asks for its line.
    fn drain(&mut self, c: usize, rng: &mut Rng) -> bool {
        let core = &mut self.cores[c];
        if core.buffer.is_empty() {
            return false;
        }
        let mut at = 0;
        if self.setup.has(Bug::UnorderedDrain) {
            let pick = rng.below(core.buffer.len() as u32) as usize;
            let addr = core.buffer[pick].addr;
            let oldest = core.buffer.iter().position(|entry| entry.addr == addr).unwrap_or(0);
            if core.owns(self.place[addr as usize].0) {
                at = oldest;
            }
        }
        let entry = core.buffer[at];
        let line = self.place[entry.addr as usize].0;
        if !core.owns(line) {
            return core.ask(line, true);
        }
        core.buffer.remove(at);
        self.write(c, entry.addr, entry.value);
        true
    }

    /// Loads of this line that are done but not retired are done again.
    fn replay(&mut self, c: usize, line: u32) {
        if self.setup.has(Bug::NoReplay) {
            return;
        }
        let core = &mut self.cores[c];
        let mut left = core.done;
        while left != 0 {
            let k = left.trailing_zeros();
            left &= left - 1;
            let addr = self.program.addr[(core.head + k) as usize];
            if self.place[addr as usize].0 == line {
                core.done &= !(1 << k);
            }
        }
        core.waits = 0;
    }

    fn drop_line(&mut self, c: usize, line: u32) {
        if let Some(way) = self.cores[c].find_mut(line) {
            way.state = State::Invalid;
            self.replay(c, line);
        }
    }

    /// `late-invalidation`: does one of those that were only acknowledged.
    fn invalidate_late(&mut self, c: usize, rng: &mut Rng) -> bool {
        let core = &mut self.cores[c];
        if core.late.is_empty() {
            return false;
        }
        let line = core.late.swap_remove(rng.below(core.late.len() as u32) as usize);
        self.drop_line(c, line);
        true
    }

    /// Takes a message from the directory.
    fn receive(&mut self, c: usize, rng: &mut Rng) -> bool {
        let core = &mut self.cores[c];
        let Some((line, message)) = core.inbox.pop_front() else { return false };
        match message {
            Down::Grant(state, data) => {
                core.misses.retain(|&other| other != line);
                core.waits = 0;
                core.late.retain(|&other| other != line);
                self.fill(c, Line { line, state, data }, rng);
                self.use_at_once(c, line, rng);
            }
            Down::Invalidate => {
                core.outbox.push_back((line, Up::Ack { data: None, kept: false }));
                let waits = core.misses.iter().any(|&other| other != line);
                if self.setup.has(Bug::LateInvalidation) {
                    core.late.push(line);
                } else if !(self.setup.has(Bug::LostInvalidation) && waits && rng.chance(1, 4)) {
                    self.drop_line(c, line);
                }
            }
            Down::Call { all } => {
                let way = core.find_mut(line);
                let data = way.as_ref().filter(|way| way.state == State::Modified).map(|way| way.data);
                let kept = way.is_some() && !all;
                if let Some(way) = way {
                    way.state = State::Shared;
                }
                core.outbox.push_back((line, Up::Ack { data, kept }));
                if all {
                    self.drop_line(c, line);
                }
            }
        }
        true
    }

    /// Puts a granted line into the cache, in the place of another.
    fn fill(&mut self, c: usize, new: Line, rng: &mut Rng) {
        let set = &mut self.cores[c].cache[new.line as usize % SETS];
        let way = set
            .iter()
            .position(|way| way.state != State::Invalid && way.line == new.line)
            .or_else(|| set.iter().position(|way| way.state == State::Invalid))
            .unwrap_or_else(|| rng.below(WAYS as u32) as usize);
        let old = std::mem::replace(&mut set[way], new);
        if old.state == State::Invalid || old.line == new.line {
            return;
        }
        self.cores[c].late.retain(|&other| other != old.line);
        if old.state == State::Modified && !(self.setup.has(Bug::DroppedDirty) && rng.chance(1, 4)) {
            self.cores[c].outbox.push_back((old.line, Up::Put(old.data)));
        }
        self.replay(c, old.line);
    }

    /// Lets the oldest instructions use the line that they wanted as soon as it arrives: otherwise it could be called away forever.
    fn use_at_once(&mut self, c: usize, line: u32, rng: &mut Rng) {
        let core = &mut self.cores[c];
        if core.buffer.first().is_some_and(|oldest| self.place[oldest.addr as usize].0 == line) && core.owns(line) {
            let entry = core.buffer.remove(0);
            self.write(c, entry.addr, entry.value);
        }
        let core = &self.cores[c];
        let i = core.head as usize;
        if core.head == core.tail
            || !self.program.kind[i].access()
            || self.place[self.program.addr[i] as usize].0 != line
        {
            return;
        }
        if self.program.kind[i] == Kind::Load {
            self.load(c, 0);
            self.retire(c, rng);
        } else if self.program.kind[i].atomic() && self.cores[c].owns(line) {
            self.retire(c, rng);
        }
    }
}

/// How far an atomic got.
enum Atomic {
    Done,
    Moved,
    Waits,
}
