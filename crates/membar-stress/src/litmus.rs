//! Runs litmus tests on cores, millions of times.
//!
//! A test runs on an array of instances, each with its own variables. In a batch every thread walks over the array. At an
//! instance the threads may start at one moment: one of them (they take turns) announces a time a little ahead, and all wait for
//! it. Registers and memory are counted when the batch is over, so that counting disturbs nothing.
//!
//! How often an outcome shows depends on which core has which variable in its cache and on a few nanoseconds between the starts. So
//! batches differ in both, and in how many instances are run between two common starts; the ways that show most in a second are used most: outcomes that
//! sequential consistency forbids if there are any, otherwise outcomes that differ.
//!
//! ```
//! use membar_stress::litmus::{self, Amount, Settings};
//! use membar_litmus::LitmusTest;
//!
//! let text = "X86 SB
//! { }
//!  P0          | P1          ;
//!  MOV [x],$1  | MOV [y],$1  ;
//!  MOV EAX,[y] | MOV EAX,[x] ;
//! exists (0:EAX=0 /\\ 1:EAX=0)";
//! let test = LitmusTest::parse("SB.litmus", text.as_bytes())?;
//! let histogram = litmus::run(&test, &Settings { amount: Amount::Outcomes(10_000), ..Settings::default() })?;
//! assert!(histogram.outcomes() >= 10_000);
//! println!("{}", histogram.log(&test));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With generated code an instruction of the test is one of the processor, its registers are the processor's as far as they
//! go, and pointers are numbers that the code looks up. The interpreter makes every load an acquire and every store a release, since
//! translated code no longer tells which of them may be weaker.

mod body;
mod compiled;
mod histogram;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod machine;
mod tune;

pub use histogram::{Histogram, Log, State};

use crate::barrier::{Rendezvous, Wait};
use crate::clock::{self, Offsets};
use crate::codegen::Engine;
use crate::memory::{LINE, Memory};
use crate::{Cores, Error};
use body::{Body, Trouble};
use membar_litmus::{LitmusTest, Model, Spot, outcomes};
use membar_simulate::Rng;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tune::{First, Tuner, Way};

/// How much to run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// This many outcomes, and what is left of the last batch.
    Outcomes(u64),
    /// As many as this time allows.
    Time(Duration),
}

/// How a test is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The cores that threads are tied to, in turn; all that are allowed, if none are given. With twice as many as the test has
    /// threads it runs twice in parallel, and so on.
    pub cores: Option<Cores>,
    /// The engine that runs the test.
    pub engine: Engine,
    /// How much.
    pub amount: Amount,
    /// Decides what is left to chance.
    pub seed: u64,
    /// Ends the run early, when set.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// How long one batch may take before the test counts as one that does not end.
    pub limit: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            cores: None,
            engine: Engine::default(),
            amount: Amount::Outcomes(1_000_000),
            seed: 1,
            interrupt: None,
            limit: Duration::from_secs(20),
        }
    }
}

/// Bytes of a batch's variables, about: they stay in the second-level cache of a core.
const BATCH_BYTES: usize = 128 << 10;
/// From one variable to the next: fetching a line may fetch its neighbour too.
const SPACING: usize = 2 * LINE;
/// How far ahead a start is announced, at least and at most, in cycles.
const NOTICE: (u64, u64) = (200, 10_000);

