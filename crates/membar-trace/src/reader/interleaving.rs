//! Reading a trace as one interleaving: step by step, in memory that does not depend on its length.
//!
//! Invariants: `cells[a].value` is what address `a` holds after the steps so far; a lock holds its holder's id plus one, or
//! 0. A step is handed out only after it was found to be possible, and before the line after it is examined.

use super::{Reader, State, addr_id};
use crate::error::{Error, ErrorKind, NotInterleaved};
use crate::fast::{self, Common};
use crate::line::{Action, Fault, Line, Parser, text};
use crate::{MAX_LINE, error::quoted};
use membar_core::Excerpt;
use membar_core::{AddrId, Final, Init, Malformed, Mask, ThreadId, Trace};
use std::ops::ControlFlow;

/// A thread's action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Read an address.
    Load {
        /// The address.
        addr: AddrId,
        /// Its value.
        value: u64,
    },
    /// Wrote an address.
    Store {
        /// The address.
        addr: AddrId,
        /// Its new value.
        value: u64,
    },
    /// Read and wrote an address atomically.
    Rmw {
        /// The address.
        addr: AddrId,
        /// Its old value.
        read: u64,
        /// Its new value.
        write: u64,
    },
    /// A read-modify-write that did not write, such as a compare-and-swap that failed.
    Attempt {
        /// The address.
        addr: AddrId,
        /// Its value.
        value: u64,
    },
    /// A barrier; `None` is a full one.
    Fence(Option<Mask>),
    /// Took a lock.
    Acquire(AddrId),
    /// Gave it back.
    Release(AddrId),
    /// Started a thread.
    Start(ThreadId),
    /// Waited for the end of a thread.
    Join(ThreadId),
}

/// One step of an interleaving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterleavedOp<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// The action.
    pub act: Act,
    /// Line of the text.
    pub line: u64,
    /// The instruction, where the text names it.
    pub label: Option<&'a str>,
}

/// How reading an interleaving ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// At its `check` line.
    Complete,
    /// At the end of the text, after complete lines but without a `check`.
    Open,
    /// Where the consumer wanted to stop. [`Reader::skip_trace`] continues to the next.
    Stopped,
}

#[derive(Clone, Copy, Default)]
struct Cell {
    value: u64,
    /// Line of the last write; 0 if there is none.
    line: u64,
    /// First line that used it, an `init` line included; 0 if none did.
    used: u64,
    /// Its `final` line; 0 if there is none.
    last: u64,
}

#[derive(Clone, Copy, Default)]
struct Life {
    /// First line, or that of its start; 0 if it has not begun.
    begun: u64,
    /// Line of its join; 0 if it has not been joined.
    joined: u64,
}

/// Everything known about an interleaving besides its steps: names, and what memory holds. Reusable.
#[derive(Default)]
pub struct Interleaving {
    names: Trace,
    cells: Vec<Cell>,
    lives: Vec<Life>,
    first_line: u64,
}

impl std::fmt::Debug for Interleaving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interleaving").field("addresses", &self.cells.len()).finish_non_exhaustive()
    }
}

impl Interleaving {
    /// Nothing has happened.
    pub fn new() -> Interleaving {
        Interleaving::default()
    }

    /// The names of threads, addresses and locks, and the `init` lines so far. It has no operations.
    pub fn names(&self) -> &Trace {
        &self.names
    }

    /// The value of an address after the steps so far.
    pub fn value(&self, addr: AddrId) -> u64 {
        self.cells.get(addr.index()).map_or(0, |cell| cell.value)
    }

    /// The first line that is not blank.
    pub fn first_line(&self) -> u64 {
        self.first_line
    }

    fn clear(&mut self, line: u64) {
        self.names.clear(line);
        self.cells.clear();
        self.lives.clear();
        self.first_line = line;
    }

    fn addr(&self, addr: AddrId) -> String {
        quoted(self.names.addr_names()[addr.index()].to_string().as_bytes())
    }

    #[inline]
    fn cell(&mut self, addr: AddrId) -> &mut Cell {
        if addr.index() >= self.cells.len() {
            self.cells.resize(self.names.addr_names().len().max(addr.index() + 1), Cell::default());
        }
        &mut self.cells[addr.index()]
    }

