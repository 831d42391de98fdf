//! The programs of `corpus/programs`, each with the answer that its first line expects. Catches what no other test does: something
//! that C, C++, POSIX or a hostile program can do and that the runner gets wrong.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common;

use common::{Ran, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The settings in the comments at the beginning of a program: the answer, flags of the compiler, flags of membar.
struct Wanted {
    expect: String,
    flags: Vec<String>,
    options: Vec<String>,
}

fn wanted(file: &Path) -> Wanted {
    let text = std::fs::read_to_string(file).expect("UTF-8");
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut options = Vec::new();
    for word in words(line("// driver:").unwrap_or("")) {
        match word.split_once(':') {
            Some(("bounded", n)) => options.extend(["bounded".into(), "--preemptions".into(), n.to_owned()]),
            Some(("random", n)) => options.extend(["random".into(), "--executions".into(), n.to_owned()]),
            _ => options.push(word),
        }
    }
    // A program that one compiler only compiles as it should.
    if let Some(compiler) = line("// only:") {
        options.extend(["--cc".into(), compiler.to_owned()]);
    }
    Wanted {
        expect: line("// expect:").unwrap_or_else(|| panic!("{} expects nothing", file.display())).into(),
        flags: words(line("// flags:").unwrap_or("")),
        options,
    }
}

fn verify(file: &Path, model: &str, wanted: &Wanted, property: &str) -> Ran {
    let mut args =
        vec!["verify", file.to_str().expect("UTF-8"), "--model", model, "--format", "json", "--time", "120s"];
    args.extend(["--property", property]);
    args.extend(wanted.options.iter().map(String::as_str));
    args.push("--");
    args.extend(wanted.flags.iter().map(String::as_str));
    run(&args)
}

/// The fault in the answers, if there is one.
fn problem(file: &Path) -> Option<String> {
    let wanted = wanted(file);
    if wanted.options.iter().any(|option| option == "clang") && Command::new("clang").arg("--version").output().is_err()
    {
        eprintln!("SKIPPED: {} needs clang, which is not installed", file.display());
        return None;
    }
    if let Some(why) = wanted.expect.strip_prefix("undecided:") {
        let ran = verify(file, "tso", &wanted, "robust");
        let Ok(report) = serde_json::from_str::<Value>(&ran.out).map(common::only) else {
            return Some(ran.out + &ran.err);
        };
        let said = report["incomplete"].as_str().is_some_and(|said| said.contains(why.trim()));
        return (ran.code != 3 || !said).then(|| format!("exit code {}: {}", ran.code, report["incomplete"]));
    }
    if let Some(error) = wanted.expect.strip_prefix("error: ") {
        let ran = verify(file, "tso", &wanted, "robust");
        let Ok(report) = serde_json::from_str::<Value>(&ran.out).map(common::only) else {
            return Some(ran.out + &ran.err);
        };
        let found = report["errors"].as_array().is_some_and(|errors| {
            errors.iter().any(|found| format!("{} {}", found["kind"], found["message"]).contains(error))
        });
        return (ran.code != 1 || !found).then(|| format!("exit code {}: {}", ran.code, report["errors"]));
    }
    for expected in wanted.expect.split_whitespace() {
        let (model, verdict) = expected.split_once('=').expect("model=verdict");
        let property = if matches!(verdict, "fails" | "harmless") { "errors" } else { "robust" };
        let ran = verify(file, model, &wanted, property);
        let Ok(report) = serde_json::from_str::<Value>(&ran.out).map(common::only) else {
            return Some(ran.out + &ran.err);
        };
        let code = match verdict {
            "safe" | "harmless" => 0,
            "unsafe" | "fails" => 1,
            _ => 3,
        };
        let fails = verdict == "unsafe" && report["verdict"] == "fails";
        let harmless = verdict == "harmless" && report["verdict"] == "safe" && !report["weak"].is_null();
        if report["verdict"] != verdict && !fails && !harmless || ran.code != code {
            return Some(format!("{model}: {} (exit code {}) {}", report["verdict"], ran.code, report["errors"]));
        }
    }
    None
}

#[test]
#[ignore = "long"]
fn every_program_has_the_expected_answer() {
    expected_answers(1);
}

#[test]
fn some_programs_have_the_expected_answer() {
    expected_answers(16);
}

/// One program of this many has the answer that it expects.
fn expected_answers(of: usize) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/programs");
    let files = std::fs::read_dir(&corpus).expect("the corpus").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|end| end != "md")).collect();
    files.sort();
    assert!(files.len() > 100, "only {} programs", files.len());
    let files: Vec<PathBuf> = files.into_iter().step_by(of).collect();
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(problem) = problem(file) {
                        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                        problems.lock().expect("no panic").push(format!("{name}: {problem}"));
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().expect("no panic");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Programs that say how many classes they have at most: loops that wait are recognised whatever the compiler makes of them.
#[test]
#[ignore = "long"]
fn waiting_loops_have_few_classes_with_every_compiler() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/programs");
    let files = std::fs::read_dir(&corpus).expect("the corpus").map(|entry| entry.expect("an entry").path());
    let mut tried = 0;
    for file in files.filter(|file| file.extension().is_some_and(|end| end == "c")) {
        let text = std::fs::read_to_string(&file).expect("UTF-8");
        let Some(most) = text.lines().find_map(|line| line.strip_prefix("// classes: ")) else { continue };
        let most: u64 = most.parse().expect("a number");
        for (compiler, level) in ["gcc", "clang"].into_iter().flat_map(|cc| ["-O0", "-O1", "-O2"].map(|o| (cc, o))) {
            if Command::new(compiler).arg("--version").output().is_err() {
                eprintln!("SKIPPED: {compiler} is not installed");
                continue;
            }
            let ran = run(&[
                "verify",
                file.to_str().expect("UTF-8"),
                "--cc",
                compiler,
                "--format",
                "json",
                "--time",
                "60s",
                "--",
                level,
            ]);
            let report: Value =
                common::only(serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err)));
            let classes = report["interleavings"].as_u64().expect("a number");
            assert!(
                report["verdict"] == "safe" && classes <= most,
                "{} {compiler} {level}: {report:#}",
                file.display()
            );
            tried += 1;
        }
    }
    assert!(tried > 20, "only {tried}");
}
