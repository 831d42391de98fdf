//! `membar stress`: random programs, or litmus tests, on this machine's cores; every result checked.

use super::campaign::{finish, plan};
use super::litmus::read;
use super::output::shown_name;
use crate::cli::{DataFormat, HardwareTimes, Stress};
use crate::files::{self, LITMUS_TESTS};
use crate::page::ToFile;
use crate::progress::Progress;
use crate::stop::{self, ALLOWED, BAD, FORBIDDEN, UNDECIDED};
use membar::campaign::{Hardware, Plan};
use membar::litmus::{Error, ErrorKind, LitmusTest, Model, outcomes};
use membar::programs::is_source;
use membar::report::litmus::{Histogram, Seen};
use membar::report::{Style, safe};
use membar::stress::{Cores, Engine, Settings, Timestamps, litmus};
use membar::{Chosen, Failure, Interrupt};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Outcomes of a litmus test that was told no end.
const OUTCOMES: u64 = 1_000_000;
/// States that were not seen and are listed.
const UNSEEN: usize = 10_000;

/// Runs the command.
pub fn run(args: &Stress, style: Style) -> Result<u8, Failure> {
    let interrupt = stop::on_key();
    if !args.files.is_empty() {
        return litmus_tests(args, &interrupt);
    }
    let (plan, hardware) = campaign(args, &interrupt)?;
    finish(&plan, &hardware, &args.campaign, &interrupt, style)
}

fn usage(error: membar::stress::Error) -> Failure {
    Failure::Usage(format!("error: {error}"))
}

/// The cores and the engine that flags describe.
fn place(args: &Stress) -> Result<(Option<Cores>, Engine), Failure> {
    let cores = args.cores.as_deref().map(Cores::parse).transpose().map_err(usage)?;
    Ok((cores, if args.portable { Engine::Portable } else { Engine::default() }))
}

/// The campaign of random programs that flags describe, and what runs it.
pub fn campaign(args: &Stress, interrupt: &Interrupt) -> Result<(Plan, Hardware), Failure> {
    let (cores, engine) = place(args)?;
    let timestamps = match args.timestamps {
        HardwareTimes::Off => Timestamps::Off,
        HardwareTimes::Every(every) => Timestamps::Every(every),
    };
    if timestamps == Timestamps::Every(1) {
        let _ = writeln!(
            std::io::stderr(),
            "warning: reading the clock at every operation gives store buffers time to drain: few results will be anything but \
             sequentially consistent\n = help: fewer timestamps: --timestamps 16, or none: --timestamps off"
        );
    }
    let settings = Settings { cores, engine, timestamps, ..Settings::default() };
    let hardware = Hardware::new(settings).map_err(usage)?;
    let mut programs = args.programs.clone();
    if programs.threads.is_none() && programs.profiles.iter().all(|name| !name.ends_with(".toml")) {
        // A thread for each core: those that take turns on one see each other's stores in order.
        programs.threads = Some(u32::try_from(hardware.cores()).unwrap_or(u32::MAX).clamp(2, 64));
    }
    let model = Chosen::load(args.model.as_deref().unwrap_or(Hardware::model()))?;
    let mut plan = plan(&programs, "default", &args.campaign, model, interrupt)?;
    if args.campaign.jobs.is_none() {
        // While one test runs, others are made and checked.
        plan.jobs = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 64);
    }
    Ok((plan, hardware))
}

