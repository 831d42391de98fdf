//! Names of source files, as the user would write them.
//!
//! The debug information has a name as it was given to the compiler, and the directory where the compiler ran. Shown
//! is, in this order: the full path, for a system header; the path relative to the current directory; the path
//! relative to the compiler's directory, with the name of that if it is another Rust package; the full path.

use crate::image::Image;
use crate::lines::Owner;
use std::path::PathBuf;

/// The directories that file names are relative to.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The current directory, without a slash at the end.
    here: Option<String>,
    /// Where the compiler ran, for each unit; without repetitions.
    compiled: Vec<String>,
}

/// A linked program has a few of these; real builds have no more.
const MAX_DIRS: usize = 64;

impl Files {
    pub fn new(image: &Image) -> Files {
        let here = std::env::current_dir().ok().and_then(|dir| dir.into_os_string().into_string().ok());
        Files::with(here, compile_dirs(image))
    }

    fn with(here: Option<String>, compiled: Vec<String>) -> Files {
        let useful = |dir: &String| dir.len() > 1 && dir.starts_with('/');
        let mut dirs: Vec<String> = Vec::new();
        for dir in compiled.iter().map(|dir| normal(dir)).filter(useful) {
            if !dirs.contains(&dir) && dirs.len() < MAX_DIRS {
                dirs.push(dir);
            }
        }
        Files { here: here.filter(useful), compiled: dirs }
    }

    /// The name to show for a full path of the line table.
    pub fn shown(&self, full: &str) -> String {
        if !full.starts_with('/') {
            return full.trim_start_matches("./").to_owned();
        }
        let path = normal(full);
        // First, since the current directory may be /usr.
        if !self.is_user(&path) {
            return path;
        }
        // Before `..` is resolved: `../queue.h` is what the user wrote.
        let here = self.here.as_deref();
        if let Some(rest) = here.and_then(|here| below(full, here)) {
            let rest = rest.trim_start_matches("./");
            return if rest.contains("/../") { normal(rest) } else { rest.to_owned() };
        }
        if let Some(rest) = here.and_then(|here| below(&path, here)) {
            return rest.to_owned();
        }
        match self.compiled.iter().find_map(|dir| Some((dir, below(&path, dir)?))) {
            Some((dir, rest)) => match self.package(dir, rest) {
                Some(name) => format!("{name}/{rest}"),
                None => rest.to_owned(),
            },
            None => path,
        }
    }

    /// The name of a Rust package that has this file and is somewhere else: all have a `src/lib.rs`.
    fn package<'a>(&self, dir: &'a str, file: &str) -> Option<&'a str> {
        let elsewhere = self.here.as_deref().is_none_or(|here| here != dir && below(here, dir).is_none());
        if elsewhere && file.ends_with(".rs") { dir.rsplit('/').next() } else { None }
    }

    /// Whether a file that was named by [`Files::shown`], or by the debug information, is the user's.
    pub fn is_user(&self, file: &str) -> bool {
        if file.is_empty() || file.starts_with('<') {
            return false; // `<built-in>`, `<artificial>`
        }
        if !file.starts_with('/') {
            return true;
        }
        let path = normal(file);
        // `/rustc/` is where Rust's standard library says that it is from.
        let system = ["/usr/", "/lib/", "/lib64/", "/lib32/", "/rustc/"].iter().any(|dir| path.starts_with(dir));
        // Containers like to build in /usr/src/app.
        let deep = |dir: &&String| dir.matches('/').count() >= 3 && !dir.starts_with("/usr/include");
        !system || self.compiled.iter().filter(deep).any(|dir| below(&path, dir).is_some())
    }

    /// Whose a file is that was named by [`Files::shown`].
    pub fn owner(&self, file: &str) -> Owner {
        match () {
            () if self.is_user(file) => Owner::User,
            () if file.contains("/core/src/sync/atomic") => Owner::Atomics,
            () => Owner::Library,
        }
    }

    /// Where a file that was named by [`Files::shown`] may be found.
    pub fn candidates(&self, file: &str) -> Vec<PathBuf> {
        if file.is_empty() {
            return Vec::new();
        }
        let own = self.compiled.iter().filter_map(|dir| {
            let rest = below(file, dir.rsplit('/').next()?)?;
            self.package(dir, rest).map(|_| PathBuf::from(dir).join(rest))
        });
        let below = self.compiled.iter().map(|dir| PathBuf::from(dir).join(file));
        std::iter::once(PathBuf::from(file)).chain(own).chain(below).collect()
    }
}

