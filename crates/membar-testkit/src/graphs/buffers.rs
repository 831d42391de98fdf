//! The axioms of machines with store buffers.

use super::relations::{Event, Rel, Relations};
use crate::programs::Memory;
use membar_core::{AccessKind, Barrier};

/// Whether a machine can have an execution with these relations.
pub(super) fn is_consistent(relations: &Relations<'_>, memory: Memory) -> bool {
    let Relations { events, po, rf, co, fr } = relations;
    if memory == Memory::Sc {
        return relations.is_sequential();
    }
    let here = relations.rel(|a, b| po.has(a, b) && events[a].same_location(&events[b]));
    let coherent = here.or(rf).or(co).or(fr).is_acyclic();
    let rfe = relations.rel(|a, b| rf.has(a, b) && events[a].thread != events[b].thread);
    let ordered = ppo(relations, memory).or(&rfe).or(co).or(fr).is_acyclic();
    coherent && relations.is_atomic() && ordered
}

/// Preserved program order: the pairs of a thread that memory sees in this order.
fn ppo(relations: &Relations<'_>, memory: Memory) -> Rel {
    relations.rel(|a, b| {
        let (one, two) = (&relations.events[a], &relations.events[b]);
        // Behind the first, up to and with the second.
        let passes = |barrier: Barrier| relations.events[a + 1..=b].iter().any(|event| event.barrier >= barrier);
        let (Some(first), Some(second)) = (one.kind, two.kind) else { return false };
        relations.po.has(a, b)
            && match (first, second) {
                (AccessKind::Load | AccessKind::Rmw, _) => true,
                (AccessKind::Store, AccessKind::Load) => passes(Barrier::Full),
                (AccessKind::Store, AccessKind::Store | AccessKind::Rmw) => {
                    memory == Memory::Tso || Event::same_location(one, two) || passes(Barrier::Store)
                }
            }
    })
}
