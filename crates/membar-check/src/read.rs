//! The read problem: reads-from is known, the write order is not.
//!
//! Problem: is there a memory order? NP-complete, so: fast where it is easy, complete, and bounded.
//!
//! Algorithm: R1-R5 are in the graph. [`Plan::Fast`] runs the scheduler first: on recorded executions a wrong guess shows
//! within a few operations of itself, and learning from it costs less than one pass of clocks. If it has too many
//! conflicts for that, a pass of R6 and R7 follows, which sees across any distance; then the scheduler again, with a larger
//! allowance; and so on until a pass adds nothing, when the scheduler may continue for as long as the limits let it.
//! [`Plan::Paper`] is section 4.5: a pass of R6 and R7, the scheduler without learning (TOO), and so on to the fixed
//! point, then the search.
//!
//! Guarantees: complete within the limits; what was learned before a pass is kept after it.
//!
//! Deviations from the paper: it calls a trace that is left open at the fixed point a pass; we search.
//!
//! References: Manovit, Hangal, SPAA 2005, 4.2, 4.4, 4.5.

use crate::limits::Limits;
use crate::problem::Problem;
use crate::saturate::{Pass, Saturator};
use crate::schedule::{Run, Scheduler};
use crate::sort::Sorter;
use membar_core::{Model, Trace, Undecided};

/// In which order inference and search are tried; the answer is the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Plan {
    /// Search first, inference where search finds it hard.
    #[default]
    Fast,
    /// Inference to the fixed point with the TOO heuristic after each pass, then search.
    Paper,
}

/// How the read problem was decided.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decided {
    /// The scheduler's order is complete.
    Order,
    /// The scheduler's last conflict rests on no guess.
    Conflict,
    /// The graph has a cycle.
    Cycle,
    /// R6 puts a write before the initial value.
    BeforeInit { write: u32, load: u32 },
    /// Not within the limits.
    Open(Undecided),
}

/// The effort.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// Passes of R6 and R7.
    pub passes: u32,
    /// Edges that they inferred.
    pub inferred: u64,
    /// Conflicts that the search met.
    pub conflicts: u64,
}

/// Clocks that would take more bytes than this are not worth it: the search does without.
const MOST_CLOCKS: usize = 1 << 30;

/// The tools of the read problem, with their buffers.
#[derive(Default)]
pub(crate) struct ReadProblem {
    pub plan: Plan,
    /// Conflicts of the first attempt, if not the plan's own number.
    pub allowance: Option<usize>,
    pub scheduler: Scheduler,
    pub saturator: Saturator,
    pub sorter: Sorter,
}

impl ReadProblem {
    pub fn decide(
        &mut self,
        trace: &Trace,
        model: &Model,
        p: &mut Problem,
        limits: &Limits,
        effort: &mut Effort,
    ) -> Decided {
        self.scheduler.start(p);
        // This many conflicts cost about as much as a pass.
        let mut allowance = self.allowance.unwrap_or(match self.plan {
            Plan::Fast => 64 + p.ops / 4,
            Plan::Paper => 0,
        });
        let clocks = Saturator::bytes(trace, model, p);
        // Clocks count operations, not accesses of several pieces.
        let mut saturate = limits.fits(clocks) && clocks <= MOST_CLOCKS && !p.grouped();
        if self.plan == Plan::Fast {
            match self.attempt(p, allowance, limits, effort) {
                Some(decided) => return decided,
                None => allowance *= 4,
            }
        }
        if saturate {
            self.saturator.start(trace, model, p);
        }
        while saturate {
            match self.saturator.pass(p, &mut self.sorter, limits) {
                Pass::Limit(reason) => return Decided::Open(reason),
                Pass::Cyclic => return Decided::Cycle,
                Pass::BeforeInit { write, load } => return Decided::BeforeInit { write, load },
                Pass::Added(edges) => {
                    effort.passes += 1;
                    effort.inferred += edges as u64;
                    saturate = edges > 0;
                }
            }
            if let Some(decided) = self.attempt(p, allowance, limits, effort) {
                return decided;
            }
            allowance *= 4;
        }
        self.attempt(p, usize::MAX, limits, effort).expect("without an allowance it does not give up")
    }

    fn attempt(&mut self, p: &mut Problem, conflicts: usize, limits: &Limits, effort: &mut Effort) -> Option<Decided> {
        let run = self.scheduler.run(p, conflicts, limits);
        effort.conflicts = self.scheduler.conflicts.len() as u64;
        match run {
            Run::Order => Some(Decided::Order),
            Run::Refuted => Some(Decided::Conflict),
            Run::Limit(reason) => Some(Decided::Open(reason)),
            Run::GaveUp => None,
        }
    }
}
