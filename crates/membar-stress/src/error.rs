//! Why something does not run.

use std::io;
use std::time::Duration;

/// Why something does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Invalid core list.
    #[error("`{0}` is not a list of cores: write numbers and ranges, such as `0-3,6`")]
    CoreList(String),
    /// A core that this process may not use.
    #[error("core {core} is not one of those that this process may use: {allowed}")]
    Core {
        /// The core.
        core: usize,
        /// Which there are.
        allowed: String,
    },
    /// A thread could not be tied to its core.
    #[error("cannot run on core {core}: {source}")]
    Pin {
        /// Which core.
        core: usize,
        /// The system's message.
        source: io::Error,
    },
    /// Addresses too far apart.
    #[error("the addresses of the program span {0} bytes; at most 2^32 are possible")]
    Span(u64),
    /// More code or more results than an instruction can reach.
    #[error("thread {thread} has too many instructions to run at once: take fewer operations")]
    Long {
        /// The thread.
        thread: usize,
    },
    /// No memory.
    #[error("no memory for {0} bytes")]
    Memory(usize),
    /// The system refuses executable memory.
    #[error("no memory that code can run in: {0}; `--portable` needs none")]
    Executable(#[source] io::Error),
    /// No machine code here.
    #[error("machine code is generated on x86-64 Linux only: use `--portable`")]
    NoGenerator,
    /// Only generated code reads the counter.
    #[error(
        "timestamps need generated code, which reads the time-stamp counter: leave out `--portable` or the timestamps"
    )]
    NoTimestamps,
    /// The program did not end.
    #[error("the program did not end within {}s: do its threads wait for each other?", .0.as_secs_f64())]
    Stuck(Duration),
    /// A thread that was to run it is gone.
    #[error("a thread that runs the program has failed")]
    Worker,
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// A litmus test did something wrong.
    #[error("line {line}, column {column}: `{text}` {what}")]
    Crash {
        /// Where in the file.
        line: u32,
        /// Where in the line.
        column: u32,
        /// The instruction.
        text: String,
        /// The mistake.
        what: String,
    },
    /// A litmus test for other cores.
    #[error(
        "tests in {arch} run on {name} machines; elsewhere MEMBAR_LITMUS_CC can name a cross compiler and MEMBAR_LITMUS_RUN an emulator: \
         `{name}-linux-gnu-gcc`, `qemu-{name}`"
    )]
    OtherMachine {
        /// The dialect.
        arch: membar_litmus::Arch,
        /// The machine, as compilers call it.
        name: &'static str,
    },
    /// A compiler or an emulator cannot be run.
    #[error("the test cannot be compiled and run: {0}")]
    Compile(#[source] io::Error),
    /// The compiler refuses the test, or it did not end well.
    #[error("the test cannot be compiled and run here: {0}")]
    Refused(String),
    /// A litmus test without threads.
    #[error("the test has no threads")]
    NoThreads,
}
