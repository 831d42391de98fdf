//! Instructions of builtins, which the compiler's instrumentation leaves out.
//!
//! Problem: `_mm_mfence`, `_mm_pause`, `_mm_stream_si32`, `_mm256_i32gather_epi32` and their like are single instructions to
//! the compiler. They are in the compiler's own code, not in inline assembly, and no hook announces them.
//!
//! Algorithm: some instructions only ever come from builtins, or from the vectoriser's masked accesses, which are not
//! announced either ([`Origin::Builtin`]). They are treated like inline assembly. Others the compiler also uses for ordinary
//! accesses ([`Origin::Either`]): they are ordinary if a hook has announced their address since the last label or
//! jump, and the registers of the address have not changed since. clang announces no access to a `long double` at all: where
//! it has made the code, the instructions for those are treated like builtins.
//!
//! Any other access is ordinary if it is the first one of its kind after an announcement: compilers move none over a call. If
//! not, it is shown: gcc announces no structure that is passed by value, and makes ordinary accesses of some builtins. Mostly this
//! is memory that nobody shares, which does no harm.
//!
//! Guarantees: an access of a builtin is shown or noted, unless an ordinary access of the same address was announced just
//! before it in straight-line code.

use super::att::{self, Memory, Operand, Statement};
use super::early::family;
use super::inline::{Effect, Hook, Kind, effect};

/// Whose instruction it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Ordinary,
    Builtin,
    Either,
}

fn origin(mnemonic: &str, text: &str) -> Origin {
    let plain = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    let has = |part: &str| plain.contains(part);
    match plain {
        "mfence" | "sfence" | "pause" | "rdtsc" | "rdtscp" | "rdrand" | "rdseed" | "rdpmc" | "rdpid" | "lddqu"
        | "xbegin" | "xend" | "xtest" => Origin::Builtin,
        _ if mnemonic == "rep" && text.trim_end().ends_with("nop") => Origin::Builtin,
        _ if ["movnt", "movdir", "xsave", "xrstor", "fxsave", "fxrstor", "enqcmd"]
            .iter()
            .any(|name| plain.starts_with(name)) =>
        {
            Origin::Builtin
        }
        _ if has("gather") || has("scatter") || has("maskmov") || has("compress") || has("expand") => Origin::Builtin,
        _ if mnemonic.starts_with('v') && text.contains("{%k") => Origin::Builtin,
        "maskmovdqu" | "maskmovq" => Origin::Builtin,
        "movlps" | "movhps" | "movlpd" | "movhpd" | "movddup" => Origin::Either,
        _ if has("broadcast") => Origin::Either,
        _ => Origin::Ordinary,
    }
}

/// How far behind an announced address an ordinary access of it may begin: the longest access that compilers split.
const SPLIT: i64 = 32;

/// An address: the registers and the symbol, and what is added.
type Address = (String, i64);

/// How many accesses an announcement is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Credit {
    #[default]
    None,
    One,
    /// It is of so many bytes that several may be made of it.
    Many,
}

impl Credit {
    /// After an access.
    fn less(self) -> Credit {
        if self == Credit::Many { self } else { Credit::None }
    }
}

/// What has been announced, while the pass goes through the code.
#[derive(Default)]
pub(super) struct Builtins {
    announced: Vec<Address>,
    /// The function announces anything at all.
    instrumented: bool,
    /// Accesses that have been announced and not been made.
    load: Credit,
    store: Credit,
    /// Where the write is. A load of the same is for a bit-field ([`super::early`]).
    writes: Option<Address>,
    /// What the first argument of the next call is.
    argument: Option<Address>,
    /// clang has made the code.
    clang: bool,
}

impl Builtins {
    /// For this code.
    pub(super) fn of(assembly: &str) -> Builtins {
        let clang = |line: &str| line.trim_start().starts_with(".ident") && line.contains("clang");
        Builtins { clang: assembly.lines().rev().any(clang), ..Builtins::default() }
    }

