//! Profiles: kinds of random programs, as data.
//!
//! A profile is a file, and the built-in ones are files of the same kind ([`source`] shows them):
//!
//! ```toml
//! name = "modv"
//! title = "One line for listings"
//! about = """A few sentences."""
//!
//! [size]
//! threads = 16                # 1 to 1024; default 4
//! operations = 1000           # of each thread; default 1000
//! addresses = 2               # default 16
//! locks = 1                   # default 0
//! nesting = 1                 # locks that a thread holds at once, at most; default 1
//!
//! [mix]                       # proportions, such as percent; what is not named does not occur
//! loads = 60
//! stores = 30
//! exchanges = 0
//! adds = 0
//! compare-and-swaps = 0       # one that fails counts as a load
//! barriers = 0                # full ones
//! store-barriers = 0
//! locks = 10                  # acquires and releases
//! fences = 0                  # RISC-V fences with random sets
//! reserved = 0                # load reserved and store conditional
//! dmb = 0                     # Arm's barriers: full, of loads, of stores
//!
//! [sharing]
//! pattern = "uniform"         # or false-sharing, hot, producer-consumer, migrating; default uniform
//! stride = 64                 # distance of neighbouring addresses in bytes: 8 shares lines, 4096 spreads over pages; default 64
//!
//! [pace]
//! burst = 0                   # operations between two pauses, on average; 0: no pauses; default 0
//! delay = 0                   # the longest pause, in cycles; default 0
//!
//! [order]                     # for machines that know about it: rvwmo, armv8
//! dependencies = 0            # of 100 accesses, how many depend on an earlier load; default 0
//! marks = 0                   # of 100 atomics and reserved accesses, how many have aq, rl or both; default 0
//! plain-marks = 0             # of 100 plain loads and stores, how many acquire or release; default 0
//! parts = 0                   # of 100 accesses, how many are to 1, 2 or 4 bytes of their cell (atomics: 4); default 0
//! ```
//!
//! [`load`] takes the argument of `--profile`. Errors in a file are reported with line, column and what to
//! do; [`Profile::program`] refuses senseless settings in the same words, so that settings from elsewhere are checked too.

mod error;
mod parse;

pub use error::ProfileError;
pub use parse::{MOST_BYTES, load, parse};

use crate::Program;
use crate::generate::generate;
use std::sync::OnceLock;

/// How often each kind of operation is drawn. Only the proportions count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shares {
    /// Loads.
    pub loads: u32,
    /// Stores.
    pub stores: u32,
    /// Exchanges.
    pub exchanges: u32,
    /// Fetch-adds.
    pub adds: u32,
    /// Compare-and-swaps.
    pub compare_and_swaps: u32,
    /// Full barriers.
    pub barriers: u32,
    /// Store barriers.
    pub store_barriers: u32,
    /// Acquires and releases.
    pub locks: u32,
    /// Fences with random predecessor and successor sets.
    pub fences: u32,
    /// Load reserved and store conditional of one address, with up to three other operations between.
    pub reserved: u32,
    /// Arm's barriers: full, of loads, of stores.
    pub dmb: u32,
}

impl Shares {
    /// All of them, in the order of the fields.
    pub(crate) fn all(self) -> [u32; 11] {
        [
            self.loads,
            self.stores,
            self.exchanges,
            self.adds,
            self.compare_and_swaps,
            self.barriers,
            self.store_barriers,
            self.locks,
            self.fences,
            self.reserved,
            self.dmb,
        ]
    }
}

/// Which thread accesses which address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sharing {
    /// All threads access all addresses.
    #[default]
    Uniform,
    /// Address `a` belongs to thread `a` modulo the number of threads. Seven of eight writes go to one's own address,
    /// next to which, in the same line if the stride is small, are those of others; reads go anywhere.
    FalseSharing,
    /// Half of all accesses go to `M[0]`.
    Hot,
    /// Seven of eight writes go to one's own address, seven of eight reads to one of the thread before.
    ProducerConsumer,
    /// A thread works on one address for eight operations, then on the next, which another thread has just left.
    Migrating,
}

