//! The contents of a heap block: a guess from the line that allocated it.
//!
//! # Problem
//!
//! `malloc` has no types. The line that calls it mostly has: `malloc(sizeof(struct node))`, `n = malloc(sizeof *n)`,
//! `new node{…}`, `calloc(8, sizeof(slot))`.
//!
//! # Algorithm
//!
//! A type fits a block if it has the block's size, or divides it (an array), or ends in an array without a size. The
//! first of these that fits is taken:
//!
//! 0. for Rust's `Arc` and `Rc`, what the library allocates for them: the one of that size, or the one whose type the line names first;
//! 1. a type that follows `sizeof`, `new` or `make_shared` on the line, or that a variable there points to;
//! 2. a struct, class or typedef named elsewhere on the line, of just the block's size;
//! 3. the target of a variable, parameter or member named on the line, of exactly the block's size;
//! 4. the same two, dividing it;
//! 5. the only record of the user's of just that size.
//!
//! # Guarantees
//!
//! It is a guess: two types of one size on one line can be confused. The size always fits, so a wrong guess names
//! the wrong member but never one that is not there.

use crate::entry::Die;
use crate::index::Index;
use crate::locals::Locals;
use crate::path::{Reach, spot};
use crate::types::{Kind, Type};
use crate::{Named, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many words of a line, and how many types of one name, are tried.
const MAX_TRIES: usize = 64;
/// Before the elements of `new T[n]`, if they have destructors.
const ARRAY_COOKIE: u64 = 8;
/// Before the object of `std::make_shared`: a table of functions and two counts.
const SHARED_COUNTS: u64 = 16;

/// Pointers of Rust's library that count, and the types of what they point to: counts, and a member that is the value.
const COUNTED: [(&str, &str, &str); 3] =
    [("Arc", "ArcInner", "data"), ("Rc", "RcInner", "value"), ("Rc", "RcBox", "value")];
/// Types of Rust's library that lines name for what they allocate. They are not what is allocated.
const OWNERS: [&str; 4] = ["Arc", "Rc", "Box", "Vec"];

/// The types of a program by what a line may call them.
#[derive(Debug)]
pub(crate) struct HeapTypes {
    named: FxHashMap<Box<str>, Vec<Die>>,
    /// The types that variables and members of these names point to.
    pointed: FxHashMap<Box<str>, Vec<Die>>,
    /// Records of the user's by size; those of one name count once.
    sized: FxHashMap<u64, Vec<Die>>,
}

/// How a block is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    ty: Die,
    /// The size of one element.
    size: u64,
    /// Bytes before the first element.
    header: u64,
    array: bool,
}

/// How sure it is that a word of the line is the type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    /// Right after `sizeof`, `new` and the like.
    Allocated,
    Mentioned,
}

impl HeapTypes {
    pub fn new(index: &Index) -> HeapTypes {
        let types = &index.types;
        let mut named: FxHashMap<Box<str>, Vec<Die>> = FxHashMap::default();
        let mut pointed: FxHashMap<Box<str>, Vec<Die>> = FxHashMap::default();
        let mut sized: FxHashMap<u64, Vec<Die>> = FxHashMap::default();
        let mut seen: FxHashSet<(u64, String)> = FxHashSet::default();
        let mut point = |name: &str, ty: Option<Die>| {
            if let Some(to) = ty.and_then(|ty| types.pointee(ty)) {
                pointed.entry(name.into()).or_default().push(to);
            }
        };
        for ty in types.iter().filter(|ty| !ty.declaration) {
            if let Some(name) = ty.name.as_deref().filter(|_| nameable(ty)) {
                // `node<int>` is written `node<T>` or just `node`.
                let short = name.split('<').next().unwrap_or(name);
                named.entry(short.into()).or_default().push(ty.die);
            }
            if let (Kind::Record { members, closure: false, .. }, true) = (&ty.kind, ty.user) {
                for member in members {
                    point(member.name.as_deref().unwrap_or_default(), member.ty);
                }
                // An anonymous struct goes by the name of its typedef.
                let name = types.spelling(ty.die, &index.scopes);
                if let (Some(size), Some(_)) = (ty.size, &ty.name)
                    && seen.insert((size, name))
                {
                    sized.entry(size).or_default().push(ty.die);
                }
            }
            if let (Kind::Alias(Some(to)), Some(name), true) = (&ty.kind, &ty.name, ty.user)
                && let Some(record) = types.bare(*to)
                && let (Kind::Record { .. }, None, Some(size)) = (&record.kind, &record.name, record.size)
                && seen.insert((size, name.to_string()))
            {
                sized.entry(size).or_default().push(ty.die);
            }
        }
        for variable in index.variables.iter().chain(&index.thread_locals) {
            let plain = variable.name.rsplit("::").next().unwrap_or(&variable.name);
            point(plain, variable.ty);
        }
        HeapTypes { named, pointed, sized }
    }

