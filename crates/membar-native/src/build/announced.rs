//! Puts the compiler's calls into the order of the accesses they announce.
//!
//! Problem: a call of `__tsan_write4` announces the store that follows it, and the runtime takes the value from memory at
//! the next call. Where gcc copies a struct this fails in three ways, and for bit-fields in a fourth:
//!
//! 1. `a = b` is announced as write, then read, and only then come the loads and stores: the write is announced early.
//! 2. A large copy is announced, and then done by a call of `memcpy`, which the runtime sees too.
//! 3. `a = f()` is not announced at all.
//! 4. `a.bits = 1` is announced as a write. That it reads the bits beside them is not.
//!
//! Algorithm: one pass over straight-line code, that is until a jump, a label that something refers to, inline assembly,
//! or the end of the function.
//!
//! 1. A write that is followed by a read, with no store and no call between, is renamed to `__membar_early_write…`.
//! 2. A write, or a write and a read, followed by `memcpy`, `memmove` or `memset` with no store between, are taken out.
//! 3. A store outside the frame that follows the call of a function with no announcement between gets a hook.
//! 4. A write whose store changes memory in place, or stores to where was loaded from since the announcement, or after
//!    which the announced address is loaded from, is renamed to `__membar_update…`: the load of anything but a bit-field
//!    stands before the announcement of the write.
//!
//! Of the calls, `__tls_get_addr` only computes an address, and is passed over.
//!
//! Why a store decides: the hooks are calls, and compilers move no store to shared memory over a call. So the store that
//! a write announces stands before the next hook, unless it is a copy whose source has to be announced too.
//!
//! Stores to the frame: `-8(%rbp)` may be the local variable that was announced, or the compiler's own storing of a
//! register, which says nothing. If the announced address is known, from the instructions before the call, to be a
//! variable with its own name, or another place of the frame, then the store is the compiler's. If it is not known,
//! the store counts as the announced one: then the write keeps its name, which is right for everything but a copy.
//!
//! Guarantees: a write is only renamed to an early one if no instruction between it and the read stores to the announced
//! address, and to an update only if the store is known to be the announced one.

use super::att::{self, Memory, Operand, Statement};
use super::inline::{Effect, Hook, Kind, effect};
use std::collections::{HashMap, HashSet};

/// A change to a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Edit {
    /// Call this instead.
    Call(String),
    /// Leave the line out.
    Remove,
    /// Announce the store of this line.
    Announce,
}

/// The access that a hook announces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Announced {
    Read,
    /// Of this many bytes, or of a range; volatile or not.
    Write(Option<u8>, bool),
    Other,
}

/// Reads the name of a hook of the compiler's.
fn announced(callee: &str) -> Option<Announced> {
    let name = callee.strip_prefix("__tsan_")?;
    let name = name.strip_prefix("unaligned_").unwrap_or(name);
    let volatile = name.starts_with("volatile_");
    let name = name.strip_prefix("volatile_").unwrap_or(name);
    let size = |digits: &str| digits.parse().ok().filter(|size| matches!(size, 1 | 2 | 4 | 8 | 16));
    Some(match (name.strip_prefix("write"), name.strip_prefix("read")) {
        (Some("_range"), _) => Announced::Write(None, volatile),
        (Some(digits), _) => size(digits).map_or(Announced::Other, |size| Announced::Write(Some(size), volatile)),
        (_, Some("_range")) => Announced::Read,
        (_, Some(digits)) => size(digits).map_or(Announced::Other, |_| Announced::Read),
        _ => Announced::Other,
    })
}

/// Where an announced address comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin<'a> {
    /// Memory with a name, which is not in the frame.
    Named,
    /// This far from this register.
    Frame(&'a str, i64),
    Unknown,
}

/// A write that waits for what follows it.
struct Waiting<'a> {
    line: usize,
    size: Option<u8>,
    volatile: bool,
    origin: Origin<'a>,
    /// The read that followed.
    read: Option<usize>,
    /// The announced address as base and displacement, as long as it can be said like that.
    address: Option<(&'a str, &'a str)>,
    /// The memory loaded from since, and how many bytes, if that can be said at the store as well.
    loaded: Vec<(Memory<'a>, u8)>,
}

