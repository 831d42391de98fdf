//! Monitors over one interleaving: steps become events, violations become reports.
//!
//! [`monitor`] is for text in memory. For streams of any length, a [`Reader`] hands out [`InterleavedOp`]s and a
//! [`Watch`] takes them.
//!
//! Memory: threads, addresses and distinct labels, the window of recent events, and a bounded number of violations.

use crate::core::{AddrName, Mask, ProgramVerdict};
use crate::monitor::{Algorithm, Cycle, Event, Groups, Monitors, NO_SITE, Op, Recorded, Violation, Window, Witness};
use crate::report::kinds::{MonitorName, MonitorStop, Strength};
use crate::report::monitor::{CycleEdge as Edge, Monitored, Operation, Overtaking};
use crate::trace::{Act, Ended, Error, InterleavedOp, Interleaving, Reader};
use rustc_hash::FxHashMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::Instant;

/// Distinct labels that are told apart, and their bytes.
const LABELS: usize = 1 << 20;
const LABEL_BYTES: usize = 64 << 20;
/// Recent events that are kept unless somebody says otherwise.
const WINDOW: usize = 1 << 16;
/// Violations of a monitor whose cycles are searched for.
const CYCLES: usize = 100;
/// Events that may be looked at for cycles, in all.
const BUDGET: usize = 1 << 26;

/// The details kept of the first violation of a pair.
struct Found {
    store: Option<Recorded>,
    access: Recorded,
    cycle: Result<Cycle, &'static str>,
}

/// One monitor's violations.
struct Side {
    algorithm: Algorithm,
    groups: Groups,
    found: Vec<Found>,
}

/// The run that a witness is written of.
pub struct Writing<W> {
    /// The monitor.
    pub algorithm: Algorithm,
    /// Where it goes.
    pub out: W,
    machine: Witness,
    /// How many `init` lines it knows.
    inits: usize,
    steps: Vec<crate::monitor::WitnessStep>,
    /// It has ended, or it could not be written.
    pub over: Option<std::io::Result<()>>,
}

impl<W: Write> Writing<W> {
    /// Nothing written yet.
    pub fn new(algorithm: Algorithm, out: W) -> Writing<W> {
        let machine = Witness::new(algorithm.model());
        Writing { algorithm, out, machine, inits: 0, steps: Vec::new(), over: None }
    }

    /// A new trace begins.
    pub fn begin(&mut self, file: &str) {
        self.machine = Witness::new(self.algorithm.model());
        self.inits = 0;
        if self.over.is_none() {
            let header = writeln!(self.out, "# {file}, as the monitor {} runs it", self.algorithm);
            self.over = header.err().map(Err);
        }
    }

    fn step(&mut self, recorded: &Recorded, violation: Option<&Violation>, state: &Interleaving) {
        self.steps.clear();
        for init in &state.names().inits[self.inits..] {
            self.machine.initial(init.addr.0, init.value);
        }
        self.inits = state.names().inits.len();
        match violation {
            None => self.machine.event(recorded, &mut self.steps),
            Some(_) => self.machine.finish(recorded, &mut self.steps),
        }
        if let Err(error) = self.write(recorded, violation, state) {
            self.over = Some(Err(error));
        } else if violation.is_some() {
            self.over = Some(self.out.flush());
        }
    }

    fn write(
        &mut self,
        recorded: &Recorded,
        violation: Option<&Violation>,
        state: &Interleaving,
    ) -> std::io::Result<()> {
        let names = state.names();
        for step in &self.steps {
            let text = step.text(
                |thread| names.thread_names()[thread as usize],
                |addr| names.addr_names()[addr as usize].to_string(),
            );
            writeln!(self.out, "{text}  # line {}", step.at())?;
        }
        if let Some(violation) = violation {
            let (model, at) = (self.algorithm.model().name(), recorded.event.at);
            let store = violation.store.at;
            writeln!(
                self.out,
                "# possible under {model}, but not sequentially consistent: line {at} went before line {store}"
            )?;
        }
        Ok(())
    }
}

/// The monitors and what they have found.
pub struct Watch {
    algorithms: Vec<Algorithm>,
    monitors: Monitors,
    sides: Vec<Side>,
    window: Window,
    budget: usize,
    labels: FxHashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
    label_bytes: usize,
    /// Threads and addresses that memory was found to be enough for, and the limit.
    size: (usize, usize),
    memory: Option<usize>,
    /// Operations monitored.
    pub events: u64,
}

