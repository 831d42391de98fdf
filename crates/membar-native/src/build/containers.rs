//! Parts of the C++ library that work on the program's memory, to be instrumented with the program.
//!
//! Problem: `std::map`, `std::set` and `std::list` are templates, which are compiled with the program, but their nodes are linked
//! by functions of the library's compiled part. Those are not instrumented.
//!
//! Algorithm: if one of the program's objects needs them, our own (`containers.c`) are compiled like a source of the program,
//! and linked before the library.

use super::compile::Unit;
use super::compiler::Compiler;
use super::{BuildError, Language, link};
use object::{Object, ObjectSymbol};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

const SOURCE: &str = include_str!("containers.c");
/// The prefixes of the functions' names.
const NAMES: &[&str] = &["_ZSt18_Rb_tree_", "_ZSt28_Rb_tree_", "_ZSt29_Rb_tree_", "_ZNSt8__detail15_List_node_base"];

/// Adds the object that is needed, if one is.
pub(super) fn add(compiler: &Compiler, dir: &Path, objects: &mut Vec<PathBuf>) -> Result<(), BuildError> {
    let mut needed = false;
    for path in objects.iter() {
        let data = link::read(path)?;
        let file = link::parse(path, &data)?;
        let named = |name: &str| NAMES.iter().any(|start| name.starts_with(start));
        needed |= file.symbols().any(|symbol| symbol.is_undefined() && symbol.name().is_ok_and(named));
    }
    if !needed {
        return Ok(());
    }
    let (source, object) = (dir.join("containers.c"), dir.join("containers.o"));
    fs::write(&source, SOURCE).map_err(BuildError::file("write", &source))?;
    let flags = ["-O1", "-g0", "-std=gnu11", "-w"].map(OsString::from);
    let unit = Unit {
        compiler,
        source: &source,
        language: Language::C,
        tell: true,
        flags: &flags,
        assemble: &[],
        object: &object,
        keep_notes: false,
    };
    unit.compile()?;
    objects.push(object);
    Ok(())
}
