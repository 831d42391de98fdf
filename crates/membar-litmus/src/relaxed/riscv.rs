//! RISCV: the base instructions of RV64I with their usual pseudo-instructions, atomics (A, with Zabha's sizes and Zacas) and fences.
//!
//! Loads and stores may be marked `.aq` and `.rl`, as in tests that were written before the ISA left that out and in those for
//! Zalasr. `fence.i` orders nothing between accesses to data. Input and output bits of fences are left out.

use super::code::{Calc, Fence, Instr, Kinds, Marks, Reserve, Update};
use super::table::{Arg, Line, Writer};
use crate::code::{Int, Operand, Reg};
use crate::error::{Fault, Parsed};

/// x0 to x31.
pub(super) const REGISTERS: Reg = 32;

const NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2",
    "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// The number of a register.
pub(crate) fn register(name: &str) -> Option<Reg> {
    let lower = name.to_ascii_lowercase();
    if lower == "fp" {
        return Some(8);
    }
    if let Some(at) = NAMES.iter().position(|known| *known == lower) {
        return Some(at as Reg);
    }
    let digits = lower.strip_prefix('x')?;
    digits.parse().ok().filter(|&n: &Reg| n < REGISTERS && n.to_string() == digits)
}

const SUPPORTED: &str = "supported are RV64I's and M's loads, stores, arithmetic, branches and pseudo-instructions, some of Zbb, Zba and Zicond, \
                         lr, sc, amo…, fence, fence.tso, fence.i, pause and prefetches";
const I32: Int = Int::I32;
const I64: Int = Int::I64;
const U32: Int = Int { bits: 32, signed: false };
const UNSIGNED: Int = Int { bits: 64, signed: false };

/// Operations on two registers or a register and a constant: the name without `i` and `w`.
fn arithmetic(name: &str) -> Option<Calc> {
    Some(match name {
        "add" => Calc::Add,
        "sub" => Calc::Sub,
        "and" => Calc::And,
        "or" => Calc::Or,
        "xor" => Calc::Xor,
        "andn" => Calc::AndNot,
        "orn" => Calc::OrNot,
        "sll" => Calc::Shl,
        "srl" => Calc::Shr,
        "sra" => Calc::Sar,
        "slt" => Calc::Lt,
        "sltu" => Calc::Below,
        "mul" => Calc::Mul,
        "mulh" => Calc::MulHigh,
        "mulhu" => Calc::MulHighU,
        "mulhsu" => Calc::MulHighSU,
        "div" => Calc::Div,
        "divu" => Calc::DivU,
        "rem" => Calc::Rem,
        "remu" => Calc::RemU,
        "min" => Calc::Min,
        "max" => Calc::Max,
        "minu" => Calc::MinU,
        "maxu" => Calc::MaxU,
        _ => return None,
    })
}

/// Whether the operation has a form with a constant, one on 32 bits, or one that is both.
fn exists(op: Calc, constant: bool, word: bool) -> bool {
    let shift = matches!(op, Calc::Shl | Calc::Shr | Calc::Sar);
    let constants = shift || matches!(op, Calc::Add | Calc::And | Calc::Or | Calc::Xor | Calc::Lt | Calc::Below);
    let division = matches!(op, Calc::Div | Calc::DivU | Calc::Rem | Calc::RemU);
    let words = shift || division || matches!(op, Calc::Add | Calc::Sub | Calc::Mul);
    (!constant || constants) && (!word || words)
}

/// Takes `.aq`, `.rl` and their combinations off a name.
fn marked(mut name: &str) -> (&str, Marks) {
    let mut marks = Marks::default();
    loop {
        if let Some(rest) = name.strip_suffix(".aqrl") {
            (name, marks.acquire, marks.release) = (rest, true, true);
        } else if let Some(rest) = name.strip_suffix(".aq") {
            (name, marks.acquire) = (rest, true);
        } else if let Some(rest) = name.strip_suffix(".rl") {
            (name, marks.release) = (rest, true);
        } else {
            return (name, marks);
        }
    }
}

