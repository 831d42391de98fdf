//! From a source to an instrumented object.
//!
//! Problem: the compiler's instrumentation for threads is wanted, and its runtime is not.
//!
//! Algorithm: 0. if the source is another text where the sanitizer is on, it is preprocessed without; 1. the compiler writes
//! assembly for `-fsanitize=thread`; 2. the [`assembly`](super::assembly) pass puts it
//! right; 3. the assembler makes an object of it. Text goes through pipes, so that nothing is written but the object.
//!
//! Guarantees: the source is read where it is and the compiler runs in the current directory, so names of files and lines
//! are those that the user knows. Errors and warnings are the compiler's own words. The compiled code is the code that ships: no macro says
//! that there is a sanitizer (`__SANITIZE_THREAD__`, `__has_feature(thread_sanitizer)`).

use super::assembly::{self, Rewritten};
use super::compiler::{Compiler, Maker};
use super::{BuildError, Language, Note, NoteKind};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const SANITIZE: &str = "-fsanitize=thread";

/// The flags always passed to the compiler, before the user's own: a later `-O2` wins.
const ALWAYS: &[&str] = &[
    "-pipe",
    "-g",
    "-O0",
    "-fPIC",
    "-fno-omit-frame-pointer",
    "-fno-optimize-sibling-calls",
    SANITIZE,
    "-ftls-model=global-dynamic",
    "-U_FORTIFY_SOURCE",
    "-fcf-protection=none",
    // Jumps whose targets are known, for who looks into the code (`run::live`).
    "-fno-jump-tables",
    "-pthread",
    // These are expanded after the instrumentation, to loads and stores that nobody announces.
    "-fno-builtin-memcmp",
    "-fno-builtin-bcmp",
    // Attributes that would keep a function from being instrumented. They mean nothing where there is no sanitizer.
    "-Dno_sanitize_thread=__unused__",
    "-D__no_sanitize_thread__=__unused__",
    "-Dno_sanitize(...)=__unused__",
    "-D__no_sanitize__(...)=__unused__",
    "-Ddisable_sanitizer_instrumentation=__unused__",
];

/// For gcc: functions that it expands in place. clang turns these into calls, or into accesses that it announces.
const GCC: &[&str] = &[
    "--param=tsan-distinguish-volatile=1",
    // It warns that fences are not supported, which is true of another runtime.
    "-Wno-tsan",
    "-U__SANITIZE_THREAD__",
    // It merges neighbouring stores after the instrumentation: the first would be made after the announcement of the last.
    "-fno-store-merging",
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-mempcpy",
    "-fno-builtin-memset",
    "-fno-builtin-memchr",
    "-fno-builtin-bzero",
    "-fno-builtin-bcopy",
    "-fno-builtin-strcpy",
    "-fno-builtin-strncpy",
    "-fno-builtin-stpcpy",
    "-fno-builtin-strcat",
    "-fno-builtin-strncat",
    "-fno-builtin-strlen",
    "-fno-builtin-strcmp",
    "-fno-builtin-strncmp",
    "-fno-builtin-strchr",
];

const CLANG: &[&str] = &[
    "-mllvm",
    "-tsan-distinguish-volatile=1",
    // Otherwise the read of `x++` is not announced, because the write is.
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
    "-Wno-unused-command-line-argument",
];

/// For C++: the functions of `std::string` are compiled with the program, and not taken from the library, where nobody
/// announces what they do. With assertions for arrays and the like as well, which can only help.
const CXX: &[&str] = &["-D_GLIBCXX_ASSERTIONS"];

/// A unit to compile, and how.
#[derive(Clone, Copy)]
pub(super) struct Unit<'a> {
    pub(super) compiler: &'a Compiler,
    pub(super) source: &'a Path,
    pub(super) language: Language,
    /// Whether the compiler has to be told, because the name of the file says something else.
    pub(super) tell: bool,
    /// The user's flags for the compiler.
    pub(super) flags: &'a [OsString],
    /// The user's flags for the assembler.
    pub(super) assemble: &'a [OsString],
    pub(super) object: &'a Path,
    /// Whether the object carries its notes, because it is linked at another time.
    pub(super) keep_notes: bool,
}

