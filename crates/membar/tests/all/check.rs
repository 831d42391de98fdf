//! `membar check`, run as users run it: exit codes, formats, order of results, limits.
//! Catches what no other test does: a verdict that is right inside and wrong, late or missing outside.

use crate::common;

use common::{BAD, FINE, Files, MALFORMED, SB, hard_trace, run, run_with};
use membar_simulate::{Machine, Mix, Observe, Workload, simulate};

fn check(args: &[&str], input: &str) -> common::Ran {
    let args: Vec<&str> = ["check", "-"].iter().chain(args).copied().collect();
    run_with(&args, input.as_bytes())
}

#[test]
fn exit_codes() {
    let hard = hard_trace();
    let all = |parts: &[&str]| parts.concat();
    for (text, code) in [
        (FINE.to_owned(), 0),
        (BAD.to_owned(), 1),
        (all(&[FINE, BAD]), 1),
        (MALFORMED.to_owned(), 2),
        (all(&[FINE, MALFORMED]), 2),
        (all(&[BAD, MALFORMED]), 2),
        (hard.clone(), 3),
        (all(&[&hard, FINE]), 3),
        (all(&[&hard, BAD]), 1),
        (all(&[&hard, BAD, MALFORMED]), 2),
    ] {
        for jobs in ["1", "3"] {
            let ran = check(&["--time", "0s", "--jobs", jobs], &text);
            assert_eq!(ran.code, code, "{jobs} jobs\n{}{}", ran.out, ran.err);
        }
    }
}

#[test]
fn tso_is_the_default_model() {
    assert_eq!(check(&[], SB).code, 0);
    assert_eq!(check(&["--model", "tso"], SB).out, check(&[], SB).out);
    assert_eq!(check(&["--model", "sc"], SB).code, 1);
    assert!(run(&["check", "--help"]).out.contains("[default: tso]"));
}

