//! Plain workloads: loads, stores, exchanges and barriers, uniformly over some addresses.

use crate::generate::generate;
use crate::{Profile, Program, Shares};
use membar_core::{OpKind, Rng};

/// How often each kind of operation is drawn. Only the proportions count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mix {
    /// Loads.
    pub loads: u32,
    /// Stores.
    pub stores: u32,
    /// Read-modify-writes.
    pub rmws: u32,
    /// Full barriers.
    pub fences: u32,
}

impl Mix {
    /// The mix of Manovit and Hangal's measurements (SPAA 2005, section 5), without its 1.7 % of other instructions.
    pub const PAPER: Mix = Mix { loads: 333, stores: 333, rmws: 300, fences: 17 };
    /// Loads and stores only.
    pub const LOADS_STORES: Mix = Mix { loads: 600, stores: 400, rmws: 0, fences: 0 };

    fn total(self) -> u32 {
        self.loads + self.stores + self.rmws + self.fences
    }

    /// A random kind of operation.
    pub fn draw(self, rng: &mut Rng) -> OpKind {
        let roll = rng.below(self.total().max(1));
        if roll < self.loads {
            OpKind::Load
        } else if roll < self.loads + self.stores {
            OpKind::Store
        } else if roll < self.loads + self.stores + self.rmws {
            OpKind::Rmw
        } else {
            OpKind::Fence
        }
    }
}

/// The size and the seed of a plain random program: a [`Profile`] that is written in one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Number of threads, at least 1.
    pub threads: u32,
    /// Number of addresses, at least 1.
    pub addresses: u32,
    /// Number of operations over all threads, barriers included; each thread gets the same share (± 1).
    pub ops: u32,
    /// The mix of operations.
    pub mix: Mix,
    /// Same seed, same program and same schedule.
    pub seed: u64,
}

impl Workload {
    /// The program. Written values are 1, 2, 3, … through the threads.
    pub fn program(&self) -> Program {
        let Mix { loads, stores, rmws, fences } = self.mix;
        let loads = if self.mix.total() == 0 { 1 } else { loads };
        let threads = self.threads.max(1);
        let profile = Profile {
            threads,
            addresses: self.addresses.max(1),
            mix: Shares { loads, stores, exchanges: rmws, barriers: fences, ..Shares::default() },
            ..Profile::blank()
        };
        generate(&profile, |t| self.ops / threads + u32::from(t < self.ops % threads), self.seed)
    }
}
