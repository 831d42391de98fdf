//! Exceptions that nobody catches, and other calls of `std::terminate`.
//!
//! # Problem
//!
//! An uncaught exception ends in `abort`, deep in the C++ library: by then its type, its message and the place of the
//! throw are out of sight, and where destructors have run, the throw is no longer on the stack.
//!
//! # Algorithm
//!
//! 1. The linker leads `__cxa_throw`, its rethrowing relatives and the two functions behind `std::terminate` through our stubs
//!    (`--wrap`), which call the functions here and then continue to the real ones.
//! 2. A throw notes its stack with the exception object; a rethrow notes its own.
//! 3. A termination asks the C++ runtime for the exception that is being handled. If there is one, its type is
//!    demangled, and if that type derives from `std::exception`, `what()` is called, as the default handler does.
//! 4. `abort` and `exit` say what the termination was about ([`ending`]).
//!
//! # Guarantees
//!
//! A thread that never throws pays nothing. A type that is not understood has no message; the exception is reported all the same.

use super::*;
use crate::run::registers::{Registers, word_at};
use std::sync::OnceLock;

/// A throw: the exception object and the stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thrown {
    object: usize,
    stack: Vec<usize>,
    /// The return address of the last rethrow, and of its caller.
    again: Option<[usize; 2]>,
}

/// How many throws a thread remembers: exceptions that are kept for later are few.
const MOST: usize = 64;

/// Bytes of the unwinder's part of an exception, which stands right before the object.
const UNWIND: usize = 32;
/// Where the type stands, and in a copy that refers to another exception the object, before the unwinder's part.
const TYPE: usize = 80;

pub extern "C-unwind" fn throw(object: usize) {
    let stack = fault::here();
    let w = world();
    let thrown = &mut w.threads[w.current].thrown;
    thrown.retain(|known| known.object != object);
    if thrown.len() == MOST {
        thrown.remove(0);
    }
    thrown.push(Thrown { object, stack, again: None });
}

/// `throw;`
pub extern "C-unwind" fn rethrow(_: usize, _: usize, _: usize, globals: usize) {
    if let Some(object) = handled(globals) {
        thrown_again(object);
    }
}

/// `std::rethrow_exception`, whose argument is a pointer to the pointer.
pub extern "C-unwind" fn rethrow_exception(pointer: usize) {
    // SAFETY: the program's own exception_ptr, passed by reference.
    thrown_again(unsafe { *(pointer as *const usize) });
}

/// Exceptions travel between threads: the first throw is searched everywhere.
fn thrown_again(object: usize) {
    let stack = fault::here();
    let again = [0, 1].map(|i| stack.get(i).copied().unwrap_or(0));
    let w = world();
    let mut first =
        w.threads[..w.known].iter().flat_map(|thread| &thread.thrown).filter(|known| known.object == object);
    // Made by `std::make_exception_ptr`: this is its first throw.
    let thrown = match first.next().cloned() {
        Some(first) => Thrown { again: Some(again), ..first },
        None => Thrown { object, stack, again: None },
    };
    let own = &mut w.threads[w.current].thrown;
    own.retain(|known| known.object != object);
    own.push(thrown);
}

/// `_dl_find_object`: the unwinder asks where a function's tables are. Its call would go through a page of opaque code if it were not for us.
pub extern "C-unwind" fn find_object(address: usize, found: usize) -> c_int {
    static REAL: OnceLock<usize> = OnceLock::new();
    // SAFETY: a name of the C library's, if it has it.
    let real = *REAL.get_or_init(|| unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) } as usize);
    if real == 0 {
        return -1;
    }
    // SAFETY: that is how it is declared.
    let real: extern "C" fn(usize, usize) -> c_int = unsafe { std::mem::transmute(real) };
    real(address, found)
}

/// The program is about to end by `std::terminate`. `globals` and `demangle` are functions of the C++ runtime, or 0.
pub extern "C-unwind" fn terminate(_: usize, _: usize, _: usize, globals: usize, demangle: usize) {
    let here = fault::here();
    let ending = match handled(globals) {
        Some(object) => uncaught(object, &here, demangle),
        None => {
            Fault { kind: FaultKind::Terminate, stack: fault::offsets(&here), ..Fault::error("calls `std::terminate`") }
        }
    };
    let w = world();
    // The first is the reason for the others.
    w.threads[w.current].ending.get_or_insert(ending);
}

/// The reason why a thread calls `abort` or `exit`, if that is known.
pub fn ending() -> Option<Fault> {
    let w = world();
    w.threads[w.current].ending.clone()
}

