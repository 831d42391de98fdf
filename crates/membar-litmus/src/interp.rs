//! Runs [`Code`] on one memory, forwards and backwards: the [`Program`] that the explorer drives.
//!
//! # Waiting loops
//!
//! A thread that comes to the head of a loop with the registers it had there last time, without having changed memory in
//! between, has made an idle round: it will read the same addresses again and do nothing else until one of them holds
//! something else. [`Program::waiting`] tells the explorer, which need not run such rounds.
//!
//! Only registers that are *live* at the head are compared: whatever is written before it is read again cannot matter.
//! So `while (x != 1);` is idle from its first round on, whatever the register held before the loop. At the end of a
//! thread all registers are live that the test names, since they can be observed.
//!
//! # Invariants
//!
//! Each thread is settled: at an access, ended, or unable to continue. Its log, visits and their registers only grow by steps and
//! are cut back by undoing them; a visit counts only if its place in the log is not before `quiet`.
//!
//! # Going back
//!
//! [`Program::undo`] takes a step back by restoring the registers of the one thread that moved, the one cell that changed,
//! and the lengths of lists that only grow. A step costs a copy of one thread's registers, whatever the program's size.

use crate::LitmusTest;
use crate::code::{Code, Crash, Instr, Operand, Place, Reg, Settled, ThreadCode, Update};
use membar_core::{Access, Performed};
use membar_explore::{Awaited, Fault, Next, Outcome, Program, Waiting};
use std::sync::Arc;

/// A running program.
#[derive(Clone, Debug)]
pub struct Interpreter {
    code: Arc<Code>,
    loops: Arc<Vec<Loops>>,
    /// The test whose condition its executions are asked about.
    test: Option<Arc<LitmusTest>>,
    twins: Option<Arc<Twins>>,
    /// Registers of one thread, rounded to the widest.
    width: usize,
    memory: Vec<u64>,
    /// Registers, `width` a thread.
    regs: Vec<u64>,
    threads: Vec<Thread>,
    frames: Vec<Frame>,
    /// Registers that frames restore, `width` a frame.
    saved: Vec<u64>,
}

/// Threads that are alike.
#[derive(Debug)]
struct Twins {
    /// For each thread, the one before it that is like it.
    before: Vec<Option<usize>>,
    /// For each place in the source, the one that it has in common with its like.
    sites: Vec<u32>,
}

/// The loop heads of a thread: targets of jumps backwards.
#[derive(Debug, Default)]
struct Loops {
    /// For each instruction, its number among the heads.
    head: Vec<Option<u32>>,
    /// For each head, the registers that are live there.
    live: Vec<Vec<u16>>,
}

#[derive(Clone, Debug)]
struct Thread {
    place: PlaceInCode,
    /// The values read so far, with their addresses, as what a round of them would wait for; kept only in threads with
    /// loops.
    log: Vec<Awaited>,
    /// Visits to loop heads, in order.
    visits: Vec<Visit>,
    /// The live registers of each visit.
    live: Vec<u64>,
}

/// The state of a thread that a step changes, except its registers and the lists it appends to.
#[derive(Clone, Copy, Debug)]
struct PlaceInCode {
    pc: u32,
    settled: Settled,
    /// Memory has not been changed by this thread since this position of the log.
    quiet: u32,
    /// The idle round, a range of the log; empty if the thread is not waiting.
    round: (u32, u32),
    /// How much of it has been repeated.
    repeated: u32,
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    head: u32,
    /// Length of the log at that time.
    log: u32,
    /// Where its registers begin in `live`.
    live: u32,
}

/// The state needed to take a step back.
#[derive(Clone, Copy, Debug)]
struct Frame {
    thread: u32,
    addr: u32,
    old: u64,
    place: PlaceInCode,
    log: u32,
    visits: u32,
    live: u32,
}

