//! Pages of every command, as it writes them and as `membar report` makes them from its JSON. Catches what no other test does: a view
//! that does not fit the answer, a document that a page cannot be made from, and one that should have been refused.

use crate::common;

use common::{Files, SB, page_data, run_with};
use serde_json::{Value, json};
use std::fmt::Write as _;

const SB_LITMUS: &str = "X86 SB\n{ x=0; y=0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n \
                         MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
/// Store buffering, as one thread after the other would do it.
const INTERLEAVING: &str = "0: x := 1 ! a.c:3\n0: y == 0\n1: y := 1\n1: x == 1\ncheck\n";

/// Runs a command twice: with `--html`, and with JSON that `membar report` reads. Both pages.
fn both(files: &Files, args: &[&str]) -> (Value, Value) {
    let mut html = args.to_vec();
    html.extend(["--html", "direct.html"]);
    let ran = files.run(&html);
    assert_ne!(ran.code, 2, "{}", ran.err);
    let mut json = args.to_vec();
    json.extend(["--format", "json"]);
    let ran = files.run(&json);
    assert_ne!(ran.code, 2, "{}", ran.err);
    std::fs::write(files.path("saved.json"), &ran.out).expect("a file");
    let ran = files.run(&["report", "saved.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "wrote saved.html\n"), "{}", ran.err);
    (page_data(&files.path("direct.html")), page_data(&files.path("saved.html")))
}

fn fact<'a>(case: &'a Value, name: &str) -> Option<&'a str> {
    case["facts"].as_array()?.iter().find(|fact| fact["name"] == name)?["value"].as_str()
}

fn copied(case: &Value, name: &str) -> String {
    let copy = case["copies"].as_array().and_then(|all| all.iter().find(|copy| copy["name"] == name));
    copy.and_then(|copy| copy["text"].as_str()).unwrap_or_else(|| panic!("{name} in {case}")).to_owned()
}

/// Removes the parts that differ between the two pages: commands, and how long it took.
fn without_commands(mut case: Value) -> Value {
    case["commands"] = json!([]);
    case["facts"] = json!([]);
    case
}

#[test]
fn a_monitored_interleaving() {
    let files = Files::new(&[("run.trace", INTERLEAVING.as_bytes())]);
    let (direct, saved) = both(&files, &["monitor", "run.trace", "--monitor", "tso"]);
    let case = &direct["cases"][0];
    insta::assert_json_snapshot!(case);
    assert_eq!(without_commands(case.clone()), without_commands(saved["cases"][0].clone()));
    let trace = copied(case, "Execution as a trace");
    let files = Files::new(&[("t.trace", trace.as_bytes()), ("t.litmus", copied(case, "Litmus test").as_bytes())]);
    assert_eq!(files.run(&["check", "t.trace", "--model", "tso"]).code, 0);
    assert_eq!(files.run(&["check", "t.trace", "--model", "sc"]).code, 1);
    assert!(files.run(&["litmus", "t.litmus"]).out.contains("Sometimes"));
}

/// Random interleavings with loads, stores, atomics and locks: the page confirms the monitor's findings.
#[test]
fn monitor_findings_are_confirmed_from_the_cycle_alone() {
    let mut seed = 7u64;
    let mut random = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let mut text = String::new();
    for _ in 0..600 {
        let (mut memory, mut held) = ([0u64; 3], None);
        for value in 1..=14 {
            let (thread, address) = (random(3), random(3) as usize);
            let now = memory[address];
            let _ = match random(9) {
                0..=3 => writeln!(text, "{thread}: a{address} == {now}"),
                4..=6 => {
                    memory[address] = value;
                    writeln!(text, "{thread}: a{address} := {value}")
                }
                7 => {
                    memory[address] = value;
                    writeln!(text, "{thread}: {{ a{address} == {now}; a{address} := {value} }}")
                }
                _ if held == Some(thread) => {
                    held = None;
                    writeln!(text, "{thread}: rel l")
                }
                _ if held.is_none() => {
                    held = Some(thread);
                    writeln!(text, "{thread}: acq l")
                }
                _ => Ok(()),
            };
        }
        if let Some(thread) = held {
            let _ = writeln!(text, "{thread}: rel l");
        }
        text += "check\n";
    }
    let files = Files::new(&[("run.trace", text.as_bytes())]);
    let (direct, _) = both(&files, &["monitor", "run.trace"]);
    let (mut confirmed, mut models) = (0, [0, 0]);
    for case in direct["cases"].as_array().expect("cases").iter().filter(|case| case["verdict"] == "unsafe") {
        assert!(fact(case, "Certificate").is_some(), "{case}");
        assert!(case["machine"]["steps"].as_array().is_some_and(|steps| steps.len() >= 4), "{case}");
        confirmed += 1;
        models[usize::from(case["model"] == "pso")] += 1;
    }
    assert!(confirmed > 40 && models[0] > 4 && models[1] > 20, "{confirmed} violations, {models:?}");
}

