//! Everything a page needs besides the verdict: the other models, a run of the machine, how it was made.

mod confirm;
mod saved;

pub use confirm::ways;
pub use saved::Again;

use membar::core::Verdict;
use membar::report::campaign::CampaignReport;
use membar::report::html::{self, Case, Made, Page, PageContext, Pages, Row};
use membar::report::kinds::ShownVerdict;
use membar::report::litmus::{Histogram, LitmusResult};
use membar::report::monitor::Monitored;
use membar::report::verify::{ReplayCommand, ReplayReport, VerifyReport};
use membar::report::{Decided, Report, count, quoted_path, safe};
use membar::{Chosen, Decider, Failure, Limits};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Allowed traces that are shown in full.
pub const ALLOWED: usize = 10;
/// Other traces that are shown in full.
pub const BAD: usize = 40;

/// Facts to tell about each trace.
#[derive(Debug, Default)]
pub struct PageOptions {
    /// Options that change the meaning of a trace, as they can be typed: ` --clock global`.
    pub options: String,
    /// The time limit.
    pub time: Option<Duration>,
    /// Traces are parts of those that are meant.
    pub part: bool,
    allowed: AtomicUsize,
    bad: AtomicUsize,
}

impl PageOptions {
    /// For a command with these options and this time limit.
    pub fn new(options: String, time: Option<Duration>) -> PageOptions {
        PageOptions { options, time, ..PageOptions::default() }
    }

    /// Should one more trace with such a verdict be shown in full?
    fn one_more(&self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Allowed(_) => self.allowed.fetch_add(1, Ordering::Relaxed) < ALLOWED,
            _ => self.bad.fetch_add(1, Ordering::Relaxed) < BAD,
        }
    }
}

/// An answer as a page has it.
#[derive(Debug)]
pub struct Entry {
    /// In the table of all answers.
    pub row: Row,
    /// In full, if there is room for that.
    pub case: Option<Case>,
}

/// The entry of a decided trace.
pub fn entry(
    decider: &mut Decider,
    decided: &Decided<'_>,
    report: &Report,
    wish: &PageOptions,
    (model_arg, limits): (&str, &Limits),
) -> Entry {
    let row = Row::new(report);
    if !wish.one_more(decided.verdict) {
        return Entry { row, case: None };
    }
    let aside = PageContext {
        options: wish.options.clone(),
        model_arg: model_arg.to_owned(),
        part: wish.part,
        time: wish.time.map(|time| time.as_secs_f64()),
        ..PageContext::default()
    };
    Entry { row, case: Some(decider.case(decided, report, aside, limits)) }
}

/// The text of a source that a document names. It may name any file; only what looks like a source is read.
fn named_source(file: &str) -> Option<String> {
    const ENDINGS: [&str; 14] =
        ["c", "cc", "cpp", "cxx", "C", "c++", "cp", "CPP", "h", "hh", "hpp", "hxx", "inc", "litmus"];
    let end = Path::new(file).extension()?;
    ENDINGS.iter().any(|known| end == *known).then(|| membar::source(file)).flatten()
}

/// The words of the command whose results are shown, where they are not this process's.
/// A command that ran elsewhere, and the directory that the user is in.
static ELSEWHERE: OnceLock<(Vec<String>, PathBuf)> = OnceLock::new();

/// Results are those of this command, which ran elsewhere. The user is in this directory, not in the one that the command ran in.
pub fn made_by(words: Vec<String>, here: PathBuf) {
    let _ = ELSEWHERE.set((words, here));
}

/// The name of a file, as the user would give it.
fn named(path: &Path) -> &Path {
    ELSEWHERE.get().and_then(|(_, here)| path.strip_prefix(here).ok()).unwrap_or(path)
}

/// How this page is made.
pub fn made() -> Made {
    let own = || std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args: Vec<String> =
        ELSEWHERE.get().map_or_else(own, |(words, _)| words.clone()).iter().map(|arg| quoted_path(arg)).collect();
    Made {
        command: format!("membar {}", args.join(" ")),
        version: concat!("membar ", env!("CARGO_PKG_VERSION")).into(),
        host: host(),
    }
}

fn host() -> String {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()));
    let cpu = name.map_or_else(|| std::env::consts::ARCH.to_owned(), safe);
    format!("{cpu}, {} in use, {} {}", count(cpus, "processor"), std::env::consts::OS, std::env::consts::ARCH)
}

/// A page on its way into a file.
#[derive(Debug)]
pub struct ToFile {
    pages: Pages,
    /// Reads a source.
    source: fn(&str) -> Option<String>,
    /// The contents were read from a document.
    document: bool,
    place: Place,
    name: String,
}

/// A file that is left as it was, or not there at all, unless something is written to it.
#[derive(Debug)]
struct Place {
    file: File,
    /// Where it is, if it was made for this and nothing has been written to it.
    empty: Option<PathBuf>,
}

impl Place {
    fn open(path: &Path) -> io::Result<Place> {
        let new = !path.exists();
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        Ok(Place { file, empty: new.then(|| path.to_owned()) })
    }

