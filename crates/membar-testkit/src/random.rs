//! Small random programs with everything that a program can have, to compare verifiers on.
//!
//! With [`Knobs::c11`], accesses have memory orders and fences are those of C11. Programs differ in the orders they
//! prefer (`Orders::draw`): with all orders equally likely, few programs would be on either side by little.

use crate::builder::{Builder, R, Thread, Var};
use membar_core::{Barrier, Fence, Order};
use membar_litmus::{Alu, Arch, Code, Condition, Int, LitmusTest, Location, Operand, Prop, Quantifier, Spot};
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
    /// Weight of loops that try a compare-exchange until nobody comes in between.
    pub retries: u32,
    /// Memory orders, and fences instead of barriers. Of 16 programs, this many have accesses that are not atomic.
    pub c11: Option<u32>,
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
        retries: 0,
        c11: None,
    };
    /// Everything but loops.
    pub const LOOP_FREE: Knobs = Knobs { rmws: 3, branches: 3, ..Knobs::PLAIN };
    /// All features.
    pub const ALL: Knobs = Knobs { waits: 2, locks: 1, ..Knobs::LOOP_FREE };
    /// Everything but loops, with the memory orders of C11, for [`rc11`](crate::rc11).
    pub const C11: Knobs = Knobs { accesses: (2, 4), total: 8, rmws: 2, branches: 2, c11: Some(4), ..Knobs::LOOP_FREE };
}

/// What a program with memory orders prefers.
#[derive(Clone, Copy, Debug)]
struct Orders {
    /// Weights: relaxed, the acquire and release that fit the access, seq_cst.
    weights: [u32; 3],
    /// Of 16 places between accesses, how many have a fence.
    fences: u32,
    /// Of 16 loads and stores, how many are not atomic.
    plain: u32,
    /// The loads and stores of this cell are not atomic.
    plain_cell: Option<Var>,
}

impl Orders {
    fn draw(rng: &mut Rng, plain: u32, cells: &[Var]) -> Orders {
        let weights = [[1, 1, 1], [4, 1, 1], [1, 4, 1], [1, 6, 0], [1, 1, 6], [0, 1, 12], [8, 1, 0]];
        let weights = *rng.pick(&weights).expect("there are some");
        let fences = if weights[0] == 8 { 9 } else { *rng.pick(&[0, 2, 5]).expect("there are some") };
        let mut orders = Orders { weights, fences, plain: 0, plain_cell: None };
        if rng.chance(plain, 16) {
            match rng.below(3) {
                0 => orders.plain = 8,
                1 => orders.plain = 2,
                _ => orders.plain_cell = rng.pick(cells).copied(),
            }
        }
        orders
    }

    /// An order, where these are the ones between relaxed and seq_cst.
    fn order(&self, rng: &mut Rng, middle: &[Order]) -> Order {
        let [relaxed, halves, seq_cst] = self.weights;
        let at = rng.below(relaxed + halves + seq_cst);
        if at < relaxed {
            Order::Relaxed
        } else if at < relaxed + halves {
            *rng.pick(middle).expect("there is one")
        } else {
            Order::SeqCst
        }
    }

    /// The order of a load or store of this cell.
    fn access(&self, rng: &mut Rng, cell: Var, middle: Order) -> Order {
        let plain = self.plain_cell == Some(cell) || rng.chance(self.plain, 16);
        if plain { Order::Plain } else { self.order(rng, &[middle]) }
    }

    /// The orders of a read-modify-write, and of a compare-exchange that fails.
    fn rmw(&self, rng: &mut Rng) -> (Order, Order) {
        let success = self.order(rng, &[Order::Acquire, Order::Release, Order::AcqRel, Order::AcqRel]);
        (success, self.order(rng, &[Order::Acquire]))
    }
}

