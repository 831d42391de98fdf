//! Fences as edits of the source, to be tried.
//!
//! # Problem
//!
//! It is known between which accesses of a thread a fence is needed. Where in the text can it be written? Between two accesses of
//! one statement nowhere; and a line that looks right may be the body of an `if`, a macro, or never be reached.
//!
//! # Algorithm
//!
//! Nothing is taken for granted: this only proposes, and the caller builds the edited program and verifies it. In C and C++
//! a fence can stand right after each `;`, `{` and `}` that is not within parentheses, in a comment, a string or a directive.
//! Of those the ones between the two accesses come first, nearest to where the fence was found to work; then the nearest ones
//! on the other side. Rust is the same here, without headers. Behind a condition whose branch has no braces, it gets some. The header that the fence needs is included if it is missing. In the table of a litmus test a fence is
//! a cell of a row below the access.
//!
//! # Guarantees
//!
//! Every proposal puts in all of the fences. There are at most [`TRIES`], the likeliest first.
//!
//! # Complexity
//!
//! Linear in the text for each fence.

use super::{EditRef, FenceRef};
use std::collections::BTreeMap;

/// Proposals, at most.
const TRIES: usize = 6;
/// Places for one fence, at most.
const PLACES: usize = 3;

/// Ways to write all of these fences, each with its edits filled in. Empty if the source is not there or has no place for one.
pub fn proposals(fences: &[FenceRef], source: &dyn Fn(&str) -> Option<String>) -> Vec<Vec<FenceRef>> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for fence in fences {
        if !texts.contains_key(fence.file.as_str()) {
            let Some(text) = source(&fence.file) else { return Vec::new() };
            texts.insert(&fence.file, text);
        }
    }
    let table = |fence: &FenceRef| thread_column(fence, &texts[fence.file.as_str()].lines().collect::<Vec<_>>());
    if fences.iter().all(|fence| table(fence).is_some()) {
        return vec![rows(fences, &texts)];
    }
    let places: Vec<Vec<Vec<EditRef>>> =
        fences.iter().map(|fence| places(fence, &texts[fence.file.as_str()])).collect();
    if places.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let most = places.iter().map(Vec::len).max().unwrap_or(0);
    let all = (0..most).map(|n| vec![n; fences.len()]);
    let one = (0..fences.len()).map(|i| (0..fences.len()).map(|at| usize::from(at == i)).collect());
    let mut proposals: Vec<Vec<FenceRef>> = Vec::new();
    for choice in all.chain(one) {
        let put = |((fence, places), n): ((&FenceRef, &Vec<Vec<EditRef>>), &usize)| {
            let edits = places[(*n).min(places.len() - 1)].clone();
            FenceRef {
                edits: include(fence, &texts[fence.file.as_str()]).into_iter().chain(edits).collect(),
                ..fence.clone()
            }
        };
        let proposal: Vec<FenceRef> = fences.iter().zip(&places).zip(&choice).map(put).collect();
        if !proposals.contains(&proposal) && proposals.len() < TRIES {
            proposals.push(proposal);
        }
    }
    proposals
}

/// The edits of these fences, each once, in the order of the text.
pub fn edits(fences: &[FenceRef]) -> Vec<EditRef> {
    let mut edits: Vec<EditRef> = Vec::new();
    for edit in fences.iter().flat_map(|fence| &fence.edits) {
        if !edits.contains(edit) {
            edits.push(edit.clone());
        }
    }
    edits.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    edits
}

/// The text of a file with its edits.
pub fn edited(file: &str, text: &str, edits: &[EditRef]) -> String {
    let mut out = text.to_owned();
    let mut own: Vec<&EditRef> = edits.iter().filter(|edit| edit.file == file).collect();
    own.sort_by_key(|edit| (edit.line, edit.column));
    for edit in own.into_iter().rev() {
        let line: usize = text.split_inclusive('\n').take(edit.line.saturating_sub(1) as usize).map(str::len).sum();
        let mut at = (line + edit.column.saturating_sub(1) as usize).min(out.len());
        while !out.is_char_boundary(at) {
            at -= 1;
        }
        let mut end = (at + edit.removes as usize).min(out.len());
        while !out.is_char_boundary(end) {
            end += 1;
        }
        out.replace_range(at..end, &edit.text);
    }
    out
}

/// The header that the fence needs, if the file does not include it.
fn include(fence: &FenceRef, text: &str) -> Option<EditRef> {
    fence.function.as_ref()?;
    if fence.file.ends_with(".rs") {
        return None;
    }
    let header = if fence.fence.starts_with("std::") { "<atomic>" } else { "<stdatomic.h>" };
    if text.lines().any(|line| line.trim_start().starts_with('#') && line.contains(header)) {
        return None;
    }
    let first = text.lines().position(|line| line.trim_start().starts_with("#include"));
    let line = first.unwrap_or(0) as u32 + 1;
    Some(EditRef { file: fence.file.clone(), line, column: 1, text: format!("#include {header}\n"), removes: 0 })
}

