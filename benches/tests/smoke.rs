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
