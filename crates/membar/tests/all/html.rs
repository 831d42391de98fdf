//! Pages as the command writes them. Catches what no other test does: a page whose data does not fit the answer, a text to copy
//! that does not mean the trace.

use crate::common;

use common::{FINE, Files, MALFORMED, SB, hard_trace, page_data as data};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The page of a trace under a model.
fn page(trace: &str, args: &[&str]) -> Value {
    let files = Files::new(&[("t.trace", trace.as_bytes())]);
    let mut all = vec!["check", "t.trace", "--html", "page.html"];
    all.extend(args);
    let ran = files.run(&all);
    assert_ne!(ran.code, 2, "{}", ran.err);
    data(&files.path("page.html"))
}

/// `Wx1 Ry0 | Wy1 Rx0 ; x=2` as a trace, in the notation of corpus/litmus/families.txt.
fn family(text: &str) -> String {
    let (threads, finals) = text.split_once(';').unwrap_or((text, ""));
    let mut trace = String::new();
    for (thread, ops) in threads.split('|').enumerate() {
        for op in ops.split_whitespace() {
            let (kind, rest) = op.split_at(1);
            let (address, value) = rest.split_at(1);
            let sign = if kind == "W" { ":=" } else { "==" };
            trace += &format!("{thread}: {address} {sign} {value}\n");
        }
    }
    for end in finals.split_whitespace() {
        let (address, value) = end.split_once('=').expect("a final value");
        trace += &format!("final {address} == {value}\n");
    }
    trace + "check\n"
}

#[test]
fn every_family_of_the_corpus_is_recognised() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus/families.txt");
    let text = std::fs::read_to_string(path).expect("the families");
    let mut known = 0;
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let (name, threads) = line.split_once(' ').expect("a name and threads");
        let page = page(&family(threads), &["--model", "sc"]);
        assert_eq!(page["cases"][0]["shape"]["name"], name, "{line}\n{}", page["cases"][0]["shape"]);
        known += 1;
    }
    assert!(known > 20, "{known} families");
}

#[test]
fn coherence_has_names_too() {
    for (trace, name) in
        [("0: x := 1\n1: x == 1\n1: x == 0\ncheck\n", "CoRR"), ("0: x == 1\n0: x := 1\ncheck\n", "CoRW1")]
    {
        assert_eq!(page(trace, &["--model", "sc"])["cases"][0]["shape"]["name"], name, "{trace}");
    }
}

#[test]
fn the_models_are_asked() {
    let page = page(SB, &["--model", "sc"]);
    let models = &page["cases"][0]["models"];
    assert_eq!(models["strongest"], serde_json::json!(["tso"]));
    assert_eq!(models["forbid"], serde_json::json!(["sc"]));
    assert_eq!(models["all"].as_array().map(Vec::len), Some(11));
}

/// Steps have numbers in the order in which they are read: the cycle, then what it rests on.
#[test]
fn steps_are_numbered_as_they_are_read() {
    let page = page(include_str!("../../../../examples/tso-violation.trace"), &[]);
    let lemma = &page["cases"][0]["lemmas"][0];
    let steps = lemma["steps"].as_array().expect("steps");
    let cycle: Vec<u64> = lemma["cycle"].as_array().expect("a cycle").iter().filter_map(Value::as_u64).collect();
    let number = |at: u64| steps[at as usize]["number"].as_u64();
    assert_eq!(cycle.iter().filter_map(|&at| number(at)).collect::<Vec<_>>(), [1, 2]);
    let mut all: Vec<u64> = steps.iter().filter_map(|step| step["number"].as_u64()).collect();
    all.sort_unstable();
    assert_eq!(all, (1..=8).collect::<Vec<_>>());
    // The steps that a step rests on are cited by these numbers.
    let first = &steps[cycle[0] as usize];
    assert!(first["why"].as_str().is_some_and(|why| why.contains("(steps 3, 4, 5 and 6)")), "{first}");
}

/// Long values have short names: who wrote them, and where.
#[test]
fn long_values_have_short_names() {
    let trace = "0: x := 123456789\n0: y == 0\n1: y := 987654321\n1: x == 0\ncheck\n";
    let page = page(trace, &["--model", "sc"]);
    let values = serde_json::json!({ "123456789": "T0#1", "987654321": "T1#3" });
    assert_eq!(page["cases"][0]["values"], values);
    assert_eq!(page["cases"][0]["graph"]["nodes"][0]["text"], "x := 123456789");
}

