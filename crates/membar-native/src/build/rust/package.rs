//! A package with edits: a copy of it, built as cargo built the original.
//!
//! # Problem
//!
//! A fix is an edit that was tried. The sources of a package are found by cargo from its manifest, beside other packages of the
//! workspace, and the user's own must stay as they are.
//!
//! # Algorithm
//!
//! 1. cargo lists the packages that come from this machine's directories (`cargo metadata`).
//! 2. The workspace and those packages that are elsewhere are copied to their own absolute paths below a directory of the target
//!    directory, so that they find each other, edited where that is asked for. Files that have not changed are left alone: cargo
//!    builds what is new.
//! 3. cargo is called as it was before, with the manifest of the copy and a target directory of its own, which began as a copy too:
//!    packages of a registry are built already.
//! 4. The executable is kept apart, before somebody builds the next one.
//!
//! # Guarantees
//!
//! Nothing outside of the target directory and of the scratch directory is written. Who copies and builds has a lock.
//!
//! # Deviations
//!
//! Files that are included from outside of a local package are not copied: then the copy does not build, and the edit is not tried.

use super::super::BuildError;
use super::super::edited::{absolute, below};
use crate::files::locked;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How cargo has built an executable.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its subcommand and flags, but for the manifest and the target directory.
    pub words: Vec<OsString>,
    /// Variables of its environment.
    pub variables: Vec<(String, OsString)>,
    /// The manifest that was named.
    pub manifest: Option<PathBuf>,
    /// The target directory.
    pub target: PathBuf,
    /// The package, the target and its kind, as cargo names them, and whether it is a test.
    pub made: Artifact,
}

/// What cargo has made, as it names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Artifact {
    /// The manifest of its package.
    pub manifest: PathBuf,
    /// The target.
    pub name: String,
    /// `lib`, `bin`, `test`, …
    pub kind: String,
    /// Whether it is built for tests.
    pub test: bool,
    /// The executable.
    pub executable: PathBuf,
}

impl Artifact {
    /// From a line of `--message-format=json`.
    pub fn of(message: &Value) -> Option<Artifact> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Artifact {
            manifest: text(&message["manifest_path"])?.into(),
            name: text(&message["target"]["name"])?,
            kind: text(&message["target"]["kind"][0])?,
            test: message["profile"]["test"].as_bool().unwrap_or(false),
            executable: text(&message["executable"])?.into(),
        })
    }
}

/// Copies with more bytes than this are not made.
const MOST: u64 = 256 << 20;

/// What there is to copy.
struct Local {
    /// The manifest that cargo begins with.
    manifest: PathBuf,
    /// Directories.
    roots: Vec<PathBuf>,
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

impl Package {
    /// The executable with these texts for these files, in this directory. `None` if it does not build. An error if no edit can be tried.
    pub fn edited(&self, edits: &[(PathBuf, String)], dir: &Path) -> Result<Option<PathBuf>, BuildError> {
        let cannot = |what: String| BuildError::Rust { what, stderr: String::new() };
        let Some(Local { manifest, roots }) = self.local() else {
            return Err(cannot("cargo does not tell where the package is".into()));
        };
        let edits: Vec<(PathBuf, &str)> = edits.iter().map(|(file, text)| (absolute(file), text.as_str())).collect();
        if let Some((file, _)) = edits.iter().find(|(file, _)| !roots.iter().any(|root| file.starts_with(root))) {
            return Err(cannot(format!("{} is not part of this workspace", file.display())));
        }
        let place = self.target.join("edited");
        fs::create_dir_all(&place).map_err(BuildError::file("create", &place))?;
        let _lock = locked(&place.join("lock")).map_err(BuildError::file("lock", &place))?;
        let mut copy = Copy { root: &place, skip: &self.target, edits: &edits, bytes: 0 };
        for root in &roots {
            copy.directory(root).map_err(BuildError::file("copy", root))?;
            copy.settings(root).map_err(BuildError::file("copy", root))?;
        }
        if copy.bytes > MOST {
            return Err(cannot(format!("the workspace is too large to copy: {} MiB", copy.bytes >> 20)));
        }
        // To cargo the copy is the same package: what it builds would take the place of what reports name.
        let target = place.join("target");
        if !target.is_dir() {
            self.seed(&target).map_err(BuildError::file("copy", &self.target))?;
        }
        let mut command = cargo();
        command.args(&self.words).arg("--manifest-path").arg(below(&place, &manifest)).arg("--target-dir").arg(target);
        command.current_dir(below(&place, manifest.parent().unwrap_or(&manifest)));
        let spawned = |source| BuildError::Spawn { program: "cargo".into(), source };
        let ran = command.envs(self.variables.iter().cloned()).output().map_err(spawned)?;
        if !ran.status.success() {
            return Ok(None);
        }
        let wanted = |made: &Artifact| {
            let same = (&made.name, &made.kind, made.test) == (&self.made.name, &self.made.kind, self.made.test);
            same && made.manifest == below(&place, &self.made.manifest)
        };
        let text = String::from_utf8_lossy(&ran.stdout);
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let Some(made) = messages.filter_map(|message| Artifact::of(&message)).find(wanted) else { return Ok(None) };
        let kept = dir.join("edited");
        fs::copy(&made.executable, &kept).map_err(BuildError::file("copy", &made.executable))?;
        Ok(Some(kept))
    }

