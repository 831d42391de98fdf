//! Writes [`Code`] that reads like the algorithm it is.
//!
//! ```
//! use membar_testkit::builder::Builder;
//!
//! let mut program = Builder::new();
//! let [x, y] = program.cells(["x", "y"]);
//! program.thread(|t| {
//!     t.store(x, 1);
//!     t.fence();
//!     let seen = t.load(y);
//!     t.if_(seen, |t| t.store(y, 2));
//! });
//! let code = program.code();
//! assert_eq!(code.sites[1].text, "r0 = y");
//! ```

use membar_core::{Barrier, C11, Fence, Order};
use membar_litmus::{Alu, Cell, Code, Instr, Int, Operand, Place, Reg, Site, ThreadCode, Update};

/// A cell of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Var(pub u32);

/// A register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct R(pub Reg);

/// A register or a constant.
pub trait Value: Copy {
    /// As an operand.
    fn operand(self) -> Operand;
}

impl Value for u64 {
    fn operand(self) -> Operand {
        Operand::Value(self)
    }
}

impl Value for R {
    fn operand(self) -> Operand {
        Operand::Reg(self.0)
    }
}

impl Value for Operand {
    fn operand(self) -> Operand {
        self
    }
}

/// A program being written.
#[derive(Default, Debug)]
pub struct Builder {
    code: Code,
}

impl Builder {
    /// An empty program.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// A new cell, initially 0.
    pub fn cell(&mut self, name: &str) -> Var {
        let number = self.code.cells.len() as u32;
        let pointer = 0x1000_0000 + 8 * u64::from(number);
        self.code.cells.push(Cell { name: name.into(), pointer, ty: Int::I32, init: 0 });
        Var(number)
    }

    /// New cells, initially 0.
    pub fn cells<const N: usize>(&mut self, names: [&str; N]) -> [Var; N] {
        names.map(|name| self.cell(name))
    }

    /// A new thread.
    pub fn thread(&mut self, write: impl FnOnce(&mut Thread<'_>)) {
        let mut thread =
            Thread { builder: self, written: ThreadCode::default(), line: 0, loops: Vec::new(), c11: C11::default() };
        write(&mut thread);
        let written = thread.written;
        self.code.threads.push(written);
    }

    /// The program.
    pub fn code(self) -> Code {
        self.code
    }
}

/// A thread being written.
#[derive(Debug)]
pub struct Thread<'b> {
    builder: &'b mut Builder,
    written: ThreadCode,
    line: u32,
    /// Of each loop around this place, the jumps out of it.
    loops: Vec<Vec<usize>>,
    /// The order of the next access.
    c11: C11,
}

