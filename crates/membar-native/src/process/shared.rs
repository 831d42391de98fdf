//! Memory that parent and child share: a flag, the length of a path, the path.

use membar_explore::Step;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Its bytes.
const SHARED: usize = 1 << 20;

/// The memory that parent and child share.
pub(super) struct Shared(*mut u8);

// SAFETY: only accessed through atomics, or when the child has ended.
unsafe impl Send for Shared {}

impl Shared {
    /// Maps the file, which is made if it is to be.
    pub(super) fn map(path: &Path, create: bool) -> io::Result<Shared> {
        let file = File::options().read(true).write(true).create(create).truncate(false).open(path)?;
        if create {
            file.set_len(SHARED as u64)?;
        }
        // SAFETY: a new mapping of that file.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                SHARED,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Shared(at.cast())) }
    }

    /// Not 0 when it is time to stop.
    pub(super) fn stop(&self) -> &AtomicU32 {
        // SAFETY: mapped and aligned.
        unsafe { &*self.0.cast() }
    }

    /// The same for the child's explorer.
    pub(super) fn stop_flag(&self) -> &AtomicBool {
        // SAFETY: mapped; only its first byte is ever anything but 0, and that is 0 or 1.
        unsafe { &*self.0.cast() }
    }

    /// Where the child writes the schedule that it runs, and how many bytes there are.
    pub(super) fn black_box(&self) -> (*mut u8, usize) {
        (self.0, SHARED)
    }

    /// The schedule that the child ran last.
    pub(super) fn path(&self) -> Vec<Step> {
        // SAFETY: mapped and aligned; the child has ended.
        let steps = unsafe {
            let len = (*self.0.add(4).cast::<AtomicU32>()).load(Ordering::Relaxed) as usize;
            std::slice::from_raw_parts(self.0.add(8).cast::<u32>(), len.min((SHARED - 8) / 4))
        };
        steps.iter().map(|&step| Step::from_bits(step)).collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, not used any more.
        unsafe { libc::munmap(self.0.cast(), SHARED) };
    }
}
