//! Rows of code, operands and labels, as RISCV and AArch64 tests write them, and a thread while it is translated.

use super::code::{Calc, Instr, Thread};
use crate::asm::rows;
use crate::build::Sites;
use crate::code::{Int, Operand, Reg};
use crate::error::{ErrorKind, Fault, Parsed, quoted};
use crate::init::Memory;
use crate::lex::{Lexer, Tok, number};
use membar_core::C11;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// An operand as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Arg<'a> {
    /// A register, a label, a condition or a kind of barrier.
    Word(&'a str),
    /// `1`, `#1`
    Number(u64),
    /// `8(x5)`
    At(u64, &'a str),
    /// `[X1,#8]`, and whether `!` follows.
    List(Vec<Arg<'a>>, bool),
    /// `LSL #2`, `SXTW`
    Shift(&'a str, u64),
}

/// A row of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) labels: Vec<(&'a str, Range<usize>)>,
    /// Empty if there are labels only.
    pub(crate) mnemonic: &'a str,
    pub(crate) args: Vec<Arg<'a>>,
    pub(crate) span: Range<usize>,
}

const HELP: &str =
    "a cell is empty or holds one instruction, with labels before it: `L: lw x5,0(x6)`, `L: LDR W0,[X1]`";

/// Reads the table. Each thread is the list of its rows.
pub(crate) fn parse_lines<'a>(lexer: &mut Lexer<'a>) -> Parsed<Vec<Vec<Line<'a>>>> {
    rows(lexer, line)
}

fn line<'a>(lexer: &mut Lexer<'a>) -> Parsed<Option<Line<'a>>> {
    let start = lexer.peek().start;
    let mut line = Line { labels: Vec::new(), mnemonic: "", args: Vec::new(), span: start..start };
    loop {
        let token = lexer.peek();
        let word = match token.tok {
            Tok::Word(word) => word,
            // `1:`
            Tok::Number(word) => word,
            _ => break,
        };
        lexer.next()?;
        if lexer.take(":")? {
            line.labels.push((word, token.span()));
            continue;
        }
        if matches!(token.tok, Tok::Number(_)) {
            let found = format!("`{}`", quoted(word));
            return Err(Fault::new(ErrorKind::Syntax { expected: "an instruction", found, help: HELP }, token.span()));
        }
        line.mnemonic = word;
        line.span = token.span();
        break;
    }
    if line.mnemonic.is_empty() {
        if !(lexer.is("|") || lexer.is(";")) {
            return Err(lexer.unexpected("an instruction", HELP));
        }
        return Ok((!line.labels.is_empty()).then_some(line));
    }
    if !lexer.is("|") && !lexer.is(";") {
        loop {
            line.args.push(arg(lexer)?);
            if !lexer.take(",")? {
                break;
            }
            if line.args.len() == 6 {
                return Err(lexer.unexpected("`|` or `;`", "no instruction has more operands"));
            }
        }
    }
    line.span.end = lexer.last_end.max(line.span.end);
    Ok(Some(line))
}

fn arg<'a>(lexer: &mut Lexer<'a>) -> Parsed<Arg<'a>> {
    const OPERANDS: &str = "operands are registers, numbers, labels, `0(x5)`, and `[X1]`, `[X1,#8]` or `[X1,W2,SXTW]`";
    if lexer.take("#")? {
        return Ok(Arg::Number(signed(lexer)?));
    }
    if lexer.take("[")? {
        lexer.enter()?;
        let mut inner = vec![arg(lexer)?];
        while lexer.take(",")? {
            inner.push(arg(lexer)?);
        }
        lexer.leave();
        lexer.expect("]", "`]`", OPERANDS)?;
        let back = lexer.take("!")?;
        return Ok(Arg::List(inner, back));
    }
    match lexer.peek().tok {
        // Where a jump goes: the next `1:`, or the one before.
        Tok::Number(text) if !text.starts_with("0x") && text.ends_with(['f', 'b']) => {
            lexer.next()?;
            Ok(Arg::Word(text))
        }
        Tok::Number(_) | Tok::Sign("-") => {
            let value = signed(lexer)?;
            if lexer.is("(") { base(lexer, value) } else { Ok(Arg::Number(value)) }
        }
        Tok::Sign("(") => base(lexer, 0),
        Tok::Word(word) => {
            lexer.next()?;
            if lexer.take("#")? || matches!(lexer.peek().tok, Tok::Number(_)) {
                return Ok(Arg::Shift(word, signed(lexer)?));
            }
            Ok(Arg::Word(word))
        }
        _ => Err(lexer.unexpected("an operand", OPERANDS)),
    }
}

fn base<'a>(lexer: &mut Lexer<'a>, offset: u64) -> Parsed<Arg<'a>> {
    const MEMORY: &str = "memory is written `0(x5)` or `(x5)`";
    lexer.expect("(", "`(`", MEMORY)?;
    let (name, _) = lexer.word("a register", MEMORY)?;
    lexer.expect(")", "`)`", MEMORY)?;
    Ok(Arg::At(offset, name))
}

fn signed(lexer: &mut Lexer<'_>) -> Parsed<u64> {
    let negative = lexer.take("-")?;
    let token = lexer.peek();
    let Tok::Number(text) = token.tok else {
        return Err(lexer.unexpected("a number", "numbers are decimal or hexadecimal: `17`, `0x11`"));
    };
    lexer.next()?;
    number(text, negative, token.span())
}

