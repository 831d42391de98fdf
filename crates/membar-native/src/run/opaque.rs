//! Uninstrumented code, and the memory that it touches.
//!
//! # Problem
//!
//! Objects, archives and shared libraries that somebody else compiled, functions that are told not to be instrumented, the
//! compiled part of the C++ library and functions of the C library announce nothing. If such *opaque* code touches memory that
//! two threads share, accesses are missed, and nothing may be called safe. If it does not, it is as good as any other.
//!
//! # Algorithm
//!
//! The linker has put instrumented code on separate pages (`build/link.rs`). The process is in one of three modes:
//!
//! * *program*: instrumented code and hooks run. Pages of opaque code cannot be executed.
//! * *opaque*: opaque code runs, while there are several threads. Pages of instrumented code cannot be executed, and the
//!   program's memory cannot be accessed.
//! * *open*: opaque code may run, and there is one thread only: nobody could notice what it does.
//!
//! A call, a return, an exception or a jump from one side to the other is then a fault, and the handler
//! changes the mode ([`fault`]). The C library cannot be taken away from us, so calls to it go through thunks
//! ([`thunks`]); from there on everything is the same.
//!
//! A page that opaque code accesses is given to it if no other thread is known to use any of it. Which thread that was is
//! kept: if another one comes to the page, whether by opaque code or not ([`Shadow`]), the page is *exact* from then on, and
//! exploration begins again. On an exact page each access is examined by itself: the instruction is run alone, with the page open, and
//! a trap behind it; the shadow knows what it touches like any other access. An access that is somebody else's business too is
//! noted ([`Unseen`]), and the function that was called is not looked at any more: the answer will not be "safe".
//!
//! [`Shadow`]: super::shadow::Shadow
//!
//! # Invariants
//!
//! Hooks and the scheduler run in the modes *program* and *open* only, so all threads that wait are in one of them.
//!
//! # Guarantees
//!
//! If nothing is noted, then in every execution that counts no opaque code has touched a byte that another thread accesses while
//! there are several, one of them writing; but for memory of the C and C++ libraries themselves, which look after it, and
//! for what the kernel does for opaque code.
//!
//! # Complexity
//!
//! Nothing for programs that call no opaque code while there are several threads. A call costs two signals and a
//! system call for each piece of memory; an access to an exact page two signals.

mod decode;
mod thunks;

pub use thunks::Thunks;

use super::fault;
use super::layout::{ARENA, ARENA_LEN, HEAPS, MAX_THREADS, STACK_SIZE, STACKS, TLS_SIZE, stack_base};
use super::stack::floor;
use super::trace::location;
use super::world::{World, world};
use membar_explore::Location;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::ffi::c_void;

const PAGE: usize = 4096;
/// Accesses to exact pages in one call that are examined.
const PATIENCE: u32 = 20_000;
/// Bytes behind a pointer that the kernel may read or write.
const KERNEL_BYTES: usize = 64;
/// Bytes that `setjmp` stores.
const PLACE_BYTES: usize = 72;
/// Notes beyond that say nothing new.
const MOST: usize = 32;
/// The trap flag.
const TRAP: i64 = 1 << 8;
/// Of the error code of a page fault: a write, an instruction.
const WRITE: i64 = 2;
const FETCH: i64 = 16;

/// Something that opaque code did, or may have done, unseen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unseen {
    /// The function that was called, as an offset in the object if it is there.
    pub offset: Option<u32>,
    /// Its name if it is elsewhere, and the file that it is in.
    pub name: String,
    /// See `name`.
    pub library: String,
    /// The return address of the call, as an offset in the object.
    pub site: u32,
    /// The location that it touched, if that is known.
    pub touches: Option<Location>,
    /// It was not opaque code but an access at `site`, to memory that is not looked after.
    #[serde(default)]
    pub strange: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Mode {
    #[default]
    Program,
    Opaque,
    Open,
}

/// A call of opaque code.
#[derive(Clone, Copy, Debug, Default)]
struct Call {
    function: usize,
    site: usize,
    /// The stack pointer at its beginning: the memory below belongs to it.
    sp: usize,
}

