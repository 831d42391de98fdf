//! Several models at once: a row per trace, a column per model.

use crate::kinds::ShownVerdict;
use crate::style::{Style, safe};
use std::io::{self, Write};

/// A model's column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The model's name.
    pub model: String,
}

/// The table, written row by row as results arrive.
#[derive(Clone, Debug)]
pub struct Table {
    style: Style,
    /// Width of the column of file names.
    file: usize,
    columns: Vec<Column>,
    begun: bool,
}

/// As wide as the longest verdict.
const VERDICT: usize = 9;
/// File names that are longer push their row to the right.
const FILE: usize = 40;

impl Table {
    /// A table for these files and models.
    pub fn new<'a>(style: Style, files: impl IntoIterator<Item = &'a str>, models: Vec<Column>) -> Table {
        let widest = files.into_iter().map(|file| safe(file).chars().count()).max().unwrap_or(0);
        Table { style, file: widest.clamp(4, FILE), columns: models, begun: false }
    }

    /// Writes a row: `trace` counts from 1, `verdicts` are one for each model.
    pub fn row(
        &mut self,
        file: &str,
        trace: u64,
        line: u64,
        ops: usize,
        verdicts: &[ShownVerdict],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let width = self.file;
        if !self.begun {
            self.begun = true;
            let mut head = format!("{:<width$}  {:>6}  {:>8}  {:>8}", "file", "trace", "line", "ops");
            for column in &self.columns {
                head.push_str(&format!("  {:<1$}", column.model, VERDICT.max(column.model.len())));
            }
            writeln!(out, "{}", self.style.heading(head.trim_end()))?;
        }
        write!(out, "{:<width$}  {trace:>6}  {line:>8}  {ops:>8}", safe(file))?;
        for (place, (verdict, column)) in verdicts.iter().zip(&self.columns).enumerate() {
            let width = if place + 1 == verdicts.len() { 0 } else { VERDICT.max(column.model.len()) };
            let pad = width.saturating_sub(verdict.name().len());
            write!(out, "  {}{:pad$}", self.style.verdict(*verdict), "")?;
        }
        writeln!(out)
    }
}