#[test]
fn a_model_of_ones_own() {
    let source = run(&["models", "show", "sc"]).out;
    let files =
        Files::new(&[("mine.toml", source.replace("\"sc\"", "\"mine\"").as_bytes()), ("sb.trace", SB.as_bytes())]);
    let ran = files.run(&["check", "sb.trace", "--model", "mine.toml"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.starts_with("FORBIDDEN by mine  sb.trace, trace 1 (line 1)"), "{}", ran.out);
    for (model, says) in
        [("tos", "did you mean `tso`?"), ("no.toml", "does not exist"), ("sb.trace", "there is no model")]
    {
        let ran = files.run(&["check", "sb.trace", "--model", model]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn undecided_says_how_far_and_what_to_do() {
    let ran = check(&["--time", "0s"], &hard_trace());
    assert!(ran.out.starts_with("UNDECIDED by tso  <stdin>, trace 1 (line 1): 20000 operations"), "{}", ran.out);
    for says in ["The time limit passed", " of 20000 operations", "--time", "split the recording", "`order` lines"] {
        assert!(ran.out.contains(says), "{}", ran.out);
    }
    let ran = check(&["--memory", "1kb"], &hard_trace());
    assert!(ran.out.contains("The memory limit was reached") && ran.out.contains("--memory"), "{}", ran.out);
}

#[test]
fn axe_format_is_a_word_a_trace() {
    let ran = check(&["--format", "axe", "--model", "sc"], &[FINE, SB, BAD, FINE].concat());
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, "OK\nNO\nNO\nOK\n", ""));
    let ran = check(&["--format", "axe", "--time", "0s"], &[&hard_trace(), FINE].concat());
    assert_eq!((ran.code, ran.out.as_str()), (3, "UNDECIDED\nOK\n"));
    let ran = check(&["--format", "axe", "--model", "sc", "--model", "tso"], FINE);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("one model"), "{}", ran.err);
}

#[test]
fn several_models_make_a_table() {
    let files = Files::new(&[("a.trace", [SB, FINE].concat().as_bytes()), ("longer-name.trace", BAD.as_bytes())]);
    let ran = files.run(&["check", "a.trace", "longer-name.trace", "--model", "sc", "--model", "tso"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!("table", ran.out);
    let quiet = files.run(&["check", "a.trace", "longer-name.trace", "--model", "sc,tso", "-q"]);
    assert_eq!(quiet.out.lines().count(), 3, "{}", quiet.out);
    let fine = files.run(&["check", "a.trace", "--model", "pso", "--model", "tso"]);
    assert_eq!(fine.code, 0);
    assert!(!fine.out.contains("For the reason"), "{}", fine.out);
}

#[test]
fn quiet_says_nothing_about_allowed_traces() {
    let ran = check(&["-q"], &FINE.repeat(3));
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let ran = check(&["-q"], &[FINE, BAD, FINE].concat());
    assert!(ran.out.starts_with("FORBIDDEN"), "{}", ran.out);
    assert!(!ran.out.contains("allowed by"), "{}", ran.out);
}

#[test]
fn many_traces_end_with_a_count() {
    let ran = check(&[], &[FINE, BAD, FINE].concat());
    assert!(ran.out.ends_with("\n3 traces: 2 allowed, 1 forbidden\n"), "{}", ran.out);
    assert!(!check(&[], FINE).out.contains("1 trace:"));
}

#[test]
fn verbose_shows_a_memory_order() {
    let ran = check(&["-v"], SB);
    insta::assert_snapshot!("witness", ran.out);
    let long: String = (1..=100).map(|i| format!("0: x := {i}\n")).chain(["check\n".to_owned()]).collect();
    assert!(check(&["-v"], &long).out.contains("… 50 more; -vv shows all"));
    assert_eq!(check(&["-vv"], &long).out.lines().count(), 102);
}

#[test]
fn jobs_keep_the_order() {
    let work = |seed| Workload { threads: 3, addresses: 3, ops: 30, mix: Mix::PAPER, seed };
    let mut text = Vec::new();
    for seed in 0..300 {
        let trace = simulate(&work(seed), Machine::Pso, Observe::default());
        membar_trace::write_trace(&trace, &mut text).unwrap();
        if seed % 50 == 49 {
            text.extend_from_slice(MALFORMED.as_bytes());
        }
    }
    for format in ["text", "axe"] {
        let args = |jobs| ["check", "-", "--keep-going", "--model", "tso", "--format", format, "--jobs", jobs];
        let (one, four) = (run_with(&args("1"), &text), run_with(&args("4"), &text));
        assert_eq!((one.code, &one.out, &one.err), (four.code, &four.out, &four.err));
        assert!(one.out.contains(if format == "axe" { "OK" } else { "allowed" }));
        assert!(one.out.contains(if format == "axe" { "NO" } else { "FORBIDDEN" }));
        assert_eq!(one.err.matches("error: expected").count(), 6);
    }
}

#[test]
fn colours_only_where_wanted() {
    assert!(!check(&["--model", "sc"], SB).out.contains('\x1b'));
    let ran = check(&["--model", "sc", "--color", "always"], SB);
    assert!(ran.out.starts_with("\x1b[1m\x1b[31mFORBIDDEN\x1b[0m"), "{:?}", &ran.out[..40]);
    assert!(check(&["--color", "always"], SB).out.starts_with("\x1b[32mallowed"));
    assert!(!check(&["--color", "never"], SB).out.contains('\x1b'));
}

#[test]
fn file_names_do_not_reach_the_terminal_raw() {
    let files = Files::new(&[("a\u{1b}[31m.trace", FINE.as_bytes())]);
    let ran = files.run(&["check", "a\u{1b}[31m.trace"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.out.contains('\u{1b}'));
}

#[test]
fn limits_are_explained_where_they_are_wrong() {
    for (flag, value, says) in [
        ("--time", "10", "did you mean 10s?"),
        ("--time", "soon", "500ms"),
        ("--time", "3 weeks", "unknown unit `weeks`"),
        ("--memory", "4", "did you mean 4MiB or 4GiB?"),
        ("--memory", "4XB", "unknown unit `XB`"),
        ("--jobs", "0", "1..=1024"),
    ] {
        let ran = run(&["check", "-", flag, value]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

/// Recordings with one-bit values, of a machine that was right, are hard if threads are recorded one after the other: the answer comes on
/// time, and memory stays small. Recorded as it happened, the same is decided.
#[cfg(target_os = "linux")]
#[test]
fn one_bit_values_take_neither_all_memory_nor_longer_than_they_may() {
    let (mut seed, mut memory) = (1u64, [0; 8]);
    let mut random = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let mut lines = Vec::new();
    for _ in 0..131_072 {
        let (thread, addr) = (random(16), random(8));
        let value = &mut memory[addr as usize];
        lines.push(if random(2) == 0 {
            *value = random(2);
            (thread, format!("x{addr} := {value}"))
        } else {
            (thread, format!("x{addr} == {value}"))
        });
    }
    let text = |lines: &[(u64, String)]| {
        lines.iter().map(|(thread, what)| format!("{thread}: {what}\n")).collect::<String>() + "check\n"
    };
    let as_it_happened = text(&lines);
    lines.sort_by_key(|&(thread, _)| thread);
    let files = Files::new(&[("t.trace", text(&lines).as_bytes()), ("happened.trace", as_it_happened.as_bytes())]);
    let began = std::time::Instant::now();
    let line = format!("ulimit -v 2000000; {} check t.trace --model sc --time 3s", env!("CARGO_BIN_EXE_membar"));
    let ran = std::process::Command::new("sh").args(["-c", &line]).current_dir(files.path("")).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.code() == Some(3) && out.contains("The time limit passed"), "{ran:?}");
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    let ran = run(&["check", files.path("happened.trace").to_str().unwrap(), "--model", "sc"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}
