//! The state that `--resume` keeps on disk.

use crate::Failure;
use crate::programs::hash;
use crate::report::safe;
use crate::verify::{Checkpoint, Settings};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// A verification that can be taken up again.
pub struct State {
    /// Where it is.
    pub checkpoint: Checkpoint,
    /// Where the searches of the executions of models are.
    pub weak: Vec<Checkpoint>,
    /// Facts learnt about the program.
    pub facts: Value,
    /// How long it took to get there.
    pub seconds: f64,
}

/// The first line of what `--resume` keeps; the second one has the checkpoints.
#[derive(Serialize, Deserialize)]
struct Saved {
    membar_checkpoint: u32,
    /// A hash of the program: a search makes no sense on another one.
    program: u64,
    /// A hash of the second line: a search that was damaged could miss something.
    checkpoint: u64,
    seconds: f64,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    facts: Value,
}

const SAVED: u32 = 3;

fn bad(path: &Path, why: &str) -> Failure {
    Failure::Usage(format!("error: {} {why}\n = help: remove it to begin again", safe(&path.to_string_lossy())))
}

/// The file holds something else.
pub fn no_state(path: &Path) -> Failure {
    bad(path, "is not a saved verification")
}

/// The state that the file keeps; `None` if there is no file.
pub fn load(path: &Path, fingerprint: u64, settings: Settings) -> Result<Option<State>, Failure> {
    let shown = safe(&path.to_string_lossy());
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::Usage(format!("error: cannot read {shown}: {error}"))),
    };
    let bad = |why: &str| bad(path, why);
    let no_state = || no_state(path);
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or_else(no_state)?;
    let (first, second) = (&bytes[..end], &bytes[end + 1..]);
    let saved: Saved = serde_json::from_slice(first).map_err(|_| no_state())?;
    if saved.membar_checkpoint != SAVED {
        return Err(bad("was written by another version"));
    }
    if saved.checkpoint != hash(second) {
        return Err(bad("is damaged"));
    }
    if saved.program != fingerprint {
        return Err(bad("belongs to another program"));
    }
    let (checkpoint, weak): (Checkpoint, Vec<Checkpoint>) = serde_json::from_slice(second).map_err(|_| no_state())?;
    if checkpoint.settings != settings {
        return Err(bad("was begun with other settings (model, strategy and its numbers, monitor or steps)"));
    }
    Ok(Some(State { checkpoint, weak, facts: saved.facts, seconds: saved.seconds }))
}

/// Keeps the state in a new file for temporary ones.
pub fn keep(fingerprint: u64, state: &State) -> Result<PathBuf, Failure> {
    let failed = |error: io::Error| Failure::Usage(format!("error: cannot keep the state: {error}"));
    let file = tempfile::Builder::new().prefix("membar-").suffix(".state").tempfile().map_err(failed)?;
    save(file.path(), fingerprint, state)?;
    file.into_temp_path().keep().map_err(|error| failed(error.error))
}

/// Keeps the state.
pub fn save(path: &Path, fingerprint: u64, state: &State) -> Result<(), Failure> {
    let shown = safe(&path.to_string_lossy());
    let failed = |error: io::Error| Failure::Usage(format!("error: cannot write {shown}: {error}"));
    let second = serde_json::to_vec(&(&state.checkpoint, &state.weak)).map_err(|error| failed(error.into()))?;
    let State { facts, seconds, .. } = state;
    let first = Saved {
        membar_checkpoint: SAVED,
        program: fingerprint,
        checkpoint: hash(&second),
        seconds: *seconds,
        facts: facts.clone(),
    };
    let mut bytes = serde_json::to_vec(&first).map_err(|error| failed(error.into()))?;
    bytes.push(b'\n');
    bytes.extend(second);
    // Written beside it and renamed: an interruption leaves the old state or the new one.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path)).map_err(failed)
}
