//! Links objects and stubs into one shared object, and reads back what it needs from elsewhere.
//!
//! Problem: every call that the runtime stands in for must reach its stub, also those of the C++ library, and the user
//! must know which libraries membar cannot look into.
//!
//! Algorithm: the stubs are an object like any other, and their symbols are weak. `-Bsymbolic` binds calls within the
//! object; the C++ library is linked statically, so that its calls of `pthread_create` are within the object too and its
//! variables are in memory that the runtime knows. `-z now` binds the rest when the object is loaded: the dynamic
//! linker must not run on the small stack of a thread. `main` may come from an archive. Afterwards the dynamic symbols tell which
//! functions of which library are called.
//!
//! Instrumented code is put on its own pages, so that the run side can tell when other code runs ([`layout`]). With
//! it go the stubs, and what there is of the C++ library's compiled part that works on nothing but its own memory and what it
//! asks the stubs for: exceptions, threads, clocks. Variables of the C++ library are on separate pages too.
//!
//! Objects that were compiled for an executable expect the C library's variables (`stderr`) at a fixed distance, which a shared
//! object does not have. They get copies, which are filled before anything of the program runs.
//!
//! Guarantees: an object that links has no undefined symbols and exports `main`.

use super::compile::assemble;
use super::compiler::Compiler;
use super::{BuildError, Import, Note, NoteKind};
use crate::files::Mapped;
use crate::run::stubs;
use membar_symbols::short_name;
use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, Sym};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Libraries whose functions the run side judges one by one.
const KNOWN: &[&str] =
    &["libc", "libm", "libpthread", "libdl", "librt", "libgcc_s", "ld-linux-x86-64", "libutil", "libresolv"];

/// Whether a soname is one of the C library's.
pub(crate) fn is_system(soname: &str) -> bool {
    let stem = soname.split(".so").next().unwrap_or(soname);
    KNOWN.contains(&stem)
}

/// The sections of instrumented code, and of the C++ library's variables.
pub(super) const PROGRAM: &str = ".instrumented";
const LIBRARY: &str = ".cxxlibrary";

/// Parts of the C++ library that touch nothing of the program's but through what the stubs stand in for.
const TRANSPARENT: &[&str] = &[
    "allocator-inst",
    "atexit_*",
    "atomicity",
    "bad_*",
    "*type_info",
    "chrono",
    "condition_variable",
    "cow-stdexcept",
    "cow-string-inst",
    "cp-demangle",
    "cxx11-stdexcept",
    "debug",
    "del_*",
    "dyncast",
    "eh_*",
    "functexcept",
    "functional",
    "futex",
    "future",
    "guard*",
    "hash_bytes",
    "hash_c++0x",
    "hashtable_c++0x",
    "mutex",
    "nested_exception",
    "new_*",
    "pure",
    "shared_ptr",
    "snprintf_lite",
    "sso_string",
    "stdexcept",
    "system_error",
    "thread",
    "tinfo*",
    "vec",
    "vterminate",
];

/// Variables of the C library that objects may have been compiled to find in the executable.
const COPIED: &[&str] = &["stdin", "stdout", "stderr", "environ", "__environ"];

/// Where instrumented code is in a linked object, and where the C++ library's variables are, as ranges of offsets; nothing
/// where there is none.
pub(crate) fn layout(object: &Path) -> [(usize, usize); 2] {
    let Ok(data) = Mapped::open(object) else { return [(0, 0); 2] };
    let Ok(file) = parse(object, &data) else { return [(0, 0); 2] };
    [PROGRAM, LIBRARY].map(|name| {
        let section = file.section_by_name(name);
        section.map_or((0, 0), |section| (section.address() as usize, (section.address() + section.size()) as usize))
    })
}

/// Where the functions are that end the C++ library's streams, as offsets in a linked object. Each source that includes
/// `<iostream>` may register one.
pub(crate) fn stream_destructors(object: &Path) -> Vec<usize> {
    const NAMES: [&str; 2] = ["_ZNSt8ios_base4InitD1Ev", "_ZNSt8ios_base4InitD2Ev"];
    let Ok(data) = Mapped::open(object) else { return Vec::new() };
    let Ok(file) = parse(object, &data) else { return Vec::new() };
    let named = |symbol: &object::read::elf::ElfSymbol64<'_, '_, Endianness>| {
        symbol.is_definition() && symbol.name().is_ok_and(|name| NAMES.contains(&name))
    };
    file.symbols().filter(named).map(|symbol| symbol.address() as usize).collect()
}

