//! Memory as pieces that every access covers whole: the granules of which each has its own source and write order.
//!
//! Where all accesses to a location have its size, it is one granule. Where they differ, it is cut to the smallest of
//! them; an access whose address is not known before the test runs can go anywhere.

use super::paths::{Expr, Path};
use crate::code::Cell;
use std::ops::Range;

/// Bytes of an access, at most, and so its granules.
pub(crate) const GRANULES: usize = 16;

/// A granule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Granule {
    pub(crate) at: u64,
    /// In bytes.
    pub(crate) size: u8,
    /// What it holds at the start.
    pub(crate) init: u64,
}

/// Memory, by rising address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) granules: Vec<Granule>,
}

/// The low bytes of a value.
pub(crate) fn low(value: u64, bytes: u8) -> u64 {
    if bytes >= 8 { value } else { value & ((1 << (8 * bytes)) - 1) }
}

impl Layout {
    /// Cuts memory as the accesses on these ways need it.
    pub(crate) fn new(cells: &[Cell], paths: &[Vec<Path>]) -> Layout {
        let mut order: Vec<&Cell> = cells.iter().collect();
        order.sort_by_key(|cell| cell.pointer);
        let accesses = || {
            paths.iter().flatten().flat_map(|path| {
                path.events.iter().map(|event| {
                    let at = match path.nodes[event.at as usize] {
                        Expr::Value(at) => Some(at),
                        _ => None,
                    };
                    (at, u64::from(event.ty.bits / 8))
                })
            })
        };
        let mut layout = Layout::default();
        for (index, cell) in order.iter().enumerate() {
            let begin = cell.pointer;
            let room = order.get(index + 1).map_or(u64::MAX, |next| next.pointer - begin);
            // An access may be wider than the declared type, as in tests that do not care about sizes.
            let own = |at: Option<u64>| at.is_some_and(|at| at >= begin && at - begin < 64.min(room));
            let wide = accesses().filter(|&(at, _)| own(at)).map(|(at, bytes)| at.unwrap_or(begin) - begin + bytes);
            let anywhere = accesses().filter(|(at, _)| at.is_none() && room >= 64).map(|(_, bytes)| bytes);
            let size = wide.chain(anywhere).max().unwrap_or(0).max(u64::from(cell.ty.bits / 8)).min(room);
            let mut piece = size.next_power_of_two().min(8);
            for (at, bytes) in accesses() {
                match at {
                    Some(at) if at.saturating_add(bytes) > begin && at < begin + size => {
                        let offset = at.abs_diff(begin);
                        let aligned = if offset == 0 { bytes } else { bytes.min(1 << offset.trailing_zeros()) };
                        piece = piece.min(aligned);
                    }
                    None => piece = piece.min(bytes),
                    Some(_) => {}
                }
            }
            for offset in (0..size).step_by(piece as usize) {
                let bytes = piece.min(size - offset) as u8;
                let init = low(cell.init.checked_shr(8 * offset as u32).unwrap_or(0), bytes);
                layout.granules.push(Granule { at: begin + offset, size: bytes, init });
            }
        }
        layout
    }

    /// The granules of an access; `None` if it is not to memory of the test, or cuts a granule.
    pub(crate) fn covered(&self, at: u64, bytes: u8) -> Option<Range<usize>> {
        let first = self.granules.binary_search_by_key(&at, |granule| granule.at).ok()?;
        let (mut next, end) = (at, at.checked_add(u64::from(bytes))?);
        let mut last = first;
        while next < end {
            let granule = self.granules.get(last)?;
            if granule.at != next {
                return None;
            }
            next += u64::from(granule.size);
            last += 1;
        }
        (next == end && last - first <= GRANULES).then_some(first..last)
    }
}