impl Thread<'_> {
    fn push(&mut self, instr: Instr) -> usize {
        self.written.instrs.push(instr);
        self.written.instrs.len() - 1
    }

    fn here(&self) -> u32 {
        self.written.instrs.len() as u32
    }

    /// Makes the jump at `at` go to the next instruction.
    fn land(&mut self, at: usize) {
        let here = self.here();
        if let Instr::Branch { to, .. } = &mut self.written.instrs[at] {
            *to = here;
        }
    }

    fn site(&mut self, text: impl FnOnce(&Code) -> String) -> u32 {
        let code = &mut self.builder.code;
        let mut text = text(code);
        let c11 = std::mem::take(&mut self.c11);
        if c11 != C11::default() {
            text.push_str(&format!(" ({c11:?})"));
        }
        self.line += 1;
        code.sites.push(Site { thread: code.threads.len() as u32, line: self.line, column: 1, text, c11 });
        code.sites.len() as u32 - 1
    }

    /// A new register, initially 0.
    pub fn register(&mut self) -> R {
        self.written.regs.push(0);
        R(self.written.regs.len() as Reg - 1)
    }

    /// `a op b`, in a new register.
    pub fn alu(&mut self, op: Alu, a: impl Value, b: impl Value) -> R {
        let dst = self.register();
        self.assign(dst, op, a, b);
        dst
    }

    /// `dst = a op b`
    pub fn assign(&mut self, dst: R, op: Alu, a: impl Value, b: impl Value) {
        self.push(Instr::Alu { op, dst: dst.0, a: a.operand(), b: b.operand(), ty: Int::I32 });
    }

    /// Gives the next access this order; without it, it is not atomic.
    pub fn atomic(&mut self, order: Order) -> &mut Self {
        self.c11 = C11::new(order);
        self
    }

    /// Gives the next access, a compare-exchange, these orders: if it succeeds, and if it fails.
    pub fn atomic_or(&mut self, success: Order, failure: Order) -> &mut Self {
        self.c11 = C11::new(success).failing(failure);
        self
    }

    /// Loads into a new register.
    pub fn load(&mut self, from: Var) -> R {
        let dst = self.register();
        let site = self.site(|code| format!("r{} = {}", dst.0, name(code, from)));
        self.push(Instr::Load { dst: dst.0, from: Place::Cell(from.0), ty: Int::I32, site });
        dst
    }

    /// Stores.
    pub fn store(&mut self, to: Var, value: impl Value) {
        let value = value.operand();
        let site = self.site(|code| format!("{} = {}", name(code, to), show(value)));
        self.push(Instr::Store { to: Place::Cell(to.0), value, ty: Int::I32, site });
    }

    /// Writes `value` and returns what was there.
    pub fn exchange(&mut self, at: Var, value: impl Value) -> R {
        self.rmw("exchange", Update::Exchange, at, value.operand())
    }

    /// Adds `value` and returns what was there.
    pub fn fetch_add(&mut self, at: Var, value: impl Value) -> R {
        self.rmw("fetch_add", Update::Apply(Alu::Add), at, value.operand())
    }

    /// Writes `value` if `expected` is there, and returns what was there.
    pub fn compare_exchange(&mut self, at: Var, expected: impl Value, value: impl Value) -> R {
        let update = Update::CompareExchange { expected: expected.operand() };
        self.rmw("compare_exchange", update, at, value.operand())
    }

    fn rmw(&mut self, function: &str, update: Update, at: Var, value: Operand) -> R {
        let dst = self.register();
        let expected = match update {
            Update::CompareExchange { expected } => format!("{}, ", show(expected)),
            Update::Apply(_) | Update::Exchange => String::new(),
        };
        let arguments = format!("{expected}{}", show(value));
        let site = self.site(|code| format!("r{} = {function}({}, {arguments})", dst.0, name(code, at)));
        self.push(Instr::Rmw { update, dst: dst.0, at: Place::Cell(at.0), value, ty: Int::I32, site });
        dst
    }

    /// A barrier, unless its kind is none.
    pub fn barrier(&mut self, barrier: Barrier) {
        if barrier != Barrier::None {
            self.line += 1;
            self.push(Instr::Barrier(barrier));
        }
    }

    /// A fence of C11, which is no barrier to machines.
    pub fn c11_fence(&mut self, fence: Fence) {
        for &part in fence.parts() {
            self.line += 1;
            self.push(Instr::Fence(part));
        }
    }

    /// A full barrier.
    pub fn fence(&mut self) {
        self.barrier(Barrier::Full);
    }

    /// `if (cond) { then }`
    pub fn if_(&mut self, cond: impl Value, then: impl FnOnce(&mut Self)) {
        let skip = self.push(Instr::Branch { cond: cond.operand(), unless: true, to: 0 });
        then(self);
        self.land(skip);
    }

    /// `while (true) { body }`; the body leaves it by [`Thread::break_if`] or [`Thread::break_unless`].
    pub fn forever(&mut self, body: impl FnOnce(&mut Self)) {
        let top = self.here();
        self.loops.push(Vec::new());
        body(self);
        self.push(Instr::Jump { to: top });
        for jump in self.loops.pop().unwrap_or_default() {
            self.land(jump);
        }
    }

    /// Leaves the innermost loop if the condition is not 0.
    pub fn break_if(&mut self, cond: impl Value) {
        self.leave(cond.operand(), false);
    }

    /// Leaves the innermost loop if the condition is 0.
    pub fn break_unless(&mut self, cond: impl Value) {
        self.leave(cond.operand(), true);
    }

    fn leave(&mut self, cond: Operand, unless: bool) {
        let jump = self.push(Instr::Branch { cond, unless, to: 0 });
        self.loops.last_mut().expect("there is a loop to leave").push(jump);
    }

    /// `while ((r = from) != value) {}`, with `r` a new register.
    pub fn wait_until(&mut self, from: Var, value: impl Value) -> R {
        let (mut seen, value) = (R(0), value.operand());
        self.forever(|t| {
            seen = t.load(from);
            let there = t.alu(Alu::Eq, seen, value);
            t.break_if(there);
        });
        seen
    }

    /// `while (exchange(lock, 1) != 0) {}`
    pub fn lock(&mut self, lock: Var) {
        self.forever(|t| {
            let taken = t.exchange(lock, 1);
            t.break_unless(taken);
        });
    }

    /// The body `n` times, as a loop over a register where that is more than once.
    pub fn times(&mut self, n: u32, body: impl FnOnce(&mut Self)) {
        if n == 1 {
            return body(self);
        }
        let round = self.register();
        self.forever(|t| {
            let more = t.alu(Alu::Below, round, u64::from(n));
            t.break_unless(more);
            body(t);
            t.assign(round, Alu::Add, round, 1);
        });
    }
}

fn name(code: &Code, cell: Var) -> &str {
    &code.cells[cell.0 as usize].name
}

fn show(operand: Operand) -> String {
    match operand {
        Operand::Reg(reg) => format!("r{reg}"),
        Operand::Value(value) => value.to_string(),
    }
}
