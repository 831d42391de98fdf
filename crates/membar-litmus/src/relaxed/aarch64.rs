//! AArch64: integer instructions, branches, loads and stores with all addressing modes, exclusives, LSE atomics and barriers.
//!
//! W registers are the low halves of X registers; writing one clears the upper half. Flags are one register each.

mod access;
mod arithmetic;

use super::code::{Calc, Fence, Instr, Kinds};
use super::table::{Arg, Line, Writer};
use crate::code::{Int, Operand, Reg};
use crate::error::{Fault, Parsed};

/// X0 to X30 and SP, then N, Z, C and V.
pub(super) const REGISTERS: Reg = 36;
const NEGATIVE: Reg = 32;
const ZERO: Reg = 33;
const CARRY: Reg = 34;
const OVERFLOW: Reg = 35;
/// WZR and XZR.
const NOTHING: Reg = Reg::MAX;

const NONE: Operand = Operand::Value(0);
const I64: Int = Int::I64;

/// A register as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Register {
    /// [`NOTHING`] for the zero register.
    number: Reg,
    /// 32 or 64.
    bits: u8,
}

fn named(name: &str) -> Option<Register> {
    let upper = name.to_ascii_uppercase();
    let (number, bits) = match upper.as_str() {
        "SP" => (31, 64),
        "WSP" => (31, 32),
        "XZR" => (NOTHING, 64),
        "WZR" => (NOTHING, 32),
        "LR" => (30, 64),
        "FP" => (29, 64),
        other => {
            let bits = if other.starts_with('X') { 64 } else { 32 };
            let digits = other.strip_prefix(['X', 'W'])?;
            (digits.parse().ok().filter(|&n: &Reg| n < 31 && n.to_string() == digits)?, bits)
        }
    };
    Some(Register { number, bits })
}

/// The number of a register that has a value at the end, and what states call it.
pub(crate) fn register(name: &str) -> Option<(Reg, String)> {
    let register = named(name).filter(|register| register.number != NOTHING)?;
    Some((register.number, if register.number == 31 { "SP".into() } else { format!("X{}", register.number) }))
}

/// The number of a register and its size, which the zero register has not.
pub(crate) fn register_size(name: &str) -> Option<(Reg, Option<u8>)> {
    named(name).map(|register| (register.number, (register.number != NOTHING).then_some(register.bits)))
}

const SUPPORTED: &str = "supported are integer arithmetic with products, quotients and bit fields, MOV and its kin, ADR of a location, CMP, CCMP, CSEL and its kin, \
                         B, B.cond, CBZ, CBNZ, TBZ, TBNZ, loads and stores of all sizes, LDP and STP, LDAR, LDAPR, STLR, exclusives \
                         (also of pairs), CLREX, CAS, CASP, SWP, LDADD and its kin, DMB, DSB, ISB and hints";

/// Why an instruction is not supported.
fn refusal(name: &str) -> &'static str {
    match name {
        "DC" | "IC" => {
            "caches are not part of the model: it has neither maintenance of caches nor code that is written"
        }
        "TLBI" | "AT" => "virtual memory is not part of the model",
        "MRS" | "MSR" | "SYS" | "SYSL" => "there are no system registers here",
        "SVC" | "HVC" | "SMC" | "ERET" | "BRK" | "HLT" => "there are no exceptions here",
        "BL" | "BLR" | "BR" => "addresses of instructions are no values here: branches go to labels",
        _ => SUPPORTED,
    }
}

/// Translates one instruction.
pub(super) fn instruction<'a>(w: &mut Writer<'a, '_>, line: &Line<'a>) -> Parsed<()> {
    let upper = line.mnemonic.to_ascii_uppercase();
    let args = &line.args[..];
    let done = branch(w, &upper, args)?
        || barrier(w, &upper, args)?
        || access::instruction(w, &upper, args)?
        || moves(w, &upper, args)?
        || select(w, &upper, args)?
        || compare_if(w, &upper, args)?
        || arithmetic(w, &upper, args)?
        || arithmetic::instruction(w, &upper, args)?;
    if done {
        return Ok(());
    }
    let start = w.span.start;
    Err(Fault::unsupported("instruction", line.mnemonic, refusal(&upper), start..start + line.mnemonic.len()))
}

