//! `membar simulate`: nothing is found where nothing is wrong, every bug is found, and what is kept is complete.

use crate::common;

use common::{Files, Ran, command, run};
use membar_simulate::{Setup, machines};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

const FILES: [&str; 7] =
    ["README.txt", "program.txt", "trace.trace", "shrunk.trace", "report.txt", "result.json", "machine.json"];

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

/// The kept violations; hidden files do not count.
fn bundles(output: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(output) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.'));
    paths.sort();
    paths
}

/// The arguments of the command behind these words in a file.
fn command_in(file: &Path, words: &str) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(words)).unwrap_or_else(|| panic!("{words}: {text}"));
    line.trim().strip_prefix("membar ").unwrap().split(' ').map(str::to_owned).collect()
}

/// All files are there, and say the same.
fn assert_complete(bundle: &Path) {
    for file in FILES {
        assert!(bundle.join(file).is_file(), "{file} is missing in {}", bundle.display());
    }
    let machine: Value = serde_json::from_slice(&std::fs::read(bundle.join("machine.json")).unwrap()).unwrap();
    assert_eq!(machine["schema"], 1);
    let result: Value = serde_json::from_slice(&std::fs::read(bundle.join("result.json")).unwrap()).unwrap();
    assert_eq!(result["results"][0]["verdict"], "forbidden", "{}", bundle.display());
    assert_eq!(result["results"][0]["certified"], true);
    assert_eq!(std::fs::read_to_string(bundle.join("README.txt")).unwrap().lines().count(), 5);
    assert!(std::fs::read_to_string(bundle.join("report.txt")).unwrap().contains("FORBIDDEN"));
}

#[test]
fn machines_without_bugs_do_what_their_models_allow() {
    for machine in machines::all() {
        let files = Files::new(&[]);
        for times in ["exact", "sampled=40", "off"] {
            let ran = files.run(&[
                "simulate",
                "--machine",
                machine.name(),
                "--tests",
                "24",
                "--operations",
                "250",
                "--jobs",
                "2",
                "--timestamps",
                times,
                "--profile",
                "default",
                "--profile",
                "locks",
                "--profile",
                "atomics",
                "--profile",
                "producer-consumer",
                "--format",
                "json",
            ]);
            assert_eq!(ran.code, 0, "{}: {}{}", machine.name(), ran.out, ran.err);
            let summary = json(&ran);
            assert_eq!((&summary["tests"], &summary["allowed"]), (&24.into(), &24.into()));
            assert_eq!(summary["operations"], 24_000);
            let relaxed = machine.name() != "sc" && summary["relaxed"].as_u64() > Some(0);
            assert!(relaxed || machine.name() == "sc", "{}: {summary}", machine.name());
        }
        assert_eq!(std::fs::read_dir(files.0.path()).unwrap().count(), 0, "nothing is left behind");
    }
}

/// Each bug, with the machine's usual profile (that about parts with `sizes`), within this many tests: the bound that the book's reference/campaigns.md gives.
const ENOUGH: &str = "50";

