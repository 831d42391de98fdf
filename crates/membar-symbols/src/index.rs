//! The tables that names are looked up in. `scan` fills them.
//!
//! # Invariants
//!
//! All vectors are sorted: variables by address, ranges of functions by their start.

use crate::Named;
use crate::entry::{Die, Static};
use crate::names::{ScopeId, Scopes};
use crate::path::{Reach, object, spot};
use crate::types::Types;
use rustc_hash::FxHashMap;

/// How many variables below an address are tried: they hardly ever overlap.
const MAX_TRIES: usize = 8;
/// How far declarations are followed.
const MAX_STEPS: u32 = 16;

#[derive(Debug)]
pub(crate) struct Index {
    pub types: Types,
    pub scopes: Scopes,
    pub variables: Vec<Variable>,
    pub thread_locals: Vec<Variable>,
    pub functions: Vec<FunctionRange>,
    /// Variables and parameters that other entries complete.
    pub declared: FxHashMap<Die, Declared>,
    /// Type units by their signature.
    pub signatures: FxHashMap<u64, Die>,
}

/// A variable with its own place.
#[derive(Debug)]
pub(crate) struct Variable {
    pub start: u64,
    pub size: u64,
    pub name: String,
    pub ty: Option<Die>,
}

/// A stretch of code of a function that was not inlined.
#[derive(Debug)]
pub(crate) struct FunctionRange {
    pub low: u64,
    pub high: u64,
    pub die: Die,
    /// The unit that it is in.
    pub unit: u64,
}

/// The description of a variable in one entry, which may be incomplete.
#[derive(Debug)]
pub(crate) struct Declared {
    pub name: Option<Box<str>>,
    pub scope: ScopeId,
    pub ty: Option<Die>,
    pub origin: Option<Die>,
    pub place: Option<Static>,
}

/// Everything known about a variable when all its entries are read.
pub(crate) struct Complete<'a> {
    pub name: &'a str,
    pub scope: ScopeId,
    pub ty: Option<Die>,
}

impl Index {
    pub fn variable(&self, offset: u64, size: u64) -> Option<Named> {
        self.find(&self.variables, offset, size)
    }

    pub fn thread_local(&self, offset: u64, size: u64) -> Option<Named> {
        self.find(&self.thread_locals, offset, size)
    }

    /// The name of the largest thing that begins here, arrays apart.
    pub fn object(&self, offset: u64) -> Option<String> {
        let variable = covering(&self.variables, offset)?;
        let at = offset - variable.start;
        match variable.ty {
            Some(ty) => object(self, ty, at).map(|path| variable.name.clone() + &path),
            None => (at == 0).then(|| variable.name.clone()),
        }
    }

    fn find(&self, variables: &[Variable], offset: u64, size: u64) -> Option<Named> {
        let variable = covering(variables, offset)?;
        Some(self.named(variable.name.clone(), variable.ty, Reach { at: offset - variable.start, size }))
    }

    /// The name of some bytes of a variable.
    pub fn named(&self, mut name: String, ty: Option<Die>, reach: Reach) -> Named {
        let Some(ty) = ty else {
            return Named { name, ty: super::Scalar::Unknown };
        };
        let spot = spot(self, ty, reach);
        name.push_str(&spot.path);
        Named { name, ty: spot.ty }
    }

    /// The function whose code is at an address.
    pub fn function_at(&self, pc: u64) -> Option<&FunctionRange> {
        let after = self.functions.partition_point(|range| range.low <= pc);
        self.functions[..after].iter().rev().take(MAX_TRIES).find(|range| pc < range.high)
    }

    /// Name, scope and type of a variable, from its entry and those that it refers to.
    pub fn complete<'a>(&'a self, own: &'a Declared) -> Option<Complete<'a>> {
        complete(&self.declared, own)
    }
}

/// The variable that is at an address.
fn covering(variables: &[Variable], offset: u64) -> Option<&Variable> {
    let after = variables.partition_point(|variable| variable.start <= offset);
    let mut near = variables[..after].iter().rev().take(MAX_TRIES);
    near.find(|variable| offset - variable.start < variable.size)
}

/// As [`Index::complete`], while the index is made.
pub(crate) fn complete<'a>(declared: &'a FxHashMap<Die, Declared>, own: &'a Declared) -> Option<Complete<'a>> {
    let (mut name, mut ty, mut last) = (own.name.as_deref(), own.ty, own);
    for _ in 0..MAX_STEPS {
        let Some(origin) = last.origin.and_then(|origin| declared.get(&origin)) else { break };
        name = name.or(origin.name.as_deref());
        ty = ty.or(origin.ty);
        last = origin;
    }
    // The scope is that of the first declaration: a static member is defined outside of its class.
    Some(Complete { name: name?, scope: last.scope, ty })
}
