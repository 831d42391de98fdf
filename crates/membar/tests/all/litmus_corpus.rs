//! The corpus: every trace with a known verdict gets it, under every built-in model.
//!
//! `corpus/litmus` holds families of small traces in their own notation (described in families.txt) and the verdicts
//! of 199 tests made from them; `corpus/traces` holds traces in the text format, with their verdicts in the first line.
//! Catches what no other test does: a model, a rule or a parser that is wrong on a shape that the literature has a name for.

use membar_core::{Model, OpKind, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The only place that knows the checker: `allowed`, `forbidden` or `undecided`.
fn decide(trace: &Trace, model: &Model) -> &'static str {
    membar_check::Checker::new().check(trace, model, &membar_check::Limits::default()).verdict.name()
}

/// The only place that knows the parser: the one trace of this text.
fn read(name: &str, text: &str) -> Trace {
    let mut traces = membar_trace::parse(name, text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    assert_eq!(traces.len(), 1, "{name}");
    traces.remove(0)
}

const MODELS: [&str; 5] = ["sc", "tso", "pso", "wmo", "rmo"];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A family: its threads' operations, in the notation of families.txt, and its final values.
struct Family {
    name: String,
    threads: Vec<Vec<String>>,
    finals: Vec<String>,
}

fn families() -> Vec<Family> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    text_of(&corpus().join("litmus/families.txt"))
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (name, rest) = line.split_once(' ').expect("a name and threads");
            let (threads, finals) = rest.split_once(';').unwrap_or((rest, ""));
            Family { name: name.to_owned(), threads: threads.split('|').map(words).collect(), finals: words(finals) }
        })
        .collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Link {
    Po,
    Sync,
    Addr,
}

/// The family of a test and the link of each of its threads with two operations, in thread order.
fn links<'f>(families: &'f [Family], test: &str) -> (&'f Family, Vec<Link>) {
    // A family's name may hold a `+` itself, so the longest that fits is meant: W+RWC, not W.
    let (family, given) = families
        .iter()
        .filter_map(|family| test.strip_prefix(&family.name).map(|rest| (family, rest)))
        .filter(|(_, rest)| rest.is_empty() || rest.starts_with('+'))
        .max_by_key(|(family, _)| family.name.len())
        .unwrap_or_else(|| panic!("{test}: no such family"));
    let needed = family.threads.iter().filter(|ops| ops.len() > 1).count();
    let link = |word: &str| match word {
        "po" => Link::Po,
        "sync" => Link::Sync,
        "addr" => Link::Addr,
        _ => panic!("{test}: no such link: {word}"),
    };
    let given: Vec<&str> = given.split('+').skip(1).collect();
    let links: Vec<Link> = match given[..] {
        [] => vec![Link::Po; needed],
        [all] if all.ends_with('s') => vec![link(&all[..all.len() - 1]); needed],
        _ => given.into_iter().map(link).collect(),
    };
    assert_eq!(links.len(), needed, "{test}: a link for each thread with two operations");
    (family, links)
}

/// `x`, `y`, `z` are addresses 0, 1, 2.
fn address(name: char) -> u32 {
    match name {
        'x'..='z' => name as u32 - 'x' as u32,
        _ => panic!("{name}: an address is x, y or z"),
    }
}

/// The trace of a test, in the text format.
fn generate(families: &[Family], test: &str) -> String {
    let (family, links) = links(families, test);
    let mut links = links.into_iter();
    let mut text = format!("# {test}\n");
    for (thread, ops) in family.threads.iter().enumerate() {
        assert!((1..=2).contains(&ops.len()), "{test}");
        let link = if ops.len() == 2 { links.next().expect("counted above") } else { Link::Po };
        for (place, op) in ops.iter().enumerate() {
            let time = match (link, place) {
                (Link::Addr, 0) => " @ :1",
                (Link::Addr, _) => " @ 2:",
                _ => "",
            };
            if link == Link::Sync && place == 1 {
                writeln!(text, "{thread}: sync").unwrap();
            }
            let mut chars = op.chars();
            let sign = match chars.next() {
                Some('W') => ":=",
                Some('R') => "==",
                _ => panic!("{test}: {op}: W or R"),
            };
            let addr = address(chars.next().expect("an address"));
            writeln!(text, "{thread}: M[{addr}] {sign} {}{time}", chars.as_str()).unwrap();
        }
    }
    for end in &family.finals {
        let (name, value) = end.split_once('=').expect("x=1");
        writeln!(text, "final M[{}] == {value}", name.chars().map(address).sum::<u32>()).unwrap();
    }
    text.push_str("check\n");
    text
}

/// Test names with the verdicts under sc, tso, pso and wmo.
fn verdicts() -> BTreeMap<String, Vec<String>> {
    let text = text_of(&corpus().join("litmus/verdicts.tsv"));
    let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(lines.next().unwrap()[1..], MODELS[..4]);
    let rows: BTreeMap<_, _> = lines.map(|mut row| (row.remove(0), row)).collect();
    assert!(rows.values().all(|row| row.len() == 4 && row.iter().all(|v| v == "allowed" || v == "forbidden")));
    assert_eq!(rows.len(), 199);
    rows
}

/// The verdicts by model in a trace's first line.
fn expected(name: &str, text: &str) -> BTreeMap<String, String> {
    let line = text.lines().next().and_then(|line| line.strip_prefix("# expect: "));
    let line = line.unwrap_or_else(|| panic!("{name}: no `# expect:` line"));
    let pairs = line.split(' ').map(|pair| pair.split_once('=').expect("model=verdict"));
    let verdicts: BTreeMap<_, _> = pairs.map(|(model, verdict)| (model.to_owned(), verdict.to_owned())).collect();
    let riscv = verdicts.contains_key("rvwmo");
    assert!(riscv || MODELS.iter().all(|&model| verdicts.contains_key(model)), "{name}: {line}");
    assert!(verdicts.keys().all(|model| membar_model::builtin(model).is_some()), "{name}: {line}");
    verdicts
}

