//! Fills the index: one pass over all entries of `.debug_info`.
//!
//! # Algorithm
//!
//! 1. For each unit: which of its files are the user's.
//! 2. For each entry, in order: types, functions and variables go into their tables; members, dimensions and
//!    enumerators into the type that encloses them. A stack holds what encloses the current entry.
//! 3. When everything is read, variables that have a place get the names and types that other entries give them.
//!
//! # Guarantees
//!
//! A damaged unit keeps what was read of it before the damage. Time and memory are linear in the size of the section.

use crate::Scalar;
use crate::demangle;
use crate::entry::{Die, Entry, Reader, Static, text};
use crate::files::{Files, join};
use crate::image::{Image, Slice};
use crate::index::{Declared, FunctionRange, Index, Variable, complete};
use crate::names::{Function, ROOT, Scope, ScopeId, ScopeKind, Scopes};
use crate::types::{Kind, Member, Type, Types};
use gimli::{DwTag, Dwarf, Unit, UnitType};
use rustc_hash::FxHashMap;

#[derive(Default)]
struct Scan {
    types: Vec<Type>,
    scopes: Vec<Scope>,
    functions: Vec<Function>,
    ranges: Vec<FunctionRange>,
    declared: FxHashMap<Die, Declared>,
}

/// An entry whose children are being read.
#[derive(Clone, Copy)]
struct Open {
    depth: isize,
    scope: ScopeId,
    /// The type that members belong to, as an index.
    ty: Option<usize>,
    /// The value of the discriminant if these are the members of a variant.
    variant: Option<i64>,
}

pub(crate) fn scan(image: &Image, files: &Files) -> Index {
    let dwarf = image.dwarf();
    let signatures = signatures(&dwarf);
    let mut scan = Scan { scopes: vec![Scope { parent: ROOT, kind: ScopeKind::Root }], ..Scan::default() };
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let user = user_files(&dwarf, &unit, files);
        let reader = Reader { dwarf: &dwarf, unit, signatures: &signatures };
        // Everything read before an error is kept.
        let _ = scan.unit(&reader, &user);
    }
    scan.finish(image, signatures)
}

fn signatures(dwarf: &Dwarf<Slice<'_>>) -> FxHashMap<u64, Die> {
    let mut found = FxHashMap::default();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if let UnitType::Type { type_signature, type_offset } = header.type_()
            && let Some(offset) = type_offset.to_debug_info_offset(&header)
        {
            found.insert(type_signature.0, offset.0 as u64);
        }
    }
    found
}

/// For each file of a unit, whether it is the user's.
fn user_files(dwarf: &Dwarf<Slice<'_>>, unit: &Unit<Slice<'_>>, files: &Files) -> Vec<bool> {
    let Some(program) = &unit.line_program else { return Vec::new() };
    let header = program.header();
    let string = |value| dwarf.attr_string(unit, value).ok().map(|name| text(name.slice())).unwrap_or_default();
    let comp_dir = unit.comp_dir.map(|dir| text(dir.slice())).unwrap_or_default();
    let count = header.file_names().len() as u64 + u64::from(header.version() <= 4);
    let is_user = |index| {
        let Some(file) = header.file(index) else { return true };
        let dir = file.directory(header).map(string).unwrap_or_default();
        files.is_user(&join(&[&comp_dir, &dir, &string(file.path_name())]))
    };
    (0..count).map(is_user).collect()
}

impl Scan {
    fn unit(&mut self, reader: &Reader<'_>, user: &[bool]) -> gimli::Result<()> {
        let mut entries = reader.unit.entries_raw(None)?;
        let unit = reader.unit.header.offset().as_debug_info_offset().map_or(0, |offset| offset.0 as u64);
        let mut stack: Vec<Open> = Vec::new();
        while !entries.is_empty() {
            let die = reader.die(entries.next_offset());
            let depth = entries.next_depth();
            let Some(abbrev) = entries.read_abbreviation()? else { continue };
            while stack.last().is_some_and(|open| open.depth >= depth) {
                stack.pop();
            }
            let around = stack.last().copied().unwrap_or(Open { depth: 0, scope: ROOT, ty: None, variant: None });
            let tag = abbrev.tag();
            if !WANTED.contains(&tag) {
                entries.skip_attributes(abbrev.attributes())?;
                // The contents of a block are still in the scope around it.
                if abbrev.has_children() {
                    stack.push(Open { depth, ty: None, ..around });
                }
                continue;
            }
            let entry = reader.entry(&mut entries, abbrev)?;
            let mut open = Open { depth, scope: around.scope, ty: None, variant: None };
            match tag {
                gimli::DW_TAG_namespace => {
                    open.scope = self.scope(around.scope, ScopeKind::Namespace(entry.name.map(text)));
                }
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine => {
                    self.function(reader, &entry, die, unit, tag, around);
                    if tag == gimli::DW_TAG_subprogram && abbrev.has_children() {
                        open.scope = self.scope(around.scope, ScopeKind::Function(die));
                    }
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    self.variable(reader, &entry, die, tag, around.scope);
                }
                gimli::DW_TAG_variant_part | gimli::DW_TAG_variant => {
                    (open.ty, open.variant) = (around.ty, entry.value);
                }
                gimli::DW_TAG_member | gimli::DW_TAG_inheritance => self.member(&entry, die, around),
                gimli::DW_TAG_subrange_type => {
                    if let Some(Kind::Array { counts, .. }) = self.kind(around.ty) {
                        counts.push(entry.count);
                    }
                }
                gimli::DW_TAG_enumerator => {
                    if let (Some(at), Some(value), Some(name)) = (around.ty, entry.value, entry.name) {
                        self.types[at].add_enumerator(value, text(name).into());
                    }
                }
                tag => {
                    let kind = kind(tag, &entry);
                    if matches!(kind, Kind::Record { .. }) && abbrev.has_children() {
                        open.scope = self.scope(around.scope, ScopeKind::Record(die));
                    }
                    open.ty = Some(self.types.len());
                    self.types.push(Type {
                        die,
                        name: entry.name.map(text),
                        scope: around.scope,
                        size: entry.size,
                        user: match entry.file {
                            Some(file) => user.get(file as usize).copied().unwrap_or(true),
                            // Types of Rust have no file.
                            None => !self.is_rust_library(around.scope),
                        },
                        declaration: entry.declaration,
                        kind,
                    });
                }
            }
            if abbrev.has_children() {
                stack.push(open);
            }
        }
        Ok(())
    }

