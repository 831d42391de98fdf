//! Where results go: text, table, JSON or axe lines, and the counts behind the exit code.

use crate::cli::Format;
use crate::decide::{Answer, internal_error};
use crate::page::ToFile;
use crate::progress::Progress;
use crate::stop;
use crate::terminal;
use membar::core::VerdictKind;
use membar::report::json::Json;
use membar::report::kinds::ShownVerdict;
use membar::report::text::{Column, Table, Text, Totals};
use membar::report::{InputError, Style, safe};
use membar::trace::Error;
use membar::{Chosen, Failure};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One trace with its answers, one for each model.
pub struct Answered<'a> {
    /// The file as errors name it.
    pub file: &'a str,
    /// Index of the trace, from 0.
    pub index: u64,
    /// Its first line.
    pub line: u64,
    /// Number of its operations.
    pub ops: usize,
    /// Does the text end without its `check`?
    pub without_check: bool,
    /// The answers.
    pub answers: &'a [Result<Answer, String>],
}

/// How results are laid out.
enum Layout {
    Text,
    Table(Table),
    Json(Json),
    Axe,
}

/// Answers about this few operations come quickly: they need not be seen one by one.
pub const SMALL: usize = 16;
/// Output becomes visible after this time, if more comes without a pause.
const SEEN: Duration = Duration::from_millis(20);

/// Writes results as they come, and counts them. They are visible immediately, except those that come faster than anybody reads.
pub struct Output<'a, W: Write> {
    out: W,
    layout: Layout,
    style: Style,
    models: &'a [Chosen],
    quiet: bool,
    verbose: u8,
    progress: Arc<Progress>,
    totals: Totals,
    /// Did the last report stand apart? `None` before the first.
    last: Option<bool>,
    /// The first trace with a forbidden answer, and the model.
    example: Option<(String, String)>,
    /// The page that is written at the end, if one is wanted.
    pub to_file: Option<ToFile>,
    /// The input may pause at any time: every answer is flushed.
    pub pauses: bool,
    flushed: Instant,
}

/// The output that the user asked for.
pub struct Wanted {
    /// The format.
    pub format: Format,
    /// Colours.
    pub style: Style,
    /// Say nothing about allowed traces.
    pub quiet: bool,
    /// How much to say about them.
    pub verbose: u8,
}

impl<'a, W: Write> Output<'a, W> {
    /// Nothing written yet. `files` are the names that will come.
    pub fn new(out: W, wanted: &Wanted, models: &'a [Chosen], files: &[String], progress: Arc<Progress>) -> Self {
        let layout = match wanted.format {
            Format::Json => Layout::Json(Json::default()),
            Format::Axe => Layout::Axe,
            Format::Text if models.len() == 1 => Layout::Text,
            Format::Text => {
                let columns = models.iter().map(|chosen| Column { model: chosen.model.name.clone() }).collect();
                Layout::Table(Table::new(wanted.style, files.iter().map(String::as_str), columns))
            }
        };
        Output {
            out,
            layout,
            style: wanted.style,
            models,
            quiet: wanted.quiet,
            verbose: wanted.verbose,
            progress,
            totals: Totals::default(),
            last: None,
            example: None,
            to_file: None,
            pauses: true,
            flushed: Instant::now(),
        }
    }

    /// Takes what a page needs of the answers, if one is wanted.
    pub fn page(&mut self, answers: &mut [Result<Answer, String>]) {
        let Some(page) = &mut self.to_file else { return };
        answers.iter_mut().flatten().filter_map(|answer| answer.entry.take()).for_each(|entry| page.add(*entry));
    }

