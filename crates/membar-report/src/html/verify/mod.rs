//! From a program to the cases of a page: one for each violation, or one that says what there is to say; one for a schedule.

mod replay;
mod run;
mod timeline;

pub use replay::replayed;

use super::page::{
    ArgumentStep, Case, Command, Copy, Fact, Fix, Fixes, ImpossibleRead, Lemma, Machine, ModelVerdict, Models, Node,
    Row, Source, Stopped, Value, WrongStep,
};
use super::short_name;
use crate::kinds::{ErrorKind, ShownVerdict, StepKind};
use crate::style::{capital, count, list};
use crate::verify::{
    AccessRef, ErrorRef, FailureRef, FenceRef, StepRef, VerifyReport, ViolationRef, WeakStepRef, diff, edits, remarks,
};
use membar_core::{AccessKind, ProgramModel, ProgramVerdict, Relation, VerdictKind};
use run::{Run, arrows, called, graph, kind_of, machine, pairs, sources, texts};
use std::collections::{BTreeMap, BTreeSet};
use timeline::Miss;

/// Models that allow everything that tso allows, then those of pso.
const WEAKER_THAN_TSO: [&str; 8] = ["pso", "wc", "rc", "rcpc", "ec", "scope", "wmo", "rmo"];
const WEAKER_THAN_PSO: [&str; 2] = ["wmo", "rmo"];

/// The page's access to the world: reads the text of a source.
pub type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The cases of a report, each with its row.
pub fn cases(report: &VerifyReport, command: &str, read: Read<'_>) -> Vec<(Row, Case)> {
    let row = |name: String, verdict, about: String| {
        let subject = report.program.clone();
        Row { name, subject, words: None, model: report.model.name().into(), verdict, about, case: None }
    };
    let program = || report.program.clone();
    let mut all = Vec::new();
    for (i, violation) in report.violations.iter().enumerate() {
        let alone = report.failures.is_empty() && report.verdict != ProgramVerdict::Safe;
        let name = match report.violations.len() {
            1 if alone => program(),
            1 => format!("{}, violation", report.program),
            n => format!("{}, violation {} of {n}", report.program, i + 1),
        };
        let case = violated(report, violation, name.clone(), command, read);
        let about = match &violation.allowed[..] {
            [] if report.is_harmless() => format!("does no harm: {}", violation.sentence()),
            [] => violation.sentence(),
            _ => format!("is allowed: {}", violation.sentence()),
        };
        all.push((row(name, case.verdict, about), case));
    }
    // What goes wrong comes before why it may, and an answer before what it is not about.
    for (i, failure) in report.failures.iter().enumerate() {
        let name = match report.failures.len() {
            1 => program(),
            n => format!("{}, failure {} of {n}", report.program, i + 1),
        };
        let case = failing(report, failure, name.clone(), command, read);
        all.insert(i, (row(name, ShownVerdict::Fails, failure.error.headline().to_owned()), case));
    }
    if report.verdict == ProgramVerdict::Safe && !all.is_empty() {
        all.insert(0, (row(program(), ShownVerdict::Safe, report.headline()), plain(report, command)));
    }
    for error in &report.errors {
        all.push((
            row(program(), ShownVerdict::Error, error.headline().to_owned()),
            failed(report, error, command, read),
        ));
    }
    if all.is_empty() {
        all.push((row(program(), report.verdict.into(), report.explored()), plain(report, command)));
    }
    all
}

fn facts(report: &VerifyReport) -> Vec<Fact> {
    let mut facts = vec![Fact { name: "Explored", value: report.explored() }];
    if let Some(asks) = report.asks() {
        facts.push(Fact { name: "Asks", value: asks });
    }
    if let Some(compiler) = &report.compiler {
        facts.push(Fact { name: "Compiler", value: compiler.clone() });
    }
    facts
}

fn base(report: &VerifyReport, name: String, command: &str) -> Case {
    let notes = report.notes.iter().flat_map(|note| note.text()).collect();
    Case {
        name,
        model: report.model.name().into(),
        verdict: report.verdict.into(),
        facts: facts(report),
        commands: vec![Command { about: "This answer".into(), line: command.to_owned() }],
        notes,
        ..Case::default()
    }
}

