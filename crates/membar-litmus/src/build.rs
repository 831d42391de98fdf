//! One thread's code while it is written.

use crate::code::{Alu, Instr, Int, Operand, Place, Reg, Site, ThreadCode};
use crate::error::{ErrorKind, Fault, Parsed};
use membar_core::{Barrier, C11, Fence};
use std::ops::Range;

/// Where jumps go that are not known yet.
const OPEN: u32 = u32::MAX;

/// Registers of a thread, at most: temporaries included.
const REGISTERS: usize = 4096;

/// The sites of all threads, with what is needed to make them.
pub(crate) struct Sites<'a> {
    pub(crate) text: &'a str,
    pub(crate) list: Vec<Site>,
    /// A place that was looked up, and its line and where that begins: sites come mostly in the order of the text.
    seen: (usize, u32, usize),
}

impl<'a> Sites<'a> {
    pub(crate) fn new(text: &'a str) -> Sites<'a> {
        Sites { text, list: Vec::new(), seen: (0, 1, 0) }
    }

    pub(crate) fn add(&mut self, thread: u32, span: &Range<usize>, c11: C11) -> u32 {
        let (mut at, mut line, mut begins) = if self.seen.0 <= span.start { self.seen } else { (0, 1, 0) };
        for (offset, byte) in self.text.as_bytes()[at..span.start].iter().enumerate() {
            if *byte == b'\n' {
                line += 1;
                begins = at + offset + 1;
            }
        }
        at = span.start;
        self.seen = (at, line, begins);
        let column = self.text[begins..at].chars().count() as u32 + 1;
        let mut text = String::with_capacity(span.len());
        for word in self.text[span.clone()].split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        self.list.push(Site { thread, line, column, text, c11 });
        self.list.len() as u32 - 1
    }
}

/// A thread that is being written.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) code: ThreadCode,
    /// The sizes of the accesses through pointers.
    pub(crate) indirect: Vec<u8>,
    /// Temporaries that are not in use.
    free: Vec<Reg>,
}

impl Builder {
    pub(crate) fn emit(&mut self, instr: Instr) -> usize {
        self.code.instrs.push(instr);
        self.code.instrs.len() - 1
    }

    /// The index of the next instruction.
    pub(crate) fn here(&self) -> u32 {
        self.code.instrs.len() as u32
    }

    pub(crate) fn reg(&mut self, span: &Range<usize>) -> Parsed<Reg> {
        if self.code.regs.len() >= REGISTERS {
            return Err(Fault::new(
                ErrorKind::TooMany { what: "registers in a thread", limit: REGISTERS },
                span.clone(),
            ));
        }
        self.code.regs.push(0);
        Ok(self.code.regs.len() as Reg - 1)
    }

    /// A register for a while.
    pub(crate) fn temp(&mut self, span: &Range<usize>) -> Parsed<Reg> {
        match self.free.pop() {
            Some(reg) => Ok(reg),
            None => {
                let reg = self.reg(span)?;
                self.code.temps.push(reg);
                Ok(reg)
            }
        }
    }

    /// Gives a temporary back.
    pub(crate) fn release(&mut self, reg: Reg) {
        self.free.push(reg);
    }

    pub(crate) fn alu(&mut self, op: Alu, dst: Reg, a: Operand, b: Operand, ty: Int) {
        self.emit(Instr::Alu { op, dst, a, b, ty });
    }

    pub(crate) fn barrier(&mut self, barrier: Barrier) {
        if barrier != Barrier::None {
            self.emit(Instr::Barrier(barrier));
        }
    }

    pub(crate) fn fence(&mut self, fence: Fence) {
        if fence != Fence::None {
            self.emit(Instr::Fence(fence));
        }
    }

    /// Notes the size of an access.
    pub(crate) fn place(&mut self, place: Place, bits: u8) -> Place {
        if let Place::At(_) = place
            && !self.indirect.contains(&bits)
        {
            self.indirect.push(bits);
        }
        place
    }

    /// A jump to a place that is not known yet.
    pub(crate) fn jump(&mut self) -> usize {
        self.emit(Instr::Jump { to: OPEN })
    }

    /// The same, if the condition is not 0 (`unless`: if it is).
    pub(crate) fn branch(&mut self, cond: Operand, unless: bool) -> usize {
        self.emit(Instr::Branch { cond, unless, to: OPEN })
    }

    /// Lets a jump go to `target`.
    pub(crate) fn patch(&mut self, jump: usize, target: u32) {
        match &mut self.code.instrs[jump] {
            Instr::Jump { to } | Instr::Branch { to, .. } => *to = target,
            _ => unreachable!("only jumps are patched"),
        }
    }
}
