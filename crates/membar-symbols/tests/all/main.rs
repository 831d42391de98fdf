//! Names and lines of real programs, compiled by the compilers of this machine.
//!
//! The programs in `tests/symbols/` print addresses together with what they should be called, so that expectations
//! stand next to the source they are about. Each is built by gcc and clang, with and without optimisation, with
//! DWARF 4 and 5.

use membar_symbols::{Frame, Scalar, SymbolError, Symbols, source_line};
use object::{Object, ObjectSymbol};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const COMPILERS: [(&str, &str); 2] = [("gcc", "g++"), ("clang", "clang++")];
const FLAGS: [&[&str]; 4] =
    [&["-O0", "-gdwarf-5"], &["-O2", "-gdwarf-5"], &["-O0", "-gdwarf-4"], &["-O2", "-gdwarf-4"]];

fn have(compiler: &str) -> bool {
    let found = Command::new(compiler).arg("--version").output().is_ok_and(|run| run.status.success());
    if !found {
        eprintln!("SKIPPED: {compiler} is not installed");
    }
    found
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/symbols").join(name)
}

/// Compiles a file and checks that it worked. The compiler runs in `dir`.
fn compile(compiler: &str, flags: &[&str], file: &Path, dir: &Path) -> PathBuf {
    let out = dir.join("out");
    let run = Command::new(compiler)
        .current_dir(dir)
        .args(flags)
        .arg("-w")
        .args(if compiler.ends_with("++") { &["-std=c++17"][..] } else { &[] })
        .arg(file)
        .arg("-o")
        .arg(&out)
        .arg("-pthread")
        .output()
        .unwrap();
    assert!(run.status.success(), "{compiler} {flags:?}\n{}", String::from_utf8_lossy(&run.stderr));
    out
}

/// Every combination of compiler and flags that is here, for a C or a C++ file.
fn everywhere(cpp: bool, more: &[&str], mut test: impl FnMut(&str, &dyn Fn(&Path, &Path) -> PathBuf)) {
    let mut tried = 0;
    for (c, cxx) in COMPILERS {
        let compiler = if cpp { cxx } else { c };
        if !have(compiler) {
            continue;
        }
        for flags in FLAGS {
            let flags: Vec<&str> = flags.iter().chain(more).copied().collect();
            let what = format!("{compiler} {}", flags.join(" "));
            test(&what, &|file, dir| compile(compiler, &flags, file, dir));
            tried += 1;
        }
    }
    assert!(tried > 0, "no compiler");
}

/// The addresses and sizes of the ELF symbol table.
fn elf(object: &Path) -> BTreeMap<String, (u64, u32)> {
    let bytes = fs::read(object).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbols = file.symbols().filter(|symbol| !symbol.is_undefined());
    symbols.map(|symbol| (symbol.name().unwrap().to_owned(), (symbol.address(), symbol.size() as u32))).collect()
}

