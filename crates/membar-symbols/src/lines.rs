//! Source lines and inlined calls.
//!
//! `addr2line` finds them. The names of functions come from the index instead of the mangled names that `addr2line`
//! has, so that they read like the source and need no demangling.

use crate::Frame;
use crate::demangle;
use crate::entry::Die;
use crate::files::Files;
use crate::image::{Image, Shared};
use crate::index::Index;
use addr2line::{Context, Location};
use rustc_hash::FxHashMap;

/// How many calls that were inlined into each other are shown.
const MAX_INLINED: usize = 64;
/// How far back a line is searched for, in bytes of code.
const LINELESS: u64 = 64;

pub(crate) struct Lines {
    context: Context<Shared>,
    /// What has been found out about files of the line tables.
    owners: FxHashMap<Box<str>, Owner>,
}

/// What is known about the debug information that names need.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub image: &'a Image,
    pub index: &'a Index,
    pub files: &'a Files,
}

/// Whose a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    User,
    /// Rust's library of atomics.
    Atomics,
    Library,
    /// Code that several lines share has no place, and belongs to the function that it is in.
    Unknown,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

impl Lines {
    /// None if there is no debug information.
    pub fn new(image: &Image) -> Option<Lines> {
        if !image.has_lines() {
            return None;
        }
        let context = Context::from_dwarf(image.shared_dwarf()).ok()?;
        Some(Lines { context, owners: FxHashMap::default() })
    }

    /// The frames at an address, innermost first.
    pub fn frames(&self, pc: u64, names: Names) -> Vec<Frame> {
        let mut shown = Vec::new();
        self.visit(self.with_line(pc, names), names.image, |pc, die, place| {
            let function = function(pc, die, names);
            if function.is_none() && place.is_none() {
                return true;
            }
            shown.push(Frame {
                function: function.unwrap_or_default(),
                file: place.and_then(|place| place.file).map(|file| names.files.shown(file)).unwrap_or_default(),
                line: place.and_then(|place| place.line).unwrap_or(0),
                column: place.and_then(|place| place.column).unwrap_or(0),
            });
            shown.len() < MAX_INLINED
        });
        shown
    }

    /// Whose the files of [`Lines::frames`] are: the same without names, for questions about a whole program.
    pub fn owners(&mut self, pc: u64, names: Names) -> Vec<Owner> {
        let (mut found, mut new) = (Vec::new(), Vec::new());
        let known = &self.owners;
        self.visit(self.with_line(pc, names), names.image, |_, _, place| {
            let file = place.and_then(|place| place.file);
            let owner = file.map_or(Owner::Unknown, |file| {
                known.get(file).copied().unwrap_or_else(|| {
                    let owner = names.files.owner(&names.files.shown(file));
                    new.push((file.into(), owner));
                    owner
                })
            });
            found.push(owner);
            found.len() < MAX_INLINED
        });
        self.owners.extend(new);
        found
    }

    /// The address whose frames are meant. Code that optimisation merged has no line: then it is that of the code before it.
    fn with_line(&self, pc: u64, names: Names) -> u64 {
        let innermost = |pc| {
            let mut first = None;
            self.visit(pc, names.image, |_, die, place| {
                first = Some((die, place.and_then(|place| place.line).unwrap_or(0)));
                false
            });
            first
        };
        let Some((die, 0)) = innermost(pc) else { return pc };
        let mut name = None;
        let mut same = |at: u64, other: Option<Die>| {
            die.is_some() && other == die
                || function(at, other, names) == *name.get_or_insert_with(|| function(pc, die, names))
        };
        for at in (pc.saturating_sub(LINELESS)..pc).rev() {
            match innermost(at) {
                Some((other, line)) if same(at, other) => {
                    if line > 0 {
                        return at;
                    }
                }
                _ => break,
            }
        }
        pc
    }

    /// Calls `each` with the address, the function's entry and the place of each frame, innermost first, until it returns false.
    fn visit(&self, pc: u64, image: &Image, mut each: impl FnMut(u64, Option<Die>, Option<&Location>) -> bool) {
        let unit = self.context.find_dwarf_and_unit(pc).skip_all_loads();
        let Ok(mut frames) = self.context.find_frames(pc).skip_all_loads() else { return };
        while let Ok(Some(frame)) = frames.next() {
            let die = unit.as_ref().zip(frame.dw_die_offset).and_then(|(unit, offset)| {
                offset.to_unit_section_offset(unit.unit).as_debug_info_offset().map(|offset| offset.0 as u64)
            });
            let place = frame.location.as_ref().filter(|place| place.file.is_some());
            // Assembly has lines but no functions.
            if die.is_none() && place.is_none() && image.function(pc).is_none() {
                continue;
            }
            if !each(pc, die, place) {
                break;
            }
        }
    }
}

/// The name of the function with this entry, or at least of the symbol at this address.
fn function(pc: u64, die: Option<Die>, names: Names) -> Option<String> {
    let named = die.and_then(|die| names.index.scopes.function_name(die, &names.index.types));
    named.or_else(|| names.image.function(pc).map(demangle::short))
}
