//! Where results come from and where they go: the machine, the date, the terminal, docs/benchmarks.

use crate::cli::Output;
use crate::error::Error;
use crate::table::Table;
use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Instant, SystemTime};

/// The results of one command.
pub struct Results {
    markdown: bool,
    /// Everything as Markdown, if it is to be kept.
    saved: Option<String>,
    date: String,
}

impl Results {
    /// Prints the head: the subject and the machine of the measurement.
    pub fn begin(output: &Output, what: &str, subject: &str) -> Results {
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let date = now.split('T').next().unwrap_or_default().to_owned();
        let machine = machine();
        let saved = output.save.then(|| format!("## {what}, {now}\n\n{machine}\n\nMeasured: {subject}.\n"));
        if output.markdown {
            println!("## {what}, {now}\n\n{machine}\n\nMeasured: {subject}.");
        } else {
            println!("{what}, {now}\n{machine}\nmeasured: {subject}");
        }
        Results { markdown: output.markdown, saved, date }
    }

    /// Prints a table.
    pub fn table(&mut self, table: &Table) {
        println!("\n{}", if self.markdown { table.markdown() } else { table.text() }.trim_end());
        if let Some(saved) = &mut self.saved {
            saved.push('\n');
            saved.push_str(&table.markdown());
        }
    }

    /// Prints a drawing made of characters.
    pub fn drawing(&mut self, drawing: &str) {
        let fenced = format!("```text\n{}\n```", drawing.trim_end());
        println!("\n{}", if self.markdown { &fenced } else { drawing.trim_end() });
        if let Some(saved) = &mut self.saved {
            saved.push_str(&format!("\n{fenced}\n"));
        }
    }

    /// Prints a sentence.
    pub fn say(&mut self, text: &str) {
        println!("\n{text}");
        if let Some(saved) = &mut self.saved {
            saved.push_str(&format!("\n{text}\n"));
        }
    }

    /// Keeps what was printed, if that was asked for.
    pub fn end(self) -> Result<(), Error> {
        let Some(saved) = self.saved else { return Ok(()) };
        let directory = Path::new("docs").join("benchmarks");
        std::fs::create_dir_all(&directory).map_err(Error::file("create", &directory))?;
        let path = directory.join(format!("{}.md", self.date));
        let fresh = !path.exists();
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(Error::file("write", &path))?;
        let head = if fresh { format!("# Benchmarks of {}\n", self.date) } else { String::new() };
        file.write_all(format!("{head}\n{saved}").as_bytes()).map_err(Error::file("write", &path))?;
        eprintln!("appended to {}", path.display());
        Ok(())
    }
}

/// Processor, cores and load: `AMD EPYC 9B14, 2 cores, load 0.31`.
pub fn machine() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown");
    format!("{model}, {cores} core{}, {}, load before {load}", if cores == 1 { "" } else { "s" }, std::env::consts::OS)
}

/// Wall time, and the processor time of the calling thread.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Instant,
    cpu: Option<u64>,
}

impl Clock {
    pub fn start() -> Clock {
        let cpu = cpu();
        Clock { wall: Instant::now(), cpu }
    }

    /// Seconds of wall time since the start.
    pub fn wall(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    /// Seconds since the start: wall time, processor time. Where the system does not tell the latter, the former twice.
    pub fn seconds(&self) -> (f64, f64) {
        let wall = self.wall();
        let cpu = self.cpu.zip(cpu()).map_or(wall, |(from, to)| to.saturating_sub(from) as f64 / 1e9);
        (wall, cpu)
    }
}

/// Nanoseconds that the calling thread has run.
fn cpu() -> Option<u64> {
    // The kernel brings its figure up to date when a thread gives way.
    std::thread::yield_now();
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// Says on a terminal's standard error how far it got.
pub struct Progress {
    done: usize,
    total: usize,
    shown: bool,
}

impl Progress {
    pub fn new(total: usize) -> Progress {
        Progress { done: 0, total, shown: std::io::stderr().is_terminal() }
    }

    pub fn next(&mut self, what: &str) {
        self.done += 1;
        if self.shown {
            eprint!("\r\x1b[K{}/{} {what}", self.done, self.total);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}
