//! Litmus tests on this machine's cores: each is run, and its histogram compared with the states of a model.
//!
//! The same steps serve `membar stress` and the shards of a plan: [`Case`] is a test and the model it is compared with, [`Told`] writes
//! what came of tests as text, as a document and as a page, and keeps the exit code.

use super::place;
use crate::cli::{DataFormat, Stress};
use crate::cmd::litmus::read_test;
use crate::cmd::output::shown_name;
use crate::files::{self, LITMUS_TESTS};
use crate::page::ToFile;
use crate::progress::Progress;
use crate::stop::{ALLOWED, BAD, FORBIDDEN, UNDECIDED};
use membar::campaign::Hardware;
use membar::litmus::{Error, ErrorKind, LitmusTest, Model, outcomes};
use membar::report::litmus::{Histogram, Seen};
use membar::report::safe;
use membar::stress::litmus;
use membar::{Failure, Interrupt};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Outcomes of a litmus test that was told no end.
pub const OUTCOMES: u64 = 1_000_000;
/// States that were not seen and are listed.
const UNSEEN: usize = 10_000;

/// The model that was asked for.
fn asked(args: &Stress) -> Result<Option<Model>, Failure> {
    let Some(name) = args.model.as_deref() else { return Ok(None) };
    match name.parse() {
        Ok(model) if model != Model::C11 => Ok(Some(model)),
        _ => Err(Failure::Usage(format!(
            "error: litmus tests are compared with sc, tso, pso, rvwmo, ztso or armv8, not with `{}`\n = help: random programs, \
             without a test, are checked against any model",
            safe(name)
        ))),
    }
}

/// How much a test is run.
fn amount(args: &Stress) -> litmus::Amount {
    match (args.campaign.tests, args.campaign.time) {
        (Some(outcomes), _) => litmus::Amount::Outcomes(outcomes),
        (None, Some(time)) => time.0.map_or(litmus::Amount::Outcomes(u64::MAX), litmus::Amount::Time),
        (None, None) => litmus::Amount::Outcomes(OUTCOMES),
    }
}

/// How long its states are looked for.
fn limits(args: &Stress, interrupt: &Interrupt) -> membar::litmus::Limits {
    let deadline = args.campaign.check_time.0.and_then(|time| Instant::now().checked_add(time));
    membar::litmus::Limits {
        interrupt: Some(Arc::clone(&interrupt.0)),
        memory: args.campaign.memory.0.unwrap_or(usize::MAX),
        deadline,
        ..membar::litmus::Limits::default()
    }
}

/// A litmus test, and the model that it is compared with.
pub struct Case {
    file: String,
    pub test: LitmusTest,
    model: Model,
}

/// The files that flags name, and what is wrong with the others.
pub fn files(args: &Stress) -> (Vec<PathBuf>, Vec<Failure>) {
    let (mut found, mut bad) = (Vec::new(), Vec::new());
    for path in &args.files {
        if let Err(unreadable) = files::collect(path, LITMUS_TESTS, &mut found) {
            bad.push(Failure::from(unreadable));
        }
    }
    (found, bad)
}

impl Case {
    /// The test in a file, or what is to be said about it.
    pub fn read(args: &Stress, path: &Path) -> Result<Case, Failure> {
        let asked = asked(args)?;
        let file = shown_name(path);
        let test = read_test(path, &file).map_err(|error| Failure::Usage(error.render()))?;
        let own = match test.arch.has_store_buffers() {
            true => Hardware::model().parse().ok(),
            false => Some(test.arch.machine()),
        };
        let Some(model) = asked.or(own) else {
            let help = "say which model to compare with: --model sc, tso or pso";
            return Err(Failure::Usage(format!("error: {}: {help}", safe(&file))));
        };
        if !Model::of(test.arch).contains(&model) {
            let error = Error::whole_file(ErrorKind::WrongModel { model, arch: test.arch }, &file);
            return Err(Failure::Usage(error.render()));
        }
        Ok(Case { file, test, model })
    }

    /// Runs it on this machine's cores.
    pub fn run(
        &self,
        args: &Stress,
        (amount, seed): (litmus::Amount, u64),
        interrupt: &Interrupt,
    ) -> Result<litmus::Histogram, Failure> {
        let (cores, engine) = place(args)?;
        let interrupt = Some(Arc::clone(&interrupt.0));
        let settings = litmus::Settings { cores, engine, amount, seed, interrupt, ..litmus::Settings::default() };
        let failed = |error| Failure::Usage(format!("error: {}: {error}", safe(&self.file)));
        litmus::run(&self.test, &settings).map_err(failed)
    }

    /// All states of its model, if they can be found.
    pub fn allowed(&self, args: &Stress, interrupt: &Interrupt) -> Option<Vec<Vec<u64>>> {
        let allowed = outcomes(&self.test, self.model, &limits(args, interrupt));
        (allowed.complete && allowed.crash.is_none()).then_some(allowed.states)
    }
}

/// Tells what came of tests.
pub struct Told<'a> {
    args: &'a Stress,
    machine: Option<String>,
    page: Option<ToFile>,
    results: Vec<Histogram>,
    bad: bool,
    forbidden: bool,
    open: bool,
}

