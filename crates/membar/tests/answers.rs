//! What a user is told when a program goes wrong. What only this file catches: an answer that is right and of no use, because it
//! lacks the place, the reason or what the program said itself.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::{Files, Ran};
use serde_json::Value;
use std::process::Command;

fn compilers() -> Vec<&'static str> {
    let installed = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    let (found, missing): (Vec<_>, Vec<_>) = ["gcc", "clang"].into_iter().partition(|name| installed(name));
    for name in missing {
        eprintln!("SKIPPED: {name} is not installed, so nothing is known about it");
    }
    assert!(!found.is_empty(), "there is no compiler");
    found
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
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
    for (flag, what, own) in [("-DUSE=1", "writes memory that has been freed", 15), ("-DUSE=0", "frees memory twice", 17)]
    {
        let report = json(&files.run(&["verify", "frees.c", "--format", "json", "--", flag]));
        let errors = report["errors"].as_array().expect("errors");
        let found = errors.iter().find(|error| {
            let message = error["message"].as_str().unwrap_or_default();
            message.contains(what)
                && message.contains("the block of 4 bytes allocated by main at frees.c:11 and freed by T1 at frees.c:6")
        });
        assert_eq!(found.map(|error| lines(error)[0]), Some(own), "{report}");
    }
}

#[test]
fn what_the_program_printed_is_shown_with_its_error() {
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
