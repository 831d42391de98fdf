//! Programs as assembly for RISC-V and AArch64.
//!
//! Each thread is a function without calls. What it reads stays in ten registers in turn and goes to the thread's own log only when all ten are
//! full, so logging disturbs little. Dependencies are real: an address or a value is computed from the register of the earlier load, or
//! a branch looks at it. `membar_table` says how to print the log; a `main` that does so is part of the file unless `MEMBAR_BARE` is
//! defined.

use membar::core::{Depends, Marks, Mask};
use membar::simulate::{Bytes, DependsOn, Instr, Program};
use std::fmt::Write;

/// Registers that hold what was read.
const RING: usize = 10;

/// The processor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Riscv,
    Aarch64,
}

/// The file; or why there is none.
pub fn text(program: &Program, target: Target, command: &str) -> Result<String, String> {
    if program.locks() > 0 {
        let help = " = help: give --locks 0, or another profile";
        return Err(format!("error: locks cannot be written as assembly\n{help}"));
    }
    let mut file =
        File { target, code: String::new(), table: String::new(), strings: String::new(), texts: 0, results: 0 };
    for t in 0..program.threads() {
        file.thread(program, t);
    }
    Ok(file.finish(program, command))
}

struct File {
    target: Target,
    code: String,
    /// One entry for each line of the trace: format, log entry, what to add to it, format if the entry is not 0.
    table: String,
    strings: String,
    /// How many strings there are.
    texts: usize,
    /// Entries of the log so far, of all threads.
    results: usize,
}

/// A thread while it is written.
struct Thread {
    /// Results in registers that are not in the log yet.
    unsaved: usize,
    /// The entry of the log where the next results go.
    next: usize,
    /// By instruction of the thread: which of the thread's results it is.
    result: Vec<Option<usize>>,
    /// By instruction of the thread: its line among the thread's lines.
    line: Vec<usize>,
    results: usize,
    lines: usize,
}

