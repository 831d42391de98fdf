//! From executed instructions to operations with their dependencies.
//!
//! Problem: a log says which instruction a hart executed, the register it wrote, and perhaps the memory it accessed. A trace wants
//! accesses with values, and on which earlier accesses address, data and control depended.
//!
//! Algorithm: for each hart, every register has its value (once it was written in the log) and the accesses that its value was computed
//! from. An instruction's result comes from everything that its sources come from; a load, an atomic or the success of an `sc`
//! comes from that access alone. What a branch looked at is added to the control dependencies of all later stores. An
//! address that the log leaves out is computed from the base register; a stored value likewise.
//!
//! Invariants: sets of accesses are sorted and hold at most [`MOST`]; of larger ones the latest are kept.
//!
//! Guarantees: every dependency that is written exists in the instruction stream. Some may be missing: those beyond the limit, and those through
//! instructions that the decoder does not know. A trace with fewer dependencies is allowed more often, so a correct machine is never blamed.
//! A barrier that orders loads before stores ends control dependencies on what came before: it orders the same pairs.

use crate::op::{Kind, Log, Op, Place};
use crate::riscv::{self, Amo, Instr, Order, Reg, mask};
use membar_core::Depends;
use std::collections::HashMap;

/// Accesses that one register, or the control flow, is known to depend on, at most.
const MOST: usize = 16;

/// One line of a log: an instruction that was executed.
#[derive(Clone, Default, Debug)]
pub struct Step {
    /// The hart.
    pub hart: u32,
    /// The address of the instruction.
    pub pc: u64,
    /// The instruction.
    pub word: u32,
    /// The line in the log.
    pub line: u64,
    /// Registers it wrote.
    pub writes: Vec<(Reg, u64)>,
    /// Addresses it accessed, as far as the log says.
    pub accessed: Vec<u64>,
    /// What it stored, as far as the log says.
    pub stored: Vec<(u64, u64)>,
    /// Does the log show addresses and stored values?
    pub shows_memory: bool,
    /// Are registers 32 bits wide?
    pub rv32: bool,
}

/// The harts of a log.
#[derive(Default, Debug)]
pub struct Stream {
    harts: HashMap<u32, Hart>,
}

#[derive(Default, Debug)]
struct Hart {
    values: HashMap<Reg, u64>,
    from: HashMap<Reg, Vec<usize>>,
    control: Vec<usize>,
    /// The address of the last load reserved.
    reserved: Option<u64>,
}

impl Hart {
    fn value(&self, register: Option<Reg>) -> Option<u64> {
        match register {
            None | Some(0) => Some(0),
            Some(register) => self.values.get(&register).copied(),
        }
    }

