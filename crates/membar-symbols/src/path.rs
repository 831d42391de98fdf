//! From bytes of a variable to the path that the source would write for them: `.head`, `[3].next`.
//!
//! # Problem
//!
//! Given a type and a range of bytes in it, find the member or element that is just these bytes.
//!
//! # Algorithm
//!
//! Walk down the type. In an array, the index is a division. In a record, go into the first member that contains the
//! range and in which the walk ends at a scalar of just this size; if there is none, into the first that contains it.
//! (In a union several do, and an empty base class lies on top of the first member.)
//!
//! A range that is not a single member or element is named by what it covers: `s` if it is all of it, else `s.{a,b}`,
//! `a[2..4]` or, for bytes that are not an object by themselves, `x+1`.
//!
//! # Guarantees
//!
//! * Records of system headers are silent: no member or index of theirs is shown, so that the lock word of a mutex is
//!   the mutex. A record of the user's inside one (`std::optional<node>`) speaks again.
//! * At most [`MAX_STEPS`] types are examined, whatever the debug information says.

use crate::Scalar;
use crate::entry::Die;
use crate::index::Index;
use crate::types::{Kind, Member, Type};

/// How many types one walk looks at.
const MAX_STEPS: u32 = 2048;
/// How deep it goes.
const MAX_DEPTH: u32 = 48;
/// How many members are listed in `{a,b,…}`.
const MAX_LISTED: usize = 4;

/// Bytes within something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reach {
    /// From its start.
    pub at: u64,
    /// At least 1.
    pub size: u64,
}

/// The meaning of some bytes.
#[derive(Debug)]
pub(crate) struct Spot {
    /// The path after the variable's name.
    pub path: String,
    pub ty: Scalar,
    /// The bytes are one scalar.
    exact: bool,
}

/// Which parts of the path are shown on the way down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    Loud,
    /// `std::array`: the index, but not the name of the member that holds the elements.
    IndexOnly,
    Silent,
}

/// The path of these bytes in a variable of this type.
pub(crate) fn spot(index: &Index, ty: Die, reach: Reach) -> Spot {
    Walk { index, steps: MAX_STEPS }.go(ty, reach, Voice::Loud, MAX_DEPTH)
}

/// The path of the largest thing that begins here, arrays apart: the target of a pointer to here. None if nothing does.
pub(crate) fn object(index: &Index, ty: Die, at: u64) -> Option<String> {
    let walk = Walk { index, steps: MAX_STEPS };
    let (mut die, mut at, mut path) = (ty, at, String::new());
    for _ in 0..MAX_DEPTH {
        let ty = index.types.bare(die)?;
        match &ty.kind {
            Kind::Array { element: Some(element), counts } => {
                let size = index.types.size(*element).filter(|size| *size > 0)?;
                path.push_str(&indices(at / size, counts));
                (die, at) = (*element, at % size);
            }
            _ if at == 0 => return Some(path),
            Kind::Record { members, closure, .. } if voice_of(ty) == Voice::Loud => {
                let contains = |member: &&Member| {
                    let (from, to) = walk.extent(member);
                    member.bits.is_none() && (from..to).contains(&at)
                };
                let member = members.iter().find(contains)?;
                if let Some(name) = &member.name {
                    path.push('.');
                    path.push_str(shown(name, *closure));
                }
                (die, at) = (member.ty?, at - member.at);
            }
            _ => return None,
        }
    }
    None
}

struct Walk<'a> {
    index: &'a Index,
    steps: u32,
}

