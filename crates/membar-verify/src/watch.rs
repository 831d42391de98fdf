//! Watches an exploration with a monitor and keeps what is distinct.
//!
//! Violations are told apart by the pair of instructions that causes them: the store that is delayed and the access that
//! overtakes it (Burnim, Sen and Stergiou, section 7). Of each the shortest schedule is kept, and in how many of the
//! explored executions it occurs. To count those without looking at each one again, a violation is *active* from the step
//! that shows it until that step is taken back, and all executions that end in between have it. Steps that are only
//! repeated to get to a subtree count like others: the executions of the subtree have what they show.
//!
//! Races are told apart by their pair of instructions as well, and are errors.
//!
//! A monitor that gives up on a step because the execution is too long for it looks on as soon as that step is taken back,
//! so what is seen in an execution does not depend on those before it.

use crate::Settings;
use crate::seen::{ErrorKind, Example, Found, Key, ProgramError, Seen, WeakError};
use membar_core::{Access, Performed, ProgramModel};
use membar_explore::{End, Fault, Observer, Outcome, Schedule, Step, Strategy, WeakExecution, WeakSchedule};
use membar_monitor::c11::Wanted;
use membar_monitor::c11::mixed::Mixed;
use membar_monitor::c11::races::Race;
use membar_monitor::{BytesMonitor, C11Monitor, ClassMonitor, Mark, Monitor, Overtaken, Pso, Rule, Sober, Tso};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Which monitor looks at each execution, for models of machines with store buffers. C11 has its own, unless it is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watching {
    /// None.
    Nothing,
    /// Ours: its answer depends on the happens-before class only.
    Class,
    /// Burnim, Sen and Stergiou's for TSO.
    Tso,
    /// Theirs for PSO.
    Pso,
    /// Burckhardt and Musuvathi's, as published.
    Sober,
    /// The same over the standard definition of TSO.
    SoberFixed,
}

/// The observer: shows every step to a monitor for each model.
#[derive(Clone, Debug)]
pub struct Watch {
    first: Lane,
    more: Vec<Lane>,
    seen: Seen,
    /// Findings of `seen`: where they are in their list.
    index: FxHashMap<Key, usize>,
    /// Findings on the path, the same once.
    active: Vec<Active>,
    /// Of the last step.
    raced: Vec<Race>,
    executions: u64,
    stop_at_first: bool,
    /// Whether races are looked for.
    races: bool,
}

/// A model and its monitor.
#[derive(Clone, Debug)]
struct Lane {
    model: ProgramModel,
    monitor: Any,
}

/// A finding on the path.
#[derive(Clone, Copy, Debug)]
struct Active {
    key: Key,
    /// The store that is overtaken, or the access of the race that came first.
    store: u32,
    thread: u32,
    tried: bool,
    /// The length of the path that shows it.
    depth: u32,
    /// How many executions had ended then, since the last [`Observer::take`].
    since: u64,
}

#[derive(Clone, Debug)]
enum Any {
    Nothing,
    Class(ClassMonitor),
    Bytes(Box<BytesMonitor>),
    C11(Box<C11Monitor>),
    Mixed(Box<Mixed>),
    /// It gave up at the step at this depth, of which it has seen nothing.
    Lost(Box<Any>, usize),
    Tso(Published<Tso>),
    Pso(Published<Pso>),
    Sober(Published<Sober>),
}

/// The store of a violation, as a step and as an instruction.
type Store = (u32, u32);

fn store(found: Overtaken) -> Store {
    (found.store, found.store_site)
}

#[derive(Clone, Debug)]
struct Published<R: Rule> {
    monitor: Monitor<R>,
    marks: Vec<Mark<R::Mark>>,
}

impl<R: Rule> Published<R> {
    fn new(rule: R) -> Published<R> {
        Published { monitor: Monitor::undoable(rule), marks: Vec::new() }
    }

    #[inline]
    fn push(&mut self, performed: &Performed) -> Option<Store> {
        let at = self.marks.len() as u64;
        self.marks.push(self.monitor.mark());
        let found = self.monitor.performed(performed, at)?;
        Some((found.store.at as u32, found.store.site))
    }

