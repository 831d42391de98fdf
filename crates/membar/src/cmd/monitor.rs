//! `membar monitor`: follows recorded interleavings and reports where a weaker machine can leave sequential consistency.

use super::check::traces;
use super::output::shown_name;
use crate::cli::{DataFormat, Monitor};
use crate::input;
use crate::page::ToFile;
use crate::progress::{self, Progress};
use crate::stop::{self, Stdout};
use crate::terminal;
use membar::core::ProgramVerdict;
use membar::monitor::Algorithm;
use membar::report::json::Json;
use membar::report::kinds::MonitorStop;
use membar::report::monitor::Monitored;
use membar::report::{InputError, Style, safe};
use membar::trace::{Ended, Error, Interleaving};
use membar::watch::{Place, Watch, Writing};
use membar::{Failure, Interrupt};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// Steps between two looks at the clock and the interrupt key.
const TICK: u64 = 1 << 14;

/// Runs the command.
pub fn run(args: &Monitor, style: Style) -> Result<u8, Failure> {
    let mut algorithms: Vec<Algorithm> = Vec::new();
    for wanted in &args.monitors {
        if !algorithms.contains(&wanted.algorithm()) {
            algorithms.push(wanted.algorithm());
        }
    }
    if algorithms.is_empty() {
        algorithms = vec![Algorithm::Tso, Algorithm::Pso];
    }
    let traces = traces(&args.traces)?;
    let mut command = Command {
        args,
        interrupt: stop::on_key(),
        progress: Progress::start(progress::bytes(&traces), None),
        out: Output {
            out: BufWriter::new(Stdout::new(args.html.is_some())),
            json: (args.format == DataFormat::Json).then(Json::default),
            style,
            quiet: args.quiet,
            last: None,
            code: stop::ALLOWED,
            page: args.html.as_deref().map(ToFile::create).transpose()?,
        },
        witness: witness(args, &algorithms)?,
        watch: Watch::new(&algorithms, args.window, args.memory.0),
        state: Interleaving::new(),
    };
    for path in &traces {
        if command.file(path)?.is_break() {
            break;
        }
    }
    command.finish()
}

fn witness(args: &Monitor, algorithms: &[Algorithm]) -> Result<Option<Writing<BufWriter<File>>>, Failure> {
    let Some(path) = &args.witness else { return Ok(None) };
    let Some(&algorithm) = algorithms.iter().find(|algorithm| matches!(algorithm, Algorithm::Tso | Algorithm::Pso))
    else {
        let message = "error: sober runs no machine, so there is no witness to write\n \
                       = help: add --monitor tso or --monitor pso";
        return Err(Failure::Usage(message.into()));
    };
    let shown = safe(&path.to_string_lossy());
    let file = File::create(path).map_err(|error| Failure::Usage(format!("error: cannot write {shown}: {error}")))?;
    Ok(Some(Writing::new(algorithm, BufWriter::new(file))))
}

struct Command<'a> {
    args: &'a Monitor,
    interrupt: Interrupt,
    progress: Arc<Progress>,
    out: Output,
    witness: Option<Writing<BufWriter<File>>>,
    watch: Watch,
    state: Interleaving,
}

