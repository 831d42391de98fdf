//! Programs as litmus tests.

use super::{Fence, Instr, LOCATIONS, Place, Program, Stored};
use std::fmt::Write;

/// The names of locations.
const NAMES: [&str; LOCATIONS] = ["x", "y"];

impl Program {
    /// As a test in RISCV, whose states list the registers of all threads and the locations, in the order of
    /// [`Program::finals`].
    pub fn riscv(&self) -> String {
        self.litmus("RISCV", "x", &riscv)
    }

    /// The same in AArch64.
    pub fn aarch64(&self) -> String {
        self.litmus("AArch64", "X", &aarch64)
    }

    fn litmus(&self, arch: &str, register: &str, line: &dyn Fn(&Instr, usize, &mut Vec<String>)) -> String {
        let mut text = format!("{arch} random\n{{ ");
        let mut columns = Vec::new();
        let mut shown = String::new();
        for (thread, instrs) in self.threads.iter().enumerate() {
            for (location, name) in NAMES.iter().enumerate() {
                let _ = write!(text, "{thread}:{register}{}={name}; ", 28 + location);
            }
            let mut lines = vec![format!("P{thread}")];
            for (at, instr) in instrs.iter().enumerate() {
                line(instr, at, &mut lines);
                if at > 0 && matches!(instrs[at - 1], Instr::Skip { .. }) {
                    lines.push(format!("S{}:", at - 1));
                }
            }
            if let Some(Instr::Skip { .. }) = instrs.last() {
                lines.push(format!("S{}:", instrs.len() - 1));
            }
            columns.push(lines);
            for reg in 0..self.registers(thread) {
                let _ = write!(shown, "{thread}:{register}{}; ", 5 + reg);
            }
        }
        text.push_str("uint32_t x; uint32_t y; }\n");
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        for row in 0..rows {
            let cells: Vec<&str> = columns.iter().map(|lines| lines.get(row).map_or("", String::as_str)).collect();
            let _ = writeln!(text, " {} ;", cells.join(" | "));
        }
        let _ = writeln!(text, "locations [{shown}x; y;]\nforall true");
        text
    }
}

/// Base and offset for an address that depends on a register.
fn riscv_place(at: &Place, lines: &mut Vec<String>) -> String {
    let base = 28 + at.location;
    match at.addr {
        None => format!("{}(x{base})", at.offset),
        Some(reg) => {
            lines.push(format!("xor x20,x{0},x{0}", 5 + reg));
            lines.push(format!("add x20,x20,x{base}"));
            format!("{}(x20)", at.offset)
        }
    }
}

fn riscv_value(value: Stored, lines: &mut Vec<String>) -> String {
    match value {
        Stored::Constant(value) => lines.push(format!("li x21,{value}")),
        Stored::Depends(value, reg) => {
            lines.push(format!("xor x21,x{0},x{0}", 5 + reg));
            lines.push(format!("addi x21,x21,{value}"));
        }
        Stored::Register(reg) => return format!("x{}", 5 + reg),
    }
    "x21".into()
}

fn riscv(instr: &Instr, at: usize, lines: &mut Vec<String>) {
    let mark = |acquire: bool, release: bool| match (acquire, release) {
        (false, false) => "",
        (true, false) => ".aq",
        (false, true) => ".rl",
        (true, true) => ".aq.rl",
    };
    let letter = |place: &Place| [" ", "b", "h", " ", "w"][place.bytes];
    match *instr {
        Instr::Load { to, at: place, acquire, reserve, .. } => {
            let memory = riscv_place(&place, lines);
            let name = if reserve {
                "lr.w".to_owned()
            } else {
                format!("l{}{}", letter(&place), if place.bytes < 4 { "u" } else { "" })
            };
            lines.push(format!("{name}{} x{},{memory}", mark(acquire, false), 5 + to));
        }
        Instr::Store { at: place, value, release } => {
            let (value, memory) = (riscv_value(value, lines), riscv_place(&place, lines));
            lines.push(format!("s{}{} {value},{memory}", letter(&place), mark(false, release)));
        }
        Instr::Conditional { to, at: place, value, release } => {
            let (value, memory) = (riscv_value(value, lines), riscv_place(&place, lines));
            lines.push(format!("sc.w{} x{},{value},{memory}", mark(false, release), 5 + to));
        }
        Instr::Atomic { to, at: place, value, adds, acquire, release } => {
            let (value, memory) = (riscv_value(value, lines), riscv_place(&place, lines));
            let name = if adds { "amoadd" } else { "amoswap" };
            lines.push(format!("{name}.{}{} x{},{value},{memory}", letter(&place), mark(acquire, release), 5 + to));
        }
        Instr::Fence(Fence::Sets([pr, pw, sr, sw])) => {
            let set = |r: bool, w: bool| format!("{}{}", if r { "r" } else { "" }, if w { "w" } else { "" });
            lines.push(format!("fence {},{}", set(pr, pw), set(sr, sw)));
        }
        Instr::Fence(Fence::Tso) => lines.push("fence.tso".into()),
        Instr::Fence(Fence::Isb) => lines.push("fence.i".into()),
        Instr::Depend { on } => {
            lines.push(format!("bne x{},x0,D{at}", 5 + on));
            lines.push(format!("D{at}:"));
        }
        Instr::Skip { on } => lines.push(format!("bne x{},x0,S{at}", 5 + on)),
    }
}

