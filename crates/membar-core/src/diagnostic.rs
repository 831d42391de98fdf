//! A fault in the user's input, where it is, and how to fix it: the one form in which all parsers report faults.

use std::fmt::{self, Display};
use std::ops::Range;

/// An error in somebody's input. `Display` shows it in full, on several lines, without a newline at the end.
pub struct Diagnostic<'a> {
    /// The error, in one line.
    pub message: &'a dyn Display,
    /// The file and the place in it, unless no file is involved.
    pub place: Option<Place<'a>>,
    /// Additional information, a line each.
    pub notes: Vec<&'a str>,
    /// How to fix it; empty where nothing can be said.
    pub help: &'a str,
}

/// A place in a file.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The file as it was named by the user.
    pub file: &'a str,
    /// Line, from 1; 0 if the whole file is meant.
    pub line: u64,
    /// Column in characters, from 1; 0 if the whole file is meant.
    pub column: u64,
    /// The line, as far as it helps.
    pub excerpt: Option<&'a Excerpt>,
}

impl Display for Place<'_> {
    /// `file:line:column`, or the file alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.chars().map(harmless).try_for_each(|c| write!(f, "{c}"))?;
        if self.line == 0 { Ok(()) } else { write!(f, ":{}:{}", self.line, self.column) }
    }
}

/// A place in a text, with the part of its line that is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The file as it was named by the user.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    /// The line around the place.
    pub excerpt: Excerpt,
}

impl Located {
    /// The place of a byte range of `text`. A range that ends on a later line is cut at the end of its first line.
    pub fn new(file: &str, text: &str, span: Range<usize>) -> Located {
        let bytes = text.as_bytes();
        let start = span.start.min(bytes.len());
        let line_start = bytes[..start].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line_end = bytes[start..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| start + at);
        let length = bytes[line_start..line_end].trim_ascii_end().len().max(start - line_start);
        let line = &bytes[line_start..line_start + length];
        let end = span.end.clamp(start, line_start + length);
        Located {
            file: file.to_owned(),
            line: bytes[..start].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1,
            column: columns(&bytes[line_start..start]) + 1,
            excerpt: Excerpt::new(line, start - line_start..end - line_start),
        }
    }

    /// The same, borrowed.
    pub fn place(&self) -> Place<'_> {
        Place { file: &self.file, line: self.line, column: self.column, excerpt: Some(&self.excerpt) }
    }
}

impl Display for Diagnostic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        let margin = match &self.place {
            None => String::new(),
            Some(place) => " ".repeat(place.line.checked_ilog10().unwrap_or(0) as usize + 1),
        };
        if let Some(place) = &self.place {
            write!(f, "\n{margin}--> {place}")?;
            if let Some(excerpt) = place.excerpt {
                write!(f, "\n{margin} |\n{}", format!("{} | {}", place.line, excerpt.text).trim_end())?;
                write!(f, "\n{margin} | {}{}", " ".repeat(excerpt.caret), "^".repeat(excerpt.width))?;
            }
        }
        self.notes.iter().try_for_each(|note| write!(f, "\n{margin} = {note}"))?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "\n{margin} = help: {}", self.help) }
    }
}

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
