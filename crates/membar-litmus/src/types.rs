//! C's integer types, as the first section of a test and the code of C tests name them.

use crate::code::Int;
use crate::error::{Fault, Parsed};
use crate::lex::{Lexer, Tok};

/// An integer, or a pointer to a pointer … to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Type {
    pub(crate) int: Int,
    pub(crate) stars: u8,
}

impl Type {
    pub(crate) const INT: Type = Type { int: Int::I32, stars: 0 };
    pub(crate) const LONG: Type = Type { int: Int::I64, stars: 0 };

    /// How a value of the type is kept in a register of a 64-bit machine.
    pub(crate) fn value(self) -> Int {
        if self.stars > 0 { Int::I64 } else { self.int }
    }

    /// The type it points to.
    pub(crate) fn target(self) -> Option<Type> {
        self.stars.checked_sub(1).map(|stars| Type { stars, ..self })
    }

    pub(crate) fn pointer(self) -> Type {
        Type { stars: self.stars.saturating_add(1), ..self }
    }
}

const fn signed(bits: u8) -> Int {
    Int { bits, signed: true }
}

const fn unsigned(bits: u8) -> Int {
    Int { bits, signed: false }
}

/// `atomic_` may stand before each of the first group.
const NAMES: [(&str, Int); 26] = [
    ("int", signed(32)),
    ("char", signed(8)),
    ("short", signed(16)),
    ("long", signed(64)),
    ("bool", unsigned(8)),
    ("uint", unsigned(32)),
    ("uchar", unsigned(8)),
    ("ushort", unsigned(16)),
    ("ulong", unsigned(64)),
    ("llong", signed(64)),
    ("ullong", unsigned(64)),
    ("int8_t", signed(8)),
    ("int16_t", signed(16)),
    ("int32_t", signed(32)),
    ("int64_t", signed(64)),
    ("uint8_t", unsigned(8)),
    ("uint16_t", unsigned(16)),
    ("uint32_t", unsigned(32)),
    ("uint64_t", unsigned(64)),
    ("size_t", unsigned(64)),
    ("intptr_t", signed(64)),
    ("uintptr_t", unsigned(64)),
    // These have no `atomic_` form.
    ("void", signed(32)),
    ("_Bool", unsigned(8)),
    ("atomic_t", signed(32)),
    ("atomic64_t", signed(64)),
];

const QUALIFIERS: [&str; 8] = ["const", "volatile", "_Atomic", "static", "register", "auto", "signed", "unsigned"];

fn named(word: &str) -> Option<Int> {
    let find = |word: &str| NAMES.iter().find(|(name, _)| *name == word).map(|(_, int)| *int);
    find(word).or_else(|| word.strip_prefix("atomic_").and_then(find))
}

/// Whether a type can begin with this word.
pub(crate) fn is_type_word(word: &str) -> bool {
    QUALIFIERS.contains(&word) || named(word).is_some()
}

/// Reads a type, with its stars. The caller knows that one begins here.
pub(crate) fn parse_type(lexer: &mut Lexer<'_>) -> Parsed<Type> {
    const HELP: &str =
        "the types are int, char, short, long, int8_t to uint64_t, their atomic forms, and pointers to them";
    let (mut base, mut is_unsigned, mut is_signed, mut any) = (None, false, false, false);
    while let Tok::Word(word) = lexer.peek().tok {
        match word {
            "unsigned" => is_unsigned = true,
            "signed" => is_signed = true,
            // `_Atomic(int)`, also in the words of the macro
            "_Atomic"
                if {
                    let mut next = lexer.clone();
                    next.next()?;
                    next.is("(")
                } =>
            {
                lexer.next()?;
                lexer.next()?;
                lexer.enter()?;
                let inner = parse_type(lexer)?;
                lexer.leave();
                if !lexer.is(")") {
                    return Err(lexer.unexpected("`)`", HELP));
                }
                base = Some(inner.int);
            }
            _ if QUALIFIERS.contains(&word) => {}
            _ => match (named(word), base) {
                // `long int`, `short int`, `long long`
                (Some(int), Some(before)) if word == "int" || (word == "long" && int == before) => {}
                (Some(int), None) => base = Some(int),
                (Some(int), Some(Int { bits: 32, signed: true })) if matches!(word, "long" | "short") => {
                    base = Some(int);
                }
                _ => break,
            },
        }
        any = true;
        lexer.next()?;
    }
    if !any || (base.is_none() && !is_unsigned && !is_signed) {
        return Err(match lexer.peek().tok {
            Tok::Word(word) if any || !is_type_word(word) => {
                Fault::unsupported("type", word, HELP, lexer.peek().span())
            }
            _ => lexer.unexpected("a type", HELP),
        });
    }
    let mut int = base.unwrap_or(Int::I32);
    int.signed &= !is_unsigned;
    let mut stars = 0u8;
    loop {
        if lexer.take("*")? {
            stars = stars.saturating_add(1);
        } else if matches!(lexer.peek().tok, Tok::Word("const" | "volatile" | "restrict")) {
            lexer.next()?;
        } else {
            return Ok(Type { int, stars });
        }
    }
}
