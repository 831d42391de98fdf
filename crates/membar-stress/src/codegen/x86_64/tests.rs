//! The program that ran is the one that was recorded: generated code is read back through a disassembler that shares nothing with the
//! assembler, and what it does alone is what the interpreter does.

use super::super::{Compiled, Engine, Options, Steps, Timestamps};
use super::*;
use crate::memory::Memory;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use membar_simulate::{Program, ProgramBuilder, profile};
use std::sync::atomic::Ordering;

/// An instruction that matters, as a reader of the machine code sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Seen {
    Load(usize),
    Store(usize, u64),
    Exchange(usize, u64),
    Add(usize, u64),
    Cas {
        cell: usize,
        expected: Expected,
        value: u64,
    },
    Barrier(Mnemonic),
    Acquire(usize),
    Release(usize),
    Pauses(u32),
    Clock,
    /// A register goes to this word of the log.
    Log(usize, Register),
    Yield,
}

/// The expected code of a thread, from the program alone.
fn wanted(program: &Program, thread: usize, options: Options, layout: &Layout) -> Vec<Seen> {
    let mut all = Vec::new();
    for step in Steps::new(program, thread, options) {
        if step.stamped {
            all.extend([Seen::Clock, Seen::Log(step.word, Register::RAX), Seen::Barrier(Mnemonic::Lfence)]);
        }
        let mut word = step.word + usize::from(step.stamped);
        all.push(match program.instr(step.index) {
            Instr::Load { addr } => Seen::Load(layout.cell(addr)),
            Instr::Store { addr, value } => Seen::Store(layout.cell(addr), value),
            Instr::Exchange { addr, value } => Seen::Exchange(layout.cell(addr), value),
            Instr::Add { addr, by } => Seen::Add(layout.cell(addr), by),
            Instr::Cas { addr, value } => Seen::Cas { cell: layout.cell(addr), expected: step.expected, value },
            Instr::Fence { mask: None } => Seen::Barrier(Mnemonic::Mfence),
            Instr::Fence { mask: Some(mask) } if mask.contains(Mask::STORE_LOAD) => Seen::Barrier(Mnemonic::Mfence),
            Instr::Fence { mask: Some(mask) } if mask.contains(Mask::STORE_STORE) => Seen::Barrier(Mnemonic::Sfence),
            Instr::Fence { .. } => Seen::Barrier(Mnemonic::Lfence),
            Instr::Acquire { lock } => Seen::Acquire(layout.lock(lock)),
            Instr::Release { lock } => Seen::Release(layout.lock(lock)),
            Instr::Delay { cycles } => Seen::Pauses(cycles.div_ceil(40).max(1)),
        });
        match program.instr(step.index) {
            Instr::Load { .. } | Instr::Exchange { .. } | Instr::Add { .. } => {
                all.push(Seen::Log(word, Register::RAX));
                word += 1;
            }
            Instr::Cas { .. } => {
                all.extend([Seen::Log(word, Register::RAX), Seen::Log(word + 1, Register::RCX)]);
                word += 2;
            }
            _ => {}
        }
        if step.stamped {
            all.extend([Seen::Barrier(Mnemonic::Lfence), Seen::Clock, Seen::Log(word, Register::RAX)]);
        }
        if step.yields {
            all.push(Seen::Yield);
        }
    }
    all
}

/// Reads code back.
struct Reader {
    code: Vec<Instruction>,
    at: usize,
    /// How far `r8` is ahead of the log.
    ahead: i64,
    locks_from: usize,
}