/// A program without violation.
fn plain(report: &VerifyReport, command: &str) -> Case {
    let program = short_name(&report.program);
    let mut case = base(report, report.program.clone(), command);
    if report.verdict == ProgramVerdict::Safe && !report.violations.is_empty() {
        let allowed = report.allowed_words();
        case.headline =
            vec![format!("{program} is safe under {}.", report.model), format!("{}.", capital(&report.headline()))];
        if !allowed.is_empty() {
            case.headline.push(format!("Violations are allowed by {allowed}."));
        }
        return case;
    }
    if report.verdict == ProgramVerdict::Safe {
        case.headline = vec![
            format!("{program} is safe under {}.", report.model),
            format!(
                "Every execution under {} is sequentially consistent: {} change nothing that the program can see.",
                report.model,
                match report.model {
                    ProgramModel::C11 => "compilers and weaker machines",
                    _ => "store buffers",
                }
            ),
        ];
        return case;
    }
    case.headline = vec![
        format!("It is not known whether {program} is safe under {}.", report.model),
        "No violation was found, but not everything was explored.".into(),
    ];
    let mut next: Vec<String> = report.size.iter().map(|race| format!("What makes it large: {race}.")).collect();
    next.extend(report.advice.iter().cloned());
    next.push("Smaller programs say more: fewer threads, fewer operations of each (for C, -DN=1 and the like).".into());
    case.stop = Some(Stopped {
        why: report.incomplete.clone().map(|why| format!("{}.", capital(&why))).unwrap_or_default(),
        done: report.interleavings,
        of: 0,
        words: format!(
            "Explored without a violation: {}, {} in all.",
            report.explored(),
            count(report.events as usize, "access")
        ),
        next,
        follows: None,
    });
    case
}

/// An error of the program itself.
fn failed(report: &VerifyReport, error: &ErrorRef, command: &str, read: Read<'_>) -> Case {
    let mut case = base(report, report.program.clone(), command);
    case.verdict = ShownVerdict::Error;
    case.headline = vec![format!("{} has a {}.", short_name(&report.program), error.kind)];
    case.headline.extend(error.message.lines().map(str::to_owned));
    case.headline.push(match error.kind {
        ErrorKind::Race => "A C or C++ program with a data race has no meaning: anything may happen.".into(),
        _ => "It happens under sequential consistency already: no store buffer is needed for it.".to_owned(),
    });
    case.facts.push(Fact { name: "Seen in", value: count(error.executions as usize, "execution") });
    case.fixes = Fixes {
        title: "Where it happened".into(),
        list: error
            .stack
            .iter()
            .chain(&error.other)
            .map(|frame| Fix { words: frame.text(), code: None, nodes: Vec::new() })
            .collect(),
        ..Fixes::default()
    };
    case.sources = called(&[&error.stack[..], &error.other].concat(), read);
    if let Some(plan) = report.plan.as_ref().filter(|_| error.kind == ErrorKind::Race) {
        let stacks: Vec<String> = case.fixes.list.iter().map(|frame| frame.words.clone()).collect();
        let about = "where the two accesses are made, the later one first".into();
        case.copies.push(Copy { name: "Stacks", about, text: stacks.join("\n") });
        case.fixes = planned(plan, &|_| Vec::new(), read);
    }
    case.copies.extend(printed(error.output.as_ref()));
    case.commands
        .push(Command { about: "The execution, step by step".into(), line: report.command.line(&error.schedule, "") });
    case
}

/// The program's output, as a text of the page.
pub(super) fn printed(output: Option<&String>) -> Option<Copy> {
    let about = "what the program had printed by then, standard output and standard error".into();
    output.map(|text| Copy { name: "Output", about, text: text.clone() })
}

