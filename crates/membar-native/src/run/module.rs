//! The program's object in memory: where it is, and its thread-local variables.

use super::layout::{TLS, TLS_SIZE};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

const PAGE: usize = 4096;

/// The object.
#[derive(Debug, Default)]
pub struct Module {
    pub base: usize,
    pub len: usize,
    /// Code, as a range of addresses.
    pub text: (usize, usize),
    /// Writable memory, as ranges of addresses.
    pub data: Vec<(usize, usize)>,
    /// The initial thread-local variables: their image and the size with what is zero.
    tls: (usize, usize, usize),
    tls_id: usize,
    /// `main`.
    pub main: usize,
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
    #[error("code that runs before `main` (a constructor) goes wrong: {}", .0.strip_prefix("limit: ").unwrap_or(.0))]
    Constructor(String),
    /// It has no `main`.
    #[error("the program has no `main` function")]
    NoMain,
    /// Too many thread-local variables.
    #[error("the program has {0} bytes of thread-local variables; membar has room for {TLS_SIZE}")]
    Tls(usize),
}

impl Module {
    /// Loads the object. Its constructors run.
    pub fn load(path: &Path) -> Result<Module, LoadError> {
        use std::os::unix::ffi::OsStrExt;
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| LoadError::Open(error.to_string()))?;
        // SAFETY: the program's constructors run here, with everything they may call in place.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
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
        let mut module = Module { main, ..Module::default() };
        struct Wanted<'a> {
            inside: usize,
            module: &'a mut Module,
        }
        unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, wanted: *mut c_void) -> c_int {
            // SAFETY: the arguments are what dl_iterate_phdr and the caller below pass.
            let (info, wanted) = unsafe { (&*info, &mut *wanted.cast::<Wanted<'_>>()) };
            // SAFETY: as documented.
            let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
            let base = info.dlpi_addr as usize;
            let range = |h: &libc::Elf64_Phdr| (base + h.p_vaddr as usize, base + (h.p_vaddr + h.p_memsz) as usize);
            let loads = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
            if !loads().any(|h| (range(h).0..range(h).1).contains(&wanted.inside)) {
                return 0;
            }
            let module = &mut *wanted.module;
            module.base = base;
            module.len = loads().map(|h| range(h).1 - base).max().unwrap_or(0);
            for header in loads().filter(|h| h.p_flags & libc::PF_X != 0) {
                module.text = range(header);
            }
            let relro = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO).map(range);
            for header in loads().filter(|h| h.p_flags & libc::PF_W != 0) {
                let (mut from, to) = range(header);
                if let Some((a, b)) = relro
                    && a <= from
                    && from < b
                {
                    // What the dynamic linker has made read-only, in whole pages.
                    from = from.max(b & !(PAGE - 1)).min(to);
                }
                if from < to {
                    module.data.push((from, to));
                }
            }
            if let Some(header) = headers.iter().find(|h| h.p_type == libc::PT_TLS) {
                let (from, _) = range(header);
                module.tls = (from, header.p_filesz as usize, header.p_memsz as usize);
                module.tls_id = info.dlpi_tls_modid;
            }
            1
        }
        let mut wanted = Wanted { inside: main, module: &mut module };
        // SAFETY: `each` fits.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut wanted).cast()) };
        if module.tls.2 > TLS_SIZE {
            return Err(LoadError::Tls(module.tls.2));
        }
        Ok(module)
    }

    /// Gives a thread its thread-local variables as they are at its beginning.
    #[inline]
    pub fn thread_locals(&self, thread: usize) {
        let (image, file, size) = self.tls;
        if size == 0 {
            return;
        }
        let to = (TLS + thread * TLS_SIZE) as *mut u8;
        // SAFETY: the block is mapped and large enough, and the image is part of the object.
        unsafe {
            std::ptr::copy_nonoverlapping(image as *const u8, to, file);
            std::ptr::write_bytes(to.add(file), 0, size - file);
        }
    }

    /// Where a thread's thread-local variables are, and how many bytes they have.
    pub fn thread_local_block(&self, thread: usize) -> (usize, usize) {
        (TLS + thread * TLS_SIZE, self.tls.2)
    }

    /// Whether this is the object's number among those with thread-local variables; before it is known, any is.
    pub fn is_own_tls(&self, id: usize) -> bool {
        self.tls_id == 0 || self.tls_id == id
    }

    /// An address of code as an offset.
    #[inline]
    pub fn offset(&self, pc: usize) -> u32 {
        let offset = pc.wrapping_sub(self.base);
        if offset < self.len { offset as u32 } else { u32::MAX }
    }

    /// Whether an address is in the object's code.
    pub fn is_code(&self, pc: usize) -> bool {
        (self.text.0..self.text.1).contains(&pc)
    }
}

/// A C string, for messages.
pub fn text(at: *const c_char) -> String {
    if at.is_null() {
        return "?".into();
    }
    // SAFETY: the program says that this is a string.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().chars().take(200).collect()
}
