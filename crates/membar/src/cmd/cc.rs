//! `membar cc` and `membar c++`: compilers for the user's own build.

pub use membar::programs::Language;

use crate::cli::Cli;
use crate::stop;
use clap::CommandFactory;
use membar::Failure;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Compiles, if membar was called as a compiler: `membar cc …`.
pub fn called() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let language = match words.next()?.to_str()? {
        "cc" => Language::C,
        "c++" => Language::Cxx,
        _ => return None,
    };
    let args: Vec<OsString> = words.collect();
    if args.iter().map(|arg| arg.to_str()).eq([Some("--help")]) {
        return Some(help(language));
    }
    Some(ExitCode::from(run(language, &args).unwrap_or_else(|failure| {
        let _ = writeln!(std::io::stderr(), "{failure}");
        stop::FORBIDDEN
    })))
}

/// Our help; the compiler's own is a question for the compiler.
fn help(language: Language) -> ExitCode {
    let (name, compiler) = if language == Language::C { ("cc", "gcc") } else { ("c++", "g++") };
    let mut command = Cli::command();
    command.build();
    if let Some(found) = command.find_subcommand_mut(name) {
        let text = format!("{}\n\nThe compiler's own options: {compiler} --help\n", found.render_long_help());
        let _ = std::io::stdout().write_all(text.as_bytes());
    }
    ExitCode::SUCCESS
}

/// Runs the command.
pub fn run(language: Language, args: &[OsString]) -> Result<u8, Failure> {
    let status = membar::programs::compile(language, args)?;
    Ok(u8::try_from(status).unwrap_or(stop::FORBIDDEN))
}
