//! Programs given as Rust code.
//!
//! A thread's next action depends only on what its own accesses returned. So a program is a function: from a thread
//! and what it got so far to what it does [`Then`]. [`FromFn`] makes it a [`Program`], to be explored, and
//! [`Threads`], to be run on the certifier's machine with store buffers.
//!
//! ```
//! use membar::core::Relaxation;
//! use membar::program::{FromFn, Op, Then};
//! use membar::verify::{Settings, Verdict, verify};
//!
//! // Store buffering: each thread stores, then loads what the other one stores.
//! let program = FromFn::new(2, 2, |thread, got: &[u64]| match got.len() {
//!     0 => Then::Do(Op::store(thread as u32, 1)),
//!     1 => Then::Do(Op::load(1 - thread as u32)),
//!     _ => Then::End,
//! });
//! assert_eq!(verify(&program, Settings::new(Relaxation::Tso)).verdict(), Verdict::Unsafe);
//! ```

use crate::core::{Access, AccessKind, Barrier, C11, Fence, Halt, Order, Performed, Threads};
use crate::explore::{Awaited, Fault, MAX_OUTCOMES, Next, Program, Waiting};

/// A thread's next action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Then {
    /// An access.
    Do(Op),
    /// It chooses: it gets any number below this one, each of which is explored. There are at most
    /// [`MAX_OUTCOMES`].
    Choose(u32),
    /// It has ended.
    End,
    /// Something is wrong, such as an assertion that fails: a program error.
    Fail(String),
}

/// An access, perhaps with a fence before it. Addresses are numbers from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    kind: AccessKind,
    barrier: Barrier,
    c11: C11,
    addr: u32,
    expected: Option<u64>,
    writes: Writes,
    until: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Writes {
    Nothing,
    Value(u64),
    Plus(u64),
}

impl Op {
    fn new(kind: AccessKind, addr: u32, writes: Writes) -> Op {
        Op { kind, barrier: Barrier::None, c11: C11::new(Order::Relaxed), addr, expected: None, writes, until: None }
    }

    /// Reads an address; the thread gets its value.
    pub fn load(addr: u32) -> Op {
        Op::new(AccessKind::Load, addr, Writes::Nothing)
    }

    /// A loop that reads the address until it holds the value. The tries that fail are accesses too; the thread gets the
    /// value once, at the end.
    pub fn wait(addr: u32, until: u64) -> Op {
        Op { until: Some(until), ..Op::load(addr) }
    }

    /// Writes an address, through the store buffer. The thread gets what it wrote.
    pub fn store(addr: u32, value: u64) -> Op {
        Op::new(AccessKind::Store, addr, Writes::Value(value))
    }

    /// Reads and writes an address in one step, past the store buffer. The thread gets the value before.
    pub fn swap(addr: u32, value: u64) -> Op {
        Op::new(AccessKind::Rmw, addr, Writes::Value(value))
    }

    /// Adds to an address in one step. The thread gets the value before.
    pub fn add(addr: u32, value: u64) -> Op {
        Op::new(AccessKind::Rmw, addr, Writes::Plus(value))
    }

    /// Writes an address if it holds `expected`, in one step. The thread gets the value before.
    pub fn compare_and_swap(addr: u32, expected: u64, value: u64) -> Op {
        Op { expected: Some(expected), ..Op::swap(addr, value) }
    }

    /// The same with a full fence before it, a seq_cst fence of C11.
    pub fn after_fence(self) -> Op {
        Op { barrier: Barrier::Full, c11: self.c11.after(Fence::SeqCst), ..self }
    }

    /// The same with a fence before it that keeps earlier stores before later ones, a release fence of C11.
    pub fn after_store_fence(self) -> Op {
        Op { barrier: Barrier::Store, c11: self.c11.after(Fence::Release), ..self }
    }

    /// The same with another memory order than relaxed. Store buffers are told nothing: what the order compiles to, such as the
    /// fence after a seq_cst store, is up to the program.
    pub fn ordered(self, order: Order) -> Op {
        Op { c11: C11::new(order).after(self.c11.fence()), ..self }
    }