/// Litmus tests, one after the other, each as a histogram.
fn litmus_tests(args: &Stress, interrupt: &Interrupt) -> Result<u8, Failure> {
    let (cores, engine) = place(args)?;
    let asked: Option<Model> = match args.model.as_deref() {
        None => None,
        Some(name) => Some(name.parse().map_err(|()| {
            Failure::Usage(format!(
                "error: litmus tests are compared with sc, tso, pso, rvwmo, ztso or armv8, not with `{}`\n = help: random programs, \
                 without a test, are checked against any model",
                safe(name)
            ))
        })?),
    };
    if asked == Some(Model::C11) {
        let help = "random programs, without a test, are checked against any model";
        let message =
            format!("error: litmus tests are compared with a machine's model, not with `c11`\n = help: {help}");
        return Err(Failure::Usage(message));
    }
    let (mut files, mut bad, mut forbidden, mut open) = (Vec::new(), false, false, false);
    let mut complain = |text: &str| {
        bad = true;
        let _ = std::io::stderr().write_all(text.as_bytes());
    };
    for path in &args.files {
        if let Err(unreadable) = files::collect(path, LITMUS_TESTS, &mut files) {
            complain(&format!("{}\n", Failure::from(unreadable)));
        }
    }
    let mut page = args.campaign.html.as_deref().map(ToFile::create).transpose()?;
    let mut results = Vec::new();
    let time = args.campaign.tests.is_none().then_some(args.campaign.time).flatten().and_then(|time| time.0);
    let progress = Progress::start(Some(files.len() as u64), time);
    for path in &files {
        if interrupt.pressed() {
            open = true;
            break;
        }
        let file = shown_name(path);
        progress.file(&file);
        progress.work("");
        let test = match parsed(path, &file) {
            Ok(test) => test,
            Err(text) => {
                complain(&text);
                continue;
            }
        };
        let own = match test.arch.has_store_buffers() {
            true => Hardware::model().parse().ok(),
            false => Some(test.arch.machine()),
        };
        let Some(model) = asked.or(own) else {
            complain(&format!("error: {}: say which model to compare with: --model sc, tso or pso\n", safe(&file)));
            continue;
        };
        if !Model::of(test.arch).contains(&model) {
            complain(&Error::whole_file(ErrorKind::WrongModel { model, arch: test.arch }, &file).render());
            continue;
        }
        let amount = match (args.campaign.tests, args.campaign.time) {
            (Some(outcomes), _) => litmus::Amount::Outcomes(outcomes),
            (None, Some(time)) => time.0.map_or(litmus::Amount::Outcomes(u64::MAX), litmus::Amount::Time),
            (None, None) => litmus::Amount::Outcomes(OUTCOMES),
        };
        let settings = litmus::Settings {
            cores: cores.clone(),
            engine,
            amount,
            seed: args.programs.seed,
            interrupt: Some(Arc::clone(&interrupt.0)),
            ..litmus::Settings::default()
        };
        let histogram = match litmus::run(&test, &settings) {
            Ok(histogram) => histogram,
            Err(error) => {
                complain(&format!("error: {}: {error}\n", safe(&file)));
                continue;
            }
        };
        let deadline = args.campaign.check_time.0.and_then(|time| Instant::now().checked_add(time));
        let limits = membar::litmus::Limits {
            interrupt: Some(Arc::clone(&interrupt.0)),
            memory: args.campaign.memory.0.unwrap_or(usize::MAX),
            deadline,
            ..membar::litmus::Limits::default()
        };
        let allowed = outcomes(&test, model, &limits);
        let complete = allowed.complete && allowed.crash.is_none();
        let outside = if complete { histogram.outside(&allowed.states) } else { 0 };
        forbidden |= outside > 0;
        open |= !complete;
        let name = model.to_string();
        progress.done(1);
        progress.hide();
        let result = told(&test, &file, &histogram, complete.then_some(&allowed.states[..]), (&name, outside));
        if let Some(page) = &mut page {
            page.add_histogram(&result);
        }
        match args.campaign.format {
            DataFormat::Text => {
                let log = histogram.log(&test);
                let log = if complete { log.against(&name, &allowed.states) } else { log };
                writeln!(std::io::stdout(), "{log}")?;
                if !complete {
                    let name = safe(&file);
                    let _ =
                        writeln!(std::io::stderr(), "{name}: not all states under {model} were found: none is marked");
                }
            }
            DataFormat::Json => results.push(result),
        }
    }
    progress.finish();
    if let Some(page) = page {
        page.finish()?;
    }
    if args.campaign.format == DataFormat::Json {
        writeln!(std::io::stdout(), "{}", json!({ "schema": 1, "results": results }))?;
    }
    Ok(match () {
        () if bad => BAD,
        () if forbidden => FORBIDDEN,
        () if open => UNDECIDED,
        () => ALLOWED,
    })
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

fn parsed(path: &Path, file: &str) -> Result<LitmusTest, String> {
    let bytes = match is_source(path) {
        true => Err(Error::whole_file(ErrorKind::NotLitmus, file)),
        false => read(path),
    };
    bytes.and_then(|bytes| LitmusTest::parse(file, &bytes)).map_err(|error| error.render())
}
