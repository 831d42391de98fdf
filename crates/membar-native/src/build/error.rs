//! Errors while a program is built, as values.

use super::Language;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why there is no program to run. The display form is the message; [`BuildError::help`] is the fix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No source was given.
    #[error("no source file was given")]
    NothingToBuild,
    /// There is no compiler on this machine, or not where we looked.
    #[error("{}", no_compiler(*language, tried))]
    NoCompiler {
        /// For what.
        language: Language,
        /// The names that were tried.
        tried: String,
    },
    /// A program that exists, but cannot be run.
    #[error("cannot run `{program}`: {source}")]
    Spawn {
        /// As it was called.
        program: String,
        /// The system's message.
        source: io::Error,
    },
    /// The compiler that was named is neither gcc nor clang.
    #[error("`{program}` is neither gcc nor clang: {answer}")]
    UnknownCompiler {
        /// As it was called.
        program: String,
        /// The first line of its answer to `--version`.
        answer: String,
    },
    /// The compiler rejected a source. Its own words are complete, with places.
    #[error("`{file}` does not compile\n{stderr}")]
    Compile {
        /// The source.
        file: PathBuf,
        /// The compiler's message.
        stderr: String,
    },
    /// The assembler rejected what the assembly pass made of the compiler's output.
    #[error("`{file}` does not assemble\n{stderr}")]
    Assemble {
        /// The source, or `stubs` for the runtime's own.
        file: PathBuf,
        /// The assembler's message.
        stderr: String,
    },
    /// The linker failed.
    #[error("the program does not link\n{stderr}")]
    Link {
        /// The linker's message.
        stderr: String,
        /// Whether names were undefined, which has its own fix.
        undefined: bool,
    },
    /// The linker does not take an object because of how it was compiled.
    #[error("{object} cannot be linked into what membar loads: it was compiled for an executable only\n{stderr}")]
    Executable {
        /// Which, in words.
        object: String,
        /// The linker's message.
        stderr: String,
    },
    /// There is nothing to start.
    #[error("the program has no `main`")]
    NoMain,
    /// A file of ours or the user's cannot be read or written.
    #[error("cannot {action} `{path}`: {source}")]
    File {
        /// read, write, create
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// Neither a source nor an ELF program.
    #[error("`{path}` is not a program of this machine: {reason}")]
    NotElf {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A program that was built with another compiler.
    #[error("`{path}` was not built with `membar cc`: it has no `.membar` section")]
    NotInstrumented {
        /// The program.
        path: PathBuf,
    },
    /// A `.membar` section that is not what we wrote.
    #[error("the `.membar` section of `{path}` is damaged: {reason}")]
    Damaged {
        /// The program.
        path: PathBuf,
        /// In what way.
        reason: &'static str,
    },
    /// There is no Rust compiler.
    #[error("the Rust compiler `{program}` was not found")]
    NoRust {
        /// As it was called.
        program: String,
    },
    /// The sources of Rust's standard library are not installed.
    #[error("the sources of Rust's standard library are not installed: there is no `{path}`")]
    NoRustSource {
        /// Where they would be.
        path: PathBuf,
    },
    /// Something about Rust does not work.
    #[error("{what}\n{stderr}")]
    Rust {
        /// In words.
        what: String,
        /// The tool's message.
        stderr: String,
    },
    /// There is no directory for what is made once.
    #[error("there is no place for the instrumented standard library: neither HOME nor XDG_CACHE_HOME is set")]
    NoCache,
    /// A tool ended in a way that no compiler ends.
    #[error("`{program}` was killed: {status}")]
    Killed {
        /// As it was called.
        program: String,
        /// Its exit status.
        status: ExitStatus,
    },
}

/// One that was asked for is missed by its name.
fn no_compiler(language: Language, tried: &str) -> String {
    match tried.contains(',') {
        true => format!("no {language} compiler was found (tried {tried})"),
        false => format!("the compiler {tried} was not found"),
    }
}

impl BuildError {
    /// The fix, in a few words.
    pub fn help(&self) -> String {
        match self {
            BuildError::NothingToBuild => "name a C or C++ file: `membar verify prog.c`".into(),
            BuildError::NoCompiler { tried, .. } if !tried.contains(',') => {
                "check its name and PATH, or name another one, with --cc or in CC (CXX for C++)".into()
            }
            BuildError::NoCompiler { language, .. } => format!(
                "install gcc or clang (`apt install {}`), or name the compiler in {}",
                language.package(),
                language.variables()[1]
            ),
            BuildError::Spawn { .. } => "check that the program is installed and may be run".into(),
            BuildError::UnknownCompiler { .. } => "set CC and CXX to a gcc or clang".into(),
            BuildError::Compile { file, .. } if super::rust::is_source(file) => {
                "fix the error, or give rustc what it needs after `--`: `membar verify prog.rs -- --edition 2021`".into()
            }
            BuildError::Compile { .. } => {
                "fix the error, or give the compiler what it needs after `--`: `membar verify prog.c -- -Iinclude`"
                    .into()
            }
            BuildError::Assemble { .. } => {
                "if the file has inline assembly, please report it together with the file".into()
            }
            BuildError::Link { undefined: true, .. } => {
                "give all sources of the program, and its libraries after `--`: `membar verify a.c b.c -- -lfoo`; a \
                 program built with make needs `membar cc` for every object"
                    .into()
            }
            BuildError::Link { .. } => "check the files and flags after `--`".into(),
            BuildError::Executable { .. } => {
                "compile it again with `-fPIC` (thread-local variables need it, and whatever was compiled with `-fno-pie`), \
                 or give its source instead: `membar verify prog.c part.c`"
                    .into()
            }
            BuildError::NoMain => {
                "give the source that defines `int main(void)` too: `membar verify main.c queue.c`".into()
            }
            BuildError::File { .. } => "check the path and its permissions".into(),
            BuildError::NotElf { .. } => "name a C or C++ source, or a program built with `membar cc`".into(),
            BuildError::NotInstrumented { path } => format!(
                "build it again, then verify it:\n    make clean && make CC=\"membar cc\" CXX=\"membar c++\"\n    membar \
                 verify {}",
                path.display()
            ),
            BuildError::Damaged { .. } => "build the program again with this version of `membar cc` or `cargo membar`".into(),
            BuildError::NoRust { .. } => "install Rust (https://rustup.rs), or name the compiler in RUSTC".into(),
            BuildError::NoRustSource { .. } => {
                "install them: `rustup component add rust-src` (without rustup: the package rust-src of your system)".into()
            }
            BuildError::Rust { .. } => "membar needs rustc 1.85 or newer for x86_64-unknown-linux-gnu".into(),
            BuildError::NoCache => "name a directory in MEMBAR_CACHE".into(),
            BuildError::Killed { .. } => "is there enough memory?".into(),
        }
    }

    /// For `map_err`: the error of a file operation.
    pub(super) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> BuildError {
        let path = path.into();
        move |source| BuildError::File { action, path, source }
    }
}
