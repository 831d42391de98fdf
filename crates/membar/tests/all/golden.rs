//! Texts for users, word by word. Catches what no other test does: an explanation that is true but does not read well.

use crate::common;

use common::{Files, SB};
use membar_core::Trace;

fn seen(trace: impl AsRef<str>, model: &str) -> String {
    let files = Files::new(&[("t.trace", trace.as_ref().as_bytes())]);
    let ran = files.run(&["check", "t.trace", "--model", model]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    ran.out
}

fn text_of(trace: &Trace) -> String {
    let mut text = Vec::new();
    membar_trace::write_trace(trace, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

macro_rules! golden {
    ($($name:ident: $model:literal, $trace:expr;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), seen($trace, $model));
        }
    )*};
}

golden! {
    store_buffering: "sc", SB;
    message_passing: "tso", "0: data := 1\n0: flag := 1\n1: flag == 1\n1: data == 0\ncheck\n";
    figure_2: "tso", text_of(&membar_testkit::figures::fig2());
    figure_5_doubled: "tso", text_of(&membar_testkit::figures::fig5_doubled());
    never_written: "tso", "init x == 3\n0: x := 1\n1: x := 2\n1: x == 7\n0: y := 7\ncheck\n";
    never_written_many: "tso",
        (1..=20).map(|i| format!("0: x := {i}\n")).chain(["1: x == 99\ncheck\n".to_owned()]).collect::<String>();
    nothing_written: "tso", "1: x == 7\ncheck\n";
    own_future: "tso", "0: x == 1\n0: x := 1\ncheck\n";
    own_value: "tso", "0: { x == 1; x := 1 }\ncheck\n";
    coherence_of_reads: "tso", "0: x := 1\n0: x := 2\n1: x == 2\n1: x == 1\ncheck\n";
    barriers: "tso", SB.replace("0: y", "0: sync\n0: y").replace("1: x", "1: membar #StoreLoad\n1: x");
    times: "wmo", "0: x := 1\n0: membar #StoreStore\n0: y := 1\n1: y == 1 @ :10\n1: x == 0 @ 11:\ncheck\n";
    not_atomic: "tso", "0: { x == 0; x := 1 }\n1: { x == 0; x := 2 }\ncheck\n";
    lock_held_by_two: "tso", "0: acq L\n0: x := 1\n0: x == 2\n0: rel L\n1: acq L\n1: x := 2\n1: x == 1\n1: rel L\ncheck\n";
    scope_by_session: "scope", "0: acq L\n0: x := 1\n0: rel L\n1: acq L\n1: x == 0\n1: y := 1\n1: rel L\n0: acq L\n0: y == 0\n0: rel L\ncheck\n";
    entry_by_guard: "ec", "guard L: x\n0: acq L\n0: x := 1\n0: rel L\n0: acq L\n0: rel L\n1: acq L\n1: x == 1\n1: rel L\n1: acq L\n1: x == 0\n1: rel L\ncheck\n";
    location_overwritten: "lc", "0: acq L\n0: x := 1\n0: x := 2\n0: rel L\n1: acq L\n1: x == 2\n1: x == 1\n1: rel L\ncheck\n";
    lock_lost_update: "tso",
        "0: acq L\n0: x == 0\n0: x := 1\n0: rel L\n1: acq L\n1: x == 0\n1: x := 2\n1: rel L\ncheck\n";
    final_value: "tso", "0: x := 1\n0: x := 2\nfinal x == 1\ncheck\n";
    final_values: "tso", "0: x := 1\n0: y := 2\n1: y := 1\n1: x := 2\nfinal x == 1\nfinal y == 1\ncheck\n";
    final_initial_value: "tso", "0: x := 1\nfinal x == 0\ncheck\n";
    write_order: "tso", "0: x := 1\n0: y := 2\n1: y := 1\n1: x := 2\norder x: 2 1\norder y: 2 1\ncheck\n";
    a_long_trace: "tso", include_str!("../../../../examples/corrupted-load.trace");
}

/// In a narrow terminal columns become a list; nothing is wider than the terminal but for names and commands.
#[test]
fn width_is_respected() {
    let files =
        Files::new(&[("t", SB.as_bytes()), ("long", include_bytes!("../../../../examples/corrupted-load.trace"))]);
    let shown = |file: &str, columns: &str| {
        let args = ["check", file, "--model", "sc"];
        let output = common::command().args(args).current_dir(files.0.path()).env("COLUMNS", columns).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let narrow = shown("t", "60");
    insta::assert_snapshot!("narrow", narrow);
    assert!(narrow.lines().skip(1).all(|line| line.chars().count() <= 60), "{narrow}");
    for columns in ["80", "200"] {
        let text = shown("long", columns);
        let most = columns.parse().unwrap();
        assert!(
            text.contains("thread 0    thread 2") && text.lines().all(|line| line.chars().count() <= most),
            "{text}"
        );
    }
    assert_eq!(shown("t", "nonsense"), seen(SB, "sc").replace("t.trace", "t"));
}

/// So are executions of programs, their headings and the commands that replay them.
#[test]
fn programs_fit_narrow_terminals() {
    let files = Files::new(&[("peterson.c", include_bytes!("../../../../examples/programs/peterson.c"))]);
    for (args, columns) in [
        (&["verify", "peterson.c"][..], 60),
        (&["verify", "peterson.c"], 80),
        (&["replay", "peterson.c", "a2b3c4", "--model", "tso"], 60),
        (&["replay", "peterson.c", "a2b3c4", "--model", "tso"], 80),
    ] {
        let mut command = common::command();
        command.args(args).current_dir(files.0.path()).env("COLUMNS", columns.to_string());
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(text.contains("wants[0] = "), "{text}");
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > columns).collect();
        assert!(wide.is_empty(), "{columns}: {wide:#?}");
    }
}

/// So are the results of campaigns.
#[test]
fn campaigns_fit_narrow_terminals() {
    let files = Files::new(&[]);
    for bug in [&["--bug", "stale-forward"][..], &[]] {
        let mut command = common::command();
        command.args(["simulate", "--machine", "mesi-tso", "--tests", "20"]).args(bug);
        let output = command.current_dir(files.0.path()).env("COLUMNS", "60").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // Paths are not broken.
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 60 && !line.contains('/')).collect();
        assert!(text.contains("  Speed  ") && wide.is_empty(), "{wide:#?} in {text}");
    }
}

/// Event, reason and next step: all in the first lines, whatever the proof.
#[test]
fn the_first_lines_answer_three_questions() {
    for trace in [SB.to_owned(), text_of(&membar_testkit::figures::fig5_doubled()), "0: x == 1\ncheck\n".to_owned()] {
        let text = seen(trace, "sc");
        let head: Vec<&str> = text.lines().take(7).collect();
        for label in ["FORBIDDEN by sc", "  What: ", "  Why:  ", "  Next: "] {
            assert!(head.iter().any(|line| line.starts_with(label)), "{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }
}
