//! Any text in any format: converting never panics, problems are within the text, and every line that is written is a line of a
//! trace or a comment.
//!
//! The first byte chooses the format and what is left out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use membar_convert::{Choices, Format, convert};
use membar_trace::ErrorKind;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    let format = Format::ALL[usize::from(choice) % Format::ALL.len()];
    let converted = convert(&text, format, Choices { shared: choice & 64 != 0, zero: choice & 128 != 0 });
    let lines = text.lines().count() as u64 + 1;
    assert!(converted.problems.iter().all(|problem| problem.line <= lines));
    assert!(converted.text.ends_with("check\n"));
    let _ = Format::guess(&text);
    let mut reader = membar_trace::Reader::new("converted", converted.text.as_bytes());
    let mut trace = membar_core::Trace::new();
    while let Some(result) = reader.next(&mut trace) {
        if let Err(error) = result {
            // Faults of a whole trace are the log's.
            assert!(matches!(*error.kind, ErrorKind::Malformed(_)), "{}", error.render());
            if reader.skip_trace().is_err() {
                break;
            }
        }
    }
});
