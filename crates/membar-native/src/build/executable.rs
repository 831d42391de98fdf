//! A program that was built with `membar cc`, and the shared object that is inside it.
//!
//! Problem: the program is native, and was linked by the user's own build. Its instrumented half has to be linked with
//! the same libraries, without knowing the command line.
//!
//! Algorithm:
//!
//! 1. The objects are those of the program's `.membar` section.
//! 2. A needed library that has such a section too contributes its objects, and the libraries that it needs.
//! 3. Any other needed library is linked by the name of its file; the C library comes by itself, and the C++ library
//!    statically.
//!
//! Guarantees: the same object in the program and in a library is linked once. Where both define a name, the program's
//! definition wins, as it does when the dynamic linker decides.

use super::assembly::NOTES;
use super::compile::assemble;
use super::compiler::{Compiler, maker_and_version};
use super::link::{self, Dynamic, Link};
use super::{BuildError, Built, Language, Note, checks, containers, fat, rust};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Everything found in the program and its libraries.
#[derive(Default)]
struct Found {
    objects: Vec<PathBuf>,
    seen: HashSet<Vec<u8>>,
    notes: Vec<Note>,
    cxx: bool,
    /// As `.comment` has it.
    compiler: Option<String>,
    flags: Vec<OsString>,
    /// Sonames that were dealt with.
    libraries: HashSet<String>,
    /// Whether a library contributed.
    several: bool,
}

/// Links the instrumented half of a program that was built with `membar cc`.
pub fn build_executable(path: &Path, dir: &Path) -> Result<Built, BuildError> {
    if rust::is_object(path) {
        return rust::take(path);
    }
    let data = link::read(path)?;
    let mut found = Found::default();
    if !found.add(path, &data, dir)? {
        return Err(BuildError::NotInstrumented { path: path.to_owned() });
    }
    let language = if found.cxx { Language::Cxx } else { Language::C };
    let compiler = Compiler::find(language, None, language.variables())?;
    let stubs = dir.join("stubs.o");
    assemble(&compiler, crate::run::stubs::assembly().as_bytes(), &[], &stubs, Path::new("stubs"))?;
    let checks = checks::of(&found.objects)?;
    found.objects.push(stubs);
    if found.cxx {
        containers::add(&compiler, dir, &mut found.objects)?;
    }
    let object = dir.join("prog.so");
    let link = Link {
        compiler: &compiler,
        objects: &found.objects,
        flags: &found.flags,
        cxx: found.cxx,
        several: found.several,
        output: &object,
    };
    let mut notes = found.notes;
    notes.extend(link.link()?);
    let compiler = found.compiler.unwrap_or_else(|| compiler.to_string());
    Ok(Built { object, compiler, notes, checks })
}

impl Found {
    /// Takes what a program or library has. False if it has no section of ours.
    fn add(&mut self, path: &Path, data: &[u8], dir: &Path) -> Result<bool, BuildError> {
        let file = link::parse(path, data)?;
        let Some(section) = link::section(&file, fat::SECTION) else { return Ok(false) };
        let parts = fat::decode(section).map_err(|reason| BuildError::Damaged { path: path.to_owned(), reason })?;
        for part in parts {
            if !self.seen.insert(part.object.to_vec()) {
                continue;
            }
            let object = dir.join(format!("{}.o", self.objects.len()));
            fs::write(&object, part.object).map_err(BuildError::file("write", &object))?;
            self.cxx |= part.language == Language::Cxx;
            self.read_object(&object, part.object)?;
            self.objects.push(object);
        }
        let Dynamic { needed, paths } = link::dynamic(&file);
        for soname in needed {
            if link::is_system(&soname) || !self.libraries.insert(soname.clone()) {
                continue;
            }
            self.add_library(&soname, &paths, path, dir)?;
        }
        Ok(true)
    }

    fn add_library(&mut self, soname: &str, paths: &[String], user: &Path, dir: &Path) -> Result<(), BuildError> {
        if soname.starts_with("libstdc++.so") {
            self.cxx = true;
            return Ok(());
        }
        let place = link::find_library(soname, paths, user);
        if let Some(place) = &place {
            let data = link::read(place)?;
            if self.add(place, &data, dir)? {
                self.several = true;
                return Ok(());
            }
        }
        if let Some(directory) = place.as_ref().and_then(|place| place.parent()) {
            let mut flag = OsString::from("-L");
            flag.push(directory);
            let mut path = OsString::from("-Wl,-rpath,");
            path.push(directory);
            self.flags.extend([flag, path]);
        }
        self.flags.push(format!("-l:{soname}").into());
        Ok(())
    }

    /// The notes that the compilation left, and the compiler's name.
    fn read_object(&mut self, path: &Path, object: &[u8]) -> Result<(), BuildError> {
        let file = link::parse(path, object)?;
        if let Some(lines) = link::section(&file, NOTES) {
            let lines = String::from_utf8_lossy(lines);
            self.notes.extend(lines.lines().filter_map(|line| serde_json::from_str(line).ok()));
        }
        if self.compiler.is_none() {
            let comment = link::section(&file, ".comment").map(String::from_utf8_lossy);
            let text = comment.as_deref().map(|text| text.trim_matches('\0'));
            self.compiler = text.and_then(maker_and_version).map(|(maker, version)| format!("{maker} {version}"));
        }
        Ok(())
    }
}
