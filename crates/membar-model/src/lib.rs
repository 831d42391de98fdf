//! Memory models as data: the TOML format and the built-in models.
//!
//! A model is a file, and the built-in ones are files of the same kind ([`source`] shows them):
//!
//! ```toml
//! name = "tso"
//! title = "Total Store Order (SPARC, x86)"
//! about = """A few sentences."""
//!
//! [ppo]                       # earlier-later: "always" | "never" | "same-address" | "time" | a list of conditions
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
//! ```
//!
//! [`load`] takes what a user gives to `--model`. What is wrong with a file is said with its line, its column and what
//! to do ([`ModelError`]); a file whose settings contradict each other is refused, so every [`Model`] from this crate
//! keeps the invariant that [`Model`] states.
//!
//! ```
//! let tso = membar_model::load("tso").unwrap();
//! assert_eq!(tso.ppo.store_load, membar_core::When::NEVER);
//! assert_eq!(Some(&tso), membar_model::builtin("tso"));
//! assert!(membar_model::load("tos").unwrap_err().to_string().contains("did you mean `tso`?"));
//! ```

mod contradiction;
mod error;
mod file;
mod parse;

pub use error::{ErrorKind, ModelError, Place};
pub use file::{MOST_BYTES, load};
pub use parse::parse;

use membar_core::Model;
use std::sync::OnceLock;

/// Names and texts, strongest first.
const SOURCES: [(&str, &str); 5] = [
    ("sc", include_str!("../models/sc.toml")),
    ("tso", include_str!("../models/tso.toml")),
    ("pso", include_str!("../models/pso.toml")),
    ("wmo", include_str!("../models/wmo.toml")),
    ("rmo", include_str!("../models/rmo.toml")),
];

/// The built-in models, strongest first: each allows everything that the one before it allows.
pub fn builtins() -> &'static [Model] {
    static MODELS: OnceLock<Vec<Model>> = OnceLock::new();
    MODELS.get_or_init(|| {
        SOURCES
            .iter()
            .map(|(name, text)| match parse::parse_text(&format!("{name}.toml"), text) {
                Ok(model) => model,
                // The texts are part of this crate, and its tests read each of them.
                Err(error) => unreachable!("{error}"),
            })
            .collect()
    })
}

/// The built-in model of this name.
pub fn builtin(name: &str) -> Option<&'static Model> {
    builtins().iter().find(|model| model.name == name)
}

/// The TOML text of a built-in model.
pub fn source(name: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
}

/// The names of the built-in models, as a list for messages.
fn names() -> String {
    SOURCES.map(|(name, _)| name).join(", ")
}