    /// A target directory in which all is built already that is not edited.
    fn seed(&self, target: &Path) -> io::Result<()> {
        let new = target.with_extension("new");
        let _ = fs::remove_dir_all(&new);
        fs::create_dir_all(&new)?;
        for entry in fs::read_dir(&self.target)?.flatten().filter(|entry| entry.file_name() != "edited") {
            keeping_times(&entry.path(), &new.join(entry.file_name()))?;
        }
        fs::rename(&new, target)
    }

    /// Asks cargo what comes from directories of this machine. Packages for other machines may never have been fetched.
    fn local(&self) -> Option<Local> {
        let named = self.manifest.iter().flat_map(|path| [OsString::from("--manifest-path"), path.into()]);
        let ask = |words: &[&str]| {
            let ran = cargo().args(words).args(named.clone()).output().ok()?;
            ran.status.success().then_some(ran.stdout)
        };
        let found = ask(&["locate-project", "--message-format=plain"])?;
        let manifest = PathBuf::from(String::from_utf8(found).ok()?.trim_end());
        let metadata: Value = serde_json::from_slice(&ask(&[
            "metadata",
            "--format-version=1",
            "--offline",
            "--filter-platform",
            super::TARGET,
        ])?)
        .ok()?;
        let mut roots = vec![PathBuf::from(metadata["workspace_root"].as_str()?)];
        for package in metadata["packages"].as_array()?.iter().filter(|package| package["source"].is_null()) {
            let directory = Path::new(package["manifest_path"].as_str()?).parent()?.to_owned();
            if !roots.iter().any(|root| directory.starts_with(root)) {
                roots.push(directory);
            }
        }
        Some(Local { manifest, roots })
    }
}

/// Copies a file or a directory with all that is in it. Cargo goes by the times of files.
fn keeping_times(from: &Path, to: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(from)?;
    if about.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            keeping_times(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if about.is_file() {
        fs::copy(from, to)?;
        // With another time it is built once more.
        let _ = fs::File::options().write(true).open(to).and_then(|file| file.set_modified(about.modified()?));
    }
    Ok(())
}

/// Files on their way to a copy.
struct Copy<'a> {
    root: &'a Path,
    /// What is built is not copied.
    skip: &'a Path,
    edits: &'a [(PathBuf, &'a str)],
    bytes: u64,
}

impl Copy<'_> {
    /// A directory and all that is in it but for what tools have made; afterwards there is nothing else in the copy.
    fn directory(&mut self, from: &Path) -> io::Result<()> {
        let to = below(self.root, from);
        fs::create_dir_all(&to)?;
        let mut names = Vec::new();
        for entry in fs::read_dir(from)? {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            let Ok(about) = fs::metadata(&path) else { continue };
            if about.is_file() {
                self.file(&path, about.len())?;
            } else if about.is_dir() && !path.is_symlink() && !self.is_made(&path) {
                self.directory(&path)?;
            } else {
                continue;
            }
            if self.bytes > MOST {
                return Ok(());
            }
            names.push(name);
        }
        for entry in fs::read_dir(&to)?.flatten().filter(|entry| !names.contains(&entry.file_name())) {
            // Directories are those of other local packages, or empty of what counts.
            if entry.path().is_file() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    fn is_made(&self, path: &Path) -> bool {
        path == self.skip || path.join("CACHEDIR.TAG").is_file() || path.ends_with(".git")
    }

    fn file(&mut self, from: &Path, len: u64) -> io::Result<()> {
        self.bytes += len;
        if self.bytes > MOST {
            return Ok(());
        }
        let to = below(self.root, from);
        let new = match self.edits.iter().find(|(file, _)| file == from) {
            Some((_, text)) => text.as_bytes().to_vec(),
            None => fs::read(from)?,
        };
        if fs::read(&to).is_ok_and(|old| old == new) { Ok(()) } else { fs::write(&to, new) }
    }

    /// What cargo is told by directories above.
    fn settings(&mut self, root: &Path) -> io::Result<()> {
        for above in root.ancestors().skip(1) {
            for name in [".cargo/config.toml", ".cargo/config"] {
                let path = above.join(name);
                if let Ok(about) = fs::metadata(&path) {
                    fs::create_dir_all(below(self.root, &above.join(".cargo")))?;
                    self.file(&path, about.len())?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_follow_their_originals() {
        let dir = tempfile::tempdir().expect("a directory");
        let (from, root) = (dir.path().join("package"), dir.path().join("package/target/membar/edited"));
        fs::create_dir_all(from.join("src")).expect("made");
        fs::create_dir_all(&root).expect("made");
        fs::write(from.join("target/CACHEDIR.TAG"), "").expect("written");
        fs::write(from.join("src/lib.rs"), "old").expect("written");
        fs::write(from.join("src/gone.rs"), "").expect("written");
        let copy = |edits: &[(PathBuf, &str)]| {
            let skip = from.join("target/membar");
            Copy { root: &root, skip: &skip, edits, bytes: 0 }.directory(&from).expect("copied");
        };
        let read = |name: &str| fs::read_to_string(below(&root, &from.join(name))).ok();
        copy(&[(from.join("src/lib.rs"), "new")]);
        assert_eq!(read("src/lib.rs").as_deref(), Some("new"));
        fs::remove_file(from.join("src/gone.rs")).expect("removed");
        copy(&[]);
        assert_eq!(read("src/lib.rs").as_deref(), Some("old"), "edits of another time are gone");
        assert_eq!((read("src/gone.rs"), read("target/CACHEDIR.TAG")), (None, None));
        assert_eq!(fs::read_to_string(from.join("src/lib.rs")).expect("read"), "old", "the original is as it was");
    }
}
