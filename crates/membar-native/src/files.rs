//! Files that are mapped, and files that are locks.
//!
//! An object with the standard library in it has megabytes, and several parts of membar look for a few sections of it: mapped, only the
//! pages that they look at are read.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The contents of a file. If the file gets shorter meanwhile, the process ends, as with any loaded library.
#[derive(Debug)]
pub struct Mapped {
    at: *const u8,
    len: usize,
}

impl Mapped {
    /// Maps a file.
    pub fn open(path: &Path) -> io::Result<Mapped> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if len == 0 {
            return Ok(Mapped { at: std::ptr::NonNull::dangling().as_ptr(), len });
        }
        // SAFETY: a new mapping of a file that is open.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Mapped { at: at.cast(), len }) }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped, and nobody writes it.
        unsafe { std::slice::from_raw_parts(self.at, self.len) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the mapping is ours, and nothing borrows it.
            unsafe { libc::munmap(self.at.cast_mut().cast(), self.len) };
        }
    }
}

/// Makes a file and waits until nobody else has it as a lock. It is one until it is dropped.
pub fn locked(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    // SAFETY: a file that is open.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } == 0 {
        Ok(file)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_has_its_bytes() {
        let dir = tempfile::tempdir().expect("a directory");
        let (empty, full) = (dir.path().join("empty"), dir.path().join("full"));
        std::fs::write(&empty, "").expect("written");
        std::fs::write(&full, "abc").expect("written");
        assert_eq!(&*Mapped::open(&empty).expect("mapped"), b"");
        assert_eq!(&*Mapped::open(&full).expect("mapped"), b"abc");
        assert!(Mapped::open(dir.path()).is_err());
        assert!(Mapped::open(&dir.path().join("none")).is_err());
    }
}