/// Rows for a table of instructions: one below each access, with the fences of all threads there.
fn rows(fences: &[FenceRef], texts: &BTreeMap<&str, String>) -> Vec<FenceRef> {
    let mut rows: BTreeMap<(&str, u32), Vec<String>> = BTreeMap::new();
    for fence in fences {
        let lines: Vec<&str> = texts[fence.file.as_str()].lines().collect();
        let cells = lines[fence.after_line as usize - 1].split('|').count();
        let row = rows.entry((&fence.file, fence.after_line + 1)).or_insert_with(|| vec![String::new(); cells]);
        if let Some(cell) = thread_column(fence, &lines).and_then(|column| row.get_mut(column)) {
            cell.clone_from(&fence.fence);
        }
    }
    let put = |fence: &FenceRef| {
        let line = fence.after_line + 1;
        let text = format!(" {} ;\n", rows[&(fence.file.as_str(), line)].join(" | "));
        FenceRef {
            edits: vec![EditRef { file: fence.file.clone(), line, column: 1, text, removes: 0 }],
            ..fence.clone()
        }
    };
    fences.iter().map(put).collect()
}

/// The column of the fence's thread, if the program is a table of instructions.
fn thread_column(fence: &FenceRef, lines: &[&str]) -> Option<usize> {
    if fence.function.is_some() || fence.after_line == 0 {
        return None;
    }
    let head = lines.iter().position(|line| {
        let cells: Vec<&str> = line.trim().trim_end_matches(';').split('|').map(str::trim).collect();
        line.trim().ends_with(';') && cells.iter().enumerate().all(|(at, cell)| *cell == format!("P{at}"))
    })?;
    let row = lines.get(fence.after_line as usize - 1).filter(|row| row.trim().ends_with(';'))?;
    let column: usize = fence.thread_name.strip_prefix('P')?.parse().ok()?;
    (head + 1 < fence.after_line as usize && column < row.split('|').count()).then_some(column)
}

/// Places for a fence in C, the likeliest first, each with its edits, that of the fence last.
fn places(fence: &FenceRef, text: &str) -> Vec<Vec<EditRef>> {
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let offset = |line: u32, column: u32| {
        let start = *starts.get((line as usize).checked_sub(1)?)?;
        let own = text[start..].lines().next().unwrap_or_default();
        let column = if column > 0 { column as usize - 1 } else { own.len() - own.trim_start().len() };
        Some(start + column.min(own.len()))
    };
    let (after, before) =
        (offset(fence.after_line, fence.after_column), offset(fence.before_line, fence.before_column));
    let ends = boundaries(text);
    // Right behind `;`, `{` or `}`: so an access at this offset is in the statement that follows.
    let behind = |at: usize| ends.iter().copied().filter(move |end| *end > at);
    let ahead = |at: usize| ends.iter().rev().copied().filter(move |end| *end <= at);
    let chosen: Vec<usize> = match (after, before) {
        (Some(after), Some(before)) if after < before && !fence.tried_before => {
            behind(after).take_while(|end| *end <= before).chain(behind(before).take(1)).take(PLACES).collect()
        }
        (Some(after), Some(before)) if after < before => {
            ahead(before).take_while(|end| *end > after).chain(ahead(after).take(1)).take(PLACES).collect()
        }
        (_, Some(before)) if fence.tried_before => ahead(before).take(2).collect(),
        // A fence behind a `return` is never reached.
        (Some(after), _) if words(text, &ends, after).1.starts_with("return") => Vec::new(),
        (Some(after), _) => behind(after).take(2).collect(),
        (None, Some(before)) => ahead(before).take(2).collect(),
        (None, None) => Vec::new(),
    };
    let branch = after.filter(|_| before.is_none()).and_then(|after| branch(text, &ends, after));
    let braced = branch.map(|branch| braced(fence, text, &starts, branch));
    braced.into_iter().chain(chosen.into_iter().map(|at| vec![insertion(fence, text, &starts, at)])).collect()
}

/// The statement of this offset without the comments before it, and where that begins.
fn words<'a>(text: &'a str, ends: &[usize], at: usize) -> (usize, &'a str) {
    let mut start = ends[..ends.partition_point(|end| *end <= at)].last().copied().unwrap_or(0);
    loop {
        let rest = &text[start..];
        start += rest.len() - rest.trim_start().len();
        let rest = &text[start..];
        let comment = match rest.get(..2) {
            Some("//") => rest.find('\n'),
            Some("/*") => rest.find("*/").map(|end| end + 2),
            _ => None,
        };
        match comment.filter(|end| start + end <= at) {
            Some(end) => start += end,
            None => return (start, rest),
        }
    }
}

