//! Traces as text.

use crate::line::is_name;
use membar_core::{AddrId, AddrName, Marks, Mask, OpId, OpKind, Trace};
use std::fmt;
use std::io;

/// Writes one operation the way a trace has it, without line end: `0: M[1] := 1 @ 100:120`.
pub fn write_op(trace: &Trace, id: OpId, out: &mut impl fmt::Write) -> fmt::Result {
    let op = trace.op(id);
    write!(out, "{}: ", trace.thread_names()[op.thread.index()])?;
    if op.marks.meets(Marks::RESERVES) {
        out.write_str("lr ")?;
    } else if op.marks.meets(Marks::CONDITIONAL) {
        out.write_str("sc ")?;
    }
    match op.kind {
        OpKind::Fence if op.marks.meets(Marks::FAILED) => write!(out, "{} fails", name(trace, op.addr))?,
        OpKind::Load => write!(out, "{} == {}", name(trace, op.addr), trace.whole_read(id))?,
        OpKind::Store => write!(out, "{} := {}", name(trace, op.addr), trace.whole_write(id))?,
        OpKind::Rmw => {
            let addr = name(trace, op.addr);
            write!(out, "{{ {addr} == {}; {addr} := {} }}", trace.whole_read(id), trace.whole_write(id))?;
        }
        OpKind::Fence => match op.mask {
            None => out.write_str("sync")?,
            Some(mask) if op.marks.is_empty() => write_mask(mask, out)?,
            Some(mask) => write_barrier(mask, op.marks, out)?,
        },
        OpKind::Acquire => write!(out, "acq {}", name(trace, op.addr))?,
        OpKind::Release => write!(out, "rel {}", name(trace, op.addr))?,
    }
    for (_, word) in Marks::WORDS.iter().filter(|(mark, _)| op.marks.meets(*mark)) {
        write!(out, " {word}")?;
    }
    for (i, width) in trace.pieces(id).iter().enumerate() {
        write!(out, "{}{width}", if i == 0 { " pieces(" } else { "," })?;
    }
    if !trace.pieces(id).is_empty() {
        out.write_char(')')?;
    }
    let mut open = None;
    for dep in trace.dependencies(id) {
        match open {
            Some(how) if how == dep.how => write!(out, ",-{}", dep.back)?,
            _ => write!(out, "{} {}(-{}", if open.is_some() { ")" } else { "" }, dep.how, dep.back)?,
        }
        open = Some(dep.how);
    }
    if open.is_some() {
        out.write_char(')')?;
    }
    match (op.span.begin, op.span.end) {
        (None, None) => Ok(()),
        (Some(begin), Some(end)) => write!(out, " @ {begin}:{end}"),
        (Some(begin), None) => write!(out, " @ {begin}:"),
        (None, Some(end)) => write!(out, " @ :{end}"),
    }
}

fn name(trace: &Trace, addr: AddrId) -> &AddrName {
    &trace.addr_names()[addr.index()]
}

fn write_mask(mask: Mask, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_str("membar")?;
    let mut before = ' ';
    for (pair, name, _) in Mask::PAIRS {
        if mask.contains(pair) {
            write!(out, "{before}{name}")?;
            before = '|';
        }
    }
    Ok(())
}

/// A barrier in the words of RISC-V or Arm.
fn write_barrier(mask: Mask, marks: Marks, out: &mut impl fmt::Write) -> fmt::Result {
    if marks.meets(Marks::FENCE_I) {
        return out.write_str("fence.i");
    }
    if marks.meets(Marks::ISB) {
        return out.write_str("isb");
    }
    if marks.meets(Marks::DMB) {
        return out.write_str(match mask {
            Mask::STORE_STORE => "dmb st",
            _ if mask == Mask::STORE_STORE | Mask::STORE_LOAD => "dsb st",
            Mask::FULL => "dmb sy",
            _ => "dmb ld",
        });
    }
    if mask == crate::marks::tso() {
        return out.write_str("fence.tso");
    }
    // The sets of a fence: what is earlier in some pair, and what is later.
    let set = |later: bool| {
        let has = |stores: bool| {
            let pair = |other: bool| if later { Mask::pair(other, stores) } else { Mask::pair(stores, other) };
            mask.contains(pair(false)) || mask.contains(pair(true))
        };
        match (has(false), has(true)) {
            (true, true) => "rw",
            (true, false) => "r",
            (false, true) => "w",
            (false, false) => "io",
        }
    };
    write!(out, "fence {},{}", set(false), set(true))
}