/// Puts the objects of a directory into their own section, and so on.
pub(super) fn script(directory: &str, cxx: bool) -> String {
    // The byte makes it a section like `.data` even if all that is in it is zero.
    let library = format!(
        "SECTIONS\n{{\n  {LIBRARY} : ALIGN(4096)\n  {{\n    BYTE(0)\n    *libstdc++.a:*(.data .data._Z* .bss .bss.* \
         COMMON)\n    . = ALIGN(4096);\n  }}\n}}\nINSERT AFTER .data;\n"
    );
    let library = if cxx { library } else { String::new() };
    let parts: String = TRANSPARENT.iter().map(|part| format!("    *libstdc++.a:{part}.o(.text .text.*)\n")).collect();
    format!(
        "SECTIONS\n{{\n  {PROGRAM} : ALIGN(4096)\n  {{\n    \"*{directory}/*.o\"(.text .text.*)\n{parts}    \
         *libgcc.a:*(.text .text.*)\n    *libgcc_eh.a:*(.text .text.*)\n    . = ALIGN(4096);\n  }}\n}}\nINSERT BEFORE \
         .text;\n{library}"
    )
}

/// Copies of variables of the C library, and what fills them.
fn copies(names: &[&str]) -> String {
    let mut text = String::from("\t.section .init_array.00000,\"aw\"\n\t.p2align 3\n\t.quad .Lfill\n");
    for name in names {
        text += &format!(
            "\t.data\n\t.p2align 3\n\t.globl {name}\n\t.type {name}, @object\n\t.size {name}, 8\n{name}:\n\t.quad 0\n"
        );
        text += &format!("\t.section .rodata\n.Lname_{name}:\n\t.string \"{name}\"\n");
    }
    text += "\t.text\n.Lfill:\n\tsubq $8, %rsp\n";
    for name in names {
        text += &format!("\tleaq {name}(%rip), %rdi\n\tleaq .Lname_{name}(%rip), %rsi\n\tcall __membar_copy@PLT\n");
    }
    text + "\taddq $8, %rsp\n\tret\n\t.section .note.GNU-stack,\"\",@progbits\n"
}

/// The inputs of a link.
pub(super) struct Link<'a> {
    pub(super) compiler: &'a Compiler,
    /// Objects and stubs.
    pub(super) objects: &'a [PathBuf],
    /// The user's flags and libraries.
    pub(super) flags: &'a [OsString],
    /// Whether there is C++ among the objects.
    pub(super) cxx: bool,
    /// Whether the first of several definitions wins, as between a program and its libraries.
    pub(super) several: bool,
    pub(super) output: &'a Path,
}

impl Link<'_> {
    /// Links, and tells which libraries are not seen.
    pub(super) fn link(&self) -> Result<Vec<Note>, BuildError> {
        let mut arguments: Vec<OsString> = ["-shared", "-o"].map(OsString::from).into();
        arguments.push(self.output.into());
        arguments.extend(self.objects.iter().map(OsString::from));
        arguments.extend_from_slice(self.flags);
        // The parts of the C library, for programs that forget to name them, or whose names we do not know.
        let system = ["-Wl,--as-needed", "-lm", "-ldl", "-lrt", "-Wl,--no-as-needed"];
        arguments.extend(system.map(OsString::from));
        let own =
            ["-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,--no-undefined", "-Wl,--build-id=none", "-Wl,-u,main", "-pthread"];
        arguments.extend(own.map(OsString::from));
        let layout = self.output.with_file_name("layout.ld");
        let directory = self.output.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        fs::write(&layout, script(&directory, self.cxx)).map_err(BuildError::file("write", &layout))?;
        arguments.extend(["-Wl,-T".into(), "-Xlinker".into(), layout.into_os_string()]);
        if self.several {
            arguments.push("-Wl,-z,muldefs".into());
        }
        if self.cxx {
            // Nobody else calls our copy of the C++ library, so what the program does not use can go: half of it.
            let own = ["-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections"];
            arguments.extend(own.map(OsString::from));
            arguments.push("-Wl,--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a".into());
            arguments.extend(stubs::wrapped().map(|name| format!("-Wl,--wrap={name}").into()));
            // A reference to these reaches a stub, which does not ask for them by itself: a C program has none.
            arguments.push(
                format!("-Wl,-u,__cxa_throw,-u,_ZSt9terminatev,-u,_ZSt11_Hash_bytesPKvmm,-u,{}", stubs::BAD_ALLOC)
                    .into(),
            );
        }
        let mut outcome = self.compiler.run(&arguments, None)?;
        let names = missing_copies(&outcome.stderr);
        if !outcome.status.success() && !names.is_empty() {
            let object = self.output.with_file_name("copies.o");
            assemble(self.compiler, copies(&names).as_bytes(), &[], &object, Path::new("copies"))?;
            arguments.push(object.into());
            outcome = self.compiler.run(&arguments, None)?;
        }
        if !outcome.status.success() {
            let undefined =
                outcome.stderr.contains("undefined reference") || outcome.stderr.contains("undefined symbol");
            return Err(match for_executable(&outcome.stderr) {
                Some(object) => BuildError::Executable { object, stderr: outcome.stderr },
                None => BuildError::Link { stderr: outcome.stderr, undefined },
            });
        }
        let data = read(self.output)?;
        let file = parse(self.output, &data)?;
        if !defines(&file, "main") {
            return Err(BuildError::NoMain);
        }
        let imports = imported(self.output, &file)?;
        let mut notes = unseen(&dynamic(&file).needed, &imports);
        if section(&file, PROGRAM).is_none() {
            let what = "the linker does not keep instrumented code apart: membar cannot watch other code";
            notes.push(Note { kind: NoteKind::Opaque, what: what.into(), place: None });
        }
        if !outcome.stderr.trim().is_empty() {
            notes.push(Note { kind: NoteKind::Warning, what: outcome.stderr, place: None });
        }
        Ok(notes)
    }
}

