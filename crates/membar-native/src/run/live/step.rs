//! The effect of one instruction, and the state after it.
//!
//! # Guarantees
//!
//! An effect never says too little: `uses`, `always` and `load` have all that the instruction may read, `kills` and `whole` only
//! what it overwrites in any case. It does not `act` only if it does nothing but calculate, jump, or call what is quiet; what the tables here do
//! not name acts. Flags count as one register, and so do all vector registers.
//!
//! A call may do anything with what escapes: an address in the frame that is an argument, unless a hook's argument that is announced. It
//! overwrites the registers that a function may change, but only a hook is known to leave nothing in them.
//!
//! # Complexity
//!
//! Constant for an instruction, but for a call, which looks at each word of the frame that is known.

use super::code::{Callee, Hook};
use super::flow::{
    ALL, ARGUMENTS, About, Effect, FLAGS, RAX, RBP, RCX, RDI, RDX, RSI, RSP, SAVED, Span, State, VECTORS, Value, set,
};
use iced_x86::{
    ConditionCode, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register, RflagsBits, UsedMemory,
};

/// The flags that calculations set.
const STATUS: u32 = RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::AF | RflagsBits::CF | RflagsBits::PF;

/// The registers that a function may change.
const SCRATCH: [usize; 9] = [RAX, RCX, RDX, RSI, RDI, 8, 9, 10, 11];

/// What a function returns is there.
pub const RESULTS: u32 = 1 << RAX | 1 << RDX | VECTORS;

/// What is found out about a function on the way.
pub struct Step {
    info: InstructionInfoFactory,
    pub escapes: bool,
    pub above: bool,
}

/// Where an instruction accesses memory.
enum Place {
    Frame(Span),
    /// The return address, or what is above it.
    Beyond(Span),
    /// It cannot fail.
    Fixed,
    Elsewhere,
}

fn number(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number())
}

