//! A test's question: the locations it shows, the filter and the final condition.
//!
//! ```text
//! locations [x; 0:rax; a[1];]
//! filter 0:rax = 1
//! exists (0:rax = 1 /\ ([x] = 2 \/ not 1:rbx = x))
//! ```
//!
//! As in herd, `not` binds tightest, then `=>` (to the right), then `/\`, then `\/`.

use crate::code::{Int, Reg};
use crate::error::{ErrorKind, Fault, Parsed};
use crate::init::{Memory, RegName, array_number, register_name, resolve, value};
use crate::lex::{Lexer, Tok};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Something whose final value a test looks at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// As states show it: `0:rax`, `[x]`, `a[1]`.
    pub name: String,
    /// Its kind.
    pub spot: Spot,
    /// How its value is shown.
    pub ty: Int,
}

/// Where a final value is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)] // the names say it
pub enum Spot {
    /// A register of a thread.
    Reg { thread: u32, reg: Reg },
    /// A cell of the code.
    Cell(u32),
}

/// How the final condition is meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Quantifier {
    /// `exists`: can this outcome happen?
    Exists,
    /// `~exists`: there must be none.
    NotExists,
    /// `forall`: every execution must end so.
    Forall,
}

impl Quantifier {
    /// As it is written.
    pub fn keyword(self) -> &'static str {
        match self {
            Quantifier::Exists => "exists",
            Quantifier::NotExists => "~exists",
            Quantifier::Forall => "forall",
        }
    }
}

/// A statement about final values. Numbers are indices into the test's locations.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Prop {
    /// All of them.
    And(Vec<Prop>),
    /// One of them.
    Or(Vec<Prop>),
    /// Not this.
    Not(Box<Prop>),
    /// If the first, then the second.
    Implies(Box<Prop>, Box<Prop>),
    /// The location has this value.
    Is(usize, u64),
    /// The two locations have the same value.
    Same(usize, usize),
}

impl Prop {
    /// Whether it holds for these values of the test's locations.
    pub fn holds(&self, values: &[u64]) -> bool {
        match self {
            Prop::And(all) => all.iter().all(|prop| prop.holds(values)),
            Prop::Or(any) => any.iter().any(|prop| prop.holds(values)),
            Prop::Not(prop) => !prop.holds(values),
            Prop::Implies(left, right) => !left.holds(values) || right.holds(values),
            Prop::Is(location, value) => values[*location] == *value,
            Prop::Same(left, right) => values[*left] == values[*right],
        }
    }

    /// Calls `change` on everything at the leaves.
    pub(crate) fn leaves(&mut self, change: &mut impl FnMut(&mut Prop)) {
        match self {
            Prop::And(all) | Prop::Or(all) => all.iter_mut().for_each(|prop| prop.leaves(change)),
            Prop::Not(prop) => prop.leaves(change),
            Prop::Implies(left, right) => {
                left.leaves(change);
                right.leaves(change);
            }
            Prop::Is(..) | Prop::Same(..) => change(self),
        }
    }

    /// Writes it with as few parentheses as are needed, but always some around the whole.
    pub(crate) fn write(
        &self,
        out: &mut String,
        name: &impl Fn(usize) -> String,
        shown: &impl Fn(usize, u64) -> String,
    ) {
        let list = |out: &mut String, all: &[Prop], sign: &str, empty: &str| {
            out.push('(');
            for (index, prop) in all.iter().enumerate() {
                out.push_str(if index > 0 { sign } else { "" });
                // A leaf needs no parentheses in a list.
                prop.write_inner(out, name, shown);
            }
            out.push_str(if all.is_empty() { empty } else { "" });
            out.push(')');
        };
        match self {
            Prop::And(all) => list(out, all, " /\\ ", "true"),
            Prop::Or(all) => list(out, all, " \\/ ", "false"),
            _ => {
                out.push('(');
                self.write_inner(out, name, shown);
                out.push(')');
            }
        }
    }