/// Asks about every line that a program printed. Gives how many questions of each kind there were.
fn answers(what: &str, object: &Path, file: &str) -> BTreeMap<String, usize> {
    let run = Command::new(object).output().unwrap();
    assert!(run.status.success(), "{what}: {run:?}");
    let symbols = Symbols::load(object).unwrap();
    let mut asked = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in String::from_utf8(run.stdout).unwrap().lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        let want = |at: usize| words[at..].join(" ");
        let (got, want) = match words[0] {
            "variable" => (symbols.variable(number(1), number(2) as u32).map(|named| named.name), want(3)),
            "local" => {
                let named = symbols.local(number(1), number(2), number(3), number(4) as u32);
                (named.map(|named| named.name), want(5))
            }
            "heap" => {
                let found = symbols.heap(number(1), number(2), number(3), number(4) as u32);
                (found.map(|(ty, named)| format!("{ty} {}", named.name)), want(5))
            }
            "stack" => {
                let stack: Vec<u64> = words[1].split(',').map(|pc| pc.parse().unwrap()).collect();
                let pc = symbols.user_pc(&stack).unwrap();
                let found = symbols.heap(pc, number(2), number(3), number(4) as u32);
                (found.map(|(ty, named)| format!("{ty} {}", named.name)), want(5))
            }
            "place" => {
                let frame = symbols.user_place(&[number(1)]).unwrap();
                let got = format!("{} {} {}", frame.function, Path::new(&frame.file).ends_with(file), frame.line);
                (Some(got), format!("{} true {}", want(3), words[2]))
            }
            _ => panic!("{line}"),
        };
        *asked.entry(words[0].to_owned()).or_default() += 1;
        if got.as_deref().unwrap_or("-") != want {
            wrong.push(format!("{line}\n    got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
    asked
}

#[test]
fn everything_in_a_c_program_has_its_name() {
    everywhere(false, &["-pie", "-fPIE"], |what, compile| {
        let dir = TempDir::new().unwrap();
        let asked = answers(what, &compile(&source("program.c"), dir.path()), "program.c");
        assert_eq!(asked["variable"], 34, "{what}");
        assert_eq!((asked["local"], asked["heap"], asked["place"]), (5, 8, 3), "{what}");
    });
}

#[test]
fn everything_in_a_cpp_program_has_its_name() {
    everywhere(true, &["-pie", "-fPIE"], |what, compile| {
        let dir = TempDir::new().unwrap();
        let asked = answers(what, &compile(&source("program.cpp"), dir.path()), "program.cpp");
        assert_eq!(asked["variable"], 22, "{what}");
        assert_eq!((asked["local"], asked["heap"], asked["place"]), (3, 3, 4), "{what}");
        assert_eq!(asked["stack"], 1, "{what}");
    });
}

#[test]
fn shared_objects_are_asked_by_their_symbol_table() {
    everywhere(false, &["-shared", "-fPIC"], |what, compile| {
        let dir = TempDir::new().unwrap();
        let object = compile(&source("program.c"), dir.path());
        let (symbols, elf) = (Symbols::load(&object).unwrap(), elf(&object));
        let at = |name: &str| elf.get(name).unwrap_or_else(|| panic!("{what}: {name}")).0;
        let named = |at, size| symbols.variable(at, size).unwrap_or_else(|| panic!("{what}"));
        assert_eq!(named(at("flag") + 4, 4).name, "flag[1]", "{what}");
        assert_eq!(named(at("flag") + 4, 4).ty, Scalar::Signed, "{what}");
        assert_eq!(named(at("ready"), 1).ty, Scalar::Bool, "{what}");
        assert_eq!(named(at("buffer"), 1).ty, Scalar::Char, "{what}");
        assert_eq!(named(at("byte"), 1).ty, Scalar::Unsigned, "{what}");
        assert_eq!(named(at("ratio"), 8).ty, Scalar::Float, "{what}");
        assert_eq!(named(at("counter"), 4).ty, Scalar::Signed, "{what}");
        assert_eq!(named(at("shared"), 8).ty, Scalar::Pointer { to: "node".into() }, "{what}");
        assert_eq!(named(at("flag"), 8).ty, Scalar::Unknown, "{what}");
        assert_eq!(named(at("mode"), 4).ty.show(0xffff_ffff, 4), "BROKEN", "{what}");
        assert_eq!(named(at("mode"), 4).ty.show(5, 4), "BUSY", "{what}");
        let thread_local = |at, size| symbols.thread_local(at, size).map(|named| named.name);
        assert_eq!(thread_local(at("mine") + 4, 4).as_deref(), Some("mine[1]"), "{what}");
        assert_eq!(thread_local(at("hidden") + 8, 4).as_deref(), Some("hidden.key"), "{what}");
        assert_eq!(symbols.variable(0, 4), None);
        assert_eq!(symbols.variable(u64::MAX, 8), None);
    });
    everywhere(true, &["-shared", "-fPIC"], |what, compile| {
        let dir = TempDir::new().unwrap();
        let object = compile(&source("program.cpp"), dir.path());
        let (symbols, elf) = (Symbols::load(&object).unwrap(), elf(&object));
        let named = symbols.thread_local(elf["mine"].0, 8).unwrap();
        assert_eq!((named.name.as_str(), named.ty), ("mine", Scalar::Signed), "{what}");
        let named = symbols.variable(elf["_ZN2ns5paintE"].0, 1).unwrap();
        assert_eq!((named.name.as_str(), named.ty.show(1, 1).as_str()), ("ns::paint", "green"), "{what}");
        let named = symbols.variable(elf["head"].0, 8).unwrap();
        assert_eq!(named.ty, Scalar::Pointer { to: "ns::item".into() }, "{what}");
        assert_eq!(symbols.variable(elf["alias"].0, 8).unwrap().name, "alias", "{what}");
    });
}

/// Every frame that a function's code has.
fn frames(symbols: &Symbols, (start, size): (u64, u32)) -> Vec<Vec<Frame>> {
    (start + 1..=start + u64::from(size)).map(|pc| symbols.place(pc)).collect()
}

#[test]
fn a_call_into_a_header_is_a_place_in_the_users_file() {
    let text = "#include <atomic>\nstd::atomic<int> x;\n\nvoid set() {\n    x.store(1);\n}\n";
    everywhere(true, &["-shared", "-fPIC"], |what, compile| {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("set.cpp"), text).unwrap();
        let object = compile(Path::new("set.cpp"), dir.path());
        let (symbols, elf) = (Symbols::load(&object).unwrap(), elf(&object));
        let mut inlined = false;
        for stack in frames(&symbols, elf["_Z3setv"]) {
            // The user's frame is the outermost, and has the path that the compiler was given.
            let outermost = stack.last().unwrap();
            assert_eq!((outermost.function.as_str(), outermost.file.as_str()), ("set", "set.cpp"), "{what}");
            assert!((4..=6).contains(&outermost.line), "{what} {outermost:?}");
            if stack.len() > 1 {
                inlined = true;
                assert!(stack[0].file.starts_with("/usr/include/c++/"), "{what} {stack:?}");
                assert_eq!(outermost.line, 5);
            }
        }
        assert!(inlined || what.contains("-O0"), "{what}");
        // Not inlined: the header's function is its own frame, and the caller the next one.
        if let Some((_, store)) = elf.iter().find(|(name, _)| name.contains("atomic") && name.contains("store")) {
            let inside = frames(&symbols, *store);
            assert!(inside[0].iter().all(|frame| !symbols.is_user_file(&frame.file)), "{what} {inside:?}");
            assert_eq!(symbols.user_frame(store.0 + 1), None, "{what}");
            let caller = elf["_Z3setv"].0 + 1;
            assert_eq!(symbols.user_place(&[store.0 + 1, caller]).unwrap().function, "set", "{what}");
        }
        assert_eq!(symbols.source_line("set.cpp", 5).as_deref(), Some("x.store(1);"), "{what}");
        assert_eq!(symbols.user_place(&[]), None);
    });
}

#[test]
fn inlined_calls_are_frames_innermost_first() {
    everywhere(false, &["-shared", "-fPIC"], |what, compile| {
        let dir = TempDir::new().unwrap();
        let object = compile(&source("program.c"), dir.path());
        let symbols = Symbols::load(&object).unwrap();
        let worker = elf(&object)["worker"];
        let stacks = frames(&symbols, worker);
        let inlined = stacks.iter().find(|stack| stack.len() == 2).unwrap_or_else(|| panic!("{what}"));
        let functions: Vec<&str> = inlined.iter().map(|frame| frame.function.as_str()).collect();
        assert_eq!(functions, ["inner", "worker"], "{what}");
    });
}

#[test]
fn without_debug_information_the_symbol_table_answers() {
    let dir = TempDir::new().unwrap();
    if !have("g++") {
        return;
    }
    let text = "namespace ns { int flag[2]; long one; int f() { return flag[1]; } }\nthread_local int mine;\n";
    fs::write(dir.path().join("a.cpp"), text).unwrap();
    let object = compile("g++", &["-shared", "-fPIC"], Path::new("a.cpp"), dir.path());
    let (symbols, elf) = (Symbols::load(&object).unwrap(), elf(&object));
    let flag = elf["_ZN2ns4flagE"].0;
    let name = |at, size| symbols.variable(at, size).map(|named| named.name);
    assert_eq!(name(flag, 4).as_deref(), Some("ns::flag"));
    assert_eq!(name(flag + 4, 4).as_deref(), Some("ns::flag+4"));
    assert_eq!(symbols.variable(elf["_ZN2ns3oneE"].0, 8).unwrap().ty, Scalar::Unsigned);
    assert_eq!(symbols.thread_local(elf["mine"].0, 4).unwrap().name, "mine");
    let place = symbols.place(elf["_ZN2ns1fEv"].0 + 3);
    assert_eq!(place, [Frame { function: "ns::f".into(), file: String::new(), line: 0, column: 0 }]);
    assert_eq!(symbols.user_frame(elf["_ZN2ns1fEv"].0 + 3), None);
    assert_eq!(symbols.local(elf["_ZN2ns1fEv"].0 + 3, 0x7000, 0x7000, 4), None);
    assert_eq!(symbols.heap(elf["_ZN2ns1fEv"].0 + 3, 16, 0, 4), None);
}

#[test]
fn symbols_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Symbols>();
}

#[test]
fn a_file_that_is_not_an_object_is_an_error() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("a");
    assert!(matches!(Symbols::load(&file), Err(SymbolError::Read { .. })));
    assert!(matches!(Symbols::load(dir.path()), Err(SymbolError::Read { .. })));
    for bytes in [&b""[..], b"\x7fELF", b"int main() {}", &[0xff; 4096]] {
        fs::write(&file, bytes).unwrap();
        assert!(matches!(Symbols::load(&file), Err(SymbolError::Format { .. })));
    }
}

