//! Accesses in the compiler's own code that its instrumentation leaves out.
//!
//! Problem: `_mm_mfence`, `_mm_pause`, `_mm_stream_si32`, `_mm256_i32gather_epi32` and their like are single instructions to
//! the compiler, and no hook announces them. Nor does gcc announce the structures that it passes by value, nor clang any
//! access to a `long double`.
//!
//! Algorithm:
//!
//! 1. Some instructions only ever come from builtins, or from the vectoriser's masked accesses, which are not announced either.
//!    They are treated like inline assembly.
//! 2. Any other access outside the frame is announced if it is the first of its kind, load or store, after a hook of that
//!    kind. If it is not, it is shown by a hook of ours.
//!
//! Invariant: `load` and `store` say how many accesses the last hooks of their kind are still good for. Compilers move no
//! access to shared memory over a call, so an announced access stands before the next hook of its kind. A write may be
//! announced before the read that it depends on ([`super::early`]).
//!
//! Guarantees: an access that no hook announces is shown or noted, but for string instructions (`rep movs`) and for accesses
//! that follow the announcement of a range in the same function before the next hook. An access shown by mistake is to
//! memory that nobody shares, or a load twice; neither changes an answer.
//!
//! Complexity: linear in the text.

use super::att;
use super::inline::{Effect, Hook, Kind, effect};

/// Whether an instruction only ever comes from a builtin.
fn is_builtin(mnemonic: &str, text: &str) -> bool {
    const NAMES: &[&str] = &[
        "mfence", "sfence", "pause", "rdtsc", "rdtscp", "rdrand", "rdseed", "rdpmc", "rdpid", "lddqu", "xbegin",
        "xend", "xtest",
    ];
    const BEGINNINGS: &[&str] = &["movnt", "movdir", "xsave", "xrstor", "fxsave", "fxrstor", "enqcmd"];
    const PARTS: &[&str] = &["gather", "scatter", "maskmov", "compress", "expand"];
    let plain = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    NAMES.contains(&plain)
        || BEGINNINGS.iter().any(|name| plain.starts_with(name))
        || PARTS.iter().any(|name| plain.contains(name))
        || mnemonic == "rep" && text.trim_end().ends_with("nop")
        || mnemonic.starts_with('v') && text.contains("{%k")
}

const BETWEEN: &str = "loads between the announcement of a store and the store, where membar cannot look";

/// How many accesses an announcement is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Credit {
    #[default]
    None,
    One,
    /// It has so many bytes that it may be split into several.
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
    /// The function announces anything at all.
    instrumented: bool,
    /// Accesses that have been announced and not been made.
    load: Credit,
    store: Credit,
    /// A write has been announced and not been made: a hook now would take what was there before for what is written.
    writing: bool,
    /// clang has made the code.
    clang: bool,
}

impl Builtins {
    /// For this code.
    pub(super) fn of(assembly: &str) -> Builtins {
        let clang = |line: &str| line.trim_start().starts_with(".ident") && line.contains("clang");
        Builtins { clang: assembly.lines().rev().any(clang), ..Builtins::default() }
    }

    /// Looks at a line of the compiler's own, and says what it does that no hook announces.
    pub(super) fn effect<'a>(&mut self, text: &'a str) -> Effect<'a> {
        if text.starts_with('.') || text.ends_with(':') {
            if text.starts_with(".cfi_startproc") {
                (self.instrumented, self.load, self.store, self.writing) = (false, Credit::None, Credit::None, false);
            }
            return Effect::Nothing;
        }
        let mnemonic = text.split([' ', '\t']).next().unwrap_or("");
        if mnemonic.starts_with("call") {
            self.calls(text);
            return Effect::Nothing;
        }
        let statement = || att::statement(text.split('#').next().unwrap_or(text));
        if is_builtin(mnemonic, text) || self.clang && matches!(mnemonic, "fldt" | "fstpt") {
            let statement = statement();
            return effect(&statement, &statement.prefixes);
        }
        if !is_access(mnemonic, text) {
            return Effect::Nothing;
        }
        let credit = if stores(text) { &mut self.store } else { &mut self.load };
        let announced = *credit != Credit::None;
        *credit = credit.less();
        self.writing &= !stores(text);
        if announced || !self.instrumented {
            return Effect::Nothing;
        }
        let statement = statement();
        match effect(&statement, &statement.prefixes) {
            // If it does more than one thing, some of it has been announced.
            Effect::Hooks(_) if self.writing && !stores(text) => Effect::Unseen(BETWEEN),
            Effect::Hooks(hooks) if matches!(hooks[..], [Hook { kind: Kind::Load | Kind::Store, .. }]) => {
                Effect::Hooks(hooks)
            }
            Effect::Unseen(why) if text.contains("%ymm") || text.contains("%zmm") => Effect::Unseen(why),
            _ => Effect::Nothing,
        }
    }

    /// A call of this function, or of the one that stands in for it.
    pub(super) fn calls(&mut self, callee: &str) {
        if !callee.contains("__tsan_") && !callee.contains("__membar_") {
            return;
        }
        self.instrumented = true;
        self.writing = false;
        let is = |names: &[&str]| names.iter().any(|name| callee.contains(name));
        let many = is(&["16", "range", "memcpy", "memmove", "memset"]);
        let credit = if many { Credit::Many } else { Credit::One };
        // clang leaves the access of an atomic operation where it was, for nothing.
        if many || is(&["read", "atomic", "update"]) {
            self.load = credit;
        }
        if many || is(&["write", "atomic", "update"]) {
            self.store = credit;
        }
        self.writing = is(&["write"]) && !many;
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
        let (read, both) = ("call\t__tsan_unaligned_read16@PLT", "call\t__membar_update4@PLT");
        assert_eq!(shown(&[read, "movlps\tx(%rip), %xmm0", "movhps\tx+8(%rip), %xmm0"]), NONE);
        assert_eq!(shown(&["call\t__tsan_write8@PLT", "movhps\tx(%rip), %xmm0"]), [1]);
        assert_eq!(shown(&[both, "movl\tx(%rip), %eax", "movl\t%eax, x(%rip)", "movl\t%eax, x(%rip)"]), [3]);
        // Announced early: the write comes after the read.
        let early = ["call\t__membar_early_write4@PLT", "call\t__tsan_read4@PLT"];
        assert_eq!(shown(&[early[0], early[1], "movl\ty(%rip), %eax", "movl\t%eax, x(%rip)"]), NONE);
        assert_eq!(shown(&[read, "vbroadcastss\t.LC0(%rip), %ymm0", "movlps\t-8(%rbp), %xmm0"]), NONE);
    }
}