impl Reader {
    fn new(bytes: &[u8], layout: &Layout) -> Reader {
        let code: Vec<Instruction> = Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE).into_iter().collect();
        assert!(code.iter().all(|instr| !instr.is_invalid()));
        Reader { code, at: 0, ahead: 0, locks_from: layout.lock(0) }
    }

    fn next(&mut self, mnemonic: Mnemonic) -> Instruction {
        let instr = self.code[self.at];
        assert_eq!(instr.mnemonic(), mnemonic, "{instr:?} at {}", self.at);
        self.at += 1;
        instr
    }

    /// The 64-bit word of memory that an operand names.
    fn cell(&self, instr: &Instruction) -> usize {
        assert_eq!((instr.memory_base(), instr.memory_index()), (Register::RDI, Register::None), "{instr:?}");
        assert!(instr.memory_size().size() == 8, "{instr:?}");
        let bytes = instr.memory_displacement64() as i64 + BIAS;
        assert_eq!(bytes % 8, 0);
        bytes as usize / 8
    }

    fn word(&self, instr: &Instruction) -> usize {
        assert_eq!((instr.memory_base(), instr.memory_index()), (Register::R8, Register::None), "{instr:?}");
        let bytes = instr.memory_displacement64() as i64 + self.ahead;
        assert_eq!(bytes % 8, 0);
        bytes as usize / 8
    }

    fn jump(&mut self, mnemonic: Mnemonic, to: usize) {
        let jump = self.next(mnemonic);
        assert_eq!(jump.near_branch_target(), self.code[to].ip(), "{jump:?}");
    }

    fn all(&mut self) -> Vec<Seen> {
        let lea = self.next(Mnemonic::Lea);
        assert_eq!((lea.op0_register(), lea.memory_base()), (Register::R8, Register::RSI));
        self.ahead = lea.memory_displacement64() as i64;
        let stop = self.next(Mnemonic::Mov);
        assert_eq!((stop.op0_register(), stop.op1_register()), (Register::R9, Register::RDX));
        // The end is known: return 1, and where stopped threads go: return 0.
        let end = self.code.len() - 4;
        let mut seen = Vec::new();
        while self.at < end {
            self.one(&mut seen, end + 2);
        }
        assert_eq!((self.next(Mnemonic::Mov).immediate(1), self.next(Mnemonic::Ret).op_count()), (1, 0));
        let zero = self.next(Mnemonic::Xor);
        assert_eq!((zero.op0_register(), zero.op1_register()), (Register::EAX, Register::EAX));
        self.next(Mnemonic::Ret);
        seen
    }

    /// A constant moved to a register, if that comes next.
    fn constant(&mut self, register: Register) -> Option<u64> {
        let instr = self.code[self.at];
        let moved = instr.mnemonic() == Mnemonic::Mov && instr.op0_kind() == OpKind::Register;
        if !moved || instr.op0_register().full_register() != register || instr.op1_kind() == OpKind::Register {
            return None;
        }
        if instr.op1_kind() == OpKind::Memory {
            return None;
        }
        self.at += 1;
        // A move to the lower half clears the upper one.
        let value = instr.immediate(1);
        Some(if instr.op0_register().size() == 4 { value as u32 as u64 } else { value })
    }

    fn one(&mut self, seen: &mut Vec<Seen>, stopped: usize) {
        let first = self.at;
        if let Some(rounds) = self.constant(Register::RDX) {
            self.next(Mnemonic::Pause);
            assert_eq!(self.next(Mnemonic::Dec).op0_register(), Register::EDX);
            self.jump(Mnemonic::Jne, first + 1);
            return seen.push(Seen::Pauses(rounds as u32));
        }
        let rax = self.constant(Register::RAX);
        let instr = self.code[self.at];
        let kinds = (instr.op0_kind(), instr.op1_kind());
        match (instr.mnemonic(), rax) {
            (Mnemonic::Syscall, Some(24)) => {
                self.at += 1;
                seen.push(Seen::Yield);
            }
            (Mnemonic::Mov, Some(value)) if kinds == (OpKind::Memory, OpKind::Register) => {
                self.at += 1;
                assert_eq!(instr.op1_register(), Register::RAX);
                seen.push(Seen::Store(self.cell(&instr), value));
            }
            (Mnemonic::Xchg, Some(value)) => {
                let cell = self.cell(&instr);
                self.at += 1;
                if cell < self.locks_from {
                    seen.push(Seen::Exchange(cell, value));
                } else {
                    assert_eq!(value, 1);
                    self.acquire(first, stopped);
                    seen.push(Seen::Acquire(cell));
                }
            }
            (Mnemonic::Xadd, Some(by)) => {
                assert!(instr.has_lock_prefix());
                self.at += 1;
                seen.push(Seen::Add(self.cell(&instr), by));
            }
            (_, Some(expected)) => self.cas(Expected::Value(expected), seen),
            (Mnemonic::Mov, None) => match (kinds, instr.memory_base()) {
                ((OpKind::Register, OpKind::Memory), Register::RDI) => {
                    self.at += 1;
                    assert_eq!(instr.op0_register(), Register::RAX);
                    seen.push(Seen::Load(self.cell(&instr)));
                }
                ((OpKind::Register, OpKind::Memory), _) => {
                    self.at += 1;
                    let word = self.word(&instr);
                    // Either the value to add to it, or the value to write, follows in rcx.
                    let back = self.at;
                    let plus = self.constant(Register::RCX).filter(|_| self.code[self.at].mnemonic() == Mnemonic::Add);
                    match plus {
                        Some(_) if self.code[self.at].op0_register() == Register::RAX => self.at += 1,
                        _ => self.at = back,
                    }
                    let plus = if self.at == back { 0 } else { plus.unwrap() };
                    self.cas(Expected::Logged { word, plus }, seen);
                }
                ((OpKind::Memory, OpKind::Register), Register::R8) => {
                    self.at += 1;
                    seen.push(Seen::Log(self.word(&instr), instr.op1_register()));
                }
                _ => {
                    self.at += 1;
                    seen.push(Seen::Store(self.cell(&instr), instr.immediate(1)));
                }
            },
            (Mnemonic::Add, None) => self.bump(),
            (Mnemonic::Rdtsc, None) => {
                self.at += 1;
                let (shift, or) = (self.next(Mnemonic::Shl), self.next(Mnemonic::Or));
                assert_eq!((shift.op0_register(), shift.immediate(1)), (Register::RDX, 32));
                assert_eq!((or.op0_register(), or.op1_register()), (Register::RAX, Register::RDX));
                seen.push(Seen::Clock);
            }
            (Mnemonic::Mfence | Mnemonic::Sfence | Mnemonic::Lfence, None) => {
                self.at += 1;
                seen.push(Seen::Barrier(instr.mnemonic()));
            }
            (Mnemonic::Xor, None) => {
                self.at += 1;
                assert_eq!((instr.op0_register(), instr.op1_register()), (Register::EAX, Register::EAX));
                let release = self.next(Mnemonic::Xchg);
                assert_eq!(release.op1_register(), Register::RAX);
                seen.push(Seen::Release(self.cell(&release)));
            }
            _ => unreachable!("{instr:?} at {}", self.at),
        }
    }

    fn bump(&mut self) {
        let add = self.next(Mnemonic::Add);
        assert_eq!(add.op0_register(), Register::R8);
        self.ahead += add.immediate(1) as i64;
    }

    fn cas(&mut self, expected: Expected, seen: &mut Vec<Seen>) {
        let value = self.constant(Register::RCX).unwrap();
        let cas = self.next(Mnemonic::Cmpxchg);
        assert!(cas.has_lock_prefix() && cas.op1_register() == Register::RCX);
        seen.push(Seen::Cas { cell: self.cell(&cas), expected, value });
        let known = self.next(Mnemonic::Cmovne);
        assert_eq!((known.op0_register(), known.op1_register()), (Register::RCX, Register::RAX));
    }

    /// The rest of an acquire whose first instruction is at `first`.
    fn acquire(&mut self, first: usize, stopped: usize) {
        let cell = self.cell(&self.code[self.at - 1]);
        let test = self.next(Mnemonic::Test);
        assert_eq!((test.op0_register(), test.op1_register()), (Register::RAX, Register::RAX));
        let after = first + 15;
        self.jump(Mnemonic::Je, after);
        let wait = self.at;
        assert_eq!(self.constant(Register::RDX), Some(PATIENCE as u64));
        let look = self.at;
        self.next(Mnemonic::Pause);
        let cmp = self.next(Mnemonic::Cmp);
        assert_eq!((self.cell(&cmp), cmp.immediate(1)), (cell, 0));
        self.jump(Mnemonic::Je, first);
        assert_eq!(self.next(Mnemonic::Dec).op0_register(), Register::EDX);
        self.jump(Mnemonic::Jne, look);
        let asked = self.next(Mnemonic::Cmp);
        assert_eq!((asked.memory_base(), asked.memory_size().size()), (Register::R9, 1));
        self.jump(Mnemonic::Jne, stopped);
        assert_eq!(self.constant(Register::RAX), Some(24));
        self.next(Mnemonic::Syscall);
        self.jump(Mnemonic::Jmp, wait);
        assert_eq!(self.at, after);
    }
}

