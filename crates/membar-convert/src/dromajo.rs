//! Traces of Dromajo (`dromajo --trace 0`): instructions and the registers they wrote, but no memory.
//!
//! ```text
//! 0 3 0x0000000080000010 (0x0005a503) x10 0x0000000000000001
//! 0 3 0x0000000080000014 (0x00b52023)
//! 0 3 0x0000000080000018 (0x00000073) exception 11, tval 0000000000000000
//! ```
//!
//! Addresses and stored values are computed from the registers, which works as soon as the log has shown the base register being
//! written. Control registers are not shown.

use crate::op::{Log, hex, span};
use crate::spike::register;
use crate::stream::{Step, Stream};

/// Reads a log.
pub fn read(text: &str) -> Log {
    let (mut log, mut stream) = (Log::one(true), Stream::default());
    for (line, at) in text.lines().zip(1..) {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') || trimmed == "Power off." {
            continue;
        }
        let done = match parse(line, at) {
            // An instruction that trapped has accessed nothing.
            Ok(None) => Ok(()),
            Ok(Some(step)) => stream.step(&step, &mut log).map_err(|reason| (0..line.len(), reason)),
            Err(error) => Err(error),
        };
        if let Err((place, reason)) = done {
            let help = if reason.contains("nothing above says") {
                "start the log earlier, where the register is set"
            } else {
                ""
            };
            log.problem(at, place, reason, help);
        }
    }
    log
}

fn parse(line: &str, at: u64) -> Result<Option<Step>, (std::ops::Range<usize>, String)> {
    let expected = "expected `hart privilege 0xPC (0xINSTRUCTION)` and a register with its value";
    let whole = || (0..line.len(), expected.to_owned());
    let bad = |word: &str, reason: String| (span(line, word), reason);
    let mut words = line.split_whitespace();
    let mut next = || words.next().ok_or_else(whole);
    let (hart, privilege, pc, word) = (next()?, next()?, next()?, next()?);
    let mut step = Step { line: at, ..Step::default() };
    step.hart = hart.parse().map_err(|_| bad(hart, expected.to_owned()))?;
    privilege.parse::<u8>().map_err(|_| bad(privilege, expected.to_owned()))?;
    step.pc = pc.strip_prefix("0x").and_then(hex).ok_or_else(|| bad(pc, expected.to_owned()))?;
    let inside = word.strip_prefix("(0x").and_then(|word| word.strip_suffix(')'));
    let value = inside.and_then(hex).and_then(|value| u32::try_from(value).ok());
    step.word = value.ok_or_else(|| bad(word, format!("`{word}` is not an instruction of at most 32 bits")))?;
    let Some(first) = words.next() else { return Ok(Some(step)) };
    if first == "exception" {
        return Ok(None);
    }
    let (named, value) = match first {
        "x" | "f" => (format!("{first}{}", words.next().unwrap_or_default()), words.next()),
        _ => (first.to_owned(), words.next()),
    };
    let register = register(&named).ok_or_else(|| bad(first, format!("`{named}` is not a register")))?;
    let value = value.and_then(|value| value.strip_prefix("0x")).and_then(hex);
    step.writes.push((register, value.ok_or_else(|| bad(first, "the value of the register is missing".into()))?));
    Ok(Some(step))
}
