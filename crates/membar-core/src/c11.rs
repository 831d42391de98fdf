//! What C11 and C++20 say about an access: its memory order, and the fences before it.
//!
//! A [`C11`] is a set of bits that travels with each access through exploration, monitors, graphs and certificates. A fence belongs to the next
//! access of its thread; fences in a row amount to one ([`Fence`]), so that nothing about them is lost. Orders are not a chain: acquire and
//! release are incomparable, and [`Order::join`] is the least upper bound.

use std::fmt;

/// A memory order. `consume` is [`Order::Acquire`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Order {
    /// Not atomic: two threads that use it at once have a race.
    #[default]
    Plain,
    /// `memory_order_relaxed`.
    Relaxed,
    /// `memory_order_acquire`.
    Acquire,
    /// `memory_order_release`.
    Release,
    /// `memory_order_acq_rel`.
    AcqRel,
    /// `memory_order_seq_cst`.
    SeqCst,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 6] =
        [Order::Plain, Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];

    /// Whether the access is atomic.
    #[inline]
    pub fn is_atomic(self) -> bool {
        self != Order::Plain
    }

    /// Whether a read of this order synchronises with the release that it reads from.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel | Order::SeqCst)
    }

    /// Whether a write of this order is a release.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::SeqCst)
    }

    /// The weakest order that is at least as strong as both.
    #[must_use]
    pub fn join(self, other: Order) -> Order {
        match (self, other) {
            (Order::SeqCst, _) | (_, Order::SeqCst) => Order::SeqCst,
            (one, Order::Plain) | (Order::Plain, one) => one,
            (one, other) => match (one.acquires() || other.acquires(), one.releases() || other.releases()) {
                (true, true) => Order::AcqRel,
                (true, false) => Order::Acquire,
                (false, true) => Order::Release,
                (false, false) => Order::Relaxed,
            },
        }
    }

    /// The same for an access that does not write.
    #[must_use]
    pub fn reading(self) -> Order {
        match self {
            Order::Release => Order::Relaxed,
            Order::AcqRel => Order::Acquire,
            other => other,
        }
    }

    /// Its name in C, without `memory_order_`.
    pub fn name(self) -> &'static str {
        match self {
            Order::Plain => "non-atomic",
            Order::Relaxed => "relaxed",
            Order::Acquire => "acquire",
            Order::Release => "release",
            Order::AcqRel => "acq_rel",
            Order::SeqCst => "seq_cst",
        }
    }

    #[inline]
    fn from_bits(bits: u16) -> Order {
        Order::ALL[usize::from(bits & 7).min(5)]
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The fences that a thread passed between two accesses. Fences in a row amount to one of these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Fence {
    /// None.
    #[default]
    None,
    /// `atomic_thread_fence(memory_order_acquire)`.
    Acquire,
    /// `atomic_thread_fence(memory_order_release)`.
    Release,
    /// A release fence and then an acquire fence: less than [`Fence::AcqRel`], since what the second one acquires is not
    /// passed on by the first.
    ReleaseAcquire,
    /// `atomic_thread_fence(memory_order_acq_rel)`, or an acquire fence and then a release fence.
    AcqRel,
    /// `atomic_thread_fence(memory_order_seq_cst)`.
    SeqCst,
}

impl Fence {
    /// All of them.
    pub const ALL: [Fence; 6] =
        [Fence::None, Fence::Acquire, Fence::Release, Fence::ReleaseAcquire, Fence::AcqRel, Fence::SeqCst];

    /// This one, and then another one.
    #[inline]
    pub fn then(self, next: Fence) -> Fence {
        match (self, next) {
            (Fence::SeqCst, _) | (_, Fence::SeqCst) => Fence::SeqCst,
            (one, Fence::None) | (Fence::None, one) => one,
            (Fence::AcqRel, _) | (_, Fence::AcqRel) => Fence::AcqRel,
            (Fence::Acquire, Fence::Acquire) => Fence::Acquire,
            (Fence::Release, Fence::Release) => Fence::Release,
            (Fence::Release | Fence::ReleaseAcquire, Fence::Acquire) => Fence::ReleaseAcquire,
            (Fence::Release, Fence::ReleaseAcquire) => Fence::ReleaseAcquire,
            // Somewhere an acquire fence comes before a release fence.
            (Fence::Acquire | Fence::ReleaseAcquire, Fence::Release | Fence::ReleaseAcquire) => Fence::AcqRel,
        }
    }

    /// The fences as a program would have them, in program order.
    pub fn parts(self) -> &'static [Fence] {
        match self {
            Fence::None => &[],
            Fence::Acquire => &[Fence::Acquire],
            Fence::Release => &[Fence::Release],
            Fence::ReleaseAcquire => &[Fence::Release, Fence::Acquire],
            Fence::AcqRel => &[Fence::AcqRel],
            Fence::SeqCst => &[Fence::SeqCst],
        }
    }

    /// Whether what was read before it is acquired.
    #[inline]
    pub fn acquires(self) -> bool {
        !matches!(self, Fence::None | Fence::Release)
    }

    /// Whether what is written after it releases.
    #[inline]
    pub fn releases(self) -> bool {
        !matches!(self, Fence::None | Fence::Acquire)
    }

    /// The fence of this order; a relaxed one is none.
    pub fn of(order: Order) -> Fence {
        match order {
            Order::Plain | Order::Relaxed => Fence::None,
            Order::Acquire => Fence::Acquire,
            Order::Release => Fence::Release,
            Order::AcqRel => Fence::AcqRel,
            Order::SeqCst => Fence::SeqCst,
        }
    }
}

/// Everything that C11 says about an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct C11(u16);

