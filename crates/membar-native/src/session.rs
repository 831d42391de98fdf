//! A program under verification: processes that run it, and what is known about it.
//!
//! A session learns by running the program which memory is shared, which threads there are and where loops are ([`Facts`]). Whenever
//! it learns something new, exploration restarts. A few random
//! executions at first find nearly all of it. Facts only grow, so this ends. Only where execution graphs need whole cells are cells forgotten,
//! once, and cut differently ([`Facts::tears`]).

use crate::process::{Process, ProcessError, Remote, RemoteReply, Setup, Statistics, Task};
use crate::run::{Divergence, Facts, Traced, barrier_of, kind_of};
use membar_core::{Access, C11, Halt, ProgramModel, Remedy, Threads, WeakStep};
use membar_explore::{Step, Strategy};
use membar_verify::{Checkpoint, Effort, Settings, Verification, Watching};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Executions that are run to learn about the program, and the time that they may take.
const LEARNING: u64 = 512;
const LEARNING_TIME: Duration = Duration::from_secs(2);

/// Why a verification has no result.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The program did something else the second time.
    #[error("the program is not deterministic")]
    Diverged(Divergence),
    /// The checkpoint is that of another program.
    #[error("the search that was kept has steps that the program does not make")]
    Foreign,
    /// A process could not do its work.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// A program under verification.
pub struct Session {
    processes: Vec<Process>,
    facts: Facts,
    learnt: bool,
    /// How often exploration has begun again because of something new.
    pub restarts: u32,
}

impl Session {
    /// Starts as many processes.
    pub fn start(setup: &Setup, jobs: usize) -> Result<Session, SessionError> {
        let process = |_| Process::start(setup.clone());
        let processes = (0..jobs.max(1)).map(process).collect::<Result<Vec<_>, _>>()?;
        Ok(Session { processes, facts: Facts::default(), learnt: false, restarts: 0 })
    }

    /// Everything known about the program.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Begins with what was known before, from a verification that is resumed and had restarted this many times.
    pub fn know(&mut self, facts: Facts, restarts: u32) {
        self.facts = facts;
        self.learnt = true;
        self.restarts = restarts;
    }

    /// Also knows what other searches found out.
    pub fn know_more(&mut self, facts: Vec<Facts>) {
        let mut facts = facts.into_iter();
        if let Some(first) = facts.next() {
            self.know(first, 0);
        }
        facts.for_each(|more| self.facts.join(more));
    }

    /// Goes back to what was known when a search with these settings was made: its schedules mean the same again.
    pub fn go_back(&mut self, facts: Facts, settings: Settings) -> Result<(), SessionError> {
        let task = Task { facts: facts.clone(), remedies: Vec::new(), settings, stop_at_first: false };
        self.facts = facts;
        for process in &mut self.processes {
            // It may have ended meanwhile, and may know of executions that end it.
            if process.has_died() || process.begin(task.clone()).is_err() {
                process.revive(task.clone())?;
            }
        }
        Ok(())
    }

    /// The cost so far, in all processes.
    pub fn statistics(&self) -> Statistics {
        self.processes.iter().fold(Statistics::default(), |sum, process| Statistics {
            resets: sum.resets + process.statistics.resets,
            steps: sum.steps + process.statistics.steps,
            replayed: sum.replayed + process.statistics.replayed,
            reset_bytes: sum.reset_bytes.max(process.statistics.reset_bytes),
            resident: sum.resident.max(process.statistics.resident),
        })
    }

    /// Explores from a checkpoint, or from the beginning if that turns out to know too little, until it is done, `go_on` says
    /// otherwise, or `stop` is set. `remedies` are by instruction. `go_on` also gets what is known.
    pub fn verify(
        &mut self,
        checkpoint: Checkpoint,
        effort: Effort,
        remedies: &[(u32, Remedy)],
        stop: &AtomicBool,
        mut go_on: impl FnMut(&Verification<Process>, &Facts) -> bool,
    ) -> Result<Checkpoint, SessionError> {
        self.learn(checkpoint.settings, stop)?;
        self.explore(checkpoint, effort, remedies, stop, &mut go_on)
    }

