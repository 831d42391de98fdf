//! The other models' verdicts on a trace.

use super::super::page::{ModelVerdict, Models};
use crate::style::list;
use membar_core::{Model, VerdictKind};

/// `stronger[i] = (a, b)`: b allows everything that a allows, directly.
const WEAKER: [(&str, &str); 14] = [
    ("sc", "tso"),
    ("sc", "lc"),
    // As far as no two threads share a clock.
    ("tso", "lc"),
    ("tso", "pso"),
    ("tso", "wc"),
    ("wc", "rc"),
    ("rc", "rcpc"),
    ("rcpc", "ec"),
    ("rcpc", "scope"),
    ("pso", "wmo"),
    ("ec", "wmo"),
    ("scope", "wmo"),
    ("wmo", "rmo"),
    ("pso", "rmo"),
];

/// Does the second model allow everything that the first allows?
pub(super) fn is_weaker(first: &str, second: &str) -> bool {
    WEAKER.iter().any(|&(a, b)| a == first && (b == second || is_weaker(b, second)))
}

/// The same, without what holds only as far as no two threads share a clock.
pub(super) fn is_surely_weaker(first: &str, second: &str) -> bool {
    is_weaker(first, second) && (second != "lc" || first == "sc")
}

/// Of these models those that are not weaker than another one of them.
pub(super) fn strongest<'a>(models: &[&'a ModelVerdict]) -> Vec<&'a str> {
    let is_strongest = |model: &&&ModelVerdict| !models.iter().any(|other| is_weaker(&other.name, &model.name));
    models.iter().filter(is_strongest).map(|model| model.name.as_str()).collect()
}

pub(super) fn models(all: &[ModelVerdict], model: &Model) -> Option<Models> {
    if all.is_empty() {
        return None;
    }
    let with = |verdict: VerdictKind| -> Vec<&str> {
        all.iter().filter(|model| model.verdict == verdict).map(|model| model.name.as_str()).collect()
    };
    let (allow, forbid, open) =
        (with(VerdictKind::Allowed), with(VerdictKind::Forbidden), with(VerdictKind::Undecided));
    let owned = |names: Vec<&str>| names.into_iter().map(String::from).collect::<Vec<_>>();
    let allowing: Vec<&ModelVerdict> = all.iter().filter(|model| model.verdict == VerdictKind::Allowed).collect();
    let strongest = strongest(&allowing);
    let weakest: Vec<&str> =
        allow.iter().filter(|&&m| !allow.iter().any(|other| is_weaker(m, other))).copied().collect();
    let (strongest, weakest) = (owned(strongest), owned(weakest));
    let mut words = match (allow.is_empty(), forbid.is_empty()) {
        (true, _) if open.is_empty() => "Every built-in model forbids it.".to_owned(),
        (true, _) => "No built-in model was found to allow it.".to_owned(),
        (_, true) if open.is_empty() => "Every built-in model allows it, even sc.".to_owned(),
        _ => format!(
            "The strongest built-in {} that allow{} it: {}. Forbidden by {}.",
            if strongest.len() == 1 { "model" } else { "models" },
            if strongest.len() == 1 { "s" } else { "" },
            list(&strongest, "and"),
            if forbid.is_empty() { "none".into() } else { list(&owned(forbid.clone()), "and") },
        ),
    };
    if !open.is_empty() {
        words.push_str(&format!(" Not decided in the time given: {}.", list(&owned(open), "and")));
    }
    if !all.iter().any(|known| known.name == model.name) {
        words.push_str(&format!(" {} is a separate model, not among these.", model.name));
    }
    Some(Models { all: all.to_vec(), strongest, weakest, forbid: owned(forbid), words })
}