impl Interpreter {
    /// The program at its beginning.
    pub fn new(code: Arc<Code>) -> Interpreter {
        let width = code.threads.iter().map(|thread| thread.regs.len()).max().unwrap_or(0);
        let mut regs = Vec::with_capacity(width * code.threads.len());
        for thread in &code.threads {
            regs.extend_from_slice(&thread.regs);
            regs.resize(regs.len() + width - thread.regs.len(), 0);
        }
        let loops = code.threads.iter().map(Loops::new).collect();
        let begin = PlaceInCode { pc: 0, settled: Settled::Done, quiet: 0, round: (0, 0), repeated: 0 };
        let thread = Thread { place: begin, log: Vec::new(), visits: Vec::new(), live: Vec::new() };
        let mut program = Interpreter {
            width,
            memory: code.cells.iter().map(|cell| cell.init).collect(),
            regs,
            threads: vec![thread; code.threads.len()],
            frames: Vec::new(),
            saved: Vec::new(),
            loops: Arc::new(loops),
            test: None,
            twins: None,
            code,
        };
        for thread in 0..program.threads.len() {
            program.settle(thread);
        }
        program
    }

    /// The same, asked about the condition of a test whose code it is, perhaps with some remedies.
    pub fn asked(self, test: &Arc<LitmusTest>) -> Interpreter {
        Interpreter { test: Some(Arc::clone(test)), ..self }
    }

    /// The same program; for each thread this names the nearest one before it that is like it ([`crate::LitmusTest::twins`]).
    pub fn with_twins(mut self, before: Vec<Option<usize>>) -> Interpreter {
        let sites = self.code.common_sites(&before);
        self.twins = before.iter().any(Option::is_some).then(|| Arc::new(Twins { before, sites }));
        self
    }

    /// The program's code.
    pub fn code(&self) -> &Arc<Code> {
        &self.code
    }

    /// The values of all cells.
    pub fn memory(&self) -> &[u64] {
        &self.memory
    }

    /// Changes a cell, for executions in which memory does not look the same to everybody. Going back does not undo it.
    pub fn set(&mut self, cell: u32, value: u64) {
        self.memory[cell as usize] = value;
    }

    /// The registers of a thread.
    pub fn registers(&self, thread: usize) -> &[u64] {
        &self.regs[thread * self.width..][..self.code.threads[thread].regs.len()]
    }

    /// Runs the thread's own instructions up to its next access, and looks for idle rounds on the way.
    #[inline]
    fn settle(&mut self, t: usize) {
        let regs = &mut self.regs[t * self.width..(t + 1) * self.width];
        // In place: a copy of all this costs more than most threads' own instructions.
        let Thread { place, log, visits, live: kept } = &mut self.threads[t];
        let PlaceInCode { pc, settled, quiet, round, repeated } = place;
        let loops = &self.loops[t];
        if loops.live.is_empty() {
            *settled = self.code.settle(t, pc, regs, |_, _| {});
        } else {
            *settled = self.code.settle(t, pc, regs, |pc, regs| {
                let Some(head) = loops.head[pc as usize] else { return };
                let now = log.len() as u32;
                let live = &loops.live[head as usize];
                let before = visits.iter().rev().take_while(|v| v.log >= *quiet).find(|v| v.head == head);
                if let Some(before) = before {
                    let same = live.iter().zip(&kept[before.live as usize..]).all(|(&r, &v)| regs[r as usize] == v);
                    if same && before.log < now {
                        (*round, *repeated) = ((before.log, now), 0);
                    }
                }
                visits.push(Visit { head, log: now, live: kept.len() as u32 });
                kept.extend(live.iter().map(|&r| regs[r as usize]));
            });
        }
    }
}

impl Program for Interpreter {
    fn threads(&self) -> usize {
        self.threads.len()
    }

    #[inline]
    fn next(&self, thread: usize) -> Next {
        match self.threads[thread].place.settled {
            Settled::Request(request) => Next::Access(request.access),
            Settled::Done => Next::Done,
            Settled::Crash(_) | Settled::Endless => Next::Fault,
            Settled::Long => Next::Long,
        }
    }

