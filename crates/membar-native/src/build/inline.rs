//! The effect of inline assembly on memory.
//!
//! Problem: compilers do not instrument inline assembly, yet it is where programs keep their fences and their own atomic
//! operations. Each instruction must be shown to the runtime, or the user must be told that it is not.
//!
//! Algorithm: the mnemonic is looked up without its size suffix. With its prefixes and operands it yields one of three
//! effects: nothing that another thread could see; accesses, each of which becomes a call before the instruction; or
//! something unseen, in words.
//!
//! Guarantees: an instruction with a memory operand that is not in the tables is [`Effect::Unseen`], never nothing.
//!
//! Deviations: an unlocked `add` to memory is a load and a store, announced by one call, after which the instruction reads what
//! the load found ([`Kind::Update`]). An unlocked `cmpxchg` is unseen.

use super::att::{Memory, Operand, Statement, register_size};
use std::fmt::Write as _;

/// The kind of an access, as passed to `__membar_asm`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Load = 1,
    Store = 2,
    ReadModifyWrite = 3,
    /// Expects the value in `rax`.
    CompareExchange = 4,
    FullFence = 5,
    StoreFence = 6,
    /// Expects one half of the value in `rax` or `eax`, the other in `rdx` or `edx`.
    CompareExchangePair = 8,
    /// From where `rsi` points.
    StringLoad = 10,
    /// To where `rdi` points.
    StringStore = 11,
    /// Reads memory and writes it, changed, in two steps.
    Update = 12,
}

/// Whether `__membar_asm` looks at more than its first two arguments if this is the second.
pub(crate) fn takes_values(what: u32) -> bool {
    const VALUES: [Kind; 4] = [Kind::CompareExchange, Kind::CompareExchangePair, Kind::StringLoad, Kind::StringStore];
    VALUES.iter().any(|&kind| what >> 8 == kind as u32)
}

/// A call to insert before an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hook<'a> {
    pub(super) kind: Kind,
    /// In bytes; 0 for fences. Of a repeated string instruction, the bytes of one round.
    pub(super) size: u8,
    /// None for fences and string instructions.
    pub(super) memory: Option<Memory<'a>>,
}

pub(super) const FENCE: Hook<'static> = Hook { kind: Kind::FullFence, size: 0, memory: None };

