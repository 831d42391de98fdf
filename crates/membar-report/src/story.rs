//! The explanation of a verdict, in two sentences.

use crate::build::{Blame, legal_values};
use crate::data::{Edge, LegalValue};
use crate::style::{count, list};
use crate::words::{Words, noun};
use membar_core::{AddrId, Event, Final, OpId, OpKind, Proof, Read, Rule, Source, Trace};

/// Values that are listed before "and N more".
const VALUES: usize = 8;
/// Lines of a cycle that are listed.
const LINES: usize = 10;

/// The sentence that says which operation is impossible.
pub(crate) fn happened(words: &Words<'_>, proof: &Proof, blame: Option<&Blame>) -> String {
    let trace = words.trace;
    match proof.leaf() {
        Proof::Cases { .. } => String::new(),
        Proof::Unwritten(op) => {
            let nobody = nobody_wrote(words, trace.addr(*op), trace.read(*op));
            format!("{} returned a value that nobody wrote: {nobody}", the_read(words, *op))
        }
        Proof::UnwrittenFinal(addr) => match trace.finals.iter().find(|end| end.addr == *addr) {
            Some(end) => {
                let (name, value, line) = (words.name(*addr), end.value, end.line);
                let nobody = nobody_wrote(words, *addr, value);
                format!("The final value {name} == {value} (line {line}) is one that nobody wrote: {nobody}")
            }
            None => String::new(),
        },
        Proof::Unreserved(op) => {
            format!("{} stored without a reservation: {}.", the_read(words, *op), words.unreserved(*op))
        }
        Proof::Cycle(_) => {
            let proof = proof.leaf();
            let involved = proof.ops();
            let blamed = blame.map(|blame| blame.read);
            let future = blamed.into_iter().chain(involved.iter().copied()).find(|&op| own_future(trace, op));
            if let Some(op) = future {
                let legal = blame.filter(|blame| blame.read == op);
                return own_future_sentence(words, op, legal);
            }
            match blame {
                Some(blame) => {
                    let could = could_have(trace, blame);
                    format!("{} is impossible: given the rest of the trace it {could}.", the_read(words, blame.read))
                }
                None => nobody_to_blame(words, proof, &involved),
            }
        }
    }
}

/// `The load at line 5 (thread 1: y == 0)`
fn the_read(words: &Words<'_>, op: OpId) -> String {
    let at = words.op(op);
    format!("The {} at line {} (thread {}: {})", noun(words.trace.kind(op)), at.line, at.thread, at.text)
}

/// `x is initially 0 and only 1 (line 1) is ever stored there.`
fn nobody_wrote(words: &Words<'_>, addr: AddrId, value: u64) -> String {
    let trace = words.trace;
    let stores = |other: OpId| matches!(trace.kind(other), OpKind::Store | OpKind::Rmw);
    let written: Vec<(u64, u64)> = trace
        .ops()
        .filter(|&other| stores(other) && trace.addr(other) == addr)
        .map(|other| (trace.write(other), trace.line(other)))
        .collect();
    let name = words.name(addr);
    let start = format!("{name} is initially {}", trace.initial(addr));
    let rest = if written.is_empty() {
        "and nothing is ever stored there".to_owned()
    } else {
        let mut values: Vec<String> =
            written.iter().take(VALUES).map(|(value, line)| format!("{value} (line {line})")).collect();
        if written.len() > VALUES {
            values.push(format!("{} more", written.len() - VALUES));
        }
        format!("and the values stored there are {}", list(&values, "and"))
    };
    let rest = if written.len() == 1 { rest.replace("the values stored there are", "only") } else { rest };
    let rest = if written.len() == 1 { format!("{rest} is ever stored there") } else { rest };
    // The same value at another address: a wrong address is a common cause.
    let elsewhere = trace.ops().find(|&other| stores(other) && trace.write(other) == value);
    let elsewhere = elsewhere.map_or_else(String::new, |other| {
        format!(" (Line {} stores {value}, but to {}.)", trace.line(other), words.name(trace.addr(other)))
    });
    format!("{start} {rest}.{elsewhere}")
}

