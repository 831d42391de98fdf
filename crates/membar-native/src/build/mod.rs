//! Compiles a C or C++ program, instrumented, into one shared object that the run side loads.
//!
//! Problem: a program as its author wrote it has to run under membar's scheduler, one access to shared memory at a time.
//!
//! Algorithm: the machine's own gcc or clang compiles it as for its thread sanitizer, which puts a call before each
//! access. The sanitizer's runtime is not linked; the calls go to stubs that lead to ours.
//!
//! * [`build`] takes sources: each is compiled to assembly (`compile.rs`), which is put right (`assembly.rs`, with
//!   `announced.rs` for the compiler's own code and `inline.rs` for the user's assembly) and linked with the stubs (`link.rs`).
//! * [`wrapper`] is `membar cc`: a compiler for the user's own make, whose native objects carry an instrumented one
//!   (`fat.rs`); [`build_executable`] takes those out of the finished program again (`executable.rs`).
//! * [`edited`] has the same program built with other texts for some of its files.
//! * [`imports`] tells which functions the program takes from libraries.
//!
//! Guarantees: anything not seen is reported. Each [`Note`] is an access, a library or a flag that membar leaves out.
//!
//! Code that is not compiled here (objects, archives, libraries) is kept apart from what is, for the run side to look at
//! (`link.rs`); what the C++ library has of containers is compiled here (`containers.rs`).
//!
//! Missed without a note: with gcc, the
//! middle of a large struct that a function returns right into shared memory, and calls of `__builtin_memcpy` by that
//! name with a constant size, which gcc expands after the instrumentation.

mod announced;
mod assembly;
mod att;
mod builtins;
mod checks;
mod compile;
mod compiler;
mod containers;
mod edited;
mod error;
mod executable;
mod fat;
mod flags;
mod inline;
mod link;
pub mod rust;
mod wrapper;

pub use edited::edited;
pub use error::BuildError;
pub use executable::build_executable;
pub(crate) use inline::takes_values;
pub use link::imports;
pub(crate) use link::{is_system, layout, stream_destructors};
pub use wrapper::wrapper;

use compile::{Unit, assemble, object_name};
use compiler::Compiler;
use link::Link;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, fs, io, thread};

/// Of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C
    C,
    /// C++
    Cxx,
}

impl Language {
    /// By the ending of the name.
    pub fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "c" | "i" => Some(Language::C),
            "cc" | "cpp" | "cxx" | "C" | "c++" | "cp" | "CPP" | "ii" => Some(Language::Cxx),
            _ => None,
        }
    }

    /// The Debian package that has a compiler.
    fn package(self) -> &'static str {
        match self {
            Language::C => "gcc",
            Language::Cxx => "g++",
        }
    }

    /// The environment variables that name a compiler, the first that is set counts.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Language::C => &["MEMBAR_CC", "CC"],
            Language::Cxx => &["MEMBAR_CXX", "CXX"],
        }
    }

    /// For `-x`, after the preprocessor.
    fn preprocessed(self) -> &'static str {
        match self {
            Language::C => "cpp-output",
            Language::Cxx => "c++-cpp-output",
        }
    }

    /// For `-x`.
    fn dash_x(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cxx => "c++",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::C => "C",
            Language::Cxx => "C++",
        })
    }
}

/// Whether a path names a C or C++ source.
pub fn is_source(path: &Path) -> bool {
    Language::of(path).is_some()
}

/// The program to build.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The sources.
    pub sources: &'a [PathBuf],
    /// The user's flags, for compiler and linker.
    pub flags: &'a [OsString],
    /// A scratch directory that exists.
    pub dir: &'a Path,
    /// The C compiler, instead of `CC`.
    pub cc: Option<OsString>,
    /// The C++ compiler, instead of `CXX`.
    pub cxx: Option<OsString>,
}

/// A program that can be loaded.
#[derive(Clone, Debug)]
pub struct Built {
    /// The shared object. It defines `main`.
    pub object: PathBuf,
    /// `gcc 12.2.0`
    pub compiler: String,
    /// Notes for the user.
    pub notes: Vec<Note>,
    /// The checks that the program makes itself, such as `assert`.
    pub checks: Vec<String>,
}

/// Of a [`Note`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum NoteKind {
    /// Assembly that is not, or not fully, seen; it matters only where it is executed ([`Note::id`]).
    Assembly,
    /// A file whose assembly is not seen at all.
    File,
    /// A library that is not instrumented.
    Library,
    /// Uninstrumented code and that cannot be looked at.
    Opaque,
    /// Warnings of compiler or linker, as they wrote them.
    Warning,
    /// A flag of the user's that was left out.
    Flag,
}

/// Something the user should know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    /// About what.
    pub kind: NoteKind,
    /// The text.
    pub what: String,
    /// File and line.
    pub place: Option<(String, u32)>,
}

