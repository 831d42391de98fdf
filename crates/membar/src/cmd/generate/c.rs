//! A program as a C program that runs it and prints traces.
//!
//! Each access is one instruction of inline assembly, for x86-64, AArch64 and RISC-V; the compiler cannot reorder or merge
//! them, and adds only the stores to a private log. Threads start together at a barrier, once for each run. After a run the
//! main thread prints the trace: the actions of each thread are in a table, the values it read in its log.
//!
//! Locks are spin locks with full barriers around what they protect, which is what every model with locks allows.

use super::known;
use membar::core::Mask;
use membar::simulate::{Instr, Program};
use std::fmt::Write;

/// Instructions that a C file has at most: a compiler takes too long for more.
const MOST: usize = 100_000;

/// The program; the error says why it cannot be made.
pub fn text(program: &Program, command: &str) -> Result<String, String> {
    if program.len() > MOST {
        return Err(format!(
            "error: this program has {} instructions, and a C file at most {MOST}: it would take hours to compile\n \
             = help: give fewer operations (--operations)",
            program.len()
        ));
    }
    let mut bodies = String::new();
    let mut table = String::new();
    let mut starts = vec![0];
    let mut words = Vec::new();
    let mut rows = 0;
    for t in 0..program.threads() {
        let _ = writeln!(bodies, "static void thread_{t}(u64 *log)\n{{\n\t(void)log;");
        let mut word = 0;
        let mut word_of = vec![0; program.thread(t).len()];
        for (k, i) in program.thread(t).enumerate() {
            word_of[k] = word;
            let first = program.thread(t).start;
            let _ = match program.instr(i) {
                Instr::Load { addr } => writeln!(bodies, "\tlog[{word}] = load(CELL({addr}));"),
                Instr::Store { addr, value } => writeln!(bodies, "\tstore(CELL({addr}), {value}u);"),
                Instr::Exchange { addr, value } => {
                    writeln!(bodies, "\tlog[{word}] = exchange(CELL({addr}), {value}u);")
                }
                Instr::Add { addr, by } => writeln!(bodies, "\tlog[{word}] = add(CELL({addr}), {by}u);"),
                Instr::Cas { addr, value } => {
                    let expected = match program.expects(i) {
                        None => format!("{}u", program.initial(addr)),
                        Some(from) => {
                            let word = word_of[from - first];
                            let swapped = format!("log[{word}] == log[{}]", word + 1);
                            known(program.instr(from), &format!("log[{word}]"), &swapped, "u")
                        }
                    };
                    let _ = writeln!(bodies, "\tlog[{}] = {expected};", word + 1);
                    writeln!(bodies, "\tlog[{word}] = cas(CELL({addr}), log[{}], {value}u);", word + 1)
                }
                Instr::Fence { mask: Some(Mask::STORE_STORE) } => writeln!(bodies, "\tstore_barrier();"),
                Instr::Fence { .. } => writeln!(bodies, "\tbarrier();"),
                Instr::Acquire { lock } => writeln!(bodies, "\tacquire(&locks[{lock}].held);"),
                Instr::Release { lock } => writeln!(bodies, "\trelease(&locks[{lock}].held);"),
                Instr::Delay { cycles } => writeln!(bodies, "\tpause_for({cycles});"),
            };
            let row = match program.instr(i) {
                Instr::Load { addr } => (format!("LOAD, {addr}, 0"), 1),
                Instr::Store { addr, value } => (format!("STORE, {addr}, {value}u"), 0),
                Instr::Exchange { addr, value } => (format!("EXCHANGE, {addr}, {value}u"), 1),
                Instr::Add { addr, by } => (format!("ADD, {addr}, {by}u"), 1),
                Instr::Cas { addr, value } => (format!("CAS, {addr}, {value}u"), 2),
                Instr::Fence { mask: None } => ("SYNC, 0, 0".into(), 0),
                Instr::Fence { mask: Some(mask) } => (format!("MEMBAR, 0, {}", mask.bits()), 0),
                Instr::Acquire { lock } => (format!("ACQUIRE, {lock}, 0"), 0),
                Instr::Release { lock } => (format!("RELEASE, {lock}, 0"), 0),
                Instr::Delay { .. } => continue,
            };
            let _ = writeln!(table, "\t{{ {} }},", row.0);
            rows += 1;
            word += row.1;
        }
        bodies.push_str("}\n\n");
        starts.push(rows);
        words.push(word.max(1));
    }
    let list = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let initial: Vec<String> = (0..program.addresses()).map(|addr| format!("{}u", program.initial(addr))).collect();
    let names: Vec<String> = (0..program.threads()).map(|t| format!("thread_{t}")).collect();
    let masks: Vec<String> =
        Mask::PAIRS.iter().map(|(mask, name, _)| format!("{{ {}, \"{name}\" }}", mask.bits())).collect();
    let stride = if program.addresses() > 1 { program.offset(1) } else { 8 };
    let replaced = [
        ("@COMMAND@", command.replace("*/", "* /")),
        ("@THREADS@", program.threads().to_string()),
        ("@ADDRESSES@", program.addresses().max(1).to_string()),
        ("@STRIDE@", stride.to_string()),
        ("@LOCKS@", program.locks().max(1).to_string()),
        ("@BODIES@", bodies.trim_end().to_owned()),
        ("@TABLE@", if table.is_empty() { "\t{ SYNC, 0, 0 },".into() } else { table.trim_end().to_owned() }),
        ("@STARTS@", list(&starts)),
        ("@WORDS@", list(&words)),
        ("@INITIAL@", if initial.is_empty() { "0".into() } else { initial.join(", ") }),
        ("@NAMES@", names.join(", ")),
        ("@MASKS@", masks.join(", ")),
    ];
    Ok(replaced.iter().fold(TEMPLATE.to_owned(), |text, (mark, with)| text.replace(mark, with)))
}

const TEMPLATE: &str = include_str!("template.c");
