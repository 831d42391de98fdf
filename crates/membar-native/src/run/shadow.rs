//! Which bytes of the program's memory are a location that threads share.
//!
//! # Problem
//!
//! The engine wants dense addresses with one value each, and only accesses that somebody else could notice. A program has
//! bytes, accessed in pieces of any size, most of them by one thread only.
//!
//! # Algorithm
//!
//! The bytes that are accessed together are a *cell*. The word of a cell's first byte says how many bytes it has and
//! who knows it: one thread (then its accesses are nobody else's business), several that only read, or several of which one
//! writes. In the last case it is *visible*: it has a number, and accesses to it are steps of the execution.
//!
//! The rest is learnt: when a second thread comes to a cell that has been one thread's, earlier
//! accesses have been missed. The cell is made visible, and [`Shadow::grown`] says that what has been explored so far has
//! to be explored again. Cells become visible and smaller (or, if they are atomic, larger) and never go back, so this
//! ends.
//!
//! When accesses of different sizes overlap, cells are cut at the borders, and an access to several cells is several steps, as plain
//! accesses of C are. If one of the accesses is atomic, the cells are made one instead: a store of 8 bytes
//! that covers two atomic words is one store, and others may rely on that. An access to a part
//! says which part it is ([`super::parts`]). If cells are to be accessed as a whole ([`Shadow::tears`]), only atomic accesses do that, and a plain
//! one is a step for each cell. That adds executions in which it is half done, none under C11, where a thread that sees that races with it. A plain access across a multiple of 8 bytes is two where there are atomic ones of up to 8 bytes: no cell has more than 8 because of it.
//!
//! A thread's stack ends with the thread. So a cell there is visible as soon as another thread comes to it, and the end of the
//! thread is a step on each of those ([`Shadow::mortal`]). The frame of `main` itself is left out: `main` seldom ends before the others.
//!
//! # Invariants
//!
//! The cells of 16 aligned bytes do not overlap; only the first byte of a cell has a word other than 0.
//!
//! # Guarantees
//!
//! In an execution during which nothing has grown, every access to a cell that two threads access, and one of them writes
//! while there are several, has been a step.

use super::layout::{ARENA, ARENA_LEN, LIBRARY_SHADOW, MAX_THREADS, MODULE_SHADOW, SHADOW, owner};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// Bits 0 to 4 of a word: the size of the cell.
const SIZE: u32 = 31;
/// Some access is atomic.
const ATOMIC: u32 = 1 << 5;
/// The one thread that knows the cell has written it.
const WRITTEN: u32 = 1 << 6;
/// From here on: who knows the cell. A thread + 1, or [`READERS`], or [`VISIBLE`] + the cell's number.
const WHO: u32 = 7;
const READERS: u32 = MAX_THREADS as u32 + 1;
const VISIBLE: u32 = READERS + 1;

/// A visible cell. Addresses below the arena are relative to the program's object, or to one of its libraries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The address of its first byte, or its offset in what it is relative to.
    pub at: u64,
    /// Bytes, 1 to 16.
    pub size: u8,
    /// Whether it is accessed atomically: then it is not cut.
    pub atomic: bool,
}

/// The classification of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hit {
    /// Nobody else's business.
    Private,
    /// To this cell, all of it.
    Exact(u32),
    /// To a part of this cell.
    Part(u32),
    /// To several cells: [`Shadow::next_in`] finds those that are visible.
    Several,
}

