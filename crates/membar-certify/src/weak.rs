//! Checks a claimed execution of a program under a memory model, given as steps that may be behind others.
//!
//! Problem: an explorer says that this program ([`Threads`]) has an execution under sc, tso, pso or c11 at the end of which something
//! is wrong, and gives its steps ([`WeakStep`]). Are these steps of the program, does the model allow them, and is that its end?
//!
//! Algorithm:
//! 1. Run the steps. A step that is k behind reads the write before the last k writes to its address, and if it writes, its write
//!    goes to that place in co; what they read and where they write gives rf and co. Memory holds the last write in co of each
//!    address; a blocking access looks at the value that it is to read.
//! 2. Check the model's axioms on the whole graph (`axioms.rs`, [`rc11`](crate::rc11)).
//! 3. Compare with the accesses that are claimed, and look at the threads that are claimed to stand still.
//!    Threads that wait forever: each thread has come to its end, or its next access is blocked by what memory holds, or it
//!    is run for some more accesses, which read the last write of their addresses and change nothing. Then nobody writes
//!    anything that another one waits for.
//! 4. Look for a cycle of po ∪ rf ∪ co ∪ fr: without one the execution is sequentially consistent.
//!
//! Invariants: what a step reads was written by an earlier one, so po ∪ rf is acyclic.
//!
//! Guarantees: shares no code with the explorer, the monitors or the oracle. Steps may be garbage and nothing panics, as long as the
//! program itself is well-formed: it keeps to [`Threads`], and its addresses are dense.
//!
//! Deviations: a write to a part of an address holds the bytes around it as they were when it was made. So nothing is put before one
//! in co, and it is put before nothing; such steps are refused, though a machine may have them: [`confirms_run`] is for these.
//!
//! That a loop which has gone round in vain for [`IN_VAIN`] accesses goes on like that is not checked: a thread's variables are
//! not seen here. That an execution with a data race has one is left to the explorer.
//!
//! Complexity: O(s · w) for s steps at addresses with w writes, and that of the axioms.

pub use crate::axioms::Axiom;
pub use crate::execution::{Event, Link, Made, Read, Relation, Trace};

use crate::axioms;
use membar_core::{Access, AccessKind, Claim, GraphModel, Halt, MachineStep, Relaxation, Threads, WeakStep};
use std::fmt;

/// How many accesses without effect a thread makes in a loop that is claimed to go round forever.
pub const IN_VAIN: usize = 100;

/// What is claimed of the end of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending<'a> {
    /// Nothing.
    Open,
    /// Every thread has ended.
    Complete,
    /// This thread cannot continue: an assertion fails, it crashes.
    Stops(u32),
    /// These threads wait forever: no thread can make a step that has an effect.
    Waits(&'a [u32]),
}

/// An execution that the model allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Confirmed {
    /// Its graph.
    pub trace: Trace,
    /// A cycle of po ∪ rf ∪ co ∪ fr; `None` if it is sequentially consistent.
    pub cycle: Option<Vec<Link>>,
}

/// Why the claim does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A step is not possible.
    Step {
        /// Its index.
        step: usize,
        /// Why not.
        cause: Cause,
    },
    /// These are not the accesses that are claimed.
    Claims,
    /// The model's axioms forbid it.
    Forbidden(Axiom),
    /// It is too long to be checked under this model ([`MOST`](crate::rc11::MOST)).
    Size,
    /// A machine with store buffers cannot do it.
    Machine(crate::replay::Refusal),
    /// It is possible, but does not end as claimed.
    Outcome,
    /// This thread does not stand still as claimed.
    Ending {
        /// The thread.
        thread: u32,
    },
}

