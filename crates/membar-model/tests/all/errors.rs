//! The message for each fault: one golden file, reviewed as a whole.

use membar_model::{ErrorKind, MOST_BYTES, ModelError, load, parse};
use std::fmt::Write;

const BASE: &str = r#"name = "mine"

[ppo]
load-load   = "always"
load-store  = "always"
store-load  = "never"
store-store = "always"

[barriers]
sync = "all"

[axioms]
store-forwarding = true
coherence = true
"#;

/// A change to `BASE`: text to find, text to put there.
type Edit = (&'static str, &'static str);

const CASES: &[(&str, ErrorKind, &[Edit])] = {
    use ErrorKind::*;
    &[
        ("value missing", Syntax, &[("\"never\"", "")]),
        ("string not closed", Syntax, &[("\"never\"", "\"never")]),
        ("table not closed", Syntax, &[("[axioms]", "[axioms")]),
        ("not a key", Syntax, &[("coherence = true", "coherence true")]),
        ("word without quotes", Syntax, &[("\"never\"", "never")]),
        ("key twice", DuplicateKey, &[("store-store =", "load-load =")]),
        ("table twice", DuplicateKey, &[("[axioms]", "[ppo]")]),
        ("unknown key, misspelt", UnknownKey, &[("load-store", "load-stor")]),
        ("unknown key, underscore", UnknownKey, &[("store-forwarding", "store_forwarding")]),
        ("unknown key, wrong table", UnknownKey, &[("coherence = true", "sync = \"all\"")]),
        ("unknown key, nothing near", UnknownKey, &[("coherence = true", "atomicity-of-writes = true")]),
        ("unknown table", UnknownKey, &[("[barriers]", "[fences]")]),
        ("pair at the top", UnknownKey, &[("[ppo]\n", "")]),
        ("name missing", MissingKey, &[("name = \"mine\"", "title = \"Mine\"")]),
        ("pair missing", MissingKey, &[("store-load  = \"never\"\n", "")]),
        ("name of the wrong type", WrongType, &[("\"mine\"", "7")]),
        ("condition of the wrong type", WrongType, &[("\"never\"", "false")]),
        ("list of the wrong type", WrongType, &[("\"never\"", "[\"time\", 1.5]")]),
        ("switch of the wrong type", WrongType, &[("coherence = true", "coherence = \"yes\"")]),
        ("table of the wrong type", WrongType, &[("[barriers]\nsync = \"all\"", ""), ("[ppo]", "barriers = 1\n[ppo]")]),
        ("unknown condition, misspelt", UnknownWord, &[("\"never\"", "\"same address\"")]),
        ("unknown condition", UnknownWord, &[("\"never\"", "\"sometimes\"")]),
        ("unknown pair", UnknownWord, &[("\"all\"", "[\"load-load\", \"#StoreLoad\"]")]),
        ("all in a list", UnknownWord, &[("\"all\"", "[\"load-load\", \"all\"]")]),
        ("condition twice", RepeatedWord, &[("\"never\"", "[\"time\", \"time\"]")]),
        ("no condition", EmptyList, &[("\"never\"", "[]")]),
        ("no pair", EmptyList, &[("\"all\"", "[]")]),
        ("never and something", Contradiction, &[("\"never\"", "[\"never\", \"time\"]")]),
        ("something and always", Contradiction, &[("\"never\"", "[\n  \"same-address\",\n  \"always\",\n]")]),
        ("load-store too weak", Contradiction, &[("load-store  = \"always\"", "load-store  = \"never\"")]),
        ("store-store too weak", Contradiction, &[("store-store = \"always\"", "store-store = \"time\"")]),
        ("coherence without load-load", Contradiction, &[("load-load   = \"always\"", "load-load   = \"never\"")]),
        (
            "coherence without load-load, timed",
            Contradiction,
            &[("load-load   = \"always\"", "load-load   = \"time\"")],
        ),
        (
            "pair given by two groups",
            DuplicateKey,
            &[(
                "[barriers]",
                "access-release = \"always\"\nload-sync = \"always\"\nsync-sync = \"always\"\n[barriers]",
            )],
        ),
        ("unknown key of locks, misspelt", UnknownKey, &[("[barriers]", "aquire-access = \"always\"\n[barriers]")]),
        ("unknown key of locks", UnknownKey, &[("[barriers]", "lock-anything = \"always\"\n[barriers]")]),
        ("lock pairs missing", MissingKey, &[("[barriers]", "acquire-access = \"always\"\n[barriers]")]),
        (
            "one lock pair missing",
            MissingKey,
            &[("[barriers]", "acquire-sync = \"always\"\nrelease-release = \"same-lock\"\n[barriers]")],
        ),
        ("lock pair too weak", Contradiction, &[("[barriers]", "sync-sync = \"time\"\n[barriers]")]),
        (
            "lock pair never",
            Contradiction,
            &[("[barriers]", "release-acquire = \"never\"\nsync-sync = \"always\"\n[barriers]")],
        ),
        ("same-lock of accesses", Misplaced, &[("\"never\"", "\"same-lock\"")]),
        ("same-address of locks", Misplaced, &[("[barriers]", "sync-sync = [\"same-address\", \"time\"]\n[barriers]")]),
        (
            "same-address of lock and access",
            Misplaced,
            &[("[barriers]", "acquire-load = \"same-address\"\n[barriers]")],
        ),
        (
            "same-session of a group that is too wide",
            Misplaced,
            &[("[barriers]", "access-sync = \"same-session\"\n[barriers]")],
        ),
        ("same-session outside", Misplaced, &[("[barriers]", "release-access = \"same-session\"\n[barriers]")]),
        ("guarded accesses", Misplaced, &[("\"never\"", "\"guarded\"")]),
        ("guarded locks", Misplaced, &[("[barriers]", "acquire-acquire = \"guarded\"\n[barriers]")]),
        ("unknown condition of locks", UnknownWord, &[("[barriers]", "sync-sync = \"one lock\"\n[barriers]")]),
        (
            "unknown condition of lock and access",
            UnknownWord,
            &[("[barriers]", "release-load = \"inside\"\n[barriers]")],
        ),
        (
            "coherence without write order",
            Contradiction,
            &[("coherence = true", "coherence = true\nwrite-order = false")],
        ),
        ("no write order and early loads", Contradiction, &[("coherence = true", "write-order = false")]),
        (
            "no write order and early loads, timed",
            Contradiction,
            &[("coherence = true", "write-order = false"), ("\"never\"", "[\"time\", \"same-session\"]")],
        ),
        ("new switch of the wrong type", WrongType, &[("coherence = true", "atomic-writes = 1")]),
        ("coherence without forwarding", Contradiction, &[("store-forwarding = true", "store-forwarding = false")]),
        ("name empty", BadName, &[("\"mine\"", "\"\"")]),
        ("name with a space", BadName, &[("\"mine\"", "\"My model\"")]),
        ("name taken", TakenName, &[("\"mine\"", "\"sc\"")]),
        ("after tabs and wide characters", UnknownWord, &[("store-load  = \"never\"", "\tstore-load = 'é\u{4e16}'")]),
    ]
};

