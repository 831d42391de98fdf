//! One function: its instructions, where its frame and the registers of its caller are, and what each instruction uses.
//!
//! # Algorithm
//!
//! The instructions are found from the entry, along all jumps. A pass over them, repeated until nothing changes, keeps for each
//! register and each word of the frame whether it holds an address in the frame, or what a register held at the entry
//! ([`Value`]). With that, each instruction has an [`Effect`].
//!
//! An address in the frame *escapes* if somebody may use it in a way that is not followed here: it is passed to a function, stored
//! outside of the frame, or calculated with. From then on any code may access the frame.
//!
//! # Invariants
//!
//! A value only loses knowledge when states are joined: from what is known to [`Value::Other`] or [`Value::Maybe`], and never from an address
//! in the frame to [`Value::Other`]. So the pass ends, and no address in the frame is lost.
//!
//! # Guarantees
//!
//! A function that does anything that is not understood with the stack or with the registers of its caller has no [`Flow`]; neither has
//! one of more than [`MOST`] instructions or with a frame deeper than [`DEEPEST`].
//!
//! # Complexity
//!
//! An instruction is looked at again when what is known before it has changed: at most twice for each register and word of the frame, once or
//! twice in practice.

use super::code::{Callee, Code, Hook};
use super::step::Step;
use crate::build::takes_values;
use iced_x86::{Code as Op, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The most instructions of a function.
const MOST: usize = 20_000;
/// The lowest address in a frame.
const DEEPEST: i32 = -(1 << 14);

/// The number of a register, as instructions have it.
pub const RAX: usize = 0;
pub const RCX: usize = 1;
pub const RDX: usize = 2;
pub const RBX: usize = 3;
pub const RSP: usize = 4;
pub const RBP: usize = 5;
pub const RSI: usize = 6;
pub const RDI: usize = 7;
/// The flags, among the registers.
pub const FLAGS: u32 = 1 << 16;
/// All vector registers, as one: what one of them held may be in any.
pub const VECTORS: u32 = 1 << 17;
/// All of them.
pub const ALL: u32 = (1 << 18) - 1;

/// The registers that a function leaves as they were, in the order in which stubs store them.
pub const SAVED: [usize; 6] = [RBX, RBP, 12, 13, 14, 15];
/// The registers that a function may take arguments from, in their order, and two more that it may look at.
pub const ARGUMENTS: [usize; 8] = [RDI, RSI, RDX, RCX, 8, 9, RAX, 10];

/// A set of registers.
pub fn set(registers: &[usize]) -> u32 {
    registers.iter().fold(0, |set, register| set | 1 << register)
}

/// What a register or a word of the frame holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// Anything that has nothing to do with the frame.
    Other,
    /// What this register held at the entry; only those in [`SAVED`].
    Entry(usize),
    /// An address: that of the return address, plus this many bytes.
    Frame(i32),
    /// Possibly an address in the frame.
    Maybe,
}

impl Value {
    /// Whether it may be an address in the frame.
    pub fn is_frame(self) -> bool {
        matches!(self, Value::Frame(_) | Value::Maybe)
    }

    fn join(self, other: Value) -> Value {
        if self == other {
            self
        } else if self.is_frame() || other.is_frame() {
            Value::Maybe
        } else {
            Value::Other
        }
    }
}

/// Everything that is known before an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    pub registers: [Value; 16],
    /// Words of the frame that hold something else than [`Value::Other`], by their distance from the return address.
    pub words: BTreeMap<i32, Value>,
}

impl State {
    fn entry() -> State {
        let mut registers = [Value::Other; 16];
        registers[RSP] = Value::Frame(0);
        for register in SAVED {
            registers[register] = Value::Entry(register);
        }
        State { registers, words: BTreeMap::new() }
    }

    pub fn word(&self, at: i32) -> Value {
        self.words.get(&at).copied().unwrap_or(Value::Other)
    }

    /// Where the stack pointer is.
    pub fn depth(&self) -> Option<i32> {
        match self.registers[RSP] {
            Value::Frame(at) if (DEEPEST..=0).contains(&at) => Some(at),
            _ => None,
        }
    }

