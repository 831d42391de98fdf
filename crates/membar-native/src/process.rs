//! Programs in their own processes.
//!
//! # Problem
//!
//! A program may crash, destroy memory, or never end; and there can be one program per process. So each worker is a process,
//! which loads the program once and then explores a batch of executions for each order.
//!
//! # Protocol
//!
//! A call and its reply are lines of JSON on the child's standard input and output, which the program itself does
//! not get to see. Beside that they share a page of memory: the parent says there that it is time to stop, and the child which
//! schedule it is running. If a child dies, the parent starts another one, and tells it not to run that schedule again
//! but to report it as an error: so exploration continues.
//!
//! # Guarantees
//!
//! A child's answer depends only on the order and on its setup. Every child has the program at the same
//! addresses (randomisation is switched off) and the same facts, so their answers can be put together.

// Shared memory and the system calls that set a child up.
#![allow(unsafe_code)]

mod serve;
mod shared;

pub use serve::serve;

use crate::run::{Divergence, Facts, Options, Traced, number_of};
use membar_core::{Remedy, WeakStep};
use membar_explore::{Answer, Fault, FaultKind, Order, Step, WeakSchedule, Work};
use membar_verify::{Seen, Settings};
use serde::{Deserialize, Serialize};
use shared::Shared;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a child may take to come to the end of an execution when it is time to stop.
const GRACE: Duration = Duration::from_millis(400);
/// Memory that a process takes beside what the program's heap and the records about it need.
const OVERHEAD: u64 = 512 << 20;
/// How long a child may do nothing.
const BLOCKED: Duration = Duration::from_secs(10);
/// How many schedules may end a child before we give up.
const DEATHS: usize = 32;

/// A request of the parent.
#[derive(Serialize, Deserialize)]
enum Call {
    Load {
        object: Vec<u8>,
        args: Vec<Vec<u8>>,
        shared: Vec<u8>,
        options: Options,
        show: bool,
    },
    Begin {
        facts: Facts,
        remedies: Vec<(u32, u8)>,
        settings: Settings,
        stop_at_first: bool,
        poison: Vec<(Vec<Step>, Fault)>,
    },
    Work(Order),
    Trace(Vec<Step>),
    WeakTrace(WeakSchedule),
    Remote(Remote),
    Facts,
}

/// Steps of a program whose accesses are performed elsewhere.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Remote {
    Start,
    /// The same for an execution that need not be sequentially consistent.
    StartWeak,
    /// What the next access finds has come to its end.
    Ended(bool),
    Next(usize),
    Perform(usize, u64),
    Value(u32),
    Set(u32, u64),
    /// A value of an address with the bytes of this part replaced by those of another value.
    Merge {
        addr: u32,
        part: u8,
        value: u64,
        written: u64,
    },
    /// A value of an address, for an access to this part.
    Shown {
        addr: u32,
        part: u8,
        value: u64,
    },
}

/// The result of a [`Remote`] step.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum RemoteReply {
    Done,
    Fault,
    Access { kind: u8, barrier: u8, c11: u16, part: u8, addr: u32, site: u32, expected: Option<u64>, blocked: bool },
    Value(u64),
}

/// The answer of a child.
#[derive(Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // one at a time, and gone at once
enum Reply {
    Ready,
    Failed(Fault),
    Begun { threads: usize },
    Worked { answer: Answer<Seen>, facts: Option<Facts>, diverged: Option<Divergence>, statistics: Statistics },
    Traced(Box<Traced>),
    Remote(RemoteReply),
    Facts { facts: Facts, grown: bool },
}

/// The cost of running a program.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Statistics {
    /// Times that the program was restored to its beginning.
    pub resets: u64,
    /// Accesses made for the first time, not to get to a state again.
    pub steps: u64,
    /// Accesses made again, to get to a state.
    pub replayed: u64,
    /// Bytes of data that a reset copies, but for stacks.
    pub reset_bytes: usize,
    /// Bytes of memory that the process holds.
    pub resident: u64,
}

/// A program to run, and how.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program to start: with these arguments, it must call [`serve`].
    pub exe: PathBuf,
    /// See `exe`.
    pub exe_args: Vec<OsString>,
    /// The program's object.
    pub object: PathBuf,
    /// The program's arguments, its name first.
    pub args: Vec<OsString>,
    /// Where the program runs, and what is added to its environment.
    pub around: Around,
    /// A directory for shared memory.
    pub dir: PathBuf,
    /// How it is run.
    pub options: Options,
    /// Whether the program's output is shown.
    pub show: bool,
    /// When a process is killed, whatever it is doing.
    pub until: Option<Instant>,
}

