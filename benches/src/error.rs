//! Errors while measuring.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot write the results: {0}")]
    Output(#[from] io::Error),
    #[error("cannot run {}: {source}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("{} {arguments} ended with {status}: {stderr}", program.display())]
    Child { program: PathBuf, arguments: String, status: ExitStatus, stderr: String },
    #[error("cannot understand the answer of {}: {source}", program.display())]
    Answer { program: PathBuf, source: serde_json::Error },
    #[error("there is no membar at {}: build it with `cargo build --release -p membar`, name one with `--membar`, or use `--in-process`", .0.display())]
    NoMembar(PathBuf),
    #[error("{} says something unexpected about {about}: {said}", program.display())]
    Unexpected { program: PathBuf, about: String, said: String },
    #[error("{name}: {message}")]
    Program { name: String, message: String },
    #[error("{} has no marks for where the tables belong", .0.display())]
    NoMarks(PathBuf),
    #[error("C and C++ programs are run on x86-64 Linux only")]
    #[cfg_attr(all(target_os = "linux", target_arch = "x86_64"), allow(dead_code))]
    Platform,
    #[error("no read of this trace has another value to return, so it cannot be corrupted")]
    NothingToCorrupt,
    #[error("{0}")]
    Trace(#[from] membar_trace::Error),
    #[error("{0}")]
    Model(#[from] membar_model::ModelError),
    #[error("the program cannot be run: {0}")]
    Hardware(#[from] membar_stress::Error),
    #[error("there is no such machine: {0}")]
    Setup(String),
    #[error("this machine's run is no trace: {0}")]
    Run(String),
    #[error("the certificate of a verdict does not hold: {0}")]
    Flaw(#[from] membar_certify::Flaw),
}

impl Error {
    /// For `map_err` on file operations.
    pub fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { what, path, source }
    }
}
