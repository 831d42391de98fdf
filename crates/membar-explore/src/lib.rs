//! Explores the executions of a program: the sequentially consistent ones, or those of a memory model itself.
//!
//! A [`Program`] is a set of deterministic threads over one memory that make one access per step and can take steps back. A
//! [`Search`] has workers, of this process ([`Local`]) or of others ([`Work`]), run it under the schedules that a
//! [`Strategy`] asks for and tell an [`Observer`] about each step:
//!
//! * exhaustive and preemption-bounded search, and dynamic partial-order reduction that runs each happens-before class
//!   once: the modules `tree` (what is left to do, on several cores, to be saved), `worker` (depth first) and `races`
//!   (which other outcomes to try), without iterations in vain (`vain`) and up to renaming of threads (`symmetry`);
//! * random schedules and PCT: the module `sample`;
//! * the executions of TSO, PSO or C11: as graphs (`graph`), or, where accesses are to parts of words, as states of a machine with bytes in
//!   its store buffers (`buffers`).
//!
//! Waiting loops end, and accesses may block: see [`Waiting`]. Threads may choose, see [`Program`]. A [`Schedule`] is a short string that can be run again, and a
//! [`WeakSchedule`] one of an execution that is not sequentially consistent.
//!
//! ```
//! use membar_core::{Access, AccessKind, Barrier, C11, Performed};
//! use membar_explore::{Blind, Fault, Local, Next, Program, Search, SearchState, Strategy, Waiting};
//! use std::sync::atomic::AtomicBool;
//!
//! /// Two threads that each increment one counter, in two steps.
//! #[derive(Clone, Default)]
//! struct Counter { value: u64, read: [u64; 2], pc: [usize; 2], back: Vec<(usize, u64, u64)> }
//!
//! impl Program for Counter {
//!     fn threads(&self) -> usize { 2 }
//!     fn next(&self, thread: usize) -> Next {
//!         let kind = match self.pc[thread] { 0 => AccessKind::Load, 1 => AccessKind::Store, _ => return Next::Done };
//!         let site = (2 * thread + self.pc[thread]) as u32;
//!         Next::Access(Access { kind, barrier: Barrier::None, c11: C11::default(), part: 0, addr: 0, site, expected: None })
//!     }
//!     fn waiting(&self, _: usize) -> Waiting<'_> { Waiting::default() }
//!     fn value(&self, _: u32) -> u64 { self.value }
//!     fn step(&mut self, thread: usize) -> Performed {
//!         let Next::Access(access) = self.next(thread) else { panic!("it has ended") };
//!         let old = self.value;
//!         self.back.push((thread, old, self.read[thread]));
//!         match self.pc[thread] { 0 => self.read[thread] = old, _ => self.value = self.read[thread] + 1 }
//!         self.pc[thread] += 1;
//!         Performed { thread: thread as u32, access, writes: access.kind == AccessKind::Store, old, new: self.value }
//!     }
//!     fn undo(&mut self) {
//!         let (thread, value, read) = self.back.pop().expect("a step");
//!         self.pc[thread] -= 1;
//!         (self.value, self.read[thread]) = (value, read);
//!     }
//!     fn state(&self, state: &mut Vec<u64>) {
//!         state.extend([self.value, self.read[0], self.read[1], self.pc[0] as u64, self.pc[1] as u64]);
//!     }
//!     fn fault(&self, _: usize) -> Fault { unreachable!("its threads only end") }
//! }
//!
//! let count = |strategy| {
//!     let worker = Local::new(Counter::default(), Blind, 100);
//!     let mut search = Search::new(SearchState::new(strategy), vec![worker], u64::MAX);
//!     while !search.state().is_done() {
//!         search.advance(&AtomicBool::new(false), |()| {});
//!     }
//!     search.state().counts().executions
//! };
//! assert_eq!(count(Strategy::Exhaustive), 6);
//! // Both read first, and then the stores come in one order or the other; or one thread is first altogether.
//! assert_eq!(count(Strategy::Dpor), 4);
//! ```

mod buffers;
mod end;
mod estimate;
mod explore;
mod fault;
mod graph;
mod mirror;
mod node;
mod observer;
mod program;
mod races;
mod sample;
mod schedule;
mod set;
mod symmetry;
mod tree;
mod vain;
mod weak_schedule;
mod work;
mod worker;

pub use buffers::Buffers;
pub use end::{Counts, End};
pub use estimate::Estimate;
pub use explore::{Search, SearchState, Strategy};
pub use fault::{Control, Fault, FaultKind, Form, Location, Message, Piece};
pub use graph::{GraphOutcome, GraphTask, Graphs};
pub use observer::{Blind, Observer, WeakExecution};
pub use program::{Awaited, MAX_OUTCOMES, MAX_THREADS, Next, Outcome, Program, Standing, Stop, Waiting, Watched};
pub use schedule::{BadSchedule, Schedule, Step};
pub use set::Many;
pub use weak_schedule::WeakSchedule;
pub use work::{Answer, Local, Order, Work};
