//! Rust programs: those of `corpus/rust`, each with the answer that its first lines expect, and a package with tests. Catches what no other
//! test does: a toolchain whose standard library is no longer quiet, and places and fixes that are not in the user's code.
//!
//! They need the component rust-src and crates of the standard library, which cargo downloads the first time. Where rust-src is
//! missing, the short tests say that they were skipped; the long ones, which are ignored by default, fail.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common;

use common::{Ran, run, run_in};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether the standard library can be built. The first to ask builds it.
pub fn is_ready() -> bool {
    static READY: OnceLock<bool> = OnceLock::new();
    *READY.get_or_init(|| {
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().map(|ran| ran.stdout);
        let sysroot = sysroot.map(|path| String::from_utf8_lossy(&path).trim().to_owned()).unwrap_or_default();
        let there = Path::new(&sysroot).join("lib/rustlib/src/rust/library/std").is_dir();
        there && run(&["cargo", "setup"]).code == 0
    })
}

/// For tests of the first tier.
fn skipped() -> bool {
    if !is_ready() {
        eprintln!("SKIPPED: needs the component rust-src: rustup component add rust-src");
    }
    !is_ready()
}

pub fn line<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim)
}

/// The fault in the answers, if there is one.
fn problem(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).expect("UTF-8");
    let expected = line(&text, "// expect:").expect("an expectation");
    let path = file.to_str().expect("UTF-8");
    let Ran { out, err, .. } =
        run(&["verify", path, "--model", "all", "--property", "robust", "--format", "json", "--time", "120s"]);
    let document: Value = serde_json::from_str(&out).unwrap_or_default();
    let Some(reports) = document["results"].as_array().filter(|reports| reports.len() == 3) else {
        return Some(out + &err);
    };
    let classes = line(&text, "// classes:").map(|number| number.parse::<u64>().expect("a number"));
    if let Some(classes) = classes.filter(|classes| reports[0]["interleavings"] != *classes) {
        return Some(format!("{} classes, not {classes}", reports[0]["interleavings"]));
    }
    if let Some(words) = expected.strip_prefix("error: ") {
        let says = |error: &Value| format!("{} {}", error["kind"], error["message"]).contains(words);
        let found = reports.iter().all(|report| report["errors"].as_array().is_some_and(|all| all.iter().any(says)));
        return (!found).then(|| format!("no such error in {}", reports[0]["errors"]));
    }
    for expected in expected.split_whitespace() {
        let (model, verdict) = expected.split_once('=').expect("model=verdict");
        let report = reports.iter().find(|report| report["model"] == model).expect("all models");
        let fails = verdict == "unsafe" && report["verdict"] == "fails";
        if report["verdict"] != verdict && !fails {
            return Some(format!("{} under {model}, not {verdict}", report["verdict"]));
        }
    }
    None
}

pub fn all() -> Vec<PathBuf> {
    let files = std::fs::read_dir(repository().join("corpus/rust")).expect("the corpus").flatten();
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "rs"));
    files.sort();
    files
}

