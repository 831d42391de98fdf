//! `membar check`: reads traces, decides each as soon as it is complete, and writes the answer immediately.

use super::jobs;
use super::output::{Answered, Output, SMALL, Wanted, shown_name};
use crate::cli::{Check, Format};
use crate::decide::{Answer, Detail, Guarded};
use crate::files::{self, TRACES};
use crate::input;
use crate::kind::not_a_trace;
use crate::page::{PageOptions, ToFile};
use crate::progress::{self, Progress};
use crate::stop::{self, Stdout};
use membar::report::{Style, first_line};
use membar::trace::Error;
use membar::{Budget, Chosen, Failure, Interrupt, Trace};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// State that is the same for all traces.
pub struct Request {
    /// The models, at least one.
    pub models: Vec<Chosen>,
    /// Limits of each decision.
    pub budget: Budget,
    /// The detail asked for.
    pub detail: Detail,
    /// The contents of a page, if there is one.
    pub wish: Option<PageOptions>,
}

impl Request {
    /// Answers for one trace, one for each model.
    pub fn answers(
        &self,
        decider: &mut Guarded,
        (file, index, trace): (&str, u64, &Trace),
        into: &mut Vec<Result<Answer, String>>,
    ) {
        into.clear();
        let wanted = (self.detail, self.wish.as_ref());
        let answer = |chosen: &Chosen| {
            decider.answer_for((file, index, trace), (&chosen.model, &chosen.arg), &self.budget, wanted)
        };
        into.extend(self.models.iter().map(answer));
    }
}

/// Takes traces and faults in the order of the input.
pub trait Consumer {
    /// The next trace; the buffer may be exchanged for another one.
    fn trace(&mut self, file: &Arc<str>, index: u64, trace: &mut Trace) -> io::Result<()>;
    /// A fault.
    fn error(&mut self, error: Error, index: u64) -> io::Result<()>;
}

/// The models that are asked.
pub fn models(args: &Check) -> Result<Vec<Chosen>, Failure> {
    let mut names = args.models.clone();
    if names.is_empty() {
        names.push("tso".into());
    }
    if args.format == Format::Axe && names.len() > 1 {
        let message = "error: --format axe answers for one model, but several were given\n \
                       = help: give one --model, or use --format json";
        return Err(Failure::Usage(message.into()));
    }
    names.iter().map(|name| Chosen::load(name)).collect()
}

/// What is shown of an answer.
pub fn detail(args: &Check, models: usize) -> Detail {
    match args.format {
        Format::Axe => Detail::Verdict,
        Format::Text if models > 1 => Detail::Verdict,
        Format::Text if args.quiet => Detail::Violations,
        Format::Text | Format::Json => Detail::Full { witness: args.verbose > 0 },
    }
}

/// Runs the command.
pub fn run(args: &Check, style: Style) -> Result<u8, Failure> {
    let models = models(args)?;
    let traces = traces(&args.traces)?;
    let interrupt = stop::on_key();
    let detail = detail(args, models.len());
    let page = args.html.as_deref().map(ToFile::create).transpose()?;
    let wish = page.as_ref().map(|_| PageOptions::new(args.clock.typed(), args.limits.time.0));
    let asked = Request { models, budget: args.limits.budget(&interrupt), detail, wish };
    let files: Vec<String> = traces.iter().map(|path| shown_name(path)).collect();
    let wanted = Wanted { format: args.format, style, quiet: args.quiet, verbose: args.verbose };
    let progress = Progress::start(progress::bytes(&traces), args.limits.time.0);
    let out = BufWriter::with_capacity(1 << 16, Stdout::new(args.html.is_some()));
    let mut output = Output::new(out, &wanted, &asked.models, &files, Arc::clone(&progress));
    output.to_file = page;
    output.pauses = progress::bytes(&traces).is_none();
    let written = if args.jobs == 1 {
        let mut direct =
            Direct { asked: &asked, decider: Guarded::default(), answers: Vec::new(), output: &mut output };
        read((args, &traces), &interrupt, &progress, &mut direct)
    } else {
        jobs::run(usize::from(args.jobs), &asked, &mut output, |queue| {
            read((args, &traces), &interrupt, &progress, queue)
        })
    };
    let written = written.and_then(|()| output.finish(interrupt.pressed()));
    progress.finish();
    if let Some(page) = output.to_file.take() {
        page.finish()?;
    }
    match written.map_err(Failure::from) {
        Ok(()) | Err(Failure::Closed) => Ok(output.exit_code(interrupt.pressed())),
        Err(failure) => Err(failure),
    }
}

/// The traces that these words mean.
pub fn traces(words: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut traces = Vec::new();
    for word in words {
        match files::collect(word, TRACES, &mut traces) {
            // Opening it says so, and the other words are answered.
            Err(_) if word.is_dir() => traces.push(word.clone()),
            found => found?,
        }
    }
    traces.iter().find_map(|path| not_a_trace(path)).map_or(Ok(traces), Err)
}

/// Says that a fault ended a file before its end.
pub fn note_left_out() {
    let _ = writeln!(io::stderr(), "note: the traces after this one were left out; `--keep-going` continues with them");
}

/// Hands everything in the files to the consumer.
fn read(
    (args, traces): (&Check, &[PathBuf]),
    interrupt: &Interrupt,
    progress: &Arc<Progress>,
    consumer: &mut impl Consumer,
) -> io::Result<()> {
    let mut trace = Trace::new();
    for path in traces {
        if interrupt.pressed() {
            break;
        }
        let mut reader = match input::open(path, interrupt, progress) {
            Ok(reader) => reader,
            Err(error) => {
                consumer.error(error, 0)?;
                continue;
            }
        };
        let file: Arc<str> = reader.name().into();
        progress.file(&file);
        while let Some(result) = reader.next(&mut trace) {
            // An interrupt ends the input, which looks like a fault.
            if interrupt.pressed() {
                break;
            }
            match result {
                Ok(()) => {
                    trace.set_clock(args.clock.clock());
                    progress.trace(trace.len());
                    consumer.trace(&file, reader.trace_index(), &mut trace)?;
                }
                Err(error) => {
                    consumer.error(error, reader.trace_index())?;
                    if !args.keep_going {
                        // Standard input may have nothing more to say for a long time.
                        if path.as_os_str() != "-" && reader.skip_trace().is_ok() && reader.next(&mut trace).is_some() {
                            note_left_out();
                        }
                        break;
                    }
                    if let Err(error) = reader.skip_trace() {
                        consumer.error(error, reader.trace_index())?;
                        break;
                    }
                }
            }
            if interrupt.pressed() {
                break;
            }
        }
    }
    Ok(())
}

/// Decides each trace where it was read.
struct Direct<'a, 'b, W: Write> {
    asked: &'a Request,
    decider: Guarded,
    answers: Vec<Result<Answer, String>>,
    output: &'a mut Output<'b, W>,
}

impl<W: Write> Consumer for Direct<'_, '_, W> {
    fn trace(&mut self, file: &Arc<str>, index: u64, trace: &mut Trace) -> io::Result<()> {
        if trace.len() > SMALL {
            self.output.flush()?;
        }
        self.asked.answers(&mut self.decider, (file, index, trace), &mut self.answers);
        let (line, ops, without_check) = (first_line(trace), trace.len(), trace.open_end());
        self.output.page(&mut self.answers);
        self.output.answered(&Answered { file, index, line, ops, without_check, answers: &self.answers })
    }

    fn error(&mut self, error: Error, index: u64) -> io::Result<()> {
        self.output.error(&error, index)
    }
}