    /// Finds out about the program, unless that has been done.
    pub fn learn(&mut self, settings: Settings, stop: &AtomicBool) -> Result<(), SessionError> {
        if !self.learnt {
            self.learnt = true;
            self.facts.tears = settings.models.iter().all(|model| model == ProgramModel::C11);
            let strategy = Strategy::Random { executions: LEARNING, seed: 1 };
            let settings = Settings { strategy, watching: Watching::Nothing, ..settings };
            let one = Effort::default();
            let (began, enough, done) = (Instant::now(), AtomicBool::new(false), AtomicBool::new(false));
            std::thread::scope(|scope| {
                // Executions may be long: they are stopped on time, too.
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        if began.elapsed() > LEARNING_TIME || stop.load(Ordering::Relaxed) {
                            enough.store(true, Ordering::Relaxed);
                        }
                        std::thread::sleep(Duration::from_millis(5));
                    }
                });
                let learnt = self.explore(Checkpoint::new(settings), one, &[], &enough, |_, _| true);
                done.store(true, Ordering::Relaxed);
                learnt
            })?;
            self.restarts = 0;
        }
        Ok(())
    }

    fn explore(
        &mut self,
        mut checkpoint: Checkpoint,
        effort: Effort,
        remedies: &[(u32, Remedy)],
        stop: &AtomicBool,
        mut go_on: impl FnMut(&Verification<Process>, &Facts) -> bool,
    ) -> Result<Checkpoint, SessionError> {
        loop {
            // Execution graphs have whole addresses.
            if let Strategy::Graphs { model, bytes: bytes @ false, .. } = &mut checkpoint.settings.strategy
                && self.facts.parts
            {
                *bytes = model.machine().is_some();
                if *bytes {
                    checkpoint = Checkpoint::new(checkpoint.settings);
                } else {
                    self.facts.tear();
                }
            }
            let settings = checkpoint.settings;
            let task = Task {
                facts: self.facts.clone(),
                remedies: remedies.to_vec(),
                settings,
                stop_at_first: effort.stop_at_first,
            };
            for process in &mut self.processes {
                process.begin(task.clone())?;
            }
            let workers = std::mem::take(&mut self.processes);
            let mut verification = Verification::new(checkpoint, workers, effort);
            let mut grown = None;
            while !verification.is_done() {
                verification.advance(stop);
                grown = verification.workers().iter().find_map(|process| process.grown.clone());
                let broken = verification.workers().iter().any(|p| p.failed.is_some() || p.diverged.is_some());
                let foreign = verification.is_foreign();
                if grown.is_some()
                    || broken
                    || foreign
                    || !go_on(&verification, &self.facts)
                    || stop.load(Ordering::Relaxed)
                {
                    break;
                }
            }
            let (result, foreign) = (verification.checkpoint(), verification.is_foreign());
            self.processes = verification.into_workers();
            for process in &mut self.processes {
                if let Some(why) = process.failed.take() {
                    let bug = process.bug.then(|| ProcessError::Bug(why.message.to_string()));
                    let error = bug.unwrap_or(ProcessError::Failed(why));
                    return Err(error.into());
                }
                if let Some(divergence) = process.diverged.clone() {
                    return Err(SessionError::Diverged(divergence));
                }
            }
            if foreign {
                return Err(SessionError::Foreign);
            }
            let Some(facts) = grown else { return Ok(result) };
            self.facts = facts;
            self.restarts += 1;
            checkpoint = Checkpoint::new(settings);
            if stop.load(Ordering::Relaxed) {
                return Ok(checkpoint);
            }
        }
    }

    /// Runs a schedule and tells what happens.
    pub fn trace(&mut self, schedule: &[Step]) -> Result<Traced, SessionError> {
        Ok(self.processes[0].trace(schedule)?)
    }

    /// Runs an execution of a memory model and tells what happens.
    pub fn weak_trace(&mut self, steps: &[WeakStep]) -> Result<Traced, SessionError> {
        Ok(self.processes[0].weak_trace(steps)?)
    }

    /// The program for the certifier, which performs its accesses.
    pub fn remote(&mut self) -> impl Threads + '_ {
        self.begin_remote(Remote::Start)
    }

    /// The same for executions of a memory model.
    pub fn weak_remote(&mut self) -> impl Threads + '_ {
        self.begin_remote(Remote::StartWeak)
    }

    fn begin_remote(&mut self, start: Remote) -> RemoteThreads<'_> {
        let process = &mut self.processes[0];
        process.remote(start);
        RemoteThreads { process }
    }
}

/// A program whose accesses are performed elsewhere.
struct RemoteThreads<'a> {
    process: &'a mut Process,
}

impl Threads for RemoteThreads<'_> {
    fn threads(&self) -> usize {
        self.process.threads
    }

    fn next(&mut self, thread: usize) -> Result<Access, Halt> {
        match self.process.remote(Remote::Next(thread)) {
            Some(RemoteReply::Access { blocked: true, addr, .. }) => Err(Halt::Blocked { addr }),
            Some(RemoteReply::Access { kind, barrier, c11, part, addr, site, expected, blocked: false }) => {
                let (kind, barrier, c11) = (kind_of(kind), barrier_of(barrier), C11::from_bits(c11));
                Ok(Access { kind, barrier, c11, part, addr, site, expected })
            }
            Some(RemoteReply::Done) => Err(Halt::Ended),
            _ => Err(Halt::Fault),
        }
    }

    fn perform(&mut self, thread: usize, read: u64) -> Option<u64> {
        let access = self.next(thread).ok()?;
        let Some(RemoteReply::Value(value)) = self.process.remote(Remote::Perform(thread, read)) else { return None };
        access.writes_on(read).then_some(value)
    }

    fn find_ended(&mut self, ended: bool) {
        self.process.remote(Remote::Ended(ended));
    }

    fn value(&mut self, addr: u32) -> u64 {
        match self.process.remote(Remote::Value(addr)) {
            Some(RemoteReply::Value(value)) => value,
            _ => 0,
        }
    }

    fn merge(&mut self, access: &Access, value: u64, written: u64) -> u64 {
        let merge = Remote::Merge { addr: access.addr, part: access.part, value, written };
        match self.process.remote(merge) {
            Some(RemoteReply::Value(value)) => value,
            _ => 0,
        }
    }

    fn shown(&mut self, access: &Access, value: u64) -> u64 {
        match self.process.remote(Remote::Shown { addr: access.addr, part: access.part, value }) {
            Some(RemoteReply::Value(value)) => value,
            _ => 0,
        }
    }

    fn set(&mut self, addr: u32, value: u64) {
        self.process.remote(Remote::Set(addr, value));
    }
}