fn reg(w: &Writer<'_, '_>, name: &str) -> Parsed<Register> {
    let help = "the registers are X0 to X30, W0 to W30, SP, XZR and WZR";
    named(name).ok_or_else(|| Fault::unknown("register", name, help, w.span.clone()))
}

fn uint(bits: u8) -> Int {
    Int { bits, signed: false }
}

/// The value of a register, zero-extended.
fn value(w: &mut Writer<'_, '_>, register: Register) -> Operand {
    match register {
        Register { number: NOTHING, .. } => NONE,
        Register { number, bits: 64 } => Operand::Reg(number),
        Register { number, bits } => w.calc(Calc::Or, Operand::Reg(number), NONE, uint(bits)),
    }
}

/// The register to write, and as what.
fn target(register: Register) -> (Option<Reg>, Int) {
    (Some(register.number).filter(|&number| number != NOTHING), uint(register.bits))
}

fn put(w: &mut Writer<'_, '_>, register: Register, value: Operand) {
    let (dst, ty) = target(register);
    w.set(dst, value, ty);
}

/// A value extended or shifted as an operand says: `SXTW #2`, `LSL #3`.
fn extended(w: &mut Writer<'_, '_>, base: Operand, bits: u8, how: &str, by: u64) -> Parsed<Operand> {
    let int = |bits, signed| Int { bits, signed };
    let by = Operand::Value(by);
    let (ty, shift) = match how.to_ascii_uppercase().as_str() {
        "LSL" => (None, Calc::Shl),
        "LSR" => (None, Calc::Shr),
        "ASR" => (Some(int(bits, true)), Calc::Sar),
        "UXTB" => (Some(int(8, false)), Calc::Shl),
        "UXTH" => (Some(int(16, false)), Calc::Shl),
        "UXTW" => (Some(int(32, false)), Calc::Shl),
        "SXTB" => (Some(int(8, true)), Calc::Shl),
        "SXTH" => (Some(int(16, true)), Calc::Shl),
        "SXTW" => (Some(int(32, true)), Calc::Shl),
        "UXTX" | "SXTX" => (None, Calc::Shl),
        _ => return Err(w.refuse("an operand is shifted by LSL, LSR or ASR, or extended by UXTB to SXTX")),
    };
    let base = ty.map_or(base, |ty| w.calc(Calc::Or, base, NONE, ty));
    Ok(if by == NONE { base } else { w.calc(shift, base, by, I64) })
}