    /// Whether that made a difference.
    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (one, two) in self.registers.iter_mut().zip(other.registers) {
            *one = one.join(two);
        }
        for (&at, &value) in &other.words {
            let joined = self.word(at).join(value);
            self.words.insert(at, joined);
        }
        for (at, value) in &mut self.words {
            *value = value.join(other.word(*at));
        }
        self.words.retain(|_, value| *value != Value::Other);
        *self != before
    }
}

/// Bytes of the frame: from here, and how many.
pub type Span = (i32, i32);

/// What an instruction uses and changes, as far as it is registers and the frame.
#[derive(Clone, Copy, Default, Debug)]
pub struct Effect {
    /// Registers that its results depend on, and that it uses whether or not anybody uses the results.
    pub uses: u32,
    pub always: u32,
    /// Registers that it writes, and those of them of which nothing is left.
    pub writes: u32,
    pub kills: u32,
    pub load: Option<Span>,
    pub store: Option<Span>,
    /// The store is always made, and writes all of these bytes.
    pub whole: bool,
    /// It does more than write registers and the frame.
    pub acts: bool,
    /// That is a jump.
    pub jumps: bool,
    pub call: Option<Callee>,
    /// That is about memory in the frame.
    pub own: bool,
    /// The function that it calls may take arguments from the stack.
    pub stack: bool,
}

/// An instruction, the state before it, and its effect.
#[derive(Debug)]
pub struct Point {
    /// Where it returns to if it is a call.
    pub next: u64,
    pub state: State,
    pub effect: Effect,
    /// What comes after it, as indices.
    pub after: Vec<usize>,
}

#[derive(Debug)]
pub struct Flow {
    pub points: Vec<Point>,
    /// Any code may access the frame.
    pub escapes: bool,
    /// It may access what is above its return address.
    pub above: bool,
    /// It may continue at another place when a function that it calls does not return.
    pub catches: bool,
}

/// What a function that is called may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Access what is above its return address.
    pub above: bool,
    /// Nothing but calculate and rest.
    pub quiet: bool,
}

impl About {
    pub const ANYTHING: About = About { above: true, quiet: false };
}

/// The control flow of a function: its instructions in the order of their addresses, and what comes after each.
fn graph(code: &Code, entry: u64) -> Option<(Vec<Instruction>, Vec<Vec<usize>>, bool)> {
    let end = code.end(entry)?;
    let mut found: BTreeMap<u64, (Instruction, Vec<u64>)> = BTreeMap::new();
    let mut todo = vec![entry];
    while let Some(at) = todo.pop() {
        if found.contains_key(&at) {
            continue;
        }
        let instruction = code.decode(at)?;
        // A call that is the last instruction does not return.
        let next = (instruction.next_ip() < code.limit(at)?).then_some(instruction.next_ip());
        let target = || {
            let target = instruction.near_branch_target();
            (target == entry || !code.is_entry(target)).then_some(target)
        };
        let after: Vec<u64> = match instruction.flow_control() {
            FlowControl::Next => vec![next?],
            FlowControl::Call | FlowControl::IndirectCall => next.into_iter().collect(),
            FlowControl::UnconditionalBranch => target().into_iter().collect(),
            FlowControl::ConditionalBranch => vec![next?, target()?],
            FlowControl::Return => Vec::new(),
            FlowControl::Exception if instruction.mnemonic() == Mnemonic::Ud2 => Vec::new(),
            _ => return None,
        };
        todo.extend(&after);
        found.insert(at, (instruction, after));
        if found.len() > MOST {
            return None;
        }
    }
    // Instructions that overlap are not a compiler's.
    let mut before = 0;
    for (&at, (instruction, _)) in &found {
        if at < before {
            return None;
        }
        before = instruction.next_ip();
    }
    let index: FxHashMap<u64, usize> = found.keys().enumerate().map(|(i, &at)| (at, i)).collect();
    let hidden = has_more(code, entry, end, &found);
    let (instructions, after): (Vec<_>, Vec<Vec<u64>>) = found.into_values().unzip();
    let after = after.iter().map(|after| after.iter().map(|at| index[at]).collect()).collect();
    Some((instructions, after, hidden))
}

