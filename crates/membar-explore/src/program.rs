//! The explorer's view of a program.
//!
//! Whatever implements [`Program`] can be explored: litmus tests, compiled programs, closures. The explorer relies on three things, and its
//! reductions are unsound without them: a thread's next action depends only on what its own accesses returned; [`Program::undo`] restores
//! the state before a step exactly; and what a thread says about waiting depends on its own past alone.
//!
//! Methods with a default are for programs that wait, choose, have threads that are alike, or run executions of a model.

use crate::{Fault, Step};
use membar_core::{Access, Performed};

/// A thread's next action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// It accesses memory. Whatever comes before, on its own registers, has been done.
    Access(Access),
    /// It has ended.
    Done,
    /// It cannot continue: [`Program::fault`] says why.
    Fault,
    /// It has run for too long without an access. Its next action is not known.
    Long,
}

/// How a thread stands, as far as its own past says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Its next access can be made.
    Runs,
    /// Its next access may be disabled: [`Program::waiting`] says when.
    Waits,
    /// Its next access is a choice ([`Access::outcomes`]).
    Chooses,
    /// As [`Next::Long`].
    Long,
    /// It has ended or cannot continue.
    Stopped,
}

/// The condition that a waiting read waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// The address it reads.
    pub addr: u32,
    /// The value that matters.
    pub value: u64,
    /// Whether it waits until the address holds the value, rather than while it does.
    pub until: bool,
}

impl Awaited {
    /// Whether it continues waiting if the address holds `value`.
    #[inline]
    pub fn blocks(&self, value: u64) -> bool {
        (value == self.value) != self.until
    }
}

/// The condition that a thread waits for: in a loop that it is about to repeat, or before an access that is made only when it can be.
///
/// A round is *idle* if it begins and ends with the same registers and changes no memory. After an idle round that read
/// the values in `round`, the thread will do the same again, access by access, until it reads something else.
///
/// A *blocking* access (a lock is taken, a thread begins) is disabled as long as [`Awaited::blocks`] says so, of its own address or of another
/// one, and when it is made the thread is not waiting any more.
///
/// A thread is *parked* if it has gone round twice, has written on the way, and everything that it wrote is as it was
/// (it polls under a lock, say). It stands between two rounds, and need not continue unless it would find something else.
///
/// Whether a thread waits, and for what, depends on its own past alone; only whether that blocks it now is a matter of
/// memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waiting<'a> {
    /// The reads of the idle round, in order, of which none has `until`; or the blocking access. Empty if the thread is not
    /// waiting.
    pub round: &'a [Awaited],
    /// How many of them the thread has repeated, with the same values, in the round it is in. The next one is about the
    /// address of its next access.
    pub repeated: usize,
    /// The next access is a blocking one.
    pub blocking: bool,
    /// The thread is parked; `round` is what the round found first at each address that matters.
    pub parked: bool,
    /// The other condition that disables its next access, if it is parked before one that blocks.
    pub lock: Option<&'a Awaited>,
}

impl Waiting<'_> {
    /// Whether the next access, if it reads what it read last time, ends the same round once more.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.repeated + 1 == self.round.len() && !self.parked
    }

    /// Whether a parked thread has no reason to continue, or cannot.
    #[cold]
    pub fn is_parked(&self, value: impl Fn(u32) -> u64) -> bool {
        let blocks = |awaited: &Awaited| awaited.blocks(value(awaited.addr));
        self.parked && (self.lock.is_some_and(blocks) || self.round.iter().all(blocks))
    }
}

/// Addresses whose values decide who can run, as a set that may hold more than it was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Watched(u64);

impl Watched {
    /// Adds an address.
    #[inline]
    pub fn add(&mut self, addr: u32) {
        self.0 |= 1 << (addr % 64);
    }

    /// Adds what a thread waits for.
    #[inline]
    pub fn add_round(&mut self, waiting: &Waiting<'_>) {
        waiting.round.iter().for_each(|awaited| self.add(awaited.addr));
    }

    /// Whether the address may be one of them.
    #[inline(always)]
    pub fn has(self, addr: u32) -> bool {
        self.0 >> (addr % 64) & 1 != 0
    }
}