fn compile_dirs(image: &Image) -> Vec<String> {
    let dwarf = image.dwarf();
    let mut dirs: Vec<String> = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let dir = unit.comp_dir.map(|dir| String::from_utf8_lossy(&dir).into_owned());
        if let Some(dir) = dir
            && dirs.last() != Some(&dir)
        {
            dirs.push(dir);
        }
    }
    dirs
}

/// The part of a path below a directory.
fn below<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    path.strip_prefix(dir)?.strip_prefix('/').map(|rest| rest.trim_start_matches('/')).filter(|rest| !rest.is_empty())
}

/// A path without `.`, `..` and doubled slashes. Symbolic links are not followed: the file may not exist here.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if path.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// A path from the parts that the line table keeps apart.
pub(crate) fn join(parts: &[&str]) -> String {
    let mut path = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if part.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(part);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(here: &str, compiled: &[&str]) -> Files {
        Files::with(Some(here.to_owned()), compiled.iter().map(|dir| (*dir).to_owned()).collect())
    }

    #[test]
    fn names_are_as_the_user_wrote_them() {
        let files = files("/home/u/p", &["/home/u/p", "/tmp/build"]);
        for (full, shown) in [
            ("/home/u/p/dekker.c", "dekker.c"),
            ("/home/u/p/./src/dekker.c", "src/dekker.c"),
            ("/home/u/p/../q/queue.h", "../q/queue.h"),
            ("/home/u/q/queue.h", "/home/u/q/queue.h"),
            ("/home/u/q/../p/dekker.c", "dekker.c"),
            ("/home/u/program.c", "/home/u/program.c"),
            ("/tmp/build/gen/a.c", "gen/a.c"),
            ("/usr/bin/../include/c++/12/atomic", "/usr/include/c++/12/atomic"),
            ("dekker.c", "dekker.c"),
            ("./dekker.c", "dekker.c"),
        ] {
            assert_eq!(files.shown(full), shown, "{full}");
        }
    }

    #[test]
    fn files_of_other_rust_packages_have_the_package_before_them() {
        let files = files("/home/u/ws/a", &["/home/u/ws", "/home/u/.cargo/registry/src/index/ring-1.2.0"]);
        let other = "/home/u/.cargo/registry/src/index/ring-1.2.0/src/lib.rs";
        assert_eq!(files.shown(other), "ring-1.2.0/src/lib.rs");
        assert!(files.candidates("ring-1.2.0/src/lib.rs").contains(&PathBuf::from(other)));
        assert_eq!(files.shown("/home/u/ws/b/src/lib.rs"), "b/src/lib.rs");
        assert_eq!(files.shown("/home/u/ws/a/src/lib.rs"), "src/lib.rs");
    }

    #[test]
    fn system_headers_have_full_names_everywhere() {
        let files = files("/usr", &["/usr"]);
        assert_eq!(files.shown("/usr/include/c++/12/atomic"), "/usr/include/c++/12/atomic");
    }

    #[test]
    fn system_headers_are_not_the_users() {
        let files = files("/home/u/p", &["/home/u/p", "/usr/src/app"]);
        for (file, user) in [
            ("dekker.c", true),
            ("../queue.h", true),
            ("/home/u/q.c", true),
            ("/usr/src/app/q.c", true),
            ("/usr/include/c++/12/atomic", false),
            ("/usr/src/app/../../include/stdio.h", false),
            ("/lib/x.h", false),
            ("/library/x.h", true),
            ("<built-in>", false),
            ("", false),
        ] {
            assert_eq!(files.is_user(file), user, "{file}");
        }
    }

    #[test]
    fn absolute_parts_replace_earlier_parts() {
        assert_eq!(join(&["/a", "b", "c.c"]), "/a/b/c.c");
        assert_eq!(join(&["/a", "/usr/include", "c.h"]), "/usr/include/c.h");
        assert_eq!(join(&["", "c.h"]), "c.h");
    }
}
