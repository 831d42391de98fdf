//! The checks that a program makes itself, from the functions that its objects refer to.
//!
//! Problem: people who state what must hold want to know whether it does; all others, whether memory could surprise them.
//!
//! Algorithm: a statement is a call of something that ends the program. `assert` calls `__assert_fail`; the checks of test
//! libraries call `abort`, or a function of the library. `exit` is not taken for one: programs call it for many reasons, such as a thread
//! that cannot be created.
//!
//! Guarantees: every program with a failed assertion of these kinds has it in this list. The list may also have a check that is
//! in the program and never made.

use super::{BuildError, link};
use object::{Object, ObjectSymbol};
use std::path::PathBuf;

/// Functions, and what a user knows them by. Names that begin with `_Z` are those of all functions that begin so.
const CHECKS: [(&str, &str); 10] = [
    ("__assert_fail", "assert"),
    ("__assert_perror_fail", "assert_perror"),
    ("__assert", "assert"),
    ("abort", "abort"),
    ("reach_error", "reach_error"),
    ("__VERIFIER_error", "__VERIFIER_error"),
    ("__VERIFIER_assert", "__VERIFIER_assert"),
    ("_ZN7testing8internal12AssertHelper", "gtest"),
    ("_ZNK7testing8internal12AssertHelper", "gtest"),
    ("_ZN5Catch16AssertionHandler", "Catch"),
];

/// The checks of these objects, each once.
pub(super) fn of(objects: &[PathBuf]) -> Result<Vec<String>, BuildError> {
    let mut found: Vec<String> = Vec::new();
    for path in objects {
        let data = link::read(path)?;
        let file = link::parse(path, &data)?;
        for symbol in file.symbols().filter(|symbol| symbol.is_undefined()) {
            let Ok(called) = symbol.name() else { continue };
            let is = |name: &str| called == name || name.starts_with("_Z") && called.starts_with(name);
            let check = CHECKS.iter().find(|(name, _)| is(name)).map(|(_, check)| (*check).to_owned());
            found.extend(check.filter(|check| !found.contains(check)));
        }
    }
    found.sort();
    Ok(found)
}
