//! Functions that write text or numbers where their caller says, and sorting: the C library's own do the work on memory that
//! nobody else knows, and what they would have written is written here, as steps.
//!
//! Their own reads through pointers are those of uninstrumented code ([`super::super::opaque`]).

use super::strings::copy;
use super::*;
use crate::run::opaque::during;
use std::ffi::{c_double, c_float, c_longlong, c_ulong, c_ulonglong};

/// Text up to this length is made on the stack of the thread.
const ROOM: usize = 2048;

unsafe extern "C" {
    fn vsnprintf(to: *mut c_char, n: usize, format: *const c_char, arguments: *mut List) -> c_int;
    fn snprintf(to: *mut c_char, n: usize, format: *const c_char, ...) -> c_int;
}

/// A list of arguments, as the ABI has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct List {
    general: u32,
    floating: u32,
    rest: usize,
    registers: usize,
}

impl List {
    fn word(&mut self) -> usize {
        // SAFETY: as the ABI has it; the caller says that there is another one.
        unsafe {
            if self.general < 48 {
                self.general += 8;
                return *((self.registers + self.general as usize - 8) as *const usize);
            }
            self.rest += 8;
            *((self.rest - 8) as *const usize)
        }
    }

    fn number(&mut self, long: bool) {
        if long {
            self.rest = self.rest.next_multiple_of(16) + 16;
        } else if self.floating < 176 {
            self.floating += 16;
        } else {
            self.rest += 8;
        }
    }
}

/// Tells which strings a format reads, and how many bytes of each at most. Whether all that it does is known.
fn strings_of(format: *const c_char, mut list: List, mut visit: impl FnMut(usize, usize)) -> bool {
    // The format is a string like others, if another thread can change it.
    if crate::run::opaque::is_writable(format as usize) {
        super::strings::length(format as usize, usize::MAX);
    }
    // SAFETY: a string of the program.
    let mut bytes = unsafe { std::ffi::CStr::from_ptr(format) }.to_bytes().iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        let (mut precision, mut digits, mut long) = (usize::MAX, None, false);
        loop {
            match bytes.next() {
                Some(b'-' | b'+' | b' ' | b'#' | b'\'' | b'I' | b'h' | b'l' | b'q' | b'j' | b'z' | b'Z' | b't') => {}
                Some(b'L') => long = true,
                Some(b'.') => digits = Some(0),
                Some(digit @ b'0'..=b'9') => {
                    digits =
                        digits.map(|value: usize| value.saturating_mul(10).saturating_add(usize::from(digit - b'0')));
                }
                Some(b'*') => {
                    let given = list.word() as c_int;
                    digits = digits.map(|_| usize::try_from(given).unwrap_or(usize::MAX));
                }
                Some(b's') => {
                    precision = digits.unwrap_or(precision);
                    let text = list.word();
                    if text != 0 {
                        visit(text, precision);
                    }
                    break;
                }
                Some(b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'c' | b'p') => {
                    list.word();
                    break;
                }
                Some(b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A') => {
                    list.number(long);
                    break;
                }
                Some(b'%' | b'm') => break,
                _ => return false,
            }
        }
    }
    true
}

/// Prints to a file. Reads of strings are steps; the program does not see the result.
fn print_file(file: *mut libc::FILE, format: *const c_char, arguments: *mut List) -> c_int {
    unsafe extern "C" {
        fn vfprintf(file: *mut libc::FILE, format: *const c_char, arguments: *mut List) -> c_int;
        fn fprintf(file: *mut libc::FILE, format: *const c_char, ...) -> c_int;
    }
    // SAFETY: the list of the caller.
    let list = unsafe { *arguments };
    let known = world().alone
        || strings_of(format, list, |text, most| {
            length(text, most);
        });
    // SAFETY: the program asked for this.
    let work = || unsafe { vfprintf(file, format, arguments) };
    if known { work() } else { during("fprintf", fprintf as *const () as usize, work) }
}

extern "C-unwind" fn print_out(format: *const c_char, arguments: *mut List) -> c_int {
    unsafe extern "C" {
        static mut stdout: *mut libc::FILE;
    }
    // SAFETY: the C library's own.
    print_file(unsafe { stdout }, format, arguments)
}

pub extern "C-unwind" fn print_list_out(format: *const c_char, arguments: *mut List) -> c_int {
    print_out(format, arguments)
}

extern "C-unwind" fn print_in_file(file: *mut libc::FILE, format: *const c_char, arguments: *mut List) -> c_int {
    print_file(file, format, arguments)
}