/// The words, and what the visible cells are.
#[derive(Debug)]
pub struct Shadow {
    module: usize,
    module_len: usize,
    /// Libraries: where they are, their bytes, and where their words are.
    libraries: Vec<(usize, usize, usize)>,
    /// Visible cells by number, with their absolute addresses; `size` 0 for those that no longer exist.
    pub cells: Vec<Cell>,
    /// Those of them on stacks and among thread-local variables.
    pub mortal: Vec<u32>,
    /// Plain accesses to several atomic cells are several steps ([`super::facts::Facts::tears`]).
    pub tears: bool,
    /// Whether cells have become visible, or others, since the program was set up.
    pub grown: bool,
    /// Pages of the arena that have cells: memory is large, and most of it has none.
    pages: Vec<bool>,
    /// Pages that code which is not instrumented has accessed, and for which thread; and those where each of its accesses
    /// has to be looked at ([`super::opaque`]).
    owners: FxHashMap<usize, usize>,
    pub exact: FxHashSet<usize>,
    /// Memory that is not looked after and has been accessed all the same, in pieces of 8 bytes: who knows them, like a word
    /// without a size. Nobody puts it back, so it has no cells.
    strange: FxHashMap<usize, u32>,
    /// Where the C library keeps `errno`, which each thread finds its own value in.
    errno: usize,
}

const PAGE: usize = 4096;

impl Shadow {
    /// For a program whose object is loaded here.
    pub fn new(module: usize, module_len: usize) -> Shadow {
        Shadow {
            module,
            module_len,
            libraries: Vec::new(),
            cells: Vec::new(),
            mortal: Vec::new(),
            tears: false,
            grown: false,
            pages: vec![false; ARENA_LEN / PAGE],
            owners: FxHashMap::default(),
            exact: FxHashSet::default(),
            strange: FxHashMap::default(),
            // SAFETY: the C library's own, for the one thread of the operating system that there is.
            errno: unsafe { libc::__errno_location() } as usize,
        }
    }

