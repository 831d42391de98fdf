//! Small traces from bytes, so that a small change of the bytes is a small change of the trace.
//!
//! The first byte chooses: a trace written down operation by operation, or the random trace of a seed
//! (`membar_testkit::small`) with a few reads changed. Bytes that are missing count as zero.

use crate::text;
use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use membar_core::{AddrId, AddrName, Final, Init, Marks, Mask, Op, OpKind, OrderLine, ResolveScratch, Span, Trace};
use membar_testkit::{Small, small};
use std::fmt;

/// More operations than this make the oracle slow.
const MOST_OPS: usize = 8;
const ADDRESSES: u8 = 3;

const TIMES: u8 = 1;
const INITS: u8 = 2;
const FINALS: u8 = 4;
const ORDERS: u8 = 8;
/// Each address counts its own values from 1, so that addresses share values.
const SHARED_VALUES: u8 = 16;
const LARGE_VALUES: u8 = 32;

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }
}

/// One or two small traces, resolved. Shown as text where a crash is reported, and by `cargo fuzz fmt`.
pub struct Traces(pub Vec<Trace>);

impl<'a> Arbitrary<'a> for Traces {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Traces> {
        let bytes = bytes.bytes(bytes.len())?;
        let (first, rest) = decode(bytes).ok_or(arbitrary::Error::IncorrectFormat)?;
        let second = Some(rest).filter(|rest| !rest.is_empty()).and_then(decode).map(|(trace, _)| trace);
        Ok(Traces([first].into_iter().chain(second).collect()))
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|trace| f.write_str(&text(trace)))
    }
}

/// The (resolved) trace that these bytes stand for, and the bytes that are left; `None` if they stand for none.
fn decode(bytes: &[u8]) -> Option<(Trace, &[u8])> {
    let mut bytes = Bytes(bytes);
    let trace = match bytes.next() {
        0..=191 => written(&mut bytes)?,
        _ => seeded(&mut bytes)?,
    };
    Some((trace, bytes.0))
}

/// A trace with these operations and the names and other lines of `trace`, resolved; `None` if it is malformed.
pub fn rebuilt(trace: &Trace, ops: &[Op]) -> Option<Trace> {
    let mut new = membar_testkit::rebuilt(trace, ops);
    new.resolve(&mut ResolveScratch::default()).ok()?;
    Some(new)
}

/// Initial value first, then what is written, in the order of the text.
fn values(ops: &[Op], addr: AddrId, initial: u64) -> Vec<u64> {
    let writes = ops.iter().filter(|op| op.addr == addr && matches!(op.kind, OpKind::Store | OpKind::Rmw));
    [initial].into_iter().chain(writes.map(|op| op.write)).collect()
}

/// The value that a byte chooses for a read; 255 is one that nobody writes.
fn chosen(values: &[u64], byte: u8) -> u64 {
    if byte == 255 { 777_777 } else { values[byte as usize % values.len()] }
}

fn seeded(bytes: &mut Bytes) -> Option<Trace> {
    let seed = u64::from_le_bytes(std::array::from_fn(|_| bytes.next()));
    let trace = small(&Small { ops: 3..=MOST_OPS as u32, ..Small::ALL }, seed);
    if trace.len() > MOST_OPS + 2 {
        return None;
    }
    let mut ops: Vec<Op> = trace.ops().map(|op| trace.op(op)).collect();
    for _ in 0..bytes.next() % 4 {
        let (which, byte) = (bytes.next() as usize % ops.len().max(1), bytes.next());
        if let Some(op) = ops.get(which).copied().filter(|op| matches!(op.kind, OpKind::Load | OpKind::Rmw)) {
            ops[which].read = chosen(&values(&ops, op.addr, trace.initial(op.addr)), byte);
        }
    }
    rebuilt(&trace, &ops)
}

fn written(bytes: &mut Bytes) -> Option<Trace> {
    let flags = bytes.next();
    let mut trace = Trace::new();
    trace.clear(1);
    let count = bytes.next() as usize % (MOST_OPS + 1);
    let mut ops = Vec::new();
    let mut args = Vec::new();
    let mut held = Vec::new();
    let mut writes = [0u64; ADDRESSES as usize];
    for line in 1..=count as u64 {
        let (what, arg) = (bytes.next(), bytes.next());
        let thread = trace.thread_id(u32::from(what & 3));
        let memory = what >> 5;
        let mut op = Op {
            kind: OpKind::Load,
            thread,
            addr: AddrId::NONE,
            read: 0,
            write: 0,
            mask: None,
            span: Span::UNKNOWN,
            line,
            marks: Marks::NONE,
        };
        match (what >> 2) & 7 {
            0 | 1 => {}
            2 | 3 => op.kind = OpKind::Store,
            4 => op.kind = OpKind::Rmw,
            5 => op.kind = OpKind::Fence,
            6 => (op.kind, op.mask) = (OpKind::Fence, Some(Mask::from_bits(1 + arg % 15))),
            _ => {
                op.addr = trace.lock_id(["L", "K"][arg as usize % 2]);
                let session = (thread, op.addr);
                op.kind = if held.contains(&session) { OpKind::Release } else { OpKind::Acquire };
                match op.kind {
                    OpKind::Release => held.retain(|&other| other != session),
                    _ => held.push(session),
                }
            }
        }
        if matches!(op.kind, OpKind::Load | OpKind::Store | OpKind::Rmw) {
            let at = memory % ADDRESSES;
            op.addr = if at == 0 { trace.named_id("x") } else { trace.memory_id(u64::from(at)) };
            if op.kind != OpKind::Load {
                writes[at as usize] += 1;
                op.write = if flags & SHARED_VALUES != 0 { writes[at as usize] } else { line };
                op.write += if flags & LARGE_VALUES != 0 { u64::MAX - 100 } else { 0 };
            }
        }
        if flags & TIMES != 0 {
            let (begin, length) = (bytes.next(), bytes.next());
            op.span.begin = (begin < 192).then_some(u64::from(begin % 16));
            op.span.end = (length < 192).then(|| op.span.begin.unwrap_or(0) + u64::from(length % 16));
        }
        ops.push(op);
        args.push(arg);
    }
    let memory: Vec<AddrId> = (0..trace.addrs() as u32)
        .map(AddrId)
        .filter(|addr| !matches!(trace.addr_names()[addr.index()], AddrName::Lock(_)))
        .collect();
    let mut initial = vec![0; trace.addrs()];
    if flags & INITS != 0 {
        for &addr in &memory {
            initial[addr.index()] = 900 + u64::from(addr.0);
            trace.inits.push(Init { addr, value: initial[addr.index()], line: 0 });
        }
    }
    for (i, &arg) in args.iter().enumerate() {
        if matches!(ops[i].kind, OpKind::Load | OpKind::Rmw) {
            let addr = ops[i].addr;
            ops[i].read = chosen(&values(&ops, addr, initial[addr.index()]), arg);
        }
    }
    for &addr in &memory {
        let mut written = values(&ops, addr, initial[addr.index()]);
        if flags & FINALS != 0 {
            let byte = bytes.next();
            if byte < 192 {
                let value = written[byte as usize % written.len()];
                trace.finals.push(Final { addr, value, line: 100 });
            }
        }
        written.remove(0);
        if flags & ORDERS != 0 && !written.is_empty() && bytes.next() < 192 {
            for i in 0..written.len() {
                let with = i + bytes.next() as usize % (written.len() - i);
                written.swap(i, with);
            }
            trace.orders.push(OrderLine { addr, values: written, line: 100 });
        }
    }
    rebuilt(&trace, &ops)
}