    #[inline]
    fn life(&mut self, thread: ThreadId) -> &mut Life {
        if thread.index() >= self.lives.len() {
            self.lives.resize(thread.index() + 1, Life::default());
        }
        &mut self.lives[thread.index()]
    }

    fn ended(&self, thread: ThreadId, line: u64) -> NotInterleaved {
        NotInterleaved::Ended { thread: self.names.thread_names()[thread.index()], line }
    }

    /// Takes a step if it is possible; otherwise changes nothing.
    #[inline(always)]
    fn admit(&mut self, thread: ThreadId, act: Act, line: u64) -> Result<(), NotInterleaved> {
        let life = self.life(thread);
        if life.joined > 0 {
            let joined = life.joined;
            return Err(self.ended(thread, joined));
        }
        if life.begun == 0 {
            life.begun = line;
        }
        match act {
            Act::Load { addr, value } | Act::Attempt { addr, value } => {
                let cell = self.cell(addr);
                if cell.value != value {
                    return Err(self.misread(addr, value));
                }
                if cell.used == 0 {
                    cell.used = line;
                }
            }
            Act::Store { addr, value } => {
                let cell = self.cell(addr);
                (cell.value, cell.line, cell.used) = (value, line, line);
            }
            Act::Rmw { addr, read, write } => {
                let cell = self.cell(addr);
                if cell.value != read {
                    return Err(self.misread(addr, read));
                }
                (cell.value, cell.line, cell.used) = (write, line, line);
            }
            Act::Fence(_) => {}
            _ => return self.admit_rare(thread, act, line),
        }
        Ok(())
    }

    #[cold]
    fn misread(&self, addr: AddrId, read: u64) -> NotInterleaved {
        let Cell { value, line, .. } = self.cells[addr.index()];
        NotInterleaved::Read { addr: self.addr(addr), read, holds: value, line }
    }

