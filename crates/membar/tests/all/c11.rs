//! `membar verify --model c11`, as a user sees it.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common::{Files, run};
use serde_json::Value;
use std::path::Path;

/// Message passing; the orders of the two accesses to `ready` are macros.
const MP: &str = "#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef STORE
#define STORE memory_order_relaxed
#define LOAD memory_order_relaxed
#endif

static DATA data;
static atomic_int ready;

static void *writer(void *arg)
{
    (void)arg;
    data = 42;
    atomic_store_explicit(&ready, 1, STORE);
    return 0;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    if (atomic_load_explicit(&ready, LOAD))
        assert(data == 42);
    pthread_join(thread, 0);
    return 0;
}
";

const RELAXED: &str = "#include <pthread.h>
#include <stdatomic.h>

static atomic_int data, ready;

static void *writer(void *arg)
{
    (void)arg;
    atomic_store_explicit(&data, 42, memory_order_relaxed);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return 0;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    int seen = atomic_load_explicit(&ready, memory_order_relaxed);
    int value = atomic_load_explicit(&data, memory_order_relaxed);
    pthread_join(thread, 0);
    return seen && value == 7;
}
";

fn json(files: &Files, args: &[&str]) -> Value {
    let ran = files.run(&[&["verify", "--format", "json"], args].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

/// The first result's verdict, and how many violations and errors it has.
fn verdict(document: &Value) -> (String, usize, usize) {
    let result = &document["results"][0];
    let count = |name: &str| result[name].as_array().map_or(0, Vec::len);
    (result["verdict"].as_str().unwrap_or_default().into(), count("violations"), count("errors"))
}

#[test]
fn relaxed_message_passing_is_explained_and_fixed() {
    let files = Files::new(&[("mp.c", RELAXED.as_bytes())]);
    let document = json(&files, &["--model", "c11", "mp.c"]);
    assert_eq!(verdict(&document), ("unsafe".into(), 1, 0));
    let result = &document["results"][0];
    let violation = &result["violations"][0];
    assert_eq!(violation["shape"]["name"], "MP");
    assert_eq!(violation["certified"], true);
    // The weakest orders that suffice, in the source.
    let plan: Vec<(&str, &str)> = result["plan"]
        .as_array()
        .expect("a plan")
        .iter()
        .map(|order| (order["replaces"].as_str().unwrap(), order["fence"].as_str().unwrap()))
        .collect();
    let relaxed = "memory_order_relaxed";
    assert_eq!(plan, [(relaxed, "memory_order_release"), (relaxed, "memory_order_acquire")]);
    let ran = files.run(&["verify", "--model", "c11", "mp.c"]);
    assert_eq!(ran.code, 1);
    for words in [
        "UNSAFE under c11  mp.c: 1 violation",
        "may see 1 while `data` is still 0 in mp.c:19",
        "nothing keeps mp.c:19 after mp.c:18",
        "(checked: safe with these)",
        "violation 1 of 1: MP, message passing",
    ] {
        assert!(ran.out.replace("\n        ", " ").contains(words), "{words}: {}", ran.out);
    }
    // On x86 nothing is wrong with it.
    assert_eq!(verdict(&json(&files, &["mp.c"])), ("safe".into(), 0, 0));
}

#[test]
fn races_are_errors_with_both_places() {
    let files = Files::new(&[("mp.c", MP.as_bytes())]);
    let flags = |store: &str, load: &str| {
        ["-DDATA=int".to_owned(), format!("-DSTORE=memory_order_{store}"), format!("-DLOAD=memory_order_{load}")]
    };
    let found = |model: &[&str], flags: &[String]| {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        json(&files, &[model, &["mp.c", "--"], &flags].concat())
    };
    let document = found(&["--model", "c11"], &flags("relaxed", "relaxed"));
    assert_eq!(verdict(&document), ("error".into(), 0, 1));
    let race = &document["results"][0]["errors"][0];
    assert_eq!(race["kind"], "race");
    assert_eq!((race["stack"][0]["line"].as_u64(), race["other"][0]["line"].as_u64()), (Some(26), Some(16)));
    let message = race["message"].as_str().expect("words");
    assert!(
        message.starts_with("data race on `data`: T1 writes it at mp.c:16, and main reads it at mp.c:26"),
        "{message}"
    );
    let missing = "they would be ordered if: `ready` (mp.c:17) were written with release and `ready` (mp.c:25) were read with acquire";
    assert!(message.contains(missing), "{message}");
    // One end is not enough.
    assert_eq!(verdict(&found(&["--model", "c11"], &flags("release", "relaxed"))).0, "error");
    assert_eq!(verdict(&found(&["--model", "c11"], &flags("relaxed", "acquire"))).0, "error");
    assert_eq!(verdict(&found(&["--model", "c11"], &flags("release", "acquire"))), ("safe".into(), 0, 0));
    // Whether races count can be said, whatever the model.
    let relaxed = flags("relaxed", "relaxed");
    assert_eq!(verdict(&found(&["--model", "tso"], &relaxed)).0, "safe");
    assert_eq!(verdict(&found(&["--model", "tso", "--races", "on"], &relaxed)).0, "error");
    assert_eq!(verdict(&found(&["--model", "c11", "--races", "off"], &relaxed)).0, "unsafe");
}

#[test]
fn all_models_are_one_exploration_and_one_table() {
    let files = Files::new(&[("mp.c", RELAXED.as_bytes())]);
    let document = json(&files, &["--model", "all", "mp.c"]);
    let results = document["results"].as_array().expect("results");
    let answers: Vec<(&str, &str)> =
        results.iter().map(|result| (result["model"].as_str().unwrap(), result["verdict"].as_str().unwrap())).collect();
    assert_eq!(answers, [("tso", "safe"), ("pso", "unsafe"), ("c11", "unsafe")]);
    let ran = files.run(&["verify", "--model", "all", "mp.c"]);
    assert!(ran.out.contains("\n      tso        pso        c11\nmp.c  safe       UNSAFE     UNSAFE\n"), "{}", ran.out);
}

#[test]
fn sarif_has_the_edit_and_both_places() {
    let files = Files::new(&[("mp.c", RELAXED.as_bytes()), ("race.c", MP.as_bytes())]);
    let sarif = |args: &[&str]| -> Value {
        let ran = files.run(&[&["verify", "--model", "c11", "--format", "sarif"], args].concat());
        serde_json::from_str(&ran.out).expect("JSON")
    };
    let document = sarif(&["mp.c"]);
    let result = &document["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "c11-violation");
    let replaced = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(replaced["insertedContent"]["text"], "memory_order_release");
    let region = &replaced["deletedRegion"];
    let width = region["endColumn"].as_u64().unwrap() - region["startColumn"].as_u64().unwrap();
    assert_eq!((region["startLine"].as_u64(), width as usize), (Some(10), "memory_order_relaxed".len()));
    let document = sarif(&["race.c", "--", "-DDATA=int"]);
    let result = &document["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "race");
    assert_eq!(result["stacks"].as_array().map(Vec::len), Some(2));
    assert_eq!(result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 16);
}

#[test]
fn locks_threads_and_initialisation_synchronise() {
    synchronise(&["gcc"], &["-O2"]);
}

#[test]
#[ignore = "long"]
fn locks_threads_and_initialisation_synchronise_with_every_compiler() {
    synchronise(&["gcc", "clang"], &["-O0", "-O2"]);
}

/// The programs of the corpus have the answers that they expect.
fn synchronise(compilers: &[&str], levels: &[&str]) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/c11");
    let mut checked = 0;
    for entry in std::fs::read_dir(directory).expect("programs") {
        let file = entry.expect("a file").path();
        let text = std::fs::read_to_string(&file).expect("UTF-8");
        let expected = text.lines().next().and_then(|line| line.strip_prefix("// expect: ")).expect("what to expect");
        for compiler in compilers {
            if std::process::Command::new(compiler).arg("--version").output().is_err() {
                eprintln!("SKIPPED: {compiler} is not installed");
                continue;
            }
            for level in levels {
                let path = file.to_str().expect("UTF-8");
                let args = ["verify", "--model", "c11", "--format", "json", "--cc", compiler, path, "--", level];
                let ran = run(&args);
                let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{path}: {}", ran.err));
                let verdict = document["results"][0]["verdict"].as_str().expect("a verdict");
                assert_eq!(verdict, expected, "{path} {compiler} {level}: {:#}", document["results"][0]["errors"]);
                checked += 1;
            }
        }
    }
    assert!(checked >= 20, "{checked}");
}

#[test]
fn programs_to_port() {
    ported(1);
}

#[test]
#[ignore = "long"]
fn programs_to_port_with_every_order_weakened() {
    ported(usize::MAX);
}

/// The programs of the book's chapter: broken, fixed, and broken again by weakening any order of the fixed one. Of each, this
/// many orders are weakened.
fn ported(weakened: usize) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/programs");
    let names = ["arm-ring.c", "arm-seqlock.c", "arm-once.cpp", "arm-ticket.c", "arm-refcount.cpp"];
    let mut mutants = 0;
    for name in names {
        let (stem, ending) = name.split_once('.').expect("an ending");
        let fixed = format!("{stem}-fixed.{ending}");
        let read = |name: &str| std::fs::read_to_string(directory.join(name)).expect("an example");
        let (broken_text, fixed_text) = (read(name), read(&fixed));
        let files = Files::new(&[(name, broken_text.as_bytes()), (&fixed, fixed_text.as_bytes())]);
        assert_eq!(files.run(&["verify", name]).code, 0, "{name} under tso");
        let broken = files.run(&["verify", "--model", "c11", name]);
        assert_eq!(broken.code, 1, "{name}: {}{}", broken.out, broken.err);
        // What is suggested was tried.
        assert!(
            broken.out.contains("  Fix:  ") && broken.out.contains("(checked: safe with "),
            "{name}: {}",
            broken.out
        );
        let fine = files.run(&["verify", "--model", "all", &fixed]);
        assert_eq!(fine.code, 0, "{fixed}: {}{}", fine.out, fine.err);
        let orders = ["release", "acquire", "acq_rel", "seq_cst"].map(|order| format!("memory_order_{order}"));
        let places = orders.iter().flat_map(|order| fixed_text.match_indices(order));
        for (at, order) in places.take(weakened) {
            let (before, after) = (&fixed_text[..at], &fixed_text[at + order.len()..]);
            let mutant = Files::new(&[(&fixed, format!("{before}memory_order_relaxed{after}").as_bytes())]);
            let ran = mutant.run(&["verify", "--model", "c11", &fixed]);
            let line = before.lines().count();
            assert_eq!(ran.code, 1, "{fixed} without {order} in line {line}: {}{}", ran.out, ran.err);
            mutants += 1;
        }
    }
    assert!(mutants >= if weakened == 1 { names.len() } else { 15 }, "{mutants}");
}

#[test]
fn assembly_has_no_orders() {
    let text = "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0)\n";
    let files = Files::new(&[("SB.litmus", text.as_bytes())]);
    for command in ["verify", "litmus"] {
        let ran = files.run(&[command, "--model", "c11", "SB.litmus"]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("assembly has no memory orders"), "{}", ran.err);
    }
}

#[test]
fn load_buffering_is_named() {
    let text = "C LB\n{ }\nP0 (atomic_int* x, atomic_int* y) { int r = atomic_load_explicit(x, memory_order_relaxed); \
                atomic_store_explicit(y, 1, memory_order_relaxed); }\nP1 (atomic_int* x, atomic_int* y) { int r = \
                atomic_load_explicit(y, memory_order_relaxed); atomic_store_explicit(x, 1, memory_order_relaxed); }\n\
                exists (0:r=1 /\\ 1:r=1)\n";
    let files = Files::new(&[("LB.litmus", text.as_bytes())]);
    let ran = files.run(&["verify", "--model", "c11", "LB.litmus"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("load buffering was not looked for"), "{}", ran.out);
    let strong = text.replacen("memory_order_relaxed", "memory_order_acquire", 1);
    let files = Files::new(&[("LB.litmus", strong.as_bytes())]);
    assert!(!files.run(&["verify", "--model", "c11", "LB.litmus"]).out.contains("load buffering"));
    // The states are those of RC11.
    let files = Files::new(&[("LB.litmus", text.as_bytes())]);
    let ran = files.run(&["litmus", "--model", "c11", "LB.litmus"]);
    assert!(ran.out.contains("Observation LB Never 0 3"), "{}", ran.out);
}

#[test]
fn the_model_explains_itself() {
    let ran = run(&["models", "show", "c11"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("psc is acyclic") && ran.out.contains("load buffering"), "{}", ran.out);
}