/// The last operands of arithmetic: a register, possibly shifted or extended, or a number, possibly shifted.
fn operand(w: &mut Writer<'_, '_>, args: &[Arg<'_>], bits: u8) -> Parsed<Operand> {
    let base = match args.first() {
        Some(Arg::Number(number)) => Operand::Value(uint(bits).wrap(*number)),
        Some(Arg::Word(name)) => {
            let register = reg(w, name)?;
            value(w, register)
        }
        _ => return Err(w.refuse("the last operand is a register or a number")),
    };
    let whole = match args[1..] {
        [] => return Ok(base),
        [Arg::Shift(how, by)] if how.eq_ignore_ascii_case("ROR") => rotated(w, base, bits, Operand::Value(by)),
        [Arg::Shift(how, by)] => extended(w, base, bits, how, by)?,
        [Arg::Word(how)] => extended(w, base, bits, how, 0)?,
        _ => return Err(w.refuse("too many operands")),
    };
    // Carry and overflow look at all of it: of a W register there are 32 bits.
    Ok(if bits == 32 { w.calc(Calc::Or, whole, NONE, uint(32)) } else { whole })
}

/// A value, zero-extended, rotated to the right.
fn rotated(w: &mut Writer<'_, '_>, from: Operand, bits: u8, by: Operand) -> Operand {
    let size = u64::from(bits);
    let by = w.calc(Calc::And, by, Operand::Value(size - 1), I64);
    // What comes in again on the other side: nothing, if the distance is 0.
    let other = w.calc(Calc::Sub, Operand::Value(size), by, I64);
    let (low, high) = (w.calc(Calc::Shr, from, by, I64), w.calc(Calc::Shl, from, other, I64));
    w.calc(Calc::Or, low, high, uint(bits))
}

/// N, Z, C and V after a result, where carry and overflow are given.
fn flags(w: &mut Writer<'_, '_>, result: Operand, bits: u8, carry: Operand, overflow: Operand) {
    let signed = w.calc(Calc::Or, result, NONE, Int { bits, signed: true });
    let zero = w.calc(Calc::Eq, result, NONE, I64);
    let negative = w.calc(Calc::Lt, signed, NONE, I64);
    for (flag, value) in [(NEGATIVE, negative), (ZERO, zero), (CARRY, carry), (OVERFLOW, overflow)] {
        w.set(Some(flag), value, I64);
    }
}

/// `a - b` or `a + b` with flags.
fn with_flags(w: &mut Writer<'_, '_>, op: Calc, a: Operand, b: Operand, bits: u8) -> Operand {
    let result = w.calc(op, a, b, uint(bits));
    let top = Operand::Value(u64::from(bits) - 1);
    let (carry, overflow) = match op {
        Calc::Sub => {
            let borrow = w.calc(Calc::Below, a, b, I64);
            let carry = w.calc(Calc::Xor, borrow, Operand::Value(1), I64);
            let (differ, changed) = (w.calc(Calc::Xor, a, b, I64), w.calc(Calc::Xor, a, result, I64));
            (carry, w.calc(Calc::And, differ, changed, I64))
        }
        Calc::Add => {
            let carry = w.calc(Calc::Below, result, a, I64);
            let (left, right) = (w.calc(Calc::Xor, a, result, I64), w.calc(Calc::Xor, b, result, I64));
            (carry, w.calc(Calc::And, left, right, I64))
        }
        // Both are 0. The flags are written together, so that these two depend on the operands as well.
        _ => {
            let clear = w.calc(Calc::And, result, NONE, I64);
            (clear, clear)
        }
    };
    let overflow = w.calc(Calc::Shr, overflow, top, I64);
    let overflow = w.calc(Calc::And, overflow, Operand::Value(1), I64);
    flags(w, result, bits, carry, overflow);
    result
}

fn arithmetic<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    const OPERANDS: &str = "operands are `Xd,Xn,Xm`, `Xd,Xn,#1` and, for additions, `Xd,Xn,Wm,SXTW #2`";
    // Comparisons drop the result.
    let compares = match name {
        "CMP" => Some(Calc::Sub),
        "CMN" => Some(Calc::Add),
        "TST" => Some(Calc::And),
        _ => None,
    };
    if let (Some(op), [Arg::Word(a), rest @ ..]) = (compares, args) {
        let a = reg(w, a)?;
        let (left, right) = (value(w, a), operand(w, rest, a.bits)?);
        with_flags(w, op, left, right, a.bits);
        return Ok(true);
    }
    let (op, sets) = match name {
        "ADD" => (Calc::Add, false),
        "ADDS" => (Calc::Add, true),
        "SUB" => (Calc::Sub, false),
        "SUBS" => (Calc::Sub, true),
        "AND" => (Calc::And, false),
        "ANDS" => (Calc::And, true),
        "BIC" => (Calc::AndNot, false),
        "BICS" => (Calc::AndNot, true),
        "ORR" => (Calc::Or, false),
        "ORN" => (Calc::OrNot, false),
        "EOR" => (Calc::Xor, false),
        "EON" => (Calc::Xor, false),
        "MUL" => (Calc::Mul, false),
        "LSL" | "LSLV" => (Calc::Shl, false),
        "LSR" | "LSRV" => (Calc::Shr, false),
        "ASR" | "ASRV" => (Calc::Sar, false),
        _ => return Ok(false),
    };
    let [Arg::Word(dst), Arg::Word(a), rest @ ..] = args else { return Err(w.refuse(OPERANDS)) };
    let (dst, a) = (reg(w, dst)?, reg(w, a)?);
    let mut left = value(w, a);
    let mut right = operand(w, rest, dst.bits)?;
    if name == "EON" {
        right = w.calc(Calc::Xor, right, Operand::Value(u64::MAX), uint(dst.bits));
    }
    if matches!(op, Calc::Shl | Calc::Shr | Calc::Sar) {
        right = w.calc(Calc::And, right, Operand::Value(u64::from(dst.bits) - 1), I64);
    }
    if op == Calc::Sar {
        left = w.calc(Calc::Or, left, NONE, Int { bits: dst.bits, signed: true });
    }
    if sets {
        let result = with_flags(w, op, left, right, dst.bits);
        put(w, dst, result);
    } else if let (Some(dst), ty) = target(dst) {
        w.emit(Instr::Calc { op, dst, a: left, b: right, ty });
    }
    Ok(true)
}

