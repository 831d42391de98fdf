//! `membar verify --model c11`, as a user sees it.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common::{Files, page_data, run};
use membar_testkit::shorthand::{Counted, counted, program};
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
        "UNSAFE under c11  mp.c: not SC (1 violation)",
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

/// Two threads, `BODY` run by the first, `MAIN` by the second.
const PAIR: &str = "#include <pthread.h>
#include <stdatomic.h>
HEAD
static void *writer(void *arg)
{
    BODY
    return arg;
}

int main(void)
{
    pthread_t thread;
    int r = 0;
    pthread_create(&thread, 0, writer, 0);
    MAIN
    pthread_join(thread, 0);
    return r == 7;
}
";

fn pair(head: &str, body: &str, main: &str) -> String {
    PAIR.replace("HEAD", head).replace("BODY", body).replace("MAIN", main)
}

/// What the plan puts in, sorted, each once.
fn planned(document: &Value) -> Vec<String> {
    let plan = document["results"][0]["plan"].as_array().unwrap_or_else(|| panic!("no plan: {document}"));
    let mut planned: Vec<String> = plan.iter().map(|put| put["fence"].as_str().unwrap_or_default().into()).collect();
    planned.sort();
    planned.dedup();
    planned
}

#[test]
fn fences_where_no_order_is_written() {
    let macros = "#define LOAD(p) atomic_load_explicit(p, memory_order_relaxed)\n\
                  #define STORE(p, v) atomic_store_explicit(p, v, memory_order_relaxed)\n";
    let functions = "static int LOAD(atomic_int *p) { return atomic_load_explicit(p, 0); }\n\
                     static void STORE(atomic_int *p, int v) { atomic_store_explicit(p, v, 0); }\n";
    let assembly = "static int LOAD(atomic_int *p) { int r; __asm__ volatile(\"movl %1, %0\" : \"=r\"(r) : \"m\"(*p)); return r; }\n\
                    static void STORE(atomic_int *p, int v) { __asm__ volatile(\"movl %1, %0\" : \"=m\"(*p) : \"r\"(v)); }\n";
    let (acquire, release, seq_cst) =
        ["acquire", "release", "seq_cst"].map(|order| format!("atomic_thread_fence(memory_order_{order})")).into();
    let passing = vec![acquire, release];
    let buffering = vec![seq_cst];
    for (how, loads) in [("macros", macros), ("functions", functions), ("assembly", assembly)] {
        let head = format!("{loads}static atomic_int x, y;\nstatic int data;");
        for (what, body, main, plan) in [
            ("race", "data = 42; STORE(&y, 1);", "if (LOAD(&y))\n        r = data;", &passing),
            ("loop", "data = 42; STORE(&y, 1);", "while (!LOAD(&y)) {}\n    r = data;", &passing),
            ("MP", "STORE(&x, 42); STORE(&y, 1);", "r = LOAD(&y); r += LOAD(&x);", &passing),
            ("SB", "STORE(&x, 1); LOAD(&y);", "STORE(&y, 1); r = LOAD(&x);", &buffering),
        ] {
            let text = pair(&head, body, main);
            let files = Files::new(&[("t.c", text.as_bytes())]);
            let document = json(&files, &["--model", "c11", "t.c"]);
            assert_eq!(&planned(&document), plan, "{what} with {how}");
        }
    }
}

/// Litmus tests with the kernel's macros have no orders to write.
#[test]
fn fences_in_litmus_tests() {
    let test = |one: &str, two: &str| {
        let thread = |n: u32, body: &str| format!("P{n}(int *x, int *y)\n{{\n{body}\n}}\n");
        format!("C t\n{{}}\n{}{}exists (x=1)\n", thread(0, one), thread(1, two))
    };
    let passing = test("WRITE_ONCE(*x, 1);\nWRITE_ONCE(*y, 1);", "int r0 = READ_ONCE(*y);\nint r1 = READ_ONCE(*x);");
    let buffering = test("WRITE_ONCE(*x, 1);\nint r0 = READ_ONCE(*y);", "WRITE_ONCE(*y, 1);\nint r0 = READ_ONCE(*x);");
    for (text, orders) in [(passing, &["acquire", "release"][..]), (buffering, &["seq_cst"])] {
        let files = Files::new(&[("t.litmus", text.as_bytes())]);
        let wanted: Vec<String> = orders.iter().map(|o| format!("atomic_thread_fence(memory_order_{o});")).collect();
        assert_eq!(planned(&json(&files, &["--model", "c11", "t.litmus"])), wanted);
    }
}

