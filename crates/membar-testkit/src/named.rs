//! Programs with a name: the classic litmus shapes, the examples of the papers, and mutual exclusion algorithms.
//!
//! The shapes take the barrier that each of their threads has between its two accesses.

use crate::builder::{Builder, R, Thread, Var};
use membar_core::Barrier;
use membar_litmus::{Alu, Code};

/// One access of a shape.
enum Do {
    Load(Var),
    Store(Var, u64),
}
use Do::{Load, Store};

impl Do {
    fn write(&self, t: &mut Thread<'_>) {
        match *self {
            Load(cell) => {
                t.load(cell);
            }
            Store(cell, value) => t.store(cell, value),
        }
    }
}

/// Threads of one or two accesses to `x` and `y`; each of two takes the next barrier.
fn shape(barriers: &[Barrier], threads: impl FnOnce(Var, Var) -> Vec<Vec<Do>>) -> Code {
    let mut program = Builder::new();
    let [x, y] = program.cells(["x", "y"]);
    let mut barriers = barriers.iter();
    for accesses in threads(x, y) {
        let barrier = if accesses.len() > 1 { barriers.next().copied() } else { None };
        program.thread(|t| {
            for (at, access) in accesses.iter().enumerate() {
                t.barrier(if at == 1 { barrier.unwrap_or_default() } else { Barrier::None });
                access.write(t);
            }
        });
    }
    program.code()
}

/// SB: each thread stores its own flag and loads the other's.
pub fn store_buffering(barriers: [Barrier; 2]) -> Code {
    shape(&barriers, |x, y| vec![vec![Store(x, 1), Load(y)], vec![Store(y, 1), Load(x)]])
}

/// MP: data, then flag; flag, then data.
pub fn message_passing(barriers: [Barrier; 2]) -> Code {
    shape(&barriers, |x, y| vec![vec![Store(x, 1), Store(y, 1)], vec![Load(y), Load(x)]])
}

/// LB: each thread loads one cell and stores the other.
pub fn load_buffering(barriers: [Barrier; 2]) -> Code {
    shape(&barriers, |x, y| vec![vec![Load(x), Store(y, 1)], vec![Load(y), Store(x, 1)]])
}

/// 2+2W: two threads store two cells in opposite orders.
pub fn two_plus_two_writes(barriers: [Barrier; 2]) -> Code {
    shape(&barriers, |x, y| vec![vec![Store(x, 1), Store(y, 2)], vec![Store(y, 1), Store(x, 2)]])
}

/// IRIW: do two readers see two independent writes in the same order? The barriers are the readers'.
pub fn iriw(barriers: [Barrier; 2]) -> Code {
    shape(&barriers, |x, y| vec![vec![Store(x, 1)], vec![Store(y, 1)], vec![Load(x), Load(y)], vec![Load(y), Load(x)]])
}

/// R: two stores against a store and a load.
pub fn r(barriers: [Barrier; 2]) -> Code {
    shape(&barriers, |x, y| vec![vec![Store(x, 1), Store(y, 1)], vec![Store(y, 2), Load(x)]])
}

/// S: two stores against a load and a store.
pub fn s(barriers: [Barrier; 2]) -> Code {
    shape(&barriers, |x, y| vec![vec![Store(x, 2), Store(y, 1)], vec![Load(y), Store(x, 1)]])
}

/// Thread i stores cell i and loads cell i + 1, in a ring: store buffering for `n` threads.
pub fn ring(n: usize, barrier: Barrier) -> Code {
    let mut program = Builder::new();
    let cells: Vec<Var> = (0..n).map(|i| program.cell(&format!("x{i}"))).collect();
    for i in 0..n {
        program.thread(|t| {
            t.store(cells[i], 1);
            t.barrier(barrier);
            t.load(cells[(i + 1) % n]);
        });
    }
    program.code()
}

