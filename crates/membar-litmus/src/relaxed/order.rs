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

/// For each access of the way the later ones that stay after it.
pub(crate) fn kept(model: Model, path: &Path) -> Vec<u64> {
    let events = &path.events;
    let mut kept = vec![0u64; events.len()];
    for (later, b) in events.iter().enumerate() {
        for (earlier, a) in events[..later].iter().enumerate() {
            let keeps = match model {
                Model::Sc => true,
                Model::Rvwmo => riscv(path, earlier, a, later, b),
                // Loads are acquires and stores are releases, of the kind that does not order a store before a load.
                Model::Ztso => a.reads || b.writes || riscv(path, earlier, a, later, b),
                Model::Armv8 => arm(path, earlier, a, later, b),
                Model::Tso | Model::Pso | Model::C11 => unreachable!("not a model of these dialects"),
            };
            kept[earlier] |= u64::from(keeps) << later;
        }
    }
    kept
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

fn fenced(path: &Path, earlier: usize, a: &Access, later: usize, b: &Access) -> bool {
    between(path, earlier, later).any(|(fence, ..)| match fence {
        Fence::Order { before, after } => matches(before, a) && (after == Kinds::ALL || matches(after, b)),
        Fence::Tso => a.reads || (a.writes && b.writes),
        Fence::Isb => false,
    })
}

/// Whether an access between the two has an address that depends on the earlier one.
fn address_before(path: &Path, earlier: usize, later: usize, deps: fn(&Access) -> u64) -> bool {
    path.events[earlier + 1..later].iter().any(|between| has(deps(between), earlier))
}

fn riscv(path: &Path, earlier: usize, a: &Access, later: usize, b: &Access) -> bool {
    let rcsc = |access: &Access| access.atomic && (access.marks.acquire || access.marks.release);
    // (4)
    fenced(path, earlier, a, later, b)
        // (5), (6), (7)
        || a.marks.acquire
        || b.marks.release
        || (rcsc(a) && rcsc(b))
        // (8)
        || b.pair == Some(earlier as u8)
        // (9), (10), (11)
        || has(b.addr | b.data, earlier)
        || (b.writes && has(b.ctrl, earlier))
        // (13)
        || (b.writes && address_before(path, earlier, later, |m| m.addr))
}

fn arm(path: &Path, earlier: usize, a: &Access, later: usize, b: &Access) -> bool {
    // An atomic that drops what it read is no acquire.
    let acquires = |access: &Access| access.marks.acquire && (access.returns || !access.amo);
    // A release's write that ends an atomic which began with an acquire orders what follows.
    let whole = |access: &Access| {
        let read = access.pair.filter(|_| access.amo).map(|read| &path.events[usize::from(read)]);
        access.marks.release && read.is_some_and(acquires)
    };
    let chosen = |access: &Access| access.pick_addr | access.pick_data | access.pick_ctrl;
    // What an ISB waits for: branches, and addresses of accesses, before it.
    let synchronised = || {
        between(path, earlier, later).any(|(fence, ctrl, at)| {
            fence == Fence::Isb
                && (has(ctrl, earlier) || address_before(path, earlier, at, |m| m.addr | m.pick_addr))
        })
    };
    // bob
    fenced(path, earlier, a, later, b)
        || acquires(a)
        || (a.reads && a.marks.acquire_pc)
        || b.marks.release
        || (a.marks.release && acquires(b))
        || whole(a)
        // aob
        || b.pair == Some(earlier as u8)
        // dob
        || has(b.addr | b.data, earlier)
        || (b.writes && has(b.ctrl, earlier))
        || (b.writes && address_before(path, earlier, later, |m| m.addr | m.pick_addr))
        || synchronised()
        // pob
        || (b.writes && has(chosen(b), earlier))
}
