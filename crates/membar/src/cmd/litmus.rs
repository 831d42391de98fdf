//! `membar litmus`: all final states of litmus tests, in herd's layout.

use super::output::shown_name;
use crate::cli::{Litmus, LitmusFormat, LitmusModel};
use crate::files::{self, LITMUS_TESTS};
use crate::page::{self, ToFile};
use crate::progress::Progress;
use crate::stop::{self, Stdout};
use membar::litmus::{Error, ErrorKind, LitmusTest, Model, Outcomes, Record, crash_message, outcomes};
use membar::programs::is_source;
use membar::report::html::Way;
use membar::report::litmus::LitmusResult;
use membar::report::safe;
use membar::{Failure, Interrupt};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Results wait at most this long to be written.
const SOON: Duration = Duration::from_millis(100);

/// The outcome for one file.
#[derive(Default)]
struct Answer {
    /// For standard output.
    text: String,
    /// For standard error.
    errors: String,
    json_errors: Vec<String>,
    bad: bool,
    /// There is no test in the file.
    unreadable: bool,
    refuted: bool,
    incomplete: bool,
    page: Option<Box<Shown>>,
}

/// The part of a test that a page shows.
struct Shown {
    asked: Vec<LitmusResult>,
    others: Vec<LitmusResult>,
    way: Option<Way>,
}

