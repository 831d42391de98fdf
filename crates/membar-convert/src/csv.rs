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
        if let Err((place, reason)) = row(line, at, &columns, &mut log, &mut rows) {
            log.problem(at, place, reason, "");
            let hart = cell(&cells(line), &columns, "hart");
            match number(hart).and_then(|hart| u32::try_from(hart).ok()) {
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

fn cell<'a>(cells: &[&'a str], columns: &[&str], name: &str) -> &'a str {
    columns.iter().position(|column| *column == name).and_then(|at| cells.get(at)).copied().unwrap_or("")
}

fn row(line: &str, at: u64, columns: &[&str], log: &mut Log, rows: &mut Rows) -> Result<(), Bad> {
    let cells = cells(line);
    if cells.len() > columns.len() {
        let extra = cells[columns.len()];
        return Err((
            span(line, extra),
            format!("the header names {} columns, this row has {}", columns.len(), cells.len()),
        ));
    }
    let cell = |name: &str| cell(&cells, columns, name);
    let optional = |name: &str| match cell(name) {
        "" => Ok(None),
        text => number(text)
            .map(Some)
            .ok_or_else(|| (span(line, text), format!("`{}` is not a number of at most 64 bits", text.escape_debug()))),
    };
    let need = |name: &str| optional(name)?.ok_or_else(|| (0..line.len(), format!("the cell `{name}` is empty")));
    let kind_of = cell("op");
    if kind_of == "check" {
        log.traces.push(Section::default());
        rows.clear();
        return Ok(());
    }
    let size = optional("size")?.unwrap_or(0);
    if ![0, 1, 2, 4, 8, 16].contains(&size) {
        return Err((span(line, cell("size")), "a size is 1, 2, 4, 8 or 16 bytes".into()));
    }
    let most = if size == 0 { WORD } else { size as u8 };
    let value = |name: &str| match cell(name) {
        "" => Ok(None),
        text => match large_number(text) {
            Some(value) if value <= largest(most) => Ok(Some(value)),
            Some(_) => Err((span(line, text), format!("`{text}` does not fit into {most} bytes"))),
            None => Err((span(line, text), format!("`{}` is not a number of at most 128 bits", text.escape_debug()))),
        },
    };
    let place = || -> Result<Place, Bad> {
        let text = cell("address");
        let named = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte));
        match number(text) {
            Some(address) if !text.is_empty() => Ok(Place { address, size: size as u8, name: None }),
            _ if named => Ok(Place { name: Some(text.to_owned()), ..Place::default() }),
            _ => Err((span(line, text), "the address is a number or a name".into())),
        }
    };
    let known = |name: &str| value(name)?.ok_or_else(|| (0..line.len(), format!("the cell `{name}` is empty")));
    match kind_of {
        "init" | "final" => {
            let known = (place()?, value("read")?.or(value("written")?));
            let (place, Some(value)) = known else { return Err((0..line.len(), "the cell `read` is empty".into())) };
            let section = log.section();
            if kind_of == "init" {
                section.init.push((place, value))
            } else {
                section.last.push((place, value))
            }
            return Ok(());
        }
        _ => {}
    }
    let hart = u32::try_from(need("hart")?)
        .map_err(|_| (span(line, cell("hart")), "a hart has at most 32 bits".to_owned()))?;
    let (kind, place) = match kind_of {
        "load" => (Kind::Load(known("read")?), place()?),
        "store" => (Kind::Store(known("written")?), place()?),
        "amo" | "rmw" => (Kind::Rmw(known("read")?, known("written")?), place()?),
        "lr" => (Kind::Lr(known("read")?), place()?),
        "sc" => (Kind::Sc(known("written")?), place()?),
        "sc-fails" => (Kind::ScFails, place()?),
        _ => (
            Kind::Fence(fence(kind_of).ok_or_else(|| {
                let help = "an operation is load, store, amo, lr, sc, sc-fails, init, final, check or a barrier";
                (span(line, kind_of), format!("`{}` is not known: {help}", kind_of.escape_debug()))
            })?),
            Place::default(),
        ),
    };
    let mut op = Op::new(hart, kind, place, at);
    for mark in cell("marks").split([' ', '.']).filter(|mark| !mark.is_empty()) {
        match mark {
            "aq" => op.order.acquire = true,
            "rl" => op.order.release = true,
            "aqrl" => op.order = Order { acquire: true, release: true },
            _ => {
                return Err((span(line, mark), format!("`{}` is not a mark: they are aq and rl", mark.escape_debug())));
            }
        }
    }
    if op.torn() && op.order != Order::default() {
        return Err((span(line, cell("marks")), "an access with marks is aligned to its size".into()));
    }
    (op.begin, op.end, op.pc) = (optional("begin")?, optional("end")?, optional("pc")?);
    let earlier = rows.entry(hart).or_default();
    for (name, how) in [("addr", Depends::Address), ("data", Depends::Data), ("ctrl", Depends::Control)] {
        for word in cell(name).split_whitespace() {
            let back =
                number(word.strip_prefix('-').unwrap_or(word)).filter(|&back| back > 0 && back <= earlier.len() as u64);
            let back = back.ok_or_else(|| {
                let reason = format!("`{}` is not a number of rows of this hart before this one", word.escape_debug());
                (span(line, word), reason)
            })?;
            // On a row that was not converted nothing can depend.
            let Some(on) = earlier[earlier.len() - back as usize] else { continue };
            if !matches!(
                log.section().ops[on].kind,
                Kind::Load(_) | Kind::Rmw(..) | Kind::Lr(_) | Kind::Sc(_) | Kind::ScFails
            ) {
                return Err((span(line, word), "the row that this depends on returns nothing".into()));
            }
            op.depends.push((how, on));
        }
    }
    if !op.accesses() && (op.order != Order::default() || !op.depends.is_empty() && kind_of != "isb") {
        return Err((0..line.len(), "a barrier has no marks and, but for isb, no dependencies".into()));
    }
    let section = log.section();
    earlier.push(Some(section.ops.len()));
    section.ops.push(op);
    Ok(())
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
