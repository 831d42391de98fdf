//! Pieces of somebody's input, fit for a terminal: what error messages show.

use std::fmt::{self, Write};
use std::ops::Range;

/// Part of a line, fit for a terminal: control characters, characters that change the direction of writing, and bytes
/// that are not UTF-8 are shown as `U+FFFD`, tabs as spaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excerpt {
    /// The text, at most about a hundred characters; `…` stands where the line continues.
    pub text: String,
    /// How many characters of `text` come before the fault.
    pub caret: usize,
    /// How many characters are at fault, at least one.
    pub width: usize,
}

impl Excerpt {
    const BEFORE: usize = 60;
    const AFTER: usize = 40;

    /// The line around the bytes at fault.
    pub fn new(line: &[u8], fault: Range<usize>) -> Excerpt {
        let at = fault.start.min(line.len());
        // Four bytes hold any character, and one more tells whether the line continues.
        let mut from = at.saturating_sub(4 * (Self::BEFORE + 1));
        while from > 0 && from < at && line[from] & 0xC0 == 0x80 {
            from += 1;
        }
        let to = line.len().min(at + 4 * (Self::AFTER + 1));
        let mut before: Vec<char> = lossy(&line[from..at]).collect();
        let mut after: Vec<char> = lossy(&line[at..to]).collect();
        if before.len() > Self::BEFORE {
            before.drain(..before.len() - Self::BEFORE);
            before[0] = '…';
        }
        if after.len() > Self::AFTER {
            after.truncate(Self::AFTER);
            after[Self::AFTER - 1] = '…';
        }
        let marked = columns(&line[at..fault.end.clamp(at, to)]);
        let text: String = before.iter().chain(&after).collect();
        Excerpt {
            text: text.trim_end().to_owned(),
            caret: before.len(),
            width: (marked as usize).clamp(1, after.len().max(1)),
        }
    }

    /// Writes the excerpt of this line with carets below the fault, behind a margin.
    pub fn write(&self, line: u64, margin: &str, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "{margin} |")?;
        writeln!(out, "{}", format!("{line} | {}", self.text).trim_end())?;
        writeln!(out, "{margin} | {}{}", " ".repeat(self.caret), "^".repeat(self.width))
    }
}

/// Number of characters, where each run of bytes that is not a character counts as one.
pub fn columns(bytes: &[u8]) -> u64 {
    bytes.utf8_chunks().map(|chunk| chunk.valid().chars().count() as u64 + u64::from(!chunk.invalid().is_empty())).sum()
}

/// The characters of the input, each fit for a terminal.
pub fn lossy(bytes: &[u8]) -> impl Iterator<Item = char> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let invalid = (!chunk.invalid().is_empty()).then_some('\u{FFFD}');
        chunk.valid().chars().map(harmless).chain(invalid)
    })
}

/// The character, or what is shown in its place: nothing that a terminal would obey or that changes the direction of
/// writing.
pub fn harmless(c: char) -> char {
    match c {
        '\t' => ' ',
        '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' => '\u{FFFD}',
        c if c.is_control() => '\u{FFFD}',
        c => c,
    }
}
