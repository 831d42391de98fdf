//! The types of a program, as far as naming bytes needs them.
//!
//! # Invariants
//!
//! [`Types::list`] is sorted by entry, so that a reference is found by binary search. References are not checked when
//! they are read: an entry may refer to nothing, to itself or in a cycle, so everything that follows them counts
//! its steps.

use crate::Scalar;
use crate::entry::Die;
use crate::names::{ScopeId, Scopes};
use rustc_hash::FxHashMap;

/// How many qualifiers and typedefs are looked through.
const MAX_ALIASES: u32 = 64;
/// How many values of an enumeration are kept.
const MAX_NAMES: usize = 1024;

#[derive(Debug)]
pub(crate) struct Type {
    pub die: Die,
    pub name: Option<Box<str>>,
    pub scope: ScopeId,
    pub size: Option<u64>,
    /// Declared in one of the user's files.
    pub user: bool,
    /// Only announced here (`struct node;`).
    pub declaration: bool,
    pub kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// A number.
    Base(Scalar),
    /// A pointer or a reference, to nothing if `void`.
    Pointer(Option<Die>),
    /// A typedef, or another type with a qualifier.
    Alias(Option<Die>),
    Array {
        element: Option<Die>,
        /// The number of elements in each dimension, if it is known.
        counts: Vec<Option<u64>>,
    },
    Record {
        members: Vec<Member>,
        /// It is the record of a lambda's captures.
        closure: bool,
        /// Arrays of it on the heap start with their length.
        destructor: bool,
    },
    Enum(Vec<(i64, String)>),
    /// Functions, pointers to members and the like.
    Other,
}

/// A member or a base class.
#[derive(Debug)]
pub(crate) struct Member {
    /// None for a base class, an anonymous struct or an anonymous union.
    pub name: Option<Box<str>>,
    pub ty: Option<Die>,
    /// In bytes, from the start of the record.
    pub at: u64,
    /// For a bit-field: its first bit, from the start of the record, and how many bits it has.
    pub bits: Option<(u64, u64)>,
    /// For the discriminant of a Rust enum: the variants by its values. A variant that has no value has all others.
    pub variants: Vec<(i64, String)>,
}

#[derive(Debug, Default)]
pub(crate) struct Types {
    list: Vec<Type>,
    /// The definition of every record that has a name.
    definitions: FxHashMap<Box<str>, Die>,
}

impl Type {
    pub fn add_enumerator(&mut self, value: i64, name: String) {
        if let Kind::Enum(names) = &mut self.kind
            && names.len() < MAX_NAMES
        {
            names.push((value, name));
        }
    }
}

impl Types {
    pub fn new(mut list: Vec<Type>) -> Types {
        // Already so, unless units overlap.
        list.sort_by_key(|ty| ty.die);
        let mut definitions = FxHashMap::default();
        for ty in &list {
            if let (Kind::Record { .. }, Some(name), false) = (&ty.kind, &ty.name, ty.declaration) {
                definitions.entry(name.clone()).or_insert(ty.die);
            }
        }
        Types { list, definitions }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Type> {
        self.list.iter()
    }

    pub fn get(&self, die: Die) -> Option<&Type> {
        let at = self.list.binary_search_by_key(&die, |ty| ty.die).ok()?;
        self.list.get(at)
    }

    /// The type itself, without typedefs and qualifiers; for a record that is only announced, its definition.
    pub fn bare(&self, mut die: Die) -> Option<&Type> {
        for _ in 0..MAX_ALIASES {
            let ty = self.get(die)?;
            match ty.kind {
                Kind::Alias(to) => die = to?,
                Kind::Record { .. } if ty.declaration => {
                    let definition = ty.name.as_ref().and_then(|name| self.definitions.get(name));
                    return Some(definition.and_then(|die| self.get(*die)).unwrap_or(ty));
                }
                _ => return Some(ty),
            }
        }
        None
    }

    /// The size in bytes, if it is known and fixed.
    pub fn size(&self, die: Die) -> Option<u64> {
        let mut total = 1u64;
        let mut die = die;
        // Arrays of typedefs of arrays: each step is one array.
        for _ in 0..MAX_ALIASES {
            let ty = self.bare(die)?;
            match (&ty.kind, ty.size) {
                (_, Some(size)) => return total.checked_mul(size),
                (Kind::Pointer(_), None) => return total.checked_mul(8),
                (Kind::Array { element, counts }, None) => {
                    for count in counts {
                        total = total.checked_mul((*count)?)?;
                    }
                    die = (*element)?;
                }
                _ => return None,
            }
        }
        None
    }

    /// Whether the type is an array whose number of elements is not part of it, as at the end of a struct.
    pub fn is_open(&self, die: Die) -> bool {
        match self.bare(die).map(|ty| &ty.kind) {
            Some(Kind::Array { counts, .. }) => counts.is_empty() || counts[0].is_none(),
            _ => false,
        }
    }

    /// The scalar that a value of this type is.
    pub fn scalar(&self, die: Die, scopes: &Scopes) -> Scalar {
        match self.bare(die).map(|ty| &ty.kind) {
            Some(Kind::Base(scalar)) => scalar.clone(),
            Some(Kind::Pointer(to)) => {
                Scalar::Pointer { to: to.map_or_else(|| "void".to_owned(), |to| self.spelling(to, scopes)) }
            }
            Some(Kind::Enum(names)) => Scalar::Enum(names.clone()),
            _ => Scalar::Unknown,
        }
    }

    /// The type that a pointer of this type points to.
    pub fn pointee(&self, die: Die) -> Option<Die> {
        match self.bare(die)?.kind {
            Kind::Pointer(to) => to,
            _ => None,
        }
    }

    /// The type as the source would write it, without qualifiers.
    pub fn spelling(&self, die: Die, scopes: &Scopes) -> String {
        let mut after = String::new();
        let mut next = Some(die);
        for _ in 0..MAX_ALIASES {
            let Some(ty) = next.and_then(|die| self.get(die)) else {
                return format!("void{after}");
            };
            if ty.name.is_some() {
                return scopes.type_name(ty, self) + &after;
            }
            next = match &ty.kind {
                Kind::Alias(to) => *to,
                Kind::Pointer(to) => {
                    after.insert_str(0, if after.is_empty() { " *" } else { "*" });
                    *to
                }
                Kind::Array { element, .. } => {
                    after.push_str("[]");
                    *element
                }
                Kind::Record { closure: true, .. } => return format!("{{lambda}}{after}"),
                Kind::Record { .. } => return format!("struct{after}"),
                Kind::Enum(_) => return format!("enum{after}"),
                Kind::Base(_) | Kind::Other => return format!("function{after}"),
            };
        }
        "?".to_owned()
    }
}