    fn write_inner(&self, out: &mut String, name: &impl Fn(usize) -> String, shown: &impl Fn(usize, u64) -> String) {
        // Writing to a string succeeds.
        match self {
            Prop::Is(location, value) => {
                let _ = write!(out, "{}={}", name(*location), shown(*location, *value));
            }
            Prop::Same(left, right) => {
                let _ = write!(out, "{}={}", name(*left), name(*right));
            }
            Prop::Not(prop) => {
                out.push_str("not ");
                prop.write(out, name, shown);
            }
            Prop::Implies(left, right) => {
                left.write(out, name, shown);
                out.push_str(" => ");
                right.write(out, name, shown);
            }
            Prop::And(_) | Prop::Or(_) => self.write(out, name, shown),
        }
    }
}

/// Finds registers by the names that a dialect has for them.
pub(crate) trait Registers {
    /// The register, what states call it, and how it is shown.
    fn register(&mut self, name: &RegName<'_>) -> Parsed<(Reg, String, Int)>;
}

/// The locations that were named so far.
pub(crate) struct Named<'a, R> {
    pub(crate) memory: &'a mut Memory,
    pub(crate) registers: &'a mut R,
    pub(crate) list: Vec<Location>,
    index: FxHashMap<Spot, usize>,
}

/// The part of a test after the code.
pub(crate) struct Constraints {
    pub(crate) locations: Vec<usize>,
    pub(crate) filter: Option<Prop>,
    pub(crate) quantifier: Quantifier,
    pub(crate) prop: Prop,
}

const ATOM: &str = "a condition such as `0:rax=1`, `[x]=2` or `a[1]!=3`";
const HELP: &str =
    "conditions are written `exists (0:rax=1 /\\ [x]=2)`, with `/\\`, `\\/`, `=>`, `not` and parentheses";
const LOCATIONS: &str = "locations are listed as `locations [x; 0:rax;]`";

