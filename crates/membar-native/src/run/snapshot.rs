//! States in the middle of an execution, to continue from without running the program again from its beginning.
//!
//! # Problem
//!
//! Depth-first search goes a few steps back and on from there, again and again. To run the program from its beginning to that
//! state takes several times as long as what is new.
//!
//! # Algorithm
//!
//! Every few steps everything is kept that [`World::reset`] restores, as it is then: stacks, thread-local variables, control
//! blocks, the object's variables, the heap, and what is known of each thread. Snapshots are of states on the path; a search that
//! goes back behind one drops it. To come to a state the last one is restored, and the steps after it are made
//! again.
//!
//! # Guarantees
//!
//! A snapshot restores all memory that a reset restores. Anything else a program can change is in functions that
//! it calls and membar does not see into; so there are snapshots only as long as none of those has been called but functions that
//! are known to keep nothing that they were asked for ([`HARMLESS`]): a file that was opened before a snapshot and closed after it could not be open
//! again. Calls of others go through thunks ([`super::opaque`]) and put an end to snapshots; where some would not be seen,
//! there are none from the beginning. And they do not hide that a program is not deterministic: at first, and then once in a while ([`World::catch_up`]), the
//! program is run from its beginning all the same.
//!
//! # Complexity
//!
//! Linear in the bytes kept; the more, the further apart snapshots are.

use super::coroutine::ThreadState;
use super::heap::Saved;
use super::layout::{CONTROL, CONTROL_SIZE, FUTEX_CELLS, FUTEXES, stack_base};
use super::world::{Mode, World};

/// Steps between two snapshots, at least, and bytes that are worth one step more.
const STRIDE: usize = 5;
const BYTES: usize = 1024;
/// The most bytes of one, and how many there are.
const MOST_BYTES: usize = 32 << 10;
const MOST: usize = 256;

/// The snapshots of states on the path.
#[derive(Default)]
#[allow(clippy::vec_box)] // they are large, and moved from list to list
pub struct Snapshots {
    /// The program allows them.
    pub allowed: bool,
    /// The lowest depth first.
    taken: Vec<Box<Snapshot>>,
    spare: Vec<Box<Snapshot>>,
    /// The depth of the last one, and that of the next one.
    pub last: usize,
    pub next: usize,
}

impl Snapshots {
    /// Forgets them all. If there may be any from now on, they are taken.
    pub fn clear(&mut self, wanted: bool) {
        self.drop_to(0);
        if !wanted || !self.allowed {
            self.next = usize::MAX;
        }
    }

    /// The program has done something that cannot be taken back. All executions are run from their beginnings from now on.
    #[inline]
    pub fn forbid(&mut self) {
        if self.allowed {
            self.allowed = false;
            self.clear(false);
        }
    }

    /// Forgets those that are deeper than this.
    #[cold]
    pub fn drop_to(&mut self, depth: usize) {
        while let Some(last) = self.taken.pop_if(|last| last.depth > depth) {
            self.spare.push(last);
        }
        let last = self.taken.last();
        self.last = last.map_or(0, |last| last.depth);
        self.next = self.last + last.map_or(STRIDE, |last| last.stride());
    }
}

/// A state.
#[derive(Default)]
struct Snapshot {
    depth: usize,
    alone: bool,
    ended: bool,
    unjoined: usize,
    threads: Vec<Kept>,
    /// Pieces of memory, one after the other, and where they were. Threads write on each other's stacks, so all are among
    /// them, whichever thread has run.
    memory: Vec<u8>,
    ranges: Vec<(usize, usize)>,
    /// How many pages of the object were written.
    pages: usize,
    heap: Saved,
    handlers: super::handlers::Handlers,
    key_dtors: Vec<Option<usize>>,
}

/// A thread in a state.
struct Kept {
    own: ThreadState,
    /// The lowest address of its stack that was used; if it had none, its upper end.
    from: usize,
}

impl Snapshot {
    /// How many steps after it the next one comes.
    fn stride(&self) -> usize {
        STRIDE + self.memory.len() / BYTES
    }

    fn keep(&mut self, at: usize, len: usize) {
        if len > 0 {
            self.ranges.push((at, len));
            // SAFETY: memory of the program, of which nothing runs.
            self.memory.extend_from_slice(unsafe { std::slice::from_raw_parts(at as *const u8, len) });
        }
    }