pub extern "C-unwind" fn print_list_in_file(
    file: *mut libc::FILE,
    format: *const c_char,
    arguments: *mut List,
) -> c_int {
    print_file(file, format, arguments)
}

/// Prints into memory that nobody else knows, as far as there is room for it, but says how long the whole is.
fn formatted(text: &mut [u8; ROOM], format: *const c_char, arguments: *mut List) -> c_int {
    // SAFETY: the list of the caller.
    let list = unsafe { *arguments };
    let mut reads = false;
    let known = strings_of(format, list, |text, _| reads |= crate::run::opaque::is_writable(text));
    // SAFETY: the program asked for this; the text is as long as it says.
    let mut work = || unsafe { vsnprintf(text.as_mut_ptr().cast(), ROOM, format, arguments) };
    if known && !reads { work() } else { during("snprintf", snprintf as *const () as usize, work) }
}

/// Text of this length is made here.
fn fits(length: usize) {
    if length >= ROOM {
        fault::limit(format!("prints or reads {length} bytes of text at once; membar has room for {ROOM}"));
    }
}

/// Prints to at most `n` bytes.
fn print(to: usize, n: usize, format: *const c_char, arguments: *mut List) -> c_int {
    let mut text = [0u8; ROOM];
    let length = formatted(&mut text, format, arguments);
    if length < 0 || n == 0 {
        return length;
    }
    fits(length as usize);
    let kept = (length as usize).min(n - 1);
    copy(to, text.as_ptr() as usize, kept, false);
    memset(to + kept, 0, 1);
    length
}

extern "C-unwind" fn print_bounded(to: usize, n: usize, format: *const c_char, arguments: *mut List) -> c_int {
    print(to, n, format, arguments)
}

extern "C-unwind" fn print_unbounded(to: usize, format: *const c_char, arguments: *mut List) -> c_int {
    print(to, usize::MAX, format, arguments)
}

pub extern "C-unwind" fn print_list(to: usize, n: usize, format: *const c_char, arguments: *mut List) -> c_int {
    print(to, n, format, arguments)
}

pub extern "C-unwind" fn print_list_unbounded(to: usize, format: *const c_char, arguments: *mut List) -> c_int {
    print(to, usize::MAX, format, arguments)
}

/// A new block with this text, and a zero behind it.
fn block_of(text: &[u8]) -> usize {
    let block = allocate(text.len() + 1, 16);
    if block != 0 {
        copy(block, text.as_ptr() as usize, text.len(), false);
        memset(block + text.len(), 0, 1);
    }
    block
}

/// Writes a word of the program's.
fn put_word(at: usize, word: usize) {
    plain(at, 8, true);
    // SAFETY: the program asked for this.
    unsafe { *(at as *mut usize) = word };
}

/// Reads one.
fn word(at: usize) -> usize {
    plain(at, 8, false);
    // SAFETY: the program asked for this.
    unsafe { *(at as *const usize) }
}

/// Prints to a new block.
pub extern "C-unwind" fn print_list_new(to: usize, format: *const c_char, arguments: *mut List) -> c_int {
    let mut text = [0u8; ROOM];
    let length = formatted(&mut text, format, arguments);
    if length >= 0 {
        fits(length as usize);
        put_word(to, block_of(&text[..length as usize]));
    }
    length
}

extern "C-unwind" fn print_new(to: usize, format: *const c_char, arguments: *mut List) -> c_int {
    print_list_new(to, format, arguments)
}

/// A function with a list of arguments of any length, of which some have names: makes a list of the others, as the ABI has
/// it, and passes it on behind those.
macro_rules! variadic {
    ($name:ident, $named:literal, $list:literal, $to:path) => {
        #[unsafe(naked)]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                "sub rsp, 216",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "movups [rsp + 48], xmm0",
                "movups [rsp + 64], xmm1",
                "movups [rsp + 80], xmm2",
                "movups [rsp + 96], xmm3",
                "movups [rsp + 112], xmm4",
                "movups [rsp + 128], xmm5",
                "movups [rsp + 144], xmm6",
                "movups [rsp + 160], xmm7",
                concat!("mov dword ptr [rsp + 176], ", $named),
                "mov dword ptr [rsp + 180], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 184], rax",
                "mov [rsp + 192], rsp",
                concat!("lea ", $list, ", [rsp + 176]"),
                "call {to}",
                "add rsp, 216",
                "ret",
                to = sym $to,
            )
        }
    };
}

