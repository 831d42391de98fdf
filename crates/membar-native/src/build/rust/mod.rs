//! Rust programs: compiled by the machine's own stable `rustc`, with a standard library that is instrumented too.
//!
//! Problem: a Rust program as its author wrote it has to run under membar's scheduler. `rustc` on stable has no flag for its thread
//! sanitizer, and the standard library that comes with it is not instrumented, and loud: two threads that do nothing have hundreds
//! of executions.
//!
//! Algorithm:
//!
//! 1. `-C passes` runs the sanitizer's passes of LLVM on every function (`-force-attribute`); both flags are stable.
//! 2. [`setup`] builds the standard library from the component rust-src, once per toolchain, with these flags and with the edits of
//!    `quiet.patch` (`patches.rs`, `sysroot.rs`), into the user's cache directory.
//! 3. Two small scripts there (`scripts.rs`) stand in for the linker, which then makes a shared object with our stubs, and for `rustc`
//!    where cargo calls it.
//! 4. [`build`] compiles a single file; [`cargo`] is the environment in which cargo builds a package. What either makes is loaded as
//!    it is ([`is_object`]).
//!
//! 5. To try an edit of a package, a copy of it is built in the same way (`package.rs`).
//!
//! Guarantees: the program is compiled from its own sources with its own flags; `cfg(membar)` is all that tells. Code of other
//! languages that is linked in is watched like any other library.
//!
//! Deviations: the C library keeps thread-local variables of a program, by keys. An executable's own could not be moved into a shared
//! object.

mod package;
mod patches;
mod scripts;
mod sysroot;

pub use package::{Artifact, Package};
pub use sysroot::{Sysroot, setup};

use super::{BuildError, Built, Note, NoteKind, compiler, link};
use crate::files::Mapped;
use crate::run::stubs;
use object::{Object, ObjectSymbol};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The only one for which there is a runtime.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// For every crate, the standard library included. Each stands alone: scripts pass them as they are.
const INSTRUMENTED: &[&str] = &[
    "-Cllvm-args=-force-attribute=sanitize_thread",
    // Otherwise the read of `x += 1` is not announced, because the write is.
    "-Cllvm-args=-tsan-instrument-read-before-write=1",
    "-Cllvm-args=-tsan-distinguish-volatile=1",
    "-Cpasses=forceattrs,tsan-module,tsan",
    "-Cforce-frame-pointers=yes",
];

/// Whether a path names a Rust source.
pub fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "rs")
}

/// Whether a file is an object that our linker script made.
pub fn is_object(path: &Path) -> bool {
    let Ok(data) = Mapped::open(path) else { return false };
    let Ok(file) = link::parse(path, &data) else { return false };
    file.kind() == object::ObjectKind::Dynamic
        && link::section(&file, link::PROGRAM).is_some()
        && link::section(&file, super::fat::SECTION).is_none()
        && link::defines(&file, "main")
}

/// Compiles a file to an object that can be loaded. The user's flags come last.
pub fn build(source: &Path, flags: &[OsString], dir: &Path, sysroot: &Sysroot) -> Result<Built, BuildError> {
    source.metadata().map_err(BuildError::file("read", source))?;
    let object = dir.join("prog.so");
    let mut command = Command::new(&sysroot.rustc);
    command.arg(source).arg("-o").arg(&object).arg("--crate-name").arg(crate_name(source));
    // Some flags must not be there twice.
    let given = |name: &str| flags.iter().any(|flag| flag.to_str().is_some_and(|flag| flag.starts_with(name)));
    if !given("--edition") {
        command.arg("--edition=2024");
    }
    command.args(["--crate-type=bin", "--color=never", "-g", "-Copt-level=1", "-Coverflow-checks=on"]);
    command.arg("-Cdebug-assertions=on").args(sysroot.flags()).args(flags);
    let outcome = compiler::run(command, None)?;
    if !outcome.status.success() {
        return Err(BuildError::Compile { file: source.to_owned(), stderr: outcome.stderr });
    }
    let mut notes = notes(&object)?;
    if !outcome.stderr.trim().is_empty() {
        notes.push(Note { kind: NoteKind::Warning, what: outcome.stderr, place: None });
    }
    let text = std::fs::read_to_string(source).unwrap_or_default();
    let checks = checks(&text).into_iter().map(str::to_owned).collect();
    Ok(Built { object, compiler: sysroot.name.clone(), notes, checks })
}

