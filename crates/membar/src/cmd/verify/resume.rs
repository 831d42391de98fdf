//! What `--resume` keeps on disk.

use crate::stop::Failure;
use membar::litmus::LitmusTest;
use membar::report::safe;
use membar::verify::{Checkpoint, Settings};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// The first line of what `--resume` keeps; the second one is the checkpoint.
#[derive(Serialize, Deserialize)]
struct Saved {
    membar_checkpoint: u32,
    /// A hash of the program: a search makes no sense on another one.
    program: u64,
    /// A hash of the second line: a search that was damaged could miss something.
    checkpoint: u64,
    seconds: f64,
}

const SAVED: u32 = 1;

/// FNV-1a: stable from one build to the next.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn fingerprint(test: &LitmusTest) -> u64 {
    hash(format!("{:?}", test.code).as_bytes())
}

/// The state that the file keeps, and how long it took to get there; `None` if there is no file.
pub fn load(path: &Path, test: &LitmusTest, settings: Settings) -> Result<Option<(Checkpoint, f64)>, Failure> {
    let shown = safe(&path.to_string_lossy());
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::Usage(format!("error: cannot read {shown}: {error}"))),
    };
    let bad = |why: &str| Failure::Usage(format!("error: {shown} {why}\n = help: remove it to begin again"));
    let no_state = || bad("is no state of a verification");
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or_else(no_state)?;
    let (first, second) = (&bytes[..end], &bytes[end + 1..]);
    let saved: Saved = serde_json::from_slice(first).map_err(|_| no_state())?;
    if saved.membar_checkpoint != SAVED {
        return Err(bad("was written by another version"));
    }
    if saved.checkpoint != hash(second) {
        return Err(bad("is damaged"));
    }
    if saved.program != fingerprint(test) {
        return Err(bad("belongs to another program"));
    }
    let checkpoint: Checkpoint = serde_json::from_slice(second).map_err(|_| no_state())?;
    if checkpoint.settings != settings {
        return Err(bad("was begun with other settings (model, strategy and its numbers, monitor or steps)"));
    }
    Ok(Some((checkpoint, saved.seconds)))
}

/// Keeps the state.
pub fn save(path: &Path, test: &LitmusTest, checkpoint: &Checkpoint, seconds: f64) -> Result<(), Failure> {
    let shown = safe(&path.to_string_lossy());
    let failed = |error: io::Error| Failure::Usage(format!("error: cannot write {shown}: {error}"));
    let second = serde_json::to_vec(checkpoint).map_err(|error| failed(error.into()))?;
    let first = Saved { membar_checkpoint: SAVED, program: fingerprint(test), checkpoint: hash(&second), seconds };
    let mut bytes = serde_json::to_vec(&first).map_err(|error| failed(error.into()))?;
    bytes.push(b'\n');
    bytes.extend(second);
    // Written beside it and renamed: an interruption leaves the old state or the new one.
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path)).map_err(failed)
}
