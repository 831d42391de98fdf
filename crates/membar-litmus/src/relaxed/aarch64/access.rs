//! Loads, stores and atomics.

use super::super::code::{Calc, Instr, Marks, Update};
use super::super::table::{Arg, Writer};
use super::{I64, NONE, Register, extended, put, reg, target, uint, value};
use crate::code::{Int, Operand, Reg};
use crate::error::Parsed;

const MEMORY: &str = "memory is written `[X1]`, `[X1,#8]`, `[X1,X2,LSL #3]`, `[X1,W2,SXTW]`, `[X1,#8]!` or `[X1],#8`";
const ACQUIRE: Marks = Marks { acquire: true, acquire_pc: false, release: false };
const ACQUIRE_PC: Marks = Marks { acquire: false, acquire_pc: true, release: false };
const RELEASE: Marks = Marks { acquire: false, acquire_pc: false, release: true };
const PLAIN: Marks = Marks { acquire: false, acquire_pc: false, release: false };

/// An address, and the base register with the value that it gets afterwards.
struct Place {
    at: Operand,
    back: Option<(Register, Operand)>,
}

fn place(w: &mut Writer<'_, '_>, args: &[Arg<'_>]) -> Parsed<Place> {
    let [Arg::List(inside, before), after @ ..] = args else { return Err(w.refuse(MEMORY)) };
    let [Arg::Word(base), index @ ..] = &inside[..] else { return Err(w.refuse(MEMORY)) };
    let base = reg(w, base)?;
    if base.bits != 64 {
        return Err(w.refuse("addresses are in X registers"));
    }
    let from = value(w, base);
    let at = match *index {
        [] => from,
        [Arg::Number(offset)] => w.calc(Calc::Add, from, Operand::Value(offset), I64),
        [Arg::Word(index), ref how @ ..] => {
            let index = reg(w, index)?;
            let offset = value(w, index);
            let offset = match *how {
                [] => offset,
                [Arg::Word(how)] => extended(w, offset, index.bits, how, 0)?,
                [Arg::Shift(how, by)] => extended(w, offset, index.bits, how, by)?,
                _ => return Err(w.refuse(MEMORY)),
            };
            w.calc(Calc::Add, from, offset, I64)
        }
        _ => return Err(w.refuse(MEMORY)),
    };
    match (before, after) {
        (false, []) => Ok(Place { at, back: None }),
        (true, []) => Ok(Place { at, back: Some((base, at)) }),
        (false, [Arg::Number(step)]) if index.is_empty() => {
            let next = w.calc(Calc::Add, from, Operand::Value(*step), I64);
            Ok(Place { at, back: Some((base, next)) })
        }
        _ => Err(w.refuse(MEMORY)),
    }
}

/// Takes `B` or `H` off a name: the size, or that of the register.
fn sized(name: &str) -> (&str, Option<u8>) {
    match (name.strip_suffix('B'), name.strip_suffix('H')) {
        (Some(rest), _) => (rest, Some(8)),
        (_, Some(rest)) => (rest, Some(16)),
        _ => (name, None),
    }
}

/// Whether it is one of them.
pub(super) fn instruction<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    if let Some((base, _)) = pair(name) {
        return pairs(w, name, base, args);
    }
    Ok(load(w, name, args)? || store(w, name, args)? || exclusive(w, name, args)? || atomic(w, name, args)?)
}

fn load<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    // LDRSB, LDURSW and so on extend the sign.
    let (plain, signed) = match name {
        "LDRSB" | "LDURSB" | "LDAPURSB" => (&name[..name.len() - 2], Some(8)),
        "LDRSH" | "LDURSH" | "LDAPURSH" => (&name[..name.len() - 2], Some(16)),
        "LDRSW" | "LDURSW" | "LDAPURSW" => (&name[..name.len() - 2], Some(32)),
        _ => (name, None),
    };
    let (plain, small) = if signed.is_some() { (plain, signed) } else { sized(plain) };
    let (marks, reserve) = match plain {
        "LDR" | "LDUR" | "LDTR" => (PLAIN, false),
        "LDAR" | "LDLAR" => (ACQUIRE, false),
        "LDAPR" | "LDAPUR" => (ACQUIRE_PC, false),
        "LDXR" => (PLAIN, true),
        "LDAXR" => (ACQUIRE, true),
        _ => return Ok(false),
    };
    let [Arg::Word(dst), rest @ ..] = args else { return Err(w.refuse(MEMORY)) };
    let dst = reg(w, dst)?;
    let Place { at, back } = place(w, rest)?;
    let site = w.site();
    let (to, whole) = target(dst);
    let ty = Int { bits: small.unwrap_or(dst.bits), signed: signed.is_some() };
    w.emit(Instr::Load { dst: to, at, ty, marks, reserve, site });
    if signed.is_some() {
        w.set(to, to.map_or(NONE, Operand::Reg), whole);
    }
    if let Some((base, next)) = back {
        put(w, base, next);
    }
    Ok(true)
}

fn store<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    let (plain, small) = sized(name);
    let marks = match plain {
        "STR" | "STUR" | "STTR" => PLAIN,
        "STLR" | "STLUR" | "STLLR" => RELEASE,
        _ => return Ok(false),
    };
    let [Arg::Word(from), rest @ ..] = args else { return Err(w.refuse(MEMORY)) };
    let from = reg(w, from)?;
    let stored = value(w, from);
    let Place { at, back } = place(w, rest)?;
    let (site, bits) = (w.site(), small.unwrap_or(from.bits));
    w.emit(Instr::Store { at, value: stored, bits, marks, conditional: None, site });
    if let Some((base, next)) = back {
        put(w, base, next);
    }
    Ok(true)
}

