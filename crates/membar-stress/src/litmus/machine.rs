//! Threads of litmus tests as machine code for x86-64 on Linux.
//!
//! An instruction of the test's register machine becomes one access of the processor with moves around it: operands go to `rax` and `rcx`, the
//! cell's address to `rdx`, and what was read from `rax` to where the register is kept. The first registers of a thread are kept
//! in the processor's, the others on the stack.
//!
//! | test | code |
//! |---|---|
//! | load, store | `mov`, of the size of the cell |
//! | exchange, add and subtract, compare-and-swap | `xchg`, `lock xadd`, `lock cmpxchg` |
//! | other read-modify-writes | a loop of `lock cmpxchg` |
//! | full barrier, store barrier | `mfence`, `sfence` |
//! | access through a pointer | the address is selected by `cmov`, which keeps the dependency; wrong pointers end the thread |
//! | jump back | every 200 times `sched_yield`, and a look whether the thread is to stop, so that endless loops end |
//!
//! Registers: `rdi` the cells, `rsi` where the shown registers go; `rax`, `rcx`, `rdx`, `r11` are scratch. The system changes
//! `rax`, `rcx` and `r11` only.
#![allow(unsafe_code)]
#![allow(clippy::useless_conversion)] // of what dynasm! makes

use super::body::Trouble;
use crate::Error;
use crate::codegen::x86_64::{Assembler, executable};
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, ExecutableBuffer, dynasm};
use membar_core::Barrier;
use membar_litmus::{Alu, Code, Crash, Instr, Int, Operand, Place, Reg, Update};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The processor's registers that hold a thread's, those first that need not be saved.
const HOMES: [u8; 9] = [8, 9, 10, 3, 5, 12, 13, 14, 15];
/// How many of them need not be saved.
const FREE: usize = 3;
/// Rounds of a loop before the thread lets another have its core.
const PATIENCE: i32 = 200;
const RAX: u8 = 0;
const RCX: u8 = 1;

/// Executable code.
pub(super) struct Machine {
    code: ExecutableBuffer,
    /// Words that the cells of an instance take.
    words: usize,
    /// Words for the shown registers.
    registers: usize,
    sites: u64,
    /// The pointers to cells.
    pointers: Vec<u64>,
}

/// Return values of a thread.
const DONE: u64 = 0;
const STOPPED: u64 = 1;
/// And the site twice, and 1 if the size was wrong; the register area then begins with the pointer.
const CRASHED: u64 = 2;

struct Writer<'a> {
    ops: Assembler,
    code: &'a Code,
    spacing: usize,
    /// Registers on the stack.
    spilled: usize,
    leave: DynamicLabel,
}

/// Makes `rax` a value of a type, from its lower bits.
macro_rules! extend {
    ($ops:expr, $ty:expr) => {
        match ($ty.bits, $ty.signed) {
            (8, true) => dynasm!($ops ; .arch x64 ; movsx rax, al),
            (8, false) => dynasm!($ops ; .arch x64 ; movzx eax, al),
            (16, true) => dynasm!($ops ; .arch x64 ; movsx rax, ax),
            (16, false) => dynasm!($ops ; .arch x64 ; movzx eax, ax),
            (32, true) => dynasm!($ops ; .arch x64 ; movsxd rax, eax),
            (32, false) => dynasm!($ops ; .arch x64 ; mov eax, eax),
            _ => {}
        }
    };
}

/// One instruction in the four sizes.
macro_rules! sized {
    ($ops:expr, $bits:expr, [$($name:ident)+], $r8:ident $r16:ident $r32:ident $r64:ident) => {
        match $bits {
            8 => dynasm!($ops ; .arch x64 ; $($name)+ [rdx], $r8),
            16 => dynasm!($ops ; .arch x64 ; $($name)+ [rdx], $r16),
            32 => dynasm!($ops ; .arch x64 ; $($name)+ [rdx], $r32),
            _ => dynasm!($ops ; .arch x64 ; $($name)+ [rdx], $r64),
        }
    };
}

