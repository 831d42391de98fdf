//! Tests generated from cycles of edges (corpus/litmus/cycles.txt) have the states of corpus/litmus/cycles.tsv.
//!
//! Catches what no other test does: a model that is wrong on a shape that the literature has a name for, in either dialect.

use membar_litmus::{Limits, LitmusTest, Method, Model, Record, outcomes_by};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus")
}

struct Event {
    write: bool,
    thread: usize,
    location: usize,
    /// Written, or read.
    value: u32,
    /// Whether `rf` or `fr` says what is read.
    known: bool,
    fence: bool,
}

/// The properties of an edge: its kinds of events, whether they are of two threads, and whether of two locations.
fn edge(name: &str) -> (char, char, bool, bool) {
    let ends = |name: &str| {
        let mut ends = name.chars().rev();
        let to = ends.next().expect("an end");
        (ends.next().expect("a beginning"), to)
    };
    match name {
        "Rfe" => ('W', 'R', true, false),
        "Fre" => ('R', 'W', true, false),
        "Coe" => ('W', 'W', true, false),
        "Rfi" => ('W', 'R', false, false),
        "Fri" | "Exch" => ('R', 'W', false, false),
        "Coi" => ('W', 'W', false, false),
        _ if name.starts_with("Pos") => (ends(name).0, ends(name).1, false, false),
        _ => (ends(name).0, ends(name).1, false, true),
    }
}

fn events(edges: &[&str]) -> Vec<Event> {
    let n = edges.len();
    let locations = edges.iter().filter(|name| edge(name).3).count();
    let (mut thread, mut location) = (0, 0);
    let mut events = Vec::new();
    for (at, name) in edges.iter().enumerate() {
        let (from, _, external, moves) = edge(name);
        let before = edges[(at + n - 1) % n];
        assert_eq!(edge(before).1, from, "{edges:?} at {name}");
        let known = name.starts_with("Fr") || before.starts_with("Rf");
        let fence = before.starts_with("MFenced");
        events.push(Event { write: from == 'W', thread, location, value: 0, known, fence });
        thread += usize::from(external);
        location = (location + usize::from(moves)) % locations;
    }
    assert!(edge(edges[n - 1]).2, "{edges:?} ends in its first thread");
    // Each location is one stretch of the cycle: its writes are in this order.
    let first = (0..n).find(|at| edge(edges[(at + n - 1) % n]).3).expect("two locations");
    let mut written = vec![0; locations];
    for at in (0..n).map(|step| (first + step) % n) {
        let last = &mut written[events[at].location];
        *last += u32::from(events[at].write);
        events[at].value = *last;
    }
    events
}

const REGISTERS: [[&str; 4]; 2] = [["EAX", "EBX", "ECX", "EDX"], ["eax", "ebx", "ecx", "edx"]];

/// The test as text.
fn generate(name: &str, dialect: &str, edges: &[&str]) -> String {
    let x86 = dialect == "X86";
    let events = events(edges);
    let location = |event: &Event| ["x", "y", "z", "a"][event.location];
    let mut threads: Vec<Vec<String>> = Vec::new();
    let (mut finals, mut reads) = (Vec::new(), Vec::new());
    let mut used = 0;
    let mut at = 0;
    while at < events.len() {
        let event = &events[at];
        if event.thread == threads.len() {
            threads.push(Vec::new());
            used = 0;
        }
        let code = &mut threads[event.thread];
        if event.fence {
            code.push(if x86 { "MFENCE" } else { "mfence" }.into());
        }
        let (x, value) = (location(event), event.value);
        if event.write {
            code.push(if x86 { format!("MOV [{x}],${value}") } else { format!("movl ${value},({x})") });
        } else {
            let register = REGISTERS[usize::from(!x86)][used];
            used += 1;
            let shown = if x86 { register.to_owned() } else { register.replacen('e', "r", 1) };
            if event.known {
                reads.push(format!("{}:{shown}={value}", event.thread));
            }
            if edges[at] == "Exch" {
                at += 1;
                let value = events[at].value;
                code.push(if x86 { format!("MOV {register},${value}") } else { format!("movl ${value},%{register}") });
                code.push(if x86 { format!("XCHG [{x}],{register}") } else { format!("xchgl ({x}),%{register}") });
            } else {
                code.push(if x86 { format!("MOV {register},[{x}]") } else { format!("movl ({x}),%{register}") });
            }
        }
        at += 1;
    }
    for index in 0..4 {
        let last = events.iter().filter(|event| event.write && event.location == index).map(|event| event.value).max();
        if let Some(last @ 2..) = last {
            finals.push(format!("[{}]={last}", ["x", "y", "z", "a"][index]));
        }
    }
    finals.sort();
    let mut text = format!("{dialect} {name}\n\"{}\"\n{{\n}}\n", edges.join(" "));
    let names: Vec<String> = (0..threads.len()).map(|thread| format!(" P{thread}")).collect();
    let _ = writeln!(text, "{} ;", names.join(" |"));
    for row in 0..threads.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> = threads.iter().map(|code| code.get(row).map_or("", String::as_str)).collect();
        let _ = writeln!(text, " {} ;", cells.join(" | "));
    }
    finals.extend(reads);
    let _ = writeln!(text, "exists ({})", finals.join(" /\\ "));
    text
}