#[test]
fn names_in_two_files_of_one_program() {
    everywhere(false, &["-shared", "-fPIC"], |what, compile| {
        let dir = TempDir::new().unwrap();
        // The pointer's type is only announced where the variable is, and defined in the other file.
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(
            dir.path().join("sub/b.c"),
            "struct s { int a, b; };\nstruct s thing;\nint g(void) { return thing.b; }\n",
        )
        .unwrap();
        let text = "#include \"sub/b.c\"\nstruct later;\nstruct later *p;\nint f(void) {\n    return g() + !p;\n}\n";
        fs::write(dir.path().join("a.c"), text).unwrap();
        let object = compile(Path::new("a.c"), dir.path());
        let (symbols, elf) = (Symbols::load(&object).unwrap(), elf(&object));
        assert_eq!(symbols.variable(elf["thing"].0 + 4, 4).unwrap().name, "thing.b", "{what}");
        assert_eq!(symbols.variable(elf["p"].0, 8).unwrap().ty, Scalar::Pointer { to: "later".into() }, "{what}");
        let place = symbols.user_frame(elf["g"].0 + 1).unwrap();
        assert_eq!((place.file.as_str(), place.line), ("sub/b.c", 3), "{what}");
        assert_eq!(symbols.source_line("sub/b.c", 2).as_deref(), Some("struct s thing;"), "{what}");
    });
    assert_eq!(source_line("no/such/file", 1), None);
}

