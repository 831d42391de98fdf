//! Schedules of executions that are not sequentially consistent: what is delayed, what is missed, and what is refused.

use crate::common;

use common::{Files, Ran, page_data};
use serde_json::Value;

const SB: &str = "X86 SB\n{ x=0; y=0; }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n \
                  MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
const IRIW: &str = "C IRIW\n{ }
P0 (atomic_int *x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
P1 (atomic_int *y) { atomic_store_explicit(y, 1, memory_order_relaxed); }
P2 (atomic_int *x, atomic_int *y) { int r0 = atomic_load_explicit(x, memory_order_acquire);
  int r1 = atomic_load_explicit(y, memory_order_acquire); }
P3 (atomic_int *x, atomic_int *y) { int r0 = atomic_load_explicit(y, memory_order_acquire);
  int r1 = atomic_load_explicit(x, memory_order_acquire); }
exists (2:r0=1 /\\ 2:r1=0 /\\ 3:r0=1 /\\ 3:r1=0)\n";
const WW: &str = "X86 2+2W\n{ x=0; y=0; }\n P0         | P1         ;\n MOV [x],$1 | MOV [y],$1 ;\n \
                  MOV [y],$2 | MOV [x],$2 ;\nexists (x=1 /\\ y=1)\n";

fn files() -> Files {
    Files::new(&[("SB.litmus", SB.as_bytes()), ("IRIW.litmus", IRIW.as_bytes()), ("2+2W.litmus", WW.as_bytes())])
}

/// The marks beside the steps, in order.
fn marks(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let words = ["-> waits in the store buffer", "<- step", "misses step", "comes before step"];
    let mark = |line: &str| words.iter().find_map(|word| Some(line[line.find(word)?..].trim().to_owned()));
    ran.out.lines().filter_map(mark).collect()
}

#[test]
fn a_store_waits_and_a_load_misses_it() {
    let files = files();
    for model in ["tso", "pso"] {
        let ran = files.run(&["replay", "SB.litmus", "a2bb~1", "--model", model]);
        assert_eq!(marks(&ran), ["-> waits in the store buffer", "misses step 1", "<- step 1 reaches memory"]);
        let head = format!("SB.litmus: schedule a2bb~1, 4 steps, under {model}, not sequentially consistent\n");
        assert!(ran.out.starts_with(&head) && ran.out.contains("memory: x=1 y=1"), "{}", ran.out);
    }
    // Nothing waits that need not: a step may be behind another one all the same.
    let ran = files.run(&["replay", "SB.litmus", "a2bb", "--model", "tso"]);
    assert!(ran.out.contains("4 steps, sequentially consistent"), "{}", ran.out);
    let ran = files.run(&["replay", "SB.litmus", "baa~1b", "--model", "tso"]);
    assert_eq!(marks(&ran), Vec::<String>::new());
    assert!(ran.out.contains("under tso, sequentially consistent"), "{}", ran.out);
}

#[test]
fn stores_come_before_others() {
    let ran = files().run(&["replay", "2+2W.litmus", "a2bb~1", "--model", "pso"]);
    let marks = marks(&ran);
    assert!(marks.iter().any(|mark| mark.starts_with("comes before step")), "{marks:?}");
    assert!(marks.iter().any(|mark| mark.ends_with("reaches memory")), "{marks:?}");
    assert!(ran.out.contains("memory: x=1 y=1"), "{}", ran.out);
}

#[test]
fn under_c11_each_thread_misses_what_it_misses() {
    let files = files();
    let args = ["replay", "IRIW.litmus", "abcc~1dd~1", "--model", "c11"];
    assert_eq!(marks(&files.run(&args)), ["misses step 2", "misses step 1"]);
    let document: Value =
        serde_json::from_str(&files.run(&[&args[..], &["--format", "json"]].concat()).out).expect("JSON");
    assert_eq!(document["sequential"], false);
    let missed: Vec<&Value> = document["run"].as_array().unwrap().iter().map(|step| &step["misses"]).collect();
    assert_eq!(missed.iter().filter(|missed| missed.is_number()).count(), 2);
    // The page says from where the loads read: both stale ones from the initial values.
    let ran = files.run(&[&args[..], &["--html", "page.html"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let case = &page_data(&files.path("page.html"))["cases"][0];
    assert_eq!((&case["verdict"], &case["model"]), (&Value::from("unsafe"), &Value::from("c11")));
    assert!(case["headline"][1].as_str().unwrap().ends_with("not sequentially consistent."), "{case}");
}

#[test]
fn what_the_model_does_not_have_is_refused() {
    let files = files();
    for (args, message) in [
        (&["SB.litmus", "a2bb~1"][..], "steps with `~` are those of a model"),
        (&["SB.litmus", "a2bb~1", "--model", "all"], "under one model"),
        (&["SB.litmus", "a2bb~1", "--model", "c11"], "memory order"),
        (
            &["SB.litmus", "a~1", "--model", "tso"],
            "step 1 of `a~1`: thread 0 cannot be 1 behind: 0 writes have been made",
        ),
        (&["SB.litmus", "a2bb~2", "--model", "tso"], "cannot be 2 behind: 1 write has been made"),
        (&["SB.litmus", "a2~1", "--model", "tso"], "character 3 of the schedule"),
        (&["SB.litmus", "a3b~1", "--model", "tso"], "thread 0 has ended"),
        (&["SB.litmus", "c~1", "--model", "tso"], "does not exist"),
        (&["IRIW.litmus", "abcc~1dd~1", "--model", "pso"], "`abcc~1dd~1` is not an execution under pso"),
        (&["2+2W.litmus", "a2bb~1", "--model", "tso"], "ppo ∪ rfe ∪ co ∪ fr has a cycle"),
    ] {
        let ran = files.run(&[&["replay"], args].concat());
        assert_eq!(ran.code, 2, "{args:?} {}", ran.out);
        assert!(ran.err.contains(message), "{args:?} {}", ran.err);
    }
}