/// Translates one instruction.
pub(super) fn instruction<'a>(w: &mut Writer<'a, '_>, line: &Line<'a>) -> Parsed<()> {
    let lower = line.mnemonic.to_ascii_lowercase();
    let (name, marks) = marked(&lower);
    let args = &line.args[..];
    if memory_access(w, name, marks, args)? {
        return Ok(());
    }
    if marks != Marks::default() {
        return Err(unknown(w, line));
    }
    if branch(w, name, args)? || hint(w, name, args)? || pseudo(w, name, args)? || bits_and_zeros(w, name, args)? {
        return Ok(());
    }
    // add, addi, addw, addiw
    let (plain, word) = name.strip_suffix('w').map_or((name, false), |plain| (plain, true));
    let (base, constant) = match plain.strip_suffix('i') {
        _ if plain == "sltiu" => ("sltu", true),
        Some(base) => (base, true),
        None => (plain, false),
    };
    let Some(op) = arithmetic(base).filter(|&op| exists(op, constant, word)) else { return Err(unknown(w, line)) };
    const OPERANDS: &str = "operands are `rd,rs1,rs2`, or `rd,rs1,1` for instructions that end in `i`";
    let [Arg::Word(dst), Arg::Word(a), b] = args else { return Err(w.refuse(OPERANDS)) };
    let (dst, mut a) = (destination(w, dst)?, source(w, a)?);
    let mut b = match b {
        Arg::Word(b) => source(w, b)?,
        Arg::Number(b) if constant => Operand::Value(*b),
        _ => return Err(w.refuse(OPERANDS)),
    };
    let shifts = matches!(op, Calc::Shl | Calc::Shr | Calc::Sar);
    if shifts {
        b = w.calc(Calc::And, b, Operand::Value(if word { 31 } else { 63 }), I64);
    }
    // These look at the whole of their operands, of which there are 32 bits.
    if word && (shifts || matches!(op, Calc::Div | Calc::DivU | Calc::Rem | Calc::RemU)) {
        let ty = if matches!(op, Calc::Shr | Calc::DivU | Calc::RemU) { U32 } else { I32 };
        a = w.calc(Calc::Or, a, Operand::Value(0), ty);
        b = w.calc(Calc::Or, b, Operand::Value(0), ty);
    }
    put(w, dst, op, a, b, if word { I32 } else { I64 });
    Ok(())
}

/// `dst := op(a, b)`; a result for x0 is dropped.
fn put(w: &mut Writer<'_, '_>, dst: Option<Reg>, op: Calc, a: Operand, b: Operand, ty: Int) {
    if let Some(dst) = dst {
        w.emit(Instr::Calc { op, dst, a, b, ty });
    }
}

fn number(w: &Writer<'_, '_>, name: &str) -> Parsed<Reg> {
    let help = "the registers are x0 to x31, also named zero, ra, sp, gp, tp, t0 to t6, s0 to s11 and a0 to a7";
    register(name).ok_or_else(|| Fault::unknown("register", name, help, w.span.clone()))
}

fn source(w: &Writer<'_, '_>, name: &str) -> Parsed<Operand> {
    Ok(match number(w, name)? {
        0 => Operand::Value(0),
        reg => Operand::Reg(reg),
    })
}

fn destination(w: &Writer<'_, '_>, name: &str) -> Parsed<Option<Reg>> {
    Ok(Some(number(w, name)?).filter(|&reg| reg != 0))
}

fn address(w: &mut Writer<'_, '_>, arg: &Arg<'_>) -> Parsed<Operand> {
    let Arg::At(offset, base) = arg else { return Err(w.refuse("memory is written `0(x5)`")) };
    let base = source(w, base)?;
    Ok(if *offset == 0 { base } else { w.calc(Calc::Add, base, Operand::Value(*offset), I64) })
}

fn bits(letter: &str) -> Option<u8> {
    Some(match letter {
        "b" => 8,
        "h" => 16,
        "w" => 32,
        "d" => 64,
        _ => return None,
    })
}

