//! Instructions that exchange: one read-modify-write if they are interlocked, otherwise a load and then a store.

use super::{OPERANDS, Translator, signed};
use crate::asm::Arg;
use crate::code::{Alu, Instr, Int, Operand, Update};
use crate::error::Parsed;
use crate::regs::{RAX, Register};

impl Translator<'_, '_> {
    pub(super) fn xchg(&mut self, dst: Arg<'_>, src: Register, bits: u8, interlocked: bool) -> Parsed<()> {
        let old = self.b.temp(&self.span)?;
        match dst {
            Arg::Reg(register) => {
                let (value, owned) = self.read(dst, bits)?;
                self.b.emit(Instr::Set { dst: old, src: value });
                self.drop(value, owned);
                let (value, owned) = self.read(Arg::Reg(src), bits)?;
                self.write(register, value, bits)?;
                self.drop(value, owned);
            }
            Arg::Mem(mem) => {
                let (at, held) = self.place(mem, bits)?;
                let value = Operand::Reg(self.general(src)?);
                let (ty, site) = (signed(bits), self.site());
                if interlocked {
                    self.b.emit(Instr::Rmw { update: Update::Exchange, dst: old, at, value, ty, site });
                } else {
                    self.b.emit(Instr::Load { dst: old, from: at, ty, site });
                    self.b.emit(Instr::Store { to: at, value, ty, site });
                }
                self.drop_place(held);
            }
            _ => return Err(self.refuse(OPERANDS)),
        }
        self.write(src, Operand::Reg(old), bits)?;
        self.b.release(old);
        Ok(())
    }

    pub(super) fn xadd(&mut self, dst: Arg<'_>, src: Register, bits: u8, lock: bool) -> Parsed<()> {
        let ty = signed(bits);
        let (right, owned) = self.read(Arg::Reg(src), bits)?;
        let old = self.b.temp(&self.span)?;
        let result = self.b.temp(&self.span)?;
        match dst {
            Arg::Reg(register) => {
                let (left, left_owned) = self.read(dst, bits)?;
                self.b.emit(Instr::Set { dst: old, src: left });
                self.drop(left, left_owned);
                self.b.alu(Alu::Add, result, Operand::Reg(old), right, ty);
                self.set_flags(Alu::Add, Operand::Reg(old), right, result, true, ty)?;
                // The source is written first, so that `xadd %eax,%eax` doubles.
                self.write(src, Operand::Reg(old), bits)?;
                self.write(register, Operand::Reg(result), bits)?;
            }
            Arg::Mem(mem) => {
                let (at, held) = self.place(mem, bits)?;
                let site = self.site();
                if lock {
                    self.b.emit(Instr::Rmw { update: Update::Apply(Alu::Add), dst: old, at, value: right, ty, site });
                } else {
                    self.b.emit(Instr::Load { dst: old, from: at, ty, site });
                }
                self.b.alu(Alu::Add, result, Operand::Reg(old), right, ty);
                if !lock {
                    self.b.emit(Instr::Store { to: at, value: Operand::Reg(result), ty, site });
                }
                self.set_flags(Alu::Add, Operand::Reg(old), right, result, true, ty)?;
                self.drop_place(held);
                self.write(src, Operand::Reg(old), bits)?;
            }
            _ => return Err(self.refuse(OPERANDS)),
        }
        self.drop(right, owned);
        self.b.release(old);
        self.b.release(result);
        Ok(())
    }

    /// Compares with the accumulator: equal, then `dst := src`; otherwise the accumulator becomes `dst`.
    pub(super) fn cmpxchg(&mut self, dst: Arg<'_>, src: Register, bits: u8, lock: bool) -> Parsed<()> {
        let ty = signed(bits);
        let accumulator = Register { index: RAX, bits };
        let (expected, owned) = self.read(Arg::Reg(accumulator), bits)?;
        let (new, new_owned) = self.read(Arg::Reg(src), bits)?;
        let old = self.b.temp(&self.span)?;
        let differs = self.b.temp(&self.span)?;
        let mut place = None;
        let site = match dst {
            Arg::Mem(mem) => {
                let (at, held) = self.place(mem, bits)?;
                place = Some((at, held));
                let site = self.site();
                if lock {
                    let update = Update::CompareExchange { expected };
                    self.b.emit(Instr::Rmw { update, dst: old, at, value: new, ty, site });
                } else {
                    self.b.emit(Instr::Load { dst: old, from: at, ty, site });
                }
                site
            }
            Arg::Reg(_) => {
                let (value, value_owned) = self.read(dst, bits)?;
                self.b.emit(Instr::Set { dst: old, src: value });
                self.drop(value, value_owned);
                0
            }
            _ => return Err(self.refuse(OPERANDS)),
        };
        let result = self.b.temp(&self.span)?;
        if self.m.flags {
            self.b.alu(Alu::Sub, result, expected, Operand::Reg(old), ty);
        }
        self.set_flags(Alu::Sub, expected, Operand::Reg(old), result, true, ty)?;
        self.b.release(result);
        self.b.alu(Alu::Ne, differs, expected, Operand::Reg(old), Int::I64);
        let fails = self.b.branch(Operand::Reg(differs), false);
        match dst {
            Arg::Reg(register) => self.write(register, new, bits)?,
            _ if !lock => {
                let (to, _) = place.expect("in memory");
                self.b.emit(Instr::Store { to, value: new, ty, site });
            }
            _ => {}
        }
        let done = self.b.jump();
        let here = self.b.here();
        self.b.patch(fails, here);
        self.write(accumulator, Operand::Reg(old), bits)?;
        let here = self.b.here();
        self.b.patch(done, here);
        if let Some((_, held)) = place {
            self.drop_place(held);
        }
        self.drop(expected, owned);
        self.drop(new, new_owned);
        self.b.release(old);
        self.b.release(differs);
        Ok(())
    }
}