impl Watch {
    /// Monitors that have seen nothing and may use this much memory, as far as threads and addresses go.
    pub fn new(algorithms: &[Algorithm], window: usize, memory: Option<usize>) -> Watch {
        let mut watch = Watch {
            algorithms: algorithms.to_vec(),
            monitors: Monitors::default(),
            sides: Vec::new(),
            window: Window::new(window),
            budget: BUDGET,
            labels: FxHashMap::default(),
            names: Vec::new(),
            label_bytes: 0,
            size: (0, 0),
            memory,
            events: 0,
        };
        watch.begin();
        watch
    }

    /// A new trace begins.
    pub fn begin(&mut self) {
        self.monitors = Monitors::new(&self.algorithms);
        let side = |&algorithm| Side { algorithm, groups: Groups::default(), found: Vec::new() };
        self.sides = self.algorithms.iter().map(side).collect();
        self.window.clear();
        self.budget = BUDGET;
        self.size = (0, 0);
        self.events = 0;
    }

    /// Is there memory for the threads and addresses so far? Every clock has an entry for each thread.
    #[inline]
    pub fn fits(&mut self, state: &Interleaving) -> bool {
        let size = (state.names().thread_names().len(), state.names().addr_names().len());
        size == self.size || self.grows(size)
    }

    #[cold]
    fn grows(&mut self, (threads, addresses): (usize, usize)) -> bool {
        self.size = (threads, addresses);
        let sober = self.algorithms.iter().filter(|algorithm| algorithm.name().starts_with("sober")).count();
        let rows = threads * (1 + 2 * sober) + addresses * (2 + 3 * sober);
        // Names and what else there is for each; and a table that grows is there twice for a moment.
        let bytes = 4 * rows.saturating_mul(threads.next_power_of_two()) + 200 * (threads + addresses);
        self.memory.is_none_or(|limit| bytes.saturating_add(bytes / 2) <= limit)
    }

    /// Has every monitor found something?
    pub fn all_found(&self) -> bool {
        self.sides.iter().all(|side| !side.found.is_empty())
    }

    /// Has any monitor found something?
    pub fn any_found(&self) -> bool {
        self.sides.iter().any(|side| !side.found.is_empty())
    }

    /// Must monitoring stop, because a thread has written too often?
    pub fn exhausted(&self) -> bool {
        self.monitors.clocks().exhausted()
    }

    fn site(&mut self, label: &str) -> u32 {
        if let Some(&site) = self.labels.get(label) {
            return site;
        }
        if self.names.len() == LABELS || self.label_bytes + label.len() > LABEL_BYTES {
            return NO_SITE;
        }
        self.label_bytes += label.len();
        let site = self.names.len() as u32;
        self.labels.insert(label.into(), site);
        self.names.push(label.into());
        site
    }

    /// Takes a step. True if a violation was found.
    #[inline]
    pub fn step<W: Write>(
        &mut self,
        state: &Interleaving,
        step: &InterleavedOp<'_>,
        witness: &mut Option<Writing<W>>,
    ) -> bool {
        self.events += 1;
        let site = step.label.map_or(NO_SITE, |label| self.site(label));
        let (thread, at) = (step.thread.0, step.line);
        let event = |op| Event { thread, op, site, at };
        match step.act {
            Act::Load { addr, value } => {
                self.event(Recorded { event: event(Op::Load { addr: addr.0 }), read: value, write: 0 }, state, witness)
            }
            Act::Store { addr, value } => {
                self.event(Recorded { event: event(Op::Store { addr: addr.0 }), read: 0, write: value }, state, witness)
            }
            Act::Rmw { addr, read, write } => {
                let op = Op::Interlocked { addr: addr.0, writes: true };
                self.event(Recorded { event: event(op), read, write }, state, witness)
            }
            Act::Attempt { addr, value } => {
                let op = Op::Interlocked { addr: addr.0, writes: false };
                self.event(Recorded { event: event(op), read: value, write: 0 }, state, witness)
            }
            Act::Acquire(lock) | Act::Release(lock) => {
                // A lock is 0 while it is free, and 1 while it is held.
                let (read, write) = if matches!(step.act, Act::Acquire(_)) { (0, 1) } else { (1, 0) };
                let [fence, access] = Event::lock(thread, lock.0, site, at);
                self.event(Recorded { event: fence, read: 0, write: 0 }, state, witness);
                self.event(Recorded { event: access, read, write }, state, witness)
            }
            Act::Fence(mask) => {
                let mask = mask.unwrap_or(Mask::FULL);
                let op = if mask.contains(Mask::STORE_LOAD) {
                    Op::Fence
                } else if mask.contains(Mask::STORE_STORE) {
                    Op::StoreBarrier
                } else {
                    return false; // both models keep loads in order anyway
                };
                self.event(Recorded { event: event(op), read: 0, write: 0 }, state, witness)
            }
            Act::Start(child) => {
                let op = Op::Start { child: child.0 };
                self.event(Recorded { event: event(op), read: 0, write: 0 }, state, witness)
            }
            Act::Join(child) => {
                let op = Op::Join { child: child.0 };
                self.event(Recorded { event: event(op), read: 0, write: 0 }, state, witness)
            }
        }
    }

