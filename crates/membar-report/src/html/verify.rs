//! From a verified program to the cases of a page: one for each violation, or one that says what there is to say.

use super::copies;
use super::page::{
    Arrow, Case, Command, Copy, Fact, Fix, Fixes, Graph, ImpossibleRead, Lemma, Machine, MachineStep, ModelVerdict,
    Models, Node, Row, Source, Step, Stopped, Value,
};
use crate::style::{count, list};
use crate::verify::{AccessRef, ErrorRef, FenceRef, LinkRef, VerifyReport, ViolationRef};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Events that are drawn at most.
const DRAWN: usize = 300;
/// Steps of the machine that are kept.
const STEPS: usize = 600;
/// Lines of source around one that matters.
const AROUND: u32 = 3;
/// Lines of source of one file at most.
const LINES: usize = 400;
/// Events of an execution that can be copied.
const COPIED: usize = 1000;
/// Models that allow everything that tso allows, then those of pso.
const WEAKER_THAN_TSO: [&str; 8] = ["pso", "wc", "rc", "rcpc", "ec", "scope", "wmo", "rmo"];
const WEAKER_THAN_PSO: [&str; 2] = ["wmo", "rmo"];

/// What the page wants to know of the world: the text of a source.
pub type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The cases of a report, each with its row.
pub fn cases(report: &VerifyReport, command: &str, read: Read<'_>) -> Vec<(Row, Case)> {
    let row =
        |name: String, verdict, about: String| Row { name, model: report.model.into(), verdict, about, case: None };
    let program = || report.program.clone();
    let mut all = Vec::new();
    for (i, violation) in report.violations.iter().enumerate() {
        let name = match report.violations.len() {
            1 => program(),
            n => format!("{}, violation {} of {n}", report.program, i + 1),
        };
        let case = violated(report, violation, name.clone(), command, read);
        all.push((row(name, "unsafe", violation.sentence()), case));
    }
    for error in &report.errors {
        all.push((row(program(), "error", error.headline().to_owned()), failed(report, error, command)));
    }
    if all.is_empty() {
        all.push((row(program(), report.verdict, report.explored()), plain(report, command)));
    }
    all
}

fn facts(report: &VerifyReport) -> Vec<Fact> {
    let mut facts = vec![Fact { name: "Explored", value: report.explored() }];
    if let Some(compiler) = &report.compiler {
        facts.push(Fact { name: "Compiler", value: compiler.clone() });
    }
    facts
}

fn base(report: &VerifyReport, name: String, command: &str) -> Case {
    let notes = report.notes.iter().flat_map(|note| note.text()).collect();
    Case {
        name,
        model: report.model.into(),
        verdict: report.verdict,
        facts: facts(report),
        commands: vec![Command { about: "This answer".into(), line: command.to_owned() }],
        notes,
        ..Case::default()
    }
}

/// The program without directories.
fn short_name(report: &VerifyReport) -> String {
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    report.program.split(' ').map(name).collect::<Vec<_>>().join(" ")
}

/// A program without violation.
fn plain(report: &VerifyReport, command: &str) -> Case {
    let program = short_name(report);
    let mut case = base(report, report.program.clone(), command);
    if report.verdict == "safe" {
        case.headline = vec![
            format!("{program} is safe under {}.", report.model),
            format!(
                "Every execution under {} is sequentially consistent: store buffers change nothing that the program can see.",
                report.model
            ),
        ];
        return case;
    }
    case.headline = vec![
        format!("It is not known whether {program} is safe under {}.", report.model),
        "No violation was found, but not everything was explored.".into(),
    ];
    let mut next: Vec<String> = report.advice.iter().cloned().collect();
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

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// An error of the program itself.
fn failed(report: &VerifyReport, error: &ErrorRef, command: &str) -> Case {
    let mut case = base(report, report.program.clone(), command);
    case.verdict = "error";
    case.headline = vec![format!("{} has a {}.", short_name(report), error.kind)];
    case.headline.extend(error.message.lines().map(str::to_owned));
    case.headline.push("It happens under sequential consistency already: no store buffer is needed for it.".into());
    case.facts.push(Fact { name: "Seen in", value: count(error.executions as usize, "execution") });
    case.fixes = Fixes {
        title: "Where it happened".into(),
        about: String::new(),
        list: error.stack.iter().map(|frame| Fix { words: frame.text(), code: None, nodes: Vec::new() }).collect(),
    };
    case.commands
        .push(Command { about: "The execution, step by step".into(), line: report.command.line(&error.schedule, "") });
    case
}

/// What is known about one event of the run.
struct Event<'a> {
    access: &'a AccessRef,
    /// The event that it read from; `None` is the initial value.
    source: Option<usize>,
}