    /// The type of a block that was allocated on this line.
    pub fn guess(&self, index: &Index, line: &str, locals: Option<&Locals>, block: u64) -> Option<Shape> {
        let words = words(line);
        let types = |word: &str| {
            let all = self.named.get(word).into_iter().flatten().copied();
            all.filter(|ty| !OWNERS.contains(&word) || is_user(index, *ty)).collect::<Vec<_>>()
        };
        let pointees = |word: &str| {
            let local = locals.into_iter().flat_map(Locals::typed).filter(|(name, _)| *name == word);
            let local = local.filter_map(|(_, ty)| index.types.pointee(ty));
            local.chain(self.pointed.get(word).into_iter().flatten().copied()).collect::<Vec<_>>()
        };
        let all = |kind: Option<Word>, find: &dyn Fn(&str) -> Vec<Die>, fits: &dyn Fn(Die) -> Option<Shape>| {
            let words = words.iter().filter(|(_, word)| kind.is_none_or(|kind| kind == *word));
            words.flat_map(|(word, _)| find(word).into_iter().take(MAX_TRIES)).find_map(fits)
        };
        let fits = |ty| fit(index, ty, block, line);
        let same = |ty| fits(ty).filter(|shape| !shape.array && is_record(index, shape.ty));
        let divides = |ty| fits(ty).filter(|shape| is_record(index, shape.ty));
        self.counted(index, &words, block)
            .or_else(|| all(Some(Word::Allocated), &types, &fits))
            .or_else(|| all(Some(Word::Allocated), &pointees, &fits))
            .or_else(|| all(None, &types, &same))
            .or_else(|| all(None, &pointees, &same))
            .or_else(|| all(None, &types, &divides))
            .or_else(|| all(None, &pointees, &divides))
            .or_else(|| match self.sized.get(&block).map(Vec::as_slice) {
                Some([only]) => fits(*only),
                _ => None,
            })
            .or_else(|| all(None, &types, &fits).filter(|shape| shape.size > 1))
    }
}

impl HeapTypes {
    /// What Rust's library allocates for `Arc::new` and the like.
    fn counted(&self, index: &Index, words: &[(&str, Word)], block: u64) -> Option<Shape> {
        let named = |pointer: &str| words.iter().any(|(word, _)| *word == pointer);
        let inner =
            COUNTED.iter().filter(|(pointer, ..)| named(pointer)).flat_map(|(_, inner, _)| self.named.get(*inner));
        let mut found: Vec<(&str, Die)> = Vec::new();
        for ty in inner.flatten().filter_map(|die| index.types.get(*die)) {
            let name = ty.name.as_deref().unwrap_or_default();
            if ty.size == Some(block) && !ty.user && found.iter().all(|(other, _)| *other != name) {
                found.push((name, ty.die));
            }
        }
        let is_of = |name: &str, word: &str| {
            name.split(|c: char| !c.is_alphanumeric() && c != '_').skip(1).any(|part| part == word)
        };
        let ty = match &found[..] {
            [only] => only.1,
            // `Arc::new(Slot { full: AtomicU32::new(0) })`: the members come later.
            several => words.iter().find_map(|(word, _)| several.iter().find(|(name, _)| is_of(name, word)))?.1,
        };
        Some(Shape { ty, size: block, header: 0, array: false })
    }
}

fn is_user(index: &Index, ty: Die) -> bool {
    index.types.get(ty).is_some_and(|ty| ty.user)
}

/// Types that a line can mean: records and typedefs, and numbers.
fn nameable(ty: &Type) -> bool {
    match ty.kind {
        Kind::Record { .. } | Kind::Base(_) | Kind::Enum(_) => true,
        // `size_t` and the like only get in the way.
        Kind::Alias(_) => ty.user || ty.name.as_deref().is_some_and(|name| name.starts_with("atomic_")),
        _ => false,
    }
}

fn is_record(index: &Index, ty: Die) -> bool {
    index.types.bare(ty).is_some_and(|ty| matches!(ty.kind, Kind::Record { .. }))
}

/// How a block would be divided if it held this type.
fn fit(index: &Index, ty: Die, block: u64, line: &str) -> Option<Shape> {
    let size = index.types.size(ty).filter(|size| *size > 0)?;
    let shape = |header| Shape { ty, size, header, array: block - header > size };
    if block == size {
        return Some(shape(0));
    }
    if line.contains("_shared")
        && block.checked_sub(SHARED_COUNTS).is_some_and(|rest| rest.div_ceil(8) == size.div_ceil(8))
    {
        return Some(Shape { array: false, ..shape(SHARED_COUNTS) });
    }
    if ends_open(index, ty) && block >= size {
        return Some(Shape { ty, size: block, header: 0, array: false });
    }
    let counted = line.contains("new") && line.contains('[') && has_destructor(index, ty);
    if counted && block.checked_sub(ARRAY_COOKIE).is_some_and(|rest| rest > 0 && rest.is_multiple_of(size)) {
        return Some(Shape { array: true, ..shape(ARRAY_COOKIE) });
    }
    block.is_multiple_of(size).then(|| shape(0))
}

fn has_destructor(index: &Index, ty: Die) -> bool {
    index.types.bare(ty).is_some_and(|ty| matches!(ty.kind, Kind::Record { destructor: true, .. }))
}