    /// Looks after libraries too, which are loaded here. Their words are mapped: [`library_bytes`].
    pub fn add(&mut self, libraries: impl Iterator<Item = (usize, usize)>) {
        let mut at = LIBRARY_SHADOW + PAGE;
        for (base, len) in libraries {
            self.libraries.push((base, len, at));
            at += words_of(len);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        let libraries = library_bytes(self.libraries.iter().map(|&(_, len, _)| len));
        let words = [
            (SHADOW, 4 * ARENA_LEN),
            (MODULE_SHADOW - 4096, 4 * self.module_len + 2 * 4096),
            (LIBRARY_SHADOW, libraries),
        ];
        for (at, len) in words.into_iter().filter(|&(_, len)| len > 0) {
            // SAFETY: private anonymous memory that is mapped there: it reads as zero afterwards.
            unsafe { libc::madvise(at as *mut libc::c_void, len, libc::MADV_DONTNEED) };
        }
        self.cells.clear();
        self.mortal.clear();
        self.pages.fill(false);
        self.owners.clear();
        self.exact.clear();
        self.strange.clear();
        self.grown = false;
    }

    /// The word of this address, if it is memory that is looked after.
    #[inline(always)]
    fn word(&self, addr: usize) -> Option<*mut u32> {
        let offset = addr.wrapping_sub(ARENA);
        if offset < ARENA_LEN {
            return Some((SHADOW + 4 * offset) as *mut u32);
        }
        let offset = addr.wrapping_sub(self.module);
        if offset < self.module_len {
            return Some((MODULE_SHADOW + 4 * offset) as *mut u32);
        }
        if self.libraries.is_empty() { None } else { self.library_word(addr) }
    }

    #[cold]
    #[inline(never)]
    fn library_word(&self, addr: usize) -> Option<*mut u32> {
        let library = self.libraries.iter().find(|&&(base, len, _)| addr.wrapping_sub(base) < len);
        library.map(|&(base, _, words)| (words + 4 * (addr - base)) as *mut u32)
    }

    /// Classifies this access, and notes it.
    #[inline(always)]
    pub fn access(&mut self, thread: usize, addr: usize, size: usize, write: bool, atomic: bool) -> Hit {
        let Some(word) = self.word(addr) else { return self.stray(thread, addr, size, write) };
        // SAFETY: the shadow is mapped as a whole, for the arena and for the object.
        let now = unsafe { *word };
        let (atomic_bit, who) = (if atomic { ATOMIC } else { 0 }, now >> WHO);
        if now & SIZE == size as u32 && now & atomic_bit == atomic_bit {
            if who >= VISIBLE {
                return Hit::Exact(who - VISIBLE);
            }
            if who == thread as u32 + 1 && (!write || now & WRITTEN != 0) || who == READERS && !write {
                return Hit::Private;
            }
        }
        self.learn(thread, addr, size, write, atomic)
    }

    /// An access to memory that is not looked after: the C library's, or from a system call that we do not know. It is no
    /// step, so if it is somebody else's business too, that is said.
    #[cold]
    #[inline(never)]
    fn stray(&mut self, thread: usize, addr: usize, size: usize, write: bool) -> Hit {
        if addr == self.errno && !super::world::world().threads[thread].own.asked_errno {
            super::fault::limit("uses `errno` of another thread, by a pointer, which membar cannot tell from its own");
        }
        if addr == self.errno || addr < PAGE {
            return Hit::Private;
        }
        let own = (thread as u32 + 1) << WHO;
        let written = if write { WRITTEN } else { 0 };
        for piece in addr / 8..(addr + size).div_ceil(8) {
            let known = self.strange.entry(piece).or_insert(own);
            if *known & !WRITTEN != own {
                if write || *known & WRITTEN != 0 {
                    super::opaque::stray();
                }
                *known = READERS << WHO | *known & WRITTEN;
            }
            *known |= written;
        }
        Hit::Private
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, thread: usize, addr: usize, size: usize, write: bool, atomic: bool) -> Hit {
        let granule = addr & !15;
        if !self.owners.is_empty() {
            self.visit(thread, addr & !(PAGE - 1));
        }
        if addr + size > granule + 16 {
            // Over the edge: two accesses.
            return self.split(thread, addr, granule + 16 - addr, size, write, atomic);
        }
        let words = self.words(granule);
        if let Some(page) = self.pages.get_mut(addr.wrapping_sub(ARENA) / PAGE) {
            *page = true;
        }
        let (from, to) = (addr - granule, addr - granule + size);
        let cells: Vec<(usize, usize)> =
            (0..16).filter(|&i| words[i] != 0).map(|i| (i, i + (words[i] & SIZE) as usize)).collect();
        let over: Vec<(usize, usize)> = cells.into_iter().filter(|&(a, b)| a < to && from < b).collect();
        let crosses = |&(a, b): &(usize, usize)| a < 8 && b > 8;
        let is_atomic = |&(a, _): &(usize, usize)| words[a] & ATOMIC != 0;
        if !over.iter().any(|cell| is_atomic(cell) && crosses(cell)) {
            if !atomic && crosses(&(from, to)) && over.iter().any(is_atomic) {
                return self.split(thread, addr, granule + 8 - addr, size, write, false);
            }
            let plain = over.iter().find(|cell| crosses(cell)).copied();
            if let Some((a, b)) = plain.filter(|_| atomic && !crosses(&(from, to))) {
                self.cut(granule, &[(a, b)], 8, b, thread);
                return self.learn(thread, addr, size, write, atomic);
            }
        }
        match over[..] {
            [] => {
                words[from] = size as u32
                    | (thread as u32 + 1) << WHO
                    | if write { WRITTEN } else { 0 }
                    | if atomic { ATOMIC } else { 0 };
                if is_others(thread, addr) { Hit::Exact(self.show(addr)) } else { Hit::Private }
            }
            [(a, b)] if (a, b) == (from, to) => {
                if atomic {
                    words[a] |= ATOMIC;
                }
                self.note_access(thread, granule + a, write)
            }
            [(a, b)] if words[a] & ATOMIC != 0 && a <= from && to <= b => {
                match self.note_access(thread, granule + a, write) {
                    Hit::Exact(cell) => Hit::Part(cell),
                    other => other,
                }
            }
            _ if atomic || !self.tears && over.iter().any(is_atomic) => {
                let whole = |(a, b): (usize, usize), &(c, d): &(usize, usize)| (a.min(c), b.max(d));
                let (a, b) = over.iter().filter(|cell| words[cell.0] & ATOMIC != 0).fold((from, to), whole);
                self.cut(granule, &over, a, b, thread);
                self.make_one(granule, (a, b), (from, to), thread, write)
            }
            _ => {
                self.cut(granule, &over, from, to, thread);
                // An atomic cell is not cut.
                let mut at = over.first().filter(|cell| is_atomic(cell)).map_or(from, |&(a, _)| a.min(from));
                let mut any = false;
                while at < to {
                    let size = (self.words(granule)[at] & SIZE) as usize;
                    any |= self.note_access(thread, granule + at, write) != Hit::Private;
                    at += size.max(1);
                }
                if any { Hit::Several } else { Hit::Private }
            }
        }
    }

    /// An access whose first bytes, this many, are one and the others another.
    fn split(&mut self, thread: usize, addr: usize, first: usize, size: usize, write: bool, atomic: bool) -> Hit {
        let a = self.access(thread, addr, first, write, atomic);
        let b = self.access(thread, addr + first, size - first, write, atomic);
        if (a, b) == (Hit::Private, Hit::Private) { Hit::Private } else { Hit::Several }
    }

    /// A thread comes to a page that code which is not instrumented may have accessed for another one.
    fn visit(&mut self, thread: usize, page: usize) {
        if self.owners.get(&page).is_some_and(|&owner| owner != thread) {
            self.owners.remove(&page);
            self.exact.insert(page);
            self.grown = true;
        }
    }

    /// Uninstrumented code accesses a page for a thread. Whether it may have all of it; otherwise each of its accesses
    /// has to be looked at.
    pub fn give(&mut self, page: usize, thread: usize) -> bool {
        self.visit(thread, page);
        if !self.exact.contains(&page) && self.is_foreign(page, thread) {
            self.owners.remove(&page);
            self.exact.insert(page);
        }
        let whole = !self.exact.contains(&page);
        if whole {
            self.owners.insert(page, thread);
        }
        whole
    }

    /// Whether anything on a page is known to another thread.
    pub fn is_foreign(&self, page: usize, thread: usize) -> bool {
        if self.exact.contains(&page) {
            return true;
        }
        if self.pages.get(page.wrapping_sub(ARENA) / PAGE) == Some(&false) {
            return false;
        }
        let own = thread as u32 + 1;
        // SAFETY: the shadow is mapped as a whole.
        let mut words = (page..page + PAGE).filter_map(|at| self.word(at)).map(|word| unsafe { *word } >> WHO);
        words.any(|who| who != 0 && who != own)
    }

    /// Whether any of these bytes is known to another thread.
    pub fn is_shared(&self, addr: usize, size: usize, thread: usize) -> bool {
        let words = (addr & !15..addr.saturating_add(size)).filter_map(|at| self.word(at).map(|word| (at, word)));
        words.into_iter().any(|(at, word)| {
            // SAFETY: as above.
            let now = unsafe { *word };
            let who = now >> WHO;
            at + (now & SIZE) as usize > addr && who != 0 && who != thread as u32 + 1
        })
    }

    /// Uninstrumented code makes this access for a thread: whether that is nobody else's business.
    pub fn opaque(&mut self, thread: usize, addr: usize, size: usize, write: bool) -> bool {
        for at in addr & !15..addr + size {
            // SAFETY: as above.
            let now = self.word(at).map_or(0, |word| unsafe { *word });
            if now == 0 || at + (now & SIZE) as usize <= addr {
                continue;
            }
            let who = now >> WHO;
            let shared = match who {
                VISIBLE.. => true,
                READERS => write,
                _ if who == thread as u32 + 1 => false,
                _ => write || now & WRITTEN != 0,
            };
            if shared {
                return false;
            }
        }
        let mut at = addr;
        while at < addr + size {
            let to = ((at & !7) + 8).min(addr + size);
            self.access(thread, at, to - at, write, false);
            at = to;
        }
        true
    }

    /// The words of 16 aligned bytes.
    fn words(&self, granule: usize) -> &'static mut [u32; 16] {
        let word = self.word(granule).or_else(|| self.word(granule + 15).map(|last| last.wrapping_sub(15)));
        let word = word.expect("memory that is looked after");
        // SAFETY: the shadow is mapped as a whole, with room at both ends; nobody else holds a reference to it.
        unsafe { &mut *word.cast() }
    }

