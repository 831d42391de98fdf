//! The instructions that RISCV and AArch64 tests are translated to.
//!
//! They differ from [`crate::code`] in what their models look at: which registers an address, a value or a branch came
//! from, acquire and release, exclusives, fences with sets, and accesses of any size at any byte. Registers have 8 bytes; where an
//! access has 16, instructions beside it name the upper half.

use crate::code::{Int, Operand, Reg};

/// Arithmetic. Comparisons give 1 or 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Calc {
    Add,
    Sub,
    Mul,
    /// The upper 64 bits of the product: of signed numbers, of unsigned ones, of a signed and an unsigned one.
    MulHigh,
    MulHighU,
    MulHighSU,
    /// RISC-V's division: by 0, all bits of the quotient are 1, and the remainder is the dividend.
    Div,
    DivU,
    Rem,
    RemU,
    /// Arm's division: by 0, the quotient is 0.
    ArmDiv,
    ArmDivU,
    And,
    AndNot,
    Or,
    OrNot,
    Xor,
    Shl,
    Shr,
    Sar,
    Eq,
    Ne,
    Lt,
    Below,
    Min,
    Max,
    MinU,
    MaxU,
    /// The second operand.
    Second,
}

impl Calc {
    pub(crate) fn apply(self, a: u64, b: u64) -> u64 {
        let (left, right) = (a as i64, b as i64);
        match self {
            Calc::Add => a.wrapping_add(b),
            Calc::Sub => a.wrapping_sub(b),
            Calc::Mul => a.wrapping_mul(b),
            Calc::MulHigh => ((i128::from(left) * i128::from(right)) >> 64) as u64,
            Calc::MulHighU => ((u128::from(a) * u128::from(b)) >> 64) as u64,
            Calc::MulHighSU => ((i128::from(left) * i128::from(b)) >> 64) as u64,
            Calc::Div | Calc::ArmDiv if b != 0 => left.wrapping_div(right) as u64,
            Calc::DivU | Calc::ArmDivU if b != 0 => a / b,
            Calc::Rem if b != 0 => left.wrapping_rem(right) as u64,
            Calc::RemU if b != 0 => a % b,
            Calc::Div | Calc::DivU => u64::MAX,
            Calc::Rem | Calc::RemU => a,
            Calc::ArmDiv | Calc::ArmDivU => 0,
            Calc::And => a & b,
            Calc::AndNot => a & !b,
            Calc::Or => a | b,
            Calc::OrNot => a | !b,
            Calc::Xor => a ^ b,
            Calc::Shl => a.checked_shl(b as u32).unwrap_or(0),
            Calc::Shr => a.checked_shr(b as u32).unwrap_or(0),
            Calc::Sar => (left >> b.min(63)) as u64,
            Calc::Eq => u64::from(a == b),
            Calc::Ne => u64::from(a != b),
            Calc::Lt => u64::from(left < right),
            Calc::Below => u64::from(a < b),
            Calc::Min => left.min(right) as u64,
            Calc::Max => left.max(right) as u64,
            Calc::MinU => a.min(b),
            Calc::MaxU => a.max(b),
            Calc::Second => b,
        }
    }

    /// Whether operands of an atomic update are taken as signed numbers.
    pub(crate) fn is_signed(self) -> bool {
        !matches!(self, Calc::MinU | Calc::MaxU)
    }

    /// The result, if it is the same whatever the unknown operands are.
    pub(crate) fn fixed(self, a: Option<u64>, b: Option<u64>, same: bool) -> Option<u64> {
        match (self, a, b) {
            (_, Some(a), Some(b)) => Some(self.apply(a, b)),
            (Calc::Second, _, Some(b)) => Some(b),
            (Calc::And | Calc::Mul, Some(0), _) | (Calc::And | Calc::Mul, _, Some(0)) => Some(0),
            (Calc::MulHigh | Calc::MulHighU | Calc::MulHighSU, Some(0), _)
            | (Calc::MulHigh | Calc::MulHighU | Calc::MulHighSU, _, Some(0)) => Some(0),
            (Calc::Sub | Calc::Xor | Calc::AndNot | Calc::Ne | Calc::Lt | Calc::Below, ..) if same => Some(0),
            (Calc::Eq, ..) if same => Some(1),
            _ => None,
        }
    }
}

/// Acquire and release.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Marks {
    /// RISC-V's `.aq`, LDAR, LDAXR and the `A` of atomics: `A`.
    pub(crate) acquire: bool,
    /// LDAPR: `Q`.
    pub(crate) acquire_pc: bool,
    /// RISC-V's `.rl`, STLR, STLXR and the `L` of atomics: `L`.
    pub(crate) release: bool,
}

/// The reads and writes that a fence is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kinds {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Kinds {
    pub(crate) const ALL: Kinds = Kinds { reads: true, writes: true };
    pub(crate) const READS: Kinds = Kinds { reads: true, writes: false };
    pub(crate) const WRITES: Kinds = Kinds { reads: false, writes: true };
}

/// A fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fence {
    /// `before` stays before `after`: `fence`, DMB and DSB.
    Order { before: Kinds, after: Kinds },
    /// `fence.tso`: reads before everything, writes before writes.
    Tso,
    /// ISB.
    Isb,
}

/// What a load reserves for the next store-conditional.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Reserve {
    No,
    /// What it reads: LR, LDXR.
    Begin,
    /// That too, besides what the load before reserved: the second half of an LDXP.
    Join,
}

/// What an atomic instruction writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Update {
    /// `calc(old, value)`
    Apply(Calc),
    /// `value`, if the old value is this one; otherwise nothing.
    CompareExchange(Operand),
}

/// An instruction. Jumps name the index of an instruction; an index past the end ends the thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Instr {
    /// `dst := op(a, b)` as a value of type `ty`
    Calc {
        op: Calc,
        dst: Reg,
        a: Operand,
        b: Operand,
        ty: Int,
    },
    /// `dst := cond ? yes : no`
    Select {
        dst: Reg,
        cond: Reg,
        yes: Operand,
        no: Operand,
    },
    Jump {
        to: u32,
    },
    /// Goes on at `to` if the condition is not 0 (`unless`: if it is 0).
    Branch {
        cond: Operand,
        unless: bool,
        to: u32,
    },
    /// `dst := memory`, extended as `ty` says. `reserve`: LR, or a load-exclusive.
    Load {
        dst: Option<Reg>,
        at: Operand,
        ty: Int,
        marks: Marks,
        reserve: Reserve,
        site: u32,
    },
    /// `memory := value`. `conditional`: SC, or a store-exclusive, with the register that says whether it failed.
    Store {
        at: Operand,
        value: Operand,
        bits: u8,
        marks: Marks,
        conditional: Option<Option<Reg>>,
        site: u32,
    },
    /// `dst := memory; memory := update` in one step. The marks are those of its read and of its write.
    Rmw {
        update: Update,
        dst: Option<Reg>,
        at: Operand,
        value: Operand,
        ty: Int,
        reads: Marks,
        writes: Marks,
        site: u32,
    },
    /// The next instruction, a store-conditional or a compare-exchange of 16 bytes, has these for the upper 8: what it compares with, and
    /// what it stores.
    Upper {
        expected: Operand,
        value: Operand,
    },
    /// `dst :=` the upper 8 bytes that the atomic before has left in its register.
    Rest {
        dst: Option<Reg>,
    },
    Fence(Fence),
    /// CLREX: nothing is reserved any more.
    Clear,
}

/// One thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Thread {
    pub(crate) instrs: Vec<Instr>,
    /// The initial value of each register.
    pub(crate) regs: Vec<u64>,
}
