//! C and C++ programs, as users verify them. Catches what no other test does: a compiled program that is verified differently from
//! the same program as a litmus test, or whose report speaks of anything but its source.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common;

use common::{Files, Ran, command, compilers, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn corpus(name: &str) -> String {
    repository().join("corpus/native").join(name).to_string_lossy().into_owned()
}

fn json(ran: &Ran) -> Value {
    common::only(serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err)))
}

/// Text in one line.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text with the times taken out.
fn timeless(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        match line.split_once("(dpor, ") {
            Some((before, after)) if line.contains("Seen:") => {
                let after = after.split_once(')').map_or("", |(_, after)| after);
                shown += &format!("{before}(dpor, TIME){}\n", common::secondless(after));
            }
            _ => shown += &format!("{}\n", common::secondless(line)),
        }
    }
    shown
}

/// A program that writes its `main` around this thread and what main does meanwhile.
fn with_thread(globals: &str, thread: &str, main: &str) -> String {
    format!(
        "#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
{globals}
static void *run(void *arg)
{{
    {thread}
    return arg;
}}
int main(void)
{{
    pthread_t t;
    pthread_create(&t, NULL, run, NULL);
    {main}
    pthread_join(t, NULL);
    return 0;
}}
"
    )
}

/// One `[line of the store, variable, line of the access]` each.
fn violations(report: &Value) -> Vec<(u64, String, u64)> {
    let one = |violation: &Value| {
        let (store, access) = (&violation["store"], &violation["access"]);
        assert_eq!(store["address"], access["address"], "{violation}");
        let name = store["address"].as_str().unwrap_or_default().to_owned();
        (store["line"].as_u64().unwrap_or(0), name, access["line"].as_u64().unwrap_or(0))
    };
    let all = report["violations"].as_array().expect("violations");
    assert!(all.iter().all(|violation| violation["certified"] == true));
    let others = all.iter().flat_map(|violation| violation["also"].as_array().into_iter().flatten());
    let mut found: Vec<_> = all.iter().chain(others).map(one).collect();
    found.sort();
    found
}

/// The same program twice: the compiled one must be what the litmus test is.
#[test]
#[ignore = "long"]
fn oracle_litmus() {
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(corpus("expected.json")).unwrap()).unwrap();
    let expected = expected.as_object().unwrap();
    assert!(expected.len() >= 20, "{}", expected.len());
    let (mut safe, mut unsafe_ones) = (0, 0);
    for compiler in compilers() {
        for (name, answers) in expected {
            for model in ["tso", "pso"] {
                let answer = &answers[model];
                let what = format!("{name} {model} {compiler}");
                let file = corpus(&format!("{name}.c"));
                let ran = run(&["verify", "--model", model, "--format", "json", "--cc", compiler, &file]);
                let report = json(&ran);
                assert_eq!(report["verdict"], answer["verdict"], "{what}: {}{}", ran.out, ran.err);
                assert_eq!(report["complete"], true, "{what}");
                let wanted = answer["violations"].as_array().unwrap().iter().map(|one| {
                    let name = one[1].as_str().unwrap_or_default().to_owned();
                    (one[0].as_u64().unwrap_or(0), name, one[2].as_u64().unwrap_or(0))
                });
                let mut wanted: Vec<_> = wanted.collect();
                wanted.sort();
                assert_eq!(violations(&report), wanted, "{what}");
                if answers["loops"] == false {
                    assert_eq!(report["interleavings"], answer["classes"], "{what}");
                }
                *(if report["verdict"] == "safe" { &mut safe } else { &mut unsafe_ones }) += 1;
            }
        }
    }
    assert!(safe >= 10 && unsafe_ones >= 10, "{safe} {unsafe_ones}");
}

/// Compares with the verdicts on the litmus test itself, so that the answers are not only those of a file.
#[test]
fn the_litmus_tests_have_the_expected_answers() {
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(corpus("expected.json")).unwrap()).unwrap();
    for (name, answers) in expected.as_object().unwrap() {
        for model in ["tso", "pso"] {
            let file = corpus(&format!("{name}.litmus"));
            let report = json(&run(&["verify", "--model", model, "--no-symmetry", "--format", "json", &file]));
            let answer = &answers[model];
            assert_eq!(
                (&report["verdict"], &report["interleavings"], violations(&report).len()),
                (&answer["verdict"], &answer["classes"], answer["violations"].as_array().unwrap().len()),
                "{name} {model}"
            );
        }
    }
}

