//! Every memory order in the right programs of `corpus/rust`, weakened by one step, one at a time. Catches what no other test does: an order that
//! is taken for a stronger one somewhere between `rustc` and the monitor.
//!
//! `corpus/rust/orders.tsv` has a row for every such change: whether it is found, or why the order is not needed.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common::run;
use crate::rust::{all, is_ready, line, repository};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A program with one order weakened.
struct Mutant {
    /// Program, line, and what was changed to what, as the table has it.
    key: String,
    text: String,
    property: &'static str,
}

/// The orders that are one step weaker, where this function is called. `None` leaves the call out.
fn weaker(function: &str, order: &str, second: bool) -> Vec<Option<&'static str>> {
    let (loads, stores) = (function == "load" || second, function == "store");
    match order {
        "SeqCst" if loads => vec![Some("Acquire")],
        "SeqCst" if stores => vec![Some("Release")],
        "SeqCst" => vec![Some("AcqRel")],
        "AcqRel" => vec![Some("Acquire"), Some("Release")],
        _ if function == "fence" => vec![None],
        _ => vec![Some("Relaxed")],
    }
}

/// Where the bracket is that is still open at the end.
fn enclosing(call: &str) -> usize {
    let mut depth = 0;
    for (at, c) in call.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return at,
            '(' => depth -= 1,
            _ => {}
        }
    }
    0
}

/// All mutants of a program.
fn mutants(name: &str, text: &str, property: &'static str) -> Vec<Mutant> {
    let mut found = Vec::new();
    let mut begin = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for (at, _) in code.match_indices("Ordering::").filter(|_| !code.trim_start().starts_with("use ")) {
            let order: String = code[at + 10..].chars().take_while(|c| c.is_alphanumeric()).collect();
            if !["SeqCst", "AcqRel", "Acquire", "Release"].contains(&&*order) {
                continue;
            }
            // A call may have several lines.
            let before = &text[..begin + at];
            let call = before.rfind([';', '{', '}']).map_or(before, |from| &before[from..]);
            let open = enclosing(call);
            let function: String =
                call[..open].chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let function: String = function.chars().rev().collect();
            let second = call[open..].contains("Ordering::");
            for to in weaker(&function, &order, second) {
                let (from, mut end) = (begin + at, begin + at + 10 + order.len());
                let mutated = match to {
                    Some(to) => format!("{}Ordering::{to}{}", &text[..from], &text[end..]),
                    None => {
                        end += text[end..].find(')').map_or(0, |to| to + 1);
                        format!("{}(){}", &text[..from - "fence(".len()], &text[end..])
                    }
                };
                let which = if second { " on failure" } else { "" };
                let key =
                    format!("{name}:{}:{} {function} {order} {}{which}", number + 1, at + 1, to.unwrap_or("nothing"));
                found.push(Mutant { key, text: mutated, property });
            }
        }
        begin += line.len();
    }
    found
}

/// The answer for a program under c11.
fn verdict(path: &Path, property: &str) -> String {
    let path = path.to_str().expect("UTF-8");
    let ran = run(&["verify", path, "--property", property, "--format", "json", "--time", "60s"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_default();
    document["results"][0]["verdict"].as_str().map_or_else(|| ran.out + &ran.err, str::to_owned)
}

#[test]
#[ignore = "several minutes; needs rust-src"]
fn every_order_is_needed_or_the_table_says_why_not() {
    assert!(is_ready(), "the component rust-src is missing: rustup component add rust-src");
    let directory = tempfile::tempdir().expect("a directory");
    let mut mutants_of_all = Vec::new();
    for file in all() {
        let text = std::fs::read_to_string(&file).expect("UTF-8");
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let safe = line(&text, "// expect:").is_some_and(|expected| expected.contains("c11=safe"));
        let right = line(&text, "// right:").is_some();
        if safe || right {
            mutants_of_all.extend(mutants(&name, &text, if safe { "robust" } else { "errors" }));
        }
    }
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(BTreeMap::new());
    let work = |worker: usize| {
        while let Some(mutant) = mutants_of_all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let file = directory.path().join(format!("mutant{worker}.rs"));
            std::fs::write(&file, &mutant.text).expect("written");
            let answer = verdict(&file, mutant.property);
            let found = ["unsafe", "fails", "error"].contains(&&*answer);
            let answer = if found { "found".into() } else { answer };
            answers.lock().unwrap_or_else(PoisonError::into_inner).insert(mutant.key.clone(), answer);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|worker| drop(scope.spawn(move || work(worker)))));
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    let table = std::fs::read_to_string(repository().join("corpus/rust/orders.tsv")).unwrap_or_default();
    let rows = table.lines().filter(|row| !row.starts_with('#')).filter_map(|row| row.split_once('\t'));
    let expected: BTreeMap<&str, &str> = rows.collect();
    let mut problems = Vec::new();
    for (key, answer) in &answers {
        match expected.get(&**key) {
            Some(&"found") if answer == "found" => {}
            Some(why) if why.starts_with("not needed: ") && answer == "safe" => {}
            row => problems.push(format!("{key}\t{answer} (the table: {})", row.unwrap_or(&"nothing"))),
        }
    }
    problems.extend(expected.keys().filter(|key| !answers.contains_key(**key)).map(|key| format!("{key}\tgone")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(answers.len() >= 60);
}