/// Why a step is not possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// There is no such thread.
    NoThread(u32),
    /// The thread makes no access now.
    Halts {
        /// The thread.
        thread: u32,
        /// Why not.
        halt: Halt,
    },
    /// The thread chooses where the step says that it does not, or the other way round, or there is no such outcome.
    Choice {
        /// The thread.
        thread: u32,
    },
    /// Fewer writes than that have been made to the address.
    Behind {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
        /// How many writes there are.
        writes: usize,
    },
    /// It would write before others at an address that is written in parts.
    Parts {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Refusal::Step { step, cause } => write!(f, "step {step}: {cause}"),
            Refusal::Claims => write!(f, "the steps make other accesses than those that are claimed"),
            Refusal::Forbidden(axiom) => write!(f, "the model forbids it: {axiom}"),
            Refusal::Size => write!(f, "there are more than {} accesses and fences", crate::rc11::MOST),
            Refusal::Machine(refusal) => write!(f, "a machine with store buffers cannot do it: {refusal}"),
            Refusal::Outcome => write!(f, "it does not end as claimed"),
            Refusal::Ending { thread } => write!(f, "at the end thread {thread} does not stand still as claimed"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cause::NoThread(thread) => write!(f, "there is no thread {thread}"),
            Cause::Halts { thread, halt } => write!(f, "thread {thread} {halt}"),
            Cause::Choice { thread } => write!(f, "thread {thread} makes no such choice"),
            Cause::Behind { thread, addr, writes } => {
                write!(f, "thread {thread} is to be behind more than the {writes} writes made to address {addr} so far")
            }
            Cause::Parts { thread, addr } => {
                write!(f, "thread {thread} would write before others to address {addr}, which is written in parts")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Whether a program that is at its beginning can make these steps, which make exactly these accesses (each thread's in this
/// order), whether the model allows that, and whether it ends like this. The program is not at its beginning afterwards.
pub fn confirms(
    program: &mut impl Threads,
    model: GraphModel,
    steps: &[WeakStep],
    claims: &[Claim],
    ending: Ending<'_>,
) -> Result<Confirmed, Refusal> {
    let confirmed = replay(program, model, steps)?;
    if !confirmed.trace.is_claimed(claims) {
        return Err(Refusal::Claims);
    }
    check_ending(program, &confirmed.trace, ending)?;
    Ok(confirmed)
}

/// The same for the steps of a machine whose store buffers hold bytes ([`replay`](crate::replay)): for accesses that have some bytes of an
/// address in common and not others.
pub fn confirms_run(
    program: &mut impl Threads,
    machine: Relaxation,
    steps: &[MachineStep],
    claims: &[Claim],
    ending: Ending<'_>,
) -> Result<Confirmed, Refusal> {
    let crate::replay::Replayed { trace, cycle } =
        crate::replay::replay(program, machine, steps).map_err(Refusal::Machine)?;
    if !trace.is_claimed(claims) {
        return Err(Refusal::Claims);
    }
    check_ending(program, &trace, ending)?;
    Ok(Confirmed { trace, cycle })
}

/// The execution that these steps of a program at its beginning make, if the model allows it.
pub fn replay(program: &mut impl Threads, model: GraphModel, steps: &[WeakStep]) -> Result<Confirmed, Refusal> {
    let mut run = Run::new(program);
    for (index, step) in steps.iter().enumerate() {
        run.step(step.thread, step.behind, |_| step.choice).map_err(|cause| Refusal::Step { step: index, cause })?;
    }
    let trace = run.trace;
    axioms::check(&trace, model).ok_or(Refusal::Size)?.map_err(Refusal::Forbidden)?;
    let cycle = trace.cycle();
    Ok(Confirmed { trace, cycle })
}

fn check_ending(program: &mut impl Threads, trace: &Trace, ending: Ending<'_>) -> Result<(), Refusal> {
    let threads = program.threads() as u32;
    let stands = |holds: bool, thread: u32| if holds { Ok(()) } else { Err(Refusal::Ending { thread }) };
    match ending {
        Ending::Open => Ok(()),
        Ending::Complete => {
            (0..threads).try_for_each(|thread| stands(program.next(thread as usize) == Err(Halt::Ended), thread))
        }
        Ending::Stops(thread) => {
            let halt = if thread < threads { program.next(thread as usize).err() } else { None };
            let stops = matches!(halt, Some(Halt::Fault | Halt::Wild { .. } | Halt::Size { .. } | Halt::Endless));
            stands(stops, thread)
        }
        Ending::Waits(waiting) => {
            let unknown = waiting.iter().find(|&&thread| thread >= threads);
            stands(unknown.is_none() && !waiting.is_empty(), unknown.copied().unwrap_or(0))?;
            (0..threads).try_for_each(|thread| match at_end(program, trace, thread as usize) {
                AtEnd::Stopped => stands(!waiting.contains(&thread), thread),
                AtEnd::Waits => Ok(()),
                AtEnd::Moves => stands(false, thread),
            })
        }
    }
}

/// What a thread does when all others stand still.
enum AtEnd {
    /// Nothing any more.
    Stopped,
    /// It waits for another value.
    Waits,
    /// It makes a step that has an effect.
    Moves,
}

fn at_end(program: &mut impl Threads, trace: &Trace, thread: usize) -> AtEnd {
    for made in 0..IN_VAIN {
        let access = match program.next(thread) {
            Ok(access) => access,
            Err(Halt::Blocked { .. }) => return AtEnd::Waits,
            Err(_) if made == 0 => return AtEnd::Stopped,
            // It has got out of its loop.
            Err(_) => return AtEnd::Moves,
        };
        if access.kind == AccessKind::Store || access.outcomes().is_some() {
            return AtEnd::Moves;
        }
        let last = trace.order.get(access.addr as usize).and_then(|order| trace.get(*order.last()?));
        program.find_ended(last.is_some_and(|last| last.access.c11.ends()));
        let value = program.value(access.addr);
        if program.perform(thread, value).is_some_and(|wrote| wrote != value) {
            return AtEnd::Moves;
        }
    }
    AtEnd::Waits
}

/// An execution while it is run.
pub(crate) struct Run<'p, P> {
    program: &'p mut P,
    pub(crate) trace: Trace,
    /// Of each address that has been accessed, what was there at first.
    initial: Vec<Option<u64>>,
}

impl<'p, P: Threads> Run<'p, P> {
    pub(crate) fn new(program: &'p mut P) -> Run<'p, P> {
        let threads = vec![Vec::new(); program.threads()];
        Run { program, trace: Trace { threads, order: Vec::new() }, initial: Vec::new() }
    }

    /// The write that is this many before the last one of an address, and its value.
    fn before(&self, addr: u32, behind: u32) -> Option<Read> {
        let order = self.trace.order.get(addr as usize).map_or(&[][..], |order| order);
        let place = order.len().checked_sub(behind as usize)?;
        match place.checked_sub(1) {
            Some(last) => {
                let value = self.trace.get(order[last])?.wrote?;
                Some(Read { source: Some(order[last]), memory: Some(order[last]), value })
            }
            None => {
                let value = self.initial.get(addr as usize).copied().flatten()?;
                Some(Read { source: None, memory: None, value })
            }
        }
    }

    /// The thread makes its next access, behind this many writes; if it is a choice, with the outcome that is chosen.
    pub(crate) fn step(
        &mut self,
        t: u32,
        behind: u32,
        choose: impl FnOnce(&Access) -> Option<u64>,
    ) -> Result<Event, Cause> {
        let at = t as usize;
        if at >= self.trace.threads.len() {
            return Err(Cause::NoThread(t));
        }
        let mut next = self.program.next(at);
        // Memory as others see it, if this thread sees something else.
        let mut others = None;
        if let Err(Halt::Blocked { addr }) = next
            && behind > 0
            && let Some(found) = self.before(addr, behind)
        {
            others = Some((addr, self.program.value(addr)));
            self.program.set(addr, found.value);
            next = self.program.next(at);
        }
        let event = next.map_err(|halt| Cause::Halts { thread: t, halt }).and_then(|access| {
            let choice = choose(&access);
            self.make(t, behind, &access, choice, others.map(|(_, value)| value))
        });
        match others {
            Some((addr, value)) => self.program.set(addr, value),
            None => {
                // A write that nothing is after is in memory.
                let made = event.ok().filter(|_| behind == 0).and_then(|event| self.trace.get(event));
                if let Some((addr, value)) = made.and_then(|made| Some((made.access.addr, made.wrote?))) {
                    self.program.set(addr, value);
                }
            }
        }
        event
    }

    fn make(
        &mut self,
        t: u32,
        behind: u32,
        access: &Access,
        choice: Option<u64>,
        last: Option<u64>,
    ) -> Result<Event, Cause> {
        if !match (access.outcomes(), choice) {
            (None, None) => true,
            (Some(outcomes), Some(outcome)) => outcome < outcomes,
            _ => false,
        } {
            return Err(Cause::Choice { thread: t });
        }
        let (at, addr) = (t as usize, access.addr);
        let cell = addr as usize;
        if cell >= self.initial.len() {
            self.initial.resize(cell + 1, None);
        }
        if self.initial[cell].is_none() {
            self.initial[cell] = Some(last.unwrap_or_else(|| self.program.value(addr)));
        }
        let order = self.trace.order.get(cell).map_or(&[][..], |order| order);
        let writes = order.len();
        let mut read = self.before(addr, behind).ok_or(Cause::Behind { thread: t, addr, writes })?;
        if let Some(outcome) = choice {
            read.value = outcome;
        } else if behind == 0 {
            read.value = self.program.value(addr);
        }
        let place = writes - behind as usize;
        let in_parts = |write: &Event| self.trace.get(*write).is_some_and(|made| made.access.part != 0);
        let parts = access.part != 0 || order[place..].iter().any(in_parts);
        if behind > 0 && parts && access.writes_on(read.value) {
            return Err(Cause::Parts { thread: t, addr });
        }
        let before = place.checked_sub(1).and_then(|before| self.trace.get(order[before]));
        let ended = before.is_some_and(|before| before.access.c11.ends());
        self.program.find_ended(ended);
        let wrote = self.program.perform(at, read.value);
        let event = Event { thread: t, index: self.trace.threads[at].len() as u32 };
        if wrote.is_some() {
            if cell >= self.trace.order.len() {
                self.trace.order.resize_with(cell + 1, Vec::new);
            }
            self.trace.order[cell].insert(place, event);
        }
        let read = (access.kind != AccessKind::Store).then_some(read);
        self.trace.threads[at].push(Made { access: *access, read, wrote });
        Ok(event)
    }
}
