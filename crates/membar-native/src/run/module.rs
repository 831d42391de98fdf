//! The program's object in memory and the libraries that came with it: where they are, and their thread-local variables.

use super::layout::{TLS, TLS_SIZE};
use membar_explore::{Fault, FaultKind};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

const PAGE: usize = 4096;

/// The object, and the libraries that came with it.
#[derive(Debug, Default)]
pub struct Module {
    pub base: usize,
    pub len: usize,
    /// Code, as a range of addresses.
    pub text: (usize, usize),
    /// Writable memory, as ranges of addresses.
    pub data: Vec<(usize, usize)>,
    tls: Tls,
    /// Its destructors, of which the last is run first (`DT_FINI_ARRAY`).
    fini: Vec<usize>,
    /// `main`.
    pub main: usize,
    /// A panic ends the Rust program, even if it would be caught.
    pub aborts: bool,
    /// In the order in which the dynamic linker has them.
    pub libraries: Vec<Library>,
}

/// A shared library that the program brought along and that is not part of the C library.
#[derive(Debug, Default)]
pub struct Library {
    /// The name of its file, and the whole path.
    pub name: String,
    path: CString,
    pub base: usize,
    pub len: usize,
    /// Code, as ranges of addresses.
    pub text: Vec<(usize, usize)>,
    /// Writable memory, as ranges of addresses.
    pub data: Vec<(usize, usize)>,
    fini: Vec<usize>,
    tls: Tls,
    /// Its thread-local variables are the operating system's: threads of the program share them.
    pub static_tls: bool,
}

/// Thread-local variables of the object or of a library.
#[derive(Clone, Copy, Debug, Default)]
struct Tls {
    /// Their initial image, its bytes, and their bytes with what is zero.
    image: usize,
    file: usize,
    size: usize,
    /// By which the dynamic linker knows them.
    id: usize,
    /// Where they are in the block of a thread.
    at: usize,
}

/// Why the object could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The dynamic linker refused.
    #[error("the program cannot be loaded: {0}")]
    Open(String),
    /// The system did not let us.
    #[error("the system refuses {0}, which running a program needs: {1}")]
    Refused(&'static str, std::io::Error),
    /// Code that runs before `main` went wrong.
    #[error("{}", before_main(.0))]
    Constructor(Fault),
    /// It has no `main`.
    #[error("the program has no `main` function")]
    NoMain,
    /// Too many thread-local variables.
    #[error("the program has {0} bytes of thread-local variables; membar has room for {TLS_SIZE}")]
    Tls(usize),
}

/// The message for code that runs before `main`.
fn before_main(fault: &Fault) -> String {
    let goes_wrong = if fault.is_limit() { "" } else { "goes wrong: " };
    format!("code that runs before `main` (a constructor) {goes_wrong}{}", fault.message)
}

impl LoadError {
    /// The same as a fault.
    pub fn fault(&self) -> Fault {
        let kind = match self {
            LoadError::Constructor(fault) => fault.kind,
            LoadError::Tls(_) => FaultKind::Limit,
            LoadError::Open(_) | LoadError::Refused(..) | LoadError::NoMain => FaultKind::Error,
        };
        Fault { kind, ..Fault::error(self.to_string()) }
    }
}