    /// The thread accesses a cell as it is.
    fn note_access(&mut self, thread: usize, addr: usize, write: bool) -> Hit {
        let Some(word) = self.word(addr) else { return Hit::Private };
        // SAFETY: as above.
        let word = unsafe { &mut *word };
        let who = *word >> WHO;
        let kept = *word & (SIZE | ATOMIC);
        match who {
            VISIBLE.. => Hit::Exact(who - VISIBLE),
            _ if is_others(thread, addr) => {
                *word = kept;
                Hit::Exact(self.show(addr))
            }
            READERS if !write => Hit::Private,
            _ if who == thread as u32 + 1 => {
                if write {
                    *word |= WRITTEN;
                }
                Hit::Private
            }
            _ if who != READERS && !write && *word & WRITTEN == 0 => {
                *word = kept | READERS << WHO;
                Hit::Private
            }
            _ => {
                *word = kept;
                Hit::Exact(self.show(addr))
            }
        }
    }

    /// Makes a cell visible.
    pub fn show(&mut self, addr: usize) -> u32 {
        let cell = self.cells.len() as u32;
        self.grown = true;
        let Some(word) = self.word(addr) else { return cell };
        // SAFETY: as above.
        let word = unsafe { &mut *word };
        self.cells.push(Cell { at: addr as u64, size: (*word & SIZE) as u8, atomic: *word & ATOMIC != 0 });
        *word = *word & (SIZE | ATOMIC) | (VISIBLE + cell) << WHO;
        if owner(addr).is_some() {
            self.mortal.push(cell);
        }
        cell
    }