impl<'a> Told<'a> {
    /// On this page, if there is to be one; with the machine if there may be several.
    pub fn new(args: &'a Stress, html: Option<&Path>, machine: Option<String>) -> Result<Told<'a>, Failure> {
        let page = html.map(ToFile::create).transpose()?;
        Ok(Told { args, machine, page, results: Vec::new(), bad: false, forbidden: false, open: false })
    }

    /// Something is wrong with a test.
    pub fn complain(&mut self, failure: &Failure) {
        self.bad = true;
        let text = failure.to_string();
        let _ = writeln!(std::io::stderr(), "{}", text.trim_end_matches('\n'));
    }

    /// Not everything was run.
    pub fn leave_open(&mut self) {
        self.open = true;
    }

    /// A test and its outcomes.
    pub fn add(&mut self, case: &Case, histogram: &litmus::Histogram, interrupt: &Interrupt) -> Result<(), Failure> {
        let Case { file, test, model } = case;
        let allowed = case.allowed(self.args, interrupt);
        let outside = allowed.as_ref().map_or(0, |allowed| histogram.outside(allowed));
        self.forbidden |= outside > 0;
        self.open |= allowed.is_none();
        let name = model.to_string();
        let mut result = told(test, file, histogram, allowed.as_deref(), (&name, outside));
        result.machine.clone_from(&self.machine);
        if let Some(page) = &mut self.page {
            page.add_histogram(&result);
        }
        match self.args.campaign.format {
            DataFormat::Text => {
                let log = histogram.log(test);
                match &allowed {
                    Some(allowed) => writeln!(std::io::stdout(), "{}", log.against(&name, allowed))?,
                    None => {
                        writeln!(std::io::stdout(), "{log}")?;
                        let file = safe(file);
                        let _ = writeln!(
                            std::io::stderr(),
                            "{file}: not all states under {model} were found: none is marked"
                        );
                    }
                }
            }
            DataFormat::Json => self.results.push(result),
        }
        Ok(())
    }

    /// Finishes the page; the exit code, and the results if they are to be a document.
    pub fn end(self) -> Result<(u8, Vec<Histogram>), Failure> {
        if let Some(page) = self.page {
            page.finish()?;
        }
        let code = match () {
            () if self.bad => BAD,
            () if self.forbidden => FORBIDDEN,
            () if self.open => UNDECIDED,
            () => ALLOWED,
        };
        Ok((code, self.results))
    }
}

/// Writes the document of all results, if that is the format.
pub fn document(args: &Stress, results: &[Histogram]) -> Result<(), Failure> {
    if args.campaign.format == DataFormat::Json {
        writeln!(std::io::stdout(), "{}", json!({ "schema": 1, "results": results }))?;
    }
    Ok(())
}

/// Litmus tests, one after the other, each as a histogram.
pub fn run(args: &Stress, interrupt: &Interrupt) -> Result<u8, Failure> {
    place(args)?;
    asked(args)?;
    let (files, bad) = files(args);
    let mut told = Told::new(args, args.campaign.html.as_deref(), None)?;
    bad.iter().for_each(|failure| told.complain(failure));
    let time = args.campaign.tests.is_none().then_some(args.campaign.time).flatten().and_then(|time| time.0);
    let progress = Progress::start(Some(files.len() as u64), time);
    for path in &files {
        if interrupt.pressed() {
            told.leave_open();
            break;
        }
        progress.file(&shown_name(path));
        progress.work("");
        let ran = Case::read(args, path)
            .and_then(|case| Ok((case.run(args, (amount(args), args.programs.seed), interrupt)?, case)));
        progress.done(1);
        progress.hide();
        match ran {
            Ok((histogram, case)) => told.add(&case, &histogram, interrupt)?,
            Err(failure) => told.complain(&failure),
        }
    }
    progress.finish();
    let (code, results) = told.end()?;
    document(args, &results)?;
    Ok(code)
}

/// The result of a test, as data. `allowed` are all states of the model, where they are known.
fn told(
    test: &LitmusTest,
    file: &str,
    histogram: &litmus::Histogram,
    allowed: Option<&[Vec<u64>]>,
    (model, forbidden): (&str, u64),
) -> Histogram {
    let value = |(at, &value): (usize, &u64)| match test.pointed_at(value) {
        Some(name) => Value::from(name),
        None if test.locations[at].ty.signed => Value::from(value as i64),
        None => Value::from(value),
    };
    let values = |state: &[u64]| state.iter().enumerate().map(value).collect::<Vec<_>>();
    let unseen = |state: &&Vec<u64>| !histogram.states.iter().any(|seen| seen.values == **state);
    Histogram {
        file: file.to_owned(),
        test: test.name.clone(),
        model: model.to_owned(),
        proposition: test.condition_text(),
        locations: test.locations[..test.shown].iter().map(|location| location.name.clone()).collect(),
        outcomes: histogram.outcomes(),
        seconds: histogram.seconds,
        machine: None,
        positive: histogram.positive(),
        observation: histogram.observation(),
        compared: allowed.is_some(),
        forbidden,
        states: histogram
            .states
            .iter()
            .map(|state| Seen {
                values: values(&state.values),
                count: state.count,
                holds: state.holds,
                allowed: allowed.map(|allowed| allowed.contains(&state.values)),
            })
            .collect(),
        unseen: allowed.into_iter().flatten().filter(unseen).take(UNSEEN).map(|state| values(state)).collect(),
        allowed_states: allowed.map(|allowed| allowed.len() as u64),
    }
}