    /// Whether a scope is within Rust's standard library.
    fn is_rust_library(&self, mut scope: ScopeId) -> bool {
        let mut outermost = None;
        while scope != ROOT {
            let Some(Scope { parent, kind }) = self.scopes.get(scope as usize) else { return false };
            (outermost, scope) = (Some(kind), *parent);
        }
        matches!(outermost, Some(ScopeKind::Namespace(Some(name))) if matches!(&**name, "core" | "std" | "alloc"))
    }

    fn scope(&mut self, parent: ScopeId, kind: ScopeKind) -> ScopeId {
        self.scopes.push(Scope { parent, kind });
        u32::try_from(self.scopes.len() - 1).unwrap_or(ROOT)
    }

    fn kind(&mut self, ty: Option<usize>) -> Option<&mut Kind> {
        self.types.get_mut(ty?).map(|ty| &mut ty.kind)
    }

    fn function<'a>(&mut self, reader: &Reader<'a>, entry: &Entry<'a>, die: Die, unit: u64, tag: DwTag, around: Open) {
        if let (Some(at), Some(name)) = (around.ty, entry.name) {
            let ty = &mut self.types[at];
            if let Kind::Record { closure, destructor, .. } = &mut ty.kind {
                *closure |= ty.name.is_none() && name == b"operator()";
                *destructor |= name.starts_with(b"~");
            }
        }
        if tag == gimli::DW_TAG_subprogram {
            for (low, high) in reader.ranges(entry) {
                self.ranges.push(FunctionRange { low, high, die, unit });
            }
        }
        let name = entry.name.map(text);
        if name.is_some() || entry.origin.is_some() {
            self.functions.push(Function { die, origin: entry.origin, name, scope: around.scope });
        }
    }

    fn variable<'a>(&mut self, reader: &Reader<'a>, entry: &Entry<'a>, die: Die, tag: DwTag, scope: ScopeId) {
        let place = reader.static_place(entry);
        // Variables on the stack are read when they are asked for. Others may be what an entry elsewhere completes.
        let later = entry.location.is_some() || (tag == gimli::DW_TAG_formal_parameter && entry.name.is_none());
        if place.is_some() || !later {
            let name = entry.name.map(text);
            self.declared.insert(die, Declared { name, scope, ty: entry.ty, origin: entry.origin, place });
        }
    }

    fn member(&mut self, entry: &Entry<'_>, die: Die, around: Open) {
        if entry.external || entry.declaration {
            // A static member, as DWARF 4 has it.
            let name = entry.name.map(text);
            let declared = Declared { name, scope: around.scope, ty: entry.ty, origin: None, place: None };
            self.declared.insert(die, declared);
            return;
        }
        if entry.computed {
            return;
        }
        let at = entry.member_at.unwrap_or(0);
        let bits = entry.bit_size.and_then(|bits| {
            let first = match (entry.data_bit_offset, entry.bit_offset) {
                (Some(first), _) => first,
                (None, Some(above)) => {
                    let storage = entry.size?.checked_mul(8)?;
                    at.checked_mul(8)?.checked_add(storage.checked_sub(above.checked_add(bits)?)?)?
                }
                (None, None) => at.checked_mul(8)?,
            };
            Some((first, bits))
        });
        let name = entry.name.map(text);
        if let Some(Kind::Record { members, .. }) = self.kind(around.ty) {
            // The discriminant comes before the variants, and has no name.
            if let (Some(value), Some(name)) = (around.variant, &name)
                && let Some(discriminant) = members.iter_mut().find(|member| member.name.is_none())
            {
                discriminant.variants.push((value, name.to_string()));
            }
            members.push(Member { name, ty: entry.ty, at, bits, variants: Vec::new() });
        }
    }

    fn finish(mut self, image: &Image, signatures: FxHashMap<u64, Die>) -> Index {
        self.ranges.sort_by_key(|range| (range.low, range.high));
        let types = Types::new(self.types);
        let scopes = Scopes::new(self.scopes, self.functions);
        let (mut variables, mut thread_locals) = (Vec::new(), Vec::new());
        for own in self.declared.values() {
            let (Some(place), Some(whole)) = (own.place, complete(&self.declared, own)) else { continue };
            let size = whole.ty.and_then(|ty| types.size(ty)).unwrap_or(0);
            let name = || {
                let name = scopes.qualified(whole.scope, whole.name, &types);
                // clang forgets the function of a static if all calls of it were inlined; the linker's name has it.
                let lost = name == whole.name && scopes.is_function(whole.scope);
                let linked =
                    if let (true, Static::Address(start)) = (lost, place) { image.symbol(start) } else { None };
                linked
                    .map(|(name, _)| demangle::short(name))
                    .filter(|linked| linked.ends_with(&format!("::{name}")))
                    .unwrap_or(name)
            };
            match place {
                // The linker threw it away.
                Static::Address(0) => {}
                Static::Address(start) => {
                    let size = if size == 0 { image.symbol(start).map_or(1, |(_, size)| size) } else { size };
                    variables.push(Variable { start, size, name: name(), ty: whole.ty });
                }
                Static::ThreadLocal(start) => {
                    thread_locals.push(Variable { start, size: size.max(1), name: name(), ty: whole.ty });
                }
            }
        }
        for table in [&mut variables, &mut thread_locals] {
            // By name too, since a hash map has no stable order.
            table.sort_by(|a: &Variable, b: &Variable| (a.start, a.size, &a.name).cmp(&(b.start, b.size, &b.name)));
        }
        let (declared, functions) = (self.declared, self.ranges);
        Index { types, scopes, variables, thread_locals, functions, declared, signatures }
    }
}