/// The object that the linker refuses because it was compiled for an executable only, in words.
fn for_executable(stderr: &str) -> Option<String> {
    let refused = |line: &&str| line.contains("relocation R_X86_64_") && line.contains("recompile with -fPIC");
    let line = stderr.lines().find(refused)?;
    let before = line.split(": relocation ").next().filter(|before| before.len() < line.len());
    let name = before.and_then(|before| before.rsplit(": ").next()).filter(|name| !name.is_empty() && *name != "error");
    Some(name.map_or("an object".into(), |name| format!("`{name}`")))
}

/// The variables of the C library that the linker complains about.
fn missing_copies(stderr: &str) -> Vec<&'static str> {
    if !stderr.contains("recompile with -fPIC") {
        return Vec::new();
    }
    let named = |name: &&&str| {
        let words = ["`", "'", "symbol "].map(|quote| format!("{quote}{name}"));
        let ends = |end: usize| !stderr[end..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
        words.iter().any(|word| stderr.match_indices(word.as_str()).any(|(at, found)| ends(at + found.len())))
    };
    COPIED.iter().filter(named).copied().collect()
}

pub(super) fn unseen(needed: &[String], imports: &[Import]) -> Vec<Note> {
    let libraries = needed.iter().filter(|name| !is_system(name));
    libraries
        .map(|library| {
            let called = imports.iter().find(|import| import.library.as_ref() == Some(library));
            let example =
                called.map_or(String::new(), |import| format!(" (the program calls `{}`)", short_name(&import.name)));
            let what = format!("{library} is not instrumented: membar looks only for which memory it touches{example}");
            Note { kind: NoteKind::Library, what, place: None }
        })
        .collect()
}

pub(super) fn read(path: &Path) -> Result<Mapped, BuildError> {
    Mapped::open(path).map_err(BuildError::file("read", path))
}

pub(super) fn parse<'a>(path: &Path, data: &'a [u8]) -> Result<ElfFile64<'a, Endianness>, BuildError> {
    let error = |reason: String| BuildError::NotElf { path: path.to_owned(), reason };
    if !data.starts_with(&elf::ELFMAG) {
        return Err(error("it is not an ELF file".into()));
    }
    let file = ElfFile64::parse(data).map_err(|why| error(why.to_string()))?;
    match file.elf_header().e_machine(file.endian()) {
        elf::EM_X86_64 => Ok(file),
        machine => Err(error(format!("it is for another machine (ELF machine {machine})"))),
    }
}

/// The contents of the dynamic section.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Dynamic {
    /// In the order of the link.
    pub(super) needed: Vec<String>,
    /// Directories, `$ORIGIN` not replaced.
    pub(super) paths: Vec<String>,
}

pub(super) fn dynamic(file: &ElfFile64<'_, Endianness>) -> Dynamic {
    let mut found = Dynamic::default();
    let (endian, sections) = (file.endian(), file.elf_section_table());
    let Ok(Some((entries, link))) = sections.dynamic(endian, file.data()) else { return found };
    let Ok(strings) = sections.strings(endian, file.data(), link) else { return found };
    for entry in entries {
        let Ok(tag) = u32::try_from(entry.d_tag(endian)) else { continue };
        let text = || Some(String::from_utf8_lossy(entry.string(endian, strings).ok()?).into_owned());
        match tag {
            elf::DT_NEEDED => found.needed.extend(text()),
            elf::DT_RUNPATH | elf::DT_RPATH => {
                found.paths.extend(text().iter().flat_map(|paths| paths.split(':')).map(str::to_owned));
            }
            _ => {}
        }
    }
    found
}