#[test]
fn dekker_is_explained() {
    let source = std::fs::read(repository().join("examples/programs/dekker.c")).unwrap();
    let files = Files::new(&[("dekker.c", &source)]);
    let ran = files.run(&["verify", "--cc", "gcc", "dekker.c"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
    insta::assert_snapshot!("native_dekker", timeless(&ran.out));
    let head: Vec<&str> = ran.out.lines().take(5).collect();
    for label in ["FAILS under tso", "  Why:  ", "  Fix:  "] {
        assert!(head.iter().any(|line| line.starts_with(label)), "{}", ran.out);
    }
    let ran = files.run(&["verify", "--model", "pso", "--cc", "gcc", "--format", "json", "dekker.c"]);
    let mut report = json(&ran);
    assert_eq!(report["statistics"]["resets"].as_u64().map(|n| n > 0), Some(true));
    for field in ["seconds", "statistics", "compiler"] {
        report.as_object_mut().unwrap().remove(field);
    }
    // One of each is enough to see the shape.
    report["violations"].as_array_mut().unwrap().truncate(1);
    report["failures"][0]["steps"].as_array_mut().unwrap().truncate(2);
    report["weak"]["seconds"] = 0.into();
    insta::assert_snapshot!("native_dekker_json", serde_json::to_string_pretty(&report).unwrap());
}

#[test]
fn fences_are_in_the_terms_of_the_source() {
    let c = with_thread(
        "#include <stdatomic.h>\nstatic atomic_int data, flag;",
        "atomic_store_explicit(&data, 1, memory_order_relaxed);\n    atomic_store_explicit(&flag, 1, memory_order_relaxed);",
        "if (atomic_load(&flag)) (void)atomic_load(&data);",
    );
    let cxx = "#include <atomic>
#include <thread>
static std::atomic<int> x, y;
static int a, b;
int main()
{
    std::thread t([] { x.store(1, std::memory_order_relaxed); a = y.load(std::memory_order_relaxed); });
    y.store(1, std::memory_order_relaxed);
    b = x.load(std::memory_order_relaxed);
    t.join();
    return 0;
}
";
    let files = Files::new(&[("mp.c", c.as_bytes()), ("sb.cpp", cxx.as_bytes())]);
    let ran = files.run(&["verify", "--model", "pso", "mp.c"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let fence = "`atomic_thread_fence(memory_order_release)` in `run` (mp.c) between lines 9 and 10";
    assert!(joined(&ran.out).contains(fence), "{}", ran.out);
    assert_eq!(files.run(&["verify", "mp.c"]).code, 0);
    let ran = files.run(&["verify", "sb.cpp"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("`std::atomic_thread_fence(std::memory_order_seq_cst)`"), "{}", ran.out);
    assert!(joined(&ran.out).contains("(checked: safe with these)"), "{}", ran.out);
    // The place is the user's, not that of the library's header.
    assert!(!ran.out.contains("/usr/include"), "{}", ran.out);
}

#[test]
fn errors_of_programs_are_findings() {
    let deadlock = "#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void both(pthread_mutex_t *one, pthread_mutex_t *other)
{
    pthread_mutex_lock(one);
    pthread_mutex_lock(other);
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
}
static void *run(void *arg)
{
    both(&b, &a);
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    both(&a, &b);
    pthread_join(t, 0);
    return 0;
}
";
    let crash = with_thread("static int *p;", "*p = 1;", "p = malloc(sizeof *p);");
    let assertion =
        with_thread("static int x;", "x = x + 1;", "x = x + 1; pthread_join(t, NULL); assert(x == 2); return 0;");
    let freed = with_thread("static int *p;", "free(p);", "free(p);");
    let files = Files::new(&[
        ("deadlock.c", deadlock.as_bytes()),
        ("crash.c", crash.as_bytes()),
        ("assert.c", assertion.as_bytes()),
        (
            "free.c",
            freed
                .replace("static int *p;", "static int *p = 0; static void set(void) { p = malloc(4); }")
                .replace("pthread_t t;", "pthread_t t; set();")
                .as_bytes(),
        ),
        ("status.c", b"int main(void) { return 3; }\n"),
    ]);
    for (name, kind, message, place) in [
        (
            "deadlock.c",
            "deadlock",
            "main waits for `b`, T1 waits for `a`",
            "both (deadlock.c:6) `pthread_mutex_lock(other);`; T1 has `b` since both (deadlock.c:5)",
        ),
        ("crash.c", "fault", "T1 uses a null pointer", "at run (crash.c:8)"),
        ("assert.c", "fault", "main: assertion `x == 2` fails", "at main (assert.c:15)"),
        (
            "free.c",
            "fault",
            "frees memory twice: the block of 4 bytes allocated by main at free.c:5",
            "at run (free.c:8)",
        ),
        ("status.c", "fault", "the program ends with status 3", ""),
    ] {
        let ran = files.run(&["verify", name]);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{name}: {}", ran.out);
        assert!(ran.out.starts_with("ERROR  ") || ran.out.starts_with("UNSAFE"), "{}", ran.out);
        assert!(ran.out.contains(&format!("\n{kind}: ")) && ran.out.contains(message), "{name}: {}", ran.out);
        assert!(ran.out.replace("\n      ", " ").contains(place), "{name}: {}", ran.out);
        let line = ran.out.lines().find(|line| line.contains("See it: ")).unwrap_or_default();
        let words: Vec<&str> = line.trim().trim_start_matches("See it: membar ").split(' ').collect();
        let words: Vec<&str> = words.iter().map(|word| word.trim_matches('\'')).collect();
        let again = files.run(&words);
        assert_eq!(again.code, 0, "{words:?}: {}{}", again.out, again.err);
        if kind == "fault" {
            assert!(again.out.contains(message), "{name}: {}", again.out);
        }
        let report = json(&files.run(&["verify", "--format", "json", name]));
        assert_eq!(report["errors"][0]["kind"], kind);
        if !place.is_empty() && kind == "fault" {
            let frame = &report["errors"][0]["stack"][0];
            let shown = format!(
                "at {} ({}:{})",
                frame["function"].as_str().unwrap(),
                frame["file"].as_str().unwrap(),
                frame["line"]
            );
            assert_eq!(shown, place);
        }
    }
}

#[test]
fn unrunnable_inputs_are_bad_input() {
    let diverging = with_thread(
        "#include <fcntl.h>
static volatile int x, y;
static int random_bit(void)
{
    unsigned char c = 0;
    int f = open(\"/dev/urandom\", O_RDONLY);
    if (read(f, &c, 1) != 1) return 0;
    close(f);
    return c & 1;
}",
        "for (int i = 0; i < 12; i++) { if (random_bit()) x = 1; else y = 1; }",
        "x = 2; y = 2;",
    );
    let files = Files::new(&[
        ("bad.c", b"int main(void)\n{\n\treturn undeclared;\n}\n"),
        ("library.c", b"int f(void) { return 1; }\n"),
        ("undefined.c", b"int f(void);\nint main(void) { return f(); }\n"),
        ("diverging.c", diverging.as_bytes()),
        ("text.c.txt", b"hello\n"),
    ]);
    std::fs::copy("/bin/true", files.path("foreign")).unwrap();
    for (name, words) in [
        ("bad.c", &["`bad.c` does not compile", "bad.c:3:16: error:", "undeclared"][..]),
        ("library.c", &["no `main`", "give the source that defines"]),
        ("undefined.c", &["does not link", "give all sources"]),
        ("missing.c", &["there is no such file"]),
        ("foreign", &["was not built with `membar cc`", "make clean && make CC=\"membar cc\""]),
        (
            "diverging.c",
            &[
                "diverging.c: the program is not deterministic",
                "T1 does something else",
                "the first time",
                "the second time",
                "diverging.c:17 (in run)",
            ],
        ),
    ] {
        let ran = files.run(&["verify", name]);
        assert_eq!(ran.code, 2, "{name}: {}{}", ran.out, ran.err);
        for word in words {
            assert!(ran.err.contains(word), "{name}: {word}: {}", ran.err);
        }
        let document = json(&files.run(&["verify", "--format", "json", name]));
        assert_eq!(document["errors"].as_array().map(Vec::len), Some(1), "{document}");
    }
    // Once for all models, and with its place.
    let document = json(&files.run(&["verify", "--format", "json", "--model", "tso,pso", "bad.c"]));
    let error = &document["errors"][0];
    assert_eq!((&error["file"], &error["line"], &error["column"]), (&"bad.c".into(), &3.into(), &16.into()), "{error}");
    // Others continue.
    let ran = files.run(&["verify", "bad.c", "--format", "json", &corpus("SB.litmus")]);
    assert_eq!((ran.code, json(&ran)["results"][0]["verdict"].clone()), (2, "unsafe".into()), "{}", ran.err);
    let ran = files.run(&["verify", &corpus("SB.litmus"), "--", "-DN=1"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("not for litmus tests"), "{}", ran.err);
}

/// Catches what no other test does: that something which membar does not run is taken for a program error, or hides one.
#[test]
fn unrunnable_actions_are_undecided_with_their_place() {
    let files = Files::new(&[
        ("fork.c", b"#include <unistd.h>\nint main(void)\n{\n    return fork() < 0;\n}\n"),
        (
            "both.c",
            b"#include <assert.h>
#include <pthread.h>
#include <unistd.h>
int x;
void *run(void *arg) { x = 1; fork(); return arg; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    assert(x == 0);
    pthread_join(t, 0);
    return 0;
}
",
        ),
    ]);
    let ran = files.run(&["verify", "fork.c"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    for word in ["UNDECIDED", "fork.c:4: main calls `fork`, which membar does not run", "-DVERIFY"] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
    let document = json(&files.run(&["verify", "--format", "json", "fork.c"]));
    let parts = (&document["verdict"], &document["complete"], &document["errors"]);
    assert_eq!(parts, (&"undecided".into(), &false.into(), &Value::Array(Vec::new())), "{document}");
    // An error that was found before counts.
    let document = json(&files.run(&["verify", "--format", "json", "both.c"]));
    assert!(matches!(document["verdict"].as_str(), Some("error" | "undecided")), "{document}");
    assert_eq!(document["complete"], false, "{document}");
    let limit = document["incomplete"].as_str().unwrap_or_default();
    assert!(limit.contains("both.c:5: T1 calls `fork`"), "{document}");
}

#[test]
fn several_files_and_flags_are_one_program() {
    let files = Files::new(&[
        (
            "main.c",
            b"#include \"queue.h\"
#include <pthread.h>
static void *run(void *arg) { for (int i = 0; i < N; i++) push(i); return arg; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    for (int i = 0; i < N; i++) pop();
    pthread_join(t, 0);
    return 0;
}
",
        ),
        (
            "queue.c",
            b"#include \"queue.h\"
static volatile int item[N], last;
void push(int value) { item[last] = value + 1; last = last + 1; }
int pop(void) { return last > 0 ? item[last - 1] : 0; }
",
        ),
    ]);
    std::fs::create_dir(files.path("inc")).unwrap();
    std::fs::write(files.path("inc/queue.h"), "void push(int);\nint pop(void);\n").unwrap();
    let ran = files.run(&["verify", "--model", "pso", "main.c", "queue.c", "--", "-Iinc", "-DN=2"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
    assert!(ran.out.starts_with("UNSAFE under pso  main.c queue.c: "), "{}", ran.out);
    assert!(ran.out.contains("queue.c:3") && ran.out.contains("(push, T1)"), "{}", ran.out);
    // The command printed can be typed.
    let line = ran.out.lines().find(|line| line.contains("membar replay")).unwrap();
    let words: Vec<&str> = line.split("membar ").nth(1).unwrap().split(' ').collect();
    assert!(words.ends_with(&["--model", "pso", "--", "-Iinc", "-DN=2"]), "{words:?}");
    let again = files.run(&words);
    assert_eq!(again.code, 0, "{}{}", again.out, again.err);
    assert!(again.out.contains("pso: could overtake step"), "{}", again.out);
    // Of a directory, each file is its own program.
    let apart = Files::new(&[("a.c", b"int main(void) { return 0; }\n"), ("b.c", b"int main(void) { return 0; }\n")]);
    std::fs::copy(corpus("SB.litmus"), apart.path("c.litmus")).unwrap();
    let ran = apart.run(&["verify", "."]);
    assert!(ran.out.ends_with("3 programs: 2 safe, 1 unsafe\n"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_build_of_its_own() {
    let files = Files::new(&[
        ("Makefile", b"prog: main.o lock.o\n\t$(CC) -pthread -o $@ $^\n%.o: %.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n"),
        ("lock.c", b"static volatile int flag[2];\nint enter(int me) { flag[me] = 1; return !flag[1 - me]; }\n"),
        (
            "main.c",
            b"#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
int enter(int);
static void *run(void *arg) { enter(1); return arg; }
int main(int argc, char **argv)
{
    pthread_t t;
    if (argc < 2 || atoi(argv[1]) != 7)
        return 2;
    pthread_create(&t, 0, run, 0);
    enter(0);
    pthread_join(t, 0);
    return 0;
}
",
        ),
    ]);
    let membar = format!("CC={} cc", env!("CARGO_BIN_EXE_membar"));
    let made = Command::new("make").arg(&membar).current_dir(files.path("")).output().expect("make");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(!String::from_utf8_lossy(&made.stderr).contains("membar"), "{}", String::from_utf8_lossy(&made.stderr));
    // It is a program like any other.
    let status = Command::new(files.path("prog")).arg("7").status().unwrap();
    assert_eq!(status.code(), Some(0));
    let ran = files.run(&["verify", "./prog", "--", "7"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
    assert!(ran.out.contains("lock.c:2") && ran.out.contains("flag[0]"), "{}", ran.out);
    let ran = files.run(&["verify", "./prog", "--arg", "8"]);
    assert!(ran.out.contains("the program ends with status 2"), "{}", ran.out);
    // The compiler's own answers, and its exit status.
    let version = run(&["cc", "--version"]);
    assert_eq!(version.code, 0);
    assert!(version.out.contains("cc"), "{}", version.out);
    let failed = files.run(&["cc", "-c", "missing.c"]);
    assert_eq!(failed.code, 1);
    assert!(!failed.err.is_empty());
}

#[test]
fn a_search_can_be_taken_up_again() {
    let source = std::fs::read(repository().join("examples/programs/dekker-fixed.c")).unwrap();
    let files = Files::new(&[("p.c", &source), ("other.c", b"int main(void) { return 0; }\n")]);
    let straight = json(&files.run(&["verify", "--format", "json", "p.c"]));
    assert_eq!((&straight["verdict"], &straight["complete"]), (&"safe".into(), &true.into()));
    let mut parts = 0;
    let resumed = loop {
        parts += 1;
        let executions = (parts * 20).to_string();
        let jobs = if parts % 2 == 0 { "2" } else { "1" };
        let args = ["verify", "--resume", "state", "--executions", &executions, "-j", jobs, "--format", "json", "p.c"];
        let ran = files.run(&args);
        if ran.code != 3 {
            break json(&ran);
        }
        assert!(parts < 50, "{}", ran.out);
    };
    assert!(parts > 2, "it was done at once");
    for field in ["verdict", "complete", "interleavings", "events", "violations", "errors"] {
        assert_eq!(resumed[field], straight[field], "{field}");
    }
    for args in [&["verify", "--resume", "state", "other.c"][..], &["verify", "--resume", "state", "--arg", "x", "p.c"]]
    {
        let ran = files.run(args);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.err.contains("belongs to another program"), "{}", ran.err);
    }
}

#[test]
fn replay_shows_each_step() {
    let source = std::fs::read(repository().join("corpus/native/SB.c")).unwrap();
    let files = Files::new(&[("SB.c", &source)]);
    let ran = files.run(&["replay", "SB.c", "a2b3c3", "--model", "tso"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    insta::assert_snapshot!("native_replay", ran.out);
    let document = json(&files.run(&["replay", "SB.c", "a2b3c3", "--format", "json"]));
    assert_eq!(document["steps"].as_array().map(Vec::len), Some(8));
    assert_eq!(document["steps"][3]["function"], "p0");
    for (schedule, why) in [("b", "thread 1 "), ("e", "does not exist"), ("a?", "is not a thread")] {
        let ran = files.run(&["replay", "SB.c", schedule]);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}

/// What `std::thread` does to start its thread is not what the author wrote.
#[test]
fn replay_leaves_out_how_std_thread_starts() {
    let source = "#include <atomic>\n#include <thread>\nstd::atomic<int> x;\nint main()\n{\n    int a = 0, b = 0;\n\
                  std::thread s([&] { a = x++; });\n    std::thread t([&] { b = x++; });\n    s.join();\n    t.join();\n}\n";
    let files = Files::new(&[("t.cpp", source.as_bytes())]);
    for cc in compilers() {
        for steps in 1..14 {
            let schedule = format!("a5b{steps}");
            let ran = files.run(&["replay", "t.cpp", &schedule, "--cc", cc]);
            if ran.code != 0 {
                break;
            }
            let shown = ["vtable", "_State", "block#", "/c++/"].iter().find(|word| ran.out.contains(**word));
            assert_eq!(shown, None, "{cc} {schedule}: {}", ran.out);
            assert!(ran.out.contains("of `std::thread`, which starts threads, are not shown."), "{}", ran.out);
            assert!(steps < 2 || ran.out.contains("a = x++;"), "{}", ran.out);
        }
    }
}

#[test]
fn choices_are_replayed_and_every_way_to_explore_agrees() {
    let file = repository().join("corpus/programs/choose.c").to_string_lossy().into_owned();
    let whole = json(&run(&["verify", &file, "--format", "json"]));
    // Four times three outcomes, and two orders of the sections.
    assert_eq!(whole["interleavings"], 24, "{whole}");
    let schedule = whole["errors"][0]["schedule"].as_str().expect("a schedule");
    assert!(schedule.contains("[3]") && schedule.contains("[2]"), "{schedule}");
    let replayed = run(&["replay", &file, schedule]);
    assert!(replayed.code == 0 && replayed.out.contains("choice = 3"), "{}{}", replayed.out, replayed.err);
    assert!(replayed.out.contains("assertion `sum != 5` fails"), "{}", replayed.out);
    let wrong = run(&["replay", &file, &schedule.replace("[3]", "[4]")]);
    assert!(wrong.code == 2 && wrong.err.contains("chooses a number below 4"), "{}", wrong.err);
    for jobs in ["2", "4"] {
        let other = json(&run(&["verify", &file, "--format", "json", "--jobs", jobs]));
        assert_eq!(other["interleavings"], 24);
        assert_eq!(other["errors"][0]["schedule"], schedule);
    }
    for strategy in ["exhaustive", "bounded", "random", "pct"] {
        let other = json(&run(&["verify", &file, "--format", "json", "--strategy", strategy]));
        assert_eq!(other["errors"][0]["message"], whole["errors"][0]["message"], "{strategy}");
    }
}

#[test]
fn programs_of_one_thread_are_a_note() {
    let files = Files::new(&[("one.c", b"int x;\nint main(void) { x = 1; return x - 1; }\n")]);
    for (args, code) in [(&["verify", "one.c"][..], 0), (&["verify", "one.c", "--strategy", "random"], 3)] {
        let ran = files.run(args);
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(ran.out.contains("only one thread: there was nothing to interleave"), "{}", ran.out);
    }
}

#[test]
#[ignore = "long"]
fn findings_of_samples_alone_name_their_origin() {
    let file = repository().join("corpus/programs/deep.c").to_string_lossy().into_owned();
    let ran = run(&["verify", &file, "--time", "4s", "--seed", "1"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(joined(&ran.out).contains("by pct, depth 3, seed 1: one of the findings is from there"), "{}", ran.out);
    // A strategy that is chosen is used alone.
    let ran = run(&["verify", &file, "--time", "2s", "--strategy", "dpor"]);
    assert!(!ran.out.contains("pct"), "{}", ran.out);
}

#[test]
fn volatile_may_be_taken_for_atomic() {
    let source = with_thread("static volatile int x, y;", "x = 1; (void)y;", "y = 1; (void)x;");
    let files = Files::new(&[("p.c", source.as_bytes())]);
    assert_eq!(files.run(&["verify", "p.c"]).code, 1);
    assert_eq!(files.run(&["verify", "--assume", "volatile=plain", "p.c"]).code, 1);
    let ran = files.run(&["verify", "--assume", "volatile=atomic", "p.c"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let ran = files.run(&["verify", "--assume", "volatile", "p.c"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("volatile=atomic"), "{}", ran.err);
}

#[test]
fn limits_are_kept_and_named() {
    let heap = with_thread("", "free(malloc(2 << 20));", "");
    let forever = with_thread("static volatile int x;", "for (;;) x = x + 1;", "x = 1;");
    let files = Files::new(&[("heap.c", heap.as_bytes()), ("forever.c", forever.as_bytes())]);
    assert_eq!(files.run(&["verify", "heap.c"]).code, 0);
    let ran = files.run(&["verify", "--heap", "1MiB", "heap.c"]);
    assert_eq!(ran.code, 3, "{}", ran.out);
    assert!(ran.out.contains("heap.c:8: T1 needs more heap"), "{}", ran.out);
    let ran = files.run(&["verify", "--time", "2s", "--steps", "200", "--executions", "500", "forever.c"]);
    assert!([1, 3].contains(&ran.code), "{}{}", ran.out, ran.err);
}

#[test]
fn the_time_limit_holds_whatever_the_program_does() {
    let spin = "for (long i = 0; i < 1L << 40; i++) asm volatile(\"\");";
    let before = format!("static int x; __attribute__((constructor)) static void early(void) {{ {spin} }}\n");
    let slow = "for (int n = 0; n < 100; n++) { for (int i = 0; i < 1 << 28; i++) asm volatile(\"\"); x++; }";
    for (name, source) in [
        ("a constructor that does not end", with_thread(&before, "x = 1;", "x = 2;")),
        ("little to see, much to do", with_thread("static int x;", slow, slow)),
        ("a thread that sees nothing", with_thread("static int x;", &format!("x = 1; {spin}"), "x = 2;")),
    ] {
        let files = Files::new(&[("p.c", source.as_bytes())]);
        let began = std::time::Instant::now();
        let ran = files.run(&["verify", "--time", "500ms", "p.c"]);
        assert_eq!(ran.code, 3, "{name}: {}{}", ran.out, ran.err);
        // Compiling is not counted, and machines are busy.
        assert!(began.elapsed().as_secs() < 8, "{name}: {:?}", began.elapsed());
        assert!(format!("{}{}", ran.out, ran.err).contains("--time"), "{name}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn notes_of_the_build_are_said_once() {
    let source = with_thread(
        "static volatile int x, y;",
        "x = 1; asm volatile(\"cpuid\" : : : \"rax\", \"rbx\", \"rcx\", \"rdx\", \"memory\"); (void)y;",
        "y = 1; int unused;",
    );
    let files = Files::new(&[("p.c", source.as_bytes())]);
    let ran = files.run(&["verify", "p.c", "--", "-Wall"]);
    let notes: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("note: ")).collect();
    assert!(!notes.is_empty() && notes.len() == ran.err.lines().count(), "{}", ran.err);
    let document = json(&files.run(&["verify", "--format", "json", "p.c", "--", "-Wall"]));
    assert_eq!(document["notes"].as_array().map(|notes| !notes.is_empty()), Some(true), "{document}");
    let quiet =
        command().args(["verify", "-q", "--format", "json", "p.c"]).current_dir(files.path("")).output().unwrap();
    assert!(quiet.status.code().is_some());
}

/// Reports have what the author wrote: the statement of a long line, and nothing of what `std::thread` keeps for itself.
#[test]
fn lambdas_on_one_line() {
    let source = b"#include <thread>\nint main() { int x = 0, y = 0, a, b;\n    std::thread t1([&] { x = 1; a = y; }), t2([&] { y = 1; b = x; });\n    \
                   t1.join(); t2.join();\n}\n";
    let files = Files::new(&[("one.cpp", source)]);
    let ran = files.run(&["verify", "one.cpp"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    for line in [
        "x = 1;  main::x := 1  -> delayed",
        "a = y;  main::y = 0",
        "y = 1;  main::y := 1",
        "b = x;  main::x = 0   overtakes",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    assert!(!ran.out.contains("vtable") && !ran.out.contains("thread#"), "{}", ran.out);
}
