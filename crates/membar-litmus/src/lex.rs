//! Words, numbers and signs: the elements of all sections of a litmus test.

use crate::error::{ErrorKind, Fault, Parsed, quoted};
use std::ops::Range;

/// The style of comments and signs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// `(* … *)` and `//`, for everything but the code of C tests; names may have and begin with dots
    Litmus,
    /// `/* … */` and `//`
    C,
}

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tok<'a> {
    /// A name or keyword.
    Word(&'a str),
    /// Starts with a digit.
    Number(&'a str),
    /// Anything else, the longest that is a sign of the style.
    Sign(&'a str),
    /// The text is over.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) tok: Tok<'a>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Token<'_> {
    pub(crate) fn span(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// Signs of more than one character, longest first.
const LITMUS_SIGNS: [&str; 7] = ["/\\", "\\/", "=>", "==", "!=", "<>", "<<"];
const C_SIGNS: [&str; 21] = [
    "<<=", ">>=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "++", "--", "+=", "-=", "*=", "&=", "|=", "^=", "->",
    "/=", "%=",
];

/// Nesting of brackets, statements and comments, at most: parsers call themselves, and the stack is finite.
pub(crate) const DEPTH: usize = 100;

/// Splits a text into tokens, one ahead.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    pub(crate) text: &'a str,
    pub(crate) style: Style,
    /// The token that comes next.
    ahead: Token<'a>,
    /// Where the last token that was taken ends.
    pub(crate) last_end: usize,
    depth: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str, from: usize, style: Style) -> Parsed<Lexer<'a>> {
        let ahead = Token { tok: Tok::End, start: from, end: from };
        let mut lexer = Lexer { text, style, ahead, last_end: from, depth: 0 };
        lexer.ahead = lexer.scan(from)?;
        Ok(lexer)
    }

    pub(crate) fn peek(&self) -> Token<'a> {
        self.ahead
    }

    pub(crate) fn next(&mut self) -> Parsed<Token<'a>> {
        let token = self.ahead;
        self.last_end = token.end;
        self.ahead = self.scan(token.end)?;
        Ok(token)
    }

    /// Goes on elsewhere in the text.
    pub(crate) fn seek(&mut self, at: usize) -> Parsed<()> {
        self.last_end = at;
        self.ahead = self.scan(at)?;
        Ok(())
    }

    pub(crate) fn is(&self, sign: &str) -> bool {
        self.ahead.tok == Tok::Sign(sign)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.ahead.tok == Tok::Word(word)
    }

    /// Takes the sign if it comes next.
    pub(crate) fn take(&mut self, sign: &str) -> Parsed<bool> {
        let found = self.is(sign);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Takes the sign, or says what was expected.
    pub(crate) fn expect(&mut self, sign: &str, expected: &'static str, help: &'static str) -> Parsed<()> {
        if self.take(sign)? { Ok(()) } else { Err(self.unexpected(expected, help)) }
    }

    /// Takes a name.
    pub(crate) fn word(&mut self, expected: &'static str, help: &'static str) -> Parsed<(&'a str, Range<usize>)> {
        match self.ahead.tok {
            Tok::Word(word) => Ok((word, self.next()?.span())),
            _ => Err(self.unexpected(expected, help)),
        }
    }

    /// The fault that the next token is.
    pub(crate) fn unexpected(&self, expected: &'static str, help: &'static str) -> Fault {
        let found = match self.ahead.tok {
            Tok::End => "the end of the file".to_owned(),
            Tok::Word(text) | Tok::Number(text) | Tok::Sign(text) => format!("`{}`", quoted(text)),
        };
        Fault::new(ErrorKind::Syntax { expected, found, help }, self.ahead.span())
    }

    /// One level deeper, if there is room.
    pub(crate) fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Fault::new(ErrorKind::TooMany { what: "levels of nesting", limit: DEPTH }, self.ahead.span()));
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn scan(&self, from: usize) -> Parsed<Token<'a>> {
        let start = self.skip(from)?;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return Ok(Token { tok: Tok::End, start, end: start }) };
        let run = |more: fn(char) -> bool| rest.find(|c: char| !more(c)).unwrap_or(rest.len());
        // `.L1` is a label.
        let dotted = self.style == Style::Litmus
            && rest[first.len_utf8()..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let (tok, len) = if first.is_ascii_alphabetic() || first == '_' || (first == '.' && dotted) {
            let len = match self.style {
                Style::C => run(|c| c.is_ascii_alphanumeric() || c == '_'),
                Style::Litmus => run(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.'),
            };
            (Tok::Word(&rest[..len]), len)
        } else if first.is_ascii_digit() {
            let len = run(|c| c.is_ascii_alphanumeric() || c == '_');
            (Tok::Number(&rest[..len]), len)
        } else {
            let signs = if self.style == Style::C { &C_SIGNS[..] } else { &LITMUS_SIGNS[..] };
            let len = signs.iter().find(|sign| rest.starts_with(**sign)).map_or(first.len_utf8(), |sign| sign.len());
            (Tok::Sign(&rest[..len]), len)
        };
        Ok(Token { tok, start, end: start + len })
    }

    /// Past blanks and comments.
    fn skip(&self, mut at: usize) -> Parsed<usize> {
        let bytes = self.text.as_bytes();
        loop {
            while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            }
            let rest = &bytes[at.min(bytes.len())..];
            let end = match self.style {
                Style::Litmus if rest.starts_with(b"(*") => comment(self.text, at, "*)"),
                Style::C if rest.starts_with(b"/*") => comment(self.text, at, "*/"),
                _ if rest.starts_with(b"//") => Ok(self.text[at..].find('\n').map_or(self.text.len(), |len| at + len)),
                _ => return Ok(at),
            };
            at = end?;
        }
    }
}

/// Where the comment that opens at `at` ends. Litmus comments nest.
fn comment(text: &str, at: usize, close: &'static str) -> Parsed<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut now) = (1usize, at + 2);
    while let Some(pair) = bytes.get(now..now + 2) {
        if pair == close.as_bytes() {
            depth -= 1;
            now += 2;
            if depth == 0 {
                return Ok(now);
            }
        } else if pair == b"(*" && close == "*)" {
            depth += 1;
            now += 2;
        } else {
            now += 1;
        }
    }
    let help = "close the comment";
    let expected = if close == "*)" { "`*)`" } else { "`*/`" };
    Err(Fault::new(ErrorKind::Syntax { expected, found: "the end of the file".into(), help }, at..at + 2))
}

/// The value of a number as written: decimal or `0x…`, in C with a suffix.
pub(crate) fn number(text: &str, negative: bool, span: Range<usize>) -> Parsed<u64> {
    const HELP: &str = "values have 64 bits";
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let (digits, radix) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        let found = format!("`{}`", quoted(text));
        let help = "numbers are decimal (`17`) or hexadecimal (`0x11`)";
        return Err(Fault::new(ErrorKind::Syntax { expected: "a number", found, help }, span));
    }
    let fits = u64::from_str_radix(digits, radix).ok().filter(|&value| !negative || value <= 1 << 63);
    match fits {
        Some(value) => Ok(if negative { value.wrapping_neg() } else { value }),
        None => {
            let text = format!("{}{}", if negative { "-" } else { "" }, quoted(text));
            Err(Fault::new(ErrorKind::TooLarge { what: "the number", text, help: HELP }, span))
        }
    }
}
