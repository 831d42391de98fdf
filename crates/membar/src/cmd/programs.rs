//! Programs to verify: which ones a command line means, and what each of them must provide.

mod litmus;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod native;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
#[path = "programs/elsewhere.rs"]
mod native;

pub use litmus::Litmus;
pub use native::{Native, compile, serve};

use super::litmus::{collect, directory_of, is_list};
use crate::kind::{empty, not_a_program};
use crate::stop::Failure;
use membar::core::{Access, Barrier, Performed, Relaxation};
use membar::explore::{SearchState, Step};
use membar::report::verify::{AccessRef, EditRef, ErrorRef, FenceRef, NoteRef, ReplayCommand, StatisticsRef, edited};
use membar::verify::{Checkpoint, Effort, Event, Explanation, ProgramError, Seen};
use serde_json::Value;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C
    C,
    /// C++
    Cxx,
}

/// A program that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A litmus test.
    Litmus(PathBuf),
    /// Sources that are compiled together.
    Sources(Vec<PathBuf>),
    /// A program that was built with `membar cc`.
    Executable(PathBuf),
}

impl Input {
    /// Its files, as they were named.
    pub fn name(&self) -> String {
        let files = match self {
            Input::Litmus(file) | Input::Executable(file) => std::slice::from_ref(file),
            Input::Sources(files) => files,
        };
        files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

/// Whether the file is a source, by the ending of its name.
pub fn is_source(path: &Path) -> bool {
    let endings = ["c", "cc", "cpp", "cxx", "C", "c++", "cp", "CPP", "i", "ii"];
    path.extension().is_some_and(|extension| endings.iter().any(|ending| extension == *ending))
}

fn is_executable(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

/// The programs that these words mean, and what is wrong with the words that mean none. Sources that are named are one
/// program; in a directory, each file is one of its own.
pub fn inputs(words: &[PathBuf]) -> (Vec<Input>, Vec<Failure>) {
    let (mut inputs, mut failures) = (Vec::new(), Vec::new());
    let mut together = None;
    for word in words {
        let mut files = Vec::new();
        let found = if word.is_dir() {
            let wanted = |path: &Path| is_source(path) || path.extension().is_some_and(|end| end == "litmus");
            directory_of(
                word,
                "there are no C or C++ sources and no litmus tests in this directory",
                &wanted,
                &mut files,
            )
        } else {
            collect(word, &mut files)
        };
        match found {
            Err(_) if word.is_dir() && word.read_dir().is_ok() && files.is_empty() => failures.push(empty(word)),
            Err(error) => failures.push(error.into()),
            Ok(()) => {}
        }
        if !word.is_dir() {
            failures.extend(files.iter().filter_map(|file| not_a_program(file)));
        }
        let apart = word.is_dir() || is_list(word);
        for file in files {
            if is_source(&file) && apart {
                inputs.push(Input::Sources(vec![file]));
            } else if is_source(&file) {
                let at = *together.get_or_insert(inputs.len());
                match inputs.get_mut(at) {
                    Some(Input::Sources(files)) => files.push(file),
                    _ => inputs.push(Input::Sources(vec![file])),
                }
            } else if is_executable(&file) {
                inputs.push(Input::Executable(file));
            } else {
                inputs.push(Input::Litmus(file));
            }
        }
    }
    (inputs, failures)
}

/// What follows `--` must mean something, and one thing only.
pub fn check_flags(inputs: &[Input], flags: &[OsString]) -> Result<(), Failure> {
    let any = |kind: fn(&Input) -> bool| inputs.iter().any(kind);
    let (sources, executables) =
        (any(|input| matches!(input, Input::Sources(_))), any(|input| matches!(input, Input::Executable(_))));
    let message = match () {
        () if flags.is_empty() => return Ok(()),
        () if sources && executables => {
            "error: arguments after `--` would be both compiler flags and program arguments\n \
             = help: verify sources and executables one after the other"
        }
        () if sources || executables || inputs.is_empty() => return Ok(()),
        () => {
            "error: arguments after `--` are for C and C++ programs, not for litmus tests\n \
             = help: options come before `--`"
        }
    };
    Err(Failure::Usage(message.into()))
}

/// A schedule that was run.
#[derive(Debug)]
pub struct Run<T> {
    /// Its steps; fewer than were asked for if the thread of the next one could not make one.
    pub steps: Vec<Performed>,
    /// Each thread's next action after them.
    pub next: Vec<Stand>,
    /// The program's output, if known.
    pub output: Option<String>,
    /// What else is known.
    pub detail: T,
}

/// Where a thread stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stand {
    /// It would make this access next.
    Access(Access),
    /// It has ended.
    Done,
    /// It cannot continue, for this reason.
    Stuck(String),
}

/// Why an edited program cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unedited {
    /// No edit can be tried, for this reason.
    Never(String),
    /// This one cannot be built.
    NotThis,
}

/// The texts of the files of these edits, edited.
pub fn edited_texts(edits: &[EditRef]) -> Result<Vec<(PathBuf, String)>, Unedited> {
    let mut files: Vec<&str> = edits.iter().map(|edit| edit.file.as_str()).collect();
    files.dedup();
    let text = |file: &&str| {
        let text = crate::page::source(file).ok_or_else(|| Unedited::Never(format!("{file} cannot be read")))?;
        Ok((PathBuf::from(file), edited(file, &text, edits)))
    };
    files.iter().map(text).collect()
}

/// Exploration between two rounds.
pub struct Round<'a> {
    /// Where it is.
    pub search: &'a SearchState,
    /// Everything seen.
    pub seen: &'a Seen,
    /// A finding was asked for, and there is one.
    pub has_first: bool,
    /// There is nothing left to explore.
    pub is_done: bool,
    /// As many executions as were asked for.
    pub is_out: bool,
    /// Everything that is needed to continue.
    pub checkpoint: &'a dyn Fn() -> Checkpoint,
    /// See [`Subject::facts`].
    pub facts: &'a dyn Fn() -> Value,
}