    /// Keeps the state; no if that is too much.
    fn take(&mut self, w: &World, depth: usize) -> bool {
        if w.pages.bytes() + w.heap.bytes(w.known) > MOST_BYTES {
            return false;
        }
        (self.depth, self.alone, self.ended, self.unjoined) = (depth, w.alone, w.ended, w.unjoined);
        self.ranges.clear();
        self.memory.clear();
        self.keep(CONTROL, w.known * CONTROL_SIZE);
        if w.futexes {
            self.keep(FUTEXES, 8 * FUTEX_CELLS);
        }
        self.pages = w.pages.pieces_written();
        for (at, len) in w.pages.ranges() {
            self.keep(at, len);
        }
        for (at, len) in w.heap.ranges(w.known) {
            self.keep(at, len);
        }
        w.heap.save(w.known, &mut self.heap);
        self.handlers.copy(&w.handlers);
        self.key_dtors.clone_from(&w.key_dtors);
        self.threads.resize_with(w.known, Kept::new);
        for (id, thread) in w.threads[..w.known].iter().enumerate() {
            let mut from = stack_base(id);
            if thread.place != 0 {
                from = used_from(id, &thread.own);
                if self.memory.len() + stack_base(id) - from > MOST_BYTES {
                    return false;
                }
                self.keep(from, stack_base(id) - from);
                let (at, len) = w.module.thread_local_block(id);
                self.keep(at, len);
            }
            let kept = &mut self.threads[id];
            kept.from = from;
            kept.own.copy(&thread.own);
            if w.mode == Mode::Live {
                kept.own.said = thread.slots.len();
            }
        }
        true
    }

    /// Puts the state back.
    fn put_back(&self, w: &mut World) {
        for (id, (kept, thread)) in self.threads.iter().zip(&mut w.threads).enumerate() {
            if thread.place != 0 {
                let used = used_from(id, &thread.own);
                if used < kept.from {
                    // SAFETY: the stack is mapped and nobody runs on it.
                    unsafe { std::ptr::write_bytes(used as *mut u8, 0, kept.from - used) };
                }
            }
            thread.own.copy(&kept.own);
        }
        // One that was taken before the first futex has none.
        w.free_futexes();
        w.pages.restore_from(self.pages);
        w.heap.put_back(&self.heap);
        let mut from = 0;
        for &(at, len) in &self.ranges {
            // SAFETY: where it was kept from, which is still writable.
            unsafe { std::ptr::copy_nonoverlapping(self.memory[from..from + len].as_ptr(), at as *mut u8, len) };
            from += len;
        }
        super::libc_hooks::restore_environment();
        w.handlers.copy(&self.handlers);
        w.key_dtors.clone_from(&self.key_dtors);
        (w.alone, w.ended, w.unjoined) = (self.alone, self.ended, self.unjoined);
        if !w.alone {
            w.crowd();
        }
        w.at = self.depth;
        w.stepping = false;
    }
}

impl Kept {
    fn new() -> Kept {
        Kept { own: ThreadState::new(), from: 0 }
    }
}

impl World {
    /// Keeps the state after this many steps of the path, at which every thread stands at an announcement or at its end.
    #[cold]
    pub fn keep_state(&mut self, depth: usize) {
        let mut snapshot = self.snapshots.spare.pop().unwrap_or_default();
        let room = self.snapshots.taken.len() < MOST && !super::libc_hooks::is_environment_changed();
        if room && snapshot.take(self, depth) {
            (self.snapshots.last, self.snapshots.next) = (depth, depth + snapshot.stride());
            self.snapshots.taken.push(snapshot);
        } else {
            // Another time, perhaps.
            self.snapshots.next = depth + MOST_BYTES / BYTES;
            self.snapshots.spare.push(snapshot);
        }
    }

    /// Puts the last state back that was kept. Whether there is one.
    pub fn put_back_state(&mut self) -> bool {
        let Some(last) = self.snapshots.taken.pop() else { return false };
        last.put_back(self);
        self.snapshots.taken.push(last);
        true
    }
}