/// Where a fence has no place in the source, it is said where one is needed; a stronger order of that access would not do.
#[test]
fn fences_without_a_place_are_needed() {
    let head = "#define LOAD(p) atomic_load_explicit(p, memory_order_relaxed)\n\
                #define STORE(p, v) atomic_store_explicit(p, v, memory_order_relaxed)\nstatic atomic_int x, y;";
    let text = pair(head, "(void)(STORE(&x, 1), LOAD(&y));", "r = (STORE(&y, 1), LOAD(&x));");
    let files = Files::new(&[("t.c", text.as_bytes())]);
    let document = json(&files, &["--model", "c11", "t.c"]);
    let needs = document["results"][0]["needs"].as_array().expect("needs");
    assert_eq!(needs.len(), 2, "{needs:?}");
    assert!(needs.iter().all(|need| need.as_str().unwrap().ends_with("a seq_cst fence")), "{needs:?}");
}

/// Two languages in one program; each file gets its own fences.
#[test]
fn fences_speak_the_language_of_the_file() {
    let c = "#include <stdatomic.h>\n#define STORE(p) atomic_store_explicit(p, 1, memory_order_relaxed)\n\
             extern int data;\nextern atomic_int ready;\nvoid put(void) { data = 42; STORE(&ready); }\n";
    let cpp = "#include <atomic>\n#include <thread>\n#define LOAD(a) a.load(std::memory_order_relaxed)\n\
               extern \"C\" { int data; std::atomic<int> ready; void put(void); }\n\
               int main()\n{\n    std::thread t(put);\n    int r = 0;\n    if (LOAD(ready)) r = data;\n    t.join();\n    return r == 7;\n}\n";
    let files = Files::new(&[("put.c", c.as_bytes()), ("main.cpp", cpp.as_bytes())]);
    let document = json(&files, &["--model", "c11", "put.c", "main.cpp"]);
    let wanted = ["atomic_thread_fence(memory_order_release)", "std::atomic_thread_fence(std::memory_order_acquire)"];
    assert_eq!(planned(&document), wanted);
}

/// The orders are arguments of templates. The exit status is wrong however they are ordered, which no order can change.
#[test]
fn fixes_do_not_promise_too_much() {
    let text = "#include <atomic>\n#include <thread>\n\
        template <std::memory_order O> int get(std::atomic<int> &a) { return a.load(O); }\n\
        template <std::memory_order O> void put(std::atomic<int> &a, int v) { a.store(v, O); }\n\
        static std::atomic<int> ready;\nstatic int data;\n\
        int main()\n{\n    std::thread t([] {\n        data = 1;\n        put<std::memory_order_relaxed>(ready, 1);\n    });\n\
        \x20   int r = 0;\n    if (get<std::memory_order_relaxed>(ready))\n        r = data;\n    t.join();\n    return r == 1;\n}\n";
    for compiler in ["gcc", "clang"] {
        if std::process::Command::new(compiler).arg("--version").output().is_err() {
            eprintln!("SKIPPED: {compiler} is not installed");
            continue;
        }
        let files = Files::new(&[("t.cpp", text.as_bytes())]);
        let document = json(&files, &["--model", "c11", "--cc", compiler, "t.cpp"]);
        assert_eq!(planned(&document), ["memory_order_acquire", "memory_order_release"], "{compiler}");
        let ran = files.run(&["verify", "--model", "c11", "--cc", compiler, "t.cpp"]);
        let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("(checked: no violation and no race with these)"), "{words}");
    }
}

/// Documents and pages have the fix of a race as the text does.
#[test]
fn races_have_their_fix_everywhere() {
    let head = "#define LOAD(p) atomic_load_explicit(p, memory_order_relaxed)\nstatic atomic_int y;\nstatic int data;";
    let body = "data = 42;\n    atomic_store_explicit(&y, 1, memory_order_relaxed);";
    let text = pair(head, body, "if (LOAD(&y))\n        r = data;");
    let files = Files::new(&[("t.c", text.as_bytes())]);
    let ran = files.run(&["verify", "--model", "c11", "t.c", "--html", "page.html"]);
    let wanted = ["atomic_thread_fence(memory_order_acquire)", "memory_order_release"];
    assert!(wanted.iter().all(|fix| ran.out.contains(fix)), "{}", ran.out);
    assert_eq!(planned(&json(&files, &["--model", "c11", "t.c"])), wanted);
    let case = &page_data(&files.path("page.html"))["cases"][0];
    let fixes: Vec<&str> =
        case["fixes"]["list"].as_array().unwrap().iter().filter_map(|fix| fix["code"].as_str()).collect();
    assert!(wanted.iter().all(|fix| fixes.contains(fix)), "{fixes:?}");
    assert!(!case["fixes"]["diff"].is_null());
}