/// A random program.
pub fn random_program(rng: &mut Rng, knobs: &Knobs) -> Code {
    let mut program = Builder::new();
    // The greater of two draws: violations need several cells, and threads of several accesses.
    let cells = rng.between(knobs.cells.0, knobs.cells.1).max(rng.between(knobs.cells.0, knobs.cells.1));
    let cells: Vec<Var> = ["x", "y", "z", "v", "w"].iter().take(cells as usize).map(|n| program.cell(n)).collect();
    let threads = rng.between(knobs.threads.0, knobs.threads.1);
    let orders = knobs.c11.map(|plain| Orders::draw(rng, plain, &cells));
    let mut left = knobs.total;
    for thread in 0..threads {
        // The rest is shared evenly, so that the last threads are not always the short ones.
        let share = (left / (threads - thread) + 1).clamp(knobs.accesses.0, knobs.accesses.1);
        let accesses = rng.between(knobs.accesses.0, share).max(rng.between(knobs.accesses.0, share));
        left = left.saturating_sub(accesses);
        program.thread(|t| {
            let (rng, cells) = (&mut *rng, &cells);
            Writer { rng, knobs, orders, cells, read: Vec::new(), left: accesses, depth: 0 }.write(t);
        });
    }
    program.code()
}

/// A test that shows every register and every cell, in the order of the oracles' final states.
pub fn as_test(code: Code) -> LitmusTest {
    let mut locations = Vec::new();
    for (thread, text) in (0..).zip(&code.threads) {
        for reg in 0..text.regs.len() as u16 {
            let name = format!("{thread}:r{reg}");
            locations.push(Location { name, spot: Spot::Reg { thread, reg }, ty: Int::I64 });
        }
    }
    for (cell, text) in (0..).zip(&code.cells) {
        locations.push(Location { name: format!("[{}]", text.name), spot: Spot::Cell(cell), ty: text.ty });
    }
    LitmusTest {
        name: "random".into(),
        arch: Arch::C,
        doc: None,
        meta: Vec::new(),
        shown: locations.len(),
        locations,
        code,
        filter: None,
        condition: Condition { quantifier: Quantifier::Exists, prop: Prop::And(Vec::new()) },
        relaxed: None,
    }
}

struct Writer<'a> {
    rng: &'a mut Rng,
    knobs: &'a Knobs,
    orders: Option<Orders>,
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
            if let Some(orders) = self.orders {
                if !first && self.rng.chance(orders.fences, 16) {
                    self.fence(t);
                }
            } else if !first && self.rng.chance(self.knobs.barriers, 16) {
                t.barrier(if self.rng.chance(1, 2) { Barrier::Full } else { Barrier::Store });
            }
            first = false;
            self.item(t);
        }
    }

    fn fence(&mut self, t: &mut Thread<'_>) {
        t.c11_fence(*self.rng.pick(&Fence::ALL).expect("there are some"));
        if self.rng.chance(1, 8) {
            t.c11_fence(*self.rng.pick(&Fence::ALL).expect("there are some"));
        }
    }

    fn item(&mut self, t: &mut Thread<'_>) {
        let Knobs { plain, rmws, branches, waits, locks, retries, .. } = *self.knobs;
        let branches = if self.read.is_empty() || self.depth == 2 { 0 } else { branches };
        let waits = if self.left < 2 { 0 } else { waits };
        let locks = if self.left < 3 { 0 } else { locks };
        let retries = if self.left < 2 { 0 } else { retries };
        let weights = [plain, rmws, branches, waits, locks, retries];
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
            Some(5) => self.retry(t),
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
            if let Some(orders) = self.orders {
                t.atomic(orders.access(self.rng, cell, Order::Acquire));
            }
            self.read.push(t.load(cell));
        } else {
            if let Some(orders) = self.orders {
                t.atomic(orders.access(self.rng, cell, Order::Release));
            }
            t.store(cell, self.value());
        }
    }

    fn rmw(&mut self, t: &mut Thread<'_>) {
        self.left -= 1;
        let (cell, value) = (self.cell(), self.value());
        let choice = self.rng.below(3);
        if let Some(orders) = self.orders {
            let (success, failure) = orders.rmw(self.rng);
            t.atomic_or(success, if choice == 2 { failure } else { success });
        }
        let register = match choice {
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

    /// Loads a cell, perhaps another, and replaces what it loaded; again from the beginning if that has changed.
    fn retry(&mut self, t: &mut Thread<'_>) {
        self.left -= 2;
        let (cell, other, value) = (self.cell(), self.cell(), self.constant());
        let looks = self.rng.chance(1, 2);
        t.forever(|t| {
            let old = t.load(cell);
            let new = if looks { t.load(other) } else { t.alu(Alu::Add, old, value) };
            let found = t.compare_exchange(cell, old, new);
            let done = t.alu(Alu::Eq, found, old);
            t.break_if(done);
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
