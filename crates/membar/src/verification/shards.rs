//! A search that is split, explored in parts by processes that know nothing of each other, and put together.

use crate::Failure;
use crate::programs::{Input, Litmus, Native, Round, Subject};
use crate::report::verify::StatisticsRef;
use crate::verify::{Checkpoint, Effort, Manner};
use crate::{Interrupt, VerifyOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How often a part asks whether more was learnt about the program.
const ASK: Duration = Duration::from_millis(100);

/// A part of a search, with what it rests on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shard {
    /// A hash of everything that decides what the program does.
    pub fingerprint: u64,
    /// What was known about it when the search was split.
    pub facts: Value,
    /// Where the search is.
    pub checkpoint: Checkpoint,
    /// What it cost to run it, if it was run.
    #[serde(default)]
    pub cost: Option<StatisticsRef>,
    /// Executions that a part should have.
    #[serde(default)]
    pub size: Option<u64>,
}

/// Parts are not made smaller than this many executions: starting one costs as much.
const SMALLEST: u64 = 512;
/// A part that has this many times its size gives back what is left of it.
const MOST: u64 = 2;
/// Executions after which a part of this size does so.
fn most(size: u64) -> u64 {
    MOST.saturating_mul(size.max(1))
}

/// New parts that one is split into if their size is not known.
const PIECES: usize = 4;

impl Shard {
    /// A part of it that is still to be run.
    pub fn part(&self, checkpoint: Checkpoint) -> Shard {
        Shard { fingerprint: self.fingerprint, facts: self.facts.clone(), checkpoint, cost: None, size: self.size }
    }

    /// Everything that is left to run, as parts of the size that they should have, and at most this many.
    pub fn pieces(&mut self, most: usize) -> Vec<Shard> {
        let fitting = |size: u64| (self.checkpoint.search.weight() as u64).div_ceil(size.max(1)) as usize;
        self.split(self.size.map_or(PIECES, fitting).clamp(1, most.max(1)))
    }

    /// The same, as at most this many parts.
    pub fn split(&mut self, parts: usize) -> Vec<Shard> {
        let parts = self.checkpoint.split(parts).unwrap_or_default();
        parts.into_iter().map(|checkpoint| self.part(checkpoint)).collect()
    }

    /// Takes back a part that was run. There may be more to do now.
    pub fn rejoin(&mut self, part: Shard) {
        self.checkpoint.rejoin(part.checkpoint);
        if let (Some(cost), Some(more)) = (&mut self.cost, &part.cost) {
            cost.add(more);
        }
    }
}

/// An exploration that was made elsewhere.
#[derive(Clone, Debug)]
pub struct Explored {
    /// All of it.
    pub shard: Shard,
    /// How long that took.
    pub seconds: f64,
    /// Parts of it are missing.
    pub missing: bool,
}

impl Explored {
    /// Makes the program what it was then; where the search is.
    pub(super) fn enter<S: Subject>(self, subject: &mut S) -> Result<Checkpoint, Failure> {
        let Shard { fingerprint, facts, checkpoint, cost, .. } = self.shard;
        same(subject, fingerprint)?;
        if !facts.is_null() {
            subject.know(facts.clone(), cost.map_or(0, |cost| cost.restarts));
        }
        subject.go_back(facts, checkpoint.settings)?;
        Ok(checkpoint)
    }
}

/// Refuses another program, or another way to verify it.
fn same_search<S: Subject>(subject: &S, shard: &Shard, options: &VerifyOptions) -> Result<(), Failure> {
    let (settings, strategy) = (shard.checkpoint.settings, shard.checkpoint.search.strategy());
    if settings != options.settings() || strategy != settings.strategy {
        return Err(Failure::Usage("error: the shard is not one of this command\n = help: make the plan again".into()));
    }
    same(subject, shard.fingerprint)
}

/// Refuses another program.
fn same<S: Subject>(subject: &S, fingerprint: u64) -> Result<(), Failure> {
    if subject.fingerprint() == fingerprint {
        return Ok(());
    }
    let help = "install the same compiler and libraries, or build the program once with `membar cc` and verify that";
    Err(Failure::Usage(format!(
        "error: {} compiles to a different program here than where the plan was made\n = help: {help}",
        crate::report::safe(subject.name())
    )))
}

/// What came of a part of a search.
#[derive(Debug)]
pub enum Explores {
    /// The part, explored.
    Part(Box<Shard>),
    /// Facts about the program that were not known when the search was split: its parts are of no use.
    Learnt(Value),
}

/// A program that parts of its search can be run of, one after the other.
pub struct Prepared(Program);

enum Program {
    Litmus(Box<Litmus>),
    Native(Box<Native>),
}

impl Prepared {
    /// Reads or builds the program.
    pub fn open(program: &Input, options: &VerifyOptions) -> Result<Prepared, Failure> {
        let litmus = |litmus: Litmus| Program::Litmus(Box::new(litmus.with_symmetry(options.native.symmetry)));
        Ok(Prepared(match program {
            Input::Litmus(path) => litmus(Litmus::open(path)?),
            Input::Text { name, text } => litmus(Litmus::parse(name, text)?),
            native => Program::Native(Box::new(Native::open(native, &options.native, options.jobs, options.time)?)),
        }))
    }

