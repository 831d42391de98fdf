//! `membar demo`: the whole story on this machine. A broken lock and its fence, what real cores do, the page.
//!
//! Everything happens as by the commands that are shown, on files in one directory: the one that was asked for, or one that
//! is gone afterwards. If this machine cannot show something (no compiler, one core), the demo says so and uses a file instead.

use super::{stress, verify};
use crate::cli::{Cli, Command, Demo};
use crate::decide::{Detail, Guarded, internal_error};
use crate::page::{PageOptions, ToFile};
use crate::stop::{self, ALLOWED, UNDECIDED};
use clap::Parser;
use membar::campaign::{Campaign, Hardware, Plan};
use membar::report::text::Text;
use membar::report::verify::VerifyReport;
use membar::report::{Report, Style, quoted_path, safe, wrapped};
use membar::stress::Cores;
use membar::{Budget, Chosen, Failure, Interrupt};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A lock without and with its fence, and the heart of both as litmus tests, where no C program can be run.
const PROGRAMS: [(&str, &str); 4] = [
    ("peterson.c", include_str!("../../demo/peterson.c")),
    ("peterson-fixed.c", include_str!("../../demo/peterson-fixed.c")),
    ("SB.litmus", include_str!("../../demo/SB.litmus")),
    ("SB+mfences.litmus", include_str!("../../demo/SB+mfences.litmus")),
];
/// A recording of real cores, for machines that cannot make one.
const TRACE: (&str, &str) = ("store-buffering.trace", include_str!("../../demo/store-buffering.trace"));
/// The page.
const PAGE: &str = "membar-demo.html";
/// A workload in which stores meet loads of the other thread, and little else happens.
const STRESS: &str = "membar stress --model sc --profile producer-consumer --threads 2 --output violations";
/// How long real cores get to show store buffering.
const PATIENCE: Duration = Duration::from_secs(10);
/// Operations that a reader wants to see.
const MOST: usize = 6;
/// Violations of other shapes that are passed over.
const OTHERS: usize = 20;

/// Runs the command.
pub fn run(args: &Demo, style: Style) -> Result<u8, Failure> {
    let here = std::env::current_dir().map_err(|error| cannot("find the current directory", &error))?;
    let temporary = match &args.save {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(|error| cannot("make a directory", &error))?),
    };
    let directory = temporary.as_ref().map_or_else(
        || args.save.as_ref().map_or_else(|| here.clone(), |save| here.join(save)),
        |directory| directory.path().to_owned(),
    );
    save(&directory)?;
    let page = match args.save {
        Some(_) => free(&directory),
        None => free(&here),
    };
    // As after `cd`: files have short names, and commands that are shown work there.
    std::env::set_current_dir(&directory).map_err(|error| cannot("enter the directory", &error))?;
    let (page, to_file) = match ToFile::create(&page) {
        Ok(to_file) => (page, to_file),
        Err(failure) if args.save.is_some() => return Err(failure),
        Err(_) => {
            let page = free(&std::env::temp_dir());
            let to_file = ToFile::create(&page)?;
            (page, to_file)
        }
    };
    let mut story = Story {
        style,
        out: io::BufWriter::new(io::stdout()),
        decider: Guarded::default(),
        interrupt: stop::on_key(),
        page: to_file,
    };
    let told = story.tell(args.save.as_deref());
    let interrupted = story.interrupt.pressed();
    let told = told.and_then(|()| {
        let shown = page.strip_prefix(&here).unwrap_or(&page).to_string_lossy().into_owned();
        story.end(&shown, args.save.as_deref())
    });
    story.page.finish_quietly()?;
    // Nothing is left in a directory that is to be taken away.
    let _ = std::env::set_current_dir(&here);
    told?;
    Ok(if interrupted { UNDECIDED } else { ALLOWED })
}

fn cannot(what: &str, error: &io::Error) -> Failure {
    Failure::Usage(format!("error: cannot {what}: {error}"))
}

/// Writes programs and trace. Files of others are left alone.
fn save(directory: &Path) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        std::fs::create_dir_all(directory)?;
        for (name, text) in PROGRAMS.iter().chain([&TRACE]) {
            let path = directory.join(name);
            match std::fs::read(&path) {
                Ok(known) if known == text.as_bytes() => {}
                Ok(_) => return Err(io::Error::other(format!("there is another {name}; give an empty directory"))),
                Err(_) => std::fs::write(path, text)?,
            }
        }
        Ok(())
    };
    write().map_err(|error| {
        let directory = safe(&directory.to_string_lossy());
        Failure::Usage(format!("error: cannot write the files of the demonstration to {directory}: {error}"))
    })
}