/// Everything known about opaque code.
#[derive(Debug, Default)]
pub struct Opaque {
    /// There is such code, and it is examined.
    watching: bool,
    mode: Mode,
    /// Memory is out of reach.
    shielded: bool,
    /// Pages of instrumented code, and of opaque code.
    program: (usize, usize),
    code: Vec<(usize, usize)>,
    /// Data of the C++ library.
    exempt: (usize, usize),
    pub thunks: Thunks,
    /// The last one of each thread.
    calls: Vec<Call>,
    looked: u32,
    /// Exact pages that are open for one instruction.
    ajar: Vec<usize>,
    /// Calls back from the C library: where the return address was, and what it was.
    returns: Vec<(usize, usize)>,
    /// Functions that are not looked at any more.
    known: FxHashSet<usize>,
    pub unseen: Vec<Unseen>,
    /// Some was run while there were several threads.
    pub ever: bool,
}

fn protect((from, to): (usize, usize), access: i32) {
    if from < to {
        // SAFETY: pages of the program's memory or code, which nobody but the program relies on.
        let done = unsafe { libc::mprotect(from as *mut c_void, to - from, access) };
        // Out of memory for mappings: nothing could be relied on.
        assert!(done == 0, "mprotect: {}", std::io::Error::last_os_error());
    }
}

const NONE: i32 = libc::PROT_NONE;
const ALL: i32 = libc::PROT_READ | libc::PROT_WRITE;
const CODE: i32 = libc::PROT_READ | libc::PROT_EXEC;
const TEXT: i32 = libc::PROT_READ;

fn down(at: usize) -> usize {
    at & !(PAGE - 1)
}

fn inside(at: usize, (from, to): (usize, usize)) -> bool {
    (from..to).contains(&at)
}

/// Whole pages.
fn pages((from, to): (usize, usize)) -> (usize, usize) {
    (down(from), to.next_multiple_of(PAGE))
}

impl World {
    /// From now on opaque code is examined. `program` is instrumented code, `exempt` data of the C++ library, as
    /// ranges of addresses.
    pub fn watch_opaque(&mut self, object: &std::path::Path, program: (usize, usize), exempt: (usize, usize)) {
        let opaque = &mut self.opaque;
        opaque.watching = true;
        opaque.calls = vec![Call::default(); MAX_THREADS];
        opaque.ajar.reserve(64);
        (opaque.program, opaque.exempt) = (pages(program), pages(exempt));
        let behind = (opaque.program.1, self.module.text.1);
        if behind.0 < behind.1 {
            opaque.code.push(pages(behind));
        }
        opaque.code.extend(self.module.libraries.iter().flat_map(|library| &library.text).map(|&text| pages(text)));
        for &code in &opaque.code {
            protect(code, TEXT);
        }
        opaque.thunks = Thunks::install(object, &self.module);
        self.note_static_tls();
    }

    /// There are several threads from now on.
    #[inline]
    pub fn crowd(&mut self) {
        if self.opaque.mode == Mode::Open {
            self.close();
        }
    }

    #[cold]
    fn close(&mut self) {
        for &code in &self.opaque.code {
            protect(code, TEXT);
        }
        self.opaque.mode = Mode::Program;
    }

    /// Opaque code begins or continues.
    fn enter(&mut self, watched: bool) {
        self.opaque.mode = Mode::Opaque;
        self.opaque.ever = true;
        // Its changes are not among the thread's known writes.
        self.threads[self.current].dirty = true;
        for &code in &self.opaque.code {
            protect(code, CODE);
        }
        protect(self.opaque.program, TEXT);
        if watched {
            self.shield(NONE);
        }
    }

    /// Instrumented code begins or continues, or the code that runs it has to.
    fn leave(&mut self) {
        self.unshield();
        for &code in &self.opaque.code {
            protect(code, TEXT);
        }
        protect(self.opaque.program, CODE);
        self.opaque.mode = Mode::Program;
    }

    fn unshield(&mut self) {
        self.opaque.ajar.clear();
        if self.opaque.shielded {
            self.shield(ALL);
        }
    }

