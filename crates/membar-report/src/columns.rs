//! Threads side by side: everything that a terminal shows in columns, one per thread.
//!
//! [`columns`] is a list of steps, each in the column of its thread; [`cycle`] a cycle with an arrow from each operation to
//! the next and the reason beside it. Rows that do not fit the width become a plain list: [`columns`] makes it itself,
//! [`cycle`] says so.

use crate::style::{Style, count, wrapped};
use membar_core::Relation;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Between two columns.
const GAP: usize = 3;
/// Before everything.
const INDENT: usize = 4;
/// Characters of what an access does that are kept in line.
const EFFECT: usize = 30;
/// A reason needs this much room beside the arrows.
const REASON: usize = 34;

fn width(text: &str) -> usize {
    text.chars().count()
}

/// A line in the column of a thread.
pub(crate) struct Row {
    pub(crate) thread: u32,
    pub(crate) name: String,
    /// Its line, or which step it is.
    pub(crate) number: String,
    pub(crate) text: String,
    /// Its effect on memory.
    pub(crate) effect: String,
    /// Its remark, if there is anything special about it.
    pub(crate) mark: String,
    pub(crate) marked: bool,
}

impl Row {
    /// With its parts as wide as this, at least.
    fn line(&self, number: usize, text: usize, effect: usize) -> String {
        let parts = [(&self.text, text), (&self.effect, effect), (&self.mark, 0)];
        let parts = parts.iter().filter(|(part, width)| !part.is_empty() || *width > 0);
        let line = parts.map(|(part, width)| format!("  {part:width$}")).collect::<String>();
        format!("{:<number$}{}", self.number, line).trim_end().to_owned()
    }

    /// One part below the other where they do not fit beside each other; the first line begins in this column.
    fn broken(&self, start: usize, style: Style) -> String {
        const BELOW: usize = 8;
        let mut lines = vec![self.number.trim_end().to_owned()];
        let mut column = start + width(&lines[0]);
        for part in
            [&self.text, &self.effect, &self.mark].map(|part| part.trim()).iter().filter(|part| !part.is_empty())
        {
            if column + 2 + width(part) <= style.width {
                lines.last_mut().expect("there is one").push_str(&format!("  {part}"));
                column += 2 + width(part);
                continue;
            }
            for line in wrapped(part, style.width.saturating_sub(BELOW), "\n").split('\n') {
                column = BELOW + width(line);
                lines.push(line.to_owned());
            }
        }
        let lines: Vec<String> = lines.iter().map(|line| self.painted(line, style)).collect();
        lines.join(&format!("\n{:BELOW$}", ""))
    }

    fn painted(&self, line: &str, style: Style) -> String {
        if self.marked { style.bad(line).to_string() } else { line.to_owned() }
    }
}

/// The last `most` rows in columns, one per thread, or one after the other with the thread's name where columns would be too
/// wide.
pub(crate) fn columns(rows: &[Row], most: usize, style: Style, out: &mut impl Write) -> io::Result<()> {
    let mut threads: BTreeMap<u32, (usize, &str)> = BTreeMap::new();
    for row in rows {
        let width = width(&row.line(0, 0, 0)).max(width(&row.name) + 5);
        let known = threads.entry(row.thread).or_insert((0, &row.name));
        known.0 = known.0.max(width);
    }
    let aside = INDENT + threads.values().map(|(width, _)| width + GAP).sum::<usize>() <= style.width + GAP;
    let hidden = rows.len().saturating_sub(most);
    if hidden > 0 {
        writeln!(out, "    … {} before these …", count(hidden, "step"))?;
    }
    if aside {
        let head =
            threads.values().map(|(width, name)| format!("{:width$}", format!("     {name}"), width = width + GAP));
        writeln!(out, "    {}", style.heading(head.collect::<String>().trim_end()))?;
    }
    let widest = |part: fn(&Row) -> &str| rows.iter().map(|row| width(part(row))).max().unwrap_or(0);
    let (name, number) = (widest(|row| &row.name), widest(|row| &row.number));
    let (text, effect) = (widest(|row| &row.text), widest(|row| &row.effect).min(EFFECT));
    // A row that is still too wide is better ragged than broken by the terminal.
    let mark = widest(|row| &row.mark);
    let ragged = INDENT + name + number + text + effect + mark + 8 > style.width;
    let (text, effect) = if ragged { (0, 0) } else { (text, effect) };
    for row in &rows[hidden..] {
        if aside {
            let before = threads.range(..row.thread).map(|(_, (width, _))| width + GAP).sum();
            writeln!(out, "    {}{}", " ".repeat(before), row.painted(&row.line(0, 0, 0), style))?;
            continue;
        }
        let line = row.line(number, text, effect);
        let line = match INDENT + name + 2 + width(&line) > style.width {
            true => row.broken(INDENT + name + 2, style),
            false => row.painted(&line, style),
        };
        writeln!(out, "    {:name$}  {line}", row.name)?;
    }
    Ok(())
}

/// An operation of a cycle, and why it is before the next one.
pub(crate) struct Link {
    /// Its column.
    pub(crate) column: usize,
    /// Its line, if it has one.
    pub(crate) line: Option<u64>,
    pub(crate) text: String,
    /// It is the one to look at.
    pub(crate) marked: bool,
    /// `po rf co fr ppo time`
    pub(crate) relation: Relation,
    /// Name of the rule.
    pub(crate) rule: String,
    pub(crate) why: String,
}

