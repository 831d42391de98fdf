//! C and C++ programs: compiled, run and explored by the libraries, in their own processes as `membar verify` does it.
//!
//! A program runs in a child process, and the search in this one; they take turns, so with one worker the processor time
//! of both together is what the wall time would be on an idle core. With several workers it is wall time that
//! counts. Where other things run, *possible* says what the ratio would be on free cores: the processor time of one worker
//! and its search, over that of the busier one of two and theirs.

use crate::error::Error;
use membar_core::Relaxation;
use membar_explore::{Counts, Strategy};
use membar_native::Options;
use membar_native::build::{Request, build};
use membar_native::process::Setup;
use membar_native::session::Session;
use membar_symbols::Symbols;
use membar_verify::{Checkpoint, Effort, Settings, Watching};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// As `membar verify` has them by default.
const HEAP: usize = 64 << 20;
pub const MAX_STEPS: usize = 1000;

/// The hidden command of this program that runs a program for another process of it.
const SERVE: &str = "run-program";

/// A program to compile.
#[derive(Clone, Debug)]
pub struct Source {
    /// As it is shown.
    pub name: String,
    pub file: PathBuf,
    flags: Vec<OsString>,
}

impl Source {
    /// One of examples/programs; with another `N` than its own if that is said.
    pub fn example(name: &str, n: Option<u32>) -> Source {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("examples").join("programs");
        let c = directory.join(format!("{name}.c"));
        let file = if c.is_file() { c } else { directory.join(format!("{name}.cpp")) };
        let shown = n.map_or_else(|| name.to_owned(), |n| format!("{name}, N={n}"));
        Source { name: shown, file, flags: n.map(|n| format!("-DN={n}").into()).into_iter().collect() }
    }

    /// One of benches/programs, with these flags.
    pub fn bench(name: &str, flags: &[&str]) -> Source {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(format!("{name}.c"));
        let shown = [&[name], flags].concat().join(" ");
        Source { name: shown, file, flags: flags.iter().map(Into::into).collect() }
    }

    /// An example that uses `volatile`, with seq_cst atomics instead.
    pub fn atomic(name: &str, n: u32) -> Source {
        let mut source = Source::example(name, Some(n));
        source.flags.push("-Dvolatile=_Atomic".into());
        Source { name: format!("{} with atomics", source.name), ..source }
    }

    /// A file, with these flags.
    pub fn file(file: &Path, flags: &str) -> Source {
        let shown = file.file_name().unwrap_or_default().to_string_lossy();
        let name = if flags.is_empty() { shown.into_owned() } else { format!("{shown} {flags}") };
        Source { name, file: file.to_owned(), flags: flags.split_whitespace().map(Into::into).collect() }
    }

    /// The programs of the corpus that need no options of membar, in order.
    pub fn corpus() -> Result<Vec<Source>, Error> {
        let mut sources = Vec::new();
        for directory in ["programs", "reduce"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("corpus").join(directory);
            for entry in std::fs::read_dir(&path).map_err(Error::file("read", &path))? {
                let file = entry?.path();
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(&file).map_err(Error::file("read", &file))?;
                let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
                let program = !name.ends_with(".md") && !name.ends_with(".h");
                if program && line("// driver:").is_none() && line("// only:").is_none() {
                    let flags = line("// flags:").unwrap_or("").split_whitespace().map(Into::into).collect();
                    sources.push(Source { name: format!("{directory}/{name}"), file, flags });
                }
            }
        }
        sources.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(sources)
    }

    /// A source that was written somewhere.
    pub fn at(file: &Path, flag: String) -> Source {
        Source { name: flag.clone(), file: file.to_owned(), flags: vec![flag.into()] }
    }
}

/// A compiled program with the processes that run it.
pub struct Program {
    session: Session,
    /// Seconds that it took to compile.
    pub compiling: f64,
    pub compiler: String,
    /// Outlives the session.
    _directory: TempDir,
}

/// How an exploration went.
#[derive(Clone, Debug)]
pub struct Run {
    pub checkpoint: Checkpoint,
    pub cost: Cost,
}

/// The cost of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub counts: Counts,
    /// Seconds.
    pub wall: f64,
    /// Seconds of processor time of this process,
    pub search: f64,
    /// of all children,
    pub children: f64,
    /// and of the one that was busiest.
    pub busiest: f64,
    /// Bytes of the largest child.
    pub resident: u64,
    /// Bytes that a reset copies.
    pub reset_bytes: usize,
}

impl Cost {
    /// Seconds of processor time.
    pub fn cpu(&self) -> f64 {
        self.search + self.children
    }

    /// Executions per second of processor time.
    pub fn rate(&self) -> f64 {
        self.counts.runs() as f64 / self.cpu()
    }

    /// Accesses an execution.
    pub fn events(&self) -> f64 {
        self.counts.events as f64 / self.counts.runs().max(1) as f64
    }

    /// The smaller of each.
    pub fn best(self, other: Cost) -> Cost {
        Cost {
            wall: self.wall.min(other.wall),
            search: self.search.min(other.search),
            children: self.children.min(other.children),
            busiest: self.busiest.min(other.busiest),
            resident: self.resident.max(other.resident),
            ..self
        }
    }
}

/// Settings as `membar verify` has them.
pub fn settings(model: Relaxation, strategy: Strategy, watching: Watching) -> Settings {
    Settings { strategy, watching, max_steps: MAX_STEPS, ..Settings::new(model) }
}

impl Program {
    /// Compiles and loads a program.
    pub fn open(source: &Source, jobs: usize) -> Result<Program, Error> {
        Program::open_with(source, jobs, true)
    }

