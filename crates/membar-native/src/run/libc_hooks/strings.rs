//! Functions that copy, compare, fill and search memory: their reads and writes are steps.

use super::*;

pub extern "C-unwind" fn memcpy(to: usize, from: usize, n: usize) -> usize {
    copy(to, from, n, false);
    to
}

pub(super) fn copy(to: usize, from: usize, n: usize, backwards: bool) {
    if world().alone {
        whole_range(from, n, false);
        whole_range(to, n, true);
        // SAFETY: the program asked for this.
        return unsafe { std::ptr::copy(from as *const u8, to as *mut u8, n) };
    }
    // Piece by piece, cut where the target is aligned.
    let mut done = 0;
    while done < n {
        let (at, size) = if backwards {
            let end = n - done;
            let size = match (to + end) % 8 {
                0 => 8,
                rest => rest,
            };
            let size = size.min(end);
            (end - size, size)
        } else {
            (done, (8 - (to + done) % 8).min(n - done))
        };
        let mut buffer = [0u8; 8];
        piece(from + at, size, false);
        // SAFETY: the program asked for this.
        unsafe { std::ptr::copy_nonoverlapping((from + at) as *const u8, buffer.as_mut_ptr(), size) };
        piece(to + at, size, true);
        unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), (to + at) as *mut u8, size) };
        done += size;
    }
}

pub(super) fn piece(addr: usize, size: usize, write: bool) {
    if addr % 8 + size <= 8 { plain(addr, size, write) } else { whole_range(addr, size, write) }
}

pub extern "C-unwind" fn memmove(to: usize, from: usize, n: usize) -> usize {
    copy(to, from, n, to > from);
    to
}

pub extern "C-unwind" fn memset(to: usize, value: c_int, n: usize) -> usize {
    let mut at = to;
    if world().alone {
        whole_range(to, n, true);
        // SAFETY: the program asked for this.
        unsafe { std::ptr::write_bytes(to as *mut u8, value as u8, n) };
        return to;
    }
    while at < to + n {
        let size = (8 - at % 8).min(to + n - at);
        plain(at, size, true);
        // SAFETY: the program asked for this.
        unsafe { std::ptr::write_bytes(at as *mut u8, value as u8, size) };
        at += size;
    }
    to
}

pub extern "C-unwind" fn bzero(to: usize, n: usize) {
    memset(to, 0, n);
}

pub extern "C-unwind" fn memcmp(a: usize, b: usize, n: usize) -> c_int {
    let mut at = 0;
    while at < n {
        let size = (8 - (a + at) % 8).min(n - at);
        let (mut x, mut y) = ([0u8; 8], [0u8; 8]);
        for (from, buffer) in [(a + at, &mut x), (b + at, &mut y)] {
            piece(from, size, false);
            // SAFETY: the program asked for this.
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, buffer.as_mut_ptr(), size) };
        }
        if x != y {
            return x.cmp(&y) as c_int;
        }
        at += size;
    }
    0
}

/// The length of a string, or `most`: read byte by byte, where others may write it.
pub(super) fn length(at: usize, most: usize) -> usize {
    if world().alone {
        // SAFETY: a string of the program.
        return unsafe { libc::strnlen(at as *const c_char, most) };
    }
    let mut n = 0;
    while n < most {
        plain(at + n, 1, false);
        // SAFETY: as above.
        if unsafe { *((at + n) as *const u8) } == 0 {
            break;
        }
        n += 1;
    }
    n
}

pub extern "C-unwind" fn strlen(at: usize) -> usize {
    length(at, usize::MAX)
}

pub extern "C-unwind" fn strnlen(at: usize, most: usize) -> usize {
    length(at, most)
}

pub extern "C-unwind" fn strcpy(to: usize, from: usize) -> usize {
    memcpy(to, from, length(from, usize::MAX) + 1)
}

pub extern "C-unwind" fn strncpy(to: usize, from: usize, n: usize) -> usize {
    let len = length(from, n);
    memcpy(to, from, len);
    memset(to + len, 0, n - len);
    to
}

pub extern "C-unwind" fn strcat(to: usize, from: usize) -> usize {
    strcpy(to + length(to, usize::MAX), from);
    to
}

pub extern "C-unwind" fn strncat(to: usize, from: usize, n: usize) -> usize {
    let (end, len) = (to + strlen(to), length(from, n));
    memcpy(end, from, len);
    memset(end + len, 0, 1);
    to
}

pub extern "C-unwind" fn stpcpy(to: usize, from: usize) -> usize {
    let len = length(from, usize::MAX);
    memcpy(to, from, len + 1);
    to + len
}

pub extern "C-unwind" fn stpncpy(to: usize, from: usize, n: usize) -> usize {
    let len = length(from, n);
    strncpy(to, from, n);
    to + len
}

pub extern "C-unwind" fn strchr(at: usize, byte: c_int) -> usize {
    let from = at;
    let find = || unsafe { libc::strchr(from as *const c_char, byte) } as usize;
    let end = |found: usize| if found == 0 { length(from, usize::MAX) } else { found - from };
    whole_range(from, end(find()) + 1, false);
    find()
}

pub extern "C-unwind" fn strchrnul(at: usize, byte: c_int) -> usize {
    match strchr(at, byte) {
        0 => at + length(at, usize::MAX),
        found => found,
    }
}

pub extern "C-unwind" fn strrchr(at: usize, byte: c_int) -> usize {
    strlen(at);
    // SAFETY: a string of the program.
    unsafe { libc::strrchr(at as *const c_char, byte) as usize }
}

pub extern "C-unwind" fn memchr(at: usize, byte: c_int, n: usize) -> usize {
    // SAFETY: the program asked for this.
    let find = || unsafe { libc::memchr(at as *const c_void, byte, n) } as usize;
    let found = find();
    whole_range(at, if found == 0 { n } else { found - at + 1 }, false);
    find()
}

pub extern "C-unwind" fn memrchr(at: usize, byte: c_int, n: usize) -> usize {
    whole_range(at, n, false);
    // SAFETY: the program asked for this.
    unsafe { libc::memrchr(at as *const c_void, byte, n) as usize }
}

pub extern "C-unwind" fn rawmemchr(at: usize, byte: c_int) -> usize {
    memchr(at, byte, usize::MAX / 2)
}

pub extern "C-unwind" fn mempcpy(to: usize, from: usize, n: usize) -> usize {
    memcpy(to, from, n) + n
}

pub extern "C-unwind" fn bcopy(from: usize, to: usize, n: usize) {
    memmove(to, from, n);
}

pub extern "C-unwind" fn strcmp(a: usize, b: usize) -> c_int {
    memcmp(a, b, length(a, usize::MAX).min(length(b, usize::MAX)) + 1)
}

pub extern "C-unwind" fn strncmp(a: usize, b: usize, n: usize) -> c_int {
    memcmp(a, b, (length(a, n).min(length(b, n)) + 1).min(n))
}

pub extern "C-unwind" fn strdup(from: usize) -> usize {
    strndup(from, usize::MAX - 1)
}

pub extern "C-unwind" fn strndup(from: usize, n: usize) -> usize {
    let len = length(from, n);
    let block = allocate(len + 1, 16);
    memcpy(block, from, len);
    memset(block + len, 0, 1);
    block
}