fn violated(report: &VerifyReport, violation: &ViolationRef, name: String, command: &str, read: Read<'_>) -> Case {
    let mut case = base(report, name, command);
    case.program = true;
    let (model, is_c11) = (report.model.name(), report.model == ProgramModel::C11);
    let program = short_name(&report.program);
    let (verdict, first) = match report.verdict {
        _ if !violation.allowed.is_empty() => {
            (ShownVerdict::Allowed, format!("{program} is not SC under {model}, which is allowed here."))
        }
        ProgramVerdict::Safe => (ShownVerdict::Safe, format!("{program} is not SC under {model}, and nothing fails.")),
        ProgramVerdict::Undecided => (
            ShownVerdict::Undecided,
            format!("{program} is not SC under {model}; whether anything fails is not known."),
        ),
        _ => (ShownVerdict::Unsafe, format!("{program} is not safe under {model}.")),
    };
    case.verdict = verdict;
    case.headline = vec![first, format!("{}.", violation.sentence())];
    case.headline.push(format!(
        "The execution below is possible under {model}, and no interleaving of the threads explains what it reads."
    ));
    if is_c11 {
        let remarks = remarks(violation.cycle.iter().map(|link| &link.access));
        case.headline.extend(remarks.iter().map(|remark| format!("{}.", capital(remark))));
    }
    case.facts.push(Fact { name: "Seen in", value: report.seen_in(violation) });
    case.facts.push(Fact {
        name: "Certificate",
        value: match is_c11 {
            false => "run again on an independent machine with store buffers: not sequentially consistent".into(),
            true => "checked by separate code against the axioms of RC11: consistent, and not sequentially consistent"
                .into(),
        },
    });
    case.models = (!is_c11).then(|| models(report.model));
    let run = Run::new(&violation.run, &violation.initial);
    let in_cycle: BTreeSet<usize> = violation.cycle.iter().map(|link| link.event).collect();
    let overtaking = violation.run.iter().find(|step| step.overtakes).map(|step| step.event);
    let delayed = violation.run.iter().find(|step| step.delayed).map(|step| step.event);
    let reduced = run.closed(in_cycle.iter().copied().chain(overtaking).chain(delayed));
    let shown = run.shown(&reduced, false, &mut case.notes);
    let index = &shown.index;
    case.sources = sources(&run, &shown.drawn, &violation.fences, read);
    case.graph = graph(&run, &shown, &reduced, &case.sources);
    case.graph.arrows = arrows(&run, &violation.cycle, &violation.hb, index);
    if let Some(node) = overtaking.and_then(|event| index.get(&event)) {
        case.graph.nodes[*node].wrong = Some(if is_c11 { "out of date" } else { "overtakes" });
    }
    case.shape = violation.shape.clone();
    case.lemmas = vec![lemma(violation, model, index)];
    case.read = overtaken(violation, &run, index, overtaking, delayed);
    let what = "This is the execution that is not sequentially consistent.";
    let mut machine = machine(&violation.run, &run, (model, what), &shown);
    machine.wrong = overtaking.and_then(|event| wrong(violation, &machine, *index.get(&event)?));
    let late = is_c11.then(|| timeline::views(&mut machine, &violation.run, &run, &violation.hb, &shown));
    let misses: Vec<Miss> = timeline::missed(violation, &shown).into_iter().collect();
    let end = overtaking
        .and_then(|event| index.get(&event))
        .map(|&node| (case.graph.nodes[node].thread, "no interleaving explains this".to_owned()));
    case.timeline = timeline::timeline(&machine, &case.graph.nodes, &misses, late.as_ref(), end);
    case.machine = Some(machine);
    case.fixes = fixes(report, violation, &case.graph.nodes, &case.sources, read);
    case.commands.push(Command {
        about: "The interleaving that leads there, step by step".into(),
        line: report.command.line(&violation.schedule, &format!(" --model {model}")),
    });
    texts(&mut case, &run, &shown.told, &reduced);
    case
}