    #[inline]
    fn pop(&mut self) {
        let mark = self.marks.pop().expect("an access to take back");
        self.monitor.rewind(mark);
    }

    fn tried(&mut self, thread: usize, access: Access) -> Option<Store> {
        let writes = access.kind.may_write();
        let found = self.push(&Performed { thread: thread as u32, access, writes, old: 0, new: 0 });
        self.pop();
        found
    }
}

impl Any {
    /// Shows it a step. Nothing if it cannot take it.
    fn push(&mut self, performed: &Performed, raced: &mut Vec<Race>) -> Option<Option<Store>> {
        Some(match self {
            Any::Nothing | Any::Lost(..) => None,
            Any::Class(monitor) => monitor.push(performed).ok()?.map(store),
            Any::Bytes(monitor) => monitor.push(performed).ok()?.map(store),
            Any::C11(monitor) => monitor.push(performed, |race| raced.push(race)).ok()?.map(store),
            Any::Mixed(monitor) => monitor.push(performed).ok()?.map(store),
            Any::Tso(monitor) => monitor.push(performed),
            Any::Pso(monitor) => monitor.push(performed),
            Any::Sober(monitor) => monitor.push(performed),
        })
    }

    /// Takes back the step at this depth.
    fn pop(&mut self, depth: usize) {
        match self {
            Any::Nothing => {}
            Any::Lost(_, at) if *at < depth => {}
            Any::Lost(..) => self.regain(),
            Any::Class(monitor) => monitor.pop(),
            Any::Bytes(monitor) => monitor.pop(),
            Any::C11(monitor) => monitor.pop(),
            Any::Mixed(monitor) => monitor.pop(),
            Any::Tso(monitor) => monitor.pop(),
            Any::Pso(monitor) => monitor.pop(),
            Any::Sober(monitor) => monitor.pop(),
        }
    }

    /// Takes back all of this many steps.
    fn restart(&mut self, steps: usize) {
        match self {
            Any::Lost(..) => {
                self.regain();
                self.restart(steps);
            }
            Any::Class(monitor) => monitor.restart(),
            Any::Bytes(monitor) => monitor.restart(),
            Any::C11(monitor) => monitor.restart(),
            Any::Mixed(monitor) => monitor.restart(),
            _ => (1..=steps).rev().for_each(|depth| self.pop(depth)),
        }
    }

    fn tried(&mut self, thread: usize, access: Access) -> Option<Store> {
        match self {
            Any::Nothing | Any::Lost(..) => None,
            Any::Class(monitor) => monitor.tried(thread, access).map(store),
            Any::Bytes(monitor) => monitor.tried(thread, access).map(store),
            Any::C11(monitor) => monitor.tried(thread, access).map(store),
            Any::Mixed(monitor) => monitor.tried(thread, access).map(store),
            Any::Tso(monitor) => monitor.tried(thread, access),
            Any::Pso(monitor) => monitor.tried(thread, access),
            Any::Sober(monitor) => monitor.tried(thread, access),
        }
    }

    /// It cannot take the step at this depth.
    #[cold]
    fn lose(&mut self, depth: usize) {
        let monitor = std::mem::replace(self, Any::Nothing);
        *self = Any::Lost(Box::new(monitor), depth);
    }

    /// That step is taken back.
    #[cold]
    fn regain(&mut self) {
        if let Any::Lost(monitor, _) = std::mem::replace(self, Any::Nothing) {
            *self = *monitor;
        }
    }
}