impl<'a> Waiting<'a> {
    /// An instruction that is not a store follows. The hook to call instead, if it loads from the announced address.
    fn pass(&mut self, statement: &Statement<'a>) -> Option<String> {
        let mut reads = false;
        if let Effect::Hooks(hooks) = effect(statement, &statement.prefixes)
            && let [Hook { kind: Kind::Load, size, memory: Some(memory) }] = hooks[..]
        {
            self.loaded.push((memory, size));
            reads = memory.base.is_some_and(|base| self.address == Some((base, memory.displacement)))
                && !memory.address.contains(',');
        }
        // Where a register is changed that an address is made of, it is another address.
        if let Some(Operand::Register(changed)) = statement.operands.last() {
            let changed = family(changed);
            self.loaded.retain(|(memory, _)| {
                !memory.address.split(['(', ')', ',', '%']).any(|name| !name.is_empty() && family(name) == changed)
            });
            self.address.take_if(|(base, _)| family(base) == changed);
        }
        self.update_hook().filter(|_| reads)
    }

    /// The hook that announces a read and a write, if there is one for this many bytes.
    fn update_hook(&self) -> Option<String> {
        let size = self.size.filter(|size| *size <= 8 && self.read.is_none())?;
        Some(format!("__membar_{}update{size}", if self.volatile { "volatile_" } else { "" }))
    }

    /// The hook to call instead, if this is the announced store, and reads before it writes.
    fn update(&self, store: &Statement<'a>) -> Option<String> {
        let memory = store.memory_destination()?;
        let known = match self.origin {
            Origin::Frame(base, at) => memory.base == Some(base) && memory.displacement.parse() == Ok(at),
            _ => !memory.in_frame(),
        };
        let Effect::Hooks(hooks) = effect(store, &store.prefixes) else { return None };
        let reads = match hooks[..] {
            [Hook { kind: Kind::Load, .. }, Hook { kind: Kind::Store, .. }] => true,
            [Hook { kind: Kind::Store, size, .. }] => self.loaded.contains(&(memory, size)),
            _ => false,
        };
        self.update_hook().filter(|_| known && reads)
    }

    /// Whether a store may be the one that was announced.
    fn may_be(&self, store: &Statement<'_>) -> bool {
        let Some(memory) = store.memory_destination() else { return true };
        if !memory.in_frame() || memory.address.contains(',') {
            return true;
        }
        match (
            self.origin,
            memory
                .displacement
                .parse::<i64>()
                .or_else(|error| if memory.displacement.is_empty() { Ok(0) } else { Err(error) }),
        ) {
            (Origin::Named, _) => false,
            (Origin::Frame(base, at), Ok(stored)) if memory.base == Some(base) => {
                // 64 is more than any store writes.
                self.size.is_none_or(|size| stored + 64 > at && stored < at + i64::from(size))
            }
            _ => true,
        }
    }
}

/// The part of a register's name that it shares with those that overlap it.
fn family(name: &str) -> &str {
    let name = name.strip_prefix(['r', 'e']).unwrap_or(name);
    if name.starts_with(|sign: char| sign.is_ascii_digit()) {
        return name.trim_end_matches(['b', 'w', 'd']);
    }
    match name {
        "ax" | "al" | "ah" => "a",
        "bx" | "bl" | "bh" => "b",
        "cx" | "cl" | "ch" => "c",
        "dx" | "dl" | "dh" => "d",
        _ => name.trim_end_matches('l'),
    }
}

/// Whether an instruction writes memory. Unknown instructions do if their last operand is memory.
fn stores(statement: &Statement<'_>) -> bool {
    let name = statement.mnemonic;
    if statement.memory_destination().is_none() {
        let string = statement.operands.iter().all(|operand| matches!(operand, Operand::Memory(_)));
        return string && (name.starts_with("movs") || name.starts_with("stos")) && name.len() == 5;
    }
    const READS: &[&str] = &[
        "cmp", "test", "push", "mul", "imul", "div", "idiv", "nop", "bt", "ucomis", "comis", "prefetch", "lea",
        "ldmxcsr",
    ];
    // Of the x87 instructions, those of one operand read it, but for the ones that store.
    let x87 =
        name.starts_with('f') && !name.starts_with("fst") && !name.starts_with("fist") && !name.starts_with("fnst");
    let reads = x87
        || READS.iter().any(|known| name.starts_with(known) && !name.starts_with("bts") && !name.starts_with("btr"));
    !reads || name.starts_with("btc")
}