/// An error of the program in an execution of the model: the execution to its end, then the violation that it rests on.
fn failing(report: &VerifyReport, failure: &FailureRef, name: String, command: &str, read: Read<'_>) -> Case {
    let (model, error) = (failure.model.name(), &failure.error);
    let cause = failure.violation.and_then(|at| report.violations.get(at));
    let mut case = match cause {
        Some(violation) => violated(report, violation, name, command, read),
        None => base(report, name, command),
    };
    (case.verdict, case.program) = (ShownVerdict::Fails, true);
    let program = short_name(&report.program);
    let headline = error.headline();
    case.headline = vec![format!("{program} fails under {model}."), format!("{headline}.")];
    case.headline.extend(error.message.lines().skip(1).map(str::to_owned));
    case.headline.extend(cause.map(|violation| format!("Why: {}.", failure.because(violation))));
    case.facts.retain(|fact| fact.name != "Certificate");
    case.facts.push(Fact { name: "Certificate", value: "run again by separate code, up to the error".into() });
    let steps = run::steps_of(failure);
    let mut run = Run::new(&steps, &failure.initial);
    for (event, step) in failure.steps.iter().enumerate() {
        // The result knows better than the order of steps.
        if let Some(known) = run.events.get_mut(&event).filter(|_| failure.model == ProgramModel::C11) {
            known.source = step.reads_from;
        }
    }
    let reads = |step: &WeakStepRef| step.misses.is_some();
    let kept: BTreeSet<usize> = (0..failure.steps.len()).filter(|&i| reads(&failure.steps[i])).collect();
    let mut shown = run.shown(&kept, false, &mut case.notes);
    let sources = sources(&run, &shown.drawn, &[], read);
    let own = run::graph(&run, &shown, &kept, &sources);
    if cause.is_none() {
        (case.graph, case.sources) = (own, sources);
    } else {
        run::join(&mut case, own, sources, &mut shown);
    }
    let place = |thread: u32| {
        let name = failure.steps.iter().find(|step| step.access.thread == thread).map(|step| &step.access.thread_name);
        case.graph.threads.iter().position(|known| Some(known) == name).unwrap_or(0) as u32
    };
    let mut machine = machine(&steps, &run, (model, "This is the execution that fails."), &shown);
    let late =
        (failure.model == ProgramModel::C11).then(|| timeline::views(&mut machine, &steps, &run, &failure.hb, &shown));
    let node = |event: usize| shown.index.get(&event).copied();
    let misses: Vec<Miss> = (failure.steps.iter().enumerate())
        .filter_map(|(i, step)| Some(Miss { node: node(i)?, store: node(step.misses?)?, verb: "misses" }))
        .collect();
    machine.wrong = misses.first().and_then(|&Miss { node: reader, store, .. }| {
        let step = machine.steps.iter().position(|at| at.node == reader && at.step == StepKind::Issue)?;
        let (read, store) = (&case.graph.nodes[reader], &case.graph.nodes[store]);
        let name = |node: &Node| case.graph.threads.get(node.thread as usize).cloned().unwrap_or_default();
        let value = read.read.clone().unwrap_or_default();
        let (reader, writer) = (name(read), name(store));
        let late = if late.is_some() { "nothing has made that visible to it" } else { "that is still in a buffer" };
        let words = format!(
            "{reader} reads {value} from `{}` and misses {writer}'s `{} := {}`: {late}.",
            read.address,
            store.address,
            store.write.clone().unwrap_or_default()
        );
        Some(WrongStep { step, words })
    });
    machine.fails = Some(headline.to_owned());
    let last = failure.steps.last().map_or(0, |step| place(step.access.thread));
    case.timeline =
        timeline::timeline(&machine, &case.graph.nodes, &misses, late.as_ref(), Some((last, headline.to_owned())));
    case.machine = Some(machine);
    for frame in error.stack.iter().filter(|frame| frame.line > 0) {
        if let Some(source) = case.sources.iter_mut().find(|source| source.file == frame.file) {
            source.marked.push(frame.line);
        }
    }
    case.copies.extend(printed(error.output.as_ref()));
    case.commands.insert(
        1.min(case.commands.len()),
        Command { about: "The execution that fails, step by step".into(), line: report.replay(failure) },
    );
    case
}

/// The verdicts known by definition: the machine of the model did it, and no interleaving explains it.
fn models(model: ProgramModel) -> Models {
    let weaker: &[&str] = match model {
        ProgramModel::Tso => &WEAKER_THAN_TSO,
        ProgramModel::Pso => &WEAKER_THAN_PSO,
        ProgramModel::C11 => &[],
    };
    let answer = |name: &str, verdict| ModelVerdict { name: name.into(), title: String::new(), verdict };
    let mut all = vec![answer("sc", VerdictKind::Forbidden), answer(model.name(), VerdictKind::Allowed)];
    all.extend(weaker.iter().map(|name| answer(name, VerdictKind::Allowed)));
    let weaker: Vec<String> = weaker.iter().map(|name| (*name).to_owned()).collect();
    let words = match model {
        ProgramModel::Tso => "sc forbids this execution, tso allows it, and so does everything weaker.".to_owned(),
        ProgramModel::Pso => format!(
            "sc forbids this execution, {model} allows it, and so do {}. For tso: membar verify --model tso.",
            list(&weaker, "and")
        ),
        ProgramModel::C11 => String::new(),
    };
    Models { strongest: vec![model.name().into()], weakest: vec!["rmo".into()], forbid: vec!["sc".into()], words, all }
}

