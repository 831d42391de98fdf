//! Campaigns, split by seed: a shard is a range of tests.

use super::store::{Id, Merge, Store};
use super::{Came, Job, Merged, Missing, PIECES, Ran, Split, usage};
use crate::cli::{CampaignArgs, ProgramArgs, Simulate, Stress};
use crate::cmd::{campaign, simulate, stress};
use crate::page::ToFile;
use membar::campaign::{Buffers, Part, Plan, Recorded, Source, merged, run_with};
use membar::report::{Style, safe};
use membar::{Failure, Interrupt};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// This machine, by its processor. Reading that takes a millisecond or more.
pub fn machine() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let name = name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| safe(name.trim()));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        format!("{name}, {}", membar::report::count(cores, "core"))
    })
}

fn which(args: &Simulate) -> Result<&str, Failure> {
    args.machine.as_deref().filter(|_| !args.list).ok_or_else(|| usage("error: which machine? give --machine".into()))
}

pub fn split_simulate(args: &Simulate, shards: u32) -> Result<Split, Failure> {
    let (plan, _) = simulate::campaign(args, which(args)?, &Interrupt::default())?;
    split(&plan, &args.campaign, &args.programs, args.model.as_ref(), shards)
}

pub fn split_stress(args: &Stress, shards: u32) -> Result<Split, Failure> {
    let (plan, _) = stress::campaign(args, &Interrupt::default())?;
    split(&plan, &args.campaign, &args.programs, args.model.as_ref(), shards)
}

/// What plans have no use for.
pub fn refuse(args: &CampaignArgs) -> Result<(), Failure> {
    if args.time.is_some_and(|time| time.0.is_some()) {
        let help = "give --tests N; `membar plan --shard-time` limits the time of a shard";
        return Err(usage(format!("error: a campaign is split by its tests, not by time\n = help: {help}")));
    }
    if args.resume.is_some() {
        return Err(usage("error: a plan keeps its own state\n = help: leave --resume out".into()));
    }
    Ok(())
}

fn split(
    plan: &Plan,
    args: &CampaignArgs,
    programs: &ProgramArgs,
    model: Option<&String>,
    shards: u32,
) -> Result<Split, Failure> {
    refuse(args)?;
    let tests = plan.tests.unwrap_or(membar::campaign::TESTS);
    let files = programs.profiles.iter().chain(model).filter(|name| name.ends_with(".toml")).map(PathBuf::from);
    let shards = u64::from(shards).min(tests);
    let begin = |k: u64| (u128::from(tests) * u128::from(k) / u128::from(shards)) as u64;
    let range = |k: u64| json!({ "from": begin(k), "to": begin(k + 1) });
    Ok(Split {
        merge: Merge::Tests,
        inputs: files.collect(),
        root: None,
        shards: (0..shards).map(range).collect(),
        found: 0,
    })
}

struct Campaign<S> {
    plan: Plan,
    /// How many tests the whole campaign has.
    tests: u64,
    source: S,
    threads: Option<u32>,
    interrupt: Interrupt,
    /// Kept from shard to shard, since they grow to the size of the tests.
    buffers: Vec<Buffers>,
    /// Where the violations of a shard are until they are part of its result.
    directory: tempfile::TempDir,
}

impl<S: Source + 'static> Campaign<S> {
    fn job(plan: Plan, source: S, threads: Option<u32>, interrupt: &Interrupt) -> Result<Box<dyn Job>, Failure> {
        let directory = tempfile::tempdir().map_err(Failure::Write)?;
        let (interrupt, buffers) = (interrupt.clone(), Vec::new());
        let tests = plan.tests.unwrap_or(membar::campaign::TESTS);
        Ok(Box::new(Campaign { plan, tests, source, threads, interrupt, buffers, directory }))
    }
}

pub fn simulate_job(args: &Simulate, interrupt: &Interrupt) -> Result<Box<dyn Job>, Failure> {
    let (plan, source) = simulate::campaign(args, which(args)?, interrupt)?;
    Campaign::job(plan, source, None, interrupt)
}

pub fn stress_job(args: &Stress, interrupt: &Interrupt) -> Result<Box<dyn Job>, Failure> {
    let (plan, source) = stress::campaign(args, interrupt)?;
    let chosen = args.programs.threads.is_none().then(|| plan.profiles[0].profile.threads);
    Campaign::job(plan, source, chosen, interrupt)
}

