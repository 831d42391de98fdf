//! The actions of a test's thread at one instance.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use super::machine::Machine;
use crate::Error;
use crate::codegen::Engine;
use membar_core::{AccessKind, Barrier};
use membar_litmus::{Change, Code, Crash, Instr, LitmusTest, Place, Reg, Request, Settled, Spot};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence, fence};

/// One thread of a test.
pub(super) struct Body {
    how: How,
    /// The registers whose final values are examined, in the order in which they are left.
    pub registers: Vec<Reg>,
    /// For each cell, whether the thread may read or write it, as far as its instructions say so.
    reads: Vec<bool>,
    writes: Vec<bool>,
}

enum How {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Machine(Machine),
    Portable {
        code: Arc<Code>,
        thread: usize,
        spacing: usize,
    },
}

/// Why a thread did not get to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trouble {
    Stopped,
    Crash(Crash),
}

impl Trouble {
    /// As an error; being stopped is not an error.
    pub fn error(self, test: &LitmusTest) -> Option<Error> {
        let Trouble::Crash(crash) = self else { return None };
        let (site, what) = match crash {
            Crash::Wild { site, pointer } => {
                (site, format!("goes through {}, which points to no location", pointer as i64))
            }
            Crash::Size { site, cell } => {
                let cell = &test.code.cells[cell as usize];
                (site, format!("accesses `{}`, which has {} bits, as if it had another size", cell.name, cell.ty.bits))
            }
        };
        let site = test.code.sites.get(site as usize)?;
        Some(Error::Crash { line: site.line, column: site.column, text: site.text.clone(), what })
    }
}

impl Body {
    /// Cells are `spacing` bytes apart.
    pub fn new(test: &LitmusTest, thread: usize, engine: Engine, spacing: usize) -> Result<Body, Error> {
        let code = &test.code;
        let mut registers: Vec<Reg> = test
            .locations
            .iter()
            .filter_map(|location| match location.spot {
                Spot::Reg { thread: owner, reg } if owner as usize == thread => Some(reg),
                _ => None,
            })
            .collect();
        registers.sort_unstable();
        registers.dedup();
        let (mut reads, mut writes) = (vec![false; code.cells.len()], vec![false; code.cells.len()]);
        let mut note = |place: Place, read: bool, write: bool| {
            if let Place::Cell(cell) = place {
                reads[cell as usize] |= read;
                writes[cell as usize] |= write;
            }
        };
        for instr in &code.threads[thread].instrs {
            match *instr {
                Instr::Load { from, .. } => note(from, true, false),
                Instr::Store { to, .. } => note(to, false, true),
                Instr::Rmw { at, .. } => note(at, true, true),
                _ => {}
            }
        }
        let how = match engine {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Engine::Generated => How::Machine(Machine::new(code, thread, &registers, spacing)?),
            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            Engine::Generated => return Err(Error::NoGenerator),
            Engine::Portable => How::Portable { code: Arc::new(code.clone()), thread, spacing },
        };
        Ok(Body { how, registers, reads, writes })
    }

    pub fn writes(&self, cell: usize) -> bool {
        self.writes[cell]
    }

    pub fn reads_only(&self, cell: usize) -> bool {
        self.reads[cell] && !self.writes[cell]
    }

    /// Runs the thread on an instance's cells, and leaves its registers.
    ///
    /// # Panics
    /// If there are fewer cells than the test has, or less room than for its registers.
    #[inline]
    pub fn run(
        &self,
        cells: &[AtomicU64],
        registers: &[AtomicU64],
        stop: &AtomicBool,
        scratch: &mut Vec<u64>,
    ) -> Result<(), Trouble> {
        assert!(registers.len() >= self.registers.len());
        match &self.how {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            How::Machine(machine) => machine.run(cells, registers, stop),
            How::Portable { code, thread, spacing } => {
                scratch.clear();
                scratch.extend_from_slice(&code.threads[*thread].regs);
                interpret(code, *thread, spacing / 8, cells, scratch, stop)?;
                for (&reg, place) in self.registers.iter().zip(registers) {
                    place.store(scratch[reg as usize], Ordering::Relaxed);
                }
                Ok(())
            }
        }
    }
}

/// Accesses of one thread before it lets another have its core.
const PATIENCE: u32 = 200;

/// Interprets a thread. Cells are whole words here, whatever their type: the values in them have the form that it gives.
fn interpret(
    code: &Code,
    thread: usize,
    spacing: usize,
    cells: &[AtomicU64],
    regs: &mut [u64],
    stop: &AtomicBool,
) -> Result<(), Trouble> {
    let (mut pc, mut accesses) = (0, 0_u32);
    loop {
        match code.settle_fast(thread, &mut pc, regs) {
            Settled::Done => return Ok(()),
            Settled::Crash(crash) => return Err(Trouble::Crash(crash)),
            Settled::Request(request) => {
                let read = access(&cells[request.access.addr as usize * spacing], &request);
                code.complete(thread, &mut pc, regs, read);
                compiler_fence(Ordering::SeqCst);
                accesses += 1;
                if accesses.is_multiple_of(PATIENCE) {
                    if stop.load(Ordering::Relaxed) {
                        return Err(Trouble::Stopped);
                    }
                    // It waits for another thread, which may need this core.
                    std::thread::yield_now();
                }
            }
            // It will never end, or not soon: the watchdog notices.
            Settled::Endless | Settled::Long => {
                if stop.load(Ordering::Relaxed) {
                    return Err(Trouble::Stopped);
                }
                std::thread::yield_now();
            }
        }
    }
}

fn access(cell: &AtomicU64, request: &Request) -> u64 {
    use Ordering::{Acquire, Release, SeqCst};
    match request.access.barrier {
        Barrier::None => {}
        Barrier::Store => fence(Release),
        Barrier::Full => fence(SeqCst),
    }
    match (request.access.kind, request.update) {
        (AccessKind::Load, _) => cell.load(Acquire),
        (AccessKind::Store, _) => {
            cell.store(request.value, Release);
            0
        }
        (AccessKind::Rmw, update) => {
            interlock();
            let read = match update {
                // Not `fetch_update`, which only loads where there is nothing to write: one that fails is interlocked too.
                Some(Change::CompareExchange(expected)) => {
                    cell.compare_exchange(expected, request.value, SeqCst, SeqCst)
                }
                _ => cell.fetch_update(SeqCst, SeqCst, |old| request.written(old)),
            };
            interlock();
            read.unwrap_or_else(|read| read)
        }
    }
}

/// Atomic instructions of x86 are full barriers anyway; a sequentially consistent one of another processor need not be.
fn interlock() {
    if cfg!(not(target_arch = "x86_64")) {
        fence(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