fn lemma(violation: &ViolationRef, model: &str, index: &BTreeMap<usize, usize>) -> Lemma {
    let observed = |access: &AccessRef| {
        let effect = access.effect(true);
        format!("{} – {}", access.short(), if effect.is_empty() { access.address.clone() } else { effect })
    };
    let steps: Vec<ArgumentStep> = pairs(&violation.cycle)
        .enumerate()
        .map(|(i, (link, next))| {
            let says = match (link.relation, link.kept) {
                (Relation::Po, Some(true)) => "Program order, which the model keeps here. Sequential consistency keeps all of it.",
                (Relation::Po, None) => {
                    "Program order. Sequential consistency keeps it; under C11 others need not see it, unless memory orders say so."
                }
                (Relation::Po, _) => {
                    "Program order. Sequential consistency keeps it; the model does not: the store may wait in a buffer while its \
                     thread goes on."
                }
                (Relation::Rf, _) if link.ordered == Some(false) => {
                    "A read comes after the write whose value it returned. It does not acquire what a release would pass on, so what \
                     came before the write need not be visible after the read."
                }
                (Relation::Rf, _) => "A read comes after the write whose value it returned.",
                (Relation::Co, _) => "Writes to one address reach memory one after the other.",
                _ => "A read comes before the next write of its address: it did not see it.",
            };
            ArgumentStep {
                number: Some(i as u32 + 1),
                from: index.get(&link.event).map_or(super::INITIAL, |&node| node as i64),
                to: index.get(&next.event).map_or(super::INITIAL, |&node| node as i64),
                from_text: link.access.short(),
                to_text: next.access.short(),
                kind: kind_of(link),
                rule: link.relation.name(),
                says,
                axiom: "",
                why: format!("{} {}.", link.access.place(), link.words(&next.access, model)),
                premises: Vec::new(),
                lemma: None,
                nodes: [link.event, next.event].iter().filter_map(|event| index.get(event).copied()).collect(),
                observed: vec![observed(&link.access), observed(&next.access)],
            }
        })
        .collect();
    let cycle = (0..steps.len() as u32).collect();
    Lemma { assume: Vec::new(), steps, cycle }
}

/// The read that only the model allows: the value it returned, and the one in an interleaving.
fn overtaken(
    violation: &ViolationRef,
    run: &Run<'_>,
    index: &BTreeMap<usize, usize>,
    overtaking: Option<usize>,
    delayed: Option<usize>,
) -> Option<ImpossibleRead> {
    let (access, store) = (&violation.access, &violation.store);
    let (Some(returned), Some(written), AccessKind::Load) = (&access.read, &store.write, access.kind) else {
        return None;
    };
    let event = overtaking?;
    let node = *index.get(&event)?;
    let source = run.events.get(&event)?.source;
    let from = source.map_or_else(|| "the initial value".into(), |source| run.events[&source].access.short());
    let values = vec![
        Value {
            value: returned.clone(),
            from,
            node: source.and_then(|source| index.get(&source).copied()),
            what: "returned",
        },
        Value {
            value: written.clone(),
            from: store.short(),
            node: delayed.and_then(|event| index.get(&event).copied()),
            what: "possible",
        },
    ];
    Some(ImpossibleRead {
        node,
        words: format!("{} read {returned} from {}.", access.short(), access.address),
        because: "that write happens before what precedes this read in its own thread, so in an interleaving the read comes later \
                  and sees it."
            .into(),
        values,
        complete: true,
        omitted: 0,
    })
}