    /// Whether the memory at an address is looked after.
    pub fn has(&self, addr: usize) -> bool {
        self.word(addr).is_some()
    }

    /// Where the cell begins that this byte belongs to, if it belongs to one.
    fn start_of(&self, addr: usize) -> Option<usize> {
        (addr & !15..=addr)
            .rev()
            .find_map(|at| {
                // SAFETY: as above.
                let now = unsafe { *self.word(at)? };
                (now != 0).then_some((at, (now & SIZE) as usize))
            })
            .filter(|&(at, size)| addr < at + size)
            .map(|(at, _)| at)
    }

    /// Makes the cell that this byte belongs to visible, if there is one and it is not yet, and returns its number.
    pub fn show_at(&mut self, addr: usize) -> Option<u32> {
        let start = self.start_of(addr)?;
        Some(self.number(start).unwrap_or_else(|| self.show(start)))
    }

    /// Whether accesses to this byte are steps.
    pub fn is_visible(&self, addr: usize) -> bool {
        self.start_of(addr).and_then(|start| self.number(start)).is_some()
    }

    /// Makes one cell, which is atomic, of all that are between `a` and `b`. The thread accesses what is between `from` and `to`.
    fn make_one(
        &mut self,
        granule: usize,
        (a, b): (usize, usize),
        (from, to): (usize, usize),
        thread: usize,
        write: bool,
    ) -> Hit {
        let words = self.words(granule);
        let mut one = (b - a) as u32 | ATOMIC;
        let mut seen = None;
        for word in words[a..b].iter_mut().filter(|word| **word != 0) {
            let who = *word >> WHO;
            if who >= VISIBLE {
                self.cells[(who - VISIBLE) as usize].size = 0;
            }
            seen = Some(match seen {
                None => who,
                Some(before) if before == who => who,
                Some(_) => VISIBLE,
            });
            one |= *word & WRITTEN;
            *word = 0;
        }
        let who = seen.unwrap_or(thread as u32 + 1);
        words[a] = one | who.min(READERS) << WHO;
        let hit = if who >= VISIBLE {
            Hit::Exact(self.show(granule + a))
        } else {
            self.note_access(thread, granule + a, write)
        };
        match hit {
            Hit::Exact(cell) if (from, to) != (a, b) => Hit::Part(cell),
            other => other,
        }
    }

