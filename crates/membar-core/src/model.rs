//! A memory model as data.
//!
//! A model says which pairs of one thread's operations keep their program order in memory order, what a full barrier
//! adds, and which axioms hold. Everything else is the same in all models: a read-modify-write is one point of memory
//! order, and a load returns the last store, in memory order, among those before it in memory order or (where the
//! model forwards stores) before it in its own thread. Memory order is total; where a model has no write order it is a
//! partial order, and a load returns a store that nothing before the load in that order has overwritten.
//!
//! The text form (TOML) is read by `membar-model`.

use crate::named;
use std::ops::{BitAnd, BitOr, Not};

/// The kind of an operation in preserved program order. A read-modify-write is a load and a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Reads an address.
    Load,
    /// Writes an address.
    Store,
    /// Takes a lock.
    Acquire,
    /// Gives a lock back.
    Release,
}

impl Kind {
    /// All of them, in the order of tables.
    pub const ALL: [Kind; 4] = [Kind::Load, Kind::Store, Kind::Acquire, Kind::Release];

    /// The name in model files.
    pub fn name(self) -> &'static str {
        ["load", "store", "acquire", "release"][self as usize]
    }

    /// Is it an acquire or a release?
    #[inline]
    pub fn locks(self) -> bool {
        matches!(self, Kind::Acquire | Kind::Release)
    }
}

/// A set of [`Kind`]s.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Kinds(pub u8);

impl Kinds {
    /// No kind.
    pub const NONE: Kinds = Kinds(0);

    /// This kind only.
    #[inline]
    pub fn of(kind: Kind) -> Kinds {
        Kinds(1 << kind as u8)
    }

    /// Is the kind in it?
    #[inline]
    pub fn has(self, kind: Kind) -> bool {
        self.0 >> kind as u8 & 1 != 0
    }

    /// Is any kind in both?
    #[inline]
    pub fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// Is no kind in it?
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in it.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |&kind| self.has(kind))
    }
}

named! {
    /// A condition about marks, dependencies or what was read, under which an earlier and a later operation of one thread
    /// keep their order. Those that RVWMO has are its rules of preserved program order, by number.
    pub enum Condition {
        /// Rule 2: both read one address, from different writes, and their thread stored nothing to it between them.
        AnotherStore = "another-store",
        /// Rule 3: the earlier one is a read-modify-write or a store conditional, and the later one read from it.
        FromAtomic = "from-atomic",
        /// Rule 5: the earlier one is marked acquire.
        EarlierAcquires = "earlier-acquires",
        /// Rule 6: the later one is marked release.
        LaterReleases = "later-releases",
        /// Rule 7: the earlier one is marked release, the later one acquire.
        ReleaseAcquire = "release-acquire",
        /// Rule 9: the later one's address came from the earlier one.
        Address = "address-dependency",
        /// Rule 10: the later one's value came from the earlier one.
        Data = "data-dependency",
        /// Rule 11: whether the later one was executed came from the earlier one.
        Control = "control-dependency",
        /// Rule 12: the later one read from a store between them whose address or value came from the earlier one.
        ThroughStore = "through-store",
        /// Rule 13: the address of an operation between them came from the earlier one.
        PastAddress = "past-address",
        /// Armv8: an ISB stands between them, and before it or on it a branch, or before it an address, that came from the earlier
        /// one.
        PastIsb = "past-isb",
        /// Armv8: the later one is marked acquire and read from a store conditional whose load reserved is the earlier one.
        AcquireFromPair = "acquire-from-pair",
    }
}

impl Condition {
    /// The number of the rule in the RISC-V manual, where it is one of its rules.
    pub fn rule(self) -> Option<u8> {
        [2, 3, 5, 6, 7, 9, 10, 11, 12, 13].get(self as usize).copied()
    }

    /// The part of Arm's ordered-before that the condition belongs to: `obs`, `dob`, `aob` or `bob`.
    pub fn arm(self) -> &'static str {
        match self {
            Condition::AnotherStore => "obs",
            Condition::FromAtomic | Condition::AcquireFromPair => "aob",
            Condition::EarlierAcquires | Condition::LaterReleases | Condition::ReleaseAcquire => "bob",
            Condition::Address
            | Condition::Data
            | Condition::Control
            | Condition::ThroughStore
            | Condition::PastAddress
            | Condition::PastIsb => "dob",
        }
    }
}

/// A set of [`Condition`]s.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Conditions(u16);

impl Conditions {
    /// None of them.
    pub const NONE: Conditions = Conditions(0);

    /// Is the condition in it?
    #[inline]
    pub fn has(self, condition: Condition) -> bool {
        self.0 >> condition as u8 & 1 != 0
    }

