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
        if !self.files.contains_key(file) {
            if self.files.len() >= KEPT {
                self.files.clear();
            }
            self.files.insert(file.into(), Text::read(file).map(Arc::new));
        }
        self.files.get(file)?.as_ref()?.line(line)
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

    fn line(&self, line: u32) -> Option<String> {
        let index = line.checked_sub(1)? as usize;
        let start = *self.lines.get(index)? as usize;
        let end = self.lines.get(index + 1).map_or(self.bytes.len(), |next| *next as usize);
        let text = String::from_utf8_lossy(self.bytes.get(start..end)?);
        let text = text.trim();
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        let mut shown: String = text.chars().take(LONGEST).map(clean).collect();
        if text.chars().nth(LONGEST).is_some() {
            shown.push('…');
        }
        Some(shown)
    }
}

/// The trimmed text of a line of a file, from a cache that the whole process shares.
pub fn source_line(file: &str, line: u32) -> Option<String> {
    cached_line(Path::new(file), line)
}

pub(super) fn cached_line(file: &Path, line: u32) -> Option<String> {
    static CACHE: OnceLock<Mutex<SourceFiles>> = OnceLock::new();
    let cache = CACHE.get_or_init(Mutex::default);
    // The cache is whole between any two statements, so that a panic elsewhere does not spoil it.
    cache.lock().unwrap_or_else(PoisonError::into_inner).line(file, line)
}

#[cfg(test)]
mod tests {
    use super::*;

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
