//! Accesses in the compiler's own code that its instrumentation leaves out.
//!
//! Problem: `_mm_mfence`, `_mm_stream_si32`, `_mm256_i32gather_epi32` and their like are single instructions to
//! the compiler, and no hook announces them. Nor does gcc announce the structures that it passes by value, nor clang any
//! access to a `long double` or of more than 16 bytes.
//!
//! Algorithm:
//!
//! 1. Some instructions only ever come from builtins, or from the vectoriser's masked accesses, which are not announced either.
//!    They are treated like inline assembly.
//! 2. Any other access outside the frame is announced if it is the first of its kind, load or store, after a hook of that
//!    kind. If it is not, it is shown by a hook of ours, or noted if we do not know how much it accesses.
//! 3. Accesses to the frame are shown only where they look like an argument that is passed by value: loads that are pushed or
//!    stored again with no store announced, and loads from where the function has taken an address.
//!
//! Invariant: `load` and `store` say how many accesses the last hooks of their kind are still good for. Compilers move no
//! access to shared memory over a call, so an announced access stands before the next hook of its kind. A write may be
//! announced before the read that it depends on ([`super::announced`]).
//!
//! Guarantees: an access outside the frame that no hook announces is shown or noted, unless it follows the announcement of a
//! range in the same function before the next hook. Shown by mistake: private memory, or a load
//! twice; neither changes an answer.
//!
//! Complexity: linear in the text.

use super::att;
use super::inline::{Effect, Kind, effect};

/// Whether an instruction only ever comes from a builtin.
fn is_builtin(mnemonic: &str, text: &str) -> bool {
    const NAMES: &[&str] = &[
        "mfence", "sfence", "rdtsc", "rdtscp", "rdrand", "rdseed", "rdpmc", "rdpid", "lddqu", "xbegin", "xend", "xtest",
    ];
    const BEGINNINGS: &[&str] = &["movnt", "movdir", "xsave", "xrstor", "fxsave", "fxrstor", "enqcmd"];
    const PARTS: &[&str] = &["gather", "scatter", "maskmov", "compress", "expand"];
    let plain = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    NAMES.contains(&plain)
        || BEGINNINGS.iter().any(|name| plain.starts_with(name))
        || PARTS.iter().any(|name| plain.contains(name))
        || mnemonic.starts_with('v') && text.contains("{%k")
}

const BETWEEN: &str = "loads between the announcement of a store and the store, where membar cannot look";

/// How many accesses an announcement is good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Credit {
    #[default]
    None,
    One,
    /// It is large enough to be split into several.
    Many,
}

impl Credit {
    /// After an access.
    fn less(self) -> Credit {
        if self == Credit::Many { self } else { Credit::None }
    }
}

/// The accesses announced so far, while the pass goes through the code.
#[derive(Default)]
pub(super) struct Builtins<'a> {
    /// Accesses that have been announced and not been made.
    load: Credit,
    store: Credit,
    /// A write has been announced and not been made: a hook now would take what was there before for what is written.
    writing: bool,
    /// Where in its frame the function takes an address: from which register, and how far.
    taken: Vec<(&'a str, i64)>,
    /// clang has made the code.
    clang: bool,
}

