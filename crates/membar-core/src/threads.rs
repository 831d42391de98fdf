//! A program whose accesses somebody else performs.

use crate::Access;
use std::fmt;

/// A program whose accesses somebody else performs: a machine has the memory and the buffers, and says what threads read.
///
/// A thread's next action depends on nothing but what its own accesses read.
pub trait Threads {
    /// How many threads there are.
    fn threads(&self) -> usize;

    /// The thread's next access, or why it has none now. A blocking access does not count while memory holds what blocks it
    /// ([`Halt::Blocked`]): not even a machine with buffers makes it then. Addresses are dense numbers.
    fn next(&mut self, thread: usize) -> Result<Access, Halt>;

    /// Lets the thread make the access that [`Threads::next`] has just returned: it reads this value, which a store
    /// ignores. Returns the value written, if any. Memory is not changed.
    fn perform(&mut self, thread: usize, read: u64) -> Option<u64>;

    /// The object that the next access finds has come to its end, as far as the one who acts as memory knows. Programs whose objects
    /// live forever need not care.
    fn find_ended(&mut self, _ended: bool) {}

    /// The value of an address in memory.
    fn value(&mut self, addr: u32) -> u64;

    /// A value of an address with the bytes of this access replaced by those of another value of it. Values of more than 8 bytes may be
    /// numbers that stand for them.
    fn merge(&mut self, access: &Access, value: u64, written: u64) -> u64 {
        access.put_part(value, access.part_of(written))
    }

    /// A value that stands for one of more than 8 bytes, as [`Access::part_of`] wants it for this access, which is to a part.
    fn shown(&mut self, _access: &Access, value: u64) -> u64 {
        value
    }

    /// Changes memory: a store is committed, or an interlocked operation wrote.
    fn set(&mut self, addr: u32, value: u64);
}

/// Why a thread makes no access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// It has ended.
    Ended,
    /// It continues without ever accessing memory.
    Endless,
    /// It uses a value that is not an address as one.
    Wild {
        /// The value.
        pointer: u64,
    },
    /// It accesses a location as if it had another size.
    Size {
        /// The address.
        addr: u32,
    },
    /// Its next access can be made only when the address holds something else.
    Blocked {
        /// The address.
        addr: u32,
    },
    /// It cannot continue, for another reason.
    Fault,
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::Ended => write!(f, "has ended"),
            Halt::Endless => write!(f, "never comes to another access"),
            Halt::Wild { pointer } => write!(f, "uses {pointer:#x} as an address, which it is not"),
            Halt::Size { addr } => write!(f, "accesses address {addr} as if it had another size"),
            Halt::Blocked { addr } => write!(f, "waits for another value of address {addr}"),
            Halt::Fault => write!(f, "cannot continue"),
        }
    }
}
