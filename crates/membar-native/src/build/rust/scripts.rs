//! The scripts that stand in for the linker and for `rustc`.
//!
//! Problem: cargo and `rustc` link executables; membar loads shared objects. And flags for the program's crates must not reach build
//! scripts and procedural macros.
//!
//! Algorithm: `rustc` calls the linker script as it would call `cc`. It passes everything on but what makes an executable, with our stubs
//! and the layout of sections that keeps instrumented code apart. The unwinder is linked statically, as for C++. cargo calls the wrapper with
//! `rustc` and its arguments; only crates that are compiled for `--target` get our flags.

use super::super::compile::assemble;
use super::super::compiler::Compiler;
use super::super::{BuildError, Language, link};
use super::INSTRUMENTED;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The scripts, in a directory.
pub(super) struct Scripts {
    pub(super) linker: PathBuf,
    pub(super) wrapper: PathBuf,
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn linker(cc: &str, dir: &Path) -> String {
    let path = |name: &str| quoted(&dir.join(name).to_string_lossy());
    format!(
        "#!/bin/sh\n# Links what rustc would make an executable of to an object that membar loads.\nfor arg do\n  shift\n  \
         case $arg in\n    -pie | -static-pie | -no-pie) set -- \"$@\" -shared ;;\n    -lgcc_s) set -- \"$@\" -lgcc_eh -lgcc ;;\n    \
         *) set -- \"$@\" \"$arg\" ;;\n  esac\ndone\nexec {cc} \"$@\" {stubs} -Wl,-Bsymbolic -Wl,-z,now -Wl,--no-undefined \
         -Wl,--build-id=none -Wl,-u,main -Wl,--export-dynamic-symbol=main -pthread -lgcc_eh -lgcc -lc -Wl,-T,{layout} \
         ${{MEMBAR_ABORTS:+-Wl,--defsym=__membar_aborts=1 -Wl,--export-dynamic-symbol=__membar_aborts}}\n",
        stubs = path("stubs.o"),
        layout = path("layout.ld"),
    )
}

/// Whatever a profile says: the standard library has no bitcode and unwinds, and names need debug information. That panics are to end the program is
/// told by a symbol ([`crate::run`] looks for it).
const PROFILE: &[&str] = &[
    "-Clto=off",
    "-Clinker-plugin-lto=no",
    "-Cdebuginfo=2",
    "-Cstrip=none",
    "-Csplit-debuginfo=off",
    "-Cpanic=unwind",
];

fn wrapper(sysroot: &Path, linker: &Path) -> String {
    let flags = flags(sysroot, linker).into_iter().chain(PROFILE.iter().map(|flag| (*flag).to_owned()));
    let flags: Vec<String> = flags.map(|flag| quoted(&flag)).collect();
    let flags = flags.join(" ");
    format!(
        "#!/bin/sh\n# Adds membar's flags where a crate of the program is compiled.\nours=\nfor arg do\n  case $arg in\n    \
         --target | --target=*) ours=1 ;;\n    panic=abort | -Cpanic=abort) MEMBAR_ABORTS=1; export MEMBAR_ABORTS ;;\n  \
         esac\ndone\nif [ -z \"$ours\" ]; then exec \"$@\"; fi\nexec \"$@\" {flags}\n"
    )
}

/// The flags for a crate of the program.
pub(super) fn flags(sysroot: &Path, linker: &Path) -> Vec<String> {
    let own = [format!("--sysroot={}", sysroot.display()), format!("-Clinker={}", linker.display())];
    let own =
        own.into_iter().chain(["-Clinker-flavor=gcc", "--cfg=membar", "--check-cfg=cfg(membar)"].map(str::to_owned));
    INSTRUMENTED.iter().map(|flag| (*flag).to_owned()).chain(own).collect()
}

/// Writes the scripts and what they need, for this membar.
pub(super) fn write(dir: &Path, sysroot: &Path) -> Result<Scripts, BuildError> {
    let text = crate::run::stubs::assembly();
    // Crates, and the stubs.
    let layout = link::script("-", false).replace("\"*-/*.o\"(", "*.rcgu.o(.text .text.*)\n    *stubs.o(");
    let compiler = Compiler::find(Language::C, None, Language::C.variables())?;
    let key = super::sysroot::hash(&[&text, &layout, &compiler.to_string(), &linker("", dir), &wrapper(sysroot, dir)]);
    let dir = dir.join(format!("link-{key:016x}"));
    let made = Scripts { linker: dir.join("link"), wrapper: dir.join("rustc") };
    if made.wrapper.is_file() {
        return Ok(made);
    }
    fs::create_dir_all(&dir).map_err(BuildError::file("create", &dir))?;
    // Others may do the same at the same time.
    let put = |name: &str, text: &str, mode: u32| {
        let (path, new) = (dir.join(name), dir.join(format!("{name}.{}", std::process::id())));
        let written = fs::write(&new, text).and_then(|()| fs::set_permissions(&new, PermissionsExt::from_mode(mode)));
        written.and_then(|()| fs::rename(&new, &path)).map_err(BuildError::file("write", &path))
    };
    let new = dir.join(format!("stubs.o.{}", std::process::id()));
    assemble(&compiler, text.as_bytes(), &[], &new, Path::new("stubs"))?;
    let stubs = dir.join("stubs.o");
    fs::rename(&new, &stubs).map_err(BuildError::file("write", &stubs))?;
    put("layout.ld", &layout, 0o644)?;
    let command = compiler.command(&[]);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let cc: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    put("link", &linker(&cc.join(" "), &dir), 0o755)?;
    put("rustc", &wrapper(sysroot, &made.linker), 0o755)?;
    Ok(made)
}