/// Loads, stores, atomics and fences. Whether it is one of them.
fn memory_access(w: &mut Writer<'_, '_>, name: &str, marks: Marks, args: &[Arg<'_>]) -> Parsed<bool> {
    if let Some(rest) = name.strip_prefix("lr.").and_then(bits).filter(|&bits| bits >= 32) {
        let [Arg::Word(dst), at] = args else { return Err(w.refuse("operands are `rd,(rs1)`")) };
        let (dst, at, site) = (destination(w, dst)?, address(w, at)?, w.site());
        w.emit(Instr::Load { dst, at, ty: Int { bits: rest, signed: true }, marks, reserve: Reserve::Begin, site });
        return Ok(true);
    }
    if let Some(bits) = name.strip_prefix("sc.").and_then(bits).filter(|&bits| bits >= 32) {
        let [Arg::Word(status), Arg::Word(value), at] = args else {
            return Err(w.refuse("operands are `rd,rs2,(rs1)`"));
        };
        let (status, value, at, site) = (destination(w, status)?, source(w, value)?, address(w, at)?, w.site());
        w.emit(Instr::Store { at, value, bits, marks, conditional: Some(status), site });
        return Ok(true);
    }
    if let Some((op, letter)) = name.strip_prefix("amo").and_then(|rest| rest.split_once('.')) {
        let op = match op {
            "swap" => Some(Calc::Second),
            "cas" => None,
            "add" | "and" | "or" | "xor" | "min" | "max" | "minu" | "maxu" => arithmetic(op),
            _ => return Ok(false),
        };
        let [Arg::Word(dst), Arg::Word(value), at] = args else {
            return Err(w.refuse("operands are `rd,rs2,(rs1)`"));
        };
        if op.is_none() && letter == "q" {
            compare_pair(w, dst, value, at, marks)?;
            return Ok(true);
        }
        let Some(bits) = bits(letter) else { return Ok(false) };
        let (to, value, at, site) = (destination(w, dst)?, source(w, value)?, address(w, at)?, w.site());
        let update = match op {
            Some(op) => Update::Apply(op),
            None => Update::CompareExchange(source(w, dst)?),
        };
        let ty = Int { bits, signed: true };
        w.emit(Instr::Rmw { update, dst: to, at, value, ty, reads: marks, writes: marks, site });
        return Ok(true);
    }
    if let Some(rest) = name.strip_prefix("fence") {
        let fence = match (rest, args) {
            ("", []) => Some(Fence::Order { before: Kinds::ALL, after: Kinds::ALL }),
            ("", [Arg::Word(before), Arg::Word(after)]) => {
                Some(Fence::Order { before: kinds(w, before)?, after: kinds(w, after)? })
            }
            (".tso", []) => Some(Fence::Tso),
            (".i", []) => None,
            _ => return Err(w.refuse("fences are `fence rw,w`, `fence.tso` and `fence.i`")),
        };
        fence.into_iter().for_each(|fence| w.emit(Instr::Fence(fence)));
        return Ok(true);
    }
    let (store, rest) = match (name.strip_prefix('l'), name.strip_prefix('s')) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Ok(false),
    };
    let (letter, unsigned) = match rest.strip_suffix('u') {
        Some(letter) if !store && letter != "d" => (letter, true),
        _ => (rest, false),
    };
    let Some(bits) = bits(letter) else { return Ok(false) };
    let [Arg::Word(reg), at] = args else {
        return Err(w.refuse("operands are `rd,0(rs1)`, for stores `rs2,0(rs1)`"));
    };
    let (at, site) = (address(w, at)?, w.site());
    if store {
        let value = source(w, reg)?;
        w.emit(Instr::Store { at, value, bits, marks, conditional: None, site });
    } else {
        let dst = destination(w, reg)?;
        w.emit(Instr::Load { dst, at, ty: Int { bits, signed: !unsigned }, marks, reserve: Reserve::No, site });
    }
    Ok(true)
}

/// `amocas.q`: 16 bytes, in pairs of registers that begin with an even number; x0 is a pair of zeros.
fn compare_pair(w: &mut Writer<'_, '_>, dst: &str, value: &str, at: &Arg<'_>, marks: Marks) -> Parsed<()> {
    let (dst, value) = (number(w, dst)?, number(w, value)?);
    if dst % 2 != 0 || value % 2 != 0 {
        return Err(w.refuse("`amocas.q` has even registers, each with the next one: `amocas.q x10,x12,(x5)`"));
    }
    let half = |reg: Reg, next: Reg| if reg == 0 { Operand::Value(0) } else { Operand::Reg(reg + next) };
    let (expected, upper, stored, high) = (half(dst, 0), half(dst, 1), half(value, 0), half(value, 1));
    let (at, site) = (address(w, at)?, w.site());
    w.emit(Instr::Upper { expected: upper, value: high });
    let (update, ty) = (Update::CompareExchange(expected), Int { bits: 128, signed: false });
    let to = Some(dst).filter(|&dst| dst != 0);
    w.emit(Instr::Rmw { update, dst: to, at, value: stored, ty, reads: marks, writes: marks, site });
    to.into_iter().for_each(|dst| w.emit(Instr::Rest { dst: Some(dst + 1) }));
    Ok(())
}

fn kinds(w: &Writer<'_, '_>, set: &str) -> Parsed<Kinds> {
    let lower = set.to_ascii_lowercase();
    if lower.is_empty() || !lower.bytes().all(|letter| b"iorw".contains(&letter)) {
        return Err(w.refuse("the sets of a fence are r, w or rw, also with i and o"));
    }
    Ok(Kinds { reads: lower.contains('r'), writes: lower.contains('w') })
}