    #[inline]
    fn waiting(&self, thread: usize) -> Waiting<'_> {
        let thread = &self.threads[thread];
        let (from, to) = thread.place.round;
        let round = &thread.log[from as usize..to as usize];
        Waiting { round, repeated: thread.place.repeated as usize, ..Waiting::default() }
    }

    #[inline]
    fn value(&self, addr: u32) -> u64 {
        self.memory[addr as usize]
    }

    #[inline]
    fn step(&mut self, t: usize) -> Performed {
        let thread = &mut self.threads[t];
        let Settled::Request(request) = thread.place.settled else { panic!("thread {t} has no access to make") };
        let Access { addr, .. } = request.access;
        let old = self.memory[addr as usize];
        self.frames.push(Frame {
            thread: t as u32,
            addr,
            old,
            place: thread.place,
            log: thread.log.len() as u32,
            visits: thread.visits.len() as u32,
            live: thread.live.len() as u32,
        });
        let regs = &mut self.regs[t * self.width..(t + 1) * self.width];
        self.saved.extend_from_slice(regs);

        let written = request.written(old);
        self.code.complete(t, &mut thread.place.pc, regs, old);
        if let Some(new) = written {
            self.memory[addr as usize] = new;
        }
        if !self.loops[t].live.is_empty() {
            let changed = written.is_some_and(|new| new != old) || !request.access.kind.reads();
            if request.access.kind.reads() {
                thread.log.push(Awaited { addr, value: old, until: false });
            }
            let place = &mut thread.place;
            let (from, to) = place.round;
            if changed {
                place.quiet = thread.log.len() as u32;
            }
            if from < to {
                let last = thread.log[(from + place.repeated) as usize];
                if changed || (last.addr, last.value) != (addr, old) {
                    place.round = (0, 0);
                } else {
                    place.repeated = (place.repeated + 1) % (to - from);
                }
            }
        }
        self.settle(t);
        Performed {
            thread: t as u32,
            access: request.access,
            writes: written.is_some(),
            old,
            new: written.unwrap_or(old),
        }
    }

    #[inline]
    fn undo(&mut self) {
        let frame = self.frames.pop().expect("a step to take back");
        let t = frame.thread as usize;
        self.memory[frame.addr as usize] = frame.old;
        let thread = &mut self.threads[t];
        thread.place = frame.place;
        thread.log.truncate(frame.log as usize);
        thread.visits.truncate(frame.visits as usize);
        thread.live.truncate(frame.live as usize);
        let from = self.saved.len() - self.width;
        self.regs[t * self.width..(t + 1) * self.width].copy_from_slice(&self.saved[from..]);
        self.saved.truncate(from);
    }

    fn step_finding(&mut self, thread: usize, found: u64, _: bool) -> Performed {
        let Next::Access(access) = self.next(thread) else { panic!("thread {thread} has no access to make") };
        let before = std::mem::replace(&mut self.memory[access.addr as usize], found);
        let performed = self.step(thread);
        if let Some(frame) = self.frames.last_mut() {
            frame.old = before;
        }
        performed
    }

    fn leave(&mut self, addr: u32, value: u64) {
        self.memory[addr as usize] = value;
    }

    fn is_symmetric(&self) -> bool {
        self.twins.is_some()
    }

    fn twin(&self, thread: usize) -> Option<usize> {
        self.twins.as_ref()?.before[thread]
    }

    fn common_site(&self, site: u32) -> u32 {
        self.twins.as_ref().map_or(site, |twins| twins.sites[site as usize])
    }

    fn tell_apart(&mut self, thread: usize) {
        unreachable!("P{thread} has the code of another thread, and does something else");
    }

    fn state(&self, state: &mut Vec<u64>) {
        state.extend_from_slice(&self.memory);
        state.extend_from_slice(&self.regs);
        state.extend(self.threads.iter().map(|thread| u64::from(thread.place.pc)));
    }

    fn fault(&self, thread: usize) -> Fault {
        Fault::error(match self.threads[thread].place.settled {
            Settled::Crash(Crash::Wild { site, pointer }) => {
                let site = &self.code.sites[site as usize];
                format!("line {}: `{}` goes to {pointer:#x}, which is not a location of the test", site.line, site.text)
            }
            Settled::Crash(Crash::Size { site, cell }) => {
                let site = &self.code.sites[site as usize];
                let cell = &self.code.cells[cell as usize];
                format!(
                    "line {}: `{}` and `{}`, of {} bits, differ in size",
                    site.line, site.text, cell.name, cell.ty.bits
                )
            }
            Settled::Endless => "it loops forever without accessing memory".into(),
            Settled::Request(_) | Settled::Done | Settled::Long => String::new(),
        })
    }

    fn outcome(&self) -> Outcome {
        let Some(test) = &self.test else { return Outcome::Plain };
        if self.threads.iter().any(|thread| !matches!(thread.place.settled, Settled::Done)) {
            return Outcome::Plain;
        }
        let register = |thread: u32, reg: Reg| self.registers(thread as usize)[reg as usize];
        test.outcome(register, |cell| self.memory[cell as usize])
    }
}

