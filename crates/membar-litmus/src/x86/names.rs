//! Names of instructions and conditions.

use crate::code::Alu;
use membar_core::Barrier;

/// The meaning of a mnemonic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Mov,
    /// To a vector register.
    LoadVector,
    /// `dst := op(dst, src)`
    Arith(Alu),
    /// Flags of `dst - src`
    Cmp,
    /// Flags of `dst & src`
    Test,
    /// `dst := op(dst, 1)`; the carry flag stays.
    Step(Alu),
    Shl,
    /// Interlocked if it touches memory.
    Xchg,
    /// Never interlocked.
    Uxch,
    Xadd,
    Cmpxchg,
    Fence(Barrier),
    /// Touches nothing that a model here knows.
    Nop,
    Ret,
    Jmp,
    Jump(Cond),
    Set(Cond),
    Cmov(Cond),
}

/// A condition on the flags, and whether its opposite is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cond {
    pub(super) test: Flags,
    pub(super) not: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flags {
    Zero,
    Sign,
    Carry,
    Overflow,
    /// Carry or zero: unsigned at most.
    BelowEqual,
    /// Sign differs from overflow: signed less.
    Less,
    LessEqual,
}

/// A size suffix may follow each of these.
const SIZED: [(&str, Op); 18] = [
    ("mov", Op::Mov),
    // A store like any other, as in herd's models: what write-combining adds is not part of TSO.
    ("movnti", Op::Mov),
    ("add", Op::Arith(Alu::Add)),
    ("sub", Op::Arith(Alu::Sub)),
    ("and", Op::Arith(Alu::And)),
    ("or", Op::Arith(Alu::Or)),
    ("xor", Op::Arith(Alu::Xor)),
    ("cmp", Op::Cmp),
    ("test", Op::Test),
    ("inc", Op::Step(Alu::Add)),
    ("dec", Op::Step(Alu::Sub)),
    ("shl", Op::Shl),
    ("sal", Op::Shl),
    ("xchg", Op::Xchg),
    ("uxch", Op::Uxch),
    ("xadd", Op::Xadd),
    ("cmpxchg", Op::Cmpxchg),
    ("nop", Op::Nop),
];

const UNSIZED: [(&str, Op); 9] = [
    ("movntdqa", Op::LoadVector),
    ("mfence", Op::Fence(Barrier::Full)),
    ("sfence", Op::Fence(Barrier::Store)),
    ("lfence", Op::Nop),
    ("clflush", Op::Nop),
    ("clflushopt", Op::Nop),
    ("pause", Op::Nop),
    ("ret", Op::Ret),
    ("jmp", Op::Jmp),
];

/// After `j`, `set` and `cmov`.
const CONDITIONS: [(&str, Flags, bool); 32] = [
    ("e", Flags::Zero, false),
    ("z", Flags::Zero, false),
    ("ne", Flags::Zero, true),
    ("nz", Flags::Zero, true),
    ("s", Flags::Sign, false),
    ("ns", Flags::Sign, true),
    ("c", Flags::Carry, false),
    ("b", Flags::Carry, false),
    ("nae", Flags::Carry, false),
    ("nc", Flags::Carry, true),
    ("nb", Flags::Carry, true),
    ("ae", Flags::Carry, true),
    ("o", Flags::Overflow, false),
    ("no", Flags::Overflow, true),
    ("be", Flags::BelowEqual, false),
    ("na", Flags::BelowEqual, false),
    ("a", Flags::BelowEqual, true),
    ("nbe", Flags::BelowEqual, true),
    ("l", Flags::Less, false),
    ("lt", Flags::Less, false),
    ("nge", Flags::Less, false),
    ("ge", Flags::Less, true),
    ("nl", Flags::Less, true),
    ("nlt", Flags::Less, true),
    ("le", Flags::LessEqual, false),
    ("ng", Flags::LessEqual, false),
    ("ngt", Flags::LessEqual, false),
    ("g", Flags::LessEqual, true),
    ("gt", Flags::LessEqual, true),
    ("nle", Flags::LessEqual, true),
    ("eq", Flags::Zero, false),
    ("neq", Flags::Zero, true),
];

/// Instructions that people may expect to work, and why they do not.
pub(super) const REFUSED: [(&str, &str); 4] = [
    ("movd", "of vector instructions only `movntdqa` is supported"),
    ("movt", "values of 128 bits are not supported"),
    ("movsd", "string instructions are not supported"),
    ("clwb", "persistent memory is not supported"),
];

/// The operation and the size that the suffix says.
pub(super) fn decode(mnemonic: &str) -> Option<(Op, Option<u8>)> {
    let lower = mnemonic.to_ascii_lowercase();
    let name = lower.as_str();
    if let Some((_, op)) = SIZED.iter().chain(&UNSIZED).find(|(known, _)| *known == name) {
        return Some((*op, None));
    }
    let condition = |name: &str| {
        let (_, test, not) = CONDITIONS.iter().find(|(known, ..)| *known == name)?;
        Some(Cond { test: *test, not: *not })
    };
    if let Some(cond) = name.strip_prefix('j').and_then(condition) {
        return Some((Op::Jump(cond), None));
    }
    if let Some(cond) = name.strip_prefix("set").and_then(condition) {
        return Some((Op::Set(cond), None));
    }
    if let Some(cond) = name.strip_prefix("cmov").and_then(condition) {
        return Some((Op::Cmov(cond), None));
    }
    let bits = match name.as_bytes().last()? {
        b'b' => 8,
        b'w' => 16,
        b'l' => 32,
        b'q' => 64,
        _ => return None,
    };
    let stem = &name[..name.len() - 1];
    if let Some(cond) = stem.strip_prefix("cmov").and_then(condition) {
        return Some((Op::Cmov(cond), Some(bits)));
    }
    SIZED.iter().find(|(known, _)| *known == stem).map(|(_, op)| (*op, Some(bits)))
}
