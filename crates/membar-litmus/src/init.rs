//! Shared memory and the first section of a test, which says what it holds at the start.
//!
//! ```text
//! { x; y = 1; int z = -1; uint8_t [w] = 0xff; int *p = &x; int a[2] = {1, 2}; 0:rax = x; }
//! ```
//!
//! Cells are kept as signed integers whatever their type is, so that equal values have equal patterns even where one
//! location is read as signed here and as unsigned there; the type that was declared says how it is shown.

use crate::code::{Cell, Int};
use crate::error::{ErrorKind, Fault, Parsed};
use crate::lex::{Lexer, Tok, number};
use crate::types::{Type, is_type_word, parse_type};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Cells of a test, at most.
pub(crate) const CELLS: usize = 1024;

/// Pointers begin here: positive as an `int` and unlike any number that a test would use.
const FIRST_POINTER: u64 = 0x5EA0_0000;
/// Every location begins at a multiple of this.
const ALIGN: u64 = 64;

/// The meaning of a name of shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol {
    /// Its first cell.
    pub(crate) first: u32,
    /// How many there are.
    pub(crate) len: u32,
    pub(crate) array: bool,
}

#[derive(Debug)]
struct Draft {
    name: String,
    pointer: u64,
    declared: Option<Type>,
    init: u64,
    /// The size of the accesses so far.
    width: Option<u8>,
}

/// Shared memory while the test is read.
#[derive(Debug)]
pub(crate) struct Memory {
    cells: Vec<Draft>,
    names: FxHashMap<String, Symbol>,
    next: u64,
    /// The size of a pointer.
    pub(crate) pointer_bits: u8,
}

impl Memory {
    pub(crate) fn new(pointer_bits: u8) -> Memory {
        Memory { cells: Vec::new(), names: FxHashMap::default(), next: FIRST_POINTER, pointer_bits }
    }

    pub(crate) fn find(&self, name: &str) -> Option<Symbol> {
        self.names.get(name).copied()
    }

    /// The meaning of the name: a new location if it was not seen before.
    pub(crate) fn symbol(&mut self, name: &str, span: Range<usize>) -> Parsed<Symbol> {
        match self.find(name) {
            Some(symbol) => Ok(symbol),
            None => self.add(name, None, None, span),
        }
    }

    fn add(&mut self, name: &str, ty: Option<Type>, array: Option<u32>, span: Range<usize>) -> Parsed<Symbol> {
        let len = array.unwrap_or(1);
        if self.cells.len() + len as usize > CELLS {
            return Err(Fault::new(ErrorKind::TooMany { what: "locations", limit: CELLS }, span));
        }
        let symbol = Symbol { first: self.cells.len() as u32, len, array: array.is_some() };
        let size = u64::from(ty.map_or(32, |ty| self.bits(ty)) / 8);
        for index in 0..u64::from(len) {
            let name = if array.is_some() { format!("{name}[{index}]") } else { name.to_owned() };
            let pointer = self.next + index * size;
            self.cells.push(Draft { name, pointer, declared: ty, init: 0, width: None });
        }
        self.next += (u64::from(len) * size).next_multiple_of(ALIGN);
        self.names.insert(name.to_owned(), symbol);
        Ok(symbol)
    }

    fn bits(&self, ty: Type) -> u8 {
        if ty.stars > 0 { self.pointer_bits } else { ty.int.bits }
    }

    pub(crate) fn pointer(&self, cell: u32) -> u64 {
        self.cells[cell as usize].pointer
    }

    /// The cell that a pointer points to.
    pub(crate) fn at(&self, pointer: u64) -> Option<u32> {
        self.cells.iter().position(|cell| cell.pointer == pointer).map(|cell| cell as u32)
    }

    pub(crate) fn declared(&self, cell: u32) -> Option<Type> {
        self.cells[cell as usize].declared
    }

