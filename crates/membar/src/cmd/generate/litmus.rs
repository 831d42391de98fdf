//! A program as a litmus test, in the dialect C.
//!
//! The condition is what the machine saw in its run. Locks have no counterpart, and states are too many to list for more than
//! a few operations.

use super::known;
use membar::core::Mask;
use membar::report::listing::{Line, Listing, Place};
use membar::simulate::{Instr, Program, Record};

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
    let memory = (0..program.addresses()).map(|addr| (format!("x{addr}"), program.initial(addr))).collect();
    let mut listing = Listing { memory, ..Listing::default() };
    for t in 0..program.threads() {
        let mut lines = Vec::new();
        for into in program.thread(t) {
            lines.push(match program.instr(into) {
                Instr::Load { addr } => Line::Load { into, addr },
                Instr::Store { addr, value } => Line::Store { addr, value },
                Instr::Exchange { addr, value } => Line::Exchange { into, addr, value },
                Instr::Add { addr, by } => Line::Add { into, addr, by },
                Instr::Cas { addr, value } => {
                    let expected = match program.expects(into) {
                        None => program.initial(addr).to_string(),
                        Some(from) => known(program.instr(from), &format!("r{from}"), &format!("c{from}"), ""),
                    };
                    Line::CompareExchange { into, addr, expected, value }
                }
                Instr::Fence { mask: Some(Mask::STORE_STORE) } => Line::StoreBarrier,
                Instr::Fence { .. } => Line::Barrier,
                Instr::Acquire { .. } | Instr::Release { .. } => {
                    return Err("error: a litmus test has no locks, but this program has\n \
                                = help: `--locks 0` leaves them out"
                        .into());
                }
                Instr::Delay { .. } => continue,
            });
            if lines.last().is_some_and(|line| line.reads().is_some()) {
                listing.outcome.push((Place::Register(into), record.read(into)));
            }
        }
        listing.threads.push(lines);
    }
    if listing.outcome.is_empty() {
        // Nobody reads, so memory is asked: the last store of a thread can always be the last one of all.
        let last = (0..program.len()).rev().find_map(|i| match program.instr(i) {
            Instr::Store { addr, value } => Some((Place::Memory(addr), value)),
            _ => None,
        });
        let nothing = "error: this program has barriers only, so there is nothing to ask about it";
        listing.outcome.push(last.ok_or(nothing)?);
    }
    let comment = format!("(* {}\n   The condition is what {machine} did. *)\n", command.replace("*)", "* )"));
    Ok(listing.c_litmus(name, &comment))
}