/// The effect of an instruction that other threads could see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect<'a> {
    Nothing,
    Hooks(Vec<Hook<'a>>),
    /// Why.
    Unseen(&'static str),
}

const UNKNOWN: &str = "accesses memory in a way membar does not see";
const PAST_CACHES: &str = "stores past the caches, in an order membar does not see";
const UNLOCKED: &str = "compares and exchanges without `lock`, which membar does not see";
const NONDETERMINISTIC: &str = "is not seen by membar, and its result may differ from run to run";

/// Read and write their last operand, which may be memory.
const MODIFY: &[&str] = &["add", "sub", "and", "or", "xor", "adc", "sbb", "not", "neg", "inc", "dec"];
/// Read and write their last operand, and cannot be locked.
const SHIFT: &[&str] = &["shl", "sal", "shr", "sar", "rol", "ror", "rcl", "rcr", "shld", "shrd"];
/// Read their memory operand, wherever it stands.
const READ: &[&str] = &[
    "cmp", "test", "mul", "imul", "div", "idiv", "push", "popcnt", "lzcnt", "tzcnt", "bsf", "bsr", "andn", "bextr",
    "blsr", "blsi", "pext", "pdep", "mulx", "sarx", "shlx", "shrx", "rorx", "adcx", "adox",
];
/// Change bits of their last operand.
const BITS: &[&str] = &["bts", "btr", "btc"];
/// Name an address, but access nothing another thread could see.
const ADDRESS_ONLY: &[&str] = &["lea", "nop"];
const HINTS: &[&str] = &[
    "prefetcht0",
    "prefetcht1",
    "prefetcht2",
    "prefetchnta",
    "prefetchw",
    "prefetch",
    "clflush",
    "clflushopt",
    "clwb",
];
const OUTSIDE: &[&str] = &[
    "rdtsc", "rdtscp", "cpuid", "syscall", "sysenter", "int", "int3", "rdrand", "rdseed", "rdpmc", "rdpid", "in",
    "out", "inb", "outb", "inl", "outl", "inw", "outw", "hlt", "xgetbv", "rdfsbase", "rdgsbase",
];
/// Instructions that change the control word of the x87, for longer than a compiler's own do.
const X87: &[&str] = &["fldcw", "fninit", "finit", "fldenv", "frstor", "fxrstor", "fxrstor64", "xrstor", "xrstor64"];
/// String instructions, whose memory is not among the operands.
const STRING: &[&str] = &[
    "movsb", "movsw", "movsl", "movsd", "movsq", "stosb", "stosw", "stosl", "stosd", "stosq", "lodsb", "lodsw",
    "lodsl", "lodsd", "lodsq", "cmpsb", "cmpsw", "cmpsl", "cmpsd", "cmpsq", "scasb", "scasw", "scasl", "scasd",
    "scasq", "xlat", "xlatb", "insb", "insl", "outsb", "outsl",
];
/// Vector moves of a fixed size; 0 is the size of the register.
const VECTOR: &[(&str, u8)] = &[
    ("movss", 4),
    ("movsd", 8),
    ("movd", 4),
    ("movq", 8),
    ("movlps", 8),
    ("movhps", 8),
    ("movlpd", 8),
    ("movhpd", 8),
    ("movaps", 0),
    ("movups", 0),
    ("movapd", 0),
    ("movupd", 0),
    ("movdqa", 0),
    ("movdqu", 0),
    ("movdqu8", 0),
    ("movdqu16", 0),
    ("movdqu32", 0),
    ("movdqu64", 0),
    ("movdqa32", 0),
    ("movdqa64", 0),
    ("lddqu", 0),
    ("movddup", 8),
    ("broadcastss", 4),
    ("broadcastsd", 8),
    ("broadcastf128", 16),
    ("broadcasti128", 16),
    ("pbroadcastb", 1),
    ("pbroadcastw", 2),
    ("pbroadcastd", 4),
    ("pbroadcastq", 8),
];

/// The mnemonic without its suffix, and the size that the suffix stands for.
fn stem(mnemonic: &str, known: impl Fn(&str) -> bool) -> Option<(&str, Option<u8>)> {
    if known(mnemonic) {
        return Some((mnemonic, None));
    }
    let size = match mnemonic.as_bytes().last()? {
        b'b' => 1,
        b'w' => 2,
        b'l' => 4,
        b'q' => 8,
        _ => return None,
    };
    let stem = mnemonic.get(..mnemonic.len() - 1)?;
    known(stem).then_some((stem, Some(size)))
}

/// The size of the first register among the operands.
fn operand_size(statement: &Statement<'_>) -> Option<u8> {
    statement.operands.iter().find_map(|operand| match operand {
        Operand::Register(name) => register_size(name),
        _ => None,
    })
}

fn is_zero(operand: Option<&Operand<'_>>) -> bool {
    matches!(operand, Some(Operand::Immediate(value)) if matches!(value.trim_start_matches('-'), "0" | "0x0" | "00"))
}

fn one<'a>(kind: Kind, size: u8, memory: Memory<'a>) -> Effect<'a> {
    Effect::Hooks(vec![Hook { kind, size, memory: Some(memory) }])
}

fn bare<'a>(kind: Kind) -> Effect<'a> {
    Effect::Hooks(vec![Hook { kind, size: 0, memory: None }])
}