    /// The same; without `symmetry`, threads that are alike are told apart.
    pub fn open_with(source: &Source, jobs: usize, symmetry: bool) -> Result<Program, Error> {
        let wrong = |message: String| Error::Program { name: source.name.clone(), message };
        let directory = TempDir::new()?;
        let start = Instant::now();
        let sources = [source.file.clone()];
        let request = Request { sources: &sources, flags: &source.flags, dir: directory.path(), cc: None, cxx: None };
        let built = build(&request).map_err(|error| wrong(error.to_string()))?;
        let compiling = start.elapsed().as_secs_f64();
        let symbols = Symbols::load(&built.object).map_err(|error| wrong(error.to_string()))?;
        let setup = Setup {
            exe: std::env::current_exe()?,
            exe_args: vec![SERVE.into()],
            object: built.object,
            around: Default::default(),
            args: vec![source.file.file_stem().unwrap_or_default().to_owned()],
            dir: directory.path().to_owned(),
            options: Options { heap: HEAP, symmetry, wrappers: symbols.callers().wrappers, ..Options::default() },
            until: None,
            show: false,
        };
        let session = Session::start(&setup, jobs).map_err(|error| wrong(error.to_string()))?;
        Ok(Program { session, compiling, compiler: built.compiler, _directory: directory })
    }

    /// Explores until it is done, the executions or the time of the effort are used up, or it is to stop at the first finding.
    pub fn explore(&mut self, settings: Settings, effort: Effort, time: Option<Duration>) -> Result<Run, Error> {
        let wrong = |error: membar_native::session::SessionError| Error::Program {
            name: "exploring".to_owned(),
            message: error.to_string(),
        };
        let stop = AtomicBool::new(false);
        self.session.learn(settings, &stop).map_err(wrong)?;
        let before = Times::now();
        let late = |before: &Times| time.is_some_and(|time| before.at.elapsed() >= time);
        let checkpoint = self
            .session
            .verify(Checkpoint::new(settings), effort, &[], &stop, |verification, _| {
                !verification.has_found_first() && !verification.is_out_of_executions() && !late(&before)
            })
            .map_err(wrong)?;
        let (wall, search, children) = before.since();
        let statistics = self.session.statistics();
        let cost = Cost {
            counts: checkpoint.counts(),
            wall,
            search,
            children: children.iter().sum(),
            busiest: children.iter().copied().fold(0.0, f64::max),
            resident: statistics.resident,
            reset_bytes: statistics.reset_bytes,
        };
        Ok(Run { checkpoint, cost })
    }

    /// Explores from the beginning again and again for some seconds; what one exploration cost.
    pub fn timed(&mut self, settings: Settings, effort: Effort, least: f64) -> Result<Cost, Error> {
        let start = Instant::now();
        let mut sum = self.explore(settings, effort, None)?.cost;
        let mut times = 1.0;
        while start.elapsed().as_secs_f64() < least {
            let next = self.explore(settings, effort, None)?.cost;
            sum = Cost {
                wall: sum.wall + next.wall,
                search: sum.search + next.search,
                children: sum.children + next.children,
                busiest: sum.busiest + next.busiest,
                ..next
            };
            times += 1.0;
        }
        Ok(Cost {
            wall: sum.wall / times,
            search: sum.search / times,
            children: sum.children / times,
            busiest: sum.busiest / times,
            ..sum
        })
    }
}

/// Wall and processor times of this process and its children at some moment.
struct Times {
    at: Instant,
    own: f64,
    children: BTreeMap<u32, f64>,
}

impl Times {
    fn now() -> Times {
        let (own, children) = processor_times();
        Times { at: Instant::now(), own, children }
    }

    /// Seconds since then: of wall time, of this process, of each child.
    fn since(&self) -> (f64, f64, Vec<f64>) {
        let wall = self.at.elapsed().as_secs_f64();
        let (own, children) = processor_times();
        let before = |pid: &u32| self.children.get(pid).copied().unwrap_or(0.0);
        (wall, own - self.own, children.iter().map(|(pid, now)| now - before(pid)).collect())
    }
}

/// Seconds of processor time of this process with all its threads, and of each child.
fn processor_times() -> (f64, BTreeMap<u32, f64>) {
    /// The kernel counts a process's time, with that of threads that have ended, in hundredths of seconds, but that of a thread exactly.
    const TICK: f64 = 0.01;
    let exact = |thread: &str| -> f64 {
        let exact = std::fs::read_to_string(format!("{thread}/schedstat")).unwrap_or_default();
        exact.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
    };
    let fields = |pid: &str| -> Option<Vec<String>> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything, but no closing parenthesis comes after it.
        Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
    };
    let ticks = |field: &str| field.parse::<f64>().unwrap_or(0.0) * TICK;
    let own = fields("self").map_or(0.0, |fields| ticks(&fields[11]) + ticks(&fields[12]));
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let own = own.max(threads.map(|thread| exact(&thread.path().to_string_lossy())).sum());
    let this = std::process::id().to_string();
    let mut children = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(pid) = name.parse::<u32>() else { continue };
        if fields(&name).is_some_and(|fields| fields[1] == this) {
            // A child has one thread.
            children.insert(pid, exact(&format!("/proc/{pid}")));
        }
    }
    (own, children)
}

/// `membar-bench run-program`
pub fn serve() -> Result<std::process::ExitCode, Error> {
    membar_native::process::serve()?;
    Ok(std::process::ExitCode::SUCCESS)
}
