//! Edits of the standard library's sources (`quiet.patch`).
//!
//! Problem: the library differs a little from one toolchain to the next, and an edit must never go to the wrong place.
//!
//! Algorithm: each edit names a text that has to be in its file exactly once, and is replaced. Edits of one group depend on each other
//! (they share a file, and the first of them declares what others use), so a file takes all of its edits or none.
//!
//! Guarantees: an edit that does not fit is reported, its file stays as it was, and the library is louder, not wrong. Edits whose
//! counterpart is in another file that took none are dropped with it: [`TIED`].

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// The edits.
pub(super) const TEXT: &str = include_str!("quiet.patch");

/// A file that is added, and its text; edits of [`TIED`] files use it.
pub(super) const CHANNEL: (&str, &str) = ("std/src/sync/mpmc/quiet.rs", include_str!("channel.rs"));

/// Files whose edits use each other.
const TIED: &[&[&str]] = &[
    &[
        "std/src/panicking.rs",
        "std/src/rt.rs",
        "std/src/sys/thread/unix.rs",
        "std/src/sys/thread_local/key/racy.rs",
        "std/src/thread/lifecycle.rs",
        "std/src/thread/scoped.rs",
    ],
    &["std/src/sys/thread_local/mod.rs", "std/src/sys/thread_local/key/unix.rs"],
    &["std/src/sync/mpmc/array.rs", "std/src/sync/mpmc/counter.rs", "std/src/sync/mpmc/mod.rs"],
];

/// One edit.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Edit<'a> {
    why: &'a str,
    file: &'a str,
    find: &'a str,
    make: &'a str,
}

/// Takes the text apart.
fn edits(text: &str) -> Vec<Edit<'_>> {
    let parse = |part| -> Option<Edit<'_>> {
        let (why, rest) = str::split_once(part, "\nfile ")?;
        let (file, rest) = rest.split_once("\nfind\n")?;
        let (find, rest) = rest.split_once("\nmake\n")?;
        let make = rest.rsplit_once("end")?.0;
        Some(Edit { why, file, find, make: make.strip_suffix('\n').unwrap_or(make) })
    };
    text.split("\n## ").skip(1).filter_map(parse).collect()
}

/// Edits the sources below a directory. What could not be done, in words.
pub(super) fn apply(library: &Path) -> io::Result<Vec<String>> {
    let mut files: BTreeMap<&str, Result<String, String>> = BTreeMap::new();
    for edit in edits(TEXT) {
        let read = || fs::read_to_string(library.join(edit.file)).map_err(|_| format!("there is no {}", edit.file));
        let text = files.entry(edit.file).or_insert_with(read);
        if let Ok(old) = text {
            *text = match old.matches(edit.find).count() {
                1 => Ok(old.replacen(edit.find, edit.make, 1)),
                _ => Err(format!("{}: not as expected where {}", edit.file, edit.why)),
            };
        }
    }
    for tied in TIED {
        let failed = |file: &&&str| files.get(**file).is_some_and(Result::is_err);
        if let Some(cause) = tied.iter().find(failed) {
            for file in tied.iter().filter(|file| *file != cause) {
                if let Some(text @ Ok(_)) = files.get_mut(file) {
                    *text = Err(format!("{file}: left as it is, since {cause} is"));
                }
            }
        }
    }
    fs::write(library.join(CHANNEL.0), CHANNEL.1)?;
    let mut failures = Vec::new();
    for (file, text) in files {
        match text {
            Ok(text) => fs::write(library.join(file), text)?,
            Err(why) => failures.push(why),
        }
    }
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edit_is_read() {
        let edits = edits(TEXT);
        assert_eq!(edits.len(), TEXT.lines().filter(|line| line.starts_with("## ")).count());
        assert!(edits.len() > 30);
        for edit in edits {
            assert!(edit.file.ends_with(".rs") && !edit.find.is_empty() && edit.find != edit.make, "{edit:?}");
            assert!(!edit.find.contains("\nmake") && !edit.make.contains("\n## "), "{edit:?}");
        }
    }

    #[test]
    fn a_file_takes_all_of_its_edits_or_none() {
        let dir = tempfile::tempdir().unwrap();
        for edit in edits(TEXT) {
            let path = dir.path().join(edit.file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let before = fs::read_to_string(&path).unwrap_or_default();
            fs::write(&path, format!("{before}\n{}\n", edit.find)).unwrap();
        }
        let twice = dir.path().join("std/src/sys/sync/mutex/futex.rs");
        let before = fs::read_to_string(&twice).unwrap().repeat(2);
        fs::write(&twice, &before).unwrap();
        fs::remove_file(dir.path().join("std/src/thread/scoped.rs")).unwrap();
        let tied = fs::read_to_string(dir.path().join("std/src/rt.rs")).unwrap();
        let failures = apply(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(&twice).unwrap(), before);
        assert_eq!(fs::read_to_string(dir.path().join("std/src/rt.rs")).unwrap(), tied);
        assert!(fs::read_to_string(dir.path().join("std/src/io/stdio.rs")).unwrap().contains("Stdout::new"));
        assert!(failures.iter().any(|why| why.starts_with("std/src/sys/sync/mutex/futex.rs: not as expected where")));
        assert!(
            failures.iter().any(|why| why == "std/src/rt.rs: left as it is, since std/src/thread/scoped.rs is"),
            "{failures:?}"
        );
    }
}
