//! Programs: the instructions of each thread, before any machine has run them.
//!
//! A program has no branches and no data flow but one: a compare-and-swap expects the last value that its thread knew of
//! the address. So what it will do is known before it runs, and what it did is one value for each instruction that reads
//! ([`crate::Record`]).
//!
//! Values identify writes: no address gets one value twice. Stores, exchanges and compare-and-swaps write a constant of their
//! own. For fetch-adds it follows from the increments being positive: between two constants the value only grows, and
//! constants are so far apart (`profile` puts them 2^40 apart where an address is added to) that sums never reach the next one.
//! A machine that loses an update may write a value twice; then there is no trace, and [`crate::trace`] says so.

mod bytes;
mod error;

pub use bytes::Bytes;
pub use error::ProgramError;

use membar_core::{Depends, Marks, Mask};
use std::fmt::{self, Write};

/// The effect of an instruction; the columns of a [`Program`] hold it in parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instr {
    /// Reads an address.
    Load {
        /// The address.
        addr: u32,
    },
    /// Writes a value.
    Store {
        /// The address.
        addr: u32,
        /// The value it writes.
        value: u64,
    },
    /// Atomically reads and writes a value.
    Exchange {
        /// The address.
        addr: u32,
        /// The value it writes.
        value: u64,
    },
    /// Atomically reads and adds.
    Add {
        /// The address.
        addr: u32,
        /// The number it adds, at least 1.
        by: u64,
    },
    /// Atomically reads and, if it read the last value that this thread knew of the address (read or written by it; the
    /// initial one otherwise), writes a value. One that fails counts as a load.
    Cas {
        /// The address.
        addr: u32,
        /// The value it writes.
        value: u64,
    },
    /// A barrier; `None` is `sync`.
    Fence {
        /// The pairs it orders.
        mask: Option<Mask>,
    },
    /// Takes a lock.
    Acquire {
        /// The lock.
        lock: u32,
    },
    /// Gives a lock back.
    Release {
        /// The lock.
        lock: u32,
    },
    /// Does nothing for a while; no operation of the trace.
    Delay {
        /// For how many cycles.
        cycles: u32,
    },
}

impl Instr {
    /// The full barrier.
    pub const SYNC: Instr = Instr::Fence { mask: None };
    /// The store barrier.
    pub const STORE_BARRIER: Instr = Instr::Fence { mask: Some(Mask::STORE_STORE) };
}

/// The column form of an instruction's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Load,
    Store,
    Exchange,
    Add,
    Cas,
    Fence,
    Acquire,
    Release,
    Delay,
}

impl Kind {
    /// Does it read and write at one point?
    #[inline]
    pub fn atomic(self) -> bool {
        matches!(self, Kind::Exchange | Kind::Add | Kind::Cas)
    }

    /// Is it an access of memory?
    #[inline]
    pub fn access(self) -> bool {
        matches!(self, Kind::Load | Kind::Store) || self.atomic()
    }

    #[inline]
    pub fn lock(self) -> bool {
        matches!(self, Kind::Acquire | Kind::Release)
    }
}

/// A fence's value where it is `sync`; otherwise the bits of its mask.
const SYNC: u64 = 16;
/// No instruction.
pub(crate) const NONE: u32 = u32::MAX;
/// Instructions that a program has at most.
pub const MOST_INSTRUCTIONS: u32 = 1 << 28;

/// Per thread the instructions, one thread after the other, in columns.
///
/// Invariant: no address gets one constant twice or its initial value; a thread releases only locks that it holds and
/// acquires only those that it does not. (A random program also holds no lock at its end and takes several only in the
/// order of their numbers, so that it never gets stuck.)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    pub(crate) kind: Vec<Kind>,
    /// Address or lock.
    pub(crate) addr: Vec<u32>,
    /// The value written, added or waited for, or a fence's mask.
    pub(crate) value: Vec<u64>,
    /// For a compare-and-swap: the instruction of its thread from which the expected value is known. Empty without any.
    pub(crate) expect: Vec<u32>,
    /// Thread `t` has instructions `starts[t]..starts[t + 1]`.
    pub(crate) starts: Vec<u32>,
    /// The initial value of each address.
    pub(crate) initial: Vec<u64>,
    pub(crate) locks: u32,
    pub(crate) stride: u32,
    /// What each instruction says about its order; empty where none says anything. A load that [reserves](Marks::RESERVES) is
    /// a load, and a [conditional](Marks::CONDITIONAL) store a store, on machines without reservations.
    pub(crate) marks: Vec<Marks>,
    /// The dependencies, in the order of the instructions that have them.
    pub(crate) depends: Vec<DependsOn>,
    /// The bytes of its cell that each access is to; empty where all are to all. On machines without sizes every access is to all.
    pub(crate) bytes: Vec<Bytes>,
}

