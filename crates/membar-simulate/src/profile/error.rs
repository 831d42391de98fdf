//! Errors in profiles, and their display.

use membar_core::{Excerpt, columns, harmless};
use std::fmt;
use std::ops::Range;

/// A place in a profile's file, with what is needed to show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    excerpt: Excerpt,
}

impl Place {
    pub(super) fn new(file: &str, text: &str, span: Range<usize>) -> Place {
        let bytes = text.as_bytes();
        let start = span.start.min(bytes.len());
        let line_start = bytes[..start].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line_end = bytes[start..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| start + at);
        let line = bytes[line_start..line_end].trim_ascii_end();
        let end = span.end.clamp(start, line_start + line.len().max(start - line_start));
        Place {
            file: file.chars().map(harmless).collect(),
            line: bytes[..start].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1,
            column: columns(&bytes[line_start..start]) + 1,
            excerpt: Excerpt::new(line, start - line_start..end - line_start),
        }
    }
}

/// Why a profile cannot be used. `Display` shows it in full, in several lines, without a newline at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileError {
    /// Which setting, such as `size.threads`; empty where it is none in particular.
    pub key: String,
    /// The error, in one line.
    pub message: String,
    /// Where, unless no file is involved.
    pub place: Option<Box<Place>>,
    /// Additional information.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Option<String>,
}

impl ProfileError {
    pub(super) fn new(key: &str, message: impl Into<String>) -> ProfileError {
        ProfileError { key: key.to_owned(), message: message.into(), place: None, notes: Vec::new(), help: None }
    }

    pub(super) fn at_key(table: &str, key: &str, message: String) -> ProfileError {
        ProfileError::new(&if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }, message)
    }

    pub(super) fn at(mut self, place: Place) -> ProfileError {
        self.place = Some(Box::new(place));
        self
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> ProfileError {
        self.notes.push(note.into());
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> ProfileError {
        self.help = Some(help.into());
        self
    }
}

impl std::error::Error for ProfileError {}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        let mut margin = String::new();
        if let Some(place) = &self.place {
            margin = " ".repeat(place.line.to_string().len());
            write!(f, "\n{margin}--> {}:{}:{}\n", place.file, place.line, place.column)?;
            let mut excerpt = String::new();
            place.excerpt.write(place.line, &margin, &mut excerpt)?;
            f.write_str(excerpt.trim_end())?;
        }
        for note in &self.notes {
            write!(f, "\n{margin} = {note}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n{margin} = help: {help}")?;
        }
        Ok(())
    }
}
