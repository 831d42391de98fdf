//! What can be wrong with a program.

use super::MOST_INSTRUCTIONS;

/// An error in a program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProgramError {
    /// Too long.
    #[error("a program has at most {MOST_INSTRUCTIONS} instructions")]
    TooLong,
    /// An instruction before the first thread.
    #[error("an instruction belongs to a thread: begin one first")]
    NoThread,
    /// An address that the program does not have.
    #[error("thread {thread} accesses M[{addr}], but there are only {addresses} addresses")]
    NoSuchAddress {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
        /// How many there are.
        addresses: u32,
    },
    /// A lock that the program does not have.
    #[error("thread {thread} uses L{lock}, but there are only {locks} locks")]
    NoSuchLock {
        /// The thread.
        thread: u32,
        /// The lock.
        lock: u32,
        /// How many there are.
        locks: u32,
    },
    /// One value, written twice to one address, or an initial value written.
    #[error("M[{addr}] gets the value {value} twice, so that a load could not tell who wrote it")]
    WrittenTwice {
        /// The address.
        addr: u32,
        /// The value.
        value: u64,
    },
    /// A fetch-add of nothing.
    #[error("thread {thread} adds 0 to M[{addr}], so that a load could not tell who wrote its value")]
    AddsNothing {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
    },
    /// A barrier without effect.
    #[error("thread {thread} has a barrier that orders nothing")]
    EmptyFence {
        /// The thread.
        thread: u32,
    },
    /// A release by a thread that does not hold the lock.
    #[error("thread {thread} releases L{lock}, which it does not hold")]
    ReleaseUnheld {
        /// The thread.
        thread: u32,
        /// The lock.
        lock: u32,
    },
    /// An acquire by a thread that already holds the lock.
    #[error("thread {thread} acquires L{lock}, which it already holds")]
    AcquireHeld {
        /// The thread.
        thread: u32,
        /// The lock.
        lock: u32,
    },
    /// Bytes that the cell does not have, or of an instruction that has no part.
    #[error(
        "thread {thread} accesses {width} bytes of M[{addr}] from byte {offset} on; a part is of a load, a store or an exchange, in 8 bytes"
    )]
    Part {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
        /// The first byte.
        offset: u8,
        /// How many.
        width: u8,
    },
    /// A sum or a comparison, where others access parts.
    #[error("thread {thread} adds to or compares M[{addr}], which a program with accesses to parts cannot do")]
    UpdateAmongParts {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
    },
    /// Addresses would overlap.
    #[error("a stride of {0} bytes does not fit addresses of 8 bytes: give a multiple of 8")]
    Stride(u32),
}
