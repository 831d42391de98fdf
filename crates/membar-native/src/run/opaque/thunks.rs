//! Calls from the program's object to the C library, which go through here.
//!
//! Each slot of the object's table of addresses that leads to a function of the C library gets the address of a *thunk*
//! instead: two instructions that say which function it is and go to [`common`], which tells [`super`] and then jumps to the function
//! itself. Nothing is left on the stack, so the function returns to its caller in any way it likes.

use crate::files::Mapped;
use crate::run::made::Maker;
use crate::run::module::Module;
use crate::run::world::world;
use object::Endianness;
use object::elf;
use object::read::elf::{ElfFile64, Rela, Sym};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::c_void;
use std::path::Path;

const PAGE: usize = 4096;
/// Bytes of a thunk.
const THUNK: usize = 32;

/// The functions of the C library that the object calls.
#[derive(Debug, Default)]
pub struct Thunks {
    functions: Vec<usize>,
    names: FxHashMap<usize, String>,
    /// The names of all functions that are called in this way only.
    only: FxHashSet<String>,
    /// Which of them keep something for later, so that no state after a call can be restored ([`crate::run::snapshot`]).
    keeping: Vec<bool>,
    /// Which of them make directories or files.
    makers: Vec<Option<Maker>>,
    stateful: FxHashSet<usize>,
    kernel: FxHashSet<usize>,
    storing: FxHashSet<usize>,
}

/// Functions that touch no memory but their own, or whose callers look after that: no thunk.
const HARMLESS: &[&str] = &[
    "__errno_location",
    "__cxa_finalize",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "dl_iterate_phdr",
    "_dl_find_object",
    "tolower",
    "toupper",
    "isalnum",
    "isalpha",
    "isdigit",
    "isprint",
    "isspace",
    "putchar",
    "putchar_unlocked",
    "fputc",
    "putc",
    "_IO_putc",
    "fflush",
    "abs",
    "labs",
    "llabs",
    "getpid",
    "sysconf",
    "getpagesize",
    "__stack_chk_fail",
    "__libc_start_main",
    "longjmp",
    "siglongjmp",
    "_longjmp",
    "__longjmp_chk",
];

/// Functions whose result is kept where every thread finds it: calls while other threads exist may be wrong.
const STATEFUL: &[&str] = &[
    "strtok",
    "localtime",
    "gmtime",
    "ctime",
    "asctime",
    "strsignal",
    "initstate",
    "setstate",
    "seed48",
    "lcong48",
    "setlocale",
    "tmpnam",
    "getopt",
    "getopt_long",
    "getopt_long_only",
    "hcreate",
    "hsearch",
    "hdestroy",
    "ecvt",
    "fcvt",
    "gcvt",
    "lgamma",
    "lgammaf",
    "gamma",
    "getpwnam",
    "getpwuid",
    "getgrnam",
    "getgrgid",
    "gethostbyname",
    "gethostbyaddr",
    "readdir",
    "ttyname",
    "ptsname",
    "l64a",
    "crypt",
    "basename",
    "dirname",
    "inet_ntoa",
    "getdate",
    "mblen",
    "mbtowc",
    "wctomb",
    "mbrlen",
    "setenv",
    "putenv",
    "unsetenv",
    "getenv_s",
];

/// Functions that pass their arguments to the kernel, which does not fault where memory is out of reach but fails: they run as
/// always, unless what they are given is shared.
const KERNEL: &[&str] = &[
    "open",
    "open64",
    "openat",
    "openat64",
    "creat",
    "creat64",
    "fopen",
    "fopen64",
    "freopen",
    "freopen64",
    "opendir",
    "stat",
    "stat64",
    "lstat",
    "lstat64",
    "fstat",
    "fstat64",
    "fstatat",
    "fstatat64",
    "statx",
    "access",
    "faccessat",
    "unlink",
    "unlinkat",
    "remove",
    "rename",
    "mkdir",
    "mkdirat",
    "rmdir",
    "chdir",
    "getcwd",
    "readlink",
    "symlink",
    "link",
    "truncate",
    "chmod",
    "chown",
    "utime",
    "utimes",
    "send",
    "sendto",
    "sendmsg",
    "recvfrom",
    "recvmsg",
    "bind",
    "listen",
    "getsockname",
    "getpeername",
    "getsockopt",
    "setsockopt",
    "ioctl",
    "fcntl",
    "fcntl64",
    "uname",
    "gethostname",
    "getrusage",
    "times",
    "sysinfo",
    "getrlimit",
    "getresuid",
    "getresgid",
    "pthread_getschedparam",
    "pthread_setschedparam",
    "pthread_getcpuclockid",
    "getrlimit64",
    "setrlimit",
    "setrlimit64",
    "prctl",
    "mlock",
    "munlock",
    "msync",
    "mincore",
    "sigpending",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_setscheduler",
    "sched_getparam",
    "sched_setparam",
    "getcpu",
    "pthread_setaffinity_np",
    "pthread_getaffinity_np",
    "pthread_setname_np",
    "pthread_getname_np",
    "getitimer",
    "clock_getres",
    "clock_settime",
    "mkstemp",
    "mkstemp64",
    "mkdtemp",
    "getdents64",
    "statfs",
    "statvfs",
    "fstatvfs",
];

