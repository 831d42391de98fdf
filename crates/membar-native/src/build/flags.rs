//! The user's command line, sorted: flags for the compiler, for the linker, and those that would break the build.
//!
//! Problem: the program is compiled once to instrumented assembly, assembled, and linked into a shared object. Flags that
//! ask for something else, such as a static program or link-time optimisation, must not reach the compiler.
//!
//! Algorithm: one pass. The table of flags that take the next word decides what belongs together; each flag then goes to
//! compiler, assembler, linker, several of them, or is left out with the reason.
//!
//! Guarantees: no flag is left out without a note, but for those that only say what is built anyway (`-c`, `-o`).

use super::{Language, Note, NoteKind};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command line, sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorted {
    /// For the compiler proper.
    pub(super) compile: Vec<OsString>,
    /// For the assembler.
    pub(super) assemble: Vec<OsString>,
    /// For the linker, files in between in their order.
    pub(super) link: Vec<OsString>,
    /// Sources, with the language that `-x` gives them.
    pub(super) sources: Vec<(PathBuf, Option<Language>)>,
    /// The last language that `-x` gave.
    pub(super) language: Option<Language>,
    /// About flags that were left out.
    pub(super) notes: Vec<Note>,
}

/// Flags whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "--sysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xclang",
    "-Xpreprocessor",
    "-Xassembler",
    "-mllvm",
    "--param",
    "-T",
    "-u",
    "-z",
    "-e",
    "-B",
    "-target",
    "--target",
    "-arch",
    "-aux-info",
    "-dumpbase",
    "-dumpdir",
    "-dumpbase-ext",
    "-wrapper",
    "-specs",
    "-A",
    "-F",
    "-framework",
    "-h",
    "-G",
    "-gcc-toolchain",
    "-resource-dir",
    "-ivfsoverlay",
    "-fplugin",
    "-Xarch_host",
];

/// Whether a flag's value is the next word.
pub(super) fn takes_value(flag: &str) -> bool {
    WITH_VALUE.contains(&flag)
}

/// Where a flag goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goes {
    Compiler,
    Linker,
    Both,
    Assembler,
    /// We do that ourselves.
    Nowhere,
    Dropped(&'static str),
}

const STATIC: &str = "the program is built as a shared object";
const OTHER_OUTPUT: &str = "it asks for another output";
const DEBUG: &str = "membar needs the debug information in the program";
const SANITIZER: &str = "membar has its own instrumentation";
const FRAMES: &str = "membar needs the frame pointers and the calls as they are written";

fn goes(flag: &str) -> Goes {
    match flag {
        "-c" | "-o" | "-pipe" | "-fPIC" | "-fpic" | "-shared" | "-g" => Goes::Nowhere,
        "-S" | "-E" | "-fsyntax-only" | "-r" | "-emit-llvm" | "-###" => Goes::Dropped(OTHER_OUTPUT),
        "-static" | "-static-pie" | "-pie" | "-no-pie" | "-nopie" | "-fPIE" | "-fpie" | "-fno-PIE" | "-fno-pie"
        | "-fno-PIC" | "-fno-pic" | "-mcmodel=large" | "-mcmodel=medium" | "-mcmodel=kernel" | "-nostdlib"
        | "-nostartfiles" | "-nodefaultlibs" | "-nolibc" | "-fsplit-stack" | "-fwhole-program" => Goes::Dropped(STATIC),
        "-Wl,-static" | "-Wl,-pie" | "-Wl,--pie" | "-Wl,-no-pie" | "-Wl,-r" => Goes::Dropped(STATIC),
        "-s" | "-g0" | "-gsplit-dwarf" | "-Wl,-s" | "-Wl,-S" | "-Wl,--strip-all" | "-Wl,--strip-debug" => {
            Goes::Dropped(DEBUG)
        }
        "-fomit-frame-pointer"
        | "-momit-leaf-frame-pointer"
        | "-foptimize-sibling-calls"
        | "-fno-plt"
        | "-pg"
        | "-p"
        | "-finstrument-functions" => Goes::Dropped(FRAMES),
        "--coverage" | "-fprofile-arcs" | "-ftest-coverage" => Goes::Dropped(SANITIZER),
        "-save-temps" | "-M" | "-MM" | "-MD" | "-MMD" | "-MP" | "-MG" | "-MF" | "-MT" | "-MQ" => Goes::Nowhere,
        "-Xlinker" | "-T" | "-u" | "-z" | "-e" | "-L" | "-l" | "-rdynamic" | "-h" | "-static-libgcc"
        | "-static-libstdc++" | "-shared-libgcc" => Goes::Linker,
        "-Xassembler" => Goes::Assembler,
        "-pthread" | "-B" | "--sysroot" | "-isysroot" | "-target" | "--target" | "-m64" | "-m32" | "-mx32"
        | "-fopenmp" => Goes::Both,
        _ if flag.starts_with("-flto") || flag.starts_with("-ffat-lto") || flag.starts_with("-fuse-linker-plugin") => {
            Goes::Dropped("the compiler must write assembly")
        }
        _ if flag.starts_with("-fsanitize") || flag.starts_with("-fprofile-") => Goes::Dropped(SANITIZER),
        _ if flag.starts_with("-gz") => Goes::Dropped(DEBUG),
        _ if flag.starts_with("-save-temps=") || flag.starts_with("-Wp,-M") => Goes::Nowhere,
        _ if flag.contains("_FORTIFY_SOURCE") && !flag.contains("-U_") => {
            Goes::Dropped("its checked functions are not those that membar sees")
        }
        _ if flag.starts_with("-ftls-model=") => Goes::Dropped("membar gives each thread its thread-local variables"),
        "-fuse-ld=gold" | "-fuse-ld=mold" => Goes::Dropped("membar needs GNU ld or lld"),
        _ if flag.starts_with("-fuse-ld=") || flag.starts_with("--ld-path=") => Goes::Linker,
        _ if flag.starts_with("-Wl,") || flag.starts_with("-l") || flag.starts_with("-L") => Goes::Linker,
        _ if flag.starts_with("-Wa,") => Goes::Assembler,
        _ if flag.starts_with("--sysroot=") || flag.starts_with("--target=") || flag.starts_with("-stdlib=") => {
            Goes::Both
        }
        _ if flag.starts_with("-B") || flag.starts_with("--gcc-toolchain=") => Goes::Both,
        _ => Goes::Compiler,
    }
}

