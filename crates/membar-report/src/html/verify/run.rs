//! The run of a program, step by step: the part that is drawn, its sources, its machine, and texts to copy.

use super::Read;
use crate::html::copies;
use crate::html::page::{Arrow, Case, Copy, Graph, Machine, MachineStep, Node, Source};
use crate::kinds::{Action, OpName, StepKind};
use crate::style::count;
use crate::verify::{AccessRef, FailureRef, FenceRef, FrameRef, LinkRef, StepRef, WeakStepRef};
use membar_core::{AccessKind, ProgramModel, Relation, StoreBuffer};
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

/// Everything known about one event of the run.
pub(super) struct Event<'a> {
    pub(super) access: &'a AccessRef,
    /// The event that it read from; `None` is the initial value.
    pub(super) source: Option<usize>,
}

/// A run, event by event.
pub(super) struct Run<'a> {
    /// By the event's number.
    pub(super) events: BTreeMap<usize, Event<'a>>,
    /// Per address its writes in the order in which they reached memory.
    pub(super) order: BTreeMap<&'a str, Vec<usize>>,
    /// The initial values that are known.
    pub(super) initial: BTreeMap<&'a str, &'a str>,
}

impl<'a> Run<'a> {
    /// The steps, and what addresses hold before the first one as far as it is known.
    pub(super) fn new(steps: &'a [StepRef], initial: &'a [(String, String)]) -> Run<'a> {
        let initial = initial.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut run = Run { events: BTreeMap::new(), order: BTreeMap::new(), initial };
        let mut buffers: BTreeMap<u32, StoreBuffer<&str, usize>> = BTreeMap::new();
        let event_of = |wanted: fn(&&StepRef) -> bool| steps.iter().find(wanted).map(|step| step.event);
        let (delayed, overtaking) = (event_of(|step| step.delayed), event_of(|step| step.overtakes));
        for step in steps {
            let (access, event) = (&step.access, step.event);
            let address = access.address.as_str();
            let buffer = buffers.entry(access.thread).or_default();
            if step.step == StepKind::Commit {
                let Some(place) = buffer.entries().iter().position(|store| store.value == event) else { continue };
                buffer.commit(place);
                run.write(address, event, step.misses.or(delayed.filter(|_| Some(event) == overtaking)));
                continue;
            }
            let mut source = None;
            if access.kind != AccessKind::Store {
                let writes = run.order.get(address).map_or(&[][..], |writes| writes);
                // Without buffers, what is overtaken is in memory already.
                let missed = step.misses.or(delayed.filter(|_| step.overtakes));
                let place = writes.iter().position(|&write| Some(write) == missed);
                source =
                    buffer.newest(address).copied().or_else(|| writes[..place.unwrap_or(writes.len())].last().copied());
                if let (None, Some(value)) = (source, &access.read) {
                    run.initial.entry(address).or_insert(value);
                }
            }
            match access.kind {
                AccessKind::Store => buffer.push(address, event),
                AccessKind::Rmw if access.write.is_some() => {
                    run.write(address, event, step.misses.or(delayed.filter(|_| Some(event) == overtaking)));
                }
                _ => {}
            }
            run.events.insert(event, Event { access, source });
        }
        run
    }

    /// The event writes, after all others or before this one if that has written already.
    fn write(&mut self, address: &'a str, event: usize, before: Option<usize>) {
        let writes = self.order.entry(address).or_default();
        let place = writes.iter().position(|&write| Some(write) == before).unwrap_or(writes.len());
        writes.insert(place, event);
    }

    /// These events with those that they read from.
    pub(super) fn closed(&self, events: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut closed: BTreeSet<usize> = BTreeSet::new();
        let mut todo: Vec<usize> = events.into_iter().collect();
        while let Some(event) = todo.pop() {
            if self.events.contains_key(&event) && closed.insert(event) {
                todo.extend(self.events[&event].source);
            }
        }
        closed
    }

    /// The part that is drawn: everything, or the end of a long run, where it happens, with what matters. Threads that begin and end
    /// are part of everything only if `control` says so.
    pub(super) fn shown(&self, reduced: &BTreeSet<usize>, control: bool, notes: &mut Vec<String>) -> Shown {
        let told: Vec<usize> = self
            .events
            .iter()
            .filter(|(event, known)| control || !known.access.control || reduced.contains(event))
            .map(|(&event, _)| event)
            .collect();
        let skipped = told.len().saturating_sub(DRAWN);
        let drawn: BTreeSet<usize> = told[skipped..].iter().chain(reduced.iter().take(DRAWN)).copied().collect();
        if skipped > 0 {
            notes.push(format!("Of {} the last {} are drawn.", count(told.len(), "access"), drawn.len()));
        }
        let index = drawn.iter().enumerate().map(|(node, &event)| (event, node)).collect();
        Shown { told, drawn, index }
    }
}

/// Which events of a run are drawn.
pub(super) struct Shown {
    /// Those that there is something to say about.
    pub(super) told: Vec<usize>,
    /// Those that are drawn.
    pub(super) drawn: BTreeSet<usize>,
    /// The nodes of those.
    pub(super) index: BTreeMap<usize, usize>,
}