impl Unit<'_> {
    /// Whether the source has functions that are atomic sections as a whole.
    fn has_sections(&self) -> bool {
        let text = std::fs::read(self.source).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.into_iter().any(assembly::is_section)
    }

    /// Makes the object, and says what the user should know.
    pub(super) fn compile(&self) -> Result<Vec<Note>, BuildError> {
        let own = match self.compiler.maker {
            Maker::Gcc => GCC,
            Maker::Clang => CLANG,
        };
        let cxx = if self.language == Language::Cxx { CXX } else { &[] };
        let mut arguments: Vec<OsString> = ALWAYS.iter().chain(own).chain(cxx).map(OsString::from).collect();
        arguments.extend_from_slice(self.flags);
        if self.has_sections() {
            // Where such a function is expanded nobody knows where it begins.
            arguments.push("-fno-inline".into());
        }
        let shipped = self.shipped(&arguments)?;
        arguments.extend(["-S", "-o", "-"].map(OsString::from));
        match &shipped {
            Some(_) => arguments.extend(["-x", self.language.preprocessed(), "-"].map(OsString::from)),
            None => arguments.extend(self.input()),
        }
        let outcome = self.compiler.run(&arguments, shipped.as_deref())?;
        if !outcome.status.success() {
            return Err(BuildError::Compile { file: self.source.to_owned(), stderr: outcome.stderr });
        }
        // Names of files are the only text that need not be UTF-8.
        let text = String::from_utf8_lossy(&outcome.stdout);
        let Rewritten { mut text, mut notes } = assembly::rewrite(&text);
        if self.keep_notes {
            text.push_str(&assembly::notes_section(&notes));
        }
        assemble(self.compiler, text.as_bytes(), self.assemble, self.object, self.source)?;
        if !outcome.stderr.trim().is_empty() {
            notes.push(Note { kind: NoteKind::Warning, what: outcome.stderr, place: None });
        }
        Ok(notes)
    }
}

impl Unit<'_> {
    /// The source, and what it is if its name does not say so.
    fn input(&self) -> Vec<OsString> {
        let told = if self.tell { ["-x", self.language.dash_x()].map(OsString::from).into() } else { Vec::new() };
        told.into_iter().chain([self.source.into()]).collect()
    }

    /// The source after the preprocessor, if that makes something else of it where the sanitizer is on: as it is where it is off.
    /// gcc has a macro for it, which is taken away by a flag; from version 14 on it has also the question that clang has.
    fn shipped(&self, arguments: &[OsString]) -> Result<Option<Vec<u8>>, BuildError> {
        let asks = match self.compiler.maker {
            Maker::Clang => true,
            Maker::Gcc => self.compiler.version.split('.').next().and_then(|major| major.parse().ok()) >= Some(14),
        };
        let preprocessed = self.source.extension().is_some_and(|ending| ending == "i" || ending == "ii");
        if !asks || preprocessed {
            return Ok(None);
        }
        let run = |sanitized: bool| {
            let kept = arguments.iter().filter(|argument| sanitized || *argument != SANITIZE).cloned();
            let all: Vec<OsString> = kept.chain(["-E", "-o", "-"].map(OsString::from)).chain(self.input()).collect();
            self.compiler.run(&all, None)
        };
        let (with, without) = std::thread::scope(|scope| {
            let with = scope.spawn(|| run(true));
            let without = run(false);
            (with.join(), without)
        });
        let (Ok(with), without) = (with, without?) else { return Ok(None) };
        // If it cannot be preprocessed, the compiler will say why.
        let differ = without.status.success() && with?.stdout != without.stdout;
        Ok(differ.then_some(without.stdout))
    }
}

/// Makes an object of assembly. `source` is what an error names.
pub(super) fn assemble(
    compiler: &Compiler,
    text: &[u8],
    flags: &[OsString],
    object: &Path,
    source: &Path,
) -> Result<(), BuildError> {
    let mut arguments: Vec<OsString> = ["-c", "-x", "assembler", "-o"].map(OsString::from).into();
    arguments.push(object.into());
    arguments.extend_from_slice(flags);
    arguments.push("-".into());
    let outcome = compiler.run(&arguments, Some(text))?;
    if outcome.status.success() {
        return Ok(());
    }
    Err(BuildError::Assemble { file: source.to_owned(), stderr: outcome.stderr })
}

/// The name of an object for a source, different for each number.
pub(super) fn object_name(directory: &Path, number: usize, source: &Path) -> PathBuf {
    let stem = source.file_stem().unwrap_or(OsStr::new("source")).to_string_lossy();
    directory.join(format!("{number}-{stem}.o"))
}