/// Branches and jumps. Whether it is one of them.
fn branch<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    let Some(cond) = name.strip_prefix('b') else {
        match (name, args) {
            ("j", [Arg::Word(label)]) => w.jump(label),
            ("jal", [Arg::Word(to), Arg::Word(label)]) if destination(w, to)?.is_none() => w.jump(label),
            ("j" | "jal", _) => {
                return Err(
                    w.refuse("jumps go to a label, `j L` or `jal x0,L`: addresses of instructions are no values here")
                );
            }
            ("ret", []) => w.end(),
            _ => return Ok(false),
        }
        return Ok(true);
    };
    let (cond, zero) = match cond.strip_suffix('z') {
        Some(cond) => (cond, true),
        None => (cond, false),
    };
    // The comparison, whether its operands are swapped, and whether it is negated.
    let (op, swap, not) = match cond {
        "eq" => (Calc::Eq, false, false),
        "ne" => (Calc::Ne, false, false),
        "lt" => (Calc::Lt, false, false),
        "ge" => (Calc::Lt, false, true),
        "gt" => (Calc::Lt, true, false),
        "le" => (Calc::Lt, true, true),
        "ltu" => (Calc::Below, false, false),
        "geu" => (Calc::Below, false, true),
        "gtu" => (Calc::Below, true, false),
        "leu" => (Calc::Below, true, true),
        _ => return Ok(false),
    };
    let (a, b, label) = match args {
        [Arg::Word(a), Arg::Word(label)] if zero => (source(w, a)?, Operand::Value(0), label),
        [Arg::Word(a), Arg::Word(b), Arg::Word(label)] if !zero => (source(w, a)?, source(w, b)?, label),
        _ => return Err(w.refuse("operands are `rs1,rs2,label`, or `rs1,label` where the name ends in `z`")),
    };
    let (a, b) = if swap { (b, a) } else { (a, b) };
    let cond = w.calc(op, a, b, I64);
    w.branch(cond, not, label);
    Ok(true)
}