/// An instruction depends on an earlier one of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DependsOn {
    /// The later instruction.
    pub instr: u32,
    /// What of it depends.
    pub how: Depends,
    /// The earlier one.
    pub on: u32,
}

/// Writes a program instruction by instruction, thread by thread.
///
/// ```
/// use membar_simulate::{Instr, ProgramBuilder};
///
/// let mut b = ProgramBuilder::new(2, 0); // two addresses, no locks
/// b.thread().push(Instr::Store { addr: 0, value: 1 }).push(Instr::Load { addr: 1 });
/// b.thread().push(Instr::Store { addr: 1, value: 2 }).push(Instr::Load { addr: 0 });
/// let program = b.finish().unwrap();
/// assert_eq!((program.threads(), program.len()), (2, 4));
/// assert!(program.to_string().starts_with("0: M[0] := 1\n0: M[1] == ?\n"));
/// ```
#[derive(Clone, Debug)]
pub struct ProgramBuilder {
    program: Program,
}

impl ProgramBuilder {
    /// An empty program over this many addresses, initially 0 and 8 bytes apart, and locks.
    pub fn new(addresses: u32, locks: u32) -> ProgramBuilder {
        ProgramBuilder {
            program: Program {
                kind: Vec::new(),
                addr: Vec::new(),
                value: Vec::new(),
                expect: Vec::new(),
                starts: Vec::new(),
                initial: vec![0; addresses as usize],
                locks,
                stride: 8,
                marks: Vec::new(),
                depends: Vec::new(),
                bytes: Vec::new(),
            },
        }
    }

    /// Sets the distance of neighbouring addresses in bytes.
    pub fn stride(&mut self, bytes: u32) -> &mut ProgramBuilder {
        self.program.stride = bytes;
        self
    }

    /// Sets the initial value of an address; ignored where there is no such address.
    pub fn initial(&mut self, addr: u32, value: u64) -> &mut ProgramBuilder {
        if let Some(initial) = self.program.initial.get_mut(addr as usize) {
            *initial = value;
        }
        self
    }

    /// Begins the next thread.
    pub fn thread(&mut self) -> &mut ProgramBuilder {
        self.program.starts.push(self.program.kind.len() as u32);
        self
    }

    /// Adds an instruction to the last thread.
    pub fn push(&mut self, instr: Instr) -> &mut ProgramBuilder {
        let (kind, addr, value) = match instr {
            Instr::Load { addr } => (Kind::Load, addr, 0),
            Instr::Store { addr, value } => (Kind::Store, addr, value),
            Instr::Exchange { addr, value } => (Kind::Exchange, addr, value),
            Instr::Add { addr, by } => (Kind::Add, addr, by),
            Instr::Cas { addr, value } => (Kind::Cas, addr, value),
            Instr::Fence { mask } => (Kind::Fence, NONE, mask.map_or(SYNC, |mask| mask.bits() as u64)),
            Instr::Acquire { lock } => (Kind::Acquire, lock, 0),
            Instr::Release { lock } => (Kind::Release, lock, 0),
            Instr::Delay { cycles } => (Kind::Delay, NONE, cycles as u64),
        };
        self.program.kind.push(kind);
        self.program.addr.push(addr);
        self.program.value.push(value);
        self
    }

    /// Gives the last instruction marks: acquire, release, reserving, conditional.
    pub fn marks(&mut self, marks: Marks) -> &mut ProgramBuilder {
        let program = &mut self.program;
        program.marks.resize(program.kind.len(), Marks::NONE);
        if let Some(last) = program.marks.last_mut() {
            *last = last.with(marks);
        }
        self
    }

