//! Exploration and monitor together.
//!
//! A [`Verification`] advances a search whose workers each have a monitor; what they have seen is added up in the order of the search. A
//! [`Checkpoint`] is its whole state between two rounds, and can be saved.
//!
//! Invariants: the result depends on the program and on [`Settings`] only, not on [`Effort`] (but for limits that stop it). A checkpoint is resumed
//! with the settings it was made with.

use crate::Verdict;
use crate::seen::{ErrorKind, Seen};
use crate::watch::{Watch, Watching};
use membar_core::{ProgramModel, Relaxation};
use membar_explore::{Counts, Local, Program, Search, SearchState, Strategy, Work};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::atomic::AtomicBool;

/// How to verify a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The models.
    pub models: Models,
    /// Whether data races are errors.
    pub races: Races,
    /// Which executions to run.
    pub strategy: Strategy,
    /// Which monitor looks at them.
    pub watching: Watching,
    /// Steps after which a thread is not run any further; then the execution counts as cut.
    pub max_steps: usize,
}

/// How much to do, and with what. Unlike [`Settings`], this may change when a verification is taken up again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Workers of this process. Their number does not change the result.
    pub jobs: usize,
    /// Executions after which to stop. A systematic search may run a few more.
    pub max_executions: u64,
    /// Stop at the first violation or error.
    pub stop_at_first: bool,
    /// Runs after which to stop, whatever came of them.
    pub max_runs: u64,
    /// In which order, or something else.
    pub manner: Manner,
}

/// What [`Verification::advance`] does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Manner {
    /// Runs what is deep first: there is least to keep.
    #[default]
    Deep,
    /// Goes wide, so that what is left can be split into this many parts.
    Wide(usize),
    /// Guesses how large each subtree is that is left, so that it can be split.
    Weigh {
        /// And begins those that would show only later.
        complete: bool,
    },
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { jobs: 1, max_executions: u64::MAX, stop_at_first: false, max_runs: u64::MAX, manner: Manner::Deep }
    }
}

/// Under which models data races are errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Races {
    /// Under none.
    Off,
    /// Under C11, where a program with one means nothing.
    #[default]
    C11,
    /// Under all.
    On,
}

/// Some of the models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Models(u8);

impl Models {
    /// All of them.
    pub const ALL: [ProgramModel; 3] = [ProgramModel::Tso, ProgramModel::Pso, ProgramModel::C11];

    /// Whether this is one of them.
    pub fn contains(self, model: ProgramModel) -> bool {
        self.0 >> model as u8 & 1 != 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = ProgramModel> {
        Models::ALL.into_iter().filter(move |&model| self.contains(model))
    }
}

impl FromIterator<ProgramModel> for Models {
    fn from_iter<I: IntoIterator<Item = ProgramModel>>(models: I) -> Models {
        Models(models.into_iter().fold(0, |all, model| all | 1 << model as u8))
    }
}

impl<M: Into<ProgramModel>> From<M> for Models {
    fn from(model: M) -> Models {
        Models::from_iter([model.into()])
    }
}

impl Serialize for Models {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(ProgramModel::name))
    }
}

impl<'a> Deserialize<'a> for Models {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Models, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        let model = |name: &String| {
            let found = Models::ALL.into_iter().find(|model| model.name() == name);
            found.ok_or_else(|| D::Error::custom(format!("`{name}` is not a model for programs")))
        };
        names.iter().map(model).collect()
    }
}

impl Settings {
    /// The complete and usual settings: one execution of each happens-before class, our monitor, 10,000 steps per thread.
    pub fn new(models: impl Into<Models>) -> Settings {
        let (models, races) = (models.into(), Races::default());
        Settings { models, races, strategy: Strategy::Dpor, watching: Watching::Class, max_steps: 10_000 }
    }

    /// Whether data races are looked for.
    pub fn looks_for_races(&self) -> bool {
        self.watching != Watching::Nothing
            && match self.races {
                Races::Off => false,
                Races::C11 => self.models.contains(ProgramModel::C11),
                Races::On => true,
            }
    }

    /// Whether seeing no violation in all the executions of a complete search means that there is none.
    ///
    /// Ours may be asked about one execution of each class. So may `sober-fixed`, for TSO. What Burnim, Sen and Stergiou's
    /// say depends on the interleaving, so they need all of them; SOBER as published misses some whatever it is shown.
    pub fn monitor_is_complete(&self) -> bool {
        self.models.iter().all(|model| match (self.watching, model.machine()) {
            // The others are for store buffers.
            (Watching::Class, _) | (_, None) | (Watching::SoberFixed, Some(Relaxation::Tso)) => true,
            (Watching::Tso, Some(Relaxation::Tso)) | (Watching::Pso, Some(Relaxation::Pso)) => !self.strategy.is_dpor(),
            _ => false,
        })
    }
}

/// A verification between two rounds: everything that is needed to continue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The settings of this verification.
    pub settings: Settings,
    /// Where the search is.
    pub search: SearchState,
    /// Everything seen so far.
    pub seen: Seen,
}

impl Checkpoint {
    /// At the beginning.
    pub fn new(settings: Settings) -> Checkpoint {
        Checkpoint { settings, search: SearchState::new(settings.strategy), seen: Seen::default() }
    }

