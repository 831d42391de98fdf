//! Memory models as data: the TOML format and the built-in models.
//!
//! A model is a file, and the built-in ones are files of the same kind ([`source`] shows them):
//!
//! ```toml
//! name = "tso"
//! title = "Total Store Order (SPARC, x86)"
//! about = """A few sentences."""
//!
//! [ppo]                       # earlier-later: "always", "never", a condition, or a list of conditions
//! load-load   = "always"
//! load-store  = "always"
//! store-load  = "never"
//! store-store = "always"
//!
//! [barriers]
//! sync = "all"                # or a list: ["load-load", "store-store"]; default: all
//!
//! [axioms]
//! store-forwarding = true     # a load may return its own thread's store early; default: true
//! coherence = true            # a claim that is checked against the table above; default: false
//! lock-exclusion = true       # sessions on one lock never overlap; default: true
//! write-order = true          # the writes to one address are totally ordered; default: true
//! atomic-writes = false       # a store has taken effect for everybody when it ends; default: false
//! split-atomics = false       # a read-modify-write is two points of memory order, as LR and SC; default: false
//! ```
//!
//! Acquires and releases count as a load and as a store unless `[ppo]` speaks of them. Its keys are pairs of `load`,
//! `store`, `acquire` and `release`, or of the groups `access` (load and store) and `sync` (acquire and release); the more
//! specific key wins:
//!
//! ```toml
//! acquire-access  = "always"
//! access-release  = "same-session"
//! sync-sync       = "always"
//! release-acquire = "same-lock"
//! ```
//!
//! | condition | for | holds if |
//! |---|---|---|
//! | `same-address` | two accesses | both access one address |
//! | `same-lock` | two of acquire and release | both are on one lock |
//! | `same-session` | acquire and access, access and release, two accesses | a session holds both |
//! | `guarded` | an access and an acquire or a release | that lock guards that address |
//! | `time` | any | the earlier one ended before the later one began |
//!
//! [`membar_core::Condition`] lists the others: about marks, dependencies and what was read.
//!
//! [`load`] takes the argument of `--model`. Errors in a file are reported with line, column and what
//! to do ([`ModelError`]); a file whose settings contradict each other is refused, so every [`Model`] from this crate
//! keeps the invariant that [`Model`] states.
//!
//! ```
//! use membar_core::{Kind, When};
//! let tso = membar_model::load("tso").unwrap();
//! assert_eq!(tso.ppo.entry(Kind::Store, Kind::Load), When::NEVER);
//! assert_eq!(Some(&tso), membar_model::builtin("tso"));
//! assert!(membar_model::load("tos").unwrap_err().to_string().contains("did you mean `tso`?"));
//! ```

mod contradiction;
mod error;
mod file;
mod parse;
mod table;

pub use error::{ErrorKind, ModelError};
pub use file::{MOST_BYTES, load};
pub use parse::parse;

use membar_core::Model;
use std::sync::OnceLock;

/// Names and texts: those with one table for everything, strongest first, then the synchronized ones.
const SOURCES: [(&str, &str); 11] = [
    ("sc", include_str!("../models/sc.toml")),
    ("tso", include_str!("../models/tso.toml")),
    ("pso", include_str!("../models/pso.toml")),
    ("wmo", include_str!("../models/wmo.toml")),
    ("rmo", include_str!("../models/rmo.toml")),
    ("wc", include_str!("../models/wc.toml")),
    ("rc", include_str!("../models/rc.toml")),
    ("rcpc", include_str!("../models/rcpc.toml")),
    ("ec", include_str!("../models/ec.toml")),
    ("scope", include_str!("../models/scope.toml")),
    ("lc", include_str!("../models/lc.toml")),
];

/// The same for the models of instruction sets, which also speak of marks, dependencies and what was read.
const INSTRUCTION_SETS: [(&str, &str); 3] = [
    ("ztso", include_str!("../models/ztso.toml")),
    ("rvwmo", include_str!("../models/rvwmo.toml")),
    ("armv8", include_str!("../models/armv8.toml")),
];

fn read(sources: &[(&str, &str)]) -> Vec<Model> {
    let read = |&(name, text): &(&str, &str)| match parse::parse_text(&format!("{name}.toml"), text) {
        Ok(model) => model,
        // The texts are part of this crate, and its tests read each of them.
        Err(error) => unreachable!("{error}"),
    };
    sources.iter().map(read).collect()
}

/// The built-in models but for those of instruction sets. Of sc, tso, pso, wmo and rmo each allows everything that the one before it allows, and so it is with
/// wc, rc and rcpc; the book's reference/models.md has the whole order.
pub fn builtins() -> &'static [Model] {
    static MODELS: OnceLock<Vec<Model>> = OnceLock::new();
    MODELS.get_or_init(|| read(&SOURCES))
}

/// The built-in models of instruction sets: ztso, the weaker rvwmo, and armv8.
pub fn instruction_sets() -> &'static [Model] {
    static MODELS: OnceLock<Vec<Model>> = OnceLock::new();
    MODELS.get_or_init(|| read(&INSTRUCTION_SETS))
}

/// The built-in model of this name.
pub fn builtin(name: &str) -> Option<&'static Model> {
    builtins().iter().chain(instruction_sets()).find(|model| model.name == name)
}

/// The TOML text of a built-in model.
pub fn source(name: &str) -> Option<&'static str> {
    SOURCES.iter().chain(&INSTRUCTION_SETS).find(|(known, _)| *known == name).map(|&(_, text)| text)
}

/// The names of the built-in models, as a list for messages.
fn names() -> String {
    SOURCES.iter().chain(&INSTRUCTION_SETS).map(|&(name, _)| name).collect::<Vec<_>>().join(", ")
}