#[test]
fn a_schedule() {
    let files = Files::new(&[("SB.litmus", SB_LITMUS.as_bytes())]);
    let (direct, saved) = both(&files, &["replay", "SB.litmus", "a2b2", "--model", "tso"]);
    insta::assert_json_snapshot!(direct["cases"][0]);
    assert_eq!(without_commands(direct["cases"][0].clone()), without_commands(saved["cases"][0].clone()));
    // Without a model nothing is said about stores.
    let (plain, _) = both(&files, &["replay", "SB.litmus", "a2b2"]);
    assert_eq!(plain["cases"][0]["verdict"], "ran");
    assert_eq!(plain["cases"][0]["fixes"]["list"], json!([]));
}

#[test]
fn a_litmus_test() {
    let files = Files::new(&[("SB.litmus", SB_LITMUS.as_bytes())]);
    let (direct, saved) = both(&files, &["litmus", "SB.litmus", "--model", "sc", "--model", "tso"]);
    insta::assert_json_snapshot!(direct["cases"][0]);
    // The document has the models that were asked for; the page asks the others too.
    let models = |page: &Value| page["cases"][0]["states"]["models"].clone();
    assert_eq!((models(&direct), models(&saved)), (json!(["sc", "tso", "pso"]), json!(["sc", "tso"])));
    let states = |page: &Value| page["cases"][0]["states"]["rows"].as_array().map(Vec::len);
    assert_eq!((states(&direct), states(&saved)), (Some(4), Some(4)));
}

#[test]
fn a_litmus_test_that_fails_shows_how() {
    let wrong = SB_LITMUS.replace("exists", "~exists");
    let files = Files::new(&[("SB.litmus", wrong.as_bytes())]);
    let (direct, _) = both(&files, &["litmus", "SB.litmus"]);
    let case = &direct["cases"][0];
    assert_eq!(case["verdict"], "fails");
    assert_eq!(case["machine"]["buffers"], "thread");
    assert_eq!(case["machine"]["steps"].as_array().map(Vec::len), Some(6), "four accesses, two commits");
    let (sc, _) = both(&files, &["litmus", "SB.litmus", "--model", "sc"]);
    assert_eq!(sc["cases"][0]["verdict"], "holds");
}

