//! The code section of assembly tests: rows and columns, and operands in the notations of X86 and X86_64.
//!
//! ```text
//!  P0          | P1             ;
//!  MOV [x],$1  | L: MOV EAX,[y] ;
//!              | LOCK ;XADD …   ;
//! ```

use crate::error::{ErrorKind, Fault, Parsed};
use crate::init::Memory;
use crate::lex::{Lexer, Tok, number};
use crate::regs::{Register, register};
use std::ops::Range;

/// Threads of a test, at most.
pub(crate) const THREADS: usize = 64;

/// The notation of assembly code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notation {
    /// X86: `MOV dst,src`
    Intel,
    /// X86_64: `mov src,dst`
    Att,
}

impl Notation {
    /// The size of registers and pointers.
    pub(crate) fn machine(self) -> u8 {
        if self == Notation::Intel { 32 } else { 64 }
    }
}

/// Memory as an operand: `disp + base + index * scale`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mem {
    pub(crate) base: Option<Register>,
    pub(crate) index: Option<(Register, u8)>,
    pub(crate) disp: u64,
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arg<'a> {
    Reg(Register),
    Imm(u64),
    Mem(Mem),
    /// Any other name: where a jump goes.
    Label(&'a str),
}

/// An instruction as written, operands in the order of the text.
#[derive(Clone, Debug)]
pub(crate) struct Written<'a> {
    pub(crate) labels: Vec<(&'a str, Range<usize>)>,
    pub(crate) lock: bool,
    /// Empty if there are labels only.
    pub(crate) mnemonic: &'a str,
    pub(crate) args: Vec<Arg<'a>>,
    pub(crate) span: Range<usize>,
}

/// Whether what follows the code begins here.
fn at_constraints(lexer: &Lexer<'_>) -> bool {
    match lexer.peek().tok {
        // RISC-V has an instruction of this name.
        Tok::Word("not") => {
            let mut after = lexer.clone();
            after.next().is_ok() && after.is_word("exists")
        }
        Tok::End | Tok::Sign("~" | "(" | "<<") => true,
        Tok::Word(word) => matches!(word, "locations" | "filter" | "exists" | "forall" | "final" | "observed"),
        _ => false,
    }
}

/// Reads the table. Each thread is the list of its instructions.
pub(crate) fn parse_rows<'a>(
    lexer: &mut Lexer<'a>,
    notation: Notation,
    memory: &mut Memory,
) -> Parsed<Vec<Vec<Written<'a>>>> {
    rows(lexer, |lexer| cell(lexer, notation, memory))
}

/// Reads a table with these cells. Each thread is the list of its own that are not empty.
pub(crate) fn rows<'a, T: Clone>(
    lexer: &mut Lexer<'a>,
    mut cell: impl FnMut(&mut Lexer<'a>) -> Parsed<Option<T>>,
) -> Parsed<Vec<Vec<T>>> {
    const HEAD: &str = "the first row of the code names the threads: `P0 | P1 ;`";
    lexer.take(";")?;
    let mut count = 0;
    loop {
        let (word, span) = lexer.word("a thread such as `P0`", HEAD)?;
        if word.strip_prefix('P') != Some(count.to_string().as_str()) {
            let found = format!("`{}`", crate::error::quoted(word));
            let help = "threads are named P0, P1, P2, … in this order";
            return Err(Fault::new(ErrorKind::Syntax { expected: "the next thread", found, help }, span));
        }
        count += 1;
        if count > THREADS {
            return Err(Fault::new(ErrorKind::TooMany { what: "threads", limit: THREADS }, span));
        }
        if lexer.take(";")? {
            break;
        }
        lexer.expect("|", "`|` or `;`", HEAD)?;
    }
    let mut threads = vec![Vec::new(); count];
    while !at_constraints(lexer) {
        let mut column = 0;
        loop {
            let Some(thread) = threads.get_mut(column) else {
                return Err(lexer.unexpected("`;`", "the row has more columns than there are threads"));
            };
            if let Some(written) = cell(lexer)? {
                thread.push(written);
            }
            if lexer.take(";")? {
                break;
            }
            lexer.expect("|", "`,`, `|` or `;`", "cells are separated by `|`, rows end with `;`")?;
            column += 1;
        }
    }
    Ok(threads)
}

fn cell<'a>(lexer: &mut Lexer<'a>, notation: Notation, memory: &mut Memory) -> Parsed<Option<Written<'a>>> {
    const HELP: &str = "a cell is empty or holds one instruction, with labels before it: `L: MOV EAX,[x]`";
    let start = lexer.peek().start;
    let mut written = Written { labels: Vec::new(), lock: false, mnemonic: "", args: Vec::new(), span: start..start };
    while let Tok::Word(word) = lexer.peek().tok {
        let span = lexer.next()?.span();
        if lexer.take(":")? {
            written.labels.push((word, span));
            continue;
        }
        if !written.lock {
            written.span = span;
        }
        if word.eq_ignore_ascii_case("lock") && !written.lock {
            written.lock = true;
            lexer.take(";")?;
            continue;
        }
        written.mnemonic = word;
        break;
    }
    if written.mnemonic.is_empty() {
        if written.lock || !(lexer.is("|") || lexer.is(";")) {
            return Err(lexer.unexpected("an instruction", HELP));
        }
        return Ok((!written.labels.is_empty()).then_some(written));
    }
    if !lexer.is("|") && !lexer.is(";") {
        loop {
            written.args.push(arg(lexer, notation, memory)?);
            if !lexer.take(",")? {
                break;
            }
            if written.args.len() == 4 {
                return Err(lexer.unexpected("`|` or `;`", "no instruction has more operands"));
            }
        }
    }
    written.span.end = lexer.last_end.max(written.span.start);
    Ok(Some(written))
}

