//! Products, quotients, additions with carry, rotations and bit fields.
//!
//! Each is a few calculations on 64 bits; [`put`] keeps the lower 32 of them for a W register. Of a W register, whose value is zero-extended,
//! a signed quotient extends its operands first.

use super::super::code::Calc;
use super::super::table::{Arg, Writer};
use super::{CARRY, I64, NONE, Register, put, reg, rotated, uint, value};
use crate::code::{Int, Operand};
use crate::error::Parsed;

/// Whether it is one of them.
pub(super) fn instruction<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    Ok(product(w, name, args)? || two(w, name, args)? || field(w, name, args)?)
}

/// The registers that the operands are, if they are just these.
fn registers<const N: usize>(w: &Writer<'_, '_>, args: &[Arg<'_>], help: &'static str) -> Parsed<[Register; N]> {
    let mut all = Vec::with_capacity(N);
    for arg in args {
        let Arg::Word(name) = arg else { return Err(w.refuse(help)) };
        all.push(reg(w, name)?);
    }
    all.try_into().map_err(|_| w.refuse(help))
}

/// MADD and MSUB, their forms for two W registers, and those that add nothing.
fn product<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    // How operands are extended, whether the product is subtracted, and whether there is something to add it to.
    let (extend, minus, adds) = match name {
        "MADD" => (None, false, true),
        "MSUB" => (None, true, true),
        "MNEG" => (None, true, false),
        "SMADDL" => (Some(true), false, true),
        "SMSUBL" => (Some(true), true, true),
        "SMULL" => (Some(true), false, false),
        "SMNEGL" => (Some(true), true, false),
        "UMADDL" => (Some(false), false, true),
        "UMSUBL" => (Some(false), true, true),
        "UMULL" => (Some(false), false, false),
        "UMNEGL" => (Some(false), true, false),
        _ => return Ok(false),
    };
    let (dst, factors, sum) = if adds {
        let [dst, a, b, sum] = registers(w, args, "operands are `Xd,Xn,Xm,Xa`, for two W registers `Xd,Wn,Wm,Xa`")?;
        (dst, [a, b], Some(sum))
    } else {
        let [dst, a, b] = registers(w, args, "operands are `Xd,Xn,Xm`, for two W registers `Xd,Wn,Wm`")?;
        (dst, [a, b], None)
    };
    let [a, b] = factors.map(|factor| {
        let from = value(w, factor);
        match extend {
            Some(signed) => w.calc(Calc::Or, from, NONE, Int { bits: 32, signed }),
            None => from,
        }
    });
    let product = w.calc(Calc::Mul, a, b, I64);
    let sum = sum.map_or(NONE, |sum| value(w, sum));
    let op = if minus { Calc::Sub } else { Calc::Add };
    let result = w.calc(op, sum, product, I64);
    put(w, dst, result);
    Ok(true)
}

/// Instructions with two sources.
fn two<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    if !matches!(name, "SDIV" | "UDIV" | "SMULH" | "UMULH" | "ADC" | "SBC" | "ROR" | "RORV") {
        return Ok(false);
    }
    const OPERANDS: &str = "operands are `Xd,Xn,Xm`";
    if let ("ROR", [dst, a, Arg::Number(by)]) = (name, args) {
        let [dst, a] = registers(w, &[dst.clone(), a.clone()], OPERANDS)?;
        let from = value(w, a);
        let result = rotated(w, from, dst.bits, Operand::Value(*by));
        put(w, dst, result);
        return Ok(true);
    }
    let [dst, a, b] = registers(w, args, OPERANDS)?;
    let (mut left, mut right) = (value(w, a), value(w, b));
    if name == "SDIV" {
        let signed = Int { bits: dst.bits, signed: true };
        left = w.calc(Calc::Or, left, NONE, signed);
        right = w.calc(Calc::Or, right, NONE, signed);
    }
    let result = match name {
        "SDIV" => w.calc(Calc::ArmDiv, left, right, uint(dst.bits)),
        "UDIV" => w.calc(Calc::ArmDivU, left, right, uint(dst.bits)),
        "SMULH" => w.calc(Calc::MulHigh, left, right, I64),
        "UMULH" => w.calc(Calc::MulHighU, left, right, I64),
        "ROR" | "RORV" => rotated(w, left, dst.bits, right),
        _ => {
            // a - b - 1 + carry is a + !b + carry.
            if name == "SBC" {
                right = w.calc(Calc::Xor, right, Operand::Value(u64::MAX), uint(dst.bits));
            }
            let sum = w.calc(Calc::Add, left, right, I64);
            w.calc(Calc::Add, sum, Operand::Reg(CARRY), uint(dst.bits))
        }
    };
    put(w, dst, result);
    Ok(true)
}

/// UBFX, BFI and their kin.
fn field<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    if !matches!(name, "UBFX" | "SBFX" | "UBFIZ" | "SBFIZ" | "BFI" | "BFXIL" | "BFC") {
        return Ok(false);
    }
    const OPERANDS: &str = "operands are `Xd,Xn,#lsb,#width`, for BFC `Xd,#lsb,#width`, within the register";
    let (dst, from, lsb, width) = match args {
        [Arg::Word(dst), Arg::Word(from), Arg::Number(lsb), Arg::Number(width)] if name != "BFC" => {
            let (dst, from) = (reg(w, dst)?, reg(w, from)?);
            (dst, value(w, from), *lsb, *width)
        }
        [Arg::Word(dst), Arg::Number(lsb), Arg::Number(width)] if name == "BFC" => (reg(w, dst)?, NONE, *lsb, *width),
        _ => return Err(w.refuse(OPERANDS)),
    };
    let bits = u64::from(dst.bits);
    if width == 0 || lsb >= bits || width > bits - lsb {
        return Err(w.refuse(OPERANDS));
    }
    let mask = u64::MAX >> (64 - width);
    let lsb_value = Operand::Value(lsb);
    // Extracts take the field from there to bit 0, inserts from bit 0 to there.
    let extracts = matches!(name, "UBFX" | "SBFX" | "BFXIL");
    let from = if extracts { w.calc(Calc::Shr, from, lsb_value, I64) } else { from };
    let part = w.calc(Calc::And, from, Operand::Value(mask), I64);
    let part = if name.starts_with('S') {
        w.calc(Calc::Or, part, NONE, Int { bits: width as u8, signed: true })
    } else {
        part
    };
    let part = if extracts { part } else { w.calc(Calc::Shl, part, lsb_value, I64) };
    let result = if matches!(name, "BFI" | "BFXIL" | "BFC") {
        let hole = if extracts { mask } else { mask << lsb };
        let old = value(w, dst);
        let kept = w.calc(Calc::And, old, Operand::Value(!hole), I64);
        w.calc(Calc::Or, kept, part, I64)
    } else {
        part
    };
    put(w, dst, result);
    Ok(true)
}
