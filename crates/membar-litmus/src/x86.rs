//! X86 and X86_64 instructions as code of the register machine.
//!
//! Registers hold 32 bits sign-extended (X86) or 64 bits. A write of an instruction to less than the whole register
//! follows the processor: 32 bits of 64 clear the upper half, 8 and 16 bits leave the others as they are. Flags are kept
//! one per register, and only in threads that look at them.
//!
//! An instruction that reads and writes memory is a load and then a store, unless it is `lock`ed or `xchg`, which locks
//! by itself: then it is one read-modify-write.

mod names;
mod rmw;

use crate::asm::{Arg, Mem, Notation, Written};
use crate::build::{Builder, Sites};
use crate::code::{Alu, Instr, Int, Operand, Place, Reg, Update};
use crate::error::{ErrorKind, Fault, Parsed};
use crate::init::Memory;
use crate::regs::{ALL, Register, VECTOR};
use membar_core::C11;
use names::{Cond, Flags, Op, REFUSED, decode};
use rustc_hash::FxHashMap;
use std::ops::Range;

const OPERANDS: &str = "one operand is a register or memory that is written, the other a register, memory or `$1`, and \
                        only one of them can be memory";

/// The processor's registers of one thread, as far as it uses them.
#[derive(Clone, Default)]
pub(crate) struct Machine {
    /// General and vector registers, by index into the table of registers.
    pub(crate) general: [Option<Reg>; ALL],
    zero: Reg,
    sign: Reg,
    carry: Reg,
    overflow: Reg,
    /// Whether the thread looks at flags at all.
    flags: bool,
}

impl Machine {
    /// The register machine's register for one of the processor's.
    pub(crate) fn general(&mut self, builder: &mut Builder, index: u8, span: &Range<usize>) -> Parsed<Reg> {
        let slot = &mut self.general[usize::from(index)];
        if slot.is_none() {
            *slot = Some(builder.reg(span)?);
        }
        Ok(slot.expect("just set"))
    }
}