/// What a program finds around it, besides what there is here.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Around {
    /// Its working directory; ours if there is none.
    pub directory: Option<PathBuf>,
    /// Variables of its environment.
    pub variables: Vec<(String, String)>,
}

impl Setup {
    /// Bytes of memory that a process may hold: the shadow of a byte of the heap takes four, its life and what is kept
    /// to put it back one more.
    fn memory(&self) -> u64 {
        (self.options.heap as u64).saturating_mul(6).saturating_add(OVERHEAD)
    }
}

/// An exploration to run.
#[derive(Clone, Debug)]
pub struct Task {
    /// Everything known about the program.
    pub facts: Facts,
    /// Changes to try.
    pub remedies: Vec<(u32, Remedy)>,
    /// How to explore it.
    pub settings: Settings,
    /// Whether to stop at the first finding.
    pub stop_at_first: bool,
}

/// The exit code of a process that a bug of ours has ended.
pub const BUG: i32 = 4;

/// Why a process could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started, or spoken to.
    #[error("cannot start a process for the program: {0}")]
    Start(#[from] io::Error),
    /// It says so.
    #[error("{}", .0.message)]
    Failed(Fault),
    /// It has ended because of a bug of ours, which it has told about.
    #[error("the process that runs the program has failed: {0}")]
    Bug(String),
    /// It has ended.
    #[error("the process that runs the program has ended: {0}")]
    Died(String),
    /// There is no time left.
    #[error("the time limit was reached (--time)")]
    Late,
    /// It holds more memory than it may, and was killed.
    #[error("the process that runs it holds more than {} MiB of memory (--heap)", .0 >> 20)]
    Memory(u64),
}

impl ProcessError {
    fn unexpected() -> ProcessError {
        ProcessError::Failed(Fault::error("an answer to something else"))
    }

    /// Whether the program is not known to be wrong, but could not be run.
    pub fn is_limit(&self) -> bool {
        matches!(self, ProcessError::Failed(fault) if fault.is_limit()) || matches!(self, ProcessError::Memory(_))
    }

    /// The same as a fault.
    pub fn fault(self) -> Fault {
        match self {
            ProcessError::Failed(fault) => fault,
            ProcessError::Memory(_) => Fault { kind: FaultKind::Memory, ..Fault::error(self.to_string()) },
            error => Fault::error(error.to_string()),
        }
    }
}

/// A child process with the program in it.
pub struct Process {
    setup: Setup,
    task: Option<Task>,
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    shared: Shared,
    /// It was killed, and has to be started before it can be asked anything.
    killed: bool,
    /// Schedules that are not to be run again, and why.
    poison: Vec<(Vec<Step>, Fault)>,
    /// New facts that the program has revealed about itself.
    pub grown: Option<Facts>,
    /// If the program did something else the second time.
    pub diverged: Option<Divergence>,
    /// Why it stops.
    pub failed: Option<Fault>,
    /// Is that a bug of ours?
    pub bug: bool,
    /// Its cost so far.
    pub statistics: Statistics,
    /// The number of threads.
    pub threads: usize,
}

