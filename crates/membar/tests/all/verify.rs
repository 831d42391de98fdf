//! `membar verify` and `membar replay`, as users run them.

use crate::common;

use common::{Files, Ran, run, timeless};
use serde_json::Value;

const SB: &[u8] = include_bytes!("../../../../examples/litmus/SB.litmus");
const FENCED: &[u8] = include_bytes!("../../../../examples/litmus/SB+mfences.litmus");
const MP: &[u8] = include_bytes!("../../../../examples/litmus/MP.litmus");
const DEADLOCK: &[u8] = b"C deadlock
{ }
P0 (int* x, int* y) {
  while (*x == 0) { }
  *y = 1;
}
P1 (int* x, int* y) {
  while (*y == 0) { }
  *x = 1;
}
exists (x=1)
";
const LIVELOCK: &[u8] = b"C livelock
{ }
P0 (int* x) {
  int r0 = 0;
  while (r0 == 0) { *x = 1; *x = 0; }
}
exists (x=1)
";

/// Peterson's algorithm with its fences, this many rounds.
fn peterson(rounds: u32) -> String {
    let thread = |me: u32| {
        let other = 1 - me;
        format!(
            "P{me} (int* f0, int* f1, int* turn) {{
  int i = 0;
  while (i < {rounds}) {{
    *f{me} = 1;
    *turn = {other};
    atomic_thread_fence(memory_order_seq_cst);
    int a = 1;
    int b = {other};
    while (a == 1 && b == {other}) {{
      a = *f{other};
      if (a == 1) b = *turn;
    }}
    *f{me} = 0;
    i = i + 1;
  }}
}}
"
        )
    };
    format!("C peterson\n{{ }}\n{}{}exists (0:i={rounds})\n", thread(0), thread(1))
}

fn json(ran: &Ran) -> Value {
    common::only(serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out)))
}