variadic!(print_to_output, "8", "rsi", print_out);
variadic!(print_to_file, "16", "rdx", print_in_file);
variadic!(print_to, "24", "rcx", print_bounded);
variadic!(print_all_to, "16", "rdx", print_unbounded);
variadic!(print_to_new, "16", "rdx", print_new);

/// Copies a string as it is read, byte by byte, up to its end or a byte that is not `wanted`. Its length; `None` if it is longer
/// than what there is room for.
fn read_text<const N: usize>(text: usize, copy: &mut [u8; N], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    for (at, byte) in copy.iter_mut().enumerate() {
        plain(text + at, 1, false);
        // SAFETY: a string of the program, up to its end.
        *byte = unsafe { *((text + at) as *const u8) };
        if !wanted(*byte) {
            *byte = 0;
        }
        if *byte == 0 {
            return Some(at);
        }
    }
    None
}

/// Whether a byte may be part of a number, or come before it.
fn is_numeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte.is_ascii_whitespace()
        || matches!(byte, b'+' | b'-' | b'.' | b'_' | b'(' | b')' | 11)
}

/// Numbers in text: from a copy. Where it stopped is written here.
macro_rules! numbers {
    ($($name:ident: $real:ident($($base:ident: $kind:ty)?) -> $result:ty,)*) => {
        $(
            pub extern "C-unwind" fn $name(text: *const c_char, end: *mut usize $(, $base: $kind)?) -> $result {
                unsafe extern "C" {
                    fn $real(text: *const c_char, end: *mut usize $(, $base: $kind)?) -> $result;
                }
                let mut copy = [0u8; 256];
                let mut stopped = 0usize;
                let value = if world().alone || read_text(text as usize, &mut copy, is_numeric).is_none() {
                    let function = $real as *const () as usize;
                    // SAFETY: the program asked for this.
                    during(stringify!($real), function, || unsafe { $real(text, &mut stopped $(, $base)?) })
                } else {
                    // SAFETY: the copy ends with a zero.
                    let value = unsafe { $real(copy.as_ptr().cast(), &mut stopped $(, $base)?) };
                    stopped = text as usize + (stopped - copy.as_ptr() as usize);
                    value
                };
                if !end.is_null() {
                    plain(end as usize, 8, true);
                    // SAFETY: the program's own variable.
                    unsafe { *end = stopped };
                }
                value
            }
        )*
    };
}

numbers! {
    to_long: strtol(base: c_int) -> c_long,
    to_long_long: strtoll(base: c_int) -> c_longlong,
    to_unsigned: strtoul(base: c_int) -> c_ulong,
    to_unsigned_long: strtoull(base: c_int) -> c_ulonglong,
    to_double: strtod() -> c_double,
    to_float: strtof() -> c_float,
}

pub extern "C-unwind" fn to_int(text: *const c_char) -> c_int {
    to_long(text, std::ptr::null_mut(), 10) as c_int
}

pub extern "C-unwind" fn to_plain_long(text: *const c_char) -> c_long {
    to_long(text, std::ptr::null_mut(), 10)
}

pub extern "C-unwind" fn to_plain_double(text: *const c_char) -> c_double {
    to_double(text, std::ptr::null_mut())
}

/// The result of a C library function on copies of two strings. A pointer that it returns is one into the first.
fn on_copies<T>(
    name: &str,
    function: usize,
    (a, b): (usize, usize),
    most: usize,
    work: impl Fn(*const c_char, *const c_char) -> T,
) -> (T, usize) {
    let (mut first, mut second) = ([0u8; ROOM], [0u8; ROOM]);
    let bounded = |text: usize, copy: &mut [u8; ROOM]| {
        let left = std::cell::Cell::new(most);
        read_text(text, copy, |_| {
            let more = left.get() > 0;
            left.set(left.get().saturating_sub(1));
            more
        })
    };
    if !world().alone && bounded(a, &mut first).is_some() && bounded(b, &mut second).is_some() {
        let result = work(first.as_ptr().cast(), second.as_ptr().cast());
        return (result, first.as_ptr() as usize);
    }
    (during(name, function, || work(a as *const c_char, b as *const c_char)), a)
}

macro_rules! of_two_strings {
    ($($name:ident: $real:ident -> $kind:ident,)*) => {
        $(
            pub extern "C-unwind" fn $name(a: usize, b: usize) -> usize {
                unsafe extern "C" {
                    fn $real(a: *const c_char, b: *const c_char) -> usize;
                }
                // SAFETY: strings.
                let work = |a, b| unsafe { $real(a, b) };
                let (result, first) =
                    on_copies(stringify!($real), $real as *const () as usize, (a, b), usize::MAX, work);
                of_two_strings!($kind, result, first, a)
            }
        )*
    };
    (pointer, $result:ident, $first:ident, $a:ident) => {
        if $result == 0 { 0 } else { $a + ($result - $first) }
    };
    (number, $result:ident, $first:ident, $a:ident) => {{
        let _ = $first;
        $result
    }};
}