/// The effect of an instruction. Prefixes that stood in separate statements belong in `prefixes`.
pub(super) fn effect<'a>(statement: &Statement<'a>, prefixes: &[&str]) -> Effect<'a> {
    let lock = prefixes.contains(&"lock");
    let repeated = prefixes.iter().any(|prefix| prefix.starts_with("rep"));
    match statement.mnemonic {
        "" => return Effect::Nothing,
        "mfence" => return bare(Kind::FullFence),
        "sfence" => return bare(Kind::StoreFence),
        "lfence" | "pause" | "nop" => return Effect::Nothing,
        "xbegin" | "xend" | "xabort" | "xtest" => return Effect::Unseen("is a transaction, which membar does not see"),
        mnemonic if OUTSIDE.contains(&mnemonic) => return Effect::Unseen(NONDETERMINISTIC),
        mnemonic if STRING.contains(&mnemonic) && !vector(statement) => return string(mnemonic, repeated),
        mnemonic if X87.contains(&mnemonic) => {
            return Effect::Unseen("changes how the x87 calculates, which membar does not see");
        }
        "std" => return Effect::Unseen("turns string instructions round, which membar does not see"),
        _ => {}
    }
    // Where it stores is in `rdi`.
    if statement.mnemonic.contains("maskmovdqu") || statement.mnemonic == "maskmovq" {
        return Effect::Unseen(UNKNOWN);
    }
    let Some(memory) = statement.memory() else { return Effect::Nothing };
    if statement.is_jump() || statement.mnemonic.starts_with("call") {
        // The address of a direct jump has the form of memory.
        let reads = memory.indirect && !memory.of_linker();
        return if reads { checked(memory, one(Kind::Load, 8, memory)) } else { Effect::Nothing };
    }
    if stem(statement.mnemonic, |name| ADDRESS_ONLY.contains(&name)).is_some() || HINTS.contains(&statement.mnemonic) {
        return Effect::Nothing;
    }
    checked(memory, access(statement, memory, lock))
}

/// Moves and fills memory upwards. Other string instructions are not seen.
fn string<'a>(mnemonic: &str, repeated: bool) -> Effect<'a> {
    let (name, size) = mnemonic.split_at(mnemonic.len() - 1);
    let size = match size {
        "b" => 1,
        "w" => 2,
        "l" | "d" => 4,
        "q" => 8,
        _ => return Effect::Unseen(UNKNOWN),
    };
    let at =
        |register, address| Memory { segment: None, displacement: "", address, base: Some(register), indirect: false };
    let (from, to) = match repeated {
        true => {
            (Hook { kind: Kind::StringLoad, size, memory: None }, Hook { kind: Kind::StringStore, size, memory: None })
        }
        false => (
            Hook { kind: Kind::Load, size, memory: Some(at("rsi", "(%rsi)")) },
            Hook { kind: Kind::Store, size, memory: Some(at("rdi", "(%rdi)")) },
        ),
    };
    match name {
        "movs" => Effect::Hooks(vec![from, to]),
        "stos" => Effect::Hooks(vec![to]),
        "lods" => Effect::Hooks(vec![from]),
        _ => Effect::Unseen(UNKNOWN),
    }
}

/// Whether everything before it takes effect before anything after it, whatever else it does.
pub(super) fn serialises(statement: &Statement<'_>) -> bool {
    matches!(statement.mnemonic, "cpuid" | "serialize" | "iretq")
}

/// Whether one of the operands is a vector register.
fn vector(statement: &Statement<'_>) -> bool {
    statement.operands.iter().any(|operand| matches!(operand, Operand::Register(name) if name.contains("mm")))
}

/// Takes out accesses whose address we cannot compute, or need not.
fn checked<'a>(memory: Memory<'a>, effect: Effect<'a>) -> Effect<'a> {
    match &effect {
        Effect::Hooks(_) if memory.segment.is_some_and(|name| matches!(name, "fs" | "gs")) => {
            Effect::Unseen("accesses thread-local memory in a way membar does not see")
        }
        Effect::Hooks(hooks) if memory.of_linker() => {
            if hooks.iter().all(|hook| hook.kind == Kind::Load) {
                Effect::Nothing
            } else {
                Effect::Unseen(UNKNOWN)
            }
        }
        _ => effect,
    }
}

/// An instruction with a memory operand.
fn access<'a>(statement: &Statement<'a>, memory: Memory<'a>, lock: bool) -> Effect<'a> {
    let destination = statement.memory_destination().is_some();
    let known = |stem: &str| {
        [MODIFY, SHIFT, READ, BITS].iter().any(|names| names.contains(&stem))
            || matches!(stem, "mov" | "movabs" | "movbe" | "xchg" | "xadd" | "cmpxchg" | "bt" | "pop")
    };
    if vector(statement) {
        let kind = if destination { Kind::Store } else { Kind::Load };
        return vector_move(statement, memory, kind);
    }
    match stem(statement.mnemonic, known) {
        Some((stem, suffix)) => with_suffix(statement, (stem, suffix), memory, lock),
        None => by_whole_name(statement, memory, lock),
    }
}

