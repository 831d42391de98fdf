//! The algorithms of `corpus/weak` and the examples: what `expected.tsv` says of them is what `membar verify` does.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common::{self, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const MODELS: [&str; 4] = ["sc", "tso", "pso", "c11"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A row of `expected.tsv`.
struct Row {
    file: String,
    /// Empty if there are none.
    flags: String,
    model: String,
    expected: String,
    lines: Vec<usize>,
    robust: bool,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("corpus/weak/expected.tsv")).expect("the corpus");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("file\tflags\tmodel\texpected\tlines\trobust"));
    let row = |line: &str| {
        let [file, flags, model, expected, lines, robust] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("six columns: {line}")
        };
        let some = |text: &str| if text == "-" { String::new() } else { text.to_owned() };
        let numbers = some(lines);
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("a line: {line}"));
        Row {
            file: file.into(),
            flags: some(flags),
            model: model.into(),
            expected: expected.into(),
            lines: numbers.split(',').filter(|text| !text.is_empty()).map(number).collect(),
            robust: match robust {
                "yes" => true,
                "no" => false,
                _ => panic!("yes or no: {line}"),
            },
        }
    };
    lines.map(row).collect()
}

#[test]
fn every_row_makes_sense() {
    let rows = rows();
    let mut seen = BTreeSet::new();
    for Row { file, flags, model, expected, lines, robust } in &rows {
        let name = format!("{file} {flags} {model}");
        assert!(MODELS.contains(&model.as_str()), "{name}");
        assert!(["holds", "fails", "deadlock", "race"].contains(&expected.as_str()), "{name}");
        assert!(seen.insert((file.clone(), flags.clone(), model.clone())), "{name} is there twice");
        // What is as under SC holds, because it does there.
        assert!(!robust || expected == "holds", "{name}");
        assert!(model != "sc" || *robust, "{name}");
        assert_eq!(lines.is_empty(), expected != "fails", "{name}");
        let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let asserts = |line: &&usize| text.lines().nth(**line - 1).is_some_and(|text| text.contains("assert("));
        assert_eq!(lines.iter().filter(asserts).count(), lines.len(), "{name}: {lines:?}");
    }
    // Each program is there, right and broken, under each model; the broken one fails somewhere, the right one nowhere.
    let mut programs = 0;
    for entry in std::fs::read_dir(root().join("corpus/weak")).expect("the corpus") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        let file = format!("corpus/weak/{name}");
        if !name.ends_with(".c") {
            continue;
        }
        programs += 1;
        for flags in ["", "-DBROKEN"] {
            let mine: Vec<&Row> = rows.iter().filter(|row| row.file == file && row.flags == flags).collect();
            let models: Vec<&str> = mine.iter().map(|row| row.model.as_str()).collect();
            assert_eq!(models, MODELS, "{file} {flags}");
            assert_eq!(mine.iter().any(|row| row.expected != "holds"), flags == "-DBROKEN", "{file} {flags}");
        }
    }
    assert!(programs >= 19, "{programs} programs");
}

/// What is wrong with the answer to a row.
fn problem(row: &Row) -> Result<(), String> {
    let file = root().join(&row.file);
    let mut args = vec!["verify", file.to_str().expect("UTF-8"), "--model", &row.model, "--format", "json", "--"];
    args.extend(row.flags.split_whitespace());
    let ran = run(&args);
    let report: Value = serde_json::from_str(&ran.out).map(common::only).map_err(|_| ran.out + &ran.err)?;
    let races = report["errors"].as_array().into_iter().flatten().any(|error| error["kind"] == "race");
    let expected = match row.expected.as_str() {
        "holds" => "safe",
        "race" => "race",
        _ => "fails",
    };
    if if expected == "race" { !races } else { report["verdict"] != expected } {
        let why = [&report["incomplete"], &report["weak"], &report["failures"][0]["message"], &report["errors"]];
        return Err(format!("{}, not {expected}: {why:?}", report["verdict"]));
    }
    if (report["violations"].as_array().map_or(0, Vec::len) == 0) != row.robust && expected != "race" {
        return Err(format!("robust or not: {}", report["violations"]));
    }
    if expected == "fails" {
        let failure = &report["failures"][0];
        if failure["certified"] != true || failure["steps"].as_array().is_none_or(Vec::is_empty) {
            return Err(format!("{failure}"));
        }
        // It may be in memory that no interleaving shares, of which a replay has to find out.
        let schedule = failure["schedule"].as_str().unwrap_or_default();
        let mut again = vec!["replay", file.to_str().expect("UTF-8"), schedule, "--model", &row.model, "--"];
        again.extend(row.flags.split_whitespace());
        let ran = run(&again);
        if ran.code != 0 {
            return Err(format!("`{schedule}` cannot be replayed: {}", ran.err));
        }
        let message = failure["message"].as_str().unwrap_or_default();
        let lines = failure["stack"].as_array().into_iter().flatten().filter_map(|frame| frame["line"].as_u64());
        let is_expected = lines.into_iter().any(|line| row.lines.contains(&(line as usize)));
        if message.contains("assertion") && !is_expected {
            return Err(format!("another assertion: {failure}"));
        }
    }
    Ok(())
}

