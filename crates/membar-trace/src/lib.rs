//! The trace text format: a streaming reader with precise errors, a writer, and compressed files.
//!
//! A *trace* is a recorded execution: for each thread its operations with the values they read and wrote. Simulators
//! and test benches write it as text, one operation per line:
//!
//! ```text
//! # message passing, out of order
//! 0: data := 1
//! 0: flag := 1            @ 100:120
//! 1: flag == 1            @ 130:
//! 1: data == 0
//! check
//! ```
//!
//! The book's `reference/formats.md` has the whole grammar. This crate turns such text into [`membar_core::Trace`] and back, and
//! decides nothing.
//!
//! # Reading
//!
//! [`Reader`] hands out one trace after the other from a file, from standard input or from any [`std::io::Read`].
//! The trace buffer is the caller's and is reused, so memory does not grow with the number of traces, and a trace is
//! delivered as soon as its `check` line has arrived. Data compressed with gzip or zstd is recognised by its first
//! bytes, wherever it comes from.
//!
//! ```
//! use membar_core::Trace;
//! use membar_trace::Reader;
//!
//! let text = "0: M[0] := 1\n1: M[0] == 1\ncheck\n0: x := 1\ncheck\n";
//! let mut reader = Reader::new("example", text.as_bytes());
//! let mut trace = Trace::new();
//! let mut sizes = Vec::new();
//! while let Some(result) = reader.next(&mut trace) {
//!     match result {
//!         Ok(()) => sizes.push(trace.len()),
//!         Err(error) => {
//!             eprint!("{}", error.render());
//!             if reader.skip_trace().is_err() {
//!                 break; // the input itself cannot be read any further
//!             }
//!         }
//!     }
//! }
//! assert_eq!(sizes, [2, 1]);
//! ```
//!
//! [`parse`] is the short form for text that is already in memory.
//!
//! # Interleavings
//!
//! If the lines of a trace are in the order in which everything happened, it is an interleaving, and can be taken step by step:
//! [`Reader::interleaving`] needs memory for threads and addresses only. It ensures that every load returns what was
//! written last.
//!
//! ```
//! use membar_trace::{Ended, Interleaving, Reader};
//! use std::ops::ControlFlow;
//!
//! let text = "0: x := 1 ! init.c:3\n0: start 1\n1: x == 1\ncheck\n";
//! let mut reader = Reader::new("example", text.as_bytes());
//! let mut lines = Vec::new();
//! let ended = reader.interleaving(&mut Interleaving::new(), |_, step| {
//!     lines.push((step.line, step.label.map(str::to_owned)));
//!     ControlFlow::Continue(())
//! });
//! assert_eq!(ended.unwrap().unwrap(), Ended::Complete);
//! assert_eq!(lines, [(1, Some("init.c:3".into())), (2, None), (3, None)]);
//! ```
//!
//! # Errors
//!
//! Every fault is an [`Error`]: an [`ErrorKind`], a place, the fix, and an excerpt of the line that is safe to print
//! on a terminal whatever the file holds.
//!
//! ```
//! let error = membar_trace::parse("traces.axe", b"0: M[0] = 3\ncheck\n").unwrap_err();
//! assert_eq!(
//!     error.render(),
//!     "\
//! error: expected `:=` or `==`, found `=`
//!  --> traces.axe:1:9
//!   |
//! 1 | 0: M[0] = 3
//!   |         ^
//!   = help: `:=` stores and `==` loads
//! "
//! );
//! ```
//!
//! # Writing
//!
//! [`write_trace`] writes what [`Reader`] reads back as the same trace; [`write_op`] gives one operation as text.
//!
//! # Inside
//!
//! `reader` owns the buffer and the loop over lines; `reader/interleaving` is the loop that keeps no operations. `fast` takes
//! runs of common operations straight from the buffer; it knows no errors and leaves every other line alone. `line` parses
//! one line precisely and is the only source of syntax errors; it accepts everything `fast` accepts, with the same meaning
//! (a property test holds them together).
//! `input` opens files and decompresses, `locate` finds the place of a fault found only once a trace is
//! complete, `error` and `write` are what their names say.

mod error;
mod fast;
mod input;
mod line;
mod locate;
mod marks;
pub mod ranges;
mod reader;
mod write;

pub use error::{Error, ErrorKind, NotInterleaved};
pub use input::{Compression, decompressed};
pub use membar_core::Excerpt;
pub use reader::{Act, Ended, InterleavedOp, Interleaving, MAX_LINE, Reader, parse};
pub use write::{write_op, write_trace};
