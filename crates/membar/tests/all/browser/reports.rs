//! The reports that are looked at, one line each: add a line for a new kind of page.

use crate::common::{FINE, SB, hard_trace, run};

/// A page to write, and what has to be on it.
pub struct Report {
    pub name: &'static str,
    pub files: Vec<(&'static str, String)>,
    /// The command, without `--html`.
    pub args: &'static [&'static str],
    /// Its exit code.
    pub code: i32,
    /// The views that can be seen at first: ids of cards, `answers` for the table of answers, `stepper` and `original` for
    /// the parts of cards that not every report has.
    pub views: &'static str,
    /// Texts that can be read on it, as they are.
    pub says: &'static [&'static str],
}

const MP: &str = "0: data := 1\n0: flag := 1\n1: flag == 1\n1: data == 0\ncheck\n";
const INTERLEAVING: &str = "0: x := 1 ! sb.c:3\n0: y == 0 ! sb.c:4\n1: y := 1\n1: x == 1\ncheck\n";
const IRIW: &str = "0: x := 1\n1: y := 1\n2: x == 1\n2: y == 0\n3: y == 1\n3: x == 0\ncheck\n";
const LOCKS: &str = "0: acq L @ 10:20\n0: x := 1 @ 21:30\n0: y == 0 @ 31:40\n0: rel L @ 41:50\n1: acq L @ 60:70\n\
                     1: x == 0 @ 71:80\n1: y := 1 @ 81:90\n1: rel L @ 91:95\ncheck\n";
const TIMES: &str = "0: x := 1 @ 100:120\n0: y := 1 @ 110:131\n1: y == 1 @ 140:150\n1: x == 1 @ 151:160\n\
                     2: x == 0 @ 170:180\ncheck\n";
const CORRUPTED: &str = include_str!("../../../../../examples/corrupted-load.trace");
const FAMILIES: &str = include_str!("../../../../../examples/litmus.trace");
const VIOLATION: &str = include_str!("../../../../../examples/tso-violation.trace");
const SB_LITMUS: &str = include_str!("../../../../../examples/litmus/SB.litmus");
const IRIW_LITMUS: &str = include_str!("../../../../../examples/litmus/IRIW.litmus");
const PETERSON: &str = include_str!("../../../../../examples/programs/peterson.c");
const CHASE_LEV: &str = include_str!("../../../../../examples/programs/chaselev.cpp");
const MESSAGE: &str = include_str!("../../../../membar-report/src/verify/fixtures/message.c");
const LOCK: &str = include_str!("../../../../membar-report/src/verify/fixtures/lock.c");
const FAILURES: &str = include_str!("../../../../membar-report/src/verify/fixtures/failures.json");
const ASSERTION: &str = include_str!("../../../../../corpus/programs/assert-one-interleaving.c");

/// Names, comments and strings that would do something if they were markup.
const EVIL_TRACE: &str = "\"><img src=x onerror=pwned=1>`<b>.trace";
const EVIL_LITMUS: &str = "'><svg onload=pwned=1>.litmus";
const EVIL_COMMENT: &str = "</script><script>pwned=1</script><img src=x onerror=pwned=1>";
const EVIL_MODEL: &str = "name = \"evil\"\ntitle = \"<img src=x onerror=pwned=1>\"\nabout = \"</script><script>pwned=1</script>\"\n\
     [ppo]\nload-load = \"always\"\nload-store = \"always\"\nstore-load = \"never\"\nstore-store = \"always\"\n\
     [axioms]\nstore-forwarding = true\ncoherence = true\n";