#[test]
fn store_buffering_is_explained() {
    let files = Files::new(&[("SB.litmus", SB)]);
    let ran = files.run(&["verify", "SB.litmus"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    insta::assert_snapshot!("verify_store_buffering", timeless(&ran));
}

#[test]
fn message_passing_is_explained_for_pso() {
    let files = Files::new(&[("MP.litmus", MP)]);
    assert_eq!(files.run(&["verify", "MP.litmus"]).code, 0);
    let ran = files.run(&["verify", "--model", "pso", "MP.litmus"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!("verify_message_passing", timeless(&ran));
}

#[test]
fn safe_programs_and_errors_of_programs() {
    let files = Files::new(&[("fenced.litmus", FENCED), ("deadlock.litmus", DEADLOCK), ("livelock.litmus", LIVELOCK)]);
    let safe = files.run(&["verify", "fenced.litmus"]);
    assert_eq!(safe.code, 0);
    insta::assert_snapshot!("verify_safe", timeless(&safe));
    let deadlock = files.run(&["verify", "deadlock.litmus"]);
    assert_eq!(deadlock.code, 1);
    insta::assert_snapshot!("verify_deadlock", timeless(&deadlock));
    let livelock = files.run(&["verify", "livelock.litmus"]);
    assert_eq!(livelock.code, 1);
    assert!(livelock.out.contains("livelock: the threads come back"), "{}", livelock.out);
    assert!(livelock.out.contains("membar replay livelock.litmus a2"), "{}", livelock.out);
}

#[test]
fn json_has_the_documented_shape() {
    let files = Files::new(&[("SB.litmus", SB), ("fenced.litmus", FENCED)]);
    let one = json(&files.run(&["verify", "--format", "json", "SB.litmus"]));
    assert_eq!(
        (&one["program"], &one["model"], &one["verdict"]),
        (&"SB.litmus".into(), &"tso".into(), &"unsafe".into())
    );
    assert_eq!((&one["complete"], &one["interleavings"]), (&true.into(), &3.into()));
    assert_eq!(one["violations"].as_array().unwrap().len(), 1);
    for violation in one["violations"].as_array().unwrap() {
        assert_eq!(violation["certified"], true);
        assert_eq!(violation["cycle"].as_array().unwrap().len(), 4);
        assert_eq!(violation["fences"].as_array().unwrap().len(), 2);
        for access in [&violation["store"], &violation["access"]] {
            assert_eq!(access["file"], "SB.litmus");
            assert!(access["line"].as_u64().unwrap() > 0 && access["column"].as_u64().unwrap() > 0);
        }
        let schedule = violation["schedule"].as_str().unwrap();
        assert_eq!(files.run(&["replay", "SB.litmus", schedule]).code, 0);
    }
    assert_eq!(one["plan"].as_array().unwrap().len(), 2);
    assert_eq!(one["errors"], Value::Array(Vec::new()));
    let several = json(&files.run(&["verify", "--format", "json", "SB.litmus", "fenced.litmus"]));
    let verdicts: Vec<_> = several["results"].as_array().unwrap().iter().map(|r| r["verdict"].clone()).collect();
    assert_eq!(verdicts, ["unsafe", "safe"]);
}

#[test]
fn every_strategy_and_monitor_can_be_asked_for() {
    let files = Files::new(&[("SB.litmus", SB), ("fenced.litmus", FENCED)]);
    for strategy in ["auto", "dpor", "exhaustive", "bounded", "random", "pct"] {
        let ran = files.run(&["verify", "--strategy", strategy, "--executions", "200", "SB.litmus"]);
        assert_eq!(ran.code, 1, "{strategy}: {}", ran.out);
        let safe = files.run(&["verify", "--strategy", strategy, "--executions", "200", "fenced.litmus"]);
        let complete = !matches!(strategy, "random" | "pct");
        assert_eq!(safe.code, if complete { 0 } else { 3 }, "{strategy}: {}", safe.out);
    }
    for (monitor, model, strategy, code) in [
        ("tso", "tso", "exhaustive", 0),
        ("tso", "tso", "dpor", 3),
        ("sober-fixed", "tso", "dpor", 0),
        ("sober", "tso", "exhaustive", 3),
        ("pso", "pso", "exhaustive", 0),
        ("pso", "tso", "dpor", 2),
        ("sober", "pso", "dpor", 2),
    ] {
        let args = ["verify", "--monitor", monitor, "--model", model, "--strategy", strategy, "fenced.litmus"];
        let ran = files.run(&args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
    }
    // A bound that is too small is not complete, and says so.
    let args = ["verify", "--strategy", "bounded", "--preemptions", "0", "--format", "json", "fenced.litmus"];
    let ran = files.run(&args);
    assert_eq!((ran.code, json(&ran)["interleavings"].clone()), (3, 2.into()), "{}", ran.out);
}

#[test]
fn limits_are_kept_and_named() {
    let files = Files::new(&[("peterson.litmus", peterson(5).as_bytes())]);
    let few = files.run(&["verify", "--executions", "1000", "--format", "json", "peterson.litmus"]);
    let seen = json(&few)["interleavings"].as_u64().unwrap();
    assert_eq!(few.code, 3);
    assert!((1000..1100).contains(&seen), "{seen}");
    let short = files.run(&["verify", "--steps", "4", "peterson.litmus"]);
    assert_eq!(short.code, 3);
    assert!(short.out.contains("past 4 steps"), "{}", short.out);
    let quick = files.run(&["verify", "--time", "1ms", "peterson.litmus"]);
    assert_eq!(quick.code, 3);
    assert!(quick.out.contains("--time"), "{}", quick.out);
}

#[test]
fn a_search_can_be_taken_up_again() {
    let files = Files::new(&[("p.litmus", peterson(3).as_bytes()), ("other.litmus", SB)]);
    let straight = json(&files.run(&["verify", "--format", "json", "p.litmus"]));
    assert_eq!((&straight["verdict"], &straight["complete"]), (&"safe".into(), &true.into()));
    let mut parts = 0;
    let resumed = loop {
        parts += 1;
        let jobs = if parts % 2 == 0 { "2" } else { "1" };
        let executions = (parts * 100).to_string();
        let args = [
            "verify",
            "--resume",
            "state",
            "--executions",
            &executions,
            "--jobs",
            jobs,
            "--format",
            "json",
            "p.litmus",
        ];
        let ran = files.run(&args);
        if ran.code != 3 {
            break json(&ran);
        }
    };
    assert!(parts > 2, "it was done at once");
    for field in ["verdict", "complete", "interleavings", "events", "violations", "errors"] {
        assert_eq!(resumed[field], straight[field], "{field}");
    }
    // A state that does not fit is refused.
    for args in [["verify", "--resume", "state", "other.litmus"], ["verify", "--resume", "p.litmus", "p.litmus"]] {
        let ran = files.run(&args);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.err.contains("remove it to begin again"), "{}", ran.err);
    }
    assert_eq!(files.run(&["verify", "--model", "pso", "--resume", "state", "p.litmus"]).code, 2);
    let path = files.path("state");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(files.run(&["verify", "--resume", "state", "p.litmus"]).err.contains("damaged"));
    bytes.truncate(middle);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(files.run(&["verify", "--resume", "state", "p.litmus"]).code, 2);
}

#[test]
fn the_first_finding_is_one() {
    let files = Files::new(&[("SB.litmus", SB)]);
    for jobs in ["1", "3"] {
        let ran = files.run(&["verify", "--stop-at-first", "--jobs", jobs, "--format", "json", "SB.litmus"]);
        assert_eq!((ran.code, json(&ran)["violations"].as_array().unwrap().len()), (1, 1));
    }
}

/// A thread that never ends does not keep the others from being looked at, and a long loop is not an endless one.
#[test]
fn endless_threads() {
    let starving = b"C starving
{ }
P0 (int* z) { int i = 0; while (i < 1) { *z = 1; *z = 0; } }
P1 (int* x, int* y) { *x = 1; int r0 = *y; }
P2 (int* x, int* y) { *y = 1; int r0 = *x; }
exists (1:r0=0 /\\ 2:r0=0)
";
    let counting = b"C counting
{ }
P0 (int* x) { int i = 0; while (i < 1000000) { i = i + 1; } *x = 1; }
exists (x=1)
";
    let files = Files::new(&[("starving.litmus", starving), ("counting.litmus", counting)]);
    let ran = files.run(&["verify", "--steps", "50", "starving.litmus"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("UNSAFE under tso  starving.litmus: 1 violation"), "{}", ran.out);
    assert_eq!(files.run(&["verify", "counting.litmus"]).code, 0);
    // Small behaviours come first, however long the search.
    let ran = files.run(&["litmus", "--time", "1s", "starving.litmus"]);
    assert!(ran.out.contains("States 0") || ran.out.contains("Incomplete"), "{}", ran.out);
}

#[test]
fn lists_that_lead_to_themselves() {
    let files = Files::new(&[("loop", b"@loop\n"), ("list", b"# tests\nSB.litmus\n"), ("SB.litmus", SB)]);
    for command in ["verify", "litmus"] {
        let ran = files.run(&[command, "@loop"]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("contains itself"), "{}", ran.err);
    }
    assert_eq!(files.run(&["verify", "@list"]).code, 1);
}

#[test]
fn bad_files_do_not_stop_the_others() {
    let files =
        Files::new(&[("bad.litmus", b"X86 bad\n{ }\n P0 ;\n FROB [x],$1 ;\nexists (x=1)\n"), ("SB.litmus", SB)]);
    let ran = files.run(&["verify", "bad.litmus", "SB.litmus"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("bad.litmus:4:2"), "{}", ran.err);
    assert!(ran.out.contains("UNSAFE under tso  SB.litmus"), "{}", ran.out);
    // A file that is not there is noticed before anything is begun.
    let ran = files.run(&["verify", "SB.litmus", "missing.litmus"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("missing.litmus: there is no such file"), "{}", ran.err);
    let ran = files.run(&["verify", "--format", "json", "bad.litmus"]);
    assert_eq!((ran.code, json(&ran)["errors"][0]["line"].clone()), (2, 4.into()), "{}", ran.out);
    assert_eq!(run(&["verify"]).code, 2);
}

#[test]
fn replay_shows_each_step() {
    let files = Files::new(&[("SB.litmus", SB)]);
    let ran = files.run(&["replay", "SB.litmus", "a2b2", "--model", "tso"]);
    assert_eq!(ran.code, 0);
    insta::assert_snapshot!("replay_store_buffering", ran.out);
    let steps = json(&files.run(&["replay", "SB.litmus", "a2b2", "--format", "json"]))["steps"].clone();
    assert_eq!(steps.as_array().unwrap().len(), 4);
    for (schedule, why) in [("a3", "thread 0 has ended"), ("c", "thread 2 does not exist"), ("a?", "is not a thread")] {
        let ran = files.run(&["replay", "SB.litmus", schedule]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}

/// The page is wanted although nobody reads the text.
#[test]
fn a_page_is_whole_although_standard_output_is_closed() {
    let tests: &[(&str, &[u8])] =
        &[("a.litmus", SB), ("b.litmus", FENCED), ("c.litmus", MP), ("d.litmus", b"nonsense")];
    let files = Files::new(tests);
    let mut child = common::command()
        .args(["verify", ".", "--html", "page.html"])
        .current_dir(files.path("."))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    let page = common::page_data(&files.path("page.html"));
    let rows = page["rows"].as_array().expect("rows").iter();
    let rows: Vec<String> = rows.map(|row| format!("{} {}", row["name"], row["verdict"]).replace('"', "")).collect();
    assert_eq!(rows, ["./a.litmus unsafe", "./b.litmus safe", "./c.litmus safe", "./d.litmus error"]);
}

/// Exploration before the interrupt key is not lost, and the page shows what was not explored.
#[test]
fn an_interrupted_search_says_how_to_resume() {
    let long = peterson(40);
    let files = Files::new(&[("a.litmus", SB), ("b.litmus", long.as_bytes()), ("c.litmus", MP)]);
    let child = common::command()
        .args(["verify", "a.litmus", "b.litmus", "c.litmus", "--strategy", "dpor", "--html", "page.html"])
        .current_dir(files.path("."))
        .env("TMPDIR", files.path("."))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("it runs").success());
    let ended = child.wait_with_output().expect("it ends");
    let err = String::from_utf8(ended.stderr).expect("UTF-8");
    let command = err.lines().find_map(|line| line.strip_prefix("  membar ")).unwrap_or_else(|| panic!("{err}"));
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[..7], ["verify", "--strategy", "dpor", "--html", "page.html", "b.litmus", "--resume"], "{err}");
    let rows = common::page_data(&files.path("page.html"))["rows"].clone();
    assert_eq!((&rows[2]["name"], &rows[2]["verdict"]), (&Value::from("c.litmus"), &Value::from("undecided")));
    assert!(rows[2]["about"].as_str().is_some_and(|about| about.contains("interrupted")), "{rows}");
    let seen = |args: &[&str]| json(&files.run(args))["interleavings"].as_u64().expect("a number");
    let ending = ["--time", "1ms", "--format", "json"];
    let (fresh, resumed) = (
        seen(&[&["verify", "b.litmus", "--strategy", "dpor"][..], &ending].concat()),
        seen(&[&words[..], &ending].concat()),
    );
    assert!(resumed > fresh + 1000, "{resumed} and {fresh}");
}

#[test]
fn several_models_are_answered_one_after_the_other() {
    let files = Files::new(&[("SB.litmus", SB), ("MP.litmus", MP)]);
    let ran = files.run(&["verify", "-m", "tso", "-m", "pso", "SB.litmus", "MP.litmus", "--format", "json"]);
    let document: Value = serde_json::from_str(&ran.out).expect("JSON");
    let answers: Vec<(&str, &str, &str)> = document["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|result| {
            let text = |name: &str| result[name].as_str().expect(name);
            (text("program"), text("model"), text("verdict"))
        })
        .collect();
    let expected = [
        ("SB.litmus", "tso", "unsafe"),
        ("SB.litmus", "pso", "unsafe"),
        ("MP.litmus", "tso", "safe"),
        ("MP.litmus", "pso", "unsafe"),
    ];
    assert_eq!(answers, expected);
    assert_eq!(ran.code, 1);
    let ran = files.run(&["verify", "-m", "tso", "-m", "pso", "MP.litmus"]);
    assert!(ran.out.ends_with("2 answers: 1 safe, 1 unsafe\n"), "{}", ran.out);
    assert!(ran.out.contains("\n           tso        pso\nMP.litmus  safe       UNSAFE\n"), "{}", ran.out);
    // They are explored together, so one state is enough.
    let ran = files.run(&["verify", "-m", "tso", "-m", "pso", "MP.litmus", "--resume", "s"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let ran = files.run(&["verify", "SB.litmus", "MP.litmus", "--resume", "s"]);
    assert!(ran.code == 2 && ran.err.contains("the state of one program"), "{}", ran.err);
}
