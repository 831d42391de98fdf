//! One line, parsed precisely: the reference for the grammar and the only source of syntax errors.
//!
//! The parser works on bytes (the grammar is ASCII) of a line that [`text`] has found to be UTF-8 without NUL. It
//! remembers where the last address and the last value stood, so that a fault which shows only when the trace is
//! complete can be pointed at by parsing its line once more.

use crate::error::{ErrorKind, quoted};
use membar_core::columns;
use membar_core::{AddrName, Depends, Marks, Mask, Part, Span, WIDEST, WORD, largest};
use std::borrow::Cow;
use std::ops::Range;

/// A fault and the bytes of the line that are to blame.
#[derive(Debug)]
pub(crate) struct Fault {
    pub kind: ErrorKind,
    pub at: Range<usize>,
}

/// An address as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Addr<'a> {
    Memory(u64),
    Named(Cow<'a, str>),
    /// Some bytes of an address.
    Part {
        of: Box<Addr<'a>>,
        offset: u32,
        width: u8,
    },
}

impl Addr<'_> {
    /// Its name in a trace.
    pub fn name(&self) -> AddrName {
        match self {
            Addr::Memory(n) => AddrName::Memory(*n),
            Addr::Named(name) => AddrName::Named(name.as_ref().into()),
            &Addr::Part { ref of, offset, width } => AddrName::Part(Box::new(Part { of: of.name(), offset, width })),
        }
    }
}

impl std::fmt::Display for Addr<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Addr::Memory(n) => write!(f, "M[{n}]"),
            Addr::Named(name) => f.write_str(name),
            part => part.name().fmt(f),
        }
    }
}

/// A thread's action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action<'a> {
    Load {
        addr: Addr<'a>,
        value: u64,
    },
    Store {
        addr: Addr<'a>,
        value: u64,
    },
    Rmw {
        addr: Addr<'a>,
        read: u64,
        write: u64,
    },
    /// A read-modify-write that did not write. For interleavings only, as the next two.
    Attempt {
        addr: Addr<'a>,
        read: u64,
    },
    /// A store conditional that did not store.
    Failed {
        addr: Addr<'a>,
    },
    Fence(Option<Mask>),
    Acquire(Cow<'a, str>),
    Release(Cow<'a, str>),
    Start(u32),
    Join(u32),
}

/// What an operation says besides address and value: its marks, and its dependencies as distances.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Said {
    pub marks: Marks,
    pub deps: Vec<(Depends, u32)>,
    /// What is read and written behind the first 8 bytes.
    pub high: [u64; 2],
    /// The widths of the pieces into which it may be torn.
    pub pieces: Vec<u8>,
}

