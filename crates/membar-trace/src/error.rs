//! Errors in trace files, as values.

use crate::input::Compression;
use membar_core::{Diagnostic, Excerpt, Malformed, Place, columns, lossy};
use std::fmt;

/// The error. The display form is the message, without the place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The line does not follow the grammar.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// The text that was expected.
        expected: &'static str,
        /// The text there.
        found: String,
        /// The fix.
        help: &'static str,
    },
    /// Starts like a number but is not one.
    #[error("`{text}` is not a number")]
    NotANumber {
        /// As written.
        text: String,
    },
    /// A number that does not fit.
    #[error("{what} {text} is larger than {max}")]
    TooLarge {
        /// The number's meaning.
        what: &'static str,
        /// As written.
        text: String,
        /// The largest one possible.
        max: u128,
    },
    /// A `membar` mask that does not exist.
    #[error("unknown barrier mask `{text}`")]
    UnknownMask {
        /// As written.
        text: String,
    },
    /// A read-modify-write over two addresses.
    #[error("a read-modify-write reads {read} but writes {write}")]
    RmwTwoAddresses {
        /// The address read.
        read: String,
        /// The address written.
        write: String,
    },
    /// A read-modify-write whose first half writes.
    #[error("a read-modify-write must read before it writes")]
    RmwWritesFirst,
    /// A read-modify-write whose second half reads.
    #[error("the second half of a read-modify-write must write")]
    RmwReadsTwice,
    /// A read-modify-write that is not closed, or by the wrong bracket.
    #[error("expected `{close}` to close `{open}`, found {found}")]
    Unclosed {
        /// The opening bracket
        open: char,
        /// stands in this column.
        column: u64,
        /// The closing bracket that belongs to it.
        close: char,
        /// The text there.
        found: String,
    },
    /// A period that ends before it begins.
    #[error("the operation ends at {end}, before it begins at {begin}")]
    TimeReversed {
        /// Begin as written.
        begin: u64,
        /// End as written.
        end: u64,
    },
    /// A NUL byte, even in a comment.
    #[error("the line holds a NUL byte")]
    Nul,
    /// Bytes that are not UTF-8, even in a comment.
    #[error("the line is not valid UTF-8")]
    InvalidUtf8,
    /// A line that is too long to be kept in memory.
    #[error("the line is longer than {limit} bytes")]
    LineTooLong {
        /// The most that is read.
        limit: usize,
    },
    /// More lines in one trace than operations can be numbered.
    #[error("the trace has more than {limit} lines")]
    TraceTooLong {
        /// The most there can be.
        limit: u64,
    },
    /// An operation that only an interleaving can have.
    #[error("`{word}` is for `membar monitor`, which reads the lines as one interleaving")]
    InterleavedOnly {
        /// `start` or `join`.
        word: &'static str,
    },
    /// A word behind an operation, or an operand of a barrier, that is not known.
    #[error("`{text}` means nothing here")]
    UnknownMark {
        /// The text.
        text: String,
        /// What could stand there.
        help: &'static str,
    },
    /// Marks or dependencies of a barrier or a lock.
    #[error("marks and dependencies are for loads, stores and read-modify-writes")]
    MarkedBarrier,
    /// Pieces of something else than a plain load or store.
    #[error("only a plain load or store may be torn into pieces")]
    TornAtomic,
    /// Marks, reservations or dependencies in an interleaving.
    #[error(
        "marks, reservations, dependencies and parts of words are for `membar check`; an interleaving has no use for them"
    )]
    RecordedOnly,
    /// The lines, one after the other, are not sequentially consistent execution.
    #[error("not a sequentially consistent interleaving: {0}")]
    Interleaving(NotInterleaved),
    /// Each line is right but together they make no sense.
    #[error("{0}")]
    Malformed(Malformed),
    /// Nothing but comments and blank lines, or not even those.
    #[error("no trace in the input")]
    NoTrace,
    /// Operations after the last `check`.
    #[error("expected `check`, found the end of the input")]
    Unterminated {
        /// First line of the trace that does not end.
        first_line: u64,
    },
    /// The file cannot be opened.
    #[error("cannot open the file: {0}")]
    Open(#[source] std::io::Error),
    /// The path is a directory, from which nothing can be read.
    #[error("there is no trace in this directory (.trace or .axe, also .gz and .zst)")]
    Directory,
    /// Reading failed half-way.
    #[error("cannot read: {0}")]
    Read(#[source] std::io::Error),
    /// The compressed data is damaged or cut off.
    #[error("cannot decompress the {format} data: {error}")]
    Decompress {
        /// The format that the first bytes announce.
        format: Compression,
        /// The decompressor's message.
        #[source]
        error: std::io::Error,
    },
}

/// Why the lines are not sequentially consistent execution. Threads are as in the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotInterleaved {
    /// A read returned something else than the value last written.
    #[error("{addr} == {read}, but `{addr}` holds {holds} {}", since(*.line))]
    Read {
        /// The address.
        addr: String,
        /// The value returned.
        read: u64,
        /// Its value.
        holds: u64,
        /// Since this line; 0 is from the beginning.
        line: u64,
    },
    /// A `final` value that is not the last one written.
    #[error("final {addr} == {value}, but `{addr}` holds {holds} {}", since(*.line))]
    Final {
        /// The address.
        addr: String,
        /// The claimed value.
        value: u64,
        /// Its value.
        holds: u64,
        /// Since this line; 0 is from the beginning.
        line: u64,
    },
    /// A lock is taken that is not free.
    #[error("`{lock}` is taken, but thread {holder} holds it since line {line}")]
    Taken {
        /// The lock.
        lock: String,
        /// The thread that holds it.
        holder: u32,
        /// Since this line.
        line: u64,
    },
    /// A lock is released by a thread that does not hold it.
    #[error("`{lock}` is released by a thread that does not hold it")]
    NotHeld {
        /// The lock.
        lock: String,
    },
    /// A thread is started that has begun already.
    #[error("thread {thread} is started, but it has begun at line {line}")]
    Begun {
        /// The thread.
        thread: u32,
        /// Where it began.
        line: u64,
    },
    /// A thread continues, or is waited for again, after it was joined.
    #[error("thread {thread} has ended: it was joined at line {line}")]
    Ended {
        /// The thread.
        thread: u32,
        /// Where it was joined.
        line: u64,
    },
    /// A thread starts or joins itself.
    #[error("thread {thread} {} itself", if *.join { "joins" } else { "starts" })]
    Itself {
        /// The thread.
        thread: u32,
        /// Or starts?
        join: bool,
    },
    /// An `init` line that comes too late, or twice.
    #[error("the initial value of `{addr}` is set after it was used at line {line}")]
    LateInit {
        /// The address.
        addr: String,
        /// The first use.
        line: u64,
    },
}

