//! Operations of a log, before they are written as a trace.

use crate::riscv::Order;
use membar_core::Depends;

/// One operation of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Op {
    /// The thread.
    pub hart: u32,
    /// What it does.
    pub kind: Kind,
    /// Where, unless it is a barrier.
    pub place: Place,
    /// The bits `aq` and `rl`.
    pub order: Order,
    /// When it was issued.
    pub begin: Option<u64>,
    /// When it was done.
    pub end: Option<u64>,
    /// Operations that it depends on, by their index in the log.
    pub depends: Vec<(Depends, usize)>,
    /// The address of its instruction.
    pub pc: Option<u64>,
    /// Its line in the log.
    pub line: u64,
}

/// What an operation does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Returns a value.
    Load(u128),
    /// Stores a value.
    Store(u128),
    /// Returns one value and stores another.
    Rmw(u128, u128),
    /// Load reserved.
    Lr(u128),
    /// Store conditional that stored.
    Sc(u128),
    /// Store conditional that did not store.
    ScFails,
    /// A barrier, in the words of a trace.
    Fence(String),
}

/// Some bytes of memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The first byte; or the number of a cell, where `size` is 0.
    pub address: u64,
    /// How many bytes; 0 if the log has cells that cannot overlap.
    pub size: u8,
    /// The name of a cell, if it has no number.
    pub name: Option<String>,
}

impl Op {
    /// An operation without order, times and dependencies.
    pub fn new(hart: u32, kind: Kind, place: Place, line: u64) -> Op {
        Op { hart, kind, place, order: Order::default(), begin: None, end: None, depends: Vec::new(), pc: None, line }
    }

    /// Does it write?
    pub fn stores(&self) -> bool {
        matches!(self.kind, Kind::Store(_) | Kind::Rmw(..) | Kind::Sc(_))
    }

    /// The value that it returned from memory.
    pub fn returned(&self) -> Option<u128> {
        match self.kind {
            Kind::Load(value) | Kind::Rmw(value, _) | Kind::Lr(value) => Some(value),
            _ => None,
        }
    }

    /// May a machine perform it in pieces: is it a misaligned load or store?
    pub fn torn(&self) -> bool {
        let Place { address, size, .. } = self.place;
        matches!(self.kind, Kind::Load(_) | Kind::Store(_)) && size > 0 && !address.is_multiple_of(size.into())
    }

    /// Does it return something that later operations can depend on?
    pub fn returns(&self) -> bool {
        !matches!(self.kind, Kind::Store(_) | Kind::Fence(_))
    }

    /// Is it an access, not a barrier?
    pub fn accesses(&self) -> bool {
        !matches!(self.kind, Kind::Fence(_))
    }
}

/// A line of a log that could not be converted, or not in full.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The line, from 1; 0 for the whole file.
    pub line: u64,
    /// The place in the line, in bytes.
    pub span: std::ops::Range<usize>,
    /// The reason.
    pub reason: String,
    /// How to fix it; may be empty.
    pub help: &'static str,
}

/// Everything a log says.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Its traces.
    pub traces: Vec<Section>,
    /// What could not be converted.
    pub problems: Vec<Problem>,
    /// What a reader of the trace should know, with how often it happened.
    pub notes: Vec<(String, u64)>,
}

/// One trace of a log.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The operations; those of one hart are in program order.
    pub ops: Vec<Op>,
    /// Known initial values.
    pub init: Vec<(Place, u128)>,
    /// Known final values.
    pub last: Vec<(Place, u128)>,
    /// Is the log the order of one simulator that executes instruction by instruction? Then a value that is read before
    /// anybody has written is the initial one.
    pub in_order: bool,
}

impl Log {
    /// A log of one trace.
    pub fn one(in_order: bool) -> Log {
        Log { traces: vec![Section { in_order, ..Section::default() }], ..Log::default() }
    }

    /// Its last trace.
    pub fn section(&mut self) -> &mut Section {
        if self.traces.is_empty() {
            self.traces.push(Section::default());
        }
        let last = self.traces.len() - 1;
        &mut self.traces[last]
    }

    /// Reports a line.
    pub fn problem(&mut self, line: u64, span: std::ops::Range<usize>, reason: impl Into<String>, help: &'static str) {
        self.problems.push(Problem { line, span, reason: reason.into(), help });
    }

    /// Counts something.
    pub fn note(&mut self, text: &str) {
        match self.notes.iter_mut().find(|(known, _)| known == text) {
            Some((_, count)) => *count += 1,
            None => self.notes.push((text.to_owned(), 1)),
        }
    }
}

/// A number: decimal, or hexadecimal with `0x`.
pub fn number(text: &str) -> Option<u64> {
    large_number(text)?.try_into().ok()
}

/// The same, with at most 128 bits.
pub fn large_number(text: &str) -> Option<u128> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => {
            let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            u128::from_str_radix(digits, 16).ok().filter(|_| all)
        }
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

/// A hexadecimal number, without prefix.
pub fn hex(digits: &str) -> Option<u64> {
    let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| all)
}

/// The byte range of a part within its line.
pub fn span(line: &str, part: &str) -> std::ops::Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize).min(line.len());
    start..(start + part.len()).min(line.len())
}
