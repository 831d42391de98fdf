//! A plan on disk.
//!
//! | in the directory | holds |
//! |---|---|
//! | `plan.json` | the manifest: version, machine, command line, inputs by hash, number of shards, how to merge |
//! | `shards/ID` | a shard, written once: 1, 2, 3, …; `0` is what was left where a search was cut |
//! | `results/ID` | the result of a shard, with what was left of it as new shards: 7.1, 7.2, … |
//! | `follow/ID` | shards that showed only when all shards of `ID` (`0`: of the plan) had been done |
//! | `learnt/ID` | what shard `ID` found out about the program that the plan did not know: the plan is of no use |
//! | `running/ID` | a worker is at it: another name of a file of that worker's, which it writes now and then |
//! | `found/ID` | something was found there |
//!
//! Invariants: a file under its real name is complete and never changes, but for `running`: it is written under a hidden name,
//! and renamed only if nobody was faster. So what a shard's children are never changes, even if another worker runs it once more. The first line of
//! shards and results says what they belong to and has a hash of everything else in the file; whatever does not fit is called
//! damaged, and counts as not there.

use super::search::Learnt;
use membar::Failure;
use membar::programs::hash;
use membar::report::safe;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io::{self, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// The version of the layout.
const LAYOUT: u32 = 2;
/// More shards than a plan has.
const MANY: u32 = 10_000_000;
const HIDDEN: &str = ".new-";
/// Seconds that a short shard takes.
const SHORT: f64 = 0.1;
/// After how much silence a worker is thought to be gone.
pub const SILENT: Duration = Duration::from_secs(60);

/// What a plan is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    pub membar_plan: u32,
    pub version: String,
    /// The kind of machine that shards are run on: `x86_64-linux`.
    pub machine: String,
    /// The words after `membar`.
    pub command: Vec<String>,
    /// Where it was made: names of files are relative to it.
    pub directory: PathBuf,
    pub inputs: Vec<InputFile>,
    pub shards: u32,
    /// How results become one: by tests, traces or subtrees.
    pub merge: Merge,
    /// Seconds after which a shard gives back what is left of it.
    pub shard_time: Option<f64>,
    pub stop_at_first: bool,
    /// What was found before there were shards.
    pub found: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Merge {
    /// Counts are added in the order of the seeds.
    Tests,
    /// Outcomes of a litmus test are added.
    Outcomes,
    /// Answers follow each other in the order of the files.
    Traces,
    /// Subtrees are put back where they were cut off.
    Subtrees,
}

/// A file that the command reads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InputFile {
    pub name: PathBuf,
    pub size: u64,
    /// Of all of it, or of its first and last 64 KiB if it is longer.
    pub hash: String,
}

/// Hashed at either end of a file.
const END: u64 = 64 << 10;

impl InputFile {
    pub fn new(name: &Path) -> io::Result<InputFile> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = std::fs::File::open(name)?;
        let size = file.metadata()?.len();
        let mut bytes = Vec::new();
        if size <= 2 * END {
            file.read_to_end(&mut bytes)?;
        } else {
            (&mut file).take(END).read_to_end(&mut bytes)?;
            file.seek(SeekFrom::End(-(END as i64)))?;
            file.read_to_end(&mut bytes)?;
        }
        Ok(InputFile { name: name.to_owned(), size, hash: format!("{:016x}", hash(&bytes)) })
    }
}

/// The name of a shard: `7`, or `7.2`, the second one of what was left of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub struct Id(pub Vec<u32>);

impl Id {
    pub fn child(&self, number: u32) -> Id {
        Id(self.0.iter().copied().chain([number]).collect())
    }

    fn parent(&self) -> Option<(Id, u32)> {
        let (&last, rest) = self.0.split_last()?;
        Some((Id(rest.to_vec()), last))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        f.write_str(&self.0.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
    }
}

impl FromStr for Id {
    type Err = ();

    fn from_str(text: &str) -> Result<Id, ()> {
        let parts = text.split('.').map(|part| part.parse().ok().filter(|&n| n > 0));
        parts.collect::<Option<Vec<u32>>>().map(Id).ok_or(())
    }
}

/// The first line of shards and results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// Of the manifest.
    pub plan: String,
    pub shard: String,
    /// Of everything else in the file.
    pub hash: String,
    /// Of a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Done>,
}

