//! Loads, stores and atomics.

use super::super::code::{Calc, Instr, Marks, Reserve, Update};
use super::super::table::{Arg, Writer};
use super::{I64, NONE, NOTHING, Register, extended, put, reg, target, uint, value};
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
    Ok(prefetch(w, name, args)?
        || whole_pair(w, name, args)?
        || load(w, name, args)?
        || store(w, name, args)?
        || exclusive(w, name, args)?
        || atomic(w, name, args)?)
}

/// PRFM: no access.
fn prefetch(w: &mut Writer<'_, '_>, name: &str, args: &[Arg<'_>]) -> Parsed<bool> {
    if !matches!(name, "PRFM" | "PRFUM") {
        return Ok(false);
    }
    match args {
        [Arg::Word(_) | Arg::Number(_), rest @ ..] => bare(w, rest).map(|_| true),
        _ => Err(w.refuse("operands are a kind of prefetch and memory: `PRFM PLDL1KEEP,[X1]`")),
    }
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
        "LDR" | "LDUR" | "LDTR" => (PLAIN, Reserve::No),
        "LDAR" | "LDLAR" => (ACQUIRE, Reserve::No),
        "LDAPR" | "LDAPUR" => (ACQUIRE_PC, Reserve::No),
        "LDXR" => (PLAIN, Reserve::Begin),
        "LDAXR" => (ACQUIRE, Reserve::Begin),
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
            w.emit(Instr::Load { dst: Some(temp), at, ty, marks, reserve: Reserve::No, site });
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

/// LDXP, STXP and CASP, which access two registers' worth at once: two W registers as one of 8 bytes. Of two X registers LDXP reads each by
/// itself (only a successful STXP says that nothing came between); STXP and CASP access 16 bytes.
fn whole_pair<'a>(w: &mut Writer<'a, '_>, name: &str, args: &[Arg<'a>]) -> Parsed<bool> {
    let (acquire, release) = match name {
        "LDXP" | "STXP" | "CASP" => (false, false),
        "LDAXP" | "CASPA" => (true, false),
        "STLXP" | "CASPL" => (false, true),
        "CASPAL" => (true, true),
        _ => return Ok(false),
    };
    let (reads, writes) = (Marks { acquire, ..PLAIN }, Marks { release, ..PLAIN });
    match (name.as_bytes()[0], args) {
        (b'L', [Arg::Word(first), Arg::Word(second), rest @ ..]) => {
            let both = [reg(w, first)?, reg(w, second)?];
            let at = bare(w, rest)?;
            load_pair(w, both, at, reads);
        }
        (b'S', [Arg::Word(status), Arg::Word(first), Arg::Word(second), rest @ ..]) => {
            let (status, both) = (reg(w, status)?, [reg(w, first)?, reg(w, second)?]);
            let (at, conditional) = (bare(w, rest)?, Some(target(status).0));
            let (value, upper, bits) = joined(w, both);
            upper.into_iter().for_each(|value| w.emit(Instr::Upper { expected: NONE, value }));
            let site = w.site();
            w.emit(Instr::Store { at, value, bits, marks: writes, conditional, site });
        }
        (b'C', [Arg::Word(a), Arg::Word(b), Arg::Word(c), Arg::Word(d), rest @ ..]) => {
            let (old, new) = ([reg(w, a)?, reg(w, b)?], [reg(w, c)?, reg(w, d)?]);
            if [old, new].iter().any(|&[first, second]| first.number % 2 != 0 || second != follows(first)) {
                return Err(
                    w.refuse("operands are two pairs of registers with neighbouring numbers: `X0,X1,X2,X3,[X4]`")
                );
            }
            let at = bare(w, rest)?;
            compare_pair(w, old, new, at, (reads, writes));
        }
        _ => {
            return Err(
                w.refuse("operands are `Xt1,Xt2,[Xn]`, for STXP `Ws,Xt1,Xt2,[Xn]`, for CASP `X0,X1,X2,X3,[Xn]`")
            );
        }
    }
    Ok(true)
}

/// The register with the next number.
fn follows(register: Register) -> Register {
    Register { number: if register.number == 30 { NOTHING } else { register.number + 1 }, ..register }
}

/// The address of an access that has no other form.
fn bare(w: &mut Writer<'_, '_>, args: &[Arg<'_>]) -> Parsed<Operand> {
    match place(w, args)? {
        Place { at, back: None } => Ok(at),
        Place { .. } => Err(w.refuse("the address is `[Xn]`")),
    }
}

/// The value of two registers side by side, the upper 8 bytes if there are 16, and the size in bits.
fn joined(w: &mut Writer<'_, '_>, [first, second]: [Register; 2]) -> (Operand, Option<Operand>, u8) {
    let (low, high) = (value(w, first), value(w, second));
    if first.bits == 64 {
        return (low, Some(high), 128);
    }
    let high = w.calc(Calc::Shl, high, Operand::Value(32), I64);
    (w.calc(Calc::Or, low, high, I64), None, 64)
}

/// Puts the two halves of 8 bytes into two W registers.
fn split(w: &mut Writer<'_, '_>, [first, second]: [Register; 2], both: Reg) {
    let high = w.calc(Calc::Shr, Operand::Reg(both), Operand::Value(32), I64);
    put(w, first, Operand::Reg(both));
    put(w, second, high);
}

fn load_pair(w: &mut Writer<'_, '_>, both: [Register; 2], at: Operand, marks: Marks) {
    let (one, two, site) = (w.temp(), w.temp(), w.site());
    let load = |dst, at, reserve| Instr::Load { dst: Some(dst), at, ty: uint(64), marks, reserve, site };
    w.emit(load(one, at, Reserve::Begin));
    if both[0].bits == 32 {
        split(w, both, one);
        return;
    }
    let next = w.calc(Calc::Add, at, Operand::Value(8), I64);
    w.emit(load(two, next, Reserve::Join));
    put(w, both[0], Operand::Reg(one));
    put(w, both[1], Operand::Reg(two));
}

fn compare_pair(
    w: &mut Writer<'_, '_>,
    old: [Register; 2],
    new: [Register; 2],
    at: Operand,
    (reads, writes): (Marks, Marks),
) {
    let ((expected, upper, bits), (value, high, _)) = (joined(w, old), joined(w, new));
    if let (Some(expected), Some(value)) = (upper, high) {
        w.emit(Instr::Upper { expected, value });
    }
    let (one, two, site) = (w.temp(), w.temp(), w.site());
    let update = Update::CompareExchange(expected);
    w.emit(Instr::Rmw { update, dst: Some(one), at, value, ty: uint(bits), reads, writes, site });
    if bits == 64 {
        split(w, old, one);
        return;
    }
    w.emit(Instr::Rest { dst: Some(two) });
    put(w, old[0], Operand::Reg(one));
    put(w, old[1], Operand::Reg(two));
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