/// A trace of a simulated machine, as `membar gen` writes it.
fn generated(machine: &str) -> String {
    let ran =
        run(&["gen", "--as", "trace", "--machine", machine, "--threads", "4", "--operations", "1500", "--seed", "3"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out
}

/// A trace that only a case split refutes.
fn cases() -> String {
    let mut text = Vec::new();
    let trace = membar_testkit::figures::implied_orders(2, &[(0, 1), (1, 0)]);
    membar_trace::write_trace(&trace, &mut text).expect("a trace");
    String::from_utf8(text).expect("UTF-8")
}

fn report(
    name: &'static str,
    files: &[(&'static str, &str)],
    args: &'static [&'static str],
    code: i32,
    views: &'static str,
    says: &'static [&'static str],
) -> Report {
    let files = files.iter().map(|&(name, text)| (name, text.to_owned())).collect();
    Report { name, files, args, code, views, says }
}

/// All of them.
pub fn reports() -> Vec<Report> {
    [of_traces(), of_programs(), of_others(), of_hostile_input()].into_iter().flatten().collect()
}

fn of_traces() -> Vec<Report> {
    vec![
        report(
            "mp-tso",
            &[("mp.trace", MP)],
            &["check", "mp.trace"],
            1,
            FORBIDDEN,
            &["tso forbids this trace.", "message passing", "it would be before itself"],
        ),
        report(
            "sb-sc",
            &[("sb.trace", SB)],
            &["check", "sb.trace", "--model", "sc"],
            1,
            FORBIDDEN,
            &["sc forbids this trace.", "The strongest built-in model that allows it: tso."],
        ),
        report("iriw", &[("iriw.trace", IRIW)], &["check", "iriw.trace"], 1, FORBIDDEN, &["IRIW"]),
        report(
            "corrupted",
            &[("c.trace", CORRUPTED)],
            &["check", "c.trace"],
            1,
            "verdict argument threads read machine fix reproduce stepper original",
            &["M[4]"],
        ),
        report("violation", &[("v.trace", VIOLATION)], &["check", "v.trace"], 1, FORBIDDEN, &["thread 3"]),
        report(
            "locks",
            &[("l.trace", LOCKS)],
            &["check", "l.trace", "--model", "rc", "--clock", "global"],
            1,
            "verdict argument threads read machine fix reproduce original",
            &["@ 10:20"],
        ),
        report(
            "times",
            &[("t.trace", TIMES)],
            &["check", "t.trace", "--clock", "global"],
            1,
            "verdict argument threads read machine fix reproduce original",
            &["time"],
        ),
        report(
            "cases",
            &[("s.trace", &cases())],
            &["check", "s.trace"],
            1,
            FORBIDDEN,
            &["Case 1: suppose", "So, without assuming anything:"],
        ),
        report(
            "big",
            &[("big.trace", &generated("mesi-tso+split-rmw"))],
            &["check", "big.trace"],
            1,
            "verdict argument threads read machine fix reproduce stepper original",
            &["6000 operations", " of 6\u{202f}000)"],
        ),
        report(
            "allowed",
            &[("sb.trace", SB)],
            &["check", "sb.trace"],
            0,
            "verdict threads machine reproduce stepper",
            &["tso allows this trace."],
        ),
        report(
            "undecided",
            &[("h.trace", &hard_trace())],
            &["check", "h.trace", "--time", "1ms"],
            3,
            "verdict stop threads machine reproduce",
            &["How to go on"],
        ),
        report(
            "several",
            &[("f.trace", FAMILIES), ("sb.trace", SB), ("fine.trace", FINE)],
            &["check", "f.trace", "sb.trace", "fine.trace", "--model", "sc", "--model", "tso"],
            1,
            "verdict argument threads read machine fix reproduce stepper answers",
            &["f.trace, trace 2"],
        ),
    ]
}

fn of_programs() -> Vec<Report> {
    vec![
        report(
            "unsafe-litmus",
            &[("SB.litmus", SB_LITMUS)],
            &["verify", "SB.litmus"],
            1,
            UNSAFE,
            &["SB.litmus is not safe under tso.", "mfence"],
        ),
        report(
            "unsafe-c",
            &[("peterson.c", PETERSON)],
            &["verify", "peterson.c"],
            1,
            "verdict argument threads source read machine models reproduce stepper answers original",
            &[
                "2 violations in peterson.c",
                "is still in a buffer",
                "initially turn = 0, wants[0] = 0, wants[1] = 0",
                "while (wants[other] && turn == other)",
                "atomic_thread_fence(memory_order_seq_cst)",
            ],
        ),
        report(
            "unsafe-c++",
            &[("chaselev.cpp", CHASE_LEV)],
            &["verify", "chaselev.cpp", "--model", "pso"],
            1,
            "verdict argument threads source read machine models reproduce stepper answers original",
            &["chaselev.cpp fails under pso."],
        ),
        report(
            "unsafe-c11",
            &[("message.c", MESSAGE)],
            &["verify", "message.c", "--model", "c11"],
            1,
            "verdict argument threads source read machine reproduce stepper answers",
            &["message.c fails under c11.", "main may read", "misses data := 42"],
        ),
        report(
            "fails",
            &[("failures.json", FAILURES), ("lock.c", LOCK), ("message.c", MESSAGE)],
            &["report", "failures.json"],
            0,
            "verdict argument threads source read machine models reproduce stepper answers original",
            &["lock.c fails under tso.", "assertion inside == 1 fails", "misses wants[0] := 1"],
        ),
        report(
            "safe",
            &[("IRIW.litmus", IRIW_LITMUS)],
            &["verify", "IRIW.litmus"],
            0,
            "verdict reproduce",
            &["IRIW.litmus is safe under tso."],
        ),
        report(
            "error",
            &[("a.c", ASSERTION)],
            &["verify", "a.c"],
            1,
            "verdict source fix reproduce",
            &["!(before == 0 && after == 3)"],
        ),
    ]
}

/// Of recordings, schedules, final states and campaigns.
fn of_others() -> Vec<Report> {
    vec![
        report(
            "monitor",
            &[("run.trace", INTERLEAVING)],
            &["monitor", "run.trace"],
            1,
            "verdict argument threads read machine fix reproduce stepper answers",
            &["This interleaving is not safe under tso.", "sb.c:3"],
        ),
        report(
            "replay",
            &[("SB.litmus", SB_LITMUS)],
            &["replay", "SB.litmus", "a2b2", "--model", "tso"],
            0,
            "verdict threads source machine fix reproduce stepper",
            &["Schedule a2b2 of SB.litmus, 4 steps."],
        ),
        report(
            "replay-c",
            &[("peterson.c", PETERSON)],
            &["replay", "peterson.c", "a2b3c4", "--model", "tso"],
            0,
            "verdict threads source machine fix reproduce stepper",
            &[
                "Schedule a2b3c4 of peterson.c, 9 steps.",
                "0 of 9",
                "✗ could overtake",
                "(peterson.c:59) pthread_join(a, NULL);",
            ],
        ),
        report(
            "litmus",
            &[("SB.litmus", SB_LITMUS)],
            &["litmus", "SB.litmus"],
            0,
            "verdict states threads source machine reproduce stepper",
            &["exists (0:rax=0 /\\ 1:rax=0)", "✗ forbidden"],
        ),
        report(
            "campaign",
            &[],
            &[
                "simulate",
                "--machine",
                "mesi-tso",
                "--bug",
                "no-replay",
                "--keep-going",
                "--tests",
                "60",
                "--output",
                "kept",
                "--quiet",
            ],
            1,
            "campaign groups outcomes again speed coverage verdict argument threads read machine fix reproduce stepper answers",
            &["mesi-tso with the bug no-replay did what tso forbids.", "Where reads got their value"],
        ),
    ]
}

/// Names, comments and titles that must not become part of the page's code.
fn of_hostile_input() -> Vec<Report> {
    let evil_source = SB_LITMUS.replace("Yes under tso", &format!("{EVIL_COMMENT} Yes under tso"));
    let evil_program = ASSERTION.replace("assert(", &format!("assert(\"{EVIL_COMMENT}\" && "));
    vec![
        report(
            "evil-trace",
            &[(EVIL_TRACE, MP), ("m.toml", EVIL_MODEL)],
            &["check", EVIL_TRACE, "--model", "m.toml"],
            1,
            "verdict argument threads read machine fix reproduce",
            &[EVIL_TRACE],
        ),
        report(
            "evil-litmus",
            &[(EVIL_LITMUS, &evil_source)],
            &["verify", EVIL_LITMUS],
            1,
            UNSAFE,
            &[EVIL_LITMUS, EVIL_COMMENT],
        ),
        report(
            "evil-error",
            &[("e.c", &evil_program)],
            &["verify", "e.c"],
            1,
            "verdict source fix reproduce",
            &[EVIL_COMMENT],
        ),
    ]
}

/// The parts of a report on a forbidden trace that is as small as it gets.
const FORBIDDEN: &str = "verdict argument threads read machine fix reproduce stepper";
/// The parts of a report on an unsafe program whose execution is as small as it gets.
const UNSAFE: &str = "verdict argument threads source read machine models reproduce stepper";