impl Sharing {
    /// All patterns with their names.
    pub const ALL: [(Sharing, &'static str); 5] = [
        (Sharing::Uniform, "uniform"),
        (Sharing::FalseSharing, "false-sharing"),
        (Sharing::Hot, "hot"),
        (Sharing::ProducerConsumer, "producer-consumer"),
        (Sharing::Migrating, "migrating"),
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        Sharing::ALL.iter().find(|(sharing, _)| *sharing == self).map_or("", |(_, name)| name)
    }
}

/// The kind of random program to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Short name, as given to `--profile`.
    pub name: String,
    /// One line for listings.
    pub title: String,
    /// A few sentences on what it is for.
    pub about: String,
    /// Number of threads.
    pub threads: u32,
    /// Number of operations of each thread; pauses do not count.
    pub operations: u32,
    /// Number of addresses.
    pub addresses: u32,
    /// Number of locks.
    pub locks: u32,
    /// Locks that a thread holds at once, at most.
    pub nesting: u32,
    /// The shares of the kinds of operations.
    pub mix: Shares,
    /// Which threads access which addresses.
    pub sharing: Sharing,
    /// Distance of neighbouring addresses in bytes.
    pub stride: u32,
    /// Operations between two pauses, on average; 0 means no pauses.
    pub burst: u32,
    /// The longest pause, in cycles.
    pub delay: u32,
    /// How many of 100 accesses depend on an earlier load.
    pub dependencies: u32,
    /// How many of 100 atomics and reserved accesses have `aq`, `rl` or both.
    pub marks: u32,
    /// How many of 100 plain loads acquire, and plain stores release.
    pub plain_marks: u32,
    /// How many of 100 accesses are to a part of their cell.
    pub parts: u32,
}

/// Operations of all threads that a random program has at most.
pub const MOST_OPERATIONS: u64 = 1 << 27;
/// The same where some are fetch-adds: constants are 2^40 apart then.
pub const MOST_OPERATIONS_WITH_ADDS: u64 = 1 << 23;
/// Bytes of memory that a program's addresses span at most.
pub const MOST_SPAN: u64 = 1 << 32;

/// A number of a profile: its table and key, its smallest and largest value, and where it is kept.
struct Number {
    table: &'static str,
    key: &'static str,
    low: u32,
    high: u32,
    get: fn(&mut Profile) -> &mut u32,
}

const LARGEST: u32 = 1_000_000;

macro_rules! numbers {
    ($($table:literal $key:literal $low:literal $high:expr, $($field:ident).+;)*) => {
        &[$(Number { table: $table, key: $key, low: $low, high: $high, get: |p| &mut p.$($field).+ }),*]
    };
}

const NUMBERS: &[Number] = numbers! {
    "size" "threads" 1 1024, threads;
    "size" "operations" 1 (MOST_OPERATIONS as u32), operations;
    "size" "addresses" 1 (1 << 24), addresses;
    "size" "locks" 0 65536, locks;
    "size" "nesting" 1 16, nesting;
    "mix" "loads" 0 LARGEST, mix.loads;
    "mix" "stores" 0 LARGEST, mix.stores;
    "mix" "exchanges" 0 LARGEST, mix.exchanges;
    "mix" "adds" 0 LARGEST, mix.adds;
    "mix" "compare-and-swaps" 0 LARGEST, mix.compare_and_swaps;
    "mix" "barriers" 0 LARGEST, mix.barriers;
    "mix" "store-barriers" 0 LARGEST, mix.store_barriers;
    "mix" "locks" 0 LARGEST, mix.locks;
    "mix" "fences" 0 LARGEST, mix.fences;
    "mix" "reserved" 0 LARGEST, mix.reserved;
    "mix" "dmb" 0 LARGEST, mix.dmb;
    "sharing" "stride" 8 (1 << 20), stride;
    "pace" "burst" 0 LARGEST, burst;
    "pace" "delay" 0 LARGEST, delay;
    "order" "dependencies" 0 100, dependencies;
    "order" "marks" 0 100, marks;
    "order" "plain-marks" 0 100, plain_marks;
    "order" "parts" 0 100, parts;
};

impl Profile {
    /// The meaning of an empty file. It has no mix, so it is not valid yet.
    pub fn blank() -> Profile {
        Profile {
            name: String::new(),
            title: String::new(),
            about: String::new(),
            threads: 4,
            operations: 1000,
            addresses: 16,
            locks: 0,
            nesting: 1,
            mix: Shares::default(),
            sharing: Sharing::Uniform,
            stride: 64,
            burst: 0,
            delay: 0,
            dependencies: 0,
            marks: 0,
            plain_marks: 0,
            parts: 0,
        }
    }

