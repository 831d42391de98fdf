//! Which release gives back which acquire, which operations are inside sessions, and what locks guard.

use membar_core::{AddrId, OpId, OpKind, ThreadId, Trace};

/// Pairs each release with the latest earlier acquire of that lock by its thread.
///
/// Invariant after [`Locks::pair`]: both vectors are empty where the trace has no lock; otherwise `partner` holds for each
/// operation the release of an acquire, the acquire of a release, or [`Locks::NONE`], and `outer` the place in program
/// order, plus one, of the earliest acquire whose session holds the operation, or 0.
#[derive(Default, Debug)]
pub(crate) struct Locks {
    partner: Vec<u32>,
    outer: Vec<u32>,
    /// Acquires of the current thread that are not given back yet, in program order.
    open: Vec<OpId>,
}

impl Locks {
    const NONE: u32 = u32::MAX;

    pub(crate) fn pair(&mut self, trace: &Trace) {
        self.partner.clear();
        self.outer.clear();
        if !trace.ops().any(|op| trace.kind(op).locks()) {
            return;
        }
        self.partner.resize(trace.len(), Self::NONE);
        self.outer.resize(trace.len(), 0);
        for thread in 0..trace.threads() as u32 {
            self.open.clear();
            for &op in trace.thread_ops(ThreadId(thread)) {
                if trace.kind(op) == OpKind::Acquire {
                    self.open.push(op);
                }
                self.outer[op.index()] = self.open.first().map_or(0, |&first| trace.po(first) + 1);
                if trace.kind(op) == OpKind::Release
                    && let Some(at) = self.open.iter().rposition(|&open| trace.addr(open) == trace.addr(op))
                {
                    let acquire = self.open.remove(at);
                    self.partner[op.index()] = acquire.0;
                    self.partner[acquire.index()] = op.0;
                }
            }
        }
    }

    /// The release of an acquire, the acquire of a release.
    pub(crate) fn partner(&self, op: OpId) -> Option<OpId> {
        self.partner.get(op.index()).copied().filter(|&other| other != Self::NONE).map(OpId)
    }

    /// Is `later` inside the session that the acquire begins? Both are of one thread, in this order.
    pub(crate) fn after_acquire(&self, trace: &Trace, acquire: OpId, later: OpId) -> bool {
        self.partner(acquire).is_some_and(|release| trace.po(later) < trace.po(release))
    }

    /// Is `earlier` inside the session that the release ends? Both are of one thread, in this order.
    pub(crate) fn before_release(&self, trace: &Trace, earlier: OpId, release: OpId) -> bool {
        self.partner(release).is_some_and(|acquire| trace.po(acquire) < trace.po(earlier))
    }

    /// Does some session hold both? Both are of one thread, in this order: of the sessions that hold the later one, the
    /// one that began first reaches back furthest.
    pub(crate) fn one_session(&self, trace: &Trace, earlier: OpId, later: OpId) -> bool {
        self.outer.get(later.index()).is_some_and(|&outer| outer != 0 && outer <= trace.po(earlier) + 1)
    }
}

/// The `guard` lines.
///
/// Invariant: `pairs` is sorted and holds (address, lock), each once.
#[derive(Default, Debug)]
pub(crate) struct Guards {
    pairs: Vec<(AddrId, AddrId)>,
}

impl Guards {
    pub(crate) fn read(&mut self, trace: &Trace) {
        self.pairs.clear();
        for line in &trace.guards {
            self.pairs.extend(line.addrs.iter().map(|&addr| (addr, line.lock)));
        }
        self.pairs.sort_unstable();
        self.pairs.dedup();
    }

    /// The locks that guard an address.
    pub(crate) fn of(&self, addr: AddrId) -> impl Iterator<Item = AddrId> + '_ {
        let start = self.pairs.partition_point(|&(of, _)| of < addr);
        self.pairs[start..].iter().take_while(move |&&(of, _)| of == addr).map(|&(_, lock)| lock)
    }

    /// Does the lock guard the address?
    pub(crate) fn has(&self, lock: AddrId, addr: AddrId) -> bool {
        self.pairs.binary_search(&(addr, lock)).is_ok()
    }
}