    /// The set with this condition too.
    pub fn with(self, condition: Condition) -> Conditions {
        Conditions(self.0 | 1 << condition as u8)
    }

    /// No condition in it?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The conditions in it.
    pub fn iter(self) -> impl Iterator<Item = Condition> {
        Condition::ALL.iter().copied().filter(move |&condition| self.has(condition))
    }
}

/// When an earlier and a later operation of one thread keep their order: any of the conditions suffices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct When {
    /// Regardless of the addresses they access.
    pub always: bool,
    /// If they access one address, or one lock.
    pub same_address: bool,
    /// If one session holds both: for an acquire or a release its own session, for two accesses any.
    pub same_session: bool,
    /// If the lock that the one takes or gives back guards the address that the other accesses.
    pub guarded: bool,
    /// If the earlier one's period ends before the later one's begins (strictly).
    pub time: bool,
    /// If one of these holds.
    pub also: Conditions,
}

impl When {
    /// Never kept by the model itself (a barrier may still order the pair).
    pub const NEVER: When = When {
        always: false,
        same_address: false,
        same_session: false,
        guarded: false,
        time: false,
        also: Conditions::NONE,
    };
    /// Always kept.
    pub const ALWAYS: When = When { always: true, ..When::NEVER };
    /// Kept on one address, or one lock.
    pub const SAME_ADDRESS: When = When { same_address: true, ..When::NEVER };
    /// Kept inside a session.
    pub const SAME_SESSION: When = When { same_session: true, ..When::NEVER };
    /// Kept between a lock and what it guards.
    pub const GUARDED: When = When { guarded: true, ..When::NEVER };

    /// Is the order of two accesses of one address, or of two operations on one lock, always kept?
    pub fn on_one_address(self) -> bool {
        self.always || self.same_address
    }

    /// Does a thread never see one address go back through two loads of these kinds?
    pub fn coherent(self) -> bool {
        self.on_one_address() || self.also.has(Condition::AnotherStore)
    }

    /// Either this or the other.
    pub fn or(self, other: When) -> When {
        When {
            always: self.always || other.always,
            same_address: self.same_address || other.same_address,
            same_session: self.same_session || other.same_session,
            guarded: self.guarded || other.guarded,
            time: self.time || other.time,
            also: Conditions(self.also.0 | other.also.0),
        }
    }

    /// The conditions by name, as in a model file for a pair of these kinds: `always` alone, `never`, or several.
    pub fn names(self, earlier: Kind, later: Kind) -> Vec<&'static str> {
        if self.always {
            return vec!["always"];
        }
        let same = if earlier.locks() && later.locks() { "same-lock" } else { "same-address" };
        let named = [
            (self.same_address, same),
            (self.same_session, "same-session"),
            (self.guarded, "guarded"),
            (self.time, "time"),
        ];
        let mut names: Vec<_> = named.into_iter().filter_map(|(on, name)| on.then_some(name)).collect();
        names.extend(self.also.iter().map(Condition::name));
        if names.is_empty() { vec!["never"] } else { names }
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

    /// The kinds that a barrier with this mask puts later, per earlier [`Kind`]. For a barrier, an acquire and a release
    /// count as a load and as a store.
    pub fn rows(self) -> [Kinds; 4] {
        const LOADS: u8 = 0b1101;
        const STORES: u8 = 0b1110;
        let after = |stores: bool| {
            let to = |later: bool, kinds: u8| if self.contains(Mask::pair(stores, later)) { kinds } else { 0 };
            to(false, LOADS) | to(true, STORES)
        };
        let (loads, stores) = (after(false), after(true));
        [Kinds(loads), Kinds(stores), Kinds(loads | stores), Kinds(loads | stores)]
    }

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

/// Preserved program order: when each pair of kinds keeps its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Ppo {
    table: [[When; 4]; 4],
}

impl Ppo {
    /// The table with these entries for accesses, in which an acquire and a release count as a load and as a store.
    pub fn new(load_load: When, load_store: When, store_load: When, store_store: When) -> Ppo {
        let accesses = [[load_load, load_store], [store_load, store_store]];
        let counts = |kind: Kind| match kind {
            Kind::Load => 0..1,
            Kind::Store => 1..2,
            Kind::Acquire | Kind::Release => 0..2,
        };
        let mut ppo = Ppo::default();
        for earlier in Kind::ALL {
            for later in Kind::ALL {
                let mut when = When::NEVER;
                for e in counts(earlier) {
                    for l in counts(later) {
                        when = when.or(accesses[e][l]);
                    }
                }
                // No lock is an address: between the two this condition never holds.
                when.same_address &= earlier.locks() == later.locks();
                if earlier.locks() || later.locks() {
                    when.also = Conditions::NONE;
                }
                ppo.set(earlier, later, when);
            }
        }
        ppo
    }

