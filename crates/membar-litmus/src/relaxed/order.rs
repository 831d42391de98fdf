//! The order of a thread's accesses that a model keeps whatever they read and wherever they go.
//!
//! | model | kept |
//! |---|---|
//! | sc | everything |
//! | rvwmo | rules 4 to 11 and 13 of the ISA manual; 1, 2, 3 and 12 need addresses or what was read ([`super::search`]) |
//! | ztso | the same, and everything but a store before a load |
//! | armv8 | `dob`, `pob`, `aob` and `bob` of the architecture, without `lrs` and `lws`, which need addresses |
//!
//! **Deviations.** Armv8's atomics that drop what they read are no acquires and not ordered by DMB LD, as the architecture
//! says of instructions with the destination WZR or XZR. A DSB ST orders stores before everything after it.
//!
//! **References.** RISC-V Unprivileged ISA, "RVWMO" and "Ztso". Arm ARM, B2.3: ordering relations.

use super::code::{Fence, Kinds};
use super::paths::{Access, Path};
use crate::states::Model;

/// The rules of RVWMO have their numbers in the manual. Those of Armv8, for [`without`](crate::outcomes_without):
pub(crate) const ARM: [&str; 18] = [
    "lws",
    "addr",
    "data",
    "ctrl",
    "isb",
    "addr-po",
    "lrs",
    "rmw",
    "rmw-lrs",
    "dmb.full",
    "dmb.ld",
    "dmb.st",
    "release",
    "acquire",
    "acquire-pc",
    "release-acquire",
    "amo",
    "pick",
];

/// The number of a rule, from 1; 0 is none.
pub(crate) fn rule(model: Model, name: &str) -> u8 {
    match model {
        Model::Armv8 => ARM.iter().position(|known| *known == name).map_or(0, |at| at as u8 + 1),
        _ => name.parse().unwrap_or(0),
    }
}

/// For each access of the way the later ones that stay after it, by all rules but one.
pub(crate) fn kept(model: Model, path: &Path, without: u8) -> Vec<u64> {
    let events = &path.events;
    let mut kept = vec![0u64; events.len()];
    for (later, b) in events.iter().enumerate() {
        for (earlier, a) in events[..later].iter().enumerate() {
            let pair = Pair { path, earlier, a, later, b, without };
            let keeps = match model {
                Model::Sc => true,
                Model::Rvwmo => pair.riscv(),
                // Loads are acquires and stores are releases, of the kind that does not order a store before a load.
                Model::Ztso => a.reads || b.writes || pair.riscv(),
                Model::Armv8 => pair.arm(),
                Model::Tso | Model::Pso | Model::C11 => unreachable!("not a model of these dialects"),
            };
            kept[earlier] |= u64::from(keeps) << later;
        }
    }
    kept
}

/// Two accesses of a way.
struct Pair<'a> {
    path: &'a Path,
    earlier: usize,
    a: &'a Access,
    later: usize,
    b: &'a Access,
    without: u8,
}

/// Whether a bit is set.
fn has(set: u64, event: usize) -> bool {
    set >> event & 1 == 1
}

fn matches(kinds: Kinds, access: &Access) -> bool {
    // Only a fence for reads alone leaves out reads whose value is dropped.
    (kinds.reads && access.reads && (access.returns || kinds.writes)) || (kinds.writes && access.writes)
}

/// Fences between two accesses, with what the branches before each depend on.
fn between(path: &Path, earlier: usize, later: usize) -> impl Iterator<Item = (Fence, u64, usize)> {
    let inside = move |&&(at, ..): &&(u8, Fence, u64)| usize::from(at) > earlier && usize::from(at) <= later;
    path.fences.iter().filter(inside).map(|&(at, fence, ctrl)| (fence, ctrl, usize::from(at)))
}

/// Whether an access between the two has an address that depends on the earlier one.
fn address_before(path: &Path, earlier: usize, later: usize, deps: fn(&Access) -> u64) -> bool {
    path.events[earlier + 1..later].iter().any(|between| has(deps(between), earlier))
}

impl Pair<'_> {
    /// Whether a rule counts.
    fn on(&self, rule: u8) -> bool {
        self.without != rule
    }

    /// Whether a fence that counts orders the two.
    fn fenced(&self, counts: impl Fn(Fence) -> bool) -> bool {
        let Pair { path, earlier, a, later, b, .. } = *self;
        between(path, earlier, later).any(|(fence, ..)| match fence {
            _ if !counts(fence) => false,
            Fence::Order { before, after } => matches(before, a) && (after == Kinds::ALL || matches(after, b)),
            Fence::Tso => a.reads || (a.writes && b.writes),
            Fence::Isb => false,
        })
    }

    fn riscv(&self) -> bool {
        let Pair { path, earlier, a, later, b, .. } = *self;
        let rcsc = |access: &Access| access.atomic && (access.marks.acquire || access.marks.release);
        (self.on(4) && self.fenced(|_| true))
            || (self.on(5) && a.marks.acquire)
            || (self.on(6) && b.marks.release)
            || (self.on(7) && rcsc(a) && rcsc(b))
            || (self.on(8) && has(b.pair, earlier))
            || (self.on(9) && has(b.addr, earlier))
            || (self.on(10) && has(b.data, earlier))
            || (self.on(11) && b.writes && has(b.ctrl, earlier))
            || (self.on(13) && b.writes && address_before(path, earlier, later, |m| m.addr))
    }

    fn arm(&self) -> bool {
        let Pair { path, earlier, a, later, b, .. } = *self;
        let on = |name: &str| self.on(rule(Model::Armv8, name));
        // An atomic that drops what it read is no acquire.
        let acquires = |access: &Access| access.marks.acquire && (access.returns || !access.amo);
        // A release's write that ends an atomic which began with an acquire orders what follows.
        let whole = |access: &Access| {
            let mut reads = path.events.iter().enumerate().filter(|&(read, _)| access.amo && has(access.pair, read));
            access.marks.release && reads.any(|(_, read)| acquires(read))
        };
        let picked = |access: &Access| access.pick_addr | access.pick_data | access.pick_ctrl;
        let address = if on("pick") { |m: &Access| m.addr | m.pick_addr } else { |m: &Access| m.addr };
        // What an ISB waits for: branches, and addresses of accesses, before it.
        let synchronised = || {
            between(path, earlier, later).any(|(fence, ctrl, at)| {
                fence == Fence::Isb && (has(ctrl, earlier) || address_before(path, earlier, at, address))
            })
        };
        let counts = |fence: Fence| match fence {
            Fence::Order { before: Kinds::ALL, .. } => on("dmb.full"),
            Fence::Order { before: Kinds::READS, .. } => on("dmb.ld"),
            _ => on("dmb.st"),
        };
        // bob
        self.fenced(counts)
            || (on("acquire") && acquires(a))
            || (on("acquire-pc") && a.reads && a.marks.acquire_pc)
            || (on("release") && b.marks.release)
            || (on("release-acquire") && a.marks.release && acquires(b))
            || (on("amo") && whole(a))
            // aob
            || (on("rmw") && has(b.pair, earlier))
            // dob
            || (on("addr") && has(b.addr, earlier))
            || (on("data") && has(b.data, earlier))
            || (on("ctrl") && b.writes && has(b.ctrl, earlier))
            || (on("addr-po") && b.writes && address_before(path, earlier, later, address))
            || (on("isb") && synchronised())
            // pob
            || (on("pick") && b.writes && has(picked(b), earlier))
    }
}
