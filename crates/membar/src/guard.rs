//! Bugs of ours: a panic becomes a message and exit code 4.
//!
//! Where one of many questions is being answered ([`guarded`]), only that question is lost. Anywhere else the process ends at
//! once, from the thread that panicked: others may wait for it forever.

use crate::failure::REPORT_BUG;
use std::any::Any;
use std::cell::Cell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// The exit code of a process that a bug of ours has ended.
pub const INTERNAL: u8 = 4;

thread_local! {
    /// Is somebody waiting for the panics of this thread?
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Panics that somebody waits for, with their places.
static CAUGHT: Mutex<Vec<(ThreadId, String)>> = Mutex::new(Vec::new());

/// Runs the command; from now on a panic is exit code 4.
pub fn run(command: impl FnOnce() -> ExitCode) -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        let what = info.to_string().lines().collect::<Vec<_>>().join(" ");
        // A proof that is written on a thread with a large stack panics where it is waited for once more.
        if GUARDED.get() || thread::current().name() == Some(crate::check::PROOF_THREAD) {
            CAUGHT.lock().unwrap_or_else(PoisonError::into_inner).push((thread::current().id(), what));
            return;
        }
        say(&what);
        std::process::exit(i32::from(INTERNAL));
    }));
    catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|payload| {
        say(&description(&*payload));
        ExitCode::from(INTERNAL)
    })
}

fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "internal error: {what}\n{REPORT_BUG}");
}

/// Runs `f`. The error describes its panic; whatever `f` was changing must not be used any more.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    GUARDED.set(outer);
    result.map_err(|payload| description(&*payload))
}

/// The hook's note about a panic of this thread, or of the one that it waited for.
fn description(payload: &(dyn Any + Send)) -> String {
    let mut caught = CAUGHT.lock().unwrap_or_else(PoisonError::into_inner);
    let own = caught.iter().rposition(|(id, _)| *id == thread::current().id()).or(caught.len().checked_sub(1));
    match own {
        Some(at) => caught.remove(at).1,
        None => match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(text), _) => (*text).to_owned(),
            (_, Some(text)) => text.clone(),
            _ => "a panic".into(),
        },
    }
}

/// Panics where tests want it, in debug builds only: `MEMBAR_DEBUG_PANIC` names the place.
#[inline]
pub fn provoke(place: impl FnOnce() -> String) {
    #[cfg(debug_assertions)]
    if let Ok(wanted) = std::env::var("MEMBAR_DEBUG_PANIC") {
        assert!(wanted != place(), "provoked at {wanted}");
    }
    #[cfg(not(debug_assertions))]
    let _ = place;
}