    /// Cuts cells at the ends of an access, and makes cells of what is in between.
    fn cut(&mut self, granule: usize, over: &[(usize, usize)], from: usize, to: usize, thread: usize) {
        let words = self.words(granule);
        let mut free = from;
        for &(a, b) in over {
            if free < a {
                words[free] = (a - free) as u32 | (thread as u32 + 1) << WHO;
            }
            free = b;
            let borders = [a, from.clamp(a, b), to.clamp(a, b), b];
            let word = words[a];
            let who = word >> WHO;
            if (from <= a || from >= b) && (to <= a || to >= b) || word & ATOMIC != 0 {
                continue;
            }
            if who >= VISIBLE {
                self.cells[(who - VISIBLE) as usize].size = 0;
            }
            words[a] = 0;
            for pair in borders.windows(2).filter(|pair| pair[0] < pair[1]) {
                words[pair[0]] = word & !SIZE | (pair[1] - pair[0]) as u32;
                if who >= VISIBLE {
                    self.show(granule + pair[0]);
                }
            }
        }
        if free < to {
            words[free] = (to - free) as u32 | (thread as u32 + 1) << WHO;
        }
    }

    /// The thread makes an end of these bytes, of which it writes every cell that anybody knows.
    pub fn claim(&mut self, thread: usize, addr: usize, size: usize) {
        let mut at = addr;
        while at < addr + size {
            // SAFETY: as above.
            let cell = self.word(at).map_or(0, |word| unsafe { *word } & SIZE) as usize;
            if cell > 0 {
                self.note_access(thread, at, true);
            } else if at.is_multiple_of(16) && self.words(at).iter().all(|&word| word == 0) {
                at += 15;
            }
            at += cell.max(1);
        }
    }

    /// The first visible cell that begins in this range, and where it ends. The cell that covers the first byte counts.
    pub fn next_in(&self, from: usize, to: usize) -> Option<(u32, usize)> {
        let mut at = from;
        // In the middle of a cell, perhaps.
        if let Some(start) = self.start_of(at).filter(|&start| start < at)
            && let Some(number) = self.number(start)
        {
            return Some((number, start + usize::from(self.cells[number as usize].size)));
        }
        while at < to {
            if self.pages.get(at.wrapping_sub(ARENA) / PAGE) == Some(&false) {
                at = (at & !(PAGE - 1)) + PAGE;
                continue;
            }
            // SAFETY: as above.
            let now = self.word(at).map_or(0, |word| unsafe { *word });
            let size = (now & SIZE) as usize;
            if now >> WHO >= VISIBLE {
                return Some(((now >> WHO) - VISIBLE, at + size));
            }
            at += size.max(1);
        }
        None
    }

    /// Makes a cell of these bytes that is visible to every thread.
    pub fn reveal(&mut self, cell: Cell) -> u32 {
        let at = cell.at as usize;
        let Some(word) = self.word(at) else { return 0 };
        if let Some(page) = self.pages.get_mut(at.wrapping_sub(ARENA) / PAGE) {
            *page = true;
        }
        // SAFETY: as above.
        unsafe { *word = u32::from(cell.size) | if cell.atomic { ATOMIC } else { 0 } };
        self.show(at)
    }

