//! Work for many machines: `membar plan`, `work`, `merge` and `status`.
//!
//! A command is split into shards that never talk to each other; each is a small file, and so is its result. Whatever people have runs
//! the workers: a Slurm array, a CI matrix, GNU parallel, `xargs`.
//!
//! | file | does |
//! |---|---|
//! | `store` | the directory: manifest, shards, results, all written once |
//! | `tests` | campaigns, split by seed |
//! | `outcomes` | litmus tests on real cores, split by outcomes |
//! | `machines` | results of real cores, told apart by machine |
//! | `traces` | trace files, split by file and within a file |
//! | `search` | exploration, split by subtree |
//! | `status` | progress |
//! | `submit` | scripts for engines |

mod machines;
mod outcomes;
mod search;
mod status;
mod store;
mod submit;
mod tests;
mod traces;

pub use status::status;

use crate::cli::{Cli, Command, MergeArgs, PlanArgs, Simulate, Stress, WorkArgs};
use crate::{stop, terminal};
use clap::{Parser, ValueEnum};
use membar::guard::guarded;
use membar::programs::hash;
use membar::report::{Style, count, safe};
use membar::{Failure, Interrupt};
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Done, Id, InputFile, Manifest, Presence, State, Store, Unusable};

/// How often a worker looks for a reason to stop.
const LOOK: Duration = Duration::from_millis(250);
/// How long it may take until a signal is noticed.
const NOTICE: Duration = Duration::from_millis(100);
/// How often it tells that it is still there.
const TOUCH: Duration = Duration::from_secs(15);
/// New shards that what is left of one becomes, at most.
const PIECES: u64 = 4;

/// A command as a plan: its shards, and what they need.
struct Split {
    merge: store::Merge,
    inputs: Vec<PathBuf>,
    root: Option<Value>,
    shards: Vec<Value>,
    /// What was found on the way.
    found: u64,
}

/// What came of a shard.
struct Ran {
    /// As JSON.
    result: String,
    units: u64,
    found: u64,
    /// What is left of it.
    rest: Vec<Value>,
}

/// What came of running it.
enum Came {
    Ran(Ran),
    /// Something that makes the plan useless.
    Learnt(search::Learnt),
}

/// Runs shards of one plan.
trait Job {
    fn run(&mut self, shard: Value, time: Option<Duration>) -> Result<Came, Failure>;

    /// Writes shards that show only now that others are done; whether there were any.
    fn follow(&mut self, _: &Store) -> Result<bool, Failure> {
        Ok(false)
    }
}

/// The name of a plan, for a command line.
fn plan_name(path: &Path) -> String {
    let name = membar::report::quoted_path(&path.to_string_lossy());
    if name.starts_with('-') { format!("./{name}") } else { name }
}

fn usage(message: String) -> Failure {
    Failure::Usage(message)
}

/// The command that these words are.
fn parsed(words: &[String]) -> Result<Command, Failure> {
    let line = std::iter::once("membar".to_owned()).chain(words.iter().cloned());
    Cli::try_parse_from(line).map(|cli| cli.command).map_err(|error| usage(error.to_string()))
}

