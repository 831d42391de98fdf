//! Messages about program errors. Catches what no other test does: an answer that is right and of no use, because it
//! lacks the place, the reason or what the program said itself.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::common;

use common::{Files, Ran, compilers};
use serde_json::Value;

fn json(ran: &Ran) -> Value {
    common::only(serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err)))
}

/// The lines of an error's stack, the innermost first.
fn lines(error: &Value) -> Vec<u64> {
    error["stack"].as_array().into_iter().flatten().filter_map(|frame| frame["line"].as_u64()).collect()
}

#[test]
fn an_uncaught_exception_has_the_place_of_its_throw() {
    let source = "#include <stdexcept>
#include <thread>
#include <vector>
struct guard { ~guard() {} };
static void deep(int n)
{
    guard g;
    if (n == 0)
        throw std::runtime_error(\"deep\");
    deep(n - 1);
}
static void outer() noexcept { deep(1); }
static void library() { std::vector<int> v(3); v.at(7) = 1; }
int main()
{
    std::thread t(WHAT);
    t.join();
}
";
    let files = Files::new(&[("throws.cpp", source.as_bytes())]);
    for cc in compilers() {
        for level in ["-O0", "-O2"] {
            let verify = |what: &str| {
                let define = format!("-DWHAT={what}");
                json(&files.run(&["verify", "throws.cpp", "--format", "json", "--cc", cc, "--", level, &define]))["errors"][0].clone()
            };
            let error = verify("outer");
            assert_eq!(
                error["message"],
                "T1: uncaught exception `std::runtime_error`: deep, which leaves a `noexcept` function",
                "{cc} {level}"
            );
            assert_eq!(lines(&error).first(), Some(&9), "{cc} {level}: {error}");
            let error = verify("library");
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains("`std::out_of_range`: vector::_M_range_check"), "{cc} {level}: {message}");
            assert!(lines(&error).contains(&13), "{cc} {level}: {error}");
        }
    }
}

#[test]
fn freed_memory_has_both_places_and_threads() {
    let source = "#include <pthread.h>
#include <stdlib.h>
static int *volatile p;
static void *run(void *arg)
{
    free(p);
    return arg;
}
int main(void)
{
    p = malloc(4);
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    if (USE)
        *p = 1;
    else
        free(p);
    pthread_join(t, 0);
}
";
    let files = Files::new(&[("frees.c", source.as_bytes())]);
    // The second thread to free it is the one at fault: one of the two orders is enough.
    let cases = [
        ("-DUSE=1", "writes memory that has been freed", "freed by T1 at frees.c:6", 15),
        ("-DUSE=0", "frees memory twice", "freed by main at frees.c:17", 6),
    ];
    for (flag, what, freed, own) in cases {
        let report = json(&files.run(&["verify", "frees.c", "--format", "json", "--", flag]));
        let errors = report["errors"].as_array().expect("errors");
        let found = errors.iter().find(|error| {
            let message = error["message"].as_str().unwrap_or_default();
            let allocated = "the block of 4 bytes allocated by main at frees.c:11 and ";
            message.contains(what) && message.contains(&format!("{allocated}{freed}"))
        });
        assert_eq!(found.map(|error| lines(error)[0]), Some(own), "{report}");
    }
}