    /// Writes the answers for one trace.
    pub fn answered(&mut self, answered: &Answered<'_>) -> io::Result<()> {
        self.totals.traces += 1;
        self.progress.hide();
        if answered.without_check {
            self.aside(&without_check(answered.file, answered.index))?;
        }
        for (answer, chosen) in answered.answers.iter().zip(self.models) {
            match answer {
                Ok(answer) => self.count(answer.verdict, answered, chosen),
                Err(fault) => self.internal(answered, &chosen.model.name, fault)?,
            }
        }
        match &mut self.layout {
            Layout::Axe => {
                let line: &[u8] = match &answered.answers[0] {
                    Ok(Answer { verdict: VerdictKind::Allowed, .. }) => b"OK\n",
                    Ok(Answer { verdict: VerdictKind::Forbidden, .. }) => b"NO\n",
                    _ => b"UNDECIDED\n",
                };
                self.out.write_all(line)?;
            }
            Layout::Json(json) => {
                for report in answered.answers.iter().flatten().filter_map(|answer| answer.report.as_ref()) {
                    json.report(report, &mut self.out)?;
                }
            }
            Layout::Text => {
                let witness = if self.verbose > 1 { usize::MAX } else { 50 };
                for (answer, chosen) in answered.answers.iter().zip(self.models) {
                    let Ok(Answer { report: Some(report), .. }) = answer else { continue };
                    let text = Text { style: self.style, witness, model: Some(&chosen.arg) };
                    // Answers of several lines are set apart.
                    let apart = report.verdict != VerdictKind::Allowed || report.witness.is_some();
                    if self.last.replace(apart).is_some_and(|last| last || apart) {
                        writeln!(self.out)?;
                    }
                    text.report(report, &mut self.out)?;
                }
            }
            Layout::Table(table) => {
                let verdict =
                    |answer: &Result<Answer, String>| answer.as_ref().map_or(ShownVerdict::Error, |a| a.verdict.into());
                let verdicts: Vec<ShownVerdict> = answered.answers.iter().map(verdict).collect();
                if !(self.quiet && verdicts.iter().all(|&verdict| verdict == ShownVerdict::Allowed)) {
                    let Answered { file, index, line, ops, .. } = *answered;
                    table.row(file, index + 1, line, ops, &verdicts, &mut self.out)?;
                }
            }
        }
        if self.pauses || answered.ops > SMALL || self.flushed.elapsed() >= SEEN { self.flush() } else { Ok(()) }
    }

    /// Lets what was written be seen, before something that may take long.
    pub fn flush(&mut self) -> io::Result<()> {
        self.flushed = Instant::now();
        self.out.flush()
    }

    fn count(&mut self, verdict: VerdictKind, answered: &Answered<'_>, chosen: &Chosen) {
        match verdict {
            VerdictKind::Allowed => self.totals.allowed += 1,
            VerdictKind::Forbidden => {
                self.totals.forbidden += 1;
                if self.example.is_none() {
                    self.example = Some((answered.file.to_owned(), chosen.arg.clone()));
                }
            }
            VerdictKind::Undecided => self.totals.undecided += 1,
        }
    }

    /// A certificate that does not hold, or a panic: a bug, and no verdict. Other answers are not touched by it.
    fn internal(&mut self, answered: &Answered<'_>, model: &str, fault: &str) -> io::Result<()> {
        self.totals.internal += 1;
        let failure = Failure::Internal(internal_error(answered.file, answered.index, model, fault));
        self.aside(&failure.to_string())?;
        if let Layout::Json(json) = &mut self.layout {
            json.error(InputError {
                file: answered.file.to_owned(),
                trace: Some(answered.index),
                line: Some(answered.line),
                column: None,
                message: format!("internal error, model {model}: {fault}"),
                help: membar::REPORT_BUG.to_owned(),
            });
        }
        Ok(())
    }

    /// Something is wrong with the input.
    pub fn error(&mut self, error: &Error, index: u64) -> io::Result<()> {
        self.fault(&error.render(), InputError::new(error, index))
    }

    /// The same, as text and as data.
    pub fn fault(&mut self, text: &str, error: InputError) -> io::Result<()> {
        self.totals.errors += 1;
        self.aside(text.trim_end())?;
        if let Layout::Json(json) = &mut self.layout {
            json.error(error);
        }
        Ok(())
    }

