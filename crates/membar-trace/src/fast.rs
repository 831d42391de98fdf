//! The common operations, straight from the buffer.
//!
//! Takes lines of these forms, with spaces and tabs anywhere but inside `0:` and `M[1]`, and leaves all others to
//! [`crate::line`], which reads them more slowly or says what is wrong:
//!
//! ```text
//! 0: M[1] := 1      0: x == 1      0: { M[1] == 0; M[1] := 1 }      0: <x == 0; x := 1>
//! 0: sync           0: acq L       0: rel L
//! 0: x+2:4 == 1     0: M[1]:1 := 1
//! 0: lr x == 1      0: sc x := 1   0: sc x fails      0: fence rw,w   0: fence.tso
//! ```
//!
//! accesses with marks and dependencies behind them ([`crate::marks`]), each with an optional `@ begin:end` and an optional label in ASCII, `! dekker.c:12`. Invariant: a line taken here means
//! the same there.

use crate::line::in_name;
use crate::marks;
use membar_core::{AddrId, AddrName, Marks, Mask, Span, Trace, WORD, largest};

/// Longer lines go the slow way, which checks the length.
const LONGEST: usize = 4096;

/// Takes lines from `text`, which ends with a line end, as long as they are common ones and `line`, the number of the
/// next line, stays below `limit`. Returns the number of bytes taken.
pub(crate) fn take(text: &[u8], line: &mut u64, limit: u64, trace: &mut Trace) -> usize {
    let mut taken = 0;
    while *line < limit {
        let Some(common) = operation(text, taken) else { break };
        push(&common, *line, trace);
        taken = common.next;
        *line += 1;
    }
    taken
}

#[inline(always)]
fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(b'\n')
}

#[inline(always)]
fn skip_space(text: &[u8], at: &mut usize) -> u8 {
    loop {
        match byte(text, *at) {
            b' ' | b'\t' => *at += 1,
            other => return other,
        }
    }
}

/// Up to 19 decimal digits, which cannot overflow.
#[inline(always)]
fn number(text: &[u8], at: &mut usize) -> Option<u64> {
    let start = *at;
    let mut value = 0u64;
    loop {
        let digit = byte(text, *at).wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(digit.into());
        *at += 1;
    }
    matches!(*at - start, 1..=19).then_some(value)
}

/// An address as written.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place<'a> {
    Memory(u64),
    Named(&'a [u8]),
    /// Some bytes of the one or the other.
    Part(Whole<'a>, u32, u8),
}

/// A whole address.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Whole<'a> {
    Memory(u64),
    Named(&'a [u8]),
}

impl Whole<'_> {
    fn name(self) -> AddrName {
        match self {
            Whole::Memory(n) => AddrName::Memory(n),
            Whole::Named(name) => AddrName::Named(std::str::from_utf8(name).unwrap_or_default().into()),
        }
    }
}

impl Place<'_> {
    #[inline(always)]
    pub fn id(self, trace: &mut Trace) -> AddrId {
        match self {
            Place::Memory(n) => trace.memory_id(n),
            Place::Named(name) => trace.named_id(std::str::from_utf8(name).unwrap_or_default()),
            Place::Part(of, offset, width) => trace.part_id(&of.name(), offset, width),
        }
    }
}

#[inline(always)]
fn place<'a>(text: &'a [u8], at: &mut usize) -> Option<Place<'a>> {
    let start = *at;
    if byte(text, start) == b'M' && byte(text, start + 1) == b'[' {
        *at += 2;
        let n = number(text, at)?;
        if byte(text, *at) != b']' {
            return None;
        }
        *at += 1;
        return part(text, at, Whole::Memory(n));
    }
    if !(byte(text, start).is_ascii_alphabetic() || byte(text, start) == b'_') {
        return None;
    }
    while in_name(byte(text, *at)) {
        *at += 1;
    }
    part(text, at, Whole::Named(&text[start..*at]))
}

/// The address, or the bytes of it that are named behind it.
#[inline(always)]
fn part<'a>(text: &[u8], at: &mut usize, whole: Whole<'a>) -> Option<Place<'a>> {
    let next = byte(text, *at);
    if next != b'+' && (next != b':' || !byte(text, *at + 1).is_ascii_digit()) {
        return Some(match whole {
            Whole::Memory(n) => Place::Memory(n),
            Whole::Named(name) => Place::Named(name),
        });
    }
    let mut offset = 0;
    if next == b'+' {
        *at += 1;
        offset = number(text, at).filter(|&offset| offset <= u64::from(u32::MAX >> 1))?;
    }
    if byte(text, *at) != b':' {
        return None;
    }
    *at += 1;
    let width = number(text, at).filter(|width| (1..=u64::from(WORD)).contains(width))?;
    Some(Place::Part(whole, offset as u32, width as u8))
}

