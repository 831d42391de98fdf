//! Every command runs and says what it should, on tiny traces. No timing is compared with anything.

use std::path::Path;
use std::process::Command;

fn run(directory: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_membar-bench"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code().unwrap_or_else(|| panic!("{stderr}"));
    assert_ne!(code, 2, "{stderr}");
    (code, String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn grid() {
    let directory = tempfile::tempdir().unwrap();
    let (code, out) = run(directory.path(), &["grid", "--quick", "--in-process", "--n", "300", "--p", "2,3"]);
    assert_eq!(code, 0);
    // 2 machines, 2 mixes, 2 p, 2 a.
    assert_eq!(out.lines().filter(|line| line.contains("allowed") && line.contains("yes")).count(), 16, "{out}");
    assert!(out.contains("16 of 16 decided"), "{out}");
}

#[test]
fn grid_corrupted_with_orders_as_markdown() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["grid", "--in-process", "--n=400", "--p=4", "--a=8", "--seeds=8", "--corrupt", "--orders"];
    let (_, out) = run(directory.path(), &[&arguments[..], &["--markdown", "--save"]].concat());
    assert!(
        out.lines().filter(|line| line.contains("| conflict |") && line.contains("forbidden")).count() >= 8,
        "{out}"
    );
    let saved: Vec<_> = std::fs::read_dir(directory.path().join("docs/benchmarks")).unwrap().collect();
    assert_eq!(saved.len(), 1);
    let text = std::fs::read_to_string(saved[0].as_ref().unwrap().path()).unwrap();
    assert!(text.starts_with("# Benchmarks of ") && text.contains("| machine | mix |"), "{text}");
}

#[test]
fn figures() {
    let directory = tempfile::tempdir().unwrap();
    let sizes = ["--n=200,400", "--at=300", "--p=2,4", "--a=4,8", "--seeds=2"];
    let (code, out) = run(directory.path(), &[&["figures", "--in-process"], &sizes[..]].concat());
    assert_eq!(code, 0);
    for part in ["Figure 6. % TOO found", "Figure 7.", "against n", "against p", "against a", "n=400", "p=4", "a=8"] {
        assert!(out.contains(part), "{part} is missing: {out}");
    }
}

#[test]
fn floors() {
    let directory = tempfile::tempdir().unwrap();
    // Whether they are met means nothing here.
    let (_, out) = run(directory.path(), &["floors", "--in-process", "--best-of=1", "--scale-down=2000"]);
    assert!(out.contains("50 traces of 17 lines") && out.contains("50 allowed"), "{out}");
    assert!(out.contains("reading, paper mix") && out.contains("write order given"), "{out}");
    assert!(out.contains("exhaustive, peterson, 2 rounds") && out.contains("dpor, peterson, 3 rounds"), "{out}");
}

#[test]
fn explore() {
    let directory = tempfile::tempdir().unwrap();
    let (code, out) = run(directory.path(), &["explore", "--quick", "--best-of=1"]);
    assert_eq!(code, 0);
    // 6 monitors a program, 2 programs; dpor has 3 of them, for 1 and for 2 workers.
    let rows = |program: &str, counted: &str| {
        out.lines().filter(|line| line.contains(program) && line.contains(&format!(" {counted} "))).count()
    };
    assert_eq!([rows("ring of 4", "2520"), rows("ring of 5", "31")], [6, 6], "{out}");
    assert_eq!(out.lines().filter(|line| line.contains("peterson, 1 round")).count(), 12, "{out}");
}

/// A program that answers as `membar` would.
#[cfg(unix)]
fn stand_in(directory: &Path, answer: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join("stand-in");
    std::fs::write(&path, format!("#!/bin/sh\ncat <<'END'\n{answer}\nEND\nexit 1\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn monitor() {
    let directory = tempfile::tempdir().unwrap();
    let said = "UNSAFE under tso  x.trace, trace 1 (line 1): 500 events, 2 threads, 256 addresses";
    let membar = stand_in(directory.path(), said);
    let sizes = ["--at=500", "--n=500", "--p=2,3", "--best-of=1", "--markdown"];
    let (code, out) = run(directory.path(), &[&["monitor", "--membar", &membar], &sizes[..]].concat());
    assert_eq!(code, 0);
    // 3 mixes, 2 p, 3 monitors; one length, 3 monitors.
    assert_eq!(out.lines().filter(|line| line.contains("unsafe under tso")).count(), 21, "{out}");
    assert!(out.contains("best line:") && out.contains("```text"), "{out}");
}

#[cfg(unix)]
#[test]
fn litmus() {
    let directory = tempfile::tempdir().unwrap();
    let membar = stand_in(directory.path(), "Test SB Allowed\nStates 4\n\nTest MP Allowed\nStates 3");
    let (code, out) = run(directory.path(), &["litmus", "some", "--passes=2", "--best-of=1", "--membar", &membar]);
    assert_eq!(code, 0);
    assert!(["sc ", "tso ", "pso "].iter().all(|model| out.contains(&format!("\n  {model}"))), "{out}");
    assert!(out.contains("Tests of some"), "{out}");
}

#[test]
fn written_interleavings_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.trace");
    let out = file.to_str().unwrap();
    run(directory.path(), &["write-interleaving", "--mix=interlocked", "--n=100", "--p=3", "--a=5", "--out", out]);
    let traces = membar_trace::parse("one.trace", &std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((traces.len(), traces[0].len(), traces[0].threads()), (1, 100, 3));
}

#[test]
fn written_traces_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("one.trace");
    let out = file.to_str().unwrap();
    let arguments =
        ["write", "--machine=pso", "--mix=loads-stores", "--n=100", "--p=3", "--a=5", "--orders", "--finals"];
    run(directory.path(), &[&arguments[..], &["--corrupt=1", "--out", out]].concat());
    let text = std::fs::read(&file).unwrap();
    let traces = membar_trace::parse("one.trace", &text).unwrap();
    assert_eq!((traces.len(), traces[0].len(), traces[0].threads()), (1, 100, 3));
    assert!(!traces[0].orders.is_empty() && !traces[0].finals.is_empty());
}

#[test]
fn deep_buffers_change_what_is_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let [usual, deep] = ["usual", "deep"].map(|name| directory.path().join(name));
    let arguments = ["write", "--machine=wmo", "--mix=stores-loads", "--n=400", "--p=4", "--a=9"];
    run(directory.path(), &[&arguments[..], &["--out", usual.to_str().unwrap()]].concat());
    run(directory.path(), &[&arguments[..], &["--buffer=64", "--out", deep.to_str().unwrap()]].concat());
    assert_ne!(std::fs::read(&usual).unwrap(), std::fs::read(&deep).unwrap());
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn native() {
    let directory = tempfile::tempdir().unwrap();
    let (code, out) = run(directory.path(), &["native", "--quick"]);
    assert_eq!(code, 0);
    for part in ["dekker, N=1", "random", "bounded", "dpor", "ns a reset", "10000", "the libraries"] {
        assert!(out.contains(part), "{part} is missing: {out}");
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn results() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["results", "--only=dekker,msn", "--out=results.md"];
    let (code, out) = run(directory.path(), &arguments);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("The shape agrees"), "{out}");
    let text = std::fs::read_to_string(directory.path().join("results.md")).unwrap();
    assert!(text.contains("| msn-fixed |") && text.contains("| dekker | 60 | 79 |"), "{text}");
}

#[test]
fn detect() {
    let directory = tempfile::tempdir().unwrap();
    let (code, out) = run(directory.path(), &["detect", "--rounds", "1", "--tests", "40"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("Every bug was found."), "{out}");
    // The machines that have the bug.
    for (bug, machines) in [("stale-forward", 1), ("dropped-dirty", 3), ("stale-region", 1)] {
        assert_eq!(
            out.lines()
                .filter(|line| line.split_whitespace().next().is_some_and(|name| name.ends_with(&format!("+{bug}"))))
                .count(),
            2 * machines,
            "rows of {bug} in two tables: {out}"
        );
    }
}
