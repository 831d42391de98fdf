//! Campaigns: random programs on a machine, one test after the other, every result checked.
//!
//! A campaign takes what runs programs, a [`Source`], and a [`Plan`]. The seed of test `i` is the campaign's plus `i`, so one
//! test can be run again by itself. Tests are claimed in order by workers, each of which writes the program, has it run,
//! decides the trace and certifies the decision; a source that can run one program at a time waits for itself. The calling
//! thread takes the results in the order of the tests: so a campaign finds the same, and stops at the same test,
//! with any number of workers.
//!
//! | file | does |
//! |---|---|
//! | `simulated`, `hardware` | what runs programs: simulated machines, and this machine's cores |
//! | `test` | one test: from its seed to a verdict |
//! | `counters` | what is counted |
//! | `bundle` | a violation as a directory |
//! | `state` | the file that a campaign continues from |
//! | `merge` | parts of a campaign that were run apart, put together |
//! | `summary` | the end, for people and as JSON |

mod bundle;
mod counters;
mod hardware;
mod merge;
mod simulated;
mod state;
mod summary;
mod test;

pub use hardware::Hardware;
pub use merge::{Part, Recorded, merged};
pub use simulated::{Simulated, Timestamps};
pub use summary::{Stopped, json};
pub use test::Buffers;

use crate::core::Clock;
use crate::guard::guarded;
use crate::report::campaign::{Counts, Found};
use crate::report::count;
use crate::simulate::{Profile, Program, Record, Times, profile};
use crate::{Budget, Chosen, Failure, Interrupt, Listener, Now};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use test::{Done, Outcome, Tester};

/// How long nothing may arrive before the progress line is drawn again.
const TICK: Duration = Duration::from_millis(200);
/// Time between two saved states.
const SAVE: Duration = Duration::from_secs(5);
/// Tests that a worker is ahead of the slowest one, at most.
const AHEAD: u64 = 32;

/// A campaign that was told no end makes this many tests,
pub const TESTS: u64 = 1000;
/// or what can be done in this time.
pub const TIME: Duration = Duration::from_secs(10);

/// Something that runs programs. It is used by several threads concurrently.
pub trait Source: Sync {
    /// Its name in directories and messages: `mesi-tso+no-replay`.
    fn name(&self) -> String;
    /// A description for the files that are kept. A campaign continues from a state only where this is the same.
    fn describe(&self) -> serde_json::Value;
    /// The command and the arguments that choose it: `simulate --machine mesi-tso`.
    fn command(&self) -> Vec<String>;
    /// Does the same seed give the same run?
    fn repeatable(&self) -> bool;
    /// Runs a program. An error ends the campaign.
    fn run(&self, program: &Program, seed: u64) -> Result<Observed, String>;
}

/// The record of a run.
pub struct Observed {
    /// The values read.
    pub record: Record,
    /// When operations were pending, where that is known.
    pub times: Option<Times>,
    /// The meaning of the times.
    pub clock: Clock,
}

/// A profile as the user chose it.
#[derive(Clone, Debug)]
pub struct ChosenProfile {
    /// The argument of `--profile`.
    pub arg: String,
    /// The profile, with what other flags changed.
    pub profile: Profile,
    /// These flags, to give again.
    pub flags: Vec<String>,
}

/// The plan of a campaign.
pub struct Plan {
    /// At least one; tests take them in turn.
    pub profiles: Vec<ChosenProfile>,
    /// The model that traces are checked against.
    pub model: Chosen,
    /// The seed of the first test.
    pub seed: u64,
    /// The number of the first test that is made: those before it are made elsewhere.
    pub first: u64,
    /// This many tests in all, those of earlier runs included.
    pub tests: Option<u64>,
    /// How long to run this time.
    pub time: Option<Duration>,
    /// Workers.
    pub jobs: usize,
    /// Go on after a violation.
    pub keep_going: bool,
    /// But not after this many.
    pub max_violations: u64,
    /// Where violations are kept.
    pub output: PathBuf,
    /// Where the campaign continues from.
    pub state: Option<PathBuf>,
    /// Limits of one decision.
    pub budget: Budget,
}