impl File {
    fn op(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.code, "    {}", text.as_ref());
    }

    fn riscv(&self) -> bool {
        self.target == Target::Riscv
    }

    /// The register of a result.
    fn register(&self, result: usize) -> String {
        if self.riscv() { format!("s{}", 2 + result % RING) } else { format!("x{}", 19 + result % RING) }
    }

    fn thread(&mut self, program: &Program, t: usize) {
        let _ = writeln!(self.code, "\n    .globl membar_thread_{t}\nmembar_thread_{t}:");
        self.enter();
        let mut thread =
            Thread { unsaved: 0, next: self.results, result: Vec::new(), line: Vec::new(), results: 0, lines: 0 };
        for i in program.thread(t) {
            self.instr(program, t, i, &mut thread);
        }
        self.flush(&mut thread);
        self.leave();
        self.results = thread.next;
    }

    /// Saves registers; then the first address and the log are in fixed registers.
    fn enter(&mut self) {
        if self.riscv() {
            self.op("addi sp, sp, -112");
            (0..12).for_each(|i| self.op(format!("sd s{i}, {}(sp)", 8 * i)));
            self.op("lla s0, membar_memory");
            self.op(format!("lla s1, membar_log + {}", 8 * self.results));
        } else {
            self.op("sub sp, sp, #80");
            (0..5).for_each(|i| self.op(format!("stp x{}, x{}, [sp, #{}]", 19 + 2 * i, 20 + 2 * i, 16 * i)));
            self.op("adrp x9, membar_memory");
            self.op("add x9, x9, :lo12:membar_memory");
            self.op("adrp x10, membar_log");
            self.op("add x10, x10, :lo12:membar_log");
            self.op(format!("ldr x11, ={}", 8 * self.results));
            self.op("add x10, x10, x11");
        }
    }

    fn leave(&mut self) {
        if self.riscv() {
            (0..12).for_each(|i| self.op(format!("ld s{i}, {}(sp)", 8 * i)));
            self.op("addi sp, sp, 112");
            self.op("ret");
        } else {
            (0..5).for_each(|i| self.op(format!("ldp x{}, x{}, [sp, #{}]", 19 + 2 * i, 20 + 2 * i, 16 * i)));
            self.op("add sp, sp, #80");
            self.op("ret");
            self.op(".ltorg");
        }
    }

    /// Moves results from registers to the log.
    fn flush(&mut self, thread: &mut Thread) {
        for k in 0..thread.unsaved {
            let register = self.register(thread.results - thread.unsaved + k);
            match self.target {
                Target::Riscv => self.op(format!("sd {register}, {}(s1)", 8 * k)),
                Target::Aarch64 => self.op(format!("str {register}, [x10, #{}]", 8 * k)),
            }
        }
        let bytes = 8 * thread.unsaved;
        if bytes > 0 {
            self.op(if self.riscv() { format!("addi s1, s1, {bytes}") } else { format!("add x10, x10, #{bytes}") });
        }
        thread.unsaved = 0;
    }

    fn instr(&mut self, program: &Program, t: usize, i: usize, thread: &mut Thread) {
        thread.line.push(thread.lines);
        thread.result.push(None);
        let instr = program.instr(i);
        if let Instr::Delay { cycles } = instr {
            (0..cycles.min(64)).for_each(|_| self.op("nop"));
            return;
        }
        thread.lines += 1;
        if thread.unsaved == RING {
            self.flush(thread);
        }
        let first = program.thread(t).start;
        // Only what is in a register can be depended on.
        let depends: Vec<(DependsOn, usize)> = program
            .depends(i)
            .iter()
            .filter_map(|&dep| {
                let result = thread.result[dep.on as usize - first]?;
                (thread.results - result <= RING).then_some((dep, result))
            })
            .collect();
        let source = |file: &File, how: Depends| {
            depends.iter().find(|(dep, _)| dep.how == how).map(|&(_, result)| file.register(result))
        };
        let (address, data, control) =
            (source(self, Depends::Address), source(self, Depends::Data), source(self, Depends::Control));
        let suffix: String = depends
            .iter()
            .map(|(dep, _)| {
                let back = thread.line[i - first] - thread.line[dep.on as usize - first];
                format!(" {}(-{back})", dep.how.name())
            })
            .collect();
        let bytes = program.bytes(i);
        let access = match instr {
            Instr::Fence { mask } => {
                let barrier = self.barrier(mask);
                self.op(&barrier);
                self.entry(&format!("{t}: {barrier}"), None, 0, None);
                return;
            }
            Instr::Load { addr } => (addr, Access::Load),
            Instr::Store { addr, value } => (addr, Access::Store(bytes.low(value))),
            Instr::Exchange { addr, value } | Instr::Cas { addr, value } => (addr, Access::Swap(bytes.low(value))),
            Instr::Add { addr, by } => (addr, Access::Add(by)),
            Instr::Acquire { .. } | Instr::Release { .. } | Instr::Delay { .. } => return,
        };
        let marks = self.possible(access.1, program.marks(i));
        if let Some(register) = control {
            if self.riscv() {
                self.op(format!("bne {register}, {register}, 1f"));
            } else {
                self.op(format!("cbnz {register}, 1f"));
            }
            let _ = writeln!(self.code, "1:");
        }
        self.address(program.offset(access.0) + u64::from(bytes.offset), address.as_deref());
        self.value(access.1, data.as_deref());
        let returns = access.1.returns() || marks.meets(Marks::CONDITIONAL);
        let target = self.register(thread.results);
        self.access(access.1, bytes, marks, &target);
        let cell = program.place(i);
        let words: String =
            Marks::WORDS.iter().filter(|(mark, _)| marks.meets(*mark)).map(|(_, word)| format!(" {word}")).collect();
        let entry = returns.then_some(thread.next);
        let end = format!("{words}{suffix}");
        match access.1 {
            Access::Load if marks.meets(Marks::RESERVES) => {
                self.entry(&format!("{t}: lr {cell} == %lu{end}"), entry, 0, None)
            }
            Access::Load => self.entry(&format!("{t}: {cell} == %lu{end}"), entry, 0, None),
            Access::Store(value) if marks.meets(Marks::CONDITIONAL) => {
                let fails = format!("{t}: sc {cell} fails{suffix}");
                self.entry(&format!("{t}: sc {cell} := {value}{end}"), entry, 0, Some(&fails));
            }
            Access::Store(value) => self.entry(&format!("{t}: {cell} := {value}{end}"), entry, 0, None),
            Access::Swap(value) => {
                self.entry(&format!("{t}: {{ {cell} == %lu; {cell} := {value} }}{end}"), entry, 0, None)
            }
            Access::Add(by) => self.entry(&format!("{t}: {{ {cell} == %lu; {cell} := %lu }}{end}"), entry, by, None),
        }
        if returns {
            if let Some(last) = thread.result.last_mut() {
                *last = Some(thread.results);
            }
            thread.results += 1;
            thread.unsaved += 1;
            thread.next += 1;
        }
    }

    /// The marks that the processor's instruction can have.
    fn possible(&self, access: Access, marks: Marks) -> Marks {
        let only = |possible: &[Marks]| {
            possible.iter().filter(|&&mark| marks.meets(mark)).fold(Marks::NONE, |all, &mark| all.with(mark))
        };
        let (aq, rl, pc) = (Marks::ACQUIRE, Marks::RELEASE, Marks::ACQUIRE_PC);
        match (self.target, access) {
            (Target::Riscv, Access::Load) if marks.meets(Marks::RESERVES) => only(&[Marks::RESERVES, aq, rl]),
            (Target::Riscv, Access::Store(_)) if marks.meets(Marks::CONDITIONAL) => only(&[Marks::CONDITIONAL, aq, rl]),
            (Target::Riscv, Access::Load | Access::Store(_)) => Marks::NONE,
            (_, Access::Swap(_) | Access::Add(_)) => only(&[aq, rl]),
            (Target::Aarch64, Access::Load) if marks.meets(Marks::RESERVES) => only(&[Marks::RESERVES, aq]),
            (Target::Aarch64, Access::Load) => only(&[aq, pc]),
            (Target::Aarch64, Access::Store(_)) => only(&[Marks::CONDITIONAL, rl]),
        }
    }

    /// Puts the address into t0 or x12.
    fn address(&mut self, offset: u64, depends: Option<&str>) {
        if self.riscv() {
            self.op(format!("li t0, {offset}"));
            self.op("add t0, s0, t0");
            if let Some(register) = depends {
                self.op(format!("xor t1, {register}, {register}"));
                self.op("add t0, t0, t1");
            }
        } else {
            self.op(format!("ldr x12, ={offset}"));
            self.op("add x12, x9, x12");
            if let Some(register) = depends {
                self.op(format!("eor x13, {register}, {register}"));
                self.op("add x12, x12, x13");
            }
        }
    }

    /// Puts what is written into t2 or x14.
    fn value(&mut self, access: Access, depends: Option<&str>) {
        let (Access::Store(value) | Access::Swap(value) | Access::Add(value)) = access else { return };
        if self.riscv() {
            self.op(format!("li t2, {value}"));
            if let Some(register) = depends {
                self.op(format!("xor t1, {register}, {register}"));
                self.op("add t2, t2, t1");
            }
        } else {
            self.op(format!("ldr x14, ={value}"));
            if let Some(register) = depends {
                self.op(format!("eor x13, {register}, {register}"));
                self.op("add x14, x14, x13");
            }
        }
    }

    fn access(&mut self, access: Access, bytes: Bytes, marks: Marks, target: &str) {
        let (aq, rl) = (marks.meets(Marks::ACQUIRE), marks.meets(Marks::RELEASE));
        let reserves = marks.meets(Marks::RESERVES);
        if self.riscv() {
            let dotted = ["", ".aq", ".rl", ".aqrl"][usize::from(aq) + 2 * usize::from(rl)];
            let size = ["b", "h", "w", "d"][bytes.width.ilog2() as usize];
            // What is read stands in the log without a sign.
            let unsigned = if bytes.width < 8 { "u" } else { "" };
            let text = match access {
                Access::Load if reserves => format!("lr.{size}{dotted} {target}, (t0)"),
                Access::Load => format!("l{size}{unsigned} {target}, 0(t0)"),
                Access::Store(_) if marks.meets(Marks::CONDITIONAL) => format!("sc.{size}{dotted} {target}, t2, (t0)"),
                Access::Store(_) => format!("s{size} t2, 0(t0)"),
                Access::Swap(_) => format!("amoswap.{size}{dotted} {target}, t2, (t0)"),
                Access::Add(_) => format!("amoadd.{size}{dotted} {target}, t2, (t0)"),
            };
            self.op(text);
            if bytes.width == 4 && (reserves || matches!(access, Access::Swap(_) | Access::Add(_))) {
                self.op(format!("slli {target}, {target}, 32"));
                self.op(format!("srli {target}, {target}, 32"));
            }
            return;
        }
        let letters = ["", "a", "l", "al"][usize::from(aq) + 2 * usize::from(rl)];
        let size = ["b", "h", "", ""][bytes.width.ilog2() as usize];
        let narrow = |register: &str| if bytes.width < 8 { register.replace('x', "w") } else { register.to_owned() };
        let (into, from) = (narrow(target), narrow("x14"));
        let text = match access {
            Access::Load => {
                let name = match (reserves, aq, marks.meets(Marks::ACQUIRE_PC)) {
                    (true, true, _) => "ldaxr",
                    (true, false, _) => "ldxr",
                    (false, true, _) => "ldar",
                    (false, false, true) => "ldapr",
                    (false, false, false) => "ldr",
                };
                format!("{name}{size} {into}, [x12]")
            }
            Access::Store(_) if marks.meets(Marks::CONDITIONAL) => {
                let status = target.replace('x', "w");
                format!("{}{size} {status}, {from}, [x12]", if rl { "stlxr" } else { "stxr" })
            }
            Access::Store(_) => format!("{}{size} {from}, [x12]", if rl { "stlr" } else { "str" }),
            Access::Swap(_) => format!("swp{letters}{size} {from}, {into}, [x12]"),
            Access::Add(_) => format!("ldadd{letters}{size} {from}, {into}, [x12]"),
        };
        self.op(text);
    }

    /// A barrier that orders at least these pairs, in words that processor and trace share.
    fn barrier(&self, mask: Option<Mask>) -> String {
        let mask = mask.unwrap_or(Mask::FULL);
        let has = |pair| mask.contains(pair);
        let (ll, ls, sl, ss) =
            (has(Mask::LOAD_LOAD), has(Mask::LOAD_STORE), has(Mask::STORE_LOAD), has(Mask::STORE_STORE));
        if self.riscv() {
            if ll && ls && ss && !sl {
                return "fence.tso".to_owned();
            }
            let set = |reads: bool, writes: bool| ["", "r", "w", "rw"][usize::from(reads) + 2 * usize::from(writes)];
            return format!("fence {},{}", set(ll || ls, sl || ss), set(ll || sl, ls || ss));
        }
        match (ll || ls, sl, ss) {
            (true, false, false) => "dmb ld".to_owned(),
            (false, false, true) => "dmb st".to_owned(),
            _ => "dmb sy".to_owned(),
        }
    }

    fn entry(&mut self, format: &str, result: Option<usize>, add: u64, fails: Option<&str>) {
        let name = self.string(format);
        let other = fails.map_or_else(|| "0".to_owned(), |text| self.string(text));
        let _ = writeln!(self.table, "    .quad {name}, {}, {add}, {other}", result.unwrap_or(0));
    }

    /// The name of a line of text.
    fn string(&mut self, text: &str) -> String {
        self.texts += 1;
        let _ = writeln!(self.strings, "membar_s{}: .string \"{text}\\n\"", self.texts);
        format!("membar_s{}", self.texts)
    }

    fn finish(self, program: &Program, command: &str) -> String {
        let (comment, arch, main, how) = match self.target {
            Target::Riscv => ("#", "", include_str!("riscv.S"), ("riscv64-linux-gnu-gcc", "qemu-riscv64", "rvwmo")),
            Target::Aarch64 => (
                "//",
                "    .arch armv8.3-a\n",
                include_str!("aarch64.S"),
                ("aarch64-linux-gnu-gcc", "qemu-aarch64", "armv8"),
            ),
        };
        // The preprocessor would take `# ` at the beginning of a line for its own.
        let comment = if comment == "#" { "    #" } else { comment };
        let bytes = program.offset(program.addresses()).max(8);
        let (compiler, emulator, model) = how;
        let mut out = format!(
            "{comment} {command}\n{comment} {compiler} -static -pthread test.S -o test\n\
             {comment} {emulator} ./test 100 | membar check --model {model} -      or ./test 100 on such a machine\n\
             {comment} With -DMEMBAR_BARE there is no main: call membar_thread_N on core N, then print membar_log as membar_table says:\n\
             {comment} format, entry of the log, what to add for a second number, format if the entry is not 0.\n{arch}"
        );
        let _ = write!(out, "    .equ THREADS, {}\n    .equ BYTES, {bytes}\n", program.threads());
        let _ = write!(out, "    .bss\n    .balign 4096\n    .globl membar_memory\nmembar_memory: .zero {bytes}\n");
        let _ = write!(out, "    .balign 64\n    .globl membar_log\nmembar_log: .zero {}\n", 8 * self.results.max(1));
        let _ = write!(out, "    .section .rodata\n{}    .section .data\n    .balign 8\n", self.strings);
        let _ = write!(out, "    .globl membar_table\nmembar_table:\n{}    .quad 0\nmembar_threads:\n", self.table);
        for t in 0..program.threads() {
            let _ = writeln!(out, "    .quad membar_thread_{t}");
        }
        let _ = write!(out, "    .text\n{}{main}", self.code);
        out
    }
}

/// An access, with what it writes or adds.
#[derive(Clone, Copy)]
enum Access {
    Load,
    Store(u64),
    Swap(u64),
    Add(u64),
}

impl Access {
    fn returns(self) -> bool {
        !matches!(self, Access::Store(_))
    }
}
