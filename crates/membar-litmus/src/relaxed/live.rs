//! Which registers matter at the head of a loop.
//!
//! A round of a loop that writes nothing to memory and comes back to the head with the registers that it had there, as far as they
//! are read again, can be left out of an execution: what remains is an execution too, since reads and fences only forbid, and
//! it ends in the same state. So a loop that only waits, or retries after a failed store-conditional, has all its final states
//! after few rounds.

use super::code::{Instr, Thread, Update};
use crate::code::{Operand, Reg};

/// Registers as bits.
pub(crate) type Registers = u128;

fn bit(reg: Reg) -> Registers {
    1u128.checked_shl(reg.into()).unwrap_or(0)
}

fn operand(operand: Operand) -> Registers {
    match operand {
        Operand::Reg(reg) => bit(reg),
        Operand::Value(_) => 0,
    }
}

/// What an instruction reads and writes, and where it may jump.
fn uses(instr: &Instr) -> (Registers, Registers, Option<u32>) {
    let to = |dst: Option<Reg>| dst.map_or(0, bit);
    match *instr {
        Instr::Calc { dst, a, b, .. } => (operand(a) | operand(b), bit(dst), None),
        Instr::Select { dst, cond, yes, no } => (bit(cond) | operand(yes) | operand(no), bit(dst), None),
        Instr::Jump { to } => (0, 0, Some(to)),
        Instr::Branch { cond, to, .. } => (operand(cond), 0, Some(to)),
        Instr::Load { dst, at, .. } => (operand(at), to(dst), None),
        Instr::Store { at, value, conditional, .. } => (operand(at) | operand(value), to(conditional.flatten()), None),
        Instr::Rmw { update, dst, at, value, .. } => {
            let expected = match update {
                Update::CompareExchange(expected) => operand(expected),
                Update::Apply(_) => 0,
            };
            (operand(at) | operand(value) | expected, to(dst), None)
        }
        Instr::Upper { expected, value } => (operand(expected) | operand(value), 0, None),
        Instr::Rest { dst } => (0, to(dst), None),
        Instr::Fence(_) | Instr::Clear => (0, 0, None),
    }
}

/// For each instruction that a jump goes back to, the registers that may be read after it before they are written; those below
/// `named` are read at the end.
pub(crate) fn heads(thread: &Thread, named: Reg) -> Vec<Option<Registers>> {
    let instrs = &thread.instrs;
    let mut heads = vec![None; instrs.len()];
    let back = |(at, instr): (usize, &Instr)| uses(instr).2.filter(|&to| to as usize <= at);
    let targets: Vec<u32> = instrs.iter().enumerate().filter_map(back).collect();
    if targets.is_empty() {
        return heads;
    }
    let end = (1u128 << named) - 1;
    let mut live = vec![0u128; instrs.len() + 1];
    live[instrs.len()] = end;
    loop {
        let mut changed = false;
        for (at, instr) in instrs.iter().enumerate().rev() {
            let (reads, writes, jump) = uses(instr);
            let mut after = if matches!(instr, Instr::Jump { .. }) { 0 } else { live[at + 1] };
            after |= jump.map_or(0, |to| live.get(to as usize).copied().unwrap_or(end));
            let now = after & !writes | reads;
            changed |= now != live[at];
            live[at] = now;
        }
        if !changed {
            break;
        }
    }
    for target in targets {
        heads[target as usize] = Some(live[target as usize]);
    }
    heads
}
