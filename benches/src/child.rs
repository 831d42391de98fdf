//! Runs a process and measures it.

use crate::case::Case;
use crate::cli::{Common, PlanName};
use crate::error::Error;
use serde::Deserialize;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;
use wait4::Wait4;

/// The cost of a process.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Wall time from start to end.
    pub seconds: f64,
    /// Processor time: the wall time if nothing else ran.
    pub cpu: f64,
    /// Peak resident memory in MB (10^6 bytes).
    pub megabytes: f64,
}

impl Cost {
    /// The smaller of each: other processes only ever add.
    pub fn best(self, other: Cost) -> Cost {
        Cost {
            seconds: self.seconds.min(other.seconds),
            cpu: self.cpu.min(other.cpu),
            megabytes: self.megabytes.min(other.megabytes),
        }
    }
}

/// The part of `membar check --format json` that matters here.
#[derive(Deserialize, Clone, Debug)]
pub struct Answer {
    pub verdict: String,
    pub algorithm: String,
    pub certified: bool,
    #[serde(default)]
    pub effort: Effort,
}

/// The cost of one decision.
#[derive(Deserialize, Clone, Copy, Debug, Default)]
pub struct Effort {
    pub conflicts: u64,
}

#[derive(Deserialize)]
struct Answers {
    results: Vec<Answer>,
}

/// Runs `membar` (or its stand-in) and this program, with files in a temporary directory.
pub struct Runner {
    /// This program: writes traces.
    bench: PathBuf,
    /// The program to measure; `None`: this program.
    membar: Option<PathBuf>,
    directory: TempDir,
}

impl Runner {
    pub fn new(common: &Common) -> Result<Runner, Error> {
        if common.in_process {
            return Ok(Runner { bench: this()?, membar: None, directory: TempDir::new()? });
        }
        Runner::real(common.membar.as_deref())
    }

    /// Runs this `membar`, or the one next to this program.
    pub fn real(membar: Option<&Path>) -> Result<Runner, Error> {
        let bench = this()?;
        let membar = match membar {
            Some(path) => path.to_owned(),
            None => find(&bench)?,
        };
        Ok(Runner { bench, membar: Some(membar), directory: TempDir::new()? })
    }

