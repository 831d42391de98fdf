//! Programs as code for a small register machine: every dialect is translated to it, and everything else runs it.
//!
//! A thread is a list of instructions over its own registers, numbered from 0. [`Code::settle`] runs the instructions
//! that touch registers only, up to the next access to memory; the code that runs the program (an interpreter with one
//! memory, a machine with store buffers) makes that access, hands the result to [`Code::complete`], and settles again.
//!
//! Values are 64-bit patterns. An integer of w bits is kept sign-extended from w bits if its type is signed and
//! zero-extended otherwise, so two equal values have equal patterns.

use membar_core::{Access, AccessKind, Barrier, C11, Fence, Remedy};

/// A register of a thread.
pub type Reg = u16;

/// A register or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// The register's value.
    Reg(Reg),
    /// This value.
    Value(u64),
}

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A cell of [`Code::cells`].
    Cell(u32),
    /// The cell whose [`Cell::pointer`] is this register's value; anything else is a fault.
    At(Reg),
}

/// Arithmetic on registers. Comparisons give 1 or 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // the names say it
pub enum Alu {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    /// Logical.
    Shr,
    Eq,
    Ne,
    /// Signed.
    Lt,
    /// Signed.
    Le,
    /// Unsigned.
    Below,
}

impl Alu {
    /// The result on 64 bits.
    #[inline]
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Alu::Add => a.wrapping_add(b),
            Alu::Sub => a.wrapping_sub(b),
            Alu::Mul => a.wrapping_mul(b),
            Alu::And => a & b,
            Alu::Or => a | b,
            Alu::Xor => a ^ b,
            Alu::Shl => a.checked_shl(b as u32).unwrap_or(0),
            Alu::Shr => a.checked_shr(b as u32).unwrap_or(0),
            Alu::Eq => u64::from(a == b),
            Alu::Ne => u64::from(a != b),
            Alu::Lt => u64::from((a as i64) < (b as i64)),
            Alu::Le => u64::from((a as i64) <= (b as i64)),
            Alu::Below => u64::from(a < b),
        }
    }
}

/// An integer type: how many bits, and whether the top one is a sign.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Int {
    /// 8, 16, 32 or 64.
    pub bits: u8,
    /// Two's complement.
    pub signed: bool,
}

impl Int {
    /// `int`.
    pub const I32: Int = Int { bits: 32, signed: true };
    /// `int64_t`, and whatever holds a pointer.
    pub const I64: Int = Int { bits: 64, signed: true };

    /// The value as one of this type.
    #[inline]
    pub fn wrap(self, value: u64) -> u64 {
        let unused = 64 - u32::from(self.bits);
        if self.signed { ((value << unused) as i64 >> unused) as u64 } else { value << unused >> unused }
    }
}

/// The value a read-modify-write writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Update {
    /// `operation(old, value)`, of the cell's type.
    Apply(Alu),
    /// `value`.
    Exchange,
    /// `value` if the old value is `expected`, otherwise nothing.
    CompareExchange {
        /// The value compared with the old one.
        expected: Operand,
    },
}

/// An instruction. Jumps name the index of an instruction; an index past the end ends the thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // the fields are named in the sentence of each variant
pub enum Instr {
    /// `dst := src`
    Set { dst: Reg, src: Operand },
    /// `dst := op(a, b)` as a value of type `ty`
    Alu { op: Alu, dst: Reg, a: Operand, b: Operand, ty: Int },
    /// Goes on at `to`.
    Jump { to: u32 },
    /// Goes on at `to` if the condition is not 0 (`unless`: if it is 0).
    Branch { cond: Operand, unless: bool, to: u32 },
    /// `dst := memory`, as a value of type `ty`
    Load { dst: Reg, from: Place, ty: Int, site: u32 },
    /// `memory := value`, as a value of type `ty`
    Store { to: Place, value: Operand, ty: Int, site: u32 },
    /// `dst := memory; memory := update` in one step, as values of type `ty`
    Rmw { update: Update, dst: Reg, at: Place, value: Operand, ty: Int, site: u32 },
    /// A barrier.
    Barrier(Barrier),
    /// A fence of C11.
    Fence(Fence),
}

impl Instr {
    /// The instruction's place in the source, if it accesses memory: an index into [`Code::sites`].
    pub fn site(&self) -> Option<u32> {
        match *self {
            Instr::Load { site, .. } | Instr::Store { site, .. } | Instr::Rmw { site, .. } => Some(site),
            _ => None,
        }
    }

    /// The same instruction at another place.
    pub(crate) fn at_site(mut self, to: u32) -> Instr {
        if let Instr::Load { site, .. } | Instr::Store { site, .. } | Instr::Rmw { site, .. } = &mut self {
            *site = to;
        }
        self
    }
}

/// One value of shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Its name in the test: `x`, `a[1]`.
    pub name: String,
    /// The value that points to it. No other cell has the same, and no small number is one.
    pub pointer: u64,
    /// Its type.
    pub ty: Int,
    /// Its initial value.
    pub init: u64,
}