/// The meaning of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line<'a> {
    Blank,
    Check,
    Op { thread: u32, action: Action<'a>, said: Said, span: Span, label: Option<&'a str> },
    Init { addr: Addr<'a>, value: u128 },
    Final { addr: Addr<'a>, value: u128 },
    Order { addr: Addr<'a>, values: Vec<u64> },
    Guard { lock: Cow<'a, str>, addrs: Vec<Addr<'a>> },
}

/// The line as text, if it is text.
pub(crate) fn text(line: &[u8]) -> Result<&str, Fault> {
    if let Some(at) = memchr::memchr(0, line) {
        return Err(Fault { kind: ErrorKind::Nul, at: at..at + 1 });
    }
    std::str::from_utf8(line).map_err(|error| {
        let at = error.valid_up_to();
        let end = error.error_len().map_or(line.len(), |n| at + n);
        Fault { kind: ErrorKind::InvalidUtf8, at: at..end }
    })
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(crate) fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$')
}

/// The parser of one line, which has no line end any more.
pub(crate) struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The last address or lock.
    pub addr_at: Range<usize>,
    /// The last value; in an `order` line the last one equal to `watch`.
    pub value_at: Range<usize>,
    /// The value that was read.
    pub read_at: Range<usize>,
    /// The thread that begins the line, or the one that is started or joined.
    pub thread_at: Range<usize>,
    /// The value of an `order` line to look for.
    pub watch: Option<u64>,
    /// Is this part of an interleaving, with what only those have?
    interleaved: bool,
    /// The bytes of the last address.
    pub width: u8,
    /// What the operation says besides address and value.
    pub marks: Marks,
    pub deps: Vec<(Depends, u32)>,
    pub pieces: Vec<u8>,
    high: [u64; 2],
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str) -> Parser<'a> {
        let none = || 0..0;
        Parser {
            text,
            at: 0,
            addr_at: none(),
            value_at: none(),
            read_at: none(),
            thread_at: none(),
            watch: None,
            interleaved: false,
            width: WORD,
            marks: Marks::NONE,
            deps: Vec::new(),
            pieces: Vec::new(),
            high: [0; 2],
        }
    }

    /// For a line of an interleaving.
    pub fn interleaved(text: &'a str) -> Parser<'a> {
        Parser { interleaved: true, ..Parser::new(text) }
    }

    pub fn line(&mut self) -> Result<Line<'a>, Fault> {
        let line = match self.next() {
            None | Some(b'#') => return Ok(Line::Blank),
            Some(byte) if byte.is_ascii_digit() => self.operation()?,
            Some(byte) if starts_name(byte) => {
                let start = self.at;
                match self.word() {
                    "check" => Line::Check,
                    "init" => self.equation().map(|(addr, value)| Line::Init { addr, value })?,
                    "final" => self.equation().map(|(addr, value)| Line::Final { addr, value })?,
                    "order" => self.order()?,
                    "guard" => self.guard()?,
                    _ => {
                        self.at = start;
                        return Err(self.no_such_line());
                    }
                }
            }
            Some(_) => return Err(self.no_such_line()),
        };
        match self.next() {
            None | Some(b'#') => Ok(line),
            Some(_) => Err(self.expected("the end of the line", "one operation a line; comments begin with `#`")),
        }
    }

    /// Neither an operation nor a declaration; or an operation that lacks only its thread?
    fn no_such_line(&mut self) -> Fault {
        let start = self.at;
        let word = self.word();
        let operation = match self.next() {
            Some(b':' | b'{' | b'<') if word.is_empty() => true,
            Some(b'[') => true,
            _ => [b":=", b"=="].iter().any(|operator| self.rest().starts_with(*operator)),
        };
        self.at = start;
        let expected = if operation || matches!(word, "sync" | "membar" | "acq" | "rel") {
            "a thread id before the operation"
        } else {
            "a thread id, `check`, `init`, `final`, `order` or `guard`"
        };
        self.expected(expected, "an operation begins with its thread: `0: M[1] := 1`")
    }

    fn operation(&mut self) -> Result<Line<'a>, Fault> {
        let thread = self.thread()?;
        self.token(b":", "`:` after the thread id", "write `0: M[1] := 1`")?;
        let action = match self.next() {
            Some(open @ (b'{' | b'<')) => self.rmw(open)?,
            Some(byte) if starts_name(byte) => self.plain()?,
            _ => return Err(self.expected("an operation", "write `0: M[1] := 1`, `0: M[1] == 1` or `0: sync`")),
        };
        let suffix = self.at_next();
        if !matches!(action, Action::Start(_) | Action::Join(_)) {
            self.suffixes()?;
        }
        let said = Said {
            marks: self.marks,
            deps: std::mem::take(&mut self.deps),
            high: self.high,
            pieces: std::mem::take(&mut self.pieces),
        };
        let barrier = matches!(action, Action::Fence(_) | Action::Failed { .. });
        if self.interleaved
            && (!said.deps.is_empty() || !said.marks.is_empty() || !said.pieces.is_empty())
            && !matches!(action, Action::Fence(_))
        {
            return Err(Fault { kind: ErrorKind::RecordedOnly, at: suffix..self.at.max(suffix + 1) });
        }
        let words = Marks::WORDS.iter().fold(Marks::NONE, |all, &(mark, _)| all.with(mark));
        let torn = !said.pieces.is_empty();
        if torn && (!matches!(action, Action::Load { .. } | Action::Store { .. }) || !said.marks.is_empty()) {
            return Err(Fault { kind: ErrorKind::TornAtomic, at: suffix..self.at.max(suffix + 1) });
        }
        let lock = matches!(action, Action::Acquire(_) | Action::Release(_) | Action::Attempt { .. });
        if (barrier
            && (said.marks.meets(words)
                || (!said.deps.is_empty() && matches!(action, Action::Fence(_)) && !said.marks.meets(Marks::ISB))))
            || (lock && said != Said::default())
        {
            return Err(Fault { kind: ErrorKind::MarkedBarrier, at: suffix..self.at.max(suffix + 1) });
        }
        let span = if self.next() == Some(b'@') { self.span()? } else { Span::UNKNOWN };
        let label = if self.next() == Some(b'!') { Some(self.label()?) } else { None };
        Ok(Line::Op { thread, action, said, span, label })
    }

    fn thread(&mut self) -> Result<u32, Fault> {
        let start = self.at_next();
        let thread = self.number("thread id", u64::from(u32::MAX))? as u32;
        self.thread_at = start..self.at;
        Ok(thread)
    }

    /// The instruction that an operation comes from: everything up to a comment.
    fn label(&mut self) -> Result<&'a str, Fault> {
        self.at += 1;
        if matches!(self.next(), None | Some(b'#')) {
            return Err(self.expected("a label", "a label names the instruction: `0: x := 1 ! dekker.c:12`"));
        }
        let rest = &self.text[self.at..];
        let label = rest[..rest.find('#').unwrap_or(rest.len())].trim_end_matches([' ', '\t']);
        self.at += label.len();
        Ok(label)
    }

    /// An access, a barrier or a lock operation: the words are keywords only if no `:=` or `==` follows.
    fn plain(&mut self) -> Result<Action<'a>, Fault> {
        let start = self.at;
        let word = self.word();
        if matches!(word, "sync" | "membar" | "acq" | "rel") && !matches!(self.next(), Some(b'=' | b':' | b'[' | b'+'))
        {
            return Ok(match word {
                "sync" => Action::Fence(None),
                "membar" => Action::Fence(Some(self.mask()?)),
                "acq" => Action::Acquire(self.lock()?),
                _ => Action::Release(self.lock()?),
            });
        }
        if !matches!(self.next(), Some(b'=' | b':' | b'[' | b'+')) {
            if let Some(barrier) = self.barrier(word)? {
                return Ok(barrier);
            }
            if matches!(word, "lr" | "sc") {
                return self.reservation(word == "lr");
            }
        }
        if matches!(word, "start" | "join") && self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            if !self.interleaved {
                let word = if word == "start" { "start" } else { "join" };
                return Err(Fault { kind: ErrorKind::InterleavedOnly { word }, at: start..start + word.len() });
            }
            let child = self.thread()?;
            return Ok(if word == "start" { Action::Start(child) } else { Action::Join(child) });
        }
        self.at = start;
        let (addr, writes) = self.access()?;
        let value = self.value(writes)?;
        self.read_at = self.value_at.clone();
        Ok(if writes { Action::Store { addr, value } } else { Action::Load { addr, value } })
    }

    fn access(&mut self) -> Result<(Addr<'a>, bool), Fault> {
        let addr = self.addr()?;
        let writes = self.operator()?;
        Ok((addr, writes))
    }

    /// `:=`, which writes, or `==`.
    pub(crate) fn operator(&mut self) -> Result<bool, Fault> {
        match self.next() {
            Some(b':') if self.rest().starts_with(b":=") => self.at += 2,
            Some(b'=') if self.rest().starts_with(b"==") => {
                self.at += 2;
                return Ok(false);
            }
            _ => return Err(self.expected("`:=` or `==`", "`:=` stores and `==` loads")),
        }
        Ok(true)
    }

    fn rmw(&mut self, open: u8) -> Result<Action<'a>, Fault> {
        let help = "write `{ M[0] == old; M[0] := new }`";
        let open_at = self.at;
        self.at += 1;
        let first_at = self.at_next();
        let (addr, writes) = self.access()?;
        if writes {
            return Err(Fault { kind: ErrorKind::RmwWritesFirst, at: first_at..self.at });
        }
        let read = self.value(false)?;
        self.read_at = self.value_at.clone();
        let close = if open == b'{' { b'}' } else { b'>' };
        if self.interleaved && self.next() == Some(close) {
            self.at += 1;
            return Ok(Action::Attempt { addr, read });
        }
        self.token(b";", "`;` and the write of the read-modify-write", help)?;
        let second_at = self.at_next();
        let (second, writes) = self.access()?;
        if !writes {
            return Err(Fault { kind: ErrorKind::RmwReadsTwice, at: second_at..self.at });
        }
        if second != addr {
            let kind = ErrorKind::RmwTwoAddresses {
                read: quoted(addr.to_string().as_bytes()),
                write: quoted(second.to_string().as_bytes()),
            };
            return Err(Fault { kind, at: self.addr_at.clone() });
        }
        let write = self.value(true)?;
        if self.next() != Some(close) {
            let (found, at) = self.found();
            let column = columns(&self.text.as_bytes()[..open_at]) + 1;
            return Err(Fault {
                kind: ErrorKind::Unclosed { open: open.into(), column, close: close.into(), found },
                at,
            });
        }
        self.at += 1;
        Ok(Action::Rmw { addr, read, write })
    }

    /// Masks begin with `#`, as comments do: what follows `membar` or `|` is a mask, what follows a mask is a comment
    /// unless it is a mask's name, where a `|` must have been forgotten.
    fn mask(&mut self) -> Result<Mask, Fault> {
        let mut all = Mask::NONE;
        loop {
            let help = "write `membar #StoreLoad` or `membar #StoreStore|#StoreLoad`; a full barrier is `sync`";
            if self.next() != Some(b'#') || !self.rest().get(1).is_some_and(|&byte| starts_name(byte)) {
                return Err(self.expected("a barrier mask", help));
            }
            let start = self.at;
            self.at += 1;
            self.word();
            let name = &self.text[start..self.at];
            let Some(mask) = mask_of(name) else {
                return Err(Fault {
                    kind: ErrorKind::UnknownMask { text: quoted(name.as_bytes()) },
                    at: start..self.at,
                });
            };
            all = all | mask;
            match self.next() {
                Some(b'|') => self.at += 1,
                Some(b'#') => {
                    let start = self.at;
                    self.at += 1;
                    self.word();
                    if Parser::any_mask(&self.text[start..self.at]) {
                        let found = format!("`{}`", &self.text[start..self.at]);
                        let kind = ErrorKind::Syntax {
                            expected: "`|` between two masks",
                            found,
                            help: "write `membar #StoreStore|#StoreLoad`",
                        };
                        return Err(Fault { kind, at: start..self.at });
                    }
                    self.at = start;
                    return Ok(all);
                }
                _ => return Ok(all),
            }
        }
    }

    fn any_mask(name: &str) -> bool {
        ["#Sync", "#MemIssue"]
            .into_iter()
            .chain(Mask::PAIRS.map(|(_, known, _)| known))
            .any(|known| known.eq_ignore_ascii_case(name))
    }

    fn span(&mut self) -> Result<Span, Fault> {
        let help = "write `@ 100:120`, `@ 100:` or `@ :120`";
        self.at += 1;
        let begin = self.time()?;
        let expected = if begin.is_some() { "`:` after the begin time" } else { "a begin time or `:`" };
        self.token(b":", expected, help)?;
        let start = self.at_next();
        let end = self.time()?;
        if let (Some(begin), Some(end)) = (begin, end)
            && end < begin
        {
            return Err(Fault { kind: ErrorKind::TimeReversed { begin, end }, at: start..self.at });
        }
        Ok(Span { begin, end })
    }

    fn time(&mut self) -> Result<Option<u64>, Fault> {
        let digit = self.next().is_some_and(|byte| byte.is_ascii_digit());
        digit.then(|| self.number("time", u64::MAX)).transpose()
    }

    fn equation(&mut self) -> Result<(Addr<'a>, u128), Fault> {
        let addr = self.addr()?;
        self.token(b"==", "`==` and a value", "write `init M[3] == 7` or `final M[3] == 7`")?;
        let value = self.whole_value()?;
        Ok((addr, value))
    }

    fn order(&mut self) -> Result<Line<'a>, Fault> {
        let addr = self.whole()?;
        self.token(b":", "`:` and the values", "write `order M[0]: 1 5 3`, oldest value first")?;
        let mut values = Vec::new();
        let mut watched = 0..0;
        while self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            let value = self.value(true)?;
            if self.watch == Some(value) {
                watched = self.value_at.clone();
            }
            values.push(value);
        }
        if !matches!(self.next(), None | Some(b'#')) {
            return Err(
                self.expected("a value or the end of the line", "write `order M[0]: 1 5 3`, oldest value first")
            );
        }
        if self.watch.is_some() {
            self.value_at = watched;
        }
        Ok(Line::Order { addr, values })
    }

    fn guard(&mut self) -> Result<Line<'a>, Fault> {
        let help = "write `guard L1: x M[3]`";
        let lock = self.lock()?;
        let lock_at = self.addr_at.clone();
        self.token(b":", "`:` and what the lock guards", help)?;
        let mut addrs = Vec::new();
        while self.next().is_some_and(starts_name) {
            addrs.push(self.addr()?);
        }
        if !matches!(self.next(), None | Some(b'#')) {
            return Err(self.expected("an address or the end of the line", help));
        }
        self.addr_at = lock_at;
        Ok(Line::Guard { lock, addrs })
    }

    /// An address, or some bytes of one: `x`, `M[3]+4:2`, `x:1`.
    pub(crate) fn addr(&mut self) -> Result<Addr<'a>, Fault> {
        let of = self.whole()?;
        let start = self.addr_at.start;
        let part = match self.rest() {
            [b'+', ..] => true,
            [b':', digit, ..] => digit.is_ascii_digit(),
            _ => false,
        };
        if !part {
            return Ok(of);
        }
        let help = "write `x+2:4` for the 4 bytes from byte 2 on, with 1 to 16 bytes";
        let mut offset = 0;
        if self.rest().starts_with(b"+") {
            self.at += 1;
            offset = self.number("offset", u64::from(u32::MAX >> 1))? as u32;
        }
        self.token(b":", "`:` and the number of bytes", help)?;
        let at = self.at_next();
        let width = self.number("number of bytes", u64::from(WIDEST))? as u8;
        if width == 0 {
            return Err(self.expected_at(at, "the number of bytes, 1 to 16", help));
        }
        if self.interleaved {
            return Err(Fault { kind: ErrorKind::RecordedOnly, at: start..self.at });
        }
        self.addr_at = start..self.at;
        self.width = width;
        Ok(if (offset, width) == (0, WORD) { of } else { Addr::Part { of: Box::new(of), offset, width } })
    }

    /// A whole address.
    fn whole(&mut self) -> Result<Addr<'a>, Fault> {
        self.width = WORD;
        if !self.next().is_some_and(starts_name) {
            return Err(self.expected("an address", "addresses are `M[3]` or names such as `x` and `flag[0]`"));
        }
        let start = self.at;
        let word = self.word();
        if self.next() != Some(b'[') {
            self.addr_at = start..start + word.len();
            return Ok(Addr::Named(word.into()));
        }
        self.at += 1;
        let n = self.number("address", u64::MAX)?;
        self.token(b"]", "`]`", "addresses are `M[3]` or names such as `x` and `flag[0]`")?;
        self.addr_at = start..self.at;
        Ok(if word == "M" { Addr::Memory(n) } else { Addr::Named(format!("{word}[{n}]").into()) })
    }

    fn lock(&mut self) -> Result<Cow<'a, str>, Fault> {
        if !self.next().is_some_and(starts_name) {
            return Err(self.expected("the name of a lock", "locks are names such as `L1`: `2: acq L1`"));
        }
        Ok(match self.whole()? {
            Addr::Named(name) => name,
            memory => memory.to_string().into(),
        })
    }

    /// A value that is written or read: its first 8 bytes. The others are noted.
    pub(crate) fn value(&mut self, writes: bool) -> Result<u64, Fault> {
        let value = self.whole_value()?;
        self.high[usize::from(writes)] = (value >> 64) as u64;
        Ok(value as u64)
    }

    fn whole_value(&mut self) -> Result<u128, Fault> {
        let start = self.at_next();
        let value = self.large_number("value", largest(self.width))?;
        self.value_at = start..self.at;
        Ok(value)
    }

    pub(crate) fn number(&mut self, what: &'static str, max: u64) -> Result<u64, Fault> {
        Ok(self.large_number(what, max.into())? as u64)
    }

    fn large_number(&mut self, what: &'static str, max: u128) -> Result<u128, Fault> {
        if !self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            let expected = match what {
                "value" => "a value",
                "address" => "the number of an address",
                _ => "a number",
            };
            return Err(self.expected(expected, "numbers are decimal (`17`) or hexadecimal (`0x11`), without sign"));
        }
        let start = self.at;
        let word = self.word().as_bytes();
        let fault = |kind| Err(Fault { kind, at: start..start + word.len() });
        let (digits, radix) = match word {
            [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
            digits => (digits, 10),
        };
        let mut number = Some(0u128);
        for &byte in digits {
            let Some(digit) = char::from(byte).to_digit(radix) else {
                return fault(ErrorKind::NotANumber { text: quoted(word) });
            };
            number = number.and_then(|n| n.checked_mul(radix.into())?.checked_add(digit.into()));
        }
        match number {
            _ if digits.is_empty() => fault(ErrorKind::NotANumber { text: quoted(word) }),
            Some(n) if n <= max => Ok(n),
            _ => fault(ErrorKind::TooLarge { what, text: quoted(word), max }),
        }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// The next byte that is not white space; the parser stands on it.
    pub(crate) fn next(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\t') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    /// Where the next token begins.
    pub(crate) fn at_next(&mut self) -> usize {
        self.next();
        self.at
    }

    /// Takes everything from here that can stand in a name or a number.
    pub(crate) fn word(&mut self) -> &'a str {
        let start = self.at;
        while self.rest().first().is_some_and(|&byte| in_name(byte)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    pub(crate) fn token(&mut self, token: &[u8], expected: &'static str, help: &'static str) -> Result<(), Fault> {
        self.next();
        if !self.rest().starts_with(token) {
            return Err(self.expected(expected, help));
        }
        self.at += token.len();
        Ok(())
    }

    /// The next word, without taking it.
    pub(crate) fn rest_word(&mut self) -> &'a str {
        let start = self.at_next();
        let word = self.word();
        self.at = start;
        word
    }

    /// What stands from `start` on is not known there.
    pub(crate) fn unknown(&self, start: usize, help: &'static str) -> Fault {
        let end = self.at.max(start + 1);
        let text = quoted(self.text.as_bytes().get(start..end).unwrap_or_default());
        Fault { kind: ErrorKind::UnknownMark { text, help }, at: start..end }
    }

    /// As [`Parser::expected`], about what stands at `start`.
    pub(crate) fn expected_at(&mut self, start: usize, expected: &'static str, help: &'static str) -> Fault {
        self.at = start;
        self.expected(expected, help)
    }

    fn expected(&self, expected: &'static str, help: &'static str) -> Fault {
        let (found, at) = self.found();
        Fault { kind: ErrorKind::Syntax { expected, found, help }, at }
    }

    /// The text found here, in words, and where it ends.
    fn found(&self) -> (String, Range<usize>) {
        let rest = &self.text[self.at..];
        let length = match rest.as_bytes() {
            [] => return ("the end of the line".into(), self.at..self.at + 1),
            [b'#', ..] => return ("a comment".into(), self.at..self.at + 1),
            [b':', b'=', ..] | [b'=', b'=', ..] => 2,
            [byte, ..] if in_name(*byte) => rest.bytes().take_while(|&byte| in_name(byte)).count(),
            _ => rest.chars().next().map_or(0, char::len_utf8),
        };
        (format!("`{}`", quoted(&rest.as_bytes()[..length])), self.at..self.at + length)
    }
}

fn mask_of(name: &str) -> Option<Mask> {
    if matches!(name, "#Sync" | "#MemIssue") {
        return Some(Mask::FULL);
    }
    Mask::PAIRS.iter().find(|&&(_, known, _)| known == name).map(|&(mask, _, _)| mask)
}

/// Can the word be read back as one name?
pub(crate) fn is_name(name: &str) -> bool {
    let mut parser = Parser::new(name);
    name.bytes().next().is_some_and(starts_name)
        && parser.lock().is_ok_and(|read| read == name)
        && parser.at == name.len()
}
