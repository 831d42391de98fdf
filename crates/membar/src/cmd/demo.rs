//! `membar demo`: what the tool does, told with embedded programs and traces.

use super::output::{Answered, Output, Wanted};
use super::shrink::annotated;
use crate::cli::{Demo, Format};
use crate::decide::{Answer, Budget, Chosen, Decider, Detail, internal_error};
use crate::progress::Progress;
use crate::stop::{ALLOWED, Failure};
use membar::Trace;
use membar::report::text::Text;
use membar::report::{Style, first_line, quoted_path};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Names and texts of the traces.
const TRACES: [(&str, &str); 5] = [
    ("store-buffering.trace", include_str!("../../../../examples/store-buffering.trace")),
    ("tso-violation.trace", include_str!("../../../../examples/tso-violation.trace")),
    ("corrupted-load.trace", include_str!("../../../../examples/corrupted-load.trace")),
    ("litmus.trace", include_str!("../../../../examples/litmus.trace")),
    ("message-passing.trace", include_str!("../../../../examples/message-passing.trace")),
];
const STORE_BUFFERING: usize = 0;
const VIOLATION: usize = 1;
const CORRUPTED: usize = 2;
const LITMUS: usize = 3;

/// Names and texts of the programs: the same one without and with fences.
const PROGRAMS: [(&str, &str); 2] = [
    ("SB.litmus", include_str!("../../../../examples/litmus/SB.litmus")),
    ("SB+mfences.litmus", include_str!("../../../../examples/litmus/SB+mfences.litmus")),
];

/// Tells the story.
struct Story {
    style: Style,
    out: io::BufWriter<io::Stdout>,
    decider: Decider,
}

/// Runs the command.
pub fn run(args: &Demo, style: Style) -> Result<u8, Failure> {
    if let Some(directory) = &args.save {
        save(directory)?;
    }
    let mut story = Story { style, out: io::BufWriter::new(io::stdout()), decider: Decider::default() };
    story.programs()?;
    story.store_buffering()?;
    story.violation()?;
    story.shrink()?;
    story.table()?;
    story.next(args.save.as_deref())?;
    story.out.flush()?;
    Ok(ALLOWED)
}

fn save(directory: &Path) -> Result<(), Failure> {
    let write = || {
        std::fs::create_dir_all(directory)?;
        TRACES.iter().chain(&PROGRAMS).try_for_each(|(name, text)| std::fs::write(directory.join(name), text))
    };
    write().map_err(|error: io::Error| {
        let directory = membar::report::safe(&directory.to_string_lossy());
        Failure::Usage(format!("error: cannot write the traces to {directory}: {error}"))
    })
}

/// The traces of an embedded file.
fn traces(which: usize) -> Result<Vec<Trace>, Failure> {
    let (name, text) = TRACES[which];
    membar::trace::parse(name, text.as_bytes()).map_err(|error| Failure::Usage(error.render()))
}

