//! Builds programs with the compilers of this machine.
//!
//! `semantic_*` run the instrumented objects natively, with a runtime that checks what it is told (`build/hooks.c`).
//! `make_*` build projects whose compiler is this test itself (see [`as_compiler`]).

use membar_native::build::{self, BuildError, Built, Language, Note, NoteKind, Request};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// C and C++ compilers that are installed. Says loudly which are not.
fn compilers() -> Vec<(&'static str, &'static str)> {
    let installed =
        |name: &str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let mut found = vec![("gcc", "g++"), ("clang", "clang++")];
    found.retain(|(c, cxx)| {
        let there = installed(c) && installed(cxx);
        if !there {
            eprintln!("SKIPPED: {c} and {cxx} are not both installed");
        }
        there
    });
    assert!(!found.is_empty(), "a compiler is needed for these tests");
    found
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/build").join(name)
}

fn scratch() -> TempDir {
    tempfile::tempdir().expect("a scratch directory")
}

fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, text).expect("a file");
    path
}

fn words(text: &str) -> Vec<OsString> {
    text.split_whitespace().map(OsString::from).collect()
}

/// Builds into `dir` with one pair of compilers.
fn build(dir: &Path, pair: (&str, &str), sources: &[PathBuf], flags: &str) -> Result<Built, BuildError> {
    let flags = words(flags);
    build::build(&Request { sources, flags: &flags, dir, cc: Some(pair.0.into()), cxx: Some(pair.1.into()) })
}

fn run(command: &mut Command) -> Output {
    command.output().expect("a program to run")
}

fn kinds(notes: &[Note], kind: NoteKind) -> Vec<&Note> {
    notes.iter().filter(|note| note.kind == kind).collect()
}

/// Names of dynamic symbols that are defined.
fn exported(object: &Path) -> String {
    let output = run(Command::new("nm").arg("-D").arg("--defined-only").arg(object));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn c_and_cxx_build_with_every_compiler() {
    for pair in compilers() {
        let dir = scratch();
        let c = write(
            dir.path(),
            "a.c",
            "#include <pthread.h>\nint x;\nstatic void *f(void *p) { x = 1; return p; }\nint other(void);\n\
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return x - 1 + other(); }\n",
        );
        let other = write(dir.path(), "b.c", "int other(void) { return 0; }\n");
        let built = build(dir.path(), pair, &[c, other.clone()], "").expect("C");
        assert!(built.compiler.starts_with(pair.0), "{}", built.compiler);
        assert_eq!(built.notes, []);
        assert!(exported(&built.object).contains(" T main"));

        let cxx = write(
            dir.path(),
            "c.cpp",
            "#include <thread>\n#include <atomic>\n#include <string>\nextern \"C\" int other(void);\nstd::atomic<int> x;\n\
             std::string s;\n\
             int main() { std::thread t([] { x = 1; s = \"a long enough string to be on the heap\"; }); t.join();\n\
             try { throw other(); } catch (int) {} return x - 1; }\n",
        );
        let built = build(dir.path(), pair, &[cxx, other], "-O1").expect("C++");
        assert!(exported(&built.object).contains(" T main"));
        assert_eq!(built.notes, [], "the C++ library is part of the object");
    }
}

#[test]
fn imported_symbols_have_their_library() {
    let dir = scratch();
    let foo = write(dir.path(), "foo.c", "int foo(void) { return 1; }\n");
    let library = dir.path().join("libfoo.so.1");
    let made =
        run(Command::new("cc").args(["-shared", "-fPIC", "-Wl,-soname,libfoo.so.1", "-o"]).arg(&library).arg(&foo));
    assert!(made.status.success());
    let source = write(
        dir.path(),
        "a.c",
        "#include <string.h>\nint foo(void);\nint main(void) { return strerror(foo()) == 0; }\n",
    );
    let flags = format!("{} -Wl,-rpath,{}", library.display(), dir.path().display());
    for pair in compilers() {
        let built = build(dir.path(), pair, std::slice::from_ref(&source), &flags).expect("a program");
        let imports = build::imports(&built.object).expect("imports");
        let library =
            |name: &str| imports.iter().find(|import| import.name == name).and_then(|import| import.library.as_deref());
        assert_eq!(library("foo"), Some("libfoo.so.1"));
        assert_eq!(library("strerror"), Some("libc.so.6"));
        assert!(imports.iter().all(|import| !import.name.starts_with("__tsan") && import.name != "__gmon_start__"));
        let notes = kinds(&built.notes, NoteKind::Library);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].what.starts_with("libfoo.so.1 is not instrumented") && notes[0].what.contains("`foo`"));
    }
}

