//! The file that a campaign continues from.
//!
//! It holds what makes tests what they are, and the counters; the number of tests is the number of the next one. It is written
//! next to its place and renamed, so readers see an old one or a new one, never half of it.

use super::{Plan, Source};
use crate::Failure;
use crate::report::campaign::Counts;
use crate::report::safe;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

const SCHEMA: u32 = 1;

#[derive(Serialize, Deserialize)]
struct State {
    schema: u32,
    campaign: Map<String, Value>,
    counters: Counts,
}

/// The settings that must be equal for a campaign to continue.
fn campaign(plan: &Plan, source: &dyn Source) -> Map<String, Value> {
    let profiles: Vec<Value> =
        plan.profiles.iter().map(|chosen| super::bundle::profile_json(&chosen.profile)).collect();
    let version = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    let model = &plan.model.model;
    let entries = [
        ("version", json!(version)),
        ("source", source.describe()),
        ("model", json!({ "name": model.name, "text": fnv(&format!("{model:?}")) })),
        ("profiles", json!(profiles)),
        ("seed", json!(plan.seed)),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// FNV-1a: the same in every version of the compiler.
fn fnv(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

/// The counters of an earlier run, or those of none if there is no file.
pub fn load(path: &Path, plan: &Plan, source: &dyn Source) -> Result<Counts, Failure> {
    let shown = safe(&path.to_string_lossy());
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Counts::default()),
        Err(error) => return Err(Failure::Usage(format!("error: cannot read the state file {shown}: {error}"))),
    };
    let unusable = |why: String| {
        let help = "give --resume another file, or remove this one to start over";
        Failure::Usage(format!(
            "error: {shown} is not the state of a campaign that can be resumed: {why}\n = help: {help}"
        ))
    };
    let state: State = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
    if state.schema != SCHEMA {
        return Err(unusable(format!("its schema is {}, not {SCHEMA}", state.schema)));
    }
    let wanted = campaign(plan, source);
    if let Some((key, kept, now)) = difference("", &Value::Object(state.campaign), &Value::Object(wanted)) {
        let help = "give the same machine, bugs, buffers, model, profiles, sizes, timestamps and seed, or another --resume file";
        return Err(Failure::Usage(format!(
            "error: {shown} belongs to another campaign: its {key} is {kept}, not {now}\n = help: {help}"
        )));
    }
    Ok(state.counters)
}

/// The first place in which two values differ: `profiles.0.threads`, and what is there.
fn difference(at: &str, a: &Value, b: &Value) -> Option<(String, String, String)> {
    let inside = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match (a, b) {
        _ if a == b => None,
        (Value::Object(one), Value::Object(two)) => one.keys().chain(two.keys()).find_map(|key| {
            let entry = |object: &Map<String, Value>| object.get(key).cloned().unwrap_or(Value::Null);
            difference(&inside(key), &entry(one), &entry(two))
        }),
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            one.iter().zip(two).enumerate().find_map(|(i, (a, b))| difference(&inside(&i.to_string()), a, b))
        }
        _ => Some((safe(at), brief(a), brief(b))),
    }
}

/// A value in few words.
fn brief(value: &Value) -> String {
    let text = safe(&value.to_string());
    if text.chars().count() > 60 { text.chars().take(60).collect::<String>() + "…" } else { text }
}

/// Writes the state.
pub fn save(path: &Path, plan: &Plan, source: &dyn Source, counters: &Counts) -> Result<(), Failure> {
    let state = State { schema: SCHEMA, campaign: campaign(plan, source), counters: counters.clone() };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".membar-state-").tempfile_in(directory)?;
        file.write_all(format!("{}\n", serde_json::to_string(&state)?).as_bytes())?;
        file.as_file().sync_data()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| {
        let shown = safe(&path.to_string_lossy());
        Failure::Usage(format!("error: cannot write the state file {shown}: {error}"))
    })
}