impl Plan {
    /// A thousand tests of the default profile against this model, or as many as ten seconds allow, each decided without
    /// limits; violations are kept in `violations`.
    pub fn new(model: Chosen) -> Result<Plan, Failure> {
        let profile = profile::load("default").map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(Plan {
            profiles: vec![ChosenProfile { arg: "default".into(), profile, flags: Vec::new() }],
            model,
            seed: 1,
            first: 0,
            tests: Some(TESTS),
            time: Some(TIME),
            jobs: 1,
            keep_going: false,
            max_violations: u64::MAX,
            output: "violations".into(),
            state: None,
            budget: Budget::default(),
        })
    }

    /// The profile of a test.
    fn profile(&self, test: u64) -> &ChosenProfile {
        &self.profiles[(test % self.profiles.len() as u64) as usize]
    }

    /// The seed of a test.
    fn seed(&self, test: u64) -> u64 {
        self.seed.wrapping_add(test)
    }

    /// The command line that runs one test again.
    fn command(&self, source: &dyn Source, test: u64) -> String {
        let profile = self.profile(test);
        let mut words = vec!["membar".to_owned()];
        words.extend(source.command());
        words.extend(["--profile".to_owned(), profile.arg.clone()]);
        words.extend(profile.flags.iter().cloned());
        words.extend(["--model".to_owned(), self.model.arg.clone()]);
        words.extend(["--seed".to_owned(), self.seed(test).to_string(), "--tests".to_owned(), "1".to_owned()]);
        words.iter().map(|word| crate::report::quoted_path(word)).collect::<Vec<_>>().join(" ")
    }
}

/// The result of a campaign.
pub struct Campaign {
    /// The counts, in all runs.
    pub counters: Counts,
    /// Why it ended.
    pub stopped: Stopped,
    /// With `keep_going`: the counts when each violation had been counted, without the violations themselves.
    pub milestones: Vec<Counts>,
    /// Tests of other machines lie in between: seeds are not consecutive.
    pub scattered: bool,
}

/// Runs a campaign to its end, which an interrupt may bring about early.
///
/// ```
/// use membar::campaign::{Plan, Simulated};
/// use membar::simulate::{Machine, Setup};
/// use membar::{Chosen, Interrupt, VerdictKind, campaign};
///
/// let machine = Simulated::new(Setup::from(Machine::MesiTso).with("stale-forward")?);
/// let directory = tempfile::tempdir()?;
/// let plan = Plan { tests: Some(100), output: directory.path().into(), ..Plan::new(Chosen::load("tso")?)? };
/// let found = campaign(&plan, &machine, &Interrupt::default(), &())?;
/// assert_eq!(found.verdict(), VerdictKind::Forbidden);
/// assert!(std::path::Path::new(&found.counters.violations[0].bundle).join("shrunk.trace").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(
    plan: &Plan,
    source: &dyn Source,
    interrupt: &Interrupt,
    listener: &dyn Listener,
) -> Result<Campaign, Failure> {
    run_in(plan, source, interrupt, listener, &mut Vec::new(), false)
}

/// The same with buffers of earlier campaigns, one for each worker; there are as many as that afterwards. A single worker is this thread:
/// starting another one takes longer than a short test.
pub fn run_with(
    plan: &Plan,
    source: &dyn Source,
    interrupt: &Interrupt,
    buffers: &mut Vec<Buffers>,
) -> Result<Campaign, Failure> {
    run_in(plan, source, interrupt, &(), buffers, plan.jobs == 1)
}

