//! A small language of accesses that may block, a program in it, and brute force over everything that it can do.
#![allow(dead_code)]

use membar_core::{Access, AccessKind, Barrier, C11, Performed};
use membar_explore::{Awaited, End, Fault, Next, Observer, Program, Step, Waiting};
use std::collections::BTreeMap;

/// The value of a reader-writer lock while a writer holds it.
pub const WRITER: u64 = 100;

/// A step of a thread, at a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Load(u32),
    Store(u32, u64),
    /// 0 becomes 1; waits while it is 1.
    Lock(u32),
    /// 0 becomes 1, or nothing happens.
    TryLock(u32),
    Unlock(u32),
    /// One less; waits while it is 0.
    Down(u32),
    /// Adds this much.
    Add(u32, u64),
    /// One reader more; waits while there is a writer.
    LockToRead(u32),
    /// Waits until it is 0.
    LockToWrite(u32),
    /// Loads it when it is this.
    Await(u32, u64),
    /// Begins when it is not 0 any more. It is not a deadlock if that never comes.
    Born(u32),
    /// Chooses a number below this, at a cell that nobody writes.
    Choose(u32, u64),
    /// Loads what counts as chosen.
    Take(u32),
    /// Adds what was chosen last.
    AddChosen(u32),
}

use Op::*;

impl Op {
    pub fn cell(self) -> u32 {
        match self {
            Load(c) | Take(c) | Store(c, _) | Lock(c) | TryLock(c) | Unlock(c) | Down(c) => c,
            Add(c, _) | Await(c, _) | LockToRead(c) | LockToWrite(c) | Born(c) | Choose(c, _) | AddChosen(c) => c,
        }
    }

    /// The value it writes if it finds this value; nothing if it cannot be made: the meaning of the language, for brute force.
    fn act(self, old: u64, chosen: u64) -> Option<Option<u64>> {
        match self {
            Load(_) | Take(_) | Choose(..) => Some(None),
            AddChosen(_) => Some(Some(old.wrapping_add(chosen))),
            Store(_, value) => Some(Some(value)),
            Lock(_) => (old != 1).then_some(Some(1)),
            TryLock(_) => Some((old == 0).then_some(1)),
            Unlock(_) => Some(Some(0)),
            Down(_) => (old != 0).then_some(Some(old.wrapping_sub(1))),
            Add(_, more) => Some(Some(old.wrapping_add(more))),
            LockToRead(_) => (old != WRITER).then_some(Some(old.wrapping_add(1))),
            LockToWrite(_) => (old == 0).then_some(Some(WRITER)),
            Await(_, value) => (old == value).then_some(None),
            Born(_) => (old != 0).then_some(None),
        }
    }

    /// The same as the explorer is told.
    fn awaited(self) -> Option<Awaited> {
        let (value, until) = match self {
            Lock(_) => (1, false),
            Down(_) | Born(_) => (0, false),
            LockToRead(_) => (WRITER, false),
            LockToWrite(_) => (0, true),
            Await(_, value) => (value, true),
            _ => return None,
        };
        Some(Awaited { addr: self.cell(), value, until })
    }

    fn kind(self) -> AccessKind {
        match self {
            Load(_) | Take(_) | Await(..) | Born(_) | Choose(..) => AccessKind::Load,
            Store(..) | Unlock(_) => AccessKind::Store,
            _ => AccessKind::Rmw,
        }
    }
}

/// A thread in a set of a few, whatever their numbers are: those that tests use are told apart.
pub fn bit(thread: usize) -> u64 {
    1 << (thread % 61)
}

/// Threads of such steps.
#[derive(Clone, Debug)]
pub struct Blocking {
    threads: Vec<Vec<Op>>,
    awaited: Vec<Vec<Option<Awaited>>>,
    memory: Vec<u64>,
    pc: Vec<usize>,
    chosen: Vec<u64>,
    back: Vec<(usize, u64, u64)>,
    /// Threads that still wait when thread 0 has ended may wait forever.
    main: bool,
    /// For each thread the one before it that runs the same code, if they are to be explored up to renaming.
    twins: Vec<Option<usize>>,
}

impl Blocking {
    pub fn new(threads: &[&[Op]], memory: &[u64], main: bool) -> Blocking {
        let awaited = |ops: &&[Op]| ops.iter().map(|op| op.awaited()).collect();
        Blocking {
            threads: threads.iter().map(|ops| ops.to_vec()).collect(),
            awaited: threads.iter().map(awaited).collect(),
            memory: memory.to_vec(),
            pc: vec![0; threads.len()],
            chosen: vec![0; threads.len()],
            back: Vec::new(),
            main,
            twins: vec![None; threads.len()],
        }
    }