/// About the result of a shard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub host: String,
    /// The machine, by its processor.
    pub machine: String,
    pub seconds: f64,
    /// Tests, traces or executions.
    pub units: u64,
    pub found: u64,
    /// How many shards are left of it.
    pub rest: u32,
}

/// The second line of a result.
#[derive(Clone, Debug, Deserialize)]
pub struct Body<T> {
    pub result: T,
    pub rest: Vec<Value>,
}

/// Why a file cannot be used.
#[derive(Debug)]
pub enum Unusable {
    Missing,
    Damaged(String),
    Unreadable(io::Error),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Missing => f.write_str("is not there"),
            Unusable::Damaged(why) => write!(f, "is damaged ({why})"),
            Unusable::Unreadable(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

/// A shard, as far as files tell.
#[derive(Debug)]
pub enum State {
    Open,
    Done(Done),
    /// Its result does not count.
    Damaged(String),
}

pub struct Store {
    pub path: PathBuf,
    pub manifest: Manifest,
    /// A hash of the manifest.
    pub id: String,
    follows: Follows,
    /// Results that were written here, which need not be read again.
    written: Mutex<HashMap<Id, Done>>,
}

/// What is known of files in `follow`, which are large, and read for each of their shards.
#[derive(Default)]
struct Follows {
    /// The number of shards in each that was read.
    lengths: Mutex<HashMap<Id, u32>>,
    /// The one that was read last.
    last: Mutex<Option<(Id, Arc<Vec<Value>>)>>,
}

/// A worker, as others see it.
pub struct Presence(tempfile::NamedTempFile);

impl Presence {
    /// The worker is still there. The time is that of the file system.
    pub fn renew(&self) {
        let mut file = self.0.as_file();
        let _ = file.rewind().and_then(|()| file.write_all(format!("{} {}\n", host(), std::process::id()).as_bytes()));
    }
}

/// This kind of machine.
pub fn machine_kind() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

impl Store {
    /// Writes a plan, all of it or nothing.
    pub fn create(path: &Path, manifest: Manifest, root: Option<&Value>, shards: &[Value]) -> Result<Store, Failure> {
        let shown = safe(&path.to_string_lossy());
        let failed = |error: io::Error| Failure::Usage(format!("error: cannot write the plan {shown}: {error}"));
        if path.exists() {
            let help = "remove it, or give another name; `membar status` tells what it is";
            return Err(Failure::Usage(format!("error: {shown} exists already\n = help: {help}")));
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(failed)?;
        let made = tempfile::Builder::new().prefix(".membar-plan-").tempdir_in(parent).map_err(failed)?;
        for directory in ["shards", "results", "follow", "learnt", "running", "found"] {
            std::fs::create_dir(made.path().join(directory)).map_err(failed)?;
        }
        let text = serde_json::to_string_pretty(&manifest).map_err(|error| failed(error.into()))? + "\n";
        let id = format!("{:016x}", hash(text.as_bytes()));
        std::fs::write(made.path().join("plan.json"), text).map_err(failed)?;
        let numbered = (1..).map(|number| Id(vec![number])).zip(shards);
        for (number, shard) in root.map(|root| (Id::default(), root)).into_iter().chain(numbered) {
            let bytes = line(shard).and_then(|line| framed(&id, &number, None, line)).map_err(failed)?;
            std::fs::write(made.path().join("shards").join(number.to_string()), bytes).map_err(failed)?;
        }
        readable(made.path()).map_err(failed)?;
        std::fs::rename(made.path(), path).map_err(failed)?;
        drop(made.keep()); // it has another name now
        Ok(Store { path: path.to_owned(), manifest, id, follows: Follows::default(), written: Mutex::default() })
    }

    /// Opens a plan that this version of membar, on this kind of machine, can work on.
    pub fn open(path: &Path) -> Result<Store, Failure> {
        let shown = safe(&path.to_string_lossy());
        let file = path.join("plan.json");
        let text = std::fs::read_to_string(&file).map_err(|error| {
            let help = "`membar plan` makes one";
            Failure::Usage(format!("error: {shown} is not a plan: plan.json: {error}\n = help: {help}"))
        })?;
        let bad = |why: String, help: &str| Failure::Usage(format!("error: {shown}: {why}\n = help: {help}"));
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| bad(format!("plan.json is damaged: {error}"), "make the plan again"))?;
        let (layout, version) = (value["membar_plan"].as_u64(), value["version"].as_str().unwrap_or("?"));
        let own = env!("CARGO_PKG_VERSION");
        if layout != Some(u64::from(LAYOUT)) && version == own {
            let why = "the plan was made by a membar of this version whose plans are laid out differently".to_owned();
            return Err(bad(why, "install the same one everywhere"));
        }
        if version != own {
            let why = format!("the plan was made by membar {}, and this is membar {own}", safe(version));
            return Err(bad(why, "results of different versions are not mixed: install the same one everywhere"));
        }
        let manifest: Manifest = serde_json::from_value(value)
            .map_err(|error| bad(format!("plan.json is damaged: {error}"), "make the plan again"))?;
        if manifest.shards > MANY {
            return Err(bad("plan.json is damaged: no plan has that many shards".into(), "make the plan again"));
        }
        if manifest.machine != machine_kind() {
            let why = format!("the plan is for {}, and this machine is {}", safe(&manifest.machine), machine_kind());
            return Err(bad(why, "work on it where it was made, or make another plan here"));
        }
        let id = format!("{:016x}", hash(text.as_bytes()));
        Ok(Store { path: path.to_owned(), manifest, id, follows: Follows::default(), written: Mutex::default() })
    }

    /// A manifest for this version and machine.
    pub fn manifest(command: Vec<String>, merge: Merge, inputs: Vec<InputFile>, shards: u32) -> Manifest {
        Manifest {
            membar_plan: LAYOUT,
            version: env!("CARGO_PKG_VERSION").into(),
            machine: machine_kind(),
            command,
            directory: std::env::current_dir().unwrap_or_default(),
            inputs,
            shards,
            merge,
            shard_time: None,
            stop_at_first: false,
            found: 0,
        }
    }

    /// Goes where names of files mean what they meant, and looks whether the files are the same.
    pub fn enter(&mut self) -> Result<(), Failure> {
        self.path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        // On another machine it may not exist; then this directory has to do.
        let _ = std::env::set_current_dir(&self.manifest.directory);
        for input in &self.manifest.inputs {
            let shown = safe(&input.name.to_string_lossy());
            let why = match InputFile::new(&input.name) {
                Ok(found) if found == *input => continue,
                Ok(_) => "has changed since the plan was made".to_owned(),
                Err(error) => format!("cannot be read: {error}"),
            };
            let directory = safe(&self.manifest.directory.to_string_lossy());
            return Err(Failure::Usage(format!(
                "error: {shown} {why}\n = help: the plan was made in {directory}; put the same file there, or work in a directory that has it"
            )));
        }
        Ok(())
    }

    fn place(&self, kind: &str, id: &Id) -> PathBuf {
        self.path.join(kind).join(id.to_string())
    }

    fn read<T: DeserializeOwned>(&self, kind: &str, id: &Id) -> Result<(Head, T), Unusable> {
        let place = self.place(kind, id);
        let bytes = std::fs::metadata(&place).and_then(|meta| match meta.is_file() {
            true => std::fs::read(&place),
            false => Err(io::Error::other("it is not a file")),
        });
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Unusable::Missing),
            Err(error) => return Err(Unusable::Unreadable(error)),
        };
        let damaged = |why: &str| Unusable::Damaged(why.to_owned());
        let end = bytes.iter().position(|&byte| byte == b'\n').ok_or_else(|| damaged("it has no second line"))?;
        let (first, second) = (&bytes[..end], &bytes[end + 1..]);
        let head: Head = serde_json::from_slice(first).map_err(|_| damaged("its first line cannot be read"))?;
        if head.plan != self.id {
            return Err(damaged("it belongs to another plan"));
        }
        if head.shard != id.to_string() {
            return Err(damaged(&format!("it is that of shard {}", safe(&head.shard))));
        }
        if sealed(&bytes, end).as_ref() != Some(&head.hash) {
            return Err(damaged("its hash is another one"));
        }
        let body = serde_json::from_slice(second).map_err(|error| damaged(&error.to_string()))?;
        Ok((head, body))
    }

