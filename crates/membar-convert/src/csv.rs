//! The documented CSV, for everybody who can print a table.
//!
//! ```text
//! hart,op,address,size,read,written,marks,begin,end,addr,data,ctrl,pc
//! 0,store,0x1000,8,,1,,10,,,,,0x80000000
//! 1,load,0x1000,8,1,,aq,12,15,,,,
//! ```
//!
//! The first line names the columns, in any order; those that are not needed may be missing. `book/src/cores.md` has the table.

use crate::op::{Kind, Log, Op, Place, Section, large_number, number, span};
use crate::riscv::Order;
use membar_core::{Depends, WORD, largest};
use std::collections::HashMap;

/// The columns.
pub const COLUMNS: [&str; 13] =
    ["hart", "op", "address", "size", "read", "written", "marks", "begin", "end", "addr", "data", "ctrl", "pc"];

type Bad = (std::ops::Range<usize>, String);

/// The operation of each row of each hart, so that rows back can be counted; a bad row has none, and is counted all the same.
type Rows = HashMap<u32, Vec<Option<usize>>>;

/// Reads a table.
pub fn read(text: &str) -> Log {
    let mut log = Log::default();
    log.traces.push(Section::default());
    let mut lines = text.trim_start_matches('\u{feff}').lines().zip(1..).filter(|(line, _)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let Some((header, at)) = lines.next() else { return log };
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    for column in &columns {
        if !COLUMNS.contains(column) {
            let reason = format!("`{}` is not a column", column.escape_debug());
            log.problem(
                at,
                span(header, column),
                reason,
                "the columns are hart, op, address, size, read, written, marks, begin, end, addr, data, ctrl, pc",
            );
        }
    }
    if !columns.contains(&"op") {
        log.problem(at, 0..header.len(), "there is no column `op`", "the first line names the columns");
        return log;
    }
    let mut rows = Rows::new();
    for (line, at) in lines {
        let row = Row::new(line, at, &columns);
        if let Err((place, reason)) = row.add(&mut log, &mut rows) {
            log.problem(at, place, reason, "");
            match row.hart().ok() {
                Some(hart) => rows.entry(hart).or_default().push(None),
                // It may be a row of any hart: nobody can count past it.
                None => rows.values_mut().for_each(|rows| {
                    rows.fill(None);
                    rows.push(None);
                }),
            }
        }
    }
    if log.traces.len() > 1 && log.traces.last().is_some_and(|last| last.ops.is_empty()) {
        log.traces.pop();
    }
    log
}

/// The cells of a line; quotes may stand around one that holds a comma.
fn cells(line: &str) -> Vec<&str> {
    let (mut cells, mut start, mut quoted) = (Vec::new(), 0, false);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                cells.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    cells.push(&line[start..]);
    cells.into_iter().map(|cell| cell.trim().trim_matches('"').trim()).collect()
}

/// One line of the table, with the columns that the header names.
struct Row<'a> {
    line: &'a str,
    at: u64,
    columns: &'a [&'a str],
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn new(line: &'a str, at: u64, columns: &'a [&'a str]) -> Row<'a> {
        Row { line, at, columns, cells: cells(line) }
    }

    fn cell(&self, name: &str) -> &'a str {
        self.columns.iter().position(|column| *column == name).and_then(|at| self.cells.get(at)).copied().unwrap_or("")
    }

    fn bad<T>(&self, part: &str, reason: impl Into<String>) -> Result<T, Bad> {
        Err((span(self.line, part), reason.into()))
    }

    fn bad_line<T>(&self, reason: impl Into<String>) -> Result<T, Bad> {
        Err((0..self.line.len(), reason.into()))
    }

    fn empty<T>(&self, name: &str) -> Result<T, Bad> {
        self.bad_line(format!("the cell `{name}` is empty"))
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Bad> {
        let text = self.cell(name);
        match number(text) {
            _ if text.is_empty() => Ok(None),
            None => self.bad(text, format!("`{}` is not a number of at most 64 bits", text.escape_debug())),
            number => Ok(number),
        }
    }

    fn hart(&self) -> Result<u32, Bad> {
        match self.number("hart")?.map(u32::try_from) {
            Some(Ok(hart)) => Ok(hart),
            Some(Err(_)) => self.bad(self.cell("hart"), "a hart has at most 32 bits"),
            None => self.empty("hart"),
        }
    }

    /// The size of the access; 0 where it is not given.
    fn size(&self) -> Result<u8, Bad> {
        match self.number("size")?.unwrap_or(0) {
            size @ (0 | 1 | 2 | 4 | 8 | 16) => Ok(size as u8),
            _ => self.bad(self.cell("size"), "a size is 1, 2, 4, 8 or 16 bytes"),
        }
    }

    fn place(&self) -> Result<Place, Bad> {
        let (text, size) = (self.cell("address"), self.size()?);
        let named = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte));
        match number(text) {
            Some(address) if !text.is_empty() => Ok(Place { address, size, name: None }),
            _ if named => Ok(Place { name: Some(text.to_owned()), ..Place::default() }),
            _ => self.bad(text, "the address is a number or a name"),
        }
    }

    /// A value that fits into the size.
    fn value(&self, name: &str) -> Result<Option<u128>, Bad> {
        let text = self.cell(name);
        let size = match self.size()? {
            0 => WORD,
            size => size,
        };
        match large_number(text) {
            _ if text.is_empty() => Ok(None),
            Some(value) if value <= largest(size) => Ok(Some(value)),
            Some(_) => self.bad(text, format!("`{text}` does not fit into {size} bytes")),
            None => self.bad(text, format!("`{}` is not a number of at most 128 bits", text.escape_debug())),
        }
    }

    fn known(&self, name: &str) -> Result<u128, Bad> {
        self.value(name)?.map_or_else(|| self.empty(name), Ok)
    }

    /// Adds the row to the log: an operation, an initial or final value, or the end of a trace.
    fn add(&self, log: &mut Log, rows: &mut Rows) -> Result<(), Bad> {
        if let Some(extra) = self.cells.get(self.columns.len()) {
            let (header, here) = (self.columns.len(), self.cells.len());
            return self.bad(extra, format!("the header names {header} columns, this row has {here}"));
        }
        let section = match self.cell("op") {
            "check" => {
                log.traces.push(Section::default());
                rows.clear();
                return Ok(());
            }
            "init" => &mut log.section().init,
            "final" => &mut log.section().last,
            _ => {
                let hart = self.hart()?;
                let earlier = rows.entry(hart).or_default();
                let section = log.section();
                let op = self.operation(hart, earlier, &section.ops)?;
                earlier.push(Some(section.ops.len()));
                section.ops.push(op);
                return Ok(());
            }
        };
        let place = self.place()?;
        let Some(value) = self.value("read")?.or(self.value("written")?) else { return self.empty("read") };
        section.push((place, value));
        Ok(())
    }

    /// The operation of the row, which comes after these of its hart.
    fn operation(&self, hart: u32, earlier: &[Option<usize>], ops: &[Op]) -> Result<Op, Bad> {
        let (kind, place) = match self.cell("op") {
            "load" => (Kind::Load(self.known("read")?), self.place()?),
            "store" => (Kind::Store(self.known("written")?), self.place()?),
            "amo" | "rmw" => (Kind::Rmw(self.known("read")?, self.known("written")?), self.place()?),
            "lr" => (Kind::Lr(self.known("read")?), self.place()?),
            "sc" => (Kind::Sc(self.known("written")?), self.place()?),
            "sc-fails" => (Kind::ScFails, self.place()?),
            other => match fence(other) {
                Some(fence) => {
                    self.size()?;
                    (Kind::Fence(fence), Place::default())
                }
                None => {
                    let help = "an operation is load, store, amo, lr, sc, sc-fails, init, final, check or a barrier";
                    return self.bad(other, format!("`{}` is not known: {help}", other.escape_debug()));
                }
            },
        };
        let mut op = Op::new(hart, kind, place, self.at);
        for mark in self.cell("marks").split([' ', '.']).filter(|mark| !mark.is_empty()) {
            match mark {
                "aq" => op.order.acquire = true,
                "rl" => op.order.release = true,
                "aqrl" => op.order = Order { acquire: true, release: true },
                _ => return self.bad(mark, format!("`{}` is not a mark: they are aq and rl", mark.escape_debug())),
            }
        }
        if op.torn() && op.order != Order::default() {
            return self.bad(self.cell("marks"), "an access with marks is aligned to its size");
        }
        (op.begin, op.end, op.pc) = (self.number("begin")?, self.number("end")?, self.number("pc")?);
        for (name, how) in [("addr", Depends::Address), ("data", Depends::Data), ("ctrl", Depends::Control)] {
            for word in self.cell(name).split_whitespace() {
                if let Some(on) = self.back(word, earlier)? {
                    if !ops[on].returns() {
                        return self.bad(word, "the row that this depends on returns nothing");
                    }
                    op.depends.push((how, on));
                }
            }
        }
        let isb = self.cell("op") == "isb";
        if !op.accesses() && (op.order != Order::default() || !op.depends.is_empty() && !isb) {
            return self.bad_line("a barrier has no marks and, but for isb, no dependencies");
        }
        Ok(op)
    }

    /// The operation of an earlier row of this hart, counted back from this row. Nothing if that row was not converted.
    fn back(&self, word: &str, earlier: &[Option<usize>]) -> Result<Option<usize>, Bad> {
        let back = number(word.strip_prefix('-').unwrap_or(word)).and_then(|back| usize::try_from(back).ok());
        match back.filter(|&back| back > 0).and_then(|back| earlier.len().checked_sub(back)) {
            Some(at) => Ok(earlier[at]),
            None => {
                let reason = format!("`{}` is not a number of rows of this hart before this one", word.escape_debug());
                self.bad(word, reason)
            }
        }
    }
}

/// A barrier in the words of a trace.
fn fence(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let set = |set: &str| !set.is_empty() && set.chars().all(|c| "iorw".contains(c)) && set.len() <= 4;
    let domains = ["sy", "ish", "osh", "nsh", "ld", "st", "ishld", "ishst", "oshld", "oshst", "nshld", "nshst"];
    let known = match words[..] {
        ["sync" | "fence" | "fence.tso" | "fence.i" | "isb" | "dmb" | "dsb"] => true,
        ["fence", sets] => sets.split_once(',').is_some_and(|(before, after)| {
            let once = |set: &str| set.chars().all(|c| set.matches(c).count() == 1);
            set(before) && set(after) && once(before) && once(after)
        }),
        ["dmb" | "dsb", domain] => domains.contains(&domain),
        _ => false,
    };
    known.then(|| words.join(" "))
}