pub(super) fn graph(run: &Run<'_>, shown: &Shown, reduced: &BTreeSet<usize>, sources: &[Source]) -> Graph {
    let Shown { told, drawn, index } = shown;
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
            kind: if access.control { OpName::Control } else { access.kind.into() },
            address: access.address.clone(),
            read: access.read.clone(),
            write: access.write.clone(),
            time: None,
            place: source.filter(|_| access.line > 0).map(|source| (source, access.line)),
            wrong: None,
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
            .filter(|(name, _)| {
                let uses = |access: &AccessRef| access.address == **name && !access.control;
                drawn.iter().any(|event| uses(run.events[event].access))
            })
            .take(24)
            .map(|(name, value)| format!("{name} = {value}"))
            .collect(),
        last: Vec::new(),
    }
}

/// A failing execution as steps of the machine: each store reaches memory after the step that others see it after.
pub(super) fn steps_of(failure: &FailureRef) -> Vec<StepRef> {
    let is_c11 = failure.model == ProgramModel::C11;
    let mut steps = Vec::new();
    let first = failure.steps.iter().position(|step| step.misses.is_some());
    let missed = first.and_then(|at| failure.steps[at].misses);
    let step = |event: usize, step: StepKind| {
        let (delayed, overtakes) = (missed == Some(event), first == Some(event));
        let WeakStepRef { access, misses, .. } = failure.steps[event].clone();
        StepRef { step, access, delayed, overtakes, misses, event }
    };
    for (at, made) in failure.steps.iter().enumerate() {
        if made.does == Action::Fence {
            continue;
        }
        steps.push(step(at, StepKind::Issue));
        let arrives = |(event, store): &(usize, &WeakStepRef)| {
            let seen = if is_c11 { Some(*event) } else { store.seen };
            store.access.kind == AccessKind::Store && seen == Some(at)
        };
        let arriving = failure.steps.iter().enumerate().filter(arrives);
        steps.extend(arriving.map(|(event, _)| step(event, StepKind::Commit)));
    }
    steps
}

/// Adds the operations of another execution to a case: those that it has are its own, the others are drawn nowhere else.
pub(super) fn join(case: &mut Case, own: Graph, sources: Vec<Source>, shown: &mut Shown) {
    let mut files: Vec<usize> = Vec::new();
    for source in sources {
        let at = case.sources.iter().position(|known| known.file == source.file).unwrap_or_else(|| {
            case.sources.push(Source { file: source.file.clone(), ..Source::default() });
            case.sources.len() - 1
        });
        let lines = &mut case.sources[at].lines;
        lines.extend(source.lines);
        lines.sort();
        lines.dedup();
        files.push(at);
    }
    let same = |one: &Node, other: &Node| {
        (&one.number, &one.text, &one.address, &one.read, &one.write, one.kind)
            == (&other.number, &other.text, &other.address, &other.read, &other.write, other.kind)
    };
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut places: Vec<usize> = Vec::new();
    for mut node in own.nodes {
        let name = &own.threads[node.thread as usize];
        let thread = case.graph.threads.iter().position(|known| known == name);
        node.thread = thread.unwrap_or_else(|| {
            case.graph.threads.push(name.clone());
            case.graph.reduced.push(Vec::new());
            if !case.graph.original.is_empty() {
                case.graph.original.push(Vec::new());
            }
            case.graph.threads.len() - 1
        }) as u32;
        let known = case
            .graph
            .nodes
            .iter()
            .enumerate()
            .position(|(at, known)| !taken.contains(&at) && known.thread == node.thread && same(known, &node));
        let at = known.unwrap_or_else(|| {
            node.place = node.place.map(|(file, line)| (files[file], line));
            case.graph.nodes.push(node);
            case.graph.nodes.len() - 1
        });
        taken.insert(at);
        places.push(at);
    }
    shown.index.values_mut().for_each(|node| *node = places[*node]);
}

/// The cycle first, then all of rf, co and fr.
pub(super) fn arrows(
    run: &Run<'_>,
    cycle: &[LinkRef],
    ordered: &[(usize, usize)],
    index: &BTreeMap<usize, usize>,
) -> Vec<Arrow> {
    let mut arrows: Vec<Arrow> = Vec::new();
    let mut add = |from: usize, to: usize, kind: Relation, cycle: bool| {
        let (Some(&from), Some(&to)) = (index.get(&from), index.get(&to)) else { return };
        let (from, to) = (from as i64, to as i64);
        if from != to && !arrows.iter().any(|arrow| (arrow.from, arrow.to, arrow.kind) == (from, to, kind)) {
            arrows.push(Arrow { from, to, kind, cycle });
        }
    };
    for (link, next) in pairs(cycle) {
        add(link.event, next.event, kind_of(link), true);
    }
    for &(write, read) in ordered {
        add(write, read, Relation::Hb, false);
    }
    let drawn = || run.events.iter().filter(|(event, _)| index.contains_key(event));
    for (&event, known) in drawn() {
        if let Some(source) = known.source.filter(|&source| !ordered.contains(&(source, event))) {
            add(source, event, Relation::Rf, false);
        }
    }
    for writes in run.order.values() {
        let writes: Vec<usize> = writes.iter().filter(|write| index.contains_key(write)).copied().collect();
        writes.windows(2).for_each(|pair| add(pair[0], pair[1], Relation::Co, false));
    }
    for (&event, known) in drawn().filter(|(_, known)| known.access.kind != AccessKind::Store) {
        let writes = run.order.get(known.access.address.as_str());
        let after =
            known.source.and_then(|source| writes?.iter().position(|&write| write == source)).map_or(0, |at| at + 1);
        if let Some(&write) = writes.and_then(|writes| writes.get(after)).filter(|&&write| write != event) {
            add(event, write, Relation::Fr, false);
        }
    }
    arrows
}

