//! The files in `examples/` run, and say what their text promises. `cargo test` has compiled them beside this test.

use std::path::PathBuf;
use std::process::Command;

/// Each example, and what it prints somewhere.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "check_a_trace",
        &[
            "trace 1: forbidden by sc",
            "trace 1: allowed by tso",
            "trace 2: allowed by pso",
            "3 tampered proofs, all refused",
        ],
    ),
    ("explain_an_answer", &["FORBIDDEN by tso", "\nThe cycle has ", "\nAs JSON: ", "\nAs a page: "]),
    ("run_a_monitor", &["UNSAFE under tso", "UNSAFE under pso", "(enter 0)"]),
    ("run_a_campaign", &["forbidden after ", "1 violation found: mesi-tso+stale-forward against tso", "\ncheck"]),
    ("verify_a_c_program", C_PROGRAM),
    ("verify_a_litmus_test", &["MP under tso: Safe", "MP under pso: Unsafe", "certified: true", "the buffer of P0"]),
    (
        "explore_rust_code",
        &["fences: false, tso: Unsafe", "fences: true, tso: Safe", "fences: true, pso: Safe", "certified: true"],
    ),
    ("stress_a_machine", &["mesi-tso+stale-forward, seed 1", "forbidden\nthe ", "this machine: allowed"]),
];

const C_PROGRAM: &[&str] = if cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
    &["tso: fails, ", "pso: fails, ", "fences that repair it: 1"]
} else {
    &["x86-64 Linux only"]
};

fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("it is in target/PROFILE/deps");
    profile.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

#[test]
fn every_example_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, expected) in EXAMPLES {
        let ran = Command::new(built(name)).current_dir(directory.path()).output();
        let ran = ran.unwrap_or_else(|error| panic!("{name}: {error}: `cargo test -p membar` builds it"));
        let out = String::from_utf8(ran.stdout).expect("UTF-8");
        assert!(ran.status.success(), "{name}: {out}{}", String::from_utf8_lossy(&ran.stderr));
        for line in *expected {
            assert!(out.contains(line), "{name} does not say {line:?}:\n{out}");
        }
        assert!(!out.contains("certified: false"), "{name}:\n{out}");
    }
}

#[test]
fn every_example_is_listed() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut there: Vec<String> = std::fs::read_dir(directory)
        .expect("there are examples")
        .map(|entry| entry.expect("a file").path().file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    let mut listed: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
    there.sort();
    listed.sort_unstable();
    assert_eq!(there, listed);
}