    fn written(self, read: u64) -> Option<u64> {
        match self.writes {
            _ if self.expected.is_some_and(|expected| expected != read) => None,
            Writes::Nothing => None,
            Writes::Value(value) => Some(value),
            Writes::Plus(value) => Some(read.wrapping_add(value)),
        }
    }
}

/// A program of threads that a function describes: see the [module](self). Memory holds 0 unless [`FromFn::initial`] says otherwise.
///
/// Each access is its own instruction: the first, the second, and so on of its thread. A loop is unrolled; one that waits
/// is better written as [`Op::wait`].
#[derive(Clone, Debug)]
pub struct FromFn<F> {
    next: F,
    memory: Vec<u64>,
    got: Vec<Vec<u64>>,
    /// Of a thread that goes round in [`Op::wait`]: the value that it read last.
    idle: Vec<Option<Awaited>>,
    back: Vec<Back>,
}

/// The state that a step has changed.
#[derive(Clone, Copy, Debug)]
struct Back {
    thread: usize,
    addr: u32,
    value: u64,
    idle: Option<Awaited>,
}

impl<F: Fn(usize, &[u64]) -> Then> FromFn<F> {
    /// This many threads and addresses; the function gets the thread and what its accesses have returned so far.
    pub fn new(threads: usize, addresses: usize, next: F) -> FromFn<F> {
        let (memory, got) = (vec![0; addresses], vec![Vec::new(); threads]);
        FromFn { next, memory, got, idle: vec![None; threads], back: Vec::new() }
    }

    /// The same with another value at an address in the beginning.
    ///
    /// # Panics
    ///
    /// If there is no such address.
    pub fn initial(mut self, addr: u32, value: u64) -> FromFn<F> {
        self.memory[addr as usize] = value;
        self
    }

    /// The next action of a thread; an address that is not there is a program error.
    fn then(&self, thread: usize) -> Then {
        match (self.next)(thread, &self.got[thread]) {
            Then::Do(op) if op.addr as usize >= self.memory.len() => {
                let (addr, all) = (op.addr, self.memory.len());
                Then::Fail(format!("thread {thread} accesses address {addr}, and there are {all} addresses"))
            }
            Then::Choose(outcomes @ (0 | MAX_OUTCOMES..)) if outcomes != MAX_OUTCOMES => {
                Then::Fail(format!("thread {thread} chooses one of {outcomes}: there can be 1 to {MAX_OUTCOMES}"))
            }
            then => then,
        }
    }

    /// A choice as an access: it reads its own address, behind those of the program.
    fn choice(&self, thread: usize, outcomes: u32) -> Access {
        let addr = self.memory.len() as u32;
        Access { expected: Some(outcomes.into()), ..self.access(thread, Op::load(addr)) }
    }

    fn access(&self, thread: usize, op: Op) -> Access {
        let site = (self.got[thread].len() * self.got.len() + thread) as u32;
        Access { kind: op.kind, barrier: op.barrier, c11: op.c11, part: 0, addr: op.addr, site, expected: op.expected }
    }

    /// The thread makes its access and reads this value; what it writes.
    fn make(&mut self, thread: usize, op: Op, read: u64) -> Option<u64> {
        if op.until.is_some_and(|until| until != read) {
            self.idle[thread] = Some(Awaited { addr: op.addr, value: read, until: false });
            return None;
        }
        self.idle[thread] = None;
        let written = op.written(read);
        self.got[thread].push(if op.kind == AccessKind::Store { written.unwrap_or(0) } else { read });
        written
    }
}

impl<F: Fn(usize, &[u64]) -> Then> Program for FromFn<F> {
    fn threads(&self) -> usize {
        self.got.len()
    }

    fn next(&self, thread: usize) -> Next {
        match self.then(thread) {
            Then::Do(op) => Next::Access(self.access(thread, op)),
            Then::Choose(outcomes) => Next::Access(self.choice(thread, outcomes)),
            Then::End => Next::Done,
            Then::Fail(_) => Next::Fault,
        }
    }

