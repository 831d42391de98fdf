//! `membar convert`: logs of cores and simulators as traces.

use super::output::shown_name;
use crate::cli::Convert;
use crate::stop::{ALLOWED, BAD};
use membar::core::{Diagnostic, Located, Named};
use membar::report::{count, safe};
use membar::{Failure, Problem};
use membar_convert::{Choices, Format, convert};
use std::io::{Read, Write};
use std::path::Path;

/// Lines that are reported in full.
const SHOWN: usize = 20;

/// Runs the command.
pub fn run(args: &Convert) -> Result<u8, Failure> {
    let name = shown_name(&args.file);
    let text = read(&args.file, &name)?;
    let named = args.from.as_deref().and_then(<Format as Named>::named);
    let format = named.or_else(|| Format::guess(&text)).ok_or_else(|| {
        let help = "name the format: --from tracegen, spike, whisper, dromajo, axe or csv";
        Problem::failure(&name, 0, "the format of this file is not known", help)
    })?;
    let converted = convert(&text, format, Choices { shared: args.shared, zero: args.zero });
    match &args.output {
        None => std::io::stdout().write_all(converted.text.as_bytes())?,
        Some(path) => std::fs::write(path, &converted.text).map_err(|error| {
            Failure::Usage(format!("error: cannot write {}: {error}", safe(&path.to_string_lossy())))
        })?,
    }
    let mut messages = std::io::stderr().lock();
    let starts = starts(&text);
    for problem in converted.problems.iter().take(SHOWN) {
        let start = starts.get(problem.line.saturating_sub(1) as usize).copied().unwrap_or(text.len());
        let located = Located::new(&name, &text, start + problem.span.start..start + problem.span.end);
        let place = (problem.line > 0).then(|| located.place());
        let diagnostic = Diagnostic { message: &problem.reason, place, notes: Vec::new(), help: problem.help };
        let _ = writeln!(messages, "{diagnostic}");
    }
    for (note, times) in &converted.notes {
        let _ = writeln!(messages, "note: {note} ({times})");
    }
    let what = format!(
        "{} of {} from {} ({})",
        count(converted.operations, "operation"),
        count(converted.traces, "trace"),
        safe(&name),
        format.name()
    );
    let _ = match converted.problems.len() {
        0 => writeln!(messages, "converted {what}"),
        bad => writeln!(messages, "converted {what}; {} not converted", count(bad, "line")),
    };
    Ok(if converted.problems.is_empty() { ALLOWED } else { BAD })
}

/// Where each line begins.
fn starts(text: &str) -> Vec<usize> {
    std::iter::once(0)
        .chain(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1))
        .collect()
}

fn read(path: &Path, name: &str) -> Result<String, Failure> {
    let refuse = |error: std::io::Error| {
        let help = "name a readable file, or `-` for standard input";
        Problem::failure(name, 0, &format!("cannot be read: {error}"), help)
    };
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(refuse)?;
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(refuse)?;
    }
    let bytes = membar::trace::decompressed(bytes).map_err(refuse)?;
    // Consoles mix anything into a log. A line that is not text is not of any format, and is reported as such.
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
