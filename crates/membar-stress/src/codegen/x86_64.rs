//! Programs as machine code for x86-64 on Linux.
//!
//! A thread's code is straight: one instruction for each of the program's, with a constant moved to a register before it or the
//! value it read moved to the log after it.
//!
//! | program | code |
//! |---|---|
//! | load | `mov rax, [rdi+cell]` |
//! | store | `mov qword [rdi+cell], value`, or `mov [rdi+cell], rax` for a large value |
//! | exchange, add | `xchg [rdi+cell], rax`, `lock xadd [rdi+cell], rax` |
//! | compare-and-swap | `lock cmpxchg [rdi+cell], rcx`; then what the cell is known to hold: `cmovne rcx, rax` |
//! | `sync`, barriers with `#StoreLoad` | `mfence` |
//! | other barriers | `sfence` with `#StoreStore`, otherwise `lfence`: the processor keeps that order anyway |
//! | acquire | `xchg [rdi+lock], rax` until it gives 0; `pause` and a look in between, and now and then `sched_yield` |
//! | release | `xchg [rdi+lock], rax`, since a release counts as a load and a store |
//! | delay | a loop of `pause` |
//!
//! Registers: `rdi` the memory, `r8` the log (ahead of its word by at most 127 bytes, so that each logging takes four bytes), `r9`
//! where the request to stop is; `rax`, `rcx`, `rdx`, `r11` are scratch. Nothing touches the stack.
//!
//! A time-stamp is read by `rdtsc` followed by `lfence` before an instruction, which cannot start until the counter was
//! read, and by `lfence` followed by `rdtsc` after it, which cannot be read until the instruction was executed: loads have their
//! value then, atomics are in memory, stores are in the buffer.
//!
//! The memory that holds the code is never both writable and executable.
#![allow(unsafe_code)]

use super::{Expected, Layout, PlannedInstr, Steps};
use crate::Error;
use dynasmrt::mmap::MutableBuffer;
use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynasmApi, DynasmLabelApi, ExecutableBuffer, VecAssembler, dynasm};
use membar_core::Mask;
use membar_simulate::Instr;
use std::sync::atomic::{AtomicBool, AtomicU64};

pub(crate) type Assembler = VecAssembler<X64Relocation>;

/// The distance of `rdi` from the beginning of memory, so that 32-bit displacements reach 4 GiB.
pub(super) const BIAS: i64 = 1 << 31;
/// Cycles that `pause` takes, about: from 10 on old processors to 140 on some.
pub(super) const PAUSE_CYCLES: u32 = 40;
/// Looks at a lock before the thread lets another have its core.
const PATIENCE: i32 = 200;
/// The most code of one thread: relative jumps and `mmap` surely support this much.
const MOST_BYTES: usize = 1 << 31;

/// Moves a constant to `rax`.
macro_rules! constant {
    ($ops:expr, $register:ident, $short:ident, $value:expr) => {
        match u32::try_from($value) {
            Ok(small) => dynasm!($ops ; .arch x64 ; mov $short, small as i32),
            Err(_) => dynasm!($ops ; .arch x64 ; mov $register, QWORD $value as i64),
        }
    };
}

/// Executable code.
#[derive(Debug)]
pub(crate) struct Machine {
    code: ExecutableBuffer,
    /// Words of the log that it writes.
    words: usize,
}

/// Puts code into memory that can be executed.
pub(crate) fn executable(code: &[u8]) -> Result<ExecutableBuffer, Error> {
    let mut buffer = MutableBuffer::new(code.len().max(1)).map_err(Error::Executable)?;
    buffer.set_len(code.len());
    buffer.copy_from_slice(code);
    buffer.make_exec().map_err(Error::Executable)
}

/// Assembles one thread.
struct Writer<'a> {
    ops: Assembler,
    layout: &'a Layout,
    /// How far `r8` is ahead of the beginning of the log, in bytes.
    ahead: i64,
}