    /// The size of a cell, as far as it is known.
    pub(crate) fn width(&self, cell: u32) -> Option<u8> {
        let draft = &self.cells[cell as usize];
        draft.declared.map(|ty| self.bits(ty)).or(draft.width)
    }

    /// Gives a cell a type, where none was declared: from C's parameters.
    pub(crate) fn suggest(&mut self, cell: u32, ty: Type) {
        self.cells[cell as usize].declared.get_or_insert(ty);
    }

    /// Notes an access of this many bits.
    pub(crate) fn access(&mut self, cell: u32, bits: u8, span: &Range<usize>) -> Parsed<()> {
        match self.width(cell) {
            Some(has) if has != bits => {
                let cell = self.cells[cell as usize].name.clone();
                Err(Fault::new(ErrorKind::MixedSize { cell, has, access: bits }, span.clone()))
            }
            _ => {
                self.cells[cell as usize].width = Some(bits);
                Ok(())
            }
        }
    }

    /// Notes an access of this many bits, where accesses of different sizes may meet: the widest gives the size.
    pub(crate) fn accessed(&mut self, cell: u32, bits: u8) {
        let width = &mut self.cells[cell as usize].width;
        *width = Some(width.map_or(bits, |before| before.max(bits)));
    }

    /// The cells with their types, and how each is shown. `indirect` is the size of all accesses through pointers, if
    /// they have one size: that of the locations that nothing else is known about.
    pub(crate) fn finish(self, indirect: Option<u8>) -> Vec<(Cell, Int)> {
        let pointer_bits = self.pointer_bits;
        let cell = |draft: Draft| {
            let shown = match draft.declared {
                Some(Type { int, stars: 0 }) => int,
                Some(_) => Int { bits: pointer_bits, signed: true },
                None => Int { bits: draft.width.or(indirect).unwrap_or(32), signed: true },
            };
            let ty = Int { signed: true, ..shown };
            (Cell { name: draft.name, pointer: draft.pointer, ty, init: ty.wrap(draft.init) }, shown)
        };
        self.cells.into_iter().map(cell).collect()
    }
}

/// `0:rax` as written.
#[derive(Clone, Debug)]
pub(crate) struct RegName<'a> {
    pub(crate) thread: u32,
    pub(crate) name: &'a str,
    pub(crate) span: Range<usize>,
}

/// A value as written.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Number(u64),
    /// The address of a location or of a cell of an array, and how many bytes to add.
    Address {
        name: &'a str,
        index: Option<u32>,
        plus: u64,
        span: Range<usize>,
    },
}

const ITEM: &str = "an initial value such as `x = 1`, `int y`, `int *p = &x`, `int a[2] = {1, 2}` or `0:rax = x`";
const HELP: &str = "the section is `{ x = 1; int y = 2; 0:rax = x; }`";

/// A register's initial value from the first section.
pub(crate) type RegInit<'a> = (RegName<'a>, Value<'a>);

/// Reads the section; the `{` is taken already, the `}` is taken here.
pub(crate) fn parse_init<'a>(lexer: &mut Lexer<'a>, memory: &mut Memory) -> Parsed<Vec<RegInit<'a>>> {
    let mut registers = Vec::new();
    // An address may be used before its location is declared.
    let mut values: Vec<(u32, Value<'a>)> = Vec::new();
    loop {
        while lexer.take(";")? {}
        if lexer.take("}")? {
            break;
        }
        item(lexer, memory, &mut registers, &mut values)?;
        if !lexer.is(";") && !lexer.is("}") {
            return Err(lexer.unexpected("`;` or `}`", HELP));
        }
    }
    for (cell, value) in values {
        memory.cells[cell as usize].init = resolve(&value, memory)?;
    }
    Ok(registers)
}

