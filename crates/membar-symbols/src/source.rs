//! The text of source lines, for reports.
//!
//! # Guarantees
//!
//! A file is read at most once, and only if it is a regular file of at most [`LARGEST`] bytes. The text contains no
//! control characters, so that a hostile file cannot steer the terminal, and is at most [`LONGEST`] characters long.

use rustc_hash::FxHashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The largest file that is read.
const LARGEST: u64 = 16 << 20;
/// The longest line that is shown in full.
const LONGEST: usize = 240;
/// The longest line that is shown although only a part of it is meant.
const LONG: usize = 44;
/// How many files are kept; a program that was built from more pays for reading the others again.
const KEPT: usize = 256;

/// Source files that were read, and those that could not be.
#[derive(Debug, Default)]
pub struct SourceFiles {
    files: FxHashMap<Box<Path>, Option<Arc<Text>>>,
}

#[derive(Debug)]
struct Text {
    bytes: Vec<u8>,
    /// Where each line begins.
    lines: Vec<u32>,
}

impl SourceFiles {
    /// The trimmed text of a line, counted from 1. `None` if there is no such file or line.
    pub fn line(&mut self, file: &Path, line: u32) -> Option<String> {
        self.statement(file, line, 0)
    }

    /// The same; of a long line only the statement at this column, if that is not 0.
    pub fn statement(&mut self, file: &Path, line: u32, column: u32) -> Option<String> {
        if !self.files.contains_key(file) {
            if self.files.len() >= KEPT {
                self.files.clear();
            }
            self.files.insert(file.into(), Text::read(file).map(Arc::new));
        }
        self.files.get(file)?.as_ref()?.line(line, column)
    }
}

impl Text {
    fn read(file: &Path) -> Option<Text> {
        // A pipe or a device could block or never end.
        let about = fs::metadata(file).ok()?;
        if !about.is_file() || about.len() > LARGEST {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(file).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
        let after = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at as u32 + 1);
        let lines = std::iter::once(0).chain(after).collect();
        Some(Text { bytes, lines })
    }

    fn line(&self, line: u32, column: u32) -> Option<String> {
        let index = line.checked_sub(1)? as usize;
        let start = *self.lines.get(index)? as usize;
        let end = self.lines.get(index + 1).map_or(self.bytes.len(), |next| *next as usize);
        let text = String::from_utf8_lossy(self.bytes.get(start..end)?);
        let text = if text.trim().chars().count() > LONG { statement(&text, column) } else { &text }.trim();
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        let mut shown: String = text.chars().take(LONGEST).map(clean).collect();
        if text.chars().nth(LONGEST).is_some() {
            shown.push('…');
        }
        Some(shown)
    }
}

/// The statement at a column, in bytes from 1: the text between the nearest `;`, `{` and `}` that are not within
/// parentheses of their block. All of the line if the column is 0.
fn statement(line: &str, column: u32) -> &str {
    let Some(at) = (column as usize).checked_sub(1).filter(|at| *at < line.len()) else { return line };
    let (mut start, mut depth, mut blocks) = (0, 0, Vec::new());
    let mut quote = None;
    for (i, byte) in line.bytes().enumerate() {
        match (byte, quote) {
            (byte, Some(open)) => quote = Some(open).filter(|open| *open != byte),
            (b'"', None) => quote = Some(byte),
            (b'(', _) => depth += 1,
            (b')', _) => depth -= 1,
            (b'{' | b'}' | b';', _) if byte != b';' || depth == blocks.last().copied().unwrap_or(0) => {
                if i >= at {
                    return &line[start..i + usize::from(byte == b';')];
                }
                start = i + 1;
                match byte {
                    b'{' => blocks.push(depth),
                    b'}' => depth = blocks.pop().unwrap_or(0),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    &line[start..]
}

/// The trimmed text of a line of a file, from a cache that the whole process shares.
pub fn source_line(file: &str, line: u32) -> Option<String> {
    cached_line(Path::new(file), line)
}

pub(crate) fn cached_line(file: &Path, line: u32) -> Option<String> {
    cached_statement(file, line, 0)
}

pub(crate) fn cached_statement(file: &Path, line: u32, column: u32) -> Option<String> {
    static CACHE: OnceLock<Mutex<SourceFiles>> = OnceLock::new();
    let cache = CACHE.get_or_init(Mutex::default);
    // The cache is whole between any two statements, so that a panic elsewhere does not spoil it.
    cache.lock().unwrap_or_else(PoisonError::into_inner).statement(file, line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_line_the_statement_at_the_column() {
        let line = "    std::thread t1([&] { x = 1; a = y; }), t2([&] { for (;;) f(\"}\", y); b = x; });\n";
        let at = |what: &str| statement(line, line.find(what).unwrap() as u32 + 1).trim();
        assert_eq!((at("= 1"), at("= y"), at("= x")), ("x = 1;", "a = y;", "b = x;"));
        assert_eq!((at("f("), at("t1"), at(", t2")), ("for (;;) f(\"}\", y);", "std::thread t1([&]", "), t2([&]"));
        assert_eq!((statement(line, 0), statement(line, 500)), (line, line));
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.c");
        fs::write(&file, format!("x = 1; y = 2;\n{line}")).unwrap();
        let mut files = SourceFiles::default();
        assert_eq!(files.statement(&file, 1, 8).as_deref(), Some("x = 1; y = 2;"));
        assert_eq!(files.statement(&file, 2, 28).as_deref(), Some("x = 1;"));
    }

    #[test]
    fn lines_are_trimmed_cleaned_and_cut() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.c");
        fs::write(&file, format!("first\n\t x = 1;\x1b[31m \r\n\n{}\nlast", "y".repeat(500))).unwrap();
        let mut files = SourceFiles::default();
        assert_eq!(files.line(&file, 0), None);
        assert_eq!(files.line(&file, 1).as_deref(), Some("first"));
        assert_eq!(files.line(&file, 2).as_deref(), Some("x = 1; [31m"));
        assert_eq!(files.line(&file, 3).as_deref(), Some(""));
        assert_eq!(files.line(&file, 4).unwrap().chars().count(), LONGEST + 1);
        assert_eq!(files.line(&file, 5).as_deref(), Some("last"));
        assert_eq!(files.line(&file, 6), None);
        assert_eq!(files.line(dir.path(), 1), None);
        assert_eq!(source_line("/no/such/file.c", 1), None);
    }
}