impl Writer<'_> {
    fn constant(&mut self, into: u8, value: u64) {
        match u32::try_from(value) {
            Ok(small) => dynasm!(self.ops ; .arch x64 ; mov Rd(into), DWORD small as i32),
            Err(_) => dynasm!(self.ops ; .arch x64 ; mov Rq(into), QWORD value as i64),
        }
    }

    fn stack(&self, reg: Reg) -> i32 {
        (reg as usize - HOMES.len()) as i32 * 8
    }

    fn get(&mut self, into: u8, operand: Operand) {
        match operand {
            Operand::Value(value) => self.constant(into, value),
            Operand::Reg(reg) => match HOMES.get(reg as usize) {
                Some(&home) => dynasm!(self.ops ; .arch x64 ; mov Rq(into), Rq(home)),
                None => {
                    let at = self.stack(reg);
                    dynasm!(self.ops ; .arch x64 ; mov Rq(into), [rsp + at]);
                }
            },
        }
    }

    /// Keeps `rax` as the value of a register.
    fn put(&mut self, reg: Reg) {
        match HOMES.get(reg as usize) {
            Some(&home) => dynasm!(self.ops ; .arch x64 ; mov Rq(home), rax),
            None => {
                let at = self.stack(reg);
                dynasm!(self.ops ; .arch x64 ; mov [rsp + at], rax);
            }
        }
    }

    fn displacement(&self, cell: usize) -> i32 {
        (cell * self.spacing) as i32
    }

    /// Ends the thread with this status.
    fn end(&mut self, status: u64) {
        let leave = self.leave;
        dynasm!(self.ops ; .arch x64 ; mov eax, DWORD status as i32 ; jmp =>leave);
    }

    /// Puts the address of a place into `rdx`.
    fn address(&mut self, place: Place, ty: Int, site: u32) {
        let cells = &self.code.cells;
        let status = CRASHED + 2 * u64::from(site);
        match place {
            Place::Cell(cell) if cells[cell as usize].ty.bits == ty.bits => {
                let by = self.displacement(cell as usize);
                dynasm!(self.ops ; .arch x64 ; lea rdx, [rdi + by]);
            }
            Place::Cell(cell) => {
                let pointer = cells[cell as usize].pointer;
                self.constant(RAX, pointer);
                dynasm!(self.ops ; .arch x64 ; mov [rsi], rax);
                self.end(status + 1);
            }
            Place::At(reg) => {
                self.get(RAX, Operand::Reg(reg));
                dynasm!(self.ops ; .arch x64 ; xor edx, edx);
                for (at, cell) in cells.iter().enumerate() {
                    self.constant(RCX, cell.pointer);
                    let by = self.displacement(at);
                    dynasm!(self.ops ; .arch x64 ; lea r11, [rdi + by] ; cmp rax, rcx);
                    if cell.ty.bits == ty.bits {
                        dynasm!(self.ops ; .arch x64 ; cmove rdx, r11);
                    } else {
                        dynasm!(self.ops ; .arch x64 ; jne >other ; mov [rsi], rax);
                        self.end(status + 1);
                        dynasm!(self.ops ; .arch x64 ; other:);
                    }
                }
                dynasm!(self.ops ; .arch x64 ; test rdx, rdx ; jnz >found ; mov [rsi], rax);
                self.end(status);
                dynasm!(self.ops ; .arch x64 ; found:);
            }
        }
    }

    /// `rax := op(rax, rcx)`; nothing else but `rcx` changes.
    fn alu(&mut self, op: Alu) {
        match op {
            Alu::Add => dynasm!(self.ops ; .arch x64 ; add rax, rcx),
            Alu::Sub => dynasm!(self.ops ; .arch x64 ; sub rax, rcx),
            Alu::Mul => dynasm!(self.ops ; .arch x64 ; imul rax, rcx),
            Alu::And => dynasm!(self.ops ; .arch x64 ; and rax, rcx),
            Alu::Or => dynasm!(self.ops ; .arch x64 ; or rax, rcx),
            Alu::Xor => dynasm!(self.ops ; .arch x64 ; xor rax, rcx),
            // The processor shifts by the lower six bits only.
            Alu::Shl => dynasm!(self.ops ; .arch x64 ; shl rax, cl ; cmp ecx, 64 ; jb >short ; xor eax, eax ; short:),
            Alu::Shr => dynasm!(self.ops ; .arch x64 ; shr rax, cl ; cmp ecx, 64 ; jb >short ; xor eax, eax ; short:),
            Alu::Eq => dynasm!(self.ops ; .arch x64 ; cmp rax, rcx ; sete al ; movzx eax, al),
            Alu::Ne => dynasm!(self.ops ; .arch x64 ; cmp rax, rcx ; setne al ; movzx eax, al),
            Alu::Lt => dynasm!(self.ops ; .arch x64 ; cmp rax, rcx ; setl al ; movzx eax, al),
            Alu::Le => dynasm!(self.ops ; .arch x64 ; cmp rax, rcx ; setle al ; movzx eax, al),
            Alu::Below => dynasm!(self.ops ; .arch x64 ; cmp rax, rcx ; setb al ; movzx eax, al),
        }
    }

    fn load(&mut self, ty: Int) {
        match ty.bits {
            8 => dynasm!(self.ops ; .arch x64 ; mov al, [rdx]),
            16 => dynasm!(self.ops ; .arch x64 ; mov ax, [rdx]),
            32 => dynasm!(self.ops ; .arch x64 ; mov eax, [rdx]),
            _ => dynasm!(self.ops ; .arch x64 ; mov rax, [rdx]),
        }
        extend!(self.ops, ty);
    }

    fn rmw(&mut self, update: Update, value: Operand, ty: Int) {
        match update {
            Update::Exchange => {
                self.get(RAX, value);
                sized!(self.ops, ty.bits, [xchg], al ax eax rax);
            }
            Update::Apply(Alu::Add | Alu::Sub) => {
                self.get(RAX, value);
                if update == Update::Apply(Alu::Sub) {
                    dynasm!(self.ops ; .arch x64 ; neg rax);
                }
                sized!(self.ops, ty.bits, [lock xadd], al ax eax rax);
            }
            Update::CompareExchange { expected } => {
                self.get(RCX, value);
                self.get(RAX, expected);
                sized!(self.ops, ty.bits, [lock cmpxchg], cl cx ecx rcx);
            }
            Update::Apply(op) => {
                let again = self.ops.new_dynamic_label();
                self.load(ty);
                dynasm!(self.ops ; .arch x64 ; =>again ; mov r11, rax);
                self.get(RAX, value);
                extend!(self.ops, ty);
                dynasm!(self.ops ; .arch x64 ; mov rcx, rax ; mov rax, r11);
                self.alu(op);
                dynasm!(self.ops ; .arch x64 ; mov rcx, rax ; mov rax, r11);
                sized!(self.ops, ty.bits, [lock cmpxchg], cl cx ecx rcx);
                // Moves leave the flags alone.
                extend!(self.ops, ty);
                dynasm!(self.ops ; .arch x64 ; jne =>again);
            }
        }
        extend!(self.ops, ty);
    }

    fn instr(&mut self, instr: &Instr, at: usize, labels: &[DynamicLabel]) {
        let target = |to: u32| labels[(to as usize).min(labels.len() - 1)];
        match *instr {
            Instr::Set { dst, src } => {
                self.get(RAX, src);
                self.put(dst);
            }
            Instr::Alu { op, dst, a, b, ty } => {
                self.get(RAX, a);
                self.get(RCX, b);
                self.alu(op);
                extend!(self.ops, ty);
                self.put(dst);
            }
            Instr::Jump { to } => {
                self.look_for_stop(at, to);
                let to = target(to);
                dynasm!(self.ops ; .arch x64 ; jmp =>to);
            }
            Instr::Branch { cond, unless, to } => {
                self.look_for_stop(at, to);
                self.get(RAX, cond);
                let to = target(to);
                dynasm!(self.ops ; .arch x64 ; test rax, rax);
                match unless {
                    true => dynasm!(self.ops ; .arch x64 ; jz =>to),
                    false => dynasm!(self.ops ; .arch x64 ; jnz =>to),
                }
            }
            Instr::Load { dst, from, ty, site } => {
                self.address(from, ty, site);
                self.load(ty);
                self.put(dst);
            }
            Instr::Store { to, value, ty, site } => {
                self.address(to, ty, site);
                self.get(RAX, value);
                sized!(self.ops, ty.bits, [mov], al ax eax rax);
            }
            Instr::Rmw { update, dst, at, value, ty, site } => {
                self.address(at, ty, site);
                self.rmw(update, value, ty);
                self.put(dst);
            }
            Instr::Barrier(Barrier::None) | Instr::Fence(_) => {}
            Instr::Barrier(Barrier::Store) => dynasm!(self.ops ; .arch x64 ; sfence),
            Instr::Barrier(Barrier::Full) => dynasm!(self.ops ; .arch x64 ; mfence),
        }
    }

    /// Before a jump back: now and then looks whether the thread is to stop, and lets another have the core, which may be the one
    /// that is waited for. Behind the registers on the stack are the rounds that are left and where the request to stop is.
    fn look_for_stop(&mut self, at: usize, to: u32) {
        if to as usize > at {
            return;
        }
        let rounds = self.spilled as i32 * 8;
        let flag = rounds + 8;
        dynasm!(self.ops
            ; .arch x64
            ; dec QWORD [rsp + rounds]
            ; jnz >on
            ; mov QWORD [rsp + rounds], DWORD PATIENCE
            ; mov r11, [rsp + flag]
            ; cmp BYTE [r11], BYTE 0
            ; je >yields
        );
        self.end(STOPPED);
        dynasm!(self.ops ; .arch x64 ; yields: ; mov eax, libc::SYS_sched_yield as i32 ; syscall ; on:);
    }
}

