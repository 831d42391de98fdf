//! The program's output while one schedule is run for a report.
//!
//! While programs are explored, standard output and standard error lead nowhere. For a report both lead into one file in
//! memory, so that the lines are in the order in which they were written; stdio is flushed before and after. The C++
//! library's streams write through stdio unless the program has switched that off.

use std::ffi::c_int;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, FromRawFd};

/// The most bytes that are kept: the last ones.
const MOST: u64 = 64 << 10;

/// Output that is being kept.
#[derive(Debug)]
pub struct Output {
    file: File,
    /// Where standard output and standard error led before.
    before: [c_int; 2],
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

fn flush(mode: c_int) {
    // SAFETY: the C library's own; nothing of the program runs meanwhile.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::setvbuf(stdout, std::ptr::null_mut(), mode, 0);
    }
}

impl Output {
    /// Keeps what is printed from now on. `None` if the system refuses: then nothing is known about it.
    pub fn keep() -> Option<Output> {
        flush(libc::_IOLBF);
        // SAFETY: plain system calls on descriptors of our own.
        unsafe {
            let file = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
            if file < 0 {
                return None;
            }
            let file = File::from_raw_fd(file);
            let before = [1, 2].map(|fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 100));
            for fd in [1, 2] {
                libc::dup2(file.as_raw_fd(), fd);
            }
            Some(Output { file, before })
        }
    }

    /// The output.
    pub fn take(mut self) -> String {
        flush(libc::_IOFBF);
        for (fd, before) in [1, 2].into_iter().zip(self.before) {
            if before >= 0 {
                // SAFETY: as above.
                unsafe {
                    libc::dup2(before, fd);
                    libc::close(before);
                }
            }
        }
        let len = self.file.metadata().map_or(0, |about| about.len());
        let mut bytes = Vec::new();
        let read = self.file.seek(SeekFrom::Start(len.saturating_sub(MOST)));
        if read.and_then(|_| self.file.read_to_end(&mut bytes)).is_err() {
            return String::new();
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if len > MOST { format!("… ({} bytes before this are left out)\n{text}", len - MOST) } else { text }
    }
}