    /// Says that the last instruction, a load, a store or an exchange, is to these bytes of its cell only. Of what it writes the lowest
    /// bytes count.
    pub fn part(&mut self, bytes: Bytes) -> &mut ProgramBuilder {
        let program = &mut self.program;
        program.bytes.resize(program.kind.len(), Bytes::WHOLE);
        if let Some(last) = program.bytes.last_mut().filter(|_| (1..=8).contains(&bytes.width)) {
            *last = bytes;
        }
        self
    }

    pub(crate) fn marks_if(&mut self, marks: Marks) -> &mut ProgramBuilder {
        if marks.is_empty() { self } else { self.marks(marks) }
    }

    /// Does the instruction `back` instructions earlier in the last thread return something?
    pub(crate) fn returns(&self, back: u32) -> bool {
        let Some(on) = self.program.kind.len().checked_sub(1 + back as usize) else { return false };
        let kind = self.program.kind[on];
        let conditional = self.program.marks(on).meets(Marks::CONDITIONAL);
        (back as usize) < self.len_of_thread() && (kind == Kind::Load || kind.atomic() || conditional)
    }

    /// Says that the last instruction depends on the one `back` instructions earlier in its thread; ignored where there is none.
    pub fn depends(&mut self, how: Depends, back: u32) -> &mut ProgramBuilder {
        let instr = self.program.kind.len() as u32 - 1;
        if back > 0 && (back as usize) < self.len_of_thread() {
            self.program.depends.push(DependsOn { instr, how, on: instr - back });
        }
        self
    }

    /// Number of instructions of the last thread so far.
    pub fn len_of_thread(&self) -> usize {
        self.program.kind.len() - self.program.starts.last().map_or(0, |&start| start as usize)
    }

    /// The program, unless something is wrong with it.
    pub fn finish(self) -> Result<Program, ProgramError> {
        let program = self.finish_unchecked();
        program.check()?;
        Ok(program)
    }

    /// The program of a caller that keeps its invariant by construction.
    pub(crate) fn finish_unchecked(self) -> Program {
        let mut program = self.program;
        if program.starts.is_empty() && program.kind.is_empty() {
            program.starts.push(0);
        }
        program.starts.push(program.kind.len() as u32);
        program.find_expected();
        program
    }
}