/// Memory is read and then written, in two steps.
fn read_then_write<'a>(size: u8, memory: Memory<'a>) -> Effect<'a> {
    let hook = |kind| Hook { kind, size, memory: Some(memory) };
    Effect::Hooks(vec![hook(Kind::Load), hook(Kind::Store)])
}

/// An instruction whose name may end with the size of its operands.
fn with_suffix<'a>(
    statement: &Statement<'a>,
    (stem, suffix): (&str, Option<u8>),
    memory: Memory<'a>,
    lock: bool,
) -> Effect<'a> {
    let destination = statement.memory_destination().is_some();
    // Without a suffix, the assembler takes 32 bits for the bit instructions.
    let bits = BITS.contains(&stem) || stem == "bt";
    let Some(size) = suffix.or_else(|| operand_size(statement)).or(bits.then_some(4)) else {
        return match stem {
            "push" => one(Kind::Load, 8, memory),
            "pop" if !memory.on_stack_pointer() => one(Kind::Store, 8, memory),
            _ => Effect::Unseen(UNKNOWN),
        };
    };
    match stem {
        "xchg" => one(Kind::ReadModifyWrite, size, memory),
        "cmpxchg" if lock => one(Kind::CompareExchange, size, memory),
        "xadd" if lock => one(Kind::ReadModifyWrite, size, memory),
        "xadd" => read_then_write(size, memory),
        "cmpxchg" => Effect::Unseen(UNLOCKED),
        // With a register the instruction reaches beyond its operand.
        stem if bits => match (statement.operands.first(), stem, lock) {
            (Some(Operand::Immediate(_)), "bt", false) => one(Kind::Load, size, memory),
            (Some(Operand::Immediate(_)), "bt", true) => Effect::Unseen(UNKNOWN),
            (Some(Operand::Immediate(_)), _, true) => one(Kind::ReadModifyWrite, size, memory),
            (Some(Operand::Immediate(_)), _, false) => read_then_write(size, memory),
            _ => Effect::Unseen("changes or tests a bit whose address membar does not see"),
        },
        stem if MODIFY.contains(&stem) && destination => {
            let neutral = matches!(stem, "add" | "or" | "sub" | "xor") && is_zero(statement.operands.first());
            match lock {
                true if neutral && memory.on_stack_pointer() => bare(Kind::FullFence),
                true => one(Kind::ReadModifyWrite, size, memory),
                false => read_then_write(size, memory),
            }
        }
        _ if lock => Effect::Unseen(UNKNOWN),
        stem if SHIFT.contains(&stem) && destination => read_then_write(size, memory),
        "pop" if memory.on_stack_pointer() => Effect::Unseen(UNKNOWN),
        "mov" | "movabs" | "movbe" | "pop" if destination => one(Kind::Store, size, memory),
        _ => one(Kind::Load, size, memory),
    }
}

