//! How a program is requested, and why it could not be provided.

use super::NativeOptions;
use crate::report::quoted_path;
use crate::report::verify::ReplayCommand;
use crate::{Failure, Problem};
use membar_native::Divergence;
use membar_native::build::BuildError;
use membar_native::process::ProcessError;
use membar_native::session::SessionError;
use membar_native::words::Words;
use std::ffi::{OsStr, OsString};

/// The C++ compiler that belongs to a C compiler: `g++-12` for `gcc-12`.
pub(super) fn cxx_driver(cc: &OsStr) -> OsString {
    let Some(text) = cc.to_str().filter(|text| !text.contains("++")) else { return cc.to_owned() };
    let (directory, name) =
        text.rsplit_once('/').map_or(("", text), |(directory, _)| text.split_at(directory.len() + 1));
    let cxx = [("gcc", "g++"), ("clang", "clang++")].into_iter().find_map(|(c, cxx)| {
        let at = name.rfind(c)?;
        Some(format!("{directory}{}{cxx}{}", &name[..at], &name[at + c.len()..]))
    });
    cxx.map_or_else(|| cc.to_owned(), OsString::from)
}

/// A build error.
pub(super) fn failed(file: &str, error: &BuildError) -> Failure {
    let message = error.to_string();
    // The compiler's messages have their own places.
    let file = if matches!(error, BuildError::File { .. }) { "" } else { file };
    let mut failure = Problem::failure(file, 0, message.trim_end(), &error.help());
    if let (Failure::Input(problem), BuildError::Compile { file, stderr }) = (&mut failure, error) {
        let source = file.to_string_lossy().into_owned();
        let (line, column) = first_error(&source, stderr).unzip();
        problem.json["file"] = source.into();
        problem.json["line"] = line.into();
        problem.json["column"] = column.into();
    }
    failure
}

/// The line and column of a compiler's first error in this source: `file:line:column: error: …`.
fn first_error(source: &str, messages: &str) -> Option<(u32, u32)> {
    messages.lines().find_map(|message| {
        let (place, _) = message.strip_prefix(source)?.strip_prefix(':')?.split_once(": ")?;
        let (line, column) = place.split_once(':')?;
        let error = message.contains(": error: ") || message.contains(": fatal error: ");
        error.then(|| Some((line.parse().ok()?, column.parse().ok()?)))?
    })
}

/// How to replay a schedule of a program that was asked for so.
pub(super) fn command(files: &[String], args: &NativeOptions) -> ReplayCommand {
    let quoted = |text: &OsString| quoted_path(&text.to_string_lossy());
    let mut flags = String::new();
    for arg in &args.args {
        flags += &format!(" --arg={}", quoted(arg));
    }
    if args.volatile_atomic {
        flags += " --assume volatile=atomic";
    }
    if args.spurious_wakeups {
        flags += " --assume spurious-wakeups";
    }
    if args.spurious_failures {
        flags += " --assume spurious-failures";
    }
    if args.opaque_private {
        flags += " --assume opaque=private";
    }
    if let Some((from, to)) = args.nondet {
        flags += &format!(" --nondet {from}..{to}");
    }
    match args.heap {
        NativeOptions::HEAP => {}
        NativeOptions::UNLIMITED => flags += " --heap none",
        bytes => flags += &format!(" --heap {bytes}b"),
    }
    if let Some(cc) = &args.cc {
        flags += &format!(" --cc {}", quoted(cc));
    }
    if !args.flags.is_empty() {
        flags += " --";
        flags += &args.flags.iter().map(|flag| format!(" {}", quoted(flag))).collect::<String>();
    }
    let program: Vec<String> = files.iter().map(|file| quoted_path(file)).collect();
    ReplayCommand { program: program.join(" "), flags }
}

/// Why there is no result.
pub(super) fn trouble(main: &str, words: &Words, error: &SessionError) -> Failure {
    match error {
        SessionError::Diverged(divergence) => diverged(main, words, divergence),
        SessionError::Foreign => Failure::foreign(),
        SessionError::Process(ProcessError::Died(how)) => Problem::failure(
            main,
            0,
            &format!("the process that runs the program has ended: {how}"),
            "if the program has code that runs before `main`, look there first",
        ),
        SessionError::Process(error @ ProcessError::Bug(_)) => {
            Failure::Internal(format!("{}: {error}", crate::report::safe(main)))
        }
        SessionError::Process(ProcessError::Late) => Failure::Late,
        SessionError::Process(error) if error.is_limit() => {
            Failure::Limit(format!("{}: {error}", crate::report::safe(main)))
        }
        SessionError::Process(error) => Problem::failure(main, 0, &error.to_string(), ""),
    }
}

fn diverged(main: &str, words: &Words, divergence: &Divergence) -> Failure {
    let Divergence { thread, step, first, second } = divergence;
    let thread = Words::thread(*thread);
    let place = |site: &Option<u32>| match site {
        None => "it ends, or cannot continue".to_owned(),
        Some(site) => {
            let place = words.place_of(&[*site]);
            match place.file.is_empty() {
                true => "it begins or ends".to_owned(),
                false => format!("{}:{} (in {}): {}", place.file, place.line, place.function, place.text),
            }
        }
    };
    let message = format!(
        "the program is not deterministic: run again along the same schedule, {thread} does something else after step \
         {step}\n    the first time  {}\n    the second time {}",
        place(first),
        place(second)
    );
    let help = "look for memory that is read before it is written, for addresses that decide something (order, hash), and \
                for time, random numbers or input from outside; a program that makes files needs `--jobs 1`";
    Problem::failure(main, 0, &message, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cxx_drivers() {
        for (cc, cxx) in [
            ("gcc", "g++"),
            ("gcc-12", "g++-12"),
            ("/opt/clang/bin/clang-16", "/opt/clang/bin/clang++-16"),
            ("x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++"),
            ("g++", "g++"),
            ("clang++", "clang++"),
            ("cc", "cc"),
        ] {
            assert_eq!(cxx_driver(OsStr::new(cc)), cxx);
        }
    }
}