/// A function is told the order by its callers: that is where it can be changed. One is written, one is not.
#[test]
fn orders_are_changed_where_they_are_written() {
    let head = "static int get(atomic_int *p, memory_order mo) { return atomic_load_explicit(p, mo); }\n\
                static atomic_int y;\nstatic int data;\n#define WEAK memory_order_relaxed";
    let body = "data = 42; atomic_store_explicit(&y, 1, WEAK);";
    let text = pair(head, body, "if (get(&y, memory_order_relaxed)) r = data;");
    let files = Files::new(&[("t.c", text.as_bytes())]);
    let document = json(&files, &["--model", "c11", "t.c"]);
    assert_eq!(planned(&document), ["atomic_thread_fence(memory_order_release)", "memory_order_acquire"]);
}

#[test]
fn variables_of_one_name_are_two_locations() {
    let head = "static atomic_int *one, *two;";
    let body =
        "atomic_store_explicit(one, 42, memory_order_relaxed); atomic_store_explicit(two, 1, memory_order_relaxed);";
    let main = "r = atomic_load_explicit(two, memory_order_relaxed);\n    r += atomic_load_explicit(one, memory_order_relaxed);";
    let text = pair(head, body, main)
        .replace("int r = 0;", "atomic_int cell = 0; one = &cell; { atomic_int cell = 0; two = &cell; int r = 0;")
        .replace("return r == 7;", "return r == 7; }");
    let files = Files::new(&[("t.c", text.as_bytes())]);
    let document = json(&files, &["--model", "c11", "t.c"]);
    assert_eq!(document["results"][0]["violations"][0]["shape"]["name"], "MP");
}

/// Memory that the C library allocates and fills for its caller is written by the caller.
#[test]
fn results_of_the_c_library_are_published() {
    let head =
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <wchar.h>\nstatic _Atomic(char *) box;";
    let main = "char *s = atomic_load_explicit(&box, ORDER);\n    if (s) r = *s;";
    for fill in [
        "s = strdup(\"a\")",
        "asprintf(&s, \"%d\", 42)",
        "s = (char *)wcsdup(L\"a\")",
        "s = realpath(\"/\", 0)",
        "size_t n = 0; getline(&s, &n, fmemopen(\"a\\n\", 2, \"r\"))",
        "size_t n = 0; getdelim(&s, &n, ',', fmemopen(\"a,\", 2, \"r\"))",
    ] {
        let body = format!("char *s = 0; {fill};\n    atomic_store_explicit(&box, s, ORDER);");
        let text = format!("#define _GNU_SOURCE\n{}", pair(head, &body, main));
        let files = Files::new(&[("t.c", text.as_bytes())]);
        let found = |order: &str| {
            let order = format!("-DORDER=memory_order_{order}");
            verdict(&json(&files, &["--model", "c11", "t.c", "--", "-w", &order])).0
        };
        assert_eq!((found("relaxed"), found("seq_cst")), ("error".into(), "safe".into()), "{fill}");
    }
}