/// A thread while it is translated.
pub(crate) struct Writer<'a, 't> {
    pub(crate) thread: Thread,
    number: u32,
    pub(crate) memory: &'a mut Memory,
    sites: &'a mut Sites<'t>,
    /// The instruction that is being translated.
    pub(crate) span: Range<usize>,
    /// Where temporaries begin, and the next one.
    temps: Reg,
    temp: Reg,
    labels: Vec<(&'a str, u32)>,
    jumps: Vec<(usize, &'a str, Range<usize>)>,
    ends: Vec<usize>,
}

impl<'a, 't> Writer<'a, 't> {
    pub(crate) fn new(number: u32, registers: Reg, memory: &'a mut Memory, sites: &'a mut Sites<'t>) -> Writer<'a, 't> {
        let thread = Thread { instrs: Vec::new(), regs: vec![0; usize::from(registers)] };
        Writer {
            thread,
            number,
            memory,
            sites,
            span: 0..0,
            temps: registers,
            temp: registers,
            labels: Vec::new(),
            jumps: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Begins a row: its labels stand for here.
    pub(crate) fn begin(&mut self, line: &Line<'a>) -> Parsed<()> {
        for (label, span) in &line.labels {
            let numbered = label.starts_with(|c: char| c.is_ascii_digit());
            if !numbered && self.labels.iter().any(|(known, _)| known == label) {
                let kind = ErrorKind::Twice { what: "label", name: (*label).to_owned() };
                return Err(Fault::new(kind, span.clone()));
            }
            self.labels.push((label, self.thread.instrs.len() as u32));
        }
        self.span = line.span.clone();
        self.temp = self.temps;
        Ok(())
    }

    pub(crate) fn refuse(&self, help: &'static str) -> Fault {
        let text = quoted(&self.sites.text[self.span.clone()]);
        Fault::new(ErrorKind::Operands { text, help }, self.span.clone())
    }

    pub(crate) fn emit(&mut self, instr: Instr) {
        self.thread.instrs.push(instr);
    }

    pub(crate) fn site(&mut self) -> u32 {
        self.sites.add(self.number, &self.span, C11::default())
    }

    /// A register for the rest of the instruction.
    pub(crate) fn temp(&mut self) -> Reg {
        let temp = self.temp;
        self.temp += 1;
        if self.thread.regs.len() < usize::from(self.temp) {
            self.thread.regs.resize(usize::from(self.temp), 0);
        }
        temp
    }

    /// The result in a temporary, or a constant.
    pub(crate) fn calc(&mut self, op: Calc, a: Operand, b: Operand, ty: Int) -> Operand {
        if let (Operand::Value(a), Operand::Value(b)) = (a, b) {
            return Operand::Value(ty.wrap(op.apply(a, b)));
        }
        let dst = self.temp();
        self.emit(Instr::Calc { op, dst, a, b, ty });
        Operand::Reg(dst)
    }

    /// `dst := operand`
    pub(crate) fn set(&mut self, dst: Option<Reg>, value: Operand, ty: Int) {
        if let Some(dst) = dst {
            self.emit(Instr::Calc { op: Calc::Second, dst, a: Operand::Value(0), b: value, ty });
        }
    }

    pub(crate) fn jump(&mut self, label: &'a str) {
        self.jumps.push((self.thread.instrs.len(), label, self.span.clone()));
        self.emit(Instr::Jump { to: 0 });
    }

    pub(crate) fn branch(&mut self, cond: Operand, unless: bool, label: &'a str) {
        self.jumps.push((self.thread.instrs.len(), label, self.span.clone()));
        self.emit(Instr::Branch { cond, unless, to: 0 });
    }

    /// Ends the thread.
    pub(crate) fn end(&mut self) {
        self.ends.push(self.thread.instrs.len());
        self.emit(Instr::Jump { to: 0 });
    }

    /// Lets all jumps go where they say.
    pub(crate) fn finish(mut self) -> Parsed<Thread> {
        let end = self.thread.instrs.len() as u32;
        let mut names: FxHashMap<&str, u32> = FxHashMap::default();
        for (label, at) in &self.labels {
            names.insert(label, *at);
        }
        let mut patch = |jump: usize, target: u32| match &mut self.thread.instrs[jump] {
            Instr::Jump { to } | Instr::Branch { to, .. } => *to = target,
            _ => unreachable!("only jumps are patched"),
        };
        self.ends.iter().for_each(|&jump| patch(jump, end));
        for (jump, label, span) in &self.jumps {
            let target = match label.strip_suffix(['f', 'b']) {
                Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                    let all = self.labels.iter().filter(|(name, _)| *name == digits).map(|(_, at)| *at);
                    let here = *jump as u32;
                    if label.ends_with('f') {
                        all.filter(|&at| at > here).min()
                    } else {
                        all.filter(|&at| at <= here).max()
                    }
                }
                _ => names.get(label).copied(),
            };
            match target {
                Some(target) => patch(*jump, target),
                None => {
                    let help = "labels stand before an instruction of the same thread: `L: lw x5,0(x6)`";
                    return Err(Fault::unknown("label", label, help, span.clone()));
                }
            }
        }
        Ok(self.thread)
    }
}
