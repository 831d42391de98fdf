//! `membar simulate`: random programs on simulated machines, every result checked.

use crate::campaign::{self, ChosenProfile, Observed, Plan, Source};
use crate::cli::{BufferArgs, CampaignArgs, DataFormat, ProgramArgs, Simulate, Timestamps};
use crate::decide::{Budget, Chosen};
use crate::page::ToFile;
use crate::stop::{ALLOWED, Failure, Interrupt};
use membar::core::{Clock, Compare};
use membar::report::{Style, count};
use membar::simulate::{Program, Run, Setup, Times, machines, profile, sampled};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

/// What a campaign does that was told no end.
const TESTS: u64 = 1000;
const TIME: Duration = Duration::from_secs(10);

/// Runs the command.
pub fn run(args: &Simulate, style: Style) -> Result<u8, Failure> {
    if args.list {
        std::io::stdout().write_all(list(style).as_bytes())?;
        return Ok(ALLOWED);
    }
    let Some(machine) = &args.machine else {
        let names: Vec<&str> = machines::all().iter().map(|machine| machine.name()).collect();
        let message = format!(
            "error: which machine? --machine is one of {}\n = help: `membar simulate --list` says what they are, and which bugs they can have",
            names.join(", ")
        );
        return Err(Failure::Usage(message));
    };
    let setup = setup(machine, &args.bugs, args.buffers)?;
    let model = Chosen::load(args.model.as_deref().unwrap_or(setup.machine().model()))?;
    let timestamps = args.timestamps.unwrap_or(match membar::model::builtin(setup.machine().model()) {
        Some(model) if has_locks(&model.name) => Timestamps::Exact,
        _ => Timestamps::Off,
    });
    let simulated = Simulated { setup, timestamps };
    let interrupt = Interrupt::on_key();
    let plan = plan(&args.programs, &args.campaign, model, &interrupt)?;
    finish(&plan, &simulated, &args.campaign, &interrupt, style)
}

/// Runs the campaign and writes its summary.
pub fn finish(
    plan: &Plan,
    source: &dyn Source,
    args: &CampaignArgs,
    interrupt: &Interrupt,
    style: Style,
) -> Result<u8, Failure> {
    let page = args.html.as_deref().map(ToFile::create).transpose()?;
    let campaign = campaign::run(plan, source, interrupt)?;
    let report = campaign.report(plan, source);
    let summary = match args.format {
        DataFormat::Text => campaign.text(plan, source, style),
        DataFormat::Json => campaign::json(&report).map_err(std::io::Error::from)?,
    };
    if let Some(mut page) = page {
        page.add_campaign(&report, std::slice::from_ref(&plan.model));
        page.finish()?;
    }
    match std::io::stdout().write_all(summary.as_bytes()).map_err(Failure::from) {
        Ok(()) | Err(Failure::Closed) => Ok(campaign.exit_code()),
        Err(failure) => Err(failure),
    }
}

/// The plan that flags describe.
pub fn plan(
    programs: &ProgramArgs,
    args: &CampaignArgs,
    model: Chosen,
    interrupt: &Interrupt,
) -> Result<Plan, Failure> {
    let (tests, time) = match (args.tests, args.time) {
        (None, None) => (Some(TESTS), Some(TIME)),
        (tests, time) => (tests, time.and_then(|time| time.0)),
    };
    let profiles = profiles(programs)?;
    if profiles.iter().all(|chosen| chosen.profile.threads < 2) {
        let _ = writeln!(
            std::io::stderr(),
            "warning: programs of one thread have nothing to interleave: every model allows what they do\n \
             = help: give --threads 2 or more"
        );
    }
    Ok(Plan {
        profiles,
        model,
        seed: programs.seed,
        tests,
        time,
        jobs: usize::from(args.jobs.unwrap_or(1)),
        keep_going: args.keep_going,
        max_violations: args.max_violations,
        output: args.output.clone(),
        state: args.state.clone(),
        budget: Budget::of(args.check_time.0, args.memory.0, interrupt),
        quiet: args.quiet,
    })
}

/// The machine that is meant, with its bugs and store buffers.
pub fn setup(machine: &str, bugs: &[String], buffers: BufferArgs) -> Result<Setup, Failure> {
    let parse = || -> Result<Setup, machines::SetupError> {
        let mut setup: Setup = machine.parse()?;
        for bug in bugs {
            setup = setup.with(bug)?;
        }
        if let Some(depth) = buffers.buffer {
            setup = setup.with_depth(depth)?;
        }
        buffers.drain.map_or(Ok(setup), |drain| setup.with_drain(drain))
    };
    parse().map_err(|error| Failure::Usage(error.to_string()))
}