    fn write(&mut self, page: &Page) -> io::Result<()> {
        self.empty = None;
        // A pipe or a terminal has no length.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        let mut out = BufWriter::new(&self.file);
        html::write(page, &mut out)?;
        out.flush()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(path) = &self.empty {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl ToFile {
    /// The file is made immediately: it is known early whether it can be.
    pub fn create(path: &Path) -> Result<ToFile, Failure> {
        let name = safe(&named(path).to_string_lossy());
        let place = Place::open(path).map_err(|error| {
            Failure::Usage(format!(
                "error: {name}: {error}\n = help: a page needs the name of a file that can be written"
            ))
        })?;
        Ok(ToFile { pages: Pages::new(made()), source: membar::source, document: false, place, name })
    }

    /// The same for what a document says.
    pub fn create_for_document(path: &Path) -> Result<ToFile, Failure> {
        Ok(ToFile { source: named_source, document: true, ..ToFile::create(path)? })
    }

    /// Adds an answer.
    pub fn add(&mut self, entry: Entry) {
        self.pages.add(entry.row, entry.case);
    }

    /// The command that gave an answer: the one that runs now, unless it reads a document.
    fn command(&self, answered: impl FnOnce() -> String) -> String {
        if self.document { answered() } else { made().command }
    }

    /// Adds what came of verifying a program.
    pub fn add_program(&mut self, report: &VerifyReport) {
        let model = report.model;
        let ReplayCommand { program, flags } = &report.command;
        let command = self.command(|| format!("membar verify {program} --model {model}{flags}"));
        for (row, case) in html::cases(report, &command, &self.source) {
            self.pages.add(row, Some(case));
        }
    }

    /// Adds a schedule that was run.
    pub fn add_schedule(&mut self, report: &ReplayReport) {
        let command = self.command(|| {
            let model = report.model.map_or_else(String::new, |model| format!(" --model {model}"));
            format!("membar replay {} {}{model}", quoted_path(&report.program), quoted_path(&report.schedule))
        });
        let (row, case) = html::replayed(report, &command, &self.source);
        self.pages.add(row, Some(case));
    }

    /// Adds what a monitor found.
    pub fn add_monitored(&mut self, report: &Monitored) {
        let mut confirm = confirm::confirmer();
        let command =
            self.command(|| format!("membar monitor {} --monitor {}", quoted_path(&report.file), report.monitor));
        for (row, case) in html::monitored(report, &command, &mut confirm) {
            self.pages.add(row, case);
        }
    }

    /// Adds the final states of a test, under one model or several.
    pub fn add_litmus(&mut self, asked: &[LitmusResult], others: &[LitmusResult], way: Option<&html::Way>) {
        let command = self.command(|| {
            let file = asked.first().map_or_else(String::new, |result| quoted_path(&result.file));
            let models: String =
                asked.iter().map(|result| format!(" --model {}", quoted_path(&result.model))).collect();
            format!("membar litmus {file}{models}")
        });
        if let Some((row, case)) = html::litmus((asked, others), &command, way, &self.source) {
            self.pages.add(row, Some(case));
        }
    }

    /// Adds what a machine did with a test.
    pub fn add_histogram(&mut self, result: &Histogram) {
        let command = self
            .command(|| format!("membar stress {} --model {}", quoted_path(&result.file), quoted_path(&result.model)));
        let (row, case) = html::histogram(result, &command);
        self.pages.add(row, Some(case));
    }

    /// Adds a campaign. Its violations are decided again; these are the models that are not built in.
    pub fn add_campaign(&mut self, report: &CampaignReport, models: &[Chosen]) {
        let mut again = Again::new(models.to_vec());
        let mut cases = BTreeMap::new();
        for (i, found) in report.counts.violations.iter().enumerate() {
            let (row, case) = again.violation(found, &report.model);
            if let Some(place) = self.pages.add(row, case) {
                cases.insert(i, place);
            }
        }
        let command = (!self.document).then(|| made().command);
        self.pages.campaign(html::campaign(report, command.as_deref(), &cases));
    }

    /// Adds an answer that was read back from a document.
    pub fn add_saved(&mut self, report: &Report, again: &mut Again) {
        let (row, case) = again.answer(report);
        self.pages.add(row, Some(case));
    }

    /// Adds something that went wrong.
    pub fn add_error(&mut self, file: &str, message: &str) {
        let (name, subject) = (file.to_owned(), file.to_owned());
        let about = message.into();
        let row = Row { name, subject, model: "–".into(), verdict: ShownVerdict::Error, about, ..Row::default() };
        self.pages.add(row, None);
    }

    /// Adds something that there is no answer about, for this reason.
    pub fn add_missing(&mut self, file: &str, why: &str) {
        let (name, subject, about) = (file.to_owned(), file.to_owned(), why.to_owned());
        self.pages.add(
            Row { name, subject, model: "–".into(), verdict: ShownVerdict::Undecided, about, ..Row::default() },
            None,
        );
    }

    /// Writes the page, and says so.
    pub fn finish(self) -> Result<(), Failure> {
        let name = self.name.clone();
        self.finish_quietly()?;
        let _ = writeln!(io::stderr(), "wrote {name}");
        Ok(())
    }

    /// Writes the page.
    pub fn finish_quietly(mut self) -> Result<(), Failure> {
        let failed = |error| Failure::Usage(format!("error: {}: {error}", self.name));
        self.place.write(&self.pages.finish()).map_err(failed)
    }
}
