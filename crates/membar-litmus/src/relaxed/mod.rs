//! Tests of RISC-V and Arm: machines on which dependencies order accesses, and loads may be overtaken by stores.
//!
//! | file | holds |
//! |---|---|
//! | `code` | the instructions that both dialects are translated to |
//! | `live` | rounds of loops that change nothing |
//! | `paths` | the ways through a thread, with accesses and dependencies |
//! | `order` | the program order that a model keeps |
//! | `memory` | memory cut to the sizes of the accesses |
//! | `search` | all executions |
//! | `table` | rows of code, registers and operands as both dialects write them |
//! | `riscv`, `aarch64` | the dialects |

mod aarch64;
pub(crate) mod code;
mod live;
mod memory;
mod order;
pub(crate) mod paths;
mod riscv;
mod search;
pub(crate) mod table;

pub(crate) use order::rule;
pub(crate) use search::outcomes;

use crate::build::Sites;
use crate::code::{Cell, Int, Reg};
use crate::condition::Registers;
use crate::error::{Fault, Parsed};
use crate::init::{Memory, RegName};
use crate::test::Arch;
use code::Thread;
use memory::Layout;
use paths::{End, Expr, Path, Style};
use table::{Line, Writer};

/// The program of a test in RISCV or AArch64, as the enumeration of its executions wants it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The ways through each thread.
    pub(crate) paths: Vec<Vec<Path>>,
    /// Whether there are more.
    pub(crate) end: End,
    pub(crate) layout: Layout,
    /// The rows of each thread: labels and instruction.
    pub(crate) source: Vec<Vec<(Vec<String>, String)>>,
}

impl Program {
    /// Follows all ways.
    pub(crate) fn new(arch: Arch, threads: &[Thread]) -> Program {
        let arm = arch == Arch::AArch64;
        let style = Style { whole_amo: !arm, status_depends: !arm, picks: arm };
        let mut program =
            Program { paths: Vec::new(), end: End::default(), layout: Layout::default(), source: Vec::new() };
        let named = if arm { 32 } else { riscv::REGISTERS };
        for thread in threads {
            let (paths, end) = paths::paths(thread, style, named);
            program.paths.push(paths);
            program.end.cut |= end.cut;
            program.end.waits |= end.waits;
        }
        program
    }

    /// The rows of a thread as they are written: labels, and the instruction, which is empty if there are labels only.
    pub fn source(&self, thread: usize) -> impl Iterator<Item = (&[String], &str)> {
        self.source[thread].iter().map(|(labels, line)| (&labels[..], line.as_str()))
    }

    /// The labels of a thread.
    pub fn labels(&self, thread: usize) -> Vec<&str> {
        self.source[thread].iter().flat_map(|(labels, _)| labels).map(String::as_str).collect()
    }

    fn accesses(&self) -> impl Iterator<Item = (Option<u64>, u8)> {
        self.paths.iter().flatten().flat_map(|path| {
            path.events.iter().map(|event| match path.nodes[event.at as usize] {
                Expr::Value(at) => (Some(at), event.ty.bits),
                _ => (None, event.ty.bits),
            })
        })
    }

    /// The addresses that are accessed for sure, with sizes in bits.
    pub(crate) fn direct_accesses(&self) -> impl Iterator<Item = (u64, u8)> {
        self.accesses().filter_map(|(at, bits)| Some((at?, bits)))
    }

    /// The size of the widest other access.
    pub(crate) fn widest_indirect(&self) -> Option<u8> {
        self.accesses().filter(|(at, _)| at.is_none()).map(|(_, bits)| bits).max()
    }

    /// Cuts memory, once its cells are known.
    pub(crate) fn lay_out(&mut self, cells: &[Cell]) {
        self.layout = Layout::new(cells, &self.paths);
    }
}

/// Translates one thread.
pub(crate) fn translate_lines<'a>(
    arch: Arch,
    number: u32,
    lines: &[Line<'a>],
    memory: &'a mut Memory,
    sites: &'a mut Sites<'_>,
) -> Parsed<Thread> {
    let (registers, instruction): (_, fn(&mut Writer<'a, '_>, &Line<'a>) -> Parsed<()>) = match arch {
        Arch::AArch64 => (aarch64::REGISTERS, aarch64::instruction),
        _ => (riscv::REGISTERS, riscv::instruction),
    };
    let mut writer = Writer::new(number, registers, memory, sites);
    for line in lines {
        writer.begin(line)?;
        if !line.mnemonic.is_empty() {
            instruction(&mut writer, line)?;
        }
    }
    writer.finish()
}

/// The threads of a test, and how its dialect names their registers.
pub(crate) struct Cores {
    pub(crate) arch: Arch,
    pub(crate) threads: Vec<Thread>,
}

impl Registers for Cores {
    fn register(&mut self, name: &RegName<'_>) -> Parsed<(Reg, String, Int)> {
        if self.threads.len() <= name.thread as usize {
            let help = "registers are named with their thread: `0:x5` or `0:X1` is one of P0";
            return Err(Fault::unknown("thread", &format!("P{}", name.thread), help, name.span.clone()));
        }
        let (found, help) = match self.arch {
            Arch::AArch64 => (aarch64::register(name.name), "the registers are X0 to X30 and SP"),
            _ => {
                let found = riscv::register(name.name).map(|number| (number, format!("x{number}")));
                (found, "the registers are x0 to x31, also named ra, sp, gp, tp, t0 to t6, s0 to s11 and a0 to a7")
            }
        };
        let (reg, shown) = found.ok_or_else(|| Fault::unknown("register", name.name, help, name.span.clone()))?;
        Ok((reg, shown, Int::I64))
    }
}

/// The number of a register that an instruction of RISCV or AArch64 names, and its size in bits, which the zero register has not.
pub fn register_number(arch: Arch, name: &str) -> Option<(Reg, Option<u8>)> {
    match arch {
        Arch::RiscV => riscv::register(name).map(|number| (number, (number != 0).then_some(64))),
        Arch::AArch64 => aarch64::register_size(name),
        _ => None,
    }
}