/// `membar plan`
pub fn plan(args: &PlanArgs) -> Result<u8, Failure> {
    let mut directory = args.directory.clone();
    let (words, learnt) = match &args.again {
        None => (args.command.clone(), Vec::new()),
        Some(old) => {
            let mut old = Store::open(old)?;
            directory = std::path::absolute(&directory).unwrap_or(directory);
            old.enter()?;
            (old.manifest.command.clone(), old.learnt().into_iter().map(|(_, learnt)| learnt).collect())
        }
    };
    let command = parsed(&words)?;
    let split = match &command {
        Command::Simulate(simulate) => tests::split_simulate(simulate, args.shards)?,
        Command::Stress(stress) if !stress.files.is_empty() => outcomes::split(stress, args.shards)?,
        Command::Stress(stress) => tests::split_stress(stress, args.shards)?,
        Command::Check(check) => traces::split(check, args.shards)?,
        Command::Verify(verify) => search::split(verify, args, &learnt)?,
        _ => {
            return Err(usage(format!(
                "error: `{}` cannot be split\n = help: plans are for simulate, stress, check and verify",
                safe(&words[0])
            )));
        }
    };
    let input = |name: &PathBuf| {
        InputFile::new(name)
            .map_err(|error| usage(format!("error: cannot read {}: {error}", safe(&name.to_string_lossy()))))
    };
    let inputs = split.inputs.iter().map(input).collect::<Result<Vec<_>, _>>()?;
    let shards = u32::try_from(split.shards.len()).unwrap_or(u32::MAX);
    let manifest = Manifest {
        shard_time: args.shard_time.0.map(|time| time.as_secs_f64()),
        stop_at_first: args.stop_at_first || matches!(&command, Command::Verify(verify) if verify.stop_at_first),
        found: split.found,
        ..Store::manifest(words, split.merge, inputs, shards)
    };
    let store = Store::create(&directory, manifest, split.root.as_ref(), &split.shards)?;
    let name = plan_name(&args.directory);
    let mut out = io::stdout();
    writeln!(out, "{} in {name}", count(split.shards.len(), "shard"))?;
    match args.submit {
        Some(engine) => submit::submit(engine, args, &store, &mut out)?,
        None if split.shards.is_empty() => {
            writeln!(out, "Nothing is left to do for workers. Next: `membar merge {name}`")?;
        }
        None => writeln!(out, "Next: `membar work {name}`, on any number of machines, then `membar merge {name}`")?,
    }
    Ok(stop::ALLOWED)
}

fn job(store: &Store, interrupt: &Interrupt) -> Result<Box<dyn Job>, Failure> {
    match parsed(&store.manifest.command)? {
        Command::Simulate(args) => tests::simulate_job(&args, interrupt),
        Command::Stress(args) if !args.files.is_empty() => Ok(outcomes::job(args, interrupt)),
        Command::Stress(args) => tests::stress_job(&args, interrupt),
        Command::Check(args) => traces::job(args, interrupt),
        Command::Verify(args) => search::job(args, interrupt),
        _ => Err(usage("error: the command of the plan cannot be split".into())),
    }
}

/// What ends a plan before all of its shards are done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Nothing,
    /// A campaign ends at its first violation: shards with later seeds are of no use once one is known.
    FirstInOrder,
    /// `--stop-at-first`
    First,
}

impl Ending {
    fn of(manifest: &Manifest) -> Ending {
        match parsed(&manifest.command) {
            _ if manifest.stop_at_first => Ending::First,
            Ok(Command::Simulate(args)) if !args.campaign.keep_going => Ending::FirstInOrder,
            Ok(Command::Stress(args)) if !args.campaign.keep_going && args.files.is_empty() => Ending::FirstInOrder,
            _ => Ending::Nothing,
        }
    }
}

/// The shards that need not be run.
struct Needless {
    ending: Ending,
    found: BTreeSet<Id>,
    /// Something was found before there were shards.
    planning: bool,
}

impl Needless {
    fn now(store: &Store, ending: Ending) -> Needless {
        let found = if ending == Ending::Nothing { BTreeSet::new() } else { store.found() };
        Needless { ending, found, planning: store.manifest.found > 0 }
    }

    /// Whether this one, which has no result that counts, need not be run. If something was found in it, its result was lost.
    fn has(&self, id: &Id) -> bool {
        match self.ending {
            Ending::Nothing => false,
            Ending::FirstInOrder => self.found.first().is_some_and(|first| first < id),
            Ending::First => (self.planning || !self.found.is_empty()) && !self.found.contains(id),
        }
    }
}

/// The shards that words mean.
enum Selection {
    All,
    Some(Vec<Choice>),
}

enum Choice {
    One(Id),
    Range(u32, u32),
    Every(u32, u32),
}