/// The step at which the access takes effect too early: a store when it reaches memory, anything else when it is made.
fn wrong(violation: &ViolationRef, machine: &Machine, node: usize) -> Option<WrongStep> {
    let access = &violation.access;
    let has_buffers = machine.buffers != "views";
    let step = if access.kind == AccessKind::Store && has_buffers { StepKind::Commit } else { StepKind::Issue };
    let step = machine.steps.iter().position(|at| at.node == node && at.step == step)?;
    let thread = &access.thread_name;
    let did = match (access.kind, &access.read) {
        (AccessKind::Store, _) if !has_buffers => {
            format!("{thread}'s `{}` is overwritten by what was written before it", access.effect(true))
        }
        (AccessKind::Store, _) => format!("{thread}'s `{}` reaches memory", access.effect(true)),
        (_, Some(read)) => format!("{thread} reads {read} from `{}`", access.address),
        _ => format!("{thread} accesses `{}`", access.address),
    };
    // An interlocked operation is never in a buffer: something before it is.
    let relaxed = violation.cycle.iter().rev().find(|link| link.kept == Some(false));
    let late = match relaxed {
        Some(link) if violation.store.kind == AccessKind::Rmw => &link.access,
        _ => &violation.store,
    };
    if !has_buffers {
        let words = match access.kind {
            AccessKind::Store => format!("{did}."),
            _ => format!("{did}: it has not seen {}'s `{}`, and need not have.", late.thread_name, late.effect(true)),
        };
        return Some(WrongStep { step, words });
    }
    let whose = if late.thread == access.thread { "its own".to_owned() } else { format!("{}'s", late.thread_name) };
    Some(WrongStep { step, words: format!("{did}: {whose} `{}` is still in its buffer.", late.effect(true)) })
}

fn fixes(report: &VerifyReport, violation: &ViolationRef, nodes: &[Node], sources: &[Source], read: Read<'_>) -> Fixes {
    let near = |fence: &FenceRef| {
        let file = sources.iter().position(|source| source.file == fence.file);
        let at = |line: u32| nodes.iter().position(|node| file.is_some_and(|file| node.place == Some((file, line))));
        let near: BTreeSet<usize> = [fence.after_line, fence.before_line].iter().filter_map(|&line| at(line)).collect();
        near.into_iter().collect::<Vec<_>>()
    };
    if let Some(plan) = &report.plan {
        return planned(plan, &near, read);
    }
    let need = |fence: &FenceRef| Fix { words: capital(&fence.order), code: None, nodes: near(fence) };
    let about = match &report.unfixed {
        Some(why) => format!("This makes the cycle above impossible; no edit is suggested: {why}."),
        None => "This makes the cycle above impossible; other violations may need more.".to_owned(),
    };
    let list = distinct(violation.fences.iter().map(need));
    Fixes { title: "What would fix it".into(), about, list, diff: None, beside: true }
}

/// Edits with which the program is safe.
fn planned(plan: &[FenceRef], near: &dyn Fn(&FenceRef) -> Vec<usize>, read: Read<'_>) -> Fixes {
    let fix = |fence: &FenceRef| Fix {
        words: capital(&format!("{} {}", fence.part(), fence.place())),
        code: Some(fence.fence.clone()),
        nodes: near(fence),
    };
    let about = match plan.len() {
        1 => "With this edit the program was verified again and is safe.",
        _ => "With these edits the program was verified again and is safe; without any one of them it is not.",
    };
    let (list, diff) = (distinct(plan.iter().map(fix)), diff(&edits(plan), read));
    Fixes { title: "What would fix it".into(), about: about.into(), list, diff, beside: true }
}

fn distinct(fixes: impl Iterator<Item = Fix>) -> Vec<Fix> {
    let mut list: Vec<Fix> = Vec::new();
    for fix in fixes {
        if !list.iter().any(|known| known.words == fix.words && known.code == fix.code) {
            list.push(fix);
        }
    }
    list
}

/// Draws a run that is given step by step, with its sources and its machine. Returns the nodes of the events.
pub(super) fn told(
    case: &mut Case,
    (steps, initial): (&[StepRef], &[(String, String)]),
    machine_of: (&str, &str),
    read: Read<'_>,
) -> BTreeMap<usize, usize> {
    let run = Run::new(steps, initial);
    let shown = run.shown(&BTreeSet::new(), true, &mut case.notes);
    case.sources = sources(&run, &shown.drawn, &[], read);
    case.graph = graph(&run, &shown, &shown.drawn, &case.sources);
    case.graph.arrows = arrows(&run, &[], &[], &shown.index);
    case.machine = Some(machine(steps, &run, machine_of, &shown));
    shown.index
}