/// Each link with the next one.
pub(super) fn pairs(cycle: &[LinkRef]) -> impl Iterator<Item = (&LinkRef, &LinkRef)> {
    cycle.iter().zip(cycle.iter().cycle().skip(1))
}

pub(super) fn kind_of(link: &LinkRef) -> Relation {
    match (link.relation, link.kept, link.ordered) {
        (Relation::Po, Some(true), _) => Relation::Ppo,
        (Relation::Rf, _, Some(true)) => Relation::Hb,
        (relation, ..) => relation,
    }
}

/// The machine of the model (`sc`, `tso` or `pso`) doing these steps; `what` says what they are.
pub(super) fn machine(steps: &[StepRef], run: &Run<'_>, (model, what): (&str, &str), shown: &Shown) -> Machine {
    let index = &shown.index;
    let (about, buffers) = match model {
        "sc" => ("Every access acts on memory at once.", "none"),
        "c11" => {
            ("A thread may read what others have overwritten, until something tells it of the newer value.", "views")
        }
        "tso" => ("Each thread has a store buffer, first in, first out; loads look there first.", "thread"),
        _ => ("Each thread has a store buffer for each address; loads look there first.", "address"),
    };
    // A read-modify-write acts on memory immediately.
    let has_buffers = matches!(buffers, "thread" | "address");
    let buffered = |access: &AccessRef| access.kind == AccessKind::Store && !access.control && has_buffers;
    let acts = |step: &&StepRef| step.step == StepKind::Issue || buffered(&step.access);
    let told: Vec<&StepRef> = steps.iter().filter(|step| index.contains_key(&step.event)).filter(acts).collect();
    // The end is where it happens.
    let skipped = told.len().saturating_sub(STEPS);
    let kept: Vec<MachineStep> =
        told[skipped..].iter().map(|step| MachineStep { step: step.step, node: index[&step.event] }).collect();
    let variables = told.iter().filter(|step| !step.access.control);
    let addresses: BTreeSet<&str> = variables.map(|step| step.access.address.as_str()).collect();
    // The contents of memory at the first step that is kept are known only if no step is left out.
    let initial = |name: &str| run.initial.get(name).filter(|_| skipped == 0).map(|value| (*value).to_owned());
    let memory = addresses.iter().map(|&name| (name.to_owned(), initial(name))).collect();
    let cut = if skipped > 0 { format!(" The first {} are left out.", count(skipped, "step")) } else { String::new() };
    let about = format!("{about} {what}{cut}");
    Machine { about, buffers, memory, steps: kept, ..Machine::default() }
}

/// The lines of source of the events that are drawn, with some around them.
pub(super) fn sources(run: &Run<'_>, drawn: &BTreeSet<usize>, fences: &[FenceRef], read: Read<'_>) -> Vec<Source> {
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
    for fence in fences {
        want(&fence.file, fence.after_line);
    }
    excerpts(files, read)
}

/// The text of these lines, and of those around them.
fn excerpts(files: BTreeMap<&str, BTreeSet<u32>>, read: Read<'_>) -> Vec<Source> {
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
        sources.push(Source { file: file.to_owned(), lines, marked: Vec::new() });
    }
    sources
}

/// The lines of calls, marked.
pub(super) fn called(stack: &[FrameRef], read: Read<'_>) -> Vec<Source> {
    let mut files: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for frame in stack.iter().filter(|frame| frame.line > 0) {
        files.entry(&frame.file).or_default().insert(frame.line);
    }
    let mut sources = excerpts(files.clone(), read);
    for source in &mut sources {
        source.marked = files.get(&*source.file).into_iter().flatten().copied().collect();
    }
    sources
}

/// The execution as a trace and as tests. Values are renumbered, so that each identifies its write.
pub(super) fn texts(case: &mut Case, run: &Run<'_>, told: &[usize], reduced: &BTreeSet<usize>) {
    let all: BTreeSet<usize> = run.closed(told.iter().copied());
    if all.len() <= COPIED {
        case.copies.push(Copy {
            name: "Execution as a trace",
            about: "for `membar check --model sc`; values are renumbered, barriers are left out".into(),
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

/// The events as a trace.
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
            (AccessKind::Store, Some(value)) => writeln!(text, "{thread}: {at} := {value}"),
            (AccessKind::Rmw, Some(value)) => writeln!(text, "{thread}: {{ {at} == {read}; {at} := {value} }}"),
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
