//! The README counts the lines that have to be trusted.

use std::path::{Path, PathBuf};

/// Lines of code, without comments and tests.
fn lines(file: &Path) -> usize {
    let text = std::fs::read_to_string(file).unwrap();
    let code = text.split("\n#[cfg(test)]").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Lines of the Rust files in this directory and below; with names, of those and of the directories of that name.
fn counted(directory: &Path, names: Option<&[&str]>) -> usize {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_meant = |path: &PathBuf| {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        names.is_none_or(|names| names.contains(&stem))
    };
    let each = |path: PathBuf| if path.is_dir() { counted(&path, None) } else { lines(&path) };
    entries.filter(is_meant).map(each).sum()
}

/// The words between these, as a number.
fn said(readme: &str, before: &str, after: &str) -> usize {
    let (_, rest) = readme.split_once(before).unwrap();
    rest.split_once(after).unwrap().0.trim().replace(',', "").parse().unwrap()
}

#[test]
fn the_lines_to_trust_are_those_that_the_readme_counts() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(here.join("README.md")).unwrap().replace("\n  ", " ");
    let own = here.join("src");
    let programs = ["axioms", "bytes", "execution", "matrix", "rc11", "replay", "weak"];
    let core = here.join("../membar-core/src");
    // The files of the core that the README names.
    let (_, named) = readme.split_once("programs (").unwrap();
    let named: Vec<&str> = named.split_once(')').unwrap().0.split(", ").map(|name| name.trim_matches('`')).collect();
    assert!(named.iter().all(|name| core.join(format!("{name}.rs")).exists()), "{named:?}");
    for (what, counted, said) in [
        ("certify", counted(&own, None), said(&readme, "This crate:", "lines")),
        ("programs", counted(&own, Some(&programs)), said(&readme, "of which programs take", ".")),
        ("core", counted(&core, Some(&named)), said(&readme, "):", "lines")),
    ] {
        let off = counted.abs_diff(said);
        assert!(off * 20 <= counted, "{what}: the README says {said}, and there are {counted}");
    }
}
