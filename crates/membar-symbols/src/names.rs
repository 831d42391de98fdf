//! Names of functions and variables, with the namespaces, classes and functions that they are in.
//!
//! A function's definition often says little more than where its declaration is (`DW_AT_specification`,
//! `DW_AT_abstract_origin`); the declaration is where name and scope are found. Names are kept short: namespaces that
//! the reader did not write (anonymous ones, `__cxx11`) are left out, and so are long template arguments.

use crate::entry::Die;
use crate::types::{Kind, Type, Types};

/// A scope's number in [`Scopes::list`].
pub(crate) type ScopeId = u32;

/// The scope of a unit: names in it need no qualification.
pub(crate) const ROOT: ScopeId = 0;

/// How far declarations are followed, and how many scopes of a name are shown.
const MAX_STEPS: u32 = 16;
/// Template arguments of names longer than this are left out.
const LONG: usize = 32;

#[derive(Debug)]
pub(crate) struct Scope {
    pub parent: ScopeId,
    pub kind: ScopeKind,
}

#[derive(Debug)]
pub(crate) enum ScopeKind {
    Root,
    /// None if it has no name.
    Namespace(Option<Box<str>>),
    Record(Die),
    Function(Die),
}

/// A function, or a copy of one that was inlined somewhere.
#[derive(Debug)]
pub(crate) struct Function {
    pub die: Die,
    pub origin: Option<Die>,
    pub name: Option<Box<str>>,
    pub scope: ScopeId,
}

#[derive(Debug)]
pub(crate) struct Scopes {
    pub list: Vec<Scope>,
    /// Sorted by entry.
    functions: Vec<Function>,
}

impl Scopes {
    pub fn new(list: Vec<Scope>, mut functions: Vec<Function>) -> Scopes {
        functions.sort_by_key(|function| function.die);
        Scopes { list, functions }
    }

    fn function(&self, die: Die) -> Option<&Function> {
        let at = self.functions.binary_search_by_key(&die, |function| function.die).ok()?;
        self.functions.get(at)
    }

    pub fn is_function(&self, scope: ScopeId) -> bool {
        self.list.get(scope as usize).is_some_and(|scope| matches!(scope.kind, ScopeKind::Function(_)))
    }

    /// The name of a function, with its scopes: `ns::queue::push`.
    pub fn function_name(&self, die: Die, types: &Types) -> Option<String> {
        let mut parts = Vec::new();
        self.function_parts(die, types, &mut parts, MAX_STEPS)?;
        Some(joined(parts))
    }

    /// A name in a scope.
    pub fn qualified(&self, scope: ScopeId, name: &str, types: &Types) -> String {
        let mut parts = vec![shortened(name)];
        self.scope_parts(scope, types, &mut parts, MAX_STEPS);
        joined(parts)
    }

    /// The name of a type; scopes that are functions are left out, as the type is found there without them.
    pub fn type_name(&self, ty: &Type, types: &Types) -> String {
        let Some(name) = &ty.name else { return "struct".to_owned() };
        let mut parts = vec![shortened(name)];
        let mut scope = ty.scope;
        for _ in 0..MAX_STEPS {
            let Some(inner) = self.list.get(scope as usize) else { break };
            match &inner.kind {
                ScopeKind::Root | ScopeKind::Function(_) => break,
                ScopeKind::Namespace(name) => parts.extend(name.as_deref().filter(|name| visible(name)).map(shortened)),
                ScopeKind::Record(die) => {
                    parts.extend(types.get(*die).and_then(|ty| ty.name.as_deref()).map(shortened));
                }
            }
            scope = inner.parent;
        }
        joined(parts)
    }

    /// Innermost first.
    fn function_parts(&self, die: Die, types: &Types, parts: &mut Vec<String>, steps: u32) -> Option<()> {
        let mut function = self.function(die)?;
        let mut name = function.name.as_deref();
        for _ in 0..MAX_STEPS {
            let Some(origin) = function.origin.and_then(|origin| self.function(origin)) else { break };
            function = origin;
            name = name.or(function.name.as_deref());
        }
        let name = name?;
        if name == "operator()" && self.in_closure(function.scope, types) {
            parts.push("{lambda}".to_owned());
        } else {
            parts.push(shortened(name));
        }
        self.scope_parts(function.scope, types, parts, steps.checked_sub(1)?);
        Some(())
    }

    fn in_closure(&self, scope: ScopeId, types: &Types) -> bool {
        let Some(Scope { kind: ScopeKind::Record(die), .. }) = self.list.get(scope as usize) else { return false };
        types.get(*die).is_some_and(|ty| matches!(ty.kind, Kind::Record { closure: true, .. }))
    }

    fn scope_parts(&self, mut scope: ScopeId, types: &Types, parts: &mut Vec<String>, steps: u32) {
        for step in 0..steps {
            let Some(inner) = self.list.get(scope as usize) else { return };
            match &inner.kind {
                ScopeKind::Root => return,
                ScopeKind::Namespace(name) => parts.extend(name.as_deref().filter(|name| visible(name)).map(shortened)),
                ScopeKind::Record(die) => {
                    parts.extend(types.get(*die).and_then(|ty| ty.name.as_deref()).map(shortened));
                }
                ScopeKind::Function(die) => {
                    // Its scopes are those of its declaration.
                    let _ = self.function_parts(*die, types, parts, steps - step - 1);
                    return;
                }
            }
            scope = inner.parent;
        }
    }
}

/// Inline namespaces of the standard library are not part of a name that anybody writes.
fn visible(namespace: &str) -> bool {
    !namespace.starts_with("__")
}

fn joined(parts: Vec<String>) -> String {
    parts.into_iter().rev().collect::<Vec<_>>().join("::")
}

/// gcc spells types in full, where the source and clang have fewer words.
const PLAIN: [(&str, &str); 8] = [
    ("long long unsigned int", "unsigned long long"),
    ("long long int", "long long"),
    ("long unsigned int", "unsigned long"),
    ("long int", "long"),
    ("short unsigned int", "unsigned short"),
    ("short int", "short"),
    ("unsigned int", "unsigned"),
    ("> >", ">>"),
];

/// A name without long template arguments, as the source would have it.
pub(crate) fn shortened(name: &str) -> String {
    let mut plain = name.to_owned();
    for (long, short) in PLAIN {
        // Twice for `>`: each replacement takes two of them.
        for _ in 0..2 {
            if plain.contains(long) {
                plain = plain.replace(long, short);
            }
        }
    }
    let name = plain.as_str();
    if name.len() <= LONG || name.starts_with("operator") {
        return name.to_owned();
    }
    match name.split_once('<') {
        Some((short, _)) if !short.is_empty() => short.to_owned(),
        // A name that starts so was made up by the compiler.
        _ => name.chars().take(2 * LONG).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn names_are_as_short_as_the_source() {
        for (name, short) in [
            ("cell<long int>", "cell<long>"),
            ("cell<cell<cell<short unsigned int> > >", "cell<cell<cell<unsigned short>>>"),
            ("unsigned int", "unsigned"),
            ("_State_impl<std::thread::_Invoker<std::tuple<int> > >", "_State_impl"),
            ("operator<", "operator<"),
            ("lock", "lock"),
        ] {
            assert_eq!(shortened(name), short);
        }
    }
}