/// The traces of corpus/traces: name, text and verdicts by model.
fn named_traces() -> Vec<(String, String, BTreeMap<String, String>)> {
    let entries = std::fs::read_dir(corpus().join("traces")).expect("corpus/traces");
    let mut traces: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "trace"))
        .map(|path| {
            let text = text_of(&path);
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let verdicts = expected(&name, &text);
            (name, text, verdicts)
        })
        .collect();
    traces.sort();
    assert!(traces.len() >= 50, "{}", traces.len());
    traces
}

fn model(name: &str) -> &'static Model {
    membar_model::builtin(name).expect("a built-in model")
}

#[test]
fn litmus_verdicts() {
    let families = families();
    for (test, expected) in verdicts() {
        let trace = read(&test, &generate(&families, &test));
        // rmo differs from wmo only on two loads of one address in one thread, and no test has them.
        for (name, expected) in MODELS.iter().zip(expected.iter().chain(expected.last())) {
            assert_eq!(decide(&trace, model(name)), expected, "{test} under {name}");
        }
    }
}

#[test]
fn named_trace_verdicts() {
    for (test, text, expected) in named_traces() {
        let trace = read(&test, &text);
        for name in MODELS {
            assert_eq!(decide(&trace, model(name)), expected[name], "{test} under {name}");
        }
    }
}

/// The blocks with this opening line in the book's pages about models.
fn documented(opening: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for page in ["models.md", "built-in-models.md", "riscv.md"] {
        let path = corpus().join("../book/src/reference").join(page);
        let text = text_of(&path);
        for (number, rest) in text.split(opening).skip(1).enumerate() {
            let block = rest.split("```").next().expect("the text before a fence");
            blocks.push((format!("{} block {number}", path.display()), block.to_owned()));
        }
    }
    blocks
}

#[test]
fn documented_traces_and_models_are_true() {
    let traces = documented("```trace\n");
    assert!(traces.len() >= 16, "{}", traces.len());
    for (place, text) in traces {
        let trace = read(&place, &text);
        for (name, expected) in expected(&place, &text) {
            assert_eq!(decide(&trace, model(&name)), expected, "{place} under {name}");
        }
    }
    let models = documented("```toml\n");
    assert!(models.len() >= 3, "{}", models.len());
    for (place, text) in models {
        membar_model::parse(&place, &text).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn verdicts_grow_with_the_models() {
    let litmus = verdicts().into_iter();
    let named = named_traces().into_iter();
    let all = litmus.chain(named.map(|(test, _, mut by_model)| {
        (test, MODELS.iter().map(|model| by_model.remove(*model).expect("five verdicts")).collect())
    }));
    let mut first_to_allow: BTreeMap<usize, usize> = BTreeMap::new();
    for (test, row) in all {
        let allowed = row.iter().position(|verdict| verdict == "allowed").unwrap_or(row.len());
        assert!(row[allowed..].iter().all(|verdict| verdict == "allowed"), "{test}: {row:?}");
        *first_to_allow.entry(allowed).or_default() += 1;
    }
    // Every neighbouring pair of models is told apart by some trace.
    assert!((0..=MODELS.len()).all(|place| first_to_allow.contains_key(&place)), "{first_to_allow:?}");
}

#[test]
fn every_family_and_every_link_is_used() {
    let families = families();
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let mut count = [0; 3];
    for test in verdicts().keys() {
        let (family, links) = links(&families, test);
        used.insert(&family.name);
        links.iter().for_each(|&link| count[link as usize] += 1);
    }
    assert_eq!((used.len(), families.len()), (26, 26));
    assert!(count.iter().all(|&n| n > 50), "{count:?}");
}

#[test]
fn no_litmus_test_loads_an_address_twice_in_a_thread() {
    let families = families();
    for test in verdicts().keys() {
        let trace = read(test, &generate(&families, test));
        let loads: Vec<_> = trace.ops().filter(|&op| trace.kind(op) == OpKind::Load).collect();
        let places: BTreeSet<_> = loads.iter().map(|&op| (trace.thread(op), trace.addr(op))).collect();
        assert_eq!(places.len(), loads.len(), "{test}");
    }
}

/// The generated traces are those of the published collection, operation by operation.
#[test]
#[ignore = "needs the published collections in MEMBAR_PUBLISHED"]
fn published_traces_are_the_generated_ones() {
    let published = std::env::var_os("MEMBAR_PUBLISHED").expect("MEMBAR_PUBLISHED names the published collections");
    let published = Path::new(&published).join("axe-litmus");
    let words = |text: &str| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let families = families();
    let mine = verdicts();
    let text = text_of(&published.join("tests.axe"));
    let mut names = BTreeSet::new();
    for chunk in text.split_inclusive("check\n") {
        let test = chunk.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a name").trim();
        assert_eq!(words(chunk), words(&generate(&families, test)), "{test}");
        names.insert(test.to_owned());
    }
    assert_eq!(names, mine.keys().cloned().collect());
    for (column, name) in ["SC", "TSO", "PSO", "WMO"].iter().enumerate() {
        let answers = text_of(&published.join(format!("{name}.txt")));
        assert_eq!(answers.lines().count(), mine.len());
        for line in answers.lines() {
            let (answer, test) = line.split_once(' ').expect("an answer and a name");
            let expected = if answer == "OK" { "allowed" } else { "forbidden" };
            assert_eq!(mine[test][column], expected, "{test} under {name}");
        }
    }
}