#[test]
fn flags_reach_compiler_and_linker_or_are_noted() {
    let source = "#include \"n.h\"\n#include <math.h>\n#ifdef __OPTIMIZE__\n#define OPTIMIZED 1\n#else\n#define OPTIMIZED 0\n#endif\n\
                  _Static_assert(N + M == 5, \"flags\");\n_Static_assert(OPTIMIZED == O, \"level\");\n\
                  int main(int c, char **v) { return sqrt(c) > 9; }\n";
    for pair in compilers() {
        let dir = scratch();
        let source = write(dir.path(), "a.c", source);
        fs::create_dir(dir.path().join("inc")).expect("a directory");
        write(dir.path(), "inc/n.h", "#define M 2\n");
        let include = format!("-I {}", dir.path().join("inc").display());
        build(dir.path(), pair, std::slice::from_ref(&source), &format!("{include} -DN=3 -DO=0 -lm")).expect("plain");
        build(dir.path(), pair, std::slice::from_ref(&source), &format!("{include} -DN=3 -DO=1 -O2"))
            .expect("optimised");
        let bad =
            "-static -flto -fPIE -pie -fsanitize=address -fomit-frame-pointer -s -D_FORTIFY_SOURCE=2 -c -o nothing";
        let built = build(dir.path(), pair, &[source], &format!("{include} -DN=3 -DO=0 {bad} -fvisibility=hidden"))
            .expect("dropped");
        assert_eq!(kinds(&built.notes, NoteKind::Flag).len(), 8, "{:?}", built.notes);
        assert!(exported(&built.object).contains(" T main"), "also if everything is hidden");
    }
}

#[test]
fn warnings_are_passed_on_with_their_lines() {
    for pair in compilers() {
        let dir = scratch();
        let source = write(dir.path(), "a.c", "int main(void) {\n    int unused;\n    return 0;\n}\n");
        let built = build(dir.path(), pair, std::slice::from_ref(&source), "-Wall").expect("a warning");
        let notes = kinds(&built.notes, NoteKind::Warning);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].what.contains("a.c:2:9: warning"), "{}", notes[0].what);
    }
}