impl Program {
    /// Number of threads.
    #[inline]
    pub fn threads(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of instructions of all threads.
    #[inline]
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// No instruction at all?
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Number of operations that a run records: all instructions but delays.
    pub fn operations(&self) -> usize {
        self.kind.iter().filter(|&&kind| kind != Kind::Delay).count()
    }

    /// Number of addresses.
    pub fn addresses(&self) -> u32 {
        self.initial.len() as u32
    }

    /// Number of locks.
    pub fn locks(&self) -> u32 {
        self.locks
    }

    /// The initial value of an address.
    pub fn initial(&self, addr: u32) -> u64 {
        self.initial.get(addr as usize).copied().unwrap_or(0)
    }

    /// Where an address is, in bytes from the beginning of the memory that is used; its cell has 8 bytes.
    #[inline]
    pub fn offset(&self, addr: u32) -> u64 {
        addr as u64 * self.stride as u64
    }

    /// The numbers of a thread's instructions, in program order.
    pub fn thread(&self, t: usize) -> std::ops::Range<usize> {
        self.starts[t] as usize..self.starts[t + 1] as usize
    }

    /// An instruction by its number.
    pub fn instr(&self, i: usize) -> Instr {
        let (addr, value) = (self.addr[i], self.value[i]);
        match self.kind[i] {
            Kind::Load => Instr::Load { addr },
            Kind::Store => Instr::Store { addr, value },
            Kind::Exchange => Instr::Exchange { addr, value },
            Kind::Add => Instr::Add { addr, by: value },
            Kind::Cas => Instr::Cas { addr, value },
            Kind::Fence => Instr::Fence { mask: self.mask(i) },
            Kind::Acquire => Instr::Acquire { lock: addr },
            Kind::Release => Instr::Release { lock: addr },
            Kind::Delay => Instr::Delay { cycles: value as u32 },
        }
    }

    /// What an instruction says about its order.
    #[inline]
    pub fn marks(&self, i: usize) -> Marks {
        self.marks.get(i).copied().unwrap_or_default()
    }

    /// The bytes of its cell that an access is to.
    #[inline]
    pub fn bytes(&self, i: usize) -> Bytes {
        self.bytes.get(i).copied().unwrap_or(Bytes::WHOLE)
    }

    /// Are there accesses to parts of cells?
    pub fn has_parts(&self) -> bool {
        self.bytes.iter().any(|&bytes| bytes != Bytes::WHOLE)
    }

    /// Do two accesses share a byte?
    #[inline]
    pub(crate) fn overlap(&self, a: usize, b: usize) -> bool {
        self.addr[a] == self.addr[b] && (self.bytes.is_empty() || self.bytes(a).meet(self.bytes(b)))
    }

    /// What an access is to, as in a trace.
    pub fn place(&self, i: usize) -> String {
        match self.bytes(i) {
            Bytes::WHOLE => format!("M[{}]", self.addr[i]),
            Bytes { offset: 0, width } => format!("M[{}]:{width}", self.addr[i]),
            Bytes { offset, width } => format!("M[{}]+{offset}:{width}", self.addr[i]),
        }
    }

    /// The dependencies of an instruction.
    pub fn depends(&self, i: usize) -> &[DependsOn] {
        if self.depends.is_empty() {
            return &[];
        }
        let start = self.depends.partition_point(|dep| (dep.instr as usize) < i);
        &self.depends[start..start + self.depends[start..].partition_point(|dep| dep.instr as usize == i)]
    }

    /// For a compare-and-swap: the earlier instruction of its thread that last told it what the address holds. `None` means
    /// the initial value.
    pub fn expects(&self, i: usize) -> Option<usize> {
        self.expect.get(i).filter(|&&from| from != NONE).map(|&from| from as usize)
    }

    /// The pairs that a barrier orders; `None` for `sync`, and for what is not a barrier.
    #[inline]
    pub(crate) fn mask(&self, i: usize) -> Option<Mask> {
        (self.kind[i] == Kind::Fence && self.value[i] != SYNC).then(|| Mask::from_bits(self.value[i] as u8))
    }

    /// The pairs that a barrier orders, `sync` being everything.
    #[inline]
    pub(crate) fn orders(&self, i: usize) -> Mask {
        self.mask(i).unwrap_or(Mask::FULL)
    }

    /// Is every barrier with a mask one of Arm's: DMB, DMB LD, DMB ST?
    pub(crate) fn has_arm_barriers(&self) -> bool {
        let known = [Mask::FULL, Mask::LOAD_LOAD | Mask::LOAD_STORE, Mask::STORE_STORE];
        (0..self.len()).filter_map(|i| self.mask(i)).all(|mask| known.contains(&mask))
    }

    fn find_expected(&mut self) {
        if !self.kind.contains(&Kind::Cas) {
            return;
        }
        self.expect = vec![NONE; self.kind.len()];
        let mut last = vec![NONE; self.initial.len()];
        for t in 0..self.threads() {
            let thread = self.thread(t);
            for i in thread.clone().filter(|&i| self.kind[i].access()) {
                let Some(last) = last.get_mut(self.addr[i] as usize) else { continue };
                if self.kind[i] == Kind::Cas && *last != NONE && *last as usize >= thread.start {
                    self.expect[i] = *last;
                }
                *last = i as u32;
            }
        }
    }

    fn check(&self) -> Result<(), ProgramError> {
        if self.kind.len() > MOST_INSTRUCTIONS as usize {
            return Err(ProgramError::TooLong);
        }
        if self.starts[0] != 0 {
            return Err(ProgramError::NoThread);
        }
        if self.stride == 0 || !self.stride.is_multiple_of(8) {
            return Err(ProgramError::Stride(self.stride));
        }
        let parts = self.has_parts();
        let mut holder = vec![NONE; self.locks as usize];
        let mut writes: Vec<(u32, u64)> = self.initial.iter().zip(0..).map(|(&value, addr)| (addr, value)).collect();
        for t in 0..self.threads() {
            let thread = t as u32;
            for i in self.thread(t) {
                let (kind, addr, value) = (self.kind[i], self.addr[i], self.value[i]);
                if kind.access() && addr >= self.addresses() {
                    return Err(ProgramError::NoSuchAddress { thread, addr, addresses: self.addresses() });
                }
                let bytes = self.bytes(i);
                if bytes.offset + bytes.width > 8 || bytes != Bytes::WHOLE && !kind.access() {
                    let Bytes { offset, width } = bytes;
                    return Err(ProgramError::Part { thread, addr, offset, width });
                }
                match kind {
                    Kind::Add | Kind::Cas if parts => return Err(ProgramError::UpdateAmongParts { thread, addr }),
                    Kind::Acquire | Kind::Release => {
                        let (lock, locks) = (addr, self.locks);
                        let Some(holder) = holder.get_mut(lock as usize) else {
                            return Err(ProgramError::NoSuchLock { thread, lock, locks });
                        };
                        let acquires = kind == Kind::Acquire;
                        match (acquires, *holder == thread) {
                            (true, true) => return Err(ProgramError::AcquireHeld { thread, lock }),
                            (false, false) => return Err(ProgramError::ReleaseUnheld { thread, lock }),
                            _ => *holder = if acquires { thread } else { NONE },
                        }
                    }
                    Kind::Add if value == 0 => return Err(ProgramError::AddsNothing { thread, addr }),
                    Kind::Fence if self.orders(i).is_empty() => return Err(ProgramError::EmptyFence { thread }),
                    Kind::Store | Kind::Exchange | Kind::Cas => writes.push((addr, value)),
                    Kind::Load | Kind::Add | Kind::Fence | Kind::Delay => {}
                }
            }
        }
        writes.sort_unstable();
        match writes.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ProgramError::WrittenTwice { addr: pair[0].0, value: pair[0].1 }),
            None => Ok(()),
        }
    }

    /// Writes an instruction as a trace would have it, `?` standing for what only a run will tell.
    fn write_instr(&self, i: usize, out: &mut impl Write) -> fmt::Result {
        let marks = self.marks(i);
        if marks.meets(Marks::RESERVES) {
            out.write_str("lr ")?;
        } else if marks.meets(Marks::CONDITIONAL) {
            out.write_str("sc ")?;
        }
        self.write_plain(i, out)?;
        Marks::WORDS.iter().filter(|(mark, _)| marks.meets(*mark)).try_for_each(|(_, word)| write!(out, " {word}"))?;
        self.depends(i).iter().try_for_each(|dep| write!(out, " {}(-{})", dep.how.name(), dep.instr - dep.on))
    }

    fn write_plain(&self, i: usize, out: &mut impl Write) -> fmt::Result {
        let (at, bytes) = (self.place(i), self.bytes(i));
        match self.instr(i) {
            Instr::Load { .. } => write!(out, "{at} == ?"),
            Instr::Store { value, .. } => write!(out, "{at} := {}", bytes.low(value)),
            Instr::Exchange { value, .. } => write!(out, "{{ {at} == ?; {at} := {} }}", bytes.low(value)),
            Instr::Add { by, .. } => write!(out, "{{ {at} == ?; {at} := ? + {by} }}"),
            Instr::Cas { value, .. } => write!(out, "{{ {at} == ?; {at} := {value} if unchanged }}"),
            Instr::Fence { mask: None } => out.write_str("sync"),
            Instr::Fence { mask: Some(mask) } => {
                out.write_str("membar")?;
                let mut before = ' ';
                for (_, name, _) in Mask::PAIRS.iter().filter(|(pair, _, _)| mask.contains(*pair)) {
                    write!(out, "{before}{name}")?;
                    before = '|';
                }
                Ok(())
            }
            Instr::Acquire { lock } => write!(out, "acq L{lock}"),
            Instr::Release { lock } => write!(out, "rel L{lock}"),
            Instr::Delay { cycles } => write!(out, "# wait {cycles} cycles"),
        }
    }

    /// The program as a table with a column for each thread: for people, and for few threads.
    pub fn table(&self) -> String {
        let cell = |i: usize| {
            let mut text = String::new();
            let at = self.place(i);
            match self.instr(i) {
                Instr::Load { .. } => write!(text, "read {at}"),
                Instr::Exchange { value, .. } => write!(text, "swap {at} := {}", self.bytes(i).low(value)),
                Instr::Add { by, .. } => write!(text, "{at} += {by}"),
                Instr::Cas { value, .. } => write!(text, "cas {at} := {value}"),
                Instr::Delay { cycles } => write!(text, "wait {cycles}"),
                _ => self.write_instr(i, &mut text),
            }
            .unwrap_or_default();
            text
        };
        let columns: Vec<Vec<String>> = (0..self.threads())
            .map(|t| std::iter::once(format!("thread {t}")).chain(self.thread(t).map(cell)).collect())
            .collect();
        let mut out = String::new();
        for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = String::new();
            for column in &columns {
                let width = column.iter().map(String::len).max().unwrap_or(0) + 2;
                let text = column.get(row).map_or("", String::as_str);
                let _ = write!(line, "{text:width$}");
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// In the style of a trace: a line for each instruction, thread by thread.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for t in 0..self.threads() {
            for i in self.thread(t) {
                write!(f, "{t}: ")?;
                self.write_instr(i, f)?;
                f.write_char('\n')?;
            }
        }
        for (addr, &value) in self.initial.iter().enumerate().filter(|&(_, &value)| value != 0) {
            writeln!(f, "init M[{addr}] == {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_thread(instrs: &[Instr]) -> Result<Program, ProgramError> {
        let mut b = ProgramBuilder::new(2, 1);
        b.thread();
        instrs.iter().for_each(|&instr| {
            b.push(instr);
        });
        b.finish()
    }

    #[test]
    fn faults_are_reported() {
        use Instr::*;
        let wrong = |instrs: &[Instr]| one_thread(instrs).unwrap_err().to_string();
        assert_eq!(wrong(&[Load { addr: 2 }]), "thread 0 accesses M[2], but there are only 2 addresses");
        assert_eq!(wrong(&[Acquire { lock: 1 }]), "thread 0 uses L1, but there are only 1 locks");
        assert_eq!(wrong(&[Release { lock: 0 }]), "thread 0 releases L0, which it does not hold");
        assert!(wrong(&[Acquire { lock: 0 }, Acquire { lock: 0 }]).contains("already holds"));
        assert!(wrong(&[Store { addr: 0, value: 0 }]).contains("M[0] gets the value 0 twice"));
        assert!(wrong(&[Add { addr: 1, by: 0 }]).contains("adds 0"));
        assert!(wrong(&[Fence { mask: Some(Mask::NONE) }]).contains("orders nothing"));
        assert!(ProgramBuilder::new(1, 0).push(SYNC_TWICE[0]).clone().finish().is_err());
        assert!(ProgramBuilder::new(1, 0).stride(12).thread().clone().finish().is_err());
    }

    const SYNC_TWICE: [Instr; 2] = [Instr::SYNC, Instr::STORE_BARRIER];

    #[test]
    fn prints_in_both_ways() {
        use Instr::*;
        let program = one_thread(&[
            Store { addr: 0, value: 1 },
            Load { addr: 0 },
            Exchange { addr: 0, value: 2 },
            Add { addr: 1, by: 7 },
            Cas { addr: 1, value: 3 },
            SYNC_TWICE[0],
            SYNC_TWICE[1],
            Acquire { lock: 0 },
            Release { lock: 0 },
            Delay { cycles: 9 },
        ])
        .unwrap();
        let expected = "0: M[0] := 1\n0: M[0] == ?\n0: { M[0] == ?; M[0] := 2 }\n0: { M[1] == ?; M[1] := ? + 7 }\n\
            0: { M[1] == ?; M[1] := 3 if unchanged }\n0: sync\n0: membar #StoreStore\n0: acq L0\n0: rel L0\n\
            0: # wait 9 cycles\n";
        assert_eq!(program.to_string(), expected);
        assert!(program.table().starts_with("thread 0\nM[0] := 1\nread M[0]\nswap M[0] := 2\nM[1] += 7\n"));
        assert_eq!((program.expects(4), program.expects(2), program.operations()), (Some(3), None, 9));
        assert!(
            (0..program.len()).all(|i| one_thread(&[program.instr(i)]).is_ok() || program.kind[i] == Kind::Release)
        );
    }
}