/// Runs the command.
pub fn run(args: &Litmus) -> Result<u8, Failure> {
    let interrupt = stop::on_key();
    let mut files = Vec::new();
    let mut bad = false;
    let mut errors = Vec::new();
    for path in &args.files {
        if let Err(unreadable) = files::collect(path, LITMUS_TESTS, &mut files) {
            bad = true;
            let error = Error::whole_file(ErrorKind::Read(unreadable.error), &shown_name(&unreadable.path));
            let _ = io::stderr().write_all(error.render().as_bytes());
            errors.push(error.json().to_string());
        }
    }
    let mut models: Vec<Model> = args.models.iter().map(|model| model.model()).collect();
    let mut seen = Vec::new();
    models.retain(|model| {
        !seen.contains(model) && {
            seen.push(*model);
            true
        }
    });
    let json = args.format == LitmusFormat::Json;
    let mut page = args.html.as_deref().map(ToFile::create).transpose()?;
    // herd's logs are about one model: with several, there is a log for each. In JSON each result names its model.
    let passes: Vec<&[Model]> =
        if json || models.is_empty() { vec![&models[..]] } else { models.iter().map(std::slice::from_ref).collect() };
    let mut out = BufWriter::with_capacity(1 << 16, Stdout::new(args.html.is_some()));
    let (mut refuted, mut incomplete, mut any) = (false, false, false);
    if json {
        out.write_all(b"{\"schema\":1,\"results\":[")?;
    }
    let progress = Progress::start(Some((files.len() * passes.len()) as u64), args.limits.time.0);
    for (number, pass) in passes.into_iter().enumerate() {
        if !json && models.len() > 1 {
            writeln!(out, "# Model {}\n", pass[0])?;
        }
        let mut flushed = Instant::now();
        let mut write = |answer: Answer| -> io::Result<()> {
            progress.done(1);
            if !answer.text.is_empty() || !answer.errors.is_empty() {
                progress.hide();
            }
            if json && !answer.text.is_empty() {
                out.write_all(if std::mem::replace(&mut any, true) { b",\n" } else { b"\n" })?;
            }
            out.write_all(answer.text.as_bytes())?;
            // A file that cannot be read is the same for every model.
            if !answer.errors.is_empty() && (number == 0 || !answer.unreadable) {
                out.flush()?;
                let _ = io::stderr().write_all(answer.errors.as_bytes());
            }
            if let (Some(page), Some(shown)) = (&mut page, &answer.page) {
                page.add_litmus(&shown.asked, &shown.others, shown.way.as_ref());
            }
            errors.extend(answer.json_errors);
            bad |= answer.bad;
            refuted |= answer.refuted;
            incomplete |= answer.incomplete;
            if flushed.elapsed() > SOON {
                out.flush()?;
                flushed = Instant::now();
            }
            Ok(())
        };
        each((args, &interrupt, &progress), &files, (pass, (number == 0).then_some(&models[..])), &mut write)?;
    }
    progress.finish();
    if json {
        write!(out, "\n],\"errors\":[{}]}}", errors.join(","))?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    if let Some(page) = page {
        page.finish()?;
    }
    if interrupt.pressed() {
        let _ = writeln!(io::stderr(), "interrupted: the rest was skipped");
    }
    Ok(match () {
        () if bad => stop::BAD,
        () if refuted => stop::FORBIDDEN,
        () if incomplete || interrupt.pressed() => stop::UNDECIDED,
        () => stop::ALLOWED,
    })
}

/// Answers each file and hands the answers on in order.
fn each(
    (args, interrupt, progress): (&Litmus, &Interrupt, &Progress),
    files: &[PathBuf],
    models: (&[Model], Option<&[Model]>),
    write: &mut impl FnMut(Answer) -> io::Result<()>,
) -> io::Result<()> {
    if args.jobs == 1 {
        return files.iter().take_while(|_| !interrupt.pressed()).try_for_each(|file| {
            progress.file(&shown_name(file));
            progress.work("");
            write(answer(args, file, models, interrupt))
        });
    }
    let next = AtomicUsize::new(0);
    let (send, arriving) = channel();
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            let (send, next) = (send.clone(), &next);
            scope.spawn(move || {
                while !interrupt.pressed() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(number) else { return };
                    if send.send((number, answer(args, file, models, interrupt))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut early: BTreeMap<usize, Answer> = BTreeMap::new();
        let mut due = 0;
        for (number, answer) in arriving {
            early.insert(number, answer);
            while let Some(answer) = early.remove(&due) {
                due += 1;
                write(answer)?;
            }
        }
        early.into_values().try_for_each(write)
    })
}

/// Answers for these models; a page, if one is wanted, is about `all` of them.
fn answer(args: &Litmus, path: &Path, (models, all): (&[Model], Option<&[Model]>), interrupt: &Interrupt) -> Answer {
    let mut answer = Answer::default();
    let file = shown_name(path);
    let started = Instant::now();
    let test = match read_test(path, &file) {
        Ok(test) => test,
        Err(error) => {
            (answer.bad, answer.unreadable) = (true, true);
            answer.errors = error.render();
            answer.json_errors.push(error.json().to_string());
            return answer;
        }
    };
    // Without a model, that of the machine.
    let own = [test.arch.machine()];
    let or_own = |models: &[Model]| if models.is_empty() { own.to_vec() } else { models.to_vec() };
    let (models, all) = (or_own(models), all.map(or_own));
    if let Some(&model) = models.iter().find(|model| !Model::of(test.arch).contains(model)) {
        (answer.bad, answer.unreadable) = (true, true);
        let assembly = model == Model::C11 && test.arch.has_store_buffers();
        let kind = if assembly { ErrorKind::NoOrders } else { ErrorKind::WrongModel { model, arch: test.arch } };
        let error = Error::whole_file(kind, &file);
        answer.errors = error.render();
        answer.json_errors.push(error.json().to_string());
        return answer;
    }
    let mut limits = membar::litmus::Limits { interrupt: Some(interrupt.0.clone()), ..Default::default() };
    limits.memory = args.limits.memory.0.unwrap_or(usize::MAX);
    let mut known = Vec::new();
    if let (Some(_), Some(all)) = (&args.html, all) {
        let page;
        (page, known) = shown(args, &test, &file, &all, &limits);
        answer.page = Some(Box::new(page));
    }
    for model in models {
        limits.deadline = args.limits.time.0.and_then(|time| Instant::now().checked_add(time));
        let found = known.iter().position(|(other, _)| *other == model).map(|at| known.swap_remove(at).1);
        let outcomes = found.unwrap_or_else(|| outcomes(&test, model, &limits));
        if let Some(crash) = outcomes.crash {
            answer.bad = true;
            answer.errors += &crash_message(&test, &file, model, crash);
            answer.json_errors.push(membar::litmus::crash_json(&test, &file, model, crash).to_string());
            continue;
        }
        let record = Record { test: &test, model, outcomes: &outcomes, seconds: started.elapsed().as_secs_f64() };
        answer.refuted |= record.refuted();
        if !outcomes.complete {
            answer.incomplete = true;
            answer.errors += &format!("{}: under {model} a limit was met: there may be more states\n", safe(&file));
        }
        if args.quiet && !record.refuted() && outcomes.complete {
            continue;
        }
        match args.format {
            LitmusFormat::Text => record.write_text(&mut answer.text),
            LitmusFormat::Json => {
                if !answer.text.is_empty() {
                    answer.text.push_str(",\n");
                }
                answer.text += &record.json(&file).to_string();
            }
        }
    }
    answer
}

/// The part of a test that a page shows: its states under the models that were asked for, and under the others within one second.
/// Also the states of those that were asked for.
fn shown(
    args: &Litmus,
    test: &LitmusTest,
    file: &str,
    asked: &[Model],
    limits: &membar::litmus::Limits,
) -> (Shown, Vec<(Model, Outcomes)>) {
    let mut limits = limits.clone();
    let mut results: Vec<(Model, Outcomes, LitmusResult)> = Vec::new();
    let models = Model::of(test.arch).iter().copied();
    for model in models.filter(|model| *model != Model::C11 || asked.contains(model)) {
        let time = if asked.contains(&model) { args.limits.time.0 } else { Some(membar::Decider::PER_MODEL) };
        limits.deadline = time.and_then(|time| Instant::now().checked_add(time));
        let started = Instant::now();
        let outcomes = outcomes(test, model, &limits);
        if outcomes.crash.is_some() {
            continue;
        }
        let record = Record { test, model, outcomes: &outcomes, seconds: started.elapsed().as_secs_f64() };
        if let Ok(result) = serde_json::from_value(record.json(file)) {
            results.push((model, outcomes, result));
        }
    }
    // Stronger models come first, and what was asked for before the rest.
    let (one, two): (Vec<_>, Vec<_>) = results.into_iter().partition(|(model, ..)| asked.contains(model));
    let found: Vec<(Model, &Outcomes)> =
        one.iter().chain(&two).map(|(model, outcomes, _)| (*model, outcomes)).collect();
    let way = page::ways(test, file, &found);
    let others = two.into_iter().map(|(.., result)| result).collect();
    let (known, asked) = one.into_iter().map(|(model, outcomes, result)| ((model, outcomes), result)).unzip();
    (Shown { asked, others, way }, known)
}

/// The test in a file of this name.
pub fn read_test(path: &Path, file: &str) -> Result<LitmusTest, Error> {
    if is_source(path) && path.exists() {
        return Err(Error::whole_file(ErrorKind::NotLitmus, file));
    }
    LitmusTest::parse(file, &read(path)?)
}

/// The text of a test, from standard input if its name is `-`.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let limit = membar::litmus::FILE_LIMIT as u64 + 1;
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    read.map(|_| bytes).map_err(|error| Error::whole_file(ErrorKind::Read(error), &shown_name(path)))
}

impl LitmusModel {
    fn model(self) -> Model {
        match self {
            LitmusModel::Sc => Model::Sc,
            LitmusModel::Tso => Model::Tso,
            LitmusModel::Pso => Model::Pso,
            LitmusModel::C11 => Model::C11,
            LitmusModel::Rvwmo => Model::Rvwmo,
            LitmusModel::Ztso => Model::Ztso,
            LitmusModel::Armv8 => Model::Armv8,
        }
    }
}