fn arm_place(at: &Place, exact: bool, lines: &mut Vec<String>) -> String {
    let base = 28 + at.location;
    match at.addr {
        None if at.offset == 0 => format!("[X{base}]"),
        None if !exact => format!("[X{base},#{}]", at.offset),
        None => {
            lines.push(format!("ADD X20,X{base},#{}", at.offset));
            "[X20]".into()
        }
        Some(reg) => {
            lines.push(format!("EOR W20,W{0},W{0}", 5 + reg));
            lines.push(format!("ADD W20,W20,#{}", at.offset));
            if !exact {
                return format!("[X{base},W20,SXTW]");
            }
            lines.push(format!("ADD X20,X{base},W20,SXTW"));
            "[X20]".into()
        }
    }
}

fn arm_value(value: Stored, lines: &mut Vec<String>) -> String {
    match value {
        Stored::Constant(value) => lines.push(format!("MOV W21,#{value}")),
        Stored::Depends(value, reg) => {
            lines.push(format!("EOR W21,W{0},W{0}", 5 + reg));
            lines.push(format!("ADD W21,W21,#{value}"));
        }
        Stored::Register(reg) => return format!("W{}", 5 + reg),
    }
    "W21".into()
}

fn aarch64(instr: &Instr, at: usize, lines: &mut Vec<String>) {
    let size = |place: &Place| ["", "B", "H", "", ""][place.bytes];
    match *instr {
        Instr::Load { to, at: place, acquire, acquire_pc, reserve } => {
            let name = match (acquire, acquire_pc, reserve) {
                (false, false, false) => "LDR",
                (true, _, false) => "LDAR",
                (false, true, false) => "LDAPR",
                (true, _, true) => "LDAXR",
                (false, _, true) => "LDXR",
            };
            let memory = arm_place(&place, name != "LDR", lines);
            lines.push(format!("{name}{} W{},{memory}", size(&place), 5 + to));
        }
        Instr::Store { at: place, value, release } => {
            let (value, memory) = (arm_value(value, lines), arm_place(&place, release, lines));
            lines.push(format!("{}{} {value},{memory}", if release { "STLR" } else { "STR" }, size(&place)));
        }
        Instr::Conditional { to, at: place, value, release } => {
            let (value, memory) = (arm_value(value, lines), arm_place(&place, true, lines));
            lines.push(format!("{} W{},{value},{memory}", if release { "STLXR" } else { "STXR" }, 5 + to));
        }
        Instr::Atomic { to, at: place, value, adds, acquire, release } => {
            let (value, memory) = (arm_value(value, lines), arm_place(&place, true, lines));
            let (name, a, l) =
                (if adds { "LDADD" } else { "SWP" }, if acquire { "A" } else { "" }, if release { "L" } else { "" });
            lines.push(format!("{name}{a}{l}{} {value},W{},{memory}", size(&place), 5 + to));
        }
        Instr::Fence(Fence::Isb) => lines.push("ISB".into()),
        Instr::Fence(Fence::Sets([true, false, ..])) => lines.push("DMB LD".into()),
        Instr::Fence(Fence::Sets([false, true, false, true])) => lines.push("DMB ST".into()),
        Instr::Fence(_) => lines.push("DMB SY".into()),
        Instr::Depend { on } => {
            lines.push(format!("CBNZ W{},D{at}", 5 + on));
            lines.push(format!("D{at}:"));
        }
        Instr::Skip { on } => lines.push(format!("CBNZ W{},S{at}", 5 + on)),
    }
}