/// Why a thread made no more steps in one go ([`Program::steps`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// How it stands now.
    pub standing: Standing,
    /// Whether its last step wrote what is watched.
    pub disturbs: bool,
}

/// Deterministic threads over one memory, one access per step.
///
/// A thread's next action depends on nothing but what its own accesses returned: that is what makes schedules
/// replayable and reductions sound.
///
/// A thread may also *choose*: its next access is then one that returns any number below [`Access::outcomes`], of which there
/// are at most [`MAX_OUTCOMES`]. Its address is one that nobody writes. A choice is made as soon as its thread has come to it,
/// before any other thread makes a step, so it belongs to the step before; all outcomes are explored.
pub trait Program {
    /// How many threads there are, at most [`MAX_THREADS`].
    fn threads(&self) -> usize;

    /// The thread's next action.
    fn next(&self, thread: usize) -> Next;

    /// How the thread stands: what [`Program::next`] and [`Program::waiting`] say, for callers that need no more.
    #[inline]
    fn standing(&self, thread: usize) -> Standing {
        match self.next(thread) {
            Next::Access(access) if access.outcomes().is_some() => Standing::Chooses,
            Next::Access(_) if self.waiting(thread).round.is_empty() => Standing::Runs,
            Next::Access(_) => Standing::Waits,
            Next::Long => Standing::Long,
            Next::Done | Next::Fault => Standing::Stopped,
        }
    }

    /// The condition that the thread waits for, if it waits.
    fn waiting(&self, thread: usize) -> Waiting<'_>;

    /// Whether a thread that waits is disabled: its next access would close the same round again, or cannot be made yet.
    #[inline]
    fn is_blocked(&self, thread: usize) -> bool {
        let waiting = self.waiting(thread);
        if waiting.parked {
            return waiting.is_parked(|addr| self.value(addr));
        }
        waiting.is_closing() && waiting.round.iter().all(|awaited| awaited.blocks(self.value(awaited.addr)))
    }

    /// Whether a parked thread would, by going round again, let another one that waits go another way than before. Asked only
    /// where nobody can run.
    fn stirs(&self, _parked: usize, _other: usize) -> bool {
        false
    }

    /// Whether it is no deadlock if the thread still waits where an execution ends: it was never started, say, or the
    /// program as a whole is over. This may depend on what others have done, and is asked only there.
    fn may_wait(&self, _thread: usize) -> bool {
        false
    }

    /// Whether threads may have twins. It does not change while a search goes on.
    fn is_symmetric(&self) -> bool {
        false
    }

    /// The thread created just before this one, if nothing but their numbers distinguishes the two (`symmetry.rs`). Asked of
    /// threads that have been created.
    fn twin(&self, _thread: usize) -> Option<usize> {
        None
    }

    /// The number that an instruction has in common with its like in the code of twins.
    fn common_site(&self, site: u32) -> u32 {
        site
    }

    /// The thread has turned out to be different from those before it in its group: what has been explored does not count.
    fn tell_apart(&mut self, _thread: usize) {}

    /// The thread has let others know an address of its own memory.
    fn shows_address(&mut self, _thread: usize) {}

    /// What the thread has written, so far, that is no step: for each write where, or where in its own memory.
    fn private_writes(&self, _thread: usize) -> Vec<u64> {
        Vec::new()
    }

    /// Whether the address is one by which others wait for the thread, or start it.
    fn is_control(&self, _thread: usize, _addr: u32) -> bool {
        false
    }

    /// Where in the thread's own memory this address is, if it is there.
    fn own_place(&self, _thread: usize, _addr: u32) -> Option<u64> {
        None
    }

    /// Where in the thread's own memory this value points, if it does.
    fn own_value(&self, _thread: usize, _value: u64) -> Option<u64> {
        None
    }

    /// Whether an assumption of the program does not hold in this execution, so that it counts for nothing. A thread has
    /// stopped there then; what others do before that can be seen has happened all the same.
    fn is_dropped(&self) -> bool {
        false
    }

    /// The value of an address now.
    fn value(&self, addr: u32) -> u64;

    /// Makes the next access of a thread whose [`Program::next`] is an access, and no choice.
    fn step(&mut self, thread: usize) -> Performed;