fn reads(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// Whether an instruction only calculates: if nobody uses the results, it might as well not be there.
fn is_pure(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    #[rustfmt::skip]
    const PURE: &[Mnemonic] = &[
        M::Adc, M::Add, M::And, M::Bsf, M::Bsr, M::Bswap, M::Cbw, M::Cdq, M::Cdqe, M::Cmp, M::Cqo, M::Cwd, M::Cwde, M::Dec,
        M::Imul, M::Inc, M::Lea, M::Mov, M::Movsx, M::Movsxd, M::Movzx, M::Neg, M::Not, M::Or, M::Rol, M::Ror, M::Sar, M::Sbb,
        M::Shl, M::Shr, M::Sub, M::Test, M::Xor,
        M::Movapd, M::Movaps, M::Movd, M::Movdqa, M::Movdqu, M::Movq, M::Movupd, M::Movups, M::Pxor, M::Xorpd, M::Xorps,
    ];
    PURE.contains(&instruction.mnemonic()) && !instruction.has_lock_prefix() || is_conditional(instruction)
}

/// Whether it is a conditional move, or sets a byte to a condition.
fn is_conditional(instruction: &Instruction) -> bool {
    let next = instruction.flow_control() == FlowControl::Next;
    next && instruction.op_count() <= 2 && instruction.condition_code() != ConditionCode::None
}

impl Step {
    pub fn new(info: InstructionInfoFactory) -> Step {
        Step { info, escapes: false, above: false }
    }

    /// An address in the frame, or something made of one, is used by somebody else.
    fn escape(&mut self, value: Value) {
        self.escapes = true;
        self.above |= !matches!(value, Value::Frame(at) if at < 8);
    }

    /// Makes an instruction. `about` says what is known of a function. None if the instruction is not understood.
    pub fn make(
        &mut self,
        instruction: &Instruction,
        callee: Option<Callee>,
        state: &mut State,
        about: impl FnMut(u64) -> About,
    ) -> Option<Effect> {
        let depth = state.depth()?;
        let effect = match instruction.flow_control() {
            FlowControl::Return => self.leave(state, RESULTS)?,
            FlowControl::UnconditionalBranch => Effect::default(),
            FlowControl::Call | FlowControl::IndirectCall => self.call(instruction, callee?, state, about)?,
            FlowControl::Next | FlowControl::ConditionalBranch => self.plain(instruction, state, depth)?,
            _ => Effect { acts: true, ..Effect::default() },
        };
        if effect.writes & 1 << RSP != 0 {
            state.depth()?;
        }
        Some(effect)
    }

    /// The function ends here. Its caller finds its registers as they were.
    pub fn leave(&mut self, state: &State, uses: u32) -> Option<Effect> {
        let restored = SAVED.iter().all(|&register| state.registers[register] == Value::Entry(register));
        let mut results = (0..16).filter(|register| uses >> register & 1 != 0).map(|i| state.registers[i]);
        if let Some(value) = results.clone().find(|value| value.is_frame()) {
            self.escape(value);
        }
        let odd = results.any(|value| matches!(value, Value::Entry(_)));
        let top = state.depth() == Some(0);
        (top && restored && !odd).then_some(Effect { always: uses, acts: true, ..Effect::default() })
    }

    fn call(
        &mut self,
        instruction: &Instruction,
        callee: Callee,
        state: &mut State,
        mut about: impl FnMut(u64) -> About,
    ) -> Option<Effect> {
        let about = match callee {
            Callee::Function(target) => about(target),
            _ => About::ANYTHING,
        };
        let callee = if about.quiet { Callee::Quiet } else { callee };
        let mut effect = Effect { acts: true, call: Some(callee), ..Effect::default() };
        // What is below the stack pointer is anybody's from now on.
        let depth = state.depth()?;
        state.words.retain(|&at, _| at >= depth);
        let (arguments, stack) = match callee {
            // It leaves everything as it was.
            Callee::Hook(Hook::Assembly { values }) => {
                let always = if values { set(&[RDI, RSI, RAX, RDX]) } else { set(&[RDI, RSI]) };
                return Some(Effect { always, ..effect });
            }
            Callee::Hook(Hook::Nothing) => (0, false),
            Callee::Hook(Hook::Access) => (1, false),
            Callee::Hook(Hook::Range) => (2, false),
            Callee::Hook(Hook::Fill { bytes }) => {
                if let (Some(bytes), Value::Frame(at)) = (bytes, state.registers[RDI]) {
                    let span = (at, i32::from(bytes));
                    if at < depth || at + span.1 > 0 {
                        return None;
                    }
                    self.forget(state, span);
                    (effect.store, effect.whole) = (Some(span), true);
                }
                (3, false)
            }
            Callee::Hook(Hook::Rest { time }) => (usize::from(time) + 1, false),
            Callee::Hook(Hook::Atomic { arguments, expected }) => {
                if let (Some(bytes), Value::Frame(at)) = (expected, state.registers[RSI]) {
                    // It is compared with what is there, and gets it if that is something else.
                    self.weaken(state, (at, i32::from(bytes)));
                    effect.load = Some((at, i32::from(bytes)));
                    if at + i32::from(bytes) > 0 {
                        return None;
                    }
                }
                (usize::from(arguments), false)
            }
            Callee::Few | Callee::Quiet => (ARGUMENTS.len(), false),
            Callee::Function(_) => (ARGUMENTS.len(), about.above),
            Callee::Unknown => (ARGUMENTS.len(), true),
            Callee::Twice => return None,
        };
        let announced = match callee {
            Callee::Hook(Hook::Access | Hook::Range) => Some(0),
            Callee::Hook(Hook::Fill { .. }) if effect.store.is_some() => Some(0),
            Callee::Hook(Hook::Rest { time }) => Some(usize::from(time)),
            _ => None,
        };
        let at = |i: usize| state.registers[ARGUMENTS[i]];
        let own = |i: usize| matches!(at(i), Value::Frame(at) if at + 16 <= 0);
        effect.own = effect.store.is_some() || announced.is_some_and(own);
        let filled = effect.store.map(|(at, _)| at);
        for (i, &register) in ARGUMENTS[..arguments].iter().enumerate() {
            let value = state.registers[register];
            let compared = i == 1 && effect.load.is_some();
            if value.is_frame() && !compared && announced != Some(i) {
                self.escape(value);
            }
            if let Value::Entry(_) = value {
                return None;
            }
        }
        if let Callee::Hook(Hook::Rest { time }) = callee {
            // It fails if that is no time.
            match state.registers[ARGUMENTS[usize::from(time)]] {
                Value::Frame(at) if effect.own => effect.load = Some((at, 16)),
                value if value.is_frame() => self.escape(value),
                _ => {}
            }
        }
        if callee == Callee::Quiet {
            // Its result is made of them.
            (effect.uses, effect.acts) = (set(&ARGUMENTS) | VECTORS, false);
        } else {
            let vectors = if let Callee::Hook(_) = callee { 0 } else { VECTORS };
            effect.always = set(&ARGUMENTS[..arguments]) | vectors;
        }
        if instruction.flow_control() == FlowControl::IndirectCall {
            effect.always |= self.address(instruction, state)?;
        }
        let scratch = set(&SCRATCH) | FLAGS | VECTORS;
        if let Callee::Hook(_) = callee {
            (effect.writes, effect.kills) = (scratch, scratch);
        } else {
            // A compiler that has seen the function may know that some are left alone.
            (effect.writes, effect.stack) = (scratch, stack);
            if stack && let Callee::Function(_) = callee {
                // Assembly, perhaps, that takes its arguments from anywhere.
                effect.always |= ALL;
            }
            if stack && let Some(&value) = state.words.values().find(|value| value.is_frame()) {
                self.escape(value);
            }
        }
        for register in SCRATCH {
            let value = &mut state.registers[register];
            let keeps = !matches!(callee, Callee::Hook(_)) && value.is_frame();
            *value = if keeps { Value::Maybe } else { Value::Other };
        }
        if let Some(at) = filled {
            state.registers[RAX] = Value::Frame(at);
        }
        Some(effect)
    }

    /// The registers that the target of an indirect call is found by.
    fn address(&mut self, instruction: &Instruction, state: &State) -> Option<u32> {
        let mut used = 0;
        for register in [instruction.op0_register(), instruction.memory_base(), instruction.memory_index()] {
            if let Some(register) = number(register) {
                used |= 1 << register;
                match state.registers[register] {
                    Value::Entry(_) => return None,
                    value if value.is_frame() && register != RSP && register != RBP => self.escape(value),
                    _ => {}
                }
            }
        }
        // A pointer in the frame: that it is read is all there is to it, but how much of the frame that is may not be known.
        let base = number(instruction.memory_base());
        if base.is_some_and(|base| state.registers[base].is_frame()) {
            self.escapes = true;
        }
        Some(used)
    }

    /// Bytes of the frame have been written.
    fn forget(&mut self, state: &mut State, (at, len): Span) {
        let near: Vec<i32> = state.words.range(at - 7..at + len).map(|(&word, _)| word).collect();
        for word in near {
            let covered = at <= word && word + 8 <= at + len;
            if !covered && state.word(word).is_frame() {
                state.words.insert(word, Value::Maybe);
            } else {
                state.words.remove(&word);
            }
        }
    }

    /// They may have been.
    fn weaken(&mut self, state: &mut State, (at, len): Span) {
        for (_, value) in state.words.range_mut(at - 7..at + len) {
            *value = if value.is_frame() { Value::Maybe } else { Value::Other };
        }
        state.words.retain(|_, value| *value != Value::Other);
    }

    fn put(&mut self, state: &mut State, span: Span, value: Value) {
        self.forget(state, span);
        if value != Value::Other {
            state.words.insert(span.0, value);
        }
    }

    /// Where an access is. None if the stack is not used as it should be.
    fn place(&mut self, instruction: &Instruction, memory: &UsedMemory, state: &State) -> Option<Place> {
        let value = |register| number(register).map_or(Value::Other, |register| state.registers[register]);
        let (base, index) = (value(memory.base()), value(memory.index()));
        if matches!(base, Value::Entry(_)) || matches!(index, Value::Entry(_)) {
            return None;
        }
        let size = memory.memory_size().size() as i32;
        let exact = memory.index() == Register::None && size > 0 && !instruction.is_string_instruction();
        let bits = matches!(instruction.mnemonic(), Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc);
        match base {
            Value::Frame(at) if exact && !bits => {
                let at = at.checked_add(i32::try_from(memory.displacement() as i64).ok()?)?;
                if at + size <= 0 {
                    return Some(Place::Frame((at, size)));
                }
                (at >= 0).then_some(Place::Beyond((at, size)))
            }
            _ if base.is_frame() || index.is_frame() => {
                self.escape(Value::Maybe);
                Some(Place::Elsewhere)
            }
            _ if matches!(memory.base(), Register::None | Register::RIP) && memory.index() == Register::None => {
                Some(Place::Fixed)
            }
            _ => Some(Place::Elsewhere),
        }
    }

    /// An instruction that neither calls nor returns.
    fn plain(&mut self, instruction: &Instruction, state: &mut State, depth: i32) -> Option<Effect> {
        use Mnemonic::{Endbr64, Enter, Int, Leave, Nop, Pause, Pop, Push, Syscall, Sysenter};
        match instruction.mnemonic() {
            Nop | Endbr64 | Pause => return Some(Effect::default()),
            Push | Pop | Leave => return self.stack(instruction, state, depth),
            Enter | Int | Syscall | Sysenter => return None,
            _ if instruction.stack_pointer_increment() != 0 => return None,
            _ => {}
        }
        let info = self.info.info(instruction).clone();
        let form = Form::of(instruction);
        let mut effect = Effect { acts: !is_pure(instruction), ..Effect::default() };
        let loaded = self.memory(instruction, &info, form, state, &mut effect)?;
        self.read_registers(instruction, &info, form, state, &mut effect)?;
        let result = self.result(instruction, form, state, loaded)?;
        if let Value::Frame(at) = result {
            self.above |= at >= 8;
        }
        self.store(instruction, form, state, &effect)?;
        written_registers(instruction, &info, state, &mut effect, result);
        flags(instruction, &mut effect);
        if instruction.flow_control() == FlowControl::ConditionalBranch {
            effect.jumps = true;
            effect.acts = true;
        }
        Some(effect)
    }

    /// Push, pop and leave.
    fn stack(&mut self, instruction: &Instruction, state: &mut State, depth: i32) -> Option<Effect> {
        let op0 = instruction.op0_register();
        match instruction.mnemonic() {
            Mnemonic::Push if op0.is_gpr64() => {
                let register = number(op0)?;
                let at = depth - 8;
                self.put(state, (at, 8), state.registers[register]);
                state.registers[RSP] = Value::Frame(at);
                let effect = Effect { uses: 1 << register, store: Some((at, 8)), whole: true, ..Effect::default() };
                (register != RSP).then_some(Effect { writes: 1 << RSP, ..effect })
            }
            Mnemonic::Push if !matches!(instruction.op0_kind(), OpKind::Register | OpKind::Memory) => {
                self.forget(state, (depth - 8, 8));
                state.registers[RSP] = Value::Frame(depth - 8);
                let effect = Effect { store: Some((depth - 8, 8)), whole: true, writes: 1 << RSP, ..Effect::default() };
                (instruction.stack_pointer_increment() == -8).then_some(effect)
            }
            Mnemonic::Pop if op0.is_gpr64() && op0 != Register::RSP && depth < 0 => {
                let register = number(op0)?;
                state.registers[register] = state.word(depth);
                state.registers[RSP] = Value::Frame(depth + 8);
                let (kills, load) = (1 << register, Some((depth, 8)));
                Some(Effect { kills, writes: kills | 1 << RSP, load, ..Effect::default() })
            }
            Mnemonic::Leave => {
                let Value::Frame(at) = state.registers[RBP] else { return None };
                state.registers[RSP] = Value::Frame(at + 8);
                state.registers[RBP] = state.word(at);
                let writes = 1 << RSP | 1 << RBP;
                let effect = Effect { kills: 1 << RBP, writes, load: Some((at, 8)), ..Effect::default() };
                (at < 0).then_some(effect)
            }
            _ => None,
        }
    }

    /// Notes the memory that an instruction accesses. Returns what a move loads, if that is followed.
    fn memory(
        &mut self,
        instruction: &Instruction,
        info: &InstructionInfo,
        form: Form,
        state: &State,
        effect: &mut Effect,
    ) -> Option<Value> {
        let mut loaded = Value::Other;
        for memory in info.used_memory() {
            match self.place(instruction, memory, state)? {
                Place::Frame(span) => {
                    if reads(memory.access()) {
                        // There is one operand in memory, except where the place is not exact.
                        effect.load = Some(span);
                        let (at, len) = span;
                        let whole = form.moves && len == 8 && instruction.op0_register().is_gpr64();
                        if whole {
                            loaded = state.word(at);
                        }
                        for (&word, &value) in state.words.range(at - 7..at + len) {
                            match value {
                                _ if whole && word == at => {}
                                Value::Entry(_) => return None,
                                Value::Other => {}
                                value => self.escape(value),
                            }
                        }
                    }
                    if writes(memory.access()) {
                        effect.store = Some(span);
                        effect.whole = memory.access() == OpAccess::Write && !instruction.has_op_mask();
                    }
                }
                Place::Beyond(span) => {
                    self.above |= span.0 + span.1 > 8;
                    if writes(memory.access()) {
                        effect.acts = true;
                        if span.0 < 8 {
                            return None;
                        }
                    }
                }
                Place::Fixed => effect.acts |= writes(memory.access()),
                Place::Elsewhere => effect.acts = true,
            }
        }
        Some(loaded)
    }

    /// Notes the registers that are read. An address of the frame escapes where it is not followed.
    fn read_registers(
        &mut self,
        instruction: &Instruction,
        info: &InstructionInfo,
        form: Form,
        state: &State,
        effect: &mut Effect,
    ) -> Option<()> {
        let (op0, op1) = (instruction.op0_register(), instruction.op1_register());
        let data = |register: Register| {
            (0..instruction.op_count()).any(|i| {
                instruction.op_kind(i) == OpKind::Register
                    && reads(info.op_access(i))
                    && instruction.op_register(i).full_register() == register
            })
        };
        for used in info.used_registers().iter().filter(|used| reads(used.access())) {
            if used.register().is_vector_register() {
                effect.uses |= VECTORS;
            }
            let Some(register) = number(used.register()) else { continue };
            let value = state.registers[register];
            effect.uses |= 1 << register;
            if let Value::Entry(_) = value
                && !(form.moves && op0.is_gpr64())
                && !(form.moves && effect.store.is_some_and(|(_, len)| len == 8))
            {
                return None;
            }
            let full = used.register().full_register();
            let only_base = !form.lea && !data(full) && instruction.memory_base().full_register() == full;
            // Two bytes are not enough for an address, and who wants the others has to read them.
            let narrow = used.register().size() < 4;
            if value.is_frame() && !narrow && !(only_base && is_simple(instruction)) {
                let moved = form.moves && (op0.is_gpr64() || op1.is_gpr64());
                if !(form.lea || form.adds_constant || form.compares || moved) {
                    self.escape(value);
                }
            }
        }
        Some(())
    }

    /// What ends up in the first operand, if it is a whole register.
    fn result(&mut self, instruction: &Instruction, form: Form, state: &State, loaded: Value) -> Option<Value> {
        let (op0, op1) = (instruction.op0_register(), instruction.op1_register());
        if form.lea {
            let value = |register| number(register).map_or(Value::Other, |register| state.registers[register]);
            let (base, index) = (value(instruction.memory_base()), value(instruction.memory_index()));
            return Some(match base {
                Value::Frame(at) if instruction.memory_index() == Register::None && op0.is_gpr64() => {
                    Value::Frame(at.checked_add(i32::try_from(instruction.memory_displacement64() as i64).ok()?)?)
                }
                _ if base.is_frame() || index.is_frame() => {
                    self.escape(Value::Maybe);
                    Value::Other
                }
                _ => Value::Other,
            });
        }
        if form.adds_constant {
            match state.registers[number(op0)?] {
                Value::Frame(at) => {
                    let by = i32::try_from(instruction.immediate(1) as i64).ok()?;
                    let by = if instruction.mnemonic() == Mnemonic::Sub { by.checked_neg()? } else { by };
                    return Some(Value::Frame(at.checked_add(by)?));
                }
                Value::Maybe => return Some(Value::Maybe),
                _ => {}
            }
        } else if form.moves && op0.is_gpr64() && op1.is_gpr64() {
            return Some(state.registers[number(op1)?]);
        }
        Some(loaded)
    }

    /// What a store leaves in the frame. An address of the frame that goes elsewhere escapes.
    fn store(&mut self, instruction: &Instruction, form: Form, state: &mut State, effect: &Effect) -> Option<()> {
        let op1 = instruction.op1_register();
        if let Some(span) = effect.store {
            let source = number(op1).map_or(Value::Other, |register| state.registers[register]);
            let tracked = form.moves && span.1 == 8 && op1.is_gpr64();
            if effect.whole {
                self.put(state, span, if tracked { source } else { Value::Other });
            } else {
                self.weaken(state, span);
            }
        } else if form.moves && instruction.op0_kind() == OpKind::Memory && op1.is_gpr64() {
            let source = state.registers[number(op1)?];
            if source.is_frame() {
                self.escape(source);
            }
        }
        Some(())
    }
}

/// The kinds of instruction whose results are followed.
#[derive(Clone, Copy)]
struct Form {
    /// A move with two operands.
    moves: bool,
    /// An address is calculated and not used: its registers are operands.
    lea: bool,
    /// A constant is added to a whole register, or subtracted from it.
    adds_constant: bool,
    compares: bool,
}

impl Form {
    fn of(instruction: &Instruction) -> Self {
        use Mnemonic::{Add, Cmp, Lea, Mov, Sub, Test};
        Self {
            moves: instruction.mnemonic() == Mov && instruction.op_count() == 2,
            lea: instruction.mnemonic() == Lea,
            adds_constant: matches!(instruction.mnemonic(), Add | Sub)
                && instruction.op0_register().is_gpr64()
                && !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory),
            compares: matches!(instruction.mnemonic(), Cmp | Test),
        }
    }
}