/// A name for the page that is free, or has an older page of ours.
fn free(directory: &Path) -> PathBuf {
    let ours = |path: &Path| {
        use io::Read;
        let mut head = Vec::new();
        let file = std::fs::File::open(path);
        let read = file.and_then(|file| file.take(1024).read_to_end(&mut head));
        read.is_ok() && String::from_utf8_lossy(&head).contains("<meta name=\"generator\" content=\"membar\">")
    };
    let first = directory.join(PAGE);
    let others = (2..1000).map(|number| directory.join(PAGE.replace('.', &format!("-{number}."))));
    let mut names = std::iter::once(first.clone()).chain(others);
    names.find(|path| std::fs::symlink_metadata(path).is_err() || ours(path)).unwrap_or(first)
}

/// Tells the story.
struct Story {
    style: Style,
    out: io::BufWriter<io::Stdout>,
    decider: Guarded,
    interrupt: Interrupt,
    page: ToFile,
}

impl Story {
    fn tell(&mut self, saved: Option<&Path>) -> Result<(), Failure> {
        if let Some(saved) = saved {
            writeln!(self.out, "$ {}\n", self.style.heading(format!("cd {}", quoted_path(&saved.to_string_lossy()))))?;
        }
        self.lock()?;
        if !self.interrupt.pressed() {
            self.machine()?;
        }
        Ok(())
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", self.style.heading(text))?;
        self.out.flush()
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        for line in text.split('\n') {
            let indent = line.len() - line.trim_start().len();
            let (indent, line) = line.split_at(indent);
            writeln!(self.out, "{indent}{}", wrapped(line, self.style.prose() - indent.len(), "\n"))?;
        }
        self.out.flush()
    }

