//! Progress: on a terminal, after two seconds, with the time left where it is known; nothing where nobody watches.
#![cfg(target_os = "linux")]

use crate::common;

use common::Files;
use std::process::{Command, Stdio};

/// Too many interleavings to be explored.
fn large() -> String {
    let row =
        |n: usize| (0..4).map(|t| format!("MOV [v{}],${n}", (t + n) % 4)).collect::<Vec<_>>().join(" | ") + " ;\n";
    format!("X86 large\n{{ }}\n P0 | P1 | P2 | P3 ;\n{}exists (v0=1)\n", (1..8).map(row).collect::<String>())
}

/// The command's display in a terminal of 120 columns, and its output on standard error without one.
fn shown(files: &Files, args: &str) -> (String, String) {
    let line = format!("{} {args}", env!("CARGO_BIN_EXE_membar"));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(files.0.path()).env("COLUMNS", "120").stdin(Stdio::null());
    let terminal = script.output().expect("script, of bsdutils");
    let piped = files.run(&args.split(' ').collect::<Vec<_>>());
    (String::from_utf8_lossy(&terminal.stdout).into_owned(), piped.err)
}

fn assert_drawn(terminal: &str, parts: &[&str]) {
    let lines: Vec<&str> = terminal.split("\r\x1b[K").skip(1).filter(|line| !line.is_empty()).collect();
    assert!(lines.iter().any(|line| parts.iter().all(|part| line.contains(part))), "{parts:?}: {terminal}");
    // It is taken away before the answer, and never wider than the terminal.
    let answer = lines.last().unwrap();
    assert!(!parts.iter().all(|part| answer.contains(part)), "{terminal}");
    assert!(lines.iter().all(|line| line.split(['\r', '\n']).next().unwrap().chars().count() < 120), "{terminal}");
}

#[test]
fn a_campaign_knows_how_much_is_left() {
    let files = Files::new(&[]);
    let (terminal, piped) = shown(&files, "simulate --machine tso --time 4s --tests 100000000");
    assert_drawn(&terminal, &["tso  [", "] ", " %, about 0:0", " left  ", " tests, "]);
    assert_eq!(piped, "");
}

#[test]
#[ignore = "long"]
fn a_search_says_what_it_knows() {
    let files = Files::new(&[("large.litmus", large().as_bytes())]);
    let (terminal, piped) = shown(&files, "verify large.litmus --time 3s");
    assert_drawn(&terminal, &["large.litmus  0:0", " of at most 0:03  ", " classes, ", " in all"]);
    // A guess, or a word that there is none.
    let guess = terminal.contains(" classes in all (± ");
    assert!(guess || terminal.contains("no idea yet how many in all"), "{terminal}");
    assert_eq!(piped, "");
    let args = "verify large.litmus --time 3s --strategy random --executions 100000000";
    let (terminal, piped) = shown(&files, args);
    assert_drawn(&terminal, &["large.litmus  [", " %", " interleavings, "]);
    assert_eq!(piped, "");
}

#[test]
fn input_that_does_not_come_is_waited_for_aloud() {
    let files = Files::new(&[("t.trace", common::SB.as_bytes())]);
    let line = format!("(sleep 3; cat t.trace) | {} check -", env!("CARGO_BIN_EXE_membar"));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(files.0.path()).env("COLUMNS", "120").stdin(Stdio::null());
    let terminal = script.output().expect("script, of bsdutils");
    let terminal = String::from_utf8_lossy(&terminal.stdout).into_owned();
    assert_drawn(&terminal, &["<stdin>  0:02"]);
    assert!(terminal.contains("by tso"), "{terminal}");
}