impl<S: Source> Job for Campaign<S> {
    fn run(&mut self, shard: Value, time: Option<Duration>) -> Result<Came, Failure> {
        let bounds = (shard["from"].as_u64(), shard["to"].as_u64());
        let (Some(from), Some(to)) = bounds else { return Err(usage("error: the shard names no tests".into())) };
        if from >= to || to > self.tests {
            return Err(usage("error: the shard names tests that the plan does not have".into()));
        }
        let failed = |error: std::io::Error| Failure::Write(error);
        let plan = &mut self.plan;
        // It does not exist until there is a violation. Those of the last shard are part of its result.
        let output = self.directory.path().join("violations");
        let _ = std::fs::remove_dir_all(&output);
        (plan.first, plan.tests, plan.time, plan.output) = (from, Some(to), time, output);
        let campaign = run_with(plan, &self.source, &self.interrupt, &mut self.buffers)?;
        let (next, found) = (campaign.counters.tests, campaign.counters.forbidden);
        if next == from {
            return Err(Failure::Late);
        }
        let ended = match plan.keep_going {
            false => found > 0,
            true => found >= plan.max_violations,
        };
        let left = if ended { 0 } else { to - next };
        let pieces = left.min(PIECES);
        let rest = (0..pieces)
            .map(|k| json!({ "from": next + left * k / pieces, "to": next + left * (k + 1) / pieces }))
            .collect();
        let part = Part::new(plan, &self.source, self.threads, campaign).map_err(failed)?;
        let result = serde_json::to_string(&part).map_err(|error| Failure::Write(error.into()))?;
        Ok(Came::Ran(Ran { result, units: next - from, found, rest }))
    }
}

/// The parts that there are, in the order of their tests, each with its shard and machine.
fn parts(store: &Store) -> Vec<(Id, String, Part)> {
    let ids = store.scan().into_keys();
    ids.filter_map(|id| {
        let (done, body) = store.result::<Part>(&id).ok()?;
        Some((id, done.machine, body.result))
    })
    .collect()
}

/// The shard at which the campaign ends, if it ends at a violation.
fn end(plan: &Plan, parts: &[(Id, String, Part)]) -> Option<Id> {
    let mut found = 0;
    parts.iter().find_map(|(id, _, part)| {
        found += part.counts.violations.len() as u64;
        let ended = if plan.keep_going { found >= plan.max_violations } else { found > 0 };
        ended.then(|| id.clone())
    })
}

pub fn merge_simulate(store: &Store, args: &Simulate, style: Style) -> Result<Merged, Failure> {
    let (plan, source) = simulate::campaign(args, which(args)?, &Interrupt::default())?;
    let plan = Plan { tests: plan.tests.or(Some(membar::campaign::TESTS)), time: None, ..plan };
    let parts = parts(store);
    let missing = Missing::up_to(store, end(&plan, &parts).as_ref());
    let page = args.campaign.html.as_deref().map(ToFile::create).transpose()?;
    let campaign = merged(&plan, parts.into_iter().map(|(_, _, part)| part))?;
    let code = campaign::summarise(&campaign, &plan, &source, &args.campaign, page, style)?;
    Ok(Merged { code, missing })
}

/// Machines are told apart: each has a summary of its own.
pub fn merge_stress(store: &Store, args: &Stress, style: Style) -> Result<Merged, Failure> {
    let all = parts(store);
    let mut machines: Vec<(String, Recorded, Option<u32>)> = Vec::new();
    for (_, machine, part) in &all {
        let this = (machine.clone(), part.source.clone(), part.threads);
        if !machines.contains(&this) {
            machines.push(this);
        }
    }
    let several = machines.len() > 1;
    if machines.is_empty() {
        return Err(usage("error: no shard has a result yet\n = help: `membar work` does them".into()));
    }
    let (mut code, mut missing) = (0, None);
    for (number, (machine, source, threads)) in machines.into_iter().enumerate() {
        let mut programs = args.programs.clone();
        programs.threads = programs.threads.or(threads);
        let model = args.model.as_deref().unwrap_or(membar::campaign::Hardware::model());
        let plan =
            campaign::plan(&programs, "default", &args.campaign, membar::Chosen::load(model)?, &Interrupt::default())?;
        let plan = Plan { tests: plan.tests.or(Some(membar::campaign::TESTS)), time: None, ..plan };
        let own = |(_, name, part): &&(Id, String, Part)| {
            *name == machine && part.source == source && part.threads == threads
        };
        let own: Vec<(Id, String, Part)> = all.iter().filter(own).cloned().collect();
        let end = end(&plan, &own).filter(|_| !several);
        missing.get_or_insert_with(|| Missing::up_to(store, end.as_ref()));
        let parts = own.into_iter().map(|(_, _, part)| part);
        let source = source.on(&machine);
        let page = args.campaign.html.as_ref().map(|html| ToFile::create(&page_of(html, number))).transpose()?;
        let mut campaign = merged(&plan, parts)?;
        campaign.scattered |= several;
        if args.campaign.format == crate::cli::DataFormat::Text {
            let blank = if number > 0 { "\n" } else { "" };
            writeln!(std::io::stdout(), "{blank}On {machine}:")?;
        }
        code = worse(code, campaign::summarise(&campaign, &plan, &source, &args.campaign, page, style)?);
    }
    Ok(Merged { code, missing: missing.unwrap_or_default() })
}

/// The page of one of several machines.
pub fn page_of(html: &Path, number: usize) -> PathBuf {
    if number == 0 { html.to_owned() } else { html.with_extension(format!("{}.html", number + 1)) }
}

/// A violation before something undecided.
pub fn worse(one: u8, other: u8) -> u8 {
    if one == crate::stop::FORBIDDEN || other == crate::stop::ALLOWED { one } else { other }
}