/// From where on a thread's stack has been used. All is above the lowest stack pointer that it announced something with, and the
/// one that it was left with: a hook may keep a clean kilobyte in between. Below, there is what hooks and other functions have
/// left, down to the first kilobyte that is clean.
pub fn used_from(id: usize, thread: &ThreadState) -> usize {
    const STRIDE: usize = 1024;
    let limit = super::stack::floor(id);
    let stack = limit..stack_base(id);
    // One that has gone wrong was left on another stack.
    let left = if stack.contains(&thread.place) { thread.place } else { stack.end };
    let mut from = thread.low.min(left).saturating_sub(STRIDE).max(limit);
    while from - limit >= STRIDE {
        // SAFETY: within the stack, on which nobody runs.
        let below = unsafe { &*((from - STRIDE) as *const [u8; STRIDE]) };
        if below == &[0; STRIDE] {
            break;
        }
        from -= STRIDE;
    }
    from
}

/// Functions that keep nothing a program could ask them for later: no block, no file, no position.
const HARMLESS: &[&str] = &[
    // Output, of which nothing comes back.
    "printf",
    "fprintf",
    "vprintf",
    "vfprintf",
    "dprintf",
    "puts",
    "putchar",
    "fputs",
    "fputc",
    "putc",
    "fwrite",
    "perror",
    "fflush",
    "write",
    "__printf_chk",
    "__fprintf_chk",
    "__vprintf_chk",
    "__vfprintf_chk",
    "_IO_putc",
    "putchar_unlocked",
    // Text.
    "sprintf",
    "snprintf",
    "vsprintf",
    "vsnprintf",
    "__sprintf_chk",
    "__snprintf_chk",
    "__vsprintf_chk",
    "__vsnprintf_chk",
    "sscanf",
    "__isoc99_sscanf",
    "__isoc23_sscanf",
    "atoi",
    "atol",
    "atoll",
    "atof",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtod",
    "strtof",
    "__isoc23_strtol",
    "__isoc23_strtoll",
    "__isoc23_strtoul",
    "__isoc23_strtoull",
    "strstr",
    "strspn",
    "strcspn",
    "strpbrk",
    "strcasecmp",
    "strncasecmp",
    "strtok_r",
    "__strtok_r",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "tolower",
    "toupper",
    "isalnum",
    "isalpha",
    "isdigit",
    "isprint",
    "isspace",
    // Numbers.
    "abs",
    "labs",
    "llabs",
    "bsearch",
    "sqrt",
    "sqrtf",
    "pow",
    "powf",
    "exp",
    "expf",
    "log",
    "logf",
    "log2",
    "log10",
    "sin",
    "sinf",
    "cos",
    "cosf",
    "tan",
    "floor",
    "floorf",
    "ceil",
    "ceilf",
    "round",
    "fabs",
    "fmod",
    // Attributes, and what is left of a program that does not use it.
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_attr_setdetachstate",
    "pthread_attr_getdetachstate",
    "pthread_attr_setstacksize",
    "pthread_mutexattr_init",
    "pthread_mutexattr_destroy",
    "pthread_mutexattr_settype",
    "pthread_condattr_init",
    "pthread_condattr_destroy",
    "pthread_condattr_setclock",
    "pthread_rwlockattr_init",
    "pthread_rwlockattr_destroy",
    "getpid",
    "getuid",
    "getenv",
    "getauxval",
    "getcwd",
    "isatty",
    "gnu_get_libc_version",
    "__xpg_strerror_r",
    "sigemptyset",
    "sigaddset",
    "sysconf",
    "getpagesize",
    "__errno_location",
    "__cxa_finalize",
    "_setjmp",
    "__sigsetjmp",
    "longjmp",
    "siglongjmp",
];

/// Whether a function of the C library keeps nothing that it was asked for.
pub fn keeps_nothing(name: &str) -> bool {
    HARMLESS.contains(&name)
}

/// Whether a program that takes these functions from libraries can be restored to a snapshot, as long as none is called
/// of which `sees` says that it would be seen.
pub fn allow<'a>(mut imports: impl Iterator<Item = &'a str>, sees: impl Fn(&str) -> bool) -> bool {
    imports.all(|name| keeps_nothing(name) || sees(name))
}