/// MOV and its kin, and instructions with one source.
fn moves<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    const OPERANDS: &str =
        "operands are a register, and a register or a number, possibly shifted: `MOVK X0,#1,LSL #16`";
    let (dst, rest) = match (name, args) {
        ("NOP" | "YIELD" | "WFE" | "WFI" | "SEV" | "SEVL" | "CSDB" | "DGH", []) => return Ok(true),
        // A name that the first section does not have may be a label.
        ("ADR", [Arg::Word(dst), Arg::Word(location)]) => {
            let dst = reg(w, dst)?;
            let symbol = w.memory.find(location).filter(|_| dst.bits == 64);
            let Some(symbol) = symbol else {
                return Err(w.refuse("operands are an X register and a location of the first section: `ADR X0,x`"));
            };
            let pointer = w.memory.pointer(symbol.first);
            put(w, dst, Operand::Value(pointer));
            return Ok(true);
        }
        ("ADR", _) => return Err(w.refuse("operands are an X register and a location: `ADR X0,x`")),
        (
            "MOV" | "MVN" | "NEG" | "NEGS" | "MOVZ" | "MOVK" | "MOVN" | "SXTB" | "SXTH" | "SXTW" | "UXTB" | "UXTH"
            | "UXTW",
            [Arg::Word(dst), rest @ ..],
        ) if !rest.is_empty() => (reg(w, dst)?, rest),
        ("MOV" | "MVN" | "NEG" | "NEGS" | "MOVZ" | "MOVK" | "MOVN", _) => return Err(w.refuse(OPERANDS)),
        _ => return Ok(false),
    };
    let value = match name {
        "MOVK" => {
            let (part, by) = match rest {
                [Arg::Number(part)] => (*part, 0),
                [Arg::Number(part), Arg::Shift("LSL" | "lsl", by)] if *by < 64 => (*part, *by),
                _ => return Err(w.refuse(OPERANDS)),
            };
            let old = value(w, dst);
            let kept = w.calc(Calc::And, old, Operand::Value(!(0xFFFF << by)), I64);
            w.calc(Calc::Or, kept, Operand::Value((part & 0xFFFF) << by), I64)
        }
        "SXTB" | "SXTH" | "SXTW" | "UXTB" | "UXTH" | "UXTW" => {
            let from = operand(w, rest, 64)?;
            extended(w, from, 64, name, 0)?
        }
        "NEG" => {
            let from = operand(w, rest, dst.bits)?;
            w.calc(Calc::Sub, NONE, from, uint(dst.bits))
        }
        "NEGS" => {
            let from = operand(w, rest, dst.bits)?;
            with_flags(w, Calc::Sub, NONE, from, dst.bits)
        }
        "MVN" | "MOVN" => {
            let from = operand(w, rest, dst.bits)?;
            w.calc(Calc::Xor, from, Operand::Value(u64::MAX), uint(dst.bits))
        }
        _ => operand(w, rest, dst.bits)?,
    };
    put(w, dst, value);
    Ok(true)
}

/// A register that is 1 if the condition holds (with `not`: 0).
fn condition(w: &mut Writer<'_, '_>, name: &str) -> Option<(Operand, bool)> {
    let flag = |reg: Reg| Operand::Reg(reg);
    Some(match name {
        "EQ" => (flag(ZERO), false),
        "NE" => (flag(ZERO), true),
        "CS" | "HS" => (flag(CARRY), false),
        "CC" | "LO" => (flag(CARRY), true),
        "MI" => (flag(NEGATIVE), false),
        "PL" => (flag(NEGATIVE), true),
        "VS" => (flag(OVERFLOW), false),
        "VC" => (flag(OVERFLOW), true),
        "HI" | "LS" => {
            let clear = w.calc(Calc::Xor, flag(ZERO), Operand::Value(1), I64);
            (w.calc(Calc::And, flag(CARRY), clear, I64), name == "LS")
        }
        "LT" | "GE" => (w.calc(Calc::Ne, flag(NEGATIVE), flag(OVERFLOW), I64), name == "GE"),
        "LE" | "GT" => {
            let less = w.calc(Calc::Ne, flag(NEGATIVE), flag(OVERFLOW), I64);
            (w.calc(Calc::Or, less, flag(ZERO), I64), name == "GT")
        }
        "AL" => (Operand::Value(1), false),
        _ => return None,
    })
}

