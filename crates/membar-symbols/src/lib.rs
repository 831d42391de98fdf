//! Source lines and names of variables, from debug information.
//!
//! # Problem
//!
//! A run of a compiled program is a list of addresses; a report should speak of `dekker.c:12`, function `lock`,
//! variable `flag[0]`. [`Symbols`] turns the one into the other for one shared object that was compiled with `-g`
//! by gcc, clang or rustc (DWARF 4 or 5). All offsets are addresses as the linker gave them, that is, relative to where the
//! object is loaded.
//!
//! # Algorithm
//!
//! 1. [`Symbols::load`] reads the file and its ELF symbol table.
//! 2. The first question about a name builds the index (`index`): one pass over all entries of `.debug_info`, which
//!    gives sorted tables of variables, functions and types. Everything after that is binary search.
//! 3. Lines and inlined calls come from `addr2line`, which reads the line table of a unit when it is first needed.
//! 4. Bytes of a variable become a path (`q.head`, `table[3].next`) by walking down its type (`path`).
//! 5. Locals of a function are read when they are first asked for (`locals`), and the type of a heap block is guessed
//!    from the line that allocated it (`heap`).
//!
//! # Guarantees
//!
//! * Missing or damaged debug information gives less: names from the ELF symbol table, or `None`. Nothing panics,
//!   every walk is bounded.
//! * Types that are declared in system headers are not taken apart: an access to any byte of a `pthread_mutex_t` or
//!   a `std::atomic<int>` has the name of the variable itself. (`std::array` and `std::pair` are the exceptions, as
//!   they are the user's own data.)
//! * A [`Symbols`] may be shared between threads.

mod demangle;
mod entry;
mod files;
mod heap;
mod image;
mod index;
mod lines;
mod locals;
mod names;
mod path;
mod scalar;
mod scan;
mod source;
mod types;
mod wrappers;

pub use demangle::short as short_name;
pub use scalar::Scalar;
pub use source::{SourceFiles, source_line};
pub use wrappers::Callers;

use files::Files;
use heap::HeapTypes;
use image::Image;
use index::{FunctionRange, Index};
use lines::{Lines, Names};
use locals::Locals;
use path::Reach;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Why an object's symbols could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SymbolError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    #[allow(missing_docs)] // the names say it
    Read { path: PathBuf, source: std::io::Error },
    /// The file is larger than any program that is built here.
    #[error("{} is too large for an object file: {size} bytes", path.display())]
    #[allow(missing_docs)] // the names say it
    TooLarge { path: PathBuf, size: u64 },
    /// The file is not an ELF object, or a damaged one.
    #[error("{} is not a readable ELF object: {source}", path.display())]
    #[allow(missing_docs)] // the names say it
    Format { path: PathBuf, source: object::Error },
}

/// A place in the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// The function, with its namespace and class: `lock`, `ns::queue::push`, `main::{lambda}`.
    pub function: String,
    /// The file as the user would write it; empty if it is not known.
    pub file: String,
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    pub column: u32,
}

/// A variable or a part of one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Named {
    /// As the source would write it: `flag[0]`, `q.head`, `main::x`. Accesses that are not to one member, element or
    /// number are `s.{a,b}`, `buf[2..6]` and `x+1` (bytes from the start).
    pub name: String,
    /// The type stored there.
    pub ty: Scalar,
}

/// The symbol tables and debug information of a shared object.
#[derive(Debug)]
pub struct Symbols {
    image: Image,
    files: OnceLock<Files>,
    index: OnceLock<Index>,
    lines: OnceLock<Option<Mutex<Lines>>>,
    locals: Mutex<FxHashMap<u64, Arc<Locals>>>,
    heap: OnceLock<HeapTypes>,
}

impl Symbols {
    /// Reads a shared object. That it has no debug information is not an error.
    pub fn load(object: &Path) -> Result<Symbols, SymbolError> {
        Ok(Symbols {
            image: Image::load(object)?,
            files: OnceLock::new(),
            index: OnceLock::new(),
            lines: OnceLock::new(),
            locals: Mutex::default(),
            heap: OnceLock::new(),
        })
    }

    /// Where the call that returns to `offset` was made: innermost first, inlined calls included. Without debug
    /// information, only the function is known; empty if not even that.
    pub fn place(&self, offset: u64) -> Vec<Frame> {
        // The return address may already belong to the next line, or, after a call that never returns, to the next
        // function.
        let pc = offset.saturating_sub(1);
        if let Some(lines) = self.lines() {
            let found = lines.frames(pc, self.names());
            if !found.is_empty() {
                return found;
            }
        }
        let function = self.image.function(pc).map(demangle::short);
        let frame = |function| Frame { function, file: String::new(), line: 0, column: 0 };
        function.map(frame).into_iter().collect()
    }

