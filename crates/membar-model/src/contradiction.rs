//! Settings that do not fit together.
//!
//! A model has to keep the invariant of [`Model`], on which every algorithm relies:
//!
//! 1. load-store holds at least on one address. Otherwise a load could return a value that its own thread writes only
//!    later, and a trace would be its own cause.
//! 2. store-store holds at least on one address. Otherwise one thread's writes to an address could take effect in the
//!    wrong order, and "the last store of this thread" would mean nothing to a load.
//! 3. Where sessions exclude each other, the four pairs of acquire and release hold at least on one lock. Otherwise a
//!    thread's sessions could take each other's place, and a session could end before it begins.
//! 4. Where coherence is claimed, load-load holds at least on one address between loads of different writes: two such loads
//!    that pass each other see an address go back.
//! 5. Where coherence is claimed, a load sees its own thread's earlier store: either it is forwarded, or store-load
//!    holds at least on one address.
//! 6. Where the writes of an address have no order, coherence is not claimed: there is nothing to go back in.
//! 7. Where the writes of an address have no order, store-load holds at least on one address. Otherwise memory order would
//!    not tell that a thread's own store is the newest for its later loads.
//!
//! With 1, 2, 4 and 5 the claim is true: along one thread, the write that an access of an address returns or makes never
//! goes back in memory order.

use crate::error::line_of;
use crate::parse::{Doc, Set};
use crate::table::{self, Entry, Table};
use crate::{ErrorKind, ModelError};
use membar_core::{Kind, Model, When};

/// The settings that take part in a contradiction, with their places.
pub(crate) struct Settings {
    pub table: Table,
    pub store_forwarding: Option<Set<bool>>,
    pub coherence: Option<Set<bool>>,
    pub write_order: Option<Set<bool>>,
}

/// The settings with the text that they stand in.
struct Claims<'a> {
    doc: &'a Doc<'a>,
    model: &'a Model,
    set: &'a Settings,
}

pub(crate) fn check(doc: &Doc<'_>, model: &Model, set: &Settings) -> Result<(), ModelError> {
    let claims = Claims { doc, model, set };
    claims.accesses()?;
    claims.locks()?;
    claims.coherence()?;
    claims.write_order()
}

impl Claims<'_> {
    /// The entry for these two if it does not keep their order on one address or lock.
    fn weak(&self, earlier: Kind, later: Kind) -> Option<&Entry> {
        self.set.table.entry(earlier, later).filter(|entry| !entry.when.on_one_address())
    }

    fn error(&self, entry: &Entry, message: String) -> ModelError {
        ModelError::new(ErrorKind::Contradiction, message).at(self.doc.place(&entry.span))
    }

    fn told(&self, entry: &Entry) -> String {
        format!("`{} = {}`", entry.key, self.doc.shown(&entry.span))
    }

    fn line(&self, switch: &Option<Set<bool>>) -> usize {
        switch.as_ref().map_or(0, |set| line_of(self.doc.text, set.span.start))
    }

    fn accesses(&self) -> Result<(), ModelError> {
        for (earlier, why) in [
            (Kind::Load, "a load could return a value that its own thread writes only later"),
            (Kind::Store, "one thread's writes to one address could take effect in the wrong order"),
        ] {
            if let Some(entry) = self.weak(earlier, Kind::Store) {
                return Err(self
                    .error(entry, format!("{} does not keep the order on one address", self.told(entry)))
                    .note(format!("every model keeps it: otherwise {why}"))
                    .help(add(entry.when, "same-address")));
            }
        }
        Ok(())
    }

    fn locks(&self) -> Result<(), ModelError> {
        let Some(first) = self.set.table.locks.as_ref().filter(|_| self.model.lock_exclusion) else { return Ok(()) };
        let why = "sessions that exclude each other need it: otherwise one could end before it begins";
        for earlier in [Kind::Acquire, Kind::Release] {
            for later in [Kind::Acquire, Kind::Release] {
                if let Some(entry) = self.weak(earlier, later) {
                    return Err(self
                        .error(entry, format!("{} does not keep the order on one lock", self.told(entry)))
                        .note(why)
                        .help(format!("{}, or switch lock exclusion off", add(entry.when, "same-lock"))));
                }
                if self.set.table.entry(earlier, later).is_none() {
                    let message = format!("`ppo.{}` is missing", table::name(earlier, later));
                    return Err(ModelError::new(ErrorKind::MissingKey, message)
                        .at(self.doc.place(first))
                        .note("since this key is about locks, what no key gives is \"never\"")
                        .note(why)
                        .help("add `sync-sync = \"same-lock\"` below `[ppo]`, or switch lock exclusion off"));
                }
            }
        }
        Ok(())
    }

    fn coherence(&self) -> Result<(), ModelError> {
        let Some(claim) = self.set.coherence.as_ref().filter(|claim| claim.value) else { return Ok(()) };
        let claimed = format!("coherence is claimed at line {}", line_of(self.doc.text, claim.span.start));
        if !self.model.write_order {
            let message = "`coherence = true` contradicts `write-order = false`".to_owned();
            return Err(ModelError::new(ErrorKind::Contradiction, message)
                .at(self.doc.place(&claim.span))
                .note(format!("the write order is switched off at line {}", self.line(&self.set.write_order)))
                .note("where the writes of an address have no order, no thread can see it go back or not go back")
                .help("switch the write order on, or claim no coherence"));
        }
        if let Some(entry) = self.weak(Kind::Load, Kind::Load).filter(|entry| !entry.when.coherent()) {
            return Err(self
                .error(entry, format!("`coherence = true` contradicts {}", self.told(entry)))
                .note(claimed)
                .note("two loads of one address that pass each other see it go back in time")
                .help(format!("{}, or claim no coherence", add(entry.when, "same-address"))));
        }
        let entry = self.weak(Kind::Store, Kind::Load).filter(|_| !self.model.store_forwarding);
        if let Some(entry) = entry {
            let forwarding = self.line(&self.set.store_forwarding);
            let told = self.told(entry);
            return Err(self
                .error(entry, format!("`coherence = true` contradicts {told} with `store-forwarding = false`"))
                .note(claimed)
                .note(format!("store forwarding is switched off at line {forwarding}"))
                .note("a load could miss the store that its own thread made before it")
                .help(format!(
                    "{}, or switch store forwarding on, or claim no coherence",
                    add(entry.when, "same-address")
                )));
        }
        Ok(())
    }

    fn write_order(&self) -> Result<(), ModelError> {
        let weak = self.weak(Kind::Store, Kind::Load).filter(|_| !self.model.write_order);
        let Some(entry) = weak else { return Ok(()) };
        Err(self
            .error(entry, format!("`write-order = false` contradicts {}", self.told(entry)))
            .note(format!("the write order is switched off at line {}", self.line(&self.set.write_order)))
            .note("a load could miss the store that its own thread made before it")
            .help(format!("{}, or switch the write order on", add(entry.when, "same-address"))))
    }
}

/// The text to write so that `condition` holds too.
fn add(now: When, condition: &str) -> String {
    let others = [(now.same_session, "same-session"), (now.time, "time")];
    let others: String = others.iter().filter(|(on, _)| *on).map(|(_, name)| format!(", \"{name}\"")).collect();
    if others.is_empty() {
        format!("write `\"{condition}\"` or `\"always\"`")
    } else {
        format!("write `[\"{condition}\"{others}]`")
    }
}