    /// Takes the program's memory away, or gives it back.
    fn shield(&mut self, access: i32) {
        let id = self.current;
        // Of its own stack what others know. We may run on it, and accesses to what is closed are examined as long as `shielded` says so: so it
        // is the first to be given back, and the last to be taken.
        let own = (down(self.opaque.calls[id].sp), stack_base(id));
        if access == ALL {
            protect(own, ALL);
        }
        self.opaque.shielded = access == NONE;
        for thread in 0..self.known {
            protect(pages(self.heap.extent(thread)), access);
            if thread != id && self.threads[thread].place != 0 {
                protect((floor(thread), stack_base(thread)), access);
                let (at, len) = self.module.thread_local_block(thread);
                protect(pages((at, at + len)), access);
            }
        }
        let mut run = (0, 0);
        for (at, len) in self.pages.ranges() {
            let piece = pages((at, at + len));
            if inside(at, self.opaque.exempt) || inside(piece.0, run) && piece.1 <= run.1 {
                continue;
            }
            if piece.0 == run.1 {
                run.1 = piece.1;
            } else {
                protect(run, access);
                run = piece;
            }
        }
        protect(run, access);
        if access == ALL {
            return;
        }
        for page in (own.0..own.1).step_by(PAGE).filter(|&page| self.shadow.is_foreign(page, id)) {
            protect((page, page + PAGE), NONE);
        }
    }

    /// Whether a fault at an address of the program's memory can only be because of us.
    fn is_shielded(&self, addr: usize) -> bool {
        if addr.wrapping_sub(ARENA) < ARENA_LEN {
            let in_stacks = (STACKS..HEAPS).contains(&addr);
            return !in_stacks || addr >= floor((addr - STACKS) / STACK_SIZE);
        }
        self.pages.has(addr)
    }

    /// Opaque code accesses memory of the program.
    fn touch(&mut self, addr: usize, write: bool, pc: usize, flags: &mut i64) {
        let (id, page) = (self.current, down(addr));
        if self.pages.has(addr) && write && self.pages.written(addr) {
            // Earlier reads of it were not examined.
            self.grown = true;
        }
        let own = inside(addr, (stack_base(id) - STACK_SIZE, stack_base(id)));
        if own && addr < self.opaque.calls[id].sp {
            // Its own frames, which share a page with others.
            return self.once(page, flags);
        }
        if inside(addr, self.opaque.exempt) || self.shadow.give(page, id) {
            return protect((page, page + PAGE), ALL);
        }
        // SAFETY: where the instruction is that has just been fetched.
        let code = unsafe { std::slice::from_raw_parts(pc as *const u8, 16) };
        if self.shadow.opaque(id, addr, decode::size(code), write) {
            self.once(page, flags);
        } else {
            self.note(Some(addr), flags);
        }
    }

    /// Opens a page for one instruction.
    fn once(&mut self, page: usize, flags: &mut i64) {
        self.opaque.looked += 1;
        if self.opaque.looked > PATIENCE {
            return self.note(None, flags);
        }
        protect((page, page + PAGE), ALL);
        self.opaque.ajar.push(page);
        *flags |= TRAP;
    }

    /// Opaque code does something that has to be seen, or that may have to be.
    fn note(&mut self, addr: Option<usize>, flags: &mut i64) {
        self.unshield();
        *flags &= !TRAP;
        let Call { function, site, .. } = self.opaque.calls[self.current];
        self.remember(function, site, addr);
    }

    fn remember(&mut self, function: usize, site: usize, addr: Option<usize>) {
        if !self.opaque.known.insert(function) || self.opaque.unseen.len() == MOST {
            return;
        }
        let offset = Some(self.module.offset(function)).filter(|&offset| offset != u32::MAX);
        let library =
            self.module.libraries.iter().find(|library| inside(function, (library.base, library.base + library.len)));
        let name = match self.opaque.thunks.name(function) {
            Some(name) => name.to_owned(),
            None => super::module::symbol_at(function).map(|(name, _)| name).unwrap_or_default(),
        };
        let library = library.map_or(String::new(), |library| library.name.clone());
        let site = self.module.offset(site);
        let touches = addr.and_then(location);
        self.opaque.unseen.push(Unseen { offset, name, library, site, touches, strange: false });
        self.grown = true;
    }

    /// Notes libraries whose state for each thread is neither kept apart nor restored for the next execution.
    fn note_static_tls(&mut self) {
        for library in self.module.libraries.iter().filter(|library| library.static_tls && self.opaque.watching) {
            let (name, library) = (String::new(), library.name.clone());
            if self.opaque.unseen.iter().all(|known| known.library != library) {
                let one = Unseen { offset: None, name, library, site: u32::MAX, touches: None, strange: false };
                self.opaque.unseen.push(one);
                self.grown = true;
            }
        }
    }