    /// When an earlier and a later operation of these kinds keep their order.
    #[inline]
    pub fn entry(&self, earlier: Kind, later: Kind) -> When {
        self.table[earlier as usize][later as usize]
    }

    /// Changes one entry.
    pub fn set(&mut self, earlier: Kind, later: Kind, when: When) {
        self.table[earlier as usize][later as usize] = when;
    }

    /// Per earlier kind, the later kinds whose entry satisfies `test`.
    pub fn rows(&self, test: impl Fn(When) -> bool) -> [Kinds; 4] {
        self.table.map(|row| {
            let mut kinds = Kinds::NONE;
            for kind in Kind::ALL {
                kinds.0 |= (test(row[kind as usize]) as u8) << kind as u8;
            }
            kinds
        })
    }

    /// Does any entry satisfy `test`?
    pub fn any(&self, test: impl Fn(When) -> bool) -> bool {
        self.table.iter().flatten().any(|&when| test(when))
    }

    /// Do acquires and releases count as a load and as a store here, as where a model file says nothing about them?
    pub fn locks_are_accesses(&self) -> bool {
        let entry = |earlier, later| self.entry(earlier, later);
        *self
            == Ppo::new(
                entry(Kind::Load, Kind::Load),
                entry(Kind::Load, Kind::Store),
                entry(Kind::Store, Kind::Load),
                entry(Kind::Store, Kind::Store),
            )
    }
}

/// A memory model.
///
/// Invariant (checked by `membar-model` when it reads one): load-store and store-store hold at least on one address, so
/// a thread's accesses to one address cannot read from their own future and its writes keep their order; operations on
/// one lock keep their order; `coherence` implies that load-load holds on one address too, at least between loads of different
/// writes, and that a load cannot miss
/// its own thread's stores; without `write_order` there is no coherence, and store-load holds on one address, so that a
/// load cannot miss them either.
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
    /// The pairs that `sync` orders.
    pub sync: Mask,
    /// A load may return its own thread's earlier store before that store is in memory order.
    pub store_forwarding: bool,
    /// No thread sees one address go back in time (a claim that is checked against `ppo`).
    pub coherence: bool,
    /// Sessions (acquire to release) on one lock never overlap.
    pub lock_exclusion: bool,
    /// The writes to one address are totally ordered. Without it, memory order is partial: see the module.
    pub write_order: bool,
    /// A store has taken effect for everybody when its period ends. Without it, it may still be in a buffer then.
    pub atomic_writes: bool,
    /// A read-modify-write is a load reserved and a store conditional, two points of memory order, as in Armv8. Traces are decided
    /// in that form: see [`crate::Trace::for_model`].
    pub split_atomics: bool,
}

impl Model {
    /// A model with this table and the usual axioms: `sync` orders everything, stores are forwarded, locks exclude,
    /// writes to an address are ordered but not atomic, and no coherence is claimed.
    pub fn new(name: &str, ppo: Ppo) -> Model {
        Model {
            name: name.to_owned(),
            title: String::new(),
            about: String::new(),
            ppo,
            sync: Mask::FULL,
            store_forwarding: true,
            coherence: false,
            lock_exclusion: true,
            write_order: true,
            atomic_writes: false,
            split_atomics: false,
        }
    }

    /// Has an operation of this kind taken effect for everybody when its period ends?
    #[inline]
    pub fn done_at_end(&self, kind: crate::OpKind) -> bool {
        self.atomic_writes || kind != crate::OpKind::Store
    }
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
        assert_eq!(Mask::FULL.rows(), [Kinds(15); 4]);
        assert_eq!(Mask::STORE_LOAD.rows(), [Kinds(0), Kinds(0b1101), Kinds(0b1101), Kinds(0b1101)]);
    }

    #[test]
    fn locks_count_as_accesses_unless_told_otherwise() {
        let mut ppo = Ppo::new(When::ALWAYS, When::SAME_ADDRESS, When::NEVER, When::SAME_ADDRESS);
        assert_eq!(ppo.entry(Kind::Acquire, Kind::Load), When::ALWAYS);
        assert_eq!(ppo.entry(Kind::Store, Kind::Release), When::NEVER, "a lock is no address");
        assert!(ppo.entry(Kind::Release, Kind::Acquire).on_one_address());
        assert!(ppo.locks_are_accesses());
        ppo.set(Kind::Acquire, Kind::Load, When::NEVER);
        assert!(!ppo.locks_are_accesses());
        assert_eq!(ppo.rows(|when| when.always)[Kind::Load as usize], Kinds(0b1101));
    }
}
