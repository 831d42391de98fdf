//! The files that the words of a command line mean: a file, a directory, or `@LIST`, a file of names.

use membar::{Failure, Problem};
use std::io;
use std::path::{Path, PathBuf};

/// Faults of lists.
const NO_NAMES: &str = "this list names no files";
const LOOP: &str = "this list contains itself, or lists are nested too deeply";

/// Directories inside directories, and lists inside lists, at most.
const NESTED: usize = 64;

/// A kind of file that is looked for in directories.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Is this one?
    pub wanted: fn(&Path) -> bool,
    /// The message where a directory has none.
    pub none: &'static str,
}

/// Recorded executions.
pub const TRACES: Kind =
    Kind { wanted: is_trace, none: "there is no trace in this directory (.trace or .axe, also .gz and .zst)" };

/// Litmus tests.
pub const LITMUS_TESTS: Kind =
    Kind { wanted: |path| ends(path, "litmus"), none: "there is no .litmus file in this directory" };

/// Everything that can be verified.
pub const PROGRAMS: Kind = Kind {
    wanted: |path| membar::programs::is_source(path) || ends(path, "litmus"),
    none: "there are no C or C++ sources and no litmus tests in this directory",
};

fn ends(path: &Path, with: &str) -> bool {
    path.extension().is_some_and(|end| end == with)
}

fn is_trace(path: &Path) -> bool {
    let plain = if ends(path, "gz") || ends(path, "zst") { path.file_stem().map(Path::new) } else { Some(path) };
    plain.is_some_and(|path| ["trace", "axe"].iter().any(|end| ends(path, end)))
}

/// A file, directory or list that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The path.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl From<Unreadable> for Failure {
    fn from(Unreadable { path, error }: Unreadable) -> Failure {
        let (message, help) = match error.to_string() {
            none if path.is_dir() && path.read_dir().is_ok() => (none, "name the files, or another directory"),
            none if none == NO_NAMES => (none, "give one name per line; `#` begins a comment"),
            many if many == LOOP => (many, "remove the line with `@` that leads back"),
            why => (format!("cannot read the file: {why}"), "check that it exists and can be read"),
        };
        Problem::failure(&path.to_string_lossy(), 0, &message, help)
    }
}

/// Does this word name a list of files?
pub fn is_list(word: &Path) -> bool {
    word.to_string_lossy().starts_with('@') && !word.exists()
}

/// Adds the files that a word stands for: itself, those in a directory, or those of a list.
pub fn collect(word: &Path, kind: Kind, files: &mut Vec<PathBuf>) -> Result<(), Unreadable> {
    collect_within(word, kind, 0, files)
}

fn collect_within(word: &Path, kind: Kind, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Unreadable> {
    if word.is_dir() {
        let unreadable = |error| Unreadable { path: word.to_owned(), error };
        let before = files.len();
        directory(word, 0, kind, files).map_err(unreadable)?;
        if files.len() == before {
            return Err(unreadable(io::Error::new(io::ErrorKind::NotFound, kind.none)));
        }
        return Ok(());
    }
    let text = word.to_string_lossy();
    let Some(list) = text.strip_prefix('@').filter(|_| !word.exists()) else {
        files.push(word.to_owned());
        return Ok(());
    };
    let list = Path::new(list);
    let unreadable = |error| Unreadable { path: list.to_owned(), error };
    if depth > NESTED {
        return Err(unreadable(io::Error::other(LOOP)));
    }
    let entries = std::fs::read_to_string(list).map_err(unreadable)?;
    let base = list.parent().unwrap_or(Path::new(""));
    let before = files.len();
    for line in entries.lines() {
        let entry = line.split('#').next().unwrap_or("").trim();
        if !entry.is_empty() {
            collect_within(&joined(base, entry), kind, depth + 1, files)?;
        }
    }
    if files.len() == before {
        return Err(unreadable(io::Error::other(NO_NAMES)));
    }
    Ok(())
}

/// An entry of a list in this directory; it may be a list itself.
fn joined(base: &Path, entry: &str) -> PathBuf {
    match entry.strip_prefix('@') {
        Some(list) if !base.join(entry).exists() => {
            let mut path = std::ffi::OsString::from("@");
            path.push(base.join(list));
            path.into()
        }
        _ => base.join(entry),
    }
}

fn directory(path: &Path, depth: usize, kind: Kind, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = std::fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // Links to directories are left alone: they may lead back.
        if entry.file_type()?.is_dir() {
            if depth < NESTED {
                directory(&path, depth + 1, kind, files)?;
            }
        } else if (kind.wanted)(&path) {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_files_directories_and_lists() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("in/side")).expect("made");
        for name in ["in/b.axe.gz", "in/side/a.trace", "in/notes.md", "in/t.litmus", "one"] {
            std::fs::write(at(name), "").expect("written");
        }
        std::fs::write(at("list"), "one # a comment\n\n@again\n").expect("written");
        std::fs::write(at("again"), "in\n").expect("written");
        std::fs::write(at("round"), "@round\n").expect("written");
        std::fs::write(at("empty"), "# nothing\n").expect("written");
        let found = |word: PathBuf, kind| {
            let mut files = Vec::new();
            collect(&word, kind, &mut files).map(|()| files).map_err(|unreadable| unreadable.error.to_string())
        };
        let list = |name: &str| PathBuf::from(format!("@{}", at(name).display()));
        let traces = vec![at("in/b.axe.gz"), at("in/side/a.trace")];
        assert_eq!(found(at("in"), TRACES), Ok(traces.clone()));
        assert_eq!(found(list("list"), TRACES), Ok([vec![at("one")], traces].concat()));
        assert_eq!(found(at("in"), LITMUS_TESTS), Ok(vec![at("in/t.litmus")]));
        assert_eq!(found(at("in/side"), PROGRAMS), Err(PROGRAMS.none.to_owned()));
        assert!(found(list("round"), TRACES).is_err_and(|error| error == LOOP));
        assert_eq!(found(list("empty"), TRACES), Err(NO_NAMES.to_owned()));
        assert!(found(list("missing"), TRACES).is_err());
    }
}
