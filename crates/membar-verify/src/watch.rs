//! Watches an exploration with a monitor and keeps what is distinct.
//!
//! Violations are told apart by the pair of instructions that causes them: the store that is delayed and the access that
//! overtakes it (Burnim, Sen and Stergiou, section 7). Of each the shortest schedule is kept, and in how many of the
//! explored executions it occurs. To count those without looking at each one again, a violation is *active* from the step
//! that shows it until that step is taken back, and all executions that end in between have it. Steps that are only
//! repeated to get to a subtree count like others: the executions of the subtree have what they show.
//!
//! A monitor that gives up on a step because the execution is too long for it looks on as soon as that step is taken back,
//! so what is seen in an execution does not depend on those before it.

use crate::Settings;
use membar_core::{Access, Performed};
use membar_explore::{End, Fault, Observer, Schedule, Step, Strategy};
use membar_monitor::{ClassMonitor, Mark, Monitor, Pso, Rule, Sober, Tso};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Which monitor looks at each execution.
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

/// A violation, as the pair of instructions that causes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Found {
    /// The instruction of the store that is delayed.
    pub store_site: u32,
    /// The instruction of the access that overtakes it.
    pub access_site: u32,
    /// The shortest schedule that shows it. Its last step is the access, unless that is only tried.
    pub schedule: Schedule,
    /// The store, a step of the schedule.
    pub store: u32,
    /// The thread that makes the access.
    pub thread: u32,
    /// The thread waits in the SC execution and would make the access next.
    pub tried: bool,
    /// In how many of the explored executions it occurs.
    pub executions: u64,
}

/// Something that is wrong with the program whatever the memory model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProgramError {
    /// The error.
    pub kind: ErrorKind,
    /// The shortest schedule that shows it.
    pub schedule: Schedule,
    /// In how many of the explored executions it occurs.
    pub executions: u64,
}

/// An error in a program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// These threads wait for values that nobody will write.
    Deadlock {
        /// The threads.
        threads: Vec<u32>,
    },
    /// The program comes back to a state that it was in, although every thread that can run has run.
    Livelock,
    /// A thread cannot continue.
    Fault {
        /// The thread.
        thread: u32,
        /// Why.
        why: Fault,
    },
}

impl ErrorKind {
    /// Whether the program is not known to be wrong: it could not be run.
    pub fn is_limit(&self) -> bool {
        matches!(self, ErrorKind::Fault { why, .. } if why.is_limit())
    }
}

/// Everything seen.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Distinct violations.
    pub violations: Vec<Found>,
    /// Distinct errors.
    pub errors: Vec<ProgramError>,
    /// The monitor gave up on an execution because it was too long for it.
    pub too_long: bool,
    /// An execution that reached the limit of steps.
    #[serde(default)]
    pub cut: Option<Schedule>,
}

impl Seen {
    /// The first error that is not a program error but something that could not be run: then not everything has been looked at.
    pub fn limit(&self) -> Option<&ProgramError> {
        self.errors.iter().find(|error| error.kind.is_limit())
    }

    /// Whether there is a violation or an error.
    pub fn has_found(&self) -> bool {
        !(self.violations.is_empty() && self.errors.is_empty())
    }

    /// Adds the violations and errors among these that are not known yet. How many they are.
    pub fn add_unknown(&mut self, other: Seen) -> usize {
        let before = self.violations.len() + self.errors.len();
        for found in other.violations {
            let same = |mine: &Found| (mine.store_site, mine.access_site) == (found.store_site, found.access_site);
            if !self.violations.iter().any(same) {
                self.violations.push(found);
            }
        }
        for error in other.errors {
            if !self.errors.iter().any(|mine| mine.kind == error.kind) {
                self.errors.push(error);
            }
        }
        self.violations.len() + self.errors.len() - before
    }

    /// Adds what was seen elsewhere.
    pub(crate) fn add(&mut self, other: Seen) {
        for found in other.violations {
            let key = |f: &Found| (f.store_site, f.access_site);
            match self.violations.iter_mut().find(|mine| key(mine) == key(&found)) {
                Some(mine) => {
                    let executions = mine.executions + found.executions;
                    if found.schedule.0.len() < mine.schedule.0.len() {
                        *mine = found;
                    }
                    mine.executions = executions;
                }
                None => self.violations.push(found),
            }
        }
        for error in other.errors {
            match self.errors.iter_mut().find(|mine| mine.kind == error.kind) {
                Some(mine) => {
                    let executions = mine.executions + error.executions;
                    if error.schedule.0.len() < mine.schedule.0.len() {
                        *mine = error;
                    }
                    mine.executions = executions;
                }
                None => self.errors.push(error),
            }
        }
        self.too_long |= other.too_long;
        self.cut = self.cut.take().or(other.cut);
    }
}

/// The observer: shows every step to a monitor.
#[derive(Clone, Debug)]
pub struct Watch {
    monitor: Any,
    seen: Seen,
    /// Violations of `seen` by their pair of instructions.
    index: FxHashMap<(u32, u32), usize>,
    /// Violations on the path, the same pair once.
    active: Vec<Active>,
    executions: u64,
    stop_at_first: bool,
}

