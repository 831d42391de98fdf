//! `membar replay`: runs one schedule of a program again, step by step.

use super::programs::{check_flags, inputs};
use crate::cli::{DataFormat, Replay, VerifyModel};
use crate::page::ToFile;
use crate::stop;
use membar::Failure;
use membar::core::{Performed, ProgramModel};
use membar::explore::Schedule;
use membar::monitor::c11::Wanted;
use membar::monitor::{C11Monitor, ClassMonitor, Overtaken};
use membar::programs::{Input, Litmus, Native, Stand, Subject};
use membar::report::verify::{ReplayReport, ReplayStep};
use membar::report::{Style, safe};
use membar::verify::Event;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

/// How long to explore a program if its schedule cannot be run at first.
const LEARN: Duration = Duration::from_secs(10);

/// Runs the command.
pub fn run(args: &Replay, style: Style) -> Result<u8, Failure> {
    let (programs, schedule) = args.program_and_schedule();
    let (inputs, failures) = inputs(&programs);
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    check_flags(&inputs, &args.native.flags)?;
    let report = match &inputs[..] {
        [Input::Litmus(path)] => replay(&mut Litmus::open(path)?, &schedule, args)?,
        [Input::Text { name, text }] => replay(&mut Litmus::parse(name, text)?, &schedule, args)?,
        [native] => replay(&mut Native::open(native, &args.native.options(), 1, None)?, &schedule, args)?,
        _ => return Err(Failure::Usage("error: a schedule belongs to one program, but several were given".into())),
    };
    if let Some(path) = &args.html {
        let mut page = ToFile::create(path)?;
        page.add_schedule(&report);
        page.finish()?;
    }
    let mut out = BufWriter::new(io::stdout());
    match args.format {
        DataFormat::Text => report.text(style, &mut out)?,
        DataFormat::Json => report.json(&mut out)?,
    }
    out.flush()?;
    Ok(stop::ALLOWED)
}

fn replay<S: Subject>(subject: &mut S, text: &str, args: &Replay) -> Result<ReplayReport, Failure> {
    let schedule: Schedule = text.parse().map_err(|error| Failure::Usage(safe(&format!("error: {error}"))))?;
    let learn = args.learn.map(|time| time.0.unwrap_or(Duration::MAX));
    let interrupt = stop::on_key();
    subject.prepare(learn, &interrupt.0)?;
    let mut run = subject.trace(&schedule.0)?;
    if run.steps.len() < schedule.0.len() && learn.is_none() {
        // Perhaps it was found when more was known.
        subject.prepare(Some(LEARN), &interrupt.0)?;
        run = subject.trace(&schedule.0)?;
    }
    let threads = run.next.len();
    if let Some(&missing) = schedule.0.get(run.steps.len()) {
        let thread = missing.thread();
        let standing = |subject: &mut S| subject.standing(&run, thread);
        let why = match run.next.get(thread) {
            Some(Stand::Access(access)) if access.outcomes().is_some() => {
                format!("chooses a number below {}", access.outcomes().unwrap_or(0))
            }
            Some(Stand::Access(_)) if missing.outcome().is_some() => "makes no choice".into(),
            None => format!("does not exist: the program has threads 0 to {}", threads.saturating_sub(1)),
            Some(Stand::Done) if standing(subject).ends_with("has ended") => "has ended".into(),
            Some(Stand::Stuck(_)) => format!("cannot continue\n    {}", standing(subject)),
            Some(Stand::Access(_) | Stand::Done) => format!("cannot make a step: {}", standing(subject)),
        };
        let (step, text) = (run.steps.len() + 1, safe(text));
        return Err(Failure::Usage(format!("error: step {step} of `{text}`: thread {thread} {why}")));
    }
    let model = match args.model.map(VerifyModel::models) {
        None => None,
        Some(&[model]) => Some(model),
        Some(_) => {
            let message = "error: a schedule is replayed under one model\n = help: give tso, pso or c11";
            return Err(Failure::Usage(message.into()));
        }
    };
    let mut monitor = model.map(|model| monitor(model, threads));
    let events: Vec<Event> = run.steps.iter().enumerate().map(|(i, performed)| Event::new(i, performed)).collect();
    let mut steps = Vec::new();
    for (i, performed) in run.steps.iter().enumerate() {
        let overtakes = monitor.as_mut().and_then(|monitor| monitor(performed));
        steps.push(ReplayStep {
            access: subject.access(&run, &events[i]),
            overtakes: overtakes.map(|overtaken| overtaken.store + 1),
            launch: subject.is_launch(&run, performed.access.addr),
        });
    }
    Ok(ReplayReport {
        program: subject.name().into(),
        schedule: schedule.to_string(),
        model,
        steps,
        initial: membar::initial(subject, &run, &events),
        memory: subject.memory(&run),
        threads: (0..threads).map(|thread| subject.standing(&run, thread)).collect(),
        output: run.output.filter(|output| !output.is_empty()),
    })
}

/// Looks at each step for a store that it could overtake.
type Looks = Box<dyn FnMut(&Performed) -> Option<Overtaken>>;

fn monitor(model: ProgramModel, threads: usize) -> Looks {
    match model.machine() {
        Some(machine) => {
            let mut monitor = ClassMonitor::forward(machine, threads);
            Box::new(move |performed| monitor.push(performed).ok().flatten())
        }
        None => {
            let mut monitor = C11Monitor::new(Wanted { robustness: true, races: false }, threads, false);
            Box::new(move |performed| monitor.push(performed, |_| {}).ok().flatten())
        }
    }
}