fn since(line: u64) -> String {
    if line == 0 { "from the beginning".into() } else { format!("since line {line}") }
}

impl NotInterleaved {
    fn help(&self) -> &'static str {
        match self {
            NotInterleaved::Read { .. } => {
                "`membar monitor` reads the line order as the order of execution: a load returns the value last written"
            }
            NotInterleaved::Final { .. } => "the final value is the last one written, or the initial one",
            NotInterleaved::Taken { .. } => "put the `rel` of its holder before it",
            NotInterleaved::NotHeld { .. } => "put an `acq` of that lock before it in the same thread",
            NotInterleaved::Begun { .. } => "put `start` before the first operation of the thread, and only once",
            NotInterleaved::Ended { .. } => "put `join` after the last operation of the thread, and only once",
            NotInterleaved::Itself { .. } => "write the starting or waiting thread first: `0: start 1`, `0: join 1`",
            NotInterleaved::LateInit { .. } => "put `init` lines before the first use of their address",
        }
    }
}

impl ErrorKind {
    /// The fix, in a few words.
    pub fn help(&self) -> &'static str {
        match self {
            ErrorKind::Syntax { help, .. } => help,
            ErrorKind::NotANumber { .. } => "numbers are decimal (`17`) or hexadecimal (`0x11`)",
            ErrorKind::TooLarge { what: "thread id", .. } => "thread ids have 32 bits: renumber the threads",
            ErrorKind::TooLarge { what: "number of bytes", .. } => {
                "an access has 1 to 16 bytes; write a larger one as several"
            }
            ErrorKind::TooLarge { what: "value", max, .. } if *max != u64::MAX.into() => {
                "the value does not fit into the bytes of the access"
            }
            ErrorKind::TooLarge { .. } => "addresses, values and times have 64 bits, without sign",
            ErrorKind::UnknownMask { .. } => {
                "the masks are #LoadLoad, #LoadStore, #StoreLoad, #StoreStore, #Sync and #MemIssue"
            }
            ErrorKind::RmwTwoAddresses { .. } => "both halves must name one address",
            ErrorKind::RmwWritesFirst | ErrorKind::RmwReadsTwice => "write `{ M[0] == old; M[0] := new }`",
            ErrorKind::Unclosed { .. } => "write `{ M[0] == old; M[0] := new }` or `<M[0] == old; M[0] := new>`",
            ErrorKind::TimeReversed { .. } => "the period is written `@ begin:end`",
            ErrorKind::Nul | ErrorKind::InvalidUtf8 => "traces are UTF-8 text; is this another kind of file?",
            ErrorKind::LineTooLong { .. } => "put one operation on each line; is this a trace at all?",
            ErrorKind::TraceTooLong { .. } => "split the recording into traces, each with its own `check`",
            ErrorKind::NoTrace => "a trace is one or more operations, then a line `check`",
            ErrorKind::Unterminated { .. } => "end the trace with a line `check`; the file may have been cut off",
            ErrorKind::Open(_) => "check the path and its permissions; `-` reads standard input",
            ErrorKind::Directory => "name the trace files, or another directory",
            ErrorKind::Read(_) => "what was read up to here is incomplete; try again",
            ErrorKind::Decompress { .. } => "the data is damaged or was cut off; compress or transfer it again",
            ErrorKind::InterleavedOnly { .. } => "leave the line out, or run `membar monitor`",
            ErrorKind::UnknownMark { help, .. } => help,
            ErrorKind::TornAtomic => "leave out `pieces(…)`, or the marks",
            ErrorKind::MarkedBarrier => "leave them out of this line",
            ErrorKind::RecordedOnly => "leave them out, or run `membar check`",
            ErrorKind::Interleaving(fault) => fault.help(),
            ErrorKind::Malformed(fault) => match fault {
                Malformed::WrittenTwice { .. } => {
                    "leave out the `order` line, or give every store to this address its own value"
                }
                Malformed::WritesInitial { .. } => "store another value, or set another initial value with `init`",
                Malformed::Repeated { .. } => "keep one of the two lines",
                Malformed::OrderUnwritten { .. } => "list only values that are stored there; the initial one is not",
                Malformed::OrderTwice { .. } => "list each value once, oldest first",
                Malformed::OrderMisses { .. } => "list every value that is written, or leave the line out",
                Malformed::OrderOfParts { .. } => "leave the line out",
                Malformed::ReleaseUnheld { .. } => "put an `acq` of that lock before it in the same thread",
                Malformed::AcquireHeld { .. } => "put a `rel` of that lock between the two",
                Malformed::HeldAtEnd { .. } => "put a `rel` of that lock after it in the same thread",
                Malformed::DependsOnNothing { .. } => {
                    "`-1` is the line before it in the same thread, barriers included"
                }
                Malformed::DependsOnStore { .. } => {
                    "name a load, a read-modify-write or a store conditional; `-1` is the line before it in the same thread"
                }
                Malformed::OtherReservation { .. } => {
                    "a store conditional to another address than the load reserved is not supported; write `sc x fails` if it failed"
                }
            },
        }
    }

    /// The other line of a fault between two lines.
    pub fn other_line(&self) -> Option<u64> {
        match *self {
            ErrorKind::Unterminated { first_line } => Some(first_line),
            ErrorKind::Malformed(
                Malformed::WrittenTwice { other, .. }
                | Malformed::Repeated { other, .. }
                | Malformed::OrderMisses { other, .. }
                | Malformed::AcquireHeld { other, .. }
                | Malformed::DependsOnStore { other, .. }
                | Malformed::OtherReservation { other, .. },
            ) => Some(other),
            ErrorKind::Malformed(Malformed::WritesInitial { init, .. }) => init,
            ErrorKind::Malformed(Malformed::ReleaseUnheld { other, .. }) => other,
            ErrorKind::Malformed(Malformed::HeldAtEnd { end, .. }) => Some(end),
            _ => None,
        }
    }

    /// A remark on the fault besides message and fix.
    fn note(&self) -> Option<String> {
        let label = match self {
            ErrorKind::Unclosed { open, column, .. } => return Some(format!("`{open}` is in column {column}")),
            ErrorKind::Malformed(Malformed::WritesInitial { init: None, .. }) => {
                return Some("without an `init` line the initial value is 0".into());
            }
            ErrorKind::Unterminated { .. } => "the trace begins",
            ErrorKind::Malformed(fault) => match fault {
                Malformed::WrittenTwice { .. } => "first written",
                Malformed::WritesInitial { .. } => "initial value set",
                Malformed::OrderMisses { .. } => "written",
                Malformed::AcquireHeld { .. } => "first acquired",
                Malformed::ReleaseUnheld { other: None, .. } => {
                    return Some("nothing before it in the trace is about that lock".into());
                }
                Malformed::ReleaseUnheld { .. } => "the last operation on it before this one is",
                Malformed::HeldAtEnd { .. } => "the trace ends",
                Malformed::DependsOnStore { .. } => "the earlier operation is",
                Malformed::OtherReservation { .. } => "the load reserved is",
                _ => "first given",
            },
            _ => return None,
        };
        self.other_line().map(|line| format!("{label} at line {line}"))
    }
}