of_two_strings! {
    find_string: strstr -> pointer,
    find_any: strpbrk -> pointer,
    span: strspn -> number,
    span_without: strcspn -> number,
}

pub extern "C-unwind" fn compare_caseless(a: usize, b: usize) -> c_int {
    compare_caseless_bounded(a, b, usize::MAX)
}

pub extern "C-unwind" fn compare_caseless_bounded(a: usize, b: usize, n: usize) -> c_int {
    // SAFETY: strings.
    let work = |a, b| unsafe { libc::strncasecmp(a, b, n) };
    on_copies("strncasecmp", libc::strncasecmp as *const () as usize, (a, b), n, work).0
}

/// Sorts a copy, which is nobody else's, and writes it back. Stable, as the C library's own usually is.
fn sort(base: usize, n: usize, size: usize, compare: impl Fn(usize, usize) -> c_int) {
    if n < 2 || size == 0 {
        return;
    }
    let Some(bytes) = n.checked_mul(size) else { return };
    // On the program's heap: a thread that is given up in a comparison takes it along.
    let (mut from, mut to) = (allocate(bytes, 16), allocate(bytes, 16));
    let blocks = [from, to];
    copy(from, base, bytes, false);
    let mut width = 1;
    while width < n {
        let mut start = 0;
        while start < n {
            let (middle, end) = ((start + width).min(n), (start + 2 * width).min(n));
            let (mut a, mut b) = (start, middle);
            for at in start..end {
                let left = a < middle && (b == end || compare(from + a * size, from + b * size) <= 0);
                let next = if left { &mut a } else { &mut b };
                // SAFETY: both blocks are that long.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        (from + *next * size) as *const u8,
                        (to + at * size) as *mut u8,
                        size,
                    );
                };
                *next += 1;
            }
            start = end;
        }
        (from, to) = (to, from);
        width *= 2;
    }
    copy(base, from, bytes, false);
    blocks.into_iter().for_each(|block| free(block));
}

pub extern "C-unwind" fn qsort(base: usize, n: usize, size: usize, compare: usize) {
    // SAFETY: that is how the function is called.
    sort(base, n, size, |a, b| unsafe { thread::call_back(compare, a, b) } as c_int);
}

pub extern "C-unwind" fn qsort_r(base: usize, n: usize, size: usize, compare: usize, context: usize) {
    // SAFETY: that is how the function is called.
    let callee: extern "C-unwind" fn(usize, usize, usize) -> c_int = unsafe { std::mem::transmute(compare) };
    sort(base, n, size, |a, b| {
        let registers = crate::run::registers::Registers::save();
        let order = crate::run::opaque::call_back(compare, fault::user(), || callee(a, b, context));
        registers.restore_after(a);
        order
    });
}

/// The function that compares reads what it is given.
pub extern "C-unwind" fn bsearch(key: usize, base: usize, n: usize, size: usize, compare: usize) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = (low + high) / 2;
        let at = base + middle * size;
        // SAFETY: that is how the function is called.
        match unsafe { thread::call_back(compare, key, at) } as c_int {
            0 => return at,
            order if order < 0 => high = middle,
            _ => low = middle + 1,
        }
    }
    0
}

/// Reads from a file, and writes what was read.
pub extern "C-unwind" fn read(file: c_int, to: usize, n: usize) -> isize {
    let mut done = 0;
    while done < n {
        let mut bytes = [0u8; ROOM];
        // SAFETY: as long as it says.
        let got = unsafe { libc::read(file, bytes.as_mut_ptr().cast(), ROOM.min(n - done)) };
        if got <= 0 {
            return if done > 0 { done as isize } else { got };
        }
        copy(to + done, bytes.as_ptr() as usize, got as usize, false);
        done += got as usize;
        if (got as usize) < ROOM {
            break;
        }
    }
    done as isize
}

/// Reads the bytes one after the other, as steps, and writes them to a file.
pub extern "C-unwind" fn write(file: c_int, from: usize, n: usize) -> isize {
    let mut done = 0;
    while done < n {
        let mut bytes = [0u8; ROOM];
        let piece = ROOM.min(n - done);
        copy(bytes.as_mut_ptr() as usize, from + done, piece, false);
        // SAFETY: as long as it says.
        let put = unsafe { libc::write(file, bytes.as_ptr().cast(), piece) };
        if put <= 0 {
            return if done > 0 { done as isize } else { put };
        }
        done += put as usize;
    }
    done as isize
}

