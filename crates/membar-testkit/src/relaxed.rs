//! Final states of small RISC-V and Arm programs, straight from the definitions: the oracle for litmus tests of RISCV and AArch64.
//!
//! Every total order of the accesses is tried. A load returns, byte by byte, the latest of the stores that are before it in
//! that order or before it in its thread (the manual's load value axiom). The order is legal if it keeps the model's program order and
//! no other thread writes between the two halves of an atomic (the atomicity axiom), and if no thread sees a byte go back in
//! time. Arm's axioms say the same: an order exists exactly if ordered-before has no cycle.
//!
//! Programs have their own, smaller language, with addresses that are known, so that nothing here shares code with what it
//! checks; [`Program::riscv`] and [`Program::aarch64`] write them as litmus tests.

mod text;

use std::collections::BTreeSet;

/// The model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the names say it
pub enum Model {
    Sc,
    Ztso,
    Rvwmo,
    Armv8,
}

/// A fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fence {
    /// What stays before what: reads and writes before, reads and writes after.
    Sets([bool; 4]),
    /// `fence.tso`
    Tso,
    /// ISB
    Isb,
}

/// A place in memory: location, first byte and size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the names say it
pub struct Place {
    pub location: usize,
    pub offset: usize,
    pub bytes: usize,
    /// The register that the address depends on, without changing it.
    pub addr: Option<usize>,
}

/// What is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// This number.
    Constant(u64),
    /// This number; it depends on the register, without changing.
    Depends(u64, usize),
    /// The register's value.
    Register(usize),
}

/// An instruction. Registers are numbered in each thread; each is written once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the names say it
pub enum Instr {
    Load {
        to: usize,
        at: Place,
        acquire: bool,
        acquire_pc: bool,
        reserve: bool,
    },
    Store {
        at: Place,
        value: Stored,
        release: bool,
    },
    /// A store-conditional; the register gets 0 if it succeeds.
    Conditional {
        to: usize,
        at: Place,
        value: Stored,
        release: bool,
    },
    /// Adds, or exchanges.
    Atomic {
        to: usize,
        at: Place,
        value: Stored,
        adds: bool,
        acquire: bool,
        release: bool,
    },
    Fence(Fence),
    /// A branch on the register to the next instruction.
    Depend {
        on: usize,
    },
    /// Leaves out the next instruction if the register is not 0.
    Skip {
        on: usize,
    },
}

/// A program: two locations of four bytes, which are 0 at the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// The instructions of each thread.
    pub threads: Vec<Vec<Instr>>,
}

/// Locations.
pub const LOCATIONS: usize = 2;
const BYTES: usize = 4;

/// An access in an execution: thread, instruction, and for Arm's atomics which half.
#[derive(Clone, Copy, Debug)]
struct Event {
    thread: usize,
    instr: usize,
    reads: bool,
    writes: bool,
}

impl Program {
    /// How many registers a thread has.
    pub fn registers(&self, thread: usize) -> usize {
        let wrote = |instr: &Instr| match *instr {
            Instr::Load { to, .. } | Instr::Conditional { to, .. } | Instr::Atomic { to, .. } => to + 1,
            _ => 0,
        };
        self.threads[thread].iter().map(wrote).max().unwrap_or(0)
    }

    /// All final states: the registers of all threads, then the locations.
    pub fn finals(&self, model: Model) -> BTreeSet<Vec<u64>> {
        let mut finals = BTreeSet::new();
        // A bit for each skip (taken) and each store-conditional (successful).
        let choices: Vec<(usize, usize)> = self.places(|i| matches!(i, Instr::Skip { .. } | Instr::Conditional { .. }));
        for bits in 0..1u32 << choices.len() {
            let chosen = |thread: usize, instr: usize| {
                choices.iter().position(|&c| c == (thread, instr)).is_some_and(|at| bits >> at & 1 == 1)
            };
            if let Some(run) = Run::new(self, model, &chosen) {
                let mut order = Vec::new();
                run.orders(&mut order, &mut finals);
            }
        }
        finals
    }

    fn places(&self, wanted: impl Fn(&Instr) -> bool) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        for (thread, instrs) in self.threads.iter().enumerate() {
            places.extend((0..instrs.len()).filter(|&at| wanted(&instrs[at])).map(|at| (thread, at)));
        }
        places
    }
}

/// The program with its choices made.
struct Run<'a> {
    program: &'a Program,
    model: Model,
    /// Instructions that are left out, or fail.
    dropped: Vec<Vec<bool>>,
    taken: Vec<Vec<bool>>,
    events: Vec<Event>,
    /// For each store-conditional that succeeds, its load-reserved.
    reserved: Vec<Option<usize>>,
}

