//! Idle rounds of loops: which registers matter where.

use membar_litmus::{Code, Instr, Operand, Place, Reg, ThreadCode, Update};
use std::collections::BTreeSet;

/// For each thread, instruction and the end, the registers whose values matter there.
pub(crate) struct Idle {
    live: Vec<Vec<BTreeSet<Reg>>>,
}

impl Idle {
    pub(crate) fn new(code: &Code) -> Idle {
        Idle { live: code.threads.iter().map(live).collect() }
    }

    /// Whether a thread that comes to this instruction continues in the same way with either of these registers.
    pub(crate) fn same(&self, thread: usize, pc: u32, one: &[u64], other: &[u64]) -> bool {
        self.live[thread][pc as usize].iter().all(|&reg| one[usize::from(reg)] == other[usize::from(reg)])
    }
}

/// A register matters if it is used before it is set. At the end all matter, because final states have them.
fn live(thread: &ThreadCode) -> Vec<BTreeSet<Reg>> {
    let end = thread.instrs.len();
    let mut live = vec![BTreeSet::new(); end + 1];
    live[end] = (0..thread.regs.len() as Reg).collect();
    loop {
        let before = live.clone();
        for (at, instr) in thread.instrs.iter().enumerate().rev() {
            let beyond = |to: u32| live[(to as usize).min(end)].clone();
            let mut here = match *instr {
                Instr::Jump { to } => beyond(to),
                Instr::Branch { to, .. } => &live[at + 1] | &beyond(to),
                _ => live[at + 1].clone(),
            };
            if let Some(set) = set(instr) {
                here.remove(&set);
            }
            here.extend(used(instr));
            live[at] = here;
        }
        if live == before {
            return live;
        }
    }
}

/// The register that an instruction sets.
fn set(instr: &Instr) -> Option<Reg> {
    match *instr {
        Instr::Set { dst, .. } | Instr::Alu { dst, .. } | Instr::Load { dst, .. } | Instr::Rmw { dst, .. } => Some(dst),
        Instr::Jump { .. } | Instr::Branch { .. } | Instr::Store { .. } | Instr::Barrier(_) | Instr::Fence(_) => None,
    }
}

/// The registers that an instruction uses.
fn used(instr: &Instr) -> Vec<Reg> {
    let value = |operand: Operand| match operand {
        Operand::Reg(reg) => vec![reg],
        Operand::Value(_) => Vec::new(),
    };
    let place = |place: Place| match place {
        Place::At(reg) => vec![reg],
        Place::Cell(_) => Vec::new(),
    };
    match *instr {
        Instr::Set { src, .. } => value(src),
        Instr::Alu { a, b, .. } => [value(a), value(b)].concat(),
        Instr::Branch { cond, .. } => value(cond),
        Instr::Load { from, .. } => place(from),
        Instr::Store { to, value: stored, .. } => [place(to), value(stored)].concat(),
        Instr::Rmw { update, at, value: operand, .. } => {
            let expected = match update {
                Update::CompareExchange { expected } => value(expected),
                Update::Apply(_) | Update::Exchange => Vec::new(),
            };
            [place(at), value(operand), expected].concat()
        }
        Instr::Jump { .. } | Instr::Barrier(_) | Instr::Fence(_) => Vec::new(),
    }
}
