//! A trace as a litmus test, and as a C program that looks for its outcome on a real machine.
//!
//! Only what both can say without loss: loads, stores, read-modify-writes as exchanges, and full barriers.

use crate::listing::{Line, Listing, Place};
use membar_core::{AddrId, AddrName, OpKind, ThreadId, Trace};
use std::collections::BTreeSet;

/// Operations of a test at most.
const MOST: usize = 40;

/// Names that mean something in C or in a litmus test.
const TAKEN: [&str; 48] = [
    "and", "asm", "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "exists", "extern", "false", "float", "for", "forall", "goto", "if", "inline", "int", "long", "main",
    "not", "null", "or", "printf", "short", "signed", "sizeof", "static", "struct", "switch", "true", "typedef",
    "typeof", "union", "unsigned", "void", "volatile", "while", "eax", "ebx", "ecx", "edx",
];

/// Why a trace cannot become such a test.
type Why = &'static str;

fn expressible(trace: &Trace) -> Result<(), Why> {
    if trace.is_empty() {
        return Err("the trace is empty");
    }
    if trace.len() > MOST {
        return Err("it has too many operations");
    }
    for op in trace.ops() {
        match trace.kind(op) {
            OpKind::Acquire | OpKind::Release => return Err("it has locks"),
            OpKind::Fence if trace.mask(op).is_some() => return Err("it has partial barriers"),
            OpKind::Fence => {}
            _ if trace.read(op) > 0x7fff_ffff || trace.write(op) > 0x7fff_ffff => {
                return Err("its values do not fit 31 bits");
            }
            _ => {}
        }
    }
    if trace.inits.iter().any(|init| init.value > 0x7fff_ffff) || trace.finals.iter().any(|f| f.value > 0x7fff_ffff) {
        return Err("its values do not fit 31 bits");
    }
    if !trace.orders.is_empty() {
        return Err("it has `order` lines");
    }
    Ok(())
}

/// Names that mean nothing else in either language: those of the trace where they can stay.
fn names(trace: &Trace) -> Vec<String> {
    let fine = |name: &str| {
        let mut chars = name.chars();
        chars.next().is_some_and(|c| c.is_ascii_lowercase())
            && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            && name.len() <= 12
            && !TAKEN.contains(&name)
            && !name.starts_with('r')
            && !name.starts_with('m')
    };
    let name = |(i, name): (usize, &AddrName)| match name {
        AddrName::Named(text) if fine(text) => text.to_string(),
        _ => format!("m{i}"),
    };
    trace.addr_names().iter().enumerate().map(name).collect()
}

/// The addresses that are used.
fn used(trace: &Trace) -> BTreeSet<AddrId> {
    let finals = trace.finals.iter().map(|end| end.addr);
    trace.ops().map(|op| trace.addr(op)).filter(|&addr| addr != AddrId::NONE).chain(finals).collect()
}

/// The trace as a program whose outcome is what it read.
fn listing(trace: &Trace) -> Result<Listing, Why> {
    expressible(trace)?;
    let names = names(trace);
    let used: Vec<AddrId> = used(trace).into_iter().collect();
    let place = |addr: AddrId| used.binary_search(&addr).unwrap_or(0) as u32;
    let mut outcome = Vec::new();
    let mut threads = Vec::new();
    for t in 0..trace.threads() {
        let mut lines = Vec::new();
        for &op in trace.thread_ops(ThreadId(t as u32)) {
            let (addr, into, value) = (place(trace.addr(op)), outcome.len(), trace.write(op));
            lines.push(match trace.kind(op) {
                OpKind::Store => Line::Store { addr, value },
                OpKind::Load => Line::Load { into, addr },
                OpKind::Rmw => Line::Exchange { into, addr, value },
                _ => Line::Barrier,
            });
            if trace.kind(op).reads() {
                outcome.push((Place::Register(into), trace.read(op)));
            }
        }
        threads.push(lines);
    }
    outcome.extend(trace.finals.iter().map(|end| (Place::Memory(place(end.addr)), end.value)));
    if outcome.is_empty() {
        return Err("nothing is read");
    }
    let memory = used.iter().map(|&addr| (names[addr.index()].clone(), trace.initial(addr))).collect();
    Ok(Listing { memory, threads, outcome })
}

/// A litmus test, for x86 if its registers are enough.
pub(super) fn litmus(trace: &Trace) -> Result<String, Why> {
    let listing = listing(trace)?;
    Ok(listing.x86("from-trace").unwrap_or_else(|| listing.c_litmus("from-trace", "")))
}

/// A C program that runs the threads many times and counts how often they end like this.
pub(super) fn c_test(trace: &Trace) -> Result<String, Why> {
    Ok(listing(trace)?.counting())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> Trace {
        membar_trace::parse("t", text.as_bytes()).unwrap().remove(0)
    }

    #[test]
    fn a_trace_as_a_litmus_test() {
        let text =
            litmus(&trace("0: x := 1\n0: sync\n0: M[3] == 0\n1: { M[3] == 0; M[3] := 2 }\nfinal x == 1\ncheck\n"));
        let expected = "\
X86 from-trace
{ x=0; m1=0; }
 P0           | P1            ;
 MOV [x],$1   | MOV EAX,$2    ;
 MFENCE       | XCHG [m1],EAX ;
 MOV EAX,[m1] |               ;
exists (0:EAX=0 /\\ 1:EAX=0 /\\ x=1)
";
        assert_eq!(text.as_deref(), Ok(expected));
    }

    #[test]
    fn a_thread_with_many_reads_is_a_litmus_test_in_c() {
        let text = litmus(&trace(&format!("{}1: x := 1\ncheck\n", "0: x == 0\n".repeat(7)))).unwrap();
        assert!(text.starts_with("C from-trace\n{ uint64_t x = 0; }\n"), "{text}");
        assert!(text.contains("0:r5=0 /\\ 0:r6=0)"), "{text}");
    }

    #[test]
    fn names_that_mean_something_are_not_kept() {
        let trace = trace("0: turn := 1\n0: long == 0\n1: eax := 1\n1: turn == 0\ncheck\n");
        assert_eq!(names(&trace), ["turn", "m1", "m2"]);
        let test = c_test(&trace).unwrap();
        assert!(test.contains("atomic_int turn;") && !test.contains('@'), "{test}");
    }

    #[test]
    fn inexpressible_traces_give_no_text() {
        assert_eq!(litmus(&trace("0: acq L\n0: rel L\ncheck\n")), Err("it has locks"));
        assert_eq!(c_test(&trace("0: membar #StoreLoad\n0: x == 0\ncheck\n")), Err("it has partial barriers"));
        assert_eq!(litmus(&trace("0: x := 4294967296\n1: x == 0\ncheck\n")), Err("its values do not fit 31 bits"));
    }
}
