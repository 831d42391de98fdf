//! The instrumented standard library.
//!
//! Problem: each toolchain needs its own, it takes a minute to build, and several processes may want it at once.
//!
//! Algorithm: 1. ask `rustc` for its version and its own sysroot; 2. a directory of the cache, named by that version and by everything of
//! ours that goes into it, either holds the finished library or does not exist; 3. if it does not, copy the sources of rust-src, edit them
//! (`patches.rs`), have cargo build them as the compiler's own build does, move the libraries into place, and rename the
//! directory. Who comes second throws its own away.
//!
//! Guarantees: nothing of the toolchain is changed. A library that is there is complete.

use super::super::{BuildError, compiler};
use super::{INSTRUMENTED, TARGET, patches, scripts};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// An instrumented standard library, and the tools that go with it.
#[derive(Clone, Debug)]
pub struct Sysroot {
    /// `rustc 1.95.0`
    pub name: String,
    /// The compiler.
    pub(super) rustc: OsString,
    /// For `--sysroot`.
    pub path: PathBuf,
    /// For `RUSTC_WRAPPER`.
    pub(super) wrapper: PathBuf,
    linker: PathBuf,
    /// Parts of the library that are not quiet, in words.
    pub loud: Vec<String>,
}

impl Sysroot {
    /// The flags for a crate of a program.
    pub(super) fn flags(&self) -> Vec<String> {
        scripts::flags(&self.path, &self.linker)
    }
}

/// FNV-1a: stable from one build to the next.
pub(super) fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A program with its arguments, and its output.
fn ask(program: &OsString, arguments: &[&str]) -> Result<String, BuildError> {
    let mut command = Command::new(program);
    command.args(arguments);
    let outcome = compiler::run(command, None).map_err(|error| match error {
        BuildError::Spawn { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            BuildError::NoRust { program: program.to_string_lossy().into_owned() }
        }
        error => error,
    })?;
    match outcome.status.success() {
        true => Ok(String::from_utf8_lossy(&outcome.stdout).trim().to_owned()),
        false => Err(BuildError::Rust { what: "rustc does not answer".into(), stderr: outcome.stderr }),
    }
}

/// The instrumented standard library of the active toolchain. It is built if it is not there; `tell` hears of that.
pub fn setup(tell: &mut dyn FnMut(&str)) -> Result<Sysroot, BuildError> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = ask(&rustc, &["-vV"])?;
    let about = |key: &str| version.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim();
    let name = format!("rustc {}", about("release:"));
    if about("host:") != TARGET {
        let what = format!("{name} is for {}, and membar runs programs of {TARGET} only", about("host:"));
        return Err(BuildError::Rust { what, stderr: String::new() });
    }
    let dir = super::cache()?.join("rust");
    let key = hash(&[&version, patches::TEXT, patches::CHANNEL.1, &INSTRUMENTED.concat(), EDITION]);
    let path = dir.join(format!("{}-{key:016x}", about("release:")));
    if !path.join(DONE).is_file() {
        let sources = sources(&rustc)?;
        tell(&format!("building the instrumented standard library of {name}, once; this takes a minute or two"));
        build(&rustc, &name, &sources, &path, about("commit-hash:"))?;
    }
    let loud = fs::read_to_string(path.join(DONE)).map_err(BuildError::file("read", path.join(DONE)))?;
    let scripts::Scripts { linker, wrapper } = scripts::write(&dir, &path)?;
    Ok(Sysroot { name, rustc, path, wrapper, linker, loud: loud.lines().map(str::to_owned).collect() })
}

/// Changes with how the library is built.
const EDITION: &str = "1";

/// The file that says that all is there, and what is loud.
const DONE: &str = "loud.txt";

/// The component rust-src.
fn sources(rustc: &OsString) -> Result<PathBuf, BuildError> {
    let own = PathBuf::from(ask(rustc, &["--print", "sysroot"])?);
    let sources = own.join("lib/rustlib/src/rust/library");
    if sources.join("std/src/lib.rs").is_file() { Ok(sources) } else { Err(BuildError::NoRustSource { path: sources }) }
}