/// Did it return what its own thread writes only later?
fn own_future(trace: &Trace, op: OpId) -> bool {
    matches!(trace.kind(op), OpKind::Load | OpKind::Rmw)
        && trace
            .source(op)
            .as_op()
            .is_some_and(|write| trace.thread(write) == trace.thread(op) && trace.po(write) >= trace.po(op))
}

fn own_future_sentence(words: &Words<'_>, op: OpId, legal: Option<&Blame>) -> String {
    let trace = words.trace;
    let read = the_read(words, op);
    let could = legal.map_or_else(String::new, |blame| format!(" It {}.", could_have(trace, blame)));
    match trace.source(op).as_op() {
        Some(write) if write != op => {
            format!(
                "{read} returned a value that its own thread stores only later, at line {}.{could}",
                trace.line(write)
            )
        }
        _ => format!("{read} returned the very value that it was about to store.{could}"),
    }
}

/// `could only have returned 1 (line 7)`
fn could_have(trace: &Trace, blame: &Blame) -> String {
    let value = |legal: &LegalValue| match legal.line {
        Some(line) => format!("{} (line {line})", legal.value),
        None => format!("the initial value {}", legal.value),
    };
    let legal = legal_values(trace, blame);
    let mut values: Vec<String> = legal.iter().take(VALUES).map(value).collect();
    if legal.len() > VALUES {
        values.push(format!("{} other values", legal.len() - VALUES));
    }
    match blame.complete {
        true => format!("could only have returned {}", list(&values, "or")),
        false => format!("could have returned {}, for example", list(&values, "or")),
    }
}

fn nobody_to_blame(words: &Words<'_>, proof: &Proof, involved: &[OpId]) -> String {
    let trace = words.trace;
    // A store conditional stands for the load of its pair, too.
    let reads =
        |op: &&OpId| matches!(trace.kind(**op), OpKind::Load | OpKind::Rmw) || trace.reservation(**op).is_some();
    let reads = involved.iter().filter(reads).count();
    let steps = || match proof {
        Proof::Cycle(lemmas) => lemmas.iter().flat_map(|lemma| &lemma.steps).collect::<Vec<_>>(),
        Proof::Unwritten(_) | Proof::UnwrittenFinal(_) | Proof::Unreserved(_) | Proof::Cases { .. } => Vec::new(),
    };
    let mut finals: Vec<u64> = Vec::new();
    let mut orders: Vec<u64> = Vec::new();
    for step in steps() {
        let address = match step.rule {
            Rule::BeforeRead { load: Event::FINAL } => words.addr(step.from),
            Rule::AfterRead if step.from == Event::FINAL => words.addr(step.to),
            Rule::ReadsFrom if step.to == Event::FINAL => words.addr(step.from),
            _ => None,
        };
        finals.extend(words.final_line(address));
        if step.rule == Rule::WriteOrder {
            orders.extend(words.order_line(words.addr(step.from)));
        }
    }
    finals.sort_unstable();
    finals.dedup();
    orders.sort_unstable();
    orders.dedup();
    if !finals.is_empty() {
        let text = |end: &Final| format!("{} == {} (line {})", words.name(end.addr), end.value, end.line);
        let is_meant = |end: &&Final| finals.binary_search(&end.line).is_ok();
        let finals: Vec<String> = trace.finals.iter().filter(is_meant).map(text).collect();
        let (what, both) = if finals.len() == 1 { ("value is", "") } else { ("values are", " together") };
        let order = if reads == 0 { "order of the stores" } else { "memory order" };
        return format!("The recorded final {what} impossible: no {order} leaves {}{both}.", list(&finals, "and"));
    }
    if reads == 0 && !orders.is_empty() {
        let lines: Vec<String> = orders.iter().map(u64::to_string).collect();
        let what = if lines.len() == 1 { "order (line" } else { "orders (lines" };
        let verb = if lines.len() == 1 { "contradicts" } else { "contradict" };
        return format!("The recorded write {what} {}) {verb} what the threads did.", list(&lines, "and"));
    }
    let together = count(involved.len(), "operation");
    if reads == 0 {
        return format!("No read is involved: the {together} below cannot be put into one order.");
    }
    format!("No single read is to blame: {together} contradict each other.")
}