    /// The innermost frame of [`Symbols::place`] that is in a file of the user's.
    pub fn user_frame(&self, offset: u64) -> Option<Frame> {
        self.place(offset).into_iter().find(|frame| self.is_user_file(&frame.file))
    }

    /// The innermost place in a file of the user's, for return addresses from the innermost outwards.
    pub fn user_place(&self, stack: &[u64]) -> Option<Frame> {
        stack.iter().find_map(|offset| self.user_frame(*offset))
    }

    /// The return address of [`Symbols::user_place`]: for [`Symbols::heap`], who asked for a block that a container
    /// allocated.
    pub fn user_pc(&self, stack: &[u64]) -> Option<u64> {
        stack.iter().copied().find(|offset| self.user_frame(*offset).is_some())
    }

    /// Whether a file, as a [`Frame`] names it, is the user's own: no system header and nothing that the compiler
    /// made up.
    pub fn is_user_file(&self, file: &str) -> bool {
        self.files().is_user(file)
    }

    /// The text of a line of a file, as a [`Frame`] names it. Unlike [`source_line`], it also finds files whose names
    /// are relative to the directory where the compiler ran.
    pub fn source_line(&self, file: &str, line: u32) -> Option<String> {
        self.files().candidates(file).iter().find_map(|path| source::cached_line(path, line))
    }

    /// The line as [`Symbols::source_line`] has it; of a long one only the statement at this column, from 1.
    pub fn statement(&self, file: &str, line: u32, column: u32) -> Option<String> {
        self.files().candidates(file).iter().find_map(|path| source::cached_statement(path, line, column))
    }

    /// The global, static or function-static variable that covers these bytes.
    pub fn variable(&self, offset: u64, size: u32) -> Option<Named> {
        let size = u64::from(size.max(1));
        self.index().variable(offset, size).or_else(|| self.image.variable(offset, size))
    }

    /// The target of a pointer to this place: a variable, an element or a member, whichever is largest; of an array its
    /// element. None if nothing begins here.
    pub fn object(&self, offset: u64) -> Option<String> {
        self.index().object(offset)
    }

    /// The thread-local variable that covers these bytes of the module's TLS block.
    pub fn thread_local(&self, offset: u64, size: u32) -> Option<Named> {
        let size = u64::from(size.max(1));
        self.index().thread_local(offset, size).or_else(|| self.image.thread_local(offset, size))
    }

    /// The local variable or parameter at the absolute address `addr`, of the function that runs at `pc` (an offset;
    /// for all but the innermost frame, the return address) and whose canonical frame address is `cfa`.
    pub fn local(&self, pc: u64, cfa: u64, addr: u64, size: u32) -> Option<Named> {
        let index = self.index();
        // As for `place`; but the first instruction of a function has nothing before it.
        let (pc, function) =
            [pc.saturating_sub(1), pc].into_iter().find_map(|pc| Some((pc, index.function_at(pc)?)))?;
        self.locals(function).find(&self.image, index, pc, cfa, addr, u64::from(size.max(1)))
    }

    /// The meaning of the bytes at `offset` of a heap block, if the block has `block` bytes and was allocated by the call
    /// that returns to `alloc_pc`: the type of the block or of its elements, and the path within it (empty if the type
    /// is a plain number).
    ///
    /// The type is a guess: one that the allocating line of the user's source mentions, or that something it mentions
    /// points to, and whose size is the block's or divides it; else the only type of the user's of just that size.
    /// The line is that of the innermost frame in the user's files; see [`Symbols::user_pc`].
    pub fn heap(&self, alloc_pc: u64, block: u64, offset: u64, size: u32) -> Option<(String, Named)> {
        let size = u64::from(size.max(1));
        if offset >= block {
            return None;
        }
        let frames = self.place(alloc_pc);
        let frame = frames.iter().find(|frame| self.is_user_file(&frame.file));
        let line = frame.and_then(|frame| self.source_line(&frame.file, frame.line)).unwrap_or_default();
        let index = self.index();
        let locals = index.function_at(alloc_pc.saturating_sub(1)).map(|function| self.locals(function));
        let types = self.heap.get_or_init(|| HeapTypes::new(index));
        let shape = types.guess(index, &line, locals.as_deref(), block)?;
        shape.name(index, Reach { at: offset, size })
    }

    fn locals(&self, function: &FunctionRange) -> Arc<Locals> {
        let mut cache = self.locals.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Locals::read(&self.image, self.index(), function));
        cache.entry(function.die).or_insert_with(new).clone()
    }

    fn lines(&self) -> Option<MutexGuard<'_, Lines>> {
        let lines = self.lines.get_or_init(|| Lines::new(&self.image).map(Mutex::new)).as_ref()?;
        Some(lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn names(&self) -> Names<'_> {
        Names { image: &self.image, index: self.index(), files: self.files() }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| scan::scan(&self.image, self.files()))
    }

    fn files(&self) -> &Files {
        self.files.get_or_init(|| Files::new(&self.image))
    }
}