/// Runs a test.
pub fn run(test: &LitmusTest, settings: &Settings) -> Result<Histogram, Error> {
    let threads = test.code.threads.len();
    if threads == 0 {
        return Err(Error::NoThreads);
    }
    if !test.arch.has_store_buffers() {
        return compiled::run(test, settings);
    }
    let cores = settings.cores.clone().unwrap_or_else(Cores::allowed);
    let offsets = Offsets::measure(&cores)?;
    let bodies: Vec<Body> =
        (0..threads).map(|thread| Body::new(test, thread, settings.engine, SPACING)).collect::<Result<_, _>>()?;
    let weak = Weak::new(test);
    let groups = (cores.numbers().len() / threads).max(1);
    let control = Control {
        stop: AtomicBool::new(false),
        finish: AtomicBool::new(false),
        batches: AtomicUsize::new(0),
        outcomes: AtomicU64::new(0),
        enough: match settings.amount {
            Amount::Outcomes(n) => n,
            Amount::Time(_) => u64::MAX,
        },
        trouble: Mutex::new(None),
        running: AtomicUsize::new(groups * threads),
    };
    let groups: Vec<Group<'_>> = (0..groups)
        .map(|group| {
            let cores = (0..threads).map(|thread| cores.of(group * threads + thread)).collect();
            let seed = settings.seed.wrapping_mul(0x9E37).wrapping_add(group as u64);
            Group::new(test, &bodies, &weak, &control, &offsets, cores, seed)
        })
        .collect::<Result<_, _>>()?;
    let start = Instant::now();
    let mut counts: Counts = FxHashMap::default();
    std::thread::scope(|scope| {
        let me = std::thread::current();
        let mut workers = Vec::new();
        for (group, thread) in groups.iter().flat_map(|group| (0..threads).map(move |thread| (group, thread))) {
            let (control, me) = (&control, me.clone());
            let builder = std::thread::Builder::new().name(format!("core {}", group.cores[thread]));
            let worker = builder.spawn_scoped(scope, move || {
                let counts = group.work(thread);
                if control.running.fetch_sub(1, Ordering::AcqRel) == 1 {
                    me.unpark();
                }
                counts
            });
            match worker {
                Ok(worker) => workers.push(worker),
                Err(error) => {
                    control.fail(Error::Thread(error));
                    break;
                }
            }
        }
        control.watch(settings, start);
        for worker in workers {
            match worker.join() {
                Ok(Ok(more)) => {
                    more.into_iter().for_each(|(values, count)| *counts.entry(values).or_default() += count)
                }
                Ok(Err(error)) => control.fail(error),
                Err(_) => control.fail(Error::Worker),
            }
        }
    });
    match control.trouble.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        Some(error) => Err(error),
        None => Ok(Histogram::new(test, counts, start.elapsed().as_secs_f64())),
    }
}

/// How often each vector of final values came out.
type Counts = FxHashMap<Box<[u64]>, u64>;

/// Which outcomes sequential consistency forbids.
struct Weak<'a> {
    test: &'a LitmusTest,
    /// The outcomes it allows; `None` where they are not known.
    allowed: Option<FxHashSet<Vec<u64>>>,
}

impl Weak<'_> {
    fn new(test: &LitmusTest) -> Weak<'_> {
        let deadline = Some(Instant::now() + Duration::from_millis(500));
        let limits = membar_litmus::Limits { deadline, memory: 64 << 20, ..membar_litmus::Limits::default() };
        let sc = outcomes(test, Model::Sc, &limits);
        let allowed = (sc.complete && sc.crash.is_none()).then(|| sc.states.into_iter().collect());
        Weak { test, allowed }
    }

    fn is(&self, values: &[u64]) -> bool {
        let counts = self.test.filter.as_ref().is_none_or(|filter| filter.holds(values));
        let shown = &values[..self.test.shown];
        counts && self.allowed.as_ref().is_some_and(|allowed| !allowed.contains(shown))
    }
}

/// The state that all threads of all groups look at.
struct Control {
    /// Leave immediately.
    stop: AtomicBool,
    /// Leave after this batch.
    finish: AtomicBool,
    batches: AtomicUsize,
    outcomes: AtomicU64,
    enough: u64,
    trouble: Mutex<Option<Error>>,
    running: AtomicUsize,
}

impl Control {
    /// Keeps the first thing that went wrong, and ends everything.
    fn fail(&self, error: Error) {
        let mut trouble = self.trouble.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        trouble.get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until all threads have ended, and ensures that they do.
    fn watch(&self, settings: &Settings, start: Instant) {
        let mut last = (0, Instant::now());
        while self.running.load(Ordering::Acquire) > 0 && !self.stop.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_millis(5));
            let interrupted = settings.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
            let over = matches!(settings.amount, Amount::Time(time) if start.elapsed() >= time);
            if interrupted || over {
                self.finish.store(true, Ordering::Relaxed);
            }
            let batches = self.batches.load(Ordering::Relaxed);
            if batches != last.0 {
                last = (batches, Instant::now());
            } else if last.1.elapsed() > settings.limit && self.running.load(Ordering::Acquire) > 0 {
                self.fail(Error::Stuck(settings.limit));
            }
        }
    }
}