/// A cycle in columns with these heads, and the reasons at the right. `None` where that does not fit.
pub(crate) fn cycle(heads: &[String], links: &[&Link], style: Style) -> Option<String> {
    let first = links.first()?;
    let gutter = links.iter().filter_map(|link| link.line).max().map_or(0, |line| line.to_string().len());
    let mut starts = Vec::with_capacity(heads.len());
    let mut end = INDENT + gutter + 2;
    for (column, head) in heads.iter().enumerate() {
        starts.push(end);
        let texts = links.iter().filter(|link| link.column == column).map(|link| width(&link.text));
        end += texts.chain([width(head)]).max().unwrap_or(0) + GAP;
    }
    let room = style.width.checked_sub(end).filter(|&room| room >= REASON)?;
    let rules = links.iter().map(|link| width(&link.rule)).max().unwrap_or(0);
    let mut text = String::new();
    let mut row = |drawn: &str, painted: Option<String>, reason: Option<String>| {
        let blank = " ".repeat(end.saturating_sub(width(drawn)));
        text.push_str(painted.as_deref().unwrap_or(drawn));
        if let Some(reason) = reason {
            text.push_str(&blank);
            text.push_str(&reason);
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    };
    let mut head = String::new();
    for (start, name) in starts.iter().zip(heads) {
        head += &" ".repeat(start - width(&head));
        head += name;
    }
    row(&head, Some(style.heading(&head).to_string()), None);
    let number = |link: &Link| link.line.map_or_else(String::new, |line| line.to_string());
    let operation = |link: &Link| {
        let before = format!("{:INDENT$}{:>gutter$}", "", number(link));
        let blank = " ".repeat(starts[link.column] - width(&before));
        let painted = if link.marked { style.bad(&link.text).to_string() } else { link.text.clone() };
        (format!("{before}{blank}{}", link.text), format!("{before}{blank}{painted}"))
    };
    for (at, &link) in links.iter().enumerate() {
        let (drawn, painted) = operation(link);
        row(&drawn, Some(painted), None);
        let next = links[(at + 1) % links.len()];
        let reason = wrapped(&link.why, room - rules - 2, "\n");
        let reasons: Vec<&str> = reason.split('\n').collect();
        for (line, words) in reasons.iter().enumerate() {
            let last = line + 1 == reasons.len();
            let arrow = arrow(starts[link.column], starts[next.column], link.relation.name(), line == 0, last);
            let rule = if line == 0 { &link.rule } else { "" };
            let rule = format!("{}  {words}", style.dim(format!("{rule:rules$}")));
            row(&arrow, None, Some(rule));
        }
    }
    let (drawn, _) = operation(first);
    let reason = "again, which would have to be before itself: a contradiction";
    row(
        &drawn,
        Some(style.dim(&drawn).to_string()),
        Some(wrapped(reason, room, "\n").replace('\n', &format!("\n{:end$}", ""))),
    );
    Some(text)
}

/// A line of an arrow from one column to another, with its name on the first line and its head on the last.
fn arrow(from: usize, to: usize, name: &str, first: bool, last: bool) -> String {
    let down = if last { '↓' } else { '│' };
    let blank = |n: usize| " ".repeat(n);
    match from.cmp(&to) {
        std::cmp::Ordering::Equal if first => format!("{}{down} {name}", blank(from)),
        _ if !first => format!("{}{down}", blank(to)),
        std::cmp::Ordering::Less => {
            let line = format!("─ {name} ");
            let corner = if last { '↓' } else { '╮' };
            format!("{}╰{line}{}{corner}", blank(from), "─".repeat((to - from - 1).saturating_sub(width(&line))))
        }
        _ => {
            let line = format!(" {name} ─");
            let corner = if last { '↓' } else { '╭' };
            format!("{}{corner}{}{line}╯", blank(to), "─".repeat((from - to - 1).saturating_sub(width(&line))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(column: usize, line: u64, text: &str, relation: Relation, why: &str) -> Link {
        let (text, rule, why) = (text.into(), "R1".into(), why.into());
        Link { column, line: Some(line), text, marked: false, relation, rule, why }
    }

    #[test]
    fn a_cycle_over_two_columns() {
        let links = [
            link(0, 9, "x := 1", Relation::Po, "short"),
            link(
                0,
                10,
                "y == 0",
                Relation::Fr,
                "a reason that is so long that it takes more than the one line that it has",
            ),
            link(1, 11, "y := 1", Relation::Po, "short"),
            link(1, 12, "x == 0", Relation::Fr, "short"),
        ];
        let heads = ["thread 0".to_owned(), "thread 1".to_owned()];
        let style = Style { color: false, width: 70 };
        let text = cycle(&heads, &links.each_ref(), style).unwrap();
        let expected = "        thread 0   thread 1
     9  x := 1
        ↓ po                  R1  short
    10  y == 0
        ╰─ fr ─────╮          R1  a reason that is so long that it
                   │              takes more than the one line that it
                   ↓              has
    11             y := 1
                   ↓ po       R1  short
    12             x == 0
        ↓───── fr ─╯          R1  short
     9  x := 1                again, which would have to be before
                              itself: a contradiction
";
        assert_eq!(text, expected);
        assert!(
            cycle(&heads, &links.each_ref(), Style { color: false, width: 50 }).is_none(),
            "too narrow for reasons"
        );
    }
}