/// The value, where names of locations may be new.
pub(crate) fn resolve(value: &Value<'_>, memory: &mut Memory) -> Parsed<u64> {
    match value {
        Value::Number(value) => Ok(*value),
        Value::Address { name, index, plus, span } => {
            let symbol = memory.symbol(name, span.clone())?;
            let index = index.unwrap_or(0);
            if index >= symbol.len {
                return Err(Fault::unknown(
                    "cell",
                    &format!("{name}[{index}]"),
                    "the array has fewer cells",
                    span.clone(),
                ));
            }
            let at = memory.pointer(symbol.first + index) + plus;
            // What comes after a location is the next one, which was not meant.
            let next = memory.cells.get((symbol.first + symbol.len) as usize).map_or(memory.next, |cell| cell.pointer);
            if *plus > 0 && at >= next {
                let help =
                    "the address is that of another location; locations have 64 bytes, or as many as their cells need";
                return Err(Fault::unknown("byte", &format!("{name}+{plus}"), help, span.clone()));
            }
            Ok(at)
        }
    }
}

fn item<'a>(
    lexer: &mut Lexer<'a>,
    memory: &mut Memory,
    registers: &mut Vec<RegInit<'a>>,
    values: &mut Vec<(u32, Value<'a>)>,
) -> Parsed<()> {
    let ty = declared_type(lexer)?;
    if let Some(reg) = register_name(lexer)? {
        let value = if lexer.take("=")? { value(lexer)? } else { Value::Number(0) };
        registers.push((reg, value));
        return Ok(());
    }
    let bracket = lexer.take("[")?;
    let (name, span) = lexer.word(ITEM, HELP)?;
    if bracket {
        lexer.expect("]", "`]`", HELP)?;
    }
    let array = if !bracket && lexer.take("[")? {
        let len = array_number(lexer, "the size of the array")?;
        lexer.expect("]", "`]`", HELP)?;
        Some(len)
    } else {
        None
    };
    if let Some(before) = memory.find(name)
        && (ty.is_some() || array.is_some() || memory.declared(before.first).is_some())
    {
        return Err(Fault::new(ErrorKind::Twice { what: "location", name: name.to_owned() }, span));
    }
    let ty = if array.is_some() { ty.or(Some(Type::INT)) } else { ty };
    let symbol = match memory.find(name) {
        Some(symbol) => symbol,
        None => memory.add(name, ty, array, span.clone())?,
    };
    if lexer.take("=")? {
        if array.is_some() {
            lexer.expect("{", "`{`", "the values of an array are written `{1, 2}`")?;
            let mut index = 0;
            while !lexer.take("}")? {
                if index == symbol.len {
                    return Err(lexer.unexpected("`}`", "the array has no more cells"));
                }
                values.push((symbol.first + index, value(lexer)?));
                index += 1;
                if !lexer.take(",")? && !lexer.is("}") {
                    return Err(lexer.unexpected("`,` or `}`", HELP));
                }
            }
        } else {
            values.push((symbol.first, value(lexer)?));
        }
    }
    Ok(())
}

/// The type that a declaration begins with, if it does.
fn declared_type(lexer: &mut Lexer<'_>) -> Parsed<Option<Type>> {
    // `*p = x` declares a pointer to int.
    if lexer.is("*") {
        return Ok(Some(Type { stars: stars(lexer)?, ..Type::INT }));
    }
    let Tok::Word(word) = lexer.peek().tok else { return Ok(None) };
    let mut after = lexer.clone();
    after.next()?;
    let begins = match after.peek().tok {
        Tok::Word(_) | Tok::Number(_) | Tok::Sign("*") => true,
        Tok::Sign("[") => {
            // `int [x]` or `a[2]`
            after.next()?;
            matches!(after.peek().tok, Tok::Word(_))
        }
        Tok::Sign("(") => word == "_Atomic",
        _ => false,
    };
    if !begins {
        return Ok(None);
    }
    if is_type_word(word) {
        return parse_type(lexer).map(Some);
    }
    let help = "the types are int, int8_t to uint64_t, their atomic forms, and pointers to them";
    Err(Fault::unsupported("type", word, help, lexer.peek().span()))
}