#[test]
fn a_stressed_litmus_test() {
    let files = Files::new(&[("SB.litmus", SB_LITMUS.as_bytes())]);
    let (direct, saved) = both(&files, &["stress", "SB.litmus", "--tests", "20000"]);
    for page in [&direct, &saved] {
        let states = &page["cases"][0]["states"];
        assert_eq!(states["locations"], json!(["0:EAX", "1:EAX"]));
        let rows = states["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 4, "seen or not, tso allows four states");
        assert!(rows.iter().map(|row| row["count"].as_u64().expect("a count")).sum::<u64>() >= 20_000);
    }
}

const SIMULATE: [&str; 9] =
    ["simulate", "--machine", "mesi-tso", "--bug", "no-replay", "--keep-going", "--output", "kept", "--quiet"];

#[test]
fn a_campaign() {
    let files = Files::new(&[]);
    let mut args = SIMULATE.to_vec();
    args.extend(["--tests", "120"]);
    let (direct, saved) = both(&files, &args);
    for page in [&direct, &saved] {
        let view = &page["campaign"];
        assert_eq!(view["verdict"], "forbidden");
        let tests: u64 =
            view["outcomes"].as_array().expect("outcomes").iter().filter_map(|o| o["count"].as_u64()).sum();
        assert_eq!(tests, 120);
        let cases = page["cases"].as_array().expect("cases");
        let groups = view["groups"].as_array().expect("groups");
        let grouped: u64 = groups.iter().filter_map(|group| group["count"].as_u64()).sum();
        assert!(grouped >= 5, "{grouped} violations");
        assert_eq!(grouped as usize, cases.len());
        // Each violation opens to a full case, which was decided again and has the shape of its group.
        for group in groups {
            for link in group["violations"].as_array().expect("violations") {
                let case = &cases[link["case"].as_u64().expect("a case") as usize];
                assert!(fact(case, "Decided again").is_some_and(|fact| fact.starts_with("yes")), "{case}");
                assert!(!case["lemmas"].as_array().expect("lemmas").is_empty(), "{case}");
                assert!(case["shape"].is_null() || case["shape"]["name"] == group["name"], "{} {group}", case["shape"]);
            }
        }
        assert!(view["coverage"]["pairs"].as_array().is_some_and(|pairs| pairs.len() >= 16));
        assert!(view["speed"]["rates"].as_array().is_some_and(|rates| !rates.is_empty() && rates.len() <= 120));
    }
    assert_eq!(direct["campaign"]["coverage"], saved["campaign"]["coverage"]);
    let mut view = direct["campaign"].clone();
    // How long it took differs.
    (view["facts"], view["speed"]) = (json!([]), Value::Null);
    insta::assert_json_snapshot!(view);
}

/// Counts continue where a campaign continues.
#[test]
fn counts_survive_a_state_file() {
    let files = Files::new(&[]);
    let run = |extra: &[&str]| -> Value {
        let mut args = SIMULATE.to_vec();
        args.extend(["--format", "json"]);
        args.extend(extra);
        serde_json::from_str(&files.run(&args).out).expect("JSON")
    };
    let whole = run(&["--tests", "60"]);
    run(&["--tests", "25", "--resume", "s"]);
    let parts = run(&["--tests", "60", "--resume", "s"]);
    for key in ["decided", "coverage", "operations", "violations"] {
        assert_eq!(whole[key], parts[key], "{key}");
    }
    let sum = |value: &Value| -> u64 {
        value["speed"]["operations"].as_array().expect("buckets").iter().filter_map(Value::as_u64).sum()
    };
    assert_eq!(sum(&parts), parts["operations"].as_u64().expect("operations"));
}

/// The page of a saved answer is that of the answer, where the argument needs the whole trace.
#[test]
fn a_saved_violation_of_a_trace() {
    let text = "# a comment\n\n0: x := 1\n0: y := 1 @ 3:9\n\n1: y == 1\n1: x == 0\nfinal x == 1\ncheck\n";
    let files = Files::new(&[("t.trace", text.as_bytes())]);
    let (direct, saved) = both(&files, &["check", "t.trace", "--clock", "global"]);
    let (mut one, mut two) =
        (without_commands(direct["cases"][0].clone()), without_commands(saved["cases"][0].clone()));
    for case in [&mut one, &mut two] {
        case["copies"] = json!([]);
        case["models"]["words"] = json!("");
        case["fixes"] = json!([]);
        case["graph"]["last"] = json!([]);
        case["notes"] = json!([]);
    }
    assert_eq!(one, two);
    let case = &saved["cases"][0];
    assert!(fact(case, "Decided again").is_some_and(|fact| fact.starts_with("yes")), "{case}");
    let numbers: Vec<&str> =
        case["graph"]["nodes"].as_array().unwrap().iter().filter_map(|node| node["number"].as_str()).collect();
    assert_eq!(numbers, ["3", "4", "6", "7"], "lines are those of the file");
    assert!(case["commands"][0]["line"].as_str().unwrap().ends_with("--model tso --clock global"));
}

#[test]
fn every_kind_of_saved_answer_of_a_trace() {
    let text = format!("{SB}0: x := 1\n1: x == 1\n1: y == 0\ncheck\n0: x := 1\n1: x == 7\ncheck\n");
    let files = Files::new(&[("t.trace", text.as_bytes()), ("bad.trace", b"0: x = 1\ncheck\n")]);
    let ran = files.run(&["check", "t.trace", "bad.trace", "--model", "sc", "--format", "json", "-v"]);
    let page = |document: &str, name: &str| {
        std::fs::write(files.path(name), document).expect("a file");
        let ran = files.run(&["report", name, "--output", "page.html"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        page_data(&files.path("page.html"))
    };
    let shown = page(&ran.out, "saved.json");
    let rows: Vec<&str> = shown["rows"].as_array().unwrap().iter().filter_map(|row| row["verdict"].as_str()).collect();
    assert_eq!(rows, ["forbidden", "allowed", "forbidden", "error"]);
    let cases = shown["cases"].as_array().unwrap();
    for case in cases {
        assert!(fact(case, "Decided again").is_some_and(|fact| fact.starts_with("yes")), "{case}");
    }
    assert_eq!(cases[1]["machine"]["steps"].as_array().map(Vec::len), Some(3), "the saved order, step by step");
    // A contradiction to the document is reported.
    let lie = page(&ran.out.replace("y == 0", "y == 1"), "lie.json");
    let said = lie["cases"][0]["headline"].to_string();
    assert!(said.contains("This is not confirmed"), "{said}");
    assert_eq!(fact(&lie["cases"][0], "Decided again"), Some("not confirmed: allowed"));
    // Nothing is decided by a model that is not known.
    let strange = page(&ran.out.replace("\"model\":\"sc\"", "\"model\":\"mine\""), "strange.json");
    assert!(strange["cases"][0]["headline"].to_string().contains("--model"), "{}", strange["cases"][0]["headline"]);
    // An older document has no operations, and is a page all the same.
    let old = page(&ran.out.replace("\"reduced\":", "\"other\":"), "old.json");
    assert!(
        old["cases"][0]["notes"].to_string().contains("does not hold the operations"),
        "{}",
        old["cases"][0]["notes"]
    );
}

#[test]
fn a_saved_program() {
    let files = Files::new(&[("SB.litmus", SB_LITMUS.as_bytes())]);
    let (direct, saved) = both(&files, &["verify", "SB.litmus"]);
    assert_eq!(direct["cases"].as_array().map(Vec::len), Some(1));
    assert_eq!(without_commands(direct["cases"][0].clone()), without_commands(saved["cases"][0].clone()));
    // Without its source the page has everything but the source.
    std::fs::remove_file(files.path("SB.litmus")).expect("it is gone");
    assert_eq!(files.run(&["report", "saved.json"]).code, 0);
    assert_eq!(page_data(&files.path("saved.html"))["cases"][0]["sources"], json!([]));
}

#[test]
fn documents_that_make_no_page() {
    let deep = "[".repeat(100_000);
    let bomb = format!("{{\"schema\":1,\"results\":{}", "[".repeat(100_000));
    let good =
        Files::new(&[("t.trace", SB.as_bytes())]).run(&["check", "t.trace", "--model", "sc", "--format", "json"]).out;
    let half = &good[..good.len() / 2];
    let word = good.replace("\"verdict\":\"forbidden\"", "\"verdict\":\"</script>\"");
    let kind = good.replace("\"ops\":4", "\"ops\":\"four\"");
    let cases: [(&str, &str); 16] = [
        ("", "ends too early"),
        ("hello", "not a JSON document"),
        ("\u{1b}[2Jred", "not a JSON document"),
        (&deep, "recursion limit"),
        (&bomb, "recursion limit"),
        (half, "ends too early"),
        ("[]", "not a membar document"),
        ("{}", "no `schema`"),
        ("{\"schema\":2,\"results\":[]}", "newer than this membar"),
        ("{\"schema\":\"one\"}", "not a number"),
        ("{\"schema\":1}", "no membar command"),
        ("{\"schema\":1,\"results\":{}}", "not a list"),
        ("{\"schema\":1,\"results\":[{\"a\":1}]}", "no membar command"),
        ("{\"schema\":1,\"differences\":[]}", "models diff"),
        (&word, "results[0]: `</script>` is not a word"),
        (&kind, "results[0]: invalid type"),
    ];
    for (text, expected) in cases {
        let files = Files::new(&[("saved.json", text.as_bytes())]);
        let ran = files.run(&["report", "saved.json"]);
        assert_eq!(ran.code, 2, "{expected}: {}", ran.err);
        assert!(ran.err.contains(expected) && ran.err.starts_with("error: saved.json: "), "{expected}: {}", ran.err);
        assert!(!ran.err.contains('\u{1b}'));
        assert!(!files.path("saved.html").exists(), "{expected}");
        let piped = run_with(&["report", "-", "--output", "/dev/null"], text.as_bytes());
        assert!(piped.code == 2 && piped.err.starts_with("error: <stdin>: "), "{}", piped.err);
    }
    let files = Files::new(&[("page.html", good.as_bytes())]);
    let ran = files.run(&["report", "page.html"]);
    assert!(ran.code == 2 && ran.err.contains("overwrite"), "{}", ran.err);
}

/// Numbers and references in a document that make no sense are no reason to panic.
#[test]
#[ignore = "long"]
fn documents_that_lie() {
    let files = Files::new(&[
        ("SB.litmus", SB_LITMUS.as_bytes()),
        ("t.trace", SB.as_bytes()),
        ("i.trace", INTERLEAVING.as_bytes()),
    ]);
    let commands: [&[&str]; 5] = [
        &["check", "t.trace", "--model", "sc"],
        &["verify", "SB.litmus"],
        &["monitor", "i.trace"],
        &["replay", "SB.litmus", "a2b2", "--model", "tso"],
        &["litmus", "SB.litmus"],
    ];
    let mut made = 0;
    for command in commands {
        let mut args = command.to_vec();
        args.extend(["--format", "json"]);
        let mut document: Value = serde_json::from_str(&files.run(&args).out).expect("JSON");
        let mut places = Vec::new();
        numbers(&document, String::new(), &mut places);
        for place in places.iter().filter(|place| *place != "/schema") {
            let number = document.pointer_mut(place).expect("a number");
            let before = number.clone();
            for wrong in [json!(0), json!(4_000_000_000u64), json!(u64::MAX)] {
                *document.pointer_mut(place).expect("a number") = wrong;
                let ran = run_with(&["report", "-", "--output", "/dev/null"], document.to_string().as_bytes());
                assert!(ran.code == 0 || ran.err.starts_with("error: "), "{command:?} {place}: {}", ran.err);
                made += usize::from(ran.code == 0);
            }
            *document.pointer_mut(place).expect("a number") = before;
        }
    }
    assert!(made > 300, "{made} pages");
}

/// The places of all numbers.
fn numbers(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Number(_) => into.push(at),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, value)| numbers(value, format!("{at}/{i}"), into)),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            numbers(value, format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), into);
        }),
        _ => {}
    }
}