/// Where the first argument of a call comes from, judged by the instructions before it.
fn origin<'a>(before: &[Statement<'a>]) -> Origin<'a> {
    let mut wanted = "rdi";
    for statement in before.iter().rev() {
        if statement.operands.last() != Some(&Operand::Register(wanted)) {
            continue;
        }
        match (statement.mnemonic, statement.operands.first()) {
            ("movq", Some(Operand::Register(from))) => wanted = from,
            ("movq", Some(Operand::Memory(memory))) if memory.of_linker() => return Origin::Named,
            ("leaq", Some(Operand::Memory(memory))) if memory.base == Some("rip") => return Origin::Named,
            ("leaq", Some(Operand::Memory(memory))) if memory.in_frame() && !memory.address.contains(',') => {
                return match (memory.base, memory.displacement.parse()) {
                    (Some(base), Ok(at)) => Origin::Frame(base, at),
                    (Some(base), Err(_)) if memory.displacement.is_empty() => Origin::Frame(base, 0),
                    _ => Origin::Unknown,
                };
            }
            _ => return Origin::Unknown,
        }
    }
    Origin::Unknown
}

/// The first argument of a call as base and displacement, if the instruction that computes it says so.
fn address<'a>(before: &[Statement<'a>]) -> Option<(&'a str, &'a str)> {
    let last = before.iter().rev().find(
        |statement| matches!(statement.operands.last(), Some(Operand::Register(name)) if family(name) == family("rdi")),
    )?;
    match (last.mnemonic, last.operands.first()?) {
        ("movq", Operand::Register(base)) => Some((base, "")),
        ("leaq", Operand::Memory(memory)) if !memory.address.contains(',') => Some((memory.base?, memory.displacement)),
        _ => None,
    }
}

/// Labels that something other than debug information refers to.
fn targets<'a>(lines: &[&'a str]) -> HashSet<&'a str> {
    let mut found = HashSet::new();
    let mut debug = false;
    for line in lines {
        let text = line.trim_start();
        if let Some(name) = text.strip_prefix(".section") {
            debug = name.trim_start().trim_start_matches('"').starts_with(".debug");
        } else if matches!(text.split_whitespace().next(), Some(".text" | ".data" | ".bss")) {
            debug = false;
        }
        if debug || text.starts_with(".loc") || text.starts_with(".size") || text.starts_with(".cfi_") {
            continue;
        }
        let mut rest = text;
        while let Some(at) = rest.find(".L") {
            let name = &rest[at..];
            let end =
                name.find(|sign: char| !(sign.is_ascii_alphanumeric() || "._$".contains(sign))).unwrap_or(name.len());
            // A definition is not a reference. gcc's marks of the regions that may throw are not jumped to.
            let (name, after) = name.split_at(end);
            if !after.starts_with(':') && !name.starts_with(".LEHB") && !name.starts_with(".LEHE") {
                found.insert(name);
            }
            rest = after;
        }
    }
    found
}