    /// What is to be done in a shard.
    pub fn shard(&self, id: &Id) -> Result<Value, Unusable> {
        match id.parent() {
            Some((parent, number)) if !parent.0.is_empty() => {
                let (head, body): (Head, Body<Value>) = self.read("results", &parent)?;
                let own = head.done.map_or(0, |done| done.rest);
                match number.checked_sub(own + 1) {
                    None => body.rest.get(number as usize - 1).cloned().ok_or(Unusable::Missing),
                    Some(more) => self.followed(&parent, more),
                }
            }
            Some((root, number)) => match number.checked_sub(self.manifest.shards + 1) {
                None => self.read("shards", id).map(|(_, shard)| shard),
                Some(more) => self.followed(&root, more),
            },
            None => Err(Unusable::Missing),
        }
    }

    /// One of the shards that showed later. Each time there may be some more, in a file of their own.
    fn followed(&self, parent: &Id, at: u32) -> Result<Value, Unusable> {
        let mut left = at;
        for batch in 1.. {
            match self.batch(parent, batch)? {
                None => break,
                Some(length) if left >= length => left -= length,
                Some(_) => {
                    return self.follow(&parent.child(batch))?.get(left as usize).cloned().ok_or(Unusable::Missing);
                }
            }
        }
        Err(Unusable::Missing)
    }