const EVIL: &str = "</script><script>alert(1)</script><img src=x>";

/// Text written by users is text in every kind of page: names of files, tests, labels, profiles.
#[test]
fn nothing_that_was_written_is_markup() {
    let name = "<script>x.trace";
    let litmus = SB_LITMUS.replace("X86 SB\n", &format!("X86 SB\n\"{EVIL}\"\n(* {EVIL} *)\n"));
    let labelled = INTERLEAVING.replace("a.c:3", &EVIL.replace(' ', "_"));
    let profile =
        "name = \"mine\"\n[size]\nthreads = 2\noperations = 20\naddresses = 2\n[mix]\nloads = 1\nstores = 1\n";
    let files = Files::new(&[
        (name, SB.as_bytes()),
        ("<img src=x>.litmus", litmus.as_bytes()),
        ("<b>i.trace", labelled.as_bytes()),
        ("<script>.toml", profile.as_bytes()),
    ]);
    let commands: [&[&str]; 5] = [
        &["check", name, "--model", "sc"],
        &["monitor", "<b>i.trace"],
        &["litmus", "<img src=x>.litmus"],
        &["replay", "<img src=x>.litmus", "a2b2", "--model", "tso"],
        &[
            "simulate",
            "--machine",
            "tso",
            "--model",
            "sc",
            "--profile",
            "<script>.toml",
            "--tests",
            "40",
            "--keep-going",
            "--output",
            "<script>out",
        ],
    ];
    for command in commands {
        let (direct, _) = both(&files, command);
        assert!(direct.to_string().contains('<'), "{command:?}: the name is there");
        for page in ["direct.html", "saved.html"] {
            let text = std::fs::read_to_string(files.path(page)).expect("a page");
            let found = ["<script", "</script", "<img", "<b>"].map(|tag| text.matches(tag).count());
            assert_eq!((found[0], found[1], found[2]), (2, 2, 0), "{command:?} {page}");
        }
    }
}