/// An instruction that is known by its whole name.
fn by_whole_name<'a>(statement: &Statement<'a>, memory: Memory<'a>, lock: bool) -> Effect<'a> {
    let (mnemonic, destination) = (statement.mnemonic, statement.memory_destination().is_some());
    match mnemonic {
        "cmpxchg16b" if lock => return one(Kind::CompareExchangePair, 16, memory),
        "cmpxchg8b" if lock => return one(Kind::CompareExchangePair, 8, memory),
        "cmpxchg16b" | "cmpxchg8b" => return Effect::Unseen(UNLOCKED),
        _ if lock => return Effect::Unseen(UNKNOWN),
        _ => {}
    }
    if mnemonic.starts_with("set") && destination {
        return one(Kind::Store, 1, memory);
    }
    if mnemonic.starts_with("cmov") && !destination {
        return operand_size(statement).map_or(Effect::Unseen(UNKNOWN), |size| one(Kind::Load, size, memory));
    }
    if let Some(rest) = mnemonic.strip_prefix("movz").or_else(|| mnemonic.strip_prefix("movs"))
        && !destination
    {
        // `movzbl`, `movswq`, `movslq`: the first letter is the size of the source.
        match rest.as_bytes().first() {
            Some(b'b') => return one(Kind::Load, 1, memory),
            Some(b'w') => return one(Kind::Load, 2, memory),
            Some(b'l') => return one(Kind::Load, 4, memory),
            _ => {}
        }
    }
    match mnemonic {
        "ldmxcsr" => one(Kind::Load, 4, memory),
        "stmxcsr" => one(Kind::Store, 4, memory),
        "fnstcw" | "fstcw" | "fnstsw" | "fstsw" => one(Kind::Store, 2, memory),
        "fldt" => one(Kind::Load, 10, memory),
        "fstpt" => one(Kind::Store, 10, memory),
        "movnti" | "movntil" | "movntiq" => Effect::Unseen(PAST_CACHES),
        _ => Effect::Unseen(UNKNOWN),
    }
}

fn vector_move<'a>(statement: &Statement<'a>, memory: Memory<'a>, kind: Kind) -> Effect<'a> {
    let name = statement.mnemonic;
    let plain = name.strip_prefix('v').unwrap_or(name);
    if plain.starts_with("movnt") && kind == Kind::Store {
        return Effect::Unseen(PAST_CACHES);
    }
    // Only some of the bytes, or several places.
    if statement.text.contains("{%k") || ["gather", "scatter", "maskmov"].iter().any(|part| plain.contains(part)) {
        return Effect::Unseen(UNKNOWN);
    }
    let full = operand_size(statement).map_or(Effect::Unseen(UNKNOWN), |size| one(kind, size, memory));
    match VECTOR.iter().find(|(known, _)| *known == plain) {
        Some((_, 0)) => full,
        Some((_, size)) => one(kind, *size, memory),
        // Scalar arithmetic reads as much as its name says, the rest a register full.
        None if kind == Kind::Load
            && !["cvt", "pmov", "pinsr", "insert", "broadcast", "expand"].iter().any(|part| plain.contains(part)) =>
        {
            match plain.get(plain.len().saturating_sub(2)..) {
                Some("ss") => one(kind, 4, memory),
                Some("sd") => one(kind, 8, memory),
                Some("ps" | "pd") => full,
                _ if plain.starts_with('p') => full,
                _ => Effect::Unseen(UNKNOWN),
            }
        }
        None => Effect::Unseen(UNKNOWN),
    }
}

/// Writes the calls of an instruction. If it reads memory and then writes the same, it has to write what follows from what it read.
pub(super) fn write(hooks: &[Hook<'_>], out: &mut String) {
    match hooks {
        [Hook { kind: Kind::Load, memory, size }, to @ Hook { kind: Kind::Store, .. }]
            if memory == &to.memory && size == &to.size =>
        {
            Hook { kind: Kind::Update, ..*to }.write(out);
        }
        _ => hooks.iter().for_each(|hook| hook.write(out)),
    }
}

/// Writes a call that tells the runtime that what follows, of which the note with this number speaks, is executed.
pub(super) fn tell(note: u64, out: &mut String) {
    out.push_str("\tleaq\t-128(%rsp), %rsp\n\tpushq\t%rdi\n\tpushq\t%rsi\n");
    let _ = writeln!(out, "\tmovabsq\t${}, %rdi\n\tmovl\t${UNSEEN}, %esi\n\tcall\t__membar_asm@PLT", note as i64);
    out.push_str("\tpopq\t%rsi\n\tpopq\t%rdi\n\tleaq\t128(%rsp), %rsp\n");
}

/// The kind that [`tell`] passes.
const UNSEEN: u32 = 9 << 8;

impl Hook<'_> {
    /// Writes the call. It changes neither registers nor flags, and keeps off the red zone.
    pub(super) fn write(&self, out: &mut String) {
        let describe = u32::from(self.size) | (self.kind as u32) << 8;
        out.push_str("\tleaq\t-128(%rsp), %rsp\n\tpushq\t%rdi\n\tpushq\t%rsi\n");
        if matches!(self.kind, Kind::StringLoad | Kind::StringStore) {
            let from = if self.kind == Kind::StringLoad { "\tmovq\t%rsi, %rdi\n" } else { "" };
            let bytes = format!("\tpushq\t%rax\n\tleaq\t(,%rcx,{}), %rax", self.size);
            let _ = writeln!(out, "{bytes}\n{from}\tmovl\t${describe}, %esi\n\tcall\t__membar_asm@PLT\n\tpopq\t%rax");
            out.push_str("\tpopq\t%rsi\n\tpopq\t%rdi\n\tleaq\t128(%rsp), %rsp\n");
            return;
        }
        let _ = match self.memory {
            None => writeln!(out, "\tmovq\t$0, %rdi"),
            Some(Memory { displacement, address, .. }) => {
                // We have moved the stack pointer by 128 and two registers.
                let shift = match self.memory {
                    Some(memory) if memory.on_stack_pointer() => match displacement.as_bytes().first() {
                        None => "144",
                        Some(b'-' | b'+') => "144",
                        Some(_) => "144+",
                    },
                    _ => "",
                };
                writeln!(out, "\tleaq\t{shift}{displacement}{address}, %rdi")
            }
        };
        let _ = writeln!(out, "\tmovl\t${describe}, %esi\n\tcall\t__membar_asm@PLT");
        out.push_str("\tpopq\t%rsi\n\tpopq\t%rdi\n\tleaq\t128(%rsp), %rsp\n");
    }
}