/// The machine's last step is where it cannot continue.
#[test]
fn the_stepper_stops_at_the_impossible_read() {
    let page = page("0: x := 1\n0: y := 1\n1: y == 1\n1: x == 0\ncheck\n", &[]);
    let case = &page["cases"][0];
    assert_eq!(case["machine"]["stuck"][0]["node"], case["read"]["node"]);
    assert_eq!(case["machine"]["stuck"][0]["why"], "Line 4 would return 1 here, but 0 was recorded.");
    assert_eq!(case["machine"]["steps"].as_array().map(Vec::len), Some(5));
}

#[test]
fn copied_texts_mean_the_trace() {
    let trace =
        "init y == 3\n0: turn := 1\n0: sync\n0: y == 3\n1: { y == 3; y := 4 }\n1: turn == 0\nfinal y == 4\ncheck\n";
    let page = page(trace, &["--model", "sc"]);
    let copies = page["cases"][0]["copies"].as_array().expect("copies").clone();
    let text = |name: &str| {
        let copy = copies.iter().find(|copy| copy["name"] == name).unwrap_or_else(|| panic!("{name} in {copies:?}"));
        copy["text"].as_str().expect("text").to_owned()
    };
    let files = Files::new(&[
        ("t.litmus", text("Litmus test").as_bytes()),
        ("t.trace", text("Trace").as_bytes()),
        ("t.c", text("C test").as_bytes()),
    ]);
    assert_eq!(files.run(&["check", "t.trace", "--model", "sc"]).code, 1);
    let litmus = files.run(&["litmus", "t.litmus", "--model", "sc"]);
    assert!(litmus.out.contains("Never"), "{}{}", litmus.out, litmus.err);
    let compiled = Command::new("cc")
        .args(["-fsyntax-only", "-Wall", "-Werror"])
        .arg(files.path("t.c"))
        .stderr(Stdio::inherit())
        .status();
    if let Ok(status) = compiled {
        assert!(status.success());
    }
}

