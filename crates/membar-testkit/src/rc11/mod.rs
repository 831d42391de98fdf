//! All execution graphs of a program under RC11, straight from the axioms.
//!
//! Problem: which executions does C11, as repaired by Lahav and others (RC11, PLDI 2017) and with the release sequences of
//! C++20, allow a program ([`Code`]) to have? Are they all sequentially consistent, and is there a data race?
//!
//! An execution is a graph. Its events are accesses and fences; a read-modify-write is one event, and a compare-exchange
//! that fails is a read of its failure order. The first write of a location is no event: it is before all others in mo
//! and takes no part in hb. The relations are
//! * po, program order; rf, from a write to the reads of it; mo, for each location a total order of its writes;
//! * fr, from a read to the writes that are mo-after the one it reads, itself excepted; eco = (rf ∪ mo ∪ fr)⁺;
//! * rs = \[W];(rf;\[RMW])*, release sequences;
//! * sw = \[≥rel];(\[F];po)?;rs;rf;\[R];(po;\[F])?;\[≥acq], where W, R and RMW are atomic;
//! * hb = (po ∪ sw)⁺;
//! * scb = po ∪ po≠loc;hb;po≠loc ∪ hb|loc ∪ mo ∪ fr. A pair with a fence is in po≠loc and not in hb|loc;
//! * psc = (\[SC] ∪ \[Fsc];hb?);scb;(\[SC] ∪ hb?;\[Fsc]) ∪ \[Fsc];(hb ∪ hb;eco;hb);\[Fsc].
//!
//! A graph is consistent if
//! 1. hb;eco? is irreflexive (coherence),
//! 2. nothing is in mo between a read-modify-write and the write it reads (atomicity),
//! 3. psc is acyclic,
//! 4. po ∪ rf is acyclic (no values out of thin air).
//!
//! It is sequentially consistent if atomicity holds and po ∪ rf ∪ mo ∪ fr is acyclic. It has a race if two events of
//! different threads access one location, one of them writes, one of them is not atomic, and neither is hb-before the other.
//!
//! Algorithm: that of [`graphs`](crate::graphs), which asks these axioms. A fence behind the last access of a thread is left
//! out. No edge of any relation leaves it, so it is on no cycle.

mod axioms;

use crate::graphs::relations::Relations;
pub use crate::graphs::{GaveUp, Limits};
use crate::graphs::{Grown, Loops, grow};
use axioms::Ordered;
use membar_litmus::{Code, LitmusTest, Spot};
use std::collections::BTreeSet;

/// What the graphs of a program are like.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// How many consistent graphs there are in which all threads have ended.
    pub rc11: usize,
    /// How many of them are sequentially consistent.
    pub sc: usize,
    /// Whether every consistent graph is sequentially consistent, also those in which not all threads have ended.
    pub robust: bool,
    /// The pairs of sites that race in a consistent graph, the smaller site first.
    pub races: BTreeSet<(u32, u32)>,
    /// Those that race in a sequentially consistent graph.
    pub sc_races: BTreeSet<(u32, u32)>,
    /// The final states: the values of all registers, thread by thread, and then of all addresses.
    pub states: BTreeSet<Vec<u64>>,
    /// Those of sequentially consistent graphs.
    pub sc_states: BTreeSet<Vec<u64>>,
    /// How many graphs were looked at, partial and inconsistent ones included.
    pub graphs: usize,
}

/// All graphs of a program.
pub fn enumerate(code: &Code, limits: &Limits) -> Result<Answer, GaveUp> {
    search(code, limits, Look::Consistent)
}

/// Graphs of a program that may have loops: those in which no thread makes more accesses than the limit, as many as the limit says.
/// What is found is there; what is not found may be in others.
pub fn beginnings(code: &Code, limits: &Limits) -> Result<Answer, GaveUp> {
    search(code, limits, Look::Beginnings)
}

/// Which graphs are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Consistent ones, and what they grow into.
    Consistent,
    /// All of them; they are tested only when they are complete.
    #[cfg(test)]
    All,
    /// Consistent ones within the limits.
    Beginnings,
}

/// The values of the test's locations in a final state.
pub fn observed(test: &LitmusTest, state: &[u64]) -> Vec<u64> {
    let threads = &test.code.threads;
    let first = |thread: usize| threads[..thread].iter().map(|thread| thread.regs.len()).sum::<usize>();
    let at = |spot| match spot {
        Spot::Reg { thread, reg } => first(thread as usize) + usize::from(reg),
        Spot::Cell(cell) => first(threads.len()) + cell as usize,
    };
    test.locations.iter().map(|location| location.ty.wrap(state[at(location.spot)])).collect()
}

/// Whether a graph with these relations is consistent.
pub(crate) fn is_consistent(relations: Relations<'_>) -> bool {
    Ordered::new(relations).is_rc11()
}

fn search(code: &Code, limits: &Limits, look: Look) -> Result<Answer, GaveUp> {
    let loops = if look == Look::Beginnings { Loops::Beginnings } else { Loops::GiveUp };
    let mut answer = Answer { robust: true, ..Answer::default() };
    answer.graphs = grow(code, limits, loops, |Grown { graph, complete }| {
        #[cfg(test)]
        if look == Look::All && !complete {
            return Ok(true);
        }
        let events = graph.events()?;
        let relations = Ordered::new(Relations::new(&events));
        let sequential = relations.is_sequential();
        if !relations.is_rc11() {
            assert!(!sequential, "what SC allows, RC11 allows");
            return Ok(false);
        }
        let races = relations.races();
        answer.races.extend(&races);
        answer.robust &= sequential;
        if sequential {
            answer.sc_races.extend(&races);
        }
        if complete {
            let state = graph.state();
            answer.rc11 += 1;
            if sequential {
                answer.sc += 1;
                answer.sc_states.insert(state.clone());
            }
            answer.states.insert(state);
        }
        Ok(true)
    })?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Knobs, random_program};
    use membar_core::Rng;

    /// Dropping inconsistent graphs before they are complete changes no answer.
    #[test]
    fn pruning_changes_nothing() {
        let limits = Limits { graphs: 8_000, ..Limits::default() };
        let (mut compared, mut weak, mut racy) = (0, 0, 0);
        for seed in 0..150 {
            let code = random_program(&mut Rng::new(seed), &Knobs { total: 6, ..Knobs::C11 });
            let Ok(mut plain) = search(&code, &limits, Look::All) else { continue };
            let answer = enumerate(&code, &limits).expect("there are fewer graphs");
            plain.graphs = answer.graphs;
            assert_eq!(answer, plain, "seed {seed}");
            compared += 1;
            weak += usize::from(!answer.robust);
            racy += usize::from(!answer.races.is_empty());
        }
        assert!(compared > 110 && weak > 15 && racy > 20, "{compared} compared, {weak} not robust, {racy} with races");
    }
}