/// STXR and STLXR.
fn exclusive<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    let (plain, small) = sized(name);
    let marks = match plain {
        "STXR" => PLAIN,
        "STLXR" => RELEASE,
        _ => return Ok(false),
    };
    let [Arg::Word(status), Arg::Word(from), rest @ ..] = args else {
        return Err(w.refuse("operands are `Ws,Wt,[Xn]`"));
    };
    let (status, from) = (reg(w, status)?, reg(w, from)?);
    let stored = value(w, from);
    let Place { at, back: None } = place(w, rest)? else { return Err(w.refuse("operands are `Ws,Wt,[Xn]`")) };
    let (site, bits) = (w.site(), small.unwrap_or(from.bits));
    let conditional = Some(target(status).0);
    w.emit(Instr::Store { at, value: stored, bits, marks, conditional, site });
    Ok(true)
}

/// `LDP`, `STP` and so on: the marks, and whether they load.
fn pair(name: &str) -> Option<((Marks, bool), ())> {
    Some((
        match name {
            "LDP" | "LDNP" | "LDPSW" => (PLAIN, true),
            "STP" | "STNP" => (PLAIN, false),
            "LDIAPP" => (ACQUIRE_PC, true),
            "STILP" => (RELEASE, false),
            _ => return None,
        },
        (),
    ))
}

/// Two registers, in two accesses that are next to each other.
fn pairs<'a>(w: &mut Writer<'a, '_>, name: &str, (marks, loads): (Marks, bool), args: &[Arg<'a>]) -> Parsed<bool> {
    let [Arg::Word(first), Arg::Word(second), rest @ ..] = args else {
        return Err(w.refuse("operands are `Xt1,Xt2,[Xn]`"));
    };
    let (first, second) = (reg(w, first)?, reg(w, second)?);
    let signed = name == "LDPSW";
    let bits = if signed { 32 } else { first.bits };
    let Place { at, back } = place(w, rest)?;
    let next = w.calc(Calc::Add, at, Operand::Value(u64::from(bits / 8)), I64);
    let site = w.site();
    // The first load may overwrite what the second address is made of.
    let halves = [(first, at), (second, next)];
    if loads {
        let mut read: Vec<(Register, Reg)> = Vec::new();
        for (dst, at) in halves {
            let temp = w.temp();
            let ty = Int { bits, signed };
            w.emit(Instr::Load { dst: Some(temp), at, ty, marks, reserve: false, site });
            read.push((dst, temp));
        }
        for (dst, temp) in read {
            put(w, dst, Operand::Reg(temp));
        }
    } else {
        for (from, at) in halves {
            let stored = value(w, from);
            w.emit(Instr::Store { at, value: stored, bits, marks, conditional: None, site });
        }
    }
    if let Some((base, next)) = back {
        put(w, base, next);
    }
    Ok(true)
}

/// SWP, CAS, LDADD and its kin, and those that drop what they read.
fn atomic<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    const OPERATIONS: [(&str, Calc); 8] = [
        ("ADD", Calc::Add),
        ("CLR", Calc::AndNot),
        ("EOR", Calc::Xor),
        ("SET", Calc::Or),
        ("SMAX", Calc::Max),
        ("SMIN", Calc::Min),
        ("UMAX", Calc::MaxU),
        ("UMIN", Calc::MinU),
    ];
    let known = |rest: &'_ str, prefix: &'static str| {
        let rest = rest.strip_prefix(prefix)?;
        OPERATIONS.iter().find_map(|&(word, op)| Some((op, rest.strip_prefix(word)?.to_owned())))
    };
    let (op, suffix, drops) = if let Some(rest) = name.strip_prefix("SWP") {
        (Some(Calc::Second), rest.to_owned(), false)
    } else if let Some(rest) = name.strip_prefix("CAS") {
        (None, rest.to_owned(), false)
    } else if let Some((op, rest)) = known(name, "LD") {
        (Some(op), rest, false)
    } else if let Some((op, rest)) = known(name, "ST") {
        (Some(op), rest, true)
    } else {
        return Ok(false);
    };
    let (order, small) = sized(&suffix);
    let (acquire, release) = match order {
        "" => (false, false),
        "A" if !drops => (true, false),
        "L" => (false, true),
        "AL" if !drops => (true, true),
        _ => return Ok(false),
    };
    let (first, second, rest) = match args {
        [Arg::Word(first), rest @ ..] if drops => (reg(w, first)?, None, rest),
        [Arg::Word(first), Arg::Word(second), rest @ ..] if !drops => (reg(w, first)?, Some(reg(w, second)?), rest),
        _ => return Err(w.refuse("operands are `Ws,Wt,[Xn]`, for STADD and its kin `Ws,[Xn]`")),
    };
    let Place { at, back: None } = place(w, rest)? else { return Err(w.refuse("the address is `[Xn]`")) };
    let bits = small.unwrap_or(first.bits);
    // CAS compares with the first register and stores the second; the others store the first and load to the second.
    let (update, dst, stored) = match (op, second) {
        (None, Some(second)) => (Update::CompareExchange(value(w, first)), target(first).0, value(w, second)),
        (Some(op), second) => (Update::Apply(op), second.and_then(|second| target(second).0), value(w, first)),
        (None, None) => return Ok(false),
    };
    let site = w.site();
    let (reads, writes) = (Marks { acquire, ..PLAIN }, Marks { release, ..PLAIN });
    w.emit(Instr::Rmw { update, dst, at, value: stored, ty: uint(bits), reads, writes, site });
    Ok(true)
}
