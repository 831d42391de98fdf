//! Local variables and parameters of one function.
//!
//! # Problem
//!
//! Given the canonical frame address of a call and an address on its stack, which variable is there?
//!
//! # Algorithm
//!
//! 1. Read the entries below the function: variables and parameters, with the code of the block that they are in and
//!    the places where they are kept. Calls that were inlined are blocks with another function's name.
//! 2. A place is an offset from the frame base, which is the canonical frame address (gcc) or a register (clang), or
//!    directly from a register.
//! 3. A register's value is what the unwind table says: if the frame address is computed from it, that is undone;
//!    `rbp` that is the frame pointer is 16 below the frame address.
//! 4. Of the variables that cover the address, the one in the innermost block counts. If there is none, one that has
//!    that place at another time (in another block, or where the compiler lost sight of it) is given if it is the only
//!    one.

use crate::Named;
use crate::entry::{Die, Entry, Reader, text};
use crate::image::{Image, Slice};
use crate::index::{Declared, FunctionRange, Index};
use crate::names::ROOT;
use crate::path::Reach;
use gimli::{AttributeValue, BaseAddresses, CfaRule, DebugInfoOffset, EhFrame, Expression, Operation};
use gimli::{Register, UnwindContext, UnwindSection};

/// How many variables of one function are kept.
const MAX_LOCALS: usize = 4096;
/// How many places of one variable are kept.
const MAX_PLACES: usize = 256;
/// The frame pointer of x86-64.
const RBP: Register = Register(6);

type Range = (u64, u64);

/// The variables of a function that may be in memory, the inner blocks' after the outer ones'.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    base: Option<Base>,
    list: Vec<Local>,
}

#[derive(Debug)]
struct Local {
    /// With the function: `main::x`.
    name: String,
    /// Without it.
    plain: Box<str>,
    ty: Option<Die>,
    depth: isize,
    /// The code of the block that it is in; None for the whole function.
    block: Option<Vec<Range>>,
    /// Where it is, and while which code runs.
    places: Vec<(Option<Range>, Place)>,
}

#[derive(Clone, Copy, Debug)]
enum Base {
    Cfa,
    Register(Register, i64),
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// From the frame base.
    Frame(i64),
    Register(Register, i64),
}

/// A block that is being read.
struct Open {
    depth: isize,
    block: Option<Vec<Range>>,
    function: String,
}

impl Locals {
    /// Reads what is below a function. Damaged entries end the list.
    pub fn read(image: &Image, index: &Index, function: &FunctionRange) -> Locals {
        let mut locals = Locals::default();
        let _ = locals.fill(image, index, function);
        locals
    }

    fn fill(&mut self, image: &Image, index: &Index, function: &FunctionRange) -> gimli::Result<()> {
        let dwarf = image.dwarf();
        let header = dwarf.debug_info.header_from_offset(DebugInfoOffset(function.unit as usize))?;
        let Some(start) = DebugInfoOffset(function.die as usize).to_unit_offset(&header) else { return Ok(()) };
        let reader = Reader { dwarf: &dwarf, unit: dwarf.unit(header)?, signatures: &index.signatures };
        let mut entries = reader.unit.entries_raw(Some(start))?;
        let mut stack: Vec<Open> = Vec::new();
        // Entries below one of at most this depth belong to others.
        let mut skip: Option<isize> = None;
        while !entries.is_empty() && self.list.len() < MAX_LOCALS {
            let die = reader.die(entries.next_offset());
            let depth = entries.next_depth();
            let Some(abbrev) = entries.read_abbreviation()? else { continue };
            let first = stack.is_empty();
            if !first && depth <= 0 {
                break;
            }
            let tag = abbrev.tag();
            let wanted = matches!(
                tag,
                gimli::DW_TAG_variable
                    | gimli::DW_TAG_formal_parameter
                    | gimli::DW_TAG_lexical_block
                    | gimli::DW_TAG_inlined_subroutine
            );
            skip = skip.filter(|outer| depth > *outer);
            if !first && (skip.is_some() || !wanted) {
                entries.skip_attributes(abbrev.attributes())?;
                // A lambda or a local class has its own functions.
                skip = skip.or(abbrev.has_children().then_some(depth));
                continue;
            }
            let entry = reader.entry(&mut entries, abbrev)?;
            while stack.last().is_some_and(|open| open.depth >= depth) {
                stack.pop();
            }
            let name = |die| index.scopes.function_name(die, &index.types).unwrap_or_default();
            match (tag, stack.last()) {
                (_, None) => {
                    self.base = entry.frame_base.and_then(|base| frame_base(&reader, base));
                    stack.push(Open { depth, block: None, function: name(die) });
                }
                (gimli::DW_TAG_lexical_block, Some(outer)) => {
                    let ranges = reader.ranges(&entry);
                    // gcc has blocks without code for variables that live longer.
                    let block = if ranges.is_empty() { outer.block.clone() } else { Some(ranges) };
                    let function = outer.function.clone();
                    stack.push(Open { depth, block, function });
                }
                (gimli::DW_TAG_inlined_subroutine, Some(_)) => {
                    stack.push(Open { depth, block: Some(reader.ranges(&entry)), function: name(die) });
                }
                (_, Some(outer)) => {
                    self.list.extend(local(&reader, index, &entry, outer, depth));
                    skip = skip.or(abbrev.has_children().then_some(depth));
                }
            }
        }
        Ok(())
    }