    /// The program being measured, for the head of the results.
    pub fn subject(&self) -> &'static str {
        match self.membar {
            Some(_) => "`membar check`, one process per trace, from text",
            None => "the libraries without the membar command, one process per trace, from text",
        }
    }

    /// A file in the temporary directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a trace to a file that the next call overwrites.
    pub fn write(&self, case: &Case) -> Result<PathBuf, Error> {
        let path = self.file("bench.trace");
        self.bench(&case.arguments(&path))?;
        Ok(path)
    }

    /// Runs one of this program's own commands; what it prints.
    pub fn bench(&self, arguments: &[String]) -> Result<String, Error> {
        self.measure(&self.bench, arguments).map(|(_, out)| out)
    }

    /// Decides the only trace of a file.
    pub fn check(&self, file: &Path, model: &str) -> Result<(Cost, Answer), Error> {
        let (program, arguments) = self.command(file, model, "json");
        let (cost, out) = self.measure(program, &arguments)?;
        Ok((cost, answer(program, &out)?))
    }

    /// Decides the only trace of a file with the libraries and this plan.
    pub fn check_with(&self, file: &Path, model: &str, plan: PlanName) -> Result<(Cost, Answer), Error> {
        let (_, mut arguments) = self.command(file, model, "json");
        arguments.extend(["--plan".to_owned(), plan.name().to_owned()]);
        let (cost, out) = self.measure(&self.bench, &arguments)?;
        Ok((cost, answer(&self.bench, &out)?))
    }

    /// Decides every trace of a file; what it cost and how many were allowed.
    pub fn check_many(&self, file: &Path, model: &str) -> Result<(Cost, usize), Error> {
        let (program, arguments) = self.command(file, model, "axe");
        let (cost, out) = self.measure(program, &arguments)?;
        Ok((cost, out.lines().filter(|&line| line == "OK").count()))
    }

    /// Is there a `membar` to run?
    pub fn has_membar(&self) -> bool {
        self.membar.is_some()
    }

    /// Runs `membar` some times: the best costs, and what it printed the last time.
    pub fn membar(&self, arguments: &[String], times: u32) -> Result<(Cost, String), Error> {
        let program = self.membar.as_deref().ok_or_else(|| Error::NoMembar("membar".into()))?;
        let (mut best, mut out) = self.measure(program, arguments)?;
        for _ in 1..times {
            let (cost, again) = self.measure(program, arguments)?;
            (best, out) = (best.best(cost), again);
        }
        Ok((best, out))
    }

    /// The answer about the only trace, as `membar check --format json` printed it.
    pub fn answer(&self, out: &str) -> Result<Answer, Error> {
        answer(self.membar.as_deref().unwrap_or(&self.bench), out)
    }

    fn command(&self, file: &Path, model: &str, format: &str) -> (&Path, Vec<String>) {
        let file = file.to_string_lossy();
        let arguments = ["check", "--model", model, "--format", format, &file].map(str::to_owned).to_vec();
        (self.membar.as_deref().unwrap_or(&self.bench), arguments)
    }

    /// Runs a process to its end. Exit codes 0, 1 and 3 are answers.
    fn measure(&self, program: &Path, arguments: &[String]) -> Result<(Cost, String), Error> {
        // Files, not pipes: nobody has to read along.
        let (out, err) = (self.file("stdout"), self.file("stderr"));
        let create = |path: &Path| File::create(path).map_err(Error::file("write", path));
        let read = |path: &Path| {
            std::fs::read(path)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(Error::file("read", path))
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
        let failed = |source| Error::Start { program: program.to_owned(), source };
        let start = Instant::now();
        let ended = command.spawn().map_err(failed)?.wait4().map_err(failed)?;
        let seconds = start.elapsed().as_secs_f64();
        if !matches!(ended.status.code(), Some(0 | 1 | 3)) {
            return Err(Error::Child {
                program: program.to_owned(),
                arguments: arguments.join(" "),
                status: ended.status,
                stderr: read(&err)?,
            });
        }
        let cpu = (ended.rusage.utime + ended.rusage.stime).as_secs_f64();
        Ok((Cost { seconds, cpu, megabytes: ended.rusage.maxrss as f64 / 1e6 }, read(&out)?))
    }
}

fn this() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(Error::file("find", "membar-bench"))
}

fn answer(program: &Path, out: &str) -> Result<Answer, Error> {
    let wrong = |source| Error::Answer { program: program.to_owned(), source };
    let mut answers: Answers = serde_json::from_str(out).map_err(wrong)?;
    match answers.results.pop() {
        Some(answer) if answers.results.is_empty() => Ok(answer),
        _ => Err(wrong(serde::de::Error::custom("expected one result"))),
    }
}

/// The membar next to this program. Under cargo it is built first, so that it is never an old one.
fn find(bench: &Path) -> Result<PathBuf, Error> {
    let program = bench.with_file_name(format!("membar{}", std::env::consts::EXE_SUFFIX));
    if let (Some(cargo), Some(manifest)) = (std::env::var_os("CARGO"), std::env::var_os("CARGO_MANIFEST_DIR")) {
        let mut build = Command::new(&cargo);
        build.args(["build", "--quiet", "-p", "membar"]).current_dir(manifest);
        if let Some(target) = bench.parent().and_then(Path::parent) {
            build.arg("--target-dir").arg(target);
        }
        if !cfg!(debug_assertions) {
            build.arg("--release");
        }
        let status = build.status().map_err(|source| Error::Start { program: cargo.into(), source })?;
        if !status.success() {
            return Err(Error::NoMembar(program));
        }
    }
    if program.is_file() { Ok(program) } else { Err(Error::NoMembar(program)) }
}
