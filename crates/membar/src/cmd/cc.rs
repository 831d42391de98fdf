//! `membar cc` and `membar c++`: compilers for the user's own build.

pub use super::programs::Language;

use super::programs::compile;
use crate::stop::{self, Failure};
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
    Some(ExitCode::from(run(language, &args).unwrap_or_else(|failure| {
        let _ = writeln!(std::io::stderr(), "{failure}");
        stop::FORBIDDEN
    })))
}

/// Runs the command.
pub fn run(language: Language, args: &[OsString]) -> Result<u8, Failure> {
    compile(language, args)
}
