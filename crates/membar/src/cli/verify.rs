//! `verify`, `replay`, `cc` and `c++`.

use super::{DataFormat, Memory, MemoryParser, Time, TimeParser};
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Args, ValueEnum};
use membar::AllowLine;
use membar::core::ProgramModel;
use membar::litmus::{Arch, Model};
use membar::programs::NativeOptions;
use membar::verify::Models;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// `membar verify`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar verify dekker.c                       compiled, and explored class by class, under tso
  membar verify main.c queue.c -- -Iinc -DN=3  one program of two files, with compiler flags
  membar verify SB.litmus tests/               litmus tests; each file of a directory
  make CC=\"membar cc\" && membar verify ./test -- 2 items
                                               a program with its own build, and its arguments
  membar verify --model c11 queue.c            for Arm, RISC-V and the compiler; data races
  membar verify --model all dekker.c           explored once, judged by every model
  membar verify --model ztso,rvwmo MP.litmus   a litmus test in RISCV: all its executions
  membar verify --races on counter.c           data races, whatever the machine
  membar verify --property robust ring.c       is every execution SC, whether or not anything fails?
  membar verify --allow ring.c:31 ring.c       without the violations of this line
  membar verify --model pso --strategy bounded --preemptions 2 bakery.c
  membar verify --strategy pct --executions 100000 --seed 7 bakery.c
  membar verify --time 1h --jobs 2 --resume bakery.state bakery.c
                                               can be interrupted, and resumes where it stopped
  membar verify --html report.html dekker.c    also a page that explains the violations
  membar verify --format json dekker.c         machine-readable
  membar verify --format sarif src/tests > membar.sarif
                                               for code review: places, executions, fixes

membar explores sequentially consistent executions; monitors find what the models could change.
Of litmus tests in RISCV and AArch64 it enumerates all executions under the model instead.
Exit codes: 0 safe, 1 unsafe or a program error, 2 bad usage or input, 3 undecided,
4 a bug in membar.")]
pub struct Verify {
    /// C and C++ sources, which together are one program; a program built with `membar cc`; litmus tests; directories of
    /// sources and tests; @lists; `-` is a litmus test on standard input.
    #[arg(required = true, value_name = "PROGRAM")]
    pub programs: Vec<PathBuf>,

    #[command(flatten)]
    pub how: Exploring,

    #[command(flatten)]
    pub native: NativeArgs,
}

impl std::ops::Deref for Verify {
    type Target = Exploring;

    fn deref(&self) -> &Exploring {
        &self.how
    }
}

/// How programs are explored, and how results are written.
#[derive(Args, Clone, Debug)]
pub struct Exploring {
    /// Memory model; may be repeated, or a list (tso,pso): the program is explored once for all of them [default: tso; for Rust c11; for
    /// litmus tests in RISCV rvwmo, in AArch64 armv8]
    #[arg(short, long = "model", value_name = "MODEL", value_delimiter = ',', value_parser = VerifyModelParser { all: true })]
    pub models: Vec<VerifyModel>,

    /// Whether data races are errors.
    #[arg(long, value_enum, default_value_t = RacesArg::Auto, value_name = "WHEN")]
    pub races: RacesArg,

    /// The question to answer.
    #[arg(long, value_enum, default_value_t = PropertyArg::Auto, value_name = "QUESTION")]
    pub property: PropertyArg,

    /// Do not count violations with an access in this line; may be repeated. A comment `membar: allow stale` does the same.
    #[arg(long, value_name = "FILE:LINE")]
    pub allow: Vec<AllowLine>,

    /// Which executions to explore.
    #[arg(short, long, value_enum, default_value_t = StrategyName::Auto, value_name = "STRATEGY")]
    pub strategy: StrategyName,

    /// At most this many switches away from a thread that could continue; implies --strategy bounded [default there: 2]
    #[arg(long, value_name = "N")]
    pub preemptions: Option<u32>,

    /// Stop after about this many executions (random and pct: exactly this many) [default: no limit; random and pct: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub executions: Option<u64>,

    /// Also explore rounds of waiting and retry loops that change nothing, as the papers do.
    #[arg(long)]
    pub strict: bool,

    /// With --strategy pct: how many ordering constraints a bug may need.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub depth: u32,

