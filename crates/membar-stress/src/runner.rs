//! Runs programs on cores.
//!
//! Problem: run the threads of a program at the same moment, each on its core, with nothing between its accesses that could hide
//! what the machine does, and find out what every one of them read and when.
//!
//! Algorithm: the program is compiled once ([`crate::codegen`]), and each thread's log is touched beforehand. Threads meet, wait
//! for their share of `stagger`, run, and meet again; only then logs become a [`Record`]. Time-stamp counters of different
//! cores are compared by offsets that are measured before ([`crate::clock`]); the remaining error is `clock_error`.
//!
//! Guarantees: an operation took effect between its two times, with `clock_error` added on both sides where times of different
//! cores are compared. A program that does not end within `limit` is an error, not a result.

use crate::barrier::Rendezvous;
use crate::clock::{self, Offsets};
use crate::codegen::{Compiled, Engine, Options, Steps, Timestamps, collect};
use crate::memory::{Memory, PAGE};
use crate::pool::{Pool, Task};
use crate::{Cores, Error};
use membar_core::{Malformed, Trace};
use membar_simulate::{Observe, Program, Record, Rng, Times};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How programs are run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The cores that threads are tied to, in turn; all that are allowed, if none are given.
    pub cores: Option<Cores>,
    /// The engine that runs the program.
    pub engine: Engine,
    /// Which operations note the time.
    pub timestamps: Timestamps,
    /// Each thread waits up to this many cycles before it starts.
    pub stagger: u32,
    /// Where cores have several threads: instructions, on average, after which a thread lets another have its core.
    pub yields: u32,
    /// How long a program may take: one whose threads wait for each other's locks would take forever.
    pub limit: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            cores: None,
            engine: Engine::default(),
            timestamps: Timestamps::Off,
            stagger: 0,
            yields: 200,
            limit: Duration::from_secs(60),
        }
    }
}

/// The record of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// The values read, and what memory held in the end.
    pub record: Record,
    /// When operations were pending, in cycles since the first one began; only with timestamps.
    pub times: Option<Times>,
    /// How far a time may be off, as times of different cores are compared.
    pub clock_error: u64,
    /// From the start of the first thread to the end of the last one.
    pub seconds: f64,
}

impl Recorded {
    /// The run as a trace, resolved.
    pub fn trace(&self, program: &Program, observe: Observe) -> Result<Trace, Malformed> {
        membar_simulate::trace(program, &self.record, self.times.as_ref(), observe)
    }
}

/// Threads on cores, and the memory that they share. A runner may be moved to another thread, and several can be used at the same time.
#[derive(Debug)]
pub struct Runner {
    settings: Settings,
    cores: Cores,
    pool: Pool,
    offsets: Option<Offsets>,
    /// Kept from run to run.
    memory: Arc<Memory>,
    logs: Vec<Arc<Memory>>,
}

/// State shared by the threads of one run.
struct Shared {
    code: Arc<Compiled>,
    memory: Arc<Memory>,
    logs: Vec<Arc<Memory>>,
    /// The words to initialise, with their values.
    initial: Arc<Vec<(usize, u64)>>,
    seed: u64,
    stagger: u32,
    meet: Rendezvous,
    stop: AtomicBool,
    /// When each thread began and ended.
    periods: Vec<[AtomicU64; 2]>,
    /// When the first began and the last ended.
    whole: Mutex<Option<(Instant, Instant)>>,
}

impl Runner {
    /// Starts no thread yet. With timestamps the offsets of the cores' counters are measured first, in some milliseconds.
    pub fn new(settings: Settings) -> Result<Runner, Error> {
        let cores = settings.cores.clone().unwrap_or_else(Cores::allowed);
        let offsets = match settings.timestamps {
            Timestamps::Off => None,
            Timestamps::Every(_) => Some(Offsets::measure(&cores)?),
        };
        let (pool, memory) = (Pool::new(cores.clone()), Arc::new(Memory::new(0)?));
        Ok(Runner { settings, cores, pool, offsets, memory, logs: Vec::new() })
    }

    /// The cores that are used.
    pub fn cores(&self) -> &Cores {
        &self.cores
    }

    /// How far the counters of the cores differ, where timestamps are taken.
    pub fn offsets(&self) -> Option<&Offsets> {
        self.offsets.as_ref()
    }

    /// Makes code of a program, for [`Runner::run_compiled`]. This needs no core of the runner: another thread can do it
    /// while it runs ([`Settings::compile`]).
    pub fn compile(&self, program: &Program) -> Result<Compiled, Error> {
        self.settings.compile(program)
    }

    /// Runs a program. The seed decides which thread initialises which address, and how long each thread waits before it starts.
    pub fn run(&mut self, program: &Program, seed: u64) -> Result<Recorded, Error> {
        let code = Arc::new(self.compile(program)?);
        self.run_compiled(&code, seed)
    }