#[test]
fn every_bug_is_found_and_its_bundle_shows_it_again() {
    for (machine, bug) in
        machines::all().iter().flat_map(|machine| machine.bugs().iter().map(move |bug| (machine, bug)))
    {
        let files = Files::new(&[]);
        let profile = if bug.name() == "lost-byte-enables" { "sizes" } else { machine.profile() };
        let mut args = vec!["simulate", "--machine", machine.name(), "--bug", bug.name(), "--tests", ENOUGH];
        args.extend(["--profile", profile]);
        let ran = files.run(&args);
        assert_eq!(ran.code, 1, "{}: {}{}", bug.name(), ran.out, ran.err);
        assert!(ran.out.starts_with("1 violation found"), "{}", ran.out);
        let kept = bundles(&files.path("membar-violations"));
        let [bundle] = &kept[..] else { panic!("{kept:?}") };
        assert_complete(bundle);
        let setup: Setup = format!("{}+{}", machine.name(), bug.name()).parse().unwrap();
        assert!(bundle.file_name().unwrap().to_str().unwrap().starts_with(&format!("{setup}-{profile}-")));

        let mut check = command_in(&bundle.join("README.txt"), "Check it again, in this directory:");
        let whole = common::run_in(bundle, &check.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(whole.code, 1, "{}: {}", bug.name(), whole.err);
        check[1] = "shrunk.trace".into();
        let part = common::run_in(bundle, &check.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(part.code, 1, "{}: {}", bug.name(), part.err);

        let again = command_in(&bundle.join("README.txt"), "Run it again:");
        let other = Files::new(&[]);
        let ran = other.run(&again.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.code, 1, "{}: {}{}", bug.name(), ran.out, ran.err);
        let twin = bundles(&other.path("membar-violations"));
        let read = |bundle: &Path| std::fs::read_to_string(bundle.join("trace.trace")).unwrap();
        assert_eq!(read(bundle), read(&twin[0]), "{}", bug.name());

        // The program by itself is the one that ran.
        let seed = again[again.iter().position(|word| word == "--seed").unwrap() + 1].clone();
        let program = run(&["gen", "--as", "text", "--profile", profile, "--seed", &seed]);
        let body =
            |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(body(&program.out), body(&std::fs::read_to_string(bundle.join("program.txt")).unwrap()));
    }
}

/// Where fetch-adds lose updates, values are written twice, and the kept trace is the part that says so.
#[test]
fn lost_updates_are_explained() {
    let files = Files::new(&[]);
    let ran = files.run(&[
        "simulate",
        "--machine",
        "mesi-tso",
        "--bug",
        "split-rmw",
        "--profile",
        "atomics",
        "--threads",
        "8",
        "--addresses",
        "2",
        "--keep-going",
        "--max-violations",
        "12",
        "--quiet",
    ]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let kept = bundles(&files.path("membar-violations"));
    assert_eq!(kept.len(), 12);
    for bundle in &kept {
        assert_complete(bundle);
        assert_eq!(common::run_in(bundle, &["check", "trace.trace"]).code, 1);
    }
}

fn without_times(mut summary: Value) -> Value {
    for key in ["seconds", "run_seconds", "check_seconds", "operations_per_second", "speed"] {
        summary.as_object_mut().unwrap().remove(key).unwrap();
    }
    summary
}

#[test]
fn the_number_of_jobs_changes_nothing() {
    let summary = |jobs: &str| {
        let files = Files::new(&[]);
        let ran = files.run(&[
            "simulate",
            "--machine",
            "mesi-tso",
            "--bug",
            "no-replay",
            "--profile",
            "default",
            "--profile",
            "hot",
            "--operations",
            "400",
            "--keep-going",
            "--max-violations",
            "3",
            "--jobs",
            jobs,
            "-f",
            "json",
            "--seed",
            "7",
        ]);
        assert_eq!((ran.code, bundles(&files.path("membar-violations")).len()), (1, 3), "{}", ran.err);
        assert_eq!(ran.err.matches("violation: seed ").count(), 3, "{}", ran.err);
        without_times(json(&ran))
    };
    let one = summary("1");
    assert_eq!(one["stopped"], "max-violations");
    assert_eq!(one, summary("3"));
}

/// Killed at any moment, a campaign leaves complete directories and a state from which it continues to the same end.
#[test]
fn a_killed_campaign_leaves_nothing_half_done_and_goes_on() {
    let args = [
        "simulate",
        "--machine",
        "mesi-tso",
        "--bug",
        "unordered-drain",
        "--operations",
        "300",
        "--tests",
        "150",
        "--keep-going",
        "--max-violations",
        "1000",
        "--resume",
        "s",
        "--quiet",
        "--format",
        "json",
        "--jobs",
        "2",
    ];
    let whole = Files::new(&[]);
    let expected = whole.run(&args);
    assert_eq!(expected.code, 1, "{}", expected.err);
    let names = |files: &Files| -> Vec<_> {
        bundles(&files.path("membar-violations")).iter().map(|path| path.file_name().unwrap().to_owned()).collect()
    };
    assert!(names(&whole).len() > 2, "{:?}", names(&whole));

    let files = Files::new(&[]);
    let mut rng = membar_simulate::Rng::new(u64::from(std::process::id()));
    let mut halfway = 0;
    let made = || -> Option<u64> {
        let state: Value = serde_json::from_slice(&std::fs::read(files.path("s")).ok()?).expect("a complete state");
        state["counters"]["tests"].as_u64()
    };
    for attempt in 0..12 {
        let before = made();
        let mut child = command()
            .args(args)
            .current_dir(files.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        // At any moment, or soon after something was kept.
        while attempt % 2 == 0 && made() <= before.max(Some(0)) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(u64::from(rng.between(0, 40))));
        let _ = child.kill();
        child.wait().unwrap();
        bundles(&files.path("membar-violations")).iter().for_each(|bundle| assert_complete(bundle));
        let tests = made();
        assert!(tests <= Some(150));
        halfway += u32::from(tests > Some(0) && tests < Some(150));
    }
    assert!(halfway > 0, "it was killed halfway");
    let ran = files.run(&args);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(without_times(json(&ran)), without_times(json(&expected)));
    assert_eq!(names(&files), names(&whole));
    let hidden = std::fs::read_dir(files.path("membar-violations")).unwrap().count() - names(&files).len();
    assert!(hidden == 0 || !cfg!(target_os = "linux"), "what was left half done is gone");
}

#[test]
fn a_state_belongs_to_one_campaign() {
    let files = Files::new(&[("bad", b"{\"schema\":1"), ("new", b"{\"schema\":9,\"campaign\":{},\"counters\":{}}")]);
    let base = ["simulate", "--machine", "tso", "--operations", "50", "--resume", "s"];
    let with = |more: &[&str]| files.run(&[&base[..], more].concat());
    assert_eq!(with(&["--tests", "10"]).code, 0);
    let on = with(&["--tests", "30", "-f", "json"]);
    assert_eq!((on.code, json(&on)["tests"].clone()), (0, 30.into()), "{}", on.err);
    let nothing = with(&["--tests", "30", "-f", "json"]);
    assert_eq!((nothing.code, json(&nothing)["tests"].clone()), (0, 30.into()), "{}", nothing.err);
    for (more, says) in [
        (&["--seed", "2"][..], "its seed is 1, not 2"),
        (&["--threads", "3"], "its profiles.0.threads is 4, not 3"),
        (&["--model", "pso"], "its model.name is \"tso\", not \"pso\""),
        (&["--timestamps", "exact"], "its source.timestamps is \"off\", not \"exact\""),
        (&["--buffer", "64"], "its source.buffer is null, not 64"),
        (&["--drain", "9"], "its source.drain is null, not 9"),
        (&["--profile", "hot"], "its profiles.0."),
    ] {
        let ran = with(more);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.err.contains("belongs to another campaign") && ran.err.contains(says), "{}", ran.err);
        assert!(ran.err.contains("= help:"), "{}", ran.err);
    }
    for file in ["bad", "new", "."] {
        let ran = files.run(&["simulate", "--machine", "tso", "--tests", "1", "--resume", file]);
        assert_eq!((ran.code, ran.err.starts_with("error: ")), (2, true), "{file}: {}", ran.err);
    }
    let ran = files.run(&["simulate", "--machine", "tso", "--tests", "1", "--resume", "no/such/directory/s"]);
    assert_eq!((ran.code, ran.err.contains("cannot write the state file")), (2, true), "{}", ran.err);
}

#[test]
#[cfg(unix)]
fn an_interrupt_ends_with_the_summary() {
    let files = Files::new(&[]);
    let child = command()
        .args(["simulate", "--machine", "tso", "--time", "120s", "--resume", "s"])
        .current_dir(files.0.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // The state file is written when everything is set up.
    while !files.path("s").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("no violation found: tso against tso") && text.contains(", interrupted"), "{text}");
    assert!(text.contains("the same command resumes from s"), "{text}");
    assert!(output.stderr.is_empty(), "piped: no progress line");
}

#[test]
fn bad_usage_says_what_was_meant() {
    let files = Files::new(&[("bad.toml", b"name = \"bad\"\n[mix]\nlaods = 3\n")]);
    for (args, says) in [
        (&["--machine", "msei-tso"][..], "did you mean `mesi-tso`?"),
        (&["--machine", "mesi-tso", "--bug", "no-reply"], "did you mean `no-replay`?"),
        (&["--machine", "tso", "--bug", "no-replay"], "the machine `tso` has no bug `no-replay`"),
        (&["--machine", "mesi-tso", "--bug", "stale-region"], "the machine `mesi-tso` has no bug `stale-region`"),
        (&["--machine", "tso", "--profile", "hto"], "did you mean `hot`?"),
        (&["--machine", "tso", "--profile", "bad.toml"], "bad.toml:3:1"),
        (&["--machine", "tso", "--profile", "none.toml"], "cannot be read"),
        (&["--machine", "tso", "--model", "tos"], "did you mean `tso`?"),
        (&["--machine", "tso", "--threads", "0"], "`size.threads` must be from 1 to 1024"),
        (&["--machine", "tso", "--tests", "0"], "invalid value '0'"),
        (&["--machine", "tso", "--time", "10"], "did you mean 10s?"),
        (&["--machine", "tso", "--timestamps", "sampled=0"], "write `exact`, `off`, or `sampled=600`"),
        (&["--machine", "tso", "--buffer", "0"], "0 is not in 1..=4096"),
        (&["--machine", "tso+drain=0"], "give a number from 1 to 1000000"),
        (&["--machine", "sc", "--buffer", "9"], "the machine `sc` has no store buffer"),
        (&[], "membar simulate --list"),
    ] {
        let ran = files.run(&[&["simulate"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.out);
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
    let blocked = Files::new(&[("file", b"")]);
    let ran = blocked.run(&["simulate", "--machine", "mesi-tso", "--bug", "stale-forward", "--output", "file"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("a violation was found, but it cannot be kept in file"), "{}", ran.err);
}

#[test]
fn unusual_buffers_are_kept_with_a_violation() {
    let files = Files::new(&[]);
    let args = ["--machine", "pso", "--model", "tso", "--buffer", "64", "--drain", "50", "--tests", "50", "-f", "json"];
    let ran = files.run(&[&["simulate"], &args[..]].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let summary = json(&ran);
    assert_eq!((&summary["source"]["buffer"], &summary["source"]["drain"]), (&64.into(), &50.into()));
    let kept = bundles(&files.path("membar-violations"));
    let [bundle] = &kept[..] else { panic!("{kept:?}") };
    assert!(bundle.file_name().unwrap().to_str().unwrap().starts_with("pso+buffer_64+drain_50-default-"));
    let again = command_in(&bundle.join("README.txt"), "Run it again:");
    assert!(again.join(" ").contains("--buffer 64 --drain 50"), "{again:?}");
    let other = Files::new(&[]);
    assert_eq!(other.run(&again.iter().map(String::as_str).collect::<Vec<_>>()).code, 1);
    let read = |bundle: &Path| std::fs::read_to_string(bundle.join("trace.trace")).unwrap();
    assert_eq!(read(bundle), read(&bundles(&other.path("membar-violations"))[0]));
}

#[test]
fn other_ends() {
    let files = Files::new(&[]);
    let none = files.run(&["simulate", "--machine", "tso", "--time", "0s"]);
    assert_eq!((none.code, none.out.starts_with("nothing was tested")), (3, true), "{}", none.out);
    let open = files.run(&["simulate", "--machine", "tso", "--tests", "2", "--memory", "1kb", "-f", "json"]);
    let summary = json(&open);
    assert_eq!((open.code, &summary["verdict"], &summary["undecided"]), (3, &"undecided".into(), &2.into()));
    let list = run(&["simulate", "--list"]);
    for word in ["mesi-tso", "lost-invalidation", "godson-t", "producer-consumer", "--machine"] {
        assert!(list.out.contains(word), "{word}: {}", list.out);
    }
    // A machine that is weaker than the model is found out too.
    let weak = files.run(&["simulate", "--machine", "pso", "--model", "tso", "--tests", "50"]);
    assert_eq!(weak.code, 1, "{}", weak.out);
    // The same violation again is not kept twice.
    let again = files.run(&["simulate", "--machine", "pso", "--model", "tso", "--tests", "50"]);
    assert_eq!((again.code, bundles(&files.path("membar-violations")).len()), (1, 1));
}

/// One thread is asked for by mistake more often than not.
#[test]
fn programs_of_one_thread_are_a_warning() {
    let files = Files::new(&[]);
    for (threads, warned) in [("1", true), ("2", false)] {
        let ran = files.run(&["simulate", "--machine", "tso", "--threads", threads, "--tests", "2"]);
        assert_eq!((ran.code, ran.err.contains("nothing to interleave")), (0, warned), "{}", ran.err);
    }
}
