//! The ways a thread can go through its code, each with its accesses.
//!
//! **Problem.** Which accesses a thread makes, and what depends on what, follows from the branches that it takes, the
//! store-conditionals that succeed and the compare-exchanges that find what they expect. The values that decide this
//! are not known before it is known what loads read.
//!
//! **Algorithm.** The thread is run with expressions over loads in place of values. Where a branch, a store-conditional
//! or a compare-exchange can go either way, both are followed, and the way notes what has to hold ([`Path::checks`]). An
//! expression whose value is the same whatever was loaded (`x ^ x`) is that value; it still carries its dependencies.
//! A branch to the next instruction does not divide the ways, but what follows depends on it.
//!
//! **Invariants.** Nodes come after those they are made of. Sets of accesses are bits, by number in the thread.
//!
//! **Guarantees.** Every way is found that takes no jump backwards more than [`ROUNDS`] times. [`End`] says whether there
//! are others, and whether their final states are those of ways that were found ([`live`](super::live)).
//!
//! **References.** RISC-V Unprivileged ISA, "RVWMO": syntactic dependencies. Arm ARM, B2.3: dependencies, among them the
//! pick dependencies of CSEL and CAS.

use super::code::{Calc, Fence, Instr, Marks, Reserve, Thread, Update};
use super::live::{Registers, heads};
use crate::code::{Int, Operand, Reg};

/// How often a jump backwards is taken, at most.
pub(crate) const ROUNDS: u8 = 2;
/// Accesses of a thread, at most.
pub(crate) const ACCESSES: usize = 64;
/// Ways of a thread, at most.
const PATHS: usize = 4096;
/// Nodes among which an equal one is looked for.
const RECENT: usize = 128;
/// Instructions of one way, at most.
const STEPS: usize = 1 << 16;

pub(crate) type Node = u32;

/// An expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expr {
    Value(u64),
    /// What this access of the thread read: all of it, or the lower and the upper 8 bytes of 16.
    Read(u8),
    Upper(u8),
    Calc {
        op: Calc,
        a: Node,
        b: Node,
        ty: Int,
    },
    Select {
        cond: Node,
        yes: Node,
        no: Node,
    },
}

/// The accesses that a value came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Deps {
    /// Through arithmetic.
    data: u64,
    /// Through what decided between values: CSEL and CAS.
    pick: u64,
}

impl std::ops::BitOr for Deps {
    type Output = Deps;

    fn bitor(self, other: Deps) -> Deps {
        Deps { data: self.data | other.data, pick: self.pick | other.pick }
    }
}

/// An access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) at: Node,
    /// The value written, and its upper 8 bytes, if there are 16.
    pub(crate) value: Node,
    pub(crate) upper: Option<Node>,
    /// The size, and how a value that is read is extended.
    pub(crate) ty: Int,
    pub(crate) marks: Marks,
    /// The value read goes to a register.
    pub(crate) returns: bool,
    /// Of LR, SC or an AMO, a load- or store-exclusive or an atomic.
    pub(crate) atomic: bool,
    /// Of an AMO or an atomic.
    pub(crate) amo: bool,
    /// For a write, the read of the same access in two halves, or the reads that reserved for it.
    pub(crate) pair: u64,
    /// Accesses that the address, the value, or a branch before came from; and the same through what was picked.
    pub(crate) addr: u64,
    pub(crate) data: u64,
    pub(crate) ctrl: u64,
    pub(crate) pick_addr: u64,
    pub(crate) pick_data: u64,
    pub(crate) pick_ctrl: u64,
    pub(crate) site: u32,
}

impl Access {
    /// Adds the upper half of what is written, if there is one.
    fn widen(&mut self, upper: Option<(Node, Deps)>) {
        if let Some((node, deps)) = upper {
            self.upper = Some(node);
            self.data |= deps.data;
            self.pick_data |= deps.pick;
        }
    }
}

/// A way through a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    pub(crate) nodes: Vec<Expr>,
    pub(crate) events: Vec<Access>,
    /// Fences, each with how many accesses are before it and what the branches before it depend on.
    pub(crate) fences: Vec<(u8, Fence, u64)>,
    /// Nodes that have to be 1 (true) or 0.
    pub(crate) checks: Vec<(Node, bool)>,
    /// The final value of each register.
    pub(crate) regs: Vec<Node>,
}

