//! Parts of cells.

/// The bytes of its cell that an access is to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bytes {
    /// The first one.
    pub offset: u8,
    /// How many.
    pub width: u8,
}

impl Bytes {
    /// All of them.
    pub const WHOLE: Bytes = Bytes { offset: 0, width: 8 };

    /// Is one byte in both?
    pub fn meet(self, other: Bytes) -> bool {
        self.offset < other.offset + other.width && other.offset < self.offset + self.width
    }

    /// Are those of the other all in this one?
    pub fn cover(self, other: Bytes) -> bool {
        self.offset <= other.offset && other.offset + other.width <= self.offset + self.width
    }

    /// What an access to them writes, of a whole value: its lowest bytes.
    pub fn low(self, value: u64) -> u64 {
        value & self.ones()
    }

    fn ones(self) -> u64 {
        u64::MAX >> (64 - 8 * u32::from(self.width))
    }

    /// Their value in a cell.
    pub fn of(self, cell: u64) -> u64 {
        cell >> (8 * self.offset) & self.ones()
    }

    /// A cell in which they have another value.
    pub fn put(self, cell: u64, value: u64) -> u64 {
        let shift = 8 * self.offset;
        cell & !(self.ones() << shift) | (value & self.ones()) << shift
    }
}
