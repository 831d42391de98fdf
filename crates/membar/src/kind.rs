//! Guesses the kind of a file, and the command it is for.

use membar::programs::is_source;
use membar::report::{quoted_path, safe};
use membar::{Failure, Problem};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The inputs that `membar verify` takes.
const PROGRAMS: &str = "C and C++ sources (.c, .cpp, .i, …), Rust files (.rs), litmus tests (.litmus), programs built with `membar cc`, directories, and @lists of them";

/// Formats of compressed files that are not read (gzip and zstd are), by their first bytes, and the program that reads them.
const COMPRESSED: &[(&[u8], &str)] =
    &[(b"\xfd7zXZ\0", "xz"), (b"BZh", "bzip2"), (b"\x04\x22\x4d\x18", "lz4"), (b"PK\x03\x04", "unzip -p")];

fn begins(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Only a file has to be asked: a pipe would lose what is read here.
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        let _ = file.take(64).read_to_end(&mut bytes);
    }
    bytes
}

fn failure(path: &Path, message: &str, help: &str) -> Option<Failure> {
    Some(Problem::failure(&path.to_string_lossy(), 0, message, help))
}

/// Why a file is not a trace, if that shows.
pub fn not_a_trace(path: &Path) -> Option<Failure> {
    let name = quoted_path(&path.to_string_lossy());
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if let Some((_, tool)) = COMPRESSED.iter().find(|(magic, _)| begins(path).starts_with(magic)) {
        let tool = if tool.contains(' ') { (*tool).to_owned() } else { format!("{tool} -dc") };
        return failure(
            path,
            "this is compressed in a format that membar does not support",
            &format!("{tool} {name} | membar check -"),
        );
    }
    match ending {
        "litmus" => {
            let help = format!(
                "all its final states: membar litmus {name}; is it sequentially consistent: membar verify {name}"
            );
            failure(path, "this is a litmus test, not a recorded execution", &help)
        }
        _ if is_source(path) => failure(
            path,
            "this is a program, not a recorded execution",
            &format!("explore its executions: membar verify {name}"),
        ),
        _ => None,
    }
}

/// Why a file is nothing that can be verified, if that shows.
pub fn not_a_program(path: &Path) -> Option<Failure> {
    let name = quoted_path(&path.to_string_lossy());
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let kinds = format!("what can be verified: {PROGRAMS}");
    if path.as_os_str() == "-" {
        return None;
    }
    if !path.exists() {
        return failure(path, "there is no such file", &kinds);
    }
    if is_source(path) && !path.is_file() && !path.is_dir() {
        // Reading it may never end.
        return failure(path, "this is a pipe or a device, not a source file", "copy the source to a file");
    }
    match ending {
        "h" | "hpp" | "hh" | "hxx" => failure(path, "this is a header", "give the sources that include it"),
        "trace" | "axe" => {
            failure(path, "this is a recorded execution, not a program", &format!("is it allowed: membar check {name}"))
        }
        "go" | "java" | "py" | "js" | "ts" | "zig" | "s" | "S" | "asm" | "ll" | "bc" | "json" | "txt" | "md"
        | "toml" => failure(path, &format!("a .{} file cannot be verified", safe(ending)), &kinds),
        _ => None,
    }
}

/// Why text from standard input is not a litmus test, if it looks like something else.
pub fn not_a_litmus_test(text: &[u8]) -> Option<Failure> {
    let text = text.trim_ascii_start();
    let looks = [&b"#include"[..], b"#define", b"//", b"/*", b"int ", b"static ", b"extern ", b"void ", b"typedef "];
    if !looks.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let help = "a C or C++ program has to be in a file, whose name says which it is: membar verify FILE.c";
    failure(Path::new("<stdin>"), "standard input is read as a litmus test, and this looks like a program", help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unsupported_files_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let refused = |name: &str, bytes: &[u8], why: fn(&Path) -> Option<Failure>| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            why(&path).is_some()
        };
        for (name, bytes, expected) in [
            ("a.trace", &b"0: x := 1\ncheck\n"[..], false),
            ("a.trace.gz", b"\x1f\x8b\x08", false),
            ("a.trace.zst", b"\x28\xb5\x2f\xfd\x04", false),
            ("a.trace.xz", b"\xfd7zXZ\0\0", true),
            ("a.c", b"int main;", true),
            ("a.litmus", b"X86 a", true),
            ("empty", b"", false),
        ] {
            assert_eq!(refused(name, bytes, not_a_trace), expected, "{name}");
        }
        for (name, expected) in
            [("a.c", false), ("a.i", false), ("a.litmus", false), ("a", false), ("a.rs", false), ("a.h", true)]
        {
            assert_eq!(refused(name, b"", not_a_program), expected, "{name}");
        }
        let device = dir.path().join("device.c");
        std::os::unix::fs::symlink("/dev/null", &device).expect("linked");
        assert!(not_a_program(&device).is_some());
        assert!(not_a_program(Path::new("-")).is_none() && not_a_program(&dir.path().join("missing.c")).is_some());
        assert!(not_a_litmus_test(b"\n#include <stdio.h>").is_some() && not_a_litmus_test(b"X86 SB\n").is_none());
    }
}