impl Module {
    /// Loads the object. Its constructors run.
    pub fn load(path: &Path) -> Result<Module, LoadError> {
        use std::os::unix::ffi::OsStrExt;
        // A name without a directory would be looked for among the system's libraries.
        let path = std::path::absolute(path).map_err(|error| LoadError::Open(error.to_string()))?;
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| LoadError::Open(error.to_string()))?;
        let before: Vec<usize> = loaded().iter().map(|library| library.base).collect();
        // Calls of the program's libraries are resolved in the program first, which has the stubs.
        let how = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND;
        // SAFETY: the program's constructors run here, with everything they may call in place.
        let handle = unsafe { libc::dlopen(name.as_ptr(), how) };
        if handle.is_null() {
            // SAFETY: dlerror gives a string or null.
            let error = unsafe { libc::dlerror() };
            let error = if error.is_null() { "?".into() } else { unsafe { CStr::from_ptr(error) }.to_string_lossy() };
            return Err(LoadError::Open(error.into_owned()));
        }
        // SAFETY: the handle is good.
        let main = unsafe { libc::dlsym(handle, c"main".as_ptr()) } as usize;
        if main == 0 {
            return Err(LoadError::NoMain);
        }
        // SAFETY: as above.
        let aborts = !unsafe { libc::dlsym(handle, c"__membar_aborts".as_ptr()) }.is_null();
        let mut module = Module { main, aborts, ..Module::default() };
        for library in loaded() {
            if library.text.iter().any(|&(from, to)| (from..to).contains(&main)) {
                let Library { base, len, text, data, tls, fini, .. } = library;
                (module.base, module.len, module.data, module.tls, module.fini) = (base, len, data, tls, fini);
                module.text = text.last().copied().unwrap_or_default();
            } else if !before.contains(&library.base) && !crate::build::is_system(&library.name) {
                module.libraries.push(library);
            }
        }
        let mut size = module.tls.size;
        for library in module.libraries.iter_mut().filter(|library| library.tls.size > 0) {
            library.tls.at = size.next_multiple_of(64);
            size = library.tls.at + library.tls.size;
        }
        if size > TLS_SIZE {
            return Err(LoadError::Tls(size));
        }
        Ok(module)
    }

    /// The destructors of the object and of each library.
    pub fn all_fini(&self) -> impl Iterator<Item = &[usize]> {
        std::iter::once(&self.fini).chain(self.libraries.iter().map(|library| &library.fini)).map(Vec::as_slice)
    }

    fn tls(&self) -> impl Iterator<Item = &Tls> {
        std::iter::once(&self.tls).chain(self.libraries.iter().map(|library| &library.tls)).filter(|tls| tls.size > 0)
    }

    /// Gives a thread its thread-local variables as they are at its beginning.
    #[inline]
    pub fn thread_locals(&self, thread: usize) {
        for &Tls { image, file, size, at, .. } in self.tls() {
            let to = (TLS + thread * TLS_SIZE + at) as *mut u8;
            // SAFETY: the block is mapped and large enough, and the image is part of the object.
            unsafe {
                std::ptr::copy_nonoverlapping(image as *const u8, to, file);
                std::ptr::write_bytes(to.add(file), 0, size - file);
            }
        }
    }

    /// Where a thread's thread-local variables are, and how many bytes they have.
    pub fn thread_local_block(&self, thread: usize) -> (usize, usize) {
        (TLS + thread * TLS_SIZE, self.tls().map(|tls| tls.at + tls.size).max().unwrap_or(0))
    }

    /// Where the thread-local variables that the dynamic linker knows by this number are in a thread's block.
    pub fn thread_local_offset(&self, id: usize) -> Option<usize> {
        self.tls().find(|tls| tls.id == id).map(|tls| tls.at)
    }

    /// Writable memory of the object and its libraries, as ranges of addresses.
    pub fn all_data(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.data.iter().chain(self.libraries.iter().flat_map(|library| &library.data)).copied()
    }

    /// Whether an address is in the object or one of its libraries.
    pub fn has(&self, addr: usize) -> bool {
        addr.wrapping_sub(self.base) < self.len
            || self.libraries.iter().any(|library| addr.wrapping_sub(library.base) < library.len)
    }

    /// An address in the object or a library as a number that is the same wherever those are loaded; others stay what
    /// they are.
    pub fn portable(&self, addr: usize) -> usize {
        let inside = |(base, len): (usize, usize)| addr.wrapping_sub(base) < len;
        let bases = self.bases().enumerate().find(|(_, span)| inside(*span));
        bases.map_or(addr, |(i, (base, _))| i << PORTABLE | (addr - base))
    }

    /// The address that was made portable so.
    pub fn address(&self, portable: usize) -> usize {
        if portable >= super::layout::ARENA {
            return portable;
        }
        let base = self.bases().nth(portable >> PORTABLE).map_or(0, |(base, _)| base);
        base + (portable & ((1 << PORTABLE) - 1))
    }

    fn bases(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let libraries = self.libraries.iter().map(|library| (library.base, library.len));
        std::iter::once((self.base, self.len)).chain(libraries)
    }

    /// An address of code as an offset.
    #[inline]
    pub fn offset(&self, pc: usize) -> u32 {
        let offset = pc.wrapping_sub(self.base);
        if offset < self.len { offset as u32 } else { u32::MAX }
    }

    /// The exported function of a library.
    pub fn find(&self, library: &str, function: &str) -> Option<usize> {
        let library = self.libraries.iter().find(|known| known.name == library)?;
        let name = CString::new(function).ok()?;
        // SAFETY: only what the dynamic linker has loaded already is looked up.
        let handle = unsafe { libc::dlopen(library.path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        // SAFETY: the handle is good, or null, which is everything.
        let function = unsafe { libc::dlsym(handle, name.as_ptr()) } as usize;
        (function != 0).then_some(function)
    }

    /// Whether an address is in the object's code.
    pub fn is_code(&self, pc: usize) -> bool {
        (self.text.0..self.text.1).contains(&pc)
    }
}

/// The exported symbol that an address belongs to, and how far it is from its beginning.
pub fn symbol_at(addr: usize) -> Option<(String, usize)> {
    // SAFETY: plain data; zero is a null pointer.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: it only looks the address up.
    let found = unsafe { libc::dladdr(addr as *const c_void, &mut info) } != 0 && !info.dli_sname.is_null();
    found.then(|| (text(info.dli_sname), addr - info.dli_saddr as usize))
}

/// The file that an address belongs to.
pub fn file_at(addr: usize) -> Option<String> {
    // SAFETY: plain data; zero is a null pointer.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: it only looks the address up.
    let found = unsafe { libc::dladdr(addr as *const c_void, &mut info) } != 0 && !info.dli_fname.is_null();
    // SAFETY: the dynamic linker's own string.
    found.then(|| unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned())
}

/// Bits of an offset in a portable address; the bits above are the library's number.
const PORTABLE: u32 = 36;

/// The libraries that the dynamic linker has loaded.
fn loaded() -> Vec<Library> {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the arguments are what dl_iterate_phdr and the caller below pass.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Library>>()) };
        // SAFETY: as documented.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let base = info.dlpi_addr as usize;
        let range = |h: &libc::Elf64_Phdr| (base + h.p_vaddr as usize, base + (h.p_vaddr + h.p_memsz) as usize);
        let loads = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let path = text(info.dlpi_name);
        let name = path.rsplit('/').next().unwrap_or("").to_owned();
        let path = CString::new(path).unwrap_or_default();
        let mut library = Library { name, path, base, ..Library::default() };
        library.len = loads().map(|h| range(h).1 - base).max().unwrap_or(0);
        library.text.extend(loads().filter(|h| h.p_flags & libc::PF_X != 0).map(range));
        let relro = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO).map(range);
        for header in loads().filter(|h| h.p_flags & libc::PF_W != 0) {
            let (mut from, to) = range(header);
            if let Some((a, b)) = relro
                && a <= from
                && from < b
            {
                // Skips the part that the dynamic linker has made read-only, in whole pages.
                from = from.max(b & !(PAGE - 1)).min(to);
            }
            if from < to {
                library.data.push((from, to));
            }
        }
        if let Some(header) = headers.iter().find(|h| h.p_type == libc::PT_TLS) {
            let (image, _) = range(header);
            let (file, size) = (header.p_filesz as usize, header.p_memsz as usize);
            library.tls = Tls { image, file, size, id: info.dlpi_tls_modid, at: 0 };
            library.static_tls = headers.iter().any(|h| h.p_type == libc::PT_DYNAMIC && has_static_tls(range(h)));
        }
        let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC);
        library.fini = dynamic.map(|header| destructors(base, range(header))).unwrap_or_default();
        found.push(library);
        0
    }
    let mut found: Vec<Library> = Vec::new();
    // SAFETY: `each` fits.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
    found
}

