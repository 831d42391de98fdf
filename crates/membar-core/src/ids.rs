//! Dense `u32` ids. Each is an index into a column of [`crate::Trace`].

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a column.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

id!(
    /// An operation, numbered in the order of the text.
    OpId
);
id!(
    /// A thread, numbered in the order of first appearance; its name in the text is `trace.thread_names[id]`.
    ThreadId
);
id!(
    /// An address or a lock, numbered in the order of first appearance.
    AddrId
);

impl AddrId {
    /// The "address" of an operation that has none (a barrier).
    pub const NONE: AddrId = AddrId(u32::MAX);
}

/// Where a read's value comes from: an operation, the initial value, nowhere, or not recorded.
///
/// Packed into 32 bits because there is one per operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Source(u32);

impl Source {
    /// The initial value of the address.
    pub const INIT: Source = Source(u32::MAX);
    /// A value that nobody writes to that address and that is not its initial value.
    pub const UNWRITTEN: Source = Source(u32::MAX - 1);
    /// The operation does not read, or what it read was not recorded (an acquire).
    pub const NONE: Source = Source(u32::MAX - 2);
    /// One more than the largest operation id that a trace may use.
    pub const LIMIT: u32 = u32::MAX - 16;

    /// The source that is this operation's write.
    #[inline]
    pub fn op(op: OpId) -> Source {
        debug_assert!(op.0 < Self::LIMIT);
        Source(op.0)
    }

    /// The operation that wrote the value, if an operation did.
    #[inline]
    pub fn as_op(self) -> Option<OpId> {
        (self.0 < Self::LIMIT).then_some(OpId(self.0))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Source::INIT => f.write_str("Init"),
            Source::UNWRITTEN => f.write_str("Unwritten"),
            Source::NONE => f.write_str("None"),
            Source(op) => write!(f, "Op({op})"),
        }
    }
}