    /// Looks at a line of the compiler's own, and says what a builtin in it does.
    pub(super) fn effect<'a>(&mut self, text: &'a str) -> Effect<'a> {
        if text.starts_with('.') || text.ends_with(':') {
            if text.starts_with(".cfi_startproc") {
                (self.instrumented, self.load, self.store) = (false, Credit::None, Credit::None);
            }
            if text.ends_with(':') || text.starts_with(".cfi_startproc") {
                self.announced.clear();
            }
            return Effect::Nothing;
        }
        let mnemonic = text.split([' ', '\t']).next().unwrap_or("");
        let origin = match mnemonic {
            "fldt" | "fstpt" if self.clang => Origin::Builtin,
            _ => origin(mnemonic, text),
        };
        match origin {
            Origin::Ordinary => {
                let credit = if stores(text) { self.store } else { self.load };
                self.follow(mnemonic, text);
                if credit == Credit::None && self.instrumented && is_access(mnemonic, text) {
                    return self.unannounced(text);
                }
            }
            found => {
                let statement = att::statement(text.split('#').next().unwrap_or(text));
                let ordinary = statement.memory().is_none_or(|memory| {
                    memory.in_frame() || memory.displacement.starts_with(".LC") || self.knows(memory)
                });
                if found == Origin::Builtin || !ordinary {
                    return effect(&statement, &statement.prefixes);
                }
            }
        }
        Effect::Nothing
    }

    /// Keeps up with what is announced.
    fn follow(&mut self, mnemonic: &str, text: &str) {
        if mnemonic.starts_with('j') || mnemonic.starts_with("ret") {
            return self.announced.clear();
        }
        if mnemonic.starts_with("call") {
            if text.contains("__tsan_") {
                self.instrumented = true;
                let is = |names: &[&str]| names.iter().any(|name| text.contains(name));
                let many = is(&["16", "range", "memcpy", "memmove", "memset"]);
                // clang leaves the access of an atomic operation where it was, for nothing. A write may be announced before the
                // read that it depends on.
                if many || is(&["read", "atomic"]) {
                    self.load = if many { Credit::Many } else { Credit::One };
                }
                if many || is(&["write", "atomic", "vptr"]) {
                    self.store = if many { Credit::Many } else { Credit::One };
                }
                self.writes = self.argument.clone().filter(|_| is(&["write"]));
                if is(&["read", "write"]) {
                    self.announced.extend(self.argument.take());
                }
            }
            return;
        }
        if is_access(mnemonic, text) {
            if stores(text) {
                (self.store, self.writes) = (self.store.less(), None);
            } else {
                self.load = self.load.less();
            }
        }
        let Some((_, register)) = text.rsplit_once('%') else { return };
        if register.contains(')') || self.announced.is_empty() && !matches!(register, "rdi" | "edi") {
            return;
        }
        let changed = family(register);
        self.announced.retain(|(registers, _)| {
            !registers.split(['(', ')', ',', '%']).any(|name| !name.is_empty() && family(name) == changed)
        });
        if changed == family("rdi") {
            self.argument = argument(&att::statement(text));
        }
    }

    /// What an access does that no hook has announced. If it does more than one thing, some of it has been.
    fn unannounced<'a>(&self, text: &'a str) -> Effect<'a> {
        let statement = att::statement(text.split('#').next().unwrap_or(text));
        let bits = statement.memory().map(address) == self.writes && self.writes.is_some();
        match effect(&statement, &statement.prefixes) {
            Effect::Hooks(hooks) if !bits && matches!(hooks[..], [Hook { kind: Kind::Load | Kind::Store, .. }]) => {
                Effect::Hooks(hooks)
            }
            _ => Effect::Nothing,
        }
    }

    /// Was the address announced?
    fn knows(&self, memory: Memory<'_>) -> bool {
        let (registers, offset) = address(memory);
        self.announced.iter().any(|(known, start)| *known == registers && (0..SPLIT).contains(&(offset - start)))
    }
}

/// Whether an instruction of the compiler's own accesses memory that is neither in its frame nor constant.
fn is_access(mnemonic: &str, text: &str) -> bool {
    let plain = || !["(%rbp", "(%rsp", ".L", "@", "%fs:", "%gs:"].iter().any(|part| text.contains(part));
    let none = || ["lea", "j", "nop", "pop", "prefetch", "rep", "ret"].iter().any(|name| mnemonic.starts_with(name));
    text.contains('(') && !none() && plain()
}

/// Whether the last operand is memory. Who compares stores nothing.
fn stores(text: &str) -> bool {
    text.ends_with(')') && text.contains(',') && !text.starts_with("cmp") && !text.starts_with("test")
}

/// The address that an instruction makes the first argument.
fn argument(statement: &Statement<'_>) -> Option<Address> {
    match (statement.mnemonic, statement.operands.first()?) {
        ("movq", Operand::Register(base)) => Some((format!("(%{base})"), 0)),
        ("leaq", Operand::Memory(memory)) => Some(address(*memory)),
        ("movl" | "movq", Operand::Immediate(symbol)) => {
            let (name, offset) = split_offset(symbol);
            Some((format!("{name}(%rip)"), offset))
        }
        ("movq", Operand::Memory(memory)) if memory.of_linker() => {
            let name = memory.displacement.split('@').next().unwrap_or_default();
            Some((format!("{name}(%rip)"), 0))
        }
        _ => None,
    }
}

