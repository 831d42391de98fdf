//! From a race as a pair of instructions to its two steps, and to what would have ordered them.
//!
//! The steps are run past the monitor again. If the first access leads to the second one along program order and reads-from, then
//! the threads do pass something on, but not all of these writes and reads synchronise: those that do not are what is missing. Of
//! all such ways the one with the fewest changes of thread is taken.

use membar_core::{Order, Performed};
use membar_monitor::C11Monitor;
use membar_monitor::c11::Wanted;
use membar_monitor::c11::hb::HappensBefore;
use rustc_hash::FxHashMap;

/// A race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RacingSteps {
    /// The step of the schedule that came first.
    pub earlier: usize,
    /// The other one.
    pub later: usize,
    /// Steps between them, and the memory orders with which they would order the two. Empty if nothing leads from one to the other.
    pub missing: Vec<(usize, Order)>,
}

/// The race between these instructions that the steps have.
pub fn race(steps: &[Performed], (one, other): (u32, u32)) -> Option<RacingSteps> {
    let threads = steps.iter().map(|step| step.thread as usize + 1).max()?;
    let mut monitor = C11Monitor::new(Wanted { robustness: false, races: true }, threads, false);
    for (later, step) in steps.iter().enumerate() {
        let mut earlier = None;
        let _ = monitor.push(step, |race| {
            let sites = (race.earlier_site.min(step.access.site), race.earlier_site.max(step.access.site));
            if sites == (one, other) {
                earlier = Some(race.earlier as usize);
            }
        });
        if let Some(earlier) = earlier {
            return Some(RacingSteps { earlier, later, missing: missing(&steps[..=later], earlier) });
        }
    }
    None
}

/// Writes and reads on the way from one step to the last that do not synchronise.
fn missing(steps: &[Performed], from: usize) -> Vec<(usize, Order)> {
    // Of each step that is reached: how often the thread changes, and the step before it. What is not atomic orders nothing.
    let mut reached: Vec<Option<(u32, usize)>> = vec![None; steps.len()];
    let (mut threads, mut writes) = (FxHashMap::<u32, usize>::default(), FxHashMap::<u32, usize>::default());
    let mut hb = HappensBefore::new(steps.iter().map(|step| step.thread as usize + 1).max().unwrap_or(0), false);
    let (mut index, mut ordered) = (Vec::new(), Vec::new());
    for (at, step) in steps.iter().enumerate() {
        let (thread, addr) = (step.thread as usize, step.access.addr);
        hb.push(step);
        let now = hb.now(thread);
        index.push(now[thread]);
        let source = writes.get(&addr).copied().filter(|_| step.access.kind.reads());
        ordered.push(source.is_some_and(|source| now[steps[source].thread as usize] >= index[source]));
        if at == from {
            reached[at] = Some((0, at));
        } else if at > from {
            let own = threads.get(&step.thread).and_then(|&last| Some((reached[last]?.0, last)));
            let source = source.filter(|&source| step.order().is_atomic() && steps[source].order().is_atomic());
            let read = source.and_then(|source| Some((reached[source]?.0 + 1, source)));
            reached[at] = [own, read].into_iter().flatten().min();
        }
        if reached[at].is_some() {
            threads.insert(step.thread, at);
        }
        if step.writes {
            writes.insert(addr, at);
        }
    }
    let mut missing = Vec::new();
    let mut at = steps.len() - 1;
    while let Some((_, before)) = reached[at].filter(|_| at != from) {
        if steps[before].thread != steps[at].thread && !ordered[at] {
            let (write, read) = (&steps[before], &steps[at]);
            if !read.order().acquires() {
                missing.push((at, Order::Acquire));
            }
            if !write.order().releases() {
                missing.push((before, Order::Release));
            }
        }
        at = before;
    }
    missing.reverse();
    missing
}
