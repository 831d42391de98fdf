//! Why a thread of a program cannot continue.
//!
//! The code that runs a program does not always know what its variables and lines are called. A message therefore has pieces:
//! text, and places that code with the program's symbols puts into words.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a thread cannot continue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// How the message is read.
    #[serde(default)]
    pub form: Form,
    /// A description of the fault: `uses a null pointer`.
    pub message: Message,
    /// Return addresses, the innermost first, counted from the beginning of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<u32>,
}

/// The kinds of faults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The program goes wrong.
    Error,
    /// The program calls `abort`.
    Abort,
    /// The program calls `std::terminate` without an exception.
    Terminate,
    /// The program ends the process that runs it: its schedule cannot be run again.
    Death,
    /// Not a program error: the program needs something that its runner does not offer.
    Limit,
    /// As [`FaultKind::Limit`]: it needs more memory than it may have.
    Memory,
}

/// How the message of a fault is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// It says what the thread does: `T1 uses a null pointer`.
    #[default]
    Predicate,
    /// It says what happens in the thread: `T1: assertion `x` fails`.
    Clause,
    /// It is about the whole program, and stands for itself.
    Sentence,
}

/// A message with places that have no names yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Message(pub Vec<Piece>);

/// A part of a message.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// Text.
    Text(String),
    /// The name of the variable that is there; none if that is not known.
    Variable(Option<Location>),
    /// A line of the source: return addresses, the innermost first.
    Line(Vec<u32>),
    /// How this return address comes to call `std::terminate` with an exception.
    Terminates(u32),
}

/// Where memory of a compiled program is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Location {
    /// In the object, at this offset.
    Object {
        /// The offset.
        offset: u64,
    },
    /// In a library that is not instrumented.
    Library {
        /// The name of its file.
        library: String,
        /// The variable, if the library says what it is called, or nothing.
        name: String,
        /// The offset in the variable, or in the library.
        offset: u64,
    },
    /// A thread-local variable.
    ThreadLocal {
        /// The thread that it belongs to.
        thread: u32,
        /// The offset in the object's block.
        offset: u64,
    },
    /// On the stack of a thread, whose frames are these: instruction and canonical frame address, innermost first.
    Stack {
        /// The thread that it belongs to.
        thread: u32,
        /// The address.
        addr: u64,
        /// The frames.
        frames: Vec<(u32, u64)>,
    },
    /// In a block of the heap.
    Heap {
        /// The thread that allocated it.
        thread: u32,
        /// Which of its blocks it is.
        number: u32,
        /// The size of the block.
        size: u64,
        /// The offset in the block.
        offset: u64,
        /// Return addresses of the allocation.
        stack: Vec<u32>,
    },
    /// A word that no variable of the program is, but that its threads read and write.
    Control {
        /// The thread that it belongs to; the number of the queue for [`Control::Futex`].
        thread: u32,
        /// The kind of word.
        what: Control,
    },
}

/// Words that threads share without a variable of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// The thread has been started.
    Start,
    /// The thread has ended.
    End,
    /// The thread has been woken.
    Wake,
    /// The thread has been joined or detached.
    Fate,
    /// The lock of atomics that are too large for an instruction.
    Large,
    /// The word that choices read.
    Choice,
    /// The lock of atomic sections.
    Section,
    /// The list of exit handlers.
    Handlers,
    /// The environment.
    Environment,
    /// The state of the random numbers.
    Random,
    /// The queue of a futex.
    Futex,
}

impl Fault {
    /// An error of the program.
    pub fn error(message: impl Into<Message>) -> Fault {
        Fault { kind: FaultKind::Error, form: Form::default(), message: message.into(), stack: Vec::new() }
    }

    /// Something that cannot be run.
    pub fn limit(message: impl Into<Message>) -> Fault {
        Fault { kind: FaultKind::Limit, ..Fault::error(message) }
    }

    /// An error whose message has a subject.
    pub fn clause(message: impl Into<Message>) -> Fault {
        Fault { form: Form::Clause, ..Fault::error(message) }
    }

    /// Whether the program is not known to be wrong: it could not be run.
    pub fn is_limit(&self) -> bool {
        matches!(self.kind, FaultKind::Limit | FaultKind::Memory)
    }

    /// Whether a variable on a stack is mentioned.
    pub fn is_about_a_stack(&self) -> bool {
        self.message.0.iter().any(|piece| matches!(piece, Piece::Variable(Some(Location::Stack { .. }))))
    }
}

impl Message {
    /// Adds to its end.
    pub fn push(&mut self, more: impl Into<Message>) {
        for piece in more.into().0 {
            match (self.0.last_mut(), piece) {
                (Some(Piece::Text(text)), Piece::Text(more)) => text.push_str(&more),
                (_, piece) => self.0.push(piece),
            }
        }
    }

    /// In words; `name` knows what the places are called.
    pub fn text(&self, mut name: impl FnMut(&Piece) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            piece => name(piece),
        };
        self.0.iter().map(piece).collect()
    }
}

/// For messages without places, and where nobody knows any names.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unnamed = |piece: &Piece| match piece {
            Piece::Variable(_) => "something".into(),
            Piece::Line(_) => "an unknown place".into(),
            Piece::Text(_) | Piece::Terminates(_) => String::new(),
        };
        f.write_str(&self.text(unnamed))
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message(vec![Piece::Text(text)])
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        Message::from(text.to_owned())
    }
}

impl From<Piece> for Message {
    fn from(piece: Piece) -> Message {
        Message(vec![piece])
    }
}

/// A message of several parts: text, pieces, other messages.
///
/// ```
/// use membar_explore::{Piece, message};
///
/// let message = message!("frees ", Piece::Variable(None), " twice");
/// assert_eq!(message.to_string(), "frees something twice");
/// assert_eq!(message.text(|_| "`node`".into()), "frees `node` twice");
/// ```
#[macro_export]
macro_rules! message {
    ($($part:expr),* $(,)?) => {{
        let mut message = $crate::Message::default();
        $(message.push($part);)*
        message
    }};
}