    fn admit_rare(&mut self, thread: ThreadId, act: Act, line: u64) -> Result<(), NotInterleaved> {
        match act {
            Act::Acquire(lock) => {
                let cell = self.cell(lock);
                if cell.value != 0 {
                    let Cell { value, line, .. } = *cell;
                    let holder = self.names.thread_names()[value as usize - 1];
                    return Err(NotInterleaved::Taken { lock: self.addr(lock), holder, line });
                }
                (cell.value, cell.line) = (u64::from(thread.0) + 1, line);
            }
            Act::Release(lock) => {
                let cell = self.cell(lock);
                if cell.value != u64::from(thread.0) + 1 {
                    return Err(NotInterleaved::NotHeld { lock: self.addr(lock) });
                }
                (cell.value, cell.line) = (0, line);
            }
            Act::Start(child) | Act::Join(child) if child == thread => {
                let thread = self.names.thread_names()[thread.index()];
                return Err(NotInterleaved::Itself { thread, join: matches!(act, Act::Join(_)) });
            }
            Act::Start(child) => {
                let life = self.life(child);
                if life.begun > 0 {
                    let line = life.begun;
                    return Err(NotInterleaved::Begun { thread: self.names.thread_names()[child.index()], line });
                }
                life.begun = line;
            }
            Act::Join(child) => {
                let life = self.life(child);
                if life.joined > 0 {
                    let joined = life.joined;
                    return Err(self.ended(child, joined));
                }
                life.joined = line;
            }
            _ => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn common(&mut self, common: &Common<'_>) -> (ThreadId, Act) {
        let thread = self.names.thread_id(common.thread);
        let act = match common.action {
            fast::Action::Access { place, write, value } => {
                let addr = place.id(&mut self.names);
                if write { Act::Store { addr, value } } else { Act::Load { addr, value } }
            }
            fast::Action::Rmw { place, read, write } => Act::Rmw { addr: place.id(&mut self.names), read, write },
            fast::Action::Lock { name, acquire } => {
                let lock = self.names.lock_id(std::str::from_utf8(name).unwrap_or_default());
                if acquire { Act::Acquire(lock) } else { Act::Release(lock) }
            }
            fast::Action::Sync => Act::Fence(None),
            fast::Action::Fence(mask) => Act::Fence(Some(mask)),
            fast::Action::Failed { .. } => unreachable!("has marks, and is not taken"),
        };
        (thread, act)
    }

    fn precise(&mut self, action: &Action<'_>) -> Act {
        let names = &mut self.names;
        match action {
            Action::Load { addr, value } => Act::Load { addr: addr_id(names, addr), value: *value },
            Action::Store { addr, value } => Act::Store { addr: addr_id(names, addr), value: *value },
            Action::Rmw { addr, read, write } => Act::Rmw { addr: addr_id(names, addr), read: *read, write: *write },
            Action::Attempt { addr, read } => Act::Attempt { addr: addr_id(names, addr), value: *read },
            Action::Fence(mask) => Act::Fence(*mask),
            Action::Failed { .. } => unreachable!("the parser refuses it in interleavings"),
            Action::Acquire(lock) => Act::Acquire(names.lock_id(lock)),
            Action::Release(lock) => Act::Release(names.lock_id(lock)),
            Action::Start(child) => Act::Start(names.thread_id(*child)),
            Action::Join(child) => Act::Join(names.thread_id(*child)),
        }
    }

    fn init(&mut self, addr: AddrId, value: u64, line: u64) -> Result<(), NotInterleaved> {
        let cell = self.cell(addr);
        if cell.used > 0 {
            let line = cell.used;
            return Err(NotInterleaved::LateInit { addr: self.addr(addr), line });
        }
        (cell.value, cell.used) = (value, line);
        self.names.inits.push(Init { addr, value, line });
        Ok(())
    }

    fn last(&mut self, addr: AddrId, value: u64, line: u64) -> Result<(), ErrorKind> {
        let other = std::mem::replace(&mut self.cell(addr).last, line);
        if other > 0 {
            let addr = self.names.addr_names()[addr.index()].clone();
            return Err(ErrorKind::Malformed(Malformed::Repeated { what: "final", addr, line, other }));
        }
        self.names.finals.push(Final { addr, value, line });
        Ok(())
    }

    /// The first `final` line that is wrong, as text, and its number.
    fn wrong_final(&self) -> Option<(NotInterleaved, String, u64)> {
        self.names.finals.iter().find_map(|last| {
            let Cell { value: holds, line, .. } = self.cells.get(last.addr.index()).copied().unwrap_or_default();
            let Final { addr, value, line: at } = *last;
            let name = self.addr(addr);
            let text = format!("final {name} == {value}");
            (holds != value).then_some((NotInterleaved::Final { addr: name, value, holds, line }, text, at))
        })
    }
}

impl Reader<'_> {
    /// Reads the next trace as an interleaving and hands out its steps. `None` is the end of the input.
    ///
    /// After an error, and where the consumer stopped, the reader is at its end unless [`Reader::skip_trace`] is called.
    pub fn interleaving(
        &mut self,
        state: &mut Interleaving,
        mut take: impl FnMut(&Interleaving, &InterleavedOp<'_>) -> ControlFlow<()>,
    ) -> Option<Result<Ended, Error>> {
        if self.state != State::Ready {
            return None;
        }
        state.clear(self.line + 1);
        self.kept = self.pos;
        self.whole = false;
        self.content = None;
        self.state = State::Done;
        self.steps(state, &mut take).transpose()
    }

    fn steps(
        &mut self,
        state: &mut Interleaving,
        take: &mut impl FnMut(&Interleaving, &InterleavedOp<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Ended>, Error> {
        let mut cut = false;
        loop {
            self.await_line()?;
            if self.content.is_none() {
                // If it is not blank, it is the first.
                state.first_line = self.line + 1;
            }
            if self.use_fast {
                let (taken, stop) = self.fast_steps(state, take);
                if taken > 0 {
                    self.pos += taken;
                    if stop {
                        self.state = State::InFault;
                        return Ok(Some(Ended::Stopped));
                    }
                    continue; // the line that is next may have to be waited for
                }
            }
            let Some(line) = self.next_line()? else { break };
            let bytes = &self.buf[line.clone()];
            let number = self.line;
            let unended = self.unended;
            let parsed = if line.len() > MAX_LINE {
                Err(Fault { kind: ErrorKind::LineTooLong { limit: MAX_LINE }, at: MAX_LINE..MAX_LINE + 1 })
            } else {
                text(bytes).and_then(|text| one_step(text, number, state, take))
            };
            match parsed {
                Ok(Taken::Blank) => {}
                Ok(Taken::Line) => {
                    cut = unended;
                    self.begin_content(number);
                }
                Ok(Taken::Stop) => {
                    self.begin_content(number);
                    self.state = State::InFault;
                    return Ok(Some(Ended::Stopped));
                }
                Ok(Taken::Check) => {
                    self.begin_content(number);
                    return self.ended(state, Ended::Complete);
                }
                Err(fault) => {
                    self.state = if super::is_check(bytes) { State::AfterFault } else { State::InFault };
                    self.begin_content(number);
                    return Err(self.error(fault, line));
                }
            }
        }
        match self.content {
            Some(_) if !state.lives.is_empty() && !cut => self.ended(state, Ended::Open),
            Some(first_line) => Err(self.at_end(ErrorKind::Unterminated { first_line }, self.line + 1)),
            None if self.traces == 0 => Err(self.at_end(ErrorKind::NoTrace, 1)),
            None => Ok(None),
        }
    }

    /// At the end of an interleaving: is memory as its `final` lines say?
    fn ended(&mut self, state: &Interleaving, how: Ended) -> Result<Option<Ended>, Error> {
        if let Some((fault, text, line)) = state.wrong_final() {
            self.state = State::AfterFault;
            let excerpt = Some(Box::new(Excerpt::new(text.as_bytes(), 0..1)));
            return Err(Error { excerpt, ..self.at_end(ErrorKind::Interleaving(fault), line) });
        }
        self.state = State::Ready;
        Ok(Some(how))
    }

    /// Takes common lines as long as they are possible; the others go the slow way, which says what is wrong.
    #[inline]
    fn fast_steps(
        &mut self,
        state: &mut Interleaving,
        take: &mut impl FnMut(&Interleaving, &InterleavedOp<'_>) -> ControlFlow<()>,
    ) -> (usize, bool) {
        let text = &self.buf[self.pos..self.complete];
        let (mut taken, mut line, mut stop) = (0, self.line, false);
        while let Some(common) = fast::operation(text, taken).filter(Common::is_plain) {
            let (thread, act) = state.common(&common);
            if state.admit(thread, act, line + 1).is_err() {
                break;
            }
            line += 1;
            taken = common.next;
            let label = if common.label.is_empty() { None } else { std::str::from_utf8(common.label).ok() };
            if take(state, &InterleavedOp { thread, act, line, label }).is_break() {
                stop = true;
                break;
            }
        }
        if taken > 0 {
            self.begin_content(self.line + 1);
            self.line = line;
        }
        (taken, stop)
    }
}

enum Taken {
    Blank,
    Check,
    Line,
    Stop,
}

/// A line, precisely.
fn one_step(
    text: &str,
    line: u64,
    state: &mut Interleaving,
    take: &mut impl FnMut(&Interleaving, &InterleavedOp<'_>) -> ControlFlow<()>,
) -> Result<Taken, Fault> {
    let mut parser = Parser::interleaved(text);
    match parser.line()? {
        Line::Blank => Ok(Taken::Blank),
        Line::Check => Ok(Taken::Check),
        Line::Op { thread, action, label, .. } => {
            let thread = state.names.thread_id(thread);
            let act = state.precise(&action);
            state.admit(thread, act, line).map_err(|fault| {
                let at = match fault {
                    NotInterleaved::Read { .. } => parser.read_at.clone(),
                    NotInterleaved::Taken { .. } | NotInterleaved::NotHeld { .. } => parser.addr_at.clone(),
                    _ => parser.thread_at.clone(),
                };
                Fault { kind: ErrorKind::Interleaving(fault), at }
            })?;
            let stop = take(state, &InterleavedOp { thread, act, line, label }).is_break();
            Ok(if stop { Taken::Stop } else { Taken::Line })
        }
        Line::Init { addr, value } => {
            let addr = addr_id(&mut state.names, &addr);
            let kind = |fault| Fault { kind: ErrorKind::Interleaving(fault), at: parser.addr_at.clone() };
            state.init(addr, value as u64, line).map_err(kind).map(|()| Taken::Line)
        }
        Line::Final { addr, value } => {
            let addr = addr_id(&mut state.names, &addr);
            let fault = |kind| Fault { kind, at: parser.addr_at.clone() };
            state.last(addr, value as u64, line).map_err(fault).map(|()| Taken::Line)
        }
        // The order of the lines says more than an `order` line can; what a lock guards matters to no monitor.
        Line::Order { .. } | Line::Guard { .. } => Ok(Taken::Line),
    }
}