    fn sources(&self, registers: &[Option<Reg>]) -> Vec<usize> {
        let mut all = Vec::new();
        for register in registers.iter().flatten() {
            all.extend(self.from.get(register).into_iter().flatten());
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Keeps the latest of a sorted set.
fn limit(set: &mut Vec<usize>, log: &mut Log) {
    if set.len() > MOST {
        log.note("a register or branch depends on more than 16 accesses: dependencies on the older ones are left out");
        set.drain(..set.len() - MOST);
    }
}

impl Stream {
    /// Adds what an instruction did to the log. The reason, if its access cannot be told.
    pub fn step(&mut self, step: &Step, log: &mut Log) -> Result<(), String> {
        let instr = riscv::decode(step.word, step.rv32);
        let hart = self.harts.entry(step.hart).or_default();
        let access = access(hart, step, &instr, log);
        let mut computed = Vec::new();
        let mut failed = None;
        match access {
            Err(reason) => failed = Some(reason),
            Ok(Some(op)) => {
                let ops = &mut log.section().ops;
                computed.push(ops.len());
                ops.push(op);
            }
            // A link register holds a constant, and what an unknown instruction computes is unknown.
            Ok(None) if instr.kind == riscv::Kind::Compute => {
                computed = hart.sources(&instr.sources);
                limit(&mut computed, log);
            }
            Ok(None) => {}
        }
        match instr.kind {
            riscv::Kind::Branch => {
                let looked_at = hart.sources(&instr.sources);
                hart.control.extend(looked_at);
                hart.control.sort_unstable();
                hart.control.dedup();
                limit(&mut hart.control, log);
            }
            riscv::Kind::Fence(before, after) if before & 2 != 0 && after & 1 != 0 => hart.control.clear(),
            riscv::Kind::FenceTso => hart.control.clear(),
            riscv::Kind::Unknown => log.note("unknown instructions: their results are taken to depend on nothing"),
            _ => {}
        }
        for target in [instr.target, instr.also].into_iter().flatten() {
            hart.from.insert(target, computed.clone());
            hart.values.remove(&target);
        }
        for &(register, value) in &step.writes {
            if instr.target != Some(register) && instr.also != Some(register) {
                hart.from.remove(&register);
            }
            hart.values.insert(register, value);
        }
        failed.map_or(Ok(()), Err)
    }
}

/// The access of an instruction, if it makes one.
fn access(hart: &mut Hart, step: &Step, instr: &Instr, log: &mut Log) -> Result<Option<Op>, String> {
    let fence = |text: String| Ok(Some(op(step.hart, Kind::Fence(text), Place::default(), step)));
    let (size, order) = match instr.kind {
        riscv::Kind::Compute | riscv::Kind::Branch | riscv::Kind::Unknown => return Ok(None),
        riscv::Kind::UnknownAccess if step.shows_memory && step.accessed.is_empty() && step.stored.is_empty() => {
            return Ok(None);
        }
        riscv::Kind::UnknownAccess => {
            return Err(
                "this instruction accesses memory in a way that is not supported (vectors, cache blocks, more than \
                        8 bytes)"
                    .into(),
            );
        }
        riscv::Kind::Fence(before, after) => match (set(before), set(after)) {
            (before, after) if before.is_empty() || after.is_empty() => return Ok(None),
            (before, after) => return fence(format!("fence {before},{after}")),
        },
        riscv::Kind::FenceTso => return fence("fence.tso".into()),
        riscv::Kind::FenceI => return fence("fence.i".into()),
        riscv::Kind::Load(size) | riscv::Kind::Store(size) => (size, Order::default()),
        riscv::Kind::Amo(_, size, order) | riscv::Kind::Lr(size, order) | riscv::Kind::Sc(size, order) => (size, order),
    };
    let logged = step.stored.first().map(|&(address, _)| address).or(step.accessed.first().copied());
    if step.stored.len() > 1 || step.accessed.len() > 1 && instr.kind != riscv::Kind::Load(size) {
        return Err("several accesses by one instruction are not supported".into());
    }
    let width = if step.rv32 { u64::from(u32::MAX) } else { u64::MAX };
    let computed = hart.value(instr.base).map(|base| base.wrapping_add(instr.offset as u64) & width);
    let reserved = hart.reserved.filter(|_| matches!(instr.kind, riscv::Kind::Sc(..)));
    let Some(address) = logged.or(computed).or(reserved) else {
        return Err(format!("the address is unknown: nothing above says what {} holds", name(instr.base.unwrap_or(0))));
    };
    let returned = instr.target.and_then(|target| step.writes.iter().find(|(register, _)| *register == target));
    let returned = returned.map(|&(_, value)| value & mask(size));
    let operand = hart.value(instr.sources[0]).map(|value| value & mask(size));
    let stored = step.stored.first().map(|&(_, value)| value & mask(size));
    let kind = match instr.kind {
        riscv::Kind::Load(_) => match returned {
            Some(value) => Kind::Load(value.into()),
            None if instr.target.is_none() => {
                log.note("loads into x0, whose values no log has: left out");
                return Ok(None);
            }
            None => return Err("the value that was loaded is missing".into()),
        },
        riscv::Kind::Lr(..) => {
            hart.reserved = Some(address);
            Kind::Lr(returned.ok_or("the value that was loaded is missing")?.into())
        }
        riscv::Kind::Store(_) => {
            let missing = || format!("the stored value is unknown: nothing above says what {} holds", source(instr));
            Kind::Store(stored.or(operand).ok_or_else(missing)?.into())
        }
        riscv::Kind::Sc(..) => {
            hart.reserved = None;
            let stores = match (returned, step.shows_memory) {
                (Some(result), _) => result == 0,
                (None, true) => stored.is_some(),
                (None, false) => return Err("an `sc` without a result: whether it stored is unknown".into()),
            };
            match (stores, stored.or(operand)) {
                (false, _) => Kind::ScFails,
                (true, Some(value)) => Kind::Sc(value.into()),
                (true, None) => {
                    return Err(format!(
                        "the stored value is unknown: nothing above says what {} holds",
                        source(instr)
                    ));
                }
            }
        }
        riscv::Kind::Amo(amo, ..) => {
            let new = stored.or_else(|| Some(amo.apply(returned?, operand?, size)).filter(|_| amo != Amo::Cas));
            let old = returned.or_else(|| amo.undo(new?, operand?, size));
            match (old, new) {
                (Some(old), Some(new)) => Kind::Rmw(old.into(), new.into()),
                (Some(old), None) if amo == Amo::Cas && step.shows_memory => Kind::Load(old.into()),
                (None, Some(new)) => {
                    log.note("atomics whose target is x0, so that what they read is unknown: converted as stores");
                    Kind::Store(new.into())
                }
                _ => return Err("what the atomic stored is unknown".into()),
            }
        }
        _ => return Ok(None),
    };
    let mut op = op(step.hart, kind, Place { address, size, name: None }, step);
    op.order = order;
    op.depends.extend(hart.sources(&[instr.base]).into_iter().map(|on| (Depends::Address, on)));
    if op.stores() {
        op.depends.extend(hart.sources(&instr.sources).into_iter().map(|on| (Depends::Data, on)));
        op.depends.extend(hart.control.iter().map(|&on| (Depends::Control, on)));
    }
    Ok(Some(op))
}

fn op(hart: u32, kind: Kind, place: Place, step: &Step) -> Op {
    Op { pc: Some(step.pc), ..Op::new(hart, kind, place, step.line) }
}

fn source(instr: &Instr) -> String {
    name(instr.sources[0].unwrap_or(0))
}

fn name(register: Reg) -> String {
    if register >= riscv::FLOAT { format!("f{}", register - riscv::FLOAT) } else { format!("x{register}") }
}

/// The loads and stores of a fence's set; devices are not part of a trace.
fn set(bits: u8) -> String {
    [(2, 'r'), (1, 'w')].iter().filter(|(bit, _)| bits & bit != 0).map(|(_, letter)| letter).collect()
}
