//! Errors in model files, and their display.

use std::fmt;
use std::ops::Range;

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

/// A place in a model file, with what is needed to show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// How many characters are meant; at least 1.
    pub width: usize,
    /// The line's text.
    pub text: String,
}

impl Place {
    /// The place of a byte range of `text`. A range that ends on a later line is cut at the end of its first line.
    pub(crate) fn new(file: &str, text: &str, span: Range<usize>) -> Place {
        let start = floor_boundary(text, span.start);
        let end = floor_boundary(text, span.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        Place {
            file: file.to_owned(),
            line: line_of(text, start),
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end.min(line_end)].trim_end().chars().count().max(1),
            text: text[line_start..line_end].trim_end_matches('\r').to_owned(),
        }
    }
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
    pub place: Option<Box<Place>>,
    /// Additional information, such as the other half of a contradiction.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Option<String>,
}

impl ModelError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> ModelError {
        ModelError { kind, message: message.into(), place: None, notes: Vec::new(), help: None }
    }

    pub(crate) fn at(mut self, place: Place) -> ModelError {
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

/// A longer source line is shown in part.
const SHOWN: usize = 100;

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        let mut margin = 0;
        if let Some(place) = &self.place {
            let number = place.line.to_string();
            margin = number.len();
            let file: String = place.file.chars().map(printable).collect();
            write!(f, "\n{:margin$}--> {}:{}:{}", "", file, place.line, place.column)?;
            let (text, caret, width) = window(place);
            write!(f, "\n{:margin$} |\n{}", "", format!("{number} | {text}").trim_end())?;
            write!(f, "\n{:margin$} | {:caret$}{}", "", "", "^".repeat(width))?;
        }
        for note in &self.notes {
            write!(f, "\n{:margin$} = {note}", "")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n{:margin$} = help: {help}", "")?;
        }
        Ok(())
    }
}

/// The part of the line to show, how far right the caret goes, and how wide it is.
fn window(place: &Place) -> (String, usize, usize) {
    let length = place.text.chars().count();
    let caret = place.column - 1;
    let first = if length <= SHOWN || caret < SHOWN / 2 { 0 } else { caret - SHOWN / 2 };
    let mut shown: String = place.text.chars().skip(first).take(SHOWN).map(printable).collect();
    let mut caret = caret - first;
    let width = place.width.min((SHOWN + 1).saturating_sub(caret)).max(1);
    if first + SHOWN < length {
        shown.push('…');
    }
    if first > 0 {
        shown.insert(0, '…');
        caret += 1;
    }
    (shown, caret, width)
}

/// One column per character: a tab or an escape sequence would move the caret, or the terminal.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}
