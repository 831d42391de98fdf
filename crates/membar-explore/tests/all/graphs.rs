//! Execution graphs of programs whose accesses block, compared with the classes of dpor.

use membar_core::{Access, AccessKind, Barrier, C11, GraphModel, Order, Performed, Rng};
use membar_explore::{Awaited, Blind, Counts, Fault, Local, Next, Program, Search, SearchState, Strategy, Waiting};
use std::sync::atomic::AtomicBool;

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Adds this to a counter, interlocked.
    Add(u32, u64),
    Load(u32),
    Store(u32, u64),
    /// Waits until nobody has it, and takes it.
    Lock(u32),
    Unlock(u32),
    /// Takes one, when there is one.
    Take(u32),
    /// Waits until the address holds this.
    Await(u32, u64),
    /// Takes it if nobody has it.
    Try(u32),
}

/// Straight-line threads over one memory.
#[derive(Clone)]
struct Straight {
    threads: Vec<Vec<Op>>,
    pc: Vec<usize>,
    memory: Vec<u64>,
    back: Vec<(usize, u32, u64)>,
    /// Of each thread the condition of its next access.
    awaited: Vec<Awaited>,
}

const NOTHING: Awaited = Awaited { addr: u32::MAX, value: 0, until: false };

impl Straight {
    fn new(threads: Vec<Vec<Op>>, cells: usize) -> Straight {
        let n = threads.len();
        let mut program =
            Straight { threads, pc: vec![0; n], memory: vec![0; cells], back: Vec::new(), awaited: vec![NOTHING; n] };
        (0..n).for_each(|thread| program.look(thread));
        program
    }

    fn look(&mut self, thread: usize) {
        self.awaited[thread] = match self.threads[thread].get(self.pc[thread]) {
            Some(&Op::Lock(addr)) => Awaited { addr, value: 1, until: false },
            Some(&Op::Take(addr)) => Awaited { addr, value: 0, until: false },
            Some(&Op::Await(addr, value)) => Awaited { addr, value, until: true },
            _ => NOTHING,
        };
    }
}

impl Program for Straight {
    fn threads(&self) -> usize {
        self.threads.len()
    }

    fn next(&self, thread: usize) -> Next {
        let Some(&op) = self.threads[thread].get(self.pc[thread]) else { return Next::Done };
        let (kind, addr, expected) = match op {
            Op::Add(addr, _) | Op::Lock(addr) | Op::Unlock(addr) | Op::Take(addr) => (AccessKind::Rmw, addr, None),
            Op::Try(addr) => (AccessKind::Rmw, addr, Some(0)),
            Op::Load(addr) | Op::Await(addr, _) => (AccessKind::Load, addr, None),
            Op::Store(addr, _) => (AccessKind::Store, addr, None),
        };
        let c11 = match op {
            Op::Lock(_) | Op::Unlock(_) | Op::Take(_) | Op::Await(..) | Op::Try(_) => C11::new(Order::AcqRel).fresh(),
            _ => C11::new(Order::SeqCst),
        };
        let site = (16 * thread + self.pc[thread]) as u32;
        Next::Access(Access { kind, barrier: Barrier::Full, c11, part: 0, addr, site, expected })
    }

