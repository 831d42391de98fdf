//! Libraries as they are packaged, with harnesses in `corpus/real`. Catches what no other test does: code that nobody wrote for
//! membar.
//!
//! A harness whose package or compiler is not installed is listed as not tried, and does not count as passed; therefore
//! this test has no harness.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))) {
        println!("not tried: C and C++ programs are run on x86-64 Linux only");
        return ExitCode::SUCCESS;
    }
    if !std::env::args().any(|arg| arg == "--ignored" || arg == "--include-ignored") {
        println!("ignored, long: `cargo test -p membar --test real_code -- --ignored` runs it");
        return ExitCode::SUCCESS;
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/real");
    let files = std::fs::read_dir(&corpus).expect("the corpus").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|end| end != "md")).collect();
    files.sort();
    assert!(files.len() > 10, "only {} harnesses", files.len());
    let (mut passed, mut failed, mut untried) = (0, 0, 0);
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for compiler in ["gcc", "clang"] {
            match verified(file, compiler) {
                Ok(()) => passed += 1,
                Err(Problem::Missing(what)) => {
                    println!("not tried: {name} with {compiler} needs {what}");
                    untried += 1;
                }
                Err(Problem::Wrong(what)) => {
                    println!("FAILED: {name} with {compiler}: {what}");
                    failed += 1;
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed, {untried} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

enum Problem {
    /// Something is not installed.
    Missing(String),
    /// The answer is not the expected one.
    Wrong(String),
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Verifies a harness under each model that its first lines name.
fn verified(file: &Path, compiler: &str) -> Result<(), Problem> {
    let text = std::fs::read_to_string(file).expect("UTF-8");
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map_or("", str::trim);
    let package = line("// package:");
    if !succeeds(Command::new(compiler).arg("--version")) {
        return Err(Problem::Missing(compiler.into()));
    }
    if !succeeds(Command::new("dpkg").args(["-s", package])) {
        return Err(Problem::Missing(format!("the package {package}")));
    }
    let mut flags: Vec<String> = line("// flags:").split_whitespace().map(str::to_owned).collect();
    let wanted = line("// pkg-config:");
    if !wanted.is_empty() {
        let output = Command::new("pkg-config").args(["--cflags", "--libs", wanted]).output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            return Err(Problem::Missing("pkg-config".into()));
        };
        flags.extend(String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned));
    }
    let expected = line("// expect:");
    let (models, kind): (Vec<(&str, &str)>, &str) = match expected.split_once(": ") {
        Some((kind, text)) => (vec![("tso", text)], kind),
        None => (expected.split_whitespace().filter_map(|word| word.split_once('=')).collect(), "verdict"),
    };
    assert!(!models.is_empty(), "{} expects nothing", file.display());
    for (model, wanted) in models {
        let mut verify = Command::new(env!("CARGO_BIN_EXE_membar"));
        verify.args(["verify", "--time", "60s", "--format", "json", "--cc", compiler, "--model", model]).arg(file);
        let output = verify.arg("--").args(&flags).output().expect("membar runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let document: Value = serde_json::from_str(&out).unwrap_or_default();
        let report = document["results"][0].clone();
        let right = match kind {
            // It may be known what goes wrong.
            "verdict" => report["verdict"] == wanted || wanted == "unsafe" && report["verdict"] == "fails",
            "undecided" => output.status.code() == Some(3) && format!("{out}{err}").contains(wanted),
            _ => report["verdict"] == "error" && out.contains(wanted),
        };
        if !right {
            let said = (&report["verdict"], &report["incomplete"], &report["errors"]);
            return Err(Problem::Wrong(format!("{model}: {said:?} {err}")));
        }
    }
    Ok(())
}