/// The checks that a source makes. Every program calls `panic` somewhere, in the standard library: the text has to tell.
fn checks(text: &str) -> Vec<&'static str> {
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let calls = |name: &str| code.match_indices(name).any(|(at, _)| code[at + name.len()..].starts_with('!'));
    let asserts = ["assert", "assert_eq", "assert_ne"].into_iter().any(calls);
    let panics = ["panic", "unreachable"].into_iter().any(calls);
    [("assert", asserts), ("panic", panics)].into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
}

/// The name of a file as a crate can have it.
fn crate_name(source: &Path) -> String {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let name: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(char::is_alphabetic) { name } else { format!("_{name}") }
}

/// Takes an object that cargo has had built. A test states what must hold.
pub fn take(object: &Path) -> Result<Built, BuildError> {
    let data = link::read(object)?;
    let file = link::parse(object, &data)?;
    if link::section(&file, stubs::MARK) != Some(stubs::mark().as_bytes()) {
        return Err(BuildError::Damaged { path: object.to_owned(), reason: "it was made by another version" });
    }
    let is_harness = file.symbols().any(|symbol| symbol.name().is_ok_and(|name| name.contains("test_main_static")));
    let checks = if is_harness { vec!["test".to_owned()] } else { Vec::new() };
    Ok(Built { object: object.to_owned(), compiler: "rustc".into(), notes: notes(object)?, checks })
}

/// The libraries that are not seen.
fn notes(object: &Path) -> Result<Vec<Note>, BuildError> {
    let data = link::read(object)?;
    let file = link::parse(object, &data)?;
    Ok(link::unseen(&link::dynamic(&file).needed, &link::imported(object, &file)?))
}

/// The environment in which cargo builds instrumented executables and tests, besides `--target` and `--target-dir`.
pub fn cargo(sysroot: &Sysroot) -> Vec<(String, OsString)> {
    vec![
        ("RUSTC_WRAPPER".into(), sysroot.wrapper.clone().into()),
        ("RUSTC".into(), sysroot.rustc.clone()),
        ("CARGO_INCREMENTAL".into(), "0".into()),
    ]
}

/// The directory for what is made once and used again.
fn cache() -> Result<PathBuf, BuildError> {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let found = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).filter(|dir| dir.is_absolute());
    let own = std::env::var_os("MEMBAR_CACHE").map(PathBuf::from);
    own.or_else(|| found.map(|cache| cache.join("membar"))).ok_or(BuildError::NoCache)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_has_a_crate_name() {
        for (file, name) in
            [("a/sb.rs", "sb"), ("2+2w-relaxed.rs", "_2_2w_relaxed"), ("mp-ok.rs", "mp_ok"), (".rs", "__rs")]
        {
            assert_eq!(crate_name(Path::new(file)), name, "{file}");
        }
    }

    #[test]
    fn a_source_states_what_must_hold() {
        assert_eq!(checks("fn main() { debug_assert_eq!(1, 1); }"), ["assert"]);
        assert_eq!(checks("fn main() { if bad() { panic!(\"bad\") } }"), ["panic"]);
        assert!(checks("fn main() { t.join().unwrap(); } // assert!(x)\nfn assert() {}").is_empty());
    }

    #[test]
    fn endings_tell_the_language() {
        assert!(is_source(Path::new("a.rs")) && !is_source(Path::new("a.c")) && !is_source(Path::new("rs")));
    }
}