/// Whether a function has code that no jump leads to: it catches exceptions there, or is entered otherwise.
fn has_more(code: &Code, entry: u64, end: u64, found: &BTreeMap<u64, (Instruction, Vec<u64>)>) -> bool {
    let mut at = entry;
    while at < end {
        match (found.get(&at), code.decode(at)) {
            (Some((instruction, _)), _) => at = instruction.next_ip(),
            (None, Some(fill)) if matches!(fill.mnemonic(), Mnemonic::Nop | Mnemonic::Int3 | Mnemonic::Ud2) => {
                at = fill.next_ip();
            }
            // Assemblers fill with `xchg %ax, %ax` and the like.
            (None, Some(fill)) if fill.code() == Op::Nopw || fill.code() == Op::Xchg_r16_AX => at = fill.next_ip(),
            _ => return true,
        }
    }
    false
}

impl Flow {
    /// `about` says what is known of a function of the program.
    pub fn new(code: &Code, entry: u64, mut about: impl FnMut(u64) -> About) -> Option<Flow> {
        let (instructions, after, hidden) = graph(code, entry)?;
        let first = instructions.binary_search_by_key(&entry, Instruction::ip).ok()?;
        let mut callees: Vec<Option<Callee>> =
            instructions.iter().map(|instruction| callee(code, instruction)).collect();
        for (i, callee) in callees.iter_mut().enumerate() {
            if let Some(Callee::Hook(Hook::Fill { bytes })) = callee {
                *bytes = third_argument(&instructions, &after, i);
            }
        }
        let mut states: Vec<Option<State>> = vec![None; instructions.len()];
        states[first] = Some(State::entry());
        let mut step = Step::new(InstructionInfoFactory::new());
        let mut make = |step: &mut Step, i: usize, state: &mut State| {
            if after[i].is_empty() && instructions[i].flow_control() == FlowControl::UnconditionalBranch {
                // Another function continues in place of this one.
                step.above = true;
                return step.leave(state, set(&ARGUMENTS) | VECTORS);
            }
            step.make(&instructions[i], callees[i], state, &mut about)
        };
        let mut todo = vec![first];
        while let Some(i) = todo.pop() {
            let Some(mut state) = states[i].clone() else { continue };
            make(&mut step, i, &mut state)?;
            for &next in &after[i] {
                let changed = match &mut states[next] {
                    Some(known) => known.join(&state),
                    unknown => {
                        *unknown = Some(state.clone());
                        true
                    }
                };
                if changed && !todo.contains(&next) {
                    todo.push(next);
                }
            }
        }
        let mut points = Vec::new();
        for (i, instruction) in instructions.iter().enumerate() {
            let state = states[i].take()?;
            let effect = make(&mut step, i, &mut state.clone())?;
            let point = Point { next: instruction.next_ip(), state, effect, after: after[i].clone() };
            points.push(point);
        }
        let Step { escapes, above, .. } = step;
        Some(Flow { points, escapes, above, catches: hidden || code.catches(entry) })
    }
}

/// The third argument of a call, if it is a constant that one of the few instructions right before it sets.
fn third_argument(instructions: &[Instruction], after: &[Vec<usize>], call: usize) -> Option<u16> {
    for i in (call.saturating_sub(6)..call).rev() {
        let only = |to: usize| after.iter().enumerate().all(|(from, next)| from + 1 == to || !next.contains(&to));
        let instruction = &instructions[i];
        if after[i][..] != [i + 1] || !only(i + 1) || instruction.flow_control() != FlowControl::Next {
            return None;
        }
        if instruction.code() == Op::Mov_r32_imm32 && instruction.op0_register() == Register::EDX {
            return u16::try_from(instruction.immediate32()).ok();
        }
        let mut info = InstructionInfoFactory::new();
        let mut used = info.info(instruction).used_registers().iter();
        let writes = |access| !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::None);
        if used.any(|used| used.register().full_register() == Register::RDX && writes(used.access())) {
            return None;
        }
    }
    None
}

fn callee(code: &Code, instruction: &Instruction) -> Option<Callee> {
    let is_call = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    let callee = is_call.then(|| code.callee(instruction))?;
    if let Callee::Hook(Hook::Assembly { .. }) = callee {
        // The instruction before it says what it is about: `movl $…, %esi`.
        let before = instruction.ip().checked_sub(5).and_then(|at| code.decode(at));
        let says = |before: &Instruction| before.code() == Op::Mov_r32_imm32 && before.op0_register() == Register::ESI;
        let what = before.filter(says).map(|before| before.immediate32());
        return Some(Callee::Hook(Hook::Assembly { values: what.is_none_or(takes_values) }));
    }
    Some(callee)
}
