//! `simulate`, `stress` and `gen`.

use super::{DataFormat, Memory, MemoryParser, Time, TimeParser};
use clap::{Args, ValueEnum};
use membar::campaign::Timestamps;
use membar::simulate::Buffer;
use std::path::PathBuf;

/// `membar simulate`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar simulate --list                         machines with their bugs, and profiles
  membar simulate --machine mesi-tso             1000 tests or 10 seconds, whichever ends first
  membar simulate --machine mesi-tso --bug lost-invalidation
                                                 stops at the first violation and keeps it
  membar simulate --machine tso --model sc       is it sequentially consistent? no
  membar simulate --machine pso --buffer 64 --drain 50
                                                 deep store buffers that drain slowly
  membar simulate --machine godson-t --bug stale-region --profile locks
  membar simulate --machine rvwmo --bug ignored-dependency
                                                 shows only with timestamps
  membar simulate --machine mesi-tso --profile hot --profile atomics --time 10m --keep-going
  membar simulate --machine mesi-tso --bug no-replay --keep-going --html report.html
                                                 also a page: violations by shape, coverage, speed
  membar simulate --machine mesi-tso --time 8h --resume night.state
                                                 can be interrupted or killed, and resumes

A violation is kept as a directory with the program, the trace, its smallest part, the reason, and \
the command that repeats it. The same seed gives the same program, run and verdict everywhere.
Exit codes: 0 nothing found, 1 a violation, 2 bad usage, 3 nothing found but something undecided, \
4 a bug in membar.")]
pub struct Simulate {
    /// The machine; see --list.
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,

    /// Switch on one of the machine's bugs; may be repeated.
    #[arg(long = "bug", value_name = "BUG")]
    pub bugs: Vec<String>,

    #[command(flatten)]
    pub buffers: BufferArgs,

    /// Show machines with their models and bugs, and profiles.
    #[arg(long)]
    pub list: bool,

    /// Timestamps in traces: `exact`, `sampled=N` (scans every N cycles) or `off` [default: off; exact for machines whose
    /// model has locks]
    #[arg(long, value_name = "TIMES", value_parser = timestamps)]
    pub timestamps: Option<Timestamps>,

    /// Memory model: a built-in name or the path of a .toml file [default: the machine's]
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    #[command(flatten)]
    pub programs: ProgramArgs,

    #[command(flatten)]
    pub campaign: CampaignArgs,
}

/// The store buffers of a simulated machine.
#[derive(Args, Clone, Copy, Debug)]
pub struct BufferArgs {
    /// How many stores each core's buffer holds, 1 to 4096 [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(Buffer::DEEPEST)))]
    pub buffer: Option<u32>,

    /// Drain a store in one turn of a core in N, or when the core can do nothing else: large numbers keep buffers full
    /// [default: 4; mesi-tso and godson-t: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(Buffer::SLOWEST)))]
    pub drain: Option<u32>,
}

fn timestamps(text: &str) -> Result<Timestamps, String> {
    match text {
        "exact" => Ok(Timestamps::Exact),
        "off" => Ok(Timestamps::Off),
        _ => match text.strip_prefix("sampled=").map(str::parse) {
            Some(Ok(every)) if every > 0 => Ok(Timestamps::Sampled(every)),
            _ => Err("write `exact`, `off`, or `sampled=600` for scans every 600 cycles".into()),
        },
    }
}

/// Which random programs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Programs")]
pub struct ProgramArgs {
    /// A built-in profile (see `membar simulate --list`) or the path of a .toml file; with several, tests take them in turn
    /// [default: default]
    #[arg(short, long = "profile", value_name = "PROFILE")]
    pub profiles: Vec<String>,

    /// Number of threads, in place of the profile's.
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,

    /// Number of addresses, in place of the profile's.
    #[arg(long, value_name = "N")]
    pub addresses: Option<u32>,

    /// Operations of each thread, in place of the profile's.
    #[arg(long, value_name = "N")]
    pub operations: Option<u32>,

    /// Number of locks, in place of the profile's; with 0 nothing is locked.
    #[arg(long, value_name = "N")]
    pub locks: Option<u32>,

    /// The seed of the first test; the next one has the next number.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
}

/// How long a campaign runs, and what it leaves behind.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Campaign")]
pub struct CampaignArgs {
    /// Run this many tests, including those before --resume [default: 1000 if --time is not given]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub tests: Option<u64>,

    /// Run this long: 10s, 2m, 8h, or none [default: 10s if --tests is not given]
    #[arg(long, value_name = "LIMIT", value_parser = TimeParser)]
    pub time: Option<Time>,

    /// Time for the check of one trace: 500ms, 10s, 2m, or none.
    #[arg(long, default_value = "60s", value_name = "LIMIT", value_parser = TimeParser)]
    pub check_time: Time,

    /// Memory for the check of one trace: 512MB, 4GiB, or none.
    #[arg(long, default_value = "8GiB", value_name = "LIMIT", value_parser = MemoryParser)]
    pub memory: Memory,

    /// Check this many tests at the same time; the result is the same [default: 1; stress: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,

    /// Continue after a violation.
    #[arg(short, long)]
    pub keep_going: bool,

    /// With --keep-going: stop after this many violations.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_violations: u64,

