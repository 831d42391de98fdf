//! `membar replay`: runs one schedule of a program again, step by step.

use super::programs::{check_flags, inputs};
use crate::cli::{DataFormat, Replay, VerifyModel};
use crate::page::ToFile;
use crate::stop;
use membar::Failure;
use membar::certify::weak::Ending;
use membar::core::{Performed, ProgramModel, WeakStep};
use membar::explore::{Strategy, WeakSchedule};
use membar::monitor::c11::Wanted;
use membar::monitor::{C11Monitor, ClassMonitor, Overtaken};
use membar::programs::{Input, Litmus, Native, Run, Stand, Subject};
use membar::report::kinds::StepKind;
use membar::report::verify::{ReplayReport, ReplayStep, StepRef};
use membar::report::{Style, safe};
use membar::verify::{Event, RunStep, Settings, Watching, weak_run};
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
    let schedule: WeakSchedule = text.parse().map_err(|error| Failure::Usage(safe(&format!("error: {error}"))))?;
    let model = match args.model.map(VerifyModel::models) {
        None => None,
        Some(&[model]) => Some(model),
        Some(_) => {
            let message = "error: a schedule is replayed under one model\n = help: give tso, pso or c11";
            return Err(Failure::Usage(message.into()));
        }
    };
    let sequential = schedule.sequential();
    if sequential.is_none() && model.is_none() {
        let message = "error: steps with `~` are those of a model\n = help: give `--model tso`, `pso` or `c11`";
        return Err(Failure::Usage(message.into()));
    }
    let trace = |subject: &mut S| match &sequential {
        Some(schedule) => subject.trace(&schedule.0),
        None => subject.weak_trace(&schedule.0),
    };
    let learn = args.learn.map(|time| time.0.unwrap_or(Duration::MAX));
    let interrupt = stop::on_key();
    // What there is to know in executions that are not sequentially consistent may show only in these.
    let of = model.unwrap_or(ProgramModel::Tso);
    let strategy = match &sequential {
        Some(_) => Strategy::Dpor,
        None => Strategy::Graphs { model: of.into(), races: of == ProgramModel::C11, bytes: false },
    };
    let settings = Settings { strategy, watching: Watching::Nothing, ..Settings::new(of) };
    subject.prepare(settings, learn, &interrupt.0)?;
    let mut run = trace(subject)?;
    if run.steps.len() < schedule.0.len() && learn.is_none() {
        // Perhaps it was found when more was known.
        subject.prepare(settings, Some(LEARN), &interrupt.0)?;
        run = trace(subject)?;
    }
    let threads = run.next.len();
    if let Some(&missing) = schedule.0.get(run.steps.len()) {
        let thread = missing.thread as usize;
        let standing = |subject: &mut S| subject.standing(&run, thread);
        let why = match run.next.get(thread) {
            Some(Stand::Access(access)) if access.outcomes().is_some() => {
                format!("chooses a number below {}", access.outcomes().unwrap_or(0))
            }
            Some(Stand::Access(_)) if missing.choice.is_some() => "makes no choice".into(),
            Some(Stand::Access(access)) if missing.behind > 0 => {
                let writes = |step: &&Performed| step.writes && step.access.addr == access.addr;
                let writes = run.steps.iter().filter(writes).count();
                let all = if writes == 1 { "1 write has".into() } else { format!("{writes} writes have") };
                format!("cannot be {} behind: {all} been made to its address", missing.behind)
            }
            None => format!("does not exist: the program has threads 0 to {}", threads.saturating_sub(1)),
            Some(Stand::Done) if standing(subject).ends_with("has ended") => "has ended".into(),
            Some(Stand::Stuck(_)) => format!("cannot continue\n    {}", standing(subject)),
            Some(Stand::Access(_) | Stand::Done) => format!("cannot make a step: {}", standing(subject)),
        };
        let (step, text) = (run.steps.len() + 1, safe(text));
        return Err(Failure::Usage(format!("error: step {step} of `{text}`: thread {thread} {why}")));
    }
    let events: Vec<Event> = run.steps.iter().enumerate().map(|(i, performed)| Event::new(i, performed)).collect();
    let report = ReplayReport {
        program: subject.name().into(),
        schedule: schedule.to_string(),
        model,
        steps: Vec::new(),
        sequential: None,
        run: Vec::new(),
        initial: membar::initial(subject, &run, &events),
        memory: subject.memory(&run),
        threads: (0..threads).map(|thread| subject.standing(&run, thread)).collect(),
        output: run.output.clone().filter(|output| !output.is_empty()),
    };
    if let (None, Some(model)) = (&sequential, model) {
        return weak(subject, (&schedule.0, model), &run, &events, report);
    }
    let mut monitor = model.map(|model| monitor(model, threads));
    let mut steps = Vec::new();
    for (i, performed) in run.steps.iter().enumerate() {
        let overtakes = monitor.as_mut().and_then(|monitor| monitor(performed));
        steps.push(ReplayStep {
            access: subject.access(&run, &events[i]),
            overtakes: overtakes.map(|overtaken| overtaken.store + 1),
            launch: subject.is_launch(&run, performed.access.addr),
        });
    }
    Ok(ReplayReport { steps, ..report })
}

/// The report of steps that are behind others: as the model's machine makes them, or with the writes that they miss.
fn weak<S: Subject>(
    subject: &mut S,
    (schedule, model): (&[WeakStep], ProgramModel),
    run: &Run<S::Detail>,
    events: &[Event],
    report: ReplayReport,
) -> Result<ReplayReport, Failure> {
    if let Some(failure) = subject.refuses(model) {
        return Err(failure);
    }
    let refused = |why: String| {
        let schedule = safe(&report.schedule);
        Failure::Usage(format!("error: `{schedule}` is not an execution under {model}\n    {why}"))
    };
    let confirmed = subject.confirms_weak(model.into(), schedule, &run.steps, Ending::Open);
    let confirmed = confirmed.map_err(|refusal| refused(refusal.to_string()))?;
    let weak = weak_run(model.into(), schedule, &run.steps).ok_or_else(|| refused("it has no run".into()))?;
    // Accesses are numbered in the order in which they are made.
    let made = weak.run.iter().filter_map(|step| if let RunStep::Issue(i) = *step { Some(i) } else { None });
    let made: Vec<usize> = made.collect();
    let mut number = vec![0; made.len()];
    made.iter().enumerate().for_each(|(at, &i)| number[i] = at);
    let accesses: Vec<_> = events.iter().map(|event| subject.access(run, event)).collect();
    let step = |step: &RunStep| {
        let (step, i) = match *step {
            RunStep::Issue(i) => (StepKind::Issue, i),
            RunStep::Commit(i) => (StepKind::Commit, i),
        };
        let delayed = weak.delays.iter().any(|delay| delay.store == i);
        let misses = weak.misses[i].map(|missed| number[missed]);
        let overtakes = misses.is_some() && step == StepKind::Issue;
        StepRef { step, access: accesses[i].clone(), delayed, overtakes, misses, event: number[i] }
    };
    Ok(ReplayReport {
        steps: made
            .iter()
            .map(|&i| ReplayStep {
                access: accesses[i].clone(),
                overtakes: None,
                launch: subject.is_launch(run, run.steps[i].access.addr),
            })
            .collect(),
        sequential: Some(confirmed.cycle.is_none()),
        run: weak.run.iter().map(step).collect(),
        ..report
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
