//! Runs the real binary.
#![allow(dead_code)]

use membar_simulate::{Machine, Mix, Observe, Workload, simulate};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Store buffering: forbidden by sc, allowed by the others.
pub const SB: &str = "0: x := 1\n0: y == 0\n1: y := 1\n1: x == 0\ncheck\n";
/// Allowed by every model.
pub const FINE: &str = "0: x := 1\n1: x == 1\ncheck\n";
/// Forbidden by every model.
pub const BAD: &str = "0: x == 1\n0: x := 1\ncheck\n";
/// Malformed.
pub const MALFORMED: &str = "0: x = 1\ncheck\n";

/// The result of a run.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// The compilers of this machine. Both are what users have; a missing one is said.
pub fn compilers() -> Vec<&'static str> {
    let installed = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    let (found, missing): (Vec<_>, Vec<_>) = ["gcc", "clang"].into_iter().partition(|name| installed(name));
    for name in missing {
        eprintln!("SKIPPED: {name} is not installed, so nothing is known about it");
    }
    assert!(!found.is_empty(), "there is no compiler");
    found
}

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_membar"));
    command.env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

fn finished(output: std::process::Output) -> Ran {
    Ran {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs with these arguments and nothing on standard input.
pub fn run(args: &[&str]) -> Ran {
    finished(command().args(args).stdin(Stdio::null()).output().expect("it runs"))
}

/// The same in a directory.
pub fn run_in(directory: &Path, args: &[&str]) -> Ran {
    finished(command().args(args).current_dir(directory).stdin(Stdio::null()).output().expect("it runs"))
}

/// Runs with this text on standard input.
pub fn run_with(args: &[&str], input: &[u8]) -> Ran {
    let mut child = spawn(args);
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = stdin.write_all(input);
        });
        finished(child.wait_with_output().expect("it runs"))
    })
}

/// Starts it with all three standard streams as pipes.
pub fn spawn(args: &[&str]) -> Child {
    command().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// The data of a page, which is not too large.
pub fn page_data(path: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(path).expect("a page");
    assert!(text.len() <= 5_000_000, "{} bytes", text.len());
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"));
    let (_, rest) = text.split_once("id=\"data\" nonce=\"membar\">").expect("data");
    let (json, _) = rest.split_once("</script>").expect("an end");
    serde_json::from_str(json).expect("JSON")
}

/// A directory with files in it.
pub struct Files(pub tempfile::TempDir);

impl Files {
    pub fn new(files: &[(&str, &[u8])]) -> Files {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, bytes) in files {
            std::fs::write(directory.path().join(name), bytes).expect("a file");
        }
        Files(directory)
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        run_in(self.0.path(), args)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Too large to be decided in no time.
pub fn hard_trace() -> String {
    let work = Workload { threads: 4, addresses: 8, ops: 20_000, mix: Mix::LOADS_STORES, seed: 1 };
    let mut text = Vec::new();
    membar_trace::write_trace(&simulate(&work, Machine::Tso, Observe::default()), &mut text).expect("a trace");
    String::from_utf8(text).expect("UTF-8")
}

/// Standard output without times, which differ from run to run.
pub fn timeless(ran: &Ran) -> String {
    let mut text = String::new();
    for line in ran.out.lines() {
        match line.split_once(", 0.") {
            Some((before, after)) if line.contains("Seen:") => {
                let after = after.split_once(" s").map_or("", |(_, after)| after);
                text += &format!("{before}, TIME{}\n", secondless(after));
            }
            _ => text += &format!("{}\n", secondless(line)),
        }
    }
    text
}

/// A line without the time at its end.
pub fn secondless(line: &str) -> String {
    match line.rsplit_once('(') {
        Some((before, time)) if time.starts_with(|c: char| c.is_ascii_digit()) && time.ends_with(" s)") => {
            format!("{before}(TIME)")
        }
        _ => line.to_owned(),
    }
}

/// The result of a document that has one, and nothing else.
pub fn only(document: serde_json::Value) -> serde_json::Value {
    let none = document["errors"].as_array().is_none_or(Vec::is_empty);
    match document["results"].as_array().map(Vec::as_slice) {
        Some([one]) if none => one.clone(),
        _ => document,
    }
}