    /// Makes the next access of a thread whose [`Program::next`] is a choice: it reads `outcome`, which is less than
    /// [`Access::outcomes`].
    fn choose(&mut self, thread: usize, outcome: u32) -> Performed {
        unreachable!("thread {thread} of a program without choices reads {outcome}")
    }

    /// Makes a step of a schedule.
    #[inline]
    fn repeat(&mut self, step: Step) -> Performed {
        match step.outcome() {
            None => self.step(step.thread()),
            Some(outcome) => self.choose(step.thread(), outcome),
        }
    }

    /// Whether this step of a schedule can be made here, as far as its thread is concerned.
    fn fits(&self, step: Step) -> bool {
        let Next::Access(access) = self.next(step.thread()) else { return false };
        match (access.outcomes(), step.outcome()) {
            (None, None) => true,
            (Some(outcomes), Some(outcome)) => u64::from(outcome) < outcomes,
            _ => false,
        }
    }

    /// Makes a step as [`Program::step`] does, and then up to `more` others of the same thread, as long as they change nothing
    /// about who can run: the thread has another access and does not wait, and none of the steps wrote what is watched. They
    /// are added to `made`.
    #[inline]
    fn steps(&mut self, thread: usize, more: usize, watched: Watched, made: &mut Vec<Performed>) -> Stop {
        for left in (0..=more).rev() {
            let performed = self.step(thread);
            made.push(performed);
            let disturbs = performed.writes && watched.has(performed.access.addr);
            let standing = self.standing(thread);
            if left == 0 || disturbs || standing != Standing::Runs {
                return Stop { standing, disturbs };
            }
        }
        unreachable!("the last step is one to stop after")
    }

    /// Takes back the last step.
    fn undo(&mut self);

    /// Takes this many steps back, which are all there are.
    fn restart(&mut self, steps: usize) {
        for _ in 0..steps {
            self.undo();
        }
    }

    /// The value of an address in memory, for a search of the executions of a model.
    fn memory(&mut self, addr: u32) -> u64 {
        self.value(addr)
    }

    /// Makes the next access of a thread, which is no choice, as [`Program::step`] does, but as if its address held `found`. If `dead`, the
    /// object there has come to its end. [`Program::leave`] has to follow.
    fn step_finding(&mut self, thread: usize, found: u64, _dead: bool) -> Performed {
        unreachable!("thread {thread} finds {found} in a program that is run on one memory only")
    }

    /// After the last step, its address holds this.
    fn leave(&mut self, addr: u32, value: u64) {
        unreachable!("address {addr} holds {value} in a program that is run on one memory only")
    }

    /// At the end of an execution of a model: memory holds this at an address. It is put back before the next step is taken back.
    fn hold(&mut self, addr: u32, value: u64) {
        unreachable!("address {addr} holds {value} in a program that is run on one memory only")
    }

    /// A value of an address with the bytes of this access replaced by those of another value of it. Values of more than 8 bytes may be
    /// numbers that stand for them.
    fn merge(&mut self, access: &Access, value: u64, written: u64) -> u64 {
        access.put_part(value, access.part_of(written))
    }

    /// Whether what was explored does not count: the program has shown something new about itself.
    fn is_void(&self) -> bool {
        false
    }

    /// Adds everything that decides the future (memory and all threads) to `state`; two equal states have equal futures.
    fn state(&self, state: &mut Vec<u64>);

    /// Why the thread cannot continue, where [`Program::next`] says so.
    fn fault(&self, thread: usize) -> Fault;

    /// What there is to say of an execution that is over here. It may depend on what threads have read and on memory, not
    /// on the order of steps; and if it depends on which thread is which, threads have no [`Program::twin`].
    fn outcome(&self) -> Outcome {
        Outcome::Plain
    }
}

/// What a program says of an execution as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Outcome {
    /// Nothing.
    #[default]
    Plain,
    /// It ends in the way that the program asks about.
    Asked,
    /// It ends in a way that must not be.
    Refuted,
}

/// The most outcomes that a choice may have.
pub const MAX_OUTCOMES: u32 = u16::MAX as u32;

/// The most threads that a program may have.
pub const MAX_THREADS: usize = 256;
