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
//! Scalar moves into vector registers ([`Origin::Scalar`]) are mostly ordinary: compilers move no load over a call, so the
//! first load after the announcement of a read is what was announced, and a scalar move that is not that is a builtin's, of
//! which half was not needed. Where this is a mistake, a load is shown twice, which does no harm.
//!
//! Guarantees: an access of a builtin is shown or noted, unless an ordinary access of the same address was announced just
//! before it in straight-line code.

use super::att::{self, Memory, Operand, Statement};
use super::early::family;
use super::inline::{Effect, effect};

/// Whose instruction it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Ordinary,
    Builtin,
    Either,
    Scalar,
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
        "movss" | "movsd" | "movq" | "movd" if text.rsplit_once(',').is_some_and(|(_, to)| to.contains("%xmm")) => {
            Origin::Scalar
        }
        "movlps" | "movhps" | "movlpd" | "movhpd" | "movddup" => Origin::Either,
        _ if has("broadcast") => Origin::Either,
        _ => Origin::Ordinary,
    }
}

/// How far behind an announced address an ordinary access of it may begin: the longest access that compilers split.
const SPLIT: i64 = 32;

/// An address: the registers and the symbol, and what is added.
type Address = (String, i64);

/// What has been announced, while the pass goes through the code.
#[derive(Default)]
pub(super) struct Builtins {
    announced: Vec<Address>,
    /// The function announces anything at all.
    instrumented: bool,
    /// A read has been announced, and nothing loaded since.
    reads: bool,
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
                (self.instrumented, self.reads) = (false, false);
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
            Origin::Ordinary => self.follow(mnemonic, text),
            Origin::Scalar => {
                let statement = att::statement(text.split('#').next().unwrap_or(text));
                let constant = |memory: &Memory<'_>| memory.in_frame() || memory.displacement.starts_with(".LC");
                let from = statement.memory().filter(|memory| !constant(memory));
                if from.is_some() && !std::mem::take(&mut self.reads) && self.instrumented {
                    return effect(&statement, &statement.prefixes);
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
                self.reads = text.contains("read") || text.contains("memcpy") || text.contains("range");
                if self.reads || text.contains("write") {
                    self.announced.extend(self.argument.take());
                }
            }
            return;
        }
        let frame = || text.contains("(%rbp") || text.contains("(%rsp");
        if self.reads && text.contains('(') && !mnemonic.starts_with("lea") && !frame() {
            self.reads = false;
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

    /// Was the address announced?
    fn knows(&self, memory: Memory<'_>) -> bool {
        let (registers, offset) = address(memory);
        self.announced.iter().any(|(known, start)| *known == registers && (0..SPLIT).contains(&(offset - start)))
    }
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
    fn a_scalar_load_is_what_was_announced_or_is_shown() {
        let (read, write) = ("call\t__tsan_read8@PLT", "call\t__tsan_write8@PLT");
        let load = "movsd\t(%rax), %xmm0";
        assert_eq!(shown(&[read, "movq\t-8(%rbp), %rax", load]), NONE);
        assert_eq!(shown(&[write, "movq\t$1, (%rbx)", load]), [2]);
        assert_eq!(shown(&[read, "movq\t(%rbx), %rcx", load]), [2]);
        assert_eq!(shown(&[write, "movsd\t.LC0(%rip), %xmm0", "movsd\t%xmm0, (%rax)", "movq\t%xmm0, %rax"]), NONE);
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
