//! Source lines and inlined calls.
//!
//! `addr2line` finds them. The names of functions come from the index instead of the mangled names that `addr2line`
//! has, so that they read like the source and need no demangling.

use crate::Frame;
use crate::demangle;
use crate::files::Files;
use crate::image::{Image, Shared};
use crate::index::Index;
use addr2line::Context;

/// How many calls that were inlined into each other are shown.
const MAX_INLINED: usize = 64;

pub(crate) struct Lines {
    context: Context<Shared>,
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
        Context::from_dwarf(image.shared_dwarf()).ok().map(|context| Lines { context })
    }

    /// The frames at an address, innermost first.
    pub fn frames(&self, pc: u64, image: &Image, index: &Index, files: &Files) -> Vec<Frame> {
        let mut shown = Vec::new();
        let unit = self.context.find_dwarf_and_unit(pc).skip_all_loads();
        let Ok(mut frames) = self.context.find_frames(pc).skip_all_loads() else { return shown };
        while let Ok(Some(frame)) = frames.next() {
            let die = unit.as_ref().zip(frame.dw_die_offset).and_then(|(unit, offset)| {
                offset.to_unit_section_offset(unit.unit).as_debug_info_offset().map(|offset| offset.0 as u64)
            });
            let function = die.and_then(|die| index.scopes.function_name(die, &index.types));
            // Assembly has lines but no functions.
            let function = function.or_else(|| image.function(pc).map(demangle::short));
            let place = frame.location.as_ref().filter(|place| place.file.is_some());
            if function.is_none() && place.is_none() {
                continue;
            }
            shown.push(Frame {
                function: function.unwrap_or_default(),
                file: place.and_then(|place| place.file).map(|file| files.shown(file)).unwrap_or_default(),
                line: place.and_then(|place| place.line).unwrap_or(0),
                column: place.and_then(|place| place.column).unwrap_or(0),
            });
            if shown.len() >= MAX_INLINED {
                break;
            }
        }
        shown
    }
}