/// What there is to say about a program beside what was found.
#[derive(Debug, Default)]
pub struct About {
    /// Its compiler.
    pub compiler: Option<String>,
    /// Notes for the user.
    pub notes: Vec<NoteRef>,
    /// Its cost.
    pub statistics: Option<StatisticsRef>,
    /// How to replay a schedule.
    pub command: ReplayCommand,
}

/// Something that the program does and that cannot be run.
pub struct Limit {
    /// What, and where.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// A program under verification, and its words.
pub trait Subject {
    /// Everything known about a run beside its steps.
    type Detail;

    /// Its name in reports.
    fn name(&self) -> &str;

    /// The first of its files.
    fn file(&self) -> &str {
        self.name()
    }

    /// Whether it has only one thread, as far as it has been explored.
    fn is_alone(&self) -> bool;

    /// A hash of everything that decides what it does.
    fn fingerprint(&self) -> u64;

    /// What has been learnt about it that a search relies on; null if nothing.
    fn facts(&self) -> Value {
        Value::Null
    }

    /// Begins with what was learnt before. False if it cannot be.
    fn know(&mut self, _facts: Value) -> bool {
        true
    }

    /// Explores it with these barriers ([`Subject::spot`]), until it is done or `go_on` says otherwise.
    fn explore(
        &mut self,
        checkpoint: Checkpoint,
        effort: Effort,
        barriers: &[(u32, Barrier)],
        stop: &AtomicBool,
        go_on: &mut dyn FnMut(&Round<'_>) -> bool,
    ) -> Result<Checkpoint, Failure>;

    /// Learns what has to be known before a schedule means something, by exploring for some time if that is given.
    fn prepare(&mut self, _learn: Option<Duration>, _stop: &AtomicBool) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs a schedule, with the barriers of the last exploration.
    fn trace(&mut self, schedule: &[Step]) -> Result<Run<Self::Detail>, Failure>;

    /// Whether two accesses to one address have a byte in common.
    fn overlap(&self, _run: &Run<Self::Detail>, _one: &Event, _other: &Event) -> bool {
        true
    }

    /// Whether some accesses of a run are to parts of what is taken for one location.
    fn has_parts(&self, _run: &Run<Self::Detail>) -> bool {
        false
    }

    /// Whether a separate machine finds the execution possible and not sequentially consistent.
    fn confirms(&mut self, model: Relaxation, explanation: &Explanation) -> bool;

    /// File, line and column of an event of a run.
    fn place(&self, run: &Run<Self::Detail>, event: &Event) -> (String, u32, u32);

    /// An event of a run.
    fn access(&mut self, run: &Run<Self::Detail>, event: &Event) -> AccessRef;

    /// The name of a thread in reports.
    fn thread_name(&self, thread: u32) -> String {
        format!("P{thread}")
    }

    /// Where such a barrier is put, between these two instructions: what [`Subject::explore`] wants.
    fn spot(&self, _: Barrier, after: u32, _before: u32) -> u32 {
        after
    }

    /// A fence between two accesses.
    fn fence(&self, barrier: Barrier, after: &AccessRef, before: &AccessRef) -> FenceRef;

    /// The same program with these edits of its source; why there is none otherwise.
    fn edited(&self, edits: &[EditRef]) -> Result<Self, Unedited>
    where
        Self: Sized;

    /// What could not be run, if the error is about that.
    fn limit(&mut self, _error: &ProgramError) -> Option<Limit> {
        None
    }

    /// A program error.
    fn error(&mut self, error: &ProgramError) -> Result<ErrorRef, Failure>;

    /// Whether the error is none: the program ends itself where an assumption of its own does not hold.
    fn is_assumption(&mut self, _error: &ProgramError) -> bool {
        false
    }

    /// The values of all variables after a run.
    fn memory(&mut self, run: &Run<Self::Detail>) -> Vec<(String, String)>;

    /// Where the thread is after a run.
    fn standing(&mut self, run: &Run<Self::Detail>, thread: usize) -> String;

    /// Additional information.
    fn about(&self, seconds: f64) -> About;
}

/// FNV-1a: stable from one build to the next.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
