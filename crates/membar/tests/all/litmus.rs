//! `membar litmus` as users run it.

use crate::common;

use common::{Files, run, run_with};
use serde_json::Value;

const SB: &str = "X86 SB\nHash=0123\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n\
                  exists (0:EAX=0 /\\ 1:EAX=0)\n";
const NEVER: &str = "X86 never\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n\
                     ~exists (0:EAX=0 /\\ 1:EAX=0)\n";
const WRONG: &str = "X86 wrong\n{ }\n P0 ;\n FROB EAX ;\n";
const ENDLESS: &str = "C endless\n{ }\nP0 (int *x) { while (1) *x += 1; }\nexists (x=1)\n";

/// The text with all times 0.
fn timeless(text: &str) -> String {
    let lines = text.lines().map(|line| match line.strip_prefix("Time ").and_then(|rest| rest.rsplit_once(' ')) {
        Some((name, _)) => format!("Time {name} 0.00\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn one_model_is_one_log_of_herd() {
    let files = Files::new(&[("SB.litmus", SB.as_bytes())]);
    let ran = files.run(&["litmus", "SB.litmus"]);
    let expected = "Test SB Allowed\nStates 4\n0:EAX=0; 1:EAX=0;\n0:EAX=0; 1:EAX=1;\n0:EAX=1; 1:EAX=0;\n0:EAX=1; 1:EAX=1;\n\
                    Ok\nWitnesses\nPositive: 1 Negative: 3\nCondition exists (0:EAX=0 /\\ 1:EAX=0)\n\
                    Observation SB Sometimes 1 3\nTime SB 0.00\nHash=0123\n\n";
    assert_eq!((ran.code, timeless(&ran.out).as_str(), ran.err.as_str()), (0, expected, ""));
    let ran = files.run(&["litmus", "--model", "sc", "SB.litmus"]);
    assert!(ran.out.contains("\nStates 3\n") && ran.out.contains("\nNo\n"), "{}", ran.out);
    assert!(ran.out.contains("\nObservation SB Never 0 3\n"), "{}", ran.out);
    // An outcome that is not found is no failure.
    assert_eq!(ran.code, 0);
}

#[test]
fn several_models_are_several_logs() {
    let files = Files::new(&[("a.litmus", SB.as_bytes()), ("b.litmus", NEVER.as_bytes())]);
    let ran = files.run(&["litmus", "-m", "sc,pso", "-m", "sc", "."]);
    let heads: Vec<&str> =
        ran.out.lines().filter(|line| line.starts_with(['#', 'T']) && !line.starts_with("Time")).collect();
    assert_eq!(
        heads,
        [
            "# Model sc",
            "Test SB Allowed",
            "Test never Forbidden",
            "# Model pso",
            "Test SB Allowed",
            "Test never Forbidden",
        ]
    );
    // herd counts as positive what `~exists` asks for.
    assert!(ran.out.contains("Positive: 3 Negative: 1\n"), "{}", ran.out);
    // Something that is said never to happen does.
    assert_eq!(ran.code, 1);
}

#[test]
fn exit_codes() {
    let files = Files::new(&[
        ("sb.litmus", SB.as_bytes()),
        ("never.litmus", NEVER.as_bytes()),
        ("wrong.litmus", WRONG.as_bytes()),
        ("endless.litmus", ENDLESS.as_bytes()),
    ]);
    for (args, code, says) in [
        (&["sb.litmus"][..], 0, ""),
        (&["never.litmus"], 1, ""),
        (&["never.litmus", "--model", "sc"], 0, ""),
        (&["wrong.litmus", "sb.litmus"], 2, "error: unsupported instruction `FROB`\n --> wrong.litmus:4:2\n"),
        (&["missing.litmus", "sb.litmus"], 2, "error: cannot read the file: "),
        (&["endless.litmus", "--time", "100ms"], 3, "endless.litmus: under tso a limit was met"),
        (&["sb.litmus", "--model", "arm"], 2, "invalid value 'arm'"),
        (&["@none"], 2, "error: cannot read the file: "),
    ] {
        let ran = files.run(&[&["litmus"], args].concat());
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(says) && ran.err.is_empty() == says.is_empty(), "{args:?}: {}", ran.err);
        // The other files continue.
        assert!(!args.contains(&"sb.litmus") || args.contains(&"arm") || ran.out.contains("Test SB "), "{args:?}");
    }
    let ran = files.run(&["litmus", "endless.litmus", "--time", "100ms"]);
    assert!(ran.out.contains("\nIncomplete No\n"), "{}", ran.out);
}

#[test]
fn directories_lists_and_standard_input() {
    let files =
        Files::new(&[("list", b"# two tests\nsub/a.litmus  # one\n\nb.litmus\n"), ("b.litmus", NEVER.as_bytes())]);
    std::fs::create_dir_all(files.path("sub/deeper")).unwrap();
    std::fs::write(files.path("sub/a.litmus"), SB).unwrap();
    std::fs::write(files.path("sub/deeper/c.litmus"), SB.replace("SB", "deep")).unwrap();
    std::fs::write(files.path("sub/notes.txt"), "no test").unwrap();
    std::fs::create_dir_all(files.path("empty")).unwrap();
    let tests = |args: &[&str]| -> Vec<String> {
        let ran = files.run(&[&["litmus", "--model", "sc"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
            .lines()
            .filter_map(|line| line.strip_prefix("Test "))
            .map(|rest| rest.split(' ').next().unwrap().into())
            .collect()
    };
    assert_eq!(tests(&["sub"]), ["SB", "deep"]);
    assert_eq!(tests(&["@list"]), ["SB", "never"]);
    assert_eq!(tests(&["."]), ["never", "SB", "deep"]);
    assert_eq!(tests(&[".", "--jobs", "4"]), ["never", "SB", "deep"]);
    assert_eq!(tests(&[".", "--quiet"]), [""; 0]);
    assert_eq!(files.run(&["litmus", "empty"]).code, 2);
    let ran = run_with(&["litmus", "-"], SB.as_bytes());
    assert!(ran.code == 0 && ran.out.starts_with("Test SB Allowed\n"), "{}", ran.err);
}

#[test]
fn json_names_everything() {
    let pointer = "C p\n{ int x; int *p = &x; uint64_t q = -1; }\nP0 (int **p) { int *r0 = *p; }\nlocations [q;]\nforall (0:r0=x)\n";
    let files =
        Files::new(&[("SB.litmus", SB.as_bytes()), ("p.litmus", pointer.as_bytes()), ("w.litmus", WRONG.as_bytes())]);
    let ran = files.run(&["litmus", "-f", "json", "-m", "sc", "-m", "tso", "SB.litmus", "w.litmus", "p.litmus"]);
    assert_eq!(ran.code, 2);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out));
    assert_eq!(json["schema"], 1);
    let results = json["results"].as_array().unwrap();
    let heads: Vec<_> = results.iter().map(|r| (r["test"].as_str().unwrap(), r["model"].as_str().unwrap())).collect();
    assert_eq!(heads, [("SB", "sc"), ("SB", "tso"), ("p", "sc"), ("p", "tso")]);
    assert_eq!(results[1]["states"][0], serde_json::json!({"0:EAX": 0, "1:EAX": 0}));
    assert_eq!(results[1]["states"].as_array().unwrap().len(), 4);
    let expected =
        [("file", "SB.litmus"), ("condition", "allowed"), ("observation", "sometimes"), ("counted", "executions")];
    for (field, value) in expected {
        assert_eq!(results[1][field], value, "{field}");
    }
    assert_eq!(
        (&results[1]["ok"], &results[1]["positive"], &results[1]["negative"]),
        (&true.into(), &1.into(), &3.into())
    );
    assert_eq!((&results[0]["ok"], &results[1]["complete"]), (&false.into(), &true.into()));
    // Addresses are names, large numbers stay numbers.
    assert_eq!(results[2]["states"][0], serde_json::json!({"0:r0": "x", "[q]": u64::MAX}));
    let errors = json["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1);
    assert_eq!(
        (&errors[0]["file"], &errors[0]["line"], &errors[0]["column"]),
        (&"w.litmus".into(), &4.into(), &2.into())
    );
}

#[test]
fn a_crash_is_bad_input() {
    let wild = "X86_64 wild\n{ uint64_t p; }\n P0 ;\n movq (p),%rax ;\n movl (%rax),%ebx ;\n";
    let ran = run_with(&["litmus", "-"], wild.as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.starts_with("error: under tso this goes through 0, which points to no location\n --> <stdin>:5:2\n"),
        "{}",
        ran.err
    );
}

#[test]
fn help_has_examples() {
    let ran = run(&["litmus", "--help"]);
    assert!(ran.code == 0 && ran.out.contains("Examples:") && ran.out.contains("membar litmus @all"), "{}", ran.out);
}