fn branch<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    const LABEL: &str = "branches go to a label: `B L`, `B.NE L`, `CBNZ W0,L`, `TBZ X0,#3,L`";
    match (name, args) {
        ("B", [Arg::Word(label)]) => w.jump(label),
        ("RET", _) => w.end(),
        ("CBZ" | "CBNZ", [Arg::Word(register), Arg::Word(label)]) => {
            let register = reg(w, register)?;
            let cond = value(w, register);
            w.branch(cond, name == "CBZ", label);
        }
        ("TBZ" | "TBNZ", [Arg::Word(register), Arg::Number(bit), Arg::Word(label)]) if *bit < 64 => {
            let register = reg(w, register)?;
            let from = value(w, register);
            let cond = w.calc(Calc::And, from, Operand::Value(1 << bit), I64);
            w.branch(cond, name == "TBZ", label);
        }
        ("B" | "CBZ" | "CBNZ" | "TBZ" | "TBNZ", _) => return Err(w.refuse(LABEL)),
        _ => {
            let cond = name.strip_prefix("B.").or_else(|| name.strip_prefix('B').filter(|cond| cond.len() == 2));
            let Some((cond, not)) = cond.and_then(|cond| condition(w, cond)) else { return Ok(false) };
            let [Arg::Word(label)] = args else { return Err(w.refuse(LABEL)) };
            w.branch(cond, not, label);
        }
    }
    Ok(true)
}

/// CSEL and its kin.
fn select<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    const OPERANDS: &str = "operands are `Xd,Xn,Xm,EQ`; CSET has `Xd,EQ`, CINC `Xd,Xn,EQ`";
    // What the second choice is changed by, and whether the condition is inverted.
    let (dst, yes, no, cond) = match (name, args) {
        ("CSEL" | "CSINC" | "CSINV" | "CSNEG", [Arg::Word(dst), Arg::Word(yes), Arg::Word(no), Arg::Word(cond)]) => {
            let (dst, yes, no) = (reg(w, dst)?, reg(w, yes)?, reg(w, no)?);
            (dst, value(w, yes), value(w, no), cond)
        }
        ("CSET" | "CSETM", [Arg::Word(dst), Arg::Word(cond)]) => (reg(w, dst)?, NONE, NONE, cond),
        ("CINC" | "CINV" | "CNEG", [Arg::Word(dst), Arg::Word(from), Arg::Word(cond)]) => {
            let (dst, from) = (reg(w, dst)?, reg(w, from)?);
            let from = value(w, from);
            (dst, from, from, cond)
        }
        ("CSEL" | "CSINC" | "CSINV" | "CSNEG" | "CSET" | "CSETM" | "CINC" | "CINV" | "CNEG", _) => {
            return Err(w.refuse(OPERANDS));
        }
        _ => return Ok(false),
    };
    let ty = uint(dst.bits);
    let changed = match name {
        "CSINC" | "CSET" | "CINC" => w.calc(Calc::Add, no, Operand::Value(1), ty),
        "CSINV" | "CSETM" | "CINV" => w.calc(Calc::Xor, no, Operand::Value(u64::MAX), ty),
        "CSNEG" | "CNEG" => w.calc(Calc::Sub, NONE, no, ty),
        _ => no,
    };
    let Some((flag, not)) = condition(w, &cond.to_ascii_uppercase()) else {
        return Err(w.refuse("the conditions are EQ NE CS HS CC LO MI PL VS VC HI LS GE LT GT LE AL"));
    };
    // CSET and its kin change the value if the condition holds, the others if it does not.
    let inverted = not ^ matches!(name, "CSET" | "CSETM" | "CINC" | "CINV" | "CNEG");
    let (yes, no) = if inverted { (changed, yes) } else { (yes, changed) };
    let (to, ty) = target(dst);
    if let Some(to) = to {
        let picked = pick(w, flag, yes, no);
        w.set(Some(to), picked, ty);
    }
    Ok(true)
}