/// If the offset is in the condition of an `if` with a branch of one statement without braces: where the condition and the branch end.
fn branch(text: &str, ends: &[usize], at: usize) -> Option<(usize, usize)> {
    let (start, statement) = words(text, ends, at);
    let statement = statement.strip_prefix("else").map_or(statement, str::trim_start);
    statement.strip_prefix("if").filter(|rest| rest.trim_start().starts_with('('))?;
    let mut depth = 0;
    let closes = |(_, letter): &(usize, char)| {
        depth += i32::from(*letter == '(') - i32::from(*letter == ')');
        *letter == ')' && depth == 0
    };
    let close = start + text[start..].char_indices().find(closes)?.0 + 1;
    let end = *ends.get(ends.partition_point(|end| *end <= close))?;
    (at < close && text[..end].ends_with(';')).then_some((close, end))
}

/// Braces around a branch, with the fence at its beginning.
fn braced(fence: &FenceRef, text: &str, starts: &[usize], (close, end): (usize, usize)) -> Vec<EditRef> {
    let code = fence.fence.trim_end_matches(';');
    let indent = |at: usize| {
        let line = &text[starts[starts.partition_point(|start| *start <= at) - 1]..];
        &line[..line.len() - line.trim_start().len()]
    };
    let body = close + text[close..].len() - text[close..].trim_start().len();
    let insert = |at: usize, text: String| {
        let line = starts.partition_point(|start| *start <= at);
        let column = (at - starts[line - 1]) as u32 + 1;
        EditRef { file: fence.file.clone(), line: line as u32, column, text, removes: 0 }
    };
    match text[close..body].contains('\n') {
        true => {
            vec![insert(end, format!("\n{}}}", indent(close))), insert(close, format!(" {{\n{}{code};", indent(body)))]
        }
        false => vec![insert(end, " }".into()), insert(close, format!(" {{ {code};"))],
    }
}

/// The fence right behind this offset: as a line if the rest of that line is blank or a comment.
fn insertion(fence: &FenceRef, text: &str, starts: &[usize], at: usize) -> EditRef {
    let code = fence.fence.trim_end_matches(';');
    let number = starts.partition_point(|start| *start <= at);
    let line = text[starts[number - 1]..].lines().next().unwrap_or_default();
    let rest = line.get(at - starts[number - 1]..).unwrap_or_default().trim();
    let whole = rest.is_empty() || rest.starts_with("//") || rest.starts_with("/*") && rest.ends_with("*/");
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    if !whole || number >= starts.len() {
        let column = (at - starts[number - 1]) as u32 + 1;
        return EditRef {
            file: fence.file.clone(),
            line: number as u32,
            column,
            text: format!(" {code};"),
            removes: 0,
        };
    }
    // The first line of a block is indented as what follows.
    let opens = text[..at].ends_with('{');
    let next = text[starts[number]..].lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let indent = if opens { indent(next) } else { indent(line) };
    EditRef {
        file: fence.file.clone(),
        line: number as u32 + 1,
        column: 1,
        text: format!("{indent}{code};\n"),
        removes: 0,
    }
}

