//! Where exactly a fence is written: lines to insert.
//!
//! Only where that is sure to be right, and where it was tried: right after the earlier access, or right before the later one. In C and C++ a fence is a statement of its own line, next to a line that is one
//! whole statement of a block: it ends in `;`, and what comes before it ends a statement or opens a block, so that it is
//! not the body of an `if` without braces. In the table of a litmus test it is a row with the fences of that place.

use super::FenceRef;
use std::collections::BTreeMap;

/// Lines to put before a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Insertion {
    pub(super) file: String,
    /// Before this line, from 1.
    pub(super) line: u32,
    /// With their ends.
    pub(super) text: String,
}

/// Insertions that put in all of the fences; `None` if the place of one is not sure.
pub(super) fn insertions(fences: &[FenceRef], source: &dyn Fn(&str) -> Option<String>) -> Option<Vec<Insertion>> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    // A row of a table has fences of several threads.
    let mut rows: BTreeMap<(&str, u32), Vec<String>> = BTreeMap::new();
    let mut found: Vec<Insertion> = Vec::new();
    for fence in fences {
        let text = match texts.get(fence.file.as_str()) {
            Some(text) => text,
            None => texts.entry(&fence.file).or_insert(source(&fence.file)?),
        };
        let lines: Vec<&str> = text.lines().collect();
        match thread_column(fence, &lines) {
            Some(column) => {
                let cells = lines[fence.after_line as usize - 1].split('|').count();
                let row = rows.entry((&fence.file, fence.after_line + 1)).or_insert_with(|| vec![String::new(); cells]);
                *row.get_mut(column)? = fence.fence.clone();
            }
            None => {
                let insertion = statement(fence, &lines)?;
                if !found.contains(&insertion) {
                    found.push(insertion);
                }
            }
        }
    }
    let row = |((file, line), cells): ((&str, u32), Vec<String>)| Insertion {
        file: file.into(),
        line,
        text: format!(" {} ;\n", cells.join(" | ")),
    };
    found.extend(rows.into_iter().map(row));
    found.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Some(found)
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

fn statement(fence: &FenceRef, lines: &[&str]) -> Option<Insertion> {
    let number = if fence.tried_before { fence.before_line } else { fence.after_line };
    let at = (number as usize).checked_sub(1)?;
    let line = *lines.get(at)?;
    let own = code(line);
    let keyword = |word: &str| {
        own.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let whole = own.ends_with(';') && own.matches(';').count() == 1;
    let jumps = ["return", "break", "continue", "goto", "if", "else", "for", "while", "do", "case", "default"];
    let before = lines[..at].iter().rev().map(|line| code(line)).find(|line| !line.is_empty())?;
    let block = before.ends_with([';', '{', '}']) && !before.starts_with(['*', '#']);
    if !whole || !block || jumps.iter().any(|word| keyword(word)) || own.contains(['{', '}']) {
        return None;
    }
    let indent = &line[..line.len() - line.trim_start().len()];
    let text = format!("{indent}{};\n", fence.fence.trim_end_matches(';'));
    let line = if fence.tried_before { number } else { number + 1 };
    Some(Insertion { file: fence.file.clone(), line, text })
}

/// The line without blanks at its ends and without comments that end on it.
fn code(line: &str) -> &str {
    let line = line.split("//").next().unwrap_or_default().trim();
    match (line.rfind("/*"), line.ends_with("*/")) {
        (Some(start), true) => line[..start].trim(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(thread: &str, function: Option<&str>, after: u32, before: u32) -> FenceRef {
        FenceRef {
            file: "t".into(),
            function: function.map(Into::into),
            thread_name: thread.into(),
            fence: "mfence".into(),
            instead: None,
            after_line: after,
            after_column: 1,
            before_line: before,
            before_column: 1,
            tried_before: after == 0,
        }
    }

    fn lines(text: &str, fences: &[FenceRef]) -> Option<Vec<(u32, String)>> {
        let found = insertions(fences, &|_| Some(text.to_owned()))?;
        Some(found.into_iter().map(|insertion| (insertion.line, insertion.text)).collect())
    }

    #[test]
    fn a_statement_of_its_own() {
        let one = |text: &str, after: u32| lines(text, &[fence("T1", Some("f"), after, 0)]);
        let put = Some(vec![(3, "  mfence;\n".to_owned())]);
        assert_eq!(one("void f() {\n  x = 1;\n  y;\n}\n", 2), put);
        assert_eq!(one("void f() { /* why */\n  x = 1; // then\n}\n", 2), put);
        assert_eq!(one("  if (a)\n  x = 1;\n  else\n", 2), None, "the body of an if");
        assert_eq!(one("{\n  while (x = 1)\n  ;\n", 2), None);
        assert_eq!(one("{\n  return x = 1;\n", 2), None, "never reached");
        assert_eq!(one("{\n  x = 1; y = 2;\n", 2), None, "which of the two?");
        assert_eq!(one("{\n  x = 1,\n  y = 2;\n", 3), None, "half a statement");
        assert_eq!(one("#define F(x) \\\n  x = 1;\n", 2), None);
        assert_eq!(
            lines("{\n  x = 1;\n  y = 1;\n", &[fence("T1", Some("f"), 0, 3)]),
            put,
            "before, if that is the place"
        );
    }

    #[test]
    fn a_row_of_a_table() {
        let table =
            "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (true)\n";
        let both = [fence("P0", None, 4, 5), fence("P1", None, 4, 5)];
        assert_eq!(lines(table, &both), Some(vec![(5, " mfence | mfence ;\n".to_owned())]));
        assert_eq!(lines(table, &both[1..]), Some(vec![(5, "  | mfence ;\n".to_owned())]));
    }
}
