//! A program as a litmus test, in the dialect C.
//!
//! Accesses are relaxed, so that TSO and PSO may do with them what they may do with plain ones; the full barrier is a
//! `seq_cst` fence, the store barrier a `release` fence. The condition is what the machine saw in its run. Locks have no
//! counterpart, and states are too many to list for more than a few operations.

use membar::core::Mask;
use membar::simulate::{Instr, Program, Record};
use std::fmt::Write;

/// Operations that a test has at most.
const MOST: usize = 64;

/// The test; the error says why it cannot be made.
pub fn text(program: &Program, record: &Record, name: &str, machine: &str, command: &str) -> Result<String, String> {
    if program.operations() > MOST {
        return Err(format!(
            "error: this program has {} operations, and a litmus test at most {MOST}: its final states could not be listed\n \
             = help: `--threads 2 --operations 3 --addresses 2 --locks 0`, for example, makes a small one",
            program.operations()
        ));
    }
    let mut text = format!("C {name}\n(* {command}\n   The condition is what {machine} did. *)\n{{");
    for addr in 0..program.addresses() {
        let _ = write!(text, " uint64_t x{addr} = {};", program.initial(addr));
    }
    text.push_str(" }\n");
    let mut reads: Vec<String> = Vec::new();
    for t in 0..program.threads() {
        let params: Vec<String> = (0..program.addresses()).map(|addr| format!("atomic_uint64_t *x{addr}")).collect();
        let _ = writeln!(text, "\nP{t} ({}) {{", params.join(", "));
        for (k, i) in program.thread(t).enumerate() {
            let relaxed = "memory_order_relaxed";
            let _ = match program.instr(i) {
                Instr::Load { addr } => {
                    writeln!(text, "  uint64_t r{k} = atomic_load_explicit(x{addr}, {relaxed});")
                }
                Instr::Store { addr, value } => {
                    writeln!(text, "  atomic_store_explicit(x{addr}, {value}, {relaxed});")
                }
                Instr::Exchange { addr, value } => {
                    writeln!(text, "  uint64_t r{k} = atomic_exchange_explicit(x{addr}, {value}, {relaxed});")
                }
                Instr::Add { addr, by } => {
                    writeln!(text, "  uint64_t r{k} = atomic_fetch_add_explicit(x{addr}, {by}, {relaxed});")
                }
                Instr::Cas { addr, value } => {
                    let first = program.thread(t).start;
                    let expected = match program.expects(i) {
                        None => program.initial(addr).to_string(),
                        Some(from) => known(program, from, from - first),
                    };
                    // `r` holds the value read, or the value expected, which then is the same.
                    let _ = writeln!(text, "  uint64_t r{k} = {expected};");
                    writeln!(
                        text,
                        "  int c{k} = atomic_compare_exchange_strong_explicit(x{addr}, &r{k}, {value}, {relaxed}, {relaxed});"
                    )
                }
                Instr::Fence { mask: Some(Mask::STORE_STORE) } => {
                    writeln!(text, "  atomic_thread_fence(memory_order_release);")
                }
                Instr::Fence { .. } => writeln!(text, "  atomic_thread_fence(memory_order_seq_cst);"),
                Instr::Acquire { .. } | Instr::Release { .. } => {
                    return Err("error: a litmus test has no locks, but this program has\n \
                                = help: `--locks 0` leaves them out"
                        .into());
                }
                Instr::Delay { .. } => Ok(()),
            };
            let reads_memory = matches!(
                program.instr(i),
                Instr::Load { .. } | Instr::Exchange { .. } | Instr::Add { .. } | Instr::Cas { .. }
            );
            if reads_memory {
                reads.push(format!("{t}:r{k}={}", record.read(i)));
            }
        }
        text.push_str("}\n");
    }
    if reads.is_empty() {
        // Nobody reads, so memory is asked: the last store of a thread can always be the last one of all.
        let last = (0..program.len()).rev().find_map(|i| match program.instr(i) {
            Instr::Store { addr, value } => Some(format!("x{addr}={value}")),
            _ => None,
        });
        reads.push(last.ok_or("error: this program has barriers only, so there is nothing to ask about it")?);
    }
    let _ = writeln!(text, "\nexists ({})", reads.join(" /\\ "));
    Ok(text)
}

/// The value that a thread knows an address to hold after an instruction, which is its `k`th.
fn known(program: &Program, from: usize, k: usize) -> String {
    match program.instr(from) {
        Instr::Store { value, .. } | Instr::Exchange { value, .. } => value.to_string(),
        Instr::Add { by, .. } => format!("r{k} + {by}"),
        Instr::Cas { value, .. } => format!("c{k} ? {value} : r{k}"),
        _ => format!("r{k}"),
    }
}