    /// The number of the cell that is exactly these bytes, if it is visible.
    #[inline]
    pub fn number(&self, addr: usize) -> Option<u32> {
        // SAFETY: as above.
        let now = unsafe { *self.word(addr)? };
        (now >> WHO).checked_sub(VISIBLE)
    }
}

/// Bytes of the words of a library, with room at both ends.
fn words_of(len: usize) -> usize {
    (4 * len).next_multiple_of(PAGE) + 2 * PAGE
}

/// Bytes that the words of libraries need which have this many bytes.
pub fn library_bytes(lens: impl Iterator<Item = usize>) -> usize {
    lens.map(words_of).sum()
}

/// Whether this is on the stack of another thread or among its thread-local variables: it will be no more when that
/// ends, so other accesses race with that. The first thread's remains are examined when it ends, but for the frames of functions that
/// `main` calls, which return before.
fn is_others(thread: usize, addr: usize) -> bool {
    owner(addr).is_some_and(|owner| owner != thread && (owner != 0 || super::fault::is_passing(addr)))
}

/// The value of a cell. A cell of more than 8 bytes has a value by which it can be told from others.
#[inline(always)]
pub fn read(cell: &Cell) -> u64 {
    // As the program writes it: a wider load would have to wait until the store has reached the cache.
    // SAFETY: a cell is memory of the program: it has been accessed.
    match cell.size {
        4 => u64::from(unsafe { load::<u32>(cell.at) }),
        8 => unsafe { load(cell.at) },
        _ => read_other(cell),
    }
}

#[inline(never)]
fn read_other(cell: &Cell) -> u64 {
    // SAFETY: as above.
    unsafe {
        match cell.size {
            1 => u64::from(load::<u8>(cell.at)),
            2 => u64::from(load::<u16>(cell.at)),
            16 => wide(load(cell.at)),
            n => {
                let byte = |i: u32| u128::from(load::<u8>(cell.at + u64::from(i))) << (8 * i);
                wide((0..u32::from(n.min(16))).fold(0, |value, i| value | byte(i)))
            }
        }
    }
}

/// The value at an address that need not be aligned. A load and nothing else: the cell may be in a part of the stack that
/// is released, and this may run on the same stack, so that there is nowhere to copy it to first.
#[inline(always)]
unsafe fn load<T: Copy>(at: u64) -> T {
    #[repr(C, packed)]
    struct Unaligned<T>(T);
    // SAFETY: the caller's.
    unsafe { (*(at as *const Unaligned<T>)).0 }
}

/// The contents of a cell.
pub fn bytes(cell: &Cell) -> [u8; 16] {
    let mut bytes = [0; 16];
    // SAFETY: a cell is memory of the program.
    unsafe { std::ptr::copy_nonoverlapping(cell.at as *const u8, bytes.as_mut_ptr(), usize::from(cell.size.min(16))) };
    bytes
}

/// Changes what a cell holds.
pub fn set_bytes(cell: &Cell, bytes: &[u8; 16]) {
    // SAFETY: a cell is memory of the program.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), cell.at as *mut u8, usize::from(cell.size.min(16))) };
}

/// Makes a cell have this value. One of more than 8 bytes keeps what it has unless the value fits 8.
pub fn write(cell: &Cell, value: u64) {
    if cell.size > 8 && (value >> 63 != 0 || value == read(cell)) {
        return;
    }
    let mut all = [0; 16];
    all[..8].copy_from_slice(&value.to_le_bytes());
    set_bytes(cell, &all);
}

/// A value of up to 16 bytes as the engine sees it: itself, if it fits.
pub fn wide(value: u128) -> u64 {
    let (low, high) = (value as u64, (value >> 64) as u64);
    if high == 0 { low } else { (low ^ high.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63 }
}