fn arg<'a>(lexer: &mut Lexer<'a>, notation: Notation, memory: &mut Memory) -> Parsed<Arg<'a>> {
    let help = match notation {
        Notation::Intel => "operands are EAX, $1, [x] or [EAX]",
        Notation::Att => "operands are %eax, $1, (x), (%rax) or 8(%rax)",
    };
    if lexer.take("$")? {
        if let Tok::Word(name) = lexer.peek().tok {
            let span = lexer.next()?.span();
            let symbol = memory.symbol(name, span)?;
            return Ok(Arg::Imm(memory.pointer(symbol.first)));
        }
        return Ok(Arg::Imm(signed_number(lexer, help)?));
    }
    if lexer.take("%")? {
        return Ok(Arg::Reg(named_register(lexer, notation)?));
    }
    match lexer.peek().tok {
        Tok::Number(_) | Tok::Sign("-") => {
            let value = signed_number(lexer, help)?;
            if lexer.is("(") || lexer.is("[") {
                return mem(lexer, notation, memory, value, help);
            }
            Ok(Arg::Imm(value))
        }
        Tok::Sign("(" | "[") => mem(lexer, notation, memory, 0, help),
        Tok::Word(word) => {
            let span = lexer.next()?.span();
            if let Some(register) = register(word, notation.machine()) {
                return Ok(Arg::Reg(register));
            }
            // `x(%rip)`, or `x(%rax)`
            if lexer.is("(") && notation == Notation::Att {
                let symbol = memory.symbol(word, span)?;
                let disp = memory.pointer(symbol.first);
                return mem(lexer, notation, memory, disp, help);
            }
            Ok(Arg::Label(word))
        }
        _ => Err(lexer.unexpected("an operand", help)),
    }
}

fn signed_number(lexer: &mut Lexer<'_>, help: &'static str) -> Parsed<u64> {
    let negative = lexer.take("-")?;
    let token = lexer.peek();
    let Tok::Number(text) = token.tok else { return Err(lexer.unexpected("a number", help)) };
    lexer.next()?;
    number(text, negative, token.span())
}

fn named_register(lexer: &mut Lexer<'_>, notation: Notation) -> Parsed<Register> {
    let (name, span) = lexer.word("a register", "registers are written %rax, %eax, %ax or %al")?;
    let help = match notation {
        Notation::Intel => "the registers are EAX, EBX, ECX, EDX, ESI, EDI, EBP and ESP, and AX and AL to BL",
        Notation::Att => {
            "the registers are rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp and r8 to r15, and eax, ax, al and so on"
        }
    };
    register(name, notation.machine()).ok_or_else(|| Fault::unknown("register", name, help, span))
}

fn mem<'a>(
    lexer: &mut Lexer<'a>,
    notation: Notation,
    memory: &mut Memory,
    disp: u64,
    help: &'static str,
) -> Parsed<Arg<'a>> {
    let open = lexer.next()?;
    let (close, closing) = if open.tok == Tok::Sign("(") { (")", "`)`") } else { ("]", "`]`") };
    let mut mem = Mem { base: None, index: None, disp };
    let percent = lexer.take("%")?;
    if let Tok::Word(name) = lexer.peek().tok {
        if name.eq_ignore_ascii_case("rip") && notation == Notation::Att {
            lexer.next()?;
        } else if percent || register(name, notation.machine()).is_some() {
            mem.base = Some(address_register(lexer, notation)?);
        } else {
            let span = lexer.next()?.span();
            let symbol = memory.symbol(name, span)?;
            mem.disp = mem.disp.wrapping_add(memory.pointer(symbol.first));
        }
    } else if !lexer.is(",") {
        return Err(lexer.unexpected("a location or a register", help));
    }
    if notation == Notation::Att && lexer.take(",")? {
        lexer.take("%")?;
        let index = address_register(lexer, notation)?;
        let mut scale = 1;
        if lexer.take(",")? {
            let span = lexer.peek().span();
            let given = signed_number(lexer, help)?;
            if ![1, 2, 4, 8].contains(&given) {
                let (found, help) = (format!("`{given}`"), "the scale of an index is 1, 2, 4 or 8");
                return Err(Fault::new(ErrorKind::Syntax { expected: "a scale", found, help }, span));
            }
            scale = given as u8;
        }
        mem.index = Some((index, scale));
    } else if notation == Notation::Intel && (lexer.is("+") || lexer.is("-")) {
        lexer.take("+")?;
        mem.disp = mem.disp.wrapping_add(signed_number(lexer, help)?);
    }
    lexer.expect(close, closing, help)?;
    Ok(Arg::Mem(mem))
}

fn address_register(lexer: &mut Lexer<'_>, notation: Notation) -> Parsed<Register> {
    let span = lexer.peek().span();
    let register = named_register(lexer, notation)?;
    if register.bits == notation.machine() {
        return Ok(register);
    }
    let help = "addresses are in whole registers: %rax, not %eax";
    let found = "a smaller one".to_owned();
    Err(Fault::new(ErrorKind::Syntax { expected: "a whole register", found, help }, span))
}