    /// Threads with the same code are explored up to renaming.
    pub fn with_twins(mut self) -> Blocking {
        let same = |thread: usize| (0..thread).rev().find(|&other| self.threads[other] == self.threads[thread]);
        self.twins = (0..self.threads.len()).map(same).collect();
        self
    }

    fn op(&self, thread: usize) -> Option<Op> {
        self.threads[thread].get(self.pc[thread]).copied()
    }
}

impl Program for Blocking {
    fn threads(&self) -> usize {
        self.threads.len()
    }

    fn next(&self, thread: usize) -> Next {
        let Some(op) = self.op(thread) else { return Next::Done };
        let expected = match op {
            TryLock(_) => Some(0),
            Choose(_, outcomes) => Some(outcomes),
            _ => None,
        };
        let site = self.pc[thread] as u32;
        Next::Access(Access {
            kind: op.kind(),
            barrier: Barrier::None,
            c11: C11::default(),
            part: 0,
            addr: op.cell(),
            site,
            expected,
        })
    }

    fn waiting(&self, thread: usize) -> Waiting<'_> {
        let round = self.awaited[thread].get(self.pc[thread]).map_or(&[][..], |awaited| awaited.as_slice());
        Waiting { round, blocking: true, ..Waiting::default() }
    }

    fn is_symmetric(&self) -> bool {
        self.twins.iter().any(Option::is_some)
    }

    fn twin(&self, thread: usize) -> Option<usize> {
        self.twins[thread]
    }

    fn tell_apart(&mut self, thread: usize) {
        panic!("thread {thread} has a twin that does something else");
    }

    fn may_wait(&self, thread: usize) -> bool {
        matches!(self.op(thread), Some(Born(_))) || self.main && self.op(0).is_none()
    }

    fn value(&self, addr: u32) -> u64 {
        self.memory[addr as usize]
    }

    fn step(&mut self, thread: usize) -> Performed {
        let (Next::Access(access), Some(op)) = (self.next(thread), self.op(thread)) else { panic!("it has ended") };
        let old = self.memory[access.addr as usize];
        let written = op.act(old, self.chosen[thread]).expect("what is disabled is not run");
        self.back.push((thread, old, self.chosen[thread]));
        if let Take(_) = op {
            self.chosen[thread] = old;
        }
        self.pc[thread] += 1;
        self.memory[access.addr as usize] = written.unwrap_or(old);
        Performed { thread: thread as u32, access, writes: written.is_some(), old, new: written.unwrap_or(old) }
    }

    fn choose(&mut self, thread: usize, outcome: u32) -> Performed {
        let Next::Access(access) = self.next(thread) else { panic!("it has ended") };
        let (old, outcome) = (self.memory[access.addr as usize], u64::from(outcome));
        assert!(access.outcomes().is_some_and(|outcomes| outcome < outcomes));
        self.back.push((thread, old, self.chosen[thread]));
        self.chosen[thread] = outcome;
        self.pc[thread] += 1;
        Performed { thread: thread as u32, access, writes: false, old: outcome, new: outcome }
    }

    fn undo(&mut self) {
        let (thread, old, chosen) = self.back.pop().expect("a step");
        self.chosen[thread] = chosen;
        self.pc[thread] -= 1;
        let cell = self.op(thread).expect("it was made").cell();
        self.memory[cell as usize] = old;
    }

    fn step_finding(&mut self, thread: usize, found: u64, _: bool) -> Performed {
        let cell = self.op(thread).expect("it has not ended").cell() as usize;
        let before = std::mem::replace(&mut self.memory[cell], found);
        let performed = self.step(thread);
        self.back.last_mut().expect("just made").1 = before;
        performed
    }

    fn leave(&mut self, addr: u32, value: u64) {
        self.memory[addr as usize] = value;
    }

    fn state(&self, state: &mut Vec<u64>) {
        state.extend_from_slice(&self.memory);
        state.extend(self.pc.iter().map(|&pc| pc as u64));
        state.extend_from_slice(&self.chosen);
    }

    fn fault(&self, _: usize) -> Fault {
        unreachable!("no thread of these programs goes wrong")
    }
}

