//! Campaigns, split by seed: a shard is a range of tests.

use super::machines::{self, Group};
use super::store::{Id, Merge, Store};
use super::{Came, Job, Merged, Missing, PIECES, Ran, Split, usage};
use crate::cli::{CampaignArgs, ProgramArgs, Simulate, Stress};
use crate::cmd::{campaign, simulate, stress};
use crate::page::ToFile;
use membar::campaign::{Buffers, Part, Plan, Source, merged, run_with};
use membar::report::Style;
use membar::{Failure, Interrupt};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

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
        Ok(Box::new(Campaign { plan, source, threads, interrupt, buffers, directory }))
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
fn end<'a>(plan: &Plan, mut parts: impl Iterator<Item = (&'a Id, &'a Part)>) -> Option<&'a Id> {
    let mut found = 0;
    let last = parts.find(|(_, part)| {
        found += part.counts.violations.len() as u64;
        if plan.keep_going { found >= plan.max_violations } else { found > 0 }
    });
    last.map(|(id, _)| id)
}

pub fn merge_simulate(store: &Store, args: &Simulate, style: Style) -> Result<Merged, Failure> {
    let (plan, source) = simulate::campaign(args, which(args)?, &Interrupt::default())?;
    let plan = Plan { tests: plan.tests.or(Some(membar::campaign::TESTS)), time: None, ..plan };
    let parts = parts(store);
    let missing = Missing::up_to(store, end(&plan, parts.iter().map(|(id, _, part)| (id, part))));
    let page = args.campaign.html.as_deref().map(ToFile::create).transpose()?;
    let campaign = merged(&plan, parts.into_iter().map(|(_, _, part)| part))?;
    let code = campaign::summarise(&campaign, &plan, &source, &args.campaign, page, style)?;
    Ok(Merged { code, missing })
}

/// Each machine has its own summary.
pub fn merge_stress(store: &Store, args: &Stress, style: Style) -> Result<Merged, Failure> {
    let parts = parts(store).into_iter();
    let groups =
        machines::grouped(parts.map(|(id, machine, part)| (machine, (part.source.clone(), part.threads), (id, part))))?;
    let several = groups.len() > 1;
    let mut missing = None;
    let code = machines::each(groups, &args.campaign, |group, page| {
        let Group { machine, way: (source, threads), results } = group;
        let mut programs = args.programs.clone();
        programs.threads = programs.threads.or(threads);
        let model = args.model.as_deref().unwrap_or(membar::campaign::Hardware::model());
        let plan =
            campaign::plan(&programs, "default", &args.campaign, membar::Chosen::load(model)?, &Interrupt::default())?;
        let plan = Plan { tests: plan.tests.or(Some(membar::campaign::TESTS)), time: None, ..plan };
        let end = end(&plan, results.iter().map(|(id, part)| (id, part))).filter(|_| !several);
        missing.get_or_insert_with(|| Missing::up_to(store, end));
        let page = page.as_deref().map(ToFile::create).transpose()?;
        let mut campaign = merged(&plan, results.iter().map(|(_, part)| part.clone()))?;
        campaign.scattered |= several;
        campaign::summarise(&campaign, &plan, &source.on(&machine), &args.campaign, page, style)
    })?;
    Ok(Merged { code, missing: missing.unwrap_or_default() })
}
