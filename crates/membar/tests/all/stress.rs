//! `membar stress`: this machine's stores wait in buffers, which sc forbids; what its own model forbids does not happen.

use crate::common;

use common::Files;
use serde_json::Value;

const SB: &str = "X86_64 SB
{ uint64_t x=0; uint64_t y=0; uint64_t 0:rax; uint64_t 1:rax; }
 P0             | P1             ;
 movq $1,(x)    | movq $1,(y)    ;
 movq (y),%rax  | movq (x),%rax  ;
exists (0:rax=0 /\\ 1:rax=0)
";

/// Relaxed outcomes take two cores, and an x86 machine to know what they are.
fn can_show() -> bool {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let can = cores > 1 && cfg!(all(target_arch = "x86_64", target_os = "linux"));
    if !can {
        eprintln!("SKIPPED: needs x86-64 Linux with two cores");
    }
    can
}

#[test]
fn sc_is_violated_and_explained() {
    if !can_show() {
        return;
    }
    let files = Files::new(&[]);
    let ran = files.run(&["stress", "--model", "sc", "--time", "20s", "--output", "found", "--format", "json"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["schema"], 1, "{summary}");
    let bundle = std::fs::read_dir(files.path("found")).unwrap().next().unwrap().unwrap().path();
    let report = std::fs::read_to_string(bundle.join("report.txt")).unwrap();
    assert!(report.contains("FORBIDDEN by sc"), "{report}");
    let trace = bundle.join("trace.trace");
    let trace = trace.to_str().unwrap();
    assert_eq!(files.run(&["check", "--model", "sc", trace]).code, 1);
    assert_eq!(files.run(&["check", "--model", "tso", trace]).code, 0, "tso allows it");
}

#[test]
fn its_own_model_is_obeyed() {
    if !can_show() {
        return;
    }
    let files = Files::new(&[]);
    for more in [
        &["--profile", "paper", "--profile", "hot"][..],
        &["--profile", "locks", "--threads", "4", "--operations", "300"],
        &["--profile", "atomics", "--timestamps", "16"],
        &["--profile", "default", "--portable", "--cores", "0"],
    ] {
        let mut args = vec!["stress", "--tests", "60", "--time", "20s"];
        args.extend(more);
        let ran = files.run(&args);
        assert_eq!(ran.code, 0, "{more:?}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("no violation found"), "{}", ran.out);
    }
}

#[test]
fn litmus_tests_give_histograms() {
    if !can_show() {
        return;
    }
    let files = Files::new(&[("SB.litmus", SB.as_bytes())]);
    let ran = files.run(&["stress", "SB.litmus", "--tests", "50000"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for line in ["Test SB Allowed", "Histogram (", "Observation SB Sometimes", "Condition exists"] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    let ran = files.run(&["stress", "SB.litmus", "--tests", "50000", "--model", "sc", "--format", "json"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    let result = &result["results"][0];
    assert!(result["forbidden"].as_u64().unwrap() > 0, "{result}");
    let counted: u64 = result["states"].as_array().unwrap().iter().map(|state| state["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, result["outcomes"].as_u64().unwrap());
}

#[test]
fn bad_usage_is_told() {
    let files = Files::new(&[("not.litmus", b"hello\n"), ("SB.litmus", SB.as_bytes())]);
    for (args, word) in [
        (&["stress", "--cores", "900"][..], "core 900"),
        (&["stress", "--cores", "x"], "list of cores"),
        (&["stress", "--timestamps", "often"], "every"),
        (&["stress", "--profile", "papper"], "paper"),
        (&["stress", "--model", "tzo"], "tso"),
        (&["stress", "not.litmus"], "not.litmus"),
        (&["stress", "none.litmus"], "none.litmus"),
        (&["stress", "--model", "rc", "SB.litmus"], "sc, tso, pso, rvwmo, ztso or armv8"),
    ] {
        let ran = files.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(word), "{args:?}: {}", ran.err);
    }
}
