//! `membar verify --format sarif`: required parts are present, places are right, fixes fix, and the book's reference/ci.md is true.
//!
//! Structure is checked here by hand; the documents of these tests also pass the official schema of SARIF 2.1.0.

use crate::common;

use common::{Files, Ran, command};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const SB: &str = include_str!("../../../../examples/litmus/SB.litmus");
const DEADLOCK: &str = "C stuck\n{ x = 0; }\nP0 (int *x) {\n  while (*x == 0) { }\n}\nexists (x=1)\n";

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

fn sarif(files: &Files, args: &[&str]) -> (i32, Value) {
    let args: Vec<&str> = ["verify", "--format", "sarif"].iter().chain(args).copied().collect();
    let ran = files.run(&args);
    let document = document(&ran);
    well_formed(&document);
    (ran.code, document)
}

/// The requirements of the standard for the parts that are used.
fn well_formed(document: &Value) {
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "membar");
    let rules = driver["rules"].as_array().unwrap();
    let ids: BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rules.len(), "ids are unique");
    for rule in rules {
        for part in ["shortDescription", "fullDescription", "help"] {
            assert!(rule[part]["text"].as_str().is_some_and(|text| !text.is_empty()), "{rule}");
        }
    }
    let invocation = &run["invocations"][0];
    assert!(invocation["executionSuccessful"].is_boolean() && invocation["exitCode"].is_u64());
    for note in invocation["toolExecutionNotifications"].as_array().unwrap() {
        assert!(
            note["message"]["text"].is_string()
                && ["error", "warning", "note"].contains(&note["level"].as_str().unwrap())
        );
        note["locations"].as_array().into_iter().flatten().for_each(located);
    }
    let mut prints = BTreeSet::new();
    for result in run["results"].as_array().unwrap() {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(result["ruleId"], rules[index]["id"]);
        assert!(result["message"]["text"].is_string() && result["level"] == "error");
        assert!(prints.insert(result["partialFingerprints"]["membar/v1"].as_str().unwrap().to_owned()), "{result}");
        result["locations"].as_array().unwrap().iter().for_each(located);
        result["relatedLocations"].as_array().into_iter().flatten().for_each(located);
        for flow in result["codeFlows"].as_array().into_iter().flatten() {
            let mut order = Vec::new();
            for thread in flow["threadFlows"].as_array().unwrap() {
                let steps = thread["locations"].as_array().unwrap();
                assert!(!steps.is_empty());
                let own: Vec<u64> = steps.iter().map(|step| step["executionOrder"].as_u64().unwrap()).collect();
                assert!(own.is_sorted(), "{own:?}");
                order.extend(own);
                steps.iter().for_each(|step| located(&step["location"]));
            }
            let distinct: BTreeSet<_> = order.iter().collect();
            assert_eq!(distinct.len(), order.len(), "each step happens once");
        }
    }
}

fn located(location: &Value) {
    let physical = &location["physicalLocation"];
    let artifact = &physical["artifactLocation"];
    let uri = artifact["uri"].as_str().unwrap();
    assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{uri}");
    assert_eq!(artifact["uriBaseId"].is_string(), !uri.starts_with("file:"), "{artifact}");
    if let Some(region) = physical.get("region") {
        assert!(region["startLine"].as_u64() > Some(0) && region["startColumn"].as_u64() != Some(0), "{region}");
    }
}