#[test]
fn errors_say_what_to_do() {
    for pair in compilers() {
        let dir = scratch();
        let build =
            |source: &Path, flags: &str| build(dir.path(), pair, &[source.to_owned()], flags).expect_err("an error");
        let missing = build(&dir.path().join("missing.c"), "");
        assert!(matches!(missing, BuildError::File { action: "read", .. }), "{missing}");
        let syntax = build(&write(dir.path(), "s.c", "int main(void) {\n  return x;\n}\n"), "");
        assert!(
            matches!(&syntax, BuildError::Compile { stderr, .. } if stderr.contains("s.c:2:10: error:")),
            "{syntax}"
        );
        let main = build(&write(dir.path(), "m.c", "int x;\n"), "");
        assert!(matches!(main, BuildError::NoMain) && main.help().contains("main"));
        let undefined = build(&write(dir.path(), "u.c", "int foo(void); int main(void) { return foo(); }\n"), "");
        assert!(
            matches!(&undefined, BuildError::Link { undefined: true, stderr } if stderr.contains("foo")),
            "{undefined}"
        );
        let library = build(&write(dir.path(), "l.c", "int main(void) { return 0; }\n"), "-lno_such_library");
        assert!(matches!(library, BuildError::Link { undefined: false, .. }));
        let part = write(dir.path(), "t.c", "__thread int v; int next(void) { return v++; }\n");
        let object = dir.path().join("t.o");
        let compiled = Command::new(pair.0).args(["-fPIE", "-c", "-o"]).args([&object, &part]).status();
        assert!(compiled.is_ok_and(|status| status.success()));
        let user = write(dir.path(), "p.c", "int next(void); int main(void) { return next(); }\n");
        let fixed = build(&user, &object.to_string_lossy());
        assert!(matches!(&fixed, BuildError::Executable { object, .. } if object.contains("t.o")), "{fixed}");
        assert!(fixed.help().contains("-fPIC"));
        for error in [missing, syntax, main, undefined, library] {
            assert!(!error.help().is_empty() && !error.to_string().is_empty());
        }
    }
    let dir = scratch();
    let source = write(dir.path(), "a.c", "int main(void) { return 0; }\n");
    let sources = [source.clone()];
    let error = build(&dir.path().join("not there"), ("cc", "c++"), &sources, "").expect_err("no directory");
    assert!(matches!(error, BuildError::File { action: "write", .. }), "{error}");
    let error = build(dir.path(), ("no-such-compiler", "c++"), &sources, "").expect_err("no compiler");
    assert!(error.to_string().contains("no-such-compiler") && error.help().contains("CC"), "{error}");
    let error = build(dir.path(), ("true", "c++"), &sources, "").expect_err("no compiler");
    assert!(matches!(error, BuildError::UnknownCompiler { .. }), "{error}");
    let error = build(dir.path(), ("cc", "c++"), &[], "").expect_err("no source");
    assert!(matches!(error, BuildError::NothingToBuild));
}

#[test]
fn without_a_compiler_the_error_names_the_fix() {
    let dir = scratch();
    let source = write(dir.path(), "a.c", "int main(void) { return 0; }\n");
    let output = run(Command::new(std::env::current_exe().expect("this program"))
        .args(["build::as_compiler", "--exact", "--nocapture"])
        .env("MEMBAR_TEST_AS", "cc")
        .env("MEMBAR_TEST_ARGUMENTS", format!("-c\u{1f}{}\u{1f}", source.display()))
        .env("PATH", dir.path())
        .env_remove("CC")
        .env_remove("MEMBAR_CC"));
    assert_eq!(output.status.code(), Some(125));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("no C compiler was found (tried `cc`, `gcc`, `clang`)") && stderr.contains("apt install"),
        "{stderr}"
    );
}

/// Builds a source for the checking runtime, runs it, and answers what it reports.
fn checked(pair: (&str, &str), level: &str, name: &str) -> (Vec<i64>, Vec<Note>) {
    let dir = scratch();
    let hooks = dir.path().join("hooks.o");
    let made = run(Command::new(pair.0).args(["-c", "-fPIC", "-w", "-o"]).arg(&hooks).arg(data("hooks.c")));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let flags = format!("{level} {}", hooks.display());
    let built =
        build(dir.path(), pair, &[data(name)], &flags).unwrap_or_else(|error| panic!("{pair:?} {level}: {error}"));
    let object = dir.path().join(format!("0-{}", name.replace(".c", ".o")));
    let program = dir.path().join("program");
    let made = run(Command::new(pair.0).arg(&object).arg(&hooks).arg("-o").arg(&program));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let output = run(&mut Command::new(&program));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{pair:?} {level} {name}: {text}");
    (text.split_whitespace().filter_map(|word| word.parse().ok()).collect(), built.notes)
}

