//! The life of objects that threads wait for each other with: each is initialised, used, and destroyed.
//!
//! Initialising and destroying are steps on the word that every use is a step on, so a thread that uses an object too early or too late
//! does so in some execution. The fate of an object, with the thread and place, is noted in the object itself
//! ([`super::note`]): it goes where the object's memory goes, and whatever is written over it makes it another object. Memory that holds
//! neither a note nor, where there is a static initialiser, zeros has never been an object.
//!
//! It is an error to use, destroy or initialise an object that does not exist, has been destroyed, or is in use, as far as that is undefined.
//! Not an error: to initialise what has been initialised and is not in use. On a stack that is what an earlier call has left.

use super::*;

/// The state of an object.
const INITIALISED: u32 = 3;
const DESTROYED: u32 = 4;

/// A kind of objects.
pub(super) struct Kind {
    name: &'static str,
    /// Bytes of an object, of its first words that are one cell, and where its note is.
    size: usize,
    cell: usize,
    note: usize,
    /// There is a static initialiser, of zeros.
    zero: bool,
}

pub(super) const MUTEX: Kind = Kind { name: "mutex", size: 40, cell: 4, note: 24, zero: true };
pub(super) const CONDITION: Kind = Kind { name: "condition variable", size: 48, cell: 8, note: 40, zero: true };
pub(super) const RWLOCK: Kind = Kind { name: "lock", size: 56, cell: 4, note: 16, zero: true };
pub(super) const BARRIER: Kind = Kind { name: "barrier", size: 32, cell: 4, note: 12, zero: false };
pub(super) const SEMAPHORE: Kind = Kind { name: "semaphore", size: 32, cell: 4, note: 8, zero: false };

impl Kind {
    /// The object is used, in a step that has just been made. The action is a word such as `locks`.
    #[inline]
    pub(super) fn used(&self, object: usize, does: &str) {
        let note = *word(object + self.note);
        if note & !0xff != NOTE | INITIALISED << 8 && !(self.zero && note == 0) {
            self.misused(object, does);
        }
    }

    #[cold]
    #[inline(never)]
    fn misused(&self, object: usize, does: &str) -> ! {
        let what = match noted(object + self.note) {
            Some((DESTROYED, by)) => message!("which has been destroyed by ", by),
            _ => "which has not been initialised".into(),
        };
        self.wrong(object, does, what)
    }

    /// The object is used as it must not be.
    pub(super) fn wrong(&self, object: usize, does: &str, why: impl Into<Message>) -> ! {
        fault::raise(message!(format!("{does} the {} ", self.name), fault::name(object), ", ", why))
    }

    /// Whether it has been initialised, other than statically, and not been destroyed.
    pub(super) fn is_initialised(&self, object: usize) -> bool {
        matches!(noted(object + self.note), Some((INITIALISED, _)))
    }

    /// Whether it has been initialised at some time, other than statically, destroyed or not.
    pub(super) fn has_lived(&self, object: usize) -> bool {
        noted(object + self.note).is_some()
    }

    /// A step to which others are not to come too late. The caller checks whether the object may be initialised.
    pub(super) fn begin(&self, object: usize) {
        Event::sync(object, self.cell).unordered().announce();
        full();
    }

    /// Begins a life, in the step that has been made.
    pub(super) fn initialise(&self, object: usize) {
        // SAFETY: an object of the program.
        unsafe { std::ptr::write_bytes(object as *mut u8, 0, self.size) };
        note(object + self.note, INITIALISED);
    }

    /// Ends a life, in the step that has been made, unless it has no beginning or somebody uses the object.
    pub(super) fn destroy(&self, object: usize, in_use: impl FnOnce() -> Option<Message>) -> c_int {
        self.begin(object);
        self.used(object, "destroys");
        if let Some(why) = in_use() {
            self.wrong(object, "destroys", why);
        }
        note(object + self.note, DESTROYED);
        0
    }
}

// Spin locks have one word. Its value while they are free is the one used on this machine: a zeroed one is not free.

pub(super) const SPIN_FREE: u32 = 1;
pub(super) const SPIN_HELD: u32 = 2;
/// Above the place where it was destroyed.
const SPIN_DESTROYED: u32 = 0xd << 28;

/// The spin lock is used, in a step that has just been made.
pub(super) fn spin_used(lock: usize, does: &str) {
    let now = *word(lock);
    if now != SPIN_FREE && now != SPIN_HELD {
        let what = match now >> 28 << 28 {
            SPIN_DESTROYED => message!("which has been destroyed at ", Piece::Line(vec![now ^ SPIN_DESTROYED])),
            _ => "which has not been initialised".into(),
        };
        fault::raise(message!(format!("{does} the spin lock "), fault::name(lock), ", ", what));
    }
}

pub extern "C-unwind" fn spin_init(lock: usize, _: c_int) -> c_int {
    Event::sync(lock, 4).unordered().announce();
    full();
    *word(lock) = SPIN_FREE;
    0
}

pub extern "C-unwind" fn spin_destroy(lock: usize) -> c_int {
    Event::sync(lock, 4).unordered().announce();
    full();
    spin_used(lock, "destroys");
    if *word(lock) == SPIN_HELD {
        fault::raise(message!("destroys the spin lock ", fault::name(lock), ", which is locked"));
    }
    *word(lock) = SPIN_DESTROYED | site(world()) & 0x0fff_ffff;
    0
}
