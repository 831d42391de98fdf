//! The streaming reader: owns the buffer and the loop over lines.
//!
//! The buffer holds the unread part of the input and, while it is small, the text of the current trace:
//!
//! ```text
//!   0        kept            pos              complete    end          buf.len()
//!   | free   | trace so far  | complete lines | line begun| free       |
//! ```
//!
//! Invariants: `kept <= pos <= complete <= end <= buf.len()`; a line begins at `pos`, and it is line `line + 1`; every
//! line in `pos..complete` has its line end. If `whole`, then `kept` is where the current trace begins; it is used for
//! pointing at faults that show only at `check`, and it is given up when a trace outgrows [`KEEP`].

use crate::error::{Error, ErrorKind};
use crate::input::{Compression, Input};
use crate::line::{Action, Addr, Fault, Line, Parser, in_name, text};
use crate::{fast, locate};
use membar_core::{AddrId, Guard, OpId, OrderLine, ResolveScratch, Source, Span, ThreadId, Trace};
use membar_core::{Excerpt, columns};
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// The longest line that is read, in bytes.
pub const MAX_LINE: usize = 64 << 20;
/// The most that is read in one go.
const CHUNK: usize = 128 << 10;
/// How much of a trace's text is kept for error messages.
const KEEP: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// At the beginning of a trace.
    Ready,
    /// In a trace with a fault, after the line at fault.
    InFault,
    /// After the `check` of a trace with a fault.
    AfterFault,
    /// At the end, or where nothing more can be read.
    Done,
}

/// Reads traces one after the other; see the [crate documentation](crate) for an example.
pub struct Reader<'a> {
    name: String,
    input: Input<'a>,
    buf: Vec<u8>,
    kept: usize,
    pos: usize,
    complete: usize,
    end: usize,
    whole: bool,
    at_eof: bool,
    /// The line at `pos` is longer than can be kept and its beginning is gone.
    in_long_line: bool,
    /// The line that was taken last is the end of the text, without a line end.
    unended: bool,
    state: State,
    /// Lines read.
    line: u64,
    /// The first line of the current trace that is not blank.
    content: Option<u64>,
    /// Traces begun, those with a fault included.
    traces: u64,
    /// Lines that a trace may have. Each operation has its own line, so ids cannot run out either.
    max_lines: u64,
    use_fast: bool,
    scratch: ResolveScratch,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("name", &self.name).field("line", &self.line).finish_non_exhaustive()
    }
}

/// All traces of a text that is in memory, or its first fault.
pub fn parse(name: &str, text: &[u8]) -> Result<Vec<Trace>, Error> {
    let mut reader = Reader::new(name, text);
    let mut traces = Vec::new();
    let mut trace = Trace::new();
    while let Some(result) = reader.next(&mut trace) {
        result?;
        traces.push(std::mem::take(&mut trace));
    }
    Ok(traces)
}

impl Reader<'static> {
    /// Opens a file; `-` is standard input.
    pub fn open(path: impl AsRef<Path>) -> Result<Reader<'static>, Error> {
        let path = path.as_ref();
        if path.as_os_str() == "-" {
            return Ok(Reader::new("<stdin>", std::io::stdin()));
        }
        let name = path.to_string_lossy();
        let open = |error| Error::whole_file(ErrorKind::Open(error), &name);
        let file = std::fs::File::open(path).map_err(open)?;
        if file.metadata().map_err(open)?.is_dir() {
            return Err(Error::whole_file(ErrorKind::Directory, &name));
        }
        Ok(Reader::new(name, file))
    }
}

impl<'a> Reader<'a> {
    /// Reads from anything; `name` is what errors call it. Needs no buffering around it. Nothing is read yet.
    pub fn new(name: impl Into<String>, from: impl Read + Send + 'a) -> Reader<'a> {
        Reader {
            name: name.into(),
            input: Input::Unopened(Box::new(from)),
            buf: Vec::new(),
            kept: 0,
            pos: 0,
            complete: 0,
            end: 0,
            whole: true,
            at_eof: false,
            in_long_line: false,
            unended: false,
            state: State::Ready,
            line: 0,
            content: None,
            traces: 0,
            max_lines: u64::from(Source::LIMIT),
            use_fast: true,
            scratch: ResolveScratch::default(),
        }
    }

    /// The same for a part of a text that begins after this many lines and traces.
    pub fn after(mut self, lines: u64, traces: u64) -> Reader<'a> {
        (self.line, self.traces) = (lines, traces);
        self
    }