impl Story {
    fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}\n", self.style.heading(text))
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}\n")
    }

    fn command(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "$ {}", self.style.heading(text))
    }

    /// Shows the trace file.
    fn show(&mut self, which: usize) -> io::Result<()> {
        for line in TRACES[which].1.lines() {
            writeln!(self.out, "    {line}")?;
        }
        writeln!(self.out)
    }

    /// `membar check` of a file with one trace.
    fn check(&mut self, which: usize, model: &str) -> Result<(), Failure> {
        let name = TRACES[which].0;
        let chosen = Chosen::load(model)?;
        let traces = traces(which)?;
        self.command(&format!("membar check {name} --model {model}"))?;
        for (index, trace) in (0..).zip(&traces) {
            let detail = Detail::Full { witness: false };
            let answer = self
                .decider
                .answer((name, index, trace), &chosen.model, &Budget::none(), detail)
                .map_err(|fault| Failure::Usage(internal_error(name, index, model, &fault)))?;
            let text = Text { style: self.style, model: Some(model), ..Text::default() };
            if let Some(report) = answer.report {
                text.report(&report, &mut self.out)?;
            }
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// `membar verify` of both programs.
    fn programs(&mut self) -> Result<(), Failure> {
        self.heading("1. A program, before it runs anywhere")?;
        self.say(
            "Each thread stores, then loads what the other one stores. Can it leave sequential consistency on x86?",
        )?;
        for line in PROGRAMS[0].1.lines() {
            writeln!(self.out, "    {line}")?;
        }
        writeln!(self.out)?;
        for (name, text) in PROGRAMS {
            self.command(&format!("membar verify {name}"))?;
            super::verify::examine(name, text)?.text(self.style, false, &mut self.out)?;
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn store_buffering(&mut self) -> Result<(), Failure> {
        self.heading("2. One recorded execution, two memory models")?;
        self.say("A trace says what each thread stored (:=) and what its loads returned (==):")?;
        self.show(STORE_BUFFERING)?;
        self.say("No interleaving of the two threads explains this, so sequential consistency forbids it:")?;
        self.check(STORE_BUFFERING, "sc")?;
        self.say("A machine with store buffers, such as x86 or SPARC, may do it:")?;
        self.check(STORE_BUFFERING, "tso")?;
        Ok(())
    }

    fn violation(&mut self) -> Result<(), Failure> {
        self.heading("3. An execution that no x86 or SPARC machine may show")?;
        self.say(
            "Nothing looks wrong at first sight. The answer names the read that is impossible, and every step of the\n\
             reason, each with its rule:",
        )?;
        self.check(VIOLATION, "tso")
    }

    fn shrink(&mut self) -> Result<(), Failure> {
        self.heading("4. From a long recording to the few operations that matter")?;
        let (name, _) = TRACES[CORRUPTED];
        let traces = traces(CORRUPTED)?;
        let ops = traces.first().map_or(0, Trace::len);
        self.say(&format!(
            "{name} has {ops} operations by three threads; one load returned a wrong value. What is left when everything\n\
             is dropped that the violation does not need:"
        ))?;
        self.command(&format!("membar shrink {name} --model tso"))?;
        let chosen = Chosen::load("tso")?;
        for trace in &traces {
            let part = self.decider.shrink(trace, &chosen.model, &Budget::none());
            let Some((_, part)) = part else {
                return Err(Failure::Usage(internal_error(name, 0, "tso", "it cannot be shrunk")));
            };
            self.out.write_all(annotated(&part, name, 1, "tso", ops)?.as_bytes())?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    fn table(&mut self) -> Result<(), Failure> {
        self.heading("5. The same tests under five models")?;
        self.say(
            "From the strongest to the weakest; `membar models` lists all, also those for locks, and yours is a file like them:",
        )?;
        let (name, _) = TRACES[LITMUS];
        let models: Vec<Chosen> = ["sc", "tso", "pso", "wmo", "rmo"]
            .iter()
            .filter_map(|name| membar::model::builtin(name))
            .map(|model| Chosen { arg: model.name.clone(), model: model.clone() })
            .collect();
        let flags: String = models.iter().map(|chosen| format!(" --model {}", chosen.arg)).collect();
        self.command(&format!("membar check {name}{flags}"))?;
        let wanted = Wanted { format: Format::Text, style: self.style, quiet: false, verbose: 0 };
        let progress = Arc::new(Progress::default());
        let mut output = Output::new(&mut self.out, &wanted, &models, &[name.to_owned()], progress);
        for (index, trace) in (0..).zip(&traces(LITMUS)?) {
            let answer = |chosen: &Chosen| {
                self.decider.answer((name, index, trace), &chosen.model, &Budget::none(), Detail::Verdict)
            };
            let answers: Vec<Result<Answer, String>> = models.iter().map(answer).collect();
            let (line, ops) = (first_line(trace), trace.len());
            output.answered(&Answered { file: name, index, line, ops, answers: &answers })?;
        }
        output.finish(false)?;
        writeln!(self.out)?;
        Ok(())
    }

    fn next(&mut self, saved: Option<&Path>) -> io::Result<()> {
        self.heading("What to try next")?;
        match saved {
            Some(directory) => {
                let file = directory.join(TRACES[4].0);
                let (directory, file) = (directory.to_string_lossy(), file.to_string_lossy());
                writeln!(self.out, "  The programs and traces are in {}.", membar::report::safe(&directory))?;
                writeln!(self.out, "  membar check {} --model pso -v", quoted_path(&file))?;
            }
            None => writeln!(
                self.out,
                "  membar demo --save traces     writes these programs and traces to files, to try the commands on"
            )?,
        }
        writeln!(self.out, "  simulator | membar check -    answers each trace as its `check` line arrives")?;
        writeln!(self.out, "  membar check --help           all options")
    }
}