    /// Runs the code of a program: the same as [`Runner::run`] for callers that run it several times, or make the code elsewhere.
    pub fn run_compiled(&mut self, code: &Arc<Compiled>, seed: u64) -> Result<Recorded, Error> {
        let program = code.program();
        let threads = program.threads();
        self.make_room(code)?;
        let cells = (0..program.addresses()).map(|addr| (code.layout.cell(addr), program.initial(addr)));
        let locks = (0..program.locks()).map(|lock| (code.layout.lock(lock), 0));
        let shared = Arc::new(Shared {
            code: code.clone(),
            memory: self.memory.clone(),
            logs: self.logs[..threads].to_vec(),
            initial: Arc::new(cells.chain(locks).collect()),
            seed,
            stagger: self.settings.stagger,
            meet: Rendezvous::new(threads),
            stop: AtomicBool::new(false),
            periods: (0..threads).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect(),
            whole: Mutex::new(None),
        });
        let task: Task = {
            let shared = shared.clone();
            Arc::new(move |me| shared.work(me))
        };
        let stop = || shared.stop.store(true, Ordering::Relaxed);
        if !self.pool.run(threads, &task, self.settings.limit, stop)? {
            return Err(Error::Stuck(self.settings.limit));
        }
        Ok(self.results(&shared))
    }

    /// Makes memory and logs large enough. They only grow, so that most runs find their pages in place.
    fn make_room(&mut self, code: &Compiled) -> Result<(), Error> {
        if self.memory.bytes() < code.layout.bytes {
            self.memory = Arc::new(Memory::new(code.layout.bytes)?);
        }
        for (t, thread) in code.threads.iter().enumerate() {
            let bytes = thread.words * 8;
            match self.logs.get_mut(t) {
                Some(log) if log.bytes() >= bytes => {}
                Some(log) => *log = Arc::new(Memory::new(bytes + bytes / 4)?),
                None => self.logs.push(Arc::new(Memory::new(bytes)?)),
            }
        }
        Ok(())
    }

    fn results(&self, shared: &Shared) -> Recorded {
        let code = &shared.code;
        let program = code.program();
        let mut reads = vec![0; program.len()];
        let mut times = self
            .offsets
            .as_ref()
            .filter(|_| code.options.timestamps != Timestamps::Off)
            .map(|_| Times { begin: vec![0; program.len()], end: vec![0; program.len()] });
        for (t, log) in shared.logs.iter().enumerate() {
            let [begin, end] = &shared.periods[t];
            let period = (begin.load(Ordering::Relaxed), end.load(Ordering::Relaxed));
            let ahead = self.offsets.as_ref().map_or(0, |offsets| offsets.of(self.cores.of(t)).ahead);
            collect(Steps::new(program, t, code.options), log.words(), &mut reads, times.as_mut(), period, ahead);
        }
        if let Some(times) = &mut times {
            let first = times.begin.iter().copied().min().unwrap_or(0);
            times.begin.iter_mut().chain(&mut times.end).for_each(|time| *time = time.saturating_sub(first));
        }
        let finals =
            (0..program.addresses()).map(|addr| shared.memory.words()[code.layout.cell(addr)].load(Ordering::Relaxed));
        let whole = *shared.whole.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let seconds = whole.map_or(0.0, |(first, last)| last.duration_since(first).as_secs_f64());
        Recorded {
            record: Record::new(program, reads).with_finals(finals.collect()),
            times,
            clock_error: self.offsets.as_ref().map_or(0, Offsets::error),
            seconds,
        }
    }
}

impl Settings {
    /// Makes code of a program, for a runner with these settings.
    pub fn compile(&self, program: &Program) -> Result<Compiled, Error> {
        let cores = self.cores.as_ref().map_or_else(|| Cores::allowed().count(), Cores::count);
        let yields = if program.threads() > cores { self.yields } else { 0 };
        Compiled::new(program, Options { engine: self.engine, timestamps: self.timestamps, yields })
    }
}

impl Shared {
    /// Does the work of thread `me` in a run.
    fn work(&self, me: usize) {
        let (code, log) = (&self.code.threads[me], self.logs[me].words());
        // The thread that initialises an address has it in its cache; which one does changes with the seed.
        let mut owners = Rng::stream(self.seed, 0);
        let words = self.memory.words();
        for &(word, value) in self.initial.iter() {
            if owners.below(self.code.threads.len() as u32) as usize == me {
                words[word].store(value, Ordering::Relaxed);
            }
        }
        // No page of the log is touched for the first time while the others run.
        log[..code.words].iter().step_by(PAGE / 8).for_each(|word| word.store(0, Ordering::Relaxed));
        let stagger = Rng::stream(self.seed, 1 + me as u64).below(self.stagger.saturating_add(1));
        if !self.meet.wait(&self.stop) {
            return;
        }
        let begin = clock::now();
        let started = Instant::now();
        if stagger > 0 {
            while clock::about_now().wrapping_sub(begin) < u64::from(stagger) {
                std::hint::spin_loop();
            }
        }
        code.run(&self.code.layout, words, log, &self.stop);
        let end = clock::now();
        let ended = Instant::now();
        self.periods[me][0].store(begin, Ordering::Relaxed);
        self.periods[me][1].store(end, Ordering::Relaxed);
        let mut whole = self.whole.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *whole = Some(whole.map_or((started, ended), |(first, last)| (first.min(started), last.max(ended))));
    }
}
