//! `membar shrink`: the smallest part of a trace that is still forbidden, as a trace.

use super::output::{shown_name, without_check};
use crate::cli::Shrink;
use crate::decide::{Detail, Guarded, internal_error};
use crate::input;
use crate::kind::not_a_trace;
use crate::progress::{self, Progress};
use crate::stop::{self, ALLOWED, BAD, FORBIDDEN, UNDECIDED};
use crate::terminal;
use membar::core::{Clock, VerdictKind};
use membar::report::count;
use membar::{Budget, Chosen, Failure, Problem, Trace};
use std::io::{self, Write};
use std::path::Path;

/// Runs the command.
pub fn run(args: &Shrink) -> Result<u8, Failure> {
    let chosen = Chosen::load(&args.model)?;
    if let Some(output) = &args.output {
        refuse_same_file(&args.file, output)?;
    }
    if args.file.is_dir() {
        let help = "name one file with traces";
        return Err(Problem::failure(&args.file.to_string_lossy(), 0, "this is a directory", help));
    }
    if let Some(failure) = not_a_trace(&args.file) {
        return Err(failure);
    }
    let interrupt = stop::on_key();
    let budget = args.limits.budget(&interrupt);
    let progress = Progress::start(progress::bytes([&args.file]), args.limits.time.0);
    let name = shown_name(&args.file);
    let mut decider = Guarded::default();
    let mut undecided = false;
    let mut traces = 0;
    let usage = |error: membar::trace::Error| Failure::Usage(error.render());
    let mut reader = input::open(&args.file, &interrupt, &progress).map_err(usage)?;
    progress.file(&name);
    let mut trace = Trace::new();
    while let Some(result) = reader.next(&mut trace) {
        if interrupt.pressed() {
            break;
        }
        let number = reader.trace_index() + 1;
        traces = number;
        match result {
            Ok(()) => {}
            // A fault in a trace that was not asked for does not matter.
            Err(error) if args.trace.is_none_or(|wanted| wanted == number) => return Err(usage(error)),
            Err(_) => {
                reader.skip_trace().map_err(usage)?;
                continue;
            }
        }
        if trace.open_end() {
            message(&without_check(&name, number - 1));
        }
        trace.set_clock(args.clock.clock());
        progress.trace(trace.len());
        if args.trace.is_some_and(|wanted| wanted != number) {
            continue;
        }
        let internal = |fault: String| Failure::Internal(internal_error(&name, number - 1, &chosen.model.name, &fault));
        let answer =
            decider.answer((&name, number - 1, &trace), &chosen.model, &budget, Detail::Verdict).map_err(internal)?;
        match answer.verdict {
            VerdictKind::Forbidden => {
                progress.work(&format!("shrinking trace {number} ({})", count(trace.len(), "operation")));
                let part = decider.shrink(&trace, &chosen.model, &budget);
                let part = part.map(|(_, part)| part).ok_or_else(|| internal("it cannot be shrunk".into()))?;
                let text = membar::annotated(&part, &name, number, &chosen.arg, trace.len()).map_err(Failure::from)?;
                verify(&mut decider, &text, &chosen, args.clock.clock()).map_err(internal)?;
                progress.finish();
                return write(args, &text, &part, &trace);
            }
            VerdictKind::Undecided => {
                undecided = true;
                message(&format!("{name}, trace {number}: undecided within the limits (see --time and --memory)"));
            }
            _ => {}
        }
        if args.trace.is_some() {
            break;
        }
    }
    progress.finish();
    if let Some(wanted) = args.trace.filter(|&wanted| wanted > traces && !interrupt.pressed()) {
        let has = count(usize::try_from(traces).unwrap_or(usize::MAX), "trace");
        message(&format!("error: there is no trace {wanted}: {name} has {has}"));
        return Ok(BAD);
    }
    if interrupt.pressed() {
        message("interrupted");
        return Ok(UNDECIDED);
    }
    if undecided {
        return Ok(UNDECIDED);
    }
    let what = args.trace.map_or_else(|| format!("no trace of {name} is"), |n| format!("{name}, trace {n} is not"));
    message(&format!("{what} forbidden by {}: there is nothing to shrink", chosen.model.name));
    Ok(ALLOWED)
}

fn message(text: &str) {
    terminal::tell(text);
}

fn refuse_same_file(input: &Path, output: &Path) -> Result<(), Failure> {
    match (input.canonicalize(), output.canonicalize()) {
        (Ok(one), Ok(two)) if one == two => {
            Err(Failure::Usage("error: --output names the trace file itself, which would be lost".into()))
        }
        _ => Ok(()),
    }
}

/// The text reads back as a forbidden trace.
fn verify(decider: &mut Guarded, text: &str, chosen: &Chosen, clock: Clock) -> Result<(), String> {
    let mut traces = membar::trace::parse("the result", text.as_bytes()).map_err(|error| error.to_string())?;
    let [trace] = &mut traces[..] else { return Err("the result is not one trace".into()) };
    trace.set_clock(clock);
    let answer = decider.answer(("the result", 0, trace), &chosen.model, &Budget::default(), Detail::Verdict)?;
    if answer.verdict == VerdictKind::Forbidden { Ok(()) } else { Err("the result is not forbidden".into()) }
}

fn write(args: &Shrink, text: &str, part: &Trace, whole: &Trace) -> Result<u8, Failure> {
    match &args.output {
        None => {
            let mut out = io::stdout();
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
        Some(path) => std::fs::write(path, text).map_err(|error| {
            let path = membar::report::safe(&path.to_string_lossy());
            Failure::Usage(format!("error: cannot write {path}: {error}"))
        })?,
    }
    message(&format!("{}, from {}", count(part.len(), "operation"), whole.len()));
    Ok(FORBIDDEN)
}