fn some_programs() -> Vec<Program> {
    use Instr::*;
    let mut b = ProgramBuilder::new(40, 2);
    b.stride(4096).initial(3, u64::MAX).thread();
    for (addr, value) in [(0, 1), (1, 0x7FFF_FFFF), (2, 0x8000_0000), (3, 0xFFFF_FFFF), (39, 1 << 32), (0, 1 << 63)] {
        b.push(Store { addr, value }).push(Exchange { addr, value: value + 1 }).push(Load { addr });
        b.push(Add { addr, by: value })
            .push(Cas { addr, value: value ^ (3 << 40) })
            .push(Delay { cycles: value as u32 % 999 });
        b.push(Cas { addr, value: value ^ (5 << 40) }).push(Load { addr }).push(Cas { addr, value: value ^ (7 << 40) });
    }
    (1..16).for_each(|bits| {
        b.push(Fence { mask: Some(Mask::from_bits(bits)) });
    });
    b.push(Instr::SYNC).push(Acquire { lock: 1 }).push(Acquire { lock: 0 });
    b.push(Release { lock: 1 }).push(Release { lock: 0 }).push(Acquire { lock: 1 });
    let mut programs = vec![b.finish().unwrap()];
    // Every address far from the others: displacements of both signs.
    let mut b = ProgramBuilder::new(4096, 1);
    b.stride(1 << 20).thread().push(Store { addr: 4095, value: 5 }).push(Load { addr: 0 }).push(Load { addr: 2048 });
    programs.push(b.finish().unwrap());
    for profile in profile::builtins() {
        let profile = profile::Profile { operations: 300, ..profile.clone() };
        programs.extend((0..3).map(|seed| profile.program(seed).unwrap()));
    }
    programs
}

