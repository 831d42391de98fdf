//! The inputs that can be verified: litmus tests and programs in C, C++ and Rust, and what is needed of each of them.

mod litmus;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod native;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
#[path = "unsupported.rs"]
mod native;

pub use litmus::Litmus;
pub use native::{Native, Package, compile, note_around, output, package, rust, serve};

use crate::Failure;
use crate::certify::weak::{self, Ending};
use crate::certify::{rc11, replay};
use crate::core::{Access, Barrier, Claim, GraphModel, Order, Performed, ProgramModel, Remedy, Threads, WeakStep};
use crate::explore::{SearchState, Step, Work};
use crate::report::kinds::NoteKind;
use crate::report::verify::{
    AccessRef, EditRef, ErrorRef, FenceRef, FrameRef, NoteRef, ReplayCommand, StatisticsRef, edited,
};
use crate::verify::{Checkpoint, Effort, Event, Explanation, ProgramError, Seen, Settings, Verification, WeakError};
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

/// Variables of an environment, and their values.
pub type Environment = Vec<(String, OsString)>;

/// A program to verify. A path becomes one by the ending of its name, or because it is executable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A litmus test.
    Litmus(PathBuf),
    /// The text of a litmus test, and what reports call it.
    Text {
        /// The name.
        name: String,
        /// The text.
        text: Vec<u8>,
    },
    /// Sources that are compiled together.
    Sources(Vec<PathBuf>),
    /// A program that was built with `membar cc`.
    Executable(PathBuf),
}

impl Input {
    /// The program in this file.
    pub fn of(file: &Path) -> Input {
        match () {
            () if is_source(file) => Input::Sources(vec![file.to_owned()]),
            () if is_executable(file) => Input::Executable(file.to_owned()),
            () => Input::Litmus(file.to_owned()),
        }
    }

    /// Whether it is a Rust source.
    pub fn is_rust(&self) -> bool {
        matches!(self, Input::Sources(files) if files.iter().any(|file| is_rust(file)))
    }

