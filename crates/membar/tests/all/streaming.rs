//! Answers while the input is still open, closed pipes, and the interrupt key.

use crate::common;

use common::{BAD, FINE, run_with, spawn};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

#[test]
fn each_trace_is_answered_as_its_check_line_arrives() {
    for jobs in ["1", "2"] {
        let mut child = spawn(&["check", "-", "--format", "axe", "--jobs", jobs]);
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut answers = BufReader::new(stdout).lines();
        for (text, answer) in [(FINE, "OK"), (BAD, "NO"), (FINE, "OK")] {
            stdin.write_all(text.as_bytes()).unwrap();
            assert_eq!(answers.next().unwrap().unwrap(), answer);
        }
        drop(stdin);
        assert!(answers.next().is_none());
        assert_eq!(child.wait().unwrap().code(), Some(1));
    }
}

#[test]
fn compressed_standard_input() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(FINE.repeat(2).as_bytes()).unwrap();
    let ran = run_with(&["check", "-", "--format", "axe"], &gz.finish().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (0, "OK\nOK\n"));
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    for format in ["axe", "text", "json"] {
        for jobs in ["1", "2"] {
            let mut child = common::command()
                .args(["check", "-", "--format", format, "--jobs", jobs])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            stdin.write_all(FINE.as_bytes()).unwrap();
            stdout.read_exact(&mut [0]).unwrap();
            drop(stdout);
            // It may stop reading at any time.
            let _ = stdin.write_all(FINE.repeat(10_000).as_bytes());
            drop(stdin);
            let output = child.wait_with_output().unwrap();
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{format}");
            assert_eq!(output.status.code(), Some(0), "{format}");
        }
    }
}

#[cfg(unix)]
mod interrupt {
    use super::*;
    use membar_testkit::figures::implied_orders;
    use std::process::{Child, Command};
    use std::time::Duration;

    fn press(child: &Child) {
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    }

    /// A trace that takes very long to decide.
    fn endless() -> Vec<u8> {
        let n = 40;
        let ring: Vec<(u32, u32)> = (0..n).map(|i| (i, (i + 1) % n)).collect();
        let mut text = Vec::new();
        membar_trace::write_trace(&implied_orders(n, &ring), &mut text).unwrap();
        text
    }

    #[test]
    fn ends_a_decision() {
        for (before, code) in [(FINE, 3), (BAD, 1)] {
            let mut child = spawn(&["check", "-", "--format", "axe", "--time", "none"]);
            let mut stdin = child.stdin.take().unwrap();
            let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
            stdin.write_all(before.as_bytes()).unwrap();
            answers.next().unwrap().unwrap();
            stdin.write_all(&endless()).unwrap();
            std::thread::sleep(Duration::from_millis(500));
            press(&child);
            assert_eq!(answers.next().unwrap().unwrap(), "UNDECIDED");
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(code));
            let err = String::from_utf8(output.stderr).unwrap();
            assert!(err.starts_with("interrupted after 2 traces: "), "{err}");
            drop(stdin);
        }
    }

    #[test]
    fn ends_waiting_for_input() {
        let mut child = spawn(&["check", "-", "--format", "json"]);
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdin.write_all(FINE.as_bytes()).unwrap();
        stdin.write_all(b"0: x :=").unwrap();
        let mut text = String::new();
        stdout.read_line(&mut text).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        press(&child);
        stdout.read_to_string(&mut text).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "interrupted after 1 trace: 1 allowed, 0 forbidden\n");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["results"].as_array().unwrap().len(), 1);
        drop(stdin);
    }
}