#[test]
#[ignore = "several minutes; needs rust-src"]
fn every_program_of_the_corpus_has_its_verdicts() {
    assert!(is_ready(), "the component rust-src is missing: rustup component add rust-src");
    let files = all();
    assert!(files.len() >= 60);
    let problems: Vec<String> =
        files.iter().filter_map(|file| problem(file).map(|why| format!("{}: {why}", file.display()))).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_standard_library_is_quiet() {
    if skipped() {
        return;
    }
    for name in ["empty-threads", "println", "mutex", "scope"] {
        assert_eq!(problem(&repository().join(format!("corpus/rust/{name}.rs"))), None, "{name}");
    }
}

/// What the library's own memory orders leave open is another question: the state of a search that leaves it out does not answer it.
#[test]
fn a_state_is_not_resumed_with_the_library_included() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let (source, state) = (directory.path().join("p.rs"), directory.path().join("state"));
    std::fs::write(&source, "fn main() { std::thread::spawn(|| ()).join().unwrap(); }\n").expect("written");
    let (source, state) = (source.to_str().expect("UTF-8"), state.to_str().expect("UTF-8"));
    assert_eq!(run(&["verify", source, "--resume", state]).code, 0);
    assert_eq!(run(&["verify", source, "--resume", state]).code, 0);
    let ran = run(&["verify", source, "--include-std", "--resume", state]);
    assert!(ran.code == 2 && ran.err.contains("belongs to another program"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_violation_is_told_in_words_of_rust() {
    if skipped() {
        return;
    }
    let file = repository().join("corpus/rust/sb-relaxed.rs");
    let ran = run(&["verify", file.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("UNSAFE under c11"), "{text}");
    assert!(text.contains("`Ordering::SeqCst` instead of `Ordering::Relaxed`"), "{text}");
    assert!(text.contains("checked: safe with these"), "{text}");
    assert!(!text.contains("/core/src/") && !text.contains("block#"), "{text}");
}

#[test]
fn enums_and_options_have_their_variants() {
    if skipped() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("variants.rs");
    let text = "use std::cell::UnsafeCell;\nuse std::sync::atomic::{AtomicBool, Ordering::*};\n\n#[derive(Clone, Copy)]\nenum State {\n    \
                Empty,\n    Full(u32),\n}\nstruct Slot(AtomicBool, UnsafeCell<Option<i32>>, UnsafeCell<State>);\nunsafe impl Sync for Slot {}\n\
                static SLOT: Slot = Slot(AtomicBool::new(false), UnsafeCell::new(None), UnsafeCell::new(State::Empty));\n\nfn main() {\n    \
                let t = std::thread::spawn(|| {\n        unsafe { *SLOT.1.get() = Some(-7) };\n        \
                unsafe { *SLOT.2.get() = State::Full(3) };\n        SLOT.0.store(true, Relaxed);\n    });\n    if SLOT.0.load(Acquire) {\n        \
                let (value, state) = unsafe { (*SLOT.1.get(), *SLOT.2.get()) };\n        \
                assert!(value == Some(-7) && matches!(state, State::Full(3)));\n    }\n    t.join().unwrap();\n}\n";
    std::fs::write(&file, text).expect("written");
    let ran = run(&["replay", file.to_str().expect("UTF-8"), "ab6"]);
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in ["SLOT.1 := Some", "SLOT.1 := -7", "SLOT.2 := Full", "SLOT.2.Full.0 := 3", "SLOT.0 := 1"] {
        assert!(words.contains(told), "{told}: {words}");
    }
    // The edition is what the user says.
    let ran = run(&["verify", file.to_str().expect("UTF-8"), "--", "--edition", "2021"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
}

#[test]
fn the_tests_of_a_package_are_verified_one_by_one() {
    if skipped() {
        return;
    }
    let package = tempfile::tempdir().expect("a directory");
    let put = |name: &str, text: &str| {
        let path = package.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    put(
        "Cargo.toml",
        "[package]\nname = \"tried\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n\n[[test]]\nname = \"own\"\nharness = false\n\n\
         [profile.odd]\ninherits = \"dev\"\npanic = \"abort\"\nlto = \"fat\"\nstrip = true\ndebug = false\n",
    );
    put("src/main.rs", "fn main() {\n    assert!(std::panic::catch_unwind(|| panic!(\"caught\")).is_err());\n}\n");
    put("tests/world.rs", WORLD);
    put(
        "tests/own.rs",
        "fn main() {\n    assert!(std::thread::spawn(|| 1 + 1).join().unwrap() == 2);\n    \
         assert_eq!(std::env::var(\"CARGO_PKG_NAME\").unwrap(), \"tried\");\n    \
         assert!(std::path::Path::new(\"tests/own.rs\").exists());\n}\n",
    );
    put(
        "src/lib.rs",
        "//! ```\n//! assert!(true);\n//! ```\nuse std::sync::atomic::{AtomicU32, Ordering::SeqCst};\nuse std::thread;\n#[test]\nfn right() {\n    static X: AtomicU32 = \
         AtomicU32::new(0);\n    let t = thread::spawn(|| X.fetch_add(1, SeqCst));\n    X.fetch_add(1, SeqCst);\n    \
         t.join().unwrap();\n    assert_eq!(X.load(SeqCst), 2);\n}\n#[test]\nfn wrong() {\n    static X: AtomicU32 = \
         AtomicU32::new(0);\n    let t = thread::spawn(|| X.store(X.load(SeqCst) + 1, SeqCst));\n    X.store(X.load(SeqCst) + 1, \
         SeqCst);\n    t.join().unwrap();\n    assert_eq!(X.load(SeqCst), 2);\n}\n#[test]\n#[should_panic]\nfn panics() {\n    \
         panic!()\n}\n#[test]\n#[ignore]\nfn later() {}\n",
    );
    let manifest = package.path().join("Cargo.toml");
    let manifest = manifest.to_str().expect("UTF-8");
    let ran = run(&["cargo", "test", "--manifest-path", manifest]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    for line in [
        "test right ... ok (2 classes",
        "test wrong ... FAILED",
        "test panics ... ok (1 class",
        "test later ... ignored",
        "test own ... ok (1 class",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    assert!(ran.out.contains("2 passed; 1 failed; 0 undecided; 1 ignored; 0 filtered out"), "{}", ran.out);
    assert!(ran.err.contains("the tests in the documentation of `tried` are not verified"), "{}", ran.err);
    assert!(ran.out.contains("assertion `left == right` failed, left: 1, right: 2"), "{}", ran.out);
    // As the words after `--` mean for cargo.
    let ran = run(&["cargo", "test", "--manifest-path", manifest, "--lib", "--", "--ignored", "--test-threads=1"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("test later ... ok") && ran.out.contains("3 filtered out"), "{}", ran.out);
    let ran = run(&["cargo", "test", "--manifest-path", manifest, "--", "--bench"]);
    assert!(ran.code == 2 && ran.err.contains("`--bench` is not for tests that are verified"), "{}", ran.err);
    let ran = run(&["cargo", "test", "--manifest-path", manifest, "right", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let document: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(document["results"][0]["program"], "right");
    assert_eq!(document["results"][0]["verdict"], "safe");
    // What the last execution of all has left.
    let _ = std::fs::remove_dir_all(package.path().join("made"));
    let ran = run_in(package.path(), &["cargo", "test", "--test", "world"]);
    let says = |words: &str| assert!(ran.out.contains(words), "{words}: {}{}", ran.out, ran.err);
    says("test files_are_made_once ... ok (2 classes");
    says("test time_passes ... ok (1 class");
    says("main returns an error from the test");
    // A profile may not want what membar needs, but what it says of panics counts.
    let ran = run_in(package.path(), &["cargo", "run", "--bin", "tried"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let ran = run_in(package.path(), &["cargo", "run", "--bin", "tried", "--profile", "odd"]);
    assert!(ran.code == 1 && ran.out.contains("main panics at src/main.rs:2:41: caught"), "{}{}", ran.out, ran.err);
    // What another membar has built has other stubs.
    let program = package.path().join("target/membar/x86_64-unknown-linux-gnu/odd/tried");
    let mut bytes = std::fs::read(&program).expect("built");
    let name = b"\0.membar_stubs\0";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("the section's name");
    bytes[at + 2] ^= 1;
    std::fs::write(&program, bytes).expect("written");
    let ran = run(&["verify", program.to_str().expect("UTF-8")]);
    assert!(ran.code == 2 && ran.err.contains("made by another version"), "{}{}", ran.out, ran.err);
    std::fs::write(package.path().join("target/membar/built-with"), "another one").expect("written");
    let ran = run_in(package.path(), &["cargo", "run", "--bin", "tried", "--profile", "odd"]);
    assert!(ran.code == 1 && ran.out.contains("main panics at src/main.rs:2:41: caught"), "{}{}", ran.out, ran.err);
}

/// Tests that ask the system for something.
const WORLD: &str = r#"use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn files_are_made_once() {
    let made = concat!(env!("CARGO_MANIFEST_DIR"), "/made");
    std::fs::create_dir(made).unwrap();
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/made/file"), "text").unwrap();
    let x = AtomicU32::new(0);
    thread::scope(|s| {
        s.spawn(|| x.store(1, SeqCst));
        x.load(SeqCst);
    });
    std::fs::remove_dir_all(made).unwrap();
}

#[test]
fn time_passes() {
    let millis = Duration::from_millis;
    let took = |what: &dyn Fn()| {
        let began = Instant::now();
        what();
        began.elapsed()
    };
    assert!(took(&|| thread::sleep(millis(50))) >= millis(50));
    assert!(took(&|| thread::spawn(move || thread::sleep(millis(2000))).join().unwrap()) >= millis(2000));
    assert!(took(&|| thread::scope(|s| drop(s.spawn(|| thread::sleep(millis(9000)))))) >= millis(9000));
    assert!(took(&|| thread::park_timeout(millis(100))) >= millis(100));
    let (_sender, receiver) = mpsc::channel::<u32>();
    assert!(took(&|| assert!(receiver.recv_timeout(millis(300)).is_err())) >= millis(300));
    let (lock, condvar) = (Mutex::new(()), Condvar::new());
    assert!(took(&|| drop(condvar.wait_timeout(lock.lock().unwrap(), millis(400)))) >= millis(400));
    assert!(took(&|| ()) < millis(60_000));
}

#[test]
fn fails() -> Result<(), String> {
    Err("no".into())
}
"#;

#[test]
#[ignore = "a minute; needs rust-src and crates.io"]
fn crates_that_people_use_pass() {
    assert!(is_ready(), "the component rust-src is missing: rustup component add rust-src");
    let manifest = repository().join("corpus/rust-crates/Cargo.toml");
    let target = tempfile::tempdir().expect("a directory");
    let [manifest, target] = [&manifest, target.path()].map(|path| path.to_str().expect("UTF-8"));
    let ran = run(&["cargo", "test", "--manifest-path", manifest, "--target-dir", target, "--time", "120s"]);
    let lines: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("test ") && line.contains(" ... ")).collect();
    let passed = lines.iter().filter(|line| line.contains(" ... ok ")).count();
    // Plain moves of whole structures with atomics: the executions of the model are not run, and these are not SC.
    let open = ["mpsc_try", "dashmap_insert", "parking_lot_once", "parking_lot_rwlock", "flume_bounded", "flume_wait"];
    let may = |line: &&str| line.ends_with(" ... ignored") || open.iter().any(|name| line.contains(name));
    let mut others = lines.iter().filter(|line| !line.contains(" ... ok "));
    assert!(passed >= 20 && others.all(may), "{}{}", ran.out, ran.err);
    assert!([0, 1, 3].contains(&ran.code), "{}{}", ran.out, ran.err);
}

/// What only weak memory does fails a test; a test's own limits are kept; loom's tests pass with a changed import.
#[test]
fn tests_fail_under_the_model_and_keep_to_their_limits() {
    if skipped() {
        return;
    }
    let package = tempfile::tempdir().expect("a directory");
    let put = |name: &str, text: &str| {
        let path = package.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    let ours = repository().join("membar-test");
    let manifest = format!(
        "[package]\nname = \"tried\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dev-dependencies]\nmembar-test = {{ path = {ours:?} }}\n"
    );
    put("Cargo.toml", &manifest);
    put("tests/loom.rs", &std::fs::read_to_string(ours.join("tests/loom.rs")).expect("UTF-8"));
    put(
        "src/lib.rs",
        "#[cfg(test)]\nmod tests {\n    use std::cell::UnsafeCell;\n    use std::sync::atomic::{AtomicU32, Ordering};\n    \
         use std::sync::Arc;\n    use std::thread;\n    #[test]\n    fn weak() {\n        static X: AtomicU32 = AtomicU32::new(0);\n        \
         static Y: AtomicU32 = AtomicU32::new(0);\n        let t = thread::spawn(|| { X.store(1, Ordering::Release); \
         Y.load(Ordering::Acquire) });\n        Y.store(1, Ordering::Release);\n        let own = X.load(Ordering::Acquire);\n        \
         assert!(own + t.join().unwrap() > 0);\n    }\n    #[test]\n    fn limited() {\n        let mut limits = \
         membar::Builder::new();\n        limits.max_permutations = Some(3);\n        limits.check(|| {\n            let x = \
         Arc::new(AtomicU32::new(0));\n            let y = x.clone();\n            let t = thread::spawn(move || for _ in 0..4 { \
         y.fetch_add(1, Ordering::SeqCst); });\n            for _ in 0..4 { x.fetch_add(1, Ordering::SeqCst); }\n            \
         t.join().unwrap();\n        });\n    }\n    struct Slot { full: AtomicU32, value: UnsafeCell<u32> }\n    unsafe impl \
         Sync for Slot {}\n    #[test]\n    fn racy() {\n        let slot = Arc::new(Slot { full: AtomicU32::new(0), value: \
         UnsafeCell::new(0) });\n        let other = slot.clone();\n        let t = thread::spawn(move || {\n            unsafe { \
         *other.value.get() = 1 };\n            other.full.store(1, Ordering::Relaxed);\n        });\n        if \
         slot.full.load(Ordering::Acquire) == 1 {\n            assert_eq!(unsafe { *slot.value.get() }, 1);\n        }\n        \
         t.join().unwrap();\n    }\n}\n",
    );
    let ran = run_in(package.path(), &["cargo", "test"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    for line in [
        "test tests::weak ... FAILED",
        "test tests::limited ... undecided (3 classes",
        "test tests::racy ... FAILED",
        "test message_passing ... ok",
        "test no_increment_is_lost ... ok",
        "test a_mutex_excludes ... ok",
        "the limit of executions was reached",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    assert!(ran.out.contains("Arc<tried::tests::Slot>#1.value"), "{}", ran.out);
    // Fixes were made in a copy, built and verified; what is here is as it was.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = words(&ran.out);
    assert_eq!(told.matches("(checked: safe with").count(), 2, "{}", ran.out);
    assert!(told.contains("`Ordering::Release` instead of `Ordering::Relaxed`"), "{told}");
    assert!(!told.contains("Need:") && !told.contains("membar/edited"), "{told}");
    let source = std::fs::read_to_string(package.path().join("src/lib.rs")).expect("UTF-8");
    assert_eq!(source.matches("Ordering::Relaxed").count(), 1);
    let again = run_in(package.path(), &["cargo", "test", "racy"]);
    assert!(words(&again.out).contains("(checked: safe with"), "{}{}", again.out, again.err);
}

#[test]
fn bad_requests_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let missing = directory.path().join("Cargo.toml");
    if !skipped() {
        let ran = run(&["cargo", "test", "--manifest-path", missing.to_str().expect("UTF-8")]);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        let bad = directory.path().join("bad.rs");
        std::fs::write(&bad, "fn main() { let x: u32 = \"\"; }\n").expect("written");
        let ran = run(&["verify", bad.to_str().expect("UTF-8")]);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("mismatched types"), "{}", ran.err);
    }
    let ran = run(&["verify", directory.path().join("none.rs").to_str().expect("UTF-8")]);
    assert_eq!(ran.code, 2);
}
