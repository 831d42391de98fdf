//! Which release gives back which acquire.

use membar_core::{OpId, OpKind, ThreadId, Trace};

/// Pairs each release with the latest earlier acquire of that lock by its thread.
///
/// Invariant after [`Locks::pair`]: `partner` is empty where the trace has no lock; otherwise it holds for each
/// operation the release of an acquire, the acquire of a release, or [`Locks::NONE`].
#[derive(Default, Debug)]
pub(crate) struct Locks {
    partner: Vec<u32>,
    /// Per lock: the thread (plus one) that was seen last, and its open acquire.
    open: Vec<(u32, u32)>,
}

impl Locks {
    const NONE: u32 = u32::MAX;

    pub(crate) fn pair(&mut self, trace: &Trace) {
        self.partner.clear();
        if !trace.ops().any(|op| matches!(trace.kind(op), OpKind::Acquire | OpKind::Release)) {
            return;
        }
        self.partner.resize(trace.len(), Self::NONE);
        self.open.clear();
        self.open.resize(trace.addrs(), (0, Self::NONE));
        for thread in 0..trace.threads() as u32 {
            for &op in trace.thread_ops(ThreadId(thread)) {
                match trace.kind(op) {
                    OpKind::Acquire => self.open[trace.addr(op).index()] = (thread + 1, op.0),
                    OpKind::Release => {
                        let open = &mut self.open[trace.addr(op).index()];
                        if open.0 == thread + 1 && open.1 != Self::NONE {
                            self.partner[op.index()] = open.1;
                            self.partner[open.1 as usize] = op.0;
                            open.1 = Self::NONE;
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// The release of an acquire, the acquire of a release.
    pub(crate) fn partner(&self, op: OpId) -> Option<OpId> {
        self.partner.get(op.index()).copied().filter(|&other| other != Self::NONE).map(OpId)
    }
}