/// How an architecture treats atomics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Style {
    /// An atomic update is one access (RISC-V), not a read and a write (Arm).
    pub(crate) whole_amo: bool,
    /// What tells whether a store-conditional failed depends on its write (RISC-V).
    pub(crate) status_depends: bool,
    /// A conditional selection gives pick dependencies (Arm).
    pub(crate) picks: bool,
}

/// Whether ways were left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct End {
    /// Some whose final states may be new.
    pub(crate) cut: bool,
    /// Some that only wait for longer.
    pub(crate) waits: bool,
}

/// All ways through a thread, whose first registers, this many, are named at the end.
pub(crate) fn paths(thread: &Thread, style: Style, named: Reg) -> (Vec<Path>, End) {
    let heads = heads(thread, named);
    let mut walk = Walk { thread, style, heads, done: Vec::new(), end: End::default() };
    let mut start = Going {
        pc: 0,
        regs: Vec::with_capacity(thread.regs.len()),
        path: Path { nodes: Vec::new(), events: Vec::new(), fences: Vec::new(), checks: Vec::new(), regs: Vec::new() },
        ctrl: Deps::default(),
        reserved: None,
        upper: None,
        rest: (0, Deps::default()),
        rounds: vec![0; thread.instrs.len()],
        visits: Vec::new(),
        steps: 0,
    };
    for &value in &thread.regs {
        let node = start.node(Expr::Value(value));
        start.regs.push((node, Deps::default()));
    }
    let mut todo = vec![start];
    while let Some(going) = todo.pop() {
        walk.go(going, &mut todo);
        if walk.done.len() + todo.len() > PATHS {
            walk.end.cut = true;
            break;
        }
    }
    (walk.done, walk.end)
}

/// A thread on its way.
#[derive(Clone)]
struct Going {
    pc: u32,
    regs: Vec<(Node, Deps)>,
    path: Path,
    ctrl: Deps,
    /// The last load-reserved; of two, the first.
    reserved: Option<Reserved>,
    /// For the next access of 16 bytes, the upper half of what it compares with and of what it writes.
    upper: Option<((Node, Deps), (Node, Deps))>,
    /// The upper half of what the last one left in its register.
    rest: (Node, Deps),
    /// How often the jump at each instruction was taken backwards.
    rounds: Vec<u8>,
    /// The last visit to each head of a loop.
    visits: Vec<Visit>,
    steps: usize,
}

/// The accesses that hold a reservation.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reserved {
    first: u8,
    all: u64,
}

/// A visit to the head of a loop.
#[derive(Clone)]
struct Visit {
    head: u32,
    regs: Vec<(Node, Deps)>,
    reserved: Option<Reserved>,
    /// How many accesses were before.
    events: usize,
}

struct Walk<'a> {
    thread: &'a Thread,
    style: Style,
    /// For heads of loops, the registers that matter there.
    heads: Vec<Option<Registers>>,
    done: Vec<Path>,
    end: End,
}

impl Going {
    fn node(&mut self, expr: Expr) -> Node {
        // Equal expressions are one node, so that `x ^ x` is seen to be 0.
        let nodes = &self.path.nodes;
        let recent = nodes.len().saturating_sub(RECENT);
        if let Some(at) = nodes[recent..].iter().rposition(|&known| known == expr) {
            return (recent + at) as Node;
        }
        self.path.nodes.push(expr);
        self.path.nodes.len() as Node - 1
    }

    fn known(&self, node: Node) -> Option<u64> {
        match self.path.nodes[node as usize] {
            Expr::Value(value) => Some(value),
            _ => None,
        }
    }

    fn operand(&mut self, operand: Operand) -> (Node, Deps) {
        match operand {
            Operand::Reg(reg) => self.regs[usize::from(reg)],
            Operand::Value(value) => (self.node(Expr::Value(value)), Deps::default()),
        }
    }

    fn calc(&mut self, op: Calc, a: Node, b: Node, ty: Int) -> Node {
        match op.fixed(self.known(a), self.known(b), a == b) {
            Some(value) => self.node(Expr::Value(ty.wrap(value))),
            None => self.node(Expr::Calc { op, a, b, ty }),
        }
    }

    /// Notes that a node has to be true or false. Whether that is possible.
    fn check(&mut self, node: Node, wanted: bool) -> bool {
        match self.known(node) {
            Some(value) => (value != 0) == wanted,
            None => {
                self.path.checks.push((node, wanted));
                true
            }
        }
    }