impl Watch {
    /// Watches a program of this many threads from its beginning. With `stop_at_first`, a violation or an error is enough.
    pub fn new(settings: &Settings, threads: usize, stop_at_first: bool) -> Watch {
        // Random executions are only ever taken back as a whole.
        let undoable = !matches!(settings.strategy, Strategy::Random { .. } | Strategy::Pct { .. });
        let c11 = |robustness: bool| {
            let wanted = Wanted { robustness, races: settings.looks_for_races() };
            Any::C11(Box::new(C11Monitor::new(wanted, threads, undoable)))
        };
        let mut lanes = Vec::new();
        for model in settings.models.iter() {
            let monitor = match (settings.watching, model.machine()) {
                (Watching::Nothing, _) => continue,
                (_, None) => c11(true),
                (Watching::Class, Some(machine)) if undoable => Any::Class(ClassMonitor::new(machine, threads)),
                (Watching::Class, Some(machine)) => Any::Class(ClassMonitor::forward(machine, threads)),
                (Watching::Tso, _) => Any::Tso(Published::new(Tso::default())),
                (Watching::Pso, _) => Any::Pso(Published::new(Pso::default())),
                (Watching::Sober, _) => Any::Sober(Published::new(Sober::published())),
                (Watching::SoberFixed, _) => Any::Sober(Published::new(Sober::fixed())),
            };
            lanes.push(Lane { model, monitor });
        }
        if settings.looks_for_races() && !settings.models.contains(ProgramModel::C11) {
            lanes.push(Lane { model: ProgramModel::C11, monitor: c11(false) });
        }
        let mut lanes = lanes.into_iter();
        Watch {
            first: lanes.next().unwrap_or(Lane { model: ProgramModel::Tso, monitor: Any::Nothing }),
            more: lanes.collect(),
            seen: Seen::default(),
            index: FxHashMap::default(),
            active: Vec::new(),
            raced: Vec::new(),
            executions: 0,
            stop_at_first,
            races: settings.looks_for_races(),
        }
    }

    /// The program accesses parts of words: bytes are told apart from now on, the beginning. Published monitors, which do not,
    /// get one beside them that does.
    pub fn tell_bytes_apart(&mut self, threads: usize) {
        let mut more = Vec::new();
        let races = self.races;
        for lane in self.lanes() {
            if let Any::C11(monitor) = &mut lane.monitor {
                monitor.tell_bytes_apart();
                if monitor.looks_for_violations() {
                    let monitor = Any::Mixed(Box::new(Mixed::new(threads, races)));
                    more.push(Lane { model: lane.model, monitor });
                }
            }
            let Some(machine) = lane.model.machine() else { continue };
            let monitor = Any::Bytes(Box::new(BytesMonitor::new(machine, threads)));
            match &mut lane.monitor {
                Any::Nothing => {}
                class @ Any::Class(_) => *class = monitor,
                _ => more.push(Lane { model: lane.model, monitor }),
            }
        }
        self.more.extend(more);
    }

    fn lanes(&mut self) -> impl Iterator<Item = &mut Lane> {
        std::iter::once(&mut self.first).chain(&mut self.more)
    }

    /// Shows a step to one of the monitors.
    #[inline(never)]
    fn show(&mut self, lane: usize, performed: Performed, path: &[Step]) {
        let Lane { model, monitor } = match lane.checked_sub(1) {
            None => &mut self.first,
            Some(lane) => &mut self.more[lane],
        };
        let model = *model;
        let Some(found) = monitor.push(&performed, &mut self.raced) else {
            monitor.lose(path.len());
            self.seen.too_long = true;
            return;
        };
        let Performed { thread, access, .. } = performed;
        match found {
            Some((_, store_site)) if matches!(monitor, Any::Mixed(_)) => self.unclear(store_site, access.site),
            Some(store) => self.violation(model, store, thread, access.site, false, path),
            None => {}
        }
        while let Some(Race { earlier, earlier_site }) = self.raced.pop() {
            let sites = (earlier_site.min(access.site), earlier_site.max(access.site));
            self.found(Key::Race { sites }, earlier, thread, false, path);
        }
    }

    #[cold]
    fn unclear(&mut self, store_site: u32, access_site: u32) {
        let pair = (store_site, access_site);
        if !self.seen.unclear.contains(&pair) {
            self.seen.unclear.push(pair);
        }
    }

    #[cold]
    fn violation(
        &mut self,
        model: ProgramModel,
        (store, store_site): Store,
        thread: u32,
        access_site: u32,
        tried: bool,
        path: &[Step],
    ) {
        self.found(Key::Violation { model, store_site, access_site }, store, thread, tried, path);
    }

