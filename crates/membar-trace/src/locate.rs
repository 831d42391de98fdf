//! The place of a fault that shows only once a trace is complete.
//!
//! Such a fault names a line that was read long ago. If its text is still in the buffer, the line is parsed once more
//! to find the address or value at fault; otherwise the line is rewritten from the trace, and its column is not
//! known.

use crate::error::{Error, ErrorKind};
use crate::line::{self, Parser};
use crate::write::{Declaration, write_op};
use membar_core::{Excerpt, columns};
use membar_core::{Malformed, OpId, Trace};
use std::ops::Range;

/// The fault as an error; `text` is the whole text of the trace, from its first line on, if it is still there.
pub(crate) fn locate(fault: Malformed, file: &str, trace: &Trace, text: Option<&[u8]>) -> Error {
    let number = line_of(&fault);
    let original = text.and_then(|text| nth_line(text, number - trace.first_line()));
    let (column, excerpt) = match original {
        Some(original) => {
            let at = blame(&fault, original).unwrap_or(0..1);
            (columns(&original[..at.start]) + 1, Some(Excerpt::new(original, at)))
        }
        None => (1, rewritten(trace, number).map(|text| Excerpt::new(text.as_bytes(), 0..1))),
    };
    Error {
        kind: Box::new(ErrorKind::Malformed(fault)),
        file: file.into(),
        line: number,
        column,
        excerpt: excerpt.map(Box::new),
        cut_off: false,
    }
}

fn line_of(fault: &Malformed) -> u64 {
    match *fault {
        Malformed::WrittenTwice { line, .. }
        | Malformed::WritesInitial { line, .. }
        | Malformed::Repeated { line, .. }
        | Malformed::OrderUnwritten { line, .. }
        | Malformed::OrderTwice { line, .. }
        | Malformed::OrderMisses { line, .. }
        | Malformed::OrderOfParts { line, .. }
        | Malformed::ReleaseUnheld { line, .. }
        | Malformed::AcquireHeld { line, .. }
        | Malformed::HeldAtEnd { line, .. }
        | Malformed::DependsOnNothing { line, .. }
        | Malformed::DependsOnStore { line, .. }
        | Malformed::OtherReservation { line, .. } => line,
    }
}

fn nth_line(text: &[u8], n: u64) -> Option<&[u8]> {
    let mut rest = text;
    for _ in 0..n {
        rest = &rest[memchr::memchr(b'\n', rest)? + 1..];
    }
    let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

/// The bytes of the line that are at fault.
fn blame(fault: &Malformed, original: &[u8]) -> Option<Range<usize>> {
    let mut parser = Parser::new(line::text(original).ok()?);
    if let Malformed::OrderUnwritten { value, .. } | Malformed::OrderTwice { value, .. } = fault {
        parser.watch = Some(*value);
    }
    parser.line().ok()?;
    Some(match fault {
        Malformed::WrittenTwice { .. }
        | Malformed::WritesInitial { .. }
        | Malformed::OrderUnwritten { .. }
        | Malformed::OrderTwice { .. } => parser.value_at,
        Malformed::Repeated { .. }
        | Malformed::OrderMisses { .. }
        | Malformed::OrderOfParts { .. }
        | Malformed::ReleaseUnheld { .. }
        | Malformed::AcquireHeld { .. }
        | Malformed::HeldAtEnd { .. }
        | Malformed::OtherReservation { .. } => parser.addr_at,
        Malformed::DependsOnNothing { how, .. } | Malformed::DependsOnStore { how, .. } => {
            let at = memchr::memmem::find(original, format!("{how}(").as_bytes())?;
            at..at + how.name().len()
        }
    })
}

fn rewritten(trace: &Trace, number: u64) -> Option<String> {
    let mut text = String::new();
    if let Some(declaration) = Declaration::all(trace).find(|declaration| declaration.line(trace) == number) {
        declaration.write(trace, &mut text).ok()?;
        return Some(text);
    }
    // Operations were pushed in the order of their lines.
    let (mut low, mut high) = (0, trace.len() as u32);
    while low < high {
        let middle = low + (high - low) / 2;
        if trace.line(OpId(middle)) < number { low = middle + 1 } else { high = middle }
    }
    (low < trace.len() as u32).then(|| write_op(trace, OpId(low), &mut text).ok().map(|()| text))?
}