/// Translates one thread.
pub(crate) fn translate(
    thread: u32,
    written: &[Written<'_>],
    notation: Notation,
    memory: &mut Memory,
    sites: &mut Sites<'_>,
) -> Parsed<(Builder, Machine)> {
    let mut builder = Builder::default();
    let mut machine = Machine::default();
    let looks =
        |written: &Written<'_>| matches!(decode(written.mnemonic), Some((Op::Jump(_) | Op::Set(_) | Op::Cmov(_), _)));
    if let Some(first) = written.iter().find(|written| looks(written)) {
        machine.flags = true;
        for flag in [&mut machine.zero, &mut machine.sign, &mut machine.carry, &mut machine.overflow] {
            *flag = builder.reg(&first.span)?;
        }
    }
    let mut translator = Translator {
        thread,
        notation,
        memory,
        sites,
        span: 0..0,
        b: builder,
        m: machine,
        labels: FxHashMap::default(),
        jumps: Vec::new(),
        ends: Vec::new(),
    };
    for instruction in written {
        translator.instruction(instruction)?;
    }
    let end = translator.b.here();
    for jump in std::mem::take(&mut translator.ends) {
        translator.b.patch(jump, end);
    }
    for (jump, label, span) in std::mem::take(&mut translator.jumps) {
        match translator.labels.get(label) {
            Some(&target) => translator.b.patch(jump, target),
            None => {
                let help = "labels stand before an instruction of the same thread: `L: MOV EAX,[x]`";
                return Err(Fault::unknown("label", label, help, span));
            }
        }
    }
    Ok((translator.b, translator.m))
}

struct Translator<'a, 't> {
    thread: u32,
    notation: Notation,
    memory: &'a mut Memory,
    sites: &'a mut Sites<'t>,
    /// The instruction that is being translated.
    span: Range<usize>,
    b: Builder,
    m: Machine,
    labels: FxHashMap<&'a str, u32>,
    jumps: Vec<(usize, &'a str, Range<usize>)>,
    ends: Vec<usize>,
}

const ONE: Operand = Operand::Value(1);
const ZERO: Operand = Operand::Value(0);

fn signed(bits: u8) -> Int {
    Int { bits, signed: true }
}

impl<'a> Translator<'a, '_> {
    fn refuse(&self, help: &'static str) -> Fault {
        let text = crate::error::quoted(&self.sites.text[self.span.clone()]);
        Fault::new(ErrorKind::Operands { text, help }, self.span.clone())
    }

    fn instruction(&mut self, written: &'a Written<'a>) -> Parsed<()> {
        for (label, span) in &written.labels {
            if self.labels.insert(label, self.b.here()).is_some() {
                let kind = ErrorKind::Twice { what: "label", name: (*label).to_owned() };
                return Err(Fault::new(kind, span.clone()));
            }
        }
        if written.mnemonic.is_empty() {
            return Ok(());
        }
        self.span = written.span.clone();
        let Some((op, suffix)) = decode(written.mnemonic) else { return Err(self.unknown(written)) };
        let locks = matches!(op, Op::Arith(_) | Op::Step(_) | Op::Xchg | Op::Xadd | Op::Cmpxchg);
        let in_memory = written.args.iter().any(|arg| matches!(arg, Arg::Mem(_)));
        if written.lock && !(locks && in_memory) {
            return Err(self.refuse("`lock` stands before instructions that read and write memory"));
        }
        // From here on the destination is first.
        let mut args = written.args.clone();
        if self.notation == Notation::Att {
            args.reverse();
        }
        // Where only one order makes sense, both notations are understood.
        if let (Op::Cmpxchg | Op::Xchg | Op::Uxch | Op::Xadd, [Arg::Reg(_), Arg::Mem(_)])
        | (Op::Cmov(_), [Arg::Mem(_), Arg::Reg(_)]) = (op, &args[..])
        {
            args.swap(0, 1);
        }
        let bits = self.size(op, suffix, &args)?;
        match (op, &args[..]) {
            (Op::LoadVector, &[Arg::Reg(register @ Register { bits: VECTOR, .. }), Arg::Mem(mem)]) => {
                // The register holds the location's value and zeros above it.
                let (from, at) = self.place(mem, bits)?;
                let dst = self.general(register)?;
                let site = self.site();
                self.b.emit(Instr::Load { dst, from, ty: Int { bits, signed: false }, site });
                self.drop_place(at);
                Ok(())
            }
            (Op::Mov, &[dst, src]) => self.mov(dst, src, bits),
            (Op::Arith(alu), &[dst, src]) => self.arith(alu, dst, src, bits, written.lock, true),
            (Op::Step(alu), &[dst]) => self.arith(alu, dst, Arg::Imm(1), bits, written.lock, false),
            (Op::Cmp, &[dst, src]) => self.compare(Alu::Sub, dst, src, bits),
            (Op::Test, &[dst, src]) => self.compare(Alu::And, dst, src, bits),
            (Op::Shl, &[dst]) => self.shl(dst, 1, bits),
            (Op::Shl, &[dst, Arg::Imm(by)]) => self.shl(dst, by, bits),
            (Op::Shl, _) => Err(self.refuse("shifts are by a constant: `shl $1,%eax`")),
            (Op::Xchg, &[dst, Arg::Reg(src)]) => self.xchg(dst, src, bits, true),
            (Op::Uxch, &[dst, Arg::Reg(src)]) => self.xchg(dst, src, bits, false),
            (Op::Xadd, &[dst, Arg::Reg(src)]) => self.xadd(dst, src, bits, written.lock),
            (Op::Cmpxchg, &[dst, Arg::Reg(src)]) => self.cmpxchg(dst, src, bits, written.lock),
            (Op::Fence(barrier), []) => {
                self.b.barrier(barrier);
                Ok(())
            }
            (Op::Nop, [] | [Arg::Mem(_)]) => Ok(()),
            (Op::Ret, []) => {
                let jump = self.b.jump();
                self.ends.push(jump);
                Ok(())
            }
            (Op::Jmp, &[Arg::Label(label)]) => {
                let jump = self.b.jump();
                self.jumps.push((jump, label, written.span.clone()));
                Ok(())
            }
            (Op::Jump(cond), &[Arg::Label(label)]) => {
                let (flag, temp) = self.condition(cond)?;
                let jump = self.b.branch(Operand::Reg(flag), cond.not);
                self.free(temp, flag);
                self.jumps.push((jump, label, written.span.clone()));
                Ok(())
            }
            (Op::Jmp | Op::Jump(_), _) => Err(self.refuse("jumps go to a label: `JNE L`")),
            (Op::Set(cond), &[dst @ (Arg::Reg(_) | Arg::Mem(_))]) => {
                let (flag, temp) = self.condition(cond)?;
                let value = self.b.temp(&self.span)?;
                self.b.alu(Alu::Xor, value, Operand::Reg(flag), Operand::Value(u64::from(cond.not)), Int::I64);
                self.free(temp, flag);
                self.mov_value(dst, Operand::Reg(value), bits)?;
                self.b.release(value);
                Ok(())
            }
            (Op::Cmov(cond), &[dst @ Arg::Reg(_), src @ (Arg::Reg(_) | Arg::Mem(_))]) => {
                // The source is read in any case.
                let (value, owned) = self.read(src, bits)?;
                let (flag, temp) = self.condition(cond)?;
                let skip = self.b.branch(Operand::Reg(flag), !cond.not);
                self.free(temp, flag);
                self.mov_value(dst, value, bits)?;
                let here = self.b.here();
                self.b.patch(skip, here);
                self.drop(value, owned);
                Ok(())
            }
            _ => Err(self.refuse(OPERANDS)),
        }
    }

    fn unknown(&self, written: &Written<'_>) -> Fault {
        let lower = written.mnemonic.to_ascii_lowercase();
        let refused = REFUSED.iter().find(|(name, _)| lower.starts_with(name));
        let help = refused.map_or(
            "supported are mov movnti movntdqa add sub and or xor inc dec shl cmp test xchg uxch xadd cmpxchg cmovcc setcc jmp jcc ret nop \
             mfence sfence lfence clflush and the prefix lock",
            |(_, why)| why,
        );
        let start = written.span.start + self.sites.text[written.span.clone()].find(written.mnemonic).unwrap_or(0);
        Fault::unsupported("instruction", written.mnemonic, help, start..start + written.mnemonic.len())
    }

    /// The number of bits the instruction works on: from the suffix, or a register, or the location's type, or 32.
    fn size(&self, op: Op, suffix: Option<u8>, args: &[Arg<'_>]) -> Parsed<u8> {
        let registers = args.iter().filter_map(|arg| match arg {
            Arg::Reg(register) if op != Op::LoadVector => Some(register.bits),
            _ => None,
        });
        let mut bits = suffix;
        for has in registers {
            if has == VECTOR {
                return Err(self.refuse("vector registers are for `movntdqa` only"));
            }
            if bits.is_some_and(|bits| bits != has) {
                return Err(self.refuse("the operands, or an operand and the suffix, have different sizes"));
            }
            bits = Some(has);
        }
        if bits == Some(64) && self.notation == Notation::Intel && args.iter().any(|arg| matches!(arg, Arg::Reg(_))) {
            return Err(self.refuse("registers of X86 have 32 bits; use the dialect X86_64"));
        }
        let in_memory = args.iter().find_map(|arg| match arg {
            Arg::Mem(Mem { base: None, index: None, disp }) => self.memory.at(*disp),
            _ => None,
        });
        let default = if matches!(op, Op::Set(_)) { 8 } else { 32 };
        Ok(bits.or_else(|| in_memory.and_then(|cell| self.memory.width(cell))).unwrap_or(default))
    }

    fn site(&mut self) -> u32 {
        self.sites.add(self.thread, &self.span, C11::default())
    }

    fn general(&mut self, register: Register) -> Parsed<Reg> {
        self.m.general(&mut self.b, register.index, &self.span)
    }

    /// Where an operand in memory is, and a temporary that holds the address.
    fn place(&mut self, mem: Mem, bits: u8) -> Parsed<(Place, Option<Reg>)> {
        let pointer = signed(self.notation.machine());
        let (place, temp) = match mem {
            Mem { base: None, index: None, disp } => match self.memory.at(disp) {
                Some(cell) => {
                    self.memory.access(cell, bits, &self.span)?;
                    (Place::Cell(cell), None)
                }
                None => {
                    return Err(self.refuse("this is not the address of a location; `[x]` and `(x)` name locations"));
                }
            },
            Mem { base: Some(base), index: None, disp: 0 } => (Place::At(self.general(base)?), None),
            Mem { base, index, disp } => {
                let at = self.b.temp(&self.span)?;
                self.b.emit(Instr::Set { dst: at, src: Operand::Value(disp) });
                if let Some((index, scale)) = index {
                    let index = Operand::Reg(self.general(index)?);
                    let scaled = self.b.temp(&self.span)?;
                    self.b.alu(Alu::Mul, scaled, index, Operand::Value(u64::from(scale)), pointer);
                    self.b.alu(Alu::Add, at, Operand::Reg(at), Operand::Reg(scaled), pointer);
                    self.b.release(scaled);
                }
                if let Some(base) = base {
                    let base = Operand::Reg(self.general(base)?);
                    self.b.alu(Alu::Add, at, Operand::Reg(at), base, pointer);
                }
                (Place::At(at), Some(at))
            }
        };
        Ok((self.b.place(place, bits), temp))
    }

    fn drop_place(&mut self, temp: Option<Reg>) {
        if let Some(temp) = temp {
            self.b.release(temp);
        }
    }

    /// The value of an operand, sign-extended from this many bits, and whether it is in a temporary.
    fn read(&mut self, arg: Arg<'_>, bits: u8) -> Parsed<(Operand, bool)> {
        match arg {
            Arg::Imm(value) => Ok((Operand::Value(signed(bits).wrap(value)), false)),
            Arg::Reg(register) => {
                let reg = self.general(register)?;
                if bits == self.notation.machine() {
                    return Ok((Operand::Reg(reg), false));
                }
                let temp = self.b.temp(&self.span)?;
                self.b.alu(Alu::Or, temp, Operand::Reg(reg), ZERO, signed(bits));
                Ok((Operand::Reg(temp), true))
            }
            Arg::Mem(mem) => {
                let (place, at) = self.place(mem, bits)?;
                let temp = self.b.temp(&self.span)?;
                let site = self.site();
                self.b.emit(Instr::Load { dst: temp, from: place, ty: signed(bits), site });
                self.drop_place(at);
                Ok((Operand::Reg(temp), true))
            }
            Arg::Label(_) => Err(self.refuse(match self.notation {
                Notation::Intel => "locations are written in brackets: `[x]`",
                Notation::Att => "locations are written in parentheses: `(x)`",
            })),
        }
    }

    fn drop(&mut self, operand: Operand, owned: bool) {
        if let (Operand::Reg(reg), true) = (operand, owned) {
            self.b.release(reg);
        }
    }

    /// Writes a value to the low bits of a register.
    fn write(&mut self, register: Register, value: Operand, bits: u8) -> Parsed<()> {
        let dst = self.general(register)?;
        let machine = self.notation.machine();
        if bits == machine {
            self.b.emit(Instr::Set { dst, src: value });
        } else if bits == 32 {
            self.b.alu(Alu::Or, dst, value, ZERO, Int { bits, signed: false });
        } else {
            let mask = (1u64 << bits) - 1;
            let low = self.b.temp(&self.span)?;
            self.b.alu(Alu::And, low, value, Operand::Value(mask), Int::I64);
            self.b.alu(Alu::And, dst, Operand::Reg(dst), Operand::Value(!mask), signed(machine));
            self.b.alu(Alu::Or, dst, Operand::Reg(dst), Operand::Reg(low), signed(machine));
            self.b.release(low);
        }
        Ok(())
    }

    fn mov(&mut self, dst: Arg<'_>, src: Arg<'_>, bits: u8) -> Parsed<()> {
        match (dst, src) {
            (Arg::Reg(register), Arg::Mem(mem)) if bits >= 32 => {
                // The usual case needs no temporary: the load extends as the register wants it.
                let (place, at) = self.place(mem, bits)?;
                let dst = self.general(register)?;
                let ty = Int { bits, signed: bits == self.notation.machine() };
                let site = self.site();
                self.b.emit(Instr::Load { dst, from: place, ty, site });
                self.drop_place(at);
                Ok(())
            }
            (Arg::Mem(_), Arg::Mem(_)) => Err(self.refuse(OPERANDS)),
            // A store cuts off what is too much.
            (Arg::Mem(_), Arg::Reg(register)) => {
                let reg = self.general(register)?;
                self.mov_value(dst, Operand::Reg(reg), bits)
            }
            _ => {
                let (value, owned) = self.read(src, bits)?;
                self.mov_value(dst, value, bits)?;
                self.drop(value, owned);
                Ok(())
            }
        }
    }

    fn mov_value(&mut self, dst: Arg<'_>, value: Operand, bits: u8) -> Parsed<()> {
        match dst {
            Arg::Reg(register) => self.write(register, value, bits),
            Arg::Mem(mem) => {
                let (to, at) = self.place(mem, bits)?;
                let site = self.site();
                self.b.emit(Instr::Store { to, value, ty: signed(bits), site });
                self.drop_place(at);
                Ok(())
            }
            Arg::Imm(_) | Arg::Label(_) => Err(self.refuse(OPERANDS)),
        }
    }

    fn arith(&mut self, op: Alu, dst: Arg<'_>, src: Arg<'_>, bits: u8, lock: bool, carry: bool) -> Parsed<()> {
        let ty = signed(bits);
        match dst {
            Arg::Reg(register) => {
                let (right, right_owned) = self.read(src, bits)?;
                let (left, left_owned) = self.read(dst, bits)?;
                let result = self.b.temp(&self.span)?;
                self.b.alu(op, result, left, right, ty);
                self.set_flags(op, left, right, result, carry, ty)?;
                self.drop(right, right_owned);
                self.drop(left, left_owned);
                self.write(register, Operand::Reg(result), bits)?;
                self.b.release(result);
                Ok(())
            }
            Arg::Mem(mem) if !matches!(src, Arg::Mem(_)) => {
                let (right, right_owned) = self.read(src, bits)?;
                let (at, held) = self.place(mem, bits)?;
                let site = self.site();
                let old = self.b.temp(&self.span)?;
                let result = self.b.temp(&self.span)?;
                if lock {
                    self.b.emit(Instr::Rmw { update: Update::Apply(op), dst: old, at, value: right, ty, site });
                } else {
                    self.b.emit(Instr::Load { dst: old, from: at, ty, site });
                }
                if !lock || self.m.flags {
                    self.b.alu(op, result, Operand::Reg(old), right, ty);
                }
                if !lock {
                    self.b.emit(Instr::Store { to: at, value: Operand::Reg(result), ty, site });
                }
                self.set_flags(op, Operand::Reg(old), right, result, carry, ty)?;
                self.drop(right, right_owned);
                self.drop_place(held);
                self.b.release(old);
                self.b.release(result);
                Ok(())
            }
            _ => Err(self.refuse(OPERANDS)),
        }
    }

    fn compare(&mut self, op: Alu, dst: Arg<'_>, src: Arg<'_>, bits: u8) -> Parsed<()> {
        if let (Arg::Mem(_), Arg::Mem(_)) | (Arg::Imm(_), _) = (dst, src) {
            return Err(self.refuse(OPERANDS));
        }
        let (right, right_owned) = self.read(src, bits)?;
        let (left, left_owned) = self.read(dst, bits)?;
        let result = self.b.temp(&self.span)?;
        if self.m.flags {
            self.b.alu(op, result, left, right, signed(bits));
        }
        self.set_flags(op, left, right, result, true, signed(bits))?;
        self.drop(right, right_owned);
        self.drop(left, left_owned);
        self.b.release(result);
        Ok(())
    }

    /// The flags after `result := op(left, right)`, all sign-extended, which keeps both signed and unsigned order.
    fn set_flags(&mut self, op: Alu, left: Operand, right: Operand, result: Reg, carry: bool, ty: Int) -> Parsed<()> {
        if !self.m.flags {
            return Ok(());
        }
        let (zero, sign, carries, overflow) = (self.m.zero, self.m.sign, self.m.carry, self.m.overflow);
        let result = Operand::Reg(result);
        self.b.alu(Alu::Eq, zero, result, ZERO, Int::I64);
        self.b.alu(Alu::Lt, sign, result, ZERO, Int::I64);
        match op {
            Alu::Add => {
                if carry {
                    self.b.alu(Alu::Below, carries, result, left, Int::I64);
                }
                // Overflow: the result's sign is neither operand's.
                let temp = self.b.temp(&self.span)?;
                self.b.alu(Alu::Xor, temp, left, result, ty);
                self.b.alu(Alu::Xor, overflow, right, result, ty);
                self.b.alu(Alu::And, overflow, Operand::Reg(overflow), Operand::Reg(temp), ty);
                self.b.alu(Alu::Lt, overflow, Operand::Reg(overflow), ZERO, Int::I64);
                self.b.release(temp);
            }
            Alu::Sub => {
                if carry {
                    self.b.alu(Alu::Below, carries, left, right, Int::I64);
                }
                // Less is sign differing from overflow.
                self.b.alu(Alu::Lt, overflow, left, right, Int::I64);
                self.b.alu(Alu::Xor, overflow, Operand::Reg(overflow), Operand::Reg(sign), Int::I64);
            }
            _ => {
                self.b.emit(Instr::Set { dst: carries, src: ZERO });
                self.b.emit(Instr::Set { dst: overflow, src: ZERO });
            }
        }
        Ok(())
    }

    fn shl(&mut self, dst: Arg<'_>, by: u64, bits: u8) -> Parsed<()> {
        let by = by & if bits == 64 { 63 } else { 31 };
        let ty = signed(bits);
        let (value, owned) = match dst {
            Arg::Reg(_) | Arg::Mem(_) => self.read(dst, bits)?,
            _ => return Err(self.refuse(OPERANDS)),
        };
        let result = self.b.temp(&self.span)?;
        self.b.alu(Alu::Shl, result, value, Operand::Value(by), ty);
        if self.m.flags && by > 0 {
            self.set_flags(Alu::Or, value, ZERO, result, true, ty)?;
            let (carry, overflow, sign) = (self.m.carry, self.m.overflow, self.m.sign);
            // The last bit that was shifted out; bits past the operand's are its sign again, so they are cut off first.
            if by <= u64::from(bits) {
                self.b.alu(Alu::Shr, carry, value, Operand::Value(u64::from(bits) - by), Int::I64);
                self.b.alu(Alu::And, carry, Operand::Reg(carry), ONE, Int::I64);
            }
            self.b.alu(Alu::Xor, overflow, Operand::Reg(carry), Operand::Reg(sign), Int::I64);
        }
        self.drop(value, owned);
        self.mov_value(dst, Operand::Reg(result), bits)?;
        self.b.release(result);
        Ok(())
    }

    /// A register that is 1 if the flags are such, without the negation, and whether it is a temporary.
    fn condition(&mut self, cond: Cond) -> Parsed<(Reg, bool)> {
        let (zero, sign, carry, overflow) = (self.m.zero, self.m.sign, self.m.carry, self.m.overflow);
        match cond.test {
            Flags::Zero => return Ok((zero, false)),
            Flags::Sign => return Ok((sign, false)),
            Flags::Carry => return Ok((carry, false)),
            Flags::Overflow => return Ok((overflow, false)),
            Flags::BelowEqual | Flags::Less | Flags::LessEqual => {}
        }
        let temp = self.b.temp(&self.span)?;
        match cond.test {
            Flags::BelowEqual => self.b.alu(Alu::Or, temp, Operand::Reg(carry), Operand::Reg(zero), Int::I64),
            _ => self.b.alu(Alu::Xor, temp, Operand::Reg(sign), Operand::Reg(overflow), Int::I64),
        }
        if cond.test == Flags::LessEqual {
            self.b.alu(Alu::Or, temp, Operand::Reg(temp), Operand::Reg(zero), Int::I64);
        }
        Ok((temp, true))
    }

    fn free(&mut self, temp: bool, reg: Reg) {
        if temp {
            self.b.release(reg);
        }
    }
}
