//! The machine's own compilers: which there are, and how they are called.

use super::{BuildError, Language};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::{env, fmt, thread};

/// Set in the environment of all compilers that we call.
const INSIDE: &str = "MEMBAR_INSIDE";

/// The maker of the compiler: they differ in a few flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Maker {
    Gcc,
    Clang,
}

/// A compiler that can be called.
#[derive(Clone, Debug)]
pub(super) struct Compiler {
    pub(super) maker: Maker,
    /// `12.2.0`
    pub(super) version: String,
    program: OsString,
    /// Of `CC="ccache gcc -m64"`, all but the first word.
    arguments: Vec<OsString>,
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Maker::Gcc => "gcc",
            Maker::Clang => "clang",
        })
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.maker, self.version)
    }
}

/// The results of a program that was run.
pub(super) struct Outcome {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

/// The full path of a program, as the shell would find it.
pub(super) fn find_program(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return path.is_file().then(|| path.to_owned());
    }
    env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Whether a program is this one: `CC="membar cc"` is in the environment of all that make starts.
fn is_ourselves(program: &Path) -> bool {
    let same = env::current_exe().ok().and_then(|own| own.canonicalize().ok()) == program.canonicalize().ok();
    same || program.file_stem() == Some(OsStr::new("membar"))
}

impl Compiler {
    /// The one the caller asks for, or the one of the environment, or the first that exists.
    pub(super) fn find(language: Language, asked: Option<&OsStr>, variables: &[&str]) -> Result<Compiler, BuildError> {
        // A script of another name may lead back to us; then the variables are of no use.
        let variables = if env::var_os(INSIDE).is_some() { &[] } else { variables };
        let named = asked
            .map(OsStr::to_owned)
            .or_else(|| variables.iter().filter_map(env::var_os).find(|value| !value.is_empty() && !names_us(value)));
        if let Some(named) = named {
            let mut words = split_words(&named).into_iter();
            let program = words.next().unwrap_or_default();
            if find_program(&program).is_none() {
                return Err(BuildError::NoCompiler { language, tried: format!("`{}`", program.to_string_lossy()) });
            }
            return Compiler::ask(program, words.collect());
        }
        let names = match language {
            Language::C => ["cc", "gcc", "clang"],
            Language::Cxx => ["c++", "g++", "clang++"],
        };
        match names.iter().find(|name| find_program(OsStr::new(name)).is_some_and(|path| !is_ourselves(&path))) {
            Some(name) => Compiler::ask(name.into(), Vec::new()),
            None => {
                let tried = names.map(|name| format!("`{name}`")).join(", ");
                Err(BuildError::NoCompiler { language, tried })
            }
        }
    }

    fn ask(program: OsString, arguments: Vec<OsString>) -> Result<Compiler, BuildError> {
        let mut compiler = Compiler { maker: Maker::Gcc, version: String::new(), program, arguments };
        // In the language that we can read.
        let mut command = compiler.command(&["--version".into()]);
        command.env("LC_ALL", "C");
        let answer = run(command, None)?;
        let text = String::from_utf8_lossy(&answer.stdout);
        match maker_and_version(&text) {
            Some((maker, version)) => (compiler.maker, compiler.version) = (maker, version),
            None => {
                return Err(BuildError::UnknownCompiler {
                    program: compiler.program.to_string_lossy().into_owned(),
                    answer: text.lines().next().unwrap_or("no answer to `--version`").to_owned(),
                });
            }
        }
        Ok(compiler)
    }

    /// A call that is not made yet.
    pub(super) fn command(&self, arguments: &[OsString]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(arguments).env(INSIDE, "1");
        command
    }

    /// Calls it and takes what it writes. It fails only if it cannot be called, or was killed.
    pub(super) fn run(&self, arguments: &[OsString], input: Option<&[u8]>) -> Result<Outcome, BuildError> {
        run(self.command(arguments), input)
    }
}

/// Runs a program and takes what it writes.
pub(super) fn run(mut command: Command, input: Option<&[u8]>) -> Result<Outcome, BuildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let spawn = |source| BuildError::Spawn { program: program.clone(), source };
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(spawn)?;
    let stdin = child.stdin.take();
    let output = thread::scope(|scope| {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // A program that does not read to the end has failed, and says why itself.
            scope.spawn(move || drop(stdin.write_all(input)));
        }
        child.wait_with_output()
    });
    let output = output.map_err(spawn)?;
    if output.status.code().is_none() {
        return Err(BuildError::Killed { program, status: output.status });
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Outcome { status: output.status, stdout: output.stdout, stderr })
}

/// Whether the value of `CC` is `membar cc`.
fn names_us(value: &OsStr) -> bool {
    split_words(value).first().and_then(|program| find_program(program)).is_some_and(|path| is_ourselves(&path))
}

fn split_words(text: &OsStr) -> Vec<OsString> {
    // A path with spaces that exists is one word.
    if Path::new(text).is_file() {
        return vec![text.to_owned()];
    }
    match text.to_str() {
        Some(text) => text.split_whitespace().map(OsString::from).collect(),
        None => vec![text.to_owned()],
    }
}

/// From the answer to `--version`, or from `.comment`.
pub(super) fn maker_and_version(text: &str) -> Option<(Maker, String)> {
    let first = text.lines().next()?;
    let number = |word: &&str| word.contains('.') && word.as_bytes()[0].is_ascii_digit();
    let clean = |word: &str| word.split(['-', '+', '~']).next().unwrap_or(word).to_owned();
    if let Some((_, rest)) = first.split_once("clang version ") {
        return Some((Maker::Clang, clean(rest.split_whitespace().next()?)));
    }
    // The name is that of the link it was called by, so what tells gcc from other GNU programs is its licence.
    if text.contains("see the source for copying conditions") || first.starts_with("GCC:") {
        // `gcc (Debian 12.2.0-14) 12.2.0`: the last number, but `13.2.1 20240316 (Red Hat 13.2.1-7)` puts a date behind.
        let outside = first.split(['(', ')']).enumerate().filter(|(at, _)| at % 2 == 0).map(|(_, text)| text);
        let version = outside.flat_map(str::split_whitespace).filter(number).last();
        return Some((Maker::Gcc, clean(version.or_else(|| first.split_whitespace().rfind(number))?)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_recognised() {
        let gcc = |first: &str| {
            maker_and_version(&format!("{first}\nThis is free software; see the source for copying conditions."))
        };
        assert_eq!(gcc("gcc (Debian 12.2.0-14+deb12u1) 12.2.0"), Some((Maker::Gcc, "12.2.0".into())));
        assert_eq!(gcc("gcc (GCC) 13.2.1 20240316 (Red Hat 13.2.1-7)"), Some((Maker::Gcc, "13.2.1".into())));
        assert_eq!(maker_and_version("Debian clang version 14.0.6"), Some((Maker::Clang, "14.0.6".into())));
        assert_eq!(
            maker_and_version("Ubuntu clang version 18.1.3 (1ubuntu1)\nTarget: x"),
            Some((Maker::Clang, "18.1.3".into()))
        );
        assert_eq!(maker_and_version("GCC: (Debian 12.2.0-14) 12.2.0"), Some((Maker::Gcc, "12.2.0".into())));
        assert_eq!(maker_and_version("tcc version 0.9.27"), None);
        assert_eq!(
            maker_and_version("true (GNU coreutils) 9.1\nThis is free software: you are free to change it."),
            None
        );
        assert_eq!(maker_and_version(""), None);
    }
}