    #[cold]
    fn found(&mut self, key: Key, store: u32, thread: u32, tried: bool, path: &[Step]) {
        if self.active.iter().any(|known| known.key == key) {
            return;
        }
        let (depth, since) = (path.len() as u32, self.executions);
        let active = Active { key, store, thread, tried, depth, since };
        self.active.push(active);
        self.note(&active, 0, path);
    }

    /// Notes a finding, and this many executions more that have it.
    fn note(&mut self, active: &Active, executions: u64, path: &[Step]) {
        let Active { key, store, thread, tried, depth, .. } = *active;
        let path = &path[..depth as usize];
        let schedule = || Schedule(path.to_vec());
        let Seen { violations, errors, .. } = &mut self.seen;
        let id = *self.index.entry(key).or_insert_with(|| match key {
            Key::Violation { model, store_site, access_site } => {
                let schedule = schedule();
                violations.push(Found {
                    model,
                    store_site,
                    access_site,
                    schedule,
                    store,
                    thread,
                    tried,
                    executions: 0,
                });
                violations.len() - 1
            }
            Key::Race { sites } => {
                let kind = ErrorKind::Race { sites };
                errors.push(ProgramError { kind, schedule: schedule(), executions: 0 });
                errors.len() - 1
            }
        });
        let shorter = |known: &mut Schedule| {
            let shorter = path.len() < known.0.len();
            if shorter {
                known.0.clear();
                known.0.extend_from_slice(path);
            }
            shorter
        };
        match key {
            Key::Violation { .. } => {
                let known = &mut violations[id];
                known.executions += executions;
                if shorter(&mut known.schedule) {
                    (known.store, known.thread, known.tried) = (store, thread, tried);
                }
            }
            Key::Race { .. } => {
                errors[id].executions += executions;
                shorter(&mut errors[id].schedule);
            }
        }
    }

    fn weak_error(&mut self, kind: ErrorKind, execution: &dyn WeakExecution) {
        let errors = &mut self.seen.weak_errors;
        let at = errors.iter().position(|error| error.kind == kind).unwrap_or_else(|| {
            let schedule = WeakSchedule(execution.steps());
            errors.push(WeakError { kind, schedule, executions: 0, rests: Vec::new() });
            errors.len() - 1
        });
        let error = &mut errors[at];
        error.executions += 1;
        if execution.len() < error.schedule.0.len() {
            error.schedule = WeakSchedule(execution.steps());
        }
        error.rest_on(execution.missed());
    }

    fn error(&mut self, kind: ErrorKind, path: &[Step]) {
        let schedule = Schedule(path.to_vec());
        self.seen.add(Seen { errors: vec![ProgramError { kind, schedule, executions: 1 }], ..Seen::default() });
    }
}

impl Observer for Watch {
    type Part = Seen;

    #[inline(always)]
    fn push(&mut self, performed: &Performed, path: &[Step]) {
        match &mut self.first.monitor {
            Any::Class(monitor) => match monitor.push(performed) {
                Ok(None) => {}
                Ok(Some(found)) => {
                    let model = self.first.model;
                    self.violation(model, store(found), performed.thread, performed.access.site, false, path);
                }
                Err(_) => {
                    self.seen.too_long = true;
                    self.first.monitor.lose(path.len());
                }
            },
            Any::Nothing => {}
            _ => self.show(0, *performed, path),
        }
        for lane in 0..self.more.len() {
            self.show(lane + 1, *performed, path);
        }
    }

    #[inline]
    fn pop(&mut self, path: &[Step]) {
        let depth = path.len() as u32;
        while let Some(&active) = self.active.last()
            && active.depth == depth
        {
            self.active.pop();
            self.note(&active, self.executions - active.since, path);
        }
        match &mut self.first.monitor {
            Any::Class(monitor) => monitor.pop(),
            other => other.pop(path.len()),
        }
        for lane in &mut self.more {
            lane.monitor.pop(path.len());
        }
    }