    #[inline]
    fn event<W: Write>(&mut self, recorded: Recorded, state: &Interleaving, witness: &mut Option<Writing<W>>) -> bool {
        let Watch { monitors, sides, window, budget, .. } = self;
        window.push(recorded);
        let mut any = false;
        let mut witnessed = None;
        let wanted = witness.as_ref().map(|writing| writing.algorithm);
        monitors.event(&recorded.event, |algorithm, violation| {
            any = true;
            if wanted == Some(algorithm) {
                witnessed = Some(violation);
            }
            if let Some(side) = sides.iter_mut().find(|side| side.algorithm == algorithm) {
                side.add(&violation, recorded, window, budget);
            }
        });
        if let Some(writing) = witness
            && writing.over.is_none()
        {
            writing.step(&recorded, witnessed.as_ref(), state);
        }
        any
    }

    /// The reports of all monitors about the trace so far.
    pub fn reports(&self, place: &Place<'_>, state: &Interleaving) -> Vec<Monitored> {
        self.sides.iter().map(|side| self.report(side, place, state)).collect()
    }

    fn report(&self, side: &Side, place: &Place<'_>, state: &Interleaving) -> Monitored {
        let names = state.names();
        let locks = names.addr_names().iter().filter(|name| matches!(name, AddrName::Lock(_))).count();
        let violations: Vec<Overtaking> = side
            .groups
            .groups
            .iter()
            .zip(&side.found)
            .map(|(group, found)| self.overtaking(group, found, state))
            .collect();
        let sites = |violation: &Violation| [violation.store.site, violation.access.site];
        let labelled = side.groups.groups.iter().flat_map(|group| sites(&group.first)).all(|site| site != NO_SITE);
        Monitored {
            file: place.file.to_owned(),
            trace: place.index,
            line: state.first_line(),
            monitor: match side.algorithm {
                Algorithm::Tso => MonitorName::Tso,
                Algorithm::Pso => MonitorName::Pso,
                Algorithm::Sober => MonitorName::Sober,
                Algorithm::SoberFixed => MonitorName::SoberFixed,
            },
            verdict: match place.stopped {
                _ if !violations.is_empty() => ProgramVerdict::Unsafe,
                None => ProgramVerdict::Safe,
                Some(_) => ProgramVerdict::Undecided,
            },
            complete: place.stopped.is_none(),
            stopped: place.stopped,
            without_check: place.without_check,
            events: self.events,
            threads: names.thread_names().len(),
            addresses: names.addr_names().len() - locks,
            locks,
            seconds: place.seconds,
            total: side.groups.total(),
            labelled,
            violations,
            violations_omitted: side.groups.beyond,
        }
    }

    fn overtaking(&self, group: &crate::monitor::Group, found: &Found, state: &Interleaving) -> Overtaking {
        let Violation { store, access, prev } = group.first;
        let shown = |recorded: &Recorded| self.operation(&recorded.event, Some(recorded), state);
        let unknown = |addr| Event { thread: store.thread, op: Op::Store { addr }, site: store.site, at: store.at };
        let (cycle, no_cycle) = match &found.cycle {
            Ok(cycle) => (cycle.as_slice(), None),
            Err(reason) => (&[][..], Some((*reason).to_owned())),
        };
        let edge = |edge: &crate::monitor::Edge| Edge {
            from: shown(&edge.from),
            to: shown(&edge.to),
            by: edge.relation,
            fence: edge.fence.then(|| {
                let stores = matches!(edge.to.event.op, Op::Store { .. } | Op::Interlocked { .. });
                if stores { Strength::StoreStore } else { Strength::Full }
            }),
        };
        Overtaking {
            store: match &found.store {
                Some(store) => shown(store),
                None => self.operation(&unknown(access.op.addr().unwrap_or(0)), None, state),
            },
            access: shown(&found.access),
            prev: match cycle.iter().map(|edge| &edge.to).find(|to| to.event == prev) {
                Some(prev) => shown(prev),
                None => self.operation(&prev, None, state),
            },
            cycle: cycle.iter().map(edge).collect(),
            no_cycle,
            count: group.count,
        }
    }