/// An event: thread, address, whether it writes, what it found.
type Event = (u32, u32, bool, u64);

/// A class, by what does not depend on the order of independent events: for each event, named by thread and place, which
/// event wrote last to its address, and what it found there.
pub type Class = Vec<[u64; 4]>;

fn class(path: &[Event]) -> Class {
    let name = |i: usize| u64::from(path[i].0) << 32 | path[..i].iter().filter(|e| e.0 == path[i].0).count() as u64;
    let before = |i: usize| (0..i).rev().find(|&j| path[j].1 == path[i].1 && path[j].2).map_or(u64::MAX, name);
    let mut events: Class = (0..path.len()).map(|i| [name(i), before(i), u64::from(path[i].2), path[i].3]).collect();
    events.sort_unstable();
    events
}

/// How many executions each class has, and the threads that wait at its end and should not.
pub type Classes = BTreeMap<(Class, u64), u64>;

/// All executions, from the meaning of the language alone. If they are `eager`, those in which choices are made as soon as they
/// can be.
pub fn by_brute_force(program: &Blocking, eager: bool) -> Classes {
    fn run(program: &mut Blocking, path: &mut Vec<Event>, classes: &mut Classes, eager: bool) {
        let (mut able, mut stuck) = (false, 0);
        let chooses = |&thread: &usize| matches!(program.op(thread), Some(Choose(..)));
        let first = if eager { (0..program.pc.len()).find(chooses) } else { None };
        for thread in first.map_or(0..program.pc.len(), |first| first..first + 1) {
            let Some(op) = program.op(thread) else { continue };
            if let Choose(cell, outcomes) = op {
                able = true;
                let before = program.chosen[thread];
                program.pc[thread] += 1;
                for outcome in 0..outcomes {
                    program.chosen[thread] = outcome;
                    path.push((thread as u32, cell, false, outcome));
                    run(program, path, classes, eager);
                    path.pop();
                }
                program.pc[thread] -= 1;
                program.chosen[thread] = before;
                continue;
            }
            let cell = op.cell() as usize;
            let old = program.memory[cell];
            let Some(written) = op.act(old, program.chosen[thread]) else {
                stuck |= if program.may_wait(thread) { 0 } else { bit(thread) };
                continue;
            };
            able = true;
            path.push((thread as u32, op.cell(), written.is_some(), old));
            program.memory[cell] = written.unwrap_or(old);
            program.pc[thread] += 1;
            let before = program.chosen[thread];
            if let Take(_) = op {
                program.chosen[thread] = old;
            }
            run(program, path, classes, eager);
            program.chosen[thread] = before;
            program.pc[thread] -= 1;
            program.memory[cell] = old;
            path.pop();
        }
        if !able {
            *classes.entry((class(path), stuck)).or_default() += 1;
        }
    }
    let mut classes = Classes::new();
    run(&mut program.clone(), &mut Vec::new(), &mut classes, eager);
    classes
}

/// Notes the class of every execution.
#[derive(Clone, Default)]
pub struct Notes {
    path: Vec<Event>,
    classes: Vec<(Class, u64)>,
    /// Threads that were seen to wait since the last end.
    tried: u64,
}

impl Observer for Notes {
    type Part = Vec<(Class, u64)>;

    fn push(&mut self, performed: &Performed, _: &[Step]) {
        self.path.push((performed.thread, performed.access.addr, performed.writes, performed.old));
    }

    fn pop(&mut self, _: &[Step]) {
        self.path.pop();
    }

    fn tried(&mut self, thread: usize, _: Access, _: &[Step]) {
        self.tried |= bit(thread);
    }

    fn end(&mut self, end: End, path: &[Step]) {
        assert_eq!(self.path.len(), path.len());
        let tried = std::mem::take(&mut self.tried);
        let stuck = match end {
            End::Complete | End::Dropped => 0,
            End::Deadlock { waiting } => waiting.threads().fold(0, |stuck, thread| stuck | bit(thread)),
            End::Cut { .. } => panic!("no execution is long"),
        };
        assert_eq!(stuck & !tried, 0, "whoever waits is told about");
        self.classes.push((class(&self.path), stuck));
    }

    fn fault(&mut self, _: usize, _: Fault, _: &[Step]) {}

    fn take(&mut self, _: &[Step]) -> Vec<(Class, u64)> {
        self.tried = 0;
        std::mem::take(&mut self.classes)
    }
}