fn all_options() -> Vec<Options> {
    let timestamps = [Timestamps::Off, Timestamps::Every(1), Timestamps::Every(7)];
    let both = timestamps.into_iter().flat_map(|timestamps| [0, 5].map(|yields| (timestamps, yields)));
    both.map(|(timestamps, yields)| Options { engine: Engine::Generated, timestamps, yields }).collect()
}

#[test]
fn code_is_the_program() {
    let mut read = 0;
    for program in some_programs() {
        for options in all_options() {
            let layout = Layout::new(&program).unwrap();
            for thread in 0..program.threads() {
                let machine = Machine::new(thread, &mut Steps::new(&program, thread, options), &layout).unwrap();
                let seen = Reader::new(machine.bytes(), &layout).all();
                let wanted = wanted(&program, thread, options, &layout);
                let differs = seen.iter().zip(&wanted).position(|(seen, wanted)| seen != wanted);
                assert_eq!(differs.map(|at| (at, &seen[at], &wanted[at])), None, "{options:?}");
                assert_eq!(seen.len(), wanted.len());
                read += seen.len();
            }
        }
    }
    assert!(read > 100_000, "{read}");
}

/// The values that the threads of a program read when one runs after the other.
fn one_by_one(program: &Program, options: Options) -> (Vec<u64>, Vec<u64>) {
    let compiled = Compiled::new(program, options).unwrap();
    let memory = Memory::new(compiled.layout.bytes).unwrap();
    let stop = AtomicBool::new(false);
    let mut reads = vec![0; program.len()];
    for addr in 0..program.addresses() {
        memory.words()[compiled.layout.cell(addr)].store(program.initial(addr), Ordering::Relaxed);
    }
    for (t, thread) in compiled.threads.iter().enumerate() {
        let log = Memory::new(thread.words * 8).unwrap();
        assert!(thread.run(&compiled.layout, memory.words(), log.words(), &stop));
        super::super::collect(Steps::new(program, t, options), log.words(), &mut reads, None, (0, 0), 0);
    }
    let finals =
        (0..program.addresses()).map(|addr| memory.words()[compiled.layout.cell(addr)].load(Ordering::Relaxed));
    (reads, finals.collect())
}

#[test]
fn alone_it_does_what_the_interpreter_does() {
    for program in some_programs() {
        let expected = one_by_one(&program, Options { engine: Engine::Portable, ..Options::default() });
        for options in all_options() {
            assert_eq!(one_by_one(&program, options), expected, "{options:?}");
        }
    }
}

#[test]
fn a_thread_gives_up_when_asked() {
    let mut b = ProgramBuilder::new(1, 1);
    b.thread().push(Instr::Acquire { lock: 0 });
    let program = b.finish().unwrap();
    for engine in [Engine::Generated, Engine::Portable] {
        let compiled = Compiled::new(&program, Options { engine, ..Options::default() }).unwrap();
        let memory = Memory::new(compiled.layout.bytes).unwrap();
        memory.words()[compiled.layout.lock(0)].store(1, Ordering::Relaxed);
        assert!(!compiled.threads[0].run(&compiled.layout, memory.words(), &[], &AtomicBool::new(true)));
    }
}

#[test]
fn programs_that_span_too_much_are_refused() {
    let mut b = ProgramBuilder::new(4097, 0);
    b.stride(1 << 20).thread();
    let refused = Compiled::new(&b.finish().unwrap(), Options::default());
    assert!(matches!(refused, Err(Error::Span(_))), "{refused:?}");
}