/// Threads that run one instance of the test each time.
struct Group<'a> {
    test: &'a LitmusTest,
    bodies: &'a [Body],
    weak: &'a Weak<'a>,
    control: &'a Control,
    cores: Vec<usize>,
    /// How far each core's counter is ahead.
    ahead: Vec<i64>,
    /// How far ahead a start is announced.
    notice: u64,
    seed: u64,
    /// Instances; a power of two.
    instances: usize,
    /// Words of one instance.
    words: usize,
    memory: Memory,
    /// A line for each instance: when it starts.
    starts: Memory,
    /// The registers that are shown, thread by thread.
    registers: Vec<Memory>,
    meet: Rendezvous,
    tuner: Mutex<Tuner>,
    /// Of the batch: outcomes that are weak, and outcomes that differ from the one before.
    weaks: AtomicU64,
    changes: AtomicU64,
    /// How long it took, in cycles.
    cycles: AtomicU64,
    crowded: bool,
}

impl<'a> Group<'a> {
    fn new(
        test: &'a LitmusTest,
        bodies: &'a [Body],
        weak: &'a Weak<'a>,
        control: &'a Control,
        offsets: &Offsets,
        cores: Vec<usize>,
        seed: u64,
    ) -> Result<Group<'a>, Error> {
        let words = test.code.cells.len().max(1) * SPACING / 8;
        let mut distinct = cores.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let crowded = distinct.len() < cores.len();
        // Where threads wait for each other's turn on a core, a batch takes long enough as it is.
        let most = if crowded { 64 } else { 1024 };
        let instances = (BATCH_BYTES / (words * 8)).next_power_of_two().clamp(32, most);
        let registers = bodies.iter().map(|body| Memory::new(instances * body.registers.len().max(1) * 8));
        Ok(Group {
            test,
            bodies,
            weak,
            control,
            ahead: cores.iter().map(|&core| offsets.of(core).ahead).collect(),
            // The error of an offset is half of a round trip. The announcement waits in its thread's store buffer behind the last
            // store of the instance before, which may take one itself.
            notice: (4 * offsets.error() + 100).clamp(NOTICE.0, NOTICE.1),
            cores,
            seed,
            instances,
            words,
            memory: Memory::new(instances * words * 8)?,
            starts: Memory::new(instances * LINE)?,
            registers: registers.collect::<Result<_, _>>()?,
            meet: Rendezvous::new(bodies.len()),
            tuner: Mutex::new(Tuner::new(seed, crowded)),
            weaks: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            cycles: AtomicU64::new(0),
            crowded,
        })
    }

    /// Does the work of one thread.
    fn work(&self, me: usize) -> Result<Counts, Error> {
        crate::cores::pin(self.cores[me]).inspect_err(|_| self.control.stop.store(true, Ordering::Relaxed))?;
        let mut tally = Tally::default();
        let mut scratch = Vec::new();
        let mut batch = 0;
        while self.meet.wait(&self.control.stop) {
            let (way, last) = {
                let tuner = self.tuner.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                (tuner.way(), tuner.last)
            };
            if last {
                break;
            }
            let mut rng = Rng::stream(self.seed, batch);
            self.initialise(me, &way, &mut rng);
            if !self.meet.wait(&self.control.stop) {
                break;
            }
            // All walk over the instances in one order, which no prefetcher foresees.
            let step = rng.below(self.instances as u32) as usize | 1;
            let before = clock::now();
            if let Err(trouble) = self.walk(me, &way, step, &mut scratch) {
                if let Some(error) = trouble.error(self.test) {
                    self.control.fail(error);
                }
                break;
            }
            if !self.meet.wait(&self.control.stop) {
                break;
            }
            self.cycles.store(clock::now().saturating_sub(before), Ordering::Relaxed);
            self.count(me, &mut tally);
            if !self.meet.wait(&self.control.stop) {
                break;
            }
            if me == 0 {
                self.end_batch();
            }
            batch += 1;
        }
        Ok(tally.states.into_iter().map(|(values, (count, _))| (values, count)).collect())
    }

    /// Writes the initial values of this thread's share of variables, which puts them in its cache.
    fn initialise(&self, me: usize, way: &Way, rng: &mut Rng) {
        let threads = self.bodies.len();
        let memory = self.memory.words();
        for instance in 0..self.instances {
            for (at, cell) in self.test.code.cells.iter().enumerate() {
                let chance = rng.below(threads as u32) as usize;
                let first = match way.first {
                    First::Anybody => chance,
                    First::Reader => self.bodies.iter().position(|body| body.reads_only(at)).unwrap_or(chance),
                    First::Writer => self.bodies.iter().position(|body| body.writes(at)).unwrap_or(chance),
                };
                if first == me {
                    memory[instance * self.words + at * SPACING / 8].store(cell.init, Ordering::Relaxed);
                }
            }
            if instance % threads == me {
                self.starts.words()[instance * LINE / 8].store(0, Ordering::Relaxed);
            }
        }
    }

    fn walk(&self, me: usize, way: &Way, step: usize, scratch: &mut Vec<u64>) -> Result<(), Trouble> {
        let (threads, body, stop) = (self.bodies.len(), &self.bodies[me], &self.control.stop);
        let (memory, registers, starts) = (self.memory.words(), self.registers[me].words(), self.starts.words());
        let mut rng = Rng::stream(self.seed ^ 0x5A5A, way.stream.wrapping_mul(64).wrapping_add(me as u64));
        let now = || clock::about_now().wrapping_sub(self.ahead[me] as u64);
        let shown = body.registers.len();
        for turn in 0..self.instances {
            let instance = turn.wrapping_mul(step) & (self.instances - 1);
            let cells = &memory[instance * self.words..][..self.words];
            let registers = &registers[instance * shown..];
            if way.every > 0 && turn.is_multiple_of(way.every) {
                let wait = u64::from(rng.below(way.window + 1));
                let start = &starts[instance * LINE / 8];
                let mut time = start.load(Ordering::Relaxed);
                if turn / way.every % threads == me {
                    time = now().wrapping_add(self.notice) | 1;
                    start.store(time, Ordering::Relaxed);
                } else {
                    let mut patience = if self.crowded { Wait::impatient() } else { Wait::default() };
                    while time == 0 {
                        if stop.load(Ordering::Relaxed) {
                            return Err(Trouble::Stopped);
                        }
                        patience.round();
                        time = start.load(Ordering::Relaxed);
                    }
                }
                let time = time.wrapping_add(wait);
                while (now().wrapping_sub(time) as i64) < 0 {}
            }
            body.run(cells, registers, stop, scratch)?;
        }
        Ok(())
    }

    /// Counts this thread's share of what came out.
    fn count(&self, me: usize, tally: &mut Tally) {
        let threads = self.bodies.len();
        let (share, memory) = (self.instances.div_ceil(threads), self.memory.words());
        let (mut weaks, mut changes) = (0, 0);
        let places: Vec<_> = self
            .test
            .locations
            .iter()
            .map(|location| match location.spot {
                Spot::Cell(cell) => (memory, self.words, cell as usize * SPACING / 8, location.ty),
                Spot::Reg { thread, reg } => {
                    let body = &self.bodies[thread as usize];
                    let at = body.registers.iter().position(|&shown| shown == reg).unwrap_or(0);
                    (self.registers[thread as usize].words(), body.registers.len(), at, location.ty)
                }
            })
            .collect();
        let mut values = vec![0; places.len()];
        for instance in (me * share..(me + 1) * share).take_while(|&instance| instance < self.instances) {
            let mut changed = false;
            for (value, &(words, stride, at, ty)) in values.iter_mut().zip(&places) {
                let new = ty.wrap(words[instance * stride + at].load(Ordering::Relaxed));
                changed |= new != *value;
                *value = new;
            }
            changes += u64::from(changed);
            weaks += u64::from(tally.add(&values, self.weak));
        }
        self.weaks.fetch_add(weaks, Ordering::Relaxed);
        self.changes.fetch_add(changes, Ordering::Relaxed);
    }

    /// Learns from the batch, and chooses how the next one is run.
    fn end_batch(&self) {
        let control = self.control;
        control.batches.fetch_add(1, Ordering::Relaxed);
        let sum = control.outcomes.fetch_add(self.instances as u64, Ordering::Relaxed) + self.instances as u64;
        let (weaks, changes) = (self.weaks.swap(0, Ordering::Relaxed), self.changes.swap(0, Ordering::Relaxed));
        let mut tuner = self.tuner.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // How much was seen in how much time; a weak outcome is worth more than any number of others.
        tuner.learn((1000 * weaks + changes) as f64 / self.cycles.load(Ordering::Relaxed).max(1) as f64);
        tuner.last = sum >= control.enough || control.finish.load(Ordering::Relaxed);
    }
}

/// Counts of one thread.
#[derive(Default)]
struct Tally {
    /// How often each came out, and whether it is weak.
    states: FxHashMap<Box<[u64]>, (u64, bool)>,
}

impl Tally {
    /// Says whether it is weak.
    fn add(&mut self, values: &[u64], weak: &Weak<'_>) -> bool {
        if let Some((count, weak)) = self.states.get_mut(values) {
            *count += 1;
            return *weak;
        }
        let weak = weak.is(values);
        self.states.insert(values.into(), (1, weak));
        weak
    }
}