impl<'a> Run<'a> {
    fn new(program: &'a Program, model: Model, chosen: &dyn Fn(usize, usize) -> bool) -> Option<Run<'a>> {
        let mut run = Run {
            program,
            model,
            dropped: program.threads.iter().map(|instrs| vec![false; instrs.len()]).collect(),
            taken: program.threads.iter().map(|instrs| vec![false; instrs.len()]).collect(),
            events: Vec::new(),
            reserved: Vec::new(),
        };
        for (thread, instrs) in program.threads.iter().enumerate() {
            let mut reserved: Option<(usize, Place)> = None;
            for (at, instr) in instrs.iter().enumerate() {
                if at > 0 && matches!(instrs[at - 1], Instr::Skip { .. }) && run.taken[thread][at - 1] {
                    // What a left-out instruction would have chosen is not a choice.
                    if chosen(thread, at) {
                        return None;
                    }
                    run.dropped[thread][at] = true;
                    continue;
                }
                let mut add = |reads: bool, writes: bool, from: Option<usize>| {
                    run.events.push(Event { thread, instr: at, reads, writes });
                    run.reserved.push(from);
                };
                match *instr {
                    Instr::Load { at: place, reserve, .. } => {
                        add(true, false, None);
                        if reserve {
                            reserved = Some((run.events.len() - 1, place));
                        }
                    }
                    Instr::Store { .. } => add(false, true, None),
                    Instr::Atomic { .. } if model == Model::Armv8 => {
                        add(true, false, None);
                        add(false, true, None);
                    }
                    Instr::Atomic { .. } => add(true, true, None),
                    Instr::Conditional { at: place, .. } => {
                        let last = reserved.take();
                        if chosen(thread, at) {
                            let (load, from) = last?;
                            if (from.location, from.offset) != (place.location, place.offset) {
                                return None;
                            }
                            add(false, true, Some(load));
                        } else {
                            run.dropped[thread][at] = true;
                        }
                    }
                    Instr::Skip { .. } => run.taken[thread][at] = chosen(thread, at),
                    Instr::Fence(_) | Instr::Depend { .. } => {}
                }
            }
        }
        Some(run)
    }

    fn instr(&self, event: usize) -> Instr {
        self.program.threads[self.events[event].thread][self.events[event].instr]
    }

    fn place(&self, event: usize) -> Place {
        match self.instr(event) {
            Instr::Load { at, .. }
            | Instr::Store { at, .. }
            | Instr::Conditional { at, .. }
            | Instr::Atomic { at, .. } => at,
            _ => unreachable!("not an access"),
        }
    }

    /// Whether the access touches this byte.
    fn touches(&self, event: usize, (location, byte): (usize, usize)) -> bool {
        let place = self.place(event);
        place.location == location && (place.offset..place.offset + place.bytes).contains(&byte)
    }

    fn po(&self, a: usize, b: usize) -> bool {
        self.events[a].thread == self.events[b].thread && a < b
    }

    /// Tries every total order.
    fn orders(&self, order: &mut Vec<usize>, finals: &mut BTreeSet<Vec<u64>>) {
        if order.len() == self.events.len() {
            finals.extend(self.end(order));
            return;
        }
        for next in 0..self.events.len() {
            if !order.contains(&next) {
                order.push(next);
                self.orders(order, finals);
                order.pop();
            }
        }
    }

    /// The final state of an order, if it is legal.
    fn end(&self, order: &[usize]) -> Option<Vec<u64>> {
        let count = self.events.len();
        let mut time = vec![0; count];
        order.iter().enumerate().for_each(|(at, &event)| time[event] = at);
        let bytes = || (0..LOCATIONS).flat_map(|location| (0..BYTES).map(move |byte| (location, byte)));
        // The load value axiom.
        let source = |load: usize, byte: (usize, usize)| {
            (0..count)
                .filter(|&s| s != load && self.events[s].writes && self.touches(s, byte))
                .filter(|&s| time[s] < time[load] || self.po(s, load))
                .max_by_key(|&s| time[s])
        };
        for b in 0..count {
            for a in 0..count {
                if self.po(a, b) && time[a] > time[b] && self.keeps(a, b, &source) {
                    return None;
                }
                // No byte goes back in time.
                for byte in bytes().filter(|&byte| self.touches(a, byte) && self.touches(b, byte)) {
                    let age = |event: usize| {
                        if self.events[event].writes { Some(time[event]) } else { source(event, byte).map(|s| time[s]) }
                    };
                    let looks = source(b, byte).map(|s| time[s]);
                    if self.po(a, b) && self.events[b].reads && looks < age(a) {
                        return None;
                    }
                }
            }
        }
        // The atomicity axiom.
        for write in 0..count {
            let load = match self.instr(write) {
                Instr::Conditional { .. } => self.reserved[write]?,
                Instr::Atomic { .. } if self.model == Model::Armv8 && self.events[write].writes => write - 1,
                Instr::Atomic { .. } if self.model != Model::Armv8 => write,
                _ => continue,
            };
            for byte in bytes().filter(|&byte| self.touches(write, byte) && self.touches(load, byte)) {
                let from = source(load, byte).map(|s| time[s]);
                let between = |s: usize| {
                    self.events[s].writes
                        && self.events[s].thread != self.events[write].thread
                        && self.touches(s, byte)
                        && Some(time[s]) > from
                        && time[s] < time[write]
                };
                if (0..count).any(between) {
                    return None;
                }
            }
        }
        self.values(&source, &time)
    }

    /// Values, once it is known what reads what; `None` if a choice was not the one that values make.
    fn values(&self, source: &dyn Fn(usize, (usize, usize)) -> Option<usize>, time: &[usize]) -> Option<Vec<u64>> {
        let mut registers: Vec<Vec<Option<u64>>> =
            (0..self.program.threads.len()).map(|thread| vec![None; self.program.registers(thread)]).collect();
        // A register that nothing wrote is 0; a store-conditional says whether it failed.
        let mut written = vec![None; self.events.len()];
        for (thread, instrs) in self.program.threads.iter().enumerate() {
            for (at, instr) in instrs.iter().enumerate() {
                let skipped = at > 0 && self.taken[thread][at - 1];
                match *instr {
                    Instr::Conditional { to, .. } => {
                        registers[thread][to] = Some(u64::from(!skipped && self.dropped[thread][at]));
                    }
                    Instr::Load { to, .. } | Instr::Atomic { to, .. } if self.dropped[thread][at] => {
                        registers[thread][to] = Some(0);
                    }
                    _ => {}
                }
            }
        }
        // Enough rounds for any chain.
        for _ in 0..=2 * self.events.len() {
            for (event, &Event { thread, reads, writes, .. }) in self.events.iter().enumerate() {
                let place = self.place(event);
                let mut old = None;
                let pair = if self.model == Model::Armv8 { 1 } else { 0 };
                let loads = if reads { event } else { event.wrapping_sub(pair) };
                let atomic = matches!(self.instr(event), Instr::Atomic { .. });
                if reads || atomic {
                    let byte = |byte: usize| {
                        let at = (place.location, place.offset + byte);
                        match source(loads, at) {
                            None => Some(0),
                            Some(s) => written[s].map(|value: u64| {
                                let offset = at.1 - self.place(s).offset;
                                value >> (8 * offset) & 0xFF
                            }),
                        }
                    };
                    old = (0..place.bytes).try_fold(0, |all, at| byte(at).map(|value| all | value << (8 * at)));
                }
                let operand = |value: Stored| match value {
                    Stored::Constant(value) | Stored::Depends(value, _) => Some(value),
                    Stored::Register(reg) => registers[thread][reg],
                };
                let fits = |value: u64| value & ((1 << (8 * place.bytes)) - 1);
                match self.instr(event) {
                    Instr::Load { to, .. } => registers[thread][to] = old,
                    Instr::Store { value, .. } | Instr::Conditional { value, .. } => {
                        written[event] = operand(value).map(fits);
                    }
                    Instr::Atomic { to, value, adds, .. } => {
                        if writes {
                            let sum = |(old, value): (u64, u64)| fits(if adds { old + value } else { value });
                            written[event] = old.zip(operand(value)).map(sum);
                        }
                        if reads {
                            registers[thread][to] = old;
                        }
                    }
                    _ => {}
                }
            }
        }
        for (thread, instrs) in self.program.threads.iter().enumerate() {
            for (at, instr) in instrs.iter().enumerate() {
                if let Instr::Skip { on } = *instr
                    && !self.dropped[thread][at]
                    && (registers[thread][on]? != 0) != self.taken[thread][at]
                {
                    return None;
                }
            }
        }
        let mut state = Vec::new();
        for register in registers.into_iter().flatten() {
            state.push(register?);
        }
        for location in 0..LOCATIONS {
            let mut value = 0;
            for byte in 0..BYTES {
                let last = (0..self.events.len())
                    .filter(|&s| self.events[s].writes && self.touches(s, (location, byte)))
                    .max_by_key(|&s| time[s]);
                if let Some(last) = last {
                    let offset = byte - self.place(last).offset;
                    value |= (written[last]? >> (8 * offset) & 0xFF) << (8 * byte);
                }
            }
            state.push(value);
        }
        Some(state)
    }
}

mod keeps;

#[cfg(test)]
mod tests {
    use super::*;

    fn word(location: usize) -> Place {
        Place { location, offset: 0, bytes: 4, addr: None }
    }

    fn load(to: usize, location: usize) -> Instr {
        Instr::Load { to, at: word(location), acquire: false, acquire_pc: false, reserve: false }
    }

    fn store(location: usize) -> Instr {
        Instr::Store { at: word(location), value: Stored::Constant(1), release: false }
    }

    #[test]
    fn the_models_differ_where_they_should() {
        let mp = Program { threads: vec![vec![store(0), store(1)], vec![load(0, 1), load(1, 0)]] };
        let sb = Program { threads: vec![vec![store(0), load(0, 1)], vec![store(1), load(0, 0)]] };
        let lb = Program { threads: vec![vec![load(0, 0), store(1)], vec![load(0, 1), store(0)]] };
        let counts = |program: &Program| {
            [Model::Sc, Model::Ztso, Model::Rvwmo, Model::Armv8].map(|model| program.finals(model).len())
        };
        assert_eq!(counts(&mp), [3, 3, 4, 4]);
        assert_eq!(counts(&sb), [3, 4, 4, 4]);
        assert_eq!(counts(&lb), [3, 3, 4, 4]);
    }
}