/// The output of `membar stress TEST`.
fn histogram(name: &str) -> Value {
    let state = json!({ "values": [0, 1], "count": 7, "holds": false, "allowed": false });
    let result = json!({
        "file": name, "test": name, "model": "tso", "proposition": name, "locations": [name, "[x]"], "outcomes": 7,
        "seconds": 0.5, "positive": 0, "observation": "Never", "compared": true, "forbidden": 7, "states": [state],
        "unseen": [[1, name]], "allowed_states": 1,
    });
    json!({ "schema": 1, "results": [result] })
}

#[test]
fn a_saved_histogram() {
    let files = Files::new(&[("saved.json", histogram(EVIL).to_string().as_bytes())]);
    assert_eq!(files.run(&["report", "saved.json"]).code, 0);
    let text = std::fs::read_to_string(files.path("saved.html")).expect("a page");
    assert_eq!((text.matches("<script").count(), text.matches("<img").count()), (2, 0));
    let case = &page_data(&files.path("saved.html"))["cases"][0];
    assert_eq!(
        (&case["verdict"], fact(case, "Coverage")),
        (&json!("forbidden"), Some("0 of the 1 state that tso allows were seen"))
    );
    insta::assert_json_snapshot!(case["states"]);
}

/// However large a document is, its page is not.
#[test]
#[ignore = "long"]
fn large_documents_make_pages_of_bounded_size() {
    let files = Files::new(&[
        ("SB.litmus", SB_LITMUS.as_bytes()),
        ("t.trace", SB.as_bytes()),
        ("i.trace", INTERLEAVING.as_bytes()),
    ]);
    let document = |args: &[&str]| -> Value {
        let mut args = args.to_vec();
        args.extend(["--format", "json"]);
        serde_json::from_str(&files.run(&args).out).expect("JSON")
    };
    let long = "<&>".repeat(20_000);
    let many = |value: &Value, n: usize| Value::Array(vec![value.clone(); n]);
    let mut documents: Vec<(&str, Value)> = Vec::new();
    let mut check = document(&["check", "t.trace", "--model", "sc"]);
    let mut result = check["results"][0].clone();
    result["file"] = json!(long);
    result["violation"]["explanation"] = json!([long, long]);
    check["results"] = many(&result, 150);
    documents.push(("check", check));
    let mut verify = document(&["verify", "SB.litmus"]);
    let mut violation = verify["results"][0]["violations"][0].clone();
    violation["store"]["text"] = json!(long);
    violation["run"] = Value::Array((0..200).flat_map(|_| violation["run"].as_array().unwrap().clone()).collect());
    verify["results"][0]["violations"] = many(&violation, 60);
    verify["results"][0]["program"] = json!(long);
    documents.push(("verify", verify));
    let mut monitor = document(&["monitor", "i.trace"]);
    let mut violation = monitor["results"][0]["violations"][0].clone();
    violation["store"]["label"] = json!(long);
    monitor["results"][0]["violations"] = many(&violation, 200);
    documents.push(("monitor", monitor));
    let mut replay = document(&["replay", "SB.litmus", "a2b2"]);
    let mut step = replay["steps"][0].clone();
    step["text"] = json!("<".repeat(500));
    replay["steps"] = many(&step, 5_000);
    replay["memory"] = many(&json!([long, long]), 300);
    documents.push(("replay", replay));
    let mut litmus = document(&["litmus", "SB.litmus"]);
    litmus["results"][0]["states"] =
        Value::Array((0..20_000).map(|i| json!({ "0:EAX": i, "1:EAX": "<".repeat(300) })).collect());
    litmus["results"][0]["proposition"] = json!(long);
    documents.push(("litmus", litmus));
    let mut stress = histogram("SB");
    stress["results"][0]["states"] = many(&stress["results"][0]["states"][0], 20_000);
    stress["results"][0]["test"] = json!(long);
    stress["results"] = many(&stress["results"][0], 5);
    documents.push(("stress", stress));
    let mut campaign = document(&[
        "simulate",
        "--machine",
        "tso",
        "--model",
        "sc",
        "--keep-going",
        "--max-violations",
        "1",
        "--output",
        "kept",
        "--quiet",
    ]);
    let mut found = campaign["violations"][0].clone();
    found["what"] = json!(long);
    found["profile"] = json!(long);
    campaign["violations"] = many(&found, 300);
    campaign["model"] = json!("sc");
    documents.push(("simulate", campaign));
    for (kind, document) in documents {
        std::fs::write(files.path("large.json"), document.to_string()).expect("a file");
        let ran = files.run(&["report", "large.json"]);
        assert_eq!(ran.code, 0, "{kind}: {}", ran.err);
        let page = page_data(&files.path("large.html"));
        assert!(!page["rows"].as_array().expect("rows").is_empty() || page["rows_omitted"] != 0, "{kind}");
    }
}
