//! Words of the JSON schema: a fixed set, so that a document that was read back is as good as one that was just made.
//!
//! A document with another word was not written by membar, or by a newer one; reading it says so.

use serde::de::{Deserialize, Deserializer, Error};

/// A word of the schema: a verdict, a kind, a rule.
pub type Word = &'static str;

const WORDS: [&str; 78] = [
    // verdicts, and why there is none
    "allowed",
    "forbidden",
    "undecided",
    "safe",
    "unsafe",
    "error",
    "time",
    "memory",
    "interrupted",
    "first",
    "input",
    "writes", //
    // how traces are decided, by which rules and axioms
    "values",
    "conflict",
    "rules",
    "too",
    "search",
    "timed",
    "R1",
    "R2",
    "R3",
    "R4",
    "R5",
    "R6",
    "R7",
    "SL",
    "A6",
    "Init",
    "Final",
    "Lock",
    "Time",
    "Assume",
    "Case",
    "LoadOp",
    "StoreStore",
    "StoreLoad",
    "Membar",
    "Value",
    "WriteOrder",
    "LockOrder",
    "Order", //
    // models, monitors, what is counted
    "sc",
    "tso",
    "pso",
    "sober",
    "sober-fixed",
    "class",
    "none",
    "interleaving",
    "execution",
    "executions",
    "states",
    "local",
    "global",
    // accesses, relations, steps, fences
    "load",
    "store",
    "rmw",
    "barrier",
    "acquire",
    "release",
    "po",
    "ppo",
    "rf",
    "co",
    "fr",
    "start",
    "join",
    "issue",
    "commit",
    "full",
    "store-store",
    // what programs do wrong, and what there is to know about them
    "deadlock",
    "livelock",
    "fault",
    "assembly",
    "library",
    "warning",
    "flag",
];

fn known<E: Error>(text: &str) -> Result<Word, E> {
    let word = WORDS.iter().find(|word| **word == text);
    word.copied().ok_or_else(|| {
        let shown: String = crate::style::safe(text).chars().take(40).collect();
        E::custom(format_args!("`{shown}` is not a word that membar writes there"))
    })
}

/// Reads a word.
pub(crate) fn word<'de, D: Deserializer<'de>>(from: D) -> Result<Word, D::Error> {
    known(&String::deserialize(from)?)
}

/// Reads a word that may be missing.
pub(crate) fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Word>, D::Error> {
    Option::<String>::deserialize(from)?.map(|text| known(&text)).transpose()
}