    /// With random and pct: the seed of the random numbers.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// The monitor that watches each execution.
    #[arg(long, value_enum, default_value_t = VerifyMonitor::Auto, value_name = "MONITOR")]
    pub monitor: VerifyMonitor,

    /// Stop at the first violation or error.
    #[arg(long)]
    pub stop_at_first: bool,

    /// Stop a thread after this many accesses.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = steps)]
    pub steps: usize,

    /// Time for one program, without compiling it: 500ms, 10s, 2m, or none.
    #[arg(long, default_value = "none", value_name = "LIMIT", value_parser = TimeParser)]
    pub time: Time,

    /// Resume from this file, if it exists, and keep it up to date.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Use this many cores; the result is the same.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,

    /// How results are written: for people, as JSON, or as SARIF for code-review tools.
    #[arg(short, long, value_enum, default_value_t = VerifyFormat::Text, value_name = "FORMAT")]
    pub format: VerifyFormat,

    /// Also write a report for a browser to this file: one page with every view of every violation.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Open the page in a browser: `$BROWSER`, or the default browser.
    #[arg(long, requires = "html")]
    pub open: bool,

    /// Say nothing about safe programs.
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Show every violation in full, and what the search cost.
    #[arg(short, long)]
    pub verbose: bool,
}

/// How C and C++ programs are compiled and run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "C and C++ programs")]
pub struct NativeArgs {
    /// Give the program this argument; may be repeated. Arguments of an executable may also follow `--`.
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub args: Vec<OsString>,

    /// Assumptions where the language leaves something open.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub assume: Vec<Assumption>,

    /// Tell threads apart that differ in their number only.
    #[arg(long)]
    pub no_symmetry: bool,

    /// The numbers that `__VERIFIER_nondet_int` and similar functions return; all are explored.
    #[arg(long, value_name = "LOW..HIGH", value_parser = range, allow_hyphen_values = true)]
    pub nondet: Option<(i64, i64)>,

    /// Heap that one execution may use: 512MB, 1GiB, or none [default: 64MiB]
    #[arg(long, alias = "memory", value_name = "LIMIT", value_parser = MemoryParser)]
    pub heap: Option<Memory>,

    /// Rust: also report what the memory orders of the standard library leave open.
    #[arg(long)]
    pub include_std: bool,

    /// The compiler, gcc or clang [default: $CC or $CXX, else an installed one]
    #[arg(long, value_name = "COMPILER")]
    pub cc: Option<OsString>,

    /// After sources: flags for the compiler and linker. After an executable: its arguments.
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<OsString>,
}

/// `0..3`: from the first to the last.
fn range(text: &str) -> Result<(i64, i64), String> {
    const EXPECTED: &str = "expected two numbers, as in 0..3 or -1..1: from the first to the last, at most 65535";
    let (from, to) = text.split_once("..").ok_or(EXPECTED)?;
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| EXPECTED.to_owned());
    let (from, to) = (number(from)?, number(to.trim_start_matches('='))?);
    let fits = to.checked_sub(from).is_some_and(|more| (0..65_535).contains(&more));
    if fits { Ok((from, to)) } else { Err(EXPECTED.into()) }
}

/// Assumptions where C and C++ leave something open.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assumption {
    /// Volatile accesses are ordinary: the machine may reorder them (the default)
    #[value(name = "volatile=plain")]
    VolatilePlain,
    /// Volatile accesses are seq_cst atomics, as some compilers make them
    #[value(name = "volatile=atomic")]
    VolatileAtomic,
    /// Waits at a condition variable or a futex may end without a reason: once per thread and call in the source
    #[value(name = "spurious-wakeups")]
    SpuriousWakeups,
    /// Weak compare-exchanges may fail although they need not: once per thread and call in the source (gcc)
    #[value(name = "spurious-failures")]
    SpuriousFailures,
    /// Uninstrumented code may touch shared memory: if it does, the answer is not "safe" (the default)
    #[value(name = "opaque=watched")]
    OpaqueWatched,
    /// Uninstrumented code touches no shared memory, and is not watched
    #[value(name = "opaque=private")]
    OpaquePrivate,
}

impl NativeArgs {
    /// Whether the first is assumed and not the second: the last of them counts.
    fn assumes(&self, this: Assumption, other: Assumption) -> bool {
        self.assume.iter().rev().find(|known| **known == this || **known == other) == Some(&this)
    }

