//! Functions of the program's own sources that are told not to be instrumented (`no_sanitize_thread`).
//!
//! Problem: the compiler leaves them alone, and nothing in the assembly says so. They are uninstrumented code like
//! that of others, and must not be on the pages of code that is (`link.rs`).
//!
//! Algorithm: only where the sources mention the attribute. Each function is then compiled to a section of its own (debug
//! information may otherwise count on all functions of a file being in one). A function without any call that announces an
//! access, but with an operand in memory that is neither on its stack nor a constant, gets a section of another name.
//!
//! Guarantees: a function that is moved for no reason is run all the same; each call of it takes longer.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What makes the compiler give each function a section.
pub(super) const FLAG: &str = "-ffunction-sections";
/// What such sections begin with, and what they begin with after the move: the linker leaves them outside of instrumented code.
const TEXT: &str = ".text.";
const OPAQUE: &str = ".opaque.";
/// How attributes are spelt.
const WORDS: &[&str] = &["no_sanitize", "disable_sanitizer_instrumentation"];
/// Files that are examined.
const MOST: usize = 256;

/// Whether a source, or what it includes by name from beside it, mentions the attribute.
pub(super) fn mentions(source: &Path) -> bool {
    let mut queue: Vec<PathBuf> = vec![source.to_owned()];
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
    let mut lines: Vec<Cow<'_, str>> = text.lines().map(Cow::from).collect();
    let mut section = None;
    let mut at = 0;
    while at < lines.len() {
        if is_section(&lines[at]) {
            section = Some(at);
        } else if let (Some(start), Some(len)) = (section, function(&lines[at..])) {
            if is_opaque(&lines[at..at + len]) {
                for line in lines[start..at + len].iter_mut().filter(|line| is_section(line)) {
                    *line = line.replacen(TEXT, OPAQUE, 1).into();
                }
            }
            section = None;
            at += len - 1;
        }
        at += 1;
    }
    lines.iter().flat_map(|line| [&**line, "\n"]).collect()
}

/// Whether a section of a function begins here.
fn is_section(line: &str) -> bool {
    let name = line.trim_start().strip_prefix(".section").map(str::trim_start);
    name.is_some_and(|name| name.trim_start_matches('"').starts_with(TEXT))
}

/// The lines of a function that begins with the first of these, its size included.
fn function(lines: &[Cow<'_, str>]) -> Option<usize> {
    let name = lines.first()?.split_once(':').map(|(name, _)| name)?;
    if name.is_empty() || name.starts_with([' ', '\t', '.', '#']) {
        return None;
    }
    if !lines.iter().take(8).any(|line| line.trim_start().starts_with(".cfi_startproc")) {
        return None;
    }
    let is_size = |line: &str| {
        let rest = line.trim_start().strip_prefix(".size");
        rest.is_some_and(|rest| rest.trim_start().split(',').next() == Some(name))
    };
    Some(lines.iter().position(|line| is_size(line))? + 1)
}

fn is_opaque(lines: &[Cow<'_, str>]) -> bool {
    let announces = |line: &str| {
        let call = line.split_whitespace().nth(1).unwrap_or("");
        call.starts_with("__membar_") || call.starts_with("__tsan_") && !call.starts_with("__tsan_func_")
    };
    !lines.iter().any(|line| announces(line)) && lines.iter().any(|line| touches_memory(line))
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
                "\t.section\t.text.{name},\"ax\",@progbits\n\t.globl\t{name}\n\t.type\t{name}, @function\n{name}:\n\
                 .LFB0:\n\t.cfi_startproc\n{body}\tret\n\t.cfi_endproc\n.LFE0:\n\t.size\t{name}, .-{name}\n"
            )
        };
        let text = function("f", "\tmovl\t$1, (%rdi)\n")
            + &function("g", "\tcall\t__tsan_write4@PLT\n\tmovl\t$1, (%rdi)\n")
            + &function("h", "\tmovl\t%edi, -4(%rbp)\n\tmovsd\t.LC0(%rip), %xmm0\n\tmovq\tx@GOTPCREL(%rip), %rax\n")
            + &function("i", "\tmovl\tx(%rip), %eax\n");
        let moved = move_out(&text);
        let inside = |name: &str| moved.contains(&format!("\t.section\t.opaque.{name},"));
        assert_eq!(["f", "g", "h", "i"].map(inside), [true, false, false, true]);
        assert_eq!(moved.matches(".section").count(), 4);
    }
}
