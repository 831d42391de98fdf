//! Commit logs of Spike (`spike --log-commits`), and of cores that print the same.
//!
//! ```text
//! core   0: 3 0x0000000080000010 (0x0005a503) x10 0x0000000000000001 mem 0x0000000080002000
//! core   0: 3 0x0000000080000014 (0x00b52023) mem 0x0000000080002000 0x0000002a
//! ```
//!
//! Older versions leave out `core   0:` and write `x 5`. Lines of `-l` (disassembly, exceptions, symbols) may stand between.

use crate::op::{Log, hex, number, span};
use crate::riscv::{CSR, FLOAT, Reg};
use crate::stream::{Step, Stream};

/// Reads a log.
pub fn read(text: &str) -> Log {
    let (mut log, mut stream) = (Log::one(true), Stream::default());
    for (line, at) in text.lines().zip(1..) {
        if noise(line) {
            continue;
        }
        let done = match parse(line, at) {
            Ok(step) => stream.step(&step, &mut log).map_err(|reason| (0..line.len(), reason)),
            Err(error) => Err(error),
        };
        if let Err((place, reason)) = done {
            log.problem(at, place, reason, "");
        }
    }
    log
}

/// Is it a line that says nothing about a committed instruction?
fn noise(line: &str) -> bool {
    let rest = line.trim();
    let rest = match rest.strip_prefix("core").and_then(|rest| rest.split_once(':')) {
        Some((_, rest)) => rest.trim_start(),
        None => rest,
    };
    // With -l each instruction is also disassembled: no privilege level before its address.
    let disassembly = rest.starts_with("0x") && rest.contains('(');
    rest.is_empty()
        || rest.starts_with('#')
        || rest.starts_with(">>>>")
        || rest.starts_with("exception ")
        || rest.starts_with("tval ")
        || disassembly
}

type Bad = (std::ops::Range<usize>, String);

fn parse(line: &str, at: u64) -> Result<Step, Bad> {
    let mut words = line.split_whitespace().peekable();
    let whole = |reason: &str| (0..line.len(), reason.to_owned());
    let bad = |word: &str, reason: String| (span(line, word), reason);
    let mut step = Step { line: at, shows_memory: true, ..Step::default() };
    if words.peek() == Some(&"core") {
        words.next();
        let hart = words.next().ok_or_else(|| whole("the hart is missing"))?;
        let digits = hart.strip_suffix(':').unwrap_or(hart);
        step.hart = digits.parse().map_err(|_| bad(hart, format!("`{hart}` is not the number of a hart")))?;
    }
    let expected = "expected a line of a commit log: `core   0: 3 0x80000000 (0x00000297) x5 0x80000000`";
    let privilege = words.next().ok_or_else(|| whole(expected))?;
    if privilege.parse::<u8>().is_err() {
        return Err(bad(privilege, expected.to_owned()));
    }
    let pc = words.next().ok_or_else(|| whole(expected))?;
    step.pc = pc.strip_prefix("0x").and_then(hex).ok_or_else(|| bad(pc, expected.to_owned()))?;
    step.rv32 = pc.len() == 10;
    let word = words.next().ok_or_else(|| whole(expected))?;
    let inside = word.strip_prefix("(0x").and_then(|word| word.strip_suffix(')'));
    let value = inside.and_then(hex).and_then(|value| u32::try_from(value).ok());
    step.word = value.ok_or_else(|| bad(word, format!("`{word}` is not an instruction of at most 32 bits")))?;
    rest(line, &mut words, &mut step)?;
    Ok(step)
}

/// The registers and the memory behind an instruction.
fn rest<'a>(
    line: &str,
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    step: &mut Step,
) -> Result<(), Bad> {
    let bad = |word: &str, reason: String| (span(line, word), reason);
    while let Some(word) = words.next() {
        match word {
            "mem" => {
                let address = take(line, word, "the address", words)?;
                match words.next_if(|next| next.starts_with("0x")) {
                    None => step.accessed.push(address),
                    Some(value) => {
                        let stored =
                            number(value).ok_or_else(|| bad(value, format!("`{value}` does not fit into 64 bits")))?;
                        step.stored.push((address, stored));
                    }
                }
            }
            // The number of the register may stand apart: `x 5`.
            "x" | "f" => {
                let number = words.next().unwrap_or_default();
                let register =
                    register(&format!("{word}{number}")).ok_or_else(|| bad(word, "which register?".into()))?;
                let value = words.next().and_then(crate::op::number);
                step.writes.push((register, value.ok_or_else(|| bad(word, "the value is missing".into()))?));
            }
            _ if word.starts_with('v') && words.peek().is_some_and(|next| next.starts_with("0x")) => {
                words.next();
            }
            // Vector settings before a vector register: `e8 m1 l16`.
            _ if word.starts_with(['e', 'm', 'l'])
                && word[1..].bytes().all(|byte| byte.is_ascii_digit() || byte == b'f') => {}
            _ => match register(word) {
                Some(register) => step.writes.push((register, take(line, word, "the value", words)?)),
                None => return Err(bad(word, format!("`{word}` is not a register, `mem` or a value"))),
            },
        }
    }
    Ok(())
}

/// The number that follows a word.
fn take<'a>(
    line: &str,
    word: &str,
    what: &str,
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<u64, Bad> {
    let value = words.next_if(|next| next.starts_with("0x"));
    let value = value.ok_or_else(|| (span(line, word), format!("{what} is missing")))?;
    number(value).ok_or_else(|| (span(line, value), format!("`{value}` does not fit into 64 bits")))
}

/// `x5`, `f3`, `c768_mstatus`, `c768`.
pub fn register(word: &str) -> Option<Reg> {
    let mut chars = word.chars();
    let kind = chars.next()?;
    let digits = chars.as_str().split('_').next()?;
    let number: Reg = digits.parse().ok()?;
    match kind {
        'x' if number < 32 => Some(number),
        'f' if number < 32 => Some(FLOAT + number),
        'c' if number < 4096 => Some(CSR + number),
        _ => None,
    }
}
