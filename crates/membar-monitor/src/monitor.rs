//! A rule over happens-before clocks is a monitor; several rules share one set of clocks.

use crate::clocks::{self, Clocks};
use crate::event::{Algorithm, Event, Violation, Write};
use crate::{Pso, Sober, Tso};
use membar_core::Performed;

/// The part that distinguishes one monitor from another: its own state, and when it reports.
pub trait Rule {
    /// A point to come back to.
    type Mark: Copy + std::fmt::Debug;

    /// The clocks have got more threads or addresses.
    fn fit(&mut self, clocks: &Clocks);

    /// Takes the next event, which the clocks have made room for but not taken yet. Returns the store that the event
    /// overtakes in an execution that is not SC.
    fn event(&mut self, event: &Event, clocks: &Clocks) -> Option<Write>;

    /// Whether events may have to be taken back.
    fn record(&mut self, on: bool);

    /// The point reached.
    fn mark(&self) -> Self::Mark;

    /// Goes back to a point.
    fn rewind(&mut self, mark: Self::Mark);

    /// Words of memory held, what undoing needs left out.
    fn words(&self) -> usize;
}

/// An online monitor: a rule with its clocks.
///
/// ```
/// use membar_monitor::{Event, Monitor, NO_SITE, Op, Tso};
///
/// // 0: x := 1; 0: y == 0; 1: y := 1; 1: x == 1, in this order.
/// let mut monitor = Monitor::new(Tso::default());
/// let ops = [(0, Op::Store { addr: 0 }), (0, Op::Load { addr: 1 }), (1, Op::Store { addr: 1 }), (1, Op::Load { addr: 0 })];
/// let found: Vec<_> = (0..4)
///     .filter_map(|at| monitor.event(&Event { thread: ops[at].0, op: ops[at].1, site: NO_SITE, at: at as u64 }))
///     .collect();
/// // The last load can go before the first store: under TSO both loads may return 0.
/// assert_eq!((found.len(), found[0].store.at, found[0].access.at), (1, 0, 3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Monitor<R> {
    clocks: Clocks,
    rule: R,
}

/// A point of a [`Monitor`] to come back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark<M>(clocks::Mark, M);

impl<R: Rule> Monitor<R> {
    /// Nothing has happened yet.
    pub fn new(rule: R) -> Monitor<R> {
        Monitor { clocks: Clocks::default(), rule }
    }

    /// Nothing has happened yet; events can be taken back.
    pub fn undoable(rule: R) -> Monitor<R> {
        let mut monitor = Monitor::new(rule);
        monitor.clocks.record(true);
        monitor.rule.record(true);
        monitor
    }

    /// Takes the next event.
    #[inline]
    pub fn event(&mut self, event: &Event) -> Option<Violation> {
        if self.clocks.fit(event) {
            self.rule.fit(&self.clocks);
        }
        let found = self.rule.event(event, &self.clocks).map(|store| violation(store, event, &self.clocks));
        self.clocks.event(event);
        found
    }

    /// Takes the next access, and the barrier before it if there is one.
    #[inline]
    pub fn performed(&mut self, performed: &Performed, at: u64) -> Option<Violation> {
        let (barrier, access) = Event::performed(performed, at);
        if let Some(barrier) = barrier {
            self.event(&barrier);
        }
        self.event(&access)
    }

    /// The point reached; only for a monitor that is [`Monitor::undoable`].
    pub fn mark(&self) -> Mark<R::Mark> {
        Mark(self.clocks.mark(), self.rule.mark())
    }

    /// Goes back to a point that was reached before, and not left backwards since.
    pub fn rewind(&mut self, mark: Mark<R::Mark>) {
        self.clocks.rewind(mark.0);
        self.rule.rewind(mark.1);
    }

    /// Words of memory held, what undoing needs left out.
    pub fn words(&self) -> usize {
        self.clocks.words() + self.rule.words()
    }

    /// The clocks.
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }
}

#[cold]
fn violation(store: Write, event: &Event, clocks: &Clocks) -> Violation {
    // A store is only reported if the thread's clock covers it, and only an event before this one can have seen to that.
    Violation { store, access: *event, prev: clocks.prev(event.thread).unwrap_or(*event) }
}

/// Any of the published monitors at the same time, over one set of clocks.
#[derive(Clone, Debug, Default)]
pub struct Monitors {
    clocks: Clocks,
    tso: Option<Tso>,
    pso: Option<Pso>,
    sober: Option<Sober>,
    fixed: Option<Sober>,
}

impl Monitors {
    /// Those that are named, each once.
    pub fn new(algorithms: &[Algorithm]) -> Monitors {
        let has = |algorithm| algorithms.contains(&algorithm);
        Monitors {
            clocks: Clocks::default(),
            tso: has(Algorithm::Tso).then(Tso::default),
            pso: has(Algorithm::Pso).then(Pso::default),
            sober: has(Algorithm::Sober).then(Sober::published),
            fixed: has(Algorithm::SoberFixed).then(Sober::fixed),
        }
    }

    /// Takes the next event, and hands out what is found at it.
    #[inline]
    pub fn event(&mut self, event: &Event, mut found: impl FnMut(Algorithm, Violation)) {
        if self.clocks.fit(event) {
            self.fit();
        }
        let clocks = &self.clocks;
        if let Some(rule) = &mut self.tso
            && let Some(store) = rule.event(event, clocks)
        {
            found(Algorithm::Tso, violation(store, event, clocks));
        }
        if let Some(rule) = &mut self.pso
            && let Some(store) = rule.event(event, clocks)
        {
            found(Algorithm::Pso, violation(store, event, clocks));
        }
        if let Some(rule) = &mut self.sober
            && let Some(store) = rule.event(event, clocks)
        {
            found(Algorithm::Sober, violation(store, event, clocks));
        }
        if let Some(rule) = &mut self.fixed
            && let Some(store) = rule.event(event, clocks)
        {
            found(Algorithm::SoberFixed, violation(store, event, clocks));
        }
        self.clocks.event(event);
    }

    #[cold]
    fn fit(&mut self) {
        let clocks = &self.clocks;
        self.tso.iter_mut().for_each(|rule| rule.fit(clocks));
        self.pso.iter_mut().for_each(|rule| rule.fit(clocks));
        self.sober.iter_mut().chain(&mut self.fixed).for_each(|rule| rule.fit(clocks));
    }

    /// The clocks.
    pub fn clocks(&self) -> &Clocks {
        &self.clocks
    }

    /// Words of memory held.
    pub fn words(&self) -> usize {
        let buffers = self.tso.iter().map(Rule::words).sum::<usize>() + self.pso.iter().map(Rule::words).sum::<usize>();
        self.clocks.words() + buffers + self.sober.iter().chain(&self.fixed).map(Rule::words).sum::<usize>()
    }
}
