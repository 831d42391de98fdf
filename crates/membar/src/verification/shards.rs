//! A search that is split, explored in parts by processes that know nothing of each other, and put together.

use crate::Failure;
use crate::programs::{Input, Litmus, Native, Round, Subject};
use crate::verify::{Checkpoint, Effort};
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
        let Shard { fingerprint, facts, checkpoint } = self.shard;
        same(subject, fingerprint)?;
        if !facts.is_null() {
            subject.know(facts.clone());
        }
        subject.go_back(facts, checkpoint.settings)?;
        Ok(checkpoint)
    }
}

/// Refuses another program.
fn same<S: Subject>(subject: &S, fingerprint: u64) -> Result<(), Failure> {
    if subject.fingerprint() == fingerprint {
        return Ok(());
    }
    let help = "install the same compiler and libraries, or build the program once with `membar cc` and verify that";
    Err(Failure::Usage(format!(
        "error: {} is built into another program here than where the plan was made\n = help: {help}",
        crate::report::safe(subject.name())
    )))
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
        Ok(Prepared(match program {
            Input::Litmus(path) => Program::Litmus(Box::new(Litmus::open(path)?)),
            Input::Text { name, text } => Program::Litmus(Box::new(Litmus::parse(name, text)?)),
            native => Program::Native(Box::new(Native::open(native, &options.native, options.jobs, options.time)?)),
        }))
    }

    /// Explores until there are this many subtrees to hand out, or for this long.
    pub fn begin(&mut self, options: &VerifyOptions, subtrees: usize, time: Duration) -> Result<Shard, Failure> {
        match &mut self.0 {
            Program::Litmus(litmus) => begin(&mut **litmus, options, subtrees, time),
            Program::Native(native) => begin(&mut **native, options, subtrees, time),
        }
    }

    /// Explores a part, to its end if there is time.
    pub fn run(
        &mut self,
        shard: Shard,
        options: &VerifyOptions,
        time: Option<Duration>,
        interrupt: &Interrupt,
    ) -> Result<Shard, Failure> {
        match &mut self.0 {
            Program::Litmus(litmus) => run(&mut **litmus, shard, options, time, interrupt),
            Program::Native(native) => run(&mut **native, shard, options, time, interrupt),
        }
    }
}

fn begin<S: Subject>(
    subject: &mut S,
    options: &VerifyOptions,
    subtrees: usize,
    time: Duration,
) -> Result<Shard, Failure> {
    if let Some(failure) = options.models.iter().find_map(|model| subject.refuses(model)) {
        return Err(failure);
    }
    let (began, stop) = (Instant::now(), AtomicBool::new(false));
    let effort = Effort { jobs: options.jobs, stop_at_first: options.stop_at_first, widen: true, ..Effort::default() };
    let mut go_on = |round: &Round<'_>| {
        round.search.branches_left() < subtrees
            && began.elapsed() < time
            && !round.has_first
            && round.seen.limit().is_none()
            && !options.interrupt.pressed()
    };
    let checkpoint = subject.explore(Checkpoint::new(options.settings()), effort, &[], &stop, &mut go_on)?;
    Ok(Shard { fingerprint: subject.fingerprint(), facts: subject.facts(), checkpoint })
}

fn run<S: Subject>(
    subject: &mut S,
    shard: Shard,
    options: &VerifyOptions,
    time: Option<Duration>,
    interrupt: &Interrupt,
) -> Result<Shard, Failure> {
    let Shard { fingerprint, facts, checkpoint } = shard;
    same(subject, fingerprint)?;
    if !facts.is_null() && !subject.know(facts.clone()) {
        return Err(Failure::Usage("error: the shard does not say what is known about the program".into()));
    }
    let deadline = time.and_then(|time| Instant::now().checked_add(time));
    let watchdog = super::watchdog::Watchdog::new(deadline, interrupt);
    let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let effort = Effort { jobs: options.jobs, stop_at_first: options.stop_at_first, ..Effort::default() };
    let mut asked = Instant::now();
    let mut go_on = |round: &Round<'_>| {
        if asked.elapsed() > ASK {
            asked = Instant::now();
            if (round.facts)() != facts {
                return false;
            }
        }
        !(round.has_first || interrupt.pressed() || late() || round.seen.limit().is_some())
    };
    let checkpoint = subject.explore(checkpoint, effort, &[], &watchdog.stop, &mut go_on)?;
    if subject.facts() != facts {
        // It began again from the beginning, which is not its part.
        let help = "make the plan again, with more time to learn: --explore 60s";
        return Err(Failure::Usage(format!(
            "error: {}: this part of the search found out something about the program that the plan did not know\n = help: {help}",
            crate::report::safe(subject.name())
        )));
    }
    Ok(Shard { fingerprint, facts, checkpoint })
}