    /// How many there are.
    fn following(&self, parent: &Id) -> Result<u32, Unusable> {
        let mut all = 0;
        for batch in 1.. {
            match self.batch(parent, batch)? {
                Some(length) => all += length,
                None => break,
            }
        }
        Ok(all)
    }

    /// How many showed at one time; nothing if none did.
    pub fn batch(&self, parent: &Id, batch: u32) -> Result<Option<u32>, Unusable> {
        let id = parent.child(batch);
        let known = held(&self.follows.lengths).get(&id).copied();
        match known.map_or_else(|| self.follow(&id).map(|shards| shards.len() as u32), Ok) {
            Ok(length) => Ok(Some(length)),
            Err(Unusable::Missing) => Ok(None),
            Err(unusable) => Err(unusable),
        }
    }

    /// Those of one time.
    fn follow(&self, id: &Id) -> Result<Arc<Vec<Value>>, Unusable> {
        if let Some((_, shards)) = held(&self.follows.last).as_ref().filter(|(last, _)| last == id) {
            return Ok(shards.clone());
        }
        let shards = Arc::new(self.read::<Vec<Value>>("follow", id)?.1);
        held(&self.follows.lengths).insert(id.clone(), shards.len() as u32);
        *held(&self.follows.last) = Some((id.clone(), shards.clone()));
        Ok(shards)
    }

    /// What the whole plan rests on, if there is something.
    pub fn root<T: DeserializeOwned>(&self) -> Result<T, Unusable> {
        self.read("shards", &Id::default()).map(|(_, root)| root)
    }

    /// Adds shards that showed later, as this batch. Every worker that comes to the same batch has the same shards.
    pub fn add_follow(&self, parent: &Id, batch: u32, shards: &[Value]) -> io::Result<()> {
        let id = parent.child(batch);
        self.write("follow", &id, &framed(&self.id, &id, None, line(&shards)?)?, true).map(drop)
    }

    /// Says what a shard found out.
    pub fn add_learnt(&self, id: &Id, learnt: &Learnt) -> io::Result<()> {
        self.write("learnt", id, &framed(&self.id, id, None, line(learnt)?)?, true).map(drop)
    }

    /// What shards found out.
    pub fn learnt(&self) -> Vec<(Id, Learnt)> {
        self.ids("learnt").into_iter().filter_map(|id| Some((id.clone(), self.read("learnt", &id).ok()?.1))).collect()
    }

    /// Whether some did.
    pub fn is_outdated(&self) -> bool {
        !self.ids("learnt").is_empty()
    }