fn spawn(setup: &Setup) -> io::Result<(Child, BufWriter<ChildStdin>, BufReader<ChildStdout>)> {
    let mut command = Command::new(&setup.exe);
    command.args(&setup.exe_args).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.envs(setup.around.variables.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = setup.around.directory.as_deref().filter(|directory| directory.is_dir()) {
        command.current_dir(directory);
    }
    let parent = std::process::id() as libc::pid_t;
    // SAFETY: only system calls.
    unsafe {
        command.pre_exec(move || {
            // A container may refuse it. Then addresses differ from process to process, which a program has to look at to
            // notice; if it does, it is found to be not deterministic.
            let _ = libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // Interrupts are handled by the parent.
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            if libc::getppid() != parent { Err(io::Error::other("the parent has ended")) } else { Ok(()) }
        });
    }
    let mut child = command.spawn()?;
    let (to, from) = (child.stdin.take(), child.stdout.take());
    let (Some(to), Some(from)) = (to, from) else { return Err(io::Error::other("no pipes")) };
    Ok((child, BufWriter::new(to), BufReader::new(from)))
}

impl Process {
    /// Starts a process and loads the program there.
    pub fn start(mut setup: Setup) -> Result<Process, ProcessError> {
        // It may run in another directory.
        let found_by_name = setup.exe.parent().is_some_and(|parent| parent.as_os_str().is_empty());
        let paths = [&mut setup.object, &mut setup.dir].into_iter().chain((!found_by_name).then_some(&mut setup.exe));
        for path in paths {
            if let Ok(absolute) = std::path::absolute(&*path) {
                *path = absolute;
            }
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let shared_path = setup.dir.join(format!("shared-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let shared = Shared::map(&shared_path, true)?;
        let (child, to, from) = spawn(&setup)?;
        let mut process = Process {
            setup,
            task: None,
            child,
            to,
            from,
            shared,
            killed: false,
            poison: Vec::new(),
            grown: None,
            diverged: None,
            failed: None,
            bug: false,
            statistics: Statistics::default(),
            threads: 1,
        };
        process.setup.dir = shared_path;
        process.load()?;
        Ok(process)
    }

    fn load(&mut self) -> Result<(), ProcessError> {
        let setup = &self.setup;
        let call = Call::Load {
            object: setup.object.as_os_str().as_bytes().to_vec(),
            args: setup.args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
            shared: setup.dir.as_os_str().as_bytes().to_vec(),
            options: setup.options.clone(),
            show: setup.show,
        };
        match self.call(&call)? {
            Reply::Ready => Ok(()),
            Reply::Failed(why) => Err(ProcessError::Failed(why)),
            _ => Err(ProcessError::unexpected()),
        }
    }

    /// Says what is to be explored.
    pub fn begin(&mut self, task: Task) -> Result<(), ProcessError> {
        (self.grown, self.diverged) = (None, None);
        self.task = Some(task.clone());
        let call = Call::Begin {
            facts: task.facts,
            remedies: task.remedies.iter().map(|&(site, change)| (site, number_of(change))).collect(),
            settings: task.settings,
            stop_at_first: task.stop_at_first,
            poison: self.poison.clone(),
        };
        match self.call(&call)? {
            Reply::Begun { threads } => {
                self.threads = threads;
                Ok(())
            }
            Reply::Failed(why) => Err(ProcessError::Failed(why)),
            _ => Err(ProcessError::unexpected()),
        }
    }

    /// Runs a schedule and tells what happens.
    pub fn trace(&mut self, schedule: &[Step]) -> Result<Traced, ProcessError> {
        match self.call(&Call::Trace(schedule.to_vec()))? {
            Reply::Traced(traced) => Ok(*traced),
            Reply::Failed(why) => Err(ProcessError::Failed(why)),
            _ => Err(ProcessError::unexpected()),
        }
    }

    /// Runs an execution of a memory model and tells what happens.
    pub fn weak_trace(&mut self, steps: &[WeakStep]) -> Result<Traced, ProcessError> {
        match self.call(&Call::WeakTrace(WeakSchedule(steps.to_vec())))? {
            Reply::Traced(traced) => Ok(*traced),
            Reply::Failed(why) => Err(ProcessError::Failed(why)),
            _ => Err(ProcessError::unexpected()),
        }
    }

    /// Everything known about the program, and whether it is more than what the task began with.
    pub fn facts(&mut self) -> Result<(Facts, bool), ProcessError> {
        match self.call(&Call::Facts)? {
            Reply::Facts { facts, grown } => Ok((facts, grown)),
            _ => Err(ProcessError::unexpected()),
        }
    }

    pub(crate) fn remote(&mut self, remote: Remote) -> Option<RemoteReply> {
        match self.call(&Call::Remote(remote)) {
            Ok(Reply::Remote(strings)) => Some(strings),
            _ => None,
        }
    }

    fn call(&mut self, call: &Call) -> Result<Reply, ProcessError> {
        if self.killed {
            self.restart()?;
        }
        self.send(call).map_err(|_| self.death())?;
        self.receive(None)
    }

    fn send(&mut self, call: &Call) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, call)?;
        self.to.write_all(b"\n")?;
        self.to.flush()
    }

    /// The next reply. If it is time to stop, the child is told so, and killed if that does not help; it is killed immediately when
    /// there is no time left at all, or it takes too much memory.
    fn receive(&mut self, stop: Option<&AtomicBool>) -> Result<Reply, ProcessError> {
        let mut told: Option<Instant> = None;
        let most = self.setup.memory();
        let (mut used, mut since) = (0, Instant::now());
        while self.from.buffer().is_empty() {
            let mut poll = libc::pollfd { fd: self.from.get_ref().as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid entry.
            if unsafe { libc::poll(&mut poll, 1, 20) } > 0 {
                break;
            }
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                self.shared.stop().store(1, Ordering::Relaxed);
                if told.get_or_insert_with(Instant::now).elapsed() > GRACE {
                    return Err(self.kill(ProcessError::Late));
                }
            }
            if self.setup.until.is_some_and(|until| Instant::now() >= until) {
                return Err(self.kill(ProcessError::Late));
            }
            if resident(&self.child.id().to_string()) > most {
                return Err(self.kill(ProcessError::Memory(most)));
            }
            // A program that loops is stopped by the child itself; one that waits for the world outside is not.
            match processor_time(self.child.id()) {
                now if now != used => (used, since) = (now, Instant::now()),
                _ if since.elapsed() > BLOCKED => {
                    let why = Fault::limit("the program waits for something outside of membar's control");
                    return Err(self.kill(ProcessError::Failed(why)));
                }
                _ => {}
            }
        }
        let mut line = Vec::new();
        let n = self.from.read_until(b'\n', &mut line).unwrap_or(0);
        self.shared.stop().store(0, Ordering::Relaxed);
        if n == 0 {
            return Err(self.death());
        }
        let unread = |error| ProcessError::Failed(Fault::error(format!("an invalid answer: {error}")));
        serde_json::from_slice(&line).map_err(unread)
    }

    /// Ends the child. It is started again when there is something to ask.
    fn kill(&mut self, why: ProcessError) -> ProcessError {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.killed = true;
        self.shared.stop().store(0, Ordering::Relaxed);
        why
    }

    fn death(&mut self) -> ProcessError {
        let _ = self.child.kill();
        let status = self.child.wait();
        if let Ok(status) = &status
            && status.code() == Some(BUG)
        {
            return ProcessError::Bug("its message is above".into());
        }
        ProcessError::Died(match status {
            Ok(status) => match status.signal() {
                Some(signal) => format!("signal {signal}"),
                None => status.to_string(),
            },
            Err(error) => error.to_string(),
        })
    }

    /// Starts again after a death.
    /// Whether an execution has ended it before.
    pub fn has_died(&self) -> bool {
        !self.poison.is_empty()
    }

    /// Starts it again for this task, whatever became of it.
    pub fn revive(&mut self, task: Task) -> Result<(), ProcessError> {
        let _ = self.child.kill();
        let _ = self.child.wait();
        (self.failed, self.bug, self.task) = (None, false, Some(task));
        self.poison.clear();
        self.restart()
    }

    fn restart(&mut self) -> Result<(), ProcessError> {
        (self.child, self.to, self.from) = spawn(&self.setup)?;
        self.killed = false;
        self.load()?;
        match self.task.clone() {
            Some(task) => self.begin(task),
            None => Ok(()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.setup.dir);
    }
}

impl Work for Process {
    type Part = Seen;

    fn work(&mut self, order: &Order, stop: &AtomicBool) -> Answer<Seen> {
        if self.failed.is_some() || self.grown.is_some() || self.diverged.is_some() {
            return Answer::Undone;
        }
        loop {
            let ready = if self.killed { self.restart() } else { Ok(()) };
            // A death is not about what was run before.
            let reply = ready.and_then(|()| Ok(self.send(&Call::Work(order.clone()))?));
            let reply = reply.and_then(|()| self.receive(Some(stop)));
            match reply {
                Ok(Reply::Worked { answer, facts, diverged, statistics }) => {
                    self.statistics = statistics;
                    (self.grown, self.diverged) = (facts, diverged);
                    return answer;
                }
                Ok(Reply::Failed(why)) => self.failed = Some(why),
                Ok(_) => self.failed = Some(ProcessError::unexpected().fault()),
                // Killed because it did not stop: nothing is known.
                Err(ProcessError::Late) => {}
                Err(ProcessError::Died(_)) if stop.load(Ordering::Relaxed) => self.killed = true,
                Err(ProcessError::Bug(why)) => {
                    self.bug = true;
                    self.failed = Some(Fault::error(why));
                }
                Err(error) => {
                    let path = self.shared.path();
                    let why = match error {
                        ProcessError::Died(how) => {
                            let message =
                                format!("ends the whole process ({how}): it has destroyed memory that is not its own");
                            Fault { kind: FaultKind::Death, ..Fault::error(message) }
                        }
                        error => error.fault(),
                    };
                    if self.poison.len() == DEATHS
                        || path.is_empty()
                        || self.poison.iter().any(|(known, _)| *known == path)
                    {
                        self.failed = Some(why);
                    } else {
                        self.poison.push((path, why));
                        match self.restart() {
                            Ok(()) => continue,
                            Err(error) => self.failed = Some(error.fault()),
                        }
                    }
                }
            }
            return Answer::Undone;
        }
    }
}

/// Processor time that a process has used so far, in ticks; without processes that it has waited for.
fn processor_time(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // After the name, which is in parentheses and may contain anything: state is the first field, user time the 12th.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Bytes of memory that a process holds.
fn resident(process: &str) -> u64 {
    let pages = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages: u64 = pages.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * 4096
}