/// Notes the registers that are written, and what they hold afterwards.
fn written_registers(
    instruction: &Instruction,
    info: &InstructionInfo,
    state: &mut State,
    effect: &mut Effect,
    result: Value,
) {
    for used in info.used_registers().iter().filter(|used| writes(used.access())) {
        if used.register().is_vector_register() {
            effect.writes |= VECTORS;
        }
        let Some(register) = number(used.register()) else { continue };
        effect.writes |= 1 << register;
        let narrow = used.register().size() < 4;
        let sure = matches!(used.access(), OpAccess::Write | OpAccess::ReadWrite);
        let value = &mut state.registers[register];
        if sure && !narrow {
            if used.access() == OpAccess::Write {
                effect.kills |= 1 << register;
            }
            let first = number(instruction.op0_register()) == Some(register);
            *value = if first { result } else { Value::Other };
        } else {
            *value = if value.is_frame() { Value::Maybe } else { Value::Other };
        }
    }
}

/// Notes how the flags are used.
fn flags(instruction: &Instruction, effect: &mut Effect) {
    use Mnemonic::{Rol, Ror, Sar, Shl, Shld, Shr, Shrd};
    if instruction.rflags_read() != 0 {
        effect.uses |= FLAGS;
    }
    if instruction.rflags_modified() != 0 {
        effect.writes |= FLAGS;
        // A shift by nothing leaves them as they are.
        let shifts = matches!(instruction.mnemonic(), Shl | Shr | Sar | Rol | Ror | Shld | Shrd);
        if instruction.rflags_modified() & STATUS == STATUS && !shifts {
            effect.kills |= FLAGS;
        }
    }
}

/// Whether the registers that an instruction uses are those that are written in it.
fn is_simple(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    #[rustfmt::skip]
    const SIMPLE: &[Mnemonic] = &[
        M::Adc, M::Add, M::And, M::Cmp, M::Dec, M::Inc, M::Mov, M::Movaps, M::Movd, M::Movdqa, M::Movdqu, M::Movq, M::Movsx,
        M::Movsxd, M::Movups, M::Movzx, M::Neg, M::Not, M::Or, M::Sbb, M::Sub, M::Test, M::Xor,
    ];
    // Nothing else uses these two but as addresses.
    let pointer = matches!(instruction.memory_base(), Register::RSP | Register::RBP);
    let plain = SIMPLE.contains(&instruction.mnemonic()) || is_conditional(instruction);
    !instruction.is_string_instruction() && (plain || pointer)
}
