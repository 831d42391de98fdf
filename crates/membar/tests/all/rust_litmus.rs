//! The classic shapes of `corpus/rust`, and the same as litmus tests: the same classes, the same verdicts. Catches what no other test does: an order,
//! a fence or a step that the compiled program has and its source does not.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common::run;
use crate::rust::{all, is_ready};
use serde_json::Value;
use std::path::Path;

/// The litmus test of a program whose threads are lists of accesses, if it is one.
fn litmus(text: &str) -> Option<String> {
    let order = |line: &str| {
        let name = line.split("Ordering::").nth(1)?.split(')').next()?;
        let names = [("Relaxed", "relaxed"), ("Acquire", "acquire"), ("Release", "release"), ("AcqRel", "acq_rel")];
        let all = names.into_iter().chain([("SeqCst", "seq_cst")]);
        all.into_iter().find(|(rust, _)| *rust == name).map(|(_, c)| format!("memory_order_{c}"))
    };
    let mut variables: Vec<&str> = Vec::new();
    let mut threads: Vec<Vec<String>> = Vec::new();
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("static ") {
            variables.push(rest.split_once(": AtomicU32 = AtomicU32::new(0);")?.0);
        } else if line.starts_with("let t") && line.ends_with("= thread::spawn(|| {") {
            (inside, _) = (true, threads.push(Vec::new()));
        } else if line == "});" {
            inside = false;
        } else if inside {
            let thread = threads.last_mut()?;
            let (read, access) = line.strip_prefix("let _ = ").map_or((false, line), |access| (true, access));
            let order = order(access)?;
            let number = thread.len();
            thread.push(match access.split_once('(')? {
                ("fence", _) => format!("atomic_thread_fence({order});"),
                (call, arguments) => {
                    let value = arguments.split(',').next()?;
                    match call.split_once('.')? {
                        (x, "load") => format!("int r{number} = atomic_load_explicit({x}, {order});"),
                        (x, "store") if !read => format!("atomic_store_explicit({x}, {value}, {order});"),
                        (x, "swap") => format!("int r{number} = atomic_exchange_explicit({x}, {value}, {order});"),
                        _ => return None,
                    }
                }
            });
        } else if !["", "}", "fn main() {", "use std::thread;"].contains(&line)
            && !["//", "use std::sync::atomic::"].iter().any(|begin| line.starts_with(begin))
            && !line.ends_with(".join().unwrap();")
        {
            return None;
        }
    }
    let parameters: Vec<String> = variables.iter().map(|name| format!("atomic_int* {name}")).collect();
    let mut test = "C twin\n{}\n".to_owned();
    for (number, thread) in threads.iter().enumerate() {
        test += &format!("P{number}({}) {{\n  {}\n}}\n", parameters.join(", "), thread.join("\n  "));
    }
    (threads.len() > 1).then(|| format!("{test}exists ({}=1)\n", variables[0]))
}

/// Of each model: the verdict and the classes.
fn answers(path: &Path) -> Vec<(String, String, u64)> {
    let path = path.to_str().expect("UTF-8");
    let ran = run(&["verify", path, "--model", "all", "--property", "robust", "--format", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{path}: {}{}", ran.out, ran.err));
    let of = |report: &Value, key: &str| report[key].as_str().unwrap_or_default().to_owned();
    let results = document["results"].as_array().expect("results").iter();
    results
        .map(|report| (of(report, "model"), of(report, "verdict"), report["interleavings"].as_u64().unwrap_or(0)))
        .collect()
}

#[test]
#[ignore = "a minute; needs rust-src"]
fn every_shape_is_what_its_litmus_test_is() {
    assert!(is_ready(), "the component rust-src is missing: rustup component add rust-src");
    let directory = tempfile::tempdir().expect("a directory");
    let mut compared = 0;
    for file in all() {
        let text = std::fs::read_to_string(&file).expect("UTF-8");
        let Some(test) = litmus(&text) else { continue };
        let twin = directory.path().join("twin.litmus");
        std::fs::write(&twin, &test).expect("written");
        assert_eq!(answers(&file), answers(&twin), "{}\n{test}", file.display());
        compared += 1;
    }
    assert!(compared >= 20, "{compared} programs are lists of accesses");
}