impl Selection {
    fn parse(words: &[String]) -> Result<Selection, Failure> {
        let choice = |word: &String| {
            let number = |text: &str| text.parse::<u32>().ok().filter(|&n| n > 0);
            let choice = match (word.split_once('-'), word.split_once('/')) {
                (Some((from, to)), _) => number(from).zip(number(to)).map(|(from, to)| Choice::Range(from, to)),
                (_, Some((k, of))) => {
                    number(k).zip(number(of)).filter(|(k, of)| k <= of).map(|(k, of)| Choice::Every(k, of))
                }
                _ => word.parse().ok().map(Choice::One),
            };
            choice.ok_or_else(|| {
                usage(format!("error: `{}` is not a shard\n = help: write 7, 7.2, 1-20 or 3/100", safe(word)))
            })
        };
        match words {
            [] => Ok(Selection::All),
            words => words.iter().map(choice).collect::<Result<_, _>>().map(Selection::Some),
        }
    }

    fn has(&self, id: &Id) -> bool {
        let first = id.0.first().copied().unwrap_or(0);
        match self {
            Selection::All => true,
            Selection::Some(choices) => choices.iter().any(|choice| match choice {
                Choice::One(one) => id.0.starts_with(&one.0),
                Choice::Range(from, to) => (*from..=*to).contains(&first),
                Choice::Every(k, of) => (first - 1) % of + 1 == *k,
            }),
        }
    }

    /// Shards that were asked for and do not exist.
    fn check(&self, store: &Store) -> Result<(), Failure> {
        let Selection::Some(choices) = self else { return Ok(()) };
        for choice in choices {
            let (id, most) = match choice {
                Choice::One(id) => (id.clone(), id.0[0]),
                Choice::Range(from, to) => (Id(vec![*from.max(to)]), *from.max(to)),
                Choice::Every(..) => continue,
            };
            if most > store.manifest.shards && matches!(store.shard(&id), Err(Unusable::Missing)) {
                let all = count(store.manifest.shards as usize, "shard");
                return Err(usage(format!("error: there is no shard {id}: the plan has {all}")));
            }
        }
        Ok(())
    }
}

/// How a worker's run through its shards went.
#[derive(Default)]
struct Tally {
    left: bool,
    refused: bool,
    internal: bool,
    /// A result could not be written: others cannot be, either, so no more are made.
    full: bool,
    outdated: bool,
}

/// `membar work`
pub fn work(args: &WorkArgs) -> Result<u8, Failure> {
    let mut store = Store::open(&args.plan)?;
    let selection = Selection::parse(&args.shards)?;
    selection.check(&store)?;
    store.enter()?;
    if let Some(outdated) = outdated(&store) {
        return Err(usage(outdated));
    }
    let shown = safe(&args.plan.to_string_lossy());
    if let Err(error) = store.probe() {
        let message = format!("error: {shown}: results cannot be written there: {error}");
        if is_final(&error) {
            return Err(usage(message));
        }
        say(&format!("{message}\n = help: try again once that works"));
        return Ok(stop::UNDECIDED);
    }
    store.sweep();
    let key = stop::on_key();
    let interrupt = Interrupt::default();
    let mut job = job(&store, &interrupt)?;
    let until = args.time.0.and_then(|time| Instant::now().checked_add(time));
    let (ending, presence) = (Ending::of(&store.manifest), store.appear());
    let worker = Worker { store, key, interrupt, until, ending, quiet: args.quiet, presence, at: Mutex::new(None) };
    let over = AtomicBool::new(false);
    let tally = std::thread::scope(|scope| {
        let watching = scope.spawn(|| worker.watch(&over));
        let tally = guarded(|| worker.all(&selection, &mut *job));
        over.store(true, Ordering::Relaxed);
        watching.thread().unpark();
        tally
    });
    Ok(match tally.map_err(Failure::Internal)? {
        Tally { internal: true, .. } => stop::INTERNAL,
        Tally { refused: true, .. } => stop::BAD,
        Tally { left: true, .. } => stop::UNDECIDED,
        _ => stop::ALLOWED,
    })
}

/// Why workers can do nothing more for a plan, if a shard found out something that all of it would have to rest on.
fn outdated(store: &Store) -> Option<String> {
    let (id, _) = store.learnt().into_iter().next()?;
    let plan = plan_name(&store.path);
    Some(format!(
        "error: shard {id} found out something about the program that the plan did not know: its shards are of no use\n = help: \
         `membar plan NEW --again {plan}` makes a plan for the same command that knows it"
    ))
}