#[test]
fn program_output_is_shown_with_its_error() {
    let source = "#include <cassert>
#include <cstdio>
#include <iostream>
#include <thread>
#include <unistd.h>
static volatile int x;
int main()
{
    std::printf(\"one\\n\");
    std::cerr << \"two\\n\";
    std::thread t([] { x = 1; puts(\"three\"); });
    std::cout << \"four\" << std::endl;
    int seen = x;
    if (write(2, \"five\\n\", 5) != 5)
        return 1;
    t.join();
    printf(\"seen %d\\n\", seen);
    printf(\"no line end\");
    assert(seen == 1);
}
";
    let files = Files::new(&[("prints.cpp", source.as_bytes())]);
    for cc in compilers() {
        let ran = files.run(&["verify", "prints.cpp", "--format", "json", "--cc", cc]);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
        let error = &json(&ran)["errors"][0];
        let output = error["output"].as_str().unwrap_or_default();
        assert!(output.starts_with("one\ntwo\n"), "{output}");
        assert!(output.ends_with("seen 0\nno line end"), "{output}");
        for line in ["three", "four", "five"] {
            assert_eq!(output.matches(line).count(), 1, "{output}");
        }
        let text = files.run(&["verify", "prints.cpp", "--cc", cc]).out;
        assert!(text.contains("  The program printed:\n    | one\n    | two\n"), "{text}");
        let schedule = error["schedule"].as_str().unwrap_or_default();
        let again = json(&files.run(&["replay", "prints.cpp", schedule, "--format", "json", "--cc", cc]));
        assert_eq!(again["output"], output);
    }
}

#[test]
fn long_output_is_cut_and_says_so() {
    let source = "#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    for (int i = 0; i < 20000; i++)
        printf(\"line %d\\n\", i);
    abort();
}
";
    let files = Files::new(&[("long.c", source.as_bytes())]);
    let ran = files.run(&["verify", "long.c", "--format", "json"]);
    let report = json(&ran);
    let output = report["errors"][0]["output"].as_str().unwrap_or_default();
    assert!(output.starts_with("… (") && output.lines().next().is_some_and(|line| line.ends_with("left out)")));
    assert!(output.ends_with("line 19999\n") && output.len() < 66 << 10, "{}", output.len());
}

/// The program with the edits of its plan.
fn applied(text: &str, report: &Value) -> String {
    let mut edits: Vec<&Value> = Vec::new();
    for fence in report["plan"].as_array().expect("a plan") {
        for edit in fence["edits"].as_array().expect("edits") {
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
    }
    edits.sort_by_key(|edit| (edit["line"].as_u64(), edit["column"].as_u64()));
    let mut text = text.to_owned();
    for edit in edits.into_iter().rev() {
        let (line, column) = (edit["line"].as_u64().expect("a line"), edit["column"].as_u64().expect("a column"));
        let start: usize = text.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
        text.insert_str(start + column as usize - 1, edit["text"].as_str().expect("text"));
    }
    text
}

/// Store buffering, however it is written: the suggested fix, applied by other code, makes it safe.
#[test]
fn a_fix_is_what_was_tried() {
    let c = |run: &str| {
        format!(
            "#include <pthread.h>\nstatic volatile int x, y, a, b;\n{run}\nint main(void)\n{{\n    pthread_t t;\n    \
             pthread_create(&t, 0, run, 0);\n    y = 1;\n    b = x;\n    pthread_join(t, 0);\n}}\n"
        )
    };
    let one_line = c("static void *run(void *p) { x = 1; a = y; return p; }");
    let condition = c("static void *run(void *p)\n{\n    if (p == 0)\n        x = 1;\n    return (a = y) ? p : p;\n}");
    let header = c(
        "static void *run(void *p)\n{\n    for (x = 1; a < 1; a++) {\n        if (y)\n            return p;\n    }\n    return p;\n}",
    );
    let macros = c(
        "#define SET(v) do { v = 1; } while (0)\nstatic void *run(void *p)\n{\n    SET(x);\n    a = y;\n    return p;\n}",
    );
    let lambda = "#include <thread>
static volatile int x, y, a, b;
int main()
{
    std::thread t([] { x = 1; a = y; }); y = 1; b = x; t.join();
}
"
    .to_owned();
    let programs = [
        ("one-line.c", one_line),
        ("condition.c", condition),
        ("header.c", header),
        ("macros.c", macros),
        ("lambda.cpp", lambda),
    ];
    let bytes: Vec<(&str, &[u8])> = programs.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let files = Files::new(&bytes);
    for cc in compilers() {
        for (name, text) in &programs {
            std::fs::write(files.path(name), text).expect("a file");
            let ran = files.run(&["verify", name, "--format", "json", "--cc", cc]);
            let report = json(&ran);
            assert_eq!(report["verdict"], "unsafe", "{name}");
            assert!(report["plan"].is_array(), "{cc} {name}: {} {}", report["unfixed"], report["needs"]);
            std::fs::write(files.path(name), applied(text, &report)).expect("a file");
            let ran = files.run(&["verify", name, "--cc", cc]);
            assert_eq!(ran.code, 0, "{cc} {name}: {}{}\n{}", ran.out, ran.err, applied(text, &report));
        }
    }
}

#[test]
fn a_fix_in_a_header_and_with_flags() {
    let header = "static volatile int x, y;\nstatic inline int turn(volatile int *mine, volatile int *other)\n{\n    *mine = 1;\n    return *other;\n}\n";
    let main = "#include <pthread.h>\n#include \"turn.h\"\nstatic int a, b;\nstatic void *run(void *p)\n{\n    a = turn(&x, &y);\n    return p;\n}\nint main(void)\n{\n    pthread_t t;\n    pthread_create(&t, 0, run, 0);\n    b = turn(&y, &x);\n    pthread_join(t, 0);\n}\n";
    let files = Files::new(&[("main.c", main.as_bytes())]);
    std::fs::create_dir(files.path("inc")).expect("a directory");
    std::fs::write(files.path("inc/turn.h"), header).expect("a file");
    let report = json(&files.run(&["verify", "main.c", "--format", "json", "--", "-Iinc"]));
    assert!(report["plan"].is_array(), "{report}");
    assert_eq!(report["plan"][0]["edits"][0]["text"], "#include <stdatomic.h>\n", "{report}");
    std::fs::write(files.path("inc/turn.h"), applied(header, &report)).expect("a file");
    assert_eq!(files.run(&["verify", "main.c", "--", "-Iinc"]).code, 0);
}

#[test]
fn where_no_edit_helps_the_order_is_said() {
    let source = "#include <pthread.h>
struct pair {
    long a, b;
};
static struct pair g;
static void *run(void *p)
{
    struct pair v = {1, 1};
    g = v;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    long b = g.b, a = g.a;
    (void)a, (void)b;
    pthread_join(t, 0);
}
";
    let files = Files::new(&[("copy.c", source.as_bytes())]);
    for cc in compilers() {
        let report = json(&files.run(&["verify", "copy.c", "--model", "pso", "--format", "json", "--cc", cc]));
        assert_eq!((&report["verdict"], &report["plan"]), (&"unsafe".into(), &Value::Null), "{cc}");
        let needs = report["needs"][0].as_str().unwrap_or_default();
        assert_eq!(needs, "`g.a` (copy.c:9) must reach memory before `g.b` is written (copy.c:9)", "{cc}");
        let text = files.run(&["verify", "copy.c", "--model", "pso", "--cc", cc]).out;
        assert!(text.contains("  Need: `g.a` (copy.c:9) must reach memory before"), "{text}");
        assert!(!text.contains("Fix:") && !text.contains("checked"), "{text}");
    }
}

#[test]
fn a_search_that_does_not_end_says_why() {
    let source = "#include <pthread.h>
#include <stdatomic.h>
static atomic_int hits;
static void *run(void *p)
{
    for (int i = 0; i < 9; i++)
        atomic_fetch_add(&hits, 1);
    return p;
}
int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
}
";
    let files = Files::new(&[("large.c", source.as_bytes())]);
    let ran = files.run(&["verify", "large.c", "--executions", "3000", "--format", "json"]);
    let report = json(&ran);
    assert_eq!((ran.code, &report["verdict"]), (3, &"undecided".into()), "{report}");
    let size = report["size"][0].as_str().unwrap_or_default();
    assert!(size.contains(" and T4 race on `hits` (large.c:7) up to "), "{report}");
    let advice = report["advice"].as_str().unwrap_or_default();
    assert!(advice.contains("2 or 3 threads and 1 or 2 rounds instead of 9 at large.c:7"), "{advice}");
    let text = files.run(&["verify", "large.c", "--executions", "3000"]).out;
    assert!(text.lines().take(6).any(|line| line.starts_with("  Size: ")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn locals_that_threads_share_have_their_names() {
    let source = "#include <atomic>
#include <thread>
struct pair { long first; std::atomic<int> second; };
int main()
{
    std::atomic<int> x{0};
    pair p{};
    int r1 = 0, r2 = 0;
    std::thread t1([&] {
        x.store(1, std::memory_order_relaxed);
        r1 = p.second.load(std::memory_order_relaxed);
    });
    std::thread t2([&p, &r2, &x] {
        p.second.store(1, std::memory_order_relaxed);
        r2 = x.load(std::memory_order_relaxed);
    });
    t1.join();
    t2.join();
    return r1 + r2 > 2;
}
";
    let files = Files::new(&[("locals.cpp", source.as_bytes())]);
    for cc in compilers() {
        for level in ["-O0", "-O2"] {
            let report = json(&files.run(&["verify", "locals.cpp", "--format", "json", "--cc", cc, "--", level]));
            let violations = report["violations"].as_array().expect("violations");
            let others = violations.iter().flat_map(|violation| violation["also"].as_array().into_iter().flatten());
            let all = violations.iter().chain(others);
            let mut names: Vec<&str> = all.filter_map(|violation| violation["access"]["address"].as_str()).collect();
            names.sort_unstable();
            assert!(
                names.len() == 2 && names[0].ends_with("p.second") && names[1].ends_with('x'),
                "{cc} {level}: {names:?}"
            );
        }
    }
}