pub extern "C-unwind" fn fread(to: usize, size: usize, n: usize, file: *mut libc::FILE) -> usize {
    let Some(all) = size.checked_mul(n).filter(|all| *all > 0) else { return 0 };
    let mut done = 0;
    while done < all {
        let mut bytes = [0u8; ROOM];
        let piece = ROOM.min(all - done);
        // SAFETY: as long as it says.
        let got = unsafe { libc::fread(bytes.as_mut_ptr().cast(), 1, piece, file) };
        copy(to + done, bytes.as_ptr() as usize, got, false);
        done += got;
        if got < piece {
            break;
        }
    }
    done / size
}

pub extern "C-unwind" fn fwrite(from: usize, size: usize, n: usize, file: *mut libc::FILE) -> usize {
    let Some(all) = size.checked_mul(n).filter(|all| *all > 0) else { return 0 };
    let mut done = 0;
    while done < all {
        let mut bytes = [0u8; ROOM];
        let piece = ROOM.min(all - done);
        copy(bytes.as_mut_ptr() as usize, from + done, piece, false);
        // SAFETY: as long as it says.
        let put = unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, piece, file) };
        done += put;
        if put < piece {
            break;
        }
    }
    done / size
}

pub extern "C-unwind" fn fgets(to: usize, n: c_int, file: *mut libc::FILE) -> usize {
    let mut done = 0;
    while done + 1 < n.max(0) as usize {
        // SAFETY: the program's own file.
        let byte = unsafe { libc::fgetc(file) };
        if byte < 0 {
            break;
        }
        memset(to + done, byte, 1);
        done += 1;
        if byte == c_int::from(b'\n') {
            break;
        }
    }
    if done == 0 && n > 1 {
        return 0;
    }
    memset(to + done, 0, 1);
    to
}

pub extern "C-unwind" fn getline(line: usize, room: usize, file: *mut libc::FILE) -> isize {
    getdelim(line, room, c_int::from(b'\n'), file)
}

pub extern "C-unwind" fn getdelim(line: usize, room: usize, end: c_int, file: *mut libc::FILE) -> isize {
    let mut text = [0u8; ROOM];
    let mut length = 0;
    loop {
        // SAFETY: the program's own file.
        let byte = unsafe { libc::fgetc(file) };
        if byte < 0 {
            break;
        }
        fits(length + 1);
        text[length] = byte as u8;
        length += 1;
        if byte == end {
            break;
        }
    }
    if length == 0 {
        return -1;
    }
    let old = word(line);
    if old != 0 && word(room) > length {
        copy(old, text.as_ptr() as usize, length, false);
        memset(old + length, 0, 1);
    } else {
        free(old);
        put_word(line, block_of(&text[..length]));
        put_word(room, length + 1);
    }
    length as isize
}

pub extern "C-unwind" fn wcsdup(from: usize) -> usize {
    // SAFETY: a string of the program.
    let size = 4 * (unsafe { libc::wcslen(from as *const libc::wchar_t) } + 1);
    let block = allocate(size, 16);
    if block != 0 { memcpy(block, from, size) } else { 0 }
}

pub extern "C-unwind" fn realpath(path: usize, to: usize) -> usize {
    length(path, usize::MAX);
    let mut text = [0u8; libc::PATH_MAX as usize];
    // SAFETY: a string of the program; there is room for every path.
    if unsafe { libc::realpath(path as *const c_char, text.as_mut_ptr().cast()) }.is_null() {
        return 0;
    }
    let length = text.iter().position(|byte| *byte == 0).unwrap_or(0);
    if to == 0 { block_of(&text[..length]) } else { memcpy(to, text.as_ptr() as usize, length + 1) }
}

/// The text is read as steps; the C library does the rest.
fn put(text: usize, file: *mut libc::FILE) -> c_int {
    let length = length(text, usize::MAX);
    if fwrite(text, 1, length, file) < length { -1 } else { 1 }
}

pub extern "C-unwind" fn fputs(text: usize, file: *mut libc::FILE) -> c_int {
    put(text, file)
}

pub extern "C-unwind" fn puts(text: usize) -> c_int {
    unsafe extern "C" {
        static mut stdout: *mut libc::FILE;
    }
    // SAFETY: the C library's own.
    unsafe {
        let written = put(text, stdout);
        libc::fputc(c_int::from(b'\n'), stdout);
        written
    }
}