/// Name, dialect and text of every test.
fn tests() -> Vec<(String, String, String)> {
    let text = std::fs::read_to_string(corpus().join("cycles.txt")).expect("corpus/litmus/cycles.txt");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[0].into(), words[1].into(), generate(words[0], words[1], &words[2..]))
        })
        .collect()
}

#[test]
fn generated_tests_have_their_states() {
    let verdicts = std::fs::read_to_string(corpus().join("cycles.tsv")).expect("corpus/litmus/cycles.tsv");
    let mut expected: BTreeMap<(String, String), (&str, &str)> = BTreeMap::new();
    for row in verdicts.lines().skip(1) {
        let [name, model, verdict, states] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        assert!(expected.insert((name.into(), model.into()), (verdict, states)).is_none(), "{row}");
    }
    let rows = expected.len();
    let (mut checked, mut dialects) = (0, BTreeMap::new());
    for (name, dialect, text) in tests() {
        let test = LitmusTest::parse(&name, text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render()));
        *dialects.entry(dialect).or_insert(0) += 1;
        for model in Model::ALL {
            let key = (name.clone(), model.name().to_owned());
            let Some((verdict, states)) = expected.remove(&key) else { continue };
            let outcomes = outcomes_by(Method::Executions, &test, model, &Limits::default()).expect("small");
            let record = Record { test: &test, model, outcomes: &outcomes, seconds: 0.0 };
            let mine: Vec<String> = outcomes.states.iter().map(|state| record.state_text(state)).collect();
            assert_eq!(mine.join(" | "), states, "{name} {model}\n{text}");
            assert_eq!(if record.ok() { "allowed" } else { "forbidden" }, verdict, "{name} {model}");
            checked += 1;
        }
    }
    assert!(expected.is_empty(), "{:?}", expected.keys());
    assert!(
        checked == rows && checked > 700 && dialects.len() == 2 && dialects.values().all(|&n| n > 100),
        "{dialects:?}"
    );
}

/// The generated tests are those of the published collection, instruction by instruction.
#[test]
#[ignore = "needs the published collections in MEMBAR_PUBLISHED"]
fn published_tests_are_the_generated_ones() {
    let published = crate::published("litmus");
    for (name, _, text) in tests() {
        let theirs = std::fs::read_to_string(published.join(format!("{name}.litmus"))).expect("a test");
        let (mine, theirs) = (LitmusTest::parse(&name, text.as_bytes()), LitmusTest::parse(&name, theirs.as_bytes()));
        let (mut mine, theirs) = (mine.expect("it is read"), theirs.expect("it is read"));
        // The places in the text differ, the instructions do not.
        assert_eq!(mine.code.sites.len(), theirs.code.sites.len(), "{name}");
        for (mine, theirs) in mine.code.sites.iter_mut().zip(&theirs.code.sites) {
            assert_eq!((mine.thread, &mine.text), (theirs.thread, &theirs.text), "{name}");
            *mine = theirs.clone();
        }
        assert_eq!((mine.code, mine.condition), (theirs.code, theirs.condition), "{name}\n{text}");
    }
}
