//! Violations that the user allows: by a comment in the source, or on the command line. Data, and how comments are read.
//!
//! `membar: allow stale` in a comment is about the code on its line; on a line without code, about the next line with some.

use super::VerifyReport;
use crate::kinds::{AllowedBy, NoteKind};
use crate::style::list;
use serde::{Deserialize, Serialize};

/// The words of a comment.
pub const COMMENT: &str = "membar: allow stale";

/// A place where a violation is allowed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AllowRef {
    /// The file.
    pub file: String,
    /// The line of the comment, or the one that was given.
    pub line: u32,
    /// How it is allowed.
    #[serde(with = "crate::kinds")]
    pub by: AllowedBy,
}

impl AllowRef {
    /// `` `membar: allow stale` at a.c:12``, or `--allow a.c:12`
    pub fn words(&self) -> String {
        match self.by {
            AllowedBy::Comment => format!("`{COMMENT}` at {}:{}", super::text::base(&self.file), self.line),
            AllowedBy::Flag => format!("`--allow {}:{}`", self.file, self.line),
        }
    }
}

/// The comments of a source that allow something: the line of each, and the line of code that it is about.
pub fn allowing_comments(text: &str) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut pending: Vec<u32> = Vec::new();
    let mut in_block = None;
    for (number, line) in (1..).zip(text.lines()) {
        let (code, comments) = split(line, &mut in_block);
        if allows(&comments) {
            pending.push(number);
        }
        if code {
            found.extend(pending.drain(..).map(|comment| (comment, number)));
        }
    }
    // A comment behind all code is about nothing: its own line says so.
    found.extend(pending.into_iter().map(|comment| (comment, comment)));
    found
}

/// Whether the text of comments has the words, with any blanks between them.
fn allows(comments: &str) -> bool {
    let words: Vec<&str> = comments.split_whitespace().collect();
    let wanted: Vec<&str> = COMMENT.split(' ').collect();
    words.windows(wanted.len()).any(|words| {
        let (last, wanted_last) = (words[words.len() - 1], wanted[wanted.len() - 1]);
        words[..words.len() - 1] == wanted[..wanted.len() - 1]
            && last.trim_end_matches([',', '.', ':', ';']) == wanted_last
    })
}

/// Whether a line has code, and the text of its comments: C, C++ and litmus tests. Strings are not comments.
fn split(line: &str, in_block: &mut Option<&'static str>) -> (bool, String) {
    let (mut code, mut comments, mut quote) = (false, String::new(), None);
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let Some(mark) = *in_block {
            let end = rest.find(mark);
            comments.push_str(&rest[..end.unwrap_or(rest.len())]);
            // What stands in two comments are not the words of one.
            comments.push_str(" | ");
            *in_block = Some(mark).filter(|_| end.is_none());
            rest = end.map_or("", |end| &rest[end + 2..]);
        } else if quote.is_none() && rest.starts_with("//") {
            comments.push_str(&rest[2..]);
            rest = "";
        } else if quote.is_none() && (rest.starts_with("/*") || rest.starts_with("(*") && !is_pointer(rest)) {
            *in_block = Some(if rest.starts_with('/') { "*/" } else { "*)" });
            rest = &rest[2..];
        } else {
            let escaped = quote.is_some() && c == '\\';
            match quote {
                Some(open) if c == open => quote = None,
                None if c == '"' || c == '\'' => quote = Some(c),
                _ => {}
            }
            code |= !c.is_whitespace();
            let skip = c.len_utf8() + if escaped { rest[1..].chars().next().map_or(0, char::len_utf8) } else { 0 };
            rest = &rest[skip..];
        }
    }
    (code, comments)
}

/// `(*f)(x)` is no comment: one of a litmus test ends with `*)`.
fn is_pointer(rest: &str) -> bool {
    !rest[2..].contains("*)")
}

impl VerifyReport {
    /// Violations that count for the verdict.
    pub fn counted(&self) -> usize {
        self.violations.iter().filter(|violation| violation.allowed.is_empty()).count()
    }

    /// What is allowed, in words; empty if nothing is.
    pub(crate) fn allowed_words(&self) -> String {
        let mut places: Vec<String> = Vec::new();
        for allowed in self.violations.iter().flat_map(|violation| &violation.allowed) {
            let place = allowed.words();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        list(&places, "and")
    }

    /// Says where a violation is allowed that none of these reports has. They are about one program, a model each.
    pub fn note_unneeded(reports: &mut [VerifyReport], allows: &[AllowRef]) {
        // A search that did not end may have missed what it is for.
        if reports.iter().any(|report| !report.complete && report.incomplete.is_some()) {
            return;
        }
        let models: Vec<String> = reports.iter().map(|report| report.model.name().to_owned()).collect();
        let needed = |allow: &AllowRef| {
            let mut violations = reports.iter().flat_map(|report| &report.violations);
            violations.any(|violation| violation.allowed.contains(allow))
        };
        let unneeded: Vec<super::NoteRef> = allows
            .iter()
            .filter(|allow| !needed(allow))
            .map(|allow| {
                let what = match allow.by {
                    AllowedBy::Comment => format!("`{COMMENT}`"),
                    AllowedBy::Flag => format!("`--allow {}:{}`", allow.file, allow.line),
                };
                let message =
                    format!("{what} is not needed: no violation under {} has an access there", list(&models, "or"));
                super::NoteRef {
                    kind: NoteKind::Allow,
                    message,
                    file: Some(allow.file.clone()),
                    line: Some(allow.line),
                }
            })
            .collect();
        reports.iter_mut().for_each(|report| report.notes.extend(unneeded.iter().cloned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_about_its_line_or_the_next_one_with_code() {
        let text = "int x; // membar: allow stale\n\
                    // membar: allow stale\n\
                    // (a hint, checked later)\n\
                    \n\
                    y = 1;\n\
                    /* membar:   allow stale, see above */ z = 2;\n\
                    /*\n * membar: allow stale\n */\n\
                    w = 3;\n\
                    // membar: allow stale";
        assert_eq!(allowing_comments(text), [(1, 1), (2, 5), (6, 6), (8, 10), (11, 11)]);
    }

    #[test]
    fn other_text_allows_nothing() {
        for text in [
            "puts(\"// membar: allow stale\");",
            "membar: allow stale;",
            "// membar: allow stales",
            "// membar allow stale",
            "/* membar: */ allow /* stale */;",
            "(*f)(\"membar: allow stale\");",
            "c = '\"'; s = \"\\\" // membar: allow stale\";",
        ] {
            assert_eq!(allowing_comments(text), [], "{text}");
        }
        assert_eq!(allowing_comments(" MOV EAX,[x] ; (* membar: allow stale *)"), [(1, 1)]);
        assert_eq!(allowing_comments("c = '\"'; // membar: allow stale"), [(1, 1)]);
    }
}