/// The shards that are to be done.
fn open_shards(store: &Store, selection: &Selection, tried: &HashSet<Id>) -> Vec<Id> {
    let states = store.scan();
    let open = states.into_iter().filter(|(id, state)| !matches!(state, State::Done(_)) && selection.has(id));
    let mut open: Vec<Id> = open.map(|(id, _)| id).filter(|id| !tried.contains(id)).collect();
    if matches!(selection, Selection::All) && !open.is_empty() {
        // Workers that begin at the same time begin at different places, far apart.
        let worker = format!("{} {}", store::host(), std::process::id());
        let start = hash(worker.as_bytes()) % open.len() as u64;
        open.rotate_left(start as usize);
    }
    open
}

/// Whether an error will be the same next time.
fn is_final(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
}

fn say(text: &str) {
    terminal::tell(text);
}

/// A process that runs shards, one after the other, and the thread that watches it.
struct Worker {
    store: Store,
    /// Somebody wants it to end.
    key: Interrupt,
    /// The shard is to end.
    interrupt: Interrupt,
    until: Option<Instant>,
    ending: Ending,
    quiet: bool,
    /// What others see of it.
    presence: Option<Presence>,
    /// The shard that is being run.
    at: Mutex<Option<Id>>,
}

impl Worker {
    fn at(&self) -> MutexGuard<'_, Option<Id>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claims(&self, id: &Id) -> bool {
        self.presence.as_ref().is_none_or(|presence| self.store.claim(id, presence))
    }

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Ends shards that are to end, and tells others that the worker is there.
    fn watch(&self, over: &AtomicBool) {
        let mut renewed = Instant::now();
        while !over.load(Ordering::Relaxed) {
            std::thread::park_timeout(LOOK);
            if renewed.elapsed() > TOUCH {
                self.presence.iter().for_each(Presence::renew);
                renewed = Instant::now();
            }
            let Some(id) = self.at().clone() else { continue };
            let is_stopped =
                self.key.pressed() || Needless::now(&self.store, self.ending).has(&id) || self.store.is_outdated();
            // Meanwhile it may be at another shard, which must not be ended for this.
            let at = self.at();
            if is_stopped && at.as_ref() == Some(&id) {
                self.interrupt.press();
            }
        }
    }

    /// Runs the open shards until there are no more. Those that another worker is at come last: by then it has finished most of
    /// them, and it may have died in the others.
    fn all(&self, selection: &Selection, job: &mut dyn Job) -> Tally {
        let (mut tally, mut tried) = (Tally::default(), HashSet::new());
        let mut others = false;
        loop {
            let open = open_shards(&self.store, selection, &tried);
            if open.is_empty() {
                // Some shards show only when others are done.
                match guarded(|| job.follow(&self.store)).unwrap_or_else(|panic| Err(Failure::Internal(panic))) {
                    Ok(true) => continue,
                    Ok(false) => break,
                    Err(failure) => {
                        match failure {
                            Failure::Internal(_) => tally.internal = true,
                            Failure::Usage(_) | Failure::Input(_) => tally.refused = true,
                            _ => tally.left = true,
                        }
                        say(&format!("new shards cannot be made: {failure}"));
                        break;
                    }
                }
            }
            let before = tried.len();
            for id in open {
                if self.key.pressed() || self.is_late() || tally.full {
                    tally.left = true;
                    break;
                }
                if self.is_outdated(&mut tally) {
                    break;
                }
                let is_needless = Needless::now(&self.store, self.ending).has(&id);
                let is_over = is_needless || self.store.has_result(&id);
                if is_over || self.claims(&id) || others {
                    tried.insert(id.clone());
                }
                if !is_over && tried.contains(&id) {
                    self.one(&id, job, &mut tally);
                }
            }
            others = tried.len() == before;
            if tally.left || tally.refused || tally.internal {
                break;
            }
        }
        tally
    }

    /// Whether nothing more can be done; says so once.
    fn is_outdated(&self, tally: &mut Tally) -> bool {
        let outdated = outdated(&self.store);
        if let Some(outdated) = outdated.as_ref().filter(|_| !tally.outdated) {
            (tally.refused, tally.outdated) = (true, true);
            say(outdated);
        }
        outdated.is_some()
    }

    /// Runs one shard and keeps its result.
    fn one(&self, id: &Id, job: &mut dyn Job, tally: &mut Tally) {
        let store = &self.store;
        let shard = match store.shard(id) {
            Ok(shard) => shard,
            Err(unusable) => {
                tally.refused = true;
                store.leave(id);
                return say(&format!(
                    "error: shard {id} {unusable}\n = help: make the plan again, or restore the file"
                ));
            }
        };
        let begun = Instant::now();
        {
            let mut at = self.at();
            self.interrupt.0.store(false, Ordering::Relaxed);
            *at = Some(id.clone());
        }
        let ran = self.run(shard, job);
        *self.at() = None;
        store.leave(id);
        match ran {
            Ok(Came::Learnt(learnt)) => match store.add_learnt(id, &learnt) {
                Ok(()) => drop(self.is_outdated(tally)),
                Err(error) => {
                    (tally.left, tally.full) = (true, true);
                    say(&format!("error: the findings of shard {id} about the program cannot be written: {error}"));
                }
            },
            Ok(Came::Ran(ran)) => {
                tally.left |= !ran.rest.is_empty() && (self.key.pressed() || self.is_late());
                let done = Done {
                    host: store::host().to_owned(),
                    machine: machines::this().to_owned(),
                    seconds: begun.elapsed().as_secs_f64(),
                    units: ran.units,
                    found: ran.found,
                    rest: ran.rest.len() as u32,
                };
                let found = ran.found;
                let kept = store.keep(id, done, &ran.result, &ran.rest);
                let kept = kept.and_then(|kept| if found > 0 { store.mark(id).map(|()| kept) } else { Ok(kept) });
                match kept {
                    Ok(true) if self.quiet => {}
                    Ok(true) if found > 0 => say(&format!("shard {id}: {}", count(found as usize, "finding"))),
                    Ok(true) => say(&format!("shard {id}: done")),
                    Ok(false) => say(&format!("shard {id}: somebody else was faster; that result counts")),
                    Err(error) => {
                        if is_final(&error) {
                            tally.refused = true;
                        }
                        (tally.left, tally.full) = (true, true);
                        say(&format!("error: the result of shard {id} cannot be written: {error}"));
                    }
                }
            }
            Err(Failure::Late) => tally.left = true,
            Err(failure) => {
                // A signal to the whole group ends the processes that run the program, too, perhaps before it is noticed here.
                std::thread::sleep(NOTICE);
                match failure {
                    _ if self.key.pressed() => tally.left = true,
                    Failure::Internal(_) => tally.internal = true,
                    Failure::Write(_) => tally.left = true,
                    _ => tally.refused = true,
                }
                say(&format!("shard {id}: {failure}"));
            }
        }
    }

    /// Runs a shard for its time, or for longer if it gets nowhere in that.
    fn run(&self, shard: Value, job: &mut dyn Job) -> Result<Came, Failure> {
        let mut time = self.store.manifest.shard_time.map(Duration::from_secs_f64);
        loop {
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            let limit = time.into_iter().chain(left).min();
            let ran = guarded(|| job.run(shard.clone(), limit)).unwrap_or_else(|panic| Err(Failure::Internal(panic)));
            let is_over = self.interrupt.pressed() || self.is_late();
            match (&ran, time) {
                // The time of a shard is too short for its first unit. With more it gets ahead; as it is it never would.
                (Err(Failure::Late), Some(short)) if !is_over => time = Some((short * 2).max(Duration::from_millis(1))),
                _ => return ran,
            }
        }
    }
}