/// A violation on the path.
#[derive(Clone, Copy, Debug)]
struct Active {
    store_site: u32,
    access_site: u32,
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
    /// It gave up at the step at this depth, of which it has seen nothing.
    Lost(Box<ClassMonitor>, usize),
    Tso(Published<Tso>),
    Pso(Published<Pso>),
    Sober(Published<Sober>),
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
    fn push(&mut self, performed: &Performed) -> Option<(u32, u32)> {
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

    fn tried(&mut self, thread: usize, access: Access) -> Option<(u32, u32)> {
        let writes = access.kind.may_write();
        let found = self.push(&Performed { thread: thread as u32, access, writes, old: 0, new: 0 });
        self.pop();
        found
    }
}

impl Any {
    /// Shows a step to one of the published monitors, if it is one.
    #[inline(never)]
    fn push(&mut self, performed: Performed) -> Option<(u32, u32)> {
        match self {
            Any::Nothing | Any::Lost(..) | Any::Class(_) => None,
            Any::Tso(monitor) => monitor.push(&performed),
            Any::Pso(monitor) => monitor.push(&performed),
            Any::Sober(monitor) => monitor.push(&performed),
        }
    }
}

impl Watch {
    /// Watches a program of this many threads from its beginning. With `stop_at_first`, a violation or an error is enough.
    pub fn new(settings: &Settings, threads: usize, stop_at_first: bool) -> Watch {
        let monitor = match settings.watching {
            Watching::Nothing => Any::Nothing,
            // Random executions are only ever taken back as a whole.
            Watching::Class if matches!(settings.strategy, Strategy::Random { .. } | Strategy::Pct { .. }) => {
                Any::Class(ClassMonitor::forward(settings.model, threads))
            }
            Watching::Class => Any::Class(ClassMonitor::new(settings.model, threads)),
            Watching::Tso => Any::Tso(Published::new(Tso::default())),
            Watching::Pso => Any::Pso(Published::new(Pso::default())),
            Watching::Sober => Any::Sober(Published::new(Sober::published())),
            Watching::SoberFixed => Any::Sober(Published::new(Sober::fixed())),
        };
        Watch {
            monitor,
            seen: Seen::default(),
            index: FxHashMap::default(),
            active: Vec::new(),
            executions: 0,
            stop_at_first,
        }
    }

    #[cold]
    fn found(&mut self, (store, store_site): (u32, u32), thread: u32, access_site: u32, tried: bool, path: &[Step]) {
        if self.active.iter().any(|known| (known.store_site, known.access_site) == (store_site, access_site)) {
            return;
        }
        let (depth, since) = (path.len() as u32, self.executions);
        let active = Active { store_site, access_site, store, thread, tried, depth, since };
        self.active.push(active);
        self.note(&active, 0, path);
    }

    /// Notes a violation, and this many executions more that have it.
    fn note(&mut self, active: &Active, executions: u64, path: &[Step]) {
        let Active { store_site, access_site, store, thread, tried, depth, .. } = *active;
        let path = &path[..depth as usize];
        let violations = &mut self.seen.violations;
        let id = *self.index.entry((store_site, access_site)).or_insert_with(|| {
            let schedule = Schedule(path.to_vec());
            violations.push(Found { store_site, access_site, schedule, store, thread, tried, executions: 0 });
            violations.len() - 1
        });
        let known = &mut violations[id];
        known.executions += executions;
        if path.len() < known.schedule.0.len() {
            known.schedule.0.clear();
            known.schedule.0.extend_from_slice(path);
            (known.store, known.thread, known.tried) = (store, thread, tried);
        }
    }

    /// The monitor cannot take the step at this depth.
    #[cold]
    fn lose(&mut self, depth: usize) {
        self.seen.too_long = true;
        self.monitor = match std::mem::replace(&mut self.monitor, Any::Nothing) {
            Any::Class(monitor) => Any::Lost(Box::new(monitor), depth),
            other => other,
        };
    }

    /// That step is taken back.
    #[cold]
    fn regain(&mut self) {
        self.monitor = match std::mem::replace(&mut self.monitor, Any::Nothing) {
            Any::Lost(monitor, _) => Any::Class(*monitor),
            other => other,
        };
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
        let found = match &mut self.monitor {
            Any::Class(monitor) => match monitor.push(performed) {
                Ok(found) => found.map(|found| (found.store, found.store_site)),
                Err(_) => {
                    self.lose(path.len());
                    None
                }
            },
            other => other.push(*performed),
        };
        if let Some(found) = found {
            self.found(found, performed.thread, performed.access.site, false, path);
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
        match &mut self.monitor {
            Any::Nothing => {}
            Any::Lost(_, at) if *at < path.len() => {}
            Any::Lost(..) => self.regain(),
            Any::Class(monitor) => monitor.pop(),
            Any::Tso(monitor) => monitor.pop(),
            Any::Pso(monitor) => monitor.pop(),
            Any::Sober(monitor) => monitor.pop(),
        }
    }

    fn restart(&mut self, path: &[Step]) {
        if matches!(self.monitor, Any::Lost(..)) {
            self.regain();
        }
        let Any::Class(monitor) = &mut self.monitor else {
            for steps in (1..=path.len()).rev() {
                self.pop(&path[..steps]);
            }
            return;
        };
        monitor.restart();
        while let Some(active) = self.active.pop() {
            self.note(&active, self.executions - active.since, path);
        }
    }

    fn tried(&mut self, thread: usize, access: Access, path: &[Step]) {
        let found = match &mut self.monitor {
            Any::Nothing | Any::Lost(..) => None,
            Any::Class(monitor) => monitor.tried(thread, access).map(|found| (found.store, found.store_site)),
            Any::Tso(monitor) => monitor.tried(thread, access),
            Any::Pso(monitor) => monitor.tried(thread, access),
            Any::Sober(monitor) => monitor.tried(thread, access),
        };
        if let Some(found) = found {
            self.found(found, thread as u32, access.site, true, path);
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