/// Instructions without an effect on registers and memory. Whether it is one of them.
fn hint(w: &mut Writer<'_, '_>, name: &str, args: &[Arg<'_>]) -> Parsed<bool> {
    match (name, args) {
        ("nop" | "pause", []) => Ok(true),
        ("nop" | "pause", _) => Err(w.refuse("it has no operands")),
        ("prefetch.r" | "prefetch.w" | "prefetch.i", [at]) => address(w, at).map(|_| true),
        ("prefetch.r" | "prefetch.w" | "prefetch.i", _) => Err(w.refuse("the operand is memory: `prefetch.r 0(x5)`")),
        _ => Ok(false),
    }
}

/// Instructions with two sources that take more than one step. Whether it is one of them.
fn bits_and_zeros(w: &mut Writer<'_, '_>, name: &str, args: &[Arg<'_>]) -> Parsed<bool> {
    let known = ["rol", "ror", "rolw", "rorw", "rori", "roriw", "xnor", "sh1add", "sh2add", "sh3add", "sgt", "sgtu"];
    if !known.contains(&name) && !matches!(name, "czero.eqz" | "czero.nez") {
        return Ok(false);
    }
    const OPERANDS: &str = "operands are `rd,rs1,rs2`, or `rd,rs1,1` for instructions with a constant";
    let constant = matches!(name, "rori" | "roriw");
    let (dst, a, b) = match args {
        [Arg::Word(dst), Arg::Word(a), Arg::Word(b)] if !constant => (dst, a, source(w, b)?),
        [Arg::Word(dst), Arg::Word(a), Arg::Number(b)] if constant => (dst, a, Operand::Value(*b)),
        _ => return Err(w.refuse(OPERANDS)),
    };
    let (dst, a) = (destination(w, dst)?, source(w, a)?);
    match name {
        "xnor" => {
            let inverted = w.calc(Calc::Xor, b, Operand::Value(u64::MAX), I64);
            put(w, dst, Calc::Xor, a, inverted, I64);
        }
        "sh1add" | "sh2add" | "sh3add" => {
            let by = u64::from(name.as_bytes()[2] - b'0');
            let shifted = w.calc(Calc::Shl, a, Operand::Value(by), I64);
            put(w, dst, Calc::Add, shifted, b, I64);
        }
        "sgt" => put(w, dst, Calc::Lt, b, a, I64),
        "sgtu" => put(w, dst, Calc::Below, b, a, I64),
        "czero.eqz" | "czero.nez" => {
            // The result depends on both sources, whatever they are.
            let op = if name == "czero.eqz" { Calc::Ne } else { Calc::Eq };
            let kept = w.calc(op, b, Operand::Value(0), I64);
            put(w, dst, Calc::Mul, a, kept, I64);
        }
        _ => {
            let (bits, unsigned, ty) = if name.ends_with('w') { (32, U32, I32) } else { (64, UNSIGNED, I64) };
            let from = w.calc(Calc::Or, a, Operand::Value(0), unsigned);
            let by = w.calc(Calc::And, b, Operand::Value(bits - 1), I64);
            // What is shifted out, and comes in again on the other side: nothing, if the distance is 0.
            let other = w.calc(Calc::Sub, Operand::Value(bits), by, I64);
            let (near, far) = if name.starts_with("rol") { (Calc::Shl, Calc::Shr) } else { (Calc::Shr, Calc::Shl) };
            let (low, high) = (w.calc(near, from, by, I64), w.calc(far, from, other, I64));
            put(w, dst, Calc::Or, low, high, ty);
        }
    }
    Ok(true)
}

/// Instructions with one source. Whether it is one of them.
fn pseudo<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    let zero = Operand::Value(0);
    match (name, args) {
        ("li", [Arg::Word(dst), Arg::Number(value)]) => {
            let dst = destination(w, dst)?;
            w.set(dst, Operand::Value(*value), I64);
        }
        ("lui", [_, Arg::Number(value)]) if *value > 0xF_FFFF => {
            return Err(w.refuse("the number is that of the upper 20 bits of 32: 0 to 0xfffff"));
        }
        ("lui", [Arg::Word(dst), Arg::Number(value)]) => {
            let dst = destination(w, dst)?;
            w.set(dst, Operand::Value(value << 12), I32);
        }
        ("la", [Arg::Word(dst), Arg::Word(symbol)]) => {
            let dst = destination(w, dst)?;
            let symbol = w.memory.symbol(symbol, w.span.clone())?;
            let pointer = w.memory.pointer(symbol.first);
            w.set(dst, Operand::Value(pointer), I64);
        }
        (_, [Arg::Word(dst), Arg::Word(from)]) => {
            let ones = Operand::Value(u64::MAX);
            let narrow = |bits, signed| Int { bits, signed };
            let (op, swap, other, ty) = match name {
                "mv" => (Calc::Or, false, zero, I64),
                "not" => (Calc::Xor, false, ones, I64),
                "neg" => (Calc::Sub, true, zero, I64),
                "negw" => (Calc::Sub, true, zero, I32),
                "seqz" => (Calc::Eq, false, zero, I64),
                "snez" => (Calc::Ne, false, zero, I64),
                "sltz" => (Calc::Lt, false, zero, I64),
                "sgtz" => (Calc::Lt, true, zero, I64),
                "sext.b" => (Calc::Or, false, zero, narrow(8, true)),
                "sext.h" => (Calc::Or, false, zero, narrow(16, true)),
                "sext.w" => (Calc::Or, false, zero, I32),
                "zext.b" => (Calc::Or, false, zero, narrow(8, false)),
                "zext.h" => (Calc::Or, false, zero, narrow(16, false)),
                "zext.w" => (Calc::Or, false, zero, U32),
                _ => return Ok(false),
            };
            let (dst, from) = (destination(w, dst)?, source(w, from)?);
            let (a, b) = if swap { (other, from) } else { (from, other) };
            put(w, dst, op, a, b, ty);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn unknown(w: &Writer<'_, '_>, line: &Line<'_>) -> Fault {
    let start = w.span.start;
    let lower = line.mnemonic.to_ascii_lowercase();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| lower.starts_with(prefix));
    let help = match lower.as_str() {
        "call" | "tail" | "jr" | "jalr" | "auipc" => "addresses of instructions are no values here: jumps go to labels",
        "ecall" | "ebreak" | "wfi" | "mret" | "sret" => {
            "there are no traps, no interrupts and no operating system here"
        }
        _ if begins(&["csr"]) => "there are no control and status registers here",
        _ if begins(&["cbo.", "sfence.", "sinval.", "hfence."]) => {
            "neither caches nor translations of addresses are part of the model"
        }
        _ => SUPPORTED,
    };
    Fault::unsupported("instruction", line.mnemonic, help, start..start + line.mnemonic.len())
}