/// The language that `-x` names; None for `none`, and for what is neither C nor C++.
fn named_language(name: &str) -> Option<Language> {
    match name {
        "c" | "cpp-output" => Some(Language::C),
        "c++" | "c++-cpp-output" => Some(Language::Cxx),
        _ => None,
    }
}

/// Sorts a command line.
pub(super) fn sort(arguments: &[OsString]) -> Sorted {
    let mut sorted = Sorted::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if !text.starts_with('-') || text == "-" {
            let source = sorted.language.is_some() || Language::of(Path::new(word)).is_some();
            if source {
                sorted.sources.push((PathBuf::from(word), sorted.language));
            } else {
                sorted.link.push(word.clone());
            }
            continue;
        }
        let value = if takes_value(&text) { words.next() } else { None };
        let joined_language = text.strip_prefix("-x").filter(|name| !name.is_empty());
        if let Some(name) = joined_language.map(str::to_owned).or_else(|| {
            (text == "-x").then(|| value.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default())
        }) {
            sorted.language = named_language(&name);
            continue;
        }
        let both = [Some(word), value].into_iter().flatten();
        // `-D X` is as good as `-DX` for what we look for.
        let looked_up = match (&*text, value) {
            ("-D", Some(value)) => format!("-D{}", value.to_string_lossy()),
            _ if text.starts_with("-o") => "-o".into(),
            _ => text.clone().into_owned(),
        };
        match goes(&looked_up) {
            Goes::Compiler => sorted.compile.extend(both.cloned()),
            Goes::Linker => sorted.link.extend(both.cloned()),
            Goes::Assembler => sorted.assemble.extend(both.cloned()),
            Goes::Both => {
                sorted.compile.extend(both.clone().cloned());
                sorted.link.extend(both.cloned());
            }
            Goes::Nowhere => {}
            Goes::Dropped(why) => {
                let shown = both.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
                let what = format!("`{shown}` was left out: {why}");
                sorted.notes.push(Note { kind: NoteKind::Flag, what, place: None });
            }
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn each_flag_goes_where_it_belongs() {
        let sorted =
            sort(&words("-O2 -I inc -DN=3 -lfoo -L lib b.o x.a -Wl,-rpath,/y -pthread -c -o out -MF d -Wa,-a a.c"));
        assert_eq!(sorted.compile, words("-O2 -I inc -DN=3 -pthread"));
        assert_eq!(sorted.link, words("-lfoo -L lib b.o x.a -Wl,-rpath,/y -pthread"));
        assert_eq!(sorted.assemble, words("-Wa,-a"));
        assert_eq!(sorted.sources, [(PathBuf::from("a.c"), None)]);
        assert!(sorted.notes.is_empty());
    }

    #[test]
    fn flags_that_would_break_the_build_are_left_out_and_reported() {
        for flag in [
            "-static",
            "-flto",
            "-flto=auto",
            "-fPIE",
            "-pie",
            "-no-pie",
            "-fsanitize=address",
            "-S",
            "-E",
            "-s",
            "-fomit-frame-pointer",
            "-D_FORTIFY_SOURCE=2",
            "-D _FORTIFY_SOURCE=2",
            "-Wp,-D_FORTIFY_SOURCE=3",
            "-g0",
            "-fno-plt",
        ] {
            let sorted = sort(&words(flag));
            assert_eq!((sorted.compile.len(), sorted.link.len(), sorted.notes.len()), (0, 0, 1), "{flag}");
            assert!(sorted.notes[0].what.contains(flag), "{:?}", sorted.notes);
        }
    }

    #[test]
    fn a_language_holds_until_the_next() {
        let sorted = sort(&words("-x c++ a.inc -x none b.c c.o"));
        let expected = [(PathBuf::from("a.inc"), Some(Language::Cxx)), (PathBuf::from("b.c"), None)];
        assert_eq!(sorted.sources, expected);
        assert_eq!(sorted.link, words("c.o"));
    }
}