/// One thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadCode {
    /// Its instructions.
    pub instrs: Vec<Instr>,
    /// The initial value of each register, which also says how many there are.
    pub regs: Vec<u64>,
    /// Registers that the test does not name: their final values are not observed.
    pub temps: Vec<Reg>,
}

/// Where an instruction that accesses memory stands in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The thread that it belongs to.
    pub thread: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The instruction as it is written, in one line.
    pub text: String,
    /// Its memory order.
    pub c11: C11,
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// The threads.
    pub threads: Vec<ThreadCode>,
    /// Shared memory. Addresses of [`Access`] are indices into it.
    pub cells: Vec<Cell>,
    /// The instructions that access memory. Sites of [`Access`] are indices into it.
    pub sites: Vec<Site>,
}

/// An access that a thread is about to make, with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// The access.
    pub access: Access,
    /// For a store the value to write; for a read-modify-write the operand of the update.
    pub value: u64,
    /// For a read-modify-write what it does.
    pub update: Option<Change>,
    /// The type of the access.
    pub ty: Int,
}

/// [`Update`] with its operands evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// `operation(old, value)`
    Apply(Alu),
    /// `value`
    Exchange,
    /// `value` if the old value is this, otherwise nothing
    CompareExchange(u64),
}

impl Request {
    /// The value that the access leaves in memory where `old` was: `None` if it writes nothing.
    #[inline]
    pub fn written(&self, old: u64) -> Option<u64> {
        match (self.access.kind, self.update) {
            (AccessKind::Load, _) => None,
            (AccessKind::Store, _) => Some(self.value),
            (AccessKind::Rmw, Some(Change::Apply(op))) => Some(self.ty.wrap(op.apply(old, self.value))),
            (AccessKind::Rmw, Some(Change::CompareExchange(expected))) => (old == expected).then_some(self.value),
            (AccessKind::Rmw, _) => Some(self.value),
        }
    }
}

/// A program error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Crash {
    /// It uses a value as a pointer that points to no cell.
    Wild {
        /// The instruction.
        site: u32,
        /// The value.
        pointer: u64,
    },
    /// It accesses a cell of one size as if it had another.
    Size {
        /// The instruction.
        site: u32,
        /// The cell.
        cell: u32,
    },
}

/// Why a thread stopped running its own instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Settled {
    /// It is about to access memory.
    Request(Request),
    /// It has ended.
    Done,
    /// It cannot make the access that it has come to.
    Crash(Crash),
    /// It runs a loop that accesses no memory, forever: it came back to the same instruction and registers.
    Endless,
    /// It has run millions of instructions without an access, and may continue or not.
    Long,
}

/// How many instructions a thread may run without an access.
const LOCAL_LIMIT: u32 = 1 << 24;
/// How many it runs before it is examined for cycles: most need far fewer.
const LOCAL_FREE: u32 = 256;

impl Code {
    /// Runs a thread's own instructions from `pc` up to its next access, and leaves `pc` at that access.
    ///
    /// `at` is called with the index of each instruction that is come to, the access itself included, and the registers
    /// at that time: the search for loops sees every visit to their heads.
    #[inline]
    pub fn settle(&self, thread: usize, pc: &mut u32, regs: &mut [u64], at: impl FnMut(u32, &[u64])) -> Settled {
        self.run::<true>(thread, pc, regs, at)
    }

    /// The same without memory orders and fences of C11: for machines, where every nanosecond between two accesses counts.
    #[inline]
    pub fn settle_fast(&self, thread: usize, pc: &mut u32, regs: &mut [u64]) -> Settled {
        self.run::<false>(thread, pc, regs, |_, _| {})
    }