/// Functions that store where they are and return twice: they run as always, and what they store is their first argument.
const STORING: &[&str] = &["_setjmp", "__sigsetjmp", "setjmp"];

/// Functions on numbers that read or store where their caller says, or keep something, and that no hook stands in for.
const WITH_POINTERS: &[&str] = &[
    "modfl",
    "frexpl",
    "remquol",
    "sincosl",
    "lgammal_r",
    "canonicalize",
    "canonicalizef",
    "canonicalizel",
    "fegetenv",
    "fesetenv",
    "feholdexcept",
    "feupdateenv",
    "fegetexceptflag",
    "fesetexceptflag",
    "nan",
    "nanf",
    "nanl",
    "lgamma",
    "lgammaf",
    "gamma",
];

/// Whether a function of a library works on numbers only.
fn is_numeric(name: &str, library: &str) -> bool {
    (library.starts_with("libm.so") || library.starts_with("libmvec.so")) && !WITH_POINTERS.contains(&name)
}

impl Thunks {
    /// Makes the calls of an object that is loaded go through thunks. Unreadable objects have none.
    pub fn install(object: &Path, module: &Module) -> Thunks {
        let mut thunks = Thunks::default();
        let Ok(data) = Mapped::open(object) else { return thunks };
        let Ok(file) = ElfFile64::<Endianness>::parse(&*data) else { return thunks };
        let Ok(imports) = crate::build::imports(object) else { return thunks };
        let outside: FxHashMap<&str, &str> = imports
            .iter()
            .filter_map(|import| Some((import.name.as_str(), import.library.as_deref()?)))
            .filter(|(name, library)| {
                crate::build::is_system(library) && !is_numeric(name, library) && !HARMLESS.contains(name)
            })
            .collect();
        let endian = file.endian();
        let symbols = file.elf_dynamic_symbol_table();
        // Where a slot is, and whose.
        let mut slots: Vec<(usize, &str)> = Vec::new();
        let mut elsewhere: FxHashSet<&str> = FxHashSet::default();
        for section in file.elf_section_table().iter() {
            let Ok(Some((relocations, _))) = object::read::elf::SectionHeader::rela(section, endian, &*data) else {
                continue;
            };
            for relocation in relocations {
                let kind = relocation.r_type(endian, false);
                let index = object::SymbolIndex(relocation.r_sym(endian, false) as usize);
                let Ok(symbol) = symbols.symbol(index) else { continue };
                let name = symbol.name(endian, symbols.strings()).ok().and_then(|name| std::str::from_utf8(name).ok());
                let Some(name) = name.filter(|name| symbol.is_undefined(endian) && outside.contains_key(name)) else {
                    continue;
                };
                if matches!(kind, elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_GLOB_DAT) {
                    slots.push((module.base + relocation.r_offset(endian) as usize, name));
                } else {
                    elsewhere.insert(name);
                }
            }
        }
        if slots.is_empty() {
            return thunks;
        }
        let len = (slots.len() * THUNK).next_multiple_of(PAGE);
        let (private, all) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: new memory.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, all, private, -1, 0) };
        if at == libc::MAP_FAILED {
            return thunks;
        }
        for (i, &(slot, name)) in slots.iter().enumerate() {
            // SAFETY: the slot is part of the object, and was filled when that was loaded.
            let function = unsafe { *(slot as *const usize) };
            thunks.functions.push(function);
            thunks.names.insert(function, name.to_owned());
            thunks.keeping.push(!crate::run::snapshot::keeps_nothing(name));
            thunks.makers.push(Maker::of(name));
            if !elsewhere.contains(name) {
                thunks.only.insert(name.to_owned());
            }
            if STATEFUL.contains(&name) {
                thunks.stateful.insert(function);
            }
            if KERNEL.contains(&name) {
                thunks.kernel.insert(function);
            }
            if STORING.contains(&name) {
                thunks.storing.insert(function);
            }
            // mov $i, %r11d; movabs $common, %r10; jmp *%r10. Nobody passes anything in these registers.
            let mut code = [0x90u8; THUNK];
            code[..2].copy_from_slice(&[0x41, 0xbb]);
            code[2..6].copy_from_slice(&(i as u32).to_le_bytes());
            code[6..8].copy_from_slice(&[0x49, 0xba]);
            code[8..16].copy_from_slice(&(common as *const () as usize).to_le_bytes());
            code[16..19].copy_from_slice(&[0x41, 0xff, 0xe2]);
            let thunk = at as usize + i * THUNK;
            // SAFETY: within the new memory.
            unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), thunk as *mut u8, THUNK) };
            let page = slot & !(PAGE - 1);
            let writable = module.data.iter().any(|&(from, to)| (from..to).contains(&slot));
            // SAFETY: the dynamic linker has filled the table and made it read-only; it is so again afterwards.
            unsafe {
                libc::mprotect(page as *mut c_void, PAGE, all);
                *(slot as *mut usize) = thunk;
                if !writable {
                    libc::mprotect(page as *mut c_void, PAGE, libc::PROT_READ);
                }
            }
        }
        // SAFETY: the new memory.
        unsafe { libc::mprotect(at, len, libc::PROT_READ | libc::PROT_EXEC) };
        thunks
    }

    /// Whether every call of a function is seen.
    pub fn sees(&self, name: &str) -> bool {
        self.only.contains(name)
    }

    /// The name of a function.
    pub fn name(&self, function: usize) -> Option<&str> {
        self.names.get(&function).map(String::as_str)
    }

    /// A function that a hook stands in for has a name too.
    pub fn call_it(&mut self, function: usize, name: &str) {
        self.names.entry(function).or_insert_with(|| name.to_owned());
    }

    /// The function that is called so.
    pub fn target(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(_, known)| *known == name).map(|(function, _)| *function)
    }

    /// Whether a function keeps its result where every thread finds it.
    pub fn keeps_state(&self, function: usize) -> bool {
        self.stateful.contains(&function)
    }
}

