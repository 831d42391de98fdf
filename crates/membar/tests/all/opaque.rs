//! The programs of `corpus/opaque`, which are linked with code that membar did not compile. Catches what no other test does: an access, a
//! thread or a lock of such code that is missed, and then called safe.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::common;

use common::command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/opaque")
}

/// The rest of each line that begins with this key.
fn lines<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.strip_prefix(&format!("// {key}:"))).map(str::trim).collect()
}

fn must(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles the parts of a program, and says how the linker gets them.
fn parts(text: &str, cc: &str, dir: &Path) -> Vec<String> {
    let mut flags = Vec::new();
    for kind in ["object", "archive", "library"] {
        for part in lines(text, kind) {
            let source = corpus().join("parts").join(part);
            let stem = part.strip_suffix(".c").expect("a C source");
            let object = dir.join(format!("{stem}.o"));
            let compile = || {
                let mut compile = Command::new(cc);
                compile.args(["-O2", "-g"]).arg(&source);
                compile
            };
            match kind {
                "library" => {
                    let library = dir.join(format!("lib{stem}.so"));
                    must(compile().args(["-shared", "-fPIC", "-o"]).arg(library));
                    flags.push(format!("-l{stem}"));
                }
                "archive" => {
                    must(compile().args(["-c", "-o"]).arg(&object));
                    must(Command::new("ar").arg("rc").arg(dir.join(format!("lib{stem}.a"))).arg(&object));
                    flags.push(format!("-l{stem}"));
                }
                _ => {
                    must(compile().args(["-c", "-o"]).arg(&object));
                    flags.push(object.to_str().expect("UTF-8").into());
                }
            }
        }
    }
    flags.insert(0, format!("-L{}", dir.display()));
    flags
}

/// The fault in the answers, if there is one.
fn problem(file: &Path, cc: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).expect("UTF-8");
    let dir = tempfile::tempdir().expect("a directory");
    let parts = parts(&text, cc, dir.path());
    let words = |key: &str| lines(&text, key).join(" ").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let verify = |model: &str| {
        let mut verify = command();
        verify.args(["verify", "--format", "json", "--time", "120s", "--cc", cc, "--model", model]).arg(file);
        verify.args(["--property", "robust"]);
        verify.args(words("driver")).arg("--").args(words("flags")).args(&parts);
        verify.env("LD_LIBRARY_PATH", dir.path()).stdin(Stdio::null());
        let output = verify.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let report = common::only(serde_json::from_str::<Value>(&said).unwrap_or_default());
        (output.status.code(), report, said + &String::from_utf8_lossy(&output.stderr))
    };
    let expect = lines(&text, "expect")[0];
    let says = |said: &str| lines(&text, "says").into_iter().find(|text| !said.contains(text)).map(str::to_owned);
    if let Some(error) = expect.strip_prefix("error: ") {
        let (code, report, said) = verify("tso");
        let found = report["errors"].to_string().contains(error);
        return (code != Some(1) || !found).then_some(said);
    }
    for expected in expect.split_whitespace() {
        let (model, verdict) = expected.split_once('=').expect("model=verdict");
        let (code, report, said) = verify(model);
        let wanted = match verdict {
            "safe" => 0,
            "unsafe" => 1,
            _ => 3,
        };
        let fails = verdict == "unsafe" && report["verdict"] == "fails";
        if report["verdict"] != verdict && !fails || code != Some(wanted) {
            return Some(format!("{model}: exit code {code:?}: {said}"));
        }
        if let Some(missing) = says(&said) {
            return Some(format!("{model}: does not say `{missing}`: {said}"));
        }
    }
    None
}

#[test]
#[ignore = "long"]
fn uninstrumented_code_is_never_called_safe() {
    expected_answers(1);
}

#[test]
fn a_sample_of_uninstrumented_code_is_not_called_safe() {
    expected_answers(14);
}

/// One run of this many has the answer that its program expects.
fn expected_answers(of: usize) {
    let files = std::fs::read_dir(corpus()).expect("the corpus").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|end| end == "c" || end == "cpp")).collect();
    files.sort();
    assert!(files.len() > 25, "only {} programs", files.len());
    let is_there = |cc: &&str| {
        let there = Command::new(cc).arg("--version").output().is_ok();
        if !there {
            eprintln!("SKIPPED: {cc} is not installed");
        }
        there
    };
    let compilers: Vec<&str> = ["gcc", "clang"].into_iter().filter(is_there).collect();
    let runs: Vec<(&PathBuf, &str)> =
        compilers.iter().flat_map(|cc| files.iter().map(move |file| (file, *cc))).step_by(of).collect();
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((file, cc)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(problem) = problem(file, cc) {
                        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                        problems.lock().expect("no panic").push(format!("{name} with {cc}: {problem}"));
                    }
                }
            });
        }
    });
    let problems = problems.into_inner().expect("no panic");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A test framework that comes as an archive with `main`: Debian's libgtest-dev.
#[test]
#[ignore = "needs libgtest-dev"]
fn tests_of_a_framework_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("test.cpp");
    let source = "#include <gtest/gtest.h>\n#include <atomic>\n#include <thread>\nstatic std::atomic<int> x, y;\n\
        TEST(Store, Buffering)\n{\n    int a = 0, b = 0;\n    std::thread t([&] { x.store(1, std::memory_order_release); \
        a = y.load(); });\n    y.store(1, std::memory_order_release);\n    b = x.load();\n    t.join();\n    \
        EXPECT_EQ(a + b > 0, true);\n}\n";
    std::fs::write(&file, source).expect("written");
    let probe = Command::new("g++").args(["-std=c++14", "-x", "c++", "-E"]).arg(&file).output();
    assert!(probe.is_ok_and(|output| output.status.success()), "googletest is not installed");
    let mut verify = command();
    verify.args(["verify", "--format", "json", "--time", "120s", "--cc", "gcc"]).arg(&file);
    let output = verify.args(["--", "-lgtest", "-lgtest_main"]).stdin(Stdio::null()).output().expect("it runs");
    let report: Value = common::only(serde_json::from_slice(&output.stdout).unwrap_or_default());
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(report["verdict"], "fails", "{said}");
}

/// One that is compiled into an archive with `main` by its user: Debian's catch2.
#[test]
#[ignore = "needs catch2"]
fn tests_of_catch_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("main.cpp"), "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n").expect("written");
    let source = "#include <catch2/catch.hpp>\n#include <atomic>\n#include <thread>\nstatic std::atomic<int> x;\n\
        TEST_CASE(\"counts\")\n{\n    auto f = [] { int v = x; x = v + 1; };\n    std::thread t(f);\n    f();\n    \
        t.join();\n    REQUIRE(x == 2);\n}\n";
    std::fs::write(at("test.cpp"), source).expect("written");
    let object = Command::new("g++").args(["-fPIC", "-c", "-o"]).args([at("main.o"), at("main.cpp")]).output();
    assert!(object.is_ok_and(|output| output.status.success()), "Catch2 is not installed");
    let archive = Command::new("ar").arg("rcs").args([at("libmain.a"), at("main.o")]).output();
    assert!(archive.is_ok_and(|output| output.status.success()), "an archive");
    let mut verify = command();
    verify.args(["verify", "--time", "120s", "--cc", "gcc"]).arg(at("test.cpp"));
    let output = verify.arg("--").arg(at("libmain.a")).stdin(Stdio::null()).output().expect("it runs");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("REQUIRE( x == 2 )"), "{said}");
}
