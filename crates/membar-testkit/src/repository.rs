//! The litmus tests of the repository, for every crate that holds itself against them.

use membar_litmus::LitmusTest;
use std::path::Path;

/// The tests in a folder such as `corpus/litmus`, each with the name of its file, sorted by that. Files with other endings do not count.
///
/// # Panics
///
/// If the folder or a test cannot be read.
pub fn litmus_tests(folder: &str) -> Vec<(String, LitmusTest)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut tests: Vec<(String, LitmusTest)> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "litmus"))
        .map(|path| {
            let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
            let test = LitmusTest::parse(&name, &std::fs::read(&path).expect("a file"));
            (name, test.unwrap_or_else(|error| panic!("{}", error.render())))
        })
        .collect();
    tests.sort_by(|(one, _), (other, _)| one.cmp(other));
    tests
}