/// Without lock exclusion nothing is asked of the pairs of locks.
#[test]
fn locks_that_exclude_nobody_may_pass_each_other() {
    let locks =
        edited(&[("[barriers]", "sync-sync = \"never\"\n[barriers]"), ("coherence = true", "lock-exclusion = false")]);
    assert!(parse("my.toml", &locks).is_ok());
    let missing = edited(&[
        ("[barriers]", "load-acquire = \"time\"\n[barriers]"),
        ("coherence = true", "lock-exclusion = false"),
    ]);
    assert!(parse("my.toml", &missing).is_ok());
}

fn edited(edits: &[Edit]) -> String {
    edits.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

#[test]
fn every_fault_of_a_text() {
    assert!(parse("my.toml", BASE).is_ok());
    let mut golden = String::new();
    for (title, kind, edits) in CASES {
        let error = parse("my.toml", &edited(edits)).expect_err(title);
        assert_eq!(error.kind, *kind, "{title}: {error}");
        assert!(error.place.is_some() && error.help.is_some(), "{title}");
        writeln!(golden, "# {title}\n{error}\n").unwrap();
    }
    insta::assert_snapshot!("faults", golden);
}

#[test]
fn an_empty_file_and_a_missing_table() {
    let empty = parse("my.toml", "").unwrap_err();
    let table = parse("my.toml", "name = \"mine\"\n[axioms]\ncoherence = false\n").unwrap_err();
    insta::assert_snapshot!(format!("{empty}\n\n{table}"), @r#"
    error: `name` is missing
     --> my.toml:1:1
      |
    1 |
      | ^
      = help: add `name = "my-model"` at the top of the file

    error: the table `[ppo]` is missing
     --> my.toml:1:1
      |
    1 | name = "mine"
      | ^
      = it says which pairs keep their order: load-load, load-store, store-load and store-store
      = help: `membar models show tso` prints a model file to start from
    "#);
}

fn fault(name: &str) -> ModelError {
    load(name).unwrap_err()
}

#[test]
fn unknown_models() {
    insta::assert_snapshot!(
        ["tos", "TSO", "power", ""].map(|name| fault(name).to_string()).join("\n\n"), @"
    error: there is no model `tos`
     = built-in models: sc, tso, pso, wmo, rmo, wc, rc, rcpc, ec, scope, lc, ztso, rvwmo, armv8
     = help: did you mean `tso`?

    error: there is no model `TSO`
     = built-in models: sc, tso, pso, wmo, rmo, wc, rc, rcpc, ec, scope, lc, ztso, rvwmo, armv8
     = help: did you mean `tso`?

    error: there is no model `power`
     = built-in models: sc, tso, pso, wmo, rmo, wc, rc, rcpc, ec, scope, lc, ztso, rvwmo, armv8
     = help: for a model of your own, give the path of its `.toml` file

    error: there is no model ``
     = built-in models: sc, tso, pso, wmo, rmo, wc, rc, rcpc, ec, scope, lc, ztso, rvwmo, armv8
     = help: for a model of your own, give the path of its `.toml` file
    ");
}

#[test]
fn files_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::create_dir(path("dir.toml")).unwrap();
    std::fs::write(path("latin.toml"), b"name = \"\xe9\"").unwrap();
    std::fs::write(path("large.toml"), vec![b'#'; MOST_BYTES as usize + 1]).unwrap();
    std::fs::write(path("largest.toml"), format!("{BASE}{}", "#".repeat(MOST_BYTES as usize - BASE.len()))).unwrap();
    std::fs::write(path("model.txt"), BASE).unwrap();
    for (name, kind, says) in [
        ("none.toml", ErrorKind::Unreadable, "does not exist"),
        ("dir.toml", ErrorKind::Unreadable, "is a directory"),
        ("latin.toml", ErrorKind::Unreadable, "is not UTF-8 text (byte 8)"),
        ("large.toml", ErrorKind::Unreadable, "is larger than 1048576 bytes"),
        ("model.txt", ErrorKind::UnknownModel, "ends in `.toml`"),
    ] {
        let error = fault(&path(name));
        assert_eq!(error.kind, kind);
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(load(&path("largest.toml")).unwrap().name, "mine");
}

#[test]
fn a_long_line_is_shown_in_part() {
    let text = BASE.replace("\"never\"", &format!("[{}\"often\"]{}", " ".repeat(5000), "#".repeat(5000)));
    let error = parse("my.toml", &text).unwrap_err();
    assert_eq!(error.place.as_ref().unwrap().column, 5016);
    let shown = error.to_string();
    assert!(shown.len() < 700, "{shown}");
    let lines: Vec<&str> = shown.lines().collect();
    let caret = lines[4].find('^').unwrap();
    let above: String = lines[3].chars().skip(caret).take(7).collect();
    assert_eq!(above, "\"often\"");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    for text in ["name = \"\u{1b}[2J\"", "\u{1b}]0;x\u{7} = 1", "\"\\u001b[2J\" = 1"] {
        let shown = parse("my\u{1b}.toml", text).unwrap_err().to_string();
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    }
}