    /// Its files, as they were named.
    pub fn name(&self) -> String {
        let files = match self {
            Input::Litmus(file) | Input::Executable(file) => std::slice::from_ref(file),
            Input::Text { name, .. } => return name.clone(),
            Input::Sources(files) => files,
        };
        files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Input {
    fn from(file: &P) -> Input {
        Input::of(file.as_ref())
    }
}

/// How C and C++ programs are compiled and run.
#[derive(Clone, Debug)]
pub struct NativeOptions {
    /// The arguments of the program.
    pub args: Vec<OsString>,
    /// Flags for the compiler and linker.
    pub flags: Vec<OsString>,
    /// The compiler, gcc or clang; an installed one if none is given.
    pub cc: Option<OsString>,
    /// Volatile accesses are seq_cst atomics.
    pub volatile_atomic: bool,
    /// Threads may wake up without a reason.
    pub spurious_wakeups: bool,
    /// Weak compare-exchanges may fail without a reason.
    pub spurious_failures: bool,
    /// Threads that nothing distinguishes are explored up to renaming.
    pub symmetry: bool,
    /// Code that is not instrumented touches nothing that threads share.
    pub opaque_private: bool,
    /// The range of values that `__VERIFIER_nondet_int` and its kin return: from the first to the last.
    pub nondet: Option<(i64, i64)>,
    /// Bytes of heap that one execution may use; [`NativeOptions::UNLIMITED`] for as much as there is.
    pub heap: usize,
    /// What the memory orders of Rust's standard library leave open counts too.
    pub include_std: bool,
    /// The executable whose processes run the program: it has to call [`crate::serve_programs`] before anything else.
    /// This one if none is given.
    pub runner: Option<PathBuf>,
    /// How cargo has built the program: so it can be built with edits.
    pub package: Option<Package>,
}

impl NativeOptions {
    /// No limit of the heap.
    pub const UNLIMITED: usize = usize::MAX / 2;
    /// Bytes of heap that one execution may use if nothing else is said.
    pub const HEAP: usize = 64 << 20;
}

impl Default for NativeOptions {
    fn default() -> NativeOptions {
        NativeOptions {
            args: Vec::new(),
            flags: Vec::new(),
            cc: None,
            volatile_atomic: false,
            spurious_wakeups: false,
            spurious_failures: false,
            symmetry: true,
            opaque_private: false,
            nondet: None,
            heap: NativeOptions::HEAP,
            include_std: false,
            runner: None,
            package: None,
        }
    }
}

/// Runs a program for another process of membar and does not return, if that is what this process was started for. The first
/// thing that an executable has to do whose [`crate::verify()`] is to run C and C++ programs.
pub fn serve_programs() {
    if std::env::args_os().nth(1).is_some_and(|word| word == RUN) && std::env::args_os().len() == 2 {
        std::process::exit(i32::from(!serve()));
    }
}

/// The argument of a process that runs a program for another one.
const RUN: &str = "run-program";

/// Whether the file is a source, by the ending of its name.
pub fn is_source(path: &Path) -> bool {
    let endings = ["c", "cc", "cpp", "cxx", "C", "c++", "cp", "CPP", "i", "ii", "rs"];
    path.extension().is_some_and(|extension| endings.iter().any(|ending| extension == *ending))
}

/// Whether the file is a Rust source, by the ending of its name. One is a whole program.
pub fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Whether the file can be executed, by its first bytes.
pub fn is_executable(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

/// A schedule that was run.
#[derive(Debug)]
pub struct Run<T> {
    /// Its steps; fewer than were asked for if the thread of the next one could not make one.
    pub steps: Vec<Performed>,
    /// The next action of each thread after them.
    pub next: Vec<Stand>,
    /// The program's output, if it can print.
    pub output: Option<String>,
    /// Everything else that is known.
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
        let text = source(file).ok_or_else(|| Unedited::Never(format!("{file} cannot be read")))?;
        Ok((PathBuf::from(file), edited(file, &text, edits)))
    };
    files.iter().map(text).collect()
}

/// Exploration between two rounds.
pub struct Round<'a> {
    /// Where it is.
    pub search: &'a SearchState,
    /// The findings.
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

/// Shows a verification between two rounds; whether it is to continue.
fn shown<W: Work<Part = Seen> + Send>(
    verification: &Verification<W>,
    facts: &dyn Fn() -> Value,
    go_on: &mut dyn FnMut(&Round<'_>) -> bool,
) -> bool {
    go_on(&Round {
        search: verification.search(),
        seen: verification.seen(),
        has_first: verification.has_found_first(),
        is_done: verification.is_done(),
        is_out: verification.is_out_of_executions(),
        checkpoint: &|| verification.checkpoint(),
        facts,
    })
}

/// Information about a program besides what was found.
#[derive(Debug, Default)]
pub struct About {
    /// The compiler.
    pub compiler: Option<String>,
    /// Notes for the user.
    pub notes: Vec<NoteRef>,
    /// The cost.
    pub statistics: Option<StatisticsRef>,
    /// How to replay a schedule.
    pub command: ReplayCommand,
    /// Whether threads were explored up to renaming.
    pub symmetric: bool,
}

/// Something that the program does and that cannot be run.
pub struct Limit {
    /// A description, with the place.
    pub message: String,
    /// Advice.
    pub help: String,
}

/// A program under verification, and its words.
pub trait Subject {
    /// Everything known about a run besides its steps.
    type Detail;

    /// Its name in reports.
    fn name(&self) -> &str;

    /// The first of its files.
    fn file(&self) -> &str {
        self.name()
    }

    /// Its sources, as far as they are known by name.
    fn files(&self) -> Vec<String> {
        vec![self.file().to_owned()]
    }

    /// The checks that it makes itself, such as `assert`: what it is for is stated in it. The executions of a model are then explored for
    /// program errors, each of which has to be among what [`Subject::error`] tells.
    fn checks(&self) -> Vec<String> {
        Vec::new()
    }

    /// The condition that is asked about at its end, and whether it is an error if that does not hold: then it is one of its checks.
    fn condition(&self) -> Option<(String, bool)> {
        None
    }

    /// Whether it has only one thread, as far as it has been explored.
    fn is_alone(&self) -> bool;

    /// A hash of everything that decides what it does.
    fn fingerprint(&self) -> u64;

    /// The facts learnt about it that a search relies on; null if there are none.
    fn facts(&self) -> Value {
        Value::Null
    }

    /// Begins with what was learnt before, in as many attempts after the first. False if it cannot be.
    fn know(&mut self, _facts: Value, _restarts: u32) -> bool {
        true
    }

    /// Begins with what other searches found out.
    fn know_more(&mut self, _facts: Vec<Value>) {}

    /// Goes back to what was known when a search with these settings was made: its schedules mean the same again.
    fn go_back(&mut self, _facts: Value, _settings: Settings) -> Result<(), Failure> {
        Ok(())
    }

    /// Explores it with these remedies (barriers: [`Subject::spot`]), until it is done or `go_on` says otherwise.
    fn explore(
        &mut self,
        checkpoint: Checkpoint,
        effort: Effort,
        remedies: &[(u32, Remedy)],
        stop: &AtomicBool,
        go_on: &mut dyn FnMut(&Round<'_>) -> bool,
    ) -> Result<Checkpoint, Failure>;

    /// Learns what has to be known before a schedule of an exploration with these settings means something: by exploring in
    /// this way for some time, if that is given.
    fn prepare(&mut self, _settings: Settings, _learn: Option<Duration>, _stop: &AtomicBool) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs a schedule, with the remedies of the last exploration.
    fn trace(&mut self, schedule: &[Step]) -> Result<Run<Self::Detail>, Failure>;

    /// Runs an execution of a memory model, with the remedies of the last exploration.
    fn weak_trace(&mut self, steps: &[WeakStep]) -> Result<Run<Self::Detail>, Failure>;

    /// Whether separate code finds an execution, in which these accesses are made, possible under a model, with this end: a cycle that shows that it is not sequentially
    /// consistent, if it is not.
    fn confirms_weak(
        &mut self,
        model: GraphModel,
        steps: &[WeakStep],
        made: &[Performed],
        ending: Ending<'_>,
    ) -> Result<weak::Confirmed, weak::Refusal>;

    /// An error in an execution of a memory model, which was run.
    fn weak_error(&mut self, error: &WeakError, run: &Run<Self::Detail>) -> ErrorRef;

    /// Whether two accesses to one address have a byte in common.
    fn overlap(&self, _run: &Run<Self::Detail>, _one: &Event, _other: &Event) -> bool {
        true
    }

    /// Whether some accesses are to parts of what is taken for one location.
    fn has_parts(&self) -> bool {
        false
    }

    /// A note about a violation that could not be confirmed because accesses are to parts of a location.
    fn apart(&self, _store_site: u32, _access_site: u32) -> NoteRef {
        NoteRef { kind: NoteKind::Parts, message: "bytes of one location".into(), file: None, line: None }
    }

    /// Whether a separate machine finds the execution possible and not sequentially consistent.
    fn confirms(&mut self, model: ProgramModel, explanation: &Explanation) -> bool;

    /// Why it says nothing under this model.
    fn refuses(&self, _model: ProgramModel) -> Option<Failure> {
        None
    }

    /// The calls that led to an event of a run, the innermost first; none if the program has no functions.
    fn stack(&self, _run: &Run<Self::Detail>, _event: &Event) -> Vec<FrameRef> {
        Vec::new()
    }

    /// File, line and column of an event of a run.
    fn place(&self, run: &Run<Self::Detail>, event: &Event) -> (String, u32, u32);

    /// An event of a run.
    fn access(&mut self, run: &Run<Self::Detail>, event: &Event) -> AccessRef;

    /// Whether an address is where a library hands a thread its function, so that accesses to it are not the program's.
    fn is_launch(&self, _run: &Run<Self::Detail>, _addr: u32) -> bool {
        false
    }

    /// The name of a thread in reports.
    fn thread_name(&self, thread: u32) -> String {
        format!("P{thread}")
    }

    /// Where such a barrier is put, between these two instructions, in the form that [`Subject::explore`] wants.
    fn spot(&self, _: Barrier, after: u32, _before: u32) -> u32 {
        after
    }

    /// A fence of C11 as this file would have it.
    fn fence_of(&self, file: &str, order: Order) -> String;

    /// A fence between two accesses.
    fn fence(&self, barrier: Barrier, after: &AccessRef, before: &AccessRef) -> FenceRef;

    /// The same program with these edits of its source; otherwise the reason why it cannot be made.
    fn edited(&self, edits: &[EditRef]) -> Result<Self, Unedited>
    where
        Self: Sized;

    /// The action that could not be run, if the error is about that.
    fn limit(&mut self, _error: &ProgramError) -> Option<Limit> {
        None
    }

    /// An error of the program.
    fn error(&mut self, error: &ProgramError) -> Result<ErrorRef, Failure>;

    /// Whether this is not an error: the program ends itself where one of its assumptions does not hold.
    fn is_assumption(&mut self, _error: &ProgramError) -> bool {
        false
    }

    /// The values of all variables after a run.
    fn memory(&mut self, run: &Run<Self::Detail>) -> Vec<(String, String)>;

    /// Where the thread is after a run.
    fn standing(&mut self, run: &Run<Self::Detail>, thread: usize) -> String;

    /// Further information.
    fn about(&self, seconds: f64) -> About;
}

/// FNV-1a: stable from one build to the next.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The text of a source, if it is one that can be shown.
pub fn source(file: &str) -> Option<String> {
    const MOST: u64 = 4 << 20;
    let path = Path::new(file);
    let size = std::fs::metadata(path).ok().filter(|meta| meta.is_file())?.len();
    (size <= MOST).then(|| std::fs::read(path).ok())?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// What accesses that have been made are claimed to be.
fn claims(made: &[Performed]) -> Vec<Claim> {
    let read = |made: &Performed| made.access.kind.reads().then(|| made.access.part_of(made.old));
    made.iter().map(|made| Claim { thread: made.thread, site: made.access.site, read: read(made) }).collect()
}

/// Whether separate code finds the execution possible under the model and not sequentially consistent.
fn confirmed(threads: &mut impl Threads, model: ProgramModel, explanation: &Explanation) -> bool {
    let claims = explanation.claims();
    match model.machine() {
        Some(machine) => replay::confirms(threads, machine, &explanation.steps(), &claims),
        None => rc11::confirms(threads, &claims, explanation.store).is_ok(),
    }
}