    /// Takes over earlier notes, as facts.
    pub fn know_unseen(&mut self, unseen: &[Unseen]) {
        self.opaque.unseen = unseen.to_vec();
        self.opaque.known.clear();
        self.note_static_tls();
        for one in unseen {
            let function = match one.offset {
                Some(offset) => Some(self.module.base + offset as usize),
                None => self.opaque.thunks.target(&one.name).or_else(|| self.module.find(&one.library, &one.name)),
            };
            self.opaque.known.extend(function);
        }
    }

    /// The execution begins again.
    #[inline]
    pub fn forget_calls(&mut self) {
        self.opaque.returns.clear();
        if self.opaque.ever {
            self.opaque.calls.fill(Call::default());
        }
    }

    /// A call of a function of the C library, whose return address is at this stack pointer; with these arguments, if they
    /// matter.
    fn call_outside(&mut self, function: usize, sp: usize, arguments: &[usize]) {
        // Its changes are not among the thread's known writes.
        self.threads[self.current].dirty = true;
        let opaque = &mut self.opaque;
        if self.alone || !opaque.watching || opaque.mode != Mode::Program || opaque.known.contains(&function) {
            return;
        }
        // SAFETY: the stack pointer of the caller.
        let site = unsafe { *(sp as *const usize) };
        let id = self.current;
        opaque.calls[id] = Call { function, site, sp };
        opaque.looked = 0;
        if opaque.thunks.keeps_state(function) {
            return self.remember(function, site, None);
        }
        if opaque.thunks.stores_place(function) {
            // The first argument was saved first, and stands above the others.
            let at = arguments.last().copied().unwrap_or(0);
            if !self.shadow.opaque(id, at, PLACE_BYTES, true) {
                self.remember(function, site, Some(at));
            }
            return;
        }
        if opaque.thunks.asks_kernel(function) {
            let shared = arguments.iter().find(|&&at| self.shadow.is_shared(at, KERNEL_BYTES, id));
            if let Some(&at) = shared {
                self.remember(function, site, Some(at));
            }
            return;
        }
        self.enter(true);
    }

    /// The C library continues after it has called the program back: where. The stack pointer is what it was behind the
    /// return.
    fn resume_outside(&mut self, sp: usize) -> usize {
        let mut to = 0;
        while let Some((at, address)) = self.opaque.returns.pop_if(|(at, _)| *at < sp) {
            to = address;
            if at + 8 == sp {
                break;
            }
        }
        let function = self.opaque.calls[self.current].function;
        if !self.alone && self.opaque.mode == Mode::Program && !self.opaque.known.contains(&function) {
            self.enter(true);
        }
        to
    }
}

/// The program accesses memory that is not looked after and that another thread uses too.
pub fn stray() {
    let w = world();
    let site = super::access::site(w);
    let noted = |one: &Unseen| one.strange && one.site == site;
    if w.opaque.unseen.len() < MOST && !w.opaque.unseen.iter().any(noted) {
        let (name, library) = (String::new(), String::new());
        w.opaque.unseen.push(Unseen { offset: None, name, library, site, touches: None, strange: true });
        w.grown = true;
    }
}

/// Whether an address is in memory that the program can change.
pub fn is_writable(addr: usize) -> bool {
    addr.wrapping_sub(ARENA) < ARENA_LEN || world().pages.has(addr)
}

/// A hook lets a function of the C library do its work.
pub fn during<T>(name: &str, function: usize, work: impl FnOnce() -> T) -> T {
    let w = world();
    if w.alone || !w.opaque.watching {
        return work();
    }
    w.opaque.thunks.call_it(function, name);
    w.call_outside(function, super::registers::register(0), &[]);
    let result = work();
    abandon(None);
    result
}

/// We call a function of the program as requested at `site`. If it is opaque, then it returns to us and not to
/// instrumented code, without a fault.
pub fn call_back<T>(function: usize, site: usize, work: impl FnOnce() -> T) -> T {
    let w = world();
    if !w.opaque.watching || !w.opaque.code.iter().any(|&code| inside(function, code)) {
        return work();
    }
    let id = w.current;
    let mark = 0u8;
    let call = Call { function, site, sp: &raw const mark as usize };
    let before = std::mem::replace(&mut w.opaque.calls[id], call);
    w.opaque.looked = 0;
    let result = work();
    abandon(None);
    world().opaque.calls[id] = before;
    result
}