fn stars(lexer: &mut Lexer<'_>) -> Parsed<u8> {
    let mut stars = 0u8;
    while lexer.take("*")? {
        stars = stars.saturating_add(1);
    }
    Ok(stars)
}

pub(crate) fn array_number(lexer: &mut Lexer<'_>, what: &'static str) -> Parsed<u32> {
    let token = lexer.peek();
    let Tok::Number(text) = token.tok else { return Err(lexer.unexpected("a number", HELP)) };
    let value = number(text, false, token.span())?;
    lexer.next()?;
    match u32::try_from(value) {
        Ok(value) if value as usize <= CELLS => Ok(value),
        _ => {
            let help = "arrays have 1024 cells at most";
            Err(Fault::new(ErrorKind::TooLarge { what, text: text.to_owned(), help }, token.span()))
        }
    }
}

/// `0:rax`, `P0:rax` or `0:%rax`, if that comes next.
pub(crate) fn register_name<'a>(lexer: &mut Lexer<'a>) -> Parsed<Option<RegName<'a>>> {
    let token = lexer.peek();
    let thread = match token.tok {
        Tok::Number(text) => text,
        Tok::Word(word) => match word.strip_prefix('P') {
            Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => digits,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let mut after = lexer.clone();
    after.next()?;
    if !after.take(":")? {
        return Ok(None);
    }
    let value = number(thread, false, token.span())?;
    *lexer = after;
    lexer.take("%")?;
    let (name, span) = lexer.word("a register", "registers are written `0:rax`, `0:EAX` or `0:r0`")?;
    Ok(Some(RegName { thread: value.try_into().unwrap_or(u32::MAX), name, span: token.start..span.end }))
}

/// The number of bytes in `x+4`.
fn address_offset(lexer: &mut Lexer<'_>) -> Parsed<u64> {
    const OFFSET: &str = "`x+4` is the address 4 bytes after that of `x`";
    let token = lexer.peek();
    let Tok::Number(text) = token.tok else { return Err(lexer.unexpected("a number of bytes", OFFSET)) };
    let plus = number(text, false, token.span())?;
    lexer.next()?;
    if plus > u64::from(u32::MAX) {
        return Err(Fault::new(
            ErrorKind::TooLarge { what: "the offset", text: text.to_owned(), help: OFFSET },
            token.span(),
        ));
    }
    Ok(plus)
}

/// A number, or the address of a location, possibly with a number of bytes after it: `x+4`.
pub(crate) fn value<'a>(lexer: &mut Lexer<'a>) -> Parsed<Value<'a>> {
    const HELP: &str = "a value is a number or the name of a location, whose address is meant, as in `x` or `x+4`";
    let negative = lexer.take("-")?;
    let token = lexer.peek();
    match token.tok {
        Tok::Number(text) => {
            lexer.next()?;
            number(text, negative, token.span()).map(Value::Number)
        }
        Tok::Word("ATOMIC_VAR_INIT" | "ATOMIC_INIT") if !negative => {
            lexer.next()?;
            lexer.expect("(", "`(`", HELP)?;
            lexer.enter()?;
            let inner = value(lexer)?;
            lexer.leave();
            lexer.expect(")", "`)`", HELP)?;
            Ok(inner)
        }
        Tok::Word(_) | Tok::Sign("&") if !negative => {
            lexer.take("&")?;
            let (name, span) = lexer.word("the name of a location", HELP)?;
            let mut index = None;
            if lexer.take("[")? {
                index = Some(array_number(lexer, "the index")?);
                lexer.expect("]", "`]`", HELP)?;
            }
            let plus = if lexer.take("+")? { address_offset(lexer)? } else { 0 };
            Ok(Value::Address { name, index, plus, span })
        }
        _ => Err(lexer.unexpected("a value", HELP)),
    }
}
