//! `shrink`, `models`, `completions`, `man`, help and version.

use crate::common;

use common::{BAD, FINE, Files, MALFORMED, SB, run, run_with};
use membar_simulate::{Machine, Mix, Observe, Workload, simulate};
use membar_testkit::corrupt;

#[test]
fn a_shrunk_trace_is_forbidden_again_and_names_its_lines() {
    let mut shrunk = 0;
    for seed in 0..20 {
        let work = Workload { threads: 3, addresses: 4, ops: 80, mix: Mix::PAPER, seed };
        let trace = simulate(&work, Machine::Tso, Observe { write_order: seed % 2 == 0, finals: seed % 3 == 0 });
        let mut text = Vec::new();
        membar_trace::write_trace(&corrupt(&trace, seed).unwrap().trace, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let ran = run_with(&["shrink", "-", "--model", "tso"], text.as_bytes());
        if ran.code == 0 {
            assert_eq!(run_with(&["check", "-"], text.as_bytes()).code, 0);
            continue;
        }
        assert_eq!(ran.code, 1, "{}", ran.err);
        shrunk += 1;
        let check = run_with(&["check", "-", "--model", "tso", "--format", "axe"], ran.out.as_bytes());
        assert_eq!((check.code, check.out.as_str()), (1, "NO\n"), "{}", ran.out);
        let lines: Vec<&str> = text.lines().collect();
        let mut ops = 0;
        for line in ran.out.lines().filter(|line| !line.starts_with('#') && *line != "check") {
            let (part, number) = line.split_once("# line ").unwrap_or_else(|| panic!("{line}"));
            let original = lines[number.parse::<usize>().unwrap() - 1];
            // An `order` line lists what is left.
            assert!(part.trim() == original || part.starts_with("order"), "{part} {original}");
            ops += usize::from(part.starts_with(|c: char| c.is_ascii_digit()));
        }
        assert_eq!(ran.err, format!("{ops} operation{}, from 80\n", if ops == 1 { "" } else { "s" }));
    }
    assert!(shrunk > 10, "{shrunk}");
}

#[test]
fn which_trace_is_shrunk() {
    let files = Files::new(&[
        ("many", [FINE, SB, FINE, BAD].concat().as_bytes()),
        ("fine", FINE.as_bytes()),
        ("bad", [MALFORMED, BAD].concat().as_bytes()),
    ]);
    let first = files.run(&["shrink", "many", "--model", "sc"]);
    assert!(first.out.starts_with("# The smallest part of many, trace 2, that sc forbids:\n"), "{}", first.out);
    let fourth = files.run(&["shrink", "many", "--model", "sc", "--trace", "4"]);
    assert!(fourth.out.contains("trace 4,") && fourth.out.contains("0: x == 1  # line 12"), "{}", fourth.out);
    for (args, code, says) in [
        (
            &["shrink", "many", "--trace", "1"][..],
            0,
            "many, trace 1 is not forbidden by tso: there is nothing to shrink",
        ),
        (&["shrink", "fine"], 0, "no trace of fine is forbidden by tso: there is nothing to shrink"),
        (&["shrink", "many", "--trace", "5"], 2, "there is no trace 5: many has 4 traces"),
        (&["shrink", "many", "--trace", "0"], 2, "invalid value '0'"),
        (&["shrink", "many", "--trace", "-1"], 2, "invalid value '-1'"),
        (&["shrink", "bad"], 2, "bad:1:6"),
        (&["shrink", "missing"], 2, "cannot open"),
        (&["shrink", "many", "-o", "./many"], 2, "which would be lost"),
        (&["shrink", "many", "-o", "no/such/directory"], 2, "cannot write no/such/directory"),
        (&["shrink", "many", "--model", "tos"], 2, "did you mean `tso`?"),
    ] {
        let ran = files.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
    // The fault is in a trace that was not asked for.
    assert_eq!(files.run(&["shrink", "bad", "--trace", "2"]).code, 1);
    let ran = files.run(&["shrink", "many", "-o", "small.trace"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, "", "2 operations, from 2\n"));
    assert_eq!(files.run(&["check", "small.trace"]).code, 1);
}

#[test]
fn shrinking_keeps_declarations_that_matter() {
    let text = "init x == 7\ninit unused == 3\n0: x := 1\n0: y := 1\n1: y == 1\n1: x == 7\n0: z := 1\ncheck\n";
    let ran = run_with(&["shrink", "-"], text.as_bytes());
    insta::assert_snapshot!("shrunk", ran.out);
}

#[test]
fn models() {
    let list = run(&["models"]);
    assert_eq!((list.code, &list.out), (0, &run(&["models", "list"]).out));
    for name in ["sc", "tso", "pso", "wmo", "rmo"] {
        assert!(list.out.lines().any(|line| line.starts_with(name)), "{}", list.out);
        let shown = run(&["models", "show", name]);
        assert_eq!((shown.code, shown.out.as_str()), (0, membar::model::source(name).unwrap()));
    }
    let files =
        Files::new(&[("mine.toml", run(&["models", "show", "tso"]).out.replace("\"tso\"", "\"mine\"").as_bytes())]);
    assert!(files.run(&["models", "show", "mine.toml"]).out.contains("name = \"mine\""));
}

/// The commands that help lists, those of commands included: `models`, `models diff`.
fn all_commands(of: &[&str]) -> Vec<Vec<String>> {
    let mut help = vec!["help"];
    help.extend(of);
    let help = run(&help).out;
    // membar itself groups its commands by topic.
    let first = if of.is_empty() { "Programs:" } else { "Commands:" };
    let listed = help.lines().skip_while(|line| *line != first).take_while(|line| *line != "Options:");
    let named = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut all = Vec::new();
    for name in named.filter(|name| !name.is_empty() && *name != "help") {
        let own: Vec<&str> = of.iter().copied().chain([name]).collect();
        all.push(own.iter().map(|&word| word.to_owned()).collect());
        all.extend(all_commands(&own));
    }
    all
}

#[test]
fn every_command_has_examples_a_page_and_completions() {
    let commands = all_commands(&[]);
    for known in ["check", "verify", "stress", "models diff", "c++", "man"] {
        assert!(commands.iter().any(|words| words.join(" ") == known), "{known}: {commands:?}");
    }
    let shells = ["bash", "zsh", "fish", "elvish", "powershell"];
    let scripts = shells.map(|shell| run(&["completions", shell]).out);
    let pages = Files::new(&[]);
    assert_eq!(pages.run(&["man", "--output", "pages"]).code, 0);
    for words in &commands {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let with = |first: &'static str| run(&[&[first], &words[..]].concat());
        let help = with("help");
        assert!(help.code == 0 && help.out.contains("Examples:\n  "), "{words:?}: {}", help.out);
        let page = with("man");
        let title = format!("membar-{}", words.join("-"));
        let named = page.out.replace("\\-", "-").replace('\\', "").contains(&title);
        assert!(page.code == 0 && page.out.contains(".TH") && named, "{words:?}: {}", page.out);
        assert!(pages.path(&format!("pages/{title}.1")).is_file(), "{title}");
        let last = words[words.len() - 1];
        assert!(scripts.iter().all(|script| script.contains(last)), "{last}");
    }
    assert!(run(&["--help"]).out.contains("Exit codes: 0"));
    assert!(run(&["man"]).out.contains("membar"));
    assert_eq!(run(&["--version"]).out, format!("membar {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn mistyped_commands_get_a_suggestion() {
    for (line, meant) in [
        ("chekc t", "'check'"),
        ("check --modle sc t", "'--model'"),
        ("check --model tos t", "`tso`"),
        ("check --format jsn t", "'json'"),
        ("check --clock golbal t", "'global'"),
        ("verify --strategy dprr t", "'dpor'"),
        ("verify --format sarf t", "'sarif'"),
        ("litmus --model psoo t", "'pso'"),
        ("monitor --monitor sobber t", "'sober'"),
        ("simulate --machine mesi-tos", "`mesi-tso`"),
        ("simulate --machine mesi-tso --bug no-reply", "`no-replay`"),
        ("simulate --machine mesi-tso --profile hots", "`hot`"),
        ("stress --profile dfault", "`default`"),
        ("stress --model tos", "`tso`"),
        ("gen --as trace --machine tos", "`tso`"),
        ("gen --as c --profile hto", "`hot`"),
        ("models show tos", "`tso`"),
        ("models diff tso psso", "`pso`"),
        ("models dif tso pso", "'diff'"),
        ("man chek", "`check`"),
        ("man models dif", "`diff`"),
        ("completions bsh", "'bash'"),
    ] {
        let ran = run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{line}");
        assert!(ran.err.contains(meant), "{line}: {}", ran.err);
    }
}

#[test]
fn traces_may_be_in_directories_and_lists() {
    let files = Files::new(&[]);
    std::fs::create_dir(files.path("some")).unwrap();
    for (name, text) in [("some/a.trace", FINE), ("some/b.axe", SB), ("some/c.md", "no trace")] {
        std::fs::write(files.path(name), text).unwrap();
    }
    std::fs::write(files.path("list"), "some/b.axe\n# nothing else\n").unwrap();
    for (word, answers) in [("some", "OK\nNO\n"), ("@list", "NO\n")] {
        let ran = files.run(&["check", "--model", "sc", "--format", "axe", word]);
        assert_eq!((ran.code, ran.out.as_str()), (1, answers), "{}", ran.err);
    }
    std::fs::create_dir(files.path("none")).unwrap();
    for command in ["check", "monitor"] {
        let ran = files.run(&[command, "none"]);
        assert!(ran.code == 2 && ran.err.contains("there is no trace in this directory"), "{}", ran.err);
    }
}