/// The functions that a dynamic section lists as destructors.
fn destructors(base: usize, (from, to): (usize, usize)) -> Vec<usize> {
    const ARRAY: usize = 26;
    const BYTES: usize = 28;
    // SAFETY: the dynamic section of an object that is loaded.
    let entries = || (from..to).step_by(16).map(|at| unsafe { *(at as *const [usize; 2]) }).take_while(|e| e[0] != 0);
    let value = |tag| entries().find(|entry| entry[0] == tag).map(|entry| entry[1]);
    let (Some(array), Some(bytes)) = (value(ARRAY), value(BYTES)) else { return Vec::new() };
    // SAFETY: where it says that they are.
    (0..bytes / 8).map(|i| unsafe { *((base + array) as *const usize).add(i) }).filter(|&f| f != 0).collect()
}

/// Whether a dynamic section says that thread-local variables are found without asking.
fn has_static_tls((from, to): (usize, usize)) -> bool {
    const FLAGS: usize = 30;
    const STATIC_TLS: usize = 0x10;
    // SAFETY: the dynamic section of an object that is loaded.
    let entries = (from..to).step_by(16).map(|at| unsafe { *(at as *const [usize; 2]) });
    entries.take_while(|entry| entry[0] != 0).any(|entry| entry[0] == FLAGS && entry[1] & STATIC_TLS != 0)
}

/// A C string, for messages.
pub fn text(at: *const c_char) -> String {
    if at.is_null() {
        return "?".into();
    }
    // SAFETY: the program says that this is a string.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().chars().take(200).collect()
}