impl<'a, R: Registers> Named<'a, R> {
    pub(crate) fn new(memory: &'a mut Memory, registers: &'a mut R) -> Named<'a, R> {
        Named { memory, registers, list: Vec::new(), index: FxHashMap::default() }
    }

    fn add(&mut self, name: String, spot: Spot, ty: Int) -> usize {
        *self.index.entry(spot).or_insert_with(|| {
            self.list.push(Location { name, spot, ty });
            self.list.len() - 1
        })
    }

    fn register(&mut self, name: &RegName<'_>) -> Parsed<usize> {
        let (reg, shown, ty) = self.registers.register(name)?;
        let spot = Spot::Reg { thread: name.thread, reg };
        Ok(self.add(format!("{}:{shown}", name.thread), spot, ty))
    }

    /// The cells of a name that was read, with the index that follows: all of an array without one.
    fn cells(&mut self, lexer: &mut Lexer<'_>, name: &str, span: std::ops::Range<usize>) -> Parsed<Vec<usize>> {
        let Some(symbol) = self.memory.find(name) else {
            let help = "the test neither declares nor uses it; registers are written `0:rax` or `0:r0`";
            return Err(Fault::unknown("location", name, help, span));
        };
        let mut range = 0..symbol.len;
        if lexer.take("[")? {
            let index = array_number(lexer, "the index")?;
            lexer.expect("]", "`]`", HELP)?;
            if index >= symbol.len {
                let help = "the array has fewer cells";
                return Err(Fault::unknown("cell", &format!("{name}[{index}]"), help, span));
            }
            range = index..index + 1;
        }
        let shown = |index: u32| if symbol.array { format!("{name}[{index}]") } else { format!("[{name}]") };
        // Types are known once all accesses are.
        Ok(range.map(|index| self.add(shown(index), Spot::Cell(symbol.first + index), Int::I32)).collect())
    }

    /// One location.
    fn location(&mut self, lexer: &mut Lexer<'_>) -> Parsed<usize> {
        if let Some(reg) = register_name(lexer)? {
            return self.register(&reg);
        }
        let (star, bracket) = (lexer.take("*")?, lexer.take("[")?);
        if star && let Some(reg) = register_name(lexer)? {
            return self.register(&reg);
        }
        let (name, span) = lexer.word(ATOM, HELP)?;
        let cells = self.cells(lexer, name, span.clone())?;
        if bracket {
            lexer.expect("]", "`]`", HELP)?;
        }
        match cells[..] {
            [cell] => Ok(cell),
            _ => {
                let help = "name one cell of the array: `a[0]`";
                Err(Fault::new(ErrorKind::Syntax { expected: "one cell", found: "an array".into(), help }, span))
            }
        }
    }

    fn atom(&mut self, lexer: &mut Lexer<'_>) -> Parsed<Prop> {
        if lexer.is_word("fault") {
            let help = "the machines here have no faults that a program could catch";
            return Err(Fault::unsupported("condition", "fault", help, lexer.peek().span()));
        }
        let left = self.location(lexer)?;
        let equal = match lexer.peek().tok {
            Tok::Sign("=" | "==") => true,
            Tok::Sign("!=" | "<>") => false,
            _ => return Err(lexer.unexpected("`=`, `==`, `!=` or `<>`", HELP)),
        };
        lexer.next()?;
        let mut after = lexer.clone();
        let location = lexer.is("[") || lexer.is("*") || register_name(&mut after)?.is_some();
        let prop = if location {
            Prop::Same(left, self.location(lexer)?)
        } else {
            let value = value(lexer)?;
            if let crate::init::Value::Address { name, span, .. } = &value
                && self.memory.find(name).is_none()
            {
                let help = "a name stands for the address of a location that the test uses";
                return Err(Fault::unknown("location", name, help, span.clone()));
            }
            Prop::Is(left, resolve(&value, self.memory)?)
        };
        Ok(if equal { prop } else { Prop::Not(Box::new(prop)) })
    }

    /// A whole condition: `\/` binds loosest.
    fn prop(&mut self, lexer: &mut Lexer<'_>) -> Parsed<Prop> {
        let mut any = vec![self.conjunction(lexer)?];
        while lexer.take("\\/")? {
            any.push(self.conjunction(lexer)?);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Prop::Or(flat(any, |p| matches!(p, Prop::Or(_)))) })
    }

    fn conjunction(&mut self, lexer: &mut Lexer<'_>) -> Parsed<Prop> {
        let mut all = vec![self.implication(lexer)?];
        while lexer.take("/\\")? {
            all.push(self.implication(lexer)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Prop::And(flat(all, |p| matches!(p, Prop::And(_)))) })
    }

    fn implication(&mut self, lexer: &mut Lexer<'_>) -> Parsed<Prop> {
        let left = self.negation(lexer)?;
        if !lexer.take("=>")? {
            return Ok(left);
        }
        lexer.enter()?;
        let right = self.implication(lexer)?;
        lexer.leave();
        Ok(Prop::Implies(Box::new(left), Box::new(right)))
    }

    fn negation(&mut self, lexer: &mut Lexer<'_>) -> Parsed<Prop> {
        lexer.enter()?;
        let prop = match lexer.peek().tok {
            Tok::Sign("~") | Tok::Word("not") => {
                lexer.next()?;
                Prop::Not(Box::new(self.negation(lexer)?))
            }
            Tok::Sign("(") => {
                lexer.next()?;
                let prop = self.prop(lexer)?;
                lexer.expect(")", "`)`, `/\\`, `\\/` or `=>`", HELP)?;
                prop
            }
            Tok::Word("true") => {
                lexer.next()?;
                Prop::And(Vec::new())
            }
            Tok::Word("false") => {
                lexer.next()?;
                Prop::Or(Vec::new())
            }
            _ => self.atom(lexer)?,
        };
        lexer.leave();
        Ok(prop)
    }

    fn locations(&mut self, lexer: &mut Lexer<'_>) -> Parsed<Vec<usize>> {
        lexer.expect("[", "`[`", LOCATIONS)?;
        let mut all = Vec::new();
        while !lexer.take("]")? {
            if lexer.is_word("fault") {
                let help = "the machines here have no faults that a program could catch";
                return Err(Fault::unsupported("location", "fault", help, lexer.peek().span()));
            }
            if let Some(reg) = register_name(lexer)? {
                all.push(self.register(&reg)?);
            } else {
                let bracket = lexer.take("[")?;
                let (name, span) = lexer.word("a location such as `x`, `a[1]` or `0:rax`", LOCATIONS)?;
                all.extend(self.cells(lexer, name, span)?);
                if bracket {
                    lexer.expect("]", "`]`", LOCATIONS)?;
                }
            }
            // A type may follow; the location has one already.
            while matches!(lexer.peek().tok, Tok::Word(_) | Tok::Sign("*")) {
                lexer.next()?;
            }
            if !lexer.take(";")? && !lexer.is("]") {
                return Err(lexer.unexpected("`;` or `]`", LOCATIONS));
            }
        }
        Ok(all)
    }

    /// Everything from here to the end of the file.
    pub(crate) fn constraints(&mut self, lexer: &mut Lexer<'_>) -> Parsed<Constraints> {
        let mut locations = Vec::new();
        if lexer.is_word("locations") {
            lexer.next()?;
            locations = self.locations(lexer)?;
        }
        let mut filter = None;
        if lexer.is_word("filter") {
            lexer.next()?;
            filter = Some(self.prop(lexer)?);
            lexer.take(";")?;
        }
        let (quantifier, prop) = match lexer.peek().tok {
            // Without a condition, everything is fine.
            Tok::End | Tok::Sign("<<") => (Quantifier::Forall, Prop::And(Vec::new())),
            Tok::Sign("(") => (Quantifier::Exists, self.prop(lexer)?),
            Tok::Word("exists" | "final") => {
                lexer.next()?;
                (Quantifier::Exists, self.prop(lexer)?)
            }
            Tok::Word("forall") => {
                lexer.next()?;
                (Quantifier::Forall, self.prop(lexer)?)
            }
            Tok::Sign("~") | Tok::Word("not") => {
                lexer.next()?;
                if !lexer.is_word("exists") {
                    return Err(lexer.unexpected("`exists`", HELP));
                }
                lexer.next()?;
                (Quantifier::NotExists, self.prop(lexer)?)
            }
            Tok::Word("observed") => {
                let help = "write `exists`, `~exists` or `forall`";
                return Err(Fault::unsupported("condition", "observed", help, lexer.peek().span()));
            }
            _ => {
                let help = "after the code come `locations [..]`, `filter ..` and `exists`, `~exists` or `forall`";
                return Err(lexer.unexpected("`exists`, `~exists` or `forall`", help));
            }
        };
        lexer.take(";")?;
        if !matches!(lexer.peek().tok, Tok::End | Tok::Sign("<<") | Tok::Word("with")) {
            return Err(lexer.unexpected("the end of the test", HELP));
        }
        // Shown is what the condition or `locations` names.
        let mut shown = prop.clone();
        shown.leaves(&mut |leaf| match *leaf {
            Prop::Is(location, _) => locations.push(location),
            Prop::Same(left, right) => locations.extend([left, right]),
            _ => {}
        });
        Ok(Constraints { locations, filter, quantifier, prop })
    }
}

/// Takes lists of the same kind apart, as in `a /\ (b /\ c)`.
fn flat(props: Vec<Prop>, same: impl Fn(&Prop) -> bool) -> Vec<Prop> {
    let mut all = Vec::with_capacity(props.len());
    for prop in props {
        if same(&prop) {
            if let Prop::And(inner) | Prop::Or(inner) = prop {
                all.extend(inner);
            }
        } else {
            all.push(prop);
        }
    }
    all
}
