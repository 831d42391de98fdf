//! What an execution makes in the file system, and has not removed when it is left.
//!
//! # Problem
//!
//! An execution may be left in the middle, before the program has removed its directory for temporary files. The next one asks for a directory
//! of the same name, since it is given the same random numbers, and finds that it exists: it is another program then, and never the same one again.
//!
//! # Algorithm
//!
//! Before the program makes a directory, or a file that must not exist (`O_EXCL`), and nothing of the name is there, the name is noted. When the next
//! execution begins, what is noted and still there is removed, the last first: a directory with all that is in it.
//!
//! # Invariants
//!
//! A path that is noted is absolute, and nothing of its name was there when the program was about to make it.
//!
//! # Guarantees
//!
//! Nothing is removed that was there before the execution began, unless the program, or somebody else, has moved it to a place that is noted.
//! Links are removed, not followed. What the last execution leaves stays.
//!
//! # Limits
//!
//! Files that are opened to be overwritten, renamed or removed are not restored. What is made relative to an open directory (`mkdirat`), or
//! by a name that is not UTF-8, is not noted.
//!
//! # Complexity
//!
//! One look at the file system for each call, and one for each path that is noted.

use std::ffi::CStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A function that makes something, and its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maker {
    /// The path.
    Directory,
    /// A directory that the path is relative to, and the path.
    DirectoryAt,
    /// The path, and flags.
    Open,
    /// A directory that the path is relative to, the path, and flags.
    OpenAt,
}

impl Maker {
    pub fn of(name: &str) -> Option<Maker> {
        Some(match name {
            "mkdir" => Maker::Directory,
            "mkdirat" => Maker::DirectoryAt,
            "open" | "open64" => Maker::Open,
            "openat" | "openat64" => Maker::OpenAt,
            _ => return None,
        })
    }

    /// What a call with these arguments is to make, if it is not there yet.
    pub fn makes(self, arguments: [usize; 3]) -> Option<PathBuf> {
        let (at, flags) = match self {
            Maker::Directory => (arguments[0], None),
            Maker::DirectoryAt => (arguments[1], None),
            Maker::Open => (arguments[0], Some(arguments[1])),
            Maker::OpenAt => (arguments[1], Some(arguments[2])),
        };
        let exclusive = (libc::O_CREAT | libc::O_EXCL) as usize;
        if at == 0 || flags.is_some_and(|flags| flags & exclusive != exclusive) {
            return None;
        }
        // SAFETY: a string of the program's, which it is about to give to the system.
        let path = unsafe { CStr::from_ptr(at as *const std::ffi::c_char) }.to_str().ok().map(Path::new)?;
        let here = matches!(self, Maker::Directory | Maker::Open) || arguments[0] as i32 == libc::AT_FDCWD;
        let path = (here || path.is_absolute()).then(|| std::path::absolute(path).ok())??;
        fs::symlink_metadata(&path).is_err().then_some(path)
    }
}

/// Removes what an execution has made, last things first.
pub fn remove(made: &mut Vec<PathBuf>) {
    for path in made.drain(..).rev() {
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        // What cannot be removed is in the way of the next execution, which says so.
        let _ = if about.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn only_what_was_not_there_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::create_dir(&old).expect("made");
        let text = |path: &Path| CString::new(path.to_str().expect("text")).expect("no zero");
        let (old_text, new_text) = (text(&old), text(&new));
        let makes = |maker: Maker, path: &CString, flags: usize| maker.makes([path.as_ptr() as usize, flags, 0]);
        assert_eq!(makes(Maker::Directory, &old_text, 0), None);
        assert_eq!(makes(Maker::Open, &new_text, libc::O_CREAT as usize), None);
        assert_eq!(makes(Maker::Open, &new_text, (libc::O_CREAT | libc::O_EXCL) as usize), Some(new.clone()));
        let mut made: Vec<PathBuf> = makes(Maker::Directory, &new_text, 0).into_iter().collect();
        fs::create_dir(&new).expect("made");
        fs::write(new.join("x"), "").expect("written");
        remove(&mut made);
        assert!(old.exists() && !new.exists() && made.is_empty());
    }
}