/// The entries that are examined; a large part are not.
const WANTED: &[DwTag] = &[
    gimli::DW_TAG_subprogram,
    gimli::DW_TAG_formal_parameter,
    gimli::DW_TAG_variable,
    gimli::DW_TAG_member,
    gimli::DW_TAG_variant_part,
    gimli::DW_TAG_variant,
    gimli::DW_TAG_inlined_subroutine,
    gimli::DW_TAG_pointer_type,
    gimli::DW_TAG_reference_type,
    gimli::DW_TAG_rvalue_reference_type,
    gimli::DW_TAG_const_type,
    gimli::DW_TAG_volatile_type,
    gimli::DW_TAG_restrict_type,
    gimli::DW_TAG_atomic_type,
    gimli::DW_TAG_typedef,
    gimli::DW_TAG_structure_type,
    gimli::DW_TAG_class_type,
    gimli::DW_TAG_union_type,
    gimli::DW_TAG_inheritance,
    gimli::DW_TAG_array_type,
    gimli::DW_TAG_subrange_type,
    gimli::DW_TAG_enumeration_type,
    gimli::DW_TAG_enumerator,
    gimli::DW_TAG_base_type,
    gimli::DW_TAG_unspecified_type,
    gimli::DW_TAG_subroutine_type,
    gimli::DW_TAG_ptr_to_member_type,
    gimli::DW_TAG_namespace,
];

fn kind(tag: DwTag, entry: &Entry<'_>) -> Kind {
    match tag {
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
            Kind::Pointer(entry.ty)
        }
        gimli::DW_TAG_const_type
        | gimli::DW_TAG_volatile_type
        | gimli::DW_TAG_restrict_type
        | gimli::DW_TAG_atomic_type
        | gimli::DW_TAG_typedef => Kind::Alias(entry.ty),
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
            Kind::Record { members: Vec::new(), closure: false, destructor: false }
        }
        gimli::DW_TAG_array_type => Kind::Array { element: entry.ty, counts: Vec::new() },
        gimli::DW_TAG_enumeration_type => Kind::Enum(Vec::new()),
        gimli::DW_TAG_base_type => Kind::Base(base(entry)),
        _ => Kind::Other,
    }
}

fn base(entry: &Entry<'_>) -> Scalar {
    match entry.encoding {
        Some(gimli::DW_ATE_boolean) => Scalar::Bool,
        Some(gimli::DW_ATE_float) => Scalar::Float,
        Some(gimli::DW_ATE_UTF) => Scalar::Char,
        Some(gimli::DW_ATE_signed) => Scalar::Signed,
        Some(gimli::DW_ATE_unsigned) => Scalar::Unsigned,
        // Only `char` itself is text: `signed char` and `unsigned char` are `int8_t` and `uint8_t`.
        Some(gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char) if entry.name == Some(b"char") => Scalar::Char,
        Some(gimli::DW_ATE_signed_char) => Scalar::Signed,
        Some(gimli::DW_ATE_unsigned_char) => Scalar::Unsigned,
        _ => Scalar::Unknown,
    }
}