    /// Explores until what is left can be split into this many parts of similar size, or for this long. `facts` are what other searches
    /// found out about the program.
    pub fn begin(
        &mut self,
        options: &VerifyOptions,
        parts: usize,
        time: Duration,
        facts: Vec<Value>,
    ) -> Result<Shard, Failure> {
        match &mut self.0 {
            Program::Litmus(_) => {}
            Program::Native(native) => native.know_more(facts),
        }
        match &mut self.0 {
            Program::Litmus(litmus) => begin(&mut **litmus, options, parts, time),
            Program::Native(native) => begin(&mut **native, options, parts, time),
        }
    }

    /// Guesses how large what is left of a shard is.
    pub fn weigh(&mut self, shard: Shard, options: &VerifyOptions, interrupt: &Interrupt) -> Result<Shard, Failure> {
        match &mut self.0 {
            Program::Litmus(litmus) => weigh(&mut **litmus, shard, false, options, interrupt),
            Program::Native(native) => weigh(&mut **native, shard, false, options, interrupt),
        }
    }

    /// Explores a part, to its end if there is time.
    pub fn run(
        &mut self,
        shard: Shard,
        options: &VerifyOptions,
        time: Option<Duration>,
        interrupt: &Interrupt,
    ) -> Result<Explores, Failure> {
        match &mut self.0 {
            Program::Litmus(litmus) => run(&mut **litmus, shard, options, time, interrupt),
            Program::Native(native) => run(&mut **native, shard, options, time, interrupt),
        }
    }
}

fn begin<S: Subject>(subject: &mut S, options: &VerifyOptions, parts: usize, time: Duration) -> Result<Shard, Failure> {
    if let Some(failure) = options.models.iter().find_map(|model| subject.refuses(model)) {
        return Err(failure);
    }
    let (began, stop) = (Instant::now(), AtomicBool::new(false));
    let manner = Manner::Wide(parts);
    let effort = Effort { jobs: options.jobs, stop_at_first: options.stop_at_first, manner, ..Effort::default() };
    let mut go_on = |round: &Round<'_>| {
        !round.search.is_even(parts)
            && began.elapsed() < time
            && !round.has_first
            && round.seen.limit().is_none()
            && !options.interrupt.pressed()
    };
    let checkpoint = subject.explore(Checkpoint::new(options.settings()), effort, &[], &stop, &mut go_on)?;
    let cost = subject.about(0.0).statistics;
    let size = Some((checkpoint.search.weight() as u64).div_ceil(parts.max(1) as u64).max(SMALLEST));
    Ok(Shard { fingerprint: subject.fingerprint(), facts: subject.facts(), checkpoint, cost, size })
}

/// Guesses how large what is left is; with `complete`, begins what would show only later. Without the time for it, the shard is as it was.
fn weigh<S: Subject>(
    subject: &mut S,
    mut shard: Shard,
    complete: bool,
    options: &VerifyOptions,
    interrupt: &Interrupt,
) -> Result<Shard, Failure> {
    same_search(subject, &shard, options)?;
    let Some(size) = shard.size else { return Ok(shard) };
    if !shard.facts.is_null() && !subject.know(shard.facts.clone(), 0) {
        return Ok(shard);
    }
    let watchdog = super::watchdog::Watchdog::new(None, interrupt);
    let effort =
        Effort { jobs: options.jobs, max_runs: most(size), manner: Manner::Weigh { complete }, ..Effort::default() };
    let weighed = subject.explore(shard.checkpoint.clone(), effort, &[], &watchdog.stop, &mut |_| false)?;
    if subject.facts() == shard.facts {
        shard.checkpoint = weighed;
    }
    Ok(shard)
}

fn run<S: Subject>(
    subject: &mut S,
    shard: Shard,
    options: &VerifyOptions,
    time: Option<Duration>,
    interrupt: &Interrupt,
) -> Result<Explores, Failure> {
    same_search(subject, &shard, options)?;
    let Shard { fingerprint, facts, checkpoint, size, .. } = shard;
    if !facts.is_null() && !subject.know(facts.clone(), 0) {
        return Err(Failure::Usage("error: the shard does not say what is known about the program".into()));
    }
    let deadline = time.and_then(|time| Instant::now().checked_add(time));
    let watchdog = super::watchdog::Watchdog::new(deadline, interrupt);
    let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let most = size.map_or(u64::MAX, most);
    let (jobs, stop_at_first) = (options.jobs, options.stop_at_first);
    let effort = Effort { jobs, stop_at_first, max_runs: most, ..Effort::default() };
    let mut asked = Instant::now();
    let mut go_on = |round: &Round<'_>| {
        if asked.elapsed() > ASK {
            asked = Instant::now();
            if (round.facts)() != facts {
                return false;
            }
        }
        let is_over = round.search.counts().runs() >= most || late();
        !(round.has_first || interrupt.pressed() || is_over || round.seen.limit().is_some())
    };
    let before = subject.about(0.0).statistics;
    let checkpoint = subject.explore(checkpoint, effort, &[], &watchdog.stop, &mut go_on)?;
    if subject.facts() != facts {
        // It began again from the beginning, which is not its part.
        return Ok(Explores::Learnt(subject.facts()));
    }
    let cost = before.zip(subject.about(0.0).statistics).map(|(before, now)| now.since(&before));
    let shard = Shard { fingerprint, facts, checkpoint, cost, size };
    let is_done = shard.checkpoint.search.is_done();
    let shard = if is_done { shard } else { weigh(subject, shard, true, options, interrupt)? };
    Ok(Explores::Part(Box::new(shard)))
}