    /// The operation as in the trace; where its values are not known any more, in words.
    fn operation(&self, event: &Event, recorded: Option<&Recorded>, state: &Interleaving) -> Operation {
        let names = state.names();
        let thread = |thread: u32| names.thread_names()[thread as usize];
        let name = |addr: u32| names.addr_names()[addr as usize].to_string();
        let lock = |addr: u32| matches!(names.addr_names()[addr as usize], AddrName::Lock(_));
        let text = match (event.op, recorded) {
            (Op::Load { addr }, Some(recorded)) => format!("{} == {}", name(addr), recorded.read),
            (Op::Load { addr }, None) => format!("load of {}", name(addr)),
            (Op::Store { addr }, Some(recorded)) => format!("{} := {}", name(addr), recorded.write),
            (Op::Store { addr }, None) => format!("store to {}", name(addr)),
            (Op::Interlocked { addr, .. }, Some(recorded)) if lock(addr) => {
                format!("{} {}", if recorded.read == 0 { "acq" } else { "rel" }, name(addr))
            }
            (Op::Interlocked { addr, .. }, None) => format!("read-modify-write of {}", name(addr)),
            (Op::Interlocked { addr, writes: true }, Some(recorded)) => {
                let name = name(addr);
                format!("{{ {name} == {}; {name} := {} }}", recorded.read, recorded.write)
            }
            (Op::Interlocked { addr, .. }, Some(recorded)) => format!("{{ {} == {} }}", name(addr), recorded.read),
            (Op::Start { child }, _) => format!("start {}", thread(child)),
            (Op::Join { child }, _) => format!("join {}", thread(child)),
            (Op::Fence, _) => "sync".into(),
            (Op::StoreBarrier, _) => "membar #StoreStore".into(),
        };
        let label = self.names.get(event.site as usize).map(|label| label.to_string());
        Operation { thread: thread(event.thread), line: event.at, text, label }
    }
}

/// Runs these monitors on every interleaving of a text: for each trace a report of each monitor.
///
/// ```
/// use membar::monitor::Algorithm;
///
/// let text = b"0: x := 1\n0: y == 0\n1: y := 1\n1: x == 1\ncheck\n";
/// let reports = membar::watch::monitor("run.trace", text, &[Algorithm::Tso])?;
/// let found = &reports[0].violations[0];
/// assert_eq!((found.store.line, found.access.line), (1, 4)); // the store may wait, and then line 4 reads 0
/// # Ok::<(), membar::trace::Error>(())
/// ```
pub fn monitor(name: &str, text: &[u8], algorithms: &[Algorithm]) -> Result<Vec<Monitored>, Error> {
    let mut reader = Reader::new(name, text);
    let (mut watch, mut state) = (Watch::new(algorithms, WINDOW, None), Interleaving::new());
    let mut reports = Vec::new();
    loop {
        watch.begin();
        let began = Instant::now();
        let ended = reader.interleaving(&mut state, |state, step| {
            watch.step::<Vec<u8>>(state, step, &mut None);
            if watch.exhausted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Some(ended) = ended.transpose()? else { return Ok(reports) };
        let stopped = (ended == Ended::Stopped).then_some(MonitorStop::Writes);
        let seconds = began.elapsed().as_secs_f64();
        let without_check = ended == Ended::Open;
        let place = Place { file: name, index: reader.trace_index(), stopped, without_check, seconds };
        reports.extend(watch.reports(&place, &state));
        if stopped.is_some() {
            reader.skip_trace()?;
        }
    }
}

/// Where a report belongs.
pub struct Place<'a> {
    /// The file as errors name it.
    pub file: &'a str,
    /// Index of the trace, from 0.
    pub index: u64,
    /// Why monitoring ended before the trace did.
    pub stopped: Option<MonitorStop>,
    /// Does the text end without its `check`?
    pub without_check: bool,
    /// How long it took.
    pub seconds: f64,
}

impl Side {
    #[cold]
    fn add(&mut self, violation: &Violation, access: Recorded, window: &Window, budget: &mut usize) {
        if !self.groups.add(violation) {
            return;
        }
        let distance = window.distance(violation);
        let cycle = match distance {
            None => Err("Not shown: the store is older than the events that are kept (see --window)"),
            Some(distance) if self.found.len() >= CYCLES || distance > *budget => {
                Err("Not looked for: enough cycles were found before")
            }
            Some(distance) => {
                *budget -= distance;
                window.cycle(violation, self.algorithm.model()).ok_or("Not found in the events that are kept")
            }
        };
        self.found.push(Found { store: window.store(violation), access, cycle });
    }
}
