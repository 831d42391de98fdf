//! What several tests need.

use membar_core::{Model, Trace};

/// How many random traces are made: as many as the environment asks for, or else this many.
pub fn traces(usual: u64) -> u64 {
    std::env::var("MEMBAR_ORACLE_TRACES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

pub fn text(trace: &Trace) -> String {
    let mut text = Vec::new();
    membar_trace::write_trace(trace, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

pub fn model(name: &str) -> &'static Model {
    membar_model::builtin(name).unwrap()
}
