//! What an execution makes in the file system, and has not removed when it is left.
//!
//! # Problem
//!
//! An execution may be left in the middle, before the program has removed its directory for temporary files. The next one asks for a directory
//! of the same name, since it is given the same random numbers, and finds that it exists: it is another program then, and never the same one again.
//!
//! # Algorithm
//!
//! Before the program makes a directory, or a file that must not exist (`O_EXCL`), and nothing of the name is there, the name is noted, and the
//! time. When the next execution begins, what is noted and still there is removed: a directory with all that is in it. But whatever is older than
//! the note stays, and the directories that it is in: the program has moved or linked it there.
//!
//! Names are noted with all links to the directory followed, so that it does not matter where these lead later. A file is as old as the earlier
//! of its birth and its last change: a file system in layers copies a file when it is moved, and then it is born again.
//!
//! # Guarantees
//!
//! Nothing is removed that was there before the execution began. Links are removed, not followed. What the last execution leaves stays.
//! Where the file system does not know when files were born, nothing is removed.
//!
//! # Limits
//!
//! Files that are opened to be overwritten, renamed or removed are not restored.
//! Several workers run the program at the same time, and find each other's files: then it is not deterministic.
//!
//! # Complexity
//!
//! A few looks at the file system for each call, and one for each thing that is removed.

use std::ffi::{CStr, OsStr};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What an execution may have made.
#[derive(Debug)]
pub struct Made {
    path: PathBuf,
    /// Nothing was there at this time.
    since: SystemTime,
}

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
    pub fn makes(self, arguments: [usize; 3]) -> Option<Made> {
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
        let path = unsafe { CStr::from_ptr(at as *const std::ffi::c_char) };
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        let base = match (self, arguments[0] as i32) {
            (Maker::Directory | Maker::Open, _) | (_, libc::AT_FDCWD) => std::env::current_dir().ok()?,
            (_, directory) => fs::read_link(format!("/proc/self/fd/{directory}")).ok()?,
        };
        let path = base.join(path);
        let path = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
        let since = now()?;
        fs::symlink_metadata(&path).is_err().then_some(Made { path, since })
    }
}

/// The time as file systems take it, which lags a little behind that of other clocks.
fn now() -> Option<SystemTime> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is as long as it says.
    let known = unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut time) } == 0;
    let since = Duration::new(u64::try_from(time.tv_sec).ok()?, time.tv_nsec as u32);
    known.then_some(SystemTime::UNIX_EPOCH + since)
}

/// Removes what an execution has made, last things first.
pub fn remove(made: &mut Vec<Made>) {
    for Made { path, since } in made.drain(..).rev() {
        remove_new(&path, since);
    }
}

/// Removes what is here if it is not older than that. What cannot be removed is in the way of the next execution, which says so.
fn remove_new(path: &Path, since: SystemTime) {
    let Ok(about) = fs::symlink_metadata(path) else { return };
    let is_new = |time: fn(&Metadata) -> std::io::Result<SystemTime>| time(&about).is_ok_and(|time| time >= since);
    if !is_new(Metadata::created) || !is_new(Metadata::modified) {
        return;
    }
    if !about.is_dir() {
        let _ = fs::remove_file(path);
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        remove_new(&entry.path(), since);
    }
    // Unless something is left in it.
    let _ = fs::remove_dir(path);
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
        assert!(makes(Maker::Directory, &old_text, 0).is_none());
        assert!(makes(Maker::Open, &new_text, libc::O_CREAT as usize).is_none());
        assert!(makes(Maker::Open, &new_text, (libc::O_CREAT | libc::O_EXCL) as usize).is_some());
        let mut made: Vec<Made> = makes(Maker::Directory, &new_text, 0).into_iter().collect();
        fs::create_dir(&new).expect("made");
        fs::write(new.join("x"), "").expect("written");
        remove(&mut made);
        assert!(old.exists() && !new.exists() && made.is_empty());
    }

    /// A directory in which `old`, `from/old` and `to` are, some time ago, and `link` leads to `from`.
    fn before() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        for made in ["from", "to", "to/new"] {
            fs::create_dir(dir.path().join(made)).expect("made");
        }
        for written in ["old", "from/old", "to/new/old"] {
            fs::write(dir.path().join(written), "").expect("written");
        }
        std::os::unix::fs::symlink("from", dir.path().join("link")).expect("linked");
        std::thread::sleep(Duration::from_millis(50));
        dir
    }

    fn note(path: &Path) -> Vec<Made> {
        let text = CString::new(path.as_os_str().as_bytes()).expect("no zero");
        Maker::Directory.makes([text.as_ptr() as usize, 0, 0]).into_iter().collect()
    }

    #[test]
    fn what_is_moved_to_a_new_name_stays() {
        let dir = before();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        let mut made = note(&new);
        assert_eq!(made.len(), 1);
        fs::rename(&old, &new).expect("moved");
        remove(&mut made);
        assert!(new.exists());
        fs::rename(&new, &old).expect("moved");
        made = note(&new);
        fs::hard_link(&old, &new).expect("linked");
        remove(&mut made);
        assert!(new.exists());
    }

    #[test]
    fn what_is_moved_to_a_new_directory_stays() {
        let dir = before();
        let new = dir.path().join("new");
        let mut made = note(&new);
        fs::create_dir(&new).expect("made");
        fs::write(new.join("young"), "").expect("written");
        fs::rename(dir.path().join("old"), new.join("old")).expect("moved");
        fs::rename(dir.path().join("from"), new.join("from")).expect("moved");
        remove(&mut made);
        assert!(new.join("old").exists() && new.join("from/old").exists() && !new.join("young").exists());
    }

    #[test]
    fn a_name_is_where_it_was_when_it_was_noted() {
        let dir = before();
        let (link, from) = (dir.path().join("link"), dir.path().join("from"));
        let mut made = note(&link.join("new"));
        fs::create_dir(from.join("new")).expect("made");
        fs::remove_file(&link).expect("removed");
        std::os::unix::fs::symlink("to", &link).expect("linked");
        remove(&mut made);
        assert!(dir.path().join("to/new/old").exists() && !from.join("new").exists());
        // A directory that has not been made, since that in which it was to be is not there.
        made = note(&dir.path().join("none/new"));
        fs::rename(dir.path().join("to"), dir.path().join("none")).expect("moved");
        remove(&mut made);
        assert!(dir.path().join("none/new/old").exists());
    }

    #[test]
    fn a_name_may_be_relative_to_a_directory_that_is_open() {
        use std::os::fd::AsRawFd;
        let dir = before();
        let open = fs::File::open(dir.path().join("from")).expect("a directory");
        let mut made: Vec<Made> =
            Maker::DirectoryAt.makes([open.as_raw_fd() as usize, c"new".as_ptr() as usize, 0]).into_iter().collect();
        fs::create_dir(dir.path().join("from/new")).expect("made");
        remove(&mut made);
        assert!(!dir.path().join("from/new").exists());
    }
}
