//! A memory model as data.
//!
//! A model says which pairs of one thread's operations keep their program order in memory order, and what a full
//! barrier adds. Everything else is the same in all models: memory order is total, a read-modify-write is one point
//! of it, and a load returns the last store, in memory order, among those before it in memory order or (where the
//! model forwards stores) before it in its own thread.
//!
//! The text form (TOML) is read by `membar-model`.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

/// When an earlier and a later operation of one thread keep their order: any of the conditions suffices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct When {
    /// Whatever they access.
    pub always: bool,
    /// If they access one address.
    pub same_address: bool,
    /// If the earlier one's period ends before the later one's begins (strictly).
    pub time: bool,
}

impl When {
    /// Never kept by the model itself (a barrier may still order the pair).
    pub const NEVER: When = When { always: false, same_address: false, time: false };
    /// Always kept.
    pub const ALWAYS: When = When { always: true, same_address: false, time: false };
    /// Kept on one address.
    pub const SAME_ADDRESS: When = When { always: false, same_address: true, time: false };

    /// Is the order of two accesses of one address always kept?
    pub fn on_one_address(self) -> bool {
        self.always || self.same_address
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.always, self.same_address, self.time) {
            (true, _, _) => f.write_str("always"),
            (false, false, false) => f.write_str("never"),
            (false, true, false) => f.write_str("same-address"),
            (false, false, true) => f.write_str("time"),
            (false, true, true) => f.write_str("same-address or time"),
        }
    }
}

/// A set of (earlier, later) pairs of access kinds, as in the SPARC V9 `membar` mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Mask(u8);

impl Mask {
    /// No pair.
    pub const NONE: Mask = Mask(0);
    /// `#LoadLoad`
    pub const LOAD_LOAD: Mask = Mask(1);
    /// `#LoadStore`
    pub const LOAD_STORE: Mask = Mask(2);
    /// `#StoreLoad`
    pub const STORE_LOAD: Mask = Mask(4);
    /// `#StoreStore`
    pub const STORE_STORE: Mask = Mask(8);
    /// All four pairs: `sync`.
    pub const FULL: Mask = Mask(15);

    /// The four single pairs with their names in a trace (`#…`) and in a model file.
    pub const PAIRS: [(Mask, &'static str, &'static str); 4] = [
        (Mask::LOAD_LOAD, "#LoadLoad", "load-load"),
        (Mask::LOAD_STORE, "#LoadStore", "load-store"),
        (Mask::STORE_LOAD, "#StoreLoad", "store-load"),
        (Mask::STORE_STORE, "#StoreStore", "store-store"),
    ];

    /// The pair for an earlier and a later access, each a load (`false`) or a store (`true`).
    #[inline]
    pub fn pair(earlier_stores: bool, later_stores: bool) -> Mask {
        Mask(1 << ((earlier_stores as u8) * 2 + later_stores as u8))
    }

    /// The mask with these bits (the low four are used).
    pub fn from_bits(bits: u8) -> Mask {
        Mask(bits & 15)
    }

    /// The bits: load-load 1, load-store 2, store-load 4, store-store 8.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Does this mask hold every pair of `other`?
    #[inline]
    pub fn contains(self, other: Mask) -> bool {
        self.0 & other.0 == other.0
    }

    /// Do the two masks share a pair?
    #[inline]
    pub fn intersects(self, other: Mask) -> bool {
        self.0 & other.0 != 0
    }

    /// Is no pair in it?
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Mask {
    type Output = Mask;
    fn bitor(self, rhs: Mask) -> Mask {
        Mask(self.0 | rhs.0)
    }
}

impl BitAnd for Mask {
    type Output = Mask;
    fn bitand(self, rhs: Mask) -> Mask {
        Mask(self.0 & rhs.0)
    }
}

impl Not for Mask {
    type Output = Mask;
    fn not(self) -> Mask {
        Mask(!self.0 & 15)
    }
}

/// Preserved program order: when each kind of pair keeps its order. A read-modify-write counts as a load and as a
/// store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Ppo {
    /// earlier load, later load
    pub load_load: When,
    /// earlier load, later store
    pub load_store: When,
    /// earlier store, later load
    pub store_load: When,
    /// earlier store, later store
    pub store_store: When,
}

impl Ppo {
    /// The entry for an earlier and a later access, each a load (`false`) or a store (`true`).
    #[inline]
    pub fn entry(&self, earlier_stores: bool, later_stores: bool) -> When {
        match (earlier_stores, later_stores) {
            (false, false) => self.load_load,
            (false, true) => self.load_store,
            (true, false) => self.store_load,
            (true, true) => self.store_store,
        }
    }

    /// The pairs that are always in order, so that a barrier adds nothing to them.
    pub fn always(&self) -> Mask {
        Mask::PAIRS.iter().fold(Mask::NONE, |all, &(pair, _, _)| {
            let (earlier, later) = (pair.0 >= 4, pair.0 & 0b1010 != 0);
            if self.entry(earlier, later).always { all | pair } else { all }
        })
    }
}

/// A memory model.
///
/// Invariant (checked by `membar-model` when it reads one): `load_store` and `store_store` hold at least on one
/// address, so a thread's accesses to one address cannot read from their own future and its writes keep their order;
/// and `coherence` implies that `load_load` does too and that a load cannot miss its own thread's stores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    /// Short name, as given to `--model`.
    pub name: String,
    /// One line for listings.
    pub title: String,
    /// A few sentences on what it is.
    pub about: String,
    /// Preserved program order.
    pub ppo: Ppo,
    /// What `sync` orders.
    pub sync: Mask,
    /// A load may return its own thread's earlier store before that store is in memory order.
    pub store_forwarding: bool,
    /// No thread sees one address go back in time (a claim that is checked against `ppo`).
    pub coherence: bool,
    /// Sessions (acquire to release) on one lock never overlap.
    pub lock_exclusion: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_pairs_agree() {
        for (pair, _, _) in Mask::PAIRS {
            let (earlier, later) = (pair.0 >= 4, pair.0 & 0b1010 != 0);
            assert_eq!(Mask::pair(earlier, later), pair);
        }
        let ppo = Ppo { load_load: When::ALWAYS, store_store: When::ALWAYS, ..Ppo::default() };
        assert_eq!(ppo.always(), Mask::LOAD_LOAD | Mask::STORE_STORE);
    }
}
