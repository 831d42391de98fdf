//! Files that are read and written at a place, or from and to several pieces of memory at once.
//!
//! The kernel would read and write the pieces unseen. So the list of pieces is read here, as steps, and each piece goes through a
//! copy, like that of [`read`] and [`write`].

use super::strings::copy;
use super::*;

/// Bytes that go through the copy in one go.
const ROOM: usize = 2048;

/// The system call for a piece, on a copy of it: the file, the copy, its length, and how far in all pieces it is.
type Ask<'a> = &'a dyn Fn(*mut u8, usize, usize) -> isize;

/// Reads or writes one piece of memory, which begins `before` bytes into all of them. How much was done, or what the system said
/// if nothing was.
fn transfer(at: usize, n: usize, before: usize, into_memory: bool, ask: Ask<'_>) -> isize {
    let mut done = 0;
    loop {
        let mut bytes = [0u8; ROOM];
        let size = ROOM.min(n - done);
        if !into_memory {
            copy(bytes.as_mut_ptr() as usize, at + done, size, false);
        }
        let moved = ask(bytes.as_mut_ptr(), size, before + done);
        if moved <= 0 {
            return if done > 0 { done as isize } else { moved };
        }
        if into_memory {
            copy(at + done, bytes.as_ptr() as usize, moved as usize, false);
        }
        done += moved as usize;
        if done == n || (moved as usize) < size {
            return done as isize;
        }
    }
}

/// The same for a list of pieces: addresses and lengths.
fn transfer_all(list: usize, count: c_int, into_memory: bool, ask: Ask<'_>) -> isize {
    let mut done = 0;
    for i in 0..count.max(0) as usize {
        let mut piece = [0usize; 2];
        copy(piece.as_mut_ptr() as usize, list + 16 * i, 16, false);
        let [at, n] = piece;
        if n == 0 {
            continue;
        }
        let moved = transfer(at, n, done, into_memory, ask);
        if moved < 0 && done == 0 {
            return moved;
        }
        done += moved.max(0) as usize;
        if moved < n as isize {
            break;
        }
    }
    done as isize
}

pub extern "C-unwind" fn readv(file: c_int, list: usize, count: c_int) -> isize {
    // SAFETY: as long as it says.
    transfer_all(list, count, true, &|to, n, _| unsafe { libc::read(file, to.cast(), n) })
}

pub extern "C-unwind" fn writev(file: c_int, list: usize, count: c_int) -> isize {
    // SAFETY: as long as it says.
    transfer_all(list, count, false, &|from, n, _| unsafe { libc::write(file, from.cast(), n) })
}

pub extern "C-unwind" fn preadv(file: c_int, list: usize, count: c_int, offset: c_long) -> isize {
    // SAFETY: as long as it says.
    let ask = |to: *mut u8, n, done| unsafe { libc::pread(file, to.cast(), n, offset + done as c_long) };
    transfer_all(list, count, true, &ask)
}

pub extern "C-unwind" fn pwritev(file: c_int, list: usize, count: c_int, offset: c_long) -> isize {
    // SAFETY: as long as it says.
    let ask = |from: *mut u8, n, done| unsafe { libc::pwrite(file, from.cast(), n, offset + done as c_long) };
    transfer_all(list, count, false, &ask)
}

pub extern "C-unwind" fn pread(file: c_int, to: usize, n: usize, offset: c_long) -> isize {
    // SAFETY: as long as it says.
    let ask = |to: *mut u8, n, done| unsafe { libc::pread(file, to.cast(), n, offset + done as c_long) };
    transfer(to, n, 0, true, &ask)
}

pub extern "C-unwind" fn pwrite(file: c_int, from: usize, n: usize, offset: c_long) -> isize {
    // SAFETY: as long as it says.
    let ask = |from: *mut u8, n, done| unsafe { libc::pwrite(file, from.cast(), n, offset + done as c_long) };
    transfer(from, n, 0, false, &ask)
}

/// Memory of the program that the C library would fill as it likes, without our seeing.
fn no_buffer(name: &str, buffer: usize) {
    if buffer != 0 {
        fault::limit(format!("calls `{name}` with its own buffer, which membar does not manage"));
    }
}

pub extern "C-unwind" fn setvbuf(file: *mut libc::FILE, buffer: usize, mode: c_int, size: usize) -> c_int {
    if mode != libc::_IONBF {
        no_buffer("setvbuf", buffer);
    }
    // SAFETY: the program's own file; the C library allocates what it needs.
    unsafe { libc::setvbuf(file, std::ptr::null_mut(), mode, size) }
}

pub extern "C-unwind" fn setbuf(file: *mut libc::FILE, buffer: usize) {
    no_buffer("setbuf", buffer);
    setvbuf(file, 0, libc::_IONBF, 0);
}

pub extern "C-unwind" fn setbuffer(file: *mut libc::FILE, buffer: usize, _: usize) {
    no_buffer("setbuffer", buffer);
    setvbuf(file, 0, libc::_IONBF, 0);
}