    fn waiting(&self, thread: usize) -> Waiting<'_> {
        if self.awaited[thread] == NOTHING {
            return Waiting::default();
        }
        Waiting { round: std::slice::from_ref(&self.awaited[thread]), blocking: true, ..Waiting::default() }
    }

    fn value(&self, addr: u32) -> u64 {
        self.memory[addr as usize]
    }

    fn step(&mut self, thread: usize) -> Performed {
        let Next::Access(access) = self.next(thread) else { panic!("it has ended") };
        let old = self.memory[access.addr as usize];
        let (writes, new) = match self.threads[thread][self.pc[thread]] {
            Op::Add(_, more) => (true, old + more),
            Op::Load(_) | Op::Await(..) => (false, old),
            Op::Store(_, value) => (true, value),
            Op::Lock(_) => (true, 1),
            Op::Unlock(_) => (true, 0),
            Op::Take(_) => (true, old - 1),
            Op::Try(_) => (old == 0, if old == 0 { 1 } else { old }),
        };
        self.back.push((thread, access.addr, old));
        self.memory[access.addr as usize] = new;
        self.pc[thread] += 1;
        self.look(thread);
        Performed { thread: thread as u32, access, writes, old, new }
    }

    fn undo(&mut self) {
        let (thread, addr, old) = self.back.pop().expect("a step");
        self.memory[addr as usize] = old;
        self.pc[thread] -= 1;
        self.look(thread);
    }

    fn step_finding(&mut self, thread: usize, found: u64, _: bool) -> Performed {
        let Next::Access(access) = self.next(thread) else { panic!("it has ended") };
        let before = std::mem::replace(&mut self.memory[access.addr as usize], found);
        let performed = self.step(thread);
        self.back.last_mut().expect("just made").2 = before;
        performed
    }

    fn leave(&mut self, addr: u32, value: u64) {
        self.memory[addr as usize] = value;
    }

    fn state(&self, state: &mut Vec<u64>) {
        state.extend_from_slice(&self.memory);
        state.extend(self.pc.iter().map(|&pc| pc as u64));
    }

    fn fault(&self, _: usize) -> Fault {
        unreachable!("its threads only end")
    }
}

fn count(program: &Straight, strategy: Strategy) -> Counts {
    let worker = Local::new(program.clone(), Blind, 100);
    let mut search = Search::new(SearchState::new(strategy), vec![worker], u64::MAX);
    while !search.state().is_done() {
        search.advance(&AtomicBool::new(false), |()| {});
    }
    search.state().counts()
}

fn sc_graphs(program: &Straight) -> Counts {
    count(program, Strategy::Graphs { model: GraphModel::Sc, races: false })
}

fn random(rng: &mut Rng) -> Vec<Vec<Op>> {
    let threads = 2 + rng.below(2) as usize;
    let mut all = Vec::new();
    for _ in 0..threads {
        let mut ops = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let (lock, semaphore, cell) = (rng.below(2), 2, 3);
            match rng.below(9) {
                0 | 1 => ops.extend([Op::Lock(lock), Op::Load(cell), Op::Unlock(lock)]),
                2 => ops.extend([Op::Lock(lock), Op::Lock(1 - lock), Op::Unlock(1 - lock), Op::Unlock(lock)]),
                3 => ops.push(Op::Add(semaphore, 1)),
                4 => ops.push(Op::Take(semaphore)),
                5 => ops.push(Op::Store(cell, 1 + u64::from(rng.below(2)))),
                6 => ops.push(Op::Await(cell, 1 + u64::from(rng.below(2)))),
                7 => ops.push(Op::Load(cell)),
                _ => ops.push(Op::Try(lock)),
            }
        }
        all.push(ops);
    }
    all
}

/// Accesses that block are decided on once, whatever order they become possible in.
#[test]
fn oracle_blocking_accesses() {
    let programs = std::env::var("MEMBAR_ORACLE_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    for seed in 0..programs {
        let threads = random(&mut Rng::new(seed));
        let program = Straight::new(threads, 4);
        let (classes, graphs) = (count(&program, Strategy::Dpor), sc_graphs(&program));
        let awaits = program.threads.iter().flatten().any(|op| matches!(op, Op::Await(..)));
        let about = format!("seed {seed}: {:?}\n{graphs:?}", program.threads);
        if awaits {
            // Some may come up twice where stores, not updates, make a thread wait.
            assert!(graphs.executions >= classes.executions, "{about}");
        } else {
            assert_eq!(graphs.executions, classes.executions, "{about}");
        }
        assert_eq!(graphs.not_sc, 0);
    }
}