    fn waiting(&self, thread: usize) -> Waiting<'_> {
        Waiting { round: self.idle[thread].as_slice(), repeated: 0, ..Waiting::default() }
    }

    fn value(&self, addr: u32) -> u64 {
        self.memory.get(addr as usize).copied().unwrap_or(0)
    }

    fn choose(&mut self, thread: usize, outcome: u32) -> Performed {
        let Then::Choose(outcomes) = self.then(thread) else { panic!("thread {thread} makes no choice") };
        let (access, value) = (self.choice(thread, outcomes), outcome.into());
        self.back.push(Back { thread, addr: access.addr, value, idle: self.idle[thread] });
        self.got[thread].push(value);
        Performed { thread: thread as u32, access, writes: false, old: value, new: value }
    }

    fn step(&mut self, thread: usize) -> Performed {
        let Then::Do(op) = self.then(thread) else { panic!("thread {thread} makes no access") };
        let access = self.access(thread, op);
        let old = self.memory[op.addr as usize];
        self.back.push(Back { thread, addr: op.addr, value: old, idle: self.idle[thread] });
        let written = self.make(thread, op, old);
        let new = written.unwrap_or(old);
        self.memory[op.addr as usize] = new;
        Performed { thread: thread as u32, access, writes: written.is_some(), old, new }
    }

    fn undo(&mut self) {
        let Back { thread, addr, value, idle } = self.back.pop().expect("there is a step to take back");
        if let Some(cell) = self.memory.get_mut(addr as usize) {
            *cell = value;
        }
        // A try that failed has returned nothing.
        if self.idle[thread].is_none() {
            self.got[thread].pop();
        }
        self.idle[thread] = idle;
    }

    fn state(&self, state: &mut Vec<u64>) {
        state.extend(&self.memory);
        for got in &self.got {
            state.push(got.len() as u64);
            state.extend(got);
        }
    }

    fn fault(&self, thread: usize) -> Fault {
        Fault::error(match self.then(thread) {
            Then::Fail(why) => why,
            _ => String::new(),
        })
    }
}

impl<F: Fn(usize, &[u64]) -> Then> Threads for FromFn<F> {
    fn threads(&self) -> usize {
        self.got.len()
    }

    fn next(&mut self, thread: usize) -> Result<Access, Halt> {
        match self.then(thread) {
            Then::Do(op) => Ok(self.access(thread, op)),
            Then::Choose(outcomes) => Ok(self.choice(thread, outcomes)),
            Then::End => Err(Halt::Ended),
            Then::Fail(_) => Err(Halt::Fault),
        }
    }

    fn perform(&mut self, thread: usize, read: u64) -> Option<u64> {
        match self.then(thread) {
            Then::Do(op) => self.make(thread, op, read),
            Then::Choose(_) => {
                self.got[thread].push(read);
                None
            }
            _ => None,
        }
    }

    fn value(&mut self, addr: u32) -> u64 {
        Program::value(self, addr)
    }

