//! Errors in litmus tests, as values.

use crate::states::Model;
use crate::test::Arch;
use membar_core::{Diagnostic, Excerpt, Place, columns, harmless};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The error. The display form is the message, without the place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The source of a program.
    #[error("this is the source of a program, not a litmus test")]
    NotLitmus,
    /// A test in assembly, for a model that is about memory orders.
    #[error("assembly has no memory orders, and c11 is about them")]
    NoOrders,
    /// A model that says nothing about tests of this dialect.
    #[error("{model} says nothing about tests in {arch}")]
    WrongModel {
        /// The model.
        model: Model,
        /// The dialect.
        arch: Arch,
    },
    /// A test that is not run, for something that runs tests.
    #[error("tests in {arch} are not run step by step: their executions are enumerated")]
    NotRun {
        /// The dialect.
        arch: Arch,
    },
    /// The text does not follow the grammar.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// The text that was expected.
        expected: &'static str,
        /// The text there.
        found: String,
        /// The fix.
        help: &'static str,
    },
    /// A dialect, instruction, function or type that exists, but not here.
    #[error("unsupported {what} `{text}`")]
    Unsupported {
        /// The kind of thing it is.
        what: &'static str,
        /// As written.
        text: String,
        /// The fix, or the reason.
        help: &'static str,
    },
    /// A name that stands for nothing.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// The kind of thing that was searched for.
        what: &'static str,
        /// As written.
        name: String,
        /// The fix.
        help: &'static str,
    },
    /// A name that is given twice.
    #[error("{what} `{name}` is defined twice")]
    Twice {
        /// The kind of thing.
        what: &'static str,
        /// As written.
        name: String,
    },
    /// One location, two sizes.
    #[error("`{cell}` has {has} bits, but this access has {access}")]
    MixedSize {
        /// The location.
        cell: String,
        /// Its size.
        has: u8,
        /// The size of the access.
        access: u8,
    },
    /// Operands that an instruction or function cannot have.
    #[error("`{text}` cannot have these operands")]
    Operands {
        /// The instruction.
        text: String,
        /// The fix.
        help: &'static str,
    },
    /// A number that does not fit.
    #[error("{what} {text} is too large")]
    TooLarge {
        /// The number's meaning.
        what: &'static str,
        /// As written.
        text: String,
        /// The largest possible, in words.
        help: &'static str,
    },
    /// More of something than we deal with.
    #[error("more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The most there can be.
        limit: usize,
    },
    /// Bytes that are not UTF-8.
    #[error("the file is not valid UTF-8")]
    InvalidUtf8,
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Read(#[source] std::io::Error),
}

impl ErrorKind {
    /// The fix, in a few words.
    pub fn help(&self) -> Cow<'static, str> {
        match self {
            ErrorKind::NotLitmus => {
                "`membar verify` takes C and C++ programs; final states are for litmus tests".into()
            }
            ErrorKind::NoOrders => "write the test in C, or take sc, tso or pso".into(),
            ErrorKind::WrongModel { arch, .. } => {
                let names: Vec<&str> = Model::of(*arch).iter().map(|model| model.name()).collect();
                format!("the models for {arch} are {}", names.join(", ")).into()
            }
            ErrorKind::NotRun { .. } => {
                "`membar litmus` lists the final states, `membar verify` says whether all are sequentially consistent"
                    .into()
            }
            ErrorKind::Syntax { help, .. }
            | ErrorKind::Unsupported { help, .. }
            | ErrorKind::Unknown { help, .. }
            | ErrorKind::Operands { help, .. }
            | ErrorKind::TooLarge { help, .. } => Cow::Borrowed(help),
            ErrorKind::Twice { what, .. } => format!("give each {what} once").into(),
            ErrorKind::MixedSize { .. } => {
                "every access to a location must have the size of the location: declare its type in the first section, \
                 or use another size suffix"
                    .into()
            }
            ErrorKind::TooMany { .. } => "make the test smaller".into(),
            ErrorKind::InvalidUtf8 => "litmus tests are UTF-8 text; is this another kind of file?".into(),
            ErrorKind::Read(_) => "check the path and its permissions".into(),
        }
    }
}

/// An error in a stretch of the text.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) span: Range<usize>,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, span: Range<usize>) -> Fault {
        Fault { kind, span }
    }

    pub(crate) fn unsupported(what: &'static str, text: &str, help: &'static str, span: Range<usize>) -> Fault {
        Fault::new(ErrorKind::Unsupported { what, text: quoted(text), help }, span)
    }

    pub(crate) fn unknown(what: &'static str, name: &str, help: &'static str, span: Range<usize>) -> Fault {
        Fault::new(ErrorKind::Unknown { what, name: quoted(name), help }, span)
    }

    /// Gives the fault its place in the file.
    pub(crate) fn at(self, file: &str, text: &[u8]) -> Error {
        let start = self.span.start.min(text.len());
        let line_start = text[..start].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let line_end = text[start..].iter().position(|&b| b == b'\n').map_or(text.len(), |at| start + at);
        let line = &text[line_start..line_end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let number = 1 + text[..start].iter().filter(|&&b| b == b'\n').count();
        let at = (start - line_start).min(line.len());
        let end = (self.span.end.max(start) - line_start).min(line.len());
        Error {
            kind: Box::new(self.kind),
            file: file.to_owned(),
            line: number,
            column: columns(&line[..at]) as usize + 1,
            excerpt: Some(Box::new(Excerpt::new(line, at..end))),
        }
    }
}

pub(crate) type Parsed<T> = Result<T, Fault>;

/// A few words of the input, fit for a message.
pub(crate) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().map(harmless).take(40).collect();
    if text.chars().nth(40).is_some() {
        short.push('…');
    }
    short
}

/// The error and its place.
#[derive(Debug)]
pub struct Error {
    /// The kind of error.
    pub kind: Box<ErrorKind>,
    /// The file as it was named by the user.
    pub file: String,
    /// Line, from 1; 0 if the whole file is meant.
    pub line: usize,
    /// Column in characters, from 1; 0 if the whole file is meant.
    pub column: usize,
    /// The line, as far as it helps.
    pub excerpt: Option<Box<Excerpt>>,
}

impl Error {
    /// A fault of the file as a whole.
    pub fn whole_file(kind: ErrorKind, file: &str) -> Error {
        Error { kind: Box::new(kind), file: file.to_owned(), line: 0, column: 0, excerpt: None }
    }

    /// `file:line:column`, or the file alone.
    pub fn place(&self) -> Place<'_> {
        let (line, column) = (self.line as u64, self.column as u64);
        Place { file: &self.file, line, column, excerpt: self.excerpt.as_deref() }
    }

    /// File, line, column (both `null` if the whole file is meant), message and fix, machine-readable.
    pub fn json(&self) -> serde_json::Value {
        let number = |number: usize| (number > 0).then_some(number);
        serde_json::json!({
            "file": self.file,
            "line": number(self.line),
            "column": number(self.column),
            "message": self.kind.to_string(),
            "help": self.kind.help(),
        })
    }

    /// Message, place, excerpt and fix on several lines, for people.
    pub fn render(&self) -> String {
        let place = Some(self.place());
        format!("{}\n", Diagnostic { message: &self.kind, place, notes: Vec::new(), help: &self.kind.help() })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.kind)
    }
}