/// The offsets right behind each `;`, `{` and `}` of the code that is not in parentheses of its own block.
fn boundaries(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut ends = Vec::new();
    // Open parentheses of each open block: a lambda may be an argument.
    let mut open = vec![0u32];
    let (mut at, mut fresh) = (0, true);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let line_end = || rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        match bytes[at] {
            b'/' if rest.starts_with(b"//") => at += line_end(),
            b'/' if rest.starts_with(b"/*") => {
                at += 2 + text[at + 2..].find("*/").map_or(rest.len(), |end| end + 2);
                continue;
            }
            b'#' if fresh => {
                // A directive ends where a line does that does not continue.
                loop {
                    let end = at + bytes[at..].iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len() - at);
                    let goes_on = bytes[..end].ends_with(b"\\") || bytes[..end].ends_with(b"\\\r");
                    at = end + 1;
                    if !goes_on || at >= bytes.len() {
                        break;
                    }
                }
                continue;
            }
            quote @ (b'"' | b'\'') => {
                // A digit separator of C++ is not a quote.
                let separator = quote == b'\'' && at > 0 && bytes[at - 1].is_ascii_hexdigit();
                if !separator {
                    at += 1;
                    while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
                        at += if bytes[at] == b'\\' { 2 } else { 1 };
                    }
                }
            }
            b'(' => *open.last_mut().expect("never empty") += 1,
            b')' => {
                let depth = open.last_mut().expect("never empty");
                *depth = depth.saturating_sub(1);
            }
            b'{' => {
                open.push(0);
                ends.push(at + 1);
            }
            b'}' => {
                if open.len() > 1 {
                    open.pop();
                }
                if open.last() == Some(&0) {
                    ends.push(at + 1);
                }
            }
            b';' if open.last() == Some(&0) => ends.push(at + 1),
            _ => {}
        }
        fresh = match bytes.get(at) {
            Some(b'\n') => true,
            Some(byte) => fresh && byte.is_ascii_whitespace(),
            None => fresh,
        };
        at += 1;
    }
    ends.retain(|end| text.is_char_boundary(*end));
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(thread: &str, function: Option<&str>, after: (u32, u32), before: (u32, u32)) -> FenceRef {
        FenceRef {
            replaces: None,
            file: "t".into(),
            function: function.map(Into::into),
            thread_name: thread.into(),
            fence: "mfence".into(),
            order: String::new(),
            edits: Vec::new(),
            after_line: after.0,
            after_column: after.1,
            before_line: before.0,
            before_column: before.1,
            tried_before: after.0 == 0,
            crowded: false,
        }
    }

    /// The text with each proposal.
    fn tried(text: &str, fences: &[FenceRef]) -> Vec<String> {
        let all = proposals(fences, &|_| Some(text.to_owned()));
        all.iter().map(|fences| edited("t", text, &edits(fences))).collect()
    }

    const HEAD: &str = "#include <stdatomic.h>\n";

    #[test]
    fn between_two_statements() {
        let text = format!("{HEAD}void f() {{\n  x = 1; // then\n\n  y;\n}}\n");
        let first = format!("{HEAD}void f() {{\n  x = 1; // then\n  mfence;\n\n  y;\n}}\n");
        assert_eq!(tried(&text, &[fence("T1", Some("f"), (3, 3), (5, 3))])[0], first);
    }

    #[test]
    fn behind_a_condition() {
        let after = |line, column| fence("T1", Some("f"), (line, column), (0, 0));
        let text = format!("{HEAD}void f() {{\n  // then\n  if (x)\n    y = 1;\n  else\n    z = 1;\n}}\n");
        let first = format!(
            "{HEAD}void f() {{\n  // then\n  if (x) {{\n    mfence;\n    y = 1;\n  }}\n  else\n    z = 1;\n}}\n"
        );
        assert_eq!(tried(&text, &[after(4, 7)])[0], first);
        let text = format!("{HEAD}void f() {{ if (g(x)) y = 1; }}\n");
        let first = format!("{HEAD}void f() {{ if (g(x)) {{ mfence; y = 1; }} }}\n");
        assert_eq!(tried(&text, &[after(2, 18)])[0], first);
        let text = format!("{HEAD}int f() {{ return x; }}\n");
        assert!(tried(&text, &[after(2, 19)]).is_empty());
    }

    #[test]
    fn in_one_line() {
        let text = format!("{HEAD}auto f = run([&] {{ x = 1; y = 2; }});\n");
        let all = tried(&text, &[fence("T1", Some("f"), (2, 20), (2, 27))]);
        assert_eq!(all[0], format!("{HEAD}auto f = run([&] {{ x = 1; mfence; y = 2; }});\n"));
    }

    #[test]
    fn headers_of_loops_and_text_have_no_place() {
        let text = "for (x = 1; y; x++) {\n  s = \";{\"; /* ; */ c = ';';\n}\n#define M \\\n  a; b;\nint n = 1'000;\n";
        let ends: Vec<&str> = boundaries(text).iter().map(|end| &text[end - 1..*end]).collect();
        assert_eq!(ends, ["{", ";", ";", "}", ";"]);
    }

    #[test]
    fn missing_headers_are_included() {
        let text = "// about\n#include \"a.h\"\nint f() {\n  x = 1;\n  return y;\n}\n";
        let all = tried(text, &[fence("T1", Some("f"), (4, 3), (5, 10))]);
        let wanted =
            "// about\n#include <stdatomic.h>\n#include \"a.h\"\nint f() {\n  x = 1;\n  mfence;\n  return y;\n}\n";
        assert_eq!(all[0], wanted);
    }

    #[test]
    fn before_the_later_access() {
        let text = format!("{HEAD}void f() {{\n  x = 1;\n  g();\n  y = 1;\n}}\n");
        let all = tried(&text, &[fence("T1", Some("f"), (0, 0), (5, 3))]);
        assert_eq!(all[0], format!("{HEAD}void f() {{\n  x = 1;\n  g();\n  mfence;\n  y = 1;\n}}\n"));
    }

    #[test]
    fn a_row_of_a_table() {
        let table =
            "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (true)\n";
        let both = [fence("P0", None, (4, 1), (5, 1)), fence("P1", None, (4, 1), (5, 1))];
        assert_eq!(tried(table, &both)[0].lines().nth(4), Some(" mfence | mfence ;"));
        assert_eq!(tried(table, &both[1..])[0].lines().nth(4), Some("  | mfence ;"));
    }
}
