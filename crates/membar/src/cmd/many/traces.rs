//! Traces, split by file and within a file: a shard is a list of pieces, each a file or a part of one.
//!
//! Sizes are all that a plan knows of its files. A worker moves the ends of its piece to the ends of traces, counts the lines and
//! traces before it, so that answers name what they mean, and keeps its answers as data. Merging writes them as `membar check` does.

use super::store::{Merge, Store};
use super::{Came, Job, Merged, Missing, PIECES, Ran, Split, usage};
use crate::cli::{Check, Format};
use crate::cmd::check::{self, Request};
use crate::cmd::output::{Answered, Output, Wanted, shown_name};
use crate::decide::{Answer, Detail, Guarded};
use crate::page::{self, Entry, PageOptions, ToFile};
use crate::progress::Progress;
use crate::stop::Stdout;
use membar::report::html::Row;
use membar::report::{InputError, Report, Style, first_line, safe};
use membar::trace::ranges;
use membar::{Failure, Interrupt, Reader, Trace, VerdictKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A part of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Piece {
    file: PathBuf,
    /// Of the file.
    size: u64,
    /// All of it if it is compressed.
    part: Option<(u64, u64)>,
    /// Traces of it that have been answered.
    #[serde(default)]
    skip: u64,
}

/// The answers about a piece.
#[derive(Serialize, Deserialize)]
struct Answers {
    piece: Piece,
    /// Where its text begins: byte, lines and traces before it.
    base: (u64, u64, u64),
    records: Vec<Record>,
    /// It ended at a fault, and this many traces or more are left out.
    ended: Option<u64>,
}

#[derive(Serialize, Deserialize)]
enum Record {
    Trace { index: u64, line: u64, ops: usize, open: bool, answers: Vec<Said> },
    Fault { text: String, error: InputError },
}

#[derive(Serialize, Deserialize)]
enum Said {
    Allowed(Option<Box<Report>>),
    Forbidden(Option<Box<Report>>),
    Undecided(Option<Box<Report>>),
    Internal(String),
}

pub fn split(args: &Check, shards: u32) -> Result<Split, Failure> {
    check::models(args)?;
    let files = check::traces(&args.traces)?;
    let mut sizes = Vec::new();
    for file in &files {
        let bad = |why: &str| usage(format!("error: {}: {why}", safe(&file.to_string_lossy())));
        if file.as_os_str() == "-" {
            return Err(bad("standard input cannot be split\n = help: give a file"));
        }
        let data = std::fs::metadata(file).map_err(|error| bad(&error.to_string()))?;
        sizes.push(data.len());
    }
    let all: u64 = sizes.iter().sum();
    let share = all.div_ceil(u64::from(shards)).max(1);
    let (mut shards, mut now, mut room) = (Vec::new(), Vec::new(), share);
    for (file, &size) in files.iter().zip(&sizes) {
        if is_compressed(file) || size <= room {
            let part = (!is_compressed(file)).then_some((0, size));
            now.push(Piece { file: file.clone(), size, part, skip: 0 });
            room = room.saturating_sub(size);
        } else {
            let mut from = 0;
            while from < size {
                let to = size.min(from + room);
                now.push(Piece { file: file.clone(), size, part: Some((from, to)), skip: 0 });
                room -= to - from;
                from = to;
                if room == 0 {
                    shards.push(std::mem::take(&mut now));
                    room = share;
                }
            }
        }
        if room == 0 {
            shards.push(std::mem::take(&mut now));
            room = share;
        }
    }
    if !now.is_empty() {
        shards.push(now);
    }
    let shards = shards.iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(std::io::Error::from)?;
    let inputs = args.models.iter().filter(|name| name.ends_with(".toml")).map(PathBuf::from).collect();
    Ok(Split { merge: Merge::Traces, inputs, root: None, shards, found: 0 })
}

/// By its first bytes.
fn is_compressed(file: &Path) -> bool {
    let mut head = [0; 4];
    let read = File::open(file).and_then(|mut file| file.read(&mut head)).unwrap_or(0);
    let head = &head[..read];
    head.starts_with(&[0x1F, 0x8B])
        || head == [0x28, 0xB5, 0x2F, 0xFD]
        || (head.len() == 4 && head[0] >> 4 == 5 && head[1..] == [0x2A, 0x4D, 0x18])
}

struct Checking {
    args: Check,
    asked: Request,
    decider: Guarded,
    interrupt: Interrupt,
}

/// What workers keep of an answer: all that any output needs, unless only verdicts were asked for.
fn kept(args: &Check) -> Detail {
    match args.format {
        Format::Axe if args.html.is_none() => Detail::Verdict,
        _ => Detail::Full { witness: args.verbose > 0 },
    }
}

pub fn job(args: Check, interrupt: &Interrupt) -> Result<Box<dyn Job>, Failure> {
    let models = check::models(&args)?;
    let asked = Request { models, budget: args.limits.budget(interrupt), detail: kept(&args), wish: None };
    Ok(Box::new(Checking { args, asked, decider: Guarded::default(), interrupt: interrupt.clone() }))
}

/// A reader of a piece, and where it begins.
fn open(piece: &Piece) -> std::io::Result<(Reader<'static>, (u64, u64, u64))> {
    let name = piece.file.to_string_lossy().into_owned();
    let mut file = File::open(&piece.file)?;
    let Some((from, to)) = piece.part.filter(|part| *part != (0, piece.size)) else {
        return Ok((Reader::new(name, file), (0, 0, 0)));
    };
    let (from, to) = (ranges::cut(&mut file, from)?, ranges::cut(&mut file, to)?);
    let (lines, traces) = ranges::before(&mut file, from)?;
    file.seek(SeekFrom::Start(from))?;
    Ok((Reader::new(name, file.take(to - from)).after(lines, traces), (from, lines, traces)))
}

impl Job for Checking {
    fn run(&mut self, shard: Value, time: Option<Duration>) -> Result<Came, Failure> {
        let mut pieces: Vec<Piece> =
            serde_json::from_value(shard).map_err(|error| usage(format!("error: the shard: {error}")))?;
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        let (mut all, mut units, mut found, mut rest) = (Vec::new(), 0, 0, Vec::new());
        for (at, piece) in pieces.iter().enumerate() {
            let (answers, left) = self.piece(piece, deadline)?;
            units += answers.records.len() as u64;
            let is_bad = |said: &Said| matches!(said, Said::Forbidden(_));
            found += answers
                .records
                .iter()
                .filter(|record| matches!(record, Record::Trace { answers, .. } if answers.iter().any(is_bad)))
                .count() as u64;
            all.push(answers);
            if let Some(skip) = left {
                rest = pieces.split_off(at);
                rest[0].skip = skip;
                break;
            }
        }
        if units == 0 && !rest.is_empty() {
            return Err(Failure::Late);
        }
        let size = rest.len().div_ceil(PIECES as usize).max(1);
        let rest: Result<Vec<Value>, _> = rest.chunks(size).map(serde_json::to_value).collect();
        let failed = |error: serde_json::Error| Failure::Write(error.into());
        let result = serde_json::to_string(&all).map_err(failed)?;
        Ok(Came::Ran(Ran { result, units, found, rest: rest.map_err(failed)? }))
    }
}

impl Checking {
    /// Answers for a piece; how many of its traces are done, if not all are.
    fn piece(&mut self, piece: &Piece, deadline: Option<Instant>) -> Result<(Answers, Option<u64>), Failure> {
        let mut answers = Answers { piece: piece.clone(), base: (0, 0, 0), records: Vec::new(), ended: None };
        let shown = safe(&piece.file.to_string_lossy());
        let size = std::fs::metadata(&piece.file).map_or(piece.size, |data| data.len());
        if size != piece.size {
            let help = "traces must not change while a plan is at work: make the plan again";
            return Err(usage(format!("error: {shown} has another size than when the plan was made\n = help: {help}")));
        }
        let opened = open(piece);
        let (mut reader, base) = match opened {
            Ok(opened) => opened,
            // As `membar check` says it.
            Err(error) => match Reader::open(&piece.file) {
                Ok(_) => return Err(Failure::Write(error)),
                Err(error) => {
                    let (text, error) = (error.render(), InputError::new(&error, 0));
                    answers.records.push(Record::Fault { text, error });
                    return Ok((answers, None));
                }
            },
        };
        answers.base = base;
        let (mut trace, mut said, mut number) = (Trace::new(), Vec::new(), 0);
        let file = reader.name().to_owned();
        loop {
            if number >= piece.skip
                && (self.interrupt.pressed() || deadline.is_some_and(|deadline| Instant::now() >= deadline))
            {
                return Ok((answers, Some(number)));
            }
            let Some(result) = reader.next(&mut trace) else { break };
            number += 1;
            let index = reader.trace_index();
            let wanted = number > piece.skip;
            match result {
                Ok(()) if !wanted => {}
                Ok(()) => {
                    trace.set_clock(self.args.clock.clock());
                    self.asked.answers(&mut self.decider, (&file, index, &trace), &mut said);
                    if self.interrupt.pressed() && said.iter().any(is_open) {
                        return Ok((answers, Some(number - 1)));
                    }
                    let kept = said.drain(..).map(|answer| match answer {
                        Ok(Answer { verdict: VerdictKind::Allowed, report, .. }) => Said::Allowed(report),
                        Ok(Answer { verdict: VerdictKind::Forbidden, report, .. }) => Said::Forbidden(report),
                        Ok(Answer { verdict: VerdictKind::Undecided, report, .. }) => Said::Undecided(report),
                        Err(fault) => Said::Internal(fault),
                    });
                    let (line, ops, open) = (first_line(&trace), trace.len(), trace.open_end());
                    answers.records.push(Record::Trace { index, line, ops, open, answers: kept.collect() });
                }
                Err(error) => {
                    if wanted {
                        let (text, error) = (error.render(), InputError::new(&error, index));
                        answers.records.push(Record::Fault { text, error });
                    }
                    if !self.args.keep_going {
                        let more = reader.skip_trace().is_ok() && reader.next(&mut trace).is_some();
                        answers.ended = Some(u64::from(more));
                        break;
                    }
                    if let Err(error) = reader.skip_trace() {
                        let (text, error) = (error.render(), InputError::new(&error, reader.trace_index()));
                        answers.records.push(Record::Fault { text, error });
                        break;
                    }
                }
            }
        }
        Ok((answers, None))
    }
}

fn is_open(answer: &Result<Answer, String>) -> bool {
    matches!(answer, Ok(Answer { verdict: VerdictKind::Undecided, .. }))
}

impl Said {
    fn report(&self) -> Option<&Report> {
        match self {
            Said::Allowed(report) | Said::Forbidden(report) | Said::Undecided(report) => report.as_deref(),
            Said::Internal(_) => None,
        }
    }
}

/// How many answers a page may have shown in full.
#[derive(Default)]
struct Full {
    allowed: usize,
    other: usize,
}

impl Full {
    /// Whether one of these may be shown in full as well.
    fn more(&mut self, said: &[Said]) -> bool {
        let before = (self.allowed, self.other);
        let allowed = said.iter().filter(|said| matches!(said, Said::Allowed(_))).count();
        self.allowed += allowed;
        self.other += said.len() - allowed;
        (allowed > 0 && before.0 < page::ALLOWED) || (allowed < said.len() && before.1 < page::BAD)
    }
}

/// Reads traces again, for the few that a page shows in full.
struct Again {
    request: Request,
    decider: Guarded,
    /// The piece that is open, by its file and beginning.
    open: Option<((PathBuf, u64), Reader<'static>)>,
    trace: Trace,
}

impl Again {
    fn answers(&mut self, args: &Check, of: &Answers, index: u64) -> Vec<Result<Answer, String>> {
        let key = (of.piece.file.clone(), of.base.0);
        let mut said = Vec::new();
        let passed = |reader: &Reader<'_>| reader.trace_index() >= index && reader.line() > of.base.1;
        if self.open.as_ref().is_none_or(|(open, reader)| *open != key || passed(reader)) {
            self.open = open(&of.piece).ok().map(|(reader, _)| (key, reader));
        }
        let Some((_, reader)) = &mut self.open else { return said };
        while let Some(result) = reader.next(&mut self.trace) {
            if result.is_err() {
                let _ = reader.skip_trace();
            } else if reader.trace_index() == index {
                self.trace.set_clock(args.clock.clock());
                let file = reader.name().to_owned();
                self.request.answers(&mut self.decider, (&file, index, &self.trace), &mut said);
                break;
            }
        }
        said
    }
}

pub fn merge(store: &Store, args: &Check, style: Style) -> Result<Merged, Failure> {
    let models = check::models(args)?;
    let planned = match super::parsed(&store.manifest.command)? {
        crate::cli::Command::Check(planned) => kept(&planned),
        _ => Detail::Verdict,
    };
    if planned == Detail::Verdict && kept(args) != Detail::Verdict {
        let help = "give --format or --html to `membar plan` as well";
        return Err(usage(format!("error: workers kept verdicts only, without reasons\n = help: {help}")));
    }
    let files: Vec<String> = check::traces(&args.traces)?.iter().map(|path| shown_name(path)).collect();
    let wanted = Wanted { format: args.format, style, quiet: args.quiet, verbose: args.verbose };
    let progress = Progress::start(None, None);
    let out = BufWriter::with_capacity(1 << 16, Stdout::new(args.html.is_some()));
    let mut output = Output::new(out, &wanted, &models, &files, progress);
    output.to_file = args.html.as_deref().map(ToFile::create).transpose()?;
    output.pauses = false;
    let wish = args.html.as_ref().map(|_| PageOptions::new(args.clock.typed(), args.limits.time.0));
    let request = Request {
        models: models.clone(),
        budget: args.limits.budget(&Interrupt::default()),
        detail: Detail::Full { witness: args.verbose > 0 },
        wish,
    };
    let mut again = Again { request, decider: Guarded::default(), open: None, trace: Trace::new() };
    let shows = check::detail(args, models.len());
    let (mut left_out, mut full): (Option<PathBuf>, _) = (None, Full::default());
    for id in store.scan().into_keys() {
        let Ok((_, body)) = store.result::<Vec<Answers>>(&id) else { continue };
        for mut answers in body.result {
            if left_out.as_ref() == Some(&answers.piece.file) {
                continue;
            }
            let file = answers.piece.file.to_string_lossy().into_owned();
            let (ended, records) = (answers.ended, std::mem::take(&mut answers.records));
            for record in records {
                match record {
                    Record::Fault { text, error } => output.fault(&text, error)?,
                    Record::Trace { index, line, ops, open, answers: said } => {
                        if let Some(page) = &mut output.to_file {
                            // Those that are not shown in full need not be decided again.
                            match full.more(&said) {
                                true => output.page(&mut again.answers(args, &answers, index)),
                                false => said.iter().filter_map(Said::report).for_each(|report| {
                                    page.add(Entry { row: Row::new(report), case: None });
                                }),
                            }
                        }
                        let answer = |said: Said| {
                            let (verdict, report) = match said {
                                Said::Allowed(report) => (VerdictKind::Allowed, report),
                                Said::Forbidden(report) => (VerdictKind::Forbidden, report),
                                Said::Undecided(report) => (VerdictKind::Undecided, report),
                                Said::Internal(fault) => return Err(fault),
                            };
                            let shown = match shows {
                                Detail::Verdict => false,
                                Detail::Violations => verdict != VerdictKind::Allowed,
                                Detail::Full { .. } => true,
                            };
                            Ok(Answer { verdict, report: report.filter(|_| shown), entry: None })
                        };
                        let said: Vec<_> = said.into_iter().map(answer).collect();
                        output.answered(&Answered {
                            file: &file,
                            index,
                            line,
                            ops,
                            without_check: open,
                            answers: &said,
                        })?;
                    }
                }
            }
            if let Some(more) = ended {
                let is_last = answers.piece.part.is_none_or(|(_, to)| to == answers.piece.size);
                if more > 0 || !is_last {
                    check::note_left_out();
                }
                left_out = Some(answers.piece.file.clone());
            }
        }
    }
    let missing = Missing::up_to(store, None);
    let written = output.finish(false);
    if let Some(page) = output.to_file.take() {
        page.finish()?;
    }
    match written.map_err(Failure::from) {
        Ok(()) | Err(Failure::Closed) => Ok(Merged { code: output.exit_code(false), missing }),
        Err(failure) => Err(failure),
    }
}
