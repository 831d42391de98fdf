//! Which programs the words of a command line mean.

use super::litmus::read;
use crate::files::{PROGRAMS, collect, is_list};
use crate::kind::{not_a_litmus_test, not_a_program};
use membar::Failure;
use membar::programs::{Input, is_rust, is_source};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The programs that these words mean, and what is wrong with the words that mean none. Sources that are named are one
/// program; in a directory, each file is a separate program.
pub fn inputs(words: &[PathBuf]) -> (Vec<Input>, Vec<Failure>) {
    let (mut inputs, mut failures) = (Vec::new(), Vec::new());
    let mut together = None;
    for word in words {
        let mut files = Vec::new();
        if let Err(unreadable) = collect(word, PROGRAMS, &mut files) {
            failures.push(unreadable.into());
        }
        if !word.is_dir() {
            failures.extend(files.iter().filter_map(|file| not_a_program(file)));
        }
        let apart = word.is_dir() || is_list(word);
        for file in files {
            if is_source(&file) && (apart || is_rust(&file)) {
                inputs.push(Input::Sources(vec![file]));
            } else if is_source(&file) {
                let at = *together.get_or_insert(inputs.len());
                match inputs.get_mut(at) {
                    Some(Input::Sources(files)) => files.push(file),
                    _ => inputs.push(Input::Sources(vec![file])),
                }
            } else if file.as_os_str() == "-" {
                match standard_input() {
                    Ok(input) => inputs.push(input),
                    Err(failure) => failures.push(failure),
                }
            } else {
                inputs.push(Input::of(&file));
            }
        }
    }
    (inputs, failures)
}

/// Flags after `--` must mean something, and one thing only.
pub fn check_flags(inputs: &[Input], flags: &[OsString]) -> Result<(), Failure> {
    let any = |kind: fn(&Input) -> bool| inputs.iter().any(kind);
    let (sources, executables) =
        (any(|input| matches!(input, Input::Sources(_))), any(|input| matches!(input, Input::Executable(_))));
    let message = match () {
        () if flags.is_empty() => return Ok(()),
        () if sources && executables => {
            "error: arguments after `--` would be both compiler flags and program arguments\n \
             = help: verify sources and executables one after the other"
        }
        () if sources || executables || inputs.is_empty() => return Ok(()),
        () => {
            "error: arguments after `--` are for C and C++ programs, not for litmus tests\n \
             = help: options come before `--`"
        }
    };
    Err(Failure::Usage(message.into()))
}

/// The litmus test on standard input.
fn standard_input() -> Result<Input, Failure> {
    let text = read(Path::new("-"))?;
    not_a_litmus_test(&text).map_or_else(|| Ok(Input::Text { name: "<stdin>".into(), text }), Err)
}
