//! `membar replay`: runs one schedule of a program again, step by step.

use super::litmus::read;
use super::output::shown_name;
use super::verify::{Names, relaxation};
use crate::cli::{Replay, VerifyFormat};
use crate::stop::{self, Failure};
use membar::explore::{Next, Program, Schedule};
use membar::litmus::{Interpreter, LitmusTest};
use membar::monitor::ClassMonitor;
use membar::report::verify::{ReplayReport, ReplayStep};
use membar::report::{Style, safe};
use membar::verify::Event;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

/// Runs the command.
pub fn run(args: &Replay, style: Style) -> Result<u8, Failure> {
    let name = shown_name(&args.program);
    let test = read(&args.program).and_then(|bytes| LitmusTest::parse(&name, &bytes));
    let test = test.map_err(|error| Failure::Usage(error.render()))?;
    let schedule: Schedule = args.schedule.parse().map_err(|error| Failure::Usage(safe(&format!("error: {error}"))))?;
    let names = Names { file: &name, test: &test };
    let mut program = Interpreter::new(Arc::new(test.code.clone()));
    let threads = program.threads();
    let mut monitor = args.model.map(|model| ClassMonitor::new(relaxation(model), threads));
    let mut steps = Vec::new();
    for (i, &thread) in schedule.0.iter().enumerate() {
        let refused = |why: &str| {
            let text = safe(&args.schedule);
            Failure::Usage(format!("error: step {} of `{text}`: thread {thread} {why}", i + 1))
        };
        let thread = usize::from(thread);
        if thread >= threads {
            return Err(refused(&format!(
                "does not exist: the program has threads 0 to {}",
                threads.saturating_sub(1)
            )));
        }
        match program.next(thread) {
            Next::Access(_) => {}
            Next::Done => return Err(refused("has ended")),
            Next::Fault => return Err(refused(&format!("cannot go on: {}", program.fault(thread)))),
            Next::Long => return Err(refused("runs on without an access for too long")),
        }
        let performed = program.step(thread);
        let overtakes = monitor.as_mut().and_then(|monitor| monitor.push(&performed).ok().flatten());
        steps.push(ReplayStep {
            access: names.access(&Event::new(i, &performed)),
            overtakes: overtakes.map(|overtaken| overtaken.store + 1),
        });
    }
    let cells = test.code.cells.iter().zip(program.memory()).enumerate();
    let memory = cells.map(|(i, (cell, &value))| (cell.name.clone(), names.value(i as u32, value))).collect();
    let left = (0..threads)
        .map(|thread| match program.next(thread) {
            Next::Access(access) => {
                let site = &test.code.sites[access.site as usize];
                let waits = if program.waiting(thread).round.is_empty() { "" } else { ", waiting" };
                format!("P{thread} is at line {} `{}`{waits}", site.line, site.text)
            }
            Next::Done => format!("P{thread} has ended"),
            Next::Fault => format!("P{thread} cannot go on: {}", program.fault(thread)),
            Next::Long => format!("P{thread} runs on without an access for too long"),
        })
        .collect();
    let report = ReplayReport {
        program: name.clone(),
        schedule: schedule.to_string(),
        model: args.model.map(|model| relaxation(model).name()),
        steps,
        memory,
        threads: left,
    };
    let mut out = BufWriter::new(io::stdout());
    match args.format {
        VerifyFormat::Text => report.text(style, &mut out)?,
        VerifyFormat::Json => report.json(&mut out)?,
    }
    out.flush()?;
    Ok(stop::ALLOWED)
}