    fn command(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "$ {}", self.style.heading(text))?;
        self.out.flush()
    }

    /// Shows what `membar verify` says, with one violation in full.
    fn verified(&mut self, name: &str, report: &VerifyReport) -> Result<(), Failure> {
        self.command(&format!("membar verify {name}"))?;
        report.text(self.style, 1, &mut self.out)?;
        writeln!(self.out)?;
        self.page.add_program(report);
        Ok(())
    }

    /// A broken lock, and the same with its fence.
    fn lock(&mut self) -> Result<(), Failure> {
        self.heading("1. A lock that is broken on every x86 machine")?;
        let [(mut broken, text), (mut fixed, _), litmus, fenced] = PROGRAMS;
        let report = match verify::examine(broken, &self.interrupt) {
            Ok(report) => {
                self.say("Peterson's lock, as in the textbook. A thread says that it wants to enter, lets the other one go first, and waits:\n")?;
                let lines = text.lines().enumerate().skip_while(|(_, line)| line.trim() != "wants[me] = 1;");
                for (at, line) in lines.take(4) {
                    writeln!(self.out, "    {:>2}  {line}", at + 1)?;
                }
                report
            }
            Err(failure @ (Failure::Usage(_) | Failure::Input(_))) => {
                let why = failure.to_string();
                let why = why.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
                self.say(&format!(
                    "No C program can be verified here: {why}.\nSo this is the heart of such a lock as a litmus test: each thread says that it wants to enter, and looks at the other.\n"
                ))?;
                (broken, fixed) = (litmus.0, fenced.0);
                litmus.1.lines().try_for_each(|line| writeln!(self.out, "    {line}"))?;
                verify::examine(broken, &self.interrupt)?
            }
            Err(failure) => return Err(failure),
        };
        writeln!(self.out)?;
        self.verified(broken, &report)?;
        self.heading("2. The same with the fence: verified, in all its executions")?;
        let report = verify::examine(fixed, &self.interrupt)?;
        self.verified(fixed, &report)
    }

    /// Runs the cores of this machine.
    fn machine(&mut self) -> Result<(), Failure> {
        let cores = Cores::allowed().count();
        self.heading("3. This machine: do its cores really do that?")?;
        let found = match cores {
            0 | 1 => {
                self.say("Only one core may be used here, and on one core a waiting store cannot be seen. This is what two cores of an x86 machine recorded:\n")?;
                None
            }
            _ => {
                let two = if cores == 2 { "two cores".into() } else { format!("two of {cores} cores") };
                self.say(&format!(
                    "Random programs on {two}, until one does what sequential consistency does not explain:\n"
                ))?;
                self.stress()?
            }
        };
        let (small, whole) = match &found {
            Some(bundle) => (format!("{bundle}/shrunk.trace"), format!("{bundle}/trace.trace")),
            None => (TRACE.0.to_owned(), TRACE.0.to_owned()),
        };
        self.say("The few operations that matter, and why no interleaving explains them:\n")?;
        self.check(&small, "sc")?;
        self.say("A store waits in its core's buffer while a later load proceeds. That is what x86 promises (tso), so all of the recording is in order:\n")?;
        self.check(&whole, "tso")
    }

    /// Stresses the cores until they show store buffering; where that is kept.
    fn stress(&mut self) -> Result<Option<String>, Failure> {
        self.command(STRESS)?;
        let began = Instant::now();
        let mut seed = 1;
        for _ in 0..OTHERS {
            let left = PATIENCE.saturating_sub(began.elapsed());
            let more = ["--quiet".into(), format!("--seed={seed}"), format!("--time={}ms", left.as_millis())];
            let words = STRESS.split(' ').map(str::to_owned).chain(more);
            let cli = Cli::try_parse_from(words).map_err(|error| Failure::Usage(error.to_string()))?;
            let Command::Stress(args) = cli.command else { unreachable!("that is what was written") };
            let (plan, hardware) = match stress::campaign(&args, &self.interrupt) {
                Ok(ready) => ready,
                Err(failure) => return self.no_stress(&failure),
            };
            let campaign = match membar::campaign(&plan, &hardware, &self.interrupt, &()) {
                Ok(campaign) => campaign,
                Err(failure) => return self.no_stress(&failure),
            };
            let found = campaign.counters.violations.first().map(|found| (found.bundle.clone(), found.seed));
            let enough = left.is_zero() || self.interrupt.pressed();
            match found {
                Some((bundle, _)) if enough || self.is_store_buffering(&bundle)? => {
                    self.summary(&campaign, &plan, &hardware)?;
                    return Ok(Some(bundle));
                }
                Some((_, violating)) => seed = violating.wrapping_add(1),
                None => {
                    self.summary(&campaign, &plan, &hardware)?;
                    break;
                }
            }
        }
        self.say("Nothing showed in that time. This is what two cores of an x86 machine recorded:\n")?;
        Ok(None)
    }

    fn no_stress(&mut self, failure: &Failure) -> Result<Option<String>, Failure> {
        self.say(&format!("{failure}\nSo this is what two cores of an x86 machine recorded:\n"))?;
        Ok(None)
    }

    /// The lines of a campaign's summary that say what ran and where it is kept.
    fn summary(&mut self, campaign: &Campaign, plan: &Plan, hardware: &Hardware) -> Result<(), Failure> {
        let text = campaign.text(plan, hardware, self.style);
        let kept = text.lines().skip(3).filter(|line| line.starts_with("  Kept "));
        for line in text.lines().take(2).chain(kept) {
            writeln!(self.out, "{line}")?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// Is what was found two threads that store, and then load what the other one stores?
    fn is_store_buffering(&mut self, bundle: &str) -> Result<bool, Failure> {
        let report = self.answer(&format!("{bundle}/shrunk.trace"), "sc", None)?;
        let shape = report.violation.as_ref().and_then(|violation| violation.shape.as_ref());
        Ok(report.ops <= MOST && shape.is_some_and(|shape| shape.name == "SB"))
    }

    /// The answer of `membar check` about the first trace of a file; also on the page, if there is a wish.
    fn answer(&mut self, file: &str, model: &str, wish: Option<&PageOptions>) -> Result<Box<Report>, Failure> {
        let text = std::fs::read(file).map_err(|error| cannot(&format!("read {}", safe(file)), &error))?;
        let traces = membar::trace::parse(file, &text).map_err(|error| Failure::Usage(error.render()))?;
        let chosen = Chosen::load(model)?;
        let internal = |fault: &str| Failure::Usage(internal_error(file, 0, model, fault));
        let trace = traces.first().ok_or_else(|| internal("there is no trace"))?;
        let (detail, budget) = (Detail::Full { witness: false }, Budget::new(None, None, &self.interrupt));
        let asked = ((file, 0, trace), (&chosen.model, model));
        let answer = self.decider.answer_for(asked.0, asked.1, &budget, (detail, wish));
        let answer = answer.map_err(|fault| internal(&fault))?;
        if let Some(entry) = answer.entry {
            self.page.add(*entry);
        }
        answer.report.ok_or_else(|| internal("there is no report"))
    }

    /// Shows it.
    fn check(&mut self, file: &str, model: &str) -> Result<(), Failure> {
        self.command(&format!("membar check {} --model {model}", quoted_path(file)))?;
        let report = self.answer(file, model, Some(&PageOptions::default()))?;
        let text = Text { style: self.style, model: Some(model), ..Text::default() };
        text.report(&report, &mut self.out)?;
        writeln!(self.out)?;
        Ok(())
    }

    /// Where everything is, and what to try next.
    fn end(&mut self, page: &str, saved: Option<&Path>) -> Result<(), Failure> {
        if self.interrupt.pressed() {
            self.say("interrupted: the rest was skipped\n")?;
        }
        self.heading("4. The report")?;
        self.say(&format!(
            "{} has all of this as one page, the machine step by step included: open it in a browser.\n`membar verify` and `membar check` write such pages with `--html FILE`.\n",
            safe(page)
        ))?;
        self.heading("Next")?;
        if saved.is_none() {
            self.say(
                "  membar demo --save demo       keeps the files, so that these commands can be tried and changed",
            )?;
        }
        self.say("  membar verify your-test.c     your own program")?;
        self.say("  simulator | membar check -    your own machine: answers each trace as its `check` line arrives")?;
        self.say("  membar --help                 all commands")?;
        Ok(())
    }
}