impl Thunks {
    /// Whether a function passes its arguments to the kernel.
    pub fn asks_kernel(&self, function: usize) -> bool {
        self.kernel.contains(&function)
    }

    /// Whether a function stores where it is.
    pub fn stores_place(&self, function: usize) -> bool {
        self.storing.contains(&function)
    }
}

/// Whether code at this address belongs to nobody we know: it is the C library's.
pub fn is_outside(pc: usize) -> bool {
    // SAFETY: plain data; zero is a null pointer.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: it only looks the address up.
    let found = unsafe { libc::dladdr(pc as *const c_void, &mut info) } != 0;
    let own = resume as *const () as usize;
    let mut membar: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let known = unsafe { libc::dladdr(own as *const c_void, &mut membar) } != 0;
    found && known && info.dli_fbase != membar.dli_fbase
}

extern "C" fn begin(index: usize, sp: usize, arguments: &[usize; 6]) -> usize {
    let w = world();
    let function = w.opaque.thunks.functions[index];
    if w.opaque.thunks.keeping[index] {
        w.snapshots.forbid();
    }
    if let Some(maker) = w.opaque.thunks.makers[index] {
        // They are saved from the first to the last.
        let [.., third, second, first] = *arguments;
        w.leftovers.extend(maker.makes([first, second, third]));
    }
    w.call_outside(function, sp, arguments);
    function
}

/// Where all thunks lead to: all registers are as the caller left them when the function begins.
#[unsafe(naked)]
extern "C" fn common() {
    core::arch::naked_asm!(
        "mov r10, rsp",
        "push rbp",
        "mov rbp, rsp",
        "push rax",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 136",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "mov rdi, r11",
        "mov rsi, r10",
        "lea rdx, [rbp - 56]",
        "call {begin}",
        "mov r11, rax",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "add rsp, 136",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rax",
        "pop rbp",
        "jmp r11",
        begin = sym begin,
    )
}

extern "C" fn go_on(sp: usize) -> usize {
    world().resume_outside(sp)
}

/// Where a function of the program returns to that the C library has called.
#[unsafe(naked)]
pub extern "C" fn resume() {
    core::arch::naked_asm!(
        "mov rdi, rsp",
        "sub rsp, 8",
        "push rax",
        "push rdx",
        "push rbp",
        "mov rbp, rsp",
        "and rsp, -16",
        "sub rsp, 32",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "call {go_on}",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "mov rsp, rbp",
        "mov r11, rax",
        "pop rbp",
        "pop rdx",
        "pop rax",
        "add rsp, 8",
        "jmp r11",
        go_on = sym go_on,
    )
}
