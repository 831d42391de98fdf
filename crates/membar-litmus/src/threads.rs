//! A litmus test whose accesses somebody else performs.

use crate::{Code, Crash, LitmusTest, Reg, Request, Settled};
use membar_core::{Access, Halt, Threads};
use membar_explore::Outcome;

/// A litmus test's threads, from their beginning.
pub struct LitmusThreads<'c> {
    code: &'c Code,
    threads: Vec<Thread>,
    memory: Vec<u64>,
}

struct Thread {
    pc: u32,
    regs: Vec<u64>,
    /// Its next access, once it was asked for.
    next: Option<Request>,
}

impl<'c> LitmusThreads<'c> {
    /// The test at its beginning.
    pub fn new(code: &'c Code) -> LitmusThreads<'c> {
        LitmusThreads {
            code,
            threads: code.threads.iter().map(|t| Thread { pc: 0, regs: t.regs.clone(), next: None }).collect(),
            memory: code.cells.iter().map(|cell| cell.init).collect(),
        }
    }

    /// What the test says of an execution that ends here.
    pub fn outcome(&self, test: &LitmusTest) -> Outcome {
        let register = |thread: u32, reg: Reg| self.threads[thread as usize].regs[reg as usize];
        test.outcome(register, |cell| self.memory[cell as usize])
    }
}

impl Threads for LitmusThreads<'_> {
    fn threads(&self) -> usize {
        self.threads.len()
    }

    fn next(&mut self, thread: usize) -> Result<Access, Halt> {
        let state = &mut self.threads[thread];
        if let Some(request) = state.next {
            return Ok(request.access);
        }
        match self.code.settle(thread, &mut state.pc, &mut state.regs, |_, _| {}) {
            Settled::Request(request) => {
                state.next = Some(request);
                Ok(request.access)
            }
            Settled::Done => Err(Halt::Ended),
            Settled::Crash(Crash::Wild { pointer, .. }) => Err(Halt::Wild { pointer }),
            Settled::Crash(Crash::Size { cell, .. }) => Err(Halt::Size { addr: cell }),
            Settled::Endless | Settled::Long => Err(Halt::Endless),
        }
    }

    fn perform(&mut self, thread: usize, read: u64) -> Option<u64> {
        let state = &mut self.threads[thread];
        let request = state.next.take()?;
        self.code.complete(thread, &mut state.pc, &mut state.regs, read);
        request.written(read)
    }

    fn value(&mut self, addr: u32) -> u64 {
        self.memory[addr as usize]
    }

    fn set(&mut self, addr: u32, value: u64) {
        self.memory[addr as usize] = value;
    }
}