/// Shards without a result that counts.
#[derive(Default)]
struct Missing {
    /// To be done, and what is wrong with the result there is.
    shards: Vec<(Id, Option<String>)>,
    /// Left out, since the first finding was to be the end.
    left_out: usize,
}

impl Missing {
    /// Those up to the shard at which the result ends, if it does.
    fn up_to(store: &Store, end: Option<&Id>) -> Missing {
        let needless = Needless::now(store, Ending::of(&store.manifest));
        let mut missing = Missing::default();
        for (id, state) in store.scan() {
            match state {
                _ if end.is_some_and(|end| id > *end) => break,
                State::Done(_) => {}
                _ if needless.ending == Ending::First && needless.has(&id) => missing.left_out += 1,
                State::Open => missing.shards.push((id, None)),
                State::Damaged(why) => missing.shards.push((id, Some(why))),
            }
        }
        missing
    }

    fn is_empty(&self) -> bool {
        self.shards.is_empty() && self.left_out == 0
    }

    fn tell(&self, store: &Store) {
        const NAMED: usize = 20;
        if self.left_out > 0 {
            say(&format!("note: {} left out after the first finding (--stop-at-first)", count(self.left_out, "shard")));
        }
        if self.shards.is_empty() {
            return;
        }
        let mut names: Vec<String> = self.shards.iter().take(NAMED).map(|(id, _)| id.to_string()).collect();
        if self.shards.len() > NAMED {
            names.push(format!("and {} more", self.shards.len() - NAMED));
        }
        for (id, why) in self.shards.iter().filter_map(|(id, why)| Some((id, why.as_ref()?))).take(NAMED) {
            let _ = writeln!(io::stderr(), "note: the result of shard {id} {why}: it is not counted");
        }
        let plan = plan_name(&store.path);
        let _ = writeln!(
            io::stderr(),
            "incomplete: {} missing: {}\n = help: `membar work {plan}` does them; then merge again",
            count(self.shards.len(), "shard"),
            names.join(", ")
        );
    }
}