/// Figure 6 of the report of 2010, which SOBER as published misses.
pub fn figure_6() -> Code {
    let mut program = Builder::new();
    let [a, b, c] = program.cells(["a", "b", "c"]);
    program.thread(|t| {
        t.store(a, 1);
        let seen = t.load(a);
        let own = t.alu(Alu::Eq, seen, 1);
        t.if_(own, |t| {
            t.load(b);
        });
    });
    program.thread(|t| {
        t.store(b, 1);
        t.store(a, 2);
        t.exchange(c, 1);
        t.load(a);
    });
    program.code()
}

/// The program of figure 8 of the report of 2010: store buffering, and a third thread that stores too.
pub fn figure_8() -> Code {
    let mut program = Builder::new();
    let [a, b] = program.cells(["a", "b"]);
    program.thread(|t| {
        t.store(a, 1);
        t.load(b);
    });
    program.thread(|t| t.store(a, 2));
    program.thread(|t| {
        t.store(b, 1);
        t.load(a);
    });
    program.code()
}

/// SOBER figure 4(b): a consumer goes idle while a producer finds work. The monitor's lock is an interlocked word, and
/// waiting on the condition variable gives the lock back and waits for a pulse. `fenced`: each thread has a full
/// barrier between the store of its flag and the load of the other's.
pub fn sober_4b(fenced: bool) -> Code {
    let mut program = Builder::new();
    let [idling, work, lock, pulse] = program.cells(["isIdling", "hasWork", "lock", "pulse"]);
    let fence = if fenced { Barrier::Full } else { Barrier::None };
    program.thread(|t| {
        t.lock(lock);
        t.store(idling, 1);
        t.barrier(fence);
        let has_work = t.load(work);
        let none = t.alu(Alu::Eq, has_work, 0);
        t.if_(none, |t| {
            t.exchange(lock, 0);
            t.wait_until(pulse, 1);
            t.lock(lock);
        });
        t.store(idling, 0);
        t.exchange(lock, 0);
    });
    program.thread(|t| {
        t.store(work, 1);
        t.barrier(fence);
        let is_idling = t.load(idling);
        t.if_(is_idling, |t| {
            t.lock(lock);
            t.store(pulse, 1);
            t.exchange(lock, 0);
        });
    });
    program.code()
}

/// Which barriers a mutual exclusion algorithm has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Barriers {
    /// None, as it was published.
    None,
    /// A full one between the stores that announce a thread and the loads that look for the other.
    Full,
    /// Also a store barrier between any two stores to different cells.
    FullAndStore,
}

/// A mutual exclusion algorithm for two threads, each of which enters its critical section some times.
#[derive(Clone, Copy, Debug)]
pub struct Mutex {
    /// How often each thread enters.
    pub rounds: u32,
    /// Its barriers.
    pub barriers: Barriers,
    /// Whether the critical section does something: it stores the thread's number in `owner` and loads that again.
    pub section: bool,
}

impl Mutex {
    /// One round without barriers, with nothing inside.
    pub const BARE: Mutex = Mutex { rounds: 1, barriers: Barriers::None, section: false };

    fn fence(&self, t: &mut Thread<'_>) {
        t.barrier(if self.barriers >= Barriers::Full { Barrier::Full } else { Barrier::None });
    }

    fn between_stores(&self, t: &mut Thread<'_>) {
        t.barrier(if self.barriers == Barriers::FullAndStore { Barrier::Store } else { Barrier::None });
    }

    fn critical_section(&self, t: &mut Thread<'_>, me: usize, owner: Option<Var>) {
        if let Some(owner) = owner {
            t.store(owner, me as u64 + 1);
            t.load(owner);
        }
        self.between_stores(t);
    }

