//! Where cargo would run what it has built: tests in the directory of their package, all with the variables that tell of it.
//!
//! A file beside the executable says so: it holds for later runs of the executable, too.

use super::{Input, NativeOptions};
use membar_native::process::Around;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// The variables that cargo sets, and the fields of its metadata.
const VARIABLES: [(&str, &str); 10] = [
    ("CARGO_PKG_NAME", "name"),
    ("CARGO_PKG_VERSION", "version"),
    ("CARGO_PKG_AUTHORS", "authors"),
    ("CARGO_PKG_DESCRIPTION", "description"),
    ("CARGO_PKG_HOMEPAGE", "homepage"),
    ("CARGO_PKG_REPOSITORY", "repository"),
    ("CARGO_PKG_LICENSE", "license"),
    ("CARGO_PKG_LICENSE_FILE", "license_file"),
    ("CARGO_PKG_RUST_VERSION", "rust_version"),
    ("CARGO_PKG_README", "readme"),
];
const PARTS: [&str; 3] = ["CARGO_PKG_VERSION_MAJOR", "CARGO_PKG_VERSION_MINOR", "CARGO_PKG_VERSION_PATCH"];

fn beside(executable: &Path) -> PathBuf {
    let mut name = executable.as_os_str().to_owned();
    name.push(".membar.json");
    name.into()
}

/// What a program finds around it.
pub fn of(input: &Input, args: &NativeOptions) -> Around {
    let executable = match (&args.package, input) {
        (Some(package), _) => &package.made.executable,
        (None, Input::Executable(path)) => path,
        (None, _) => return Around::default(),
    };
    let said = std::fs::read(beside(executable)).unwrap_or_default();
    serde_json::from_slice(&said).unwrap_or_default()
}

/// Notes what an executable of a package finds around it. `package` is cargo's metadata of that.
pub fn note(executable: &Path, test: bool, package: &Value) -> io::Result<()> {
    let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
    let directory = manifest.parent().map(Path::to_owned).unwrap_or_default();
    let mut variables: Vec<(String, String)> = vec![
        ("CARGO_MANIFEST_DIR".into(), directory.to_string_lossy().into_owned()),
        ("CARGO_MANIFEST_PATH".into(), manifest.to_string_lossy().into_owned()),
    ];
    for (variable, field) in VARIABLES {
        let value = match &package[field] {
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(":"),
            value => value.as_str().unwrap_or_default().to_owned(),
        };
        variables.push((variable.into(), value));
    }
    let version = package["version"].as_str().unwrap_or_default();
    let version = version.split('+').next().unwrap_or_default();
    let (version, before) = version.split_once('-').unwrap_or((version, ""));
    variables.push(("CARGO_PKG_VERSION_PRE".into(), before.into()));
    let parts = PARTS.into_iter().zip(version.split('.'));
    variables.extend(parts.map(|(name, part)| (name.to_owned(), part.to_owned())));
    let around = Around { directory: test.then_some(directory), variables };
    std::fs::write(beside(executable), serde_json::to_vec(&around).map_err(io::Error::other)?)
}
