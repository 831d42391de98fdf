//! The operations of a cycle as their own execution, written as a trace.

use crate::kinds::OpName;
use crate::monitor::{CycleEdge as Edge, Operation, Overtaking};
use membar_core::{OpId, OpKind, Relation, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Operations of a cycle that are drawn and run at most.
const DRAWN: usize = 120;

/// The operations of a cycle as their own execution.
pub(super) struct Execution<'a> {
    /// In the order of the interleaving, as far as they are drawn.
    pub(super) ops: Vec<&'a Operation>,
    /// How many there are.
    pub(super) total: usize,
    /// Which of them is the store that is delayed.
    pub(super) store: Option<usize>,
    /// The trace; none where it cannot be told.
    pub(super) text: Option<String>,
}

impl<'a> Execution<'a> {
    pub(super) fn new(found: &'a Overtaking) -> Execution<'a> {
        let mut ops: BTreeMap<(u64, u32), &Operation> = BTreeMap::new();
        for op in [&found.store, &found.access, &found.prev] {
            ops.insert((op.line, op.thread), op);
        }
        for edge in &found.cycle {
            for op in [&edge.from, &edge.to] {
                ops.insert((op.line, op.thread), op);
            }
        }
        let total = ops.len();
        let ops: Vec<&Operation> = ops.into_values().take(DRAWN).collect();
        let odd = |edge: &Edge| matches!(edge.by, Relation::Start | Relation::Join);
        let whole = ops.len() == total && !found.cycle.is_empty() && !found.cycle.iter().any(odd);
        let text = if whole { trace(&ops, found) } else { None };
        let store = ops.iter().position(|op| (op.line, op.thread) == (found.store.line, found.store.thread));
        Execution { ops, total, store, text }
    }

    /// The operations of the trace that stand for these.
    pub(super) fn ops_of(&self, trace: &Trace) -> Vec<OpId> {
        trace.ops().filter(|&op| trace.kind(op) != OpKind::Fence).take(self.ops.len()).collect()
    }
}

/// The events of one operation in the execution.
struct Happened {
    kind: OpName,
    address: String,
    /// An interlocked operation that writes nothing.
    attempt: bool,
    /// The operation that it reads from; none for the initial value.
    source: Option<usize>,
    recorded: (Option<u64>, Option<u64>),
}

/// The execution as a trace: in the order of the interleaving, but the store reaches memory when the access is over. Values
/// are those that were recorded, unless they do not tell who wrote them.
fn trace(ops: &[&Operation], found: &Overtaking) -> Option<String> {
    let is = |a: &Operation, b: &Operation| (a.line, a.thread) == (b.line, b.thread);
    let mut memory: BTreeMap<String, usize> = BTreeMap::new();
    let mut orders: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut held: Option<(String, u32, usize)> = None;
    let mut all: Vec<Happened> = Vec::new();
    for (i, op) in ops.iter().enumerate() {
        let (address, read, write) = parts(&op.text);
        let kind = kind_of(&op.text);
        if address.is_empty() || kind == OpName::Barrier {
            return None;
        }
        let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
        // Its own store is seen by its thread; others see memory.
        let own = held.as_ref().filter(|(held, thread, _)| *held == address && *thread == op.thread).map(|held| held.2);
        let source = own.or_else(|| memory.get(&address).copied());
        let attempt = kind == OpName::Rmw && !op.text.contains(":=");
        if kind == OpName::Store && is(op, &found.store) {
            held = Some((address.clone(), op.thread, i));
        } else if kind != OpName::Load && !attempt {
            memory.insert(address.clone(), i);
            orders.entry(address.clone()).or_default().push(i);
        }
        all.push(Happened { kind, address, attempt, source, recorded: (number(read), number(write)) });
        if is(op, &found.access)
            && let Some((address, _, store)) = held.take()
        {
            memory.insert(address.clone(), store);
            orders.entry(address).or_default().push(store);
        }
    }
    let addresses: BTreeSet<&str> = all.iter().map(|op| op.address.as_str()).collect();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fine = |name: &str| {
        let numbered = name.strip_prefix("M[").and_then(|name| name.strip_suffix(']')?.parse::<u32>().ok());
        let word = name.len() < 24 && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain);
        word || numbered.is_some()
    };
    let mut text = String::new();
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut values: Vec<u64> = (1..=all.len() as u64).collect();
    let mut initial: BTreeMap<&str, u64> = BTreeMap::new();
    for (number, &address) in addresses.iter().enumerate() {
        let name = if fine(address) { address.to_owned() } else { format!("a{number}") };
        if let Some(first) = recorded_values(&all, ops, address, found) {
            for (i, op) in all.iter().enumerate().filter(|(_, op)| op.address == address) {
                values[i] = op.recorded.1.unwrap_or(values[i]);
            }
            initial.insert(address, first);
            if first != 0 {
                let _ = writeln!(text, "init {name} == {first}");
            }
        }
        names.insert(address, name);
    }
    for (i, (op, happened)) in ops.iter().zip(&all).enumerate() {
        let (name, thread, wrote) = (&names[happened.address.as_str()], op.thread, values[i]);
        let first = initial.get(happened.address.as_str()).copied().unwrap_or(0);
        let seen = happened.source.map_or(first, |source| values[source]);
        let _ = match happened.kind {
            OpName::Store => writeln!(text, "{thread}: {name} := {wrote}"),
            OpName::Load => writeln!(text, "{thread}: {name} == {seen}"),
            _ if happened.attempt => writeln!(text, "{thread}: sync\n{thread}: {name} == {seen}\n{thread}: sync"),
            _ => writeln!(text, "{thread}: {{ {name} == {seen}; {name} := {wrote} }}"),
        };
    }
    for (address, writes) in orders.iter().filter(|(_, writes)| writes.len() > 1) {
        let writes: Vec<String> = writes.iter().map(|&write| values[write].to_string()).collect();
        let _ = writeln!(text, "order {}: {}", names[address.as_str()], writes.join(" "));
    }
    text.push_str("check\n");
    Some(text)
}