impl Command<'_> {
    /// Monitors every trace of a file; breaks where nothing more is wanted.
    fn file(&mut self, path: &std::path::Path) -> Result<ControlFlow<()>, Failure> {
        let mut reader = match input::open(path, &self.interrupt, &self.progress) {
            Ok(reader) => reader,
            Err(error) => {
                self.out.error(&error, 0, &self.progress)?;
                return Ok(ControlFlow::Continue(()));
            }
        };
        let file = shown_name(path);
        self.progress.file(&file);
        loop {
            if self.interrupt.pressed() {
                self.out.code = self.out.code.max_code(stop::UNDECIDED);
                return Ok(ControlFlow::Break(()));
            }
            self.watch.begin();
            if let Some(writing) = &mut self.witness {
                writing.begin(&file);
            }
            let began = Instant::now();
            let mut stopped = None;
            let result = {
                let Command { args, interrupt, watch, witness, progress, .. } = self;
                reader.interleaving(&mut self.state, |state, step| {
                    if !watch.fits(state) {
                        stopped = Some(MonitorStop::Memory);
                        return ControlFlow::Break(());
                    }
                    let found = watch.step(state, step, witness);
                    if found && args.stop_at_first && watch.all_found() {
                        stopped = Some(MonitorStop::First);
                    } else if watch.events.is_multiple_of(TICK) {
                        progress.operations(TICK as usize);
                        let late = args.time.0.is_some_and(|limit| began.elapsed() >= limit);
                        stopped = match () {
                            () if interrupt.pressed() => Some(MonitorStop::Interrupted),
                            () if late => Some(MonitorStop::Time),
                            () if watch.exhausted() => Some(MonitorStop::Writes),
                            () => None,
                        };
                    }
                    if stopped.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })
            };
            let Some(result) = result else { return Ok(ControlFlow::Continue(())) };
            let interrupted = self.interrupt.pressed();
            let mut without_check = false;
            let error = match result {
                // An interrupt ends the input, which looks like a fault, or like a missing `check`.
                Err(_) | Ok(Ended::Open) if interrupted => {
                    stopped = Some(MonitorStop::Interrupted);
                    None
                }
                Err(error) => {
                    stopped = Some(MonitorStop::Input);
                    Some(error)
                }
                Ok(ended) => {
                    without_check = ended == Ended::Open;
                    None
                }
            };
            self.progress.trace((self.watch.events % TICK) as usize);
            if without_check {
                self.out.note(&super::output::without_check(&file, reader.trace_index()), &self.progress)?;
            }
            // Findings before a fault count; the absence of findings means nothing then.
            if error.is_none() || self.watch.any_found() {
                let place = Place {
                    file: &file,
                    index: reader.trace_index(),
                    stopped,
                    without_check,
                    seconds: began.elapsed().as_secs_f64(),
                };
                for report in self.watch.reports(&place, &self.state) {
                    self.out.report(&report, &self.progress)?;
                }
            }
            if let Some(error) = error {
                self.out.error(&error, reader.trace_index(), &self.progress)?;
                return Ok(ControlFlow::Continue(()));
            }
            match stopped {
                Some(MonitorStop::First | MonitorStop::Interrupted) => return Ok(ControlFlow::Break(())),
                // The next trace may never come.
                Some(_) if path == "-" => return Ok(ControlFlow::Continue(())),
                Some(_) => {
                    if let Err(error) = reader.skip_trace() {
                        self.out.error(&error, reader.trace_index(), &self.progress)?;
                        return Ok(ControlFlow::Continue(()));
                    }
                }
                None => {}
            }
        }
    }

    fn finish(mut self) -> Result<u8, Failure> {
        self.progress.finish();
        if let Some(writing) = &mut self.witness {
            let written = match writing.over.take() {
                Some(written) => written,
                None => writeln!(writing.out, "# no violation: this run is sequentially consistent")
                    .and_then(|()| writing.out.flush()),
            };
            if let Err(error) = written {
                let path = self.args.witness.as_deref().unwrap_or(std::path::Path::new(""));
                let path = safe(&path.to_string_lossy());
                return Err(Failure::Usage(format!("error: cannot write {path}: {error}")));
            }
        }
        let written = self.out.finish();
        if let Some(page) = self.out.page.take() {
            page.finish()?;
        }
        written?;
        Ok(self.out.code)
    }
}

/// Results as they come.
struct Output {
    out: BufWriter<Stdout>,
    json: Option<Json>,
    style: Style,
    quiet: bool,
    /// Did the last result stand apart? `None` before the first.
    last: Option<bool>,
    code: u8,
    /// The page that is written at the end, if one is wanted.
    page: Option<ToFile>,
}

/// Bad input before unsafe before undecided.
trait Worse {
    fn max_code(self, other: u8) -> u8;
}

impl Worse for u8 {
    fn max_code(self, other: u8) -> u8 {
        let rank = |code| match code {
            stop::BAD => 3,
            stop::FORBIDDEN => 2,
            stop::UNDECIDED => 1,
            _ => 0,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl Output {
    fn report(&mut self, report: &Monitored, progress: &Progress) -> io::Result<()> {
        self.code = self.code.max_code(match report.verdict {
            ProgramVerdict::Unsafe => stop::FORBIDDEN,
            ProgramVerdict::Undecided => stop::UNDECIDED,
            _ => stop::ALLOWED,
        });
        progress.hide();
        if let Some(page) = &mut self.page {
            page.add_monitored(report);
        }
        if let Some(json) = &mut self.json {
            json.report(report, &mut self.out)?;
        } else if !(self.quiet && report.verdict == ProgramVerdict::Safe) {
            if self.last.replace(report.apart()).is_some_and(|last| last || report.apart()) {
                writeln!(self.out)?;
            }
            report.text(self.style, &mut self.out)?;
        }
        self.out.flush()
    }

    fn note(&mut self, text: &str, progress: &Progress) -> io::Result<()> {
        self.out.flush()?;
        progress.hide();
        terminal::tell(text);
        Ok(())
    }

    fn error(&mut self, error: &Error, index: u64, progress: &Progress) -> io::Result<()> {
        self.code = self.code.max_code(stop::BAD);
        self.out.flush()?;
        progress.hide();
        terminal::tell(error.render().trim_end());
        if let Some(json) = &mut self.json {
            json.error(InputError::new(error, index));
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(json) = &mut self.json {
            json.finish(&mut self.out)?;
        }
        self.out.flush()
    }
}