    /// Writes to standard error what belongs after the results so far.
    fn aside(&mut self, message: &str) -> io::Result<()> {
        let flushed = self.out.flush();
        self.progress.hide();
        terminal::tell(message);
        flushed
    }

    /// Writes what comes after the last result.
    pub fn finish(&mut self, interrupted: bool) -> io::Result<()> {
        self.progress.finish();
        let text = Text { style: self.style, ..Text::default() };
        match &mut self.layout {
            Layout::Json(json) => json.finish(&mut self.out)?,
            Layout::Axe => {}
            Layout::Text => {
                if self.totals.traces > 1 && !self.quiet {
                    if self.last == Some(true) {
                        writeln!(self.out)?;
                    }
                    text.totals(&self.totals, &mut self.out)?;
                }
            }
            Layout::Table(_) => {
                if !self.quiet && self.totals.traces > 1 {
                    let answers = format!("{} answers: ", self.totals.traces * self.models.len() as u64);
                    let mut line = Vec::new();
                    text.totals(&self.totals, &mut line)?;
                    let line = String::from_utf8_lossy(&line).into_owned();
                    let counts = line.split_once(": ").map_or(line.as_str(), |(_, counts)| counts);
                    write!(
                        self.out,
                        "{}, {answers}{counts}",
                        membar::report::count(self.totals.traces as usize, "trace")
                    )?;
                }
                if let (Some((file, model)), false) = (&self.example, self.quiet) {
                    let file = if file == "<stdin>" { "FILE".into() } else { membar::report::quoted_path(file) };
                    let model = membar::report::quoted_path(model);
                    writeln!(self.out, "For the reason: `membar check {file} --model {model}`")?;
                }
            }
        }
        self.out.flush()?;
        if interrupted {
            let mut line = Vec::new();
            Text::default().totals(&self.totals, &mut line)?;
            self.aside(&format!("interrupted after {}", String::from_utf8_lossy(&line).trim_end()))?;
        }
        Ok(())
    }

    /// The exit code: a bug of ours before bad input before forbidden before undecided.
    pub fn exit_code(&self, interrupted: bool) -> u8 {
        let Totals { internal, errors, forbidden, undecided, .. } = self.totals;
        match () {
            () if internal > 0 => stop::INTERNAL,
            () if errors > 0 => stop::BAD,
            () if forbidden > 0 => stop::FORBIDDEN,
            () if undecided > 0 || interrupted => stop::UNDECIDED,
            () => stop::ALLOWED,
        }
    }
}

/// The note about a trace whose `check` is missing.
pub fn without_check(file: &str, index: u64) -> String {
    format!("note: {file} ends without the `check` of trace {}; the trace was taken to be complete", index + 1)
}

/// The name under which a file is shown.
pub fn shown_name(path: &std::path::Path) -> String {
    if path.as_os_str() == "-" { "<stdin>".into() } else { safe(&path.to_string_lossy()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts how often what was written is to be seen.
    #[derive(Default)]
    struct Flushes(usize);

    impl Write for Flushes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0 += 1;
            Ok(())
        }
    }

    /// Flushes for a thousand answers about this many operations.
    fn flushes(pauses: bool, ops: usize) -> usize {
        let models = [Chosen::load("tso").unwrap()];
        let wanted = Wanted { format: Format::Axe, style: Style::default(), quiet: false, verbose: 0 };
        let mut output = Output::new(Flushes::default(), &wanted, &models, &[], Progress::start(None, None));
        output.pauses = pauses;
        let answers = [Ok(Answer { verdict: VerdictKind::Allowed, report: None, entry: None })];
        for index in 0..1000 {
            let answered = Answered { file: "t", index, line: 1, ops, without_check: false, answers: &answers };
            output.answered(&answered).unwrap();
        }
        output.out.0
    }

    #[test]
    fn answers_are_seen_at_once_unless_they_come_fast() {
        assert_eq!((flushes(true, 0), flushes(false, SMALL + 1)), (1000, 1000));
        assert!(flushes(false, 0) < 500);
    }
}
