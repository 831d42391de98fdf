//! Errors in model files, and their display.

use membar_core::{Diagnostic, Located};
use std::fmt;

/// The kind of a [`ModelError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ErrorKind {
    /// Not TOML.
    Syntax,
    /// A key or table is given twice, or a pair of kinds by two keys of which neither is more specific.
    DuplicateKey,
    /// A key that model files do not have.
    UnknownKey,
    /// A required key is not there.
    MissingKey,
    /// A value of the wrong type.
    WrongType,
    /// A word that is not a condition or no pair.
    UnknownWord,
    /// A condition where it means nothing.
    Misplaced,
    /// A word is listed twice.
    RepeatedWord,
    /// A list without entries.
    EmptyList,
    /// Settings that do not fit together.
    Contradiction,
    /// A name that is not made of `a-z`, `0-9`, `-` and `_`.
    BadName,
    /// A name that belongs to a built-in model that says something else.
    TakenName,
    /// Neither a built-in model nor the path of a model file.
    UnknownModel,
    /// The file cannot be read.
    Unreadable,
}

/// The line, from 1, on which this byte is.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..floor_boundary(text, at)].matches('\n').count() + 1
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Why a model cannot be used. `Display` shows it in full, in several lines, without a newline at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelError {
    /// The error, machine-readable.
    pub kind: ErrorKind,
    /// The error, in one line.
    pub message: String,
    /// Where, unless no file is involved.
    pub place: Option<Box<Located>>,
    /// Additional information, such as the other half of a contradiction.
    pub notes: Vec<String>,
    /// How to fix it.
    pub help: Option<String>,
}

impl ModelError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> ModelError {
        ModelError { kind, message: message.into(), place: None, notes: Vec::new(), help: None }
    }

    pub(crate) fn at(mut self, place: Located) -> ModelError {
        self.place = Some(Box::new(place));
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> ModelError {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> ModelError {
        self.help = Some(help.into());
        self
    }
}

impl std::error::Error for ModelError {}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.as_deref().map(Located::place);
        let notes = self.notes.iter().map(String::as_str).collect();
        Diagnostic { message: &self.message, place, notes, help: self.help.as_deref().unwrap_or_default() }.fmt(f)
    }
}