#[test]
fn semantic_copies_are_announced_early_and_stores_are_not() {
    for pair in compilers() {
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
            let (counts, notes) = checked(pair, level, "copies.c");
            assert_eq!(notes, []);
            let [early, plain, kinds @ .., updates] = counts.as_slice() else { panic!("{counts:?}") };
            if pair.0 == "gcc" {
                assert!(*early > 100, "gcc announces copies early: {early}");
                assert!(kinds[1] >= 16, "what a function returns is stored with a hook: {kinds:?}");
            }
            // Two bit-fields, four times; clang announces the reads itself.
            assert_eq!(*updates, if pair.0 == "gcc" { 8 } else { 0 }, "{level}");
            assert!(*plain > 50, "{plain}");
        }
    }
}

#[test]
fn semantic_inline_assembly_is_seen_and_undisturbed() {
    for pair in compilers() {
        for level in ["-O0", "-O1", "-O2"] {
            let (counts, notes) = checked(pair, level, "inline.c");
            let [_, _, loads, stores, rmw, compare, full, store, _] = counts[..] else { panic!("{counts:?}") };
            assert!(loads >= 7 && stores >= 6, "{counts:?}");
            assert_eq!((rmw, compare, full, store), (3, 2, 3, 1), "{pair:?} {level}");
            let places: Vec<_> =
                notes.iter().map(|note| (note.kind, note.place.as_ref().map(|place| place.1))).collect();
            let expected = [50, 51, 53].map(|line| (NoteKind::Assembly, Some(line)));
            assert_eq!(places, expected, "{notes:?}");
            assert!(notes.iter().all(|note| note.place.as_ref().is_some_and(|place| place.0.ends_with("inline.c"))));
        }
    }
}

/// Not its own test: in the environment that [`compiler_script`] makes, this program is the compiler.
#[test]
fn as_compiler() {
    let Ok(name) = std::env::var("MEMBAR_TEST_AS") else { return };
    let arguments = std::env::var("MEMBAR_TEST_ARGUMENTS").unwrap_or_default();
    let arguments: Vec<OsString> = arguments.split_terminator('\u{1f}').map(OsString::from).collect();
    let language = if name == "c++" { Language::Cxx } else { Language::C };
    let status = build::wrapper(language, &arguments).unwrap_or_else(|error| {
        eprintln!("{error}\n{}", error.help());
        125
    });
    std::process::exit(status);
}