/// The run of a violation, event by event.
struct Run<'a> {
    /// By the event's number.
    events: BTreeMap<usize, Event<'a>>,
    /// Per address its writes in the order in which they reached memory.
    order: BTreeMap<&'a str, Vec<usize>>,
    /// The initial values that were read.
    initial: BTreeMap<&'a str, &'a str>,
}

impl<'a> Run<'a> {
    fn new(violation: &'a ViolationRef) -> Run<'a> {
        let mut run = Run { events: BTreeMap::new(), order: BTreeMap::new(), initial: BTreeMap::new() };
        let mut buffers: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for step in &violation.run {
            let (access, event) = (&step.access, step.event);
            let address = access.address.as_str();
            let buffer = buffers.entry(access.thread).or_default();
            if step.step == "commit" {
                buffer.retain(|&store| store != event);
                run.order.entry(address).or_default().push(event);
                continue;
            }
            let mut source = None;
            if access.kind != "store" {
                let own = buffer.iter().rev().find(|store| run.events[store].access.address == address).copied();
                source = own.or_else(|| run.order.get(address).and_then(|writes| writes.last().copied()));
                if let (None, Some(value)) = (source, &access.read) {
                    run.initial.entry(address).or_insert(value);
                }
            }
            match access.kind {
                "store" => buffer.push(event),
                "rmw" if access.write.is_some() => run.order.entry(address).or_default().push(event),
                _ => {}
            }
            run.events.insert(event, Event { access, source });
        }
        run
    }

    /// These events with those that they read from.
    fn closed(&self, events: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut closed: BTreeSet<usize> = BTreeSet::new();
        let mut todo: Vec<usize> = events.into_iter().collect();
        while let Some(event) = todo.pop() {
            if self.events.contains_key(&event) && closed.insert(event) {
                todo.extend(self.events[&event].source);
            }
        }
        closed
    }
}

fn violated(report: &VerifyReport, violation: &ViolationRef, name: String, command: &str, read: Read<'_>) -> Case {
    let mut case = base(report, name, command);
    case.verdict = "unsafe";
    let model = report.model;
    case.headline =
        vec![format!("{} is not safe under {model}.", short_name(report)), format!("{}.", violation.sentence())];
    case.headline.push(format!(
        "The execution below is possible under {model}, and no interleaving of the threads explains what it reads."
    ));
    case.facts.push(Fact {
        name: "Seen in",
        value: format!("{} of {}", violation.executions, count(report.interleavings as usize, report.unit)),
    });
    case.facts.push(Fact {
        name: "Certificate",
        value: "run again on a separate machine with store buffers: not sequentially consistent".into(),
    });
    case.models = Some(models(model));
    let run = Run::new(violation);
    let in_cycle: BTreeSet<usize> = violation.cycle.iter().map(|link| link.event).collect();
    let overtaking = violation.run.iter().find(|step| step.overtakes).map(|step| step.event);
    let delayed = violation.run.iter().find(|step| step.delayed).map(|step| step.event);
    let reduced = run.closed(in_cycle.iter().copied().chain(overtaking).chain(delayed));

    // What is drawn: everything, or the end of a long execution, where it happens.
    let told: Vec<usize> = run
        .events
        .iter()
        .filter(|(event, known)| !known.access.control || reduced.contains(event))
        .map(|(&event, _)| event)
        .collect();
    let skipped = told.len().saturating_sub(DRAWN);
    let drawn: BTreeSet<usize> = told[skipped..].iter().chain(&reduced).copied().collect();
    if skipped > 0 {
        case.notes.push(format!("Of {} the last {} are drawn.", count(told.len(), "access"), drawn.len()));
    }
    let index: BTreeMap<usize, usize> = drawn.iter().enumerate().map(|(node, &event)| (event, node)).collect();

    case.sources = sources(&run, &drawn, violation, read);
    case.graph = graph(&run, &told, (&drawn, &reduced), &index, &case.sources);
    case.graph.arrows = arrows(&run, violation, &index);
    if let Some(node) = overtaking.and_then(|event| index.get(&event)) {
        case.graph.nodes[*node].wrong = true;
    }
    case.shape = violation.shape.clone();
    case.lemmas = vec![lemma(violation, model, &index)];
    case.read = overtaken(violation, &run, &index, overtaking, delayed);
    case.machine = Some(machine(violation, &run, model, &index));
    case.fixes = fixes(report, violation, &case.graph.nodes, &case.sources);
    case.commands.push(Command {
        about: "The interleaving that leads there, step by step".into(),
        line: report.command.line(&violation.schedule, &format!(" --model {model}")),
    });
    texts(&mut case, &run, &told, &reduced);
    case
}

/// What is known by definition: the machine of the model did it, and no interleaving explains it.
fn models(model: &str) -> Models {
    let weaker: &[&str] = if model == "tso" { &WEAKER_THAN_TSO } else { &WEAKER_THAN_PSO };
    let answer = |name: &str, verdict| ModelVerdict { name: name.into(), title: String::new(), verdict };
    let mut all = vec![answer("sc", "forbidden"), answer(model, "allowed")];
    all.extend(weaker.iter().map(|name| answer(name, "allowed")));
    let weaker: Vec<String> = weaker.iter().map(|name| (*name).to_owned()).collect();
    let words = match model {
        "tso" => "sc forbids this execution, tso allows it, and so does everything weaker.".to_owned(),
        _ => format!(
            "sc forbids this execution, {model} allows it, and so do {}. What tso does: membar verify --model tso.",
            list(&weaker, "and")
        ),
    };
    Models { strongest: vec![model.into()], weakest: vec!["rmo".into()], forbid: vec!["sc".into()], words, all }
}

fn graph(
    run: &Run<'_>,
    told: &[usize],
    (drawn, reduced): (&BTreeSet<usize>, &BTreeSet<usize>),
    index: &BTreeMap<usize, usize>,
    sources: &[Source],
) -> Graph {
    let mut names: BTreeMap<u32, &str> = BTreeMap::new();
    for event in run.events.values() {
        names.entry(event.access.thread).or_insert(&event.access.thread_name);
    }
    let threads: Vec<u32> = names.keys().copied().collect();
    let place = |thread: u32| threads.iter().position(|&known| known == thread).unwrap_or(0);
    let node = |event: &usize| {
        let access = run.events[event].access;
        let source = sources.iter().position(|source| source.file == access.file);
        Node {
            thread: place(access.thread) as u32,
            number: if access.line == 0 { "·".into() } else { access.line.to_string() },
            text: if access.text.is_empty() { access.effect(true) } else { access.text.clone() },
            effect: if access.text.is_empty() { String::new() } else { access.effect(true) },
            kind: access.kind,
            address: access.address.clone(),
            read: access.read.clone(),
            write: access.write.clone(),
            time: None,
            place: source.filter(|_| access.line > 0).map(|source| (source, access.line)),
            wrong: false,
        }
    };
    let columns = |events: &mut dyn Iterator<Item = usize>| {
        let mut columns: Vec<Vec<i64>> = vec![Vec::new(); threads.len()];
        for event in events {
            let column = &mut columns[place(run.events[&event].access.thread)];
            match (index.get(&event), column.last_mut()) {
                (Some(&node), _) => column.push(node as i64),
                (None, Some(gap)) if *gap < 0 => *gap -= 1,
                (None, _) => column.push(-1),
            }
        }
        columns
    };
    let reduced_columns = columns(&mut reduced.iter().copied());
    let original = if reduced.len() == told.len() { Vec::new() } else { columns(&mut told.iter().copied()) };
    Graph {
        threads: names.values().map(|name| (*name).to_owned()).collect(),
        nodes: drawn.iter().map(node).collect(),
        reduced: reduced_columns,
        original,
        total: told.len(),
        arrows: Vec::new(),
        initial: run
            .initial
            .iter()
            .filter(|(name, _)| drawn.iter().any(|event| run.events[event].access.address == **name))
            .take(24)
            .map(|(name, value)| format!("{name} = {value}"))
            .collect(),
        last: Vec::new(),
    }
}

/// The cycle first, then all of rf, co and fr.
fn arrows(run: &Run<'_>, violation: &ViolationRef, index: &BTreeMap<usize, usize>) -> Vec<Arrow> {
    let mut arrows: Vec<Arrow> = Vec::new();
    let mut add = |from: usize, to: usize, kind: &'static str, cycle: bool| {
        let (Some(&from), Some(&to)) = (index.get(&from), index.get(&to)) else { return };
        let (from, to) = (from as i64, to as i64);
        if from != to && !arrows.iter().any(|arrow| (arrow.from, arrow.to, arrow.kind) == (from, to, kind)) {
            arrows.push(Arrow { from, to, kind, cycle });
        }
    };
    for (link, next) in pairs(&violation.cycle) {
        add(link.event, next.event, kind_of(link), true);
    }
    for (&event, known) in &run.events {
        if let Some(source) = known.source {
            add(source, event, "rf", false);
        }
    }
    for writes in run.order.values() {
        writes.windows(2).for_each(|pair| add(pair[0], pair[1], "co", false));
    }
    for (&event, known) in run.events.iter().filter(|(_, known)| known.access.kind != "store") {
        let writes = run.order.get(known.access.address.as_str());
        let after =
            known.source.and_then(|source| writes?.iter().position(|&write| write == source)).map_or(0, |at| at + 1);
        if let Some(&write) = writes.and_then(|writes| writes.get(after)).filter(|&&write| write != event) {
            add(event, write, "fr", false);
        }
    }
    arrows
}