fn jumps_back((at, instr): (usize, &Instr)) -> bool {
    matches!(*instr, Instr::Jump { to } | Instr::Branch { to, .. } if to as usize <= at)
}

impl Machine {
    pub fn new(code: &Code, thread: usize, shown: &[Reg], spacing: usize) -> Result<Machine, Error> {
        let membar_litmus::ThreadCode { instrs, regs, .. } = &code.threads[thread];
        let mut ops = Assembler::new(0);
        let leave = ops.new_dynamic_label();
        let spilled = regs.len().saturating_sub(HOMES.len());
        let saved = &HOMES[FREE..regs.len().clamp(FREE, HOMES.len())];
        let loops = instrs.iter().enumerate().any(jumps_back);
        let mut writer = Writer { ops, code, spacing, spilled, leave };
        // fn(cells, registers, stop) -> status
        for &home in saved {
            dynasm!(writer.ops ; .arch x64 ; push Rq(home));
        }
        if loops {
            dynasm!(writer.ops ; .arch x64 ; push rdx ; push DWORD PATIENCE);
        }
        if spilled > 0 {
            dynasm!(writer.ops ; .arch x64 ; sub rsp, DWORD spilled as i32 * 8);
        }
        for (reg, &value) in regs.iter().enumerate() {
            writer.constant(RAX, value);
            writer.put(reg as Reg);
        }
        let labels: Vec<DynamicLabel> = (0..=instrs.len()).map(|_| writer.ops.new_dynamic_label()).collect();
        for (at, instr) in instrs.iter().enumerate() {
            let label = labels[at];
            dynasm!(writer.ops ; .arch x64 ; =>label);
            writer.instr(instr, at, &labels);
        }
        let end = labels[instrs.len()];
        dynasm!(writer.ops ; .arch x64 ; =>end);
        for (at, &reg) in shown.iter().enumerate() {
            writer.get(RAX, Operand::Reg(reg));
            dynasm!(writer.ops ; .arch x64 ; mov [rsi + at as i32 * 8], rax);
        }
        dynasm!(writer.ops ; .arch x64 ; mov eax, DWORD DONE as i32 ; =>leave);
        let frame = spilled + 2 * usize::from(loops);
        if frame > 0 {
            dynasm!(writer.ops ; .arch x64 ; add rsp, DWORD frame as i32 * 8);
        }
        for &home in saved.iter().rev() {
            dynasm!(writer.ops ; .arch x64 ; pop Rq(home));
        }
        dynasm!(writer.ops ; .arch x64 ; ret);
        let bytes = writer.ops.finalize().map_err(|_| Error::Long { thread })?;
        Ok(Machine {
            code: executable(&bytes)?,
            words: code.cells.len() * spacing / 8,
            registers: shown.len(),
            sites: code.sites.len() as u64,
            pointers: code.cells.iter().map(|cell| cell.pointer).collect(),
        })
    }

