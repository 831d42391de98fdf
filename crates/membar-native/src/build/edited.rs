//! Sources with edits, beside the user's own, which stay as they are.
//!
//! # Problem
//!
//! An edited file must be compiled as if it stood in the place of the original: its own includes, and files that include it,
//! must find the same files.
//!
//! # Algorithm
//!
//! The compiler lists the files of the user's that each source needs (`-MM`). All of them are copied, edited where that
//! is asked for, to their own absolute paths below a scratch directory, and each directory of an `-I` flag is searched for
//! there first. So files that are next to each other stay next to each other, and what is not copied is found where it was.
//!
//! # Guarantees
//!
//! Nothing outside of the scratch directory is written.

use super::compiler::Compiler;
use super::{BuildError, Language, Request, flags, is_source};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Sources and flags for a [`Request`] that builds the same program with these texts for these files.
pub fn edited(request: &Request<'_>, edits: &[(PathBuf, String)]) -> Result<(Vec<PathBuf>, Vec<OsString>), BuildError> {
    let root = request.dir.join("edited");
    let edits: Vec<(PathBuf, &str)> = edits.iter().map(|(file, text)| (absolute(file), text.as_str())).collect();
    let sorted = flags::sort(request.flags);
    let mut sources: Vec<PathBuf> = request.sources.to_vec();
    sources.extend(sorted.sources.iter().map(|(source, _)| source.clone()));
    for source in &sources {
        let language = Language::of(source).unwrap_or(Language::C);
        let asked = if language == Language::C { &request.cc } else { &request.cxx };
        let compiler = Compiler::find(language, asked.as_deref(), language.variables())?;
        let mut arguments = sorted.compile.clone();
        arguments.extend(["-MM".into(), source.into()]);
        let listed = compiler.run(&arguments, None)?;
        let files = prerequisites(&String::from_utf8_lossy(&listed.stdout));
        for file in files.iter().map(|file| absolute(Path::new(file))).chain([absolute(source)]) {
            let to = below(&root, &file);
            if let Some(directory) = to.parent() {
                fs::create_dir_all(directory).map_err(BuildError::file("write", directory))?;
            }
            match edits.iter().find(|(edited, _)| *edited == file) {
                Some((_, text)) => fs::write(&to, text).map_err(BuildError::file("write", &to))?,
                None => drop(fs::copy(&file, &to).map_err(BuildError::file("read", &file))?),
            }
        }
    }
    let mut new: Vec<OsString> = Vec::new();
    for directory in directories(request.flags) {
        new.extend(["-I".into(), below(&root, &absolute(&directory)).into()]);
    }
    let copied = |word: &OsStr| sources.iter().any(|source| source == Path::new(word)) && is_source(Path::new(word));
    for flag in request.flags {
        new.push(if copied(flag) { below(&root, &absolute(Path::new(flag))).into() } else { flag.clone() });
    }
    for source in &sources {
        if let Some(directory) = absolute(source).parent() {
            new.extend(["-iquote".into(), directory.into()]);
        }
    }
    let mut map = OsString::from("-ffile-prefix-map=");
    map.push(&root);
    map.push("=");
    new.push(map);
    Ok((request.sources.iter().map(|source| below(&root, &absolute(source))).collect(), new))
}

/// The path from the root, without `.` and `..`.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}

pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// The directories in which the flags have headers looked for.
fn directories(flags: &[OsString]) -> Vec<PathBuf> {
    const FLAGS: [&str; 4] = ["-I", "-iquote", "-isystem", "-idirafter"];
    let mut found = Vec::new();
    let mut words = flags.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if FLAGS.contains(&&*text) {
            found.extend(words.next().map(PathBuf::from));
        } else if let Some(directory) = FLAGS.iter().find_map(|flag| text.strip_prefix(flag)) {
            found.push(PathBuf::from(directory));
        }
    }
    found
}

/// The files that a rule of make depends on.
fn prerequisites(rule: &str) -> Vec<String> {
    let rule = rule.replace("\\\n", " ");
    let Some((_, list)) = rule.split_once(": ") else { return Vec::new() };
    let mut files = vec![String::new()];
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = files.last_mut().expect("never empty");
        match letter {
            '\\' if matches!(letters.peek(), Some(' ' | '#' | '\\')) => last.extend(letters.next()),
            '$' if letters.peek() == Some(&'$') => last.extend(letters.next()),
            letter if letter.is_whitespace() => files.push(String::new()),
            letter => last.push(letter),
        }
    }
    files.retain(|file| !file.is_empty());
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_make() {
        let rule = "a.o: a.c inc/b.h \\\n  my\\ file.h ../c.h\n";
        assert_eq!(prerequisites(rule), ["a.c", "inc/b.h", "my file.h", "../c.h"]);
        assert!(prerequisites("").is_empty());
    }

    #[test]
    fn paths_are_without_detours() {
        assert_eq!(absolute(Path::new("/a/./b/../c.h")), Path::new("/a/c.h"));
        assert_eq!(below(Path::new("/t"), Path::new("/a/c.h")), Path::new("/t/a/c.h"));
    }

    #[test]
    fn directories_of_headers() {
        let flags: Vec<OsString> = ["-Iinc", "-O2", "-I", "x", "-isystem", "y", "-DI"].map(Into::into).into();
        assert_eq!(directories(&flags), [Path::new("inc"), Path::new("x"), Path::new("y")]);
    }
}