impl Writer<'_> {
    /// The displacement of a word of memory.
    fn at(&self, word: usize) -> i32 {
        (word as i64 * 8 - BIAS) as i32
    }

    /// Logs `rax`.
    fn log_rax(&mut self, word: usize) {
        let by = self.reach(word);
        dynasm!(self.ops ; .arch x64 ; mov [BYTE r8 + by], rax);
    }

    /// Moves `r8` so that it reaches a word that is not before where it is; says how far that is.
    fn reach(&mut self, word: usize) -> i8 {
        let mut by = word as i64 * 8 - self.ahead;
        while by > 127 {
            dynasm!(self.ops ; .arch x64 ; add r8, DWORD 256);
            self.ahead += 256;
            by -= 256;
        }
        debug_assert!(by >= -128, "words are logged in their order");
        by as i8
    }

    fn begin(&mut self, word: usize) {
        dynasm!(self.ops ; .arch x64 ; rdtsc ; shl rdx, 32 ; or rax, rdx);
        self.log_rax(word);
        dynasm!(self.ops ; .arch x64 ; lfence);
    }

    fn end(&mut self, word: usize) {
        dynasm!(self.ops ; .arch x64 ; lfence ; rdtsc ; shl rdx, 32 ; or rax, rdx);
        self.log_rax(word);
    }

    fn step(&mut self, step: &PlannedInstr) {
        if step.stamped {
            self.begin(step.word);
        }
        let layout = self.layout;
        match step.instr {
            Instr::Load { addr } => {
                let at = self.at(layout.cell(addr));
                dynasm!(self.ops ; .arch x64 ; mov rax, [rdi + at]);
            }
            Instr::Store { addr, value } => {
                let at = self.at(layout.cell(addr));
                match i32::try_from(value) {
                    Ok(small) => dynasm!(self.ops ; .arch x64 ; mov QWORD [rdi + at], DWORD small),
                    Err(_) => {
                        constant!(self.ops, rax, eax, value);
                        dynasm!(self.ops ; .arch x64 ; mov [rdi + at], rax);
                    }
                }
            }
            Instr::Exchange { addr, value } => {
                let at = self.at(layout.cell(addr));
                constant!(self.ops, rax, eax, value);
                dynasm!(self.ops ; .arch x64 ; xchg [rdi + at], rax);
            }
            Instr::Add { addr, by } => {
                let at = self.at(layout.cell(addr));
                constant!(self.ops, rax, eax, by);
                dynasm!(self.ops ; .arch x64 ; lock xadd [rdi + at], rax);
            }
            Instr::Cas { addr, value } => {
                let at = self.at(layout.cell(addr));
                match step.expected {
                    Expected::Value(expected) => constant!(self.ops, rax, eax, expected),
                    Expected::Logged { word, plus } => {
                        let from = (word as i64 * 8 - self.ahead) as i32;
                        dynasm!(self.ops ; .arch x64 ; mov rax, [DWORD r8 + from]);
                        if plus > 0 {
                            constant!(self.ops, rcx, ecx, plus);
                            dynasm!(self.ops ; .arch x64 ; add rax, rcx);
                        }
                    }
                }
                constant!(self.ops, rcx, ecx, value);
                dynasm!(self.ops ; .arch x64 ; lock cmpxchg [rdi + at], rcx ; cmovne rcx, rax);
            }
            Instr::Fence { mask } => {
                let mask = mask.unwrap_or(Mask::FULL);
                if mask.contains(Mask::STORE_LOAD) {
                    dynasm!(self.ops ; .arch x64 ; mfence);
                } else if mask.contains(Mask::STORE_STORE) {
                    dynasm!(self.ops ; .arch x64 ; sfence);
                } else {
                    dynasm!(self.ops ; .arch x64 ; lfence);
                }
            }
            Instr::Acquire { lock } => {
                let at = self.at(layout.lock(lock));
                dynasm!(self.ops
                    ; .arch x64
                    ; try_again:
                    ; mov eax, 1
                    ; xchg [rdi + at], rax
                    ; test rax, rax
                    ; jz >taken
                    ; wait:
                    ; mov edx, PATIENCE
                    ; look:
                    ; pause
                    ; cmp QWORD [rdi + at], BYTE 0
                    ; je <try_again
                    ; dec edx
                    ; jnz <look
                    ; cmp BYTE [r9], BYTE 0
                    ; jne ->stopped
                );
                self.sched_yield();
                dynasm!(self.ops ; .arch x64 ; jmp <wait ; taken:);
            }
            Instr::Release { lock } => {
                let at = self.at(layout.lock(lock));
                dynasm!(self.ops ; .arch x64 ; xor eax, eax ; xchg [rdi + at], rax);
            }
            Instr::Delay { cycles } => {
                let rounds = cycles.div_ceil(PAUSE_CYCLES).max(1);
                dynasm!(self.ops ; .arch x64 ; mov edx, rounds as i32 ; again: ; pause ; dec edx ; jnz <again);
            }
        }
        if let Some(word) = step.read() {
            self.log_rax(word);
            if matches!(step.instr, Instr::Cas { .. }) {
                let by = self.reach(word + 1);
                dynasm!(self.ops ; .arch x64 ; mov [BYTE r8 + by], rcx);
            }
        }
        if step.stamped {
            self.end(step.end());
        }
        if step.yields {
            self.sched_yield();
        }
    }

    /// Lets another thread have the core. The system keeps all registers but `rax`, `rcx` and `r11`.
    fn sched_yield(&mut self) {
        dynasm!(self.ops ; .arch x64 ; mov eax, libc::SYS_sched_yield as i32 ; syscall);
    }
}