fn run_in(
    plan: &Plan,
    source: &dyn Source,
    interrupt: &Interrupt,
    listener: &dyn Listener,
    buffers: &mut Vec<Buffers>,
    alone: bool,
) -> Result<Campaign, Failure> {
    let counters = match &plan.state {
        Some(path) => state::load(path, plan, source)?,
        None => Counts { tests: plan.first, ..Counts::default() },
    };
    bundle::sweep(&plan.output);
    let shared = Shared {
        plan,
        source,
        interrupt,
        deadline: plan.time.and_then(|time| Instant::now().checked_add(time)),
        claimed: AtomicU64::new(counters.tests),
        settled: AtomicU64::new(counters.tests),
        over: AtomicBool::new(false),
    };
    let mut collector = Collector {
        shared: &shared,
        listener,
        before: (counters.tests, counters.operations, counters.seconds),
        counters,
        begun: Instant::now(),
        saved: Instant::now(),
        milestones: Vec::new(),
    };
    // Whether it can be written is better known now than after an hour.
    collector.save()?;
    buffers.resize_with(plan.jobs, Buffers::default);
    let collected = match &mut buffers[..] {
        [buffers] if alone => collector.work(buffers),
        buffers => std::thread::scope(|scope| {
            let (send, arriving) = sync_channel(2 * plan.jobs);
            for buffers in buffers {
                let (shared, send) = (&shared, send.clone());
                scope.spawn(move || shared.work(|number, done| send.send((number, done)).is_ok(), buffers));
            }
            drop(send);
            let collected = collector.collect(arriving);
            shared.over.store(true, Relaxed);
            collected
        }),
    };
    listener.rest();
    collector.counters.seconds = collector.seconds();
    let saved = collector.save();
    let stopped = collected?;
    saved?;
    Ok(Campaign { counters: collector.counters, stopped, milestones: collector.milestones, scattered: false })
}

/// State shared by workers and collector.
struct Shared<'a> {
    plan: &'a Plan,
    source: &'a dyn Source,
    interrupt: &'a Interrupt,
    deadline: Option<Instant>,
    /// The next test that nobody has taken.
    claimed: AtomicU64,
    /// The first test whose result has not been counted.
    settled: AtomicU64,
    over: AtomicBool,
}

impl Shared<'_> {
    fn late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn ends(&self) -> bool {
        self.over.load(Relaxed) || self.interrupt.pressed() || self.late()
    }

    /// Takes tests until there are none left, or nobody wants more. A test left undecided by an interrupt is not sent.
    fn work(&self, mut send: impl FnMut(u64, Result<Done, Failure>) -> bool, buffers: &mut Buffers) {
        let mut tester = Tester::new(self.plan, self.source, buffers);
        loop {
            let ahead = self.claimed.load(Relaxed).saturating_sub(self.settled.load(Relaxed));
            if ahead >= AHEAD * self.plan.jobs as u64 && !self.ends() {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            if self.ends() {
                return;
            }
            let number = self.claimed.fetch_add(1, Relaxed);
            if self.plan.tests.is_some_and(|tests| number >= tests) {
                return;
            }
            let done = guarded(|| tester.test(number)).unwrap_or_else(|panic| {
                tester.forget();
                let command = self.plan.command(self.source, number);
                Err(Failure::Internal(format!("{command}: {panic}")))
            });
            let open = matches!(&done, Ok(Done { outcome: Outcome::Undecided, .. }));
            if (open && self.interrupt.pressed()) || !send(number, done) {
                return;
            }
        }
    }
}

/// Takes results in the order of the tests.
struct Collector<'a> {
    shared: &'a Shared<'a>,
    counters: Counts,
    /// Tests, operations and seconds of earlier runs.
    before: (u64, u64, f64),
    begun: Instant,
    saved: Instant,
    milestones: Vec<Counts>,
    listener: &'a dyn Listener,
}

