//! `membar demo`: the story is told on every machine, every command in it works, and nothing of the user's is lost.

use crate::common;

use common::{Files, Ran, command, timeless};
use std::process::Stdio;

/// The demonstration on real cores takes two of them, and an x86 machine to know what it is.
fn can_show() -> bool {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    cores > 1 && cfg!(all(target_arch = "x86_64", target_os = "linux"))
}

/// The commands that it shows.
fn commands(ran: &Ran) -> Vec<String> {
    ran.out.lines().filter_map(|line| line.strip_prefix("$ membar ")).map(str::to_owned).collect()
}

#[test]
fn the_story_is_told_and_its_commands_work() {
    let files = Files::new(&[]);
    let ran = files.run(&["demo", "--save", "kept here"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(ran.out.lines().count() < 125, "two screens: {}", ran.out);
    assert!(ran.out.starts_with("$ cd 'kept here'\n"), "{}", ran.out);
    let (program, machine) = ran.out.split_once("3. This machine").unwrap();
    assert!(program.contains("FAILS under tso") && program.contains("safe under tso"), "{program}");
    assert!(machine.contains("FORBIDDEN by sc") && machine.contains("allowed by tso"), "{machine}");
    assert!(machine.contains("SB, store buffering"), "{machine}");
    assert_eq!(machine.contains("1 violation found: this-machine against sc"), can_show(), "{machine}");
    let page = std::fs::read_to_string(files.path("kept here/membar-demo.html")).unwrap();
    assert!(page.contains("peterson.c") && page.contains(".trace") && page.len() < 5 << 20);
    let shown = commands(&ran);
    assert!(shown.len() >= 4, "{shown:?}");
    for line in shown {
        let args: Vec<&str> = line.split(' ').collect();
        let again = common::run_in(&files.path("kept here"), &args);
        let safe = line.contains("fixed") || line.ends_with("tso");
        assert_eq!(again.code, if safe { 0 } else { 1 }, "{line}: {}{}", again.out, again.err);
    }
}

#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn a_lock_and_its_fence() {
    let files = Files::new(&[]);
    let ran = files.run(&["demo"]);
    let text = timeless(&ran);
    insta::assert_snapshot!("demo", text.split("3. This machine").next().unwrap());
    let names: Vec<_> = std::fs::read_dir(files.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["membar-demo.html"], "nothing else is left behind");
}

#[test]
fn without_a_compiler_it_is_a_litmus_test() {
    let files = Files::new(&[]);
    let output = command()
        .arg("demo")
        .current_dir(files.0.path())
        .env("PATH", files.0.path())
        .env_remove("CC")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("No C program can be verified here: "), "{text}");
    assert!(text.contains("$ membar verify SB.litmus\nUNSAFE under tso"), "{text}");
    assert!(text.contains("$ membar verify SB+mfences.litmus\nsafe under tso"), "{text}");
    assert!(text.contains("4. The report"), "{text}");
}

#[test]
fn files_of_others_are_kept() {
    let mine = b"mine".as_slice();
    let files = Files::new(&[("membar-demo.html", mine), ("peterson.c", mine)]);
    for _ in 0..2 {
        let ran = files.run(&["demo"]);
        assert!(ran.code == 0 && ran.out.contains("membar-demo-2.html has all of this"), "{}{}", ran.out, ran.err);
        assert_eq!(std::fs::read(files.path("membar-demo.html")).unwrap(), mine);
        assert!(!files.path("membar-demo-3.html").exists(), "its own page is written again");
    }
    let ran = files.run(&["demo", "--save", "."]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("there is another peterson.c"), "{}", ran.err);
    assert_eq!(std::fs::read(files.path("peterson.c")).unwrap(), mine);
    let ran = files.run(&["demo", "--save", "peterson.c"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
}

#[test]
#[cfg(target_os = "linux")]
fn one_core_is_said() {
    let files = Files::new(&[]);
    let output = std::process::Command::new("taskset")
        .args(["-c", "0", env!("CARGO_BIN_EXE_membar"), "demo"])
        .current_dir(files.0.path())
        .stdin(Stdio::null())
        .output();
    let output = output.expect("taskset, of util-linux");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("Only one core may be used here"), "{text}");
    assert!(text.contains("$ membar check store-buffering.trace --model tso\nallowed by tso"), "{text}");
}