/// A line that is not an operation.
#[derive(Clone, Copy)]
pub(crate) enum Declaration {
    Init(usize),
    Guard(usize),
    Final(usize),
    Order(usize),
}

impl Declaration {
    /// A whole trace: statements about its beginning first.
    pub fn all(trace: &Trace) -> impl Iterator<Item = Declaration> {
        (0..trace.inits.len())
            .map(Declaration::Init)
            .chain((0..trace.guards.len()).map(Declaration::Guard))
            .chain((0..trace.finals.len()).map(Declaration::Final))
            .chain((0..trace.orders.len()).map(Declaration::Order))
    }

    /// Line of the text.
    pub fn line(self, trace: &Trace) -> u64 {
        match self {
            Declaration::Init(i) => trace.inits[i].line,
            Declaration::Guard(i) => trace.guards[i].line,
            Declaration::Final(i) => trace.finals[i].line,
            Declaration::Order(i) => trace.orders[i].line,
        }
    }

    pub fn write(self, trace: &Trace, out: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Declaration::Init(i) => {
                let init = trace.inits[i];
                write!(out, "init {} == {}", name(trace, init.addr), init.value)
            }
            Declaration::Final(i) => {
                let last = trace.finals[i];
                write!(out, "final {} == {}", name(trace, last.addr), last.value)
            }
            Declaration::Order(i) => {
                let order = &trace.orders[i];
                write!(out, "order {}:", name(trace, order.addr))?;
                order.values.iter().try_for_each(|value| write!(out, " {value}"))
            }
            Declaration::Guard(i) => {
                let guard = &trace.guards[i];
                write!(out, "guard {}:", name(trace, guard.lock))?;
                guard.addrs.iter().try_for_each(|&addr| write!(out, " {}", name(trace, addr)))
            }
        }
    }
}

/// Writes a trace with its `check`; [`crate::Reader`] reads it back as the same trace.
///
/// Lines keep their order, by their line numbers, and so threads and addresses keep their ids; comments and blank
/// lines are not part of a trace. Where a trace was not read from text and all line numbers are equal, `init` and
/// `guard` lines come first, `final` and `order` lines last.
///
/// Fails with [`io::ErrorKind::InvalidInput`], before anything is written, if the text could not be read back: a name
/// that is none, such as `a b`, or that means something else (a *named* address `M[3]`), or a barrier with an empty mask.
pub fn write_trace(trace: &Trace, out: &mut impl io::Write) -> io::Result<()> {
    fn bad(name: &AddrName) -> bool {
        match name {
            AddrName::Memory(_) => false,
            AddrName::Named(text) => !is_name(text) || text.starts_with("M["),
            AddrName::Lock(text) => !is_name(text),
            AddrName::Part(part) => bad(&part.of) || matches!(part.of, AddrName::Lock(_) | AddrName::Part(_)),
        }
    }
    for name in trace.addr_names() {
        if bad(name) {
            let message = format!("{:?} cannot be written as a name in a trace", name.to_string());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
    }
    if trace.ops().any(|op| trace.mask(op).is_some_and(Mask::is_empty) && trace.marks(op).is_empty()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a barrier that orders nothing cannot be written"));
    }
    const BLOCK: usize = 1 << 16;
    let mut block = String::with_capacity(BLOCK + 256);
    let mut declarations: Vec<Declaration> = Declaration::all(trace).collect();
    declarations.sort_by_key(|declaration| declaration.line(trace));
    let mut declarations = declarations.into_iter().peekable();
    let mut declare = |before: Option<u64>, block: &mut String| {
        let due = |declaration: &Declaration| match (before, declaration) {
            (None, _) => true,
            (Some(line), Declaration::Init(_) | Declaration::Guard(_)) => declaration.line(trace) <= line,
            (Some(line), _) => declaration.line(trace) < line,
        };
        while let Some(declaration) = declarations.next_if(due) {
            declaration.write(trace, block).map_err(io::Error::other)?;
            block.push('\n');
        }
        Ok::<(), io::Error>(())
    };
    for op in trace.ops() {
        declare(Some(trace.line(op)), &mut block)?;
        write_op(trace, op, &mut block).map_err(io::Error::other)?;
        block.push('\n');
        if block.len() >= BLOCK {
            out.write_all(block.as_bytes())?;
            block.clear();
        }
    }
    declare(None, &mut block)?;
    block.push_str("check\n");
    out.write_all(block.as_bytes())
}