impl C11 {
    const FAILURE: u32 = 3;
    const FENCE: u32 = 6;
    const FRESH: u16 = 1 << 9;
    const ASSEMBLY: u16 = 1 << 10;
    const MEETS: u16 = 1 << 11;
    const ENDS: u16 = 1 << 12;

    /// An access of this order, whether it writes or not, without fences.
    #[inline]
    pub const fn new(order: Order) -> C11 {
        C11(order as u16 | (order as u16) << C11::FAILURE)
    }

    /// The order of a compare-exchange that fails.
    #[inline]
    #[must_use]
    pub const fn failing(self, order: Order) -> C11 {
        C11(self.0 & !(7 << C11::FAILURE) | (order as u16) << C11::FAILURE)
    }

    /// An access by an operation that synchronises threads (a lock is taken, a thread begins): it finds the last value
    /// there is.
    #[inline]
    #[must_use]
    pub const fn fresh(self) -> C11 {
        C11(self.0 | C11::FRESH)
    }

    /// An access to a barrier at which threads meet: the order of arrivals makes no difference to anybody, and all of them come
    /// before each departure.
    #[inline]
    #[must_use]
    pub const fn meeting(self) -> C11 {
        C11(self.0 | C11::MEETS)
    }

    /// An access that ends the life of what is there: a block is freed, or the thread that a variable belongs to ends.
    #[inline]
    #[must_use]
    pub const fn ending(self) -> C11 {
        C11(self.0 | C11::ENDS)
    }

    /// An access by inline assembly: nobody has given it an order, it is assumed.
    #[inline]
    #[must_use]
    pub const fn assembly(self) -> C11 {
        C11(self.0 | C11::ASSEMBLY)
    }

    /// These fences before it, and then those that it had.
    #[inline]
    #[must_use]
    pub fn after(self, fence: Fence) -> C11 {
        C11(self.0 & !(7 << C11::FENCE) | (fence.then(self.fence()) as u16) << C11::FENCE)
    }

    /// The fences that it had, and then this one.
    #[inline]
    #[must_use]
    pub fn right_after(self, fence: Fence) -> C11 {
        C11(self.0 & !(7 << C11::FENCE) | (self.fence().then(fence) as u16) << C11::FENCE)
    }

    /// At least this order, for a compare-exchange whether it fails or not.
    #[must_use]
    pub fn strengthened(self, order: Order) -> C11 {
        let (success, failure) = (self.order().join(order), self.failure().join(order.reading()));
        C11(self.0 & !0x3f | success as u16 | (failure as u16) << C11::FAILURE)
    }

    /// The order of the access; of a compare-exchange, if it succeeds.
    #[inline]
    pub fn order(self) -> Order {
        Order::from_bits(self.0)
    }

    /// The order if a compare-exchange fails.
    #[inline]
    pub fn failure(self) -> Order {
        Order::from_bits(self.0 >> C11::FAILURE)
    }

    /// The fences between the thread's previous access and this one.
    #[inline]
    pub fn fence(self) -> Fence {
        Fence::ALL[usize::from(self.0 >> C11::FENCE & 7).min(5)]
    }

    /// Whether it never reads a stale value.
    #[inline]
    pub fn is_fresh(self) -> bool {
        self.0 & C11::FRESH != 0
    }

    /// Whether it is an arrival at a barrier, or a departure.
    #[inline]
    pub fn meets(self) -> bool {
        self.0 & C11::MEETS != 0
    }

    /// Whether the life of what is there ends with it.
    #[inline]
    pub fn ends(self) -> bool {
        self.0 & C11::ENDS != 0
    }

    /// Whether inline assembly makes it.
    #[inline]
    pub fn is_assembly(self) -> bool {
        self.0 & C11::ASSEMBLY != 0
    }

    /// As a number, for messages between processes.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// From its number.
    pub fn from_bits(bits: u16) -> C11 {
        C11(bits)
    }
}

impl fmt::Debug for C11 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.order())?;
        if self.failure() != self.order() {
            write!(f, "/{}", self.failure())?;
        }
        if self.fence() != Fence::None {
            write!(f, " after {:?}", self.fence())?;
        }
        if self.is_fresh() { write!(f, " fresh") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_in_a_row_are_one() {
        let row = |fences: &[Fence]| fences.iter().fold(Fence::None, |all, &next| all.then(next));
        assert_eq!(row(&[Fence::Release, Fence::Acquire]), Fence::ReleaseAcquire);
        assert_eq!(row(&[Fence::Acquire, Fence::Release]), Fence::AcqRel);
        assert_eq!(row(&[Fence::Release, Fence::Acquire, Fence::Release]), Fence::AcqRel);
        assert_eq!(row(&[Fence::Release, Fence::Release, Fence::Acquire, Fence::Acquire]), Fence::ReleaseAcquire);
        for one in Fence::ALL {
            assert_eq!(row(one.parts()), one);
            for two in Fence::ALL {
                for three in Fence::ALL {
                    assert_eq!(one.then(two).then(three), one.then(two.then(three)), "{one:?} {two:?} {three:?}");
                }
            }
        }
    }

    #[test]
    fn everything_fits_in_its_number() {
        for order in Order::ALL {
            for failure in Order::ALL {
                for fence in Fence::ALL {
                    let c11 = C11::new(order).failing(failure).after(fence);
                    assert_eq!(
                        (c11.order(), c11.failure(), c11.fence(), c11.is_fresh()),
                        (order, failure, fence, false)
                    );
                    let fresh = C11::from_bits(c11.fresh().bits());
                    assert_eq!((fresh.order(), fresh.failure(), fresh.fence()), (order, failure, fence));
                    assert!(fresh.is_fresh());
                }
            }
        }
    }
}