/// The sentences that say why, where values leave open what was read: the first case, and how many others there are.
fn cases(words: &Words<'_>, proof: &Proof, cycle: &[Edge]) -> String {
    fn leaves(proof: &Proof) -> usize {
        match proof {
            Proof::Cases { cases, .. } => cases.iter().map(|(_, proof)| leaves(proof)).sum(),
            _ => 1,
        }
    }
    let from = |source: Source| match source.as_op() {
        Some(op) => format!("line {}", words.trace.line(op)),
        None => "the initial value".into(),
    };
    let path: Vec<String> = proof
        .path()
        .into_iter()
        .map(|(read, source)| match read {
            Read::Op(op) => format!("line {} read from {}", words.trace.line(op), from(source)),
            Read::Final(i) => {
                let end = words.trace.finals[i as usize];
                format!("the final value of {} (line {}) is from {}", words.name(end.addr), end.line, from(source))
            }
        })
        .collect();
    let why = why(words, proof.leaf(), cycle);
    let others = match leaves(proof) - 1 {
        0 => String::new(),
        1 => " So it is in the other case.".into(),
        others => format!(" So it is in the {others} other cases."),
    };
    format!("Values are repeated. If {}: {why}{others}", list(&path, "and"))
}

/// The sentence that says why.
pub(crate) fn why(words: &Words<'_>, proof: &Proof, cycle: &[Edge]) -> String {
    if let Proof::Cases { .. } = proof {
        return cases(words, proof, cycle);
    }
    let lemmas = match proof {
        Proof::Cases { .. } => return String::new(),
        Proof::Unwritten(op) => {
            let (value, name) = (words.trace.read(*op), words.name(words.trace.addr(*op)));
            return format!("a read returns what was stored, and {value} was never stored to {name}.");
        }
        Proof::UnwrittenFinal(addr) => {
            let name = words.name(*addr);
            let value = words.trace.finals.iter().find(|end| end.addr == *addr).map_or(0, |end| end.value);
            return format!("memory holds what was stored, and {value} was never stored to {name}.");
        }
        Proof::Unreserved(_) => {
            return "a store conditional stores only while its thread holds the reservation of a load reserved.".into();
        }
        Proof::Cycle(lemmas) => lemmas,
    };
    let mut around: Vec<String> = cycle.iter().map(|edge| edge.from.short()).collect();
    let start = around.first().cloned().unwrap_or_default();
    if around.len() > LINES {
        let more = around.len() - LINES + 1;
        around.truncate(LINES - 1);
        around.push(format!("{more} more"));
    }
    let around = format!("{}, back to {start}", around.join(", "));
    match &lemmas[..] {
        [first, .., _] if !first.assume.is_empty() => {
            let a = first.assume[0];
            let about = words.addr(a.first).or(words.addr(a.second));
            let (one, two) = (words.event(a.first, about).short(), words.event(a.second, about).short());
            if lemmas.len() > 2 {
                return format!(
                    "The trace leaves the order of some stores open, and in each of the {} cases below the memory order is \
                     cyclic.",
                    lemmas.len() - 1
                );
            }
            format!("Whichever of {one} and {two} comes first, the memory order is cyclic.")
        }
        _ if cycle.len() == 1 => format!("The memory order would put {start} before itself."),
        _ => format!("The memory order would be cyclic: {around}."),
    }
}
