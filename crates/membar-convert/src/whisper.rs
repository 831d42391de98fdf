//! Logs of Whisper: `--logfile`, with or without `--csvlog`.
//!
//! ```text
//! #12 0 0000000080000010 0005a503 r 000000000000000a 0000000000000001  lw x10, 0x0(x11) [0x80002000]
//! #13 0 0000000080000014 00b52023 m 0000000080002000 000000000000002a  sw x11, 0x0(x10) [0x80002000]
//! ```
//!
//! One instruction may take several lines; all but the last end with `+`. In the CSV form the columns are `pc, inst, modified
//! regs, source operands, memory, inst info, privilege, trap, disassembly, hartid`, with numbers in hexadecimal.

use crate::op::{Log, hex, number, span};
use crate::riscv::{CSR, FLOAT, Reg};
use crate::spike::register;
use crate::stream::{Step, Stream};

type Bad = (std::ops::Range<usize>, String);

/// Reads a log.
pub fn read(text: &str) -> Log {
    let (mut log, mut stream) = (Log::one(true), Stream::default());
    let mut pending: Option<(u64, Step)> = None;
    let mut csv = false;
    for (line, at) in text.lines().zip(1..) {
        if line.trim().is_empty() {
            continue;
        }
        if line.trim_start().starts_with("pc,") {
            csv = true;
            continue;
        }
        let read = if csv { row(line, at).map(|step| step.map(|step| (0, step, false))) } else { record(line, at) };
        let (tag, step, more) = match read {
            Ok(Some(read)) => read,
            Ok(None) => continue,
            Err((place, reason)) => {
                log.problem(at, place, reason, "");
                continue;
            }
        };
        let mut whole = match pending.take() {
            Some((of, mut first)) if of == tag && first.hart == step.hart && first.pc == step.pc => {
                first.writes.extend(step.writes);
                first.accessed.extend(
                    step.accessed
                        .iter()
                        .filter(|&address| !first.accessed.contains(address))
                        .copied()
                        .collect::<Vec<_>>(),
                );
                first.stored.extend(step.stored);
                first
            }
            Some((_, first)) => {
                finish(&mut stream, &first, text, &mut log);
                step
            }
            None => step,
        };
        if more {
            pending = Some((tag, whole));
        } else {
            whole.shows_memory = true;
            finish(&mut stream, &whole, text, &mut log);
        }
    }
    if let Some((_, step)) = pending {
        finish(&mut stream, &step, text, &mut log);
    }
    log
}

fn finish(stream: &mut Stream, step: &Step, text: &str, log: &mut Log) {
    if let Err(reason) = stream.step(step, log) {
        let length = text.lines().nth(step.line as usize - 1).map_or(0, str::len);
        log.problem(step.line, 0..length, reason, "");
    }
}