    /// The shards that have a file of this kind.
    fn ids(&self, kind: &str) -> BTreeSet<Id> {
        let entries = std::fs::read_dir(self.path.join(kind)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// The result of a shard.
    pub fn result<T: DeserializeOwned>(&self, id: &Id) -> Result<(Done, Body<T>), Unusable> {
        let (head, body): (Head, Body<T>) = self.read("results", id)?;
        match head.done {
            Some(done) if done.rest as usize == body.rest.len() => Ok((done, body)),
            _ => Err(Unusable::Damaged("it is not a result".into())),
        }
    }

    fn done(&self, id: &Id) -> Result<Done, Unusable> {
        self.result::<serde::de::IgnoredAny>(id).map(|(done, _)| done)
    }

    /// Whether a shard has a result that counts.
    pub fn has_result(&self, id: &Id) -> bool {
        self.done(id).is_ok()
    }

    /// Every shard there is, those that are left of others included, in the order of merging.
    pub fn scan(&self) -> BTreeMap<Id, State> {
        let mut all = BTreeMap::new();
        let mut open: Vec<Id> = (1..=self.manifest.shards).map(|number| Id(vec![number])).collect();
        let more = self.following(&Id::default()).unwrap_or(0);
        open.extend((1..=more).map(|number| Id(vec![self.manifest.shards + number])));
        while let Some(id) = open.pop() {
            let written = held(&self.written).get(&id).cloned();
            let state = match written.map_or_else(|| self.done(&id), Ok) {
                Ok(done) => {
                    let more = if done.rest == 0 { 0 } else { self.following(&id).unwrap_or(0) };
                    open.extend((1..=done.rest + more).map(|number| id.child(number)));
                    State::Done(done)
                }
                Err(Unusable::Missing) => State::Open,
                Err(unusable) => State::Damaged(unusable.to_string()),
            };
            all.insert(id, state);
        }
        all
    }

    /// Keeps a result, given as JSON, and what is left of the shard. False if there is one already, which counts.
    pub fn keep(&self, id: &Id, done: Done, result: &str, rest: &[Value]) -> io::Result<bool> {
        // To wait for the disk takes as long as a short shard, and that is done again soon if the machine loses power.
        let waits = done.seconds > SHORT;
        let body = format!("{{\"result\":{result},\"rest\":{}}}\n", serde_json::to_string(rest)?);
        let bytes = framed(&self.id, id, Some(done.clone()), body)?;
        match self.done(id) {
            Ok(_) => return Ok(false),
            Err(Unusable::Missing) => {}
            // Out of the way, but kept for inspection.
            Err(_) => {
                let place = self.place("results", id);
                let name = format!(".damaged-{id}-{}", std::process::id());
                let _ = std::fs::rename(&place, self.path.join("results").join(name));
            }
        }
        let is_first = self.write("results", id, &bytes, waits)?;
        if is_first {
            held(&self.written).insert(id.clone(), done);
        }
        Ok(is_first)
    }

    /// Writes a file under a hidden name and renames it, if `waits` once it is on the disk. False if somebody was faster.
    fn write(&self, kind: &str, id: &Id, bytes: &[u8], waits: bool) -> io::Result<bool> {
        let mut file = self.hidden(kind)?;
        file.write_all(bytes)?;
        if waits {
            file.as_file().sync_data()?;
        }
        match file.persist_noclobber(self.place(kind, id)) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }

    fn hidden(&self, kind: &str) -> io::Result<tempfile::NamedTempFile> {
        let prefix = format!("{HIDDEN}{}-{}-", host(), std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o644));
        }
        builder.tempfile_in(self.path.join(kind))
    }

    /// Whether results can be written, and what time it is where the files are.
    pub fn probe(&self) -> io::Result<SystemTime> {
        let file = self.hidden("results")?;
        file.as_file().metadata()?.modified()
    }

