//! Functions of the program's own sources that are told not to be instrumented (`no_sanitize_thread`).
//!
//! Problem: the compiler leaves them alone, and nothing in the assembly says so. They are code that is not instrumented like
//! that of others, and must not be on the pages of code that is (`link.rs`).
//!
//! Algorithm: only where the sources mention the attribute. A function without any call that announces an access, but with an
//! operand in memory that is neither on its stack nor a constant, is moved to a section of its own.
//!
//! Guarantees: a function that is moved for no reason is run all the same; each call of it takes longer.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The section, which the linker leaves outside of instrumented code.
const SECTION: &str = "\t.pushsection\t.opaque,\"ax\",@progbits";
/// How attributes are spelt.
const WORDS: &[&str] = &["no_sanitize", "disable_sanitizer_instrumentation"];
/// Files that are looked at.
const MOST: usize = 256;

/// Whether a source, or what it includes by name from beside it, or what contributes code to it, mentions the attribute.
pub(super) fn mentions(source: &Path, assembly: &str) -> bool {
    let files = assembly.lines().filter_map(|line| line.trim_start().strip_prefix(".file"));
    let contributed = files.filter_map(|rest| rest.rsplit('"').nth(1)).map(PathBuf::from);
    let mut queue: Vec<PathBuf> = std::iter::once(source.to_owned()).chain(contributed).collect();
    let mut seen = HashSet::new();
    while let Some(path) = queue.pop() {
        if seen.len() == MOST || !seen.insert(path.clone()) {
            continue;
        }
        let Ok(bytes) = fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        if WORDS.iter().any(|word| text.contains(word)) {
            return true;
        }
        let beside = path.parent().unwrap_or(Path::new(""));
        let includes = text.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
        let names = includes.filter_map(|line| line.trim_start().strip_prefix("include")?.split('"').nth(1));
        queue.extend(names.map(|name| beside.join(name)));
    }
    false
}

/// Moves such functions out.
pub(super) fn move_out(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    while at < lines.len() {
        let end = function(&lines[at..]).map(|len| at + len).filter(|&end| is_opaque(&lines[at..end]));
        let to = end.unwrap_or(at + 1);
        if end.is_some() {
            out.push_str(SECTION);
            out.push('\n');
        }
        for line in &lines[at..to] {
            out.push_str(line);
            out.push('\n');
        }
        if end.is_some() {
            out.push_str("\t.popsection\n");
        }
        at = to;
    }
    out
}

/// The lines of a function that begins with the first of these, its size included.
fn function(lines: &[&str]) -> Option<usize> {
    let name = lines.first()?.split_once(':').map(|(name, _)| name)?;
    if name.is_empty() || name.starts_with([' ', '\t', '.', '#']) {
        return None;
    }
    let code = |line: &&str| line.trim_start().starts_with(".cfi_startproc");
    if !lines.iter().take(8).any(|line| code(&line)) {
        return None;
    }
    let size = |line: &&str| {
        let rest = line.trim_start().strip_prefix(".size");
        rest.is_some_and(|rest| rest.trim_start().split(',').next() == Some(name))
    };
    let len = lines.iter().position(|line| size(&line))? + 1;
    // A part of it is elsewhere already: what belongs where would have to be known.
    let moves = |line: &&str| {
        let word = line.split_whitespace().next().unwrap_or("");
        [".text", ".section", ".pushsection", ".popsection", ".previous"].contains(&word)
    };
    (!lines[..len].iter().any(|line| moves(&line))).then_some(len)
}

fn is_opaque(lines: &[&str]) -> bool {
    let announces = |line: &&str| {
        let call = line.split_whitespace().nth(1).unwrap_or("");
        call.starts_with("__membar_") || call.starts_with("__tsan_") && !call.starts_with("__tsan_func_")
    };
    !lines.iter().any(|line| announces(&line)) && lines.iter().any(|line| touches_memory(line))
}

/// Whether an instruction has an operand in memory that may be shared.
fn touches_memory(line: &str) -> bool {
    let text = line.trim_start();
    if text.starts_with(['.', '#']) || text.starts_with("lea") || text.starts_with("nop") || !text.contains('(') {
        return false;
    }
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('(') {
        let (registers, after) = inside.split_once(')').unwrap_or((inside, ""));
        let symbol = before.rsplit([' ', '\t', ',', '*']).next().unwrap_or("");
        let base = registers.split(',').next().unwrap_or("");
        let stack = base == "%rsp" || base == "%rbp";
        let constant = symbol.starts_with(".L") || symbol.contains('@') || symbol.contains(':');
        if !stack && !constant {
            return true;
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_touches_memory_and_announces_nothing_is_moved() {
        let function = |name: &str, body: &str| {
            format!(
                "\t.globl\t{name}\n\t.type\t{name}, @function\n{name}:\n.LFB0:\n\t.cfi_startproc\n{body}\tret\n\t.cfi_endproc\n.LFE0:\n\t.size\t{name}, .-{name}\n"
            )
        };
        let text = function("f", "\tmovl\t$1, (%rdi)\n")
            + &function("g", "\tcall\t__tsan_write4@PLT\n\tmovl\t$1, (%rdi)\n")
            + &function("h", "\tmovl\t%edi, -4(%rbp)\n\tmovsd\t.LC0(%rip), %xmm0\n\tmovq\tx@GOTPCREL(%rip), %rax\n")
            + &function("i", "\tmovl\tx(%rip), %eax\n");
        let moved = move_out(&text);
        let inside = |name: &str| {
            let at = moved.find(&format!("\n{name}:")).expect("the function");
            moved[..at].matches(".pushsection").count() > moved[..at].matches(".popsection").count()
        };
        assert_eq!(["f", "g", "h", "i"].map(inside), [true, false, false, true]);
        assert_eq!(moved.matches(".pushsection").count(), moved.matches(".popsection").count());
    }
}
