//! Common parts of `membar simulate` and `membar stress`: the campaign that flags describe, and its end.

use crate::cli::{CampaignArgs, DataFormat, ProgramArgs};
use crate::page::ToFile;
use crate::progress::Line;
use crate::stop::{ALLOWED, FORBIDDEN, UNDECIDED};
use membar::campaign::{self, ChosenProfile, Plan, Source};
use membar::report::Style;
use membar::simulate::profile;
use membar::{Budget, Chosen, Failure, Interrupt, Listener, Now, VerdictKind};
use std::io::Write;

/// The line of progress, and violations as they are found unless quiet is wanted.
struct Told {
    line: Line,
    quiet: bool,
}

impl Listener for Told {
    fn progress(&self, now: &dyn Fn() -> Now) {
        self.line.progress(now);
    }

    fn busy(&self, now: &dyn Fn() -> Now) {
        self.line.busy(now);
    }

    fn rest(&self) {
        self.line.rest();
    }

    fn note(&self, line: &str) {
        if !self.quiet {
            self.line.note(line);
        }
    }
}

fn exit_code(verdict: VerdictKind) -> u8 {
    match verdict {
        VerdictKind::Forbidden => FORBIDDEN,
        VerdictKind::Undecided => UNDECIDED,
        VerdictKind::Allowed => ALLOWED,
    }
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
    let campaign = membar::campaign(plan, source, interrupt, &Told { line: Line::new(args.quiet), quiet: args.quiet })?;
    summarise(&campaign, plan, source, args, page, style)
}

/// Writes the summary of a campaign.
pub fn summarise(
    campaign: &campaign::Campaign,
    plan: &Plan,
    source: &dyn Source,
    args: &CampaignArgs,
    page: Option<ToFile>,
    style: Style,
) -> Result<u8, Failure> {
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
        Ok(()) | Err(Failure::Closed) => Ok(exit_code(campaign.verdict())),
        Err(failure) => Err(failure),
    }
}

/// The plan that flags describe.
pub fn plan(
    programs: &ProgramArgs,
    usual: &str,
    args: &CampaignArgs,
    model: Chosen,
    interrupt: &Interrupt,
) -> Result<Plan, Failure> {
    let (tests, time) = match (args.tests, args.time) {
        (None, None) => (Some(campaign::TESTS), Some(campaign::TIME)),
        (tests, time) => (tests, time.and_then(|time| time.0)),
    };
    let profiles = profiles(programs, usual)?;
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
        first: 0,
        tests,
        time,
        jobs: usize::from(args.jobs.unwrap_or(1)),
        keep_going: args.keep_going,
        max_violations: args.max_violations,
        output: args.output.clone(),
        state: args.resume.clone(),
        budget: Budget::new(args.check_time.0, args.memory.0, interrupt),
    })
}

/// The profiles that are meant, at least one.
pub fn profiles(args: &ProgramArgs, default: &str) -> Result<Vec<ChosenProfile>, Failure> {
    let usage = |error: membar::simulate::ProfileError| Failure::Usage(error.to_string());
    let default = [default.to_owned()];
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