    /// The same for the library.
    pub fn options(&self) -> NativeOptions {
        NativeOptions {
            args: self.args.clone(),
            flags: self.flags.clone(),
            cc: self.cc.clone(),
            volatile_atomic: self.assumes(Assumption::VolatileAtomic, Assumption::VolatilePlain),
            spurious_wakeups: self.assume.contains(&Assumption::SpuriousWakeups),
            spurious_failures: self.assume.contains(&Assumption::SpuriousFailures),
            symmetry: !self.no_symmetry,
            opaque_private: self.assumes(Assumption::OpaquePrivate, Assumption::OpaqueWatched),
            nondet: self.nondet,
            heap: self.heap.map_or(NativeOptions::HEAP, |heap| heap.0.unwrap_or(NativeOptions::UNLIMITED)),
            include_std: self.include_std,
            runner: None,
            package: None,
        }
    }
}

/// `membar cc` and `membar c++`
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  make CC=\"membar cc\" CXX=\"membar c++\"      then: membar verify ./program -- its arguments
  CC=\"membar cc\" CXX=\"membar c++\" cmake -B build && cmake --build build
  membar cc -O2 -c queue.c

All arguments go to the compiler, and its output works as always; it also carries what
`membar verify` needs. The compiler is gcc or clang, or the one that MEMBAR_CC and MEMBAR_CXX name.
Exit codes: those of the compiler."
)]
pub struct Compile {
    /// The compiler's arguments.
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

/// The machines that programs are verified for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerifyModel {
    /// Total Store Order: one store buffer per thread (x86, SPARC)
    Tso,
    /// Partial Store Order: one store buffer per thread and address
    Pso,
    /// C11 and C++20: what compilers, Arm, RISC-V and Power may make of the memory orders
    C11,
    /// RISC-V's model, for litmus tests in RISCV
    Rvwmo,
    /// RISC-V with total store order, for litmus tests in RISCV
    Ztso,
    /// Arm's model, for litmus tests in AArch64
    Armv8,
    /// All that say something about the program
    All,
}

impl VerifyModel {
    /// The models that it stands for.
    pub fn models(self) -> &'static [ProgramModel] {
        match self {
            VerifyModel::Tso => &[ProgramModel::Tso],
            VerifyModel::Pso => &[ProgramModel::Pso],
            VerifyModel::C11 => &[ProgramModel::C11],
            VerifyModel::Rvwmo | VerifyModel::Ztso | VerifyModel::Armv8 => &[],
            VerifyModel::All => &Models::ALL,
        }
    }

    /// Those that it stands for where executions are enumerated, for tests of this dialect.
    pub fn enumerated(self, arch: Arch) -> Vec<Model> {
        match self {
            VerifyModel::Tso => vec![Model::Tso],
            VerifyModel::Pso => vec![Model::Pso],
            VerifyModel::C11 => vec![Model::C11],
            VerifyModel::Rvwmo => vec![Model::Rvwmo],
            VerifyModel::Ztso => vec![Model::Ztso],
            VerifyModel::Armv8 => vec![Model::Armv8],
            VerifyModel::All => Model::of(arch).iter().copied().filter(|&model| model != Model::Sc).collect(),
        }
    }
}

/// The question that a verdict answers.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum PropertyArg {
    /// errors if the program checks something itself (assert, abort, …), otherwise robust
    Auto,
    /// Does any execution under the model lead to a program error?
    Errors,
    /// Is every execution under the model sequentially consistent?
    Robust,
}

/// Whether data races are errors.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum RacesArg {
    /// Under c11
    Auto,
    /// Under every model
    On,
    /// Under none: robustness alone
    Off,
}

/// Reads a model, and explains why others are not available here.
#[derive(Clone)]
struct VerifyModelParser {
    /// Whether help names `all`.
    all: bool,
}

impl TypedValueParser for VerifyModelParser {
    type Value = VerifyModel;