/// The changes needed in the compiler's own code, by line.
pub(super) fn edits(lines: &[&str]) -> HashMap<usize, Edit> {
    let mut edits = HashMap::new();
    if !lines.iter().any(|line| line.contains("__tsan_")) {
        return edits;
    }
    let targets = targets(lines);
    let mut inline = false;
    let mut waiting: Option<Waiting<'_>> = None;
    // A function was called, and nothing announced since.
    let mut returned = false;
    // The function announces at all: some are told not to be instrumented.
    let mut instrumented = false;
    let mut block: Vec<Statement<'_>> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        if text.starts_with('#') {
            match text.trim_end() {
                "#APP" => inline = true,
                "#NO_APP" => inline = false,
                _ => continue,
            }
            (waiting, returned) = (None, false);
            block.clear();
            continue;
        }
        let first = text.as_bytes().first();
        if inline || first.is_none() || (first == Some(&b'.') && !text.contains(':')) {
            if text.starts_with(".cfi_startproc") {
                instrumented = false;
            }
            if [".section", ".text", ".cfi_endproc", ".cfi_startproc"].iter().any(|name| text.starts_with(name)) {
                (waiting, returned) = (None, false);
                block.clear();
            }
            continue;
        }
        for statement in att::statements(line) {
            if statement.labels.iter().any(|label| !label.starts_with(".L") || targets.contains(label)) {
                (waiting, returned) = (None, false);
                block.clear();
            }
            if statement.is_directive() || statement.mnemonic.is_empty() {
                continue;
            }
            if statement.is_jump() {
                (waiting, returned) = (None, false);
                block.clear();
                continue;
            }
            if statement.mnemonic.starts_with("call") {
                let callee = statement.callee();
                if callee == Some("__tls_get_addr") {
                    // Its result is an address that we know nothing about.
                    block.clear();
                    continue;
                }
                let hook = callee.and_then(announced);
                match (hook, waiting.take()) {
                    (Some(Announced::Write(size, volatile)), _) => {
                        let (origin, address, loaded) = (origin(&block), address(&block), Vec::new());
                        waiting = Some(Waiting { line: number, size, volatile, origin, read: None, address, loaded });
                    }
                    (Some(Announced::Read), Some(write)) if write.read.is_none() => {
                        let name = write.size.map_or("_range".to_owned(), |size| size.to_string());
                        edits.insert(write.line, Edit::Call(format!("__membar_early_write{name}")));
                        waiting = Some(Waiting { read: Some(number), ..write });
                    }
                    (None, Some(write)) if matches!(callee, Some("memcpy" | "memmove" | "memset")) => {
                        edits.insert(write.line, Edit::Remove);
                        edits.extend(write.read.map(|read| (read, Edit::Remove)));
                    }
                    _ => {}
                }
                instrumented |= callee == Some("__tsan_func_entry");
                returned = hook.is_none() && instrumented;
                block.clear();
                continue;
            }
            if stores(&statement) {
                if let Some(write) = waiting.take_if(|write| write.may_be(&statement))
                    && let Some(name) = write.update(&statement)
                {
                    edits.insert(write.line, Edit::Call(name));
                }
                let shared = statement.memory_destination().is_some_and(|memory| !memory.in_frame());
                let plain = matches!(effect(&statement, &statement.prefixes),
                    Effect::Hooks(hooks) if hooks.iter().all(|hook| hook.kind == Kind::Store));
                if returned && shared && plain {
                    edits.insert(number, Edit::Announce);
                }
            } else if let Some(write) = &mut waiting
                && let Some(name) = write.pass(&statement)
            {
                edits.insert(write.line, Edit::Call(name));
            }
            block.push(statement);
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, Edit)> {
        let lines: Vec<&str> = text.lines().collect();
        let mut found: Vec<_> = edits(&lines).into_iter().collect();
        found.sort_by_key(|(line, _)| *line);
        found
    }

    fn early(name: &str) -> Edit {
        Edit::Call(format!("__membar_early_write{name}"))
    }

    #[test]
    fn a_copy_is_announced_early() {
        let text = "movq %rax, %rdi\ncall __tsan_write16@PLT\n.loc 1 2 3\n.LVL1:\nmovq -16(%rbp), %rdi\n\
                    call __tsan_read16@PLT\nmovq %rax, (%rcx)\n";
        assert_eq!(found(text), [(1, early("16"))]);
        let text = "call __tsan_unaligned_volatile_write4@PLT\nmovl $56, %esi\ncall __tsan_read_range@PLT\n";
        assert_eq!(found(text), [(0, early("4"))]);
        let text = "call __tsan_write_range@PLT\ncall __tls_get_addr@PLT\ncall __tsan_read_range@PLT\n";
        assert_eq!(found(text), [(0, early("_range"))]);
    }

    #[test]
    fn a_store_between_is_the_announced_one() {
        for store in ["movl %ebx, (%rax)", "movl $0, x(%rip)", "rep stosq", "movsq", "fstpt (%rax)", "setne (%rax)"] {
            assert_eq!(found(&format!("call __tsan_write4@PLT\n{store}\ncall __tsan_read4@PLT\n")), [], "{store}");
        }
        for other in [
            "movl (%rax), %ebx",
            "cmpl $1, (%rax)",
            "pushq (%rax)",
            "fldt (%rax)",
            "movsbl %al, %eax",
            "lea 1(%rax), %rax",
        ] {
            assert_eq!(found(&format!("call __tsan_write4@PLT\n{other}\ncall __tsan_read4@PLT\n")).len(), 1, "{other}");
        }
    }

    #[test]
    fn control_flow_between_ends_the_search() {
        for between in ["jmp .L3", "call foo@PLT", "#APP\nnop\n#NO_APP", "foo:", "ret", ".L3:", ".cfi_endproc"] {
            let text = format!("je .L3\ncall __tsan_write4@PLT\n{between}\ncall __tsan_read4@PLT\n");
            assert_eq!(found(&text), [], "{between}");
        }
    }

    #[test]
    fn a_store_to_the_frame_counts_if_it_may_be_the_announced_one() {
        let text =
            |before: &str, store: &str| format!("{before}\ncall __tsan_write8@PLT\n{store}\ncall __tsan_read8@PLT\n");
        let named = "movq x@GOTPCREL(%rip), %rax\nmovq %rax, %rdi";
        assert_eq!(found(&text(named, "movq %rbx, -8(%rbp)")).len(), 1);
        let local = "leaq -32(%rbp), %rax\nmovq %rax, %rdi";
        assert_eq!(found(&text(local, "movq %rbx, -32(%rbp)")), []);
        assert_eq!(found(&text(local, "movl $0, -28(%rbp)")), []);
        assert_eq!(found(&text(local, "movq %rbx, -24(%rbp)")).len(), 1);
        assert_eq!(found(&text("movq %rbx, %rdi", "movq %rbx, -24(%rbp)")), []);
    }

    #[test]
    fn a_copy_by_a_call_is_announced_once() {
        let text = "call __tsan_write_range@PLT\nmovq %rax, %rdi\ncall __tsan_read_range@PLT\nmovl $9, %edx\ncall memcpy@PLT\n";
        assert_eq!(found(text), [(0, Edit::Remove), (2, Edit::Remove)]);
        let text = "call __tsan_write_range@PLT\nmovl $9, %edx\ncall memset@PLT\n";
        assert_eq!(found(text), [(0, Edit::Remove)]);
        let text = "call __tsan_write4@PLT\nmovl $9, (%rax)\ncall memset@PLT\n";
        assert_eq!(found(text), []);
    }

    #[test]
    fn a_returned_struct_gets_a_hook() {
        let text =
            "call __tsan_func_entry@PLT\ncall f@PLT\nmovq %rax, -8(%rbp)\nmovq %rax, (%rcx)\nmovq %rdx, 8(%rcx)\n";
        assert_eq!(found(text), [(3, Edit::Announce), (4, Edit::Announce)]);
        let text = "call __tsan_func_entry@PLT\ncall f@PLT\ncall __tsan_write8@PLT\nmovq %rax, (%rcx)\n";
        assert_eq!(found(text), []);
    }

    #[test]
    fn an_update_of_a_bit_field_reads_too() {
        let update = |size: u8| Edit::Call(format!("__membar_update{size}"));
        // As gcc does it without and with optimisation.
        let text = "call __tsan_write1@PLT\nmovzbl f(%rip), %eax\norl $1, %eax\nmovb %al, f(%rip)\n";
        assert_eq!(found(text), [(0, update(1))]);
        assert_eq!(found("call __tsan_write1@PLT\nmovq %rbx, %rdi\norb $1, f(%rip)\n"), [(0, update(1))]);
        let text = "call __tsan_write4@PLT\nmovl 4(%rbx), %eax\nandl $-8, %eax\norl %ecx, %eax\nmovl %eax, 4(%rbx)\n";
        assert_eq!(found(text), [(0, update(4))]);
        let text = "call __tsan_unaligned_volatile_write2@PLT\nandw $-8, (%r12)\n";
        assert_eq!(found(text), [(0, Edit::Call("__membar_volatile_update2".into()))]);
        // The store is shared with another branch.
        let text = "leaq s(%rip), %rdi\ncall __tsan_write1@PLT\nmovb s(%rip), %al\norl $1, %eax\njmp .L5\n";
        assert_eq!(found(text), [(1, update(1))]);
        let text = "movq %rbx, %rdi\ncall __tsan_write4@PLT\nmovl (%rbx), %eax\njmp .L5\n";
        assert_eq!(found(text), [(1, update(4))]);
        let text = "leaq -32(%rbp), %rdi\ncall __tsan_write1@PLT\norb $4, -32(%rbp)\n";
        assert_eq!(found(text), [(1, update(1))]);
        for other in [
            // The value loaded is an address, or something else, or was loaded before another one was.
            "movq (%rax), %rax\nmovq %rbx, (%rax)",
            "movl y(%rip), %eax\nmovl %eax, x(%rip)",
            "movl (%r12), %eax\nmovslq %ecx, %r12\nmovl %eax, (%r12)",
            "movl (%rdx,%r8), %eax\nincl %r8d\nmovl %eax, (%rdx,%r8)",
            "movq x(%rip), %rax\nmovl %eax, x(%rip)",
            "movl 4(%rbx), %eax\nmovl %eax, (%rbx)",
            "movq -8(%rbp), %rbx\nmovl (%rbx), %eax\nmovl %eax, y(%rip)",
            // The compiler's own.
            "addl $1, -8(%rbp)",
            "movl -4(%rbp), %eax\nmovl %eax, -4(%rbp)",
        ] {
            assert_eq!(found(&format!("movq %rbx, %rdi\ncall __tsan_write8@PLT\n{other}\n")), [], "{other}");
        }
        assert_eq!(found("call __tsan_write4@PLT\ncall __tsan_read4@PLT\norl $1, x(%rip)\n"), [(0, early("4"))]);
    }
}