/// Compares one row of this many.
fn compare(of: usize) {
    let rows: Vec<Row> = rows().into_iter().filter(|row| row.model != "sc").step_by(of).collect();
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(problem) = problem(row) {
                        let name = format!("{} {} {}", row.file, row.flags, row.model);
                        problems.lock().expect("no panic").push(format!("{name}: {problem}"));
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().expect("no panic");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Its failing execution is one of those that share more memory than any interleaving does.
#[test]
fn regression_memory_that_only_weak_executions_share() {
    let rows = rows().into_iter().filter(|row| row.file.ends_with("hash-resize.c") && row.expected == "fails");
    let problems: Vec<String> = rows.filter_map(|row| problem(&row).err()).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn some_algorithms_do_what_is_expected_of_them() {
    compare(10);
}

#[test]
#[ignore = "long"]
fn every_algorithm_does_what_is_expected_of_it() {
    compare(1);
}

/// Checks `corpus/weak/errors` with these compilers and levels: each kind of error happens under the model only, and is told as what
/// it is; in the right program there is none.
fn kinds_of_errors(compilers: &[&str], levels: &[&str]) {
    let mut jobs = Vec::new();
    for entry in std::fs::read_dir(root().join("corpus/weak/errors")).expect("the corpus") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "c" || ending == "cpp") {
            for (compiler, level) in compilers.iter().flat_map(|cc| levels.iter().map(move |level| (*cc, *level))) {
                jobs.extend([false, true].map(|broken| (path.clone(), compiler, level, broken)));
            }
        }
    }
    assert_eq!(jobs.len(), 13 * 2 * compilers.len() * levels.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((path, compiler, level, broken)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    kind_of_error(path, compiler, level, *broken);
                }
            });
        }
    });
}

fn kind_of_error(path: &Path, compiler: &str, level: &str, broken: bool) {
    let text = std::fs::read_to_string(path).expect("a program");
    let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
    let (words, only) = (line("// fails: ").expect("what fails"), line("// models: "));
    let file = path.to_str().expect("UTF-8");
    let is_cpp = path.extension().is_some_and(|ending| ending == "cpp");
    let compiler = match (is_cpp, compiler) {
        (true, "clang") => "clang++",
        (true, _) => "g++",
        (false, compiler) => compiler,
    };
    let mut args = vec!["verify", file, "--model", "all", "--property", "errors", "--format", "json", "--cc", compiler];
    args.extend(["--", level]);
    args.extend(broken.then_some("-DBROKEN"));
    let ran = run(&args);
    let document: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{args:?}: {error}\n{}", ran.err));
    for report in document["results"].as_array().expect("results") {
        let model = report["model"].as_str().expect("a model");
        let name = format!("{file} {compiler} {level}, broken: {broken}, {model}");
        assert_eq!(report["errors"], Value::Array(Vec::new()), "{name}: never under SC");
        let fails = broken && only.is_none_or(|only| only == model);
        assert_eq!(report["verdict"], if fails { "fails" } else { "safe" }, "{name}: {}", report["incomplete"]);
        if fails {
            let failures = report["failures"].as_array().expect("failures");
            assert!(failures.iter().all(|failure| failure["certified"] == true), "{name}");
            let is_it = |failure: &Value| failure["message"].as_str().is_some_and(|message| message.contains(words));
            assert!(failures.iter().any(is_it), "{name}: {failures:?}");
        }
    }
    assert_eq!(ran.code, i32::from(broken), "{file}");
}

/// gcc merges the stores of neighbours after it has announced them, unless it is told not to.
#[test]
fn regression_results_that_an_optimiser_writes_at_once() {
    kind_of_error(&root().join("corpus/weak/errors/neighbours.c"), "gcc", "-O2", true);
}

#[test]
fn each_kind_of_error() {
    kinds_of_errors(&["gcc"], &["-O0"]);
}

#[test]
#[ignore = "long"]
fn each_kind_of_error_with_each_compiler() {
    kinds_of_errors(&["gcc", "clang"], &["-O0", "-O2"]);
}
