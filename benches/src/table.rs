//! Tables for terminals and for Markdown.

use std::fmt::Write;

/// A table; columns of words are aligned to the left, others to the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    title: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(title: impl Into<String>, header: &[impl ToString]) -> Table {
        Table { title: title.into(), header: header.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.header.len());
        self.rows.push(cells);
    }

    /// A table of one number for each pair of a row and a column.
    pub fn matrix(
        title: impl Into<String>,
        corner: &str,
        rows: &[(String, u32)],
        columns: &[(String, u32)],
        cell: impl Fn(u32, u32) -> String,
    ) -> Table {
        let header: Vec<&str> = [corner].into_iter().chain(columns.iter().map(|(name, _)| name.as_str())).collect();
        let mut table = Table::new(title, &header);
        for (name, row) in rows {
            let cells = columns.iter().map(|&(_, column)| cell(*row, column));
            table.row([name.clone()].into_iter().chain(cells).collect());
        }
        table
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let lines = || [&self.header].into_iter().chain(&self.rows);
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| lines().map(|cells| cells[column].chars().count()).max().unwrap_or(0))
            .collect();
        let words: Vec<bool> = (0..self.header.len()).map(|column| self.words(column)).collect();
        let mut out = format!("{}\n\n", self.title);
        for (i, cells) in lines().enumerate() {
            let aligned: Vec<String> = cells
                .iter()
                .zip(widths.iter().zip(&words))
                .map(|(cell, (&width, &word))| if word { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
                .collect();
            let line = aligned.join("  ");
            let _ = writeln!(out, "  {}", line.trim_end());
            if i == 0 {
                let rules: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
                let _ = writeln!(out, "  {}", rules.join("  "));
            }
        }
        out
    }

    /// Does the column hold words?
    fn words(&self, column: usize) -> bool {
        self.rows.iter().any(|cells| cells[column].starts_with(char::is_alphabetic) && !cells[column].contains('='))
    }

    /// For a document.
    pub fn markdown(&self) -> String {
        let mut out = format!("**{}**\n\n", self.title);
        let _ = writeln!(out, "| {} |", self.header.join(" | "));
        let rules: String = (0..self.header.len()).map(|i| if self.words(i) { "---|" } else { "---:|" }).collect();
        let _ = writeln!(out, "|{rules}");
        for cells in &self.rows {
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms() {
        let rows = [("2".to_owned(), 2), ("16".to_owned(), 16)];
        let columns = [("4".to_owned(), 4), ("256".to_owned(), 256)];
        let table = Table::matrix("p × a", "p", &rows, &columns, |row, column| (row * column).to_string());
        assert_eq!(table.text(), "p × a\n\n   p   4   256\n  ──  ──  ────\n   2   8   512\n  16  64  4096\n");
        assert_eq!(
            table.markdown(),
            "**p × a**\n\n| p | 4 | 256 |\n|---:|---:|---:|\n| 2 | 8 | 512 |\n| 16 | 64 | 4096 |\n"
        );
    }
}
