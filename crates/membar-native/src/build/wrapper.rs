//! `membar cc` and `membar c++`: compilers for the user's own make.
//!
//! Problem: we cannot compile a program that has its own build. Yet configure, make, cmake, ar and ranlib let the
//! user name the compiler.
//!
//! Algorithm:
//!
//! 1. The real compiler is called with the arguments as they are, and what it says and answers is what the user gets.
//! 2. If it compiled sources, they are compiled again, instrumented, at the same time.
//! 3. The instrumented object goes into the section `.membar` of what was made (`fat.rs`): of the object, or, if the call
//!    compiles and links in one, of the program, behind what the linker put there.
//!
//! The section is not loaded, so the program runs as it always did; the linker joins the sections of all objects.
//!
//! Guarantees: the build never fails because of us. If something is in the way of instrumentation there is a warning, and
//! an object without the section.
//!
//! Deviations from "as they are": with `-flto` the linker would drop our section, so objects are compiled with `-fno-lto`.

use super::compile::Unit;
use super::compiler::{self, Compiler, find_program};
use super::flags::{self, Sorted};
use super::{BuildError, Language, fat, link};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

/// Behaves as the compiler does. The answer is its exit status.
pub fn wrapper(language: Language, args: &[OsString]) -> Result<i32, BuildError> {
    let compiler = Compiler::find(language, None, language.variables())?;
    let Some(plan) = Plan::of(&with_response_files(args, 0)) else { return native(&compiler, args) };
    let mut arguments = args.to_vec();
    if plan.lto && plan.compile_only {
        arguments.push("-fno-lto".into());
    }
    let include = include();
    arguments.extend(include.iter().cloned());
    let (status, parts) = thread::scope(|scope| {
        let instrumented = scope.spawn(|| plan.instrument(&compiler, language, &include));
        (native(&compiler, &arguments), instrumented.join())
    });
    let status = status?;
    if status != 0 {
        return Ok(status);
    }
    let parts = parts.unwrap_or_default();
    let attach = |outputs: &Path, bytes: Vec<u8>| {
        if let Err(error) = attach(outputs, bytes) {
            warn(outputs, &error);
        }
    };
    if plan.compile_only {
        for (source, part) in plan.sorted.sources.iter().zip(parts) {
            match part {
                Ok(bytes) => attach(&plan.object(&source.0), bytes),
                Err(error) => warn(&source.0, &error),
            }
        }
    } else {
        let mut all = Vec::new();
        for (source, part) in plan.sorted.sources.iter().zip(parts) {
            match part {
                Ok(bytes) => all.extend(bytes),
                Err(error) => warn(&source.0, &error),
            }
        }
        if !all.is_empty() {
            attach(plan.output.as_deref().unwrap_or(Path::new("a.out")), all);
        }
    }
    Ok(0)
}

/// Flags by which the compiler finds `membar.h`: it is in a place that stays, since make may look for it again. If there is no
/// such place, there are none.
fn include() -> Vec<OsString> {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).filter(|dir| dir.is_absolute());
    let Some(dir) = cache.map(|cache| cache.join("membar/include")) else { return Vec::new() };
    let made = fs::create_dir_all(&dir).is_ok();
    if made { super::header(&dir).map(Vec::from).unwrap_or_default() } else { Vec::new() }
}

/// The build continues, and the user knows why membar will not see this file.
fn warn(path: &Path, error: &BuildError) {
    eprintln!("membar: warning: `{}` is not instrumented: {error}", path.display());
}

/// Calls the real compiler; it has our input and outputs.
fn native(compiler: &Compiler, arguments: &[OsString]) -> Result<i32, BuildError> {
    let mut command = compiler.command(arguments);
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|source| BuildError::Spawn { program, source })?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// A call that compiles something.
struct Plan {
    sorted: Sorted,
    compile_only: bool,
    output: Option<PathBuf>,
    lto: bool,
}

impl Plan {
    /// None if nothing is compiled that we could instrument.
    fn of(arguments: &[OsString]) -> Option<Plan> {
        let (mut compile_only, mut output, mut lto) = (false, None, false);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            match &*text {
                "-E" | "-S" | "-M" | "-MM" | "-fsyntax-only" | "-###" | "-emit-llvm" | "--analyze" | "-" => {
                    return None;
                }
                "--version" | "--help" | "-dumpversion" | "-dumpmachine" | "-dumpspecs" => return None,
                "-c" => compile_only = true,
                "-o" => output = words.next().map(PathBuf::from),
                _ if text.starts_with("-print-") || text.starts_with("--print-") => return None,
                _ if text.starts_with("-flto") => lto = true,
                _ if text.starts_with("-fno-lto") => lto = false,
                _ if text.starts_with("-o") => output = Some(PathBuf::from(&text[2..])),
                _ if flags::takes_value(&text) => drop(words.next()),
                _ => {}
            }
        }
        let sorted = flags::sort(arguments);
        (!sorted.sources.is_empty()).then_some(Plan { sorted, compile_only, output, lto })
    }

    /// The object that the compiler makes of a source.
    fn object(&self, source: &Path) -> PathBuf {
        match &self.output {
            Some(output) => output.clone(),
            None => Path::new(source.file_name().unwrap_or(OsStr::new("a"))).with_extension("o"),
        }
    }

    /// Compiles each source. The answers are what goes into the section.
    fn instrument(
        &self,
        compiler: &Compiler,
        driver: Language,
        include: &[OsString],
    ) -> Vec<Result<Vec<u8>, BuildError>> {
        // The warnings were the native compilation's.
        let flags: Vec<OsString> = self.sorted.compile.iter().chain(include).cloned().chain(["-w".into()]).collect();
        let one = |(source, asked): &(PathBuf, Option<Language>)| {
            let directory = tempfile::tempdir().map_err(BuildError::file("create", "a temporary directory"))?;
            let object = directory.path().join("instrumented.o");
            // `c++ a.c` compiles C++, unless it is told otherwise.
            let language = match (driver, asked.or_else(|| Language::of(source))) {
                (Language::Cxx, _) if asked.is_none() => Language::Cxx,
                (_, found) => found.unwrap_or(driver),
            };
            let unit = Unit {
                compiler,
                source,
                language,
                tell: asked.is_some(),
                flags: &flags,
                assemble: &self.sorted.assemble,
                object: &object,
                keep_notes: true,
            };
            unit.compile()?;
            Ok(fat::encode(language, &link::read(&object)?))
        };
        self.sorted.sources.iter().map(one).collect()
    }
}