    /// Keep violations in this directory.
    #[arg(short, long, default_value = "membar-violations", value_name = "DIRECTORY")]
    pub output: PathBuf,

    /// Resume from this file, if it exists, and keep it up to date.
    #[arg(long, alias = "state", value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// How the summary is written.
    #[arg(short, long, value_enum, default_value_t = DataFormat::Text, value_name = "FORMAT")]
    pub format: DataFormat,

    /// Also write a report for a browser to this file: one page with every view.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Open the page in a browser: `$BROWSER`, or the default browser.
    #[arg(long, requires = "html")]
    pub open: bool,

    /// Print only the summary.
    #[arg(short, long)]
    pub quiet: bool,
}

/// `membar stress`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar stress                            random programs for 10 seconds on this machine's cores
  membar stress --model sc                 finds a store that waited in a buffer, and explains it
  membar stress --profile paper --time 8h --resume night.state
                                           can be interrupted or killed, and resumes
  membar stress --profile locks --profile atomics --threads 4 --keep-going
  membar stress --timestamps 16            timestamps at every 16th operation
  membar stress SB.litmus --time 5s        a litmus test, millions of times, as a histogram
  membar stress tests/ --tests 100000 --format json
  membar stress SB.litmus --html report.html   also a page with the histogram

The same seed gives the same program, but no two runs of it are the same. A violation is kept as a \
directory with the program, the trace, its smallest part and the reason.
Exit codes: 0 nothing found, 1 a violation, 2 bad usage, 3 nothing found but something undecided, \
4 a bug in membar.")]
pub struct Stress {
    /// Litmus tests to run in place of random programs: files, directories, @lists.
    #[arg(value_name = "TEST")]
    pub files: Vec<PathBuf>,

    /// Memory model: a built-in name or the path of a .toml file; for litmus tests a model of their dialect
    /// [default: this machine's, tso on x86, wmo elsewhere]
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    /// The cores to pin threads to, such as 0-3,6 [default: all allowed cores]
    #[arg(long, value_name = "CORES")]
    pub cores: Option<String>,

    /// Record the time-stamp counter at `every` operation, at every N-th, or `off`.
    #[arg(long, default_value = "off", value_name = "TIMES", value_parser = hardware_times)]
    pub timestamps: HardwareTimes,

    /// Interpret programs with atomics instead of generating machine code.
    #[arg(long)]
    pub portable: bool,

    #[command(flatten)]
    pub programs: ProgramArgs,

    #[command(flatten)]
    pub campaign: CampaignArgs,
}

/// Which operations record the time-stamp counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HardwareTimes {
    /// None.
    Off,
    /// Each of this many.
    Every(u32),
}

fn hardware_times(text: &str) -> Result<HardwareTimes, String> {
    match text {
        "off" => Ok(HardwareTimes::Off),
        "every" => Ok(HardwareTimes::Every(1)),
        _ => match text.parse() {
            Ok(every) if every > 0 => Ok(HardwareTimes::Every(every)),
            _ => Err("write `every`, `off`, or a number: 16 for every 16th operation".into()),
        },
    }
}

/// `membar gen`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar gen --as c --seed 7 -o test.c      cc -O2 -pthread test.c && ./a.out 1000 | membar check -
  membar gen --as litmus --threads 2 --operations 3 --addresses 2 --locks 0 -o small.litmus
  membar gen --as text --profile hot        the program itself
  membar gen --as riscv-asm -o test.S       riscv64-linux-gnu-gcc -static -pthread test.S -o test
                                            qemu-riscv64 ./test 100 | membar check -m rvwmo -
  membar gen --as trace --machine mesi-tso --count 20 | membar check -
  membar gen --as c --profile atomics --count 50 -o tests/
                                            50 files, with seeds 1 to 50

The C program is complete: x86-64, AArch64 and RISC-V (64 bits), any POSIX threads. It prints one \
trace per run for `membar check -`. The same seed gives the same program everywhere, in \
`membar simulate` too.
Exit codes: 0 written, 2 bad usage.")]
pub struct Gen {
    /// The kind of output.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: GenKind,

    #[command(flatten)]
    pub programs: ProgramArgs,

    /// How many to write, with consecutive seeds.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub count: u64,

    /// With --as trace and litmus: the machine that runs the program, optionally with bugs (mesi-tso+no-replay) or other
    /// store buffers (tso+buffer=64+drain=50).
    #[arg(long, default_value = "tso", value_name = "MACHINE")]
    pub machine: String,

    #[command(flatten)]
    pub buffers: BufferArgs,

    /// With --as trace: timestamps in traces: `exact`, `sampled=N` or `off`.
    #[arg(long, default_value = "off", value_name = "TIMES", value_parser = timestamps)]
    pub timestamps: Timestamps,

    /// Write to this file, or into this directory if it is one or ends in `/`, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Kinds of output.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum GenKind {
    /// A C program with inline assembly that prints traces
    C,
    /// RISC-V assembly that prints traces; profile riscv if none is named
    RiscvAsm,
    /// AArch64 assembly that prints traces; profile arm if none is named
    Aarch64Asm,
    /// A litmus test in the C dialect, for few operations; its condition is the outcome of the run
    Litmus,
    /// The program as text
    Text,
    /// A trace of its run on a simulated machine
    Trace,
}