impl Collector<'_> {
    fn seconds(&self) -> f64 {
        self.before.2 + self.begun.elapsed().as_secs_f64()
    }

    fn collect(&mut self, arriving: Receiver<(u64, Result<Done, Failure>)>) -> Result<Stopped, Failure> {
        let mut early: BTreeMap<u64, Result<Done, Failure>> = BTreeMap::new();
        loop {
            match arriving.recv_timeout(TICK) {
                Ok((number, done)) => drop(early.insert(number, done)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Some(done) = early.remove(&self.counters.tests) {
                if let Some(stopped) = self.count(done?)? {
                    return Ok(stopped);
                }
            }
            self.listener.progress(&|| self.now());
            if self.saved.elapsed() > SAVE {
                self.counters.seconds = self.seconds();
                self.save()?;
            }
        }
        Ok(self.stopped())
    }

    /// Makes tests and counts them, one after the other.
    fn work(&mut self, buffers: &mut Buffers) -> Result<Stopped, Failure> {
        let (shared, mut ended) = (self.shared, Ok(None));
        let count = |_, done: Result<Done, Failure>| {
            ended = done.and_then(|done| self.count(done));
            matches!(ended, Ok(None))
        };
        shared.work(count, buffers);
        Ok(ended?.unwrap_or_else(|| self.stopped()))
    }

    /// Why there are no more tests.
    fn stopped(&self) -> Stopped {
        match () {
            () if self.shared.plan.tests.is_some_and(|tests| self.counters.tests >= tests) => Stopped::Tests,
            () if self.shared.interrupt.pressed() => Stopped::Interrupted,
            () => Stopped::Time,
        }
    }

    /// Counts the next test. A violation is kept first: if that fails, the test has not been made.
    fn count(&mut self, done: Done) -> Result<Option<Stopped>, Failure> {
        let plan = self.shared.plan;
        let test = self.counters.tests;
        let kept = match &done.outcome {
            Outcome::Forbidden(evidence) => {
                let counts = format!("shrinking the violation of test {}", test + 1);
                self.listener.busy(&|| Now { counts: counts.clone(), share: None, ..self.now() });
                Some(bundle::write(plan, self.shared.source, test, evidence)?)
            }
            _ => None,
        };
        let seconds = self.seconds();
        counters::count(&mut self.counters, &done, seconds);
        self.shared.settled.store(self.counters.tests, Relaxed);
        let Some(kept) = kept else { return Ok(None) };
        self.listener.rest();
        if plan.keep_going {
            self.listener.note(&format!("violation: seed {}, kept in {}", plan.seed(test), kept.shown()));
        }
        self.counters.violations.push(Found {
            test,
            seed: plan.seed(test),
            profile: plan.profile(test).profile.name.clone(),
            operations: self.counters.operations,
            bundle: kept.path.to_string_lossy().into_owned(),
            what: kept.what,
            shape: kept.shape,
            reduced: kept.reduced,
            command: plan.command(self.shared.source, test),
        });
        self.counters.seconds = self.seconds();
        if plan.keep_going {
            let (violations, speed) = (Vec::new(), Default::default());
            self.milestones.push(Counts { violations, speed, ..self.counters.clone() });
        }
        self.save()?;
        Ok(match plan.keep_going {
            false => Some(Stopped::Violation),
            true if self.counters.violations.len() as u64 >= plan.max_violations => Some(Stopped::Violations),
            true => None,
        })
    }

    /// How far this run of the campaign is: by tests or by time, whichever is over first.
    fn now(&self) -> Now {
        let (plan, counters) = (self.shared.plan, &self.counters);
        let seconds = self.begun.elapsed().as_secs_f64();
        let tests = counters.tests - self.before.0;
        let by_tests = plan.tests.map(|all| tests as f64 / all.saturating_sub(self.before.0).max(1) as f64);
        let by_time = plan.time.map(|all| seconds / all.as_secs_f64().max(0.001));
        let rate = (counters.operations - self.before.1) as f64 / seconds.max(0.001);
        let mut counts = format!(
            "{}, {} ops, {} ops/s",
            count(counters.tests as usize, "test"),
            summary::short(counters.operations as f64),
            summary::short(rate)
        );
        if counters.sampled > 0 {
            counts += &format!(", {}/{} relaxed", counters.relaxed, counters.sampled);
        }
        counts += &format!(", {}", count(counters.forbidden as usize, "violation"));
        let share = by_tests.into_iter().chain(by_time).reduce(f64::max);
        Now { name: self.shared.source.name(), share, seconds, limit: None, counts }
    }

    fn save(&mut self) -> Result<(), Failure> {
        self.saved = Instant::now();
        match &self.shared.plan.state {
            Some(path) => state::save(path, self.shared.plan, self.shared.source, &self.counters),
            None => Ok(()),
        }
    }
}