impl Loops {
    fn new(thread: &ThreadCode) -> Loops {
        let (instrs, regs) = (&thread.instrs, thread.regs.len());
        let mut head = vec![None; instrs.len()];
        let mut heads = Vec::new();
        for (pc, instr) in instrs.iter().enumerate() {
            if let Instr::Jump { to } | Instr::Branch { to, .. } = *instr
                && to as usize <= pc
                && head[to as usize].is_none()
            {
                head[to as usize] = Some(heads.len() as u32);
                heads.push(to as usize);
            }
        }
        if heads.is_empty() {
            return Loops::default();
        }
        let live = live_registers(thread);
        let live = heads.iter().map(|&pc| (0..regs as u16).filter(|&r| live[pc][r as usize]).collect()).collect();
        Loops { head, live }
    }
}

/// For each instruction, which registers may be read after it begins and before they are written.
fn live_registers(thread: &ThreadCode) -> Vec<Vec<bool>> {
    let (instrs, regs) = (&thread.instrs, thread.regs.len());
    let mut live = vec![vec![false; regs]; instrs.len()];
    let at_end: Vec<bool> = (0..regs).map(|reg| !thread.temps.contains(&(reg as Reg))).collect();
    loop {
        let mut changed = false;
        for pc in (0..instrs.len()).rev() {
            let after = |to: usize| live.get(to).unwrap_or(&at_end);
            let (reads, writes, jump) = uses(&instrs[pc]);
            let falls = !matches!(instrs[pc], Instr::Jump { .. });
            let mut now = if falls { after(pc + 1).clone() } else { vec![false; regs] };
            if let Some(to) = jump {
                now.iter_mut().zip(after(to as usize)).for_each(|(now, &then)| *now |= then);
            }
            if let Some(reg) = writes {
                now[reg as usize] = false;
            }
            for reg in reads.into_iter().flatten() {
                now[reg as usize] = true;
            }
            if now != live[pc] {
                live[pc] = now;
                changed = true;
            }
        }
        if !changed {
            return live;
        }
    }
}

/// The registers that an instruction reads, the one it writes, and where it may jump.
fn uses(instr: &Instr) -> ([Option<u16>; 3], Option<u16>, Option<u32>) {
    let reg = |operand: Operand| match operand {
        Operand::Reg(reg) => Some(reg),
        Operand::Value(_) => None,
    };
    let at = |place: Place| match place {
        Place::At(reg) => Some(reg),
        Place::Cell(_) => None,
    };
    match *instr {
        Instr::Set { dst, src } => ([reg(src), None, None], Some(dst), None),
        Instr::Alu { dst, a, b, .. } => ([reg(a), reg(b), None], Some(dst), None),
        Instr::Jump { to } => ([None; 3], None, Some(to)),
        Instr::Branch { cond, to, .. } => ([reg(cond), None, None], None, Some(to)),
        Instr::Load { dst, from, .. } => ([at(from), None, None], Some(dst), None),
        Instr::Store { to, value, .. } => ([at(to), reg(value), None], None, None),
        Instr::Rmw { update, dst, at: place, value, .. } => {
            let expected = match update {
                Update::CompareExchange { expected } => reg(expected),
                Update::Apply(_) | Update::Exchange => None,
            };
            ([at(place), reg(value), expected], Some(dst), None)
        }
        Instr::Barrier(_) | Instr::Fence(_) => ([None; 3], None, None),
    }
}