impl Walk<'_> {
    fn go(&mut self, die: Die, reach: Reach, voice: Voice, depth: u32) -> Spot {
        let types = &self.index.types;
        self.steps = self.steps.saturating_sub(1);
        let Some(ty) = types.bare(die).filter(|_| depth > 0 && self.steps > 0) else {
            return bytes(reach, Scalar::Unknown, voice);
        };
        match &ty.kind {
            Kind::Base(_) | Kind::Pointer(_) | Kind::Enum(_) => {
                let scalar = types.scalar(die, &self.index.scopes);
                if reach.at == 0 && Some(reach.size) == types.size(die) {
                    return Spot { path: String::new(), ty: scalar, exact: true };
                }
                bytes(reach, scalar.part(), voice)
            }
            Kind::Array { element: Some(element), counts } => {
                self.array(*element, counts, types.size(die), reach, voice, depth)
            }
            Kind::Record { members, closure, .. } => {
                let voice = voice_of(ty);
                self.record(ty, members, *closure, reach, voice, depth)
            }
            Kind::Array { .. } | Kind::Alias(_) | Kind::Other => bytes(reach, Scalar::Unknown, voice),
        }
    }

    fn array(
        &mut self,
        element: Die,
        counts: &[Option<u64>],
        total: Option<u64>,
        reach: Reach,
        voice: Voice,
        depth: u32,
    ) -> Spot {
        let Some(size) = self.index.types.size(element).filter(|size| *size > 0) else {
            return bytes(reach, Scalar::Unknown, voice);
        };
        let first = reach.at / size;
        let last = reach.at.saturating_add(reach.size - 1) / size;
        let silent = voice == Voice::Silent;
        if first != last {
            let whole = reach.at == 0 && total == Some(reach.size);
            let path = match counts {
                _ if silent || whole => String::new(),
                [_] | [] => format!("[{first}..{}]", last + 1),
                counts => indices(first, counts),
            };
            return Spot { path, ty: Scalar::Unknown, exact: false };
        }
        // Elements are the user's again; records decide for themselves.
        let inner = if silent { Voice::Silent } else { Voice::Loud };
        let mut spot = self.go(element, Reach { at: reach.at % size, size: reach.size }, inner, depth - 1);
        if !silent {
            spot.path.insert_str(0, &indices(first, counts));
        }
        spot
    }

    fn record(
        &mut self,
        record: &Type,
        members: &[Member],
        closure: bool,
        reach: Reach,
        voice: Voice,
        depth: u32,
    ) -> Spot {
        let end = reach.at.saturating_add(reach.size);
        let mut first: Option<Spot> = None;
        let mut touched: Vec<&Member> = Vec::new();
        let mut bit_fields = false;
        let mut discriminant: Option<Spot> = None;
        for member in members {
            self.steps = self.steps.saturating_sub(1);
            if self.steps == 0 {
                break;
            }
            let (from, to) = self.extent(member);
            if from >= end || to <= reach.at {
                continue;
            }
            touched.push(member);
            bit_fields |= member.bits.is_some();
            let Some(ty) = member.ty.filter(|_| member.bits.is_none() && from <= reach.at && end <= to) else {
                continue;
            };
            let within = Reach { at: reach.at - from, size: reach.size };
            let mut spot = self.go(ty, within, voice, depth - 1);
            if voice == Voice::Loud
                && let Some(name) = &member.name
            {
                spot.path.insert_str(0, &format!(".{}", shown(name, closure)));
            }
            if spot.exact && !member.variants.is_empty() {
                // It may be part of a variant, as a pointer that is not null is.
                discriminant = Some(Spot { ty: Scalar::Enum(member.variants.clone()), ..spot });
                continue;
            }
            if spot.exact {
                return spot;
            }
            first.get_or_insert(spot);
        }
        if let Some(spot) = discriminant {
            return spot;
        }
        if let Some(spot) = first.filter(|_| !bit_fields) {
            return spot;
        }
        let ty = if bit_fields && reach.size <= 8 { Scalar::Unsigned } else { Scalar::Unknown };
        let names: Vec<&str> =
            touched.iter().filter_map(|member| Some(shown(member.name.as_deref()?, closure))).collect();
        let whole = reach.at == 0 && record.size.is_some_and(|size| size <= reach.size);
        let path = match names[..] {
            _ if voice != Voice::Loud => String::new(),
            _ if whole && !(bit_fields && names.len() == 1) => String::new(),
            [] => return bytes(reach, Scalar::Unknown, voice),
            [name] => format!(".{name}"),
            _ if names.len() > MAX_LISTED => format!(".{{{},…}}", names[..MAX_LISTED].join(",")),
            _ => format!(".{{{}}}", names.join(",")),
        };
        Spot { path, ty, exact: false }
    }

    /// The bytes of a member, from the start of its record.
    fn extent(&self, member: &Member) -> (u64, u64) {
        if let Some((bit, bits)) = member.bits {
            return (bit / 8, bit.saturating_add(bits).div_ceil(8));
        }
        let types = &self.index.types;
        let size = match member.ty {
            Some(ty) => types.size(ty).unwrap_or(if types.is_open(ty) { u64::MAX } else { 0 }),
            None => 0,
        };
        (member.at, member.at.saturating_add(size))
    }
}

fn voice_of(record: &Type) -> Voice {
    let name = record.name.as_deref().unwrap_or_default();
    match record.user {
        true => Voice::Loud,
        // Plain data that the user chose: `first`, `second`.
        false if name.starts_with("pair<") => Voice::Loud,
        false
            if ["array<", "UnsafeCell<", "MaybeUninit<", "ManuallyDrop<", "Mutex<"]
                .iter()
                .any(|start| name.starts_with(start)) =>
        {
            Voice::IndexOnly
        }
        false => Voice::Silent,
    }
}

/// Bytes that are not an object by themselves.
fn bytes(reach: Reach, ty: Scalar, voice: Voice) -> Spot {
    let path = match reach.at {
        0 => String::new(),
        _ if voice == Voice::Silent => String::new(),
        at => format!("+{at}"),
    };
    Spot { path, ty, exact: false }
}

/// Members that the compiler named.
fn shown(name: &str, closure: bool) -> &str {
    if name.starts_with("_vptr") {
        return "vptr";
    }
    // Rust's `.0` is `__0`.
    if let Some(number) = name.strip_prefix("__")
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return number;
    }
    // gcc captures `x` as `__x`.
    if closure { name.strip_prefix("__").unwrap_or(name) } else { name }
}

/// `[1][2]`, from the number of an element in the order of memory.
fn indices(element: u64, counts: &[Option<u64>]) -> String {
    let mut rest = element;
    let mut parts: Vec<u64> = Vec::new();
    for count in counts.iter().skip(1).rev() {
        match count.filter(|count| *count > 0) {
            Some(count) => {
                parts.push(rest % count);
                rest /= count;
            }
            // The size of a row is not known, so neither is the row.
            None => return format!("[{element}]"),
        }
    }
    parts.push(rest);
    parts.iter().rev().map(|part| format!("[{part}]")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_counted_by_rows() {
        assert_eq!(indices(5, &[Some(9)]), "[5]");
        assert_eq!(indices(5, &[]), "[5]");
        assert_eq!(indices(5, &[Some(2), Some(3)]), "[1][2]");
        assert_eq!(indices(23, &[Some(2), Some(3), Some(4)]), "[1][2][3]");
        assert_eq!(indices(23, &[Some(2), Some(0), Some(4)]), "[23]");
    }
}
