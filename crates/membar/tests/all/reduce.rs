//! The programs of `corpus/reduce`: exploring less must not change an answer. Each is a trap for a reduction, or shows what it is for.
//!
//! Their first lines say which answer they have (`expect`), whether threads that are alike are explored up to renaming (`counts`:
//! `same` or `fewer`), and how many classes there are at most (`classes`).
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common;

use common::run;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn programs() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/reduce");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&corpus).expect("the corpus").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind != "h"));
    files.sort();
    assert!(files.len() > 50, "only {} programs", files.len());
    files
}

/// An answer: the verdict, the errors with their places, whatever the number of the thread, and how many classes.
struct Answer {
    verdict: String,
    errors: BTreeSet<String>,
    classes: u64,
}

fn answer(file: &Path, compiler: &str, level: &str, options: &[&str]) -> Result<Answer, String> {
    let mut args = vec!["verify", file.to_str().expect("UTF-8"), "--cc", compiler, "--format", "json", "--time", "60s"];
    args.extend(options);
    args.extend(["--", level]);
    let ran = run(&args);
    let report: Value = serde_json::from_str(&ran.out).map(common::only).map_err(|_| ran.out + &ran.err)?;
    let error = |error: &Value| {
        let message = error["message"].as_str().unwrap_or("").lines().next().unwrap_or("").to_owned();
        // A deadlock names its threads.
        let text = if error["kind"] == "deadlock" { "deadlock" } else { &message };
        let text = text.split(": ").last().unwrap_or("");
        // A race names the access first that comes first in the execution.
        let mut parts: Vec<&str> = text.split(", ").map(|part| part.trim_start_matches("and ")).collect();
        if error["kind"] == "race" {
            parts.sort_unstable();
        }
        parts.join(", ")
    };
    // Reductions are about SC executions: whatever those of the model do, there is a violation then.
    let verdict = if report["weak"].is_object() { "unsafe" } else { report["verdict"].as_str().unwrap_or("none") };
    Ok(Answer {
        verdict: verdict.to_owned(),
        errors: report["errors"].as_array().into_iter().flatten().map(error).collect(),
        classes: report["interleavings"].as_u64().unwrap_or(0),
    })
}

/// What is wrong with the answers about a program, if `all` with and without reductions.
fn problem(file: &Path, compiler: &str, level: &str, all: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(file).expect("UTF-8");
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let options: Vec<&str> = line("// options:").unwrap_or("").split_whitespace().collect();
    let usual = answer(file, compiler, level, &options)?;
    let expected = line("// expect:").expect("an expected answer");
    if usual.verdict != expected {
        return Err(format!("{}, not {expected}", usual.verdict));
    }
    let most = line("// classes:").map_or(u64::MAX, |most| most.parse().expect("a number"));
    if usual.classes > most {
        return Err(format!("{} classes, not {most}", usual.classes));
    }
    if !all {
        return Ok(());
    }
    let apart = answer(file, compiler, level, &[&options[..], &["--no-symmetry"]].concat())?;
    let strict = answer(file, compiler, level, &[&options[..], &["--strict", "--no-symmetry"]].concat())?;
    for (other, how) in [(&apart, "--no-symmetry"), (&strict, "--strict")] {
        if (&other.verdict, &other.errors) != (&usual.verdict, &usual.errors) {
            return Err(format!(
                "{} {:?}, and with {how} {} {:?}",
                usual.verdict, usual.errors, other.verdict, other.errors
            ));
        }
    }
    match line("// counts:") {
        Some("same") if usual.classes == apart.classes => Ok(()),
        Some("fewer") if usual.classes < apart.classes => Ok(()),
        None => Ok(()),
        Some(counts) => Err(format!("{} classes, {} without symmetry: not {counts}", usual.classes, apart.classes)),
    }
}

fn all_are_right(files: &[PathBuf], compilers: &[&str], levels: &[&str], all: bool) {
    let installed = |cc: &&&str| Command::new(cc).arg("--version").output().is_ok();
    let compilers: Vec<&str> = compilers.iter().filter(installed).copied().collect();
    assert!(!compilers.is_empty(), "no compiler is installed");
    let ways = compilers.iter().flat_map(|cc| levels.iter().map(move |level| (*cc, *level)));
    let cases: Vec<_> = ways.flat_map(|way| files.iter().map(move |file| (way, file))).collect();
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(((compiler, level), file)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(problem) = problem(file, compiler, level, all) {
                        let name = file.file_name().unwrap_or_default().to_string_lossy();
                        problems.lock().expect("no panic").push(format!("{name} {compiler} {level}: {problem}"));
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().expect("no panic");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn answers_do_not_depend_on_reductions() {
    let files: Vec<PathBuf> = programs().into_iter().step_by(8).collect();
    all_are_right(&files, &["gcc"], &["-O1"], true);
}

#[test]
#[ignore = "long"]
fn answers_never_depend_on_reductions() {
    all_are_right(&programs(), &["gcc", "clang"], &["-O0", "-O1", "-O2"], true);
}