/// The profiles that are meant, at least one.
pub fn profiles(args: &ProgramArgs) -> Result<Vec<ChosenProfile>, Failure> {
    let usage = |error: membar::simulate::ProfileError| Failure::Usage(error.to_string());
    let default = ["default".to_owned()];
    let names = if args.profiles.is_empty() { &default[..] } else { &args.profiles };
    let chosen = |arg: &String| {
        let mut profile = profile::load(arg).map_err(usage)?;
        let mut flags = Vec::new();
        let mut change = |name: &str, value: Option<u32>, place: &mut u32| {
            if let Some(value) = value {
                flags.extend([format!("--{name}"), value.to_string()]);
                *place = value;
            }
        };
        change("threads", args.threads, &mut profile.threads);
        change("addresses", args.addresses, &mut profile.addresses);
        change("operations", args.operations, &mut profile.operations);
        change("locks", args.locks, &mut profile.locks);
        if profile.locks == 0 {
            profile.mix.locks = 0;
        }
        profile.validate().map_err(usage)?;
        Ok(ChosenProfile { arg: arg.clone(), profile, flags })
    };
    names.iter().map(chosen).collect()
}

/// The models that say more than how loads and stores are ordered.
fn has_locks(model: &str) -> bool {
    !["sc", "tso", "pso", "wmo", "rmo"].contains(&model)
}

/// A simulated machine.
pub struct Simulated {
    /// The machine with its bugs.
    pub setup: Setup,
    /// Which times traces have.
    pub timestamps: Timestamps,
}

impl Simulated {
    /// The times of a run as they are recorded, and what they mean.
    pub fn times(&self, run: &Run) -> (Option<Times>, Clock) {
        match self.timestamps {
            Timestamps::Off => (None, Clock::default()),
            Timestamps::Exact => (Some(run.times.clone()), Clock { compare: Compare::Everything, ..Clock::default() }),
            Timestamps::Sampled(every) => {
                let clock = Clock { compare: Compare::Everything, error: 0, sampled_every: Some(every) };
                (Some(sampled(&run.times, every)), clock)
            }
        }
    }

    fn bugs(&self) -> Vec<&'static str> {
        let bugs = self.setup.machine().bugs().iter();
        bugs.filter(|&&bug| self.setup.has(bug)).map(|bug| bug.name()).collect()
    }

    /// The argument of `--buffer` and `--drain`, where it is not the machine's usual value.
    fn buffers(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let unusual = [("buffer", self.setup.unusual_depth()), ("drain", self.setup.unusual_drain())];
        unusual.into_iter().filter_map(|(key, value)| Some((key, value?)))
    }

    /// The argument of `--timestamps`.
    pub fn timestamps(&self) -> String {
        match self.timestamps {
            Timestamps::Exact => "exact".into(),
            Timestamps::Sampled(every) => format!("sampled={every}"),
            Timestamps::Off => "off".into(),
        }
    }
}

impl Source for Simulated {
    fn name(&self) -> String {
        self.setup.to_string()
    }

    fn describe(&self) -> Value {
        let mut described = json!({
            "kind": "simulated",
            "name": self.setup.machine().name(),
            "bugs": self.bugs(),
            "timestamps": self.timestamps(),
        });
        for (key, value) in self.buffers() {
            described[key] = value.into();
        }
        described
    }

    fn command(&self) -> Vec<String> {
        let mut words = vec!["simulate".into(), "--machine".into(), self.setup.machine().name().into()];
        words.extend(self.bugs().into_iter().flat_map(|bug| ["--bug".into(), bug.into()]));
        words.extend(self.buffers().flat_map(|(key, value)| [format!("--{key}"), value.to_string()]));
        words.extend(["--timestamps".into(), self.timestamps()]);
        words
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn run(&self, program: &Program, seed: u64) -> Result<Observed, String> {
        let run = self.setup.run(program, seed);
        let (times, clock) = self.times(&run);
        Ok(Observed { record: run.record, times, clock })
    }
}

fn list(style: Style) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", style.heading("Machines (--machine), each with its model and its bugs (--bug)"));
    for machine in machines::all() {
        let _ = writeln!(text, "  {:<18} {:<6} {}", machine.name(), machine.model(), machine.title());
        for bug in machine.bugs() {
            let _ = writeln!(text, "    {:<16} {:<6} {}", bug.name(), "", bug.about());
        }
    }
    let _ = writeln!(text, "\n{}", style.heading("Profiles (--profile)"));
    for profile in profile::builtins() {
        let size = format!("{}x{}, {} addresses", profile.threads, profile.operations, profile.addresses);
        let locks =
            if profile.locks > 0 { format!(", {}", count(profile.locks as usize, "lock")) } else { String::new() };
        let _ = writeln!(text, "  {:<18} {} ({size}{locks})", profile.name, profile.title);
    }
    let _ = writeln!(text, "\n`membar models` lists the models (--model). Your own profile is a .toml file.");
    text
}
