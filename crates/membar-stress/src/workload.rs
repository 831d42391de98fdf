//! Random racy programs: what each thread does, before any machine has run it.

use crate::Rng;
use membar_core::{Mask, OpKind};

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

    pub(crate) fn total(self) -> u32 {
        self.loads + self.stores + self.rmws + self.fences
    }

    pub(crate) fn kind(self, roll: u32) -> OpKind {
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

/// The size and the seed of a random program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Number of threads, at least 1.
    pub threads: u32,
    /// Number of addresses, at least 1.
    pub addresses: u32,
    /// Number of operations over all threads, barriers included; each thread gets the same share (± 1).
    pub ops: u32,
    /// What they are.
    pub mix: Mix,
    /// Same seed, same program and same schedule.
    pub seed: u64,
}

/// One instruction of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instr {
    /// What it does.
    pub kind: OpKind,
    /// Number of the address, or of the lock of an acquire or release; unused by a barrier.
    pub addr: u32,
    /// The value it writes, if it writes.
    pub value: u64,
    /// What a barrier orders; `None` is `sync`.
    pub mask: Option<Mask>,
}

/// A program without branches: per thread the instructions, one thread after the other.
///
/// Invariant: no address gets one value twice or its initial value; a thread releases only locks that it holds and
/// acquires only those that it does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// All instructions.
    pub instrs: Vec<Instr>,
    /// Thread `t` has `instrs[starts[t]..starts[t + 1]]`.
    pub starts: Vec<u32>,
    /// The initial value of each address.
    pub initial: Vec<u64>,
    /// Number of locks.
    pub locks: u32,
}

impl Program {
    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.starts.len() - 1
    }
}

impl Workload {
    /// The program: every thread draws its instructions from its own stream of random numbers; written values are
    /// 1, 2, 3, … through the threads, so that each is globally unique.
    pub fn program(&self) -> Program {
        let (threads, addresses) = (self.threads.max(1), self.addresses.max(1));
        let total = self.mix.total().max(1);
        let mut instrs = Vec::with_capacity(self.ops as usize);
        let mut starts = vec![0];
        let mut value = 0;
        for t in 0..threads {
            let mut rng = Rng::stream(self.seed, t as u64);
            let share = self.ops / threads + u32::from(t < self.ops % threads);
            for _ in 0..share {
                let kind = self.mix.kind(rng.below(total));
                let addr = rng.below(addresses);
                value += u64::from(kind.writes());
                instrs.push(Instr { kind, addr, value: if kind.writes() { value } else { 0 }, mask: None });
            }
            starts.push(instrs.len() as u32);
        }
        Program { instrs, starts, initial: vec![0; addresses as usize], locks: 0 }
    }
}
