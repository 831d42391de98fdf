//! The documented CSV, for everybody who can print a table.
//!
//! ```text
//! hart,op,address,size,read,written,marks,begin,end,addr,data,ctrl,pc
//! 0,store,0x1000,8,,1,,10,,,,,0x80000000
//! 1,load,0x1000,8,1,,aq,12,15,,,,
//! ```
//!
//! The first line names the columns, in any order; those that are not needed may be missing. `book/src/guide/cores.md` has the table.

use crate::op::{Kind, Log, Op, Place, Section, number, span};
use crate::riscv::Order;
use membar_core::Depends;
use std::collections::HashMap;

/// The columns.
pub const COLUMNS: [&str; 13] =
    ["hart", "op", "address", "size", "read", "written", "marks", "begin", "end", "addr", "data", "ctrl", "pc"];

type Bad = (std::ops::Range<usize>, String);

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
    // The operations of each hart, so that rows back can be counted.
    let mut rows: HashMap<u32, Vec<usize>> = HashMap::new();
    for (line, at) in lines {
        if let Err((place, reason)) = row(line, at, &columns, &mut log, &mut rows) {
            log.problem(at, place, reason, "");
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

fn row(line: &str, at: u64, columns: &[&str], log: &mut Log, rows: &mut HashMap<u32, Vec<usize>>) -> Result<(), Bad> {
    let cells = cells(line);
    if cells.len() > columns.len() {
        let extra = cells[columns.len()];
        return Err((
            span(line, extra),
            format!("the header names {} columns, this row has {}", columns.len(), cells.len()),
        ));
    }
    let cell = |name: &str| {
        columns.iter().position(|column| *column == name).and_then(|at| cells.get(at)).copied().unwrap_or("")
    };
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
    if ![0, 1, 2, 4, 8].contains(&size) {
        return Err((span(line, cell("size")), "a size is 1, 2, 4 or 8 bytes".into()));
    }
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
    match kind_of {
        "init" | "final" => {
            let known = (place()?, optional("read")?.or(optional("written")?));
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
        "load" => (Kind::Load(need("read")?), place()?),
        "store" => (Kind::Store(need("written")?), place()?),
        "amo" | "rmw" => (Kind::Rmw(need("read")?, need("written")?), place()?),
        "lr" => (Kind::Lr(need("read")?), place()?),
        "sc" => (Kind::Sc(need("written")?), place()?),
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
            op.depends.push((how, earlier[earlier.len() - back as usize]));
        }
    }
    let section = log.section();
    earlier.push(section.ops.len());
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
