//! Violations that the user allows: which comments and flags there are, and which violations they are about.

use crate::report::kinds::AllowedBy;
use crate::report::verify::{AccessRef, AllowRef, ViolationRef, allowing_comments};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A line whose violations do not count: `FILE:LINE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllowLine {
    /// The file, or the end of its path.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
}

impl FromStr for AllowLine {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<AllowLine, &'static str> {
        const EXPECTED: &str = "expected a file and a line, as in queue.c:31";
        let (file, line) = text.rsplit_once(':').ok_or(EXPECTED)?;
        let line = line.parse().ok().filter(|&line| line > 0).ok_or(EXPECTED)?;
        if file.is_empty() { Err(EXPECTED) } else { Ok(AllowLine { file: file.into(), line }) }
    }
}

/// Something that allows violations.
pub struct Allow {
    /// As reports show it.
    pub told: AllowRef,
    /// The line of code that it is about.
    line: u32,
}

/// The files of the accesses of a violation.
pub fn files(violation: &ViolationRef) -> Vec<String> {
    ends(violation).map(|access| access.file.clone()).collect()
}

/// The accesses that a violation is about, from whichever end it was found.
fn ends(violation: &ViolationRef) -> impl Iterator<Item = &AccessRef> {
    let also = violation.also.iter().flat_map(|end| [&end.store, &end.access]);
    [&violation.store, &violation.access].into_iter().chain(also)
}

/// What allows violations in these files, each once, and what flags name.
pub fn all(files: &[String], flags: &[AllowLine]) -> Vec<Allow> {
    let mut named: BTreeMap<PathBuf, &String> = BTreeMap::new();
    for file in files {
        named.entry(known(file)).or_insert(file);
    }
    let comments = named.values().flat_map(|file| {
        let text = crate::source(file).unwrap_or_default();
        allowing_comments(&text).into_iter().map(|(comment, line)| Allow {
            told: AllowRef { file: (*file).clone(), line: comment, by: AllowedBy::Comment },
            line,
        })
    });
    let flags = flags.iter().map(|AllowLine { file, line }| {
        let file = file.to_string_lossy().into_owned();
        Allow { told: AllowRef { file, line: *line, by: AllowedBy::Flag }, line: *line }
    });
    comments.chain(flags).collect()
}

/// Notes at each violation where it is allowed, and puts those that are allowed behind the others.
pub fn mark(violations: &mut [ViolationRef], flags: &[AllowLine]) {
    let files: Vec<String> = violations.iter().flat_map(files).collect();
    let allows = all(&files, flags);
    for violation in violations.iter_mut() {
        let covers = |allow: &&Allow| ends(violation).any(|access| allow.covers(access));
        let allowed: Vec<AllowRef> = allows.iter().filter(covers).map(|allow| allow.told.clone()).collect();
        violation.allowed = allowed;
    }
    violations.sort_by_key(|violation| !violation.allowed.is_empty());
}

impl Allow {
    fn covers(&self, access: &AccessRef) -> bool {
        let same = match self.told.by {
            AllowedBy::Comment => known(&self.told.file) == known(&access.file),
            // A path that goes up says where the file is, not how its name ends.
            AllowedBy::Flag => {
                Path::new(&access.file).ends_with(&self.told.file) || known(&self.told.file) == known(&access.file)
            }
        };
        same && self.line == access.line
    }
}

/// The file, by whatever name.
fn known(file: &str) -> PathBuf {
    std::fs::canonicalize(file).unwrap_or_else(|_| file.into())
}