/// Puts the insertions of a fix into the files.
fn apply(directory: &Path, fix: &Value) {
    for change in fix["artifactChanges"].as_array().unwrap() {
        let path = directory.join(change["artifactLocation"]["uri"].as_str().unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
        let mut replacements: Vec<&Value> = change["replacements"].as_array().unwrap().iter().collect();
        replacements.sort_by_key(|replacement| std::cmp::Reverse(replacement["deletedRegion"]["startLine"].as_u64()));
        for replacement in replacements {
            let region = &replacement["deletedRegion"];
            assert_eq!((&region["startLine"], &region["startColumn"]), (&region["endLine"], &region["endColumn"]));
            let at = region["startLine"].as_u64().unwrap() as usize - 1;
            lines.insert(at, replacement["insertedContent"]["text"].as_str().unwrap().to_owned());
        }
        std::fs::write(path, lines.concat()).unwrap();
    }
}

#[test]
fn a_litmus_test_with_its_fix() {
    let files = Files::new(&[("SB.litmus", SB.as_bytes())]);
    let (code, document) = sarif(&files, &["SB.litmus"]);
    let run = &document["runs"][0];
    assert_eq!((code, &run["invocations"][0]["exitCode"]), (1, &1.into()));
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    let result = &results[0];
    assert_eq!((&result["ruleId"], &result["properties"]["shape"]), (&"tso-violation".into(), &"SB".into()));
    let region = &result["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&region["startLine"], &region["snippet"]["text"]), (&7.into(), &"movl (x),%eax".into()));
    assert_eq!(result["codeFlows"][0]["threadFlows"].as_array().unwrap().len(), 2);
    let replay = result["properties"]["replay"].as_str().unwrap().strip_prefix("membar ").unwrap();
    assert_eq!(files.run(&replay.split(' ').collect::<Vec<_>>()).code, 0, "{replay}");
    apply(files.0.path(), &result["fixes"][0]);
    let (code, document) = sarif(&files, &["SB.litmus"]);
    let text = std::fs::read_to_string(files.path("SB.litmus")).unwrap();
    assert_eq!((code, &document["runs"][0]["results"]), (0, &Value::Array(vec![])), "{text}");
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
fn a_lock_in_c_with_its_fix() {
    let source = include_str!("../../../../examples/programs/peterson.c");
    // The fence wants a header, which a fix does not add.
    let source = source.replace("#include <stddef.h>", "#include <stdatomic.h>");
    let source = source.replace("#include <pthread.h>", "#include <pthread.h>\n#include <stddef.h>");
    let files = Files::new(&[]);
    std::fs::create_dir_all(files.path("repo/.git")).unwrap();
    std::fs::create_dir_all(files.path("repo/sub dir")).unwrap();
    std::fs::write(files.path("repo/sub dir/peterson.c"), &source).unwrap();
    let within = |place: &str, file: &str| {
        let ran = common::run_in(&files.path(place), &["verify", "--format", "sarif", file]);
        let document = document(&ran);
        well_formed(&document);
        (ran.code, document)
    };
    let (code, document) = within("repo/sub dir", "peterson.c");
    let result = &document["runs"][0]["results"][0];
    let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!((code, uri), (1, &"sub%20dir/peterson.c".into()), "from the root of the repository");
    assert_eq!(result["locations"][0]["logicalLocations"][0]["name"], "main");
    let prints = |document: &Value| -> Vec<String> {
        let results = document["runs"][0]["results"].as_array().unwrap();
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect()
    };
    let before = prints(&document);
    std::fs::write(files.path("repo/sub dir/peterson.c"), format!("/* moved\n\n */\n{source}")).unwrap();
    let (_, moved) = within("repo", "sub dir/peterson.c");
    assert_eq!(prints(&moved), before, "lines moved, findings did not");
    assert_ne!(moved["runs"][0]["results"][0]["locations"], result["locations"]);
    let fix = moved["runs"][0]["results"][0]["fixes"][0].to_string().replace("%20", " ");
    apply(&files.path("repo"), &serde_json::from_str(&fix).unwrap());
    let (code, _) = within("repo", "sub dir/peterson.c");
    assert_eq!(code, 0, "{}", std::fs::read_to_string(files.path("repo/sub dir/peterson.c")).unwrap());
}

/// Full fences and store barriers, one and several, where the two accesses are next to each other and where they are not.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
fn fixes_make_programs_safe() {
    for (name, model) in [("dekker.c", "tso"), ("bakery.c", "pso"), ("seqlock.c", "pso"), ("chaselev.cpp", "tso")] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/programs").join(name);
        let header = if name.ends_with(".c") { "stdatomic.h" } else { "atomic" };
        let source = format!("#include <{header}>\n{}", std::fs::read_to_string(path).unwrap());
        let files = Files::new(&[(name, source.as_bytes())]);
        let (code, document) = sarif(&files, &[name, "--model", model]);
        assert_eq!(code, 1, "{name}");
        apply(files.0.path(), &document["runs"][0]["results"][0]["fixes"][0]);
        let (code, _) = sarif(&files, &[name, "--model", model]);
        assert_eq!(code, 0, "{}", std::fs::read_to_string(files.path(name)).unwrap());
    }
}

#[test]
fn errors_limits_and_bad_input_are_told() {
    let files =
        Files::new(&[("stuck.litmus", DEADLOCK.as_bytes()), ("SB.litmus", SB.as_bytes()), ("bad.litmus", b"X86")]);
    let (code, document) = sarif(&files, &["stuck.litmus"]);
    let result = &document["runs"][0]["results"][0];
    assert_eq!((code, &result["ruleId"]), (1, &"deadlock".into()), "{document}");
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "stuck.litmus");
    let notes = |document: &Value| document["runs"][0]["invocations"][0]["toolExecutionNotifications"].clone();
    let (code, document) = sarif(&files, &["SB.litmus", "--strategy", "random", "--executions", "1"]);
    let said = notes(&document)[0]["message"]["text"].as_str().unwrap().to_owned();
    assert!(code == 3 || code == 1, "{code}");
    assert!(said.contains("executions were chosen at random"), "{said}");
    let (code, document) = sarif(&files, &["bad.litmus", "SB.litmus"]);
    let invocation = &document["runs"][0]["invocations"][0];
    assert_eq!((code, &invocation["exitCode"], &invocation["executionSuccessful"]), (2, &2.into(), &false.into()));
    assert_eq!(document["runs"][0]["results"].as_array().unwrap().len(), 1, "the others are still there");
    assert_eq!(notes(&document).as_array().unwrap().len(), 1);
    assert_eq!(notes(&document)[0]["level"], "error");
}

#[test]
fn two_models_are_two_categories() {
    let files = Files::new(&[("SB.litmus", SB.as_bytes())]);
    let id = |model: &str| {
        let (_, document) = sarif(&files, &["SB.litmus", "--model", model]);
        let run = &document["runs"][0];
        (run["automationDetails"]["id"].clone(), run["results"][0]["ruleId"].clone())
    };
    assert_eq!(id("tso"), ("membar-verify/tso/".into(), "tso-violation".into()));
    assert_eq!(id("pso"), ("membar-verify/pso/".into(), "pso-violation".into()));
}

/// The commands of the book's reference/ci.md, run as they are.
#[test]
fn the_documented_commands_work() {
    let page = include_str!("../../../../book/src/reference/ci.md");
    let shell = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let action = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let step: String = action
        .lines()
        .skip_while(|line| line.trim() != "code=0")
        .take_while(|line| line.starts_with("          "))
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    assert!(step.contains("membar verify") && step.contains("GITHUB_OUTPUT"), "{step}");
    let fixed = include_str!("../../../../examples/litmus/SB+mfences.litmus");
    for (program, expected) in [(SB, 1), (fixed, 0), ("X86", 2)] {
        let files = Files::new(&[]);
        std::fs::create_dir_all(files.path("tests/concurrency")).unwrap();
        std::fs::write(files.path("tests/concurrency/t.litmus"), program).unwrap();
        let binary = Path::new(command().get_program()).parent().unwrap().to_owned();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let run = |script: &str| {
            let mut sh = Command::new("sh");
            sh.args(["-ec", script]).current_dir(files.0.path()).env("PATH", &path);
            sh.env("GITHUB_OUTPUT", files.path("output")).output().unwrap()
        };
        let output = run(shell);
        assert_eq!(output.status.code(), Some(expected), "{}", String::from_utf8_lossy(&output.stdout));
        let text = std::fs::read_to_string(files.path("membar.sarif")).unwrap();
        well_formed(&serde_json::from_str(&text).unwrap());
        assert_eq!(run(&step).status.code(), Some(0), "the step goes on, so that findings are uploaded");
        assert_eq!(std::fs::read_to_string(files.path("output")).unwrap(), format!("code={expected}\n"));
    }
}
