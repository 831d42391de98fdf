//! A part of a trace as text that says where its lines come from.

use crate::Trace;
use crate::core::AddrId;
use crate::report::count;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

/// The part as text, each line with its line in the original.
pub fn annotated(part: &Trace, source: &str, number: u64, model: &str, whole: usize) -> io::Result<String> {
    let mut plain = Vec::new();
    crate::trace::write_trace(part, &mut plain)?;
    let plain = String::from_utf8_lossy(&plain);
    let mut lines = declared(part);
    let mut ops = part.ops();
    let width = plain.lines().map(str::len).max().unwrap_or(0).min(60);
    let mut text = String::new();
    let source = crate::report::safe(source);
    let model = crate::report::safe(model);
    let _ = writeln!(text, "# The smallest part of {source}, trace {number}, that {model} forbids:");
    let _ = writeln!(text, "# {} of {}; the comments are lines of {source}.", part.len(), count(whole, "operation"));
    for line in plain.lines() {
        let from = if line.starts_with(|c: char| c.is_ascii_digit()) {
            ops.next().map(|op| part.line(op))
        } else {
            lines.remove(line)
        };
        let _ = match from {
            Some(from) => writeln!(text, "{line:<width$}  # line {from}"),
            None => writeln!(text, "{line}"),
        };
    }
    Ok(text)
}

/// Lines that are no operations, as they are written, with where they come from.
fn declared(part: &Trace) -> HashMap<String, u64> {
    let name = |addr: AddrId| part.addr_names()[addr.index()].to_string();
    let mut lines = HashMap::new();
    for init in &part.inits {
        lines.insert(format!("init {} == {}", name(init.addr), init.value), init.line);
    }
    for end in &part.finals {
        lines.insert(format!("final {} == {}", name(end.addr), end.value), end.line);
    }
    for order in &part.orders {
        let values: String = order.values.iter().map(|value| format!(" {value}")).collect();
        lines.insert(format!("order {}:{values}", name(order.addr)), order.line);
    }
    for guard in &part.guards {
        let addrs: String = guard.addrs.iter().map(|&addr| format!(" {}", name(addr))).collect();
        lines.insert(format!("guard {}:{addrs}", name(guard.lock)), guard.line);
    }
    lines
}