    #[inline]
    fn run<const ORDERS: bool>(
        &self,
        thread: usize,
        pc: &mut u32,
        regs: &mut [u64],
        mut at: impl FnMut(u32, &[u64]),
    ) -> Settled {
        let instrs = &self.threads[thread].instrs;
        let (mut barrier, mut fence) = (Barrier::None, Fence::None);
        // Brent's cycle detection: compare with the state after 256, 512, 1024, … instructions.
        let (mut kept_pc, mut kept) = (u32::MAX, Vec::new());
        for steps in 0..LOCAL_LIMIT {
            if steps >= LOCAL_FREE {
                if *pc == kept_pc && kept == *regs {
                    return Settled::Endless;
                }
                if steps.is_power_of_two() {
                    kept_pc = *pc;
                    kept.clear();
                    kept.extend_from_slice(regs);
                }
            }
            let Some(instr) = instrs.get(*pc as usize) else { return Settled::Done };
            at(*pc, regs);
            let value = |operand: Operand, regs: &[u64]| match operand {
                Operand::Reg(reg) => regs[reg as usize],
                Operand::Value(value) => value,
            };
            let mut next = *pc + 1;
            match *instr {
                Instr::Set { dst, src } => regs[dst as usize] = value(src, regs),
                Instr::Alu { op, dst, a, b, ty } => {
                    regs[dst as usize] = ty.wrap(op.apply(value(a, regs), value(b, regs)));
                }
                Instr::Jump { to } => next = to,
                Instr::Branch { cond, unless, to } => {
                    if (value(cond, regs) == 0) == unless {
                        next = to;
                    }
                }
                Instr::Barrier(b) => barrier = barrier.max(b),
                Instr::Fence(f) if ORDERS => fence = fence.then(f),
                Instr::Fence(_) => {}
                Instr::Load { from, ty, site, .. } => {
                    return self.request::<ORDERS>(AccessKind::Load, (barrier, fence), from, site, regs, 0, None, ty);
                }
                Instr::Store { to, value: v, ty, site } => {
                    let v = ty.wrap(value(v, regs));
                    return self.request::<ORDERS>(AccessKind::Store, (barrier, fence), to, site, regs, v, None, ty);
                }
                Instr::Rmw { update, at, value: v, ty, site, .. } => {
                    let change = match update {
                        Update::Apply(op) => Change::Apply(op),
                        Update::Exchange => Change::Exchange,
                        Update::CompareExchange { expected } => Change::CompareExchange(ty.wrap(value(expected, regs))),
                    };
                    let v = ty.wrap(value(v, regs));
                    return self.request::<ORDERS>(
                        AccessKind::Rmw,
                        (barrier, fence),
                        at,
                        site,
                        regs,
                        v,
                        Some(change),
                        ty,
                    );
                }
            }
            *pc = next;
        }
        Settled::Long
    }

    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn request<const ORDERS: bool>(
        &self,
        kind: AccessKind,
        (barrier, fence): (Barrier, Fence),
        place: Place,
        site: u32,
        regs: &[u64],
        value: u64,
        update: Option<Change>,
        ty: Int,
    ) -> Settled {
        let addr = match place {
            Place::Cell(cell) => cell,
            Place::At(reg) => {
                let pointer = regs[reg as usize];
                match self.cells.iter().position(|cell| cell.pointer == pointer) {
                    Some(cell) => cell as u32,
                    None => return Settled::Crash(Crash::Wild { site, pointer }),
                }
            }
        };
        if self.cells[addr as usize].ty.bits != ty.bits {
            return Settled::Crash(Crash::Size { site, cell: addr });
        }
        let expected = match update {
            Some(Change::CompareExchange(expected)) => Some(expected),
            _ => None,
        };
        let c11 = if ORDERS { self.sites[site as usize].c11.after(fence) } else { C11::default() };
        Settled::Request(Request {
            access: Access { kind, barrier, c11, part: 0, addr, site, expected },
            value,
            update,
            ty,
        })
    }

    /// The same program with these remedies. Jumps go where they went: past a barrier or fence that comes right after the instruction before,
    /// but to one that comes right before the instruction.
    pub fn with_remedies(&self, remedies: &[(u32, Remedy)]) -> Code {
        let mut code = self.clone();
        for &(site, remedy) in remedies {
            if let (Remedy::Order(order), Some(site)) = (remedy, code.sites.get_mut(site as usize)) {
                site.c11 = site.c11.strengthened(order);
            }
        }
        let added = |spot: u32| {
            let here = remedies.iter().filter(move |(at, _)| *at == spot);
            here.filter_map(|&(_, remedy)| match remedy {
                Remedy::Barrier(barrier) => Some(Instr::Barrier(barrier)),
                Remedy::Fence(fence) => Some(Instr::Fence(fence)),
                Remedy::Order(_) => None,
            })
        };
        for thread in &mut code.threads {
            // Where each instruction goes.
            let mut places = Vec::with_capacity(thread.instrs.len());
            let mut instrs = Vec::with_capacity(thread.instrs.len());
            for instr in &thread.instrs {
                places.push(instrs.len() as u32);
                let site = instr.site();
                instrs.extend(site.into_iter().flat_map(|site| added(site | Remedy::BEFORE)));
                instrs.push(*instr);
                instrs.extend(site.into_iter().flat_map(added));
            }
            let end = instrs.len() as u32;
            for instr in &mut instrs {
                if let Instr::Jump { to } | Instr::Branch { to, .. } = instr {
                    *to = places.get(*to as usize).copied().unwrap_or(end);
                }
            }
            thread.instrs = instrs;
        }
        code
    }

    /// Ends the access that the thread settled at: `read` is the value that was in memory (for a store it is not
    /// looked at).
    #[inline]
    pub fn complete(&self, thread: usize, pc: &mut u32, regs: &mut [u64], read: u64) {
        match self.threads[thread].instrs[*pc as usize] {
            Instr::Load { dst, ty, .. } | Instr::Rmw { dst, ty, .. } => regs[dst as usize] = ty.wrap(read),
            _ => {}
        }
        *pc += 1;
    }
}
