//! `membar stress`: random programs, or litmus tests, on this machine's cores; every result checked.

pub mod tests;

use super::campaign::{finish, plan};
use crate::cli::{HardwareTimes, Stress};
use crate::stop;
use membar::campaign::{Hardware, Plan};
use membar::report::Style;
use membar::stress::{Cores, Engine, Settings, Timestamps};
use membar::{Chosen, Failure, Interrupt};
use std::io::Write;

/// Runs the command.
pub fn run(args: &Stress, style: Style) -> Result<u8, Failure> {
    let interrupt = stop::on_key();
    if !args.files.is_empty() {
        return tests::run(args, &interrupt);
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