#[cfg(test)]
mod tests {
    use super::super::att::statement;
    use super::*;

    /// `kind size` of each hook, or the words.
    fn told(text: &str) -> String {
        let found = statement(text);
        match effect(&found, &found.prefixes) {
            Effect::Nothing => "-".into(),
            Effect::Unseen(_) => "unseen".into(),
            Effect::Hooks(hooks) => {
                hooks.iter().map(|hook| format!("{:?} {}", hook.kind, hook.size)).collect::<Vec<_>>().join(", ")
            }
        }
    }

    #[test]
    fn every_instruction_has_its_effect() {
        for (text, expected) in [
            ("mfence", "FullFence 0"),
            ("sfence", "StoreFence 0"),
            ("lfence", "-"),
            ("pause", "-"),
            ("rep nop", "-"),
            ("nop", "-"),
            ("nopw 0(%rax,%rax)", "-"),
            ("lock addl $0,0(%rsp)", "FullFence 0"),
            ("lock orq $0x0, (%rsp)", "FullFence 0"),
            ("lock addl $0, (%rax)", "ReadModifyWrite 4"),
            ("lock addl $1, (%rsp)", "ReadModifyWrite 4"),
            ("xchgl %eax,(%rcx)", "ReadModifyWrite 4"),
            ("xchg (%rcx), %al", "ReadModifyWrite 1"),
            ("xchg %rax, %rbx", "-"),
            ("lock cmpxchgq %rdx, x(%rip)", "CompareExchange 8"),
            ("lock cmpxchg %dx, (%rdi)", "CompareExchange 2"),
            ("cmpxchgl %edx, (%rdi)", "unseen"),
            ("lock cmpxchg16b (%rdi)", "CompareExchangePair 16"),
            ("lock cmpxchg8b (%rdi)", "CompareExchangePair 8"),
            ("cmpxchg16b (%rdi)", "unseen"),
            ("lock xaddl %eax, 4(%rbx)", "ReadModifyWrite 4"),
            ("xaddl %eax, 4(%rbx)", "Load 4, Store 4"),
            ("lock incl (%rdi)", "ReadModifyWrite 4"),
            ("lock btsq $3, (%rdi)", "ReadModifyWrite 8"),
            ("lock bts %rax, (%rdi)", "unseen"),
            ("bt $3, (%rdi)", "Load 4"),
            ("movl $1, (%rdi)", "Store 4"),
            ("movl (%rdi), %eax", "Load 4"),
            ("mov (%rdi), %ax", "Load 2"),
            ("movq x@GOTPCREL(%rip), %rax", "-"),
            ("movl %fs:0, %eax", "unseen"),
            ("movzbl (%rdi), %eax", "Load 1"),
            ("movslq (%rdi), %rax", "Load 4"),
            ("cmovne (%rdi), %rax", "Load 8"),
            ("setne (%rdi)", "Store 1"),
            ("addl $1, (%rdi)", "Load 4, Store 4"),
            ("addl (%rdi), %eax", "Load 4"),
            ("cmpl $1, (%rdi)", "Load 4"),
            ("cmpq %rax, (%rdi)", "Load 8"),
            ("shrl (%rdi)", "Load 4, Store 4"),
            ("lea 4(%rdi), %rax", "-"),
            ("addl %eax, %ebx", "-"),
            ("jmp 1b", "-"),
            ("jne foo", "-"),
            ("call foo@PLT", "-"),
            ("call *8(%rax)", "Load 8"),
            ("call *%rax", "-"),
            ("pushq (%rdi)", "Load 8"),
            ("popq (%rdi)", "Store 8"),
            ("pushq %rdi", "-"),
            ("pushfq", "-"),
            ("rdtsc", "unseen"),
            ("cpuid", "unseen"),
            ("syscall", "unseen"),
            ("int $0x80", "unseen"),
            ("rep movsb", "StringLoad 1, StringStore 1"),
            ("rep stosl", "StringStore 4"),
            ("stosq", "Store 8"),
            ("movsq", "Load 8, Store 8"),
            ("repe cmpsb", "unseen"),
            ("std", "unseen"),
            ("fldcw (%rdi)", "unseen"),
            ("fninit", "unseen"),
            ("fnstcw (%rdi)", "Store 2"),
            ("movsd (%rdi), %xmm0", "Load 8"),
            ("movaps %xmm0, (%rdi)", "Store 16"),
            ("vmovdqu (%rdi), %ymm0", "Load 32"),
            ("vmovdqu64 %zmm0, (%rdi)", "Store 64"),
            ("pshufd $255, y(%rip), %xmm0", "Load 16"),
            ("vaddsd y(%rip), %xmm1, %xmm0", "Load 8"),
            ("mulss y(%rip), %xmm0", "Load 4"),
            ("vaddps (%rdi), %ymm1, %ymm0", "Load 32"),
            ("vpgatherdd %ymm2, (%rax,%ymm1,4), %ymm0", "unseen"),
            ("vmovdqu32 (%rax), %zmm0{%k1}", "unseen"),
            ("vpaddd (%rax), %zmm1, %zmm0{%k1}{z}", "unseen"),
            ("vpexpandd (%rax), %zmm0", "unseen"),
            ("pmovzxbw (%rdi), %xmm0", "unseen"),
            ("cvtss2sd (%rdi), %xmm0", "unseen"),
            ("pextrd $1, %xmm0, (%rdi)", "unseen"),
            ("punpcklqdq (%rdi), %xmm0", "Load 16"),
            ("movntdq %xmm0, (%rdi)", "unseen"),
            ("movnti %eax, (%rdi)", "unseen"),
            ("fldl (%rdi)", "unseen"),
            ("fxsave (%rdi)", "unseen"),
            ("prefetcht0 (%rdi)", "-"),
            ("frobnicate (%rdi)", "unseen"),
        ] {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn the_stack_pointer_has_moved_by_144() {
        for (text, line) in [
            ("movl (%rsp), %eax", "leaq\t144(%rsp), %rdi"),
            ("movl 8(%rsp,%rax,4), %eax", "leaq\t144+8(%rsp,%rax,4), %rdi"),
            ("movl -8(%rsp), %eax", "leaq\t144-8(%rsp), %rdi"),
            ("movl -8(%rbp), %eax", "leaq\t-8(%rbp), %rdi"),
            ("movl x+4(%rip), %eax", "leaq\tx+4(%rip), %rdi"),
        ] {
            let found = statement(text);
            let Effect::Hooks(hooks) = effect(&found, &[]) else { panic!("{text}") };
            let mut out = String::new();
            hooks[0].write(&mut out);
            assert!(out.contains(line), "{text}: {out}");
        }
    }
}