/// `struct queue { …; int items[]; }`
fn ends_open(index: &Index, ty: Die) -> bool {
    match index.types.bare(ty).map(|ty| &ty.kind) {
        Some(Kind::Record { members, .. }) => {
            members.last().and_then(|last| last.ty).is_some_and(|ty| index.types.is_open(ty))
        }
        _ => false,
    }
}

impl Shape {
    /// The type's name, and what these bytes of the block are.
    pub fn name(&self, index: &Index, reach: Reach) -> Option<(String, Named)> {
        let at = reach.at.checked_sub(self.header)?;
        let (first, at) = (at / self.size, at % self.size);
        let last = first + (at.saturating_add(reach.size - 1)) / self.size;
        let name = index.types.spelling(self.ty, &index.scopes);
        if first != last && self.array {
            return Some((name, Named { name: format!("[{first}..{}]", last + 1), ty: Scalar::Unknown }));
        }
        let spot = spot(index, self.ty, Reach { at, size: reach.size });
        let path = if self.array { format!("[{first}]{}", spot.path) } else { spot.path };
        let path = path.strip_prefix('.').unwrap_or(&path);
        let (name, path) = as_pointer(&name, path).unwrap_or_else(|| (name.clone(), path.to_owned()));
        Some((name, Named { name: path, ty: spot.ty }))
    }
}

/// What a counted pointer of Rust's points to, named as the pointer is: `Arc<T>` and a path in the `T`.
fn as_pointer(name: &str, path: &str) -> Option<(String, String)> {
    let in_library = name.strip_prefix("alloc::sync::").or_else(|| name.strip_prefix("alloc::rc::"))?;
    let (pointer, rest, value) =
        COUNTED.iter().find_map(|(pointer, inner, value)| Some((pointer, in_library.strip_prefix(inner)?, value)))?;
    let inner = path.strip_prefix(value).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[', '+']));
    let path = inner.map_or(path, |rest| rest.strip_prefix('.').unwrap_or(rest));
    Some((format!("{pointer}{rest}"), path.to_owned()))
}

/// The names on a line, in order, those that say what is allocated first.
fn words(line: &str) -> Vec<(&str, Word)> {
    let mut found: Vec<(&str, Word)> = Vec::new();
    let mut allocated = false;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            // No type is in a string.
            rest = rest[1..].split_once('"').map_or("", |(_, after)| after);
        } else if rest.starts_with("//") {
            break;
        } else if c.is_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            match word {
                "sizeof" | "new" | "make_shared" | "make_unique" | "allocate_shared" => allocated = true,
                "struct" | "class" | "union" | "const" | "volatile" | "std" | "return" => {}
                word if found.len() < MAX_TRIES => {
                    found.push((word, if allocated { Word::Allocated } else { Word::Mentioned }));
                }
                _ => break,
            }
        } else {
            // `sizeof(T)` ends at the bracket, `new T(…)` and `make_shared<T>(…)` before what they are made from.
            let ends = match c {
                ')' | ';' | '{' | '[' | ',' => true,
                '(' => found.last().is_some_and(|(_, word)| *word == Word::Allocated),
                _ => false,
            };
            allocated &= !ends;
            rest = &rest[c.len_utf8()..];
        }
    }
    found.sort_by_key(|(_, word)| *word == Word::Mentioned);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_pointer_is_named_for_what_it_points_to() {
        let named = |name, path| as_pointer(name, path).map(|(name, path)| format!("{name} {path}"));
        assert_eq!(named("alloc::sync::ArcInner<q::Slot>", "data.full").as_deref(), Some("Arc<q::Slot> full"));
        assert_eq!(named("alloc::sync::ArcInner", "data[1]").as_deref(), Some("Arc [1]"));
        assert_eq!(named("alloc::sync::ArcInner<u32>", "data").as_deref(), Some("Arc<u32> "));
        assert_eq!(named("alloc::rc::RcInner<u32>", "strong").as_deref(), Some("Rc<u32> strong"));
        assert_eq!(named("mine::ArcInner", "data"), None);
    }

    #[test]
    fn the_allocated_type_comes_first() {
        let sure = |line| {
            let words = words(line);
            let sure = words.iter().filter(|(_, word)| *word == Word::Allocated);
            sure.map(|(word, _)| *word).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sure("struct node *n = malloc(sizeof(struct node));"), "node");
        assert_eq!(sure("n = malloc(sizeof *n);"), "n");
        assert_eq!(sure("q->head = malloc(sizeof(*q->head) * n);"), "q head");
        assert_eq!(sure("auto *n = new ns::node<int>(value, next);"), "ns node int");
        assert_eq!(sure("auto n = std::make_shared<node>(value);"), "node");
        assert_eq!(sure("a = new int[size];"), "int");
        assert_eq!(sure("n = alloc(node); // new thing"), "");
        assert_eq!(sure("x = f(\"new node\", y);"), "");
        assert_eq!(words("n = alloc(node);").len(), 3);
    }
}