fn address(memory: Memory<'_>) -> Address {
    let (name, offset) = split_offset(memory.displacement);
    // Without `-fpie`, `x` stands for `x(%rip)`.
    let registers = if memory.address.is_empty() { "(%rip)" } else { memory.address };
    (format!("{name}{registers}"), offset)
}

/// `x+8` is `x` and 8, `-8` nothing and -8.
fn split_offset(text: &str) -> (&str, i64) {
    if let Ok(offset) = text.parse() {
        return ("", offset);
    }
    match text.rfind(['+', '-']).map(|at| text.split_at(at)) {
        Some((name, offset)) => offset.parse().map_or((text, 0), |offset| (name, offset)),
        None => (text, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    /// Which lines have an effect.
    fn shown(lines: &[&str]) -> Vec<usize> {
        let mut builtins = Builtins::default();
        (0..lines.len()).filter(|&number| builtins.effect(lines[number]) != Effect::Nothing).collect()
    }

    #[test]
    fn builtins_are_shown() {
        for line in [
            "mfence",
            "sfence",
            "pause",
            "rep nop",
            "rdtsc",
            "movnti\t%eax, x(%rip)",
            "vpgatherdd\t%ymm2, (%rax,%ymm1,4), %ymm0",
            "vpmaskmovd\t%ymm0, %ymm1, x(%rip)",
            "vmovdqu32\t%zmm0, (%rax){%k1}",
            "lddqu\tx(%rip), %xmm0",
        ] {
            assert_eq!(shown(&[line]), [0], "{line}");
        }
        assert_eq!(shown(&["lfence", "movl\t$1, x(%rip)", "vaddps\t%zmm0, %zmm1, %zmm2{%k1}"]), NONE);
    }

    #[test]
    fn a_load_is_what_was_announced_or_is_shown() {
        let (read, write) = ("call\t__tsan_read8@PLT", "call\t__tsan_write8@PLT");
        let load = "movq\t(%rax), %rdx";
        assert_eq!(shown(&[read, "movq\t-8(%rbp), %rax", load]), NONE);
        assert_eq!(shown(&[write, "movq\t$1, (%rbx)", load]), [2]);
        assert_eq!(shown(&[write, "movq\t$1, (%rbx)", "movq\t$1, 8(%rbx)"]), [2]);
        assert_eq!(shown(&[write, "movq\t$1, -8(%rbp)", "movq\t$1, 8(%rbx)"]), NONE);
        assert_eq!(shown(&[read, "movq\t(%rbx), %rcx", "movsd\t(%rax), %xmm0"]), [2]);
        assert_eq!(shown(&["call\t__tsan_read16@PLT", load, "movq\t8(%rax), %rcx"]), NONE);
        assert_eq!(shown(&[write, "movsd\t.LC0(%rip), %xmm0", "movsd\t%xmm0, (%rax)", "leaq\t(%rax), %rdx"]), NONE);
        assert_eq!(shown(&[write, "movq\tx@GOTPCREL(%rip), %rax", "movq\t%fs:40, %rax", "jmp\t*(%rax)"]), NONE);
        // Nothing is announced here at all.
        assert_eq!(shown(&[load]), NONE);
    }

    #[test]
    fn what_was_announced_is_ordinary() {
        let call = "call\t__tsan_unaligned_read16@PLT";
        assert_eq!(shown(&["movhps\tx(%rip), %xmm0"]), [0]);
        assert_eq!(shown(&["leaq\tx(%rip), %rdi", call, "movlps\tx(%rip), %xmm0", "movhps\tx+8(%rip), %xmm0"]), NONE);
        assert_eq!(shown(&["movl\t$x, %edi", call, "movlps\tx(%rip), %xmm0"]), NONE);
        assert_eq!(shown(&["movq\t%rbx, %rdi", call, "movhps\t8(%rbx), %xmm0"]), NONE);
        assert_eq!(shown(&["movq\t%rbx, %rdi", call, "movhps\t8(%rcx), %xmm0"]), [2]);
        assert_eq!(shown(&["movq\t%rbx, %rdi", call, "addq\t$8, %rbx", "movhps\t8(%rbx), %xmm0"]), [3]);
        assert_eq!(shown(&["movq\t%rbx, %rdi", call, ".L3:", "movhps\t8(%rbx), %xmm0"]), [3]);
        assert_eq!(
            shown(&["vbroadcastss\t.LC0(%rip), %ymm0", "movlps\t-8(%rbp), %xmm0", "movddup\t%xmm0, %xmm1"]),
            NONE
        );
    }
}