impl Place<'_> {
    /// The largest value that fits.
    #[inline(always)]
    fn largest(self) -> u64 {
        match self {
            Place::Part(_, _, width) => largest(width) as u64,
            _ => u64::MAX,
        }
    }
}

/// `:=` is a write.
#[inline(always)]
fn writes(text: &[u8], at: &mut usize) -> Option<bool> {
    let write = match skip_space(text, at) {
        b':' => true,
        b'=' => false,
        _ => return None,
    };
    if byte(text, *at + 1) != b'=' {
        return None;
    }
    *at += 2;
    Some(write)
}

#[inline(always)]
fn value(text: &[u8], at: &mut usize) -> Option<u64> {
    skip_space(text, at);
    number(text, at)
}

/// A thread's action.
pub(crate) enum Action<'a> {
    Access { place: Place<'a>, write: bool, value: u64 },
    Rmw { place: Place<'a>, read: u64, write: u64 },
    Lock { name: &'a [u8], acquire: bool },
    Sync,
    Fence(Mask),
    Failed { place: Place<'a> },
}

/// A common line.
pub(crate) struct Common<'a> {
    pub thread: u32,
    pub action: Action<'a>,
    span: Span,
    /// Of the action itself.
    marks: Marks,
    /// Marks and dependencies behind it.
    suffix: &'a [u8],
    /// Empty if there is none.
    pub label: &'a [u8],
    /// Where the next line begins.
    pub next: usize,
}

impl Common<'_> {
    /// Is there nothing but an action on whole words, with its times?
    pub fn is_plain(&self) -> bool {
        let part = match self.action {
            Action::Access { place, .. } | Action::Rmw { place, .. } => matches!(place, Place::Part(..)),
            _ => false,
        };
        self.marks.is_empty() && self.suffix.is_empty() && !part
    }
}

/// The line that begins at `start`, if it is a common one.
#[inline(always)]
pub(crate) fn operation(text: &[u8], start: usize) -> Option<Common<'_>> {
    let mut at = start;
    let thread = u32::try_from(number(text, &mut at)?).ok()?;
    if byte(text, at) != b':' {
        return None;
    }
    at += 1;
    let first = skip_space(text, &mut at);
    let mut marks = Marks::NONE;
    let action = if matches!(first, b'{' | b'<') {
        rmw(text, &mut at, if first == b'{' { b'}' } else { b'>' })?
    } else {
        let place = place(text, &mut at)?;
        match writes(text, &mut at) {
            Some(write) => Action::Access { place, write, value: value(text, &mut at)? },
            None => match place {
                Place::Named(b"sync") => Action::Sync,
                Place::Named(b"acq") => Action::Lock { name: lock(text, &mut at)?, acquire: true },
                Place::Named(b"rel") => Action::Lock { name: lock(text, &mut at)?, acquire: false },
                Place::Named(word) => instruction(word, text, &mut at, &mut marks)?,
                Place::Memory(_) | Place::Part(..) => return None,
            },
        }
    };
    let fits = match action {
        Action::Access { place, value, .. } => value <= place.largest(),
        Action::Rmw { place, read, write } => read.max(write) <= place.largest(),
        _ => true,
    };
    if !fits {
        return None;
    }
    let mut span = Span::UNKNOWN;
    let mut last = skip_space(text, &mut at);
    let mut suffix: &[u8] = &[];
    if last.is_ascii_lowercase() {
        if !matches!(action, Action::Access { .. } | Action::Rmw { .. }) {
            return None;
        }
        let from = at;
        marks::scan(text, &mut at, |_, _| ())?;
        suffix = &text[from..at];
        last = byte(text, at);
    }
    if last == b'@' {
        span = period(text, &mut at)?;
        last = skip_space(text, &mut at);
    }
    let mut label: &[u8] = &[];
    if last == b'!' {
        at += 1;
        label = labelled(text, &mut at)?;
        last = byte(text, at);
    }
    if last == b'\r' {
        at += 1;
        last = byte(text, at);
    }
    if last != b'\n' || at - start > LONGEST {
        return None;
    }
    Some(Common { thread, action, span, marks, suffix, label, next: at + 1 })
}