    /// Removes what workers of this host that are gone left behind.
    pub fn sweep(&self) {
        let own = format!("{HIDDEN}{}-", host());
        if !Path::new("/proc/self").exists() {
            return;
        }
        for kind in ["results", "follow", "learnt", "running"] {
            for entry in std::fs::read_dir(self.path.join(kind)).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let process = name.to_str().and_then(|name| name.strip_prefix(&own)?.split('-').next()?.parse().ok());
                if process.is_some_and(|process: u32| !Path::new(&format!("/proc/{process}")).exists()) {
                    // If it cannot be removed, it does no harm.
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        }
    }

    /// What tells others that this worker is there: a file that has a second name while it is at a shard. To make one for each shard
    /// would be slow where the numbers of files just removed are not given again at once (ext4).
    pub fn appear(&self) -> Option<Presence> {
        let presence = Presence(self.hidden("running").ok()?);
        presence.renew();
        Some(presence)
    }

    /// Takes a shard, if nobody seems to be at it. Where that cannot be told, nobody is.
    pub fn claim(&self, id: &Id, presence: &Presence) -> bool {
        let place = self.place("running", id);
        let is_taken = || match std::fs::hard_link(presence.0.path(), &place) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Some(place.metadata()),
            _ => None,
        };
        let Some(meta) = is_taken() else { return true };
        if meta.and_then(|meta| Ok(since(&meta, self.probe()?) < SILENT)).unwrap_or(false) {
            return false;
        }
        self.leave(id);
        is_taken().is_none()
    }

    /// Nobody is, as far as is known here.
    pub fn leave(&self, id: &Id) {
        let _ = std::fs::remove_file(self.place("running", id));
    }

    /// Who is at a shard, for how long nothing was heard, and since when.
    pub fn running(&self, now: SystemTime) -> BTreeMap<Id, (String, Duration)> {
        let mut all = BTreeMap::new();
        for entry in std::fs::read_dir(self.path.join("running")).into_iter().flatten().flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<Id>().ok()) else { continue };
            let silent = entry.metadata().map_or(Duration::ZERO, |meta| since(&meta, now));
            let who = std::fs::read_to_string(entry.path()).unwrap_or_default();
            all.insert(id, (safe(who.trim()), silent));
        }
        all
    }

    /// Something was found in this shard.
    pub fn mark(&self, id: &Id) -> io::Result<()> {
        std::fs::write(self.place("found", id), "")
    }

    /// The shards in which something was found.
    pub fn found(&self) -> BTreeSet<Id> {
        self.ids("found")
    }
}

/// How long ago a file was written. A time far ahead is as good as one long ago: the clock was wrong then, or is now.
fn since(meta: &std::fs::Metadata, now: SystemTime) -> Duration {
    let at = meta.modified();
    at.map_or(Duration::ZERO, |at| now.duration_since(at).unwrap_or_else(|ahead| ahead.duration()))
}

fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Both lines of a file.
fn framed(plan: &str, id: &Id, done: Option<Done>, second: String) -> io::Result<Vec<u8>> {
    let head = Head { plan: plan.to_owned(), shard: id.to_string(), hash: "0".repeat(DIGITS), done };
    let mut bytes = serde_json::to_vec(&head)?;
    let end = bytes.len();
    bytes.push(b'\n');
    bytes.append(&mut second.into_bytes());
    if let (Some(at), Some(hash)) = (digits(&bytes[..end]), sealed(&bytes, end)) {
        bytes[at].copy_from_slice(hash.as_bytes());
    }
    Ok(bytes)
}

/// Digits of a hash.
const DIGITS: usize = 16;

/// Where the first line has the hash.
fn digits(first: &[u8]) -> Option<Range<usize>> {
    const NAME: &[u8] = b"\"hash\":\"";
    let at = first.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    (at + DIGITS <= first.len()).then_some(at..at + DIGITS)
}

/// The hash of a file whose first line ends here: of all of it but the hash.
fn sealed(bytes: &[u8], end: usize) -> Option<String> {
    let at = digits(&bytes[..end])?;
    Some(format!("{:016x}", hash(&bytes[..at.start]) ^ hash(&bytes[at.end..])))
}

/// One line.
fn line(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

fn readable(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755))?;
    }
    let _ = directory;
    Ok(())
}

/// The name of this host.
pub fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name: String = name.trim().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        if name.is_empty() { "host".into() } else { name }
    })
}
