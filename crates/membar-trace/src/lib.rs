//! The trace text format: a streaming reader with precise errors, a writer, and compressed files.
//!
//! A *trace* is a recorded execution: for each thread its operations with the values they read and wrote. Simulators
//! and test benches write it as text, one operation a line:
//!
//! ```text
//! # message passing, the wrong way round
//! 0: data := 1
//! 0: flag := 1            @ 100:120
//! 1: flag == 1            @ 130:
//! 1: data == 0
//! check
//! ```
//!
//! `docs/formats.md` has the whole grammar. This crate turns such text into [`membar_core::Trace`] and back, and
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
//! `reader` owns the buffer and the loop over lines. `fast` takes runs of common operations straight from the buffer;
//! it knows no errors and leaves every other line alone. `line` parses one line precisely and is the only source of
//! syntax errors; it accepts everything `fast` accepts, with the same meaning (a property test holds them together).
//! `input` opens files and decompresses, `locate` finds the place of a fault that shows only once a trace is
//! complete, `error` and `write` are what their names say.

mod error;
mod fast;
mod input;
mod line;
mod locate;
mod reader;
mod write;

pub use error::{Error, ErrorKind, Excerpt};
pub use input::Compression;
pub use reader::{MAX_LINE, Reader, parse};
pub use write::{write_op, write_trace};
