//! `membar gen`: its output can be compiled, run, read back and checked.

use crate::common;

use common::{Files, run, run_with};
use std::process::Command;

fn compiler() -> &'static str {
    let found = ["cc", "gcc", "clang"].into_iter().find(|cc| Command::new(cc).arg("--version").output().is_ok());
    found.expect("a C compiler")
}

#[test]
#[cfg(unix)]
fn c_programs_compile_run_and_print_traces() {
    let cc = compiler();
    let files = Files::new(&[]);
    for (profile, more, runs) in [
        ("default", &[][..], "20"),
        ("atomics", &["--threads", "3", "--operations", "200"], "50"),
        ("locks", &["--operations", "150"], "20"),
        ("fences", &["--threads", "2", "--operations", "100"], "200"),
        ("false-sharing", &["--threads", "1", "--addresses", "1", "--operations", "5"], "3"),
    ] {
        let source = format!("{profile}.c");
        let args = [&["gen", "--as", "c", "--profile", profile, "--seed", "5", "-o", &source], more].concat();
        let ran = files.run(&args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let built = Command::new(cc)
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", &source, "-o", profile])
            .current_dir(files.0.path())
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let output = Command::new(files.path(profile)).arg(runs).output().unwrap();
        assert!(output.status.success());
        if cfg!(target_arch = "x86_64") {
            let checked = run_with(&["check", "-", "--model", "tso", "--format", "axe"], &output.stdout);
            assert_eq!(checked.code, 0, "{profile}: {}", checked.err);
            assert_eq!(checked.out, "OK\n".repeat(runs.parse().unwrap()), "{profile}");
        }
        // The output is the program: the same threads, operations and constants.
        let text = String::from_utf8(output.stdout).unwrap();
        let program = run(&[&["gen", "--as", "text", "--profile", profile, "--seed", "5"], more].concat()).out;
        let shape = |line: &str| -> String {
            let line = line.replace(['{', '}'], "");
            let words = line.split("; ").last().unwrap_or_default();
            let (thread, rest) = line.split_once(": ").unwrap();
            let kind = if rest.contains("==") { rest.split("==").next().unwrap().trim() } else { words };
            format!("{thread} {}", kind.trim().trim_start_matches(&format!("{thread}: ")))
        };
        let first: Vec<String> = text.lines().take_while(|line| *line != "check").map(shape).collect();
        let wanted: Vec<String> =
            program.lines().filter(|line| !line.starts_with('#') && !line.contains("# wait")).map(shape).collect();
        assert_eq!(first, wanted, "{profile}");
    }
}

/// Every outcome of a machine is among those that its model allows, once the test is read back.
#[test]
fn litmus_tests_read_back() {
    let files = Files::new(&[]);
    for machine in ["sc", "tso", "pso"] {
        for (profile, seed) in [("default", 1), ("atomics", 2), ("fences", 3), ("producer-consumer", 4), ("hot", 5)] {
            let name = format!("{profile}-{seed}.litmus");
            let ran = files.run(&[
                "gen",
                "--as",
                "litmus",
                "--profile",
                profile,
                "--threads",
                "2",
                "--operations",
                "4",
                "--addresses",
                "2",
                "--locks",
                "0",
                "--machine",
                machine,
                "--seed",
                &seed.to_string(),
                "-o",
                &name,
            ]);
            assert_eq!((ran.code, ran.err.as_str()), (0, ""));
            let states = files.run(&["litmus", "--model", machine, &name]);
            assert_eq!(states.code, 0, "{}", states.err);
            let holds = states.out.contains("Sometimes") || states.out.contains("Always");
            assert!(holds, "{machine} {profile}: {}", states.out);
        }
    }
}

#[test]
fn traces_are_those_of_simulate() {
    let traces = run(&["gen", "--as", "trace", "--machine", "mesi-tso", "--count", "4", "--operations", "200"]);
    let checked = run_with(&["check", "-", "--format", "axe"], traces.out.as_bytes());
    assert_eq!((checked.code, checked.out.as_str()), (0, "OK\nOK\nOK\nOK\n"));
    let deep = ["gen", "--as", "trace", "--machine", "tso", "--buffer", "64", "--drain", "50", "--operations", "200"];
    let deep = run(&deep);
    assert!(deep.out.starts_with("# membar gen --as trace --profile default --operations 200"), "{}", deep.out);
    assert!(deep.out.lines().next().unwrap().contains("--machine tso+buffer=64+drain=50"), "{}", deep.out);
    assert_eq!(run_with(&["check", "-", "--format", "axe"], deep.out.as_bytes()).out, "OK\n");
    let timed = run(&[
        "gen",
        "--as",
        "trace",
        "--machine",
        "godson-t+stale-region",
        "--profile",
        "locks",
        "--timestamps",
        "exact",
    ]);
    assert!(timed.out.contains(" @ "));
    let files = Files::new(&[("t", timed.out.as_bytes())]);
    let by_hand = files.run(&["check", "t", "--model", "scope", "--clock", "global"]).code;
    let simulated = files.run(&[
        "simulate",
        "--machine",
        "godson-t",
        "--bug",
        "stale-region",
        "--profile",
        "locks",
        "--tests",
        "1",
    ]);
    assert_eq!(by_hand, simulated.code);
    if simulated.code == 1 {
        let kept = files.path("membar-violations/godson-t+stale-region-locks-1/trace.trace");
        let body =
            |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(body(&timed.out), body(&std::fs::read_to_string(kept).unwrap()));
    }
}

#[test]
fn where_it_is_written() {
    let files = Files::new(&[]);
    let ran = files.run(&["gen", "--as", "c", "--count", "3", "--seed", "8", "--profile", "hot", "-o", "tests/"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    for seed in 8..11 {
        assert!(files.path(&format!("tests/hot-{seed}.c")).is_file());
    }
    files.run(&["gen", "--as", "trace", "--count", "3", "-o", "all.trace"]);
    assert_eq!(files.run(&["check", "all.trace", "--format", "axe"]).out, "OK\nOK\nOK\n");
    for (args, says) in [
        (&["gen", "--as", "c", "--count", "2"][..], "give a directory: `-o tests/`"),
        (&["gen", "--as", "litmus"], "a litmus test at most 64"),
        (&["gen", "--as", "litmus", "--profile", "locks", "--operations", "10"], "`--locks 0` leaves them out"),
        (&["gen", "--as", "c", "--operations", "100000"], "a C file at most 100000"),
        (&["gen", "--as", "trace", "--machine", "tos"], "did you mean `tso`?"),
        (&["gen", "--as", "text", "--profile", "papre"], "did you mean `paper`?"),
        (&["gen", "--as", "text", "-o", "no/such/file"], "cannot write no/such/file"),
        (&["gen"], "--as <KIND>"),
    ] {
        let ran = files.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.out);
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
}

/// Assembles programs for another processor, runs them in an emulator, and checks what they print.
fn assembled(kind: &str, compiler: &str, emulator: &str, model: &str, profiles: &[&str]) {
    for tool in [compiler, emulator] {
        assert!(
            Command::new(tool).arg("--version").output().is_ok(),
            "{tool} is missing: Debian has it in gcc-riscv64-linux-gnu, gcc-aarch64-linux-gnu and qemu-user"
        );
    }
    let files = Files::new(&[]);
    for (seed, profile) in (1..).zip(profiles) {
        let seed = seed.to_string();
        let ran = files.run(&[
            "gen",
            "--as",
            kind,
            "--profile",
            profile,
            "--seed",
            &seed,
            "--operations",
            "150",
            "--locks",
            "0",
            "-o",
            "test.S",
        ]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let built = Command::new(compiler)
            .args(["-static", "-pthread", "test.S", "-o", "test"])
            .current_dir(files.0.path())
            .output()
            .unwrap();
        assert!(built.status.success(), "{profile}: {}", String::from_utf8_lossy(&built.stderr));
        // Without a main it assembles too.
        let bare = Command::new(compiler)
            .args(["-DMEMBAR_BARE", "-c", "test.S", "-o", "bare.o"])
            .current_dir(files.0.path())
            .output()
            .unwrap();
        assert!(bare.status.success(), "{profile}: {}", String::from_utf8_lossy(&bare.stderr));
        let output = Command::new(emulator).arg(files.path("test")).arg("10").output().unwrap();
        assert!(output.status.success(), "{profile}: {:?}", output.status);
        let checked = run_with(&["check", "-", "--model", model, "--format", "axe"], &output.stdout);
        assert_eq!(checked.code, 0, "{profile}: {}", checked.err);
        assert_eq!(checked.out, "OK\n".repeat(10), "{profile}");
        let text = String::from_utf8(output.stdout).unwrap();
        let operations =
            run(&["gen", "--as", "text", "--profile", profile, "--seed", &seed, "--operations", "150", "--locks", "0"]);
        let counts = |line: &&str| !line.starts_with(['#', 'i']) && !line.contains("# wait");
        let lines = operations.out.lines().filter(counts).count();
        assert_eq!(text.lines().take_while(|line| *line != "check").count(), lines, "{profile}");
        if *profile == "riscv" || *profile == "arm" {
            for word in ["addr(", "data(", "ctrl(", "lr ", "sc ", " aq", " rl"] {
                assert!(text.contains(word), "{profile}: no {word}");
            }
        }
    }
}

#[test]
#[ignore = "needs gcc-riscv64-linux-gnu and qemu-user"]
fn riscv_assembly_runs_and_prints_traces() {
    assembled(
        "riscv-asm",
        "riscv64-linux-gnu-gcc",
        "qemu-riscv64",
        "rvwmo",
        &["riscv", "atomics", "fences", "hot", "arm", "sizes"],
    );
}

#[test]
#[ignore = "needs gcc-aarch64-linux-gnu and qemu-user"]
fn aarch64_assembly_runs_and_prints_traces() {
    assembled(
        "aarch64-asm",
        "aarch64-linux-gnu-gcc",
        "qemu-aarch64",
        "armv8",
        &["arm", "atomics", "fences", "hot", "riscv", "sizes"],
    );
}

#[test]
fn assembly_has_no_locks() {
    let ran = run(&["gen", "--as", "riscv-asm", "--profile", "locks"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("give --locks 0"), "{}", ran.err);
    let ran = run(&["gen", "--as", "aarch64-asm", "--operations", "5"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("membar_thread_3:"), "{}", ran.out);
}