/// The initial value of an address, if with it the values that were recorded tell who wrote them.
fn recorded_values(all: &[Happened], ops: &[&Operation], address: &str, found: &Overtaking) -> Option<u64> {
    let mut known: BTreeSet<u64> = BTreeSet::new();
    let mut initial: Option<u64> = None;
    for (op, happened) in ops.iter().zip(all).filter(|(_, happened)| happened.address == address) {
        let writes = !happened.attempt && happened.kind != OpName::Load;
        if writes && !known.insert(happened.recorded.1?) {
            return None;
        }
        let overtakes = (op.line, op.thread) == (found.access.line, found.access.thread);
        if happened.kind != OpName::Store && happened.source.is_none() && !overtakes {
            initial = Some(happened.recorded.0?).filter(|&value| initial.is_none_or(|first| first == value));
            initial?;
        }
    }
    let initial = initial.unwrap_or(0);
    (!known.contains(&initial)).then_some(initial)
}

/// Its kind, by how the operation is written.
pub(super) fn kind_of(text: &str) -> OpName {
    match text {
        text if text.starts_with('{') || text.starts_with("read-modify-write") => OpName::Rmw,
        text if text.starts_with("acq ") => OpName::Acquire,
        text if text.starts_with("rel ") => OpName::Release,
        text if text.contains(":=") || text.starts_with("store to") => OpName::Store,
        text if text.contains("==") || text.starts_with("load of") => OpName::Load,
        _ => OpName::Barrier,
    }
}

/// The address, the value read and the value written, by how the operation is written.
pub(super) fn parts(text: &str) -> (String, Option<String>, Option<String>) {
    let inner = text.trim_start_matches('{').trim_end_matches('}');
    let (mut address, mut read, mut write) = (String::new(), None, None);
    for part in inner.split(';') {
        if let Some((name, value)) = part.split_once(":=") {
            (address, write) = (name.trim().to_owned(), Some(value.trim().to_owned()));
        } else if let Some((name, value)) = part.split_once("==") {
            (address, read) = (name.trim().to_owned(), Some(value.trim().to_owned()));
        }
    }
    for words in ["store to ", "load of ", "read-modify-write of ", "acq ", "rel "] {
        if let Some(name) = text.strip_prefix(words) {
            address = name.to_owned();
        }
    }
    (address, read, write)
}
