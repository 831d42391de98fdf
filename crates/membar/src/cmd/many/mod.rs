//! Work for many machines: `membar plan`, `work`, `merge` and `status`.
//!
//! A command is split into shards that never talk to each other; each is a small file, and so is its result. Whatever people have runs
//! the workers: a Slurm array, a CI matrix, GNU parallel, `xargs`.
//!
//! | file | does |
//! |---|---|
//! | `store` | the directory: manifest, shards, results, all written once |
//! | `tests` | campaigns, split by seed |
//! | `traces` | trace files, split by file and within a file |
//! | `search` | exploration, split by subtree |
//! | `status` | how far it is |
//! | `submit` | scripts for engines |

mod search;
mod status;
mod store;
mod submit;
mod tests;
mod traces;

pub use status::status;

use crate::cli::{Cli, Command, MergeArgs, PlanArgs, WorkArgs};
use crate::stop;
use clap::Parser;
use membar::guard::guarded;
use membar::report::{Style, count, safe};
use membar::{Failure, Interrupt};
use serde_json::Value;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use store::{Body, Done, Id, InputFile, Manifest, State, Store, Unusable};

/// How often a worker looks for a reason to stop.
const LOOK: Duration = Duration::from_millis(250);
/// How long it may take until a signal is noticed.
const NOTICE: Duration = Duration::from_millis(100);
/// How often it tells that it is still there,
const TOUCH: Duration = Duration::from_secs(15);
/// and after how much silence others think that it is not.
const SILENT: Duration = Duration::from_secs(60);
/// New shards that what is left of one becomes, at most.
const PIECES: u64 = 4;

/// A command as a plan: its shards, and what they need.
struct Split {
    merge: store::Merge,
    inputs: Vec<PathBuf>,
    root: Option<Value>,
    shards: Vec<Value>,
}

/// What came of a shard.
struct Ran {
    result: Value,
    units: u64,
    found: u64,
    /// What is left of it.
    rest: Vec<Value>,
}