fn uncaught(object: usize, here: &[usize], demangle: usize) -> Fault {
    let info = word_at(object - UNWIND - TYPE);
    let mut message = Message::from(format!("uncaught exception `{}`", type_name(info, demangle)));
    let mut at = object;
    if derives(info, &mut at, 0)
        && let Some(what) = what(at)
    {
        message.push(format!(": {what}"));
    }
    let offset = |pc: usize| world().module.offset(pc);
    let w = world();
    let thrown = w.threads[w.current].thrown.iter().find(|thrown| thrown.object == object);
    if let Some([pc, caller]) = thrown.and_then(|thrown| thrown.again) {
        message.push(message!(" (thrown again at ", Piece::Line(vec![offset(pc), offset(caller)]), ")"));
    }
    // The owner of the function that calls `std::terminate` tells why.
    message.push(Piece::Terminates(here.first().map_or(u32::MAX, |&pc| offset(pc))));
    let stack = fault::offsets(thrown.map_or(here, |thrown| &thrown.stack));
    Fault { stack, ..Fault::clause(message) }
}

/// `GNUCC++\0`, as the exception's class stands in memory, and the same for libc++. The last byte is 1 for a copy that
/// refers to another exception.
const CLASSES: [&[u8; 7]; 2] = [b"GNUCC++", b"CLNGC++"];

/// The object of the exception that the running thread handles.
fn handled(globals: usize) -> Option<usize> {
    if globals == 0 {
        return None;
    }
    // SAFETY: `__cxa_get_globals` takes nothing.
    let globals = unsafe { thread::call_back(globals, 0, 0) };
    let caught = word_at(globals);
    if caught == 0 {
        return None;
    }
    // The unwinder's part is the last of a header, which is 16 bytes longer in libc++.
    [TYPE, TYPE + 16].into_iter().find_map(|at| {
        let class = word_at(caught + at).to_be_bytes();
        if !CLASSES.iter().any(|known| class[..7] == known[..]) {
            return None;
        }
        Some(if class[7] == 1 { word_at(caught + at - TYPE) } else { caught + at + UNWIND })
    })
}

/// The name in a `std::type_info`.
fn mangled(info: usize) -> String {
    let name = text_at(word_at(info + 8) as *const c_char);
    name.strip_prefix('*').map(str::to_owned).unwrap_or(name)
}

fn type_name(info: usize, demangle: usize) -> String {
    let name = mangled(info);
    if demangle == 0 {
        return name;
    }
    let mut status: c_int = 0;
    let at = word_at(info + 8);
    let skip = usize::from(text_at(at as *const c_char).starts_with('*'));
    let registers = Registers::save();
    // SAFETY: `__cxa_demangle`, which allocates what it returns.
    let shown = unsafe {
        let demangle: extern "C-unwind" fn(usize, usize, usize, *mut c_int) -> *const c_char =
            std::mem::transmute(demangle);
        demangle(at + skip, 0, 0, &raw mut status)
    };
    registers.restore();
    if shown.is_null() || status != 0 {
        return name;
    }
    const STRING: &str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
    text_at(shown).replace(STRING, "std::string")
}

/// Whether the type is `std::exception` or derives from it; then `at` is moved to that part of the object.
fn derives(info: usize, at: &mut usize, depth: usize) -> bool {
    if mangled(info) == "St9exception" {
        return true;
    }
    if depth == 32 {
        return false;
    }
    // The type of the `std::type_info` itself, before the first entry of its virtual table, tells which kind of type it is.
    match mangled(word_at(word_at(info) - 8)).as_str() {
        "N10__cxxabiv120__si_class_type_infoE" => derives(word_at(info + 16), at, depth + 1),
        "N10__cxxabiv121__vmi_class_type_infoE" => {
            let bases = word_at(info + 16) >> 32;
            (0..bases.min(64)).any(|base| {
                let (kind, flags) = (word_at(info + 24 + 16 * base), word_at(info + 32 + 16 * base) as isize);
                let (is_virtual, offset) = (flags & 1 != 0, flags >> 8);
                let mut part = match is_virtual {
                    // The offset is where the virtual table says how far the base is.
                    true => at.wrapping_add(word_at(word_at(*at).wrapping_add_signed(offset))),
                    false => at.wrapping_add_signed(offset),
                };
                let found = derives(kind, &mut part, depth + 1);
                if found {
                    *at = part;
                }
                found
            })
        }
        _ => false,
    }
}

/// The message of a `std::exception`.
fn what(exception: usize) -> Option<String> {
    // After two destructors.
    let function = word_at(word_at(exception) + 16);
    // SAFETY: a virtual function of the object.
    let said = unsafe { thread::call_back(function, exception, 0) };
    (said != 0).then(|| one_line(&text_at(said as *const c_char)))
}

/// A message is one line.
fn one_line(text: &str) -> String {
    text.trim_end().replace(['\n', '\r'], " ")
}