/// A compiler that is [`build::wrapper`].
fn compiler_script(dir: &Path, name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let text = format!(
        "#!/bin/sh\nMEMBAR_TEST_AS={name} MEMBAR_TEST_ARGUMENTS=\"$(printf '%s\\037' \"$@\")\" exec '{}' build::as_compiler --exact \
         --nocapture -q\n",
        test.display()
    );
    let path = write(dir, &format!("membar-{}", name.replace('+', "x")), &text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    path
}

/// Runs a command with the wrappers as compilers.
fn wrapped(dir: &Path, pair: (&str, &str), command: &mut Command) -> Output {
    command
        .current_dir(dir)
        .env("CC", compiler_script(dir, "cc"))
        .env("CXX", compiler_script(dir, "c++"))
        .env("MEMBAR_CC", pair.0)
        .env("MEMBAR_CXX", pair.1);
    run(command)
}

const MAKEFILE: &str = "\
CFLAGS = -O1 -MMD -ffunction-sections
prog: main.o more.o libone.a libtwo.so
\t$(CXX) -Wl,--gc-sections main.o more.o three.c -L. -lone -ltwo -lm -Wl,-rpath,'$$ORIGIN' -pthread -o $@
more.o: more.cpp
\t$(CXX) -O1 -c more.cpp -o more.o
libone.a: one.o unused.o
\tar rcs $@ $^
\tranlib $@
libtwo.so: two.c
\t$(CC) $(CFLAGS) -fPIC -shared -o $@ two.c
";

fn project(dir: &Path) {
    write(dir, "Makefile", MAKEFILE);
    write(
        dir,
        "main.c",
        "#include <stdio.h>\nint one(void); int two(void); int more(void);\nint main(void) {\n    unsigned a;\n    \
         __asm__ volatile(\"rdtsc\" : \"=a\"(a) : : \"edx\");\n    printf(\"%d %d %d\\n\", one(), two(), more());\n    return \
         0;\n}\n",
    );
    write(dir, "one.c", "int one(void) { return 1; }\n");
    write(dir, "unused.c", "int nobody_calls_this(void) { return 1; }\n");
    write(dir, "two.c", "int shared = 2; int two(void) { return shared; }\n");
    write(dir, "three.c", "extern \"C\" int three(void) { return 3; }\n");
    write(
        dir,
        "more.cpp",
        "#include <thread>\n#include <cmath>\nextern \"C\" int three(void);\nextern \"C\" int more(void) { int r = 0; std::thread \
         t([&] { r = (int)std::sqrt(three() * 3.0); }); t.join(); return r; }\n",
    );
}

#[test]
fn make_builds_a_native_program_with_an_instrumented_one_inside() {
    for pair in compilers() {
        let dir = scratch();
        let dir = dir.path();
        project(dir);
        let output = wrapped(dir, pair, &mut Command::new("make"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!String::from_utf8_lossy(&output.stderr).contains("membar: warning"));
        let native = run(&mut Command::new(dir.join("prog")));
        assert_eq!(String::from_utf8_lossy(&native.stdout), "1 2 3\n");
        assert!(fs::read_to_string(dir.join("main.d")).expect("dependencies").starts_with("main.o: main.c"));

        let scratch = scratch();
        let built = build::build_executable(&dir.join("prog"), scratch.path()).expect("the program inside");
        assert!(built.compiler.starts_with(pair.0), "{}", built.compiler);
        let names = exported(&built.object);
        for name in ["main", "one", "two", "three", "more"] {
            assert!(names.contains(&format!(" T {name}\n")), "{name} in {names}");
        }
        assert!(!names.contains("nobody_calls_this"));
        assert_eq!(built.notes.len(), 1, "{:?}", built.notes);
        assert_eq!(built.notes[0].place, Some(("main.c".into(), 5)), "notes travel with the object");

        // A library without a section is linked, and noted.
        let plain = run(Command::new(pair.0).current_dir(dir).args(["-shared", "-fPIC", "-o", "libtwo.so", "two.c"]));
        assert!(plain.status.success());
        let built = build::build_executable(&dir.join("prog"), scratch.path()).expect("the program inside");
        assert_eq!(kinds(&built.notes, NoteKind::Library).len(), 1, "{:?}", built.notes);

        // Stripping leaves our section alone.
        assert!(run(Command::new("strip").arg(dir.join("prog"))).status.success());
        build::build_executable(&dir.join("prog"), scratch.path()).expect("the stripped program");
    }
}

#[test]
fn make_sees_the_compiler_as_it_is() {
    for pair in compilers() {
        let dir = scratch();
        let dir = dir.path();
        write(dir, "a.c", "int main(void) { return 0; }\n");
        write(dir, "bad.c", "int main(void) {\n");
        write(dir, "flags.rsp", "-c a.c \"-DX=1 2\" -o 'r s.o'");
        let cc = compiler_script(dir, "cc");
        let call = |arguments: &str| wrapped(dir, pair, Command::new(&cc).args(words(arguments)));
        let has_section = |name: &str| {
            let output = run(Command::new("readelf").args(["-SW"]).arg(dir.join(name)));
            String::from_utf8_lossy(&output.stdout).contains(".membar")
        };
        assert!(String::from_utf8_lossy(&call("--version").stdout).contains(pair.0));
        let bad = call("-c bad.c");
        assert!(bad.status.code() == Some(1) && String::from_utf8_lossy(&bad.stderr).contains("bad.c:"));
        assert_eq!(
            String::from_utf8_lossy(&bad.stderr).matches("error:").count(),
            1,
            "the second compilation is silent"
        );
        assert!(call("-c a.c").status.success() && has_section("a.o"));
        assert!(call("-O2 -flto -c a.c -o lto.o").status.success() && has_section("lto.o"));
        assert!(call("@flags.rsp").status.success() && has_section("r s.o"));
        assert!(call("-c a.c -o /dev/null").status.success());
        assert!(call("-E a.c -o a.i").status.success() && call("-S a.c").status.success());
        assert!(call("-c a.s -o s.o").status.success() && !has_section("s.o"));
        assert!(call("a.c").status.success() && has_section("a.out"));
        assert!(call("a.o -o linked").status.success() && has_section("linked"));
        let scratch = scratch();
        for program in ["a.out", "linked"] {
            build::build_executable(&dir.join(program), scratch.path()).expect(program);
        }
    }
}

#[test]
fn make_goes_on_where_instrumentation_fails() {
    for pair in compilers() {
        let dir = scratch();
        let dir = dir.path();
        // A compiler that refuses the sanitizer stands for anything that only the second compilation sees.
        let refuses = "case \" $* \" in *\" -fsanitize=thread \"*) echo no >&2; exit 1;; esac";
        let picky = write(dir, "picky", &format!("#!/bin/sh\n{refuses}\nexec {} \"$@\"\n", pair.0));
        fs::set_permissions(&picky, fs::Permissions::from_mode(0o755)).expect("permissions");
        write(dir, "a.c", "int main(void) { return 0; }\n");
        let cc = compiler_script(dir, "cc");
        let picky = picky.to_str().expect("UTF-8");
        let output = wrapped(dir, (picky, pair.1), Command::new(&cc).args(["a.c", "-o", "prog"]));
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("membar: warning: `a.c` is not instrumented"));
        assert!(run(&mut Command::new(dir.join("prog"))).status.success());
        let error = build::build_executable(&dir.join("prog"), dir).expect_err("no section");
        assert!(matches!(error, BuildError::NotInstrumented { .. }) && error.help().contains("membar cc"), "{error}");
    }
}

#[test]
#[ignore = "needs cmake"]
fn make_with_cmake() {
    for pair in compilers() {
        let dir = scratch();
        let dir = dir.path();
        project(dir);
        let lists = "cmake_minimum_required(VERSION 3.10)\nproject(p C CXX)\nadd_library(one one.c unused.c)\n\
                     add_library(two SHARED two.c)\nset_source_files_properties(three.c PROPERTIES LANGUAGE CXX)\n\
                     add_executable(prog main.c more.cpp three.c)\nfind_package(Threads)\n\
                     target_link_libraries(prog one two Threads::Threads)\n";
        write(dir, "CMakeLists.txt", lists);
        let made = wrapped(dir, pair, Command::new("cmake").args(["-S", ".", "-B", "out"]));
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let made = wrapped(dir, pair, Command::new("cmake").args(["--build", "out"]));
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let scratch = scratch();
        let built = build::build_executable(&dir.join("out/prog"), scratch.path()).expect("the program inside");
        assert!(exported(&built.object).contains(" T two"));
    }
}

#[test]
fn a_file_that_is_not_a_program_is_an_error() {
    let dir = scratch();
    let text = write(dir.path(), "text", "hello\n");
    assert!(matches!(build::build_executable(&text, dir.path()), Err(BuildError::NotElf { .. })));
    assert!(matches!(build::build_executable(&dir.path().join("no"), dir.path()), Err(BuildError::File { .. })));
    assert!(matches!(build::imports(&text), Err(BuildError::NotElf { .. })));
    for name in ["a.c", "a.cc", "a.cpp", "a.cxx", "a.C", "a.c++"] {
        assert!(build::is_source(Path::new(name)), "{name}");
    }
    for name in ["a.o", "a", "c", "a.litmus", "a.h", "a.s"] {
        assert!(!build::is_source(Path::new(name)), "{name}");
    }
}