    /// Whether everything was examined, by a monitor that misses nothing in it.
    pub fn is_complete(&self) -> bool {
        let looked = self.search.is_complete() && !self.seen.too_long && self.seen.limit().is_none();
        let looked = looked && self.seen.unclear.is_empty();
        looked && self.settings.monitor_is_complete()
    }

    /// Hands out everything that is left, to at most this many verifications; nothing if the strategy cannot be split.
    pub fn split(&mut self, parts: usize) -> Option<Vec<Checkpoint>> {
        let settings = self.settings;
        let part = |search| Checkpoint { settings, search, seen: Seen::default() };
        Some(self.search.split(parts)?.into_iter().map(part).collect())
    }

    /// Takes back a part that has nothing left to run. There may be more to do now.
    pub fn rejoin(&mut self, part: Checkpoint) {
        self.search.rejoin(&part.search);
        self.seen.add(part.seen);
    }

    /// The answer so far.
    pub fn verdict(&self) -> Verdict {
        match () {
            () if !self.seen.violations.is_empty() => Verdict::Unsafe,
            () if self.seen.errors.iter().any(|error| !error.kind.is_limit()) => Verdict::Error,
            () if self.is_complete() => Verdict::Safe,
            () => Verdict::Undecided,
        }
    }

    /// The same as if only this model had been asked about.
    pub fn under(&self, model: ProgramModel) -> Checkpoint {
        let mut one = self.clone();
        one.settings.models = model.into();
        one.seen.violations.retain(|found| found.model == model);
        if model != ProgramModel::C11 {
            one.seen.unclear.clear();
        }
        if !one.settings.looks_for_races() {
            one.seen.errors.retain(|error| !matches!(error.kind, ErrorKind::Race { .. }));
        }
        one
    }

    /// Counts of the runs so far.
    pub fn counts(&self) -> Counts {
        self.search.counts()
    }
}

/// A verification in progress.
pub struct Verification<W> {
    search: Search<W>,
    settings: Settings,
    seen: Seen,
    effort: Effort,
}

impl<P: Program + Clone + Send> Verification<Local<P, Watch>> {
    /// Begins, or continues, at a checkpoint, with as many workers of this process as the effort says.
    pub fn local(checkpoint: Checkpoint, program: P, effort: Effort) -> Verification<Local<P, Watch>> {
        let Settings { max_steps, .. } = checkpoint.settings;
        let watch = Watch::new(&checkpoint.settings, program.threads(), effort.stop_at_first);
        let worker = || Local::new(program.clone(), watch.clone(), max_steps);
        let workers = (0..effort.jobs.max(1)).map(|_| worker()).collect();
        Verification::new(checkpoint, workers, effort)
    }
}

impl<W: Work<Part = Seen> + Send> Verification<W> {
    /// Begins, or continues, at a checkpoint, with these workers, whatever number of them the effort says. They run programs as
    /// [`Local`] ones with a [`Watch`] of the same settings and effort would.
    ///
    /// # Panics
    ///
    /// If there is no worker.
    pub fn new(checkpoint: Checkpoint, workers: Vec<W>, effort: Effort) -> Verification<W> {
        let Checkpoint { settings, search, seen } = checkpoint;
        let mut search = Search::new(search, workers, effort.max_executions);
        search.limit_runs(effort.max_runs);
        Verification { search, settings, seen, effort }
    }

    /// Goes on for some milliseconds, or until `stop`.
    pub fn advance(&mut self, stop: &AtomicBool) {
        let (seen, stop_at_first) = (&mut self.seen, self.effort.stop_at_first);
        let add = |more| {
            // Several workers may each have come to a first one.
            if !(stop_at_first && seen.has_found()) {
                seen.add(more);
            }
        };
        match self.effort.manner {
            Manner::Deep => self.search.advance(stop, add),
            Manner::Wide(parts) => self.search.widen(parts, stop, add),
            Manner::Weigh { complete } => self.search.weigh(complete, stop),
        }
    }

    /// Whether there is nothing left to run.
    pub fn is_done(&self) -> bool {
        self.search.state().is_done()
    }

    /// Whether the checkpoint turned out to be that of another program.
    pub fn is_foreign(&self) -> bool {
        self.search.is_foreign()
    }

    /// Whether something was found, and that was to be the end.
    pub fn has_found_first(&self) -> bool {
        self.effort.stop_at_first && self.seen.has_found()
    }

    /// Whether as many executions have been run as were asked for.
    pub fn is_out_of_executions(&self) -> bool {
        !self.is_done() && self.search.state().counts().executions >= self.effort.max_executions
    }

    /// Everything seen so far.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Where the search is.
    pub fn search(&self) -> &SearchState {
        self.search.state()
    }

    /// The workers.
    pub fn workers(&mut self) -> &mut [W] {
        self.search.workers()
    }

    /// The workers, for another verification with the same settings.
    pub fn into_workers(self) -> Vec<W> {
        self.search.into_workers()
    }

    /// Everything that is needed to continue later.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { settings: self.settings, search: self.search.state().clone(), seen: self.seen.clone() }
    }
}

/// Verifies a program from the beginning to the end, without limits.
pub fn verify<P: Program + Clone + Send>(program: &P, settings: Settings) -> Checkpoint {
    let mut verification = Verification::local(Checkpoint::new(settings), program.clone(), Effort::default());
    let stop = AtomicBool::new(false);
    while !verification.is_done() {
        verification.advance(&stop);
    }
    verification.checkpoint()
}