/// Runs shards of one plan.
trait Job {
    fn run(&mut self, shard: Value, time: Option<Duration>) -> Result<Ran, Failure>;
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
    let command = parsed(&args.command)?;
    let split = match &command {
        Command::Simulate(simulate) => tests::split_simulate(simulate, args.shards)?,
        Command::Stress(stress) => tests::split_stress(stress, args.shards)?,
        Command::Check(check) => traces::split(check, args.shards)?,
        Command::Verify(verify) => search::split(verify, args)?,
        _ => {
            return Err(usage(format!(
                "error: `{}` cannot be split\n = help: plans are for simulate, stress, check and verify",
                safe(&args.command[0])
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
        ..Store::manifest(args.command.clone(), split.merge, inputs, shards)
    };
    let store = Store::create(&args.directory, manifest, split.root.as_ref(), &split.shards)?;
    let name = membar::report::quoted_path(&args.directory.to_string_lossy());
    let mut out = io::stdout();
    writeln!(out, "{} in {name}", count(split.shards.len(), "shard"))?;
    match args.submit {
        Some(engine) => submit::submit(engine, args, &store, &mut out)?,
        None => writeln!(out, "Next: `membar work {name}`, on any number of machines, then `membar merge {name}`")?,
    }
    Ok(stop::ALLOWED)
}

fn job(store: &Store, interrupt: &Interrupt) -> Result<Box<dyn Job>, Failure> {
    match parsed(&store.manifest.command)? {
        Command::Simulate(args) => tests::simulate_job(&args, interrupt),
        Command::Stress(args) => tests::stress_job(&args, interrupt),
        Command::Check(args) => traces::job(args, interrupt),
        Command::Verify(args) => search::job(args, interrupt),
        _ => Err(usage("error: the command of the plan cannot be split".into())),
    }
}

/// Whether later shards are of no use once something was found: the command ends there.
fn ends_at_first(manifest: &Manifest) -> bool {
    match parsed(&manifest.command) {
        Ok(Command::Simulate(args)) => !args.campaign.keep_going,
        Ok(Command::Stress(args)) => !args.campaign.keep_going,
        _ => false,
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
}

/// `membar work`
pub fn work(args: &WorkArgs) -> Result<u8, Failure> {
    let mut store = Store::open(&args.plan)?;
    let selection = Selection::parse(&args.shards)?;
    selection.check(&store)?;
    store.enter()?;
    let shown = safe(&args.plan.to_string_lossy());
    if let Err(error) = store.probe() {
        let message = format!("error: {shown}: results cannot be written there: {error}");
        if is_final(&error) {
            return Err(usage(message));
        }
        let _ = writeln!(io::stderr(), "{message}\n = help: try again when it is possible");
        return Ok(stop::UNDECIDED);
    }
    store.sweep();
    let key = stop::on_key();
    let interrupt = Interrupt::default();
    let mut job = job(&store, &interrupt)?;
    let until = args.time.0.and_then(|time| Instant::now().checked_add(time));
    let ends_at_first = ends_at_first(&store.manifest);
    let worker = Worker { store, key, interrupt, until, ends_at_first, quiet: args.quiet, at: Mutex::new(None) };
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

/// The shards that are to be done, those that somebody seems to be at last.
fn open_shards(store: &Store, selection: &Selection, tried: &HashSet<Id>) -> Vec<Id> {
    let now = store.probe().unwrap_or_else(|_| SystemTime::now());
    let running = store.running(now);
    let busy = |id: &Id| running.get(id).is_some_and(|(_, silent)| *silent < SILENT);
    let states = store.scan();
    let open = states.into_iter().filter(|(id, state)| !matches!(state, State::Done(_)) && selection.has(id));
    let mut open: Vec<Id> = open.map(|(id, _)| id).filter(|id| !tried.contains(id)).collect();
    if matches!(selection, Selection::All) && !open.is_empty() {
        // Workers that begin at the same time begin at different places.
        let start = std::process::id() as usize % open.len();
        open.rotate_left(start);
    }
    open.sort_by_key(|id| busy(id));
    open
}

/// Whether a shard need not be run: something was found, and that was to be the end.
fn is_needless(store: &Store, id: &Id, ends_at_first: bool) -> bool {
    if !ends_at_first && !store.manifest.stop_at_first {
        return false;
    }
    store.first_found().is_some_and(|first| store.manifest.stop_at_first || first < *id)
}

/// Whether an error will be the same next time.
fn is_final(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A process that runs shards, one after the other, and the thread that watches it.
struct Worker {
    store: Store,
    /// Somebody wants it to end.
    key: Interrupt,
    /// The shard is to end.
    interrupt: Interrupt,
    until: Option<Instant>,
    ends_at_first: bool,
    quiet: bool,
    /// The shard that is being run, and when others were last told so.
    at: Mutex<Option<(Id, Instant)>>,
}

impl Worker {
    fn at(&self) -> MutexGuard<'_, Option<(Id, Instant)>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Ends shards that are to end, and tells others that somebody is at the shard.
    fn watch(&self, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            std::thread::park_timeout(LOOK);
            let Some((id, _)) = self.at().clone() else { continue };
            let is_stopped = self.key.pressed() || is_needless(&self.store, &id, self.ends_at_first);
            // Meanwhile it may be at another shard, which must not be ended for this.
            let mut at = self.at();
            let Some((_, touched)) = at.as_mut().filter(|(now, _)| *now == id) else { continue };
            if is_stopped {
                self.interrupt.press();
            }
            if touched.elapsed() > TOUCH {
                self.store.touch(&id);
                *touched = Instant::now();
            }
        }
    }

    /// Runs the shards that are open, until there are no more.
    fn all(&self, selection: &Selection, job: &mut dyn Job) -> Tally {
        let (mut tally, mut tried) = (Tally::default(), HashSet::new());
        loop {
            let open = open_shards(&self.store, selection, &tried);
            if open.is_empty() {
                // Some shards show only when others are done.
                match search::follow(&self.store) {
                    Ok(true) => continue,
                    Ok(false) => break,
                    Err(error) => {
                        say(&format!("error: new shards cannot be written: {error}"));
                        tally.left = true;
                        break;
                    }
                }
            }
            for id in open {
                if self.key.pressed() || self.is_late() {
                    tally.left = true;
                    break;
                }
                tried.insert(id.clone());
                if is_needless(&self.store, &id, self.ends_at_first) || self.store.has_result(&id) {
                    continue;
                }
                self.one(&id, job, &mut tally);
            }
            if tally.left || tally.refused || tally.internal {
                break;
            }
        }
        tally
    }

    /// Runs one shard and keeps its result.
    fn one(&self, id: &Id, job: &mut dyn Job, tally: &mut Tally) {
        let store = &self.store;
        let shard = match store.shard(id) {
            Ok(shard) => shard,
            Err(unusable) => {
                tally.refused = true;
                return say(&format!(
                    "error: shard {id} {unusable}\n = help: make the plan again, or restore the file"
                ));
            }
        };
        let begun = Instant::now();
        store.touch(id);
        {
            let mut at = self.at();
            self.interrupt.0.store(false, Ordering::Relaxed);
            *at = Some((id.clone(), begun));
        }
        let ran = self.run(shard, job);
        *self.at() = None;
        store.leave(id);
        match ran {
            Ok(ran) => {
                tally.left |= !ran.rest.is_empty() && (self.key.pressed() || self.is_late());
                let done = Done {
                    host: store::host().to_owned(),
                    machine: tests::machine().to_owned(),
                    seconds: begun.elapsed().as_secs_f64(),
                    units: ran.units,
                    found: ran.found,
                    rest: ran.rest.len() as u32,
                };
                let found = ran.found;
                let kept = store.keep(id, done, &Body { result: ran.result, rest: ran.rest });
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
                        tally.left = true;
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
    fn run(&self, shard: Value, job: &mut dyn Job) -> Result<Ran, Failure> {
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

/// Shards without a result that counts, and why.
struct Missing(Vec<(Id, Option<String>)>);

impl Missing {
    /// Those up to the shard at which the result ends, if it does.
    fn up_to(store: &Store, end: Option<&Id>) -> Missing {
        let mut missing = Vec::new();
        for (id, state) in store.scan() {
            match state {
                _ if end.is_some_and(|end| id > *end) => break,
                State::Done(_) => {}
                State::Open => missing.push((id, None)),
                State::Damaged(why) => missing.push((id, Some(why))),
            }
        }
        Missing(missing)
    }

    fn tell(&self, store: &Store) {
        const NAMED: usize = 20;
        let mut names: Vec<String> = self.0.iter().take(NAMED).map(|(id, _)| id.to_string()).collect();
        if self.0.len() > NAMED {
            names.push(format!("and {} more", self.0.len() - NAMED));
        }
        for (id, why) in self.0.iter().filter_map(|(id, why)| Some((id, why.as_ref()?))).take(NAMED) {
            let _ = writeln!(io::stderr(), "note: the result of shard {id} {why}: it is not counted");
        }
        let plan = membar::report::quoted_path(&store.path.to_string_lossy());
        let _ = writeln!(
            io::stderr(),
            "incomplete: {} missing: {}\n = help: `membar work {plan}` does them; then merge again",
            count(self.0.len(), "shard"),
            names.join(", ")
        );
    }
}

/// `membar merge`
pub fn merge(args: &MergeArgs, style: Style) -> Result<u8, Failure> {
    let mut store = Store::open(&args.plan)?;
    let html = args.html.as_ref().map(|html| std::path::absolute(html).unwrap_or_else(|_| html.clone()));
    store.enter()?;
    // Wanted as if it had been said.
    let mut words = store.manifest.command.clone();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (mut more, mut end) = (Vec::new(), end);
    for (name, short, wanted) in [("--format", "-f", args.format.is_some()), ("--html", "--html", html.is_some())] {
        if wanted {
            end -= without(&mut words, end, name, short);
        }
    }
    if let Some(format) = &args.format {
        more.extend(["--format".to_owned(), format.clone()]);
    }
    if let Some(html) = &html {
        more.extend(["--html".to_owned(), html.to_string_lossy().into_owned()]);
    }
    words.splice(end..end, more);
    let command = parsed(&words)?;
    crate::page::made_by(store.manifest.command.clone());
    let merged = match &command {
        Command::Simulate(simulate) => tests::merge_simulate(&store, simulate, style),
        Command::Stress(stress) => tests::merge_stress(&store, stress, style),
        Command::Check(check) => traces::merge(&store, check, style),
        Command::Verify(verify) => search::merge(&store, verify, style),
        _ => Err(usage("error: the command of the plan cannot be split".into())),
    }?;
    if !merged.missing.0.is_empty() {
        merged.missing.tell(&store);
        return Ok(if merged.code == stop::ALLOWED { stop::UNDECIDED } else { merged.code });
    }
    Ok(merged.code)
}

/// Takes an option and its value out of the first words; how many words that were.
fn without(words: &mut Vec<String>, end: usize, name: &str, short: &str) -> usize {
    let before = words.len();
    if let Some(at) = words[..end].iter().position(|word| word == name || word == short) {
        words.drain(at..(at + 2).min(end));
    } else if let Some(at) = words[..end].iter().position(|word| word.starts_with(&format!("{name}="))) {
        words.remove(at);
    }
    before - words.len()
}

/// The end of a merge.
struct Merged {
    code: u8,
    missing: Missing,
}