impl Note {
    /// A number for it, by which the runtime tells that what it speaks of has been executed.
    pub fn id(&self) -> u64 {
        let text = format!("{:?}", (&self.what, &self.place));
        // FNV-1a: the number is written into objects, so it must be the same in every build of membar.
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    }
}

/// A function that the program takes from a shared library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The symbol, without version.
    pub name: String,
    /// The library's soname, if known.
    pub library: Option<String>,
}

/// Compiles and links sources. Sources among the flags are compiled too.
pub fn build(request: &Request<'_>) -> Result<Built, BuildError> {
    let sorted = flags::sort(request.flags);
    let sources: Vec<(PathBuf, Option<Language>)> =
        request.sources.iter().map(|source| (source.clone(), sorted.language)).chain(sorted.sources).collect();
    if sources.is_empty() {
        return Err(BuildError::NothingToBuild);
    }
    for (source, _) in &sources {
        // The compiler would say so too, but less clearly.
        source.metadata().map_err(BuildError::file("read", source))?;
    }
    let language =
        |source: &(PathBuf, Option<Language>)| source.1.or_else(|| Language::of(&source.0)).unwrap_or(Language::C);
    let find = |wanted: Language, asked: &Option<OsString>| -> Result<Option<Compiler>, BuildError> {
        let used = sources.iter().any(|source| language(source) == wanted);
        used.then(|| Compiler::find(wanted, asked.as_deref(), wanted.variables())).transpose()
    };
    let include = request.dir.join("include");
    match fs::create_dir(&include) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(BuildError::file("write", include)(error));
        }
        _ => {}
    }
    let include = header(&include)?;
    let compile: Vec<OsString> = sorted.compile.iter().cloned().chain(include).collect();
    let c = find(Language::C, &request.cc)?;
    let cxx = find(Language::Cxx, &request.cxx)?;
    let Some(linker) = cxx.as_ref().or(c.as_ref()) else { return Err(BuildError::NothingToBuild) };

    let objects: Vec<PathBuf> =
        sources.iter().enumerate().map(|(number, (source, _))| object_name(request.dir, number, source)).collect();
    let stubs = request.dir.join("stubs.o");
    let object = request.dir.join("prog.so");
    // Assembler and linker say less when they cannot write.
    fs::write(&object, []).map_err(BuildError::file("write", &object))?;
    // Work 0 is the stubs, work n is source n - 1.
    let results = parallel(sources.len() + 1, |work| {
        let Some(number) = work.checked_sub(1) else {
            let text = crate::run::stubs::assembly();
            return assemble(linker, text.as_bytes(), &[], &stubs, Path::new("stubs")).map(|()| Vec::new());
        };
        let own = match language(&sources[number]) {
            Language::C => c.as_ref(),
            Language::Cxx => cxx.as_ref(),
        };
        let unit = Unit {
            compiler: own.unwrap_or(linker),
            source: &sources[number].0,
            language: language(&sources[number]),
            tell: sources[number].1.is_some() || !is_source(&sources[number].0),
            flags: &compile,
            assemble: &sorted.assemble,
            object: &objects[number],
            keep_notes: false,
        };
        unit.compile()
    });
    let mut notes = sorted.notes;
    for result in results {
        notes.extend(result?);
    }
    let checks = checks::of(&objects)?;
    let mut objects: Vec<PathBuf> = objects.into_iter().chain([stubs]).collect();
    if cxx.is_some() {
        containers::add(linker, request.dir, &mut objects)?;
    }
    let link = Link {
        compiler: linker,
        objects: &objects,
        flags: &sorted.link,
        cxx: cxx.is_some(),
        several: false,
        output: &object,
    };
    notes.extend(link.link()?);
    Ok(Built { object, compiler: linker.to_string(), notes, checks })
}

/// Puts `membar.h` into a directory; the flags by which the compiler finds it there, if the user has none by that name. The directory
/// is not named in the debug information: built again in another one, the program is the same.
fn header(dir: &Path) -> Result<[OsString; 3], BuildError> {
    let path = dir.join("membar.h");
    let text = include_str!("../../include/membar.h");
    // One that is there is left alone: others may be reading it.
    if fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
        fs::write(&path, text).map_err(BuildError::file("write", &path))?;
    }
    let mut map = OsString::from("-ffile-prefix-map=");
    map.push(dir);
    map.push("=/membar");
    Ok(["-idirafter".into(), dir.into(), map])
}

/// Does pieces of work on as many threads as the machine has; the answers are in the order of the work.
fn parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(2, usize::from).clamp(2, 16).min(count);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.push((number, work(number)));
        }
    };
    let mut done: Vec<(usize, T)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let own = worker();
        others.into_iter().filter_map(|other| other.join().ok()).flatten().chain(own).collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, answer)| answer).collect()
}