/// A fixed sequence: a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

/// Asks everything, about places where the sound object has something. The answers do not matter.
fn ask_everything(symbols: &Symbols, places: &[(u64, u32)], random: &mut Random) -> usize {
    let mut known = 0;
    for _ in 0..40 {
        let (start, size) = places[random.below(places.len())];
        let at = start + random.below(size as usize + 2) as u64;
        let size = [1, 4, 8, 24, u32::MAX][random.below(5)];
        known += symbols.place(at).len();
        known += usize::from(symbols.variable(at, size).is_some());
        known += usize::from(symbols.thread_local(at % 64, size).is_some());
        known += usize::from(symbols.local(at, 0x7000, 0x7000 - random.below(128) as u64, size).is_some());
        known += usize::from(symbols.heap(at, 8 * random.below(20) as u64, random.below(32) as u64, size).is_some());
    }
    for extreme in [0, 1, u64::MAX, u64::MAX - 1, 1 << 63] {
        known += symbols.place(extreme).len();
        known += usize::from(symbols.variable(extreme, u32::MAX).is_some());
        known += usize::from(symbols.thread_local(extreme, u32::MAX).is_some());
        known += usize::from(symbols.local(places[0].0, extreme, extreme, u32::MAX).is_some());
        known += usize::from(symbols.heap(places[0].0, extreme, extreme / 2, u32::MAX).is_some());
    }
    known
}

#[test]
fn damaged_objects_give_less_but_never_panic() {
    let rounds: usize = std::env::var("MEMBAR_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(1500);
    let mut random = Random(0x5eed);
    for (name, cpp) in [("program.c", false), ("program.cpp", true)] {
        for (c, cxx) in COMPILERS {
            let compiler = if cpp { cxx } else { c };
            if !have(compiler) {
                continue;
            }
            let dir = TempDir::new().unwrap();
            let flags = [&["-shared", "-fPIC"], FLAGS[1 + random.below(2)]].concat();
            let object = compile(compiler, &flags, &source(name), dir.path());
            let whole = fs::read(&object).unwrap();
            let places: Vec<(u64, u32)> = elf(&object).into_values().collect();
            let sound = ask_everything(&Symbols::load(&object).unwrap(), &places, &mut random);
            assert!(sound > 20, "{compiler}: the questions should have answers, {sound}");
            let debug = debug_sections(&whole);
            let (mut loaded, mut answered) = (0, BTreeSet::new());
            for round in 0..rounds / if cpp { 4 } else { 1 } {
                let mut bytes = whole.clone();
                // Half of the damage where it hurts: a whole file is mostly code and strings.
                for _ in 0..1 + random.below(8) {
                    let at = match round % 4 {
                        0 => random.below(bytes.len()),
                        1 => bytes.len() - 1 - random.below(4096),
                        _ => {
                            let (start, size) = debug[random.below(debug.len())];
                            start + random.below(size)
                        }
                    };
                    bytes[at] = [random.below(256) as u8, 0, 0xff, bytes[at] ^ (1 << random.below(8))][random.below(4)];
                }
                if round % 50 == 7 {
                    bytes.truncate(random.below(bytes.len()));
                }
                fs::write(&object, &bytes).unwrap();
                if let Ok(symbols) = Symbols::load(&object) {
                    loaded += 1;
                    answered.insert(ask_everything(&symbols, &places, &mut random));
                }
            }
            assert!(loaded > rounds / 10 && answered.len() > 5, "{compiler}: {loaded} {answered:?}");
        }
    }
}

fn debug_sections(bytes: &[u8]) -> Vec<(usize, usize)> {
    use object::ObjectSection;
    let file = object::File::parse(bytes).unwrap();
    let debug = file.sections().filter(|section| {
        let name = section.name().unwrap_or_default();
        (name.starts_with(".debug") || name == ".eh_frame") && !name.contains("str")
    });
    debug.filter_map(|section| section.file_range()).map(|(at, size)| (at as usize, size as usize)).collect()
}
