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

mod accesses;

use super::code::{Calc, Fence, Instr, Marks, Thread, Update};
use super::live::{Registers, heads};
use crate::code::{Int, Operand, Reg};
use accesses::{Atomic, Touch};

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

    fn set(&mut self, dst: Option<Reg>, node: Node, deps: Deps) {
        if let Some(dst) = dst {
            self.regs[usize::from(dst)] = (node, deps);
        }
    }
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
            let from = now.pc;
            now.pc += 1;
            let goes_on = match instr {
                Instr::Calc { op, dst, a, b, ty } => {
                    let ((a, left), (b, right)) = (now.operand(a), now.operand(b));
                    let node = now.calc(op, a, b, ty);
                    let deps = if op == Calc::Second { right } else { left | right };
                    now.set(Some(dst), node, deps);
                    true
                }
                Instr::Select { dst, cond, yes, no } => {
                    self.select(&mut now, todo, (dst, cond, yes, no));
                    true
                }
                Instr::Jump { to } => self.jump(&mut now, from, to),
                Instr::Branch { cond, unless, to } => self.branch(&mut now, todo, (cond, unless), (from, to)),
                Instr::Load { dst, at, ty, marks, reserve, site } => {
                    let at = now.operand(at);
                    now.load(dst, Touch { at, ty, marks, site }, reserve);
                    true
                }
                Instr::Store { at, value, bits, marks, conditional, site } => {
                    let (at, value) = (now.operand(at), now.operand(value));
                    let touch = Touch { at, ty: Int { bits, signed: false }, marks, site };
                    match conditional {
                        None => {
                            now.store(touch, value);
                            true
                        }
                        Some(status) => self.store_conditional(&mut now, todo, status, touch, value),
                    }
                }
                Instr::Rmw { update, dst, at, value, ty, reads, writes, site } => {
                    let (at, value) = (now.operand(at), now.operand(value));
                    let atomic = Atomic { dst, read: Touch { at, ty, marks: reads, site }, value, writes };
                    match update {
                        Update::Apply(op) => {
                            self.update(&mut now, op, atomic);
                            true
                        }
                        Update::CompareExchange(expected) => {
                            let expected = now.operand(expected);
                            self.compare(&mut now, todo, expected, atomic)
                        }
                    }
                }
                Instr::Upper { expected, value } => {
                    now.upper = Some((now.operand(expected), now.operand(value)));
                    true
                }
                Instr::Rest { dst } => {
                    let (node, deps) = now.rest;
                    now.set(dst, node, deps);
                    true
                }
                Instr::Fence(fence) => {
                    let before = now.path.events.len() as u8;
                    let ctrl = now.ctrl.data | now.ctrl.pick;
                    now.path.fences.push((before, fence, ctrl));
                    true
                }
                Instr::Clear => {
                    now.reserved = None;
                    true
                }
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Goes on at `to` or at the next instruction. Whether one of them can be; the other one, if it can be as well, is in `todo`.
    fn branch(
        &mut self,
        now: &mut Going,
        todo: &mut Vec<Going>,
        (cond, unless): (Operand, bool),
        (from, to): (u32, u32),
    ) -> bool {
        let (cond, deps) = now.operand(cond);
        now.ctrl = now.ctrl | deps;
        if to == from + 1 {
            return true;
        }
        let mut taken = now.clone();
        if taken.check(cond, !unless) && self.jump(&mut taken, from, to) {
            todo.push(taken);
        }
        now.check(cond, unless)
    }

    /// Goes to an instruction, unless it has gone back there often enough.
    fn jump(&mut self, now: &mut Going, from: u32, to: u32) -> bool {
        if to <= from {
            let rounds = &mut now.rounds[from as usize];
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
}