    /// Adds an access; its number.
    fn access(&mut self, at: (Node, Deps), value: (Node, Deps), ty: Int, marks: Marks, site: u32) -> u8 {
        let mut ctrl = self.ctrl;
        // A branch on a value that was picked depends on what picked it.
        ctrl.pick &= !ctrl.data;
        self.path.events.push(Access {
            reads: false,
            writes: false,
            at: at.0,
            value: value.0,
            upper: None,
            ty,
            marks,
            returns: true,
            atomic: false,
            amo: false,
            pair: 0,
            addr: at.1.data,
            data: value.1.data,
            ctrl: ctrl.data,
            pick_addr: at.1.pick,
            pick_data: value.1.pick,
            pick_ctrl: ctrl.pick,
            site,
        });
        self.path.events.len() as u8 - 1
    }

    fn last(&mut self) -> &mut Access {
        self.path.events.last_mut().expect("just added")
    }

    fn set(&mut self, dst: Option<Reg>, node: Node, deps: Deps) {
        if let Some(dst) = dst {
            self.regs[usize::from(dst)] = (node, deps);
        }
    }
}

/// Depends on this access.
fn on(event: u8) -> Deps {
    Deps { data: 1 << event, pick: 0 }
}

impl Walk<'_> {
    /// Follows a way to its end, and adds to `todo` where it divides.
    fn go(&mut self, mut now: Going, todo: &mut Vec<Going>) {
        loop {
            let Some(&instr) = self.thread.instrs.get(now.pc as usize) else {
                now.path.regs = now.regs.iter().map(|&(node, _)| node).collect();
                self.done.push(now.path);
                return;
            };
            now.steps += 1;
            // An atomic update may be two accesses.
            if now.path.events.len() + 2 > ACCESSES || now.steps > STEPS {
                self.end.cut = true;
                return;
            }
            if self.heads[now.pc as usize].is_some() {
                let head = now.pc;
                now.visits.retain(|visit| visit.head != head);
                let (regs, reserved, events) = (now.regs.clone(), now.reserved, now.path.events.len());
                now.visits.push(Visit { head, regs, reserved, events });
            }
            let next = now.pc + 1;
            match instr {
                Instr::Calc { op, dst, a, b, ty } => {
                    let ((a, left), (b, right)) = (now.operand(a), now.operand(b));
                    let node = now.calc(op, a, b, ty);
                    let deps = if op == Calc::Second { right } else { left | right };
                    now.set(Some(dst), node, deps);
                    now.pc = next;
                }
                Instr::Select { dst, cond, yes, no } => self.select(&mut now, todo, (dst, cond, yes, no)),
                Instr::Jump { to } => {
                    if !self.jump(&mut now, to) {
                        return;
                    }
                }
                Instr::Branch { cond, unless, to } => {
                    let (cond, deps) = now.operand(cond);
                    now.ctrl = now.ctrl | deps;
                    if to == next {
                        now.pc = next;
                        continue;
                    }
                    let mut taken = now.clone();
                    if taken.check(cond, !unless) && self.jump(&mut taken, to) {
                        todo.push(taken);
                    }
                    if !now.check(cond, unless) {
                        return;
                    }
                    now.pc = next;
                }
                Instr::Load { dst, at, ty, marks, reserve, site } => {
                    let at = now.operand(at);
                    let none = (at.0, Deps::default());
                    let event = now.access(at, none, ty, marks, site);
                    let last = now.last();
                    (last.reads, last.atomic, last.returns) = (true, reserve != Reserve::No, dst.is_some());
                    let read = now.node(Expr::Read(event));
                    now.set(dst, read, on(event));
                    let alone = Reserved { first: event, all: 1 << event };
                    match (reserve, &mut now.reserved) {
                        (Reserve::No, _) => {}
                        (Reserve::Join, Some(reserved)) => reserved.all |= 1 << event,
                        (_, reserved) => *reserved = Some(alone),
                    }
                    now.pc = next;
                }
                Instr::Store { at, value, bits, marks, conditional, site } => {
                    let (at, value) = (now.operand(at), now.operand(value));
                    let ty = Int { bits, signed: false };
                    let upper = now.upper.take().map(|(_, value)| value);
                    let Some(status) = conditional else {
                        now.access(at, value, ty, marks, site);
                        now.last().writes = true;
                        now.pc = next;
                        continue;
                    };
                    now.pc = next;
                    let reserved = now.reserved.take();
                    let mut failed = now.clone();
                    let one = failed.node(Expr::Value(1));
                    failed.set(status, one, Deps::default());
                    todo.push(failed);
                    // It can succeed only after a load-reserved from the same address.
                    let Some(reserved) = reserved else { return };
                    let from = now.path.events[usize::from(reserved.first)].at;
                    let same = now.calc(Calc::Eq, at.0, from, Int::I64);
                    if !now.check(same, true) {
                        return;
                    }
                    let event = now.access(at, value, ty, marks, site);
                    let last = now.last();
                    (last.writes, last.atomic, last.pair) = (true, true, reserved.all);
                    last.widen(upper);
                    let zero = now.node(Expr::Value(0));
                    now.set(status, zero, if self.style.status_depends { on(event) } else { Deps::default() });
                }
                Instr::Rmw { update, dst, at, value, ty, reads, writes, site } => {
                    now.pc = next;
                    let (at, value) = (now.operand(at), now.operand(value));
                    match update {
                        Update::Apply(op) => self.update(&mut now, op, dst, at, value, ty, (reads, writes), site),
                        Update::CompareExchange(expected) => {
                            let expected = now.operand(expected);
                            if !self.compare(&mut now, todo, expected, dst, at, value, ty, (reads, writes), site) {
                                return;
                            }
                        }
                    }
                }
                Instr::Upper { expected, value } => {
                    now.upper = Some((now.operand(expected), now.operand(value)));
                    now.pc = next;
                }
                Instr::Rest { dst } => {
                    let (node, deps) = now.rest;
                    now.set(dst, node, deps);
                    now.pc = next;
                }
                Instr::Fence(fence) => {
                    let before = now.path.events.len() as u8;
                    let ctrl = now.ctrl.data | now.ctrl.pick;
                    now.path.fences.push((before, fence, ctrl));
                    now.pc = next;
                }
                Instr::Clear => {
                    now.reserved = None;
                    now.pc = next;
                }
            }
        }
    }

    /// Goes to an instruction, unless it has gone back there often enough.
    fn jump(&mut self, now: &mut Going, to: u32) -> bool {
        if to <= now.pc {
            let rounds = &mut now.rounds[now.pc as usize];
            *rounds += 1;
            if *rounds > ROUNDS {
                if self.is_idle(now, to) {
                    self.end.waits = true;
                } else {
                    self.end.cut = true;
                }
                return false;
            }
        }
        now.pc = to;
        true
    }

    /// Whether the round that ends here changed nothing that matters.
    fn is_idle(&self, now: &Going, head: u32) -> bool {
        let live = self.heads.get(head as usize).copied().flatten().unwrap_or(Registers::MAX);
        now.visits.iter().any(|visit| {
            let same = |reg: usize| reg >= 128 || live >> reg & 1 == 0 || visit.regs[reg].0 == now.regs[reg].0;
            visit.head == head
                && (now.reserved.is_none() || now.reserved == visit.reserved)
                && (0..now.regs.len()).all(same)
                && now.regs.len() <= 128
                && !now.path.events[visit.events..].iter().any(|event| event.writes)
        })
    }

    /// `dst := cond ? yes : no`: on Arm the way divides, since only what was selected is depended on.
    fn select(&mut self, now: &mut Going, todo: &mut Vec<Going>, select: (Reg, Reg, Operand, Operand)) {
        let (dst, cond, yes, no) = select;
        let ((cond, by), (yes, first), (no, second)) = (now.regs[usize::from(cond)], now.operand(yes), now.operand(no));
        now.pc += 1;
        if !self.style.picks {
            let node = now.node(Expr::Select { cond, yes, no });
            now.set(Some(dst), node, by | first | second);
            return;
        }
        let picked = Deps { data: 0, pick: by.data | by.pick };
        let mut other = now.clone();
        if other.check(cond, false) {
            other.set(Some(dst), no, second | picked);
            if !now.check(cond, true) {
                *now = other;
                return;
            }
            todo.push(other);
        }
        now.set(Some(dst), yes, first | picked);
    }

    /// The read of an atomic update: alone, or the whole of it.
    fn read_part(now: &mut Going, dst: Option<Reg>, at: (Node, Deps), ty: Int, marks: Marks, site: u32) -> (u8, Node) {
        let none = (at.0, Deps::default());
        // An atomic that drops what it read is no acquire.
        let event = now.access(at, none, ty, marks, site);
        let last = now.last();
        (last.reads, last.atomic, last.amo, last.returns) = (true, true, true, dst.is_some());
        (event, now.node(Expr::Read(event)))
    }

    fn write_part(now: &mut Going, read: u8, at: (Node, Deps), value: (Node, Deps), ty: Int, marks: Marks, site: u32) {
        now.access(at, value, ty, marks, site);
        let last = now.last();
        (last.writes, last.atomic, last.amo, last.pair) = (true, true, true, 1 << read);
    }

    #[allow(clippy::too_many_arguments)]
    fn update(
        &mut self,
        now: &mut Going,
        op: Calc,
        dst: Option<Reg>,
        at: (Node, Deps),
        value: (Node, Deps),
        ty: Int,
        (reads, writes): (Marks, Marks),
        site: u32,
    ) {
        let (event, read) = Self::read_part(now, dst, at, ty, reads, site);
        let operands = Int { bits: ty.bits, signed: op.is_signed() };
        let old = now.calc(Calc::Or, read, read, operands);
        let new = now.calc(Calc::Second, value.0, value.0, operands);
        let result = now.calc(op, old, new, operands);
        if self.style.whole_amo {
            let last = now.last();
            (last.writes, last.value, last.returns) = (true, result, true);
            (last.data, last.pick_data) = (value.1.data, value.1.pick);
            last.marks = Marks { acquire: reads.acquire, acquire_pc: false, release: writes.release };
        } else {
            Self::write_part(now, event, at, (result, value.1), ty, writes, site);
        }
        now.set(dst, read, on(event));
    }

    /// CAS: it fails, or it succeeds, and then the register holds what was read, or what it held before, which is the same.
    #[allow(clippy::too_many_arguments)]
    fn compare(
        &mut self,
        now: &mut Going,
        todo: &mut Vec<Going>,
        expected: (Node, Deps),
        dst: Option<Reg>,
        at: (Node, Deps),
        value: (Node, Deps),
        ty: Int,
        (reads, writes): (Marks, Marks),
        site: u32,
    ) -> bool {
        let (event, read) = Self::read_part(now, dst, at, ty, reads, site);
        // Of 16 bytes, both halves.
        let (high, upper) = now.upper.take().unzip();
        let narrow = Int { bits: ty.bits.min(64), signed: ty.signed };
        let wanted = now.calc(Calc::Second, expected.0, expected.0, narrow);
        let mut equal = now.calc(Calc::Eq, read, wanted, Int::I64);
        let rest = if high.is_some() { now.node(Expr::Upper(event)) } else { read };
        now.rest = (rest, on(event));
        if let Some((high, _)) = high {
            let both = now.calc(Calc::Eq, rest, high, Int::I64);
            equal = now.calc(Calc::And, equal, both, Int::I64);
        }
        let high = high.unwrap_or_default();
        let compared = expected.1 | high.1;
        let mut failed = now.clone();
        if failed.check(equal, false) {
            failed.set(dst, read, on(event));
            todo.push(failed);
        }
        if !now.check(equal, true) {
            return false;
        }
        if self.style.whole_amo {
            let last = now.last();
            (last.writes, last.value) = (true, value.0);
            (last.data, last.pick_data) = (value.1.data | compared.data, value.1.pick);
            last.marks = Marks { acquire: reads.acquire, acquire_pc: false, release: writes.release };
            last.widen(upper);
            now.set(dst, read, on(event));
            return true;
        }
        Self::write_part(now, event, at, value, ty, writes, site);
        let last = now.last();
        last.widen(upper);
        // Whether it writes at all was decided by what it compared.
        last.pick_data |= compared.data | compared.pick;
        if self.style.picks && dst.is_some() {
            // If the register depended on nothing, the second case orders less than the first, and is enough.
            if compared.data != 0 {
                let mut read_back = now.clone();
                let by = Deps { data: 1 << event, pick: compared.data | compared.pick };
                read_back.set(dst, read, by);
                read_back.rest = (rest, by);
                todo.push(read_back);
            }
            let by = |from: Deps| Deps { data: from.data, pick: compared.pick | 1 << event };
            now.set(dst, wanted, by(expected.1));
            now.rest = (high.0, by(high.1));
        } else {
            now.set(dst, read, on(event));
        }
        true
    }
}