/// `flag ? yes : no` in a temporary.
fn pick(w: &mut Writer<'_, '_>, flag: Operand, yes: Operand, no: Operand) -> Operand {
    let cond = match flag {
        Operand::Reg(cond) => cond,
        constant => {
            let temp = w.temp();
            w.set(Some(temp), constant, I64);
            temp
        }
    };
    let dst = w.temp();
    w.emit(Instr::Select { dst, cond, yes, no });
    Operand::Reg(dst)
}

/// CCMP and CCMN: flags of a comparison if the condition holds, and otherwise these.
fn compare_if<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    const OPERANDS: &str =
        "operands are `Xn,Xm,#0,EQ` or `Xn,#1,#0,EQ`, where the last number, 0 to 15, is the flags if not EQ";
    let op = match name {
        "CCMP" => Calc::Sub,
        "CCMN" => Calc::Add,
        _ => return Ok(false),
    };
    let [Arg::Word(a), b, Arg::Number(otherwise @ 0..=15), Arg::Word(cond)] = args else {
        return Err(w.refuse(OPERANDS));
    };
    let a = reg(w, a)?;
    let (left, right) = (value(w, a), operand(w, std::slice::from_ref(b), a.bits)?);
    let Some((flag, not)) = condition(w, &cond.to_ascii_uppercase()) else { return Err(w.refuse(OPERANDS)) };
    // What decides is made of flags that are about to change.
    let flag = w.calc(Calc::Or, flag, NONE, I64);
    with_flags(w, op, left, right, a.bits);
    // The flags are picked together.
    let mut packed = NONE;
    for (at, place) in (0..4).zip([3, 2, 1, 0]) {
        let bit = w.calc(Calc::Shl, Operand::Reg(NEGATIVE + at), Operand::Value(place), I64);
        packed = w.calc(Calc::Or, packed, bit, I64);
    }
    let constant = Operand::Value(*otherwise);
    let (yes, no) = if not { (constant, packed) } else { (packed, constant) };
    let picked = pick(w, flag, yes, no);
    for (at, place) in (0..4).zip([3, 2, 1, 0]) {
        let bit = w.calc(Calc::Shr, picked, Operand::Value(place), I64);
        let bit = w.calc(Calc::And, bit, Operand::Value(1), I64);
        w.set(Some(NEGATIVE + at), bit, I64);
    }
    Ok(true)
}

fn barrier(w: &mut Writer<'_, '_>, name: &str, args: &[Arg<'_>]) -> Parsed<bool> {
    let fence = match (name, args) {
        ("ISB", [] | [Arg::Word("SY" | "sy")]) => Fence::Isb,
        ("DMB" | "DSB", [Arg::Word(option)]) => {
            let upper = option.to_ascii_uppercase();
            let (before, after) = match upper.as_str() {
                "SY" | "ISH" | "NSH" | "OSH" => (Kinds::ALL, Kinds::ALL),
                "LD" | "ISHLD" | "NSHLD" | "OSHLD" => (Kinds::READS, Kinds::ALL),
                "ST" | "ISHST" | "NSHST" | "OSHST" if name == "DSB" => (Kinds::WRITES, Kinds::ALL),
                "ST" | "ISHST" | "NSHST" | "OSHST" => (Kinds::WRITES, Kinds::WRITES),
                _ => {
                    return Err(
                        w.refuse("the barriers are SY, LD, ST, ISH, ISHLD, ISHST, and the same with NSH and OSH")
                    );
                }
            };
            Fence::Order { before, after }
        }
        ("CLREX", [] | [Arg::Number(_)]) => {
            w.emit(Instr::Clear);
            return Ok(true);
        }
        ("ISB" | "DMB" | "DSB", _) => return Err(w.refuse("barriers are `DMB SY`, `DMB ISHLD`, `DSB ST` and `ISB`")),
        _ => return Ok(false),
    };
    w.emit(Instr::Fence(fence));
    Ok(true)
}
