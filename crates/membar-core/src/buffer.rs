//! The store buffer of a thread: the possible next steps of a machine with store buffers.
//!
//! Problem: which stores may reach memory next, what does a load find, and what has to wait?
//!
//! Everything that explains or searches uses it. The certifier and the oracles have their own: they are compared with it.
//!
//! * A load takes the newest store to its address in its thread's buffer, or else memory.
//! * tso: stores leave in order. An interlocked operation and a full barrier wait until the buffer is empty.
//! * pso: stores to one address leave in order. A store barrier begins an epoch; a store leaves after all stores of earlier epochs.
//!   An interlocked operation waits for the stores to its own address and for those of earlier epochs, a full barrier for all.
//!
//! Complexity: linear in the stores that are pending (pso: quadratic for [`StoreBuffer::ready`]). That suits machines whose buffers
//! stay short; runs of any length need an index, as `membar-monitor`'s witnesses have.

use crate::{Barrier, Relaxation};

/// A store that has not reached memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Buffered<A, V> {
    /// The address.
    pub addr: A,
    /// The value stored.
    pub value: V,
    /// Store barriers of the thread before it.
    pub epoch: u32,
}

/// The stores of a thread that have not reached memory, oldest first.
///
/// Invariant: epochs do not decrease, and none is above that of the buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StoreBuffer<A, V> {
    entries: Vec<Buffered<A, V>>,
    epoch: u32,
}

impl<A, V> Default for StoreBuffer<A, V> {
    fn default() -> StoreBuffer<A, V> {
        StoreBuffer { entries: Vec::new(), epoch: 0 }
    }
}

impl<A: Copy + PartialEq, V> StoreBuffer<A, V> {
    /// The stores, oldest first.
    #[inline]
    pub fn entries(&self) -> &[Buffered<A, V>] {
        &self.entries
    }

    /// The epoch of the next store.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Has everything reached memory?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// As at the beginning.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.epoch = 0;
    }

    /// Makes this the current epoch.
    pub fn begin(&mut self, epoch: u32) {
        debug_assert!(epoch >= self.epoch);
        self.epoch = epoch;
    }

    /// A store of the current epoch.
    #[inline]
    pub fn push(&mut self, addr: A, value: V) {
        self.entries.push(Buffered { addr, value, epoch: self.epoch });
    }

    /// A store of this epoch, which then is the current one.
    pub fn push_in(&mut self, addr: A, value: V, epoch: u32) {
        self.begin(epoch);
        self.push(addr, value);
    }

    /// A barrier between stores: begins an epoch, if there is something that it could keep back.
    pub fn store_barrier(&mut self) {
        self.epoch = self.epoch_after(Barrier::Store);
    }

    fn epoch_after(&self, barrier: Barrier) -> u32 {
        let begins = barrier >= Barrier::Store && self.entries.last().is_some_and(|entry| entry.epoch == self.epoch);
        self.epoch + u32::from(begins)
    }

    /// The value that a load of the thread finds here.
    pub fn newest(&self, addr: A) -> Option<&V> {
        self.entries.iter().rev().find(|entry| entry.addr == addr).map(|entry| &entry.value)
    }

    /// The stores that may reach memory next, by their place.
    pub fn ready(&self, model: Relaxation) -> impl Iterator<Item = usize> + '_ {
        let oldest = self.entries.first().map_or(0, |entry| entry.epoch);
        let goes = move |&place: &usize| {
            let entry = &self.entries[place];
            match model {
                Relaxation::Tso => place == 0,
                Relaxation::Pso => {
                    entry.epoch == oldest && self.entries[..place].iter().all(|before| before.addr != entry.addr)
                }
            }
        };
        (0..self.entries.len()).filter(goes)
    }

    /// The store at this place reaches memory.
    pub fn commit(&mut self, place: usize) -> Buffered<A, V> {
        self.entries.remove(place)
    }

    /// Whether an access after this barrier has to wait, and an interlocked operation at this address.
    pub fn holds_back(&self, model: Relaxation, barrier: Barrier, interlocked: Option<A>) -> bool {
        let epoch = self.epoch_after(barrier);
        let waits = |entry: &Buffered<A, V>| {
            barrier == Barrier::Full
                || interlocked.is_some_and(|addr| model == Relaxation::Tso || entry.addr == addr || entry.epoch < epoch)
        };
        self.entries.iter().any(waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_leave_as_their_model_says() {
        let mut buffer = StoreBuffer::default();
        buffer.store_barrier();
        assert_eq!(buffer.epoch(), 0, "it keeps nothing back");
        for (addr, value) in [('x', 1), ('x', 2), ('y', 3)] {
            buffer.push(addr, value);
        }
        buffer.store_barrier();
        buffer.store_barrier();
        buffer.push('z', 4);
        let ready = |buffer: &StoreBuffer<char, i32>, model| buffer.ready(model).collect::<Vec<_>>();
        assert_eq!(ready(&buffer, Relaxation::Tso), [0]);
        assert_eq!(ready(&buffer, Relaxation::Pso), [0, 2]);
        assert_eq!((buffer.newest('x'), buffer.newest('w')), (Some(&2), None));
        assert!(buffer.holds_back(Relaxation::Pso, Barrier::None, Some('w')), "x and y are of an earlier epoch");
        assert!(!buffer.holds_back(Relaxation::Pso, Barrier::Store, None));
        assert_eq!(buffer.commit(2).value, 3);
        buffer.commit(0);
        buffer.commit(0);
        assert_eq!(ready(&buffer, Relaxation::Pso), [0]);
        assert!(!buffer.holds_back(Relaxation::Pso, Barrier::None, Some('w')));
        assert!(buffer.holds_back(Relaxation::Pso, Barrier::None, Some('z')));
        assert!(buffer.holds_back(Relaxation::Tso, Barrier::None, Some('w')));
        assert!(buffer.holds_back(Relaxation::Pso, Barrier::Full, None));
        buffer.commit(0);
        assert!(buffer.is_empty() && !buffer.holds_back(Relaxation::Tso, Barrier::Full, Some('x')));
    }
}