/// What makes the accesses of a violation, if that is not the program's own C: told, and part of the document.
#[test]
#[ignore = "long"]
fn assembly_and_the_library_are_named() {
    let assembly = include_str!("../../../../corpus/c11/assembly.c");
    let latch = "#include <latch>\n#include <thread>\nint main()\n{\n    std::latch done(1);\n    \
                 std::thread writer([&] { done.count_down(); });\n    done.wait();\n    writer.join();\n}\n";
    let locked = "#include <pthread.h>\nstatic int lock, data;\n\
        static int swap(int *p, int v) { __asm__ volatile(\"xchgl %0, %1\" : \"+r\"(v), \"+m\"(*p) :: \"memory\"); return v; }\n\
        static void *run(void *a) { while (swap(&lock, 1)) {} data++; swap(&lock, 0); return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); run(0); pthread_join(t, 0); return data != 2; }\n";
    let files = Files::new(&[
        ("assembly.c", assembly.as_bytes()),
        ("latch.cpp", latch.as_bytes()),
        ("locked.c", locked.as_bytes()),
    ]);
    let by = |args: &[&str]| json(&files, args)["results"][0]["violations"][0]["access"]["by"].clone();
    assert_eq!(by(&["--model", "c11", "assembly.c"]), "assembly");
    assert_eq!(by(&["--model", "c11", "latch.cpp", "--", "-std=c++20"]), "library");
    let text = |args: &[&str]| {
        let out = files.run(&[&["verify", "--model", "c11"], args].concat()).out;
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let words = "Note: assembly has no memory orders";
    assert!(text(&["assembly.c"]).contains(words));
    assert!(text(&["locked.c"]).contains(words));
    let latch = text(&["latch.cpp", "-v", "--", "-std=c++20"]);
    assert!(latch.contains("Note: it is inside the C++ library, called at latch.cpp:7 and latch.cpp:6"), "{latch}");
}

#[test]
fn weak_compare_exchanges_are_named() {
    let text = "#include <atomic>\n#include <thread>\nstatic std::atomic<int> n;\n\
                static void add() { int old = n; while (!n.compare_exchange_KIND(old, old + 1)) {} }\n\
                int main() { std::thread t(add); add(); t.join(); return n != 2; }\n";
    for (kind, told) in [("weak", true), ("strong", false)] {
        let files = Files::new(&[("t.cpp", text.replace("KIND", kind).as_bytes())]);
        let ran = files.run(&["verify", "--model", "c11", "t.cpp"]);
        assert_eq!(ran.code, 0, "{}", ran.out);
        assert_eq!(ran.out.contains("fail without a reason were not tried (t.cpp:4)"), told, "{}", ran.out);
    }
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
    assert_eq!(verdict(&found(&["--model", "c11", "--races", "off"], &relaxed)).0, "fails");
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

/// Planning leaves the program with fences: what another model allows was then tried with them, and could not be confirmed.
#[test]
fn fences_of_one_model_are_not_there_for_the_next() {
    let dekker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/programs/dekker.c");
    let files = Files::new(&[]);
    let document = json(&files, &["--model", "tso,pso", dekker.to_str().expect("a path")]);
    let results = document["results"].as_array().expect("results");
    let answers: Vec<&Value> = results.iter().map(|result| &result["verdict"]).collect();
    assert_eq!(answers, ["fails", "fails"], "{document}");
    // One fence would not do: the last one that is tried without is then the only one.
    assert!(results[0]["plan"].as_array().is_none_or(|fences| fences.len() > 1), "{}", results[0]["plan"]);
    assert!(results.iter().all(|result| result["violations"][0]["certified"] == true));
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
#[ignore = "long"]
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

/// Every n-th of the programs whose graphs others have counted, as C.
fn counted_programs(step: usize) {
    for Counted { threads, rc11, sc } in counted().into_iter().step_by(step) {
        let files = Files::new(&[("t.c", program(&threads).as_bytes())]);
        let document = json(&files, &["--model", "c11", "t.c"]);
        let expected = if rc11 == sc { "safe" } else { "unsafe" };
        let result = &document["results"][0];
        assert_eq!((&result["verdict"], &result["interleavings"]), (&expected.into(), &sc.into()), "{threads}");
    }
}

#[test]
fn some_counted_programs() {
    counted_programs(40);
}

#[test]
#[ignore = "takes minutes"]
fn all_counted_programs() {
    counted_programs(1);
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
    // Over three threads.
    let thread = |n: u32, from: &str, to: &str| {
        format!(
            "P{n} (atomic_int* {from}, atomic_int* {to}) {{ int r = atomic_load_explicit({from}, memory_order_relaxed); \
             atomic_store_explicit({to}, 1, memory_order_relaxed); }}\n"
        )
    };
    let three = [thread(0, "x", "y"), thread(1, "y", "z"), thread(2, "z", "x")].concat();
    let files = Files::new(&[("LB3.litmus", format!("C LB3\n{{ }}\n{three}exists (0:r=1)\n").as_bytes())]);
    assert!(files.run(&["verify", "--model", "c11", "LB3.litmus"]).out.contains("load buffering was not looked for"));
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

/// A structure with atomic members is moved as plain memory: executions of the models are run all the same.
#[test]
fn what_a_moved_structure_leads_to_is_known() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/c11");
    let (right, fails) = (corpus.join("moved.c"), corpus.join("moved-fails.c"));
    let (right, fails) = (right.to_str().expect("UTF-8"), fails.to_str().expect("UTF-8"));
    let result = |program: &str, args: &[&str]| -> Value {
        let ran = run(&[&["verify", "--format", "json", program], args].concat());
        serde_json::from_str::<Value>(&ran.out).unwrap_or_else(|_| panic!("{}", ran.err))["results"][0].take()
    };
    for model in ["tso", "pso", "c11"] {
        let found = result(right, &["--model", model]);
        assert_eq!(found["verdict"], "safe", "{model}: {found:#}");
        assert!(found["weak"]["complete"] == true && found["weak"]["not_sc"].as_u64() > Some(0), "{model}: {found:#}");
    }
    // Under store buffers the move is one store: the bytes in its buffer are those of both atomics.
    for model in ["tso", "c11"] {
        let found = result(fails, &["--model", model]);
        let failure = (&found["verdict"], &found["failures"][0]["certified"]);
        assert_eq!(failure, (&"fails".into(), &true.into()), "{model}: {found:#}");
        let schedule = found["failures"][0]["schedule"].as_str().expect("a schedule");
        let ran = run(&["replay", fails, schedule, "--model", model]);
        assert!(ran.out.contains("assertion `one || two` fails"), "{}{}", ran.out, ran.err);
    }
}