/// Each link with the next one.
fn pairs(cycle: &[LinkRef]) -> impl Iterator<Item = (&LinkRef, &LinkRef)> {
    cycle.iter().zip(cycle.iter().cycle().skip(1))
}

fn kind_of(link: &LinkRef) -> &'static str {
    if link.relation == "po" && link.kept == Some(true) { "ppo" } else { link.relation }
}

fn lemma(violation: &ViolationRef, model: &str, index: &BTreeMap<usize, usize>) -> Lemma {
    let observed = |access: &AccessRef| {
        let effect = access.effect(true);
        format!("{} – {}", access.short(), if effect.is_empty() { access.address.clone() } else { effect })
    };
    let steps: Vec<Step> = pairs(&violation.cycle)
        .enumerate()
        .map(|(i, (link, next))| {
            let says = match (link.relation, link.kept) {
                ("po", Some(true)) => "Program order, which the model keeps here. Sequential consistency keeps all of it.",
                ("po", _) => {
                    "Program order. Sequential consistency keeps it; the model does not: the store may wait in a buffer while its \
                     thread goes on."
                }
                ("rf", _) => "A read comes after the write whose value it returned.",
                ("co", _) => "Writes to one address reach memory one after the other.",
                _ => "A read comes before the next write of its address: it did not see it.",
            };
            Step {
                number: Some(i as u32 + 1),
                from: index.get(&link.event).map_or(super::INITIAL, |&node| node as i64),
                to: index.get(&next.event).map_or(super::INITIAL, |&node| node as i64),
                from_text: link.access.short(),
                to_text: next.access.short(),
                kind: kind_of(link),
                rule: link.relation,
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

/// The read that only the model can do: what it returned, and what an interleaving returns there.
fn overtaken(
    violation: &ViolationRef,
    run: &Run<'_>,
    index: &BTreeMap<usize, usize>,
    overtaking: Option<usize>,
    delayed: Option<usize>,
) -> Option<ImpossibleRead> {
    let (access, store) = (&violation.access, &violation.store);
    let (Some(returned), Some(written), "load") = (&access.read, &store.write, access.kind) else { return None };
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

fn machine(violation: &ViolationRef, run: &Run<'_>, model: &str, index: &BTreeMap<usize, usize>) -> Machine {
    let known = |step: &&crate::verify::StepRef| index.contains_key(&step.event);
    let told: Vec<&crate::verify::StepRef> = violation.run.iter().filter(known).collect();
    // A read-modify-write acts on memory at once.
    let told: Vec<_> = told.into_iter().filter(|step| step.step == "issue" || step.access.kind == "store").collect();
    // The end is where it happens.
    let skipped = told.len().saturating_sub(STEPS);
    let steps: Vec<MachineStep> =
        told[skipped..].iter().map(|step| MachineStep { step: step.step, node: index[&step.event] }).collect();
    let addresses: BTreeSet<&str> = told.iter().map(|step| step.access.address.as_str()).collect();
    let memory = addresses
        .iter()
        .map(|&name| (name.to_owned(), run.initial.get(name).map(|value| (*value).to_owned())))
        .collect();
    let (about, buffers) = match model {
        "tso" => ("Each thread has a store buffer, first in, first out; loads look there first.", "thread"),
        _ => ("Each thread has a store buffer for each address; loads look there first.", "address"),
    };
    let cut = if skipped > 0 { format!(" The first {} are left out.", count(skipped, "step")) } else { String::new() };
    Machine {
        about: format!("{about} This is the execution that is not sequentially consistent.{cut}"),
        buffers,
        memory,
        steps,
        omitted: 0,
        stuck: Vec::new(),
    }
}

fn fixes(report: &VerifyReport, violation: &ViolationRef, nodes: &[Node], sources: &[Source]) -> Fixes {
    let near = |fence: &FenceRef| {
        let file = sources.iter().position(|source| source.file == fence.file);
        let at = |line: u32| nodes.iter().position(|node| file.is_some_and(|file| node.place == Some((file, line))));
        [fence.after_line, fence.before_line].iter().filter_map(|&line| at(line)).collect::<Vec<_>>()
    };
    let fix = |fence: &FenceRef| Fix {
        words: capital(&format!("{} {}", fence.part(), fence.place())),
        code: Some(fence.fence.clone()),
        nodes: near(fence),
    };
    let (fences, about) = match &report.plan {
        Some(plan) => {
            let it = if plan.len() == 1 { "this fence" } else { "these fences" };
            (plan, format!("With {it} the program was verified again and is safe; without any one of them it is not."))
        }
        None => (&violation.fences, "This breaks the cycle above; other violations may need more.".to_owned()),
    };
    let mut list: Vec<Fix> = Vec::new();
    for fence in fences {
        let fix = fix(fence);
        if !list.iter().any(|known| known.words == fix.words && known.code == fix.code) {
            list.push(fix);
        }
    }
    Fixes { title: "What would fix it".into(), about, list }
}

/// The lines of source of the events that are drawn, with some around them.
fn sources(run: &Run<'_>, drawn: &BTreeSet<usize>, violation: &ViolationRef, read: Read<'_>) -> Vec<Source> {
    let mut files: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    let mut want = |file, line: u32| {
        if line > 0 {
            files.entry(file).or_default().insert(line);
        }
    };
    for event in drawn {
        let access = run.events[event].access;
        want(&access.file, access.line);
    }
    for fence in &violation.fences {
        want(&fence.file, fence.after_line);
    }
    let mut sources = Vec::new();
    for (file, lines) in files {
        let Some(text) = read(file) else { continue };
        let near = |number: u32| lines.range(number.saturating_sub(AROUND)..=number + AROUND).next().is_some();
        let lines: Vec<(u32, String)> = (1..)
            .zip(text.lines())
            .filter(|&(number, _)| near(number))
            .take(LINES)
            .map(|(number, line)| (number, line.replace('\t', "    ")))
            .collect();
        sources.push(Source { file: file.to_owned(), lines });
    }
    sources
}

/// The execution as a trace and as tests. Values are given anew, so that each identifies its write.
fn texts(case: &mut Case, run: &Run<'_>, told: &[usize], reduced: &BTreeSet<usize>) {
    let all: BTreeSet<usize> = run.closed(told.iter().copied());
    if all.len() <= COPIED {
        case.copies.push(Copy {
            name: "Execution as a trace",
            about: "for `membar check --model sc`; values are given anew, barriers are left out".into(),
            text: trace(run, &all),
        });
    }
    let text = trace(run, reduced);
    let Some(small) = membar_trace::parse("cycle", text.as_bytes()).ok().and_then(|mut traces| traces.pop()) else {
        return;
    };
    for (name, about, test) in [
        ("Litmus test", "the cycle alone, for `membar litmus`, `membar verify` and herd", copies::litmus(&small)),
        ("C test", "looks for the cycle on this machine: gcc -O2 -pthread test.c && ./a.out", copies::c_test(&small)),
    ] {
        match test {
            Ok(text) => case.copies.push(Copy { name, about: about.into(), text }),
            Err(why) => case
                .notes
                .push(format!("There is no {} to copy: {why}.", name.to_lowercase().replace("c test", "C test"))),
        }
    }
}

fn trace(run: &Run<'_>, events: &BTreeSet<usize>) -> String {
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut name = |address| {
        let next = names.len();
        names
            .entry(address)
            .or_insert_with(|| {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let text: String = str::chars(address).map(|c| if plain(c) { c } else { '_' }).collect();
                let text = text.trim_matches('_').to_owned();
                // Two addresses may look alike without their signs.
                let start = text.starts_with(|c: char| c.is_ascii_alphabetic());
                if start && text == *address && text.len() < 24 {
                    text
                } else if start {
                    format!("{text}_{next}")
                } else {
                    format!("a{next}")
                }
            })
            .clone()
    };
    let values: BTreeMap<usize, usize> = events
        .iter()
        .filter(|event| run.events[event].access.write.is_some())
        .enumerate()
        .map(|(i, &event)| (event, i + 1))
        .collect();
    let mut text = String::new();
    for event in events {
        let known = &run.events[event];
        let thread = known.access.thread;
        let at = name(known.access.address.as_str());
        let read = known.source.and_then(|source| values.get(&source)).copied().unwrap_or(0);
        let _ = match (known.access.kind, values.get(event)) {
            ("store", Some(value)) => writeln!(text, "{thread}: {at} := {value}"),
            ("rmw", Some(value)) => writeln!(text, "{thread}: {{ {at} == {read}; {at} := {value} }}"),
            _ => writeln!(text, "{thread}: {at} == {read}"),
        };
    }
    for (address, writes) in &run.order {
        let left: Vec<String> = writes.iter().filter_map(|write| values.get(write)).map(usize::to_string).collect();
        // Among writes of one thread there is nothing to say.
        let threads: BTreeSet<u32> = writes
            .iter()
            .filter(|write| values.contains_key(write))
            .map(|write| run.events[write].access.thread)
            .collect();
        if left.len() > 1 && threads.len() > 1 {
            let _ = writeln!(text, "order {}: {}", name(address), left.join(" "));
        }
    }
    text.push_str("check\n");
    text
}