    /// Says what is wrong with a setting, if anything is.
    pub fn validate(&self) -> Result<(), ProfileError> {
        let mut copy = self.clone();
        for number in NUMBERS {
            let value = *(number.get)(&mut copy);
            if !(number.low..=number.high).contains(&value) {
                return Err(out_of_range(number, &value.to_string()));
            }
        }
        if !self.stride.is_multiple_of(8) {
            return Err(ProfileError::new(
                "sharing.stride",
                format!("a stride of {} bytes is not a multiple of 8", self.stride),
            )
            .help("an address has 8 bytes; 64 is a cache line, 4096 a page"));
        }
        if self.mix.all().iter().all(|&share| share == 0) {
            return Err(ProfileError::new("mix", "the mix has nothing in it")
                .help("write `loads = 60`, for example, below `[mix]`"));
        }
        if self.mix.locks > 0 && self.locks == 0 {
            return Err(ProfileError::new("mix.locks", "the mix has lock operations, but there are no locks")
                .help("write `locks = 1` below `[size]`, or take `locks` out of `[mix]`"));
        }
        if self.parts > 0 && self.mix.adds + self.mix.compare_and_swaps > 0 {
            return Err(ProfileError::new("order.parts", "parts do not go with fetch-adds and compare-and-swaps")
                .help("take `adds` and `compare-and-swaps` out of `[mix]`, or `parts` out of `[order]`"));
        }
        let operations = self.threads as u64 * self.operations as u64;
        if operations > MOST_OPERATIONS {
            return Err(ProfileError::new(
                "size.operations",
                format!("{} threads with {} operations each are too many", self.threads, self.operations),
            )
            .note(format!("a program has at most {MOST_OPERATIONS} operations")));
        }
        if self.mix.adds > 0 && operations > MOST_OPERATIONS_WITH_ADDS {
            return Err(ProfileError::new("mix.adds", format!("{operations} operations are too many for fetch-adds"))
                .note(format!(
                    "with them a program has at most {MOST_OPERATIONS_WITH_ADDS}, so that all values differ"
                )));
        }
        if self.addresses as u64 * self.stride as u64 > MOST_SPAN {
            return Err(ProfileError::new(
                "sharing.stride",
                format!("{} addresses at {} bytes are more than {MOST_SPAN} bytes", self.addresses, self.stride),
            ));
        }
        Ok(())
    }

    /// The random program of this profile and seed: the same everywhere and in every version of this crate that has the
    /// same first two version numbers.
    pub fn program(&self, seed: u64) -> Result<Program, ProfileError> {
        self.validate()?;
        Ok(generate(self, |_| self.operations, seed))
    }

    /// Where an address is, in bytes from the beginning of the memory that is used.
    pub fn offset(&self, addr: u32) -> u64 {
        addr as u64 * self.stride as u64
    }

    /// How many bytes all addresses take.
    pub fn span(&self) -> u64 {
        self.addresses as u64 * self.stride as u64
    }
}

fn out_of_range(number: &Number, value: &str) -> ProfileError {
    let Number { table, key, low, high, .. } = *number;
    let message = format!("`{table}.{key}` must be from {low} to {high}, but this is {value}");
    ProfileError::at_key(table, key, message)
}

/// Names and texts.
const SOURCES: [(&str, &str); 13] = [
    ("default", include_str!("../profiles/default.toml")),
    ("paper", include_str!("../profiles/paper.toml")),
    ("modv", include_str!("../profiles/modv.toml")),
    ("false-sharing", include_str!("../profiles/false-sharing.toml")),
    ("hot", include_str!("../profiles/hot.toml")),
    ("producer-consumer", include_str!("../profiles/producer-consumer.toml")),
    ("migrating", include_str!("../profiles/migrating.toml")),
    ("atomics", include_str!("../profiles/atomics.toml")),
    ("fences", include_str!("../profiles/fences.toml")),
    ("locks", include_str!("../profiles/locks.toml")),
    ("riscv", include_str!("../profiles/riscv.toml")),
    ("arm", include_str!("../profiles/arm.toml")),
    ("sizes", include_str!("../profiles/sizes.toml")),
];

/// The built-in profiles.
pub fn builtins() -> &'static [Profile] {
    static PROFILES: OnceLock<Vec<Profile>> = OnceLock::new();
    PROFILES.get_or_init(|| {
        SOURCES
            .iter()
            .map(|(name, text)| match parse(&format!("{name}.toml"), text) {
                Ok(profile) => profile,
                // The texts are part of this crate, and its tests read each of them.
                Err(error) => unreachable!("{error}"),
            })
            .collect()
    })
}

/// The built-in profile of this name.
pub fn builtin(name: &str) -> Option<&'static Profile> {
    builtins().iter().find(|profile| profile.name == name)
}

/// The TOML text of a built-in profile.
pub fn source(name: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
}

#[cfg(test)]
mod tests;