/// A line of the plain log: tag, step, and whether more of the instruction follows.
fn record(line: &str, at: u64) -> Result<Option<(u64, Step, bool)>, Bad> {
    let expected = "expected `#TAG HART PC INSTRUCTION r|f|c|v|m WHERE VALUE  DISASSEMBLY`";
    let whole = || (0..line.len(), expected.to_owned());
    let bad = |word: &str| (span(line, word), format!("`{word}` is not a hexadecimal number of at most 64 bits"));
    // Page table walks and symbols stand between the instructions.
    if !line.starts_with('#') {
        let known = ["iptw", "dptw", "satp", "vsatp", "hgatp", " "].iter().any(|start| line.starts_with(start))
            || line.ends_with(':');
        return if known { Ok(None) } else { Err(whole()) };
    }
    let body = line.trim_end();
    let (body, more) = body.strip_suffix('+').map_or((body, false), |body| (body, true));
    let mut words = body[1..].split_whitespace();
    let mut next = || words.next().ok_or_else(whole);
    let (tag, hart, pc, word, kind, place, value) = (next()?, next()?, next()?, next()?, next()?, next()?, next()?);
    let tag = tag.parse().map_err(|_| whole())?;
    let mut step = Step { line: at, shows_memory: true, rv32: pc.len() == 8, ..Step::default() };
    step.hart = hart.parse().map_err(|_| (span(line, hart), expected.to_owned()))?;
    step.pc = hex(pc).ok_or_else(|| bad(pc))?;
    step.word = hex(word).and_then(|word| u32::try_from(word).ok()).ok_or_else(|| bad(word))?;
    let at = hex(place).ok_or_else(|| bad(place))?;
    let register = |first: Reg, most: u64| Some(first + at as Reg).filter(|_| at < most).ok_or_else(|| bad(place));
    match kind {
        // No change is shown as a write of x0.
        "r" if at == 0 => {}
        "r" => step.writes.push((register(0, 32)?, hex(value).ok_or_else(|| bad(value))?)),
        "f" => step.writes.push((register(FLOAT, 32)?, hex(value).ok_or_else(|| bad(value))?)),
        "c" => step.writes.push((register(CSR, 4096)?, hex(value).ok_or_else(|| bad(value))?)),
        "m" => step.stored.push((at, hex(value).ok_or_else(|| bad(value))?)),
        "v" => {}
        _ => return Err((span(line, kind), expected.to_owned())),
    }
    // The address of the access, and the physical one where it differs: `[0x1000:0x80001000]`.
    if let Some((_, inside)) = body.trim_end().strip_suffix(']').and_then(|body| body.rsplit_once('[')) {
        for part in inside.split(';') {
            let address = part.split('=').next().unwrap_or_default();
            let address = address.rsplit(':').next().unwrap_or_default();
            step.accessed.push(number(address).ok_or_else(|| (span(line, part), "this is not an address".to_owned()))?);
        }
        if let (Some((stored, _)), [address]) = (step.stored.first_mut(), step.accessed.as_slice()) {
            *stored = *address;
        }
    }
    Ok(Some((tag, step, more)))
}

/// A line of the CSV log.
fn row(line: &str, at: u64) -> Result<Option<Step>, Bad> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [pc, word, writes, _, memory, _, _, trap, _, hart, ..] = cells[..] else {
        return Err((0..line.len(), format!("a row has at least 10 columns, this one has {}", cells.len())));
    };
    let bad = |cell: &str| (span(line, cell), format!("`{cell}` is not a hexadecimal number of at most 64 bits"));
    // An instruction that trapped has accessed nothing.
    if !trap.is_empty() {
        return Ok(None);
    }
    let mut step = Step { line: at, shows_memory: true, ..Step::default() };
    let virtual_pc = pc.split(':').next().unwrap_or_default();
    step.pc = hex(virtual_pc).ok_or_else(|| bad(pc))?;
    step.word = hex(word).and_then(|word| u32::try_from(word).ok()).ok_or_else(|| bad(word))?;
    step.hart = hex(hart).and_then(|hart| u32::try_from(hart).ok()).ok_or_else(|| bad(hart))?;
    for write in writes.split(';').filter(|write| !write.is_empty()) {
        let (name, value) =
            write.split_once('=').ok_or_else(|| (span(line, write), "expected `register=value`".to_owned()))?;
        if name == "pc" || name == "ff" || name.starts_with('v') {
            continue;
        }
        let register = register(name).or_else(|| abi(name));
        let register = register.ok_or_else(|| (span(line, name), format!("`{name}` is not a register")))?;
        step.writes.push((register, hex(value).ok_or_else(|| bad(value))?));
    }
    for access in memory.split(';').filter(|access| !access.is_empty()) {
        let (place, value) = access.split_once('=').map_or((access, None), |(place, value)| (place, Some(value)));
        let address = place.rsplit(':').next().unwrap_or_default();
        let address = hex(address.trim_end_matches('m')).ok_or_else(|| bad(place))?;
        match value {
            Some(value) => step.stored.push((address, hex(value).ok_or_else(|| bad(value))?)),
            None => step.accessed.push(address),
        }
    }
    Ok(Some(step))
}

/// The register of this name in the calling convention.
fn abi(name: &str) -> Option<Reg> {
    const NAMES: [&str; 32] = [
        "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
        "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
    ];
    const FLOATS: [&str; 32] = [
        "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5",
        "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10",
        "ft11",
    ];
    let at = |names: &[&str]| names.iter().position(|known| *known == name);
    let integer = at(&NAMES).map(|at| at as Reg);
    integer.or_else(|| (name == "fp").then_some(8)).or_else(|| at(&FLOATS).map(|at| FLOAT + at as Reg))
}
