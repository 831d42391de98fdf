//! `membar simulate`: random programs on simulated machines, every result checked.

use super::campaign::{finish, plan};
use crate::cli::{BufferArgs, Simulate};
use crate::stop::{self, ALLOWED};
use membar::campaign::{Plan, Simulated};
use membar::report::{Style, count, wrapped};
use membar::simulate::{Setup, machines, profile};
use membar::{Chosen, Failure, Interrupt};
use std::fmt::Write as _;
use std::io::Write;

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
    let interrupt = stop::on_key();
    let (plan, simulated) = campaign(args, machine, &interrupt)?;
    finish(&plan, &simulated, &args.campaign, &interrupt, style)
}

/// The campaign that flags describe, and the machine.
pub fn campaign(args: &Simulate, machine: &str, interrupt: &Interrupt) -> Result<(Plan, Simulated), Failure> {
    let setup = setup(machine, &args.bugs, args.buffers)?;
    let model = Chosen::load(args.model.as_deref().unwrap_or(setup.machine().model()))?;
    let mut simulated = Simulated::new(setup);
    simulated.timestamps = args.timestamps.unwrap_or(simulated.timestamps);
    let plan = plan(&args.programs, setup.machine().profile(), &args.campaign, model, interrupt)?;
    Ok((plan, simulated))
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

fn list(style: Style) -> String {
    let mut text = String::new();
    // Sentences stay in their column, if there is room for one.
    let about = |text: &str, indent: usize| match style.prose().checked_sub(indent) {
        Some(room) if room > 20 => wrapped(text, room, &format!("\n{:indent$}", "")),
        _ => text.to_owned(),
    };
    let _ = writeln!(text, "{}", style.heading("Machines (--machine), each with its model and its bugs (--bug)"));
    for machine in machines::all() {
        let _ = writeln!(text, "  {:<20} {:<6} {}", machine.name(), machine.model(), about(machine.title(), 30));
        for bug in machine.bugs() {
            let _ = writeln!(text, "    {:<18} {:<6} {}", bug.name(), "", about(bug.about(), 30));
        }
    }
    let _ = writeln!(text, "\n{}", style.heading("Profiles (--profile)"));
    for profile in profile::builtins() {
        let size = format!("{}x{}, {} addresses", profile.threads, profile.operations, profile.addresses);
        let locks =
            if profile.locks > 0 { format!(", {}", count(profile.locks as usize, "lock")) } else { String::new() };
        let title = format!("{} ({size}{locks})", profile.title);
        let _ = writeln!(text, "  {:<20} {}", profile.name, about(&title, 23));
    }
    let _ = writeln!(text, "\n`membar models` lists the models (--model). Your own profile is a .toml file.");
    text
}