/// `membar merge`
pub fn merge(args: &MergeArgs, style: Style) -> Result<u8, Failure> {
    let mut store = Store::open(&args.plan)?;
    let html = args.html.as_ref().map(|html| std::path::absolute(html).unwrap_or_else(|_| html.clone()));
    let here = std::env::current_dir().unwrap_or_default();
    store.enter()?;
    let mut command = parsed(&store.manifest.command)?;
    show(&mut command, args.format.as_deref(), html)?;
    // What is kept is found from where the command was given.
    if let Command::Simulate(Simulate { campaign, .. }) | Command::Stress(Stress { campaign, .. }) = &mut command
        && std::env::current_dir().is_ok_and(|now| now != here)
    {
        campaign.output = here.join(&campaign.output);
    }
    crate::page::made_by(store.manifest.command.clone(), here);
    let merged = match &command {
        Command::Simulate(simulate) => tests::merge_simulate(&store, simulate, style),
        Command::Stress(stress) if !stress.files.is_empty() => outcomes::merge(&store, stress),
        Command::Stress(stress) => tests::merge_stress(&store, stress, style),
        Command::Check(check) => traces::merge(&store, check, style),
        Command::Verify(verify) => search::merge(&store, verify, style),
        _ => Err(usage("error: the command of the plan cannot be split".into())),
    }?;
    if !merged.missing.is_empty() {
        match outdated(&store) {
            Some(outdated) => say(&outdated),
            None => merged.missing.tell(&store),
        }
        return Ok(if merged.code == stop::ALLOWED { stop::UNDECIDED } else { merged.code });
    }
    Ok(merged.code)
}

/// Has a command show its result like this, as if it had been told.
fn show(command: &mut Command, format: Option<&str>, html: Option<PathBuf>) -> Result<(), Failure> {
    fn change<T: ValueEnum>(
        (of, page): (&mut T, &mut Option<PathBuf>),
        format: Option<&str>,
        html: Option<PathBuf>,
    ) -> Result<(), Failure> {
        if let Some(format) = format {
            *of = T::from_str(format, false).map_err(|_| {
                let known = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
                let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
                usage(format!("error: the plan has no format `{}`\n = help: it has {}", safe(format), known.join(", ")))
            })?;
        }
        *page = html.or(page.take());
        Ok(())
    }
    match command {
        Command::Simulate(args) => change((&mut args.campaign.format, &mut args.campaign.html), format, html),
        Command::Stress(args) => change((&mut args.campaign.format, &mut args.campaign.html), format, html),
        Command::Check(args) => change((&mut args.format, &mut args.html), format, html),
        Command::Verify(args) => change((&mut args.how.format, &mut args.how.html), format, html),
        _ => Ok(()),
    }
}

/// The end of a merge.
struct Merged {
    code: u8,
    missing: Missing,
}
