//! Errors in profiles, and their display.

use membar_core::{Diagnostic, Located};
use std::fmt;

/// Why a profile cannot be used. `Display` shows it in full, in several lines, without a newline at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileError {
    /// Which setting, such as `size.threads`; empty where it is not about one setting.
    pub key: String,
    /// The error, in one line.
    pub message: String,
    /// Where, unless no file is involved.
    pub place: Option<Box<Located>>,
    /// Additional information.
    pub notes: Vec<String>,
    /// How to fix it.
    pub help: Option<String>,
}

impl ProfileError {
    pub(super) fn new(key: &str, message: impl Into<String>) -> ProfileError {
        ProfileError { key: key.to_owned(), message: message.into(), place: None, notes: Vec::new(), help: None }
    }

    pub(super) fn at_key(table: &str, key: &str, message: String) -> ProfileError {
        ProfileError::new(&if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }, message)
    }

    pub(super) fn at(mut self, place: Located) -> ProfileError {
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
        let place = self.place.as_deref().map(Located::place);
        let notes = self.notes.iter().map(String::as_str).collect();
        Diagnostic { message: &self.message, place, notes, help: self.help.as_deref().unwrap_or_default() }.fmt(f)
    }
}
