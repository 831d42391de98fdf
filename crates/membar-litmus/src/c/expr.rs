//! C expressions: precedence, conversions, and short circuits.

use super::{Function, Local};
use crate::code::{Alu, Instr, Int, Operand};
use crate::error::{ErrorKind, Fault, Parsed, quoted};
use crate::lex::{Tok, number};
use crate::types::{Type, is_type_word, parse_type};
use membar_core::Order;
use std::ops::Range;

/// A value: a constant or a register, and its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Val {
    pub(super) op: Operand,
    pub(super) ty: Type,
    /// Whether the register is one for intermediate values.
    pub(super) temp: bool,
}

impl Val {
    pub(super) fn int(value: u64) -> Val {
        Val { op: Operand::Value(value), ty: Type::INT, temp: false }
    }
}

/// An expression before its value is asked for.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Value(Val),
    Local(Local),
    /// `*pointer`, not read yet.
    Deref(Val, Range<usize>),
    /// `&local`
    Address(Local),
}

const OPERAND: &str = "expressions are made of numbers, variables, `*x`, calls, the operators of C and parentheses";

/// Binary operators by how tightly they bind.
const BINARY: [(&str, u8); 18] = [
    ("||", 1),
    ("&&", 2),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("==", 6),
    ("!=", 6),
    ("<", 7),
    ("<=", 7),
    (">", 7),
    (">=", 7),
    ("<<", 8),
    (">>", 8),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

impl<'t> Function<'_, 't> {
    /// An expression.
    pub(super) fn item(&mut self) -> Parsed<Item> {
        self.lexer.enter()?;
        let start = self.lexer.peek().start;
        let mut item = self.binary(1)?;
        if self.lexer.is("?") {
            self.lexer.next()?;
            let condition = self.value(item)?;
            let span = start..self.lexer.last_end;
            let result = self.temp(&span)?;
            let other = self.b.branch(condition.op, true);
            let left = self.item()?;
            let left = self.value(left)?;
            self.b.emit(Instr::Set { dst: result, src: left.op });
            let done = self.b.jump();
            self.lexer.expect(":", "`:`", "a choice is written `a ? b : c`")?;
            self.patch(other);
            let right = self.item()?;
            let right = self.value(right)?;
            self.b.emit(Instr::Set { dst: result, src: right.op });
            self.patch(done);
            let ty = if left.ty.stars > 0 { left.ty } else { common(left.ty, right.ty) };
            item = Item::Value(Val { op: Operand::Reg(result), ty, temp: true });
            if left.ty.stars == 0 {
                // Either side may need to become what both have in common.
                let value = self.compute(Alu::Or, Operand::Reg(result), Operand::Value(0), ty, None, &span)?;
                item = Item::Value(value);
            }
        }
        self.lexer.leave();
        Ok(item)
    }

    /// The value of an item: locations are read.
    pub(super) fn value(&mut self, item: Item) -> Parsed<Val> {
        match item {
            Item::Value(value) => Ok(value),
            Item::Local(local) => Ok(Val { op: Operand::Reg(local.reg), ty: local.ty, temp: false }),
            Item::Deref(pointer, span) => self.load(pointer, Order::Plain, &span),
            Item::Address(_) => {
                let help = "the address of a variable can only be the expected value of a compare-exchange";
                Err(Fault::unsupported("expression", "&", help, self.lexer.peek().span()))
            }
        }
    }

    fn binary(&mut self, least: u8) -> Parsed<Item> {
        let start = self.lexer.peek().start;
        let mut left = self.unary()?;
        loop {
            let Tok::Sign(sign) = self.lexer.peek().tok else { return Ok(left) };
            let Some(&(_, binds)) = BINARY.iter().find(|(known, binds)| *known == sign && *binds >= least) else {
                return Ok(left);
            };
            self.lexer.next()?;
            let value = self.value(left)?;
            if sign == "&&" || sign == "||" {
                left = Item::Value(self.short_circuit(sign, binds, value, start)?);
                continue;
            }
            let right = self.binary(binds + 1)?;
            let right = self.value(right)?;
            let span = start..self.lexer.last_end;
            left = Item::Value(self.operation(sign, value, right, &span)?);
        }
    }

    /// `&&` and `||`: the right side is examined only if it matters.
    fn short_circuit(&mut self, sign: &str, binds: u8, left: Val, start: usize) -> Parsed<Val> {
        let or = sign == "||";
        let result = self.temp(&(start..self.lexer.last_end))?;
        self.b.emit(Instr::Set { dst: result, src: Operand::Value(u64::from(or)) });
        let skip = self.b.branch(left.op, !or);
        let right = self.binary(binds + 1)?;
        let right = self.value(right)?;
        self.b.alu(Alu::Ne, result, right.op, Operand::Value(0), Int::I32);
        self.patch(skip);
        Ok(Val { op: Operand::Reg(result), ty: Type::INT, temp: true })
    }

    pub(super) fn unary(&mut self) -> Parsed<Item> {
        self.lexer.enter()?;
        let token = self.lexer.peek();
        let item = match token.tok {
            Tok::Sign(sign @ ("-" | "~" | "!" | "+")) => {
                self.lexer.next()?;
                let inner = self.unary()?;
                let value = self.value(inner)?;
                let span = token.start..self.lexer.last_end;
                Item::Value(match sign {
                    "-" => self.arithmetic(Alu::Sub, Val::int(0), value, &span)?,
                    "~" => self.arithmetic(Alu::Xor, value, Val::int(u64::MAX), &span)?,
                    "!" => self.compute(Alu::Eq, value.op, Operand::Value(0), Type::INT, None, &span)?,
                    _ => self.arithmetic(Alu::Add, value, Val::int(0), &span)?,
                })
            }
            Tok::Sign("*") => {
                self.lexer.next()?;
                let inner = self.unary()?;
                let pointer = self.value(inner)?;
                Item::Deref(pointer, token.start..self.lexer.last_end)
            }
            Tok::Sign("&") => {
                self.lexer.next()?;
                match self.unary()? {
                    Item::Deref(pointer, _) => Item::Value(pointer),
                    Item::Local(local) => Item::Address(local),
                    _ => {
                        let help = "`&` stands before a local variable or a location such as `a[1]`";
                        return Err(Fault::unsupported("expression", "&", help, token.span()));
                    }
                }
            }
            Tok::Sign("(") => {
                self.lexer.next()?;
                if let Tok::Word(word) = self.lexer.peek().tok
                    && is_type_word(word)
                {
                    let ty = parse_type(&mut self.lexer)?;
                    self.lexer.expect(")", "`)`", "a cast is written `(int) r0`")?;
                    let inner = self.unary()?;
                    let value = self.value(inner)?;
                    Item::Value(self.convert(value, ty)?)
                } else {
                    let inner = self.item()?;
                    self.lexer.expect(")", "`)` or an operator", OPERAND)?;
                    self.indexed(inner, token.start)?
                }
            }
            Tok::Number(text) => {
                self.lexer.next()?;
                let value = number(text, false, token.span())?;
                let ty = if Int::I32.wrap(value) == value { Type::INT } else { Type::LONG };
                Item::Value(Val { op: Operand::Value(value), ty, temp: false })
            }
            Tok::Word(word) => {
                self.lexer.next()?;
                let item = match word {
                    "NULL" | "false" => Item::Value(Val::int(0)),
                    "true" => Item::Value(Val::int(1)),
                    _ if self.lexer.is("(") => Item::Value(self.call(word, token.span())?),
                    _ => match (self.locals.get(word), self.params.get(word)) {
                        (Some(local), _) => Item::Local(*local),
                        (None, Some(pointer)) => Item::Value(*pointer),
                        (None, None) => {
                            let help = "declare it, or name it as a parameter if it is a shared location";
                            return Err(Fault::unknown("variable", word, help, token.span()));
                        }
                    },
                };
                self.indexed(item, token.start)?
            }
            _ => return Err(self.lexer.unexpected("an expression", OPERAND)),
        };
        self.lexer.leave();
        Ok(item)
    }

    /// `item[index]`, as often as it stands there.
    fn indexed(&mut self, mut item: Item, start: usize) -> Parsed<Item> {
        while self.lexer.take("[")? {
            let pointer = self.value(item)?;
            let index = self.item()?;
            let index = self.value(index)?;
            self.lexer.expect("]", "`]`", "cells of arrays are written `a[1]`")?;
            let span = start..self.lexer.last_end;
            let pointer = self.arithmetic(Alu::Add, pointer, index, &span)?;
            item = Item::Deref(pointer, span);
        }
        Ok(item)
    }

    fn operation(&mut self, sign: &str, left: Val, right: Val, span: &Range<usize>) -> Parsed<Val> {
        let simple = match sign {
            "+" => Some(Alu::Add),
            "-" => Some(Alu::Sub),
            "*" => Some(Alu::Mul),
            "&" => Some(Alu::And),
            "|" => Some(Alu::Or),
            "^" => Some(Alu::Xor),
            _ => None,
        };
        if let Some(op) = simple {
            return self.arithmetic(op, left, right, span);
        }
        let ty = common(left.ty, right.ty);
        match sign {
            "<<" => self.compute(Alu::Shl, left.op, right.op, promoted(left.ty), None, span),
            ">>" if !promoted(left.ty).int.signed => {
                self.compute(Alu::Shr, left.op, right.op, promoted(left.ty), None, span)
            }
            ">>" => {
                // The machine shifts in zeros only: make the number positive, shift, and take the offset out again.
                const TOP: Operand = Operand::Value(1 << 63);
                let flipped = self.compute(Alu::Xor, left.op, TOP, Type::LONG, None, span)?;
                let shifted = self.compute(Alu::Shr, flipped.op, right.op, Type::LONG, Some(flipped), span)?;
                let offset = self.compute(Alu::Shr, TOP, right.op, Type::LONG, None, span)?;
                self.compute(Alu::Sub, shifted.op, offset.op, promoted(left.ty), Some(shifted), span)
            }
            "/" | "%" => match (left.op, right.op) {
                (Operand::Value(a), Operand::Value(b)) if b != 0 => {
                    let (a, b) = (a as i64, b as i64);
                    let value = if sign == "/" { a.wrapping_div(b) } else { a.wrapping_rem(b) };
                    Ok(Val { op: Operand::Value(ty.int.wrap(value as u64)), ty, temp: false })
                }
                _ => Err(Fault::unsupported("operator", sign, "only constants can be divided", span.clone())),
            },
            _ => {
                let (left, right) = (self.convert(left, ty)?, self.convert(right, ty)?);
                let less = if ty.value().signed { Alu::Lt } else { Alu::Below };
                let (op, a, b, negate) = match sign {
                    "==" => (Alu::Eq, left, right, false),
                    "!=" => (Alu::Ne, left, right, false),
                    "<" => (less, left, right, false),
                    ">" => (less, right, left, false),
                    "<=" => (less, right, left, true),
                    _ => (less, left, right, true),
                };
                let result = self.compute(op, a.op, b.op, Type::INT, None, span)?;
                if !negate {
                    return Ok(result);
                }
                self.compute(Alu::Xor, result.op, Operand::Value(1), Type::INT, Some(result), span)
            }
        }
    }

    /// `left op right` with C's conversions; pointers move by the size of what they point to.
    pub(super) fn arithmetic(&mut self, op: Alu, left: Val, right: Val, span: &Range<usize>) -> Parsed<Val> {
        let (left_points, right_points) = (left.ty.stars > 0, right.ty.stars > 0);
        if left_points || right_points {
            let (pointer, number) = if left_points { (left, right) } else { (right, left) };
            let sensible = op == Alu::Add || (op == Alu::Sub && left_points);
            let Some(target) = pointer.ty.target().filter(|_| sensible && !(left_points && right_points)) else {
                let text = quoted(&self.sites.text[span.clone()]);
                let help = "integers can be added to or subtracted from pointers";
                return Err(Fault::new(ErrorKind::Operands { text, help }, span.clone()));
            };
            let size = Operand::Value(u64::from(target.value().bits / 8));
            let by = self.compute(Alu::Mul, number.op, size, Type::LONG, None, span)?;
            return self.compute(op, pointer.op, by.op, pointer.ty, None, span);
        }
        // All of these depend on the low bits only, which no conversion changes.
        self.compute(op, left.op, right.op, common(left.ty, right.ty), Some(left), span)
    }

    /// The result of one operation, a constant if the operands are; `reuse` is a value that is not needed any more.
    pub(super) fn compute(
        &mut self,
        op: Alu,
        a: Operand,
        b: Operand,
        ty: Type,
        reuse: Option<Val>,
        span: &Range<usize>,
    ) -> Parsed<Val> {
        if let (Operand::Value(a), Operand::Value(b)) = (a, b) {
            return Ok(Val { op: Operand::Value(ty.value().wrap(op.apply(a, b))), ty, temp: false });
        }
        let dst = match reuse {
            Some(Val { op: Operand::Reg(reg), temp: true, .. }) => reg,
            _ => self.temp(span)?,
        };
        self.b.alu(op, dst, a, b, ty.value());
        Ok(Val { op: Operand::Reg(dst), ty, temp: true })
    }

    /// The value as one of another type.
    pub(super) fn convert(&mut self, value: Val, ty: Type) -> Parsed<Val> {
        let (from, to) = (value.ty.value(), ty.value());
        // A pattern of the narrower type is one of the wider, unless it is negative and the wider cannot be.
        let same = from == to || (to.bits > from.bits && (to.bits == 64 || to.signed || !from.signed));
        if same {
            return Ok(Val { ty, ..value });
        }
        let span = self.lexer.peek().span();
        self.compute(Alu::Or, value.op, Operand::Value(0), ty, Some(value), &span)
    }
}

/// Integers smaller than int become int.
fn promoted(ty: Type) -> Type {
    if ty.stars > 0 {
        Type::LONG
    } else if ty.int.bits < 32 {
        Type::INT
    } else {
        ty
    }
}

/// The type that both operands are converted to.
fn common(left: Type, right: Type) -> Type {
    let (left, right) = (promoted(left).int, promoted(right).int);
    let int = match left.bits.cmp(&right.bits) {
        std::cmp::Ordering::Greater => left,
        std::cmp::Ordering::Less => right,
        std::cmp::Ordering::Equal => Int { bits: left.bits, signed: left.signed && right.signed },
    };
    Type { int, stars: 0 }
}