    fn set(&mut self, addr: u32, value: u64) {
        self.memory[addr as usize] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Relaxation;
    use crate::verify::{ErrorKind, Settings, Verdict, explain, verify};

    /// A message with a flag: data at 0, flag at 1.
    fn message(fence: bool) -> FromFn<impl Fn(usize, &[u64]) -> Then + Clone> {
        FromFn::new(2, 2, move |thread, got: &[u64]| match (thread, got) {
            (0, []) => Then::Do(Op::store(0, 1)),
            (0, [_]) if fence => Then::Do(Op::store(1, 1).after_store_fence()),
            (0, [_]) => Then::Do(Op::store(1, 1)),
            (1, []) => Then::Do(Op::wait(1, 1)),
            (1, [_]) => Then::Do(Op::load(0)),
            (1, [_, data]) if *data != 1 => Then::Fail(format!("the message is {data}")),
            _ => Then::End,
        })
    }

    #[test]
    fn message_passing_under_both_models() {
        for (fence, model, expected) in [
            (false, Relaxation::Tso, Verdict::Safe),
            (false, Relaxation::Pso, Verdict::Unsafe),
            (true, Relaxation::Pso, Verdict::Safe),
        ] {
            let program = message(fence);
            let result = verify(&program, Settings::new(model));
            assert_eq!(result.verdict(), expected, "{fence} {model:?}");
            for found in &result.seen.violations {
                let explanation = explain(&mut program.clone(), found).expect("it has an execution");
                let (steps, claims) = (explanation.steps(), explanation.claims());
                assert!(crate::certify::replay::confirms(&mut program.clone(), model, &steps, &claims));
            }
        }
    }

    #[test]
    fn errors_are_found() {
        let forever = FromFn::new(1, 1, |_, _: &[u64]| Then::Do(Op::wait(0, 7)));
        let result = verify(&forever, Settings::new(Relaxation::Tso));
        assert!(matches!(result.seen.errors[0].kind, ErrorKind::Deadlock { .. }), "{:?}", result.seen);
        assert_eq!(
            verify(&forever.initial(0, 7), Settings { max_steps: 3, ..Settings::new(Relaxation::Tso) }).verdict(),
            Verdict::Undecided
        );
        let wild = FromFn::new(1, 1, |_, _: &[u64]| Then::Do(Op::load(3)));
        let result = verify(&wild, Settings::new(Relaxation::Tso));
        assert!(
            matches!(&result.seen.errors[0].kind, ErrorKind::Fault { why, .. } if why.message.to_string().contains("address 3"))
        );
    }

    #[test]
    fn choices_are_explored_and_explained() {
        // Store buffering, if both choose 1 of 3; otherwise nobody looks.
        let program = FromFn::new(2, 2, |thread, got: &[u64]| match got {
            [] if thread == 0 => Then::Choose(3),
            [] => Then::Do(Op::store(1, 1)),
            [_] if thread == 0 => Then::Do(Op::store(0, 1)),
            [_] => Then::Choose(3),
            [_, 1] if thread == 1 => Then::Do(Op::load(0)),
            [1, _] if thread == 0 => Then::Do(Op::load(1)),
            _ => Then::End,
        });
        let result = verify(&program, Settings::new(Relaxation::Tso));
        assert_eq!(result.verdict(), Verdict::Unsafe);
        // Three orders of stores and loads where both look, two where one does, one where nobody does.
        assert_eq!(result.counts().executions, 3 + 4 * 2 + 4);
        assert!(!result.seen.violations.is_empty());
        for found in &result.seen.violations {
            let schedule = found.schedule.to_string();
            assert!(schedule.starts_with("a0[1]") && schedule.matches("[1]").count() == 2, "{schedule}");
            let explanation = explain(&mut program.clone(), found).expect("it has an execution");
            let (steps, claims) = (explanation.steps(), explanation.claims());
            assert!(crate::certify::replay::confirms(&mut program.clone(), Relaxation::Tso, &steps, &claims));
        }
        for outcomes in [0, MAX_OUTCOMES + 1] {
            let program = FromFn::new(1, 0, move |_, _: &[u64]| Then::Choose(outcomes));
            let result = verify(&program, Settings::new(Relaxation::Tso));
            assert!(
                matches!(&result.seen.errors[0].kind, ErrorKind::Fault { why, .. } if why.message.to_string().contains("65535"))
            );
        }
    }

    #[test]
    fn read_modify_writes_are_atomic() {
        // One thread adds, the other one does the same by compare-and-swap.
        let program = FromFn::new(2, 1, |thread, got: &[u64]| match (thread, got) {
            (0, []) => Then::Do(Op::add(0, 1)),
            (0, _) => Then::End,
            (_, []) => Then::Do(Op::compare_and_swap(0, 0, 1)),
            (_, [0]) => Then::End,
            (_, [before]) => Then::Do(Op::compare_and_swap(0, *before, before + 1)),
            (_, [_, 1]) => Then::End,
            (_, got) => Then::Fail(format!("{got:?}")),
        });
        assert_eq!(verify(&program, Settings::new(Relaxation::Pso)).verdict(), Verdict::Safe);
        let swaps = FromFn::new(2, 1, |thread, got: &[u64]| match got {
            [] => Then::Do(Op::swap(0, thread as u64 + 1)),
            [before] if *before == thread as u64 + 1 => Then::Fail("its own value".into()),
            _ => Then::End,
        });
        assert_eq!(verify(&swaps, Settings::new(Relaxation::Tso)).verdict(), Verdict::Safe);
    }
}
