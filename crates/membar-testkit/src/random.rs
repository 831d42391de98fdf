//! Small random programs with everything that a program can have, to compare verifiers on.

use crate::builder::{Builder, R, Thread, Var};
use membar_core::Barrier;
use membar_litmus::{Alu, Code, Operand};
use membar_simulate::Rng;

/// The shape of random programs.
#[derive(Clone, Copy, Debug)]
pub struct Knobs {
    /// The fewest and the most threads.
    pub threads: (u32, u32),
    /// The fewest and the most cells, at most 5.
    pub cells: (u32, u32),
    /// The fewest and the most accesses of a thread, counted in the text.
    pub accesses: (u32, u32),
    /// About the most accesses of all threads together, counted in the text.
    pub total: u32,
    /// Of 16 places between accesses, how many have a barrier.
    pub barriers: u32,
    /// Weight of loads and stores.
    pub plain: u32,
    /// Weight of read-modify-writes.
    pub rmws: u32,
    /// Weight of branches on a value that was read.
    pub branches: u32,
    /// Weight of loops that wait for a value of one cell, or for a change of one of two.
    pub waits: u32,
    /// Weight of critical sections behind a spinning exchange or compare-exchange.
    pub locks: u32,
}

impl Knobs {
    /// Straight-line loads, stores and barriers.
    pub const PLAIN: Knobs = Knobs {
        threads: (2, 4),
        cells: (1, 3),
        accesses: (1, 5),
        total: 9,
        barriers: 3,
        plain: 12,
        rmws: 0,
        branches: 0,
        waits: 0,
        locks: 0,
    };
    /// Everything but loops.
    pub const LOOP_FREE: Knobs = Knobs { rmws: 3, branches: 3, ..Knobs::PLAIN };
    /// All features.
    pub const ALL: Knobs = Knobs { waits: 2, locks: 1, ..Knobs::LOOP_FREE };
}

/// A random program.
pub fn random_program(rng: &mut Rng, knobs: &Knobs) -> Code {
    let mut program = Builder::new();
    // The greater of two draws: violations need several cells, and threads of several accesses.
    let cells = rng.between(knobs.cells.0, knobs.cells.1).max(rng.between(knobs.cells.0, knobs.cells.1));
    let cells: Vec<Var> = ["x", "y", "z", "v", "w"].iter().take(cells as usize).map(|n| program.cell(n)).collect();
    let threads = rng.between(knobs.threads.0, knobs.threads.1);
    let mut left = knobs.total;
    for thread in 0..threads {
        // The rest is shared evenly, so that the last threads are not always the short ones.
        let share = (left / (threads - thread) + 1).clamp(knobs.accesses.0, knobs.accesses.1);
        let accesses = rng.between(knobs.accesses.0, share).max(rng.between(knobs.accesses.0, share));
        left = left.saturating_sub(accesses);
        program.thread(|t| {
            Writer { rng: &mut *rng, knobs, cells: &cells, read: Vec::new(), left: accesses, depth: 0 }.write(t);
        });
    }
    program.code()
}

struct Writer<'a> {
    rng: &'a mut Rng,
    knobs: &'a Knobs,
    cells: &'a [Var],
    /// Registers that hold something read (0 where that was in a branch not taken).
    read: Vec<R>,
    /// How many accesses are left to write.
    left: u32,
    /// How many branches are around this place.
    depth: u32,
}

impl Writer<'_> {
    fn write(&mut self, t: &mut Thread<'_>) {
        let mut first = self.depth == 0;
        while self.left > 0 {
            if !first && self.rng.chance(self.knobs.barriers, 16) {
                t.barrier(if self.rng.chance(1, 2) { Barrier::Full } else { Barrier::Store });
            }
            first = false;
            self.item(t);
        }
    }

    fn item(&mut self, t: &mut Thread<'_>) {
        let Knobs { plain, rmws, branches, waits, locks, .. } = *self.knobs;
        let branches = if self.read.is_empty() || self.depth == 2 { 0 } else { branches };
        let waits = if self.left < 2 { 0 } else { waits };
        let locks = if self.left < 3 { 0 } else { locks };
        let weights = [plain, rmws, branches, waits, locks];
        let mut left = self.rng.below(weights.iter().sum());
        let chosen = weights.iter().position(|&weight| {
            let here = left < weight;
            left = left.saturating_sub(weight);
            here
        });
        match chosen {
            Some(1) => self.rmw(t),
            Some(2) => self.branch(t),
            Some(3) => self.wait(t),
            Some(4) => self.critical(t),
            _ => self.plain(t),
        }
    }

    fn cell(&mut self) -> Var {
        *self.rng.pick(self.cells).expect("there is a cell")
    }

    /// Few values: repeated ones are where reasoning about values instead of writes goes wrong.
    fn constant(&mut self) -> u64 {
        if self.rng.chance(1, 8) { 0 } else { self.rng.between(1, 2).into() }
    }

    fn value(&mut self) -> Operand {
        if self.rng.chance(1, 4)
            && let Some(register) = self.rng.pick(&self.read)
        {
            return Operand::Reg(register.0);
        }
        Operand::Value(self.constant())
    }

    fn plain(&mut self, t: &mut Thread<'_>) {
        self.left -= 1;
        let cell = self.cell();
        if self.rng.chance(1, 2) {
            self.read.push(t.load(cell));
        } else {
            t.store(cell, self.value());
        }
    }

    fn rmw(&mut self, t: &mut Thread<'_>) {
        self.left -= 1;
        let (cell, value) = (self.cell(), self.value());
        let register = match self.rng.below(3) {
            0 => t.exchange(cell, value),
            1 => t.fetch_add(cell, 1),
            _ => t.compare_exchange(cell, self.constant(), value),
        };
        self.read.push(register);
    }

    fn branch(&mut self, t: &mut Thread<'_>) {
        let register = *self.rng.pick(&self.read).expect("something was read");
        let then = t.alu(Alu::Eq, register, self.constant());
        self.arm(t, then);
        if self.left > 0 && self.rng.chance(1, 2) {
            let otherwise = t.alu(Alu::Eq, then, 0);
            self.arm(t, otherwise);
        }
    }

    fn arm(&mut self, t: &mut Thread<'_>, cond: R) {
        let length = self.rng.between(1, 2).min(self.left);
        let rest = self.left - length;
        self.left = length;
        self.depth += 1;
        t.if_(cond, |t| self.write(t));
        self.depth -= 1;
        self.left = rest;
    }

    fn wait(&mut self, t: &mut Thread<'_>) {
        self.left -= 2;
        let (one, other) = (self.cell(), self.cell());
        if one == other || self.rng.chance(2, 3) {
            let register = t.wait_until(one, self.constant());
            return self.read.push(register);
        }
        // while (one == a && other == b) {}
        t.forever(|t| {
            for cell in [one, other] {
                let value = if self.rng.chance(2, 3) { 0 } else { self.constant() };
                let register = t.load(cell);
                let same = t.alu(Alu::Eq, register, value);
                t.break_unless(same);
                self.read.push(register);
            }
        });
    }

    fn critical(&mut self, t: &mut Thread<'_>) {
        self.left -= 2;
        let lock = self.cell();
        if self.rng.chance(1, 2) {
            t.lock(lock);
        } else {
            t.forever(|t| {
                let taken = t.compare_exchange(lock, 0, 1);
                t.break_unless(taken);
            });
        }
        self.plain(t);
        t.store(lock, 0);
    }
}