    /// There is room for at least one register, wherever they go.
    #[inline]
    pub fn run(&self, cells: &[AtomicU64], registers: &[AtomicU64], stop: &AtomicBool) -> Result<(), Trouble> {
        assert!(cells.len() >= self.words && registers.len() >= self.registers.max(1));
        type Body = unsafe extern "sysv64" fn(cells: *mut u64, registers: *mut u64, stop: *const bool) -> u64;
        // SAFETY: the buffer holds a whole function of this type from its first byte on, and lives as long as `self`.
        let body: Body = unsafe { std::mem::transmute(self.code.as_ptr()) };
        let (cells, shown) = (cells.as_ptr().cast_mut().cast(), registers.as_ptr().cast_mut().cast());
        // SAFETY: it accesses the cells and the words for registers, which are there (see above), by aligned accesses within
        // their words, and its own stack; pointers that a test computes are looked up, and never used as such. All are atomics,
        // so others may access them meanwhile.
        let status = unsafe { body(cells, shown, stop.as_ptr()) };
        if status == DONE { Ok(()) } else { Err(self.trouble(status, registers)) }
    }

    #[cold]
    fn trouble(&self, status: u64, registers: &[AtomicU64]) -> Trouble {
        if status < CRASHED || (status - CRASHED) / 2 >= self.sites {
            return Trouble::Stopped;
        }
        let pointer = registers[0].load(std::sync::atomic::Ordering::Relaxed);
        let site = ((status - CRASHED) / 2) as u32;
        match (status - CRASHED) % 2 {
            0 => Trouble::Crash(Crash::Wild { site, pointer }),
            _ => {
                let cell = self.pointers.iter().position(|&known| known == pointer).unwrap_or(0) as u32;
                Trouble::Crash(Crash::Size { site, cell })
            }
        }
    }
}