/// The same for a function that a hook calls.
pub fn called_back<T>(function: usize, work: impl FnOnce() -> T) -> T {
    if world().alone {
        return work();
    }
    // SAFETY: the stack pointer of a stub's caller, or of the thread's beginning.
    let site = unsafe { *(super::registers::register(0) as *const usize) };
    call_back(function, site, work)
}

/// A fault of the program: whether it is one of those that change the mode, or look at opaque code; then the instruction
/// is to be tried again.
pub fn fault(addr: usize, registers: &mut [i64]) -> bool {
    let w = world();
    let register = |i: i32| registers[i as usize];
    let (error, pc, sp) = (register(libc::REG_ERR), register(libc::REG_RIP) as usize, register(libc::REG_RSP) as usize);
    if !w.opaque.watching || !w.running {
        return false;
    }
    if error & FETCH != 0 {
        return fetch(w, pc, sp);
    }
    if w.opaque.mode != Mode::Opaque || !w.opaque.shielded || !w.is_shielded(addr) {
        return false;
    }
    let flags = &mut registers[libc::REG_EFL as usize];
    w.touch(addr, error & WRITE != 0, pc, flags);
    true
}

fn fetch(w: &mut World, pc: usize, sp: usize) -> bool {
    let id = w.current;
    if w.opaque.code.iter().any(|&code| inside(pc, code)) && w.opaque.mode == Mode::Program {
        if w.alone {
            for &code in &w.opaque.code {
                protect(code, CODE);
            }
            w.opaque.mode = Mode::Open;
            return true;
        }
        // SAFETY: the stack pointer of a thread that runs, at a call or after a return.
        let site = unsafe { *(sp as *const usize) };
        if inside(site, w.opaque.program) && fault::is_after_call(site) {
            w.opaque.calls[id] = Call { function: pc, site, sp };
            w.opaque.looked = 0;
        } else if w.opaque.calls[id].sp < sp {
            // It was called while there was one thread only, and there are more now that it continues.
            let site = fault::call_from_program(sp).unwrap_or(0);
            w.opaque.calls[id] = Call { function: pc, site, sp };
            w.opaque.looked = 0;
        }
        let library = w.module.libraries.iter().find(|library| inside(pc, (library.base, library.base + library.len)));
        if library.is_some_and(|library| library.static_tls) {
            let Call { function, site, .. } = w.opaque.calls[id];
            w.remember(function, site, None);
        }
        let watched = !w.opaque.known.contains(&w.opaque.calls[id].function);
        w.enter(watched);
        return true;
    }
    if inside(pc, w.opaque.program) && w.opaque.mode == Mode::Opaque {
        w.leave();
        // SAFETY: as above; the stack can be accessed again.
        let back = unsafe { &mut *(sp as *mut usize) };
        let outside = !w.module.has(*back) && sp.is_multiple_of(8) && thunks::is_outside(*back);
        if outside {
            w.opaque.returns.push((sp, *back));
            *back = thunks::resume as *const () as usize;
        }
        return true;
    }
    false
}

/// A trap: whether it is the one behind an instruction that was run alone.
pub fn trap(registers: &mut [i64]) -> bool {
    let w = world();
    if w.opaque.ajar.is_empty() {
        return false;
    }
    registers[libc::REG_EFL as usize] &= !TRAP;
    for page in w.opaque.ajar.drain(..) {
        protect((page, page + PAGE), NONE);
    }
    true
}

/// The thread that runs is given up, wherever it is. Whether it was in opaque code.
pub fn abandon(registers: Option<&mut [i64]>) -> bool {
    let w = world();
    if let Some(registers) = registers {
        registers[libc::REG_EFL as usize] &= !TRAP;
    }
    let was = w.opaque.mode == Mode::Opaque;
    if was {
        w.leave();
    }
    was
}

/// How far a thread-local block reaches at most; for the reader of `shield`.
const _: () = assert!(TLS_SIZE.is_multiple_of(PAGE));
