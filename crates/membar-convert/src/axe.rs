//! Traces of axe, in every form that its parser takes: operations anywhere, several on a line or one over several lines, `v3` for `M[3]`,
//! read-modify-writes in braces or angle brackets, times, `final` and `check`.
//!
//! The trace format of membar has one operation per line, and there `v3` is a name of its own.

use crate::op::{Kind, Log, Op, Place, Section, number};

/// Reads a file of traces.
pub fn read(text: &str) -> Log {
    let mut log = Log::default();
    log.traces.push(Section::default());
    let mut tokens = Tokens { text, at: 0 };
    while let Some(token) = tokens.peek() {
        let start = token.0;
        match item(&mut tokens, &mut log) {
            Ok(()) => {}
            Err((from, to, reason)) => {
                let line_start = text[..from].rfind('\n').map_or(0, |at| at + 1);
                let number = text[..from].matches('\n').count() as u64 + 1;
                log.problem(number, from - line_start..(to - line_start).max(from - line_start), reason, "");
                tokens.skip_to_item(start);
            }
        }
    }
    if log.traces.len() > 1 && log.traces.last().is_some_and(|last| last.ops.is_empty() && last.last.is_empty()) {
        log.traces.pop();
    }
    log
}

type Bad = (usize, usize, String);

/// Words, numbers and signs, with their places. Comments and white space are left out.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn peek(&self) -> Option<(usize, &'a str)> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            match bytes.get(at)? {
                b'#' => at += bytes[at..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - at),
                byte if byte.is_ascii_whitespace() => at += 1,
                _ => break,
            }
        }
        let rest = &self.text[at..];
        let word = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let length = match word {
            0 if rest.starts_with(":=") || rest.starts_with("==") => 2,
            0 => rest.chars().next().map_or(1, char::len_utf8),
            word => word,
        };
        Some((at, &rest[..length]))
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let token = self.peek()?;
        self.at = token.0 + token.1.len();
        Some(token)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.peek().is_some_and(|(_, token)| token == sign);
        if found {
            self.next();
        }
        found
    }

    fn want(&mut self, what: &str, test: impl Fn(&str) -> bool) -> Result<(usize, &'a str), Bad> {
        match self.peek() {
            Some((at, token)) if test(token) => {
                self.next();
                Ok((at, token))
            }
            Some((at, token)) => {
                Err((at, at + token.len(), format!("expected {what}, found `{}`", token.escape_debug())))
            }
            None => Err((self.text.len(), self.text.len(), format!("expected {what}, found the end of the file"))),
        }
    }

    fn sign(&mut self, sign: &str) -> Result<(), Bad> {
        self.want(&format!("`{sign}`"), |token| token == sign).map(|_| ())
    }

    fn number(&mut self, what: &str) -> Result<u64, Bad> {
        let (_, token) = self.want(what, |token| number(token).is_some())?;
        Ok(number(token).unwrap_or_default())
    }

    /// After an error in the item that begins at `start`: goes on at the next line.
    fn skip_to_item(&mut self, start: usize) {
        let from = self.at.max(start);
        self.at = self.text[from..].find('\n').map_or(self.text.len(), |at| from + at);
    }

    fn place(&mut self) -> Result<Place, Bad> {
        let (_, word) = self.want("an address such as `M[3]` or `v3`", |token| {
            token == "M" || token.strip_prefix('v').is_some_and(|digits| number(digits).is_some())
        })?;
        let address = match word.strip_prefix('v').and_then(number) {
            Some(address) => address,
            None => {
                self.sign("[")?;
                let address = self.number("a number")?;
                self.sign("]")?;
                address
            }
        };
        Ok(Place { address, ..Place::default() })
    }
}

fn item(tokens: &mut Tokens, log: &mut Log) -> Result<(), Bad> {
    if tokens.eat("check") {
        log.traces.push(Section::default());
        return Ok(());
    }
    if tokens.eat("final") {
        let place = tokens.place()?;
        tokens.sign("==")?;
        let value = tokens.number("a value")?;
        log.section().last.push((place, value.into()));
        return Ok(());
    }
    let line = tokens.peek().map_or(0, |(at, _)| tokens.text[..at].matches('\n').count() as u64 + 1);
    let (at, token) = tokens.want("the number of a thread, `final` or `check`", |token| number(token).is_some())?;
    let hart = number(token).and_then(|hart| u32::try_from(hart).ok());
    let hart =
        hart.ok_or_else(|| (at, at + token.len(), "this thread's number does not fit into 32 bits".to_owned()))?;
    tokens.sign(":")?;
    let (kind, place) = if tokens.eat("sync") {
        (Kind::Fence("sync".into()), Place::default())
    } else if let Some(close) =
        [("{", "}"), ("<", ">")].into_iter().find(|(open, _)| tokens.eat(open)).map(|(_, close)| close)
    {
        let place = tokens.place()?;
        tokens.sign("==")?;
        let read = tokens.number("a value")?;
        tokens.sign(";")?;
        let second = tokens.peek();
        if tokens.place()? != place {
            let (at, token) = second.unwrap_or_default();
            return Err((at, at + token.len(), "both halves of a read-modify-write have one address".into()));
        }
        tokens.sign(":=")?;
        let written = tokens.number("a value")?;
        tokens.sign(close)?;
        (Kind::Rmw(read.into(), written.into()), place)
    } else {
        let place = tokens.place()?;
        let (_, sign) = tokens.want("`:=` or `==`", |token| token == ":=" || token == "==")?;
        let value = tokens.number("a value")?;
        (if sign == ":=" { Kind::Store(value.into()) } else { Kind::Load(value.into()) }, place)
    };
    let mut op = Op::new(hart, kind, place, line);
    if tokens.eat("@") {
        // A number before `:` is the begin. One behind is the end, unless another `:` makes it the next thread.
        let is_number = |tokens: &Tokens| tokens.peek().is_some_and(|(_, token)| number(token).is_some());
        if is_number(tokens) {
            op.begin = Some(tokens.number("a time")?);
        }
        let (colon, _) = tokens.want("`:`", |token| token == ":")?;
        // As in axe, the end stands right behind its colon.
        if tokens.peek().is_some_and(|(at, _)| at == colon + 1) && is_number(tokens) {
            op.end = Some(tokens.number("a time")?);
        }
    }
    log.section().ops.push(op);
    Ok(())
}
