//! A trace as a litmus test, and as a C program that looks for its outcome on a real machine.
//!
//! Only what both can say without loss: loads, stores, read-modify-writes as exchanges, and full barriers.

use membar_core::{AddrId, AddrName, OpId, OpKind, ThreadId, Trace};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Operations of a test at most.
const MOST: usize = 40;
const REGISTERS: [&str; 6] = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"];

/// The program, but for what depends on the trace. Its own names have an underscore, or capitals, as no name of a trace that is
/// kept has.
const PROGRAM: &str = include_str!("test.c.in");

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

fn threads(trace: &Trace) -> impl Iterator<Item = (usize, &[OpId])> {
    (0..trace.threads()).map(|t| (t, trace.thread_ops(ThreadId(t as u32))))
}

/// The addresses that are used.
fn used(trace: &Trace) -> BTreeSet<AddrId> {
    let finals = trace.finals.iter().map(|end| end.addr);
    trace.ops().map(|op| trace.addr(op)).filter(|&addr| addr != AddrId::NONE).chain(finals).collect()
}

/// The test in herd's x86 dialect.
pub(super) fn litmus(trace: &Trace) -> Result<String, Why> {
    expressible(trace)?;
    let names = names(trace);
    let mut columns: Vec<Vec<String>> = Vec::new();
    let mut condition: Vec<String> = Vec::new();
    let mut start = String::new();
    for addr in used(trace) {
        let _ = write!(start, "{}={}; ", names[addr.index()], trace.initial(addr));
    }
    for (t, ops) in threads(trace) {
        let mut column = vec![format!("P{t}")];
        let mut free = REGISTERS.iter();
        for &op in ops {
            let name = if trace.addr(op) == AddrId::NONE { "" } else { &names[trace.addr(op).index()] };
            match trace.kind(op) {
                OpKind::Store => column.push(format!("MOV [{name}],${}", trace.write(op))),
                OpKind::Load => {
                    let register = free.next().ok_or("a thread has more reads than registers")?;
                    column.push(format!("MOV {register},[{name}]"));
                    condition.push(format!("{t}:{register}={}", trace.read(op)));
                }
                OpKind::Rmw => {
                    let register = free.next().ok_or("a thread has more reads than registers")?;
                    column.push(format!("MOV {register},${}", trace.write(op)));
                    column.push(format!("XCHG [{name}],{register}"));
                    condition.push(format!("{t}:{register}={}", trace.read(op)));
                }
                _ => column.push("MFENCE".into()),
            }
        }
        columns.push(column);
    }
    condition.extend(trace.finals.iter().map(|end| format!("{}={}", names[end.addr.index()], end.value)));
    if condition.is_empty() {
        return Err("nothing is read");
    }
    let mut text = format!("X86 from-trace\n{{ {start}}}\n");
    let widths: Vec<usize> = columns.iter().map(|column| column.iter().map(String::len).max().unwrap_or(0)).collect();
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cell = |(column, width): (&Vec<String>, &usize)| {
            format!(" {:width$} ", column.get(row).map_or("", String::as_str))
        };
        let cells: Vec<String> = columns.iter().zip(&widths).map(cell).collect();
        let _ = writeln!(text, "{};", cells.join("|"));
    }
    let _ = writeln!(text, "exists ({})", condition.join(" /\\ "));
    Ok(text)
}

/// A C program that runs the threads many times and counts how often they end like this.
pub(super) fn c_test(trace: &Trace) -> Result<String, Why> {
    expressible(trace)?;
    let names = names(trace);
    let reads: Vec<OpId> = trace.ops().filter(|&op| trace.kind(op).reads()).collect();
    if reads.is_empty() && trace.finals.is_empty() {
        return Err("nothing is read");
    }
    let register = |op: OpId| format!("r{}", reads.iter().position(|&read| read == op).unwrap_or(0));
    let used = used(trace);
    let mut variables: Vec<String> =
        used.iter().map(|addr| format!("static _Alignas(64) atomic_int {};", names[addr.index()])).collect();
    if !reads.is_empty() {
        let all: Vec<String> = reads.iter().map(|&op| register(op)).collect();
        variables.push(format!("static int {};", all.join(", ")));
    }
    let mut bodies = String::new();
    for (t, ops) in threads(trace) {
        let _ = writeln!(bodies, "static void thread_{t}(void)\n{{");
        for &op in ops {
            let name = if trace.addr(op) == AddrId::NONE { "" } else { &names[trace.addr(op).index()] };
            let line = match trace.kind(op) {
                OpKind::Store => {
                    format!("atomic_store_explicit(&{name}, {}, memory_order_relaxed);", trace.write(op))
                }
                OpKind::Load => {
                    format!("{} = atomic_load_explicit(&{name}, memory_order_relaxed);", register(op))
                }
                OpKind::Rmw => format!("{} = atomic_exchange(&{name}, {});", register(op), trace.write(op)),
                _ => "atomic_thread_fence(memory_order_seq_cst);".into(),
            };
            // A compiler may move relaxed accesses; the machine is what is tested.
            let _ = writeln!(bodies, "    {line}\n    atomic_signal_fence(memory_order_seq_cst);");
        }
        bodies.push_str("}\n\n");
    }
    let all: Vec<String> = (0..trace.threads()).map(|t| format!("thread_{t}")).collect();
    let reset =
        |addr: &AddrId| format!("            atomic_store(&{}, {});", names[addr.index()], trace.initial(*addr));
    let mut outcome: Vec<String> = reads.iter().map(|&op| format!("{} == {}", register(op), trace.read(op))).collect();
    outcome.extend(trace.finals.iter().map(|end| format!("{} == {}", names[end.addr.index()], end.value)));
    Ok(PROGRAM
        .replace("@count@", &trace.threads().to_string())
        .replace("@variables@", &variables.join("\n"))
        .replace("@threads@\n", &bodies)
        .replace("@bodies@", &all.join(", "))
        .replace("@reset@", &used.iter().map(reset).collect::<Vec<_>>().join("\n"))
        .replace("@outcome@", &outcome.join(" && ")))
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