/// A few words of the input, fit for a message.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut text: String = lossy(bytes).take(32).collect();
    if columns(bytes) > 32 {
        text.push('…');
    }
    text
}

/// The error and its place.
#[derive(Debug)]
pub struct Error {
    /// The kind of error.
    pub kind: Box<ErrorKind>,
    /// The file as it was named by the user, or `<stdin>`.
    pub file: String,
    /// Line, from 1; 0 if the whole file is meant.
    pub line: u64,
    /// Column in characters, from 1; also 1 where only the line is known, and 0 if the whole file is meant.
    pub column: u64,
    /// The line, as far as it helps.
    pub excerpt: Option<Box<Excerpt>>,
    /// Does the input end in the middle of this line?
    pub cut_off: bool,
}

impl Error {
    pub(crate) fn whole_file(kind: ErrorKind, file: &str) -> Error {
        Error { kind: Box::new(kind), file: file.into(), line: 0, column: 0, excerpt: None, cut_off: false }
    }

    /// Message, place, excerpt, notes and fix on several lines, for people.
    pub fn render(&self) -> String {
        let note = self.kind.note();
        let cut_off = self.cut_off.then_some("the input ends in this line; it may have been cut off");
        let notes = note.as_deref().into_iter().chain(cut_off).collect();
        let place = Some(self.place());
        format!("{}\n", Diagnostic { message: &self.kind, place, notes, help: self.kind.help() })
    }

    /// `file:line:column`, or the file alone.
    pub fn place(&self) -> Place<'_> {
        Place { file: &self.file, line: self.line, column: self.column, excerpt: self.excerpt.as_deref() }
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