/// Tries our flags on an empty crate, one by one if they do not work together.
fn try_flags(rustc: &OsString, name: &str, dir: &Path) -> Result<(), BuildError> {
    let empty = dir.join("empty.rs");
    fs::write(&empty, "#![no_std]\n").map_err(BuildError::file("write", &empty))?;
    let fails = |flags: &[&str]| {
        let mut command = Command::new(rustc);
        command.arg(&empty).args(["--crate-type=lib", "--emit=obj", "-o"]).arg(dir.join("empty.o")).args(flags);
        let outcome = compiler::run(command, None)?;
        Ok::<_, BuildError>((!outcome.status.success()).then_some(outcome.stderr))
    };
    let Some(stderr) = fails(INSTRUMENTED)? else { return Ok(()) };
    let mut what = format!("{name} does not take the flags that instrument a program: {}", INSTRUMENTED.join(" "));
    for flag in INSTRUMENTED {
        if fails(&[flag])?.is_some() {
            what = format!("{name} does not take `{flag}`, with which membar instruments a program");
            break;
        }
    }
    Err(BuildError::Rust { what, stderr: last_lines(&stderr) })
}

fn build(rustc: &OsString, name: &str, sources: &Path, path: &Path, commit: &str) -> Result<(), BuildError> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(BuildError::file("create", parent))?;
    let work = tempfile::Builder::new().prefix("setup-").tempdir_in(parent);
    let work = work.map_err(BuildError::file("create", parent))?;
    try_flags(rustc, name, work.path())?;
    let library = work.path().join("library");
    copy(sources, &library).map_err(BuildError::file("copy", sources))?;
    let loud = patches::apply(&library).map_err(BuildError::file("write", &library))?;
    let target = work.path().join("target");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(&library).args(["build", "--release", "--target", TARGET, "--manifest-path"]);
    command.arg(library.join("sysroot/Cargo.toml")).arg("--target-dir").arg(&target);
    // What the user's environment says about cargo is for the user's programs.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PROFILE_") || text.starts_with("CARGO_BUILD_") || text.contains("RUSTFLAGS") {
            command.env_remove(&name);
        }
    }
    let remap = format!("--remap-path-prefix={}=/rustc/{commit}/library", library.display());
    let flags: Vec<&str> =
        INSTRUMENTED.iter().copied().chain(["-Zforce-unstable-if-unmarked", "--cap-lints=allow", &remap]).collect();
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "0").env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2");
    command.env_remove("RUSTC_WRAPPER").env_remove("RUSTC_WORKSPACE_WRAPPER").env("RUSTC", rustc);
    let outcome = compiler::run(command, None)?;
    if !outcome.status.success() {
        let what = "the instrumented standard library does not build".into();
        return Err(BuildError::Rust { what, stderr: last_lines(&outcome.stderr) });
    }
    let made = target.join(TARGET).join("release/deps");
    let whole = work.path().join("sysroot");
    let place = whole.join("lib/rustlib").join(TARGET).join("lib");
    fs::create_dir_all(&place).map_err(BuildError::file("create", &place))?;
    let files = fs::read_dir(&made).map_err(BuildError::file("read", &made))?;
    for file in files.flatten().filter(|file| file.path().extension().is_some_and(|ending| ending == "rlib")) {
        fs::rename(file.path(), place.join(file.file_name())).map_err(BuildError::file("write", &place))?;
    }
    let done = whole.join(DONE);
    fs::write(&done, loud.join("\n")).map_err(BuildError::file("write", &done))?;
    match fs::rename(&whole, path) {
        Err(_) if path.join(DONE).is_file() => Ok(()),
        result => result.map_err(BuildError::file("write", path)),
    }
}

/// Cargo's messages about its progress say nothing; the error is at the end.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("Compiling ")).collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() { copy(&path, &to)? } else { fs::copy(&path, &to).map(drop)? }
    }
    Ok(())
}