impl<'a> Builtins<'a> {
    /// For this code.
    pub(super) fn of(assembly: &str) -> Builtins<'a> {
        let clang = |line: &str| line.trim_start().starts_with(".ident") && line.contains("clang");
        Builtins { clang: assembly.lines().rev().any(clang), ..Builtins::default() }
    }

    /// Looks at the first of these lines, which are the compiler's own, and says what it does that no hook announces.
    pub(super) fn effect(&mut self, lines: &[&'a str]) -> Effect<'a> {
        let text: &'a str = lines.first().map_or("", |line| line.trim());
        if text.starts_with('.') || text.ends_with(':') {
            if text.starts_with(".cfi_startproc") {
                (self.load, self.store, self.writing) = (Credit::None, Credit::None, false);
                self.taken = taken(lines);
            }
            return Effect::Nothing;
        }
        let mnemonic = text.split([' ', '\t', ';']).next().unwrap_or("");
        if mnemonic.starts_with("call") {
            self.calls(text);
            return Effect::Nothing;
        }
        let code = text.split('#').next().unwrap_or(text);
        if is_builtin(mnemonic, text) || self.clang && matches!(mnemonic, "fldt" | "fstpt") {
            let statement = att::statement(code);
            return effect(&statement, &statement.prefixes);
        }
        let meaning = match string(code) {
            Some((instruction, prefixes)) => effect(&att::statement(instruction), prefixes),
            None if is_access(mnemonic, text) || self.copies(text, lines) => {
                let credit = if stores(text) { &mut self.store } else { &mut self.load };
                if *credit != Credit::None && mnemonic.starts_with("mov") {
                    *credit = credit.less();
                    self.writing &= !stores(text);
                    return Effect::Nothing;
                }
                let statement = att::statement(code);
                effect(&statement, &statement.prefixes)
            }
            None => return Effect::Nothing,
        };
        self.unannounced(meaning, stores(text))
    }

    /// The remaining effect of an instruction without the accesses that have been announced.
    fn unannounced(&mut self, meaning: Effect<'a>, stores: bool) -> Effect<'a> {
        let (writing, load, store) = (self.writing, self.load, self.store);
        let hooks = match meaning {
            Effect::Nothing => return Effect::Nothing,
            Effect::Unseen(_) => {
                let credit = if stores { &mut self.store } else { &mut self.load };
                *credit = credit.less();
                self.writing &= !stores;
                let announced = if stores { store } else { load } != Credit::None;
                return if announced { Effect::Nothing } else { meaning };
            }
            Effect::Hooks(hooks) => hooks,
        };
        let mut shown = Vec::new();
        for hook in hooks {
            let (read, written) = match hook.kind {
                Kind::Load | Kind::StringLoad => (true, false),
                Kind::Store | Kind::StringStore => (false, true),
                _ => (true, true),
            };
            if read && load == Credit::None || written && store == Credit::None {
                shown.push(hook);
            }
            if read {
                self.load = load.less();
            }
            if written {
                self.store = store.less();
                self.writing = false;
            }
        }
        match shown.iter().any(|hook| matches!(hook.kind, Kind::Load | Kind::StringLoad)) {
            _ if shown.is_empty() => Effect::Nothing,
            true if writing => Effect::Unseen(BETWEEN),
            _ => Effect::Hooks(shown),
        }
    }

    /// Whether the first line reads a part of a local variable that is passed by value, which no hook announces: to the
    /// stack with no store announced, or in registers from where an address has been taken.
    fn copies(&self, text: &str, lines: &[&str]) -> bool {
        let in_frame = text.contains("(%rbp)") || text.contains("(%rsp)");
        if !in_frame || stores(text) {
            return false;
        }
        if text.starts_with("push") {
            return true;
        }
        if !text.contains("mov") {
            return false;
        }
        let Some((place, register)) = text.rsplit_once(',') else { return false };
        let place = place.rsplit([' ', '\t']).next().unwrap_or("");
        let register = register.trim();
        // Between an announcement and its store, code without optimisation loads where to store to.
        let passed = self.load == Credit::None
            && (self.store == Credit::None || self.store == Credit::One && register.contains("mm"))
            && frame(place).is_some_and(|(base, at)| {
                self.taken.iter().any(|&(other, start)| other == base && (start..start + 16).contains(&at))
            });
        let next =
            || lines.iter().skip(1).map(|line| line.trim()).take(16).take_while(|line| !line.starts_with("call"));
        let copied = |line: &str| {
            let words = line.split_once([' ', '\t']).map(|(name, rest)| (name, rest.trim()));
            words.is_some_and(|(name, rest)| {
                name.contains("mov")
                    && rest.ends_with(')')
                    && !rest.ends_with("(%rbp)")
                    && rest.split(',').next() == Some(register)
            })
        };
        passed || self.store == Credit::None && next().any(copied)
    }

    /// A call of this function, or of the one that stands in for it.
    pub(super) fn calls(&mut self, callee: &str) {
        if !callee.contains("__tsan_") && !callee.contains("__membar_") {
            // No access to shared memory is moved over a call, but for one that is part of computing an address.
            if !callee.contains("__tls_get_addr") {
                (self.load, self.store, self.writing) = (Credit::None, Credit::None, false);
            }
            return;
        }
        let is = |names: &[&str]| names.iter().any(|name| callee.contains(name));
        let credit = if is(&["16", "range", "memcpy", "memmove", "memset"]) { Credit::Many } else { Credit::One };
        // clang leaves the access of an atomic operation where it was, for nothing.
        let both = is(&["atomic", "update", "memcpy", "memmove", "memset"]);
        if both || is(&["read"]) {
            self.load = credit;
        }
        if both || is(&["write"]) {
            self.store = credit;
        }
        self.writing = is(&["write"]) && credit == Credit::One;
    }
}

/// A string instruction, which reads and writes whatever its registers point to, and its prefixes. clang writes
/// `rep;movsq (%rsi), %es:(%rdi)`.
fn string(code: &str) -> Option<(&str, &'static [&'static str])> {
    let (rest, prefixes): (_, &[&str]) = match code.strip_prefix("rep") {
        Some(rest) => (rest.trim_start_matches([';', ' ', '\t']), &["rep"]),
        None => (code, &[]),
    };
    let (name, size) = rest.split_at_checked(4)?;
    let known = ["b", "w", "l", "q"].contains(&size.split([' ', '\t']).next()?);
    (matches!(name, "movs" | "stos") && known).then_some((rest, prefixes))
}

/// `-8(%rbp)`: the register, and how far from it.
fn frame(place: &str) -> Option<(&str, i64)> {
    let (distance, base) = place.strip_suffix(')')?.split_once('(')?;
    let distance = if distance.is_empty() { 0 } else { distance.parse().ok()? };
    matches!(base, "%rbp" | "%rsp").then_some((base, distance))
}

/// Where in its frame a function takes an address, which begins with these lines.
fn taken<'a>(lines: &[&'a str]) -> Vec<(&'a str, i64)> {
    let body = lines.iter().map(|line| line.trim()).take_while(|line| !line.starts_with(".cfi_endproc"));
    let address = |line: &'a str| frame(line.strip_prefix("leaq")?.trim_start().split(',').next()?);
    let mut found: Vec<_> = body.filter_map(address).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether an instruction of the compiler's own accesses memory that is neither in its frame nor constant.
fn is_access(mnemonic: &str, text: &str) -> bool {
    let plain = || !["(%rbp", "(%rsp", ".L", "@", "%fs:", "%gs:"].iter().any(|part| text.contains(part));
    let none = || ["lea", "j", "nop", "pop", "prefetch", "ret"].iter().any(|name| mnemonic.starts_with(name));
    text.contains('(') && !none() && plain()
}

/// Whether the last operand is memory. A comparison stores nothing.
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
        (0..lines.len()).filter(|&number| builtins.effect(&lines[number..]) != Effect::Nothing).collect()
    }

    #[test]
    fn builtins_are_shown() {
        for line in [
            "mfence",
            "sfence",
            "rdtsc",
            "movnti\t%eax, x(%rip)",
            "vpgatherdd\t%ymm2, (%rax,%ymm1,4), %ymm0",
            "vpmaskmovd\t%ymm0, %ymm1, x(%rip)",
            "vmovdqu32\t%zmm0, (%rax){%k1}",
            "lddqu\tx(%rip), %xmm0",
        ] {
            assert_eq!(shown(&[line]), [0], "{line}");
        }
        assert_eq!(
            shown(&["lfence", "pause", "rep nop", "movl\t$1, -4(%rbp)", "vaddps\t%zmm0, %zmm1, %zmm2{%k1}"]),
            NONE
        );
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
        assert_eq!(shown(&[load]), [0]);
        // An update uses up both announcements.
        let update = [read, write, "addq\t$1, (%rax)", load];
        assert_eq!(shown(&update), [3]);
    }

    #[test]
    fn vectors_and_strings_are_shown_whatever_their_size() {
        let (read, range) = ("call\t__tsan_read8@PLT", "call\t__tsan_read_range@PLT");
        for line in [
            "vmovdqu\t(%rax), %ymm0",
            "vmovups\t%zmm0, y(%rip)",
            "pshufd\t$255, y(%rip), %xmm0",
            "pmovzxbw\t(%rax), %xmm0",
            "rep movsq",
            "rep;movsq (%rsi), %es:(%rdi)",
            "rep stosl",
            "movsq",
            "movsl\t(%rsi), %es:(%rdi)",
        ] {
            assert_eq!(shown(&[line]), [0], "{line}");
        }
        assert_eq!(shown(&[read, "paddd\t(%rax), %xmm0"]), NONE);
        assert_eq!(shown(&[range, "call\t__tsan_write_range@PLT", "rep movsq"]), NONE, "all of it has been announced");
        assert_eq!(shown(&["call\t__tsan_write_range@PLT", "call\tf@PLT", "rep stosq"]), [2]);
        assert_eq!(shown(&["movslq\t%eax, %rdx", "movsbl\t%al, %eax", "movsd\t.LC0(%rip), %xmm0"]), NONE);
    }

    #[test]
    fn locals_that_are_passed_by_value_are_shown() {
        let write = "call\t__tsan_write8@PLT";
        let copy = ["movdqu\t16(%rsp), %xmm0", "movups\t%xmm0, (%rsp)"];
        assert_eq!(shown(&copy), [0]);
        assert_eq!(shown(&["pushq\t-40(%rbp)"]), [0]);
        assert_eq!(shown(&["movq\t-8(%rbp), %rdx", "movq\t%rcx, (%rsp)"]), NONE);
        assert_eq!(shown(&[write, "movq\t-8(%rbp), %rdx", "movq\t%rdx, (%rax)"]), NONE, "a store that was announced");
        let start = ".cfi_startproc";
        let registers =
            [start, "leaq\t-32(%rbp), %rdi", "call\tf@PLT", "movq\t-24(%rbp), %rsi", "movq\t-8(%rbp), %rdi"];
        assert_eq!(shown(&registers), [3]);
    }

    #[test]
    fn announced_accesses_are_ordinary() {
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