    /// The program of two threads that go through this as often as they enter: `enter` is told the thread and the other.
    fn program(
        &self,
        mut program: Builder,
        enter: impl Fn(&mut Thread<'_>, usize, usize),
        leave: impl Fn(&mut Thread<'_>, usize, usize),
    ) -> Code {
        let owner = self.section.then(|| program.cell("owner"));
        for me in 0..2 {
            program.thread(|t| {
                t.times(self.rounds, |t| {
                    enter(t, me, 1 - me);
                    self.critical_section(t, me, owner);
                    leave(t, me, 1 - me);
                });
            });
        }
        program.code()
    }
}

/// Peterson's algorithm.
pub fn peterson(mutex: &Mutex) -> Code {
    let mut program = Builder::new();
    let flag = program.cells(["flag[0]", "flag[1]"]);
    let turn = program.cell("turn");
    let enter = |t: &mut Thread<'_>, me: usize, other: usize| {
        t.store(flag[me], 1);
        mutex.between_stores(t);
        t.store(turn, other as u64);
        mutex.fence(t);
        // while (flag[other] && turn == other) {}
        t.forever(|t| {
            let wants = t.load(flag[other]);
            t.break_unless(wants);
            let whose = t.load(turn);
            let theirs = t.alu(Alu::Eq, whose, other as u64);
            t.break_unless(theirs);
        });
    };
    let leave = |t: &mut Thread<'_>, me: usize, _: usize| {
        t.store(flag[me], 0);
    };
    mutex.program(program, enter, leave)
}

/// Dekker's algorithm.
pub fn dekker(mutex: &Mutex) -> Code {
    let mut program = Builder::new();
    let flag = program.cells(["flag[0]", "flag[1]"]);
    let turn = program.cell("turn");
    let enter = |t: &mut Thread<'_>, me: usize, other: usize| {
        t.store(flag[me], 1);
        mutex.fence(t);
        // while (flag[other]) if (turn == other) { flag[me] = 0; while (turn == other) {} flag[me] = 1; }
        t.forever(|t| {
            let wants = t.load(flag[other]);
            t.break_unless(wants);
            let whose = t.load(turn);
            let theirs = t.alu(Alu::Eq, whose, other as u64);
            t.if_(theirs, |t| {
                t.store(flag[me], 0);
                t.wait_until(turn, me as u64);
                t.store(flag[me], 1);
                mutex.fence(t);
            });
        });
    };
    let leave = |t: &mut Thread<'_>, me: usize, other: usize| {
        t.store(turn, other as u64);
        mutex.between_stores(t);
        t.store(flag[me], 0);
    };
    mutex.program(program, enter, leave)
}

/// Lamport's bakery for two threads. A thread keeps its own number in a register, too, and does not wait for itself.
pub fn bakery(mutex: &Mutex) -> Code {
    let mut program = Builder::new();
    let choosing = program.cells(["choosing[0]", "choosing[1]"]);
    let number = program.cells(["number[0]", "number[1]"]);
    let enter = |t: &mut Thread<'_>, me: usize, other: usize| {
        t.store(choosing[me], 1);
        mutex.fence(t);
        let numbers: [R; 2] = number.map(|number| t.load(number));
        // mine = 1 + max(number[0], number[1])
        let mine = t.alu(Alu::Add, numbers[0], 1);
        let less = t.alu(Alu::Below, numbers[0], numbers[1]);
        t.if_(less, |t| t.assign(mine, Alu::Add, numbers[1], 1));
        t.store(number[me], mine);
        mutex.between_stores(t);
        t.store(choosing[me], 0);
        mutex.fence(t);
        t.wait_until(choosing[other], 0);
        // while (number[other] != 0 && (number[other], other) < (mine, me)) {}
        t.forever(|t| {
            let theirs = t.load(number[other]);
            t.break_unless(theirs);
            let first = t.alu(if other < me { Alu::Le } else { Alu::Lt }, theirs, mine);
            t.break_unless(first);
        });
    };
    let leave = |t: &mut Thread<'_>, me: usize, _: usize| {
        t.store(number[me], 0);
    };
    mutex.program(program, enter, leave)
}

/// A test-and-set lock: each thread enters `rounds` times, stores and loads `owner`, and gives the lock back by a plain
/// store, with a store barrier before it if `barrier` is set.
pub fn spin_lock(threads: usize, rounds: u32, barrier: bool) -> Code {
    let mut program = Builder::new();
    let [lock, owner] = program.cells(["lock", "owner"]);
    for me in 0..threads {
        program.thread(|t| {
            t.times(rounds, |t| {
                t.lock(lock);
                t.store(owner, me as u64 + 1);
                t.load(owner);
                t.barrier(if barrier { Barrier::Store } else { Barrier::None });
                t.store(lock, 0);
            });
        });
    }
    program.code()
}