    fn restart(&mut self, path: &[Step]) {
        self.lanes().for_each(|lane| lane.monitor.restart(path.len()));
        while let Some(active) = self.active.pop() {
            self.note(&active, self.executions - active.since, path);
        }
    }

    fn tried(&mut self, thread: usize, access: Access, path: &[Step]) {
        for lane in 0..=self.more.len() {
            let Some(Lane { model, monitor }) = self.lanes().nth(lane) else { continue };
            let model = *model;
            match monitor.tried(thread, access) {
                Some((_, store_site)) if matches!(monitor, Any::Mixed(_)) => self.unclear(store_site, access.site),
                Some(store) => self.violation(model, store, thread as u32, access.site, true, path),
                None => {}
            }
        }
    }

    fn end(&mut self, end: End, path: &[Step]) {
        self.executions += 1;
        match end {
            // Everything before a failed assumption did happen, and violations in it count: on the machine the
            // access that overtakes reads another value, for which the assumption may hold.
            End::Complete | End::Dropped => {}
            End::Cut { period: None } => {
                self.seen.cut.get_or_insert_with(|| Schedule(path.to_vec()));
            }
            End::Cut { period: Some(period) } => {
                // Once round is enough to see it.
                let period = period as usize;
                let same = (0..path.len() - period).rev().take_while(|&i| path[i] == path[i + period]).count();
                self.error(ErrorKind::Livelock, &path[..path.len() - same]);
            }
            End::Deadlock { waiting } => {
                let threads = waiting.threads().map(|thread| thread as u32).collect();
                self.error(ErrorKind::Deadlock { threads }, path);
            }
        }
    }

    fn fault(&mut self, thread: usize, why: Fault, path: &[Step]) {
        self.error(ErrorKind::Fault { thread: thread as u32, why }, path);
    }

    fn outcome(&mut self, outcome: Outcome, path: &[Step]) {
        match outcome {
            Outcome::Plain => {}
            Outcome::Asked => match &mut self.seen.asked {
                Some(asked) => asked.executions += 1,
                asked => *asked = Some(Example { schedule: Schedule(path.to_vec()), executions: 1 }),
            },
            Outcome::Refuted => self.error(ErrorKind::Condition, path),
        }
    }

    fn weak_outcome(&mut self, outcome: Outcome, execution: &dyn WeakExecution) {
        match outcome {
            Outcome::Plain => {}
            Outcome::Asked => match &mut self.seen.weak_asked {
                Some(asked) => asked.executions += 1,
                asked => *asked = Some(Example { schedule: WeakSchedule(execution.steps()), executions: 1 }),
            },
            Outcome::Refuted => self.weak_error(ErrorKind::Condition, execution),
        }
    }

    fn weak_end(&mut self, end: End, _: bool, execution: &dyn WeakExecution) {
        match end {
            End::Complete | End::Dropped => {}
            // The step is of no use: what is left out is.
            End::Cut { .. } => self.seen.cut = Some(self.seen.cut.take().unwrap_or_default()),
            End::Deadlock { waiting } => {
                let threads = waiting.threads().map(|thread| thread as u32).collect();
                self.weak_error(ErrorKind::Deadlock { threads }, execution);
            }
        }
    }

    fn weak_fault(&mut self, thread: usize, why: Fault, execution: &dyn WeakExecution) {
        self.weak_error(ErrorKind::Fault { thread: thread as u32, why }, execution);
    }

    fn weak_race(&mut self, sites: (u32, u32), execution: &dyn WeakExecution) {
        self.weak_error(ErrorKind::Race { sites }, execution);
    }

    fn enough(&self) -> bool {
        self.stop_at_first && self.seen.has_found()
    }

    fn take(&mut self, path: &[Step]) -> Seen {
        // Findings on the path stay there; the executions they were seen in so far are reported now.
        for i in 0..self.active.len() {
            let active = self.active[i];
            if self.executions > active.since {
                self.note(&active, self.executions - active.since, path);
            }
            self.active[i].since = 0;
        }
        self.index.clear();
        self.executions = 0;
        std::mem::take(&mut self.seen)
    }
}
