//! Small things of presentation: colours, plurals, names that are safe to print.

use crate::kinds::ShownVerdict;
use anstyle::{AnsiColor, Effects};
use std::fmt;

/// Lines of sentences are no longer than this, however wide the terminal is.
const PROSE: usize = 100;

/// Colours and room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Write escape sequences?
    pub color: bool,
    /// Characters in a line.
    pub width: usize,
}

impl Default for Style {
    /// For files and pipes.
    fn default() -> Style {
        Style { color: false, width: PROSE }
    }
}

/// Text in a style.
struct Styled<T>(T, Option<anstyle::Style>);

impl<T: fmt::Display> fmt::Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(style) => write!(f, "{}{}{}", style.render(), self.0, style.render_reset()),
            None => self.0.fmt(f),
        }
    }
}

impl Style {
    /// Characters in a line of sentences.
    pub fn prose(self) -> usize {
        self.width.min(PROSE)
    }

    /// Less room than sentences would take.
    pub(crate) fn is_narrow(self) -> bool {
        self.width < PROSE
    }

    /// A line that begins with a verdict: programs look for it, so it is broken only where it does not fit a narrow terminal.
    pub fn head(self, text: &str) -> String {
        if self.is_narrow() { wrapped(text, self.width, "\n  ") } else { text.to_owned() }
    }

    fn paint<T: fmt::Display>(self, text: T, style: anstyle::Style) -> impl fmt::Display {
        Styled(text, self.color.then_some(style))
    }

    /// Text about something forbidden.
    pub fn bad(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(text, AnsiColor::Red.on_default().effects(Effects::BOLD))
    }

    /// Text about something allowed.
    pub fn good(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(text, AnsiColor::Green.on_default())
    }

    /// Text about something undecided.
    pub fn open(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(text, AnsiColor::Yellow.on_default().effects(Effects::BOLD))
    }

    /// Rule names and other asides.
    pub fn dim(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(text, anstyle::Style::new().effects(Effects::DIMMED))
    }

    /// Headings.
    pub fn heading(self, text: impl fmt::Display) -> impl fmt::Display {
        self.paint(text, anstyle::Style::new().effects(Effects::BOLD))
    }

    /// The verdict's name in its colour.
    pub fn verdict(self, verdict: ShownVerdict) -> String {
        match verdict {
            ShownVerdict::Forbidden => self.bad(verdict).to_string(),
            ShownVerdict::Allowed => self.good(verdict).to_string(),
            _ => self.open(verdict).to_string(),
        }
    }
}

/// The text with a capital letter at its beginning.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A number with its thousands apart: `1,204`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 trace`, `2 traces`
pub fn count(n: usize, what: &str) -> String {
    Count(n, what).to_string()
}

/// The same, to be written somewhere.
pub(crate) struct Count<'a>(pub(crate) usize, pub(crate) &'a str);

impl fmt::Display for Count<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Count(n, what) = *self;
        let plural = match what {
            _ if n == 1 => "",
            _ if what.ends_with("ss") || what.ends_with("ch") => "es",
            _ => "s",
        };
        write!(f, "{n} {what}{plural}")
    }
}

/// A name made harmless by [`safe`], to be written somewhere.
pub(crate) struct Safe<'a>(pub(crate) &'a str);

impl fmt::Display for Safe<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let harmless = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        if self.0.bytes().all(harmless) { f.write_str(self.0) } else { f.write_str(&safe(self.0)) }
    }
}

/// A file name without characters that could do something to a terminal.
pub fn safe(name: &str) -> String {
    let harmless = |c| if c == '\t' { '\u{FFFD}' } else { membar_core::harmless(c) };
    name.chars().map(harmless).collect()
}

/// A file name as it can be typed into a shell.
pub fn quoted_path(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    let name = safe(name);
    if !name.is_empty() && name.chars().all(plain) { name } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

/// Breaks at spaces so that no line is longer than `width`, where that is possible.
pub fn wrapped(text: &str, width: usize, newline: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push_str(newline);
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

/// A command and what is said before it: on one line, or the command below, broken as a shell allows it.
pub fn with_command(said: &str, command: &str, width: usize) -> String {
    const INDENT: usize = 4;
    if said.chars().count() + 1 + command.chars().count() <= width {
        return format!("{said} {command}");
    }
    let mut words: Vec<String> = Vec::new();
    for word in command.split(' ') {
        match words.last_mut() {
            // A quoted word may contain blanks.
            Some(open) if open.matches('\'').count() % 2 == 1 => *open += &format!(" {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    let mut out = format!("{said}\n{:INDENT$}", "");
    let mut column = INDENT;
    for (at, word) in words.iter().enumerate() {
        let length = word.chars().count();
        let last = if at + 1 < words.len() { 2 } else { 0 };
        if at > 0 && column + 1 + length + last > width {
            out += &format!(" \\\n{:1$}", "", 2 * INDENT);
            column = 2 * INDENT;
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}

/// `a`, `a and b`, `a, b and c`
pub fn list(items: &[String], last: &str) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., end] => format!("{} {last} {end}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_and_lists() {
        assert_eq!(
            (count(1, "address"), count(2, "address"), count(0, "trace")),
            ("1 address".into(), "2 addresses".into(), "0 traces".into())
        );
        let items: Vec<String> = ["a", "b", "c"].map(String::from).into();
        assert_eq!(list(&items, "or"), "a, b or c");
        assert_eq!(list(&items[..1], "or"), "a");
    }

    #[test]
    fn long_lines_break_at_spaces() {
        assert_eq!(wrapped("aa bb cc dd", 5, "\n"), "aa bb\ncc dd");
        assert_eq!(wrapped("aaaaaaaaa b", 5, "\n"), "aaaaaaaaa\nb");
        assert_eq!(wrapped("", 5, "\n"), "");
    }

    #[test]
    fn commands_can_still_be_typed() {
        let command = "membar replay 'a b.c' a2b3 --model tso";
        assert_eq!(with_command("See it:", command, 60), format!("See it: {command}"));
        assert_eq!(with_command("See it:", command, 44), format!("See it:\n    {command}"));
        let narrow = "See it:\n    membar replay 'a b.c' \\\n        a2b3 --model tso";
        assert_eq!(with_command("See it:", command, 28), narrow);
    }

    #[test]
    fn names_are_harmless() {
        assert_eq!(safe("a\u{1b}[31m\n"), "a\u{fffd}[31m\u{fffd}");
        assert_eq!(quoted_path("a b"), "'a b'");
        assert_eq!(quoted_path("dir/it's"), r"'dir/it'\''s'");
        assert_eq!(quoted_path("dir/a.trace"), "dir/a.trace");
    }
}
