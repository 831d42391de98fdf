//! Settings that do not fit together.
//!
//! A model has to keep the invariant of [`Model`], on which every algorithm relies:
//!
//! 1. load-store holds at least on one address. Otherwise a load could return a value that its own thread writes only
//!    later, and a trace would be its own cause.
//! 2. store-store holds at least on one address. Otherwise one thread's writes to an address could take effect in the
//!    wrong order, and "the last store of this thread" would mean nothing to a load.
//! 3. Where coherence is claimed, load-load holds at least on one address: two loads that pass each other see an address
//!    go back.
//! 4. Where coherence is claimed, a load sees its own thread's earlier store: either it is forwarded, or store-load
//!    holds at least on one address.
//!
//! With 1 to 4 the claim is true: along one thread, the write that an access of an address returns or makes never goes
//! back in memory order.

use crate::error::line_of;
use crate::parse::{Doc, Set};
use crate::{ErrorKind, ModelError};
use membar_core::{Model, When};

/// The settings that take part in a contradiction, with their places.
pub(crate) struct Settings {
    pub load_load: Set<When>,
    pub load_store: Set<When>,
    pub store_load: Set<When>,
    pub store_store: Set<When>,
    pub store_forwarding: Option<Set<bool>>,
    pub coherence: Option<Set<bool>>,
}

pub(crate) fn check(doc: &Doc<'_>, model: &Model, set: &Settings) -> Result<(), ModelError> {
    let told = |key: &str, set: &Set<When>| format!("`{key} = {}`", doc.shown(&set.span));
    let error =
        |set: &Set<When>, message: String| ModelError::new(ErrorKind::Contradiction, message).at(doc.place(&set.span));
    for (key, entry, why) in [
        ("load-store", &set.load_store, "a load could return a value that its own thread writes only later"),
        ("store-store", &set.store_store, "one thread's writes to one address could take effect in the wrong order"),
    ] {
        if !entry.value.on_one_address() {
            return Err(error(entry, format!("{} does not keep the order on one address", told(key, entry)))
                .note(format!("every model keeps it: otherwise {why}"))
                .help(add_same_address(entry.value)));
        }
    }
    let Some(claim) = set.coherence.as_ref().filter(|claim| claim.value) else {
        return Ok(());
    };
    let claimed = format!("coherence is claimed at line {}", line_of(doc.text, claim.span.start));
    if !set.load_load.value.on_one_address() {
        return Err(error(
            &set.load_load,
            format!("`coherence = true` contradicts {}", told("load-load", &set.load_load)),
        )
        .note(claimed)
        .note("two loads of one address that pass each other see it go back in time")
        .help(format!("{}, or claim no coherence", add_same_address(set.load_load.value))));
    }
    if !model.store_forwarding && !set.store_load.value.on_one_address() {
        let forwarding = set.store_forwarding.as_ref().map_or(0, |set| line_of(doc.text, set.span.start));
        return Err(error(
            &set.store_load,
            format!(
                "`coherence = true` contradicts {} with `store-forwarding = false`",
                told("store-load", &set.store_load)
            ),
        )
        .note(claimed)
        .note(format!("store forwarding is switched off at line {forwarding}"))
        .note("a load could miss the store that its own thread made before it")
        .help(format!(
            "{}, or switch store forwarding on, or claim no coherence",
            add_same_address(set.store_load.value)
        )));
    }
    Ok(())
}

fn add_same_address(now: When) -> &'static str {
    if now.time { r#"write `["same-address", "time"]`"# } else { r#"write `"same-address"` or `"always"`"# }
}