impl Machine {
    pub fn new(thread: usize, steps: &mut Steps<'_>, layout: &Layout) -> Result<Machine, Error> {
        let mut writer = Writer { ops: Assembler::new(0), layout, ahead: 128 };
        // Most instructions take fewer; the others make it grow.
        writer.ops.reserve_ops(steps.rest.len() * 20);
        // fn(memory, log, stop) -> went to the end
        dynasm!(writer.ops ; .arch x64 ; lea r8, [DWORD rsi + 128] ; mov r9, rdx);
        for step in steps.by_ref() {
            writer.step(&step);
            if writer.ops.offset().0 > MOST_BYTES || step.end() > MOST_BYTES / 8 {
                return Err(Error::Long { thread });
            }
        }
        dynasm!(writer.ops ; .arch x64 ; mov eax, 1 ; ret ; ->stopped: ; xor eax, eax ; ret);
        // Labels are all defined, and jumps are shorter than 2 GiB.
        let code = writer.ops.finalize().map_err(|_| Error::Long { thread })?;
        Ok(Machine { code: executable(&code)?, words: steps.words() })
    }

    /// The code.
    pub fn bytes(&self) -> &[u8] {
        &self.code
    }

    /// Runs the code of a program with this layout.
    ///
    /// # Panics
    /// If memory or log is smaller than the code needs.
    pub(super) fn run(&self, layout: &Layout, memory: &[AtomicU64], log: &[AtomicU64], stop: &AtomicBool) -> bool {
        assert!(memory.len() * 8 >= layout.bytes && log.len() >= self.words);
        type Code = unsafe extern "sysv64" fn(memory: *mut u8, log: *mut u64, stop: *const bool) -> u64;
        // SAFETY: the buffer holds a whole function of this type from its first byte on, and lives as long as `self`.
        let code: Code = unsafe { std::mem::transmute(self.code.as_ptr()) };
        let base = memory.as_ptr().cast_mut().cast::<u8>();
        let log = log.as_ptr().cast_mut().cast::<u64>();
        // SAFETY: the code accesses words of `memory` below `layout.bytes` and the first words of `log`, both of which are there (see
        // above), by aligned accesses; both are atomics, so others may access them meanwhile. It leaves the stack alone.
        unsafe { code(base.wrapping_offset(BIAS as isize), log, stop.as_ptr()) != 0 }
    }
}

#[cfg(test)]
mod tests;
