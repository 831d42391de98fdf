//! Monitors for C11 (and C++20): robustness against RC11, and data races.
//!
//! Both need C11's happens-before ([`hb`]), which they share.

pub mod hb;
pub mod mixed;
pub mod races;
pub mod robust;

use crate::sets::{Growing, Overtaken, TooLong};
use hb::HappensBefore;
use membar_core::{Access, Performed};
use races::{Race, Races};
use robust::Rc11;

/// What to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Executions under RC11 that are not SC.
    pub robustness: bool,
    /// Data races.
    pub races: bool,
}

/// Follows an execution, and looks for what is wanted. Violations of SC that are races count as races alone, where both are wanted.
#[derive(Clone, Debug)]
pub struct C11Monitor {
    hb: HappensBefore,
    robust: Option<Growing<Rc11>>,
    races: Option<Races>,
    undoable: bool,
}

impl C11Monitor {
    /// For executions of this many threads. If it is not undoable, executions can only be taken back as a whole.
    pub fn new(wanted: Wanted, threads: usize, undoable: bool) -> C11Monitor {
        let rc11 = Rc11 { threads, undoable, atomic_only: wanted.races };
        C11Monitor {
            hb: HappensBefore::new(threads, undoable),
            robust: wanted.robustness.then(|| Growing::of(rc11)),
            races: wanted.races.then(|| Races::new(threads)),
            undoable,
        }
    }

    /// Whether it looks for executions that are not SC.
    pub fn looks_for_violations(&self) -> bool {
        self.robust.is_some()
    }

    /// Synchronises by bytes from now on, the beginning.
    pub fn tell_bytes_apart(&mut self) {
        self.hb.tell_bytes_apart();
    }

    /// Takes the next access of the execution: the store that it could have overtaken, if there is one. Gives the races that it has
    /// with earlier accesses.
    #[inline]
    pub fn push(&mut self, performed: &Performed, raced: impl FnMut(Race)) -> Result<Option<Overtaken>, TooLong> {
        self.hb.push(performed);
        let found = match &mut self.robust {
            Some(robust) => match robust.push_given(performed, &self.hb) {
                Ok(found) => found,
                Err(too_long) => {
                    if self.undoable {
                        self.hb.pop();
                    }
                    return Err(too_long);
                }
            },
            None => None,
        };
        if let Some(races) = &mut self.races {
            races.push(performed, &self.hb, raced);
        }
        Ok(found)
    }

    /// Takes back the last access.
    ///
    /// # Panics
    ///
    /// If there is none, or the monitor only goes forward.
    #[inline]
    pub fn pop(&mut self) {
        self.hb.pop();
        if let Some(robust) = &mut self.robust {
            robust.pop();
        }
        if let Some(races) = &mut self.races {
            races.pop();
        }
    }

    /// Takes back all accesses.
    pub fn restart(&mut self) {
        self.hb.restart();
        if let Some(robust) = &mut self.robust {
            robust.restart();
        }
        if let Some(races) = &mut self.races {
            races.restart();
        }
    }

    /// The store that this next access of the thread could overtake, if it were made now or later.
    pub fn tried(&self, thread: usize, access: Access) -> Option<Overtaken> {
        self.robust.as_ref()?.tried_given(thread, access, &self.hb)
    }
}