#[test]
fn every_answer_has_its_row() {
    let files = Files::new(&[("a.trace", format!("{SB}{FINE}").as_bytes()), ("b.trace", MALFORMED.as_bytes())]);
    let ran = files.run(&[
        "check",
        "a.trace",
        "b.trace",
        "--model",
        "sc",
        "--model",
        "tso",
        "--html",
        "page.html",
        "--jobs",
        "2",
    ]);
    assert_eq!(ran.code, 2);
    let page = data(&files.path("page.html"));
    let rows: Vec<String> = page["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            format!(
                "{} {} {}",
                row["name"].as_str().unwrap(),
                row["model"].as_str().unwrap(),
                row["verdict"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        rows,
        ["a.trace sc forbidden", "a.trace tso allowed", "a.trace, trace 2 sc allowed", "a.trace, trace 2 tso allowed"]
    );
    assert_eq!(page["cases"].as_array().map(Vec::len), Some(4));
}

const SB_LITMUS: &str = "X86 SB\n{ x=0; y=0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n \
                         MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";

/// The page of a program.
fn program(name: &str, text: &str, args: &[&str]) -> Value {
    let files = Files::new(&[(name, text.as_bytes())]);
    let mut all = vec!["verify", name, "--html", "page.html"];
    all.extend(args);
    let ran = files.run(&all);
    assert_ne!(ran.code, 2, "{}", ran.err);
    data(&files.path("page.html"))
}

#[test]
fn a_violation_of_a_program() {
    let page = program("SB.litmus", SB_LITMUS, &[]);
    assert_eq!(page["cases"].as_array().map(Vec::len), Some(1));
    let mut case = page["cases"][0].clone();
    // How long it took differs.
    case["facts"][0]["value"] = "TIME".into();
    insta::assert_json_snapshot!(case);
}

#[test]
fn an_execution_that_can_be_copied_is_not_sequentially_consistent() {
    for (model, weaker) in [("tso", "sc"), ("pso", "sc")] {
        let page = program("SB.litmus", SB_LITMUS, &["--model", model]);
        for case in page["cases"].as_array().expect("cases") {
            let text = |name: &str| {
                let copy = case["copies"].as_array().and_then(|all| all.iter().find(|copy| copy["name"] == name));
                copy.and_then(|copy| copy["text"].as_str()).unwrap_or_else(|| panic!("{name}")).to_owned()
            };
            let trace = text("Execution as a trace");
            let files = Files::new(&[("t.trace", trace.as_bytes()), ("t.litmus", text("Litmus test").as_bytes())]);
            assert_eq!(files.run(&["check", "t.trace", "--model", weaker]).code, 1, "{trace}");
            assert_eq!(files.run(&["check", "t.trace", "--model", model]).code, 0, "{trace}");
            let litmus = files.run(&["litmus", "t.litmus", "--model", weaker, "--model", model]);
            assert!(litmus.out.contains("Never") && litmus.out.contains("Sometimes"), "{}{}", litmus.out, litmus.err);
        }
    }
}

/// Zeroed variables are 0 although nobody reads them; the stepper knows which step goes wrong and why; the fix is a diff.
#[test]
fn the_page_of_peterson() {
    let source = include_str!("../../../../examples/programs/peterson.c");
    let page = program("peterson.c", source, &[]);
    assert_eq!(page["title"], "peterson.c fails under tso");
    let case = &page["cases"][1];
    assert_eq!(case["graph"]["initial"], serde_json::json!(["turn = 0", "wants[0] = 0", "wants[1] = 0"]));
    let machine = &case["machine"];
    assert!(machine["memory"].as_array().is_some_and(|all| all.iter().all(|cell| cell[1] == "0")), "{machine}");
    assert_eq!(machine["wrong"]["words"], "T2 reads 0 from `wants[0]`: T1's `wants[0] := 1` is still in its buffer.");
    let step = machine["wrong"]["step"].as_u64().expect("a step") as usize;
    let node = machine["steps"][step]["node"].as_u64().expect("a node") as usize;
    assert_eq!(case["graph"]["nodes"][node]["wrong"], "overtakes");
    // A store takes effect when it reaches memory.
    let store = &page["cases"][2]["machine"]["wrong"];
    assert_eq!(store["words"], "T2's `turn := 0` reaches memory: T1's `turn := 1` is still in its buffer.");
    let diff = case["fixes"]["diff"].as_str().expect("a diff");
    let files = Files::new(&[("peterson.c", source.as_bytes()), ("fix.diff", diff.as_bytes())]);
    let patched = Command::new("patch")
        .args(["-p0", "--input", "fix.diff"])
        .current_dir(files.path("."))
        .stdout(Stdio::null())
        .status();
    if let Ok(status) = patched {
        assert!(status.success(), "{diff}");
        assert_eq!(files.run(&["verify", "peterson.c"]).code, 0);
    }
}

/// Every model has its own verdict in the title.
#[test]
fn the_title_of_a_litmus_test_is_true_for_every_model() {
    let title = |models: &[&str]| {
        let files = Files::new(&[("SB.litmus", SB_LITMUS.as_bytes())]);
        let models = models.iter().flat_map(|model| ["--model", model]);
        let args: Vec<&str> = ["litmus", "SB.litmus", "--html", "page.html"].into_iter().chain(models).collect();
        assert_eq!(files.run(&args).code, 0);
        data(&files.path("page.html"))["title"].as_str().expect("a title").to_owned()
    };
    assert_eq!(title(&["sc", "tso", "pso"]), "SB.litmus: possible under tso and pso, impossible under sc");
    assert_eq!(title(&["sc"]), "SB.litmus: impossible under sc");
}

/// Steps are counted in one way: those that start threads are steps of the schedule too.
#[test]
fn a_schedule_has_as_many_steps_as_its_page() {
    let files = Files::new(&[("peterson.c", include_bytes!("../../../../examples/programs/peterson.c"))]);
    let ran = files.run(&["replay", "peterson.c", "a2b3c4", "--model", "tso", "--html", "page.html"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let case = &data(&files.path("page.html"))["cases"][0];
    assert_eq!(case["headline"][0], "Schedule a2b3c4 of peterson.c, 9 steps.");
    assert_eq!(case["machine"]["steps"].as_array().map(Vec::len), Some(9));
    // It was run in order, and read the new value.
    let last = &case["graph"]["nodes"][8];
    assert_eq!((&last["read"], &last["wrong"]), (&Value::from("1"), &Value::from("could overtake")));
    assert_eq!(case["graph"]["initial"], serde_json::json!(["turn = 0", "wants[0] = 0", "wants[1] = 0"]));
}

#[test]
fn a_safe_program_is_a_page_too() {
    let fenced = SB_LITMUS.replace(" MOV EAX,[y] |", " MFENCE      | MFENCE      ;\n MOV EAX,[y] |");
    let page = program("SB.litmus", &fenced, &[]);
    assert_eq!(page["cases"][0]["verdict"], "safe");
    let page = program("SB.litmus", SB_LITMUS, &["--strategy", "random", "--executions", "1", "--model", "pso"]);
    assert!(matches!(page["cases"][0]["verdict"].as_str(), Some("undecided" | "unsafe")));
}

/// Source is the user's too.
#[test]
fn source_is_only_text() {
    let evil = SB_LITMUS.replace("X86 SB", "X86 SB\n(* </script><script>alert(1)</script> *)");
    let files = Files::new(&[("<img src=x>.litmus", evil.as_bytes())]);
    assert_eq!(files.run(&["verify", "<img src=x>.litmus", "--html", "page.html"]).code, 1);
    let text = std::fs::read_to_string(files.path("page.html")).expect("a page");
    assert_eq!((text.matches("<script").count(), text.matches("<img").count()), (2, 0));
    let lines = data(&files.path("page.html"))["cases"][0]["sources"][0]["lines"].to_string();
    assert!(lines.contains("</script><script>alert(1)"), "{lines}");
}

#[test]
fn undecided_is_a_page_too() {
    let page = page(&hard_trace(), &["--model", "tso", "--time", "1ms"]);
    let case = &page["cases"][0];
    assert_eq!(case["verdict"], "undecided");
    assert_eq!(case["stop"]["of"], 20_000);
    assert!(case["stop"]["next"][0].as_str().is_some_and(|next| next.contains("--time")));
}

#[test]
fn a_page_that_cannot_be_written_is_said_before_anything_is_decided() {
    let files = Files::new(&[("t.trace", SB.as_bytes())]);
    let ran = files.run(&["check", "t.trace", "--html", "no/such/place.html"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("no/such/place.html"), "{}", ran.err);
}

#[test]
fn failures_leave_no_empty_or_damaged_page() {
    let files = Files::new(&[("t.trace", SB.as_bytes()), ("old.html", b"an older page")]);
    for page in ["old.html", "new.html"] {
        let ran = files.run(&["simulate", "--machine", "tso", "--profile", "nosuch.toml", "--html", page]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        let ran = files.run(&["replay", "nosuch.c", "a", "--html", page]);
        assert_eq!(ran.code, 2, "{}", ran.err);
    }
    assert_eq!(std::fs::read(files.path("old.html")).expect("still there"), b"an older page");
    assert!(!files.path("new.html").exists());
    // A page that is shorter than what was there replaces all of it.
    std::fs::write(files.path("old.html"), vec![b'x'; 6_000_000]).expect("written");
    files.run(&["check", "t.trace", "--html", "old.html"]);
    let page = std::fs::read_to_string(files.path("old.html")).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
}

/// `--open` starts a browser with the page, and says so if there is none.
#[cfg(unix)]
#[test]
fn a_page_can_be_opened() {
    use std::os::unix::fs::PermissionsExt;
    let files = Files::new(&[("t.trace", SB.as_bytes()), ("browser", b"#!/bin/sh\nprintf %s \"$*\" > opened\n")]);
    std::fs::set_permissions(files.path("browser"), std::fs::Permissions::from_mode(0o755)).expect("a script");
    let check = |browser: &str, path: &str| {
        let mut command = crate::common::command();
        command.args(["check", "t.trace", "--html", "page.html", "--open"]).current_dir(files.path("."));
        let output = command.env("BROWSER", browser).env("PATH", path).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let opened = || std::fs::read_to_string(files.path("opened")).expect("it was started");
    let path = std::env::var("PATH").expect("a path");
    assert_eq!(check("./browser", &path), "wrote page.html\n");
    assert!(opened().ends_with("/page.html"), "{}", opened());
    // The next one, if the first cannot; and where the page goes.
    check("nosuchbrowser:./browser --new %s --last", &path);
    assert!(opened().starts_with("--new /") && opened().ends_with("/page.html --last"), "{}", opened());
    let err = check("", "");
    assert!(err.contains("page.html was not opened") && err.contains("file:///"), "{err}");
    let ran = files.run(&["check", "t.trace", "--open"]);
    assert!(ran.code == 2 && ran.err.contains("--html"), "{}", ran.err);
}

/// Nobody reads the text; the page has every answer all the same.
#[test]
fn pages_are_whole_although_standard_output_is_closed() {
    let traces = SB.repeat(30);
    let runs = "0: x := 1\n0: y == 0\n1: y := 1\n1: x == 1\ncheck\n".repeat(30);
    let files = Files::new(&[
        ("a.trace", traces.as_bytes()),
        ("b.trace", traces.as_bytes()),
        ("run.trace", runs.as_bytes()),
        ("SB.litmus", SB_LITMUS.as_bytes()),
    ]);
    for (args, rows) in [
        (&["check", "a.trace", "b.trace", "--model", "sc"][..], 60),
        (&["check", "a.trace", "b.trace", "--model", "sc", "--jobs", "2"], 60),
        (&["monitor", "run.trace"], 60),
        (&["litmus", "SB.litmus", "SB.litmus"], 2),
    ] {
        let mut command = crate::common::command();
        command.args(args).args(["--html", "page.html"]).current_dir(files.path("."));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        drop(child.stdout.take());
        child.wait().expect("it ends");
        let page = data(&files.path("page.html"));
        assert_eq!(page["rows"].as_array().map(Vec::len), Some(rows), "{args:?}");
        std::fs::remove_file(files.path("page.html")).expect("a page");
    }
}