    /// The names and types of all of them.
    pub fn typed(&self) -> impl Iterator<Item = (&str, Die)> {
        self.list.iter().filter_map(|local| Some((&*local.plain, local.ty?)))
    }

    /// The variable at an address, for a call whose frame is at `cfa`.
    pub fn find(&self, image: &Image, index: &Index, pc: u64, cfa: u64, addr: u64, size: u64) -> Option<Named> {
        let mut unwound: Option<Option<(Register, i64)>> = None;
        let mut register = |register: Register| {
            let rule = *unwound.get_or_insert_with(|| cfa_rule(image, pc));
            match rule {
                Some((used, offset)) if used == register => Some(cfa.wrapping_add_signed(offset.wrapping_neg())),
                _ if register == RBP => Some(cfa.wrapping_sub(16)),
                _ => None,
            }
        };
        let mut best: Option<(&Local, u64)> = None;
        let mut elsewhere: Vec<(&Local, u64)> = Vec::new();
        for local in &self.list {
            let bytes = local.ty.and_then(|ty| index.types.size(ty)).unwrap_or(0);
            let runs = local.block.as_ref().is_none_or(|block| block.iter().any(|range| covers(*range, pc)));
            for (while_in, place) in &local.places {
                let runs = runs && while_in.is_none_or(|range| covers(range, pc));
                let start = match (*place, self.base) {
                    (Place::Frame(offset), Some(Base::Cfa)) => Some(cfa.wrapping_add_signed(offset)),
                    (Place::Frame(offset), Some(Base::Register(base, more))) => {
                        register(base).map(|base| base.wrapping_add_signed(offset.wrapping_add(more)))
                    }
                    (Place::Frame(_), None) => None,
                    (Place::Register(base, offset), _) => register(base).map(|base| base.wrapping_add_signed(offset)),
                };
                let Some(at) = start.map(|start| addr.wrapping_sub(start)).filter(|at| *at < bytes) else { continue };
                match best {
                    _ if !runs && elsewhere.iter().any(|(other, _)| std::ptr::eq(*other, local)) => {}
                    _ if !runs => elsewhere.push((local, at)),
                    Some((other, _)) if other.depth >= local.depth => {}
                    _ => best = Some((local, at)),
                }
            }
        }
        let (local, at) = match (best, &elsewhere[..]) {
            (Some(best), _) => best,
            (None, [only]) => *only,
            _ => return None,
        };
        Some(index.named(local.name.clone(), local.ty, Reach { at, size }))
    }
}

fn covers(range: Range, pc: u64) -> bool {
    range.0 <= pc && pc < range.1
}

fn local<'a>(reader: &Reader<'a>, index: &Index, entry: &Entry<'a>, outer: &Open, depth: isize) -> Option<Local> {
    let location = entry.location?;
    let mut places = Vec::new();
    if let AttributeValue::Exprloc(expr) = location {
        places.extend(place(reader, expr).map(|place| (None, place)));
    } else if let Ok(Some(mut list)) = reader.dwarf.attr_locations(&reader.unit, location) {
        while let Ok(Some(part)) = list.next() {
            if let Some(place) = place(reader, part.data)
                && places.len() < MAX_PLACES
            {
                places.push((Some((part.range.begin, part.range.end)), place));
            }
        }
    }
    let name = entry.name.map(text);
    let own = Declared { name, scope: ROOT, ty: entry.ty, origin: entry.origin, place: None };
    let whole = index.complete(&own)?;
    Some(Local {
        name: format!("{}::{}", outer.function, whole.name),
        plain: whole.name.into(),
        ty: whole.ty,
        depth,
        block: outer.block.clone(),
        places,
    })
}

fn place<'a>(reader: &Reader<'a>, expr: Expression<Slice<'a>>) -> Option<Place> {
    match reader.operations::<1>(expr)?.0 {
        [Some(Operation::FrameOffset { offset })] => Some(Place::Frame(offset)),
        [Some(Operation::RegisterOffset { register, offset, .. })] => Some(Place::Register(register, offset)),
        _ => None,
    }
}

fn frame_base<'a>(reader: &Reader<'a>, base: AttributeValue<Slice<'a>>) -> Option<Base> {
    let AttributeValue::Exprloc(expr) = base else { return None };
    match reader.operations::<1>(expr)?.0 {
        [Some(Operation::CallFrameCFA)] => Some(Base::Cfa),
        [Some(Operation::Register { register })] => Some(Base::Register(register, 0)),
        [Some(Operation::RegisterOffset { register, offset, .. })] => Some(Base::Register(register, offset)),
        _ => None,
    }
}

/// The register and the offset that the frame address is computed from.
fn cfa_rule(image: &Image, pc: u64) -> Option<(Register, i64)> {
    let (frames, address) = image.eh_frame()?;
    let bases = BaseAddresses::default().set_eh_frame(address);
    let mut context = UnwindContext::new();
    let row = frames.unwind_info_for_address(&bases, &mut context, pc, EhFrame::cie_from_offset).ok()?;
    match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => Some((*register, *offset)),
        CfaRule::Expression(_) => None,
    }
}