    /// The name under which errors report it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Index of the trace that [`Reader::next`] last delivered or refused, from 0.
    pub fn trace_index(&self) -> u64 {
        self.traces.saturating_sub(1)
    }

    /// Number of lines read so far; after a trace was delivered, the line of its `check`.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// How the input is compressed, once something was read.
    pub fn compression(&self) -> Option<Compression> {
        self.input.format()
    }

    /// Reads the next trace into `trace`, resolved. `None` is the end of the input.
    ///
    /// Returns as soon as the trace's `check` line has arrived. The last `check` may be missing ([`Trace::open_end`]), but not
    /// the end of the last line: that one may have been cut off. After an error the contents of `trace` mean nothing,
    /// and the reader is at its end unless [`Reader::skip_trace`] is called.
    pub fn next(&mut self, trace: &mut Trace) -> Option<Result<(), Error>> {
        if self.state != State::Ready {
            return None;
        }
        trace.clear(self.line + 1);
        self.kept = self.pos;
        self.whole = true;
        self.content = None;
        self.state = State::Done;
        match self.read_trace(trace) {
            Ok(true) => {
                self.state = State::Ready;
                Some(Ok(()))
            }
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// After an error: goes to the trace after the one at fault, so that [`Reader::next`] can continue. Harmless where
    /// there was no error. Fails if the input cannot be read.
    pub fn skip_trace(&mut self) -> Result<(), Error> {
        if self.state == State::InFault {
            self.state = State::Done;
            self.whole = false;
            while let Some(line) = self.next_line()? {
                if is_check(&self.buf[line]) {
                    self.state = State::Ready;
                    break;
                }
            }
        } else if self.state == State::AfterFault {
            self.state = State::Ready;
        }
        Ok(())
    }

    fn read_trace(&mut self, trace: &mut Trace) -> Result<bool, Error> {
        let limit = trace.first_line().saturating_add(self.max_lines);
        // Does the text end in the middle of an operation?
        let mut cut = false;
        loop {
            self.await_line()?;
            if self.use_fast {
                let mut next = self.line + 1;
                let taken = fast::take(&self.buf[self.pos..self.complete], &mut next, limit, trace);
                if taken > 0 {
                    self.begin_content(self.line + 1);
                    self.pos += taken;
                    self.line = next - 1;
                    continue; // the line that is next may have to be waited for
                }
            }
            let Some(line) = self.next_line()? else { break };
            let bytes = &self.buf[line.clone()];
            let parsed = if self.line >= limit {
                Err(Fault { kind: ErrorKind::TraceTooLong { limit: self.max_lines }, at: 0..1 })
            } else if line.len() > MAX_LINE {
                Err(Fault { kind: ErrorKind::LineTooLong { limit: MAX_LINE }, at: MAX_LINE..MAX_LINE + 1 })
            } else {
                text(bytes).and_then(|text| Parser::new(text).line())
            };
            match parsed {
                Ok(Line::Blank) => {}
                Ok(Line::Check) => {
                    self.begin_content(self.line);
                    return self.finish(trace).map(|()| true);
                }
                Ok(parsed) => {
                    cut = self.unended;
                    add(trace, parsed, self.line);
                    self.begin_content(self.line);
                }
                Err(fault) => {
                    // A `check` with something wrong behind it still ends its trace.
                    self.state = if is_check(bytes) { State::AfterFault } else { State::InFault };
                    self.begin_content(self.line);
                    return Err(self.error(fault, line));
                }
            }
        }
        match self.content {
            // Every line is complete, and there are operations: only the `check` is missing.
            Some(_) if !trace.is_empty() && !cut => {
                trace.set_open_end();
                self.finish(trace).map(|()| true)
            }
            Some(first_line) => Err(self.at_end(ErrorKind::Unterminated { first_line }, self.line + 1)),
            None if self.traces == 0 => Err(self.at_end(ErrorKind::NoTrace, 1)),
            None => Ok(false),
        }
    }

    /// The line is not blank: if it is the first such one, it begins a trace.
    fn begin_content(&mut self, line: u64) {
        if self.content.is_none() {
            self.content = Some(line);
            self.traces += 1;
        }
    }

    /// At `check`: do the lines make sense together?
    fn finish(&mut self, trace: &mut Trace) -> Result<(), Error> {
        trace.set_end_line(self.line);
        trace.resolve_recorded(&mut self.scratch).map_err(|fault| {
            self.state = State::AfterFault;
            locate::locate(fault, &self.name, trace, self.whole.then(|| &self.buf[self.kept..self.pos]))
        })
    }

    fn error(&self, fault: Fault, line: Range<usize>) -> Error {
        let bytes = &self.buf[line];
        Error {
            kind: Box::new(fault.kind),
            file: self.name.clone(),
            line: self.line,
            column: columns(&bytes[..fault.at.start.min(bytes.len())]) + 1,
            excerpt: Some(Box::new(Excerpt::new(bytes, fault.at))),
            cut_off: self.at_eof && self.pos == self.end && !self.buf[..self.end].ends_with(b"\n"),
        }
    }

    fn at_end(&self, kind: ErrorKind, line: u64) -> Error {
        Error { line, column: 1, ..Error::whole_file(kind, &self.name) }
    }

    /// Reads until there is a complete line, or never will be.
    fn await_line(&mut self) -> Result<(), Error> {
        while self.pos == self.complete && !self.at_eof && self.end - self.pos <= MAX_LINE + 1 {
            self.fill()?;
        }
        Ok(())
    }

    /// Takes the next line, without its end, out of the buffer, reading more as needed. Of a line that is longer than
    /// [`MAX_LINE`] the beginning is returned, which is also longer than that; the rest is passed over later.
    fn next_line(&mut self) -> Result<Option<Range<usize>>, Error> {
        loop {
            let mut start = self.pos;
            let stop = if self.pos < self.complete {
                let length = memchr::memchr(b'\n', &self.buf[start..self.complete]);
                let stop = length.map_or(self.complete, |length| start + length);
                self.pos = self.complete.min(stop + 1);
                stop
            // One more, since a carriage return may be followed by the line end that takes it away.
            } else if self.pos < self.end && (self.at_eof || self.in_long_line || self.end - self.pos > MAX_LINE + 1) {
                self.pos = self.end;
                self.complete = self.end;
                if !self.at_eof {
                    if std::mem::replace(&mut self.in_long_line, true) {
                        continue;
                    }
                    self.line += 1;
                    return Ok(Some(start..self.end));
                }
                self.unended = true;
                self.end
            } else if self.at_eof {
                return Ok(None);
            } else {
                self.fill()?;
                continue;
            };
            if std::mem::take(&mut self.in_long_line) {
                continue;
            }
            self.line += 1;
            let mut line = &self.buf[start..stop];
            if self.line == 1 && line.starts_with(b"\xEF\xBB\xBF") {
                start += 3; // some editors begin a file with a byte order mark
                line = &self.buf[start..stop];
                self.kept = start;
            }
            let carriage_return = usize::from(line.ends_with(b"\r"));
            return Ok(Some(start..stop - carriage_return));
        }
    }

    /// Reads once, making room first.
    fn fill(&mut self) -> Result<(), Error> {
        self.whole &= self.pos - self.kept <= KEEP;
        let keep = if self.whole { self.kept } else { self.pos };
        if self.buf.len() - self.end < CHUNK || (keep > 0 && self.end - keep < CHUNK / 16) {
            self.buf.copy_within(keep..self.end, 0);
            self.kept = 0;
            self.pos -= keep;
            self.complete -= keep;
            self.end -= keep;
            if self.buf.len() - self.end < CHUNK {
                let size = (2 * self.buf.len()).clamp(2 * CHUNK, MAX_LINE + KEEP + 2 * CHUNK);
                self.buf.resize(size.max(self.end + CHUNK), 0);
            }
        }
        let into = &mut self.buf[self.end..self.end + CHUNK];
        match self.input.read(into) {
            Ok(0) => self.at_eof = true,
            Ok(n) => {
                if let Some(last) = memchr::memrchr(b'\n', &into[..n]) {
                    self.complete = self.end + last + 1;
                }
                self.end += n;
            }
            Err(error) => {
                let kind = match self.input.format() {
                    // Errors reported by the system come from below the decompressor.
                    Some(format) if error.raw_os_error().is_none() => ErrorKind::Decompress { format, error },
                    _ => ErrorKind::Read(error),
                };
                let column = columns(&self.buf[self.pos..self.end]) + 1;
                return Err(Error { column, ..self.at_end(kind, self.line + 1) });
            }
        }
        Ok(())
    }
}

/// Whether a line ends a trace.
pub(crate) fn is_check(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"check") && !line.get(5).is_some_and(|&byte| in_name(byte))
}

fn addr_id(trace: &mut Trace, addr: &Addr<'_>) -> AddrId {
    match addr {
        Addr::Memory(n) => trace.memory_id(*n),
        Addr::Named(name) => trace.named_id(name),
        part => trace.addr_id(&part.name()),
    }
}

fn add(trace: &mut Trace, parsed: Line<'_>, line: u64) {
    match parsed {
        Line::Blank | Line::Check => {}
        Line::Op { thread, action, said, span, label: _ } => {
            let thread = trace.thread_id(thread);
            let Some(op) = push(trace, thread, &action, line) else { return };
            if span != Span::UNKNOWN {
                trace.set_span(op, span);
            }
            if said.high != [0; 2] {
                trace.set_high(op, said.high[0], said.high[1]);
            }
            if !said.pieces.is_empty() {
                trace.set_pieces(op, &said.pieces);
            }
            if !said.marks.is_empty() {
                trace.set_marks(op, said.marks);
            }
            for (how, back) in said.deps {
                trace.push_dependency(how, back);
            }
        }
        Line::Init { addr, value } => {
            trace.push_init(&addr.name(), value, line);
        }
        Line::Final { addr, value } => {
            trace.push_final(&addr.name(), value, line);
        }
        Line::Order { addr, values } => {
            let addr = addr_id(trace, &addr);
            trace.orders.push(OrderLine { addr, values, line });
        }
        Line::Guard { lock, addrs } => {
            let lock = trace.lock_id(&lock);
            let addrs = addrs.iter().map(|addr| addr_id(trace, addr)).collect();
            trace.guards.push(Guard { lock, addrs, line });
        }
    }
}

fn push(trace: &mut Trace, thread: ThreadId, action: &Action<'_>, line: u64) -> Option<OpId> {
    Some(match action {
        Action::Load { addr, value } => {
            let addr = addr_id(trace, addr);
            trace.push_load(thread, addr, *value, line)
        }
        Action::Store { addr, value } => {
            let addr = addr_id(trace, addr);
            trace.push_store(thread, addr, *value, line)
        }
        Action::Rmw { addr, read, write } => {
            let addr = addr_id(trace, addr);
            trace.push_rmw(thread, addr, *read, *write, line)
        }
        Action::Failed { addr } => {
            let addr = addr_id(trace, addr);
            trace.push_failed(thread, addr, line)
        }
        Action::Fence(mask) => trace.push_fence(thread, *mask, line),
        Action::Acquire(lock) => {
            let lock = trace.lock_id(lock);
            trace.push_acquire(thread, lock, line)
        }
        Action::Release(lock) => {
            let lock = trace.lock_id(lock);
            trace.push_release(thread, lock, line)
        }
        // The parser accepts these in interleavings only.
        Action::Attempt { .. } | Action::Start(_) | Action::Join(_) => return None,
    })
}

mod interleaving;

pub use interleaving::{Act, Ended, InterleavedOp, Interleaving};

#[cfg(test)]
mod tests;