/// The bytes of a section, if there is one.
pub(super) fn section<'a>(file: &ElfFile64<'a, Endianness>, name: &str) -> Option<&'a [u8]> {
    file.section_by_name(name)?.data().ok()
}

/// Whether a dynamic symbol is defined.
pub(super) fn defines(file: &ElfFile64<'_, Endianness>, name: &str) -> bool {
    let symbols = file.elf_dynamic_symbol_table();
    symbols.iter().any(|symbol| {
        !symbol.is_undefined(file.endian()) && symbol.name(file.endian(), symbols.strings()) == Ok(name.as_bytes())
    })
}

/// The functions that a shared object takes from others, in the order of its symbols.
pub fn imports(object: &Path) -> Result<Vec<Import>, BuildError> {
    let data = read(object)?;
    imported(object, &parse(object, &data)?)
}

pub(super) fn imported(path: &Path, file: &ElfFile64<'_, Endianness>) -> Result<Vec<Import>, BuildError> {
    let error = |why: object::Error| BuildError::NotElf { path: path.to_owned(), reason: why.to_string() };
    let endian = file.endian();
    let symbols = file.elf_dynamic_symbol_table();
    let versions = file.elf_section_table().versions(endian, file.data()).map_err(error)?;
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for (index, symbol) in symbols.enumerate() {
        let function = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_NOTYPE | elf::STT_GNU_IFUNC);
        if !symbol.is_undefined(endian) || !function {
            continue;
        }
        let name = String::from_utf8_lossy(symbol.name(endian, symbols.strings()).map_err(error)?).into_owned();
        let version = match &versions {
            Some(table) => table.version(table.version_index(endian, index)).map_err(error)?,
            None => None,
        };
        let library = version.and_then(|version| version.file()).map(|name| String::from_utf8_lossy(name).into_owned());
        if name.is_empty() {
            continue;
        }
        if library.is_none() {
            unknown.push((found.len(), symbol.st_bind() == elf::STB_WEAK));
        }
        found.push(Import { name, library });
    }
    if !unknown.is_empty() {
        // Only libraries with versioned symbols are named by the symbol; the others must be looked into.
        let Dynamic { needed, paths } = dynamic(file);
        let owners = owners(needed.iter().filter(|name| !is_system(name)), &paths, path);
        for (at, _) in &unknown {
            found[*at].library = owners.get(&found[*at].name).cloned();
        }
    }
    // A weak symbol that is in no library does not exist: `__gmon_start__`, `_ITM_registerTMCloneTable`.
    let mut weak = unknown.iter().filter(|(_, weak)| *weak).map(|(at, _)| *at).collect::<Vec<_>>();
    weak.retain(|at| found[*at].library.is_none());
    for at in weak.into_iter().rev() {
        found.remove(at);
    }
    Ok(found)
}

/// Which library defines which symbol; the first wins.
fn owners<'a>(libraries: impl Iterator<Item = &'a String>, paths: &[String], object: &Path) -> HashMap<String, String> {
    let mut owners = HashMap::new();
    for library in libraries {
        let Some(path) = find_library(library, paths, object) else { continue };
        let Ok(data) = Mapped::open(&path) else { continue };
        let Ok(file) = parse(&path, &data) else { continue };
        let symbols = file.elf_dynamic_symbol_table();
        for symbol in symbols.iter().filter(|symbol| !symbol.is_undefined(file.endian())) {
            if let Ok(name) = symbol.name(file.endian(), symbols.strings()) {
                owners.entry(String::from_utf8_lossy(name).into_owned()).or_insert_with(|| library.clone());
            }
        }
    }
    owners
}

/// `$ORIGIN` is the directory of the object that names the path.
pub(super) fn expand(path: &str, object: &Path) -> PathBuf {
    let origin = object.canonicalize().ok().and_then(|path| Some(path.parent()?.to_string_lossy().into_owned()));
    let origin = origin.unwrap_or_else(|| ".".into());
    PathBuf::from(path.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))
}

/// Where the dynamic linker would find a library, but for its cache.
pub(super) fn find_library(soname: &str, paths: &[String], object: &Path) -> Option<PathBuf> {
    let own = paths.iter().map(|path| expand(path, object));
    let variable = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let system = [
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
        "/lib64",
        "/usr/lib64",
        "/usr/local/lib",
        "/lib",
        "/usr/lib",
    ];
    let variable = env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
    own.chain(variable)
        .chain(system.map(PathBuf::from))
        .map(|directory| directory.join(soname))
        .find(|path| path.is_file())
}