/// Adds to the section of an object or program, which may have one.
fn attach(output: &Path, bytes: Vec<u8>) -> Result<(), BuildError> {
    // Tests of configure compile to `/dev/null`.
    if !output.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(());
    }
    let data = link::read(output)?;
    let present = link::section(&link::parse(output, &data)?, fat::SECTION).map(<[u8]>::to_vec);
    let how = if present.is_some() { "--update-section" } else { "--add-section" };
    let mut all = present.unwrap_or_default();
    all.extend(bytes);
    let directory = tempfile::tempdir().map_err(BuildError::file("create", "a temporary directory"))?;
    let file = directory.path().join("section");
    fs::write(&file, all).map_err(BuildError::file("write", &file))?;
    let names = ["objcopy", "llvm-objcopy", "llvm-objcopy-18", "llvm-objcopy-16", "llvm-objcopy-15", "llvm-objcopy-14"];
    let tool = names.iter().find_map(|name| find_program(OsStr::new(name)));
    let mut command = Command::new(tool.unwrap_or_else(|| "objcopy".into()));
    let mut what = OsString::from(format!("{}=", fat::SECTION));
    what.push(&file);
    command.arg(how).arg(what).arg("--set-section-flags").arg(format!("{}=readonly,noload", fat::SECTION)).arg(output);
    let outcome = compiler::run(command, None)?;
    if outcome.status.success() {
        return Ok(());
    }
    Err(BuildError::Assemble { file: output.to_owned(), stderr: outcome.stderr })
}

/// Replaces `@file` by the words in it, as the compiler does, so that we see them too.
fn with_response_files(arguments: &[OsString], depth: u32) -> Vec<OsString> {
    let mut out = Vec::new();
    for word in arguments {
        let text = word.to_str().and_then(|word| word.strip_prefix('@')).and_then(|path| fs::read_to_string(path).ok());
        match text {
            // The compilers stop somewhere too.
            Some(text) if depth < 16 => out.extend(with_response_files(&words(&text), depth + 1)),
            _ => out.push(word.clone()),
        }
    }
    out
}

/// Words as in a shell, with quotes and backslashes.
fn words(text: &str) -> Vec<OsString> {
    let (mut out, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match (sign, quote) {
            ('\\', _) => word.get_or_insert_default().extend(signs.next()),
            ('"' | '\'', None) => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (sign, Some(open)) if sign == open => quote = None,
            (sign, None) if sign.is_whitespace() => out.extend(word.take().map(OsString::from)),
            (sign, _) => word.get_or_insert_default().push(sign),
        }
    }
    out.extend(word.map(OsString::from));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Option<Plan> {
        Plan::of(&words(text))
    }

    #[test]
    fn only_compilations_are_run_twice() {
        for text in [
            "",
            "--version",
            "-E a.c",
            "-S a.c",
            "-M a.c",
            "a.o b.o -o prog",
            "-c a.s",
            "-c a.S",
            "-print-prog-name=ld",
            "-x c -",
        ] {
            assert!(plan(text).is_none(), "{text}");
        }
        for text in ["-c a.c", "a.c -o prog", "-MD -MF d -c a.cpp", "-xc++ -c a.inc"] {
            assert!(plan(text).is_some(), "{text}");
        }
    }

    #[test]
    fn the_output_is_where_the_compiler_puts_it() {
        let object = |text: &str| plan(text).map(|plan| plan.object(&plan.sorted.sources[0].0));
        assert_eq!(object("-c src/a.c"), Some("a.o".into()));
        assert_eq!(object("-c src/a.c -o x/b.obj"), Some("x/b.obj".into()));
        assert_eq!(object("-c -ob.o src/a.c"), Some("b.o".into()));
        assert_eq!(object("-c src/a.b.cpp"), Some("a.b.o".into()));
    }

    #[test]
    fn response_files_are_read_as_the_compiler_reads_them() {
        assert_eq!(words("a 'b c' \"d\\\"e\" f\\ g ''"), ["a", "b c", "d\"e", "f g", ""].map(OsString::from));
    }
}