#[inline(always)]
fn push(common: &Common<'_>, line: u64, trace: &mut Trace) {
    let thread = trace.thread_id(common.thread);
    let op = match common.action {
        Action::Access { place, write, value } => {
            let addr = place.id(trace);
            if write { trace.push_store(thread, addr, value, line) } else { trace.push_load(thread, addr, value, line) }
        }
        Action::Rmw { place, read, write } => {
            let addr = place.id(trace);
            trace.push_rmw(thread, addr, read, write, line)
        }
        Action::Lock { name, acquire } => {
            let lock = trace.lock_id(std::str::from_utf8(name).unwrap_or_default());
            if acquire { trace.push_acquire(thread, lock, line) } else { trace.push_release(thread, lock, line) }
        }
        Action::Sync => trace.push_fence(thread, None, line),
        Action::Fence(mask) => trace.push_fence(thread, Some(mask), line),
        Action::Failed { place } => {
            let addr = place.id(trace);
            trace.push_failed(thread, addr, line)
        }
    };
    if !common.is_plain() {
        let mut marks = common.marks;
        let _ = marks::scan(common.suffix, &mut 0, |mark, dep| {
            marks = marks.with(mark);
            if let Some((how, back)) = dep {
                trace.push_dependency(how, back);
            }
        });
        if !marks.is_empty() {
            trace.set_marks(op, marks);
        }
    }
    if common.span != Span::UNKNOWN {
        trace.set_span(op, common.span);
    }
}

/// The rest of a reservation or of a barrier in RISC-V's or Arm's words.
fn instruction<'a>(word: &[u8], text: &'a [u8], at: &mut usize, marks: &mut Marks) -> Option<Action<'a>> {
    let following = skip_space(text, at);
    if matches!(following, b'=' | b':' | b'[' | b'+') {
        return None;
    }
    if let Some((mask, style)) = marks::bare(word) {
        *marks = style;
        if !following.is_ascii_lowercase() {
            return Some(Action::Fence(mask));
        }
        let mut operand = || {
            let start = *at;
            while in_name(byte(text, *at)) {
                *at += 1;
            }
            &text[start..*at]
        };
        return Some(Action::Fence(match word {
            b"fence" => {
                let before = operand();
                if byte(text, *at) != b',' {
                    return None;
                }
                *at += 1;
                let start = *at;
                while in_name(byte(text, *at)) {
                    *at += 1;
                }
                marks::sets(before, &text[start..*at])?
            }
            b"dmb" | b"dsb" => marks::domain(word, operand())?,
            _ => return None,
        }));
    }
    let reserves = match word {
        b"lr" => true,
        b"sc" => false,
        _ => return None,
    };
    let place = place(text, at)?;
    *marks = if reserves { Marks::RESERVES } else { Marks::CONDITIONAL };
    if !reserves && skip_space(text, at) == b'f' {
        let fails = text.get(*at..*at + 5)? == b"fails" && !in_name(byte(text, *at + 5));
        *at += 5;
        *marks = marks.with(Marks::FAILED);
        return fails.then_some(Action::Failed { place });
    }
    let write = writes(text, at)?;
    (write != reserves).then_some(())?;
    Some(Action::Access { place, write, value: value(text, at)? })
}

/// A label up to the end of the line; what is not plain text goes the slow way.
fn labelled<'a>(text: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    skip_space(text, at);
    let start = *at;
    while matches!(byte(text, *at), b' '..=b'~' | b'\t') && byte(text, *at) != b'#' {
        *at += 1;
    }
    let label = text[start..*at].trim_ascii_end();
    (!label.is_empty()).then_some(label)
}

fn rmw<'a>(text: &'a [u8], at: &mut usize, close: u8) -> Option<Action<'a>> {
    *at += 1;
    skip_space(text, at);
    let first = place(text, at)?;
    if writes(text, at)? {
        return None;
    }
    let read = value(text, at)?;
    if skip_space(text, at) != b';' {
        return None;
    }
    *at += 1;
    skip_space(text, at);
    if place(text, at)? != first || !writes(text, at)? {
        return None;
    }
    let write = value(text, at)?;
    if skip_space(text, at) != close {
        return None;
    }
    *at += 1;
    Some(Action::Rmw { place: first, read, write })
}

/// A plain name only; what is in brackets goes the slow way.
fn lock<'a>(text: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    skip_space(text, at);
    match place(text, at)? {
        Place::Named(name) => Some(name),
        _ => None,
    }
}

fn period(text: &[u8], at: &mut usize) -> Option<Span> {
    *at += 1;
    let begin = time(text, at)?;
    if byte(text, *at) != b':' {
        return None;
    }
    *at += 1;
    let end = time(text, at)?;
    if let (Some(begin), Some(end)) = (begin, end)
        && end < begin
    {
        return None;
    }
    Some(Span { begin, end })
}

fn time(text: &[u8], at: &mut usize) -> Option<Option<u64>> {
    if !skip_space(text, at).is_ascii_digit() {
        return Some(None);
    }
    let time = number(text, at)?;
    skip_space(text, at);
    Some(Some(time))
}