    fn parse_ref(&self, command: &clap::Command, arg: Option<&Arg>, value: &OsStr) -> Result<VerifyModel, clap::Error> {
        let inner = EnumValueParser::<VerifyModel>::new();
        let text = value.to_string_lossy().to_lowercase();
        let why = match text.as_str() {
            "sc" => {
                "every program is sequentially consistent under sc; --strategy exhaustive finds errors under any model"
            }
            "x86" | "x86-tso" | "x86_64" | "sparc" => "that is tso: --model tso",
            "arm" | "aarch64" | "arm64" | "riscv" | "power" | "rc11" | "c++" | "c++20" | "wmo" => {
                "--model c11 answers for Arm, RISC-V, Power and every compiler"
            }
            _ => return inner.parse_ref(command, arg, value),
        };
        let all = if self.all { ", all" } else { "" };
        let message = format!(
            "there is no model `{}` for programs: {why}\n  [possible values: tso, pso, c11, rvwmo, ztso, armv8{all}]\n",
            value.to_string_lossy()
        );
        Err(clap::Error::raw(clap::error::ErrorKind::InvalidValue, message).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let named = VerifyModel::value_variants().iter().filter(|&&model| self.all || model != VerifyModel::All);
        Some(Box::new(named.filter_map(ValueEnum::to_possible_value)))
    }
}

/// Ways to choose executions.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum StrategyName {
    /// dpor
    Auto,
    /// Every interleaving
    Exhaustive,
    /// Every interleaving with up to --preemptions preemptions
    Bounded,
    /// One execution per happens-before class
    Dpor,
    /// Threads chosen at random
    Random,
    /// Random priorities that change a few times
    Pct,
}

/// The monitor that watches each execution.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerifyMonitor {
    /// membar's own: needs only one execution per class
    Auto,
    /// Burnim, Sen and Stergiou's for TSO
    Tso,
    /// The same authors' for PSO
    Pso,
    /// Burckhardt and Musuvathi's for TSO, as published
    Sober,
    /// The same, corrected to the standard definition of TSO
    SoberFixed,
}

/// How results of verification are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerifyFormat {
    /// For people
    Text,
    /// Machine-readable
    Json,
    /// For code-review tools: SARIF 2.1.0
    Sarif,
}

/// `membar replay`
#[derive(Args, Debug)]
#[command(
    override_usage = "membar replay [OPTIONS] <PROGRAM>... <SCHEDULE> [-- <FLAGS>...]",
    after_help = "\
Examples:
  membar replay SB.litmus ab2a                 thread 0, thread 1 twice, thread 0
  membar replay SB.litmus ab2a --model tso     also where tso could leave this execution
  membar replay SB.litmus ab2a --html run.html also a page to step through
  membar replay SB.litmus ab2a --format json
  membar replay main.c queue.c a12b3 -- -DN=3  a program as it was verified

A schedule says who makes the next access: `a` to `z` are threads 0 to 25, `A` to `Z` 26 to 51, \
`{52}` and so on the others; a number repeats the thread before it. `membar verify` prints one with \
everything it finds.
Exit codes: 0 the schedule could be run, 2 bad usage or input, or a thread in it cannot run."
)]
pub struct Replay {
    /// The program, as for `membar verify`: a litmus test (`-` is standard input), sources, or an executable; then the
    /// schedule.
    #[arg(required = true, num_args = 2.., value_names = ["PROGRAM", "SCHEDULE"])]
    words: Vec<OsString>,

    /// Mark where an access could overtake a store under this model. A schedule with `~` is run under it.
    #[arg(short, long, value_name = "MODEL", value_parser = VerifyModelParser { all: false })]
    pub model: Option<VerifyModel>,

    /// How the steps are written: for people or as JSON.
    #[arg(short, long, value_enum, default_value_t = DataFormat::Text, value_name = "FORMAT")]
    pub format: DataFormat,

    /// Also write a report for a browser to this file: one page with every view.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Open the page in a browser: `$BROWSER`, or the default browser.
    #[arg(long, requires = "html")]
    pub open: bool,

    /// Explore the program this long first: a schedule counts accesses to memory that is known to be shared by then.
    #[arg(long, value_name = "TIME", value_parser = TimeParser)]
    pub learn: Option<Time>,

    #[command(flatten)]
    pub native: NativeArgs,
}

impl Replay {
    /// The files of the program, and the schedule.
    pub fn program_and_schedule(&self) -> (Vec<PathBuf>, String) {
        match &self.words[..] {
            [program @ .., schedule] => {
                (program.iter().map(PathBuf::from).collect(), schedule.to_string_lossy().into_owned())
            }
            [] => (Vec::new(), String::new()),
        }
    }
}

fn steps(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1_000_000) => Ok(n),
        _ => Err("write a number from 1 to 1000000".into()),
    }
}
